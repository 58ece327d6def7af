"""Why a word is not known is said in Chinese, too: the reader's reasons are messages."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.shell.script import read_script
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path


def missing(path: str) -> SourceText:
    from accmap.schemas.diagnostic import diagnose
    from accmap.schemas.messages_compiled import say

    raise UnreadableError(diagnose(say.missing(path=path), path))


@pytest.mark.parametrize(
    "script",
    [
        "f()\n  exit 1\n",
        "f() a=1\n",
        "function f\necho a\n",
        "f() >x\n",
        "if true; then\nfi\n",
        "a && ; b\n",
        "a=1\ndone\n",
        "echo a | then\n",
        "}\n",
        "(:) esac\n",
        "echo a; in\n",
        "f() { in; }\n",
        "a && do\n",
        "&& a\n",
        "a | || b\n",
        "f() && b\n",
        "a &&\n;; b\n",
        "{ :; } }\n",
    ],
)
def test_what_bash_stops_at_is_named_as_bash_names_it(script: str, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text(script, "utf-8")
    said = subprocess.run(["bash", "-n", str(file)], capture_output=True, text=True, env={"LC_ALL": "C"}, check=False)
    found = re.search(r"line (\d+): syntax error near unexpected token `(.*)'", said.stderr)
    assert found is not None
    with pytest.raises(UnreadableError) as caught:
        read_script(SourceText("run.sh", script), ReadOptions(), missing, path="run.sh", cwd="")
    problem = caught.value.diagnostic
    assert problem.span is not None
    assert (str(problem.span.line), str(dict(problem.values)["found"])) == found.groups()


@pytest.mark.parametrize(
    ("script", "en", "zh"),
    [
        (
            "torchrun a.py --x $DATA_PATH\n",
            "DATA_PATH is not set in the file; set it with `--var DATA_PATH=VALUE`",
            "文件中未设置 DATA_PATH，请用 `--var DATA_PATH=VALUE` 设置",
        ),
        (
            "if ping; then A=1; else A=2; fi\ntorchrun a.py --x $A\n",
            "the value depends on the condition at line 1; set the condition with `--branch 1=yes` or `--branch 1=no`",
            "取决于第 1 行的条件，请用 `--branch 1=yes` 或 `--branch 1=no` 指定",
        ),
        (
            'if [ "$N" = 1 ]; then A=1; else A=2; fi\ntorchrun a.py --x $A\n',
            "the value depends on the condition at line 1: N is not set in the file; set it with `--var N=VALUE`",
            "取决于第 1 行的条件：文件中未设置 N，请用 `--var N=VALUE` 设置",
        ),
        (
            "torchrun a.py --x $(hostname)\n",
            "the value is the output of a program, which accmap does not run",
            "该值是程序的输出，而 accmap 不执行任何程序",
        ),
    ],
)
def test_a_reason_knows_its_chinese(script: str, en: str, zh: str) -> None:
    found = read_script(SourceText("run.sh", script), ReadOptions(), missing, path="run.sh", cwd="/")
    assert [(entry.why("en"), entry.why("zh")) for entry in found.unresolved] == [(en, zh)]

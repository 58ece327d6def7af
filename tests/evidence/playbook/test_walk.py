"""The guide's 92 rows, walked with two real runs of one pair: every command of `docs/guide-coverage.md` is run."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
NEEDED = ("msprobe", "torch", "megatron", "mindspore", "mindformers", "tokenizers")
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.slow,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in NEEDED), reason="the frameworks, msprobe or tokenizers are missing"
    ),
]
PAGE = HERE.parents[2] / "docs" / "guide-coverage.md"
FIRST = {
    "lint predict.yaml": r"2 of 2 checked pairs and files have no errors or warnings",
    "lint": r"(A\.sh \+ B\.yaml|2-preparation/pair): 0 errors, 0 warnings",
    "lr": r"Equal over 100 steps",
    "weights check --log": r"The lists in this log are empty",
    "weights check": r"equal$",
    "data check": r"good$",
    "data show": r"Step 3: both sides use the same tokens|Steps 3 to 4: both sides use the same tokens",
    "doctor": r"Installed here",
    "logs": r"within the limits over",
    "dump config B.yaml": r"(export MINDSPORE_DUMP_CONFIG=|compiled\.yaml: EVD029)",
    "dump config": r"  msprobe compare ",
    "dump compare accuracy_checking": r"partial$",
    "dump compare": r"match$",
    "dump scan": r"finite ",
    "check tokenizers": r"same",
    "check npy": r"(close|equal) ",
    "check scores": r"within 0\.4% of the benchmark",
    "diff": r"equal in all fields",
}
"""How the answer to each command begins: the verdict of two equal runs."""
PARTIAL = "dump compare accuracy_checking"
"""The precheck of msprobe skips operators that it cannot run on a CPU: nothing fails, and not all is judged."""
COMPILED = "compiled.yaml"
"""B.yaml as a launch compiles it: the walked run is not, and MindSpore's own dump records only what is."""


def commands() -> dict[str, list[str]]:
    """Every command of the page, and the rows that it serves."""
    found: dict[str, list[str]] = {}
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| `"):
            for words in re.findall(r"`accmap ([^`]+)`", line):
                found.setdefault(words, []).append(line.split("`")[1])
    return found


def spelt_out(words: str, rung: str, out: str, version: str) -> Iterator[str]:
    """The words of a row, with its stand-ins filled in; scripts of another version than 0.12 with that version."""
    if version and ".sh" in words:
        words = f"{words} --megatron {version}"
    if "--kind mindspore-" in words:
        words = words.replace("B.yaml", COMPILED)
    for stands, value in (("N-NAME", rung), ("--step K", "--step 3"), ("--steps N", "--steps 2")):
        words = words.replace(stands, value)
    given = words.split()
    for at, word in enumerate(given):
        if given[at - 1] == "-d":
            yield out
        elif "*" in word:
            yield from sorted(map(str, Path().glob(word)))
        else:
            yield word


@pytest.fixture(scope="module", params=["", "0.16"], ids=["installed", "0.16"])
def version(request: pytest.FixtureRequest) -> str:
    """The version whose real program runs; that of the installed megatron-core, whose model does, where it is empty."""
    if request.param and not os.path.isdir(tree(request.param)):
        pytest.skip(f"ACCMAP_MEGATRON_TREES names no source tree of Megatron-LM {request.param}")
    return request.param


def tree(version: str) -> str:
    """The source tree of a version."""
    return os.path.join(os.environ.get("ACCMAP_MEGATRON_TREES", "/"), version)


@pytest.fixture(scope="module")
def road(version: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two real runs left, laid where the playbook looks for it."""
    import subprocess

    folder = tmp_path_factory.mktemp("road")
    words = [sys.executable, str(HERE / "walked_road.py"), str(folder), *([tree(version)] if version else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    walked = (folder / "B.yaml").read_text("utf-8")
    assert walked.count("mode: 1") == 1
    (folder / COMPILED).write_text(walked.replace("mode: 1", "mode: 0"), "utf-8")
    return folder


def test_every_row_of_the_guide_is_walked(
    road: Path, version: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(road)
    rung = min(path.name for path in Path("5-scale-up").iterdir() if path.is_dir())
    wrong: list[Any] = []
    rows: set[str] = set()
    for number, (words, served) in enumerate(commands().items()):
        given = list(spelt_out(words, rung, f"out{number}", version))
        code = main(given)
        answer = capsys.readouterr()
        first = next(iter(answer.out.splitlines() or answer.err.splitlines()), "")
        begins = next(form for start, form in FIRST.items() if words.startswith(start))
        if code != words.startswith(PARTIAL) or not re.match(begins, first):
            wrong.append((code, words, first, answer.err[:200]))
        rows.update(served)
    assert len(rows) == 41 + 51
    assert not wrong, "\n".join(map(str, wrong))

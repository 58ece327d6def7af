"""What the reader says of a script: unresolved tokens, other launches, problems, world size, environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError, diagnose
from accmap.schemas.messages_compiled import say
from accmap.schemas.shell import builtins, programs
from accmap.schemas.shell.script import ScriptReading, looks_like_script, read_script
from accmap.schemas.source import SourceText, Span

CASES = load_table((Path(__file__).parent / "cases" / "readings.yaml").read_text(encoding="utf-8"))


def reading(script: str, **given: object) -> ScriptReading:
    files = given.get("files", {})

    def open_file(path: str) -> SourceText:
        if path not in files:
            raise UnreadableError(diagnose(say.missing(path=path), path))
        return SourceText(path, files[path])

    options = ReadOptions(
        variables=given.get("vars", {}),
        positional=tuple(given.get("args", ())),
        unset_empty=given.get("unset_empty", False),
        launch=given.get("launch"),
        branches=given.get("branches", {}),
    )
    return read_script(SourceText("run.sh", script), options, open_file, path="run.sh", cwd="/work")


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_reading(case: dict) -> None:
    given = {key: case[key] for key in ("files", "vars", "args", "unset_empty", "launch", "branches") if key in case}
    if "error" in case:
        with pytest.raises(UnreadableError) as refused:
            reading(case["script"], **given)
        assert refused.value.diagnostic.kind.code == case["error"]
        assert case.get("says", "") in refused.value.diagnostic.message("en")
        assert refused.value.diagnostic.message("en")
        assert refused.value.diagnostic.message("zh")
        assert case.get("says", "") in str(refused.value)
        return
    found = reading(case["script"], **given)
    launch = found.chosen
    assert [argument.text for argument in launch.arguments] == case["argv"]
    if "unresolved" in case:
        listed = [[entry.argv_index, entry.text, entry.may_split] for entry in found.unresolved]
        assert [entry for entry in listed if entry[0] is not None] == case["unresolved"]
    if "reason" in case:
        assert found.unresolved[0].reason == case["reason"]
    if "others" in case:
        assert [[argument.text for argument in other.arguments] for other in found.others] == case["others"]
    codes = sorted({problem.kind.code for problem in found.problems})
    assert codes == sorted(case.get("problems", []))
    for problem in found.problems:
        assert problem.message("en")
        assert problem.message("zh")
    if "world_size" in case:
        assert launch.world_size == case["world_size"]
    if "launcher" in case:
        assert launch.launcher == case["launcher"]
    if "program" in case:
        assert launch.script == case["program"]
    if "env" in case:
        assert dict(launch.env) == case["env"]


def test_spans_point_at_what_was_written() -> None:
    script = (
        "LR=1e-4\nDIR=/data\n"
        'ARGS="\n  --num-layers 2 \\\n  --lr $LR\n  --save $DIR/$LR\n"\n'
        "torchrun pretrain_gpt.py $ARGS --seed ${S:-7} --é é\n"
    )
    launch = reading(script).chosen
    source = SourceText("run.sh", script)

    def written(span: Span) -> str:
        assert span.line == span.end_line
        return source.line(span.line)[span.column - 1 : span.end_column - 1]

    texts = [(argument.text, written(argument.span)) for argument in launch.arguments]
    assert texts == [
        ("--num-layers", "--num-layers"),
        ("2", "2"),
        ("--lr", "--lr"),
        ("1e-4", "1e-4"),
        ("--save", "--save"),
        ("/data/1e-4", "$DIR/$LR"),
        ("--seed", "--seed"),
        ("7", "7"),
        ("--é", "--é"),
        ("é", "é"),
    ]
    assert launch.arguments[3].span.line == 1
    assert launch.span.line == 8


def test_spans_in_a_sourced_file_name_it() -> None:
    found = reading(
        "source m.sh\nexport A=1\ntorchrun p.py $ARGS --bf16\n", files={"m.sh": "\nARGS='--num-layers 2'\n"}
    )
    assert found.chosen.arguments[0].span == Span(2, 7, 2, 19, "m.sh")
    assert found.chosen.arguments[2].span.file is None
    assert found.chosen.env_spans["A"] == Span(2, 8, 2, 11)


def test_lost_flags_are_named_where_they_stand() -> None:
    found = reading("torchrun p.py --num-layers 2\n  --lr 1 --bf16\n")
    problem = found.problems[0]
    assert problem.span == Span(2, 3, 2, 16)
    assert "--lr" in problem.message()
    assert "--bf16" in problem.message()


def test_launches_come_in_file_order() -> None:
    script = "f() { torchrun p.py --num-layers 1; }\ntorchrun p.py --num-layers 2\nf\n"
    found = reading(script)
    assert [launch.span.line for launch in found.launches] == [1, 2]
    assert found.chosen.span.line == 1


def test_every_small_program_is_known_without_its_module() -> None:
    """`builtins` names them itself, so that a script which runs none of them does not import them."""
    assert set(builtins.PRINTING) == set(programs.TABLE)


@pytest.mark.parametrize(
    "command",
    [
        "expr 3 + 4",
        "echo '3*4' | bc",
        "echo a,b | cut -d, -f2",
        "echo a b | awk '{print $2}'",
        "echo a b | wc -w",
        "seq 4 | head -n 1",
        "seq 4 | tail -n 1",
        "seq 4 | xargs",
        "echo ab | rev",
    ],
)
def test_a_program_that_is_not_run_is_named(command: str) -> None:
    """Its result stays open, wherever it comes to: a word of the launch, a test, a variable."""
    name = command.rpartition("| ")[2].split()[0]
    reason = f"accmap does not run {name}; replace the command with its result"
    script = f"N=$({command})\ntorchrun pretrain_gpt.py --num-layers $N --seed $({command})\n"
    found = reading(script)
    words = [entry for entry in found.unresolved if entry.argv_index is not None]
    assert [entry.text for entry in words] == [f"$({command})"] * 2
    assert [entry.reason for entry in words] == [reason] * 2
    assert found.problems == ()
    asks = reading(f"if [ $({command}) = 7 ]; then L=1; else L=2; fi\ntorchrun pretrain_gpt.py --num-layers $L\n")
    assert [entry.text for entry in asks.unresolved] == ["$L"]
    assert reading(script.replace(f"$({command})\n", "7\n", 1)).chosen.arguments[1].text == "7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/bash\n", True),
        ("#!/usr/bin/env python\n", False),
        ("A=1\ntrue\n", True),
        ("torchrun x.py\n", True),
        ("model:\n  type: x\n", False),
        ("--num-layers 2\n", False),
        ('["--num-layers", "2"]', False),
    ],
)
def test_looks_like_script(text: str, expected: bool) -> None:
    assert looks_like_script(SourceText("x", text)) is expected

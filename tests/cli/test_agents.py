"""`accmap mcp` over its protocol: tools answer what the commands answer, and reach one folder."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")
stdio = pytest.importorskip("mcp.client.stdio")

ROOT = Path(__file__).parents[2]
PAIR = ["planted/megatron.sh", "planted/mindformers.yaml"]
EQUAL = ["qwen3_dense/megatron.sh", "qwen3_dense/mindformers_dynamic.yaml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs, a link that leads out of the folder, and a file beside it."""
    top = tmp_path_factory.mktemp("agents")
    for name in ("planted", "qwen3_dense"):
        shutil.copytree(ROOT / "examples" / name, top / "work" / name)
    (top / "secret.yaml").write_text("runner_config: {}\n", "utf-8")
    (top / "work" / "link.yaml").symlink_to(top / "secret.yaml")
    return top / "work"


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    """The answers of one session to every call below, and the tools that it lists."""
    calls = {case: (tool, arguments) for case, (tool, arguments, _) in CASES.items()} | REFUSED | WRITTEN

    async def session() -> dict[str, Any]:
        start = mcp.StdioServerParameters(
            command=sys.executable, args=["-I", "-m", "accmap", "mcp", "--root", str(folder)]
        )
        async with stdio.stdio_client(start) as (read, write), mcp.ClientSession(read, write) as client:
            await client.initialize()
            answers: dict[str, Any] = {"tools": (await client.list_tools()).tools}
            for case, (tool, arguments) in calls.items():
                answers[case] = await client.call_tool(tool, arguments)
            return answers

    return asyncio.run(session())


CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "why do these differ": ("lint", {"files": PAIR}, ["lint", *PAIR, "--profile", "train", "--no-cache"]),
    "one file": ("lint", {"files": PAIR[:1]}, ["lint", *PAIR[:1], "--profile", "train", "--no-cache"]),
    "an equal pair, in Chinese": (
        "lint", {"files": EQUAL, "profile": "align", "language": "zh"},
        ["lint", *EQUAL, "--profile", "align", "--lang", "zh"],
    ),
    "with versions": (
        "diff", {"a": PAIR[0], "b": PAIR[1], "a_version": "0.16"}, ["diff", *PAIR, "--a-version", "0.16"],
    ),
    "field by field": ("diff", {"a": EQUAL[0], "b": EQUAL[1]}, ["diff", *EQUAL]),
    "the curves": ("lr", {"a": PAIR[0], "b": PAIR[1]}, ["lr", *PAIR]),
    "every value": ("show", {"file": EQUAL[1]}, ["show", EQUAL[1]]),
    "what a code means": ("explain", {"word": "NET009"}, ["explain", "NET009"]),
    "a word, in Chinese": ("explain", {"word": "学习率", "language": "zh"}, ["explain", "学习率", "--lang", "zh"]),
    "no such file": ("show", {"file": "nosuch.sh"}, ["show", "nosuch.sh"]),
}  # fmt: skip
"""A task: the tool, its arguments, and the command line that answers the same."""
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "a path outside": ("show", {"file": "../secret.yaml"}),
    "an absolute path outside": ("lint", {"files": ["/etc/hostname"]}),
    "a link that leads outside": ("show", {"file": "link.yaml"}),
    "a file written outside": ("convert", {"source": EQUAL[0], "output": "../new.yaml"}),
}
WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "converted, not written": ("convert", {"source": EQUAL[0]}),
    "converted": ("convert", {"source": EQUAL[0], "output": "new.yaml"}),
    "not overwritten": ("convert", {"source": EQUAL[0], "output": "new.yaml", "target_version": "1.9"}),
    "overwritten": ("convert", {"source": EQUAL[0], "output": "new.yaml", "target_version": "1.9", "overwrite": True}),
    "back": ("convert", {"source": EQUAL[1], "to": "megatron", "target_version": "0.16"}),
    "upgraded, not written": ("upgrade", {"source": "qwen3_dense/mindformers.yaml"}),
    "upgraded": ("upgrade", {"source": "qwen3_dense/mindformers.yaml", "output": "upgraded.yaml"}),
}


def content(answer: Any) -> dict[str, Any]:
    assert not answer.is_error, answer.content
    return answer.structured_content


@pytest.mark.parametrize("case", CASES)
def test_a_tool_answers_what_its_command_answers(
    case: str, told: dict[str, Any], folder: Path, accmap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = CASES[case][2]
    monkeypatch.chdir(folder)
    expected = accmap(words[0], "--format", "json", *words[1:])
    answer = content(told[case])
    assert answer["exit_code"] == expected.code
    assert without_dots(answer["answer"]) == (json.loads(expected.out) if expected.out else None)
    assert answer["messages"].replace("./", "") == expected.err


def without_dots(answer: Any) -> Any:
    """The server names files `./planted/megatron.sh`."""
    return None if answer is None else json.loads(re.sub(r"\./(?=planted|qwen3)", "", json.dumps(answer)))


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_outside_of_its_folder_is_reached(case: str, told: dict[str, Any], folder: Path) -> None:
    assert told[case].is_error
    assert f"is outside {folder}" in told[case].content[0].text
    assert not (folder.parent / "new.yaml").exists()


def test_files_are_written_only_where_the_caller_says(told: dict[str, Any], folder: Path, accmap: Any) -> None:
    made = content(told["converted, not written"])
    assert made["exit_code"] == 0
    assert made["answer"]["target"].startswith("mindformers")
    assert "pretrain_gpt.py" in content(told["back"])["text"]
    assert content(told["converted"])["text"] is None
    kept = content(told["not overwritten"])
    assert kept["exit_code"] == 2
    assert "new.yaml" in kept["messages"]
    assert content(told["overwritten"])["exit_code"] == 0
    assert "static graph" in (folder / "new.yaml").read_text("utf-8").splitlines()[0]
    shown = content(told["upgraded, not written"])
    assert shown["text"].split("\n", 1)[1] == (folder / "upgraded.yaml").read_text("utf-8").split("\n", 1)[1]
    assert shown["exit_code"] == content(told["upgraded"])["exit_code"]
    assert {path.name for path in folder.iterdir()} == {
        "planted",
        "qwen3_dense",
        "link.yaml",
        "new.yaml",
        "upgraded.yaml",
    }


def test_what_a_tool_says_of_itself(told: dict[str, Any]) -> None:
    hints = {tool.name: tool.annotations.read_only_hint for tool in told["tools"]}
    assert {name for name, reads in hints.items() if not reads} == {"convert", "upgrade"}
    assert all(tool.description for tool in told["tools"])
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "agents.md").read_text("utf-8"), re.MULTILINE)
    assert set(table) == set(hints)
    skill = (ROOT / "skills" / "accmap" / "SKILL.md").read_text("utf-8")
    assert set(re.findall(r"`(\w+)`", skill[skill.index("## Over MCP") :])) == set(hints)


def test_without_the_library(accmap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    answer = accmap("mcp")
    assert answer.code == 2
    assert "[mcp]" in answer.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_answer_that_cannot_be_written() -> None:
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}) + "\n"
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-I", "-m", "accmap", "mcp"], input=line.encode(), stdout=full, stderr=-1, check=False
        )
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr


def test_a_folder_that_is_not_there(accmap: Any) -> None:
    answer = accmap("mcp", "--root", "nowhere")
    assert (answer.code, answer.err) == (2, "accmap: no such folder: nowhere\n")

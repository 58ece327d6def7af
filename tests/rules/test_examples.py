"""Every example on a reader's page makes the finding that the page is about, through the command line."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = {
    code: row
    for name in ("shell", "arguments", "files", "sections", "models")
    for code, row in load_table((ROOT / "rules" / "explained" / f"{name}.yaml").read_text("utf-8")).items()
    if not code.startswith("DEF")
}
READERS = {code: row["example"] for code, row in EXPLAINED.items()}
TABLE = load_table((ROOT / "tests" / "rules" / "examples.yaml").read_text("utf-8"))
CASES: dict[str, dict[str, Any]] = {
    **{code: place for place in TABLE["places"].values() for code in place["codes"]},
    **TABLE["cases"],
}
GPT = (
    "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 "
    "--max-position-embeddings 8 --micro-batch-size 1 --global-batch-size 1 --train-iters 10 --lr 1.0e-4 "
    "--tokenizer-type NullTokenizer --vocab-size 99 --mock-data"
)
TEXTS = {
    "GPT": GPT,
    "YAML": (ROOT / "examples" / "qwen3_dense" / "mindformers.yaml").read_text("utf-8").rstrip(),
    "EXPERTS": (ROOT / "examples" / "qwen3_moe" / "mindformers.yaml").read_text("utf-8").rstrip(),
    "ARGUMENTS": GPT.partition(".py ")[2],
    "TRAINING": "model: {model_config: {model_type: qwen3}}\ntraining: {steps: 1000}",
    "DYNAMIC": "model: {model_config: {model_type: qwen3}}",
    "PRINTED": "--- arguments ---\n  num_layers ..... 2\n--- end of arguments ---\n",
}
ESCAPES = {"\\r": "\r", "\\t": "\t", "\\x07": "\x07", "\\xEF\\xBB\\xBF": "\ufeff"}


def code_of(example: str) -> str:
    """An example as a file has it: without its remark, what it shows of an unseen character as that character."""
    text = re.sub(r"   # .*", "", example)
    for shown, character in ESCAPES.items():
        text = text.replace(shown, character)
    return text


def filled(text: str, example: str) -> str:
    """The words of the table that stand for a text; every line of an example is indented as its place is."""
    for indent in re.findall(r"(?m)^( *)EXAMPLE", text):
        text = text.replace(f"{indent}EXAMPLE", "\n".join(indent + line for line in example.split("\n")), 1)
    text = text.replace("EXAMPLE", example)
    for name, stands_for in TEXTS.items():
        text = re.sub(rf"\b{name}\b", lambda _, said=stands_for: said, text)
    return text


def written(case: Mapping[str, Any], example: str, folder: Path) -> list[str]:
    for name, text in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        said = filled(text, example)
        for old, new in case.get("replace", {}).items():
            said = said.replace(old, filled(new, example))
        path.write_bytes(said.encode())
    command = case.get("run", f"accmap lint {next(iter(case['files']))}")
    return shlex.split(filled(command, example))[1:]


def said_codes(words: list[str]) -> set[str]:
    """The codes of everything that a command line finds: of its answer and of what it says beside it."""
    out, err = io.StringIO(), io.StringIO()
    asked = [*words, "--format", "json"] if words[0] in ("lint", "show") else words
    with redirect_stdout(out), redirect_stderr(err):
        main([*asked, "--no-cache", "--remarks"] if words[0] == "lint" else asked)
    found = set(re.findall(r"\b[A-Z]{3}\d{3}\b", err.getvalue()))
    if words[0] == "lint" and out.getvalue():
        return found | {entry["code"] for entry in json.loads(out.getvalue())["diagnostics"]}
    return found | set(re.findall(r'"code": ?"([A-Z]{3}\d{3})"', out.getvalue()))


@pytest.mark.table(4)
@pytest.mark.parametrize("code", sorted(CASES))
def test_the_example_is_found(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = READERS[code]
    side = "command" if CASES[code].get("run") == "EXAMPLE" else next(iter(example))
    words = written(CASES[code], code_of(example[side]), tmp_path)
    assert code in said_codes(words)


_NEEDS_MORE = {
    "MAP011": "the other of the two stands in the place's own text",
    "MAP056": "is a key of another model class than the place's",
    "MAP067": "names a folder that has to be there",
    "MAP070": "names a file that has to be there",
    "MAP094": "is a part of a file, and the place is no whole one",
    "MAP119": "leaves the folder's file as it is, which is said again",
    "SYN013": "names a file that has to be there",
    "SYN037": "names a line of another script",
    "SYN050": "the other of the two stands in the place's own text",
    "SYN908": "writes the file that is read then",
    "SYN910": "names another file",
}


@pytest.mark.table(4)
@pytest.mark.parametrize("code", sorted({*CASES} - {*_NEEDS_MORE}))
def test_what_stands_instead_is_not_found(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page mends the example with text of the same side, or with a command line for the same file."""
    monkeypatch.chdir(tmp_path)
    instead: dict[str, str] = EXPLAINED[code].get("instead", {})
    side = "command" if CASES[code].get("run") == "EXAMPLE" else next(iter(READERS[code]))
    if side not in instead:
        pytest.skip("what to do instead is no other text")
    words = written(CASES[code], code_of(instead[side]), tmp_path)
    assert code not in said_codes(words)


def test_every_reader_code_has_its_place() -> None:
    assert {*CASES, *TABLE["others"], *TABLE["guards"]} == set(READERS)
    assert set(TABLE["others"]) == {*MADE, "SYN904", "SYN990"}  # rights that root has anyway, and a bug
    assert not {*CASES} & {*TABLE["others"]}


MADE: dict[str, tuple[dict[str, bytes], str]] = {
    "SYN005": ({"run.sh": ("echo " + "$(" * 2000 + ")" * 2000 + "\n" + GPT).encode()}, "lint run.sh"),
    "SYN080": ({"train.yaml": TEXTS["YAML"].encode() + b"\nlayers: " + b"[" * 2000 + b"]" * 2000}, "lint train.yaml"),
    "SYN081": (
        {
            "train.yaml": TEXTS["YAML"].encode()
            + b"\na: &a0 [x, x]\n"
            + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 30))
        },
        "lint train.yaml",
    ),
    "SYN901": ({}, "lint run.sh"),
    "SYN905": ({"corpus.json": b" " * (17 * 2**20)}, "lint corpus.json"),
    "SYN906": ({"train.yaml": b"# \xff\xfe\xfa\n" + TEXTS["YAML"].encode()}, "lint train.yaml"),
    "SYN912": ({"run.sh": b"# \xff\xff\n" + GPT.encode()}, "lint run.sh --encoding gb18030"),
    "SYN928": ({"train.yaml": TEXTS["YAML"].encode("utf-16")}, "lint train.yaml"),
    "SYN936": ({"run.sh": "# 训练\n".encode("gb18030") + GPT.encode()}, "lint run.sh"),
    "SYN944": ({"accmap.toml": b""}, "lint run.sh --confine"),
}


@pytest.mark.parametrize("code", sorted(MADE))
def test_what_an_example_only_begins(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "elsewhere.sh").write_text(GPT, "utf-8")
    if code in ("SYN901", "SYN944"):
        (folder / "run.sh").symlink_to("gone.sh" if code == "SYN901" else "../elsewhere.sh")
    files, command = MADE[code]
    for name, data in files.items():
        (folder / name).write_bytes(data)
    assert code in said_codes(command.split())

"""`diff` of a key that both files have with one value, and that one of the frameworks takes in and ignores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE = Path(__file__).parents[2] / "examples" / "qwen3_dense" / "megatron.sh"
PLANTED = "--attention-dropout 0.1 --fp32-residual-connection --rotary-percent 0.5 --bf16"
"""What one of the versions ignores, with the type that it counts in."""
TARGETS = [("1.6", "static"), ("1.9", "static"), ("1.9", "dynamic"), ("2.0", "dynamic"), ("2.1", "dynamic")]
DROPS_NOTHING = "accepts attention_dropout but does not apply it"
IGNORED = [
    ("attention.dropout", "1.9", "dynamic", DROPS_NOTHING, "NET033"),
    ("attention.dropout", "2.0", "dynamic", DROPS_NOTHING, "NET033"),
    ("attention.dropout", "2.1", "dynamic", DROPS_NOTHING, "NET033"),
    ("attention.qk_layernorm", "1.6", "static", "normalizes queries and keys only in latent attention", "DEF539"),
]
FOLLOWED = [
    ("attention.dropout", "1.9", "static"),
    ("attention.dropout", "2.1", "static"),
    ("attention.qk_layernorm", "1.7", "static"),
    ("attention.qk_layernorm", "2.1", "dynamic"),
]


def convert(accmap: Callable[..., Any], folder: Path, version: str, dialect: str) -> list[dict[str, Any]]:
    """`a.sh` with the planted arguments, `b.yaml` that it is converted to, and the rows of the report."""
    text = EXAMPLE.read_text("utf-8")
    assert "--bf16" in text
    (folder / "a.sh").write_text(text.replace("--attention-dropout 0.0", "").replace("--bf16", PLANTED), "utf-8")
    options = ("--mindformers", version, "--dialect", dialect)
    accmap("convert", "a.sh", "-o", "b.yaml", "--report", "report.json", *options)
    return json.loads((folder / "report.json").read_text("utf-8"))["rows"]


def compare(accmap: Callable[..., Any], version: str, dialect: str, *files: str) -> dict[str, dict[str, Any]]:
    """The rows of `diff` by field."""
    answer = accmap("diff", *files, "--format", "json", "--mindformers", version, "--dialect", dialect)
    return {row["field"]: row for row in json.loads(answer.out)["rows"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("field", "version", "dialect", "reason", "code"), IGNORED)
def test_an_ignored_value_is_different(
    accmap: Callable[..., Any], folder: Path, field: str, version: str, dialect: str, reason: str, code: str
) -> None:
    """Both ways round, with the reason, as the report and `lint` say; two files that ignore it are equal."""
    convert(accmap, folder, version, dialect)
    for files in (("a.sh", "b.yaml"), ("b.yaml", "a.sh")):
        row = compare(accmap, version, dialect, *files)[field]
        assert row["a"]["value"] == row["b"]["value"]
        assert (row["status"], row["impact"]) == ("different", "numerics")
        assert reason in row["reason"]
        page = accmap("diff", *files, "--mindformers", version, "--dialect", dialect).out
        assert f"different  {field} (changes numbers)\n" in page
        assert reason in page
    assert compare(accmap, version, dialect, "b.yaml", "b.yaml")[field]["status"] == "equal"
    options = ("--mindformers", version, "--dialect", dialect, "--profile", "train", "--no-cache")
    found = json.loads(accmap("lint", "a.sh", "b.yaml", "--format", "json", *options).out)["diagnostics"]
    assert [entry["code"] for entry in found if field in entry["fields"]] == [code]


@pytest.mark.parametrize(("field", "version", "dialect"), FOLLOWED)
def test_a_value_that_both_follow_is_equal(
    accmap: Callable[..., Any], folder: Path, field: str, version: str, dialect: str
) -> None:
    """The same values where the version reads its key."""
    convert(accmap, folder, version, dialect)
    assert compare(accmap, version, dialect, "a.sh", "b.yaml")[field]["status"] == "equal"


@pytest.mark.parametrize(("version", "dialect"), TARGETS)
def test_nothing_that_is_lost_is_equal(accmap: Callable[..., Any], folder: Path, version: str, dialect: str) -> None:
    """A row that the report calls dropped is not equal in `diff`: these two speak of the same files."""
    rows = convert(accmap, folder, version, dialect)
    lost = {row["field"] for row in rows if row["status"] == "dropped" and row["impact"] == "numerics"}
    assert lost
    compared = compare(accmap, version, dialect, "a.sh", "b.yaml")
    assert not {field for field in lost if compared.get(field, {}).get("status") == "equal"}

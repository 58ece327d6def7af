"""Every rule that is a function, on files: the pass, fail and fix cases of `cases/*.yaml`, through the command line."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.cli.lean import main
from accmap.mapper.align.pair import pair_of as aligned
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

ROOT = Path(__file__).resolve().parents[2]
CASES: list[dict[str, Any]] = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in load_table(path.read_text("utf-8"))
]


def name_of(case: dict[str, Any]) -> str:
    kind = "fix" if "fix" in case else "fail" if "at" in case else "pass"
    return f"{case['code']}-{kind}-{case['base']}"


@cache
def base_text(base: str, side: str, name: str, dynamic: str | None) -> str:
    """A file of an example; of the dynamic graph's version, the one that accmap writes for it."""
    path = ROOT / "examples" / base
    if dynamic is None or side == "megatron":
        return (path / name).read_text("utf-8")
    launch = read_config(str(path / "megatron.sh"), ReadOptions())
    texts = aligned(launch, mindformers=dynamic, dialect="dynamic").texts()
    return next(text for file, text in texts.items() if file.endswith(".yaml"))


def pair_of(case: dict[str, Any], folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for side, name in (("megatron", "megatron.sh"), ("mindformers", "mindformers.yaml")):
        text = base_text(case["base"], side, name, case.get("dynamic"))
        for old, new in case.get(side, {}).items():
            assert old in text, f"{old!r} is not in {case['base']}/{name}"
            text = text.replace(old, new, 1)
        found[side] = folder / name
        found[side].write_text(text, "utf-8")
    if "model" in case:
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(case["model"], indent=2), "utf-8")
    return found


def lint(files: dict[str, Path], capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    main(["lint", *map(str, files.values()), "--format", "json", "--no-cache", "--no-config", *arguments])
    return json.loads(capsys.readouterr().out)["diagnostics"]


@pytest.mark.table(5)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_case(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = pair_of(case, tmp_path)
    arguments = ["--profile", case.get("profile", "align"), *case.get("arguments", [])]
    found = lint(files, capsys, *arguments)
    codes = case.get("codes", [case["code"]])
    own = [entry for entry in found if entry["code"] in codes]
    if "at" not in case:
        assert not own, own
        return
    assert own, f"{case['code']} was not found"
    places: list[dict[str, Any]] = [place for entry in own for place in (entry, *entry["related"]) if place["span"]]
    lines = {Path(place["file"]).read_text("utf-8").split("\n")[place["span"]["line"] - 1] for place in places}
    assert any(case.get("at", "") in line for line in lines), lines
    if "severity" in case:
        assert case["severity"] in {entry["severity"] for entry in own}
    if "only" in case:
        assert {entry["severity"] for entry in own} == {case["only"]}
    if "says" in case:
        assert any(case["says"] in entry["message"] for entry in own)
    if "unmended" in case:
        assert not any(entry["fix"] for entry in own)
    if "fix" in case:
        lint(files, capsys, *arguments, "--fix", "--unsafe")
        text = files["mindformers"].read_text("utf-8")
        assert case["fix"] in text.split("\n")
        assert isinstance(yaml.safe_load(text), dict)
        left = lint(files, capsys, *arguments)
        assert not [entry for entry in left if entry["code"] in codes], "the fix leaves the finding"

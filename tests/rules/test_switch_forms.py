"""A switch in another form that means the same has the same findings; a form that stops the run is an error."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.cli.lean import main
from accmap.schemas.mindformers.switches import switch_test as way_of_asking
from accmap.schemas.mindformers.versions import static_catalog
from accmap.schemas.plain_values import TRUTH, is_mapping, is_on

ROOT = Path(__file__).resolve().parents[2]
BASES = ("qwen3_dense", "deepseek_v3")
MODEL = "model.model_config"
FORMS = ("1", "0", "null", '"False"', "0.0", "2", "[]")
ABOUT_THE_FORM = frozenset(("MAP078", "MAP118"))
CHECKED = 12
MAY_BE_NULL = "bool?"
"""Null is what `__post_init__` of TransformerConfig fills in, which no form says."""


def content_of(base: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "examples" / base / "mindformers.yaml").read_text("utf-8"))


def cases() -> list[tuple[str, str, str]]:
    facts = static_catalog("1.9")
    fields = [f"{MODEL}.{name}" for name, kind in facts["types"].items() if kind in ("bool", MAY_BE_NULL)]
    listed = [(base, path, form) for base in BASES for path in (*facts["switches"], *fields) for form in FORMS]
    random.Random("forms of switches").shuffle(listed)
    return listed


def test_for(path: str, content: dict[str, Any]) -> str | None:
    """How the code asks in this file; None if it does not."""

    def value_of(key: str) -> Any:
        here: Any = content
        for name in key.split("."):
            here = here.get(name) if is_mapping(here) else None
        return here

    facts = static_catalog("1.9")
    if path in facts["switches"]:
        return way_of_asking(facts["switches"][path], value_of)
    return facts["field_tests"].get(path.rpartition(".")[2], TRUTH)


test_for.__test__ = False  # type: ignore[attr-defined]


def findings(base: str, path: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    content = content_of(base)
    *sections, key = path.split(".")
    here = content
    for name in sections:
        here = here.setdefault(name, {})
    here[key] = "THE_FORM"
    text = yaml.safe_dump(content, sort_keys=False).replace("THE_FORM", form)
    (folder / "case.yaml").write_text(text, "utf-8")
    script = str(ROOT / "examples" / base / "megatron.sh")
    main(["lint", script, str(folder / "case.yaml"), "--format", "json", "--remarks", "--no-cache", "--no-config"])
    return json.loads(capsys.readouterr().out)["diagnostics"]


def of_the_meaning(found: list[dict[str, Any]], key: str) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (one["code"], tuple(one["fields"]))
        for one in found
        if not (one["code"] in ABOUT_THE_FORM and key in one["message"])
    }


def check(base: str, path: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str | None:
    key = path.rpartition(".")[2]
    if form == "null" and static_catalog("1.9")["types"].get(key) == MAY_BE_NULL:
        return None
    test = test_for(path, content_of(base))
    on = is_on(yaml.safe_load(form), test or TRUTH)
    found = findings(base, path, form, folder, capsys)
    about = [one for one in found if one["code"] in ABOUT_THE_FORM and key in one["message"]]
    if on is None:
        return None if any(one["severity"] == "error" for one in about) else f"{base}: {path}: {form}: not refused"
    same = of_the_meaning(findings(base, path, str(on), folder, capsys), key)
    differing = same ^ of_the_meaning(found, key)
    return (
        f"{base}: {path}: {form}: {sorted(differing)}, {len(about)} about the form"
        if differing or len(about) > 1
        else None
    )


@pytest.mark.parametrize(
    ("first", "last"), [(0, CHECKED), pytest.param(CHECKED, None, marks=pytest.mark.slow)], ids=["some", "the-rest"]
)
def test_same_means_same(first: int, last: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [check(*case, tmp_path, capsys) for case in cases()[first:last]]
    assert [one for one in wrong if one is not None] == []

"""The typed models: they build, they describe themselves, and they accept and refuse what they should."""

from __future__ import annotations

import glob
import os
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.mindformers.models import Dialect, model

HERE = os.path.dirname(__file__)
with open(os.path.join(HERE, "models_cases.yaml"), encoding="utf-8") as _stream:
    CASES: list[dict[str, Any]] = load_table(_stream.read())
EXAMPLES = sorted(glob.glob(os.path.join(HERE, *[os.pardir] * 3, "examples", "*", "mindformers.yaml")))

STATIC = [("static", version) for version in ("1.6", "1.9", "2.1")]
ALL: list[tuple[Dialect, str]] = [*STATIC, ("legacy", "1.7"), ("dynamic", "2.0"), ("dynamic", "2.1")]


@pytest.mark.parametrize(
    ("dialect", "version"),
    [pytest.param(*one, marks=pytest.mark.slow) if one[0] != "dynamic" else one for one in ALL],
)
def test_the_json_schema_is_valid_and_documented(dialect: Dialect, version: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = model(dialect, version).model_json_schema(by_alias=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    for name, part in [("", schema), *schema["$defs"].items()]:
        assert part.get("description"), name
        for key, field in part.get("properties", {}).items():
            assert field.get("description"), f"{name}.{key}"


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    built = model(case["dialect"], case["version"])
    if "refused" not in case:
        built.model_validate(case["config"])
        return
    with pytest.raises(ValidationError) as caught:
        built.model_validate(case["config"])
    places = {".".join(str(step) for step in error["loc"]) for error in caught.value.errors()}
    assert any(place.startswith(case["refused"]) for place in places), places


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "planted" not in path])
def test_the_examples_are_accepted(path: str) -> None:
    with open(path, encoding="utf-8") as stream:
        value = yaml.safe_load(stream)
    model("static", "1.9").model_validate(value)


def test_a_model_is_built_once() -> None:
    assert model("static", "1.9.0") is model("static", "1.9")
    assert model("dynamic", "2.1") is not model("dynamic", "2.0")

"""The typed view: one documented model a version."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from accmap.schemas.config import Argument, ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.megatron.effective import megatron_config
from accmap.schemas.megatron.models import model
from accmap.schemas.source import Span


@pytest.mark.parametrize("version", ["0.12", "0.16", "0.19"])
def test_every_argument_is_typed_and_documented(version: str) -> None:
    schema = model(version).model_json_schema()
    assert set(schema["properties"]) == set(catalog(version).by_dest)
    assert all(entry["description"].startswith("--") for entry in schema["properties"].values())
    assert version in schema["description"]
    assert version in VERSIONS


def test_types_and_choices() -> None:
    arguments = model("core_r0.12.0")
    assert arguments(num_layers=4, moe_layer_freq=[0, 1]).model_dump()["num_layers"] == 4
    with pytest.raises(ValidationError):
        arguments(attention_backend="fast")
    with pytest.raises(ValidationError):
        arguments(num_layers="many")


def test_effective_values_as_a_model() -> None:
    words = tuple(Argument(text, Span(1, 1, 1, 2)) for text in ("--lr", "1e-4", "--fork-flag", "x"))
    config = megatron_config(words, file="x", options=ReadOptions())
    values = model("0.12").values_of(config).model_dump()
    assert values["lr"] == 1e-4
    assert values["fork_flag"] == ["x"]

"""`accmap schema NAME`: the JSON Schema of what accmap reads and of what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..schemas.border.outgoing import emit, json_text, page
from .outputs import OUTPUTS
from .parsing import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from ..schemas.diagnostic import Language

INPUTS = ("config", "megatron", "mindformers", "recipe", "table")
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def run(
    files: Sequence[str], *, megatron: str | None, mindformers: str | None, dialect: str | None, lang: Language
) -> int:
    """Print one schema, or the names where none is given."""
    del lang
    names = sorted((*INPUTS, *OUTPUTS))
    if not files:
        emit(page(names))
        return 0
    schema = _written(files[0])
    if schema is None:
        schema = {"$schema": _DRAFT, **_model(files[0], megatron, mindformers, dialect, names).model_json_schema()}
    emit(json_text(schema, 2))
    return 0


def _written(name: str) -> dict[str, object] | None:
    """The schema of an input that has no model of its own in `schemas`."""
    if name == "recipe":
        from ..mapper.recipe.vocabulary import json_schema as recipe_schema

        return recipe_schema()
    if name == "table":
        from ..mappings.model import json_schema as table_schema

        return {"$schema": _DRAFT, **table_schema()}
    if name == "config":
        from .configuration import configuration_schema

        return configuration_schema()
    return None


def _model(
    name: str, megatron: str | None, mindformers: str | None, dialect: str | None, names: Sequence[str]
) -> type[BaseModel]:
    if name == "megatron":
        from ..schemas.megatron.catalog import DEFAULT_VERSION
        from ..schemas.megatron.models import model as megatron_model

        return megatron_model(megatron or DEFAULT_VERSION)
    if name == "mindformers":
        from ..schemas.mindformers.models import model as mindformers_model
        from ..schemas.versions import default_name

        chosen = "dynamic" if dialect == "dynamic" else "static"
        return mindformers_model(chosen, mindformers or default_name("mindformers", chosen))
    if name not in OUTPUTS:
        listed = ", ".join(names)
        raise UsageError(
            f"there is no schema {name!r}; the schemas are {listed}", f"没有名为 {name!r} 的 schema；可选的有 {listed}"
        )
    return OUTPUTS[name]

"""The JSON Schemas that accmap publishes, by name; those of a framework's arguments and keys are of one version."""

from __future__ import annotations

from typing import Any

from .argument_parser import UsageError
from .messages_compiled import say
from .schemas_compiled import SCHEMAS

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = tuple(sorted((*SCHEMAS, "megatron", "mindformers", "recipe")))


def schema_of(
    name: str, megatron: str | None = None, mindformers: str | None = None, dialect: str | None = None
) -> dict[str, Any]:
    """A schema by its name; those of a framework's own arguments and keys are of one version."""
    if name in SCHEMAS:
        return SCHEMAS[name]
    if name == "recipe":
        from ..mapper.recipe.vocabulary import json_schema

        return json_schema()
    if name == "megatron":
        from ..schemas.megatron.catalog import DEFAULT_VERSION
        from ..schemas.megatron.models import model as megatron_model

        found = megatron_model(megatron or DEFAULT_VERSION)
    elif name == "mindformers":
        from ..schemas.mindformers.models import model as mindformers_model
        from ..schemas.versions import default_name

        chosen = "dynamic" if dialect == "dynamic" else "static"
        found = mindformers_model(chosen, mindformers or default_name("mindformers", chosen))
    else:
        listed = ", ".join(NAMES)
        raise UsageError(say.there_is_no_schema_the(name=name, listed=listed))
    return {"$schema": _DRAFT, **found.model_json_schema()}

"""`accmap schema NAME`: the JSON Schema of what accmap reads and answers; `--check FILE` holds a file to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schemas.border.outgoing import emit, json_text, page
from .parsing import UsageError
from .schemas_compiled import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..schemas.diagnostic import Language

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = tuple(sorted((*SCHEMAS, "megatron", "mindformers", "recipe")))


def run(
    files: Sequence[str],
    *,
    megatron: str | None,
    mindformers: str | None,
    dialect: str | None,
    check: str | None,
    of: str | None,
    format: str,  # noqa: A002 - the option's name
    stdin_filename: str | None,
    lang: Language,
) -> int:
    """Print one schema, or the names where none is given; with `check`, what in a file is not as its schema says."""
    if check is not None:
        if files:
            raise UsageError(
                f"schema --check takes one file; --of {files[0]} says what it is",
                f"schema --check 只接受一个文件；用 --of {files[0]} 说明其类别",
            )
        from .schema_check import check_file

        return check_file(
            check, of, stdin_filename, (megatron, mindformers, dialect), as_json=format == "json", language=lang
        )
    if of is not None:
        raise UsageError("--of goes with --check", "--of 须与 --check 合用")
    emit(json_text(schema_of(files[0], megatron, mindformers, dialect), 2) if files else page(NAMES))
    return 0


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
        raise UsageError(
            f"there is no schema {name!r}; the schemas are {listed}", f"没有名为 {name!r} 的 schema；可选的有 {listed}"
        )
    return {"$schema": _DRAFT, **found.model_json_schema()}

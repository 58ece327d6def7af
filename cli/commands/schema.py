"""`accmap schema NAME`: the JSON Schema of what accmap reads and answers; `--check FILE` holds a file to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.border.text_output import emit, json_text, page
from ..argument_parser import UsageError
from ..messages_compiled import say
from ..published_schemas import NAMES, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.diagnostic import Language


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
    _require_versions(megatron, mindformers)
    if check is not None:
        if files:
            raise UsageError(say.schema_check_takes_one_file(file=files[0]))
        from ..schema_check import check_file

        return check_file(
            check, of, stdin_filename, (megatron, mindformers, dialect), as_json=format == "json", language=lang
        )
    if of is not None:
        raise UsageError(say.of_goes_with_check())
    emit(json_text(schema_of(files[0], megatron, mindformers, dialect), 2) if files else page(NAMES))
    return 0


def _require_versions(megatron: str | None, mindformers: str | None) -> None:
    """UnreadableError for a version that is not known, also where the schema is the same in all of them."""
    if megatron is not None:
        from ...schemas.megatron.catalog import normalise_version

        normalise_version(megatron)
    if mindformers is not None:
        from ...schemas.mindformers.versions import known_version

        known_version(mindformers)

"""Makes the page of the configuration in both languages from its typed model, which says which keys there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schemas.compilers.tables import load_table
from .compile_schemas import configuration_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLE = Path(__file__).resolve().parent / "configuration_keys.yaml"


def _page(table: Mapping[str, Any], place: int) -> str:
    keys = configuration_keys()
    assert set(table["keys"]) == set(keys), sorted(set(table["keys"]) ^ set(keys))
    lines = [table["head"][place], "", f"## {table['words']['keys'][place]}"]
    for name, schema in keys.items():
        row = table["keys"][name]
        lines += [
            "",
            f"### `{name}`",
            "",
            row["zh"] if place else schema["description"],
            "",
            *_facts(schema, table["words"], place),
        ]
        lines += ["", "```toml", row["example"], "```"]
    return "\n".join([*lines, "", table["foot"][place], ""])


def _facts(schema: Mapping[str, Any], words: Mapping[str, Any], place: int) -> Iterator[str]:
    colon = words["colon"][place]
    if "enum" in schema:
        yield f"- {words['one_of'][place]}{colon}{', '.join(f'`{value}`' for value in schema['enum'])}"
    else:
        yield f"- {words['type'][place]}{colon}{words[schema['type']][place]}"
    if schema.get("default"):
        yield f"- {words['default'][place]}{colon}`{schema['default']}`"


def products() -> dict[str, str]:
    """Both pages."""
    table: dict[str, Any] = load_table(TABLE.read_text("utf-8"))
    return {"docs/configuration.md": _page(table, 0), "docs/configuration.zh-CN.md": _page(table, 1)}

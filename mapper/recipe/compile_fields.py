"""`python -m accmap.mapper.recipe.compile_fields`: the vocabulary as one literal module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SOURCE = Path(__file__).with_name("fields.yaml")
TARGET = Path(__file__).with_name("fields_compiled.py")


def compiled() -> str:
    """The text of the compiled module."""
    topics: dict[str, dict[str, list[Any]]] = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    lines = [
        '"""The recipe vocabulary; compiled from fields.yaml, do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:",
        "    from typing import Any",
        "",
        "FIELDS: dict[str, Any] = {",
    ]
    for topic, fields in topics.items():
        for name, entry in fields.items():
            kind, impact, default, en, zh, *unit = entry
            row = (kind, impact, default, en, zh, unit[0] if unit else None)
            lines.append(f"    {f'{topic}.{name}'!r}: {row!r},")
    return "\n".join(lines) + "\n}\n"


def main() -> None:
    """Write the compiled module."""
    TARGET.write_text(compiled(), encoding="utf-8")


if __name__ == "__main__":
    main()

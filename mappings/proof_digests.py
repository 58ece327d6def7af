"""A digest of what each row of the tables says, so that a proof is known to be of the row as it stands."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from ..schemas.compilers.tables import load_table
from .compile_tables import TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable

_PROSE = ("sources", "note")
"""What a reader is told of a row changes nothing of what is carried over."""


def digests_of(text: Callable[[str], str]) -> dict[str, str]:
    """The first field of every row → a digest; `text` gives a table file by name."""
    found: dict[str, str] = {}
    for topic in TOPICS:
        content: dict[str, Any] = load_table(text(f"{topic}.yaml"))
        for row in content["rows"]:
            said = {name: value for name, value in row.items() if name not in _PROSE}
            said.setdefault("only", content.get("only", []))
            packed = json.dumps(said, sort_keys=True, ensure_ascii=False)
            found[row.get("field") or row["fields"][0]] = hashlib.sha256(packed.encode()).hexdigest()[:12]
    return found

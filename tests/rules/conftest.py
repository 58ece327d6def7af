"""Makes `planting.py` importable for the tests beside it, and looks at every message that these tests make.

Every rule and every code of a reader has a case here, so that each message is seen in its final form, with real values
and in both languages.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.schemas.message import Kind, Words

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).parent))

BROKEN = re.compile(
    r"(?<!\.)\.\.(?![./])|。。|。\.|\.。|，，|[，。；：]{2}|(?<=\S) {2,}|\( | \)|\bNone\b|\s[,.;:](?=\s|$)|（）|\(\)"
)
"""Marks of a missing value, or of two texts that do not fit together."""
_message = Kind.message
_broken: list[str] = []


def final_texts(kind: Kind, values: Any) -> Iterator[str]:
    """A message in both languages; a value that has such marks itself, such as a line of a file, is left out."""
    for language in ("en", "zh"):
        told = {
            name: "x1" if BROKEN.search(f" {value.text(language) if isinstance(value, Words) else value} ") else value
            for name, value in values.items()
            if value is not None
        }
        yield _message(kind, {**values, **told}, language)


def checked_message(self: Kind, values: Any, language: str = "en") -> str:
    """The message, whose final forms are looked at."""
    _broken.extend(f"{self.code}: {text}" for text in final_texts(self, values) if BROKEN.search(text))
    return _message(self, values, language)


@pytest.fixture(autouse=True)
def _messages_are_whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _broken.clear()
    monkeypatch.setattr(Kind, "message", checked_message)
    yield
    assert not _broken, list(dict.fromkeys(_broken))

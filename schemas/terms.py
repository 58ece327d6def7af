"""The words for what is a key in JSON (a severity, an origin, a status), in the reader's language."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from .message import Language, Words


def term(key: str, language: Language) -> str:
    """The word for a key; in English the key itself is one."""
    if language != "zh":
        return key
    said: Callable[[], Words] = getattr(say, f"term_{key.replace('-', '_')}")
    return said().zh

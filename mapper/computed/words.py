"""Values of computed quantities for a reader of Chinese."""

from __future__ import annotations

import re
from functools import cache

from ...schemas.message import Words
from .message_texts_compiled import FOREIGN


def in_both(told: str) -> Words:
    """A value's text, with its Chinese beside it: phrase by phrase, the longest first."""
    said = _phrases().sub(lambda found: FOREIGN[found[0]], told)
    return Words(told, re.sub(r' alike(?="|$)', "", said))


@cache
def _phrases() -> re.Pattern[str]:
    longest_first = sorted(FOREIGN, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")

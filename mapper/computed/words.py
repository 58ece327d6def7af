"""Values of computed quantities for a reader of Chinese."""

from __future__ import annotations

from ...schemas.message import Words


def in_both(told: str) -> Words:
    """A value's text, with its Chinese beside it: phrase by phrase, the longest first."""
    import re

    from .message_texts_compiled import FOREIGN

    phrases = sorted(FOREIGN, key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})\b")
    said = pattern.sub(lambda found: FOREIGN[found[0]], told)
    return Words(told, re.sub(r' alike(?="|$)', "", said))

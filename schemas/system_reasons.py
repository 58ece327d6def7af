"""Why the operating system refused, in English and Chinese."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING
from .messages_compiled import say

if TYPE_CHECKING:
    from .message import Words


def system_reason(error: Exception) -> Words:
    """The system's words for an error, and the same in Chinese where accmap has them."""
    import errno

    known: Words | None = getattr(error, "words", None)
    if known is not None:
        return known
    number = error.errno if isinstance(error, OSError) else None
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return say.foreign(said, errno.errorcode.get(number or 0))

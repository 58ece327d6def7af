"""What the caller of accmap asked for and cannot have: a sentence in both languages, exit code 2."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from .message import Words


class UsageError(Exception):
    """Words, a file or a place that accmap cannot use, and what is wrong in both languages."""

    def __init__(self, said: Words) -> None:
        super().__init__(said)
        self.said = said
        self.en, self.zh = str(said), said.zh

    def message(self, language: str) -> str:
        """What is wrong, for a person."""
        return self.said.text(language)

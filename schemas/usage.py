"""What the caller of accmap asked for and cannot have: a sentence in both languages, exit code 2."""

from __future__ import annotations


class UsageError(Exception):
    """Words, a file or a place that accmap cannot use, and what is wrong in both languages."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en, self.zh = en, zh

    def message(self, language: str) -> str:
        """What is wrong, for a person."""
        return self.zh if language == "zh" else self.en

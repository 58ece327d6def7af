"""The language that a command line asks for; a checkout that is not built knows it, too."""

from __future__ import annotations

import os

from ..schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..schemas.diagnostic import Language


def language_of(given: object) -> Language:
    """The language of messages: `--lang`, else ACCMAP_LANG, else English."""
    chosen = given or os.environ.get("ACCMAP_LANG", "en")
    return "zh" if str(chosen).lower().startswith("zh") else "en"


def language_in(words: Sequence[str]) -> Language:
    """The language that a command line asks for, before it is parsed."""
    for before, word in zip(("", *words), words, strict=False):
        given = word.rpartition("=")[2]
        if given in ("en", "zh") and (word.startswith("--lang=") or before == "--lang"):
            return language_of(given)
    return language_of(None)

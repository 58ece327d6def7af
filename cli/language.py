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


_SAID = (
    "accmap: this checkout is not built ({name} is missing): run `python -m generate` in it, or `pip install -e .`",
    "accmap: 此检出尚未构建（缺少 {name}）：请在其中运行 `python -m generate` 或 `pip install -e .`",
)


def is_not_built(error: Exception) -> bool:
    """True if a product is what could not be imported."""
    return isinstance(error, ModuleNotFoundError) and str(error.name).endswith("_compiled")


def build_instruction(name: str | None, language: str) -> str:
    """Sentence on the missing module and the command that makes it."""
    return _SAID[language == "zh"].format(name=name)

"""A translation as text, whichever framework it is for."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from .target import Translation


def text_of(translation: Translation, *, comments: bool = True, language: Language = "en") -> str:
    """The file that the target framework reads, its comments in a language."""
    if translation.target_framework == "megatron":
        from .megatron_file import megatron_text

        return megatron_text(translation, comments=comments, language=language)
    from .mindformers_file import mindformers_text

    return mindformers_text(translation, comments=comments, language=language)

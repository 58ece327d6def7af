"""A translation as text, whichever framework it is for."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .target import Translation


def text_of(translation: Translation, *, comments: bool = True) -> str:
    """The file that the target framework reads."""
    if translation.target_framework == "megatron":
        from .megatron_file import megatron_text

        return megatron_text(translation, comments=comments)
    from .mindformers_file import mindformers_text

    return mindformers_text(translation, comments=comments)

"""The version of a framework as people write it: `1.9`, `1.9.0`, `v1.9.0`, `core_r0.12.0`."""

from __future__ import annotations

from .light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import ReadOptions


def minor_of(text: str) -> str | None:
    """`1.9` of `r1.9.0rc1`: two numbers, and a patch that begins with a digit; None where the text is no version."""
    parts = text.strip().removeprefix("core_").lstrip("rv").split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return None
    if len(parts) > 2 and not parts[2][:1].isdigit():
        return None
    return ".".join(parts[:2])


def check_versions(options: ReadOptions, where: str | None = None) -> ReadOptions:
    """The options as they are; UnreadableError where one names a version that there are no facts of.

    One rule for both frameworks, and whether or not a file of that framework is read: what nothing is known of
    is refused, and never answered for by a neighbour. `where` names the file that says it, where it is no option.
    """
    if options.megatron is not None:
        from .megatron.catalog import normalise_version

        normalise_version(options.megatron, where or "--megatron")
    if options.mindformers is not None:
        from .mindformers.catalog import known_version

        known_version(options.mindformers, where or "--mindformers")
    return options

"""The versions that a caller names: those that there are facts of, and no others."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import ReadOptions


def check_versions(options: ReadOptions, where: str | None = None) -> ReadOptions:
    """The options as they are; UnreadableError where one names a version that there are no facts of.

    One rule for all frameworks, and whether or not a file of that framework is read: what nothing is known of
    is refused, and never answered for by a neighbour. `where` names the file that says it, where it is no option.
    """
    if options.megatron is not None:
        from .megatron.forks import normalise_version

        normalise_version(options.megatron, where or "--megatron")
    if options.mindformers is not None:
        from .mindformers.catalog import known_version

        known_version(options.mindformers, where or "--mindformers")
    if options.transformers is not None:
        from .huggingface.reading import known_version as of_transformers

        of_transformers(options.transformers, where or "--transformers")
    return options

"""Words of a launch that nobody can read and that may be flags, whatever they say: each could replace any value.

An answer that says "equal", "exact" or "match" beside one of them says it of the run without that word.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING
from .messages_compiled import say
from .verdict import Unseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .config import Config
    from .diagnostic import Diagnostic

_FOUND = "undecided-argument"


def open_words(config: Config) -> Iterator[tuple[str, Diagnostic]]:
    """Each word, and what its reader said of it."""
    for problem in config.problems:
        if problem.kind.name == _FOUND:
            yield str(dict(problem.values)["text"]), problem


def unseen_words(configs: Iterable[Config]) -> list[Unseen]:
    """What no comparison of these files has seen."""
    return [
        Unseen(
            config.file if problem.span is None else f"{config.file}:{problem.span.line}",
            *say.could_override(text=text).both(),
        )
        for config in configs
        for text, problem in open_words(config)
    ]

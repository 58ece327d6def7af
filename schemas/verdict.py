"""The verdict of a comparison: from the differences, the compared amount, and the parts that were not compared.

Every command's verdict comes from `conclude`. Its good word ("equal", "match", "pass") is said only where everything
that is relevant was compared; *partial* is compared in part, *undecided* is without the evidence, and neither is fine.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING, NamedTuple
from .messages_compiled import say
from .shared_words import mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .config import Config
    from .diagnostic import Diagnostic, Language


PARTIAL, UNDECIDED = "partial", "undecided"


class Unseen(NamedTuple):
    """Something relevant that was not compared, and why."""

    what: str
    en: str
    zh: str

    def text(self, language: Language) -> str:
        """Readable text of the uncompared item."""
        return f"{self.what}{mark('colon', language)}{self.zh if language == 'zh' else self.en}"


def word_of(verdict: str, language: str) -> str | None:
    """Readable words for `partial` and `undecided`; None for other verdicts."""
    return say.page("verdict", language)(verdict) if verdict in (PARTIAL, UNDECIDED) else None


def conclude(fine: str, bad: str, *, wrong: bool, compared: int, unseen: Sequence[Unseen] = ()) -> str:
    """One-word verdict: `bad` if something is wrong, `fine` only if everything was compared."""
    if wrong:
        return bad
    if not compared:
        return UNDECIDED
    return PARTIAL if unseen else fine


def unseen_json(unseen: Iterable[Unseen], language: Language) -> list[dict[str, str]]:
    """The key `not_compared` of an answer."""
    return [{"what": one.what, "reason": one.zh if language == "zh" else one.en} for one in unseen]


_FOUND = "undecided-argument"


def unresolved_words(config: Config) -> Iterator[tuple[str, Diagnostic]]:
    """Undecided words of a configuration with their problems."""
    for problem in config.problems:
        if problem.kind.name == _FOUND:
            yield str(dict(problem.values)["text"]), problem


def unseen_words(configs: Iterable[Config]) -> list[Unseen]:
    """Undecided words that no comparison covers."""
    return [
        Unseen(
            config.file if problem.span is None else f"{config.file}:{problem.span.line}",
            *say.could_override(text=text).both(),
        )
        for config in configs
        for text, problem in unresolved_words(config)
    ]

"""Diagnostics: messages about a place in a file, in both languages.

A `Kind` is one sort of finding: its code, name, default severity and its message in English and Chinese, with
`{name}` fields. Kinds stand in the catalogues (`messages.yaml` of each folder) and in the rules; a `Diagnostic` is one
occurrence: the kind, the values that fill the message, and where.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING, NamedTuple
from .message import Confidence as Confidence
from .message import Kind as Kind
from .message import Language as Language
from .message import Problem, Words
from .message import Severity as Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal, TypeAlias

    from .source import Span

    Applicability: TypeAlias = Literal["safe", "unsafe"]
    Mark: TypeAlias = "tuple[str, str, Span | None, str]"


EFFECTS: dict[str, str] = {"error": "stops", "warning": "depends", "info": "advice"}


class Related(NamedTuple):
    """A second place that belongs to a finding, with a note in both languages."""

    file: str
    span: Span | None
    en: str
    zh: str
    repeats: str = ""
    """The side (`a` or `b`) whose key and value the message has; empty if the note has something new."""


class Edit(NamedTuple):
    """Replace what stands at `span` by `text`."""

    file: str
    span: Span
    text: str


class Fix(NamedTuple):
    """Edits that mend a finding; `unsafe` ones change what the run does."""

    applicability: Applicability
    en: str
    zh: str
    edits: tuple[Edit, ...]
    command: str = ""
    """The command that makes this change too, together with all others that the pair needs."""


class Diagnostic(NamedTuple):
    """One finding."""

    kind: Kind
    file: str
    span: Span | None = None
    values: tuple[tuple[str, object], ...] = ()
    related: tuple[Related, ...] = ()
    fields: tuple[str, ...] = ()
    fix: Fix | None = None
    """The fix that is applied if one is asked for; of a difference, one that changes side b of the pair."""
    alternatives: tuple[Fix, ...] = ()
    """Other fixes, each enough by itself: of a difference, those that change side a."""
    because: Mark | None = None
    """The finding that this one follows from: one cause is one finding."""
    because_of: int | None = None
    """Its place in the list that both are handed out in."""
    changes: Words | None = None
    """The effect of a difference on the run, if the message does not contain it."""
    remedy: Words | None = None
    """The instruction for a person, if there is no fix."""

    @property
    def mark(self) -> Mark:
        """The identity of this finding among others, whatever becomes of its severity."""
        return self.kind.code, self.file, self.span, self.message()

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """Every fix of the finding, the one that is applied first."""
        return self.alternatives if self.fix is None else (self.fix, *self.alternatives)

    @property
    def place(self) -> str:
        """The file, and the line where one is known."""
        return self.file if self.span is None else f"{self.file}:{self.span.line}"

    def message(self, language: Language = "en") -> str:
        """The sentence for a person."""
        return self.kind.message(dict(self.values), language)

    def consequence(self, language: Language = "en") -> str | None:
        """The effect on the run as a sentence; None for advice, and if the message contains it."""
        return None if self.changes is None or self.effect == "advice" else self.changes.text(language)

    def advice(self, language: Language = "en") -> str | None:
        """The instruction as a sentence: the description of the first fix; None if the message contains it."""
        for fix in self.fixes:
            return fix.zh if language == "zh" else fix.en
        if self.remedy is None or self.because is not None or self.effect == "advice":
            return None
        return self.remedy.text(language)

    def sentences(self, language: Language = "en") -> str:
        """The message and the effect on the run, for a format that shows the fix elsewhere."""
        parts = (self.message(language), self.consequence(language))
        return ("" if language == "zh" else " ").join([part for part in parts if part])

    def words(self) -> Words:
        """The sentence in both languages, for another message that holds it."""
        return Words(self.message(), self.message("zh"))

    @property
    def effect(self) -> str:
        """The effect of the finding on the run: it stops, its numbers differ, that depends, or this is advice."""
        return self.kind.effect or EFFECTS[self.kind.severity]

    @property
    def url(self) -> str | None:
        """The address of the page that explains the code; None as long as the documentation is not published."""
        from .addresses_compiled import SITE

        return f"{SITE}/{page_of_code(self.kind.code)}" if SITE else None

    def to_json(self, language: Language = "en", because_of: int | None = None) -> dict[str, object]:
        """The contract's `diagnostic`; a list that is not handed out knows the place of its cause."""
        from .answers_compiled import diagnostic_json

        return diagnostic_json(self, language, because_of=self.because_of if because_of is None else because_of)


def page_of_code(code: str) -> str:
    """The page of the site that explains a code: its own, or its heading on the page of all codes of evidence."""
    return f"evidence-codes/#{code.lower()}" if code.startswith("EVD") else f"rules/{code}/"


class UnreadableError(Exception):
    """Input that cannot be read or parsed: exit code 2 and this one diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        return self.diagnostic.message()


class WordsError(ValueError):
    """Something that cannot be done; `words` say why in both languages."""

    def __init__(self, words: Words) -> None:
        super().__init__(words)
        self.words = words


class ReadBackError(Exception):
    """The written file differs from its report: an error of its own, exit code 3, and nothing is written."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.zh = zh

    def message(self, language: Language) -> str:
        """The sentence in a language: the difference, the report to send, and the way on."""
        return self.zh if language == "zh" else str(self)


def deduplicate(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Every finding once: where code, file and place are the same, the sentence decides."""
    seen: dict[object, Diagnostic | set[str]] = {}
    kept: list[Diagnostic] = []
    for entry in found:
        mark = entry.kind.code, entry.file, entry.span
        earlier = seen.get(mark)
        if earlier is None:
            seen[mark] = entry
        else:
            if isinstance(earlier, Diagnostic):
                earlier = seen[mark] = {earlier.message()}
            message = entry.message()
            if message in earlier:
                continue
            earlier.add(message)
        kept.append(entry)
    return kept


def causes_of(found: Sequence[Diagnostic]) -> list[int | None]:
    """The place in the list of what each finding follows from; None where nothing is, or where it is not said."""
    wanted = {entry.because[:3] for entry in found if entry.because is not None}
    if not wanted:
        return [None] * len(found)
    places: dict[Mark, int] = {}
    for number, entry in enumerate(found):
        if entry.because is None and (entry.kind.code, entry.file, entry.span) in wanted:
            places.setdefault(entry.mark, number)
    return [None if entry.because is None else places.get(entry.because) for entry in found]


def with_causes(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings, each with the place of its cause among them."""
    causes = causes_of(found)
    return tuple([one._replace(because_of=cause) for one, cause in zip(found, causes, strict=True)])


def diagnose(problem: Problem, file: str, span: Span | None = None, related: tuple[Related, ...] = ()) -> Diagnostic:
    """The problem as a diagnostic at a place."""
    return Diagnostic(problem.kind, file, span, problem.values, related)


def unreadable(problem: Problem, file: str, span: Span | None = None) -> UnreadableError:
    """An UnreadableError with the diagnostic for a problem at a place in a file."""
    return UnreadableError(diagnose(problem, file, span))


class UsageError(Exception):
    """Words, a file or a place that accmap cannot use, and what is wrong in both languages."""

    def __init__(self, said: Words) -> None:
        super().__init__(said)
        self.said = said
        self.en, self.zh = str(said), said.zh

    def message(self, language: str) -> str:
        """The error's message in a language."""
        return self.said.text(language)

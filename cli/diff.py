"""`accmap diff A B`: two files of either framework, field by field, by their effective values."""

from __future__ import annotations

import json
from collections import Counter

from ..mapper.differences import differences
from ..mapper.gates import counts
from ..mapper.recipe.reading import recipe_of
from ..mapper.recipe.run_length import open_because
from ..schemas.border.outgoing import emit, json_text, painted, say
from ..schemas.json_values import json_value
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..schemas.marks import listed
from ..schemas.open_words import unseen_words
from ..schemas.refused import what_stops
from ..schemas.terms import term
from ..schemas.verdict import Unseen, concluded, unseen_json
from .exit_codes import BAD, FINE
from .inputs import load
from .messages_compiled import say as usage
from .open_values import print_open
from .terminal import shortened, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..mapper.differences import Difference, Found
    from ..mapper.recipe.values import Recipe
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config, ReadOptions
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words


class Compared(NamedTuple):
    """Two files, field by field, and what of them was not compared."""

    rows: tuple[Difference, ...]
    unseen: tuple[Unseen, ...]
    reasons: Mapping[FieldName, Words]
    """Why fields are open."""

    @property
    def verdict(self) -> str:
        """Equal only where everything that counts was compared."""
        return _verdict(self.rows, self.unseen)

    def totals(self, language: Language) -> str:
        """How many fields there are of each status, in a line."""
        word: Callable[..., str] = usage.page("diff_status", language)
        return listed((f"{count} {word(status)}" for status, count in self.summary.items()), language)

    @property
    def summary(self) -> dict[str, int]:
        """How many fields there are of each status."""
        return dict(Counter(row.status for row in self.rows))


_STYLE = {"different": "red", "undecided": "yellow", "only-a": "cyan", "only-b": "cyan", "equal": "green"}


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    format: str,  # noqa: A002 - the option's name
    all: bool,  # noqa: A002 - the option's name
    lang: Language,
) -> int:
    """Print the comparison; 1 where something that both sides have differs, or numbers depend on one side alone."""
    configs = [load(name, options, stdin_name, model=True) for name in files]
    sides = [recipe_of(config) for config in configs]
    found = compared(configs, sides)
    if format == "json":
        emit(json_text(_to_json(found, sides, lang)))
    else:
        _page(found, sides, lang, everything=all)
    return FINE if found.verdict == "equal" else BAD


def compared(configs: Sequence[Config], sides: Sequence[Recipe]) -> Compared:
    """Two files by their effective values."""
    a, b = sides
    rows = tuple(_gated(row, a, b) for row in differences(a, b))
    reasons: dict[FieldName, Words] = {**open_because(configs[0], a), **open_because(configs[1], b)}
    return Compared(rows, (*unseen_words(configs), *_stopped_alone(configs)), reasons)


def _to_json(found: Compared, sides: Sequence[Recipe], language: Language) -> dict[str, object]:
    said = [row.to_json() for row in found.rows]
    for row, entry in zip(found.rows, said, strict=True):
        if row.status == "undecided" and row.field and (reason := found.reasons.get(row.field)) is not None:
            entry["reason"] = reason.text(language)
    versions = [{"file": side.file, **side.basis.to_json(language)} for side in sides if side.basis is not None]
    return {
        "verdict": found.verdict,
        "not_compared": unseen_json(found.unseen, language),
        "versions": versions,
        "rows": said,
        "summary": found.summary,
    }


def _gated(row: Difference, a: Recipe, b: Recipe) -> Difference:
    """A row of a field that counts in neither run has no impact; one that may count is not known to differ."""
    if row.field is None or row.status == "equal":
        return row
    sides = {"only-a": (a,), "only-b": (b,)}.get(row.status, (a, b))
    answer = counts(row.field, *sides)
    if answer is True:
        return row
    return row._replace(counts=answer, impact="none" if answer is False else row.impact)


def _stopped_alone(configs: Sequence[Config]) -> Iterator[Unseen]:
    """What stops one of the runs and not the other: there are no two runs to call equal."""
    stops = [{one.message(): one for one in what_stops(config)} for config in configs]
    for config, own, others in zip(configs, stops, reversed(stops), strict=True):
        for text, one in own.items():
            if text not in others:
                place = config.file if one.span is None else f"{config.file}:{one.span.line}"
                yield Unseen(place, *usage.would_not_start(problem=one.words()).both())


def _verdict(rows: Sequence[Difference], unseen: Sequence[Unseen]) -> str:
    """Different where a value that both have, or a number on one side alone, parts them; undecided where it is open."""
    sure = [row for row in rows if row.counts is True]
    wrong = any(row.status == "different" and row.impact != "none" for row in sure) or any(
        row.status in ("only-a", "only-b") and row.impact == "numerics" for row in sure
    )
    open_ = bool(unseen) or any(
        (row.status == "undecided" and row.impact != "none") or (row.counts is None and row.impact == "numerics")
        for row in rows
    )
    return concluded("equal", "different", wrong=wrong, compared=0 if open_ else len(rows))


def _name(letter: str, side: Recipe, language: Language, *, colour: bool) -> None:
    """The file behind a letter, its version, and what it does where that is not to train a model."""
    basis = side.basis
    say(f"{letter} {painted(side.file, 'bold', colour)}  {'' if basis is None else basis.text(language)}")
    if basis is not None and basis.purpose is not None:
        say(f"  {basis.purpose.problem.message(language)}")


def _page(found: Compared, sides: Sequence[Recipe], language: Language, *, everything: bool) -> None:
    colour = wants_colour()
    status_word: Callable[..., str] = usage.page("diff_status", language)
    for letter, side in zip("AB", sides, strict=True):
        _name(letter, side, language, colour=colour)
    say()
    for row in found.rows:
        if not everything and (row.status == "equal" or row.impact == "none"):
            continue
        say(f"{painted(status_word(row.status), _STYLE[row.status], colour)}  {named(row)}")
        for letter, side in (("A", row.a), ("B", row.b)):
            if side is not None:
                value = shortened(value_text(named(row), side, language), 48)
                say(f"    {letter}  {value:<24}  {whence(side, language)}".rstrip())
    say(found.totals(language))
    print_open(found.reasons, language)
    for one in found.unseen:
        say(one.text(language))
    verdict = found.verdict
    word: Callable[..., str] = usage.page("diff", language)
    say(painted(word(verdict), "green" if verdict == "equal" else "red", wants_colour()))


def named(row: Difference) -> str:
    """The field of a row, or the key that has none."""
    side = row.a or row.b
    return row.field or ("" if side is None else side.key or "")


def value_text(name: str, side: Found, language: Language) -> str:
    """What one side says, as a person reads it."""
    value = "?" if not side.decided else json.dumps(json_value(side.value), ensure_ascii=False)
    if language == "zh" and name.startswith("computed."):
        from ..mapper.computed.words import in_both

        return in_both(value).zh
    return value


def whence(side: Found, language: Language) -> str:
    """Where it comes from: its origin, its place in the file, its key."""
    place = "" if side.span is None else f":{side.span.line}:{side.span.column}"
    return f"{term(side.origin, language)} {place} {side.key or ''}".rstrip()

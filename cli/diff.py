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
from ..schemas.light_typing import TYPE_CHECKING
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
    from collections.abc import Callable, Iterator, Sequence

    from ..mapper.differences import Difference, Found
    from ..mapper.recipe.values import Recipe
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config, ReadOptions
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words

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
    a, b = map(recipe_of, configs)
    rows = [_gated(row, a, b) for row in differences(a, b)]
    unseen = [*unseen_words(configs), *_stopped_alone(configs)]
    verdict = _verdict(rows, unseen)
    reasons: dict[FieldName, Words] = {**open_because(configs[0], a), **open_because(configs[1], b)}
    if format == "json":
        said = [row.to_json() for row in rows]
        for row, entry in zip(rows, said, strict=True):
            if row.status == "undecided" and row.field and (reason := reasons.get(row.field)) is not None:
                entry["reason"] = reason.text(lang)
        versions = [{"file": side.file, **side.basis.to_json(lang)} for side in (a, b) if side.basis is not None]
        emit(
            json_text(
                {
                    "verdict": verdict,
                    "not_compared": unseen_json(unseen, lang),
                    "versions": versions,
                    "rows": said,
                    "summary": _summary(rows),
                }
            )
        )
    else:
        _page(rows, (a, b), lang, everything=all)
        print_open(reasons, lang)
        for one in unseen:
            say(one.text(lang))
        word: Callable[..., str] = usage.page("diff", lang)
        say(painted(word(verdict), "green" if verdict == "equal" else "red", wants_colour()))
    return FINE if verdict == "equal" else BAD


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


def _summary(rows: Sequence[Difference]) -> dict[str, int]:
    return dict(Counter(row.status for row in rows))


def _name(letter: str, side: Recipe, language: Language, *, colour: bool) -> None:
    """The file behind a letter, its version, and what it does where that is not to train a model."""
    basis = side.basis
    say(f"{letter} {painted(side.file, 'bold', colour)}  {'' if basis is None else basis.text(language)}")
    if basis is not None and basis.purpose is not None:
        say(f"  {basis.purpose.problem.message(language)}")


def _page(rows: Sequence[Difference], sides: Sequence[Recipe], language: Language, *, everything: bool) -> None:
    colour = wants_colour()
    word: Callable[..., str] = usage.page("diff_status", language)
    for letter, side in zip("AB", sides, strict=True):
        _name(letter, side, language, colour=colour)
    say()
    for row in rows:
        if not everything and (row.status == "equal" or row.impact == "none"):
            continue
        status = word(row.status)
        named = row.field or _key(row)
        say(f"{painted(status, _STYLE[row.status], colour)}  {named}")
        for letter, side in (("A", row.a), ("B", row.b)):
            if side is not None:
                say(f"    {letter}  {_shown(named, side, language)}")
    say(", ".join(f"{count} {word(status)}" for status, count in _summary(rows).items()))


def _key(row: Difference) -> str:
    side = row.a or row.b
    return "" if side is None else side.key or ""


def _shown(name: str, side: Found, language: Language) -> str:
    value = "?" if not side.decided else json.dumps(json_value(side.value), ensure_ascii=False)
    if language == "zh" and name.startswith("computed."):
        from ..mapper.computed.words import in_both

        value = in_both(value).zh
    place = "" if side.span is None else f":{side.span.line}:{side.span.column}"
    return f"{shortened(value, 48):<24}  {term(side.origin, language)} {place} {side.key or ''}".rstrip()

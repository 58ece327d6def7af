"""The conversion matrix for readers: every row of the tables, by topic, in English and Chinese.

They are `docs/matrix.md` and `docs/matrix.zh-CN.md`.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import groupby
from typing import Any

from ..mappings.messages_compiled import say
from ..mappings.proofs import pairs_words, quantity_proofs
from ..mappings.tables import table
from ..schemas.border.file_input import package_text
from ..schemas.compilers.tables import load_table
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.shared_words import in_brackets, list_words, term
from ..schemas.versions import known_names
from .recipe.vocabulary import COMPUTED, vocabulary
from .row_words import (
    behaviour,
    beside_chinese,
    conditions,
    differs_from_guide,
    loss_means,
    megatron_names,
    mindformers_names,
    proof_words,
    shown_key,
    with_versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..mappings.tables import Condition, Loss, Row, Side
    from ..schemas.diagnostic import Language

FILES: dict[Language, str] = {"en": "matrix.md", "zh": "matrix.zh-CN.md"}
_LOSSES: tuple[Loss, ...] = ("exact", "conditional", "approximate", "one-way", "unsupported")
_NOTHING = "–"
_STATIC_MODEL, _DYNAMIC_MODEL = "model.model_config.", "model."
_MANY = 12


@cache
def _words(name: str) -> Any:
    """The words of `matrix.yaml` by their name, English and Chinese."""
    return load_table(package_text(os.path.dirname(__file__), "matrix.yaml"))[name]


def products() -> dict[str, str]:
    """Both files of the matrix."""
    return {f"docs/{name}": document(language) for language, name in FILES.items()}


def document(language: Language) -> str:
    """The matrix in one language."""
    place = 1 if language == "zh" else 0
    spoken = {dialect: known_names("mindformers", dialect) for dialect in ("static", "dynamic")}
    lines = [
        _words("introduction")[place]
        .format(megatron=known_names("megatron").replace(", ", _words("between")[place]), **spoken)
        .rstrip("\n")
    ]
    lines += [
        f"| {term(loss, language)} | {loss_means(loss, language)} |"
        for loss in _LOSSES
        if any(row.loss == loss for row in table().rows)
    ]
    for topic, rows in groupby(table().rows, key=lambda row: row.topic):
        lines += ["", f"## {_words('topics')[topic][place]}", "", *_topic(tuple(rows), language)]
    lines += ["", _words("guide")[place], ""]
    for row in table().rows:
        if differs_from_guide(row):
            lines.append(f"- `{row.fields[0]}`: {row.zh if place else row.en}")
    lines += ["", _words("computed")[place], *_quantities(language)]
    lines += ["", _words("without")[place], *_without(place)]
    return "\n".join(lines) + "\n"


def _topic(rows: Sequence[Row], language: Language) -> list[str]:
    place = 1 if language == "zh" else 0
    numbers: dict[str, int] = {}
    for row in rows:
        for source in row.sources:
            numbers.setdefault(source, len(numbers) + 1)
    lines = [_words("head")[place]]
    for row in rows:
        cells = (
            _fields(row, language),
            _megatron(row, language),
            _mindformers(row, language),
            "<br>".join(filter(None, (term(row.loss, language), proof_words(row, language)))),
            _remarks(row, language) + " " + ", ".join(f"[{numbers[source]}]" for source in row.sources),
        )
        lines.append(f"| {' | '.join(cell.strip().replace('|', '&#124;') for cell in cells)} |")
    listed = " · ".join(f"[{number}] {source}" for source, number in numbers.items())
    return [*lines, "", _words("sources")[place].format(text=listed)]


def _fields(row: Row, language: Language) -> str:
    known = vocabulary()
    return "<br>".join(f"`{name}` {known[name].zh if language == 'zh' else known[name].en}" for name in row.fields)


def _megatron(row: Row, language: Language) -> str:
    parts: list[str] = []
    for side, when in with_versions(row.megatron, language):
        names = list_words([f"`{name}`" if name.startswith("-") else name for name in megatron_names(side)], language)
        parts.append(_side(names, side, when, language))
    return "<br>".join(parts) or _NOTHING


def _mindformers(row: Row, language: Language) -> str:
    place = 1 if language == "zh" else 0
    static, dynamic = _keys(row.static, _STATIC_MODEL, language), _keys(row.dynamic, _DYNAMIC_MODEL, language)
    if static == dynamic:
        return static
    return f"{_words('static')[place].format(text=static)}<br>{_words('dynamic')[place].format(text=dynamic)}"


def _keys(sides: Sequence[Side], prefix: str, language: Language) -> str:
    place = 1 if language == "zh" else 0
    parts: list[str] = []
    for side, when in with_versions(sides, language):
        names = list_words([f"`{_short(name, prefix)}`" for name in mindformers_names(side)], language)
        text = _side(names, side, when, language)
        if side.aliases:
            aliases = list_words([f"`{_short(shown_key(name), prefix)}`" for name in side.aliases], language)
            text += _words("also")[place].format(names=aliases)
        parts.append(text)
    return "<br>".join(parts) or _NOTHING


def _side(names: str, side: Side, when: str, language: Language) -> str:
    text = names or behaviour(side, language) or _NOTHING
    return text + in_brackets(when, language)


def _short(key: str, prefix: str) -> str:
    return "…" + key.removeprefix(prefix) if key.startswith(prefix) else key


def _remarks(row: Row, language: Language) -> str:
    place = 1 if language == "zh" else 0
    parts = [row.zh if place else row.en] if row.en else []
    if row.only:
        parts.append(_words("only")[place].format(text=conditions(row.only, language)))
    for caveat in row.caveats:
        text = (caveat.zh if place else caveat.en).replace("{", "`{").replace("}", "}`")
        parts.append(_words("if")[place].format(when=_conditions(caveat.when, language), text=text))
    return ("" if place else " ").join(dict.fromkeys(parts))


def _conditions(given: Sequence[Condition], language: Language) -> str:
    said = conditions(given, language)
    return beside_chinese(said) if language == "zh" else said


def _quantities(language: Language) -> Iterator[str]:
    for name, field in vocabulary().items():
        if name.startswith(COMPUTED):
            known = quantity_proofs(name)
            pairs = dict.fromkeys(pair for _field, listed in known for pair in listed)
            words = (pairs_words(pairs) if pairs else say.exact_by_reading()).text(language)
            if known:
                fields = list_words([f"`{one}`" for one, _pairs in known], language)
                words = _words("by")[language == "zh"].format(words=words, fields=fields)
            yield f"| `{name}` {field.zh if language == 'zh' else field.en} | {words} |"


def _without(place: int) -> list[str]:
    known = table()
    lines = [_words("reason_head")[place]]
    for number, reason in enumerate(known.reasons):
        arguments = [dest for dest, one in known.megatron_reasons.items() if one == number]
        keys = sorted(path for path, one in known.mindformers_reasons.items() if one == number)
        cells = (
            reason.zh if place else reason.en,
            _words("impact")[reason.impact][place],
            _first(arguments),
            _first(keys),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _first(names: Sequence[str]) -> str:
    """The first names, and how many there are."""
    shown = ", ".join(f"`{name}`" for name in names[:_MANY])
    return f"{shown}, … ({len(names)})" if len(names) > _MANY else shown or _NOTHING

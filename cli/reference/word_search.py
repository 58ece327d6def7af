"""Search for what a word is about: names that a person may mean, the best first, each with one line."""

from __future__ import annotations

import re
from functools import cache

from ...mapper.mapping_rows import flags, shown_key
from ...mapper.recipe.vocabulary import vocabulary
from ...mappings.tables import table
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import DEFAULT_VERSION, catalog
from ..messages_compiled import say
from ..options import all_commands, options_of
from .key_search import find_named, nearest_names
from .reference_compiled import KEYS, SECTIONS, SYNONYMS
from .section_explanation import sections_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ...mappings.names_compiled import FieldName
    from ...schemas.diagnostic import Language

_MOST = 20
_LONGEST_CODE = 8
_NEAR = 2
"""A word of so few letters is in too many texts to mean one of them."""


class Candidate(NamedTuple):
    """A name that explains what a word may mean, and what it is in one line."""

    name: str
    meaning: str


def candidates(word: str, language: Language) -> list[Candidate]:
    """The names that a word may mean: by its synonyms, then by the texts that hold it."""
    names = dict.fromkeys(_names_of_synonyms(word))
    if not word.startswith("-"):
        names.update(dict.fromkeys(_names_by_text(word)))
    return [Candidate(name, meaning_of(name, language)) for name in list(names)[:_MOST]]


def near_candidates(word: str, language: Language) -> list[Candidate]:
    """The names that are spelled nearly as a word, and those of a synonym that is."""
    alike = [near_names(word), _names_of_synonyms(word, exact=False)]
    names = dict.fromkeys(name for listed in (alike[::-1] if " " in word else alike) for name in listed)
    return [Candidate(name, meaning_of(name, language)) for name in list(names)[:_MOST]]


def near_names(word: str) -> tuple[str, ...]:
    """The codes, or the flag, the key and the field, that are spelled nearly as a word."""
    return _codes_like(word) or nearest_names(word)


def _codes_like(word: str) -> tuple[str, ...]:
    """The codes of a word that is nearly one: those of its letters that have its digits, or the nearest one."""
    from ...rules.pages import every_page
    from ...schemas.suggestion import closest

    if len(word) > _LONGEST_CODE or not re.match(r"[A-Za-z]{3}.*\d", word):
        return ()
    like = re.fullmatch(r"([A-Z]{3})0*(\d+)", word.upper())
    codes = [code for code in every_page() if like is not None and code.startswith(like[1]) and like[2] in code]
    close = closest(word.upper(), every_page())
    return tuple(codes) or (() if close is None else (close,))


def synonyms_of(word: str, known: Collection[str], language: Language) -> list[Candidate]:
    """Candidates from the table of synonyms for a word, except for names that are known already."""
    names = [name for name in _names_of_synonyms(word) if name not in known and name not in (word, f"--{word}")]
    return [Candidate(name, meaning_of(name, language)) for name in names]


def _names_of_synonyms(word: str, *, exact: bool = True) -> tuple[str, ...]:
    """The names listed for a word in the table of synonyms; unless `exact`, for the closest spelling."""
    wanted = _plain_words(word)
    if exact:
        return next((names for words, names in SYNONYMS if wanted in map(_plain_words, words)), ())
    from ...schemas.suggestion import closest

    by_word = {_plain_words(one): names for words, names in SYNONYMS for one in words}
    close = closest(wanted, by_word)
    return by_word[close] if close is not None else ()


def _plain_words(text: str) -> str:
    """Words in small letters with one blank between them: `--warm-up`, `Warm_up` and `warm up` are one."""
    return " ".join(re.split(r"[\s_.\-]+", text.lower().strip("-. ")))


def _names_by_text(word: str) -> Iterator[str]:
    """The names whose name or description holds every word that is asked for; those with it in their name first."""
    wanted = _plain_words(word).split()
    if not wanted or (len(wanted) == 1 and wanted[0].isascii() and len(wanted[0]) <= _NEAR):
        return
    later: list[str] = []
    for name, text in _texts():
        if all(_is_in(part, _plain_words(name)) for part in wanted):
            yield name
        elif all(_is_in(part, text) for part in wanted):
            later.append(name)
    yield from later


def _is_in(part: str, text: str) -> bool:
    """True if a word of the text begins with the given part, less a plural `s`; in Chinese anywhere in the text."""
    return part in text if not part.isascii() else f" {part.removesuffix('s')}" in f" {text}"


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """Every field, section, option and code, each with the text that describes it in both languages."""
    from ...rules.pages import every_page, summary_of

    texts: list[tuple[str, str, str]] = [(name, field.en, field.zh) for name, field in vocabulary().items()]
    texts += [(path, *entry["says"]) for path, entry in SECTIONS.items()]
    for command in all_commands().values():
        texts += [(option.names[0], option.help, option.help_zh) for option in options_of(command)]
    texts += [(code, summary_of(code, "en"), summary_of(code, "zh")) for code in every_page()]
    options = catalog(DEFAULT_VERSION).by_option
    texts += [(option, "", "") for option in options if option.startswith("--")]
    texts += [(shown_key(key), "", "") for row in table().rows for side in row.static for key in side.keys]
    return tuple((name, _plain_words(f"{en} {zh}")) for name, en, zh in dict.fromkeys(texts))


def meaning_of(name: str, language: Language) -> str:
    """The meaning of a code, section, field, option, flag or key in one line."""
    from ...rules.pages import summary_of

    summary = summary_of(name, language)
    if summary:
        return summary
    sections = () if name.startswith("-") else sections_named(name)
    if name in sections and name in SECTIONS:
        return SECTIONS[name]["says"][language == "zh"]
    if name in vocabulary():
        return _of_field(name, language)
    if name in KEYS:
        return KEYS[name][language == "zh"]
    found = find_named(name)
    if found is not None and found.rows:
        field = vocabulary()[_nearest_field(name, found.rows[0].fields)]
        return field.zh if language == "zh" else field.en
    word = say.page("explain", language)
    own = _of_option(name, language)
    return own or (word("argument.alone") if found is None or found.arguments else word("key.alone"))


def _nearest_field(name: str, fields: Sequence[FieldName]) -> FieldName:
    """The field of a row whose name shares most words with a key; a row of one field has no other."""
    words = set(_plain_words(name).split())
    return max(fields, key=lambda field: len(words & set(_plain_words(field).split())))


def _of_field(name: str, language: Language) -> str:
    """A field's meaning, with the flags and keys of its own."""
    field = vocabulary()[name]  # pyright: ignore[reportArgumentType]
    row = next((row for row in table().rows if row.fields == (name,)), None)
    listed: list[str] = []
    if row is not None:
        dests = [key for side in row.megatron for key in side.keys]
        listed = [flag for dest in dests for flag in flags(dest)[:1]]
        listed += [shown_key(key) for side in row.static for key in side.keys]
    names = f" ({', '.join(dict.fromkeys(listed))})" if listed else ""
    return (field.zh if language == "zh" else field.en) + names


def _of_option(name: str, language: Language) -> str:
    for command in all_commands().values():
        for option in options_of(command):
            if name in option.names:
                return option.help_zh if language == "zh" else option.help
    return ""

"""Lines about a recipe: the summary that `show` and `recipe` open with, and the fields that a file leaves open."""

from __future__ import annotations

from ..schemas.border.text_output import say as print_line
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.plain_values import is_mapping
from ..schemas.shared_words import list_words, mark
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..mapper.recipe.values import RecipeValue
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Value
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words
    from .messages_compiled import NetworkWords

_MOST = 10**30
"""Beyond it a number is a slip, and nobody reads it."""
_UNITS = (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3))


def summary_line(fields: Mapping[FieldName, RecipeValue], language: Language) -> str:
    """Decided sizes of a network in one sentence; empty if nothing is decided."""
    parts = [*_size(fields, language), *_kinds(fields, language)]
    tokens = _field_number(fields, "computed.tokens_per_step")
    if tokens is not None:
        parts.append(_page_words(language)("tokens", _short(tokens)))
    return list_words(parts, language, "clause")


def _page_words(language: Language) -> NetworkWords:
    return say.page("network", language)


def _size(fields: Mapping[FieldName, RecipeValue], language: Language) -> list[str]:
    """The number of parameters of a network: in total, for multi-token prediction, and active for each token."""
    total, active = _field_number(fields, "computed.parameters"), _field_number(fields, "computed.active_parameters")
    kinds = _field_value(fields, "computed.parameters_by_kind")
    if total is None or active is None:
        return [_page_words(language)("within", _short(sum(kinds.values())))] if is_mapping(kinds) else []
    further = kinds.get("mtp") if is_mapping(kinds) else None
    main = total - (further if isinstance(further, int) else 0)
    parts = [_page_words(language)("parameters", _short(main))]
    if isinstance(further, int):
        parts.append(_page_words(language)("further", _short(further)))
    if active != main:
        parts.append(_page_words(language)("active", _short(active)))
    return parts


def _kinds(fields: Mapping[FieldName, RecipeValue], language: Language) -> list[str]:
    """`61 layers: 3 dense, 58 with 256 experts`."""
    layers = _field_value(fields, "computed.layers")
    counted = _layers(layers) if isinstance(layers, (list, tuple)) else []
    if not counted:
        return []
    count = sum(number for number, _ in counted)
    told = _page_words(language)("layer") if count == 1 else _page_words(language)("layers", str(count))
    if not any(experts for _, experts in counted):
        return [told]
    named = [
        _page_words(language)("experts", str(number), experts)
        if experts
        else _page_words(language)("dense", str(number))
        for number, experts in counted
    ]
    return [told + mark("colon", language) + list_words(named, language, "clause")]


def _field_value(fields: Mapping[FieldName, RecipeValue], name: FieldName) -> Value:
    found = fields.get(name)
    return None if found is None else found.value


def _field_number(fields: Mapping[FieldName, RecipeValue], name: FieldName) -> int | None:
    value = _field_value(fields, name)
    return value if isinstance(value, int) and value < _MOST else None


def _layers(kinds: Sequence[Value]) -> list[tuple[int, str]]:
    """Numbers of layers by kind, in the order of their first ones: `3 latent, dense`."""
    found: dict[str, int] = {}
    for entry in kinds:
        count, _, kind = str(entry).partition(" ")
        if kind.startswith("mtp"):
            continue
        words = kind.rpartition(", ")[2].split()
        experts = words[0] if len(words) > 1 else ""
        found[experts] = found.get(experts, 0) + int(count)
    return [(count, experts) for experts, count in found.items()]


def _short(number: int) -> str:
    """`671.0 B`, `4.1 k`, `512`."""
    for unit, size in _UNITS:
        if number >= size * 0.99995:
            return f"{number / size:.1f} {unit}"
    return str(number)


def print_open(reasons: Mapping[FieldName, Words], language: Language) -> None:
    """Each reason after an empty line."""
    for line in open_lines(reasons, language):
        print_line("")
        print_line(line)


def open_lines(reasons: Mapping[FieldName, Words], language: Language) -> Iterator[str]:
    """One line a reason, with the fields that it leaves open."""
    fields: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        fields.setdefault(reason.text(language), []).append(name)
    for reason, names in fields.items():
        yield f"? {', '.join(names)}{mark('colon', language)}{reason}"

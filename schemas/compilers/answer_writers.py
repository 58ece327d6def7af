"""Compiles models of JSON answers to plain functions that write records so; a run imports those, and no Pydantic."""

from __future__ import annotations

import re
from inspect import get_annotations
from itertools import groupby
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from ..answers import MODELS, AsJson, From, Given, Late, LeftOut, OnlyWith, Said, Spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic.fields import FieldInfo

    from ..answers import Open

    Model = type[Open]


def writers(about: str, models: Iterable[Model], known: Mapping[Any, str]) -> str:
    """Source text of a module with a writer function for each model."""
    own = tuple(models)
    homes: dict[str, list[str]] = {}
    for model, home in known.items():
        if any(model in _models_in(member.annotation) for one in own for member in one.model_fields.values()):
            homes.setdefault(home, []).append(_name(model))
    imports = [f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(homes.items())]
    body = [line for model in own for line in ("", "", *_writer_function(model))]
    above = "." if own[0].__module__.split(".")[1] == "schemas" else "..schemas."
    used = [name for name in ("LazyList", "json_value") if any(f"{name}(" in line for line in body)]
    if used:
        imports.append(f"from {above}plain_values import {', '.join(used)}")
    lines = [f'"""{about} Do not edit."""', "", "from __future__ import annotations", "", *imports]
    lines += ["", "TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from typing import Any", *body]
    return "\n".join(lines) + "\n"


def products() -> dict[str, str]:
    """The writers of the answers of this room."""
    text = writers("Writes the records of this room as the models of answers.py say; compiled from them.", MODELS, {})
    return {"schemas/answers_compiled.py": text}


def _name(model: type[BaseModel]) -> str:
    """`ReportRowJson` is written by `report_row_json`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", model.__name__).lower()


def _writer_function(model: Model) -> Iterator[str]:
    """Source lines of the function that writes one model's record as JSON values."""
    fields = [(field.alias or name, name, field) for name, field in model.model_fields.items()]
    given = [name for _, name, field in fields if _marker_of(field, Given)]
    keywords = ["*", *(f"{name}: Any = None" for name in given)] if given else []
    parameters = ", ".join(["it: Any", 'language: str = "en"', *keywords])
    yield f"def {_name(model)}({parameters}) -> dict[str, Any]:"
    yield f'    """{(model.__doc__ or "").splitlines()[0]}"""'
    begin = "    found: dict[str, Any] = {"
    for condition, entries in groupby(fields, lambda entry: _condition(*entry[1:], _record(model, entry[1]))):
        written = ((repr(key), _value_expression(name, field, _record(model, name))) for key, name, field in entries)
        if not condition:
            yield begin
            yield from (f"        {key}: {value}," for key, value in written)
            yield "    }"
        else:
            if "|" not in begin:
                yield "    found: dict[str, Any] = {}"
            yield f"    if {condition}:"
            yield from (f"        found[{key}] = {value}" for key, value in written)
        begin = "    found |= {"
    yield "    return found"


def _record(model: Model, name: str) -> str:
    """The expression for what a member is an attribute of."""
    home = next(base for base in model.__mro__ if name in get_annotations(base))
    inside = model.taken_from.get(home.__name__)
    return f"it.{inside}" if inside else "it"


def _condition(name: str, field: FieldInfo, it: str) -> str:
    """The condition under which a member is written; empty for always."""
    if only := _marker_of(field, OnlyWith):
        return f"{it}.{only.path} is not None"
    if (left := _marker_of(field, LeftOut)) is None:
        return ""
    differs = "is not" if left.where is None or isinstance(left.where, bool) else "!="
    return f"{_source(name, field, it)} {differs} {left.where!r}"


def _marker_of(field: FieldInfo, kind: type[Any]) -> Any:
    return next((mark for mark in field.metadata if isinstance(mark, kind)), None)


def _source(name: str, field: FieldInfo, it: str) -> str:
    """The expression that has the member's value."""
    if _marker_of(field, Given):
        return name
    marks, path = field.metadata, _marker_of(field, From)
    whole, _, rest = f"{it}.{path.path if path else name}".partition("?.")
    if rest:
        return f"None if {whole} is None else {whole}.{rest}"
    return _text_expression(marks, whole if path else it) or whole


def _text_expression(marks: Iterable[Any], source: str) -> str:
    """Python expression for a text in the answer's language; empty without a marker."""
    for mark in marks:
        if isinstance(mark, Spoken):
            return f'{source}.zh if language == "zh" else {source}.en'
        if isinstance(mark, Said):
            return f"{source}.{mark.method}(language)"
    return ""


def _value_expression(name: str, field: FieldInfo, it: str) -> str:
    """Python expression for a field's value in JSON form, by its type and markers."""
    source = _source(name, field, it)
    if _marker_of(field, Given):
        return source
    if _marker_of(field, AsJson):
        return f"json_value({source})"
    kind: Any = field.annotation
    if _marker_of(field, OnlyWith):
        kind = next((part for part in get_args(kind) if part is not NoneType), kind)
    if _marker_of(field, Late):
        return f"LazyList({_name(get_args(kind)[0])}, {source}, language)"
    return _expression(kind, source)


def _expression(kind: Any, source: str, depth: int = 0) -> str:
    """Python expression that converts a value of a type to JSON."""
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        return (
            f"json_value({source})"
            if AsJson() in marks
            else _text_expression(marks, source) or _expression(inner, source, depth)
        )
    if get_origin(kind) in (Union, UnionType):
        return _union_expression(get_args(kind), source, depth)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"{_name(kind)}({source}, language)"
    if get_origin(kind) is list:
        one = f"one{depth or ''}"
        written = _expression(get_args(kind)[0], one, depth + 1)
        return f"list({source})" if written == one else f"[{written} for {one} in {source}]"
    if get_origin(kind) is dict:
        return f"dict({source})"
    assert kind is Any or get_origin(kind) is Literal or kind in (str, int, float, bool), kind
    return source


def _union_expression(parts: tuple[Any, ...], source: str, depth: int) -> str:
    """Python expression for an optional type; for other unions the value itself."""
    others = [part for part in parts if part is not NoneType]
    written = _expression(others[0], source, depth) if len(others) == 1 < len(parts) else source
    takes_none = written == source or written.startswith("json_value(")
    return written if takes_none else f"None if {source} is None else {written}"


def _models_in(kind: Any) -> set[Any]:
    parts = {part for inner in get_args(kind) for part in _models_in(inner)}
    return parts | {kind} if isinstance(kind, type) and issubclass(kind, BaseModel) else parts

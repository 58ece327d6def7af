"""From the text of one word to an argument's value, as the `type` callables of Megatron's parser do it."""

from __future__ import annotations

import operator

from ..fast_records import TYPE_CHECKING, cast
from ..versions import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..config import Value

MAX_PATTERN = 100_000
"""Longest layer pattern that is built; a model has far fewer layers."""

_SYNTAX_TREE_ONLY = 0x400  # ast.PyCF_ONLY_AST, without importing ast
_STRICT_SINCE = (0, 13)
_PATTERN_CHARACTERS = frozenset("0123456789,[]()+*")


class PatternTooLongError(ValueError):
    """A pattern that would describe more layers than any model has."""


def convert(kind: str | None, text: str, version: str) -> Value:
    """The value of `text`; ValueError where Megatron's parser refuses it."""
    return text if kind is None else _CONVERTERS[kind](text, version)


def _frequency(text: str, version: str) -> Value:
    """An interval `N`, or a list expression such as `([0]*3+[1]*58)`.

    megatron/training/arguments.py:moe_freq_type, no_rope_freq_type, la_freq_type; from 0.13 only digits,
    brackets, commas, `+` and `*` may stand in the list.
    """
    if "[" not in text:
        return int(text)
    if number_of(version) >= _STRICT_SINCE and not _PATTERN_CHARACTERS.issuperset(text):
        raise ValueError(text)
    return pattern(text)


def pattern(text: str) -> Value:
    """The value of a list expression over integers, worked out without executing it."""
    try:
        tree: Any = compile(text.strip(" \t"), "<pattern>", "eval", _SYNTAX_TREE_ONLY)
        found = _value(tree.body)
    except (SyntaxError, RecursionError, MemoryError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(text) from error
    if isinstance(found, tuple):  # core/models/gpt/gpt_layer_specs.py:get_gpt_decoder_block_spec takes no tuple
        raise ValueError(text)
    return _as_lists(found)


def _as_lists(found: Any) -> Value:
    """A list whose entries are no tuples, either."""
    if isinstance(found, (list, tuple)):
        return [_as_lists(one) for one in cast("list[Any]", found)]
    return cast("Value", found)


def _value(node: Any) -> Any:
    kind = type(node).__name__
    if kind == "Constant" and type(node.value) is int:
        return node.value
    if kind in ("List", "Tuple"):
        entries = [one for entry in node.elts for one in _entries(entry)]
        return entries if kind == "List" else tuple(entries)
    if kind == "Subscript":
        return _value(node.value)[_value(node.slice)]
    if kind == "UnaryOp" and type(node.op).__name__ == "UAdd":
        return +_value(node.operand)
    if kind == "BinOp" and (operation := _OPERATIONS.get(type(node.op).__name__)) is not None:
        return operation(_value(node.left), _value(node.right))
    raise ValueError


def _entries(node: Any) -> Any:
    """The values of an entry of a list: `*[0, 1]` has two."""
    return _value(node.value) if type(node).__name__ == "Starred" else [_value(node)]


def _product(left: Any, right: Any) -> Any:
    """A list (or number) times a number, within bounds."""
    items, times = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(items, (list, tuple)) and len(cast("list[Any]", items)) * max(times, 0) > MAX_PATTERN:
        raise PatternTooLongError
    return cast("Any", items) * times


def _power(left: Any, right: Any) -> Any:
    if right > _MOST_BITS or left.bit_length() * right > _MOST_BITS:
        raise PatternTooLongError
    return left**right


_MOST_BITS = 64
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {"Add": operator.add, "Mult": _product, "Pow": _power}


def _truth(text: str, version: str) -> Value:
    """A word for true or false; transformers hf_argparser.py:string_to_bool."""
    del version
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _integers(text: str, version: str) -> Value:
    """`(1,2)` or `1,2`; megatron/training/arguments.py:tuple_type."""
    del version
    return [int(part) for part in text.strip("()").split(",")]


def _or_nothing(kind: str) -> Callable[[str, str], Value]:
    """The value, or nothing: Hydra and YAML write `null` for None."""
    return lambda text, version: None if text in _NOTHING else _CONVERTERS[kind](text, version)


def _any(text: str, version: str) -> Value:
    """A list, a mapping, a number or a truth as JSON writes them, else the text."""
    del version
    from json import loads

    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


_NOTHING = ("null", "None", "~")
_TRUE = frozenset(("yes", "true", "t", "y", "1"))
_FALSE = frozenset(("no", "false", "f", "n", "0"))
_CONVERTERS: Mapping[str, Callable[[str, str], Value]] = {
    "str": lambda text, _: text,
    "int": lambda text, _: int(text),
    "float": lambda text, _: float(text),
    "bool": lambda text, _: bool(text),  # every word but the empty one is true, "False" too
    "truth": _truth,
    "name": lambda text, _: text,
    "frequency": _frequency,
    "integers": _integers,
    "any": _any,
    "int?": _or_nothing("int"),
    "float?": _or_nothing("float"),
    "str?": _or_nothing("str"),
    "truth?": lambda text, version: int(text) != 0 if text.isdecimal() else _or_nothing("truth")(text, version),
    "frequency?": _or_nothing("frequency"),
}
NULLABLE = ("any", "int?", "float?", "str?", "truth?", "frequency?")
"""The kinds of a program that is configured by a tree of objects."""

EXPECTED: Mapping[str, str] = {
    "int": "int",
    "float": "float",
    "frequency": "int | ([0]*3+[1]*58)",
    "integers": "1,2,3",
    "truth": "true | false",
    "int?": "int | null",
    "float?": "float | null",
    "truth?": "true | false | null",
    "frequency?": "int | [0, 1, 1] | null",
}
"""What to say that a kind of value looks like."""

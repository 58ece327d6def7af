"""What is known of a shell at one point of a script, and how two such states are joined.

Where a test cannot be decided, both ways are walked on copies of the state and joined afterwards: what is equal
stays known, what differs becomes unknown with the test as the reason.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from .text import Doubt, Piece, same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .syntax import Function
    from .text import Place, Text


class Variable(NamedTuple):
    """A variable. `items` is set for arrays: by number, or by string where `keyed`. No value and no items: unset."""

    value: Text | None = None
    items: Mapping[int | str, Text] | None = None
    keyed: bool = False
    exported: bool = False
    integer: bool = False
    readonly: bool = False
    case: str = ""
    reference: bool = False
    place: Place | None = None


class State:
    """Variables, functions, positional parameters, options and the working directory."""

    __slots__ = ("cwd", "frames", "functions", "options", "positional", "status", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.positional: tuple[Text, ...] = ()
        self.options: frozenset[str] = frozenset()
        self.cwd: str | None = None
        self.status: int | None = 0
        self.frames: tuple[dict[str, Variable | None], ...] = ()

    def copy(self) -> State:
        """A state that can be changed without touching this one."""
        other = State()
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.positional = self.positional
        other.options = self.options
        other.cwd = self.cwd
        other.status = self.status
        other.frames = tuple([dict(frame) for frame in self.frames])
        return other


def joined(states: list[State], reason: str, place: Place) -> State:
    """The state of which only is known that it is one of `states`."""
    first = states[0]
    for other in states[1:]:
        first = _joined_pair(first, other, Doubt(reason, place))
    return first


def _joined_pair(one: State, other: State, doubt: Doubt) -> State:
    result = one.copy()
    for name in {**one.variables, **other.variables}:
        left, right = one.variables.get(name), other.variables.get(name)
        if left is not right:
            result.variables[name] = joined_variable(left, right, doubt)
    for name, function in other.functions.items():
        result.functions.setdefault(name, function)
    if one.positional != other.positional:
        result.positional = _joined_list(one.positional, other.positional, doubt)
    result.options = one.options & other.options
    if one.cwd != other.cwd:
        result.cwd = None
    if one.status != other.status:
        result.status = None
    return result


def joined_variable(left: Variable | None, right: Variable | None, doubt: Doubt) -> Variable:
    """A variable that is one of the two; None stands for an unset one."""
    a, b = left or Variable(), right or Variable()
    shape = a._replace(
        exported=a.exported or b.exported,
        integer=a.integer or b.integer,
        keyed=a.keyed or b.keyed,
        readonly=a.readonly and b.readonly,
        place=a.place or b.place,
    )
    if a.items is None and b.items is None:
        if a.value is None and b.value is None:
            return shape
        if a.value is None or b.value is None:
            return shape._replace(value=(Piece("", doubt.place, False, (), doubt),))
        return shape._replace(value=joined_text(a.value, b.value, doubt))
    ours, theirs = _items(a), _items(b)
    if shape.keyed:
        items: dict[int | str, Text] = {}
        for key in {**ours, **theirs}:
            mine, other = ours.get(key), theirs.get(key)
            items[key] = (
                joined_text(mine, other, doubt)
                if mine is not None and other is not None
                else (Piece("", doubt.place, False, (), doubt._replace(loose=True)),)
            )
        return shape._replace(value=None, items=items)
    listed = _joined_list(tuple(ours.values()), tuple(theirs.values()), doubt)
    return shape._replace(value=None, items=dict(enumerate(listed)))


def _items(variable: Variable) -> Mapping[int | str, Text]:
    if variable.items is not None:
        return variable.items
    return {} if variable.value is None else {0: variable.value}


def joined_text(one: Text, other: Text, doubt: Doubt) -> Text:
    """A text that is one of the two: their common beginning and end, and something unknown between."""
    if same(one, other):
        return one
    start = 0
    shortest = min(len(one), len(other))
    while start < shortest and _alike(one[start], other[start]):
        start += 1
    end = 0
    while end < shortest - start and _alike(one[-1 - end], other[-1 - end]):
        end += 1
    middle = Piece("", doubt.place, False, (), doubt)
    return (*one[:start], middle, *(one[-end:] if end else ()))


def _joined_list(one: tuple[Text, ...], other: tuple[Text, ...], doubt: Doubt) -> tuple[Text, ...]:
    if len(one) == len(other):
        return tuple([joined_text(a, b, doubt) for a, b in zip(one, other, strict=True)])
    start = 0
    shortest = min(len(one), len(other))
    while start < shortest and same(one[start], other[start]):
        start += 1
    end = 0
    while end < shortest - start and same(one[-1 - end], other[-1 - end]):
        end += 1
    middle = (Piece("", doubt.place, False, (), doubt._replace(loose=True)),)
    return (*one[:start], middle, *(one[-end:] if end else ()))


def _alike(one: Piece, other: Piece) -> bool:
    return one.text == other.text and one.doubt == other.doubt

"""State of a shell at one point of a script (variables, written files), and the join of two states.

If a test cannot be decided, both ways are walked on copies of the state and joined afterwards: what is equal stays
known, what differs becomes unknown with the test as the reason.
"""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING, NamedTuple
from .text import Doubt, hole, same, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from ..message import Words
    from .syntax import Function
    from .text import Place, Text

    T = TypeVar("T")
    from collections.abc import Collection


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
    own: Place | None = None
    """Where it was given the script's own arguments, of which there are none."""

    def is_set(self) -> bool:
        """True if the variable has a value."""
        return self.value is not None or self.items is not None

    def entries(self) -> dict[int | str, Text]:
        """Elements by key; a plain variable is element 0."""
        if self.items is not None:
            return dict(self.items)
        return {} if self.value is None else {0: self.value}

    def first_key(self) -> int | str:
        """Key of the element that the bare name means."""
        return "0" if self.keyed else 0

    def index_of(self, key: int | str) -> int | str:
        """A subscript; a negative one counts from the end."""
        if isinstance(key, int) and key < 0:
            return key + max([entry for entry in self.entries() if isinstance(entry, int)], default=-1) + 1
        return key


class State:
    """Variables, functions, positional parameters, options and the working directory."""

    __slots__ = ("cwd", "frames", "functions", "options", "own", "positional", "status", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.positional: tuple[Text, ...] = ()
        self.own: Place | None = None
        """Where the positional parameters were given the script's own, of which there are none."""
        self.options: frozenset[str] = frozenset()
        """Those that are on; with a `?` in front those that may be."""
        self.cwd: str | None = None
        self.status: int | None = 0
        self.frames: tuple[dict[str, Variable | None], ...] = ()

    def copy(self) -> State:
        """Independent copy of the state."""
        other = State()
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.positional = self.positional
        other.own = self.own
        other.options = self.options
        other.cwd = self.cwd
        other.status = self.status
        other.frames = tuple([dict(frame) for frame in self.frames])
        return other

    def restore(self, kept: Mapping[str, Variable | None]) -> None:
        """Restore saved variables."""
        for name, old in kept.items():
            if old is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = old


def join_states(states: list[State], reason: Words, place: Place) -> State:
    """State that represents one of several possible ones."""
    first = states[0]
    for other in states[1:]:
        first = _joined_pair(first, other, Doubt(reason, place))
    return first


def _joined_pair(one: State, other: State, doubt: Doubt) -> State:
    """State that represents one of two: what differs becomes unknown."""
    result = one.copy()
    for name in {**one.variables, **other.variables}:
        left, right = one.variables.get(name), other.variables.get(name)
        if left is not right:
            result.variables[name] = joined_variable(left, right, doubt)
    for name, function in other.functions.items():
        result.functions.setdefault(name, function)
    if one.positional != other.positional:
        result.positional = _joined_list(one.positional, other.positional, doubt)
    result.own = one.own or other.own
    if one.options != other.options:
        differ = one.options ^ other.options
        result.options = one.options & other.options | {name if name[0] == "?" else f"?{name}" for name in differ}
    if one.cwd != other.cwd:
        result.cwd = None
    if one.status != other.status:
        result.status = None
    return result


def _joined_value(one: Text | None, other: Text | None, doubt: Doubt) -> Text | None:
    if one is None and other is None:
        return None
    return hole(doubt.reason, doubt.place) if one is None or other is None else joined_text(one, other, doubt)


def joined_variable(left: Variable | None, right: Variable | None, doubt: Doubt) -> Variable:
    """Variable that is one of two; None stands for an unset one."""
    a, b = left or Variable(), right or Variable()
    shape = a._replace(
        exported=a.exported or b.exported,
        integer=a.integer or b.integer,
        keyed=a.keyed or b.keyed,
        readonly=a.readonly and b.readonly,
        place=a.place or b.place,
        own=a.own or b.own,
    )
    if a.items is None and b.items is None:
        return shape._replace(value=_joined_value(a.value, b.value, doubt))
    ours, theirs = a.entries(), b.entries()
    if shape.keyed:
        items = {
            key: joined_text(ours[key], theirs[key], doubt)
            if key in ours and key in theirs
            else hole(doubt.reason, doubt.place, loose=True)
            for key in {**ours, **theirs}
        }
        return shape._replace(value=None, items=items)
    listed = _joined_list(tuple(ours.values()), tuple(theirs.values()), doubt)
    return shape._replace(value=None, items=dict(enumerate(listed)))


def joined_text(one: Text, other: Text, doubt: Doubt) -> Text:
    """Text that is one of two: common ends, unknown middle."""
    if same(one, other):
        return one
    start, end = _common_ends(one, other, lambda a, b: a.text == b.text and a.doubt == b.doubt)
    return (*one[:start], *hole(doubt.reason, doubt.place), *(one[-end:] if end else ()))


def _joined_list(one: tuple[Text, ...], other: tuple[Text, ...], doubt: Doubt) -> tuple[Text, ...]:
    if len(one) == len(other):
        return tuple([joined_text(a, b, doubt) for a, b in zip(one, other, strict=True)])
    start, end = _common_ends(one, other, same)
    return (*one[:start], hole(doubt.reason, doubt.place, loose=True), *(one[-end:] if end else ()))


def _common_ends(one: Sequence[T], other: Sequence[T], equal: Callable[[T, T], bool]) -> tuple[int, int]:
    """Number of equal entries at the start and at the end of two lists."""
    start = end = 0
    shortest = min(len(one), len(other))
    while start < shortest and equal(one[start], other[start]):
        start += 1
    while end < shortest - start and equal(one[-1 - end], other[-1 - end]):
        end += 1
    return start, end


class WrittenFiles(NamedTuple):
    """The files that a script has, or may have, written by now."""

    files: Mapping[str, Text | None]
    """By their whole path; None where what one holds is not known."""
    astray: Collection[str]
    """Names of files that were written where the directory was not known."""
    filled: Collection[str]
    """Folders of which every file may have been written."""

    def has(self, full: str) -> bool:
        """True if a file was written."""
        if full in self.files or posixpath.basename(full) in self.astray:
            return True
        return any(full.startswith(folder.rstrip("/") + "/") for folder in self.filled)

    def text(self, full: str) -> str | None:
        """Text of a written file; None if unknown."""
        text = self.files.get(full)
        return None if text is None else string_of(text)

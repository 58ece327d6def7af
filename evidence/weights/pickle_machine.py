"""Goes through a pickle opcode by opcode, with an account of the memory that its objects take.

Nothing is imported and nothing of the pickle runs: a name is looked up in what the caller knows, and any other is a
name. Two things keep a checkpoint's description small. What a pickle remembers is kept only if it is fetched again,
which a first pass over the opcodes finds out; and of an object whose class the caller knows a compact form is kept
(`Known.of_state`) as soon as its state is there. An object graph that takes more than the account allows is refused
before it is built.
"""

from __future__ import annotations

import codecs
import re
import struct
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class PickleError(Exception):
    """The pickle is damaged, or asks for what no checkpoint needs."""


class Name:
    """A class or a function that is not there: only its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class CompactClass(NamedTuple):
    """A class whose objects are kept in a compact form."""

    name: str
    of_state: Callable[[Any], Any]
    """What is kept of an object, by its state."""
    cost: int
    """How many bytes that takes."""


class Record:
    """An object of a class that is not there: what it was called with, and the state it was given."""

    __slots__ = ("args", "entries", "items", "kwargs", "name", "state")

    def __init__(self, name: str, args: tuple[object, ...], kwargs: Any = None) -> None:
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.state: Any = None
        self.items: list[Any] = []
        self.entries: dict[Any, Any] = {}

    def get(self, name: str) -> Any:
        """An attribute out of the state."""
        return attribute(self.state, name)


def attribute(state: Any, name: str) -> Any:
    """An attribute out of a state: a table, or a pair of two for what has slots; None where it is not there."""
    if isinstance(state, tuple) and len(state) == 2:  # pyright: ignore[reportUnknownArgumentType]
        state = state[0] if isinstance(state[0], dict) else state[1]  # pyright: ignore[reportUnknownVariableType]
    return state.get(name) if isinstance(state, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


class Knowledge(Protocol):
    """The meaning of a pickle's names and containers."""

    def resolve(self, module: str, name: str) -> Any:
        """The meaning of a name: a `Name`, a `CompactClass`, a function of ours, or a value."""
        ...

    def load_stored(self, identity: Any) -> Any:
        """The object that stands outside of the pickle under this name."""
        ...

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> bool:
        """Put an entry into a table in a compact form; False where it has none."""
        ...

    def compact_list(self, items: list[Any]) -> Any:
        """A compact form of a list's first items; None where there is none."""
        ...


class _Pending(NamedTuple):
    """An object of a known class before its state."""

    known: CompactClass
    rest: int
    """What the account held before it."""
    lasting: int
    kept: int
    place: int
    """Where it is remembered; -1 for nowhere."""


def run_pickle(data: bytes, knowledge: Knowledge, most: int) -> Any:
    """The content of a pickle, in `most` bytes of memory; PickleError, or any error of a damaged pickle."""
    return _Machine(data, knowledge, most).run()


def _fetched_places(data: bytes) -> bytearray:
    """For each place of the memory whether something is fetched from it."""
    end, at = len(data), 0
    found = bytearray()
    while at < end:
        passed = _PASSED.match(data, at)
        if passed is not None:
            at = passed.end()
            continue
        code = data[at]
        at += 1
        if code == _STOP:
            return found
        if code in _FETCHES:
            width = _FETCHES[code]
            place = int.from_bytes(data[at : at + width], "little")
            at += width
            if not width:
                line = data.find(b"\n", at)
                place, at = int(data[at:line]), line + 1
            _check_claim(place, end)
            if place >= len(found):
                found.extend(bytes(place + 1 - len(found)))
            found[place] = 1
        elif code in _COUNTED:
            width = _COUNTED[code]
            at += width + _check_claim(int.from_bytes(data[at : at + width], "little"), end)
        elif code in _LINES:
            for _ in range(_LINES[code]):
                at = data.find(b"\n", at) + 1
                if not at:
                    raise PickleError("it ends within a line")
        else:
            raise PickleError(f"opcode {code}" if at < end else "it ends early")
    raise PickleError("it ends early")


def _check_claim(claim: int, most: int) -> int:
    if not 0 <= claim <= most:
        raise PickleError(f"it claims {claim} bytes or objects and has {most} bytes")
    return claim


_WIDTHS = {0x4D: 2, 0x4A: 4}


class _Machine:
    def __init__(self, data: bytes, knowledge: Knowledge, most: int) -> None:
        self.data = data
        self.end = len(data)
        self.knowledge = knowledge
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memory: dict[int, Any] = {}
        self.names: dict[tuple[str, str], Any] = {}
        self.words: dict[str, str] = {}
        self.numbers: dict[tuple[int, ...], tuple[int, ...]] = {}
        """The same words, and the same shapes and offsets, are one."""
        self.remembered = 0
        self.lasting = 0
        """What was taken for words and for what is remembered, which stay."""
        self.kept = 0
        """How often something was remembered that may hold others."""
        self.walked = 0
        self.fetched = _fetched_places(data)
        self.held: set[int] = set()
        """The lists that are remembered."""
        self.rest = most
        """How many bytes may still be taken."""

    def run(self) -> Any:
        while not self.slice():
            if self.rest < 0:
                raise PickleError(f"its {self.end} bytes describe more objects than those of a checkpoint")
        return self.stack.pop()

    def slice(self) -> bool:  # noqa: C901 - the opcodes that a long pickle consists of, without a call for each
        """Some thousand opcodes; whether the last one was among them."""
        data, stack, fetched, memory = self.data, self.stack, self.fetched, self.memory
        at, most_fetched = self.at, len(self.fetched)
        push = stack.append
        for _ in range(4096):
            code = data[at]
            at += 1
            if code == 0x94:  # MEMOIZE
                place = self.remembered
                if place < most_fetched and fetched[place]:
                    self.remember(place)
                self.remembered = place + 1
            elif code == 0x4B:  # BININT1
                push(data[at])
                at += 1
                self.rest -= 8
            elif code == 0x68:  # BINGET
                push(memory[data[at]])
                at += 1
                self.rest -= 8
                if stack[-1].__class__ is tuple:
                    self.refuse_shared(stack[-1])
            elif code == 0x28:  # MARK
                self.marks.append(len(stack))
                self.rest -= 8
            elif code in _WIDTHS:  # BININT2, BININT
                width = _WIDTHS[code]
                push(int.from_bytes(data[at : at + width], "little", signed=width == 4))
                at += width
                self.rest -= 40
            elif 0x85 <= code <= 0x87:  # TUPLE1, TUPLE2, TUPLE3
                count = code - 0x84
                taken = tuple(stack[-count:])
                if len(taken) < count:
                    raise IndexError("nothing to take")
                stack[-count:] = (taken,)
                self.rest -= 80
            elif code == 0x71:  # BINPUT
                place = data[at]
                at += 1
                if place < most_fetched and fetched[place]:
                    self.remember(place)
            elif code == 0x72:  # LONG_BINPUT
                place = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
                at += 4
                if place < most_fetched and fetched[place]:
                    self.remember(place)
                else:
                    _check_claim(place, self.end)
            elif code == 0x2E:  # STOP
                return True
            else:
                self.at = at
                step = _STEPS.get(code)
                if step is None:
                    raise PickleError(f"opcode {code}")
                step(self)
                at = self.at
        self.at = at
        return False

    def remember(self, place: int) -> None:
        """Store the top of the stack in the memo; equal small tuples are shared."""
        found = self.memory[place] = self.stack[-1]
        self.last(100)
        kind = found.__class__
        if kind is _Pending:
            self.stack[-1] = self.memory[place] = found._replace(place=place)
        elif kind is tuple and len(found) < 64 and all(one.__class__ is int for one in found):
            self.stack[-1] = self.memory[place] = self.numbers.setdefault(found, found)
            if self.stack[-1] is found:
                self.last(160 + 24 * len(found))  # it stays, though the object that it stands in is made small
        elif kind not in _PLAIN:
            self.kept += 1
            if kind is list:
                self.held.add(id(found))

    def last(self, cost: int) -> None:
        self.rest -= cost
        self.lasting += cost

    def refuse_shared(self, found: tuple[Any, ...]) -> None:
        """Refuse a tuple of tuples that are one and the same: small in memory, and its hash asks for a year."""
        if not any(one.__class__ is tuple for one in found):
            return
        waiting: list[tuple[Any, ...]] = [found]
        while waiting:
            parts = waiting.pop()
            self.walked += 1
            if self.walked > _MOST_WALKED:
                raise PickleError(f"a tuple that holds more than {_MOST_WALKED} others")
            waiting.extend(one for one in parts if one.__class__ is tuple)

    def since_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def take(self, count: int) -> bytes:
        start = self.at
        self.at = start + _check_claim(count, self.end - start)
        return self.data[start : self.at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def line(self) -> bytes:
        stop = self.data.find(b"\n", self.at)
        if stop < 0:
            raise PickleError("it ends within a line")
        found = self.data[self.at : stop]
        self.at = stop + 1
        return found

    def put(self, value: Any, cost: int) -> None:
        self.rest -= cost + 8
        self.stack.append(value)

    def word(self, text: str) -> None:
        """Push a text; short ones are shared."""
        known = self.words.get(text)
        if known is None:
            self.last(200 + 4 * len(text))
            if len(text) < 512:
                self.words[text] = text
            known = text
        self.put(known, 0)

    def get(self, place: int) -> None:
        found = self.memory[place]
        if found.__class__ is tuple:
            self.refuse_shared(found)
        self.put(found, 0)

    def name(self, module: str, name: str) -> None:
        found = self.names.get((module, name))
        if found is None:
            found = self.names[module, name] = self.knowledge.resolve(module, name)
            self.last(1000)
        self.put(found, 0)

    def call(self, function: Any, args: Any, kwargs: Any = None) -> Any:
        """Result of an allowed function, or a record of the call; PickleError for other callables."""
        if args.__class__ is not tuple:
            raise PickleError("arguments that are none")
        kind = function.__class__
        if kind is CompactClass:
            begun = _Pending(function, self.rest, self.lasting, self.kept, -1)
            self.rest -= 150
            return begun
        if kind is Name:
            self.rest -= 300
            return Record(function.name, args, kwargs)
        if kind is not _FUNCTION or kwargs:
            raise PickleError(f"a call of {kind.__name__}")
        self.rest -= 250
        return function(*args)

    def build(self) -> None:
        """Apply a state to the object below it, as the BUILD opcode does."""
        state = self.stack.pop()
        found = self.stack[-1]
        if found.__class__ is _Pending:
            made = self.stack[-1] = found.known.of_state(state)
            if found.place >= 0:
                self.memory[found.place] = made
            if self.kept == found.kept:
                # Nobody has what it was made of any more, but for what stays.
                self.rest = found.rest - (self.lasting - found.lasting)
            self.rest -= found.known.cost
        elif found.__class__ is Record:
            found.state = state
        elif not isinstance(found, dict):
            raise PickleError(f"a state for {found.__class__.__name__}")

    def append(self, items: list[Any]) -> None:
        """Add items to the list, or object with items, on top of the stack."""
        found = self.stack[-1]
        self.rest -= 12 * len(items)
        if found.__class__ is list:
            if not found and id(found) not in self.held:
                small = self.knowledge.compact_list(items)
                if small is not None:
                    self.stack[-1] = small
                    return
            found.extend(items)
        elif found.__class__ is Record:
            found.items.extend(items)
        elif hasattr(found, "gather"):
            found.gather(items)
        else:
            raise PickleError(f"items for {found.__class__.__name__}")

    def as_set(self, items: list[Any]) -> Any:
        for item in items:
            self.as_key(item)
        self.rest -= 100 * len(items)
        return items

    def fill(self, items: list[Any]) -> None:
        found = self.stack[-1]
        if len(items) % 2:
            raise PickleError("a key without a value")
        self.into(found.entries if found.__class__ is Record else found, items)

    def into(self, table: Any, items: list[Any]) -> None:
        """Add keys and values, which alternate in `items`, to a dictionary."""
        if not isinstance(table, dict):
            raise PickleError(f"entries for {table.__class__.__name__}")
        entries = cast("dict[Any, Any]", table)
        put = self.knowledge.put
        for at in range(0, len(items), 2):
            key = items[at]
            if key.__class__ is str:
                entries[key] = items[at + 1]
            elif put(entries, key, items[at + 1]):
                continue
            else:
                self.as_key(key)
                entries[key] = items[at + 1]
            self.rest -= 130

    def as_key(self, key: Any) -> None:
        if key.__class__ is tuple:
            self.refuse_shared(key)


def _step_tuple(machine: _Machine) -> None:
    items = tuple(machine.since_mark())
    machine.put(items, 64 + 8 * len(items))


def _step_list(machine: _Machine) -> None:
    items = machine.since_mark()
    machine.put([], 64)
    machine.append(items)


def _step_dict(machine: _Machine) -> None:
    items = machine.since_mark()
    machine.put({}, 120)
    machine.fill(items)


def _step_setitems(machine: _Machine) -> None:
    machine.fill(machine.since_mark())


def _step_setitem(machine: _Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.fill([key, value])


def _step_appends(machine: _Machine) -> None:
    machine.append(machine.since_mark())


def _step_append(machine: _Machine) -> None:
    machine.append([machine.stack.pop()])


def _step_additems(machine: _Machine) -> None:
    items = machine.as_set(machine.since_mark())
    found = machine.stack[-1]
    if not isinstance(found, set):
        raise PickleError(f"items for {found.__class__.__name__}")
    cast("set[Any]", found).update(items)


def _step_frozenset(machine: _Machine) -> None:
    machine.put(frozenset(machine.as_set(machine.since_mark())), 200)


def _step_reduce(machine: _Machine) -> None:
    """A call, of a function or, by NEWOBJ, of a class."""
    args, function = machine.stack.pop(), machine.stack.pop()
    machine.put(machine.call(function, args), 0)


def _step_newobj_ex(machine: _Machine) -> None:
    kwargs, args, kind = machine.stack.pop(), machine.stack.pop(), machine.stack.pop()
    machine.put(machine.call(kind, args, kwargs), 0)


def _step_obj(machine: _Machine) -> None:
    kind, *args = machine.since_mark()
    machine.put(machine.call(kind, tuple(args)), 0)


def _step_inst(machine: _Machine) -> None:
    module, name = machine.line().decode(), machine.line().decode()
    args = tuple(machine.since_mark())
    machine.name(module, name)
    machine.put(machine.call(machine.stack.pop(), args), 0)


def _step_global(machine: _Machine) -> None:
    machine.name(machine.line().decode(), machine.line().decode())


def _step_stack_global(machine: _Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if name.__class__ is not str or module.__class__ is not str:
        raise PickleError("a name that is none")
    machine.name(module, name)


def _step_persistent(machine: _Machine) -> None:
    machine.put(machine.knowledge.load_stored(machine.stack.pop()), 200)


def _step_pop(machine: _Machine) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.stack.pop()


def _step_pop_mark(machine: _Machine) -> None:
    machine.since_mark()


def _step_dup(machine: _Machine) -> None:
    found = machine.stack[-1]
    machine.as_key(found)
    machine.put(found, 0)


def _step_proto(machine: _Machine) -> None:
    version = machine.number(1)
    if version > 5:
        raise PickleError(f"protocol {version}")


def _step_frame(machine: _Machine) -> None:
    machine.at += 8


def _step_get(machine: _Machine) -> None:
    machine.get(int(machine.line()))


def _step_long_get(machine: _Machine) -> None:
    machine.get(machine.number(4))


def _step_put(machine: _Machine) -> None:
    place = _check_claim(int(machine.line()), machine.end)
    if place < len(machine.fetched) and machine.fetched[place]:
        machine.remember(place)


def _step_int(machine: _Machine) -> None:
    line = machine.line()
    machine.put({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line, 0), 40 + len(line))


def _step_long(machine: _Machine) -> None:
    line = machine.line()
    machine.put(int(line.removesuffix(b"L"), 0), 40 + len(line))


def _step_float(machine: _Machine) -> None:
    machine.put(float(machine.line()), 24)


def _step_binfloat(machine: _Machine) -> None:
    machine.put(struct.unpack(">d", machine.take(8))[0], 24)


def _step_string(machine: _Machine) -> None:
    line = machine.line()
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise PickleError("a string without quotes")
    machine.word(codecs.escape_decode(line[1:-1])[0].decode("ascii"))


def _step_unicode(machine: _Machine) -> None:
    machine.word(str(machine.line(), "raw-unicode-escape"))


def _text(width: int) -> Callable[[_Machine], None]:
    return lambda machine: machine.word(str(machine.take(machine.number(width)), "utf-8", "surrogatepass"))


def _ascii(width: int) -> Callable[[_Machine], None]:
    return lambda machine: machine.word(machine.take(machine.number(width)).decode("ascii"))


def _bytes(width: int, kind: type[bytes | bytearray]) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        count = machine.number(width)
        machine.put(kind(machine.take(count)), 60 + count)

    return step


def _integer(width: int) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        count = machine.number(width)
        machine.put(int.from_bytes(machine.take(count), "little", signed=True), 40 + count)

    return step


def _constant(value: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine.put(value, 0)


def _fresh(kind: Callable[[], Any], cost: int) -> Callable[[_Machine], None]:
    return lambda machine: machine.put(kind(), cost)


_STEPS: dict[int, Callable[[_Machine], None]] = {
    ord(code): step
    for code, step in {
        "0": _step_pop, "1": _step_pop_mark, "2": _step_dup, "N": _constant(None), "I": _step_int, "L": _step_long,
        "F": _step_float, "G": _step_binfloat, "S": _step_string, "V": _step_unicode, "X": _text(4), "T": _ascii(4),
        "U": _ascii(1), "B": _bytes(4, bytes), "C": _bytes(1, bytes), "Q": _step_persistent, "R": _step_reduce,
        "a": _step_append, "e": _step_appends, "b": _Machine.build, "c": _step_global, "i": _step_inst, "o": _step_obj,
        "d": _step_dict, "l": _step_list, "t": _step_tuple, "]": _fresh(list, 64), "}": _fresh(dict, 120),
        ")": _constant(()), "g": _step_get, "j": _step_long_get, "p": _step_put, "s": _step_setitem,
        "u": _step_setitems, "\x80": _step_proto, "\x81": _step_reduce, "\x88": _constant(True),
        "\x89": _constant(False), "\x8a": _integer(1), "\x8b": _integer(4), "\x8c": _text(1), "\x8d": _text(8),
        "\x8e": _bytes(8, bytes), "\x8f": _fresh(set, 220), "\x90": _step_additems, "\x91": _step_frozenset,
        "\x92": _step_newobj_ex, "\x93": _step_stack_global, "\x95": _step_frame, "\x96": _bytes(8, bytearray),
    }.items()
}  # fmt: skip
_STOP = b"."[0]
_FETCHES = {b"h"[0]: 1, b"j"[0]: 4, b"g"[0]: 0}
"""Opcodes that fetch what was remembered, with the width of its place; 0 for a line of digits."""
_COUNTED = {
    **dict.fromkeys(b"UC\x8a\x8c", 1), **dict.fromkeys(b"XTB\x8b", 4), **dict.fromkeys(b"\x8d\x8e\x96", 8),
}  # fmt: skip
"""Opcodes that say how many bytes follow, with the width of that number."""
_LINES = {**dict.fromkeys(b"FILPSVp", 1), **dict.fromkeys(b"ci", 2)}
"""Opcodes that lines of text follow."""
_PASSED = re.compile(
    rb"(?:[]()012NQRabdelostu}\x81\x85-\x89\x8f-\x94]+|[Kq\x80].|M..|[Jr].{4}|[G\x95].{8}){1,1000}", re.DOTALL
)
"""Opcodes that neither fetch nor say a length."""
_PLAIN = frozenset((str, int, float, bool, type(None), Name, CompactClass))
_FUNCTION = type(_check_claim)
_MOST_WALKED = 1_000_000

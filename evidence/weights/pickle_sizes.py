"""Stops a pickle that claims more memory than its own size can need.

Python's unpickler sets room aside for what an opcode claims before it looks whether it is there: five bytes can make
it take all memory of the machine. Every object that is remembered takes a byte of the pickle at least, and every
string stands in it whole, so larger claims are lies. Objects that hold next to nothing take many times their opcode:
what all of them take is added up.
"""

from __future__ import annotations

import pickle
import pickletools


def check_sizes(data: bytes) -> int:
    """UnpicklingError where an opcode claims more than the pickle can hold; else how often it may share a tuple.

    A tuple of tuples that are one and the same is small in memory, but its hash is worked out anew for each of them:
    a hundred bytes can ask for a year. To be shared it has to be fetched from where it was remembered, or doubled.
    """
    fixed, counted, taken = _SKIPPED, _COUNTED, _TAKEN
    end = len(data)
    rest = _GROWTH * end + _FREE
    at = shared = remembered = 0
    tuples: set[int] = set()
    on_top = False  # whether what lies on the stack may be a tuple
    while at < end:
        code = data[at]
        at += 1
        rest -= taken[code]
        if code in _REMEMBERS:
            if on_top:
                tuples.add(_place(data, at, code) if code != _MEMOIZE else remembered)
            remembered += code == _MEMOIZE
        elif code in _FETCHES:
            on_top = _place(data, at, code) in tuples
            shared += on_top
        elif code == _DUP:
            shared += on_top
        else:
            on_top = code in _MAY_BE_TUPLES
        if code == _STOP:
            break
        step = fixed[code]
        if step >= 0:
            at += step
        elif code in counted:
            width = counted[code]
            at += width + _checked(int.from_bytes(data[at : at + width], "little"), end)
        elif code == _LONG_PUT:
            _checked(int.from_bytes(data[at : at + 4], "little"), end)
            at += 4
        else:
            for _ in range(2 if code in _TWO_LINES else 1):
                line = data.find(b"\n", at)
                if line < 0:
                    _bounded(rest, end)
                    return shared
                if code == _PUT:
                    _checked(int(data[at:line]), end)
                at = line + 1

    _bounded(rest, end)
    return shared


def _place(data: bytes, at: int, code: int) -> int:
    """Where an opcode remembers something, or fetches it from."""
    width = _REMEMBERS.get(code) or _FETCHES.get(code) or 0
    if width:
        return int.from_bytes(data[at : at + width], "little")
    line = data[at : data.find(b"\n", at)]
    return int(line) if line.isdigit() and len(line) < 12 else -1


def _bounded(rest: int, end: int) -> None:
    if rest < 0:
        raise pickle.UnpicklingError(f"its {end} bytes describe more objects than those of a checkpoint")


def _checked(claim: int, most: int) -> int:
    if claim > most:
        raise pickle.UnpicklingError(f"it claims {claim} bytes or objects and has {most} bytes")
    return claim


def _tables() -> tuple[list[int], dict[int, int], list[int]]:
    """What is known of each opcode.

    How many bytes of arguments follow it; those that say themselves how many, with the width; and how many bytes of
    memory it takes at least.
    """
    fixed = [0] * 256
    taken = [0] * 256
    counted: dict[int, int] = {}
    widths = {
        pickletools.TAKEN_FROM_ARGUMENT1: 1,
        pickletools.TAKEN_FROM_ARGUMENT4: 4,
        pickletools.TAKEN_FROM_ARGUMENT4U: 4,
        pickletools.TAKEN_FROM_ARGUMENT8U: 8,
    }
    for opcode in pickletools.opcodes:
        code = ord(opcode.code)
        if opcode.stack_after:
            taken[code] = 8 if opcode.name in _SHARED else 56
        if opcode.arg is None:
            continue
        fixed[code] = opcode.arg.n if opcode.arg.n >= 0 else -1
        if opcode.arg.n in widths:
            counted[code] = widths[opcode.arg.n]
    fixed[_LONG_PUT] = -1
    # A frame's length is that of what follows, which is gone through anyway.
    fixed[_FRAME] = 8
    return fixed, counted, taken


_GROWTH = 16
_FREE = 100 << 20
_STOP, _PUT, _LONG_PUT, _FRAME = b"."[0], b"p"[0], b"r"[0], b"\x95"[0]
_TWO_LINES = b"ci"
_SHARED = frozenset((
    "BINGET", "BININT1", "DUP", "EMPTY_TUPLE", "GET", "LONG_BINGET", "MARK", "NEWFALSE", "NEWTRUE", "NONE",
    "APPEND", "APPENDS", "ADDITEMS", "SETITEM", "SETITEMS", "BUILD", "POP", "GLOBAL", "STACK_GLOBAL", "MEMOIZE",
))  # fmt: skip
"""What makes no object, or one that is there already."""
_DUP, _MEMOIZE = b"2"[0], b"\x94"[0]
_REMEMBERS = {b"q"[0]: 1, b"r"[0]: 4, b"p"[0]: 0, _MEMOIZE: 0}
_FETCHES = {b"h"[0]: 1, b"j"[0]: 4, b"g"[0]: 0}
"""Opcodes of the memory, with the width of its places; 0 for a line of digits."""
_MAY_BE_TUPLES = frozenset(b"t\x85\x86\x8701RioQ\x81\x92P")
"""What leaves a tuple on the stack, or what nobody knows: a call's answer, or what lay below."""
_SKIPPED, _COUNTED, _TAKEN = _tables()

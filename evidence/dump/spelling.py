"""How dumps spell numbers, shapes, number types and the names of units."""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING, Any

from .names_compiled import DTYPES
from .records import Unit

if TYPE_CHECKING:
    from .records import Direction, Level

_MOST_DIGITS = 16


def placed(parts: list[str]) -> tuple[str, str, Direction, int, Level] | None:
    """Scope, kind, direction, call and level of a name of msprobe.

    Modules are `Module.<path>.<Class>.forward.<call>`, APIs `Torch.matmul.<call>.forward`.
    """
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if before in ("forward", "backward") and is_whole(last) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path[:-1]), intern(path[-1]), before, int(last), "module"  # pyright: ignore[reportReturnType]
    if last in ("forward", "backward") and is_whole(before) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path), intern(path[-1]), last, int(before), "api"  # pyright: ignore[reportReturnType]
    return None


def is_whole(text: str) -> bool:
    """Whether a piece of a name is a count: `²` is a digit too, and a name may have thousands of them."""
    return text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS


def sizes_in(text: str) -> tuple[int, ...]:
    """The numbers of a shape as a table writes it."""
    return tuple(int(size) for size in re.findall(r"[0-9]+", text) if len(size) < _MOST_DIGITS)


def unit_named(name: str) -> Unit:
    """A unit of which only the name is known."""
    found = placed(name.split("."))
    if found is None:
        return Unit(name, name, "", "", 0, "operator", ())
    scope, kind, direction, call, level = found
    return Unit(name, scope, kind, direction, call, level, ())


def dtype_name(written: str) -> str:
    """A number type by its usual name: `torch.bfloat16`, `BFloat16` and `DT_BF16` are all `bfloat16`."""
    short = written.rpartition(".")[2].strip().lower()
    return DTYPES.get(short, short)


def number(written: Any) -> float | None:
    """A statistic as a number: `nan` and ` inf` too; None for what is not one."""
    if isinstance(written, bool):
        return float(written)
    if isinstance(written, (int, float)):
        try:
            return float(written)
        except OverflowError:  # a whole number of more than three hundred digits
            return None
    if isinstance(written, str):
        try:
            return float(written.strip().removesuffix("%"))
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(written.strip().lower())
    return None

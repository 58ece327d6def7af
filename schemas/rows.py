"""What a framework's code makes of a configuration, as the rows of an ordered table over its values.

One engine for `megatron/validation.yaml` and `mindformers/resolution.yaml`. A row has an action, a condition and a
value, both compiled to small functions of the run (`compile_rows.py`). What an action does to the values, and what
is said where one cannot be known or has another type than the code expects, each framework's `Run` knows.
"""

from __future__ import annotations

from .light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Expression = Callable[[Any], Any]

TOO_ODD = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What an expression over values of a kind that nobody expects raises."""


class UndecidedError(Exception):
    """A row needs a value that reading alone cannot decide."""


class Row(NamedTuple):
    """One compiled row."""

    action: str
    target: str
    value: Expression | None
    condition: Expression | None
    more: Any
    """What else the framework's table says of the row."""


class Run:
    """The values of one configuration while the rows are applied to them; an action is a method of its name."""

    def leave_open(self, row: Row) -> bool:
        """The condition or the value of a row cannot be known; the answer is whether the rows below still count."""
        raise NotImplementedError

    def stop(self, row: Row) -> bool:
        """The condition or the value of a row cannot be computed; the same."""
        raise NotImplementedError

    reads: dict[str, None]
    """What the row at hand has read, where the run notes it."""

    def follow(self, rows: Iterable[Row]) -> bool:
        """Apply the rows in order; the answer is whether all of them counted."""
        for row in rows:
            self.reads = {}
            action, _, expression, condition, _ = row
            try:
                if condition is not None and not condition(self):
                    continue
                value = None if expression is None else expression(self)
            except UndecidedError:
                if self.leave_open(row):
                    continue
                return False
            except TOO_ODD:
                if self.stop(row):
                    continue
                return False
            getattr(self, action)(row, value)
        return True

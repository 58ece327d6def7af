"""An ordered table of rows over the values of a configuration: one run applies them.

One engine for `megatron/validation.yaml` and `mindformers/resolution.yaml`. A row has an action, a condition and a
value, both compiled to small functions of the run (`compile_rows.py`). What an action does to the values, and what
is said where one cannot be known or has another type than the code expects, each framework's `Run` knows.
"""

from __future__ import annotations

from itertools import compress, repeat

from .fast_records import TYPE_CHECKING, NamedTuple

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


class Sourced(NamedTuple):
    """A value, the names or paths that decided it, and whether it can be known."""

    value: Any
    sources: tuple[str, ...] = ()
    decided: bool = True


_sourced = Sourced._make


class Run:
    """The values of one configuration while the rows are applied to them; an action is a method of its name."""

    locals: dict[str, Sourced]
    """What the rows know besides what is configured."""
    reads: dict[str, None]
    """What the row at hand has read, where the run notes it."""

    def source_paths(self, row: Row) -> tuple[str, ...]:
        """The sources that decided the value of the row at hand."""
        del row
        return tuple(self.reads)

    def under(self, prefix: str) -> dict[str, Sourced]:
        """The values for the rows whose names begin so, by the rest."""
        named = compress(self.locals.items(), map(str.startswith, self.locals, repeat(prefix)))
        return {name[len(prefix) :]: one for name, one in named}

    def let(self, row: Row, value: Any) -> None:
        """Keep a value for the rows below."""
        self.locals[row.target] = _sourced((value, self.source_paths(row), True))

    def require(self, row: Row, value: Any) -> None:
        """Report a requirement that does not hold."""
        if not value:
            self.refuse(row)

    def refuse(self, row: Row) -> None:
        """Report that the framework stops."""
        raise NotImplementedError

    def do(self, row: Row, value: Any) -> None:
        """The row's function was called with the run."""

    def leave_open(self, row: Row) -> bool:
        """The condition or the value of a row cannot be known; the answer is whether the rows below still count."""
        if row.action in ("let", "reset"):
            self.locals[row.target] = Sourced(None, self.source_paths(row), decided=False)
        return True

    def stop(self, row: Row) -> bool:
        """The condition or the value of a row cannot be computed; the same."""
        raise NotImplementedError

    def follow(self, rows: Iterable[Row]) -> bool:
        """Apply the rows in order; the answer is whether all of them counted."""
        for row in rows:
            self.reads = {}
            condition = row.condition
            try:
                if condition is not None and not condition(self):
                    continue
                value = None if row.value is None else row.value(self)
            except UndecidedError:
                if self.leave_open(row):
                    continue
                return False
            except TOO_ODD:
                if self.stop(row):
                    continue
                return False
            getattr(self, row.action)(row, value)
        return True

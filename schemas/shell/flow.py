"""Exceptions by which a script leaves its straight course: `exit`, `return`, `break` and errors."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from ..message import Words


class Stop(Exception):  # noqa: N818 - leaving a loop is no error
    """Something that ends a stretch of commands."""


class Exit(Stop):
    """The shell ends."""

    def __init__(self, status: int | None = 0) -> None:
        super().__init__()
        self.status = status


class Return(Stop):
    """A function or a sourced file ends."""


class Leave(Stop):
    """`break` or `continue` out of a number of loops."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__()
        self.levels = levels
        self.again = again


class Discard(Stop):
    """An expansion failed: bash drops the whole command line and goes on with the next."""


class ExpressionError(Exception):
    """An expression that bash refuses: a syntax error or a division by zero."""

    def __init__(self, why: Words) -> None:
        super().__init__(why)
        self.why = why


class UndecidedError(Exception):
    """An expression that depends on something unknown."""


class ExhaustedError(Exception):
    """The script takes more work than a reader may spend on it."""


class Holding:
    """Gives attributes of an object other values within a `with` block, and puts the old ones back at its end."""

    __slots__ = ("kept", "owner")

    def __init__(self, owner: object, **values: object) -> None:
        self.owner = owner
        self.kept = {name: getattr(owner, name) for name in values}
        for name, value in values.items():
            setattr(owner, name, value)

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        for name, value in self.kept.items():
            setattr(self.owner, name, value)

"""Replaces attributes for a while and puts every one of them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

_ABSENT = object()


class Patches:
    """Stand-ins that live as long as the `with` block: afterwards the framework is as it was."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`, remembering what `owner` itself held there."""
        held: object = vars(owner).get(name, _ABSENT)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        self._kept.append((owner, name, held))  # pyright: ignore[reportUnknownArgumentType]
        setattr(owner, name, value)

    def restore(self) -> None:
        """Undo everything, the last first."""
        while self._kept:
            owner, name, held = self._kept.pop()
            if held is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, held)

    def __enter__(self) -> Patches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

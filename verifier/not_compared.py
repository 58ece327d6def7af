"""What an answer names beside its numbers: settings that differ, and what the small models could not speak for."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..schemas.config import Value


class Differing(NamedTuple):
    """A setting whose values differ between the files."""

    field: str
    a: Value
    b: Value


class Values(NamedTuple):
    """What each file says."""

    a: Value
    b: Value


class NotCompared(NamedTuple):
    """A field, or a key that has none, which was not compared, with the reason in the language of the answer."""

    field: str
    reason: str
    values: Values | None = None
    """Where they differ."""
    differs: bool = False
    """It makes a match one in part."""
    accepted: bool = False
    """It would, and the configuration accepts it."""

"""What a version's TransformerConfig has by itself, as the rows and the answer know it: made once for all its files."""

from __future__ import annotations

from itertools import compress
from operator import is_not

from ..light_typing import TYPE_CHECKING, NamedTuple
from ..rows import Sourced
from .reading import default_setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..config import Setting


class Defaults(NamedTuple):
    """What a (MLA)TransformerConfig has by itself."""

    names: Mapping[str, str]
    """Its fields, and what the rows call them."""
    known: Mapping[str, Sourced]
    settings: Mapping[str, Setting]
    catalog: Mapping[str, Any]

    def changed(self, now: Mapping[str, Sourced]) -> Iterator[str]:
        """What of it is no longer what it is by itself, as the rows call it."""
        return compress(self.known, map(is_not, self.known.values(), map(now.__getitem__, self.known)))


_defaults: dict[tuple[int, bool], Defaults] = {}


def defaults_of(catalog: dict[str, Any], *, mla: bool) -> Defaults:
    """The same for every file of a version."""
    found = _defaults.get((id(catalog), mla))
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        names = {name: f"transformer.{name}" for name in values}
        known = {names[name]: Sourced(value) for name, value in values.items()}
        settings = [default_setting(f"resolved.{names[name]}", value) for name, value in values.items()]
        found = Defaults(names, known, {one.key: one for one in settings}, catalog)
        _defaults[id(catalog), mla] = found
    return found

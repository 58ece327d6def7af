"""From a model class's attributes to `TransformerConfig` fields: which keys count, and which do nothing.

Up to 1.8 one common table maps every key, and an unknown key stops the run; from 1.9 each class has its own
converter, and a key that it does not map is dropped with a warning in the log. Two keys for one field stop the run
(in 2.1 only where their values differ). Sources: `parallel_core/transformer_config_utils.py:
convert_to_transformer_config` (1.6-1.8), `parallel_core/config_converter.py:ConfigConverter.convert` (1.9-2.1).
"""

from __future__ import annotations

from ..diagnostic import Related
from ..light_typing import TYPE_CHECKING
from ..message import NOTHING, Words, verbatim
from .messages_compiled import say
from .reading import Undecided
from .resolution import definition

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from ..rows import Sourced
    from .reading import Reading

Targets: TypeAlias = "dict[str, list[tuple[str, str | None]] | None]"
"""The fields that each key sets, with what is made of its value; None for the field of its own name alone."""
Fields: TypeAlias = "dict[str, Sourced]"
_COMMON = "common"
"""The one table of the versions whose model classes have no converters of their own."""


def convert(reading: Reading, facts: dict[str, Any], attributes: Fields, handed: Fields, *, mla: bool) -> Fields:
    """The fields that `parallel_config` and a class's attributes set; every key without effect is reported."""
    work = _Conversion(reading, facts, mla=mla)
    for key, one in handed.items():
        if key in work.targets:
            work.apply(key, one)
    for key, one in attributes.items():
        if key in work.targets and key not in work.white:
            work.apply(key, one)
        elif (path := f"{reading.model}.{key}") in reading.places and path in one.sources:
            work.unmapped(key, path)
    within = f"{reading.model}."
    for path in [path for path, found in reading.acceptance.items() if found == "ignored" and path.startswith(within)]:
        span = reading.places.get(path)
        if span is not None and span.file is None:  # a hub's config.json is full of keys that mean another program
            advice = work.advice(path[len(within) :])
            said = say.ignored_key(key=path, model=facts["class"], working=advice, version=reading.version)
            reading.note(said, path, on_key=True)
    return work.fields


class _Conversion:
    """The fields collected so far."""

    def __init__(self, reading: Reading, facts: dict[str, Any], *, mla: bool) -> None:
        self.reading = reading
        self.signature: dict[str, Any] = facts["signature"]
        maps: dict[str, Any] = reading.catalog["converters"][facts["converter"] or _COMMON]
        self.targets: Targets = {**dict.fromkeys(maps["same"]), **maps["rules"]}
        if mla:
            self.targets.update({**dict.fromkeys(maps["mla_same"]), **maps["mla_rules"]})
        self.common = _COMMON in reading.catalog["converters"]
        self.white: frozenset[str] = frozenset(reading.catalog["white"] if self.common else ())
        self.fields: dict[str, Sourced] = {}
        self.keys: dict[str, str] = {}
        """Which key set each field."""

    def apply(self, key: str, one: Sourced) -> None:
        """Set the fields of a key."""
        targets = self.targets[key]
        for field, transform in ((key, None),) if targets is None else targets:
            value = one
            if transform is not None and not isinstance(one.value, Undecided):
                try:
                    value = one._replace(value=definition(transform)(one.value, self.reading.catalog))
                except (TypeError, ValueError, KeyError) as error:
                    path = self._path(key, one)
                    said = say.transform(key=path, value=repr(one.value), field=field, why=verbatim(error))
                    self.reading.note(said, path)
                    continue
            self._store(field, key, value)

    def unmapped(self, key: str, path: str) -> None:
        """Say what becomes of a written key that sets nothing."""
        reading = self.reading
        if self.common and key not in self.white:
            reading.acceptance[path] = "unknown"
            said = say.unknown_key(key=path, working=self.advice(key), version=reading.version)
            reading.note(said, path, on_key=True)
        elif key not in reading.catalog["expected_of_no_effect"].split():
            reading.acceptance[path] = "ignored"

    def _store(self, field: str, key: str, one: Sourced) -> None:
        earlier = self.fields.get(field)
        if earlier is None:
            self.fields[field] = one
            self.keys[field] = key
        elif not (self.reading.catalog["equal_is_no_conflict"] and bool(earlier.value == one.value)):
            self._conflict(field, key, one, earlier)
            if one.sources and not any(path in self.reading.places for path in earlier.sources):
                self.fields[field] = one

    def _conflict(self, field: str, key: str, one: Sourced, earlier: Sourced) -> None:
        reading = self.reading
        path, other = self._path(key, one), self._path(self.keys[field], earlier)
        handed = path == other and not earlier.sources
        written = other in reading.places and not handed
        if not one.sources and written:
            path, other, written = other, path, False
        reading.acceptance[path] = "conflict"
        related = (Related(reading.file, reading.places[other], *say.sets_it_too(key=other).both()),) if written else ()
        name, keep = path.rsplit(".", 1)[-1], other.rsplit(".", 1)[-1]
        if name == keep:
            # One key that the converter's tables name twice for the same field: no value of it is ever accepted.
            keep = self._working(field, name)
            other = other if written else say.mapped_twice(key=other)
        shown = say.the_trainer() if handed else other if written else say.set_by_the_class(key=other)
        keep = say.what_the_trainer_sets() if handed else keep
        said = say.conflict_key(key=path, other=shown, field=field, keep=keep or other, version=reading.version)
        reading.note(said, path, on_key=True, related=related)

    def _working(self, field: str, key: str) -> str | None:
        """The key to write for a field in this version and class; another one than `key`, where there is one."""
        setting = [name for name, found in self.targets.items() if found and [one for one, _ in found] == [field]]
        own = [field] if self.targets.get(field, ()) is None and field != key else []
        others = [name for name in setting if name != key]
        return next(iter([*(name for name in setting if name in self.signature), *own, *others]), None)

    def advice(self, key: str) -> Words:
        """What to write in place of a key without effect."""
        meant = self.reading.catalog["meant"].get(key)
        if meant is not None:
            found = self._working(meant, key)
            return NOTHING if found in (None, key) else say.may_be_written(found=found)
        from ..suggestion import closest

        near = closest(key, sorted(self.targets))
        return NOTHING if near is None else say.perhaps_meant(near=near)

    def _path(self, key: str, one: Sourced) -> str:
        return one.sources[0] if one.sources else f"{self.reading.model}.{key}"

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
from ..named_module import named_module
from .messages_compiled import say
from .model_class import PREFIX
from .reading import Undecided

if TYPE_CHECKING:
    from typing import Any

    from .model_class import ModelClass
    from .reading import Reading, Sourced

_COMMON = "common"
"""The one table of the versions whose model classes have no converters of their own."""


class _Conversion:
    """The fields collected so far."""

    def __init__(self, reading: Reading, model: ModelClass) -> None:
        self.reading = reading
        self.model = model
        self.same, self.rules = mapping(reading, model)
        self.transforms = named_module("resolution_definitions_compiled", __package__)
        self.fields: dict[str, Sourced] = {}
        self.keys: dict[str, str] = {}
        """Which key set each field."""

    def maps(self, key: str) -> bool:
        return key in self.same or key in self.rules

    def apply(self, key: str, one: Sourced) -> None:
        if key in self.same:
            self._store(key, key, one)
            return
        for field, transform in self.rules[key]:
            value = one
            if transform is not None and not isinstance(one.value, Undecided):
                try:
                    value = one._replace(value=getattr(self.transforms, transform)(one.value, self.reading.catalog))
                except (TypeError, ValueError, KeyError) as error:
                    path = one.sources[0] if one.sources else f"{PREFIX}.{key}"
                    why = verbatim(error)
                    self.reading.note(say.transform(key=path, value=repr(one.value), field=field, why=why), path)
                    continue
            self._store(field, key, value)

    def _store(self, field: str, key: str, one: Sourced) -> None:
        earlier = self.fields.get(field)
        if earlier is None:
            self.fields[field] = one
            self.keys[field] = key
            return
        if self.reading.catalog["equal_is_no_conflict"] and bool(earlier.value == one.value):
            return
        self._conflict(field, key, one, earlier)
        if one.sources and not any(path in self.reading.places for path in earlier.sources):
            self.fields[field] = one

    def _conflict(self, field: str, key: str, one: Sourced, earlier: Sourced) -> None:
        reading = self.reading
        path = one.sources[0] if one.sources else f"{PREFIX}.{key}"
        other = earlier.sources[0] if earlier.sources else f"{PREFIX}.{self.keys[field]}"
        written = other in reading.places
        if not one.sources and written:
            path, other, written = other, path, False
        reading.acceptance[path] = "conflict"
        related = ()
        if written:
            related = (Related(reading.file, reading.places[other], *say.sets_it_too(key=other).both()),)
        name, keep = path.rsplit(".", 1)[-1], other.rsplit(".", 1)[-1]
        if name == keep:
            # One key that the converter's tables name twice for the same field: no value of it is ever accepted.
            keep, _ = working_key(reading, self.model, field, name)
            other = other if written else say.mapped_twice(key=other)
        shown = other if written else say.set_by_the_class(key=other)
        said = say.conflict_key(key=path, other=shown, field=field, keep=keep or other, version=reading.version)
        reading.note(said, path, on_key=True, related=related)


def convert(reading: Reading, model: ModelClass, handed_over: dict[str, Sourced]) -> dict[str, Sourced]:
    """The fields that `parallel_config` and the model's attributes set; every key without effect is reported."""
    work = _Conversion(reading, model)
    for key, one in handed_over.items():
        if work.maps(key):
            work.apply(key, one)
    white = frozenset(reading.catalog["white"])
    common = _COMMON in reading.catalog["converters"]
    for key, one in model.attributes.items():
        if common and key in white:
            _report(reading, model, key, one, "ignored")
        elif work.maps(key):
            work.apply(key, one)
        else:
            _report(reading, model, key, one, "unknown" if common else "ignored")
    for path, acceptance in list(reading.acceptance.items()):
        if acceptance == "ignored" and path.startswith(PREFIX):
            _note_ignored(reading, model, path)
    return work.fields


def mapping(reading: Reading, model: ModelClass) -> tuple[frozenset[str], dict[str, list[list[Any]]]]:
    """The keys that set the field of their own name, and the others with their fields and transforms."""
    converter: dict[str, Any] = reading.catalog["converters"][model.facts["converter"] or _COMMON]
    if not model.mla:
        return frozenset(converter["same"]), converter["rules"]
    return frozenset((*converter["same"], *converter["mla_same"])), {**converter["rules"], **converter["mla_rules"]}


def working_key(reading: Reading, model: ModelClass, field: str | None, key: str) -> tuple[str | None, str | None]:
    """The key to write for `field` in this version and class, and the field; (None, None) where there is none."""
    same, rules = mapping(reading, model)
    if field is None:
        field = reading.catalog["meant"].get(key)
    if field is None:
        return None, None
    candidates = [name for name, targets in rules.items() if [target[0] for target in targets] == [field]]
    preferred = [name for name in candidates if name in model.facts["signature"]]
    if preferred:
        return preferred[0], field
    if field in same and field != key:
        return field, field
    others = [name for name in candidates if name != key]
    return (others[0], field) if others else (None, field)


def _report(reading: Reading, model: ModelClass, key: str, one: Sourced, acceptance: str) -> None:
    path = f"{PREFIX}.{key}"
    if path not in reading.places or path not in one.sources:
        return
    if acceptance == "unknown":
        reading.acceptance[path] = "unknown"
        working = _advice(reading, model, key)
        reading.note(say.unknown_key(key=path, working=working, version=reading.version), path, on_key=True)
    elif key not in reading.catalog["expected_of_no_effect"].split():
        reading.acceptance[path] = "ignored"


def _note_ignored(reading: Reading, model: ModelClass, path: str) -> None:
    span = reading.places.get(path)
    if span is None or span.file is not None:
        return  # a hub's config.json is full of keys that are not meant for MindSpore Transformers
    key = path[len(PREFIX) + 1 :]
    working = _advice(reading, model, key)
    name = model.facts["class"]
    reading.note(say.ignored_key(key=path, model=name, working=working, version=reading.version), path, on_key=True)


def _advice(reading: Reading, model: ModelClass, key: str) -> Words:
    found, _ = working_key(reading, model, None, key)
    if found is not None and found != key:
        return say.may_be_written(found=found)
    if found is None and key not in reading.catalog["meant"]:
        from ..suggestion import closest

        same, rules = mapping(reading, model)
        near = closest(key, sorted([*same, *rules]))
        if near is not None:
            return say.perhaps_meant(near=near)
    return NOTHING

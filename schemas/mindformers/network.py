"""From the model's section to the `TransformerConfig` of its network, in both graphs.

A key that is not written takes the default of the configuration class that `model_type` selects, not a neutral one:
`deepseek_v3` without any other key is the 671B model. Sources, 1.6-2.1: `models/build_config.py:get_model_config`,
`tools/register/register.py:get_instance_from_cfg`, `models/model_config_utils.py` (the two decorators),
`models/configuration_utils.py:PretrainedConfig` and each `models/*/configuration_*.py`.
"""

from __future__ import annotations

from itertools import compress
from operator import is_not

from ..config import Unresolved
from ..diagnostic import Related
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..message import NOTHING, Words, verbatim
from ..rows import Sourced
from .config_state import Undecided, default_setting
from .messages_compiled import say
from .resolution import Part, Trainer, definition, fits, kind_words, suggest, wrong_kind
from .switches import is_switch, switch_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

    from ..config import Setting
    from ..message import Severity
    from .config_state import Reading


_WORDS = {"positive": "above_0", "seed": "of_32_bits", "float": "a_number", "str": "a_text"}
"""Kinds by what messages.yaml calls them; any other is a whole number."""


def checked_fields(reading: Reading, fields: dict[str, Sourced], choices: Mapping[str, str]) -> dict[str, Sourced]:
    """The written fields of the TransformerConfig; one of the wrong kind is reported and left open."""
    values = {name: one.value for name, one in fields.items()}
    result = dict(fields)
    for name, one in fields.items():
        path = one.sources[0] if one.sources else ""
        known = one.decided and not isinstance(one.value, Undecided)
        if not known or path not in reading.places:
            continue
        if is_switch(reading, name):
            result[name] = one._replace(value=switch_field(reading, name, one.value, path))
        elif _is_wrong(reading, name, values, path, choices):
            result[name] = one._replace(value=Undecided(str(one.value)))
    return result


def _is_wrong(reading: Reading, name: str, values: Mapping[str, Any], path: str, choices: Mapping[str, str]) -> bool:
    """True, with a report, if a value has the wrong type or is not a valid choice."""
    value, counts = values[name], bool(values.get("num_moe_experts")) or not name.startswith("moe_")
    kind: str | None = reading.catalog["types"].get(name)
    if name == "max_position_embeddings" and values.get("position_embedding_type", "rope") == "rope":
        kind = None  # learned positions and YaRN alone compute with it
    if kind is not None and not fits(value, kind):
        checked = reading.catalog["checked_without_experts"]
        return _report(reading, path, value, kind, None if counts or name in checked else "warning")
    names = choices.get(name, "").split() if counts else []
    if names and isinstance(value, str) and (value.lower() if name == "hidden_act" else value) not in names:
        wrong_kind(reading, path, value, say.one_of(known=", ".join(names)))
    return False


def check_sections(run: Trainer) -> None:
    """Report the written values outside the model that are of the wrong kind."""
    reading = run.reading
    errors = (problem for problem in reading.problems if problem.kind.severity == "error")
    said: set[object] = {dict(problem.values).get("key") for problem in errors}
    for path, kind in reading.catalog["section_types"].items():
        value = reading.get(path)
        counts = path in reading.places and path not in said and reading.acceptance.get(path) != "ignored"
        if counts and not isinstance(value, Undecided) and not fits(value, kind):
            _report(reading, path, value, kind)


def check_handed(run: Trainer) -> None:
    """Report keys and values that MindSpore refuses in sections passed on to it."""
    reading, sections = run.reading, run["handed_sections"]
    for section, facts in sections.items():
        for key, value in reading.section(section).items():
            path, kind = f"{section}.{key}", facts["keys"].get(key)
            meant = suggest(str(key), facts["keys"]) if kind is None else NOTHING
            if kind is None and facts["stops"]:
                said = say.unknown_section_key(key=str(key), section=section, suggestion=meant, version=reading.version)
                reading.acceptance[path] = "unknown"
                reading.note(said, path, on_key=True)
            elif kind is None:
                reading.acceptance[path] = "ignored"
                reading.note(say.swallowed_argument(type=section, key=path, suggestion=meant), path, on_key=True)
            elif kind and not isinstance(value, Undecided) and not fits(value, kind) and _is_written(reading, path):
                wrong_kind(reading, path, value, kind_words(kind))


def _is_written(reading: Reading, path: str) -> bool:
    return any(place == path or place.startswith((f"{path}.", f"{path}[")) for place in reading.places)


def _report(reading: Reading, path: str, value: Any, kind: str, severity: Severity | None = None) -> bool:
    """Report a value of the wrong type; True if the run stops there."""
    base = kind.rstrip("?")
    better: str = definition("better")(value) if base == "float" and isinstance(value, str) else ""
    if better:
        said = say.string_number(key=path, value=value, why=say.run_cannot(), better=better)
        reading.note(said, path, severity=severity)
    else:
        wrong_kind(reading, path, value, getattr(say, _WORDS.get(base, "a_whole_number"))(), severity)
    return True


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
            work.convert_key(key, one)
    for key, one in attributes.items():
        if key in work.targets and key not in work.white:
            work.convert_key(key, one)
        elif (path := f"{reading.model}.{key}") in reading.places and path in one.sources:
            work.report_unmapped(key, path)
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

    def convert_key(self, key: str, one: Sourced) -> None:
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

    def report_unmapped(self, key: str, path: str) -> None:
        """Report a written key that sets nothing."""
        reading = self.reading
        if self.common and key not in self.white:
            reading.acceptance[path] = "unknown"
            said = say.unknown_key(key=path, working=self.advice(key), version=reading.version)
            reading.note(said, path, on_key=True)
        elif key not in reading.catalog["expected_of_no_effect"].split():
            reading.acceptance[path] = "ignored"

    def _store(self, field: str, key: str, one: Sourced) -> None:
        """Set a field from a key; a second key for the same field is a conflict."""
        earlier = self.fields.get(field)
        if earlier is None:
            self.fields[field] = one
            self.keys[field] = key
        elif not (self.reading.catalog["equal_is_no_conflict"] and bool(earlier.value == one.value)):
            self._conflict(field, key, one, earlier)
            if one.sources and not any(path in self.reading.places for path in earlier.sources):
                self.fields[field] = one

    def _conflict(self, field: str, key: str, one: Sourced, earlier: Sourced) -> None:
        """Report two keys that set one field, and the one to keep."""
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
            keep = self._replacement_key(field, name)
            other = other if written else say.mapped_twice(key=other)
        shown = say.the_trainer() if handed else other if written else say.set_by_the_class(key=other)
        if handed:
            keep = say.what_the_trainer_sets()
        elif keep and not written:
            keep = self._name_in_place(name, keep, field)
        said = say.conflict_key(key=path, other=shown, field=field, keep=keep or other, version=reading.version)
        reading.note(said, path, on_key=True, related=related)

    def _name_in_place(self, key: str, keep: str, field: str) -> str:
        """Key name that the class itself uses for a field."""
        if self._transform(keep, field) != self._transform(key, field):
            return keep
        from ..suggestion import suggest_as

        return suggest_as(Words(keep, keep), keep, key)

    def _transform(self, key: str, field: str) -> str | None:
        """Name of the function that converts a key's value to a field."""
        return dict(self.targets.get(key) or ()).get(field)

    def _replacement_key(self, field: str, key: str) -> str | None:
        """Key to write for a field in this version and class instead of `key`."""
        setting = [name for name, found in self.targets.items() if found and [one for one, _ in found] == [field]]
        own = [field] if self.targets.get(field, ()) is None and field != key else []
        others = [name for name in setting if name != key]
        return next(iter([*(name for name in setting if name in self.signature), *own, *others]), None)

    def advice(self, key: str) -> Words:
        """The key to write in place of one without effect."""
        from ..suggestion import closest, suggest_as

        meant, _, transform = self.reading.catalog["meant"].get(key, "").partition(" | ")
        if meant:
            found = self._replacement_key(meant, key)
            if found is None or found == key:
                return NOTHING
            is_same = (self._transform(found, meant) or "") == transform
            return suggest_as(say.may_be_written(found=found), found, key, () if is_same else (meant,))
        known = sorted(self.targets)
        near = closest(key, known)
        return NOTHING if near is None else suggest_as(say.perhaps_meant(near=near), near, key, known)

    def _path(self, key: str, one: Sourced) -> str:
        """The path of the key from which a value comes."""
        return one.sources[0] if one.sources else f"{self.reading.model}.{key}"


class Defaults(NamedTuple):
    """The defaults of a (MLA)TransformerConfig."""

    names: Mapping[str, str]
    """Its fields, and what the rows call them."""
    known: Mapping[str, Sourced]
    settings: Mapping[str, Setting]
    catalog: Mapping[str, Any]

    def changed_names(self, now: Mapping[str, Sourced]) -> Iterator[str]:
        """Names whose values differ from the defaults."""
        return compress(self.known, map(is_not, self.known.values(), map(now.__getitem__, self.known)))


_defaults: dict[tuple[int, bool], Defaults] = {}


def defaults_of(catalog: dict[str, Any], *, mla: bool) -> Defaults:
    """Defaults of the transformer configuration of a version, cached."""
    found = _defaults.get((id(catalog), mla))
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        names = {name: f"transformer.{name}" for name in values}
        known = {names[name]: Sourced(value) for name, value in values.items()}
        settings = [default_setting(f"resolved.{names[name]}", value) for name, value in values.items()]
        found = Defaults(names, known, {one.key: one for one in settings}, catalog)
        _defaults[id(catalog), mla] = found
    return found


def network(run: Trainer) -> None:
    """TransformerConfig fields that section and trainer produce; empty without a class."""
    reading = run.reading
    within = Trainer(reading, run.locals)
    within.parts.update(dict.fromkeys(("model", "attributes", "transformer"), Part(reading.model)))
    within.resolve("model")
    if within.has("model_class"):
        facts: dict[str, Any] = within["model_class"]
        run.locals["facts.model_class"] = within.locals["facts.model_class"] = Sourced(facts["class"])
        attributes, latent = _construct(within, facts), run.now("latent")
        mla: bool = within["mla"] if latent is None else latent
        fields = convert(reading, facts, attributes, within.under("handed."), mla=mla)
        _transformer_config(within, checked_fields(reading, fields, run.now("choices") or {}), mla=mla)


def leave_network_open(run: Trainer) -> None:
    """Leave every field open: the class is not known."""
    reading = run.reading
    path = f"{reading.model}.model_type"
    kind = reading.get(path)
    undecided_network(reading, *((str(kind), path) if kind else (reading.model, reading.model)))


def _construct(run: Trainer, facts: dict[str, Any]) -> dict[str, Sourced]:
    """Attributes of the configuration class: defaults, written values and derived ones."""
    reading = run.reading
    given: dict[Any, Any] = reading.section(reading.model)
    attributes = {key: Sourced(value) for key, value in {**facts["mf"], **facts["signature"]}.items()}
    attributes.update(Trainer.section_values(run, reading.model))
    attributes.update(run.take("attributes."))
    for name, replaced in facts["attribute_map"].items():
        if name in attributes:
            attributes[replaced] = attributes.pop(name)
    run.locals.update({f"attributes.{key}": one for key, one in attributes.items()})
    reading.resolve("resolved.model.class", facts["class"], f"{reading.model}.model_type")
    run.resolve("attributes")
    attributes = run.take("attributes.")
    for key in facts["ignore"]:
        if attributes.pop(key, None) is not None and key in given:
            reading.acceptance[f"{reading.model}.{key}"] = "ignored"
    return attributes


def _transformer_config(run: Trainer, fields: dict[str, Sourced], *, mla: bool) -> None:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    reading, own = run.reading, defaults_of(run.reading.catalog, mla=mla)
    run.locals.update(own.known)
    reading.resolved.update(own.settings)
    for name, one in fields.items():
        if name not in own.names:
            key = one.sources[0] if one.sources else name
            why = say.latent_alone(key=key, name=name)
            reading.note(say.rejected(why=why, version=reading.version), key)
        else:
            run.locals[f"transformer.{name}"] = one if one.decided else one._replace(decided=True)
            if not one.decided:
                run.open.add(f"transformer.{name}")
    run.resolve("transformer")
    for local in {*own.changed_names(run.locals), *run.open.intersection(own.known)}:
        one = run.locals[local]
        reading.resolve(f"resolved.{local}", one.value, *one.sources, decided=local not in run.open)


def undecided_network(reading: Reading, text: str, path: str) -> None:
    """Leave every field of the network open."""
    span = reading.place(path)
    if span is not None:
        reading.unresolved.append(Unresolved(text, say.network_unknown(), span))
    for name in (*reading.catalog["transformer"], *reading.catalog["mla_transformer"]):
        reading.resolve(f"resolved.transformer.{name}", None, path, decided=False)

"""The dynamic graph's `TrainConfig` of a YAML: every value, its type checked, defaults filled in.

From 2.0 on MindSpore Transformers trains in PyNative mode from a typed configuration: sections are classes with
fields, some of which let further keys through to the optimizer, the schedule or the model. `DynamicReading` follows
`mindformers/pynative/config/config.py` (loading) and `pynative/trainer/trainer.py` (what is derived from it), and
says what the real code would refuse, overwrite or silently drop. The facts of each version are compiled tables.
"""

from __future__ import annotations

from ..config import Config, Setting
from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..file_kind import purpose_of_run_mode
from ..message import NOTHING, Words
from ..plain_values import is_on
from ..rows import Sourced, UndecidedError
from ..suggestion import closest, suggest_as
from ..versions import names_with_facts, newest_until, number_of, release_of
from .config_state import Reading
from .messages_compiled import say
from .resolution import STAGES, Taken, Trainer, fits, kind_words, words
from .switches import read_switch, switch_setting, switch_test, switch_unread
from .versions import static_catalog, static_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..config import Acceptance, ReadOptions, Value
    from ..message import Problem
    from ..rows import Row
    from ..source import SourceText, Span
    from ..yaml_reader.document import YamlDocument
    from ..yaml_reader.node import Node
    from .versions import Chosen


VERSIONS = names_with_facts("mindformers", "dynamic")

_ABSENT: Any = object()


class Catalog(NamedTuple):
    """The facts of one version."""

    version: str
    classes: Mapping[str, Any]
    optimizers: Mapping[str, Any]
    schedules: Mapping[str, Any]
    callbacks: Mapping[str, Any]
    networks: Mapping[str, bool]
    """The networks there are, and whether each asks for latent attention."""
    tests: Mapping[str, Any]
    """How switches are tested, beyond the typed sections: `switches` and `field_tests`."""


def catalog(version: str) -> Catalog:
    """Facts of a version, or of the nearest one that has facts."""
    name = newest_until(version, VERSIONS)
    facts = named_module(f"dynamic_{name.replace('.', '_')}_compiled", __package__).CATALOG
    tests = {kind: facts[kind] for kind in ("switches", "field_tests")}
    return Catalog(
        name, facts["classes"], facts["optimizers"], facts["schedules"], facts["callbacks"], facts["networks"], tests
    )


def dynamic_keys(version: str) -> dict[str, str]:
    """The keys that the sections of a version declare, by path, and the type of each; lists of sections left out."""
    classes = catalog(version).classes
    keys: dict[str, str] = {}
    waiting = [("", "TrainConfig")]
    while waiting:
        prefix, name = waiting.pop()
        for key, field in classes[name]["fields"].items():
            path, kind = _joined_path(prefix, key), str(field["type"])
            section = kind.removesuffix(" | None")
            if section in classes:
                waiting.append((path, section))
            elif not kind.startswith("list[") or kind[5:-1] not in classes:
                keys[path] = kind
    return keys


class DynamicReading(Reading):
    """One YAML read as `TrainConfig`; what the network's fields are joins its settings."""

    model = "model"

    def __init__(self, document: YamlDocument, source: SourceText, options: ReadOptions, version: str) -> None:
        self.facts = catalog(version)
        usual = static_catalog(static_version(self.facts.version))
        own = {
            name: dict.fromkeys(("type", "auto_register", *one["parameters"]))
            for name, one in self.facts.callbacks.items()
        }
        # This graph's trainer passes no argument to a callback.
        callbacks = {"callbacks": {**usual["callbacks"], **own}, "handed_to_callbacks": {}}
        super().__init__(source.name, self.facts.version, {**usual, **self.facts.tests, **callbacks})
        self.settings = self.resolved
        self.problems.extend(document.problems)
        self._defaults: dict[str, Setting] = {}
        self.world, self.counted_at = options.world_size, options.counted_at
        self._root = document.root
        self.too_old = number_of(version) < number_of(VERSIONS[0])
        """Whether the version has no dynamic graph, so that it reads nothing of this."""
        if self.too_old:
            self.report(say.no_dynamic_graph(version=version, used=self.facts.version), None)
        elif self.facts.version != ".".join(version.split(".")[:2]):
            self.report(say.dynamic_version(version=version, used=self.facts.version), None)
        if self._root is None or self._root.kind != "mapping":
            self.report(say.dynamic_not_a_mapping(), None if self._root is None else self._root.span)
            self._root = None
        else:
            self.values = self._root.value
            self.record("", self._root, None)

    def config(self) -> Config:
        """The whole effective configuration of the file."""
        told = len(self.problems)
        self._section("TrainConfig", self._root, "")
        self._switch_sections()
        self.settings.update(self._defaults)
        facts = {
            "networks": self.facts.networks,
            "schedules": self.facts.schedules,
            "option.world_size": self.world,
            "option.counted_at": self.counted_at,
        }
        run = Dynamic(self, {name: Sourced(value) for name, value in facts.items()})
        for stage in STAGES["dynamic"]:
            run.resolve(stage)
        for path, acceptance in self.acceptance.items():
            self._accept(path, acceptance)
        switch_unread(self)
        self._mark_switched()
        return Config(
            self.file,
            "mindformers",
            self.facts.version,
            "dynamic",
            self.settings,
            unresolved=tuple(self.unresolved),
            problems=tuple(self.problems[:told] if self.too_old else self.problems),
        )

    # --- loading -------------------------------------------------------------------------------------------------

    def _section(self, name: str, node: Node | None, prefix: str) -> None:
        """Read a section as a configuration class; defaults if it is missing."""
        facts = self.facts.classes[name]
        items: Mapping[Any, Node] = {}
        if node is not None and node.kind == "mapping":
            items = node.items
        for key, child in items.items():
            field = facts["fields"].get(key)
            path = _joined_path(prefix, key)
            if field is not None:
                self._field(field, child, path)
            elif facts["extra"]:
                self._extra(key, child, path, top=not prefix)
            else:
                self._report_unknown(key, child, path, name)
        for key, field in facts["fields"].items():
            if key not in items:
                self._default(field, _joined_path(prefix, key), None if node is None else node.span)

    def _field(self, field: Mapping[str, Any], node: Node, path: str) -> None:
        """Read a field by its declared type, and report values of another type."""
        kind = str(field["type"])
        section = kind.removesuffix(" | None")
        element = kind[5:-1] if kind.startswith("list[") else ""
        if section in self.facts.classes:
            if node.kind == "mapping":
                self._section(section, node, path)
                return
            if node.value is None and section != kind:
                self._explicit(path, node)
                return
            self.report(say.dynamic_type(key=path, expected=say.a_mapping(), given=_value_text(node.value)), node.span)
            self._explicit(path, node)
            self._section(section, None, path)
            return
        if element in self.facts.classes and node.kind == "sequence":
            for at, entry in enumerate(node.entries):
                if entry.kind == "mapping":
                    self._section(element, entry, f"{path}[{at}]")
                else:
                    self.report(
                        say.dynamic_type(key=f"{path}[{at}]", expected=say.a_mapping(), given=_value_text(entry.value)),
                        entry.span,
                    )
                    self._explicit(f"{path}[{at}]", entry)
            if not node.entries:
                self._explicit(path, node)
            return
        self._leaves(node, path, "accepted")
        if not fits(node.value, kind):
            if kind == "bool":
                self.switched[path] = node.value, None
            expected = kind_words(kind)
            if node.value is None:
                self.report(say.is_null(key=path, expected=expected), node.span)
            else:
                self.report(say.dynamic_type(key=path, expected=expected, given=_value_text(node.value)), node.span)

    def _extra(self, key: Any, node: Node, path: str, *, top: bool) -> None:
        """A key that the class does not declare but lets through."""
        if not isinstance(key, str):
            self.report(say.not_a_name(key=path), node.key_span or node.span)
            self._leaves(node, path, "unknown")
        elif top:
            self.report(say.section_ignored(key=key, hint=self._hint(key, "TrainConfig")), node.key_span or node.span)
            self._leaves(node, path, "ignored")
        elif key.startswith("_"):
            self.report(say.private(key=path), node.key_span or node.span)
            self._leaves(node, path, "ignored")
        else:
            self._leaves(node, path, "accepted")

    def _report_unknown(self, key: Any, node: Node, path: str, owner: str) -> None:
        self.report(
            say.dynamic_unknown(key=path, owner=owner, hint=self._hint(str(key), owner)), node.key_span or node.span
        )
        self._leaves(node, path, "unknown")

    def _leaves(self, node: Node, path: str, acceptance: Acceptance) -> None:
        """Record every leaf below a node as a written setting."""
        if node.kind == "mapping" and node.items:
            for key, child in node.items.items():
                self._leaves(child, _joined_path(path, key), acceptance)
        elif node.kind == "sequence" and any(entry.kind != "scalar" for entry in node.entries):
            for at, entry in enumerate(node.entries):
                self._leaves(entry, f"{path}[{at}]", acceptance)
        else:
            self._explicit(path, node, acceptance)

    def _explicit(self, path: str, node: Node, acceptance: Acceptance = "accepted") -> None:
        """Record a setting that the file gives."""
        raw = None if node.text is None else (node.text,)
        self.settings[path] = Setting(path, node.value, "explicit", node.span, raw=raw, acceptance=acceptance)

    def _default(self, field: Mapping[str, Any], path: str, place: Span | None) -> None:
        """Record a field's default; reports a required one that is missing."""
        kind = str(field["type"])
        if kind in self.facts.classes:
            self._section(kind, None, path)
            return
        value = field.get("default")
        self._defaults[path] = Setting(path, value, "default")
        if value is None and not fits(None, kind):
            self.report(say.required(key=path, expected=kind_words(kind)), _end(place))

    def _hint(self, key: str, owner: str) -> Words:
        """Suggestion for an unknown key: its new name, the nearest key, or all keys."""
        fields = self.facts.classes[owner]["fields"]
        from .launch_options_compiled import RENAMED

        renamed = RENAMED.get(key)
        near = renamed or closest(key, fields)
        if near is None:
            return say.known_are(known=", ".join(fields))
        return suggest_as(say.perhaps(near=near), near, key, () if renamed else list(fields))

    def _switch_sections(self) -> None:
        """Put True or False in place of every switch that is written outside the model and the typed fields."""
        for path, rows in self.facts.tests["switches"].items():
            setting = self.settings.get(path)
            if setting is not None and setting.value.__class__ is not bool:
                value = setting.value
                test = switch_test(rows, self.value)
                self.switched[path] = value, is_on(value) if test is None else read_switch(self, path, value, test)
        self._mark_switched()

    def _mark_switched(self) -> None:
        for path, (value, on) in self.switched.items():
            if path in self.settings:  # a mapping stands there by its leaves
                self.settings[path] = switch_setting(self.settings[path], value, on=on)

    # --- access --------------------------------------------------------------------------------------------------

    def value(self, key: str, otherwise: Any = _ABSENT) -> Any:
        """The effective value of a key."""
        setting = self.settings.get(key)
        return otherwise if setting is None else setting.value

    def span(self, *keys: str) -> Span | None:
        """Span of the first of these keys that the file has."""
        for key in keys:
            setting = self.settings.get(key)
            if setting is not None and setting.span is not None:
                return setting.span
        return None

    def end(self, key: str) -> Span | None:
        """Span at which a new key beside this one would go."""
        return _end(self.span(key))

    def _accept(self, path: str, acceptance: Acceptance) -> None:
        """Set the acceptance of a key and everything below it."""
        for key, setting in self.settings.items():
            if key == path or key.startswith((f"{path}.", f"{path}[")):
                self.settings[key] = setting._replace(acceptance=acceptance)

    def fields_of(self, section: str) -> Mapping[str, Any]:
        """The fields that the class of a top-level section declares."""
        return self.facts.classes[self.facts.classes["TrainConfig"]["fields"][section]["type"]]["fields"]

    def derive(self, key: str, value: Value, *sources: str) -> None:
        """Record a value that the framework computes from others."""
        self.settings[key] = Setting(key, value, "derived", derived_from=sources)

    def report(self, problem: Problem, span: Span | None) -> None:
        """Add a problem."""
        self.problems.append(diagnose(problem, self.file, span))


class Dynamic(Trainer):
    """The run of the dynamic graph's rows over the values of the file and of the classes' defaults."""

    reading: DynamicReading

    def __getitem__(self, name: str) -> Any:
        value = self.get(name, _ABSENT)
        if value is _ABSENT:
            raise UndecidedError
        return value

    def get(self, name: str, otherwise: Any) -> Any:
        """Value of a name; `otherwise` if absent."""
        one = self.locals.get(name)
        return self.reading.value(name, otherwise) if one is None else one.value

    def has(self, name: str) -> bool:
        """True if there is such a value."""
        return name in self.locals or name in self.reading.settings

    def is_written(self, name: str) -> bool:
        """True if there is something in a section."""
        return any(key.startswith(f"{name}.") for key in self.reading.settings)

    def source_paths(self, row: Row) -> tuple[str, ...]:
        """Keys that a row names as reasons."""
        return row.more.because

    def set(self, row: Row, value: Any) -> None:
        """Record a row's value."""
        self.reading.derive(row.target, value, *row.more.because)

    def refuse(self, row: Row) -> None:
        """Report a requirement that does not hold."""
        given = ", ".join(f"{key}={_value_text(self[key])}" for key in row.more.because)
        here = say.values_here(given=given) if given else NOTHING
        said = say.dynamic_condition(what=words(self.version, row, self), given=here)
        self.reading.report(said, self.reading.span(*row.more.because))

    def report(self, row: Row, value: Any) -> None:
        """Report a row's problem by name."""
        self.reading.report(getattr(say, row.target)(**value), self.reading.span(*row.more.because))

    def report_missing(self, row: Row, value: Any) -> None:
        """Report a missing key at the end of its section."""
        section = row.more.at.rpartition(".")[0]
        last = [key for key in self.reading.settings if key.startswith(f"{section}.")][-1]
        self.reading.report(getattr(say, row.target)(**value), self.reading.end(last))

    def reset(self, row: Row, value: Any) -> None:
        """Report a written key in whose place the framework puts the value of another."""
        reading, key = self.reading, row.target
        if key in reading.settings and reading.settings[key].value != value:
            by = row.more.because[0]
            reading.report(say.overwritten(key=key, by=by, value=value), reading.settings[key].span)
            reading.acceptance[key] = "ignored"

    # What a section names by `type`.

    def section_values(self, section: str) -> dict[str, Sourced]:
        """Values that a section passes to its class."""
        switched = self.reading.switched
        given: dict[str, Sourced] = {}
        for key, value in self.reading.section(section).items():
            if isinstance(key, str) and not key.startswith("_"):
                path = f"{section}.{key}"
                given[key] = Sourced(switched[path][1] if path in switched else value, (path,))
        for key in self.reading.fields_of(section):
            given.setdefault(key, Sourced(self.get(f"{section}.{key}", None), (f"{section}.{key}",)))
        return given

    def class_named(self, registry: str, section: str, kind: Any) -> Taken | None:
        """Facts of a registered class; None, with a report, if unknown."""
        reading, key = self.reading, f"{section}.type"
        classes: Mapping[str, Any] = getattr(reading.facts, registry)
        facts = classes.get(str(kind))
        if facts is None and kind is not None:
            reading.report(say.class_unknown(key=key, given=kind, known=", ".join(classes)), reading.span(key))
        return None if facts is None else Taken(str(kind), facts["parameters"])

    def foreign(self, taken: Taken, section: str, key: str) -> None:
        """Report a written key that the constructor swallows."""
        setting = self.reading.settings.get(f"{section}.{key}")
        if setting is not None and setting.origin == "explicit":
            known = list(taken.arguments)
            near = closest(key, known)
            hint = suggest_as(say.perhaps(near=near), near, key, known) if near else NOTHING
            self.reading.report(say.swallowed(key=setting.key, owner=taken.name, hint=hint), setting.span)
            self.reading.acceptance[setting.key] = "ignored"

    def answer(self, path: str, one: Sourced) -> None:
        """Record a value with its sources."""
        if one.sources:
            self.reading.derive(path, one.value, *one.sources)
        else:
            self.reading.settings[path] = Setting(path, one.value, "default")

    def leave_open(self, row: Row) -> bool:
        """Record None for a row whose value is computed from a missing section."""
        if row.action in ("set", "let"):
            getattr(self, row.action)(row, None)
        return True

    stop = leave_open


def _joined_path(prefix: str, key: object) -> str:
    return f"{prefix}.{key}" if prefix else str(key)


def _value_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return say.the_string(text=_shorten(repr(value), 49))
    return _shorten(str(value), 60)


def _shorten(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."


def _end(span: Span | None) -> Span | None:
    """Span of a section's end, for a missing key."""
    return None if span is None else span._replace(line=span.end_line, column=span.end_column)


def dynamic_config(
    document: YamlDocument, source: SourceText, options: ReadOptions, version: str, chosen: Chosen | None = None
) -> Config:
    """Configuration of a dynamic-graph YAML with all effective values."""
    config = DynamicReading(document, source, options, version).config()
    unknown = _unknown_keys(config)
    if chosen is None:
        pass
    elif chosen.origin == "assumed" and unknown:
        for version in reversed(VERSIONS):
            other = DynamicReading(document, source, options, version).config()
            fewer = _unknown_keys(other)
            if len(fewer) < len(unknown):
                keys = sorted(unknown.difference(fewer))
                shown = ", ".join(keys[:3]) + (", …" if len(keys) > 3 else "")
                reason = say.latest_that_knows(keys=shown)
                config, unknown = other._replace(version_origin="detected", version_reason=reason), fewer
    else:
        release = release_of(options.mindformers)
        config = config._replace(version_origin=chosen.origin, version_reason=chosen.reason, release=release)
    purpose = purpose_of_run_mode(config.value("run_mode"), source.name, _span_of_key(config, "run_mode"))
    if purpose is not None:
        return config._replace(problems=(purpose.problem,), purpose=purpose)
    return config


def _unknown_keys(config: Config) -> set[str]:
    """The keys that the version does not know."""
    return {key for key, setting in config.settings.items() if setting.acceptance in ("unknown", "ignored")}


def _span_of_key(config: Config, key: str) -> Span | None:
    setting = config.settings.get(key)
    return None if setting is None else setting.span

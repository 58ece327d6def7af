"""What the dynamic graph's `TrainConfig` makes of a YAML: every value, its type checked, defaults filled in.

From 2.0 on MindSpore Transformers trains in PyNative mode from a typed configuration: sections are classes with
fields, some of which let further keys through to the optimizer, the schedule or the model. `DynamicReading` follows
`mindformers/pynative/config/config.py` (loading) and `pynative/trainer/trainer.py` (what is derived from it), and
says what the real code would refuse, overwrite or silently drop. The facts of each version are compiled tables.
"""

from __future__ import annotations

from .. import rows
from ..config import Config, Setting
from ..diagnostic import finding
from ..light_typing import TYPE_CHECKING, NamedTuple, cast
from ..suggestion import closest
from ..versions import names_with_facts, number_of
from .dynamic_problems import PROBLEMS
from .resolution import sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..config import Acceptance, Origin, ReadOptions, Unresolved, Value
    from ..diagnostic import Diagnostic
    from ..rows import Row
    from ..source import SourceText, Span
    from ..yaml_node import Node
    from ..yaml_text import YamlDocument

VERSIONS = names_with_facts("mindformers", "dynamic")

_ABSENT: Any = object()
_SCALARS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (float, int), "str": (str,)}
_MEGATRON_DATA = "train_dataset.dataloader.config."
_NAMED_COUNTS = (("warmup", "warmup_steps", "warmup_ratio"), ("decay start", "decay_start_steps", "decay_start_ratio"))
_DEGREES = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")


class Catalog(NamedTuple):
    """The facts of one version."""

    version: str
    classes: Mapping[str, Any]
    optimizers: Mapping[str, Any]
    schedules: Mapping[str, Any]
    callbacks: Mapping[str, Any]


def catalog(version: str) -> Catalog:
    """The facts of the version, or of the nearest one that there are facts of."""
    from importlib import import_module

    name = nearest(version)
    facts = import_module(f".dynamic_{name.replace('.', '_')}_compiled", __package__).CATALOG
    return Catalog(name, facts["classes"], facts["optimizers"], facts["schedules"], facts["callbacks"])


def nearest(version: str) -> str:
    """The version whose facts are used for `version`."""
    numbers = number_of(version)
    return next((known for known in reversed(VERSIONS) if number_of(known) <= numbers), VERSIONS[0])


class DynamicReading:
    """One YAML read as `TrainConfig`; `settings` and `problems` grow as it is read."""

    def __init__(
        self,
        document: YamlDocument,
        source: SourceText,
        options: ReadOptions,
        version: str,
        resolve_model: Callable[[DynamicReading], None],
    ) -> None:
        self.facts = catalog(version)
        self.settings: dict[str, Setting] = {}
        self.problems: list[Diagnostic] = list(document.problems)
        self.unresolved: list[Unresolved] = []
        self._defaults: dict[str, Setting] = {}
        self._world = options.world_size or None
        self._resolve_model = resolve_model
        self.file = source.name
        self._root = document.root
        if self.facts.version != ".".join(version.split(".")[:2]):
            self.report("version", None, version=version, used=self.facts.version)
        if self._root is None or self._root.kind != "mapping":
            self.report("not-a-mapping", None if self._root is None else self._root.span)
            self._root = None

    def config(self) -> Config:
        """Everything that is known of the file."""
        self._section("TrainConfig", self._root, "")
        self.settings.update(self._defaults)
        self._check()
        self._transformer()
        self._parallel_and_batch()
        self._schedule()
        self._optimizer()
        self._clipping()
        return Config(
            self.file,
            "mindformers",
            self.facts.version,
            "dynamic",
            self.settings,
            unresolved=tuple(self.unresolved),
            problems=tuple(self.problems),
        )

    # --- loading -------------------------------------------------------------------------------------------------

    def _section(self, name: str, node: Node | None, prefix: str) -> None:
        """Read a section as the class `name`; defaults where it is missing."""
        facts = self.facts.classes[name]
        items: Mapping[Any, Node] = {}
        if node is not None and node.kind == "mapping":
            items = node.items
        for key, child in items.items():
            field = facts["fields"].get(key)
            path = _join(prefix, key)
            if field is not None:
                self._field(field, child, path, name)
            elif facts["extra"]:
                self._extra(key, child, path, top=not prefix)
            else:
                self._unknown(key, child, path, name)
        for key, field in facts["fields"].items():
            if key not in items:
                self._default(field, _join(prefix, key), None if node is None else node.span)

    def _field(self, field: Mapping[str, Any], node: Node, path: str, owner: str) -> None:
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
            self.report("type", node.span, key=path, expected="a mapping", given=_shown(node.value))
            self._explicit(path, node)
            self._section(section, None, path)
            return
        if element in self.facts.classes and node.kind == "sequence":
            for at, entry in enumerate(node.entries):
                if entry.kind == "mapping":
                    self._section(element, entry, f"{path}[{at}]")
                else:
                    self.report(
                        "type", entry.span, key=f"{path}[{at}]", expected="a mapping", given=_shown(entry.value)
                    )
                    self._explicit(f"{path}[{at}]", entry)
            if not node.entries:
                self._explicit(path, node)
            return
        self._leaves(node, path, "accepted")
        if not _fits(node.value, kind):
            name = "null" if node.value is None else "type"
            self.report(name, node.span, key=path, expected=_described(kind), given=_shown(node.value), owner=owner)

    def _extra(self, key: Any, node: Node, path: str, *, top: bool) -> None:
        """A key that the class does not declare but lets through."""
        if not isinstance(key, str):
            self.report("not-a-name", node.key_span or node.span, key=path)
            self._leaves(node, path, "unknown")
        elif top:
            self.report("section-ignored", node.key_span or node.span, key=key, **self._hint(key, "TrainConfig"))
            self._leaves(node, path, "ignored")
        elif key.startswith("_"):
            self.report("private", node.key_span or node.span, key=path)
            self._leaves(node, path, "ignored")
        else:
            self._leaves(node, path, "accepted")

    def _unknown(self, key: Any, node: Node, path: str, owner: str) -> None:
        self.report("unknown", node.key_span or node.span, key=path, owner=owner, **self._hint(str(key), owner))
        self._leaves(node, path, "unknown")

    def _leaves(self, node: Node, path: str, acceptance: Acceptance) -> None:
        if node.kind == "mapping" and node.items:
            for key, child in node.items.items():
                self._leaves(child, _join(path, key), acceptance)
        elif node.kind == "sequence" and any(entry.kind != "scalar" for entry in node.entries):
            for at, entry in enumerate(node.entries):
                self._leaves(entry, f"{path}[{at}]", acceptance)
        else:
            self._explicit(path, node, acceptance)

    def _explicit(self, path: str, node: Node, acceptance: Acceptance = "accepted") -> None:
        raw = None if node.text is None else (node.text,)
        self.settings[path] = Setting(path, node.value, "explicit", node.span, raw=raw, acceptance=acceptance)

    def _default(self, field: Mapping[str, Any], path: str, place: Span | None) -> None:
        kind = str(field["type"])
        if kind in self.facts.classes:
            before = len(self._defaults)
            self._section(kind, None, path)
            if len(self._defaults) == before:
                return
            return
        value = field.get("default")
        self._defaults[path] = Setting(path, value, "default")
        if value is None and not _fits(None, kind):
            self.report("required", _end(place), key=path, expected=_described(kind))

    def _hint(self, key: str, owner: str) -> dict[str, str]:
        fields = self.facts.classes[owner]["fields"]
        near = _RENAMED.get(key) or closest(key, fields)
        if near is None:
            known = ", ".join(fields)
            return {"hint": f" Known are: {known}.", "hint_zh": f"可用的有：{known}。"}
        return {"hint": f" Did you mean {near}?", "hint_zh": f"是否想写 {near}？"}

    # --- checks and derived values -------------------------------------------------------------------------------

    def _check(self) -> None:
        """The conditions that the classes state beyond their fields' types."""
        checks = _Checks(self)
        for section in sections(self.facts.version, "dynamic checks"):
            checks.follow(section.rows)
        self._mask_of_documents()

    def _mask_of_documents(self) -> None:
        """`pynative/trainer/utils.py:_build_dataset` (1.9-2.1) asks for the key without a default."""
        key = f"{_MEGATRON_DATA}create_compressed_eod_mask"
        given = [one for one in self.settings if one.startswith(_MEGATRON_DATA)]
        loader = self.value("train_dataset.dataloader.type")
        if given and key not in given and loader == "BlendedMegatronDatasetDataLoader":
            self.report("required", _end(self.span(given[-1])), key=key, expected=_described("bool"))

    def _transformer(self) -> None:
        """The model part goes through the model class's own converter, as in the static graph."""
        self._resolve_model(self)

    def _parallel_and_batch(self) -> None:
        """`Trainer._compute_data_parallel_size`: what the device count makes of the degrees and the batch."""
        degrees = {name: self.count(f"parallelism.{name}") for name in _DEGREES}
        for name, degree in degrees.items():
            self.derive(f"resolved.parallel.{name}", degree, f"parallelism.{name}")
            given = self.value(f"parallelism.{name}", None)
            if degree is None and isinstance(given, int):
                self.report("degree", self.span(f"parallelism.{name}"), key=f"parallelism.{name}", given=given)
        self.derive(
            "resolved.parallel.sequence_parallel",
            self.value("parallelism.sequence_parallel", None),
            "parallelism.sequence_parallel",
        )
        total, local = self.count("training.global_batch_size"), self.count("training.local_batch_size")
        self.derive("resolved.batch.global_size", total, "training.global_batch_size")
        self.derive("resolved.batch.local_size", local, "training.local_batch_size")
        tensor, pipeline, context, expert = degrees.values()
        sources = ("parallelism.tensor_parallel", "parallelism.pipeline_parallel", "parallelism.context_parallel")
        data = None
        if self._world is not None and tensor and pipeline and context:
            data = self._world // (tensor * pipeline * context) or None
            product = f"{tensor} x {pipeline} x {context}"
            if (data or 0) * tensor * pipeline * context != self._world:
                self.report("devices", self.span(*sources), product=product, world=self._world)
        self.derive("resolved.parallel.data_parallel", data, *sources)
        self._shards(data, context, tensor, expert)
        self._accumulation(data, total, local)

    def _shards(self, data: int | None, context: int | None, tensor: int | None, expert: int | None) -> None:
        key = "parallelism.data_parallel_shard"
        shard = self.value(key, None)
        replicate = sharded = None
        if shard == 0:
            self.report("shards", self.span(key), shard=shard, data=data)
        elif data is not None and isinstance(shard, int):
            replicate = 1 if shard < 0 else max(data // shard, 1)
            sharded = data // replicate
            if shard > 0 and replicate * sharded != data:
                self.report("shards", self.span(key), shard=shard, data=data)
            if expert and context and tensor and (sharded * context * tensor) % expert:
                region = sharded * context * tensor
                self.report("experts", self.span("parallelism.expert_parallel"), expert=expert, region=region)
        self.derive("resolved.parallel.data_parallel_shard", sharded, key, "resolved.parallel.data_parallel")
        self.derive("resolved.parallel.data_parallel_replicate", replicate, key, "resolved.parallel.data_parallel")

    def _accumulation(self, data: int | None, total: int | None, local: int | None) -> None:
        sources = ("training.global_batch_size", "training.local_batch_size", "resolved.parallel.data_parallel")
        accumulation = None
        if data is not None and total and local:
            unit = data * local
            accumulation = total // unit
            strict = number_of(self.facts.version) >= (2, 1)
            if total < unit or (strict and total % unit):
                self.report("batch", self.span(*sources), total=total, data=data, local=local)
            elif total % unit:
                self.report("batch-remainder", self.span(*sources), total=total, unit=unit)
            ramp = self.value("training.rampup_batch_size", None)
            if isinstance(ramp, list) and len(cast("list[Any]", ramp)) == 3:
                accumulation = self._ramp(cast("list[Any]", ramp), total, unit)
                sources = (*sources, "training.rampup_batch_size")
        self.derive("resolved.batch.accumulation", accumulation, *sources)
        self.derive("resolved.parallel.pipeline_parallel_microbatch_size", accumulation, *sources)

    def _ramp(self, ramp: Sequence[Any], total: int, unit: int) -> int | None:
        """`dynamic_batch.py:BatchSizeScheduler`: the accumulation of the first step."""
        start, increment, samples = ramp
        if not all(isinstance(number, int) for number in ramp) or increment <= 0 or start <= 0:
            return None
        levels = range(start, total, increment)
        if start > total or (total - start) % increment or any(level % unit for level in levels):
            place = self.span("training.rampup_batch_size")
            self.report("ramp", place, start=start, increment=increment, total=total, unit=unit)
            return None
        return (start if samples > 0 and start < total else total) // unit

    def _schedule(self) -> None:
        """`trainer/utils.py:_build_lr_scheduler`: the class's constructor, with total_steps from training.steps."""
        self._overwritten("lr_scheduler.total_steps", "training.steps")
        name = self.value("lr_scheduler.type", None)
        steps = self.value("training.steps", None)
        self.derive("resolved.schedule.type", name, "lr_scheduler.type")
        known = self._constructor("lr_scheduler", name, self.facts.schedules, ("type", "total_steps"))
        values = dict(known)
        values["total_steps"] = (steps, ("training.steps",), "derived")
        for what, count, ratio in _NAMED_COUNTS:
            if count not in values:
                continue
            share = values.get(ratio, (None,))[0]
            if isinstance(share, (int, float)) and not isinstance(share, bool) and isinstance(steps, int):
                values[count] = (int(steps * share), (f"lr_scheduler.{ratio}", "training.steps"), "derived")
            elif values[count][0] is None and str(name) in self.facts.schedules:
                self.report("schedule-steps", self.span("lr_scheduler.type"), what=what, count=count, ratio=ratio)
        self._put("resolved.schedule", values)

    def _optimizer(self) -> None:
        """`trainer/utils.py:_build_optimizer`: every declared key and every extra one goes to the constructor."""
        name = self.value("optimizer.type", None)
        self.derive("resolved.optimizer.type", name, "optimizer.type")
        scope = ("weight_decay_include", "weight_decay_exclude")
        values = self._constructor("optimizer", name, self.facts.optimizers, ("type", *scope))
        self._put("resolved.optimizer", values)
        for key in scope:
            self.derive(f"resolved.optimizer.{key}", self.value(f"optimizer.{key}", None), f"optimizer.{key}")

    def _clipping(self) -> None:
        """`trainer/utils.py:_calculate_global_grad_norm`: gradients above max_norm are scaled, always."""
        key = "training.max_norm"
        limit = self.value(key, None)
        self.derive("resolved.wrapper.use_clip_grad", True, key)
        self.derive("resolved.wrapper.max_grad_norm", limit, key)
        if isinstance(limit, (int, float)) and limit <= 0:
            self.report("clipping", self.span(key), limit=limit)

    def _constructor(
        self,
        section: str,
        name: Value,
        classes: Mapping[str, Any],
        apart: tuple[str, ...],
    ) -> dict[str, tuple[Any, tuple[str, ...], Origin]]:
        """The constructor's parameters with what the section gives; keys that it swallows are reported."""
        node = None if self._root is None else self._root.items.get(section)
        items: Mapping[Any, Node] = {} if node is None else node.items
        given: dict[str, Setting] = {
            key: Setting(f"{section}.{key}", child.value, "explicit", child.span)
            for key, child in items.items()
            if isinstance(key, str) and not key.startswith("_")
        }
        fields = self.facts.classes[_CLASS_OF[section]]["fields"]
        for key in fields:
            given.setdefault(key, self.settings.get(f"{section}.{key}", Setting(key, None, "default")))
        facts = classes.get(str(name))
        if facts is None:
            if name is not None:
                known = ", ".join(classes)
                self.report("class", self.span(f"{section}.type"), key=f"{section}.type", given=name, known=known)
            return {key: _from(setting) for key, setting in given.items() if key not in apart}
        values: dict[str, tuple[Any, tuple[str, ...], Origin]] = {
            key: (value, (), "default") for key, value in facts["parameters"].items()
        }
        for key, setting in given.items():
            if key in apart:
                continue
            if key in values:
                values[key] = _from(setting)
            elif setting.origin == "explicit":
                self._swallowed(setting, str(name), list(values))
        return values

    def _swallowed(self, setting: Setting, name: str, known: list[str]) -> None:
        key = setting.key.rpartition(".")[2]
        near = closest(key, known)
        hint = f" Did you mean {near}?" if near else ""
        hint_zh = f"是否想写 {near}？" if near else ""
        self.report("swallowed", setting.span, key=setting.key, owner=name, hint=hint, hint_zh=hint_zh)
        self.accept(setting.key, "ignored")

    def _overwritten(self, key: str, by: str) -> None:
        setting = self.settings.get(key)
        if setting is not None and setting.value != self.value(by, None):
            self.report("overwritten", setting.span, key=key, by=by, value=self.value(by, None))
            self.accept(key, "ignored")

    def _put(self, prefix: str, values: Mapping[str, tuple[Any, tuple[str, ...], Origin]]) -> None:
        for key, (value, sources, origin) in values.items():
            path = f"{prefix}.{key}"
            self.settings[path] = Setting(path, value, "derived" if sources else origin, derived_from=sources)

    # --- access --------------------------------------------------------------------------------------------------

    def value(self, key: str, otherwise: Any = _ABSENT) -> Any:
        """The effective value of a key."""
        setting = self.settings.get(key)
        return otherwise if setting is None else setting.value

    def count(self, key: str) -> int | None:
        """The value of a key that must be a positive whole number; None where it is not one."""
        value = self.value(key, None)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def span(self, *keys: str) -> Span | None:
        """Where the first of the keys that the file holds stands."""
        for key in keys:
            setting = self.settings.get(key)
            if setting is not None and setting.span is not None:
                return setting.span
        return None

    def section(self, name: str) -> Node | None:
        """The mapping of a top-level section; None where there is none."""
        node = None if self._root is None else self._root.items.get(name)
        return node if node is not None and node.kind == "mapping" else None

    def accept(self, path: str, acceptance: Acceptance) -> None:
        """Say of a key, and of everything under it, what becomes of it."""
        for key, setting in self.settings.items():
            if key == path or key.startswith((f"{path}.", f"{path}[")):
                self.settings[key] = setting._replace(acceptance=acceptance)

    def derive(self, key: str, value: Value, *sources: str) -> None:
        """Record a value that the framework computes from others."""
        self.settings[key] = Setting(key, value, "derived", derived_from=sources)

    def report(self, name: str, span: Span | None, **values: object) -> None:
        """Add a problem."""
        self.problems.append(finding(PROBLEMS, name, self.file, span, **values))


class _Checks(rows.Run):
    """The conditions of a version, over the values that the file and the classes' defaults give."""

    def __init__(self, reading: DynamicReading) -> None:
        self.reading = reading

    def __getitem__(self, name: str) -> Any:
        value = self.reading.value(name)
        if value is _ABSENT:
            raise rows.UndecidedError
        return value

    def require(self, row: Row, value: Any) -> None:
        """Report what does not hold."""
        if not value:
            keys = row.more.because
            given = ", ".join(f"{key}={_shown(self[key])}" for key in keys)
            self.reading.report("condition", self.reading.span(*keys), given=given, en=row.more.en, zh=row.more.zh)

    def leave_open(self, row: Row) -> bool:
        """A section that is not there is not checked."""
        del row
        return True

    stop = leave_open


_CLASS_OF = {"optimizer": "OptimizerConfig", "lr_scheduler": "LrSchedulerConfig"}
_RENAMED = {
    # The static graph's sections, by what the dynamic graph calls them.
    "lr_schedule": "lr_scheduler",
    "parallel_config": "parallelism",
    "parallel": "parallelism",
    "runner_config": "training",
    "recompute_config": "recompute",
    "swap_config": "swap",
    "monitor_config": "monitor",
    "load_checkpoint": "checkpoint",
    "seed": "training",
}


def _from(setting: Setting) -> tuple[Any, tuple[str, ...], Origin]:
    return setting.value, (setting.key,), "derived"


def _join(prefix: str, key: object) -> str:
    return f"{prefix}.{key}" if prefix else str(key)


def _fits(value: Any, kind: str) -> bool:
    """Whether `pynative/config/utils.py:check_type` accepts a value."""
    alternatives = kind.split(" | ")
    if len(alternatives) > 1:
        return any((value is None) if option == "None" else _fits(value, option) for option in alternatives)
    if value is None:
        return False
    if kind.startswith("list["):
        return isinstance(value, list) and all(_fits(item, kind[5:-1]) for item in cast("list[Any]", value))
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return isinstance(value, scalar) and (kind == "bool" or not isinstance(value, bool))
    return True


def _described(kind: str) -> str:
    names = {"str": "a string", "int": "a whole number", "float": "a number", "bool": "True or False", "None": "null"}
    return " or ".join(names.get(option, option) for option in kind.split(" | "))


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    text = f"the string {value!r}" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _end(span: Span | None) -> Span | None:
    """The place where a missing key would be written: the end of its section."""
    return None if span is None else span._replace(line=span.end_line, column=span.end_column)

"""What MindSpore Transformers makes of a configuration: the rows of `resolution.yaml` over its values.

Every value carries the paths that decided it. What the real code refuses is a problem, and the reading goes on with
the value as written; a section that meets a value of a kind it cannot compute with names it and ends.
"""

from __future__ import annotations

from importlib import import_module

from .. import rows
from ..light_typing import TYPE_CHECKING, NamedTuple
from ..versions import names, number_of
from .reading import Sourced, Undecided, default_setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..config import Setting
    from ..rows import Expression, Row
    from .reading import Reading

VERSIONS = names("mindformers")


class More(NamedTuple):
    """What a row says beside its action: `Row.more`."""

    because: tuple[str, ...]
    at: str
    en: str | Expression
    zh: str | Expression


class Section(NamedTuple):
    """The rows of one section, and the values to name where its code cannot compute with one."""

    fields: tuple[str, ...]
    rows: tuple[Row, ...]


_known: dict[tuple[str, str], tuple[Section, ...]] = {}


def sections(version: str, stage: str) -> tuple[Section, ...]:
    """The sections of a stage; a version that is not known has those of the one before it."""
    found = _known.get((version, stage))
    if found is None:
        number = number_of(version)
        name = next((one for one in reversed(VERSIONS) if number_of(one) <= number), VERSIONS[0])
        module = import_module(f".resolution_{name.replace('.', '_')}_compiled", __package__)
        found = _known[version, stage] = tuple(
            [
                Section(fields, tuple([rows.Row._make((*head, More._make(more))) for *head, more in listed]))
                for fields, listed in module.STAGES[stage]
            ]
        )
    return found


class Fields(rows.Run):
    """Named values under construction, each with the paths that decided it."""

    def __init__(self, reading: Reading, fields: dict[str, Sourced], place: str) -> None:
        self.reading = reading
        self.fields = fields
        self.place = place
        """Where a problem goes whose values nobody wrote."""
        self.locals: dict[str, Sourced] = {}
        self.extra: dict[str, Sourced] = {}
        self.failed: set[str] = set()
        self.blamed: tuple[str, ...] = ()

    def resolve(self, stage: str) -> None:
        """Apply the sections of a stage."""
        for section in sections(self.reading.version, stage):
            self.blamed = section.fields
            self.follow(section.rows)

    def __getitem__(self, name: str) -> Any:
        """A value; None where this version has none of that name."""
        one = self.fields.get(name) or self.locals.get(name)
        return None if one is None else one.value

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        return name in self.fields

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value."""
        one = self.fields.get(name) or self.locals.get(name)
        return () if one is None else one.sources

    def write(self, name: str, value: Any, because: tuple[str, ...]) -> None:
        """Change a value that there is; `because` are the others that decided it."""
        if name in self.fields:
            self.fields[name] = Sourced(value, self._decided_by((name, *because)))

    def put(self, name: str, value: Any, because: str) -> None:
        """Change a value, or keep it beside the fields where there is none of that name."""
        if name in self.fields:
            self.write(name, value, (because,))
        else:
            self.extra[name] = Sourced(value, self.sources(because))

    def _decided_by(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys([path for name in names for path in self.sources(name)]))

    def refuse(self, name: str, why: str, why_zh: str) -> None:
        """Report that the real code stops because of a value."""
        path = next((path for path in self.sources(name) if path in self.reading.places), None)
        self.reading.note("rejected", path or self.place, why=why, why_zh=why_zh)

    # The actions of the rows.

    def set(self, row: Row, value: Any) -> None:
        """Write a value."""
        self.write(row.target, value, row.more.because)

    def let(self, row: Row, value: Any) -> None:
        """Keep a value for the rows below."""
        self.locals[row.target] = Sourced(value, self._decided_by(row.more.because))

    def require(self, row: Row, value: Any) -> None:
        """Report what does not hold."""
        if not value:
            en, zh = row.more.en, row.more.zh
            self.refuse(row.more.at, en if isinstance(en, str) else en(self), zh if isinstance(zh, str) else zh(self))

    def do(self, row: Row, value: Any) -> None:
        """The function was called with the run."""

    def stop(self, row: Row) -> bool:
        """A value of the wrong kind: say which of those that the section works on are to blame, and end it."""
        del row
        fields = self.blamed
        self.failed.update(name for name in fields[:1] if name in self.fields and self[name] is None)
        if any(isinstance(self[name], Undecided) for name in fields):
            self.failed.update(fields[:1])
            return False
        named = ", ".join(f"{name}={self[name]!r}" for name in fields if self.sources(name))
        self.refuse(fields[0], f"it cannot compute with {named}", f"无法用 {named} 计算")
        return False


class _Own(NamedTuple):
    """The fields as a class has them by itself, and what is said of them: the same for every file."""

    values: Mapping[str, Sourced]
    settings: Mapping[str, Setting]


_own: dict[tuple[str, bool], _Own] = {}


def _own_fields(catalog: dict[str, Any], *, mla: bool) -> _Own:
    key: tuple[str, bool] = catalog["version"], mla
    found = _own.get(key)
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        paths = {f"resolved.transformer.{name}": value for name, value in values.items()}
        settings = {path: default_setting(path, value) for path, value in paths.items()}
        found = _own[key] = _Own({name: Sourced(value) for name, value in values.items()}, settings)
    return found


def transformer_config(reading: Reading, fields: dict[str, Sourced], *, mla: bool) -> None:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    own = _own_fields(reading.catalog, mla=mla)
    run = Fields(reading, dict(own.values), "model.model_config")
    for name, one in fields.items():
        if name in run.fields:
            run.fields[name] = one
        else:
            key = one.sources[0] if one.sources else name
            why = f"{key} sets {name}, which only models with multi-latent attention have"
            reading.note("rejected", key, why=why, why_zh=f"{key} 设置的 {name} 只有 MLA 模型才有")
    run.resolve("transformer")
    reading.resolved.update(own.settings)
    for name, one in {**run.fields, **run.extra}.items():
        if one is own.values.get(name) and name not in run.failed:
            continue  # what the class has by itself
        decided = one.decided and not isinstance(one.value, Undecided) and name not in run.failed
        reading.resolve(f"resolved.transformer.{name}", one.value, *one.sources, decided=decided)

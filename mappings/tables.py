"""The mapping tables as values: rows, sides, caveats, and the keys that have no row with the reason why.

The tables are written as YAML, one file a topic; `compile_tables` turns them into one literal module, so that reading
them costs no parsing. `table()` is the whole of it, with the lookups that readers need.
"""

from __future__ import annotations

from ..schemas.config import explicit_of
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ..schemas.versions import within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    from ..schemas.config import Config, Value
    from ..schemas.source import SourceText
    from .names_compiled import FieldName

Loss: TypeAlias = "Literal['exact', 'conditional', 'approximate', 'one-way', 'unsupported']"
Status: TypeAlias = "Literal['exact', 'conditional', 'approximate', 'made-explicit', 'dropped', 'unresolved']"
Impact: TypeAlias = "Literal['numerics', 'performance', 'none']"
Write: TypeAlias = "Literal['always', 'differs', 'explicit', 'never']"
"""When a side is written: always; where its value is not the default; where the source names it; never."""
SideName: TypeAlias = "Literal['megatron', 'static', 'dynamic']"
Condition: TypeAlias = "tuple[FieldName, str, Value]"
"""A recipe field, a comparison, and what it is compared with."""


ARRAYS = {
    "model": "MODEL_ARGS", "attention": "MODEL_ARGS", "position": "MODEL_ARGS", "norm": "MODEL_ARGS",
    "activation": "MODEL_ARGS", "init": "MODEL_ARGS", "mtp": "MODEL_ARGS", "moe": "MOE_ARGS",
    "optimizer": "OPTIMIZER_ARGS", "gradient": "OPTIMIZER_ARGS", "schedule": "OPTIMIZER_ARGS",
    "precision": "PRECISION_ARGS", "batch": "TRAINING_ARGS", "run": "TRAINING_ARGS", "recompute": "TRAINING_ARGS",
    "fusion": "TRAINING_ARGS", "environment": "TRAINING_ARGS", "parallel": "PARALLEL_ARGS", "data": "DATA_ARGS",
    "tokenizer": "DATA_ARGS", "checkpoint": "OUTPUT_ARGS", "logging": "OUTPUT_ARGS",
}  # fmt: skip
"""The array of a launch script in which the arguments of a topic are written."""


class Side(NamedTuple):
    """One framework's side of a row, in one dialect and range of versions."""

    keys: tuple[str, ...]
    lens: str
    options: Mapping[str, Value]
    read: tuple[str, ...]
    """Keys that hold what the framework makes of `keys`; read first where they are there."""
    aliases: tuple[str, ...]
    fixed: tuple[Value, ...] | None
    """The framework always behaves like this: there is nothing to set."""
    environment: str | None
    since: str | None
    until: str | None


class Caveat(NamedTuple):
    """When a row is not carried over as it is, and what to say then; `model.Caveat` describes the members."""

    to: str | None
    when: tuple[Condition, ...]
    status: Status
    instead: tuple[tuple[FieldName, Value], ...]
    about: tuple[FieldName, ...]
    en: str
    zh: str
    since: str | None = None
    until: str | None = None
    source: str | None = None
    source_since: str | None = None
    source_until: str | None = None
    ignored: bool = False

    def covers(self, version: str, source: str) -> bool:
        """True if it speaks of a version of the target, and of one of what it comes from."""
        return within(version, self.since, self.until) and within(source, self.source_since, self.source_until)


class Row(NamedTuple):
    """One correspondence."""

    topic: str
    fields: tuple[FieldName, ...]
    loss: Loss
    write: Write
    impact: Impact | None
    only: tuple[Condition, ...]
    """The row means something only where these hold."""
    of_megatron: tuple[Any, ...]
    """The sides as the module of the tables has them: most are never asked for."""
    of_static: tuple[Any, ...]
    of_dynamic: tuple[Any, ...]
    number: int | None = None
    """Where its notes stand; a row that is in no table has none."""
    has_caveats: bool = False
    part_of: FieldName | None = None
    """The field that this one is a detail of: without it, it counts for nothing."""

    @property
    def megatron(self) -> tuple[Side, ...]:
        """Megatron-LM's side, in one range of versions after the other."""
        return tuple(map(Side._make, self.of_megatron))

    @property
    def static(self) -> tuple[Side, ...]:
        """The row's alternatives in the static graph of MindSpore Transformers."""
        return tuple(map(Side._make, self.of_static))

    @property
    def dynamic(self) -> tuple[Side, ...]:
        """The row's alternatives in the dynamic graph of MindSpore Transformers."""
        return tuple(map(Side._make, self.of_dynamic))

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """A note on some values, and their replacement on the other side."""
        return _notes_of(self.number).caveats if self.has_caveats else ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources in which it was read or measured."""
        return _notes_of(self.number).sources

    @property
    def en(self) -> str:
        """The notes on the row in every case."""
        return _notes_of(self.number).en

    @property
    def zh(self) -> str:
        """The row's note in Chinese."""
        return _notes_of(self.number).zh

    def side(self, name: SideName, version: str) -> Side | None:
        """The side that speaks for a version; None where the concept does not exist there."""
        sides = self.of_megatron if name == "megatron" else self.of_static if name == "static" else self.of_dynamic
        known = _sides.get((id(sides), version))
        if known is None or known[0] is not sides:
            found = next((Side._make(side) for side in sides if within(version, *side[-2:])), None)
            known = _sides[id(sides), version] = (sides, found)
        return known[1]


_sides: dict[tuple[int, str], tuple[tuple[Any, ...], Side | None]] = {}
"""The side of a row's sides that speaks for a version: a lint asks for each several times, a fix search often."""


class Notes(NamedTuple):
    """The notes on a row; a file that agrees with its partner never needs them."""

    caveats: tuple[Caveat, ...] = ()
    sources: tuple[str, ...] = ()
    en: str = ""
    zh: str = ""


class Gate(NamedTuple):
    """When a difference in a field changes numbers; `model.FieldGate` describes the members."""

    counts: tuple[Condition, ...]
    unless: Mapping[str, tuple[Condition, ...]]
    either: tuple[Condition, ...]
    certain: tuple[Condition, ...]
    alike: tuple[Condition, ...]
    through: FieldName | None
    through_where: tuple[Condition, ...]


class Reason(NamedTuple):
    """The reason why keys have no row; `model.ReasonEntry` describes the members."""

    impact: Impact
    en: str
    zh: str
    only_with: tuple[str, ...] = ()
    sure: bool = True
    elsewhere: bool = False


class Table(NamedTuple):
    """Every row, and the reasons for the keys without one."""

    rows: tuple[Row, ...]
    reasons: tuple[Reason, ...]
    megatron_reasons: Mapping[str, int]
    mindformers_reasons: Mapping[str, int]
    """Keys and sections, each for all below it that has no reason of its own."""
    gates: Mapping[FieldName, Gate]
    ignored: frozenset[FieldName]
    """Fields with a caveat that says so: of the others the caveats need not be loaded."""

    def megatron_reason(self, dest: str) -> Reason | None:
        """The reason why an argument of Megatron-LM has no row."""
        number = self.megatron_reasons.get(dest)
        return None if number is None else self.reasons[number]

    def mindformers_reason(self, path: str) -> Reason | None:
        """The reason why a path of a MindSpore Transformers file has no row."""
        known = self.mindformers_reasons
        while path and path not in known:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.reasons[known[path]] if path else None


def field_named(value: object) -> FieldName:
    """The field that a cell of a table names; the compiled tables name none that does not exist."""
    return cast("FieldName", value)


_tables: list[Table] = []
_notes: dict[int, Notes] = {}
_rows_of: dict[str, list[Row]] = {}


def table() -> Table:
    """The mapping tables."""
    if not _tables:
        from .tables_compiled import GATES, IGNORED, MEGATRON_REASONS, MINDFORMERS_REASONS, REASONS, ROWS

        _tables.append(
            Table(
                tuple(map(Row._make, ROWS)),
                tuple(map(Reason._make, REASONS)),
                MEGATRON_REASONS,
                MINDFORMERS_REASONS,
                {field: Gate(*gate) for field, gate in GATES.items()},
                frozenset(IGNORED),
            )
        )
    return _tables[0]


def rows_of(name: str) -> Sequence[Row]:
    """The rows that a recipe field belongs to."""
    if not _rows_of:
        found: dict[str, list[Row]] = {}
        for row in table().rows:
            for field in row.fields:
                found.setdefault(field, []).append(row)
        _rows_of.update(found)  # at once: another thread must not see half of it
    return _rows_of.get(name, ())


def _notes_of(number: int | None) -> Notes:
    """Notes of a row, loaded on first use; empty without a number."""
    if number is None:
        return Notes()
    found = _notes.get(number)
    if found is None:
        from .notes_compiled import NOTES

        caveats, *rest = NOTES[number]
        found = _notes[number] = Notes(tuple(Caveat(*caveat) for caveat in caveats), *rest)
    return found


_arrays: dict[str, dict[str, str]] = {}


def _array_of_keys(version: str) -> dict[str, str]:
    """The array in which each argument of a version is written, by the topic of the row with the fewest others."""
    if version in _arrays:
        return _arrays[version]
    found: dict[str, str] = {}
    rows = [(row, side) for row in table().rows if (side := row.side("megatron", version)) is not None]
    for row, side in sorted(rows, key=lambda one: len(one[1].keys)):
        for key in (name for names in side.keys for name in names.split("|")):
            found.setdefault(key, ARRAYS[row.fields[0].partition(".")[0]])
    _arrays[version] = found
    return found


def array_of(key: str, version: str) -> str | None:
    """The array in which an argument of Megatron-LM is written; None of one that no row has."""
    return _array_of_keys(version).get(key)


def argument_beside(config: Config, key: str, source: SourceText) -> int | None:
    """The argument of the launch that a new one is written behind: the last of its topic, else the last of all.

    One that begins its line goes before one in the midst of a command.
    """
    arguments = () if config.launch is None else config.launch.arguments
    places = [
        place
        for place, argument in enumerate(arguments)
        if argument.text.startswith("--") and argument.resolved and argument.span.file is None
    ]
    arrays = _array_of_keys(config.framework_version)
    held = {setting.span[:2]: arrays.get(setting.key) for setting in explicit_of(config.settings) if setting.span}

    def rank(place: int) -> tuple[bool, bool, int]:
        span = arguments[place].span
        is_alike = key in arrays and held.get(span[:2]) == arrays[key]
        # A file that was written has no text beside its values.
        before = source.line(span.line)[: span.column - 1] if span.line <= source.line_count else ""
        return not before.strip(), is_alike, place

    return max(places, key=rank, default=None)


DYNAMIC = " dynamic"
"""Suffix that proofs add to a version of MindSpore Transformers whose dynamic graph was run."""


def is_proved(field: str, megatron: str, mindformers: str) -> bool:
    """True if the real models of these two versions matched in a field that both sides had (see `proofs.py`)."""
    from .matched_compiled import MATCHED  # not all that the proofs say, which takes longer to load than a pair to lint

    return (megatron, mindformers) in MATCHED.get(field, ())

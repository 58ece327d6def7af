"""Model families: which MindSpore Transformers class can express a recipe, and what each class does by itself."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.versions import number_of
from .conditions import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Condition
    from ..schemas.config import Value

ALL_EXPERTS = "all-experts"
ALL_LAYERS = "all-layers"


class Family(NamedTuple):
    """One model class."""

    name: str
    architecture: str
    trains: Mapping[str, str]
    fixes: Mapping[FieldName, Value]
    lacks: tuple[str, ...]
    needs: tuple[FieldName, ...]
    keys: Mapping[str, tuple[str, ...]]
    without_experts: Mapping[str, Value]
    """Keys that have to be written in a model without experts, because the class's defaults speak of experts."""
    prefers: tuple[Condition, ...]
    source: str
    dynamic_fixes: Mapping[str, Value]
    """What it fixes besides in the dynamic graph."""
    dynamic_without_experts: Mapping[str, Value]

    def in_dialect(self, dialect: str) -> Family:
        """Family as one dialect supports it."""
        if dialect != "dynamic":
            return self
        return self._replace(
            fixes={**self.fixes, **self.dynamic_fixes},
            without_experts=self.dynamic_without_experts or self.without_experts,
        )

    def trains_in(self, dialect: str, version: str) -> bool:
        """True if this class can be trained with a version."""
        since = self.trains.get(dialect)
        return since is not None and number_of(since) <= number_of(version)

    def has(self, field: str) -> bool:
        """True if the class has keys for a field."""
        return not any(field == name or field.startswith(name + ".") for name in self.lacks)


class Misfit(NamedTuple):
    """A field that a family cannot express as the recipe has it."""

    field: str
    wanted: Value
    given: Value


class Choice(NamedTuple):
    """A family, and what it cannot express."""

    family: Family
    misfits: tuple[Misfit, ...]


_families: dict[str, Family] = {}


def families() -> Mapping[str, Family]:
    """Every family by `model_type`."""
    if not _families:
        from ..mappings.families_compiled import FAMILIES

        _families.update({name: Family(*entry) for name, entry in FAMILIES.items()})
    return _families


def family_of(model_type: Value, dialect: str = "static") -> Family | None:
    """Model family that a file names; None if unknown."""
    family = families().get(model_type) if isinstance(model_type, str) else None
    return None if family is None else family.in_dialect(dialect)


def fixed_value(family: Family, field: FieldName, layers: Value) -> Value:
    """Value that a family's code always uses for a field."""
    value = family.fixes[field]
    if value == ALL_EXPERTS:
        return [1] * layers if isinstance(layers, int) and 0 <= layers < 100_000 else None
    return value


def choose(value_of: Callable[[FieldName], Value], dialect: str, version: str, preferred: str | None = None) -> Choice:
    """Family that expresses a recipe, or the nearest one with its misfits; `preferred` if equal."""
    from ..mappings.families_compiled import WEIGHTS

    weights: Mapping[str, int] = WEIGHTS
    best: tuple[tuple[int, bool, bool, int], Choice] | None = None
    for place, known in enumerate(families().values()):
        if not known.trains_in(dialect, version):
            continue
        family = known.in_dialect(dialect)
        misfits = misfits_of(family, value_of)
        cost = sum(weights.get(misfit.field, 1) for misfit in misfits)
        fits = not all(holds(condition, value_of) for condition in family.prefers)
        rank = (cost, family.name != preferred, fits, place)
        if best is None or rank < best[0]:
            best = rank, Choice(family, misfits)
    if best is None:
        raise LookupError(f"no model class trains with the {dialect} graph of MindSpore Transformers {version}")
    return best[1]


def misfits_of(family: Family, value_of: Callable[[FieldName], Value]) -> tuple[Misfit, ...]:
    """The fields a family fixes to something else than the recipe has."""
    found: list[Misfit] = []
    experts = value_of("moe.num_experts") is not None
    for field in family.fixes:
        wanted = value_of(field)
        given = fixed_value(family, field, value_of("model.num_layers"))
        if field == "moe.layer_pattern" and (not experts or given is None or wanted is None):
            continue
        if (wanted or None) != (given or None):
            found.append(Misfit(field, wanted, given))
    found.extend(Misfit(field, None, "required") for field in family.needs if value_of(field) is None)
    return tuple(found)

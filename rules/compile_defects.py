"""Turns the advisories into rules of the catalog, and into the table of conditions that a lint looks at."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..mapper.conditions import COMPARISONS
from ..mapper.recipe.vocabulary import vocabulary
from ..schemas.compilers.tables import literal_module, load_table
from ..schemas.megatron.dialects import dialect_named, dialect_versions
from ..schemas.message import Words
from ..schemas.versions import TITLES, names, versions_in
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..schemas.config import Framework

FOLDER = Path(__file__).resolve().parent / "defects"
VALIDATION = Path(__file__).resolve().parents[1] / "schemas" / "megatron" / "validation.yaml"
FRAMEWORKS: dict[str, Framework] = {"megatron": "megatron", "mindformers": "mindformers", "mindspeed-llm": "megatron"}
"""Whose an advisory is, by its folder: a framework's, or a fork's, which is read as the framework it stands on."""
_NAMES = {**TITLES, "mindspeed-llm": "MindSpeed-LLM"}
_PACKAGES = {"transformer-engine": "Transformer Engine"}


@cache
def defects() -> dict[str, tuple[str, Defect]]:
    """Every advisory with its owner, by code."""
    found: dict[str, tuple[str, Defect]] = {}
    for folder in FRAMEWORKS:
        for path in sorted((FOLDER / folder).glob("*.yaml")):
            if path.stem in found:
                raise ValueError(f"{path}: {found[path.stem][0]} has an advisory of this code")
            found[path.stem] = folder, _read_defect(path)
    return found


def _order(owner: str) -> tuple[str, ...]:
    """The versions of a framework or a fork, oldest first."""
    return dialect_versions(owner) or names(FRAMEWORKS[owner])


def _read_defect(path: Path) -> Defect:
    try:
        return Defect.model_validate(load_table(path.read_text("utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def pages() -> dict[str, dict[str, Any]]:
    """The page of each advisory, in the form of the rules' pages."""
    return {code: _defect_page(owner, defect) for code, (owner, defect) in defects().items()}


def _defect_page(owner: str, defect: Defect) -> dict[str, Any]:
    """Page entry of an advisory: title, effect, remedy, evidence and sources."""
    evidence = defect.evidence
    concerned = _affected_versions(owner, defect)
    what = say.defect_title(title=Words(*defect.title), concerned=concerned).both()
    figures = evidence.figures or ["", ""]
    told = zip((" ", ""), zip(defect.effect, defect.do, figures, strict=True), strict=True)  # Chinese has no blanks
    why = [between.join(filter(None, said)) for between, said in told]
    return {
        "what": what,
        "why": tuple(why),
        "example": {},
        "instead": {},
        "sources": (*defect.sources, *evidence.code, *([evidence.test] if evidence.test else [])),
        "fields": tuple(name for name in dict.fromkeys(_condition_subjects(defect.when)) if name in vocabulary()),
        "evidence": (),
        "fixable": False,
        "options": {},
    }


def _rule(code: str, owner: str, defect: Defect) -> tuple[Any, ...]:
    """The members of a `Rule`."""
    title, effects, remedy = (Words(*texts) for texts in (defect.title, defect.effect, defect.do))
    told = say.defect(title=title, concerned=_affected_versions(owner, defect), effect=effects, remedy=remedy)
    messages = {
        "": told.both(),
        "may": say.defect_may_concern(why=Words("{why}", "{why_zh}"), defect=told).both(),
        "both": say.defect_on_both_sides(defect=told).both(),
    }
    effect = "stops" if defect.quantities == ["stops"] else "numbers" if defect.severity == "error" else ""
    return (
        code,
        defect.name,
        defect.severity,
        FRAMEWORKS[owner],
        messages,
        "defects:advisories",
        ("align", "train"),
        tuple(name for name in dict.fromkeys(_condition_subjects(defect.when)) if name in vocabulary()),
        "advisory",
        "medium" if defect.evidence.kind == "reported" else "high",
        (),
        False,
        effect,
    )


def _affected_versions(owner: str, defect: Defect) -> Words:
    """Text on versions with the defect and the one that fixes it."""
    fixed, package = defect.affected.fixed, defect.affected.package
    until = say.mended_by(fixed=fixed) if fixed else say.not_mended()
    name = f"{_NAMES[owner]} {defect.affected.versions}"
    if package is None:
        return say.versions_concerned(name=name, until=until)
    return say.versions_concerned_with(name=name, package=_package_words(package), until=until)


def _package_words(package: Package) -> Words:
    """The releases of a package that have the defect."""
    name, first, mended = _PACKAGES[package.name], package.at_least, package.below
    if first is None:
        return say.package_below(name=name, mended=mended)
    if mended is None:
        return say.package_from(name=name, first=first)
    return say.package_between(name=name, first=first, mended=mended)


def _condition_subjects(conditions: Iterable[Condition | Alternatives]) -> Iterator[str]:
    """The names that the conditions are about."""
    for condition in conditions:
        if isinstance(condition, Alternatives):
            for every in condition.any:
                yield from _condition_subjects(every)
        else:
            yield condition[0]


def products() -> dict[str, str]:
    """Text of the compiled defects module by file name.

    Of a fork's version, beside each row: whether it has the defect, and whether it and every later one does.
    """
    table: dict[str, dict[str, list[Any]]] = {framework: {} for framework in FRAMEWORKS.values()}
    forks: dict[str, list[Any]] = {}
    listed: dict[str, Any] = {}
    for code, (owner, defect) in defects().items():
        affected, order = defect.affected, _order(owner)
        versions = versions_in(affected.versions, order)
        when = tuple(_compiled_condition(code, owner, row) for row in defect.when)
        place = _place(code, owner, defect.at)
        beside = None if affected.package is None else _package_words(affected.package).both()
        told = (tuple(defect.dialects), when, place, tuple(defect.cancels), beside)
        if owner in table:
            for version in versions:
                table[owner].setdefault(version, []).append((code, affected.patched.get(version, ""), *told))
        else:
            for version, rest in ((version, set(order[at:])) for at, version in enumerate(order)):
                if rest & set(versions):
                    row = ((code, "", *told), version in versions, rest <= set(versions))
                    forks.setdefault(f"{owner}-{version}", []).append(row)
        listed[code] = defect.model_dump(mode="json") | {"framework": owner, "in": versions}
    compiled: dict[str, dict[str, tuple[Any, ...]]] = {
        framework: {key: tuple(rows) for key, rows in found.items()} for framework, found in table.items()
    }
    return {
        "rules/defects_compiled.py": literal_module(
            "When a known defect concerns a file, compiled from defects/*/*.yaml.",
            DEFECTS=compiled,
            EVERYWHERE=_in_every_version(compiled),
            FORKS={name: tuple(rows) for name, rows in forks.items()},
        ),
        "rules/defects_listed_compiled.py": literal_module(
            "The known defects as they are listed and explained, compiled from defects/*/*.yaml.",
            LISTED=listed,
            RULES={code: _rule(code, owner, defect) for code, (owner, defect) in defects().items()},
        ),
    }


def _in_every_version(table: Mapping[str, Mapping[str, tuple[Any, ...]]]) -> dict[str, tuple[str, ...]]:
    """Defects that all versions of a framework have."""
    found: dict[str, tuple[str, ...]] = {}
    for framework, versions in table.items():
        first, *others = ({str(row[0]) for row in rows} for rows in versions.values())
        found[framework] = tuple(sorted(first.intersection(*others)))
    return found


def _compiled_condition(code: str, owner: str, row: Condition | Alternatives) -> tuple[object, ...]:
    """Condition of an advisory in compiled form; ValueError for unknown names."""
    if isinstance(row, Alternatives):
        ways = tuple(tuple(_compiled_condition(code, owner, each) for each in every) for every in row.any)
        return "any", "any", ways
    name, comparison, operand = row
    if comparison not in COMPARISONS:
        raise ValueError(f"{code}: there is no comparison {comparison}")
    compared = tuple(cast("list[object]", operand)) if isinstance(operand, list) else operand
    return (*_place(code, owner, name), comparison, compared)


def _place(code: str, owner: str, name: str) -> tuple[str, str]:
    """Kind and key of a condition's name; ValueError if it is unknown."""
    if name in vocabulary():
        return "field", name
    if name.isupper():
        return "environment", name
    if name not in _own_keys(owner):
        raise ValueError(f"{code}: {name} is no recipe field and no key of {owner}")
    return "key", name


@cache
def _own_keys(owner: str) -> frozenset[str]:
    return _paths() if owner == "mindformers" else _arguments() | _of_fork(owner)


def _of_fork(owner: str) -> frozenset[str]:
    """Arguments that a fork adds in any version."""
    known = (dialect_named(f"{owner}-{version}") for version in dialect_versions(owner))
    return frozenset(dest for one in known if one is not None for dest in one.own)


def _arguments() -> frozenset[str]:
    """Megatron-LM's arguments with those that validation sets."""
    from ..schemas.megatron.catalog import catalog

    given = {fact.dest for version in names("megatron") for fact in catalog(version).arguments}
    settled: list[dict[str, Any]] = load_table(VALIDATION.read_text("utf-8"))
    return frozenset(given | {row["set"] for part in settled for row in part["rows"] if "set" in row})


def _paths() -> frozenset[str]:
    """The keys of a YAML of MindSpore Transformers."""
    from ..mappings.tables import table
    from ..schemas.mindformers.versions import STATIC_VERSIONS, static_catalog

    found: set[str] = set()
    for version in STATIC_VERSIONS:
        known = static_catalog(version)
        sections = known["sections"]
        found.update(f"model.model_config.{key}" for part in ("meant", "transformer") for key in known[part])
        found.update(f"{section}.{key}" for section, facts in sections.items() for key in facts["defaults"])
    for row in table().rows:
        for dialect in ("static", "dynamic"):
            for version in names("mindformers"):
                side = row.side(dialect, version)
                found.update(side.keys if side is not None else ())
    return frozenset(found)


Both = Annotated[list[str], Field(min_length=2, max_length=2)]
"""A sentence in English and in Chinese."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Condition = tuple[str, str, Any]
"""A recipe field, a key of the framework's own or an environment variable; a comparison; what it is compared with."""


class Alternatives(_Strict):
    """Sets of conditions, one of which holds."""

    any: list[list[Condition]] = Field(min_length=2)


class Package(_Strict):
    """A package whose version decides beside the framework's, and which no configuration names."""

    name: Literal["transformer-engine"]
    at_least: str | None = Field(default=None, pattern=r"^\d+\.\d+(\.\d+)?$")
    """The first release that has the defect; None where every older one that was read has it."""
    below: str | None = Field(default=None, pattern=r"^\d+\.\d+(\.\d+)?$")
    """The first one that was mended; None where the newest that was read still has it."""

    @model_validator(mode="after")
    def _is_bounded(self) -> Package:
        if self.at_least is None and self.below is None:
            raise ValueError("a package that decides has a first or a mended release")
        return self


class Affected(_Strict):
    """The versions that have the defect: the sets name releases by their first two numbers, as every table does."""

    versions: str
    patched: dict[str, str] = {}
    """Of those, the ones that a later patch release mended, and which: a file that names `0.15` alone gets `may`."""
    package: Package | None = None
    """What has to be installed beside it: a file alone gets `may`, an installation is asked."""
    first: str
    """Since when: the oldest tag or the commit that was read with it."""
    fixed: str | None
    """By which change and tag; None where the newest version that was read still has it."""


class Evidence(_Strict):
    """The evidence of an advisory."""

    kind: Literal["measured", "read", "reported"]
    code: list[str] = Field(min_length=1)
    """`version file:function`, of an affected and of a mended version where there is one."""
    figures: Both | None = None
    test: str | None = None
    """The marked test that repeats a measurement."""

    @model_validator(mode="after")
    def _require_repetition(self) -> Evidence:
        if self.kind == "measured" and (self.test is None or self.figures is None):
            raise ValueError("what was measured names its figures and the test that repeats it")
        return self


class Defect(_Strict):
    """One known defect of one framework."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)+$")
    title: Both
    """One sentence: what the framework does and should not."""
    affected: Affected
    dialects: list[Literal["static", "dynamic", "legacy"]] = []
    """Of MindSpore Transformers: the dialects that have it; all of them where none is named."""
    when: list[Condition | Alternatives] = Field(min_length=1)
    """All of which hold."""
    at: str
    """The recipe field or key that a finding points at."""
    quantities: list[Literal["loss", "gradient", "learning rate", "weights", "data", "logged", "stops"]] = Field(
        min_length=1
    )
    """What is off, for those who look at a run."""
    effect: Both
    """Which number is off, in which direction and by how much, and which step shows it."""
    severity: Literal["error", "warning", "info"]
    do: Both
    """The setting, the version or the lines that mend it."""
    cancels: list[str] = []
    """Defects of the other framework that make the same mistake: with both, the two runs agree."""
    sources: list[str] = Field(min_length=1)
    evidence: Evidence

    @model_validator(mode="after")
    def _reports_warn_at_most(self) -> Defect:
        if self.evidence.kind == "reported" and self.severity == "error":
            raise ValueError("what is only reported is a warning at most")
        return self

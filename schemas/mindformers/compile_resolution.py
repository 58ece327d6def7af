"""Makes the compiled rows of `resolution.yaml`, each expression a small function.

A version has three modules: the rows of the static graph, those of the dynamic one, and what the rows say when
something does not hold, which is seldom asked for.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..compilers.messages import message_names
from ..compilers.rows import LINE, Names, TableError, definitions, plain, read_table
from ..fast_records import NamedTuple
from ..plain_values import is_mapping
from ..versions import names, versions_in
from . import resolution_functions
from .fact_base import dynamic_facts, static_facts, versions
from .resolution import STAGES, module_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "resolution.yaml")
FILE = "schemas/mindformers/resolution.yaml"
LEGACY = os.path.join(HERE, "legacy_classes.yaml")
DEFINITIONS = "resolution_definitions_compiled"
FUNCTIONS = tuple(
    name for name in dir(resolution_functions) if name[0] != "_" and name not in ("annotations", "TYPE_CHECKING")
)
VERSIONS = names("mindformers")
WRITING = ("set", "let", "reset")
BUILDING = ("choose", "fill", "record", "complete")
REPORTING = ("report", "report_missing")
COMPUTED = (*WRITING, *REPORTING, "choose", "report_ignored")
SAYING = ("require", "expect")
NAMING = (*COMPUTED, *BUILDING, "drop")
ACTIONS = tuple(dict.fromkeys((*NAMING, *SAYING, "do")))
MEMBERS = {*ACTIONS, "to", "when", "because", "at", "en", "zh", "each", "versions", LINE}
OF_A_SECTION = {"section", "of", "source", "fields", "when", "versions", "each", "rows", LINE}
CONTEXT = ("has", "is_written", "is_decided", "now", "get", "path", "file_value", "has_problem")
"""What the run itself answers; their first argument is a name."""
BUILTINS = ("bool", "dict", "float", "int", "isinstance", "len", "list", "map", "max", "min", "repr", "sorted", "str")
IN_DEFINITIONS = (*BUILTINS, "all", "any", "range", "zip")
MODEL, ATTRIBUTES, TRANSFORMER, TRAINER = "model", "attributes", "transformer", "trainer"
CHECKS, DYNAMIC = "dynamic checks", "dynamic"
NETWORK = (ATTRIBUTES, TRANSFORMER)
"""Stages whose own names, in a run, stand behind the stage's; to write one is to let it stand for the rows below."""
CONDITION = "__condition__"
_NOTHING = "'', ''"
"""What a row without words says."""
GIVEN = ("handed.", "attributes.")
"""What the model's configuration is given: behind these stands one of its keys."""


class Row(NamedTuple):
    """One row as authored, of one of its names."""

    stage: str
    section: int
    raw: dict[str, Any]
    action: str
    target: str
    to: str
    when: str
    versions: tuple[str, ...]
    source: str


def read_rows(source: str = SOURCE) -> tuple[list[dict[str, Any]], list[Row]]:
    """Sections and rows of the table in order; TableError for a malformed one."""
    sections: list[dict[str, Any]] = read_table(source)
    found: list[Row] = []
    for number, section in enumerate(sections):
        if not section.keys().isdisjoint(("names", "constants", "definitions")):
            continue
        odd = set(section) - OF_A_SECTION
        if odd or ".py:" not in str(section.get("source")):
            raise TableError(FILE, section, f"a section has no {odd}" if odd else "the section names no source")
        for name in section.get("each", ("",)):
            every: list[dict[str, Any]] = [{**raw, "each": [name]} if name else raw for raw in section["rows"]]
            found += [_resolution_row(one, section, number) for raw in every for one in _each(raw)]
    return sections, found


def definition_sources(sections: list[dict[str, Any]]) -> dict[str, str]:
    """The sources of the table's constants and definitions, and of those of the older classes, by name."""
    found: dict[str, str] = {}
    older: dict[str, Any] = {"definitions": read_table(LEGACY)["definitions"], "source": LEGACY}
    for section in (*sections, older):
        for name, value in plain(section.get("constants", {})).items():
            found[name] = f"{name} = {value!r}"
        try:
            found.update(definitions(section.get("definitions", {}), (*FUNCTIONS, *IN_DEFINITIONS, *found)))
        except (ValueError, SyntaxError) as error:
            raise TableError(FILE, section, str(error)) from error
    return found


@cache
def callable_names() -> frozenset[str]:
    """Functions and constants that table expressions may use."""
    return frozenset((*FUNCTIONS, *definition_sources(read_table(SOURCE))))


def definitions_text(texts: dict[str, str]) -> str:
    """The source of the module of what the expressions call."""
    return "\n".join(
        [
            '"""What the expressions of resolution.yaml call; compiled from its definitions, do not edit."""',
            "",
            f"from .resolution_functions import {', '.join(FUNCTIONS)}",
            "",
            *texts.values(),
            "",
        ]
    )


def _each(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """Row repeated for each name that it lists."""
    named: Any = raw.get("each")
    if named is None:
        return [raw]
    pairs: dict[str, Any] = {name: named[name] if is_mapping(named) else "" for name in named if name != LINE}
    return [
        {
            key: value.replace("$each", name).replace("$value", str(given)) if isinstance(value, str) else value
            for key, value in _with_names(raw, name).items()
            if key != "each"
        }
        for name, given in pairs.items()
    ]


def _with_names(raw: dict[str, Any], name: str) -> dict[str, Any]:
    because = raw.get("because")
    return raw if because is None else {**raw, "because": [one.replace("$each", name) for one in because]}


def _message_members(action: str, stage: str) -> set[str]:
    """Required members of a row that reports something."""
    if action in SAYING:
        return {"en", "zh"} if stage == CHECKS else {"at", "en", "zh"}
    if action in REPORTING:
        return {"because" if action == "report" and stage == DYNAMIC else "at"}
    return set()


def _resolution_row(raw: dict[str, Any], section: dict[str, Any], number: int) -> Row:
    """Row record of a table entry; TableError if malformed."""
    actions = [action for action in ACTIONS if action in raw]
    if len(actions) != 1 or set(raw) - MEMBERS or ("to" in raw) != (actions[0] in COMPUTED):
        raise TableError(FILE, raw, f"this is no row: {sorted(set(raw) - {LINE})}")
    action = actions[0]
    missing = _message_members(action, section["of"]) - set(raw)
    if missing:
        raise TableError(FILE, raw, f"a row of this kind says where to look, and why: {', '.join(sorted(missing))}")
    target = raw[action] if action in NAMING else ""
    to = str(raw[action] if action in SAYING else raw.get("to", ""))
    try:
        within = set(versions_in(str(section.get("versions", "-")), VERSIONS))
        versions = tuple(one for one in versions_in(str(raw.get("versions", "-")), VERSIONS) if one in within)
    except ValueError as error:
        raise TableError(FILE, raw, str(error)) from error
    return Row(section["of"], number, raw, action, target, to, str(raw.get("when", "")), versions, section["source"])


class Compiler:
    """The rows as source text; a name must be one of a version that the row holds for."""

    def __init__(self, sections: list[dict[str, Any]]) -> None:
        self.lets: dict[str, set[str]] = {stage: set() for stage in chain(*STAGES.values())}
        self.known: dict[str, dict[str, frozenset[str]]] = {stage: {} for stage in self.lets}
        self.problems = message_names("schemas/mindformers", "problems")
        self.words = message_names("schemas/mindformers", "words")
        self.functions = (*FUNCTIONS, *definition_sources(sections))
        self.parts: set[str] = set()
        self.keys: set[str] = set()
        """Every key of a model's configuration that some class converts."""
        for section in sections:
            for stage in section["of"] if "names" in section else ():
                self.lets[stage].update(section["names"])
        for version in versions("static"):
            facts = static_facts(version)
            self.known[TRANSFORMER][version] = _keys_of_stage(
                TRANSFORMER, (*facts["transformer"], *facts["mla_transformer"])
            )
            own = (one["signature"] for one in facts["classes"].values() if not one["legacy"])
            self.known[ATTRIBUTES][version] = _keys_of_stage(ATTRIBUTES, chain(*own))
            self.known[TRAINER][version] = frozenset(_static_paths(facts))
            for one in facts["converters"].values():
                self.keys.update(*(one[name] for name in ("same", "mla_same", "rules", "mla_rules")))
        for version in versions("dynamic"):
            classes = dynamic_facts(version)["classes"]
            self.known[CHECKS][version] = frozenset(_dynamic_paths(classes, "TrainConfig", ""))
        self.known[DYNAMIC] = self.known[CHECKS]

    def names(self, row: Row) -> Names:
        """The names that the row may call and read."""
        own = self.known[row.stage]
        known = self.lets[row.stage].union(*(own.get(version, ()) for version in row.versions))

        def place(name: str) -> str | None:
            return next((key for key in (_key(row.stage, name), name) if key in known), None)

        return Names(self.functions, CONTEXT, BUILTINS, place, naming=CONTEXT[:-1])

    def text(self, number: int, row: Row, section: dict[str, Any]) -> tuple[str, str]:
        """Source text of a row, and its message, which is looked up by number."""
        try:
            known = self.names(row)
            text = self._text(number, row, known)
            said = [known.message(row.raw.get(name, "")) for name in ("en", "zh")]
            if section.get("when"):
                section[CONDITION] = known.compile(section["when"])
            for name in section.get("fields", ()):
                known.resolve(name)
        except ValueError as error:
            raise TableError(FILE, row.raw, str(error)) from error
        return text, ", ".join(said)

    def _text(self, number: int, row: Row, known: Names) -> str:
        """Source text of a row after checks of its target, messages and reasons."""
        self._check_target(row, known)
        strange = set(re.findall(r"\b(?:message|raise_expected)\('(\w+)'", row.to)) - self.words
        strange |= set(re.findall(r"\bhas_problem\('(\w+)'", row.when)) - self.problems
        if strange:
            raise ValueError(f"no text is called {strange.pop()}")
        because: tuple[str, ...] = ()
        value = "None"
        if row.action == "do":
            value = _program(row.raw["do"])
        elif row.to:
            value = known.compile(row.to)
            read = known.read(row.to) if row.action in WRITING or row.stage == CHECKS else ()
            because = tuple(_place(name, known) for name in row.raw.get("because", read))
        action, target = _action_and_target(row, known)
        if row.stage == TRANSFORMER and row.action == "set":
            because = tuple(dict.fromkeys((target, *because)))
        at = known.resolve(row.raw["at"])[0] if "at" in row.raw else ""
        condition = known.compile(row.when) if row.when else "None"
        return f"R(({action!r}, {target!r}, {value}, {condition}, M(({because!r}, {at!r}, {number}))))"

    def _check_local(self, row: Row, known: Names) -> None:
        """ValueError for a local name that is already used."""
        target = row.target
        if known.is_function(target):
            raise ValueError(f"{target} is a function")
        if target not in self.lets[row.stage] and any(
            _key(row.stage, target) in one for one in self.known[row.stage].values()
        ):
            raise ValueError(f"{target} is a name of the file's")
        self.lets[row.stage].add(target)

    def _check_part(self, row: Row) -> None:
        """ValueError for a part that no row above chooses."""
        if row.action == "choose":
            self.parts.add(row.target)
        elif row.target not in self.parts:
            raise ValueError(f"no row above chooses {row.target}")

    def _check_target(self, row: Row, known: Names) -> None:
        """ValueError for an unknown target."""
        target = row.target
        prefix, _, key = target.partition(".")
        if row.action in REPORTING:
            if target not in self.problems:
                raise ValueError(f"no problem is called {target}")
        elif row.action in BUILDING:
            self._check_part(row)
        elif f"{prefix}." in GIVEN:
            if key not in self.keys:
                raise ValueError(f"no model's configuration has the key {key}")
        elif row.action == "let" and not key:
            self._check_local(row, known)
        elif target and not (row.action == "set" and prefix == "resolved"):
            known.resolve(target)


def _program(name: str) -> str:
    """Source text for a function named in a row; functions of other modules are loaded on use."""
    module, _, function = name.rpartition(".")
    home = import_module(f".{module}", __package__) if module else resolution_functions
    if not hasattr(home, function):
        raise ValueError(f"there is no function {name}")
    return f"f.program({module!r}, {function!r})" if module else f"f.{function}"


def _key(stage: str, name: str) -> str:
    """Run's key for a name local to a stage."""
    return f"{stage}.{name}" if stage in NETWORK else name


def _keys_of_stage(stage: str, names: Iterable[str]) -> frozenset[str]:
    return frozenset(_key(stage, name) for name in names)


def _action_and_target(row: Row, known: Names) -> tuple[str, str]:
    """Action and target of a row as the run stores them."""
    if row.stage in NETWORK and row.action in ("set", "drop"):
        return "let" if row.action == "set" else row.action, known.resolve(row.target)[0]
    return row.action, row.target


def _place(name: str, known: Names) -> str:
    """Key path of a name that decides a value."""
    return f"={known.resolve(name[1:-1])[0]}" if name[0] == "'" else known.resolve(name)[0]


def _static_paths(facts: dict[str, Any]) -> Iterator[str]:
    """The paths of a static-graph YAML that the template of a version fills in or reads."""
    for name, section in facts["sections"].items():
        yield name
        yield from (key if name == "general_config" else f"{name}.{key}" for key in section["defaults"])
    yield from facts["read_without_template"].split()


def _dynamic_paths(classes: dict[str, Any], name: str, prefix: str) -> Iterator[str]:
    """The paths of a dynamic-graph YAML, as the classes nest."""
    for key, field in classes[name]["fields"].items():
        yield f"{prefix}{key}"
        kind = str(field["type"]).removesuffix(" | None")
        if kind in classes:
            yield from _dynamic_paths(classes, kind, f"{prefix}{key}.")


def module_text(version: str, graph: str, sections: list[dict[str, Any]], texts: list[tuple[Row, str]]) -> str:
    """The source of the compiled module of one version and graph."""
    lines = [
        f'"""What MindSpore Transformers {version} makes of a YAML; compiled from resolution.yaml, do not edit."""',
        "",
        "from ..rows import Row",
        f"from . import {DEFINITIONS} as f",
        "from .resolution import More, Section",
        "",
        "R, M, S = Row._make, More._make, Section._make",
        "STAGES = {",
    ]
    for stage in STAGES[graph]:
        lines.append(f"    {stage!r}: (")
        for number, section in enumerate(sections):
            rows = [text for row, text in texts if row.section == number and version in row.versions]
            if rows and section["of"] == stage:
                fields = tuple(_key(stage, name) for name in section.get("fields", ()))
                lines += [f"        S(({fields!r}, {section.get(CONDITION)}, ("]
                lines += [*(f"            {row}," for row in rows), "        ))),"]
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def _words_text(version: str, rows: list[Row], words: list[str]) -> str:
    """Source text of a version's row messages by number, in both languages."""
    listed = [
        f"    {number}: ({said}),"
        for number, (row, said) in enumerate(zip(rows, words, strict=True))
        if said != _NOTHING and version in row.versions
    ]
    return "\n".join(
        [
            f'"""What the rows of MindSpore Transformers {version} say; compiled from resolution.yaml, do not edit."""',
            "",
            f"from . import {DEFINITIONS} as f",
            "",
            "WORDS = {",
            *listed,
            "}",
            "",
        ]
    )


def products(source: str = SOURCE) -> dict[str, str]:
    """The compiled module of every version."""
    sections, rows = read_rows(source)
    compiler = Compiler(sections)
    said = [compiler.text(number, row, sections[row.section]) for number, row in enumerate(rows)]
    texts = [(row, text) for row, (text, _) in zip(rows, said, strict=True)]
    words = [words for _, words in said]
    made = {f"schemas/mindformers/{DEFINITIONS}.py": definitions_text(definition_sources(sections))}
    for version in VERSIONS:
        for graph in STAGES:
            made[_module_path(version, graph)] = module_text(version, graph, sections, texts)
        made[_module_path(version, "words")] = _words_text(version, rows, words)
    return made


def _module_path(version: str, what: str) -> str:
    return f"schemas/mindformers/{module_name(version, what)}.py"

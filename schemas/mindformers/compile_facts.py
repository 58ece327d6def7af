"""Makes the modules of facts: one a version of `facts.yaml` and `judged.yaml`, and the legacy classes.

`legacy_classes.yaml` holds fields as expressions; each becomes a small function of the values that it names.
"""

from __future__ import annotations

from pathlib import Path
from pprint import pformat
from typing import TYPE_CHECKING, Any

from ..compilers.rows import LINE, Names, TableError, plain, read_table
from ..compilers.tables import literal_module, load_table
from ..plain_values import is_mapping
from ..versions import default_name, names_with_facts, versions_in
from .compile_resolution import DEFINITIONS, VERSIONS, callable_names
from .fact_base import dynamic_facts, static_facts, versions

if TYPE_CHECKING:
    from typing import Literal


MODEL_TYPE = ("model", "model_config", "model_type")
MEANINGS = Path(__file__).with_name("meanings.yaml")
FACTS = {"static": static_facts, "dynamic": dynamic_facts}
LEGACY_CLASSES = str(Path(__file__).with_name("legacy_classes.yaml"))
FILE = "schemas/mindformers/legacy_classes.yaml"
BUILTINS = ("bool", "int", "max", "min")
EXPERTS = "moe"
"""`moe.expert_num` is the key of the section moe_config."""
MEMBERS = {
    "name", "config", "models", "versions", "registers", "written_with", "sources", "reads", "unread", "arguments",
    "refuses", "fields", LINE,
}  # fmt: skip


def facts_module(graph: Literal["static", "dynamic"], version: str) -> str:
    """The text of the compiled module of one version."""
    lines = [
        f'"""Facts of MindSpore Transformers {version}, {graph} graph: compiled from facts.yaml and judged.yaml."""'
    ]
    lines += ["", "CATALOG = {"]
    for section, content in FACTS[graph](version).items():
        if is_mapping(content):
            entries: dict[str, Any] = content
            lines.append(f"    {section!r}: {{")
            lines += [f"        {key!r}: {value!r}," for key, value in entries.items()]
            lines.append("    },")
        else:
            lines.append(f"    {section!r}: {content!r},")
    return "\n".join([*lines, "}", ""])


def _known_paths(facts: dict[str, Any]) -> set[tuple[str, ...]]:
    """Key paths that a version's static graph knows, with class names behind them."""
    sections: dict[str, Any] = facts["sections"]
    general = sections["general_config"]["defaults"]
    mappings = {name: one["defaults"] for name, one in sections.items() if is_mapping(one["defaults"])}
    inner: set[tuple[str, ...]] = {
        (name, key) for name, keys in mappings.items() if name != "general_config" for key in keys
    }
    classes: set[tuple[str, ...]] = {(*MODEL_TYPE, name) for name in facts["names"] if not name.startswith("mcore_")}
    return inner | classes | {(name,) for name in (*general, *sections)}


def only_in() -> tuple[tuple[tuple[str, ...], tuple[str, ...] | None, str], ...]:
    """Key paths, some with values, that the default version lacks, with the newest version that has them."""
    known = _known_paths(static_facts(default_name("mindformers", "static")))
    found: list[tuple[tuple[str, ...], tuple[str, ...] | None, str]] = []
    for version in reversed(names_with_facts("mindformers", "static")):
        new = _known_paths(static_facts(version)) - known
        known |= new
        types = tuple(sorted(path[-1] for path in new if path[:-1] == MODEL_TYPE))
        found += [(MODEL_TYPE, types, version)] if types else []
        found += [(path, None, version) for path in sorted(new) if path[:-1] != MODEL_TYPE]
    return tuple(found)


def read_classes() -> list[dict[str, Any]]:
    """All classes in the table; ValueError for a malformed one."""
    table = read_table(LEGACY_CLASSES)
    classes: list[dict[str, Any]] = table["classes"]
    for one in classes:
        one["reads"] = [*table.get("reads", ()), *one.get("reads", ())]
        if set(one) - MEMBERS or not one["sources"]:
            raise TableError(FILE, one, f"{one.get('name')}: {sorted(set(one) - MEMBERS)}")
    return classes


def names_of(one: dict[str, Any]) -> Names:
    """Names that expressions of a class may read."""
    known = {*one.get("arguments", ()), "hidden_size"}
    experts: set[str] = set()
    for version in versions("static"):
        facts = static_facts(version)
        known.update(facts["classes"].get(one["config"], {}).get("signature", ()))
        experts.update(facts["sections"]["moe_config"]["defaults"])

    def place(name: str) -> str | None:
        section, dot, key = name.partition(".")
        if dot:
            return f"moe_config.{key}" if section == EXPERTS and key in experts else None
        return name if name in known else None

    return Names(callable_names(), (), BUILTINS, place)


def _class_condition(one: dict[str, Any]) -> str:
    """The source of the condition under which a model section names a class."""
    registers = one.get("registers")
    parts = [
        f"given.get('type') == {one['config']!r}",
        f"version in {tuple(versions_in(str(one['versions']), VERSIONS))!r}",
        f"(model is None or model in {tuple(one['models'])!r})",
        f"given.get('auto_register', {registers!r}) in ({registers!r}, None)",
    ]
    if one.get("written_with"):
        parts.append(f"not given.keys().isdisjoint({tuple(one['written_with'])!r})")
    return " and ".join(parts)


def _legacy_classes() -> str:
    """Source text of the module with the older model classes."""
    lines = [
        '"""The older model classes; compiled from legacy_classes.yaml, do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "from ..rows import Row",
        f"from . import {DEFINITIONS} as f",
        "from .legacy import LegacyClass",
        "",
        "C, R = LegacyClass._make, Row._make",
        "CLASSES = (",
    ]
    for one in read_classes():
        lines += _class_lines(one)
    return "\n".join([*lines, ")", ""])


def _class_lines(one: dict[str, Any]) -> list[str]:
    try:
        return _unchecked_class_lines(one)
    except ValueError as error:
        raise TableError(FILE, one, f"{one['name']}: {error}") from error


def _unchecked_class_lines(one: dict[str, Any]) -> list[str]:
    """Source lines of one older class: condition, fields and refusals."""
    fields: dict[str, str] = {}
    for part in plain(one["fields"]):
        fields.update({name: str(expression) for name, expression in part.items()})
    refuses: list[dict[str, str]] = plain(one.get("refuses", []))
    known = names_of(one)
    texts = [*fields.values(), *(refused["when"] for refused in refuses)]
    unread = sorted({*one.get("unread", ()), *(name for text in texts for name in known.read(text))})
    lines = [
        "    C((",
        f"        lambda version, given, model: {_class_condition(one)},",
        f"        {one['config']!r},",
        f"        frozenset({pformat(sorted(one['reads']), width=160, compact=True)}),",
        f"        frozenset({pformat(unread, width=160, compact=True)}),",
        f"        {pformat(plain(one.get('arguments')), width=160, compact=True, sort_dicts=False)},",
        "        (",
    ]
    for refused in refuses:
        words = f"({refused['en']!r}, {refused['zh']!r})"
        holds = known.compile(f"not ({refused['when']})")
        lines.append(f"            R(('require', {refused['key']!r}, {holds}, None, {words})),")
    for name, expression in fields.items():
        lines.append(f"            R(('set', {name!r}, {known.compile(expression)}, None, ())),")
    return [*lines, "        ),", "    )),"]


def products() -> dict[str, str]:
    """The compiled modules: the facts of each version, the keys of one version alone, and the legacy classes."""
    graphs: tuple[Literal["static", "dynamic"], ...] = ("static", "dynamic")
    about = "Keys that one version of MindSpore Transformers knows and the usual one does not: made from facts.yaml."
    meanings = load_table(MEANINGS.read_text("utf-8"))
    said = "What keys mean, for the typed models; compiled from meanings.yaml."
    return {
        "schemas/mindformers/legacy_classes_compiled.py": _legacy_classes(),
        "schemas/mindformers/only_in_compiled.py": literal_module(about, ONLY_IN=only_in()),
        "schemas/mindformers/meanings_compiled.py": literal_module(said, MEANINGS=meanings),
    } | {
        f"schemas/mindformers/{graph}_{version.replace('.', '_')}_compiled.py": facts_module(graph, version)
        for graph in graphs
        for version in names_with_facts("mindformers", graph)
    }

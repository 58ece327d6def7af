"""The facts of every version in one file: what all versions share stands once, what differs names its versions.

`facts.yaml` is a tree. A key that ends in ` @1.7-1.9` counts in those versions only; a key without it counts in every
version in which what holds it counts. A set of words (`$words`) holds its members by the versions that have them;
`$after` says of versions that have the keys in another order which of them come after which.
`facts_of` gives the tree of one version, `merged` makes one tree of all, and the one is the other's inverse.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..compilers.tables import load_table
from ..plain_values import TESTS, TRUTH, is_list, is_mapping
from ..versions import text_of, versions_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SOURCE = Path(__file__).with_name("facts.yaml")
_WORDS = "$words"
_AFTER = "$after"
_ALL = "all"


def read_facts(path: Path = SOURCE) -> dict[str, Any]:
    """The whole file: `versions` by dialect, and a tree a dialect."""
    return load_table(path.read_text("utf-8"))


def facts_of(tree: Any, version: str, versions: Sequence[str]) -> Any:
    """Facts of one version in a merged tree."""
    if not is_mapping(tree):
        return tree
    if _WORDS in tree:
        return _words_of(tree[_WORDS], version, versions)
    found: dict[Any, Any] = {}
    for key, value in tree.items():
        name, held = _split_key(key, versions)
        if version in held:
            found[name] = facts_of(value, version, versions)
    after: dict[str, str] = found.pop(_AFTER, {})
    return {name: found[name] for name in _apply_moves(list(found), after)} if after else found


def merge_versions(trees: Mapping[str, Any], versions: Sequence[str]) -> Any:
    """One tree of the trees of several versions."""
    asked = [version for version in versions if version in trees]
    values = [trees[version] for version in asked]
    if all(is_mapping(value) for value in values):
        return _merge_mappings({version: trees[version] for version in asked}, versions)
    if len(asked) > 1 and all(_is_set(value) for value in values) and any(value != values[0] for value in values):
        return {_WORDS: _merge_words({version: trees[version] for version in asked}, versions)}
    return values[0]


def _merge_mappings(trees: dict[str, dict[Any, Any]], versions: Sequence[str]) -> dict[Any, Any]:
    """Mapping with each key marked by the versions that have it."""
    found: dict[Any, Any] = {}
    for name in _in_order([list(tree) for tree in trees.values()]):
        holding = {version: tree[name] for version, tree in trees.items() if name in tree}
        for group in _equal_groups(holding):
            together = {version: holding[version] for version in group}
            found[_versioned_name(name, group, list(trees), versions)] = merge_versions(together, versions)
    return {**found, **_other_orders(found, trees, versions)}


def _other_orders(
    found: dict[Any, Any], trees: dict[str, dict[Any, Any]], versions: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Changes of order in versions that deviate."""
    orders: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for version, tree in trees.items():
        usual = list(facts_of(found, version, versions))
        if usual != list(tree):
            orders.setdefault(tuple(_moves(usual, list(tree)).items()), []).append(version)
    return {f"{_AFTER} @{text_of(held, versions)}": dict(moves) for moves, held in orders.items()}


def _moves(usual: list[str], order: list[str]) -> dict[str, str]:
    """Entries out of the usual order, by the name they follow."""
    moves: dict[str, str] = {}
    name, end = "", 0
    for block in SequenceMatcher(None, usual, order, autojunk=False).get_matching_blocks():
        if block.b > end:
            moves[name] = " ".join(order[end : block.b])
        if block.size:
            end = block.b + block.size
            name = order[end - 1]
    return moves


def _apply_moves(names: list[str], after: Mapping[str, str]) -> list[str]:
    """Names reordered by such changes."""
    moved = {name for these in after.values() for name in these.split()}
    found: list[str] = []
    for name in ("", *names):
        if name not in moved:
            found += (name, *after.get(name, "").split())
    return found[1:]


def _equal_groups(values: dict[str, Any]) -> list[list[str]]:
    """Versions grouped by equal values."""
    if all(is_mapping(value) for value in values.values()) or all(_is_set(value) for value in values.values()):
        return [list(values)]
    groups: list[list[str]] = []
    for version, value in values.items():
        for group in groups:
            if repr(values[group[0]]) == repr(value):  # True is not 1, and 1 is not 1.0
                group.append(version)
                break
        else:
            groups.append([version])
    return groups


def _is_set(value: Any) -> bool:
    """True for a list of plain words, which can be stored as a group."""
    if not is_list(value) or len(value) < 4:
        return False
    words = [word for word in value if isinstance(word, str) and word and not any(one.isspace() for one in word)]
    return len(set(words)) == len(value)


def _merge_words(lists: dict[str, list[str]], versions: Sequence[str]) -> dict[str, str]:
    """Word lists of several versions as groups marked by version."""
    groups: dict[str, list[str]] = {}
    order = _in_order(list(lists.values()))
    for word in order:
        held = [version for version, words in lists.items() if word in words]
        name = _ALL if len(held) == len(lists) else "@" + text_of(held, versions)
        groups.setdefault(name, []).append(word)
    found = {name: " ".join(words) for name, words in groups.items()}
    for version, words in lists.items():
        if _words_of(found, version, versions) != words:
            found[f"order @{text_of([version], versions)}"] = " ".join(words)
    return found


def _words_of(groups: Mapping[str, str], version: str, versions: Sequence[str]) -> list[str]:
    """Word list of one version in such groups."""
    found: list[str] = []
    for name, words in groups.items():
        if name.startswith("order @"):
            if version in versions_in(name[len("order @") :], versions):
                return words.split()
        elif name == _ALL or version in versions_in(name[1:], versions):
            found += words.split()
    return sorted(found)


def _in_order(lists: list[list[Any]]) -> list[Any]:
    """All entries once, in an order consistent with the lists."""
    found: list[Any] = []
    for entries in reversed(lists):
        at = 0
        for entry in entries:
            if entry in found:
                at = found.index(entry) + 1
            else:
                found.insert(at, entry)
                at += 1
    return found


def _versioned_name(name: Any, held: list[str], around: list[str], versions: Sequence[str]) -> Any:
    return name if held == around else f"{name} @{text_of(held, versions)}"


def _split_key(key: Any, versions: Sequence[str]) -> tuple[Any, Sequence[str]]:
    if isinstance(key, str):
        name, mark, text = key.rpartition(" @")
        if mark:
            return name, versions_in(text, versions)
    return key, versions


# --- writing ---------------------------------------------------------------------------------------------------------


class _Writer(yaml.SafeDumper):
    """Block mappings, flow lists, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's
        return True

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:  # noqa: ARG002
        return super().represent_sequence(tag, sequence, flow_style=True)


def fact_file_text(head: str, content: Any) -> str:
    """The text of a fact file under its heading."""
    text = yaml.dump(content, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=110)
    lines = (f"{line[: (len(line) - len(line.lstrip(' '))) // 2]}{line.lstrip(' ')}" for line in text.splitlines())
    return head + "\n".join(lines) + "\n"


JUDGED = Path(__file__).with_name("judged.yaml")
SWITCHES = Path(__file__).with_name("switches.yaml")


@lru_cache(maxsize=1)
def _stored_facts() -> dict[str, Any]:
    return read_facts(SOURCE)


@lru_cache(maxsize=1)
def _stored_judgements() -> dict[str, Any]:
    return read_facts(JUDGED)


def versions(dialect: str) -> list[str]:
    """Versions for which the fact file has a dialect, oldest first."""
    return list(_stored_facts()[dialect]["versions"])


def static_facts(version: str) -> dict[str, Any]:
    """The catalog of a version's static graph."""
    content = _stored_facts()["static"]
    facts = facts_of(content["facts"], version, content["versions"])
    judged = facts_of(_stored_judgements()["static"], version, content["versions"])
    latent = {**facts["transformer"], **facts["mla_transformer"]}
    converters = {
        name: _converter_targets(one, facts["transformer"], latent) for name, one in sorted(facts["converters"].items())
    }
    found: dict[str, Any] = {
        "version": version,
        "source": facts["source"],
        "sections": facts["sections"],
        "order": facts["order"],
        "run_modes": facts["run_modes"],
        "classes": {**facts["classes"], **judged["classes"]},
        "names": {**facts["names"], **{name: name for name in judged["classes"]}},
        "models": dict(sorted(facts["models"].items(), key=lambda one: (not one[1]["legacy"], one[0]))),
        "white": facts["white"],
        "converters": converters or {"common": _converter_targets(facts["common"], facts["transformer"], latent)},
        "meant": {**_meanings(facts["common"]["rules"]), **judged["guide_names"]},
        "transformer": facts["transformer"],
        "mla_transformer": facts["mla_transformer"],
        "registry": facts["registry"],
        "types": _kinds_by_name(facts["types"], judged["types"]),
        **_switches("static", version, content["versions"]),
        "section_types": {name: kind for kind, names in judged["section_types"].items() for name in names},
        "read_without_template": " ".join(judged["read_without_template"]),
        "expected_of_no_effect": " ".join(judged["expected_of_no_effect"]),
        "handed": _section_key_types(facts["handed"], judged["handed"]),
        **{name: judged[name] for name in _AS_JUDGED},
        "data_keys": " ".join(facts["data_keys"]),
        "callbacks": {
            name: None if "**" in words else dict.fromkeys(("type", "auto_register", *words))
            for name, words in facts["callbacks"].items()
        },
        "loaders": " ".join(facts["loaders"]),
    }
    return found


def _section_key_types(found: dict[str, Any], judged: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Sections passed on to MindSpore, with key types and if others are refused."""
    sections: dict[str, Any] = {}
    for name, one in found.items():
        kinds = {key: "" if kind == "any" else kind for kind, keys in one["keys"].items() for key in keys}
        sections[name] = {"stops": one["stops"], "keys": kinds}
    for name, kinds in judged.items():
        known = sections.get(name)
        if known is None:
            sections[name] = {"stops": True, "keys": kinds}
        else:
            known["keys"].update({key: kind for key, kind in kinds.items() if key in known["keys"]})
    return sections


_AS_JUDGED = (
    "checked_without_experts", "choices", "communications", "equal_is_no_conflict", "handed_to_callbacks",
    "kinds_of_callbacks", "required_of_callbacks", "warmup_of_no_steps_divides",
)  # fmt: skip


def dynamic_facts(version: str) -> dict[str, Any]:
    """The catalog of a version's dynamic graph."""
    content = _stored_facts()["dynamic"]
    judged = facts_of(_stored_judgements()["dynamic"], version, content["versions"])
    switches = _switches("dynamic", version, content["versions"])
    return {**facts_of(content["facts"], version, content["versions"]), **judged, **switches, "version": version}


def switch_rows() -> dict[str, list[dict[str, Any]]]:
    """The rows of `switches.yaml`, by graph."""
    return read_facts(SWITCHES)


def _switches(graph: str, version: str, versions: list[str]) -> dict[str, Any]:
    """Form in which the code tests each switch, by path."""
    sections: dict[str, list[tuple[str, list[str], dict[str, Any]]]] = {}
    fields: dict[str, str] = {}
    for row in switch_rows()[graph]:
        held = versions_in(row["versions"], versions) if "versions" in row else versions
        if row["test"] not in TESTS:
            raise ValueError(f"{SWITCHES.name}: there is no test {row['test']!r}")
        for key in row["keys"] if version in held else ():
            section, _, name = key.rpartition(".")
            if section != "transformer":
                sections.setdefault(key, []).append((row["test"], row.get("with", []), row.get("where", {})))
            elif row["test"] != TRUTH:
                fields[name] = row["test"]
    return {"switches": sections, "field_tests": fields}


def _converter_targets(one: dict[str, Any], fields: dict[str, Any], latent: dict[str, Any]) -> dict[str, Any]:
    """Conversion rules of a class, with keys that keep their name listed."""
    same = (set(fields) - set(one["without"])) | set(one.get("beyond", ()))
    more = (set(latent) - set(one["mla_without"]) - same) if "mla_without" in one else set[str]()
    return {
        "same": sorted(same),
        "rules": {key: _parsed_targets(spec) for key, spec in one["rules"].items()},
        "mla_same": sorted(more),
        "mla_rules": {key: _parsed_targets(spec) for key, spec in one.get("mla_rules", {}).items()},
    }


def _parsed_targets(spec: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    texts: list[str] = spec if is_list(spec) else [spec]
    for text in texts:
        field, mark, transform = text.partition(" | ")
        found.append([field, transform if mark else None])
    return found


def _meanings(rules: dict[str, Any]) -> dict[str, str]:
    """Field behind a key in the common table, with its conversion, for advice."""
    first = {key: targets[0] for key, spec in rules.items() if (targets := _parsed_targets(spec))}
    return {key: " | ".join(filter(None, target)) for key, target in first.items() if target[0] != key}


def _kinds_by_name(found: dict[str, list[str]], judged: dict[str, str | None]) -> dict[str, str]:
    kinds = {name: kind for kind, names in found.items() for name in names}
    kinds.update({name: kind for name, kind in judged.items() if name in kinds and kind is not None})
    kinds = {name: kind for name, kind in kinds.items() if judged.get(name, kind) is not None}
    return kinds

"""One version's facts as the programs use them: `facts.yaml` spread out, with what `judged.yaml` adds.

Used when modules are compiled and by the developers' commands; a run of accmap imports the compiled modules.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from ..plain_values import is_list
from ..truth import TESTS, TRUTH
from ..versions import versions_in
from .fact_file import SOURCE, facts_of, read_facts

JUDGED = Path(__file__).with_name("judged.yaml")
SWITCHES = Path(__file__).with_name("switches.yaml")


@lru_cache(maxsize=1)
def _facts() -> dict[str, Any]:
    return read_facts(SOURCE)


@lru_cache(maxsize=1)
def _judged() -> dict[str, Any]:
    return read_facts(JUDGED)


def versions(dialect: str) -> list[str]:
    """The versions of which the fact file has that dialect, oldest first."""
    return list(_facts()[dialect]["versions"])


def static_facts(version: str) -> dict[str, Any]:
    """The catalog of a version's static graph."""
    content = _facts()["static"]
    facts = facts_of(content["facts"], version, content["versions"])
    judged = facts_of(_judged()["static"], version, content["versions"])
    latent = {**facts["transformer"], **facts["mla_transformer"]}
    converters = {
        name: _converter(one, facts["transformer"], latent) for name, one in sorted(facts["converters"].items())
    }
    found: dict[str, Any] = {
        "version": version,
        "source": facts["source"],
        "sections": facts["sections"],
        "order": facts["order"],
        "run_modes": facts["run_modes"],
        "classes": {**facts["classes"], **judged["classes"]},
        "names": {**facts["names"], **{name: name for name in judged["classes"]}},
        "models": _by_legacy(facts["models"]),
        "white": facts["white"],
        "converters": converters or {"common": _converter(facts["common"], facts["transformer"], latent)},
        "meant": _meant(facts["common"]["rules"]),
        "transformer": facts["transformer"],
        "mla_transformer": facts["mla_transformer"],
        "registry": facts["registry"],
        "types": _kinds(facts["types"], judged["types"]),
        **_switches("static", version, content["versions"]),
        "section_types": {name: kind for kind, names in judged["section_types"].items() for name in names},
        "read_without_template": " ".join(judged["read_without_template"]),
        "expected_of_no_effect": " ".join(judged["expected_of_no_effect"]),
        **{name: judged[name] for name in _AS_JUDGED},
        "data_keys": " ".join(facts["data_keys"]),
        "callbacks": {
            name: dict.fromkeys(("type", "auto_register", *words))
            for name, words in facts["callbacks"].items()
            if "**" not in words
        },
        "loaders": " ".join(facts["loaders"]),
    }
    return found


_AS_JUDGED = (
    "checked_without_experts", "choices", "communications", "equal_is_no_conflict", "warmup_of_no_steps_divides",
)  # fmt: skip


def dynamic_facts(version: str) -> dict[str, Any]:
    """The catalog of a version's dynamic graph."""
    content = _facts()["dynamic"]
    judged = facts_of(_judged()["dynamic"], version, content["versions"])
    switches = _switches("dynamic", version, content["versions"])
    return {**facts_of(content["facts"], version, content["versions"]), **judged, **switches, "version": version}


def switch_rows() -> dict[str, list[dict[str, Any]]]:
    """The rows of `switches.yaml`, by graph."""
    return read_facts(SWITCHES)


def _switches(graph: str, version: str, versions: list[str]) -> dict[str, Any]:
    """The tests of switches by their paths, and of those fields of TransformerConfig that are not asked for truth."""
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


def _by_legacy(models: dict[str, Any]) -> dict[str, Any]:
    """The older classes first, by name."""
    return dict(sorted(models.items(), key=lambda one: (not one[1]["legacy"], one[0])))


def _converter(one: dict[str, Any], fields: dict[str, Any], latent: dict[str, Any]) -> dict[str, Any]:
    same = (set(fields) - set(one["without"])) | set(one.get("beyond", ()))
    more = (set(latent) - set(one["mla_without"]) - same) if "mla_without" in one else set[str]()
    return {
        "same": sorted(same),
        "rules": {key: _targets(spec) for key, spec in one["rules"].items()},
        "mla_same": sorted(more),
        "mla_rules": {key: _targets(spec) for key, spec in one.get("mla_rules", {}).items()},
    }


def _targets(spec: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    texts: list[str] = spec if is_list(spec) else [spec]
    for text in texts:
        field, mark, transform = text.partition(" | ")
        found.append([field, transform if mark else None])
    return found


def _meant(rules: dict[str, Any]) -> dict[str, str]:
    """Which field a key means in the common table, for advice about a key that a class does not map."""
    return {key: targets[0][0] for key, spec in rules.items() if (targets := _targets(spec)) and targets[0][0] != key}


def _kinds(found: dict[str, list[str]], judged: dict[str, str | None]) -> dict[str, str]:
    kinds = {name: kind for kind, names in found.items() for name in names}
    kinds.update({name: kind for name, kind in judged.items() if name in kinds and kind is not None})
    kinds = {name: kind for name, kind in kinds.items() if judged.get(name, kind) is not None}
    return kinds

"""Turns the authored catalog into two literal modules: what a run of the rules needs, and what explains them.

`catalog_compiled.py` is loaded by every lint, `pages_compiled.py` by `accmap explain` and the documentation.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schemas.compilers.tables import literal_module, load_table
from ..schemas.message import Words
from ..schemas.mindformers.versions import DEFAULT_STATIC
from . import compile_defects as defects
from .messages_compiled import say
from .source_links import link_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..schemas.message import Kind

ROOM = Path(__file__).resolve().parent
CATALOG = ROOM / "catalog"
EXPLAINED = ROOM / "explained"
PREFIXES = ("SYN", "MAP", "NET", "MOE", "OPT", "SCH", "WGT", "PRC", "PAR", "RCP", "DAT", "ENV", "RUN", "INF", "DEF")
READERS = (
    "schemas", "schemas.shell", "schemas.megatron", "schemas.mindformers", "schemas.huggingface", "mapper.schedule",
    "mapper.translate",
)  # fmt: skip
"""Modules whose `PROBLEMS` a reader raises: their codes are explained too."""

COLUMNS = ("roles", "consequences", "repeats", "rewrite", "mends", "yields_to")
"""Columns of `explained/*.yaml` that say how findings go together, and explain nothing."""
_SEVERITY = {"numerics": "error", "performance": "info", "none": "info"}


def catalog() -> dict[str, dict[str, Any]]:
    """Every authored rule by its code, in the order of the checklists."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(CATALOG.glob("*.yaml")):
        for code, entry in load_table(path.read_text("utf-8")).items():
            assert code not in found, f"{code} stands twice"
            found[code] = entry
    return dict(sorted(found.items(), key=lambda item: (PREFIXES.index(item[0][:3]), item[0])))


def recipe_fields() -> dict[str, dict[str, Any]]:
    """Every recipe field with type, impact, neutral value and descriptions."""
    path = ROOM.parent / "mapper" / "recipe" / "fields.yaml"
    found: dict[str, dict[str, Any]] = {}
    for topic, entries in load_table(path.read_text("utf-8")).items():
        for name, row in entries.items():
            kind, impact, neutral, english, chinese = row[:5]
            found[f"{topic}.{name}"] = {
                "type": kind,
                "impact": impact,
                "neutral": neutral,
                "en": english,
                "zh": chinese,
            }
    return found


def compared_fields(rules: dict[str, dict[str, Any]], fields: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Code of the rule that compares each field."""
    named = _fields_named(rules, fields)
    topics = {topic: code for code, rule in reversed(rules.items()) for topic in rule.get("rest", ())}
    owners = {name: named[name] if name in named else topics.get(name.partition(".")[0]) for name in fields}
    without = sorted(name for name, code in owners.items() if code is None)
    assert not without, f"no rule compares {without}"
    return {name: code for name, code in owners.items() if code}


def _fields_named(rules: dict[str, dict[str, Any]], fields: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Code of the rule that names each field; empty if a function compares it, or none."""
    owners = dict.fromkeys(load_table((ROOM / "not_compared.yaml").read_text("utf-8")), "")
    for code, rule in rules.items():
        if "check" in rule and not rule.get("owns"):
            continue
        for name in rule.get("fields", ()):
            assert name in fields, f"{code}: there is no recipe field {name}"
            assert name not in owners, f"{name} is compared by {owners[name]} and {code}"
            owners[name] = "" if "check" in rule else code
    return owners


def columns(rules: dict[str, dict[str, Any]], fields: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Catalogue columns on relations between findings (see `roles.yaml`)."""
    roles: dict[str, set[str]] = {name: set() for name in load_table((ROOM / "roles.yaml").read_text("utf-8"))}
    causes: dict[str, tuple[Any, ...]] = {}
    single: dict[str, dict[str, Any]] = {"repeats": {}, "rewrite": {}, "mends": {}, "yields_to": {}}
    for code, row in (*_explained_rows(), *rules.items()):
        for name in row.get("roles", ()):
            assert name in roles, f"{code}: roles.yaml does not describe {name}"
            roles[name].add(code)
        for name in single.keys() & row.keys():
            single[name][code] = tuple(row[name]) if isinstance(row[name], list) else row[name]
        if "consequences" in row:
            causes[code] = _consequences(code, row["consequences"], fields)
        for field, entry in row.get("consequences_of", {}).items():
            assert field in row["fields"], f"{code}: {field} is not a field that it compares"
            causes[field] = _consequences(code, entry, fields)
    assert all(roles.values()), f"no code has a role of {[name for name, codes in roles.items() if not codes]}"
    return {
        "CAUSES": causes,
        "ROLES": {name: tuple(sorted(codes)) for name, codes in roles.items()},
        "REPEATS": single["repeats"],
        "REWRITES": single["rewrite"],
        "MENDS": single["mends"],
        "YIELDS_TO": single["yields_to"],
    }


def _consequences(code: str, row: dict[str, Any], fields: dict[str, dict[str, Any]]) -> tuple[Any, ...]:
    """Fields, undecided fields and codes that follow from a code's finding, with texts."""
    for name in (*row.get("fields", ()), *row.get("open", ())):
        assert any(field.startswith(name) for field in fields), f"{code}: there is no field {name}"
    return (
        tuple(row.get("fields", ())),
        tuple(row.get("open", ())),
        tuple(row.get("codes", ())),
        _english_and_chinese(row["because"]) if "because" in row else None,
        row.get("missing"),
    )


def _severity_of_rule(rule: dict[str, Any], fields: dict[str, dict[str, Any]], name: str | None) -> Any:
    """Severity of a rule for a profile."""
    given = rule.get("severities", {}).get(name, rule.get("severity"))
    if given is not None:
        return given
    return _SEVERITY[fields[name]["impact"]] if name else "error"


def _english_and_chinese(value: Any) -> tuple[str, str]:
    english, chinese = value
    return str(english), str(chinese)


def compiled_catalog() -> str:
    """Text of the catalogue module that every lint loads."""
    rules, fields = catalog(), recipe_fields()
    owners = compared_fields(rules, fields)
    rows: dict[str, Any] = {}
    said = {
        name: _english_and_chinese(texts) for name, texts in load_table((ROOM / "open.yaml").read_text("utf-8")).items()
    }
    differs = said.pop("differs")
    for code, rule in rules.items():
        own = [name for name, owner in owners.items() if owner == code]
        messages: dict[str, tuple[str, str]] = {}
        if "message" in rule:
            messages[""] = _english_and_chinese(rule["message"])
        for variant, sentences in rule.get("messages", {}).items():
            messages[variant] = _english_and_chinese(sentences)
        if own or rule.get("owns"):
            messages.setdefault("", differs)
        severity = rule.get("severity", "error")
        rows[code] = (
            rule["name"],
            severity if isinstance(severity, str) else dict(severity),
            rule.get("scope", "pair"),
            messages,
            rule.get("check", ""),
            tuple(rule.get("profiles", ("align", "train"))),
            tuple(rule.get("fields", ())),
            rule.get("kind", "rule"),
            rule.get("confidence", "high"),
            dict(rule.get("options", {})),
            rule.get("effect", ""),
        )
    compared = {
        name: (
            code,
            bool(rules[code].get("one_sided", False)),
            _severity_of_rule(rules[code], fields, name),
        )
        for name, code in owners.items()
    }
    return literal_module(
        "The rules as a run needs them, compiled from catalog/*.yaml and the recipe's fields.",
        RULES=rows,
        COMPARED=compared,
        **columns(rules, fields),
        CHANGES=changes_of_differences(rules, compared),
        KEYS=idle_keys(),
        OPEN=said,
        OWNED=tuple(name for rule in rules.values() if rule.get("owns") for name in rule.get("fields", ())),
    )


def changes_of_differences(
    rules: dict[str, dict[str, Any]], compared: dict[str, tuple[str, bool, Any]]
) -> dict[str, dict[str, tuple[str, str] | None]]:
    """The effect of a difference on the run by code, then by field or variant; the one under "" is for the rest."""
    without = sorted({code for code, *_ in compared.values() if "changes" not in rules[code]})
    assert not without, f"no `changes` in {without}: the effect of a difference on the run"
    made: dict[str, dict[str, tuple[str, str] | None]] = {}
    for code, rule in rules.items():
        if "changes" in rule:
            special: dict[str, Any] = rule.get("changes_of", {})
            unknown = sorted(set(special) - set(rule.get("fields", ())) - set(rule.get("messages", ())) - set(compared))
            assert not unknown, f"{code}: {unknown} are neither fields nor variants"
            made[code] = {
                "": _english_and_chinese(rule["changes"]),
                **{name: texts and _english_and_chinese(texts) for name, texts in special.items()},
            }
    return made


def idle_keys() -> dict[str, Any]:
    """Keys without effect, by kind of reason."""
    authored: dict[str, Any] = load_table((ROOM / "keys.yaml").read_text("utf-8"))
    switched = (
        (
            row["switch"],
            row["flag"],
            tuple(row.get("is_off", (None, False))),
            tuple(row["keys"]),
            tuple(row.get("not_with", (None, ""))),
            tuple(row.get("read_by", ())),
        )
        for row in authored["switched"]
    )
    later = {name: (row["since"], tuple(row["alike"])) for name, row in authored["read_since"].items()}
    together = tuple((key, other) for key, other in authored["together"])
    return {**authored, "switched": tuple(switched), "together": together, "read_since": later}


def _reasons(rule: dict[str, Any]) -> tuple[str, str]:
    """The reason for a rule on its page: the effect of a difference, then the rest."""
    parts = [_english_and_chinese(rule[name]) for name in ("changes", "why") if name in rule]
    return " ".join(part[0] for part in parts), "".join(part[1] for part in parts)


def compiled_pages() -> str:
    """Text of the module with rule explanations."""
    rules, fields = catalog(), recipe_fields()
    owners = compared_fields(rules, fields)
    pages: dict[str, Any] = {}
    for code, rule in rules.items():
        names = [name for name, owner in owners.items() if owner == code] or list(rule.get("fields", ()))
        pages[code] = {
            "what": _english_and_chinese(rule["what"]) if "what" in rule else None,
            "why": _reasons(rule),
            "example": rule.get("example", {}),
            "instead": rule.get("instead", {}),
            "sources": tuple(rule.get("sources", ())),
            "fields": tuple(names),
            "evidence": tuple(rule.get("evidence", ())),
            "fixable": bool(rule.get("fixable", False)) or _written_to_agree(code, rule, owners, fields),
            "options": dict(rule.get("options", {})),
        }
    pages |= defects.pages()
    _add_readers(pages)
    own: dict[str, Any] = {}
    for code, parts in explanations().items():
        (pages if code in pages else own).setdefault(code, {}).update(parts)
    for entry in (*pages.values(), *own.values()):
        entry["links"] = tuple(link_of(source) for source in entry["sources"])
    return literal_module(
        "What explains the rules, compiled from catalog/*.yaml, explained/*.yaml and the readers' problems.",
        PAGES={code: pages[code] for code in sorted(pages, key=lambda code: (PREFIXES.index(code[:3]), code))},
        OWN=own,
    )


def _add_readers(pages: dict[str, Any]) -> None:
    """Add the problems of the readers, each code with its messages."""
    for module in READERS:
        for kind in kinds(module):
            entry = pages.setdefault(
                kind.code,
                {
                    "reader": kind.name,
                    "severity": kind.severity,
                    "severities": (),
                    "messages": (),
                    "sources": (f"accmap {module}",),
                },
            )
            if "reader" in entry:
                if kind.severity not in entry["severities"]:
                    entry["severities"] = (*entry["severities"], kind.severity)
                entry["messages"] = (*entry["messages"], (kind.en, kind.zh))


def explanations() -> dict[str, dict[str, Any]]:
    """Explanations by code from the table `explained`: texts on what and why, sources, and other parts."""
    groups: dict[str, Any] = load_table((EXPLAINED / "groups.yaml").read_text("utf-8"))
    found: dict[str, dict[str, Any]] = {}
    for code, row in _explained_rows():
        assert code not in found, f"explained: {code} stands twice"
        assert "group" not in row or row["group"] in groups, f"explained: {code} has no group {row['group']}"
        parts = {**groups.get(row.get("group", ""), {}), **row}
        for name in ("group", *COLUMNS):
            parts.pop(name, None)
        for name in ("what", "why"):
            if name in parts:
                parts[name] = _english_and_chinese(parts[name])
        if "sources" in parts:
            parts["sources"] = tuple(parts["sources"])
        found[code] = parts
    return found


def _explained_rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(EXPLAINED.glob("*.yaml")):
        if path.name != "groups.yaml":
            yield from load_table(path.read_text("utf-8")).items()


def kinds(module: str) -> Iterable[Kind]:
    """The problems that a reader can find."""
    try:
        return import_module(f"..{module}.messages_compiled", __package__).say.kinds.values()
    except ModuleNotFoundError:
        return import_module(f"..{module}", __package__).PROBLEMS.values()


def _written_to_agree(code: str, rule: dict[str, Any], owners: dict[str, str], fields: dict[str, Any]) -> bool:
    """True if a YAML can take Megatron-LM's value of a field that the rule compares."""
    from ..mappings.tables import table

    own = {name for name, owner in owners.items() if owner == code and _severity_of_rule(rule, fields, name) != "info"}
    sides = [row.side("static", DEFAULT_STATIC) for row in table().rows if own & set(row.fields)]
    return any(side is not None and 0 < len(side.keys) < 3 and side.fixed is None for side in sides)


def compiled_checklist() -> str:
    """Text of the module behind the printed checklist."""
    rules, fields = catalog(), recipe_fields()
    owners = compared_fields(rules, fields)
    rows: list[tuple[Any, ...]] = []
    written: dict[str, str | dict[str, Any]] = load_table((ROOM / "checklist.yaml").read_text("utf-8"))
    for identifier, row in written.items():
        entry = {"key": row} if isinstance(row, str) else row
        when: tuple[str, ...] = tuple(entry.get("when", ()))
        assert set(when) <= set(fields), f"{identifier}: {when}"
        covering = [code for code, rule in rules.items() if identifier in rule.get("sources", ())]
        assert covering, f"no rule covers {identifier}"
        first = covering[0]
        what = rules[first].get("what")
        if what is None:
            own = [name for name, owner in owners.items() if owner == first]
            label = Words(fields[own[0]]["en"], fields[own[0]]["zh"])
            what = say.same_on_both_sides(label=label).both()
        person = any(rules[code].get("kind") == "checklist-item" for code in covering)
        compares = any("check" not in rules[code] for code in covering)
        names = _row_fields(rules, covering)
        rows.append(
            (identifier, str(entry["key"]), tuple(covering), names, person, when, compares, *_english_and_chinese(what))
        )
    return literal_module("The checklist's rows, compiled from checklist.yaml and catalog/*.yaml.", ROWS=tuple(rows))


def _row_fields(rules: dict[str, dict[str, Any]], covering: list[str]) -> tuple[str, ...]:
    """Fields that a checklist row shows."""
    comparing = [code for code in covering if "check" not in rules[code] or rules[code].get("owns")]
    for codes in (comparing, covering):
        shown = [rules[code] for code in codes if "rest" not in rules[code]]
        names = [name for rule in shown for name in (*rule.get("fields", ()), *rule.get("evidence", ()))]
        if names:
            return tuple(dict.fromkeys(names))
    return ()


def compiled_names() -> str:
    """The module with the Chinese names of the codes."""
    names = load_table((ROOM / "names.yaml").read_text("utf-8"))
    return literal_module("Chinese names of codes, compiled from names.yaml.", NAMES=names)


def products() -> dict[str, str]:
    """Text of every compiled module of this room by file name."""
    return {
        "rules/checklist_compiled.py": compiled_checklist(),
        "rules/names_compiled.py": compiled_names(),
        "rules/catalog_compiled.py": compiled_catalog(),
        "rules/pages_compiled.py": compiled_pages(),
    }

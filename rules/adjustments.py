"""Changes to the findings of a pair once all are known: keys that do nothing, and refusals about one value.

Alone, a file with such a key is suspicious. Of a pair the effective values are compared, so the key is worth a warning
only where one of the fields that it means differs, or is open and cannot be compared.
"""

from __future__ import annotations

from ..mapper.recipe.reading import side_of
from ..mappings.tables import rows_of, table
from ..schemas.diagnostic import Related
from ..schemas.fast_records import TYPE_CHECKING
from .catalog_compiled import CAUSES, ROLES
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..schemas.config import Setting
    from ..schemas.diagnostic import Diagnostic
    from ..schemas.suggestion import Suggestion
    from .subject import Side, Subject

IDLE: tuple[str, ...] = ROLES["inert-key"]


def downgrade_inert_keys(subject: Subject, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings in which those about ineffective keys are remarks if the key makes no difference."""
    if not any(_is_serious(entry) and entry.kind.code in IDLE for entry in found):
        return list(found)
    names = _names_in_doubt(subject, [entry for entry in found if _is_serious(entry) and entry.kind.code not in IDLE])
    return [
        entry._replace(kind=entry.kind._replace(severity="info"))
        if entry.kind.code in IDLE and _is_serious(entry) and not names_of_key(entry) & names
        else entry
        for entry in found
    ]


def _names_in_doubt(subject: Subject, serious: Sequence[Diagnostic]) -> set[str]:
    """Names of keys that decide a difference, something undecided or something missing."""
    apart = {field for entry in serious for field in entry.fields}
    names = key_names([*apart, *(field for side in subject.sides for field in _open_fields(side))])
    return names | {path_of_missing(entry)[1] for entry in serious if entry.kind.code in ROLES["missing-key"]}


def _open_fields(side: Side) -> Iterator[str]:
    """The fields that a file leaves undecided."""
    return (name for name, value in side.recipe.fields.items() if not value.decided)


def _is_serious(entry: Diagnostic) -> bool:
    return entry.kind.severity != "info"


def names_of_key(entry: Diagnostic) -> set[str]:
    """Names of the key that a finding is about, of its working name and of the suggested one."""
    from .catalog.keys import working_name

    values = dict(entry.values)
    key = str(values.get("key", values.get("flag", ""))).lstrip("-").replace("-", "_").rpartition(".")[2]
    meant = suggestion_of(entry)
    return {name for name in (key, working_name(key), None if meant is None else meant.name) if name}


def suggestion_of(entry: Diagnostic) -> Suggestion | None:
    """The name that a finding's message suggests."""
    from ..schemas.suggestion import Suggestion

    return next((value for _, value in entry.values if isinstance(value, Suggestion)), None)


def path_of_missing(entry: Diagnostic) -> tuple[str, str]:
    """The section and the name of the key that a finding misses."""
    values, listed = dict(entry.values), CAUSES.get(entry.kind.code)
    section, _, name = str(values.get("key") or (listed[4] if listed else "")).rpartition(".")
    written = str(values.get("section", section))
    return "" if " " in written else written, name


def key_names(fields: Iterable[str], *, main: bool = False) -> set[str]:
    """The last parts of every key and alias of the rows of some fields, or of the first key of each alone."""
    return {name for field in set(fields) for name in _key_names_of(field, main=main)}


def _key_names_of(field: str, *, main: bool) -> Sequence[str]:
    if (known := _KEY_NAMES.get((field, main))) is not None:
        return known
    sides = [side for row in rows_of(field) for side in row.megatron + row.static + row.dynamic]
    names = [name for side in sides for name in (side.keys[:1] if main else side.keys) + side.aliases]
    return _KEY_NAMES.setdefault((field, main), [one.rpartition(".")[2] for name in names for one in name.split("|")])


_KEY_NAMES: dict[tuple[str, bool], Sequence[str]] = {}
"""The names by field, of the tables alone: a search for fixes asks for the same fields again and again."""


_SAID = ("condition", "why")


def attribute_refusals(subject: Subject, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings in which each refusal points at the one value that differs from the other side."""
    differing = {entry.fields[0] for entry in found if len(entry.fields) == 1 and entry.related}
    return [
        _move_to_culprit(subject, entry, differing)
        if differing and entry.kind.code in ROLES["disputed-values"]
        else entry
        for entry in found
    ]


def settings_named(side: Side, entry: Diagnostic, *, when: bool = False) -> set[str]:
    """Names of settings in a finding's sentence and of those that they are derived from."""
    import re

    values = dict(entry.values)
    said = (*_SAID, "when") if when else _SAID
    names = set(re.findall(r"\w+", " ".join(str(values.get(key, "")) for key in said)))
    for name in tuple(names):
        made = side.setting(name)
        if made is not None and made.origin == "derived":
            names.update(made.derived_from)
    return names


def _move_to_culprit(subject: Subject, entry: Diagnostic, differing: set[str]) -> Diagnostic:
    """Refusal moved to the only one of its settings that differs from the other side; else unchanged."""
    side = next((one for one in subject.sides if one.config.file == entry.file), None)
    if side is None:
        return entry
    names = settings_named(side, entry)
    other: list[Setting] = []
    for setting in side.config.settings.values():
        if setting.span is None:
            continue
        fields = fields_of_key(side, setting.key)
        named = setting.key.rpartition(".")[2] in names if names else not set(entry.fields).isdisjoint(fields)
        if named and not differing.isdisjoint(fields):
            other.append(setting)
    if len(other) != 1 or other[0].span == entry.span:
        return entry
    return _place_at(entry, other[0])


def _place_at(entry: Diagnostic, setting: Setting) -> Diagnostic:
    """Finding moved to a setting; its old place becomes a related one."""
    related = [one for one in entry.related if one.span != setting.span]
    if entry.span is not None and entry.span[:2] != entry.span[2:4]:
        related.insert(0, Related(entry.file, entry.span, *say.together_with_this().both()))
    return entry._replace(span=setting.span, related=tuple(related))


_fields_of_keys: dict[tuple[str, str], dict[str, list[str]]] = {}


def fields_of_key(side: Side, key: str) -> Sequence[str]:
    """The fields that a key decides before all others."""
    name, version = side_of(side.config), side.config.framework_version
    known = _fields_of_keys.get((name, version))
    if known is None:
        fields: dict[str, list[str]] = {}
        for row in table().rows:
            if (wanted := row.side(name, version)) is not None:
                names = [one for listed in (*wanted.keys[:1], *wanted.read[:1]) for one in listed.split("|")]
                for one in dict.fromkeys((*names, *(wanted.aliases if len(wanted.keys) == 1 else ()))):
                    fields.setdefault(one, []).extend(row.fields)
        known = _fields_of_keys[name, version] = fields
    return known.get(key, ())

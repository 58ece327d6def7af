"""The rules that come with accmap, made from the compiled catalog when they are asked for."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, cast
from .catalog.defects import codes as advisory_codes
from .catalog.defects import rule_of
from .catalog_compiled import COMPARED, OPEN, RULES
from .comparison import Compared
from .rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Severity

_NAME, _SEVERITY, _SCOPE, _MESSAGES, _CHECK, _PROFILES, _FIELDS, _KIND, _CONFIDENCE, _OPTIONS, _EFFECT = range(11)


def codes() -> tuple[str, ...]:
    """Every rule's code, the advisories' last."""
    return (*RULES, *advisory_codes())


_rules: dict[tuple[str, str], Rule] = {}


def rule(code: str, profile: str = "align") -> Rule:
    """The rule of a code."""
    found = _rules.get((code, profile))
    if found is None:
        found = _rules[code, profile] = _make_rule(code, profile) if code in RULES else rule_of(code)
    return found


def _make_rule(code: str, profile: str) -> Rule:
    """Rule record of a code under a profile."""
    row = RULES[code]
    messages = row[_MESSAGES]
    return Rule(
        code,
        row[_NAME],
        severity_in(row[_SEVERITY], profile),
        row[_SCOPE],
        messages if row[_CHECK] else {**OPEN, **messages},
        row[_CHECK],
        row[_PROFILES],
        row[_FIELDS],
        row[_KIND],
        row[_CONFIDENCE],
        effect=row[_EFFECT],
    )


def severity_in(given: object, profile: str) -> Severity:
    """A severity, which may differ between the profiles."""
    if isinstance(given, dict):
        return cast("dict[str, Severity]", given)[profile]
    return cast("Severity", given)


def functions(frameworks: frozenset[str], profile: str, *, is_pair: bool) -> tuple[Rule, ...]:
    """The rules that are functions and have something to look at."""
    found = _applying.get((frameworks, profile, is_pair))
    if found is None:
        found = _applying[frameworks, profile, is_pair] = tuple(
            [
                rule(code, profile)
                for code, row in RULES.items()
                if row[_CHECK] and profile in row[_PROFILES] and _applies_to(row[_SCOPE], frameworks, is_pair=is_pair)
            ]
        )
    return found


_applying: dict[tuple[frozenset[str], str, bool], tuple[Rule, ...]] = {}


def inference_functions(profile: str) -> tuple[Rule, ...]:
    """The rules about inference configurations."""
    return tuple(rule(code, profile) for code, row in RULES.items() if row[_SCOPE] == "inference")


def _applies_to(scope: str, frameworks: frozenset[str], *, is_pair: bool) -> bool:
    return scope == "any" or scope in frameworks or (scope == "pair" and is_pair)


def compared_fields(profile: str) -> dict[FieldName, Compared]:
    """The rule and severity of each recipe field's comparison."""
    table = _compared.get(profile)
    if table is None:
        table = _compared[profile] = {
            name: Compared(code, one_sided, severity_in(severity, profile))
            for name, (code, one_sided, severity) in COMPARED.items()
        }
    return table


_compared: dict[str, dict[FieldName, Compared]] = {}


def options(code: str) -> dict[str, object]:
    """The options of a rule, with their defaults."""
    return RULES[code][_OPTIONS]


def every_code() -> tuple[str, ...]:
    """Every code that a lint may report: the rules' and the readers'."""
    from .messages_compiled import say
    from .pages_compiled import PAGES

    return tuple(dict.fromkeys((*codes(), *PAGES, *(kind.code for kind in say.kinds.values()))))


def expand_groups(given: Iterable[str]) -> tuple[str, ...]:
    """Codes with the word EQUAL written out: every rule that compares the two sides."""
    found: list[str] = []
    for code in given:
        if code == "EQUAL":
            from .catalog_compiled import COMPARED, ROLES, RULES

            owners = {row[0] for row in COMPARED.values()}
            found += [
                name for name, row in RULES.items() if name in owners or ("" in row[3] and "{a_from}" in row[3][""][0])
            ]
            found += sorted(ROLES["compares-sides"])
        else:
            found.append(code)
    return tuple(dict.fromkeys(found))


def is_known(code: str, known: Iterable[str]) -> bool:
    """True if a code, or the first letters of some codes, exists."""
    return code in ("ALL", "EQUAL") or any(name.startswith(code) for name in known)

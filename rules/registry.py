"""The rules that come with accmap, made from the compiled catalog when they are asked for."""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING, cast
from .catalog_compiled import COMPARED, RULES
from .comparison import Compared
from .defects import codes as advisory_codes
from .defects import rule_of
from .rule import Rule

if TYPE_CHECKING:
    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Severity

_NAME, _SEVERITY, _SCOPE, _MESSAGES, _CHECK, _PROFILES, _FIELDS, _KIND, _CONFIDENCE, _OPTIONS, _EFFECT = range(11)


OPEN = {
    "unknown": (
        "{label} is not compared: one side's value is not known ({a} in Megatron-LM; {b} in MindSpore Transformers).",
        "{label_zh}未比较：有一侧的值未知（Megatron-LM 为 {a}；MindSpore Transformers 为 {b}）。",
    ),
    "not given": (
        "{label} is given on one side only: {a} in Megatron-LM ({a_from}), {b} in MindSpore Transformers ({b_from}).",
        "{label_zh}仅在一侧给出：Megatron-LM 为 {a}（{a_from_zh}），MindSpore Transformers 为 {b}（{b_from_zh}）。",
    ),
    "only megatron": (
        "{label}: {a} in Megatron-LM ({a_from}); MindSpore Transformers has no such setting.",
        "{label_zh}：Megatron-LM 为 {a}（{a_from_zh}）；MindSpore Transformers 没有该设置。",
    ),
    "only mindformers": (
        "{label}: {b} in MindSpore Transformers ({b_from}); Megatron-LM has no such setting.",
        "{label_zh}：MindSpore Transformers 为 {b}（{b_from_zh}）；Megatron-LM 没有该设置。",
    ),
    "depends": (
        (
            "{label}: {a} in Megatron-LM ({a_from}), but {b} in MindSpore Transformers ({b_from}). Whether it counts "
            "depends on what cannot be read here: {gate}."
        ),
        (
            "{label_zh}：Megatron-LM 为 {a}（{a_from_zh}），而 MindSpore Transformers 为 {b}（{b_from_zh}）。"
            "它是否起作用取决于此处无法读出的设置：{gate_zh}。"
        ),
    ),
    "idle": (
        (
            "{label} has no effect on this run, though it differs: {a} in Megatron-LM ({a_from}), {b} in MindSpore "
            "Transformers ({b_from})."
        ),
        (
            "{label_zh}不同，但在本次训练中不起作用：Megatron-LM 为 {a}（{a_from_zh}），"
            "MindSpore Transformers 为 {b}（{b_from_zh}）。"
        ),
    ),
    "alike": (
        (
            "{label} differs, but not the numbers: {a} in Megatron-LM ({a_from}), {b} in MindSpore Transformers "
            "({b_from}). {why}"
        ),
        (
            "{label_zh}不同，但数值一致：Megatron-LM 为 {a}（{a_from_zh}），"
            "MindSpore Transformers 为 {b}（{b_from_zh}）。{why_zh}"
        ),
    ),
    "idle megatron": (
        "{label} has no effect on this run: {a} in Megatron-LM ({a_from}).",
        "{label_zh}在本次训练中不起作用：Megatron-LM 为 {a}（{a_from_zh}）。",
    ),
    "idle mindformers": (
        "{label} has no effect on this run: {b} in MindSpore Transformers ({b_from}).",
        "{label_zh}在本次训练中不起作用：MindSpore Transformers 为 {b}（{b_from_zh}）。",
    ),
}
"""What is said of a field that cannot be compared; an addition to each comparison's own message."""


def codes() -> tuple[str, ...]:
    """Every rule's code, the advisories' last."""
    return (*RULES, *advisory_codes())


_rules: dict[tuple[str, str], Rule] = {}


def rule(code: str, profile: str = "align") -> Rule:
    """The rule of a code."""
    found = _rules.get((code, profile))
    if found is None:
        found = _rules[code, profile] = _made(code, profile) if code in RULES else rule_of(code)
    return found


def _made(code: str, profile: str) -> Rule:
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


def functions(frameworks: frozenset[str], profile: str) -> tuple[Rule, ...]:
    """The rules that are functions and have something to look at."""
    found = _applying.get((frameworks, profile))
    if found is None:
        found = _applying[frameworks, profile] = tuple(
            [
                rule(code, profile)
                for code, row in RULES.items()
                if row[_CHECK] and profile in row[_PROFILES] and _concerns(row[_SCOPE], frameworks)
            ]
        )
    return found


_applying: dict[tuple[frozenset[str], str], tuple[Rule, ...]] = {}


def _concerns(scope: str, frameworks: frozenset[str]) -> bool:
    return scope == "any" or scope in frameworks or (scope == "pair" and len(frameworks) == 2)


def compared(profile: str) -> dict[FieldName, Compared]:
    """How each recipe field is compared."""
    table = _compared.get(profile)
    if table is None:
        table = _compared[profile] = {
            name: Compared(code, how, neutral, one_sided, severity_in(severity, profile), [])
            for name, (code, how, neutral, one_sided, severity) in COMPARED.items()
        }
    return table


_compared: dict[str, dict[FieldName, Compared]] = {}


def options(code: str) -> dict[str, object]:
    """The options of a rule, with their defaults."""
    return RULES[code][_OPTIONS]

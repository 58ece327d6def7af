"""A row of the tables in words: what each framework calls it, what a translation keeps, and when it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..schemas.json_values import json_value
from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.megatron.catalog import DEFAULT_VERSION, VERSIONS, catalog
from ..schemas.terms import term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..mappings.tables import Caveat, Condition, Loss, Row, Side
    from ..schemas.config import Value
    from ..schemas.diagnostic import Language

LOSS: dict[Loss, tuple[str, str]] = {
    "exact": ("carried over as it is, both ways", "双向精确对应"),
    "conditional": ("equal under conditions, which the notes name", "在注明的条件下等价"),
    "approximate": ("the nearest setting; numbers differ", "最接近的设置，数值有差异"),
    "one-way": ("one side has no such setting, or the way back is not unique", "仅一侧有此设置，或反向不唯一"),
    "unsupported": (
        "the other side has no setting: the report says so where its behaviour differs",
        "另一侧无对应设置；行为不同时报告会指出",
    ),
}
TO = {
    None: ("both ways", "双向"),
    "megatron": ("to Megatron-LM", "转为 Megatron-LM 时"),
    "mindformers": ("to MindFormers", "转为 MindFormers 时"),
    "static": ("to the static graph", "转为静态图时"),
    "dynamic": ("to the dynamic graph", "转为动态图时"),
}
_FROM = {
    "megatron": ("from Megatron-LM", "自 Megatron-LM"),
    "mindformers": ("from MindFormers", "自 MindFormers"),
    "static": ("from the static graph", "自静态图"),
    "dynamic": ("from the dynamic graph", "自动态图"),
    "huggingface": ("from a config.json", "自 config.json"),
}
_COMPARISONS = {
    "eq": ("{field} is {value}", "{field} 为 {value}"),
    "ne": ("{field} is not {value}", "{field} 不为 {value}"),
    "gt": ("{field} is above {value}", "{field} 大于 {value}"),
    "lt": ("{field} is below {value}", "{field} 小于 {value}"),
    "in": ("{field} is one of {value}", "{field} 属于 {value}"),
    "not_in": ("{field} is none of {value}", "{field} 不属于 {value}"),
    "set": ("{field} is set", "已设置 {field}"),
    "unset": ("{field} is not set", "未设置 {field}"),
    "eq_field": ("{field} equals {value}", "{field} 等于 {value}"),
    "ne_field": ("{field} differs from {value}", "{field} 不等于 {value}"),
    "gt_field": ("{field} is above {value}", "{field} 大于 {value}"),
    "within_field": ("{field} may be an index below {value}", "{field} 可能是小于 {value} 的下标"),
    "islist": ("{field} is a list", "{field} 为列表"),
    "isfraction": ("{field} is no whole number", "{field} 不是整数"),
    "uneven": ("{field} has unequal entries between its ends", "{field} 首尾之间的各项不相等"),
    "uneven_start": (
        "{field} says one thing of the first layer and another of the second",
        "{field} 对前两层的规定不同",
    ),
    "weighted": ("{field} mixes several data sets by weights", "{field} 按权重混合多个数据集"),
    "exceeds_sum": ("{field} is more than the sum of {value}", "{field} 大于 {value} 之和"),
    "within_sum": ("{field} is at most the sum of {value}", "{field} 不超过 {value} 之和"),
    "lacks": ("{field} does not hold {value}", "{field} 不含 {value}"),
    "hollow": ("{field} has an entry of 0", "{field} 有为 0 的项"),
    "exceeds": ("{field} is more than the product of {value}", "{field} 大于 {value} 之积"),
    "short_of": ("{field} is less than the product of {value}", "{field} 小于 {value} 之积"),
    "quotient_ne": (
        "{field} divided by {first}, rounded down, is not {last}",
        "{field} 除以 {first} 的整数商不为 {last}",
    ),
    "indivisible": ("{field} is no multiple of {value}", "{field} 不是 {value} 的倍数"),
    "not_product": ("{field} is not the product of {value}", "{field} 不等于 {value} 之积"),
    "has": ("{field} holds {value}", "{field} 含 {value}"),
    "endswith": ("{field} ends with {value}", "{field} 以 {value} 结尾"),
}
_OF_ONE = {"in": "eq", "not_in": "ne"}
"""How Chinese says of a single value what English says of a list of one."""
_OF_FIELDS = frozenset(
    (
        "eq_field",
        "ne_field",
        "gt_field",
        "within_field",
        "exceeds_sum",
        "within_sum",
        "exceeds",
        "short_of",
        "not_product",
        "indivisible",
    )
)
"""What compares with other fields."""
_ALWAYS = ("nothing to set; always {value}", "无需设置，恒为 {value}")
_VARIABLE = ("environment variable {name}", "环境变量 {name}")
_SINCE = ("from {version}", "自 {version}")
_AFTER = ("after {version}", "{version} 之后")
_UNTIL = ("up to {version}", "至 {version}")
_DERIVED = "resolved."


def flags(dest: str, version: str | None = None) -> tuple[str, ...]:
    """The options that write a destination, in `version` or in the first version from the default on that knows it."""
    for one in (version,) if version is not None else (DEFAULT_VERSION, *VERSIONS):
        found = tuple(option for fact in catalog(one).arguments if fact.dest == dest for option in _long(fact.options))
        if found:
            return found
    return ()


def _long(options: Sequence[str]) -> list[str]:
    """The options without their abbreviations: `--swiglu`, not `-x`."""
    return [option for option in options if option.startswith("--")] or list(options)


def megatron_names(side: Side) -> tuple[str, ...]:
    """The flags of a side; what Megatron-LM derives without a flag goes by its own name, in brackets."""
    names: list[str] = []
    for key in side.keys:
        for dest in key.split("|"):
            names += [flag for flag in flags(dest) or (f"({dest})",) if flag not in names]
    return tuple(names)


def mindformers_names(side: Side) -> tuple[str, ...]:
    """The keys of a side that can be written."""
    return tuple(shown_key(key) for key in side.keys if not key.startswith(_DERIVED))


def shown_key(key: str) -> str:
    """A key path as a reader knows it: a callback is told by its type."""
    return key.replace("{", "[type=").replace("}", "]")


def behaviour(side: Side, language: Language) -> str | None:
    """What a side that has no key does instead: a fixed behaviour, or an environment variable."""
    place = 1 if language == "zh" else 0
    if side.environment is not None:
        return _VARIABLE[place].format(name=side.environment)
    if side.fixed is not None:
        return _ALWAYS[place].format(value=listed([shown_value(value) for value in side.fixed], language))
    return None


def with_versions(sides: Sequence[Side], language: Language) -> Iterator[tuple[Side, str]]:
    """Each side with the versions it speaks for, `from 1.7`; empty where it speaks for every version."""
    place = 1 if language == "zh" else 0
    before: str | None = None
    for side in sides:
        bounds = ((_SINCE, side.since), (_AFTER, None if side.since else before), (_UNTIL, side.until))
        said = [words[place].format(version=version) for words, version in bounds if version is not None]
        yield side, listed(said, language)
        before = side.until


def values(side: Side) -> dict[str, Value]:
    """What the values of an enumeration are called in the recipe, where the table lists them."""
    listed = side.options.get("values")
    return {str(theirs): ours for theirs, ours in listed.items()} if isinstance(listed, Mapping) else {}


def shown_value(value: Value) -> str:
    """A value as JSON writes it; `none` for null."""
    return "none" if value is None else json.dumps(json_value(value), ensure_ascii=False)


def conditions(given: Sequence[Condition], language: Language) -> str:
    """`moe.num_experts is set and model.bias_linear is true`."""
    place = 1 if language == "zh" else 0
    parts: list[str] = []
    for field, comparison, operand in given:
        several = operand if isinstance(operand, tuple) else (operand,)
        # an operand with a dot names a field, which stands without quotes
        shown = [one if isinstance(one, str) and comparison in _OF_FIELDS else shown_value(one) for one in several]
        value = listed(shown, language)
        ends = (operand[0], shown_value(operand[-1])) if isinstance(operand, tuple) and operand else ("", "")
        if place and len(several) == 1:
            comparison = _OF_ONE.get(comparison, comparison)
        parts.append(_COMPARISONS[comparison][place].format(field=field, value=value, first=ends[0], last=ends[1]))
    return "，且".join([parts[0], *map(beside_chinese, parts[1:])]) if place and parts else " and ".join(parts)


def beside_chinese(text: str) -> str:
    """What follows a Chinese word: Latin letters stand apart from it."""
    return f" {text}" if text[:1].isascii() else text


def caveat_words(caveat: Caveat, language: Language) -> str:
    """When a row is not carried over as it is, and what happens then."""
    place = 1 if language == "zh" else 0
    when = conditions(caveat.when, language)
    target = TO[caveat.to][place]
    if caveat.source is not None:
        target = (_FROM[caveat.source][place] + ("" if place else " ")) + target
    for words, version in ((_SINCE, caveat.since), (_UNTIL, caveat.until)):
        if version is not None:
            target += " " + words[place].format(version=version)
    sentence = (caveat.zh if place else caveat.en).replace("{", "").replace("}", "")
    if place:
        return f"{target}，若{beside_chinese(when)}（{term(caveat.status, language)}）：{sentence}"
    return f"{target}, where {when} ({caveat.status}): {sentence}"


def proof_words(row: Row, language: Language) -> str:
    """What the real models have proved of a row's fields that change numbers; a speed or a name needs no proof."""
    from ..mappings.messages_compiled import say
    from ..mappings.proofs import proofs_of, proved_on, told, unproved
    from .recipe.vocabulary import vocabulary

    known = vocabulary()
    fields = [field for field in row.fields if (row.impact or known[field].impact) == "numerics"]
    if not fields:
        return ""
    by_words: dict[str, list[str]] = {}
    for field in fields:
        proofs = proofs_of(field)
        if proofs:
            words = told(proofs, proved_on([pair for proof in proofs for pair in proof.pairs])).text(language)
        else:
            reasons = dict.fromkeys(one.zh if language == "zh" else one.en for one in unproved(field))
            read = say.exact_by_reading() if row.loss == "exact" else say.by_reading()
            words = read.text(language) + in_brackets(listed(list(reasons), language, ("; ", "；")), language)
        by_words.setdefault(words, []).append(field)
    if len(by_words) == 1:
        return next(iter(by_words))
    said = [
        f"{listed(names, language)}{': ' if language == 'en' else '：'}{words}" for words, names in by_words.items()
    ]
    return listed(said, language, ("; ", "；"))


def listed(words: Sequence[str], language: Language, between: tuple[str, str] = (", ", "、")) -> str:
    """Words one after another, with each language's own mark between them."""
    return between[language == "zh"].join(words)


def in_brackets(text: str, language: Language) -> str:
    """What follows in brackets; nothing where there is nothing."""
    return (f"（{text}）" if language == "zh" else f" ({text})") if text else ""


def differs_from_guide(row: Row) -> bool:
    """Whether the row's note says that the accuracy guide and the code differ."""
    return "guide" in row.en.lower()

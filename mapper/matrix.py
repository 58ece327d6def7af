"""The conversion matrix for readers: every row of the tables, by topic, in English and Chinese.

They are `docs/matrix.md` and `docs/matrix.zh-CN.md`.
"""

from __future__ import annotations

from itertools import groupby

from ..mappings.messages_compiled import say
from ..mappings.proofs import proved_on, quantity_proofs
from ..mappings.tables import table
from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.terms import term
from ..schemas.versions import known_names
from .recipe.vocabulary import COMPUTED, vocabulary
from .row_words import (
    LOSS,
    behaviour,
    beside_chinese,
    conditions,
    differs_from_guide,
    in_brackets,
    listed,
    megatron_names,
    mindformers_names,
    proof_words,
    shown_key,
    with_versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..mappings.tables import Condition, Row, Side
    from ..schemas.diagnostic import Language

FILES: dict[Language, str] = {"en": "matrix.md", "zh": "matrix.zh-CN.md"}
_TOPICS = {
    "model": ("Model", "模型"),
    "attention": ("Attention", "注意力"),
    "position": ("Position", "位置编码"),
    "moe": ("Mixture of experts and multi-token prediction", "MoE 与 MTP"),
    "precision": ("Precision", "精度"),
    "optimizer": ("Optimizer and gradients", "优化器与梯度"),
    "schedule": ("Learning rate", "学习率"),
    "batch": ("Batch and run length", "批大小与训练长度"),
    "parallel": ("Parallelism", "并行"),
    "recompute": ("Recomputation", "重计算"),
    "fusion": ("Fusion", "融合"),
    "data": ("Data and tokenizer", "数据与分词器"),
    "training": ("Training, checkpoints, logs, environment", "训练、检查点、日志与环境"),
}
_INTRODUCTION = (
    """# Conversion matrix

[中文](matrix.zh-CN.md)

What corresponds to what between Megatron-LM ({megatron}) and MindSpore Transformers
(static graph {static}, dynamic graph {dynamic}), generated from `mappings/*.yaml`.
`accmap explain NAME` says the same for one flag, key or field,
with defaults by version.

- A name in brackets is derived by Megatron-LM and has no flag. *Always X* means that a side has
  nothing to set and behaves like this. A dash means that the side has no such concept.
- `…KEY` is a key of the model: `model.model_config.KEY` in the static graph, `model.KEY` in the dynamic one.
- *Also read* are names that mean the same in some version; accmap reads them and writes the first.
- *Proved on* names the pairs of versions in which the real models were run for the row: with the value on both sides
  they match, with it on one side they do not ([verify](verify.md#the-proof-of-the-tables)). *Exact by reading* has no
  such run.
- `{{field}}` within a sentence stands for the value of that field.
- [n] refers to the sources at the end of a topic; an id such as `map.model.02` names a line of the accuracy guide.

| Translation | |
| --- | --- |
""",
    """# 转换对照表

[English](matrix.md)

Megatron-LM（{megatron}）与 MindSpore Transformers（静态图 {static}，动态图 {dynamic}）的对应关系，
根据 `mappings/*.yaml` 生成。
`accmap explain NAME` 可查看单个参数、键或字段的同样内容及各版本默认值。

- 括号中的名称由 Megatron-LM 推导，没有对应参数。“恒为 X”表示该侧无可设置项，行为固定。
- `…KEY` 为模型键：静态图为 `model.model_config.KEY`，动态图为 `model.KEY`。“–”表示该侧没有此概念。
- “也读取”为某些版本中含义相同的名称；accmap 可读取，写出时用第一个。
- “已在…上证明”指出为该条目实际运行过两侧模型的版本组合：两侧取同一值时一致，仅一侧取该值时不一致
  （见 [verify](verify.zh-CN.md#映射表的证明)）。“经阅读源码确认为精确”表示未做此类运行。
- 句中的 `{{字段}}` 表示该字段的取值。
- [n] 为各主题末尾的来源编号；形如 `map.model.02` 的编号指精度指南中的条目。

| 转换 | |
| --- | --- |
""",
)
_HEAD = (
    "| Field | Megatron-LM | MindSpore Transformers | Translation | |\n| --- | --- | --- | --- | --- |",
    "| 字段 | Megatron-LM | MindSpore Transformers | 转换 | |\n| --- | --- | --- | --- | --- |",
)
_GUIDE = ("## Where the accuracy guide and the code differ", "## 精度指南与代码不一致之处")
_COMPUTED = (
    """## Computed quantities

What follows from the fields by each framework's own formulas, with the pairs of versions in which values of the named
fields moved it alike on both sides and the real models matched.

| Quantity | Proof |
| --- | --- |""",
    """## 计算量

各框架按自身公式由字段算出的量。右列为验证过的版本组合：改变所列字段时，该量在两侧的变化相同，且真实模型一致。

| 计算量 | 证明 |
| --- | --- |""",
)
_BY = ("{words} by {fields}", "{words}，依据 {fields}")
_WITHOUT = (
    """## Without a row

Arguments and keys that no row is about, by the reason why. Every one that a file writes is named in the loss report.
""",
    """## 没有条目的参数与键

按原因列出。文件中写出的每一个都会出现在转换报告中。
""",
)
_REASON_HEAD = (
    "| Why | Touches | Megatron-LM arguments | MindSpore Transformers keys |\n| --- | --- | --- | --- |",
    "| 原因 | 影响 | Megatron-LM 参数 | MindSpore Transformers 键 |\n| --- | --- | --- | --- |",
)
_IMPACT = {
    "numerics": ("numbers", "数值"),
    "performance": ("performance", "性能"),
    "none": ("neither", "无"),
}
_NOTHING = "–"
_ALSO = ("; also read: {names}", "；也读取：{names}")
_STATIC = ("static: {text}", "静态图：{text}")
_DYNAMIC = ("dynamic: {text}", "动态图：{text}")
_ONLY = ("Where {text}.", "有效条件：{text}。")
_IF = ("If {when}: {text}", "若{when}：{text}")
_SOURCES = ("Sources: {text}", "来源：{text}")
_STATIC_MODEL, _DYNAMIC_MODEL = "model.model_config.", "model."
_MANY = 12


def products() -> dict[str, str]:
    """Both files of the matrix."""
    return {f"docs/{name}": document(language) for language, name in FILES.items()}


def document(language: Language) -> str:
    """The matrix in one language."""
    place = 1 if language == "zh" else 0
    spoken = {dialect: known_names("mindformers", dialect) for dialect in ("static", "dynamic")}
    lines = [
        _INTRODUCTION[place]
        .format(megatron=known_names("megatron").replace(", ", "、" if place else ", "), **spoken)
        .rstrip("\n")
    ]
    lines += [
        f"| {term(loss, language)} | {LOSS[loss][place]} |"
        for loss in LOSS
        if any(row.loss == loss for row in table().rows)
    ]
    for topic, rows in groupby(table().rows, key=lambda row: row.topic):
        lines += ["", f"## {_TOPICS[topic][place]}", "", *_topic(tuple(rows), language)]
    lines += ["", _GUIDE[place], ""]
    for row in table().rows:
        if differs_from_guide(row):
            lines.append(f"- `{row.fields[0]}`: {row.zh if place else row.en}")
    lines += ["", _COMPUTED[place], *_quantities(language)]
    lines += ["", _WITHOUT[place], *_without(place)]
    return "\n".join(lines) + "\n"


def _topic(rows: Sequence[Row], language: Language) -> list[str]:
    place = 1 if language == "zh" else 0
    numbers: dict[str, int] = {}
    for row in rows:
        for source in row.sources:
            numbers.setdefault(source, len(numbers) + 1)
    lines = [_HEAD[place]]
    for row in rows:
        cells = (
            _fields(row, language),
            _megatron(row, language),
            _mindformers(row, language),
            "<br>".join(filter(None, (term(row.loss, language), proof_words(row, language)))),
            _remarks(row, language) + " " + ", ".join(f"[{numbers[source]}]" for source in row.sources),
        )
        lines.append(f"| {' | '.join(cell.strip().replace('|', '&#124;') for cell in cells)} |")
    listed = " · ".join(f"[{number}] {source}" for source, number in numbers.items())
    return [*lines, "", _SOURCES[place].format(text=listed)]


def _fields(row: Row, language: Language) -> str:
    known = vocabulary()
    return "<br>".join(f"`{name}` {known[name].zh if language == 'zh' else known[name].en}" for name in row.fields)


def _megatron(row: Row, language: Language) -> str:
    parts: list[str] = []
    for side, when in with_versions(row.megatron, language):
        names = listed([f"`{name}`" if name.startswith("-") else name for name in megatron_names(side)], language)
        parts.append(_side(names, side, when, language))
    return "<br>".join(parts) or _NOTHING


def _mindformers(row: Row, language: Language) -> str:
    place = 1 if language == "zh" else 0
    static, dynamic = _keys(row.static, _STATIC_MODEL, language), _keys(row.dynamic, _DYNAMIC_MODEL, language)
    if static == dynamic:
        return static
    return f"{_STATIC[place].format(text=static)}<br>{_DYNAMIC[place].format(text=dynamic)}"


def _keys(sides: Sequence[Side], prefix: str, language: Language) -> str:
    place = 1 if language == "zh" else 0
    parts: list[str] = []
    for side, when in with_versions(sides, language):
        names = listed([f"`{_short(name, prefix)}`" for name in mindformers_names(side)], language)
        text = _side(names, side, when, language)
        if side.aliases:
            aliases = listed([f"`{_short(shown_key(name), prefix)}`" for name in side.aliases], language)
            text += _ALSO[place].format(names=aliases)
        parts.append(text)
    return "<br>".join(parts) or _NOTHING


def _side(names: str, side: Side, when: str, language: Language) -> str:
    text = names or behaviour(side, language) or _NOTHING
    return text + in_brackets(when, language)


def _short(key: str, prefix: str) -> str:
    return "…" + key.removeprefix(prefix) if key.startswith(prefix) else key


def _remarks(row: Row, language: Language) -> str:
    place = 1 if language == "zh" else 0
    parts = [row.zh if place else row.en] if row.en else []
    if row.only:
        parts.append(_ONLY[place].format(text=conditions(row.only, language)))
    for caveat in row.caveats:
        text = (caveat.zh if place else caveat.en).replace("{", "`{").replace("}", "}`")
        parts.append(_IF[place].format(when=_conditions(caveat.when, language), text=text))
    return ("" if place else " ").join(dict.fromkeys(parts))


def _conditions(given: Sequence[Condition], language: Language) -> str:
    said = conditions(given, language)
    return beside_chinese(said) if language == "zh" else said


def _quantities(language: Language) -> Iterator[str]:
    for name, field in vocabulary().items():
        if name.startswith(COMPUTED):
            known = quantity_proofs(name)
            pairs = dict.fromkeys(pair for _field, listed in known for pair in listed)
            words = (proved_on(pairs) if pairs else say.exact_by_reading()).text(language)
            if known:
                fields = listed([f"`{one}`" for one, _pairs in known], language)
                words = _BY[language == "zh"].format(words=words, fields=fields)
            yield f"| `{name}` {field.zh if language == 'zh' else field.en} | {words} |"


def _without(place: int) -> list[str]:
    known = table()
    lines = [_REASON_HEAD[place]]
    for number, reason in enumerate(known.reasons):
        arguments = [dest for dest, one in known.megatron_reasons.items() if one == number]
        keys = sorted(path for path, one in known.mindformers_reasons if one == number)
        cells = (reason.zh if place else reason.en, _IMPACT[reason.impact][place], _first(arguments), _first(keys))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _first(names: Sequence[str]) -> str:
    """The first names, and how many there are."""
    shown = ", ".join(f"`{name}`" for name in names[:_MANY])
    return f"{shown}, … ({len(names)})" if len(names) > _MANY else shown or _NOTHING

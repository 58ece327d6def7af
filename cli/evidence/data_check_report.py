"""The answer of `accmap data check` as a page of text, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.border.outgoing import page, painted
from ...schemas.verdict import WORDS
from ..terminal import shortened, wants_colour

if TYPE_CHECKING:
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language

Answer = dict[str, Any]

_WORDS = {
    "good": ("good", "正常"),
    "bad": ("bad", "有问题"),
    **WORDS,
    "shape": (
        "{sequences} sequences, {documents} documents, {tokens} tokens of {dtype}",
        "{sequences} 个序列，{documents} 个文档，{tokens} 个 {dtype} token",
    ),
    "lengths": ("lengths {minimum} to {maximum}, mean {mean:.1f}", "长度 {minimum} 至 {maximum}，平均 {mean:.1f}"),
    "ids": ("ids {minimum} to {maximum}", "id 范围 {minimum} 至 {maximum}"),
    "part": (" in {tokens} tokens looked at", "（抽查 {tokens} 个 token）"),
    "ends": ("{share:.1%} of the sequences end with {id}", "{share:.1%} 的序列以 {id} 结尾"),
    "count": ("id {id} occurs {count} times", "id {id} 出现 {count} 次"),
    "trip": ("{equal} of {tried} sequences survive text and back", "{tried} 个序列中 {equal} 个解码再编码后不变"),
    "draws": (
        "asks for {samples} samples of {length} tokens, seed {seed}, split {split}, {batch} a step",
        "请求 {samples} 个长度 {length} 的样本，种子 {seed}，split {split}，每步 {batch} 个",
    ),
    "rows": (
        "takes {samples} rows of {length} tokens in the order of the files, {batch} a step",
        "按文件顺序取 {samples} 行，每行 {length} 个 token，每步 {batch} 个",
    ),
    "shuffled": (
        "takes {samples} rows of {length} tokens in an order that MindSpore draws, {batch} a step",
        "按 MindSpore 随机产生的顺序取 {samples} 行，每行 {length} 个 token，每步 {batch} 个",
    ),
    "columns": ("MindRecord, {count} file(s), columns {columns}", "MindRecord，{count} 个文件，列 {columns}"),
    "index": (
        "{prefix}{weight}: {samples} samples in {epochs} epoch(s){apart}",
        "{prefix}{weight}：{epochs} 个 epoch 共 {samples} 个样本{apart}",
    ),
    "apart": (", the last one apart", "，最后一个单独打乱"),
    "own": ("none, the files are training's own", "无，使用单独的训练文件"),
    "same": (
        "the first {samples} samples ({steps} steps) are the same{whole}",
        "前 {samples} 个样本（{steps} 步）相同{whole}",
    ),
    "whole": (", and so is the whole run", "，整个训练也相同"),
    "set": (
        "in {equal} of {steps} steps the same samples are used",
        "{steps} 步中有 {equal} 步使用相同的样本",
    ),
    "sample": ("sample {sample}", "样本 {sample}"),
    "input": ("input", "输入"),
    "label": ("label", "标签"),
}
_COLOURS = {
    "good": "green",
    "bad": "red",
    "undecided": "yellow",
    "partial": "yellow",
    "error": "red",
    "warning": "yellow",
    "info": "cyan",
}
_TEXT = 160


def text_page(answer: Answer, language: Language) -> Outgoing:
    """The page, ending in a line break."""
    made = _Page(language)
    verdict = answer["verdict"]
    made.line(painted(made.word(verdict), _COLOURS[verdict], made.colour))
    for entry in answer["not_compared"]:
        made.line(f"  {entry['what']}: {entry['reason']}")
    for dataset in answer["datasets"]:
        made.dataset(dataset)
    for side in answer["sides"]:
        made.side(side)
    if answer["agreement"] is not None:
        made.agreement(answer["agreement"])
    for entry in answer["decoded"]:
        made.decoded(entry)
    for entry in answer["problems"]:
        made.problem(entry)
    return page(made.lines)


class _Page:
    def __init__(self, language: Language) -> None:
        self._chinese = language == "zh"
        self.colour = wants_colour()
        self.lines: list[str] = []

    def word(self, name: str, **values: object) -> str:
        return _WORDS[name][self._chinese].format(**values)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def dataset(self, dataset: Answer) -> None:
        self.line(f"{dataset['prefix']}")
        counts = {key: f"{dataset[key]:,}" for key in ("sequences", "documents", "tokens")}
        self.line(f"  {self.word('shape', **counts, dtype=dataset['dtype'])}")
        if dataset["columns"] is not None:
            named = ", ".join(dataset["columns"])
            self.line(f"  {self.word('columns', count=len(dataset['files']), columns=named)}")
        if dataset["lengths"] is not None:
            self.line(f"  {self.word('lengths', **dataset['lengths'])}")
        seen = dataset["seen"]
        if seen is None:
            return
        if seen["minimum"] is not None:
            part = "" if seen["complete"] else self.word("part", tokens=f"{seen['tokens']:,}")
            self.line(f"  {self.word('ids', **seen)}{part}")
        for end in seen["ends"][:1]:
            share = end["sequences"] / seen["sequences"]
            self.line(f"  {self.word('ends', id=end['id'], share=share)}")
        for token, count in seen["counts"].items():
            self.line(f"  {self.word('count', id=token, count=f'{count:,}')}")
        if dataset["round_trip"] is not None:
            self.line(f"  {self.word('trip', **dataset['round_trip'])}")

    def side(self, side: Answer) -> None:
        self.line(f"{side['file']}  {side['framework']} {side['framework_version']}")
        if side["samples"] is None or not side["data"]:
            return
        if side["seed"] is None and side["data"][0]["asked"] is None and side["split"] is None:
            word = "shuffled" if side["shuffled"] else "rows"
            length = side["sample_length"] or "?"
            self.line(f"  {self.word(word, samples=side['samples'], length=length, batch=side['global_batch'])}")
            return
        split = self.word("own") if side["split"] is None else side["split"]
        values = {"samples": side["samples"], "length": side["sample_length"], "seed": side["seed"], "split": split}
        self.line(f"  {self.word('draws', **values, batch=side['global_batch'])}")
        for entry in side["data"]:
            if entry["samples"] is None:
                continue
            weight = "" if entry["weight"] is None else f" × {entry['weight']:g}"
            apart = self.word("apart") if entry["last_epoch_apart"] else ""
            self.line(f"  {self.word('index', **{**entry, 'weight': weight, 'apart': apart})}")

    def agreement(self, agreement: Answer) -> None:
        if agreement["first_difference"] is None and agreement["steps"]:
            whole = self.word("whole") if agreement["whole_run"] else ""
            self.line(self.word("same", samples=agreement["samples"], steps=agreement["steps"], whole=whole))
        elif agreement["steps"]:
            self.line(self.word("set", equal=agreement["equal_steps"], steps=agreement["steps"]))

    def decoded(self, entry: Answer) -> None:
        self.line(f"{entry['file']} {self.word('sample', sample=entry['sample'])}")
        for name, key in (("input", "inputs"), ("label", "labels")):
            text = entry[key].replace("\n", "⏎")
            self.line(f"  {self.word(name)}: {shortened(text, _TEXT)}")

    def problem(self, entry: Answer) -> None:
        place = entry["file"]
        if entry["span"] is not None:
            place = f"{entry['span'].get('file') or place}:{entry['span']['line']}:{entry['span']['column']}"
        code = painted(entry["code"], _COLOURS[entry["severity"]], self.colour)
        self.line(f"{place}: {code} {entry['message']}")

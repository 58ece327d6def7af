"""The answer of `accmap data check` as a page of text, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.border.text_output import page, paint
from ..messages_compiled import say
from ..terminal import shorten, wants_colour

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language

Answer = dict[str, Any]

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
    made.line(paint(made.word(verdict), _COLOURS[verdict], made.colour))
    for entry in answer["not_compared"]:
        made.line(f"  {entry['what']}: {entry['reason']}")
    for dataset in answer["datasets"]:
        made.dataset(dataset)
    for side in answer["sides"]:
        made.side(side)
    if answer["agreement"] is not None:
        made.agreement(answer["agreement"])
    for entry in answer["decoded"]:
        made.decoded_sample(entry)
    for entry in answer["problems"]:
        made.problem(entry)
    return page(made.lines)


class _Page:
    def __init__(self, language: Language) -> None:
        self.word = say.page("data_check", language)
        self.colour = wants_colour()
        self.lines: list[str] = []

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

    def decoded_sample(self, entry: Answer) -> None:
        self.line(f"{entry['file']} {self.word('sample', sample=entry['sample'])}")
        for name, key in ((self.word("input"), "inputs"), (self.word("label"), "labels")):
            text = entry[key].replace("\n", "⏎")
            self.line(f"  {name}: {shorten(text, _TEXT)}")

    def problem(self, entry: Answer) -> None:
        place = entry["file"]
        if entry["span"] is not None:
            place = f"{entry['span'].get('file') or place}:{entry['span']['line']}:{entry['span']['column']}"
        code = paint(entry["code"], _COLOURS[entry["severity"]], self.colour)
        self.line(f"{place}: {code} {entry['message']}")

"""What explains a code: one page in English and Chinese, made from the catalog, a reader's messages or a docstring.

They are `docs/rules/`; `accmap explain CODE` prints one.
"""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple, cast
from ..schemas.terms import term

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..schemas.diagnostic import Language

HEADINGS = {
    "what": ("What it checks", "检查内容"),
    "why": ("Why it matters", "为什么重要"),
    "message": ("Message", "消息"),
    "example": ("Example", "示例"),
    "instead": ("Use instead", "应改为"),
    "fields": ("Compared fields", "比较的字段"),
    "options": ("Options", "选项"),
    "source": ("Source", "来源"),
}
_SIDES = {
    "megatron": (("Megatron-LM", "Megatron-LM"), "bash"),
    "mindformers": (("MindSpore Transformers", "MindSpore Transformers"), "yaml"),
    "command": (("Command line", "命令行"), "bash"),
}
_KINDS = {
    "rule": ("rule", "规则"),
    "checklist-item": ("checklist item, for a person to tick", "检查项，由人工确认"),
    "reader": ("found while reading the file", "读取文件时发现"),
    "advisory": ("known defect of a framework", "框架的已知缺陷"),
}
_MEANING = {
    "SYN": ("Files", "文件"),
    "MAP": ("Keys", "键"),
    "NET": ("Network", "网络结构"),
    "MOE": ("Mixture of experts", "MoE"),
    "OPT": ("Optimizer", "优化器"),
    "SCH": ("Learning rate", "学习率"),
    "WGT": ("Weights", "权重"),
    "PRC": ("Precision", "混合精度"),
    "PAR": ("Parallelism", "并行策略"),
    "RCP": ("Recomputation", "重计算"),
    "DAT": ("Data", "数据"),
    "ENV": ("Environment", "环境"),
    "RUN": ("Run", "运行"),
    "DEF": ("Known defects", "已知缺陷"),
}


class Page(NamedTuple):
    """One page: its title, a line of facts, and sections of text."""

    code: str
    name: str
    facts: tuple[str, ...]
    sections: tuple[tuple[str, str], ...]

    def markdown(self, level: int = 1) -> str:
        """The page as Markdown."""
        lines = [f"{'#' * level} {self.code} {self.name}", "", " · ".join(self.facts)]
        for heading, text in self.sections:
            lines += ["", f"{'#' * (level + 1)} {heading}", "", text]
        return "\n".join(lines) + "\n"


_LANGUAGES: tuple[Language, Language] = ("en", "zh")


def page(code: str, language: Language) -> Page | None:
    """The page of a code; None where there is no such code."""
    from .pages_compiled import PAGES

    entry = cast("Mapping[str, Any] | None", PAGES.get(code))
    if entry is None:
        return _own_page(code, language)
    place = 1 if language == "zh" else 0
    if "reader" in entry:
        return _reader_page(code, entry, place)
    return _rule_page(code, entry, place)


def every_page() -> Iterator[str]:
    """Every code that has a page."""
    from .pages_compiled import PAGES

    yield from PAGES
    yield from _own_kinds()


def _rule_page(code: str, entry: Mapping[str, Any], place: int) -> Page:
    from .registry import rule

    known = rule(code)
    facts = [
        _MEANING[code[:3]][place],
        term(known.severity, _LANGUAGES[place]),
        ", ".join(known.profiles),
        _KINDS[known.kind][place],
    ]
    sections: list[tuple[str, str]] = [(HEADINGS["what"][place], _what(entry, place))]
    sections.append((HEADINGS["why"][place], entry["why"][place]))
    messages = [sentences[place] for sentences in known.messages.values()]
    if known.check and messages and known.kind == "rule":
        sections.append((HEADINGS["message"][place], "\n".join(f"- {sentence}" for sentence in messages)))
    sections += _examples(entry, place)
    if entry["options"]:
        listed = "\n".join(f"- `rules.{code}.{name} = {value}`" for name, value in entry["options"].items())
        sections.append((HEADINGS["options"][place], listed))
    sections.append((HEADINGS["source"][place], _sources(entry)))
    return Page(code, known.name, tuple(facts), tuple(sections))


def _what(entry: Mapping[str, Any], place: int) -> str:
    from ..mapper.recipe.vocabulary import vocabulary

    fields = vocabulary()
    listed = [
        f"- `{name}`: {fields[name].zh if place else fields[name].en}" for name in entry["fields"] if name in fields
    ]
    if entry["what"] is not None:
        return "\n".join([entry["what"][place], *(["", *listed] if listed else [])])
    first = (
        "Whether both sides have the same effective value; a key that is not given means that side's default.",
        "两侧的有效值是否一致；未给出的键按该侧默认值处理。",
    )[place]
    return "\n".join([first, "", *listed])


def _reader_page(code: str, entry: Mapping[str, Any], place: int) -> Page:
    facts = (_MEANING[code[:3]][place], term(entry["severity"], _LANGUAGES[place]), _KINDS["reader"][place])
    sections = (
        (HEADINGS["what"][place], entry["what"][place]),
        (HEADINGS["why"][place], entry["why"][place]),
        (HEADINGS["message"][place], "\n".join(f"- {messages[place]}" for messages in entry["messages"])),
        *_examples(entry, place),
        (HEADINGS["source"][place], _sources(entry)),
    )
    return Page(code, str(entry["reader"]), facts, sections)


def _examples(entry: Mapping[str, Any], place: int) -> list[tuple[str, str]]:
    return [(HEADINGS[name][place], _blocks(entry[name], place)) for name in ("example", "instead") if entry[name]]


def _sources(entry: Mapping[str, Any]) -> str:
    """Every source in a line, with where it is to be read."""
    pairs = zip(entry["sources"], entry["links"], strict=True)
    return "\n".join(f"- {source}: {link}" if link else f"- {source}" for source, link in pairs)


def _own_kinds() -> dict[str, Any]:
    from .engine import CRASHED
    from .suppressions import UNKNOWN, UNUSED

    return {kind.code: kind for kind in (UNUSED, UNKNOWN, CRASHED)}


def _own_page(code: str, language: Language) -> Page | None:
    from .pages_compiled import OWN

    kind = _own_kinds().get(code)
    if kind is None:
        return None
    said = {"reader": kind.name, "severity": kind.severity, "messages": ((kind.en, kind.zh),)}
    return _reader_page(code, {**cast("Mapping[str, Any]", OWN)[code], **said}, 1 if language == "zh" else 0)


def _blocks(example: Mapping[str, str], place: int) -> str:
    parts: list[str] = []
    for side, text in example.items():
        names, language = _SIDES[side]
        if side == "mindformers" and text.startswith(("export ", "python ")):
            language = "bash"
        parts += [f"{names[place]}:", "", f"```{language}", text, "```", ""]
    return "\n".join(parts).rstrip()


def products() -> dict[str, str]:
    """Every file of `docs/rules/`: an index, and a page a code in both languages."""
    files: dict[str, str] = {}
    index = ["# Rules", "", "Every code that `accmap lint` reports, by checklist. / `accmap lint` 报告的全部代码。", ""]
    codes = sorted(every_page(), key=lambda code: (list(_MEANING).index(code[:3]), code))
    before = ""
    for code in codes:
        english, chinese = page(code, "en"), page(code, "zh")
        assert english is not None
        assert chinese is not None
        if code[:3] != before:
            before = code[:3]
            meaning = _MEANING[before]
            index += ["", f"## {before} {meaning[0]} / {meaning[1]}", "", "| Code | Name | |", "| --- | --- | --- |"]
        index.append(f"| [{code}]({code}.md) | {english.name} | {' · '.join(english.facts[1:])} |")
        files[f"docs/rules/{code}.md"] = f"{english.markdown()}\n---\n\n{chinese.markdown()}"
    files["docs/rules/README.md"] = "\n".join(index) + "\n"
    return files

"""The playbook's pages: one for the whole and one a stage, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.border.outgoing import markdown_code, shell_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.diagnostic import Language
    from .plan import Plan
    from .table import Check, Stage

FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}

_WORDS: dict[str, tuple[str, str]] = {
    "title": ("# Accuracy playbook", "# 精度对齐流程"),
    "intro": (
        "Megatron-LM {megatron} is the benchmark, MindSpore Transformers {mindformers} the run to equal it.",
        "Megatron-LM {megatron} 为标杆，MindSpore Transformers {mindformers} 需与之一致。",
    ),
    "order": (
        "Work through the stages in order: a later one tells nothing while an earlier one fails. Run commands here.",
        "请按顺序进行；前一阶段未通过时，后一阶段的结果没有意义。命令均在本目录下执行。",
    ),
    "source": (
        "The simplified pairs are made from {source}; both their files are equal by construction.",
        "各阶段的简化配置由 {source} 生成，两侧文件按构造即等价。",
    ),
    "status": ("What is done and what comes next:", "查看进展与下一步："),
    "head": ("| stage | check | accepted |\n| --- | --- | --- |", "| 阶段 | 检查 | 验收标准 |\n| --- | --- | --- |"),
    "do": ("Do:", "操作："),
    "judge": ("Judge:", "判断："),
    "ticks": ("Tick every box of `{file}`.", "在 `{file}` 中逐项打勾。"),
    "needs": ("Needs: {files}", "需要：{files}"),
    "accept": ("**Accepted:** {text}", "**通过标准：** {text}"),
    "else": ("**Otherwise:** {text}", "**否则：** {text}"),
    "optional": (" (where needed)", "（按需）"),
    "sources": ("Guide: {ids}", "指南条目：{ids}"),
    "files": ("Files here were written by:", "本阶段文件由以下命令生成："),
}


def pages(plan: Plan) -> dict[str, str]:
    """All pages by path."""
    found: dict[str, str] = {}
    for language, name in FILES.items():
        found[name] = "\n".join(_overview(plan, language)) + "\n"
        for stage in plan.stages:
            found[f"{stage.folder}/{name}"] = "\n".join(_page(stage, language)) + "\n"
    return found


def command_line(words: tuple[str, ...]) -> str:
    """An accmap command as a person types it."""
    return " ".join(map(shell_word, ("accmap", *words)))


def _say(name: str, language: Language, /, **values: object) -> str:
    return _WORDS[name][language == "zh"].format_map(values)


def _overview(plan: Plan, language: Language) -> Iterator[str]:
    names = {side: markdown_code(name) for side, name in plan.names._asdict().items()}
    yield _say("title", language)
    yield from ("", _say("intro", language, **names))
    yield from ("", _say("order", language))
    yield from ("", _say("source", language, **names))
    yield from ("", _say("status", language), "", "```bash", "accmap playbook status .", "```", "")
    yield _say("head", language)
    for stage in plan.stages:
        link = f"[{stage.title[language]}]({stage.folder}/{FILES[language]})"
        for check in stage.checks:
            yield f"| {link} | {_title(check, language)} | {check.accept[language]} |"
            link = ""


def _title(check: Check, language: Language) -> str:
    return check.title[language] + (_say("optional", language) if check.optional else "")


def _page(stage: Stage, language: Language) -> Iterator[str]:
    yield f"# {stage.title[language]}"
    yield from ("", stage.aim[language])
    written = [*stage.prepare, *(check.prepare for check in stage.checks if check.prepare)]
    printed = [(file, words) for file, words in stage.writes]
    if written or printed:
        yield from ("", _say("files", language), "", "```bash")
        yield from (command_line(words) for words in written)
        yield from (f"{command_line(words)} > {shell_word(file)}" for file, words in printed)
        yield "```"
    for check in stage.checks:
        yield from ("", f"## {_title(check, language)}")
        actions = check.actions(language)
        if actions:
            yield from ("", _say("do", language), "", "```bash", *actions, "```")
        if check.judge:
            if check.needs:
                yield from ("", _say("needs", language, files=", ".join(map(markdown_code, check.needs))))
            yield from ("", _say("judge", language), "", "```bash", command_line(check.judge), "```")
        if check.ticks:
            yield from ("", _say("ticks", language, file=check.ticks))
        yield from ("", _say("accept", language, text=check.accept[language]))
        yield from ("", _say("else", language, text=check.otherwise[language]))
        yield from ("", _say("sources", language, ids=", ".join(f"`{name}`" for name in check.sources)))

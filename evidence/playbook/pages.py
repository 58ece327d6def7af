"""The playbook's pages: one for the whole and one a stage, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.border.text_output import markdown_code, shell_word
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.diagnostic import Language
    from .plan import Check, Plan, Stage

FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}


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


def _overview(plan: Plan, language: Language) -> Iterator[str]:
    word = say.page("playbook", language)
    names = {side: markdown_code(name) for side, name in plan.names._asdict().items()}
    yield word("title")
    yield from ("", word("intro", **names))
    yield from ("", word("order"))
    yield from ("", word("source", **names))
    yield from ("", word("status"), "", "```bash", "accmap playbook status .", "```", "")
    yield word("head")
    for stage in plan.stages:
        link = f"[{stage.title[language]}]({stage.folder}/{FILES[language]})"
        for check in stage.checks:
            yield f"| {link} | {_title(check, language)} | {check.accept[language]} |"
            link = ""


def _title(check: Check, language: Language) -> str:
    return check.title[language] + (say.page("playbook", language)("optional") if check.optional else "")


def _page(stage: Stage, language: Language) -> Iterator[str]:
    word = say.page("playbook", language)
    yield f"# {stage.title[language]}"
    yield from ("", stage.aim[language])
    written = [*stage.prepare, *(check.prepare for check in stage.checks if check.prepare)]
    printed = [(file, words) for file, words in stage.writes]
    if written or printed:
        yield from ("", word("files"), "", "```bash")
        yield from (command_line(words) for words in written)
        yield from (f"{command_line(words)} > {shell_word(file)}" for file, words in printed)
        yield "```"
    for check in stage.checks:
        yield from ("", f"## {_title(check, language)}")
        actions = check.actions(language)
        if actions:
            yield from ("", word("do"), "", "```bash", *actions, "```")
        if check.judge:
            if check.needs:
                yield from ("", word("needs", files=", ".join(map(markdown_code, check.needs))))
            yield from ("", word("judge"), "", "```bash", command_line(check.judge), "```")
        if check.ticks:
            yield from ("", word("ticks", file=check.ticks))
        yield from ("", word("accept", text=check.accept[language]))
        yield from ("", word("else", text=check.otherwise[language]))
        yield from ("", word("sources", ids=", ".join(f"`{name}`" for name in check.sources)))

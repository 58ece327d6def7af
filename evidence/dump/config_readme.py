"""The README of a dump: what to insert, how to run, how to compare."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...schemas.border.incoming import package_text
from ...schemas.border.outgoing import markdown, shell_word
from ...schemas.compilers.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.diagnostic import Language
    from .config import Plan

FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}
_VERSIONS = {"26": ">=26", "8": ">=8.1,<26"}


def readme(plan: Plan, language: Language) -> str:
    """The text for one language."""
    return "\n".join(_Readme(plan, language).lines()) + "\n"


class _Readme:
    def __init__(self, plan: Plan, language: Language) -> None:
        self.plan = plan
        self.language: Language = language

    def _say(self, name: str, /, **values: object) -> str:
        return _words()[name][self.language].format_map(values)

    def lines(self) -> Iterator[str]:
        plan = self.plan
        request = plan.request
        operators = request.kind != "msprobe"
        yield self._say(
            "title_operators" if operators else "title", kind=request.kind, level=request.level, task=request.task
        )
        if plan.derived is not None:
            yield from ("", self._say("derived", side=self._say(plan.derived)))
        if plan.findings:
            yield from ("", self._say("findings"), "")
            yield from (f"- {found.kind.code} {markdown(found.message(self.language))}" for found in plan.findings)
        if operators:
            yield from ("", self._say("run_operators", name="*"), "", "```bash")
            yield from (f"export {name}={shell_word(value)}" for name, value in plan.environment.items())
            yield "```"
            return
        yield from self._insert()
        first = f"step{request.steps[0].first}" if request.steps else "step0"
        last = f"step{request.steps[-1].last}" if request.steps else first
        yield from ("", self._say("run"), "", self._say("run_text", step=last))
        yield from self._compare()
        if request.precheck:
            yield from ("", self._say("precheck"), "")
            names = {"file": "msprobe_precheck.json", "config": "msprobe_mindformers.json"}
            yield from (self._say("precheck_text", **names), "", "```bash", *plan.commands["precheck"], "```")

    def _insert(self) -> Iterator[str]:
        version = _VERSIONS[self.plan.request.form]
        yield from ("", self._say("install"), "", self._say("install_text", version=version), "", self._say("insert"))
        for insertion in self.plan.insertions:
            where = self._say(f"where_{insertion.where}", anchor=insertion.anchor)
            side, note = self._say(insertion.side), insertion.zh if self.language == "zh" else insertion.en
            place = self._say("place", side=side, file=insertion.file, within=insertion.within, where=where, note=note)
            yield from ("", place, "")
            yield from ("```python", *insertion.code.rstrip("\n").split("\n"), "```")

    def _compare(self) -> Iterator[str]:
        plan = self.plan
        yield from ("", self._say("compare"), "", self._say("compare_text"), "", "```bash")
        yield from (*plan.commands["compare"], "```", "")
        if plan.further:
            yield from (self._say("further", count=plan.further), "")
        if plan.joined:
            yield from (self._say("joined"), "")
        yield self._say("next_text")
        if plan.compiled:
            yield from ("", self._say("next_eager"))


@cache
def _words() -> Any:
    return load_table(package_text(os.path.dirname(__file__), "config_readme.yaml"))

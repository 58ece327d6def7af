"""The README of a pair: how to launch both sides, what to compare, what was changed and what still differs."""

from __future__ import annotations

import os
from functools import cache

from ...mappings.keys_compiled import OUTPUT
from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import markdown, markdown_code
from ...schemas.compilers.tables import load_table
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.plain_values import json_value
from .pair import CONFIGURATION, INITIAL, SCRIPT
from .table import alignment_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ...schemas.config import Value
    from ...schemas.diagnostic import Language
    from ..translate.result import ReportRow
    from .pair import Pair

FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}
DEVICES_PER_NODE = 8


def readme(pair: Pair, language: Language) -> str:
    """The text for one language."""
    return "\n".join(_Readme(pair, language).lines()) + "\n"


class _Readme:
    def __init__(self, pair: Pair, language: Language) -> None:
        self.pair = pair
        self.language: Language = language
        self.words = _words()
        self.nodes = max(1, -(-pair.devices // DEVICES_PER_NODE)) if pair.devices % DEVICES_PER_NODE == 0 else 1

    def lines(self) -> Iterator[str]:
        """Every line."""
        yield from self._head()
        yield from self._launch()
        yield from self._compare()
        yield from self._weights()
        yield from self._report()
        if self.pair.alignment is not None:
            yield from self._ladder()

    def _say(self, name: str, /, **values: object) -> str:
        return self._fill(self.words[name], **values)

    def _fill(self, words: dict[str, str], **values: object) -> str:
        return words[self.language].format_map({**_NAMES, **values})

    def _head(self) -> Iterator[str]:
        pair = self.pair
        yield self._say("title", megatron=pair.megatron.version, mindformers=pair.mindformers.version)
        yield ""
        yield self._say("intro", source=markdown_code(pair.source.rsplit("/", 1)[-1]))
        if pair.alignment is not None:
            number, last = pair.alignment.number, len(alignment_table().steps) - 1
            step = pair.alignment.step
            yield ""
            if number == last:
                yield self._say("last")
            else:
                values = {"number": number, "last": last, "name": step.name, "next": number + 1}
                yield self._say("aligned", text=step.text(self.language), **values)

    def _launch(self) -> Iterator[str]:
        nodes = "" if self.nodes == 1 else self._say("nodes", nodes=self.nodes)
        yield from ("", self._say("launch"), "", self._say("megatron", nodes=nodes), "", "```bash")
        yield f"bash /path/to/{SCRIPT} 2>&1 | tee megatron.log"
        yield from ("```", "", self._say("mindformers", nodes=nodes), "", "```bash")
        yield from self._exports()
        yield self._msrun(CONFIGURATION)
        yield from ("```", "", self._say("logs"))
        if self.pair.megatron.recipe.value("run.deterministic"):
            yield from ("", self._say("seeds"))
        if self.pair.mindformers.recipe.value("gradient.local_norm"):
            yield from ("", self._say("norms"))

    def _exports(self) -> Iterator[str]:
        alignment = self.pair.alignment
        if alignment is None:
            return
        for name, value in alignment.environment.items():
            yield f"export {name}={value}"

    def _msrun(self, file: str) -> str:
        mode = " --mode 1" if self.pair.mindformers.dialect == "dynamic" else ""
        started = f'bash scripts/msrun_launcher.sh "run_mindformer.py --config /path/to/{file}{mode}"'
        if self.nodes == 1:
            return f"{started} {self.pair.devices}"
        last = "$MASTER_ADDR 8118 $NODE_RANK output/msrun_log False 7200"
        return f"{started} {self.pair.devices} {DEVICES_PER_NODE} {last}"

    def _compare(self) -> Iterator[str]:
        recipe = self.pair.mindformers.recipe
        steps = recipe.value("run.train_steps")
        shown = f"; steps_per_epoch = {steps}" if isinstance(steps, int) else ""
        parts = [
            self._fill(self.words["loss_parts"][name])
            for name, used in (("moe", recipe.value("moe.num_experts")), ("mtp", recipe.value("mtp.num_layers")))
            if used
        ]
        named = self._say("and").join(parts or [self._fill(self.words["loss_parts"]["moe"])])
        yield from ("", self._say("compare"), "")
        for row in self.words["compare_rows"]:
            yield self._fill(row, steps=shown, parts=named)
        yield ""
        yield from (self._fill(line) for line in self.words["order"])

    def _weights(self) -> Iterator[str]:
        dynamic = self.pair.mindformers.dialect == "dynamic"
        load = "`checkpoint.load_path: DIR`" if dynamic else "`load_checkpoint: DIR`"
        settings = {setting.key: setting.value for setting in self.pair.mindformers.settings}
        folder = settings.get(OUTPUT[self.pair.mindformers.dialect], "./output")
        made, hint, *rest = self.words["weights_steps"]
        yield from ("", self._say("weights"), "", self._say("weights_text"), "")
        first = hint if self.pair.initial is None else made
        yield self._fill(first, output=markdown_code(f"{str(folder).rstrip('/')}/checkpoint"))
        yield from (self._fill(line, load=load) for line in rest)
        if self.pair.initial is not None:
            yield from ("", "```bash", self._msrun(INITIAL), "```")

    def _report(self) -> Iterator[str]:
        unresolved = [row for row in self.pair.rows if row.status == "unresolved"]
        if unresolved:
            yield from ("", self._say("fill"), "")
            yield from (self._row(row) for row in unresolved)
        if self.pair.changes:
            yield from ("", self._say("changed"), "", self._say("changed_head"), "| --- | --- | --- | --- |")
            for change in self.pair.changes:
                before, after = _cell(change.before), _cell(change.after)
                yield f"| `{change.field}` | {before} | {after} | {change.reason(self.language)} |"
        differing = [
            row for row in self.pair.rows if row.impact == "numerics" and row.status in ("dropped", "approximate")
        ]
        yield from ("", self._say("differs"), "")
        if not differing:
            yield self._say("nothing")
        yield from (self._row(row) for row in differing)

    def _row(self, row: ReportRow) -> str:
        named = ", ".join(map(markdown_code, row.source)) or markdown_code(row.field or "-")
        return f"- {named}: {markdown(row.zh if self.language == 'zh' else row.en)}"

    def _ladder(self) -> Iterator[str]:
        yield from ("", self._say("ladder"), "")
        for number, step in enumerate(alignment_table().steps):
            yield f"{number}. `{step.name}`: {step.text(self.language)}"


_NAMES = {"script": SCRIPT, "yaml": CONFIGURATION, "initial": INITIAL}


@cache
def _words() -> Any:
    return load_table(package_text(os.path.dirname(__file__), "readme.yaml"))


def _cell(value: Value) -> str:
    shown = json_value(value)
    if shown is None:
        return "-"
    if isinstance(shown, bool):
        shown = str(shown).lower()
    return markdown_code(str(shown))

"""Everything that a dump of a pair needs: configurations, mappings, lines to insert, commands and a README.

`plan` reads nothing and writes nothing; it answers with the texts of the files, what has to be said about the wish,
and what to run. With a finding that is an error there are no files: such a dump would be empty or wrong.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import markdown, shell_word
from ...schemas.compilers.tables import load_table
from ...schemas.diagnostic import diagnose
from ...schemas.fast_records import NamedTuple
from ..answers_compiled import insertion_json
from .config_checks import check, in_graph_mode
from .config_files import compare_input, insertions, mindspore_dump, msprobe_config, yaml_text
from .config_mapping import StageMapping, api_mapping_of, mappings_of, naming
from .config_modules import modules_of, with_places
from .config_request import LayoutUnknownError, chunks_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...schemas.diagnostic import Diagnostic, Language
    from .config_files import Insertion
    from .config_modules import ModulePair
    from .config_request import Chunk, Request, Side, Subject

FILES: dict[Side, str] = {"megatron": "msprobe_megatron.json", "mindformers": "msprobe_mindformers.json"}
PRECHECK = "msprobe_precheck.json"
OPERATORS = "mindspore_dump.json"
ENVIRONMENT = "environment.sh"
COMMANDS = "compare.sh"
PRECHECKING = "precheck.sh"
_UNDISTRIBUTED = {("26", False): "proc*", ("26", True): "rank*", ("8", False): "rank", ("8", True): "rank"}
"""What msprobe calls the directory of a run without ranks, by its generation and whether the graph is compiled; where
the name has a number that only the run knows, the shell finds it. Source: msprobe 26.2.0 and 8.3.3 `service.py`,
`mindspore/dump/dump_processor/cell_dump_process.py:process_step`."""


class Plan(NamedTuple):
    """One dump, ready to be written."""

    request: Request
    files: dict[str, str]
    environment: dict[str, str]
    """Variables of the MindSpore launch."""
    insertions: tuple[Insertion, ...]
    commands: dict[str, list[str]]
    """What to run after the dumps: `compare` and `precheck`."""
    findings: tuple[Diagnostic, ...]
    derived: str | None
    """The side that is a translation, where only one file was given."""
    further: int = 0
    """How many heads of multi-token prediction share Megatron-LM's output layer with the model."""
    joined: bool = False
    """Whether the latent attention's down projections are one matrix on one side only."""
    compiled: bool = False
    """Whether the MindSpore side runs in graph mode, where msprobe has modules only."""

    @property
    def has_errors(self) -> bool:
        """True if the wish cannot be met."""
        return any(finding.kind.severity == "error" for finding in self.findings)

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The command's answer, without the places that the files were written to."""
        request = self.request
        return {
            "kind": request.kind,
            "level": request.level,
            "task": request.task,
            "steps": [span.text() for span in request.steps],
            "ranks": [span.text() for span in request.ranks],
            "scope": [f"{record.place}.{record.direction}.{record.call}" for record in request.scope],
            "derived": self.derived,
            "environment": self.environment,
            "insertions": [insertion_json(insertion, language) for insertion in self.insertions],
            "commands": self.commands,
            "findings": [finding.to_json(language) for finding in self.findings],
        }


def plan(subject: Subject, request: Request, folder: str) -> Plan:
    """The dump of a pair, as files for the directory `folder` (absolute, because MindSpore demands it)."""
    try:
        return _Planning(subject, request, folder).plan()
    except LayoutUnknownError as error:
        found = diagnose(say.layout(why=error.words), subject.megatron.file, None)
        return Plan(request, {}, {}, (), {}, (found,), subject.derived)


class _Planning:
    def __init__(self, subject: Subject, request: Request, folder: str) -> None:
        self.subject = subject
        self.folder = folder
        # MindSpore's own dump of everything asks nothing of the modules.
        self.modules = modules_of(subject) if request.kind == "msprobe" or request.scope else ()
        self.request = with_places(request, self.modules)
        self.findings = list(check(request, subject, self.modules))
        self.files: dict[str, str] = {}
        self.commands: dict[str, list[str]] = {}
        self.environment: dict[str, str] = {}
        self.insertions: tuple[Insertion, ...] = ()

    def plan(self) -> Plan:
        if not any(finding.kind.severity == "error" for finding in self.findings):
            if self.request.kind == "msprobe":
                self._msprobe()
            else:
                path = os.path.join(self.folder, OPERATORS)
                data = os.path.join(self.folder, "mindspore")
                family = self.subject.mindformers_recipe.value("model.family")
                name = family if isinstance(family, str) else "model"
                version = self.subject.mindformers.framework_version
                self.files[OPERATORS] = _json(mindspore_dump(self.request, data, name, version))
                self.environment = {"MINDSPORE_DUMP_CONFIG": path}
                if self.request.kind == "mindspore-o2":
                    self.environment["MS_ACL_DUMP_CFG_PATH"] = path
                self.files[ENVIRONMENT] = "".join(
                    f"export {name}={shell_word(value)}\n" for name, value in self.environment.items()
                )
        failed = any(finding.kind.severity == "error" for finding in self.findings)
        return Plan(
            self.request,
            {} if failed else self.files,
            {} if failed else self.environment,
            () if failed else self.insertions,
            {} if failed else self.commands,
            tuple(self.findings),
            self.subject.derived,
            self.subject.number("mtp.num_layers", 0),
            any(module.megatron is None and module.mindformers.endswith("linear_qkv") for module in self.modules),
            in_graph_mode(self.subject),
        )

    def _msprobe(self) -> None:
        try:
            chunks = chunks_of(self.subject)
            mappings = mappings_of(self.subject)
        except LayoutUnknownError as error:
            self.findings.append(diagnose(say.layout(why=error.words), self.subject.megatron.file))
            return
        parts = 1 + max(chunk.part for chunk in chunks)
        configs: dict[Side, str] = {}
        for side, name in FILES.items():
            scope = self._scope(side, chunks, parts)
            data = os.path.join(self.folder, side)
            self.files[name] = _json(msprobe_config(self.request, data, scope, ranks=self._has_ranks(side)))
            configs[side] = os.path.join(self.folder, name)
        self.insertions = insertions(self.subject.dialect, parts, configs)
        for mapping in mappings:
            ending = _ending(mapping, mappings)
            about = "MindSpore Transformers: Megatron-LM"
            self.files[f"layer_mapping{ending}.yaml"] = yaml_text(mapping.layers, f"class: {{{about}}}")
            self.files[f"cell_mapping{ending}.yaml"] = yaml_text(mapping.cells, about)
        if self.request.level != "L0" or self.request.precheck:
            pairs = api_mapping_of(self.subject)
            self.files["api_mapping.yaml"] = yaml_text(pairs, "beyond the pairs that msprobe knows by itself")
        self._compare(mappings)
        if self.request.precheck:
            self._precheck()
        self.files[COMMANDS] = _script(self.commands["compare"])

    def _has_ranks(self, side: Side) -> bool:
        """Only a distributed run has ranks; elsewhere a list of them makes msprobe record nothing."""
        if side == "megatron":
            return True
        recipe = self.subject.mindformers_recipe
        return self.subject.dialect == "dynamic" or recipe.value("parallel.enabled") is not False

    def _scope(self, side: Side, chunks: Sequence[Chunk], parts: int) -> list[str]:
        scope = self.request.scope
        by_place = {module.mindformers: module for module in self.modules}
        scope_names: list[str] = []
        for record in scope if len(scope) != 1 else (scope[0], scope[0]):
            module = by_place[record.place]
            here = [chunk for chunk in chunks if self._holds(chunk, module)]
            stage = here[0].stage if here else 0
            names = naming(self.subject, module, [chunk for chunk in chunks if chunk.stage == stage], parts)
            if side == "mindformers":
                name = f"Cell.{names.mindformers}.{module.mindformers_class}"
            else:
                name = f"Module.{names.megatron}.{module.megatron_class}"
            scope_names.append(f"{name}.{record.direction}.{record.call}")
        return scope_names

    @staticmethod
    def _holds(chunk: Chunk, module: ModulePair) -> bool:
        return module.layer is not None and chunk.first <= module.layer < chunk.first + chunk.layers

    def _compare(self, mappings: Sequence[StageMapping]) -> None:
        size = self.subject.megatron_recipe.value("parallel.world_size")
        stages = len(mappings)
        each = size // stages if isinstance(size, int) and size >= stages else 1
        lines: list[str] = []
        for mapping in mappings:
            ending = _ending(mapping, mappings)
            target, golden = (self._record(side, mapping.stage * each) for side in ("mindformers", "megatron"))
            option = f"-lm layer_mapping{ending}.yaml"
            if self.request.level == "L1":
                option = "-am api_mapping.yaml"
            if self.request.form == "26":
                lines.append(
                    f"msprobe compare -tp {target}/dump.json -gp {golden}/dump.json -o result{ending} {option}"
                )
            else:
                name = f"compare{ending}.json"
                self.files[name] = _json(compare_input(target, golden))
                lines.append(f"msprobe -f mindspore compare -i {name} -o result{ending} {option}")
        self.commands["compare"] = lines

    def _record(self, side: Side, rank: int) -> str:
        """Path of one rank's record of the first step, from the directory."""
        step = self.request.steps[0].first if self.request.steps else 0
        known = _UNDISTRIBUTED[self.request.form, in_graph_mode(self.subject)]
        return f"{side}/step{step}/{f'rank{rank}' if self._has_ranks(side) else known}"

    def _precheck(self) -> None:
        request = self.request._replace(level="L1", scope=())
        data = os.path.join(self.folder, "precheck")
        config = msprobe_config(request, data, (), ranks=self._has_ranks("mindformers"))
        self.files[PRECHECK] = _json(config)
        record = self._record("mindformers", 0).replace("mindformers/", "precheck/", 1)
        command = "msprobe acc_check" if self.request.form == "26" else "msprobe -f mindspore run_ut"
        self.commands["precheck"] = [f"{command} -api_info {record}/dump.json -o result_precheck"]
        self.files[PRECHECKING] = _script(self.commands["precheck"])


def _ending(mapping: StageMapping, mappings: Sequence[StageMapping]) -> str:
    return "" if len(mappings) == 1 else f"_stage{mapping.stage}"


def _script(commands: Sequence[str]) -> str:
    return "\n".join(["#!/usr/bin/env bash", "set -eu", 'cd "$(dirname "$0")"', *commands]) + "\n"


def _json(content: object) -> str:
    return json.dumps(content, indent=4, ensure_ascii=False) + "\n"


README_FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}
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
        version = _VERSIONS[self.plan.request.form]
        yield from ("", self._say("install"), "", self._say("install_text", version=version), "", self._say("insert"))
        for insertion in self.plan.insertions:
            where = self._say(f"where_{insertion.where}", anchor=insertion.anchor)
            side, note = self._say(insertion.side), insertion.zh if self.language == "zh" else insertion.en
            place = self._say("place", side=side, file=insertion.file, within=insertion.within, where=where, note=note)
            yield from ("", place, "")
            yield from ("```python", *insertion.code.rstrip("\n").split("\n"), "```")
        first = f"step{request.steps[0].first}" if request.steps else "step0"
        last = f"step{request.steps[-1].last}" if request.steps else first
        yield from ("", self._say("run"), "", self._say("run_text", step=last))
        yield from self._compare()
        if request.precheck:
            yield from ("", self._say("precheck"), "")
            names = {"file": "msprobe_precheck.json", "config": "msprobe_mindformers.json"}
            yield from (self._say("precheck_text", **names), "", "```bash", *plan.commands["precheck"], "```")

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

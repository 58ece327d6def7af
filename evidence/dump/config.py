"""Everything that a dump of a pair needs: configurations, mappings, lines to insert, commands and a README.

`plan` reads nothing and writes nothing; it answers with the texts of the files, what has to be said about the wish,
and what to run. With a finding that is an error there are no files: such a dump would be empty or wrong.

Sources: MindSpore 2.9 `tools/data_dump/dump_json_parser.cc` (the JSON), msprobe 26.2.0 `core/dump/common_config.py`
and 8.3.3 `core/common_config.py` (its configuration), 8.3.3 `core/compare/utils.py` (compare.json).
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from ...mappings.keys_compiled import SHORT_CHECKSUM
from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import markdown, shell_word
from ...schemas.compilers.tables import load_table
from ...schemas.diagnostic import diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING, Words
from ...schemas.suggestion import closest
from ...schemas.versions import within
from ..answers_compiled import insertion_json
from .config_modules import StageMapping, api_mapping_of, by_any_name, mappings_of, modules_of, naming, with_places
from .config_request import LayoutUnknownError, chunks_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Diagnostic, Language
    from .config_modules import ModulePair
    from .config_request import Chunk, Record, Request, Side, Span, Subject

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
        """True if the requested dump is impossible."""
        return any(finding.kind.severity == "error" for finding in self.findings)

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """Answer of the command, without the paths that files were written to."""
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
    """Plan for dumping both sides of a pair, as files for an absolute `folder`."""
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
        """Plan with files, environment and findings; only the findings if one is an error."""
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
        """Add msprobe's configurations, mapping files and the code to insert."""
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
        """True if a side's run is distributed; elsewhere a list of ranks makes msprobe record nothing."""
        if side == "megatron":
            return True
        recipe = self.subject.mindformers_recipe
        return self.subject.dialect == "dynamic" or recipe.value("parallel.enabled") is not False

    def _scope(self, side: Side, chunks: Sequence[Chunk], parts: int) -> list[str]:
        """First and last module name of the requested scope, as msprobe expects them."""
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
        """True if a pipeline chunk contains the module's layer."""
        return module.layer is not None and chunk.first <= module.layer < chunk.first + chunk.layers

    def _compare(self, mappings: Sequence[StageMapping]) -> None:
        """Add the command lines that compare the dumps, one for each pipeline stage."""
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
        """Path of one rank's record of the first step, relative to the folder."""
        step = self.request.steps[0].first if self.request.steps else 0
        known = _UNDISTRIBUTED[self.request.form, in_graph_mode(self.subject)]
        return f"{side}/step{step}/{f'rank{rank}' if self._has_ranks(side) else known}"

    def _precheck(self) -> None:
        """Add configuration and command of msprobe's single-API precheck."""
        request = self.request._replace(level="L1", scope=())
        data = os.path.join(self.folder, "precheck")
        config = msprobe_config(request, data, (), ranks=self._has_ranks("mindformers"))
        self.files[PRECHECK] = _json(config)
        record = self._record("mindformers", 0).replace("mindformers/", "precheck/", 1)
        command = "msprobe acc_check" if self.request.form == "26" else "msprobe -f mindspore run_ut"
        self.commands["precheck"] = [f"{command} -api_info {record}/dump.json -o result_precheck"]
        self.files[PRECHECKING] = _script(self.commands["precheck"])


def _ending(mapping: StageMapping, mappings: Sequence[StageMapping]) -> str:
    """Ending of a stage's file name; empty if there is one stage only."""
    return "" if len(mappings) == 1 else f"_stage{mapping.stage}"


def _script(commands: Sequence[str]) -> str:
    """A shell script that changes to its own folder and runs the commands."""
    return "\n".join(["#!/usr/bin/env bash", "set -eu", 'cd "$(dirname "$0")"', *commands]) + "\n"


def _json(content: object) -> str:
    return json.dumps(content, indent=4, ensure_ascii=False) + "\n"


README_FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}
_VERSIONS = {"26": ">=26", "8": ">=8.1,<26"}


def readme(plan: Plan, language: Language) -> str:
    """Readme of a dump plan in one language."""
    return "\n".join(_Readme(plan, language).lines()) + "\n"


class _Readme:
    def __init__(self, plan: Plan, language: Language) -> None:
        self.plan = plan
        self.language: Language = language

    def _say(self, name: str, /, **values: object) -> str:
        return _words()[name][self.language].format_map(values)

    def lines(self) -> Iterator[str]:
        """Lines of the readme: installation, code to insert, running and comparing."""
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
        """Lines on how to compare the dumps."""
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


STATISTICS = ("max", "min", "avg", "l2norm")


def mindspore_dump(request: Request, folder: str, name: str, mindformers: str) -> dict[str, Any]:
    """Content of the JSON that MINDSPORE_DUMP_CONFIG names, for the MindSpore of a MindSpore Transformers version."""
    ranks = sorted({number for span in request.ranks for number in range(span.first, span.last + 1)})
    common: dict[str, Any] = {
        "op_debug_mode": 0,
        "dump_mode": 1 if request.scope else 0,
        "path": folder,
        "net_name": name,
        "iteration": "|".join(span.text() for span in request.steps) or "all",
        "saved_data": "tensor" if request.task == "tensor" else "statistic",
        "input_output": 0,
        "kernels": [_kernels(record) for record in request.scope],
        "support_device": ranks or list(range(8)),
    }
    if request.task == "statistics":
        # MindSpore 2.7.0, which belongs to MindSpore Transformers 1.6, has the shorter name.
        checksum = "md5" if within(mindformers, *SHORT_CHECKSUM) else "hash:md5"
        common["statistic_category"] = [checksum] if request.summary == "md5" else list(STATISTICS)
    if request.kind == "mindspore-o2":
        common["file_format"] = "npy"
        return {"common_dump_settings": common}
    return {"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}}


def _kernels(record: Record) -> str:
    """Pattern of all operators below a module: operator names consist of attribute names and classes."""
    pieces = "/".join(f"{piece}-[^/]+" for piece in record.place.split("."))
    return f"name-regex(.*/{pieces}/.*)"


def msprobe_config(request: Request, folder: str, scope: Sequence[str], *, ranks: bool) -> dict[str, Any]:
    """The config.json of msprobe for one side; `ranks` is false where that side has no ranks to choose from."""
    block: dict[str, Any] = {"scope": list(scope), "list": [], "data_mode": ["all"]}
    if request.task == "statistics":
        block["summary_mode"] = request.summary
    return {
        "task": request.task,
        "dump_path": folder,
        "rank": _spans(request.ranks) if ranks else [],
        "step": _spans(request.steps),
        "level": request.level,
        request.task: block,
    }


def _spans(spans: Sequence[Span]) -> list[int | str]:
    """Numbers and ranges in the form that msprobe's configuration takes."""
    return [span.first if span.first == span.last else span.text() for span in spans]


def compare_input(target: str, golden: str) -> dict[str, Any]:
    """Content of msprobe's compare.json before version 26."""
    return {
        "npu_path": f"{target}/dump.json",
        "bench_path": f"{golden}/dump.json",
        "stack_path": f"{target}/stack.json",
        "is_print_compare_log": True,
    }


def yaml_text(content: Mapping[str, Any] | Sequence[Any], comment: str) -> str:
    """Mapping file as YAML text with a comment line."""
    import yaml

    return f"# {comment}\n" + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=200)


class Insertion(NamedTuple):
    """Lines of code, and the place in the framework's own file where they belong."""

    side: Side
    file: str
    within: str
    where: str
    """`before` or `after`."""
    anchor: str
    code: str
    en: str
    zh: str


def insertions(dialect: str, parts: int, configs: dict[Side, str]) -> tuple[Insertion, ...]:
    """Code insertions for both sides; `parts` is the number of model parts that each Megatron-LM rank holds."""
    model = "unwrap_model(model)" if parts > 1 else "unwrap_model(model)[0]"
    return (
        *_of("megatron", "megatron", configs["megatron"], model),
        *_of(dialect, "mindformers", configs["mindformers"]),
    )


def _of(block: str, side: Side, config: str, model: str = "") -> Iterator[Insertion]:
    """Insertions of one block of the table, with file names and model filled in."""
    for row in _table()[block]:
        key = "before" if "before" in row else "after"
        code = row["code"].replace("{config}", config).replace("{model}", model)
        yield Insertion(side, row["file"], row["within"], key, row[key], code, row["en"], row["zh"])


@cache
def _table() -> Any:
    return load_table(package_text(os.path.dirname(__file__), "insertions.yaml"))


MIN_STAGES = 2


def check(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """Findings on requests that would give an empty, impossible or misleading dump."""
    yield from _out_of_range(request, subject)
    yield from _scope(request, subject, modules)
    if request.kind == "msprobe":
        yield from _order(request, subject, modules)
        yield from _graph_mode(request, subject)
        yield from _functions(request, subject)
        yield from _between(subject)
    else:
        yield from _operators(request, subject)


def _out_of_range(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    """Findings on steps or ranks that the run does not have."""
    sides = ((subject.megatron, subject.megatron_recipe), (subject.mindformers, subject.mindformers_recipe))
    asked: tuple[tuple[str, FieldName, tuple[Span, ...]], ...] = (
        ("step", "run.train_steps", request.steps),
        ("rank", "parallel.world_size", request.ranks),
    )
    for name, field, spans in asked:
        for config, recipe in sides:
            total = recipe.value(field)
            if (
                config.framework == subject.derived
                or not isinstance(total, int)
                or isinstance(total, bool)
                or total < 1
            ):
                continue
            late = [span for span in spans if span.last >= total]
            if late:
                listed = ", ".join(span.text() for span in late)
                said = (
                    say.step(steps=listed, total=total, last=total - 1)
                    if name == "step"
                    else say.rank(ranks=listed, total=total, last=total - 1)
                )
                yield diagnose(said, config.file)


def _scope(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """Findings on scope modules that do not exist or have no partner in Megatron-LM."""
    known = by_any_name(modules)
    for record in request.scope:
        module = known.get(record.place)
        if module is None:
            close = closest(record.place, [name for name in known if name.count(".") < 9])
            hint = say.did_you_mean(close=close) if close else NOTHING
            yield diagnose(say.module(name=record.place, hint=hint), subject.mindformers.file)
        elif module.megatron is None and request.kind == "msprobe":
            instead = module.mindformers.rpartition(".")[0] or "decoder"
            said = say.partner(name=record.place, side="Megatron-LM", instead=instead)
            yield diagnose(said, subject.megatron.file)


def _order(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """Finding on a scope whose end comes before its beginning."""
    known = by_any_name(modules)
    if len(request.scope) < 2 or any(record.place not in known for record in request.scope):
        return
    first, last = request.scope
    ends = [known[record.place].mindformers for record in (first, last)]
    if any(place.startswith("mtp") for place in ends):
        return  # its layers are listed part by part, not as they run
    begins = [
        next(at for at, module in enumerate(modules) if f"{module.mindformers}.".startswith(f"{place}."))
        for place in ends
    ]
    stops = [next(at for at, module in enumerate(modules) if module.mindformers == place) for place in ends]
    if first.direction == "forward":
        wrong = last.direction == "forward" and begins[0] > stops[1]
    else:
        wrong = last.direction == "forward" or stops[0] < begins[1]
    if wrong:
        yield _advice(subject.mindformers.file, say.advice_order(first=first.place, last=last.place))


_GRAPH_LIMITS: tuple[tuple[str, Callable[..., Words], Callable[[], Words]], ...] = (
    ("level", say.wish_level, say.remedy_eager),
    ("scope", say.wish_scope, say.remedy_eager),
    ("ranks", say.wish_ranks, say.remedy_ranks),
    ("md5", say.wish_md5, say.remedy_md5),
    ("o2", say.wish_o2, say.remedy_o2),
)
"""Source: msprobe 26.2.0 `mindspore/dump/dump_processor/{dump_tool_factory,graph_mode_cell_dump}.py`."""


def in_graph_mode(subject: Subject) -> bool:
    """True if the MindSpore side compiles its network."""
    return subject.dialect == "static" and subject.mindformers_recipe.value("environment.execution_mode") != "eager"


def _graph_mode(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    """Findings on requests that compiled graphs do not support."""
    if not in_graph_mode(subject):
        return
    wishes = {
        "level": request.level != "L0",
        "scope": bool(request.scope),
        "ranks": bool(request.ranks),
        "md5": request.task == "statistics" and request.summary == "md5",
        "o2": _jit_level(subject) == "O2",
    }
    file = subject.mindformers.file
    for name, wish, remedy in _GRAPH_LIMITS:
        if wishes[name]:
            yield diagnose(say.graph(wish=wish(level=request.level), remedy=remedy()), file)
    if request.precheck and not wishes["level"]:
        yield _advice(file, say.advice_precheck())
    if request.form == "8":
        yield _advice(file, say.advice_old_graph())


def _jit_level(subject: Subject) -> str | None:
    for key in ("context.jit_config.jit_level", "context.jit_level"):
        value = subject.mindformers.value(key)
        if isinstance(value, str):
            return value
    return None


_FUSIONS = {"bias_swiglu_fusion": "--no-bias-swiglu-fusion", "bias_gelu_fusion": "--no-bias-gelu-fusion"}
"""Source: megatron-core 0.12 `transformer/mlp.py:MLP.forward` asks which function the activation is."""


def _functions(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    """Findings on fused functions that an API-level dump cannot see."""
    megatron = subject.megatron
    if request.level in ("L1", "mix"):
        swiglu = bool(megatron.value("swiglu"))
        for key, flag in _FUSIONS.items():
            if megatron.is_on(key) and swiglu == (key == "bias_swiglu_fusion"):
                yield diagnose(say.activation(level=request.level, flag=flag), megatron.file)
    if subject.megatron_recipe.value("environment.transformer_impl") != "local":
        yield diagnose(say.fused(), megatron.file)


_EFFECTS: Mapping[FieldName, Callable[[], Words]] = {
    "model.num_layers": say.models_differ,
    "parallel.pipeline_size": say.layers_differ,
    "parallel.virtual_pipeline_size": say.layers_differ,
    "parallel.pipeline_layers": say.layers_differ,
    "parallel.tensor_size": say.shapes_differ,
    "batch.micro_size": say.batches_differ,
    "batch.accumulation_steps": say.calls_differ,
}


def _between(subject: Subject) -> Iterator[Diagnostic]:
    """Findings on settings that differ between the sides and shift the dumps' steps or calls."""
    for field, effect in _EFFECTS.items():
        a, b = _count_or_layers(subject.megatron_recipe, field), _count_or_layers(subject.mindformers_recipe, field)
        if a is not None and b is not None and a != b:
            yield diagnose(say.differs(field=field, a=a, b=b, effect=effect()), subject.mindformers.file)
    sink = subject.mindformers.value("runner_config.sink_size")
    if subject.dialect == "static" and isinstance(sink, int) and sink > 1:
        yield _advice(subject.mindformers.file, say.advice_sink(sink=sink))


def _count_or_layers(recipe: Recipe, field: FieldName) -> Value:
    """Setting's count, or the layers of each pipeline stage if there are several; None if unknown."""
    value = recipe.value(field)
    if field != "parallel.pipeline_layers":
        return value if isinstance(value, int) else None
    stages, layers = recipe.value("parallel.pipeline_size"), recipe.value("model.num_layers")
    if not isinstance(stages, int) or not isinstance(layers, int) or stages < MIN_STAGES:
        return None
    if isinstance(value, list):
        return value
    return None if layers % stages else [layers // stages] * stages


def _operators(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    """Findings on limits of MindSpore's own dump, which sees compiled operators only."""
    file = subject.mindformers.file
    if not in_graph_mode(subject):
        yield diagnose(say.not_compiled(), file)
    wanted = request.kind[-2:].upper()
    level = _jit_level(subject)
    if level is not None and level != wanted and "O2" in (level, wanted):
        yield _advice(file, say.advice_jit_level(level=level, wanted=wanted))
    if wanted == "O2":
        yield _advice(file, say.advice_o2())


def _advice(file: str, what: Words) -> Diagnostic:
    """A diagnostic with advice on the dump."""
    return diagnose(say.advice(what=what), file)

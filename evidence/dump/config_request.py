"""What is wished of a dump, read from the command line's words and checked against the pair."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...schemas.diagnostic import finding
from ...schemas.suggestion import closest
from .config_problems import ADVICE, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic
    from .config_modules import ModulePair
    from .config_subject import Subject

DumpKind = Literal["msprobe", "mindspore-o0", "mindspore-o1", "mindspore-o2"]
Side = Literal["megatron", "mindformers"]


class Span(NamedTuple):
    """Steps or ranks from the first to the last, both included."""

    first: int
    last: int

    def text(self) -> str:
        """As both tools write it: `3` or `4-6`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class Record(NamedTuple):
    """One end of a scope: a module, the pass and its call, as msprobe numbers them."""

    place: str
    direction: Literal["forward", "backward"] = "forward"
    call: int = 0


class Request(NamedTuple):
    """A dump as it is wished; no spans mean all."""

    kind: DumpKind = "msprobe"
    level: str = "L0"
    task: str = "tensor"
    summary: str = "statistics"
    scope: tuple[Record, ...] = ()
    steps: tuple[Span, ...] = (Span(0, 0),)
    ranks: tuple[Span, ...] = ()
    form: str = "26"
    """msprobe's generation: `26`, or `8` for 8.x and 1.x."""
    precheck: bool = False


def spans_of(text: str) -> tuple[Span, ...]:
    """`0,3-5` as spans, `all` as none; ValueError for anything else."""
    if text == "all":
        return ()
    found: list[Span] = []
    for piece in text.split(","):
        given = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", piece)
        if given is None:
            raise ValueError(piece)
        first = int(given[1])
        last = int(given[2]) if given[2] else first
        if last < first:
            raise ValueError(piece)
        found.append(Span(first, last))
    return tuple(found)


_RECORD = re.compile(
    r"^(?:(?:Cell|Module)\.)?(?P<place>.+?)(?:\.(?P<direction>forward|backward)(?:\.(?P<call>\d+))?)?$"
)


def record_of(text: str) -> Record:
    """A module as a person or msprobe names it; the class, where there is one, is taken off later."""
    given = _RECORD.match(text)
    if given is None:
        return Record(text)
    direction: Literal["forward", "backward"] = "backward" if given["direction"] == "backward" else "forward"
    return Record(given["place"], direction, int(given["call"] or 0))


def check(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """All that would make the dump empty, impossible or misleading."""
    yield from _beyond(request, subject)
    yield from _scope(request, subject, modules)
    if request.kind == "msprobe":
        yield from _graph_mode(request, subject)
        yield from _functions(request, subject)
        yield from _between(subject)
    else:
        yield from _operators(request, subject)


def resolved(request: Request, modules: Sequence[ModulePair]) -> Request:
    """The request with the scope's modules as places of MindSpore Transformers, without their classes."""
    known = _known(modules)
    return request._replace(
        scope=tuple(
            record._replace(place=known[record.place].mindformers) if record.place in known else record
            for record in request.scope
        )
    )


def _known(modules: Sequence[ModulePair]) -> dict[str, ModulePair]:
    """Every way to name a module: either side's place, with or without its class."""
    found: dict[str, ModulePair] = {}
    for module in modules:
        found.setdefault(module.mindformers, module)
        found.setdefault(f"{module.mindformers}.{module.mindformers_class}", module)
        if module.megatron is not None:
            found.setdefault(module.megatron, module)
            found.setdefault(f"{module.megatron}.{module.megatron_class}", module)
    return found


def _beyond(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    sides = ((subject.megatron, subject.megatron_recipe), (subject.mindformers, subject.mindformers_recipe))
    for name, field, spans in (
        ("step", "run.train_steps", request.steps),
        ("rank", "parallel.world_size", request.ranks),
    ):
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
                values = {f"{name}s": ", ".join(span.text() for span in late), "total": total, "last": total - 1}
                yield finding(PROBLEMS, name, config.file, None, **values)


def _scope(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    known = _known(modules)
    for record in request.scope:
        module = known.get(record.place)
        if module is None:
            close = closest(record.place, [name for name in known if name.count(".") < 9])
            hint = f"; did you mean {close}?" if close else ""
            hint_zh = f"；是否为 {close}？" if close else ""
            yield finding(PROBLEMS, "module", subject.mindformers.file, name=record.place, hint=hint, hint_zh=hint_zh)
        elif module.megatron is None and request.kind == "msprobe":
            instead = module.mindformers.rpartition(".")[0] or "decoder"
            values = {"name": record.place, "side": "Megatron-LM", "instead": instead}
            yield finding(PROBLEMS, "partner", subject.megatron.file, None, **values)


_EAGER = ("Set context.mode: 1 for this run.", "请在本次运行中设置 context.mode: 1。")
_GRAPH_LIMITS: tuple[tuple[str, str, str, tuple[str, str]], ...] = (
    ("level", "level {level}", "level {level}", _EAGER),
    ("scope", "a scope", "scope 区间", _EAGER),
    (
        "ranks",
        "chosen ranks",
        "指定 rank",
        ("Leave --ranks out, or set context.mode: 1.", "请不要指定 --ranks，或设置 context.mode: 1。"),
    ),
    (
        "md5",
        "md5 sums",
        "md5",
        ("Take --summary statistics, or context.mode: 1.", "请使用 --summary statistics 或 context.mode: 1。"),
    ),
    (
        "o2",
        "a graph compiled with jit_level O2",
        "jit_level 为 O2 的图",
        ("Set jit_level O0 or O1.", "请将 jit_level 设为 O0 或 O1。"),
    ),
)
"""Source: msprobe 26.2.0 `mindspore/dump/dump_processor/{dump_tool_factory,graph_mode_cell_dump}.py`."""


def in_graph_mode(subject: Subject) -> bool:
    """Whether the MindSpore side compiles its network."""
    return subject.dialect == "static" and subject.mindformers_recipe.value("environment.execution_mode") != "eager"


def _graph_mode(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    if not in_graph_mode(subject):
        return
    asked = {
        "level": request.level != "L0",
        "scope": bool(request.scope),
        "ranks": bool(request.ranks),
        "md5": request.task == "statistics" and request.summary == "md5",
        "o2": _jit_level(subject) == "O2",
    }
    file = subject.mindformers.file
    for name, wish, wish_zh, (remedy, remedy_zh) in _GRAPH_LIMITS:
        if asked[name]:
            values = {"wish": wish.format(level=request.level), "wish_zh": wish_zh.format(level=request.level)}
            yield finding(PROBLEMS, "graph", file, **values, remedy=remedy, remedy_zh=remedy_zh)
    if request.precheck and not asked["level"]:
        yield _advice(file, "precheck")
    if request.form == "8":
        yield _advice(file, "old-graph")


def _jit_level(subject: Subject) -> str | None:
    for key in ("context.jit_config.jit_level", "context.jit_level"):
        value = subject.mindformers.value(key)
        if isinstance(value, str):
            return value
    return None


_FUSIONS = {"bias_swiglu_fusion": "--no-bias-swiglu-fusion", "bias_gelu_fusion": "--no-bias-gelu-fusion"}
"""Source: megatron-core 0.12 `transformer/mlp.py:MLP.forward` asks which function the activation is."""


def _functions(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    megatron = subject.megatron
    if request.level in ("L1", "mix"):
        swiglu = bool(megatron.value("swiglu"))
        for key, flag in _FUSIONS.items():
            if megatron.value(key) is True and swiglu == (key == "bias_swiglu_fusion"):
                yield finding(PROBLEMS, "activation", megatron.file, level=request.level, flag=flag)
    if subject.megatron_recipe.value("environment.transformer_impl") != "local":
        yield finding(PROBLEMS, "fused", megatron.file)


_EFFECTS: Mapping[str, tuple[str, str]] = {
    "model.num_layers": ("the models are not the same.", "两侧模型不同。"),
    "parallel.pipeline_size": (
        "the layers of one rank are not those of the other; take the dump with equal parallelism.",
        "同一 rank 的层不同；请在相同的并行配置下采集。",
    ),
    "parallel.tensor_size": ("tensors of one module have different shapes.", "同一模块的张量形状不同。"),
    "batch.micro_size": (
        "tensors of one module have different shapes; take the dump with equal micro batches.",
        "同一模块的张量形状不同；请在相同的 micro batch 下采集。",
    ),
    "batch.accumulation_steps": (
        "call N of a module sees other samples on the two sides.",
        "同一模块的第 N 次调用在两侧看到的样本不同。",
    ),
}


def _between(subject: Subject) -> Iterator[Diagnostic]:
    for field, (effect, effect_zh) in _EFFECTS.items():
        a, b = subject.megatron_recipe.value(field), subject.mindformers_recipe.value(field)
        if isinstance(a, int) and isinstance(b, int) and a != b:
            values = {"field": field, "a": a, "b": b, "effect": effect, "effect_zh": effect_zh}
            yield finding(PROBLEMS, "differs", subject.mindformers.file, **values)
    sink = subject.mindformers.value("runner_config.sink_size")
    if subject.dialect == "static" and isinstance(sink, int) and sink > 1:
        yield _advice(subject.mindformers.file, "sink", sink=sink)


def _operators(request: Request, subject: Subject) -> Iterator[Diagnostic]:
    """What MindSpore's own dump cannot do: it works on compiled operators only."""
    file = subject.mindformers.file
    if not in_graph_mode(subject):
        yield _advice(file, "eager")
    wanted = request.kind[-2:].upper()
    level = _jit_level(subject)
    if level is not None and level != wanted and "O2" in (level, wanted):
        yield _advice(file, "jit-level", level=level, wanted=wanted)
    if wanted == "O2":
        yield _advice(file, "o2")


def _advice(file: str, name: str, **values: object) -> Diagnostic:
    en, zh = (text.format_map(values) for text in ADVICE[name])
    return finding(PROBLEMS, "advice", file, en=en, zh=zh)

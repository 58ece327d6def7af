"""What would make a wished dump empty, impossible or misleading for this pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import finding
from ...schemas.suggestion import closest
from .config_problems import ADVICE, PROBLEMS
from .config_request import by_any_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Diagnostic
    from .config_modules import ModulePair
    from .config_request import Request, Span
    from .config_subject import Subject

MIN_STAGES = 2


def check(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """All that would make the dump empty, impossible or misleading."""
    yield from _beyond(request, subject)
    yield from _scope(request, subject, modules)
    if request.kind == "msprobe":
        yield from _order(request, subject, modules)
        yield from _graph_mode(request, subject)
        yield from _functions(request, subject)
        yield from _between(subject)
    else:
        yield from _operators(request, subject)


def _beyond(request: Request, subject: Subject) -> Iterator[Diagnostic]:
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
                values = {f"{name}s": ", ".join(span.text() for span in late), "total": total, "last": total - 1}
                yield finding(PROBLEMS, name, config.file, None, **values)


def _scope(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    known = by_any_name(modules)
    for record in request.scope:
        module = known.get(record.place)
        if module is None:
            close = closest(record.place, [name for name in known if name.count(".") < 9])
            hint = f" (did you mean {close}?)" if close else ""
            hint_zh = f"（是否为 {close}？）" if close else ""
            yield finding(PROBLEMS, "module", subject.mindformers.file, name=record.place, hint=hint, hint_zh=hint_zh)
        elif module.megatron is None and request.kind == "msprobe":
            instead = module.mindformers.rpartition(".")[0] or "decoder"
            values = {"name": record.place, "side": "Megatron-LM", "instead": instead}
            yield finding(PROBLEMS, "partner", subject.megatron.file, None, **values)


def _order(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """A range whose end lies before its beginning never ends."""
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
        yield _advice(subject.mindformers.file, "order", first=first.place, last=last.place)


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


_EFFECTS: Mapping[FieldName, tuple[str, str]] = {
    "model.num_layers": ("the models are not the same.", "两侧模型不同。"),
    "parallel.pipeline_size": (
        "the layers of one rank are not those of the other; take the dump with equal parallelism.",
        "同一 rank 的层不同；请在相同的并行配置下采集。",
    ),
    "parallel.virtual_pipeline_size": (
        "the layers of one rank are not those of the other; take the dump with equal parallelism.",
        "同一 rank 的层不同；请在相同的并行配置下采集。",
    ),
    "parallel.pipeline_layers": (
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
        a, b = _stated(subject.megatron_recipe, field), _stated(subject.mindformers_recipe, field)
        if a is not None and b is not None and a != b:
            values = {"field": field, "a": a, "b": b, "effect": effect, "effect_zh": effect_zh}
            yield finding(PROBLEMS, "differs", subject.mindformers.file, **values)
    sink = subject.mindformers.value("runner_config.sink_size")
    if subject.dialect == "static" and isinstance(sink, int) and sink > 1:
        yield _advice(subject.mindformers.file, "sink", sink=sink)


def _stated(recipe: Recipe, field: FieldName) -> Value:
    """A count, or the layers of each pipeline stage where there are several; None where it is not known."""
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

"""Reasons why a wished dump would be empty, impossible or misleading for this pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import diagnose
from ...schemas.message import NOTHING, Words
from ...schemas.suggestion import closest
from .config_modules import by_any_name
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Diagnostic
    from .config_modules import ModulePair
    from .config_request import Request, Span, Subject

MIN_STAGES = 2


def check(request: Request, subject: Subject, modules: Sequence[ModulePair]) -> Iterator[Diagnostic]:
    """All that would make the dump empty, impossible or misleading."""
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
    for field, effect in _EFFECTS.items():
        a, b = _count_or_layers(subject.megatron_recipe, field), _count_or_layers(subject.mindformers_recipe, field)
        if a is not None and b is not None and a != b:
            yield diagnose(say.differs(field=field, a=a, b=b, effect=effect()), subject.mindformers.file)
    sink = subject.mindformers.value("runner_config.sink_size")
    if subject.dialect == "static" and isinstance(sink, int) and sink > 1:
        yield _advice(subject.mindformers.file, say.advice_sink(sink=sink))


def _count_or_layers(recipe: Recipe, field: FieldName) -> Value:
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
    """Limits of MindSpore's own dump: it works on compiled operators only."""
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
    return diagnose(say.advice(what=what), file)

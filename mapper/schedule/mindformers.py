"""MindSpore Transformers' schedules: every class of the lr registry, for 1.6 to 2.1, static and dynamic graph.

MindSpore computes in float32, and so does this: each operation is rounded in the order of the real class, because
rounding alone moves a cosine by 4e-7 and can move a restart by a whole step. The dynamic graph builds the same
classes. The one change between the versions: 1.6 divides by a warm-up of 0 steps where the step is negative.
Sources: mindformers/core/lr/lr_schedule.py, mindformers/core/optim/fused_adamw.py,
mindformers/trainer/base_trainer.py:create_lr_scheduler, mindformers/pynative/trainer/utils.py:_build_lr_scheduler,
mindformers/pynative/optimizer/adamw.py, mindspore/nn/wrap/loss_scale.py:DynamicLossScaleUpdateCell,
mindformers/wrapper/adaptive_loss_scale.py.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.mindformers.versions import DEFAULT_STATIC
from .curve import Curve, Schedule, constant_curve
from .loss_scale import LossScale, loss_scale_curve
from .messages_compiled import say
from .mindformers_arguments import swallowed
from .mindformers_classes import build
from .pieces import Constant, Piece, Sampled
from .problems import note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .mindformers_arguments import Region
    from .pieces import Formula


class MindFormersParameters(NamedTuple):
    """What the schedules depend on: an `lr_schedule` section and what stands around it."""

    type: str
    arguments: Mapping[str, object]
    use_fused: bool = False
    weight_decay: float | None = None
    loss_scale: LossScale | None = None
    steps: int | None = None
    version: str = DEFAULT_STATIC


def mindformers_schedule(parameters: MindFormersParameters) -> Schedule:
    """The schedules of a MindSpore Transformers run; UndecidedError where the framework refuses them."""
    built = build(parameters.type, parameters.arguments, parameters.version)
    offset = -1 if parameters.use_fused else 0
    rate = built.rate

    def value(step: int) -> float:
        return rate(step + offset)

    traits = built.traits._replace(offset=offset)
    if traits.undefined is not None:
        traits = traits._replace(undefined=traits.undefined - offset)
    notes = [
        note(say.swallowed, type=built.type, argument=name)
        for name in swallowed(built.type, parameters.arguments, parameters.version)
    ]
    if parameters.use_fused:
        notes.append(note(say.fused))
    if built.total is not None and built.total < 1:
        notes.append(note(say.no_steps, total=built.total, type=built.type))
    decay = parameters.weight_decay
    return Schedule(
        "mindformers",
        parameters.version,
        built.type,
        built.arguments,
        Curve(value, _pieces(built.regions, offset), "float32"),
        traits,
        None if decay is None else constant_curve(decay, "float32"),
        None if parameters.loss_scale is None else loss_scale_curve(parameters.loss_scale),
        parameters.steps,
        built.total,
        (*notes, *built.notes),
    )


def _pieces(regions: list[Region], offset: int) -> tuple[Piece, ...]:
    found: list[Piece] = []
    start: float = offset
    for region in regions:
        if region.until > start:
            found.append(Piece(int(start) - offset, _shifted(region.formula, -offset)))
            start = region.until
    return tuple(found)


def _shifted(formula: Formula, by: int) -> Formula:
    if by == 0 or isinstance(formula, Constant):
        return formula
    if isinstance(formula, Sampled):
        at = formula.at

        def moved(step: int) -> float:
            return at(step - by)

        return formula._replace(at=moved)
    return formula._replace(origin=formula.origin + by)  # type: ignore[attr-defined]  # pyright: ignore

"""The first place where two dumps part: a unit whose output differs while everything that went in agrees.

Units are walked in execution order. Three things can be met first:

- a unit whose inputs agree and whose output does not: what it computes, its weights or a plain argument differ;
- a unit whose input already differs although every output before it agrees: something between two units changed it
  (a residual, a rotation, an operation that has no module), or the data that the model was given;
- nothing: the dumps agree.

A module that holds others is narrowed down to the first of them that parts. Rounding grows from layer to layer; where
the error crosses the tolerance without a jump, the answer says `gradual` and names the largest jump as well.

The way down from there (`next_dump`) is the guide's: a dump by module (L0) first, then between the last unit that
agrees and the first that does not a dump of modules and APIs together (`mix`, with that range as `scope`), then the
values of single APIs.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

from ...mapper.modules import fields_of
from ...schemas.fast_records import NamedTuple
from ..arrays import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.differences import Difference
    from ...schemas.diagnostic import Diagnostic
    from .records import Unit
    from .statistics import TensorResult

Cause = Literal["computation", "weights", "argument", "between", "data", "overflow"]

_JUMP = 3.0
_FLOOR = 1e-9
_INTEGERS = WHOLE - {"bool"}


class UnitResult(NamedTuple):
    """A unit, its partner, and what was found of their tensors."""

    a: Unit
    b: Unit
    module: str
    """The module's path under Megatron-Core's names."""
    tensors: tuple[TensorResult, ...]
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    skipped: str = ""
    """Why nothing is compared: `fused` where one side does it in another module, `arranged` where tokens stand in the
    order of their experts, which is each framework's own, `other-result` where the results are of different kinds,
    `operation` where single operations of two frameworks bear one name and are not the same."""
    inference_pass: str = ""
    """Of a dump of inference: `prefill 1`, `decode 3`."""

    def error(self, role: str) -> float | None:
        """The largest error among the tensors of a role that were compared; infinite for a NaN or another shape."""
        errors = [
            float("inf") if tensor.error is None and not tensor.agrees else tensor.error or 0.0
            for tensor in self.tensors
            if tensor.role == role and tensor.agrees is not None and tensor.how != "value"
        ]
        return max(errors, default=None)

    def wrong(self, role: str) -> tuple[TensorResult, ...]:
        """Tensors of a role that disagree, without plain arguments."""
        return tuple(
            tensor
            for tensor in self.tensors
            if tensor.role == role and tensor.agrees is False and tensor.how != "value"
        )

    @property
    def arguments(self) -> tuple[TensorResult, ...]:
        """Plain arguments that differ."""
        return tuple(tensor for tensor in self.tensors if tensor.how == "value" and tensor.agrees is False)

    @property
    def agrees(self) -> bool | None:
        """True if everything compared agrees; None if nothing was compared."""
        known = [tensor.agrees for tensor in self.tensors if tensor.agrees is not None and tensor.how != "value"]
        return all(known) if known else None

    @property
    def is_another(self) -> bool:
        """True if two operations with one name in both frameworks turn out to be different operations.

        Each framework composes its modules of operations of its own: torch.baddbmm is no BatchMatMul of rotated heads.
        Equal models part there under msprobe's L1 and mix, so that only modules decide; a NaN is one anywhere.
        """
        return (
            self.a.level == "api"
            and self.agrees is False
            and not any(tensor.why in ("nan", "infinite") for tensor in self.tensors)
        )


class Divergence(NamedTuple):
    """The first place at which two dumps part."""

    unit: UnitResult
    cause: Cause
    before: UnitResult | None
    """The unit that ran before it, the last one whose output agrees."""
    after: UnitResult | None
    """The unit that ran after it."""
    tensors: tuple[TensorResult, ...]
    """What differs."""
    gradual: bool = False
    jump: UnitResult | None = None
    """Where the error grows most, if that is elsewhere."""


def first_divergence(units: Sequence[UnitResult]) -> Divergence | None:
    """First divergence among units in execution order."""
    for at, unit in enumerate(units):
        found = _at(units, at, unit)
        if found is not None:
            return found
    return None


def _at(units: Sequence[UnitResult], at: int, unit: UnitResult) -> Divergence | None:
    """Divergence at one unit, with its likely cause; None if the unit agrees."""
    inputs, made, weights = unit.wrong("input"), unit.wrong("output"), unit.wrong("parameter")
    if not (inputs or made or weights):
        return None
    if weights and not inputs and not made:
        return _divergence(units, at, "weights", weights)
    if inputs:
        if any(tensor.why in ("nan", "infinite") for tensor in inputs):
            return _divergence(units, at, "overflow", inputs)
        nothing_before = not any(unit.error("output") is not None for unit in units[:at])
        if nothing_before and any(tensor.dtype_a in _INTEGERS for tensor in inputs):
            return _divergence(units, at, "data", inputs)
        if unit.a.level == "operator":
            # Every operator before it agrees, and nothing stands between operators: it came from outside the graph.
            return _divergence(units, at, "weights", inputs)
        return _divergence(units, at, "between", inputs)
    inner = _first_inner(units, at)
    if inner is not None:
        return _at(units, inner, units[inner])
    if weights:
        return _divergence(units, at, "weights", (*weights, *made))
    if any(tensor.why in ("nan", "infinite") for tensor in made):
        return _divergence(units, at, "overflow", made)
    if unit.arguments:
        return _divergence(units, at, "argument", (*unit.arguments, *made))
    return _divergence(units, at, "computation", made)


def _first_inner(units: Sequence[UnitResult], at: int) -> int | None:
    """Index of the first unit inside a module that diverges by itself and is listed after it."""
    holder = units[at]
    if holder.a.level != "module" or not holder.module:
        return None
    for other in range(at + 1, len(units)):
        unit = units[other]
        if (
            unit.module.startswith(holder.module + ".")
            and unit.a.direction == holder.a.direction
            and unit.a.call == holder.a.call
            and unit.wrong("output")
            and not unit.wrong("input")
        ):
            return other
    return None


def _divergence(units: Sequence[UnitResult], at: int, cause: Cause, tensors: Sequence[TensorResult]) -> Divergence:
    """Divergence record of a unit: its neighbours, and if the error grew gradually instead of at once."""
    unit = units[at]
    before = next((units[place] for place in range(at - 1, -1, -1) if units[place].error("output") is not None), None)
    after = next((units[place] for place in range(at + 1, len(units)) if units[place].agrees is not None), None)
    came, left = unit.error("input"), unit.error("output")
    if cause == "between":
        came, left = (None if before is None else before.error("output")), unit.error("input")
    smooth = cause in ("computation", "between") and not any(tensor.how == "checksum" for tensor in tensors)
    gradual = bool(smooth and came and left and left < _JUMP * came)
    jump = _largest_jump(units) if gradual else None
    jump = None if jump is unit else jump
    return Divergence(unit, cause, before, after, tuple(tensors), gradual, jump)


def _largest_jump(units: Sequence[UnitResult]) -> UnitResult | None:
    """Unit whose output error grows most relative to its input error."""
    best: UnitResult | None = None
    most = _JUMP
    for unit in units:
        came, left = unit.error("input"), unit.error("output")
        if came is None or left is None or not unit.wrong("output"):
            continue
        growth = left / max(came, _FLOOR)
        if growth > most:
            best, most = unit, growth
    return best


_DATA = ("data.blend", "data.split", "data.sequence_length", "data.seed", "tokenizer.type", "run.seed")
_PRECISION = ("precision.compute_dtype", "precision.params_dtype", "precision.loss_scale.mode")
_ROTATED = ".core_attention"


class NextDump(NamedTuple):
    """A dump that narrows a divergence down."""

    kind: str
    """`msprobe`, `mindspore` for a dump of a compiled graph, or empty where the dump already is as fine as it gets."""
    level: str
    task: str
    scope: tuple[str, ...]
    """The range in the vocabulary of `accmap dump config --scope`, which knows how each side calls it."""
    scope_a: tuple[str, ...]
    scope_b: tuple[str, ...]
    step: int | None
    rank: int | None
    configs: tuple[str, ...] = ()
    """The configurations of the two runs, where they are known."""
    first: str | None = None
    """What has to be changed before it can be taken."""

    @property
    def command(self) -> str | None:
        """Command line that makes this dump."""
        if not self.kind:
            return None
        words = ["accmap dump config", *map(shlex.quote, self.configs or ("CONFIG_A", "CONFIG_B"))]
        words += ["--kind mindspore-o1"] if self.kind == "mindspore" else [f"--level {self.level}"]
        words.append(f"--task {self.task}")
        if self.scope:
            words.append(f"--scope {' '.join(self.scope)}")
        words += [] if self.step is None else [f"--steps {self.step}"]
        # A run of one rank has no ranks to choose.
        words += [f"--ranks {self.rank}"] if self.rank else []
        return " ".join((*words, "-d next-dump"))


class Settings(NamedTuple):
    """The settings behind a divergence, by the configurations of the two runs."""

    different: tuple[Difference, ...] = ()
    rules: tuple[str, ...] = ()
    defects: tuple[Diagnostic, ...] = ()


class Parting(NamedTuple):
    """The first place at which two dumps part, the settings behind it, and the dump that narrows it down."""

    found: Divergence
    fields: tuple[str, ...]
    settings: Settings
    next_dump: NextDump
    constant: tuple[str, ...] = ()
    """The sides on which the output of the unit is the same for every token."""


def settings_behind(found: Divergence) -> tuple[str, ...]:
    """Recipe fields that influence the divergent unit."""
    module = found.unit.module
    if found.cause == "data":
        return _DATA
    if found.cause == "between":
        return fields_of("rotary_pos_emb" if module.endswith(_ROTATED) else module.rpartition(".")[0] or module)
    if found.cause == "weights":
        return fields_of("initialisation")
    if found.cause == "overflow":
        return (*_PRECISION, *fields_of(module))
    if "MoE" in found.unit.a.kind + found.unit.b.kind:
        # Its router and shared experts ran before it and agree: the routed experts are left.
        return fields_of(f"{module}.experts")
    return fields_of(module)


def next_dump(found: Divergence, level: str, content: str, step: int | None, rank: int | None) -> NextDump:
    """More detailed dump to make next, after one at `level` with this `content`."""
    first = found.before if found.cause == "between" and found.before is not None else found.unit
    last = found.unit
    scope_a, scope_b = (tuple((unit.a, unit.b)[side].name for unit in (first, last)) for side in (0, 1))
    modules = tuple(dict.fromkeys(_scope_name(unit) for unit in (first, last) if unit.module))
    kind = "mindspore" if last.a.level == "operator" else "msprobe"
    fine = level.lower() in ("mix", "l1", "operator") or last.a.level in ("api", "operator")
    if fine and content == "tensor":
        kind = ""
    return NextDump(kind, "" if fine and not kind else "mix", "tensor", modules, scope_a, scope_b, step, rank)


def _scope_name(unit: UnitResult) -> str:
    """Scope text of a unit: module, and pass and call unless these are the first forward."""
    pass_and_call = f".{unit.a.direction}.{unit.a.call}"
    return unit.module if pass_and_call == ".forward.0" or unit.a.level != "module" else unit.module + pass_and_call

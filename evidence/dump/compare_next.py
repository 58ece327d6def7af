"""What a divergence points at: the settings behind the module, and the dump to take next.

The guide's way down: a dump by module (L0) first, then between the last unit that agrees and the first that does not a
dump of modules and APIs together (`mix`, with that range as `scope`), then the values of single APIs.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ...mapper.modules import fields_of
from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from ...mapper.differences import Difference
    from ...schemas.diagnostic import Diagnostic
    from .compare_divergence import Divergence, UnitResult

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
        """The line that takes it."""
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
    """What the configurations of the two runs say of the settings behind a divergence."""

    different: tuple[Difference, ...] = ()
    rules: tuple[str, ...] = ()
    defects: tuple[Diagnostic, ...] = ()


class Parting(NamedTuple):
    """Where two dumps part first, the settings behind it, and the dump that narrows it down."""

    found: Divergence
    fields: tuple[str, ...]
    settings: Settings
    next_dump: NextDump


def settings_behind(found: Divergence) -> tuple[str, ...]:
    """The recipe fields that decide what the divergent unit computes."""
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
    """The dump to take after one at `level` with this `content`."""
    first = found.before if found.cause == "between" and found.before is not None else found.unit
    last = found.unit
    scope_a, scope_b = (tuple((unit.a, unit.b)[side].name for unit in (first, last)) for side in (0, 1))
    modules = tuple(dict.fromkeys(_asked(unit) for unit in (first, last) if unit.module))
    kind = "mindspore" if last.a.level == "operator" else "msprobe"
    fine = level.lower() in ("mix", "l1", "operator") or last.a.level in ("api", "operator")
    if fine and content == "tensor":
        kind = ""
    return NextDump(kind, "" if fine and not kind else "mix", "tensor", modules, scope_a, scope_b, step, rank)


def _asked(unit: UnitResult) -> str:
    """A module with its pass and call, which are left out where they are the first forward."""
    pass_and_call = f".{unit.a.direction}.{unit.a.call}"
    return unit.module if pass_and_call == ".forward.0" or unit.a.level != "module" else unit.module + pass_and_call

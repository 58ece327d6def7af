"""Lenses of multi-latent attention's scale and of YaRN's temperature, which come from the same arguments.

Both frameworks multiply the scores of latent attention by `(0.1 * m * ln(factor) + 1) ** 2` beside `1 / sqrt(d)`,
whatever the kind of positions. Which argument `m` is, is a matter of framework and version: `mscale` in MindSpore
Transformers and in Megatron-LM before 0.14, `mscale_all_dim` in Megatron-LM from 0.14 on
(`core/transformer/multi_latent_attention.py:MultiLatentAttention.__init__`). The rotary embedding of YaRN has a
factor of its own from the quotient of the two. The recipe holds the scale itself, so that two files are compared by
what they compute.
"""

from __future__ import annotations

from math import ceil, floor, log, pi

from ...schemas.fast_records import TYPE_CHECKING
from .lens import OMIT, Lens, as_float, integer, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.config import Value
    from .lens import Scope, Values, Written

_STEP = 0.1
"""The constant of `_yarn_get_mscale`, in both frameworks."""
_DIGITS = 10
"""What is taken back out of a computed scale is written with so many digits."""
_ANY_FACTOR = 40.0
"""Positions that are not YaRN's take no factor, so a scale may be written with any: here with DeepSeek-V3's."""
BETA_SLOW = 1.0
"""The rotations below which YaRN divides a frequency by the factor: Megatron-LM has no argument for it either."""
BETA_FAST = 32.0
"""The rotations above which YaRN leaves a frequency alone: Megatron-LM has no argument for it."""


def temperature(factor: Value, mscale: Value) -> float | None:
    """`_yarn_get_mscale` of both frameworks."""
    scale, weight = number(factor), number(mscale)
    if scale is None:
        return None
    if scale <= 1:
        return 1.0
    return None if weight is None else _STEP * weight * log(scale) + 1.0


def _scale_get(values: Values, scope: Scope) -> Values:
    """Attention scale of the recipe, from YaRN's factor and the coefficient that the version uses (`by`)."""
    by = 2 if scope.options.get("by") == "all_dimensions" else 1
    found = temperature(values[0], values[by])
    return (None if found is None else found * found,)


def _scale_put(values: Values, scope: Scope) -> Written:
    """Factor and coefficient arguments that produce a wanted attention scale."""
    scale = number(values[0])
    if scale is None:
        return OMIT, OMIT, OMIT
    if _is_yarn(scope):
        return OMIT, OMIT, OMIT  # YaRN's own rows write all three
    if scale == 1:
        return 1.0, OMIT, OMIT
    factor = number(scope.field("position.yarn.factor"))
    if factor is None or factor <= 1:
        factor = _ANY_FACTOR
    own = _coefficient(scale, factor)
    if scope.options.get("by") == "all_dimensions":
        return factor, OMIT, own
    return factor, own, (own if scope.options.get("yarn_only") is True else OMIT)


def _coefficient(scale: float, factor: float) -> float:
    """Coefficient that gives this scale with this factor."""
    return round((scale**0.5 - 1.0) / (_STEP * log(factor)), _DIGITS)


def _is_yarn(scope: Scope) -> bool:
    kind = scope.field("position.type")
    return isinstance(kind, str) and kind.endswith("yarn")


def _temperature_get(values: Values, scope: Scope) -> Values:
    """YaRN temperature of the recipe; both coefficients count as 1 if the framework overrides the result."""
    if scope.options.get("overwritten") is True:
        return (as_float(scope.field("position.yarn.mscale")),)
    return (as_float(values[0]),)


def _temperature_put(values: Values, scope: Scope) -> Written:
    """Coefficient arguments for a YaRN temperature, equal to the attention scale's coefficient."""
    scale, factor = number(scope.field("attention.latent.score_scale")), number(scope.field("position.yarn.factor"))
    latent = scope.field("attention.latent.enabled") is True
    if scope.options.get("overwritten") is True and not latent:
        return (scope.field("position.yarn.mscale"),)
    same = scope.field("position.yarn.mscale") == scope.field("position.yarn.mscale_all_dim")
    if not latent or scale is None or factor is None or factor <= 1 or same:
        return (values[0],)
    return (_coefficient(scale, factor),)


def least_unstretched_length(base: Value, fast: Value = BETA_FAST) -> int | None:
    """Smallest original length at which YaRN leaves all frequencies unchanged."""
    known, turns = number(base), number(fast)
    if known is None or turns is None or known <= 1 or turns <= 0 or max(known, turns) > _LARGEST_BASE:
        return None
    return ceil(known * turns * 2 * pi)


_LARGEST_BASE = 1e15


def stretches(
    factor: Value, length: Value, base: Value, fast: Value = BETA_FAST, slow: Value = BETA_SLOW, width: Value = None
) -> bool:
    """True if YaRN changes any frequency, or if that is unknown."""
    times, positions, least = number(factor), integer(length), least_unstretched_length(base, fast)
    if times == 1:
        return False
    if times is None or positions is None or least is None or positions < least:
        return True
    # A ramp whose end, which is limited by the width, precedes its start divides every frequency by the factor.
    first, last = ramp_of(positions, width, base, fast, slow) or (0, 0)
    return first > last


def plain_length(base: Value, sequence: Value) -> int | None:
    """Original length, at least the sequence length, from which on YaRN in a Megatron-LM launch may be plain RoPE."""
    least = least_unstretched_length(written_base(base))
    return None if least is None else max(1 << (least - 1).bit_length(), integer(sequence) or 0)


def written_base(base: Value) -> Value:
    """Base of a written Megatron-LM launch: its argument takes whole numbers, and has a default."""
    return _DEFAULT_BASE if integer(base) is None else base


_DEFAULT_BASE = 10000


def ramp(dim: float, base: float, longest: float, turns: Sequence[float], whole: bool = True) -> tuple[float, float]:
    """First and last frequency index that YaRN bends (`_yarn_find_correction_range`)."""
    first, last = [dim * log(longest / (one * 2 * pi)) / (2 * log(base)) for one in turns]
    if whole:
        first, last = floor(first), ceil(last)
    return max(first, 0), min(last, int(dim) - 1)


def ramp_of(length: Value, width: Value, base: Value, fast: Value, slow: Value) -> tuple[float, float] | None:
    """YaRN's ramp for some settings, as whole numbers; None if a setting is unknown."""
    known = [number(one) for one in (length, width, base, fast, slow)]
    if any(one is None or one <= 0 for one in known) or known[2] == 1:
        return None
    positions, dim, root, *turns = [float(one) for one in known if one is not None]
    return ramp(dim, root, positions, turns)


def _original_length_get(values: Values, _scope: Scope) -> Values:
    return values


def _original_length_put(values: Values, scope: Scope) -> Written:
    """Original length that turns YaRN off in latent attention that knows no other positions."""
    wanted = values[0]
    scale = number(scope.field("attention.latent.score_scale"))
    plain = scope.field("position.type") == "rope" and scope.field("attention.latent.enabled") is True
    if not plain or scale is None or scale == 1:
        return cover_sequence(wanted, scope)
    base, width = scope.field("position.rotary_base"), scope.field("attention.latent.qk_rope_head_dim")
    least = plain_length(base, scope.field("data.sequence_length"))
    if least is None:
        return cover_sequence(wanted, scope)
    length = max(least, integer(wanted) or 0)
    is_too_long = stretches(_ANY_FACTOR, length, written_base(base), width=width)
    return cover_sequence(least if is_too_long else length, scope)


def cover_sequence(wanted: Value, scope: Scope) -> Written:
    """Position length that Megatron-LM accepts: at least the sequence length."""
    known, length = integer(wanted), integer(scope.field("data.sequence_length"))
    kind = scope.field("position.type")
    written = "rope" if kind == "yarn" and scope.field("attention.latent.enabled") is not True else kind
    if known is None or length is None or written not in _WITHOUT_TABLE:
        return (OMIT if wanted is None else wanted,)
    return (max(known, length),)


_WITHOUT_TABLE = ("rope", "none")
"""Positions for which `validate_args` alone looks at the length, and the model does not."""


LENSES = {
    "latent_scale": Lens(_scale_get, _scale_put),
    "yarn_temperature": Lens(_temperature_get, _temperature_put),
    "original_length": Lens(_original_length_get, _original_length_put),
}

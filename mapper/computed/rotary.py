"""What both sides' formulas say of attention: a factor, frequencies, the layers that see a window."""

from __future__ import annotations

from math import pi

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..lenses.latent import ramp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.config import Value

_DIGITS = 7
"""What is compared of a frequency: the frameworks compute them in float32."""
_SHOWN = 5

WITHIN, ACROSS = "within a document", "across documents"
RESTART, RUN_ON = "from the document's beginning", "from the sequence's beginning"
"""What attention sees, and what positions count from, where a sequence holds several documents."""


class Bend(NamedTuple):
    """`rotary_pos_embedding.py:RotaryEmbedding._apply_scaling`, `gpt_model.py:GPTModel.__init__`."""

    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    length: float = 8192


def bent(frequency: float, bend: Bend) -> float:
    """Llama 3's frequencies: `rotary_pos_embedding.py:RotaryEmbedding._apply_scaling`, `modules/layers.py:FreqsMgr`."""
    length = 2 * pi / frequency
    if length < bend.length / bend.high:
        return frequency
    if length > bend.length / bend.low:
        return frequency / bend.factor
    smooth = (bend.length / length - bend.low) / (bend.high - bend.low)
    return (1 - smooth) * frequency / bend.factor + smooth * frequency


def blended(
    plain: Sequence[float], factor: float, dim: int, base: float, longest: float, turns: Sequence[float]
) -> tuple[float, ...]:
    """YaRN's frequencies: those that turn seldom are stretched, those that turn often stay, a ramp lies between."""
    low, last = ramp(dim, base, longest, turns)
    high = last + (0.001 if low == last else 0)
    ramps = [min(max((place - low) / (high - low), 0.0), 1.0) for place in range(len(plain))]
    return tuple([one / factor * ramp + one * (1 - ramp) for one, ramp in zip(plain, ramps, strict=True)])


def rounded(value: float, digits: int = 10) -> float:
    """A number without the last digits of a double, which hang on the order of the operations."""
    return float(f"{value:.{digits}g}")


def spectrum(frequencies: Sequence[float]) -> Mapping[str, Value]:
    """The frequencies at a few places, how many there are, and a digest of all of them."""
    told = [f"{one:.{_DIGITS - 1}e}" for one in frequencies]
    last = len(told) - 1
    places = dict.fromkeys(last * number // (_SHOWN - 1) for number in range(_SHOWN)) if told else {}
    found: dict[str, Value] = {str(place): float(told[place]) for place in places}
    # Python's hash of numbers is the same in every process, and costs a lint no library.
    return {"count": len(told), **found, "digest": f"{hash(tuple(map(float, told))) & 0xFFFFFFFF:08x}"}


def sight(windows: Sequence[tuple[int, int] | None]) -> list[Value]:
    """What a token of each layer sees, alike layers that follow each other with their number."""
    found: list[tuple[int, str]] = []
    for window in windows:
        told = "causal" if window is None else f"causal, from {window[0]} before to {window[1]} behind"
        if found and found[-1][1] == told:
            found[-1] = found[-1][0] + 1, told
        else:
            found.append((1, told))
    return [f"{count} {told}" for count, told in found]

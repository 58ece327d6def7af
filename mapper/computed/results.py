"""The values that both sides' formulas read, and the results that they give: parameters, frequencies, objective.

A formula is written as the framework's code is: over `args.hidden_size` or `config.hidden_size`. What it asks for is
noted, because that is what feeds the quantity; a value that reading alone cannot decide ends the formula.
"""

from __future__ import annotations

from math import log, pi

from ...mappings.keys_compiled import MEGATRON_DATA
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.message import Words
from ...schemas.plain_values import INTEGER_BITS
from ...schemas.rows import UndecidedError
from ..lenses.latent import ramp
from .facts_compiled import ANOTHER_NETWORK, SINCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from re import Pattern
    from typing import Any

    from ...schemas.config import Config, Setting, Value


class ModelClass(NamedTuple):
    """The settings that a model class hands to its network: a row of `classes` of facts.yaml."""

    layers: str
    experts: bool
    qk_norm: str
    tied: str
    latent: bool
    mtp: str
    gated: str
    joined: str
    norm: str
    own_layers: bool
    versions: tuple[str, ...]


class Layer(NamedTuple):
    """The parameters of one transformer layer, and what of its experts one token does not use."""

    attention: int
    norm: int
    feed_forward: int = 0
    router: int = 0
    experts: int = 0
    shared_experts: int = 0
    idle: int = 0
    kind: str = ""

    def total(self) -> int:
        """Number of all parameters of the layer."""
        return sum(self[:6])


class Ends(NamedTuple):
    """The parameters before and behind the layers."""

    embedding: int
    position: int
    output: int

    def by_kind(self) -> Mapping[str, Value]:
        """Parameters by kind, kinds with none left out."""
        return {kind: size for kind, size in zip(self._fields, self, strict=True) if size}


class Network(NamedTuple):
    """The layers of a network as one side builds them: trainable parameters, each tensor once."""

    layers: Sequence[Layer]
    final_norm: int
    mtp: int
    mtp_layers: Sequence[Layer] = ()

    def by_kind(self) -> Mapping[str, Value]:
        """Parameters by kind of module, kinds with none left out."""
        found = dict.fromkeys(Layer._fields[:6], 0)
        for layer in self.layers:
            for kind, size in zip(Layer._fields[:6], layer[:6], strict=True):
                found[kind] += size
        found["norm"] += self.final_norm
        found["mtp"] = self.mtp
        return {kind: size for kind, size in found.items() if size}

    def total(self, ends: Ends) -> int:
        """Number of all parameters, with those outside the layers."""
        return sum(ends) + sum(layer.total() for layer in self.layers) + self.final_norm + self.mtp

    def active(self, ends: Ends) -> int:
        """Number of parameters used for the next token's logits, without multi-token prediction."""
        return self.total(ends) - self.mtp - sum(layer.idle for layer in self.layers)

    def kinds(self) -> list[Value]:
        """Kinds of the layers, equal neighbours as one entry with their number."""
        found: list[Value] = [
            f"{count} {kind}" for count, kind in _consecutive_kinds(layer.kind for layer in self.layers)
        ]
        return [
            *found,
            *(f"{count} mtp: {kind}" for count, kind in _consecutive_kinds(layer.kind for layer in self.mtp_layers)),
        ]


def pattern_of(written: object, count: int) -> list[bool]:
    """True for each layer with experts, from a written list; UndecidedError for another value."""
    if not isinstance(written, (list, tuple)):
        raise UndecidedError
    entries = cast("list[object]", written)
    if len(entries) != count or any(one not in (0, 1) for one in entries):
        raise UndecidedError
    return [one == 1 for one in entries]


def _consecutive_kinds(kinds: Iterable[str]) -> list[tuple[int, str]]:
    """Equal neighbours of a list as (number, kind)."""
    found: list[tuple[int, str]] = []
    for kind in kinds:
        if found and found[-1][1] == kind:
            found[-1] = found[-1][0] + 1, kind
        else:
            found.append((1, kind))
    return found


_DIGITS = 7
"""What is compared of a frequency: the frameworks compute them in float32."""
_SHOWN = 5

WITHIN, ACROSS = "within a document", "across documents"
RESTART, RUN_ON = "from the document's beginning", "from the sequence's beginning"
"""What attention sees, and what positions count from, where a sequence holds several documents."""
FROM_CHECKPOINT = "from a checkpoint"
"""The initial weights of a run that loads them, whatever it would draw."""
NOT_DRAWN = "not drawn"
"""The initial weights of a run that neither loads nor draws any: what the memory held."""


class Rotary(NamedTuple):
    """The inverse frequencies, and the factor of cosine and sine."""

    frequencies: tuple[float, ...]
    amplitude: float


def yarn_mscale(factor: float, power: float) -> float:
    """`yarn_rotary_pos_embedding.py:_yarn_get_mscale`, in both frameworks."""
    return 1.0 if factor <= 1 else 0.1 * power * log(factor) + 1.0


class Bend(NamedTuple):
    """`rotary_pos_embedding.py:RotaryEmbedding._apply_scaling`, `gpt_model.py:GPTModel.__init__`."""

    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    length: float = 8192


def bend_frequency(frequency: float, bend: Bend) -> float:
    """Llama 3's frequencies: `rotary_pos_embedding.py:RotaryEmbedding._apply_scaling`, `modules/layers.py:FreqsMgr`."""
    length = 2 * pi / frequency
    if length < bend.length / bend.high:
        return frequency
    if length > bend.length / bend.low:
        return frequency / bend.factor
    smooth = (bend.length / length - bend.low) / (bend.high - bend.low)
    return (1 - smooth) * frequency / bend.factor + smooth * frequency


def blend_frequencies(
    plain: Sequence[float],
    factor: float,
    dim: int,
    base: float,
    longest: float,
    turns: Sequence[float],
    whole: bool = True,
) -> tuple[float, ...]:
    """Frequencies under YaRN: slow ones are stretched, fast ones kept, with a ramp between."""
    low, last = ramp(dim, base, longest, turns, whole)
    high = last + (0.001 if low == last else 0)
    ramps = [min(max((place - low) / (high - low), 0.0), 1.0) for place in range(len(plain))]
    return tuple([one / factor * ramp + one * (1 - ramp) for one, ramp in zip(plain, ramps, strict=True)])


def round_digits(value: float, digits: int = 10) -> float:
    """A number without the last digits of a double, which hang on the order of the operations."""
    return float(f"{value:.{digits}g}")


def spectrum(frequencies: Sequence[float]) -> Mapping[str, Value]:
    """Sample of some frequencies, their number, and a digest of all."""
    told = [f"{one:.{_DIGITS - 1}e}" for one in frequencies]
    last = len(told) - 1
    places = dict.fromkeys(last * number // (_SHOWN - 1) for number in range(_SHOWN)) if told else {}
    found: dict[str, Value] = {str(place): float(told[place]) for place in places}
    # Python's hash of numbers is the same in every process, and costs a lint no library.
    return {"count": len(told), **found, "digest": f"{hash(tuple(map(float, told))) & 0xFFFFFFFF:08x}"}


def sight(windows: Sequence[tuple[int, int] | None]) -> list[Value]:
    """Number of positions that each layer sees, equal neighbours as one entry."""
    found: list[tuple[int, str]] = []
    for window in windows:
        told = "causal" if window is None else f"causal, from {window[0]} before to {window[1]} behind"
        if found and found[-1][1] == told:
            found[-1] = found[-1][0] + 1, told
        else:
            found.append((1, told))
    return [f"{count} {told}" for count, told in found]


EVERY_TOKEN = "every token alike"
STEP = "the step"
STEP_SO_FAR = "the step so far"
OWN_STEP_SO_FAR = "one device's part of the step so far"
ON_FROM_EARLIER_STEPS = " and in prediction layers all before"


def weights_of_groups(group: str) -> str:
    """Text on tokens that weigh alike within a group; one group is the whole step."""
    return EVERY_TOKEN if group == STEP else f"each group of {group} alike"


def group_label(samples: int, parts: int, step: int) -> str:
    """Text for a group of tokens: STEP, a number of samples, or a part of their sequences; `step` is the whole."""
    if samples == step and parts == 1:
        return STEP
    told = "1 sample" if samples == 1 else f"{samples} samples"
    return told if parts == 1 else f"1/{parts} of {told}"


BY_SCORES = "by scores alone"
AS_CHOSEN = "as chosen"
"""Which experts a balancing term counts where a bias or groups have their part in the choice."""


def balancing_term(group: str, counted: str = "") -> str:
    """The name of a term that balances experts within a group."""
    return f"balancing over {group}, experts {counted}" if counted else f"balancing over {group}"


Z_LOSS = "router z loss"
PREDICTION = "multi-token prediction"
AT_LEAST = "at least"
"""Before a number that only the data files can raise."""
PREDICTION_BY_ALL = "multi-token prediction over all tokens"
"""Divided by the tokens of the main loss, of which deeper predictions have fewer."""


def has_masked_tokens(config: Values, kind: str, masks_end: str, columns: str) -> bool:
    """True if some tokens do not count in the loss, by these keys of MindSpore Transformers.

    Without the data set's own mask it is the padding that does not, and whether there is any the file does not say.
    """
    ends, names = bool(config.get(masks_end)), config.get(columns)
    if config.get(kind) != MEGATRON_DATA or not isinstance(names, (list, tuple)):
        raise UndecidedError
    if "loss_mask" in names:
        return ends
    if whole(config.pad_token_id + 1):
        raise UndecidedError
    return False


_FOREIGN_PHRASES: list[Pattern[str]] = []
"""The expression of the phrases that have a Chinese form, once it is compiled."""


def in_both(told: str) -> Words:
    """Text of a value in both languages, translated phrase by phrase."""
    import re

    from .message_texts_compiled import FOREIGN

    if not _FOREIGN_PHRASES:
        longest_first = sorted(FOREIGN, key=len, reverse=True)
        _FOREIGN_PHRASES.append(re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"))
    said = _FOREIGN_PHRASES[0].sub(lambda found: FOREIGN[found[0]], told)
    return Words(told, re.sub(r' alike(?="|$)', "", said))


MOST_LAYERS = 100_000


def layers_in(number: Any) -> int:
    """Number of layers; UndecidedError if it is not a plausible number."""
    count = whole(number)
    if count > MOST_LAYERS:
        raise UndecidedError
    return count


MOST_ROTATED = 65_536


def rotated_width(width: int) -> int:
    """Width of a rotated head; UndecidedError if it is not a plausible number."""
    if width > MOST_ROTATED:
        raise UndecidedError
    return width


def whole(value: Any) -> int:
    """Value as a size; UndecidedError if it is not a whole number in range."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0 or value.bit_length() >= INTEGER_BITS:
        raise UndecidedError
    return value


def keys_below(settings: Mapping[str, Setting], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """Keys that start with one of these prefixes, in file order."""
    return tuple([key for key in settings if key.startswith(prefixes)])


class Values:
    """The values of one configuration below a prefix; None where this version has no such value."""

    def __init__(self, config: Config, prefix: str = "") -> None:
        self._settings: Mapping[str, Setting] = config.settings
        self._prefix = prefix
        self._config = config
        self._asked: dict[str, None] = {}
        self._another_key: list[str | None] = []
        """The answer of `_another_network`, found once."""

    def __getattr__(self, name: str) -> Any:
        return self.get(self._prefix + name)

    def get(self, key: str) -> Any:
        """The value of a key by its whole name."""
        setting = self._settings.get(key)
        if setting is None:
            return None
        self._asked[key] = None
        if not setting.decided or setting.overridable:
            raise UndecidedError(key)
        return setting.value

    def loads_weights(self, keys: Iterable[str]) -> bool:
        """True if the file names a checkpoint under one of these keys, even an undecided one."""
        for key in keys:
            setting = self._settings.get(key)
            if setting is not None and (setting.value or (setting.origin == "explicit" and not setting.decided)):
                self._asked[key] = None
                return True
        return False

    def fork_words(self, key: str) -> tuple[str, ...]:
        """Words in the file that set a value through a fork's own argument; empty otherwise."""
        setting = self._settings.get(self._prefix + key)
        if setting is None or setting.origin != "derived" or setting.raw is None:
            return ()
        return setting.raw

    def does(self, word: str) -> bool:
        """True if this version's code has the behaviour that a word of facts.yaml names."""
        return self._config.framework_version in SINCE[self._config.framework][word]

    def require_known_network(self) -> None:
        """UndecidedError if a setting selects a network that the formulas do not cover."""
        if not self._another_key:
            self._another_key.append(self._another_network())
        other = self._another_key[0]
        if other is not None:
            self._asked[other] = None
            raise UndecidedError(other)

    def _another_network(self) -> str | None:
        """Key that selects a network that the formulas do not cover; None if there is none."""
        framework = self._config.framework
        for name in ANOTHER_NETWORK[framework]:
            setting = self._settings.get(self._prefix + name)
            if setting is not None and (setting.value or not setting.decided):
                return setting.key
        if framework == "megatron":
            for setting in self._settings.values():
                if setting.acceptance == "unknown":  # a fork's own argument may make any network
                    return setting.key
        return None

    def again(self, keys: Iterable[str]) -> None:
        """Note keys that were read earlier and are used again."""
        self._asked.update(dict.fromkeys(keys))

    def take_keys(self) -> tuple[str, ...]:
        """Keys read since the last call."""
        found = tuple(self._asked)
        self._asked = {}
        return found

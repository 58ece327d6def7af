"""The data plan of a configuration: the files, the part for training, the seed, the order, the masked ids.

Both frameworks' readings end in a `Plan`. A value that reading alone cannot decide becomes a diagnostic in
`undecided`, and no sample is worked out from that plan.

Several datasets are blended into one (`BlendRequest`). A list without weights is mixed by the datasets' own sizes. Each
sample comes from the dataset that lags furthest behind its share.

Where the frameworks differ: of a dataset with weight w, Megatron asks ceil(ceil(N·w)·1.005) samples and draws
Σ ceil(N·w) in all; MindFormers asks ceil(N·w·1.005) and draws the sum of that. One prefix with the weight "1" is a
weighted list in both, one without is asked for exactly N. More samples can mean one more epoch, and then every
sample changes its place.

Sources: Megatron-Core 0.12 to 0.19 `core/datasets/utils.py:normalize`,
`blended_megatron_dataset_builder.py:_get_size_per_split_per_dataset`, `_build_blended_dataset_splits`,
`helpers.cpp:build_blending_indices`; MindFormers 1.6 to 2.1 `dataset/blended_datasets`, the same files.

`--split 99,1,0` is three weights for training, validation and test; each takes a stretch of the sequences, in order.
Without weights of its own a file is cut this way in both frameworks.

Source: Megatron-Core 0.12 `core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split`,
`convert_split_vector_to_split_matrix`, `blended_megatron_dataset_builder.py:_build_megatron_dataset_splits`; the same
up to 0.19 and in MindFormers 1.6 to 2.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ...mapper.lenses.run import SomeWeightsError, split_weights
from ...mapper.lenses.run import blend_of as listed_blend
from ...schemas.diagnostic import Diagnostic, Severity, WordsError, diagnose
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...mapper.lenses.run import Blend
    from ...schemas.config import Config, Framework, Value
    from ...schemas.message import Problem, Words
    from ...schemas.source import Span
    from ...schemas.verdict import Unseen

Loader = Literal["blocks", "dealt", "cyclic"]
"""How samples become steps: see `draws`."""


class RefusedError(WordsError):
    """Settings from which no framework builds a data set, and why."""


class Place(NamedTuple):
    """The place of a value: its key and, if the file has it, the span."""

    key: str
    span: Span | None


class Rows(NamedTuple):
    """The source of rows, and the choice among them."""

    names: tuple[str, ...]
    walked: bool
    """Whether a folder stands for the files in it, and a file for itself alone."""
    suffix: str
    columns: tuple[str, ...]
    most: int | None
    """Only so many rows are taken."""
    epochs: int | None
    shuffled: bool


class Plan(NamedTuple):
    """The data that one run asks for. None if the file does not say, or cannot."""

    file: str
    framework: Framework
    version: str
    loader: Loader
    blend: Blend | None = None
    split: str | None = None
    """None: the files are training's own."""
    own_files: bool = False
    samples: int | None = None
    """How many samples training asks for."""
    sample_length: int | None = None
    seed: int | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    ranks: int | None = None
    steps: int | None = None
    extra: bool = True
    surplus: float = 0.005
    sharded: bool = True
    pass_samples: int | None = None
    """After so many samples the loader begins again; None where it goes on to the end of its index."""
    vocabulary: int | None = None
    """Rows of the embedding."""
    eod: int | None = None
    masks_after_eod: bool = False
    resets_positions: bool = False
    resets_attention: bool = False
    unseen: Mapping[int, str] = {}
    """Ids that this run masks, and where."""
    cache: str | None = None
    places: Mapping[str, Place] = {}
    undecided: tuple[Diagnostic, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    rows: Rows | None = None
    """What is drawn from MindRecord files; a plan has these or a blend."""
    open_words: tuple[Unseen, ...] = ()
    """What a launch leaves open that could ask for anything else."""

    @property
    def is_shuffled(self) -> bool:
        """True if MindSpore shuffles the rows."""
        return self.rows is not None and self.rows.shuffled

    @property
    def ends_matter(self) -> bool:
        """True if document ends have any effect in the run."""
        return self.masks_after_eod or self.resets_positions or self.resets_attention

    @property
    def is_decided(self) -> bool:
        """True if the file determines which samples are used."""
        needed = (
            (self.rows, self.samples, self.global_batch)
            if self.rows is not None
            else (self.blend, self.samples, self.sample_length, self.seed, self.global_batch)
        )
        return not self.undecided and all(value is not None for value in needed)

    def place(self, name: str) -> Place:
        """File position of the setting behind a field of this plan."""
        return self.places.get(name, Place(name, None))


class Reader:
    """The settings of a configuration, with everything undecided noted on the way."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.places: dict[str, Place] = {}
        self.undecided: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []

    def value(self, key: str, field: str = "", *, needed: bool = False) -> Value:
        """Effective value of a key; notes an undecided value if `needed`."""
        setting = self.config.settings.get(key)
        if setting is None:
            return None
        if field:
            self.places[field] = Place(key, setting.span)
        raw = " ".join(setting.raw or ()) or key
        # One word that may become several makes everything after it undecided: the word itself is what to tell.
        if needed and not setting.decided and ("$" in raw or "`" in raw or not self.undecided):
            self.undecide(key, say.cannot_be_decided_from_the(value=setting.flag or key, raw=raw))
        return setting.value

    def whole(self, key: str, field: str = "", *, needed: bool = False) -> int | None:
        """Value of a key if it is a whole number."""
        value = self.value(key, field, needed=needed)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, key: str, field: str = "", *, needed: bool = False) -> str | None:
        """Value of a key if it is text."""
        value = self.value(key, field, needed=needed)
        return value if isinstance(value, str) else None

    def true(self, key: str, field: str = "") -> bool:
        """True if a switch is on."""
        return bool(self.value(key, field))

    def unless_off(self, key: str) -> bool:
        """True unless a switch is turned off."""
        self.value(key)
        return self.config.is_on(key, otherwise=True)

    def undecide(self, key: str, said: Words) -> None:
        """Note a reason why the samples cannot be determined."""
        self.undecided.append(self.finding_at(say.undecided(what=said), key))

    def report(self, problem: Problem, key: str, severity: Severity | None = None) -> None:
        """Record a finding about the configuration."""
        self.problems.append(self.finding_at(problem, key, severity))

    def finding_at(self, problem: Problem, key: str, severity: Severity | None = None) -> Diagnostic:
        """Finding at the position of a key."""
        setting = self.config.settings.get(key)
        return data_finding(problem, self.config.file, None if setting is None else setting.span, severity)


def data_finding(problem: Problem, file: str, span: Span | None, severity: Severity | None = None) -> Diagnostic:
    """Finding of a data check; `severity` overrides the usual one."""
    found = diagnose(problem, file, span)
    return found if severity is None else found._replace(kind=found.kind._replace(severity=severity))


Rounding = Literal["megatron", "mindformers"]


def blend_of(words: Sequence[object]) -> Blend:
    """Blend of data paths and optional weights; RefusedError for a list that no run accepts."""
    if not words:
        raise RefusedError(say.the_list_of_data_paths())
    listed = " ".join(map(str, words))
    try:
        blend = listed_blend(words)
    except SomeWeightsError:
        raise RefusedError(say.some_prefixes_have_a_weight(listed=listed)) from None
    if blend.weights is not None and (min(blend.weights) <= 0 or not math.isfinite(sum(blend.weights))):
        raise RefusedError(say.every_weight_must_be_above(listed=listed))
    return blend


def normalize(weights: Sequence[float]) -> list[float]:
    """Weights scaled to sum 1, with NumPy's rounding."""
    import numpy as np

    array = np.array(weights, dtype=np.float64)
    return (array / np.sum(array)).tolist()


class BlendRequest(NamedTuple):
    """The samples that a weighted blend asks of its datasets."""

    samples: tuple[int, ...]
    """Of each dataset."""
    size: int
    """Of the blend."""


def request_of(weights: Sequence[float], samples: int, rounding: Rounding, surplus: float = 0.005) -> BlendRequest:
    """Number of samples that a blend asks of each data set, for `samples` in total."""
    if rounding == "mindformers":
        each = tuple(math.ceil(samples * weight * 1.005) for weight in weights)
        return BlendRequest(each, sum(each))
    due = [math.ceil(samples * weight) for weight in weights]
    return BlendRequest(tuple(math.ceil(count * (1 + surplus)) for count in due), sum(due))


def turns(weights: Sequence[float], count: int) -> tuple[Any, Any]:
    """For the first `count` samples of a blend: the data set of each, and its number within it."""
    import numpy as np

    shares = np.array(weights, dtype=np.float64)
    taken = np.zeros(len(shares), dtype=np.int64)
    dataset = np.zeros(count, dtype=np.int64)
    sample = np.zeros(count, dtype=np.int64)
    if len(shares) == 1:
        return dataset, np.arange(count, dtype=np.int64)
    for turn in range(count):
        behind = int(np.argmax(shares * max(float(turn), 1.0) - taken))
        dataset[turn] = behind
        sample[turn] = taken[behind]
        taken[behind] += 1
    return dataset, sample


def shares(split: str) -> tuple[float, float, float]:
    """Shares of training, validation and test in a split's text."""
    try:
        weights = split_weights(split)
    except ValueError:
        raise RefusedError(say.the_split_is_no_list(split=split)) from None
    weights += [0.0] * (3 - len(weights))
    if len(weights) > 3:
        raise RefusedError(say.the_split_has_more_than(split=split))
    total = weights[0] + weights[1] + weights[2]
    if not total:
        raise RefusedError(say.the_split_adds_up_to(split=split))
    return weights[0] / total, weights[1] / total, weights[2] / total


class Ranges(NamedTuple):
    """The sequences of each part, as first and last-but-one; None where the part has no share."""

    training: tuple[int, int]
    validation: tuple[int, int] | None
    test: tuple[int, int] | None


def ranges(split: str | None, sequences: int) -> Ranges:
    """Sequence range of each part of a split; without a split, training has all."""
    if split is None:
        return Ranges((0, sequences), None, None)
    found: list[tuple[int, int] | None] = []
    edge = 0.0
    for share in shares(split):
        following = edge + share
        places = round(edge * float(sequences)), round(following * float(sequences))
        found.append(places if following > edge else None)
        edge = following
    training, validation, test = found
    if training is None:
        raise RefusedError(say.the_split_leaves_nothing_for(split=split))
    return Ranges(training, validation, test)

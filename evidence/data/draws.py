"""Samples that one plan draws, in order and step by step: from indexed files (`Draws`), or rows of MindRecord files.

Of the loaders that hand samples out, `single` takes the samples in order: step k uses the k-th global batch. Megatron
gives each device a block of a micro batch; MindFormers deals the samples out one by one, so that device r of d holds r,
r+d, r+2d, …: the same global batch, on other devices. `cyclic` (Megatron only) shuffles once more with PyTorch's
generator, by default within a bucket of each device.

Sources: Megatron-LM 0.12 `legacy/data/data_samplers.py`, 0.16 to 0.19 `training/datasets/data_samplers.py`; MindFormers
1.6 to 2.1 `dataset/base_dataset.py:_generate_shard_info` with MindSpore's GeneratorDataset, measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...schemas.fast_records import NamedTuple
from .blend import normalize, ranges, request_of, turns
from .gpt_index import GptIndex, Piece, gpt_index
from .messages_compiled import say
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .indexed_file import IndexedFile
    from .mindrecord import RecordFile
    from .plan import Plan

_MOST_TURNS = 100_000
"""A blend of more samples uses every dataset, and its builders' check has nothing to find."""


class Drawn(NamedTuple):
    """One sample: the prefix it comes from, and the stretches of sequences it is made of."""

    prefix: str
    pieces: tuple[Piece, ...]


class Draws:
    """The samples of a plan, worked out as far as they are asked for."""

    def __init__(self, plan: Plan, files: Mapping[str, IndexedFile]) -> None:
        """Build the indices; RefusedError where the framework could not."""
        if plan.blend is None or plan.samples is None or plan.sample_length is None or plan.seed is None:
            raise ValueError("the plan is not decided")
        self.plan = plan
        self.files = [files[prefix] for prefix in plan.blend.prefixes]
        self.prefixes = plan.blend.prefixes
        self.requests, self.shares, size = _requests(plan, self.files)
        self.indices: list[GptIndex] = [
            _index(plan, data, request) for data, request in zip(self.files, self.requests, strict=True)
        ]
        self.size = len(self.indices[0]) if size is None else size
        self._turns: tuple[Any, Any] | None = None
        self._cyclic: CyclicOrder | None = None
        if self.size <= 0:
            raise RefusedError(say.there_is_not_one_sample())
        self._check_blend()

    def _check_blend(self) -> None:
        """Refuse a blend that asks more of a dataset than it has, as the builders do.

        MindFormers compares the n-th dataset with the n-th one *that is used*, so that a blend in which one is never
        used can be refused for the size of another (`blended_megatron_dataset_builder.py:build`, 1.6 to 2.1).
        """
        import numpy as np

        if self.shares is None or len(self.indices) == 1 or self.size > _MOST_TURNS:
            return
        used, counts = cast("Any", np.unique(turns(self.shares, self.size)[0], return_counts=True))
        places = range(len(used)) if self.plan.framework == "mindformers" else used.tolist()
        for place, count in zip(places, counts.tolist(), strict=True):
            if len(self.indices[place]) < count:
                raise RefusedError(
                    say.the_blend_is_checked_for(
                        count=count, prefixe=self.prefixes[place], count2=len(self.indices[place])
                    )
                )

    def sample(self, number: int) -> Drawn:
        """The sample that the framework's dataset gives for an index."""
        dataset, place = self._turn(number)
        index = self.indices[dataset]
        if place >= len(index):
            raise RefusedError(
                say.the_blend_takes_sample_of(place=place, prefixe=self.prefixes[dataset], count=len(index))
            )
        return Drawn(self.files[dataset].prefix, index.sample(place))

    def tokens(self, number: int) -> Any:
        """The tokens of a sample; one longer than the sample length, so that inputs and labels are cut from it."""
        import numpy as np

        dataset, place = self._turn(number)
        data = self.files[dataset]
        parts = [data.read(*piece).astype(np.int64) for piece in self.indices[dataset].sample(place)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def step(self, step: int) -> list[Slot]:
        """The samples of a step, each with its data-parallel device and micro batch."""
        plan = self.plan
        batch = plan.global_batch or 1
        ranks = plan.ranks or 1
        micro = plan.micro_batch or max(1, batch // ranks)
        if plan.loader == "cyclic":
            return self._cyclic_order(micro, ranks).step(step, batch)
        make = block_step if plan.loader == "blocks" else dealt_step
        once = self.samples_of_a_pass()
        return [slot._replace(sample=slot.sample % once) for slot in make(step, batch, micro, ranks)]

    def samples_of_a_pass(self) -> int:
        """After how many samples the loader has no more or begins again."""
        batch = self.plan.global_batch or 1
        if self.plan.loader == "cyclic":
            ranks = self.plan.ranks or 1
            return self._cyclic_order(self.plan.micro_batch or max(1, batch // ranks), ranks).steps_samples
        if self.plan.pass_samples is not None:
            return max(batch, min(self.plan.pass_samples, self.size // batch * batch))
        return max(batch, self.size // batch * batch)

    def shares_differ(self, other: Draws) -> bool:
        """True if the datasets come in other turns than those of `other`."""
        if len(self.indices) == 1 == len(other.indices):
            return False
        return self.shares != other.shares

    def _cyclic_order(self, micro: int, ranks: int) -> CyclicOrder:
        if self._cyclic is None:
            if self.size >= Permutation.LIMIT:
                raise RefusedError(say.the_cyclic_order_of_samples(size=self.size))
            self._cyclic = CyclicOrder(self.size, micro, ranks, sharded=self.plan.sharded)
        return self._cyclic

    def _turn(self, number: int) -> tuple[int, int]:
        if self.shares is None:
            return 0, number
        if len(self.indices) == 1:
            return 0, number
        if self._turns is None or number >= len(self._turns[0]):
            self._turns = turns(self.shares, min(self.size, max(2 * number, 1024)))
        return int(self._turns[0][number]), int(self._turns[1][number])


def _requests(plan: Plan, files: Sequence[IndexedFile]) -> tuple[list[int | None], list[float] | None, int | None]:
    """Samples asked of each dataset, the shares of the blend, and its size; None for one dataset alone."""
    blend, samples = plan.blend, plan.samples
    assert blend is not None
    assert samples is not None
    if len(files) == 1 and (blend.weights is None or plan.own_files):
        return [samples], None, None
    if blend.weights is None:
        # Without weights each dataset gives one epoch, and the blend follows their sizes.
        sizes = [_one_epoch(plan, data) for data in files]
        return [None for _ in files], normalize(sizes), min(samples, sum(sizes))
    shares = normalize(blend.weights)
    rounding = "megatron" if plan.framework == "megatron" else "mindformers"
    request = request_of(shares, samples, rounding, plan.surplus)
    # The blend's own class normalises once more (`blended_dataset.py:BlendedDataset.__init__`).
    return list(request.samples), normalize(shares), request.size


def _one_epoch(plan: Plan, data: IndexedFile) -> int:
    """Samples of one epoch; every part of the split needs at least one, or the blend stops."""
    found = [
        (int(data.lengths[part[0] : part[1]].sum()) - int(plan.extra)) // (plan.sample_length or 1)
        for part in ranges(plan.split, data.sequences)
        if part is not None
    ]
    if min(found) <= 0:
        raise RefusedError(say.has_not_one_whole_sample(prefix=data.prefix, split=plan.split))
    return found[0]


def _index(plan: Plan, data: IndexedFile, request: int | None) -> GptIndex:
    parts = ranges(plan.split, data.sequences)
    for name, part in zip((say.validation(), say.test()), parts[1:], strict=True):
        if part is not None and request is not None and not int(data.lengths[part[0] : part[1]].sum()):
            raise RefusedError(
                say.the_part_of_the_split(split=plan.split, prefix=data.prefix, sequences=data.sequences, name=name)
            )
    return gpt_index(data.lengths, parts.training, request, plan.sample_length or 1, plan.seed or 0, extra=plan.extra)


def has_labels(data: RecordFile, plan: Plan) -> bool:
    """True if the labels are a column of their own, so that a row has as many inputs as the sample length."""
    assert plan.rows is not None
    return len(data.columns) > 1 and data.columns[1].name in plan.rows.columns


class RowIndex:
    """The rows as a data set's index: one epoch of them."""

    epochs = 1
    separate_last_epoch = False

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count


class RowDraws:
    """The rows of a plan as samples, in the order of their files; what `Draws` is for Megatron's form."""

    shares = None

    def __init__(self, plan: Plan, data: RecordFile) -> None:
        self.plan = plan
        self.data = data
        self.size = plan.samples or 0
        self.indices = [RowIndex(self.size)]
        self.requests: list[int | None] = [plan.samples]
        self._labels = has_labels(data, plan)
        if self.size <= 0:
            raise RefusedError(say.there_is_not_one_sample())
        if plan.sample_length is None and (plan.global_batch or 1) > 1:
            low, high = int(data.lengths.min()), int(data.lengths.max())
            raise RefusedError(say.rows_of_other_lengths(low=low, high=high))

    def sample(self, number: int) -> Drawn:
        """The row that is a sample."""
        row = number % self.size
        return Drawn(self.data.prefix, (Piece(row, 0, int(self.data.lengths[row])),))

    def tokens(self, number: int) -> Any:
        """The tokens of a sample, as Megatron has them: inputs, and the last label where labels are the next inputs.

        Labels that are the inputs themselves are shifted by the model; others (-100 before an answer) are not ids.
        """
        import numpy as np

        ids, labels = self._row(number)
        if labels is not None and labels.size == ids.size and ids.size and np.array_equal(labels[:-1], ids[1:]):
            return np.concatenate([ids, labels[-1:]])
        return ids

    def own_labels(self, number: int) -> Any | None:
        """The labels of a sample that are neither the next inputs nor the inputs themselves."""
        import numpy as np

        ids, labels = self._row(number)
        if labels is None or np.array_equal(labels, ids):
            return None
        return None if labels.size == ids.size and ids.size and np.array_equal(labels[:-1], ids[1:]) else labels

    def _row(self, number: int) -> tuple[Any, Any | None]:
        row = number % self.size
        return self.data.read(row), self.data.array(row, self.data.columns[1]) if self._labels else None

    def columns_not_compared(self) -> tuple[str, ...]:
        """Inputs of the model beside ids and labels: masks and positions, which are not read."""
        assert self.plan.rows is not None
        read = {column.name for column in self.data.columns}
        return tuple(name for name in self.plan.rows.columns or self.data.names if name not in read)

    def step(self, step: int) -> list[Slot]:
        """The samples of a step, each with its data-parallel device and micro batch."""
        plan = self.plan
        batch, ranks = plan.global_batch or 1, plan.ranks or 1
        micro = plan.micro_batch or max(1, batch // ranks)
        once = self.samples_of_a_pass()
        return [slot._replace(sample=slot.sample % once) for slot in dealt_step(step, batch, micro, ranks)]

    def samples_of_a_pass(self) -> int:
        """After how many samples the rows begin again."""
        batch = self.plan.global_batch or 1
        # The rows are filled up so that every device has as many; what is left of a batch is dropped.
        ranks = self.plan.ranks or 1
        return max(batch, -(-self.size // ranks) * ranks // batch * batch)

    def shares_differ(self, other: object) -> bool:
        """There are no shares."""
        return other is None


AnyDraws = Draws | RowDraws
"""The samples of either form of data."""


class Slot(NamedTuple):
    """One place in a step: which sample stands there, and on which data-parallel device, in which micro batch."""

    sample: int
    rank: int
    micro: int


def block_step(step: int, global_batch: int, micro_batch: int, ranks: int) -> list[Slot]:
    """A step of Megatron's `single` loader."""
    width = micro_batch * ranks
    return [Slot(step * global_batch + at, at % width // micro_batch, at // width) for at in range(global_batch)]


def dealt_step(step: int, global_batch: int, micro_batch: int, ranks: int) -> list[Slot]:
    """A step of MindFormers: samples are dealt to the devices in turn."""
    return [Slot(step * global_batch + at, at % ranks, at // ranks // micro_batch) for at in range(global_batch)]


class CyclicOrder:
    """The first epoch of Megatron's `cyclic` loader."""

    def __init__(self, total: int, micro_batch: int, ranks: int, *, sharded: bool) -> None:
        self._micro = micro_batch
        self._ranks = ranks
        self._sharded = sharded
        width = micro_batch * ranks
        self._bucket = total // width * micro_batch
        size = self._bucket if sharded else total // micro_batch * micro_batch
        self._permutation = Permutation(size, seed=0)
        self.steps_samples = total - total % width
        """Samples of one epoch."""

    def step(self, step: int, global_batch: int) -> list[Slot]:
        """A step's samples; the caller stays within the epoch."""
        width = self._micro * self._ranks
        found: list[Slot] = []
        for at in range(global_batch):
            rank, micro = at % width // self._micro, at // width
            turn = step * (global_batch // self._ranks) + micro * self._micro + at % self._micro
            if self._sharded:
                found.append(Slot(rank * self._bucket + self._permutation[turn], rank, micro))
            else:
                found.append(Slot(self._permutation[turn * self._ranks + rank], rank, micro))
        return found


class Permutation:
    """The beginning of `torch.randperm(size)` after `manual_seed(seed)`, worked out as far as it is asked for.

    PyTorch draws 32 bits of the Mersenne twister for each place and swaps; NumPy's generator of the same name gives
    the same bits for the same seed. From 2³²/20 places on PyTorch draws 64 bits, which is not worked out here.
    """

    LIMIT = (2**32 - 1) // 20

    def __init__(self, size: int, seed: int) -> None:
        import numpy as np

        if size >= self.LIMIT:
            raise ValueError(f"a permutation of {size} is beyond {self.LIMIT}")
        self._size = size
        self._state = np.random.RandomState(seed)
        self._moved: dict[int, int] = {}
        self._known: list[int] = []

    def __getitem__(self, place: int) -> int:
        if not 0 <= place < self._size:
            raise IndexError(place)
        while len(self._known) <= place:
            self._draw()
        return self._known[place]

    def _draw(self) -> None:
        at = len(self._known)
        if at == self._size - 1:  # the last place is what is left
            self._known.append(self._moved.get(at, at))
            return
        bits = int.from_bytes(self._state.bytes(4), "little")
        other = at + bits % (self._size - at)
        self._known.append(self._moved.get(other, other))
        self._moved[other] = self._moved.get(at, at)

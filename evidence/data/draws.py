"""Samples that one plan draws, in order and step by step: from indexed files (`Draws`), or rows of MindRecord files.

Of the loaders that hand samples out, `single` takes the samples in order: step k uses the k-th global batch. Megatron
gives each device a block of a micro batch; MindFormers deals the samples out one by one, so that device r of d holds r,
r+d, r+2d, …: the same global batch, on other devices. `cyclic` (Megatron only) shuffles once more with PyTorch's
generator, by default within a bucket of each device.

Sources: Megatron-LM 0.12 `legacy/data/data_samplers.py`, 0.16 to 0.19 `training/datasets/data_samplers.py`; MindFormers
1.6 to 2.1 `dataset/base_dataset.py:_generate_shard_info` with MindSpore's GeneratorDataset, measured.

The samples of one dataset (`GptIndex`) are sequences, shuffled and cut. They follow from the lengths of the sequences,
the sample length, the number of samples asked for and the seed.
Where several epochs are needed and the last is used to less than four fifths, that one is shuffled by itself.
A sample of S tokens takes S+1 from the line, so that the labels are the tokens moved on by one; the next sample begins
with the last of them.

Source: Megatron-Core 0.12 `core/datasets/gpt_dataset.py:GPTDataset._build_document_sample_shuffle_indices`,
`_build_document_index`, `_build_shuffle_index`, `helpers.cpp:build_sample_idx`; the same up to 0.19 and in MindFormers
1.6 to 2.1 `dataset/blended_datasets/gpt_dataset.py`.

Both frameworks name an index that an earlier run left (`cached_indices`) by the settings, not by the data, so that new
data at an old path get old indices (0.12 and 1.9.0, `megatron_dataset.py`: the description).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ..arrays import read_array
from ..bounded_files import as_object, bytes_of, parse_json
from .messages_compiled import say
from .plan import RefusedError, normalize, ranges, request_of, turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .indexed_file import IndexedFile
    from .mindrecord import RecordFile
    from .plan import Plan

LAST_EPOCH_SHARE = 0.80


class Piece(NamedTuple):
    """A stretch of one sequence."""

    sequence: int
    offset: int
    length: int


class GptIndex(NamedTuple):
    """The samples of one dataset, in the order in which they are drawn."""

    documents: Any
    """The sequences in their shuffled order, epoch after epoch."""
    ends: Any
    """Where each of them ends in the line of tokens."""
    order: Any
    """Which cut of the line is drawn first, second, …"""
    epochs: int
    separate_last_epoch: bool
    sample_length: int
    extra: int
    """Tokens that a sample takes beyond its length: 1, so that there is a label for the last token."""

    def __len__(self) -> int:
        return int(self.order.size)

    def sample(self, number: int) -> tuple[Piece, ...]:
        """Pieces of documents that make up sample `number`."""
        cut = int(self.order[number])
        first, offset = self.place(cut)
        last, stop = self.place(cut + 1)
        if first == last:
            return (Piece(int(self.documents[first]), offset, stop - offset + self.extra),)
        pieces = [Piece(int(self.documents[first]), offset, self._length(first) - offset)]
        pieces += [Piece(int(self.documents[at]), 0, self._length(at)) for at in range(first + 1, last)]
        pieces.append(Piece(int(self.documents[last]), 0, stop + self.extra))
        return tuple(piece for piece in pieces if piece.length)

    def place(self, cut: int) -> tuple[int, int]:
        """Sequence and offset at which a sample begins."""
        import numpy as np

        if cut == 0:
            return 0, 0
        token = cut * self.sample_length
        # With an extra token the cut stands on a token; without one it stands behind the last token it took.
        side = "right" if self.extra else "left"
        at = int(np.searchsorted(self.ends, token, side=side))
        return at, token - int(self.ends[at]) + self._length(at)

    def _length(self, at: int) -> int:
        """Length of a sequence in the shuffled line."""
        return int(self.ends[at]) - (int(self.ends[at - 1]) if at else 0)


def gpt_index(
    lengths: Any, training: tuple[int, int], samples: int | None, sample_length: int, seed: int, *, extra: bool = True
) -> GptIndex:
    """Sample index of the training sequences, for at least `samples` samples; None means one epoch."""
    import numpy as np

    sequences = np.arange(training[0], training[1], dtype=np.int32)
    tokens = int(np.sum(lengths[training[0] : training[1]]))
    more = int(extra)
    if tokens <= 0:
        raise RefusedError(say.there_are_no_tokens_to())
    epochs = 1 if samples is None else max(1, -(-(samples * sample_length + more) // tokens))
    separate = False
    before_last = 0
    if samples is not None and epochs > 1:
        before_last = ((epochs - 1) * tokens - more) // sample_length
        from_last = samples - before_last
        per_epoch = (tokens - more) // sample_length
        if not 0 <= from_last <= per_epoch + 1:
            raise RefusedError(say.samples_would_come_from_the(from_last=from_last, per_epoch=per_epoch))
        separate = from_last < int(LAST_EPOCH_SHARE * per_epoch)
    state = np.random.RandomState(seed)
    parts = (epochs - 1, 1) if separate else (epochs,)
    documents = np.concatenate([_shuffle(np.tile(sequences, times), state) for times in parts])
    total = (epochs * tokens - more) // sample_length
    if separate:
        order = np.concatenate(
            [_shuffle(np.arange(before_last), state), _shuffle(np.arange(before_last, total), state)]
            if before_last != total
            else [_shuffle(np.arange(before_last), state)]
        )
    else:
        order = _shuffle(np.arange(total), state)
    ends = np.cumsum(np.asarray(lengths)[documents], dtype=np.int64)
    return GptIndex(documents, ends, order, epochs, separate, sample_length, more)


def _shuffle(array: Any, state: Any) -> Any:
    state.shuffle(array)
    return array


_MOST_BYTES = 1 << 24
_DESCRIPTION = "-GPTDataset-train-description.txt"


class Cached(NamedTuple):
    """A cached index that a plan would take, and whether it is the one its data give."""

    path: str
    fits: bool


def cached_indices(plan: Plan, prefix: str, request: int | None, index: GptIndex) -> Iterator[Cached]:
    """Cached index files that a run with this plan would load for a prefix, with the result of a check."""
    folder = plan.cache or os.path.join(prefix, "cache", "GPTDataset_indices")
    if not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        if not name.endswith(_DESCRIPTION):
            continue
        path = os.path.join(folder, name)
        described = _description(path)
        if (
            described.get("dataset_path") == prefix
            and described.get("num_samples") == request
            and described.get("random_seed") == plan.seed
            and described.get("sequence_length") == plan.sample_length
            and described.get("split") == plan.split
        ):
            yield Cached(path, _fits(path[: -len("description.txt")], index))


def _description(path: str) -> dict[str, Any]:
    """JSON description beside a cached index; empty if it is unreadable."""
    try:
        found = parse_json(bytes_of(path, _MOST_BYTES), 2)
    except (OSError, ValueError):
        return {}
    return as_object(found)


def _fits(stem: str, index: GptIndex) -> bool:
    """True if cached index files on disk equal this index."""
    import numpy as np

    try:
        documents = read_array(f"{stem}document_index.npy")
        order = read_array(f"{stem}shuffle_index.npy")
        cuts = read_array(f"{stem}sample_index.npy")
    except UnreadableError:
        return False
    if not np.array_equal(documents, index.documents) or not np.array_equal(order, index.order):
        return False
    # The cuts follow from the lengths, which may have changed while their number has not.
    some = np.unique(np.linspace(0, len(index), num=min(len(index) + 1, 4096)).astype(np.int64))
    return cuts.shape == (len(index) + 1, 2) and all(tuple(map(int, cuts[at])) == index.place(int(at)) for at in some)


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
        """Raise RefusedError for a blend that asks more of a data set than it has, as the frameworks do.

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
        """Sample that the framework's data set returns for an index."""
        dataset, place = self._turn(number)
        index = self.indices[dataset]
        if place >= len(index):
            raise RefusedError(
                say.the_blend_takes_sample_of(place=place, prefixe=self.prefixes[dataset], count=len(index))
            )
        return Drawn(self.files[dataset].prefix, index.sample(place))

    def tokens(self, number: int) -> Any:
        """Tokens of a sample, one more than the sample length: inputs and labels are shifted views of them."""
        import numpy as np

        dataset, place = self._turn(number)
        data = self.files[dataset]
        parts = [data.read(*piece).astype(np.int64) for piece in self.indices[dataset].sample(place)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def step(self, step: int) -> list[Slot]:
        """Samples of a step, each with its data-parallel rank and micro batch."""
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
        """Number of samples after which the loader ends or starts again."""
        batch = self.plan.global_batch or 1
        if self.plan.loader == "cyclic":
            ranks = self.plan.ranks or 1
            return self._cyclic_order(self.plan.micro_batch or max(1, batch // ranks), ranks).steps_samples
        if self.plan.pass_samples is not None:
            return max(batch, min(self.plan.pass_samples, self.size // batch * batch))
        return max(batch, self.size // batch * batch)

    def shares_differ(self, other: Draws) -> bool:
        """True if a blend interleaves its data sets differently from `other`."""
        return not len(self.indices) == 1 == len(other.indices) and self.shares != other.shares

    def _cyclic_order(self, micro: int, ranks: int) -> CyclicOrder:
        """Order of Megatron's cyclic loader, cached; RefusedError for too many samples."""
        if self._cyclic is None:
            if self.size >= Permutation.LIMIT:
                raise RefusedError(say.the_cyclic_order_of_samples(size=self.size))
            self._cyclic = CyclicOrder(self.size, micro, ranks, sharded=self.plan.sharded)
        return self._cyclic

    def _turn(self, number: int) -> tuple[int, int]:
        """Data set of a sample, and its number within that data set."""
        if self.shares is None or len(self.indices) == 1:
            return 0, number
        if self._turns is None or number >= len(self._turns[0]):
            self._turns = turns(self.shares, min(self.size, max(2 * number, 1024)))
        return int(self._turns[0][number]), int(self._turns[1][number])


def _requests(plan: Plan, files: Sequence[IndexedFile]) -> tuple[list[int | None], list[float] | None, int | None]:
    """Number of samples asked of each data set, the blend's shares, and the blend's size."""
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
    """Number of samples in one epoch; RefusedError if a part of the split has not one whole sample."""
    found = [
        (int(data.lengths[part[0] : part[1]].sum()) - int(plan.extra)) // (plan.sample_length or 1)
        for part in ranges(plan.split, data.sequences)
        if part is not None
    ]
    if min(found) <= 0:
        raise RefusedError(say.has_not_one_whole_sample(prefix=data.prefix, split=plan.split))
    return found[0]


def _index(plan: Plan, data: IndexedFile, request: int | None) -> GptIndex:
    """Sample index of one data file under a plan; RefusedError if another part of the split has no tokens."""
    parts = ranges(plan.split, data.sequences)
    for name, part in zip((say.validation(), say.test()), parts[1:], strict=True):
        if part is not None and request is not None and not int(data.lengths[part[0] : part[1]].sum()):
            raise RefusedError(
                say.the_part_of_the_split(split=plan.split, prefix=data.prefix, sequences=data.sequences, name=name)
            )
    return gpt_index(data.lengths, parts.training, request, plan.sample_length or 1, plan.seed or 0, extra=plan.extra)


def has_labels(data: RecordFile, plan: Plan) -> bool:
    """True if rows have a separate label column."""
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
        """Row of a sample number."""
        row = number % self.size
        return Drawn(self.data.prefix, (Piece(row, 0, int(self.data.lengths[row])),))

    def tokens(self, number: int) -> Any:
        """Tokens of a sample in Megatron's form: the inputs, plus the last label if labels are shifted inputs.

        Labels that are the inputs themselves are shifted by the model; others (-100 before an answer) are not ids.
        """
        import numpy as np

        ids, labels = self._row(number)
        if labels is not None and labels.size == ids.size and ids.size and np.array_equal(labels[:-1], ids[1:]):
            return np.concatenate([ids, labels[-1:]])
        return ids

    def own_labels(self, number: int) -> Any | None:
        """Labels of a sample if they are neither shifted inputs nor the inputs themselves."""
        import numpy as np

        ids, labels = self._row(number)
        if labels is None or np.array_equal(labels, ids):
            return None
        return None if labels.size == ids.size and ids.size and np.array_equal(labels[:-1], ids[1:]) else labels

    def _row(self, number: int) -> tuple[Any, Any | None]:
        """Token ids of a sample's row, and its labels if there is such a column."""
        row = number % self.size
        return self.data.read(row), self.data.array(row, self.data.columns[1]) if self._labels else None

    def columns_not_compared(self) -> tuple[str, ...]:
        """Other columns, such as masks and positions, that this check does not read."""
        assert self.plan.rows is not None
        read = {column.name for column in self.data.columns}
        return tuple(name for name in self.plan.rows.columns or self.data.names if name not in read)

    def step(self, step: int) -> list[Slot]:
        """Samples of a step, each with its data-parallel rank and micro batch."""
        plan = self.plan
        batch, ranks = plan.global_batch or 1, plan.ranks or 1
        micro = plan.micro_batch or max(1, batch // ranks)
        once = self.samples_of_a_pass()
        return [slot._replace(sample=slot.sample % once) for slot in dealt_step(step, batch, micro, ranks)]

    def samples_of_a_pass(self) -> int:
        """Samples in one pass over the rows: padded for the ranks, cut to whole batches."""
        batch = self.plan.global_batch or 1
        # The rows are filled up so that every device has as many; what is left of a batch is dropped.
        ranks = self.plan.ranks or 1
        return max(batch, -(-self.size // ranks) * ranks // batch * batch)

    def shares_differ(self, other: object) -> bool:
        """False: record files have no blend."""
        return other is None


AnyDraws = Draws | RowDraws
"""The samples of either form of data."""


class Slot(NamedTuple):
    """One place in a step: which sample stands there, and on which data-parallel device, in which micro batch."""

    sample: int
    rank: int
    micro: int


def block_step(step: int, global_batch: int, micro_batch: int, ranks: int) -> list[Slot]:
    """Samples of one step in Megatron's `single` loader: consecutive blocks for the ranks."""
    width = micro_batch * ranks
    return [Slot(step * global_batch + at, at % width // micro_batch, at // width) for at in range(global_batch)]


def dealt_step(step: int, global_batch: int, micro_batch: int, ranks: int) -> list[Slot]:
    """Samples of one step in MindFormers: dealt to the ranks in turn."""
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
        """Samples of one step; the step must lie within the epoch."""
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
        """Draw the next element of the permutation, as an incremental Fisher-Yates shuffle."""
        at = len(self._known)
        if at == self._size - 1:  # the last place is what is left
            self._known.append(self._moved.get(at, at))
            return
        bits = int.from_bytes(self._state.bytes(4), "little")
        other = at + bits % (self._size - at)
        self._known.append(self._moved.get(other, other))
        self._moved[other] = self._moved.get(at, at)

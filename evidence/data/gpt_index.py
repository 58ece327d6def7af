"""The samples of one dataset, as Megatron-Core's index functions build them: shuffled sequences cut into samples.

All of it follows from the lengths of the sequences, the sample length, the number of samples asked for and the seed.
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
from typing import TYPE_CHECKING, Any

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ..arrays import read_array
from ..bounded_files import as_object, bytes_of, parse_json
from .messages_compiled import say
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        """The pieces of the sample that is drawn as `number`."""
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
        """The place of a cut: which sequence of the line, and how far into it."""
        import numpy as np

        if cut == 0:
            return 0, 0
        token = cut * self.sample_length
        # With an extra token the cut stands on a token; without one it stands behind the last token it took.
        side = "right" if self.extra else "left"
        at = int(np.searchsorted(self.ends, token, side=side))
        return at, token - int(self.ends[at]) + self._length(at)

    def _length(self, at: int) -> int:
        return int(self.ends[at]) - (int(self.ends[at - 1]) if at else 0)


def gpt_index(
    lengths: Any, training: tuple[int, int], samples: int | None, sample_length: int, seed: int, *, extra: bool = True
) -> GptIndex:
    """The samples of the sequences `training`, of which at least `samples` are asked for; None asks for one epoch."""
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
    """The cached indices that the settings of `plan` would find for a prefix."""
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
    try:
        found = parse_json(bytes_of(path, _MOST_BYTES), 2)
    except (OSError, ValueError):
        return {}
    return as_object(found)


def _fits(stem: str, index: GptIndex) -> bool:
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

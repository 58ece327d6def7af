"""From the order of samples to steps: which sample is used in which step, on which device.

`single` takes the samples in order: step k uses the k-th global batch. Megatron gives each device a block of a micro
batch; MindFormers deals the samples out one by one, so that device r of d holds r, r+d, r+2d, …: the same global
batch, on other devices. `cyclic` (Megatron only) shuffles once more with PyTorch's generator, by default within a
bucket of each device.

Sources: Megatron-LM 0.12 `legacy/data/data_samplers.py`, 0.16 to 0.19 `training/datasets/data_samplers.py`; MindFormers
1.6 to 2.1 `dataset/base_dataset.py:_generate_shard_info` with MindSpore's GeneratorDataset, measured.
"""

from __future__ import annotations

from ...schemas.fast_records import NamedTuple


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

"""Rows of MindRecord files as the samples of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .draws import Drawn, Draws
from .gpt_index import Piece
from .messages_compiled import say
from .problems import RefusedError
from .sampler import Slot, dealt_step

if TYPE_CHECKING:
    from .mindrecord import RecordFile
    from .plan import Plan


def has_labels(data: RecordFile, plan: Plan) -> bool:
    """Whether the labels are a column of their own, so that a row has as many inputs as the sample length."""
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
        """What the model is fed with beside ids and labels: masks and positions, which are not read."""
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

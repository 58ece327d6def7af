"""The samples of some steps, with their tokens: what each side feeds its model there.

A step is counted from 1, as both frameworks' logs count it. Two sides are compared by their tokens, whatever files
these come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ...schemas.verdict import Unseen
from .draws import RowDraws
from .messages_compiled import say
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .draws import AnyDraws, Drawn
    from .pair_findings import Side
    from .plan import Plan

Ids = tuple[int, ...]


class Fed(NamedTuple):
    """One sample of a step: where it stands in the step, what it is made of, and its tokens."""

    sample: int
    rank: int
    micro: int
    drawn: Drawn
    ids: Ids
    """One more than the sample length: inputs and labels are cut from them."""
    labels: Ids = ()
    """Labels that are not cut from the ids."""


class Batch(NamedTuple):
    """The samples of one step on one side."""

    step: int
    samples: tuple[Fed, ...]

    @property
    def tokens(self) -> list[tuple[Ids, Ids]]:
        """The tokens and own labels of every sample, in an order that does not depend on the devices."""
        return sorted((fed.ids, fed.labels) for fed in self.samples)


def batches(side: Side, first: int, count: int) -> list[Batch]:
    """Steps `first` to `first + count - 1` of a side whose samples are known; RefusedError beyond its end."""
    draws = side.draws
    assert draws is not None
    last = first + count - 1
    steps = side.plan.steps
    if steps is not None and last > steps:
        raise RefusedError(say.the_run_ends_before(step=last, steps=steps))
    if draws.plan.loader == "cyclic" and last * (draws.plan.global_batch or 1) > draws.samples_of_a_pass():
        raise RefusedError(say.beyond_the_first_epoch(step=last))
    return [
        Batch(
            step,
            tuple(
                Fed(
                    slot.sample,
                    slot.rank,
                    slot.micro,
                    draws.sample(slot.sample),
                    _ids(draws.tokens(slot.sample)),
                    _labels(draws, slot.sample),
                )
                for slot in draws.step(step - 1)
            ),
        )
        for step in range(first, first + count)
    ]


def first_other(a: Sequence[Batch], b: Sequence[Batch]) -> int | None:
    """The first step whose tokens are not the same on both sides."""
    return next((one.step for one, two in zip(a, b, strict=True) if one.tokens != two.tokens), None)


def first_other_mask(a: Side, b: Side, fed: Sequence[Batch]) -> int | None:
    """The first step of equal tokens whose losses, positions or attention are masked or begun anew on one side only.

    Both frameworks mask and begin anew at ids; where no sample of a step holds one of these, nothing differs in it.
    """
    one, two = a.plan, b.plan
    ids: set[int | None] = {
        token for token in {*one.unseen, *two.unseen} if one.unseen.get(token) != two.unseen.get(token)
    }
    # An end that no file names may be any id.
    ids |= {end for _, end in _ends(one) ^ _ends(two)}
    return next(
        (step.step for step in fed if any(None in ids or ids.intersection(own.ids) for own in step.samples)), None
    )


def _ends(plan: Plan) -> set[tuple[str, int | None]]:
    """The actions of a run at the end of a document, with the id by which it knows one."""
    done = {"masks": plan.masks_after_eod, "positions": plan.resets_positions, "attention": plan.resets_attention}
    return {(name, plan.eod) for name, does in done.items() if does}


def not_read(sides: Sequence[Side]) -> tuple[Unseen, ...]:
    """The inputs of batches that are not read: open words, columns of MindRecord rows beside ids and labels."""
    columns = (
        Unseen(f"{side.plan.file}: {column}", *say.column_is_not_read().both())
        for side in sides
        if isinstance(side.draws, RowDraws)
        for column in side.draws.columns_not_compared()
    )
    return (*(word for side in sides for word in side.plan.open_words), *columns)


def _labels(draws: AnyDraws, sample: int) -> Ids:
    labels = draws.own_labels(sample) if isinstance(draws, RowDraws) else None
    return () if labels is None else _ids(labels)


def _ids(tokens: Sequence[int]) -> Ids:
    return tuple(map(int, tokens))

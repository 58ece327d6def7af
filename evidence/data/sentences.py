"""What a difference between two plans is called and what to do about it, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.message import NOTHING
from ...schemas.wording import joined
from .messages_compiled import say

if TYPE_CHECKING:
    from ...schemas.message import Words
    from .agreement import Difference
    from .plan import Plan
    from .row_draws import AnyDraws


def setting_sentence(difference: Difference, a: Plan, b: Plan, *, harmless: bool) -> Words:
    """What differs, and what follows from it."""
    said = {
        "sample_length": say.sample_length_differs,
        "seed": say.seed_differs,
        "samples": say.samples_differs,
        "global_batch": say.global_batch_differs,
        "extra": say.extra_differs,
        "masks_after_eod": say.masks_after_eod_differs,
        "resets_positions": say.resets_positions_differs,
        "resets_attention": say.resets_attention_differs,
        "own_files": say.own_files_differs,
        "split": say.split_differs,
        "blend": say.blend_differs,
    }[difference.name]
    what = said(a=difference.a, file_a=a.file, b=difference.b, file_b=b.file)
    return say.the_samples_are_the_same(what=what) if harmless else what


def suggestion(a: Plan, b: Plan, drawn: tuple[AnyDraws | None, AnyDraws | None]) -> Words:
    """Why two orders part, where the indices tell, and what makes them equal; each begins with a space or is empty."""
    first, second = drawn
    if first is None or second is None:
        return NOTHING
    if a.rows is not None or b.rows is not None:
        return NOTHING
    if a.seed != b.seed:
        return say.the_seeds_differ_give_both()
    if a.sample_length != b.sample_length:
        return say.the_sample_lengths_differ_give()
    if "cyclic" in (a.loader, b.loader):
        return say.dataloader_type_cyclic_shuffles_once()
    left, right = _epochs(first), _epochs(second)
    if left == right:
        return NOTHING
    said = say.in_in(file=a.file, file2=b.file, left=_told(left), right=_told(right))
    if a.samples == b.samples and _weighted(a) != _weighted(b):
        return joined([said, say.a_prefix_with_a_weight()], "sentence")
    return say.ask_both_for_the_same(said=said)


def _epochs(draws: AnyDraws) -> list[tuple[int, bool]]:
    return [(index.epochs, index.separate_last_epoch) for index in draws.indices]


def _told(epochs: list[tuple[int, bool]]) -> Words:
    if epochs == [(1, False)]:
        return say.one_epoch()
    words = [say.last_apart(count=count) if apart else say.count_of_epochs(count=count) for count, apart in epochs]
    return say.epochs(counts=joined(words))


def _weighted(plan: Plan) -> bool:
    return plan.blend is not None and plan.blend.weights is not None

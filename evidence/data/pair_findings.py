"""Findings on two configurations: different settings, other bytes and other samples, with what makes them equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import Diagnostic, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING
from ...schemas.shared_words import join_words
from .agreement import Agreement, Contents, Membership, agree, differences, membership
from .messages_compiled import say
from .plan import Plan, data_finding
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.message import Words
    from .agreement import Difference
    from .dataset import CheckOptions
    from .draws import AnyDraws, Drawn, RowDraws
    from .mindrecord import DataFile


class Source(NamedTuple):
    """One prefix of a configuration, and the index that its settings give."""

    prefix: str
    path: str | None
    weight: float | None
    asked: int | None
    samples: int | None
    epochs: int | None
    last_epoch_apart: bool | None


class Side(NamedTuple):
    """One configuration."""

    plan: Plan
    files: Mapping[str, DataFile]
    draws: AnyDraws | None
    problems: tuple[Diagnostic, ...]
    shuffled: RowDraws | None = None
    """Rows whose order MindSpore draws: what is drawn from is known, and when is not."""

    @property
    def sources(self) -> list[Source]:
        """Every prefix, and the index that the settings give; or the rows."""
        blend, rows, draws = self.plan.blend, self.plan.rows, self.draws
        listed: list[Source] = []
        for number, prefix in enumerate(() if blend is None else blend.prefixes):
            weight = None if blend is None or blend.weights is None else blend.weights[number]
            path = self.files[prefix].prefix if prefix in self.files else None
            index = None if draws is None else draws.indices[number]
            if draws is None or index is None:
                listed.append(Source(prefix, path, weight, None, None, None, None))
                continue
            apart = index.separate_last_epoch
            listed.append(Source(prefix, path, weight, draws.requests[number], len(index), index.epochs, apart))
        if rows is not None:
            first = next(iter(self.files), None)
            listed.append(Source(rows.names[0], first, None, None, self.plan.samples, rows.epochs, None))
        return listed


class Pair(NamedTuple):
    """The comparison of two configurations."""

    agreement: Agreement | None
    contents: Contents | None
    members: Membership | None
    found: list[Diagnostic]


def pair_of(a: Side, b: Side, options: CheckOptions) -> Pair:
    """Two configurations against each other."""
    different = differences(a.plan, b.plan)
    agreement, contents = None, None
    diagnostics: list[Diagnostic] = []
    files = {data.prefix: data for side in (a, b) for data in side.files.values()}
    if files:
        contents = Contents(files.values(), quick=options.quick is not None)
        diagnostics += _bytes(a, b, contents)
    if a.draws is not None and b.draws is not None and contents is not None:
        try:
            agreement = agree(a.draws, b.draws, contents, options.samples)
        except RefusedError as refused:
            diagnostics.append(diagnose(say.refused(why=refused.words), a.plan.file, None))
    for difference in different:
        harmless = difference.name in ("seed", "samples", "split", "blend", "own_files") and (
            agreement is not None and agreement.one_order
        )
        said = setting_sentence(difference, a.plan, b.plan, harmless=harmless)
        span = b.plan.place(difference.name).span
        diagnostics.append(data_finding(say.setting(what=said), b.plan.file, span, "info" if harmless else None))
    if agreement is not None:
        diagnostics += _partings(a, b, agreement)
    one, two = (a, b) if b.shuffled is not None else (b, a)
    samples = one.draws or one.shuffled
    members = None if two.shuffled is None or samples is None else membership(samples, two.shuffled, options.samples)
    if members is not None:
        diagnostics.append(_members(a, b, members))
    return Pair(agreement, contents, members, diagnostics)


def _members(a: Side, b: Side, members: Membership) -> Diagnostic:
    file = (b if b.shuffled is not None else a).plan.file
    if members.missing is None:
        what = say.samples_are_rows(count=members.looked_at, rows=members.rows)
        return data_finding(say.samples(what=what), file, None, "info")
    what = say.sample_is_no_row(sample=members.missing, found=members.found, count=members.looked_at, rows=members.rows)
    return data_finding(say.samples(what=what), file, None)


def _bytes(a: Side, b: Side, contents: Contents) -> list[Diagnostic]:
    if a.plan.blend is None or b.plan.blend is None:
        return []
    diagnostics: list[Diagnostic] = []
    left, right = (list(side.plan.blend.prefixes if side.plan.blend else ()) for side in (a, b))
    if len(left) != len(right):
        return []
    for one, two in zip(left, right, strict=True):
        if one in a.files and two in b.files:
            here, there = a.files[one], b.files[two]
            if contents.name(here.prefix) == contents.name(there.prefix) and here.dtype != there.dtype:
                same = say.same_ids_other_type(one=one, type_a=here.dtype, two=two, type_b=there.dtype)
                diagnostics.append(data_finding(say.bytes(what=same), b.plan.file, b.plan.place("blend").span, "info"))
            if contents.name(here.prefix) != contents.name(there.prefix):
                sizes = (here.bin_bytes, there.bin_bytes)
                how = (
                    say.and_bytes(size=sizes[0], size2=sizes[1])
                    if sizes[0] != sizes[1]
                    else say.same_size_other_checksum()
                )
                diagnostics.append(
                    data_finding(
                        say.bytes(what=say.and_do_not_hold_the(one=one, two=two, how=how)),
                        b.plan.file,
                        b.plan.place("blend").span,
                    )
                )
    return diagnostics


def _partings(a: Side, b: Side, agreement: Agreement) -> list[Diagnostic]:
    diagnostics: list[Diagnostic] = []
    parted = agreement.parted or agreement.parting
    span = b.plan.place("blend").span
    begins_again = agreement.restart is not None and (
        parted is None or parted.sample >= agreement.restart * (a.plan.global_batch or 1)
    )
    if parted is not None and not parted.same_set and not begins_again:
        why = suggestion(a.plan, b.plan, (a.draws, b.draws))
        diagnostics.append(
            data_finding(
                say.samples(
                    what=say.sample_step_is_not_the(
                        sample=parted.sample, step=parted.step + 1, a=piece_of(parted.a), b=piece_of(parted.b), why=why
                    )
                ),
                b.plan.file,
                span,
            )
        )
    elif agreement.parting is not None and not begins_again:
        diagnostics.append(
            data_finding(
                say.samples(what=say.the_steps_use_the_same(sample=agreement.parting.sample)),
                b.plan.file,
                span,
                "warning",
            )
        )
    if agreement.restart is not None and begins_again:
        diagnostics.append(
            data_finding(
                say.samples(what=say.from_step_on_one_side(restart=agreement.restart + 1)),
                b.plan.file,
                b.plan.place("samples").span,
            )
        )
    place = _OTHER_PLACES.get(agreement.placement)
    if place is not None and agreement.parted is None:
        diagnostics.append(data_finding(say.samples(what=place()), b.plan.file, b.plan.place("ranks").span, "info"))
    return diagnostics


_OTHER_PLACES = {"devices": say.on_other_devices, "micro-batches": say.in_other_micro_batches}


def piece_of(drawn: Drawn) -> Words:
    """Place of a sample, for a person."""
    first, more = drawn.pieces[0], len(drawn.pieces) - 1
    if not more:
        return say.piece(prefix=drawn.prefix, sequence=first.sequence, offset=first.offset)
    return say.piece_and_more(prefix=drawn.prefix, sequence=first.sequence, offset=first.offset, count=more)


def setting_sentence(difference: Difference, a: Plan, b: Plan, *, harmless: bool) -> Words:
    """A difference and its consequence."""
    sentence = {
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
    what = sentence(a=difference.a, file_a=a.file, b=difference.b, file_b=b.file)
    return say.the_samples_are_the_same(what=what) if harmless else what


def suggestion(a: Plan, b: Plan, drawn: tuple[AnyDraws | None, AnyDraws | None]) -> Words:
    """The reason why two orders part, and what makes them equal; each begins with a space or is empty."""
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
    said = say.in_in(file=a.file, file2=b.file, left=_epoch_words(left), right=_epoch_words(right))
    if a.samples == b.samples and _has_weights(a) != _has_weights(b):
        return join_words([said, say.a_prefix_with_a_weight()], "sentence")
    return say.ask_both_for_the_same(said=said)


def _epochs(draws: AnyDraws) -> list[tuple[int, bool]]:
    return [(index.epochs, index.separate_last_epoch) for index in draws.indices]


def _epoch_words(epochs: list[tuple[int, bool]]) -> Words:
    if epochs == [(1, False)]:
        return say.one_epoch()
    words = [say.last_apart(count=count) if apart else say.count_of_epochs(count=count) for count, apart in epochs]
    return say.epochs(counts=join_words(words))


def _has_weights(plan: Plan) -> bool:
    return plan.blend is not None and plan.blend.weights is not None

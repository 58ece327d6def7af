"""Two configurations against each other: what they say of the data, the bytes, and the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import Diagnostic, finding
from ...schemas.fast_records import NamedTuple
from .agreement import Agreement, Contents, agree, differences
from .membership import Membership, membership
from .messages_compiled import say
from .plan import Plan, told
from .problems import RefusedError
from .sentences import setting_sentence, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.message import Words
    from .dataset import Asked
    from .draws import Drawn
    from .mindrecord import DataFile
    from .row_draws import AnyDraws, RowDraws


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
        found: list[Source] = []
        for number, prefix in enumerate(() if blend is None else blend.prefixes):
            weight = None if blend is None or blend.weights is None else blend.weights[number]
            path = self.files[prefix].prefix if prefix in self.files else None
            index = None if draws is None else draws.indices[number]
            if draws is None or index is None:
                found.append(Source(prefix, path, weight, None, None, None, None))
                continue
            apart = index.separate_last_epoch
            found.append(Source(prefix, path, weight, draws.requests[number], len(index), index.epochs, apart))
        if rows is not None:
            first = next(iter(self.files), None)
            found.append(Source(rows.names[0], first, None, None, self.plan.samples, rows.epochs, None))
        return found


class Pair(NamedTuple):
    """What two configurations have in common."""

    agreement: Agreement | None
    contents: Contents | None
    members: Membership | None
    found: list[Diagnostic]


def pair_of(a: Side, b: Side, asked: Asked) -> Pair:
    """Two configurations against each other."""
    different = differences(a.plan, b.plan)
    agreement, contents = None, None
    found: list[Diagnostic] = []
    files = {data.prefix: data for side in (a, b) for data in side.files.values()}
    if files:
        contents = Contents(files.values(), quick=asked.quick is not None)
        found += _bytes(a, b, contents)
    if a.draws is not None and b.draws is not None and contents is not None:
        try:
            agreement = agree(a.draws, b.draws, contents, asked.samples)
        except RefusedError as refused:
            found.append(finding(say.refused(why=refused.words), a.plan.file, None))
    for difference in different:
        harmless = difference.name in ("seed", "samples", "split", "blend", "own_files") and (
            agreement is not None and agreement.one_order
        )
        said = setting_sentence(difference, a.plan, b.plan, harmless=harmless)
        span = b.plan.place(difference.name).span
        found.append(told(say.setting(what=said), b.plan.file, span, "info" if harmless else None))
    if agreement is not None:
        found += _partings(a, b, agreement)
    members = _membership(a, b, asked.samples)
    if members is not None:
        found.append(_members(a, b, members))
    return Pair(agreement, contents, members, found)


def _membership(a: Side, b: Side, count: int) -> Membership | None:
    """The samples of the side whose order is known, or of the first one, among the rows of the other."""
    one, two = (a, b) if b.shuffled is not None else (b, a)
    samples = one.draws or one.shuffled
    return None if two.shuffled is None or samples is None else membership(samples, two.shuffled, count)


def _members(a: Side, b: Side, members: Membership) -> Diagnostic:
    """Whether one side's samples are among the other's rows."""
    file = (b if b.shuffled is not None else a).plan.file
    if members.missing is None:
        what = say.samples_are_rows(count=members.looked_at, rows=members.rows)
        return told(say.samples(what=what), file, None, "info")
    what = say.sample_is_no_row(sample=members.missing, found=members.found, count=members.looked_at, rows=members.rows)
    return told(say.samples(what=what), file, None)


def _bytes(a: Side, b: Side, contents: Contents) -> list[Diagnostic]:
    if a.plan.blend is None or b.plan.blend is None:
        return []
    found: list[Diagnostic] = []
    left, right = (list(side.plan.blend.prefixes if side.plan.blend else ()) for side in (a, b))
    if len(left) != len(right):
        return []
    for one, two in zip(left, right, strict=True):
        if one in a.files and two in b.files:
            here, there = a.files[one], b.files[two]
            if contents.name(here.prefix) == contents.name(there.prefix) and here.dtype != there.dtype:
                same = say.same_ids_other_type(one=one, type_a=here.dtype, two=two, type_b=there.dtype)
                found.append(told(say.bytes(what=same), b.plan.file, b.plan.place("blend").span, "info"))
            if contents.name(here.prefix) != contents.name(there.prefix):
                sizes = (here.bin_bytes, there.bin_bytes)
                how = (
                    say.and_bytes(size=sizes[0], size2=sizes[1])
                    if sizes[0] != sizes[1]
                    else say.same_size_other_checksum()
                )
                found.append(
                    told(
                        say.bytes(what=say.and_do_not_hold_the(one=one, two=two, how=how)),
                        b.plan.file,
                        b.plan.place("blend").span,
                    )
                )
    return found


def _partings(a: Side, b: Side, agreement: Agreement) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    parted = agreement.parted or agreement.parting
    span = b.plan.place("blend").span
    begins_again = agreement.restart is not None and (
        parted is None or parted.sample >= agreement.restart * (a.plan.global_batch or 1)
    )
    if parted is not None and not parted.same_set and not begins_again:
        why = suggestion(a.plan, b.plan, (a.draws, b.draws))
        found.append(
            told(
                say.samples(
                    what=say.sample_step_is_not_the(
                        sample=parted.sample,
                        step=parted.step + 1,
                        a=piece_of(parted.a),
                        b=piece_of(parted.b),
                        why=why,
                    )
                ),
                b.plan.file,
                span,
            )
        )
    elif agreement.parting is not None and not begins_again:
        found.append(
            told(
                say.samples(what=say.the_steps_use_the_same(sample=agreement.parting.sample)),
                b.plan.file,
                span,
                "warning",
            )
        )
    if agreement.restart is not None and begins_again:
        found.append(
            told(
                say.samples(what=say.from_step_on_one_side(restart=agreement.restart + 1)),
                b.plan.file,
                b.plan.place("samples").span,
            )
        )
    place = _OTHER_PLACES.get(agreement.placement)
    if place is not None and agreement.parted is None:
        found.append(told(say.samples(what=place()), b.plan.file, b.plan.place("ranks").span, "info"))
    return found


_OTHER_PLACES = {"devices": say.on_other_devices, "micro-batches": say.in_other_micro_batches}


def piece_of(drawn: Drawn) -> Words:
    """Where a sample lies, for a person."""
    first, more = drawn.pieces[0], len(drawn.pieces) - 1
    if not more:
        return say.piece(prefix=drawn.prefix, sequence=first.sequence, offset=first.offset)
    return say.piece_and_more(prefix=drawn.prefix, sequence=first.sequence, offset=first.offset, count=more)

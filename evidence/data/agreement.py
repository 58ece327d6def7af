"""Two plans side by side: the same data, settings and samples in every step, and findings on what differs.

If MindSpore draws the order of the rows, the samples of one side are looked up among the rows of the other.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import Diagnostic, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING
from ...schemas.shared_words import join_words
from .draws import RowDraws
from .indexed_file import IndexedFile
from .messages_compiled import say
from .plan import Plan, RefusedError, data_finding, normalize, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...schemas.message import Words
    from .dataset import CheckOptions
    from .draws import AnyDraws, Drawn, Slot
    from .mindrecord import DataFile

_BLOCK = 8 * 1024 * 1024
_QUICK_BLOCKS = 16


class Unread(NamedTuple):
    """Number of blocks at a prefix that a quick check read, and number of blocks there."""

    prefix: str
    blocks: int
    of: int


class Contents:
    """Files grouped by their data. Files at one place are not read; files of one shape are compared by checksum.

    Files of one type and size are compared as they are; the same ids in another type of whole numbers are the same
    data, so that files of several types are compared by their ids.
    """

    def __init__(self, files: Iterable[DataFile], *, quick: bool = False) -> None:
        self.quick = quick
        self._names: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.unread: list[Unread] = []
        alike: dict[tuple[object, ...], dict[tuple[str, ...], list[DataFile]]] = {}
        for data in files:
            paths = tuple(os.path.realpath(path) for path in data.paths)
            alike.setdefault(_shape(data), {}).setdefault(paths, []).append(data)
        for places in alike.values():
            known = [one for inner in places.values() for one in inner]
            if len(places) == 1:
                self._names.update({one.prefix: os.path.realpath(one.paths[-1]) for one in known})
                continue
            by_ids = len({(one.dtype, _sizes(one)) for one in known}) > 1
            for inner in places.values():
                digest = self._ids(inner[0]) if by_ids else self._bytes(inner[0])
                for one in inner:
                    self.digests[one.prefix] = self._names[one.prefix] = digest

    def name(self, prefix: str) -> str:
        """Name for a prefix's data; files with equal data share it."""
        return self._names[prefix]

    def _bytes(self, data: DataFile) -> str:
        """Checksum of the data's files; `quick` reads only some blocks."""
        skipped = [max(0, -(-size // _BLOCK) - _QUICK_BLOCKS) for size in _sizes(data)] if self.quick else [0]
        if any(skipped):
            blocks = sum(-(-size // _BLOCK) for size in _sizes(data))
            self.unread.append(Unread(data.prefix, blocks - sum(skipped), blocks))
        return " ".join(_digest(path, quick=self.quick) for path in data.paths)

    def _ids(self, data: DataFile) -> str:
        """Checksum of lengths, documents and ids, independent of the type in which they are stored."""
        digest = hashlib.blake2b(digest_size=16)
        if not isinstance(data, IndexedFile):
            return self._bytes(data)
        for array, kind in ((data.lengths, "<i4"), (data.marks, "<i8"), (data.modes, "<i1")):
            if array is not None:
                digest.update(array.astype(kind).tobytes())
        per_block = _BLOCK // 8
        blocks = -(-data.tokens // per_block)
        read: Iterable[int] = range(blocks)
        if self.quick and blocks > _QUICK_BLOCKS:
            read = [(blocks - 1) * number // (_QUICK_BLOCKS - 1) for number in range(_QUICK_BLOCKS)]
            self.unread.append(Unread(data.prefix, _QUICK_BLOCKS, blocks))
        for block in read:
            first = block * per_block
            digest.update(data.tokens_from(first, min(per_block, data.tokens - first)).astype("<i8").tobytes())
        return digest.hexdigest()


def _sizes(data: DataFile) -> tuple[int, ...]:
    """Sizes of the data set's files in bytes."""
    return tuple(os.path.getsize(path) for path in data.paths)


def _shape(data: DataFile) -> tuple[object, ...]:
    """Sizes that must be equal for equal data, known without reading the tokens."""
    if isinstance(data, IndexedFile) and data.sound:
        return (data.sequences, data.documents, data.tokens)
    return _sizes(data)


def _digest(path: str, *, quick: bool) -> str:
    """Checksum of a file; `quick` reads a few evenly spread blocks."""
    size = os.path.getsize(path)
    found = hashlib.blake2b(digest_size=16)
    with open_regular(path) as stream:
        if not quick or size <= _QUICK_BLOCKS * _BLOCK:
            while block := stream.read(_BLOCK):
                found.update(block)
            return found.hexdigest()
        for number in range(_QUICK_BLOCKS):
            stream.seek((size - _BLOCK) * number // (_QUICK_BLOCKS - 1))
            found.update(stream.read(_BLOCK))
    return found.hexdigest()


class Difference(NamedTuple):
    """A setting of the data that the two files give differently."""

    name: str
    a: object
    b: object


class Parting(NamedTuple):
    """The first sample that is not the same."""

    sample: int
    step: int
    a: Drawn
    b: Drawn
    same_set: bool
    """Whether the step still uses the same samples, in another order."""


class Agreement(NamedTuple):
    """The comparison of the samples that two runs draw."""

    steps: int
    """How many steps were compared."""
    samples: int
    equal_steps: int
    """Steps that use the same samples, whatever their order."""
    parting: Parting | None
    """The first difference in order."""
    parted: Parting | None
    """The first step whose samples are not the same set."""
    restart: int | None
    """The step at which one side begins again and the other goes on; None where neither does."""
    one_order: bool
    """Whether the orders are the same to the end, however far either run goes."""
    lengths: tuple[int, int] | None
    """How many steps each run has, if these are not the same number."""
    placement: str
    """`same`, `devices` (the same micro batches, on other devices), `micro-batches` (put together otherwise), or
    `unknown` where a file does not say how many devices there are."""

    @property
    def whole_run(self) -> bool:
        """True if both runs have equal length and equal order up to the end, not only in the compared part."""
        return self.one_order and self.lengths is None


def differences(a: Plan, b: Plan) -> list[Difference]:
    """Data settings of two plans that differ."""
    different: list[Difference] = []
    of_rows = a.rows is not None or b.rows is not None
    for name in (
        "sample_length", "seed", "samples", "global_batch", "extra", "masks_after_eod", "resets_positions",
        "resets_attention", "own_files",
    ):  # fmt: skip
        if of_rows and name in ("samples", "own_files"):
            continue  # rows are there, and not asked for
        left, right = getattr(a, name), getattr(b, name)
        if left != right and left is not None and right is not None:
            different.append(Difference(name, left, right))
    if a.split is not None and b.split is not None and _shares(a.split) != _shares(b.split):
        different.append(Difference("split", a.split, b.split))
    if a.blend is not None and b.blend is not None and _weights(a) != _weights(b):
        different.append(Difference("blend", _blend_text(a), _blend_text(b)))
    return different


def agree(a: AnyDraws, b: AnyDraws, contents: Contents, count: int) -> Agreement:
    """Comparison of the first `count` samples of both sides, step by step."""
    batch = a.plan.global_batch or 1
    one_batch = batch == (b.plan.global_batch or 1)
    known = [plan.steps for plan in (a.plan, b.plan) if plan.steps]
    steps = min([max(1, -(-count // batch)), *known]) if one_batch else 0
    name = _naming(a, b, contents)
    parting = parted = None if one_batch else _first_in_order(a, b, name, count)
    equal = 0
    placement = "same" if all(side.plan.ranks and side.plan.micro_batch for side in (a, b)) else "unknown"
    for step in range(steps):
        left, right = (_samples_of_step(side, step, name) for side in (a, b))
        found = _first_in_step(left, right, step, step * batch)
        parting = parting or found
        if found is None or found.same_set:
            equal += 1
            placement = _placement(left, right) if placement == "same" else placement
        else:
            parted = parted or found
    one_order = parting is None and one_batch and _whole(a, b)
    lengths = _different_lengths(a.plan, b.plan) if one_batch else None
    return Agreement(
        steps, steps * batch, equal, parting, parted, _restart(a, b), one_order, lengths, placement
    )  # fmt: skip


class _Placed(NamedTuple):
    """A sample in its place, under a name that equal samples of both sides share."""

    slot: Slot
    drawn: Drawn
    name: Any


def _naming(a: AnyDraws, b: AnyDraws, contents: Contents) -> Callable[[AnyDraws, int], Any]:
    """Function that gives equal samples of both sides equal names, by their place in equal files or by tokens."""
    if a.plan.rows is None and b.plan.rows is None:

        def by_place(side: AnyDraws, number: int) -> Any:
            drawn = side.sample(number)
            return (contents.name(drawn.prefix), drawn.pieces)

        return by_place
    return named_by_tokens


def named_by_tokens(side: AnyDraws, number: int) -> bytes:
    """Name made of a sample's tokens, and of its labels if the tokens do not determine these."""
    found = hashlib.blake2b(side.tokens(number).astype("<i8").tobytes(), digest_size=16)
    labels = side.own_labels(number) if isinstance(side, RowDraws) else None
    if labels is not None:
        found.update(b"labels" + labels.astype("<i8").tobytes())
    return found.digest()


def _different_lengths(a: Plan, b: Plan) -> tuple[int, int] | None:
    """Numbers of steps of both sides if these are known and differ."""
    return (a.steps, b.steps) if a.steps and b.steps and a.steps != b.steps else None


def _samples_of_step(side: AnyDraws, step: int, name: Callable[[AnyDraws, int], Any]) -> list[_Placed]:
    """Samples of one step, each with its slot and name."""
    return [_Placed(slot, side.sample(slot.sample), name(side, slot.sample)) for slot in side.step(step)]


def _first_in_step(left: list[_Placed], right: list[_Placed], step: int, before: int) -> Parting | None:
    """First sample of a step that differs; `before` holds the names of earlier steps' samples."""
    one, two = ([placed.name for placed in side] for side in (left, right))
    if one == two:
        return None
    at = next(place for place, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1])
    return Parting(before + at, step, left[at].drawn, right[at].drawn, sorted(one) == sorted(two))


def _first_in_order(a: AnyDraws, b: AnyDraws, name: Callable[[AnyDraws, int], Any], count: int) -> Parting | None:
    """First sample, in drawing order, that differs."""
    for number in range(min(count, a.size, b.size)):
        if name(a, number) != name(b, number):
            step = number // (a.plan.global_batch or 1)
            return Parting(number, step, a.sample(number), b.sample(number), same_set=False)
    return None


def _placement(left: list[_Placed], right: list[_Placed]) -> str:
    """Kind of difference between the samples' places in a step: none, only devices, or micro batches."""

    def groups(side: list[_Placed]) -> dict[tuple[int, int], list[Any]]:
        found: dict[tuple[int, int], list[Any]] = {}
        for placed in side:
            found.setdefault((placed.slot.rank, placed.slot.micro), []).append(placed.name)
        return {place: sorted(keys, key=repr) for place, keys in found.items()}

    one, two = groups(left), groups(right)
    if one == two:
        return "same"
    return "devices" if sorted(map(repr, one.values())) == sorted(map(repr, two.values())) else "micro-batches"


def _whole(a: AnyDraws, b: AnyDraws) -> bool:
    """True if both sides' complete indices are equal, so that all samples are."""
    import numpy as np

    if isinstance(a, RowDraws) or isinstance(b, RowDraws):
        return False
    if "cyclic" in (a.plan.loader, b.plan.loader) or len(a.indices) != len(b.indices) or a.shares_differ(b):
        return False
    return all(
        np.array_equal(one.documents, two.documents) and np.array_equal(one.order, two.order)
        for one, two in zip(a.indices, b.indices, strict=True)
    )


def _restart(a: AnyDraws, b: AnyDraws) -> int | None:
    """Step at which one side begins a new pass over its samples while the other does not."""
    batch = a.plan.global_batch or 1
    steps = [plan.steps for plan in (a.plan, b.plan) if plan.steps]
    if not steps or batch != (b.plan.global_batch or 1):
        return None
    passes = [side.samples_of_a_pass() // batch for side in (a, b)]
    first = min(passes)
    return first if passes[0] != passes[1] and first < min(steps) else None


def _shares(split: str) -> tuple[float, ...] | str:
    """Shares of a split; the text itself if it is not valid."""
    try:
        return shares(split)
    except RefusedError:
        return split


def _weights(plan: Plan) -> list[float] | int:
    """Normalized weights of a blend; the number of data sets if no weights are set."""
    blend = plan.blend
    assert blend is not None
    if len(blend.prefixes) == 1:
        return [1.0]
    return len(blend.prefixes) if blend.weights is None else normalize(blend.weights)


def _blend_text(plan: Plan) -> str:
    """Data paths of a blend, each with its weight if there are weights."""
    blend = plan.blend
    assert blend is not None
    if blend.weights is None:
        return " ".join(blend.prefixes)
    return " ".join(f"{weight:g} {prefix}" for weight, prefix in zip(blend.weights, blend.prefixes, strict=True))


class Membership(NamedTuple):
    """Counts of the samples that are rows of the other side."""

    looked_at: int
    found: int
    rows: int
    missing: int | None
    """The first sample that is no row."""


def membership(samples: AnyDraws, rows: RowDraws, count: int) -> Membership:
    """Report on the first `count` samples that are, or are not, among the given rows."""
    names = {named_by_tokens(rows, row) for row in range(rows.size)}
    wanted = min(count, samples.size, samples.plan.samples or samples.size)
    missing = [number for number in range(wanted) if named_by_tokens(samples, number) not in names]
    return Membership(wanted, wanted - len(missing), rows.size, missing[0] if missing else None)


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
        """Each data prefix with the index that the settings give; for record files, the rows."""
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
    """Comparison of the data of two configurations."""
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
    """Finding on samples of one side that are, or are not, rows of the other."""
    file = (b if b.shuffled is not None else a).plan.file
    if members.missing is None:
        what = say.samples_are_rows(count=members.looked_at, rows=members.rows)
        return data_finding(say.samples(what=what), file, None, "info")
    what = say.sample_is_no_row(sample=members.missing, found=members.found, count=members.looked_at, rows=members.rows)
    return data_finding(say.samples(what=what), file, None)


def _bytes(a: Side, b: Side, contents: Contents) -> list[Diagnostic]:
    """Findings on data files that differ between the sides: other bytes, sizes or token types."""
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
    """Findings on the first sample or step at which two orders differ."""
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
    """Readable place of a sample in its file."""
    first, more = drawn.pieces[0], len(drawn.pieces) - 1
    if not more:
        return say.piece(prefix=drawn.prefix, sequence=first.sequence, offset=first.offset)
    return say.piece_and_more(prefix=drawn.prefix, sequence=first.sequence, offset=first.offset, count=more)


def setting_sentence(difference: Difference, a: Plan, b: Plan, *, harmless: bool) -> Words:
    """Message on one differing setting and its consequence."""
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
    """Message on the cause of different orders and on the remedy; begins with a space, or is empty."""
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
    """Number of epochs of each data set's index, and if its last epoch is shuffled separately."""
    return [(index.epochs, index.separate_last_epoch) for index in draws.indices]


def _epoch_words(epochs: list[tuple[int, bool]]) -> Words:
    if epochs == [(1, False)]:
        return say.one_epoch()
    words = [say.last_apart(count=count) if apart else say.count_of_epochs(count=count) for count, apart in epochs]
    return say.epochs(counts=join_words(words))


def _has_weights(plan: Plan) -> bool:
    return plan.blend is not None and plan.blend.weights is not None

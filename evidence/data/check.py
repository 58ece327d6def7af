"""Data files and the configurations that use them, checked together: one `Report`, and its JSON.

`batches` are the samples of some steps, with the tokens that each side feeds its model. A step is counted from 1, as
both frameworks' logs count it. Two sides are compared by their tokens, whatever files these come from.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.verdict import Unseen, conclude, unseen_words
from ..answers_compiled import data_check_json, data_set_json
from .agreement import Side, pair_of
from .dataset import CheckOptions, DataSet, dataset_of
from .draws import Draws, RowDraws, cached_indices
from .framework_plans import complete_plan, megatron_plan, mindformers_plan, read_rows
from .indexed_file import IndexedFile, need_numpy, read_indexed
from .messages_compiled import say
from .mindrecord import is_record, named_files, read_records
from .plan import RefusedError, data_finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...schemas.config import Config
    from ...schemas.diagnostic import Language
    from .agreement import Agreement, Contents, Membership
    from .draws import AnyDraws, Drawn
    from .mindrecord import DataFile
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
        """Tokens and labels of every sample, in an order independent of devices."""
        return sorted((fed.ids, fed.labels) for fed in self.samples)


def batches(side: Side, first: int, count: int) -> list[Batch]:
    """Batches of `count` steps from `first` on; RefusedError beyond the end of the run."""
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
    """First step whose tokens differ between the sides."""
    return next((one.step for one, two in zip(a, b, strict=True) if one.tokens != two.tokens), None)


def first_other_mask(a: Side, b: Side, fed: Sequence[Batch]) -> int | None:
    """First step with equal tokens whose losses, positions or attention are masked differently.

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
    """Effects of a document end in a run (`masks`, `positions`, `attention`), each with the end's id."""
    done = {"masks": plan.masks_after_eod, "positions": plan.resets_positions, "attention": plan.resets_attention}
    return {(name, plan.eod) for name, does in done.items() if does}


def not_read(sides: Sequence[Side]) -> tuple[Unseen, ...]:
    """Inputs of batches that this check does not read: undecided words, extra columns of MindRecord rows."""
    columns = (
        Unseen(f"{side.plan.file}: {column}", *say.column_is_not_read().both())
        for side in sides
        if isinstance(side.draws, RowDraws)
        for column in side.draws.columns_not_compared()
    )
    return (*(word for side in sides for word in side.plan.open_words), *columns)


def _labels(draws: AnyDraws, sample: int) -> Ids:
    """Labels of a sample, if its rows have a label column of their own."""
    labels = draws.own_labels(sample) if isinstance(draws, RowDraws) else None
    return () if labels is None else _ids(labels)


def _ids(tokens: Sequence[int]) -> Ids:
    return tuple(map(int, tokens))


class Decoded(NamedTuple):
    """A sample as text."""

    file: str
    sample: int
    inputs: str
    labels: str


class Report(NamedTuple):
    """The whole answer."""

    datasets: tuple[DataSet, ...]
    sides: tuple[Side, ...]
    agreement: Agreement | None
    decoded: tuple[Decoded, ...]
    problems: tuple[Diagnostic, ...]
    contents: Contents | None
    unreadable: tuple[Diagnostic, ...]
    members: Membership | None = None

    @property
    def verdict(self) -> str:
        """One-word verdict of the report. Decided here only.

        | what | verdict at best |
        | --- | --- |
        | a finding that is an error; a file that cannot be read | bad |
        | what `unseen` names: not read, later samples, the rest of the longer run | partial |
        | data that are not here, samples of two sides that cannot be worked out | undecided |
        """
        errors = {entry.kind.name for entry in self.problems if entry.kind.severity == "error"}
        wrong = bool(errors - {"data-undecided", "data-not-here"} or self.unreadable)
        known = not errors and (len(self.sides) != 2 or self.agreement is not None)
        return conclude("good", "bad", wrong=wrong, compared=int(known), unseen=self.gaps)

    @property
    def gaps(self) -> tuple[Unseen, ...]:
        """Relevant data that were not compared: files not read, later steps."""
        found = [*self._not_read()]
        if self.agreement is not None:
            found += (*not_read(self.sides), *self._uncompared_steps(self.agreement))
        return tuple(found)

    def _not_read(self) -> Iterator[Unseen]:
        """Data that `--quick` skipped."""
        for one in self.datasets:
            if one.seen is not None and not one.seen.complete:
                left = one.data.tokens - one.seen.tokens
                yield Unseen(one.data.prefix, *say.ids_not_read(count=f"{left:,}", of=f"{one.data.tokens:,}").both())
        for file in () if self.contents is None else self.contents.unread:
            left = file.of - file.blocks
            yield Unseen(file.prefix, *say.blocks_not_read(count=left, of=file.of).both())

    def _uncompared_steps(self, agreement: Agreement) -> Iterator[Unseen]:
        """Samples after the compared ones, if the whole order is not known to be equal, and extra steps."""
        steps = [side.plan.steps for side in self.sides]
        shorter = min((one for one in steps if one is not None), default=None)
        if not agreement.one_order and (None in steps or shorter is None or shorter > agreement.steps):
            what = f"samples from {agreement.samples} on"
            yield Unseen(what, *say.only_the_first_ones_were().both())
        if agreement.lengths is not None:
            first, last = sorted(agreement.lengths)
            side = self.sides[agreement.lengths.index(last)]
            rest = say.the_longer_run_alone(count=last - first, file=side.plan.file)
            yield Unseen(f"steps {first + 1} to {last}", *rest.both())


def check(prefixes: Sequence[str], configs: Sequence[Config], asked: CheckOptions) -> Report:
    """Report on data files alone, against configurations, and on two configurations against each other."""
    need_numpy()
    unreadable: list[Diagnostic] = []
    files: dict[str, DataFile] = {}
    for prefix in prefixes:
        data = _readable(prefix)
        if isinstance(data, Diagnostic):
            unreadable.append(data)
        else:
            files.setdefault(prefix, data)
    sides = [side_of(config, files) for config in configs]
    for side in sides:
        files.update({data.prefix: data for data in side.files.values()})
    used = [{data.prefix for data in side.files.values()} for side in sides]
    datasets = [
        dataset_of(data, [side.plan for side, own in zip(sides, used, strict=True) if data.prefix in own], asked)
        for data in files.values()
    ]
    problems = [entry for dataset in datasets for entry in (*dataset.data.problems, *dataset.problems)]
    problems += [entry for side in sides for entry in side.problems]
    agreement, contents, members = None, None, None
    if len(sides) == 2:
        agreement, contents, members, found = pair_of(sides[0], sides[1], asked)
        problems += found
    decoded = _decode_samples(sides, datasets, asked)
    return Report(
        tuple(datasets), tuple(sides), agreement, decoded, _deduplicate(problems), contents, tuple(unreadable), members
    )


def _readable(prefix: str) -> DataFile | Diagnostic:
    """Data at a prefix, or a diagnostic if they cannot be read."""
    try:
        return given_data(prefix)
    except UnreadableError as error:
        return error.diagnostic


def given_data(name: str) -> DataFile:
    """Data that a command-line word names; UnreadableError if they cannot be read."""
    return read_records(name, named_files(name)) if is_record(name) else read_indexed(name)


def _deduplicate(problems: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings without repeats, the most severe first."""
    kept: list[Diagnostic] = []
    for entry in problems:
        if entry not in kept:
            kept.append(entry)
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(kept, key=lambda entry: order[entry.kind.severity]))


def side_of(config: Config, given: Mapping[str, DataFile]) -> Side:
    """Samples of a configuration, from the files that it names or from given ones with equal names."""
    plan = plan_of(config)
    return _of_tokens(plan, given) if plan.rows is None else _of_rows(plan, given)


def _of_rows(plan: Plan, given: Mapping[str, DataFile]) -> Side:
    """Side of a configuration whose data are MindRecord rows."""
    problems = [*plan.undecided, *plan.problems]
    assert plan.rows is not None
    try:
        data = read_rows(plan, given)
    except RefusedError as refused:
        absent = say.absent(prefix=plan.rows.names[0], why=refused.words)
        return Side(plan, {}, None, (*problems, diagnose(absent, plan.file, plan.place("blend").span)))
    except UnreadableError as error:
        return Side(plan, {}, None, (*problems, error.diagnostic))
    plan = complete_plan(plan, data)
    missing = [name for name in plan.rows.columns if name not in data.names] if plan.rows is not None else []
    if missing:
        what = say.columns_not_in_rows(columns=", ".join(missing), has=", ".join(data.names))
        problems.append(data_finding(say.columns(what=what), plan.file, None))
    draws = None
    if data.sound:
        try:
            draws = RowDraws(plan, data)
        except RefusedError as refused:
            problems.append(diagnose(say.refused(why=refused.words), plan.file, plan.place("blend").span))
    known = draws if plan.is_decided else None
    return Side(plan, {data.prefix: data}, known, tuple(problems), draws if plan.rows and plan.rows.shuffled else None)


def _of_tokens(plan: Plan, given: Mapping[str, DataFile]) -> Side:
    """Side of a configuration whose data are `.bin`/`.idx` files; also reports stale cached indices."""
    problems = [*plan.undecided, *plan.problems]
    files: dict[str, IndexedFile] = {}
    for prefix in dict.fromkeys(() if plan.blend is None else plan.blend.prefixes):
        local = _local(prefix, plan.file, given)
        if isinstance(local, Diagnostic):
            problems.append(local)
            continue
        data = given[local] if local in given else _readable(local)
        if isinstance(data, Diagnostic):
            problems.append(data)
        elif isinstance(data, IndexedFile):
            files[prefix] = data
    draws = None
    all_here = plan.blend is not None and all(prefix in files for prefix in plan.blend.prefixes)
    if plan.is_decided and all_here and all(data.sound for data in files.values()):
        try:
            draws = Draws(plan, files)
            draws.sample(0)
            said = say.this_cached_index_has_the()
            problems += [
                data_finding(say.stale(what=said), cached.path, None)
                for prefix, request, index in zip(draws.prefixes, draws.requests, draws.indices, strict=True)
                for cached in cached_indices(draws.plan, prefix, request, index)
                if not cached.fits
            ]
        except RefusedError as refused:
            draws = None
            span = plan.place("blend").span
            problems.append(diagnose(say.refused(why=refused.words), plan.file, span))
    return Side(plan, files, draws, tuple(problems))


def _local(prefix: str, file: str, given: Mapping[str, DataFile]) -> str | Diagnostic:
    """Path on this machine for a prefix that a configuration names, or a diagnostic."""
    for place in (prefix, os.path.join(os.path.dirname(file), prefix)):
        if os.path.isfile(f"{place}.idx") or os.path.isfile(f"{place}.bin"):
            return place
    alike = [name for name in given if os.path.basename(name) == os.path.basename(prefix)]
    if len(alike) == 1:
        return alike[0]
    ending = os.path.splitext(prefix)[1]
    if ending in (".bin", ".idx") and os.path.isfile(prefix):
        why = say.the_prefix_is_written_with(ending=ending)
    elif alike:
        why = say.several_of_that_name_were()
    else:
        why = say.there_is_no_idx(prefix=prefix)
    return diagnose(say.absent(prefix=prefix, why=why), file, None)


def _decode_samples(sides: Sequence[Side], datasets: Sequence[DataSet], options: CheckOptions) -> tuple[Decoded, ...]:
    """First samples as text: of each side, or of the data files without a configuration."""
    tokenizer = options.tokenizer
    if tokenizer is None or not options.decode:
        return ()
    decoded: list[Decoded] = []
    drawn = [side for side in sides if side.draws is not None]
    for side in drawn:
        assert side.draws is not None
        for number in range(min(options.decode, side.draws.size)):
            tokens = side.draws.tokens(number).tolist()
            decoded.append(Decoded(side.plan.file, number, tokenizer.text(tokens[:-1]), tokenizer.text(tokens[1:])))
    if not drawn:
        for dataset in datasets:
            for sequence in range(min(options.decode, dataset.data.sequences) if dataset.data.sound else 0):
                tokens = dataset.data.read(sequence).tolist()
                decoded.append(
                    Decoded(dataset.data.prefix, sequence, tokenizer.text(tokens[:-1]), tokenizer.text(tokens[1:]))
                )
    return tuple(decoded)


def to_json(report: Report, language: Language) -> dict[str, Any]:
    """The answer of `accmap data check --format json`."""
    digests = {} if report.contents is None else report.contents.digests
    datasets = [data_set_json(one, language, checksum=digests.get(one.data.prefix)) for one in report.datasets]
    return data_check_json(report, language, datasets=datasets)


def plan_of(config: Config) -> Plan:
    """The data plan of a configuration of either framework."""
    plan = megatron_plan(config) if config.framework == "megatron" else mindformers_plan(config)
    return _with_amounts(plan._replace(open_words=tuple(unseen_words([config]))))


def _with_amounts(plan: Plan) -> Plan:
    """Plan marked as undecided if samples, sample length or batch size are below 1."""
    amounts = (
        ("samples", plan.samples, say.training_samples),
        ("sample_length", plan.sample_length, say.tokens_a_sample),
        ("global_batch", plan.global_batch, say.samples_a_step),
    )
    wrong = [
        data_finding(
            say.undecided(what=say.makes_without_at_least_1(key=plan.place(field).key, amount=amount, subject=said())),
            plan.file,
            plan.place(field).span,
        )
        for field, amount, said in amounts
        if amount is not None and amount < 1
    ]
    return plan._replace(undecided=(*plan.undecided, *wrong)) if wrong else plan

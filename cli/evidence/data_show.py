"""`accmap data show FILE... --step K`: the samples that one run or two feed their models in some steps.

0 where the samples are shown and, of two runs, are the same; 1 where they differ or cannot be worked out; 2 where a
file cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...evidence.answers_compiled import data_batch_json, data_fed_json, data_show_json, data_shown_json
from ...schemas.border.text_output import emit, json_text, page, tell
from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import list_words
from ...schemas.verdict import unseen_json
from ..argument_parser import UsageError, counts_from_one
from ..command_runner import print_unreadable as report_unreadable
from ..exit_codes import BAD, FINE, UNUSABLE
from ..messages_compiled import say
from ..terminal import shorten, width
from .data_check import missing_package_sentence, sort_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...evidence.data.agreement import Side
    from ...evidence.data.check import Batch, Fed
    from ...evidence.data.tokenizer import Tokenizer
    from ...schemas.diagnostic import Language
    from ...schemas.verdict import Unseen
    from ..arguments_compiled import DataShowArgs

_IDS = 24
"""So many ids of a sample are shown where not all are asked for."""


def run(args: DataShowArgs) -> int:
    """Show the samples that one or two runs feed their models at some steps; 0 if they are the same, or of one run."""
    from ...evidence.data.check import given_data, side_of
    from ...evidence.data.tokenizer import read_tokenizer

    step, count = _step_range(args.step, args.steps)
    prefixes, configs, failed = sort_inputs(args.files, args.reading, args.stdin_filename)
    for error in failed:
        report_unreadable(error, args.lang)
    if not (failed or configs):
        raise UsageError(say.data_show_needs_a_configuration())
    if failed or not _has_numpy(args.lang):
        return UNUSABLE
    read = read_tokenizer(args.tokenizer) if args.tokenizer is not None else None
    given = {prefix: given_data(prefix) for prefix in prefixes}
    answer = _answer([side_of(config, given) for config in configs], step, count, read)
    emit(
        json_text(_json_answer(answer, args.lang))
        if args.format == "json"
        else page(_batch_lines(answer, args.lang, whole=args.all))
    )
    return FINE if answer.verdict in ("same", "shown") else BAD


def _answer(sides: Sequence[Side], step: int, count: int, read: Tokenizer | None) -> Answer:
    """The samples that each side feeds its model in these steps, compared, with the reasons for missing ones."""
    found = [_steps(side, step, count) for side in sides]
    shown = [None if isinstance(one, Diagnostic) else one for one in found]
    problems = [entry for side in sides for entry in side.problems]
    problems += [one for one in found if isinstance(one, Diagnostic)]
    return Answer(step, count, tuple(sides), tuple(shown), tuple(problems), read)


def _has_numpy(language: Language) -> bool:
    """True if numpy is installed; otherwise stderr names the extra to install."""
    from ...evidence.data.indexed_file import MissingPackageError, need_numpy

    try:
        need_numpy()
    except MissingPackageError as missing:
        tell(f"accmap: {missing_package_sentence(missing.package, language)}")
        return False
    return True


def _step_range(step: int | None, steps: int | None) -> tuple[int, int]:
    """The first step and the number of steps to show; UsageError for a missing step or a number below one."""
    if step is None:
        raise UsageError(say.data_show_needs_a_step())
    count = 1 if steps is None else steps
    for option, number in (("--step", step), ("--steps", count)):
        if number < 1:
            raise counts_from_one(option, number)
    return step, count


def _steps(side: Side, first: int, count: int) -> list[Batch] | Diagnostic | None:
    """The batches of one side for these steps; a diagnostic where they cannot be read, None if already reported."""
    from ...evidence.data.check import batches
    from ...evidence.data.messages_compiled import say as told
    from ...evidence.data.plan import RefusedError

    try:
        return None if side.draws is None else batches(side, first, count)
    except RefusedError as refused:
        return diagnose(told.undecided(what=refused.words), side.plan.file, None)
    except UnreadableError as error:
        return error.diagnostic


class Answer(NamedTuple):
    """Some steps of one side or two."""

    first: int
    length: int
    """How many steps."""
    sides: tuple[Side, ...]
    shown: tuple[list[Batch] | None, ...]
    problems: tuple[Diagnostic, ...]
    tokenizer: Tokenizer | None

    @property
    def other(self) -> int | None:
        """The first step that is not the same on two sides."""
        from ...evidence.data.check import first_other

        known = [one for one in self.shown if one is not None]
        return first_other(*known) if len(known) == 2 else None

    @property
    def first_mask_difference(self) -> int | None:
        """The first step of the same tokens whose masks or positions are not the same on two sides."""
        from ...evidence.data.check import first_other_mask

        known = [one for one in self.shown if one is not None]
        return first_other_mask(self.sides[0], self.sides[1], known[0]) if len(known) == 2 else None

    @property
    def first_difference(self) -> int | None:
        """The first step of other tokens, or of the same ones under other masks or positions."""
        return self.first_mask_difference if self.other is None else self.other

    @property
    def unseen(self) -> tuple[Unseen, ...]:
        """Inputs that decide the batches, too, and are not read."""
        from ...evidence.data.check import not_read

        return () if len(self.sides) == 1 or None in self.shown else not_read(self.sides)

    @property
    def verdict(self) -> str:
        """`shown` for one side; for two sides the word for how their samples compare."""
        if None in self.shown:
            return "undecided"
        if len(self.sides) == 1:
            return "shown"
        if self.first_difference is not None:
            return "different"
        return "partial" if self.unseen else "same"


def _json_answer(answer: Answer, language: Language) -> dict[str, Any]:
    """The samples of each side by step as JSON, with their text if a tokenizer was given."""

    def batch(one: Batch) -> dict[str, Any]:
        told = (
            data_fed_json(fed, text=None if answer.tokenizer is None else answer.tokenizer.text(fed.ids))
            for fed in one.samples
        )
        return data_batch_json(one, samples=list(told))

    sides = [
        data_shown_json(side.plan, steps=None if found is None else list(map(batch, found)))
        for side, found in zip(answer.sides, answer.shown, strict=True)
    ]
    return data_show_json(answer, language, sides=sides)


def _batch_lines(answer: Answer, language: Language, *, whole: bool) -> Iterator[str]:
    """The verdict, the parts not compared, and each side's samples by step, as lines; shortened unless `whole`."""
    from ...evidence.data.messages_compiled import say as told

    first, last, file = answer.first, answer.first + answer.length - 1, answer.sides[0].plan.file
    alone = first == last
    heads = {
        "same": told.step_same(step=first) if alone else told.steps_same(first=first, last=last),
        "partial": told.steps_in_part(),
        "different": told.steps_differ(step=answer.other)
        if answer.other is not None
        else told.steps_masked_otherwise(step=answer.first_mask_difference),
        "shown": told.step_of_one(step=first, file=file)
        if alone
        else told.steps_of_one(first=first, last=last, file=file),
        "undecided": told.steps_undecided(),
    }
    yield heads[answer.verdict].text(language)
    for entry in unseen_json(answer.unseen, language):
        yield f"  {entry['what']}: {entry['reason']}"
    for entry in answer.problems:
        yield f"{entry.file}: {entry.kind.code} {entry.message(language)}"
    samples = [fed for found in answer.shown if found is not None for batch in found for fed in batch.samples]
    if not whole and any(len(fed.ids) > _IDS for fed in samples):
        yield told.shown_by_their_beginnings(count=_IDS).text(language)
    # what cannot be read has no samples: of a run without a known end, any number of steps may be asked for
    for at in range(max((len(found) for found in answer.shown if found is not None), default=0)):
        yield ""
        yield told.step_head(step=first + at).text(language)
        for side, found in zip(answer.sides, answer.shown, strict=True):
            if found is not None:
                yield side.plan.file
                for fed in found[at].samples:
                    yield from (f"  {line}" for line in _sample_lines(fed, answer.tokenizer, language, whole=whole))


def _sample_lines(fed: Fed, tokenizer: Tokenizer | None, language: Language, *, whole: bool) -> Iterator[str]:
    """One sample as lines: its number, the sequences it was cut from, its ids, and its text if there is a tokenizer."""
    from ...evidence.data.agreement import piece_of
    from ...evidence.data.messages_compiled import say as told

    drawn = fed.drawn
    places = (told.piece(prefix=drawn.prefix, sequence=one.sequence, offset=one.offset) for one in drawn.pieces)
    pieces = list_words([one.text(language) for one in places], language) if whole else piece_of(drawn).text(language)
    yield told.fed(sample=fed.sample, rank=fed.rank, micro=fed.micro, pieces=pieces).text(language)
    ids = " ".join(map(str, fed.ids if whole else fed.ids[:_IDS]))
    yield ids if whole or len(fed.ids) <= _IDS else f"{ids} …"
    if tokenizer is not None:
        text = repr(tokenizer.text(fed.ids))
        yield text if whole else shorten(text, width() - 2)

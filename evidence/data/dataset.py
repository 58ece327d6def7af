"""Problems of one pair of data files: its tokens, and a run's special ids (document ends, masks, the tokenizer's)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...mappings.keys_compiled import PADS_OF_OTHER_USE_COUNT, PADS_OUT_FOR_GOOD
from ...schemas.diagnostic import Diagnostic, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING
from ...schemas.versions import within
from .messages_compiled import say
from .mindrecord import RecordFile
from .plan import Plan, data_finding
from .tokens import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...schemas.diagnostic import Severity
    from ...schemas.message import Words
    from .mindrecord import DataFile
    from .tokenizer import Tokenizer

SAMPLES = 64
"""How many samples of both sides are compared where nothing else is said."""


class CheckOptions(NamedTuple):
    """Options of a check beyond its files."""

    samples: int = SAMPLES
    quick: int | None = None
    """Read so many sequences of each file instead of all."""
    vocabulary: int | None = None
    eod: int | None = None
    tokenizer: Tokenizer | None = None
    encoder: Any | None = None
    """The package's tokenizer, for the way from text back to ids."""
    decode: int = 0


class RoundTrip(NamedTuple):
    """Of the sequences decoded to text and encoded again, how many came back the same, and how many were tried."""

    equal: int
    tried: int


class Lengths(NamedTuple):
    """Statistics of the lengths of a file's sequences."""

    minimum: int
    maximum: int
    mean: float
    quartiles: list[float]


class DataSet(NamedTuple):
    """One pair of files and what was found in it."""

    data: DataFile
    seen: Scan | None
    problems: tuple[Diagnostic, ...]
    round_trip: RoundTrip | None = None

    @property
    def multimodal(self) -> bool:
        """True if sequences have modes."""
        return self.data.modes is not None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """All arrays of a row; an indexed file has no rows."""
        return self.data.names if isinstance(self.data, RecordFile) else None

    @property
    def lengths(self) -> Lengths | None:
        """Statistics of the lengths; None without sequences."""
        import numpy as np

        lengths = self.data.lengths
        if not lengths.size:
            return None
        quarters = [float(value) for value in cast("Any", np.percentile(lengths, (25, 50, 75)))]
        return Lengths(int(lengths.min()), int(lengths.max()), float(lengths.mean()), quarters)


_ANY_ID = 1 << 62
"""Below this is every id that a vocabulary can have."""


def dataset_of(data: DataFile, plans: Sequence[Plan], options: CheckOptions) -> DataSet:
    """Look at the tokens of a file, for the plans that use it."""
    problems: list[Diagnostic] = []
    if any(entry.kind.name == "index-inconsistent" for entry in data.problems):
        return DataSet(data, None, ())
    limits = _limits(plans, options)
    ids = ids_to_count(plans, options.tokenizer)
    if options.eod is not None:
        ids.append(options.eod)
    # An id below 0 is wrong whatever the vocabulary is.
    seen = scan(data, ids, list(limits) or [_ANY_ID], options.quick)
    if not data.tokens:
        problems.append(data_finding(say.refused(why=say.it_holds_no_tokens()), data.idx, None))
    problems += _ids_findings(data, seen, limits)
    for plan in plans:
        others = [other for other in plans if other is not plan]
        problems += special_findings(plan, data.prefix, seen, options.tokenizer, others)
    usual = usual_end(seen)
    if options.eod is not None and usual is not None and usual[0] != options.eod:
        ends = say.of_sequences_end_with_most(
            eod=seen.ending(options.eod), sequences=seen.sequences, eod2=options.eod, usual=usual[0], usual2=usual[1]
        )
        problems.append(data_finding(say.eod(what=ends), data.bin, None))
    trip = _round_trip(data, options)
    if trip is not None and trip[0] < trip[1]:
        problems.append(
            data_finding(
                say.special(what=say.of_sequences_decoded_to_text(trip=trip[1], trip2=trip[0])), data.bin, None
            )
        )
    return DataSet(data, seen, tuple(problems), trip)


def _ids_findings(data: DataFile, seen: Scan, limits: dict[int, str]) -> Iterator[Diagnostic]:
    """Ids that no vocabulary has, or that all are one."""
    for beyond in seen.outside:
        said = say.outside(
            source=limits.get(beyond.limit, "int64"),
            count=beyond.times,
            limit=beyond.limit,
            id=beyond.id,
            offset=beyond.offset,
            position=beyond.position,
            sequence=beyond.sequence,
        )
        yield diagnose(said, data.bin)
    largest = max(limits, default=0)
    if data.dtype == "uint16" and largest > 65536:
        yield data_finding(say.unusual(what=say.the_ids_are_stored_in(largest=largest - 1)), data.idx, None)
    if seen.complete and seen.tokens > 1 and seen.minimum == seen.maximum:
        yield data_finding(
            say.unusual(what=say.all_tokens_are(tokens=seen.tokens, minimum=seen.minimum)), data.bin, None
        )


def _limits(plans: Sequence[Plan], asked: CheckOptions) -> dict[int, str]:
    """The vocabulary sizes that ids must stay below, and where each comes from."""
    found: dict[int, str] = {}
    for plan in plans:
        if plan.vocabulary is not None:
            found.setdefault(plan.vocabulary, f"{plan.place('vocabulary').key.rpartition('.')[2]}, {plan.file}")
    if asked.tokenizer is not None:
        found.setdefault(asked.tokenizer.size, asked.tokenizer.file)
    if asked.vocabulary is not None:
        found.setdefault(asked.vocabulary, "--vocabulary")
    return found


def _round_trip(data: DataFile, options: CheckOptions) -> RoundTrip | None:
    if options.encoder is None or options.tokenizer is None or not data.sound:
        return None
    special = set(options.tokenizer.special.values())
    same = tried = 0
    for sequence in range(min(8, data.sequences)):
        ids = data.read(sequence, 0, min(int(data.lengths[sequence]), 65536)).tolist()
        while ids and ids[-1] in special:
            ids.pop()
        while ids and ids[0] in special:
            ids.pop(0)
        if not ids or max(ids) >= options.tokenizer.size or min(ids) < 0:
            continue
        text = options.encoder.decode(ids, skip_special_tokens=False)
        tried += 1
        same += options.encoder.encode(text, add_special_tokens=False).ids == ids
    return RoundTrip(same, tried) if tried else None


_USUAL = 0.9
"""The share of sequences from which on an id counts as the one that ends them."""


def ids_to_count(plans: Iterable[Plan], tokenizer: Tokenizer | None) -> list[int]:
    """The ids whose number in the data matters."""
    found: dict[int, None] = {}
    for plan in plans:
        if plan.eod is not None:
            found[plan.eod] = None
        found.update(dict.fromkeys(plan.unseen))
    if tokenizer is not None:
        found.update(dict.fromkeys(tokenizer.special.values()))
    return [token for token in found if token >= 0]


def usual_end(scan: Scan) -> tuple[int, float] | None:
    """The id that most sequences end with, and their share."""
    if not scan.ends or not scan.sequences:
        return None
    token, count = next(iter(scan.ends.items()))
    return token, count / scan.sequences


def special_findings(
    plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None, others: Sequence[Plan]
) -> list[Diagnostic]:
    """Problems between one plan's special ids and the data of `name`."""
    of_tokenizer = None if tokenizer is None else tokenizer.special.get("eos_token")
    eod = of_tokenizer if plan.eod is None and plan.framework == "megatron" else plan.eod
    ended = _end_problem(plan, name, scan, None if eod is None or eod < 0 else eod)
    found = [] if ended is None else [data_finding(say.eod(what=ended[0]), plan.file, plan.place("eod").span, ended[1])]
    if eod is not None and eod >= 0 and of_tokenizer is not None and of_tokenizer != eod:
        what = say.eod_is_but_the_tokenizer(eod=eod, of_tokenizer=of_tokenizer)
        found.append(data_finding(say.special(what=what), plan.file, plan.place("eod").span))
    return [*found, *_masked_findings(plan, name, scan, tokenizer, others)]


def _end_problem(plan: Plan, name: str, scan: Scan, eod: int | None) -> tuple[Words, Severity | None] | None:
    """The problem between the id that ends a document for the run, and the usual end of the documents."""
    matters = plan.ends_matter
    usual = usual_end(scan)
    ending = NOTHING if usual is None else say.of_the_sequences_end_with(usual=usual[1], usual2=usual[0])
    where = f"{name}: "
    if eod is None:
        missed = matters and plan.framework == "mindformers"
        return (say.the_run_masks_or_resets_2(where=where, ending=ending), None) if missed else None
    if matters and scan.complete and not scan.counts.get(eod, 0):
        return say.the_run_masks_or_resets(where=where, eod=eod, ending=ending), None
    if usual is None or usual[1] < _USUAL or usual[0] == eod:
        return None
    said = say.the_run_takes_for_the(where=where, eod=eod, usual=usual[1], usual2=usual[0])
    if matters:
        return said, "error"
    return (said, "warning") if plan.framework == "mindformers" else None


def _masked_findings(
    plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None, others: Sequence[Plan]
) -> list[Diagnostic]:
    diagnostics: list[Diagnostic] = []
    padding = {_pads(other, tokenizer) for other in others}
    for token, where in plan.unseen.items():
        count = scan.counts.get(token, 0)
        if not count or (where == "loss" and token in padding):
            continue
        key = plan.place("pad" if where == "loss" else "pad_token_id")
        text = say.in_the_loss() if where == "loss" else say.in_attention()
        diagnostics.append(
            data_finding(
                say.masked(
                    what=say.is_masked_and_the_data(
                        name=name, value=key.key.rpartition(".")[2], token=token, count=count, text=text
                    )
                ),
                plan.file,
                key.span,
            )
        )
    pads = _pads(plan, tokenizer)
    if pads is not None and scan.counts.get(pads, 0) and not any(pads in other.unseen for other in others):
        lasting = within(plan.version, *PADS_OUT_FOR_GOOD) and not plan.ends_matter
        more = say.in_this_version_the_places() if lasting else NOTHING
        diagnostics.append(
            data_finding(
                say.masked(
                    what=say.megatron_leaves_the_tokenizer_s(name=name, pads=pads, count=scan.counts[pads], more=more)
                ),
                plan.file,
                None,
            )
        )
    return diagnostics


def _pads(plan: Plan, tokenizer: Tokenizer | None) -> int | None:
    """The id that Megatron leaves out of the loss: its tokenizer's pad, from 0.16 on if it has no other use."""
    if plan.framework != "megatron" or tokenizer is None or plan.eod is not None:
        return None
    pad = tokenizer.special.get("pad_token")
    if pad is None:
        return None
    shared = any(number == pad for name, number in tokenizer.special.items() if name != "pad_token")
    return None if shared and within(plan.version, *PADS_OF_OTHER_USE_COUNT) else pad

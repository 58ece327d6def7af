"""One pair of data files, and what is wrong with what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...schemas.diagnostic import Diagnostic, finding
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .mindrecord import RecordFile
from .plan import Plan, told
from .special import ids_to_count, special_findings, usual_end
from .tokens import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .mindrecord import DataFile
    from .tokenizer import Tokenizer

SAMPLES = 64
"""How many samples of both sides are compared where nothing else is said."""


class Asked(NamedTuple):
    """What a check is to look at beyond its files."""

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
    """How long the sequences of a file are."""

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
        """Whether sequences have modes."""
        return self.data.modes is not None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """All arrays of a row; an indexed file has no rows."""
        return self.data.names if isinstance(self.data, RecordFile) else None

    @property
    def lengths(self) -> Lengths | None:
        """How long the sequences are; None where there are none."""
        import numpy as np

        lengths = self.data.lengths
        if not lengths.size:
            return None
        quarters = [float(value) for value in cast("Any", np.percentile(lengths, (25, 50, 75)))]
        return Lengths(int(lengths.min()), int(lengths.max()), float(lengths.mean()), quarters)


_ANY_ID = 1 << 62
"""Below this is every id that a vocabulary can have."""


def dataset_of(data: DataFile, plans: Sequence[Plan], asked: Asked) -> DataSet:
    """Look at the tokens of a file, for the plans that use it."""
    problems: list[Diagnostic] = []
    if any(entry.kind.name == "index-inconsistent" for entry in data.problems):
        return DataSet(data, None, ())
    limits = _limits(plans, asked)
    ids = ids_to_count(plans, asked.tokenizer)
    if asked.eod is not None:
        ids.append(asked.eod)
    # An id below 0 is wrong whatever the vocabulary is.
    seen = scan(data, ids, list(limits) or [_ANY_ID], asked.quick)
    if not data.tokens:
        problems.append(told(say.refused(why=say.it_holds_no_tokens()), data.idx, None))
    problems += _ids_findings(data, seen, limits)
    for plan in plans:
        others = [other for other in plans if other is not plan]
        problems += special_findings(plan, data.prefix, seen, asked.tokenizer, others)
    usual = usual_end(seen)
    if asked.eod is not None and usual is not None and usual[0] != asked.eod:
        ends = say.of_sequences_end_with_most(
            eod=seen.ending(asked.eod), sequences=seen.sequences, eod2=asked.eod, usual=usual[0], usual2=usual[1]
        )
        problems.append(told(say.eod(what=ends), data.bin, None))
    trip = _round_trip(data, asked)
    if trip is not None and trip[0] < trip[1]:
        problems.append(
            told(say.special(what=say.of_sequences_decoded_to_text(trip=trip[1], trip2=trip[0])), data.bin, None)
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
        yield finding(said, data.bin)
    largest = max(limits, default=0)
    if data.dtype == "uint16" and largest > 65536:
        yield told(say.unusual(what=say.the_ids_are_stored_in(largest=largest - 1)), data.idx, None)
    if seen.complete and seen.tokens > 1 and seen.minimum == seen.maximum:
        yield told(say.unusual(what=say.all_tokens_are(tokens=seen.tokens, minimum=seen.minimum)), data.bin, None)


def _limits(plans: Sequence[Plan], asked: Asked) -> dict[int, str]:
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


def _round_trip(data: DataFile, asked: Asked) -> RoundTrip | None:
    """Decode the first sequences and encode them again."""
    if asked.encoder is None or asked.tokenizer is None or not data.sound:
        return None
    special = set(asked.tokenizer.special.values())
    same = tried = 0
    for sequence in range(min(8, data.sequences)):
        ids = data.read(sequence, 0, min(int(data.lengths[sequence]), 65536)).tolist()
        while ids and ids[-1] in special:
            ids.pop()
        while ids and ids[0] in special:
            ids.pop(0)
        if not ids or max(ids) >= asked.tokenizer.size or min(ids) < 0:
            continue
        text = asked.encoder.decode(ids, skip_special_tokens=False)
        tried += 1
        same += asked.encoder.encode(text, add_special_tokens=False).ids == ids
    return RoundTrip(same, tried) if tried else None

"""Checks of the tokens of one data set: ids outside the vocabulary, document ends, and other special ids of a run.

A chunk is a few megabytes, so memory does not grow with the file and the passes over a chunk stay in the cache. The
quick look reads whole sequences spread evenly over the file instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...mappings.keys_compiled import PADS_OF_OTHER_USE_COUNT, PADS_OUT_FOR_GOOD
from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import Diagnostic, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING
from ...schemas.versions import within
from .indexed_file import token_type, whole_numbers
from .messages_compiled import say
from .mindrecord import RecordFile
from .plan import Plan, data_finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...schemas.diagnostic import Severity
    from ...schemas.message import Words
    from .indexed_file import IndexedFile
    from .mindrecord import DataFile
    from .tokenizer import Tokenizer

CHUNK = 4 * 1024 * 1024
"""Bytes that are looked at together."""


class Outside(NamedTuple):
    """Ids that no embedding of `limit` rows has: how many, and where the first one stands."""

    limit: int
    times: int
    id: int
    offset: int
    sequence: int
    position: int


class End(NamedTuple):
    """Number of sequences that end with an id."""

    id: int
    sequences: int


_MOST_ENDS = 5


class Scan(NamedTuple):
    """Statistics of the tokens of a file."""

    tokens: int
    """How many were read."""
    sequences: int
    """How many sequences that ended in what was read had tokens."""
    complete: bool
    minimum: int | None
    maximum: int | None
    counts: dict[int, int]
    """How often each id that was asked for occurs."""
    ends: dict[int, int]
    """How many sequences end with each id, for the most frequent ones."""
    outside: tuple[Outside, ...]

    @property
    def common_ends(self) -> list[End]:
        """Ids that most often end a sequence."""
        return [End(token, count) for token, count in list(self.ends.items())[:_MOST_ENDS]]

    def ending(self, token: int) -> int:
        """Number of sequences whose last id is `token`."""
        return self.ends.get(token, 0)


def scan(data: DataFile, ids: Sequence[int] = (), limits: Sequence[int] = (), quick: int | None = None) -> Scan:
    """Counts of ids in a file: over all of it, or over `quick` evenly spread sequences."""
    wanted = tuple(dict.fromkeys(ids))
    tally = _Tally(wanted, tuple(dict.fromkeys(limits)))
    complete = quick is None or quick >= data.sequences
    for first, tokens, ends in _every(data) if complete else _rows(data, _spread(data.sequences, quick or 1)):
        tally.add(data, first, tokens, ends)
    ends = dict(sorted(tally.ends.items(), key=lambda entry: -entry[1]))
    return Scan(
        tally.tokens,
        sum(tally.ends.values()),
        complete,
        tally.minimum,
        tally.maximum,
        tally.counts,
        ends,
        tuple(Outside(limit, count, *first) for limit, (count, first) in tally.outside.items()),
    )


class _Tally:
    def __init__(self, ids: tuple[int, ...], limits: tuple[int, ...]) -> None:
        self.tokens = 0
        self.minimum: int | None = None
        self.maximum: int | None = None
        self.counts = dict.fromkeys(ids, 0)
        self.ends: dict[int, int] = {}
        self.outside: dict[int, tuple[int, tuple[int, int, int, int]]] = {}
        self._limits = limits

    def add(self, data: DataFile, first: int, tokens: Any, ends: Any) -> None:
        """Count adjacent tokens; `first` is the first one's position in the file, `ends` end sequences."""
        import numpy as np

        if not tokens.size:
            return
        low, high = int(tokens.min()), int(tokens.max())
        self.tokens += int(tokens.size)
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)
        for token in self.counts:
            if low <= token <= high:
                self.counts[token] += int(np.count_nonzero(tokens == token))
        values, times = cast("Any", np.unique(tokens[ends], return_counts=True))
        for value, count in zip(values.tolist(), times.tolist(), strict=True):
            self.ends[int(value)] = self.ends.get(int(value), 0) + count
        for limit in self._limits:
            if low < 0 or high >= limit:
                self._count_outside(data, first, tokens, limit)

    def _count_outside(self, data: DataFile, first: int, tokens: Any, limit: int) -> None:
        """Count ids outside a vocabulary of size `limit`, and note the first one's place."""
        import numpy as np

        wrong = np.flatnonzero((tokens < 0) | (tokens >= limit))
        count, place = self.outside.get(limit, (0, None))
        if place is None:
            at = first + int(wrong[0])
            sequence, position = sequence_at(data, at)
            place = (int(tokens[wrong[0]]), data.byte_of(sequence, position), sequence, position)
        self.outside[limit] = (count + int(wrong.size), place)


def sequence_at(data: DataFile, token: int) -> tuple[int, int]:
    """Sequence that contains a token of the file, and the token's position in it."""
    import numpy as np

    sequence = int(np.searchsorted(data.pointers, token * data.itemsize, side="right")) - 1
    while int(data.lengths[sequence]) == 0:
        sequence -= 1  # empty sequences point at the same byte as the one after them
    return sequence, token - int(data.pointers[sequence]) // data.itemsize


def _every(data: DataFile) -> Iterator[tuple[int, Any, Any]]:
    """All tokens of a file in chunks, with the positions at which sequences end."""
    from .mindrecord import RecordFile

    return _rows(data, range(data.sequences)) if isinstance(data, RecordFile) else _whole(data)


def _spread(sequences: int, count: int) -> list[int]:
    """Numbers of evenly spread sequences, including the first and last."""
    import numpy as np

    places: Any = np.linspace(0, sequences - 1, num=max(2, count))
    return cast("Any", np.unique(places.round().astype(np.int64))).tolist()


def _whole(data: IndexedFile) -> Iterator[tuple[int, Any, Any]]:
    """Chunks of an indexed file, each with the positions at which sequences end."""
    import numpy as np

    kind = token_type(data.dtype)
    per_chunk = max(1, CHUNK // data.itemsize)
    total = min(data.tokens, data.bin_bytes // data.itemsize)
    ends = _Ends(data)
    buffer = bytearray(per_chunk * data.itemsize)
    with open_regular(data.bin) as stream:
        first = 0
        while first < total:
            count = min(per_chunk, total - first)
            got = _fill(stream, memoryview(buffer)[: count * data.itemsize]) // data.itemsize
            if not got:
                return
            yield first, whole_numbers(np.frombuffer(buffer, dtype=kind, count=got)), ends.until(first + got) - first
            first += got


def _fill(stream: Any, view: memoryview) -> int:
    """Number of bytes read into `view`; repeats short reads."""
    done = 0
    while done < len(view):
        got = stream.readinto(view[done:])
        if not got:
            break
        done += got
    return done


class _Ends:
    """The last tokens of sequences in file order, a block of the index at a time."""

    _BLOCK = 1 << 18

    def __init__(self, data: IndexedFile) -> None:
        import numpy as np

        self._lengths = data.lengths
        self._next = 0
        self._tokens = 0
        self._waiting = np.empty(0, dtype=np.int64)

    def until(self, token: int) -> Any:
        """Ends of sequences before `token` that were not returned by earlier calls."""
        import numpy as np

        given: list[Any] = []
        while True:
            split = int(np.searchsorted(self._waiting, token, side="left"))
            given.append(self._waiting[:split])
            self._waiting = self._waiting[split:]
            if self._waiting.size or self._next >= self._lengths.size:
                return np.concatenate(given)
            block = self._lengths[self._next : self._next + self._BLOCK].astype(np.int64)
            self._next += int(block.size)
            stops = self._tokens + np.cumsum(block)
            self._tokens += int(block.sum())
            self._waiting = stops[block > 0] - 1


def _rows(data: DataFile, places: Iterable[int]) -> Iterator[tuple[int, Any, Any]]:
    """Tokens of the sequences with these numbers, each with its position in the file."""
    import numpy as np

    for sequence in places:
        tokens = data.read(sequence)
        if tokens.size:
            yield int(data.pointers[sequence]) // data.itemsize, tokens, np.array([tokens.size - 1])


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
    """One data set (an `.idx` and `.bin` pair, or a MindRecord file) and the results of its checks."""

    data: DataFile
    seen: Scan | None
    problems: tuple[Diagnostic, ...]
    round_trip: RoundTrip | None = None

    @property
    def multimodal(self) -> bool:
        """True if the file marks sequences with modes."""
        return self.data.modes is not None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of all arrays of a row; None for an indexed file, which has no rows."""
        return self.data.names if isinstance(self.data, RecordFile) else None

    @property
    def lengths(self) -> Lengths | None:
        """Statistics of sequence lengths; None without sequences."""
        import numpy as np

        lengths = self.data.lengths
        if not lengths.size:
            return None
        quarters = [float(value) for value in cast("Any", np.percentile(lengths, (25, 50, 75)))]
        return Lengths(int(lengths.min()), int(lengths.max()), float(lengths.mean()), quarters)


_ANY_ID = 1 << 62
"""Below this is every id that a vocabulary can have."""


def dataset_of(data: DataFile, plans: Sequence[Plan], options: CheckOptions) -> DataSet:
    """Description of a data file: token counts, round trip, and findings for the plans that use it."""
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
    """Findings on ids outside the vocabulary, or on data with a single id."""
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
    """Vocabulary sizes that all ids must stay below, with their origin."""
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
    """Number of sequences that the tokenizer decodes and encodes to the same ids, out of those tried."""
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
    """Ids whose frequency in the data is relevant: ends, padding, masked ones."""
    found: dict[int, None] = {}
    for plan in plans:
        if plan.eod is not None:
            found[plan.eod] = None
        found.update(dict.fromkeys(plan.unseen))
    if tokenizer is not None:
        found.update(dict.fromkeys(tokenizer.special.values()))
    return [token for token in found if token >= 0]


def usual_end(scan: Scan) -> tuple[int, float] | None:
    """Id that ends most sequences, and the share of these."""
    if not scan.ends or not scan.sequences:
        return None
    token, count = next(iter(scan.ends.items()))
    return token, count / scan.sequences


def special_findings(
    plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None, others: Sequence[Plan]
) -> list[Diagnostic]:
    """Findings on a plan's special ids (end, padding, masks) in the data of `name`."""
    of_tokenizer = None if tokenizer is None else tokenizer.special.get("eos_token")
    eod = of_tokenizer if plan.eod is None and plan.framework == "megatron" else plan.eod
    ended = _end_problem(plan, name, scan, None if eod is None or eod < 0 else eod)
    found = [] if ended is None else [data_finding(say.eod(what=ended[0]), plan.file, plan.place("eod").span, ended[1])]
    if eod is not None and eod >= 0 and of_tokenizer is not None and of_tokenizer != eod:
        what = say.eod_is_but_the_tokenizer(eod=eod, of_tokenizer=of_tokenizer)
        found.append(data_finding(say.special(what=what), plan.file, plan.place("eod").span))
    return [*found, *_masked_findings(plan, name, scan, tokenizer, others)]


def _end_problem(plan: Plan, name: str, scan: Scan, eod: int | None) -> tuple[Words, Severity | None] | None:
    """Finding text if a run's document-end id is not the usual end of the data's sequences."""
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
    """Findings on ids in the data that a run leaves out of the loss or the attention."""
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
    """Padding id that Megatron masks in the loss; from 0.16 on only if the id has no other use."""
    if plan.framework != "megatron" or tokenizer is None or plan.eod is not None:
        return None
    pad = tokenizer.special.get("pad_token")
    if pad is None:
        return None
    shared = any(number == pad for name, number in tokenizer.special.items() if name != "pad_token")
    return None if shared and within(plan.version, *PADS_OF_OTHER_USE_COUNT) else pad

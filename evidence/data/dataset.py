"""One pair of data files, and what is wrong with what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...schemas.diagnostic import Diagnostic, finding
from .plan import Plan, told
from .problems import PROBLEMS
from .special import ids_to_count, special_findings, usual_end
from .tokens import Scan, scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .indexed import IndexedFile
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


class DataSet(NamedTuple):
    """One pair of files and what was found in it."""

    data: IndexedFile
    seen: Scan | None
    problems: tuple[Diagnostic, ...]
    round_trip: tuple[int, int] | None = None
    """Of the sequences decoded to text and encoded again, how many came back the same, and how many were tried."""


_ANY_ID = 1 << 62
"""Below this is every id that a vocabulary can have."""


def dataset_of(data: IndexedFile, plans: Sequence[Plan], asked: Asked) -> DataSet:
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
        problems.append(told("refused", data.idx, None, "it holds no tokens", "其中没有 token"))
    problems += [
        finding(
            PROBLEMS,
            "outside",
            data.bin,
            None,
            source=limits.get(beyond.limit, "int64"),
            count=beyond.times,
            **beyond._asdict(),
        )
        for beyond in seen.outside
    ]
    largest = max(limits, default=0)
    if data.dtype == "uint16" and largest > 65536:
        problems.append(
            told(
                "unusual",
                data.idx,
                None,
                f"The ids are stored in 16 bits, which cannot hold those from 65536 to {largest - 1} of the "
                f"vocabulary. "
                "Were the data made with another tokenizer?",
                f"id 以 16 位存储，无法表示词表中 65536 到 {largest - 1} 的 id。数据是否由另一个分词器制作？",
            )
        )
    if seen.complete and seen.tokens > 1 and seen.minimum == seen.maximum:
        problems.append(
            told(
                "unusual",
                data.bin,
                None,
                f"All {seen.tokens} tokens are {seen.minimum}.",
                f"全部 {seen.tokens} 个 token 均为 {seen.minimum}。",
            )
        )
    for plan in plans:
        others = [other for other in plans if other is not plan]
        problems += special_findings(plan, data.prefix, seen, asked.tokenizer, others)
    usual = usual_end(seen)
    if asked.eod is not None and usual is not None and usual[0] != asked.eod:
        problems.append(
            told(
                "eod",
                data.bin,
                None,
                f"{seen.ending(asked.eod)} of {seen.sequences} sequences end with {asked.eod}; most end with "
                f"{usual[0]} "
                f"({usual[1]:.1%}).",
                f"{seen.sequences} 个序列中有 {seen.ending(asked.eod)} 个以 {asked.eod} 结尾；多数以 {usual[0]} 结尾"
                f"（{usual[1]:.1%}）。",
            )
        )
    trip = _round_trip(data, asked)
    if trip is not None and trip[0] < trip[1]:
        problems.append(
            told(
                "special",
                data.bin,
                None,
                f"Of {trip[1]} sequences decoded to text and encoded again, {trip[0]} came back with the same ids. "
                f"Is this "
                "the tokenizer that made the data?",
                f"{trip[1]} 个序列解码为文本再编码后，有 {trip[0]} 个得到相同的 id。数据是否由该分词器制作？",
            )
        )
    return DataSet(data, seen, tuple(problems), trip)


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


def _round_trip(data: IndexedFile, asked: Asked) -> tuple[int, int] | None:
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
    return (same, tried) if tried else None

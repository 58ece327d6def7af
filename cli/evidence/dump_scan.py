"""`accmap dump scan DUMP`: NaN, infinity and a constant output in one dump, and the first unit that makes one.

Exit code 0: all values in the dump are finite and vary; 1: some do not, or a part of the dump does not say; 2: the dump
cannot be used.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ...evidence.answers_compiled import dump_scanned_json
from ...evidence.dump.messages_compiled import say as told
from ...schemas.border.text_output import emit, json_text, page
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.verdict import PARTIAL, UNDECIDED, Unseen, conclude, unseen_json, word_of
from ..argument_parser import require_jobs
from ..exit_codes import BAD, FINE, UNUSABLE
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...evidence.dump.overflow import Scan
    from ...evidence.dump.records import Place
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import DumpScanArgs

_MOST = 6


def run(args: DumpScanArgs) -> int:
    """Look and print."""
    require_jobs(args.jobs)
    name = args.files[0]
    scans = _scan_ranks(name, args.step, args.rank, args.jobs)
    unseen = _unreadable_parts(scans)
    overflowed = any(one.found for one in scans)
    constant = any(one.constant is not None for one in scans)
    seen = sum(one.looked_at for one in scans)
    bad = "constant" if constant and not overflowed else "overflow"
    verdict = conclude("finite", bad, wrong=overflowed or constant, compared=seen, unseen=unseen)
    answer: dict[str, Any] = {"verdict": verdict, "not_compared": unseen_json(unseen, args.lang), "dump": name}
    answer["parts"] = [dump_scanned_json(one, args.lang) for one in scans]
    emit(json_text(answer) if args.format == "json" else page(_lines(answer, args.lang, everything=args.all)))
    if verdict == "finite":
        return FINE
    return UNUSABLE if not (overflowed or constant) and any(one.unreadable for one in scans) else BAD


def _scan_ranks(name: str, step: int | None, rank: int | None, jobs: int | None) -> list[Scan]:
    """The scan of each step and rank asked for, in `jobs` threads; UnreadableError where there is none."""
    from ...evidence.dump.overflow import scan
    from ...evidence.dump.records import find_places
    from ...evidence.dump.trees import read_tree

    places = [place for place in find_places(name) if step in (None, place.step) and rank in (None, place.rank)]
    if not places:
        raise UnreadableError(diagnose(told.no_dump(path=name, there=""), name))

    def look(place: Place) -> Scan:
        return scan(read_tree(place))

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(look, places))


def _unreadable_parts(scans: Sequence[Scan]) -> list[Unseen]:
    found: list[Unseen] = []
    for one in scans:
        place = f"step {one.tree.step} rank {one.tree.rank}"
        if one.unreadable:
            found.append(Unseen(place, *say.tensors_cannot_be_read(count=len(one.unreadable)).both()))
        if one.unknown:
            found.append(Unseen(place, *say.tensors_without_numbers(count=one.unknown).both()))
    return found


def _lines(answer: dict[str, Any], language: Language, *, everything: bool) -> Iterator[str]:
    words = {
        "finite": say.scan_finite().text(language),
        "overflow": say.scan_overflow().text(language),
        "constant": say.scan_constant().text(language),
        **{name: word_of(name, language) for name in (PARTIAL, UNDECIDED)},
    }
    word = say.page("dump_value", language)
    yield f"{words[answer['verdict']]}  {answer['dump']}"
    for entry in answer["not_compared"]:
        yield f"  {entry['what']}: {entry['reason']}"
    for part in answer["parts"]:
        found = part["found"]
        counts = {"count": part["looked_at"], "bad": len(found), "step": part["step"], "rank": part["rank"]}
        yield say.scan_part(**counts).text(language)
        if part["origin"] is not None:
            by_cause = {"weights": say.scan_origin_weights, "unknown": say.scan_origin_unknown}
            yield "  " + by_cause.get(part["cause"], say.scan_origin)(unit=part["origin"]).text(language)
        elif found:
            first = next((one for one in found if one["what"] == "nan"), found[0])  # an infinity may be a mask's
            yield "  " + say.scan_given(unit=first["unit"]).text(language)
        if part["constant"] is not None:
            yield "  " + say.scan_constant_origin(unit=part["constant"]).text(language)
        shown = found if everything else found[:_MOST]
        yield from (f"    {one['unit']} {one['tensor']}: {word(one['what'])}" for one in shown)
        if len(shown) < len(found):
            yield "    " + say.scan_more(count=len(found) - len(shown)).text(language)
        yield from (f"  {note}" for note in (*part["unreadable"], *part["notes"]))

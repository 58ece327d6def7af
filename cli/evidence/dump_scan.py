"""`accmap dump scan DUMP`: NaN, infinity and a constant output in one dump, and the first unit that makes one.

Exit code 0: all values in the dump are finite and vary; 1: some do not, or a part of the dump does not say; 2: the dump
cannot be used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...evidence.answers_compiled import dump_scanned_json
from ...evidence.dump.messages_compiled import say as told
from ...evidence.threads import map_in_threads
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import json_text
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.verdict import PARTIAL, UNDECIDED, Unseen, conclude, unseen_json, word_of
from ..argument_parser import require_jobs
from ..exit_codes import BAD, FINE, UNUSABLE
from ..messages_compiled import say
from ..pages.document import Document, Section, Verdict, bullets, note
from ..pages.formats import write_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.dump.overflow import Scan
    from ...evidence.dump.records import Place
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import DumpScanArgs
    from ..messages_compiled import DumpValueWords
    from ..pages.document import Part


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
    text = json_text(answer)
    if args.format != "json":
        to_file = args.output is not None
        text = write_document(
            lambda one: _document(answer, one), args.format, args.lang, everything=args.all, to_file=to_file
        )
    deliver(text, args.output, force=args.force)
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

    return map_in_threads(look, places, jobs or os.cpu_count())


def _unreadable_parts(scans: Sequence[Scan]) -> list[Unseen]:
    """For each step and rank, the tensors that could not be read or have no statistics."""
    found: list[Unseen] = []
    for one in scans:
        place = f"step {one.tree.step} rank {one.tree.rank}"
        if one.unreadable:
            found.append(Unseen(place, *say.tensors_cannot_be_read(count=len(one.unreadable)).both()))
        if one.unknown:
            found.append(Unseen(place, *say.tensors_without_numbers(count=one.unknown).both()))
    return found


def _document(answer: dict[str, Any], language: Language) -> Document:
    """The answer as parts: the verdict, then each step and rank."""
    words = {
        "finite": say.scan_finite().text(language),
        "overflow": say.scan_overflow().text(language),
        "constant": say.scan_constant().text(language),
        **{name: word_of(name, language) for name in (PARTIAL, UNDECIDED)},
    }
    verdict = answer["verdict"]
    facts = [f"{entry['what']}: {entry['reason']}" for entry in answer["not_compared"]]
    tone = "good" if verdict == "finite" else "bad" if verdict in ("overflow", "constant") else "open"
    word = say.page("dump_value", language)
    sections = [_section(part, word, language) for part in answer["parts"]]
    told = Verdict(f"{words[verdict]}  {answer['dump']}", tone, facts)
    return Document(f"accmap dump scan: {answer['dump']}", language, [told, *sections])


def _section(part: dict[str, Any], word: DumpValueWords, language: Language) -> Section:
    """A step and rank: the unit that makes the first bad value, and each tensor that has one."""
    found, lines = part["found"], list[str]()
    counts = {"count": part["looked_at"], "bad": len(found), "step": part["step"], "rank": part["rank"]}
    if part["origin"] is not None:
        by_cause = {"weights": say.scan_origin_weights, "unknown": say.scan_origin_unknown}
        lines.append(by_cause.get(part["cause"], say.scan_origin)(unit=part["origin"]).text(language))
    elif found:
        first = next((one for one in found if one["what"] == "nan"), found[0])  # an infinity may be a mask's
        lines.append(say.scan_given(unit=first["unit"]).text(language))
    if part["constant"] is not None:
        lines.append(say.scan_constant_origin(unit=part["constant"]).text(language))
    tensors = (f"{one['unit']} {one['tensor']}: {word(one['what'])}" for one in found)
    parts: list[Part] = [*map(note, lines), *bullets(tensors, is_long=True)]
    parts += map(note, (*part["unreadable"], *part["notes"]))
    return Section(say.scan_part(**counts).text(language), parts)

"""`accmap weights check A [B]`: two checkpoints, a checkpoint against a configuration, or an inference log's lists.

0 where everything agrees, 1 where a weight is missing, left over, of another shape, different or not finite, or where
a name on a log's list is a problem; 2 where something cannot be read. Progress goes to stderr.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from ...evidence.answers_compiled import not_loaded_json, weight_row_json
from ...evidence.weights.loading_lists import is_hugging_face
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import json_text, paint, say, tell
from ...schemas.verdict import PARTIAL, Unseen, conclude, unseen_json, word_of
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import load, read_input
from ..messages_compiled import say as usage
from ..pages.document import Cell, Document, Section, Table, Verdict, Words, bullets, code_cell
from ..pages.document import Row as TableRow
from ..pages.formats import write_document
from ..progress import report_progress
from ..terminal import in_bytes, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...evidence.weights.comparison import Check, Row, Statistics
    from ...evidence.weights.loading_lists import Explanation
    from ...mapper.weights import Beside
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import WeightsCheckArgs
    from ..pages.document import Part

_STYLES = {"equal": "green", "rounded": "yellow"}  # and red for all others


def run(args: WeightsCheckArgs) -> int:
    """Compare, and say what does not agree."""
    if not args.files and args.log is None:
        raise UsageError(usage.weights_check_needs_a_checkpoint())
    if not 0 <= args.tolerance < math.inf:
        raise UsageError(usage.tolerance_is_a_share_0())
    checkpoints, others = _sort_inputs(args.files, args.config, needed=args.log is None)
    if args.log is not None and checkpoints and (args.format != "text" or args.output is not None):
        raise UsageError(usage.format_json_gives_one_answer())
    configs = [load(name, args.reading, args.stdin_filename, model=True) for name in others]
    code = FINE
    if args.log is not None:
        code = _log(args, configs)
        if not checkpoints:
            return code
    return max(
        code,
        _checkpoints(
            checkpoints,
            configs,
            args.reading,
            args.tolerance,
            args.lang,
            args.format,
            everything=args.all,
            output=args.output,
            force=args.force,
        ),
    )


def _sort_inputs(files: Sequence[str], config: Sequence[str], *, needed: bool) -> tuple[list[str], list[str]]:
    """Checkpoints and configurations; stops at what looks like a checkpoint and is none."""
    from ...evidence.weights.model import checkpoint_at, checkpoint_or_stop

    checkpoints = [name for name in files if checkpoint_at(name) is not None]
    others = [name for name in (*files, *config) if name not in checkpoints]
    unclear = [name for name in others if os.path.isdir(name) or name.endswith((".ckpt", ".bin"))]
    if unclear or (files and needed and not checkpoints):
        checkpoint_or_stop((unclear or list(files))[0])
    return checkpoints, others


def _checkpoints(
    names: Sequence[str],
    configs: Sequence[Config],
    options: ReadOptions,
    tolerance: float,
    language: Language,
    form: str,
    *,
    everything: bool,
    output: str | None = None,
    force: bool = False,
) -> int:
    found, findings = _compare(names, configs, options, tolerance)
    for diagnostic in findings:
        tell(f"{diagnostic.file}: {diagnostic.kind.code} {diagnostic.message(language)}")
    if form == "json":
        deliver(json_text(_answer(found, findings, language)), output, force=force)
    elif form == "text" and output is None:
        _page(found, language, everything=everything)
    else:
        text = write_document(lambda one: weights_document(found, findings, one), form, language)
        deliver(text, output, force=force)
    return FINE if verdict_of(found, findings) == "equal" else BAD


def compared_weights(
    names: Sequence[str], files: Sequence[str], options: ReadOptions, stdin_name: str | None
) -> tuple[Check, Sequence[Diagnostic]]:
    """Two checkpoints compared by the configurations of their runs, and the findings about them."""
    return _compare(names, [load(name, options, stdin_name, model=True) for name in files], options, 0.0)


def _compare(
    names: Sequence[str], configs: Sequence[Config], options: ReadOptions, tolerance: float
) -> tuple[Check, list[Diagnostic]]:
    from ...evidence.weights.comparison import compare_checkpoints, compare_with_configuration
    from ...evidence.weights.opening import open_checkpoint
    from ...evidence.weights.target_files import MANIFEST, check_manifest

    manifests = [name for name in names if os.path.isfile(os.path.join(name, MANIFEST))]
    findings = [finding for name in manifests for finding in check_manifest(name)]
    opened = [open_checkpoint(name) for name in names]
    if len(opened) == 2:
        found = compare_checkpoints(
            opened[0], opened[1], configs, options, tolerance=tolerance, progress=report_progress
        )
    else:
        found = compare_with_configuration(opened[0], configs, options, report_progress)
    return found, [*findings, *found.findings]


def weights_document(found: Check, findings: Sequence[Diagnostic], language: Language) -> Document:
    """The weights that do not agree, the equal ones folded, and what was not compared."""
    word, status = usage.page("weights_check", language), usage.page("weight_status", language)
    report, verdict = usage.page("report", language), verdict_of(found, findings)
    unlike = [row for row in found.rows if row.status != "equal"]
    equal = [row for row in found.rows if row.status == "equal"]
    called: Callable[..., str] = status
    said = word_of(verdict, language) or called("equal" if verdict == "equal" else "different")
    tone = "good" if verdict == "equal" else "bad" if verdict == "different" else "open"
    told = [f"{one.file}: {one.kind.code} {one.message(language)}" for one in findings]
    parts: list[Part] = [Verdict(said, tone, _facts(found, language)), *bullets(told)]
    parts.append(Section(word("unlike"), _row_table(unlike, found, language), "rows", len(unlike)))
    parts.append(Section(report("equal", len(equal)), _row_table(equal, found, language), "equal", is_folded=True))
    unseen = [one.text(language) for one in _uncompared_parts(found)]
    if unseen:
        parts.append(Section(report("uncompared"), bullets(unseen), "uncompared", len(unseen)))
    return Document(f"accmap weights check: {found.a}", language, parts)


def _facts(found: Check, language: Language) -> list[str]:
    """The two sides, the number of weights of each status, and what was looked at beside them."""
    word: Callable[..., str] = usage.page("weights_check", language)
    called: Callable[..., str] = usage.page("weight_status", language)
    counts = Counter(row.status for row in found.rows)
    facts = [f"{letter} {path}" for letter, path in (("A", found.a), ("B", found.b)) if path]
    facts += [f"{count} {called(one)}" for one, count in counts.items()]
    facts += [
        word("beside", one.tensors, _of(what, language), in_bytes(one.size)) for what, one in found.beside.items()
    ]
    if found.copies:
        facts.append(word("copies", found.copies, len(found.findings)))
    told = (("rounded", counts["rounded"]), ("inferred", found.inferred))
    return [*facts, *(word(name) for name, is_so in told if is_so)]


def _row_table(rows: Sequence[Row], found: Check, language: Language) -> list[Table]:
    """Weights with both sides, as a table; nothing if there are no rows."""
    word, status = usage.page("weights_check", language), usage.page("weight_status", language)
    listed: list[TableRow] = []
    for row in rows:
        sides: list[Cell] = []
        for side in (row.a, row.b):
            numbers = "" if side is None or side.statistics is None else _numbers(side.statistics).strip()
            sides.append(
                Cell(Words("–")) if side is None else code_cell(f"{side.dtype or ''} {list(side.shape)}", numbers)
            )
        gap = ""
        if row.status in ("different", "rounded") and row.max_difference is not None and row.relative is not None:
            gap = word("difference", row.max_difference, row.relative)
        told = Cell(Words(status(row.status)), gap)
        tone = "" if row.status in _STYLES else "bad"
        listed.append(TableRow([code_cell(_title(row, found)), *sides, told], status(row.status), tone))
    return [Table((word("weight"), "A", "B", word("status")), listed)] if listed else []


def verdict_of(found: Check, findings: Sequence[Diagnostic]) -> str:
    """Verdict on a checkpoint: with nothing to compare it with, nothing is equal."""
    compared = 0 if found.kind == "alone" else len(found.rows)
    wrong = bool(found.bad or findings)
    return conclude("equal", "different", wrong=wrong, compared=compared, unseen=_uncompared_parts(found))


def _uncompared_parts(found: Check) -> list[Unseen]:
    if found.kind != "alone":
        return list(found.misfits)
    return [Unseen(found.a, *usage.nothing_to_compare_with().both())]


def _answer(found: Check, findings: Sequence[Diagnostic], language: Language) -> dict[str, Any]:
    return {
        "a": found.a,
        "b": found.b,
        "kind": found.kind,
        "inferred": found.inferred,
        "rows": [weight_row_json(row) for row in found.rows],
        "summary": dict(Counter(row.status for row in found.rows)),
        "copies": {"compared": found.copies, "different": len(found.findings)},
        "beside": {_of(what, language): amount.tensors for what, amount in found.beside.items()},
        "findings": [diagnostic.to_json(language) for diagnostic in findings],
        "verdict": verdict_of(found, findings),
        "not_compared": unseen_json(_uncompared_parts(found), language),
    }


def _page(found: Check, language: Language, *, everything: bool) -> None:
    word = usage.page("weights_check", language)
    called: Callable[..., str] = usage.page("weight_status", language)
    colour = wants_colour()
    say(f"A {paint(found.a, 'bold', colour)}")
    if found.b is not None:
        say(f"B {paint(found.b, 'bold', colour)}")
    foreign = _foreign(found)
    for row in found.rows:
        if not everything and (row.status == "equal" or (foreign and _is_foreign(row))):
            continue
        _print_row(row, _title(row, found), language, colour)
    counts = Counter(row.status for row in found.rows)
    say(", ".join(f"{count} {called(status)}" for status, count in counts.items()))
    for path, count in foreign.items():
        say(usage.hugging_face_names(path=path, count=count).text(language))
    if found.copies:
        say(word("copies", found.copies, len(found.findings)))
    for what, amount in found.beside.items():
        say(word("beside", amount.tensors, _of(what, language), in_bytes(amount.size)))
    if counts["rounded"]:
        say(word("rounded"))
    _print_configuration_notes(found, language)


def _print_configuration_notes(found: Check, language: Language) -> None:
    """Print where the checkpoints do not fit the configuration, and that the layout was inferred without one."""
    word = usage.page("weights_check", language)
    for one in found.misfits:
        say(f"{paint(word_of(PARTIAL, language) or '', 'yellow', wants_colour())}  {one.text(language)}")
    if found.inferred:
        say(word("inferred"))


def _of(what: Beside, language: Language) -> str:
    return what.zh if language == "zh" else what.en


def _is_foreign(row: Row) -> bool:
    return row.status == "unknown" and is_hugging_face(row.name)


def _is_of_transformers(path: str) -> bool:
    from ...evidence.weights.model import checkpoint_at

    held = checkpoint_at(path)
    return held is not None and held.framework == "huggingface"


def _foreign(found: Check) -> Mapping[str, int]:
    """Numbers of tensors that are named as transformers names them, by side; none for one of its model folders."""
    sides = {"A": found.a, "B": found.b}
    if any(path and _is_of_transformers(path) for path in sides.values()):
        return {}
    rows = [row for row in found.rows if _is_foreign(row)]
    counts = {path: sum(getattr(row, side.lower()) is not None for row in rows) for side, path in sides.items() if path}
    return {path: count for path, count in counts.items() if count}


def _title(row: Row, found: Check) -> str:
    """Name of a weight; against a configuration as that one's framework writes it."""
    side = (row.b or row.a) if found.kind == "configuration" else None
    return row.name if side is None else side.name


def _print_row(row: Row, title: str, language: Language, colour: bool) -> None:
    word = usage.page("weights_check", language)
    status = usage.page("weight_status", language)(row.status)
    say(f"{paint(status, _STYLES.get(row.status, 'red'), colour)}  {title}")
    for letter, side in (("A", row.a), ("B", row.b)):
        if side is None:
            continue
        named = "" if side.name == title else f"  {side.name}"
        shape = "" if row.status == "unknown" else f" {list(side.shape)}"
        numbers = side.statistics
        told = "" if numbers is None else _numbers(numbers)
        if numbers is not None and numbers.nans + numbers.infinities:
            told += f"  NaN {numbers.nans} inf {numbers.infinities}"
        say(f"    {letter}  {side.dtype or ''}{shape}{told}{named}  {paint(side.file, 'dim', colour)}")
    if row.status in ("different", "rounded") and row.max_difference is not None and row.relative is not None:
        say(f"    {word('difference', row.max_difference, row.relative)}")


def _numbers(found: Statistics) -> str:
    return f"  min {found.minimum:.4g} max {found.maximum:.4g} mean {found.mean:.4g} norm {found.norm:.6g}"


def _log(args: WeightsCheckArgs, configs: Sequence[Config]) -> int:
    """Explain the lists of an inference log."""
    from ...evidence.weights.loading_lists import explain, read_lists
    from ...mapper.recipe.reading import recipe_of

    name, form, language = str(args.log), args.format, args.lang
    entries = read_lists(read_input(name, args.stdin_filename))
    recipe = next((recipe_of(config) for config in configs), None)
    found = explain(entries, recipe)
    problems = [one for one in found if not one.harmless]
    if form == "json":
        answer = {
            "log": name,
            "entries": [not_loaded_json(one, language) for one in found],
            "summary": {"names": len(entries), "problems": sum(len(one.entries) for one in problems)},
            "verdict": "problems" if problems else "fine",
        }
        deliver(json_text(answer), args.output, force=args.force)
        return BAD if problems else FINE
    if form != "text" or args.output is not None:
        text = write_document(lambda one: _log_document(name, found, one), form, language)
        deliver(text, args.output, force=args.force)
        return BAD if problems else FINE
    _print_lists(name, found, language)
    return BAD if problems else FINE


def _print_lists(name: str, found: Sequence[Explanation], language: Language) -> None:
    word = usage.page("weights_check", language)
    colour = wants_colour()
    say(paint(name, "bold", colour))
    if not found:
        say(word("nothing"))
        say(word("still"))
    for one in sorted(found, key=lambda one: one.harmless):
        state, style = ("harmless", "green") if one.harmless else ("problem", "red")
        say(f"{paint(word(state), style, colour)}  {one.words.text(language)}")
        for entry in one.entries:
            where = f"{name}:{entry.line}"
            say(f"    {entry.name}  {word(entry.missing)}  {paint(where, 'dim', colour)}")


def _log_document(name: str, found: Sequence[Explanation], language: Language) -> Document:
    """The lists of a log: each explanation with the names that it is about, problems first."""
    word = usage.page("weights_check", language)
    parts: list[Part] = []
    for one in sorted(found, key=lambda one: one.harmless):
        rows = [
            TableRow([code_cell(entry.name), Cell(Words(word(entry.missing))), code_cell(f"{name}:{entry.line}")])
            for entry in one.entries
        ]
        state = word("harmless" if one.harmless else "problem")
        tone = "" if one.harmless else "bad"
        parts.append(Section(f"{state}: {one.words.text(language)}", [Table(("", "", ""), rows)], tone=tone))
    problems = sum(not one.harmless for one in found)
    said = f"{word('problem')}: {problems}" if found else word("nothing")
    facts = () if found else (word("still"),)
    verdict = Verdict(said, "bad" if problems else "good", facts)
    return Document(f"accmap weights check: {name}", language, [verdict, *parts])

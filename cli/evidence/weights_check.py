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
from ...schemas.border.text_output import json_text, tell
from ...schemas.shared_words import list_words
from ...schemas.verdict import Unseen, conclude, unseen_json, word_of
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import load, read_input
from ..messages_compiled import say as usage
from ..pages.document import MISSING, Cell, Document, Section, Table, Verdict, Words, bullets, code_cell
from ..pages.document import Row as TableRow
from ..pages.formats import write_document
from ..progress import report_progress
from ..terminal import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...evidence.weights.comparison import Check, Row, Statistics, WeightSide
    from ...evidence.weights.loading_lists import Explanation
    from ...mapper.weights import Beside
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import WeightsCheckArgs
    from ..pages.document import Part, Tone

_TONES: Mapping[str, Tone] = {"equal": "good", "rounded": "open"}
"""The tone of a weight's status; all others are bad."""


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
    """Compare the weights and print or write the result; 0 if all are equal."""
    found, findings = _compare(names, configs, options, tolerance)
    for diagnostic in findings:
        tell(f"{diagnostic.file}: {diagnostic.kind.code} {diagnostic.message(language)}")
    if form == "json":
        deliver(json_text(_answer(found, findings, language)), output, force=force)
    else:

        def build(one: Language) -> Document:
            return weights_document(found, findings, one)

        text = write_document(build, form, language, everything=everything, to_file=output is not None)
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
    """The comparison of two checkpoints, or of one with what a configuration expects, and the findings on them."""
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
    report, verdict = usage.page("report", language), verdict_of(found, findings)
    called: Callable[..., str] = usage.page("weight_status", language)
    said = word_of(verdict, language) or called("equal" if verdict == "equal" else "different")
    tone = "good" if verdict == "equal" else "bad" if verdict == "different" else "open"
    told = [f"{one.file}: {one.kind.code} {one.message(language)}" for one in findings]
    parts: list[Part] = [Verdict(said, tone, _facts(found, language)), *bullets(told), *_row_sections(found, language)]
    unseen = [one.text(language) for one in _uncompared_parts(found)]
    if unseen:
        parts.append(Section(report("uncompared"), bullets(unseen), "uncompared", len(unseen)))
    return Document(f"accmap weights check: {found.a}", language, parts)


def _row_sections(found: Check, language: Language) -> Iterator[Section]:
    """The weights that are not equal; those with names of another framework and the equal ones are folded."""
    foreign = _foreign(found)
    rows: dict[str, list[Row]] = {"rows": [], "foreign": [], "equal": []}
    for row in found.rows:
        rows["equal" if row.status == "equal" else "foreign" if foreign and _is_foreign(row) else "rows"].append(row)
    names = (usage.hugging_face_names(path=path, count=count).text(language) for path, count in foreign.items())
    titles = {
        "rows": usage.page("weights_check", language)("unlike"),
        "foreign": list_words(names, language, "sentence"),
        "equal": usage.page("report", language)("equal"),
    }
    for name, listed in rows.items():
        if listed:
            table = _row_table(listed, found, language)
            yield Section(titles[name], table, name, len(listed), is_folded=name != "rows")


def _facts(found: Check, language: Language) -> list[str]:
    """The two sides, the number of weights of each status, and what was looked at beside them."""
    word: Callable[..., str] = usage.page("weights_check", language)
    called: Callable[..., str] = usage.page("weight_status", language)
    counts = Counter(row.status for row in found.rows)
    facts = [f"{letter} {path}" for letter, path in (("A", found.a), ("B", found.b)) if path]
    facts.append(list_words((f"{count} {called(one)}" for one, count in counts.items()), language))
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
        title = _title(row, found)
        sides = [Cell(Words(MISSING)) if side is None else _side_cell(side, row, title) for side in (row.a, row.b)]
        gap = ""
        if row.status in ("different", "rounded") and row.max_difference is not None and row.relative is not None:
            gap = word("difference", row.max_difference, row.relative)
        told = Cell(Words(status(row.status), tone=_TONES.get(row.status, "bad")), gap)
        tone = "" if row.status in _TONES else "bad"
        listed.append(TableRow([code_cell(title), *sides, told], status(row.status), tone))
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
    """The comparison as JSON: rows, number of rows by status, findings, verdict, and what was not compared."""
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


def _of(what: Beside, language: Language) -> str:
    """The name of a kind of tensors in the language."""
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


def _side_cell(side: WeightSide, row: Row, title: str) -> Cell:
    """The type and shape of a weight on one side; its numbers, its own name and its file in small type."""
    shape = "" if row.status == "unknown" else f" {list(side.shape)}"
    told = [] if side.statistics is None else [_numbers(side.statistics)]
    told += [side.name] if side.name != title else []
    return code_cell(f"{side.dtype or ''}{shape}", "  ".join([*told, side.file]))


def _numbers(found: Statistics) -> str:
    text = f"min {found.minimum:.4g} max {found.maximum:.4g} mean {found.mean:.4g} norm {found.norm:.6g}"
    return text + (f"  NaN {found.nans} inf {found.infinities}" if found.nans + found.infinities else "")


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
    to_file = args.output is not None
    text = write_document(lambda one: _log_document(name, found, one), form, language, to_file=to_file)
    deliver(text, args.output, force=args.force)
    return BAD if problems else FINE


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

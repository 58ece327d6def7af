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
from ...schemas.border.text_output import emit, json_text, paint, say, tell
from ...schemas.verdict import PARTIAL, Unseen, conclude, unseen_json, word_of
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import load, read_input
from ..messages_compiled import say as usage
from ..progress import report_progress
from ..terminal import in_bytes, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...evidence.weights.comparison import Check, Row, Statistics
    from ...mapper.weights import Beside
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import WeightsCheckArgs

_STYLES = {"equal": "green", "rounded": "yellow"}  # and red for all others


def run(args: WeightsCheckArgs) -> int:
    """Compare, and say what does not agree."""
    if not args.files and args.log is None:
        raise UsageError(usage.weights_check_needs_a_checkpoint())
    if not 0 <= args.tolerance < math.inf:
        raise UsageError(usage.tolerance_is_a_share_0())
    checkpoints, others = _sort_inputs(args.files, args.config, needed=args.log is None)
    if args.log is not None and checkpoints and args.format == "json":
        raise UsageError(usage.format_json_gives_one_answer())
    configs = [load(name, args.reading, args.stdin_filename, model=True) for name in others]
    code = FINE
    if args.log is not None:
        code = _log(args.log, args.stdin_filename, configs, args.format, args.lang)
        if not checkpoints:
            return code
    return max(
        code,
        _checkpoints(checkpoints, configs, args.reading, args.tolerance, args.lang, args.format, everything=args.all),
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
) -> int:
    from ...evidence.weights.comparison import compare_checkpoints, compare_with_configuration
    from ...evidence.weights.opening import open_checkpoint
    from ...evidence.weights.target_files import MANIFEST, check_manifest

    findings: list[Diagnostic] = []
    for name in names:
        if os.path.isfile(os.path.join(name, MANIFEST)):
            findings.extend(check_manifest(name))
    for diagnostic in findings:
        tell(f"{diagnostic.file}: {diagnostic.kind.code} {diagnostic.message(language)}")
    opened = [open_checkpoint(name) for name in names]
    if len(opened) == 2:
        found = compare_checkpoints(
            opened[0], opened[1], configs, options, tolerance=tolerance, progress=report_progress
        )
    else:
        found = compare_with_configuration(opened[0], configs, options, report_progress)
    for diagnostic in found.findings:
        tell(f"{diagnostic.file}: {diagnostic.kind.code} {diagnostic.message(language)}")
    findings.extend(found.findings)
    if form == "json":
        emit(json_text(_answer(found, findings, language)))
    else:
        _page(found, language, everything=everything)
    return FINE if verdict_of(found, findings) == "equal" else BAD


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


def _log(name: str, stdin_name: str | None, configs: Sequence[Config], form: str, language: Language) -> int:
    """Explain the lists of an inference log."""
    from ...evidence.weights.loading_lists import explain, read_lists
    from ...mapper.recipe.reading import recipe_of

    entries = read_lists(read_input(name, stdin_name))
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
        emit(json_text(answer))
        return BAD if problems else FINE
    word = usage.page("weights_check", language)
    colour = wants_colour()
    say(paint(name, "bold", colour))
    if not entries:
        say(word("nothing"))
        say(word("still"))
    for one in sorted(found, key=lambda one: one.harmless):
        state, style = ("harmless", "green") if one.harmless else ("problem", "red")
        say(f"{paint(word(state), style, colour)}  {one.words.text(language)}")
        for entry in one.entries:
            where = f"{name}:{entry.line}"
            say(f"    {entry.name}  {word(entry.missing)}  {paint(where, 'dim', colour)}")
    return BAD if problems else FINE

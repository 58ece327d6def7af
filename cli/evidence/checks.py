"""`accmap check npy|answers|scores|tokenizers A B`: compared with the benchmark, which is B.

Exit code 0 if all agree, 1 if one does not or one side lacks it, 2 if a file is not what it should be. Scores may be
off by 0.4%. A launch script or YAML stands for the tokenizer that it names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from ...evidence.answers_compiled import check_scores_json, check_tokenizers_json, tokenizer_json
from ...evidence.data.names_compiled import PROBES
from ...evidence.data.tokenizer import is_tokenizer, named_tokenizer
from ...evidence.data.tokenizer_comparison import compare, first_difference, open_tokenizer
from ...evidence.scores import ALONE, TOLERANCE, check_scores, read_scores, setting_differences
from ...schemas.border.file_input import read_text
from ...schemas.border.file_output import write_text
from ...schemas.border.text_output import emit, json_text, page, paint
from ...schemas.shared_words import list_words, mark
from ...schemas.verdict import PARTIAL, UNDECIDED, Unseen, conclude, unseen_json, word_of
from ..argument_parser import UsageError
from ..command_runner import print_unreadable
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import load
from ..messages_compiled import say
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...evidence.array_check import ArrayCheck, FilesCheck
    from ...evidence.data.tokenizer_comparison import Row, TokenizerFiles, TokenizerPair
    from ...evidence.model_answers import AnswerCheck, AnswerRow
    from ...evidence.scores import ScoreCheck, Settings
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import CheckAnswersArgs, CheckNpyArgs, CheckScoresArgs, CheckTokenizersArgs

_NPY_STYLES = {"equal": "green", "close": "green", "different": "red", "undecided": "yellow"}


def run_npy(args: CheckNpyArgs) -> int:
    """Compare two arrays or two folders of them and print the result; 0 if they agree."""
    from ...evidence.answers_compiled import check_npy_json
    from ...evidence.array_check import Rules, check_files, verdict_of

    if args.tolerance is not None and not 0 <= args.tolerance < 1:
        raise UsageError(say.tolerance_is_a_relative_distance(tolerance=args.tolerance))
    a, b = args.files
    if os.path.isdir(a) != os.path.isdir(b):
        raise UsageError(say.check_npy_takes_two_files())
    found = check_files(a, b, Rules(args.tolerance, args.precision, args.any_dtype, args.equal_nan, args.guide))
    for error in found.unreadable:
        print_unreadable(error, args.lang)
    verdict, unseen = verdict_of(found)
    apart = unseen_json(unseen, args.lang)
    if args.format == "json":
        emit(json_text(check_npy_json(found, args.lang, verdict=verdict, files=[a, b], not_compared=apart)))
    else:
        emit(_npy_page(found, verdict, apart, args.lang))
    return UNUSABLE if found.unreadable else BAD if verdict in ("different", PARTIAL, UNDECIDED) else FINE


def _npy_page(found: FilesCheck, verdict: str, apart: Sequence[dict[str, str]], language: Language) -> Outgoing:
    """The result of comparing arrays as lines for a terminal: the verdict of each pair of files, details, a summary."""
    colour = wants_colour()
    word, told = say.page("check_npy", language), say.page("npy_verdict", language)
    lines: list[str] = []
    for check in found.checks:
        lines.append(f"{paint(told(check.verdict), _NPY_STYLES[check.verdict], colour)}  {check.name}")
        if check.verdict in ("different", "undecided") or len(found.checks) == 1:
            lines += [f"  {line}" for line in _detail_lines(check, language)]
    for heading, names in ((word("only_a"), found.only_a), (word("only_b"), found.only_b)):
        if names:
            lines.append(f"{heading}: {', '.join(names)}")
    if len(found.checks) > 1:
        different = sum(check.verdict == "different" for check in found.checks)
        lines.append(word("summary", len(found.checks), different))
    if len(found.checks) > 1 and (known := word_of(verdict, language)):
        lines.append(known)
        lines += [f"  {entry['what']}: {entry['reason']}" for entry in apart]
    return page(lines)


def _detail_lines(check: ArrayCheck, language: Language) -> list[str]:
    """Lines on one pair of arrays: reasons, types and shapes, measured differences, first differing element."""
    word, reason = say.page("check_npy", language), say.page("npy_reason", language)
    why = map(reason, cast("Any", check.reasons))
    lines = [list_words(why, language, "semicolon")] if check.reasons else []
    for side, dtype, shape in (("A", check.dtype_a, check.shape_a), ("B", check.dtype_b, check.shape_b)):
        lines.append(f"{side}  {dtype} {list(shape)}{_statistics_line(check, side)}")
    measured, guide = check.measured, check.guide
    if measured is None:
        return lines
    lines.append(
        f"‖a-b‖/‖·‖ {measured.relative:.3g} (≤ {check.tolerance:g}, {check.precision}), cosine "
        + ("-" if measured.cosine is None else f"{measured.cosine:.8f}")
    )
    lines.append(
        f"{word('max_abs')} {measured.max_abs:.6g} @ {list(measured.max_abs_at)}, "
        f"{word('max_rel')} {measured.max_rel:.3g}, "
        f"<0.001: {measured.within_thousandth:.2%}, <0.005: {measured.within_five_thousandths:.2%}"
    )
    if check.first is not None and check.first_values is not None:
        one, other = check.first_values
        lines.append(f"{word('first')}: {list(check.first)}  {one:.8g} | {other:.8g}")
    if guide is not None:
        failing = guide.failures
        told = word("fails", list_words(list(map(word, cast("Any", failing))), language)) if failing else word("passes")
        numbers = f"|a|/|b|-1 {_number_text(guide.magnitude)}, KL {_number_text(guide.divergence)}"
        lines.append(word("guide", told, numbers))
    return lines


def _statistics_line(check: ArrayCheck, side: str) -> str:
    measured = check.measured
    if measured is None:
        return ""
    one = measured.a if side == "A" else measured.b
    text = f"  max {one.largest:.6g}, min {one.smallest:.6g}, mean {one.mean:.6g}, norm {one.norm:.6g}"
    return text + (f", NaN {one.nan}" if one.nan else "") + (f", inf {one.infinite}" if one.infinite else "")


def _number_text(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def run_scores(args: CheckScoresArgs) -> int:
    """Compare the scores of two evaluations and print the result; 0 if the difference is within the tolerance."""
    allowed = TOLERANCE if args.tolerance is None else args.tolerance
    if not 0 <= allowed <= 100:
        raise UsageError(say.tolerance_is_a_percentage_not(allowed=allowed))
    (scores, ours), (benchmark, theirs) = (read_scores(name, args.metric) for name in args.files)
    reports = (ours, theirs)
    found = check_scores(
        scores,
        benchmark,
        tolerance=allowed,
        absolute=args.absolute,
        at_least=args.at_least,
        reports=reports,
        names=(args.files[0], args.files[1]),
    )
    unseen = [Unseen(name, *say.no_benchmark().both()) for name in found.only_scores]
    unseen += _setting_differences(found, reports)
    wrong = not found.passes or bool(found.only_benchmark)
    verdict = conclude("pass", "fail", wrong=wrong, compared=len(found.rows), unseen=unseen)
    if args.format == "json":
        left = unseen_json(unseen, args.lang)
        emit(json_text(check_scores_json(found, args.lang, verdict=verdict, files=[*args.files], not_compared=left)))
    else:
        emit(_scores_page(found, verdict, unseen, args.lang))
    return FINE if verdict == "pass" else BAD


def _setting_differences(found: ScoreCheck, reports: Sequence[Settings]) -> Iterator[Unseen]:
    """The compared tasks that the two reports evaluated with different settings, with both settings."""
    tasks = {ALONE, *(row.name.partition("/")[0] for row in found.rows)}
    for one in (*setting_differences(*reports), *found.other_metrics):
        if one.task.partition("/")[0] in tasks:
            values = f"{one.scores} | {one.benchmark}"
            en, zh = (
                f"{say.page('score_setting', language)(cast('Any', one.what))} {values}" for language in ("en", "zh")
            )
            yield Unseen(one.task, en, zh)


def _scores_page(found: ScoreCheck, verdict: str, unseen: Sequence[Unseen], language: Language) -> Outgoing:
    """The comparison of evaluation scores as lines: verdict, a row a task, tasks without a counterpart, notes."""
    word = say.page("check_scores", language)
    colour = wants_colour()
    limit = word("points", found.tolerance) if found.absolute else f"{found.tolerance:g}%"
    said = word("fails" if verdict == "fail" else "passes", limit)
    short = word_of(verdict, language)
    if short is not None:
        said = short + mark("colon", language) + said
    lines = [paint(said, {"pass": "green", "fail": "red"}.get(verdict, "yellow"), colour)]
    lines += _row_lines(found, language, colour=colour)
    otherwise = [one.text(language) for one in unseen if one.what not in found.only_scores]
    told = (
        (word("otherwise"), otherwise),
        (word("only_scores"), found.only_scores),
        (word("only_benchmark"), found.only_benchmark),
    )
    for heading, names in told:
        if names:
            lines.append(f"  {heading}: {', '.join(names)}")
    lines += [f"  {note.text(language)}" for note in found.notes]
    return page(lines)


def _row_lines(found: ScoreCheck, language: Language, *, colour: bool) -> Iterator[str]:
    """A line for each compared task with both scores and the difference, and a mean if there are several."""
    rows = [*found.rows, found.mean] if len(found.rows) > 1 else list(found.rows)
    broad = max(len(row.name) for row in rows)
    for row in rows:
        mark = paint("✓", "green", colour) if row.passes else paint("✗", "red", colour)
        name = say.page("check_scores", language)("mean") if row is found.mean else row.name
        unit = "" if found.absolute else "%"
        yield f"  {mark} {name:<{broad}}  {row.score:g}  {row.benchmark:g}  {row.error:+.3f}{unit}"


_SHOWN_ANSWERS = 10
_BEFORE, _AFTER = 40, 80
"""Characters of an answer that are shown before and behind the first that differs."""


def run_answers(args: CheckAnswersArgs) -> int:
    """Compare and print, and write the questions that differ."""
    from ...evidence.answers_compiled import check_answers_json
    from ...evidence.model_answers import AnswerFile, check_answers, columns_of, differing_lines

    shown = _SHOWN_ANSWERS if args.show is None else args.show
    if shown < 0:
        raise UsageError(say.show_is_a_count(shown=shown))
    a, b = map(AnswerFile, args.files)
    columns = columns_of(a, args.question, args.answer), columns_of(b, args.question, args.answer)
    encode = None if args.tokenizer is None else _encoder(args.tokenizer)
    found = check_answers(a, b, columns, encode=encode, most=shown if args.differing is None else None)
    if args.differing is not None:
        write_text(args.differing, differing_lines(found.rows), force=args.force)
        found = found._replace(rows=found.rows[:shown])
    if args.format == "json":
        emit(json_text(check_answers_json(found, args.lang, files=[*args.files])))
    else:
        emit(page(_answer_lines(found, args.lang)))
    return FINE if found.verdict == "same" else BAD


def _encoder(path: str) -> Callable[[str], list[int]]:
    """A function from text to token ids; UsageError if the tokenizer's package is not installed."""
    tokenizer = open_tokenizer(path)
    if tokenizer.encode is None:
        raise UsageError(say.tokenizer_needs_package(package=tokenizer.package, path=path))
    return tokenizer.encode


def _answer_lines(found: AnswerCheck, language: Language) -> Iterator[str]:
    """The comparison of two models' answers as lines: verdict, columns used, notes, and the differing answers."""
    word, colour = say.page("check_answers", language), wants_colour()
    alike = found.equal + found.alike
    told = {
        "same": lambda: word("same", found.compared),
        "different": lambda: word("different", found.different, found.compared),
        UNDECIDED: lambda: word("nothing"),
    }.get(found.verdict, lambda: word("seen", alike, found.compared))()
    short = word_of(found.verdict, language)
    tone = {"same": "green", "different": "red"}.get(found.verdict, "yellow")
    yield paint(told if short is None else short + mark("colon", language) + told, tone, colour)
    if found.alike:
        yield f"  {word('alike', found.alike)}"
    questions = [one.question or word("order") for one in found.columns]
    yield f"  {word('columns', *questions, *(one.answer for one in found.columns))}"
    if (judged := found.judgement) is not None:
        names = judged.a_column if judged.a_column == judged.b_column else f"{judged.a_column} | {judged.b_column}"
        yield f"  {word('judged', names, judged.a, judged.b, judged.otherwise)}"
    if found.median_token is not None:
        yield f"  {word('median', word(cast('Any', found.unit), int(found.median_token)), found.at_once)}"
    yield from (f"  {one.text(language)}" for one in (*found.unseen, *found.notes))
    for row in found.rows:
        yield from _answer_row_lines(row, found.unit, language, colour=colour)
    if (more := found.different - len(found.rows)) > 0:
        yield f"  {word('more', more, found.different)}"


def _answer_row_lines(row: AnswerRow, unit: str, language: Language, *, colour: bool) -> Iterator[str]:
    """A question, and both answers around the first character that differs."""
    word, at = say.page("check_answers", language), row.character - 1
    yield f"  {paint('✗', 'red', colour)} {_one_line(row.question, 0)}"
    yield f"      {word('parts', word(cast('Any', unit), row.token), row.character)}"
    yield f"      A  {_one_line(row.a, at)}"
    yield f"      B  {_one_line(row.b, at)}"


def _one_line(text: str, at: int) -> str:
    """The part of a text around a character, with its line ends as signs."""
    start, end = max(0, at - _BEFORE), at + _AFTER
    part = text[start:end].replace("\n", "⏎")
    return ("…" if start else "") + part + ("…" if end < len(text) else "")


_WIDEST = 100
_SHOWN = 12


def run_tokenizers(args: CheckTokenizersArgs) -> int:
    """Compare two tokenizers and print the result; 0 if they give the same ids."""
    names = [
        name if is_tokenizer(name) else named_tokenizer(load(name, args.reading, args.stdin_filename))
        for name in args.files
    ]
    a, b = (open_tokenizer(name) for name in names)
    texts = PROBES if args.text is None else [line for line in read_text(args.text).text.splitlines() if line]
    found = compare(a, b, texts)
    if args.format == "json":
        emit(json_text(check_tokenizers_json(found, args.lang, tokenizers=list(map(tokenizer_json, (a, b))))))
    else:
        emit(_tokenizers_page(found, (a, b), args.lang))
    return FINE if found.verdict == "same" else BAD


def _tokenizers_page(found: TokenizerPair, sides: Sequence[TokenizerFiles], language: Language) -> Outgoing:
    """The comparison of two tokenizers as lines: verdict, file and vocabulary size of each, compared properties."""
    colour = wants_colour()
    tone = {"same": "green", "different": "red"}.get(found.verdict, "yellow")
    lines = [paint(_tokenizers_verdict(found.verdict, language), tone, colour)]
    for letter, side in zip("AB", sides, strict=True):
        lines.append(f"  {letter}  {side.file} ({side.kind}, {len(side.pieces):,})")
    for row in found.rows:
        lines += _tokenizer_row(row, colour)
    lines += [f"  - {one.text(language)}" for one in found.unseen]
    return page(lines)


def _tokenizers_verdict(verdict: str, language: Language) -> str:
    """The verdict for a person."""
    said = say.tokenizers_are_same() if verdict == "same" else say.tokenizers_are_different()
    return word_of(verdict, language) or said.text(language)


def _tokenizer_row(row: Row, colour: bool) -> list[str]:
    """One compared property of two tokenizers with a mark; if it differs, also the value of each side."""
    mark = paint("✓", "green", colour) if row.same else paint("✗", "red", colour)
    lines = [f"  {mark} {row.what}"]
    if not row.same:
        lines += [
            f"      {letter}  {_short_text(value)}" for letter, value in zip("AB", _parts(row.a, row.b), strict=True)
        ]
    return lines


def _parts(a: object, b: object) -> tuple[object, object]:
    """Two lists of ids cut to begin at the first difference; other values unchanged."""
    if not (isinstance(a, list) and isinstance(b, list)):
        return a, b  # pyright: ignore[reportUnknownVariableType]
    ones: list[int] = a  # pyright: ignore[reportUnknownVariableType]
    twos: list[int] = b  # pyright: ignore[reportUnknownVariableType]
    at = first_difference(ones, twos)
    return f"[{at}] {ones[at : at + _SHOWN]}", f"[{at}] {twos[at : at + _SHOWN]}"


def _short_text(value: object) -> str:
    said = str(value)
    return said if len(said) <= _WIDEST else said[:_WIDEST] + "…"

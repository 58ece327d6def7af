"""`accmap check npy A.npy B.npy`: two arrays, or two folders of arrays, compared; B is the benchmark.

0 where all agree, 1 where one does not or a folder lacks one, 2 where a file is no array.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from ...schemas.border.text_output import emit, json_text, page, paint
from ...schemas.shared_words import list_words
from ...schemas.verdict import PARTIAL, UNDECIDED, unseen_json, word_of
from ..argument_parser import UsageError
from ..command_runner import print_unreadable
from ..exit_codes import BAD, FINE, UNUSABLE
from ..messages_compiled import say
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.array_check import ArrayCheck, FilesCheck
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import CheckNpyArgs

_STYLES = {"equal": "green", "close": "green", "different": "red", "undecided": "yellow"}


def run(args: CheckNpyArgs) -> int:
    """Compare and print."""
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
        emit(_page(found, verdict, apart, args.lang))
    return UNUSABLE if found.unreadable else BAD if verdict in ("different", PARTIAL, UNDECIDED) else FINE


def _page(found: FilesCheck, verdict: str, apart: Sequence[dict[str, str]], language: Language) -> Outgoing:
    colour = wants_colour()
    word, told = say.page("check_npy", language), say.page("npy_verdict", language)
    lines: list[str] = []
    for check in found.checks:
        lines.append(f"{paint(told(check.verdict), _STYLES[check.verdict], colour)}  {check.name}")
        if check.verdict in ("different", "undecided") or len(found.checks) == 1:
            lines += [f"  {line}" for line in _details(check, language)]
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


def _details(check: ArrayCheck, language: Language) -> list[str]:
    word, reason = say.page("check_npy", language), say.page("npy_reason", language)
    why = map(reason, cast("Any", check.reasons))
    lines = [list_words(why, language, "semicolon")] if check.reasons else []
    for side, dtype, shape in (("A", check.dtype_a, check.shape_a), ("B", check.dtype_b, check.shape_b)):
        lines.append(f"{side}  {dtype} {list(shape)}{_statistics(check, side)}")
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
        numbers = f"|a|/|b|-1 {_number(guide.magnitude)}, KL {_number(guide.divergence)}"
        lines.append(word("guide", told, numbers))
    return lines


def _statistics(check: ArrayCheck, side: str) -> str:
    measured = check.measured
    if measured is None:
        return ""
    one = measured.a if side == "A" else measured.b
    text = f"  max {one.largest:.6g}, min {one.smallest:.6g}, mean {one.mean:.6g}, norm {one.norm:.6g}"
    return text + (f", NaN {one.nan}" if one.nan else "") + (f", inf {one.infinite}" if one.infinite else "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"

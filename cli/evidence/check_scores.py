"""`accmap check scores SCORES BENCHMARK`: evaluation scores against the benchmark's, each task and the mean.

0 where every one is within the tolerance (0.4%), 1 where one is not or a task of the benchmark is missing, 2 where a
file holds no scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...evidence.answers_compiled import check_scores_json
from ...evidence.scores import TOLERANCE, check_scores, read_scores, setting_differences
from ...schemas.border.text_output import emit, json_text, page, paint
from ...schemas.shared_words import mark
from ...schemas.verdict import Unseen, conclude, unseen_json, word_of
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..messages_compiled import say
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...evidence.scores import ScoreCheck, Settings
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import CheckScoresArgs


def run(args: CheckScoresArgs) -> int:
    """Compare and print."""
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
        emit(_page(found, verdict, unseen, args.lang))
    return FINE if verdict == "pass" else BAD


def _setting_differences(found: ScoreCheck, reports: Sequence[Settings]) -> Iterator[Unseen]:
    """The tasks among those compared of which the two reports say that they were not evaluated alike."""
    tasks = {row.name.partition("/")[0] for row in found.rows}
    for one in (*setting_differences(*reports), *found.other_metrics):
        if one.task in tasks:
            values = f"{one.scores} | {one.benchmark}"
            en, zh = (
                f"{say.page('score_setting', language)(cast('Any', one.what))} {values}" for language in ("en", "zh")
            )
            yield Unseen(one.task, en, zh)


def _page(found: ScoreCheck, verdict: str, unseen: Sequence[Unseen], language: Language) -> Outgoing:
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
    """Each task, and the mean where there are several."""
    rows = [*found.rows, found.mean] if len(found.rows) > 1 else list(found.rows)
    broad = max(len(row.name) for row in rows)
    for row in rows:
        mark = paint("✓", "green", colour) if row.passes else paint("✗", "red", colour)
        name = say.page("check_scores", language)("mean") if row is found.mean else row.name
        unit = "" if found.absolute else "%"
        yield f"  {mark} {name:<{broad}}  {row.score:g}  {row.benchmark:g}  {row.error:+.3f}{unit}"

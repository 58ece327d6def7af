"""`accmap lint -j N`: pairs are read and checked in several processes, then put together in order."""

from __future__ import annotations

import os
from itertools import chain

from ...schemas.border.inputs import Inputs, add_notes, exchange_inputs, exists, is_noting, noted_inputs, remember_input
from ...schemas.diagnostic import deduplicate
from ...schemas.fast_records import TYPE_CHECKING
from ..argument_parser import UsageError
from ..messages_compiled import say
from ..progress import report_progress
from .file_groups import Gathering
from .linter import lint
from .settings import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

    from ...schemas.diagnostic import Language
    from .linter import Report
    from .settings import Settings

    Given: TypeAlias = tuple[Settings, bool, bool, Language | None]
    """The settings for each share, and the parts that its answers contain."""
    Answer: TypeAlias = tuple[Report, Mapping[str, bytes] | None, tuple[str, ...]]
    """A report, notes on what was read, and the names of the files."""


def spread(
    files: Sequence[str],
    settings: Settings,
    jobs: int,
    *,
    with_subjects: bool,
    ahead: Language | None = None,
) -> Report | None:
    """The lint report from several processes; None if there are too few groups of files to be worth it.

    What the processes read counts as read here. Where JSON of the findings alone is wanted, each process writes its
    own `ahead`, in that language, and keeps the texts of its files to itself.
    """
    groups = named_groups(files, settings)
    if len(groups) < 2 or "-" in files:
        return None
    given = (settings, with_subjects, is_noting(), ahead)
    # The first group is read here: what that loads, the processes that are split off have.
    answers = _some(*given, groups[:1])
    for some in _in_processes(given, list(shares(groups[1:], jobs)), jobs, len(groups)):
        answers += some
    for _, noted, names in answers:
        add_notes(noted)
        for name in names:
            remember_input(name)
    return _join_reports([report for report, _, _ in answers])


def named_groups(files: Sequence[str], settings: Settings) -> list[tuple[str, ...]]:
    """The files in groups to be linted together: configured pairs, one pair of the rest, or each alone."""
    configuration = settings.configuration
    absolute = {name: os.path.abspath(name) for name in reversed(files)}
    given = {place: name for name, place in absolute.items()}
    taken: set[str] = set()
    groups: list[tuple[str, ...]] = []
    rest: list[str] = []
    for name in dict.fromkeys(files):
        if absolute[name] in taken:
            continue
        partner = configuration.partner(name)
        if partner is None:
            rest.append(name)
            continue
        taken.add(absolute[name])
        place = os.path.abspath(partner)
        if place in given and exists(partner):
            taken.add(place)
            groups.append((name, given[place]))
        else:
            groups.append((name,))  # a partner that was not named is read with it, and not checked alone
    if Gathering(rest, settings, Reader(encoding=settings.options.encoding)).is_one_pair(rest):
        return [*groups, tuple(rest)]
    return [*groups, *((name,) for name in rest)]


_MOST_AT_ONCE = 64


def shares(groups: Sequence[tuple[str, ...]], jobs: int) -> Iterator[Sequence[tuple[str, ...]]]:
    """The groups as processes take them: many at first, in the end so few that none waits long for another's."""
    at = 0
    while at < len(groups):
        few = max(1, min(_MOST_AT_ONCE, (len(groups) - at) // (jobs * 3)))
        yield groups[at : at + few]
        at += few


def _in_processes(
    given: Given, waiting: Sequence[Sequence[tuple[str, ...]]], jobs: int, total: int
) -> list[list[Answer]]:
    """The answers to each share, in order; a process takes the next share when it has answered.

    A pool waits for ever for a process that the system has ended, or for a thread that memory was too short for.
    """
    from multiprocessing import get_context
    from multiprocessing.connection import wait

    found: dict[int, list[Answer]] = {}
    running: dict[Any, Any] = {}
    left = iter(enumerate(waiting))
    context, done = get_context(), 1
    try:
        for _ in range(min(jobs, len(waiting))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, given), daemon=True)
            process.start()
            theirs.close()
            running[ours] = process
            _send(ours, next(left), jobs)
        while running:
            answered: list[Any] = wait(list(running))
            for ready in answered:
                number, answers = _receive(ready, jobs)
                found[number] = answers
                done += len(answers)
                report_progress(done, total, waiting[number][-1][0])
                following = next(left, None)
                _send(ready, following, jobs)
                if following is None:
                    running.pop(ready).join()
    finally:
        for process in running.values():
            process.terminate()
            process.join()
    return [found[number] for number in range(len(waiting))]


def _send(connection: Any, share: tuple[int, Sequence[tuple[str, ...]]] | None, jobs: int) -> None:
    """Hand a process its next share, or None if there is none; UsageError if the system has ended it."""
    try:
        connection.send(share)
    except OSError:
        raise UsageError(say.lint_worker_lost(jobs=jobs)) from None


def _receive(connection: Any, jobs: int) -> tuple[int, list[Answer]]:
    """The answer of a process; its error is raised here, with the place in that process as its cause."""
    try:
        answer = connection.recv()
    except (EOFError, OSError):
        raise UsageError(say.lint_worker_lost(jobs=jobs)) from None
    if isinstance(answer[0], BaseException):
        raise answer[0] from RuntimeError(answer[1])
    return answer


def _serve(connection: Any, given: Given) -> None:
    """Lint one share after the other in a process of its own, until there is none or nobody asks."""
    _begin()
    try:
        while (share := connection.recv()) is not None:
            connection.send(_answer(given, *share))
    except (EOFError, OSError):
        return


def _answer(
    given: Given, number: int, groups: Sequence[tuple[str, ...]]
) -> tuple[int, list[Answer]] | tuple[Exception, str]:
    """The number of a share with its answers, or an error with its place."""
    try:
        return number, _some(*given, groups)
    except Exception as error:  # noqa: BLE001 - raised by whoever asked
        from traceback import format_exc

        return error.with_traceback(None), format_exc()


def _begin() -> None:
    """Freeze the objects of the parent process, so that garbage collection in a child does not scan them."""
    import gc

    gc.freeze()


def _some(
    settings: Settings,
    with_subjects: bool,
    noted: bool,
    as_json: Language | None,
    groups: Sequence[tuple[str, ...]],
) -> list[Answer]:
    """Lint some groups in a child process; a report for each, with notes on the inputs that were read."""
    outer = exchange_inputs(Inputs(noted=noted))
    reports = [
        lint(settings, group, Reader(encoding=settings.options.encoding), with_subjects=with_subjects)
        for group in groups
    ]
    names = [tuple(report.sources) for report in reports]
    if as_json is not None:
        from ..lint_formats.json import with_json

        reports = [with_json(report, as_json)._replace(sources={}) for report in reports]
    notes = [noted_inputs(), *(None for _ in groups[1:])]
    exchange_inputs(outer)
    return list(zip(reports, notes, names, strict=True))


def _join_reports(reports: Sequence[Report]) -> Report:
    """One report from those of several processes, each finding once."""

    def every(name: str) -> Iterator[Any]:
        return chain.from_iterable(getattr(report, name) for report in reports)

    found = list(every("diagnostics"))
    kept, texts = deduplicate(found), tuple(every("written"))
    if texts and len(kept) < len(found):
        there = zip(found, texts, strict=True)  # in the same order, so that each is looked for behind the last
        texts = tuple([next(text for entry, text in there if entry is one) for one in kept])
    return reports[0]._replace(
        diagnostics=tuple(kept),
        written=texts,
        suppressed=sum([report.suppressed for report in reports]),
        files=tuple(dict.fromkeys(every("files"))),
        pairs=tuple(dict.fromkeys(every("pairs"))),
        sources={name: source for report in reports for name, source in report.sources.items()},
        subjects=tuple(every("subjects")),
        unreadable=tuple(deduplicate(list(every("unreadable")))),
        crashed=any(report.crashed for report in reports),
        versions=tuple(dict(every("versions")).items()),
    )

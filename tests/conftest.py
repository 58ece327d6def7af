"""Which tests run: all that the markers select; with `--quick` those near a change and a fixed share of the others.

`--journal FILE` leaves out the tests that have passed on the same tree and adds those that pass, so that a long run
goes on where it was interrupted.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

sys.path.insert(0, str(Path(__file__).parent))
from selection import Journal, Selection, beyond_their_share, changed_files, near, selected
from selection import tree_digest as digest_of_the_tree

sys.path.pop(0)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FEWER_EXAMPLES = 5
_FEWEST = 3
_HERE = Path(__file__).parent
_MARKS = re.compile(r"^pytestmark = (\[[^]]*\]|.*)", re.MULTILINE)
"""A module every test of which is marked: if none of them runs, it need not even be imported."""
NOT_QUICK = ("slow", "long", "fuzz", "browser")

# Examples are the same every time; a nightly run with ACCMAP_SEED draws others. No example has a deadline: a busy
# machine is not a failure.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("chance", deadline=None)
settings.load_profile("chance" if os.environ.get("ACCMAP_SEED") else "same")
if not os.environ.get("ACCMAP_SEED"):
    # Hypothesis parses every local module that is loaded, and draws constants of their code. Which modules are loaded
    # depends on the tests before: without them the examples are the same, and each worker saves up to 8 s.
    providers._get_local_constants = lambda: providers._local_constants

_journal = pytest.StashKey[Journal]()
_changed = pytest.StashKey[frozenset[str]]()
_selection = pytest.StashKey[Selection]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="the tests near a change, and a fixed share of the others")
    parser.addoption("--journal", type=Path, help="leave out the tests that this file lists as passed; add to it")


def pytest_configure(config: pytest.Config) -> None:
    if not (_HERE.parent / "mappings" / "tables_compiled.py").exists():
        raise pytest.UsageError("this checkout is not built: run `python -m generate`, or `pip install -e .`")
    path: Path | None = config.getoption("--journal")
    if path is not None:
        config.stash[_journal] = Journal(path, digest_of_the_tree())
    if config.getoption("--quick"):
        config.stash[_changed] = changed_files()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text("utf-8")
    expression: str = config.getoption("markexpr")
    left_out = set() if " or " in expression else set(re.findall(r"not (\w+)", expression))
    if _changed in config.stash:
        left_out.update(NOT_QUICK)
    marks = _MARKS.search(text)
    if marks is not None and not left_out.isdisjoint(re.findall(r"mark\.(\w+)", marks[1])):
        return True
    if _changed not in config.stash:
        return None
    name = collection_path.relative_to(_HERE.parent).as_posix()
    return True if near(name, text, config.stash[_changed]) is None else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _journal in config.stash:
        _leave_out(config, items, lambda item: item.nodeid in config.stash[_journal].passed)
    if _changed not in config.stash:
        return
    _leave_out(config, items, lambda item: any(item.get_closest_marker(mark) for mark in NOT_QUICK))
    shares = {item.nodeid: mark.args[0] for item in items if (mark := item.get_closest_marker("table")) is not None}
    beyond = beyond_their_share(shares)
    _leave_out(config, items, lambda item: item.nodeid in beyond)
    texts = {item.path: item.path.read_text("utf-8") for item in items}
    places = {
        path: near(path.relative_to(_HERE.parent).as_posix(), text, config.stash[_changed])
        for path, text in texts.items()
    }
    selection = selected({item.nodeid: places[item.path] for item in items})
    config.stash[_selection] = selection
    _leave_out(config, items, lambda item: item.nodeid not in selection.chosen)
    tests = {id(item.function): item.function for item in items if isinstance(item, pytest.Function)}
    for test in tests.values():
        if getattr(test, "is_hypothesis_test", False):
            _with_fewer_examples(test)


def _leave_out(config: pytest.Config, items: list[pytest.Item], condition: Callable[[pytest.Item], bool]) -> None:
    left_out = [item for item in items if condition(item)]
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]
    config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()  # what was collected stays to the end: no later collection has to look at it
    gc.set_threshold(50_000)  # the tables of accmap fill the default of 700 all the time: a tenth of the whole run
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and session.items and all(item.get_closest_marker("frameworks") for item in session.items):
        # MindSpore's threads wait by spinning: each worker keeps to a core of its own, with all that it begins.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _reporting is not None and report.when == "call" and report.passed:
        _reporting.add(report.nodeid)


_reporting: Journal | None = None


def pytest_sessionstart(session: pytest.Session) -> None:
    global _reporting  # pytest hands a report to a hook without its configuration
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _reporting = session.config.stash.get(_journal, None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    selection = session.config.stash.get(_selection, None)
    if output is not None and selection is not None:
        output["selection"] = selection.summary


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_selection] = Selection(frozenset(), getattr(node, "workeroutput", {}).get("selection", ""))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    selection = config.stash.get(_selection, None)
    if selection is not None and selection.summary:
        terminalreporter.write_line(selection.summary)


def _with_fewer_examples(test: Callable[..., Any]) -> None:
    # A test's own settings outrank a profile's; this is where hypothesis keeps them (`settings.__call__`).
    known = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
    fewer = max(known.max_examples // _FEWER_EXAMPLES, min(known.max_examples, _FEWEST))
    test._hypothesis_internal_use_settings = settings(known, max_examples=fewer)  # type: ignore[attr-defined]


@pytest.fixture
def keep_picture() -> Callable[[Any, str], None]:
    """Writes what a page shows to the folder of ACCMAP_PICTURES, if it is set; docs/pictures has these pictures."""
    folder = os.environ.get("ACCMAP_PICTURES")

    def keep(page: Any, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png")

    return keep


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium; a test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as run:
        opened = run.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()

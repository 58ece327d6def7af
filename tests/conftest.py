"""How much runs: `--quick` leaves out what is `slow` or `long`; of tables and properties it tries a share."""

from __future__ import annotations

import gc
import os
import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SHARE = 5
_FEWEST = 3
_HERE = Path(__file__).parent
_MARKS = re.compile(r"^pytestmark = (\[[^]]*\]|.*)", re.MULTILINE)
"""A module every test of which is marked: where none of them runs, it need not even be imported."""


settings.register_profile("unhurried", deadline=None)  # what is tried says nothing of how busy the machine is
settings.load_profile("unhurried")


def pytest_configure() -> None:
    if not (_HERE.parent / "mappings" / "tables_compiled.py").exists():
        raise pytest.UsageError("this checkout is not built: run `python -m generate`, or `pip install -e .`")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="without slow and long tests, and with fewer examples")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.suffix != ".py" or not config.getoption("--quick"):
        return None
    left_out = {"slow", "long"} | ({"frameworks"} if config.getoption("markexpr") == "not frameworks" else set())
    marks = _MARKS.search(collection_path.read_text("utf-8"))
    return True if marks is not None and not left_out.isdisjoint(re.findall(r"mark\.(\w+)", marks[1])) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")]
    gone = set(map(id, left_out))
    left_out += beyond_their_share([item for item in items if id(item) not in gone])
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]
    config.hook.pytest_deselected(items=left_out)
    tests = {id(item.function): item.function for item in items if isinstance(item, pytest.Function)}
    for test in tests.values():
        if getattr(test, "is_hypothesis_test", False):
            _with_fewer_examples(test)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()  # what was collected stays to the end: no later collection has to look at it
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and session.items and all(item.get_closest_marker("frameworks") for item in session.items):
        # MindSpore's threads wait by spinning: each worker keeps to a core of its own, with all that it begins.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


def beyond_their_share(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of marked tables that `--quick` leaves out: their names draw them, so they are always the same."""
    tables: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        marker = item.get_closest_marker("table")
        if marker is not None:
            tables[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    left_out: list[pytest.Item] = []
    for (_, share), cases in tables.items():
        drawn = sorted(cases, key=lambda item: zlib.crc32(item.nodeid.encode()))
        left_out += drawn[-(-len(cases) // share) :]
    return left_out


def _with_fewer_examples(test: Callable[..., Any]) -> None:
    # A test's own settings outrank a profile's; this is where hypothesis keeps them (`settings.__call__`).
    known = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
    fewer = max(known.max_examples // _SHARE, min(known.max_examples, _FEWEST))
    test._hypothesis_internal_use_settings = settings(known, max_examples=fewer)  # type: ignore[attr-defined]

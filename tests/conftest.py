"""How much runs: `--quick` leaves out what is `slow` or `long`, and properties try a fifth of their examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SHARE = 5
_FEWEST = 3
_HERE = Path(__file__).parent
ALL_SLOW = (_HERE / "hostile", _HERE / "cli" / "test_hostile_inputs.py")
"""Where every test is slow: the inputs need not even be made."""


def pytest_configure() -> None:
    if not (_HERE.parent / "mappings" / "tables_compiled.py").exists():
        raise pytest.UsageError("this checkout is not built: run `python -m generate`, or `pip install -e .`")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="without slow and long tests, and with fewer examples")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if collection_path in ALL_SLOW and config.getoption("--quick") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")]
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]
    config.hook.pytest_deselected(items=left_out)
    tests = {id(item.function): item.function for item in items if isinstance(item, pytest.Function)}
    for test in tests.values():
        if getattr(test, "is_hypothesis_test", False):
            _with_fewer_examples(test)


def _with_fewer_examples(test: Callable[..., Any]) -> None:
    from hypothesis import settings

    # A test's own settings outrank a profile's; this is where hypothesis keeps them (`settings.__call__`).
    known = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
    fewer = max(known.max_examples // _SHARE, min(known.max_examples, _FEWEST))
    test._hypothesis_internal_use_settings = settings(known, max_examples=fewer)  # type: ignore[attr-defined]

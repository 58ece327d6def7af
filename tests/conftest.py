"""Nothing here works without the products: say so once, instead of in every test."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    if not (ROOT / "mappings" / "tables_compiled.py").exists():
        raise pytest.UsageError("this checkout is not built: run `python -m generate`, or `pip install -e .`")

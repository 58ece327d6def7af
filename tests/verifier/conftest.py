"""Worker processes that the pairs of a module share: one that served them all would hold gigabytes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent / "proving"))
from remembering import RememberingWorkers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accmap.verifier.worker.processes import Workers


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """A fault is planted in one file of a pair: the other's model is run once for all of them."""
    with RememberingWorkers(most=40) as started:
        yield started

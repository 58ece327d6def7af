"""Worker processes that the pairs of a module share: one that served them all would hold gigabytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accmap.verifier.verify import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers() as started:
        yield started

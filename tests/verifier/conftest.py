"""Worker processes that all pairs share: a framework is imported once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from accmap.verifier.verify import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    with Workers() as started:
        yield started

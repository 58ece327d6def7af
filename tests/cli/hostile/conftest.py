"""What these files hold is hostile by its names and texts: for that it is enough to look for a few fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module")
def few_fixes_are_tried() -> Iterator[None]:
    """Each fix that is tried is a lint of its own, and these pairs have fifty differences."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accmap.rules.fixes._MOST_TRIES", 4)
        yield

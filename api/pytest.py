"""The pytest plugin of accmap: the fixture `verify_pair` keeps a pair verified in a project's own tests.

Installing accmap registers it (entry point `pytest11`). It imports accmap when a test asks for the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from accmap.verification import Verified
    from accmap.verifier.worker.processes import Workers


@pytest.fixture(scope="session")
def accmap_workers() -> Iterator[Workers]:
    """The processes of both frameworks, which all tests of a session share."""
    from accmap.verifier.worker.processes import Workers

    with Workers() as workers:
        yield workers


@pytest.fixture
def verify_pair(request: pytest.FixtureRequest, accmap_workers: Workers) -> Callable[..., Verified]:
    """`verify_pair(A, B)`: the verification of two files below the root folder; the test fails with its report.

    `verdict` names other verdicts that pass (`("match", "partial")`); the other names are those of `accmap.verify`.
    """

    def verify_files(
        a: str | PathLike[str], b: str | PathLike[str], *, verdict: str | tuple[str, ...] = "match", **options: object
    ) -> Verified:
        from accmap import verify

        __tracebackhide__ = True
        root = request.config.rootpath
        found: Verified = verify(root / a, root / b, workers=accmap_workers, **options)  # pyright: ignore[reportArgumentType]
        allowed = (verdict,) if isinstance(verdict, str) else verdict
        if found.verdict not in allowed:
            pytest.fail(found.report(), pytrace=False)
        return found

    return verify_files

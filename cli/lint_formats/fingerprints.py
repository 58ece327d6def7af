"""What names a finding to a service from one run to the next: by what stands in the files, not by line numbers."""

from __future__ import annotations

from ...rules.baseline import fingerprint
from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...schemas.diagnostic import Diagnostic
    from ..linting.linter import Report


def digests_of(report: Report) -> Callable[[Diagnostic], str]:
    """A function that gives each finding its digest; of findings that are alike, each its own by their order."""
    from hashlib import sha256

    counts: dict[str, int] = {}

    def digest(entry: Diagnostic) -> str:
        mark = f"{entry.file}|{fingerprint(entry, report.sources)}"
        counts[mark] = counts.get(mark, 0) + 1
        return sha256(f"{mark}|{counts[mark]}".encode("utf-8", "surrogatepass")).hexdigest()

    return digest

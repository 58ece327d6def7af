"""Which tests a quick run tries, given the files that a change touches; and the journal of a long run.

A test file is *near* a change if it is changed itself, imports a changed module, is named after it, or lies in the
folder of `tests/` that mirrors the module's; it is *above* if it tests a room that may import the module's. The tests
near a change come first, then those above, up to a fixed number of cases. The draw depends on the names of the cases
alone, so that the same change tries the same tests every time.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent
MOST_CASES = 1500
"""What two idle cores run in forty seconds."""
ORDER = ("schemas", "mappings", "mapper", "evidence", "verifier", "rules", "cli", "api")
"""The rooms from the lowest to the highest: a room may be imported by those behind it."""
BASIS = re.compile(r"pyproject\.toml|requirements/.*|generate/.*|tests/[^/]*|tools/.*")
"""Files that every test may depend on."""


class Selection(NamedTuple):
    """The node ids of the tests to run, and one sentence about their share."""

    chosen: frozenset[str]
    summary: str


def changed_files() -> frozenset[str]:
    """The files that a quick run looks at; a copy of the checkout without `tools/` needs no quick run."""
    sys.path.insert(0, str(ROOT / "tools"))
    import changed_modules

    return frozenset(changed_modules.changed_files(None))


def tree_digest() -> str:
    """A digest of the tree that is tested: the commit, and what differs from it."""
    state = [*_git("rev-parse", "HEAD"), *_git("diff", "HEAD"), *_git("ls-files", "--others", "--exclude-standard")]
    return hashlib.sha256("\n".join(state).encode()).hexdigest()


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def near(test: str, text: str, changed: frozenset[str]) -> int | None:
    """How near a test file is to a change: 0 near, 1 above, None neither. `test` is its path, `text` its content."""
    if not changed or test in changed:
        return 0
    places = [_nearness(test, text, file) for file in changed]
    return min((place for place in places if place is not None), default=None)


def _nearness(test: str, text: str, file: str) -> int | None:
    room = file.partition("/")[0]
    if file.endswith(".md"):
        return 0 if "test_shown" in test or "test_changelog" in test else None
    if room == "tests":
        if Path(file).name.startswith("test_"):
            return None
        # A table of cases or a module beside tests belongs to the tests of its folder and of the one above.
        folder = test.rpartition("/")[0]
        return 0 if folder in (file.rpartition("/")[0], file.rpartition("/")[0].rpartition("/")[0]) else _basis(file)
    if room not in ORDER:
        return _basis(file)
    stem = Path(file).stem.removesuffix("_compiled")
    imports = rf"from accmap\.{room}[\w.]*(?:\.{stem} import|\s+import [^\n]*\b{stem}\b)"
    named = len(stem) > 4 and stem in Path(test).stem
    mirrored = test.startswith(f"tests/{file.rpartition('/')[0]}/")
    if named or mirrored or re.search(imports, text):
        return 0
    tested = test.split("/")[1]
    return 1 if tested not in ORDER or ORDER.index(tested) >= ORDER.index(room) else None


def _basis(file: str) -> int | None:
    return 1 if BASIS.fullmatch(file) else None


def beyond_their_share(tables: Mapping[str, int | None]) -> set[str]:
    """The cases of marked tables that are left out: one case in `share` stays, always the same ones."""
    grouped: dict[tuple[str, int], list[str]] = {}
    for case, share in tables.items():
        if share is not None:
            grouped.setdefault((case.partition("[")[0], share), []).append(case)
    left_out: set[str] = set()
    for (_, share), cases in grouped.items():
        drawn = sorted(cases, key=lambda case: zlib.crc32(case.encode()))
        left_out.update(drawn[-(-len(cases) // share) :])
    return left_out


def selected(cases: Mapping[str, int | None]) -> Selection:
    """The cases to run of those that were collected: all that are near, then others, up to `MOST_CASES`."""
    drawn = sorted(cases, key=lambda case: (cases[case] or 0, zlib.crc32(case.encode())))
    chosen = frozenset(drawn[:MOST_CASES])
    near_ones = sum(place == 0 for place in cases.values())
    of_near = sum(cases[case] == 0 for case in chosen)
    summary = (
        f"quick: {of_near:,} of {near_ones:,} tests near the change, "
        f"{len(chosen) - of_near:,} of {len(cases) - near_ones:,} others"
    )
    return Selection(chosen, summary)


class Journal:
    """The tests that have passed on one tree, one node id a line; of another tree nothing counts."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        if lines[:1] != [digest]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(digest + "\n", "utf-8")
            lines = []
        self.passed = frozenset(lines[1:])

    def add(self, nodeid: str) -> None:
        """Note that a test has passed."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(nodeid + "\n")

"""Proves the rows of the mapping tables with the real models: `python tests/verifier/prove.py`.

For every row, and through the rows for every computed quantity, with numeric impact: a minimal pair with a value that
is not the default, converted by accmap, must match in `verify`, and with the value on one side alone it must not. What
cannot be carried over must match without the value and mismatch with it. Pairs of versions form two stars: every
Megatron-LM × MindSpore Transformers 1.9, and Megatron-LM 0.12 × every MindSpore Transformers, in the static graph; and
Megatron-LM 0.12, 0.16, 0.19 and main × the dynamic graph of 2.1, and 0.12 × that of 2.0. What is known stands in a
journal a pair, so that an interrupted run goes on where it stopped; `--write` makes `mappings/proofs.yaml` of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent / "proving"))

from judging import Judge, numeric_fields
from recording import CENTRE, DYNAMIC, STAR, Journal, changed_since, digests, not_asked, summary, write_proofs
from remembering import RememberingWorkers

from accmap.mappings.tables import table
from accmap.verifier import installations
from accmap.verifier.installations import missing_modules
from accmap.verifier.worker.processes import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minimal_pairs import Versions

    from accmap.schemas.versions import Framework

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / ".frameworks"


def sources() -> dict[tuple[str, str], str]:
    """Framework and version → the folder that holds it, where one is here; the running environment's is empty."""
    found: dict[tuple[str, str], str] = {}
    trees = os.environ.get("ACCMAP_MEGATRON_TREES")
    folders: dict[Framework, list[Path]] = {
        "megatron": [*(WHEELS / "megatron").glob("*"), *(Path(trees).glob("*") if trees else ())],
        "mindformers": list((WHEELS / "mindformers").glob("*")),
    }
    for framework, places in folders.items():
        for place in places:
            version = installations.installation_in(framework, str(place)).name
            found[framework, version] = str(place)
        own = None if missing_modules(framework) else installations.find_installed(framework)
        if own is not None:
            found[framework, own.name] = ""
    return found


def main(words: Sequence[str] | None = None) -> int:
    """0 where no row fails."""
    asked = _asked(words)
    here = sources()
    rows = [row for row in table().rows if numeric_fields(row) and (not asked.row or row.fields[0] in asked.row)]
    if asked.changed_since:
        changed = changed_since(asked.changed_since)
        rows = [row for row in rows if row.fields[0] in changed]
    deadline = time.monotonic() + asked.seconds if asked.seconds else None
    fails = 0
    for versions in STAR:
        if asked.pair and str(versions) not in asked.pair and versions.stem not in asked.pair:
            continue
        places = [here.get((framework, versions.of(framework))) for framework in ("megatron", "mindformers")]
        if None in places:
            print(f"{versions}: not here")
            continue
        journal = Journal(versions, asked.journal)
        if not asked.report:
            folders = dict(zip(("megatron", "mindformers"), places, strict=True))
            _prove(versions, {side: place for side, place in folders.items() if place}, rows, journal, asked, deadline)
        fails += summary(versions, rows, journal)
    if asked.write:
        write_proofs(asked.journal)
    for pair, fields in not_asked(rows).items() if asked.report else ():
        print(f"{pair}: {len(fields)} rows to ask: {', '.join(fields)}")
    return 1 if fails else 0


def _prove(
    versions: Versions,
    folders: dict[str, Any],
    rows: Sequence[Any],
    journal: Journal,
    asked: Any,
    deadline: float | None,
) -> None:
    marks = digests()
    known = {} if versions == CENTRE else hints(versions, asked.journal)
    elsewhere = {field for field, tried in known.items() if tried["outcome"] == "proved"}
    left = [
        row
        for row in rows
        if asked.again or not journal.knows(row.fields[0], marks[row.fields[0]], elsewhere & {*numeric_fields(row)})
    ]
    if not left:
        return
    # What is proved elsewhere is asked first, with what proved it there.
    left.sort(key=lambda row: known.get(row.fields[0], {}).get("outcome") != "proved")
    with RememberingWorkers(Limits(1500.0, 6000.0)) as workers:
        judge = Judge(versions, folders, workers, known, asked.row or ())
        for row in left:
            if deadline is not None and time.monotonic() > deadline:
                print(f"{versions}: out of time before {row.fields[0]}")
                return
            found = judge.row(row)
            journal.add(row.fields[0], marks[row.fields[0]], [one.to_json() for one in found])
            for one in found:
                print(versions, one.outcome, json.dumps(one.to_json(), ensure_ascii=False), flush=True)


def hints(versions: Versions, folder: Path) -> dict[str, dict[str, Any]]:
    """What the centre of the same graph said of a field, or the first other pair that proved it."""
    found: dict[str, dict[str, Any]] = {}
    for other in sorted(STAR, key=lambda one: one.graph != versions.graph):
        for field, tried in Journal(other, folder).by_field().items() if other != versions else ():
            proved = tried["outcome"] == "proved" and found.get(field, {}).get("outcome") != "proved"
            if proved or (field not in found and other in (CENTRE, DYNAMIC)):
                found[field] = tried
    return found


def _asked(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pair", action="append", help="only this pair of versions: 0.16x1.9, 0.12x2.1-dynamic")
    parser.add_argument("--row", action="append", help="only the row with this first field, whatever another pair said")
    parser.add_argument("--changed-since", metavar="REF", help="only rows that are others than in this commit")
    parser.add_argument("--seconds", type=float, help="begin no row after this time")
    parser.add_argument("--again", action="store_true", help="ask again what is known")
    parser.add_argument("--report", action="store_true", help="run nothing, count what is known")
    parser.add_argument("--write", action="store_true", help="write mappings/proofs.yaml")
    parser.add_argument("--journal", type=Path, default=ROOT / ".proofs", help="where what is known stands")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())

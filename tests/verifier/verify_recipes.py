"""What a user meets who converts a launch and verifies it: `python tests/verifier/verify_recipes.py`.

Every functional-test recipe of Megatron-LM's own trees (`ACCMAP_MEGATRON_TREES`), or every launch script that is named,
goes both ways: converted as it is, and as an aligned pair. Both real models then say whether the two files train the
same. What came of it stands in a journal a pair of versions, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prove import sources

from accmap import ReadBackError, ReadOptions, UnreadableError, UsageError, convert, load, pair
from accmap.cli.commands.verify import run_verification
from accmap.verifier.worker.processes import Limits, Workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).parents[2]
PAIRS = [
    f"{megatron}x{mindformers}" for megatron in ("0.12", "0.16", "0.19") for mindformers in ("1.7", "1.8", "1.9", "2.1")
]
WAYS = ("plain", "aligned")
RECIPES = "tests/functional_tests/test_cases/gpt*/*/model_config.yaml"
_FOLDER = re.compile(r"(/[\w.+-]+)+/")


class Asked(NamedTuple):
    """One launch, and the versions that it is read and converted for."""

    file: Path
    megatron: str | None
    mindformers: str


def main(words: Sequence[str] | None = None) -> int:
    """0 where accmap never failed."""
    asked = _asked(words)
    deadline = time.monotonic() + asked.seconds if asked.seconds else None
    crashes = 0
    for versions in asked.pair or PAIRS:
        megatron, _, mindformers = versions.partition("x")
        known = journal(asked.journal / f"{versions}.jsonl")
        if not asked.report:
            files = asked.files or recipes(megatron)
            if not files:
                print(f"{versions}: no recipes here")
                continue
            # The version of a launch that is named is its own to say.
            launches = [Asked(file, None if asked.files and not megatron else megatron, mindformers) for file in files]
            _run(launches, asked.way or WAYS, known, asked.journal / f"{versions}.jsonl", deadline)
        crashes += print_table(versions, known.values())
    return 1 if crashes else 0


def recipes(megatron: str) -> list[Path]:
    """The functional-test recipes of a version's own tree, where one is here."""
    place = Path(os.environ.get("ACCMAP_MEGATRON_TREES", ""), megatron)
    return sorted(place.glob(RECIPES)) if os.environ.get("ACCMAP_MEGATRON_TREES") else []


def journal(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What is known, by file and way; the last word counts."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    entries = [json.loads(line) for line in lines]
    return {(entry["file"], entry["way"]): entry for entry in entries}


def _run(
    launches: Iterable[Asked], ways: Sequence[str], known: dict[Any, Any], path: Path, deadline: float | None
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    here = sources()
    with Workers(Limits(1500.0, 6000.0)) as workers, path.open("a", encoding="utf-8") as stream:
        for launch in launches:
            for way in ways:
                key = (str(launch.file), way)
                if key in known:
                    continue
                if deadline is not None and time.monotonic() > deadline:
                    print(f"out of time before {launch.file}")
                    return
                begun = time.monotonic()
                known[key] = {"file": key[0], "way": way, **asked_of(launch, way, here, workers)}
                known[key]["seconds"] = round(time.monotonic() - begun, 1)
                stream.write(json.dumps(known[key], ensure_ascii=False) + "\n")
                stream.flush()
                print(way, known[key]["verdict"], launch.file, known[key].get("reasons", ""), flush=True)


def asked_of(launch: Asked, way: str, here: dict[tuple[str, str], str], workers: Workers) -> dict[str, Any]:
    """What convert and verify say of one launch, by the words of a verdict, or how they refuse."""
    # The static graph: the one that every version has, and that 2.1 does not write by default.
    options = ReadOptions(megatron=launch.megatron, mindformers=launch.mindformers, dialect="static")
    with tempfile.TemporaryDirectory() as folder:
        try:
            config = load(launch.file, options)
            if config.purpose is not None and not config.purpose.trains_gpt:
                return {"verdict": "no-gpt", "reasons": [config.purpose.kind]}
            names, lost = _written(launch.file, options, way, Path(folder))
            wanted = (("megatron", config.framework_version), ("mindformers", launch.mindformers))
            chosen = {"sources": {side[0]: here[side] for side in wanted if here.get(side)}}
            found, _findings, _configs = run_verification(names, options, chosen, workers=workers)
        except UnreadableError as error:
            return {"verdict": "refused", "reasons": [_plain(str(error))]}
        except (ReadBackError, UsageError) as error:
            return {"verdict": "failed", "reasons": [f"{type(error).__name__}: {_plain(str(error))}"]}
        except Exception as error:  # noqa: BLE001 - what no user may see is what is counted here
            return {"verdict": "failed", "reasons": [f"{type(error).__name__}: {error}"]}
    return {"verdict": found.verdict, "lost": lost, "reasons": list(_reasons(found))}


def _written(file: Path, options: ReadOptions, way: str, folder: Path) -> tuple[list[str], list[str]]:
    """The two files that are verified, and what the report says is not, or may not be, the same."""
    if way == "plain":
        made = convert(file, "mindformers", options=options)
        written = folder / "converted.yaml"
        written.write_text(made.text, "utf-8")
        names, rows = [str(file), str(written)], made.rows
    else:
        both = pair(file, align=True, options=options)
        for name, text in both.texts.items():
            (folder / name).write_text(text, "utf-8")
        names, rows = [str(folder / name) for name in both.texts], both.rows
    told = (row for row in rows if row.impact == "numerics" and row.status not in ("exact", "made-explicit"))
    return names, sorted({row.field or ", ".join(row.source) for row in told})


def _reasons(found: Any) -> Iterator[str]:
    """Why the answer is no match."""
    answer = found.to_json()
    if found.verdict == "not-verifiable":
        for failure in answer["failures"]:
            yield _plain(f"{failure['side']}: {failure['explanation'] or failure['reason']}")
    elif found.verdict == "mismatch":
        parted: dict[str, Any] = answer["first_divergence"] or {"module": "?", "differing": (), "suspected": ()}
        fields = sorted({str(entry["field"]) for entry in (*parted["differing"], *parted["suspected"])})
        yield f"{parted['module']}: {', '.join(fields) or 'no difference is named'}"
    elif found.verdict == "partial":
        for entry in answer["not_compared"]:
            if entry.get("differs") and not entry.get("accepted"):
                yield f"{entry['field']}: {entry.get('a')} | {entry.get('b')}"


def _plain(text: str) -> str:
    """A reason without the folder of this file."""
    return _FOLDER.sub("", text)[:300]


def print_table(versions: str, entries: Iterable[dict[str, Any]]) -> int:
    """Verdicts a way, and reasons with how often each was met; how often accmap itself failed."""
    known = list(entries)
    for way in WAYS:
        told = [entry for entry in known if entry["way"] == way]
        counts = Counter(str(entry["verdict"]) for entry in told)
        if told:
            said = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
            print(f"{versions} {way}: {len(told)}: {said}")
        for verdict in counts:
            whys = Counter(why for entry in told if entry["verdict"] == verdict for why in entry["reasons"])
            for why, count in whys.most_common():
                print(f"    {verdict} {count} × {why}")
    return sum(entry["verdict"] == "failed" for entry in known)


def _asked(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="launches instead of the recipes of a Megatron-LM tree")
    parser.add_argument(
        "--pair", action="append", help="only this pair of versions: 0.16x1.9; x1.9 reads each launch by its own signs"
    )
    parser.add_argument("--way", action="append", choices=WAYS, help="only converted as it is, or only aligned")
    parser.add_argument("--seconds", type=float, help="begin no launch after this time")
    parser.add_argument("--report", action="store_true", help="run nothing, count what is known")
    parser.add_argument("--journal", type=Path, default=ROOT / ".proofs" / "recipes", help="where what is known stands")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())

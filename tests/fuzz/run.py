"""Runs accmap on inputs drawn by chance; each ends as promised, and alike where another program is the judge.

    python tests/fuzz/run.py --seconds 240
        a short run, with a seed that it prints
    python tests/fuzz/run.py --seed 7 --count 300000 --journal fuzz.json
        a long one; it goes on where it stopped
    python tests/fuzz/run.py --seed 7 --command lr --command "data show"
        inputs of every kind that these commands read
    python tests/fuzz/run.py --seed 7 --kind bash --only 4711
        one input again, in full

The seed, the kind, the commands and the number alone decide an input. A promise: exit code 0, 1 or 2, no traceback,
10 seconds of processor time and a gigabyte at most. The inputs run in one warm process, which is replaced if it dies or
grows. The exit code is 1 if something failed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from kinds import KINDS, Bench, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS, MEGABYTES = 10, 1000
ADDRESS_SPACE = 6 * 2**30
"""What must never be asked for at once; the limit on what is used is MEGABYTES."""
WALL_SECONDS = 600
GROWN = 900
"""Megabytes at which a worker is replaced: what it keeps from one input to the next is no promise."""


class Failure(NamedTuple):
    """An input that ended otherwise than promised."""

    kind: str
    number: int
    trial: str
    what: str
    told: str


class TookTooLong(BaseException):
    """Processor time is used up."""


def interrupt(*_: object) -> None:
    """End what takes too long."""
    raise TookTooLong


# --- one input, in the worker ---


def try_input(kind: Kind, seed: int, number: int, bench: Bench) -> Iterator[tuple[str, int, Failure | None]]:
    """The trials of an input: what each counts as, how often, and its failure."""
    chance = random.Random(f"{seed}:{kind.name}:{number}")
    for trial in kind.trials(chance, bench):
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew
        before = _megabytes("VmRSS")
        what = told = None
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            told = trial.run()
            what = told and told.split("\n")[0][:160]
        except TookTooLong:
            what, told = f"over {SECONDS} s {_place(sys.exc_info())}", traceback.format_exc()
        except BaseException as error:  # noqa: BLE001 - it is described
            what, told = f"{type(error).__name__} {_place(sys.exc_info())}", traceback.format_exc()
        signal.setitimer(signal.ITIMER_PROF, 0)
        if what is None and (peak := _megabytes("VmHWM") - before) > MEGABYTES:
            what = told = f"over {MEGABYTES} MB: {peak}"
        failure = Failure(kind.name, number, trial.name, what, (told or "")[-6000:]) if what else None
        yield trial.name, trial.count, failure


def _megabytes(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) // 1024 if found else 0


def _place(error: Any) -> str:
    """Where in accmap an exception arose."""
    own = str(Path(__file__).parent)
    frames = [one for one in traceback.extract_tb(error[2]) if not one.filename.startswith(own)]
    return f"{'/'.join(Path(frames[-1].filename).parts[-3:])}:{frames[-1].lineno} {frames[-1].name}" if frames else "?"


def work(options: argparse.Namespace, folder: str, numbers: Iterator[tuple[Kind, int]], answer: int) -> None:
    """Try one input after another and write a line of JSON before and after each."""
    signal.signal(signal.SIGPROF, interrupt)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    bench = Bench(Path(folder), only=options.command)
    os.chdir(folder)
    # What is loaded by now stays: to look through it again and again would cost a fifth of the time.
    gc.freeze()
    gc.set_threshold(100_000)
    for kind, number in numbers:
        os.write(answer, (json.dumps([kind.name, number]) + "\n").encode())
        counts: Counter[str] = Counter()
        failures: list[Failure] = []
        for name, count, failure in try_input(kind, options.seed, number, bench):
            counts[name] += count
            failures += [] if failure is None else [failure]
        os.write(answer, (json.dumps([kind.name, number, counts, failures]) + "\n").encode())
        if _megabytes("VmRSS") > GROWN:
            return


# --- many inputs ---


class Journal:
    """How far a run is, and what it found; kept in a file if one is named."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.path = Path(options.journal).absolute() if options.journal else None
        self.next: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.failures: dict[str, Any] = {}
        self.seed: int = options.seed
        if self.path and self.path.exists():
            saved = json.loads(self.path.read_text("utf-8"))
            self.seed = saved["seed"]
            self.next, self.counts, self.failures = Counter(saved["next"]), Counter(saved["counts"]), saved["failures"]

    def note(self, counts: dict[str, int], failures: list[Failure]) -> None:
        self.counts.update(counts)
        for failure in failures:
            entry = self.failures.setdefault(
                f"{failure.trial}: {failure.what}", {"count": 0, "first": failure._asdict()}
            )
            entry["count"] += 1
            if entry["count"] == 1:
                print(f"{failure.kind} {failure.number} {failure.trial}: {failure.what}", flush=True)

    def save(self) -> None:
        if self.path:
            found = {"seed": self.seed, "next": self.next, "counts": self.counts, "failures": self.failures}
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(found, indent=1), "utf-8")
            new.replace(self.path)


def run(options: argparse.Namespace) -> int:
    journal = Journal(options)
    options.seed = journal.seed
    print(f"seed {options.seed}", flush=True)
    kinds = [KINDS[name] for name in options.kind or KINDS]
    if options.command:
        kinds = [kind for kind in kinds if kind.commands.intersection(options.command)]
    ends = time.monotonic() + options.seconds
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="accmap_fuzz_", dir=memory) as outer:
        folder = os.path.join(outer, "bench")  # beside it lies a copy of its good files
        os.mkdir(folder)
        Bench(Path(folder)).prepare(kinds)
        while time.monotonic() < ends and sum(journal.next.values()) < options.count:
            _one_worker(options, journal, folder, kinds, ends)
            journal.save()
    _summarize(journal)
    return 1 if journal.failures else 0


def _numbers(
    options: argparse.Namespace, journal: Journal, kinds: list[Kind], ends: float
) -> Iterator[tuple[Kind, int]]:
    """The next inputs: each kind in proportion to its weight."""
    done = Counter(journal.next)
    while time.monotonic() < ends and sum(done.values()) < options.count:
        kind = min(kinds, key=lambda one: (done[one.name] + 1) / one.weight)
        yield kind, done[kind.name]
        done[kind.name] += 1


def _one_worker(options: argparse.Namespace, journal: Journal, folder: str, kinds: list[Kind], ends: float) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            work(options, folder, _numbers(options, journal, kinds, ends), writer)
        except BaseException:  # noqa: BLE001 - seen by whoever reads
            traceback.print_exc()
        os._exit(0)
    os.close(writer)
    begun: list[Any] | None = None
    saved = time.monotonic()
    with open(reader, encoding="utf-8") as lines:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        for line in lines:
            signal.alarm(WALL_SECONDS)
            told = json.loads(line)
            begun = told if len(told) == 2 else None
            if len(told) == 4:
                journal.next[told[0]] = told[1] + 1
                journal.note(told[2], [Failure(*one) for one in told[3]])
            if time.monotonic() - saved > 20:
                saved = time.monotonic()
                journal.save()
        signal.alarm(0)
    _, status = os.waitpid(child, 0)
    if begun is not None:  # it died of this input
        journal.next[begun[0]] = begun[1] + 1
        journal.note({begun[0]: 1}, [Failure(begun[0], begun[1], begun[0], f"died with {status}", "")])


def _summarize(journal: Journal) -> None:
    trials = sum(journal.counts.values())
    print(f"{sum(journal.next.values())} inputs, {trials} trials, {len(journal.failures)} kinds of failure")
    for name, count in sorted(journal.counts.items()):
        print(f"{count:8} {name}")
    for what, entry in sorted(journal.failures.items(), key=lambda item: -item[1]["count"]):
        print(f"failed {entry['count']:6} {what}")


def show_one(options: argparse.Namespace) -> int:
    """One input in full; its files stay."""
    folder = tempfile.mkdtemp(prefix="accmap_fuzz_")
    bench = Bench(Path(folder), keep=True, only=options.command)
    kind = KINDS[options.kind[0]]
    bench.prepare([kind])
    os.chdir(folder)
    signal.signal(signal.SIGPROF, interrupt)
    failed = 0
    for name, _, failure in try_input(kind, options.seed, options.only, bench):
        print(f"{name}: {'as promised' if failure is None else failure.told}")
        failed |= failure is not None
    print(f"its files are in {folder}")
    return int(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--count", type=int, default=10**9, help="inputs in all")
    parser.add_argument("--seconds", type=float, default=10**9, help="time after which no further input is drawn")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only inputs of this kind")
    every = sorted({command for kind in KINDS.values() for command in kind.commands})
    parser.add_argument("--command", action="append", default=[], choices=every, help="only inputs of this command")
    parser.add_argument("--only", type=int, help="one input of one kind again")
    parser.add_argument("--journal", help="a file that keeps how far a run is, and what it found")
    options = parser.parse_args()
    return run(options) if options.only is None else show_one(options)


if __name__ == "__main__":
    sys.exit(main())

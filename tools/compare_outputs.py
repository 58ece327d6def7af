"""Compare the answers of two installations of accmap on the public files of `tests/regression.list`.

    python tools/compare_outputs.py --before OLD --after NEW --corpus FOLDER [--sample 200] [--commands show,lint]

`show`, `recipe`, `lint`, `convert`, `diff` and `explain` answer in JSON, in process, in long-lived workers of each
installation. Equal means byte for byte (exit code, standard output, standard error, report of `convert`), but for the
tool's version, the folders and times of day. A difference counts only if two fresh processes differ, too. Differences
are printed by command and by key of the JSON; the exit code is 1 if there is one.

OLD and NEW are Python interpreters or folders with `bin/python`. A line of the list is the SHA-256 of a file, its
repository, commit and path. FOLDER holds a file as OWNER+NAME@COMMIT/PATH (twelve digits of the commit) or as
OWNER+NAME/PATH; `--unpack CLONES` makes the former from CLONES/OWNER+NAME/repo. Digests of the answers of an
installation that is not editable are kept in `--cache`: the second comparison with it takes half the time.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import io
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("show", "recipe", "lint", "convert", "diff", "explain")
SECONDS = 300
"""Time limit of one answer."""
FRESH_CHECKS = 50
"""Different answers of one command that fresh processes are asked for; of more, long-lived ones are believed."""
TIME_OF_DAY = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
FLAG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]+")
YAML_KEY = re.compile(r"^\s*(?:- )?([A-Za-z_]\w*):(?:\s|$)", re.MULTILINE)

Answer = dict[str, Any]
"""Exit code (or the name of an exception), and the texts of standard output, standard error and the report."""
Kind = tuple[str, str]
"""A command and a key of its answer."""


@dataclass(frozen=True)
class ListedFile:
    """One line of the list; `place` is the file's path in the corpus."""

    digest: str
    repository: str
    path: str
    place: str


@dataclass(frozen=True)
class Question:
    """One command line, run in the corpus."""

    command: str
    operands: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The whole command line; a worker replaces REPORT by a file."""
        options = {"convert": ["--report", "REPORT"], "lint": ["--format", "json", "--no-cache", "--no-config"]}
        return [self.command, *self.operands, *options.get(self.command, ["--format", "json"])]

    @property
    def text(self) -> str:
        """The command line as one text."""
        return " ".join(self.words)


def read_list(path: Path, corpus: Path) -> list[ListedFile]:
    """Files of the list in the order of their digests: the first N are a fixed share of each repository."""
    files: list[ListedFile] = []
    for line in sorted(path.read_text("utf-8").splitlines()):
        digest, repository, commit, name = line.split(" ", 3)
        folder = repository.replace("/", "+")
        for place in (f"{folder}@{commit[:12]}/{name}", f"{folder}/{name}"):
            file = corpus / place
            if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == digest:
                files.append(ListedFile(digest, repository, name, place))
                break
        else:
            raise SystemExit(f"compare_outputs: {corpus} does not hold {name} of {repository} at {commit}: --unpack")
    return files


def unpack(path: Path, corpus: Path, clones: Path) -> None:
    """Write the tree of each commit of the list into a folder of its own."""
    for repository, commit in sorted({tuple(line.split(" ", 3)[1:3]) for line in path.read_text("utf-8").splitlines()}):
        folder = repository.replace("/", "+")
        target = corpus / f"{folder}@{commit[:12]}"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=corpus) as part:
                archive = ["git", f"--git-dir={clones / folder / 'repo'}", "archive", f"--output={part}/tar", commit]
                subprocess.run(archive, check=True)
                Path(part, "tree").mkdir()
                subprocess.run(["tar", "-xf", f"{part}/tar", "-C", f"{part}/tree"], check=True)
                Path(part, "tree").rename(target)


def questions_about(
    files: Sequence[ListedFile], chosen: Sequence[ListedFile], commands: Sequence[str], keys: Iterable[str]
) -> Iterator[Question]:
    """Command lines for the chosen files.

    Each file is asked for by itself, with a YAML of MindSpore Transformers that its digest chooses among all files, and
    with the next file of its repository. `explain` is asked for as many keys as there are files, chosen by digest.
    """
    partners = [listed.place for listed in files if listed.repository.endswith("/mindformers")]
    following: dict[str, str] = {}
    last: dict[str, ListedFile] = {}
    for listed in sorted(files, key=lambda listed: (listed.repository, listed.path)):
        if listed.repository in last:
            following[last[listed.repository].place] = listed.place
        last[listed.repository] = listed
    for listed in chosen:
        for command in commands:
            if command not in ("diff", "explain"):
                yield Question(command, (listed.place,))
        if partners:
            pair = (listed.place, partners[int(listed.digest[:8], 16) % len(partners)])
            yield from (Question(command, pair) for command in commands if command in ("lint", "diff"))
        if listed.place in following and "diff" in commands:
            yield Question("diff", (listed.place, following[listed.place]))
    if "explain" in commands:
        by_digest = sorted(keys, key=lambda key: hashlib.sha256(key.encode()).digest())
        yield from (Question("explain", (key,)) for key in by_digest[: len(chosen)])


def keys_of(files: Iterable[Path]) -> set[str]:
    """Flags of scripts and keys of YAML."""
    found: set[str] = set()
    for file in files:
        found.update((FLAG if file.suffix == ".sh" else YAML_KEY).findall(file.read_text("utf-8", "replace")))
    return found


class Worker:
    """A process of one installation that answers command lines one after the other."""

    def __init__(self, interpreter: Path, corpus: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACCMAP", "PYTHON", "LC_"))}
        environment = {**kept, "PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "COLUMNS": "120"}
        self._process = subprocess.Popen(
            [interpreter, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=corpus,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        first = self._receive()
        self.fingerprint: str = first["fingerprint"]

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"compare_outputs: a worker ended with {self._process.wait()}")
        return json.loads(line)

    def ask(self, question: Question, *, whole: bool = False) -> Answer:
        """The digest of the answer, or the whole answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([whole, question.words]) + "\n")
        self._process.stdin.flush()
        return self._receive()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve() -> None:
    """Answer each line of standard input, as a worker of the installation whose interpreter runs this."""
    sys.path.pop(0)  # the folder of this script
    with tempfile.TemporaryDirectory() as scratch, os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = scratch
        fingerprint, version, main = _installation()
        print(json.dumps({"fingerprint": fingerprint}), file=out, flush=True)
        hidden = [(f"accmap {version}", "accmap VERSION"), (scratch, "SCRATCH"), (f"{os.getcwd()}/", "")]
        for line in sys.stdin:
            whole, words = json.loads(line)
            answer = _answer(main, words, Path(scratch, "report.json"))
            for key, text in answer.items():
                for written, neutral in hidden:
                    text = text.replace(written, neutral)
                answer[key] = TIME_OF_DAY.sub("TIME", text)
            digest = hashlib.sha256(json.dumps(answer).encode()).hexdigest()
            print(json.dumps(answer if whole else {"digest": digest}), file=out, flush=True)


def _installation() -> tuple[str, str, Any]:
    """The fingerprint of the installed program (empty if it is editable), its version, and its `main`."""
    from importlib.metadata import distribution
    from inspect import getsource

    installed = distribution("accmap")
    entry = next(entry for entry in installed.entry_points if entry.name == "accmap")
    main = entry.load()
    package = Path(sys.modules["accmap"].__path__[0])
    seen = hashlib.sha256((sys.version + getsource(serve) + getsource(_answer)).encode())
    if package.parent != Path(str(installed.locate_file(""))):
        return "", installed.version, main
    for file in sorted(package.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            seen.update(file.relative_to(package).as_posix().encode() + file.read_bytes())
    return seen.hexdigest(), installed.version, main


def _answer(main: Any, words: list[str], report: Path) -> dict[str, str]:
    """Run one command line in this process with a time limit; its exit code, both outputs, and the report it wrote."""
    import signal

    def stop(*_: object) -> None:
        raise TimeoutError

    report.unlink(missing_ok=True)
    real = sys.stdout, sys.stderr
    texts = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="") for _ in real]
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    sys.stdout, sys.stderr = texts
    try:
        code = str(main([str(report) if word == "REPORT" else word for word in words]))
    except BaseException as error:  # noqa: BLE001 - a crash is an answer, too
        code = repr(error)
    finally:
        sys.stdout, sys.stderr = real
        signal.alarm(0)
    for text in texts:
        text.flush()
    out, err = (text.buffer.getvalue().decode("utf-8", "replace") for text in texts)  # type: ignore[attr-defined]
    return {"code": code, "out": out, "err": err, "report": report.read_text("utf-8") if report.exists() else ""}


class Comparison:
    """Questions that several threads ask two installations, and the differences of their answers."""

    def __init__(self, before: Path, after: Path, corpus: Path, cache: Path) -> None:
        self.interpreters = before, after
        self.corpus = corpus
        self.kinds: dict[Kind, list[tuple[Question, str, str]]] = defaultdict(list)
        self.unsteady: list[Question] = []
        self._checks: Counter[str] = Counter()
        self._lock = threading.Lock()
        first = Worker(before, corpus)
        listed = json.loads(first.ask(Question("rules", ()), whole=True)["out"] or "[]")
        self.codes = [rule["code"] for rule in listed]
        self._cache = cache / f"{first.fingerprint}.digests" if first.fingerprint else None
        first.close()
        self._known: dict[str, str] = {}
        if self._cache is not None and self._cache.exists():
            lines = self._cache.read_text("utf-8").splitlines()
            self._known = {text: digest for digest, _, text in (line.partition(" ") for line in lines)}

    def run(self, questions: Iterable[Question], jobs: int) -> None:
        """Ask them all, in `jobs` threads with a worker of each installation."""
        waiting: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        for question in (*questions, *[None] * jobs):
            waiting.put(question)
        threads = [threading.Thread(target=self._ask_all, args=[waiting]) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask_all(self, waiting: queue.SimpleQueue[Question | None]) -> None:
        """Ask both installations every waiting question, and examine those whose answers differ."""
        old: Worker | None = None
        new = Worker(self.interpreters[1], self.corpus)
        while (question := waiting.get()) is not None:
            known = self._known.get(question.text)
            if known is None:
                old = old or Worker(self.interpreters[0], self.corpus)
                known = old.ask(question)["digest"]
                self._keep(question, known)
            if known != new.ask(question)["digest"]:
                self._examine(question)
        for worker in filter(None, (old, new)):
            worker.close()

    def _keep(self, question: Question, digest: str) -> None:
        """Add the digest of the old installation's answer to the cache file."""
        if self._cache is not None and "\n" not in question.text:
            with self._lock:
                self._cache.parent.mkdir(parents=True, exist_ok=True)
                with self._cache.open("a", encoding="utf-8") as kept:
                    kept.write(f"{digest} {question.text}\n")

    def _examine(self, question: Question) -> None:
        """Ask fresh processes, and note the keys that differ."""
        with self._lock:
            self._checks[question.command] += 1
            if self._checks[question.command] > FRESH_CHECKS:
                self.kinds[question.command, "(not examined: too many)"].append((question, "", ""))
                return
        answers: list[Answer] = []
        for interpreter in self.interpreters:
            worker = Worker(interpreter, self.corpus)
            answers.append(worker.ask(question, whole=True))
            worker.close()
        differences = dict(differing_keys(*answers))
        with self._lock:
            if not differences:
                self.unsteady.append(question)
            for key, (was, now) in differences.items():
                self.kinds[question.command, key].append((question, was, now))


def differing_keys(before: Answer, after: Answer) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each key of the two answers whose values differ, with one example of the values."""
    for part, was in before.items():
        now = after[part]
        if was == now:
            continue
        try:
            pairs = list(_value_differences(part, json.loads(was), json.loads(now)))
        except ValueError:
            lines = zip([*was.splitlines(), ""], [*now.splitlines(), ""], strict=False)
            pairs = [(part, next(((a, b) for a, b in lines if a != b), (was, now)))]
        yield from pairs or [(f"{part} (notation)", (was, now))]


def _value_differences(key: str, was: Any, now: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    """The paths at which two JSON values differ, each with both texts."""
    texts = _json_text(was), _json_text(now)
    if isinstance(was, dict) and isinstance(now, dict):
        yield from _member_differences(key, cast("dict[str, Any]", was), cast("dict[str, Any]", now))
    elif isinstance(was, list) and isinstance(now, list):
        yield from _item_differences(f"{key}[]", cast("list[Any]", was), cast("list[Any]", now))
    elif texts[0] != texts[1]:
        yield key, texts


def _member_differences(key: str, was: dict[str, Any], now: dict[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Differences of two JSON objects: order, removed and added keys, and values of common keys."""
    if list(was) != list(now) and set(was) == set(now):
        yield f"{key} (order)", (", ".join(was), ", ".join(now))
    for name in {**was, **now}:
        if name not in now:
            yield f"{key}.{name} (removed)", (_json_text(was[name]), "")
        elif name not in was:
            yield f"{key}.{name} (added)", ("", _json_text(now[name]))
        else:
            yield from _value_differences(f"{key}.{name}", was[name], now[name])


def _item_differences(key: str, was: list[Any], now: list[Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Items that only one list has; as many on both sides are the same items with other values."""
    texts: list[list[str]] = [[json.dumps(item) for item in items] for items in (was, now)]
    removed, added = Counter(texts[0]), Counter(texts[1])
    common = removed & added
    gone, new = list((removed - common).elements()), list((added - common).elements())
    if len(gone) == len(new):
        for before, after in zip(gone, new, strict=True):
            yield from _value_differences(key, json.loads(before), json.loads(after))
        if not gone and texts[0] != texts[1]:
            yield f"{key} (order)", (_json_text(was), _json_text(now))
        return
    if gone:
        yield f"{key} (removed)", (gone[0], "")
    if new:
        yield f"{key} (added)", ("", new[0])


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def print_kinds(kinds: dict[Kind, list[tuple[Question, str, str]]], width: int = 300) -> None:
    """Each kind of difference: its number of command lines and one example."""
    for (command, key), cases in sorted(kinds.items(), key=lambda entry: (entry[0][0], -len(entry[1]))):
        question, was, now = min(cases, key=lambda case: len(case[1]) + len(case[2]))
        print(f"{command} {key}: {len(cases)} answers, such as: accmap {question.text}")
        print(f"    before: {was[:width]}\n    after:  {now[:width]}")


def interpreter_of(given: str) -> Path:
    """The Python of an installation's folder, or the given one."""
    path = Path(given).absolute()
    return path / "bin" / "python" if path.is_dir() else path


def parse_options(words: Sequence[str] | None) -> argparse.Namespace:
    """The options, of which the module's text is the help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, metavar="OLD", help="interpreter or folder of an installation")
    parser.add_argument("--after", required=True, metavar="NEW", help="the other one, such as .venv")
    parser.add_argument("--corpus", type=Path, required=True, metavar="FOLDER", help="the files of the list")
    parser.add_argument("--unpack", type=Path, metavar="CLONES", help="make the corpus of git repositories first")
    parser.add_argument("--list", type=Path, default=ROOT / "tests" / "regression.list", help=argparse.SUPPRESS)
    parser.add_argument("--sample", type=int, metavar="N", help="only the first N files by digest: always the same")
    parser.add_argument("--commands", default=",".join(COMMANDS), help="names with commas between [%(default)s]")
    parser.add_argument("--paths", metavar="PATTERN", help="only files whose path in FOLDER matches, such as '*.yaml'")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="threads [one a core]")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=home / "accmap-compare", help="digests of answers [%(default)s]")
    options = parser.parse_args(words)
    if unknown := set(options.commands.split(",")) - set(COMMANDS):
        parser.error(f"unknown commands: {', '.join(sorted(unknown))}")
    return options


def main(words: Sequence[str] | None = None) -> int:
    """Compare, print the differences; 1 if there is one."""
    options = parse_options(words)
    corpus = options.corpus.absolute()
    if options.unpack:
        unpack(options.list, corpus, options.unpack)
    started = time.monotonic()
    files = read_list(options.list, corpus)
    chosen = [listed for listed in files if fnmatch.fnmatch(listed.place, options.paths or "*")][: options.sample]
    comparison = Comparison(interpreter_of(options.before), interpreter_of(options.after), corpus, options.cache)
    keys = {*comparison.codes, *keys_of(corpus / listed.place for listed in files)}
    questions = list(questions_about(files, chosen, options.commands.split(","), keys))
    comparison.run(questions, options.jobs)
    print_kinds(comparison.kinds)
    for question in comparison.unsteady:
        print(f"equal in fresh processes, different in a long-lived one: {question.text}", file=sys.stderr)
    seconds = time.monotonic() - started
    different = len({question for cases in comparison.kinds.values() for question, _, _ in cases})
    print(f"{len(chosen)} files, {len(questions)} answers, {different} different, {seconds:.0f} s")
    return 1 if different or not questions else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        serve()
    else:
        sys.exit(main())

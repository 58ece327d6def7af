"""Converted files put in place: each whole and with its checksum, so that an interrupted conversion can continue.

One file is one task. It is written beside its place and renamed; a record beside it (`.NAME.finished.json`) then holds
its size and its checksum (XXH3, and SHA-256 if asked for). Any number of processes, on any machines that share the
folder, can each write a part of the files. When all are there, their records go into `accmap-weights.json`. What a
record or the manifest names and the disk holds with that checksum is not written again; a manifest of another
conversion is refused, and so is a folder into which a whole conversion is writing. A thread makes the next blocks while
the last ones are written.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from ...schemas.border.file_output import NewFile, remove_leftovers
from ...schemas.border.inputs import note_written, open_regular
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.installation import install_command
from ...schemas.message import verbatim
from ..bounded_files import Budget, members, parse_json
from ..threads import start_thread, wait_for
from .messages_compiled import say
from .tensor_files import header_bytes, shard_content, tensor, write_archive
from .weight import FLOATS, Computed, RefusedError, not_finite, problem, raise_garbled, raise_unreadable
from .weight import cast as cast_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Buffer

    from ...schemas.diagnostic import Diagnostic
    from .weight import Shape, Weight


XXH3, SHA256 = "xxh3_128", "sha256"
KNOWN = (XXH3, SHA256)
"""The fastest first."""
_BLOCK = 1 << 22


class Sums:
    """The checksums of what is fed to it, by their names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._digests = {name: _new_digest(name) for name in names}

    def add(self, data: Buffer) -> None:
        """Take the next bytes."""
        for digest in self._digests.values():
            digest.update(data)

    def digests(self) -> dict[str, str]:
        """In hexadecimal digits, by name."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}


def sums_in(entry: Mapping[str, Any]) -> dict[str, str]:
    """The checksums among what is said of a file."""
    return {name: entry[name] for name in KNOWN if isinstance(entry.get(name), str)}


def has_sums(path: str, known: Mapping[str, str]) -> bool:
    """True if a file's bytes have one of these checksums, the fastest."""
    name = next(name for name in KNOWN if name in known)
    sums = Sums((name,))
    with open_regular(path) as stream:
        while block := stream.read(_BLOCK):
            sums.add(block)
    return sums.digests()[name] == known[name]


def _new_digest(name: str) -> Any:
    """Checksum object by name; UnreadableError if its package is not installed."""
    if name == SHA256:
        return hashlib.sha256()
    try:
        from xxhash import xxh3_128
    except ImportError:
        raise_unreadable(say.extra_needed(package="xxhash", install=install_command("evidence")), "xxhash")
    return xxh3_128()


_Made = TypeVar("_Made")
_WAITING = 4
_LOOK = 0.2
"""Seconds after which a reader looks whether the thread still runs."""


class Ahead(Generic[_Made]):
    """Hands out what `source` makes, in its order; a thread makes some more of it meanwhile.

    Reading leaves the interpreter free, as do sums and writing. What `source` raises is raised here, in its turn. Of
    what is `large` nothing further is made before it is put away, which bounds the memory.
    """

    def __init__(self, source: Iterator[_Made], large: Callable[[_Made], bool]) -> None:
        from queue import SimpleQueue
        from threading import Semaphore

        self._source = source
        self._large = large
        self._made: SimpleQueue[tuple[_Made, int] | BaseException] = SimpleQueue()
        self._room = Semaphore(_WAITING)
        self._taken = 0
        """The room of what was handed out last and is being put away."""
        self._stopped = False
        self._is_running: Callable[[], bool] = lambda: False

    def __enter__(self) -> Ahead[_Made]:
        self._is_running = start_thread(self._work)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stopped = True
        self._room.release(_WAITING + 1)
        wait_for(self._is_running)

    def __iter__(self) -> Ahead[_Made]:
        return self

    def __next__(self) -> _Made:
        if self._taken:
            self._room.release(self._taken)
            self._taken = 0
        made = self._next_made()
        if isinstance(made, BaseException):
            raise made
        self._taken = made[1]
        return made[0]

    def _next_made(self) -> tuple[_Made, int] | BaseException:
        """The first result; MemoryError if the thread has ended before it made anything further."""
        from queue import Empty

        while True:
            ran = self._is_running()
            try:
                return self._made.get(timeout=_LOOK if ran else 0)
            except Empty:
                if not ran:
                    raise MemoryError from None

    def _work(self) -> None:
        """Compute values in advance in a thread, within a limit; an error is passed on to the reader."""
        try:
            for made in self._source:
                # One more than there is: it has to be put away before.
                room = _WAITING + 1 if self._large(made) else 1
                self._made.put((made, room))
                del made
                for _ in range(room):
                    self._room.acquire()
                if self._stopped:
                    return
            self._made.put(StopIteration())
        except BaseException as error:  # noqa: BLE001 - raised where the numbers are put away
            self._made.put(error)


MANIFEST = "accmap-weights.json"
_VERSION = 1
_MOST_MANIFEST = 1 << 27
_ENTRY, _FINDING = 600, 400
"""Bytes of memory for what is said of a file, and for each number that is not finite."""
_LARGE = 1 << 26
"""Behind a larger block nothing is read before it is written, which bounds the memory."""
_PARTS = (".safetensors", ".pt", ".distcp", ".metadata")
"""What a reader of the target would take for a part of it."""


class Unit(NamedTuple):
    """One file of the target."""

    path: str
    """Below the target folder, with `/`."""
    weights: Mapping[str, Weight]
    form: str
    """`safetensors`, `torch` for a Megatron-LM shard, `distcp` for pieces of a distributed one, `bytes` for `start`."""
    iteration: int = 0
    models: tuple[str, ...] = ("model",)
    """A shard's model chunks; with several, a weight's name begins with that of its chunk."""
    start: bytes | Callable[[], bytes] = b""
    """What stands before the weights, or what makes it when the file is written."""
    shapes: Mapping[str, Shape] = {}
    """The shape under which a piece is stored, where it is one of several."""
    states: Mapping[str, Weight] = {}
    """The optimizer's states, which a shard stores after its model chunks."""
    rest: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _tensors: {}
    """A shard's other content, out of the tensors of its states."""

    @property
    def size(self) -> int:
        """Bytes of its weights."""
        return sum(weight.size for weight in self.contents.values())

    @property
    def contents(self) -> Mapping[str, Weight]:
        """All weights and states in the order of the file."""
        return {**self.weights, **self.states} if self.states else self.weights


def share_units(units: Sequence[Unit], parts: int) -> list[list[Unit]]:
    """The units in so many parts of nearly the same size, the same ones every time."""
    from heapq import heapify, heapreplace

    shares: list[list[Unit]] = [[] for _ in range(parts)]
    loads = [(0, number) for number in range(parts)]
    heapify(loads)
    for unit in sorted(units, key=lambda unit: -unit.size):
        load, number = loads[0]
        shares[number].append(unit)
        heapreplace(loads, (load + unit.size, number))
    return shares


class Written(NamedTuple):
    """One file that stands in place."""

    path: str
    sums: Mapping[str, str]
    """Its checksums by their names."""
    size: int
    resumed: bool


def cast_to(name: str, weight: Weight, dtype: str | None) -> Weight:
    """A weight in another number type; None keeps its own."""
    if dtype is None or dtype == weight.dtype:
        return weight
    if weight.dtype not in FLOATS:
        raise_garbled(weight.file, say.is_stored_as_which_is(name=name, dtype=weight.dtype, dtype2=dtype))

    def in_other_type(block: Any) -> Any:
        found = cast_numbers(block, weight.dtype, dtype)
        more = not_finite(found, dtype)[1] - not_finite(block, weight.dtype)[1]
        if more > 0:
            said = say.overflow(count=more, tensor=name, dtype=dtype, file=weight.file)
            raise RefusedError(problem(said, weight.file))
        return found

    def blocks() -> Iterator[Any]:
        return map(in_other_type, weight.blocks())

    def rows(start: int, stop: int) -> Any:
        return in_other_type(weight.rows(start, stop))

    return Computed(dtype, weight.shape, weight.file, blocks, rows if weight.has_portions else None)


class Writer:
    """Writes the files of one conversion into a folder."""

    def __init__(
        self,
        folder: str,
        about: Mapping[str, Any],
        paths: Sequence[str],
        *,
        mode: Literal["new", "resume", "part"],
        sha256: bool = False,
    ) -> None:
        self._sums = (XXH3, SHA256) if sha256 else (XXH3,)
        self.folder = folder
        self._paths = frozenset(paths)
        self._about = dict(about)
        self._identity = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        self._files: dict[str, dict[str, Any]] = {}
        self.size = 0
        """Bytes that were written, of files that are not whole yet, too."""
        self.kept = 0
        """Bytes of weights in files that stood there finished."""
        self._not_finite: list[tuple[str, int, int, str]] = []
        self.findings: list[Diagnostic] = []
        os.makedirs(folder, exist_ok=True)
        self._hold = _lock_folder(folder, shared=mode == "part")
        try:
            if mode == "new":
                self._clear()
                self._save(complete=False)
            else:
                self._continue(mode)
        except BaseException:
            self.close()
            raise

    def _clear(self) -> None:
        """Take away what an earlier conversion left; refuse what is not ours."""
        path = os.path.join(self.folder, MANIFEST)
        listed = read_manifest(path)["files"] if os.path.isfile(path) else ()
        for name in (*listed, *_recorded_files(self.folder)):
            _remove(_record_path(os.path.join(self.folder, *name.split("/"))))
            old = os.path.join(self.folder, *name.split("/"))
            # Old and new files together would be neither checkpoint, were this conversion interrupted.
            if os.path.isfile(old) and _lies_in(self.folder, os.path.dirname(old)):
                os.unlink(old)
        self._refuse_other_files()

    def _refuse_other_files(self) -> None:
        """UnreadableError if the folder holds files that a reader would take for parts of the target."""
        for parent, _, names in os.walk(self.folder):
            for name in names:
                full = os.path.join(parent, name)
                relative = os.path.relpath(full, self.folder).replace(os.sep, "/")
                if name.endswith(_PARTS) and relative not in self._paths:
                    raise_unreadable(say.resume(path=full, why=say.read_as_a_part()), full)

    def _continue(self, mode: str) -> None:
        """Resume an earlier conversion into the folder, or start one; refuses a different conversion."""
        path = os.path.join(self.folder, MANIFEST)
        if not os.path.isfile(path):
            # Other parts may have begun already: they write the same list.
            self._refuse_other_files() if mode == "part" else self._clear()
            self._save(complete=False)
            return
        manifest = read_manifest(path)
        for key, value in self._about.items():
            if manifest["conversion"].get(key) != value:
                raise_unreadable(say.resume(path=path, why=say.begun_with_another(key=key)), path)
        self._files = manifest["files"]

    def recorded_size(self, unit: Unit) -> int | None:
        """The size of a file that is recorded as finished; its bytes are not looked at."""
        path = os.path.join(self.folder, *unit.path.split("/"))
        known = self._files.get(unit.path) or self._record(path)
        whole = known is not None and os.path.isfile(path) and os.path.getsize(path) == known["size"]
        return known["size"] if whole and known is not None else None

    def _record(self, path: str) -> dict[str, Any] | None:
        """What stands beside a finished file of this conversion; None if it is not finished."""
        try:
            with open_regular(_record_path(path)) as stream:
                record: Any = parse_json(stream.read(_MOST_RECORD), 8)
            known = record["conversion"] == self._identity and sums_in(record) and isinstance(record["size"], int)
            entry: dict[str, Any] = {key: value for key, value in record.items() if key != "conversion"}
            _check_findings(entry)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return entry if known else None

    def keep(self, unit: Unit) -> Written | None:
        """A file that is finished and unchanged; None if it has to be written."""
        path = os.path.join(self.folder, *unit.path.split("/"))
        known = self._files.get(unit.path) or self._record(path)
        if known is None or not sums_in(known).keys() >= {*self._sums} or not _is_as_recorded(path, known):
            return None
        self._files[unit.path] = known
        self.findings.extend(_not_finite_problem(*entry) for entry in known.get("not_finite", ()))
        return Written(unit.path, sums_in(known), known["size"], resumed=True)

    def write(self, unit: Unit, progress: Callable[[], None] = lambda: None) -> Written:
        """Put one file in place, unless it is there already."""
        path = os.path.join(self.folder, *unit.path.split("/"))
        kept = self.keep(unit)
        if kept is not None:
            self.kept += unit.size
            progress()
            return kept
        _remove(_record_path(path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._not_finite = []
        if os.path.islink(path):
            os.unlink(path)  # what it leads to is not ours
        sums = Sums(self._sums)
        size = 0
        try:
            with NewFile(path) as new, Ahead(self._blocks(unit.contents), _is_large) as blocks:

                def write(data: Buffer) -> None:
                    nonlocal size
                    length = memoryview(data).nbytes
                    size += length
                    self.size += length
                    sums.add(data)
                    new.write(data)
                    progress()

                _fill(unit, write, blocks)
        except OSError as error:
            error.filename = error.filename or path
            raise
        written = Written(unit.path, sums.digests(), size, resumed=False)
        self._files[unit.path] = {**written.sums, "size": size, "tensors": len(unit.contents)}
        if self._not_finite:
            # A conversion that is continued does not read these numbers again, but must tell of them.
            self._files[unit.path]["not_finite"] = self._not_finite
            self.findings.extend(_not_finite_problem(*entry) for entry in self._not_finite)
        record = {"conversion": self._identity, **self._files[unit.path]}
        text = json.dumps(record, ensure_ascii=False)
        _write_file(_record_path(path), text.encode("utf-8", "backslashreplace"), lasting=False)
        return written

    def accept(self, path: str, entry: dict[str, Any]) -> None:
        """Note a file that another process of this conversion has written."""
        self._files[path] = entry
        self.findings.extend(_not_finite_problem(*one) for one in entry.get("not_finite", ()))

    def entry(self, path: str) -> dict[str, Any]:
        """What the manifest says of a finished file."""
        return self._files[path]

    def _blocks(self, weights: Mapping[str, Weight]) -> Iterator[Buffer | None]:
        """The bytes of one weight after the other; None ends each."""
        for name, weight in weights.items():
            nans = infinities = 0
            for block in weight.blocks():
                found = not_finite(block, weight.dtype)
                nans += found[0]
                infinities += found[1]
                yield _array_bytes(block)
            if nans or infinities:
                self._not_finite.append((name, nans, infinities, weight.file))
            yield None

    def text(self, path: str, text: str) -> Written:
        """Put a small text file in place."""
        full = os.path.join(self.folder, *path.split("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        data = text.encode("utf-8", "backslashreplace")
        _write_file(full, data)
        sums = Sums(self._sums)
        sums.add(data)
        return Written(path, sums.digests(), len(data), resumed=False)

    def finish(self, others: Sequence[Written]) -> None:
        """Mark the conversion as complete."""
        for written in others:
            self._files[written.path] = {**written.sums, "size": written.size}
        self._save(complete=True)
        for path in self._files:
            _remove(_record_path(os.path.join(self.folder, *path.split("/"))))
        self.close()

    def close(self) -> None:
        """Let others write into the folder."""
        if self._hold is not None:
            os.close(self._hold)
            self._hold = None

    def _save(self, *, complete: bool) -> None:
        """Write the manifest of the conversion."""
        manifest = {
            "manifest": _VERSION,
            "complete": complete,
            "conversion": self._about,
            "files": dict(sorted(self._files.items())),
        }
        text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
        _write_file(os.path.join(self.folder, MANIFEST), text.encode("utf-8", "backslashreplace"))


class Progress(NamedTuple):
    """How far a conversion is."""

    number: int
    """The file that is being written, counted from one."""
    files: int
    path: str
    done: int
    """Bytes that are written, without those of files that stood there finished."""
    total: int
    """Bytes that have to be written, without those, too."""


Report = Callable[[Progress], None]


def write_units(writer: Writer, units: Sequence[Unit], workers: int, report: Report) -> list[Written]:
    """Put files in place, with several processes if asked for; the answer is in the order of the units."""
    total = sum(unit.size for unit in units)
    if workers > 1 and len(units) > 1:
        return _write_with_workers(writer, units, min(workers, len(units)), report)
    written: list[Written] = []
    for number, unit in enumerate(units, 1):

        def progress(number: int = number, path: str = unit.path) -> None:
            report(Progress(number, len(units), path, writer.size, total - writer.kept))

        progress()
        written.append(writer.write(unit, progress))
    return written


_WAIT = 0.5
"""Seconds between two reports of what the workers have done."""


def _write_with_workers(writer: Writer, units: Sequence[Unit], workers: int, report: Report) -> list[Written]:
    """Write files in several processes and collect their entries; stops all at an error."""
    from multiprocessing import get_context
    from multiprocessing.connection import wait

    total = sum(unit.size for unit in units)
    context = get_context("fork")
    counts = context.RawArray("Q", 2 * workers)
    answers: dict[Any, tuple[Any, list[str]]] = {}
    done: dict[str, Written] = {}
    try:
        for number, share in enumerate(share_units(units, workers)):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(writer, share, theirs, counts, number), daemon=True)
            process.start()
            theirs.close()
            answers[ours] = process, [unit.path for unit in share]
        while answers:
            for ready in wait(list(answers), _WAIT):
                process, waiting = answers[ready]
                answer = _receive(ready, process, waiting)
                if answer is None:
                    process.join()
                    del answers[ready]
                    continue
                written, entry = answer
                waiting.remove(written.path)
                done[written.path] = written
                writer.accept(written.path, entry)
                if not written.resumed:
                    note_written(os.path.join(writer.folder, written.path), written.size)
            report(
                Progress(min(len(done) + 1, len(units)), len(units), "", sum(counts[::2]), total - sum(counts[1::2]))
            )
    finally:
        for process, _ in answers.values():
            process.terminate()
            process.join()
        for folder in {os.path.dirname(os.path.join(writer.folder, unit.path)) for unit in units}:
            remove_leftovers(folder)
    return [done[unit.path] for unit in units]


def _receive(connection: Any, process: Any, waiting: Sequence[str]) -> tuple[Written, dict[str, Any]] | None:
    """A file that a worker has written, and its entry; None if it has written all. Its error is raised here."""
    try:
        answer = connection.recv()
    except EOFError:
        process.join()
        raise_unreadable(say.worker_lost(file=waiting[0], status=process.exitcode), waiting[0])
    if isinstance(answer, BaseException):
        raise answer
    return answer or None


def _work(writer: Writer, units: Sequence[Unit], connection: Any, counts: Any, number: int) -> None:
    """Write some files in a process of its own, and send what became of each; an empty answer is the last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def progress() -> None:
        counts[2 * number : 2 * number + 2] = writer.size, writer.kept

    try:
        for unit in units:
            written = writer.write(unit, progress)
            connection.send((written, writer.entry(unit.path)))
        connection.send(())
    except (UnreadableError, RefusedError, OSError, MemoryError) as error:
        connection.send(error.with_traceback(None))


_RECORD = ".finished.json"
_MOST_RECORD = 1 << 20


def _record_path(path: str) -> str:
    """The place of the record of a finished file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}{_RECORD}")


def is_recorded(path: str) -> bool:
    """True if a record beside a file says that it is finished; it may be another conversion's."""
    return os.path.isfile(_record_path(path))


def resident_memory() -> int:
    """Bytes of memory that this process has now; the most it had if no system tells that."""
    try:
        with open_regular("/proc/self/statm") as stream:
            return int(stream.read(4096).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


_PROBE_BYTES = 1 << 27


def measure_disk(folder: str) -> float | None:
    """Bytes a second that the disk below a folder takes; None if nothing can be written there."""
    from time import monotonic

    block = os.urandom(_BLOCK)
    try:
        new = NewFile(os.path.join(folder, "accmap-speed"))
    except OSError:
        return None
    began = monotonic()
    try:
        for _ in range(_PROBE_BYTES // len(block)):
            new.write(block)
        new.finish()
        return _PROBE_BYTES / max(monotonic() - began, 1e-6)
    except OSError:
        return None
    finally:
        new.discard()


def amount_text(size: float) -> str:
    """A number of bytes in GiB, or in MiB below one."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.1f} MiB"


def _recorded_files(folder: str) -> Iterator[str]:
    """The files below a folder that have a record beside them, with `/`."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.startswith(".") and name.endswith(_RECORD):
                path = os.path.join(parent, name[1 : -len(_RECORD)])
                yield os.path.relpath(path, folder).replace(os.sep, "/")


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def _lock_folder(folder: str, *, shared: bool) -> int | None:
    """Keep other conversions out of the folder while this process lives; None where the system cannot.

    Parts of one conversion share the lock.
    """
    try:
        import fcntl
    except ImportError:  # another system than Linux or macOS
        return None
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise_unreadable(say.resume(path=folder, why=say.being_written()), folder)
    except OSError:  # a file system without locks
        os.close(held)
        return None
    return held


def _fill(unit: Unit, write: Callable[[Buffer], None], blocks: Iterator[Buffer | None]) -> None:
    """Write one file's content in its form, from the blocks of its weights."""
    weights = unit.weights
    if unit.form == "torch":
        storages = ((weight.size, iter(blocks.__next__, None)) for weight in unit.contents.values())
        write_archive(write, shard_content(_by_chunk(unit), unit.iteration, unit.states, unit.rest), storages)
        return
    start = unit.start if isinstance(unit.start, bytes) else unit.start()
    write(start if unit.form != "safetensors" else header_bytes(weights.items()))
    for name, weight in weights.items():
        own = iter(blocks.__next__, None)
        if unit.form == "distcp":
            write_archive(write, tensor(weight, 0, unit.shapes[name]), [(weight.size, own)])
            continue
        for block in own:
            write(block)


def _is_large(block: Buffer | None) -> bool:
    return block is not None and memoryview(block).nbytes > _LARGE


def _by_chunk(unit: Unit) -> Mapping[str, Mapping[str, Weight]]:
    """A shard's weights by model chunk, in the order of the unit."""
    if len(unit.models) == 1:
        return {unit.models[0]: unit.weights}
    return {
        model: {
            name.partition(".")[2]: weight for name, weight in unit.weights.items() if name.partition(".")[0] == model
        }
        for model in unit.models
    }


def _not_finite_problem(name: str, nans: int, infinities: int, file: str) -> Diagnostic:
    return problem(say.not_finite(tensor=name, nans=nans, infinities=infinities, file=file), file)


def _array_bytes(block: Any) -> Buffer:
    """The bytes of an array, without another copy where they lie in order."""
    import numpy as np

    found: Any = np.ascontiguousarray(block)
    return memoryview(found).cast("B") if block.size else b""


def _manifest(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A manifest without its files, and its files; ValueError where it is none."""
    manifest: dict[str, Any] = {}
    files: dict[str, Any] = {}
    budget = Budget(os.stat(path).st_size)
    listed = False
    for within, name, value in members(path, _MOST_MANIFEST, (("files",),)):
        if within or name == "files":
            listed = True
        if within:
            budget.take(_ENTRY + len(name) + _FINDING * len(value.get("not_finite", ())))
            files[name] = value
        elif name != "files":
            manifest[name] = value
        elif value != {}:
            raise ValueError(say.manifest_no_list())
    if not listed:
        raise KeyError("files")
    return manifest, files


def read_manifest(path: str) -> dict[str, dict[str, Any]]:
    """The manifest of a conversion: what was converted, and the files with their checksums."""
    try:
        manifest, files = _manifest(path)
        about: dict[str, Any] = dict(manifest["conversion"])
        if not all(sums_in(entry) and isinstance(entry["size"], int) for entry in files.values()):
            raise ValueError(say.manifest_no_checksum())
        if any(".." in name.split("/") for name in files):
            raise ValueError(say.manifest_outside())
        for entry in files.values():
            _check_findings(entry)
        complete = manifest.get("complete") is True
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise_garbled(path, say.it_is_no_manifest_of(error=verbatim(error)))
    return {"conversion": about, "files": files, "state": {"complete": complete}}


def _check_findings(entry: Mapping[str, Any]) -> None:
    """ValueError if the numbers of a file that are not finite are not listed as they should."""
    listed: Any = entry.get("not_finite", ())
    if not all(len(one) == 4 and isinstance(one[0], str) and isinstance(one[3], str) for one in listed):
        raise ValueError(say.manifest_no_finding())


def check_manifest(folder: str) -> list[Diagnostic]:
    """Problems of the files that a manifest lists: missing, of another size, changed."""
    found: list[Diagnostic] = []
    path = os.path.join(folder, MANIFEST)
    manifest = read_manifest(path)
    if not manifest["state"]["complete"]:
        found.append(problem(say.garbled(file=folder, why=say.interrupted()), path))
    for name, entry in manifest["files"].items():
        full = os.path.join(folder, *name.split("/"))
        if not os.path.isfile(full) or not _lies_in(folder, full):
            found.append(problem(say.missing_shard(file=full, needed=MANIFEST), full))
        elif not _is_as_recorded(full, entry):
            found.append(problem(say.garbled(file=full, why=say.another_checksum(manifest=MANIFEST)), full))
    return found


def _lies_in(folder: str, path: str) -> bool:
    """True if a path is below a folder with all links followed: a manifest may come from anybody."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), "")) or (
        os.path.realpath(path) == os.path.realpath(folder)
    )


def _write_file(path: str, data: bytes, *, lasting: bool = True) -> None:
    with NewFile(path, lasting=lasting) as new:
        new.stream.write(data)


def _is_as_recorded(path: str, known: Mapping[str, Any]) -> bool:
    """True if the file that a manifest lists stands there unchanged."""
    return os.path.isfile(path) and os.path.getsize(path) == known["size"] and has_sums(path, sums_in(known))

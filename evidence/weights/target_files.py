"""Converted files put in place: each whole and with its checksum, so that an interrupted conversion can continue.

A file is written beside its place and renamed; `accmap-weights.json` then gets its checksum (XXH3, and SHA-256 if asked
for). What the manifest names and the disk holds with that checksum is not written again on `--resume`; a manifest of
another conversion is refused, and so is a folder into which another process is writing. A thread makes the next blocks
while the last ones are written.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...schemas.border.file_output import NewFile
from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from ...schemas.installation import install_command
from ...schemas.message import verbatim
from ..bounded_files import Budget, members
from .messages_compiled import say
from .tensor_files import header_bytes, shard_content, tensor, write_archive
from .weight import FLOATS, Computed, RefusedError, not_finite, problem, raise_garbled, raise_unreadable
from .weight import cast as cast_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
    if name == SHA256:
        return hashlib.sha256()
    try:
        from xxhash import xxh3_128
    except ImportError:
        raise_unreadable(say.extra_needed(package="xxhash", install=install_command("evidence")), "xxhash")
    return xxh3_128()


_Made = TypeVar("_Made")
_WAITING = 4


class Ahead(Generic[_Made]):
    """Hands out what `source` makes, in its order; a thread makes some more of it meanwhile.

    Reading leaves the interpreter free, as do sums and writing. What `source` raises is raised here, in its turn. Of
    what is `large` nothing further is made before it is put away, which bounds the memory.
    """

    def __init__(self, source: Iterator[_Made], large: Callable[[_Made], bool]) -> None:
        from queue import SimpleQueue
        from threading import Semaphore, Thread

        self._source = source
        self._large = large
        self._made: SimpleQueue[tuple[_Made, int] | BaseException] = SimpleQueue()
        self._room = Semaphore(_WAITING)
        self._taken = 0
        """The room of what was handed out last and is being put away."""
        self._stopped = False
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> Ahead[_Made]:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stopped = True
        self._room.release(_WAITING + 1)
        self._thread.join()

    def __iter__(self) -> Ahead[_Made]:
        return self

    def __next__(self) -> _Made:
        if self._taken:
            self._room.release(self._taken)
            self._taken = 0
        made = self._made.get()
        if isinstance(made, BaseException):
            raise made
        self._taken = made[1]
        return made[0]

    def _work(self) -> None:
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
    start: bytes = b""
    """What stands before the weights."""
    shapes: Mapping[str, Shape] = {}
    """The shape under which a piece is stored, where it is one of several."""


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
        self, folder: str, about: Mapping[str, Any], paths: Sequence[str], *, resume: bool, sha256: bool = False
    ) -> None:
        self._sums = (XXH3, SHA256) if sha256 else (XXH3,)
        self._folder = folder
        self._paths = frozenset(paths)
        self._about = dict(about)
        self._files: dict[str, dict[str, Any]] = {}
        self._not_finite: list[tuple[str, int, int, str]] = []
        self.findings: list[Diagnostic] = []
        os.makedirs(folder, exist_ok=True)
        self._hold = _lock_folder(folder)
        try:
            if resume:
                self._continue()
            else:
                self._clear()
                self._save(complete=False)
        except BaseException:
            self.close()
            raise

    def _clear(self) -> None:
        """Take away what an earlier conversion left; refuse what is not ours."""
        path = os.path.join(self._folder, MANIFEST)
        for name in read_manifest(path)["files"] if os.path.isfile(path) else ():
            old = os.path.join(self._folder, *name.split("/"))
            # Old and new files together would be neither checkpoint, were this conversion interrupted.
            if os.path.isfile(old) and _lies_in(self._folder, os.path.dirname(old)):
                os.unlink(old)
        for parent, _, names in os.walk(self._folder):
            for name in names:
                full = os.path.join(parent, name)
                relative = os.path.relpath(full, self._folder).replace(os.sep, "/")
                if name.endswith(_PARTS) and relative not in self._paths:
                    raise_unreadable(say.resume(path=full, why=say.read_as_a_part()), full)

    def _continue(self) -> None:
        path = os.path.join(self._folder, MANIFEST)
        if not os.path.isfile(path):
            self._clear()
            self._save(complete=False)
            return
        manifest = read_manifest(path)
        for key, value in self._about.items():
            if manifest["conversion"].get(key) != value:
                raise_unreadable(say.resume(path=path, why=say.begun_with_another(key=key)), path)
        self._files = manifest["files"]

    def write(self, unit: Unit) -> Written:
        """Put one file in place, unless it is there already."""
        path = os.path.join(self._folder, *unit.path.split("/"))
        known = self._files.get(unit.path)
        if known is not None and sums_in(known).keys() >= {*self._sums} and _is_as_recorded(path, known):
            self.findings.extend(_not_finite_problem(*entry) for entry in known.get("not_finite", ()))
            return Written(unit.path, sums_in(known), known["size"], resumed=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._not_finite = []
        if os.path.islink(path):
            os.unlink(path)  # what it leads to is not ours
        sums = Sums(self._sums)
        size = 0
        with NewFile(path) as new, Ahead(self._blocks(unit.weights), _is_large) as blocks:

            def write(data: Buffer) -> None:
                nonlocal size
                size += memoryview(data).nbytes
                sums.add(data)
                new.write(data)

            _fill(unit, write, blocks)
        written = Written(unit.path, sums.digests(), size, resumed=False)
        self._files[unit.path] = {**written.sums, "size": size, "tensors": len(unit.weights)}
        if self._not_finite:
            # A conversion that is continued does not read these numbers again, but must tell of them.
            self._files[unit.path]["not_finite"] = self._not_finite
            self.findings.extend(_not_finite_problem(*entry) for entry in self._not_finite)
        self._save(complete=False)
        return written

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
        full = os.path.join(self._folder, *path.split("/"))
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
        self.close()

    def close(self) -> None:
        """Let others write into the folder."""
        if self._hold is not None:
            os.close(self._hold)
            self._hold = None

    def _save(self, *, complete: bool) -> None:
        manifest = {
            "manifest": _VERSION,
            "complete": complete,
            "conversion": self._about,
            "files": dict(sorted(self._files.items())),
        }
        text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
        _write_file(os.path.join(self._folder, MANIFEST), text.encode("utf-8", "backslashreplace"))


def _lock_folder(folder: str) -> int | None:
    """Keep other conversions out of the folder while this process lives; None where the system cannot."""
    try:
        import fcntl
    except ImportError:  # another system than Linux or macOS
        return None
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise_unreadable(say.resume(path=folder, why=say.being_written()), folder)
    except OSError:  # a file system without locks
        os.close(held)
        return None
    return held


def _fill(unit: Unit, write: Callable[[Buffer], None], blocks: Iterator[Buffer | None]) -> None:
    weights = unit.weights
    if unit.form == "torch":
        storages = ((weight.size, iter(blocks.__next__, None)) for weight in weights.values())
        write_archive(write, shard_content(_by_chunk(unit), unit.iteration), storages)
        return
    write(unit.start if unit.form != "safetensors" else header_bytes(weights.items()))
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
        found: Any = [one for entry in files.values() for one in entry.get("not_finite", ())]
        if not all(len(one) == 4 and isinstance(one[0], str) and isinstance(one[3], str) for one in found):
            raise ValueError(say.manifest_no_finding())
        complete = manifest.get("complete") is True
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise_garbled(path, say.it_is_no_manifest_of(error=verbatim(error)))
    return {"conversion": about, "files": files, "state": {"complete": complete}}


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


def _write_file(path: str, data: bytes) -> None:
    with NewFile(path) as new:
        new.stream.write(data)


def _is_as_recorded(path: str, known: Mapping[str, Any]) -> bool:
    """True if the file that a manifest lists stands there unchanged."""
    return os.path.isfile(path) and os.path.getsize(path) == known["size"] and has_sums(path, sums_in(known))

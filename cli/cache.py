"""Answers a lint that was run before, if nothing it read has changed.

An entry is named by the command line, the directory, the settings of the terminal and the state of accmap itself. It
holds what was written, the exit code, and every file that was read or looked for with a digest of its content; it is
used only where all of them are still the same. This module is loaded before anything else and imports next to nothing.
"""

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FORMAT = 1
_MOST_ENTRIES = 2000
_LIVE = frozenset(("--no-cache", "--watch", "--fix", "--add-ignores", "--env", "-"))
"""Words that make a run unrepeatable: it writes files, reads standard input or the whole environment."""
_WRITES = ("--output-file", "--write-baseline")
_VARIABLES = ("ACCMAP_LANG", "NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")
_ROOMS = ("", "cli", "cli/lint_formats", "rules", "mapper", "mappings", "schemas")


def digest(data: bytes) -> bytes:
    """A digest of some bytes."""
    try:
        from _blake2 import blake2b
    except ImportError:  # a Python built without it
        from hashlib import blake2b
    return blake2b(data, digest_size=20).digest()


def cacheable(words: "Sequence[str]") -> bool:
    """Whether a command line always gives the same answer for the same files."""
    return not any(word in _LIVE or word.startswith(_WRITES) for word in words)


def directory() -> str:
    """Where entries are kept."""
    chosen = os.environ.get("ACCMAP_CACHE_DIR")
    if chosen:
        return chosen
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "accmap")


def entry_path(words: "Sequence[str]", version: str) -> str:
    """The file that would hold the answer to a command line."""
    try:
        columns = os.get_terminal_size().columns if sys.stdout.isatty() else 0
    except OSError:
        columns = 0
    state = (
        _FORMAT,
        version,
        tuple(words),
        os.getcwd(),
        sys.version,
        columns,
        tuple(os.environ.get(name) for name in _VARIABLES),
        _state_of_accmap(),
    )
    return os.path.join(directory(), digest(repr(state).encode("utf-8", "surrogateescape")).hex())


def replay(words: "Sequence[str]", version: str) -> "int | None":
    """Write the answer that is known for a command line and give its exit code; None where there is none."""
    if not cacheable(words):
        return None
    try:
        with open(entry_path(words, version), "rb") as stream:
            data = stream.read()
        if digest(data[20:]) != data[:20]:
            return None
        read, out, code = marshal.loads(data[20:])
        for path, known in read:
            if content_digest(path) != known:
                return None
    except (OSError, ValueError, EOFError, TypeError):
        return None
    sys.stdout.flush()
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()
    return code


def store(words: "Sequence[str]", version: str, read: "Mapping[str, bytes | None]", out: bytes, code: int) -> None:
    """Remember an answer. A cache that cannot be written is no fault of the run."""
    body = marshal.dumps((tuple(read.items()), out, code))
    path = entry_path(words, version)
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as stream:
            stream.write(digest(body) + body)
        os.replace(temporary, path)
        _trim(os.path.dirname(path))
    except OSError:
        return


def content_digest(path: str) -> "bytes | None":
    """The digest of a file; None where there is none that can be read."""
    try:
        with open(path, "rb") as stream:
            return digest(stream.read())
    except IsADirectoryError:  # a pattern looked into it
        return digest(repr(sorted(os.listdir(path))).encode("utf-8", "surrogateescape"))
    except OSError:
        return None


def _trim(folder: str) -> None:
    """Forget the older half where there are very many entries."""
    names = os.listdir(folder)
    if len(names) <= _MOST_ENTRIES:
        return
    aged = sorted((os.stat(os.path.join(folder, name)).st_mtime_ns, name) for name in names)
    for _, name in aged[: len(aged) // 2]:
        os.unlink(os.path.join(folder, name))


def _state_of_accmap() -> "tuple[object, ...]":
    """Size and time of accmap's own modules: an upgrade, or an edit of a checkout, makes every entry stale."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: list[object] = []
    for room in _ROOMS:
        found.extend(_modules(os.path.join(root, room)))
    return tuple(found)


def _modules(folder: str) -> "Iterable[tuple[str, int, int]]":
    try:
        with os.scandir(folder) as entries:
            rows: list[tuple[str, int, int]] = []
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    rows.append((entry.name, status.st_mtime_ns, status.st_size))
                elif (
                    entry.is_dir() and not entry.name.startswith(("_", ".")) and folder.endswith(("schemas", "mapper"))
                ):
                    rows.extend(_modules(os.path.join(folder, entry.name)))
            return sorted(rows)
    except OSError:
        return ()

"""Answers a lint that was run before, if nothing it read has changed.

An entry is named by the command line, the directory, the settings of the terminal and the state of accmap itself. It
holds what was written, the exit code, and the state of everything that was read or looked for on the disk, which the
border notes (`schemas/border/inputs.py`); it is used only if all of it is still the same. Its lines are hexadecimal
digits and one text, so that nothing in it can do more than be compared, and only a folder and files that are this
user's own count. This module is loaded before anything else and imports next to nothing.
"""

import os
import stat
import sys

from ..schemas.border.inputs import digest, open_regular, read_at_once, stamp_key, state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FORMAT = 3
_MOST_ENTRIES = 2000
_LIVE = frozenset(("--no-cache", "--watch", "--fix", "--add-ignores", "--env", "-"))
"""Words that make a run unrepeatable: it writes files, reads standard input or the whole environment."""
_WRITES = ("--output-file", "--write-baseline")
_LONGEST = 64 * 1024 * 1024
_VARIABLES = ("ACCMAP_LANG", "NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "SUDO_UID")
_ROOMS = ("", "api", "cli", "rules", "mapper", "mappings", "schemas")
"""Of a wheel and of a checkout: those that a lint may import from."""


def cacheable(words: "Sequence[str]") -> bool:
    """True if a command line always gives the same answer for the same files."""
    return not any(word in _LIVE or word.startswith(_WRITES) for word in words)


def directory() -> "str | None":
    """Folder of the entries; None if this user has no place for them."""
    chosen = os.environ.get("ACCMAP_CACHE_DIR")
    if chosen:
        return chosen
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "accmap") if os.path.isabs(home) else None


def private_directory() -> "str | None":
    """The folder, if nobody else can fill it; None otherwise."""
    folder = directory()
    if folder is None or checkout_around(folder) is not None:
        return None
    return folder if not os.path.lexists(folder) or _is_private(folder, make=False) else None


def entry_name(words: "Sequence[str]", version: str) -> str:
    """The name of the file that would hold the answer to a command line."""
    try:
        size = tuple(os.get_terminal_size()) if sys.stdout.isatty() else None
    except OSError:
        size = ()
    state = (
        _FORMAT,
        version,
        tuple(words),
        os.getcwd(),
        sys.version,
        sys.path,
        sys.getfilesystemencoding(),
        size,
        sys.stdout.encoding,
        tuple(os.environ.get(name) for name in _VARIABLES),
        _state_of_accmap(),
    )
    return digest(repr(state).encode("utf-8", "surrogateescape")).hex()


def replay(words: "Sequence[str]", version: str) -> "int | None":
    """Write the answer that is known for a command line and give its exit code; None where there is none."""
    folder = directory()
    if folder is None or not cacheable(words) or not _is_private(folder, make=False) or checkout_around(folder):
        return None
    try:
        with open_regular(os.path.join(folder, entry_name(words, version))) as stream:
            if not _is_own(os.fstat(stream.fileno())):
                return None
            data = read_at_once(stream, _LONGEST)
        head, _, rest = data.partition(b"\n")
        if digest(rest).hex().encode() != head:
            return None
        lines, _, out = rest.partition(b"\n\n")
        code, *read = lines.decode("ascii").split("\n")
        for line in read:
            known, _, path = line.partition(" ")
            name = bytes.fromhex(path).decode("utf-8", "surrogateescape")
            if state_of(name).hex() != known:
                return None
        text = out.decode("utf-8", "surrogatepass")
        answer = {"0": 0, "1": 1}.get(code)
    except (OSError, ValueError):
        return None
    if answer is not None:
        _show(text, words)
    return answer


def _show(text: str, words: "Sequence[str]") -> None:
    """Write an answer; on a terminal as the run itself would."""
    if "--no-pager" in words or not sys.stdout.isatty() or any(word.startswith("--format") for word in words):
        sys.stdout.write(text)
        return
    from ..schemas.border.text_output import trust_text
    from .terminal import show_page

    show_page(trust_text(text))


def store(words: "Sequence[str]", version: str, noted: "Mapping[str, bytes]", text: str, code: int) -> None:
    """Remember an answer. A cache that cannot be written is no fault of the run; one that is not used is noted."""
    folder = directory()
    checkout = None if folder is None else checkout_around(folder)
    if folder is None or checkout is not None or not _is_private(folder, make=True):
        if folder is not None and os.path.lexists(folder):
            _tell_not_used(folder, checkout, words)
        return
    states = {key: known or state_of(key) for key, known in noted.items()}
    states.update({key: state_of(key) for key in map(stamp_key, _packages())})
    lines = [str(code)]
    lines += [f"{known.hex()} {key.encode('utf-8', 'surrogateescape').hex()}" for key, known in states.items()]
    rest = "\n".join(lines).encode() + b"\n\n" + text.encode("utf-8", "surrogatepass")
    from ..schemas.border.file_output import NewFile

    try:
        with NewFile(os.path.join(folder, entry_name(words, version)), lasting=False) as new:
            new.stream.write(digest(rest).hex().encode() + b"\n" + rest)
        _trim(folder)
    except OSError:
        return


def checkout_around(folder: str) -> "str | None":
    """The checkout that a folder lies in, which whoever may push to it can fill; None outside of any."""
    path = os.path.realpath(folder)
    while True:
        if os.path.lexists(os.path.join(path, ".git")):
            return path
        path, before = os.path.dirname(path), path
        if path == before:
            return None


def _tell_not_used(folder: str, checkout: "str | None", words: "Sequence[str]") -> None:
    from ..schemas.border.text_output import tell
    from .language import language_in
    from .messages_compiled import say

    why = say.cache_of_others() if checkout is None else say.cache_in_a_checkout(folder=checkout)
    tell(f"accmap: {say.cache_not_used(folder=folder, why=why).text(language_in(list(words)))}")


def _is_private(folder: str, *, make: bool) -> bool:
    """True if the folder is this user's own, and closed to others."""
    try:
        if make:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or not _is_own(status):
            return False
        if make and status.st_mode & 0o077:
            if status.st_mode & 0o022 or not all(map(_is_entry, os.listdir(folder))):
                return False  # somebody else may have written here, or it is a folder for other things
            os.chmod(folder, 0o700)
        return make or not status.st_mode & 0o022
    except OSError:
        return False


def _is_entry(name: str) -> bool:
    """True if a file of this name is the cache's own, whole or half-written."""
    return name.startswith(".accmap-") or (len(name) == 40 and not name.strip("0123456789abcdef"))


def _is_own(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _trim(folder: str) -> None:
    """Forget the older half where there are very many entries."""
    names = [name for name in os.listdir(folder) if _is_entry(name)]
    if len(names) <= _MOST_ENTRIES:
        return
    aged = sorted((os.stat(os.path.join(folder, name)).st_mtime_ns, name) for name in names)
    for _, name in aged[: len(aged) // 2]:
        os.unlink(os.path.join(folder, name))


def _packages() -> "Iterable[str]":
    """The files of other distributions' modules that were imported: another version may give another answer."""
    ours = (__package__ or "").partition(".")[0]
    for name, module in sys.modules.items():
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if file is not None and top != ours and top not in sys.stdlib_module_names and top != "__main__":
            yield os.path.abspath(file)


def _state_of_accmap() -> "tuple[object, ...]":
    """Size and time of accmap's own files: an upgrade, or an edit of a checkout, makes every entry stale."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return (root, *[_files_of(os.path.join(root, room), below=bool(room)) for room in _ROOMS])


def _files_of(folder: str, *, below: bool) -> "list[tuple[str, object, int]]":
    """Every module of a folder, and those of the folders in it; a table that is no module is noted when it is read."""
    found: list[tuple[str, object, int]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir():
                    if below and name[0] not in "_.":
                        found.append((name, _files_of(entry.path, below=True), 0))
                elif name.endswith(".py"):
                    status = entry.stat()
                    found.append((name, status.st_mtime_ns, status.st_size))
    except OSError:
        return found
    found.sort(key=_name_of_row)
    return found


def _name_of_row(row: "tuple[str, object, int]") -> str:
    return row[0]

"""File name patterns, matched against the names in the tree beside the script."""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING
from . import pattern, tree

if TYPE_CHECKING:
    from .session import Session
    from .state import State

MOST_MATCHES = 1_000
_OTHERWISE = ("shopt-globstar", "shopt-dotglob", "shopt-nocaseglob")
"""Options that change what a pattern matches."""


def matched(shell: Session, written: str) -> list[str] | None:
    """The names that a pattern matches, in bash's order; None where that is not certain, or where there is none.

    No match is not certain either: the files may be there when the script runs.
    """
    state = shell.state
    if state.cwd is None or not _is_certain(state, written):
        return None
    found = ["/" if written.startswith("/") else ""]
    plain = True
    for part in [part for part in written.split("/") if part]:
        plain = plain and not pattern.has_pattern(part, extended="shopt-extglob" in state.options)
        if plain:
            found = [posixpath.join(path, part) for path in found]
            continue
        found = _below(shell, state.cwd, found, part)
        if not found or len(found) > MOST_MATCHES:
            return None
    return found


def _is_certain(state: State, written: str) -> bool:
    """Whether nothing but the pattern and the names decide what it matches."""
    settled = "GLOBIGNORE" not in state.variables and state.options.isdisjoint(_OTHERWISE)
    return settled and "\\" not in written and not written.endswith("/")


def _below(shell: Session, cwd: str, paths: list[str], part: str) -> list[str]:
    """What one part of a pattern matches in some directories; nothing where one of them is not known."""
    extended = "shopt-extglob" in shell.state.options
    found: list[str] = []
    for path in paths:
        names = _names(shell, posixpath.normpath(posixpath.join(cwd, path)))
        if names is None:
            return []
        shown = [name for name in names if part[0] == "." or name[0] != "."]
        found.extend([posixpath.join(path, name) for name in shown if _matches(part, name, extended=extended)])
    shell.spend(len(found))
    return found


def _matches(part: str, name: str, *, extended: bool) -> bool:
    try:
        return pattern.matches([(part, False)], name, extended=extended)
    except pattern.TooHardError:
        return False


def _names(shell: Session, directory: str) -> list[str] | None:
    """The names in a directory of the tree, unless the script itself changes them."""
    below = posixpath.join(directory, "")
    shell.spend((len(shell.touched) + len(shell.removed)) // 32 + 1)
    if not (tree.within(directory, shell.roots) or directory in shell.roots):
        return None
    if shell.list_directory is None or any(path.startswith(below) for path in shell.removed):
        return None
    names = shell.list_directory(directory)
    if names is None:
        return None
    shell.spend(len(names) // 16 + 1)
    held = set(names)
    made = [path[len(below) :].partition("/")[0] for path in shell.touched if path.startswith(below)]
    return names if held.issuperset(made) else None

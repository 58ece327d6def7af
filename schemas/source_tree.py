"""The version of the framework whose source tree a file stands in, or whose folder a launch changes to.

Megatron-LM says its version in `megatron/core/package_info.py` (0.12-0.19), MindSpore Transformers in
`mindformers/__init__.py` (1.6-2.1); its development branch (2026-07) still says 1.9.0 there, and has the code of 2.1.
"""

from __future__ import annotations

import os

from .border.inputs import is_file
from .diagnostic import UnreadableError
from .fast_records import TYPE_CHECKING
from .versions import number_of
from .versions_compiled import MARKS, TREES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .config import Framework, Launch
    from .source import SourceText

_NAMES = {
    "megatron": os.path.join("megatron", "core", "package_info.py"),
    "mindformers": os.path.join("mindformers", "__init__.py"),
}
_LEVELS = 7
"""How many folders up a tree's root may be: functional tests stand five below it."""


def tree_version(
    framework: Framework, folders: Iterable[str], open_file: Callable[[str], SourceText]
) -> tuple[str, str] | None:
    """Version of the nearest source tree at or above these folders, and the file that states it."""
    name = _NAMES[framework]
    for here in _at_or_above(folders):
        path = os.path.join(here, name)
        if is_file(path):
            found = _stated_version(framework, path, open_file)
            if found is not None:
                return _version_by_marks(framework, path, found) or (found, path)
    return None


def checkout_version(marks: Iterable[tuple[str, str]], folders: Iterable[str]) -> tuple[str, str] | None:
    """Version of a fork's nearest checkout at or above these folders, and the file that shows it.

    `marks` are versions, newest first, each with a file that came with it.
    """
    for here in _at_or_above(folders):
        for version, mark in marks:
            path = os.path.join(here, *mark.split("/"))
            if is_file(path):
                return version, path
    return None


def _at_or_above(folders: Iterable[str]) -> Iterator[str]:
    """Each folder and those above it, once."""
    seen: set[str] = set()
    for folder in folders:
        here = os.path.abspath(folder)
        for _ in range(_LEVELS):
            if here in seen:
                break
            seen.add(here)
            yield here
            above = os.path.dirname(here)
            if above == here:
                break
            here = above


def folders_of(launch: Launch | None, path: str, cwd: str) -> list[str]:
    """Folders in which a launch's source tree may be."""
    folders: list[str] = []
    if launch is not None:
        start = launch.directory or cwd
        script = launch.script or ""
        if script.endswith(".py") and not set(script) & set("$`*?"):
            folders.append(os.path.dirname(os.path.join(start, script)))
        elif launch.directory:
            folders.append(start)
    if path != "-":
        folders.append(os.path.dirname(os.path.join(cwd, path)))
    return folders


def version_of_known_folder(launch: Launch | None, text: str) -> tuple[str, str] | None:
    """Version and name of a known folder on `PYTHONPATH`.

    The words of the script are searched: what stands before the folder is often what a program prints.
    """
    span = None if launch is None else launch.env_spans.get("PYTHONPATH")
    if span is None or span.file is not None:
        return None
    words = "".join(text.splitlines()[span.line - 1 : span.end_line])
    for mark in ":\"'":
        words = words.replace(mark, "/")
    return next(((TREES[part], part) for part in words.split("/") if part in TREES), None)


def _version_by_marks(framework: Framework, path: str, said: str) -> tuple[str, str] | None:
    """Newest version whose distinctive file the tree has, and that file."""
    for version, mark in MARKS[framework]:
        if number_of(version) <= number_of(said):
            return None
        file = os.path.join(os.path.dirname(path), *mark.split("/"))
        if is_file(file):
            return version, file
    return None


def _stated_version(framework: Framework, path: str, open_file: Callable[[str], SourceText]) -> str | None:
    """Version assigned in a source file; None if the file has none."""
    try:
        text = open_file(path).text
    except UnreadableError:
        return None
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and name.strip() in ("MAJOR", "MINOR", "PATCH", "__version__"):
            values.setdefault(name.strip(), value.partition("#")[0].strip().strip("'\""))
    if framework == "megatron":
        parts = [values.get(name, "") for name in ("MAJOR", "MINOR", "PATCH")]
        return ".".join(part for part in parts if part.isdigit()) if parts[0].isdigit() and parts[1].isdigit() else None
    version = values.get("__version__", "")
    return version if version[:1].isdigit() else None

"""What a hostile case is: a command line, and the files that it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


class Case(NamedTuple):
    """`files` are written into a folder that also holds good.sh and good.yaml; then `prepare` makes what is no file."""

    name: str
    words: tuple[str, ...]
    files: Mapping[str, bytes | str | Callable[[], bytes]]
    """A content that takes long to make is a function: it is made when its case runs."""
    prepare: Callable[[Path], object] | None = None
    codes: tuple[int, ...] = (0, 1, 2)
    says: tuple[str, ...] = ()
    """Texts of which the answer or the complaint has one."""
    stdin: str | None = None
    cpu_seconds: int = 10
    megabytes: int | None = None
    """What the command may take beside twice the size of its files; None: a gigabyte in all."""
    fuzz: bool = True
    """Left to the part `fuzz`; the others run in every run."""


def words_of(line: str) -> tuple[str, ...]:
    return tuple(word for word in line.split(" ") if word)


def content_of(given: bytes | str | Callable[[], bytes]) -> bytes:
    content = given() if callable(given) else given
    return content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")

"""Checksums of files: XXH3, which costs a copy nothing, and SHA-256 where somebody asks for it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ...schemas.border.inputs import open_regular
from ...schemas.installation import install_command
from .messages_compiled import say
from .problems import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer

XXH3, SHA256 = "xxh3_128", "sha256"
KNOWN = (XXH3, SHA256)
"""The fastest first."""
_BLOCK = 1 << 22


class Sums:
    """The checksums of what is fed to it, by their names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._digests = {name: _begun(name) for name in names}

    def add(self, data: Buffer) -> None:
        """Take the next bytes."""
        for digest in self._digests.values():
            digest.update(data)

    def found(self) -> dict[str, str]:
        """In hexadecimal digits, by name."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}


def sums_in(entry: Mapping[str, Any]) -> dict[str, str]:
    """The checksums among what is said of a file."""
    return {name: entry[name] for name in KNOWN if isinstance(entry.get(name), str)}


def has_sums(path: str, known: Mapping[str, str]) -> bool:
    """Whether a file's bytes have one of these checksums, the fastest."""
    name = next(name for name in KNOWN if name in known)
    sums = Sums((name,))
    with open_regular(path) as stream:
        while block := stream.read(_BLOCK):
            sums.add(block)
    return sums.found()[name] == known[name]


def _begun(name: str) -> Any:
    if name == SHA256:
        return hashlib.sha256()
    try:
        from xxhash import xxh3_128
    except ImportError:
        unreadable(say.extra_needed(package="xxhash", install=install_command("evidence")), "xxhash")
    return xxh3_128()

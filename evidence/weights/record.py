"""Whether a conversion's record says that two folders hold the same weights.

Every conversion leaves `accmap-weights.json`: from which folder, in which state, with which number type, and the
checksum of each file. Two folders are known to be equal where one was converted from the other, or both from one
third, nothing was changed since, and the number types are the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from .conversion import state_of
from .places import checkpoint_at
from .writing import MANIFEST, check_manifest, read_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Record(NamedTuple):
    """Whether two folders hold the same weights, and why in both languages."""

    same: bool
    en: str
    zh: str


def recorded(a: str, b: str) -> Record:
    """What the records of two folders say; UnreadableError where a record cannot be read."""
    found = {folder: _conversion(folder) for folder in (a, b)}
    made = {folder: about for folder, about in found.items() if about is not None}
    if not made:
        return _no(f"neither {a} nor {b} has a conversion's {MANIFEST}", f"{a} 与 {b} 均没有转换记录 {MANIFEST}")
    for folder in made:
        if check_manifest(folder):
            return _no(f"{folder} is not as its conversion left it", f"{folder} 与其转换记录不符")
    for folder, about in made.items():
        if not _as_it_was(about, folder):
            source = about.get("source")
            return _no(f"{source} has changed since {folder} was made", f"生成 {folder} 之后 {source} 已改变")
    gone = next((folder for folder in (a, b) if not os.path.exists(folder)), None)
    if gone is not None:
        return _no(f"{gone} is not here", f"{gone} 不存在")
    if len(made) == 2:
        return _from_one_source(a, b, made[a], made[b])
    ((folder, about),) = made.items()
    return _from_the_other(folder, b if folder == a else a, about)


def _from_one_source(a: str, b: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> Record:
    if one.get("source") != two.get("source"):
        return _no(f"{a} and {b} were converted from different folders", f"{a} 与 {b} 由不同目录转换而来")
    types = one.get("dtype"), two.get("dtype")
    if types[0] != types[1]:
        return _no(
            f"{a} was written as {types[0]}, {b} as {types[1]}", f"{a} 以 {types[0]} 写出，{b} 以 {types[1]} 写出"
        )
    source = one.get("source")
    if one.get("source_state") != two.get("source_state"):
        return _no(
            f"{source} had changed between the conversions of {a} and {b}", f"转换 {a} 与 {b} 之间 {source} 发生过改变"
        )
    return Record(True, f"both were converted from {source}", f"两者均由 {source} 转换而来")


def _from_the_other(folder: str, other: str, about: Mapping[str, Any]) -> Record:
    source, dtype = about.get("source"), about.get("dtype")
    if source not in _places(other):
        return _no(
            f"{folder} was converted from {source}, not from {other}", f"{folder} 由 {source} 转换而来，而不是 {other}"
        )
    if dtype is not None:
        return _no(f"{folder} was cast to {dtype}, {other} was not", f"{folder} 已转换为 {dtype}，{other} 未转换")
    return Record(True, f"{folder} was converted from {other}", f"{folder} 由 {other} 转换而来")


def _places(folder: str) -> set[str]:
    """The folder, and that of the iteration which its tracker names, from where a conversion reads it."""
    found = checkpoint_at(folder)
    return {os.path.abspath(folder), *([] if found is None else [os.path.abspath(found.folder)])}


def _no(en: str, zh: str) -> Record:
    return Record(False, en, zh)


def _conversion(folder: str) -> Mapping[str, Any] | None:
    path = os.path.join(folder, MANIFEST)
    if not os.path.isfile(path):
        return None
    manifest = read_manifest(path)
    return manifest["conversion"] if manifest["state"]["complete"] else None


def _as_it_was(about: Mapping[str, Any], output: str) -> bool:
    """Whether the source still is what was converted; a source that is gone contradicts nothing."""
    source = str(about.get("source"))
    return not os.path.exists(source) or state_of(source, output) == about.get("source_state")

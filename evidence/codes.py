"""Every code with which this room reports a problem, and the commands that do.

They are `docs/evidence-codes.md`; `accmap explain CODE` shows one entry.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from ..schemas.diagnostic import Kind

_PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "": (("EVD080", "doctor"), ("EVD089", "check npy"), ("EVD095", "check scores"), ("EVD111", "check answers")),
    ".logs": (("EVD001", "logs"),),
    ".dump": (("EVD020", "dump config"), ("EVD030", "dump compare"), ("EVD110", "dump config")),
    ".weights": (("EVD040", "weights convert, weights check"),),
    ".data": (("EVD060", "data check"),),
}
"""Folders with a catalogue, and the commands that meet their problems, from a code on."""


class Code(NamedTuple):
    """One code: the sentences that it stands for."""

    code: str
    commands: str
    kinds: tuple[Kind, ...]


def codes() -> dict[str, Code]:
    """All diagnostic codes of this room, in order."""
    found: dict[str, Code] = {}
    for module, parts in _PARTS.items():
        for kind in import_module(f"{module}.messages_compiled", __package__).say.kinds.values():
            commands = max((part for part in parts if part[0] <= kind.code), default=parts[0])[1]
            known = found.get(kind.code, Code(kind.code, commands, ()))
            if kind.code.startswith("EVD"):
                found[kind.code] = known._replace(kinds=(*known.kinds, kind))
    return dict(sorted(found.items()))


def products() -> dict[str, str]:
    """Text of the page that lists all codes, in both languages, by file name."""
    english, chinese = (say.page("codes", language) for language in ("en", "zh"))
    lines = [f"# {english('heading')} / {chinese('heading')}", "", f"{english('about')} / {chinese('about')}", ""]
    for code in codes().values():
        lines += [f"## {code.code}", "", f"`{code.kinds[0].name}` · {code.kinds[0].severity} · {code.commands}", ""]
        for kind in code.kinds:
            lines += [f"- {kind.en}", f"- {kind.zh}"]
        lines.append("")
    return {"docs/evidence-codes.md": "\n".join(lines).rstrip() + "\n"}

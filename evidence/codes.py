"""Every code with which this room reports a problem, and the commands that do.

They are `docs/evidence-codes.md`; `accmap explain CODE` shows one entry.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schemas.diagnostic import Kind

_PARTS = {
    "logs.problems": "logs",
    "dump.config_problems": "dump config",
    "dump.compare_problems": "dump compare",
    "weights.problems": "weights convert, weights check",
    "data.problems": "data check",
    "environment_problems": "doctor",
    "arrays": "check npy",
    "array_check": "check npy",
    "scores": "check scores",
}
"""Modules that hold a table `PROBLEMS`, and the commands in which its problems are met."""


class Code(NamedTuple):
    """One code: the sentences that it stands for."""

    code: str
    commands: str
    kinds: tuple[Kind, ...]


def codes() -> dict[str, Code]:
    """All of them, in order."""
    found: dict[str, Code] = {}
    for module, commands in _PARTS.items():
        problems: Mapping[str, Kind] = import_module(f".{module}", __package__).PROBLEMS
        for kind in problems.values():
            known = found.get(kind.code, Code(kind.code, commands, ()))
            if kind.code.startswith("EVD"):
                found[kind.code] = known._replace(kinds=(*known.kinds, kind))
    return dict(sorted(found.items()))


def products() -> dict[str, str]:
    """The page of all codes, in both languages."""
    lines = ["# Codes of evidence / 证据类代码", ""]
    lines += ["What the commands that look at real runs report. / 检查实际训练的命令所报告的问题。", ""]
    for code in codes().values():
        lines += [f"## {code.code}", "", f"`{code.kinds[0].name}` · {code.kinds[0].severity} · {code.commands}", ""]
        for kind in code.kinds:
            lines += [f"- {kind.en}", f"- {kind.zh}"]
        lines.append("")
    return {"docs/evidence-codes.md": "\n".join(lines).rstrip() + "\n"}

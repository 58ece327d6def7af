"""The version that a file was written for, where accmap wrote it: its first lines say so."""

from __future__ import annotations

from .light_typing import TYPE_CHECKING
from .versions import TITLES

if TYPE_CHECKING:
    from .versions import Framework

_HEAD = 400
"""Characters that its header begins within."""


def title_of(framework: Framework, version: str) -> str:
    """A framework and a version, as a header names them; a release of Megatron-LM by its branch."""
    branch = framework == "megatron" and version[0].isdigit()
    return f"{TITLES[framework]} core_r{version}.0" if branch else f"{TITLES[framework]} {version}"


def written_for(framework: Framework, text: str) -> str | None:
    """What a header says; None where there is none."""
    head = text[:_HEAD]
    if "accmap" not in head:
        return None
    import re

    found = re.search(rf"^# {TITLES[framework]} (?:core_r)?(main|\d+\.\d+)\b[^\n]* accmap ", head, re.MULTILINE)
    return None if found is None else found[1]

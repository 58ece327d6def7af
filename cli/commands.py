"""All commands of the program, and which of them a command line names."""

from __future__ import annotations

from itertools import takewhile

from ..schemas.fast_records import TYPE_CHECKING
from .evidence.options_compiled import COMMANDS as _EVIDENCE
from .options import COMMANDS, commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Command

ALL_COMMANDS: dict[str, Command] = {**COMMANDS, **commands(_EVIDENCE)}


def named(words: Sequence[str]) -> Command | None:
    """The command that the first words name; a name of two words goes before one of its first."""
    return ALL_COMMANDS.get(" ".join(words[:2])) or ALL_COMMANDS.get(words[0])


def is_known(words: Sequence[str]) -> bool:
    """Whether the words before the first option name a command, a group of them, or nothing at all."""
    plain = list(takewhile(lambda word: not word.startswith("-"), words[:2]))
    return not plain or named(words) is not None or (len(plain) == 1 and bool(members(plain[0])))


def members(group: str) -> tuple[str, ...]:
    """The second words that may follow a first one: `dump` has `config` and `compare`."""
    return tuple(name.partition(" ")[2] for name in ALL_COMMANDS if name.startswith(f"{group} "))

"""Every command and every option, from the table that `options.yaml` is.

It feeds the parser of every command line (`argument_parser.py`, which imports nothing heavy) and the Typer application
(`help_pages.py`), which prints help and completes words in a shell. The commands that look at real runs stand in a
table of their own (`evidence/options_compiled.py`), so that a lint, which runs before every launch, does not read it.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from .options_compiled import COMMANDS as _COMMANDS
from .options_compiled import READING as _READING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

Kind: TypeAlias = "Literal['flag', 'value', 'list', 'rest']"


class Option(NamedTuple):
    """One option. `rest` takes as many words as follow; `list` may be repeated."""

    names: tuple[str, ...]
    help: str
    help_zh: str
    kind: Kind = "value"
    type: Literal["str", "int", "float"] = "str"
    choices: tuple[str, ...] = ()
    default: object = None
    metavar: str | None = None
    most: int | None = None
    """How many words `rest` takes at most; the words after them are operands again."""

    @property
    def dest(self) -> str:
        """The name of the parameter that receives the value."""
        name = self.names[0].lstrip("-").replace("-", "_")
        return f"{name}_" if name == "from" else name  # a word of Python's own cannot be a parameter


class Command(NamedTuple):
    """One command: its words, how many files it takes, and its options."""

    name: str
    module: str
    help: str
    help_zh: str
    operands: str
    minimum: int
    maximum: int | None
    options: tuple[Option, ...]
    reads: bool = True
    takes_flags: bool = False
    """True if an operand may be a flag of another program: `accmap explain --num-layers`."""
    runs_others: bool = False
    """True if it runs other commands on the same terminal, which tell there how far they are."""


def _options(rows: Iterable[tuple[Any, ...]]) -> tuple[Option, ...]:
    """The options of compiled rows."""
    return tuple(map(Option._make, rows))


def _commands_by_name(rows: Mapping[str, tuple[Any, ...]]) -> dict[str, Command]:
    return {name: Command(*row)._replace(options=_options(row[7])) for name, row in rows.items()}


READING = _options(_READING)
COMMANDS = _commands_by_name(_COMMANDS)
_every: dict[str, Command] = {}


def all_commands() -> Mapping[str, Command]:
    """All commands of the program by name, those that look at real runs included."""
    if not _every:
        from .evidence.options_compiled import COMMANDS as OF_EVIDENCE

        _every.update({**COMMANDS, **_commands_by_name(OF_EVIDENCE)})
    return _every


def command_named(words: Sequence[str]) -> Command | None:
    """The command that the first words name; a name of two words goes before one of its first."""
    return all_commands().get(" ".join(words[:2])) or all_commands().get(words[0])


def group_members(group: str) -> tuple[str, ...]:
    """The second words that may follow a first one: `dump` has `config` and `compare`."""
    return tuple(name.partition(" ")[2] for name in all_commands() if name.startswith(f"{group} "))


def options_of(command: Command) -> tuple[Option, ...]:
    """All options of a command: its own and, where it reads files, the reading options."""
    return command.options + reading_options(command)


def reading_options(command: Command) -> tuple[Option, ...]:
    """The reading options that a command takes: a name of its own means something else (`data check --steps 0,2-4`)."""
    if not command.reads:
        return ()
    own = {option.dest for option in command.options}
    return tuple([option for option in READING if option.dest not in own])

"""The arguments that each Megatron-LM version knows, by option string and by destination.

The facts stand in `arguments.json`, read out of the real argument parsers; `fact_store.py` turns them into
one plain literal module a version, so that reading a file loads the arguments of a single version only.
"""

from __future__ import annotations

from ..diagnostic import UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..versions import default_name, known_names, minor_of, names, nearest_version
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, TypeAlias

    from ..config import Value

VERSIONS = names("megatron")
DEFAULT_VERSION = default_name("megatron", "megatron")

Nargs: TypeAlias = "int | Literal['?', '*', '+'] | None"
Kind: TypeAlias = "Literal['store', 'true', 'false', 'switch']"
"""What an option does: store its value, store true, store false, or `--x`/`--no-x` (a boolean switch)."""


class ArgumentFact(NamedTuple):
    """One `add_argument` of a version's parser."""

    options: tuple[str, ...]
    dest: str
    type: str | None
    nargs: Nargs
    const: Value
    default: Value
    choices: tuple[Value, ...] | None
    action: Kind
    group: str


class Catalog(NamedTuple):
    """Every argument of one version."""

    version: str
    arguments: tuple[ArgumentFact, ...]
    by_option: Mapping[str, ArgumentFact]
    by_dest: Mapping[str, ArgumentFact]
    """The first argument that writes a destination: argparse takes the default from it. Two flags that turn it on and
    off are one switch."""
    own_program: str = ""
    """What a program is called that takes none of Megatron-LM's arguments but its own."""
    abbreviates: bool = False
    """True if its parser takes the beginning of one option for that option."""

    def option(self, name: str) -> ArgumentFact | None:
        """Argument for an option, complete or uniquely abbreviated."""
        found = self.by_option.get(name)
        if found is not None or not self.abbreviates or not name.startswith("--") or len(name) < 3:
            return found
        fitting = [fact for option, fact in self.by_option.items() if option.startswith(name)]
        return fitting[0] if len(fitting) == 1 else None

    @property
    def program(self) -> str:
        """Name of the program whose arguments these are."""
        return self.own_program or f"Megatron-LM {self.version}"

    def knows(self, dest: str) -> bool:
        """True if the version has an argument with this destination."""
        return dest in self.by_dest


_loaded: dict[str, Catalog] = {}


def catalog(version: str) -> Catalog:
    """All arguments of a version."""
    found = _loaded.get(version)
    if found is None:
        module = named_module(f"catalog_{version.replace('.', '_')}_compiled", __package__)
        found = _loaded[version] = catalog_of(version, map(ArgumentFact._make, module.ARGUMENTS))
    return found


def catalog_of(version: str, facts: Iterable[ArgumentFact]) -> Catalog:
    """Catalog with lookup tables for these arguments."""
    arguments = tuple(facts)
    by_dest: dict[str, ArgumentFact] = {}
    for argument in arguments:
        first = by_dest.setdefault(argument.dest, argument)
        if (first.action, argument.action) == ("true", "false"):
            by_dest[argument.dest] = first._replace(options=first.options + argument.options, action="switch")
    by_option = {option: argument for argument in arguments for option in argument.options}
    return Catalog(version, arguments, by_option, by_dest)


def with_arguments(known: Catalog, facts: Iterable[ArgumentFact]) -> Catalog:
    """Catalog with a fork's arguments added or replacing those of equal name."""
    added = tuple(facts)
    replaced = {option for fact in added for option in fact.options}
    kept = [fact for fact in known.arguments if replaced.isdisjoint(fact.options)]
    dests = {fact.dest for fact in added}
    first = [*added, *(fact for fact in kept if fact.dest not in dests), *(fact for fact in kept if fact.dest in dests)]
    return catalog_of(known.version, first)


def normalise_version(text: str, where: str = "--megatron") -> str:
    """`0.12` for `0.12`, `0.12.3`, `core_r0.12.0`, `core_v0.12.1`, and `main`; UnreadableError for one not known."""
    version = minor_of(text) or text.strip()
    if version not in VERSIONS:
        raise UnreadableError(
            diagnose(
                say.unknown_version(given=text, known=known_names("megatron"), nearest=nearest_version(text, VERSIONS)),
                where,
            )
        )
    return version

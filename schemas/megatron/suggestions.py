"""What an unknown flag was probably meant to be: a renamed argument, or one that is spelled nearly alike."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from ..suggestion import closest, slip
from .names_compiled import MEANT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .catalog import Catalog


def _misspelt(flag: str, better: str) -> bool:
    """Whether `flag` is `better` with a slip: underscores, letters swapped, one too many or too few.

    A flag that a fork adds is seldom that near to one of Megatron-LM's; what is, its parser refuses.
    """
    return flag in MEANT or slip(flag, better)


def cut_or_denied(flag: str, known: Catalog) -> str | None:
    """A known option without its last word (`--num-attention`), or one that `no-` was put before or taken from.

    A fork may well have such an argument, so that this counts only where a file has few arguments that are unknown.
    """
    words = "--" + flag.lstrip("-").replace("_", "-")
    for other in (f"--no-{words[2:]}", f"--{words[5:]}" if words.startswith("--no-") else ""):
        if other in known.by_option:
            return other
    if words.count("-") < _TWO_WORDS:
        return None
    longer = [option for option in known.by_option if option.rpartition("-")[0] == words]
    return longer[0] if longer else None


_TWO_WORDS = 3
"""The hyphens of an option of two words."""


def glued(flag: str, known: Catalog) -> tuple[str, str] | None:
    """A known option and its value, where the blank between them is missing: `--rotary-base10000`."""
    for end in range(len(flag) - 1, 3, -1):
        fact = known.by_option.get(flag[:end])
        if fact is None or fact.action != "store":
            continue
        value = flag[end:]
        if fact.choices is not None:
            alike = value in map(str, fact.choices)
        else:
            alike = fact.type in ("int", "float") and value[0].isdigit() and _NUMBER.issuperset(value)
        return (flag[:end], value) if alike else None
    return None


_NUMBER = frozenset("0123456789.eE+-")


def meant(flag: str, known: Catalog) -> str | None:
    """The destination of the argument that an unknown flag is a slip of."""
    apart = glued(flag, known)
    if apart is not None:
        return known.by_option[apart[0]].dest
    better = suggestion(flag, known)
    if better is None or not _misspelt(flag, better):
        better = cut_or_denied(flag, known)
    return None if better is None else known.by_option[better].dest


def suggestion(flag: str, known: Catalog) -> str | None:
    """The option of this version that `flag` most likely stands for."""
    for better in MEANT.get(flag, ()):
        if better in known.by_option:
            return better
    words = "--" + flag.lstrip("-").replace("_", "-")
    if words in known.by_option:
        return words
    return next((other for other in _swapped(words[2:]) if other in known.by_option), None) or closest(
        words, known.by_option
    )


def _swapped(name: str) -> Iterator[str]:
    """A name so short that it shares few letters with any other (`--rl`), with two neighbours swapped."""
    for at in range(len(name) - 1) if len(name) < _SHORT else ():
        yield f"--{name[:at]}{name[at + 1]}{name[at]}{name[at + 2 :]}"


_SHORT = 4

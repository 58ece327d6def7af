"""The values that a framework's formula reads, under the framework's own names.

A formula is written as the framework's code is: over `args.hidden_size` or `config.hidden_size`. What it asks for is
noted, because that is what feeds the quantity; a value that reading alone cannot decide ends the formula.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from .facts_compiled import ANOTHER_NETWORK, SINCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ...schemas.config import Config, Setting

TOO_ODD = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
"""What a formula over values of a kind that nobody expects raises."""


MOST_LAYERS = 100_000


class UndecidedError(Exception):
    """A formula needs a value that cannot be decided, or the run is none that it knows."""


def layers_in(number: Any) -> int:
    """A number of layers, of which lists are made; a formula ends where no model has as many."""
    count = whole(number)
    if count > MOST_LAYERS:
        raise UndecidedError
    return count


def whole(value: Any) -> int:
    """A size; a formula ends at anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UndecidedError
    return value


def keys_below(settings: Mapping[str, Setting], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that begin so, in the file's order."""
    return tuple([key for key in settings if key.startswith(prefixes)])


class Values:
    """The values of one configuration below a prefix; None where this version has no such value."""

    def __init__(self, config: Config, prefix: str = "") -> None:
        self._settings: Mapping[str, Setting] = config.settings
        self._prefix = prefix
        self._config = config
        self._asked: dict[str, None] = {}
        self._another_key: list[str | None] = []
        """The answer of `_another_network`, found once."""

    def __getattr__(self, name: str) -> Any:
        return self.get(self._prefix + name)

    def get(self, key: str) -> Any:
        """The value of a key by its whole name."""
        setting = self._settings.get(key)
        if setting is None:
            return None
        self._asked[key] = None
        if not setting.decided or setting.overridable:
            raise UndecidedError(key)
        return setting.value

    def fork_words(self, key: str) -> tuple[str, ...]:
        """The words of the file behind a value, where a fork's own say it; empty where they are the value's."""
        setting = self._settings.get(self._prefix + key)
        if setting is None or setting.origin != "derived" or setting.raw is None:
            return ()
        return setting.raw

    def does(self, word: str) -> bool:
        """True if the code of this version does what a word of facts.yaml stands for."""
        return self._config.framework_version in SINCE[self._config.framework][word]

    def require_known_network(self) -> None:
        """End the formula where something makes another network than it knows."""
        if not self._another_key:
            self._another_key.append(self._another_network())
        other = self._another_key[0]
        if other is not None:
            self._asked[other] = None
            raise UndecidedError(other)

    def _another_network(self) -> str | None:
        """The key that makes another network than the formulas know; None if there is none."""
        framework = self._config.framework
        for name in ANOTHER_NETWORK[framework]:
            setting = self._settings.get(self._prefix + name)
            if setting is not None and (setting.value or not setting.decided):
                return setting.key
        if framework == "megatron":
            for setting in self._settings.values():
                if setting.acceptance == "unknown":  # a fork's own argument may make any network
                    return setting.key
        return None

    def again(self, keys: Iterable[str]) -> None:
        """Note what was asked for before and is used once more."""
        self._asked.update(dict.fromkeys(keys))

    def take_keys(self) -> tuple[str, ...]:
        """The keys that were asked for since the last call."""
        found = tuple(self._asked)
        self._asked = {}
        return found

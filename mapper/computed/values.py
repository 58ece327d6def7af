"""The values that a framework's formula reads, under the framework's own names.

A formula is written as the framework's code is: over `args.hidden_size` or `config.hidden_size`. What it asks for is
noted, because that is what feeds the quantity; a value that reading alone cannot decide ends the formula.
"""

from __future__ import annotations

from itertools import compress

from ...schemas.light_typing import TYPE_CHECKING, NamedTuple, cast
from .facts_compiled import ANOTHER_NETWORK, SINCE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Setting
    from ..recipe.values import RecipeValue

    Settings: TypeAlias = Mapping[str, Setting]
    Question: TypeAlias = tuple[Callable[..., tuple[str, ...]], tuple[Any, ...]]
    """What is asked of all settings at once: a function of them, and what else it is told."""

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


_EVERYTHING = "*"


class Noted:
    """The settings of one configuration, which note what of them was asked for.

    A formula is a function of what it asks for: where another file gives the same answers, it says the same again.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[Question, tuple[str, ...]] = {}
        self.taken: dict[str | Question, None] = {}
        """The keys and the questions since this was last emptied."""

    def get(self, key: str) -> Setting | None:
        """A setting; None where there is none."""
        self.taken[key] = None
        return self._settings.get(key)

    def __getitem__(self, key: str) -> Setting:
        self.taken[key] = None
        return self._settings[key]

    def __contains__(self, key: str) -> bool:
        self.taken[key] = None
        return key in self._settings

    def __iter__(self) -> Iterator[str]:
        self.taken[_EVERYTHING] = None
        return iter(self._settings)

    def __len__(self) -> int:
        self.taken[_EVERYTHING] = None
        return len(self._settings)

    def keys(self) -> Iterable[str]:
        """Every key, which no other file has just so."""
        return list(self)

    def values(self) -> Iterable[Setting]:
        """Every setting, the same."""
        return [self._settings[key] for key in self]

    def items(self) -> Iterable[tuple[str, Setting]]:
        """Every key with its setting, the same."""
        return [(key, self._settings[key]) for key in self]

    def ask(self, question: Callable[..., tuple[str, ...]], *about: Any) -> tuple[str, ...]:
        """The answer to a question of all settings, looked for once."""
        asked = question, about
        self.taken[asked] = None
        if asked not in self._known:
            self._known[asked] = question(self._settings, *about)
        return self._known[asked]


def noting(config: Config) -> tuple[Config, Noted]:
    """The same configuration with settings that note what is asked of them, and the notes."""
    noted = Noted(config.settings)
    return config._replace(settings=cast("Settings", noted)), noted


class Answers(NamedTuple):
    """What one formula said, and all that it asked for."""

    fields: Mapping[FieldName, RecipeValue]
    keys: frozenset[str]
    questions: tuple[tuple[Question, tuple[str, ...]], ...]

    def hold(self, noted: Noted, changed: Collection[str]) -> bool:
        """Whether a file in which these keys have `changed` gives the same answers."""
        return (
            _EVERYTHING not in self.keys
            and self.keys.isdisjoint(changed)
            and all(noted.ask(question, *about) == known for (question, about), known in self.questions)
        )


def keys_below(settings: Settings, prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that begin so, in the file's order."""
    return asked_of(settings, _keys_below, prefixes)


def asked_of(settings: Settings, question: Callable[..., tuple[str, ...]], *about: Any) -> tuple[str, ...]:
    """The answer to a question of all settings, noted where that is done."""
    noted = cast("object", settings)
    return noted.ask(question, *about) if isinstance(noted, Noted) else question(settings, *about)


_MOST_KEYS = 10_000
_beginnings: dict[tuple[str, ...], dict[str, bool]] = {}
"""Whether keys begin so: the same few hundred are in every file."""


def _keys_below(settings: Settings, prefixes: tuple[str, ...]) -> tuple[str, ...]:
    known = _beginnings.get(prefixes, {})
    found = list(map(known.get, settings))
    if None in found:
        new = {key: key.startswith(prefixes) for key in settings}
        _beginnings[prefixes] = {**known, **new} if len(known) < _MOST_KEYS else new
        found = list(new.values())
    return tuple(compress(settings, found))


def _words_behind(settings: Settings, key: str) -> tuple[str, ...]:
    setting = settings.get(key)
    if setting is None or setting.origin != "derived" or setting.raw is None:
        return ()
    return setting.raw


def _another_network(settings: Settings, framework: str, prefix: str) -> tuple[str, ...]:
    """The key that makes another network than the formulas know; none where nothing does."""
    for name in ANOTHER_NETWORK[framework]:
        setting = settings.get(prefix + name)
        if setting is not None and (setting.value or not setting.decided):
            return (setting.key,)
    if framework == "megatron":
        for setting in settings.values():
            if setting.acceptance == "unknown":  # a fork's own argument may make any network
                return (setting.key,)
    return ()


class Values:
    """The values of one configuration below a prefix; None where this version has no such value."""

    def __init__(self, config: Config, prefix: str = "") -> None:
        self._settings: Mapping[str, Setting] = config.settings
        self._prefix = prefix
        self._config = config
        self._asked: dict[str, None] = {}

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

    def written(self, key: str) -> tuple[str, ...]:
        """The words of the file behind a value, where a fork's own say it; empty where they are the value's."""
        return asked_of(self._settings, _words_behind, self._prefix + key)

    def does(self, word: str) -> bool:
        """Whether the code of this version does what a word of facts.yaml stands for."""
        return self._config.framework_version in SINCE[self._config.framework][word]

    def require_known_network(self) -> None:
        """End the formula where something makes another network than it knows."""
        for other in asked_of(self._settings, _another_network, self._config.framework, self._prefix):
            self._asked[other] = None
            raise UndecidedError(other)

    def again(self, keys: Iterable[str]) -> None:
        """Note what was asked for before and is used once more."""
        self._asked.update(dict.fromkeys(keys))

    def asked(self) -> tuple[str, ...]:
        """What has been asked for since the last time."""
        found = tuple(self._asked)
        self._asked = {}
        return found

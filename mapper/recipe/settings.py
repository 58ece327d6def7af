"""Looking up a configuration's settings as the tables name them: callbacks by type, sections by path.

The tables call a callback's argument `callbacks{MFLossMonitor}.per_print_times`; a file has it under the place of
that callback in the list. A key that is a whole section is gathered from its leaves.
"""

from __future__ import annotations

from bisect import bisect_left

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.forks import fork_of
from ...schemas.shell.scanner import is_whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...schemas.config import Config, Setting, Value


class Found(NamedTuple):
    """The value behind one key of a row."""

    value: Value
    settings: tuple[Setting, ...]
    """The settings it is read from: the key itself, or the leaves of its section."""
    decided: bool


class SettingsView:
    """The settings of one configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._settings = config.settings
        self._model_elsewhere = config.framework == "mindformers"
        """There an overridable value is a class's default that a model directory, which is not here, may replace."""
        self._paths = sorted(config.settings) if self._model_elsewhere else []
        """Every path of a file with sections, in the order of their letters."""
        self.callbacks = _callback_places(config.settings, self._paths)
        """Where in the list each type of callback stands."""
        fork = fork_of(config)
        self._fork = fork
        self._leaves: dict[str, list[Setting]] = {}

    def real(self, key: str) -> str:
        """The key as the file has it."""
        if "{" not in key:
            return key
        head, _, rest = key.partition("{")
        name, _, tail = rest.partition("}")
        place = self.place_of(name)
        return key if place is None else f"{head}[{place}]{tail}"

    def place_of(self, callback: str) -> int | None:
        """The place in the list of the callback of a type."""
        return self.callbacks.get(callback)

    def find(self, name: str) -> Found | None:
        """The value of a key (`a|b` takes the first that exists); None where there is none."""
        for one in name.split("|") if "|" in name else (name,):
            key = self.real(one) if "{" in one else one
            setting = self._settings.get(key)
            if setting is not None and setting.acceptance in ("accepted", "conflict"):
                if setting.overridable and self._model_elsewhere:
                    return Found(None, (setting,), False)
                return Found(setting.value, (setting,), setting.decided)
            if setting is None and "." in key:
                gathered = self._gather(key)
                if gathered is not None:
                    return gathered
        return None

    def _said_by_fork(self, setting: Setting) -> Iterator[tuple[str, Setting]]:
        """The written settings behind an argument of Megatron-LM's: itself, and the fork's own that say the same."""
        fork = self._fork
        if fork is None:
            return
        others = {*fork.own.intersection(setting.derived_from), *fork.put_for(setting.key)}
        for name in (setting.key, *setting.derived_from):
            source = self._settings.get(name)
            if source is not None and source.raw is not None and (source is setting or name in others):
                yield name, source

    def leaves(self, section: str) -> list[Setting]:
        """The leaves of a section."""
        start = section + "."
        at = bisect_left(self._paths, start)
        if at == len(self._paths) or not self._paths[at].startswith(start):
            return _NOTHING  # as most sections that are asked for
        found = self._leaves.get(section)
        if found is None:
            found = [setting for path, setting in self._settings.items() if path.startswith(start)]
            self._leaves[section] = found
        return found

    def _gather(self, key: str) -> Found | None:
        prefix = key + "."
        leaves = self.leaves(key)
        if not leaves:
            return None
        value: dict[str, Value] = {leaf.key[len(prefix) :]: leaf.value for leaf in leaves}
        return Found(value, tuple(leaves), all(leaf.decided for leaf in leaves))

    def written_settings(self, settings: Sequence[Setting], names: Iterable[str]) -> list[Setting]:
        """Written settings behind some others, each once: themselves, or a resolved value's own `names`."""
        found: dict[str, Setting] = {}
        own: set[str] | None = None
        for setting in settings:
            if setting.origin == "explicit":
                found[setting.key] = setting
            elif setting.derived_from and self._fork is not None:
                found.update(self._said_by_fork(setting))
            elif setting.derived_from and setting.key.startswith("resolved."):
                if own is None:
                    own = {self.real(name) for name in names}
                for name in setting.derived_from:
                    source = self._settings.get(name)
                    if source is not None and source.origin == "explicit" and _is_own(name, own):
                        found[source.key] = source
        return list(found.values())


_NOTHING: list[Setting] = []


def _is_own(name: str, own: set[str]) -> bool:
    return name in own or any(name.startswith((key + ".", key + "[")) for key in own)


_CALLBACKS = "callbacks["


def _callback_places(settings: Mapping[str, Setting], paths: list[str]) -> dict[str, int]:
    places: list[tuple[int, str]] = []
    for at in range(bisect_left(paths, _CALLBACKS), len(paths)):
        key = paths[at]
        if not key.startswith(_CALLBACKS):
            break
        place, value = key[len(_CALLBACKS) : -len("].type")], settings[key].value
        if key.endswith("].type") and isinstance(value, str) and is_whole_number(place):
            places.append((int(place), value))
    return {value: place for place, value in sorted(places)}

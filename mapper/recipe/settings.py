"""Looking up a configuration's settings as the tables name them: callbacks by type, sections by path.

The tables call a callback's argument `callbacks{MFLossMonitor}.per_print_times`; a file has it under the place of
that callback in the list. A key that is a whole section is gathered from its leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.config import Config, Setting, Value
    from ...schemas.source import Span


class Found(NamedTuple):
    """What stands behind one key of a row."""

    value: Value
    settings: tuple[Setting, ...]
    """The settings it is read from: the key itself, or the leaves of its section."""
    decided: bool


class SettingsView:
    """The settings of one configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._settings = config.settings
        self._callbacks = dict(_callback_places(config)) if config.framework == "mindformers" else {}
        self._below: dict[str, list[Setting]] | None = None

    def real(self, key: str) -> str:
        """The key as the file has it."""
        if "{" not in key:
            return key
        head, _, rest = key.partition("{")
        name, _, tail = rest.partition("}")
        place = self._callbacks.get(name)
        return key if place is None else f"{head}[{place}]{tail}"

    def find(self, name: str) -> Found | None:
        """The value of a key (`a|b` takes the first that exists); None where there is none."""
        for one in name.split("|"):
            key = self.real(one)
            setting = self._settings.get(key)
            if setting is not None and setting.acceptance in ("accepted", "conflict"):
                return Found(setting.value, (setting,), setting.decided)
            if setting is None and "." in key:
                gathered = self._gathered(key)
                if gathered is not None:
                    return gathered
        return None

    def below(self, section: str) -> list[Setting]:
        """The leaves of a section; the sections of all keys are gathered once."""
        if self._below is None:
            self._below = {}
            for path, setting in self._settings.items():
                at = path.find(".")
                while at >= 0:
                    self._below.setdefault(path[:at], []).append(setting)
                    at = path.find(".", at + 1)
        return self._below.get(section, [])

    def _gathered(self, key: str) -> Found | None:
        prefix = key + "."
        leaves = self.below(key)
        if not leaves:
            return None
        value: dict[str, Value] = {leaf.key[len(prefix) :]: leaf.value for leaf in leaves}
        return Found(value, tuple(leaves), all(leaf.decided for leaf in leaves))

    def written(self, settings: tuple[Setting, ...], own: set[str]) -> Iterator[Setting]:
        """What a user wrote behind some settings: themselves, or behind a resolved value its `own` keys."""
        for setting in settings:
            if setting.origin == "explicit":
                yield setting
            elif setting.key.startswith("resolved."):
                for name in setting.derived_from:
                    source = self._settings.get(name)
                    if source is not None and source.origin == "explicit" and _is_own(name, own):
                        yield source


def _is_own(name: str, own: set[str]) -> bool:
    return name in own or any(name.startswith(key + ".") for key in own)


def first_span(settings: list[Setting]) -> Span | None:
    """Where the first written setting stands."""
    return settings[0].span if settings else None


def _callback_places(config: Config) -> Iterator[tuple[str, int]]:
    for key, setting in config.settings.items():
        if key.startswith("callbacks[") and key.endswith("].type") and isinstance(setting.value, str):
            place = key[len("callbacks[") : -len("].type")]
            if place.isdigit():
                yield setting.value, int(place)

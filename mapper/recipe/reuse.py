"""What one reading leaves for the next: of a second file only the rows that it touches are read again.

A row is read through questions alone: for a setting, the leaves of a section, the place of a callback, an environment
variable, or another field. Its lens is a function of the answers, and nothing else. So a reading keeps the answers
with what came of them, and where the next file of the same side, version and model class gives the same answers, the
row says the same again. Answers are the same down to their types; only where a value stands is not part of one: the
span of a field is that of the setting it comes from, and is taken from the file at hand.

One reading a plan is kept, and it is never changed, so this holds one configuration's settings at a time.
"""

from __future__ import annotations

from itertools import compress
from operator import is_not

from ...schemas.config import Setting
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...mappings.names_compiled import FieldName
    from ..computed.values import Answers
    from .values import RecipeValue

    Asked = tuple[str, str, object]
    """The kind of question, its name, and the answer."""


class Remembered(NamedTuple):
    """What a row gave once, and everything it asked for; the same answers give the same again."""

    asked: tuple[Asked, ...]
    entries: Mapping[FieldName, RecipeValue]


class Previous(NamedTuple):
    """The last reading of a plan."""

    settings: Mapping[str, Setting]
    callbacks: Mapping[str, int]
    environment: tuple[object, ...]
    fields: Mapping[FieldName, RecipeValue]
    placed: frozenset[FieldName]
    """The fields that stand somewhere in the file."""
    dialect: str
    computed: tuple[Answers, ...]
    """What the formulas of that dialect said."""
    asked: Sequence[tuple[int, Sequence[Asked]]]
    """What the rows that it read asked for."""


class Dependencies:
    """Which rows have ever asked for what: all that a change can touch, and some that it does not."""

    __slots__ = ("by_callback", "by_field", "by_section", "by_setting", "ordered")

    def __init__(self) -> None:
        self.by_setting: dict[str, set[int]] = {}
        self.by_section: dict[str, set[int]] = {}
        self.by_field: dict[str, set[int]] = {}
        self.by_callback: set[int] = set()
        self.ordered: set[int] = set()
        """Rows that were given a section with something in it: the order of its keys counts, too."""

    def learn(self, readings: Iterable[tuple[int, Sequence[Asked]]]) -> None:
        """Take note of the questions of rows; of the last file's only now that there is a next one."""
        for row, asked in readings:
            for kind, name, answer in asked:
                if kind == "setting":
                    self.by_setting.setdefault(name, set()).add(row)
                elif kind == "field":
                    self.by_field.setdefault(name, set()).add(row)
                elif kind == "section":
                    self.by_section.setdefault(name, set()).add(row)
                    if answer:
                        self.ordered.add(row)
                else:
                    self.by_callback.add(row)

    def touched(self, changed: Iterable[str]) -> set[int]:
        """The rows that asked for one of these settings, or for a section that holds one."""
        by_setting, by_section = self.by_setting, self.by_section
        found = set(self.ordered)
        for key in changed:
            if key in by_setting:
                found |= by_setting[key]
            at = key.rfind(".")
            while at > 0:
                section = key[:at]
                if section in by_section:
                    found |= by_section[section]
                at = key.rfind(".", 0, at)
        return found


def changed_settings(before: Mapping[str, Setting], now: Mapping[str, Setting]) -> list[str]:
    """The keys whose setting is another one, has come, or has gone."""
    changed: list[str] = []
    olds = list(map(before.get, now))
    new = 0
    # Most settings are defaults, which all files share.
    others = map(is_not, now.values(), olds)
    for key, setting, old in compress(zip(now, now.values(), olds, strict=True), others):
        if old is None:
            new += 1
            changed.append(key)
        elif not same_setting(old, setting):
            changed.append(key)
    if len(before) != len(now) - new:
        changed += [key for key in before if key not in now]
    return changed


def same_setting(one: Setting, other: Setting) -> bool:
    """Whether two settings say the same, wherever they stand and however they are written."""
    value, known = one[1], other[1]
    return (
        one[2] == other[2]
        and (value is known or alike(value, known))
        and one[5:] == other[5:]
        and one[0] == other[0]
        and (one[3] is None) == (other[3] is None)  # a field of the one has a place, of the other none
    )


def alike(found: object, known: object) -> bool:
    """The same answer, down to the types: 1, 1.0 and True are three, and -0.0 is not 0.0."""
    if found is known:
        return True
    kind = type(found)
    if kind is not type(known):
        return False
    if kind is Setting:
        return same_setting(cast("Setting", found), cast("Setting", known))
    if found != known:
        return isinstance(found, list) and _all_alike(cast("Sequence[object]", found), cast("Sequence[object]", known))
    if kind in _ATOMS:
        return kind is not float or bool(found) or repr(found) == repr(known)
    if isinstance(found, (list, tuple)):
        return _all_alike(cast("Sequence[object]", found), cast("Sequence[object]", known))
    return repr(found) == repr(known)


def _all_alike(found: Sequence[object], known: Sequence[object]) -> bool:
    return len(found) == len(known) and all(map(alike, found, known))


_ATOMS = frozenset((str, int, float, bool))

"""Names of keys and values for a person, as the file spells them, with their origin and labels."""

from __future__ import annotations

from ..mapper.recipe.vocabulary import vocabulary
from ..schemas.fast_records import TYPE_CHECKING, cast
from ..schemas.message import Words
from ..schemas.plain_values import in_full, short
from ..schemas.shared_words import join_words
from .messages_compiled import say
from .places import places_of

if TYPE_CHECKING:
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Framework
    from ..schemas.diagnostic import Language
    from .places import Spot
    from .subject import Side


def display_value(value: object) -> str:
    """A value for a person."""
    if value is None:
        return say.unset()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return short(value)
    return in_full(_mix(value) or _runs(value) or str(value))


def _runs(value: object) -> str | None:
    """Long repetitive list in Python form: `[0] * 3 + [1] * 58`."""
    values = cast("list[object]", value) if isinstance(value, (list, tuple)) else []
    runs: list[tuple[object, int]] = []
    for one in values:
        if runs and runs[-1][0] == one and type(runs[-1][0]) is type(one):
            runs[-1] = one, runs[-1][1] + 1
        else:
            runs.append((one, 1))
    if len(values) < _LONG or len(runs) * 4 > len(values):
        return None
    return " + ".join(f"[{one!r}] * {count}" if count > 1 else f"[{one!r}]" for one, count in runs)


_LONG = 24
"""Values that do not fit a line."""


def _mix(value: object) -> str | None:
    """Blend as on a command line: each weight before its path."""
    pairs = cast("list[object]", value) if isinstance(value, (list, tuple)) else []
    words: list[str] = []
    for pair in pairs:
        entry = cast("list[object]", pair) if isinstance(pair, (list, tuple)) else []
        if len(entry) != 2 or not isinstance(entry[1], str):
            return None
        words += [str(one) for one in entry if one is not None]
    return " ".join(words) or None


def key_spelling(spot: Spot, framework: Framework) -> str:
    """Key as the file writes it."""
    if framework == "mindformers":
        return spot.key
    if spot.setting is not None and spot.setting.flag:
        return spot.setting.flag
    return "--" + spot.key.replace("_", "-")


def written_value(spot: Spot) -> object:
    """The value that a file gives a key, which the framework may replace; the effective one if it gives none."""
    setting = spot.setting
    if setting is None or spot.is_written or not setting.raw:
        return None if setting is None else setting.value
    return " ".join(setting.raw)


def key_of(side: Side, field: FieldName) -> str:
    """Key that decides a recipe field in this file."""
    spot = places_of(side).main_spot(field)
    return key_spelling(spot, side.framework) if spot is not None else field


def _is_converted(value: object, written: list[Spot]) -> bool:
    """True if the framework changes the one written number."""
    if len(written) != 1 or written[0].setting is None:
        return False
    own = written[0].setting.value
    numbers = [one for one in (own, value) if isinstance(one, (int, float)) and not isinstance(one, bool)]
    return len(numbers) == 2 and own != value


def describe_origin(side: Side, name: FieldName, spots: list[Spot]) -> Words:
    """The origin of a value."""
    field = side.field(name)
    if field is None or not spots:
        return say.not_given()
    in_file = [spot for spot in spots if spot.stands_in_file]
    is_replaced = not all(spot.is_written for spot in in_file)
    if not in_file or (field.origin == "default" and not is_replaced):
        return say.default_of(key=key_spelling(spots[0], side.framework))
    keys = join_words(dict.fromkeys(key_spelling(spot, side.framework) for spot in in_file))
    is_own = field.origin == "explicit" and not is_replaced and not _is_converted(field.value, in_file)
    return keys if is_own else say.from_keys(keys=keys)


def code_name(code: str, english: str, language: Language) -> str:
    """The name of a code for a person; a plugin's code has its English name only."""
    if language != "zh":
        return english
    from .names_compiled import NAMES

    return cast("dict[str, str]", NAMES).get(code, english)


def labels(field: FieldName) -> Words:
    """The label of a recipe field."""
    found = vocabulary().get(field)
    return Words(field, field) if found is None else Words(found.en, found.zh)

"""The switches that a YAML of MindSpore Transformers sets: True or False in place of the written form.

`switches.yaml` says how the code asks for each. A value of another form that means the same is read as what it means; a
value that stops the run is reported, and left open.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from ..plain_values import TRUTH, is_mapping, is_on
from .config_state import Undecided
from .messages_compiled import say
from .resolution import wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeAlias

    from ..config import Setting
    from .config_state import Reading

    Rows: TypeAlias = "Iterable[tuple[str, Iterable[str], Mapping[str, Iterable[Any]]]]"

_KINDS = ("bool", "bool?")
"""What facts call a field of TransformerConfig that is a switch; with a question mark `__post_init__` fills in null."""
_READS_AS_FALSE = frozenset(("false", "no", "off", "none", "null", "0", ""))


def switch_sections(reading: Reading) -> None:
    """Put True or False in place of every switch that is written outside the model."""
    for path, rows in reading.catalog["switches"].items():
        value = reading.get(path)
        if value.__class__ is bool or isinstance(value, Undecided) or not is_written(reading, path):
            continue
        test = switch_test(rows, reading.get)
        on = is_on(value) if test is None else read_switch(reading, path, value, test)
        _replace_value(reading, path, Undecided(str(value)) if on is None else on)
        reading.switched[path] = value, on


def _replace_value(reading: Reading, path: str, value: Any) -> None:
    """Put a value in place of a written one, in copies: another reading of the file has the same mappings."""
    *sections, key = path.split(".")
    held = reading.values = dict(reading.values)
    for name in sections:
        below = held.get(name)
        if not is_mapping(below):
            return
        held[name] = below = dict(below)
        held = below
    held[key] = value


def switch_field(reading: Reading, name: str, value: Any, path: str) -> Any:
    """True or False for the value of a TransformerConfig switch; undecided if the run stops."""
    if value.__class__ is bool:
        return value
    if value is None and reading.catalog["types"][name] != "bool":
        return None
    test = reading.catalog["field_tests"].get(name, TRUTH)
    on = read_switch(reading, path, value, test)
    if value is None and on is not None:
        report_form(reading, path, value, on=on)
    if reading.get(path) is value:
        reading.switched[path] = value, on
    return Undecided(str(value)) if on is None else on


def switch_unread(reading: Reading) -> None:
    """Mark written switches that no field uses as ineffective."""
    for name, value in reading.section(reading.model).items():
        path = f"{reading.model}.{name}"
        known = value is None or value.__class__ is bool or isinstance(value, Undecided) or path in reading.switched
        if is_switch(reading, name) and not known:
            reading.switched[path] = value, is_on(value)


def is_written(reading: Reading, path: str) -> bool:
    """True if the file or an option of the launch gives a key."""
    return path in reading.places or path in reading.options


def switch_test(rows: Rows, value_of: Callable[[str], Any]) -> str | None:
    """Form in which the code tests a switch; None if nothing tests it."""
    for test, only_with, where in rows:
        if all(value_of(key) in words for key, words in where.items()):
            return test if not only_with or any(is_on(value_of(key)) for key in only_with) else None
    return TRUTH


def is_switch(reading: Reading, name: str) -> bool:
    """True if a field of TransformerConfig is a switch."""
    return reading.catalog["types"].get(name) in _KINDS


def read_switch(reading: Reading, path: str, value: Any, test: str) -> bool | None:
    """True if a value switches on, None if the run stops; reports misleading forms."""
    on = is_on(value, test)
    if on is None:
        wrong_kind(reading, path, value, say.true_or_false())
    elif value is not None and not (type(value) is int and value in (0, 1)):
        report_form(reading, path, value, on=on)
    return on


def report_form(reading: Reading, path: str, value: Any, *, on: bool) -> None:
    """Report a switch value that is neither True nor False."""
    wrong = on and isinstance(value, str) and value.strip().lower() in _READS_AS_FALSE
    said = say.value_truth(key=path, value=repr(value), truth=str(on), other=str(not on), version=reading.version)
    reading.note(said, path, severity="error" if wrong else None)


def switch_setting(setting: Setting, value: Any, *, on: bool | None) -> Setting:
    """Setting with a switch's meaning and its written value."""
    return setting._replace(value=on, decided=on is not None, raw=("null" if value is None else str(value),))

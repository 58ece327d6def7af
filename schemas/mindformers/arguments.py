"""Classes that a section names by `type`, and the arguments they take.

Source: `tools/register/register.py:MindFormerRegister.get_instance_from_cfg`, 1.6-2.1; the classes' signatures are in
the catalog.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .reading import Undecided

if TYPE_CHECKING:
    from typing import Any

    from .reading import Reading

REQUIRED = "<required>"
"""The default of an argument that has none."""


def class_facts(reading: Reading, registry: str, section: str, kind: Any) -> dict[str, Any] | None:
    """What is known of the class `kind`; None where there is none of that name, which is reported."""
    classes: dict[str, dict[str, Any]] = reading.catalog["registry"][registry]
    if not isinstance(kind, str) or isinstance(kind, Undecided):
        path = f"{section}.type"
        if not isinstance(kind, Undecided) and path in reading.places:
            # tools/register/register.py:MindFormerRegister.get_cls finds no class of that name (1.6-2.1)
            value = "null" if kind is None else repr(kind)
            reading.note("value-type", path, key=path, value=value, expected="the name of a class", expected_zh="类名")
        return None
    facts = classes.get(kind)
    if facts is None and reading.get(f"{section}.auto_register") is None:
        from ..suggestion import suggestion_in_both

        suggestion, suggestion_zh = suggestion_in_both(kind, classes)
        reading.note(
            "unknown-class",
            f"{section}.type",
            section=section,
            value=kind,
            suggestion=suggestion,
            suggestion_zh=suggestion_zh,
        )
    return facts


def foreign_argument(reading: Reading, facts: dict[str, Any], path: str, key: str) -> None:
    """Report a key that the class does not take, or takes and ignores."""
    if facts["open"]:
        reading.acceptance[path] = "ignored"
        reading.note("swallowed-argument", path, on_key=True, type=facts["class"], key=key)
        return
    from ..suggestion import suggestion_in_both

    suggestion, suggestion_zh = suggestion_in_both(key, facts["args"])
    reading.acceptance[path] = "unknown"
    reading.note(
        "unknown-argument",
        path,
        on_key=True,
        type=facts["class"],
        key=key,
        suggestion=suggestion,
        suggestion_zh=suggestion_zh,
    )


def string_number(reading: Reading, path: str, why: str, why_zh: str) -> None:
    """Report a number that YAML 1.1 reads as a string, such as `1e-5`."""
    value = reading.get(path)
    if not isinstance(value, str) or isinstance(value, Undecided):
        return
    try:
        better = repr(float(value))
    except ValueError:
        better = "a number"
    if "e" in better and "." not in better:
        better = better.replace("e", ".e")
    reading.note("string-number", path, key=path, value=value, why=why, why_zh=why_zh, better=better)

"""The versions of the frameworks that accmap knows, their dialects, and the uses of each.

`versions.yaml` is the only list; nothing else names the versions there are. A version that is no release has a name
without a number (`main`) and a place among the numbers all the same.
How people write a version, and what a header says that accmap wrote, are here too.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING, NamedTuple
from .versions_compiled import NUMBERS, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Literal, TypeAlias


def release_of(text: str | None) -> str | None:
    """Release in a text: `0.15.3` for `core_v0.15.3`; None for branches and candidates."""
    number = (text or "").strip().removeprefix("core_").removeprefix("v")
    parts = number.split(".")
    return number if len(parts) >= 3 and all(part.isascii() and part.isdigit() for part in parts) else None


def minor_of(text: str) -> str | None:
    """Minor version in a text: `1.9` for `r1.9.0rc1`; None if there is none."""
    parts = text.strip().removeprefix("core_").lstrip("rv").split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return None
    if len(parts) > 2 and not parts[2][:1].isdigit():
        return None
    return ".".join(parts[:2])


def nearest_version(text: str, known: Sequence[str]) -> str:
    """Known version nearest to the numbers in a text."""
    wanted = _leading_numbers(text)
    numbers = {name: _leading_numbers(name) for name in known}
    if not wanted or not any(numbers.values()):
        return known[-1]
    return min(filter(numbers.get, known), key=lambda name: _number_distance(numbers[name], wanted))


def _leading_numbers(text: str) -> tuple[int, ...]:
    parts = text.strip().removeprefix("core_").lstrip("rv").split(".")[:2]
    return tuple([int(part) for part in parts if part.isascii() and part.isdigit() and len(part) <= _LONGEST])


def _number_distance(one: tuple[int, ...], other: tuple[int, ...]) -> list[int]:
    return [abs(ours - theirs) for ours, theirs in zip(one, other, strict=False)]


_LONGEST = 5
"""Digits of a number of a version."""


def names_a_file(text: str) -> bool:
    """True if a version text is the path of a dialect file."""
    return text.endswith((".yaml", ".yml"))


Framework: TypeAlias = "Literal['megatron', 'mindformers', 'huggingface']"
Dialect: TypeAlias = "Literal['megatron', 'static', 'dynamic', 'legacy', 'transformers']"
Use: TypeAlias = "Literal['default', 'target', 'read', 'write', 'verify']"


TITLES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers", "huggingface": "transformers"}
"""What the frameworks are called, where a person reads it."""


class Version(NamedTuple):
    """One version in one of its dialects."""

    framework: Framework
    name: str
    dialect: Dialect
    uses: tuple[Use, ...]
    facts: str
    """The version whose facts answer for it; its own name where it has facts."""
    label: str | None
    """What to call it beside its name, where it is no release."""
    tag: str | None
    wheel: str | None
    install: str | None
    """What a registry has to run it with."""


ALL = tuple(map(Version._make, VERSIONS))


def names(framework: Framework, dialect: Dialect | None = None, use: Use = "read") -> tuple[str, ...]:
    """Versions of a framework for a use, oldest first."""
    found = {
        version.name: None
        for version in ALL
        if version.framework == framework and dialect in (None, version.dialect) and use in version.uses
    }
    return tuple(found)


def names_with_facts(framework: Framework, dialect: Dialect) -> tuple[str, ...]:
    """Versions with facts of their own."""
    return tuple(
        version.name
        for version in ALL
        if version.framework == framework and version.dialect == dialect and version.facts == version.name
    )


def default_name(framework: Framework, dialect: Dialect) -> str:
    """Version assumed for a file that states none."""
    return names(framework, dialect, "default")[0]


def default_target(framework: Framework) -> tuple[str, Dialect]:
    """The version and the dialect that are written if neither is named."""
    usual = (one for one in reversed(ALL) if one.framework == framework and {"default", "target"} <= {*one.uses})
    found = next(usual)
    return found.name, found.dialect


def target_dialect(framework: Framework, name: str) -> Dialect | None:
    """Dialect written for a version by default; None if unknown."""
    for one in ALL:
        if one.framework == framework and one.name == name and "target" in one.uses:
            return one.dialect
    return None


def stand_ins(framework: Framework, dialect: Dialect) -> dict[str, str]:
    """Versions without own facts, with the version whose facts are used."""
    return {
        version.name: version.facts
        for version in ALL
        if version.framework == framework and version.dialect == dialect and version.facts != version.name
    }


def label_of(framework: Framework, name: str) -> str | None:
    """Label of a version that is not a release."""
    return next((one.label for one in ALL if one.framework == framework and one.name == name), None)


def number_of(name: str) -> tuple[int, ...]:
    """Sortable number of a version; branches come after releases."""
    number = NUMBERS.get(name) or _numbers.get(name)
    if number is None:
        number = tuple([int(part) for part in name.split(".")[:2] if part.isdigit()])
        if len(_numbers) < _MOST_NUMBERS:
            _numbers[name] = number
    return number


def newest_until(name: str, among: Sequence[str]) -> str:
    """Newest of these versions that is not newer than one; the oldest if all are."""
    number = number_of(name)
    return next((one for one in reversed(among) if number_of(one) <= number), among[0])


_MOST_NUMBERS = 100
_numbers: dict[str, tuple[int, ...]] = {}
"""Those that were worked out: the tables name the same few for every file."""


def within(version: str, since: str | None, until: str | None) -> bool:
    """True if a version lies between two others, both included; None leaves an end open."""
    if since is None and until is None:
        return True
    number = number_of(version)
    return (since is None or number_of(since) <= number) and (until is None or number <= number_of(until))


def name_with(framework: Framework, number: tuple[int, ...]) -> str | None:
    """Version name with a number; None if unknown."""
    return next((name for name in names(framework) if number_of(name) == number), None)


def known_names(framework: Framework, dialect: Dialect | None = None) -> str:
    """Versions of a framework as text: `0.12–0.19`, and branches."""
    known = names(framework, dialect)
    released = [name for name in known if name not in NUMBERS]
    return ", ".join([f"{released[0]}–{released[-1]}", *(name for name in known if name in NUMBERS)])


_HEAD = 400
"""Characters that its header begins within."""


def title_of(framework: Framework, version: str) -> str:
    """Framework and version as a header writes them."""
    branch = framework == "megatron" and version[0].isdigit()
    return f"{TITLES[framework]} core_r{version}.0" if branch else f"{TITLES[framework]} {version}"


def header_version(framework: Framework, text: str) -> str | None:
    """Version in a text's header; None if there is none."""
    head = text[:_HEAD]
    if "accmap" not in head:
        return None
    import re

    named = "|".join(map(re.escape, NUMBERS))
    found = re.search(rf"^# {TITLES[framework]} (?:core_r)?({named}|\d+\.\d+)\b[^\n]* accmap ", head, re.MULTILINE)
    return None if found is None else found[1]


def versions_in(text: str, order: Sequence[str]) -> tuple[str, ...]:
    """Versions that a range text means; ValueError for unknown ones."""
    chosen: set[str] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        unknown = {first, last} - {"", *order}
        if unknown:
            raise ValueError(f"{text!r}: there is no version {unknown.pop()}")
        start = order.index(first) if first else 0
        end = order.index(last) if last else len(order) - 1 if dash else start
        if end < start:
            raise ValueError(f"{text!r}: {last} comes before {first}")
        chosen.update(order[start : end + 1])
    return tuple(version for version in order if version in chosen)


def text_of(versions: Collection[str], order: Sequence[str]) -> str:
    """Shortest range text for these versions."""
    parts: list[str] = []
    at = 0
    while at < len(order):
        start = at
        while at < len(order) and order[at] in versions:
            at += 1
        if at > start:
            first, last = order[start], order[at - 1]
            parts.append(f"{first}-" if at == len(order) else first if first == last else f"{first}-{last}")
        at += 1
    return ", ".join(parts)

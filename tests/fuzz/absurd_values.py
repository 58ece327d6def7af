"""Absurd values, and good files with one scalar replaced by such a value."""

from __future__ import annotations

import json
import math
import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

VALUES: dict[str, Any] = {
    "not a number": math.nan, "infinity": math.inf, "minus infinity": -math.inf,
    "true": True, "false": False, "null": None,
    "zero": 0, "minus one": -1, "a fraction": 1.5, "a small fraction": 1e-300, "a large float": 1e290,
    "5,000 digits": 10**4999, "400 digits": int("7" * 400),
    "2^31": 2**31, "2^53 + 1": 2**53 + 1, "2^63": 2**63, "2^64": 2**64, "-2^63 - 1": -(2**63) - 1, "a billion": 10**9,
    "a prime": 999_999_937, "minus zero": -0.0, "a whole float": 8.0,
    "full-width digit": "８", "full-width digits": "１６", "Arabic digits": "٣٢", "superscript": "²",
    "nan as a text": "nan", "inf as a text": "-inf", "a number as a text": "8", "nothing": "", "a blank": " ",
    "an exponent": "1e400", "underscores": "1_000", "hexadecimal": "0x10",
    "a list": [1, 2], "no list": [], "a list of lists": [[1, [2]], None], "a long list": list(range(300)),
    "a mapping": {"a": 1}, "no mapping": {}, "a mapping of numbers": {1: 2},
    "a long text": "x" * 100_000, "control characters": "\x1b[2J\x07\x7f", "a lone surrogate": "\ud800",
    "lines": "a\nb\r\nc", "a template": "{0} {name} %s %d ${X}", "an accent": "é\u0301\u202e",
}  # fmt: skip
"""What nobody writes and a program writes: each is put in the place of every scalar."""


def in_json(value: Any) -> str:
    """JSON as Python's reader takes it: NaN and infinities are words."""
    if is_long(value):
        return as_text(value)
    return json.dumps(value) if not isinstance(value, dict) else json.dumps({str(key): value[key] for key in value})


def is_long(value: Any) -> bool:
    """True for a number with more digits than Python writes."""
    return isinstance(value, int) and value.bit_length() > 14_000


def as_text(value: Any) -> str:
    return "1" + "0" * 4999 if is_long(value) else str(value)


def in_yaml(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, float) and "e" in repr(value) and "." not in repr(value):
        return repr(value).replace("e", ".0e")
    return in_json(value)


def in_toml(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {in_toml(value[key])}' for key in value) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(in_toml(entry) for entry in value) + "]"
    return '""' if value is None else in_json(value).replace("\\u007f", "\x7f")


def in_words(value: Any) -> str:
    """One word of a shell, or several."""
    if isinstance(value, list):
        return " ".join(in_words(entry) for entry in value)
    return shlex.quote(as_text(value))


class Changed(NamedTuple):
    """A file with an absurd value in it."""

    data: bytes
    place: str


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# --- launch scripts ---

_WORDS = re.compile(
    r"(--[A-Za-z][\w-]*)([ =]+)([^\s\\'\"]+)|^(\s*(?:export )?[A-Za-z_]\w*)(=)([^\s'\"]+)", re.MULTILINE
)


@cache
def flags() -> tuple[str, ...]:
    """Every flag of every version."""
    groups = json.loads((ROOT / "schemas/megatron/arguments.json").read_text("utf-8"))["arguments"]
    return tuple(row[0] for _, rows in groups for row in rows)


def change_script(text: str, value: Any, chance: random.Random) -> Changed:
    """A flag's value or an assignment is replaced, or a flag is added to the launch."""
    places = list(_WORDS.finditer(text))
    launch = re.search(r"(pretrain_\w+\.py|posttrain_gpt\.py|train\.py)(?=\s)", text)
    if launch and (not places or chance.random() < 0.5):
        flag = chance.choice(flags())
        return Changed(_encoded(f"{text[: launch.end()]} {flag} {in_words(value)}{text[launch.end() :]}"), flag)
    if not places:
        return Changed(_encoded(text), "nowhere")
    found = chance.choice(places)
    name, _, old = (part for part in found.groups() if part is not None)
    at = found.end() - len(old)
    return Changed(_encoded(text[:at] + in_words(value) + text[found.end() :]), name.strip())


# --- YAML ---


@cache
def keys() -> tuple[str, ...]:
    """Every key of MindSpore Transformers that a row of the tables names."""
    found: set[str] = set()
    for path in sorted((ROOT / "mappings").glob("*.yaml")):
        for row in (yaml.load(path.read_text("utf-8"), yaml.CSafeLoader) or {}).get("rows") or ():
            for side in ("static", "dynamic"):
                forms = row.get(side)
                for form in forms if isinstance(forms, list) else [forms]:
                    found.update(form.get("keys", ()) if isinstance(form, dict) else ())
    return tuple(sorted(key for key in found if isinstance(key, str) and re.fullmatch(r"[\w.]+", key)))


def _scalars(node: yaml.Node | None, path: str = "") -> Iterator[tuple[str, int, int]]:
    if isinstance(node, yaml.ScalarNode):
        yield path, node.start_mark.index, node.end_mark.index
    elif isinstance(node, yaml.MappingNode):
        for key, entry in node.value:
            yield from _scalars(entry, f"{path}.{key.value}")
    elif isinstance(node, yaml.SequenceNode):
        for at, entry in enumerate(node.value):
            yield from _scalars(entry, f"{path}[{at}]")


@cache
def _places(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(_scalars(yaml.compose(text, Loader=yaml.CSafeLoader)))


_PLACEHOLDER = "PLACE_OF_THE_VALUE"


def change_yaml(text: str, value: Any, chance: random.Random) -> Changed:
    """A scalar is replaced, or a key is added that the framework reads."""
    places = _places(text)
    if not places or chance.random() < 0.4:
        key = chance.choice(keys())
        held = _with(yaml.load(text, yaml.CSafeLoader), key.split("."))
        return Changed(
            _encoded(yaml.dump(held, Dumper=yaml.CSafeDumper, sort_keys=False).replace(_PLACEHOLDER, in_yaml(value))),
            key,
        )
    path, first, last = chance.choice(places)
    return Changed(_encoded(text[:first] + in_yaml(value) + text[last:]), path)


def _with(held: Any, path: list[str]) -> Any:
    below = held.get(path[0]) if isinstance(held, dict) else None
    entry = _PLACEHOLDER if len(path) == 1 else _with(below, path[1:])
    return {**(held if isinstance(held, dict) else {}), path[0]: entry}


# --- JSON, TOML, logs ---


def _json_places(held: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(held, dict):
        for key in held:
            yield from _json_places(held[key], (*path, key))
    elif isinstance(held, list):
        for at, entry in enumerate(held):
            yield from _json_places(entry, (*path, at))
    if path:
        yield path


def change_json(text: str, value: Any, chance: random.Random) -> Changed:
    """A value of an object or a list is replaced, be it a scalar or not."""
    held = json.loads(text)
    path = chance.choice(list(_json_places(held)))
    within = held
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = _PLACEHOLDER
    written = json.dumps(held, indent=1).replace(f'"{_PLACEHOLDER}"', in_json(value))
    return Changed(_encoded(written), ".".join(map(str, path)))


_ENTRY = re.compile(r"^([\w-]+ = )(.+)$", re.MULTILINE)


def change_toml(text: str, value: Any, chance: random.Random) -> Changed:
    found = chance.choice(list(_ENTRY.finditer(text)))
    return Changed(_encoded(text[: found.end(1)] + in_toml(value) + text[found.end() :]), found[1])


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")


def change_log(text: str, value: Any, chance: random.Random) -> Changed:
    """A number of a line is replaced."""
    found = chance.choice(list(_NUMBER.finditer(text)))
    return Changed(_encoded(text[: found.start()] + as_text(value) + text[found.end() :]), f"character {found.start()}")


def change_arguments(arguments: dict[str, Any], value: Any, chance: random.Random) -> tuple[dict[str, Any], str]:
    """An argument of a checkpoint is replaced."""
    name = chance.choice(list(arguments))
    return {**arguments, name: value}, name

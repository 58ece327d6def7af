"""Edits that change nothing: comments, order, quotes, other spellings of a value. A clean pair stays clean."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIRS = ("qwen3_dense", "qwen3_moe", "deepseek_v3")
FLAG = re.compile(r"^( +)(--[\w-]+) ([\w.+-]+)$", re.MULTILINE)
ARRAY = re.compile(r"^(\w+)=\(\n((?: +--[^\n]*\n)+)\)$", re.MULTILINE)
EDITS_OF_EACH = 2


def spelled(number: str) -> str:
    """Another spelling of a number that is written with a point or an exponent."""
    if not re.search(r"[.e]", number):
        return number
    return f"{float(number):.12f}" if "e" in number else f"{float(number):e}"


def change_flag(text: str, chance: random.Random, make: Callable[[re.Match[str]], str]) -> str:
    found = chance.choice(list(FLAG.finditer(text)))
    return text[: found.start()] + make(found) + text[found.end() :]


def change_array(text: str, make: Callable[[str, list[str]], str]) -> str:
    return ARRAY.sub(lambda found: make(found[1], found[2].splitlines()), text)


def number_flag(text: str, chance: random.Random) -> str:
    numbers = [found for found in FLAG.finditer(text) if re.fullmatch(r"[\d.]+(e[+-]?\d+)?", found[3])]
    found = chance.choice([one for one in numbers if spelled(one[3]) != one[3]])
    return text[: found.start(3)] + spelled(found[3]) + text[found.end(3) :]


def shuffled(lines: list[str], chance: random.Random) -> list[str]:
    return chance.sample(lines, len(lines))


SHELL: dict[str, Callable[[str, random.Random], str]] = {
    "comment in an array": lambda text, chance: change_flag(text, chance, lambda f: f"{f[1]}# --lr 5\n{f[0]}"),
    "comment behind a flag": lambda text, chance: change_flag(text, chance, lambda f: f"{f[0]}   # as before"),
    "comments at the end": lambda text, _: text + "\n# --num-layers 99\n#accmap\n",
    "blank lines": lambda text, chance: change_flag(text, chance, lambda f: f"\n\n{f[0]}\n"),
    "tabs": lambda text, chance: change_flag(text, chance, lambda f: f"\t\t{f[2]}\t{f[3]}"),
    "spaces behind": lambda text, chance: change_flag(text, chance, lambda f: f"{f[0]}   "),
    "single quotes": lambda text, chance: change_flag(text, chance, lambda f: f"{f[1]}{f[2]} '{f[3]}'"),
    "double quotes": lambda text, chance: change_flag(text, chance, lambda f: f'{f[1]}"{f[2]}" "{f[3]}"'),
    "equals sign": lambda text, chance: change_flag(text, chance, lambda f: f"{f[1]}{f[2]}={f[3]}"),
    "quotes within": lambda text, chance: change_flag(text, chance, lambda f: f"{f[1]}{f[2]} ''{f[3]}"),
    "the flag twice": lambda text, chance: change_flag(text, chance, lambda f: f"{f[0]}\n{f[0]}"),
    "two lines": lambda text, chance: change_flag(text, chance, lambda f: f"{f[1]}{f[2]}\n{f[1]}    {f[3]}"),
    "a variable": lambda text, chance: with_variable(text, chance, "$VALUE_OF_IT"),
    "a variable in braces": lambda text, chance: with_variable(text, chance, '"${VALUE_OF_IT}"'),
    "a default": lambda text, chance: change_flag(text, chance, lambda f: f"{f[1]}{f[2]} ${{UNSET_HERE:-{f[3]}}}"),
    "arithmetic": lambda text, _: text.replace("--seed 1234", "--seed $((1000 + 234))"),
    "another order": lambda text, chance: change_array(
        text, lambda name, lines: "\n".join([f"{name}=(", *shuffled(lines, chance), ")"])
    ),
    "one line": lambda text, _: change_array(text, lambda name, lines: one_line(name, lines)),
    "appended": lambda text, _: change_array(
        text, lambda name, lines: "\n".join([f"{name}=(", *lines[:2], ")", f"{name}+=(", *lines[2:], ")"])
    ),
    "a number": number_flag,
    "another shell line": lambda text, _: text.replace("set -euo pipefail", "set -e -u\nset -o pipefail\necho start"),
    "an unused variable": lambda text, _: text.replace("MICRO_BATCH=1", "UNUSED=7\nMICRO_BATCH=1"),
}  # fmt: skip


def with_variable(text: str, chance: random.Random, name: str) -> str:
    found = chance.choice(list(FLAG.finditer(text)))
    changed = text[: found.start(3)] + name + text[found.end(3) :]
    return changed.replace("set -euo pipefail", f"set -euo pipefail\nVALUE_OF_IT={found[3]}", 1)


def one_line(name: str, lines: list[str]) -> str:
    return f"{name}=({' '.join(line.partition(' # ')[0].strip() for line in lines)})"


def loaded(text: str) -> dict[str, Any]:
    return yaml.safe_load(text)


def reordered(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key], chance) for key in chance.sample(list(value), len(value))}
    return value


def number_of_yaml(text: str, chance: random.Random) -> str:
    found = chance.choice(list(re.finditer(r"(?<=: )\d+\.\d+(?:e[+-]\d+)?$", text, re.MULTILINE)))
    return text[: found.start()] + spelled(found[0]) + text[found.end() :]


def change_line(text: str, chance: random.Random, make: Callable[[re.Match[str]], str]) -> str:
    found = chance.choice(list(re.finditer(r"^( *)([a-z]\w*): ([\w.-]+)$", text, re.MULTILINE)))
    return text[: found.start()] + make(found) + text[found.end() :]


def anchored(text: str, _: random.Random) -> str:
    """The vocabulary's size by an anchor, and the same size by its alias."""
    number = re.findall(r"seq_length: (\d+)", text)[0]
    first = text.replace(f"seq_length: {number}", f"seq_length: &length {number}", 1)
    before, mark, after = first.partition("&length")
    return before + mark + after.replace(f"seq_length: {number}", "seq_length: *length")


YAML: dict[str, Callable[[str, random.Random], str]] = {
    "comment": lambda text, chance: change_line(text, chance, lambda f: f"{f[1]}# {f[2]}: 7\n{f[0]}"),
    "comment behind": lambda text, chance: change_line(text, chance, lambda f: f"{f[0]}  # as before"),
    "comments at the end": lambda text, _: text + "\n# seed: 5\n",
    "blank lines": lambda text, chance: change_line(text, chance, lambda f: f"\n{f[0]}\n"),
    "spaces": lambda text, chance: change_line(text, chance, lambda f: f"{f[1]}{f[2]}:    {f[3]}   "),
    "quoted key": lambda text, chance: change_line(text, chance, lambda f: f'{f[1]}"{f[2]}": {f[3]}'),
    "start of the document": lambda text, _: "---\n" + text,
    "end of the document": lambda text, _: text + "\n...\n",
    "small truth": lambda text, _: text.replace(": True", ": true").replace(": False", ": false"),
    "another truth": lambda text, _: text.replace(": True", ": yes").replace(": False", ": no"),
    "quotes": lambda text, _: re.sub(r"type: (\w+)$", r"type: '\1'", text, flags=re.MULTILINE),
    "double quotes": lambda text, _: re.sub(r"run_mode: (\w+)", r'run_mode: "\1"', text),
    "another order": lambda text, chance: yaml.safe_dump(reordered(loaded(text), chance), sort_keys=False),
    "sorted": lambda text, _: yaml.safe_dump(loaded(text)),
    "flow": lambda text, _: yaml.safe_dump(loaded(text), default_flow_style=True, sort_keys=False),
    "wide": lambda text, _: yaml.safe_dump(loaded(text), indent=8, sort_keys=False),
    # PyYAML takes 1e-08 without a point for a text.
    "as JSON": lambda text, _: re.sub(r": (\d)e-", r": \1.0e-", json.dumps(loaded(text), indent=1)),
    "a number": number_of_yaml,
    "an anchor": anchored,
    "a tag": lambda text, _: text.replace("seed: 1234", "seed: !!int 1234", 1),
    "a hexadecimal number": lambda text, _: text.replace("seed: 1234", "seed: 0x4D2", 1),
    "empty sections": lambda text, _: text + "\nauto_tune: False\n",
}  # fmt: skip
CASES = [
    (pair, name, seed)
    for place, pair in enumerate(PAIRS)
    for number, name in enumerate([*SHELL, *YAML])
    for seed in range(EDITS_OF_EACH)
    if (number + seed) % len(PAIRS) == place or place == 0
]


def test_there_are_a_hundred() -> None:
    assert len(CASES) > 100


@pytest.mark.table(5)
@pytest.mark.parametrize(("pair", "name", "seed"), CASES)
def test_a_clean_pair_stays_clean(accmap, pair: str, name: str, seed: int) -> None:
    files = {one: (EXAMPLES / pair / one).read_text("utf-8") for one in ("megatron.sh", "mindformers.yaml")}
    changed = [one for one, edits in (("megatron.sh", SHELL), ("mindformers.yaml", YAML)) if name in edits]
    for one in changed:
        edits = SHELL if one == "megatron.sh" else YAML
        files[one] = edits[name](files[one], random.Random(f"{pair} {name} {seed}"))
        assert files[one] != (EXAMPLES / pair / one).read_text("utf-8")
    answer = accmap("lint", "--no-cache", "--format", "json", *files, files=files)
    found = [one for one in json.loads(answer.out)["diagnostics"] if one["severity"] in ("error", "warning")]
    assert (answer.code, found) == (0, [])

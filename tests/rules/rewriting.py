"""Writes the same YAML and the same launch in another notation: what a framework reads from them stays what it is.

A YAML is loaded with PyYAML and written again, each value in one of its notations; a launch is its argument vector,
written again as bash allows. Both are drawn from a seed.
"""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from accmap.schemas.megatron.argument_parser import convert, destination
from accmap.schemas.megatron.forks import catalog, fork_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from accmap.schemas.config import Config
    from accmap.schemas.megatron.catalog import ArgumentFact

NOTATION = frozenset(("SYN050", "SYN051", "SYN052", "SYN053", "SYN054", "MAP011"))
"""What the readers say of a notation: a key twice, an odd number or boolean, an argument twice."""


# --- YAML ---


def rewritten_yaml(text: str, random: Random) -> str:
    """A YAML that PyYAML loads as the same value, in another order and other notations."""
    value = loaded(text)
    writer = _YamlWriter(random, _shared(value))
    new = "\n".join(("# written again", *writer.mapping(value, ""), ""))
    assert repr(in_order(loaded(new))) == repr(in_order(value)), new
    return new


def loaded(text: str) -> Any:
    """What PyYAML makes of a YAML."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def in_order(value: Any) -> Any:
    """A value whose mappings stand in the order of their keys."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value, key=repr)}  # type: ignore[index]  # pyright: ignore
    return [in_order(one) for one in value] if isinstance(value, list) else value  # pyright: ignore


def _shared(value: Any) -> frozenset[int]:
    """The identities of the mappings and lists that the YAML writes once and names again with an alias."""
    count = Counter[int]()

    def visit(one: Any) -> None:
        if not isinstance(one, (dict, list)):
            return
        count[id(one)] += 1  # pyright: ignore[reportUnknownArgumentType]
        for entry in one.values() if isinstance(one, dict) else one:  # pyright: ignore[reportUnknownVariableType]
            visit(entry)

    visit(value)
    return frozenset(mark for mark, times in count.items() if times > 1)


class _YamlWriter:
    """Writes a value; `shared` are the identities of the mappings and lists that are written once.

    A finding about a value inside one points at the place where it is written, so it has as many places as before.
    """

    def __init__(self, random: Random, shared: frozenset[int]) -> None:
        self.random = random
        self.shared = shared
        self.anchors: dict[str, str] = {}
        """The anchors of the numbers and texts that were written, by how they look."""
        self.names: dict[int, str] = {}
        """The anchors of the shared mappings and lists that were written."""

    def mapping(self, value: dict[Any, Any], indent: str) -> list[str]:
        """The lines of a block mapping."""
        entries = list(value.items())
        self.random.shuffle(entries)
        lines: list[str] = []
        for key, entry in entries:
            if self.chance(0.05):
                lines.append(f"{indent}# {key}: 0")
            once = self.entry(self.scalar(key), entry, indent)
            lines += once
            if self.chance(0.04):
                lines += self.entry(self.scalar(key), entry, indent)
        return lines

    def entry(self, key: str, value: Any, indent: str) -> list[str]:
        """The lines of a key and its value."""
        block = value and id(value) not in self.names
        if block and isinstance(value, dict) and not self.chance(0.15):
            return [f"{indent}{key}:{self.anchor(value)}", *self.mapping(value, indent + "  ")]  # pyright: ignore[reportUnknownArgumentType]
        if block and isinstance(value, list) and not self.chance(0.3):
            return [f"{indent}{key}:{self.anchor(value)}", *self.entries(value, indent)]  # pyright: ignore[reportUnknownArgumentType]
        comment = "  # as before" if self.chance(0.1) else ""
        return [f"{indent}{key}: {self.anchored(value)}{comment}"]

    def entries(self, value: list[Any], indent: str) -> list[str]:
        """The lines of a block list."""
        lines: list[str] = []
        for one in value:
            block = id(one) not in self.shared
            if block and one and isinstance(one, dict) and not self.chance(0.2):
                first, *rest = self.mapping(one, indent + "  ")  # pyright: ignore[reportUnknownArgumentType]
                while first.lstrip().startswith("#"):
                    first, *rest = rest
                lines += [f"{indent}- {first.lstrip()}", *rest]
            else:
                lines.append(f"{indent}- {self.flow(one)}")
        return lines

    def anchored(self, value: Any) -> str:
        """A value with an anchor, or the name of an equal one that has one."""
        mark = f"{type(value).__name__} {value!r}"
        if mark in self.anchors and self.chance(0.3):
            return f"*{self.anchors[mark]}"
        written = self.flow(value)
        if isinstance(value, (dict, list)) or mark in self.anchors or not self.chance(0.08):
            return written
        self.anchors[mark] = f"a{len(self.anchors)}"
        return f"&{self.anchors[mark]} {written}"

    def anchor(self, value: Any) -> str:
        """The anchor before a value that is shared, with a blank before it."""
        if id(value) not in self.shared:
            return ""
        self.names[id(value)] = f"shared{len(self.names)}"
        return f" &{self.names[id(value)]}"

    def flow(self, value: Any) -> str:
        """A value on one line: the alias of one that is shared and was written."""
        if id(value) in self.names:
            return f"*{self.names[id(value)]}"
        return f"{self.anchor(value)} {self.contents(value)}".strip()

    def contents(self, value: Any) -> str:
        """A value on one line, written out."""
        if isinstance(value, dict):
            entries: list[Any] = list(value.items())  # pyright: ignore[reportUnknownArgumentType]
            self.random.shuffle(entries)
            return "{" + ", ".join(f"{self.scalar(key)}: {self.flow(one)}" for key, one in entries) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.flow, value)) + "]"  # pyright: ignore[reportUnknownArgumentType]
        return self.scalar(value)

    def scalar(self, value: Any) -> str:
        """A number, a truth, a text or nothing."""
        plain = yaml.safe_dump(value, width=10**9, allow_unicode=True).removesuffix("\n...\n").strip()
        choices = [plain, *self.other(value)]
        fitting = [one for one in choices if repr(_loaded(one)) == repr(value)]
        return self.random.choice(fitting) if self.chance(0.5) else fitting[0]

    def other(self, value: Any) -> list[str]:
        """What may be the same value."""
        if isinstance(value, bool):
            return ["True", "true", "yes", "on"] if value else ["False", "false", "no", "off"]
        if value is None:
            return ["null", "~", "Null"]
        if isinstance(value, int):
            sign = "-" if value < 0 else ""
            return [
                f"{sign}0{abs(value):o}",
                f"{sign}0x{abs(value):x}",
                f"{value:_}",
                f"+{value}",
                f"{sign}0b{abs(value):b}",
            ]
        if isinstance(value, float):
            return [f"{value:.17e}", f"{value:.10f}", f"+{value!r}", f"{value!r}0"]
        if isinstance(value, str):
            return [f"'{value}'", f'"{value}"', f"!!str {value}"]
        return []

    def chance(self, share: float) -> bool:
        return self.random.random() < share


def _loaded(text: str) -> Any:
    try:
        found = loaded(f"k: [{text}]")["k"]
    except (yaml.YAMLError, ValueError, OverflowError):
        return Ellipsis
    return found[0] if len(found) == 1 else Ellipsis


# --- a launch ---


class _Flag(NamedTuple):
    name: str
    values: tuple[str, ...]
    takes_one: bool
    """Whether `--flag=value` says the same."""
    is_whole: bool
    """Whether it has values that it takes: what a parser refuses it would refuse twice."""


def rewritten_launch(config: Config, random: Random | None) -> str:
    """A script with the arguments of a launch that are decided; without chance in the plainest notation."""
    assert config.launch is not None
    writer = _LaunchWriter(random)
    flags = _flags(config)
    if random is not None:
        flags = _shuffled(flags, random, config)
    words = [word for flag in flags for word in writer.flag(flag)]
    devices = config.launch.world_size or 8
    program = config.launch.script or "pretrain_gpt.py"
    env = [
        f"export {name}={shlex.quote(value)}" for name, value in sorted(config.launch.env.items()) if value is not None
    ]
    launch = f"torchrun --nproc_per_node {devices} --nnodes 1 {shlex.quote(program)}"
    return "\n".join((*env, *writer.script(launch, words), ""))


def _flags(config: Config) -> list[_Flag]:
    """The flags with their values, in order; a word that is not decided goes with all that belongs to its flag."""
    assert config.launch is not None
    known = catalog(config.framework_version, fork_of(config)).by_option
    found: list[list[str]] = []
    open_ = False
    for word in config.launch.arguments:
        if word.text.startswith("--") or not word.resolved:
            name, equals, value = word.text.partition("=")
            open_ = not word.resolved
            if not open_:
                found.append([name, value] if equals else [name])
        elif found and not open_:
            found[-1].append(word.text)
    flags: list[_Flag] = []
    for name, *values in found:
        fact = known.get(name)
        several = fact is not None and (fact.action != "store" or isinstance(fact.nargs, int))
        takes = 1 if fact is None or fact.action == "store" else 0
        is_whole = len(values) == takes and all(_is_accepted(fact, value, config) for value in values)
        flags.append(_Flag(name, tuple(values), len(values) == 1 and not several, is_whole))
    return flags


def _is_accepted(fact: ArgumentFact | None, text: str, config: Config) -> bool:
    """Whether a parser takes a text as a value of an argument."""
    if fact is None:
        return True
    try:
        value = convert(fact.type, text, config.framework_version)
    except ValueError:
        return False
    return fact.choices is None or value in fact.choices


def _shuffled(flags: Sequence[_Flag], random: Random, config: Config) -> list[_Flag]:
    """Another order, in which the last argument of each destination is still the last."""
    known = catalog(config.framework_version, fork_of(config)).by_option
    groups: dict[str, list[_Flag]] = {}
    for flag in flags:
        dest = known[flag.name].dest if flag.name in known else destination(flag.name)
        groups.setdefault(dest, []).append(flag)
    order = [dest for dest, group in groups.items() for _ in group]
    random.shuffle(order)
    return [groups[dest].pop(0) for dest in order]


class _LaunchWriter:
    def __init__(self, random: Random | None) -> None:
        self.random = random
        self.assignments: list[str] = []

    def flag(self, flag: _Flag) -> list[str]:
        """The words of a flag, as bash reads them."""
        random = self.random
        if random is None:
            return [flag.name, *map(shlex.quote, flag.values)]
        words = self.once(flag, random)
        return self.once(flag, random) + words if flag.is_whole and random.random() < 0.06 else words

    def once(self, flag: _Flag, random: Random) -> list[str]:
        values = [self.value(value, random) for value in flag.values]
        if flag.takes_one and random.random() < 0.4:
            return [f"{flag.name}={values[0]}"]
        name = random.choice([flag.name] * 6 + [f"'{flag.name}'", f'{flag.name[:4]}"{flag.name[4:]}"'])
        return [name, *values]

    def value(self, text: str, random: Random) -> str:
        """A value: plain, in quotes, or a variable."""
        forms: list[Callable[[], str]] = [
            lambda: shlex.quote(text), lambda: shlex.quote(text), lambda: _single(text), lambda: _double(text),
            lambda: f'"{self.variable(text)}"', lambda: f'"{self.variable(text, ":-0")}"',
        ]  # fmt: skip
        return random.choice(forms)()

    def variable(self, text: str, default: str = "") -> str:
        name = f"VALUE_{len(self.assignments)}"
        self.assignments.append(f"{name}={shlex.quote(text)}")
        return f"${{{name}{default}}}" if text or not default else f"${{{name}}}"

    def script(self, launch: str, words: Sequence[str]) -> list[str]:
        """The lines of the script: some words in arrays, the others on continued lines."""
        random = self.random
        if random is None:
            return [f"{launch} {' '.join(words)}"]
        lines = list(self.assignments)
        behind: list[str] = []
        for number, part in enumerate(_parts(words, random)):
            if random.random() < 0.5:
                behind += _continued(part, random)
                continue
            lines += [f"PART_{number}=()", f"PART_{number}+=("] if random.random() < 0.3 else [f"PART_{number}=("]
            lines += [f"    {word}" + ("  # as before" if random.random() < 0.1 else "") for word in part]
            lines.append(")")
            behind.append(f'"${{PART_{number}[@]}}"')
        return [*lines, " ".join((launch, *behind))]


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _double(text: str) -> str:
    for character in '\\"$`':
        text = text.replace(character, f"\\{character}")
    return f'"{text}"'


def _parts(words: Sequence[str], random: Random) -> list[Sequence[str]]:
    """The words in some runs."""
    found: list[Sequence[str]] = []
    at = 0
    while at < len(words):
        end = at + random.randint(1, 12)
        found.append(words[at:end])
        at = end
    return found


def _continued(words: Sequence[str], random: Random) -> list[str]:
    """The same words, some of them on lines of their own."""
    return [f"\\\n    {word}" if random.random() < 0.4 else word for word in words]

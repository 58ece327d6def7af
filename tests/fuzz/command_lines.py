"""Command lines with absurd words: options and operands that nobody writes, on good files.

Options come from accmap's own table, so a new one is tried from its first night on. The files stay as they are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from absurd_values import VALUES, as_text

if TYPE_CHECKING:
    import random

    from accmap.cli.options import Option

LINES = (
    "show good.sh", "show good.yaml", "recipe good.yaml", "recipe model", "convert good.sh -o out.yaml --force",
    "convert good.yaml -o out.sh --force", "convert model --to megatron -o out.sh --force",
    "upgrade good.yaml -o newest.yaml --force", "pair good.sh -d pair --force", "diff good.sh good.yaml",
    "lr good.sh good.yaml", "lr good.yaml", "lint good.sh good.yaml --no-cache", "lint good.sh --no-cache",
    "report good.sh good.yaml -o report.html --force", "init --yes --force", "rules good.sh", "rules", "defects",
    "defects good.sh", "explain NET001", "explain num_layers", "schema recipe",
    "schema --of config --check accmap.toml",
    "logs a.log b.log", "logs a.log", "dump config good.sh good.yaml -d config --force", "dump compare dump other_dump",
    "dump scan dump", "weights convert torch --plan -o converted --config good.sh", "weights check torch",
    "weights check torch --config good.sh", "data check corpus", "data show good.sh good.yaml --step 1",
    "doctor good.sh",
    "check npy good.npy good.npy", "check scores scores.json scores.json",
    "check answers answers.json answers.json", "check tokenizers tokenizer.json good_tokenizer.json",
    "playbook good.sh good.yaml -d playbook --force",
)  # fmt: skip
UNTRIED = {"--watch", "--follow", "--ray", "--since", "--jobs", "--workers", "--verify"}
"""These wait, start git, or start processes, which other tests try."""
WORDS = (*(as_text(value) for name, value in VALUES.items() if name != "a lone surrogate"), "\udcff", "--", "-", "@x")
"""A word of a command line is a text of bytes: it holds an escaped byte, and no lone surrogate."""
FILES = ("good.sh", "good.yaml", "a.log", "torch", "model", "dump", "corpus", "tokenizer.json", ".")


def draw_words(line: str, chance: random.Random) -> list[str]:
    """A command line with some options of its command, and now and then another operand."""
    words = line.split()
    if len(words) > 1 and chance.random() < 0.2:
        words[chance.randrange(1, len(words))] = _word(chance)
    for option in chance.choices(options_of(command_of(line)), k=chance.randrange(1, 4)):
        words += _option_words(option, chance)
    return words


def command_of(line: str) -> str:
    """The name of a command line's command."""
    words = line.split()
    return " ".join(words[: 2 if words[0] in ("data", "dump", "weights", "check") else 1])


@cache
def options_of(name: str) -> tuple[Option, ...]:
    """The options that are tried with a command."""
    from accmap.cli.options import READING, all_commands

    command = all_commands()[name]
    return tuple(
        option for option in (*command.options, *(READING if command.reads else ())) if UNTRIED.isdisjoint(option.names)
    )


def _option_words(option: Option, chance: random.Random) -> list[str]:
    name = chance.choice(option.names)
    if option.kind == "flag":
        return [name] if chance.random() < 0.95 else [f"{name}={_word(chance)}"]
    count = chance.randrange(1, 4) if option.kind == "rest" else 1
    values = [_value(option, chance) for _ in range(count)]
    return [f"{name}={values[0]}"] if name.startswith("--") and chance.random() < 0.3 else [name, *values]


def _value(option: Option, chance: random.Random) -> str:
    if option.choices and chance.random() < 0.5:
        return chance.choice(option.choices)
    if option.names[0] in ("--branch", "--var", "--declare", "--part", "--mapping") and chance.random() < 0.5:
        return f"{_word(chance)}{chance.choice('=:/')}{_word(chance)}"
    if option.metavar and chance.random() < 0.4 and not option.names[0].startswith("--output"):
        return chance.choice(FILES)
    return _word(chance)


def _word(chance: random.Random) -> str:
    return chance.choice(WORDS)

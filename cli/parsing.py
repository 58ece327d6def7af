"""The command line, parsed by the option table alone.

Typer would cost twelve times the start of Python itself, which a command that runs before every launch and in
every commit cannot afford; so every command line is parsed here, and Typer is imported for help and completion.
"""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..schemas.suggestion import suggestion_in_both
from ..schemas.usage import UsageError
from .options import Command, Option, options_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def counts_from_one(option: str, number: int) -> UsageError:
    """A number of things that is none."""
    return UsageError(f"{option} counts from 1, not {number}", f"{option} 从 1 开始，而不是 {number}")


class Parsed(NamedTuple):
    """The operands and the options' values by destination; options not given have their default."""

    files: tuple[str, ...]
    values: dict[str, object]


def parse(command: Command, words: Sequence[str]) -> Parsed:
    """The words after the command's name, as values."""
    by_name = {name: option for option in options_of(command) for name in option.names}
    values: dict[str, object] = {option.dest: _default(option) for option in by_name.values()}
    operands: list[str] = []
    borrowed: list[str] = []
    lender = ""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            operands.extend(words[at:])
            break
        if word == "-" or not word.startswith("-"):
            operands.append(word)
            continue
        name, equals, attached = word.partition("=")
        option = by_name.get(name)
        if option is None and command.takes_flags:
            operands.append(word)
            continue
        if option is None:
            hint, hint_zh = suggestion_in_both(name, by_name)
            raise UsageError(f"{command.name} has no option {name}{hint}", f"{command.name} 没有选项 {name}{hint_zh}")
        if option.kind == "flag":
            if equals:
                raise UsageError(f"{name} takes no value", f"{name} 不带值")
            values[option.dest] = True
            continue
        if equals:
            taken = [attached]
        else:
            taken = _following(words, at, option)
            at += len(taken)
            if option.kind == "rest":
                borrowed, lender = taken, option.dest
        if not taken:
            named = f" {option.metavar}" if option.metavar else ""
            raise UsageError(f"{name} needs a value{named}", f"{name} 需要一个值{named}")
        _store(values, option, name, taken)
    return Parsed(_operands(command, operands, borrowed, lender, values), values)


def _following(words: Sequence[str], at: int, option: Option) -> list[str]:
    """The words after an option that are its values."""
    if option.kind != "rest":
        return list(words[at : at + 1])
    end = at
    last = len(words) if option.most is None else min(len(words), at + option.most)
    while end < last and not (words[end].startswith("-") and words[end] != "-"):
        end += 1
    return list(words[at:end])


def _default(option: Option) -> object:
    return False if option.kind == "flag" else [] if option.kind in ("list", "rest") else option.default


def _store(values: dict[str, object], option: Option, name: str, taken: list[str]) -> None:
    converted = [_converted(option, name, text) for text in taken]
    if option.kind in ("list", "rest"):
        known = values[option.dest]
        assert isinstance(known, list)
        values[option.dest] = [*known, *converted]  # pyright: ignore[reportUnknownVariableType]
    else:
        values[option.dest] = converted[0]


def _converted(option: Option, name: str, text: str) -> object:
    if option.choices and text not in option.choices:
        listed = ", ".join(option.choices)
        raise UsageError(f"{name} is one of {listed}, not {text!r}", f"{name} 应为 {listed} 之一，而不是 {text!r}")
    if option.type is str:
        return text
    try:
        return option.type(text)
    except ValueError:
        wanted, wanted_zh = ("a whole number", "整数") if option.type is int else ("a number", "数值")
        raise UsageError(f"{name} takes {wanted}, not {text!r}", f"{name} 需要{wanted_zh}，而不是 {text!r}") from None


def _operands(
    command: Command, operands: list[str], borrowed: list[str], lender: str, values: dict[str, object]
) -> tuple[str, ...]:
    """The files; `--arg 8 run.sh` leaves the command the file that it needs."""
    missing = command.minimum - len(operands)
    if 0 < missing < len(borrowed):
        operands = [*borrowed[-missing:], *operands]
        known = values[lender]
        assert isinstance(known, list)
        values[lender] = known[:-missing]  # pyright: ignore[reportUnknownVariableType]
    if len(operands) < command.minimum:
        raise UsageError(f"{command.name} needs {command.operands}", f"{command.name} 需要 {command.operands}")
    if command.maximum is not None and len(operands) > command.maximum:
        surplus = operands[command.maximum]
        raise UsageError(
            f"{command.name} takes {command.operands}; {surplus!r} is one too many",
            f"{command.name} 只接受 {command.operands}；{surplus!r} 是多余的",
        )
    return tuple(operands)

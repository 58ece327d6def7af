"""The command line, parsed by the option table alone.

Typer would cost twelve times the start of Python itself, which a command that runs before every launch and in
every commit cannot afford; so every command line is parsed here, and Typer is imported for help and completion.
"""

from __future__ import annotations

from ..schemas.diagnostic import UsageError
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from .messages_compiled import say
from .options import Command, Option, options_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MOST_JOBS = 1024
"""The most that `--jobs` takes: more than the cores of any one machine that trains."""


def counts_from_one(option: str, number: int) -> UsageError:
    """A number of things that is none."""
    return UsageError(say.counts_from_1_not(option=option, number=number))


def require_jobs(jobs: int | None) -> None:
    """UsageError where what `--jobs` says is no number of threads or processes that a machine has."""
    if jobs is not None and jobs < 1:
        raise counts_from_one("--jobs", jobs)
    if jobs is not None and jobs > MOST_JOBS:
        raise UsageError(say.too_many_jobs(jobs=jobs, most=MOST_JOBS))


class Parsed(NamedTuple):
    """The operands and the options' values by destination; options not given have their default."""

    files: tuple[str, ...]
    values: dict[str, object]
    words: tuple[str, ...] = ()
    """All of them, as they were written."""


def parse(command: Command, words: Sequence[str]) -> Parsed:
    """The words after the command's name, as values."""
    by_name = {name: option for option in options_of(command) for name in option.names}
    values = _default_values(command)
    operands: list[str] = []
    borrowed: list[str] = []
    given: set[str] = set()
    lender = ""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            operands.extend(words[at:])
            break
        name, equals, attached = word.partition("=")
        option = by_name.get(name)
        if _is_operand(word) or (option is None and command.takes_flags):
            operands.append(word)
            continue
        if option is None:
            raise _no_option(command, name, by_name)
        given.add(option.dest)
        if option.kind == "flag":
            if equals:
                raise UsageError(say.takes_no_value(name=name))
            values[option.dest] = True
            continue
        taken = [attached] if equals else _values_after(words, at, option)
        if not equals:
            at += len(taken)
            if option.kind == "rest":
                borrowed, lender = taken, option.dest
        _store_option(values, option, name, taken)
    _choose_form(values, by_name.get("--format"), given)
    return Parsed(_operands(command, operands, borrowed, lender, values), values, tuple(words))


def _is_operand(word: str) -> bool:
    return word == "-" or not word.startswith("-")


def _choose_form(values: dict[str, object], form: Option | None, given: set[str]) -> None:
    """Without `--format`, the ending of the file that is written says the form."""
    if form is not None and form.dest not in given:
        values[form.dest] = _form_by_ending(values, form) or values[form.dest]


def _default_values(command: Command) -> dict[str, object]:
    """What each option has where it is not given, by destination."""
    return {
        option.dest: False if option.kind == "flag" else [] if option.kind in ("list", "rest") else option.default
        for option in options_of(command)
    }


def _no_option(command: Command, name: str, known: Iterable[str]) -> UsageError:
    """The refusal of an option that the command does not have, with the one that was probably meant."""
    from ..schemas.suggestion import suggestion

    removed = {"--ranks": say.verify_ranks_removed, "--against": say.verify_against_removed}
    if command.name == "verify" and name in removed:  # which earlier versions had
        return UsageError(removed[name]())
    return UsageError(say.has_no_option(name=command.name, name2=name, hint=suggestion(name, known)))


def _form_by_ending(values: dict[str, object], form: Option) -> str | None:
    """The form of an answer that its file's ending names; None for another ending."""
    name = values.get("output", values.get("output_file"))
    if not isinstance(name, str):
        return None
    ending = name.rpartition(".")[2].lower()
    wanted = "markdown" if ending == "md" else ending
    return wanted if wanted in (form.choices or ()) else None


def _values_after(words: Sequence[str], at: int, option: Option) -> list[str]:
    """The words after an option that are its values."""
    if option.kind != "rest":
        return list(words[at : at + 1])
    end = at
    last = len(words) if option.most is None else min(len(words), at + option.most)
    while end < last and not (words[end].startswith("-") and words[end] != "-"):
        end += 1
    return list(words[at:end])


def _store_option(values: dict[str, object], option: Option, name: str, taken: list[str]) -> None:
    """Convert the words of one option and put the result into `values`; a list option appends to what it has."""
    if not taken:
        named = f" {option.metavar}" if option.metavar else ""
        raise UsageError(say.needs_a_value(name=name, named=named))
    converted = [_converted_value(option, name, text) for text in taken]
    if option.kind in ("list", "rest"):
        known = values[option.dest]
        assert isinstance(known, list)
        values[option.dest] = [*known, *converted]  # pyright: ignore[reportUnknownVariableType]
    else:
        values[option.dest] = converted[0]


_BITS = 64


def _converted_value(option: Option, name: str, text: str) -> object:
    """The value of an option as string, integer or float; UsageError if it is none of the choices or no number."""
    if option.choices and text not in option.choices:
        listed = ", ".join(option.choices)
        raise UsageError(say.is_one_of_not(name=name, listed=listed, text=text))
    if option.type == "str":
        return text
    wanted = say.a_whole_number() if option.type == "int" else say.a_number()
    try:
        number = int(text) if option.type == "int" else float(text)
    except ValueError:
        raise UsageError(say.takes_not(name=name, text=text, wanted=wanted)) from None
    if isinstance(number, int) and number.bit_length() >= _BITS:
        from ..schemas.plain_values import brief_text

        raise UsageError(say.takes_not(name=name, text=brief_text(text), wanted=say.a_number_of_64_bits()))
    return number


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
        raise UsageError(say.needs(name=command.name, operands=command.operands))
    if command.maximum is not None and len(operands) > command.maximum:
        surplus = operands[command.maximum]
        raise UsageError(say.takes_is_one_too_many(name=command.name, operands=command.operands, surplus=surplus))
    return tuple(operands)


_ANSWERS = {"yes": True, "no": False}
_LONGEST_NUMBER = 8


def branches_of(words: Sequence[str], option: str = "--branch") -> dict[str, bool]:
    """The answers by line; UsageError where one is none."""
    found: dict[str, bool] = {}
    for word in words:
        place, equals, answer = word.rpartition("=")
        file, colon, line = place.rpartition(":")
        number = line.isascii() and line.isdigit() and len(line) <= _LONGEST_NUMBER and int(line) > 0
        if not equals or answer not in _ANSWERS or not number or (colon and not file):
            asked = word.partition("=")[0]
            line = asked if asked.rpartition(":")[2].isdecimal() else "LINE"
            raise UsageError(say.takes_line_yes_or_line(option=option, word=word, line=line))
        key = f"{file}{colon}{int(line)}"
        if found.setdefault(key, _ANSWERS[answer]) != _ANSWERS[answer]:
            raise UsageError(say.says_both_yes_and_no(option=option, key=key))
    return found

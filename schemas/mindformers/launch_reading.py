"""The command line of `run_mindformer.py`, read as its argparse reads it; see `launch.py`."""

from __future__ import annotations

import posixpath

from ..config import reason_words
from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..message import NOTHING
from ..plain_values import json_or_text, number_in
from ..suggestion import closest
from ..versions import number_of
from .config_state import Undecided
from .effective import Override
from .launch_options_compiled import OPTIONS as ROWS
from .launch_options_compiled import PREDICT_MODES, TOP_LEVEL
from .messages_compiled import say
from .versions import static_catalog, static_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal, TypeAlias

    from ..config import Argument, Launch, Value
    from ..diagnostic import Diagnostic
    from ..message import Problem
    from ..source import Span


class _Part(NamedTuple):
    text: str
    span: Span
    resolved: bool
    why: str


class _Given(NamedTuple):
    span: Span
    parts: list[_Part]
    values: list[Value]

    def value(self, *, several: bool) -> Value:
        """Value of the option; all its values if `several`."""
        if not all(part.resolved for part in self.parts):
            return Undecided(" ".join([part.text for part in self.parts]))
        return self.values if several and len(self.values) > 1 else self.values[0]


def _joined_span(first: Span, last: Span) -> Span:
    """Span from an option to its value, or of the option if the value is elsewhere."""
    if first.file == last.file and (last.line, last.column) >= (first.end_line, first.end_column):
        return first.through(last)
    return first


class LaunchReading:
    """One command line, read as argparse's `parse_known_args` would."""

    def __init__(self, launch: Launch, version: str, file: str) -> None:
        self.problems: list[Diagnostic] = []
        self._file = file
        self._script = launch.script or ""
        self._version = version
        self._given: dict[str, _Given] = {}
        self._rest: list[_Part] = []
        self._read(launch.arguments)
        mode = self._single("--mode")
        self.is_dynamic = (
            mode is not None and mode.resolved and mode.text.strip() == "1" and number_of(version) >= DYNAMIC_SINCE
        )

    def config(self) -> str | None:
        """The YAML's path; a relative one counts from the directory of `run_mindformer.py`."""
        given = self._single("--config")
        if given is None:
            return None
        if not given.resolved:
            self._report(say.undecided_config(text=given.text, why=reason_words(given.why)), given.span)
            return None
        return posixpath.join(posixpath.dirname(self._script), given.text)

    def changes(self) -> Iterable[Override]:
        """All overrides in the order in which the script applies them."""
        if self.is_dynamic:
            self._report_ignored()
            return
        for option in OPTIONS:
            given = self._given.get(option.flag)
            if given is not None:
                yield from self._option_changes(option, given)
        yield from self._rest_changes()

    def _read(self, arguments: Sequence[Argument]) -> None:
        """Parse all words into options with values, and others."""
        at = 0
        while at < len(arguments):
            argument = arguments[at]
            at += 1
            option, explicit = self._option_of(argument)
            if option is None:
                self._rest.append(_Part(argument.text, argument.span, argument.resolved, argument.why))
                continue
            if explicit is not None:
                self._take(option, argument, [_Part(explicit, argument.span, argument.resolved, argument.why)])
                continue
            values: list[_Part] = []
            while at < len(arguments) and (option.many or not values) and _is_value(arguments[at]):
                found = arguments[at]
                values.append(_Part(found.text, found.span, found.resolved, found.why))
                at += 1
            if not values and option.effect != "help":
                expected = say.at_least_one_value() if option.many else say.one_value()
                self._report(
                    say.launch_value(option=option.flag, expected=expected, given=say.nothing()), argument.span
                )
                continue
            self._take(option, argument, values)

    def _take(self, option: LaunchOption, argument: Argument, parts: list[_Part]) -> None:
        """Keep an option's values; the last occurrence counts, but each one is checked."""
        self._given[option.flag] = _Given(argument.span, parts, [self._typed(option, part) for part in parts])

    def _option_of(self, argument: Argument) -> tuple[LaunchOption | None, str | None]:
        """Option that a word names, complete or abbreviated, and the value after `=`."""
        text = argument.text
        if not text.startswith("--") or text == "--":
            return None, None
        name, equals, value = text.partition("=")
        explicit = value if equals else None
        found = [option for option in OPTIONS if option.flag == name]
        if not found:
            found = [option for option in OPTIONS if option.flag.startswith(name)]
        if len(found) > 1:
            candidates = ", ".join(option.flag for option in found)
            self._report(say.option_ambiguous(option=name, candidates=candidates), argument.span)
            return LaunchOption(name, "str", effect="environment"), explicit
        return (found[0], explicit) if found else (None, None)

    def _option_changes(self, option: LaunchOption, given: _Given) -> Iterable[Override]:
        """Overrides that one option makes."""
        span, parts, values = given
        if option.type == "assignments":
            for part in parts:
                yield from self._assignment(part)
            return
        if option.effect == "predict" and not self._predicts():
            self._report(say.option_ignored(option=option.flag, why=say.in_predict_mode()), span)
            return
        empty = option.effect == "yaml-if-not-empty" and values[0] == ""
        paths = () if empty else option.paths
        if not paths:
            return
        value = given.value(several=option.many)
        if option.flag == "--run_mode" and not isinstance(value, Undecided):
            self._check_run_mode(parts[0])
        for path in paths:
            yield Override(".".join(path), value, _joined_span(span, parts[-1].span), option.flag)

    def _typed(self, option: LaunchOption, part: _Part) -> Value:
        """Value of a word by the option's type; None, with a report, if invalid."""
        text = part.text
        if option.type in ("str", "assignments") or not part.resolved:
            return text
        if option.type == "int":
            try:
                return int(text)
            except ValueError:
                self._report(say.launch_value(option=option.flag, expected=say.a_whole_number(), given=text), part.span)
                return None
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if option.type == "bool":
            self._report(say.launch_value(option=option.flag, expected=say.true_or_false(), given=text), part.span)
            return None
        return text

    def _assignment(self, part: _Part) -> Iterable[Override]:
        """Override for a `key=value` word of `--options`."""
        key, equals, text = part.text.partition("=")
        if not equals:
            self._report(say.launch_value(option="--options", expected=say.pairs(), given=part.text), part.span)
            return
        if not part.resolved:
            yield Override(key, Undecided(text), part.span, "--options")
            return
        if text.strip("'\"").replace(" ", "").upper() == "TRUE":
            self._report(say.boolean_option(key=key, text=text), part.span)
        try:
            value = assigned_value(text)
        except ValueError:
            self._report(
                say.launch_value(option="--options", expected=say.balanced_brackets(), given=part.text), part.span
            )
            return
        yield Override(key, value, part.span, "--options")

    def _rest_changes(self) -> Iterable[Override]:
        """Pairs of what no option took: `--a.b c` and `--a.b=c` set any place."""
        parts = [
            _Part(text, part.span, part.resolved, part.why) for part in self._rest for text in part.text.split("=")
        ]
        for at in range(0, len(parts), 2):
            key = parts[at]
            if not key.text.startswith("--"):
                if key.resolved:
                    self._report(say.not_a_key(text=key.text), key.span)
                else:
                    self._report(say.argument_undecided(text=key.text, why=reason_words(key.why)), key.span)
                return
            if at + 1 == len(parts):
                self._report(say.unpaired(text=key.text), key.span)
                return
            value = parts[at + 1]
            path = key.text[2:]
            if "." not in path and path not in TOP_LEVEL:
                self._report_unknown(key, path)
            parsed: Value = Undecided(value.text)
            if value.resolved:
                try:
                    parsed = custom_value(value.text)
                except (ValueError, OverflowError):
                    expected = say.what_int_takes()
                    self._report(say.launch_value(option=key.text, expected=expected, given=value.text), value.span)
            yield Override(path, parsed, _joined_span(key.span, value.span), key.text)

    def _single(self, flag: str) -> _Part | None:
        """The first word that a flag was given; None without one."""
        given = self._given.get(flag)
        return given.parts[0] if given is not None and given.parts else None

    def _predicts(self) -> bool:
        """True if the launch asks for inference."""
        mode = self._single("--run_mode")
        return mode is not None and mode.text in PREDICT_MODES

    def _check_run_mode(self, part: _Part) -> None:
        modes: list[str] = static_catalog(static_version(self._version))["run_modes"]
        if part.text not in modes:
            self._report(say.run_mode(mode=part.text, modes=", ".join(modes)), part.span)

    def _report_ignored(self) -> None:
        """Report options that the dynamic graph's launch ignores."""
        why = say.config_alone()
        for flag, given in self._given.items():
            if flag not in ("--config", "--mode", "--register_path"):
                self._report(say.option_ignored(option=flag, why=why), given.span)
        for part in self._rest:
            if part.text.startswith("--"):
                self._report(say.option_ignored(option=part.text.partition("=")[0], why=why), part.span)

    def _report_unknown(self, part: _Part, key: str) -> None:
        near = closest(part.text, [option.flag for option in OPTIONS])
        hint = say.perhaps(near=near) if near else NOTHING
        self._report(say.launch_unknown(option=part.text, key=key, hint=hint), part.span)

    def _report(self, problem: Problem, span: Span) -> None:
        self.problems.append(diagnose(problem, self._file, span))


def custom_value(text: str) -> Value:
    """Value of `--a.b text`: number, boolean, JSON or text; ValueError if the script fails.

    `mindformers/tools/utils.py:parse_value`, 1.6 to 2.1: what equals a whole number as a float must also be one that
    Python's int() takes, so `1e3` and `1.0` stop the run.
    """
    number = number_in(text)
    if number is not None:
        if number == number and int(number) == number:
            return int(text)
        return number
    if text in ("True", "False"):
        return text == "True"
    return json_or_text(text)


def assigned_value(text: str) -> Value:
    """The value of `--options key=text`: numbers and (nested) lists; every boolean becomes False.

    `mindformers/tools/register/config.py:ActionDict`, 1.6 to 2.1.
    """
    text = text.strip("'\"").replace(" ", "")
    if text[:1] + text[-1:] in ("()", "[]") and len(text) > 1:
        text = text[1:-1]
    elif "," not in text:
        try:
            return int(text)
        except ValueError:
            number = number_in(text)
            if number is not None:
                return number
            return False if text.upper() in ("TRUE", "FALSE") else text
    values: list[Value] = []
    while text:
        end = _comma(text)
        values.append(assigned_value(text[:end]))
        text = text[end + 1 :]
    return values


def _comma(text: str) -> int:
    """Index of the first comma outside brackets, else the length."""
    if text.count("(") != text.count(")") or text.count("[") != text.count("]"):
        raise ValueError(text)
    parentheses = brackets = 0
    for at, character in enumerate(text):
        if character == "," and parentheses == 0 and brackets == 0:
            return at
        parentheses += (character == "(") - (character == ")")
        brackets += (character == "[") - (character == "]")
    return len(text)


def _is_value(argument: Argument) -> bool:
    """True if argparse takes a word as a value."""
    text = argument.text
    if not text.startswith("-") or text == "-" or " " in text:
        return True
    whole, point, fraction = text[1:].partition(".")
    return fraction.isdecimal() and (not whole or whole.isdecimal()) if point else whole.isdecimal()


ValueType: TypeAlias = "Literal['str', 'int', 'bool', 'bool-or-str', 'assignments']"
Effect: TypeAlias = (
    "Literal['yaml', 'yaml-if-not-empty', 'yaml-if-section', 'predict', 'config', 'environment', 'help']"
)


class LaunchOption(NamedTuple):
    """One option: what it takes and which places of the YAML it sets."""

    flag: str
    type: ValueType
    paths: tuple[tuple[str, ...], ...] = ()
    many: bool = False
    effect: Effect = "yaml"


OPTIONS: tuple[LaunchOption, ...] = tuple(LaunchOption(*row) for row in ROWS)


DYNAMIC_SINCE = (1, 9)
"""From this version `--mode 1` starts the dynamic graph's trainer, which is given --config and nothing else."""

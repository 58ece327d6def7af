"""The command line of `run_mindformer.py`, read as its argparse reads it; see `launch.py`."""

from __future__ import annotations

import posixpath

from ..config import reason_words
from ..diagnostic import Kind, finding
from ..light_typing import TYPE_CHECKING, NamedTuple
from ..suggestion import closest
from ..versions import number_of
from .catalog import static_catalog, static_version
from .effective import Override
from .launch_options import DYNAMIC_SINCE, OPTIONS, PREDICT_MODES, TOP_LEVEL, LaunchOption
from .reading import Undecided

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..config import Argument, Launch, Value
    from ..diagnostic import Diagnostic
    from ..source import Span

PROBLEMS = {
    "value": Kind(
        "MAP080",
        "launch-option-value",
        "error",
        "{option} takes {expected}, but {given} is given; run_mindformer.py stops here.",
        "{option} 需要 {expected}，但给出的是 {given}；run_mindformer.py 会在此停止。",
    ),
    "ambiguous": Kind(
        "MAP081",
        "launch-option-ambiguous",
        "error",
        "{option} abbreviates several options: {candidates}. Write the whole name.",
        "{option} 是多个选项的缩写：{candidates}。请写全名。",
    ),
    "unknown": Kind(
        "MAP082",
        "launch-option-unknown",
        "warning",
        "run_mindformer.py has no option {option}; it sets the top-level key {key}, which nothing reads.{hint}",
        "run_mindformer.py 没有选项 {option}；它会设置顶层键 {key}，而没有代码读取该键。{hint_zh}",
        "medium",
    ),
    "unpaired": Kind(
        "MAP083",
        "launch-arguments-unpaired",
        "error",
        "Arguments that run_mindformer.py does not know must come in pairs `--key value`; {text} has no partner.",
        "run_mindformer.py 不认识的参数必须成对出现（`--key value`）；{text} 没有配对。",
    ),
    "not-a-key": Kind(
        "MAP084",
        "launch-argument-not-a-key",
        "error",
        "{text} stands where a key that starts with -- is expected; run_mindformer.py stops here.",
        "{text} 所在的位置需要以 -- 开头的键；run_mindformer.py 会在此停止。",
    ),
    "ignored": Kind(
        "MAP085",
        "launch-option-ignored",
        "warning",
        "{option} has no effect: {why}.",
        "{option} 不起作用：{why_zh}。",
    ),
    "boolean-option": Kind(
        "MAP086",
        "options-boolean-is-false",
        "error",
        "`--options {key}={text}` sets False: --options reads every boolean as False. Write `--{key} {text}` instead.",
        "`--options {key}={text}` 会设为 False：--options 把所有布尔值都读成 False。请改用 `--{key} {text}`。",
    ),
    "run-mode": Kind(
        "MAP087",
        "run-mode-unknown",
        "error",
        "run_mode {mode} is not one of {modes}.",
        "run_mode {mode} 不在 {modes} 之中。",
    ),
    "undecided-config": Kind(
        "MAP079",
        "launch-config-undecided",
        "error",
        "Which YAML this launch reads cannot be decided by reading: --config is {text} ({why}).",
        "仅凭阅读无法确定此启动读取哪个 YAML：--config 为 {text}（{why_zh}）。",
    ),
    "undecided": Kind(
        "MAP088",
        "launch-argument-undecided",
        "warning",
        "{text} cannot be decided by reading ({why}); it could be an option that overrides the YAML.",
        "仅凭阅读无法确定 {text}（{why_zh}）；它可能是覆盖 YAML 的选项。",
    ),
}


class _Part(NamedTuple):
    text: str
    span: Span
    resolved: bool
    why: str


class _Given(NamedTuple):
    span: Span
    parts: list[_Part]
    values: list[Value]


def _reaching(first: Span, last: Span) -> Span:
    """From an option to its value; the option alone where the value is written elsewhere (a variable, `--arg`)."""
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
            self._report(
                "undecided-config",
                given.span,
                text=given.text,
                why=str(reason_words(given.why)),
                why_zh=reason_words(given.why).zh,
            )
            return None
        return posixpath.join(posixpath.dirname(self._script), given.text)

    def changes(self) -> Iterable[Override]:
        """Every place that is set, in the order in which the script sets them."""
        if self.is_dynamic:
            self._report_ignored()
            return
        for option in OPTIONS:
            given = self._given.get(option.flag)
            if given is not None:
                yield from self._option_changes(option, given)
        yield from self._rest_changes()

    def _read(self, arguments: Sequence[Argument]) -> None:
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
                expected = "at least one value" if option.many else "one value"
                self._report("value", argument.span, option=option.flag, expected=expected, given="nothing")
                continue
            self._take(option, argument, values)

    def _take(self, option: LaunchOption, argument: Argument, parts: list[_Part]) -> None:
        """Keep an option's values; the last occurrence counts, but each one is checked."""
        self._given[option.flag] = _Given(argument.span, parts, [self._typed(option, part) for part in parts])

    def _option_of(self, argument: Argument) -> tuple[LaunchOption | None, str | None]:
        """The option that a token names, whole or abbreviated, and the value after its `=`."""
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
            self._report("ambiguous", argument.span, option=name, candidates=candidates)
            return LaunchOption(name, "str", effect="environment"), explicit
        return (found[0], explicit) if found else (None, None)

    def _option_changes(self, option: LaunchOption, given: _Given) -> Iterable[Override]:
        span, parts, values = given
        if option.type == "assignments":
            for part in parts:
                yield from self._assignment(part)
            return
        if option.effect == "predict" and not self._predicts():
            why = ("it counts in predict mode only", "它只在推理模式下起作用")
            self._report("ignored", span, option=option.flag, why=why[0], why_zh=why[1])
            return
        if not option.paths or (option.effect == "yaml-if-not-empty" and values[0] == ""):
            return
        value = (values if len(values) > 1 else values[0]) if option.many else values[0]
        decided = all(part.resolved for part in parts)
        if option.flag == "--run_mode" and decided:
            self._check_run_mode(parts[0])
        if not decided:
            value = Undecided(" ".join(part.text for part in parts))
        for path in option.paths:
            yield Override(".".join(path), value, _reaching(span, parts[-1].span), option.flag)

    def _typed(self, option: LaunchOption, part: _Part) -> Value:
        text = part.text
        if option.type in ("str", "assignments") or not part.resolved:
            return text
        if option.type == "int":
            try:
                return int(text)
            except ValueError:
                self._report("value", part.span, option=option.flag, expected="a whole number", given=text)
                return None
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if option.type == "bool":
            self._report("value", part.span, option=option.flag, expected="True or False", given=text)
            return None
        return text

    def _assignment(self, part: _Part) -> Iterable[Override]:
        key, equals, text = part.text.partition("=")
        if not equals:
            self._report("value", part.span, option="--options", expected="key=value pairs", given=part.text)
            return
        if not part.resolved:
            yield Override(key, Undecided(text), part.span, "--options")
            return
        if text.strip("'\"").replace(" ", "").upper() == "TRUE":
            self._report("boolean-option", part.span, key=key, text=text)
        try:
            value = assigned_value(text)
        except ValueError:
            self._report("value", part.span, option="--options", expected="balanced brackets", given=part.text)
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
                    self._report("not-a-key", key.span, text=key.text)
                else:
                    self._report(
                        "undecided",
                        key.span,
                        text=key.text,
                        why=str(reason_words(key.why)),
                        why_zh=reason_words(key.why).zh,
                    )
                return
            if at + 1 == len(parts):
                self._report("unpaired", key.span, text=key.text)
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
                    expected = "a value that Python's int() takes where it equals a whole number"
                    self._report("value", value.span, option=key.text, expected=expected, given=value.text)
            yield Override(path, parsed, _reaching(key.span, value.span), key.text)

    def _single(self, flag: str) -> _Part | None:
        given = self._given.get(flag)
        return given.parts[0] if given is not None and given.parts else None

    def _predicts(self) -> bool:
        mode = self._single("--run_mode")
        return mode is not None and mode.text in PREDICT_MODES

    def _check_run_mode(self, part: _Part) -> None:
        modes: list[str] = static_catalog(static_version(self._version))["run_modes"]
        if part.text not in modes:
            self._report("run-mode", part.span, mode=part.text, modes=", ".join(modes))

    def _report_ignored(self) -> None:
        why = "with --mode 1 the dynamic graph's trainer is given --config and nothing else"
        why_zh = "使用 --mode 1 时，动态图训练器只接收 --config"
        for flag, given in self._given.items():
            if flag not in ("--config", "--mode", "--register_path"):
                self._report("ignored", given.span, option=flag, why=why, why_zh=why_zh)
        for part in self._rest:
            if part.text.startswith("--"):
                self._report("ignored", part.span, option=part.text.partition("=")[0], why=why, why_zh=why_zh)

    def _report_unknown(self, part: _Part, key: str) -> None:
        near = closest(part.text, [option.flag for option in OPTIONS])
        hint = f" Did you mean {near}?" if near else ""
        hint_zh = f"是否想写 {near}？" if near else ""
        self._report("unknown", part.span, option=part.text, key=key, hint=hint, hint_zh=hint_zh)

    def _report(self, name: str, span: Span, **values: object) -> None:
        self.problems.append(finding(PROBLEMS, name, self._file, span, **values))


def custom_value(text: str) -> Value:
    """The value of `--a.b text`: a number, True or False, JSON, else the text; ValueError where the script fails.

    `mindformers/tools/utils.py:parse_value`, 1.6 to 2.1: what equals a whole number as a float must also be one that
    Python's int() takes, so `1e3` and `1.0` stop the run.
    """
    number = _float(text)
    if number is not None:
        if number == number and int(number) == number:
            return int(text)
        return number
    if text in ("True", "False"):
        return text == "True"
    from json import loads

    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


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
            number = _float(text)
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
    """Where the first comma outside brackets stands; the length where there is none."""
    if text.count("(") != text.count(")") or text.count("[") != text.count("]"):
        raise ValueError(text)
    parentheses = brackets = 0
    for at, character in enumerate(text):
        if character == "," and parentheses == 0 and brackets == 0:
            return at
        parentheses += (character == "(") - (character == ")")
        brackets += (character == "[") - (character == "]")
    return len(text)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_value(argument: Argument) -> bool:
    """Whether argparse takes a token as a value rather than as an option."""
    text = argument.text
    if not text.startswith("-") or text == "-" or " " in text:
        return True
    whole, point, fraction = text[1:].partition(".")
    return fraction.isdigit() and (not whole or whole.isdigit()) if point else whole.isdigit()

"""The argument vector, taken apart exactly as Megatron's argparse parser (`allow_abbrev=False`) does.

The rules are argparse's own: which words are options and which are values (negative numbers, words with
blanks and everything after `--` are values), how many values each option takes, conversion and choices, and
the last of several occurrences counts. Where argparse stops with an error this goes on and keeps a problem.
The converters of single words are those that the parser names as `type`.
"""

from __future__ import annotations

import operator

from ..diagnostic import UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, cast
from ..message import Problem, Words, verbatim
from ..plain_values import json_or_text
from ..versions import number_of
from .catalog import ArgumentFact
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..config import Argument, Value
    from ..diagnostic import Diagnostic
    from ..source import Span
    from .catalog import Catalog

TYPES = ("str", "int", "float", "bool")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
"""What an editor or a page makes of a hyphen."""


_PLACEHOLDERS = (("your",), ("please",), ("path", "to"), ("path", "of"))
"""How what a template's author leaves to be filled in begins: `your model save path`, `path to data`."""
_BRACKETS = {"<": ">", "{": "}"}
"""What stands around words to be filled in: `<the model's folder>`; with a colon they are JSON."""


class Given(NamedTuple):
    """One option of the vector with the values it took."""

    flag: str
    dest: str
    fact: ArgumentFact | None
    value: Value
    raw: tuple[str, ...]
    span: Span
    decided: bool


class Parsed(NamedTuple):
    """The vector taken apart; `given` holds the last occurrence of each destination, in file order."""

    given: Mapping[str, Given]
    problems: tuple[Diagnostic, ...]
    overridable: frozenset[str] | None
    """Destinations that a later undecidable word cannot override; None where there is no such word."""


def parse(arguments: Sequence[Argument], known: Catalog, file: str) -> Parsed:
    """Parsed arguments of one launch in one version."""
    return _Parser(arguments, known, file).parse()


def with_declarations(known: Catalog, declared: Sequence[str]) -> Catalog:
    """The catalog with a fork's arguments: `flag:nargs[:type]`, nargs 0 for a switch."""
    if not declared:
        return known
    facts = tuple(_parse_declaration(text) for text in declared)
    by_option = dict(known.by_option)
    by_dest = dict(known.by_dest)
    for fact in facts:
        by_option[fact.options[0]] = fact
        by_dest.setdefault(fact.dest, fact)
    return known._replace(arguments=known.arguments + facts, by_option=by_option, by_dest=by_dest)


def _parse_declaration(text: str) -> ArgumentFact:
    """Argument declared by `--declare FLAG:COUNT:TYPE`; UnreadableError if malformed."""
    flag, _, rest = text.partition(":")
    count, _, kind = rest.partition(":")
    flag = flag if flag.startswith("-") else f"--{flag}"
    kind = kind or "str"
    dest = destination(flag)
    if dest and count == "0" and kind in TYPES:
        return ArgumentFact((flag,), dest, None, None, None, False, None, "true", "declared")
    if not dest or kind not in TYPES or not (count in ("", "?", "*", "+") or (count.isdecimal() and len(count) < 10)):
        raise UnreadableError(diagnose(say.bad_declaration(text=text, flag=flag.lstrip("-") or "FLAG"), "--declare"))
    several = count if count in ("?", "*", "+") else None if count in ("", "1") else int(count)
    return ArgumentFact((flag,), dest, kind, several, None, None, None, "store", "declared")  # type: ignore[arg-type]


def destination(flag: str) -> str:
    """The attribute that argparse derives from an option's name."""
    return flag.lstrip("-").replace("-", "_")


def negative_number(text: str) -> bool:
    """True if argparse takes a word with a leading minus for a number."""
    body = text[1:].removesuffix("\n")
    whole, dot, fraction = body.partition(".")
    if not dot:
        return whole.isdecimal()
    return fraction.isdecimal() and (not whole or whole.isdecimal())


_OF_HYDRA = "--config-name"
"""An option that only programs have whose other words are Hydra's overrides."""


class _Parser:
    def __init__(self, arguments: Sequence[Argument], known: Catalog, file: str) -> None:
        self.arguments = arguments
        self.known = known
        self.file = file
        self.problems: list[Diagnostic] = []
        self.given: dict[str, Given] = {}
        self.after_open: set[str] | None = None

    def parse(self) -> Parsed:
        """Parse all words as argparse does: options with their values, then stray words."""
        arguments = self.arguments
        count = len(arguments)
        closed = next((at for at, word in enumerate(arguments) if word.resolved and word.text == "--"), count)
        options = [at < closed and self.is_option(arguments[at]) for at in range(count)]
        at = 0
        last_flag = ""
        while at < count:
            if not options[at]:
                self.stray(arguments[at], last_flag)
                at += 1
                continue
            end = at + 1
            while end < count and end != closed and not options[end]:
                end += 1
            last_flag, at = self.option(at, end)
        overridable = None if self.after_open is None else frozenset(self.after_open)
        return Parsed(self.given, tuple(self.problems), overridable)

    def is_option(self, word: Argument) -> bool:
        """True if argparse takes a word as an option, as far as it is decided."""
        text = word.text
        if not word.resolved:
            # `--tp=$TP`: the name of the flag is decided
            name, equals, _ = _strip_quotes(text).partition("=")
            return bool(equals) and name.startswith("--") and not set(name) & set("$`{}*?\"'")
        if not text.startswith("-"):
            return False
        if text in self.known.by_option:
            return True
        if len(text) == 1:
            return False
        name, equals, _ = text.partition("=")
        if equals and self.known.option(name) is not None:
            return True
        if text == "-h" or text.startswith("-h") or name == "--help":
            return True
        if negative_number(text) and not self.numbers_are_options():
            return False
        return " " not in text

    def numbers_are_options(self) -> bool:
        """True if the parser has options such as `-1`, so that such words are not values."""
        return any(
            negative_number(option)
            for option in self.known.by_option
            if option.startswith("-") and not option.startswith("--")
        )

    def option(self, at: int, end: int) -> tuple[str, int]:
        """Parse the option at `at`; returns its flag and the position after its values."""
        word = self.arguments[at]
        flag, explicit = self.parts(word)
        fact = self.known.option(flag) if word.resolved or explicit is not None else None
        if fact is None:
            return self.unknown_option(at, end, flag, explicit)
        words = self.arguments[at + 1 : end]
        behind = words if explicit is None else [word._replace(text=explicit), *words]
        if left := _to_fill_in(fact, behind):
            self.keep(Given(flag, fact.dest, fact, None, left, _through(word, words), decided=False))
            self.report_to_fill_in(flag, fact, left, behind)
            return flag, end - len(behind) + len(left)
        if explicit is not None:
            self.take(flag, fact, [word._replace(text=explicit)], word.span, explicit=True)
            return flag, at + 1
        available = end - at - 1
        taken = _how_many(fact, available)
        if taken is None:
            self.short(flag, fact, word, words)
            return flag, end
        values = words[:taken]
        self.take(flag, fact, values, _through(word, values))
        return flag, at + 1 + taken

    def parts(self, word: Argument) -> tuple[str, str | None]:
        """The flag of a word, and the value behind its `=`."""
        text = word.text if word.resolved else _strip_quotes(word.text)
        name, equals, value = text.partition("=")
        whole = not equals or (word.resolved and text in self.known.by_option)
        is_flag = name in self.known.by_option or name.startswith("--")
        return (text, None) if whole or not is_flag else (name, value)

    def take(
        self, flag: str, fact: ArgumentFact, words: Sequence[Argument], span: Span, *, explicit: bool = False
    ) -> None:
        """Store an option with its values, and report values that it does not take."""
        raw = tuple(word.text for word in words)
        for word in words:
            if word.resolved and word.text[:1] in _DASHES and word.text.strip(_DASHES)[:1].isalpha():
                written = "--" + word.text.lstrip(_DASHES)
                self.report(say.other_dash(text=word.text, flag=flag, written=written), word.span)
        if explicit and fact.action == "store" and isinstance(fact.nargs, int):
            self.short(flag, fact, words[0], words)
            return
        if fact.action != "store":
            if explicit and words[0].may_split:  # it stands there, or it does not
                said = say.undecided_value(flag=flag, text=raw[0], key=fact.dest, why=words[0].reason())
                self.report(said, span)
            elif explicit:
                self.report(say.value_not_taken(flag=flag, text=raw[0]), span)
            value = fact.action == "true" or (fact.action == "switch" and not flag.startswith("--no-"))
            taken = (None, raw) if explicit else (value, ())
            self.keep(Given(flag, fact.dest, fact, *taken, span, decided=not explicit))
            return
        value, decided = self.store_values(flag, fact, words)
        self.keep(Given(flag, fact.dest, fact, value, raw, span, decided=decided))
        if any(word.may_split and not word.resolved for word in words[1:]):
            self.open(words[-1])

    def report_to_fill_in(
        self, flag: str, fact: ArgumentFact, left: tuple[str, ...], words: Sequence[Argument]
    ) -> None:
        """Report template words such as `your path` that argparse would refuse."""
        if fact.nargs in ("*", "+"):
            said = say.undecided_value(flag=flag, text=" ".join(left), key=fact.dest, why=say.to_fill_in())
            self.report(said, words[0].span)
            return
        self.report(say.stray_placeholder(flag=flag, text=" ".join(left)), words[1].span)

    def store_values(self, flag: str, fact: ArgumentFact, words: Sequence[Argument]) -> tuple[Value, bool]:
        """Value of an option, converted, and True if it is decided."""
        undecided = next((word for word in words if not word.resolved), None)
        if undecided is not None:
            self.report(
                say.undecided_value(flag=flag, text=undecided.text, key=fact.dest, why=undecided.reason()),
                undecided.span,
            )
            return None, False
        values: list[Value] = []
        for word in words:
            value, fine = self.convert_word(flag, fact, word)
            if not fine:
                return None, False
            values.append(value)
        if fact.nargs is None or (fact.nargs == "?" and values):
            return values[0], True
        return fact.const if fact.nargs == "?" else values, True

    def convert_word(self, flag: str, fact: ArgumentFact, word: Argument) -> tuple[Value, bool]:
        """Value of a word by the argument's type and choices, and True if valid; reports otherwise."""
        text = word.text
        choices = fact.choices
        try:
            value = convert(fact.type, text, self.known.version)
        except ValueError:
            expected = verbatim(EXPECTED.get(fact.type or "", fact.type or ""))
            self.report(say.invalid_value(flag=flag, expected=expected, text=text), word.span)
            return None, False
        if choices is not None and value not in choices:
            names = ", ".join(str(choice) for choice in choices if choice is not None)
            self.report(say.invalid_choice(flag=flag, choices=names, text=text), word.span)
            return None, False
        return value, True

    def short(self, flag: str, fact: ArgumentFact, word: Argument, values: Sequence[Argument]) -> None:
        """Report too few values, at which argparse stops."""
        found = " ".join(value.text for value in values) or "–"
        self.report(say.missing_value(flag=flag, expected=_expected_values(fact), found=found), word.span)
        raw = tuple(value.text for value in values)
        self.keep(Given(flag, fact.dest, fact, None, raw, word.span, decided=False))

    def unknown_option(self, at: int, end: int, flag: str, explicit: str | None) -> tuple[str, int]:
        """Parse an option that the version does not have; returns its flag and the position after it."""
        word = self.arguments[at]
        if flag.startswith("-h") or flag == "--help":
            self.report(say.help(flag=flag), word.span)
            return flag, at + 1
        values = [word._replace(text=explicit)] if explicit is not None else list(self.arguments[at + 1 : end])
        dest = destination(flag) or flag
        if dest in self.known.by_dest:
            dest = flag  # `--num_layers`: what the parser has under this name stays what it is
        span = word.span if explicit is not None else _through(word, values)
        self.report_unknown(word, flag, dest, len(values))
        undecided = [value for value in values if not value.resolved]
        raw = tuple(value.text for value in values)
        for value in undecided:
            self.report(say.undecided_value(flag=flag, text=value.text, key=dest, why=value.reason()), value.span)
        value: Value = None if undecided else list(raw) if values else True
        self.keep(Given(flag, dest, None, value, raw, span, not undecided))
        split = next((entry for entry in undecided if entry.may_split), None)
        if explicit is not None:
            return flag, at + 1
        if split is not None:
            self.open(split)
        return flag, end

    def report_unknown(self, word: Argument, flag: str, dest: str, count: int) -> None:
        """Report an unknown option with a suggestion and the dialects that know it."""
        from .versions import name_dialects, suggestion

        better = suggestion(flag, self.known)
        problem = say.unknown_argument(
            program=self.known.program,
            flag=flag,
            key=dest,
            count=count,
            nargs="0" if not count else "1" if count == 1 else "+",
            suggestion=say.closest(near=better) if better else "",
            known_to=name_dialects([flag]),
        )
        self.report(problem._replace(values=(*problem.values, ("near", better or ""))), word.span)

    def stray(self, word: Argument, flag: str) -> None:
        """Report a word that belongs to no option."""
        if not word.resolved:
            self.open(word)
            return
        if _OF_HYDRA in self.known.by_option:
            self.report(say.stray_override(text=word.text), word.span)
            return
        fact = self.known.by_option.get(flag)
        if fact is None:
            self.report(say.stray_first_argument(text=word.text), word.span)
            return
        self.report(say.stray_argument(text=word.text, flag=flag, expected=_expected_values(fact)), word.span)

    def open(self, word: Argument) -> None:
        """Report a word whose text is undecided; any argument may follow from here on."""
        self.report(say.undecided_argument(text=word.text, why=word.reason()), word.span)
        self.after_open = set()

    def keep(self, given: Given) -> None:
        """Store a parsed argument; reports a repetition with another value."""
        before = self.given.pop(given.dest, None)
        if before is not None and (before.value != given.value or before.decided != given.decided):
            shown = given.value if given.decided else say.undecided()
            value = before.value if before.decided else say.undecided()
            self.report(say.repeated(flag=given.flag, key=given.dest, value=shown, before=value), given.span)
        self.given[given.dest] = given
        if self.after_open is not None:
            self.after_open.add(given.dest)

    def report(self, problem: Problem, span: Span) -> None:
        self.problems.append(diagnose(problem, self.file, span))


def _to_fill_in(fact: ArgumentFact, words: Sequence[Argument]) -> tuple[str, ...]:
    """Words of a template phrase such as `your model path`; empty if there is a real value."""
    if fact.type not in (None, "str") or fact.choices:
        return ()
    count = next((at for at, word in enumerate(words) if not word.resolved), len(words))
    found = tuple(word.text for word in words[:count])
    return found if count > 1 and _is_left(found) else ()


def _is_left(words: tuple[str, ...]) -> bool:
    """True if words look like a placeholder to be filled in."""
    closing = _BRACKETS.get(words[0][:1])
    if closing is not None and words[-1].endswith(closing) and not any(":" in word for word in words):
        return True
    begins = (words[0].lstrip("<[{").lower(), words[1].lower())
    return any(begins[: len(one)] == one for one in _PLACEHOLDERS)


def _how_many(fact: ArgumentFact, available: int) -> int | None:
    """Number of following words that an option takes; None if too few."""
    if fact.action != "store":
        return 0
    nargs = fact.nargs
    if nargs is None:
        return 1 if available else None
    if nargs == "?":
        return min(available, 1)
    if nargs == "*":
        return available
    if nargs == "+":
        return available or None
    return nargs if available >= nargs else None


def _expected_values(fact: ArgumentFact) -> Words:
    if fact.action != "store":
        return verbatim("0")
    kind = EXPECTED.get(fact.type or "", fact.type or "str")
    return verbatim(f"{1 if fact.nargs is None else fact.nargs} {kind}")


def _through(flag: Argument, values: Sequence[Argument]) -> Span:
    """Span of a flag with its values if these follow directly."""
    end = flag.span
    for value in values:
        span = value.span
        if span.file != end.file or span[:2] < end[2:4] or span.line > end.end_line + 1:
            return flag.span
        end = span
    return flag.span.through(end)


def _strip_quotes(text: str) -> str:
    return text.lstrip("\"'") if text[:1] in "\"'" else text


MAX_PATTERN = 100_000
"""Longest layer pattern that is built; a model has far fewer layers."""

_SYNTAX_TREE_ONLY = 0x400  # ast.PyCF_ONLY_AST, without importing ast
_STRICT_SINCE = (0, 13)
_PATTERN_CHARACTERS = frozenset("0123456789,[]()+*")


class PatternTooLongError(ValueError):
    """A pattern that would describe more layers than any model has."""


def convert(kind: str | None, text: str, version: str) -> Value:
    """Value of a text by type; ValueError if Megatron-LM's parser would refuse it."""
    return text if kind is None else _CONVERTERS[kind](text, version)


def _frequency(text: str, version: str) -> Value:
    """Interval or list expression such as `([0]*3+[1]*58)`.

    megatron/training/arguments.py:moe_freq_type, no_rope_freq_type, la_freq_type; from 0.13 only digits,
    brackets, commas, `+` and `*` may stand in the list.
    """
    if "[" not in text:
        return int(text)
    if number_of(version) >= _STRICT_SINCE and not _PATTERN_CHARACTERS.issuperset(text):
        raise ValueError(text)
    return pattern(text)


def pattern(text: str) -> Value:
    """The value of a list expression over integers, worked out without executing it."""
    try:
        tree: Any = compile(text.strip(" \t"), "<pattern>", "eval", _SYNTAX_TREE_ONLY)
        found = _evaluated_node(tree.body)
    except (SyntaxError, RecursionError, MemoryError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(text) from error
    if isinstance(found, tuple):  # core/models/gpt/gpt_layer_specs.py:get_gpt_decoder_block_spec takes no tuple
        raise ValueError(text)
    return _as_lists(found)


def _as_lists(found: Any) -> Value:
    """A list whose entries are no tuples, either."""
    if isinstance(found, (list, tuple)):
        return [_as_lists(one) for one in cast("list[Any]", found)]
    return cast("Value", found)


def _evaluated_node(node: Any) -> Any:
    """Value of a list-expression node; ValueError for anything but numbers, lists and arithmetic."""
    kind = type(node).__name__
    if kind == "Constant" and type(node.value) is int:
        return node.value
    if kind in ("List", "Tuple"):
        entries = [one for entry in node.elts for one in _entries(entry)]
        return entries if kind == "List" else tuple(entries)
    if kind == "Subscript":
        return _evaluated_node(node.value)[_evaluated_node(node.slice)]
    if kind == "UnaryOp" and type(node.op).__name__ == "UAdd":
        return +_evaluated_node(node.operand)
    if kind == "BinOp" and (operation := _OPERATIONS.get(type(node.op).__name__)) is not None:
        return operation(_evaluated_node(node.left), _evaluated_node(node.right))
    raise ValueError


def _entries(node: Any) -> Any:
    """The values of an entry of a list: `*[0, 1]` has two."""
    return _evaluated_node(node.value) if type(node).__name__ == "Starred" else [_evaluated_node(node)]


def _product(left: Any, right: Any) -> Any:
    """A list (or number) times a number, within bounds."""
    items, times = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(items, (list, tuple)) and len(cast("list[Any]", items)) * max(times, 0) > MAX_PATTERN:
        raise PatternTooLongError
    return cast("Any", items) * times


def _bounded_power(left: Any, right: Any) -> Any:
    if right > _MOST_BITS or left.bit_length() * right > _MOST_BITS:
        raise PatternTooLongError
    return left**right


_MOST_BITS = 64
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {"Add": operator.add, "Mult": _product, "Pow": _bounded_power}


def _truth(text: str, version: str) -> Value:
    """A word for true or false; transformers hf_argparser.py:string_to_bool."""
    del version
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _integers(text: str, version: str) -> Value:
    """`(1,2)` or `1,2`; megatron/training/arguments.py:tuple_type."""
    del version
    return [int(part) for part in text.strip("()").split(",")]


def _or_nothing(kind: str) -> Callable[[str, str], Value]:
    """Converter that also accepts `null` for None, as Hydra and YAML write it."""
    return lambda text, version: None if text in _NOTHING else _CONVERTERS[kind](text, version)


def _json_value_or_text(text: str, version: str) -> Value:
    del version
    return json_or_text(text)


_NOTHING = ("null", "None", "~")
_TRUE = frozenset(("yes", "true", "t", "y", "1"))
_FALSE = frozenset(("no", "false", "f", "n", "0"))
_CONVERTERS: Mapping[str, Callable[[str, str], Value]] = {
    "str": lambda text, _: text,
    "int": lambda text, _: int(text),
    "float": lambda text, _: float(text),
    "bool": lambda text, _: bool(text),  # every word but the empty one is true, "False" too
    "truth": _truth,
    "name": lambda text, _: text,
    "frequency": _frequency,
    "integers": _integers,
    "any": _json_value_or_text,
    "int?": _or_nothing("int"),
    "float?": _or_nothing("float"),
    "str?": _or_nothing("str"),
    "truth?": lambda text, version: int(text) != 0 if text.isdecimal() else _or_nothing("truth")(text, version),
    "frequency?": _or_nothing("frequency"),
}
NULLABLE = ("any", "int?", "float?", "str?", "truth?", "frequency?")
"""The kinds of a program that is configured by a tree of objects."""

EXPECTED: Mapping[str, str] = {
    "int": "int",
    "float": "float",
    "frequency": "int | ([0]*3+[1]*58)",
    "integers": "1,2,3",
    "truth": "true | false",
    "int?": "int | null",
    "float?": "float | null",
    "truth?": "true | false | null",
    "frequency?": "int | [0, 1, 1] | null",
}
"""What to say that a kind of value looks like."""

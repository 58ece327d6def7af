"""The shell's syntax tree: words with their parts, and the commands made of them."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    from .text import Code, Place, Text


class Bare(NamedTuple):
    """Unquoted characters."""

    text: Text
    string: str


class Quoted(NamedTuple):
    """Characters that quotes or a backslash protect."""

    text: Text


class Double(NamedTuple):
    """A double-quoted string."""

    parts: tuple[Part, ...]
    place: Place


class Parameter(NamedTuple):
    """`$name` and every form of `${...}`."""

    name: str
    place: Place
    subscript: Word | None = None
    form: str = ""
    """The operator: `:-`, `##`, `/`, `length`, `indirect`, `names`, `keys`, `:` (substring), ..."""
    operand: Word | None = None
    second: Word | None = None
    indirect: bool = False
    bare: bool = False
    """Written without braces, so that letters which come to stand behind it lengthen its name."""


class Substitution(NamedTuple):
    """`$(...)` or backticks."""

    body: tuple[Item, ...]
    place: Place


class Arithmetic(NamedTuple):
    """`$((...))`."""

    parts: tuple[Part, ...]
    place: Place


class ProcessSubstitution(NamedTuple):
    """`<(...)` or `>(...)`."""

    body: tuple[Item, ...]
    place: Place


Part: TypeAlias = "Bare | Quoted | Double | Parameter | Substitution | Arithmetic | ProcessSubstitution"


class Word(NamedTuple):
    """One word as written."""

    parts: tuple[Part, ...]
    place: Place

    def literal(self) -> str | None:
        """Text of a word without quotes and expansions; None for others."""
        if len(self.parts) == 1:
            part = self.parts[0]
            return part.string if isinstance(part, Bare) else None
        if all(isinstance(part, Bare) for part in self.parts):
            return "".join([part.string for part in self.parts if isinstance(part, Bare)])
        return None


class Element(NamedTuple):
    """One entry of `name=( ... )`; `key` for `[key]=value`."""

    key: Word | None
    value: Word
    append: bool = False


class Assignment(NamedTuple):
    """`name=value`, `name[index]+=value`, `name=( ... )`."""

    name: str
    subscript: Word | None
    append: bool
    value: Word | tuple[Element, ...]
    place: Place


class HereDocument:
    """A here-document. Its body stands after the line that announces it, so it is filled in later."""

    __slots__ = ("body", "delimiter", "place", "quoted", "strip")

    def __init__(self, delimiter: str, place: Place, *, strip: bool, quoted: bool) -> None:
        self.delimiter = delimiter
        self.place = place
        self.strip = strip
        self.quoted = quoted
        self.body: Word | None = None


class Redirect(NamedTuple):
    """A redirection to a target, or from a here-document."""

    descriptor: str
    operator: str
    target: Word | None
    document: HereDocument | None = None


class Simple(NamedTuple):
    """A simple command. Assignments among `words` are arguments of `export`, `local` and their like."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word | Assignment, ...]
    redirects: tuple[Redirect, ...]
    place: Place


class Redirected(NamedTuple):
    """A compound command with redirections."""

    body: Command
    redirects: tuple[Redirect, ...]
    place: Place


class Pipeline(NamedTuple):
    """Commands joined by pipes."""

    commands: tuple[Command, ...]
    negated: bool
    place: Place


class AndOr(NamedTuple):
    """Pipelines joined by `&&` and `||`: the first, then each operator with its pipeline."""

    first: Command
    rest: tuple[tuple[str, Command], ...]
    place: Place


class Item(NamedTuple):
    """An entry of a command list."""

    command: Command
    background: bool


class If(NamedTuple):
    """`if ...; then ...; elif ...; else ...; fi`."""

    clauses: tuple[tuple[tuple[Item, ...], tuple[Item, ...]], ...]
    otherwise: tuple[Item, ...]
    place: Place


class While(NamedTuple):
    """`while` and `until`."""

    condition: tuple[Item, ...]
    body: tuple[Item, ...]
    until: bool
    place: Place


class For(NamedTuple):
    """`for name in words`; None stands for `"$@"`. `select` is read as a loop nobody can decide."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Item, ...]
    select: bool
    place: Place


class ArithmeticFor(NamedTuple):
    """`for ((first; condition; step))`."""

    first: Arithmetic
    condition: Arithmetic
    step: Arithmetic
    body: tuple[Item, ...]
    place: Place


class Clause(NamedTuple):
    """One alternative of `case`; `ending` is `;;`, `;&` or `;;&`."""

    patterns: tuple[Word, ...]
    body: tuple[Item, ...]
    ending: str


class Case(NamedTuple):
    """`case word in ... esac`."""

    subject: Word
    clauses: tuple[Clause, ...]
    place: Place


class Group(NamedTuple):
    """`{ ...; }`."""

    body: tuple[Item, ...]
    place: Place


class Subshell(NamedTuple):
    """`( ... )`."""

    body: tuple[Item, ...]
    place: Place


class ArithmeticCommand(NamedTuple):
    """`(( ... ))`."""

    expression: Arithmetic
    place: Place


class Test(NamedTuple):
    """`[[ ... ]]`."""

    expression: Condition
    place: Place


class Unary(NamedTuple):
    """`-z word` and its like; an empty operator is a lone word."""

    operator: str
    operand: Word


class Binary(NamedTuple):
    """`left == right` and its like."""

    operator: str
    left: Word
    right: Word


class Logic(NamedTuple):
    """`&&`, `||` and `!` in `[[ ]]`."""

    operator: str
    left: Condition
    right: Condition | None


Condition: TypeAlias = "Unary | Binary | Logic"


class Function(NamedTuple):
    """A function definition."""

    name: str
    body: Command
    code: Code
    place: Place


Command: TypeAlias = (
    Simple
    | Redirected
    | Pipeline
    | AndOr
    | If
    | While
    | For
    | ArithmeticFor
    | Case
    | Group
    | Subshell
    | ArithmeticCommand
    | Test
    | Function
)

"""A parser for bash that reads what bash reads, one complete command at a time.

Bash parses a script line by line and runs each complete command before it looks at the next. `Parser.line` does
the same, so that a syntax error late in a file leaves what stands before it intact.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from .messages_compiled import say
from .scanner import (
    BLANKS,
    DOUBLE_ENDS,
    PLAIN_ENDS,
    binary_test,
    blanks_end,
    name_end,
    redirection,
    reserved_word,
    run_end,
)
from .syntax import (
    AndOr,
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Bare,
    Binary,
    Case,
    Clause,
    Double,
    Element,
    For,
    Function,
    Group,
    HereDocument,
    If,
    Item,
    Logic,
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Quoted,
    Redirect,
    Redirected,
    Simple,
    Subshell,
    Substitution,
    Test,
    Unary,
    While,
    Word,
)
from .text import Code, Doubt, Piece, character, join_bytes

if TYPE_CHECKING:
    from collections.abc import Container
    from typing import NoReturn

    from ..message import Problem
    from .syntax import Command, Condition, Part
    from .text import Place

DEEPEST = 60
"""How deep constructs may nest. Scripts written by people stay below ten."""

MOST_WORDS = 50_000
"""How many words one text may have: more than any script, and few enough to be read in a second."""

MOST_PARTS = 100_000
"""How many quotes, escapes and expansions one text may have, wherever they stand."""

_DECLARING = frozenset(("export", "declare", "typeset", "local", "readonly", "alias"))
_REDIRECTING = frozenset("<>&0123456789{")
_COMMAND_ENDS = frozenset(("", *"\n;&|()"))
_METACHARACTERS = frozenset(" \t\n;&|<>()")
_PLACEHOLDER = r"(?<!<)(<[^<>()&|;]+(?<!\s\d)>)[ \t]*(?:#[^\n]*)?$"
"""`<fill this in>` at the end of what bash has read of a line."""
_SURE_ENDS = frozenset(" \t\n;&|()")
"""What ends a word whatever follows."""
_UNPLAIN = frozenset(";&|<>()$`\"'\\#[")
"""What a line of nothing but plain words lacks: all that ends or quotes a word, comments, subscripts."""
_make_word, _make_bare, _make_element = Word._make, Bare._make, Element._make
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}", "in"))
_DOUBLE = ("&&", "||", ";;", ";&", "|&", "&>", "<<", ">>", "<&", ">&", "<>", ">|")
_SHOWN = 40
"""As much of a word as a message shows."""
_SPECIAL = frozenset("@*#?-$!")
_DIGITS = frozenset("0123456789")
_DOUBLE_ESCAPES = frozenset('$`"\\')
_HERE_ESCAPES = frozenset("$`\\")
_OPERAND_ESCAPES = frozenset('$`"\\}')
_VALUES = ("-", "=", "?", "+")
"""Operators of `${...}` whose operand is a value."""
_PLAIN_SIGNS = frozenset("_-+=,./:@%")
"""Signs that mean the same in quotes and without them."""
_UNARY_TESTS = frozenset("abcdefghknoprstuvwxzGLNORS")
_ANSI_C = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


class ShellSyntaxError(Exception):
    """Code that bash refuses to parse: what is wrong, and where."""

    def __init__(self, problem: Problem, place: Place) -> None:
        super().__init__(problem.kind.code)
        self.problem = problem
        self.place = place


class Parser:
    """Reads one `Code`. Its only state is how far it has read and the here-documents still to come."""

    def __init__(self, code: Code, depth: int = 0, *, extended: bool = False) -> None:
        self.code = code
        self.text = code.text
        self.size = len(code.text)
        self.at: int = 0
        self.depth: int = depth
        self.extended = extended
        """True if `shopt -s extglob` is on: `@(a|b)` is then a part of a word."""
        self.words: int = 0
        self.parts: int = 0
        self.is_document = False
        """True in a here-document, apart from the commands in it."""
        self.is_reparsed = False
        """True in a `$(...)` within double quotes, whose text bash 5.2 parses and prints, and parses again."""
        self.unquoted: frozenset[str] | None = None
        """In an operand of `${...}`: the signs that mean the same there in quotes and without them."""
        self.waiting: list[HereDocument] = []
        self.truncated: list[Place] = []

    # Lines and lists

    def line(self) -> tuple[Item, ...] | None:
        """Next complete command line; None at the end of the text."""
        while True:
            self._blanks()
            if self.at >= self.size:
                return None
            if self.text[self.at] != "\n":
                break
            self._newline()
        items: list[Item] = []
        while True:
            items.append(self._item())
            self._blanks()
            if self.at >= self.size:
                break
            if self.text[self.at] == "\n":
                self._newline()
                break
        return tuple(items)

    def everything(self) -> tuple[Item, ...]:
        """All commands of the text."""
        items: list[Item] = []
        line = self.line()
        while line is not None:
            items.extend(line)
            line = self.line()
        return tuple(items)

    def _item(self) -> Item:
        """One command with its terminator."""
        command = self._and_or()
        self._blanks()
        text, at = self.text, self.at
        if at < self.size:
            if text[at] == ";" and not text.startswith(";;", at) and not text.startswith(";&", at):
                self.at += 1
                return Item(command, False)
            if text[at] == "&" and not text.startswith("&&", at):
                self.at += 1
                return Item(command, True)
            if text[at] not in "\n);":
                self._refuse(at)
        return Item(command, False)

    def _list(self, closers: tuple[str, ...], opened: int, *, may_be_empty: bool = False) -> tuple[Item, ...]:
        """Commands up to one of the closing words."""
        self._enter(opened)
        items: list[Item] = []
        while True:
            self._gap()
            text, at = self.text, self.at
            if at >= self.size:
                self._refuse_unfinished(say.unfinished(found=closers[0]), opened)
            char = text[at]
            if char == ")" or (char == ";" and text.startswith((";;", ";&"), at)):
                if (")" if char == ")" else ";;") in closers:
                    break
                self._refuse(at)
            reserved = reserved_word(text, at) if char in "tedfi}" else ""
            if reserved in _CLOSERS:
                if reserved in closers:
                    break
                self._refuse(at, reserved)
            items.append(self._item())
        if not items and not may_be_empty:
            self._refuse(self.at)
        self.depth -= 1
        return tuple(items)

    def _and_or(self) -> Command:
        """Commands joined by `&&` and `||`."""
        start = self.at
        first = self._pipeline()
        rest: list[tuple[str, Command]] = []
        while True:
            self._blanks()
            operator = self.text[self.at : self.at + 2]
            if operator not in ("&&", "||"):
                break
            self.at += 2
            self._gap()
            rest.append((operator, self._pipeline()))
        return AndOr(first, tuple(rest), self.code.place(start, self.at)) if rest else first

    def _pipeline(self) -> Command:
        """Commands joined by pipes, negated or timed."""
        self._blanks()
        start = self.at
        negated = timed = False
        while True:
            reserved = reserved_word(self.text, self.at) if self._char() in ("!", "t") else ""
            if reserved not in ("!", "time") or self._opens_group(self.at + len(reserved)):
                break
            self.at += len(reserved)
            self._blanks()
            negated, timed = negated != (reserved == "!"), True
            if reserved == "time" and self._take("-p"):
                self._blanks()
        if timed and self._char() in ("", "\n", ";"):
            return Simple((), (), (), self.code.place(start, self.at))
        commands = [self._command()]
        self._blanks()
        while self._char() == "|" and not self.text.startswith("||", self.at):
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._gap()
            commands.append(self._command())
            self._blanks()
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(tuple(commands), negated, self.code.place(start, self.at))

    # Commands

    def _command(self) -> Command:
        """One simple or compound command."""
        self._blanks()
        text, at = self.text, self.at
        if at >= self.size:
            raise ShellSyntaxError(say.unfinished(found=say.a_command()), self.code.place(max(at - 1, 0), at))
        if text[at] == "(":
            return self._with_redirects(self._parenthesis())
        word = reserved_word(text, at) if text[at] in "iwufcs{[ted}" else ""
        if not word or word == "time":
            return self._simple()
        self._enter(at)
        self.at = at + len(word)
        compound = _COMPOUNDS.get(word)
        if compound is None:
            self._refuse(at, word)
        body = compound(self, at)
        self.depth -= 1
        return self._with_redirects(body)

    def _while(self, start: int) -> Command:
        until = self.text.startswith("until", start)
        condition = self._list(("do",), start)
        return While(condition, self._do_block(start), until, self.code.place(start, self.at))

    def _group(self, start: int) -> Command:
        items = self._list(("}",), start)
        self.at += 1
        return Group(items, self.code.place(start, self.at))

    def _test(self, start: int) -> Command:
        return Test(self._condition(start), self.code.place(start, self.at))

    def _coproc(self, start: int) -> Command:
        """A `coproc` command, read as a subshell."""
        return Subshell((Item(self._command(), False),), self.code.place(start, self.at))

    def _with_redirects(self, body: Command) -> Command:
        """Command with the redirections that follow it."""
        redirects: list[Redirect] = []
        while True:
            self._blanks()
            found = self._redirect()
            if found is None:
                break
            redirects.append(found)
        if not redirects:
            return body
        return Redirected(body, tuple(redirects), body.place)

    def _parenthesis(self) -> Command:
        """Subshell, or arithmetic command `((…))`."""
        start = self.at
        if self.text.startswith("((", start):
            end = self._arithmetic_end(start + 2)
            if end is not None:
                self.at = end + 2
                place = self.code.place(start, self.at)
                return ArithmeticCommand(self._arithmetic(start + 2, end, place), place)
        self.at += 1
        items = self._list((")",), start)
        self.at += 1
        return Subshell(items, self.code.place(start, self.at))

    def _if(self, start: int) -> Command:
        """Parsed `if` command."""
        clauses: list[tuple[tuple[Item, ...], tuple[Item, ...]]] = []
        otherwise: tuple[Item, ...] = ()
        while True:
            condition = self._list(("then",), start)
            self.at += 4
            clauses.append((condition, self._list(("elif", "else", "fi"), start)))
            word = self._take_reserved()
            if word == "else":
                otherwise = self._list(("fi",), start)
                word = self._take_reserved()
            if word == "fi":
                return If(tuple(clauses), otherwise, self.code.place(start, self.at))

    def _do_block(self, start: int) -> tuple[Item, ...]:
        """The body of a loop, in `do` and `done` or in braces."""
        self._gap()
        found = reserved_word(self.text, self.at)
        if found == "{":
            self.at += 1
            body = self._list(("}",), start)
            self.at += 1
            return body
        if found != "do":
            if self.at >= self.size:
                self._refuse_unfinished(say.unfinished(found="do"), start)
            self._refuse(self.at)
        self.at += len(found)
        body = self._list(("done",), start)
        self.at += 4
        return body

    def _for(self, start: int) -> Command:
        """Parsed `for` or `select` loop."""
        select = self.text.startswith("select", start)
        self._blanks()
        if self.text.startswith("((", self.at):
            return self._arithmetic_for(start)
        end = name_end(self.text, self.at)
        if end == self.at:
            self._refuse(self.at)
        name = self.text[self.at : end]
        self.at = end
        self._gap()
        words: tuple[Word, ...] | None = None
        if reserved_word(self.text, self.at) == "in":
            self.at += 2
            listed: list[Word] = []
            while True:
                self._blanks()
                if self.at >= self.size or self.text[self.at] in "\n;":
                    break
                listed.append(self._word())
            words = tuple(listed)
        self._blanks()
        if self.text.startswith(";", self.at):
            self.at += 1
        body = self._do_block(start)
        return For(name, words, body, select, self.code.place(start, self.at))

    def _arithmetic_for(self, start: int) -> Command:
        """Parsed `for ((…))` loop."""
        first = self.at + 2
        end = self._arithmetic_end(first)
        if end is None:
            self._refuse(self.at)
        cuts = [at for at in range(first, end) if self.text[at] == ";"]
        if len(cuts) != 2:
            self._refuse(self.at)
        bounds = [first, cuts[0], cuts[0] + 1, cuts[1], cuts[1] + 1, end]
        parts = [
            self._arithmetic(low, high, self.code.place(low, high))
            for low, high in zip(bounds[::2], bounds[1::2], strict=True)
        ]
        self.at = end + 2
        self._blanks()
        if self.text.startswith(";", self.at):
            self.at += 1
        body = self._do_block(start)
        return ArithmeticFor(parts[0], parts[1], parts[2], body, self.code.place(start, self.at))

    def _case(self, start: int) -> Command:
        """Parsed `case` command."""
        self._blanks()
        subject = self._word()
        self._gap()
        if reserved_word(self.text, self.at) != "in":
            self._refuse(self.at)
        self.at += 2
        clauses: list[Clause] = []
        while True:
            self._gap()
            if self.at >= self.size:
                self._refuse_unfinished(say.unfinished(found="esac"), start, 4)
            if reserved_word(self.text, self.at) == "esac":
                self.at += 4
                return Case(subject, tuple(clauses), self.code.place(start, self.at))
            if self.text[self.at] == "(":
                self.at += 1
            patterns: list[Word] = []
            while True:
                self._blanks()
                patterns.append(self._word())
                self._blanks()
                char = self.text[self.at : self.at + 1]
                if char not in ("|", ")"):
                    self._refuse(self.at)
                self.at += 1
                if char == ")":
                    break
            body = self._list((";;", "esac"), start, may_be_empty=True)
            ending = ";;"
            if self.text.startswith(";", self.at):
                ending = next(mark for mark in (";;&", ";;", ";&") if self.text.startswith(mark, self.at))
                self.at += len(ending)
            clauses.append(Clause(tuple(patterns), body, ending))

    def _function(self, start: int) -> Command:
        """Function defined with the word `function`."""
        self._blanks()
        name = self._word().place.snippet()
        self._blanks()
        if self.text.startswith("(", self.at):
            self.at += 1
            self._blanks()
            if not self.text.startswith(")", self.at):
                self._refuse(self.at)
            self.at += 1
        return self._function_body(name, start)

    def _function_body(self, name: str, start: int) -> Command:
        """Function with its body, which must be a compound command."""
        self._gap()
        self._enter(start)
        first = self.at
        body = self._command()
        self.depth -= 1
        if isinstance(body, Simple):
            self._refuse(first)
        return Function(name, body, self.code, self.code.place(start, self.at))

    def _simple(self) -> Command:
        """Simple command: assignments, words and redirections."""
        start = tried = self.at
        assignments: list[Assignment] = []
        words: list[Word | Assignment] = []
        redirects: list[Redirect] = []
        declaring = False
        while True:
            end = self.at
            self._blanks()
            if self.at > tried and words and not declaring:
                tried, run = self._plain_run()
                words += run
                if run:
                    continue
            char = self._char()
            redirect = self._redirect() if char in _REDIRECTING else None
            if redirect is not None:
                redirects.append(redirect)
            elif char == "(" and len(words) == 1 and not assignments and not redirects:
                return self._named_function(start, words[0])
            elif char in _COMMAND_ENDS or (char == "\\" and self._drops_backslash()):
                break
            else:
                declaring = self._next_word(assignments, words, declaring)
        if end == start or self._char() == "(":
            self._refuse(self.at if self._char() == "(" else start)
        return Simple(tuple(assignments), tuple(words), tuple(redirects), self.code.place(start, end))

    def _drops_backslash(self) -> bool:
        """Bash drops a backslash at the end of the text."""
        last = self.at + 1 >= self.size
        self.at += last
        return last

    def _next_word(self, assignments: list[Assignment], words: list[Word | Assignment], declaring: bool) -> bool:
        """Parse an assignment or word; True if the command takes assignments as arguments."""
        assignment = self._assignment() if declaring or not words else None
        if assignment is not None:
            (words if words else assignments).append(assignment)
            return declaring
        word = self._word()
        words.append(word)
        return declaring or (len(words) == 1 and word.literal() in _DECLARING)

    def _named_function(self, start: int, name: Word | Assignment) -> Command:
        """Function defined as `name()`."""
        at = self.at
        self.at += 1
        self._blanks()
        if not self.text.startswith(")", self.at):
            self._refuse(at)
        self.at += 1
        return self._function_body(name.place.snippet(), start)

    def _assignment(self) -> Assignment | None:
        """Parsed assignment; None if the word is not one."""
        text, start = self.text, self.at
        end = name_end(text, start)
        if end == start:
            return None
        name = text[start:end]
        index: Word | None = None
        operator = "=" if text.startswith("=", end) else "+=" if text.startswith("+=", end) else None
        if operator is None:
            found = self.subscript(end)
            if found is None:
                return None
            index, end = found
            after = self.text[end : end + 2]
            operator = "+=" if after == "+=" else "=" if after[:1] == "=" else None
            if operator is None:
                return None
            self.at = end + len(operator)
        else:
            self.at = end + len(operator)
        while self.text.startswith("\\\n", self.at):
            self.at += 2
        if self.text.startswith("(", self.at):
            value: Word | tuple[Element, ...] = self._array()
        else:
            value = self._word(may_be_empty=True)
        return Assignment(name, index, operator == "+=", value, self.code.place(start, self.at))

    def subscript(self, at: int) -> tuple[Word, int] | None:
        """The word in the brackets at a position, and the position behind them; None without brackets."""
        close = self._bracket_end(at + 1) if self.text.startswith("[", at) else None
        return None if close is None else (self._range(at + 1, close), close + 1)

    def elements(self) -> tuple[Element, ...]:
        """Elements of a text that is a whole array literal."""
        found = self._array()
        if self.at < self.size:
            self._refuse(self.at)
        return found

    def _array(self) -> tuple[Element, ...]:
        """Elements of an array literal."""
        opened = self.at
        self.at += 1
        self._enter(opened)
        elements: list[Element] = []
        tried = self.at
        while True:
            self._gap()
            if self.at >= self.size:
                self._refuse_unfinished(say.unfinished(found=")"), opened)
            if self.at > tried:
                tried, run = self._plain_run()
                if run:
                    elements += [_make_element((None, word, False)) for word in run]
                    continue
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                break
            if char in ";&|(" or (char in "<>" and not self.text.startswith(("<(", ">("), self.at)):
                self._refuse(self.at)
            if char == "[":
                close = self._bracket_end(self.at + 1)
                if close is not None and self.text.startswith(("=", "+="), close + 1):
                    key = self._range(self.at + 1, close)
                    append = self.text[close + 1] == "+"
                    self.at = close + (3 if append else 2)
                    elements.append(Element(key, self._word(may_be_empty=True), append))
                    continue
            elements.append(Element(None, self._word()))
        self.depth -= 1
        return tuple(elements)

    def _redirect(self) -> Redirect | None:
        """Parsed redirection; None if there is none here."""
        found = redirection(self.text, self.at)
        if found is None:
            return None
        start = self.at
        descriptor, operator = found
        self.at += len(descriptor) + len(operator)
        self._blanks()
        if operator in ("<<", "<<-"):
            word = self._word()
            raw = word.place.snippet()
            quoted = any(mark in raw for mark in "'\"\\")
            delimiter = raw
            if quoted:
                delimiter = raw.replace("\\", "").replace("'", "").replace('"', "")
            place = self.code.place(start, self.at)
            document = HereDocument(delimiter, place, strip=operator == "<<-", quoted=quoted)
            self.waiting.append(document)
            return Redirect(descriptor, operator, None, document)
        return Redirect(descriptor, operator, self._word())

    # Here-documents

    def _newline(self) -> None:
        self.at += 1
        while self.waiting:
            document = self.waiting.pop(0)
            document.body = self._here_document(document)

    def _here_document(self, document: HereDocument) -> Word:
        """Content of a here-document as a word."""
        text = self.text
        start = self.at
        parts: list[Piece] = []
        while True:
            if self.at >= self.size:
                self.truncated.append(document.place)
                break
            end = text.find("\n", self.at)
            end = self.size if end < 0 else end
            first = self.at
            if document.strip:
                while first < end and text[first] == "\t":
                    first += 1
            self.at = min(end + 1, self.size)
            if text[first:end] == document.delimiter:
                break
            parts.extend(self.code.pieces(first, self.at))
        place = self.code.place(start, self.at)
        if document.quoted:
            return Word((Quoted(tuple(parts)),), place)
        inner = Parser(Code(self.code.source, tuple(parts), place), self.depth, extended=self.extended)
        inner.is_document = True
        return Word((Double(inner.double_parts(0, inner.size), place),), place)

    # Words

    def _word(self, *, may_be_empty: bool = False) -> Word:
        """Next word with its quoted and expanded parts."""
        start = self.at
        self.words += 1
        if self.words > MOST_WORDS:
            raise ShellSyntaxError(say.too_much_work(), self.code.place(start, start + 1))
        text, size = self.text, self.size
        end = run_end(text, start, size, PLAIN_ENDS)
        if (
            end > start and (end == size or text[end] in _SURE_ENDS) and not self._opens_group(end)
        ):  # nothing but plain characters: nearly every word
            self.at = end
            place = self.code.place(start, end)
            return _make_word(((_make_bare((self.code.pieces(start, end), text[start:end])),), place))
        parts: list[Part] = []
        while self.at < size:
            end = run_end(text, self.at, size, PLAIN_ENDS)
            if end > self.at:
                parts.append(Bare(self.code.pieces(self.at, end), text[self.at : end]))
                self.at = end
                if self._opens_group(end):
                    self._extended_group(parts)
                continue
            char = text[self.at]
            if char in _METACHARACTERS:
                if char in "<>" and text.startswith("(", self.at + 1):
                    parts.append(self._process_substitution())
                    continue
                break
            self._quoted_part(char, parts)
        if not parts and not may_be_empty and self.at == start:
            self._refuse(self.at)
        return Word(tuple(parts), self.code.place(start, self.at))

    def _opens_group(self, at: int) -> bool:
        """True if a parenthesis here opens an extended pattern such as `@(a|b)`."""
        return self.extended and self.text[at : at + 1] == "(" and self.text[at - 1] in "?*+@!"

    def _extended_group(self, parts: list[Part]) -> None:
        """Parse the parenthesis of an extended pattern."""
        opened, level = self.at, 0
        while self.at < self.size:
            char = self.text[self.at]
            if char not in "()":
                self._operand_part(parts, "()")
                continue
            self._count(self.at)
            self._bare(parts)
            level += 1 if char == "(" else -1
            if not level:
                return
        self._refuse_unfinished(say.unclosed(found="("), opened)

    def _plain_run(self) -> tuple[int, list[Word]]:
        """Plain words up to the end of the line, and its position; a fast path."""
        text, at = self.text, self.at
        stop = text.find("\n", at)
        stop = self.size if stop < 0 else stop
        line = text[at:stop]
        if line[-2:] == " \\":
            line = line[:-1]
        if not (line.isascii() and line.isprintable() and _UNPLAIN.isdisjoint(line)):
            return stop, []
        if self.words + len(line) > MOST_WORDS:
            return stop, []  # word by word, up to the one that is too many
        place, pieces = self.code.place, self.code.pieces
        found: list[Word] = []
        for string in line.split(" "):
            end = at + len(string)
            if string:
                found.append(_make_word(((_make_bare((pieces(at, end), string)),), place(at, end))))
                self.at = end
            at = end + 1
        self.words += len(found)
        return stop, found

    def _quoted_part(self, char: str, parts: list[Part]) -> None:
        """Parse a quoted or expanded part."""
        text, at = self.text, self.at
        self._count(at)
        if char == "\\":
            if not self._drops_backslash():
                if text[at + 1] != "\n":
                    parts.append(Quoted(self.code.pieces(at + 1, at + 2)))
                self.at += 2
        elif char == "'":
            close = text.find("'", at + 1)
            if close < 0:
                self._refuse_unfinished(say.unclosed(found="'"), at)
            parts.append(Quoted(self.code.pieces(at + 1, close)))
            self.at = close + 1
        elif char == '"':
            parts.append(self._double(at))
        elif char == "$":
            parts.append(self._dollar(in_double=False))
        elif char == "`":
            parts.append(self._backticks(in_double=False))
        else:
            self._bare(parts)

    def _double(self, opened: int, *, is_inner: bool = False) -> Double:
        """A word part in double quotes; of `is_inner` ones, within others, bash drops each backslash."""
        self.at = opened + 1
        self._enter(opened)
        parts = self._double_run(self.size, '"', opened, is_inner=is_inner)
        self.at += 1
        self.depth -= 1
        return Double(parts, self.code.place(opened, self.at))

    def double_parts(self, start: int, end: int) -> tuple[Part, ...]:
        """Parts of a text that expands as inside double quotes."""
        self.at = start
        return self._double_run(end, "", start, bounded=True)

    def _double_run(
        self, end: int, closer: str, opened: int, *, bounded: bool = False, is_inner: bool = False
    ) -> tuple[Part, ...]:
        """Parts up to the end of double quotes or of a range."""
        parts: list[Part] = []
        text = self.text
        while True:
            if self.at >= end:
                if bounded:
                    return tuple(parts)
                self._refuse_unfinished(say.unclosed(found='"'), opened)
            self._count(self.at)
            stop = run_end(text, self.at, end, DOUBLE_ENDS)
            if stop > self.at:
                parts.append(Quoted(self.code.pieces(self.at, stop)))
                self.at = stop
                continue
            char = text[self.at]
            if char == '"':
                if not bounded:
                    return tuple(parts)
                self._keep(parts)
            elif char == "\\":
                escapes = _DOUBLE_ESCAPES if closer else _HERE_ESCAPES
                self._double_escape(parts, self.text[self.at + 1 : self.at + 2] if is_inner else escapes)
            elif char == "$":
                parts.append(self._dollar(in_double=True))
            else:
                parts.append(self._backticks(in_double=not bounded, is_inner=is_inner))

    def _keep(self, parts: list[Part], skip: int = 0, size: int = 1) -> None:
        """Take characters literally, after `skip` dropped ones."""
        at = self.at + skip
        parts.append(Quoted(self.code.pieces(at, at + size)))
        self.at = at + size

    def _double_escape(self, parts: list[Part], escapes: Container[str]) -> None:
        """A backslash within double quotes."""
        following = self.text[self.at + 1 : self.at + 2]
        if following == "\n":
            self.at += 2
        elif following and following in escapes:
            self._keep(parts, 1)
        else:
            self._keep(parts, 0, 2 if following not in ("", '"', "$", "`") else 1)

    # Expansions

    def _dollar(self, *, in_double: bool) -> Part:
        """Expansion that a dollar sign starts, or the sign itself."""
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if following == "(":
            return self._dollar_parenthesis(at, in_double=in_double)
        if following == "{":
            self._enter(at)
            found = self._braces(at, in_double)
            self.depth -= 1
            return found
        if following == "[":
            close = self._bracket_end(at + 2)
            if close is not None:
                self.at = close + 1
                return self._arithmetic(at + 2, close, self.code.place(at, self.at))
        if following in ("'", '"') and not in_double:
            return self._ansi_c(at) if following == "'" else self._double(at + 1)
        end = name_end(text, at + 1)
        if end > at + 1:
            self.at = end
            return Parameter(text[at + 1 : end], self.code.place(at, self.at), bare=True)
        if following in _SPECIAL or following in _DIGITS:
            self.at = at + 2
            return Parameter(following, self.code.place(at, self.at))
        self.at += 1
        piece = self.code.pieces(at, at + 1)
        return Quoted(piece) if in_double else Bare(piece, "$")

    def _dollar_parenthesis(self, at: int, *, in_double: bool) -> Part:
        """Command substitution `$(…)` or arithmetic `$((…))`."""
        if self.text.startswith("(", at + 2):
            end = self._arithmetic_end(at + 3)
            if end is not None:
                self.at = end + 2
                return self._arithmetic(at + 3, end, self.code.place(at, self.at))
        self.at += 2
        outer = self.waiting, self.is_document, self.is_reparsed, self.unquoted
        self.waiting, self.is_document, self.unquoted = [], False, None
        self.is_reparsed = self.is_reparsed or in_double
        body = self._list((")",), at, may_be_empty=True)
        self.waiting, self.is_document, self.is_reparsed, self.unquoted = outer
        self.at += 1
        return Substitution(body, self.code.place(at, self.at))

    def _backticks(self, *, in_double: bool, is_inner: bool = False) -> Part:
        """Command substitution in backquotes, whose backslashes bash drops before it parses the command."""
        text, opened = self.text, self.at
        at = opened + 1
        kept: list[Piece] = []
        run = at
        while True:
            if at >= self.size:
                self._refuse_unfinished(say.unclosed(found="`"), opened)
            char = text[at]
            if char == "`":
                break
            if char == "\\" and self._is_dropped(text[at + 1 : at + 2], in_double=in_double, is_inner=is_inner):
                if at > run:
                    kept.extend(self.code.pieces(run, at))
                kept.extend(self.code.pieces(at + 1, at + 2))
                at += 2
                run = at
            else:
                at += 1
        if at > run:
            kept.extend(self.code.pieces(run, at))
        self.at = at + 1
        place = self.code.place(opened, self.at)
        self._enter(opened)
        inner = Parser(Code(self.code.source, tuple(kept), place), self.depth, extended=self.extended)
        body = inner.everything()
        self.depth -= 1
        return Substitution(body, place)

    @staticmethod
    def _is_dropped(following: str, *, in_double: bool, is_inner: bool) -> bool:
        """True if bash drops a backslash in backquotes; in double quotes within others it keeps two kinds only."""
        if is_inner:
            return following not in ('"', "\n")
        return following in ("`", "\\", "$") or (in_double and following == '"')

    def _process_substitution(self) -> Part:
        at = self.at
        self.at += 2
        body = self._list((")",), at, may_be_empty=True)
        self.at += 1
        return ProcessSubstitution(body, self.code.place(at, self.at))

    def _ansi_c(self, opened: int) -> Part:
        """String `$'…'` with its escapes decoded."""
        text = self.text
        at = opened + 2
        out: list[str] = []
        is_over = False  # a byte of zero ends the string
        while True:
            if at >= self.size:
                self._refuse_unfinished(say.unclosed(found="$'"), opened, 2)
            char = text[at]
            if char == "'":
                break
            if char != "\\" or at + 1 >= self.size:
                out.append("" if is_over else char)
                at += 1
                continue
            decoded, at = _escape(text, at + 1)
            is_over = is_over or not decoded
            out.append("" if is_over else decoded)
        self.at = at + 1
        string, place = join_bytes(out), self.code.place(opened, self.at)
        signs = self.unquoted if self.is_reparsed else None
        if signs is not None and not all(char.isalnum() or char in signs for char in string):
            # the printed text lacks the quotes: what they protected separates words, or is a sign or a pattern
            return Quoted((Piece(string, place, False, (), Doubt(say.expansion_undecided(), place, loose=True)),))
        return Quoted((Piece(string, place),))

    def _arithmetic(self, start: int, end: int, place: Place) -> Arithmetic:
        resume = self.at
        self._enter(start)
        parts = self.double_parts(start, end)
        self.depth -= 1
        self.at = resume
        return Arithmetic(parts, place)

    def _arithmetic_end(self, at: int) -> int | None:
        """Position of the closing `))`; None if it is not arithmetic."""
        end = self._end_of(at, "(", ")")
        return end if end is not None and self.text.startswith(")", end + 1) else None

    def _bracket_end(self, at: int) -> int | None:
        """Place of the `]` that ends a subscript."""
        return self._end_of(at, "[", "]", "\n")

    def _end_of(self, at: int, opening: str, closing: str, never: str = "") -> int | None:
        """Position of the matching closing character; None if absent."""
        text, size = self.text, self.size
        level = 0
        while at < size:
            char = text[at]
            if char == opening:
                level += 1
            elif char == closing:
                if level == 0:
                    return at
                level -= 1
            elif char == "\\":
                at += 1
            elif char in "'\"":
                at = text.find(char, at + 1)
                if at < 0:
                    return None
            elif char == never:
                return None
            at += 1
        return None

    def _range(self, start: int, end: int) -> Word:
        """Part of the text as one word, blanks included."""
        resume, size = self.at, self.size
        self.at, self.size = start, end
        parts: list[Part] = []
        while self.at < end:
            self._operand_part(parts, "")
        self.at, self.size = resume, size
        return Word(tuple(parts), self.code.place(start, end))

    def _operand_part(self, parts: list[Part], stops: str) -> bool:
        """Parse one part of an operand; False before a stop character."""
        text, at = self.text, self.at
        char = text[at]
        if char in stops:
            return False
        end = run_end(text, at, self.size, PLAIN_ENDS)
        if end > at:
            for stop in stops:
                found = text.find(stop, at, end)
                end = found if found >= 0 else end
            parts.append(Bare(self.code.pieces(at, end), text[at:end]))
            self.at = end
        elif char in _METACHARACTERS:
            if char in "<>" and text.startswith("(", at + 1):
                parts.append(self._process_substitution())
            else:
                self._bare(parts)
        else:
            self._quoted_part(char, parts)
        return True

    def _braces(self, opened: int, in_double: bool) -> Part:
        """Parameter expansion `${…}`."""
        form, indirect = self._brace_sign(opened + 2)
        start = opened + 2 + (form != "" or indirect)
        end = self._brace_name(start)
        name, self.at = self.text[start:end], end
        index: Word | None = None
        if name and self._char() == "[":
            close = self._bracket_end(end + 1)
            if close is not None:
                index = self._range(end + 1, close)
                self.at = close + 1
        operand = second = None
        if not name:
            form = "bad"
        elif self._char() != "}":
            operator = _operator(self.text, self.at)
            if form or not operator:
                form = "bad"
            elif indirect and operator in "*@" and self.text.startswith("}", self.at + 1):
                form, indirect = "names", False
                self.at += 1
            else:
                form = operator
                self.at += len(operator)
                outer, self.unquoted = self.unquoted, _unquoted_signs(operator, in_double=in_double)
                operand, second = self._operands(operator, opened, in_double=in_double)
                self.unquoted = outer
        if form == "bad":
            self._operand("}", in_double=False, opened=opened)
        if not self._take("}"):
            self._refuse_unfinished(say.unclosed(found="${"), opened, 2)
        return Parameter(name, self.code.place(opened, self.at), index, form, operand, second, indirect)

    def _brace_sign(self, at: int) -> tuple[str, bool]:
        """True if `${` goes on with a length (its form) or with an indirect name."""
        following = self.text[at + 1 : at + 2]
        if self.text.startswith("#", at) and following != "}":
            plain = following in _SPECIAL or (following.isascii() and following.isalnum()) or following == "_"
            return "length" if plain else "", False
        return "", self.text.startswith("!", at) and following not in ("}", ":", "-", "=", "+", "?", "%")

    def _brace_name(self, at: int) -> int:
        """End of the name, the number or the sign of a parameter."""
        end = name_end(self.text, at)
        if end == at:
            end = at
            while self.text[end : end + 1] in _DIGITS and end < self.size:
                end += 1
            if end == at and self.text[at : at + 1] in _SPECIAL:
                end += 1
        return end

    def _operands(self, operator: str, opened: int, *, in_double: bool) -> tuple[Word, Word | None]:
        """The operands of an expansion's operator: `/` and `:` may have two."""
        if operator[0] != "/" and operator != ":":
            # in double quotes, single quotes are ordinary characters in `-`, `=`, `?` and `+`
            quoted = in_double and operator.lstrip(":") in _VALUES
            return self._operand("}", in_double=quoted, opened=opened), None
        stop = operator[0]
        first = self._operand(stop + "}", in_double=False, opened=opened, first=operator == "/", ternary=stop == ":")
        if not self._take(stop):
            return first, None
        return first, self._operand("}", in_double=False, opened=opened)

    def _operand(self, stops: str, *, in_double: bool, opened: int, first: bool = False, ternary: bool = False) -> Word:
        """Operand of `${…}` up to a stop character."""
        start = self.at
        parts: list[Part] = []
        level, between = 0, False
        if first and self._char() == "/":
            self._bare(parts)
        while True:
            if self.at >= self.size:
                self._refuse_unfinished(say.unclosed(found="${"), opened, 2)
            char = self.text[self.at]
            if in_double and self._is_ordinary(char, between=between):
                # An ordinary character, and yet no brace between two quotes ends the expansion.
                between = between != (char == "'")
                self._keep(parts)
                continue
            inner = self._inner_part(char) if in_double else None
            if inner is not None:
                parts.append(inner)
                continue
            if in_double and char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following == "\n":
                    self.at += 2
                elif following == "'" and not between:
                    self._keep(parts, size=2)  # the quote starts nothing
                else:
                    self._keep(parts, following in _OPERAND_ESCAPES)
                continue
            if ternary and char == ":" and level > 0:
                level -= 1
                self._bare(parts)
                continue
            if ternary:
                level += (char in "?(") - (char == ")")
            if not self._operand_part(parts, "" if between else stops):
                return Word(tuple(parts), self.code.place(start, self.at))

    def _inner_part(self, char: str) -> Part | None:
        """Quotes or an expansion in the operand of a double-quoted one; None for other characters."""
        if char == '"':
            self._count(self.at)
            return self._double(self.at, is_inner=True)
        return self._dollar(in_double=True) if self.text.startswith("${", self.at) else None

    def _is_ordinary(self, char: str, *, between: bool) -> bool:
        """True for a single quote, and for a dollar sign before one `between` two of them or in a here-document."""
        if char != "$":
            return char == "'"
        return (between or self.is_document) and self.text.startswith("'", self.at + 1)

    def _bare(self, parts: list[Part]) -> None:
        """Take one character as unquoted."""
        at = self.at
        parts.append(Bare(self.code.pieces(at, at + 1), self.text[at]))
        self.at += 1

    # [[ ]]

    def _condition(self, opened: int) -> Condition:
        """Condition of `[[ ]]`."""
        found = self._either(opened)
        self._gap()
        if not self.text.startswith("]]", self.at):
            if self.at >= self.size:
                self._refuse_unfinished(say.unfinished(found="]]"), opened, 2)
            self._refuse(self.at)
        self.at += 2
        return found

    def _either(self, opened: int) -> Condition:
        """A condition: tests joined by `&&` and then `||`."""
        left = self._both(opened)
        while self._take("||"):
            left = Logic("||", left, self._both(opened))
        return left

    def _both(self, opened: int) -> Condition:
        """Tests of a condition joined by `&&`."""
        left = self._primary(opened)
        self._gap()
        while self._take("&&"):
            left = Logic("&&", left, self._primary(opened))
            self._gap()
        return left

    def _primary(self, opened: int) -> Condition:
        """One test, negation or parenthesis of a condition."""
        self._gap()
        text, at = self.text, self.at
        if at >= self.size:
            self._refuse_unfinished(say.unfinished(found="]]"), opened, 2)
        if text[at] == "!" and text[at + 1 : at + 2] in (" ", "\t", "\n", "(", "\\"):
            self.at += 1
            self._enter(at)
            found = Logic("!", self._primary(opened), None)
            self.depth -= 1
            return found
        if text[at] == "(":
            self.at += 1
            self._enter(at)
            inner = self._either(opened)
            self.depth -= 1
            self._gap()
            if not self.text.startswith(")", self.at):
                self._refuse(self.at)
            self.at += 1
            return inner
        if text.startswith("]]", at):
            self._refuse(at)
        if text[at] == "-" and text[at + 1 : at + 2] in _UNARY_TESTS and text[at + 2 : at + 3] in (" ", "\t", "\\"):
            operator = text[at + 1]
            self.at += 2
            self._blanks()
            if not binary_test(text, self.at):
                return Unary("-" + operator, self._word())
            self.at = at
        left = self._word()
        self._blanks()
        operator = binary_test(text, self.at)
        if not operator:
            return Unary("", left)
        self.at += len(operator)
        self._blanks()
        # `==` takes what is like a word, but `(`, `)` and `|` may belong to an extended pattern
        right = self._right_side(" \t\n", "()") if operator == "=~" else self._right_side(" \t\n;&|<>", "")
        return Binary(operator, left, right)

    def _right_side(self, ends: str, signs: str) -> Word:
        """Right side of a comparison in `[[ ]]`."""
        start = self.at
        parts: list[Part] = []
        level = 0
        while self.at < self.size:
            char = self.text[self.at]
            if (char in ends or char == ")") and level == 0:
                break
            if char == "(" and not parts and not signs:
                self._refuse(self.at)
            level += (char == "(") - (char == ")")
            if char in signs:
                self._bare(parts)
            else:
                self._operand_part(parts, signs)
        if not parts:
            self._refuse(start)
        return Word(tuple(parts), self.code.place(start, self.at))

    # Small steps

    def _char(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at] if self.at < self.size else ""

    def _take(self, string: str) -> bool:
        """Skip a string if it is next; True if so."""
        found = self.text.startswith(string, self.at)
        self.at += len(string) * found
        return found

    def _blanks(self) -> None:
        """Skips blanks, continued lines and a comment."""
        text, at = self.text, self.at
        char = text[at : at + 1]
        if char == " " or char == "\t" or char == "\\":
            at = self.at = blanks_end(text, at)
            char = text[at : at + 1]
        if char == "#" and (at == 0 or text[at - 1] in " \t\n;&|()<>"):
            end = text.find("\n", at)
            self.at = self.size if end < 0 else min(end, self.size)

    def _gap(self) -> None:
        """Skips blanks, comments and ends of lines."""
        self._blanks()
        while self.at < self.size and self.text[self.at] == "\n":
            self._newline()
            self._blanks()

    def _take_reserved(self) -> str:
        found = reserved_word(self.text, self.at)
        if not found:
            self._refuse(self.at)
        self.at += len(found)
        return found

    def _count(self, at: int) -> None:
        """Count a part of a word, to refuse endless words early."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise ShellSyntaxError(say.too_much_work(), self.code.place(at, at + 1))

    def _enter(self, at: int) -> None:
        """Count one more level of nesting; ShellSyntaxError beyond the limit."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ShellSyntaxError(say.too_deep(), self.code.place(at, at + 1))

    def _refuse_unfinished(self, problem: Problem, opened: int, size: int = 1) -> NoReturn:
        """Refuse a construct that is opened at a place and never finished."""
        raise ShellSyntaxError(problem, self.code.place(opened, opened + size))

    def _refuse(self, at: int, found: str = "") -> NoReturn:
        """Raise a syntax error for the token at a position."""
        if at >= self.size:
            place = self.code.place(max(self.size - 1, 0), self.size)
            raise ShellSyntaxError(say.unfinished(found=say.a_command()), place)
        token = found or self._token(at)
        sign = say.end_of_line() if token == "\n" else token
        placeholder = self._placeholder(at)
        said = say.unexpected_behind(found=sign, placeholder=placeholder) if placeholder else say.unexpected(found=sign)
        raise ShellSyntaxError(said, self.code.place(at, at + len(token)))

    def _placeholder(self, at: int) -> str:
        """`<fill this in>` whose second sign lacks a file name at a place."""
        import re  # of a script that bash refuses alone

        found = re.search(_PLACEHOLDER, self.text[self.text.rfind("\n", 0, at) + 1 : at])
        return "" if found is None else found[1][:_SHOWN]

    def _token(self, at: int) -> str:
        """Token at which bash would report an error."""
        if self.text[at : at + 2] in _DOUBLE:
            return self.text[at : at + 2]
        end = at
        while end < min(self.size, at + _SHOWN) and self.text[end] not in _METACHARACTERS:
            end += 1
        return self.text[at : max(end, at + 1)]


_COMPOUNDS = {
    "if": Parser._if,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "while": Parser._while,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "until": Parser._while,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "for": Parser._for,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "select": Parser._for,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "case": Parser._case,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "{": Parser._group,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "[[": Parser._test,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "function": Parser._function,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "coproc": Parser._coproc,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
}


def _unquoted_signs(operator: str, *, in_double: bool) -> frozenset[str]:
    """Signs that need no quotes in an operand: blanks separate words only in a value outside of double quotes."""
    return _PLAIN_SIGNS if operator.lstrip(":") in _VALUES and not in_double else _PLAIN_SIGNS | BLANKS


def _operator(text: str, at: int) -> str:
    """Operator of a `${name…}` expansion."""
    for operator in (":-", ":=", ":?", ":+", "##", "%%", "//", "^^", ",,"):
        if text.startswith(operator, at):
            return operator
    char = text[at : at + 1]
    return char if char and char in "-=?+#%/^,:@*" else ""


def _escape(text: str, at: int) -> tuple[str, int]:
    """Decoded escape of `$'…'`, and the position after it."""
    char = text[at]
    if char in _ANSI_C:
        return _ANSI_C[char], at + 1
    digits, base, most = "", 8, 3
    start = at
    if char in "xuU":
        base, most, start = 16, {"x": 2, "u": 4, "U": 8}[char], at + 1
    alphabet = "0123456789abcdefABCDEF" if base == 16 else "01234567"
    while len(digits) < most and start < len(text) and text[start] in alphabet:
        digits += text[start]
        start += 1
    if not digits:
        if char == "c" and at + 1 < len(text):
            return chr(ord(text[at + 1].upper()) & 0x1F), at + 2
        return "\\" + char, at + 1
    return character(text[at:start]), start

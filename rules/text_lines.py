"""Lines of a file that begin inside a text: no comment can stand there, because it would become part of the text.

In a script these are strings over several lines and here-documents, in a YAML scalars over several lines. The lines of
a command that a backslash continues are not among them.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from ..schemas.source import SourceText

_YAML = (".yaml", ".yml")
_QUOTES = ("'", '"', "$'")


def lines_inside(source: SourceText) -> frozenset[int]:
    """The numbers of those lines, counted from 1."""
    found = _of_yaml(source.text) if source.name.lower().endswith(_YAML) else _of_script(source.text)
    return frozenset(found)


def first_line(source: SourceText, line: int, inside: frozenset[int]) -> int:
    """The line above which a comment can stand: where the command or the text that a line belongs to begins."""
    while line > 1 and (line in inside or source.line(line - 1).rstrip("\r\n").endswith("\\")):
        line -= 1
    return line


def last_line(source: SourceText, line: int, inside: frozenset[int]) -> int:
    """The last line of the command or the text that begins at a line."""
    while line < source.line_count and (line + 1 in inside or source.line(line).rstrip().endswith("\\")):
        line += 1
    return line


def _of_yaml(text: str) -> Iterator[int]:
    import yaml

    try:
        for token in yaml.scan(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(token, yaml.ScalarToken):
                first, last = token.start_mark.line + 1, token.end_mark.line + 1
                if token.style in ("|", ">") and token.end_mark.column == 0:
                    last -= 1  # a block ends before the next line begins
                yield from range(first + 1, last + 1)
    except yaml.YAMLError:
        return  # what could be scanned is known; a file that cannot be read has no findings in it


def _of_script(text: str) -> Iterator[int]:
    return _Script(text).lines()


class _Script:
    """Follows bash's quotes; a command inside `"$(...)"` belongs to the text around it."""

    def __init__(self, text: str) -> None:
        import re

        self.text = text
        self.at = 0
        self.line = 1
        self.open: list[str] = []
        """What is open around the place: quotes, `(` for commands, `((` for arithmetic and `{` for parameters."""
        self.waiting: list[re.Match[str]] = []
        """Here-documents that begin with the next line."""
        self.heredoc = re.compile(r"<<(-?)[ \t]*\\?(['\"]?)([A-Za-z_][\w.-]*)\2")

    def lines(self) -> Iterator[int]:
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "\n":
                self.line += 1
                yield from self._documents()
                if any(quote in self.open for quote in _QUOTES):
                    yield self.line
            else:
                self._take(char, self.open[-1] if self.open else "")

    def _documents(self) -> Iterator[int]:
        for begun in self.waiting:
            ended = False
            while not ended and self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                content = self.text[self.at : end].rstrip("\r")
                ended = (content.lstrip("\t") if begun[1] else content) == begun[3]
                yield self.line
                self.line += 1
                self.at = end + 1
        self.waiting = []

    def _take(self, char: str, mode: str) -> None:
        if char == "\\" and mode != "'":
            self.at += self._next() != "\n"
        elif mode in ("'", "$'"):
            if char == "'":
                self.open.pop()
        elif char == '"':
            self.open.pop() if mode == '"' else self.open.append('"')
        elif char == "$" and self._next() in ("(", "{"):
            opened = ("((", "((") if self.text.startswith("((", self.at) else (self._next(),)
            self.open += opened
            self.at += len(opened)
        elif char == "}" and mode == "{":
            self.open.pop()
        elif not self._is_quoted():
            self._plain(char, mode)

    def _is_quoted(self) -> bool:
        """Whether the innermost thing that is open, braces aside, is a double quote."""
        return next((one for one in reversed(self.open) if one != "{"), "") == '"'

    def _plain(self, char: str, mode: str) -> None:
        if char == "'":
            self.open.append("'")
        elif char == "$" and self._next() == "'":
            self.open.append("$'")
            self.at += 1
        elif mode == "{":
            return
        elif char == "(" and self._next() == "(":
            self.open += "((", "(("
            self.at += 1
        elif mode in ("(", "((") and char in "()":
            self.open.append(mode) if char == "(" else self.open.pop()
        elif char == "#" and self.text[max(self.at - 2, 0) : self.at - 1] in ("", *" \t\n;(&|"):
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char == "<":
            self._redirected(mode)

    def _redirected(self, mode: str) -> None:
        if self.text.startswith("<<", self.at):
            self.at += 2  # <<< hands over a word
        elif mode != "((" and (begun := self.heredoc.match(self.text, self.at - 1)) is not None:
            self.waiting.append(begun)
            self.at = begun.end()

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

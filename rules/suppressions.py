"""Comments that silence findings: `# accmap: ignore[CODE] reason` in a script or a YAML.

On a line with something else the comment covers that line. On a line of its own it covers the line below, with all
its continuation lines and those of a text that begins there, because no comment can stand inside either.
`ignore-file` covers the file. No code means every code. A comment that silences nothing is itself a finding.
"""

from __future__ import annotations

from ..schemas.diagnostic import diagnose
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.source import Span
from .messages_compiled import say

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from ..schemas.diagnostic import Diagnostic
    from ..schemas.source import SourceText

_WORD = "accmap:"


class Suppression(NamedTuple):
    """One comment: the lines it covers (none for the whole file) and the codes it silences (none for all)."""

    file: str
    span: Span
    codes: tuple[str, ...]
    first: int | None
    last: int | None

    def codes_of(self, entry: Diagnostic) -> list[str]:
        """The codes of the comment, or their first letters, that are the finding's."""
        return [code for code in self.codes if entry.kind.code.startswith(code)]

    def covers(self, code: str, file: str, span: Span | None) -> bool:
        """True if a finding with this code and place is meant."""
        if file != self.file or (self.codes and not any(code.startswith(prefix) for prefix in self.codes)):
            return False
        if self.first is None or self.last is None:
            return True
        return span is not None and span.line <= self.last and span.end_line >= self.first


def suppressions_in(source: SourceText) -> list[Suppression]:
    """All suppression comments in a file."""
    if _WORD not in source.text:
        return []
    import re

    inside = lines_inside(source)
    pattern = re.compile(r"#\s*accmap:\s*(ignore-file|ignore)(?:\[([^\]]*)\])?")
    found: list[Suppression] = []
    for number in range(1, source.line_count + 1):
        line = source.line(number)
        match = pattern.search(line) if _WORD in line else None
        if match is None or number in inside:
            continue
        codes = tuple(code.strip() for code in (match[2] or "").split(",") if code.strip())
        first, last = (
            (None, None)
            if match[1] == "ignore-file"
            else _covered_lines(source, number, inside, alone=not line[: match.start()].strip())
        )
        span = Span(number, match.start() + 1, number, match.end() + 1)
        found.append(Suppression(source.name, span, codes, first, last))
    return found


def _covered_lines(source: SourceText, number: int, inside: frozenset[int], *, alone: bool) -> tuple[int, int]:
    if not alone:
        return number, number
    first = number + 1
    while first < source.line_count and source.line(first).lstrip().startswith("#"):
        first += 1  # several comments may stand above one line
    return number, last_line(source, first, inside)


def silence(
    diagnostics: Sequence[Diagnostic], comments: Sequence[Suppression], known: Sequence[str]
) -> tuple[list[Diagnostic], int]:
    """Findings that remain, problems of unused comments, and the number silenced."""
    if not comments:
        return list(diagnostics), 0
    used: set[Suppression] = set()
    heard: set[tuple[Suppression, str]] = set()
    loud: list[Diagnostic] = []
    for entry in diagnostics:
        fitting = [comment for comment in comments if _silences_finding(comment, entry)]
        used.update(fitting)
        heard.update((comment, code) for comment in fitting for code in comment.codes_of(entry))
        if not fitting:
            loud.append(entry)
    kept: list[Diagnostic] = []
    for entry in loud:
        moved = [one for one in comments if _means_missing_key(one, entry) and not heard & _named_codes(one, entry)]
        used.update(moved)
        if not moved:
            kept.append(entry)
    complaints = list(_suppression_problems(comments, used, known))
    kept = _drop_followers(kept, diagnostics)
    return [*kept, *complaints], len(diagnostics) - len(kept)


def _drop_followers(kept: Sequence[Diagnostic], all_findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings that remain without those that follow from an accepted one: who accepts a cause accepts both."""
    remaining = {id(entry) for entry in kept}
    accepted = {entry.mark for entry in all_findings if entry.because is None and id(entry) not in remaining}
    return [entry for entry in kept if entry.because is None or entry.because not in accepted]


def _named_codes(comment: Suppression, entry: Diagnostic) -> set[tuple[Suppression, str]]:
    return {(comment, code) for code in comment.codes_of(entry)}


def _means_missing_key(comment: Suppression, entry: Diagnostic) -> bool:
    """True if a comment in the same file names the code of a missing key.

    The place where such a key belongs may be another one in the next version, and the comment stands where it was.
    """
    span = entry.span
    is_missing = span is not None and span[:2] == span[2:4]
    return is_missing and entry.file == comment.file and entry.kind.code in comment.codes


def _silences_finding(comment: Suppression, entry: Diagnostic) -> bool:
    code = entry.kind.code
    places = [(entry.file, entry.span), *((place.file, place.span) for place in entry.related)]
    return any(comment.covers(code, file, span) for file, span in places)


def _suppression_problems(
    comments: Sequence[Suppression], used: set[Suppression], known: Sequence[str]
) -> Iterator[Diagnostic]:
    """Problems of comments with unknown codes or without effect."""
    from ..schemas.suggestion import suggestion

    for comment in comments:
        wrong = [code for code in comment.codes if not any(name.startswith(code) for name in known)]
        for code in wrong:
            problem = say.unknown_code(code=code, suggestion=suggestion(code, known))
            yield diagnose(problem, comment.file, comment.span)
        if comment not in used and not wrong:
            problem = say.unused_ignore(codes=", ".join(comment.codes) or "everything")
            yield diagnose(problem, comment.file, comment.span)


_YAML = (".yaml", ".yml")
_QUOTES = ("'", '"', "$'")


def lines_inside(source: SourceText) -> frozenset[int]:
    """The numbers, counted from 1, of the lines that continue a text; worked out once for a file."""
    if source.lines_inside is None:
        found = _of_yaml(source.text) if source.name.lower().endswith(_YAML) else _of_script(source.text)
        source.lines_inside = frozenset(found)
    return source.lines_inside


def first_line(source: SourceText, line: int, inside: frozenset[int]) -> int:
    """First line of the command or text that contains a line."""
    while line > 1 and (line in inside or source.line(line - 1).rstrip("\r\n").endswith("\\")):
        line -= 1
    return line


def last_line(source: SourceText, line: int, inside: frozenset[int]) -> int:
    """Last line of the command or text that starts at a line."""
    while line < source.line_count and (line + 1 in inside or source.line(line).rstrip().endswith("\\")):
        line += 1
    return line


def _of_yaml(text: str) -> Iterator[int]:
    """Numbers of lines inside multi-line YAML texts."""
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
        """Numbers of lines inside quotes or here-documents of a script."""
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
        """Numbers of lines inside the pending here-documents."""
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
        """Process one character: update the open quotes and brackets."""
        if char == "\\" and mode != "'":
            self.at += self._peek() != "\n"
        elif mode in ("'", "$'"):
            if char == "'":
                self.open.pop()
        elif char == '"':
            self.open.pop() if mode == '"' else self.open.append('"')
        elif char == "$" and self._peek() in ("(", "{"):
            opened = ("((", "((") if self.text.startswith("((", self.at) else (self._peek(),)
            self.open += opened
            self.at += len(opened)
        elif char == "}" and mode == "{":
            self.open.pop()
        elif not self._is_quoted():
            self._plain(char, mode)

    def _is_quoted(self) -> bool:
        """True if the innermost thing that is open, braces aside, is a double quote."""
        return next((one for one in reversed(self.open) if one != "{"), "") == '"'

    def _plain(self, char: str, mode: str) -> None:
        """Process one unquoted character."""
        if char == "'":
            self.open.append("'")
        elif char == "$" and self._peek() == "'":
            self.open.append("$'")
            self.at += 1
        elif mode == "{":
            return
        elif char == "(" and self._peek() == "(":
            self.open += "((", "(("
            self.at += 1
        elif mode in ("(", "((") and char in "()":
            self.open.append(mode) if char == "(" else self.open.pop()
        elif char == "#" and self.text[max(self.at - 2, 0) : self.at - 1] in ("", *" \t\n;(&|"):
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char == "<":
            self._read_redirection(mode)

    def _read_redirection(self, mode: str) -> None:
        if self.text.startswith("<<", self.at):
            self.at += 2  # <<< hands over a word
        elif mode != "((" and (begun := self.heredoc.match(self.text, self.at - 1)) is not None:
            self.waiting.append(begun)
            self.at = begun.end()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

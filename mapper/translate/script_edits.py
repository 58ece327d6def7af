"""Edits of a launch script: a value where it is written, a new argument beside the last one, an argument taken out."""

from __future__ import annotations

import re

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..computed.comparison import same
from .edits import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.config import Argument, Config, Setting, Value
    from ...schemas.source import SourceText, Span

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+@%-]+")
_VARIABLE = re.compile(r"""[ \t]+("?\$(?:\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)"?)(?=[\s"')\\]|$)""")


class _Written(NamedTuple):
    """One argument of the launch: its flag and its words."""

    flag: Argument
    words: tuple[Argument, ...]


class ScriptEditor:
    """Makes edits for one script. With `shared` a variable's assignment is changed, otherwise the place of its use."""

    def __init__(self, source: SourceText, config: Config, wanted: Config, *, shared: bool) -> None:
        self.source = source
        self.config = config
        self.wanted = wanted
        self.shared = shared
        launch = config.launch
        self.arguments = () if launch is None else launch.arguments

    def real(self, key: str) -> str:
        """The key; a script's arguments have one name."""
        return key

    def put(self, key: str, value: Value) -> Iterator[Edit]:
        """Edits after which the argument has the wanted words."""
        del value  # the words of a freshly written script are what reads back as this value
        target, setting = self.wanted.settings.get(key), self.config.settings.get(key)
        if target is None or target.origin != "explicit" or target.flag is None:
            yield from self.drop(key)
            return
        words = list(target.raw or ())
        if setting is None or setting.origin != "explicit":
            yield from self._append(target.flag, words, key)
            return
        written = None if same(setting.value, target.value) else self._written(setting)
        if written is not None:
            yield from self._changed(written, target.flag, words, key)

    def _changed(self, written: _Written, name: str, words: list[str], key: str) -> Iterator[Edit]:
        """Edits after which an argument that is given has other words."""
        flag = written.flag
        if "=" in flag.text and not written.words and len(words) == 1:
            yield self._replaced(flag.span, f"{flag.text.partition('=')[0]}={words[0]}", key)
        elif not words and not written.words:
            if flag.text != name:
                yield Edit(*self.source.offsets(flag.span), name, key)
        elif len(words) == len(written.words):
            yield from self._words(written, words, key)
        elif words and written.words:
            start, end = self._outer(written.words[0].span)[0], self._outer(written.words[-1].span)[1]
            if not self._beside(written):
                used = _VARIABLE.match(self.source.text, self.source.offsets(flag.span)[1])
                if used is None:
                    return
                start, end = used.span(1)
            yield Edit(start, end, " ".join(_word(word) for word in words), key)

    def drop(self, key: str) -> Iterator[Edit]:
        """Edits after which the argument is not given."""
        setting = self.config.settings.get(key)
        written = None if setting is None or setting.origin != "explicit" else self._written(setting)
        if written is None:
            return
        start, end = self._outer(written.flag.span)
        if written.words and self._beside(written):
            end = self._outer(written.words[-1].span)[1]
        elif written.words:
            used = _VARIABLE.match(self.source.text, end)
            if used is None or len(written.words) != 1:
                return
            end = used.end(1)
        yield self._taken_out(start, end, key)

    def rest(self) -> Iterator[Edit]:
        """Nothing: every argument is written at once."""
        yield from ()

    # --- where an argument stands ---

    def _written(self, setting: Setting) -> _Written | None:
        """The last place where the argument is given, which is the one that counts."""
        span = setting.span
        if span is None or span.file is not None:
            return None
        for place, argument in enumerate(self.arguments):
            at = argument.span
            if (at.line, at.column) == (span.line, span.column) and at.file is None and argument.resolved:
                if "=" in argument.text:
                    return _Written(argument, ())
                words = self.arguments[place + 1 : place + 1 + len(setting.raw or ())]
                if any(word.span.file is not None or not word.resolved for word in words):
                    return None
                return _Written(argument, tuple(words))
        return None

    def _beside(self, written: _Written) -> bool:
        """Whether the words stand in the text right behind their flag."""
        at = self._outer(written.flag.span)[1]
        for word in written.words:
            start, end = self._outer(word.span)
            if start < at or self.source.text[at:start].strip(" \t\\\n"):
                return False
            at = end
        return True

    def _words(self, written: _Written, words: list[str], key: str) -> Iterator[Edit]:
        beside = self._beside(written)
        for old, new in zip(written.words, words, strict=True):
            if old.text == new:
                continue
            if beside or self.shared:
                yield self._replaced(old.span, new, key)
                continue
            used = _VARIABLE.match(self.source.text, self.source.offsets(written.flag.span)[1])
            if used is None or len(words) != 1:
                return
            yield Edit(used.start(1), used.end(1), _word(new), key)

    def _replaced(self, span: Span, word: str, key: str) -> Edit:
        """Another word in the quotes that stand there, where they can hold it."""
        inner, outer = self.source.offsets(span), self._outer(span)
        quote = self.source.text[outer[0]] if inner != outer else ""
        if quote and not set(word) & set("'" if quote == "'" else '"\\$`'):
            return Edit(*inner, word, key)
        return Edit(*outer, _word(word), key)

    def _outer(self, span: Span) -> tuple[int, int]:
        """The place of a word with the quotes around it."""
        start, end = self.source.offsets(span)
        text = self.source.text
        if start and end < len(text) and text[start - 1] in "'\"" and text[end] == text[start - 1]:
            return start - 1, end + 1
        return start, end

    # --- a new argument, an argument less ---

    def _append(self, flag: str, words: list[str], key: str) -> Iterator[Edit]:
        new = " ".join([flag, *(_word(word) for word in words)])
        if any(not _PLAIN.fullmatch(word) for word in words) and (place := self._behind_script()) is not None:
            # Inside a variable's text quotes would be part of the word; on the command line they are quotes.
            yield Edit(place, place, f" {new}", key)
            return
        for place in range(len(self.arguments) - 1, -1, -1):
            argument = self.arguments[place]
            if argument.text.startswith("--") and argument.resolved and argument.span.file is None:
                yield self._next_to(argument, place, new, key)
                return

    def _behind_script(self) -> int | None:
        """Where the launch names its program, the place behind it; None where the text does not."""
        launch = self.config.launch
        if launch is None or launch.script is None or launch.span.file is not None:
            return None
        start, end = self.source.offsets(launch.span)
        at = self.source.text.find(launch.script, start, end)
        after = at + len(launch.script)
        return after if at >= 0 and self.source.text[after : after + 1].isspace() else None

    def _behind(self, place: int) -> tuple[str, int]:
        """What else a line has behind a place, and where it ends."""
        text = self.source.text
        stop = text.find("\n", place)
        if stop < 0:
            return text[place:].strip(), len(text)
        return text[place:stop].strip(), stop - (text[stop - 1] == "\r")

    def _next_to(self, argument: Argument, place: int, new: str, key: str) -> Edit:
        start, end = self._outer(argument.span)
        following = self.arguments[place + 1 :]
        written = _Written(argument, tuple(following))
        if following and self._beside(written):
            end = self._outer(following[-1].span)[1]
        line = self.source.line(argument.span.line)
        indent = line[: argument.span.column - 1]
        above = self.source.line(argument.span.line - 1).rstrip() if argument.span.line > 1 else ""
        rest, stop = self._behind(end)
        if indent.strip() or (following and end == self._outer(argument.span)[1]):
            return Edit(start, start, f"{new} ", key)
        continued = above.endswith("\\")
        if rest == "\\" or (not rest and continued):
            return Edit(end, end, f" \\\n{indent}{new}", key)
        if (not rest or rest.startswith("#")) and not continued:
            return Edit(stop, stop, f"\n{indent}{new}", key)
        return Edit(start, start, f"{new} ", key)

    def _taken_out(self, start: int, end: int, key: str) -> Edit:
        text = self.source.text
        first = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        before, after = text[first:start].strip(), text[end:stop].strip()
        continued = text[:first].rstrip("\r\n").endswith("\\")
        if not before and (after == "\\" or (not after and not continued)):
            return Edit(first, min(stop + 1, len(text)), "", key)
        while start > first and text[start - 1] in " \t" and (before or not after):
            start -= 1
        while not before and end < stop and text[end] in " \t":
            end += 1
        return Edit(start, end, "", key)


def _word(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"

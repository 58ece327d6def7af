"""Texts in both languages, by name: what stands in the `messages.yaml` of a folder, and how it is said.

Each `messages.yaml` is compiled to a catalogue, `say`, with a function for every message that takes its placeholders
by name: `say.missing(path=path)`. A stub says the same to the type checker, for which a misspelt message or placeholder
is an error. The texts themselves are loaded with the first message that is said.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal, TypeAlias

Severity: TypeAlias = "Literal['error', 'warning', 'info']"
Confidence: TypeAlias = "Literal['high', 'medium', 'low']"
Language: TypeAlias = "Literal['en', 'zh']"
Values: TypeAlias = "Mapping[str, object]"


class Words(str):
    """A text in English that knows its Chinese."""

    __slots__ = ("zh",)
    zh: str

    def __new__(cls, en: str, zh: str) -> Words:
        """The English text, with its Chinese beside it."""
        made = str.__new__(cls, en)
        made.zh = zh
        return made

    def __reduce__(self) -> tuple[type[Words], tuple[str, str]]:
        return Words, (str(self), self.zh)

    def text(self, language: str) -> str:
        """The text in one language."""
        return self.zh if language == "zh" else str(self)

    @property
    def en(self) -> str:
        """The text in English."""
        return str(self)

    def both(self) -> tuple[str, str]:
        """English and Chinese."""
        return str(self), self.zh

    def without_stop(self) -> Words:
        """Sentence without its full stop, for use within another one."""
        return Words(self.rstrip("."), self.zh.rstrip("\u3002"))  # the full stop of Chinese


class Kind(NamedTuple):
    """One sort of finding: its text has `{name}` fields."""

    code: str
    name: str
    severity: Severity
    en: str
    zh: str
    confidence: Confidence = "high"
    effect: str = ""
    """What it does to the run, where the severity does not say it."""

    def message(self, values: Values, language: str = "en") -> str:
        """Sentence of this kind with the values filled in."""
        if language == "zh":
            return _chinese_text(self.zh, values)
        return self.en.format_map(values)


class Problem(NamedTuple):
    """A problem: a kind, and the values that fill its text."""

    kind: Kind
    values: tuple[tuple[str, object], ...] = ()


class Catalogue:
    """The messages of one folder; each is an attribute."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        texts = self._texts()
        if name == "kinds":
            made = {one: Kind(*row) for one, row in texts.PROBLEMS.items()}
        elif name in texts.WORDS:
            made = _words_maker(name, *texts.WORDS[name])
        elif name in texts.PROBLEMS:
            made = _problem_maker(self.kinds[name])
        else:
            raise AttributeError(f"{self._package} has no message {name}")
        self.__dict__[name] = made
        return made

    def foreign(self, said: str, key: str | None = None) -> Words:
        """Words of a library or the system in their own English; `key` finds the Chinese if the words do not."""
        return Words(said, self._texts().FOREIGN.get(key or said, said))

    def page(self, name: str, language: str) -> Callable[..., str]:
        """The words of one page in a language by their keys: headings, labels, the words of an answer."""
        words, chinese = self._texts().PAGES[name], language == "zh"

        def word(key: str, /, *values: object, **named: object) -> str:
            text = words[key][chinese]
            return text.format(*values, **named) if values or named else text

        return word

    def _texts(self) -> _Texts:
        return __import__(f"{self._package}.message_texts_compiled", fromlist=("WORDS",))


def _words_maker(name: str, en: str, zh: str) -> Callable[..., Words]:
    def make_words(**values: object) -> Words:
        return Words(en.format_map(values), _chinese_text(zh, values))

    make_words.__name__ = name
    return make_words


def _problem_maker(kind: Kind) -> Callable[..., Problem]:
    def make_problem(**values: object) -> Problem:
        return Problem(kind, tuple(values.items()))

    return make_problem


if TYPE_CHECKING:

    class _Texts:
        PROBLEMS: Mapping[str, tuple[Any, ...]]
        WORDS: Mapping[str, tuple[str, str]]
        FOREIGN: Mapping[str, str]
        PAGES: Mapping[str, Mapping[str, tuple[str, str]]]


NOTHING = Words("", "")


def verbatim(text: object) -> Words:
    """Text of a system or library, the same in both languages; our own errors are translated."""
    said = text.args[0] if isinstance(text, Exception) and text.args else text
    return said if isinstance(said, Words) else Words(str(text), str(text))


def text_in(text: str, language: str) -> str:
    """A text in a language; the words of a system or a file are in their own."""
    return in_chinese(text) if language == "zh" else str(text)


def join_words(parts: Iterable[Words | str], en: str, zh: str) -> Words:
    """Several texts as one, with separators for each language."""
    listed = list(parts)
    return Words(en.join(listed), zh.join([in_chinese(part) for part in listed]))


def in_chinese(value: str) -> str:
    """Chinese of a text that has one; other texts unchanged."""
    return value.zh if isinstance(value, Words) else value


def _chinese_text(text: str, values: Values) -> str:
    """Chinese text with its values; the space around a name or number goes where a Chinese word takes its place."""
    filled = text.format_map(
        {name: in_chinese(value) if isinstance(value, str) else value for name, value in values.items()}
    )
    if not any(isinstance(value, Words) for value in values.values()):
        return filled
    at = filled.find(" ")
    while at > 0:
        if _is_chinese(filled[at - 1]) and _is_chinese(filled[at + 1 : at + 2]):
            filled = filled[:at] + filled[at + 1 :]
        at = filled.find(" ", at + 1)
    return filled


def _is_chinese(sign: str) -> bool:
    return "\u4e00" <= sign <= "\u9fff"

"""Makes the catalogues from every `messages.yaml` of the house: texts, accessor, and its stub for the type checker.

`problems` have a code, a name and a severity and become findings; `words` are any other text; `pages` are the headings
and labels of one page each, by keys that an answer may have as well; `foreign` is the Chinese of what a library or the
system says, by its own words. A placeholder that holds words (`WORDS_IN`) takes only a text
that knows its Chinese.
"""

from __future__ import annotations

from pathlib import Path
from string import Formatter
from typing import Any, Literal, cast

import yaml

from .tables import literal_module

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schemas", "mappings", "mapper", "rules", "evidence", "verifier", "cli")
SOURCE = "messages.yaml"
WORDS_IN = frozenset(("why", "expected", "what", "remedy", "context", "when", "about", "hint", "lost"))
SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("high", "medium", "low")
EFFECTS = ("", "stops", "numbers", "depends", "advice")
_PROBLEM = {"code", "name", "severity", "en", "zh"}
_OPTIONAL = {"confidence", "effect"}


def products() -> dict[str, str]:
    """The modules of each catalogue, by path."""
    made: dict[str, str] = {}
    for room in ROOMS:
        for source in sorted((ROOT / room).rglob(SOURCE)):
            made.update(compile_catalogue(source.parent.relative_to(ROOT).as_posix(), source.read_text("utf-8")))
    return made


def message_names(folder: str, what: Literal["problems", "words"]) -> frozenset[str]:
    """The names of a folder's problems, or of its other texts."""
    return frozenset(yaml.load((ROOT / folder / SOURCE).read_text("utf-8"), _Loader)[what])


def compile_catalogue(folder: str, text: str) -> dict[str, str]:
    """Text of the three modules compiled from one folder's messages; ValueError for a mistake."""
    content: dict[str, Any] = yaml.load(text, _Loader)
    if set(content) - {"problems", "words", "pages", "foreign"}:
        raise ValueError(f"{folder}/{SOURCE}: {sorted(content)}: no problems, words, pages or foreign")
    problems: dict[str, dict[str, Any]] = content.get("problems") or {}
    words: dict[str, dict[str, Any]] = content.get("words") or {}
    pages: dict[str, dict[str, Any]] = content.get("pages") or {}
    if set(problems) & set(words):
        raise ValueError(f"{folder}/{SOURCE}: {sorted(set(problems) & set(words))} stand twice")
    try:
        rows = {name: _problem_row(name, row) for name, row in problems.items()}
        texts = {name: _both_texts(name, row, {"en", "zh"}) for name, row in words.items()}
        labels = {
            page: {key: _label(f"{page}: {key}", row) for key, row in keys.items()} for page, keys in pages.items()
        }
    except ValueError as error:
        raise ValueError(f"{folder}/{SOURCE}: {error}") from None
    depth = folder.count("/") + 1
    about = f"compiled from {folder}/{SOURCE}."
    return {
        f"{folder}/message_texts_compiled.py": literal_module(
            f"The messages, {about}", PROBLEMS=rows, WORDS=texts, FOREIGN=content.get("foreign") or {}, PAGES=labels
        ),
        f"{folder}/messages_compiled.py": _ACCESSOR.format(about=about, source=_source(folder, depth)),
        f"{folder}/messages_compiled.pyi": _type_stub(about, _source(folder, depth), problems, words, pages),
    }


_ACCESSOR = '''"""`say`, the messages by name, {about} Do not edit."""

from {source}message import Catalogue

say = Catalogue(__package__)
'''


class _Loader(yaml.SafeLoader):
    """A loader for which a name that stands twice is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: ARG002
        names = [key.value for key, _ in node.value]
        if len(set(names)) != len(names):
            raise ValueError(f"{sorted({name for name in names if names.count(name) > 1})} stand twice")
        return super().construct_mapping(node, deep=True)


def _source(folder: str, depth: int) -> str:
    """The package of `message`, as seen from a folder."""
    return "." * depth if folder.startswith("schemas") else "." * (depth + 1) + "schemas."


def _problem_row(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    english, chinese = _both_texts(name, row, _PROBLEM)
    confidence, effect = row.get("confidence", "high"), row.get("effect", "")
    if row["severity"] not in SEVERITIES or confidence not in CONFIDENCES or effect not in EFFECTS:
        raise ValueError(f"{name}: {row['severity']}, {confidence} or {effect!r} is no severity, confidence or effect")
    head = row["code"], row["name"], row["severity"], english, chinese
    return (*head, confidence, effect) if _OPTIONAL & set(row) else head


def _both_texts(name: str, row: dict[str, Any], needed: set[str]) -> tuple[str, str]:
    """English and Chinese text of a message; ValueError for missing members or placeholders."""
    if not name.isidentifier():
        raise ValueError(f"{name!r} cannot be said in Python")
    if needed - set(row) or set(row) - needed - _OPTIONAL:
        raise ValueError(f"{name}: has {sorted(row)}; needs {sorted(needed)}")
    for language in ("en", "zh"):
        if not isinstance(row[language], str):
            raise ValueError(f"{name}: {language} is no text; quote it")
    if not placeholders(row["zh"]) <= placeholders(row["en"]):  # Chinese may leave a detail out
        raise ValueError(
            f"{name}: English has {sorted(placeholders(row['en']))}, Chinese {sorted(placeholders(row['zh']))}"
        )
    return row["en"], row["zh"]


def _label(name: str, row: Any) -> tuple[str, str]:
    """English and Chinese text of a page entry."""
    texts = [text for text in cast("list[object]", row) if isinstance(text, str)] if isinstance(row, list) else []
    if len(texts) != 2:
        raise ValueError(f"{name}: needs its English and its Chinese, and nothing else")
    english, chinese = texts
    wanted, there = (sorted(str(one[1]) for one in Formatter().parse(text) if one[1] is not None) for text in texts)
    if not set(there) <= set(wanted) or len(there) > len(wanted):
        raise ValueError(f"{name}: English has {wanted}, Chinese {there}")
    return english, chinese


def placeholders(text: str) -> set[str]:
    """Names of the placeholders in a text."""
    found = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    for name in found:
        if not name.isidentifier():
            raise ValueError(f"{{{name}}} is no placeholder in {text!r}")
    return found


def _type_stub(
    about: str,
    source: str,
    problems: dict[str, dict[str, Any]],
    words: dict[str, dict[str, Any]],
    pages: dict[str, dict[str, Any]],
) -> str:
    """Text of the type stub with one method for each message."""
    lines = [
        f'"""`say`, the messages by name, {about} Do not edit."""',
        "",
        "from collections.abc import Mapping",
        "from typing import Literal, Protocol, overload",
        "",
        f"from {source}message import Kind, Problem, Words",
        "",
    ]
    names = ", ".join(repr(name) for name in problems) or "''"
    lines += [
        f"ProblemName = Literal[{names}]",
        "",
        *(
            f"class {_protocol(page)}(Protocol):\n"
            f"    def __call__(self, key: Literal{list(keys)}, /, *values: object, **named: object) -> str: ...\n"
            for page, keys in pages.items()
        ),
        "class Say:",
    ]  # no Catalogue to the type checker: that has every attribute
    lines += [
        "    kinds: Mapping[ProblemName, Kind]",
        "    def foreign(self, said: str, key: str | None = None) -> Words: ...",
    ]
    for table, answer in ((problems, "Problem"), (words, "Words")):
        for name, row in table.items():
            taken = "".join(
                f", {one}: {'Words' if one in WORDS_IN else 'object'}" for one in sorted(placeholders(row["en"]))
            )
            lines.append(f"    def {name}(self{', *' if taken else ''}{taken}) -> {answer}: ...")
    for page in pages:
        lines += ["    @overload"] if len(pages) > 1 else []
        lines.append(f"    def page(self, name: Literal[{page!r}], language: str) -> {_protocol(page)}: ...")
    lines += ["", "say: Say", ""]
    return "\n".join(lines)


def _protocol(page: str) -> str:
    """Name of the type for a page's words."""
    return f"{page.title().replace('_', '')}Words"

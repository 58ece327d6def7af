"""Turns a rule's repair into a fix: the edits of a YAML's text; and adds fixes to what the readers say about it.

An edit replaces the text of one value, or writes a line at the end of a section with the indentation of its
neighbours; nothing else of the file is touched, so comments and layout stay as they are.
"""

from __future__ import annotations

from ..schemas.diagnostic import Edit, Fix
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.source import Span
from .catalog_compiled import REWRITES, ROLES
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..schemas.diagnostic import Diagnostic
    from ..schemas.yaml_reader.document import YamlDocument
    from ..schemas.yaml_reader.node import Node
    from .rule import Change, Repair
    from .subject import Side


def fix_of(repair: Repair, sides: Mapping[str, Side]) -> Fix | None:
    """The edits of a repair; None where one of them cannot be made."""
    edits: list[Edit] = []
    for change in repair.changes:
        side = sides.get(change.at.side)
        document = None if side is None else _own_document(side)
        if side is None or document is None:
            return None
        edit = _edit(change, side, document)
        if edit is None:
            return None
        edits.append(edit)
    return Fix(repair.applicability, repair.en, repair.zh, tuple(edits)) if edits else None


def _own_document(side: Side) -> YamlDocument | None:
    """The tree of a YAML; what a launch script starts is mended by a person, there or in the YAML that it names."""
    return side.config.document if side.config.launch is None else None


def with_fix(problem: Diagnostic, side: Side) -> Diagnostic:
    """A reader's problem with a fix where its message already says what to write."""
    code, span = problem.kind.code, problem.span
    document = _own_document(side)
    if problem.fix is not None or span is None or span.file is not None or document is None:
        return problem
    if side.source.name != problem.file:
        return problem
    if code in ROLES["ignored-name"]:
        return _with_rename(problem, side, document)
    if code not in REWRITES:
        return problem
    text = str(dict(problem.values)[REWRITES[code]])
    if text.lower() in ("true", "false"):
        text = text.capitalize()
    held = side.source.line(span.line)[span.column - 1 : span.end_column - 1] if span.line == span.end_line else None
    if held is None or not _plain(held) or not _plain(text):
        return problem
    edit = Edit(problem.file, span, text)
    return problem._replace(fix=Fix("safe", *say.write(text=text).both(), (edit,)))


def _with_rename(problem: Diagnostic, side: Side, document: YamlDocument) -> Diagnostic:
    """An ignored model key under the name that works, where that one is not there yet."""
    from .catalog.keys import working_name

    key = str(dict(problem.values).get("key", ""))
    name = key.rpartition(".")[2]
    better = working_name(name)
    if better is None or side.explicit(f"model.model_config.{better}") is not None:
        return problem
    node = document.find(key if "." in key else f"model.model_config.{key}")
    if node is None or node.key_span is None or node.key_span.file is not None:
        return problem
    edit = Edit(problem.file, node.key_span, better)
    return problem._replace(fix=Fix("unsafe", *say.rename_to(name=name, better=better).both(), (edit,)))


def _edit(change: Change, side: Side, document: YamlDocument) -> Edit | None:
    key = change.at.name
    node = document.find(key)
    file = side.source.name
    if node is not None:
        return Edit(file, node.span, change.text) if _replaceable(node) else None
    if change.kind != "set":
        return None
    section = document.find(key.rpartition(".")[0]) if "." in key else document.root
    if section is None or section.kind != "mapping" or section.flow or not section.items or section.anchor_span:
        return None
    first = next(iter(section.items.values()))
    last = _last(section)
    if first.key_span is None or last is None:
        return None
    indent = " " * (first.key_span.column - 1)
    line = side.source.line(last.end_line)
    place = Span(last.end_line, len(line) + 1, last.end_line, len(line) + 1)
    newline = "\r\n" if "\r\n" in side.source.text else "\n"
    return Edit(file, place, f"{newline}{indent}{key.rpartition('.')[2]}: {change.text}")


def _replaceable(node: Node) -> bool:
    """True if nothing else is lost with a value."""
    return (node.kind == "scalar" or _short(node)) and node.anchor is None and node.anchor_span is None


def _short(node: Node) -> bool:
    """A list of scalars on one line, which can be written anew as a whole."""
    plain = all(entry.kind == "scalar" and entry.anchor is None for entry in node.entries)
    return node.kind == "sequence" and node.flow and plain and node.span.line == node.span.end_line


def _last(section: Node) -> Span | None:
    spans = [node.span for node in _leaves(section) if node.anchor_span is None]
    return max(spans, key=lambda span: (span.end_line, span.end_column)) if spans else None


def _leaves(node: Node) -> Iterable[Node]:
    below = [*node.items.values(), *node.entries]
    if not below:
        return [node]
    return [leaf for child in below for leaf in _leaves(child)]


def _plain(text: str) -> bool:
    return bool(text) and "\n" not in text and not text.startswith(("'", '"', "*", "&", "!"))

"""Turns a rule's repair into a fix: the edits of a text; and adds fixes to what the readers say about a YAML.

An edit replaces the text of one value, or writes a line at the end of a section with the indentation of its
neighbours; nothing else of the file is touched, so comments and layout stay as they are. The lines that a fix
changes (`hunks_of`) are its description and the diff that a person sees.
"""

from __future__ import annotations

from ..schemas.config import Setting
from ..schemas.diagnostic import Edit, Fix, UnreadableError
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.plain_values import is_mapping
from ..schemas.shared_words import list_words
from ..schemas.source import SourceText, Span
from .adjustments import fields_of_key, path_of_missing, settings_named, suggestion_of
from .catalog_compiled import MENDS, REWRITES, ROLES
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..mapper.translate.editors import Edit as TextEdit
    from ..mapper.translate.editors import ScriptEditor, YamlEditor
    from ..schemas.config import Argument, Launch
    from ..schemas.diagnostic import Applicability, Diagnostic, Language
    from ..schemas.megatron.catalog import ArgumentFact
    from ..schemas.message import Words
    from ..schemas.yaml_reader.document import YamlDocument
    from ..schemas.yaml_reader.node import Node
    from .rule import Change, Repair
    from .subject import Side, Subject


_LONG = 100
"""Characters of a line that is shown whole; of a longer one the words that change are."""


class Hunk(NamedTuple):
    """Lines of a file that a fix replaces, from the number that the first of them has today, and the new lines."""

    file: str
    line: int
    before: Sequence[str]
    after: Sequence[str]

    def shown(self) -> tuple[Sequence[str], Sequence[str]]:
        """Old and new lines for display; of one long line only the changed arguments."""
        if len(self.before) != 1 or len(self.after) != 1 or len(self.before[0]) <= _LONG:
            return self.before, self.after
        old, new = self.before[0].split(" "), self.after[0].split(" ")
        start = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1
        stop = 0
        while stop < min(len(old), len(new)) - start and old[-1 - stop] == new[-1 - stop]:
            stop += 1
        ends = len(old) - stop, len(new) - stop
        if start < min(ends):
            start = max(0, start - 1)  # a word alone may be the value of any argument
        before, after = old[start : ends[0]], new[start : ends[1]]
        return [" ".join(before)] if before else [], [" ".join(after)] if after else []


def hunks_of(edits: Iterable[Edit], sources: Mapping[str, SourceText]) -> list[Hunk]:
    """Changed lines of a fix; empty without the file's text."""
    rest = sorted(edits, key=lambda edit: (edit.file, edit.span[:4]))
    found: list[Hunk] = []
    while rest:
        if rest[0].file not in sources:
            return []
        file, last, together = rest[0].file, rest[0].span.end_line, [rest.pop(0)]
        while rest and rest[0].file == file and rest[0].span.line <= last:
            last = max(last, rest[0].span.end_line)
            together.append(rest.pop(0))
        found.append(_hunk(together, last, sources[file]))
    return found


def _hunk(edits: Sequence[Edit], last: int, source: SourceText) -> Hunk:
    """Changed lines of adjacent edits."""
    first = edits[0].span.line
    start, end = source.offset(first, 1), source.offset(last, len(source.line(last)) + 1)
    pieces: list[str] = []
    at = start
    for edit in edits:
        begin, stop = source.offsets(edit.span)
        pieces += [source.text[at:begin], edit.text]
        at = stop
    pieces.append(source.text[at : max(at, end)])
    before = [line.rstrip("\r") for line in source.text[start : max(at, end)].split("\n")]
    after = [line.rstrip("\r") for line in "".join(pieces).split("\n")]
    while before and after and before[0] == after[0]:
        del before[0], after[0]
        first += 1
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return Hunk(edits[0].file, first, before, after)


def described_fix(applicability: Applicability, edits: Sequence[Edit], sources: Mapping[str, SourceText]) -> Fix:
    """Fix with a description of its file, new text and old text."""
    hunks = hunks_of(edits, sources)
    told = {language: " ".join(_told_by_file(hunks, language)) for language in ("en", "zh")}
    return Fix(applicability, told["en"], told["zh"], tuple(edits))


def _told_by_file(hunks: Sequence[Hunk], language: Language) -> Iterator[str]:
    for file in dict.fromkeys(hunk.file for hunk in hunks):
        changes = [_fix_words(hunk).text(language) for hunk in hunks if hunk.file == file]
        name = file.replace("\\", "/").rpartition("/")[2]
        yield say.fix_of_file(file=name, changes=list_words(changes, language, "clause")).text(language)


def _fix_words(hunk: Hunk) -> Words:
    old, new = (" ".join(map(_without_continuation, lines)) for lines in hunk.shown())
    if not old:
        return say.fix_adds(new=new)
    return say.fix_replaces(new=new, old=old) if new else say.fix_removes(old=old)


def _without_continuation(line: str) -> str:
    """A line of a command without the sign that the command goes on."""
    return line.strip().removesuffix("\\").rstrip()


def fix_of(repair: Repair, subject: Subject) -> Fix | None:
    """Fix with the edits of a repair; None if one is impossible."""
    edits: list[Edit] = []
    for change in repair.changes:
        side = subject.side(change.at.side)
        made = None if side is None else _edits_of(change, side)
        if not made:
            return None
        edits += [one for one in made if one not in edits]  # one key may hold several fields
    sources = {side.source.name: side.source for side in subject.sides}
    return described_fix(repair.applicability, edits, sources) if edits else None


def _edits_of(change: Change, side: Side) -> list[Edit] | None:
    """Edits of one change; None if the file has no place for it."""
    if side.framework == "megatron":
        return _script_edits(change, side)
    document = _own_document(side)
    edit = None if document is None else _edit_of_change(change, side, document)
    return None if edit is None else [edit]


def _script_edits(change: Change, side: Side) -> list[Edit]:
    """Edits of a script; a variable used once is changed at its assignment."""
    from ..mapper.translate.editors import ScriptEditor

    launch, key, config = side.config.launch, change.at.name, side.config
    if launch is None or launch.span.file is not None or not change.words:
        return []
    flag, *words = change.words
    # The editor compares values before it writes; this one is known to differ.
    target = Setting(key, tuple(words), "explicit", None, tuple(words), flag)
    wanted = config._replace(settings={key: target} if change.kind == "set" else {})
    editor = ScriptEditor(side.source, config, wanted, shared=_has_own_variables(config.settings.get(key), launch))
    made = editor.put(key, target.value) if change.kind == "set" else editor.drop(key)
    return _edits_in(side.source, made)


def _has_own_variables(held: Setting | None, launch: Launch) -> bool:
    """True if the variables of an argument serve no other one."""
    places = [argument.span for argument in launch.arguments]
    at = next((number for number, place in enumerate(places) if held is not None and place == held.span), None)
    words = [] if held is None or at is None else places[at + 1 : at + 1 + len(held.raw or ())]
    return all(places.count(place) == 1 for place in words)


def _own_document(side: Side) -> YamlDocument | None:
    """Parsed YAML of a side; None for launches."""
    return side.config.document if side.config.launch is None else None


def with_fix(problem: Diagnostic, side: Side) -> Diagnostic:
    """Problem with a safe fix, if its message already gives the right text."""
    code, span = problem.kind.code, problem.span
    if problem.fix is not None or span is None or span.file is not None or side.source.name != problem.file:
        return problem
    if "rename" in MENDS.get(code, ()):
        return problem._replace(fix=_safe_rename(problem, side))
    if code in ROLES["missing-key"]:
        return problem._replace(fix=_neighbour_rename(problem, side))
    return _with_rewritten_value(problem, span, side) if code in REWRITES and _own_document(side) else problem


def _with_rewritten_value(problem: Diagnostic, span: Span, side: Side) -> Diagnostic:
    """Problem with a fix that writes its value in the suggested form."""
    text = str(dict(problem.values)[REWRITES[problem.kind.code]])
    if text.lower() in ("true", "false"):
        text = text.capitalize()
    held = side.source.line(span.line)[span.column - 1 : span.end_column - 1] if span.line == span.end_line else None
    if held is None or not _is_plain_scalar(held) or not _is_plain_scalar(text):
        return problem
    edit = Edit(problem.file, span, text)
    return problem._replace(fix=described_fix("safe", (edit,), {problem.file: side.source}))


def _safe_rename(problem: Diagnostic, side: Side) -> Fix | None:
    """Fix that renames a key or flag to the only possible name."""
    meant, document = suggestion_of(problem), _own_document(side)
    if meant is None and document is not None and problem.kind.code in ROLES["ignored-name"]:
        return _rename_to_working_name(problem, side, document)
    if side.framework == "mindformers" and (meant is None or not meant.is_only):
        return None
    return next((fix for fix in _rename_fixes(problem, side) if fix.applicability == "safe"), None)


def _rename_to_working_name(problem: Diagnostic, side: Side, document: YamlDocument) -> Fix | None:
    """Fix that renames an ignored model key to the name that works."""
    from .catalog.keys import working_name

    key = str(dict(problem.values).get("key", ""))
    name = key.rpartition(".")[2]
    better = working_name(name)
    if better is None or side.explicit(f"model.model_config.{better}") is not None:
        return None
    node = document.find(key if "." in key else f"model.model_config.{key}")
    if node is None or node.key_span is None or node.key_span.file is not None:
        return None
    return _one_edit(node.key_span, better, side, safe=True)


def _neighbour_rename(entry: Diagnostic, side: Side) -> Fix | None:
    """Fix that renames a misspelt neighbour to the missing key."""
    from ..schemas.suggestion import slip

    document = _own_document(side)
    section, name = path_of_missing(entry)
    beside = None if document is None else document.find(section) if section else document.root
    if beside is None or not name:
        return None
    prefix = f"{section}." if section else ""
    near = [
        node.key_span
        for key, node in beside.items.items()
        if slip(str(key), name) and not fields_of_key(side, f"{prefix}{key}")
    ]
    place = near[0] if len(near) == 1 else None
    return None if place is None or place.file is not None else _one_edit(place, name, side, safe=True)


def single_edits(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fixes that the finding itself suggests: other name, other value, or a working setting."""
    for way in MENDS.get(entry.kind.code, ()):
        if way in _NAMED_EDITS and _is_at_place(entry, side):
            yield from _NAMED_EDITS[way](entry, side)
        if ": " in way:
            yield from _with_settings(way, "", side)


def _is_at_place(entry: Diagnostic, side: Side) -> bool:
    """True if a finding is in the side's own text."""
    return entry.span is not None and entry.span.file is None and side.source.name == entry.file


def deletions(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fixes that remove the key or argument of a finding."""
    ways = MENDS.get(entry.kind.code, ())
    if "delete" in ways and entry.span is not None and _is_at_place(entry, side):
        yield from _deletion_fixes(entry.span, side)
    if "delete-named" in ways:
        settings = (side.setting(key) for key in sorted(settings_named(side, entry, when=True)))
        for setting in settings:  # a value that validation replaces is written all the same
            if setting is not None and setting.span is not None and setting.span.file is None:
                yield from _deletion_fixes(setting.span, side)


def converted_fix(side: Side, edits: Sequence[TextEdit]) -> Fix | None:
    """Fix for some edits; None if there are none or they overlap."""
    from ..mapper.translate.editors import apply_edits

    source = side.source
    if not edits or apply_edits(source.text, edits) in (None, source.text):
        return None
    return described_fix("unsafe", _edits_in(source, edits), {source.name: source})


def _edits_in(source: SourceText, edits: Iterable[TextEdit]) -> list[Edit]:
    """The edits of an editor, each once, with their places and the line ends of the text."""
    newline = "\r\n" if "\r\n" in source.text else "\n"
    distinct = dict.fromkeys((one.start, one.end, one.text.replace("\n", newline)) for one in edits)
    return [Edit(source.name, source.span(start, end), text) for start, end, text in distinct]


def _rename_fixes(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fixes that rename a key or flag to the suggested name."""
    yield from (_renamed_flag if side.framework == "megatron" else _renamed_key)(entry, side)


def _renamed_flag(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fix that replaces a flag by the suggested one."""
    values, place = dict(entry.values), entry.span
    flag = str(values.get("text" if "written" in values else "flag", ""))
    better = str(values.get("near") or values.get("written") or "")
    argument = next((one for one in _own_arguments(side) if place is not None and one.span[:2] == place[:2]), None)
    if flag and better and argument is not None and argument.text.startswith(flag):
        span = argument.span._replace(end_line=argument.span.line, end_column=argument.span.column + len(flag))
        yield _one_edit(span, better, side, safe=_is_only_slip(flag, better, side))


def _renamed_key(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fix that replaces a key's name by the suggested one."""
    meant, document = suggestion_of(entry), _own_document(side)
    path = None if entry.span is None else path_at(entry.span, side)
    if meant is None or document is None or path is None:
        return
    node, section = document.find(path), path.rpartition(".")[0]
    if node is None or node.key_span is None or document.find(f"{section}.{meant.name}" if section else meant.name):
        return
    yield _one_edit(node.key_span, meant.name, side, safe=meant.is_only)


def _one_edit(span: Span, text: str, side: Side, *, safe: bool) -> Fix:
    source = side.source
    return described_fix("safe" if safe else "unsafe", [Edit(source.name, span, text)], {source.name: source})


def _is_only_slip(flag: str, better: str, side: Side) -> bool:
    """True if a flag is a typing error of exactly one option."""
    from ..schemas.megatron.forks import catalog, fork_of
    from ..schemas.suggestion import slip

    known = catalog(side.config.framework_version, fork_of(side.config)).by_option
    return better in known and [option for option in known if slip(flag, option)] == [better]


def _respelt(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fixes that write a value as suggested."""
    meant = suggestion_of(entry)
    if meant is not None and entry.span is not None and _own_document(side) is not None:
        yield _one_edit(entry.span, meant.name, side, safe=meant.is_only)


def _what_runs(entry: Diagnostic, side: Side) -> Iterator[Fix]:
    """Fixes that set the nearest working value that a message names."""
    instead = str(dict(entry.values).get("instead"))
    if side.framework == "megatron":
        yield from _flag_that_runs(instead, side)
    else:
        yield from _with_settings(instead, str(dict(entry.values).get("at", "")).rpartition(".")[0], side)


def _with_settings(text: str, section: str, side: Side) -> Iterator[Fix]:
    """A section of a YAML with these settings."""
    from ..schemas.yaml_reader.document import read_yaml

    try:
        wanted = read_yaml(SourceText("instead.yaml", text)).value
    except UnreadableError:
        return
    if _own_document(side) is None or not is_mapping(wanted):
        return
    editor = _yaml_editor(side)
    paths = ((f"{section}.{key}" if section else str(key), value) for key, value in wanted.items())
    edits = [edit for path, value in paths for edit in editor.put(path, value)]
    if (fix := converted_fix(side, [*edits, *editor.rest()])) is not None:
        yield fix


def _flag_that_runs(instead: str, side: Side) -> Iterator[Fix]:
    known = {option: fact for fact in _known_options(side) for option in fact.options}
    flag, *words = instead.split()
    if flag in known and not any(word.startswith("--") for word in words):
        edits = list(_script_editor(side).give(known[flag].dest, flag, words))
        if (fix := converted_fix(side, edits)) is not None:
            yield fix


def _deletion_fixes(span: Span, side: Side) -> Iterator[Fix]:
    """The key or the argument at a place taken out."""
    if side.framework == "megatron":
        edits = list(_script_editor(side).drop_at(span))
    elif _own_document(side) is not None:
        editor = _yaml_editor(side)
        path = editor.path_at(span)
        edits = [] if path is None else list(editor.drop(path))
    else:
        return
    if (fix := converted_fix(side, edits)) is not None:
        yield fix


_NAMED_EDITS = {"rename": _rename_fixes, "respell": _respelt, "instead": _what_runs}


def _own_arguments(side: Side) -> Sequence[Argument]:
    launch = side.config.launch
    return () if launch is None else [one for one in launch.arguments if one.span.file is None and one.resolved]


def _known_options(side: Side) -> Iterable[ArgumentFact]:
    from ..schemas.megatron.forks import catalog, fork_of

    return catalog(side.config.framework_version, fork_of(side.config)).by_dest.values()


def path_at(span: Span, side: Side) -> str | None:
    """Key path at a place of a YAML."""
    return None if _own_document(side) is None else _yaml_editor(side).path_at(span)


def _script_editor(side: Side) -> ScriptEditor:
    from ..mapper.translate.editors import ScriptEditor

    return ScriptEditor(side.source, side.config, side.config, shared=True)


def _yaml_editor(side: Side) -> YamlEditor:
    from ..mapper.translate.editors import YamlEditor

    return YamlEditor(side.source, shared=True)


def _edit_of_change(change: Change, side: Side, document: YamlDocument) -> Edit | None:
    """YAML edit that sets a key to the change's text; None if it cannot be edited plainly."""
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
    last = _last_leaf_span(section)
    if first.key_span is None or last is None:
        return None
    indent = " " * (first.key_span.column - 1)
    line = side.source.line(last.end_line)
    place = Span(last.end_line, len(line) + 1, last.end_line, len(line) + 1)
    newline = "\r\n" if "\r\n" in side.source.text else "\n"
    return Edit(file, place, f"{newline}{indent}{key.rpartition('.')[2]}: {change.text}")


def _replaceable(node: Node) -> bool:
    """True if a value is short and has no anchor, so that nothing else is lost when it is replaced."""
    return (node.kind == "scalar" or _short(node)) and node.anchor is None and node.anchor_span is None


def _short(node: Node) -> bool:
    """True for a one-line list of scalars."""
    plain = all(entry.kind == "scalar" and entry.anchor is None for entry in node.entries)
    return node.kind == "sequence" and node.flow and plain and node.span.line == node.span.end_line


def _last_leaf_span(section: Node) -> Span | None:
    spans = [node.span for node in _leaf_nodes(section) if node.anchor_span is None]
    return max(spans, key=lambda span: (span.end_line, span.end_column)) if spans else None


def _leaf_nodes(node: Node) -> Iterable[Node]:
    below = [*node.items.values(), *node.entries]
    if not below:
        return [node]
    return [leaf for child in below for leaf in _leaf_nodes(child)]


def _is_plain_scalar(text: str) -> bool:
    return bool(text) and "\n" not in text and not text.startswith(("'", '"', "*", "&", "!"))

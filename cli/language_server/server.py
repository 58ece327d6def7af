"""Requests and answers of the Language Server Protocol, over the files that an editor has open (`open_files.py`).

Each answer is made of what a lint found; nothing here knows a rule. Positions count in what the editor counts in.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from accmap import __version__

from ...schemas.border.text_output import tell, tell_crash
from ...schemas.diagnostic import UnreadableError
from ...schemas.shared_words import in_brackets
from ...schemas.source import Span
from ..argument_parser import UsageError
from ..configuration import NAMES
from ..lint_formats.findings import follower_count, group_by_cause
from ..linting.file_edits import comment_for
from ..messages_compiled import say
from .cursor import completions, hover_text, partner_place, partner_values, word_text
from .open_files import OpenFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...schemas.config import ReadOptions
    from ...schemas.diagnostic import Diagnostic, Edit, Language

_PAUSE = 0.03
"""Seconds without a keystroke before a lint: those who type fast are not waited for at every letter."""
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "info": lsp.DiagnosticSeverity.Hint,
}
_FIX_ALL = "source.fixAll.accmap"
_LARGEST_DOCUMENT = 1_000_000
"""Characters; what trains has some ten thousand."""
_LARGEST_MESSAGE = 8 * _LARGEST_DOCUMENT
_LONGEST_HEADER = 8192


class _BoundedInput:
    """The editor's messages: one that is too large is skipped, and a notification that nobody hears stands for it."""

    def __init__(self, stream: BinaryIO, language: Language) -> None:
        self._stream, self._language = stream, language

    def readline(self) -> bytes:
        """A line of a message's head; one without an end is the end of all."""
        line = self._stream.readline(_LONGEST_HEADER)
        return line if line.endswith(b"\n") else b""

    def read(self, size: int) -> bytes:
        """The body of a message."""
        if size <= _LARGEST_MESSAGE:
            return self._stream.read(size)
        tell(say.lsp_message_too_large(size=size, most=_LARGEST_MESSAGE).text(self._language))
        rest = size
        while rest and (part := self._stream.read(min(rest, 1 << 20))):
            rest -= len(part)
        return b'{"jsonrpc": "2.0", "method": "$/skipped", "params": null}'


def serve(options: ReadOptions, profile: str | None, language: Language, *, remarks: bool, values: bool) -> None:
    """Serve one editor until it ends; with `values`, show the partner's values behind the settings."""
    server = LanguageServer("accmap", __version__)
    editor = _Editor(server, OpenFiles(options, profile, remarks=remarks), language, shows_values=values)
    kinds = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, _FIX_ALL])
    completion = lsp.CompletionOptions(trigger_characters=["-"], resolve_provider=True)
    for name, handler, about in (
        (lsp.TEXT_DOCUMENT_DID_OPEN, editor.did_open, None),
        (lsp.TEXT_DOCUMENT_DID_CHANGE, editor.did_change, None),
        (lsp.TEXT_DOCUMENT_DID_SAVE, editor.did_save, None),
        (lsp.TEXT_DOCUMENT_DID_CLOSE, editor.did_close, None),
        (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, editor.did_save, None),
        (lsp.TEXT_DOCUMENT_CODE_ACTION, editor.actions, kinds),
        (lsp.TEXT_DOCUMENT_HOVER, editor.hover, None),
        (lsp.TEXT_DOCUMENT_DEFINITION, editor.definition, None),
        (lsp.TEXT_DOCUMENT_COMPLETION, editor.completion, completion),
        (lsp.COMPLETION_ITEM_RESOLVE, editor.resolve, None),
        (lsp.INITIALIZED, editor.register_watchers, None),
        *([(lsp.TEXT_DOCUMENT_INLAY_HINT, editor.inlay_hints, None)] if values else []),
    ):
        server.feature(name, about)(partial(handler))
    # The editor's own channel: nothing else that is printed may get into it.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers, redirect_stdout(sys.stderr):
        server.start_io(cast("BinaryIO", _BoundedInput(sys.stdin.buffer, language)), answers)


class _Editor:
    """One editor, and the names by which it knows its files."""

    def __init__(
        self, server: LanguageServer, files: OpenFiles, language: Language, *, shows_values: bool = False
    ) -> None:
        self.server, self.files = server, files
        self.language: Language = language
        self._shows_values = shows_values
        self._uris: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._due: asyncio.TimerHandle | None = None
        self._told = ""

    # What the editor tells.

    def register_watchers(self, _: lsp.InitializedParams) -> None:
        """Ask to be told when a configuration changes on the disk, where the editor can tell."""
        workspace = self.server.client_capabilities.workspace
        watched = None if workspace is None else workspace.did_change_watched_files
        if watched is None or not watched.dynamic_registration:
            return
        watchers = [lsp.FileSystemWatcher(f"**/{name}") for name in NAMES]
        wish = lsp.Registration(
            "accmap", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
        )
        self.server.client_register_capability(lsp.RegistrationParams([wish]))

    def did_open(self, told: lsp.DidOpenTextDocumentParams) -> None:
        """A file is opened: one beside it may be its partner now."""
        if self._take(told.text_document.uri) is not None:
            self._check(None)

    def did_change(self, told: lsp.DidChangeTextDocumentParams) -> None:
        """A file was typed in."""
        path = self._take(told.text_document.uri)
        if path is None:
            return
        self._waiting.add(path)
        if self._due is not None:
            self._due.cancel()
        self._due = asyncio.get_running_loop().call_later(_PAUSE, self._checked_late)

    def did_save(self, _: object) -> None:
        """A file is on the disk, where others may name it."""
        self._check(None)

    def did_close(self, told: lsp.DidCloseTextDocumentParams) -> None:
        """A file is closed: nothing more is said for its sake."""
        path = _path(told.text_document.uri)
        if path is None:
            return
        gone = self.files.take_away(path)
        self._check(None)
        for file in gone:
            self._publish(file)
        self._uris.pop(path, None)

    def _take(self, uri: str) -> str | None:
        """Store the text of an open document for linting, a huge one as empty; its path, or None if it is not open."""
        path = _path(uri)
        if path is None or uri not in self.server.workspace.text_documents:
            return None
        text = self.server.workspace.get_text_document(uri).source
        self._uris[path] = uri
        if len(text) > _LARGEST_DOCUMENT:
            self._tell(say.lsp_document_too_large(file=path, most=_LARGEST_DOCUMENT).text(self.language))
            text = ""
        self.files.put(path, text)
        return path

    def _checked_late(self) -> None:
        waiting, self._waiting, self._due = self._waiting, set(), None
        self._check(waiting)

    def _check(self, paths: Iterable[str] | None) -> None:
        """Lint the files with these paths and send changed findings to the editor; an error is reported, not raised."""
        try:
            for file in sorted(self.files.check(paths)):
                self._publish(file)
            self._told = ""
            self._refresh_values()
        except (UsageError, UnreadableError) as error:
            self._tell(error.message(self.language) if isinstance(error, UsageError) else str(error))
        except Exception as error:  # noqa: BLE001 - a bug in one lint is no reason to say nothing of the next
            tell_crash(error)
            self._tell(say.bug_in_accmap(name=type(error).__name__).text(self.language).removeprefix("accmap: "))

    def _tell(self, message: str) -> None:
        """Show an error message in the editor, once until another one comes."""
        if message != self._told:
            self._told = message
            self.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"accmap: {message}"))

    # What the editor is told.

    def _publish(self, file: str) -> None:
        causes, followers = group_by_cause(self.files.findings(file))
        found = [self._diagnostic(file, entry, followers.get(at, ())) for at, entry in enumerate(causes)]
        uri = self._uri(file)
        version = self.server.workspace.get_text_document(uri).version if file in self._uris else None
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def _refresh_values(self) -> None:
        """Let the editor ask for the partner's values again: a change of one file changes those behind the other's."""
        workspace = self.server.client_capabilities.workspace
        hints = None if workspace is None else workspace.inlay_hint
        if self._shows_values and hints is not None and hints.refresh_support:
            self.server.workspace_inlay_hint_refresh(None)

    def _diagnostic(self, file: str, entry: Diagnostic, followers: Sequence[Diagnostic]) -> lsp.Diagnostic:
        """A finding in the form of the protocol; findings that follow from it become its related places."""
        related = [
            lsp.DiagnosticRelatedInformation(self._location(one.file, one.span), one.zh if self._zh else one.en)
            for one in entry.related
        ]
        for one in followers:
            said = f"{one.kind.code}: {one.message(self.language)}"
            related.append(lsp.DiagnosticRelatedInformation(self._location(one.file, one.span), said))
        if entry.because is not None:
            code, place, span, _ = entry.because
            said = say.lsp_follows_from(code=code).text(self.language)
            related.append(lsp.DiagnosticRelatedInformation(self._location(place, span), said))
        return lsp.Diagnostic(
            self._range(file, entry.span),
            self._message(entry, followers),
            _SEVERITIES[entry.kind.severity],
            entry.kind.code,
            lsp.CodeDescription(entry.url) if entry.url else None,
            "accmap",
            related_information=related,
        )

    def _message(self, entry: Diagnostic, followers: Sequence[Diagnostic]) -> str:
        """The text of a finding with the codes of the findings that follow from it."""
        if not followers:
            return entry.sentences(self.language)
        codes = ", ".join(dict.fromkeys([one.kind.code for one in followers]))
        counted = follower_count(entry, followers, self.language)
        return f"{entry.sentences(self.language)}\n{counted}{in_brackets(codes, self.language)}"

    def actions(self, asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """The code actions for a range: the fixes of its findings, and one that applies every safe fix."""
        path, wanted = _path(asked.text_document.uri), asked.context.only
        if path is None:
            return []
        found: list[lsp.CodeAction] = []
        if _is_wanted(lsp.CodeActionKind.QuickFix, wanted):
            within = self._in_range(path, asked.range)
            tried = self.files.with_tried_fixes(path, [entry for entry, _ in within])
            for entry, (_, place) in zip(tried, within, strict=True):
                found += self._quick_fixes(path, entry, place)
        # To mend all means to lint several times: only where that is what is asked for.
        if wanted and _is_wanted(_FIX_ALL, wanted):
            texts = self.files.fixed_texts(path)
            edits = {self._uri(file): [lsp.TextEdit(self._whole(file), text)] for file, text in texts.items()}
            if edits:
                title = say.lsp_mend_all().text(self.language)
                found.append(lsp.CodeAction(title, _FIX_ALL, edit=lsp.WorkspaceEdit(edits)))
        return found

    def _in_range(self, path: str, asked: lsp.Range) -> list[tuple[Diagnostic, lsp.Range]]:
        places = [(entry, self._range(path, entry.span)) for entry in self.files.findings(path)]
        return [
            (entry, place)
            for entry, place in places
            if _order(place.start) <= _order(asked.end) and _order(asked.start) <= _order(place.end)
        ]

    def _quick_fixes(self, path: str, entry: Diagnostic, place: lsp.Range) -> list[lsp.CodeAction]:
        """Every fix of a finding, and the comment that silences it."""
        found = [lsp.Diagnostic(place, entry.message(self.language), code=entry.kind.code, source="accmap")]
        actions: list[lsp.CodeAction] = []
        for fix in entry.fixes:
            edits: dict[str, list[lsp.TextEdit]] = {}
            for edit in fix.edits:
                edits.setdefault(self._uri(os.path.abspath(edit.file)), []).append(self._edit(edit))
            title = f"{fix.zh if self._zh else fix.en} ({entry.kind.code})"
            actions.append(_quick_fix(title, found, edits, preferred=fix is entry.fix and fix.applicability == "safe"))
        source = self.files.source(path)
        if source is not None:
            line, comment = comment_for(entry, source)
            above = lsp.Position(line - 1, 0)
            ending = "\r\n" if "\r\n" in source.text else "\n"
            title = say.lsp_ignore(code=entry.kind.code).text(self.language)
            edits = {self._uri(path): [lsp.TextEdit(lsp.Range(above, above), comment + ending)]}
            actions.append(_quick_fix(title, found, edits, preferred=False))
        return actions

    def _edit(self, edit: Edit) -> lsp.TextEdit:
        return lsp.TextEdit(self._range(os.path.abspath(edit.file), edit.span), edit.text)

    def hover(self, asked: lsp.HoverParams) -> lsp.Hover | None:
        """Explain the word under the cursor."""
        place = self._place(asked.text_document.uri, asked.position)
        found = None if place is None else hover_text(self.files, *place, self.language)
        if found is None or place is None:
            return None
        text, span = found
        held = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(held, None if span is None else self._range(place[0], span))

    def definition(self, asked: lsp.DefinitionParams) -> lsp.Location | None:
        """The place in the partner file that decides the setting under the cursor."""
        place = self._place(asked.text_document.uri, asked.position)
        found = None if place is None else partner_place(self.files, *place)
        return None if found is None else self._location(*found)

    def inlay_hints(self, asked: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        """List the partner's values behind the settings of some lines."""
        path = _path(asked.text_document.uri)
        lines = asked.range.start.line + 1, asked.range.end.line + 1
        return [
            lsp.InlayHint(
                self._position(path, one.line, one.column),
                one.label,
                tooltip=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.explanation),
                padding_left=True,
            )
            for one in ([] if path is None else partner_values(self.files, path, *lines, self.language))
            if path is not None
        ]

    def completion(self, asked: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        """List the completions at the cursor."""
        place = self._place(asked.text_document.uri, asked.position)
        if place is None:
            return []
        path, line, column = place
        items: list[lsp.CompletionItem] = []
        for one in completions(self.files, path, line, column):
            span = self._range(path, Span(line, column - one.begun, line, column))
            edit = lsp.TextEdit(span, one.text)
            kind = lsp.CompletionItemKind.Property
            items.append(lsp.CompletionItem(one.text, kind=kind, detail=one.detail, text_edit=edit, data=one.asked))
        return items

    def resolve(self, item: lsp.CompletionItem) -> lsp.CompletionItem:
        """The completion item with the explanation of its name added."""
        told = word_text(item.data, self.language) if isinstance(item.data, str) else None
        if told is not None:
            item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, told)
        return item

    # Names and places.

    @property
    def _zh(self) -> bool:
        return self.language == "zh"

    def _uri(self, path: str) -> str:
        """The address by which the editor knows a file."""
        return self._uris.get(path) or from_fs_path(path) or ""

    def _place(self, uri: str, position: lsp.Position) -> tuple[str, int, int] | None:
        """The path, line and column (from 1) of a position that the editor names; None outside of the text."""
        path = _path(uri)
        source = None if path is None else self.files.source(path)
        if path is None or source is None or position.line >= source.line_count:
            return None
        codec, text = self.server.workspace.position_codec, source.line(position.line + 1)
        at = codec.position_from_client_units([text], lsp.Position(0, position.character))
        return path, position.line + 1, at.character + 1

    def _location(self, file: str, span: Span | None) -> lsp.Location:
        path = os.path.abspath(file)
        return lsp.Location(self._uri(path), self._range(path, span))

    def _range(self, path: str, span: Span | None) -> lsp.Range:
        if span is None:
            return lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        return lsp.Range(
            self._position(path, span.line, span.column), self._position(path, span.end_line, span.end_column)
        )

    def _position(self, path: str, line: int, column: int) -> lsp.Position:
        """A position in the editor's units, which count from 0."""
        source = self.files.source(path)
        before = "" if source is None or line > source.line_count else source.line(line)[: column - 1]
        return lsp.Position(line - 1, self.server.workspace.position_codec.client_num_units(before))

    def _whole(self, path: str) -> lsp.Range:
        """The range of a whole file."""
        source = self.files.source(path)
        lines = 0 if source is None else source.line_count
        return lsp.Range(lsp.Position(0, 0), lsp.Position(lines, 0))


def _path(uri: str) -> str | None:
    """Path of a file; None for a document that is not a file."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return None if path is None else os.path.abspath(path)


def _quick_fix(
    title: str, found: list[lsp.Diagnostic], edits: Mapping[str, Sequence[lsp.TextEdit]], *, preferred: bool
) -> lsp.CodeAction:
    kind = lsp.CodeActionKind.QuickFix
    return lsp.CodeAction(title, kind, found, is_preferred=preferred, edit=lsp.WorkspaceEdit(edits))


def _is_wanted(kind: str, wanted: Sequence[str] | None) -> bool:
    """True if an action is of a kind that was asked for: a kind stands for all that begin with it."""
    return wanted is None or any(kind == one or kind.startswith(f"{one}.") for one in wanted)


def _order(position: lsp.Position) -> tuple[int, int]:
    """Sort key of a position."""
    return position.line, position.character

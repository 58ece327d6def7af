"""The formats for code scanning: SARIF 2.1.0, and the code quality report of GitLab."""

from __future__ import annotations

import os

from ...rules.baseline import fingerprint
from ...schemas.border.text_output import json_text
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING
from .findings import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Fix, Language
    from ...schemas.source import Span
    from ..linting.linter import Report


def digests_of(report: Report) -> Callable[[Diagnostic], str]:
    """A function that gives each finding its digest; of findings that are alike, each its own by their order."""
    from hashlib import sha256

    counts: dict[str, int] = {}

    def digest(entry: Diagnostic) -> str:
        mark = f"{entry.file}|{fingerprint(entry, report.sources)}"
        counts[mark] = counts.get(mark, 0) + 1
        return sha256(f"{mark}|{counts[mark]}".encode("utf-8", "surrogatepass")).hexdigest()

    return digest


_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_FINGERPRINT = "accmapFinding/v1"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(report: Report, language: Language) -> Outgoing:
    """The report as a SARIF log."""
    from accmap import __version__

    from ...schemas.addresses_compiled import SITE

    digest = digests_of(report)
    codes = list(dict.fromkeys(entry.kind.code for entry in report.diagnostics))
    log: dict[str, object] = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "accmap",
                        "version": __version__,
                        **({"informationUri": SITE} if SITE else {}),
                        "rules": list(_sarif_rules(report.diagnostics, codes, language)),
                    }
                },
                "columnKind": "unicodeCodePoints",
                "properties": {"profile": report.settings[0], "configuration": report.settings[1]},
                "results": [
                    {
                        **_result(
                            entry, codes, language, None if cause is None else (cause, report.diagnostics[cause])
                        ),
                        "partialFingerprints": {_FINGERPRINT: digest(entry)},
                    }
                    for entry, cause in zip(report.diagnostics, causes_of(report.diagnostics), strict=True)
                ],
            }
        ],
    }
    return json_text(log)


def _sarif_rules(entries: Iterable[Diagnostic], codes: list[str], language: Language) -> Iterable[dict[str, object]]:
    """The rules in SARIF form: id, name, short description, help and default level."""
    kinds = {entry.kind.code: entry for entry in entries}
    for code in codes:
        entry = kinds[code]
        yield {
            "id": code,
            "name": "".join(part.capitalize() for part in entry.kind.name.split("-")),
            "shortDescription": {"text": entry.kind.name.replace("-", " ")},
            **({"helpUri": entry.url} if entry.url else {}),
            "defaultConfiguration": {"level": _LEVELS[entry.kind.severity]},
            **_rule_help(code, language),
        }


def _rule_help(code: str, language: Language) -> dict[str, object]:
    """Help of a rule from its page; a plugin's rule has none."""
    from ...rules.pages import heading, page

    found = page(code, language)
    if found is None:
        return {}
    sections = dict(found.sections)
    text = "\n\n".join(f"{heading}\n{said}" for heading, said in found.sections)
    return {
        "fullDescription": {"text": sections[heading("what", language)]},
        "help": {"text": text, "markdown": found.markdown(2)},
        "properties": {"tags": [code[:3], *found.facts[:1]]},
    }


def _result(
    entry: Diagnostic, codes: list[str], language: Language, cause: tuple[int, Diagnostic] | None
) -> dict[str, object]:
    """A finding in SARIF form; the finding it follows from is a related location."""
    properties: dict[str, object] = {"confidence": entry.kind.confidence, "fields": list(entry.fields)}
    related = [(place.file, place.span, place.zh if language == "zh" else place.en) for place in entry.related]
    if cause is not None:
        from .findings import because

        properties["becauseOf"] = cause[0]
        head = cause[1]
        related.append((head.file, head.span, f"{head.kind.code}: {because(head, language)}"))
    found: dict[str, object] = {
        "ruleId": entry.kind.code,
        "ruleIndex": codes.index(entry.kind.code),
        "level": _LEVELS[entry.kind.severity],
        "message": {"text": entry.sentences(language)},
        "locations": [_sarif_location(entry.file, entry.span)],
        "properties": properties,
    }
    if related:
        found["relatedLocations"] = [
            {**_sarif_location(file, span), "id": number, "message": {"text": note}}
            for number, (file, span, note) in enumerate(related, 1)
        ]
    if entry.fixes:
        found["fixes"] = [_sarif_fix(fix, language) for fix in entry.fixes]
    return found


def _sarif_location(file: str, span: Span | None) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": {"uri": _file_uri(file)}}
    if span is not None:
        physical["region"] = _sarif_region(span)
    return {"physicalLocation": physical}


def _sarif_region(span: Span) -> dict[str, object]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def _sarif_fix(fix: Fix, language: Language) -> dict[str, object]:
    """A fix in SARIF form: its description, and the replacements in each file."""
    files = dict.fromkeys(edit.file for edit in fix.edits)
    return {
        "description": {"text": fix.zh if language == "zh" else fix.en},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _file_uri(file)},
                "replacements": [
                    {"deletedRegion": _sarif_region(edit.span), "insertedContent": {"text": edit.text}}
                    for edit in fix.edits
                    if edit.file == file
                ],
            }
            for file in files
        ],
    }


def _file_uri(file: str) -> str:
    from urllib.parse import quote

    return quote(os.fsencode(file.replace(os.sep, "/")), safe="/:@!$&'()*+,;=~")


_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def write_gitlab(report: Report, language: Language) -> Outgoing:
    """The report as a GitLab code quality list, in JSON."""
    digest = digests_of(report)
    issues: list[dict[str, object]] = []
    for entry, told in messages(report.diagnostics, language):
        issues.append(
            {
                "description": told,
                "check_name": entry.kind.code,
                "fingerprint": digest(entry),
                "severity": _SEVERITIES[entry.kind.severity],
                "location": {"path": entry.file, "lines": {"begin": 1 if entry.span is None else entry.span.line}},
            }
        )
    return json_text(issues, 1)

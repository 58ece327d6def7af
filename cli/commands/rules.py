"""`accmap rules`: every rule with its severity, profiles and sources."""

from __future__ import annotations

from ...schemas.border.text_output import emit, json_text, say
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import term
from ..terminal import pad

if TYPE_CHECKING:
    from typing import Any

    from ...schemas.diagnostic import Language
    from ..arguments_compiled import RulesArgs


def run(args: RulesArgs) -> int:
    """Print the rules, or those whose code begins with one of the words."""
    rows = [
        row
        for row in rows_of(args.lang)
        if not args.files or any(str(row["code"]).startswith(word.upper()) for word in args.files)
    ]
    if args.format == "json":
        emit(json_text(rows))
        return 0
    for row in rows:
        mark = " *" if row["fixable"] else ""
        severity, kind = term(row["severity"], args.lang), term(row["kind"], args.lang)
        say(f"{row['code']}  {pad(severity, 8)}{pad(kind, 16)}{row['name']}{mark}")
    return 0


def rows_of(language: Language) -> list[dict[str, Any]]:
    """The contract's answer of `rules`; a reader's codes are rules of the file's scope."""
    from ...rules.pages import page
    from ...rules.pages_compiled import PAGES
    from ...rules.registry import codes, rule

    found: list[dict[str, Any]] = []
    own = set(codes())
    for code, entry in PAGES.items():
        described = page(code, language)
        assert described is not None
        if code in own:
            known = rule(code)
            found.append(
                {
                    "code": code,
                    "name": known.name,
                    "severity": known.severity,
                    "profiles": list(known.profiles),
                    "scope": known.scope,
                    "sources": list(entry["sources"]),
                    "fixable": entry["fixable"],
                    "kind": known.kind,
                    "fields": list(entry["fields"]),
                }
            )
        else:
            found.append(
                {
                    "code": code,
                    "name": entry["reader"],
                    "severity": entry["severity"],
                    "profiles": ["align", "train"],
                    "scope": "file",
                    "sources": list(entry["sources"]),
                    "fixable": code in ("SYN051", "SYN052", "MAP072", "MAP056"),
                    "kind": "rule",
                    "fields": [],
                }
            )
    return found

"""`accmap explain` and `accmap rules`: what a code, a flag, a key or a word is about, and the list of all codes."""

from __future__ import annotations

from ...schemas.border.text_output import emit, json_text, page, paint, say, tell, trust_text
from ...schemas.diagnostic import UsageError
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.message import NOTHING
from ...schemas.shared_words import term
from ..exit_codes import FINE, UNUSABLE
from ..messages_compiled import say as words
from ..terminal import columns, line_limit, pad, print_paged, show_page, wants_colour, width, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...rules.pages import Page
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ..arguments_compiled import ExplainArgs, RulesArgs
    from ..reference.word_search import Candidate

_FRAMEWORKS = ("megatron", "mindformers")
_READERS = {"bash": "megatron", "megatron": "megatron", "mindformers": "mindformers", "YAML": "mindformers"}
"""The framework of whose files a reader's code speaks, by the first word of a source."""


def run(args: ExplainArgs) -> int:
    """Explain each word, or list what it may mean; 2 if it means nothing, or is spelled wrong."""
    from ..reference.word_search import candidates, near_candidates

    asked = args.files
    if len(asked) > 1 and _is_phrase(asked, args.lang):
        asked = [" ".join(asked)]  # `accmap explain warm up`
    code = FINE
    answers: list[Outgoing] = []
    for word in asked:
        answer = explanation_of(word, args.lang, args.format)
        answer = answer or _candidates(candidates, word, args.lang, args.format)
        if answer is None:
            tell(f"accmap: {unknown_word(word).text(args.lang)}")
            answer = _candidates(near_candidates, word, args.lang, args.format)
            code = UNUSABLE
        if answer is not None:
            answers.append(answer)
    show_page(trust_text("".join(answers)), paged=args.format == "text" and not args.no_pager)
    return code


def _candidates(
    search: Callable[[str, Language], Sequence[Candidate]], word: str, language: Language, form: str
) -> Outgoing | None:
    """What a search finds for a word that is not a name; None if it finds nothing."""
    listed = search(word, language)
    if not listed:
        return None
    from ..reference.key_explanation import list_candidates

    return list_candidates(word, listed, language, form)


def _is_phrase(asked: Sequence[str], language: Language) -> bool:
    """True if words are one phrase: people call something so, or not each of them has an explanation."""
    from ..reference.word_search import candidates, synonyms_of

    phrase = " ".join(asked)
    if synonyms_of(phrase, (), language):
        return True
    return not all(explanation_of(word, language, "json") for word in asked) and bool(candidates(phrase, language))


def explanation_of(word: str, language: Language, form: str) -> Outgoing | None:
    """Explanation of a code, a flag, a key or a section in one of the forms; None for any other word."""
    from ...rules.pages import page as page_of

    described = page_of(word.upper(), language) or _of_evidence(word.upper(), language)
    if described is not None:
        return _render_page(described, form)
    from ..reference.key_explanation import explain_key

    return explain_key(word, language, form)


def _of_evidence(word: str, language: Language) -> Page | None:
    """The page of a code that a command of evidence reports."""
    if not word.startswith("EVD"):
        return None
    from ...evidence.codes import codes
    from ...rules.naming import code_name
    from ...rules.pages import Page, heading

    found = codes().get(word)
    if found is None:
        return None
    zh = language == "zh"
    sentences = "\n".join(f"- {kind.zh if zh else kind.en}" for kind in found.kinds)
    facts = (
        term(found.kinds[0].severity, language),
        ", ".join(f"accmap {name}" for name in found.commands.split(", ")),
    )
    name = code_name(found.code, found.kinds[0].name, language)
    return Page(found.code, name, facts, ((heading("message", language), sentences),))


def _render_page(described: Page, form: str) -> Outgoing:
    """The explanation of a rule as JSON, as Markdown, or as lines wrapped and coloured for a terminal."""
    if form == "json":
        answer = {
            "code": described.code,
            "name": described.name,
            "facts": list(described.facts),
            "sections": [{"heading": heading, "text": text} for heading, text in described.sections],
        }
        return json_text(answer)
    if form == "markdown":
        return page(described.markdown().removesuffix("\n").split("\n"))
    colour, limit = wants_colour(), width()
    lines = [
        f"{paint(described.code, 'bold', colour)} {described.name}",
        paint(" · ".join(described.facts), "dim", colour),
    ]
    for heading, text in described.sections:
        lines += ["", paint(heading, "bold", colour)]
        bare = text.replace("```bash\n", "").replace("```yaml\n", "").replace("\n```", "")
        for line in bare.split("\n"):
            lines += wrap(f"  {line}", limit, "    " if line.startswith("- ") else "  ") if line else [""]
    return page([*lines, ""])


def unknown_word(word: str) -> Words:
    """That a word is nothing of these, and what was probably meant."""
    from ..reference.word_search import near_names

    names = near_names(word)
    hint = words.perhaps_one_of(listed=", ".join(names)) if names else NOTHING
    return words.neither_code_nor_key(word=word, hint=hint)


def run_rules(args: RulesArgs) -> int:
    """Print the rules, or those that the words and the options choose."""
    rows = [row for row in rule_records(args.lang) if _is_chosen(row, args)]
    if args.topic is not None and not any(_is_of_topic(row, args.topic) for row in rule_records(args.lang)):
        listed = ", ".join(dict.fromkeys(row["topic"] for row in rule_records(args.lang)))
        raise UsageError(words.no_topic(topic=args.topic, listed=listed))
    if args.format == "json":
        emit(json_text(rows))
        return FINE
    print_paged(lambda: _print_rules(rows, args.lang), paged=not args.no_pager)
    return FINE


def _print_rules(rows: Sequence[Mapping[str, Any]], language: Language) -> None:
    for row in rows:
        mark = f" [{words.fixable().text(language)}]" if row["fixable"] else ""
        head = f"{row['code']}  {pad(term(row['severity'], language), 8)} "
        text = f"{head}{row['description']}{mark}"
        for line in wrap(text, line_limit(), " " * columns(head)):
            say(line)


def _is_chosen(row: Mapping[str, Any], args: RulesArgs) -> bool:
    """True if a row of the list of rules fits the codes and every option that filters the list."""
    return (
        (not args.files or any(str(row["code"]).startswith(word.upper()) for word in args.files))
        and (args.topic is None or _is_of_topic(row, args.topic))
        and (args.framework is None or args.framework in row["frameworks"])
        and (args.version is None or row["versions"] is None or _has_version(row["versions"], args.version))
        and (args.severity is None or row["severity"] == args.severity)
    )


def _is_of_topic(row: Mapping[str, Any], topic: str) -> bool:
    """True for the topic's name in either language, its three letters, or the first word of a field's name."""
    from ...rules.pages import topic_of

    wanted, code = topic.lower(), str(row["code"])
    names = {code[:3].lower(), topic_of(code, "en").lower(), topic_of(code, "zh").lower()}
    return wanted in names or any(str(field).partition(".")[0] == wanted for field in row["fields"])


def _has_version(versions: Sequence[str], asked: str) -> bool:
    from ...schemas.versions import minor_of

    return (minor_of(asked) or asked) in versions


def rule_records(language: Language) -> list[dict[str, Any]]:
    """The contract's answer of `rules`; a reader's codes are rules of the file's scope."""
    from ...rules.pages import summary_of, topic_of
    from ...rules.pages_compiled import PAGES
    from ...rules.registry import codes

    own = set(codes())
    records: list[dict[str, Any]] = []
    for code, entry in PAGES.items():
        record = _rule_record(code, entry) if code in own else _reader_record(code, entry)
        described = {"description": summary_of(code, language), "topic": topic_of(code, language)}
        records.append({**record, **described})
    return records


def _rule_record(code: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a rule in the list of rules, as JSON: name, severity, profiles, fields, frameworks and versions."""
    from ...rules.defects_listed_compiled import LISTED
    from ...rules.registry import rule

    known, defect = rule(code), LISTED.get(code)
    frameworks = [known.scope] if known.scope in _FRAMEWORKS else list(_FRAMEWORKS)
    return {
        "code": code,
        "name": known.name,
        "severity": known.severity,
        "profiles": list(known.profiles),
        "scope": known.scope,
        "sources": list(entry["sources"]),
        "fixable": entry["fixable"],
        "kind": known.kind,
        "fields": list(entry["fields"]),
        "frameworks": frameworks if defect is None else [defect["framework"]],
        "versions": None if defect is None else list(defect["in"]),
    }


def _reader_record(code: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a problem that a reader of files reports, as JSON with the same keys as that of a rule."""
    named = {_READERS[word] for source in entry["sources"] if (word := source.split()[0]) in _READERS}
    return {
        "code": code,
        "name": entry["reader"],
        "severity": entry["severity"],
        "profiles": ["align", "train"],
        "scope": "file",
        "sources": list(entry["sources"]),
        "fixable": code in ("SYN051", "SYN052", "MAP072", "MAP056"),
        "kind": "rule",
        "fields": [],
        "frameworks": [name for name in _FRAMEWORKS if not named or name in named],
        "versions": None,
    }

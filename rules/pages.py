"""Page of a rule's or a reader's code in English and Chinese, made from catalog, messages or a docstring.

They are `docs/rules/`; `accmap explain CODE` prints one.
"""

from __future__ import annotations

from ..mappings.tables import field_named
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ..schemas.megatron.forks import REFUSED_BY_THE_BASE
from ..schemas.message import Words
from ..schemas.shared_words import list_words, term
from .messages_compiled import say
from .naming import code_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from ..schemas.diagnostic import Kind, Language

_ASKING = ("Whether ", "How ")
_NAMED = 2
"""A rule that compares more fields names these, and says how many more there are."""
_FENCES = {"megatron": "bash", "mindformers": "yaml", "command": "bash"}


class Page(NamedTuple):
    """One page: its title, a line of facts, and sections of text."""

    code: str
    name: str
    facts: tuple[str, ...]
    sections: tuple[tuple[str, str], ...]

    def markdown(self, level: int = 1) -> str:
        """The page as Markdown."""
        lines = [f"{'#' * level} {self.code} {self.name}", "", " · ".join(self.facts)]
        for heading, text in self.sections:
            lines += ["", f"{'#' * (level + 1)} {heading}", "", text]
        return "\n".join(lines) + "\n"


def heading(section: str, language: Language) -> str:
    """The heading of a section."""
    return _words("headings", language)(section)


def _words(page: Literal["headings", "sides", "kinds", "checklists"], language: Language) -> Callable[..., str]:
    """Words by keys that stand in the tables."""
    return say.page(page, language)


def page(code: str, language: Language) -> Page | None:
    """Page of a code; None for an unknown code."""
    from .pages_compiled import PAGES

    entry = cast("Mapping[str, Any] | None", PAGES.get(code))
    if entry is None:
        return _own_page(code, language)
    if "reader" in entry:
        return _reader_page(code, entry, language)
    return _rule_page(code, entry, language)


def every_page() -> Iterator[str]:
    """All codes that have a page."""
    from .pages_compiled import PAGES

    yield from PAGES
    yield from _own_kinds()


def summary_of(code: str, language: Language) -> str:
    """One line on a code's subject; empty for an unknown code."""
    from .pages_compiled import OWN, PAGES

    place = language == "zh"
    entry = cast("Mapping[str, Any] | None", PAGES.get(code) or (OWN[code] if code in _own_kinds() else None))
    if entry is None:
        return ""
    if entry["what"] is None:
        return _comparison_text(entry["fields"], language)
    line: str = entry["what"][place].split("\n")[0]
    return line if place or not line.startswith(_ASKING) else f"Check {line[0].lower()}{line[1:]}"


def topic_of(code: str, language: Language) -> str:
    """Heading under which the index lists a code."""
    return _words("checklists", language)(code[:3])


def possible_severities(code: str) -> dict[str, Words]:
    """All severities of a code, each with its circumstance."""
    from .catalog_compiled import RULES
    from .pages_compiled import PAGES
    from .registry import rule

    entry = cast("Mapping[str, Any]", PAGES.get(code) or {})
    if "reader" in entry or code not in PAGES:
        kinds = entry["severities"] if entry else [_own_kinds()[code].severity]
        found = {str(kinds[0]): Words("", "")}
        found.update({one: say.by_its_message() for one in kinds[1:] if one not in found})
    else:
        found = {str(rule(code).severity): Words("", "")}
    usual = next(iter(found))
    row = RULES.get(code)
    if row is not None and isinstance(row[1], dict):
        found.update({one: say.with_profile(profile=profile) for profile, one in row[1].items() if one not in found})
    for one, why in _other_severities(code, usual, compares=row is not None and row[2] == "pair").items():
        found.setdefault(one, why)
    return found


def _other_severities(code: str, usual: str, *, compares: bool) -> dict[str, Words]:
    """Severities other than the usual one, each with its circumstance."""
    from .catalog_compiled import COMPARED, ROLES, RULES

    if compares or (code in RULES and any(owner[0] == code for owner in COMPARED.values())):
        return {"error": say.if_numbers_differ(), "warning": say.if_not_known(), "info": say.if_nothing_changes()}
    if code.startswith("DEF"):
        return {"warning" if usual == "error" else "info": say.if_not_known(), "info": say.if_nothing_changes()}
    others = {"error": say.if_error_follows()} if usual == "warning" else {}
    if code in ROLES["unknown-network"]:
        others["error"] = say.in_a_pair()
    if code in ROLES["no-equivalent"]:
        others["error"] = say.in_a_pair_if_effect_known()
    if code in ROLES["unknown-argument"]:
        others["error"] = say.if_version_known()
    if code in (*ROLES["inert-key"], *ROLES["validated-value"], *ROLES["harmless"]):
        others["info"] = say.if_nothing_changes()
    if code in REFUSED_BY_THE_BASE or code in ROLES["uncertain"]:
        others["warning"] = say.if_not_known()
    return others


def _severity_fact(code: str, language: Language) -> str:
    """`warning; error if an error follows from it`."""
    usual, *others = possible_severities(code).items()
    told = [f"{term(one, language)}{'' if language == 'zh' else ' '}{why.text(language)}" for one, why in others]
    return list_words([term(usual[0], language), *told], language, "semicolon")


def _comparison_text(names: Sequence[str], language: Language) -> str:
    """Text that a rule compares these fields."""
    from ..mapper.recipe.vocabulary import vocabulary

    fields = vocabulary()
    meanings = [fields[field_named(name)].zh if language == "zh" else fields[field_named(name)].en for name in names]
    listed = list_words(meanings[:_NAMED], language, "semicolon")
    rest = len(meanings) - _NAMED
    return (say.compare_and_more(fields=listed, rest=rest) if rest > 0 else say.compare(fields=listed)).text(language)


def _rule_page(code: str, entry: Mapping[str, Any], language: Language) -> Page:
    """Page of a rule: facts, subject, reason, messages, examples and sources."""
    from .registry import rule

    known, place = rule(code), language == "zh"
    facts = [
        _words("checklists", language)(code[:3]),
        _severity_fact(code, language),
        ", ".join(known.profiles),
        _words("kinds", language)(known.kind),
    ]
    sections: list[tuple[str, str]] = [(heading("what", language), _subject_text(entry, language))]
    sections.append((heading("why", language), entry["why"][place]))
    messages = [sentences[place] for sentences in known.messages.values()]
    if known.check and messages and known.kind == "rule":
        sections.append((heading("message", language), "\n".join(f"- {sentence}" for sentence in messages)))
    sections += _example_sections(entry, language)
    if entry["options"]:
        listed = "\n".join(f"- `rules.{code}.{name} = {value}`" for name, value in entry["options"].items())
        sections.append((heading("options", language), listed))
    sections.append((heading("source", language), _sources(entry)))
    return Page(code, code_name(code, known.name, language), tuple(facts), tuple(sections))


def _subject_text(entry: Mapping[str, Any], language: Language) -> str:
    """Text on what a rule looks at, with its fields."""
    from ..mapper.recipe.vocabulary import vocabulary

    fields, zh = vocabulary(), language == "zh"
    listed = [f"- `{name}`: {fields[name].zh if zh else fields[name].en}" for name in entry["fields"] if name in fields]
    if entry["what"] is not None:
        return "\n".join([entry["what"][zh], *(["", *listed] if listed else [])])
    return "\n".join([say.same_effective_value().text(language), "", *listed])


def _reader_page(code: str, entry: Mapping[str, Any], language: Language) -> Page:
    """Page of a code that a reader reports."""
    place = language == "zh"
    meaning, found_by = _words("checklists", language)(code[:3]), _words("kinds", language)("reader")
    sections = (
        (heading("what", language), entry["what"][place]),
        (heading("why", language), entry["why"][place]),
        (heading("message", language), "\n".join(f"- {messages[place]}" for messages in entry["messages"])),
        *_example_sections(entry, language),
        (heading("source", language), _sources(entry)),
    )
    return Page(
        code,
        code_name(code, str(entry["reader"]), language),
        (meaning, _severity_fact(code, language), found_by),
        sections,
    )


def _example_sections(entry: Mapping[str, Any], language: Language) -> list[tuple[str, str]]:
    return [
        (heading(name, language), _code_blocks(entry[name], language)) for name in ("example", "instead") if entry[name]
    ]


def _sources(entry: Mapping[str, Any]) -> str:
    """Markdown list of sources with links."""
    pairs = zip(entry["sources"], entry["links"], strict=True)
    return "\n".join(f"- {source}: {link}" if link else f"- {source}" for source, link in pairs)


def _own_kinds() -> dict[str, Kind]:
    return {kind.code: kind for kind in say.kinds.values()}


def _own_page(code: str, language: Language) -> Page | None:
    """Page of a code of the linter itself; None for other codes."""
    from .pages_compiled import OWN

    kind = _own_kinds().get(code)
    if kind is None:
        return None
    said = {"reader": kind.name, "severity": kind.severity, "messages": ((kind.en, kind.zh),)}
    return _reader_page(code, {**cast("Mapping[str, Any]", OWN)[code], **said}, language)


def _code_blocks(example: Mapping[str, str], language: Language) -> str:
    """Markdown code blocks for each side of an example."""
    parts: list[str] = []
    for side, text in example.items():
        fence = _FENCES[side]
        if side == "mindformers" and text.startswith(("export ", "python ")):
            fence = "bash"
        parts += [f"{_words('sides', language)(side)}:", "", f"```{fence}", text, "```", ""]
    return "\n".join(parts).rstrip()


def products() -> dict[str, str]:
    """Every file of `docs/rules/`: an index, and a page a code in both languages."""
    files: dict[str, str] = {}
    from .compile import PREFIXES

    english_name, chinese_name = (_words("checklists", language) for language in ("en", "zh"))
    index = ["# Rules", "", f"{english_name('all')} / {chinese_name('all')}", ""]
    codes = sorted(every_page(), key=lambda code: (PREFIXES.index(code[:3]), code))
    before = ""
    for code in codes:
        english, chinese = page(code, "en"), page(code, "zh")
        assert english is not None
        assert chinese is not None
        if code[:3] != before:
            before = code[:3]
            named = f"{english_name(before)} / {chinese_name(before)}"
            index += ["", f"## {before} {named}", "", "| Code | Name | |", "| --- | --- | --- |"]
        index.append(f"| [{code}]({code}.md) | {english.name} / {chinese.name} | {' · '.join(english.facts[1:])} |")
        files[f"docs/rules/{code}.md"] = f"{english.markdown()}\n---\n\n{chinese.markdown()}"
    files["docs/rules/README.md"] = "\n".join(index) + "\n"
    return files

"""`accmap explain CODE|KEY`: what a code means, or what a flag, key or recipe field corresponds to."""

from __future__ import annotations

from ...schemas.border.text_output import emit, json_text, page, paint, tell
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import term
from ..exit_codes import FINE, UNUSABLE
from ..messages_compiled import say
from ..terminal import wants_colour

if TYPE_CHECKING:
    from ...rules.pages import Page
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ..arguments_compiled import ExplainArgs


def run(args: ExplainArgs) -> int:
    """Explain each word; 2 where one is neither a code nor a key."""
    code = FINE
    for word in args.files:
        found = explanation_of(word, args.lang, args.format)
        if found is None:
            tell(f"accmap: {unknown_word(word).text(args.lang)}")
            code = UNUSABLE
        else:
            emit(found)
    return code


def explanation_of(word: str, language: Language, form: str) -> Outgoing | None:
    """Explanation of a code, a flag or a key in one of the forms; None for any other word."""
    from ...rules.pages import page as page_of

    described = page_of(word.upper(), language) or _of_evidence(word.upper(), language)
    if described is not None:
        return _render(described, form)
    from ..reference.key_explanation import explain_key

    return explain_key(word, language, form)


def _of_evidence(word: str, language: Language) -> Page | None:
    """The page of a code that a command of evidence reports."""
    if not word.startswith("EVD"):
        return None
    from ...evidence.codes import codes
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
    return Page(found.code, found.kinds[0].name, facts, ((heading("message", language), sentences),))


def _render(described: Page, form: str) -> Outgoing:
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
    colour = wants_colour()
    lines = [
        f"{paint(described.code, 'bold', colour)} {described.name}",
        paint(" · ".join(described.facts), "dim", colour),
    ]
    for heading, text in described.sections:
        lines += ["", paint(heading, "bold", colour)]
        lines += [
            f"  {line}" if line else ""
            for line in text.replace("```bash\n", "").replace("```yaml\n", "").replace("\n```", "").split("\n")
        ]
    return page([*lines, ""])


def unknown_word(word: str) -> Words:
    """That a word is nothing of these, and what was probably meant."""
    from ...rules.pages import every_page
    from ...schemas.suggestion import suggestion
    from ..reference.key_search import nearest_names

    names = nearest_names(word)
    hint = say.perhaps_one_of(listed=", ".join(names)) if names else suggestion(word.upper(), every_page())
    return say.neither_code_nor_key(word=word, hint=hint)

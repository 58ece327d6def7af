"""`accmap recipe FILE`: what a run is, in the vocabulary that both frameworks share."""

from __future__ import annotations

from ...mapper.recipe.reading import recipe_of
from ...mapper.recipe.values import open_because
from ...schemas.border.text_output import emit, json_text, paint, say
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.plain_values import json_value
from ...schemas.shared_words import term
from ..inputs import load, tell_refusals
from ..messages_compiled import say as usage
from ..recipe_lines import print_open, summary_line
from ..terminal import line_limit, print_paged, wants_colour, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ..arguments_compiled import RecipeArgs


def run(args: RecipeArgs) -> int:
    """Print the recipe; 0 unless the file cannot be read."""
    config = load(args.files[0], args.reading, args.stdin_filename, model=True)
    tell_refusals([config], args.lang)
    recipe = recipe_of(config)
    reasons = open_because(config, recipe)
    if args.format == "json":
        answer = recipe.to_json(args.lang)
        answer["summary"] = summary_line(recipe.fields, args.lang)
        for name, reason in reasons.items():
            answer["fields"][name]["reason"] = reason.text(args.lang)  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
        emit(json_text(answer))
    else:
        print_paged(lambda: _print_answer(recipe, reasons, args.lang), paged=not args.no_pager)
    return 0


def _print_answer(recipe: Recipe, reasons: Mapping[FieldName, Words], language: Language) -> None:
    _print_recipe(recipe, language)
    print_open(reasons, language)


def _print_recipe(recipe: Recipe, language: Language) -> None:
    """Print the recipe by topic: each field with value and origin, then the keys that belong to no field."""
    colour = wants_colour()
    say(paint(recipe.file, "bold", colour), f"{recipe.framework} {recipe.version} ({recipe.dialect})")
    if recipe.basis is not None:
        say(paint(recipe.basis.text(language), "dim", colour))
        if recipe.basis.purpose is not None:
            say(recipe.basis.purpose.problem.message(language))
    summary = summary_line(recipe.fields, language)
    if summary:
        say(summary)
    topic = ""
    for name, found in recipe.fields.items():
        if name.partition(".")[0] != topic:
            topic = name.partition(".")[0]
            say()
            say(paint(topic, "bold", colour))
        value = "?" if not found.decided else _value_text(name, found.value, language)
        place = "" if found.span is None else found.span.at()
        origin = paint(
            f"{term(found.origin, language)} {place} {', '.join(found.keys)}".replace("  ", " ").rstrip(),
            "dim",
            colour,
        )
        for row in wrap(f"  {name:<40} {value:<20} {origin}".rstrip(), line_limit(), "      "):
            say(row)
    if recipe.unmapped:
        say()
        say(paint(usage.without_a_field().text(language), "bold", colour))
        for entry in recipe.unmapped:
            place = "" if entry.span is None else f":{entry.span.line}:{entry.span.column}"
            reason = entry.zh if language == "zh" else entry.en
            say(f"  {entry.key:<40} {paint(place, 'dim', colour)} {reason}")


def _value_text(name: str, value: object, language: Language) -> str:
    """The value of a field as text; a string as it is, anything else as JSON, computed results in the language."""
    import json

    value = json_value(value)  # type: ignore[arg-type]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if language == "zh" and name.startswith("computed."):
        from ...mapper.computed.results import in_both

        return in_both(text).zh
    return text

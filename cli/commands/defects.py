"""`accmap defects`: the frameworks' known defects, those that concern a file, and what an upgrade changes for it."""

from __future__ import annotations

from ...mapper.computed.results import in_both
from ...mapper.differences import Difference, Found, differences
from ...mapper.equality import is_identical
from ...mapper.recipe.reading import recipe_of
from ...mappings.tables import table
from ...schemas.border.text_output import emit, json_text, paint, say
from ...schemas.diagnostic import UsageError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.dialects import dialect_versions
from ...schemas.reader import check_versions, config_of
from ...schemas.shared_words import in_brackets, term
from ...schemas.versions import minor_of, names
from ..exit_codes import FINE
from ..inputs import open_input, require_run
from ..messages_compiled import say as usage
from ..reference.known_defects import as_record, defects_of_files, has_defect, known_defects
from ..terminal import line_limit, pad, print_paged, wants_colour, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from ...schemas.config import Config, Framework, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from ..arguments_compiled import DefectsArgs

_FRAMEWORKS: tuple[Framework, ...] = ("megatron", "mindformers")
_FORKS = ("mindspeed-llm",)
_STYLE = {"error": "red", "warning": "yellow", "info": "cyan"}


def run(args: DefectsArgs) -> int:
    """Print the table, what concerns the file, or what another version changes for it; 0 unless it cannot be read."""
    if bool(args.from_) != bool(args.to):
        raise UsageError(usage.from_and_to_belong_together())
    upgrade = (args.from_, args.to) if args.from_ and args.to else None
    if args.files:
        if args.framework or args.version or args.since:
            raise UsageError(
                usage.framework_version_and_since_choose(),
            )
        print_paged(lambda: _print_file(args, upgrade), paged=args.format == "text" and not args.no_pager)
        return FINE
    rows = _select_defects(args.framework, args.version, args.since, upgrade)
    if args.format == "json":
        emit(json_text([as_record(code, row, args.lang) for code, row in rows.items()]))
        return FINE
    print_paged(lambda: _print_table(rows, args.lang), paged=not args.no_pager)
    return FINE


def _print_table(rows: Mapping[str, Any], language: Language) -> None:
    """Print known defects by code: severity, framework and affected versions, kind of evidence, title."""
    colour = wants_colour()
    for code, row in rows.items():
        severity = paint(pad(term(row["severity"], language), 8), _STYLE[row["severity"]], colour)
        head = f"{row['framework']} {row['affected']['versions']}"
        kind, title = pad(term(row["evidence"]["kind"], language), 9), row["title"][language == "zh"]
        for line in wrap(f"{code}  {severity} {head:<24} {kind} {title}", line_limit(), "    "):
            say(line)


def _print_file(args: DefectsArgs, upgrade: tuple[str, str] | None) -> None:
    name, reading, stdin_name = args.files[0], args.reading, args.stdin_filename
    if upgrade is None:
        _print_defects(name, reading, stdin_name, args.format, args.lang)
    else:
        _print_upgrade(name, reading, stdin_name, upgrade, args.format, args.lang)


def _select_defects(
    framework: str | None, version: str | None, since: str | None, upgrade: tuple[str, str] | None
) -> Mapping[str, Mapping[str, Any]]:
    """The defects that the options leave; UsageError where a version is not one of the framework's."""
    asked = [one for one in (version, since, *(upgrade or ())) if one is not None]
    minors = {minor_of(one) or one for one in asked}
    every = _orders()
    orders = {one: order for one, order in every.items() if framework in (None, one) and minors <= set(order)}
    if not orders:
        known = "; ".join(f"{one}: {', '.join(order)}" for one, order in every.items())
        raise UsageError(usage.no_framework_has(listed=", ".join(asked), listed2=known))

    def is_selected(row: Mapping[str, Any]) -> bool:
        order = orders.get(row["framework"])
        if order is None:
            return False
        if upgrade is not None:
            return has_defect(row, upgrade[0]) != has_defect(row, upgrade[1])
        later = order if since is None else order[order.index(minor_of(since) or since) :]
        return bool(set(row["in"]) & set(later)) and (version is None or has_defect(row, version))

    return {code: row for code, row in known_defects().items() if is_selected(row)}


def _orders() -> dict[str, tuple[str, ...]]:
    """The versions of every framework and fork that has known defects, oldest first."""
    return {**{one: names(one) for one in _FRAMEWORKS}, **{one: dialect_versions(one) for one in _FORKS}}


class _At(NamedTuple):
    """A file as one version reads it."""

    config: Config
    found: Mapping[str, Diagnostic]


def _print_defects(name: str, options: ReadOptions, stdin_name: str | None, form: str, language: Language) -> None:
    """Print the defects that concern a file."""
    here = _read(*open_input(name, options, stdin_name))
    if form == "json":
        found = [one.to_json(language) for one in here.found.values()]
        emit(json_text({"file": here.config.file, **here.config.basis.to_json(language), "defects": found}))
    else:
        say(f"{paint(here.config.file, 'bold', wants_colour())}  {here.config.basis.text(language)}")
        _list(here.found.values(), language)


def _print_upgrade(
    name: str, options: ReadOptions, stdin_name: str | None, upgrade: tuple[str, str], form: str, language: Language
) -> None:
    """Print the changes that another version makes for a file."""
    source, options = open_input(name, options, stdin_name)
    framework = require_run(config_of(source, options, path=source.name)).framework
    before, after = (_read(source, _options_at_version(framework, version, options)) for version in upgrade)
    parts = _parts(before, after)
    changed = _changed_values(before.config, after.config)
    if form == "json":
        answer: dict[str, Any] = {"file": after.config.file, "from": upgrade[0], "to": upgrade[1]}
        answer |= {key: [one.to_json(language) for one in listed] for key, listed in parts.items()}
        emit(json_text({**answer, "changed": [row.to_json() for row in changed]}))
        return
    say(f"{paint(after.config.file, 'bold', wants_colour())}  {framework} {upgrade[0]} → {upgrade[1]}")
    word: Callable[..., str] = usage.page("defects", language)
    for key, listed in parts.items():
        _print_heading(word(key))
        _list(listed, language)
    _print_heading(word("changed"))
    for row in changed:
        a, b = (_short_value(one, language) for one in (row.a, row.b))
        impact = in_brackets(term(row.impact, language), language)
        say(f"  {row.field or (row.a and row.a.key)}: {a} → {b}{impact}")
    if not changed:
        say(f"  {word('nothing')}")


def _parts(before: _At, after: _At) -> dict[str, list[Diagnostic]]:
    """Defects that an upgrade loses, gains and keeps, and problems that only the new version reports."""
    known = {(one.kind.code, one.span) for one in before.config.problems}
    return {
        "lost": [one for code, one in before.found.items() if code not in after.found],
        "gained": [one for code, one in after.found.items() if code not in before.found],
        "kept": [one for code, one in after.found.items() if code in before.found],
        "problems": [one for one in after.config.problems if (one.kind.code, one.span) not in known],
    }


def _options_at_version(framework: Framework, version: str, options: ReadOptions) -> ReadOptions:
    return check_versions(
        options._replace(megatron=version) if framework == "megatron" else options._replace(mindformers=version)
    )


def _read(source: SourceText, options: ReadOptions) -> _At:
    """A file read with the given options, with its recipe and the known defects that concern it."""
    config = require_run(config_of(source, options, path=source.name))
    return _At(config, {one.kind.code: one for one in defects_of_files([config], [source])})


def _changed_values(before: Config, after: Config) -> list[Difference]:
    """The recipe's values that nothing but the version changes, those that change numbers first."""
    a, b = recipe_of(before), recipe_of(after)
    rows = [row for row in differences(a, b) if row.field is not None and row.counts is not False]
    told = [row for row in rows if row.status == "different" or (row.status.startswith("only") and _has_value(row))]
    spoken_for = {key for recipe in (a, b) for value in recipe.fields.values() for key in value.keys}
    told += _defaults_without_field(before, after, spoken_for)
    return sorted(told, key=lambda row: (row.impact != "numerics", row.impact))


def _defaults_without_field(before: Config, after: Config, spoken_for: Collection[str]) -> Iterator[Difference]:
    """Defaults that the version changes and no recipe field says; what nobody has judged may change numbers."""
    known = table()
    for key, ours in before.settings.items():
        theirs = after.settings.get(key)
        if theirs is None or key in spoken_for or not ours.origin == theirs.origin == "default":
            continue
        if is_identical(ours.value, theirs.value):
            continue
        reason = known.megatron_reason(key) if before.framework == "megatron" else known.mindformers_reason(key)
        a, b = (Found(one.value, "default", key, None) for one in (ours, theirs))
        yield Difference(None, a, b, "different", "numerics" if reason is None else reason[0])


def _has_value(row: Difference) -> bool:
    """True if a value that one version alone has says something."""
    found = row.a or row.b
    return found is not None and found.value not in (None, False)


def _short_value(found: Found | None, language: Language) -> str:
    """The value of a field as text in the language; `-` if there is none."""
    return "-" if found is None else in_both(str(found.value)).text(language)


def _print_heading(heading: str) -> None:
    say()
    say(paint(heading, "bold", wants_colour()))


def _list(found: Iterable[Diagnostic], language: Language) -> None:
    """Print the defects below each other, each with its code, severity and title."""
    colour = wants_colour()
    listed = list(found)
    for one in listed:
        place = "" if one.span is None else f":{one.span.line}:{one.span.column}"
        say(f"  {paint(one.kind.code, _STYLE[one.kind.severity], colour)} {place} {one.message(language)}")
    if not listed:
        say(f"  {usage.no_known_defect().text(language)}")

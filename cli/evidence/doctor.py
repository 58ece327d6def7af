"""`accmap doctor [FILE…]`: installed versions that belong together, and the deterministic environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evidence.answers_compiled import version_set_json
from ...evidence.environment import (
    HERE,
    deterministic_variables,
    export_lines,
    installed_software,
    judge_versions,
    seeding_code,
    version_sets,
)
from ...schemas.border.text_output import emit, json_text, page, paint, say
from ...schemas.reader import config_of
from ...schemas.verdict import conclude
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import read_input
from ..messages_compiled import say as usage
from ..reference.known_defects import as_record, defects_of_files, is_package_affected, known_defects, title
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...evidence.environment import Installed, VersionSet
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from ..arguments_compiled import DoctorArgs

_SIDES = ("mindformers", "megatron")
_DISTRIBUTIONS = {"mindformers": "mindformers", "megatron-core": "megatron"}

_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


def run(args: DoctorArgs) -> int:
    """1 where a set does not belong together, or a rule about the environment finds an error in the files."""
    sources = [read_input(name, args.stdin_filename) for name in args.files]
    configs = [config_of(source, args.reading, path=source.name) for source in sources]
    sides = _sides(configs)
    code = seeding_code(args.print_seed_code, args.lang) if args.print_seed_code else ""
    seeding = code.rstrip("\n").split("\n") if code else []
    printed = [*(export_lines(sides, args.lang) if args.print_env else ()), *seeding]
    if printed:
        emit(page(printed))
        return FINE
    here, problems = installed_software()
    sets, findings = judge_versions(here, configs)
    findings = (*problems, *findings, *_rules(configs, sources), *defects_of_files(configs, sources))
    known = _known_defects(here)
    failed = any(found.kind.severity == "error" for found in findings)
    verdict = conclude("fine", "apart", wrong=failed, compared=len(sets))
    if args.format == "json":
        answer = {
            "installed": [entry._asdict() for entry in here],
            "sets": [version_set_json(entry) for entry in sets],
            "table": [version_set_json(entry) for entry in version_sets()],
            "findings": [found.to_json(args.lang) for found in findings],
            "environment": {
                side: {variable.name: variable.value for variable in deterministic_variables(side)} for side in sides
            },
            "verdict": verdict,
            "defects": [as_record(code, row, args.lang) for code, row in known.items()],
        }
        emit(json_text(answer))
    else:
        _print_findings(here, sets, findings, args.lang)
        if not configs:
            _list_pairs(args.lang)
        if known and not configs:
            _list_defects(known, args.lang)
    return FINE if verdict == "fine" else BAD


def _known_defects(here: Sequence[Installed]) -> dict[str, Mapping[str, Any]]:
    """Known defects of the frameworks that are installed, by the releases that are, theirs and those of packages."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in here:
        if one.name in _DISTRIBUTIONS:
            found.update(known_defects(_DISTRIBUTIONS[one.name], one.version))
    versions = {one.name: one.version for one in here}
    return {code: row for code, row in found.items() if is_package_affected(row, versions)}


def _list_pairs(language: Language) -> None:
    """Print which MindSpore belongs to each release of MindSpore Transformers."""
    say(paint(usage.page("doctor", language)("mindspore"), "bold", wants_colour()))
    for one in version_sets():
        if "mindspore" in one.exact:
            say(f"  {one.owner} {one.version:<6} mindspore {one.exact['mindspore']}")


def _list_defects(known: Mapping[str, Mapping[str, Any]], language: Language) -> None:
    colour = wants_colour()
    say(paint(usage.page("doctor", language)("defects"), "bold", colour))
    for code, row in known.items():
        say(f"  {paint(code, _STYLES[row['severity']], colour)} {row['framework']}  {title(code, language)}")


def _sides(configs: Sequence[Config]) -> list[str]:
    """The frameworks to check: those of the given files, else both; UsageError for two files of one framework."""
    named = [config.framework for config in configs]
    if len(set(named)) < len(named):
        side = named[0]
        raise UsageError(usage.both_files_are_of_doctor(side=side))
    return [side for side in _SIDES if not named or side in named]


def _rules(configs: Sequence[Config], sources: Sequence[SourceText]) -> tuple[Diagnostic, ...]:
    """Findings of the rules about the environment, as for an accuracy comparison."""
    if not configs:
        return ()
    from ...mapper.recipe.reading import recipe_of
    from ...rules.engine import check
    from ...rules.registry import rule
    from ...rules.subject import Side, Subject, in_order

    sides = {
        config.framework: Side(config, recipe_of(config), source)
        for config, source in zip(configs, sources, strict=True)
    }
    found = check(Subject(in_order(sides.values()), "align", {}, {})).diagnostics
    return tuple(one for one in found if one.kind.code.startswith("ENV") and rule(one.kind.code).check)


def _say_set(belongs: VersionSet, language: Language, colour: bool) -> None:
    """Print the package versions that a framework version was released with, needs or refers to, and their source."""
    word = usage.page("doctor", language)
    parts = ((word("with"), belongs.exact), (word("needs"), belongs.needs), (word("reference"), belongs.reference))
    for label, values in parts:
        if values:
            listed = ", ".join(f"{name} {value}" for name, value in values.items())
            say(f"  {belongs.owner} {belongs.version} {label} {listed}")
    say(f"    {paint(belongs.source.text(language), 'dim', colour)}")


def _print_findings(
    here: Sequence[Installed], sets: Sequence[VersionSet], findings: Sequence[Diagnostic], language: Language
) -> None:
    """Print the installed packages, the sets of versions they are compared with, and what does not fit."""
    colour = wants_colour()

    word = usage.page("doctor", language)
    say(paint(word("installed"), "bold", colour))
    width = max(len(entry.name) for entry in here)
    for entry in here:
        where = "" if entry.where == "python" else f"  {paint(entry.where, 'dim', colour)}"
        say(f"  {entry.name:<{width}}  {entry.version}{where}")
    if sets:
        say(paint(word("sets"), "bold", colour))
    for belongs in sets:
        _say_set(belongs, language, colour)
    for found in findings:
        name = word("here") if found.file == HERE else found.file
        place = name if found.span is None else f"{found.file}:{found.span.line}:{found.span.column}"
        code = paint(found.kind.code, _STYLES[found.kind.severity], colour)
        say(f"{place}: {code} {found.message(language)}")
    if not sets:
        say(word("none"))
    elif not any(found.kind.severity == "error" for found in findings):
        say(word("fine"))

"""`accmap defects`: the frameworks' known defects, those that concern a file, and what an upgrade changes for it."""

from __future__ import annotations

from ..mapper.differences import differences
from ..mapper.gates import counts
from ..mapper.recipe.reading import recipe_of
from ..rules.engine import Selection, check
from ..rules.subject import Side, Subject
from ..schemas.border.outgoing import emit, json_text, painted, say
from ..schemas.known_versions import check_versions
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..schemas.reader import config_of
from ..schemas.usage import UsageError
from ..schemas.versions import names
from .exit_codes import FINE
from .inputs import opened
from .messages_compiled import say as usage
from .terminal import shortened, wants_colour, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ..mapper.differences import Difference, Found
    from ..schemas.config import Config, Framework, ReadOptions
    from ..schemas.diagnostic import Diagnostic, Language
    from ..schemas.source import SourceText

_FRAMEWORKS: tuple[Framework, ...] = ("megatron", "mindformers")
_PACKAGES = {"megatron": "NVIDIA/Megatron-LM", "mindformers": "mindspore/mindformers"}
_HEADINGS = {
    "lost": ("It leaves behind", "不再涉及"),
    "gained": ("It meets", "新涉及"),
    "kept": ("It keeps", "仍然涉及"),
    "problems": ("What the new version says of the file", "新版本对该文件的提示"),
    "changed": ("Values that change with the version alone", "仅因版本而改变的取值"),
}
_NOTHING = ("nothing", "无")
_STYLE = {"error": "red", "warning": "yellow", "info": "cyan"}


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    format: str,  # noqa: A002 - the option's name
    lang: Language,
    framework: str | None,
    version: str | None,
    since: str | None,
    from_: str | None,
    to: str | None,
) -> int:
    """Print the table, what concerns the file, or what another version changes for it; 0 unless it cannot be read."""
    if bool(from_) != bool(to):
        raise UsageError(usage.from_and_to_belong_together())
    upgrade = (from_, to) if from_ and to else None
    if files:
        if framework or version or since:
            raise UsageError(
                usage.framework_version_and_since_choose(),
            )
        if upgrade is not None:
            return _upgraded(files[0], options, stdin_name, upgrade, format, lang)
        return _of_file(files[0], options, stdin_name, format, lang)
    rows = _chosen(framework, version, since, upgrade)
    if format == "json":
        emit(json_text([_entry(code, row, lang) for code, row in rows.items()]))
        return FINE
    colour = wants_colour()
    for code, row in rows.items():
        severity = painted(f"{row['severity']:8}", _STYLE[row["severity"]], colour)
        head = f"{row['framework']} {row['affected']['versions']}"
        title = shortened(row["title"][lang == "zh"], max(40, width() - 50))
        say(f"{code}  {severity} {head:<24} {row['evidence']['kind']:<9} {title}")
    return FINE


def _chosen(
    framework: str | None, version: str | None, since: str | None, upgrade: tuple[str, str] | None
) -> Mapping[str, dict[str, Any]]:
    """The advisories that the options leave; UsageError where a version is not one of the framework's."""
    from ..rules.defects_listed_compiled import LISTED

    asked = [one for one in (version, since, *(upgrade or ())) if one is not None]
    orders: dict[str, tuple[str, ...]] = {one: names(one) for one in _FRAMEWORKS if framework in (None, one)}
    orders = {one: order for one, order in orders.items() if set(asked) <= set(order)}
    if not orders:
        listed = "; ".join(f"{one}: {', '.join(names(one))}" for one in _FRAMEWORKS)
        raise UsageError(usage.no_framework_has(listed=", ".join(asked), listed2=listed))

    def chosen(row: Mapping[str, Any]) -> bool:
        order = orders.get(row["framework"])
        if order is None:
            return False
        had = set(row["in"])
        if upgrade is not None:
            return (upgrade[0] in had) != (upgrade[1] in had)
        later = set(order) if since is None else set(order[order.index(since) :])
        return bool(had & later) and version in (None, *had)

    return {code: row for code, row in LISTED.items() if chosen(row)}


def _entry(code: str, row: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """One advisory as databases of vulnerabilities write theirs, with what is ours beside it."""
    place = language == "zh"
    events = [{"introduced": row["affected"]["first"]}]
    if row["affected"]["fixed"]:
        events.append({"fixed": row["affected"]["fixed"]})
    return {
        "id": code,
        "summary": row["title"][place],
        "details": " ".join((row["effect"][place], row["do"][place])),
        "affected": [
            {
                "package": {"ecosystem": "GitHub", "name": _PACKAGES[row["framework"]]},
                "versions": list(row["in"]),
                "ranges": [{"type": "GIT", "events": events}],
            }
        ],
        "severity": row["severity"],
        "references": [
            *({"type": "REPORT", "text": source} for source in row["sources"]),
            *({"type": "EVIDENCE", "text": place} for place in row["evidence"]["code"]),
        ],
        "database_specific": {
            "name": row["name"],
            "framework": row["framework"],
            "dialects": list(row["dialects"]),
            "patched": row["affected"]["patched"],
            "when": row["when"],
            "quantities": list(row["quantities"]),
            "cancels": list(row["cancels"]),
            "evidence": row["evidence"]["kind"],
            "figures": row["evidence"]["figures"][place] if row["evidence"]["figures"] else None,
            "test": row["evidence"]["test"],
        },
    }


class _At(NamedTuple):
    """A file as one version reads it."""

    config: Config
    found: Mapping[str, Diagnostic]


def _of_file(name: str, options: ReadOptions, stdin_name: str | None, form: str, language: Language) -> int:
    """What concerns a file."""
    here = _met(*opened(name, options, stdin_name))
    if form == "json":
        found = [one.to_json(language) for one in here.found.values()]
        emit(json_text({"file": here.config.file, **here.config.basis.to_json(language), "defects": found}))
    else:
        say(f"{painted(here.config.file, 'bold', wants_colour())}  {here.config.basis.text(language)}")
        _list(here.found.values(), language)
    return FINE


def _upgraded(
    name: str, options: ReadOptions, stdin_name: str | None, upgrade: tuple[str, str], form: str, language: Language
) -> int:
    """What another version changes for a file."""
    source, options = opened(name, options, stdin_name)
    framework = config_of(source, options, path=source.name).framework
    before, after = (_met(source, _at(framework, version, options)) for version in upgrade)
    parts = _parts(before, after)
    changed = _changed(before.config, after.config)
    if form == "json":
        answer: dict[str, Any] = {"file": after.config.file, "from": upgrade[0], "to": upgrade[1]}
        answer |= {key: [one.to_json(language) for one in listed] for key, listed in parts.items()}
        emit(json_text({**answer, "changed": [row.to_json() for row in changed]}))
        return FINE
    say(f"{painted(after.config.file, 'bold', wants_colour())}  {framework} {upgrade[0]} → {upgrade[1]}")
    for key, listed in parts.items():
        _headed(_HEADINGS[key], language)
        _list(listed, language)
    _headed(_HEADINGS["changed"], language)
    for row in changed:
        say(f"  {row.field}: {_value(row.a)} → {_value(row.b)} ({row.impact})")
    if not changed:
        say(f"  {_NOTHING[language == 'zh']}")
    return FINE


def _parts(before: _At, after: _At) -> dict[str, list[Diagnostic]]:
    """What an upgrade loses, gains and keeps, and what the new version alone says of the file."""
    known = {(one.kind.code, one.span) for one in before.config.problems}
    return {
        "lost": [one for code, one in before.found.items() if code not in after.found],
        "gained": [one for code, one in after.found.items() if code not in before.found],
        "kept": [one for code, one in after.found.items() if code in before.found],
        "problems": [one for one in after.config.problems if (one.kind.code, one.span) not in known],
    }


def _at(framework: Framework, version: str, options: ReadOptions) -> ReadOptions:
    return check_versions(
        options._replace(megatron=version) if framework == "megatron" else options._replace(mindformers=version)
    )


def _met(source: SourceText, options: ReadOptions) -> _At:
    """What concerns a file, as one version reads it."""
    config = config_of(source, options, path=source.name)
    side = Side(config, recipe_of(config), source)
    sides = {config.framework: side}
    subject = Subject(sides.get("megatron"), sides.get("mindformers"), "align", {}, {})
    outcome = check(subject, Selection(select=("DEF",)))
    return _At(config, {one.kind.code: one for one in outcome.diagnostics})


def _changed(before: Config, after: Config) -> list[Difference]:
    """The recipe's values that nothing but the version changes, those that change numbers first."""
    a, b = recipe_of(before), recipe_of(after)
    rows = [row for row in differences(a, b) if row.field is not None and counts(row.field, a, b) is not False]
    told = [row for row in rows if row.status == "different" or (row.status.startswith("only") and _says(row))]
    return sorted(told, key=lambda row: (row.impact != "numerics", row.impact))


def _says(row: Difference) -> bool:
    """Whether a value that one version alone has says something."""
    found = row.a or row.b
    return found is not None and found.value not in (None, False)


def _value(found: Found | None) -> str:
    return "-" if found is None else shortened(str(found.value), 40)


def _headed(heading: tuple[str, str], language: Language) -> None:
    say()
    say(painted(heading[language == "zh"], "bold", wants_colour()))


def _list(found: Iterable[Diagnostic], language: Language) -> None:
    """Findings one under the other."""
    colour = wants_colour()
    listed = list(found)
    for one in listed:
        place = "" if one.span is None else f":{one.span.line}:{one.span.column}"
        say(f"  {painted(one.kind.code, _STYLE[one.kind.severity], colour)} {place} {one.message(language)}")
    if not listed:
        say(f"  {_NOTHING[language == 'zh']}")

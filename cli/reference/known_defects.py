"""Known defects: listed by framework and version, and those that concern a run."""

from __future__ import annotations

from ...mapper.recipe.reading import recipe_of
from ...rules.catalog.defects import CANCELLED, advisories, is_mended, rule_of
from ...rules.engine import Selection, check
from ...rules.subject import Side, Subject, in_order
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.source import SourceText
from ...schemas.versions import minor_of, release_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language

_PACKAGES = {
    "megatron": "NVIDIA/Megatron-LM",
    "mindformers": "mindspore/mindformers",
    "mindspeed-llm": "Ascend/MindSpeed-LLM",
}


def known_defects(framework: str | None = None, version: str | None = None) -> Mapping[str, Mapping[str, Any]]:
    """Known defects by code: all of them, a framework's, or those that a version of it (`0.15`, `0.15.3`) has."""
    from ...rules.defects_listed_compiled import LISTED

    return {
        code: row
        for code, row in LISTED.items()
        if framework in (None, row["framework"]) and (version is None or has_defect(row, version))
    }


def has_defect(row: Mapping[str, Any], version: str) -> bool:
    """True if a version of its framework has the defect, or some patch release of it."""
    minor = minor_of(version) or version
    return minor in row["in"] and not is_mended(release_of(version), row["affected"]["patched"].get(minor, ""))


def is_package_affected(row: Mapping[str, Any], versions: Mapping[str, str]) -> bool:
    """True if the package that decides beside the framework is installed in a release that has the defect."""
    package = row["affected"]["package"]
    if package is None:
        return True
    ours = _parse_release(versions.get(package["name"], ""))
    first, below = (_parse_release(package[key] or "") for key in ("at_least", "below"))
    return ours is not None and (first is None or first <= ours) and (below is None or ours < below)


def _parse_release(version: str) -> tuple[tuple[int, ...], bool] | None:
    """Sort key of a release: `2.8.0+cu12` as `2.8`, `2.8.0rc1` before it; None for a text that is not a version."""
    import re

    found = re.match(r"v?(\d+(?:\.\d+)*)(.*)", version.strip(), re.ASCII | re.DOTALL)
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    early = re.match(r"[-_.]?(?:alpha|beta|preview|pre|rc|dev|a|b|c)[-_.]?\d*(?![a-z])", found[2].lower())
    return tuple(numbers), early is None


def defects_of_files(configs: Sequence[Config], sources: Sequence[SourceText]) -> tuple[Diagnostic, ...]:
    """The known defects that concern one or two files; two are asked as a pair."""
    sides = [Side(config, recipe_of(config), source) for config, source in zip(configs, sources, strict=True)]
    return check(Subject(in_order(sides), "align", {}, {}), Selection(select=("DEF",))).diagnostics


def defects_of_written(written: Mapping[str, Config | None], source: Config | None = None) -> tuple[Diagnostic, ...]:
    """The known defects that change the numbers of written files, by their names; none that the source has as well."""
    files = {name: config for name, config in written.items() if config is not None}
    sides = {one.framework: _side(one) for one in (source, *files.values()) if one is not None}
    subject = Subject(in_order(sides.values()), "train", {}, {})
    if not any(one.severity is None and rule_of(code).effect == "numbers" for code, one in advisories(subject)):
        return ()
    found = [
        one
        for one in check(subject, Selection(select=("DEF",))).diagnostics
        if (one.kind.severity, one.effect) == ("error", "numbers")
    ]
    return tuple(
        one._replace(file=name, span=None) for name, config in files.items() for one in found if one.file == config.file
    )


def _side(config: Config) -> Side:
    """A file that accmap wrote in the form the rules take, without places in its text."""
    return Side(config, recipe_of(config), SourceText(config.file, ""))


def matching_defects(
    found: Iterable[Diagnostic], quantities: Collection[str], fields: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """Of the defects that concern the files, those with an effect on what is off, where it shows.

    What cancels between the two files explains no difference between them.
    """
    rows = known_defects()
    return tuple(
        one
        for one in found
        if one.kind.code in rows
        and set(quantities) & set(rows[one.kind.code]["quantities"])
        and (not fields or set(fields) & set(one.fields))
        and CANCELLED not in dict(one.values)
    )


def title(code: str, language: Language) -> str:
    """The title of a known defect, in one sentence."""
    return known_defects()[code]["title"][language == "zh"]


def as_record(code: str, row: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """A defect in the OSV format of vulnerability databases, with accmap's own facts added."""
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
            "package": row["affected"]["package"],
            "when": row["when"],
            "quantities": list(row["quantities"]),
            "cancels": list(row["cancels"]),
            "evidence": row["evidence"]["kind"],
            "figures": row["evidence"]["figures"][place] if row["evidence"]["figures"] else None,
            "test": row["evidence"]["test"],
        },
    }

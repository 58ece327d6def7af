"""The environment of a run: what is installed, and which versions belong together.

Nothing is executed: Python's own records of installed distributions are read, and the files that CANN, the drivers
and CUDA leave behind. The table stands in `versions.yaml`.
A deterministic launch needs variables for the shell, and code that fixes every seed.
"""

from __future__ import annotations

import glob
import operator
import os
import platform
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..mapper.align.ladder import alignment_table
from ..schemas.border.file_input import package_text
from ..schemas.border.inputs import open_regular
from ..schemas.compilers.tables import load_table
from ..schemas.diagnostic import diagnose
from ..schemas.fast_records import NamedTuple
from ..schemas.message import Words, verbatim
from ..schemas.shared_words import system_reason
from .messages_compiled import say
from .seeding_compiled import SEEDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ..schemas.config import Config
    from ..schemas.diagnostic import Diagnostic, Language

HERE = "this machine"
MOST_CHARACTERS = 65536


class Installed(NamedTuple):
    """One thing that is installed here."""

    name: str
    version: str
    side: str
    where: str
    """The file that says so, or Python's records."""


class VersionSet(NamedTuple):
    """The packages that belong to one version of a framework."""

    owner: str
    version: str
    exact: Mapping[str, str]
    """Other parts of the release, by name."""
    needs: Mapping[str, str]
    """What its package demands, in pip's words."""
    reference: Mapping[str, str]
    source: Words


def _source_words(source: str) -> Words:
    """Documents that a version set comes from, as readable text."""
    zh = source
    for kind in (say.package_metadata(), say.installation_page()):
        zh = zh.replace(kind.en, kind.zh)
    return Words(source, zh)


@cache
def version_table() -> Any:
    """`versions.yaml`, read once."""
    return load_table(package_text(os.path.dirname(__file__), "versions.yaml"))


def version_sets() -> tuple[VersionSet, ...]:
    """All version sets: MindSpore Transformers first, then Megatron-LM."""
    table = version_table()
    sets = [
        VersionSet(
            "mindformers",
            row["mindformers"],
            {name: str(row[name]) for name in ("mindspore", "cann", "driver") if name in row},
            row.get("needs", {}),
            {},
            _source_words(row["source"]),
        )
        for row in table["ascend"]
    ]
    sets.extend(
        VersionSet(
            "megatron-core",
            row["megatron-core"],
            {},
            row.get("needs", {}),
            row.get("reference", {}),
            _source_words(row["source"]),
        )
        for row in table["gpu"]
    )
    return tuple(sets)


def set_of(owner: str, version: str) -> VersionSet | None:
    """Version set of a release; that of the same minor version if the release has none."""
    sets = [known for known in version_sets() if known.owner == owner]
    release = _release(version)
    same = [known for known in sets if _release(known.version) == release]
    minor = [known for known in sets if _release(known.version)[:2] == release[:2]]
    return (same or minor or [None])[-1]


# --- what is here ---


def installed_software(root: str = "/") -> tuple[tuple[Installed, ...], tuple[Diagnostic, ...]]:
    """Software and versions recorded by Python and by files below `root`, with unreadable records."""
    found = [Installed("python", platform.python_version(), "both", "python")]
    problems: list[Diagnostic] = []
    for row in version_table()["distributions"]:
        entry = _installed_distribution(row, problems)
        if entry is not None:
            found.append(entry)
    for row in version_table()["files"]:
        entry = _from_files(row, root, problems)
        if entry is not None:
            found.append(entry)
    return tuple(found), tuple(problems)


def _installed_distribution(row: Mapping[str, Any], problems: list[Diagnostic]) -> Installed | None:
    """The distribution that a row names, as this Python has it installed; None if it has not."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Installed(row["name"], version(row["name"]), row["side"], "python")
    except PackageNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 - a broken installation is a finding, not a crash
        why = f"{type(error).__name__}: {error}"
        problems.append(diagnose(say.version_unreadable(name=row["name"], why=verbatim(why)), HERE))
        return None


def _from_files(row: Mapping[str, Any], root: str, problems: list[Diagnostic]) -> Installed | None:
    """Version of software found in files below `root`; problems are added for unreadable ones."""
    seen: str | None = None
    for pattern in row["paths"]:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            try:
                with open_regular(path) as stream:
                    text = stream.read(MOST_CHARACTERS).decode("utf-8", "replace")
            except OSError as error:
                why = say.said_of_file(path=path, why=system_reason(error))
                problems.append(diagnose(say.version_unreadable(name=row["name"], why=why), HERE))
                continue
            given = re.search(row["expression"], text)
            if given is not None:
                return Installed(row["name"], given[1].rstrip("."), row["side"], path)
            seen = seen or path
    if seen is not None:
        problems.append(diagnose(say.version_unreadable(name=row["name"], why=say.names_no_version(seen=seen)), HERE))
    return None


# --- does it belong together ---


def judge_versions(
    here: Sequence[Installed], configs: Sequence[Config]
) -> tuple[tuple[VersionSet, ...], tuple[Diagnostic, ...]]:
    """Version sets that apply to the machine and the files, and findings on what does not fit."""
    by_name = {entry.name: entry.version for entry in here}
    sets: list[VersionSet] = []
    findings: list[Diagnostic] = []
    for owner, framework in (("mindformers", "mindformers"), ("megatron-core", "megatron")):
        installed_version = by_name.get(owner)
        files = [config for config in configs if config.framework == framework]
        findings.extend(_read_as_another(owner, installed_version, files))
        version = installed_version or (files[0].framework_version if files else None)
        if version is None:
            continue
        version_set = set_of(owner, version)
        if version_set is None:
            known = ", ".join(entry.version for entry in version_sets() if entry.owner == owner)
            findings.append(diagnose(say.unlisted(name=owner, version=version, known=known), HERE, None))
            continue
        sets.append(version_set)
        sets.extend(_other_sets(owner, version_set, files))
        if installed_version is not None or _is_partly_here(version_set, by_name):
            findings.extend(_version_conflicts(version_set, version, by_name))
        else:
            findings.extend(_unmet_needs(version_set, version, by_name))
        if installed_version is not None:
            findings.extend(_missing_packages(version_set, version, by_name))
    return tuple(sets), tuple(findings)


def _other_sets(owner: str, known: VersionSet, files: Sequence[Config]) -> Iterator[VersionSet]:
    """Version sets of the files that differ from the installed one."""
    for config in files:
        found = set_of(owner, config.framework_version)
        if found is not None and found != known:
            yield found


def _read_as_another(owner: str, given: str | None, files: Sequence[Config]) -> Iterator[Diagnostic]:
    """Findings on files that are read as another version than the installed one."""
    if given is None:
        return
    release = _release(given)[:2]
    for config in files:
        if _release(config.framework_version)[:2] != release:
            short, read = ".".join(map(str, release)), config.framework_version
            yield diagnose(say.read_as(name=owner, read=read, version=short, option=config.framework), config.file)


_SHARED = ("python", "numpy")
"""What every machine has; it says nothing about what the machine is for."""


def _is_partly_here(belongs: VersionSet, by_name: Mapping[str, str]) -> bool:
    """True if some software of a set is installed although its framework is not."""
    names = {*belongs.exact, *belongs.needs, *belongs.reference}.difference(_SHARED)
    return any(name in by_name for name in names)


def _unmet_needs(belongs: VersionSet, version: str, by_name: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Findings on requirements that this machine does not meet."""
    common = {"owner": belongs.owner, "owner_version": version, "source": belongs.source}
    for name, wanted in belongs.needs.items():
        given = by_name.get(name)
        if given is not None and not satisfies(given, wanted):
            yield diagnose(say.elsewhere(name=name, version=given, wanted=wanted, **common), HERE)


def _missing_packages(belongs: VersionSet, version: str, by_name: Mapping[str, str]) -> Iterator[Diagnostic]:
    common = {"owner": belongs.owner, "owner_version": version, "source": belongs.source}
    for name, wanted in belongs.needs.items():
        if name not in by_name and name not in _SHARED:
            yield diagnose(say.needed(name=name, wanted=wanted, **common), HERE)


def _version_conflicts(belongs: VersionSet, version: str, by_name: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Findings on installed versions that do not fit a framework's set."""
    common = {"owner": belongs.owner, "owner_version": version, "source": belongs.source}
    for name, wanted in belongs.exact.items():
        installed_version = by_name.get(name)
        if installed_version is None or name in belongs.needs or _same_release(installed_version, wanted):
            continue
        if name == "driver":
            if _release(installed_version) < _release(wanted):
                yield diagnose(say.older_driver(version=installed_version, wanted=wanted, **common), HERE)
            continue
        yield diagnose(say.apart(name=name, version=installed_version, wanted=wanted, **common), HERE)
    for name, wanted in belongs.needs.items():
        installed_version = by_name.get(name)
        if installed_version is not None and not satisfies(installed_version, wanted):
            yield diagnose(say.apart(name=name, version=installed_version, wanted=wanted, **common), HERE)
    for name, wanted in belongs.reference.items():
        installed_version = by_name.get(name)
        if installed_version is not None and not (
            satisfies(installed_version, wanted) if wanted[0] in "<>=~!" else _same_release(installed_version, wanted)
        ):
            yield diagnose(say.not_reference(name=name, version=installed_version, wanted=wanted, **common), HERE)


_PART = re.compile(r"([0-9]{1,15})|(a|b|rc|dev|alpha|beta|post)([0-9]{0,15})", re.IGNORECASE)


def _release(version: str) -> tuple[int, ...]:
    """Sortable numbers of a version; a pre-release sorts before its release."""
    numbers: list[int] = []
    early = 0
    for digits, word, count in _PART.findall(version.partition("+")[0]):
        if digits and not early:
            numbers.append(int(digits))
        elif word and word.lower() != "post":
            early = early or int(count or 0) - 1000
    while len(numbers) < 3:
        numbers.append(0)
    return (*numbers[:4], early) if early else tuple(numbers[:4])


def _same_release(given: str, wanted: str) -> bool:
    ours, theirs = _release(given), _release(wanted)
    length = len(wanted.split("."))
    return ours[:length] == theirs[:length] and (ours[3:] == theirs[3:] if "rc" in wanted.lower() else True)


def satisfies(version: str, wanted: str) -> bool:
    """True if a version meets all of pip's conditions such as `>=2.6.0a0,<2.8.0` or `~=2.7.1`."""
    release = _comparable_release(_release(version))
    for condition in wanted.split(","):
        parts = re.fullmatch(r"\s*(~=|==|>=|<=|!=|<|>)\s*([\w.]+)\s*", condition)
        if parts is None:
            raise ValueError(f"{condition!r} is no condition on a version")
        sign, text = parts.groups()
        limit = _comparable_release(_release(text))
        if sign == "~=":
            fixed = len(re.findall(r"\d+", re.split(r"[a-z]", text)[0])) - 1
            met = release >= limit and release[:fixed] == limit[:fixed]
        else:
            met = _MEETS[sign](release, limit)
        if not met:
            return False
    return True


def _comparable_release(release: tuple[int, ...]) -> tuple[int, ...]:
    """Release numbers padded so that versions of different length compare."""
    numbers = [part for part in release if part >= 0][:4]
    early = next((part for part in release if part < 0), 0)
    return (*numbers, *(0 for _ in range(4 - len(numbers))), early)


_MEETS: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class Variable(NamedTuple):
    """One exported variable of a deterministic launch, and why."""

    name: str
    value: str
    en: str
    zh: str


def deterministic_variables(side: str) -> tuple[Variable, ...]:
    """The variables of one side's launch."""
    if side == "mindformers":
        rows = alignment_table().environment
        return tuple(Variable(str(row.variable), str(row.value), row.en, row.zh) for row in rows)
    return tuple(Variable(row["name"], row["value"], row["en"], row["zh"]) for row in version_table()["deterministic"])


def export_lines(sides: Iterable[str], language: Language) -> list[str]:
    """Shell lines that set the deterministic variables."""
    lines: list[str] = []
    for side in sides:
        named = say.side_mindformers() if side == "mindformers" else say.side_megatron()
        lines.append(f"# {named.text(language)}")
        for variable in deterministic_variables(side):
            why = variable.zh if language == "zh" else variable.en
            lines.append(f"export {variable.name}={variable.value}  # {why}")
    return lines


_PLACES = {"torch": say.seeding_torch, "mindspore": say.seeding_mindspore}
"""Where the code belongs."""


def seeding_code(framework: str, language: Language) -> str:
    """Code that fixes every seed and selects deterministic kernels, with the place for it."""
    return f"{_PLACES[framework]().text(language)}\n{SEEDING[framework]}"

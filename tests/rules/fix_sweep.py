"""Plants faults into equal pairs, applies every fix that lint offers, and lints again.

`python fix_sweep.py [--share N] [--third N] [--real PATH…] [--out FILE] [--texts FOLDER]` prints one line for each fix
that leaves its finding or leads to another error, and counts at the end. `--real` takes launch scripts or folders of
them besides the repository's own examples: each is paired with the YAML that accmap writes for it. `--texts` takes the
YAMLs after all fixes, for the configuration classes of MindSpore Transformers.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from planting import GUIDE, added_faults, renamed_faults, script_faults, sides_of, yaml_faults
from test_cases import CASES, PLACES, SIDES, UNSEEN, name_of, page_cases, write_page_case, written

sys.path.pop(0)

from accmap.cli.configuration import Configuration
from accmap.cli.linting.linter import lint
from accmap.cli.linting.settings import Reader, Settings
from accmap.mapper.align.pair import pair_of
from accmap.rules.fixes import LintedTexts, apply_fixes, fix_texts
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import Diagnostic, UnreadableError
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
SCRIPT, YAML = "megatron.sh", "mindformers.yaml"
SHIPPED = ("qwen3_dense", "qwen3_moe", "deepseek_v3")
TARGETS = (("1.8", "static"), ("1.9", "static"), ("2.1", "static"), ("2.1", "dynamic"))
SEED = 41


class Plant(NamedTuple):
    """Files with a fault, and how they are linted."""

    name: str
    kind: str
    files: dict[str, str]
    given: tuple[str, ...]
    options: ReadOptions = ReadOptions()
    profile: str = "align"
    known: frozenset[tuple[object, ...]] = frozenset()
    """What lint finds in the pair without the fault."""


class Outcome(NamedTuple):
    """What the fixes of a plant's findings did."""

    plant: Plant
    findings: tuple[Diagnostic, ...]
    wrong: tuple[str, ...]
    """Each fix that leaves its finding, or leads to another error."""
    texts: Mapping[str, str]
    """The files after all fixes."""
    remaining: tuple[Diagnostic, ...]
    """What lint still finds in them."""

    @property
    def errors(self) -> list[Diagnostic]:
        """The causes that are errors and came with the fault."""
        loud = (entry for entry in self.findings if entry.kind.severity == "error" and entry.because is None)
        return [entry for entry in loud if subject_of(entry) not in self.plant.known]


def look_at(plant: Plant, texts: Mapping[str, SourceText], tries_fixes: bool = True) -> LintedTexts:
    """What lint finds in the files of a plant."""
    settings = Settings(Configuration(), plant.options, plant.profile, (), (), tries_fixes=tries_fixes)
    found = lint(settings, plant.given, Reader(None, texts), with_subjects=True)
    return LintedTexts(found.diagnostics, [[side.recipe for side in subject.sides] for subject in found.subjects])


def _sources(plant: Plant) -> dict[str, SourceText]:
    return {name: SourceText(name, text) for name, text in plant.files.items()}


def outcome_of(plant: Plant, *, unsafe: bool = True) -> Outcome:
    """Apply each fix by itself, and all of them together."""
    texts = _sources(plant)
    before = look_at(plant, texts)
    wrong: list[str] = []
    for entry in before.findings:
        for fix in entry.fixes if unsafe or entry.kind.severity == "error" else ():
            if not unsafe and fix.applicability == "unsafe":
                continue
            changed, done = apply_fixes(texts, [entry._replace(fix=fix)])
            after = {**texts, **{name: SourceText(name, text) for name, text in changed.items()}}
            new = look_at(plant, after) if done else before
            wrong += [f"alone {entry.kind.code}: {said}" for said in _faults(before, [entry], new)]
    mended = fix_texts(texts, lambda now, tries_fixes: look_at(plant, now, tries_fixes), unsafe=unsafe)
    end = LintedTexts(mended.remaining)
    wrong += [f"together: {said}" for said in _faults(before, mended.undone, end)]
    wrong += [] if mended.converged else ["together: does not converge"]
    after = {name: source.text for name, source in mended.texts.items()}
    return Outcome(plant, tuple(before.findings), tuple(wrong), after, mended.remaining)


def _faults(before: LintedTexts, fixed: Sequence[Diagnostic], after: LintedTexts) -> Iterator[str]:
    """Fixed findings that are still there, and errors that were not there before."""
    loud = _counts(before, every=False)
    for entry in fixed:
        every = entry.kind.severity == "info"
        if _counts(after, every=every)[subject_of(entry)] >= _counts(before, every=every)[subject_of(entry)]:
            yield f"{entry.kind.code} {entry.message()} | is left"
    for entry in after.findings:
        if entry.kind.severity == "error" and not loud[subject_of(entry)]:
            yield f"{entry.kind.code} {entry.message()} | is new"


def _counts(seen: LintedTexts, *, every: bool) -> Counter[tuple[object, ...]]:
    """How often each thing is found, with or without remarks."""
    return Counter(subject_of(entry) for entry in seen.findings if every or entry.kind.severity != "info")


def subject_of(entry: Diagnostic) -> tuple[object, ...]:
    words = [str(value) for _, value in entry.values if isinstance(value, str)]
    return entry.kind.code, entry.file, entry.fields, "" if entry.fields else " ".join(words[:1])


# --- plants ---


@cache
def equal_pair(script: Path, version: str | None, dialect: str | None) -> tuple[dict[str, str], ReadOptions] | None:
    """A launch with the YAML that accmap writes for it, or with the one that stands beside it."""
    if version is None:
        beside = script.parent / YAML
        return {SCRIPT: script.read_text("utf-8"), YAML: beside.read_text("utf-8")}, ReadOptions()
    texts = pair_of(read_config(str(script), ReadOptions()), mindformers=version, dialect=dialect).texts(comments=True)
    named = {SCRIPT if name.endswith(".sh") else YAML: text for name, text in texts.items()}
    return named, ReadOptions(mindformers=version, dialect=dialect)


def value_plants(scripts: Sequence[Path], random: Random, each: int) -> Iterator[Plant]:
    """Changed, deleted, added and renamed keys of pairs that are otherwise equal."""
    for script in scripts:
        shipped = (None, None) if script.parent.name in SHIPPED else None
        for target in [*([shipped] if shipped else []), *TARGETS]:
            with suppress(UnreadableError):
                pair = equal_pair(script, *target)
                assert pair is not None
                texts, options = pair
                faults = list(_faults_of(texts, options))
                equal = Plant("", "", texts, (SCRIPT, YAML), options)
                known = frozenset(map(subject_of, look_at(equal, _sources(equal)).findings))
                for fault in random.sample(faults, min(each, len(faults))):
                    label = "-".join((script.parent.name, *filter(None, target)))
                    kind = fault.what.partition(" ")[0]
                    files = {**texts, fault.file: fault.text}
                    yield Plant(f"{label}: {fault.what}", kind, files, (SCRIPT, YAML), options, known=known)


def _faults_of(texts: dict[str, str], options: ReadOptions) -> Iterator[Any]:
    settings = Settings(Configuration(), options, "align", (), ())
    for name, side in sides_of(texts, settings).items():
        for plant in (script_faults,) if name == SCRIPT else (yaml_faults, renamed_faults):
            yield from plant(name, side.source, side)
        yield from added_faults(name, side.source, side)


def safe_plants(most: int) -> dict[str, list[Plant]]:
    """Up to so many slips of each kind that a fix can mend without changing what a user meant."""
    found: dict[str, list[Plant]] = {"misspelt": [], "number": [], "alias": []}
    for name in SHIPPED:
        for target in [(None, None), *TARGETS]:
            pair = equal_pair(ROOT / "examples" / name / SCRIPT, *target)
            assert pair is not None
            texts, options = pair
            for kind, file, new, what in _slips(texts):
                if len(found[kind]) < most * len(SHIPPED):
                    label = "-".join((name, *filter(None, target)))
                    files = {**texts, file: new}
                    found[kind].append(Plant(f"{label}: {what}", kind, files, (SCRIPT, YAML), options))
    return {kind: made[:: max(1, len(made) // most)] for kind, made in found.items()}


def _slips(texts: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Kind, file, new text and description of each slip: a letter less in a long name, `1e-5`, a name of the guide."""
    for file, pattern in ((YAML, r"(?m)^( +)(\w{9,}):"), (SCRIPT, r"(?m)^( +--)([\w-]{9,})")):
        for match in re.finditer(pattern, texts[file]):
            at = match.start(2) + 4
            yield (
                "misspelt",
                file,
                texts[file][:at] + texts[file][at + 1 :],
                f"{match[2]} as {match[2][:4]}{match[2][5:]}",
            )
    for match in re.finditer(r"(?m)(?<=: )\d+\.\d+(e-?\d+)?$", texts[YAML]):
        text, (start, end) = f"{float(match[0]):.0e}", match.span()
        if float(match[0]) and float(text) == float(match[0]):
            yield "number", YAML, texts[YAML][:start] + text + texts[YAML][end:], f"{match[0]} as {text}"
    for match in re.finditer(r"(?m)^ +(\w+):", texts[YAML]):
        if match[1] in GUIDE:
            start, end = match.span(1)
            yield (
                "alias",
                YAML,
                texts[YAML][:start] + GUIDE[match[1]] + texts[YAML][end:],
                f"{match[1]} as {GUIDE[match[1]]}",
            )


def case_plants(share: int) -> Iterator[Plant]:
    """The failing case of every rule."""
    failing = [row for row in CASES if "code" in row[1] and "at" in row[1] and not row[0].startswith("defects")]
    for row in failing[::share]:
        case = row[1]
        with tempfile.TemporaryDirectory() as folder:
            files = {name: path.read_text("utf-8") for name, path in written(case, Path(folder)).items()}
        pair = tuple(name for name in SIDES.values() if name in files)
        options = options_of(list(map(str, case.get("arguments", ()))), case.get("small"))
        given = tuple(case.get("lint", pair or tuple(files)))
        profile, known = case.get("profile", "align"), frozenset[tuple[object, ...]]()
        if "base" in case:
            with tempfile.TemporaryDirectory() as folder:
                unchanged = {key: value for key, value in case.items() if key not in SIDES}
                base = {name: path.read_text("utf-8") for name, path in written(unchanged, Path(folder)).items()}
            equal = Plant("", "", base, given, options, profile)
            known = frozenset(map(subject_of, look_at(equal, _sources(equal)).findings))
        yield Plant(f"case {name_of(row)}", case["code"], files, given, options, profile, known)


def page_plants(share: int) -> Iterator[Plant]:
    """The example on the page of every code that a reader reports through lint."""
    for code, text, is_found in [case.values for case in page_cases()][::share]:
        place = PLACES[code]
        command = place.get("run", "accmap lint ")
        if not is_found or not command.startswith("accmap lint ") or "tree" in command:
            continue
        example = re.sub(r"   # .*", "", text)
        for shown, character in UNSEEN.items():
            example = example.replace(shown, character)
        with tempfile.TemporaryDirectory() as folder:
            write_page_case(place, example, Path(folder))
            files = {name: (Path(folder) / name).read_bytes().decode("utf-8", "replace") for name in place["files"]}
        words = shlex.split(command)[2:]
        given = tuple(word for word in words if word in files) or tuple(files)[:1]
        if given:
            yield Plant(f"page {code}", code, files, given, options_of(words, None))


def options_of(words: list[str], small: str | None) -> ReadOptions:
    """The options that a command line of the cases gives."""
    given = dict(pairwise(words))
    size = given.get("--world-size")
    return ReadOptions(
        given.get("--megatron"),
        given.get("--mindformers", small),
        unset_empty="--unset-empty" in words,
        world_size=None if size is None else int(size),
    )


def plants(share: int = 1, real: Sequence[Path] = ()) -> list[Plant]:
    """All plants, or one of so many; the same for the same seed."""
    random = Random(SEED)
    shipped = [ROOT / "examples" / name / SCRIPT for name in SHIPPED]
    values = [*value_plants(shipped, random, max(1, 40 // share)), *value_plants(real, random, 6)]
    return [*case_plants(share), *page_plants(share), *(values if share < 40 else values[:: share // 40])]


def loadable_yamls(outcomes: Sequence[Outcome], folder: Path) -> dict[tuple[str, str], list[Path]]:
    """The YAMLs that fixes changed and that lint now finds no error in, written, by version and graph."""
    found: dict[tuple[str, str], list[Path]] = {}
    for number, outcome in enumerate(outcomes):
        plant, errors = outcome.plant, {one.file for one in outcome.remaining if one.kind.severity == "error"}
        text = outcome.texts.get(YAML)
        if text is None or text == plant.files[YAML] or YAML in errors or SCRIPT not in plant.files:
            continue
        config = config_of(SourceText(YAML, text), plant.options, path=YAML)
        if config.dialect not in ("static", "dynamic"):
            continue
        graph = config.dialect
        path = folder / f"{plant.options.mindformers or '1.9'}-{graph}-{number:04}.yaml"
        path.write_text(text, "utf-8")
        found.setdefault((plant.options.mindformers or "1.9", graph), []).append(path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--real", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--third", type=int, default=None)
    args = parser.parse_args()
    scripts = [file for path in args.real for file in (sorted(path.rglob("*.sh")) if path.is_dir() else [path])]
    counts: Counter[str] = Counter()
    lines: list[str] = []
    outcomes: list[Outcome] = []
    chosen = plants(args.share, scripts)
    for plant in chosen if args.third is None else chosen[args.third :: 3]:
        outcome = outcome_of(plant)
        counts["plants"] += 1
        counts["right"] += not outcome.wrong
        counts["with a fix"] += any(entry.fix for entry in outcome.findings)
        for entry in outcome.errors if len(plant.given) > 1 else ():
            counts["errors"] += 1
            counts["errors with an edit"] += bool(entry.fixes)
            counts["errors with a fix"] += entry.fix is not None
            counts["errors with a safe fix"] += entry.fix is not None and entry.fix.applicability == "safe"
        for said in outcome.wrong:
            print(f"{plant.name} | {said}", flush=True)
        outcomes.append(outcome)
        lines.append(json.dumps(_record(outcome), ensure_ascii=False))
    print(dict(counts))
    if args.out:
        args.out.write_text("\n".join(lines), "utf-8")
    if args.texts:
        args.texts.mkdir(exist_ok=True)
        loadable_yamls(outcomes, args.texts)


def _record(outcome: Outcome) -> dict[str, Any]:
    found = [
        {
            "code": entry.kind.code,
            "severity": entry.kind.severity,
            "fields": entry.fields,
            "because": entry.because is not None,
            "fix": entry.fix and (entry.fix.applicability, entry.fix.en),
            "edits": [(fix.applicability, fix.en, fix.edits[0].file) for fix in entry.fixes],
            "message": entry.message(),
        }
        for entry in outcome.findings
        if entry.kind.severity != "info" and subject_of(entry) not in outcome.plant.known
    ]
    is_pair = len(outcome.plant.given) > 1
    return {
        "pair": is_pair,
        "name": outcome.plant.name,
        "kind": outcome.plant.kind,
        "found": found,
        "wrong": outcome.wrong,
    }


if __name__ == "__main__":
    main()

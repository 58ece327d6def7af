"""`accmap dump compare A B`: two dumps, or a result table of msprobe, and where the two runs first part.

0 where everything that was compared agrees, 1 for a divergence or where one dump lacks a part of the model that the
other has, 2 where a dump or a table cannot be used, or a tensor cannot be read and nothing else is wrong. Progress goes
to stderr.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ...evidence.answers_compiled import (
    dump_alone_json,
    dump_divergence_json,
    dump_gap_json,
    dump_tensor_json,
    dump_unit_json,
    measured_json,
    next_dump_json,
    precheck_failure_json,
)
from ...evidence.dump.compare_gaps import inputs_alone
from ...evidence.dump.compare_next import next_dump, settings_behind
from ...evidence.dump.messages_compiled import say
from ...schemas.border.outgoing import csv_text, emit, json_text
from ...schemas.border.writing import standing_already, write_text
from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.json_values import json_value
from ...schemas.verdict import Unseen, concluded, unseen_json
from ..advisories import fitting, met
from ..exit_codes import BAD, FINE, UNUSABLE
from ..messages_compiled import say as usage
from ..parsing import UsageError, require_jobs
from ..steps import at_step
from .dump_compare_report import FRAMEWORK

if TYPE_CHECKING:
    from ...evidence.dump.compare import Comparison
    from ...evidence.dump.compare_divergence import Divergence, UnitResult
    from ...evidence.dump.compare_mapping import NameMapping
    from ...evidence.dump.places import Place
    from ...evidence.dump.records import Tree
    from ...evidence.dump.statistics import Judge, TensorResult
    from ...evidence.dump.tables import Precheck, Table
    from ...mapper.differences import Difference
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.message import Words

_MOST_NAMED = 6
_TABLES = (".csv", ".xlsx")
_COLUMNS = (
    "step", "rank", "module", "direction", "a", "b", "tensor", "partner", "role", "agrees", "why", "how", "error",
    "cosine", "max_abs", "max_rel", "within_thousandth", "within_five_thousandths", "norm_a", "norm_b", "dtype_a",
    "dtype_b", "shape_a", "shape_b", "layout", "note",
)  # fmt: skip


_OF_ELEMENTS = ("cosine", "max_abs", "max_abs_at", "max_rel", "within_thousandth", "within_five_thousandths")


class Settings(NamedTuple):
    """What the configurations of the two runs say of the settings behind a divergence."""

    files: tuple[str, ...]
    different: tuple[Difference, ...]
    rules: tuple[str, ...]
    defects: tuple[Diagnostic, ...] = ()


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None = None,
    format: str = "text",  # noqa: A002 - the option's name
    mapping: str | None = None,
    config: Sequence[str] = (),
    step: int | None = None,
    rank: int | None = None,
    only: Sequence[str] = (),
    tolerance: float | None = None,
    exact: bool = False,
    jobs: int | None = None,
    all: bool = False,  # noqa: A002 - the option's name
    tree: bool = False,
    output: str | None = None,
    force: bool = False,
    lang: Language = "en",
) -> int:
    """Compare and print."""
    from ...evidence.dump.statistics import Judge

    if tolerance is not None and not 0 <= tolerance < 1:
        raise UsageError(
            usage.tolerance_is_a_relative_distance(tolerance=tolerance),
        )
    require_jobs(jobs)
    if len(config) > 2:
        raise UsageError(usage.config_is_given_at_most())
    if output is not None and not force and os.path.lexists(output):
        raise standing_already(output)
    judge = Judge(tolerance, exact=exact)
    configs = _configs(config, options, stdin_name)
    if len(files) == 1:
        answer, code = _table_answer(files[0], judge, configs, lang)
    else:
        chosen = _Chosen(mapping, step, rank, tuple(only), jobs or _processors(), lang, tree)
        answer, code = _dump_answer(files[0], files[1], chosen, judge, configs)
    text = _rendered(answer, format, lang, everything=all)
    if output is None:
        emit(text)
    else:
        write_text(output, text, force=force)
    return code


class _Chosen(NamedTuple):
    mapping: str | None
    step: int | None
    rank: int | None
    only: tuple[str, ...]
    jobs: int
    language: Language
    tree: bool = False


def _processors() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _configs(names: Sequence[str], options: ReadOptions, stdin_name: str | None) -> list[tuple[Config, Any]]:
    from ...schemas.reader import config_of
    from ..inputs import read_input

    sources = [read_input(name, stdin_name) for name in names]
    return [(config_of(source, options, path=source.name), source) for source in sources]


def _dump_answer(
    a: str, b: str, chosen: _Chosen, judge: Judge, configs: list[tuple[Config, Any]]
) -> tuple[dict[str, Any], int]:
    from ...evidence.dump.compare_mapping import read_mapping
    from ...evidence.dump.drawing import drawn
    from ...evidence.dump.places import find_places

    for name in (a, b):
        _require_dump(name)
    names = None if chosen.mapping is None else read_mapping(chosen.mapping)
    pairs, beside = _common(a, b, find_places(a), find_places(b), chosen)
    parts: list[dict[str, Any]] = []
    diverged = unreadable = False
    frameworks: set[tuple[str, str]] = set()
    for found in _compared((a, b), pairs, chosen, judge, names):
        part = _comparison_json(found, configs, chosen.language)
        parts.append({**part, "tree": list(drawn(found))} if chosen.tree else part)
        diverged = diverged or found.divergence is not None
        unreadable = unreadable or bool(found.unreadable)
        frameworks.add((found.a.framework, found.b.framework))
    unseen = [*_of_one_framework(frameworks, configs), *_unseen(parts)]
    unseen += [*(_elsewhere(side, names) for side, names in (beside or {}).items() if names)]
    compared = sum(part["compared"]["tensors"] for part in parts)
    verdict = concluded("match", "diverged", wrong=diverged, compared=compared, unseen=unseen)
    answer: dict[str, Any] = {"verdict": verdict, "kind": "dumps", "files": [a, b], "parts": parts}
    answer["not_compared"] = unseen_json(unseen, chosen.language)
    if len(parts) > 1 and diverged:
        answer["merged"] = _merged(parts)
    if beside is not None:
        answer["other_places"] = beside
    return answer, BAD if diverged else UNUSABLE if unreadable else FINE if verdict == "match" else BAD


def _of_one_framework(frameworks: Iterable[tuple[str, str]], configs: Sequence[tuple[Config, Any]]) -> Iterator[Unseen]:
    """Two dumps of one framework beside configurations of both: one side of the pair is not here."""
    names = {"pytorch": "PyTorch", "mindspore": "MindSpore"}
    same = [names[one] for one, other in frameworks if one == other and one in names]
    if same and len({config.framework for config, _ in configs}) > 1:
        yield Unseen(FRAMEWORK, *say.one_framework(name=same[0]).both())


def _compared(
    roots: tuple[str, str],
    pairs: Sequence[tuple[Place, Place]],
    chosen: _Chosen,
    judge: Judge,
    names: NameMapping | None,
) -> Iterator[Comparison]:
    """Every step and rank; as many side by side as there are threads, and what those hold is let go before the next."""
    from ...evidence.dump.compare import compare_trees, inside
    from ...evidence.dump.trees import read_tree

    together = min(chosen.jobs, len(pairs))

    def compared(pair: tuple[Place, Place]) -> Comparison:
        trees = [inside(read_tree(place), chosen.only) for place in pair]
        for name, tree in zip(roots, trees, strict=True):
            _require_units(name, tree, chosen.only)
        jobs = max(1, chosen.jobs // together)
        return compare_trees(*trees, mapping=names, judge=judge, jobs=jobs, progress=at_step)

    with ThreadPoolExecutor(together) as pool:
        for at in range(0, len(pairs), together):
            yield from pool.map(compared, pairs[at : at + together])


def _merged(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where several steps and ranks part first: the place that is reached earliest before the others."""
    found: dict[tuple[str, str, str], tuple[float, list[str]]] = {}
    for part in parts:
        first = part["first_divergence"]
        if first is None:
            continue
        names = [unit["a"] for unit in part["units"]]
        at = names.index(first["a"]) if first["a"] in names else len(names)
        place = f"step {part['step']} rank {part['rank']}"
        key = (first["module"], first["direction"], first["cause"])
        earliest, places = found.get(key, (float("inf"), []))
        found[key] = (min(earliest, at), [*places, place])
    ordered = sorted(found.items(), key=lambda entry: entry[1][0])
    return [
        {"module": module, "direction": direction, "cause": cause, "places": places}
        for (module, direction, cause), (_, places) in ordered
    ]


def _require_dump(name: str) -> None:
    if name.lower().endswith(_TABLES) and os.path.basename(name) != "statistic.csv":
        raise UsageError(
            usage.is_a_result_table_name(name=name),
        )


def _require_units(name: str, tree: Tree, only: Sequence[str]) -> None:
    if not tree.units and only:
        listed = ", ".join(only)
        raise UsageError(usage.has_no_unit_in(name=name, listed=listed))


def _unseen(parts: Sequence[dict[str, Any]]) -> list[Unseen]:
    """What of two dumps was not compared although both should have it."""
    found: list[Unseen] = []
    for part in parts:
        place = "" if part["step"] is None else f"step {part['step']} rank {part['rank']}"
        if part["gaps"]:
            found.append(Unseen(place or "dump", *usage.dump_lacks_a_part().both()))
        apart = sum(unit["skipped"] == "operation" for unit in part["units"])
        if apart and not any(unit["level"] == "module" for unit in part["units"]):
            found.append(Unseen(place or "dump", *say.operations_apart(count=apart).both()))
        found += (Unseen(place or "dump", *said.both()) for said in _unseen_tensors(part))
    return found


def _unseen_tensors(part: dict[str, Any]) -> Iterator[Words]:
    """What is said of the tensors that were not compared."""
    counted = part["compared"]
    if counted["checksums"]:
        yield say.checksums_apart(count=counted["checksums"])
    if counted["without_numbers"]:
        yield say.tensors_without_numbers(count=counted["without_numbers"])
    if counted["inputs_alone"]:
        yield say.inputs_alone(count=counted["inputs_alone"])
    if alone := part["unmatched"]:
        names = [f"{one['side'].upper()}: {one['unit']}.{one['place']}" for one in alone]
        yield say.tensors_alone(count=len(names), names=listing(names))
    if part["unreadable"]:
        yield say.tensors_unreadable()


def _elsewhere(side: str, names: Sequence[str]) -> Unseen:
    return Unseen(listing(names), *usage.only_one_dump_has_it(side=side.upper()).both())


def listing(names: Sequence[str]) -> str:
    """The first of some names, and how many there are."""
    return ", ".join(names[:_MOST_NAMED]) + (f", … ({len(names)})" if len(names) > _MOST_NAMED else "")


def _common(
    a: str, b: str, ours: Sequence[Place], theirs: Sequence[Place], chosen: _Chosen
) -> tuple[list[tuple[Place, Place]], dict[str, list[str]] | None]:
    """The steps and ranks that both dumps have, and those that one has; two single ones go together anyhow."""
    if len(ours) == len(theirs) == 1 and chosen.step is None and chosen.rank is None:
        return [(ours[0], theirs[0])], None
    pairs = list(_matching(ours, theirs, chosen))
    if not pairs:
        raise UnreadableError(finding(say.no_common_rank(a=_told(ours), b=_told(theirs)), f"{a}, {b}"))
    if chosen.step is not None or chosen.rank is not None:
        return pairs, None
    met = ({one for one, _ in pairs}, {other for _, other in pairs})
    alone = [
        [place for place in places if place not in known] for places, known in zip((ours, theirs), met, strict=True)
    ]
    beside = {"a": _names(alone[0]), "b": _names(alone[1])} if any(alone) else None
    return pairs, beside


def _matching(ours: Sequence[Place], theirs: Sequence[Place], chosen: _Chosen) -> Iterator[tuple[Place, Place]]:
    known = {(place.step, place.rank, place.order): place for place in theirs}
    for place in ours:
        other = known.get((place.step, place.rank, place.order))
        if other is not None and chosen.step in (None, place.step) and chosen.rank in (None, place.rank):
            yield place, other


def _names(places: Sequence[Place]) -> list[str]:
    return [f"step {place.step} rank {place.rank}" for place in places]


def _told(places: Sequence[Place]) -> str:
    names = _names(places)
    return ", ".join(names[:8]) + (f", … ({len(names)})" if len(names) > 8 else "")


def _table_answer(
    path: str, judge: Judge, configs: list[tuple[Config, Any]], language: Language
) -> tuple[dict[str, Any], int]:
    from ...evidence.dump.tables import Table, read_table

    if os.path.isdir(path):
        raise UsageError(
            usage.dump_compare_needs_two_dumps(),
        )
    found = read_table(path, judge)
    if isinstance(found, Table):
        part = _table_json(found, configs, language)
        unseen = _unseen([part])
        compared = part["compared"]["tensors"]
        verdict = concluded("match", "diverged", wrong=found.divergence is not None, compared=compared, unseen=unseen)
        answer = {"verdict": verdict, "kind": "table", "files": [path], "parts": [part]}
        answer["not_compared"] = unseen_json(unseen, language)
        return answer, FINE if verdict == "match" else BAD
    verdict = concluded("match", "diverged", wrong=bool(found.failures), compared=found.apis)
    return {
        "verdict": verdict,
        "kind": "precheck",
        "files": [path],
        **_precheck_json(found, language),
    }, (FINE if verdict == "match" else BAD)


def _comparison_json(found: Comparison, configs: list[tuple[Config, Any]], language: Language) -> dict[str, Any]:
    return {
        "step": found.a.step,
        "rank": found.a.rank,
        "a": _tree_json(found.a),
        "b": _tree_json(found.b),
        "compared": _counted(found),
        "first_divergence": _divergence_json(
            found.divergence, found.a.level, found.a.content, (found.a.step, found.a.rank), configs, language
        ),
        "units": [_unit_json(unit) for unit in found.units],
        "only_a": [unit.name for unit in found.only_a],
        "only_b": [unit.name for unit in found.only_b],
        "gaps": [dump_gap_json(gap) for gap in found.gaps],
        "unmatched": [dump_alone_json(tensor) for tensor in found.alone],
        "unreadable": [tensor.unreadable.message(language) for tensor in found.unreadable if tensor.unreadable],
        "notes": _said((*found.a.notes, *found.b.notes, *_forward_alone(found)), language),
    }


def _forward_alone(found: Comparison) -> Iterator[Words]:
    directions = {unit.direction for tree in (found.a, found.b) for unit in tree.units}
    if "forward" in directions and "backward" not in directions:
        yield say.forward_alone()


def _counted(found: Comparison | Table) -> dict[str, int]:
    """What was compared and what was not, in numbers."""
    tensors = [tensor for unit in found.units for tensor in unit.tensors]
    return {
        "units": sum(unit.agrees is not None for unit in found.units),
        "tensors": sum(tensor.agrees is not None for tensor in tensors),
        "different": sum(tensor.agrees is False for tensor in tensors),
        "missing": sum(tensor.why == "missing" for tensor in tensors),
        "checksums": sum(tensor.why == "rounding" for tensor in tensors),
        "without_numbers": found.without_numbers,
        "inputs_alone": inputs_alone(found.units),
        "unmatched": len(found.alone),
    }


def _said(notes: Sequence[Words], language: Language) -> list[str]:
    return [note.zh if language == "zh" else note.en for note in notes]


def _tree_json(tree: Tree) -> dict[str, Any]:
    return {
        "path": tree.path,
        "form": tree.form,
        "framework": tree.framework,
        "level": tree.level,
        "content": tree.content,
        "step": tree.step,
        "rank": tree.rank,
        "units": len(tree.units),
    }


def _table_json(found: Table, configs: list[tuple[Config, Any]], language: Language) -> dict[str, Any]:
    tensors = [tensor for unit in found.units for tensor in unit.tensors]
    content = "tensor" if any(tensor.how == "elements" for tensor in tensors) else "statistics"
    level = "mix" if any(unit.a.level == "api" for unit in found.units) else "L0"
    return {
        "step": None,
        "rank": None,
        "compared": _counted(found),
        "first_divergence": _divergence_json(found.divergence, level, content, (None, None), configs, language),
        "units": [_unit_json(unit) for unit in found.units],
        "only_a": list(found.only_a),
        "only_b": list(found.only_b),
        "gaps": [dump_gap_json(gap) for gap in found.gaps],
        "unmatched": [dump_alone_json(tensor) for tensor in found.alone],
        "marked_by_msprobe": list(found.marked),
        "unreadable": [],
        "notes": [],
    }


def _precheck_json(found: Precheck, language: Language) -> dict[str, Any]:
    return {
        "apis": found.apis,
        "passed": found.passed,
        "skipped": found.skipped,
        "failures": [precheck_failure_json(failure) for failure in found.failures],
        "notes": _said(found.notes, language),
    }


def _divergence_json(
    found: Divergence | None,
    level: str,
    content: str,
    place: tuple[int | None, int | None],
    configs: list[tuple[Config, Any]],
    language: Language,
) -> dict[str, Any] | None:
    if found is None:
        return None
    fields = settings_behind(found)
    told = _settings(fields, found.unit.a.direction, configs)
    dump = next_dump(found, level, content, *place)
    return dump_divergence_json(
        found,
        language,
        tensors=[_tensor_json(tensor) for tensor in found.tensors],
        fields=list(fields),
        different_fields=[row.to_json() for row in told.different],
        rules=list(told.rules),
        defects=[one.to_json(language) for one in told.defects],
        next_dump=next_dump_json(
            dump, command=dump.command(told.files), first=None if dump.kind != "msprobe" else _compiled(configs)
        ),
    )


def _compiled(configs: list[tuple[Config, Any]]) -> str | None:
    """What lets msprobe take more than modules, where a YAML runs in graph mode."""
    from ...mapper.recipe.reading import recipe_of

    static = [one for one, _ in configs if one.framework == "mindformers" and one.dialect == "static"]
    compiled = (one for one in static if recipe_of(one).value("environment.execution_mode") != "eager")
    return next((f"context.mode: 1 ({one.file})" for one in compiled), None)


_SHOWS = {"forward": ("loss", "weights", "data"), "backward": ("gradient", "loss", "weights", "data")}
"""What may be off where the two runs first part."""


def _settings(fields: Sequence[str], direction: str, configs: list[tuple[Config, Any]]) -> Settings:
    """Of the fields behind a divergence, those that the two files set differently, and the linter's codes for them."""
    files = tuple(config.file for config, _source in configs)
    if len(configs) != 2:
        return Settings(files, (), ())
    from ...mapper.differences import differences
    from ...mapper.recipe.reading import recipe_of
    from ..verify import findings_of

    one, other = (recipe_of(config) for config, _source in configs)
    rows = tuple(row for row in differences(one, other) if row.field in fields and row.status != "equal")
    read, texts = [config for config, _source in configs], [source for _config, source in configs]
    rules: list[str] = []
    if read[0].framework != read[1].framework:
        told = findings_of(read, texts)
        rules = [entry.kind.code for entry in told if set(fields) & set(entry.fields) and entry.kind.severity != "info"]
    concerning = met(read, texts)
    known = fitting(concerning, _SHOWS.get(direction, _SHOWS["backward"]), fields)
    return Settings(files, rows, tuple(dict.fromkeys(rules)), known)


class _Tensors(Sequence["dict[str, Any]"]):
    """What is said of the tensors of a unit: put into words where it is looked at, for it takes more than it tells."""

    def __init__(self, told: Sequence[TensorResult]) -> None:
        self._told = told

    def __len__(self) -> int:
        return len(self._told)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, int):
            return _tensor_json(self._told[index])
        return [_tensor_json(tensor) for tensor in self._told[index]]


def _unit_json(unit: UnitResult) -> dict[str, Any]:
    return dump_unit_json(unit, tensors=_Tensors(unit.tensors))


def _tensor_json(tensor: TensorResult) -> dict[str, Any]:
    found, measured = dump_tensor_json(tensor), tensor.measured
    if measured is not None:
        counted = measured_json(measured)
        found.update({key: counted[key] for key in _OF_ELEMENTS})
        found.update(norm_a=json_value(measured.norm_a), norm_b=json_value(measured.norm_b))
        found.update(nan=[measured.nan_a, measured.nan_b], infinite=[measured.infinite_a, measured.infinite_b])
    return found


def _rendered(answer: dict[str, Any], format: str, language: Language, *, everything: bool) -> Outgoing:  # noqa: A002
    if format == "json":
        return json_text(answer, default=list)
    if format == "csv":
        return _csv(answer)
    from .dump_compare_report import text_page

    return text_page(answer, language, everything=everything)


def _csv(answer: dict[str, Any]) -> Outgoing:
    """One row a tensor; for a precheck one row a failure."""
    if answer["kind"] == "precheck":
        heads = ("api", "direction", "status", "message")
        return csv_text([heads, *([failure[head] for head in heads] for failure in answer["failures"])])
    rows: list[Sequence[object]] = [_COLUMNS]
    for part in answer["parts"]:
        for unit in part["units"]:
            for tensor in unit["tensors"]:
                row = {**tensor, **{key: unit[key] for key in ("module", "direction", "a", "b")}}
                row.update(step=part["step"], rank=part["rank"])
                rows.append(["" if row.get(name) is None else row[name] for name in _COLUMNS])
        for side in ("a", "b"):
            for name in part[f"only_{side}"]:
                row = {side: name, "why": f"only-{side}", "step": part["step"], "rank": part["rank"]}
                rows.append(["" if row.get(column) is None else row[column] for column in _COLUMNS])
    return csv_text(rows)

"""`accmap dump compare A B`: two dumps, or a result table of msprobe, and where the two runs first part.

0 where everything that was compared agrees, 1 for a divergence or where one dump lacks a part of the model that the
other has, 2 where a dump or a table cannot be used, or a tensor cannot be read and nothing else is wrong. Progress goes
to stderr.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from ...evidence.answers_compiled import dump_compare_json, dump_tensor_json
from ...evidence.dump.compare_divergence import Parting, Settings, next_dump, settings_behind
from ...evidence.dump.compare_verdict import (
    count_of_skipped_apis,
    coverage_gaps,
    has_diverged,
    merge_places,
    part_of_dumps,
    part_of_table,
    verdict_of,
)
from ...evidence.dump.messages_compiled import say
from ...evidence.dump.overflow import output_is_constant
from ...evidence.threads import map_in_threads
from ...schemas.border.file_output import deliver, standing_already
from ...schemas.border.text_output import csv_text, json_text
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import first_of
from ..argument_parser import UsageError, require_jobs
from ..exit_codes import BAD, FINE, UNUSABLE
from ..messages_compiled import say as usage
from ..pages.document import Card, Code, Document, Row, Section, Table, Verdict, Words, bullets, cells, code_cell, note
from ..progress import report_progress
from ..reference.known_defects import defects_of_files, matching_defects, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...evidence.dump.compare import Comparison
    from ...evidence.dump.compare_names import NameMapping
    from ...evidence.dump.compare_verdict import Merged
    from ...evidence.dump.compare_verdict import Part as PlacePart
    from ...evidence.dump.records import Place, Tree
    from ...evidence.dump.statistics import Judge
    from ...evidence.dump.tables import Precheck
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Language
    from ...schemas.verdict import Unseen
    from ..arguments_compiled import DumpCompareArgs
    from ..messages_compiled import DumpCompareWords
    from ..pages.document import Part, Tone

_TABLES = (".csv", ".xlsx")
_COLUMNS = (
    "step", "rank", "module", "direction", "a", "b", "tensor", "partner", "role", "agrees", "why", "how", "error",
    "cosine", "max_abs", "max_rel", "within_thousandth", "within_five_thousandths", "norm_a", "norm_b", "dtype_a",
    "dtype_b", "shape_a", "shape_b", "layout", "note",
)  # fmt: skip


def run(args: DumpCompareArgs) -> int:
    """Compare and print."""
    from ...evidence.dump.statistics import Judge

    if args.tolerance is not None and not 0 <= args.tolerance < 1:
        raise UsageError(usage.tolerance_is_a_relative_distance(tolerance=args.tolerance))
    require_jobs(args.jobs)
    if len(args.config) > 2:
        raise UsageError(usage.config_is_given_at_most())
    if args.output is not None and not args.force and os.path.lexists(args.output):
        raise standing_already(args.output)
    judge = Judge(args.tolerance, exact=args.exact)
    configs = _read_configs(args.config, args.reading, args.stdin_filename)
    if len(args.files) == 1:
        answer = _table_answer(args.files[0], judge, configs)
    else:
        chosen = _Chosen(
            args.mapping, args.step, args.rank, tuple(args.only), args.jobs or _processor_count(), args.tree
        )
        answer = _dump_answer(args.files[0], args.files[1], chosen, judge, configs)
    text = _render_answer(answer, args.format, args.lang, everything=args.all, to_file=args.output is not None)
    deliver(text, args.output, force=args.force)
    return answer.code


def compared_dumps(
    names: Sequence[str], files: Sequence[str], options: ReadOptions, stdin_name: str | None
) -> Callable[[Language], _Json]:
    """Two dumps beside their configurations, as the answer in each language."""
    from ...evidence.dump.statistics import Judge

    configs = _read_configs(files, options, stdin_name)
    chosen = _Chosen(None, None, None, (), _processor_count())
    answer = _dump_answer(names[0], names[1], chosen, Judge(None, exact=False), configs)
    return lambda language: dump_compare_json(answer, language)


class _Chosen(NamedTuple):
    mapping: str | None
    step: int | None
    rank: int | None
    only: tuple[str, ...]
    jobs: int
    tree: bool = False


def _processor_count() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _read_configs(names: Sequence[str], options: ReadOptions, stdin_name: str | None) -> Configs:
    from ...schemas.reader import config_of
    from ..inputs import read_input

    sources = [read_input(name, stdin_name) for name in names]
    return [(config_of(source, options, path=source.name), source) for source in sources]


class Answer(NamedTuple):
    """Result for two dumps, a table or a precheck."""

    kind: Literal["dumps", "table", "precheck"]
    files: tuple[str, ...]
    parts: tuple[PlacePart, ...] | None = None
    unseen: tuple[Unseen, ...] | None = None
    """What was not compared although both should have it."""
    other_places: dict[str, list[str]] | None = None
    precheck: Precheck | None = None

    @property
    def verdict(self) -> str:
        """The word for it."""
        return verdict_of(self.parts or (), self.precheck, self.unseen or ())

    @property
    def code(self) -> int:
        """The command's exit code."""
        if self.verdict == "match":
            return FINE
        unreadable = any(part.unreadable for part in self.parts or ())
        return UNUSABLE if unreadable and not has_diverged(self.parts or ()) else BAD

    @property
    def merged_divergences(self) -> list[Merged] | None:
        """First divergence of several steps and ranks."""
        parts = self.parts or ()
        return merge_places(parts) if len(parts) > 1 and has_diverged(self.parts or ()) else None


def _dump_answer(a: str, b: str, chosen: _Chosen, judge: Judge, configs: Configs) -> Answer:
    """The comparison of two dumps, every common step and rank, with the parts that were not compared."""
    from ...evidence.dump.compare_names import read_mapping
    from ...evidence.dump.records import find_places

    for name in (a, b):
        _require_dump(name)
    names = None if chosen.mapping is None else read_mapping(chosen.mapping)
    pairs, beside = _common(a, b, find_places(a), find_places(b), chosen)
    parts: list[PlacePart] = []
    frameworks: set[tuple[str, str]] = set()
    for found in _compare_places((a, b), pairs, chosen, judge, names):
        parts.append(_with_divergence(part_of_dumps(found, tree=chosen.tree), configs))
        frameworks.add((found.a.framework, found.b.framework))
    of_two = len({config.framework for config, _ in configs}) > 1
    return Answer("dumps", (a, b), tuple(parts), coverage_gaps(parts, beside, frameworks if of_two else ()), beside)


def _with_divergence(part: PlacePart, configs: Configs) -> PlacePart:
    """A part, beside what the configurations say of its divergence."""
    return part._replace(parting=divergence_context(part, configs))


def _compare_places(
    roots: tuple[str, str],
    pairs: Sequence[tuple[Place, Place]],
    chosen: _Chosen,
    judge: Judge,
    names: NameMapping | None,
) -> Iterator[Comparison]:
    """Every step and rank; as many side by side as there are threads, and what those hold is let go before the next."""
    from ...evidence.dump.compare import compare_trees, restrict_to
    from ...evidence.dump.trees import read_tree

    together = min(chosen.jobs, len(pairs))

    def compare_pair(pair: tuple[Place, Place]) -> Comparison:
        trees = [restrict_to(read_tree(place), chosen.only) for place in pair]
        for name, tree in zip(roots, trees, strict=True):
            _require_units(name, tree, chosen.only)
        jobs = max(1, chosen.jobs // together)
        return compare_trees(*trees, mapping=names, judge=judge, jobs=jobs, progress=report_progress)

    for at in range(0, len(pairs), together):
        yield from map_in_threads(compare_pair, pairs[at : at + together], together)


def _require_dump(name: str) -> None:
    if name.lower().endswith(_TABLES) and os.path.basename(name) != "statistic.csv":
        raise UsageError(usage.is_a_result_table_name(name=name))


def _require_units(name: str, tree: Tree, only: Sequence[str]) -> None:
    if not tree.units and only:
        listed = ", ".join(only)
        raise UsageError(usage.has_no_unit_in(name=name, listed=listed))


def _common(
    a: str, b: str, ours: Sequence[Place], theirs: Sequence[Place], chosen: _Chosen
) -> tuple[list[tuple[Place, Place]], dict[str, list[str]] | None]:
    """The steps and ranks that both dumps have, and those that one has; two single ones go together anyhow."""
    if len(ours) == len(theirs) == 1 and chosen.step is None and chosen.rank is None:
        return [(ours[0], theirs[0])], None
    pairs = list(_common_places(ours, theirs, chosen))
    if not pairs:
        raise UnreadableError(diagnose(say.no_common_rank(a=_places_text(ours), b=_places_text(theirs)), f"{a}, {b}"))
    if chosen.step is not None or chosen.rank is not None:
        return pairs, None
    met = ({one for one, _ in pairs}, {other for _, other in pairs})
    alone = [
        [place for place in places if place not in known] for places, known in zip((ours, theirs), met, strict=True)
    ]
    beside = {"a": _names_of_places(alone[0]), "b": _names_of_places(alone[1])} if any(alone) else None
    return pairs, beside


def _common_places(ours: Sequence[Place], theirs: Sequence[Place], chosen: _Chosen) -> Iterator[tuple[Place, Place]]:
    known = {(place.step, place.rank, place.order): place for place in theirs}
    for place in ours:
        other = known.get((place.step, place.rank, place.order))
        if other is not None and chosen.step in (None, place.step) and chosen.rank in (None, place.rank):
            yield place, other


def _names_of_places(places: Sequence[Place]) -> list[str]:
    return [f"step {place.step} rank {place.rank}" for place in places]


def _places_text(places: Sequence[Place]) -> str:
    return first_of(_names_of_places(places), 8)


def _table_answer(path: str, judge: Judge, configs: Configs) -> Answer:
    """The answer for a table of msprobe: of a comparison its divergence, of an accuracy precheck the failing APIs."""
    from ...evidence.dump.tables import Table, read_table

    if os.path.isdir(path):
        raise UsageError(usage.dump_compare_needs_two_dumps())
    found = read_table(path, judge)
    if isinstance(found, Table):
        part = _with_divergence(part_of_table(found), configs)
        return Answer("table", (path,), (part,), coverage_gaps([part], None, ()))
    return Answer("precheck", (path,), unseen=count_of_skipped_apis(found) or None, precheck=found)


def _render_answer(answer: Answer, format: str, language: Language, *, everything: bool, to_file: bool) -> Outgoing:  # noqa: A002
    """The answer as JSON, as CSV, or as a document in a text format or HTML."""
    if format == "json":
        return json_text(dump_compare_json(answer, language), default=list)
    if format == "csv":
        return csv_text(_rows(answer))
    from ..pages.formats import write_document

    def build(one: Language) -> Document:
        return dump_document(dump_compare_json(answer, one), one)

    return write_document(build, format, language, everything=everything, to_file=to_file)


def _rows(answer: Answer) -> Iterator[Sequence[object]]:
    """One row a tensor; for a precheck one row a failure."""
    if answer.precheck is not None:
        yield "api", "direction", "status", "message"
        yield from ((one.name, one.direction, one.status, one.message) for one in answer.precheck.failures)
        return
    yield _COLUMNS
    for part in answer.parts or ():
        place = {"step": part.step, "rank": part.rank}
        for unit in part.units:
            named = {"module": unit.module, "direction": unit.a.direction, "a": unit.a.name, "b": unit.b.name}
            yield from (_csv_row({**dump_tensor_json(tensor), **named, **place}) for tensor in unit.tensors)
        for side, names in (("a", part.only_a), ("b", part.only_b)):
            yield from (_csv_row({side: name, "why": f"only-{side}", **place}) for name in names)


def _csv_row(cells: Mapping[str, object]) -> Sequence[object]:
    return ["" if cells.get(name) is None else cells[name] for name in _COLUMNS]


Configs = list[tuple["Config", Any]]
"""Configurations and their texts."""


def divergence_context(part: PlacePart, configs: Configs) -> Parting | None:
    """The divergence of a part beside the configurations; None where there is none."""
    if (found := part.divergence) is None:
        return None
    fields = settings_behind(found)
    dump = next_dump(found, part.level, part.content, part.step, part.rank)
    dump = dump._replace(
        configs=tuple(config.file for config, _source in configs),
        first=_graph_mode_hint(configs) if dump.kind == "msprobe" else None,
    )
    sides = (("a", found.unit.a), ("b", found.unit.b))
    constant = tuple(letter for letter, unit in sides if output_is_constant(unit))
    return Parting(found, fields, _settings_behind(fields, found.unit.a.direction, configs), dump, constant)


def _graph_mode_hint(configs: Configs) -> str | None:
    """Setting with which msprobe takes more than modules, for a YAML in graph mode."""
    from ...mapper.recipe.reading import recipe_of

    static = [one for one, _ in configs if one.framework == "mindformers" and one.dialect == "static"]
    compiled = (one for one in static if recipe_of(one).value("environment.execution_mode") != "eager")
    return next((f"context.mode: 1 ({one.file})" for one in compiled), None)


_SHOWS = {"forward": ("loss", "weights", "data"), "backward": ("gradient", "loss", "weights", "data")}
"""What may be off where the two runs first part."""


def _settings_behind(fields: Sequence[str], direction: str, configs: Configs) -> Settings:
    """Of the fields behind a divergence, those that the two files set differently, and the linter's codes for them."""
    if len(configs) != 2:
        return Settings()
    from ...mapper.differences import differences
    from ...mapper.recipe.reading import recipe_of
    from ..commands.verify import findings_of

    one, other = (recipe_of(config) for config, _source in configs)
    rows = tuple(
        row
        for row in differences(one, other)
        if row.field in fields and row.status != "equal" and row.counts is not False
    )
    read, texts = [config for config, _source in configs], [source for _config, source in configs]
    rules: list[str] = []
    if read[0].framework != read[1].framework:
        told = findings_of(read, texts)
        rules = [entry.kind.code for entry in told if set(fields) & set(entry.fields) and entry.kind.severity != "info"]
    known = matching_defects(defects_of_files(read, texts), _SHOWS.get(direction, _SHOWS["backward"]), fields)
    return Settings(rows, tuple(dict.fromkeys(rules)), known)


_Json = dict[str, Any]

_REASONS = frozenset(
    ("far", "element", "widespread", "scaled", "nan", "infinite", "shape", "unreadable", "equal", "close")
)
"""Why a tensor differs, in our words; a table of msprobe's has its own."""
_MOST = 6


def dump_document(answer: _Json, language: Language) -> Document:
    """The comparison as parts: the verdict, and of each step and rank the divergence and every unit."""
    names = " · ".join(dict.fromkeys(name.rstrip("/").rpartition("/")[2] for name in answer["files"]))
    return Document(f"accmap dump compare: {names}", language, list(dump_parts(answer, language)))


def dump_parts(answer: _Json, language: Language) -> Iterator[Part]:
    """The parts of a comparison: the verdict, then a section for each step and rank."""
    word = usage.page("dump_compare", language)
    verdict: Callable[..., str] = word
    tone: Tone = "good" if answer["verdict"] == "match" else "bad" if answer["verdict"] == "diverged" else "open"
    files = " · ".join(answer["files"])
    if answer["kind"] == "precheck":
        counts = {key: answer[key] for key in ("apis", "passed", "skipped")}
        counted = word("precheck", failed=len(answer["failures"]), **counts)
        yield Verdict(verdict(answer["verdict"]), tone, [files, counted, *answer["notes"]])
        yield from _precheck_parts(answer["failures"], word)
        return
    places = [
        word("other-places", side=side.upper(), names=first_of(names, _MOST))
        for side, names in answer.get("other_places", {}).items()
        if names
    ]
    yield Verdict(verdict(answer["verdict"]), tone, [files, *_gap_summary_lines(answer, word), *places])
    yield from _merged_parts(answer, word, language)
    for number, part in enumerate(answer["parts"]):
        where = _where(part, word) or [files]
        parts = [*map(note, where[1:]), *_place_parts(part, word, language)]
        yield Section(where[0], parts, f"part{number}")


def _unit_table(part: _Json, word: DumpCompareWords) -> list[Table]:
    """Every unit with its largest error, as a table; nothing if there are none."""
    rows: list[Row] = []
    for unit in part["units"]:
        errors = [one["error"] for one in unit["tensors"] if isinstance(one["error"], (int, float))]
        state = {True: word("agrees"), False: word("differs"), None: "·"}[unit["agrees"]]
        error = _number(max(errors)) if errors else ""
        tone: Tone = "" if unit["agrees"] is None else "good" if unit["agrees"] else "bad"
        names = unit["a"] if unit["a"] == unit["b"] else f"{unit['a']} | {unit['b']}"
        rows.append(Row([code_cell(names), *cells(state, error)], state, tone))
    return [Table((word("unit"), "", word("error")), rows)] if rows else []


def _gap_summary_lines(answer: _Json, word: DumpCompareWords) -> list[str]:
    """Lines on parts that were not compared; steps and ranks have a line of their own."""
    several = len(answer["parts"]) > 1
    places = {first_of(names, _MOST) for names in answer.get("other_places", {}).values()}
    return [
        f"{word('not-compared')}: " + (f"{one['what']}: " if several else "") + one["reason"]
        for one in answer["not_compared"]
        if one["what"] not in places
    ]


def _merged_parts(answer: _Json, word: DumpCompareWords, language: Language) -> Iterator[Part]:
    """A list of the first divergences of the ranks, the earliest place first."""
    merged = answer.get("merged", ())
    if merged:
        count = sum(len(entry["places"]) for entry in merged)
        yield note(usage.merged_head(count=count, all=len(answer["parts"])).text(language))
        yield from bullets((_merged_line(entry, word, language) for entry in merged), is_long=True)


def _merged_line(entry: _Json, word: DumpCompareWords, language: Language) -> str:
    places = first_of(entry["places"], _MOST)
    told = usage.merged_place(places=places, module=entry["module"], direction=word(entry["direction"]))
    return told.text(language)


def _place_parts(part: _Json, word: DumpCompareWords, language: Language) -> Iterator[Part]:
    """The parts of a step and rank: the divergence, what was not compared, and every unit."""
    content: Any = part["a"]["content"] if "a" in part else _most_exact_content(part)
    counted = part["compared"]["without_numbers"]
    if part["compared"]["missing"] > counted:
        yield note(word("missing-inputs", part["compared"]["missing"] - counted))
    if part["first_divergence"] is not None:
        yield _divergence_card(part["first_divergence"], word, language)
    gaps = [_gap_line(gap, word) for gap in part["gaps"]]
    alone = [f"{one['side'].upper()}: {one['unit']}.{one['place']}" for one in part["unmatched"]]
    lists = {word("gaps"): gaps, word("unmatched"): alone}
    lists |= {word(key): part[key] for key in ("only_a", "only_b", "unreadable", "notes")}
    for heading, names in {**lists, word("marked"): part.get("marked_by_msprobe", ())}.items():
        if names:
            yield Section(heading, bullets(names, is_long=True), size=len(names))
    if part.get("tree"):
        yield Section(usage.tree_head().text(language), [Code("", 0, part["tree"])])
    compared = word("compared", content=word(content) if content else "", **part["compared"])
    yield Section(compared, _unit_table(part, word), is_folded=True)


def _where(part: _Json, word: DumpCompareWords) -> list[str]:
    """The step and rank of a part, and those of each side where they are others."""
    lines: list[str] = []
    if part["step"] is not None or part["rank"] is not None:
        lines.append(word("step", step=part["step"], rank=part["rank"]))
    places = [(part[side]["step"], part[side]["rank"]) for side in ("a", "b") if side in part]
    if len(set(places)) > 1 and None not in places[0] + places[1]:
        lines.append(word("places", *places[0], *places[1]))
    return lines


def _gap_line(gap: _Json, word: DumpCompareWords) -> str:
    told = {**gap, "direction": word(gap["direction"]) if gap["direction"] else ""}
    what = word("gap-pass" if gap["part"] else "gap-share", **told)
    return word("gap", side="A" if gap["side"] == "b" else "B", what=what)


def _most_exact_content(part: _Json) -> str:
    ways = {tensor["how"] for unit in part["units"] for tensor in unit["tensors"]}
    return next((way for way in ("elements", "statistics", "checksum") if way in ways), "")


def _units_text(found: _Json, word: DumpCompareWords) -> str:
    """The units of both sides, and the pass of a dump of inference."""
    names = found["a"] if found["a"] == found["b"] else f"{found['a']} | {found['b']}"
    return f"{names} {word('inference_pass')} {found['inference_pass']}" if found["inference_pass"] else names


def _divergence_card(found: _Json, word: DumpCompareWords, language: Language) -> Card:
    """The first divergence of two dumps: cause, tensors, the units around it, related settings, the next step."""
    tensors = [_tensor_line(tensor, word, language) for tensor in found["tensors"]]
    parts: list[Part] = [note(usage.page("dump_cause", language)(found["cause"]))]
    parts += [note(word("constant", side.upper())) for side in found["constant"]]
    parts += bullets(tensors, is_long=True)
    lines: list[str] = []
    for key in ("before", "after"):
        if found[key] is not None:
            state = word("agrees" if found[key]["agrees"] else "differs")
            lines.append(f"{word(key)}: {found[key]['a']} ({state})")
    if found["gradual"]:
        lines.append(word("gradual"))
        lines += [word("jump", found["largest_jump"])] if found["largest_jump"] else []
    if found["different_fields"]:
        lines.append(f"{word('differ')} {', '.join(map(_field_text, found['different_fields']))}")
    elif found["fields"] and found["cause"] != "weights":
        lines.append(f"{word('depends')}: {', '.join(found['fields'])}")
    if found["rules"]:
        lines.append(f"{word('rules')}: {', '.join(found['rules'])}")
    lines += [f"{word('defect')} {one['code']}: {title(one['code'], language)}" for one in found["defects"]]
    lines += _next_step_lines(found["next_dump"], word)
    head = Words(f"{word('first')}: "), Words(_units_text(found, word), is_code=True, tone="bad")
    return Card(head, [*parts, *map(note, lines)])


def _next_step_lines(dump: _Json, word: DumpCompareWords) -> list[str]:
    if dump["command"] is not None:
        first = [] if dump["first"] is None else [word("eager", dump["first"])]
        return [*first, f"{word('next')}: {dump['command']}"]
    return [word("fine", *dump["scope_a"])]


def _field_text(row: _Json) -> str:
    sides = (row[side] for side in ("a", "b"))
    return f"{row['field']} ({' | '.join('-' if side is None else str(side['value']) for side in sides)})"


def _tensor_line(tensor: _Json, word: DumpCompareWords, language: Language) -> str:
    """One differing tensor as text: name, reason, errors, shares within tolerance, shapes and types."""
    name = tensor["tensor"] if tensor["tensor"] == tensor["partner"] else f"{tensor['tensor']} | {tensor['partner']}"
    why = tensor["why"]
    parts = [f"{name}: {usage.page('dump_reason', language)(why) if why in _REASONS else why}"]
    if tensor["error"] is not None:
        parts.append(f"{_number(tensor['error'])}")
    for key, shown in (("cosine", "cosine"), ("max_abs", word("max_abs")), ("max_rel", word("max_rel"))):
        if tensor.get(key) is not None:
            parts.append(f"{shown} {_number(tensor[key])}")
    for key, shown in (("within_thousandth", "<0.001"), ("within_five_thousandths", "<0.005")):
        if tensor.get(key) is not None:
            parts.append(f"{shown}: {tensor[key]:.2%}")
    if tensor["why"] == "shape":
        parts.append(f"{tensor['shape_a']} | {tensor['shape_b']}")
    if tensor["dtype_a"] != tensor["dtype_b"]:
        parts.append(f"{tensor['dtype_a']} | {tensor['dtype_b']}")
    if tensor["note"]:
        parts.append(tensor["note"])
    return ", ".join(parts)


def _precheck_parts(failures: Sequence[_Json], word: DumpCompareWords) -> Iterator[Part]:
    """A card for each API that failed; those after the first ones are folded."""
    cards: list[Part] = []
    for at, failure in enumerate(failures):
        head = f"{word('first-failure')}: " if at == 0 else ""
        message = f"  {failure['message']}" if failure["message"] else ""
        details: list[str] = []
        for row in failure["details"]:
            values = ", ".join(f"{name} {value}" for name, value in row.items() if _has_content(name, value))
            details.append(f"{row.get('API Name', '')}: {values}")
        told = f"{head}{failure['api']} {failure['direction']}: {failure['status']}{message}"
        cards.append(Card([Words(told)], bullets(details, is_long=True)))
    yield from cards[: _MOST * 2]
    if len(cards) > _MOST * 2:
        yield Section(word("more", len(cards) - _MOST * 2), cards[_MOST * 2 :], is_folded=True)


def _has_content(name: str, value: str) -> bool:
    return name not in ("API Name", "Message", "Status") and value.strip() not in ("", " ", "N/A", "None")


def _number(value: Any) -> str:
    """A number with three significant digits; anything else as text."""
    return f"{value:.3g}" if isinstance(value, (int, float)) else str(value)

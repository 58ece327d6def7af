"""Evaluation scores against a benchmark's: the last acceptance of inference in the guide.

"Only when the evaluation score of the dataset and the benchmark data can meet an error of 0.4%" (seed 003, Dataset
Evaluation). The guide does not say of what; an error of 0.4% is read here as relative to the benchmark's score, which
is the stricter reading for any score up to 100, and `absolute` counts points of the score instead.

Read are: a number, JSON and YAML of any nesting (lm-evaluation-harness' `results`, OpenCompass' and EvalScope's
reports among them), CSV with a column of names and one of scores (OpenCompass' summary), and lines `name score`.

Two scores are one task's only if both evaluations were made alike. lm-evaluation-harness
(`lm_eval/evaluator.py:evaluate`) writes beside `results` how many samples of each task were taken, the shots, the
task's version, and for which metrics a higher score is the better one. OpenCompass' summary has columns for the version
(the prompt's hash) and the mode.
"""

from __future__ import annotations

import csv
import fnmatch
import io
import json
import math
import os
import re
from typing import TYPE_CHECKING, Any, cast

from ..schemas.border.file_input import read_text
from ..schemas.diagnostic import UnreadableError, diagnose
from ..schemas.fast_records import NamedTuple
from ..schemas.message import Words, verbatim
from ..schemas.yaml_reader.node import refuse_deep
from .bounded_files import as_list, as_object, parse_json
from .messages_compiled import say
from .score_names_compiled import ACCURACY, ANSWERS, NAMES, NOT_SCORES, QUESTION_IDS, QUESTIONS, SCORES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

TOLERANCE = 0.4
"""Percent."""

ALONE = "score"
"""What a single number without a name is called."""

_ASIDE = re.compile(
    r"^i(d|dx|ndex)$|_id$|stderr|alias|version|n-shot|num_fewshot|^config|^date|timestamp|seed|git_hash|sample|^num$|count|higher_is"
)
"""Numbers of a report that are no scores."""
_DEEPEST_RECORDS = 4
_NAMES = frozenset(NAMES)
_SAMPLE = 50
"""Records that tell a file of answers from a report of scores."""
_LINE = re.compile(
    r"^\s*(?P<name>.*?\S)\s*(?:[:=,|\t]|\s)\s*(?P<score>[-+]?[\d.]+(?:[eE][-+]?\d+)?|nan|inf|-inf)\s*%?\s*\|?\s*$"
)


class ScoreRow(NamedTuple):
    """One task, or the mean of all."""

    name: str
    score: float
    benchmark: float
    error: float
    """Percent of the benchmark, or points with `absolute`; signed."""
    passes: bool


class ScoreCheck(NamedTuple):
    """The result of a comparison of scores."""

    rows: tuple[ScoreRow, ...]
    mean: ScoreRow
    tolerance: float
    absolute: bool
    only_scores: tuple[str, ...]
    only_benchmark: tuple[str, ...]
    notes: tuple[Words, ...]
    other_metrics: tuple[SettingDifference, ...] = ()
    """The tasks that each side measures by a metric of another name."""

    @property
    def passes(self) -> bool:
        """True if every task and the mean pass."""
        return self.mean.passes and all(row.passes for row in self.rows)


def read_scores(given: str, metrics: Sequence[str] = ()) -> tuple[dict[str, float], Settings]:
    """Scores and settings in a file or in a number given instead; `metrics` selects by pattern.

    `metrics` are patterns to choose by. The file is read once: it may be a process substitution.
    """
    alone = _number(given)
    if alone is not None and not os.path.exists(given):
        return {ALONE: alone}, NOTHING_SAID
    text = read_text(given).text
    found = _parse_scores(given, text)
    if metrics:
        found = {name: score for name, score in found.items() if _matches_metrics(name, metrics)}
    if not found:
        raise UnreadableError(diagnose(say.scores_none(path=given), given))
    return found, settings_of(text)


def check_scores(
    scores: Mapping[str, float],
    benchmark: Mapping[str, float],
    *,
    tolerance: float = TOLERANCE,
    absolute: bool = False,
    at_least: bool = False,
    reports: Sequence[Settings] = (),
    names: tuple[str, str] = ("scores", "benchmark"),
) -> ScoreCheck:
    """Comparison of common tasks and of their means."""
    notes: list[Words] = []
    others: list[SettingDifference] = []
    pairs, only_scores, only_benchmark = _pair_scores(scores, benchmark, notes, others)
    if not pairs:
        said = say.scores_no_common(a=names[0], b=names[1], ours=_first_names(scores), theirs=_first_names(benchmark))
        raise UnreadableError(diagnose(said, names[0]))

    # Fractions are a hundredth of the points that a tolerance counts.
    finite = [abs(value) for _, *values in pairs for value in values if math.isfinite(value)]
    points = 100.0 if max(finite, default=0.0) <= 1 else 1.0

    def score_row(name: str, score: float, known: float) -> ScoreRow:
        error = (score - known) * points if absolute else _percent(score, known)
        better = error < 0 if lower_is_better(name, *reports) else error > 0
        passes = math.isfinite(error) and (abs(error) <= tolerance + 1e-9 or (at_least and better))
        return ScoreRow(name, score, known, error, passes)

    rows = tuple(score_row(name, score, known) for name, score, known in pairs)
    mean = score_row("mean", *(sum(values) / len(rows) for values in zip(*(row[1:3] for row in rows), strict=True)))
    lower = at_least and any(lower_is_better(row.name, *reports) for row in rows)
    if lower:
        # A mean over both kinds goes neither way: what passes is every task by itself.
        mean = mean._replace(passes=mean.passes or all(row.passes for row in rows))
    notes += _notes(rows, fractions=absolute and points > 1, lower=lower)
    return ScoreCheck(rows, mean, tolerance, absolute, only_scores, only_benchmark, tuple(notes), tuple(others))


def _notes(rows: Sequence[ScoreRow], *, fractions: bool, lower: bool) -> Iterator[Words]:
    """Notes on fractions, on metrics where less is better, and on percent on one side only."""
    if fractions:
        yield say.scores_are_fractions()
    if lower:
        yield say.less_is_better()
    ratios = [row.score / row.benchmark for row in rows if row.benchmark and math.isfinite(row.score)]
    if ratios and any(all(low < ratio < high for ratio in ratios) for low, high in _HUNDREDFOLD):
        yield say.one_side_looks_like_percent()


def _percent(score: float, known: float) -> float:
    """Relative difference in percent; infinite if only the benchmark is 0."""
    if known:
        return (score - known) / abs(known) * 100
    return 0.0 if score == known else math.inf if score > 0 else -math.inf


_HUNDREDFOLD = ((80, 125), (0.008, 0.0125))


def _pair_scores(
    scores: Mapping[str, float], benchmark: Mapping[str, float], notes: list[Words], others: list[SettingDifference]
) -> tuple[list[tuple[str, float, float]], tuple[str, ...], tuple[str, ...]]:
    """Scores paired by task, and names without a partner on each side."""
    if len(scores) == len(benchmark) == 1 and ALONE in (*scores, *benchmark):
        name = next((name for name in (*scores, *benchmark) if name != ALONE), ALONE)
        return [(name, next(iter(scores.values())), next(iter(benchmark.values())))], (), ()
    both = scores, benchmark
    if min(map(len, both)) == 1 and any(list(one) == [ALONE] for one in both):
        notes.append(say.one_number_is_compared_with(count=max(map(len, both))))
        score, benchmark_names = (one[ALONE] if list(one) == [ALONE] else sum(one.values()) / len(one) for one in both)
        return [("mean", score, benchmark_names)], (), ()
    benchmark_names = {_plain(name): name for name in benchmark}
    pairs: list[tuple[str, float, float]] = []
    alone: list[str] = []
    tasks = _by_task(scores), _by_task(benchmark)
    for name, score in scores.items():
        task = _plain(name.partition("/")[0])
        partner = benchmark_names.pop(_plain(name), None)
        if partner is None and tasks[0].get(task) == name and tasks[1].get(task) in benchmark_names.values():
            partner = benchmark_names.pop(_plain(tasks[1][task]))
            others += _of_other_metrics(name, partner)
        if partner is None:
            alone.append(name)
        else:
            pairs.append((name, score, benchmark[partner]))
    return pairs, tuple(alone), tuple(benchmark_names.values())


def _of_other_metrics(score: str, benchmark: str) -> Iterator[SettingDifference]:
    """Setting difference if two paired names use different metrics."""
    (task, _, ours), (_, _, theirs) = score.partition("/"), benchmark.partition("/")
    one, other = (metric.strip().lower() for metric in (ours, theirs))
    if one and other and not {one, other} <= set(ACCURACY):
        yield SettingDifference(task, "metric", ours, theirs)


def _plain(name: str) -> str:
    """Task name in lower case without filter suffix and separators."""
    return re.sub(r"[\s_\-]+", "", re.sub(r",none\b", "", name.strip().lower()))


def _by_task(scores: Mapping[str, float]) -> dict[str, str]:
    """Score name by task, for tasks with a single score."""
    tasks: dict[str, list[str]] = {}
    for name in scores:
        tasks.setdefault(_plain(name.partition("/")[0]), []).append(name)
    return {task: names[0] for task, names in tasks.items() if len(names) == 1}


def _first_names(scores: Mapping[str, float]) -> str:
    names = list(scores)
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _matches_metrics(name: str, metrics: Sequence[str]) -> bool:
    last = name.rpartition("/")[2]
    return any(fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(last, pattern) for pattern in metrics)


_MOST_TEXT = 2 << 20
_MOST_SCORES = 20_000
"""A report has some hundred scores; what each takes in memory is many times its text."""
_MOST_VALUES = 200_000
"""A few lines of YAML aliases may stand for billions of values."""


def _parse_scores(path: str, text: str) -> dict[str, float]:
    """Scores by name in a text; UnreadableError if a task has two values."""
    if len(text) > _MOST_TEXT:
        raise _unreadable(path, say.characters_are_no_report_of(count=len(text)))
    scores: dict[str, float] = {}
    spelt: dict[str, str] = {}
    for name, score, line in _scores_of(path, text.strip()):
        before = scores.get(spelt.setdefault(_plain(name), name), score)
        if before != score and not (math.isnan(before) and math.isnan(score)):
            # Which of the two is meant cannot be told: no answer may rest on either.
            place = say.at_line(line=line) if line else verbatim("")
            raise _unreadable(path, say.task_stands_twice(name=name, first=before, second=score, place=place))
        scores[name] = score
        if len(scores) > _MOST_SCORES:
            raise _unreadable(path, say.it_has_more_than_scores(most_scores=_MOST_SCORES))
    return scores


def _scores_of(path: str, stripped: str) -> Iterable[tuple[str, float, int | None]]:
    """Name, score and line of each score in a text of any known form."""
    alone = _number(stripped)
    if alone is not None:
        return [(ALONE, alone, None)]
    if stripped[0] in "{[" or path.lower().endswith(".json"):
        _refuse_answers(path, stripped.partition("\n")[0])
        written = _json(path, stripped)
        _refuse_records(path, written)
        return _flat(written)
    if path.lower().endswith((".yaml", ".yml")):
        return _flat(_yaml(path, stripped))
    if path.lower().endswith(".csv") or stripped.splitlines()[0].count(",") >= 1:
        return _table(path, stripped)
    return _lines(path, stripped)


def _refuse_answers(path: str, line: str) -> None:
    """UnreadableError for JSON Lines of answers, whose numbers are not scores."""
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(first, dict) and _is_answer(as_object(first)):
        raise _unreadable(path, say.scores_are_answers())


def _refuse_records(path: str, written: Any) -> None:
    """UnreadableError for a report of single answers."""
    waiting: list[tuple[Any, int]] = [(written, 0)]
    for value, depth in waiting:
        listed = _first_values(value)
        records = [as_object(one) for one in listed if isinstance(one, dict)]
        if records and len(records) == len(listed) and all(map(_is_answer, records)):
            raise _unreadable(path, say.scores_are_answers())
        if isinstance(value, list) and records and not any(_is_named(record) for record in records):
            raise _unreadable(path, say.scores_without_names())
        if depth < _DEEPEST_RECORDS:
            waiting += ((one, depth + 1) for one in listed if isinstance(one, (dict, list)))


def _first_values(value: Any) -> list[Any]:
    """First values of a list or object."""
    return (list(as_object(value).values()) if isinstance(value, dict) else as_list(value))[:_SAMPLE]


def _is_named(record: Mapping[str, Any]) -> bool:
    """True if a record names its subject or holds further reports."""
    return not _NAMES.isdisjoint(record) or any(isinstance(one, (dict, list)) for one in record.values())


def _is_answer(members: Iterable[str]) -> bool:
    """True if these keys look like a question with its answer."""
    names = set(members)
    asked = not names.isdisjoint((*QUESTIONS, *QUESTION_IDS)) or "text" in names
    return asked and ("text" in names or not names.isdisjoint(ANSWERS))


def _json(path: str, text: str) -> Any:
    """Parsed JSON; UnreadableError with the place of the fault."""
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"), 2, _one_value_each)
    except _TwoValuesError as error:
        why = say.key_has_two_values(key=error.key, place=_place_of(text, error.key))
    except ValueError as error:
        place = verbatim(f" ({error})")
        if isinstance(error, json.JSONDecodeError):
            place = say.at_line_column(lineno=error.lineno, colno=error.colno)
        why = say.json_not_whole(place=place)
    raise _unreadable(path, why)


def _yaml(path: str, text: str) -> Any:
    """Parsed YAML; UnreadableError for faults, repeated keys and too many values."""
    import yaml

    try:
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        refuse_deep(text, loader)
        top: Any = yaml.compose(text, loader)
        size = 0 if top is None else _size(top, {})
        if size <= _MOST_VALUES:
            if top is not None:
                _refuse_repeated(top)
            return yaml.load(text, loader)
        why = say.it_has_more_than_values(most_values=_MOST_VALUES) if size < math.inf else say.it_stands_in_itself()
    except _TwoValuesError as error:
        why = say.key_has_two_values(key=error.key, place=say.at_line(line=error.line))
        raise _unreadable(path, why) from None
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        first = str(error).splitlines()[0]
        why = say.yaml_unread(first=first)
    raise _unreadable(path, why)


class _TwoValuesError(ValueError):
    """A key that stands twice in one mapping, with another value."""

    def __init__(self, key: str, line: int = 0) -> None:
        super().__init__(key)
        self.key = key
        self.line = line


def _one_value_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Object from pairs; _TwoValuesError if a key has two values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _TwoValuesError(key)
        found[key] = value
    return found


def _place_of(text: str, key: str) -> Words:
    """Message with the line of a key's second occurrence."""
    parts = text.split(json.dumps(key, ensure_ascii=False))
    return say.at_line(line=1 + parts[0].count("\n") + parts[1].count("\n")) if len(parts) == 3 else verbatim("")


def _refuse_repeated(top: Any) -> None:
    """Raise _TwoValuesError if a YAML mapping has a key with two values."""
    import yaml

    waiting: list[Any] = [top]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            known: dict[str, Any] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if not _is_same(known.setdefault(key.value, value), value):
                    raise _TwoValuesError(key.value, key.start_mark.line + 1)
            waiting += (value for _, value in node.value)


def _is_same(one: Any, other: Any) -> bool:
    """True if two YAML nodes hold equal content."""
    if one is other:
        return True
    if one.tag != other.tag or one.id != other.id:
        return False
    if one.id == "scalar":
        return one.value == other.value
    pairs = zip(_parts(one), _parts(other), strict=False)
    return len(one.value) == len(other.value) and all(_is_same(left, right) for left, right in pairs)


def _parts(node: Any) -> list[Any]:
    """Children of a YAML node; keys and values alternate."""
    if node.id == "mapping":
        return [part for pair in node.value for part in pair]
    return node.value if node.id == "sequence" else []


def _size(node: Any, known: dict[int, float]) -> float:
    """Number of values in a YAML node with aliases expanded; infinite if it contains itself."""
    if id(node) not in known:
        known[id(node)] = math.inf
        known[id(node)] = 1 + sum(_size(part, known) for part in _parts(node))
    return known[id(node)]


def _flat(written: Any) -> Iterator[tuple[str, float, int | None]]:
    """Every score of a report as `task/metric`; other numbers are left out."""
    if isinstance(written, dict) and isinstance(written.get("results"), dict):  # pyright: ignore[reportUnknownMemberType]
        written = written["results"]  # pyright: ignore[reportUnknownVariableType]
    yield from ((name, score, None) for name, score in _leaves(written, ""))  # pyright: ignore[reportUnknownArgumentType]


def _named_items(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Items of a list by their name, else by number."""
    for at, item in enumerate(items):
        entries = as_object(item)
        yield next((str(entries[key]) for key in NAMES if key in entries), str(at)), item


def _leaves(written: Any, path: str, depth: int = 0) -> Iterator[tuple[str, float]]:
    """Scores in nested values, each with its path."""
    if depth > 8:
        return
    if isinstance(written, dict):
        entries: dict[Any, Any] = written  # pyright: ignore[reportUnknownVariableType]
        yield from _entries(entries.items(), path, depth)
    elif isinstance(written, list):
        listed: list[Any] = written  # pyright: ignore[reportUnknownVariableType]
        if not path or any(isinstance(item, dict) for item in listed):
            yield from _entries(_named_items(listed), path, depth + 1)
    else:
        score = _number(written)
        if score is not None:
            yield path or ALONE, score


def _entries(entries: Iterable[tuple[Any, Any]], path: str, depth: int) -> Iterator[tuple[str, float]]:
    """Scores of named values, without standard errors and the like."""
    for key, value in entries:
        name = re.sub(r",none$", "", str(key))
        if not _ASIDE.search(name.lower()):
            yield from _leaves(value, f"{path}/{name}" if path else name, depth + 1)


def _table(path: str, text: str) -> Iterator[tuple[str, float, int | None]]:
    """Name, score and line of each row of a table."""
    rows = _rows_of_table(path, text)
    headless = any(_number(cell) is not None for cell in rows[0])
    header = [] if headless else [cell.strip().lower() for cell in rows[0]]
    body = rows if headless else rows[1:]
    names, column = _columns(header)
    if column is None:
        _refuse_several(path, header, body, names)
    for line, row in enumerate(body, len(rows) - len(body) + 1):
        if header and len(row) != len(header):
            raise _unreadable(path, say.line_has_columns(line=line, found=len(row), count=len(header)))
        at = column if column is not None else _last_score(row, header)
        score = None if at is None else _number(row[at])
        if score is not None:
            yield _score_name(row, header, names), score, line


def _rows_of_table(path: str, text: str) -> list[list[str]]:
    """Non-empty rows of a CSV text."""
    try:
        return [row for row in csv.reader(io.StringIO(text), strict=True) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise _unreadable(path, verbatim(error)) from None


def _columns(header: Sequence[str]) -> tuple[int, int | None]:
    """Column of names and column of scores; None if no header marks the scores."""
    names = next((header.index(name) for name in NAMES if name in header), 0)
    return names, next((header.index(name) for name in SCORES if name in header), None)


def _score_name(row: Sequence[str], header: Sequence[str], names: int) -> str:
    """Name of a row's score: the task, and the metric if there is such a column."""
    metric = row[header.index("metric")].strip() if "metric" in header else ""
    return f"{row[names].strip()}/{metric}" if metric else row[names].strip()


def _refuse_several(path: str, header: Sequence[str], body: Sequence[Sequence[str]], names: int) -> None:
    """UnreadableError if columns hold answers or several could be the scores."""
    if _is_answer(header):
        raise _unreadable(path, say.scores_are_answers())
    named = [at for at in range(len(header)) if at != names and header[at] not in NOT_SCORES]
    numbers = [at for at in named if any(at < len(row) and _number(row[at]) is not None for row in body)]
    if len(numbers) > 1:
        raise _unreadable(path, say.several_columns(columns=", ".join(header[at] for at in numbers)))


def _last_score(row: Sequence[str], header: Sequence[str]) -> int | None:
    """Last numeric column of a row, which OpenCompass names after the model."""
    for at in range(len(row) - 1, 0, -1):
        if _number(row[at]) is not None and not (header and header[at] in NOT_SCORES):
            return at
    return None


def _lines(path: str, text: str) -> Iterator[tuple[str, float, int | None]]:
    """Name, score and line number of plain lines `name score`."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.match(line)
        score = None if found is None else _number(found["score"])
        if found is None or score is None:
            text = repr(line.strip()[:60])
            raise _unreadable(path, say.line_is_no_name_score(number=number, text=text))
        yield found["name"].strip(" |:="), score, number


def _unreadable(path: str, why: Words) -> UnreadableError:
    return UnreadableError(diagnose(say.scores_unreadable(path=path, why=why), path))


def _number(written: Any) -> float | None:
    """Number of a value or text, percent signs ignored; None if it is not one."""
    if isinstance(written, bool):
        return None
    if isinstance(written, (int, float)):
        try:
            return float(written)
        except OverflowError:  # a whole number of more than three hundred digits
            return math.inf if written > 0 else -math.inf
    if isinstance(written, str):
        text = written.strip().rstrip("%").strip()
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|nan|[-+]?inf", text, re.IGNORECASE):
            return float(text)
    return None


_LISTS = {"n-samples": "samples", "n-shot": "shots", "versions": "version"}
_COLUMNS = ("version", "mode")
_COUNT = re.compile(r"num|count|total|n_samples|num_(samples|questions)|samples|questions", re.IGNORECASE)
_LOWER = re.compile(r"perplexity|bits_per_byte|(^|[/_])(ppl|wer|cer|mse|mae|brier_score)$|loss$")
"""Metrics of which less is better, whatever a report says of them."""


class Settings(NamedTuple):
    """The evaluation settings that a report names beside its scores."""

    told: Mapping[tuple[str, str], str]
    """By task and by what it is: `samples`, `shots`, `version`, `mode`."""
    lower: frozenset[str]
    """`task/metric` of which less is better."""


class SettingDifference(NamedTuple):
    """A task that was not evaluated alike."""

    task: str
    what: str
    scores: str
    benchmark: str


NOTHING_SAID = Settings({}, frozenset())
"""Of a number, or a mere list of scores."""


def settings_of(text: str) -> Settings:
    """Evaluation settings in a report's text."""
    text = text.strip()
    if text.startswith("{"):
        return _of_report(parse_json(text.encode("utf-8", "surrogatepass"), 2))
    return Settings(dict(_of_table(text)), frozenset())


def setting_differences(scores: Settings, benchmark: Settings) -> Iterator[SettingDifference]:
    """Settings that both reports have with different values."""
    for (task, what), ours in scores.told.items():
        theirs = benchmark.told.get((task, what), ours)
        if ours != theirs:
            yield SettingDifference(task, what, ours, theirs)


def lower_is_better(name: str, *reports: Settings) -> bool:
    """True if a lower value of a metric (`task/metric`) is better."""
    return any(name in report.lower for report in reports) or _LOWER.search(name.lower()) is not None


def _of_report(report: Any) -> Settings:
    """Evaluation settings in a JSON report, and metrics that are better if lower."""
    settings: dict[tuple[str, str], str] = {}
    if not isinstance(report, dict):
        return Settings(settings, frozenset())
    whole = cast("dict[str, Any]", report)
    for key, what in _LISTS.items():
        for task, value in _items_of(whole.get(key)):
            known = value.get("effective") if isinstance(value, dict) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            if isinstance(known, (int, float, str)):
                settings[task, what] = str(known)
    for task, count in _counts(whole, ""):
        settings.setdefault((task, "samples"), str(count))
    lower = {
        f"{task}/{metric}"
        for task, metrics in _items_of(whole.get("higher_is_better"))
        for metric, higher in _items_of(metrics)
        if higher is False
    }
    return Settings(settings, frozenset(lower))


def _counts(written: Any, path: str, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Number of questions of each part of a report."""
    entries = list(_named_items(as_list(written))) if isinstance(written, list) else _items_of(written)
    for key, value in entries if depth <= 4 else ():
        name = f"{path}/{key}" if path else key
        if isinstance(value, int) and not isinstance(value, bool) and _COUNT.fullmatch(key):
            yield path or ALONE, value
        elif isinstance(value, (dict, list)) and key not in _LISTS:
            yield from _counts(value, name, depth + 1)


def _items_of(written: Any) -> list[tuple[str, Any]]:
    return list(cast("dict[str, Any]", written).items()) if isinstance(written, dict) else []


def _of_table(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Evaluation settings in the columns of a CSV report."""
    try:
        rows: Sequence[Sequence[str]] = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        return  # no table; the scores were read by another form
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    for row in rows[1:]:
        for what in _COLUMNS:
            if what in header and len(row) == len(header):
                yield (row[0].strip(), what), row[header.index(what)].strip()

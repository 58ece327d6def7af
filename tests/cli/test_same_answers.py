"""One question, one answer: in either order of the sides, through every interface, before and after a conversion."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from changed_examples import FILES, NAMES, RAMPED, SCRIPT, YAML, changed, example, pairs, ramped, read

import accmap as library
from accmap.cli.language_server.open_files import OpenFiles
from accmap.mapper.differences import Comparison, compare, difference_of
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.schedule.comparison import compare as compare_curves
from accmap.mapper.schedule.curve import UndecidedError, shared_steps
from accmap.mapper.schedule.from_config import schedule_of
from accmap.mapper.translate.read_back import as_read, text_of
from accmap.mapper.translate.translation import translate
from accmap.rules.catalog_compiled import COMPARED
from accmap.rules.engine import check
from accmap.rules.registry import compared_fields
from accmap.rules.subject import Side, Subject
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accmap.mapper.differences import Difference
    from accmap.mapper.translate.result import ReportRow
    from accmap.schemas.config import Config

Accmap: TypeAlias = "Callable[..., Any]"
SLOW = pytest.mark.slow
_SWAPPED = {"only-a": "only-b", "only-b": "only-a"}


def of_two(one: Config, other: Config) -> Comparison:
    return compare([one, other], [recipe_of(one), recipe_of(other)])


# --- the sides swapped ------------------------------------------------------------------------------------------------


def swapped(row: Difference) -> Difference:
    return row._replace(a=row.b, b=row.a, status=_SWAPPED.get(row.status, row.status))  # type: ignore[arg-type]


def assert_symmetric(one: Config, other: Config) -> int:
    """The number of rows that were compared both ways."""
    found, back = of_two(one, other), of_two(other, one)
    assert found.verdict == back.verdict
    assert Counter(map(repr, found.rows)) == Counter(repr(swapped(row)) for row in back.rows)
    assert {row.what for row in found.unseen} == {row.what for row in back.unseen}
    return len(found.rows)


@pytest.mark.parametrize(("count", "seed"), [(16, 1), pytest.param(1500, 2, marks=SLOW)])
def test_no_row_depends_on_the_order_of_the_sides(count: int, seed: int) -> None:
    compared_rows = 0
    for name, text, other_name, other_text in pairs(count, seed):
        one, other = read(name, text), read(other_name, other_text)
        if one is not None and other is not None:
            compared_rows += assert_symmetric(one, other)
    assert compared_rows > 100 * count


def test_a_key_of_a_fork_has_one_impact(accmap: Accmap) -> None:
    """`--train-mode pretrain` changes nothing and `finetune` does: the graver of both decides."""
    text = example("qwen3_dense", SCRIPT).replace("--bf16", "--bf16 --train-mode MODE --extra-vocab-size 0")
    files = {f"{mode}.sh": text.replace("MODE", mode) for mode in ("pretrain", "finetune")}
    orders = (("pretrain.sh", "finetune.sh"), ("finetune.sh", "pretrain.sh"))
    answers = [accmap("diff", *order, "--format", "json", files=files) for order in orders]
    assert [answer.code for answer in answers] == [1, 1]
    rows = [row for answer in answers for row in json.loads(answer.out)["rows"] if row["status"] == "different"]
    assert [(row["field"], row["a"]["key"], row["impact"]) for row in rows] == [(None, "train_mode", "numerics")] * 2


@pytest.mark.parametrize(("count", "seed"), [(2, 3), pytest.param(60, 4, marks=SLOW)])
def test_no_command_depends_on_the_order_of_the_files(accmap: Accmap, count: int, seed: int) -> None:
    for name, text, other_name, other_text in pairs(count, seed):
        files = {name: text, other_name: other_text}
        for command in ("diff", "lint", "lr"):
            told = [
                accmap(command, *order, "--format", form, *(("--no-cache",) if command == "lint" else ()), files=files)
                for order in ((name, other_name), (other_name, name))
                for form in ("json", "text")
            ]
            assert len({answer.code for answer in told}) == 1, (command, text, other_text)
            if told[0].code < 2:
                alike = Path(name).suffix == Path(other_name).suffix
                assert _gist(command, told[0].out, alike=alike) == _gist(command, told[2].out, alike=alike)


@pytest.mark.parametrize(("count", "seed"), [(2, 11), pytest.param(40, 12, marks=SLOW)])
def test_neither_python_nor_the_page_depends_on_the_order(
    accmap: Accmap, tmp_path: Path, count: int, seed: int
) -> None:
    for name, text, other_name, other_text in pairs(count, seed):
        if read(name, text) is None or read(other_name, other_text) is None:
            continue
        files, given = {name: text, other_name: other_text}, [str(tmp_path / name), str(tmp_path / other_name)]
        pages: list[Counter[tuple[str, str, str]]] = []
        codes: list[int] = []
        for order in (given, given[::-1]):
            words = ("--profile", "train", "--no-config", "-o", str(tmp_path / "page.html"), "--force")
            codes.append(accmap("report", *order, *words, files=files).code)
            pages.append(_page_rows((tmp_path / "page.html").read_text("utf-8")))
        assert codes[0] == codes[1]
        assert pages[0] == Counter((field, b, a) for field, a, b in pages[1].elements())
        rows, back = library.diff(given[0], given[1]), library.diff(given[1], given[0])
        assert rows.verdict == back.verdict
        assert Counter(map(repr, rows)) == Counter(repr(swapped(row)) for row in back)


def _shown(page: str) -> str:
    """The part of a page that is shown at the beginning: it is in one of two languages."""
    return page[page.index("<main ") : page.index("</main>")]


def _page_rows(page: str) -> Counter[tuple[str, str, str]]:
    """What each row of the page shows of the field and of both sides."""
    cell = r'<td data-head="{}">(.*?)</td>'
    name = r'<td data-head="[^"]*"><code>(.*?)</code>(?:<small>.*?</small>)?</td>'
    found = re.findall(name + cell.format("A") + cell.format("B"), _shown(page))
    assert len(found) == _shown(page).count('<td data-head="A">')
    return Counter(found)


def _gist(command: str, out: str, *, alike: bool) -> object:
    """An answer without the order of the sides. Of two files alike, the second is the one that findings are in."""
    answer = json.loads(out)
    if command == "lint" and alike:
        return Counter(
            (one["code"], one["severity"], tuple(sorted(re.findall(r"[\w./-]+", one["message"]))))
            for one in answer["diagnostics"]
        )
    if command == "lint":
        return Counter((one["code"], one["severity"], one["file"], one["message"]) for one in answer["diagnostics"])
    if command == "lr":
        return answer["verdict"], answer["max_difference_of_peak"], answer["first_difference"]
    return answer["verdict"], Counter((row["field"], row["impact"], row.get("counts")) for row in answer["rows"])


# --- every interface --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "seed"), [(2, 5), pytest.param(60, 6, marks=SLOW)])
def test_every_interface_gives_the_same_answer(accmap: Accmap, tmp_path: Path, count: int, seed: int) -> None:
    for name, text, other_name, other_text in pairs(count, seed):
        files = {name: text, other_name: other_text}
        if read(name, text) is None or read(other_name, other_text) is None:
            continue
        given = [str(tmp_path / name), str(tmp_path / other_name)]
        told = accmap("diff", *given, "--format", "json", files=files)
        answer, rows = json.loads(told.out), library.diff(given[0], given[1])
        assert [row.to_json() for row in rows] == [_without_reason(row) for row in answer["rows"]]
        assert (rows.verdict, told.code) == (answer["verdict"], int(rows.verdict != "equal"))
        assert accmap("diff", *given).code == told.code
        findings = _findings_of_every_interface(accmap, given, {given[0]: text, given[1]: other_text})
        first = next(iter(findings.values()))
        assert all(found == first for found in findings.values()), {
            kind: found - first for kind, found in findings.items()
        }
        accmap("report", *given, "--profile", "train", "--no-config", "-o", str(tmp_path / "page.html"), "--force")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert _shown(page).count('<td data-head="A">') == len(answer["rows"])
        assert Counter(re.findall(r"<h4>(?:<a [^>]*>)?([A-Z]+\d+)", _shown(page))) == Counter(
            code for (code, _, _, cause), number in first.items() for _ in range(number) if cause is None
        )


def _without_reason(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "reason"}


def _findings_of_every_interface(accmap: Accmap, given: list[str], texts: dict[str, str]) -> dict[str, Counter[Any]]:
    """Code, severity, sentence and cause of each finding."""
    words = ("lint", *given, "--profile", "train", "--no-config", "--no-cache", "--format", "json")
    line = json.loads(accmap(*words).out)["diagnostics"]
    hooked = ("--confine", "--profile", "train", "--no-cache", "--format", "json", "--", *given)
    hook = json.loads(accmap("lint", *hooked).out)["diagnostics"]
    python = [one.to_json() for one in library.lint(*given, profile="train").diagnostics]
    editor = OpenFiles(ReadOptions(), "train")
    for path, text in texts.items():
        editor.put(path, text)
    editor.check()
    in_editor = [one.to_json() for path in texts for one in editor.findings(path)]
    found = {"command line": _told(line), "hook": _told(hook), "Python": _told(python)}
    # An editor pairs two files of one framework only if the configuration does.
    is_mixed = len({text.startswith("#!") for text in texts.values()}) == 2
    if is_mixed and {entry["file"] for entry in line} <= texts.keys():
        assert Counter((one["code"], one["severity"], one["message"]) for one in in_editor) == Counter(
            (one["code"], one["severity"], one["message"]) for one in line
        )
    return found


def _told(found: list[dict[str, Any]]) -> Counter[Any]:
    return Counter((one["code"], one["severity"], one["message"], one["because_of"]) for one in found)


def test_a_finding_says_in_python_what_it_follows_from(tmp_path: Path) -> None:
    for file in (SCRIPT, YAML):
        (tmp_path / file).write_text(example("planted", file), "utf-8")
    found = library.lint(tmp_path / SCRIPT, tmp_path / YAML, profile="train").diagnostics
    followers = [one.to_json() for one in found if one.because is not None]
    assert followers
    places = [one["because_of"] for one in followers]
    assert all(isinstance(place, int) and found[place].because is None for place in places)


@pytest.mark.parametrize(("count", "seed"), [(8, 7), pytest.param(600, 8, marks=SLOW)])
def test_lint_and_diff_judge_each_field_alike(count: int, seed: int) -> None:
    seen = 0
    for _, text, _, other_text in pairs(count, seed):
        for script, yaml in ((text, other_text), (other_text, text)):
            one, other = read("a.sh", script), read("b.yaml", yaml)
            if script.startswith("#!") and not yaml.startswith("#!") and one is not None and other is not None:
                seen += assert_judged_alike(one, other, (script, yaml))
    assert seen > 100 * count


def assert_judged_alike(script: Config, yaml: Config, texts: tuple[str, str]) -> int:
    """Each field that rules compare: a finding is grave just if the row of `diff` changes numbers in these runs."""
    subject = subject_of(script, yaml, texts)
    assert subject.megatron is not None
    assert subject.mindformers is not None
    recipes = subject.megatron.recipe, subject.mindformers.recipe
    rows = {row.field: row for row in compare((script, yaml), recipes).rows if row.field is not None}
    grave = grave_fields(subject)
    severities = compared_fields("train")
    for name in COMPARED:
        row = rows.get(name)
        counted = row is not None and row.status in _UNEQUAL and row.impact == "numerics" and row.counts is not False
        if name in grave:
            assert counted, (name, row)
        elif counted and severities[name].severity != "info" and row is not None and row.counts is True:
            assert _follows(row, subject), (name, row)
    return len(rows)


_UNEQUAL = ("different", "only-a", "only-b")


def _follows(row: Difference, subject: Subject) -> bool:
    """Whether a field has no meaning on the side without it: what decides that differs, and is found itself."""
    from accmap.mapper.gates import says_something

    assert row.field is not None
    without = subject.sides[0] if row.a is None else subject.sides[1] if row.b is None else None
    return without is not None and says_something(row.field, without.recipe) is False


def grave_fields(subject: Subject) -> set[str]:
    codes = {code for code, *_ in COMPARED.values()}
    found = check(subject).diagnostics
    return {name for one in found if one.kind.code in codes and one.kind.severity != "info" for name in one.fields}


def subject_of(script: Config, yaml: Config, texts: tuple[str, str]) -> Subject:
    first, second = (
        Side(config, recipe_of(config), SourceText(config.file, text))
        for config, text in zip((script, yaml), texts, strict=True)
    )
    return Subject((first, second), "train", {}, {})


EQUAL_IN_EFFECT = [
    # Every sequence is a micro batch: what is averaged over one is averaged over the other.
    ("qwen3_moe", SCRIPT, {"balancing-type seq_aux_loss": "balancing-type aux_loss"}, "moe.router.balancing"),
    (
        "deepseek_v3",
        SCRIPT,
        {"load-balancing-type seq_aux_loss": "load-balancing-type aux_loss"},
        "moe.router.balancing",
    ),
]


@pytest.mark.parametrize(("name", "file", "texts", "field"), EQUAL_IN_EFFECT)
def test_values_that_compute_the_same_are_no_difference(
    accmap: Accmap, name: str, file: str, texts: dict[str, str], field: str
) -> None:
    text = example(name, file)
    for one, other in texts.items():
        assert one in text
        text = text.replace(one, other)
    answers: list[Any] = []
    for micro in ("1", "2"):
        given = {"a.sh": _of_micro_batch(example(name, file), micro), "b.sh": _of_micro_batch(text, micro)}
        answers.append(accmap("diff", "a.sh", "b.sh", "--format", "json", files=given))
    rows = [next(row for row in json.loads(answer.out)["rows"] if row["field"] == field) for answer in answers]
    assert [(row["status"], row["impact"], row.get("counts", True)) for row in rows] == [
        ("different", "none", False),
        ("different", "numerics", True),
    ]
    assert [answer.code for answer in answers] == [0, 1]


def _of_micro_batch(text: str, size: str) -> str:
    return re.sub(r"(MICRO_BATCH|GLOBAL_BATCH)=\S+", rf"\1={size}", text)


def test_a_legacy_model_that_computes_the_same_is_no_difference(accmap: Accmap) -> None:
    """By the tables Megatron's older classes of a dense model compute what the newer ones do: `convert` says exact."""
    text = example("qwen3_dense", SCRIPT).replace("--bf16", "--bf16 --use-legacy-models --ckpt-format torch")
    accmap("convert", "a.sh", "--mindformers", "1.9", "-o", "b.yaml", "--force", files={"a.sh": text})
    told = json.loads(accmap("diff", "a.sh", "b.yaml", "--format", "json").out)["rows"]
    row = next(row for row in told if row["field"] == "model.implementation")
    assert (row["status"], row["impact"], row["counts"]) == ("different", "none", False)
    assert "mcore models compute the same values" in row["reason"]


@pytest.mark.parametrize("name", ["qwen3_moe", "deepseek_v3"])
def test_the_balancing_of_a_shipped_pair_is_no_difference(accmap: Accmap, name: str) -> None:
    files = {SCRIPT: example(name, SCRIPT), YAML: example(name, YAML)}
    rows = json.loads(accmap("diff", SCRIPT, YAML, "--format", "json", files=files).out)["rows"]
    assert {row["impact"] for row in rows if row["field"] == "moe.router.balancing" and row["status"] != "equal"} <= {
        "none"
    }


# --- before and after a conversion -----------------------------------------------------------------------------------


def sources(count: int, seed: int) -> Iterator[tuple[Config, str]]:
    random = Random(seed)
    texts = [ramped(), *(changed(example(random.choice(NAMES), random.choice(FILES)), random) for _ in range(count))]
    for text in texts:
        found = read("a.sh" if text.startswith("#!") else "a.yaml", text)
        if found is not None:
            yield found, text


@pytest.mark.parametrize(("count", "seed"), [(6, 9), pytest.param(400, 10, marks=SLOW)])
def test_what_a_conversion_calls_exact_is_equal(count: int, seed: int) -> None:
    seen = 0
    for config, text in sources(count, seed):
        for dialect in ("static", "dynamic") if config.framework == "megatron" else (None,):
            try:
                translation = translate(config, dialect=dialect)
                written = text_of(translation)
                target = as_read(translation, written)
            except UnreadableError:
                continue
            seen += assert_as_reported((config, text), (target, written), translation.rows)
    assert seen > 100 * count


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("version", ["1.9", "2.1"])
@pytest.mark.parametrize("name", ["qwen3_dense", "qwen3_moe", "deepseek_v3"])
def test_what_a_pair_calls_exact_is_equal(name: str, version: str, align: bool, tmp_path: Path) -> None:
    path = tmp_path / SCRIPT
    path.write_text(example(name, SCRIPT), "utf-8")
    made = library.pair(path, align=align, options=ReadOptions(mindformers=version))
    read_back = {config.framework: (config, text) for file, text in made.texts.items() if (config := read(file, text))}
    assert assert_as_reported(read_back["megatron"], read_back["mindformers"], made.rows) > 100


def assert_as_reported(one: tuple[Config, str], other: tuple[Config, str], report: Iterable[ReportRow]) -> int:
    """The number of rows of the comparison: none differs that the report calls exact, and every error is named."""
    report, texts = list(report), {config.framework: (config, text) for config, text in (one, other)}
    source, target = one[0], other[0]
    ours, theirs = recipe_of(source), recipe_of(target)
    rows = {row.field: row for row in compare((source, target), (ours, theirs)).rows if row.field is not None}
    lost = {row.field for row in report if row.status not in ("exact", "made-explicit")}
    for row in report:
        found = None if row.field is None else rows.get(row.field)
        if row.field not in lost and found is not None and found.status != "equal":
            assert found.impact != "numerics", (row, found)
    if texts.keys() == {"megatron", "mindformers"}:
        (script, text), (yaml, other_text) = texts["megatron"], texts["mindformers"]
        grave = grave_fields(subject_of(script, yaml, (text, other_text)))
        unnamed = {name for name in grave if name not in lost}
        assert not {name for name in unnamed if difference_of(name, ours, theirs) is not None}, unnamed  # type: ignore[arg-type]
    curves = _curves(source, target)
    if curves is not None and not curves.same:
        assert any(str(name).startswith(("schedule.", "run.train", "optimizer.")) for name in lost), curves
    return len(rows)


def _curves(one: Config, other: Config) -> Any:
    try:
        schedules = [schedule_of(config) for config in (one, other)]
        steps = shared_steps(schedules, None)
    except (UndecidedError, UnreadableError):
        return None
    return compare_curves(schedules[0].learning_rate, schedules[1].learning_rate, steps)


@pytest.mark.parametrize("version", ["1.9", "2.1"])
def test_steps_of_a_growing_batch_are_those_of_the_curve(accmap: Accmap, tmp_path: Path, version: str) -> None:
    words = ("--mindformers", version, "-o", "b.yaml", "--force", "--report", "report.json")
    accmap("convert", "a.sh", *words, files={"a.sh": ramped()})
    summary = accmap("lr", "a.sh").out
    assert "1,184 steps" in summary
    assert "185" in summary
    rows = {row["field"]: row for row in json.loads((tmp_path / "report.json").read_text("utf-8"))["rows"]}
    values = [rows[f"{name}_steps"]["value"] for name in ("run.train", "schedule.warmup", "schedule.decay")]
    assert values == [1184, 185, 1184.25]
    assert rows["schedule.style"]["status"] == "approximate"
    assert not [row for row in rows.values() if row["status"] == "unresolved"]
    assert accmap("convert", "a.sh", *words, "--accept-loss", "batch.rampup").code == 1  # the curve is another one


_IN_SAMPLES = {key: value for key, value in RAMPED.items() if "iters" in key}
_SIZES = ('--micro-batch-size "$MICRO_BATCH"', '--global-batch-size "$GLOBAL_BATCH"')
BATCHES: list[tuple[str, str, dict[str, str], tuple[float, ...]]] = [
    # version, batch, lengths, and the steps of the run, of the warm-up and of the decay
    ("0.17", "--micro-batch-size 3 --global-batch-size 16", {}, (1000, 160 / 3, 3200 / 3)),
    ("0.17", "--micro-batch-size 3 --global-batch-size 16", _IN_SAMPLES, (1000, 160 / 3, 3200 / 3)),
    ("0.17", "--micro-batch-size 3 --global-batch-size 16 --rampup-batch-size 4 4 2040", _IN_SAMPLES,
     (1184, 1481 / 6, 19921 / 15)),
    ("0.18", "--micro-batch-size 1 --global-batch-size 16 --rampup-batch-size 4 4 2040", _IN_SAMPLES, (1000, 50, 1000)),
    ("0.18", '--micro-batch-size 1 --step-batch-size-schedule "0:4 1M:8 4M:16"', _IN_SAMPLES, (1367, 200, 1366.5)),
    ("0.19", '--micro-batch-size 1 --step-batch-size-schedule "0:4 1M:8 4M:16"', {}, (1000, 12.5, 247)),
]  # fmt: skip
"""Batches that are not the global batch in every step: shared evenly, grown by nobody any more, and by samples."""


OPEN_BATCHES = [
    ("0.17", '--micro-batch-size 1 --global-batch-size 16 --rampup-batch-size "$GROWS" 4 2040', "1"),
    ("0.17", "--micro-batch-size 3 --global-batch-size 16", '"$DEVICES"'),
    ("0.18", '--micro-batch-size 1 --step-batch-size-schedule "$GROWS"', "1"),
    ("0.18", "--micro-batch-size 1 --step-batch-size-schedule 0:x", "1"),
]


@pytest.mark.parametrize(("version", "batch", "devices"), OPEN_BATCHES)
def test_steps_of_a_batch_that_is_open_are_open(accmap: Accmap, version: str, batch: str, devices: str) -> None:
    text = _with_batch(batch, _IN_SAMPLES).replace("--nproc_per_node 1", f"--nproc_per_node {devices}")
    words = ("a.sh", "--megatron", version)
    assert accmap("lr", *words, files={"a.sh": text}).code == 2
    fields = json.loads(accmap("recipe", *words, "--format", "json").out)["fields"]
    names = ["schedule.warmup_steps", "schedule.decay_steps", *(["run.train_steps"] if devices == "1" else [])]
    assert [(fields[name]["value"], fields[name]["decided"]) for name in names] == [(None, False)] * len(names)


def _with_batch(batch: str, lengths: dict[str, str]) -> str:
    text = example("qwen3_dense", SCRIPT).replace(_SIZES[0], batch).replace(_SIZES[1], "--eval-interval 500")
    text = text.replace("--bf16", "--bf16 --decrease-batch-size-if-needed" if "size 3" in batch else "--bf16")
    for one, other in lengths.items():
        text = text.replace(one, other)
    return text


@pytest.mark.parametrize(("version", "batch", "lengths", "expected"), BATCHES)
def test_steps_of_an_uneven_batch_are_those_of_the_curve(
    accmap: Accmap, version: str, batch: str, lengths: dict[str, str], expected: tuple[float, ...]
) -> None:
    words, text = ("a.sh", "--megatron", version), _with_batch(batch, lengths)
    curve = json.loads(accmap("lr", *words, "--format", "json", files={"a.sh": text}).out)["series"][0]["schedule"]
    report = json.loads(accmap("recipe", *words, "--format", "json").out)["fields"]
    names = [f"{name}_steps" for name in ("run.train", "schedule.warmup", "schedule.decay")]
    assert [report[name]["value"] for name in names] == pytest.approx(expected)
    assert [curve["steps"], curve["warmup_steps"], curve["decay_end"]] == pytest.approx(expected)


def test_a_growing_batch_comes_back() -> None:
    config = read("a.sh", ramped())
    assert config is not None
    there = translate(config, dialect="dynamic")
    back = translate(as_read(there, text_of(there)))
    text = text_of(back)
    assert "--rampup-batch-size 4 4 2040" in text
    again = as_read(back, text)
    steps = [recipe_of(one).value("run.train_steps") for one in (config, again)]
    warmups = [recipe_of(one).value("schedule.warmup_steps") for one in (config, again)]
    assert steps == [1184, 1184]
    assert warmups == [185, 185]

"""Pairs of real runs: those that are equal pass, and no planted fault does (`real_runs.yaml`)."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from writing_logs import retold

from accmap.cli.lean import main
from accmap.evidence.logs.comparison import Comparison, compare
from accmap.evidence.logs.log_reader import LogReader
from accmap.evidence.logs.verdict import Experiment, Grounds
from accmap.schemas.compilers.tables import load_table

if TYPE_CHECKING:
    from accmap.evidence.logs.run import Run

HERE = Path(__file__).parent
TABLE = load_table((HERE / "real_runs.yaml").read_text("utf-8"))
PLANTED = TABLE["planted"]


def real_text(name: str) -> str:
    """The log of a kept run."""
    return gzip.decompress((HERE / "real_runs" / f"{name}.log.gz").read_bytes()).decode()


@cache
def run(name: str) -> Run:
    """A kept run; with `+ N` or `- N` behind its name its steps are numbered so much later."""
    file, *moved = name.split(" ", 1)
    text = real_text(file)
    if moved:
        by = int(moved[0].replace(" ", ""))
        text = re.sub(r"(iteration +)(\d+)/", lambda found: f"{found[1]}{int(found[2]) + by}/", text)
    reader = LogReader()
    reader.take(text.encode(), 1, name)
    found = reader.run(name, (name,))
    assert found is not None
    return found


def judged(experiment: Experiment, a: str, b: str, grounds: Grounds = Grounds()) -> Comparison:  # noqa: B008
    return compare(run(a), run(b), experiment, grounds=grounds)


@pytest.mark.table(3)
@pytest.mark.parametrize(("experiment", "a", "b"), TABLE["clean"], ids=" ".join)
def test_equal_runs_pass(experiment: Experiment, a: str, b: str) -> None:
    found = judged(experiment, a, b)
    assert found.verdict.answer == "match", found.verdict.said


@pytest.mark.table(3)
@pytest.mark.parametrize(("fault", "experiment", "a", "b", "by"), PLANTED, ids=lambda value: str(value))
def test_a_planted_fault_is_found_or_left_open(fault: str, experiment: Experiment, a: str, b: str, by: str) -> None:
    # As many steps as there are count as enough, so that a fault is not left open for its length alone.
    verdict = judged(experiment, a, b, Grounds(100)).verdict
    failed = [one.name for one in verdict.criteria if one.decides and one.status == "fail"]
    if by:
        assert verdict.answer == "mismatch", f"{fault}: {verdict.said}"
        assert by in failed
    else:
        assert verdict.answer == "partial"
        assert "initial weights" in [one.what for one in verdict.unseen]


@pytest.mark.parametrize(("fault", "experiment", "a", "b", "by"), [row for row in PLANTED if "shifted" in row[0]])
def test_a_shifted_log_passes_where_the_shift_is_given(
    fault: str, experiment: Experiment, a: str, b: str, by: str
) -> None:
    assert by == "steps"
    verdict = judged(experiment, a, b, Grounds(900, int(fault.rpartition(" ")[2]))).verdict
    assert verdict.answer == "match", verdict.said


SCRIPT = """torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 32 --num-attention-heads 4 \\
  --ffn-hidden-size 64 --swiglu --disable-bias-linear --normalization RMSNorm --untie-embeddings-and-output-weights \\
  --position-embedding-type rope --max-position-embeddings 64 --seq-length 32 --micro-batch-size 4 \\
  --global-batch-size 4 --transformer-impl local --attention-dropout 0 --hidden-dropout 0 --vocab-size 99 \\
  --tokenizer-type NullTokenizer --data-path corpus --split 1,0,0 --seed 1234 --train-iters 1000 --lr 1e-3 \\
  --min-lr 1e-4 --lr-decay-style cosine --lr-warmup-iters 20 --clip-grad 1.0 --adam-beta2 0.95 {more}
"""


@pytest.mark.parametrize(("changed", "a", "b", "option", "code"), TABLE["settings"], ids=lambda value: str(value))
def test_what_the_first_steps_do_not_show_is_told_by_the_configurations(
    changed: str, a: str, b: str, option: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [tmp_path / f"{name}.log" for name in (a, b)]
    for log in logs:
        log.write_bytes(gzip.decompress((HERE / "real_runs" / f"{log.stem}.log.gz").read_bytes()))
    scripts = [tmp_path / "a.sh", tmp_path / "b.sh"]
    for script, more in zip(scripts, ("", option), strict=True):
        script.write_text(SCRIPT.format(more=more), "utf-8")
    assert main(["convert", str(scripts[1]), "--mindformers", "1.9", "-o", str(tmp_path / "b.yaml")]) == 0, changed

    other = tmp_path / "other.log"
    other.write_text(retold(logs[1].read_text("utf-8")), "utf-8")

    def told(*config: Path) -> str:
        capsys.readouterr()
        both = [logs[0], other if config and config[1].suffix == ".yaml" else logs[1]]
        words = ["logs", *map(str, both), "--experiment", "first-steps", "--format", "json"]
        code = main([*words, *(["--config", *map(str, config)] if config else [])])
        found = json.loads(capsys.readouterr().out)
        assert code == (found["verdict"] != "match")
        (criterion,) = [one for one in found["comparisons"][0]["criteria"] if one["name"] == "settings"]
        return f"{found['verdict']} {criterion['status']} {criterion['message']}"

    assert told().startswith("match info these logs do not reveal settings")
    by_fields, by_rules = told(*scripts), told(scripts[0], tmp_path / "b.yaml")
    assert by_fields.startswith("mismatch fail" if option else "match pass"), by_fields
    assert by_rules.startswith("mismatch fail 1 settings" if option else "match pass"), by_rules
    assert code in by_rules


def settings_told(logs: list[str], configs: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str, str]:
    """The verdict over the first steps of two runs with their configurations, and what is said of these.

    Each log is in the lines of its configuration's framework.
    """
    capsys.readouterr()
    logs = [_in_lines_of(config, log) for config, log in zip(configs, logs, strict=True)]
    code = main(["logs", *logs, "--experiment", "first-steps", "--format", "json", "--config", *configs])
    found = json.loads(capsys.readouterr().out)
    assert code == (found["verdict"] != "match")
    (criterion,) = [one for one in found["comparisons"][0]["criteria"] if one["name"] == "settings"]
    return found["verdict"], criterion["status"], criterion["message"]


def _in_lines_of(config: str, log: str) -> str:
    if config.endswith(".sh"):
        return log
    other = Path(log).with_suffix(".mindformers.log")
    other.write_text(retold(Path(log).read_text("utf-8")), "utf-8")
    return str(other)


@pytest.fixture
def equal_logs(tmp_path: Path) -> list[str]:
    """The logs of two runs with the same settings."""
    logs = [tmp_path / f"{name}.log" for name in ("s_base12", "s_bf12")]
    for log in logs:
        log.write_bytes(gzip.decompress((HERE / "real_runs" / f"{log.stem}.log.gz").read_bytes()))
    return list(map(str, logs))


@pytest.mark.parametrize(("more", "named"), [row[1:] for row in TABLE["open"]], ids=[row[0] for row in TABLE["open"]])
def test_settings_that_are_not_known_decide_nothing(
    more: str, named: str, equal_logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = [tmp_path / "a.sh", tmp_path / "b.sh"]
    for script, words in zip(scripts, ("", more), strict=True):
        script.write_text(SCRIPT.format(more=words), "utf-8")
    assert main(["convert", str(scripts[0]), "--mindformers", "1.9", "-o", str(tmp_path / "a.yaml")]) == 0
    by_fields = settings_told(equal_logs, list(map(str, scripts)), capsys)
    by_rules = settings_told(equal_logs, [str(scripts[1]), str(tmp_path / "a.yaml")], capsys)
    assert by_fields[:2] == by_rules[:2] == ("undecided", "undecided")
    assert named in by_fields[2]
    assert named.partition(":")[0] in by_rules[2]


@pytest.mark.parametrize(
    "more", ["--save /out --tensorboard-dir /logs --log-interval 1", "--distributed-timeout-minutes 60"]
)
def test_settings_that_change_no_number_leave_nothing_open(
    more: str, equal_logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = [tmp_path / "a.sh", tmp_path / "b.sh"]
    for script, words in zip(scripts, ('--save "$OUT"', more), strict=True):
        script.write_text(SCRIPT.format(more=words), "utf-8")
    assert settings_told(equal_logs, list(map(str, scripts)), capsys)[:2] == ("match", "pass")


@pytest.mark.parametrize("name", ["qwen3_dense", "qwen3_moe", "deepseek_v3"])
def test_pairs_that_say_everything_leave_nothing_open(
    name: str, equal_logs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = HERE.parents[2] / "examples" / name
    configs = [str(folder / "megatron.sh"), str(folder / "mindformers.yaml")]
    assert settings_told(equal_logs, configs, capsys)[:2] == ("match", "pass")


def test_how_many() -> None:
    found = sum(bool(row[-1]) for row in PLANTED)
    assert len(PLANTED) >= 30
    assert found >= 27
    assert len(TABLE["clean"]) >= 10

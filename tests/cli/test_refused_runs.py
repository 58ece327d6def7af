"""Every command, on a run that meets all conditions of its framework's start but one, for each condition."""

# pyright: basic

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from accmap import convert
from accmap.mapper.preconditions import Refusal, refusals, stops
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.mindformers.compile_resolution import Row, read_rows
from accmap.schemas.mindformers.dynamic import Dynamic
from accmap.schemas.mindformers.resolution import Trainer
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

ROOT = Path(__file__).resolve().parents[2]
SOUND = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --vocab-size 1000 "
    "--tokenizer-type NullTokenizer --eval-interval 10"
)
GONE = "<gone>"
WRITING = ("convert FILE -o out", "pair FILE -d p", "verify FILE FILE")
UPGRADING = "upgrade FILE -o out"
ANSWERING = ("show FILE", "recipe FILE", "diff FILE FILE", "lr FILE", "report FILE FILE --format json")
OF_A_SUBJECT = {
    "data check FILE": "data",
    "data show FILE --step 1": "data",
    "dump config FILE -d d": "model",
    "weights convert w --config FILE -o c": "model",
}
"""The commands that depend on one subject alone: a bad warm-up does not stop a checkpoint."""
WITHOUT_EXAMPLE = {
    "None not in (fim_prefix_token, fim_middle_token, fim_suffix_token, fim_pad_token, fim_eod_token)": "has a default",
    "inference_dynamic_batching_buffer_guaranteed_fraction is not None": "has a default",
    "inference_dynamic_batching_buffer_size_gb is not None": "has a default",
    "'global_aux_loss' not in moe_router_load_balancing_type": "the parser's choices stop it",
    "moe_router_load_balancing_type != 'global_aux_loss'": "the parser's choices stop it",
    "flash_attention_version in (2, 3, 4)": "the parser's choices stop it",
    "no_weight_decay_cond_type == 'apply_wd_to_qk_layernorm'": "the parser's choices stop it",
    "encoder_pipeline_model_parallel_size == 0": "it trains T5, which accmap does not check",
    "env('CUDA_DEVICE_MAX_CONNECTIONS') == '1'": "a device of the newest kind accepts it: a warning",
    "checkpoints, run mode, adapters, inference: run_mode != 'predict' or inference is not None": "it does not train",
}
"""Conditions that no training run can fail to meet, or not for certain, and why."""
CANNOT_START = "cannot start this run"
REFUSED = 2
Run = Callable[..., Any]


class Example(NamedTuple):
    framework: str
    version: str
    text: str
    processes: int | None

    @property
    def file(self) -> str:
        return "a.sh" if self.framework == "megatron" else "a.yaml"

    def line(self, words: str) -> list[str]:
        """A command line about the run."""
        named = "--from-version" if words.startswith("upgrade") else f"--{self.framework}"
        size = [] if self.processes is None else ["--world-size", str(self.processes)]
        return [*shlex.split(words.replace("FILE", self.file)), named, self.version, *size]

    def refusals(self) -> tuple[tuple[Refusal, ...], set[str]]:
        """The reasons why the run stops, and the framework's own expressions among them."""
        options = ReadOptions(world_size=self.processes)._replace(**{self.framework: self.version})
        config = config_of(SourceText(self.file, self.text), options, path=self.file)
        reasons = tuple(one for one in refusals(config) if one.certain)
        conditions = {str(dict(problem.values).get("condition")) for problem in config.problems}
        side = "" if config.framework == "megatron" else f" ({config.dialect})"
        tables = {f"stops.yaml: {one.code}{side}" for one in reasons if one.found_by == "table"}
        return reasons, {one.condition for one in reasons} | conditions | tables


def table_of(name: str) -> dict[str, list[Any]]:
    return load_table(Path(__file__).with_name(name).read_text("utf-8"))


LAUNCHES = table_of("refused_launches.yaml")
CONFIGURATIONS = table_of("refused_configurations.yaml")


def launch_of(version: str, words: str, more: dict[str, Any] | None = None) -> Example:
    more = more or {}
    sound = shlex.split(SOUND)
    if "without" in more:
        place = sound.index(more["without"])
        sound[place : place + 2] = []
    program = f"torchrun --nproc-per-node {more.get('devices', 8)} pretrain_gpt.py"
    launch = f"{more.get('env', '')} {program} {shlex.join(sound)} {words}\n"
    return Example("megatron", version, launch.lstrip(), None)


@cache
def base_of(graph: str, version: str, name: str) -> str:
    """A configuration of the repository, as JSON."""
    if graph == "static":
        text = (ROOT / "examples" / name / "mindformers.yaml").read_text("utf-8")
    else:
        text = convert(str(ROOT / "examples" / name / "megatron.sh"), version=version, dialect="dynamic").text
    return json.dumps(load_table(text))


def configuration_of(
    graph: str, version: str, name: str, changes: dict[str, Any], processes: int | None = None
) -> Example:
    content = json.loads(base_of(graph, version, name))
    for path, value in changes.items():
        *sections, key = path.split(".")
        here = content
        for section in sections:
            if here.get(section) is None:
                here[section] = {}
            here = here[section]
        if value == GONE:
            here.pop(key)
        else:
            here[key] = value
    return Example("mindformers", version, yaml.dump(content, Dumper=yaml.CSafeDumper), processes)


@cache
def examples() -> dict[str, Example]:
    """The examples of both frameworks by their conditions."""
    return {
        **{condition: launch_of(*given) for condition, given in LAUNCHES.items()},
        **{condition: configuration_of(*given) for condition, given in CONFIGURATIONS.items()},
    }


def rows_by_number() -> dict[int, str]:
    """The rows of MindSpore Transformers that refuse, by their number in the table."""
    sections, rows = read_rows()
    refusing = {number: row for number, row in enumerate(rows) if row.action in ("require", "expect")}

    def name(row: Row) -> str:
        return f"{sections[row.section]['section']}: {row.to}"

    names = [name(row) for row in refusing.values()]
    return {
        number: name(row) if names.count(name(row)) == 1 else f"{name(row)}, when {row.when or '-'.join(row.versions)}"
        for number, row in refusing.items()
    }


def test_every_condition_has_an_example() -> None:
    sections = load_table((ROOT / "schemas/megatron/validation.yaml").read_text("utf-8"))
    rows = {row["require"] for section in sections for row in section["rows"] if "require" in row}
    tables = {f"stops.yaml: {stop.name}" for stop in stops() if stop.side == "megatron"}
    assert rows | tables == LAUNCHES.keys() | (WITHOUT_EXAMPLE.keys() & rows)
    rows = set(rows_by_number().values())
    tables = {f"stops.yaml: {stop.name} ({stop.side})" for stop in stops() if stop.side != "megatron"}
    assert rows | tables == CONFIGURATIONS.keys() | (WITHOUT_EXAMPLE.keys() & rows)


class Reading(NamedTuple):
    """An example as it is read."""

    example: Example
    reasons: tuple[Refusal, ...]
    """Why the run stops."""
    conditions: set[str]
    """The conditions that it does not meet."""


@cache
def readings() -> dict[str, Reading]:
    """Every example as it is read, by its condition."""
    numbers: list[int] = []
    names = rows_by_number()
    answer: dict[str, Reading] = {}
    with pytest.MonkeyPatch.context() as context:
        for action in ("refuse", "expect"):
            for run in (Trainer, Dynamic):
                if action in vars(run):
                    note_failed_rows(context, run, action, numbers)
        for condition, example in examples().items():
            numbers.clear()
            reasons, conditions = example.refusals()
            answer[condition] = Reading(example, reasons, conditions | {names[number] for number in numbers})
    return answer


def test_the_example_of_a_condition_fails_to_meet_it() -> None:
    wrong = [name for name, one in readings().items() if not one.reasons or name not in one.conditions]
    assert wrong == []


def note_failed_rows(monkeypatch: pytest.MonkeyPatch, run: type, action: str, numbers: list[int]) -> None:
    """Note the number of each row that does not hold."""
    original = vars(run)[action]

    def noted(self: Any, row: Any, *value: Any) -> None:
        if not any(value):
            numbers.append(row.more.number)
        original(self, row, *value)

    monkeypatch.setattr(run, action, noted)


def shortest_by(kind: Callable[[Refusal], str]) -> list[Example]:
    """The shortest example for each framework and kind of a reason."""
    chosen: dict[tuple[str, str], Example] = {}
    for example, reasons, _ in readings().values():
        for reason in reasons:
            known = chosen.setdefault((example.framework, kind(reason)), example)
            if len(example.text) < len(known.text):
                chosen[example.framework, kind(reason)] = example
    return list(chosen.values())


def asks_every_subject(accmap: Run, folder: Path, example: Example) -> None:
    """Assert that the commands about a whole run refuse it, or answer with the refusal first."""
    (folder / example.file).write_text(example.text, "utf-8")
    assert accmap(*example.line("lint --no-cache FILE")).code == 1
    for words in WRITING if example.framework == "megatron" else (*WRITING, UPGRADING):
        answer = accmap(*example.line(words))
        assert (answer.code, CANNOT_START in answer.err) == (REFUSED, True), (words, answer)
    for words in ANSWERING:
        assert CANNOT_START in accmap(*example.line(words)).err.splitlines()[0], words
    assert {path.name for path in folder.iterdir()} == {example.file}


def asks_its_own_subject(accmap: Run, folder: Path, example: Example) -> None:
    """Assert that the other commands refuse a run for their subject alone."""
    (folder / example.file).write_text(example.text, "utf-8")
    subjects = {reason.subject for reason in example.refusals()[0]}
    for words, subject in OF_A_SUBJECT.items():
        answer = accmap(*example.line(words))
        stops_here = CANNOT_START in answer.err
        assert stops_here == (subject in subjects), (words, answer)
        assert answer.code == REFUSED or not stops_here, (words, answer)


def test_every_command_asks(accmap: Run, tmp_path: Path) -> None:
    for example in shortest_by(lambda reason: reason.found_by):
        asks_every_subject(accmap, tmp_path, example)
        (tmp_path / example.file).unlink()


def test_some_commands_ask_for_one_subject(accmap: Run, tmp_path: Path) -> None:
    subjects = {reason.subject for one in readings().values() for reason in one.reasons}
    assert subjects == {"model", "layout", "data", "schedule", "optimizer", "precision", "environment"}
    for example in shortest_by(lambda reason: reason.subject):
        asks_its_own_subject(accmap, tmp_path, example)
        for folder in ("d", "c"):
            shutil.rmtree(tmp_path / folder, ignore_errors=True)


def test_the_number_of_devices_replaces_the_default_of_a_variable(accmap: Run, tmp_path: Path) -> None:
    parallel = "--num-experts 8 --expert-model-parallel-size 8 --pipeline-model-parallel-size 4"
    launch = "torchrun --nproc-per-node 8 --nnodes ${SLURM_NNODES:-1} pretrain_gpt.py"
    (tmp_path / "a.sh").write_text(f"{launch} {SOUND} {parallel}\n", "utf-8")
    answer = accmap("convert", "a.sh", "-o", "out.yaml")
    assert (answer.code, CANNOT_START in answer.err) == (REFUSED, True)
    assert "accmap uses the script's default" in answer.err
    assert "--world-size N" in answer.err
    for words in ("lint --no-cache a.sh", "convert a.sh -o out.yaml", "pair a.sh -d p"):
        answer = accmap(*shlex.split(words), "--world-size", "32")
        assert answer.code != REFUSED, (words, answer)
        assert "devices are not divisible" not in answer.out + answer.err, words


@pytest.mark.slow
@pytest.mark.parametrize("condition", [*LAUNCHES, *CONFIGURATIONS])
def test_every_command_asks_every_condition(accmap: Run, tmp_path: Path, condition: str) -> None:
    asks_every_subject(accmap, tmp_path, examples()[condition])
    asks_its_own_subject(accmap, tmp_path, examples()[condition])

"""Runs accmap on good files with absurd values: each command ends with 0, 1 or 2, in 10 s and 500 MB.

    python tests/fuzz/value_sweep.py --seed 7 --count 60000 --journal sweep.json
        a long run; it goes on where it stopped
    python tests/fuzz/value_sweep.py --seconds 120
        a short one, with a seed that it prints
    python tests/fuzz/value_sweep.py --seed 7 --only 4711
        one input again, in full

An input is one file with one absurd value; `seed` and number alone decide which. A process of its own runs a few
commands on it, within this program's imports, limited in address space and processor time. A failure is described by
the place in accmap where it happened. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
for folder in ("fuzz", "evidence/weights", "evidence/logs", "evidence/dump", "evidence/data"):
    sys.path.insert(0, str(ROOT / "tests" / folder))

from absurd_values import (  # noqa: E402
    EXAMPLES,
    VALUES,
    change_arguments,
    change_json,
    change_log,
    change_script,
    change_toml,
    change_yaml,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS, MEGABYTES, ADDRESS_SPACE = 10, 500, 1_500_000_000
WALL_SECONDS = 600
"""Something that waits: a machine in use makes everything else longer, too."""

PAIR = [
    "recipe @",
    "diff @ partner",
    "lr @ partner",
    "report @ partner -o report.html --force",
    "pair @ -d pair --force",
    "playbook @ partner -d playbook --force",
    "data check @ partner",
    "dump config @ partner -d config --force",
    "doctor @ partner",
    "defects @",
    "logs a.log --config @",
    "weights convert torch --config @ --plan",
    "lint @ partner --no-cache --format sarif",
    "explain num_layers @",
    "convert @ --to megatron -o out.sh --force",
    "weights check torch @",
    "lint @ --no-cache --all --remarks",
    "lr @ --all-steps --format csv",
    "show @ --format json",
    "recipe @ --format json",
    "diff @ partner --format json",
    "data check @ partner --plan 5",
    "weights convert torch --config @ -o converted --force",
    "lint @ partner --fix --diff --unsafe --no-cache",
]
FIRST = ["show @", "lint @ partner --no-cache", "convert @ -o out --force"]


class Subject(NamedTuple):
    """A kind of file: how one is changed, the commands that read it, and how often it is drawn."""

    name: str
    change: Callable[[str, Any, random.Random], Any]
    always: list[str]
    sometimes: list[str]
    weight: int


SUBJECTS = {
    "sh": Subject("changed.sh", change_script, FIRST, PAIR, 30),
    "yaml": Subject("changed.yaml", change_yaml, FIRST, [*PAIR, "upgrade @ -o newest.yaml --force"], 30),
    "json": Subject(
        "model/config.json",
        change_json,
        ["show model", "lint model partner --no-cache", "convert model -o out --force"],
        [
            "recipe model",
            "diff model partner",
            "report model partner -o report.html --force",
            "show @",
            "convert model --to megatron -o out.sh --force",
            "lint uses.yaml --no-cache",
            "weights convert torch --config model --plan",
            "pair model -d pair --force",
            "weights check torch model",
            "lint fine_tune.sh --no-cache",
        ],
        14,
    ),
    "toml": Subject(
        "accmap.toml",
        change_toml,
        ["lint partner.sh partner.yaml --no-cache"],
        [
            "lint . --no-cache",
            "schema --of config --check accmap.toml",
            "data check partner.sh partner.yaml",
            "init .",
            "diff partner.sh partner.yaml",
            "report partner.sh partner.yaml -o report.html --force",
        ],
        4,
    ),
    "args": Subject(
        "torch",
        change_arguments,
        ["weights convert torch --plan"],
        [
            "weights check torch",
            "weights convert torch -o converted --force",
            "weights check torch partner.sh",
            "show torch",
            "recipe torch",
            "lint torch partner.yaml --no-cache",
            "weights convert torch -o converted --to huggingface --force",
        ],
        8,
    ),
    "log": Subject(
        "changed.log",
        change_log,
        ["logs @ a.log"],
        ["logs @", "logs a.log @ --format json", "logs @ --benchmark a.log", "logs @ a.log --page page.html --force"],
        5,
    ),
    "static log": Subject("changed.log", change_log, ["logs @ a.log"], ["logs @", "logs a.log @ --format json"], 3),
    "dump": Subject(
        "dump/step0/rank0/dump.json",
        change_json,
        ["dump compare dump other_dump"],
        ["dump scan dump", "dump compare other_dump dump --format json"],
        3,
    ),
    "scores": Subject(
        "changed.json",
        change_json,
        ["check scores @ scores.json"],
        ["check answers @ @", "check tokenizers @ tokenizer.json"],
        2,
    ),
    "tokenizer": Subject(
        "tokenizer.json",
        change_json,
        ["check tokenizers @ good_tokenizer.json"],
        ["data show corpus --tokenizer @", "data check corpus --tokenizer @"],
        2,
    ),
    "header": Subject(
        "weights/model.safetensors",
        change_json,
        ["weights check weights"],
        [
            "weights check weights torch",
            "weights convert weights --config partner.sh -o converted --force --to megatron",
        ],
        3,
    ),
}


# --- the files ---

HF = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 32000,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-06,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "torch_dtype": "bfloat16",
    "attention_dropout": 0.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
}
DEEPSEEK = {
    **HF,
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "n_routed_experts": 16,
    "n_shared_experts": 1,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 128,
    "first_k_dense_replace": 1,
    "n_group": 4,
    "topk_group": 2,
    "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid",
    "norm_topk_prob": True,
    "q_lora_rank": 64,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
    "num_nextn_predict_layers": 1,
    "topk_method": "noaux_tc",
    "moe_layer_freq": 1,
    "num_key_value_heads": 8,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "original_max_position_embeddings": 1024,
    },
}
MIXTRAL = {
    **HF,
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 96,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "norm_topk_prob": True,
    "router_aux_loss_coef": 0.001,
    "sliding_window": 4096,
    "use_sliding_window": False,
    "max_window_layers": 2,
}
TOML = """megatron = "0.12"
mindformers = "1.9"
profile = "train"
select = ["NET"]
ignore = ["ENV"]
severity = { NET016 = "warning" }
world-size = 8
steps = 100
dataset-size = 1000
launch = 1
fail-on = "error"
baseline = "baseline.json"
max-findings = 10

[declare]
foo = "1:int"

[per-file-ignores]
x = ["RUN"]

[[pairs]]
megatron = "partner.sh"
mindformers = "partner.yaml"
steps = 10
dataset-size = 20
branch = ["1=yes"]
"""


def build_bench(bench: Path, public: Path | None, most: int) -> dict[str, list[str]]:
    """The files that are not changed lie in `bench`; the answer holds the good texts of each kind."""
    import numpy as np
    from data_writer import write_data
    from small_network import run as dump_of
    from weight_files import arrays, namespace, pair, write_megatron, write_safetensors
    from writing_logs import falling, megatron_run, static_run

    script, config = pair("grouped", bench / "small")
    write_megatron(bench / "torch", script, arrays(script))
    for name in ("sh", "yaml"):
        shutil.copy({"sh": script, "yaml": config}[name], bench / f"partner.{name}")
    (bench / "a.log").write_text(megatron_run(falling(12)))
    (bench / "b.log").write_text(static_run(falling(12)))
    scores = json.dumps({"results": {"mmlu": {"acc,none": 0.7, "n": 5}, "x": {"acc,none": 0.5}}})
    (bench / "scores.json").write_text(scores)
    tokenizer = json.dumps(
        {
            "version": "1.0",
            "added_tokens": [{"id": 5, "content": "<s>", "special": True}],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": ["a b"]},
        }
    )
    for name in ("good_tokenizer.json", "tokenizer.json"):
        (bench / name).write_text(tokenizer)
    dump_of(bench / "dump", task="statistics")
    dump_of(bench / "other_dump", task="statistics")
    write_data(bench / "corpus", [[1, 2, 3]] * 10)
    for name in ("model", "weights"):
        (bench / name).mkdir()
    write_safetensors(bench / "weights" / "model.safetensors", {"w": np.zeros((2, 3), "<f4"), "b": np.ones(4, "<f4")})
    data = (bench / "weights" / "model.safetensors").read_bytes()
    (bench / "uses.yaml").write_text("use_legacy: False\nrun_mode: train\npretrained_model_dir: model\n")
    (bench / "fine_tune.sh").write_text("torchrun pretrain_gpt.py --hf-model-path model --load model --num-layers 2\n")
    good: dict[str, list[str]] = {
        "sh": [path.read_text("utf-8") for path in sorted(EXAMPLES.rglob("*.sh"))],
        "yaml": [path.read_text("utf-8") for path in sorted(EXAMPLES.rglob("*.yaml"))],
        "json": [json.dumps(model, indent=1) for model in (HF, DEEPSEEK, MIXTRAL)],
        "toml": [TOML],
        "args": [json.dumps({key: value for key, value in vars(namespace(script)).items() if _is_plain(value)})],
        "log": [(bench / "a.log").read_text()],
        "static log": [(bench / "b.log").read_text()],
        "dump": [(bench / SUBJECTS["dump"].name).read_text()],
        "scores": [scores],
        "tokenizer": [tokenizer],
        "header": [data[8 : 8 + struct.unpack("<Q", data[:8])[0]].decode()],
    }
    for ending in ("sh", "yaml"):
        good[ending] += _public_files(public, ending, most) if public else []
    return good


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, float, str, list)) or value is None


def _public_files(folder: Path, ending: str, most: int) -> list[str]:
    """Small files of others that accmap can read, the same ones every time."""
    from accmap import load

    found: list[str] = []
    paths = sorted(path for path in folder.rglob(f"*.{ending}") if path.stat().st_size < 12_000)
    random.Random(5).shuffle(paths)
    for path in paths:
        if len(found) >= most:
            break
        try:
            load(str(path))
            found.append(path.read_text("utf-8"))
        except Exception:  # noqa: BLE001 - not a file of either framework
            continue
    return found


# --- one input ---


class Input(NamedTuple):
    """What is drawn: the kind, the good file, the absurd value, the commands."""

    kind: str
    file: int
    value: str
    chance: random.Random
    commands: list[str]


def draw(seed: int, number: int, good: dict[str, list[str]], kinds: list[str]) -> Input:
    chance = random.Random(f"{seed}:{number}")
    kind = chance.choices(kinds, [SUBJECTS[kind].weight for kind in kinds])[0]
    subject = SUBJECTS[kind]
    several = chance.sample(subject.sometimes, min(2, len(subject.sometimes)))
    return Input(kind, chance.randrange(len(good[kind])), chance.choice(list(VALUES)), chance, subject.always + several)


def write_input(drawn: Input, good: dict[str, list[str]], bench: Path) -> str:
    """Write the changed file; the answer is the place of the value."""
    subject = SUBJECTS[drawn.kind]
    text, value = good[drawn.kind][drawn.file], VALUES[drawn.value]
    path = bench / subject.name
    if drawn.kind == "args":
        from weight_files import write_megatron

        arguments, place = change_arguments(json.loads(text), value, drawn.chance)
        shutil.rmtree(path)
        write_megatron(path, str(bench / "partner.sh"), {}, args=argparse.Namespace(**arguments))
        return place
    changed = subject.change(text, value, drawn.chance)
    data = changed.data
    if drawn.kind == "header":
        data = struct.pack("<Q", len(data)) + data + b"\0" * 40
    path.write_bytes(data)
    return changed.place


def restore(kind: str, bench: Path) -> None:
    """The files are again as they were before the input."""
    unchanged = bench.parent / "unchanged"
    for entry in os.scandir(bench):
        if not (unchanged / entry.name).exists():
            shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)
    changed = SUBJECTS[kind].name
    if (unchanged / changed).is_dir():
        shutil.rmtree(bench / changed)
        shutil.copytree(unchanged / changed, bench / changed)
    elif (unchanged / changed).exists():
        shutil.copy(unchanged / changed, bench / changed)
    else:
        (bench / changed).unlink(missing_ok=True)


def words_of(command: str, kind: str) -> list[str]:
    partner = "partner.yaml" if kind == "sh" else "partner.sh"
    names = {"@": SUBJECTS[kind].name, "partner": partner, "out": "out.sh" if kind == "yaml" else "out.yaml"}
    return [names.get(word, word) for word in command.split()]


class TookTooLong(BaseException):
    """Processor time is used up."""


def _interrupt(*_: object) -> None:
    raise TookTooLong


def run_commands(drawn: Input, bench: Path, answer: int, first: int) -> None:
    """In a process of its own: run the commands, and write a line of JSON about each."""
    os.chdir(bench)
    signal.signal(signal.SIGPROF, _interrupt)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for at in range(first, len(drawn.commands)):
        code, told = _run(words_of(drawn.commands[at], drawn.kind), bench)
        os.write(answer, (json.dumps([at, code, _peak(), told]) + "\n").encode())


def _run(words: list[str], bench: Path) -> tuple[Any, str]:
    from accmap.cli.lean import main

    for stream, name in ((1, "stdout"), (2, "stderr")):
        opened = os.open(bench / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, stream)
        os.close(opened)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    code: Any
    try:
        code = main(words)
    except TookTooLong:
        code = "over 10 s"
        traceback.print_exc()
    except MemoryError:
        code = "out of memory"
        traceback.print_exc()
    except BaseException:  # noqa: BLE001 - it is described
        code = "traceback"
        traceback.print_exc()
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.flush()
    sys.stderr.flush()
    return code, (bench / "stderr").read_text("utf-8", "replace")[-4000:]


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) // 1024 if found else 0


_FRAME = re.compile(
    r'File "[^"]*?/((?:api|cli|evidence|mapper|mappings|rules|schemas|verifier)/[^"]+)", line (\d+), in (\S+)'
)


def failure_of(code: Any, peak: int, told: str) -> str | None:
    """A failure by its place in accmap; None if the command ended as promised."""
    if code not in (0, 1, 2):
        frames = _FRAME.findall(told)
        place = f"{frames[-1][0]}:{frames[-1][1]} {frames[-1][2]}" if frames else "?"
        errors = re.findall(r"^(\w*(?:Error|Exception|TookTooLong|Iteration))\b", told, re.MULTILINE)
        return f"{code} {errors[-1] if errors else ''} {place}"
    if "Traceback (most recent call last)" in told:
        return f"traceback with {code}"
    return f"over {MEGABYTES} MB" if peak > MEGABYTES else None


class Failure(NamedTuple):
    number: int
    kind: str
    value: str
    place: str
    command: str
    what: str
    told: str


def try_input(drawn: Input, number: int, place: str, bench: Path, counts: Counter[str]) -> list[Failure]:
    failures: list[Failure] = []
    done = 0
    while done < len(drawn.commands):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                run_commands(drawn, bench, writer, done)
            finally:
                os._exit(0)
        os.close(writer)
        signal.alarm(WALL_SECONDS)
        text = b""
        try:
            while part := os.read(reader, 1 << 16):
                text += part
        except TookTooLong:
            pass
        signal.alarm(0)
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = [json.loads(line) for line in text.splitlines()]
        for at, code, peak, told in lines:
            command = drawn.commands[at]
            counts[" ".join(re.match(r"(?:(?:data|dump|weights|check) )?\w+", command)[0].split())] += 1  # type: ignore[index]
            if what := failure_of(code, peak, told):
                failures.append(Failure(number, drawn.kind, drawn.value, place, command, what, told))
        done = lines[-1][0] + 1 if lines else done
        if done < len(drawn.commands):
            what = "ended before its answer"
            failures.append(Failure(number, drawn.kind, drawn.value, place, drawn.commands[done], what, ""))
            done += 1
    return failures


# --- many inputs ---


def sweep(options: argparse.Namespace) -> int:
    import importlib
    import pkgutil

    import accmap.cli.commands
    import accmap.cli.evidence
    import accmap.rules.fixes

    accmap.rules.fixes._MOST_TRIES = 2  # each fix that is tried is a lint of its own
    for package in (accmap.cli.commands, accmap.cli.evidence):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    signal.signal(signal.SIGALRM, _interrupt)
    signal.signal(signal.SIGPROF, _interrupt)
    with tempfile.TemporaryDirectory(prefix="value_sweep_") as name:
        os.environ.update(HOME=name, ACCMAP_CACHE_DIR=f"{name}/cache")
        bench = Path(name) / "bench"
        bench.mkdir()
        os.chdir(bench)
        public = options.corpus and Path(options.corpus)
        good = build_bench(bench, public, options.public)
        shutil.copytree(bench, f"{name}/unchanged")
        _warm_up(good, bench)
        return _sweep(options, good, bench)


def _warm_up(good: dict[str, list[str]], bench: Path) -> None:
    """Run every command once on unchanged files: what they import and build, each input's process has then."""
    before = [os.dup(stream) for stream in (1, 2)]
    streams = sys.stdout, sys.stderr
    for kind, subject in SUBJECTS.items():
        if kind != "args":
            data = good[kind][0].encode()
            data = struct.pack("<Q", len(data)) + data + b"\0" * 40 if kind == "header" else data
            (bench / subject.name).write_bytes(data)
        for command in subject.always + subject.sometimes:
            _run(words_of(command, kind), bench)
        restore(kind, bench)
    sys.stdout, sys.stderr = streams
    for stream, saved in zip((1, 2), before, strict=True):
        os.dup2(saved, stream)
        os.close(saved)


def _sweep(options: argparse.Namespace, good: dict[str, list[str]], bench: Path) -> int:
    journal = Path(options.start_folder, options.journal) if options.journal else None
    seed, first, counts, told = options.seed, 0, Counter[str](), {}
    if journal and journal.exists():
        saved = json.loads(journal.read_text("utf-8"))
        if saved["seed"] == seed:
            first, counts, told = saved["next"], Counter(saved["commands"]), saved["failures"]
    numbers = range(first, options.count) if options.only is None else [options.only]
    print(f"seed {seed}, inputs from {numbers[0] if numbers else first}", flush=True)
    ends = time.monotonic() + options.seconds if options.seconds else None
    number = first
    for number in numbers:
        drawn = draw(seed, number, good, options.kind or list(SUBJECTS))
        place = write_input(drawn, good, bench)
        for failure in try_input(drawn, number, place, bench, counts):
            entry = told.setdefault(failure.what, {"count": 0, "first": failure._asdict()})
            entry["count"] += 1
            if entry["count"] == 1 or options.only is not None:
                _report(failure, in_full=options.only is not None)
        if options.only is None:
            restore(drawn.kind, bench)
        else:
            print(f"the files are in {bench}; Enter removes them")
            sys.stdin.readline()
        if journal and number % 50 == 49:
            _save(journal, seed, number + 1, counts, told)
        if ends and time.monotonic() > ends:
            break
    if journal and options.only is None:
        _save(journal, seed, number + 1, counts, told)
    print(f"{number + 1} inputs, {sum(counts.values())} commands: {dict(counts.most_common())}")
    for what, entry in sorted(told.items(), key=lambda item: -item[1]["count"]):
        print(f"{entry['count']:6} {what}")
    return 1 if told else 0


def _save(journal: Path, seed: int, following: int, counts: Counter[str], told: dict[str, Any]) -> None:
    text = json.dumps({"seed": seed, "next": following, "commands": counts, "failures": told}, indent=1)
    journal.with_suffix(".new").write_text(text, "utf-8")
    journal.with_suffix(".new").replace(journal)


def _report(failure: Failure, *, in_full: bool) -> None:
    print(f"#{failure.number} {failure.kind} {failure.place} = {failure.value}: {failure.command}\n    {failure.what}")
    if in_full:
        print(failure.told)
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--count", type=int, default=10**9, help="inputs in all")
    parser.add_argument("--seconds", type=float, help="time after which no further input is drawn")
    parser.add_argument("--kind", action="append", choices=SUBJECTS, help="only files of this kind")
    parser.add_argument("--only", type=int, help="one input, with what the commands say")
    parser.add_argument("--journal", help="a file that keeps how far a run is, and what it found")
    parser.add_argument("--corpus", default=os.environ.get("ACCMAP_CORPUS"), help="a folder of public files")
    parser.add_argument("--public", type=int, default=30, help="public files of each kind")
    options = parser.parse_args()
    options.start_folder = os.getcwd()
    return sweep(options)


if __name__ == "__main__":
    sys.exit(main())

"""Commands on a changed file: each ends with 0, 1 or 2 and writes no traceback.

A file is changed in one of two ways: one value becomes an absurd one, or its bytes are damaged. `always` are the
commands that read each input, of `sometimes` two are drawn. `test_fuzz.py` tries all of them on unchanged files:
a command line that is refused before it reads its file tries nothing.
"""

from __future__ import annotations

import argparse
import filecmp
import io
import json
import os
import shutil
import threading
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

import array_files
from absurd_values import (
    VALUES,
    change_arguments,
    change_json,
    change_log,
    change_script,
    change_toml,
    change_yaml,
)
from good_files import texts_of, with_header, write_bench

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from pathlib import Path

PAIR = (
    "recipe @", "diff @ partner", "lr @ partner", "report @ partner -o report.html --force", "pair @ -d pair --force",
    "playbook @ partner -d playbook --force", "data check @ partner", "dump config @ partner -d config --force",
    "doctor @", "defects @", "logs a.log --config @", "weights convert torch --config @ --plan -o converted",
    "lint @ partner --no-cache --format sarif", "explain NET001", "convert @ --to megatron -o out.sh --force",
    "weights check torch --config @", "lint @ --no-cache --all --remarks", "lr @ --all-steps --format csv",
    "show @ --format json", "recipe @ --format json", "diff @ partner --format json", "rules @",
    "weights convert torch --config @ -o converted --force", "lint @ partner --fix --diff --unsafe --no-cache",
    "data show @ partner --step 1",
)  # fmt: skip
READ = ("show @", "lint @ --no-cache", "convert @ -o out --force")


class Subject(NamedTuple):
    """A kind of file: its name, its good texts, how a value in it is changed, and the commands that read it."""

    file: str
    texts: str
    change: Callable[[str, object, random.Random], tuple[bytes, str]] | None
    always: tuple[str, ...]
    sometimes: tuple[str, ...]
    weight: float
    make: Callable[[random.Random], bytes] | None = None


SUBJECTS = {
    "scripts": Subject("changed.sh", "sh", change_script, READ, (), 24),
    "YAML files": Subject("changed.yaml", "yaml", change_yaml, READ, (), 24),
    "small scripts": Subject("changed.sh", "small sh", change_script, (), PAIR, 16),
    "small YAML files": Subject(
        "changed.yaml", "small yaml", change_yaml, (), (*PAIR, "upgrade @ -o newest.yaml --force"), 16
    ),
    "config.json": Subject(
        "model/config.json", "json", change_json,
        ("show model", "lint model --no-cache", "convert model --to megatron -o out.sh --force"),
        ("recipe model", "diff model good.yaml", "report model good.yaml -o report.html --force", "show @",
         "convert model --to mindformers -o out.yaml --force", "lint uses.yaml --no-cache",
         "lint fine_tune.sh --no-cache", "pair model -d pair --force"),
        14,
    ),
    "accmap.toml": Subject(
        "accmap.toml", "toml", change_toml, ("lint good.sh good.yaml --no-cache",),
        ("lint . --no-cache", "schema --of config --check accmap.toml", "data check good.sh good.yaml",
        "init --yes --force",
         "diff good.sh good.yaml", "report good.sh good.yaml -o report.html --force", "defects good.sh"),
        4,
    ),
    "arguments of a checkpoint": Subject(
        "torch", "arguments", None, ("weights convert torch --plan -o converted",),
        ("weights check torch", "weights convert torch -o converted --force", "weights check torch --config good.sh",
         "lint torch good.yaml --no-cache", "weights convert torch -o converted --to huggingface --force"),
        6,
    ),
    "logs": Subject(
        "changed.log", "log", change_log, ("logs @ a.log",),
        ("logs @", "logs b.log @ --format json", "logs --benchmark @ a.log b.log",
        "logs @ a.log --format html -o page.html --force"),
        8,
    ),
    "dumps": Subject(
        "dump/step0/rank0/dump.json", "dump", change_json, ("dump compare dump other_dump",),
        ("dump scan dump", "dump compare other_dump dump --format json"), 5,
    ),
    "scores": Subject("changed.json", "scores", change_json, ("check scores @ scores.json",), (), 4),
    "answers": Subject("changed.json", "answers", change_json, ("check answers @ answers.json",), (), 4),
    "tokenizers": Subject(
        "tokenizer.json", "tokenizer", change_json, ("check tokenizers @ good_tokenizer.json",),
        ("data check corpus --tokenizer @",), 4,
    ),
    "headers of safetensors": Subject(
        "weights/model.safetensors", "header", change_json, ("weights check weights",),
        ("weights check weights torch",), 4
    ),
    "npy": Subject("changed.npy", "", None, ("check npy @ good.npy",), (), 6, array_files.npy),
    "files of safetensors": Subject("weights/model.safetensors", "", None, ("weights check weights",), (), 4,
    array_files.safetensors_file),
    "torch.save": Subject(
        "torch/iter_0000007/mp_rank_00/model_optim_rng.pt", "", None, ("weights check torch",),
        ("weights convert torch --plan -o converted",),
        6, array_files.torch_file,
    ),
    "indexes": Subject("corpus.idx", "", None, ("data check corpus",), (), 4, array_files.index),
    "event files": Subject("events.out.tfevents.2", "", None, ("logs @ a.log",), ("logs @",), 4,
    array_files.event_file),
}  # fmt: skip


_ALONE = threading.Lock()


def run_within(words: Sequence[str], folder: str) -> tuple[int, str, str]:
    """A command of a playbook in this process: to start one for each of them takes seconds."""
    with _ALONE:
        before = os.getcwd()
        os.chdir(folder)
        try:
            code, answer, said = run_command(list(words))
            if code not in (0, 1, 2) or "Traceback" in said:
                raise AssertionError(f"{' '.join(words)}\n{said}")
            return code, answer, said
        finally:
            os.chdir(before)


def prepare(bench: Path) -> None:
    """Write the good files, and a copy of them to restore what was changed."""
    from accmap.cli.evidence import playbook

    playbook.run_apart = run_within
    write_bench(bench)
    for name, subject in SUBJECTS.items():
        if subject.make is None and subject.change is not None and not (bench / subject.file).exists():
            (bench / subject.file).write_bytes(as_file(name, good_texts(name, bench)[0].encode()))
    shutil.copy(bench / "tokenizer.json", bench / "good_tokenizer.json")
    shutil.copytree(bench, bench.parent / f"{bench.name}_good")


def good_texts(name: str, bench: Path) -> tuple[str, ...]:
    """The texts of a subject that are changed."""
    subject = SUBJECTS[name]
    if subject.texts == "dump":
        return ((bench.parent / f"{bench.name}_good" / subject.file).read_text("utf-8"),)
    if subject.texts == "header":
        entry = {
            "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
            "b": {"dtype": "F32", "shape": [4], "data_offsets": [24, 40]},
        }
        return (json.dumps(entry),)
    return texts_of(subject.texts)


def as_file(name: str, data: bytes) -> bytes:
    """The bytes of a subject's file with this text."""
    return with_header(data) if name == "headers of safetensors" else data


def write_changed(name: str, chance: random.Random, bench: Path) -> str:
    """Write a changed file of a subject; the answer is what was changed."""
    subject = SUBJECTS[name]
    path = bench / subject.file
    if name == "arguments of a checkpoint":
        return _write_arguments(chance, bench)
    if subject.make is not None:
        path.write_bytes(subject.make(chance))
        return "made by chance"
    text = chance.choice(good_texts(name, bench))
    if chance.random() < 0.2:
        path.write_bytes(as_file(name, array_files.damaged(text.encode(), chance)))
        return "damaged"
    assert subject.change is not None
    called = chance.choice(list(VALUES))
    data, place = subject.change(text, VALUES[called], chance)
    path.write_bytes(as_file(name, data))
    return f"{place} = {called}"


def _write_arguments(chance: random.Random, bench: Path) -> str:
    from weight_files import namespace, write_megatron

    called = chance.choice(list(VALUES))
    known = {
        key: held
        for key, held in vars(namespace(str(bench / "good.sh"))).items()
        if isinstance(held, (int, float, str, list)) or held is None
    }
    arguments, place = change_arguments(known, VALUES[called], chance)
    shutil.rmtree(bench / "torch")
    write_megatron(bench / "torch", str(bench / "good.sh"), {}, args=argparse.Namespace(**arguments))
    return f"{place} = {called}"


def restore(name: str | None, bench: Path) -> None:
    """The files are again as they were before the input, which changed the file of a subject."""
    good = bench.parent / f"{bench.name}_good"
    for entry in os.scandir(bench):
        if not (good / entry.name).exists():
            shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)
    if name is None:
        for entry in os.scandir(good):
            if entry.is_file() and not filecmp.cmp(entry.path, bench / entry.name):
                shutil.copyfile(entry.path, bench / entry.name)
        return
    changed = SUBJECTS[name].file
    if (good / changed).is_dir():
        shutil.rmtree(bench / changed)
        shutil.copytree(good / changed, bench / changed)
    elif (good / changed).exists():
        shutil.copyfile(good / changed, bench / changed)


def words_of(command: str, name: str) -> list[str]:
    """The command line for a subject's file."""
    script = SUBJECTS[name].file.endswith(".sh")
    names = {
        "@": SUBJECTS[name].file,
        "partner": "good.yaml" if script else "good.sh",
        "out": "out.yaml" if script else "out.sh",
    }
    return [names.get(word, word) for word in command.split()]


def command_name(command: str) -> str:
    """What a command line counts as."""
    words = command.split()
    return " ".join(words[: 2 if words[0] in ("data", "dump", "weights", "check") else 1])


def run_command(words: list[str]) -> tuple[int, str, str]:
    """The exit code of a command line in this process, its answer, and what it wrote to standard error."""
    from accmap.cli.lean import main

    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(held, "utf-8", write_through=True) for held in written)
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    answer, said = (held.getvalue().decode("utf-8", "replace") for held in written)
    return code, answer, said


def failure_of(words: list[str], changed: str = "") -> str | None:
    """The failure of a command, by its place in accmap; None if it ended as promised."""
    import re

    code, _, said = run_command(words)
    if code in (0, 1, 2) and "Traceback (most recent call last)" not in said:
        return None
    frames = re.findall(
        r'File "[^"]*?/((?:api|cli|evidence|mapper|mappings|rules|schemas|verifier)/[^"]+)", line (\d+)', said
    )
    error = re.findall(r"^(\w*(?:Error|Exception|Iteration))\b", said, re.MULTILINE)
    place = ":".join(frames[-1]) if frames else said[-100:].replace("\n", " ")
    return f"exit {code} {error[-1] if error else ''} {place}\n{' '.join(words)}\n{changed}\n{said}"

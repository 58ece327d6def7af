"""The commands that write files, with what each reads: what a fault leaves of their files is tried with all of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[3]
for part in ("dump", "logs", "weights"):
    sys.path.insert(0, str(ROOT / "tests" / "evidence" / part))
from small_network import run as dump_of  # noqa: E402
from weight_files import arrays, pair, write_megatron  # noqa: E402
from writing_logs import falling, megatron_run  # noqa: E402

from accmap.cli.lean import main  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = ROOT / "examples"
COMMANDS = [
    "convert megatron.sh -o out.yaml --report report.json --force",
    "convert megatron.sh --update mindformers.yaml",
    "convert megatron.sh --to huggingface -o config.json --force",
    "pair megatron.sh -d pair --force",
    "upgrade mindformers.yaml -o out.yaml --force",
    "upgrade mindformers.yaml -d newer --force",
    "lint megatron.sh mindformers.yaml --fix --unsafe --no-cache",
    "lint megatron.sh mindformers.yaml --add-ignores --no-cache",
    "lint megatron.sh mindformers.yaml --write-baseline baseline.json --no-cache",
    "lint megatron.sh mindformers.yaml --format json --output-file lint.json --no-cache",
    "lint megatron.sh mindformers.yaml",
    "report megatron.sh mindformers.yaml -o report.html --force",
    "lr megatron.sh mindformers.yaml -o curve.svg --force",
    "diff megatron.sh mindformers.yaml --format json -o diff.json --force",
    "init --yes --force",
    "dump config megatron.sh mindformers.yaml -d dump --force",
    "playbook megatron.sh mindformers.yaml -d playbook --force",
    "logs run.log -o logs.html --format html --force",
    "dump compare recorded recorded -o compared.json --format json --force",
    "dump scan recorded -o scanned.json --format json --force",
    "check answers answers.json answers.json --differing differing.txt --force",
    "weights check checkpoint -o checked.json --format json --force",
]
ELSEWHERE = {
    "weights convert": "resumes where it was killed: tests/evidence/weights/test_weights_killed.py",
    "verify": "runs both frameworks; it writes as `report` does",
    "verify record": "runs a framework; its record is written as a tensor file is",
    "verify join": "reads records of frameworks; it writes as `report` does",
    "verify export": "writes a folder as `pair` does",
}
"""Commands with an option that names an output, which are not in the list."""
WRITING_OPTIONS = {
    "--output", "--output-file", "--directory", "--update", "--report", "--fix", "--add-ignores", "--write-baseline",
    "--differing", "--small-files",
}  # fmt: skip
OUTPUTS = (
    "out.yaml",
    "report.json",
    "report.html",
    "curve.svg",
    "diff.json",
    "logs.html",
    "compared.json",
    "scanned.json",
    "checked.json",
    "config.json",
    "differing.txt",
)


def write_inputs(line: str, folder: Path) -> None:
    """Write what a command reads, and a file where its answer goes."""
    # A file with an error is not upgraded.
    shutil.copytree(EXAMPLES / ("qwen3_dense" if line.startswith("upgrade") else "planted"), folder)
    words = line.split()
    if "run.log" in words:
        (folder / "run.log").write_text(megatron_run(falling(12)))
    if "recorded" in words:
        dump_of(folder / "recorded", task="statistics")
    if "answers.json" in words:
        (folder / "answers.json").write_text('[{"question": "q", "answer": "4", "score": 1.0, "id": 1}]')
    if "checkpoint" in words:
        script, _ = pair("grouped", folder / "small")
        write_megatron(folder / "checkpoint", script, arrays(script))
    for name in OUTPUTS:
        if name in words:
            (folder / name).write_text("the old one\n" * 400)


def content(folder: Path) -> dict[str, bytes]:
    """Every file but for half-written ones and the cache, whose entries have names of their own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".accmap-" not in str(path) and "cache" not in path.relative_to(folder).parts
    }


def run_apart(folder: Path, line: str, begin: Callable[[], None] | None = None, messages: str = os.devnull) -> int:
    """The exit code of a command in a process of its own, after `begin`; its messages go to a file."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.chdir(folder)
            os.environ["ACCMAP_CACHE_DIR"] = str(folder / "cache")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(messages, os.O_WRONLY), 2)
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
            if begin is not None:
                begin()
            sys.argv[1:] = line.split()  # an answer is cached for the command line of its process
            code = main(line.split())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

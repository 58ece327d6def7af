"""Prints the rows of the contract's BENCH table in one run on one machine; `verify` is measured by its own tests.

    python benchmarks/run.py [--runs 15] [--pairs 1000]

A throw-away virtual environment gets accmap from a wheel (never editable), yamllint and check-jsonschema. Every figure
is CPU time, user and system, of a process that was started anew, the median of 15 after a warm-up that also writes
bytecode, relative to `python -I -c pass` of the same interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
PAIR = ROOT / "examples" / "qwen3_dense"


def cpu(command: list[str], runs: int, environment: dict[str, str]) -> float:
    """Median CPU seconds of a command."""
    taken: list[float] = []
    for _ in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(taken[1:])


def wall(command: list[str], environment: dict[str, str]) -> float:
    """Elapsed seconds of a command, the second time."""
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
        taken = time.perf_counter() - began
    return taken


def peak_memory(command: list[str], environment: dict[str, str]) -> float:
    """Peak resident memory of a command in MB."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=-3, stderr=-3);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, *command],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return int(done.stdout) / 1024


def environment_with(folder: Path) -> Path:
    """A new virtual environment with accmap's wheel and what it is compared with; the directory of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "pip"], check=False)
    subprocess.run([*pip, str(ROOT), "yamllint", "check-jsonschema"], check=True)
    return programs


def many_pairs(folder: Path, count: int) -> list[str]:
    """Pairs of different structure: sections and flags come and go, and every number is another one."""
    script, yaml = (PAIR / "megatron.sh").read_text("utf-8"), (PAIR / "mindformers.yaml").read_text("utf-8")
    optional = [line for line in yaml.split("\n") if line.startswith("    ") and ":" in line and "&" not in line]
    rows = ["pairs = [{ megatron = 'pair*/run.sh', mindformers = 'pair*/run.yaml' }]\n"]
    (folder / "accmap.toml").write_text("".join(rows), "utf-8")
    files: list[str] = []
    for number in range(count):
        home = folder / f"pair{number}"
        home.mkdir()
        own = yaml.replace("hidden_size: 512", f"hidden_size: {512 + 64 * (number % 97)}")
        for place, line in enumerate(optional[-24:]):
            if number >> (place % 11) & 1 and place % 3 == number % 3:
                own = own.replace(f"{line}\n", "", 1)
        (home / "run.yaml").write_text(own, "utf-8")
        changed = script.replace("--hidden-size 512", f"--hidden-size {512 + 64 * (number % 89)}")
        (home / "run.sh").write_text(
            changed.replace("--qk-layernorm\n", "" if number % 5 == 0 else "--qk-layernorm\n"), "utf-8"
        )
        files += [f"pair{number}/run.sh", f"pair{number}/run.yaml"]
    return files


def use_two_cores() -> None:
    """Keep this process and those that it starts on two cores, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def show(name: str, value: float, unit: str, goal: float | None) -> None:
    """One row: what was measured, the contract's goal, and whether it is missed."""
    beside = "" if goal is None else f"<= {goal:.2f}{'' if value <= goal else '   MISSED'}"
    print(f"{name:44}{value:8.2f} {unit:3}{beside}")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--programs", type=Path, help="an environment's bin directory instead of a new one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        programs = given.programs or environment_with(home / "venv")
        environment = {
            "PATH": str(programs),
            "HOME": scratch,
            "ACCMAP_CACHE_DIR": str(home / "cache"),
            "LANG": "C.UTF-8",
        }
        accmap, files = str(programs / "accmap"), [str(PAIR / "megatron.sh"), str(PAIR / "mindformers.yaml")]
        schema = home / "schema.json"
        schema.write_text(json.dumps({"type": "object"}), "utf-8")
        base = cpu([str(programs / "python"), "-I", "-c", "pass"], given.runs, environment)

        def ratio(*command: str) -> float:
            return cpu(list(command), given.runs, environment) / base

        yamllint = ratio(str(programs / "yamllint"), "-d", "relaxed", files[1])
        rows: list[tuple[str, float, float | None]] = [
            ("accmap --version", ratio(accmap, "--version"), 1.5),
            ("accmap lint, one pair, no cache entry", ratio(accmap, "lint", "--no-cache", *files), 0.9 * yamllint),
            ("the same, cached", ratio(accmap, "lint", *files), 2),
            ("accmap show, the script", ratio(accmap, "show", files[0]), 8),
            ("accmap show, the YAML", ratio(accmap, "show", files[1]), 8),
            ("accmap recipe, the script", ratio(accmap, "recipe", files[0]), 8),
            ("accmap recipe, the YAML", ratio(accmap, "recipe", files[1]), 8),
            ("accmap convert, the script, read back", ratio(accmap, "convert", files[0]), 12),
            ("accmap lint --help", ratio(accmap, "lint", "--help"), 20),
            ("yamllint, the YAML", yamllint, None),
            (
                "check-jsonschema, the YAML",
                ratio(str(programs / "check-jsonschema"), "--schemafile", str(schema), files[1]),
                None,
            ),
        ]
        print(f"{'python -I -c pass':44}{base * 1000:8.1f} ms")
        for name, value, goal in rows:
            show(name, value, "x", goal)
        show("peak memory of a lint", peak_memory([accmap, "lint", "--no-cache", *files], environment), "MB", 45)
        os.chdir(home)
        names = many_pairs(home, given.pairs)
        use_two_cores()
        ours = wall([accmap, "lint", "--no-cache", "--format", "json", "-j", "2", *names], environment)
        theirs = wall([str(programs / "yamllint"), "-d", "relaxed", *names[1::2]], environment)
        show(f"{given.pairs} pairs, two processes, elapsed", ours, "s", theirs / 2)
        show(f"yamllint, the {given.pairs} YAMLs, elapsed", theirs, "s", None)
        os.chdir(ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())

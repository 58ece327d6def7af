"""What MindSpore Transformers checks before its first step: `lint` has an error and `convert` refuses, and not else."""

# pyright: basic, reportMissingImports=false
# `list_conditions` is a program beside the product.

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap import convert
from accmap.cli.lean import main
from accmap.mapper.preconditions import refusals, stops
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", ROOT / ".frameworks" / "mindformers"))
CASES: list[tuple[str, str, str, Any, bool]] = load_table((HERE / "startup_cases.yaml").read_text("utf-8"))
BOUNDARY: list[tuple[str, str, int, dict[str, Any], bool]] = load_table(
    (HERE / "boundary_cases.yaml").read_text("utf-8")
)
VALUES: dict[str, dict[str, list[Any]]] = load_table((HERE / "startup_values.yaml").read_text("utf-8"))
MOST = 8
"""Configurations that count of one condition."""
REFUSED_TWICE = 2


def with_value(content: dict[str, Any], path: str, value: Any) -> dict[str, Any] | None:
    """The content with a key set, or (`^`) misspelt; None if something else stands in the way."""
    found: dict[str, Any] = json.loads(json.dumps(content))
    here, (*sections, key) = found, path.split(".")
    for name in sections:
        if here.get(name) is None:
            here[name] = {}
        here = here[name]
        if not isinstance(here, dict):
            return None
    if key.startswith("^"):
        key = key[1:]
        value, key = here.pop(key, value), key + key[-1]
    here[key] = value
    return found


def of_examples(graph: str, version: str) -> list[dict[str, Any]]:
    """Examples of the repository that start."""
    names = ("qwen3_moe", "deepseek_v3", "qwen3_dense")
    if graph == "static":
        return [load_table((ROOT / "examples" / name / "mindformers.yaml").read_text("utf-8")) for name in names]
    scripts = [str(ROOT / "examples" / name / "megatron.sh") for name in names]
    return [load_table(convert(script, version=version, dialect="dynamic").text) for script in scripts]


@cache
def sound(graph: str, version: str) -> list[dict[str, Any]]:
    return of_examples(graph, version)


def is_refused(path: Path, version: str) -> bool:
    """Whether `lint` has an error and `convert` writes nothing; they have to agree."""
    lint = main(["lint", "--no-cache", "--quiet", "--mindformers", version, str(path)])
    converted = main(["convert", str(path), "--mindformers", version, "-o", os.devnull])
    assert (lint == 1) == (converted == REFUSED_TWICE), (lint, converted)
    return lint == 1


@pytest.mark.parametrize(("graph", "version", "path", "value", "starts"), CASES)
def test_a_value(graph: str, version: str, path: str, value: Any, starts: bool, tmp_path: Path) -> None:
    content = with_value(sound(graph, version)[0], path, value)
    assert content is not None
    if graph == "static":
        content["use_parallel"] = True
        if path not in ("load_ckpt_format", "load_checkpoint"):
            content.pop("load_checkpoint", None)  # some conditions are about a run without one
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    assert is_refused(file, version) == (not starts)


def at_the_bounds(graph: str, version: str, example: int, changes: dict[str, Any]) -> dict[str, Any]:
    content = sound(graph, version)[example]
    for path, value in changes.items():
        content = with_value(content, path, value)
        assert content is not None
    return content


def test_boundary_values() -> None:
    wrong: list[str] = []
    for graph, version, example, changes, starts in BOUNDARY:
        text = yaml.dump(at_the_bounds(graph, version, example, changes), Dumper=yaml.CSafeDumper)
        config = config_of(SourceText("run.yaml", text), ReadOptions(mindformers=version), path="run.yaml")
        if any(one.certain for one in refusals(config)) is starts:
            wrong.append(f"{graph} {version} {changes}")
    assert wrong == []


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.parametrize(("graph", "version"), [("static", "1.9"), ("dynamic", "2.1")])
def test_boundary_values_are_the_real_codes(graph: str, version: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    if not (WHEELS / f"{version}.0").is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    cases = [case for case in BOUNDARY if (case[0], case[1]) == (graph, version)]
    paths = [tmp_path / f"{number:04}.yaml" for number in range(len(cases))]
    for path, (*given, changes, _) in zip(paths, cases, strict=True):
        path.write_text(yaml.safe_dump(at_the_bounds(*given, changes), sort_keys=False), "utf-8")
    answers = real_answers(paths, version, graph, tmp_path)
    assert ["refused" not in one for one in answers] == [case[-1] for case in cases]


def test_every_judged_condition_names_a_section() -> None:
    """A section that is renamed leaves its conditions without a judge."""
    table = load_table((ROOT / "schemas/mindformers/conditions.yaml").read_text("utf-8"))
    sections = load_table((ROOT / "schemas/mindformers/resolution.yaml").read_text("utf-8"))
    assert set(table["row"]) - {one.get("section") for one in sections} == set()
    assert set(table["stop"]) - {stop.name for stop in stops()} == set()
    digests = [digest for name in ("row", "stop") for listed in table[name].values() for digest in listed]
    digests += [
        digest for reason in ("kinds", "names", "device", "file", "unreachable", "open") for digest in table[reason]
    ]
    assert len(digests) == len(set(digests))
    assert table["open"] == []


@pytest.mark.parametrize(
    ("graph", "version", "path", "value", "starts"),
    [
        ("static", "1.9", "params", ["nothing.here"], False),
        ("static", "1.9", "params", ["*embedding*"], False),  # the group before takes every embedding
        ("static", "1.9", "params", ["router", "nothing.here"], True),
        ("dynamic", "2.1", "lora_config", {"target_modules": "query_proj"}, False),
        (
            "dynamic",
            "2.1",
            "lora_config",
            {"target_modules": "experts|linear_proj", "exclude_layers": "decoder"},
            False,
        ),
        ("dynamic", "2.1", "lora_config", {"target_modules": "linear_proj$"}, True),
    ],
)
def test_patterns_that_fit_no_name(
    graph: str, version: str, path: str, value: Any, starts: bool, tmp_path: Path
) -> None:
    content = of_examples(graph, version)[0]
    if graph == "static":
        rate = content.pop("lr_schedule")
        groups = [{**rate, "params": ["*embedding*"]}, {**rate, path: value}]
        content["grouped_lr_schedule"] = {"default": rate, "grouped": groups}
    else:
        content[path] = value
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    assert is_refused(file, version) == (not starts)


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["1.8.0", "1.9.0", "2.1.0"])
def test_no_condition_of_a_tree_is_new(version: str) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from list_conditions import MINDFORMERS, new_conditions

    if not (WHEELS / version).is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    assert new_conditions(str(WHEELS / version), MINDFORMERS) == []


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "graph"), [(one, "static") for one in ("1.8", "1.9", "2.1")] + [("2.1", "dynamic")]
)
def test_what_the_real_code_refuses(version: str, graph: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    tree = WHEELS / f"{version}.0"
    if not tree.is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    contents = of_examples(graph, version)
    paths: list[Path] = []
    for key, values in VALUES[graph].items():
        for value in values:
            content = with_value(random.Random(f"{key}{value}").choice(contents), key, value)
            if content is not None:
                paths.append(tmp_path / f"{len(paths):04}.yaml")
                paths[-1].write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    by_condition: dict[str, int] = {}
    caught = refused = 0
    missed: list[str] = []
    for path, answer in zip(paths, real_answers(paths, version, graph, tmp_path), strict=True):
        if "refused" not in answer:
            continue
        condition = f"{answer['at']} {answer['refused'][:40]}"
        by_condition[condition] = by_condition.get(condition, 0) + 1
        if by_condition[condition] <= MOST:
            refused += 1
            stops = main(["lint", "--no-cache", "--quiet", "--mindformers", version, str(path)]) == 1
            caught += stops
            missed += [] if stops else [condition]
    assert refused
    assert caught >= 0.97 * refused, missed


def real_answers(paths: list[Path], version: str, graph: str, folder: Path) -> list[dict[str, Any]]:
    listed, answer = folder / "list.txt", folder / "answers.txt"
    listed.write_text("\n".join(map(str, paths)), "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(WHEELS / f"{version}.0"), str(HERE)))}
    run = HERE.parents[1] / "framework_run.py"
    words = [sys.executable, str(run), str(HERE / "startup_oracle.py"), graph, str(listed), str(answer)]
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert answer.exists(), done.stderr[-2000:]
    return [json.loads(line) for line in answer.read_text("utf-8").splitlines()]

"""The real resolution against ours: the YAMLs that a release ships with, and seeded mutants of them.

The real side is the configuration class and the converter (`differential_oracle.py`); what the trainer itself hands to
them is left out. Without unpacked wheels or trees there is nothing to compare: `ACCMAP_MINDFORMERS` names the
wheels, `ACCMAP_MINDFORMERS_TREES` folders `1.9/configs`, `1.9/research`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap import convert
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.mindformers.dynamic import VERSIONS as DYNAMIC_VERSIONS
from accmap.schemas.mindformers.dynamic import catalog as dynamic_catalog
from accmap.schemas.mindformers.effective import mindformers_config
from accmap.schemas.mindformers.versions import STATIC_VERSIONS, static_catalog, static_version
from accmap.schemas.plain_values import TRUTH, is_mapping, is_on

HERE = Path(__file__).resolve().parent
RUN = HERE.parents[1] / "framework_run.py"
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", HERE.parents[2] / ".frameworks" / "mindformers"))
TREES = os.environ.get("ACCMAP_MINDFORMERS_TREES", "")
MUTANTS = 120
SHOWN = 12
BY_THE_TRAINER = frozenset(
    ("calculate_per_token_loss", "disable_lazy_inline", "init_method", "output_layer_init_method", "parallel_config")
    + ("track_max_attention_logit", "use_eod_attn_mask_compression", "sparse_mode", "input_layout", "batch_size")
)
"""What the running trainer or the context writes, or what follows from it: the oracle does not run them."""
BY_THE_LAYOUT = ("_size", "sequence_parallel", "hierarchical_context_parallel_sizes", "cp_comm_type", "_recompute")
VALUES: tuple[Any, ...] = (0, 1, 2, 3, 8, 64, 0.5, True, False, None, "rope", "yarn", "none", "bf16", "float32")
VALUES += ("silu", "swiglu", "sigmoid", "softmax", "seq_aux_loss", [0, 1], [1, 1, 1, 1], "1e-5", -1)


def is_training(content: dict[str, Any], graph: str) -> bool:
    """Whether a YAML trains on that graph."""
    if graph == "dynamic":
        return "parallelism" in content and "model" in content
    model: Any = (content.get("model") or {}).get("model_config")
    trains = content.get("use_legacy") is False and content.get("run_mode") in ("train", "finetune")
    return trains and is_mapping(model) and "model_type" in model


def shipped(folders: list[Path], graph: str) -> list[dict[str, Any]]:
    """The YAMLs of the folders that train on that graph."""
    found: list[dict[str, Any]] = []
    for path in (path for folder in folders for path in sorted(folder.rglob("*.yaml"))):
        try:
            content: Any = yaml.safe_load(path.read_text("utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError):
            continue
        if is_mapping(content) and is_training(content, graph):
            content.pop("pretrained_model_dir", None)
            found.append(content)
    return found


def written(version: str) -> list[dict[str, Any]]:
    """The repository's own launches as YAMLs of the dynamic graph: 1.9 ships with none."""
    scripts = sorted((HERE.parents[2] / "examples").glob("*/*.sh"))
    return [
        yaml.safe_load(convert(str(script), version=version, dialect="dynamic").text)
        for script in scripts
        if script.parent.name != "planted"
    ]


def model_of(content: dict[str, Any]) -> dict[str, Any]:
    return content["model"].get("model_config", content["model"])


def mutant(content: dict[str, Any], known: list[str], chance: random.Random) -> dict[str, Any]:
    """The content with one or two keys of the model or its layout changed, added or taken away."""
    found: dict[str, Any] = json.loads(json.dumps(content))
    for _ in range(chance.choice((1, 1, 2))):
        section = model_of(found)
        keys = [key for key in section if key not in ("model_type", "architectures")]
        what = chance.random()
        if what < 0.4 and keys:
            section[chance.choice(keys)] = chance.choice(VALUES)
        elif what < 0.55 and keys:
            section.pop(chance.choice(keys))
        else:
            section[chance.choice(known)] = chance.choice(VALUES)
    return found


def typed_mutant(content: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The content with one key of a section that has typed fields changed, added under a wrong name or taken away."""
    found: dict[str, Any] = json.loads(json.dumps(content))
    section = chance.choice([part for name, part in found.items() if name != "model" and is_mapping(part)])
    key = chance.choice(list(section))
    what = chance.random()
    if what < 0.7:
        section[key] = chance.choice(VALUES)
    elif what < 0.85:
        section.pop(key)
    else:
        section[f"{key}_"] = chance.choice(VALUES)
    return found


def real_answers(paths: list[Path], version: str, graph: str, folder: Path) -> list[dict[str, Any]]:
    listed, answer = folder / "list.txt", folder / "answers.txt"
    listed.write_text("\n".join(map(str, paths)), "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(WHEELS / f"{version}.0"), str(HERE)))}
    words = [sys.executable, str(RUN), str(HERE / "differential_oracle.py"), graph, str(listed), str(answer)]
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert answer.exists(), done.stderr[-2000:]
    return [json.loads(line) for line in answer.read_text("utf-8").splitlines()]


def differing(config: Config, real: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    version = config.framework_version
    facts = dynamic_catalog(version).tests if config.dialect == "dynamic" else static_catalog(static_version(version))
    tests = facts["field_tests"]
    for name, value in real.items():
        if name in BY_THE_TRAINER or name.endswith(BY_THE_LAYOUT):
            continue
        setting = config.settings.get(f"resolved.transformer.{name}")
        if setting is not None and setting.value.__class__ is bool:
            # The real field keeps what was written, and the code asks whether it is on: the reader answers that.
            value = is_on(value, tests.get(name, TRUTH))
        if setting is None or (setting.decided and repr(setting.value) != repr(value)):
            found[name] = (None if setting is None else setting.value, value)
    return found


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("graph", "version"),
    [("static", version) for version in STATIC_VERSIONS] + [("dynamic", version) for version in DYNAMIC_VERSIONS],
)
def test_the_real_resolution_and_ours(graph: str, version: str, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    if not (WHEELS / f"{version}.0").is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    chance = random.Random(f"mindformers {version}")
    releases = DYNAMIC_VERSIONS if graph == "dynamic" else (version,)
    trees = [Path(TREES) / one for one in releases] if TREES else []
    originals = shipped([*trees, *(WHEELS / f"{one}.0" for one in releases)], graph)
    if graph == "dynamic":
        originals += written(version)
    if not originals:
        pytest.skip("no YAML to compare: ACCMAP_MINDFORMERS_TREES names no tree")
    catalog = static_catalog(static_version(version))
    known = sorted({*catalog["transformer"], *catalog["meant"]} - {"parallel_config", "init_method"})
    typed = MUTANTS // 3 if graph == "dynamic" else 0
    mutants = [mutant(chance.choice(originals), known, chance) for _ in range(MUTANTS - typed)]
    mutants += [typed_mutant(chance.choice(originals), chance) for _ in range(typed)]
    contents = originals + mutants
    paths = [tmp_path / f"{number:03}.yaml" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), "utf-8")
    wrong: list[str] = []
    values = refused = 0
    for path, answer in zip(paths, real_answers(paths, version, graph, tmp_path), strict=True):
        config = mindformers_config(read_text(str(path)), ReadOptions(mindformers=version), read_text)
        stops = [problem for problem in config.problems if problem.kind.severity == "error"]
        if "refused" in answer:
            refused += 1
            if not stops:
                wrong.append(f"{path.name}: refused by the real code, not by ours: {answer['refused'][:140]}")
            continue
        values += len(answer["fields"])
        apart = differing(config, answer["fields"])
        wrong += [f"{path.name}: {name}: {pair}" for name, pair in apart.items()]
    shown = "\n".join(wrong[:SHOWN])
    files = f"{len(originals)} shipped, {len(mutants)} mutants, {refused} refused"
    print(f"{graph} {version}: {files}, {values} values, {len(wrong)} differ")
    assert not wrong, f"{len(wrong)} of {values} values, {refused} refused:\n{shown}"

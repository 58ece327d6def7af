"""Both real TransformerConfigs of every shipped case: each field of one name is equal, or named in the loss report.

No field is left out, and no difference is forgiven: None is not 0, and `aux_loss` is not `seq_aux_loss`. A folder that
`ACCMAP_MEGATRON_TREES` names gives Megatron-LM's own functions; else the installed megatron-core's class is filled from
the effective values. MindSpore Transformers is the installed one, and wheels unpacked under `.frameworks/mindformers`
or where `ACCMAP_MINDFORMERS` says.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import translate
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.plain_values import json_value
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.schemas.config import Config

pytestmark = pytest.mark.frameworks

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
RUN = ROOT / "tests" / "framework_run.py"
CASES = load_table((HERE / "cases" / "megatron_to_mindformers.yaml").read_text(encoding="utf-8"))
BASE = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 2 --train-iters 100 --lr 1e-4 --vocab-size 1024"
)
TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", ROOT / ".frameworks" / "mindformers"))
TARGETS = [
    *(("static", version) for version in ("1.6", "1.7", "1.8", "1.9")),
    *(("dynamic", version) for version in ("1.9", "2.0", "2.1")),
]
FEWEST = 35
"""Of the shipped cases at least so many are runs that Megatron-LM accepts."""


def configs(megatron: str) -> list[tuple[str, Config]]:
    options = ReadOptions(megatron=megatron)
    found: list[tuple[str, Config]] = []
    for case in CASES:
        if case.get("from", megatron) != megatron:
            continue
        quoted = " ".join(f"'{word}'" if "[" in word else word for word in case["arguments"].split())
        text = f"torchrun --nproc_per_node 8 pretrain_gpt.py {BASE} {quoted}"
        found.append((case["name"], config_of(SourceText("run.sh", text), options, path="run.sh")))
    examples = sorted((ROOT / "examples").glob("*/megatron.sh"))
    found.extend((path.parent.name, read_config(str(path), options)) for path in examples)
    return [(name, config) for name, config in found if not config.unresolved]


@functools.cache
def megatron_side(version: str) -> list[dict[str, Any]]:
    """What Megatron-LM makes of every case."""
    jobs: list[str] = []
    for _, config in configs(version):
        launch = config.launch
        assert launch is not None
        words = [word.text for word in launch.arguments]
        args = {key: json_value(setting.value) for key, setting in config.settings.items()}
        job = {"argv": words, "args": args, "world_size": launch.world_size, "env": dict(launch.env)}
        jobs.append(json.dumps(job))
    tree = [os.path.join(TREES, version)] if TREES else []
    return _run("shared_fields_megatron.py", tree, "\n".join(jobs), "")


def _run(script: str, words: list[str], text: str, folder: str) -> list[dict[str, Any]]:
    command = [sys.executable, str(RUN), str(HERE / script), *words]
    environment = {**os.environ, "PYTHONPATH": folder} if folder else dict(os.environ)
    done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _wheel(version: str) -> str | None:
    """A folder for PYTHONPATH, an empty text for the installed one, or None."""
    for folder in (WHEELS / version, WHEELS / f"{version}.0"):
        if folder.is_dir():
            return str(folder)
    return "" if version == "1.9" and importlib.util.find_spec("mindformers") is not None else None


def _alike(one: Any, other: Any) -> bool:
    """To the letter, but for the short names of types."""
    if isinstance(one, list) and isinstance(other, list):
        ours, theirs = cast("tuple[list[Any], list[Any]]", (one, other))
        return len(ours) == len(theirs) and all(map(_alike, ours, theirs))
    return _type(one) == _type(other) and isinstance(one, bool) == isinstance(other, bool)


def _type(value: Any) -> Any:
    return {"fp32": "float32", "fp64": "float64"}.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("megatron", ["0.12", "0.16"])
@pytest.mark.parametrize(("dialect", "version"), TARGETS)
def test_every_shared_field_is_equal_or_reported(
    megatron: str, dialect: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("mindspore", "torch", "megatron.core"):
        pytest.importorskip(module)
    if megatron != "0.12" and not os.path.isdir(os.path.join(TREES, megatron)):
        pytest.skip("ACCMAP_MEGATRON_TREES names no tree of this version")
    folder = _wheel(version)
    if folder is None:
        pytest.skip(f"MindSpore Transformers {version} is neither installed nor unpacked")
    monkeypatch.chdir(tmp_path)
    runs = [
        (name, config, real["fields"])
        for (name, config), real in zip(configs(megatron), megatron_side(megatron), strict=True)
        if "fields" in real
    ]
    assert len(runs) >= FEWEST
    reports: list[dict[str, dict[str, Any]]] = []
    for place, (_, config, _) in enumerate(runs):
        translation = translate(config, "mindformers", version, dialect)
        (tmp_path / f"{place}.yaml").write_text(mindformers_text(translation), encoding="utf-8")
        rows = [row.to_json() for row in translation.rows]
        reports.append({entry["field"]: entry for row in rows for entry in row.get("transformer_config", ())})  # pyright: ignore
    loaded = _run(
        "shared_fields_mindformers.py", [dialect, *(f"{place}.yaml" for place in range(len(runs)))], "", folder
    )
    wrong: list[str] = []
    compared = 0
    for (name, _, one), other, told in zip(runs, loaded, reports, strict=True):
        for field in sorted(one.keys() & other.keys()):
            compared += 1
            if _alike(one[field], other[field]) == (field in told):
                wrong.append(f"{name}: {field} is {one[field]!r} and {other[field]!r}, told: {told.get(field)}")
            elif field in told and not _alike(one[field], told[field]["megatron"]) and "init" not in field:
                wrong.append(f"{name}: {field} is {one[field]!r}, told: {told[field]}")
            elif field in told and not _alike(other[field], told[field]["mindformers"]) and "init" not in field:
                wrong.append(f"{name}: {field} is {other[field]!r}, told: {told[field]}")
        wrong += [f"{name}: {field} is told and not shared" for field in told.keys() - (one.keys() & other.keys())]
    assert compared > 60 * len(runs)
    assert not wrong, "\n".join(wrong[:20])

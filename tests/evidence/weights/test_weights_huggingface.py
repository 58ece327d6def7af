"""Weights of transformers' own classes in the real frameworks: the same parameters, the same logits, and back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main
from accmap.schemas.compilers.tables import load_table
from accmap.verifier.installations import missing_modules

np = pytest.importorskip("numpy")

from weight_files import read_safetensors  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).parents[2] / "cli"))

REAL = Path(__file__).with_name("real")
RUN = Path(__file__).parents[2] / "framework_run.py"
MODELS: dict[str, Any] = load_table(Path(__file__).with_name("huggingface_models.yaml").read_text("utf-8"))["models"]
COUNTERS = ("fi_accu", "expert_load")
LOADED, NOT_LOADED = ["qwen3", "qwen3_moe"], "deepseek_v3"
"""The families whose folder MindSpore Transformers 1.9 reads for training, and the one it trains and cannot read."""
FILES = {"megatron": "run.sh", "mindformers": "run.yaml"}
VERSION = {"megatron": [], "mindformers": ["--mindformers", "1.9"]}
"""The versions whose models `real/` builds: the static graph of MindSpore Transformers."""
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.procedure("proc.weights.convert"),
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]


def run(script: str, *words: object) -> Any:
    """The last line that a script prints, as JSON."""
    environment = {**os.environ, "GLOG_v": "4", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(RUN), str(REAL / script), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def accmap(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """The folder with every model as transformers saves it, its logits, and how many parameters it has."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models")
    (folder / "jobs.json").write_text(json.dumps({name: model["keys"] for name, model in MODELS.items()}), "utf-8")
    return folder, run("transformers_run.py", folder / "jobs.json", folder)


def converted(folder: Path, framework: str) -> Iterator[str]:
    """The names of the models whose weights the framework can have; each is written with its configuration."""
    for name, model in MODELS.items():
        config, report = folder / name / FILES[framework], folder / name / f"{framework}.json"
        accmap(
            "convert",
            folder / name,
            "--to",
            framework,
            *VERSION[framework],
            "-o",
            config,
            "--report",
            report,
            "--force",
        )
        words = ("weights", "convert", folder / name, "--to", framework, "--config", config)
        local = ("--transformer-impl", "local") if framework == "megatron" else ()
        code = accmap(*words, "-o", folder / f"{name}.{framework}", "--force", *local)
        assert code == (1 if framework in model.get("refused", {}) else 0), name
        if code == 0:
            yield name


@pytest.mark.parametrize("framework", ["megatron", "mindformers"])
def test_parameters_and_logits_are_those_of_transformers(
    framework: str, saved: tuple[Path, dict[str, int]], capfd: pytest.CaptureFixture[str]
) -> None:
    folder, sizes = saved
    names = list(converted(folder, framework))
    said = capfd.readouterr().err
    for code in (model["refused"][framework] for model in MODELS.values() if framework in model.get("refused", {})):
        assert code in said
    answers = [folder / f"{name}.{framework}.npy" for name in names]
    jobs = [
        [
            str(folder / name / FILES[framework]),
            str(folder / f"{name}.{framework}"),
            str(folder / "tokens.npy"),
            str(to),
        ]
        for name, to in zip(names, answers, strict=True)
    ]
    (folder / f"{framework}.jobs").write_text(json.dumps(jobs), "utf-8")
    built = run(f"{framework}_run.py", "logits", folder / f"{framework}.jobs")
    for name, answer, size in zip(names, answers, built, strict=True):
        count, noted = size if isinstance(size, list) else (size, [])
        assert [one for one in noted if not one.endswith(COUNTERS)] == [], name
        assert count == sizes[name], name
        real = np.load(folder / f"{name}.npy")
        away = np.abs(np.load(answer) - real).max() / np.abs(real).max()
        lost = MODELS[name].get("parts", {}).get(framework)
        assert bool(away <= 1e-5) == (lost is None), (name, away)
        if lost is not None:  # and the report of the configuration said so
            rows = json.loads((folder / name / f"{framework}.json").read_text("utf-8"))["rows"]
            assert any(row["field"] == lost and row["status"] == "dropped" for row in rows), name


@pytest.mark.parametrize("framework", ["megatron", "mindformers"])
def test_back_again_every_number_is_the_same(
    framework: str, saved: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    folder, _ = saved
    for name, model in MODELS.items():
        if framework in model.get("refused", {}):
            continue
        there, back, config = tmp_path / f"{name}.there", tmp_path / name, tmp_path / f"{name}-{FILES[framework]}"
        accmap("convert", folder / name, "--to", framework, *VERSION[framework], "-o", config)
        assert accmap("weights", "convert", folder / name, "--to", framework, "--config", config, "-o", there) == 0
        given = ("--config", config, "--config", folder / name)
        assert accmap("weights", "convert", there, "--to", "huggingface", *given, "-o", back) == 0, name
        ours, theirs = (
            {key: one for file in sorted(place.glob("*.safetensors")) for key, one in read_safetensors(file).items()}
            for place in (back, folder / name)
        )
        assert ours.keys() == theirs.keys(), name
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours), name
        assert accmap("weights", "check", folder / name, there, "--config", config) == 0, name


def test_transformers_loads_what_is_written(saved: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    folder, _ = saved
    config, there, back = tmp_path / "run.sh", tmp_path / "megatron", tmp_path / "back"
    accmap("convert", folder / "qwen3_moe", "--to", "megatron", "-o", config)
    accmap("weights", "convert", folder / "qwen3_moe", "--to", "megatron", "--config", config, "-o", there)
    # Without a `config.json` the one that fits the run is written.
    assert accmap("weights", "convert", there, "--to", "huggingface", "--config", config, "-o", back) == 0
    found = run("transformers_run.py", "load", back, tmp_path / "logits.npy")
    assert found == {"missing": [], "unexpected": []}
    assert np.array_equal(np.load(tmp_path / "logits.npy"), np.load(folder / "qwen3_moe.npy"))


def test_the_loader_of_mindformers_makes_the_same_of_the_folder(saved: tuple[Path, dict[str, int]]) -> None:
    """What `convert_weight_dict` of the real classes hands its network is what accmap writes, bit by bit."""
    folder, _ = saved
    names = [name for name in converted(folder, "mindformers") if name in LOADED]
    assert names == LOADED
    assert list(run("mindformers_loader.py", folder, *names, NOT_LOADED)) == [NOT_LOADED]
    wrong: list[str] = []
    for name in names:
        loaded = np.load(folder / f"{name}.loaded.npz")
        written = read_safetensors(next((folder / f"{name}.mindformers").glob("**/*.safetensors")))
        written = {key: one for key, one in written.items() if not key.endswith(COUNTERS)}
        wrong += [f"{name}: {key}" for key in sorted(set(loaded.files) ^ set(written))]
        both = set(loaded.files) & set(written)
        wrong += [f"{name}: {key} differs" for key in sorted(both) if not np.array_equal(loaded[key], written[key])]
    assert wrong == []


@pytest.mark.parametrize("framework", FILES)
def test_the_published_form_in_the_real_models(framework: str, tmp_path: Path) -> None:
    """DeepSeek-V3's FP8 blocks, 8 experts and a layer of multi-token prediction: logits are those of transformers."""
    torch, _ = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from test_published_weights import published, run_file, save

    keys = {**MODELS["deepseek_v3"]["keys"], "n_routed_experts": 8, "hidden_size": 128}
    folder, plain = tmp_path / "m", tmp_path / "plain"
    stored, meant = published(folder, keys, predicting=True, eight_bit=True, spread=0.1)
    save(folder, stored)
    plain.mkdir()
    config = json.loads((folder / "config.json").read_text("utf-8"))
    del config["quantization_config"]
    (plain / "config.json").write_text(json.dumps(config), "utf-8")
    save(plain, {name: one.to(torch.float32) for name, one in meant.items()})
    assert run("transformers_run.py", "load", plain, tmp_path / "meant.npy")["missing"] == []
    accmap("convert", folder, "--to", framework, *VERSION[framework], "-o", tmp_path / FILES[framework])
    file = run_file(folder, framework, predicting=True)
    local = ("--transformer-impl", "local") if framework == "megatron" else ()
    words = ("weights", "convert", folder, "--to", framework, "--config", file, *VERSION[framework], *local)
    assert accmap(*words, "-o", tmp_path / "there", "--dtype", "fp32") == 0
    np.save(tmp_path / "tokens.npy", (1 + np.arange(48).reshape(2, 24) * 37 % 127).astype(np.int32))
    job = [file, *(str(tmp_path / name) for name in ("there", "tokens.npy", "found.npy"))]
    (tmp_path / "jobs").write_text(json.dumps([job]), "utf-8")
    (built,) = run(f"{framework}_run.py", "logits", tmp_path / "jobs")
    noted = built[1] if isinstance(built, list) else []
    assert [one for one in noted if not one.endswith(COUNTERS)] == []
    found, real = np.load(tmp_path / "found.npy"), np.load(tmp_path / "meant.npy")
    assert np.abs(found - real).max() <= 1e-5 * np.abs(real).max()

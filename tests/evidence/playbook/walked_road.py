"""The material of two real runs of one pair, laid where the playbook's commands look for it: `… FOLDER [TREE]`.

Real: the pair's checkpoint as Megatron-Core saves it and the converter turns it round, the dumps that msprobe takes of
both models (one step of each), Megatron's data, the training logs that `pretrain_gpt.py` printed (`tests/evidence/
logs/real_runs`), and the tokenizers that the packages train. MindSpore Transformers trains on no CPU: where a log of it
belongs, the second real run's numbers stand in lines as its own callback writes them (`test_logs_frameworks.py`).

With a source tree of 0.16 the checkpoint and the first steps' logs are those of its real program, started by the files
that the playbook wrote (`megatron_program.py` says what is stood in for); both sides of the first steps are runs of it.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "evidence/logs"))
sys.path.insert(0, str(Path(__file__).parents[2] / "evidence/data"))
sys.path.insert(0, str(Path(__file__).parents[2] / "verifier/pairs"))
from data_writer import write_text
from pair_files import write_pair
from writing_logs import retold

from accmap.cli.lean import main

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1]
RUNS = TESTS / "evidence" / "logs" / "real_runs"
LENGTH, STEPS, BATCH = 64, 100, 4
TREE = sys.argv[2] if len(sys.argv) > 2 else ""
"""A source tree of Megatron-LM 0.16: then its real program runs, where the installed megatron-core's model would."""
PINNED = ("--megatron", "0.16") if TREE else ()
NEEDED = {"eval-interval": 1000, "eval-iters": 0}
"""From 0.16 on the program does not start without the one, and the other keeps it from evaluating samples of none."""
FLAGS: dict[str, Any] = {
    "transformer-impl": "local", "mock-data": None, "data-path": "corpus", "split": "1,0,0", "seed": 1234,
    "vocab-size": 511, "global-batch-size": BATCH, "micro-batch-size": BATCH,
    "no-create-attention-mask-in-dataloader": True,
    "attention-softmax-in-fp32": True,
}  # fmt: skip
YAML: dict[str, Any] = {
    "seed": 1234,
    "context": {"mode": 1, "device_target": "Ascend"},
    "runner_config": {"epochs": 1, "batch_size": BATCH, "sink_mode": True, "sink_size": 1},
    "train_dataset": {
        "data_loader": {
            "type": "BlendedMegatronDatasetDataLoader", "datasets_type": "GPTDataset", "sizes": [STEPS * BATCH, 0, 0],
            "config": {
                "seed": 1234, "seq_length": LENGTH, "split": "1, 0, 0", "create_attention_mask": False,
                "eod_mask_loss": False, "eod": 99, "pad": -1, "data_path": ["corpus"],
            },
        },
        "input_columns": ["input_ids", "labels", "loss_mask", "position_ids"], "drop_remainder": True,
    },
}  # fmt: skip


def done(words: list[object], folder: Path, **environment: str) -> None:
    """Run a program of the frameworks in a process of its own."""
    given = {**os.environ, "GLOG_v": "4", "OMP_NUM_THREADS": "1", **environment}
    found = subprocess.run(list(map(str, words)), cwd=folder, env=given, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-1000:] + found.stderr[-3000:]


def program(*words: object) -> list[object]:
    """A script of the tests, run as the frameworks want it."""
    return [sys.executable, TESTS / "framework_run.py", *words]


def accmap(*words: object) -> int:
    """The command line, in this process."""
    return main([str(word) for word in words])


def laid_out(folder: Path) -> None:
    """The pair, its playbook, and what both runs left."""
    os.chdir(folder)
    write_pair({"family": "dense", "megatron": {**FLAGS, **(NEEDED if TREE else {})}, "mindformers": YAML}, folder)
    os.rename("pretrain.sh", "A.sh")
    os.rename("train.yaml", "B.yaml")
    write_text(folder / "corpus", count=900, seed=1, longest=80)
    assert accmap("playbook", "A.sh", "B.yaml", "-d", ".", "--force", *PINNED) == 0
    if TREE:
        _configured()
    _weights(folder)
    _dumps(folder)
    _logs(folder)
    if TREE:
        _first_steps(folder)
    _acceptance(folder)


def _rung() -> Path:
    """The first rung of the larger runs."""
    return min(path for path in Path("5-scale-up").iterdir() if path.is_dir())


def _weights(folder: Path) -> None:
    """Megatron-Core's own checkpoint, converted: of the pair, and of the first rung of the larger runs."""
    saved = folder / "saved"
    saved.mkdir()
    shutil.copy("A.sh", saved / "pretrain.sh")
    if TREE:
        # Two steps of the real program from weights of its own, which it then saves.
        text = Path("2-preparation/pair/example.sh").read_text("utf-8")
        loaded = re.search(r"    --load .*\n    --finetune.*\n", text)
        assert loaded is not None
        saves = f"    --save {saved / 'torch'} --save-interval 1 --ckpt-format torch --no-save-optim\n"
        Path("save.sh").write_text(text.replace(loaded[0], saves).replace("--train-iters 100", "--train-iters 1"))
        done(["bash", folder / "save.sh"], Path(TREE), **_launching(folder))
    else:
        done(program(TESTS / "evidence/weights/real/megatron_run.py", "save", saved), folder)
    rung = _rung()
    for place, config in (("2-preparation", "2-preparation/pair"), (str(rung), str(rung))):
        target = Path(place, "weights")
        target.mkdir(parents=True, exist_ok=True)
        shutil.copytree(saved / "torch", target / "megatron", dirs_exist_ok=True)
        given = ("--config", f"{config}/example.sh", "--config", f"{config}/example.yaml")
        assert accmap("weights", "convert", target / "megatron", "-o", target / "mindformers", *given) == 0


def _configured() -> None:
    """The source tree and the form of the checkpoint, in the playbook's own file."""
    text = Path("playbook.toml").read_text("utf-8")
    text = text.replace("/path/to/Megatron-LM", TREE).replace('form = "torch_dist"', 'form = "torch"')
    text = text.replace('"corpus" = "corpus"', f'"corpus" = "{Path.cwd() / "corpus"}"')
    Path("playbook.toml").write_text(text, "utf-8")
    assert accmap("playbook", "A.sh", "B.yaml", "-d", ".", "--force", *PINNED) == 0


def _launching(folder: Path) -> dict[str, str]:
    """The environment in which `torchrun` is one process on a CPU."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    (place / "torchrun").write_text(
        f'#!/bin/bash\nexec {sys.executable} {TESTS / "framework_run.py"} {HERE / "megatron_program.py"} "$@"\n',
        "utf-8",
    )
    (place / "torchrun").chmod(0o755)
    return {"PATH": f"{place}{os.pathsep}{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}


def _first_steps(folder: Path) -> None:
    """The page's own script with the real program, twice: one run on each side, in that side's lines."""
    place = folder / "3-first-steps"
    for name in ("megatron", "optimizer_megatron"):
        script = folder / "2-preparation/pair/example.sh"
        short = folder / f"{name}.sh"
        short.write_text(script.read_text("utf-8").replace("--train-iters 100", "--train-iters 3"), "utf-8")
        given = {**os.environ, **_launching(folder)}
        with (place / f"{name}.log").open("wb") as log:
            code = subprocess.run(["bash", short], cwd=TREE, env=given, stdout=log, stderr=log, check=False).returncode
        assert code == 0, (place / f"{name}.log").read_text("utf-8")[-3000:]
    for name, run in (("mindformers", "optimizer_megatron"), ("optimizer_mindformers", "megatron")):
        (place / f"{name}.log").write_text(retold((place / f"{run}.log").read_text("utf-8")), "utf-8")


def _dumps(folder: Path) -> None:
    """One step of each model under msprobe, as the written configuration asks, and the precheck's tables."""
    dump = Path("3-first-steps/dump")
    assert accmap("dump", "config", "A.sh", "B.yaml", "-d", dump, "--level", "L0", "--precheck") in (0, 1)
    for side, settings in (("megatron", "megatron"), ("mindformers", "mindformers"), ("mindformers", "precheck")):
        words = [TESTS / "evidence/dump/real_dump.py", side, "A.sh", "B.yaml", dump / f"msprobe_{settings}.json"]
        done(program(*words), folder, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python")
    code = "import mindspore, sys; sys.argv[0] = 'msprobe'; from msprobe.msprobe import main; main()"
    record = next((dump / "precheck").rglob("dump.json")).resolve()
    words = ["-c", code, "acc_check", "-api_info", record, "-o", folder / "result_precheck"]
    done(program(*words), folder, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python")
    for table in (folder / "result_precheck").glob("accuracy_checking_result_*.csv"):
        shutil.copy(table, folder)


def _logs(folder: Path) -> None:
    def kept(name: str, place: str) -> None:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_bytes(gzip.decompress((RUNS / f"{name}.log.gz").read_bytes()))

    def told(name: str, place: str) -> None:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_text(retold(gzip.decompress((RUNS / f"{name}.log.gz").read_bytes()).decode()), "utf-8")

    rung = _rung()
    for number in (1, 2):
        kept("base12" if number == 1 else "rep12", f"2-preparation/megatron_{number}.log")
        told("base12", f"2-preparation/mindformers_{number}.log")
        kept("base12" if number == 1 else "s77_12", f"4-long-run/benchmark/run_{number}.log")
    kept("s_base12", "3-first-steps/megatron.log")
    told("s_bf12", "3-first-steps/mindformers.log")
    kept("s_base12", "3-first-steps/optimizer_megatron.log")
    told("s_bf12", "3-first-steps/optimizer_mindformers.log")
    kept("lr0_12", "4-long-run/lr-zero/megatron.log")
    told("lr0_12", "4-long-run/lr-zero/mindformers.log")
    told("base16", "4-long-run/benchmark/mindformers.log")
    kept("base12", str(rung / "megatron.log"))
    told("base16", str(rung / "mindformers.log"))


def _acceptance(folder: Path) -> None:
    place = folder / "6-acceptance"
    (place / "scores.txt").write_text("mmlu 70.0\nceval 81.2\n", "utf-8")
    (place / "benchmark.txt").write_text("mmlu 70.1\nceval 81.1\n", "utf-8")
    dumped = next(Path("3-first-steps/dump/mindformers").rglob("*.npy"))
    array = np.load(dumped)
    np.save(place / "npu.npy", array)
    np.save(place / "gpu.npy", array * (1 + 1e-7) if array.dtype.kind == "f" else array)
    (place / "inference.log").write_text(
        "2025-01-01 10:00:00,123 - mindformers./output/log[mindformers/models/build.py:1] - INFO - "
        "These parameters are not loaded in the network: []\n", "utf-8",
    )  # fmt: skip
    import tokenizers

    trained: Any = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(["The quick brown fox", "x ** 2", "\u6a21\u578b"] * 20, vocab_size=300)
    trained.save("tokenizer.json")
    for name in ("TOKENIZER_A", "TOKENIZER_B", "TRAINING_TOKENIZER", "INFERENCE_TOKENIZER"):
        os.mkdir(name)
        shutil.copy("tokenizer.json", f"{name}/tokenizer.json")
    shutil.copy("B.yaml", "SHIPPED.yaml")
    os.mkdir("INFERENCE_FOLDER")
    Path("INFERENCE_FOLDER/config.json").write_text(
        '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2, '
        '"num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 300, "torch_dtype": "bfloat16"}',
        "utf-8",
    )
    Path("predict.yaml").write_text(
        "run_mode: predict\nuse_legacy: False\npretrained_model_dir: ./INFERENCE_FOLDER\n"
        "model: {model_config: {compute_dtype: bfloat16, params_dtype: bfloat16}}\n", "utf-8",
    )  # fmt: skip


if __name__ == "__main__":
    laid_out(Path(sys.argv[1]).resolve())

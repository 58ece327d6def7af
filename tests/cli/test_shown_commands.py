"""Every command that README and docs show runs as it is written, in a folder that holds the files it names."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

np = pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
for part in ("weights", "data", "dump", "logs"):
    sys.path.insert(0, str(ROOT / "tests" / "evidence" / part))
from data_writer import script as data_script  # noqa: E402
from data_writer import write_data  # noqa: E402
from data_writer import yaml as data_yaml  # noqa: E402
from record_writer import write_rows  # noqa: E402
from small_network import run as dump_of  # noqa: E402
from weight_files import arrays, pair, write_megatron, write_mindformers  # noqa: E402
from writing_logs import falling, megatron_run, static_run  # noqa: E402

from accmap import upgrade  # noqa: E402
from accmap.cli.help_compiled import EXAMPLES  # noqa: E402
from accmap.cli.options import command_named  # noqa: E402
from accmap.schemas.compilers.tables import load_table  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = [ROOT / name for name in ("README.md", "README.zh-CN.md")] + sorted((ROOT / "docs").glob("*.md"))
PAGES += sorted((ROOT / "skills").glob("*/SKILL.md"))
EXAMPLE = ROOT / "examples" / "qwen3_dense"


def shown(page: Path) -> Iterator[str]:
    """The command lines of a page's blocks."""
    for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            given = re.search(r"(?:^|&& )(?:\$ )?(?:\.venv/bin/)?accmap ([a-z].*)", line)
            if given and "COMMAND" not in line:
                yield given[1]


def words_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)


@pytest.fixture
def bench(everything_named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the pages name, which a test may change."""
    shutil.copytree(everything_named, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def everything_named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages name, written once."""
    tmp_path = tmp_path_factory.mktemp("bench")
    for name in ("megatron.sh", "pretrain.sh", "gpu.sh", "npu.sh", "FILE", "A", "SRC"):
        shutil.copy(EXAMPLE / "megatron.sh", tmp_path / name)
    for name in ("mindformers.yaml", "train.yaml", "pretrain.yaml", "B"):
        shutil.copy(EXAMPLE / "mindformers.yaml", tmp_path / name)
    shutil.copy(EXAMPLE / "mindformers.yaml", tmp_path / "old.yaml")
    shutil.copy(EXAMPLE / "mindformers_dynamic.yaml", tmp_path / "new.yaml")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "examples" / "qwen3_dense", tmp_path / "configs")
    script = (EXAMPLE / "megatron.sh").read_text("utf-8")
    (tmp_path / "squared_relu.sh").write_text(script.replace("--swiglu", "--squared-relu"), "utf-8")
    for name in ("npu.npy", "gpu.npy", "A.npy", "B.npy", "npu_outputs/x.npy", "gpu_outputs/x.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / name, np.arange(6.0))
    for name in ("megatron_tokenizer", "mindformers_tokenizer", "training", "inference"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vocab.json").write_text('{"a": 0, "b": 1}')
        (tmp_path / name / "merges.txt").write_text("#version: 0.2\n")
    vocabulary = {f"t{number}": number for number in range(100)}
    tokenizer = {"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (tmp_path / "prompts.txt").write_text("ab\n")
    model = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64}
    model |= {"num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 1000}
    (tmp_path / "model_folder").mkdir()
    for name in ("config.json", "model_folder/config.json"):
        (tmp_path / name).write_text(json.dumps(model))
    cases = load_table((ROOT / "tests" / "rules" / "cases" / "inference.yaml").read_text("utf-8"))
    (tmp_path / "predict.yaml").write_text(cases[0]["files"]["predict.yaml"], "utf-8")
    inference = next(case["files"]["infer.sh"] for case in cases if "infer.sh" in case.get("files", ()))
    (tmp_path / "inference.sh").write_text(inference, "utf-8")
    for name in ("npu.jsonl", "gpu.jsonl"):
        (tmp_path / name).write_text('{"question": "1+1?", "answer": "2"}\n{"question": "2+2?", "answer": "4"}\n')
    (tmp_path / "results.json").write_text(json.dumps({"results": {"mmlu": {"acc,none": 0.712}}}))
    (tmp_path / "benchmark.csv").write_text("task,score\nmmlu,0.712\n")
    for name in ("megatron.log", "worker_0.log", "msrun_log/worker_0.log", "run_a.log", "run_b.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((megatron_run if "worker" not in name else static_run)(falling(40)))
    for folder, framework in (
        ("megatron_dump", "pytorch"), ("mindformers_dump", "mindspore"), ("run1", "pytorch"), ("run2", "pytorch"),
    ):  # fmt: skip
        dump_of(tmp_path / folder, framework)
    columns = "NPU Name,Bench Name,Cosine,MaxAbsErr," + ",".join(
        f"{side} {what}" for side in ("NPU", "Bench") for what in ("max", "min", "mean", "l2norm")
    )
    rows = "Module.layer.forward.0.output.0," * 2 + "1.0,0.0,1,0,0.5,2,1,0,0.5,2\n"
    (tmp_path / "compare_result_20261120.csv").write_text(f"{columns}\n{rows}")
    (tmp_path / "accuracy_checking_result_20261120.csv").write_text(
        "API Name,Forward Test Success,Backward Test Success,Message\nMint.add.0,pass,pass,\n"
    )
    write_data(tmp_path / "corpus_text_document", [[1, 2, 3]] * 40)
    (tmp_path / "a.sh").write_text(data_script("corpus_text_document"))
    (tmp_path / "b.yaml").write_text(data_yaml("corpus_text_document"))
    (tmp_path / "infer.log").write_text("These parameters are not loaded in the network: []\n")
    return tmp_path


def ready(bench: Path, page: Path, words: list[str]) -> None:
    """What a line writes anew may not stand there, and what a page's own subject needs has to."""
    if page.name.startswith("schema"):
        (bench / "accmap.toml").write_text('profile = "align"\n')
    if page.name.startswith("dialects"):
        shown_file = re.search(r"```yaml\n(# my-fork\.yaml\n.*?)```", page.read_text("utf-8"), re.DOTALL)
        assert shown_file
        (bench / "my-fork.yaml").write_text(shown_file[1])
        for name, source in (("run.sh", "megatron.sh"), ("run.yaml", "mindformers.yaml")):
            shutil.copy(ROOT / "examples" / "qwen3_dense" / source, bench / name)
        (bench / "verl.sh").write_text(
            "python3 -m verl.trainer.main_ppo --config-path=config --config-name='ppo_megatron_trainer.yaml' "
            "actor_rollout_ref.model.path=Qwen3-8B trainer.n_gpus_per_node=8 data.train_batch_size=64 "
            "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2\n"
        )
        experiments = load_table((Path(__file__).parent / "dialects" / "flagscale.yaml").read_text("utf-8"))
        for name, text in experiments[0]["files"].items():
            place = bench / name.replace("exp.yaml", "train.yaml")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        (bench / "swift.sh").write_text("megatron sft --model Qwen3-8B --dataset d --train_iters 20\n")
        bridge = load_table((Path(__file__).parent / "dialects" / "bridge.yaml").read_text("utf-8"))
        (bench / "run_config.yaml").write_text(bridge[0]["run_config"])
        primus = load_table((Path(__file__).parent / "dialects" / "primus.yaml").read_text("utf-8"))
        (bench / "experiment.yaml").write_text(primus[0]["files"]["exp.yaml"])
    if page.name.startswith(("huggingface", "dialects")):
        (bench / "Qwen3-8B").mkdir(exist_ok=True)
        sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 96, "head_dim": 16}
        sizes["num_key_value_heads"] = 4
        model = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "intermediate_size": 128, **sizes}
        (bench / "Qwen3-8B" / "config.json").write_text(json.dumps(model))
        for name, source in (("run.sh", "megatron.sh"), ("run.yaml", "mindformers.yaml")):
            shutil.copy(ROOT / "examples" / "qwen3_dense" / source, bench / name)
    if words[:2] == ["check", "tokenizers"]:
        names = "--tokenizer-type GPT2BPETokenizer --vocab-file megatron_tokenizer/vocab.json"
        (bench / "megatron.sh").write_text(f"torchrun pretrain_gpt.py --num-layers 2 {names}\n")
        model = "model: {model_config: {model_type: qwen3, architectures: Qwen3ForCausalLM}}"
        folder = "pretrained_model_dir: mindformers_tokenizer"
        (bench / "mindformers.yaml").write_text(f"use_legacy: False\nrun_mode: train\n{folder}\n{model}\n")
    # A line that writes anew finds no place taken; one that goes on finds what the line before it wrote.
    for option in () if {"--part", "--finish"} & {*words} else ("-d", "-o"):
        if option in words:
            target = bench / words[words.index(option) + 1]
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    if page.name.startswith("data") and not words[2].endswith("text_document"):
        (bench / "megatron.sh").write_text(data_script("corpus_text_document"))
        (bench / "mindformers.yaml").write_text(data_yaml("corpus_text_document"))
        (bench / "rows").mkdir(exist_ok=True)
        for path in (bench / "rows.mindrecord0", bench / "rows" / "a.mindrecord"):
            write_rows(path, [[1, 2, 3, 4]] * 4)
    if words[0] == "weights" and not (bench / "checkpoints").exists():
        (bench / "small").mkdir()
        script, config = pair("grouped", bench / "small")
        shutil.copy(script, bench / "pretrain.sh")
        shutil.copy(config, bench / "train.yaml")
        write_megatron(bench / "checkpoints" / "megatron", script, arrays(script))
        shutil.copytree(bench / "checkpoints" / "megatron", bench / "CHECKPOINT")
        shutil.copy(config, bench / "pretrain.yaml")
        write_mindformers(bench / "old", config, arrays(script))
        (bench / "dynamic.yaml").write_text(upgrade(config).text, "utf-8")


NOT_HERE = {
    r"tokenizer\.model": "needs sentencepiece: tests/cli/test_check_tokenizers.py",
    r"^verify": "needs both frameworks: test_verifying_as_shown, and tests/verifier",
    r"--ray": "needs a cluster: tests/evidence/weights/test_weights_killed.py",
    r"^playbook run": "verifies, and so needs both frameworks: tests/evidence/playbook",
}
"""The lines that are not run here, each with its reason and what runs it."""


def is_slow(page: Path) -> bool:
    """Whether a page makes a playbook, or shows in Chinese much the same lines as the English one."""
    return "zh-CN" in page.name or page.name.startswith("playbook")


@pytest.mark.table(4)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if is_slow(page) else [])
        for page in PAGES
        if any(shown(page))
    ],
)
def test_shown_commands_run(accmap, bench: Path, page: Path) -> None:
    for line in shown(page):
        if any(re.search(pattern, line) for pattern in NOT_HERE):
            continue
        words = [word.removeprefix("/data/") for word in words_of(line)]
        if "--tokenizer" in words and not find_spec("tokenizers"):
            continue
        ready(bench, page, words)
        if "Qwen3-30B-A3B" in words and not (bench / "Qwen3-30B-A3B").exists():
            shutil.copy(bench / "pretrain.sh", bench / "run.sh")
            made = "weights convert CHECKPOINT --to huggingface --config run.sh -o Qwen3-30B-A3B"
            assert accmap(*made.split()).code == 0
        answer = accmap(*words)
        assert answer.code in (0, 1), (line, answer)
        assert "Traceback" not in answer.err


@pytest.mark.frameworks
@pytest.mark.parametrize("language", ["md", "zh-CN.md"])
def test_verifying_as_shown(bench: Path, language: str) -> None:
    pytest.importorskip("mindformers")
    pytest.importorskip("megatron.core")
    import subprocess

    lines = [line for line in shown(ROOT / "docs" / f"verify.{language}") if line.startswith("verify")]
    assert lines
    done = subprocess.run(
        [sys.executable, "-m", "accmap", *words_of(lines[0]), "--quiet"],
        capture_output=True, text=True, check=False, cwd=bench,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


NEEDS_FRAMEWORKS = {"verify": (), "verify join": ("verify record",), "playbook run": ()}
"""Commands whose examples run both frameworks, with those whose examples run before them."""
NOT_IN_PROCESS = (*NEEDS_FRAMEWORKS, "verify record", "verify clean", "lsp", "mcp")
"""`verify clean` empties the folder of whoever runs the tests; test_prepared_frameworks.py runs it elsewhere."""


def prepared(bench: Path, words: list[str]) -> list[str]:
    """The words of a help page's example; what earlier lines of its page write is there."""
    ready(bench, Path("help"), words)
    if "playbook" in words and words[0] != "lint":
        shutil.rmtree(bench / "playbook", ignore_errors=True)
    return words


@pytest.mark.table(4)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.startswith("playbook"))  # test_playbook.py has its own pair
        for name in EXAMPLES
        if name not in NOT_IN_PROCESS
    ],
)
def test_examples_of_help_pages_run(accmap, bench: Path, name: str) -> None:
    for line in EXAMPLES[name]:
        words = prepared(bench, words_of(line)[1:])
        if name == "playbook status":
            assert accmap(*["playbook", "pretrain.sh", "pretrain.yaml", "-d", "playbook"]).code == 0
        if "--resume" in words:
            assert accmap(*words[:-3], *words[-2:]).code == 0
        answer = accmap(*words)
        assert answer.code in (0, 1), (line, answer)
        assert "Traceback" not in answer.err
        assert command_named(words).name == name, line


def test_an_editor_is_served_as_the_help_page_shows(bench: Path) -> None:
    pytest.importorskip("pygls")
    import subprocess

    for line in EXAMPLES["lsp"]:
        done = subprocess.run(
            [sys.executable, "-m", "accmap", *words_of(line)[1:]],
            input=b"", capture_output=True, check=False, cwd=bench, timeout=60,
        )  # fmt: skip
        assert done.returncode in (0, 1), done
        assert b"Traceback" not in done.stderr


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NEEDS_FRAMEWORKS)
def test_examples_that_need_the_frameworks_run(bench: Path, name: str) -> None:
    pytest.importorskip("mindformers")
    pytest.importorskip("megatron.core")
    import subprocess

    before = [line for other in NEEDS_FRAMEWORKS[name] for line in EXAMPLES[other]]
    for line in (*before, *EXAMPLES[name]):
        lines = ["accmap playbook pretrain.sh pretrain.yaml -d playbook --force"] if "playbook" in line else []
        for one in (*lines, line):
            words = [sys.executable, "-m", "accmap", *words_of(one)[1:]]
            done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=bench)
            assert done.returncode in (0, 1), (one, done.stdout[-2000:] + done.stderr[-2000:])


def test_what_is_not_run_is_shown_somewhere() -> None:
    lines = [line for page in PAGES for line in shown(page)]
    for pattern in NOT_HERE:
        assert any(re.search(pattern, line) for line in lines), pattern


def test_pages_show_commands() -> None:
    assert sum(1 for page in PAGES for _ in shown(page)) > 80
    assert "lint examples/planted/megatron.sh examples/planted/mindformers.yaml" in set(shown(ROOT / "README.md"))

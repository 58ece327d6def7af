"""`accmap playbook` as a user has it: written whole, judged by its own commands, nothing executed from its files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from shutil import copytree

import pytest

MATCH = '{"verdict": "match", "loss": [{}], "gradients": [{}], "sides": ["megatron", "mindformers"]}'
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A playbook of the small DeepSeek-V3 pair, beside its files."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("playbook")
    copytree(EXAMPLES / "deepseek_v3", folder / "pair")
    command = [sys.executable, "-m", "accmap", "playbook", "pair/megatron.sh", "pair/mindformers.yaml", "-d", "book"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def book(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may change."""
    copytree(written, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work" / "book"


@pytest.fixture(scope="module")
def first_answer(written: Path) -> str:
    """The state of the playbook before a test changes it."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "accmap", "playbook", "status", "book", "--format", "json"]
    return subprocess.run(command, cwd=written, capture_output=True, text=True, check=False).stdout


def states(answer: str) -> dict[str, str]:
    return {entry["check"]: entry["state"] for entry in json.loads(answer)["checks"]}


def test_every_stage_has_its_files(written: Path) -> None:
    names = {str(path.relative_to(written / "book")) for path in (written / "book").rglob("*") if path.is_file()}
    assert {
        "README.md",
        "README.zh-CN.md",
        "plan.json",
        "1-configuration/checklist.md",
        "2-preparation/pair/example.sh",
        "2-preparation/pair/example_init_weights.yaml",
        "2-preparation/environment.sh",
        "2-preparation/seed_megatron.py",
        "4-long-run/lr-zero/example.yaml",
        "4-long-run/benchmark/example.sh",
        "5-scale-up/1-layers/example.sh",
        "6-acceptance/README.md",
    } <= names
    assert not [path for path in written.iterdir() if path.name.startswith(".")]
    assert str(written) not in (written / "book" / "1-configuration" / "README.md").read_text("utf-8")


@pytest.mark.long
def test_status_judges_what_is_there(accmap, first_answer: str, book: Path) -> None:
    found = states(first_answer)
    assert found["lint"] == found["schedule"] == found["aligned"] == "passed"
    assert found["losses"] == found["scores"] == found["models"] == "waiting"
    assert json.loads(first_answer)["next"]["check"] == "checklist"
    chinese = accmap("playbook", "status", str(book), "--lang", "zh").out
    assert "Fusion computation" in first_answer
    assert "`check.network.fusion_computation` 注意力实现后端：两侧一致" in chinese
    assert "Fusion computation" not in chinese
    checklist = book / "1-configuration" / "checklist.md"
    checklist.write_text(checklist.read_text("utf-8").replace("[ ]", "[x]"), "utf-8")
    (book / "1-configuration" / "verify.json").write_text(MATCH, "utf-8")
    (book / "6-acceptance" / "scores.txt").write_text("mmlu 70.0\n", "utf-8")
    (book / "6-acceptance" / "benchmark.txt").write_text("mmlu 70.1\n", "utf-8")
    second = accmap("playbook", "status", str(book), "--format", "json")
    assert states(second.out)["checklist"] == states(second.out)["models"] == states(second.out)["scores"] == "passed"
    (book / "6-acceptance" / "scores.txt").write_text("mmlu 60.0\n", "utf-8")
    third = accmap("playbook", "status", str(book), "--lang", "zh")
    assert third.code == 1
    assert "未通过" in third.out


@pytest.mark.slow
def test_a_planted_fault_stops_the_first_stage(accmap, book: Path) -> None:
    yaml = book.parent / "pair" / "mindformers.yaml"
    yaml.write_text(yaml.read_text("utf-8").replace("weight_decay: 0.1", "weight_decay: 0.3"), "utf-8")
    answer = accmap("playbook", "status", str(book), "--format", "json")
    assert answer.code == 1
    assert states(answer.out)["lint"] == "failed"
    assert json.loads(answer.out)["next"]["check"] == "lint"
    assert "OPT006" in accmap("playbook", "status", str(book)).out


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "cannot be used"), ("[]", "cannot be used"), ('{"format": 9}', "version"), (None, "writes a playbook")],
)
def test_a_directory_that_is_no_playbook(accmap, tmp_path: Path, text: str | None, said: str) -> None:
    (tmp_path / "other").mkdir()
    if text is not None:
        (tmp_path / "other" / "plan.json").write_text(text, "utf-8")
    answer = accmap("playbook", "status", "other")
    assert answer.code == 2
    assert said in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.slow
def test_nothing_is_overwritten_unasked(accmap, book: Path) -> None:
    pair = book.parent / "pair"
    before = (book / "plan.json").read_bytes()
    answer = accmap("playbook", str(pair / "megatron.sh"), "-d", str(book))
    assert answer.code == 2
    assert "--force" in answer.err
    assert (book / "plan.json").read_bytes() == before
    (book / "6-acceptance" / "scores.txt").write_text("mine\n", "utf-8")
    forced = accmap("playbook", str(pair / "megatron.sh"), "-d", str(book), "--force", "--format", "json")
    assert forced.code == 0, forced.err
    assert (book / "6-acceptance" / "scores.txt").read_text("utf-8") == "mine\n"
    assert (book / "configuration" / "example.yaml").is_file()
    plan = json.loads((book / "plan.json").read_text("utf-8"))
    assert plan["mindformers"] == "configuration/example.yaml"


def test_the_file_system_does_not_decide_the_order_of_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from accmap.cli.evidence.playbook import _texts

    for name in ("b/x.sh", "a/x.sh", "c/x.sh", "a/w.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    orders = [list(_texts(str(tmp_path)))]
    walked = list(os.walk(tmp_path))
    monkeypatch.setattr(
        os, "walk", lambda _folder: reversed([(root, dirs, names[::-1]) for root, dirs, names in walked])
    )
    orders.append(list(_texts(str(tmp_path))))
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pair/megatron.sh",), "`-d playbook`"),
        (("pair/megatron.sh", "pair/megatron.sh", "-d", "x"), "same"),
        (("-", "-d", "x"), "standard input"),
        (("gone.sh", "-d", "x"), "gone.sh"),
        (("pair/megatron.sh", "-d", "no/such/parent/x"), "not a directory"),
        (("pair/megatron.sh", "pair/mindformers.yaml", "-d", "x\udcff", "--force"), "not UTF-8"),
    ],
)
def test_wrong_use(accmap, book: Path, words: tuple[str, ...], said: str) -> None:
    import os

    os.chdir(book.parent)
    answer = accmap("playbook", *words)
    assert answer.code == 2
    assert said in answer.err
    assert not (book.parent / "x").exists()


@pytest.mark.slow
def test_names_with_spaces_are_quoted_in_every_line_to_run(accmap, tmp_path: Path) -> None:
    copytree(EXAMPLES / "qwen3_dense", tmp_path / "my pair")
    answer = accmap("playbook", "my pair/megatron.sh", "my pair/mindformers.yaml", "-d", "my book")
    assert answer.code == 0, answer.err
    assert "playbook status 'my book'" in answer.out
    lines = [
        line
        for page in (tmp_path / "my book").rglob("README.md")
        for line in page.read_text("utf-8").splitlines()
        if line.startswith("accmap ") and "my pair" in line and "`" not in line
    ]
    assert len(lines) > 3
    assert all("'../my pair/" in line for line in lines)


@pytest.mark.slow
def test_a_failed_check_is_explained_by_its_verdict(accmap, book: Path) -> None:
    from accmap.cli.evidence.playbook import _reason

    assert _reason(["Outside the limits: first loss.", "a.log:3: EVD005 A restart", "- note"], "logs") == (
        "Outside the limits: first loss."
    )
    assert _reason(["a.yaml:1:1: warning[RUN002] x", "a.yaml:9:1: error[NET001] y"], "lint").endswith("error[NET001] y")
    (book / "2-preparation/megatron_1.log").write_text("nothing\n")
    (book / "2-preparation/megatron_2.log").write_text("nothing\n")
    found = json.loads(accmap("playbook", "status", "book", "--format", "json").out)["checks"]
    assert any("EVD001" in entry["message"] for entry in found if entry["state"] == "unusable")


def test_what_lacks_its_evidence_has_not_failed(accmap, book: Path) -> None:
    text = "".join(
        f" iteration {step:8d}/    1000 | consumed samples: {step:12d} | lm loss: {11 - step:.6E} | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        for step in (1, 2, 3)
    )
    for name in ("megatron_1.log", "megatron_2.log"):
        (book / "2-preparation" / name).write_text(text)
    answer = json.loads(accmap("playbook", "status", "book", "--format", "json").out)
    (few,) = [one for one in answer["checks"] if "2-preparation/megatron_1.log" in (one["command"] or ())]
    assert (few["state"], few["exit_code"]) == ("undecided", 1), few
    assert any("missing" in one["reason"] for one in answer["not_compared"])
    (book / "2-preparation/megatron_2.log").write_text(text.replace("1.000000E+01", "1.100000E+01"))
    answer = json.loads(accmap("playbook", "status", "book", "--format", "json").out)
    (other,) = [one for one in answer["checks"] if "2-preparation/megatron_1.log" in (one["command"] or ())]
    assert other["state"] == "failed", other


def test_a_place_that_cannot_be_written_to(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_words: False)
    answer = accmap("playbook", str(EXAMPLES / "qwen3_dense/megatron.sh"), "-d", "book")
    assert answer.code == 2
    assert "cannot be written to" in answer.err


@pytest.mark.slow
def test_the_pair_is_read_the_same_way_everywhere(accmap, book: Path) -> None:
    script = book.parent / "pair" / "megatron.sh"
    text = script.read_text("utf-8").replace("--weight-decay 0.1", "--weight-decay $2")
    assert "$2" in text
    script.write_text(text, "utf-8")
    words = ("playbook", str(script), str(book.parent / "pair" / "mindformers.yaml"), "-d", "again")
    read = ("--var", "NOTE=a b", "--arg", "first", "0.3")
    assert accmap(*words, *read).code == 0
    page = Path("again/1-configuration/README.md").read_text("utf-8")
    assert "'--var=NOTE=a b' --arg=first --arg=0.3" in page
    answer = accmap("playbook", "status", "again", "--format", "json")
    assert states(answer.out)["lint"] == "failed"
    assert "OPT006" in accmap("playbook", "status", "again").out
    aligned = Path("again/2-preparation/pair/example.sh").read_text("utf-8")
    assert "--weight-decay 0.3" in aligned
    whole = accmap(*words, "--env", "--force")
    assert whole.code == 2
    assert "--var" in whole.err


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["The curves first differ at step 0, because", "of the peak. Also:", "the shape.", "More."],
            "of the peak. Also: the shape.",
        ),
        (["首个差异：预热为 20", "步，另一侧", "为 0 步。", "其他。"], "预热为 20 步，另一侧为 0 步。"),
        ([], ""),
    ],
)
def test_the_reason_of_a_rate_is_whole_sentences(lines: list[str], said: str) -> None:
    from accmap.cli.evidence.playbook import _reason

    assert _reason(lines, "lr").endswith(said)
    assert "More" not in _reason(lines, "lr")


def test_each_file_loads_the_weights_of_its_rung(written: Path) -> None:
    book = written / "book"
    scripts = sorted(book.glob("[245]*/*/example.sh"))
    assert len(scripts) > 4
    for script in scripts:
        rung = script.parent if script.parts[-3].startswith("5-") else book / "2-preparation"
        text = script.read_text("utf-8")
        assert text.count("--load ") == 1
        assert f"--load '{rung}/weights/megatron' --ckpt-format torch_dist" in text
        assert f'load_checkpoint: "{rung}/weights/mindformers"' in (script.parent / "example.yaml").read_text("utf-8")
    page = (book / "5-scale-up" / "README.md").read_text("utf-8")
    for script in scripts:
        if script.parts[-3].startswith("5-"):
            name = f"5-scale-up/{script.parent.name}"
            assert (script.parent / "example_init_weights.yaml").is_file()
            assert f"accmap weights convert {name}/weights/initial" in page
            assert f"-o {name}/weights/megatron" in page
    initial = (book / "2-preparation" / "pair" / "example_init_weights.yaml").read_text("utf-8")
    assert 'load_checkpoint: ""' in initial


def test_first_steps_are_not_passed_for_nothing(accmap, book: Path) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "logs"))
    from writing_logs import megatron_run, static_run

    (book / "3-first-steps" / "megatron.log").write_text(megatron_run([11.0, 10.9]))
    (book / "3-first-steps" / "mindformers.log").write_text(static_run([11.0, 10.9]))
    answer = json.loads(accmap("playbook", "status", str(book), "--format", "json").out)
    losses = next(entry for entry in answer["checks"] if entry["check"] == "losses")
    assert losses["state"] == "undecided"
    assert "initial weights" in losses["message"]


SOURCE = ("pair/megatron.sh", "pair/mindformers.yaml", "-d", "book")


@pytest.mark.slow
def test_a_second_run_reads_the_settings(accmap, book: Path) -> None:
    os.chdir(book.parent)
    settings = book / "playbook.toml"
    first = settings.read_text("utf-8")
    assert 'source = "/path/to/Megatron-LM"' in first
    (name,) = re.findall(r'^"(/[^"]+)" = ', first, re.MULTILINE)
    changed = first.replace("/path/to/Megatron-LM", "/opt/megatron").replace("/path/to/mindformers", "/opt/mf")
    changed = (
        changed.replace(f'= "{name}"', '= "/mnt/corpus_text"')
        .replace('whole = ""', 'whole = "/w/full"')
        .replace('"torch_dist"', '"torch"')
    )
    settings.write_text(changed, "utf-8")
    answer = json.loads(accmap("playbook", *SOURCE, "--force", "--format", "json").out)
    assert answer["stand_ins"] == []
    assert settings.read_text("utf-8") == changed
    checklist = book / "1-configuration" / "checklist.md"
    ticked = checklist.read_text("utf-8").replace("[ ]", "[x]")
    checklist.write_text(ticked, "utf-8")
    again = accmap("playbook", *SOURCE)
    assert again.code == 0, again.err
    assert checklist.read_text("utf-8") == ticked
    script = (book / "5-scale-up" / "1-layers" / "example.sh").read_text("utf-8")
    assert "/mnt/corpus_text" in script
    assert name not in script
    assert "--ckpt-format torch\n" in script
    assert "/mnt/corpus_text" in (book / "2-preparation" / "pair" / "example.yaml").read_text("utf-8")
    page = (book / "3-first-steps" / "README.md").read_text("utf-8")
    assert f"(cd /opt/megatron && bash {book}/2-preparation/pair/example.sh)" in page
    rungs = (book / "5-scale-up" / "README.md").read_text("utf-8")
    assert "accmap weights convert /w/full" in rungs
    assert "example_init_weights" not in rungs
    (book / "2-preparation" / "pair" / "example.sh").write_text("mine\n")
    kept = accmap("playbook", *SOURCE)
    assert kept.code == 2
    assert (book / "2-preparation" / "pair" / "example.sh").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[weights]", "[wheights]"), "[wheights]"),
        (("aligned =", "alined ="), "weights.alined"),
        (("devices_per_node = 8", "devices_per_node = 0"), "devices_per_node"),
        (('aligned = ""', 'aligned = "a b"'), "weights.aligned"),
        (('aligned = ""', 'aligned = "$(id)"'), "weights.aligned"),
        (('aligned = ""', "aligned = 3"), "weights.aligned"),
        (('form = "torch_dist"', 'form = "zarr"'), "weights.form"),
        (("{script}", "{skript}"), "{skript}"),
        (("[data]", "[data"), "TOML"),
    ],
)
def test_settings_that_cannot_be_used(accmap, book: Path, change: tuple[str, str], said: str) -> None:
    os.chdir(book.parent)
    text = (book / "playbook.toml").read_text("utf-8")
    assert change[0] in text
    (book / "playbook.toml").write_text(text.replace(*change), "utf-8")
    for words in (("playbook", *SOURCE), ("playbook", "status", "book"), ("playbook", "run", "book")):
        answer = accmap(*words)
        assert answer.code == 2, words
        assert said in answer.err


def test_larger_layouts_are_spread_over_machines() -> None:
    from accmap.evidence.playbook.launches import Layout, Machines, Settings, actions_of, fill_example

    small = Settings()._replace(
        megatron=Settings().megatron._replace(devices_per_node=4), mindformers=Machines("/mf", 4, "go {devices}")
    )
    text = "NNODES=2\nGPUS_PER_NODE=8\n"
    assert fill_example("5-scale-up/2-data/example.sh", text, "/b", small) == "NNODES=4\nGPUS_PER_NODE=4\n"
    assert fill_example("elsewhere/example.sh", text, "/b", small) == text
    for devices, line in ((4, "go 4 8118"), (16, "go 16 4 $MASTER_ADDR 8118 $NODE_RANK")):
        layout = Layout("/b", small, {"f": devices})
        (action,) = actions_of("@mindformers f/example.yaml f/log", layout)
        assert action.line.startswith(line)
    (action,) = actions_of("@mindformers f/example.yaml f/log A=HOME/x", Layout("/b", small))
    assert action.line.startswith("export A=/b/x; go 1 ")


@pytest.mark.long
def test_a_run_does_what_this_machine_can_and_stops_at_a_launch(accmap, book: Path) -> None:
    verify = book / "1-configuration" / "verify.json"
    verify.write_text(MATCH, "utf-8")
    data = pytest.importorskip("numpy")
    assert data is not None
    answer = accmap("playbook", "run", "book", "--format", "json")
    found = json.loads(answer.out)
    assert answer.code == 1
    assert states(answer.out)["lint"] == "passed"
    assert states(answer.out)["weights"] == "waiting"
    assert found["done"] == []
    assert "verify.json exists" in answer.err
    told = accmap("playbook", "run", "book")
    assert "because this step requires the training machines" in told.out
    assert "patches/run_mindformer.py --config" in told.out
    assert "mindformers.source" in told.out
    assert "需要在训练机器上执行" in accmap("playbook", "run", "book", "--lang", "zh").out
    os.utime(verify, (1, 1))
    assert states(accmap("playbook", "status", "book", "--format", "json").out)["models"] == "waiting"


def test_a_run_stops_where_a_check_has_failed(accmap, book: Path) -> None:
    (book / "1-configuration" / "verify.json").write_text(MATCH.replace("match", "mismatch"), "utf-8")
    answer = accmap("playbook", "run", "book")
    assert answer.code == 1
    assert "did not pass" in answer.out
    assert "[5/" not in answer.err


def test_a_machine_without_the_frameworks_leaves_their_comparison_open(accmap, book: Path) -> None:
    verify = book / "1-configuration" / "verify.json"
    reasons = [{"side": "megatron", "reason": "not here", "explanation": "--prepare downloads it"}]
    verify.write_text(json.dumps({"verdict": "not-verifiable", "failures": reasons}), "utf-8")
    told = json.loads(accmap("playbook", "status", "book", "--format", "json").out)
    (check,) = (one for one in told["checks"] if one["check"] == "models")
    assert check["state"] == "waiting"
    assert check["message"] == "not here: --prepare downloads it"
    verify.write_text(json.dumps({"verdict": "not-verifiable", "failures": "none"}), "utf-8")
    assert states(accmap("playbook", "status", "book", "--format", "json").out)["models"] == "waiting"


def test_the_source_trees_that_are_here_are_what_is_verified(accmap, book: Path) -> None:
    settings = book / "playbook.toml"
    (book / "tree").mkdir()
    text = settings.read_text("utf-8").replace("/path/to/Megatron-LM", str(book / "tree"))
    settings.write_text(text.replace("/path/to/mindformers", "/nowhere/mindformers"), "utf-8")
    from accmap.cli.evidence.playbook import plan_in

    (check,) = (one for stage in plan_in("book").stages for one in stage.checks if one.id == "models")
    (action,) = check.steps
    assert f"--megatron-source={book / 'tree'}" in action.words
    assert "/nowhere" not in action.line


EVIDENCE = (b"{}",)
MORE_EVIDENCE = [
    pytest.param(content, marks=pytest.mark.slow) for content in (b"", b"[x] all\n", b"garbage\n", b"\x00" * 64)
]


@pytest.mark.long
@pytest.mark.parametrize("content", [*EVIDENCE, *MORE_EVIDENCE], ids=repr)
def test_no_check_passes_without_its_evidence(accmap, first_answer: str, book: Path, content: bytes) -> None:
    """Whatever stands under the names of the evidence: nothing passes that did not pass before."""
    before = states(first_answer)
    from accmap.cli.evidence.playbook import plan_in

    for stage in plan_in("book").stages:
        for check in stage.checks:
            for name in check.needs:
                path = book / name
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
    after = states(accmap("playbook", "status", "book", "--format", "json").out)
    assert {name for name, state in after.items() if state == "passed"} <= {
        name for name, state in before.items() if state == "passed"
    }


@pytest.mark.slow
def test_a_side_that_was_written_here_makes_nothing_old(accmap, tmp_path: Path) -> None:
    copytree(EXAMPLES / "qwen3_dense", tmp_path / "pair")
    for _ in range(2):
        assert accmap("playbook", "pair/megatron.sh", "-d", "mine").code == 0
    (tmp_path / "mine" / "1-configuration" / "verify.json").write_text(MATCH, "utf-8")
    os.utime(tmp_path / "mine" / "configuration" / "example.yaml")
    found = json.loads(accmap("playbook", "status", "mine", "--format", "json").out)
    told = {entry["check"]: entry for entry in found["checks"]}
    assert told["models"]["state"] == "passed"
    assert "older" not in told["checklist"]["message"]


PREDICT = """run_mode: predict
use_legacy: False
model: {model_config: {compute_dtype: bfloat16, params_dtype: bfloat16}}
"""
MODEL = (
    '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2, '
    '"num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 320, "torch_dtype": "bfloat16"}'
)


def test_a_playbook_for_inference(accmap, tmp_path: Path) -> None:
    files = {"predict.yaml": PREDICT, "hf/config.json": MODEL, "hf/generation_config.json": '{"do_sample": false}'}
    made = accmap("playbook", "hf/config.json", "predict.yaml", "--inference", "-d", "book", files=files)
    assert made.code == 0, made.err
    names = {str(path.relative_to("book")) for path in Path("book").rglob("*") if path.is_file()}
    assert names == {
        "README.md", "README.zh-CN.md", "plan.json", "1-inference/README.md", "1-inference/README.zh-CN.md",
    }  # fmt: skip
    found = states(accmap("playbook", "status", "book", "--format", "json").out)
    assert found.pop("settings") == "passed"
    assert list(found) == ["tokenizers", "loading", "answers", "dump", "outputs", "scores"]
    assert set(found.values()) == {"waiting"}
    answers = '{"question": "What?", "answer": "A"}\n'
    files |= {"book/1-inference/benchmark.jsonl": answers, "book/1-inference/answers.jsonl": answers.replace("A", "B")}
    files["predict.yaml"] = PREDICT.replace("compute_dtype: bfloat16", "compute_dtype: float16")
    found = states(accmap("playbook", "status", "book", "--format", "json", files=files).out)
    assert (found["settings"], found["answers"]) == ("failed", "failed")
    again = accmap("playbook", "hf/config.json", "predict.yaml", "--inference", "-d", "book")
    assert again.code == 0, again.err


@pytest.mark.parametrize("words", [("predict.yaml",), ("predict.yaml", "train.yaml"), ("config.json", "train.yaml")])
def test_a_playbook_for_inference_needs_both(accmap, words: tuple[str, ...]) -> None:
    files = {"predict.yaml": PREDICT, "train.yaml": PREDICT.replace("predict", "train"), "config.json": MODEL}
    answer = accmap("playbook", *words, "--inference", "-d", "book", files=files)
    assert answer.code == 2
    assert "--inference requires" in answer.err
    assert not Path("book").exists()

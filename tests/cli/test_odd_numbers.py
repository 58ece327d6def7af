"""Numbers at the edge of what is exact: each is compared, written and read as the frameworks do."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_models import QWEN3

from accmap.cli.lean import main
from accmap.schemas.megatron.forks import catalog

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAUNCH = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --bf16 "
    "--seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 --lr 1e-4 "
    "--train-iters 10 --vocab-size 1024 --tokenizer-type NullTokenizer"
)
NO_DOUBLE = 2**53 + 1
"""The first whole number that a double does not hold."""
NAMED = {"--train-iters": "run.train_steps"}
"""What cannot be carried over: MindFormers divides the steps as doubles."""


def converted_launch(more: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """What `convert` writes and reports of a launch; it reads back what it wrote."""
    path = folder / "run.sh"
    path.write_text(f"{LAUNCH} {more}\n", "utf-8")
    code = main(["convert", str(path), "--mindformers", "1.9"])
    out, err = capfd.readouterr()
    assert code in (0, 1, 2), err
    return out + err


@pytest.mark.parametrize(
    ("more", "written"),
    [
        (f"--train-iters {NO_DOUBLE}", f"total_steps: {NO_DOUBLE} "),
        (f"--lr-warmup-iters {NO_DOUBLE} --lr-decay-iters {NO_DOUBLE + 2}", f"warmup_steps: {NO_DOUBLE} "),
        ("--lr-warmup-iters 9", "warmup_steps: 9 "),
        (f"--save-interval {NO_DOUBLE}", f"save_checkpoint_steps: {NO_DOUBLE} "),
    ],
)
def test_a_whole_number_is_written_exactly(
    more: str, written: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = converted_launch(more, tmp_path, capfd)
    assert written in text
    assert NAMED.get(more.partition(" ")[0], "") in text.rpartition("could not be converted")[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "flag",
    [fact.options[0] for fact in catalog("0.12", None).by_option.values() if (fact.type, fact.nargs) == ("int", None)],
)
def test_every_whole_number_is_converted(flag: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    converted_launch(f"{flag} {NO_DOUBLE}", tmp_path, capfd)


NORM = "--norm-epsilon 1.0e-6", "rms_norm_eps: 1.0e-6"
SEED = "--seed 1234", "seed: 1234"


@pytest.mark.parametrize(
    ("olds", "news", "field", "status", "codes"),
    [
        (SEED, ("--seed 4000000001", "seed: 4000000000"), "data.seed", "different", ["DAT006"]),
        (SEED, ("--seed 4000000001", "seed: 4000000001"), "data.seed", "equal", []),
        (NORM, ("--norm-epsilon nan", "rms_norm_eps: .nan"), "norm.epsilon", "undecided", []),
        (NORM, ("--norm-epsilon 1.0000000000000002e-6", "rms_norm_eps: 1.0e-6"), "norm.epsilon", "equal", []),
        (NORM, ("--norm-epsilon 1.00000001e-6", "rms_norm_eps: 1.0e-6"), "norm.epsilon", "different", ["NET016"]),
    ],
    ids=["two seeds", "one seed", "NaN", "rounding", "fractions"],
)
def test_diff_and_lint_agree_on_two_numbers(
    olds: tuple[str, str],
    news: tuple[str, str],
    field: str,
    status: str,
    codes: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Whole numbers are compared exactly, fractions up to rounding, and NaN decides nothing."""
    paths = [str(tmp_path / name) for name in ("megatron.sh", "mindformers.yaml")]
    for path, old, new in zip(paths, olds, news, strict=True):
        text = (EXAMPLES / "qwen3_dense" / Path(path).name).read_text("utf-8")
        assert old in text
        Path(path).write_text(text.replace(old, new), "utf-8")
    main(("diff", "--format", "json", *paths))
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert [row["status"] for row in rows if row["field"] == field] == [status]
    main(("lint", "--no-cache", "--profile", "train", "--format", "json", *paths))
    found = json.loads(capfd.readouterr().out)["diagnostics"]
    assert [entry["code"] for entry in found if field in entry["fields"] and entry["severity"] == "error"] == codes


@pytest.mark.parametrize("written", ["3000", "3_000", "+3000", "' 3000'", "３０００"])
def test_a_number_among_texts_is_what_python_reads(
    written: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """core/num_microbatches_calculator.py hands the three words of the ramp-up to `int()`, 0.12 to 0.17."""
    path = tmp_path / "run.sh"
    text = (EXAMPLES / "qwen3_dense" / "megatron.sh").read_text("utf-8")
    new = f"    --rampup-batch-size 16 16 {written}\n    --global-batch-size 64\n"
    assert "    --global-batch-size" in text
    path.write_text(re.sub(r"    --global-batch-size .*\n", lambda _: new, text), "utf-8")
    assert main(["recipe", str(path), "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)["fields"]["batch.rampup"]["value"] == [16, 16, 3000]


# The ends of what a setting may be: one step, one layer, one sample, no warm-up or nothing else, a fraction of 0 and 1,
# short sequences, one group, one expert.
EDGES = (
    "--train-iters 1", "--train-iters 1 --lr-decay-iters 1", "--num-layers 1", "--global-batch-size 1",
    "--lr-warmup-iters 0", "--lr-warmup-iters 9", "--lr-warmup-fraction 0", "--lr-warmup-fraction 1",
    "--lr-decay-style linear --lr-decay-iters 1 --lr-warmup-fraction 0.5",
    "--lr-decay-style WSD --lr-wsd-decay-iters 1", "--lr-decay-style WSD --lr-wsd-decay-iters 10",
    "--seq-length 1 --max-position-embeddings 1", "--seq-length 128 --max-position-embeddings 128",
    "--num-attention-heads 1", "--group-query-attention --num-query-groups 1", "--rotary-percent 0",
    "--num-experts 1 --moe-router-topk 1 --moe-router-pre-softmax", "--num-experts 2 --moe-layer-freq ([0]*4)",
    "--num-experts 4 --moe-router-num-groups 1 --moe-router-group-topk 1", "--min-lr 1e-4", "--lr 0", "--vocab-size 1",
    "--hidden-dropout 1", "--weight-decay 0", "--adam-beta1 0", "--clip-grad 0", "--init-method-std 0",
)  # fmt: skip
EDGE_BASE = (
    "torchrun --nproc-per-node 1 pretrain_gpt.py --hidden-size 64 --num-attention-heads 4 --num-layers 4 --bf16 "
    "--swiglu --seq-length 256 --max-position-embeddings 256 --micro-batch-size 1 --global-batch-size 8 "
    "--train-iters 10 --lr 1e-4 --vocab-size 1000 --tokenizer-type NullTokenizer --eval-interval 10 "
    "--disable-bias-linear --normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights"
)


@pytest.mark.long
@pytest.mark.parametrize("words", EDGES)
def test_the_ends_of_a_setting_have_an_answer(accmap, words: str) -> None:
    files = {"a.sh": f"{EDGE_BASE} {shlex.join(words.split())}\n"}
    for line in ("lint a.sh", "lr a.sh", "convert a.sh -o b.yaml --write-anyway", "pair a.sh -d p --align"):
        answer = accmap(*line.split(), files=files)
        assert answer.code in (0, 1, 2), (line, answer.err)


def test_a_text_that_looks_like_an_option_stays_a_value(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = (EXAMPLES / "qwen3_dense" / "mindformers_dynamic.yaml").read_text("utf-8")
    path = tmp_path / "run.yaml"
    path.write_text(re.sub("load_path: .*", 'load_path: "-inf"', text), "utf-8")
    assert main(["convert", str(path), "-o", str(tmp_path / "run.sh")]) in (0, 1), capfd.readouterr().err
    assert "--load=-inf" in (tmp_path / "run.sh").read_text("utf-8")


@pytest.mark.parametrize(
    "flag",
    [
        "--moe-shared-expert-intermediate-size",
        "--ffn-hidden-size",
        "--vocab-size",
        "--lr-warmup-fraction .1 --lr-decay-iters",
    ],
)
def test_a_size_of_400_digits_is_shown(flag: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"{LAUNCH} --num-experts 4 {flag} {'7' * 400}\n", "utf-8")
    for command in ("show", "recipe", "lint"):
        assert main([command, str(path)]) in (0, 1), capfd.readouterr().err


def test_a_base_that_no_double_holds_is_the_nearest_double(accmap, tmp_path: Path) -> None:
    model = {**QWEN3, "architectures": ["Qwen3ForCausalLM"], "rope_theta": NO_DOUBLE}
    answer = accmap(
        "convert", "config.json", "--to", "megatron", "-o", "run.sh", files={"config.json": json.dumps(model)}
    )
    assert answer.code in (0, 1), answer.err
    assert f"--rotary-base {NO_DOUBLE - 1} " in (tmp_path / "run.sh").read_text("utf-8")

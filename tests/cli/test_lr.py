"""`accmap lr` as a user runs it: one file or two, every format, every exit code."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.dom import minidom

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """\
#!/bin/bash
torchrun --nproc_per_node 8 pretrain_gpt.py \\
  --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 \\
  --micro-batch-size 1 --global-batch-size 16 --train-iters {iters} --lr {lr} --min-lr 1e-5 \\
  --lr-decay-style cosine {warmup} --bf16
"""
YAML = """\
run_mode: 'train'
use_legacy: False
lr_schedule:
  type: {type}
  learning_rate: 1.e-4
  lr_end: 1.e-5
  {warmup}
  {total}
optimizer:
  type: AdamW
  weight_decay: 0.01
"""


def script(iters: str = "1000", lr: str = "1e-4", warmup: str = "--lr-warmup-iters 100") -> str:
    return SCRIPT.format(iters=iters, lr=lr, warmup=warmup)


def config(
    kind: str = "CosineWithWarmUpLR", warmup: str = "warmup_steps: 100", total: str = "total_steps: 1000"
) -> str:
    return YAML.format(type=kind, warmup=warmup, total=total)


def test_two_equal_files(accmap: Callable[..., Any]) -> None:
    answer = accmap("lr", "a.sh", "b.yaml", files={"a.sh": script(), "b.yaml": config()})
    assert answer.code == 0, answer.err
    assert answer.out.startswith("Equal over 1,000 steps. The largest difference is ")
    assert "Weight decay is equal on both sides." in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 80


def test_two_files_that_part(accmap: Callable[..., Any]) -> None:
    files = {"a.sh": script(warmup="--lr-warmup-fraction 0.0125"), "b.yaml": config(warmup="warmup_ratio: 0.0125")}
    answer = accmap("lr", "a.sh", "b.yaml", files=files)
    assert answer.code == 1
    text = " ".join(answer.out.split())
    assert "The curves first differ at step 1: 8.00e-06 and 8.33e-06" in text
    assert "because the warmup ratio 0.0125 of 1000 is truncated to 12 steps" in text
    assert "0.0001 ┤" in answer.out
    chinese = accmap("lr", "a.sh", "b.yaml", "--lang", "zh")
    assert "两条曲线从第 1 步起不同" in chinese.out


@pytest.mark.parametrize("pair", [*permutations(("exponential", "linear", "cosine", "minus_sqrt"), 2)], ids=" ".join)
def test_two_decays_with_the_same_numbers_part(pair: tuple[str, str], accmap: Callable[..., Any]) -> None:
    """They are formulas of two classes, some of which hold the same values."""
    wsd = "--lr-decay-style WSD --lr-wsd-decay-iters 200 --lr-wsd-decay-style"
    a, b = (script().replace("--lr-decay-style cosine", f"{wsd} {style}") for style in pair)
    answer = accmap("lr", "a.sh", "b.sh", "--megatron", "0.15", files={"a.sh": a, "b.sh": b})
    assert answer.code == 1, answer.err
    text = " ".join(answer.out.split())
    assert "The curves first differ at step 801: " in text
    assert f"because the decay is {pair[0]} instead of {pair[1]}" in text


def test_json_keeps_the_contract(accmap: Callable[..., Any]) -> None:
    files = {"a.sh": script(), "b.yaml": config("LinearWithWarmUpLR")}
    answer = accmap("lr", "a.sh", "b.yaml", "--format", "json", files=files)
    assert answer.code == 1
    found = json.loads(answer.out)
    assert found["first_step"] == 0
    assert found["first_difference"] == 101
    assert found["tolerance"] == 2e-7
    assert 0.1 < found["max_difference_of_peak"] < 0.2
    assert [series["file"] for series in found["series"]] == ["a.sh", "b.yaml"]
    points = dict(map(tuple, found["series"][1]["points"]))
    assert points[0] == 0.0
    assert points[100] == pytest.approx(1e-4, rel=1e-6)
    assert found["series"][1]["schedule"]["type"] == "LinearWithWarmUpLR"
    assert any("lr_end" in note for note in found["series"][1]["schedule"]["notes"])


def test_all_steps_and_the_log_shift(accmap: Callable[..., Any]) -> None:
    plain = accmap("lr", "a.sh", "--format", "csv", "--all-steps", files={"a.sh": script("10", warmup="")})
    assert plain.code == 0
    lines = plain.out.splitlines()
    assert lines[0] == "step,lr_a"
    assert len(lines) == 11
    shifted = accmap("lr", "a.sh", "--format", "csv", "--all-steps", "--log-shift").out.splitlines()
    assert shifted[1].split(",")[1] == lines[2].split(",")[1]


def test_one_file_comes_with_the_other_frameworks_settings(accmap: Callable[..., Any]) -> None:
    answer = accmap("lr", "a.sh", files={"a.sh": script()})
    assert answer.code == 0
    assert "Equivalent settings for MindSpore Transformers:" in answer.out
    assert "type: CosineWithWarmUpLR" in answer.out
    assert "lr_end: 1.0e-05" in answer.out
    back = accmap("lr", "b.yaml", "--format", "json", files={"b.yaml": config()})
    equivalent = json.loads(back.out)["equivalent"]
    assert equivalent["exact"] is True
    assert equivalent["settings"]["lr_decay_style"] == "cosine"


def test_what_is_missing_is_named(accmap: Callable[..., Any]) -> None:
    files = {"a.sh": script(iters="$N"), "b.yaml": config(total="")}
    answer = accmap("lr", "a.sh", "b.yaml", files=files)
    assert answer.code == 2
    assert answer.out == ""
    assert "a.sh:4:" in answer.err
    assert "SCH002" in answer.err
    assert "$N" in answer.err
    assert "--steps N" in answer.err
    assert accmap("lr", "b.yaml").code == 2
    assert accmap("lr", "a.sh", "b.yaml", "--steps", "1000").code == 0
    assert accmap("lr", "a.sh", "--steps", "0").code == 2


def test_a_program_that_trains_nothing_has_no_schedule(accmap: Callable[..., Any]) -> None:
    text = "torchrun --nproc_per_node 8 inference.py --lr 1e-4 --train-iters 10 --global-batch-size 16\n"
    answer = accmap("lr", "run.sh", files={"run.sh": text})
    assert (answer.code, answer.out) == (2, "")
    assert "SYN914" in answer.err


def test_a_value_that_does_not_matter_is_not_asked_for(accmap: Callable[..., Any]) -> None:
    text = script().replace("--global-batch-size 16", "--global-batch-size $G")
    assert accmap("lr", "a.sh", "b.yaml", files={"a.sh": text, "b.yaml": config()}).code == 0


def test_no_schedule_section_means_another_rate(accmap: Callable[..., Any]) -> None:
    text = "run_mode: 'train'\nuse_legacy: False\noptimizer:\n  type: AdamW\n  learning_rate: 1.e-4\n"
    answer = accmap("lr", "b.yaml", "--steps", "100", files={"b.yaml": text})
    assert answer.code == 0
    assert "peak 5e-05" in answer.out
    assert "lr_schedule is missing" in answer.out


def test_pictures_need_nothing_from_elsewhere(accmap: Callable[..., Any]) -> None:
    files = {"a <&.sh": script(), "b.yaml": config("LinearWithWarmUpLR")}
    drawn = accmap("lr", "a <&.sh", "b.yaml", "--format", "svg", files=files)
    assert drawn.code == 1
    root = minidom.parseString(drawn.out).documentElement
    assert root is not None
    assert root.tagName == "svg"
    assert "prefers-color-scheme: dark" in drawn.out
    assert "a &lt;&amp;.sh" in drawn.out
    page = accmap("lr", "a <&.sh", "b.yaml", "--format", "html").out
    assert page.startswith("<!doctype html>")
    page = page[page.index("<main ") : page.rindex("</main>")]
    for text in (drawn.out, page):
        assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 0


def test_whatever_a_picture_shows_has_a_style(accmap: Callable[..., Any]) -> None:
    drawn = accmap(
        "lr", "a.sh", "b.yaml", "--format", "svg", files={"a.sh": script(), "b.yaml": config("LinearWithWarmUpLR")}
    )
    style, _, shapes = drawn.out.partition("</style>")
    classes = {name for names in re.findall(r'class="([^"]+)"', shapes) for name in names.split()}
    assert classes
    assert classes <= set(re.findall(r"\.([a-z0-9-]+)", style))


def test_an_output_file_is_not_overwritten_unasked(accmap: Callable[..., Any], tmp_path: Any) -> None:
    files = {"a.sh": script()}
    assert accmap("lr", "a.sh", "--format", "svg", "--output", "curve.svg", files=files).code == 0
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").startswith("<svg")
    again = accmap("lr", "a.sh", "--format", "svg", "--output", "curve.svg")
    assert again.code == 2
    assert "--force" in again.err
    assert accmap("lr", "a.sh", "--format", "svg", "--output", "curve.svg", "--force").code == 0
    assert accmap("lr", "a.sh", "--output", "no/such/folder/curve.txt").code == 2


def test_without_unicode_the_plot_is_letters(accmap: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accmap.cli.terminal._output_encoding", lambda: "ascii")
    files = {"a.sh": script(), "b.yaml": config("LinearWithWarmUpLR")}
    answer = accmap("lr", "a.sh", "b.yaml", files=files)
    assert answer.out.isascii()
    assert "*" in answer.out
    assert "o" in answer.out


def test_a_run_without_a_peak_or_with_nan_still_draws(accmap: Callable[..., Any]) -> None:
    wsd = config("WarmUpStableDecayLR", "warmup_steps: 0\n  decay_start_steps: 800")
    for form in ("text", "json", "csv", "svg", "html"):
        answer = accmap("lr", "a.sh", "b.yaml", "--format", form, files={"a.sh": script(), "b.yaml": wsd})
        assert answer.code == 1, (form, answer.err)
    assert accmap("lr", "a.sh", files={"a.sh": script("1", warmup="").replace("1e-4", "1e-5")}).code == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_constant_rate_has_no_end_to_compare(accmap, language: str) -> None:
    shared = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --train-iters 100 --lr 1e-4"
    files = {
        "a.sh": f"python pretrain_gpt.py {shared} --lr-decay-style cosine --min-lr 1e-5\n",
        "b.sh": f"python pretrain_gpt.py {shared} --lr-decay-style constant\n",
    }
    answer = accmap("lr", "a.sh", "b.sh", "--lang", language, files=files)
    assert answer.code == 1
    assert "None" not in answer.out
    assert "constant" in answer.out


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_settles_a_positional_parameter_is_named(accmap, lang: str) -> None:
    content = "torchrun pretrain_gpt.py --num-layers 2 --lr $1 --train-iters 10\n"
    answer = accmap("lr", "a.sh", "--lang", lang, files={"a.sh": content})
    assert answer.code == 2
    assert "--arg VALUE" in answer.err
    assert accmap("lr", "a.sh", "--arg", "1e-4", files={"a.sh": content}).code == 0


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ("--load ckpt --use-checkpoint-opt_param-scheduler", 1),
        ("--load $CKPT --use-checkpoint-opt_param-scheduler", 1),
        ("--use-checkpoint-opt_param-scheduler", 0),
        ("--load ckpt --finetune --use-checkpoint-opt_param-scheduler", 0),
        ("--load ckpt --override-opt_param-scheduler", 0),
    ],
)
def test_a_schedule_that_a_checkpoint_holds_is_not_compared(accmap: Callable[..., Any], flags: str, code: int) -> None:
    example = Path(__file__).parents[2] / "examples" / "qwen3_dense"
    text = (example / "megatron.sh").read_text("utf-8").rstrip()
    loaded = "    --load checkpoints/megatron\n    --finetune\n    --exit-on-missing-checkpoint\n"
    assert loaded in text
    script = text.replace(loaded, "") + f" {flags}\n"
    answer = accmap("lr", "run.sh", str(example / "mindformers.yaml"), files={"run.sh": script})
    assert answer.code == code, answer.out
    assert answer.out.startswith("Partial" if code else "Equal")

"""What `convert` writes also runs: the real training class takes a step, unless the report says that it stops.

Oracle: the installed MindSpore Transformers (1.9), `models/*/modeling_*_train.py`, `core/optim`, `core/lr`. All of
Megatron-LM's functional-test recipes of 0.12 to 0.19 that train a GPT (1,351, with AdamW in place of Muon) were run in
the same way for 1.6 to 1.9 and 2.1; these are their kinds.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from accmap.mapper.preconditions import refusals_of_text
from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

pytestmark = pytest.mark.frameworks

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "framework_run.py"
BASE = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 32 --num-attention-heads 4 "
    "--seq-length 16 --max-position-embeddings 16 --micro-batch-size 2 --train-iters 10 --lr 1e-3 --vocab-size 63 "
    "--make-vocab-size-divisible-by 64 --tokenizer-type NullTokenizer --data-path /d --hidden-dropout 0 "
    "--attention-dropout 0 --lr-warmup-iters 2 "
)
LLAMA = "--position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear "
EXPERTS = "--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 16 --moe-aux-loss-coeff 1e-2 "
LATENT = (
    "--multi-latent-attention --no-rope-fusion --q-lora-rank 8 --kv-lora-rank 8 --qk-head-dim 8 "
    "--qk-pos-emb-head-dim 8 --v-head-dim 8 --qk-layernorm "
)
CASES: dict[str, tuple[str, str, str | None]] = {
    # Megatron-LM version, arguments, and what of the report says that it stops
    "learned positions": ("0.12", "--untie-embeddings-and-output-weights", None),
    "tied, with normalised queries": (
        "0.12",
        LLAMA + "--qk-layernorm --group-query-attention --num-query-groups 2",
        None,
    ),
    "a sparse model": ("0.16", LLAMA + EXPERTS + "--untie-embeddings-and-output-weights", None),
    "latent attention and experts": ("0.12", LLAMA + LATENT + EXPERTS + "--untie-embeddings-and-output-weights", None),
    "no first moment": ("0.16", LLAMA + "--adam-beta1 0.0", "first-moment-of-nothing"),
    "muon on plain attention": ("0.16", LLAMA + "--optimizer muon", "muon-without-latent-attention"),
}


def test_what_is_written_takes_a_step(tmp_path: Path) -> None:
    for module in ("mindspore", "mindformers"):
        pytest.importorskip(module)
    told: list[list[str]] = []
    paths: list[str] = []
    for place, (version, arguments, _) in enumerate(CASES.values()):
        config = config_of(SourceText("a.sh", BASE + arguments), ReadOptions(megatron=version), path="a.sh")
        translation = translate(config, "mindformers", "1.9", "static")
        text = mindformers_text(translation)
        told.append([stop.code for stop in refusals_of_text(translation, text)])
        path = tmp_path / f"{place}.yaml"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    command = [sys.executable, str(RUN), str(HERE / "first_step.py"), *paths]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for name, (_, _, stops), answer, codes in zip(CASES, CASES.values(), answers, told, strict=True):
        assert codes == ([] if stops is None else [stops]), name
        assert ("stops" in answer) is (stops is not None), (name, answer)
        if stops is None:
            assert math.isfinite(answer["loss"]), name
            assert answer["then"] < answer["loss"], name
        else:
            assert answer["stops"].startswith("ValueError"), (name, answer)

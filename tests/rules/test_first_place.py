"""What stops a run is an error, and it stands where the slip is.

What the real code does with each was run: MindSpore Transformers 1.9.0 `MindFormerConfig`, `build_parallel_config`,
`get_model_config`, `blended_megatron_dataloader.py:MegatronDatasetBuilder`, `base_trainer.py`; 2.1.0
`pynative/config:TrainConfig` and the same builder; Megatron-LM 0.12 `parse_args`, 0.16 `build_tokenizer`; torch 2
`distributed/run.py`; PyYAML 6 for the texts it refuses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from planting import SETTINGS

from accmap.cli.lint_inputs import Reader
from accmap.cli.linting import checked
from accmap.cli.pairing import read_side
from accmap.mapper.align.pair import CONFIGURATION, SCRIPT, pair_of
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from accmap.schemas.diagnostic import Diagnostic

SOURCE = """torchrun --nproc_per_node 1 pretrain_gpt.py \\
    --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 \\
    --group-query-attention --num-query-groups 2 --swiglu --disable-bias-linear --normalization RMSNorm \\
    --untie-embeddings-and-output-weights --position-embedding-type rope --micro-batch-size 1 \\
    --global-batch-size 4 --train-iters 100 --lr 1e-4 --min-lr 1e-5 --lr-decay-style cosine --lr-warmup-iters 10 \\
    --bf16 --tokenizer-type NullTokenizer --vocab-size 511 --make-vocab-size-divisible-by 1 --data-path /d/x \\
    --split 1,0,0 --hidden-dropout 0.0 --attention-dropout 0.0 --qk-layernorm
"""


def written(mindformers: str, dialect: str | None = None) -> dict[str, str]:
    source = config_of(SourceText("a.sh", SOURCE), ReadOptions(), path="a.sh")
    return pair_of(source, mindformers=mindformers, dialect=dialect).texts(comments=False)


STATIC, DYNAMIC = written("1.9"), written("2.1", "dynamic")


def linted(texts: dict[str, str], options: ReadOptions) -> list[Diagnostic]:
    settings = SETTINGS._replace(options=options)
    sources = {name: SourceText(name, text) for name, text in texts.items()}
    try:
        sides = [read_side(name, settings, Reader(None, sources)) for name in texts]
    except UnreadableError as error:
        return [error.diagnostic]
    found, _ = checked(sorted(sides, key=lambda side: side.framework), settings)
    return [entry for entry in found if entry.kind.severity == "error"]


def places(found: list[Diagnostic], file: str) -> list[int]:
    """The lines of a file that the errors name, the first ones first."""
    spots = [(entry.file, entry.span) for entry in found]
    spots += [(place.file, place.span) for entry in found for place in entry.related]
    return [span.line for name, span in spots if name == file and span is not None]


def slipped(text: str, pattern: str, instead: str) -> tuple[str, int]:
    """The text with one line changed, and that line's number."""
    changed, count = re.subn(pattern, instead, text, count=1, flags=re.MULTILINE)
    assert count == 1, pattern
    lines = zip(text.split("\n"), changed.split("\n"), strict=False)
    return changed, next(number for number, (old, new) in enumerate(lines, 1) if old != new)


def test_the_pairs_have_no_errors() -> None:
    assert linted(STATIC, ReadOptions(mindformers="1.9")) == []
    assert linted(DYNAMIC, ReadOptions(mindformers="2.1", dialect="dynamic")) == []


YAML = {
    "section misspelt": (r"^train_dataset:", "train_adtaset:"),
    "data set type": (r"datasets_type: GPTDataset", "datasets_type: GptDataset"),
    "sizes is a number": (r"sizes: .*", "sizes: 100"),
    "truth is null": (r"reset_position_ids: .*", "reset_position_ids:"),
    "data path is a text": (r"data_path: .*", "data_path: /d/x"),
    "data path misspelt": (r"data_path:", "data_pathh:"),
    "loader without type": (r"^    type: Blended.*", "    type:"),
    "optimizer without type": (r"^  type: AdamW", "  type:"),
    "schedule without type": (r"^  type: Cosine.*", "  type:"),
    "callback without type": (r"type: MFLossMonitor", "type:"),
    "trainer misspelt": (r"^trainer:", "trianer:"),
    "class misspelt": (r"architectures:", "architcetures:"),
    "norm is null": (r"max_grad_norm: .*", "max_grad_norm:"),
    "accumulation is a text": (r"gradient_accumulation_steps: 4", 'gradient_accumulation_steps: "4"'),
    "truth is a number": (r"^  model_parallel: 1", "  vocab_emb_dp: 1"),
    "a group of no gradients": (r"^  model_parallel: 1", "  gradient_aggregation_group: 0"),
    "heads that the groups do not divide": (r"^    num_attention_heads: .*", "    num_attention_heads: 5"),
    "layers are scaled": (r"^use_legacy: False", "use_legacy: False\nlayer_scale: True"),
    "no colon": (r"^  batch_size: 1", "  batch_size 1"),
    "further in than its neighbours": (r"^    num_attention_heads: ", "      num_attention_heads: "),
}


@pytest.mark.parametrize("name", YAML)
def test_a_slip_in_a_static_yaml(name: str) -> None:
    text, line = slipped(STATIC[CONFIGURATION], *YAML[name])
    found = linted({**STATIC, CONFIGURATION: text}, ReadOptions(mindformers="1.9"))
    assert found, "silent"
    assert line in places(found, CONFIGURATION)[:2], [entry.message() for entry in found]


TYPED = {
    "data set type": (r"datasets_type: GPTDataset", "datasets_type: GptDataset"),
    "sizes is a number": (r"sizes: .*", "sizes: 100"),
    "truth is null": (r"eod_mask_loss: .*", "eod_mask_loss:"),
    "length is a text": (r"seq_length: 64$", 'seq_length: "64"'),
    "rate is a text": (r"lr_end: .*", 'lr_end: "1.0e-05"'),
    "rate without a dot": (r"lr_end: .*", "lr_end: 1e-5"),
    "width is a list": (r"hidden_size: 64", "hidden_size: [64]"),
    "epsilon is a text": (r"rms_norm_eps: .*", 'rms_norm_eps: "1.0e-05"'),
    "layers are a text": (r"num_hidden_layers: 2", 'num_hidden_layers: "2"'),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_slip_in_a_dynamic_yaml(name: str) -> None:
    text, line = slipped(DYNAMIC[CONFIGURATION], *TYPED[name])
    found = linted({**DYNAMIC, CONFIGURATION: text}, ReadOptions(mindformers="2.1", dialect="dynamic"))
    assert found, "silent"
    assert line in places(found, CONFIGURATION)[:2], [entry.message() for entry in found]


FLAGS = {
    "value without blank": (r"--hidden-size 64", "--hidden-size64"),
    "choice without blank": (r"--position-embedding-type rope", "--position-embedding-typerope"),
    "half a device": (r"^GPUS_PER_NODE=1", "GPUS_PER_NODE=1.5"),
    "no number of nodes": (r"^NNODES=1", "NNODES=one"),
    "padded to a multiple of nothing": (r"--make-vocab-size-divisible-by 1", "--make-vocab-size-divisible-by 0"),
    "longer than the positions": (r"--seq-length 64", "--seq-length 65"),
    "fewer positions than tokens": (r"--max-position-embeddings 64", "--max-position-embeddings 32"),
    "no steps of decay": (r"--lr-warmup-iters 10", "--lr-decay-iters 0"),
    "a warm-up from above the peak": (r"--lr-warmup-init 0.0", "--lr-warmup-init 1.0"),
    "heads that the groups do not divide": (r"--num-query-groups 2", "--num-query-groups 3"),
    "a width that the ranks do not divide": (
        r"--num-attention-heads 4",
        "--num-attention-heads 4 --ffn-hidden-size 255 --tensor-model-parallel-size 2",
    ),
    "no heads": (r"--num-attention-heads 4", "--num-attention-heads 0"),
    "tokenizer without a model": (r"--tokenizer-type NullTokenizer", "--tokenizer-type HuggingFaceTokenizer"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_slip_in_a_script(name: str) -> None:
    text, line = slipped(STATIC[SCRIPT], *FLAGS[name])
    found = linted({**STATIC, SCRIPT: text}, ReadOptions(mindformers="1.9"))
    assert found, "silent"
    assert line in places(found, SCRIPT)[:1], [entry.message() for entry in found]


def test_what_a_dash_loses_hangs_on_it() -> None:
    """The word behind the dash, what the validation then lacks, and what the files differ in."""
    text = STATIC[SCRIPT].replace("--hidden-size 64", "—hidden-size 64")
    found = linted({**STATIC, SCRIPT: text}, ReadOptions(mindformers="1.9"))
    assert [entry.kind.code for entry in found if entry.because is None] == ["MAP003"]
    assert {"MAP003", "MAP030", "NET003"} <= {entry.kind.code for entry in found if entry.because is not None}


@pytest.mark.parametrize(("version", "refused"), [("1.9", False), ("2.1", True)])
def test_fewer_than_no_dense_layers(version: str, refused: bool) -> None:
    """2.1.0 parallel_core/transformer_config.py:TransformerConfig.__post_init__ refuses what is below -1."""
    text = STATIC[CONFIGURATION].replace(
        "    hidden_size: 64\n", "    hidden_size: 64\n    first_k_dense_replace: -3\n"
    )
    found = linted({"a.yaml": text}, ReadOptions(mindformers=version, dialect="static"))
    assert ("first_k_dense_replace is -1 or above" in str([entry.message() for entry in found])) is refused


def test_a_flag_that_is_given_twice_is_to_blame() -> None:
    text = STATIC[SCRIPT].replace("    --swiglu\n", "    --swiglu\n    --make-vocab-size-divisible-by 100\n")
    text = text.replace("    --make-vocab-size-divisible-by 1\n", "")
    text = text.replace("    --vocab-size 511\n", "    --make-vocab-size-divisible-by 1\n    --vocab-size 511\n")
    line = text.split("\n").index("    --make-vocab-size-divisible-by 100") + 1
    found = linted({**STATIC, SCRIPT: text}, ReadOptions(mindformers="1.9"))
    assert places(found, SCRIPT)[:1] == [line]


@pytest.mark.parametrize("version", ["0.16", "0.19"])
def test_a_tokenizer_needs_its_model_in_every_version(version: str) -> None:
    """0.12-0.16 tokenizer.py:_HuggingFaceTokenizer; 0.17-0.19 core/tokenizers asserts a path."""
    text = STATIC[SCRIPT].replace("--tokenizer-type NullTokenizer", "--tokenizer-type HuggingFaceTokenizer")
    found = linted({"a.sh": text}, ReadOptions(megatron=version))
    assert "MAP126" in {entry.kind.code for entry in found}


def test_a_wrong_kind_that_nothing_computes_with_is_no_error() -> None:
    """A dense run of 1.6-1.9 trains with it: get_model_config, convert_to_transformer_config let it pass."""
    text = STATIC[CONFIGURATION].replace("    hidden_size: 64\n", '    hidden_size: 64\n    num_experts_per_tok: "2"\n')
    assert linted({**STATIC, CONFIGURATION: text}, ReadOptions(mindformers="1.9")) == []


def test_an_unknown_class_is_no_failure_of_a_rule() -> None:
    text = STATIC[CONFIGURATION].replace("use_legacy: False", "use_legacy: True")
    found = linted({**STATIC, CONFIGURATION: text}, ReadOptions(mindformers="1.9"))
    assert "SYN990" not in {entry.kind.code for entry in found}


def test_the_file_that_is_at_odds_with_itself_is_named_first() -> None:
    """Both files give the value; a flag that is given twice is likelier a slip than the one place of the YAML."""
    text = STATIC[SCRIPT].replace("    --swiglu\n", "    --swiglu\n    --hidden-size 128\n")
    line = text.split("\n").index("    --hidden-size 128") + 1
    if text.index("--hidden-size 128") < text.index("--hidden-size 64"):
        text = text.replace("    --hidden-size 64\n", "", 1).replace(
            "MODEL_ARGS=(\n", "MODEL_ARGS=(\n    --hidden-size 64\n"
        )
    found = linted({**STATIC, SCRIPT: text}, ReadOptions(mindformers="1.9"))
    first = next(entry for entry in found if "model.hidden_size" in entry.fields)
    assert (first.file, first.span and first.span.line) == (SCRIPT, line)


def test_what_a_word_may_hold_is_not_refused_for_being_absent() -> None:
    """Megatron-LM 0.19 examples/academic_paper_scripts/sc21/SRUN.sh: every argument comes from the environment."""
    script = "torchrun --nproc_per_node 1 pretrain_gpt.py --micro-batch-size 1 {}\n"
    assert linted({"a.sh": script.format("$MEGATRON_PARAMS")}, ReadOptions()) == []
    assert linted({"a.sh": script.format("")}, ReadOptions())
    # The environment has no arrays: bash 5.2 expands it to nothing.
    assert linted({"a.sh": script.format('"${MODEL_ARG[@]}"')}, ReadOptions())


def test_a_fork_is_not_refused_for_what_its_base_refuses() -> None:
    """MindSpeed-LLM's parser takes softmax_topk, for which Megatron-LM 0.12 stops."""
    more = "--moe-router-load-balancing-type softmax_topk --num-experts 4 --disable-bias-linear"
    plain = SOURCE.rstrip("\n").replace("--disable-bias-linear", more)
    codes = {entry.kind.code for entry in linted({"a.sh": plain + "\n"}, ReadOptions())}
    assert "MAP006" in codes
    fork = plain + " --use-fused-rmsnorm --use-fused-swiglu --use-mc2 --moe-tp-extend-ep --swap-attention\n"
    assert linted({"a.sh": fork}, ReadOptions()) == []
    # MindSpeed-LLM's layer-wise disaggregated training (mindspeed_llm/training/arguments.py) cuts what validate_args
    # would not; one argument that no version knows says that the program is no plain Megatron-LM.
    assert linted({"a.sh": plain + " --layerwise-disaggregated-training\n"}, ReadOptions()) == []

"""One small model of transformers as the benchmark of an inference: `walk_transformers.py FOLDER`.

Written are the model's folder with the tokenizer that the package `tokenizers` trains, the answers and first logits of
its greedy generation, and msprobe's dumps of one question with and without a fault in the model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

QUESTIONS = [
    "What is a gradient?", "Name the capital of France.", "Add 17 and 25.", "模型精度对齐是什么？", "def f(x): return",
    "Why does the loss diverge?", "List three colours.", "1, 2, 4, 8", "What follows Monday?", "把这句话译成英文。",
    "Who wrote Hamlet?", "Round 3.14159 to two digits.",
]  # fmt: skip
CORPUS = [*QUESTIONS, "The quick brown fox jumps over the lazy dog.", "损失曲线与标杆一致。"] * 20
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NEW_TOKENS = 12


def main(folder: Path) -> None:
    model_folder = folder / "hf"
    tokenizer = train_tokenizer(model_folder)
    model = draw_model(len(tokenizer), tokenizer.pad_token_id)
    model.save_pretrained(model_folder)
    for name, fault in WEIGHT_FAULTS.items():
        faulty = draw_model(len(tokenizer), tokenizer.pad_token_id)
        fault(faulty)
        faulty.save_pretrained(folder / f"hf-{name}")
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], add_generation_prompt=True, tokenize=True, return_dict=False
        )
        for question in QUESTIONS
    ]
    (folder / "prompts.json").write_text(json.dumps({"questions": QUESTIONS, "ids": prompts}), "utf-8")
    write_answers(folder, model, tokenizer, prompts)
    for name, fault in {"benchmark": None, "repeated": None, **DUMP_FAULTS}.items():
        dump(folder, name, fault, len(tokenizer), prompts[0])


def train_tokenizer(folder: Path) -> Any:
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=350, special_tokens=SPECIAL, show_progress=False)
    made = PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="right",
        model_max_length=64, chat_template=TEMPLATE,
    )  # fmt: skip
    made.save_pretrained(folder)
    return made


def draw_model(vocabulary: int, pad: int) -> Any:
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=64, initializer_range=0.1, tie_word_embeddings=False,
        bos_token_id=None, eos_token_id=2, pad_token_id=pad,
    )  # fmt: skip
    model = LlamaForCausalLM._from_config(config, attn_implementation="eager").eval().float()
    with torch.no_grad():
        for one in model.parameters():
            if one.ndim == 1:
                one.add_(0.2 * torch.randn_like(one))
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=2, pad_token_id=pad, max_length=64)
    return model


def write_answers(folder: Path, model: Any, tokenizer: Any, prompts: list[list[int]]) -> None:
    rows, first = [], []
    for question, ids in zip(QUESTIONS, prompts, strict=True):
        given = torch.tensor([ids])
        with torch.no_grad():
            first.append(model(given).logits[0, -1].numpy())
            made = model.generate(given, max_new_tokens=NEW_TOKENS, do_sample=False)[0, len(ids) :]
        rows.append({"question": question, "answer": tokenizer.decode(made)})
    (folder / "benchmark.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    np.save(folder / "benchmark.npy", np.stack(first))


def _transposed(model: Any) -> None:
    weight = model.model.layers[1].self_attn.q_proj.weight
    weight.data = weight.data.T.contiguous()


def _exchanged(model: Any) -> None:
    attention = model.model.layers[0].self_attn
    attention.k_proj.weight.data, attention.v_proj.weight.data = (
        attention.v_proj.weight.data, attention.k_proj.weight.data,
    )  # fmt: skip


def _infinite(model: Any) -> None:
    model.model.layers[1].mlp.up_proj.weight.data[3, 5] = float("inf")


def _constant(model: Any) -> None:
    model.model.norm.weight.data.zero_()


def _other_epsilon(model: Any) -> None:
    model.model.layers[1].post_attention_layernorm.variance_epsilon = 0.1


def _later(model: Any) -> None:
    """A fault of the decode steps alone: positions behind the first ones are computed in another type."""
    rotary = model.model.rotary_emb
    real = rotary.forward

    def coarse(x: Any, position_ids: Any) -> Any:
        cos, sin = real(x, position_ids)
        if position_ids.shape[-1] == 1:
            cos, sin = cos * 1.05, sin
        return cos, sin

    rotary.forward = coarse


WEIGHT_FAULTS = {"transposed": _transposed, "exchanged": _exchanged}
DUMP_FAULTS = {"infinite": _infinite, "constant": _constant, "epsilon": _other_epsilon, "decode": _later}


def dump(folder: Path, name: str, fault: Any, vocabulary: int, ids: list[int]) -> None:
    from msprobe.core.dump.debugger.precision_debugger import BasePrecisionDebugger
    from msprobe.pytorch import PrecisionDebugger

    model = draw_model(vocabulary, 0)
    if fault is not None:
        with torch.no_grad():
            fault(model)
    settings = folder / f"{name}.json"
    block = {"scope": [], "list": [], "data_mode": ["all"]}
    place = str(folder / "dump" / name)
    settings.write_text(
        json.dumps({"task": "tensor", "dump_path": place, "rank": [], "step": [], "level": "L0", "tensor": block})
    )
    for kind in (PrecisionDebugger, BasePrecisionDebugger):
        kind._instance = None
    debugger = PrecisionDebugger(config_path=str(settings))
    debugger.start(model)
    with torch.no_grad():
        model.generate(torch.tensor([ids]), max_new_tokens=4, min_new_tokens=4, do_sample=False)
    debugger.stop()
    debugger.step()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

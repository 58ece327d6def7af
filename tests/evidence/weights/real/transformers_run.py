"""Small models of transformers' own classes: `… JOBS FOLDER` saves each with its logits, its tokens and its size.

`… load MODEL ANSWER` loads one, saves its logits and says what it did not find.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TOKENS = (1 + np.arange(48).reshape(2, 24) * 37 % 127).astype(np.int32)
"""Without 0, the token that MindSpore Transformers keeps from the experts as padding."""


def main() -> None:
    if sys.argv[1] == "load":
        model, told = AutoModelForCausalLM.from_pretrained(
            sys.argv[2], output_loading_info=True, attn_implementation="eager", dtype=torch.float32
        )
        np.save(sys.argv[3], logits(model.eval()))
        print(json.dumps({name: sorted(told[f"{name}_keys"]) for name in ("missing", "unexpected")}))
        return
    folder = Path(sys.argv[2])
    np.save(folder / "tokens.npy", TOKENS)
    sizes: dict[str, int] = {}
    for name, keys in json.loads(Path(sys.argv[1]).read_text("utf-8")).items():
        torch.manual_seed(1)
        config = CONFIG_MAPPING[keys["model_type"]](**{key: one for key, one in keys.items() if key != "model_type"})
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
        disturb(model)
        model.save_pretrained(folder / name)
        np.save(folder / f"{name}.npy", logits(model))
        sizes[name] = sum(one.numel() for one in model.parameters())
    print(json.dumps(sizes))


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(torch.from_numpy(TOKENS).long()).logits.numpy()


def disturb(model: Any) -> None:
    """Norms and biases are no ones and zeros, so that none can stand for another."""
    with torch.no_grad():
        for one in model.parameters():
            if one.ndim == 1:
                one.add_(0.2 * torch.randn_like(one))
        for name, one in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                one.copy_(0.1 * torch.rand_like(one))


if __name__ == "__main__":
    main()

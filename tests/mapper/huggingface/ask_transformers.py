"""Asks an installed transformers what its own classes make of some `config.json`; run by the interpreter that has it.

Reads the files as JSON from standard input and prints, by name, the number of parameters, the inverse frequencies, the
factor on both waves and the scale of the scores.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


def asked(keys: dict[str, object]) -> dict[str, object]:
    """One model, without its numbers."""
    config = CONFIG_MAPPING[keys["model_type"]].from_dict(dict(keys))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()  # which transformers 5.0 leaves to the loading of weights on this device
    found: dict[str, object] = {"parameters": sum(one.numel() for one in model.parameters())}
    kinds = [type(one) for name, one in model.named_modules() if name.endswith("rotary_emb")]
    if kinds:
        rotary = kinds[0](config=config)
        found["frequencies"] = [float(one) for one in rotary.inv_freq]
        found["amplitude"] = float(rotary.attention_scaling)
    layers = (one for name, one in model.named_modules() if name.endswith("self_attn"))
    scales = [one.scaling for one in layers if hasattr(one, "scaling")]
    if scales:
        found["scale"] = float(scales[0])
    return found


if __name__ == "__main__":
    print(json.dumps({name: asked(keys) for name, keys in json.load(sys.stdin).items()}))

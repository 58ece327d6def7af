"""Lets a playbook's example files load the weights of their stage: the same on both sides, converted beforehand.

Megatron-LM 0.12 to 0.19 `training/arguments.py`: `--finetune` begins at step 0, optimizer and random numbers are not
loaded. MindSpore Transformers 1.6 to 2.1, static graph: `load_checkpoint`.
"""

from __future__ import annotations

import os
import re

_SHARED = "2-preparation"
_OWN = "5-scale-up"
_OUTPUT = re.compile(r"^OUTPUT_ARGS=\(\n", re.MULTILINE)
_EMPTY = re.compile(r'^load_checkpoint: ""$', re.MULTILINE)


def with_weights(path: str, text: str, directory: str) -> str:
    """An example file of the playbook with the place of its weights; any other file as it is."""
    folder, name = os.path.split(path)
    if name not in ("example.sh", "example.yaml") or re.search(r"^ +--load ", text, re.MULTILINE):
        return text
    if folder.startswith(_OWN):
        home = os.path.join(directory, folder, "weights")
    elif folder.startswith((_SHARED, "4-long-run")):
        home = os.path.join(directory, _SHARED, "weights")
    else:
        return text
    if name == "example.yaml":
        place = os.path.join(home, "mindformers").replace("\\", "/")
        return _EMPTY.sub(lambda _: f'load_checkpoint: "{place}"', text, count=1)
    place = os.path.join(home, "megatron").replace("'", "'\\''")
    words = f"    --load '{place}' --ckpt-format torch_dist\n    --finetune --no-load-optim --no-load-rng\n"
    return _OUTPUT.sub(lambda found: found[0] + words, text, count=1)

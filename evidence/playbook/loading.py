"""Fills a playbook's example files in: the weights of their stage, the data, the devices of a machine, the programs.

Megatron-LM 0.12 to 0.19 `training/arguments.py`: `--finetune` begins at step 0, optimizer and random numbers are not
loaded. MindSpore Transformers 1.6 to 2.1, static graph: `load_checkpoint`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .settings import Settings

_SHARED = "2-preparation"
_OWN = "5-scale-up"
_OUTPUT = re.compile(r"^OUTPUT_ARGS=\(\n", re.MULTILINE)
_EMPTY = re.compile(r'^load_checkpoint: ""$', re.MULTILINE)
_MADE_AT = re.compile(r'^output_dir: "\./output"$', re.MULTILINE)
_PROGRAM = re.compile(r"^( +)pretrain_gpt\.py \\$", re.MULTILINE)
_NODES = re.compile(r"^NNODES=(\d+)\nGPUS_PER_NODE=(\d+)$", re.MULTILINE)
_EXAMPLES = ("example.sh", "example.yaml", "example_init_weights.yaml")


def completed(path: str, text: str, home: str, settings: Settings) -> str:
    """An example file of the playbook with everything that a run needs; any other file as it is."""
    folder, name = os.path.split(path)
    weights = _weights_of(folder)
    if name not in _EXAMPLES or weights is None:
        return text
    text = _with_data(text, settings.paths)
    place = os.path.join(home, weights).replace("\\", "/")
    if name == "example_init_weights.yaml":
        return _MADE_AT.sub(lambda _: f'output_dir: "{place}/initial"', text, count=1)
    if name == "example.yaml":
        return _EMPTY.sub(lambda _: f'load_checkpoint: "{place}/mindformers"', text, count=1)
    program = os.path.join(home, "patches", "pretrain_gpt.py").replace("\\", "/")
    text = _PROGRAM.sub(lambda found: f"{found[1]}{_quoted(program)} \\", text, count=1)
    text = _on_machines(text, settings.megatron.devices_per_node)
    if re.search(r"^ +--load ", text, re.MULTILINE):
        return text
    words = f"    --load '{_inside(place)}/megatron' --ckpt-format {settings.form}\n"
    words += "    --finetune --no-load-optim --no-load-rng\n"
    return _OUTPUT.sub(lambda found: found[0] + words, text, count=1)


def devices_of(text: str) -> int:
    """How many devices a written script takes."""
    found = _NODES.search(text)
    return int(found[1]) * int(found[2]) if found else 1


def _weights_of(folder: str) -> str | None:
    """Where the weights of an example folder lie; None where it is none of the playbook's."""
    if folder.startswith(_OWN):
        return f"{folder}/weights"
    return f"{_SHARED}/weights" if folder.startswith((_SHARED, "4-long-run")) else None


def _with_data(text: str, paths: Mapping[str, str]) -> str:
    for name, place in paths.items():
        if name != place:
            text = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", lambda _, to=place: to, text)
    return text


def _on_machines(text: str, local: int) -> str:
    """The same devices on as many machines as they need."""
    devices = devices_of(text)
    if not _NODES.search(text) or (devices > local and devices % local):
        return text
    nodes = max(1, devices // local)
    return _NODES.sub(f"NNODES={nodes}\nGPUS_PER_NODE={devices // nodes}", text, count=1)


def _quoted(path: str) -> str:
    return path if re.fullmatch(r"[\w./+:@%=-]+", path) else f"'{_inside(path)}'"


def _inside(path: str) -> str:
    return path.replace("'", "'\\''")

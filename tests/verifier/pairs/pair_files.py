"""Writes the pairs of `pairs.yaml` as the two files a user would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from accmap.schemas.compilers.tables import load_table

HERE = Path(__file__).parent
TABLE: dict[str, Any] = load_table((HERE / "pairs.yaml").read_text("utf-8"))


def write_pair(pair: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """The launch script and the YAML of a pair, in `folder`."""
    common, family = TABLE["common"], TABLE["families"][pair["family"]]
    flags = {**common["megatron"], **family.get("megatron", {}), **pair.get("megatron", {})}
    model = {**common["model"], **family["model"], **pair.get("model", {})}
    sections = {**common["mindformers"]}
    for name, change in pair.get("mindformers", {}).items():
        old = sections.get(name)
        sections[name] = {**old, **change} if isinstance(old, dict) and isinstance(change, dict) else change
    sections["model"] = {"model_config": model}
    script, config = folder / "pretrain.sh", folder / "train.yaml"
    script.write_text(script_of(flags), "utf-8")
    config.write_text(yaml.safe_dump(sections, sort_keys=False), "utf-8")
    return script, config


def script_of(flags: dict[str, Any]) -> str:
    """A launch script with these arguments."""
    words = [
        f"    --{flag}" + ("" if value is True else f" '{value}'" if isinstance(value, str) else f" {value}")
        for flag, value in flags.items()
        if value is not None
    ]
    return "#!/bin/bash\ntorchrun --nproc_per_node 1 pretrain_gpt.py \\\n" + " \\\n".join(words) + "\n"

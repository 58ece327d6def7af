"""Makes `NAME_compiled.py` of each `NAME.yaml` of plain constants: names and numbers that Python takes as they are."""

from __future__ import annotations

from pathlib import Path

from .house_yaml import house_yaml
from .literal_module import frozen, literal_module

ROOT = Path(__file__).resolve().parents[1]
TABLES = {
    "mappings/keys": "Keys that are asked for by what they are",
    "schemas/megatron/names": "Flags that stand for others",
    "schemas/mindformers/launch_options": "The options of run_mindformer.py, and keys at the top",
    "evidence/score_names": "Columns of evaluation reports",
    "evidence/seeding": "Code that fixes every seed",
    "evidence/data/names": "Keys that name a tokenizer, and the types of tokens",
    "evidence/dump/names": "Names in dumps, and what both sides call the same",
    "evidence/logs/columns": "Columns of training logs",
    "evidence/logs/gaps": "Gaps between training logs",
    "evidence/weights/number_types": "Number types of weights",
    "evidence/weights/names": "What a checkpoint says of its model",
    "verifier/constants": "What models are built with, and what stands in",
}


def products() -> dict[str, str]:
    """The compiled modules."""
    return {
        f"{table}_compiled.py": literal_module(
            f"{about}; compiled from {table.rpartition('/')[2]}.yaml.",
            **frozen(house_yaml((ROOT / f"{table}.yaml").read_text("utf-8"))),
        )
        for table, about in TABLES.items()
    }

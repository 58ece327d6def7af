"""What makes a launch compute the same bits twice: variables for the shell, and code that fixes every seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..mapper.align.table import alignment_table
from .environment import version_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..schemas.diagnostic import Language


class Variable(NamedTuple):
    """One exported variable of a deterministic launch, and why."""

    name: str
    value: str
    en: str
    zh: str


def deterministic_variables(side: str) -> tuple[Variable, ...]:
    """The variables of one side's launch."""
    if side == "mindformers":
        rows = alignment_table().environment
        return tuple(Variable(str(row.variable), str(row.value), row.en, row.zh) for row in rows)
    return tuple(Variable(row["name"], row["value"], row["en"], row["zh"]) for row in version_table()["deterministic"])


_SIDES = {
    "mindformers": ("MindSpore Transformers on Ascend", "昇腾侧 MindSpore Transformers"),
    "megatron": ("Megatron-LM on GPUs", "GPU 侧 Megatron-LM"),
}


def export_lines(sides: Iterable[str], language: Language) -> list[str]:
    """The deterministic set as lines for a shell."""
    lines: list[str] = []
    for side in sides:
        lines.append(f"# {_SIDES[side][language == 'zh']}")
        for variable in deterministic_variables(side):
            why = variable.zh if language == "zh" else variable.en
            lines.append(f"export {variable.name}={variable.value}  # {why}")
    return lines


_SEEDING = {
    "torch": (
        (
            "# pretrain_gpt.py: below its imports, before anything random.",
            "# 用于 pretrain_gpt.py：放在 import 之后、任何随机操作之前。",
        ),
        """import os
import random

import numpy as np
import torch


def seed_all(seed=42):
    os.environ["PYTHONHASHSEED"] = str(seed)
    for fixed in (random.seed, np.random.seed, torch.manual_seed, torch.cuda.manual_seed_all):
        fixed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.enabled = False


seed_all()
""",
    ),
    "mindspore": (
        (
            "# run_mindformer.py: below its imports, before anything random.",
            "# 用于 run_mindformer.py：放在 import 之后、任何随机操作之前。",
        ),
        """import os
import random

import mindspore
import numpy as np


def seed_all(seed=42):
    os.environ["PYTHONHASHSEED"] = str(seed)
    for fixed in (random.seed, np.random.seed, mindspore.set_seed):
        fixed(seed)
    mindspore.set_context(deterministic="ON")


seed_all()
""",
    ),
}


def seeding_code(framework: str, language: Language) -> str:
    """The lines that fix every seed and switch deterministic kernels on, with the place where they belong."""
    place, code = _SEEDING[framework]
    return f"{place[language == 'zh']}\n{code}"

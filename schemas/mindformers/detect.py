"""Whether a text is a MindSpore Transformers YAML, and of which dialect.

Three dialects read different keys: `static` (the graph-mode core, `use_legacy: False`), `dynamic` (the typed
`TrainConfig` of 2.x) and `legacy` (the older model classes, which `use_legacy` selects by default).
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .catalog import DEFAULT_DYNAMIC, DEFAULT_STATIC, known_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..config import ReadOptions
    from ..source import SourceText

_STATIC_SECTIONS = frozenset(
    (
        "callbacks",
        "context",
        "lr_schedule",
        "micro_batch_interleave_num",
        "model",
        "moe_config",
        "monitor_config",
        "optimizer",
        "output_dir",
        "parallel",
        "parallel_config",
        "pretrained_model_dir",
        "recompute_config",
        "run_mode",
        "runner_config",
        "runner_wrapper",
        "swap_config",
        "train_dataset",
        "train_dataset_task",
        "trainer",
        "use_legacy",
        "use_parallel",
    )
)
_DYNAMIC_SECTIONS = frozenset(
    ("checkpoint", "lr_scheduler", "model", "optimizer", "parallelism", "recompute", "train_dataset", "training")
)
_ONLY_DYNAMIC = frozenset(("lr_scheduler", "parallelism", "training"))
_ONLY_STATIC = frozenset(("runner_config", "parallel_config", "lr_schedule", "use_legacy", "trainer"))


def looks_like_mindformers(source: SourceText) -> bool:
    """Whether the text's top-level keys are those of a MindSpore Transformers configuration."""
    found: set[str] = set()
    for line in source.text.splitlines():
        if not line or line[0] in " \t#-{[":
            continue
        key, colon, _ = line.partition(":")
        if colon:
            found.add(key.strip().strip("'\""))
    return len(found & (_STATIC_SECTIONS | _DYNAMIC_SECTIONS)) >= 2


def dialect_of(value: Mapping[Any, Any], options: ReadOptions) -> tuple[str, str]:
    """The dialect of a configuration's top-level mapping, and the version whose rules apply to it."""
    asked = None if options.mindformers is None else known_version(options.mindformers)
    dialect = options.dialect or _detected(value)
    if asked is not None:
        return dialect, asked
    return dialect, DEFAULT_DYNAMIC if dialect == "dynamic" else DEFAULT_STATIC


def _detected(value: Mapping[Any, Any]) -> str:
    keys = {key for key in value if isinstance(key, str)}
    if keys & _ONLY_DYNAMIC and not keys & _ONLY_STATIC:
        return "dynamic"
    return "static" if _is_off(value.get("use_legacy", True)) else "legacy"


def _is_off(use_legacy: object) -> bool:
    # MFContextOperator keeps the value as written; None counts as legacy, every other false value as not.
    return use_legacy is not None and not use_legacy

"""Detection of files that hold Megatron-LM arguments: a plain or JSON list, a training log, a recipe, another's YAML.

It is cheap; the reader of each kind is a module beside it, loaded when it is needed.
"""

from __future__ import annotations

from ...fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from ...source import SourceText

Input: TypeAlias = "Literal['arguments', 'json', 'log', 'recipe', 'targets', 'configuration', 'experiment', 'primus']"


BLOCK_END = "end of arguments -"
BLOCK_START = "- arguments -"
"""The lines between which a training log shows its arguments (`training/arguments.py:_print_args`, 0.12–0.19)."""
_TARGET = "_target_: megatron."
_PART = "model_parallel:"


def detect(source: SourceText) -> Input | None:
    """Kind of argument file that a text is; None for other texts."""
    text = source.text
    start = text.lstrip()
    if BLOCK_START in text or BLOCK_END in text:
        return "log"
    if start.startswith("[") and start[1:].lstrip()[:1] in ('"', "]"):
        return "json"
    if text.startswith("MODEL_ARGS:") or "\nMODEL_ARGS:" in text:
        return "recipe"
    tree = _tree(text)
    if tree is not None:
        return tree
    while start.startswith("#") and not start.startswith("#!"):
        start = start.partition("\n")[2].lstrip()
    start = start.lstrip("\"'")
    return "arguments" if start.startswith("--") and start[2:3].isalpha() else None


def _tree(text: str) -> Input | None:
    """Kind of another program's YAML that a text is; None for other texts."""
    if f"\n{_PART}" in f"\n{text}" or _TARGET in text:
        from .yaml_launches import kind_of

        found = kind_of(text)
        if found is not None:
            return found
    if "system:" in text or "experiment:" in text:
        from .yaml_launches import is_experiment

        return "experiment" if is_experiment(text) else None
    if "modules:" in text:
        from .yaml_launches import is_primus

        return "primus" if is_primus(text) else None
    return None

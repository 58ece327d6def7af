"""The other places where Megatron-LM arguments stand: a plain list, a JSON list, a training log, a test recipe.

`detect` says cheaply which of them a text is; the readers themselves are in `argument_list`, `log_block` and
`recipe`, and are loaded when they are needed.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from .log_marks import BLOCK_END, BLOCK_START

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from ..config import Argument, Config, ReadOptions
    from ..source import SourceText
    from .recipe import Recipe

Input: TypeAlias = "Literal['arguments', 'json', 'log', 'recipe', 'targets', 'configuration', 'experiment']"


_TARGET = "_target_: megatron."
_PART = "model_parallel:"


def detect(source: SourceText) -> Input | None:
    """What kind of argument file a text is; None where it is none."""
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
    """What kind of another program's YAML a text is."""
    if f"\n{_PART}" in f"\n{text}" or _TARGET in text:
        from .target_yaml import kind_of

        found = kind_of(text)
        if found is not None:
            return found
    if "system:" in text or "experiment:" in text:
        from .experiment_yaml import is_experiment

        return "experiment" if is_experiment(text) else None
    return None


def read_arguments(source: SourceText) -> tuple[Argument, ...]:
    """The words of a plain or JSON argument list; UnreadableError where it is neither."""
    from .argument_list import json_words, plain_words

    return json_words(source) if source.text.lstrip().startswith("[") else plain_words(source)


def read_log(source: SourceText, options: ReadOptions) -> Config:
    """The arguments block that a run printed after its validation."""
    from .log_block import log_config

    return log_config(source, options)


def read_recipe(source: SourceText, options: ReadOptions) -> Recipe:
    """A functional test's `model_config.yaml` as the launch that Megatron's test driver makes of it."""
    from .recipe import recipe_of

    return recipe_of(source, options)

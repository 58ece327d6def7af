"""A run that is a tree of objects, written as YAML with `_target_` nodes, as the words `--section.field value`.

Megatron-Bridge dumps its ConfigContainer so (`run_config.yaml` beside a checkpoint; Megatron-LM's own
training/config/container.py:ConfigContainerBase.to_yaml) and lets `section.field=value` on a command line change a
recipe (training/utils/omegaconf_utils.py:parse_hydra_overrides). Both become the same words.
"""

from __future__ import annotations

from json import dumps

from ..config import Argument
from ..diagnostic import UnreadableError
from ..light_typing import TYPE_CHECKING
from ..purpose import unread_yaml
from ..yaml_text import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..source import SourceText
    from ..yaml_node import Node

DIALECT = "megatron-bridge"
_TARGET, _NAME, _ARGUMENTS = "_target_", "_name_", "_args_"
_MARKS = ("_target_: megatron.bridge.", "_target_: megatron.training.config.")
_INNER = "transformer"
"""The part of `model` in which newer dumps keep the fields of TransformerConfig; `model` forwards to it
(models/gpt/model_config.py:BridgeGPTModelConfig.__setattr__)."""
_WHOLE = ("env_vars", "peft", "ft", "straggler", "nvrx_straggler", "tensor_inspect", "inprocess_restart")
"""What is taken as one value: its fields decide nothing that a pretraining run of another program has."""
_SECTIONS = frozenset(
    ("--train", "--optimizer", "--scheduler", "--ddp", "--mixed_precision", "--checkpoint", "--model")
)
"""The parts of a recipe whose fields a command line changes."""
_OTHERS = frozenset(("--trainer", "--exp_manager", "--actor_rollout_ref", "--algorithm", "--actor", "--critic"))
"""Parts of NeMo's and verl's configurations, whose `model` is another."""
_OPERATORS = ("++", "+")
"""Hydra's marks of an override that adds a key; `~` deletes one."""


def is_target_yaml(text: str) -> bool:
    """Whether a text is such a dump."""
    return any(mark in text for mark in _MARKS)


def words_of(source: SourceText) -> tuple[Argument, ...]:
    """The words of a dump; UnreadableError where it is no mapping."""
    root = read_yaml(source).root
    if root is None or root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    return tuple(_of_mapping(root, ""))


def _of_mapping(node: Node, before: str) -> Iterator[Argument]:
    for key, value in node.items.items():
        path = f"{before}{key}"
        if path == f"model.{_INNER}" and value.kind == "mapping":
            yield from _of_mapping(value, before)
        elif not before and value.kind == "mapping" and key not in _WHOLE:
            yield from _of_mapping(value, f"{path}.")
        elif not (before and key == _TARGET):
            yield Argument(f"--{path}={_text(value)}", value.span)


def _text(node: Node) -> str:
    """A field's value as one word: a function, type or enumeration by its own name, else as JSON writes it."""
    if node.kind == "mapping" and _TARGET in node.items:
        name, target = node.items.get(_NAME), node.items[_TARGET]
        return str((target if name is None else name).value).rpartition(".")[2]
    if node.kind == "scalar" and isinstance(node.value, str):
        return node.value
    return dumps(node.value, ensure_ascii=False, default=str, separators=(",", ":"))


def overridden(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The words of a command line; where they change a recipe, with each `section.field=value` as an option."""
    found = [_option(word) for word in words]
    changed = [one.text.partition(".")[0] for one, word in zip(found, words, strict=True) if one is not word]
    if _SECTIONS.isdisjoint(changed) or not _OTHERS.isdisjoint(changed):
        return words
    return tuple(found)


def _option(word: Argument) -> Argument:
    text = word.text
    for mark in _OPERATORS:
        text = text.removeprefix(mark)
    path, equals, _ = text.partition("=")
    if "." not in path or not equals or not path.replace(".", "_").isidentifier():
        return word
    return word._replace(text=f"--{text.replace(f'model.{_INNER}.', 'model.', 1)}")

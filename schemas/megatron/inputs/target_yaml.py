"""A run that is a tree of objects, written as YAML with `_target_` nodes, as the words `--section.field value`.

Megatron-Bridge dumps its ConfigContainer so (`run_config.yaml` beside a checkpoint; Megatron-LM's own
training/config/container.py:ConfigContainerBase.to_yaml) and lets `section.field=value` on a command line change a
recipe (training/utils/omegaconf_utils.py:parse_hydra_overrides); verl's `key=value` change the tree of its own. All
become the same words.
"""

from __future__ import annotations

from ...config import Argument
from ...diagnostic import UnreadableError
from ...fast_records import TYPE_CHECKING
from ...file_kind import unread_yaml
from ...plain_values import is_on
from ...yaml_reader.document import read_yaml
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from ...source import SourceText
    from ...yaml_reader.node import Node

DIALECT = "megatron-bridge"
CONFIGURED = "megatron-yaml"
"""The dialect of Megatron-LM's own YAML configuration."""
_CONFIGURED_BASE = "0.12"
_SWITCH = "truth?"
_YAML_CFG = "--yaml-cfg"
_PARTS = ("language_model", "model_parallel")
"""The mappings of such a file whose keys are arguments as those beside them (yaml_arguments.py:validate_yaml)."""
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
_OTHERS = frozenset(("--trainer", "--exp_manager", "--algorithm", "--actor", "--critic"))
"""Parts of NeMo's configurations, whose `model` is another."""
_OF_VERL = "--actor_rollout_ref"
"""The part of verl's configuration that no other program has."""
_PROGRAMS_OF_VERL = "verl."
_OPERATORS = ("++", "+")
"""Hydra's marks of an override that adds a key; `~` deletes one."""
_KEY = r"[A-Za-z_$][\w$-]*(?:[./][\w$-]+)*(?:@[\w$-]+(?:\.[\w$-]+)*)?"
"""A key, or a group with its package (hydra-core 1.3 grammar/OverrideLexer.g4)."""


def has_section(text: str, name: str) -> bool:
    """True if a text has a key at the top of that name."""
    return text.startswith(f"{name}:") or f"\n{name}:" in text


def kind_of(text: str) -> Literal["targets", "configuration"] | None:
    """True if a text is such a dump, or what `--yaml-cfg` names."""
    if all(has_section(text, part) for part in _PARTS):
        return "configuration"
    return "targets" if any(mark in text for mark in _MARKS) else None


def words_of(source: SourceText) -> tuple[Argument, ...]:
    """The words of a dump; UnreadableError where it is no mapping."""
    root = read_yaml(source).root
    if root is None or root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    return tuple(_of_mapping(root, ""))


def yaml_cfg_words(words: tuple[Argument, ...], open_file: Callable[[str], SourceText]) -> tuple[Argument, ...] | None:
    """The words of the file that `--yaml-cfg` names: all others are ignored (training/yaml_arguments.py:load_yaml)."""
    for at, word in enumerate(words):
        flag, equals, name = word.text.partition("=")
        named = words[at + 1] if not equals and at + 1 < len(words) else word._replace(text=name)
        if flag == _YAML_CFG and named.resolved and named.text:
            source = open_file(named.text)
            return tuple(one._replace(span=one.span._replace(file=source.name)) for one in configuration_of(source))
    return None


def configuration_of(source: SourceText) -> tuple[Argument, ...]:
    """The words of such a file; UnreadableError where it is no mapping."""
    root = read_yaml(source).root
    if root is None or root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    from ..dialects import dialect_named
    from ..forks import catalog

    known = catalog(_CONFIGURED_BASE, dialect_named(f"{CONFIGURED}-{_CONFIGURED_BASE}")).by_option
    found: list[Argument] = []
    for key, value in root.items.items():
        part = value.items if key in _PARTS and value.kind == "mapping" else {key: value}
        for name, node in part.items():
            fact = known.get(f"--{name}")
            # No parser sees these values: the code asks for the truth of what YAML makes of them.
            text = str(is_on(node.value)).lower() if fact is not None and fact.type == _SWITCH else _text(node)
            found.append(Argument(f"--{name}={text}", node.span))
    return tuple(found)


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
    from json import dumps

    value = node.value
    try:
        return dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    except TypeError:  # a key that JSON has no word for
        return str(value)


def words_with_overrides(words: tuple[Argument, ...], script: str = "") -> tuple[Argument, ...]:
    """The words of a command line; where they change a recipe, with each `section.field=value` as an option.

    All words of verl's programs are Hydra's overrides.
    """
    found = [_option(word) for word in words]
    changed = [one.text.partition(".")[0] for one, word in zip(found, words, strict=True) if one is not word]
    if script.startswith(_PROGRAMS_OF_VERL) or _OF_VERL in changed:
        return tuple(one for word in words for one in _of_hydra(word))
    if _SECTIONS.isdisjoint(changed) or not _OTHERS.isdisjoint(changed):
        return words
    return tuple(found)


def _of_hydra(word: Argument) -> tuple[Argument, ...]:
    """An override of Hydra's as options: `key=value`, `group=option`, `~key`; a word that is none as it stands.

    hydra-core 1.3 grammar/OverrideParser.g4:override. What becomes of a deleted key its reader decides.
    """
    import re

    text = word.text
    deletes = text.startswith("~")
    mark = next((one for one in ("~", *_OPERATORS) if text.startswith(one)), "")
    text = text.removeprefix(mark)
    key, equals, value = text.partition("=")
    undecided = not word.resolved and (deletes or "$" in key)
    if undecided or not re.fullmatch(_KEY, key) or not (equals or deletes):
        return (word,)
    if "@" in key or "/" in key:
        return (word._replace(resolved=False, why=say.chosen_group()),)
    if deletes:
        why = say.deleted_key()
        return word._replace(text=f"--{key}", resolved=True), word._replace(resolved=False, may_split=False, why=why)
    return (word._replace(text=f"--{key}={value}"),)


def _option(word: Argument) -> Argument:
    text = word.text
    for mark in _OPERATORS:
        text = text.removeprefix(mark)
    path, equals, _ = text.partition("=")
    if "." not in path or not equals or not path.replace(".", "_").isidentifier():
        return word
    return word._replace(text=f"--{text.replace(f'model.{_INNER}.', 'model.', 1)}")

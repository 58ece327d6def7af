"""YAML of other programs as the launch that they make of it: FlagScale, ms-swift, Megatron-Bridge, verl and Primus.

FlagScale: Hydra puts the experiment's file and the one of its group `train` together, and `${a.b}` names another value
of both. flagscale/runner/runner_train.py:_get_args_megatron lays the sections `system`, `model` and `data` over each
other, and runner/utils.py:flatten_dict_to_args makes words of all that they hold, whatever stands around it: a truth
that is not one is left out. If nothing names a folder, the runner does (`_update_config_train`).

ms-swift reads a file of options in the place of its first word (cli/main.py:parse_yaml_args) or, if it starts Ray,
behind `--config` (ray/megatron/driver_utils.py:parse_ray_yaml), whose groups `rollout` and `teacher` train nothing.

Megatron-Bridge dumps its ConfigContainer as a tree of `_target_` nodes (`run_config.yaml` beside a checkpoint;
Megatron-LM's own training/config/container.py:ConfigContainerBase.to_yaml) and lets `section.field=value` on a command
line change a recipe (training/utils/omegaconf_utils.py:parse_hydra_overrides); verl's `key=value` change the tree of
its own. All become the words `--section.field value`.

Primus lays the overrides of an experiment over the presets of a trainer and a model (core/launcher/parser.py:
PrimusParser), whose keys are the names of Megatron-LM's values (backends/megatron/argument_builder.py). The presets are
read from the checkout that the file stands in, else from the table of a release. What a preset sets, and Megatron-LM
does not set by itself, becomes a word at the line that names the preset.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import pairwise

from ...config import Argument, Launch, Unresolved
from ...diagnostic import UnreadableError, diagnose
from ...fast_records import TYPE_CHECKING, NamedTuple
from ...file_kind import unread_yaml
from ...plain_values import is_list, is_mapping, is_on
from ...shell.launchers import whole_number
from ...source import SourceText
from ...yaml_reader.document import read_yaml
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    from ...diagnostic import Diagnostic
    from ...message import Words
    from ...source import Span
    from ...yaml_reader.node import Node

    Tree: TypeAlias = "dict[str, Tree | _Leaf]"

FLAGSCALE = "flagscale"
SIGNS = "system, model, data"
_EXPERIMENT_SECTIONS = ("system", "model", "data")
_GROUP = "train"
_ITSELF = "_self_"
_HYDRA = {"--config-path": "path", "-cp": "path", "--config-name": "name", "-cn": "name"}
_NOT_WORDS = frozenset(("log_dir", "details_dir", "scripts_dir", "pids_dir"))
_FOLDERS = frozenset(("save", "load", "tensorboard_dir", "wandb_save_dir"))
_DEEPEST, _LONGEST, _MOST = 30, 4_000, 50_000
"""How far values that name values are followed, how long they grow, and how many are looked up in all."""
_NO_NUMBER = "SYN051"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class Experiment(NamedTuple):
    """The launch of a configuration, its undecided words, and the problems of its files."""

    launch: Launch
    unresolved: tuple[Unresolved, ...]
    problems: tuple[Diagnostic, ...]


class _Leaf(NamedTuple):
    value: Any
    span: Span
    key_span: Span
    of_preset: bool = False
    """True if a preset sets it."""


def is_experiment(text: str) -> bool:
    """True if a text is the file of an experiment, or of its group `train`."""
    if has_section(text, "experiment"):
        return "backend: megatron" in text
    return "hidden_size:" in text and all(has_section(text, section) for section in _EXPERIMENT_SECTIONS)


def experiment_of(source: SourceText, path: str, open_file: Callable[[str], SourceText]) -> Experiment:
    """Launch in a FlagScale configuration; UnreadableError without its sections."""
    return _Reader(source, path, open_file).read()


def experiment_of_launch(launch: Launch, open_file: Callable[[str], SourceText]) -> Experiment | None:
    """Experiment that `run.py` starts with overrides; None for other programs."""
    named: dict[str, str] = {}
    changes: list[Argument] = []
    words = iter(launch.arguments)
    for word in words:
        flag, equals, text = word.text.partition("=")
        if flag in _HYDRA:
            named[_HYDRA[flag]] = text if equals else next(words, word).text
        elif flag.startswith("~") or (equals and not flag.startswith("-")):
            changes.append(word)
    if len(named) < len(set(_HYDRA.values())):
        return None
    place = f"{named['name'].removesuffix('.yaml')}.yaml"
    below = os.path.join(os.path.dirname(launch.script or ""), named["path"], place)
    here = os.path.join(os.getcwd(), "")
    for place in (os.path.join(launch.directory or "", below), below):
        path = os.path.normpath(place).removeprefix(here)
        try:
            source = open_file(path)
        except UnreadableError:  # it may be anybody's, and not be here
            continue
        if is_experiment(source.text):
            made = _Reader(source, path, open_file, source.name, changes).read()
            environment = {**launch.env, **made.launch.env}  # of the script that starts it, then its own
            spans = {**launch.env_spans, **made.launch.env_spans}
            return made._replace(launch=made.launch._replace(env=environment, env_spans=spans))
    return None


class _Reader:
    def __init__(
        self,
        source: SourceText,
        path: str,
        open_file: Callable[[str], SourceText],
        file: str | None = None,
        changes: Sequence[Argument] = (),
    ) -> None:
        self.source = source
        self.folder = os.path.dirname(path)
        self.open_file = open_file
        self.file = file
        """What names the file at its places, where it is not the one that is asked for."""
        self.changes = [_change(word) for word in changes]
        self.problems: list[Diagnostic] = []
        self.unresolved: list[Unresolved] = []
        self.followed = 0
        self.whole = self._compose(self._read(source))

    def read(self) -> Experiment:
        """Experiment in the file: launch, undecided words and problems."""
        train = self._section("train") if "experiment" in self.whole else self.whole
        sections: Tree = {}
        for name in _EXPERIMENT_SECTIONS:
            part = train.get(name)
            if isinstance(part, dict):
                sections.update(part)
        words: list[Argument] = []
        self._flatten(sections, words)
        if not words:
            raise UnreadableError(unread_yaml(self.source.name).problem)
        environment, spans = self._environment()
        launch = Launch(
            "torchrun",
            self._text("experiment", "task", "entrypoint"),
            tuple(words),
            self._devices(environment),
            environment,
            words[0].span,
            spans,
        )
        return Experiment(launch, tuple(self.unresolved), tuple(self.problems))

    # Putting the files together.

    def _read(self, source: SourceText) -> Node:
        document = read_yaml(source)
        # hydra reads numbers that PyYAML takes for texts
        self.problems += [one._replace(file=source.name) for one in document.problems if one.kind.code != _NO_NUMBER]
        if document.root is None or document.root.kind != "mapping":
            raise UnreadableError(unread_yaml(source.name).problem)
        return document.root

    def _compose(self, root: Node) -> Tree:
        """Configuration tree with that of the `train` group merged in."""
        own = _tree_of_node(root, self.file)
        named = own.pop("defaults", None)
        order: list[Any] = named.value if isinstance(named, _Leaf) and is_list(named.value) else []
        chosen = {path[0]: str(leaf.value) for path, leaf in self.changes if leaf is not None and len(path) == 1}
        found: Tree = {}
        for entry in order if _ITSELF in order else [*order, _ITSELF]:
            if entry == _ITSELF:
                _lay(own, found)
                continue
            named = _of_group(entry)
            if named is not None:
                _lay({_GROUP: self._group(chosen.get(_GROUP, named))}, found)
        for path, leaf in self.changes:
            if leaf is None:
                above = _branch_at(found, path[:-1])
                (above if isinstance(above, dict) else {}).pop(path[-1], None)
            elif path != [_GROUP]:
                _lay(_nested_tree(path, leaf), found)
        return found

    def _group(self, name: str) -> Tree:
        """The YAML of the training group that an experiment names."""
        name = name if name.endswith(".yaml") else f"{name}.yaml"
        source = self.open_file(os.path.join(self.folder, _GROUP, name))
        return _tree_of_node(self._read(source), source.name)

    def _section(self, *path: str) -> Tree:
        found = _branch_at(self.whole, path)
        return found if isinstance(found, dict) else {}

    # What the runner makes of it.

    def _flatten(self, tree: Tree, words: list[Argument]) -> None:
        """Add the words of a configuration tree: one option for each leaf."""
        for key, held in tree.items():
            if key in _NOT_WORDS:
                continue
            if isinstance(held, dict):
                self._flatten(held, words)
                continue
            value, lacking = self._value(held.value)
            if value is False or (value is None and key in _FOLDERS):
                continue
            flag = f"--{key.replace('_', '-')}"
            if lacking:  # a word, several, or none at all
                text = str(held.value)
                self.unresolved.append(Unresolved(text, lacking, held.span, len(words), may_split=True))
                words.append(Argument(f"{flag}={text}", held.span, resolved=False, may_split=True, why=lacking))
                continue
            words.append(Argument(flag, held.key_span))
            if value is not True:
                words += [Argument(str(one), held.span) for one in (value if is_list(value) else [value])]

    def _value(self, value: Any, within: tuple[str, ...] = ()) -> tuple[Any, Words | None]:
        """Value with references resolved, and the reason if one cannot be."""
        if is_list(value):
            found = [self._value(one, within) for one in value]
            return [one for one, _ in found], next((lacking for _, lacking in found if lacking), None)
        if not isinstance(value, str) or "${" not in value:
            return value, None
        before, _, rest = value.partition("${")
        name, closed, behind = rest.partition("}")
        held = self._lookup(name, within) if closed and len(value) < _LONGEST else None
        if held is None:
            return value, say.stands_elsewhere(name=name)
        inner, lacking = self._value(held.value, (*within, name))
        if lacking or not (before or behind):
            return inner, lacking
        return self._value(f"{before}{inner}{behind}", (*within, ""))

    def _lookup(self, name: str, within: tuple[str, ...]) -> _Leaf | None:
        """The value that a reference names; None for a circle or too many references."""
        self.followed += 1
        if name in within or len(within) == _DEEPEST or self.followed > _MOST:
            return None
        held = _branch_at(self.whole, name.split("."))
        return held if isinstance(held, _Leaf) else None

    def _text(self, *path: str) -> str | None:
        held = _branch_at(self.whole, path)
        value = self._value(held.value)[0] if isinstance(held, _Leaf) else None
        return None if value is None else str(value)

    def _environment(self) -> tuple[dict[str, str | None], dict[str, Span]]:
        """Environment variables that the experiment sets, and the place of each."""
        held = {name: one for name, one in self._section("experiment", "envs").items() if isinstance(one, _Leaf)}
        found = {name: self._value(one.value) for name, one in held.items()}
        texts = {name: None if lacking or value is None else str(value) for name, (value, lacking) in found.items()}
        return texts, {name: one.span for name, one in held.items()}

    def _devices(self, environment: Mapping[str, str | None]) -> int | None:
        """Number of processes that the runner starts; None if a host file is missing."""
        if "experiment" not in self.whole:
            return None
        asked = whole_number(self._text("experiment", "runner", "nproc_per_node"))
        visible = environment.get(_VISIBLE)
        each = [one for one in (asked, visible and len(visible.split(","))) if one]
        named = self._text("experiment", "runner", "hostfile")
        if named is None:
            return min(each, default=1)
        try:
            lines = self.open_file(named).text.split("\n")
        except UnreadableError:
            return None
        hosts = [slots for line in lines if (slots := _slots(line)) is not None]
        nodes = whole_number(self._text("experiment", "runner", "nnodes")) or len(hosts)
        return sum(min(slots, *each) if each else slots for slots in hosts[:nodes]) or None


def _slots(line: str) -> int | None:
    """Number of processes in a host file's line; None for other lines."""
    host, *rest = line.split() or ("#",)
    told = next((word[6:] for word in rest if word.startswith("slots=")), None)
    return None if host.startswith("#") else whole_number(told)


def _of_group(entry: object) -> str | None:
    """The name that an entry of the defaults takes of the group `train`: `train: NAME`, or `train/NAME`."""
    group, slash, name = str(entry).partition("/")
    if is_mapping(entry) and len(entry) == 1:
        ((group, name),) = entry.items()
        slash = isinstance(name, str)
    return name if slash and str(group).removeprefix("optional ").lstrip("/") == _GROUP else None


def _change(word: Argument) -> tuple[list[str], _Leaf | None]:
    """Path and value of a Hydra override `a.b=value`; None as value for `~a.b`.

    What reading cannot decide names a value that stands nowhere.
    """
    path, _, text = word.text.partition("=")
    if path.startswith("~"):
        return path[1:].split("."), None
    value: Any = text
    if not word.resolved:
        value = f"${{{text.strip('${}')}}}"
    else:
        with suppress(UnreadableError):
            root = read_yaml(SourceText(word.text, text)).root
            value = None if root is None else root.value
    return path.lstrip("+").split("."), _Leaf(value, word.span, word.span)


def _nested_tree(path: Sequence[str], leaf: _Leaf) -> Tree:
    return {path[0]: leaf if len(path) == 1 else _nested_tree(path[1:], leaf)}


def _tree_of_node(node: Node, file: str | None) -> Tree:
    return dict(_tree_entries(node, file))


def _tree_entries(node: Node, file: str | None) -> Iterator[tuple[str, Tree | _Leaf]]:
    """Keys of a mapping node with subtree or leaf."""
    for key, child in node.items.items():
        if child.kind == "mapping":
            yield str(key), _tree_of_node(child, file)
        else:
            span, key_span = child.span, child.key_span or child.span
            if file is not None:
                span, key_span = span._replace(file=file), key_span._replace(file=file)
            yield str(key), _Leaf(child.value, span, key_span)


def _lay(above: Tree, below: Tree) -> None:
    """Merge one tree over another, section by section."""
    for key, held in above.items():
        known = below.get(key)
        if isinstance(held, dict):
            if not isinstance(known, dict):
                known = below[key] = {}
            _lay(held, known)
        else:
            below[key] = held


def _branch_at(tree: Tree, path: tuple[str, ...] | list[str]) -> Tree | _Leaf | None:
    found: Tree | _Leaf | None = tree
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found


_ENDINGS = (".yaml", ".yml", ".json")
_CONFIG = "--config"
_TRAIN = "train"
_GROUPS = frozenset(("colocate_groups", "sleep_level", "nnodes", "rollout", "teacher", "gpus"))
"""What Ray's driver takes out before the rest becomes options."""
_PROGRAM = "swift.cli._megatron."
_PREFERENCES = "swift.cli._megatron.rlhf"
_RAY = "--use_ray"
_ENVIRONMENT = "ENV"
_PROCESSES = frozenset(("NPROC_PER_NODE", "NNODES"))


def with_named_yaml(
    script: str | None, arguments: Sequence[Argument], open_file: Callable[[str], SourceText]
) -> tuple[Argument, ...]:
    """Words of a launch, with those of a named YAML file in its place."""
    words = tuple(arguments)
    if script is None or not script.startswith(_PROGRAM) or not words:
        return words
    if _names_a_file(words):
        return (*_words(open_file(words[0].text), ray=False), *words[1:])
    # `cli/_megatron/rlhf.py:_use_ray`: the option alone says yes; no other spelling is looked for
    texts = [word.text for word in words]
    if script != _PREFERENCES or _RAY not in texts:
        return words
    if any(text.lower() == "false" for text in texts[texts.index(_RAY) + 1 :][:1]):
        return words
    for at, (word, named) in enumerate(pairwise(words)):
        if word.text == _CONFIG and named.resolved:
            return (*words[:at], *_words(open_file(named.text), ray=True), *words[at + 2 :])
    return words


def with_environment(launch: Launch, open_file: Callable[[str], SourceText]) -> Launch:
    """Launch with environment variables from the `ENV` of its YAML added.

    ms-swift's cli/main.py:parse_yaml_args, before it asks how many processes to start.
    """
    if launch.script is None or not launch.script.startswith(_PROGRAM) or not _names_a_file(launch.arguments):
        return launch
    source = open_file(launch.arguments[0].text)
    root = read_yaml(source).root
    block = None if root is None else root.items.get(_ENVIRONMENT)
    if block is None:
        return launch
    added = {str(key): node for key, node in block.items.items() if str(key) not in launch.env}
    texts: dict[str, str | None] = {name: str(node.value) for name, node in added.items()}
    spans = {name: _in_file(node.span, source) for name, node in added.items()}
    size = launch.world_size
    for name in texts.keys() & _PROCESSES:
        count = whole_number(texts[name])
        size = None if size is None or count is None else size * count
    return launch._replace(env={**launch.env, **texts}, env_spans={**launch.env_spans, **spans}, world_size=size)


def _names_a_file(words: Sequence[Argument]) -> bool:
    """True if the first word is a file of options."""
    return bool(words) and words[0].resolved and words[0].text.endswith(_ENDINGS)


def _words(source: SourceText, *, ray: bool) -> Iterator[Argument]:
    """One option for each key of a YAML, the training group's last."""
    root = read_yaml(source).root
    if root is None or root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    items = dict(root.items)
    group = items.pop(_TRAIN, None) if ray else None
    left_out = _GROUPS if ray else {_ENVIRONMENT}
    for one in (items, {} if group is None else group.items):
        for key, node in one.items():
            if key not in left_out and not (ray and node.value is None):
                yield Argument(f"--{key}", _in_file(node.key_span or node.span, source))
                yield from _argument_values(node, source)


def _argument_values(node: Node, source: SourceText) -> Iterator[Argument]:
    """Words for a node's value; a mapping becomes JSON."""
    if node.kind == "sequence":
        for entry in node.entries:
            yield from _argument_values(entry, source)
        return
    text = str(node.value)
    if node.kind == "mapping":
        from json import dumps

        try:
            text = dumps(node.value, ensure_ascii=False)
        except (TypeError, ValueError) as error:  # a date, bytes, a set: ms-swift stops at them, too
            raise UnreadableError(unread_yaml(source.name).problem._replace(span=node.span)) from error
    yield Argument(text, _in_file(node.span, source))


def _in_file(span: Span, source: SourceText) -> Span:
    return span._replace(file=source.name)


MEGATRON_BRIDGE = "megatron-bridge"
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
_TARGET_SECTIONS = frozenset(
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
    """Kind of argument tree that a text is: a dump of objects or a `--yaml-cfg` file."""
    if all(has_section(text, part) for part in _PARTS):
        return "configuration"
    return "targets" if any(mark in text for mark in _MARKS) else None


def words_of(source: SourceText) -> tuple[Argument, ...]:
    """Words of a dump of objects; UnreadableError if it is not a mapping."""
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
    """Words of a `--yaml-cfg` file; UnreadableError if it is not a mapping."""
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
    """One `--path=value` word for each leaf of a mapping."""
    for key, value in node.items.items():
        path = f"{before}{key}"
        if path == f"model.{_INNER}" and value.kind == "mapping":
            yield from _of_mapping(value, before)
        elif not before and value.kind == "mapping" and key not in _WHOLE:
            yield from _of_mapping(value, f"{path}.")
        elif not (before and key == _TARGET):
            yield Argument(f"--{path}={_text(value)}", value.span)


def _text(node: Node) -> str:
    """Field's value as one word: name of a function, type or enumeration, else JSON."""
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
    """Command-line words with each `section.field=value` override as an option.

    All words of verl's programs are Hydra's overrides.
    """
    found = [_option_of_override(word) for word in words]
    changed = [one.text.partition(".")[0] for one, word in zip(found, words, strict=True) if one is not word]
    if script.startswith(_PROGRAMS_OF_VERL) or _OF_VERL in changed:
        return tuple(one for word in words for one in _of_hydra(word))
    if _TARGET_SECTIONS.isdisjoint(changed) or not _OTHERS.isdisjoint(changed):
        return words
    return tuple(found)


def _of_hydra(word: Argument) -> tuple[Argument, ...]:
    """Options for a Hydra override; a word that is not one unchanged.

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


def _option_of_override(word: Argument) -> Argument:
    """Option word for an override with a dotted path; other words unchanged."""
    text = word.text
    for mark in _OPERATORS:
        text = text.removeprefix(mark)
    path, equals, _ = text.partition("=")
    if "." not in path or not equals or not path.replace(".", "_").isidentifier():
        return word
    return word._replace(text=f"--{text.replace(f'model.{_INNER}.', 'model.', 1)}")


PRIMUS = "primus"
PRIMUS_SIGN = "framework: megatron"
_CONFIGS = os.path.join("primus", "configs")
_PARTS_OF_MODULE = frozenset(("name", "framework", "config", "model", "overrides", "params"))
_NO_PRESET_VALUES = frozenset(("name", "framework", "config", "model", "params", "trainer_class", "bases"))
_EXTENDS = "extends"
_FILLING = ("bases", "includes")
"""Files whose values a file of an early release takes where it has none, in this order; the first file that has one
wins (core/utils/yaml_utils.py:parse_yaml)."""
_LATE_LOADER = os.path.join("..", "core", "config", "yaml_loader.py")
"""Of the releases that read `extends` alone."""
_NULL = "null"
_PLACEHOLDER = r"\${([^:{}]+)(?::([^}]*))?}"
_NUMBER = r"-?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
"""What Primus takes for a placeholder, and for a number that one becomes (core/config/yaml_loader.py)."""
_FOLDERS_UP = 8


class PrimusRun(NamedTuple):
    """The words of an experiment of Primus, the undecided ones, and the problems of its file."""

    words: tuple[Argument, ...]
    unresolved: tuple[Unresolved, ...]
    problems: tuple[Diagnostic, ...]


def is_primus(text: str) -> bool:
    """True if a text is an experiment of Primus that trains with Megatron-LM."""
    if not has_section(text, "modules"):
        return False
    named = (behind.lstrip(" \"'").split(None, 1)[:1] for behind in text.split("framework:")[1:])
    return any(word and word[0].rstrip(",}\"'") == "megatron" for word in named)


def primus_run(
    source: SourceText,
    path: str,
    version: str,
    variables: Mapping[str, str],
    open_file: Callable[[str], SourceText],
    is_there: Callable[[str], bool],
) -> PrimusRun:
    """Run in a Primus experiment; UnreadableError without trainer or preset."""
    document = read_yaml(source)
    if document.root is None or document.root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    presets = _Presets(source.name, path, version, variables, open_file, is_there)
    whole = presets.with_bases(_tree_of_node(document.root, None), os.path.dirname(path), None, 0)
    modules = whole.get("modules")
    trainers = [one for name, one in modules.items() if "trainer" in name] if isinstance(modules, dict) else []
    trainer = next((one for one in trainers if isinstance(one, dict)), None)
    if trainer is None:
        raise UnreadableError(unread_yaml(source.name).problem)
    words, unresolved = _primus_words(presets.values(trainer), version)
    return PrimusRun(words, unresolved, document.problems)


def _primus_words(values: Tree, version: str) -> tuple[tuple[Argument, ...], tuple[Unresolved, ...]]:
    """Words for values that differ from the defaults, and undecided ones."""
    from ..dialects import dialect_named

    dialect = dialect_named(f"{PRIMUS}-{version}")
    assert dialect is not None
    words: list[Argument] = []
    unresolved: list[Unresolved] = []
    for key, held in values.items():
        leaf, plain = _joined_leaf(held)
        if leaf is None or key in _NO_PRESET_VALUES:
            continue
        fact = dialect.known.by_option.get(f"--{key}")
        if isinstance(plain, _Unset):
            why = say.set_nowhere(names=plain.names)
            unresolved.append(Unresolved(plain.text, why, leaf.span, len(words)))
            words.append(Argument(f"--{key}={plain.text}", leaf.span, resolved=False, why=why))
        elif leaf.of_preset and fact is not None and _is_same(plain, fact.default):
            continue
        else:
            words.append(Argument(f"--{key}={_json_or_own_text(plain)}", leaf.span))
    return tuple(words), tuple(unresolved)


class _Unset(NamedTuple):
    """A text with a variable that nothing sets."""

    text: str
    names: str


def _is_same(value: Any, default: Any) -> bool:
    return (
        value == default
        and (value is None) is (default is None)
        and isinstance(value, bool) is isinstance(default, bool)
    )


def _joined_leaf(held: Tree | _Leaf) -> tuple[_Leaf | None, Any]:
    """First leaf at or below a value, and the value with everything below it."""
    if not isinstance(held, dict):
        return held, held.value
    parts = {key: _joined_leaf(one) for key, one in held.items()}
    first = next((leaf for leaf, _ in parts.values() if leaf is not None), None)
    return first, {key: value for key, (_, value) in parts.items()}


def _json_or_own_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    from json import dumps

    return dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))


class _Presets:
    """The presets of the checkout that an experiment stands in, else of the release that the facts are of."""

    def __init__(
        self,
        file: str,
        path: str,
        version: str,
        variables: Mapping[str, str],
        open_file: Callable[[str], SourceText],
        is_there: Callable[[str], bool],
    ) -> None:
        self.file, self.version, self.variables, self.open_file = file, version, variables, open_file
        self.is_there = is_there
        self.folder = _configs_above(path, is_there)
        self.fills = self.folder is not None and not is_there(os.path.normpath(os.path.join(self.folder, _LATE_LOADER)))

    def values(self, trainer: Tree) -> Tree:
        """All values of a trainer: presets first, then its own."""
        found: Tree = {}
        if "config" in trainer:
            found = self.preset_of("modules", trainer, "config")
            own = {key: one for key, one in trainer.items() if key not in _PARTS_OF_MODULE}
            for more in (own, self.preset_of("models", trainer, "model")):
                found.update({key: one for key, one in more.items() if key not in found})
        else:
            found = {key: one for key, one in trainer.items() if key not in _PARTS_OF_MODULE}
        changed = trainer.get("overrides")
        if isinstance(changed, dict):
            _lay(changed, found)
        return found

    def preset_of(self, kind: str, trainer: Tree, key: str) -> Tree:
        """The preset that a key of the trainer names."""
        leaf = trainer.get(key)
        if isinstance(leaf, dict) or leaf is None or not isinstance(leaf.value, str):
            span = leaf.span if isinstance(leaf, _Leaf) else None
            text = leaf.value.text if isinstance(leaf, _Leaf) and isinstance(leaf.value, _Unset) else key
            raise UnreadableError(
                diagnose(say.no_preset(name=text, path=f"{_CONFIGS}/{kind}/megatron"), self.file, span)
            )
        name = leaf.value if leaf.value.endswith((".yaml", ".yml")) else f"{leaf.value}.yaml"
        return self.read(f"{kind}/megatron/{name}", leaf.span, 0)

    def read(self, name: str, place: Span, depth: int) -> Tree:
        """Values of a preset with those it extends."""
        name = os.path.normpath(name).replace(os.sep, "/")
        problem = diagnose(say.no_preset(name=name, path=f"{_CONFIGS}/{name}"), self.file, place)
        if depth == _DEEPEST or name.startswith("../"):
            raise UnreadableError(problem)
        if self.folder is None:
            from ..dialect_primus_presets_compiled import PRESETS

            content = PRESETS[self.version].get(name)
            if content is None:
                raise UnreadableError(problem)
            tree = _tree_of_preset(content, place)
        else:
            path = os.path.join(self.folder, name)
            if not self.is_there(path):
                raise UnreadableError(problem)
            tree = _as_preset(self.tree_of(self.open_file(path)))
        return self.with_bases(tree, None, name, depth, place)

    def tree_of(self, source: SourceText) -> Tree:
        """Configuration tree of a file with places."""
        root = read_yaml(source).root
        if root is None or root.kind != "mapping":
            raise UnreadableError(unread_yaml(source.name).problem)
        return _tree_of_node(root, source.name)

    def with_bases(
        self, tree: Tree, folder: str | None, name: str | None, depth: int, place: Span | None = None
    ) -> Tree:
        """Configuration tree merged over those it extends, and filled up from those that an early release names."""
        own = self.with_variables(tree)
        found: Tree = {}

        def trees_of(held: Tree | _Leaf | None) -> Iterator[Tree]:
            for one in _file_names(held):
                if name is None or place is None:
                    path = os.path.join(folder or "", one)
                    yield self.with_bases(self.tree_of(self.open_file(path)), os.path.dirname(path), None, depth + 1)
                else:
                    yield self.read(f"{os.path.dirname(name)}/{one}", place, depth + 1)

        for above in trees_of(own.pop(_EXTENDS, None)):
            _lay(above, found)
        _lay(own, found)
        for key in _FILLING if self.fills else ():
            for above in trees_of(found.pop(key, None)):
                found = {**above, **found}
        return found

    def with_variables(self, tree: Tree) -> Tree:
        """The tree with the variables of its texts in their places."""
        return {
            key: self.with_variables(held) if isinstance(held, dict) else held._replace(value=self.value_of(held.value))
            for key, held in tree.items()
        }

    def value_of(self, value: Any) -> Any:
        """Value with variables filled in; text that one changes may become a number or boolean."""
        if is_list(value):
            return [self.value_of(one) for one in value]
        if not isinstance(value, str) or "${" not in value:
            return None if value == _NULL else value
        import re

        lacking: list[str] = []

        def text_of(found: re.Match[str]) -> str:
            name, default = found.group(1), found.group(2)
            if name not in self.variables and default is None:
                lacking.append(name)
            return self.variables.get(name, default or "")

        text = re.sub(_PLACEHOLDER, text_of, value)
        if lacking:
            return _Unset(value, ", ".join(lacking))
        return value if text == value else _scalar_of(text)


def _file_names(held: Tree | _Leaf | None) -> Sequence[str]:
    """Names of other files that a value lists."""
    told = None if held is None or isinstance(held, dict) else held.value
    return [told] if isinstance(told, str) else [str(one) for one in told] if is_list(told) else []


def _scalar_of(text: str) -> Any:
    """Number or boolean that a text is, else the text (Primus' `_try_scalar`)."""
    import re

    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return None if text == _NULL else float(text) if re.fullmatch(_NUMBER, text) else text


def _configs_above(path: str, is_there: Callable[[str], bool]) -> str | None:
    """Folder `primus/configs` of the checkout around a file; None outside one."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(_FOLDERS_UP):
        if is_there(os.path.join(folder, _CONFIGS, "modules", "module_base.yaml")):
            return os.path.join(folder, _CONFIGS).removeprefix(os.path.join(os.getcwd(), ""))
        folder = os.path.dirname(folder)
    return None


def _tree_of_preset(content: Mapping[str, Any], place: Span) -> Tree:
    return {
        key: _tree_of_preset(value, place) if is_mapping(value) else _Leaf(value, place, place, True)
        for key, value in content.items()
    }


def _as_preset(tree: Tree) -> Tree:
    return {
        key: _as_preset(one) if isinstance(one, dict) else one._replace(of_preset=True) for key, one in tree.items()
    }

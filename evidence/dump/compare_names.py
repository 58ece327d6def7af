"""Partners among the units of two dumps, by Megatron-Core's names.

Both sides' modules are brought to Megatron-Core's names below the model: wrappers at the front are dropped
(`Module.module.module.`, `Cell.network.model.`), and names that a framework spells in its own way are replaced
(`MODULE_NAMES`). A mapping file, as msprobe takes one and `accmap dump config` writes one, is applied before. What has
no partner is listed, never dropped.

APIs carry no path. Within one framework they are matched by name and call; across frameworks by the module that they
ran inside (msprobe's construct.json), their plain name (`API_NAMES`) and their order there.

Mapping files of msprobe go from MindSpore's names to PyTorch's. A *layer mapping* gives, for a class (or `TopLayer`,
the root), how its children are called on the other side:

    TopLayer: {network_with_loss: module}
    ParallelTransformerLayer: {attention: self_attention, "mlp.mapping": "mlp.linear_fc1"}

A *cell mapping* is flat: `Cell.…: Module.…`. Source: msprobe 26.2, `core/compare/layer_mapping/layer_mapping.py`.
"""

from __future__ import annotations

import os
import re
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from ...schemas.border.file_input import package_text, read_text
from ...schemas.compilers.tables import load_table
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import first_of
from ...schemas.yaml_reader.node import refuse_deep
from .messages_compiled import say
from .names_compiled import API_NAMES, MODULE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...schemas.message import Words
    from .records import Tree, Unit

WRAPPERS = frozenset(
    ("module", "network", "model", "backbone", "_backbone", "network_with_loss", "net", "gpt_model", "cell")
)
"""Names at the front of a path that hold the whole model: data-parallel and precision wrappers, loss and grad cells."""


_HEAD = "output_layer"

FUSED_NORM_LINEAR = {"linear_qkv": "input_layernorm", "linear_fc1": "pre_mlp_layernorm"}
"""Transformer Engine's `TELayerNorm…Linear` normalises its own input; the norm beside it is an identity."""


class Paired(NamedTuple):
    """The partners in A's order, and what is left over on either side."""

    pairs: tuple[tuple[Unit, Unit], ...]
    only_a: tuple[Unit, ...]
    only_b: tuple[Unit, ...]


def crosses(a: Tree, b: Tree) -> bool:
    """True if two dumps come from different frameworks."""
    return bool(a.framework and b.framework and a.framework != b.framework)


def pair_units(a: Tree, b: Tree, mapping: NameMapping | None = None) -> Paired:
    """Units of two dumps, paired by name."""
    crossing = crosses(a, b)
    # A mapping file goes from MindSpore's names to PyTorch's, whichever side is named first.
    mapped_b = mapping is not None and b.framework == "mindspore" and a.framework != "mindspore"
    ours_in, theirs_in = inference_passes(a), inference_passes(b)
    if not (ours_in and theirs_in):
        ours_in, theirs_in = {}, {}
    ours = _keys(a, ours_in, crossing=crossing, mapping=None if mapped_b else mapping)
    theirs = dict(_keys(b, theirs_in, crossing=crossing, mapping=mapping if mapped_b else None))
    pairs: list[tuple[Unit, Unit]] = []
    only_a: list[Unit] = []
    for key, unit in ours:
        partner = theirs.pop(key, None)
        if partner is None:
            only_a.append(unit)
        else:
            pairs.append((unit, partner))
    return Paired(tuple(pairs), tuple(only_a), tuple(theirs.values()))


def inference_passes(tree: Tree) -> dict[str, str]:
    """Pass of each unit by name, `prefill 1` or `decode 3`; empty for a dump without such passes.

    The first module of the model begins each pass. A decode step computes one token of each text, a prefill more: of
    passes of different sizes the smallest are decode steps.
    """
    first = next((unit for unit in tree.units if unit.level == "module" and unit.direction == "forward"), None)
    if first is None or any(unit.direction == "backward" for unit in tree.units):
        return {}
    sizes = [_tokens(unit) for unit in tree.units if _is_call_of(unit, first)]
    if len(set(sizes)) < _SIZES_OF_INFERENCE or 0 in sizes:
        return {}
    counts: dict[str, int] = {}
    names: list[str] = []
    for size in sizes:
        kind = "decode" if size == min(sizes) else "prefill"
        counts[kind] = counts.get(kind, 0) + 1
        names.append(f"{kind} {counts[kind]}")
    passes: dict[str, str] = {}
    at = -1
    for unit in tree.units:
        at += _is_call_of(unit, first)
        passes[unit.name] = names[max(at, 0)]
    return passes


_SIZES_OF_INFERENCE = 2


def _is_call_of(unit: Unit, first: Unit) -> bool:
    """True if a unit is another call of the same module and direction."""
    return (unit.level, unit.scope, unit.direction) == (first.level, first.scope, first.direction)


def _tokens(unit: Unit) -> int:
    """Number of tokens in a unit's first output: its elements divided by the width."""
    shapes = [tensor.shape for tensor in unit.tensors if tensor.role == "output" and tensor.shape is not None]
    return prod(shapes[0][:-1]) if shapes and len(shapes[0]) > 1 else 0


def _keys(
    tree: Tree, passes: Mapping[str, str], *, crossing: bool, mapping: NameMapping | None
) -> list[tuple[tuple[object, ...], Unit]]:
    """Unique key of each unit, by which units of two dumps are paired."""
    seen: dict[tuple[object, ...], int] = {}
    keyed: list[tuple[tuple[object, ...], Unit]] = []
    kinds = {unit.scope: unit.kind for unit in tree.units if unit.level == "module"}
    heads = _heads(tree) if crossing else 0
    for unit in tree.units:
        if unit.level == "module":
            path = module_path(unit.scope)
            if mapping is not None and path.removeprefix("mtp.") != _HEAD:
                # A mapping for msprobe has to leave the output layer without a partner where it runs several times.
                path = module_path(mapping.scope(unit, kinds))
            base: tuple[object, ...] = ("module", path, unit.direction)
            if path == _HEAD and unit.call + 1 < heads and tree.framework == "pytorch":
                base = ("module", f"mtp.{_HEAD}", unit.direction)
        elif unit.level == "api" and crossing:
            plain = unit.kind.lower()
            base = ("api", _parent_path(unit, kinds, mapping), API_NAMES.get(plain, plain.strip("_")), unit.direction)
        elif unit.level == "api":
            base = ("api", unit.scope, unit.direction)
        else:
            base = (unit.level, unit.scope, unit.kind, unit.direction)
        base = (*base, passes.get(unit.name, ""))
        turn = seen.get(base, 0)
        seen[base] = turn + 1
        keyed.append(((*base, turn), unit))
    # Backward passes of a module that ran several times go by the number of their call: each framework walks back in
    # its own order, and where layers are computed again, the calls that have a backward need not begin at 0.
    calls: dict[tuple[object, ...], list[int]] = {}
    for key, unit in keyed:
        if unit.direction == "backward" and unit.level == "module":
            calls.setdefault(key[:-1], []).append(unit.call)
    return [
        ((*key[:-1], sorted(calls[key[:-1]]).index(unit.call)), unit)
        if key[:-1] in calls and len(set(calls[key[:-1]])) == len(calls[key[:-1]])
        else (key, unit)
        for key, unit in keyed
    ]


def _heads(tree: Tree) -> int:
    """Number of calls of the output layer in one pass of a model with multi-token prediction.

    Megatron-Core runs it for the further predictions first (0.12 `models/gpt/gpt_model.py`); MindSpore Transformers
    calls those passes `mtp.output_layer` (1.9 `parallel_core/training_graph/transformer/multi_token_prediction.py`).
    """
    paths = [(module_path(unit.scope), unit.direction) for unit in tree.units if unit.level == "module"]
    further = any(path.startswith("mtp.") for path, _direction in paths)
    return paths.count((_HEAD, "forward")) if further else 0


def _parent_path(unit: Unit, kinds: Mapping[str, str], mapping: NameMapping | None) -> str:
    """Path of the unit's parent in the other side's names; empty without a parent."""
    if unit.parent is None:
        return ""
    scope, _, _rest = re.sub(r"\.(forward|backward)\.\d+$", "", unit.parent).rpartition(".")
    if mapping is not None:
        scope = mapping.scope(unit._replace(scope=scope, kind=kinds.get(scope, "")), kinds)
    return module_path(scope)


def module_path(scope: str) -> str:
    """Path of a module below the model, with Megatron-LM's names."""
    parts = scope.split(".")
    if parts and parts[0] in ("Module", "Cell"):
        parts = parts[1:]
    while len(parts) > 1 and (parts[0] in WRAPPERS or (parts[0].isdigit() and parts[1] in _FRONT)):
        parts = parts[1:]
    path = ".".join(parts)
    for theirs, ours in MODULE_NAMES:
        if theirs.startswith("*."):
            path = re.sub(rf"(?<=\.){re.escape(theirs[2:])}(?=\.|$)", ours[2:], path)
        elif path == theirs or path.startswith(theirs + "."):
            path = ours + path[len(theirs) :]
    return path


_FRONT = WRAPPERS | {"embedding", "decoder", "rotary_pos_emb", "output_layer", "mtp", "language_model"}


def graph_path(name: str) -> str:
    """The path of the module that an operator of a MindSpore graph belongs to.

    `Default_network-Net_decoder-TransformerBlock_layers-CellList_0-Layer_mlp-MLP_MatMul-op0`: every cell is written as
    its name and its class, the operator comes last.
    """
    inner = re.sub(r"^(?:Gradients_|Default_|Grad_)+", "", name)
    cells = re.findall(r"([A-Za-z0-9_]+?)-[A-Z_][A-Za-z0-9]*(?:_|$)", re.sub(r"_?[A-Za-z0-9]+-op\d+$", "", inner))
    return module_path(".".join(cell.removeprefix("_") for cell in cells if cell))


def describe(units: Iterable[Unit]) -> str:
    """First few names of units, for a message."""
    return first_of([unit.name for unit in units], 3) or "-"


_TOP = "TopLayer"
_CALL = re.compile(r"\.(?:forward|backward)\.\d+$")


class NameMapping(NamedTuple):
    """Both forms of mapping, ready to use."""

    children: Mapping[str, tuple[tuple[str, str], ...]]
    cells: Mapping[str, str]

    def scope(self, unit: Unit, kinds: Mapping[str, str]) -> str:
        """Unit's path with the other side's names; `kinds` gives the class at each path."""
        whole = self.cells.get(f"{unit.scope}.{unit.kind}") or self.cells.get(unit.scope)
        if whole is not None:
            return whole
        parts = unit.scope.split(".")
        path = [parts[0]]
        at = 1
        while at < len(parts):
            # A list of layers is no module of its own in a dump: it goes by its name.
            kind = (kinds.get(".".join(parts[:at])) or parts[at - 1]) if at > 1 else _TOP
            taken = 1
            name = parts[at]
            for theirs, ours in self.children.get(kind, ()):
                length = theirs.count(".") + 1
                if ".".join(parts[at : at + length]) == theirs:
                    name, taken = ours, length
                    break
            path.append(name)
            at += taken
        return ".".join(path)


def read_mapping(path: str) -> NameMapping:
    """The mapping in a YAML file."""
    import yaml

    text = read_text(path).text
    try:
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        refuse_deep(text, loader)
        written: Any = yaml.load(text, loader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        said = str(error).splitlines()[0]
        raise _broken(path, say.yaml_wrong(said=said)) from None
    if not isinstance(written, dict):
        raise _broken(path, say.it_holds_no_names())
    children: dict[str, tuple[tuple[str, str], ...]] = {}
    cells: dict[str, str] = {}
    entries: dict[Any, Any] = written  # pyright: ignore[reportUnknownVariableType]
    for key, value in entries.items():
        if isinstance(value, dict):
            rows: dict[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
            # The longest name first: `layers.0.mlp` before `layers`.
            named = ((str(theirs), str(ours)) for theirs, ours in rows.items())
            children[str(key)] = tuple(sorted(named, key=lambda row: -row[0].count(".")))
        elif isinstance(value, str):
            cells[_CALL.sub("", str(key))] = _without_kind(value)
        else:
            raise _broken(path, say.has_neither_a_name_nor(key=key))
    return NameMapping(children, cells)


def _without_kind(name: str) -> str:
    """Path of a unit without its class name, which cell mappings append."""
    plain = _CALL.sub("", name)
    if plain == name:
        return name
    path, _, kind = plain.rpartition(".")
    return path if kind[:1].isupper() else plain


def _broken(path: str, why: Words) -> UnreadableError:
    return UnreadableError(diagnose(say.broken_mapping(path=path, why=why), path))


_BLOCKS = ("decoder.layers.*", "mtp.layers.*.transformer_layer")
"""What `{block}` stands for, the number of the layer left open."""


@cache
def module_table() -> Any:
    """`modules.yaml`, read once."""
    return load_table(package_text(os.path.dirname(__file__), "modules.yaml"))


@cache
def shared_modules() -> frozenset[str]:
    """Paths of modules that both frameworks have, with `*` for layer numbers."""
    rows = [row for row in module_table()["modules"] if row.get("megatron_at", row["at"]) is not None]
    places = (row["at"].replace("{layer}", "*") for row in rows)
    return frozenset(module_path(place.replace("{block}", block)) for place in places for block in _BLOCKS)

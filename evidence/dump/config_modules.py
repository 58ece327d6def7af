"""Modules of both models by place, class and partner, and msprobe's mapping files that are made from them.

The places and classes stand in `modules.yaml`; which weight of one side is which of the other, and with it most of
the different names, in `mappings/weights.yaml`.

`layer_mapping` renames children below a class; only what differs is written, for the class and for the attribute that
holds it, because a dump of a range may not contain the parent itself. Megatron-LM counts a pipeline stage's layers
from 0 and MindSpore Transformers counts them in the whole model, so that every stage has a mapping of its own.
Source: msprobe 26.2.0 `core/compare/layer_mapping/layer_mapping.py:convert_scope`,
`core/compare/acc_compare.py:process_cell_mapping`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...mapper.weight_layout import UndecidedSizeError, layout_of
from ...mapper.weights import WeightTable
from ...schemas.fast_records import NamedTuple
from ...schemas.versions import number_of
from .compare_names import module_table
from .config_request import LayoutUnknownError, chunks_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...mapper.weights import Layout
    from .config_request import Chunk, Request, Subject


class ModulePair(NamedTuple):
    """One module of MindSpore Transformers and its partner, below `GPTModel`, with layer numbers of the whole model."""

    mindformers: str
    mindformers_class: str
    megatron: str | None
    megatron_class: str | None
    layer: int | None = None
    """The decoder layer it belongs to."""


def switches_of(subject: Subject) -> dict[str, bool]:
    """Switches that decide which modules exist and which classes they have; `moe` is set for each layer."""
    megatron, mindformers = subject.megatron_recipe, subject.mindformers_recipe
    config, resolved = subject.mindformers, "resolved.transformer."
    return {
        "te": megatron.value("environment.transformer_impl") != "local",
        "mla": bool(mindformers.value("attention.latent.enabled")),
        "concatenated": subject.dialect == "dynamic" or mindformers.value("model.mla_layout") == "concatenated",
        "q_lora": mindformers.value("attention.latent.q_lora_rank") is not None,
        "qk_norm": bool(mindformers.value("attention.qk_layernorm")),
        "grouped_gemm": bool(megatron.value("moe.grouped_gemm")),
        "contiguous": config.is_on(f"{resolved}use_contiguous_weight_layout_attention"),
        "interleaved": mindformers.value("model.mlp_layout") == "interleaved",
        "mtp": bool(mindformers.value("mtp.num_layers")),
        "shared": bool(mindformers.value("moe.shared.ffn_hidden_size")),
        "shared_gate": config.is_on(f"{resolved}use_shared_expert_gating"),
        "learned": mindformers.value("position.type") == "learned_absolute",
        "rms": mindformers.value("norm.type") != "LayerNorm",
        "fused_norm": config.is_on(f"{resolved}fused_norm", otherwise=True),
    }


def modules_of(subject: Subject) -> tuple[ModulePair, ...]:
    """All modules of the MindSpore Transformers side in forward order, each with its Megatron-LM partner.

    LayoutUnknownError where a file leaves open how large the model is.
    """
    return tuple(_Reading(subject).modules())


_DECIDING = (
    "model.num_layers", "moe.num_experts", "moe.layer_pattern", "moe.shared.ffn_hidden_size", "mtp.num_layers",
    "attention.latent.enabled", "attention.latent.q_lora_rank", "parallel.pipeline_size",
    "parallel.virtual_pipeline_size", "parallel.pipeline_layers",
)  # fmt: skip
"""Fields that decide which modules there are, and where."""


def _layout(subject: Subject) -> Layout:
    """Weight layout of the pair; LayoutUnknownError if a needed size is undecided."""
    for config, recipe in (
        (subject.megatron, subject.megatron_recipe),
        (subject.mindformers, subject.mindformers_recipe),
    ):
        entries = {field: recipe.fields.get(field) for field in _DECIDING}
        undecided = ", ".join(field for field, entry in entries.items() if entry is not None and not entry.decided)
        if undecided and config.framework != subject.derived:
            raise LayoutUnknownError(say.leaves_open(file=config.file, undecided=undecided))
    try:
        return layout_of(subject.mindformers_recipe, subject.mindformers)
    except UndecidedSizeError as error:
        fields = ", ".join(error.fields)
        raise LayoutUnknownError(say.leaves_open_2(file=error.file, fields=fields)) from None


class _Reading:
    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.switches = switches_of(subject)
        table = module_table()
        self.rows: list[dict[str, Any]] = table["modules"]
        self.weights = WeightTable(_layout(subject))
        version = number_of(subject.megatron.framework_version)
        self.renamed = [row for row in table["renamed"] if number_of(row["since"]) <= version]
        self.pattern = subject.mindformers_recipe.value("moe.layer_pattern")
        self.experts = bool(subject.mindformers_recipe.value("moe.num_experts"))

    def modules(self) -> Iterator[ModulePair]:
        """Module pairs of all table rows, repeated for each layer and prediction layer."""
        further = self.subject.number("mtp.num_layers", 0)
        at = 0
        while at < len(self.rows):
            row = self.rows[at]
            place: str = row["at"]
            if "{block}" in place:
                last = at
                while last < len(self.rows) and "{block}" in self.rows[last]["at"]:
                    last += 1
                for layer in range(self.subject.layers):
                    yield from self._block(
                        self.rows[at:last], f"decoder.layers.{layer}", self._has_experts(layer), layer
                    )
                at = last
                continue
            at += 1
            if "{layer}" not in place:
                yield from self._module(row, place, self.switches)
                continue
            for layer in range(further):
                filled = place.replace("{layer}", str(layer))
                if place.endswith(".final_layernorm"):
                    block = [entry for entry in self.rows if "{block}" in entry["at"]]
                    inner = f"mtp.layers.{layer}.transformer_layer"
                    yield from self._block(block, inner, self._has_experts(self.subject.layers - 1), None)
                yield from self._module(row, filled, self.switches)

    def _block(
        self, rows: Sequence[Mapping[str, Any]], block: str, experts: bool, layer: int | None
    ) -> Iterator[ModulePair]:
        """Module pairs of one transformer block at a path."""
        switches = {**self.switches, "moe": experts}
        for row in rows:
            for module in self._module(row, row["at"].replace("{block}", block), switches):
                yield module._replace(layer=layer)

    def _module(self, row: Mapping[str, Any], place: str, switches: Mapping[str, bool]) -> Iterator[ModulePair]:
        """Module pair of a table row at a place, if the row applies to this graph and these switches."""
        dialect = self.subject.dialect
        if dialect not in row or row.get("only", dialect) != dialect or not _hold(row.get("where", ()), switches):
            return
        named = _class(row[dialect], switches)
        partner: str | None = row["megatron_at"] if "megatron_at" in row else self._partner(place)
        if partner is None or "megatron" not in row:
            yield ModulePair(place, named, None, None)
        else:
            yield ModulePair(place, named, self._current_name(partner), _class(row["megatron"], switches))

    def _partner(self, place: str) -> str | None:
        """Megatron-LM path of the module with the same weight; the same path if it has no weight."""
        for ending in ("weight", "gamma"):
            pairing = self.weights.find_pairing("mindformers", f"{place}.{ending}")
            if pairing is None:
                continue
            name, *others = pairing.megatron
            parent, _, leaf = name.rpartition(".")
            return parent if leaf == "weight" and not others else None
        return place

    def _current_name(self, place: str) -> str:
        """Path in the names of this Megatron-LM version."""
        for row in self.renamed:
            before, after = row["from"], row["to"]
            expression = re.escape(before).replace(re.escape("{layer}"), r"(\d+)")
            place = re.sub(
                rf"^{expression}(?=\.|$)", lambda found, after=after: after.replace("{layer}", found[1]), place
            )
        return place

    def _has_experts(self, layer: int) -> bool:
        """True if a layer has experts."""
        if not self.experts:
            return False
        pattern = self.pattern
        if isinstance(pattern, list) and 0 <= layer < len(pattern):
            return bool(pattern[layer])
        return True


def _hold(where: Sequence[str], switches: Mapping[str, bool]) -> bool:
    """True if all of these switches are on (`not-` ones off)."""
    return all(not switches[name[4:]] if name.startswith("not-") else switches[name] for name in where)


def _class(given: Any, switches: Mapping[str, bool]) -> str:
    """Class name that applies under the switches."""
    if isinstance(given, str):
        return given
    for *where, name in given:
        if _hold(where, switches):
            return name
    raise LookupError(f"no class of {given} fits {switches}")


def with_places(request: Request, modules: Sequence[ModulePair]) -> Request:
    """Request whose scope modules are MindSpore Transformers paths without class names."""
    known = by_any_name(modules)
    return request._replace(
        scope=tuple(
            record._replace(place=known[record.place].mindformers) if record.place in known else record
            for record in request.scope
        )
    )


def by_any_name(modules: Sequence[ModulePair]) -> dict[str, ModulePair]:
    """Module pair by every accepted name: either side's path, with or without its class."""
    found: dict[str, ModulePair] = {}
    for module in modules:
        found.setdefault(module.mindformers, module)
        found.setdefault(f"{module.mindformers}.{module.mindformers_class}", module)
        if module.megatron is not None:
            found.setdefault(module.megatron, module)
            found.setdefault(f"{module.megatron}.{module.megatron_class}", module)
    return found


TOP = "TopLayer"
"""What msprobe calls the root of a dump."""
NO_PARTNER = "without_partner"
"""A name that no Megatron-LM module has: msprobe then reports N/A instead of comparing with the wrong call."""

LayerMapping = dict[str, dict[str, str]]


class StageMapping(NamedTuple):
    """The mappings of one pipeline stage."""

    stage: int
    layers: LayerMapping
    cells: dict[str, str]


def mappings_of(subject: Subject) -> tuple[StageMapping, ...]:
    """Mapping files of each pipeline stage; LayoutUnknownError if the stages' layers are unknown."""
    modules = modules_of(subject)
    chunks = chunks_of(subject)
    parts = 1 + max(chunk.part for chunk in chunks)
    stages = sorted({chunk.stage for chunk in chunks})
    found: list[StageMapping] = []
    for stage in stages:
        own = _Stage(subject, modules, [chunk for chunk in chunks if chunk.stage == stage], parts, stages[-1])
        found.append(StageMapping(stage, own.layers(), own.cells()))
    return tuple(found)


def stage_place(place: str, chunks: Sequence[Chunk], parts: int) -> tuple[int, str]:
    """Model part and path of a Megatron-LM module within its own pipeline stage.

    Source: Megatron-LM 0.12 `training/training.py:get_model` keeps one model for each part of a virtual pipeline.
    """
    pieces = place.split(".")
    if pieces[:2] == ["decoder", "layers"]:
        number = int(pieces[2])
        for chunk in chunks:
            if chunk.first <= number < chunk.first + chunk.layers:
                pieces[2] = str(number - chunk.first)
                return chunk.part, ".".join(pieces)
    last = pieces[0] in ("output_layer", "mtp") or place == "decoder.final_layernorm"
    return (parts - 1 if last else 0), place


class Naming(NamedTuple):
    """msprobe's names of one module's records on both sides of one pipeline stage, without prefix and class."""

    mindformers: str
    megatron: str | None


def naming(subject: Subject, module: ModulePair, chunks: Sequence[Chunk], parts: int) -> Naming:
    """Names of a module in both dumps; with several model parts, the part's number comes first."""
    part, place = stage_place(module.megatron or module.mindformers, chunks, parts)
    theirs = None if module.megatron is None else place if parts == 1 else f"{part}.{place}"
    ours = module.mindformers
    return Naming(f"{part}.{ours}" if parts > 1 and subject.dialect == "dynamic" else ours, theirs)


class _Stage:
    def __init__(
        self, subject: Subject, modules: Iterable[ModulePair], chunks: Sequence[Chunk], parts: int, last: int
    ) -> None:
        self.subject = subject
        self.chunks = chunks
        self.parts = parts
        self.last = last
        self.modules = [module for module in modules if self._is_here(module)]

    def _is_here(self, module: ModulePair) -> bool:
        """True if the stage contains the module."""
        if module.layer is not None:
            return any(chunk.first <= module.layer < chunk.first + chunk.layers for chunk in self.chunks)
        stage = self.chunks[0].stage
        if module.mindformers.startswith("embedding"):
            return stage == 0
        if module.mindformers == "decoder":
            return True
        return stage == self.last

    def layers(self) -> LayerMapping:
        """Layer mapping for msprobe: by class, the child names that differ between the sides."""
        mapping: LayerMapping = {}
        classes = {module.mindformers: module.mindformers_class for module in self.modules}
        for module in self.modules:
            ours, theirs = naming(self.subject, module, self.chunks, self.parts)
            if theirs is None:
                if module.mindformers == "output_layer":
                    mapping.setdefault(TOP, {})[ours] = NO_PARTNER
                continue
            parent, _, child = module.mindformers.rpartition(".")
            leaf = theirs.rpartition(".")[2]
            if self._starts_branch(module.mindformers, theirs):
                if ours != theirs:
                    mapping.setdefault(TOP, {})[ours] = theirs
            elif child.isdigit():
                self._add_numbered(mapping, child, leaf, parent)
            elif child != leaf:
                for holder in (classes.get(parent), parent.rpartition(".")[2]):
                    if holder is not None and not holder.isdigit():
                        mapping.setdefault(holder, {})[child] = leaf
        return {holder: mapping[holder] for holder in sorted(mapping, key=lambda name: (name != TOP, name))}

    def _starts_branch(self, ours: str, theirs: str) -> bool:
        """True if a module must be named from the root, because its parent's path differs or its part changes."""
        if "." not in ours or ours.count(".") != theirs.count(".") - (self.parts > 1):
            return True
        whole = ours == "decoder.final_layernorm" or (ours.startswith("decoder.layers.") and ours.count(".") == 2)
        return self.parts > 1 and whole

    def _add_numbered(self, found: LayerMapping, before: str, after: str, parent: str) -> None:
        """Add the renaming of a layer number to the mapping, if the numbers differ."""
        if before != after and parent == "decoder.layers":
            for holder in ("TransformerBlock", "decoder"):
                found.setdefault(holder, {})[f"layers.{before}"] = f"layers.{after}"

    def cells(self) -> dict[str, str]:
        """Cell mapping for msprobe: full names with classes that differ between the sides."""
        cells: dict[str, str] = {}
        for module in self.modules:
            names = naming(self.subject, module, self.chunks, self.parts)
            ours = f"{names.mindformers}.{module.mindformers_class}"
            if names.megatron is None or module.megatron_class is None:
                if module.mindformers == "output_layer":
                    cells[ours] = f"{NO_PARTNER}.{module.mindformers_class}"
                continue
            theirs = f"{names.megatron}.{module.megatron_class}"
            if ours != theirs:
                cells[ours] = theirs
        return cells


def api_mapping_of(subject: Subject) -> list[dict[str, object]]:
    """Operators that msprobe does not pair by itself, with all keys that it requires."""
    switches = {**switches_of(subject), "moe": False}
    return [
        {
            "ms_api": row["mindspore"],
            "pt_api": row["torch"],
            "ms_args": [ours for ours, _ in row["arguments"]],
            "pt_args": [theirs for _, theirs in row["arguments"]],
            "ms_output": [ours for ours, _ in row["outputs"]],
            "pt_output": [theirs for _, theirs in row["outputs"]],
            "ms_parameters": [],
            "pt_parameters": [],
            "ms_parameters_grad": [],
            "pt_parameters_grad": [],
        }
        for row in module_table()["apis"]
        if row.get("only", subject.dialect) == subject.dialect and _hold(row.get("where", ()), switches)
    ]

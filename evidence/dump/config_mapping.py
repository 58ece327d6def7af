"""msprobe's mapping files, made from the pair's modules: layer by layer, cell by cell, and operator by operator.

`layer_mapping` renames children below a class; only what differs is written, for the class and for the attribute that
holds it, because a dump of a range may not contain the parent itself. Megatron-LM counts a pipeline stage's layers
from 0 and MindSpore Transformers counts them in the whole model, so that every stage has a mapping of its own.
Source: msprobe 26.2.0 `core/compare/layer_mapping/layer_mapping.py:convert_scope`,
`core/compare/acc_compare.py:process_cell_mapping`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .config_modules import apis_of, modules_of
from .config_request import chunks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .config_modules import ModulePair
    from .config_request import Chunk, Subject

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
    """One set of mappings for each pipeline stage; LayoutUnknownError where the stages' layers are not known."""
    modules = modules_of(subject)
    chunks = chunks_of(subject)
    parts = 1 + max(chunk.part for chunk in chunks)
    stages = sorted({chunk.stage for chunk in chunks})
    return tuple(
        _Stage(subject, modules, [chunk for chunk in chunks if chunk.stage == stage], parts, stages[-1]).mapping(stage)
        for stage in stages
    )


def stage_place(place: str, chunks: Sequence[Chunk], parts: int) -> tuple[int, str]:
    """Place of Megatron-LM's module in its own stage: in which part, under which number.

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
    """The names in a dump: a list of models puts the number of the part in front."""
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
        if module.layer is not None:
            return any(chunk.first <= module.layer < chunk.first + chunk.layers for chunk in self.chunks)
        stage = self.chunks[0].stage
        if module.mindformers.startswith("embedding"):
            return stage == 0
        if module.mindformers == "decoder":
            return True
        return stage == self.last

    def mapping(self, stage: int) -> StageMapping:
        return StageMapping(stage, self._layers(), self._cells())

    def _layers(self) -> LayerMapping:
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
        """True if a name is to be given from the root on: it moves to another branch, or begins with its part."""
        if "." not in ours or ours.count(".") != theirs.count(".") - (self.parts > 1):
            return True
        whole = ours == "decoder.final_layernorm" or (ours.startswith("decoder.layers.") and ours.count(".") == 2)
        return self.parts > 1 and whole

    def _add_numbered(self, found: LayerMapping, before: str, after: str, parent: str) -> None:
        if before != after and parent == "decoder.layers":
            for holder in ("TransformerBlock", "decoder"):
                found.setdefault(holder, {})[f"layers.{before}"] = f"layers.{after}"

    def _cells(self) -> dict[str, str]:
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
    """The list of operator pairs for msprobe; every key is written, because it reads each without asking."""
    return [
        {
            "ms_api": pair.mindspore,
            "pt_api": pair.torch,
            "ms_args": [ours for ours, _ in pair.arguments],
            "pt_args": [theirs for _, theirs in pair.arguments],
            "ms_output": [ours for ours, _ in pair.outputs],
            "pt_output": [theirs for _, theirs in pair.outputs],
            "ms_parameters": [],
            "pt_parameters": [],
            "ms_parameters_grad": [],
            "pt_parameters_grad": [],
        }
        for pair in apis_of(subject)
    ]

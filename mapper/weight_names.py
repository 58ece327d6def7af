"""The names under which Megatron-LM and MindSpore Transformers checkpoints hold a model's parameters.

A framework spells one parameter in several ways: wrapped in `module.`, with its norm fused into the projection behind
it, with all experts in one module. `canonical` gives the name that the rows of the weight table use, `spellings` the
names that a given implementation writes, `split_of` how tensor parallelism cuts a parameter, and `beside_the_weights`
what else a checkpoint holds: optimizer state, counters, caches.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from ..schemas.fast_records import NamedTuple
from .weights import fill_template, placeholder_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .weights import Framework

Split = Literal["rows", "latent", "gated", "columns"]

_WRAPPERS = {"megatron": ("module.", "model."), "mindformers": ("network.", "_backbone.", "backbone.")}
"""What data parallelism and training wrappers put before the name of a parameter."""


class _Alias(NamedTuple):
    pattern: re.Pattern[str]
    name: str
    back: re.Pattern[str]
    other: str
    fused: bool
    beside: str | None
    everywhere: bool


class Beside(NamedTuple):
    """Something in a checkpoint that is no weight."""

    en: str
    zh: str
    anew: bool = False
    """Without it a run does not go on where the checkpoint was saved, but begins like a new one."""


def canonical(framework: Framework, name: str) -> str:
    """The name that the rows of the weight table use for a parameter."""
    for wrapper in _WRAPPERS[framework]:
        while name.startswith(wrapper):
            name = name[len(wrapper) :]
    for newer, older in _renames(framework).items():
        name = name.replace(f".{newer}.", f".{older}.")
    for alias in _aliases(framework):
        found = alias.pattern.fullmatch(name)
        if found is not None:
            return fill_template(alias.name, found.groupdict())
    return name


def spellings(names: Collection[str], *, engine: bool, grouped: bool, newer: bool = False) -> dict[str, str]:
    """Names that Megatron-LM has for these parameters.

    `engine`: Transformer Engine builds the layers. `grouped`: it holds the experts in one module too. `newer`: the
    version calls modules by their newer names.
    """
    found: dict[str, str] = {}
    renames = {older: recent for recent, older in _renames("megatron").items()} if newer else {}
    for name in names:
        written = name
        for alias in _aliases("megatron") if engine else ():
            match = alias.back.fullmatch(name) if alias.fused else None
            if match is None:
                continue
            beside = alias.beside or ""
            if grouped if beside == "grouped" else fill_template(beside, match.groupdict()) in names:
                written = fill_template(alias.other, match.groupdict())
        for older, recent in renames.items():
            written = written.replace(f".{older}.", f".{recent}.")
        found[name] = written
    return found


def global_names(names: Collection[str], *, engine: bool, latent: bool) -> dict[str, str]:
    """Names of these parameters in a distributed checkpoint of Megatron-LM, layers and experts one by one.

    The local implementation writes its norms as if they were fused, so that either implementation can load them.
    """
    if engine:
        return spellings(names, engine=True, grouped=False)
    found = {name: name for name in names}
    for alias in () if latent else _aliases("megatron"):
        for name in names if alias.everywhere else ():
            match = alias.back.fullmatch(name)
            if match is not None:
                found[name] = fill_template(alias.other, match.groupdict())
    return found


def split_of(name: str) -> Split | None:
    """The cut that tensor parallelism makes in a Megatron-Core parameter; None for one that is whole on every rank."""
    return next((split for split, pattern in _splits() if pattern.fullmatch(name)), None)


def beside_the_weights(framework: Framework, name: str) -> Beside | None:
    """The meaning of a tensor that belongs to no model; None for one that may be a weight."""
    return next((what for pattern, what in _others(framework) if pattern.fullmatch(name)), None)


_EXPERT = re.compile(r"(.*\.mlp\.experts\.)local_experts\.(\d+)(\..*)")
_LAYER = re.compile(r"(decoder\.layers\.)(\d+)(\..*)")
_MTP = re.compile(r"(mtp\.layers\.)(\d+)(\..*)")


def expert_of(name: str) -> int | None:
    """The number of the expert that a Megatron-Core parameter belongs to."""
    found = _EXPERT.fullmatch(name)
    return None if found is None else int(found[2])


def with_expert(name: str, expert: int) -> str:
    """The same parameter of another expert."""
    return _EXPERT.sub(lambda found: f"{found[1]}local_experts.{expert}{found[3]}", name)


def layer_of(name: str) -> int | None:
    """The number of the decoder's layer that a parameter belongs to."""
    found = _LAYER.fullmatch(name)
    return None if found is None else int(found[2])


def with_layer(name: str, layer: int) -> str:
    """The same parameter of another layer."""
    return _LAYER.sub(lambda found: f"{found[1]}{layer}{found[3]}", name)


def is_further_prediction(name: str) -> bool:
    """True if a parameter belongs to multi-token prediction."""
    return _MTP.fullmatch(name) is not None


@cache
def _renames(framework: Framework) -> Mapping[str, str]:
    from ..mappings.weights_compiled import RENAMES

    return RENAMES[framework]


@cache
def _aliases(framework: Framework) -> tuple[_Alias, ...]:
    from ..mappings.weights_compiled import ALIASES

    return tuple(
        _Alias(
            _pattern(row["other"]),
            row["name"],
            _pattern(row["name"]),
            row["other"],
            bool(row.get("fused")),
            row.get("beside"),
            bool(row.get("global")),
        )
        for row in ALIASES[framework]
    )


@cache
def _splits() -> tuple[tuple[Split, re.Pattern[str]], ...]:
    from ..mappings.weights_compiled import SPLITS

    return tuple((split, _pattern(name)) for split, names in SPLITS.items() for name in names)  # pyright: ignore[reportReturnType]


@cache
def _others(framework: Framework) -> tuple[tuple[re.Pattern[str], Beside], ...]:
    from ..mappings.weights_compiled import OTHERS

    return tuple(
        (re.compile(row["pattern"]), Beside(row["en"], row["zh"], bool(row.get("anew")))) for row in OTHERS[framework]
    )


def _pattern(template: str) -> re.Pattern[str]:
    from ..mappings.weights_compiled import BLOCKS

    block = "|".join(re.escape(name).replace(r"\{n\}", r"\d+") for name in BLOCKS)
    choices = {"block": block, "n": r"\d+", "expert": r"\d+", "norm": "weight|bias", "kind": "weight|bias"}
    return placeholder_pattern(template, choices)

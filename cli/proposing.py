"""Which script and which YAML of a tree are one run: by the sizes of their models, then by names and places.

A pair is proposed where each of the two fits the other better than anything else does, with the reasons. Sizes that
contradict one another outweigh any name; where two fit alike, nothing is chosen.
"""

from __future__ import annotations

import os

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..mapper.recipe.values import Recipe
    from ..schemas.config import Value
    from ..schemas.message import Words

SIZES = (
    "model.num_layers",
    "model.hidden_size",
    "model.ffn_hidden_size",
    "attention.num_heads",
    "attention.num_query_groups",
    "moe.num_experts",
    "moe.ffn_hidden_size",
)
_LEAST_SIZES = 3
_SAYING_NOTHING = frozenset(
    (
        *("megatron", "mindformers", "mindspore", "mcore", "ms", "mf", "gpt", "lm", "distributed"),
        *("pretrain", "train", "training", "finetune", "run", "launch", "start", "test", "example", "examples"),
        *("script", "scripts", "sh", "bash", "yaml", "yml", "config", "configs", "conf"),
    )
)


class Candidate(NamedTuple):
    """A training file of either framework: its path below the folder, and the sizes that it decides."""

    path: str
    sizes: Mapping[str, Value]

    @property
    def words(self) -> frozenset[str]:
        """What of the path tells this run from another."""
        return frozenset(_words(self.path)) - _SAYING_NOTHING


class Proposal(NamedTuple):
    """A script and a YAML, and why they are taken for one run."""

    megatron: str
    mindformers: str
    reasons: tuple[Words, ...]


class Proposals(NamedTuple):
    """What is proposed, and the files of which it is not known which belong together, with those they fit alike."""

    pairs: tuple[Proposal, ...]
    open: Mapping[str, tuple[str, ...]]


def candidate(path: str, recipe: Recipe) -> Candidate:
    """A file as pairs are found by."""
    fields = recipe.fields
    values = {name: fields[name].value for name in SIZES if name in fields}  # pyright: ignore[reportArgumentType]
    return Candidate(path, {name: value for name, value in values.items() if value is not None})


def proposals(scripts: Sequence[Candidate], yamls: Sequence[Candidate]) -> Proposals:
    """The pairs of a tree."""
    alone = _with_one_of_each(scripts, yamls)
    fits = {
        (script.path, yaml.path): fit
        for script in scripts
        for yaml in yamls
        if (fit := _fit(script, yaml, alone)) is not None
    }
    by_path = {one.path: one for one in yamls}
    pairs: list[Proposal] = []
    undecided: dict[str, tuple[str, ...]] = {}
    for script in scripts:
        best = _best_for(script.path, fits, 0)
        if len(best) > 1:
            undecided[script.path] = best
        for other in best if len(best) == 1 else ():
            back = _best_for(other, fits, 1)
            if back == (script.path,):
                pairs.append(Proposal(script.path, other, _reasons(script, by_path[other], alone)))
            elif script.path in back:
                undecided[other] = back
    return Proposals(tuple(pairs), undecided)


def _best_for(path: str, fits: Mapping[tuple[str, str], tuple[int, int, int]], side: int) -> tuple[str, ...]:
    """The files of the other side that fit one best."""
    return _best({pair[1 - side]: fit for pair, fit in fits.items() if pair[side] == path})


def _with_one_of_each(scripts: Sequence[Candidate], yamls: Sequence[Candidate]) -> frozenset[str]:
    """The folders that hold just one script and just one YAML."""
    held: list[list[str]] = [[os.path.dirname(one.path) for one in side] for side in (scripts, yamls)]
    return frozenset(folder for folder in held[0] if held[0].count(folder) == held[1].count(folder) == 1)


def _fit(script: Candidate, yaml: Candidate, alone: frozenset[str]) -> tuple[int, int, int] | None:
    """How well two files fit: sizes, then names and places; None where nothing speaks for it."""
    equal, other = _sizes(script, yaml)
    names = len(script.words & yaml.words)
    together = os.path.dirname(script.path) == os.path.dirname(yaml.path) and os.path.dirname(script.path) in alone
    known_by_size = equal >= _LEAST_SIZES and equal > 2 * other
    if not known_by_size and (other > equal or not (names or together)):
        return None
    apart = -len(script.words ^ yaml.words)
    return equal - 2 * other + 2 * together, names, apart


def _best(fits: Mapping[str, tuple[int, int, int]]) -> tuple[str, ...]:
    most = max(fits.values(), default=None)
    return tuple([path for path, fit in fits.items() if fit == most])


def _sizes(script: Candidate, yaml: Candidate) -> tuple[int, int]:
    """How many sizes are the same, and how many are not, of those that both decide."""
    both = [name for name in SIZES if name in script.sizes and name in yaml.sizes]
    equal = sum(script.sizes[name] == yaml.sizes[name] for name in both)
    return equal, len(both) - equal


def _reasons(script: Candidate, yaml: Candidate, alone: frozenset[str]) -> tuple[Words, ...]:
    equal, other = _sizes(script, yaml)
    names = [word for word in dict.fromkeys(_words(yaml.path)) if word in script.words & yaml.words]
    found: list[Words] = []
    if equal or other:
        found.append(say.sizes_are_equal(equal=equal, compared=equal + other))
    if names:
        found.append(say.names_have_in_common(words=", ".join(names)))
    folder = os.path.dirname(script.path)
    if folder == os.path.dirname(yaml.path) and folder in alone:
        found.append(say.alone_in_their_folder())
    return tuple(found)


def _words(path: str) -> list[str]:
    """The words of a path: `qwen3_30b-a3b/run.sh` has qwen3, 30b, a3b, run, sh."""
    return "".join(letter if letter.isalnum() else " " for letter in path.lower()).split()

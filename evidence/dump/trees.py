"""A dump on disk as a list of units in execution order, whoever wrote it.

A *unit* is one call of a module, an API or an operator, forward or backward, with the tensors that went in, its
parameters, and the tensors that came out. msprobe writes one folder a step and rank:

    dump_path/step0/rank0/{dump,construct,stack}.json  dump_tensor_data/*.pt|*.npy

(`proc…` instead of `rank…` without a launcher)
and MindSpore's own dump one folder a rank, graph and iteration (`trees_graph.py`). Reading a tree reads names and
statistics only; the tensors stay on disk until they are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .trees_graph import read_graph_tree
from .trees_msprobe import read_msprobe_tree

if TYPE_CHECKING:
    from .places import Place
    from .records import Tree


def read_tree(place: Place) -> Tree:
    """The units of one step and rank."""
    return read_graph_tree(place) if place.form == "mindspore" else read_msprobe_tree(place)

"""Mapping files of msprobe, from MindSpore's names to PyTorch's: by layer, by cell, or both in one file.

A *layer mapping* gives, for a class (or `TopLayer`, the root), how its children are called on the other side:

    TopLayer: {network_with_loss: module}
    ParallelTransformerLayer: {attention: self_attention, "mlp.mapping": "mlp.linear_fc1"}

A *cell mapping* is flat: `Cell.…: Module.…`. Source: msprobe 26.2, `core/compare/layer_mapping/layer_mapping.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...schemas.border.incoming import read_text
from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.fast_records import NamedTuple
from ...schemas.yaml_reader.node import refuse_deep
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.message import Words
    from .records import Unit

_TOP = "TopLayer"
_CALL = re.compile(r"\.(?:forward|backward)\.\d+$")


class NameMapping(NamedTuple):
    """Both forms of mapping, ready to use."""

    children: Mapping[str, tuple[tuple[str, str], ...]]
    cells: Mapping[str, str]

    def scope(self, unit: Unit, kinds: Mapping[str, str]) -> str:
        """The path of a unit as the other side calls it; `kinds` gives the class at each path."""
        whole = self.cells.get(f"{unit.scope}.{unit.kind}") or self.cells.get(unit.scope)
        if whole is not None:
            return whole
        parts = unit.scope.split(".")
        found = [parts[0]]
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
            found.append(name)
            at += taken
        return ".".join(found)


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
            cells[_plain(str(key))] = _without_kind(value)
        else:
            raise _broken(path, say.has_neither_a_name_nor(key=key))
    return NameMapping(children, cells)


def _plain(name: str) -> str:
    return _CALL.sub("", name)


def _without_kind(name: str) -> str:
    """A cell mapping names whole units; only the path is needed."""
    plain = _CALL.sub("", name)
    if plain == name:
        return name
    path, _, kind = plain.rpartition(".")
    return path if kind[:1].isupper() else plain


def _broken(path: str, why: Words) -> UnreadableError:
    return UnreadableError(finding(say.broken_mapping(path=path, why=why), path))

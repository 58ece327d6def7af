"""Whether a run trains the model that a folder's `config.json` describes."""

from __future__ import annotations

from ..mapper.differences import differences
from ..mappings.keys_compiled import TOKENIZER_MODEL
from ..schemas.fast_records import TYPE_CHECKING
from .catalog_compiled import ROLES
from .naming import shown
from .rule import Found, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..mapper.differences import Difference
    from .subject import Folder, Side

_OF_THE_RUN = ("init.", "mtp.", "moe.input_jitter", "model.hidden_dropout", "attention.dropout", "model.implementation")
"""What a run may choose for the same weights; layers that predict further tokens are no part of transformers' model."""
_MOST = 8
_PATTERN = "moe.layer_pattern"
_ROWS = "model.padded_vocab_size"
_LARGEST_STEP = 1024
"""More rows than a padded vocabulary adds, for one device of tensor parallelism."""


def differs(side: Side, folder: Folder) -> Iterator[Found]:
    """One finding for everything that parts the two networks, at the first field that the run says."""
    found = [row for row in differences(side.recipe, folder.recipe) if _parts(row, side, folder)]
    if not found:
        return
    found.sort(key=lambda row: row.a is None or row.a.origin != "explicit")
    told = ", ".join(_told(row) for row in found[:_MOST])
    more = "" if len(found) <= _MOST else f", … (+{len(found) - _MOST})"
    first = found[0].field
    assert first is not None
    yield Found(
        on(side.framework, first),
        {"folder": folder.recipe.file, "family": folder.recipe.dialect, "differences": told + more},
        fields=tuple(row.field for row in found if row.field is not None),
        severity="warning" if folder.key == TOKENIZER_MODEL else None,
        variant="tokenizer" if folder.key == TOKENIZER_MODEL else "",
    )


def _parts(row: Difference, side: Side, folder: Folder) -> bool:
    """Whether a difference makes another network for the same weights."""
    name = row.field
    if name is None or row.status not in ("different", "only-a", "only-b") or row.impact != "numerics":
        return False
    if name.startswith((*_OF_THE_RUN, "computed.")) or row.counts is False:
        return False
    if name.startswith("position.") and any(
        problem.kind.code in ROLES["nested-positions"] for problem in side.config.problems
    ):
        return False  # said by the reader, which knows why
    if name == _PATTERN and side.recipe.value("model.num_layers") != folder.recipe.value("model.num_layers"):
        return False  # the number of layers says it
    return name != _ROWS or not _padded(row, side)


def _padded(row: Difference, side: Side) -> bool:
    """Whether the run has only the rows more that padding adds."""
    here, there = (None if one is None else one.value for one in (row.a, row.b))
    size = side.recipe.value("parallel.tensor_size")
    step = _LARGEST_STEP * (size if isinstance(size, int) and size > 0 else 1)
    return isinstance(here, int) and isinstance(there, int) and 0 <= here - there < step


def _told(row: Difference) -> str:
    here, there = (None if one is None else one.value for one in (row.a, row.b))
    return f"{row.field} {shown(here)} / {shown(there)}"

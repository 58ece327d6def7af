"""A run with another model: the recipe of a training file, its network replaced by that of a `config.json`."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from ..recipe.vocabulary import COMPUTED, vocabulary

if TYPE_CHECKING:
    from ...mappings.names_compiled import FieldName
    from ..recipe.values import Recipe, RecipeValue

OF_ITS_FILE = frozenset(
    (
        "model.vocab_size", "model.vocab_divisor", "model.family", "model.architecture", "model.encoder_num_layers",
        "model.decoder_num_layers",
    )
)  # fmt: skip
"""What says in other words how many rows and layers there are, and which class builds the network."""


def with_model(base: Recipe, model: Recipe) -> Recipe:
    """The run of `base` with the network of `model`; what the network is made of is known by both files' keys."""
    fields: dict[FieldName, RecipeValue] = {
        name: entry for name, entry in base.fields.items() if not name.startswith(COMPUTED) and name not in OF_ITS_FILE
    }
    for name, entry in model.fields.items():
        replaced = base.fields.get(name)
        keys = (*entry.keys, *(() if replaced is None else replaced.keys))
        span = None if entry.span is None else entry.span._replace(file=model.file)
        fields[name] = entry._replace(keys=tuple(dict.fromkeys(keys)), span=span)
    ordered = {name: entry for name in vocabulary() if (entry := fields.get(name)) is not None}
    unmapped = tuple(one for one in model.unmapped if one.impact != "none")
    return base._replace(fields=ordered, unmapped=(*base.unmapped, *unmapped))

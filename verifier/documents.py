"""What both runs make of the ends of documents, and whether that can be run.

The samples are laid out by each framework's own data set code, in its worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..mapper.recipe.reading import recipe_of
from .blueprint import DocumentPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config, Value

FIELDS: tuple[FieldName, ...] = ("data.document_positions", "data.document_attention", "data.mask_loss_after_eod")
"""What a run makes of the end of a document, by what its code computes."""
END: FieldName = "data.eod_token"
"""Which token that is; it counts where a run makes something of it."""
_COMPRESSED = "train_dataset.data_loader.config.create_compressed_eod_mask"


def separates(*configs: Config) -> bool:
    """Whether one of the runs treats an end of a document as more than a token, and this can be run.

    A mask that the attention kernel makes of the documents' lengths is an Ascend kernel's own.
    """
    if any(config.framework == "mindformers" and config.value(_COMPRESSED) for config in configs):
        return False
    return any(recipe_of(config).value(field) is True for config in configs for field in FIELDS)


def plans_of(a: Config, b: Config, vocabulary: int, pad: int | None) -> tuple[DocumentPlan, DocumentPlan]:
    """What both runs make of their documents; ends that differ, or are the padding token, stay so when they shrink."""
    ends = _end(a), _end(b)
    padding = [recipe_of(config).value("tokenizer.pad_token") for config in (a, b)]
    small = _made_small(ends, padding, vocabulary, pad)
    # Where one file leaves it open, its end is the other's.
    other = next(iter(small.values()))
    return _plan(a, small.get(ends[0], other)), _plan(b, small.get(ends[1], other))


def _end(config: Config) -> int | None:
    """The token that ends a document; None where the file leaves it open, or says no token."""
    value = recipe_of(config).value(END)
    return value if isinstance(value, int) else None


def _made_small(
    ends: tuple[int | None, int | None], padding: Sequence[Value], vocabulary: int, pad: int | None
) -> dict[int | None, int]:
    """Each known end's token in the small vocabulary."""
    free = iter(token for token in range(vocabulary - 1, -1, -1) if token != pad)
    known = [end for end in dict.fromkeys(ends) if end is not None]
    small: dict[int | None, int] = {end: pad if pad is not None and end in padding else next(free) for end in known}
    return small or dict.fromkeys(ends, next(free))


def _plan(config: Config, end: int) -> DocumentPlan:
    said = recipe_of(config)
    return DocumentPlan(end, *(said.value(field) is True for field in FIELDS))

"""Named two-way transforms between a framework's values and the recipe."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from . import latent, lens, network, optimizer, run, stages

if TYPE_CHECKING:
    from .lens import Lens

LENSES: dict[str, Lens] = {
    **lens.LENSES,
    **optimizer.LENSES,
    **network.LENSES,
    **optimizer.NUMERIC_LENSES,
    **run.DOCUMENT_LENSES,
    **latent.LENSES,
    **stages.LENSES,
    **run.LENSES,
}

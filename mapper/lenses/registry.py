"""Every lens by name."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from . import documents, latent, layout, learning_rate, network, numerics, run, scalars, stages

if TYPE_CHECKING:
    from .lens import Lens

LENSES: dict[str, Lens] = {
    **scalars.LENSES,
    **network.LENSES,
    **numerics.LENSES,
    **documents.LENSES,
    **latent.LENSES,
    **layout.LENSES,
    **stages.LENSES,
    **run.LENSES,
    **learning_rate.LENSES,
}

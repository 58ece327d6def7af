"""Every lens by name."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from . import documents, general, latent, network, numerics, optimizer, run, stages

if TYPE_CHECKING:
    from .lens import Lens

LENSES: dict[str, Lens] = {
    **general.LENSES,
    **optimizer.LENSES,
    **network.LENSES,
    **numerics.LENSES,
    **documents.LENSES,
    **latent.LENSES,
    **stages.LENSES,
    **run.LENSES,
}

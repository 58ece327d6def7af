"""Every lens by name."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from . import (
    checkpoints,
    documents,
    general,
    latent,
    layout,
    learning_rate,
    network,
    numerics,
    optimizer,
    run,
    stages,
)  # fmt: skip

if TYPE_CHECKING:
    from .lens import Lens

LENSES: dict[str, Lens] = {
    **general.LENSES,
    **checkpoints.LENSES,
    **optimizer.LENSES,
    **network.LENSES,
    **numerics.LENSES,
    **documents.LENSES,
    **latent.LENSES,
    **layout.LENSES,
    **stages.LENSES,
    **run.LENSES,
    **learning_rate.LENSES,
}

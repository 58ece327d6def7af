"""The words in which both sides' formulas say what a run minimises: whose tokens count alike, and the terms beside."""

from __future__ import annotations

from ...mappings.keys_compiled import MEGATRON_DATA
from ...schemas.fast_records import TYPE_CHECKING
from .values import UndecidedError, whole

if TYPE_CHECKING:
    from .values import Values

EVERY_TOKEN = "every token alike"
STEP = "the step"
STEP_SO_FAR = "the step so far"


def weights_of_groups(group: str) -> str:
    """How tokens weigh where groups of them do alike; one group is the whole step."""
    return EVERY_TOKEN if group == STEP else f"each group of {group} alike"


def group_of(samples: int, parts: int, step: int) -> str:
    """So many samples, or one of so many parts of their sequences; `step` is how many there are in all."""
    if samples == step and parts == 1:
        return STEP
    told = "1 sample" if samples == 1 else f"{samples} samples"
    return told if parts == 1 else f"1/{parts} of {told}"


BY_SCORES = "by scores alone"
AS_CHOSEN = "as chosen"
"""Which experts a balancing term counts where a bias or groups have their part in the choice."""


def balancing(group: str, counted: str = "") -> str:
    """The name of a term that balances experts within a group."""
    return f"balancing over {group}, experts {counted}" if counted else f"balancing over {group}"


Z_LOSS = "router z loss"
PREDICTION = "multi-token prediction"
PREDICTION_BY_ALL = "multi-token prediction over all tokens"
"""Divided by the tokens of the main loss, of which deeper predictions have fewer."""


def masked(config: Values, kind: str, masks_end: str, columns: str) -> bool:
    """Whether some tokens do not count, by these keys of MindSpore Transformers.

    Without the data set's own mask it is the padding that does not, and whether there is any the file does not say.
    """
    ends, names = bool(config.get(masks_end)), config.get(columns)
    if config.get(kind) != MEGATRON_DATA or not isinstance(names, (list, tuple)):
        raise UndecidedError
    if "loss_mask" in names:
        return ends
    if whole(config.pad_token_id + 1):
        raise UndecidedError
    return False

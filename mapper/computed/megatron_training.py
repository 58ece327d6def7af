"""What a run of Megatron-LM takes in a step, by the code of its own training loop."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from .values import UndecidedError

if TYPE_CHECKING:
    from .values import Values


def samples(args: Values) -> int:
    """0.12–0.19 `training/training.py:update_train_iters`: what is given as samples is cut to whole iterations."""
    if args.rampup_batch_size or args.step_batch_size_schedule or args.iterations_to_skip:
        raise UndecidedError
    batch = int(args.global_batch_size)
    return int(args.train_samples) // batch * batch if args.train_samples else int(args.train_iters) * batch


def tokens_per_step(args: Values) -> int:
    """0.12–0.19 `training/training.py:train`: the global batch, at the end of its ramp, times the sequence."""
    samples, length = args.global_batch_size, args.seq_length
    if args.step_batch_size_schedule:
        raise UndecidedError
    return int(samples) * int(length)

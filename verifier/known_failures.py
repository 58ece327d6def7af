"""What it means when a framework stops on a configuration in a way that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .processes import WorkerFailure


class KnownFailure(NamedTuple):
    """A place and a word of the framework's own error, and what to do."""

    where: str
    says: str
    fields: tuple[str, ...]
    en: str
    zh: str


KNOWN: tuple[KnownFailure, ...] = (
    KnownFailure(
        "moe/router.py:routing",
        "input=None",
        ("moe.router.scaling_factor",),
        "MindSpore Transformers multiplies the chosen scores by a scaling factor that this file leaves empty; "
        "write routed_scaling_factor (1.0 for none)",
        "MindSpore Transformers 会用缩放因子乘以所选专家分数，而该文件未给出；"
        "请写 routed_scaling_factor（无缩放则为 1.0）",
    ),
    KnownFailure(
        "moe/token_dispatcher.py:token_unpermutation",
        "Bias is not supported",
        ("model.bias_linear", "moe.dispatcher"),
        "Megatron-Core's alltoall dispatcher carries no biases of experts; write --disable-bias-linear or "
        "--moe-token-dispatcher-type allgather",
        "Megatron-Core 的 alltoall 分发器不支持专家偏置；"
        "请写 --disable-bias-linear 或 --moe-token-dispatcher-type allgather",
    ),
    KnownFailure(
        "rotary_pos_embedding.py",
        "no attribute 'cat'",
        ("position.rotary_interleaved",),
        "MindSpore Transformers' static graph cannot run rotary_interleaved",
        "MindSpore Transformers 静态图无法运行 rotary_interleaved",
    ),
)
"""Source: mindformers 1.9.0 and megatron-core 0.12, run; the last part of `where` is the function that raises."""


def explained(failure: WorkerFailure) -> KnownFailure | None:
    """The known failure that this one is; None where it is not known."""
    for known in KNOWN:
        if known.where in failure.where and known.says in failure.reason:
            return known
    return None

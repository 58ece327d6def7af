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
        "transformer_config.py:__post_init__",
        "Bias is not supported for MoE",
        ("model.bias_linear",),
        "Megatron-Core 0.12.1 to 0.14 refuses biases in a model with experts; write --disable-bias-linear, "
        "or name a tree of 0.12.0 or of 0.15 and later with --megatron-source",
        "Megatron-Core 0.12.1 至 0.14 不允许含专家的模型使用 bias；请写 --disable-bias-linear，"
        "或用 --megatron-source 指定 0.12.0 或 0.15 及更高版本的源码树",
    ),
    KnownFailure(
        "moe/moe_utils.py",
        "selected index k out of range",
        ("moe.router.topk", "moe.num_experts"),
        "more experts are chosen for a token than there are; give --moe-router-topk (num_experts_per_tok) no more than "
        "there are experts",
        "每个 token 所选专家数多于专家总数；请使 --moe-router-topk（num_experts_per_tok）不大于专家数",
    ),
    KnownFailure(
        "moe/router.py",
        "the k must be in",
        ("moe.router.topk", "moe.num_experts"),
        "more experts are chosen for a token than there are; give --moe-router-topk (num_experts_per_tok) no more than "
        "there are experts",
        "每个 token 所选专家数多于专家总数；请使 --moe-router-topk（num_experts_per_tok）不大于专家数",
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


class Layers(NamedTuple):
    """Layers that `--spec` can name, and what they are."""

    named: str
    en: str
    zh: str


LAYERS: tuple[Layers, ...] = (
    Layers(
        "megatron.core.models.gpt.",
        "names a function: Megatron-LM hands it to the model uncalled, and TransformerBlock refuses it "
        '(0.12 to 0.18, "specialize for function"); without --spec model_provider itself calls the one '
        "that --transformer-impl and the experts ask for",
        "指定的是函数：Megatron-LM 不调用即交给模型，TransformerBlock 会拒绝（0.1"
        '2 至 0.18，"specialize for function"）；不写 --spec 时 mode'
        "l_provider 会按 --transformer-impl 与专家设置自行调用",
    ),
    Layers(
        "megatron.core.models.bert.",
        "names BERT's layers, whose attention sees both ways",
        "指定的是 BERT 的层，其注意力为双向",
    ),
    Layers(
        "megatron.core.models.mamba.",
        "names a stack of state-space layers, which is no GPTModel",
        "指定的是状态空间层堆叠，不是 GPTModel",
    ),
    Layers(
        "megatron.core.models.hybrid.",
        "names a stack of state-space and attention layers, which is no GPTModel",
        "指定的是状态空间层与注意力层的堆叠，不是 GPTModel",
    ),
    Layers(
        "spec.gemma2_spec",
        "names layers with norms behind attention and MLP, too (MindSpeed-LLM's "
        "TransformerLayerWithPostNorm), which neither framework's own layers have",
        "指定的层在注意力与 MLP 之后也有归一化（MindSpeed-LLM 的 TransformerLay"
        "erWithPostNorm），两个框架自身的层均没有",
    ),
    Layers(
        "spec.grok_spec",
        "names layers with norms behind attention and MLP, too (MindSpeed-LLM's "
        "TransformerLayerWithPostNorm), which neither framework's own layers have",
        "指定的层在注意力与 MLP 之后也有归一化（MindSpeed-LLM 的 TransformerLay"
        "erWithPostNorm），两个框架自身的层均没有",
    ),
    Layers(
        "spec.hunyuan_spec",
        "names layers that share keys and values with the layer before (MindSpeed-LLM's HunyuanLargeAttention)",
        "指定的层与前一层共享键和值（MindSpeed-LLM 的 HunyuanLargeAttention）",
    ),
    Layers(
        "spec.longcat_spec",
        "names layers of two attentions and two MLPs around the experts (MindSpeed-LLM's LongCatFlashTransformerLayer)",
        "指定的层在专家之外含两个注意力和两个 MLP（MindSpeed-LLM 的 LongCatFlashTransformerLayer）",
    ),
    Layers(
        "spec.minimax_spec",
        "names layers that normalise queries and keys over all heads together (MindSpeed-LLM's MinimaxAttention)",
        "指定的层对所有头的查询与键一起归一化（MindSpeed-LLM 的 MinimaxAttention）",
    ),
    Layers(
        "spec.qwen3_next_spec",
        "names layers of gated delta networks and gated attention (MindSpeed-LLM's "
        "CustomQwen3NextGatedDeltaNetAttention)",
        "指定的层为门控 delta 网络与门控注意力（MindSpeed-LLM 的 CustomQwen3NextGatedDeltaNetAttention）",
    ),
    Layers(
        "spec.deepseek4_spec",
        "names layers with compressed sparse attention and hyper-connections (MindSpeed-LLM's DeepSeek4SelfAttention)",
        "指定的层为压缩稀疏注意力与超连接（MindSpeed-LLM 的 DeepSeek4SelfAttention）",
    ),
    Layers(
        "spec.phi35_moe_spec",
        "names layers whose attention has a bias on its output alone (MindSpeed-LLM's SelfAttentionWithDenseBias)",
        "指定的层仅在注意力输出上有 bias（MindSpeed-LLM 的 SelfAttentionWithDenseBias）",
    ),
    Layers(
        "spec.plm_spec",
        "names latent attention with positions of PLM's own (MindSpeed-LLM's --rope-scaling-type plm)",
        "指定 PLM 自有位置编码的潜在注意力（MindSpeed-LLM 的 --rope-scaling-type plm）",
    ),
)
"""Source: Megatron-LM 0.12 to main `pretrain_gpt.py:model_provider`, `gpt_builders.py:gpt_builder` and
`core/transformer/transformer_block.py:_get_block_submodules`, run with 0.12.3; MindSpeed-LLM 2.0 to 26.1
`tasks/models/spec/*.py:layer_spec`. Those that build what the arguments say are read by the dialect."""


def explained(failure: WorkerFailure) -> KnownFailure | None:
    """The known failure that this one is; None where it is not known."""
    for known in KNOWN:
        if known.where in failure.where and known.says in failure.reason:
            return known
    _, given, words = failure.reason.partition("--spec ")
    for one in LAYERS:
        if given and one.named in words:
            return KnownFailure("", one.named, ("model.spec",), f"--spec {one.en}", f"--spec {one.zh}")
    return None

"""What can be wrong with a wish for a dump, in both languages: codes EVD020 to EVD029."""

from __future__ import annotations

from ...schemas.diagnostic import Kind

PROBLEMS: dict[str, Kind] = {
    "step": Kind(
        "EVD020",
        "dump-step-beyond-run",
        "error",
        "Step {steps} is never reached: the run has {total} steps, counted from 0, so {last} is the last one.",
        "不会执行到第 {steps} 步：该训练共 {total} 步，从 0 开始计数，最后一步为 {last}。",
    ),
    "rank": Kind(
        "EVD021",
        "dump-rank-beyond-world",
        "error",
        "There is no rank {ranks}: the run has {total} devices, ranks 0 to {last}.",
        "不存在 rank {ranks}：该训练使用 {total} 张卡，rank 为 0 至 {last}。",
    ),
    "module": Kind(
        "EVD022",
        "dump-scope-unknown",
        "error",
        "This model has no module {name}{hint}. Write it as in decoder.layers.0.mlp.linear_fc1, or as msprobe does.",
        "该模型没有模块 {name}{hint_zh}。请按 decoder.layers.0.mlp.linear_fc1 的形式或 msprobe 的名称填写。",
    ),
    "partner": Kind(
        "EVD023",
        "dump-scope-one-sided",
        "error",
        "{name} has no module of its own in {side}; take {instead}, which holds it on both sides.",
        "{name} 在 {side} 中没有单独的模块；请改用两侧都有的 {instead}。",
    ),
    "graph": Kind(
        "EVD024",
        "dump-not-in-graph-mode",
        "error",
        "In graph mode msprobe cannot dump {wish}. {remedy}",
        "图模式下 msprobe 无法采集 {wish_zh}。{remedy_zh}",
    ),
    "layout": Kind(
        "EVD025",
        "dump-modules-unknown",
        "error",
        "Which modules there are, and on which pipeline stage, cannot be told: {why}. Give what is missing (--var, "
        "--arg), or take the dump without pipeline parallelism.",
        "无法确定有哪些模块以及所在的流水线 stage：{why_zh}。请补充缺失的值（--var、--arg），"
        "或在不使用流水线并行时采集。",
    ),
    "differs": Kind(
        "EVD026",
        "dump-sides-differ",
        "warning",
        "{field} is {a} in Megatron-LM and {b} in MindSpore Transformers: {effect}",
        "{field} 在 Megatron-LM 为 {a}，在 MindSpore Transformers 为 {b}：{effect_zh}",
    ),
    "fused": Kind(
        "EVD027",
        "dump-fused-norm",
        "info",
        "Megatron-LM runs Transformer Engine's modules, which contain the norm before them: compare the outputs of "
        "linear_qkv and linear_fc1, not their inputs. With --transformer-impl local every module has its partner.",
        "Megatron-LM 使用 Transformer Engine 的模块，其内部已包含前面的归一化：请比较 linear_qkv 与 linear_fc1 的输出，"
        "而不是输入。使用 --transformer-impl local 时各模块一一对应。",
    ),
    "activation": Kind(
        "EVD028",
        "dump-activation-fusion",
        "info",
        "At level {level} msprobe replaces torch's functions. Its debugger has to be there before the model, as in the "
        "lines to insert; made later, Megatron-LM stops ('Only support fusion of gelu and swiglu') without {flag}.",
        "level 为 {level} 时 msprobe 会替换 torch 的函数。须如插入代码所示，在构建模型之前创建 debugger；"
        "若在之后创建且未加 {flag}，Megatron-LM 会报错（'Only support fusion of gelu and swiglu'）。",
    ),
    "advice": Kind("EVD029", "dump-advice", "warning", "{en}", "{zh}"),
}

ADVICE: dict[str, tuple[str, str]] = {
    "old-graph": (
        "In graph mode msprobe dumps cells from 8.1 on; 1.x dumps only kernels (level L2) there.",
        "图模式下 msprobe 自 8.1 起支持 cell 级采集；1.x 仅支持 kernel 级（L2）。",
    ),
    "precheck": (
        "The precheck's dump is of level L1, which graph mode does not have: set context.mode: 1 for its run.",
        "预检需要 level L1 的数据，图模式不支持：请在预检采集时设置 context.mode: 1。",
    ),
    "order": (
        "{first} runs after {last}, so the range would go on to the end of the step. Name them the other way round.",
        "{first} 在 {last} 之后执行，该区间会一直延续到本步结束。请交换两者的顺序。",
    ),
    "sink": (
        (
            "runner_config.sink_size is {sink}: callbacks, and with them msprobe's steps, count once in {sink} steps. "
            "Set it to 1 for this run."
        ),
        "runner_config.sink_size 为 {sink}：回调（即 msprobe 的 step）每 {sink} 步才计一次。请在本次运行中设为 1。",
    ),
    "eager": (
        (
            "This run is not compiled (context.mode: 1, or the dynamic graph), and MindSpore's own dump records only "
            "what is. Take --kind msprobe."
        ),
        (
            "该训练不以图模式执行（context.mode: 1 或动态图）：MindSpore 自带的 dump 只采集图模式部分。"
            "请使用 --kind msprobe。"
        ),
    ),
    "jit-level": (
        "The YAML compiles with jit_level {level}, the dump is written for {wanted}.",
        "YAML 的 jit_level 为 {level}，而 dump 配置针对 {wanted}。",
    ),
    "o2": (
        (
            "From 2.6 on MindSpore's documentation moves the dump of O2 to msprobe (level L2); the configuration is "
            "written as the guide has it."
        ),
        "MindSpore 自 2.6 起将 O2 的 dump 迁移至 msprobe（level L2）；此处按指南写出配置。",
    ),
}
"""What may be useful to know; a message of kind `advice` each."""

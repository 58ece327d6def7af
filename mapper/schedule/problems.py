"""What can be wrong with a schedule or is worth knowing about it, in both languages."""

from __future__ import annotations

from ...schemas.diagnostic import Diagnostic, Kind, Language
from ...schemas.light_typing import NamedTuple


class Note(NamedTuple):
    """One remark about a schedule: a sentence of `SENTENCES` and the values that fill it."""

    name: str
    values: tuple[tuple[str, object], ...] = ()

    def message(self, language: Language = "en") -> str:
        """The sentence for a person."""
        return SENTENCES[self.name][language == "zh"].format_map(
            {key: value.message(language) if isinstance(value, Note) else shown(value) for key, value in self.values}
        )


def note(name: str, /, **values: object) -> Note:
    """The remark that `SENTENCES` holds under `name`."""
    return Note(name, tuple(values.items()))


def shown(value: object) -> str:
    """A number as a person writes it: short, and without losing a difference that matters."""
    if isinstance(value, float) and (not value.is_integer() or abs(value) >= 1e15):
        return f"{value:.6g}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return str(value)


def problem(name: str, file: str = "", /, **values: object) -> Diagnostic:
    """A finding about a schedule as a whole, without a place."""
    return Diagnostic(PROBLEMS[name], file, None, tuple((key, shown(value)) for key, value in values.items()))


LARGEST = 1e18
"""Numbers from here on are no setting of a schedule."""

PROBLEMS = {
    "missing": Kind(
        "SCH001",
        "schedule-value-missing",
        "error",
        "The learning-rate curve needs {what}, which the file does not say: {remedy}.",
        "计算学习率曲线需要 {what}，但文件中没有：{remedy}。",
    ),
    "undecided": Kind(
        "SCH002",
        "schedule-value-undecided",
        "error",
        "The learning-rate curve needs {what}, whose value {text} cannot be decided from the file: {remedy}.",
        "计算学习率曲线需要 {what}，其值 {text} 无法由文件确定：{remedy}。",
    ),
    "refused": Kind(
        "SCH003",
        "schedule-refused",
        "error",
        "{framework} refuses this schedule when it starts: {why}.",
        "{framework} 启动时会拒绝该调度：{why}。",
    ),
    "unknown-type": Kind(
        "SCH004",
        "schedule-type-unknown",
        "error",
        "{framework} {version} has no learning-rate schedule {type}; it has {known}.",
        "{framework} {version} 没有名为 {type} 的学习率调度；可用的有 {known}。",
    ),
    "wrong-type": Kind(
        "SCH005",
        "schedule-value-type",
        "error",
        "{what} is {found}, but must be {expected}.",
        "{what} 的值是 {found}，应为 {expected}。",
    ),
}

SENTENCES: dict[str, tuple[str, str]] = {
    # Where a warm-up length comes from.
    "warmup-truncated": (
        "the warm-up ratio {ratio} of {total} is truncated to {steps} steps",
        "预热比例 {ratio}（共 {total} 步）被截断为 {steps} 步",
    ),
    "warmup-fraction": (
        "the warm-up fraction {ratio} of {total} is {steps} steps",
        "预热比例 {ratio}（共 {total} 步）为 {steps} 步",
    ),
    # Why two curves part.
    "offset": (
        "the fused AdamW of {side} starts counting at step −1, so every rate comes one step late",
        "{side} 的融合 AdamW 从第 −1 步开始计数，学习率整体晚一步",
    ),
    "undefined": (
        "{side} computes 0/0 at step {step}, where its hold phase begins without a warm-up",
        "{side} 没有预热，保持阶段从第 {step} 步开始，此处计算出 0/0",
    ),
    "initial": (
        "the warm-up starts at {a} against {b}",
        "预热起点为 {a}，另一方为 {b}",
    ),
    "warmup": ("the warm-up lasts {a} steps against {b}", "预热长度为 {a} 步，另一方为 {b} 步"),
    "warmup-because": ("{why}, against {other}", "{why}，另一方为 {other} 步"),
    "peak": ("the peak is {a} against {b}", "峰值为 {a}，另一方为 {b}"),
    "shape": ("the decay is {a} against {b}", "衰减方式为 {a}，另一方为 {b}"),
    "hold": ("the decay starts at step {a} against {b}", "衰减始于第 {a} 步，另一方为第 {b} 步"),
    "end": ("the decay ends at step {a} against {b}", "衰减止于第 {a} 步，另一方为第 {b} 步"),
    "final-swallowed": (
        "{type} silently ignores {argument}, so the final rate is {a} against {b}",
        "{type} 静默忽略 {argument}，因此最终学习率为 {a}，另一方为 {b}",
    ),
    "final": ("the final rate is {a} against {b}", "最终学习率为 {a}，另一方为 {b}"),
    "after": (
        "{side} does not stop at its end: past step {step} its rate goes on below the final value",
        "{side} 到终点后并不停止：第 {step} 步之后学习率继续下降，低于最终值",
    ),
    "after-zero": (
        "{side} falls to 0 after step {step}, not to its final rate",
        "{side} 在第 {step} 步之后降为 0，而不是最终学习率",
    ),
    "after-rises": (
        "{side} goes up again after step {step}",
        "{side} 在第 {step} 步之后重新上升",
    ),
    "extra": ("{argument} is {a} against {b}", "{argument} 为 {a}，另一方为 {b}"),
    "length": ("one run makes {a} updates, the other {b}", "一方共 {a} 次更新，另一方共 {b} 次"),
    "unnamed": ("the curves are computed differently", "两条曲线的计算方式不同"),
    # Remarks about one schedule.
    "swallowed": (
        "{type} takes no {argument}: MindSpore Transformers swallows it silently, and it has no effect",
        "{type} 没有参数 {argument}：MindSpore Transformers 会静默忽略，不起作用",
    ),
    "no-lr-schedule": (
        "there is no lr_schedule section, so MindSpore Transformers builds CosineWithWarmUpLR at 5e-5",
        "没有 lr_schedule 段，MindSpore Transformers 会使用学习率 5e-5 的 CosineWithWarmUpLR",
    ),
    "overridden": (
        "lr_schedule wins over optimizer.learning_rate ({value}), which has no effect",
        "lr_schedule 优先于 optimizer.learning_rate（{value}），后者不起作用",
    ),
    "fused": (
        "use_fused: True makes AdamW count from −1: the first three rates are those of steps −1, 0 and 1",
        "use_fused: True 使 AdamW 从 −1 开始计数：前三步使用第 −1、0、1 步的学习率",
    ),
    "not-clamped": (
        "WarmUpStableDecayLR is not clamped: past step {step} its rate goes on below {final}, and below zero",
        "WarmUpStableDecayLR 没有下限：第 {step} 步之后学习率会低于 {final}，直至为负",
    ),
    "nan": (
        "WarmUpStableDecayLR without a warm-up is NaN at step 0: write warmup_steps: 1 and warmup_lr_init: {peak}",
        "WarmUpStableDecayLR 没有预热时第 0 步为 NaN：请写 warmup_steps: 1 和 warmup_lr_init: {peak}",
    ),
    "lr-end2-zero": (
        "lr_end2: 0 counts as not given, so the last phase keeps lr_end1 ({value})",
        "lr_end2: 0 等同于未设置，最后阶段保持 lr_end1（{value}）",
    ),
    "early-end": (
        "decay_steps {decay} ends the schedule before total_steps {total}: the rate drops to {final} there",
        "decay_steps {decay} 早于 total_steps {total} 结束调度：学习率在该处降至 {final}",
    ),
    "samples-no-warmup": (
        "inverse-square-root counts samples: without a warm-up the second rate is {second}, far below the first",
        "inverse-square-root 按样本计数：没有预热时第二步学习率为 {second}，远低于第一步",
    ),
    "from-checkpoint": (
        "--use-checkpoint-opt_param-scheduler: when a checkpoint is loaded its own schedule wins over this one",
        "--use-checkpoint-opt_param-scheduler：加载检查点时以检查点中的调度为准",
    ),
    "rampup-ignored": (
        "Megatron-LM {version} ignores --rampup-batch-size; --step-batch-size-schedule replaces it",
        "Megatron-LM {version} 忽略 --rampup-batch-size；请改用 --step-batch-size-schedule",
    ),
    "rampup": (
        "the batch size grows from {first} to {last} over the first {steps} steps, and the schedule counts samples",
        "批大小在前 {steps} 步由 {first} 增至 {last}，调度按样本计数",
    ),
    "decoupled": (
        "the input and output layers run at --decoupled-lr {value}; this curve is that of the other layers",
        "输入和输出层使用 --decoupled-lr {value}；此曲线属于其余各层",
    ),
    "grouped": (
        "grouped_lr_schedule gives some parameters their own schedule; this curve is the default group's",
        "grouped_lr_schedule 为部分参数设置了单独的调度；此曲线属于默认组",
    ),
    "hysteresis": (
        "Megatron-LM halves the loss scale after {hysteresis} overflows, MindSpore at the first",
        "Megatron-LM 在 {hysteresis} 次溢出后才将损失缩放减半，MindSpore 在第一次溢出时减半",
    ),
    "minimum-scale": (
        "Megatron-LM stops at a loss scale of {minimum}, MindSpore at 1",
        "Megatron-LM 的损失缩放下限为 {minimum}，MindSpore 为 1",
    ),
    "no-growing-weight-decay": (
        "MindSpore Transformers has no growing weight decay",
        "MindSpore Transformers 不支持随步数增长的权重衰减",
    ),
    "needs-fp16": (
        "Megatron-LM has a dynamic loss scale only with --fp16",
        "Megatron-LM 仅在 --fp16 下使用动态损失缩放",
    ),
    "factor-two": (
        "Megatron-LM always scales by 2, not by {factor}",
        "Megatron-LM 的缩放因子固定为 2，而不是 {factor}",
    ),
}

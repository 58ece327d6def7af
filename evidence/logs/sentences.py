"""What a comparison of logs has to say, as sentences in both languages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language


class Both(NamedTuple):
    """A sentence in both languages."""

    en: str
    zh: str


SENTENCES: dict[str, Both] = {
    # which losses are compared
    "lm": Both("Compared are the language-model losses.", "比较的是语言模型 loss。"),
    "sums": Both(
        "Compared are MindSpore Transformers' whole losses, auxiliary losses included.",
        "比较的是 MindSpore Transformers 的总 loss（含辅助 loss）。",
    ),
    "nothing-added": Both(
        "MindSpore Transformers prints the whole loss; {files} adds no auxiliary loss to it, so it is the "
        "language-model loss.",
        "MindSpore Transformers 打印总 loss；按 {files}，其中没有辅助 loss，即语言模型 loss。",
    ),
    "rebuilt": Both(
        "MindSpore Transformers prints the whole loss; the other side's was put together in the same way: {formula}, "
        "from {files}.",
        "MindSpore Transformers 打印总 loss；另一侧按相同方式相加：{formula}，依据 {files}。",
    ),
    "cannot-rebuild": Both(
        "MindSpore Transformers' loss contains {what}, but the other log does not print it ({missing}): the difference "
        "contains it. Set print_separate_loss: True. Megatron-LM 0.12 and 0.13 print load_balancing_loss only with "
        "--tensorboard-dir.",
        "MindSpore Transformers 的 loss 含 {what}，但另一侧日志未打印（{missing}）：差异中包含该部分。"
        "请设置 print_separate_loss: True。"
        "Megatron-LM 0.12 与 0.13 仅在设置 --tensorboard-dir 时打印 load_balancing_loss。",
    ),
    "assumed-plain": Both(
        "Assumed: MindSpore Transformers' loss is the language-model loss alone. Neither log prints an auxiliary loss; "
        "with --config the configuration decides.",
        "假设 MindSpore Transformers 的 loss 仅为语言模型 loss：两侧日志均未打印辅助 loss；"
        "可用 --config 给出配置来确定。",
    ),
    "assumed-mixed": Both(
        "MindSpore Transformers' loss contains its auxiliary losses, the other side prints {names} beside its loss: "
        "the difference contains them. Give the configuration with --config, or set print_separate_loss: True.",
        "MindSpore Transformers 的 loss 含辅助 loss，另一侧单独打印 {names}：差异中包含这部分。"
        "请用 --config 给出配置，或设置 print_separate_loss: True。",
    ),
    # how steps were put side by side
    "averaged": Both(
        "Megatron-LM prints the mean loss of {interval} steps; the other side is averaged over the same steps.",
        "Megatron-LM 打印 {interval} 步的平均 loss；另一侧按相同的步取平均。",
    ),
    "not-averaged": Both(
        "Megatron-LM prints means over several steps, and at {count} of them the other log lacks some of these steps: "
        "their losses cannot be compared. Print every step on that side.",
        "Megatron-LM 打印多步平均 loss，其中 {count} 处另一侧缺少部分步，无法比较 loss。请在该侧逐步打印。",
    ),
    "recovered": Both(
        "{name}: Megatron-LM 0.16 and later print at the second step of a process the mean of its first two; the loss "
        "of step {steps} was taken out of it.",
        "{name}：Megatron-LM 0.16 及以上在进程的第二步打印前两步的平均值；第 {steps} 步的 loss 由此还原。",
    ),
    "only": Both("{count} steps are only in {name}.", "{count} 步仅见于 {name}。"),
    "rate-shift": Both(
        "Learning rates are compared by the step that uses them: {name} prints the next step's.",
        "学习率按其生效的步比较：{name} 打印的是下一步的学习率。",
    ),
    "skipped": Both("{name}: {count} iterations were skipped (overflow).", "{name}：有 {count} 次迭代因溢出被跳过。"),
    "re-aligned": Both(
        "Step N of {a} stands beside step N{steps} of {b}, as asked (--shift).",
        "按 --shift 对齐：{a} 的第 N 步对应 {b} 的第 N{steps} 步。",
    ),
    "rates-differ": Both(
        "differs first at step {step}: {a} against {b}; the largest difference is {share} of the peak. `accmap lr` "
        "says why",
        "首先在第 {step} 步不同：{a} 与 {b}；最大差异为峰值的 {share}。可用 `accmap lr` 查找原因",
    ),
    "rates-equal": Both("equal over {count} steps", "{count} 步均相同"),
    # what a verdict rests on
    "so-far": Both(
        "{count} of {least} steps so far; --steps N judges a shorter run",
        "目前 {count} 步，共需 {least} 步；较短的训练可用 --steps N 判断",
    ),
    "as-asked": Both(
        "judged over {count} steps, as asked; the guide's experiment has {least}",
        "按要求以 {count} 步判断；指南的实验为 {least} 步",
    ),
    "shifted-later": Both(
        "the ups and downs of the second log come {steps} steps later (correlation {best}; {here} at the same step): "
        "one log is shifted. Compare again with --shift {shift}",
        "第二份日志的起伏晚 {steps} 步出现（相关系数 {best}；同一步为 {here}）：日志错位。"
        "请加 --shift {shift} 重新比较",
    ),
    "shifted-earlier": Both(
        "the ups and downs of the second log come {steps} steps earlier (correlation {best}; {here} at the same step): "
        "one log is shifted. Compare again with --shift {shift}",
        "第二份日志的起伏早 {steps} 步出现（相关系数 {best}；同一步为 {here}）：日志错位。"
        "请加 --shift {shift} 重新比较",
    ),
    "other-samples": Both(
        "the ups and downs of the two curves do not go together (correlation {here}, at least {limit} is expected): "
        "other samples, or another order of them; `accmap data check` compares both",
        "两条曲线的起伏不一致（相关系数 {here}，应至少为 {limit}）：样本或其顺序不同；可用 `accmap data check` 比较",
    ),
    "runs-one": Both(
        "{a} and {b} are one log: what is compared with its own copy shows nothing",
        "{a} 与 {b} 是同一份日志：与自身副本比较不能说明任何问题",
    ),
    "runs-framework": Both(
        "{a} and {b} are both logs of {framework}, the configurations of {others}",
        "{a} 与 {b} 都是 {framework} 的日志，而所给配置属于 {others}",
    ),
    "weights-sum": Both(
        "both logs print the same checksum over {count} numbers, but so do layers, heads or rows in each other's "
        "place: add a conversion's record (--weights) or local norms",
        "两份日志打印的校验和一致（{count} 个数值），但层、头或行互换时校验和也不变；"
        "请再给出转换记录（--weights）或 local norm",
    ),
    "weights-sums-differ": Both(
        "other weights: the logs print the checksums {a} and {b}", "权重不同：两份日志的校验和为 {a} 与 {b}"
    ),
    "weights-counts": Both(
        "not comparable by checksum: {a} numbers against {b} (a padded vocabulary?); use a conversion's record "
        "(--weights) or local norms",
        "无法按校验和比较：{a} 与 {b} 个数值（词表填充？）；请使用转换记录（--weights）或 local norm",
    ),
    "weights-rounded": Both(
        "one run keeps its weights in bfloat16, the other does not, so their checksums cannot be equal: use a "
        "conversion's record (--weights) or local norms",
        "只有一方以 bfloat16 保存权重，校验和不可能一致；请使用转换记录（--weights）或 local norm",
    ),
    "weights-record": Both("{why.en}", "{why.zh}"),
    "weights-random": Both(
        "{name} says that its run began with random weights, not with those of --weights",
        "{name} 表明该训练以随机权重开始，而不是 --weights 所给的权重",
    ),
    "weights-unloaded": Both(
        "the log of {name} says that {first} was not loaded: its run did not begin with the weights of --weights",
        "{name} 的日志表明 {first} 未加载：该训练并非以 --weights 所给的权重开始",
    ),
    "settings-unnamed": Both(
        "not compared: what moves these curves by less than the limits, or acts later, is not seen here; "
        "name both configurations with --config, and see `accmap lint` and `accmap verify`",
        "未比较：使曲线的变化小于上述限值、或稍后才起作用的设置在此看不出；请用 --config 给出双方配置，"
        "并使用 `accmap lint` 与 `accmap verify`",
    ),
    "settings-equal": Both(
        "no rule finds a setting of {a} and {b} that makes the numbers differ",
        "没有规则在 {a} 与 {b} 中发现使数值不同的设置",
    ),
    "settings-open": Both(
        "{count} settings of {a} and {b} could make the numbers differ and are not known from the files: {first.en}",
        "{a} 与 {b} 有 {count} 项设置可能使数值不同，且无法从文件得知：{first.zh}",
    ),
    "settings-apart": Both(
        "{count} settings of {a} and {b} make the numbers differ, however near the losses lie; the first: {first.en}",
        "{a} 与 {b} 有 {count} 项设置使数值不同，无论 loss 多接近；第一项：{first.zh}",
    ),
    "weights-norms": Both(
        "the gradients of {count} parameters agree as only equal weights let them",
        "{count} 个参数的梯度一致，只有权重相同才会如此",
    ),
    "weights-norms-rough": Both(
        "local norms that differ by up to {share} do not show equal weights: name the converted checkpoints "
        "with --weights A B",
        "local norm 相差多达 {share}，不能说明权重相同：请用 --weights A B 给出转换后的权重",
    ),
    "weights-first": Both(
        "the first loss and norm agree as equal weights let them", "首步 loss 与 norm 一致，与权重相同时相符"
    ),
    "weights-unproven": Both(
        "nothing shows that both runs began with the same: two random beginnings have nearly the same loss. Print "
        "local norms in both (`accmap playbook` writes the lines), or name the converted checkpoints with "
        "--weights A B",
        "没有证据表明两侧初始权重相同：两组随机权重的 loss 也几乎相同。请在两侧打印 local norm"
        "（`accmap playbook` 会生成相应代码），或用 --weights A B 给出转换后的权重",
    ),
    "weights-unknown": Both(
        "nothing shows that they are the same: give --weights A B, or judge the first steps",
        "没有证据表明其相同：请给出 --weights A B，或先判断前两步",
    ),
    "first-norm": Both(
        "{a} against {b} at step 1: {relative}; limit {share}", "第 1 步为 {a} 与 {b}：{relative}；限值 {share}"
    ),
    "rates-none": Both("Learning rates: not in both logs.", "学习率：并非两份日志都有。"),
    # verdicts
    "match": Both("Within the standard over {count} common steps.", "在 {count} 个共同步上符合标准。"),
    "match-alone": Both(
        "Within the standard over {count} common steps, as far as logs alone show it: settings were not compared.",
        "在 {count} 个共同步上符合标准，但仅就日志所示：未比较设置。",
    ),
    "partial": Both(
        "Partial: within the standard over {count} common steps; not compared: {left}.",
        "部分比较：在 {count} 个共同步上符合标准；未比较：{left_zh}。",
    ),
    "mismatch": Both("Not within the standard: {names}.", "不符合标准：{names}。"),
    "undecided": Both("Not decidable: {names}.", "无法判定：{names}。"),
    "none-common": Both("the two logs have no step in common", "两份日志没有共同的步"),
    "none-finite": Both("no step has finite values in both logs", "没有两侧数值均有限的步"),
    "too-few": Both("only {count} common steps, {least} are needed", "只有 {count} 个共同步，至少需要 {least} 个"),
    # criteria
    "finite-ok": Both("no NaN or infinity in either log", "两份日志均无 NaN 或无穷"),
    "finite-bad": Both(
        "{name} has {count} steps with a loss, norm or learning rate that is NaN or infinite, the first is step {step}",
        "{name} 有 {count} 步的 loss、norm 或学习率为 NaN 或无穷，首个为第 {step} 步",
    ),
    "updates-none": Both(
        "{name} skipped every one of the {count} steps (overflow): no weight was updated, so there is no training to "
        "judge. Look at the loss scale and the gradients",
        "{name} 的 {count} 步全部因溢出被跳过：权重从未更新，没有可判断的训练过程。请检查 loss scale 与梯度",
    ),
    "readable-bad": Both("{count} problems in {name}: {first.en}", "{name} 有 {count} 个问题：{first.zh}"),
    "loss-at": Both(
        "loss {a} against {b} at step {step}: {difference} ({relative}); limit {absolute} or {share}",
        "第 {step} 步 loss 为 {a} 与 {b}：差 {difference}（{relative}）；限值 {absolute} 或 {share}",
    ),
    "loss-at-mean": Both(
        "loss {a} against {b}, the mean of the {window} steps up to {step}: {difference} ({relative}); limit "
        "{absolute} or {share}",
        "截至第 {step} 步的 {window} 步平均 loss 为 {a} 与 {b}：差 {difference}（{relative}）；"
        "限值 {absolute} 或 {share}",
    ),
    "mean-loss": Both(
        "mean difference {difference} ({relative}) over {count} steps; limit {absolute} or {share}",
        "{count} 步平均差 {difference}（{relative}）；限值 {absolute} 或 {share}",
    ),
    "mean-norm": Both(
        "mean relative difference {relative} over {count} steps; limit {share}",
        "{count} 步平均相对误差 {relative}；限值 {share}",
    ),
    "no-norm": Both("not in both logs: not compared", "并非两份日志都有：未比较"),
    "no-step": Both("step {step} is not in both logs", "并非两份日志都有第 {step} 步"),
    "late-gap": Both(
        "the last {count} steps lie {relative} apart ({difference}); limit {share}",
        "最后 {count} 步相差 {relative}（{difference}）；限值 {share}",
    ),
    "late-gap-small": Both(
        "the last {count} steps lie {relative} apart ({difference}), always on one side: under {share}, so accept it "
        "by an evaluation of downstream tasks",
        "最后 {count} 步稳定相差 {relative}（{difference}），小于 {share}：可通过下游任务评测验收",
    ),
    "apart": Both(
        "from step {step} on the losses stay apart: {a} against {b} there, {difference} at the end",
        "自第 {step} 步起 loss 持续分开：该步为 {a} 与 {b}，末尾相差 {difference}",
    ),
    "together": Both("the losses never part for good", "loss 没有持续分开"),
    "spikes": Both(
        "spikes in the difference: {count}, the first at step {step} ({a} against {b}), the largest at step {worst} "
        "({difference})",
        "差异有 {count} 处突变：首个在第 {step} 步（{a} 与 {b}），最大在第 {worst} 步（{difference}）",
    ),
    "no-spikes": Both("no spike in the difference", "差异无突变"),
    "iterations-apart": Both(
        "{what}: {a} against {b} at step {step}, other in {count} common lines",
        "{what}：第 {step} 步为 {a} 与 {b}，{count} 行共同记录不同",
    ),
    "metric-same": Both(
        "{metric}: the same in all {count} common lines, mean {a}", "{metric}：{count} 行共同记录均相同，均值 {a}"
    ),
    "metric": Both(
        "{metric}: mean {a} against {b}, {relative} apart over {count} common lines, first at step {step}",
        "{metric}：均值 {a} 与 {b}，{count} 行共同记录平均相差 {relative}，首个不同在第 {step} 步",
    ),
    "zero-loss": Both(
        "every step: largest loss difference {difference} at step {step}, {beyond} of {count} steps beyond; limit "
        "{limit}",
        "逐步：loss 最大差 {difference}（第 {step} 步），{count} 步中 {beyond} 步超限；限值 {limit}",
    ),
    "zero-norm": Both(
        "every step: largest norm difference {difference} at step {step}, {beyond} of {count} steps beyond; limit "
        "{limit}",
        "逐步：norm 最大差 {difference}（第 {step} 步），{count} 步中 {beyond} 步超限；限值 {limit}",
    ),
    "zero-rate-bad": Both(
        "{name} prints a learning rate of {rate} at step {step}: the weights change, this is not the experiment",
        "{name} 第 {step} 步学习率为 {rate}：权重会更新，不是 lr=0 实验",
    ),
    "zero-rate-ok": Both("the learning rate is 0 wherever it is printed", "所有打印的学习率均为 0"),
    "zero-rate-none": Both("no log prints the learning rate", "日志未打印学习率"),
    "band": Both(
        "{share} of the steps lie within the benchmark's own band ({least} are needed); the largest excess is {excess} "
        "times the band, at step {step}",
        "{share} 的步在标杆自身误差带内（至少 {least}）；最大超出为误差带的 {excess} 倍，在第 {step} 步",
    ),
    "band-zero": Both(
        "the two benchmark runs are equal at every step: they were deterministic and give no band",
        "两次标杆训练逐步相同：开启了确定性，无法得到误差带",
    ),
    "around-zero": Both(
        "the difference is {mean} on average, {positive} of the steps above zero; the benchmark's own is {own}",
        "平均差 {mean}，{positive} 的步大于零；标杆自身为 {own}",
    ),
    "norms": Both(
        "{good} of {count} parameters within {share} at step {step}; the worst is {name}: {a} against {b}",
        "第 {step} 步 {count} 个参数中 {good} 个在 {share} 以内；最大差异为 {name}：{a} 与 {b}",
    ),
    "norms-unmatched": Both(
        "{count} parameters have no partner: {names}",
        "{count} 个参数没有对应项：{names}",
    ),
    "norms-no-common-step": Both(
        "the two logs print local norms of different steps", "两份日志打印 local norm 的步不同"
    ),
    "norms-one-side": Both("only one log prints local norms", "只有一份日志打印了 local norm"),
    "norms-none": Both(
        "neither log prints local norms: set runner_wrapper.local_norm: True, and print them in Megatron-LM's "
        "optimizer.py",
        "两份日志均未打印 local norm：请设置 runner_wrapper.local_norm: True，并在 Megatron-LM 的 optimizer.py 中打印",
    ),
    "norms-other-count": Both(
        "the first log prints {a} local norms, the second {b}: the networks are not the same",
        "第一份日志打印 {a} 个 local norm，第二份 {b} 个：两侧网络不同",
    ),
    "norms-no-names": Both(
        "{a} and {b} local norms without names cannot be matched across the frameworks: --config has to name a "
        "configuration of each with as many parameters, or let MindSpore Transformers name them "
        "(monitor_config.local_norm_format: log)",
        "没有参数名的 local norm（{a} 个与 {b} 个）无法跨框架匹配：--config 需给出参数个数与之相同的双方配置，"
        "或让 MindSpore Transformers 打印参数名（monitor_config.local_norm_format: log）",
    ),
    "norms-order": Both(
        "{name} prints local norms without names; they were named in the order of its parameters by {file}",
        "{name} 打印的 local norm 没有参数名；已按 {file} 的参数顺序命名",
    ),
    "optimizer": Both(
        "The first step agrees, the second does not: look at the optimizer (learning rate, betas, eps, weight decay "
        "and what it applies to) and at the gradients.",
        "首步一致而第二步不一致：请检查优化器（学习率、betas、eps、权重衰减及其范围）与梯度。",
    ),
    "forward": Both(
        "The first step does not agree: the forward pass, the weights or the data differ; nothing later can agree.",
        "首步不一致：前向、权重或数据不同，后续无法一致。",
    ),
}
NAMES: dict[str, Both] = {
    "runs": Both("two runs", "两次训练"),
    "finite": Both("finite values", "数值有限"),
    "readable": Both("readable log", "日志可读"),
    "updates": Both("weight updates", "权重更新"),
    "common": Both("common steps", "共同步"),
    "first loss": Both("first loss", "首步 loss"),
    "second loss": Both("second loss", "第二步 loss"),
    "mean loss": Both("mean loss", "平均 loss"),
    "mean norm": Both("mean global norm", "平均 global norm"),
    "late gap": Both("late gap", "后期差异"),
    "apart": Both("divergence", "持续分开"),
    "spikes": Both("spikes", "突变"),
    "iterations": Both("batches and skipped steps", "批大小与跳过的步"),
    "metrics": Both("other metrics", "其他指标"),
    "every loss": Both("loss of every step", "逐步 loss"),
    "every norm": Both("norm of every step", "逐步 norm"),
    "learning rate": Both("learning rate", "学习率"),
    "steps": Both("same steps", "步的对应"),
    "weights": Both("initial weights", "初始权重"),
    "settings": Both("settings", "设置"),
    "first norm": Both("first global norm", "首步 global norm"),
    "length": Both("length", "长度"),
    "band": Both("benchmark band", "标杆误差带"),
    "norm band": Both("benchmark band of the norm", "norm 的标杆误差带"),
    "around zero": Both("around zero", "围绕零轴"),
    "local norms": Both("local norms", "local norm"),
}


class Said(NamedTuple):
    """A sentence and what fills it."""

    name: str
    values: tuple[tuple[str, object], ...] = ()

    def text(self, language: Language = "en") -> str:
        """The sentence for a person."""
        return SENTENCES[self.name][language == "zh"].format_map(dict(self.values))

    def both(self) -> Both:
        """The sentence in both languages."""
        return Both(self.text("en"), self.text("zh"))


def say(name: str, /, **values: object) -> Said:
    """The sentence `name` with its values."""
    return Said(name, tuple(values.items()))


def figure(value: float) -> str:
    """A loss or a norm as a person reads it."""
    return f"{value:.6g}"


def percent(share: float) -> str:
    """A share as a person reads it."""
    if math.isnan(share):
        return "nan"
    return "∞" if math.isinf(share) else f"{share * 100:.3g}%"

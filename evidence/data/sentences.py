"""What a difference between two plans is called and what to do about it, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agreement import Difference
    from .draws import Draws
    from .plan import Plan

NAMES = {
    "sample_length": ("the sample length", "样本长度"),
    "seed": ("the seed of the data", "数据随机种子"),
    "samples": ("the number of training samples", "训练样本数"),
    "global_batch": ("the global batch size", "全局批次大小"),
    "extra": ("the extra token of a sample", "样本的额外 token"),
    "masks_after_eod": ("masking the loss at document ends", "文档结尾处的损失屏蔽"),
    "resets_at_eod": ("resetting positions or attention at document ends", "文档结尾处的位置或注意力重置"),
    "own_files": ("whether training has files of its own", "训练是否使用单独的文件"),
    "split": ("the split", "数据划分"),
    "blend": ("the datasets and their weights", "数据集及其权重"),
}


def setting_sentence(difference: Difference, a: Plan, b: Plan, *, harmless: bool) -> tuple[str, str]:
    """What differs, and what follows from it."""
    name, name_zh = NAMES[difference.name]
    what = f"{name[0].upper()}{name[1:]} differs: {difference.a} in {a.file}, {difference.b} in {b.file}."
    what_zh = f"{name_zh}不同：{a.file} 为 {difference.a}，{b.file} 为 {difference.b}。"
    if harmless:
        return f"{what} The samples are the same all the same.", f"{what_zh}但样本仍相同。"
    return what, what_zh


def suggestion(a: Plan, b: Plan, drawn: tuple[Draws | None, Draws | None]) -> tuple[str, str]:
    """Why two orders part, where the indices tell, and what makes them equal; each begins with a space or is empty."""
    first, second = drawn
    if first is None or second is None:
        return "", ""
    if a.seed != b.seed:
        return " The seeds differ; give both the same.", "随机种子不同，请设为相同。"
    if a.sample_length != b.sample_length:
        return " The sample lengths differ; give both the same.", "样本长度不同，请设为相同。"
    if "cyclic" in (a.loader, b.loader):
        return (
            " --dataloader-type cyclic shuffles once more; single takes the order of the index, as both sides can.",
            "--dataloader-type cyclic 会再次打乱；single 按索引顺序读取，两侧均支持。",
        )
    left, right = _epochs(first), _epochs(second)
    if left == right:
        return "", ""
    said = f" {_told(left)} in {a.file}, {_told(right)} in {b.file}."
    said_zh = f"{a.file} 使用 {_told_zh(left)}，{b.file} 使用 {_told_zh(right)}。"
    if a.samples == b.samples and _weighted(a) != _weighted(b):
        en = "A prefix with a weight is asked for 0.5% more samples. Write none on both sides, or the weight 1 on both."
        zh = "带权重的前缀会多请求 0.5% 的样本。请在两侧都不写权重，或都写权重 1。"
        return f"{said} {en}", f"{said_zh}{zh}"
    return f"{said} Ask both for the same number of samples.", f"{said_zh}请让两侧请求相同的样本数。"


def _epochs(draws: Draws) -> list[tuple[int, bool]]:
    return [(index.epochs, index.separate_last_epoch) for index in draws.indices]


def _told(epochs: list[tuple[int, bool]]) -> str:
    words = [f"{count}{' (last apart)' if apart else ''}" for count, apart in epochs]
    return f"{', '.join(words)} epoch{'' if words == ['1'] else 's'}"


def _told_zh(epochs: list[tuple[int, bool]]) -> str:
    return "、".join(f"{count} 个 epoch{'（最后一个单独打乱）' if apart else ''}" for count, apart in epochs)


def _weighted(plan: Plan) -> bool:
    return plan.blend is not None and plan.blend.weights is not None

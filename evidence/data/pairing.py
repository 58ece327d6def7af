"""Two configurations against each other: what they say of the data, the bytes, and the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...schemas.diagnostic import Diagnostic, finding
from .agreement import Agreement, Contents, agree, differences
from .plan import Plan, told
from .problems import PROBLEMS, RefusedError
from .sentences import setting_sentence, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .dataset import Asked
    from .draws import Drawn, Draws
    from .indexed import IndexedFile


class Side(NamedTuple):
    """One configuration."""

    plan: Plan
    files: Mapping[str, IndexedFile]
    draws: Draws | None
    problems: tuple[Diagnostic, ...]


def pair_of(a: Side, b: Side, asked: Asked) -> tuple[Agreement | None, Contents | None, list[Diagnostic]]:
    """Two configurations against each other."""
    different = differences(a.plan, b.plan)
    agreement, contents = None, None
    found: list[Diagnostic] = []
    files = {data.prefix: data for side in (a, b) for data in side.files.values()}
    if files:
        contents = Contents(files.values(), quick=asked.quick is not None)
        found += _bytes(a, b, contents)
    if a.draws is not None and b.draws is not None and contents is not None:
        try:
            agreement = agree(a.draws, b.draws, contents, asked.samples)
        except RefusedError as refused:
            found.append(finding(PROBLEMS, "refused", a.plan.file, None, why=refused.en, why_zh=refused.zh))
    for difference in different:
        harmless = difference.name in ("seed", "samples", "split", "blend", "own_files") and (
            agreement is not None and agreement.whole_run
        )
        en, zh = setting_sentence(difference, a.plan, b.plan, harmless=harmless)
        span = b.plan.place(difference.name).span
        found.append(told("setting", b.plan.file, span, en, zh, "info" if harmless else None))
    if agreement is not None:
        found += _partings(a, b, agreement)
    return agreement, contents, found


def _bytes(a: Side, b: Side, contents: Contents) -> list[Diagnostic]:
    if a.plan.blend is None or b.plan.blend is None:
        return []
    found: list[Diagnostic] = []
    left, right = (list(side.plan.blend.prefixes if side.plan.blend else ()) for side in (a, b))
    if len(left) != len(right):
        return []
    for one, two in zip(left, right, strict=True):
        if one in a.files and two in b.files:
            here, there = a.files[one], b.files[two]
            if contents.name(here.prefix) != contents.name(there.prefix):
                sizes = (here.bin_bytes, there.bin_bytes)
                how = f"{sizes[0]} and {sizes[1]} bytes" if sizes[0] != sizes[1] else "same size, other checksum"
                how_zh = f"{sizes[0]} 与 {sizes[1]} 字节" if sizes[0] != sizes[1] else "大小相同，校验和不同"
                found.append(
                    told(
                        "bytes",
                        b.plan.file,
                        b.plan.place("blend").span,
                        f"{one} and {two} do not hold the same data ({how}). Point both sides at the same files.",
                        f"{one} 与 {two} 的数据不同（{how_zh}）。请让两侧使用同一份文件。",
                    )
                )
    return found


def _partings(a: Side, b: Side, agreement: Agreement) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    parted = agreement.parted or agreement.parting
    span = b.plan.place("blend").span
    begins_again = agreement.restart is not None and (
        parted is None or parted.sample >= agreement.restart * (a.plan.global_batch or 1)
    )
    if parted is not None and not parted.same_set and not begins_again:
        why, why_zh = suggestion(a.plan, b.plan, (a.draws, b.draws))
        found.append(
            told(
                "samples",
                b.plan.file,
                span,
                f"Sample {parted.sample} (step {parted.step + 1}) is not the same: {_piece(parted.a)} against "
                f"{_piece(parted.b)}.{why}",
                f"第 {parted.sample} 个样本（第 {parted.step + 1} 步）不同：{_piece_zh(parted.a)} 与 "
                f"{_piece_zh(parted.b)}。{why_zh}",
            )
        )
    elif agreement.parting is not None and not begins_again:
        found.append(
            told(
                "samples",
                b.plan.file,
                span,
                f"The steps use the same samples in another order, first at sample {agreement.parting.sample}.",
                f"各步使用相同的样本，但顺序不同，首次出现在第 {agreement.parting.sample} 个样本。",
                "warning",
            )
        )
    if agreement.restart is not None and begins_again:
        found.append(
            told(
                "samples",
                b.plan.file,
                b.plan.place("samples").span,
                f"From step {agreement.restart + 1} on one side begins the data again and the other goes on. Ask "
                f"both for all "
                "samples of the run (sizes[0] = steps · global batch).",
                f"从第 {agreement.restart + 1} 步起，一侧重新开始读取数据而另一侧继续。请让两侧都请求整个训练所需的样本"
                "（sizes[0] = 步数 · 全局批次）。",
            )
        )
    if agreement.placement in ("devices", "micro-batches") and agreement.parted is None:
        other = agreement.placement == "devices"
        found.append(
            told(
                "samples",
                b.plan.file,
                b.plan.place("ranks").span,
                "Each step uses the same samples, but "
                + ("on other data-parallel devices." if other else "put together in other micro batches.")
                + " The loss of a step is the same up to rounding; what is averaged within a micro batch (the "
                "auxiliary loss) is " + ("the same." if other else "not."),
                "每步使用的样本相同，但"
                + ("位于不同的数据并行设备。" if other else "组成了不同的微批次。")
                + "每步损失在舍入误差内一致；按微批次平均的量（辅助损失）"
                + ("也一致。" if other else "不同。"),
                "info",
            )
        )
    return found


def _piece(drawn: Drawn) -> str:
    first = drawn.pieces[0]
    more = f" and {len(drawn.pieces) - 1} more" if len(drawn.pieces) > 1 else ""
    return f"{drawn.prefix} sequence {first.sequence} from token {first.offset}{more}"


def _piece_zh(drawn: Drawn) -> str:
    first = drawn.pieces[0]
    more = f"及后续 {len(drawn.pieces) - 1} 个序列" if len(drawn.pieces) > 1 else ""
    return f"{drawn.prefix} 的序列 {first.sequence} 自第 {first.offset} 个 token 起{more}"

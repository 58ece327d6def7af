"""The special ids of a run against the data: what ends a document, what is masked, and what the tokenizer says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.versions import number_of
from .plan import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...schemas.diagnostic import Diagnostic
    from .plan import Plan
    from .tokenizer import Tokenizer
    from .tokens import Scan

_USUAL = 0.9
"""The share of sequences from which on an id counts as the one that ends them."""
_MASKED_PLACES = {
    "loss": ("in the loss", "损失"),
    "attention": ("in attention", "注意力"),
}


def ids_to_count(plans: Iterable[Plan], tokenizer: Tokenizer | None) -> list[int]:
    """The ids whose number in the data matters."""
    found: dict[int, None] = {}
    for plan in plans:
        if plan.eod is not None:
            found[plan.eod] = None
        found.update(dict.fromkeys(plan.unseen))
    if tokenizer is not None:
        found.update(dict.fromkeys(tokenizer.special.values()))
    return [token for token in found if token >= 0]


def usual_end(scan: Scan) -> tuple[int, float] | None:
    """The id that most sequences end with, and their share."""
    if not scan.ends or not scan.sequences:
        return None
    token, count = next(iter(scan.ends.items()))
    return token, count / scan.sequences


def special_findings(
    plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None, others: Sequence[Plan]
) -> list[Diagnostic]:
    """What is wrong between one plan's special ids and the data of `name`."""
    return [*_ends(plan, name, scan, tokenizer), *_masked(plan, name, scan, tokenizer, others)]


def _ends(plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    place = plan.place("eod")
    eod = plan.eod
    if eod is None and tokenizer is not None and plan.framework == "megatron":
        eod = tokenizer.special.get("eos_token")
    matters = plan.masks_after_eod or plan.resets_at_eod
    usual = usual_end(scan)
    ending = "" if usual is None else f" {usual[1]:.1%} of the sequences end with {usual[0]}."
    ending_zh = "" if usual is None else f"{usual[1]:.1%} 的序列以 {usual[0]} 结尾。"
    where = f"{name}: "
    if matters and (eod is None or eod < 0):
        if plan.framework == "mindformers":
            found.append(
                told(
                    "eod",
                    plan.file,
                    place.span,
                    f"{where}the run masks or resets at the end of a document, but eod is not set, so it never happens."
                    f"{ending} Set eod to the id that ends documents.",
                    f"{where}训练在文档结尾屏蔽或重置，但未设置 eod，不会生效。{ending_zh}请将 eod 设为文档结尾的 id。",
                )
            )
        return found
    if eod is None or eod < 0:
        return found
    if matters and scan.complete and not scan.counts.get(eod, 0):
        found.append(
            told(
                "eod",
                plan.file,
                place.span,
                f"{where}the run masks or resets after id {eod}, which the data do not hold.{ending} Make the data "
                f"with "
                "--append-eod, or correct the id.",
                f"{where}训练在 id {eod} 之后屏蔽或重置，但数据中没有该 id。{ending_zh}请用 --append-eod 制作数据，"
                f"或更正该 id。",
            )
        )
    elif usual is not None and usual[1] >= _USUAL and usual[0] != eod and (matters or plan.framework == "mindformers"):
        found.append(
            told(
                "eod",
                plan.file,
                place.span,
                f"{where}the run takes {eod} for the end of a document, but {usual[1]:.1%} of the sequences end with "
                f"{usual[0]}.",
                f"{where}训练以 {eod} 为文档结尾，但 {usual[1]:.1%} 的序列以 {usual[0]} 结尾。",
                "error" if matters else "warning",
            )
        )
    of_tokenizer = None if tokenizer is None else tokenizer.special.get("eos_token")
    if of_tokenizer is not None and of_tokenizer != eod:
        found.append(
            told(
                "special",
                plan.file,
                place.span,
                f"eod is {eod}, but the tokenizer ends texts with {of_tokenizer}.",
                f"eod 为 {eod}，而分词器的结尾 token 为 {of_tokenizer}。",
            )
        )
    return found


def _masked(plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None, others: Sequence[Plan]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for token, where in plan.unseen.items():
        count = scan.counts.get(token, 0)
        if not count:
            continue
        if where == "loss" and any(_pads(other, tokenizer) == token for other in others):
            continue
        key = plan.place("pad" if where == "loss" else "pad_token_id")
        text, text_zh = _MASKED_PLACES[where]
        found.append(
            told(
                "masked",
                plan.file,
                key.span,
                f"{name}: {key.key.rpartition('.')[2]} {token} is masked {text}, and the data hold it {count} times "
                f"as an "
                "ordinary token. Megatron masks none of them; set it to -1.",
                f"{name}：{key.key.rpartition('.')[2]} {token} 在{text_zh}中被屏蔽，而数据中有 {count} 个该 token。"
                "Megatron 不屏蔽，请设为 -1。",
            )
        )
    pads = _pads(plan, tokenizer)
    if pads is not None and scan.counts.get(pads, 0) and not any(pads in other.unseen for other in others):
        lasting = number_of(plan.version) < (0, 15) and not (plan.masks_after_eod or plan.resets_at_eod)
        more = " In this version the places stay masked for all later samples." if lasting else ""
        more_zh = "在此版本中，这些位置对之后的样本也一直被屏蔽。" if lasting else ""
        found.append(
            told(
                "masked",
                plan.file,
                None,
                f"{name}: Megatron leaves the tokenizer's pad_token {pads} out of the loss and reads it as 0; the "
                f"data hold "
                f"it {scan.counts[pads]} times.{more}",
                f"{name}：Megatron 会将分词器的 pad_token {pads} 排除在损失之外并读作 0；数据中有 "
                f"{scan.counts[pads]} 个。{more_zh}",
            )
        )
    return found


def _pads(plan: Plan, tokenizer: Tokenizer | None) -> int | None:
    """The id that Megatron leaves out of the loss: its tokenizer's pad, from 0.16 on if it has no other use."""
    if plan.framework != "megatron" or tokenizer is None or plan.eod is not None:
        return None
    pad = tokenizer.special.get("pad_token")
    if pad is None:
        return None
    shared = any(number == pad for name, number in tokenizer.special.items() if name != "pad_token")
    return None if shared and number_of(plan.version) >= (0, 16) else pad

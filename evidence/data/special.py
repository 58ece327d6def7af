"""The special ids of a run against the data: what ends a document, what is masked, and what the tokenizer says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...mappings.keys_compiled import PADS_OF_OTHER_USE_COUNT, PADS_OUT_FOR_GOOD
from ...schemas.message import NOTHING
from ...schemas.versions import within
from .messages_compiled import say
from .plan import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...schemas.diagnostic import Diagnostic, Severity
    from ...schemas.message import Words
    from .plan import Plan
    from .tokenizer import Tokenizer
    from .tokens import Scan

_USUAL = 0.9
"""The share of sequences from which on an id counts as the one that ends them."""


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
    of_tokenizer = None if tokenizer is None else tokenizer.special.get("eos_token")
    eod = of_tokenizer if plan.eod is None and plan.framework == "megatron" else plan.eod
    ended = _ended(plan, name, scan, None if eod is None or eod < 0 else eod)
    found = [] if ended is None else [told(say.eod(what=ended[0]), plan.file, plan.place("eod").span, ended[1])]
    if eod is not None and eod >= 0 and of_tokenizer is not None and of_tokenizer != eod:
        what = say.eod_is_but_the_tokenizer(eod=eod, of_tokenizer=of_tokenizer)
        found.append(told(say.special(what=what), plan.file, plan.place("eod").span))
    return found


def _ended(plan: Plan, name: str, scan: Scan, eod: int | None) -> tuple[Words, Severity | None] | None:
    """What is wrong between the id that ends a document for the run, and what the documents end with."""
    matters = plan.ends_matter
    usual = usual_end(scan)
    ending = NOTHING if usual is None else say.of_the_sequences_end_with(usual=usual[1], usual2=usual[0])
    where = f"{name}: "
    if eod is None:
        missed = matters and plan.framework == "mindformers"
        return (say.the_run_masks_or_resets_2(where=where, ending=ending), None) if missed else None
    if matters and scan.complete and not scan.counts.get(eod, 0):
        return say.the_run_masks_or_resets(where=where, eod=eod, ending=ending), None
    if usual is None or usual[1] < _USUAL or usual[0] == eod:
        return None
    said = say.the_run_takes_for_the(where=where, eod=eod, usual=usual[1], usual2=usual[0])
    if matters:
        return said, "error"
    return (said, "warning") if plan.framework == "mindformers" else None


def _masked(plan: Plan, name: str, scan: Scan, tokenizer: Tokenizer | None, others: Sequence[Plan]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    padding = {_pads(other, tokenizer) for other in others}
    for token, where in plan.unseen.items():
        count = scan.counts.get(token, 0)
        if not count or (where == "loss" and token in padding):
            continue
        key = plan.place("pad" if where == "loss" else "pad_token_id")
        text = say.in_the_loss() if where == "loss" else say.in_attention()
        found.append(
            told(
                say.masked(
                    what=say.is_masked_and_the_data(
                        name=name, value=key.key.rpartition(".")[2], token=token, count=count, text=text
                    )
                ),
                plan.file,
                key.span,
            )
        )
    pads = _pads(plan, tokenizer)
    if pads is not None and scan.counts.get(pads, 0) and not any(pads in other.unseen for other in others):
        lasting = within(plan.version, *PADS_OUT_FOR_GOOD) and not plan.ends_matter
        more = say.in_this_version_the_places() if lasting else NOTHING
        found.append(
            told(
                say.masked(
                    what=say.megatron_leaves_the_tokenizer_s(name=name, pads=pads, count=scan.counts[pads], more=more)
                ),
                plan.file,
                None,
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
    return None if shared and within(plan.version, *PADS_OF_OTHER_USE_COUNT) else pad

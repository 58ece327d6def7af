"""The rule about settings that load and cannot run, by the table that the loss report of a translation uses, too."""

from __future__ import annotations

from ..mapper.stopping import stopping
from ..mappings.keys_compiled import RUN_MODE
from ..schemas.light_typing import TYPE_CHECKING
from .rule import Found, at_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .subject import Subject

_NAMES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers"}


def will_not_run(subject: Subject) -> Iterator[Found]:
    """What the framework stops at after it has loaded the file; what another rule says is left to it."""
    for side in subject.sides:
        if side.framework == "mindformers" and side.config.value(RUN_MODE) not in (None, "train", "finetune"):
            continue
        for one in stopping(side.config, side.recipe):
            if one.stop.rule is not None:
                continue
            values = {
                "framework": _NAMES[side.framework],
                "version": side.config.framework_version,
                "why": one.en,
                "why_zh": one.zh,
                "instead": one.stop.instead,
            }
            yield Found(at_key(side.framework, one.stop.at), values)

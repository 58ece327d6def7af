"""The rule about settings that load and cannot run, by the table that the loss report of a translation uses, too."""

from __future__ import annotations

from ..mapper.startup import stop_reasons
from ..mappings.keys_compiled import RUN_MODE
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.megatron.effective import more_may_stand
from ..schemas.versions import TITLES
from .rule import Found, at_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..schemas.config import Config
    from .subject import Subject


def will_not_run(subject: Subject) -> Iterator[Found]:
    """What the framework stops at after it has loaded the file; what another rule says is left to it."""
    for side in subject.sides:
        if side.framework == "mindformers" and side.config.value(RUN_MODE) not in (None, "train", "finetune"):
            continue
        for one in stop_reasons(side.config, side.recipe):
            if one.stop.rule is not None:
                continue
            values = {
                "framework": TITLES[side.framework],
                "version": side.config.framework_version,
                "why": one.en,
                "why_zh": one.zh,
                "instead": one.stop.instead,
            }
            unsure = side.explicit(one.stop.at) is None and _may_stand(side.config)
            yield Found(at_key(side.framework, one.stop.at), values, severity="warning" if unsure else None)


def _may_stand(config: Config) -> bool:
    """Whether a launch may hold an argument that it does not show."""
    launch = config.launch
    return launch is not None and (launch.not_given is not None or more_may_stand(config.unresolved, config.problems))

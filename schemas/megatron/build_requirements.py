"""Requirements of what Megatron-LM builds after its validation: the tokenizer, the optimizer and the schedule."""

from __future__ import annotations

from operator import attrgetter

from ..fast_records import TYPE_CHECKING, NamedTuple
from ..message import NOTHING, verbatim
from .forks import may_take_it
from .messages_compiled import say
from .validation import unmet_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..config import Config
    from ..message import Words

_STOPPED = ("MAP035", "MAP117")
"""The validation has come to no end, or the script lacks its arguments: what would be built is another matter."""
_OVERRIDABLE = attrgetter("overridable")


class NotBuilt(NamedTuple):
    """A requirement that is not met."""

    key: str
    """The first of its arguments that is written, or else one that is missing."""
    condition: str
    why: Words
    certain: bool
    """True if the run stops; what is not in the file, or a fork, may meet the requirement."""


def unmet_requirements(config: Config) -> Iterator[NotBuilt]:
    """Every requirement that is not met; none where values are open that may meet it."""
    if config.framework != "megatron" or _is_open(config):
        return
    for condition, when, read in unmet_rows(config):
        names = sorted(read, key=lambda name: name not in condition)
        written = next((name for name in names if config.settings[name].origin == "explicit"), None)
        missing = next((name for name in names if config.value(name) is None), names[0])
        why = say.is_required(condition=condition, when=_when(when))
        given = written is not None or config.launch is None or config.launch.not_given is None
        yield NotBuilt(written or missing, condition, why, given and not may_take_it(config))


def _is_open(config: Config) -> bool:
    """True if another value may stand than the file gives, or nothing gets as far as building."""
    if config.unresolved or any(map(_OVERRIDABLE, config.settings.values())):
        return True
    return any(problem.kind.code in _STOPPED for problem in config.problems)


def _when(condition: str) -> Words:
    """When a requirement counts; nothing where that is the training script's affair."""
    if condition.startswith("script_default"):
        return NOTHING
    return say.when_so(when=verbatim(condition.split(" and script_default")[0]))

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
    if config.framework != "megatron" or config.unresolved or any(map(_OVERRIDABLE, config.settings.values())):
        return
    if any(problem.kind.code in _STOPPED for problem in config.problems):
        return
    for condition, when, read in unmet_rows(config):
        names = sorted(read, key=lambda name: name not in condition)
        written = next((name for name in names if config.settings[name].origin == "explicit"), None)
        missing = next((name for name in names if config.value(name) is None), names[0])
        # what the training script does by itself is not the arguments' affair
        by_script = when.startswith("script_default")
        counts = NOTHING if by_script else say.when_so(when=verbatim(when.split(" and script_default")[0]))
        why = say.is_required(condition=condition, when=counts)
        given = written is not None or config.launch is None or config.launch.not_given is None
        yield NotBuilt(written or missing, condition, why, given and not may_take_it(config))

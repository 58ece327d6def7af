"""What Megatron-LM's own parser makes of a launch, beside what accmap reads of it.

Where what runs holds the parser, a pair rests on it: another value, or a refusal, is told and keeps a match from being
one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..mappings.keys_compiled import SETTLED_LATER
from ..schemas.json_values import json_value
from ..schemas.message import verbatim
from .messages_compiled import say
from .not_compared import NotCompared, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..schemas.config import Config

LAUNCH = "launch"
"""What stands in a field's place where the whole launch is meant."""


def parsed(answers: Mapping[str, Any] | None) -> bool | None:
    """Whether the model's arguments came of the framework's own parser; None for a framework that has none."""
    return None if answers is None else "values" in answers["small"]


def asked_of_its_own(answers: Mapping[str, Any] | None) -> bool | None:
    """Whether that parser was given the file's own launch, beside the small one."""
    return None if answers is None else "written" in answers


def unasked(answers: Mapping[str, Any] | None, language: str) -> list[NotCompared]:
    """That a launch needs what is not here, for the parser to read it."""
    found = (answer["absent"] for answer in (answers or {}).values() if "absent" in answer)
    return [NotCompared(LAUNCH, say.launch_not_parsed(reason=verbatim(why)).text(language)) for why in found][:1]


def readings_apart(
    config: Config, small: Config, answers: Mapping[str, Any] | None, language: str
) -> list[NotCompared]:
    """The arguments that the parser reads in another way than accmap, of the user's file and of the small one."""
    if answers is None:
        return []
    found: dict[str, NotCompared] = {}
    for one, name in ((config, "written"), (small, "small")):
        answer = answers.get(name, {})
        if "refused" in answer:
            said = _REFUSED[name](reason=verbatim(answer["refused"])).text(language)
            found.setdefault(LAUNCH, NotCompared(LAUNCH, said))
        for key, ours, real in _apart(one, answer.get("values", {})):
            values = Values(ours, real)
            found.setdefault(key, NotCompared(key, say.launch_read_apart(argument=key).text(language), values))
    return list(found.values())


_REFUSED = {"written": say.launch_refused, "small": say.small_launch_refused}


def _apart(config: Config, real: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key, setting in config.settings.items():
        if key not in real or key in SETTLED_LATER or not setting.decided or setting.overridable:
            continue
        ours = json.loads(json.dumps(json_value(setting.value)))
        if ours != real[key]:
            yield key, ours, real[key]

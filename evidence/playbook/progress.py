"""The state of a playbook's directory: files that checks wait for, and answers that their files already give."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal

from ...schemas.border.file_input import read_json, read_regular
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from .plan import Check, Plan, Stage

State = Literal["passed", "failed", "undecided", "unusable", "waiting", "ready"]
"""`ready`: all files are there and a command has to judge them."""

_OPEN_BOX = re.compile(r"^\s*[-*|] *\[ \] *\|? *(.*)$", re.MULTILINE)
_BOX = re.compile(r"^\s*[-*|] *\[[ xX]\]", re.MULTILINE)


class CheckState(NamedTuple):
    """One check as the directory has it now."""

    stage: Stage
    check: Check
    state: State
    missing: tuple[str, ...] = ()
    message: str = ""
    exit_code: int | None = None
    open_boxes: int = 0


def check_states(plan: Plan, directory: str, language: Language = "en") -> list[CheckState]:
    """Every check, in order; those that are `ready` are yet to be judged by their command."""
    return [stand(plan, stage, check, directory, language) for stage in plan.stages for check in stage.checks]


def with_exit_code(found: CheckState, exit_code: int, message: str, *, undecided: bool = False) -> CheckState:
    """A ready check after its command has run; `undecided` where it said that its evidence is missing."""
    bad: State = "undecided" if undecided else "failed"
    state: State = "passed" if exit_code == 0 else bad if exit_code == 1 else "unusable"
    return found._replace(state=state, exit_code=exit_code, message=message)


def next_of(standings: list[CheckState]) -> CheckState | None:
    """The check to do next: the first one that is not passed; an optional one only if it has failed."""
    for found in standings:
        if found.state == "passed" or (found.check.optional and found.state in ("waiting", "ready")):
            continue
        return found
    return None


def stand(plan: Plan, stage: Stage, check: Check, directory: str, language: Language = "en") -> CheckState:
    """One check as its files are now."""
    missing = tuple(name for name in check.needs if not stands(os.path.join(directory, name)))
    if missing:
        return CheckState(stage, check, "waiting", missing)
    old = outdated_file(plan, check, directory)
    if old:
        return CheckState(stage, check, "waiting", message=say.older_than_the_pair(file=old).text(language))
    if check.ticks is not None:
        return _state_of_boxes(stage, check, directory, language)
    if check.answer is not None:
        return _state_of_answer(stage, check, directory, language)
    return CheckState(stage, check, "ready")


def outdated_file(plan: Plan, check: Check, directory: str) -> str:
    """The file on which a check rests, where the pair has changed since it was made; else an empty text."""
    made = check.answer.file if check.answer is not None else check.ticks
    if made is None:
        return ""
    # A side that the playbook wrote itself follows from the other one, and is written anew with the rest.
    given = [name for name in (plan.names.megatron, plan.names.mindformers) if not name.startswith("configuration/")]
    pair = [os.path.join(directory, name) for name in given]
    changed = max((os.path.getmtime(path) for path in pair if os.path.isfile(path)), default=0.0)
    path = os.path.join(directory, made)
    return made if os.path.isfile(path) and os.path.getmtime(path) < changed else ""


def stands(path: str) -> bool:
    """True if a file is there, or a folder with something in it."""
    return bool(os.listdir(path)) if os.path.isdir(path) else os.path.isfile(path)


def _state_of_boxes(stage: Stage, check: Check, directory: str, language: Language) -> CheckState:
    assert check.ticks is not None
    try:
        text = read_regular(os.path.join(directory, check.ticks)).decode("utf-8")
    except UnicodeDecodeError as error:
        return CheckState(stage, check, "unusable", message=f"{check.ticks}: {error}")
    except UnreadableError as error:
        return CheckState(stage, check, "unusable", message=error.diagnostic.message(language))
    open_boxes = _OPEN_BOX.findall(text)
    if not _BOX.search(text):
        return CheckState(stage, check, "unusable", message=f"{check.ticks} has no boxes to tick")
    if open_boxes:
        first = " ".join(cell.strip() for cell in open_boxes[0].strip(" |").split("|")[:2])
        return CheckState(stage, check, "waiting", message=first, open_boxes=len(open_boxes))
    return CheckState(stage, check, "passed")


def _state_of_answer(stage: Stage, check: Check, directory: str, language: Language) -> CheckState:
    answer = check.answer
    assert answer is not None
    try:
        content: Any = read_json(os.path.join(directory, answer.file))
    except ValueError as error:
        return CheckState(stage, check, "unusable", message=f"{answer.file}: {error}")
    except UnreadableError as error:
        return CheckState(stage, check, "unusable", message=error.diagnostic.message(language))
    value: object = content.get(answer.key) if isinstance(content, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if value == answer.open:
        return CheckState(stage, check, "waiting", message=_why(content.get(answer.why)))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    lacking = [name for name in answer.has if not (isinstance(content, dict) and content.get(name))]  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(value, str) or (value == answer.good and lacking):
        lacks = answer.key if not isinstance(value, str) else lacking[0]
        return CheckState(stage, check, "unusable", message=f"{answer.file} has no {lacks!r}")
    return CheckState(stage, check, "passed" if value == answer.good else "failed", message=value)


def _why(found: Any) -> str:
    first: Any = found[0] if isinstance(found, list) and found else None  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(first, dict):
        return ""
    return ": ".join(str(first[name]) for name in ("reason", "explanation") if first.get(name))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

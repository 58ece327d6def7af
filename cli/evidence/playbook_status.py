"""`accmap playbook status DIR`: judges what a playbook's directory holds and says what comes next."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import TYPE_CHECKING

from ...evidence.playbook.plan import FILE, PlanError, check_states, command_line, next_of, plan_from, with_exit_code
from ...schemas.border.file_input import read_json
from ...schemas.border.text_output import emit, json_text, paint, say
from ...schemas.diagnostic import UnreadableError
from ...schemas.shared_words import mark
from ...schemas.verdict import Unseen, conclude, unseen_json
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..messages_compiled import say as usage
from ..terminal import pad, wants_colour
from .playbook import PROGRAM, layout_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.playbook.plan import CheckState, Plan
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import PlaybookStatusArgs

_FINDING = re.compile(r"\b[A-Z]{3}\d{3}\b")
"""A line that says what is wrong carries the finding's code; remarks (`info[CODE]`) decide nothing."""
_VERDICT_FIRST = ("logs", "dump", "check", "lr")
"""Commands whose answer begins with the verdict."""

_STYLES = {
    "passed": "green", "failed": "red", "undecided": "yellow", "unusable": "red", "waiting": "dim", "ready": "dim",
}  # fmt: skip


def run(args: PlaybookStatusArgs) -> int:
    """Print where the directory stands; 1 where a check failed or its files are unusable."""
    directory = args.files[0]
    plan = plan_in(directory)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        standings = list(
            pool.map(judge, check_states(plan, directory, args.lang), repeat(directory), repeat(args.lang))
        )
    if args.format == "json":
        emit(json_text(standings_json(directory, standings, args.lang)))
    else:
        page(standings, args.lang)
    return FINE if verdict_of(standings) == "passed" else BAD


def plan_in(directory: str) -> Plan:
    """The plan of a playbook that stands; UsageError where it is none."""
    try:
        content = read_json(os.path.join(directory, FILE))
        return plan_from(content, layout_of(directory))
    except UnreadableError as error:
        raise UsageError(
            usage.accmap_playbook_a_b_d(message=error.diagnostic.words()),
        ) from None
    except (PlanError, ValueError) as error:
        path = os.path.join(directory, FILE)
        why = error.why if isinstance(error, PlanError) else usage.not_valid_json_of_a_plan(said=error)
        raise UsageError(usage.cannot_be_used(path=path, why=why)) from None


def verdict_of(standings: Sequence[CheckState]) -> str:
    """Passed is said of a book whose every check has passed that must; one that waits is still open."""
    wrong = any(found.state in ("failed", "unusable") for found in standings)
    passed = sum(found.state == "passed" for found in standings)
    return conclude("passed", "failed", wrong=wrong, compared=passed, unseen=_open_checks(standings))


def _open_checks(standings: Sequence[CheckState]) -> list[Unseen]:
    return [
        Unseen(
            f"{found.stage.id}/{found.check.id}",
            *(usage.what_it_rests_on_is_missing() if found.state == "undecided" else usage.not_done_yet()).both(),
        )
        for found in standings
        if found.state in ("waiting", "ready", "undecided") and not found.check.optional
    ]


def judge(found: CheckState, directory: str, language: Language) -> CheckState:
    """A check whose files are there, judged by its command."""
    if found.state != "ready":
        return found
    command = [*PROGRAM, *found.check.judge, "--lang", language]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, encoding="utf-8", check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    undecided = done.stdout.lstrip().lower().startswith(_without_evidence(language))
    return with_exit_code(found, done.returncode, _reason(said, found.check.judge[0]).strip(), undecided=undecided)


def _without_evidence(language: Language) -> tuple[str, ...]:
    """First words of an answer that lacks its evidence, or some of it: nothing was found to be wrong."""
    word = usage.page("without_evidence", language)
    return word("undecided"), word("undecidable"), word("partial")


def _reason(said: Sequence[str], command: str) -> str:
    """The line of a command's answer that says best why a check has not passed."""
    if command == "lr":
        return _sentences(said)
    if command in _VERDICT_FIRST:
        return next(iter(said), "")
    findings = [line for line in said if _FINDING.search(line) and " info[" not in line]
    errors = [line for line in findings if " error[" in line]
    return next(iter(errors or findings or said[-1:]), "")


def _sentences(said: Sequence[str]) -> str:
    """The first sentences of an answer, which is broken into lines as the terminal needs it."""
    found = ""
    for line in said:
        chinese = line[:1] > "\u2e80" and found[-1:] > "\u2e80"
        found += line if chinese or not found else f" {line}"
        if line.endswith((mark("stop", "en"), mark("stop", "zh"))):
            break
    return found


def page(standings: Sequence[CheckState], language: Language) -> None:
    """Print where every check stands, and what comes next."""
    colour, state_word = wants_colour(), usage.page("check_state", language)
    stage = None
    for found in standings:
        if found.stage.id != stage:
            stage = found.stage.id
            say(paint(found.stage.title[language], "bold", colour))
        state = state_word(found.state)
        detail = "" if found.state == "passed" else _detail(found, language)
        line = f"  {paint(pad(state, 9), _STYLES[found.state], colour)} {found.check.title[language]}"
        say(f"{line} · {detail}" if detail else line)
    following = next_of(list(standings))
    word = usage.page("playbook_status", language)
    say()
    if following is None:
        say(word("done"))
        return
    say(paint(word("next", title=following.check.title[language]), "bold", colour))
    for line in _steps(following, language):
        say(f"  {line}")


def _detail(found: CheckState, language: Language) -> str:
    word = usage.page("playbook_status", language)
    if found.missing:
        return word("needs", files=", ".join(found.missing))
    if found.open_boxes:
        return word("open", count=found.open_boxes, first=_item(found.message, language))
    return found.message


def _item(message: str, language: Language) -> str:
    """An item of the checklist: the guide names it in English, and a reader of Chinese is told what it asks."""
    from ...rules.checklist import ROWS

    name = message.partition(" ")[0]
    asked = next((row.what_zh for row in ROWS if f"`{row.identifier}`" == name), None)
    return message if asked is None or language == "en" else f"{name} {asked}"


def _steps(found: CheckState, language: Language) -> list[str]:
    """Steps for a check that has not passed."""
    if found.state in ("failed", "undecided", "unusable"):
        again = [command_line(found.check.judge)] if found.check.judge else list(found.check.actions(language))
        return [found.check.otherwise[language], *again]
    steps = list(found.check.actions(language))
    page = f"{found.stage.folder}/README{'.zh-CN' if language == 'zh' else ''}.md"
    return [*(steps or [found.check.otherwise[language]]), usage.page("playbook_status", language)("read", page=page)]


def standings_json(directory: str, standings: Sequence[CheckState], language: Language) -> dict[str, object]:
    """The same as the contract's JSON."""
    following = next_of(list(standings))
    return {
        "directory": directory,
        "verdict": verdict_of(standings),
        "not_compared": unseen_json(_open_checks(standings), language),
        "checks": [
            {
                "stage": found.stage.id,
                "check": found.check.id,
                "title": found.check.title[language],
                "state": found.state,
                "optional": found.check.optional,
                "missing": list(found.missing),
                "command": ["accmap", *found.check.judge] if found.check.judge else None,
                "exit_code": found.exit_code,
                "message": _detail(found, language),
                "procedure": list(found.check.sources),
            }
            for found in standings
        ],
        "next": None
        if following is None
        else {
            "stage": following.stage.id,
            "check": following.check.id,
            "do": _steps(following, language),
        },
    }

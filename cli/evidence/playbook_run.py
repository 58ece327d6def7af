"""`accmap playbook run DIR`: does what this machine can of a playbook, in order.

What stands already is not made again, so that a run that was interrupted goes on where it was. It ends at the first
check that has not passed, or that needs a launch on the machines that train: that launch line is told, never executed,
and neither is anything else from the directory. What only a person can do (a list to tick) is left open on the way.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from ...evidence.playbook.plan import command_line, outdated_file, stand, stands
from ...schemas.border.text_output import emit, json_text, say, tell
from ...schemas.fast_records import NamedTuple
from ..exit_codes import BAD, FINE
from ..messages_compiled import say as words
from .playbook import PROGRAM
from .playbook_status import judge, page, plan_in, standings_json, verdict_of

if TYPE_CHECKING:
    from ...evidence.playbook.launches import Action
    from ...evidence.playbook.plan import Check, CheckState, Plan, Stage
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import PlaybookRunArgs


class Done(NamedTuple):
    """A command that was run, and how it ended."""

    check: str
    command: tuple[str, ...]
    exit_code: int


def run(args: PlaybookRunArgs) -> int:
    """Work through the checks and tell where the directory stands; 0 where every check has passed."""
    directory = args.files[0]
    worker = _Worker(plan_in(directory), directory, args.lang)
    worker.work()
    if args.format == "json":
        answer = standings_json(directory, worker.standings, args.lang)
        answer["done"] = [{**one._asdict(), "command": ["accmap", *one.command]} for one in worker.done]
        answer["stand_ins"] = worker.plan.layout.settings.stand_ins
        emit(json_text(answer))
    else:
        page(worker.standings, args.lang)
        worker.tell_stop()
    return FINE if verdict_of(worker.standings) == "passed" else BAD


class _Worker:
    def __init__(self, plan: Plan, directory: str, language: Language) -> None:
        self.plan = plan
        self.directory = directory
        self.language: Language = language
        self.standings: list[CheckState] = []
        self.done: list[Done] = []
        self.stopped: CheckState | None = None
        self.launch: Action | None = None

    def work(self) -> None:
        """Every check up to the first that has not passed or has to be launched; the others as their files are."""
        checks = [(stage, check) for stage in self.plan.stages for check in stage.checks]
        for number, (stage, check) in enumerate(checks, 1):
            if self.stopped is not None:
                self.standings.append(self._now(stage, check))
                continue
            title = check.title[self.language]
            tell(words.run_begins(number=number, count=len(checks), title=title).text(self.language))
            self.launch = None if check.optional else self._do(stage, check)
            found = judge(self._now(stage, check), self.directory, self.language)
            self.standings.append(found)
            if self.launch is not None or (found.state in ("failed", "undecided") and not check.optional):
                self.stopped = found

    def _now(self, stage: Stage, check: Check) -> CheckState:
        return stand(self.plan, stage, check, self.directory, self.language)

    def _do(self, stage: Stage, check: Check) -> Action | None:
        """Run the commands of a check whose products are missing; the launch that has to come first, if one does."""
        # An answer that is older than the pair, or that could not be found out, is asked for anew.
        again = bool(outdated_file(self.plan, check, self.directory))
        again |= check.answer is not None and self._now(stage, check).state == "waiting"
        for action in check.steps:
            there = bool(action.makes) and stands(os.path.join(self.directory, action.makes))
            if there and not again:
                tell(words.run_kept(file=action.makes).text(self.language))
            elif action.kind == "launch":
                return action
            elif action.kind == "accmap" and not self._run(check, action):
                return None
        return None

    def _run(self, check: Check, action: Action) -> bool:
        """True if a command has made what it should."""
        tell(words.run_does(command=command_line(action.words)).text(self.language))
        command = [*PROGRAM, *action.words, "--lang", self.language]
        code = subprocess.run(command, cwd=self.directory, stdout=subprocess.DEVNULL, check=False).returncode
        self.done.append(Done(check.id, action.words, code))
        if code:
            tell(words.run_ended(code=code).text(self.language))
        return bool(action.makes) and stands(os.path.join(self.directory, action.makes))

    def tell_stop(self) -> None:
        """Print the reason for the stop, and the command that goes on."""
        stopped = self.stopped
        if stopped is None:
            return
        title = stopped.check.title[self.language]
        say()
        if self.launch is None:
            say(words.run_failed_at(title=title).text(self.language))
            return
        say(words.run_needs_the_cluster(title=title).text(self.language))
        say(f"  {self.launch.line}")
        names = self.plan.layout.settings.stand_ins
        if names:
            path = os.path.join(self.directory, "playbook.toml")
            say(words.stand_ins(path=path, names=", ".join(names)).text(self.language))

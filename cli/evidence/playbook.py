"""`accmap playbook A [B] -d DIR`, `playbook run DIR`, `playbook status DIR`: the accuracy guide as a directory.

Files that are there already: `plan.json` has the checksum of each as it was written. A second run for the same pair
replaces those that nobody has changed, keeps `playbook.toml`, and keeps the ticks of a checklist whose rows are the
same.

`playbook run` does what this machine can, in order. What is there already is not made again, so that an interrupted run
continues. It ends at the first check that has not passed, or that needs a launch on the machines that train: that
launch line is told, never executed, and neither is anything else from the directory. What only a person can do (a list
to tick) is left open on the way.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ...evidence.data.check import plan_of as data_plan_of
from ...evidence.playbook.launches import FILE as SETTINGS
from ...evidence.playbook.launches import (
    Layout,
    Settings,
    SettingsError,
    devices_of,
    fill_example,
    settings_of,
    settings_text,
)
from ...evidence.playbook.plan import (
    FILE,
    Names,
    PlanError,
    check_states,
    command_line,
    inference_plan,
    next_of,
    outdated_file,
    pages,
    patches,
    plan_from,
    plan_of,
    reading_words,
    stand,
    stands,
    with_exit_code,
)
from ...evidence.threads import map_in_threads
from ...mapper.align.ladder import PLACEHOLDER
from ...mapper.recipe.reading import recipe_of
from ...schemas.border.file_input import read_json, read_regular, read_text
from ...schemas.border.file_output import TemporaryFolder, write_folder, write_text
from ...schemas.border.inputs import open_regular
from ...schemas.border.text_output import emit, json_text, paint, say, tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.file_kind import runs_inference
from ...schemas.installation import module_command
from ...schemas.shared_words import mark
from ...schemas.verdict import Unseen, conclude, unseen_json
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import load, target_like
from ..messages_compiled import say as usage
from ..terminal import pad, wants_colour

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...evidence.playbook.launches import Action
    from ...evidence.playbook.plan import Check, CheckState, Plan, Stage
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import PlaybookArgs, PlaybookRunArgs, PlaybookStatusArgs

_TICKED = "checklist.md"
_MOST = 1 << 16


def given_settings(directory: str, source: Config) -> Settings:
    """Settings of `playbook.toml`; if there is none yet, those of the pair's own files and stand-ins."""
    blend = data_plan_of(source).blend
    paths = dict.fromkeys(blend.prefixes if blend is not None else (PLACEHOLDER,))
    return settings_in(directory, {path: path for path in paths})


def settings_in(directory: str, paths: Mapping[str, str] = {}) -> Settings:
    """The settings of a directory; UsageError where its file cannot be used."""
    path = os.path.join(directory, SETTINGS)
    if not os.path.lexists(path):
        return Settings(paths)
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        text = read_text(path).text
        if len(text) > _MOST or any(line.partition("=")[0].count(".") > _DEEPEST for line in text.split("\n")):
            raise ValueError("too large")
        return settings_of(toml.loads(text), paths)
    except UnreadableError as error:
        raise UsageError(error.diagnostic.words()) from None
    except SettingsError as error:
        raise UsageError(usage.cannot_be_used(path=path, why=error.words)) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(usage.is_not_valid_toml(path=path, error=error)) from None


_DEEPEST = 64


def layout_of(directory: str) -> Layout:
    """Folder of an existing playbook, and the way its runs are started."""
    settings = settings_in(directory)
    return Layout(os.path.abspath(directory), settings, trees=trees_here(settings, directory))


def trees_here(settings: Settings, home: str) -> tuple[str, ...]:
    """Options that name those source trees of `playbook.toml`, as seen from its folder, that this machine has."""
    named = {"megatron": settings.megatron.source, "mindformers": settings.mindformers.source}
    return tuple(f"--{name}-source={path}" for name, path in named.items() if _is_tree(home, path))


def _is_tree(home: str, path: str) -> bool:
    return bool(path) and os.path.isdir(os.path.join(home, path))


def plan_text(plan: Plan, texts: Mapping[str, str]) -> str:
    """`plan.json`, with the checksum of every file as it is written."""
    sums = {name: _sum(_bytes_of(text)) for name, text in sorted(texts.items()) if name != SETTINGS}
    return json.dumps({**plan.to_json(), "written": sums}, ensure_ascii=False, indent=1) + "\n"


def previous_checksums(directory: str, plan: Plan) -> Mapping[str, str] | None:
    """The checksums of a playbook of the same pair that stands there; None where there is none."""
    try:
        content: Any = json.loads(_read_existing(os.path.join(directory, FILE)))
    except (OSError, UnreadableError, ValueError, RecursionError):
        return None
    same = {**plan.names._asdict(), "reading": list(plan.reading)}
    if not isinstance(content, dict):
        return None
    found = cast("dict[str, Any]", content)
    if any(found.get(name) != value for name, value in same.items()):
        return None
    sums: Any = found.get("written")
    return cast("dict[str, str]", sums) if isinstance(sums, dict) else None


def can_overwrite(texts: Mapping[str, str], directory: str, before: Mapping[str, str] | None) -> bool:
    """True if every file in the directory is unchanged since it was written, or already has the new text."""
    if before is None:
        return False
    for name, text in texts.items():
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            now = _sum(_read_existing(path))
            if now not in (before.get(name), _sum(_bytes_of(text))):
                return False
    return True


def with_ticks(texts: Mapping[str, str], directory: str) -> dict[str, str]:
    """The files, with a checklist as a person ticked it where its rows are still the same."""
    kept = dict(texts)
    for name, text in texts.items():
        path = os.path.join(directory, name)
        if os.path.basename(name) == _TICKED and os.path.isfile(path):
            standing = _read_existing(path).decode("utf-8", "replace")
            if _open(standing) == _open(text):
                kept[name] = standing
    return kept


def _read_existing(path: str) -> bytes:
    """The content of a file that the playbook may overwrite; it refuses anything that is not a plain file."""
    with open_regular(path, remember=False) as stream:
        return stream.read()


def _open(text: str) -> str:
    """A checklist with every tick box emptied."""
    return re.sub(r"\[[ xX]\]", "[ ]", text)


def _sum(data: bytes) -> str:
    """Digest of a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _bytes_of(text: str) -> bytes:
    """A text's bytes for its digest; the border refuses to write one that is not UTF-8."""
    return text.encode("utf-8", "surrogatepass")


_OTHER = {
    "megatron": ("mindformers", "configuration/example.yaml"),
    "mindformers": ("megatron", "configuration/example.sh"),
}


def run(args: PlaybookArgs) -> int:
    """Write the playbook whole; nothing is written where one of its files may not be."""
    configs, directory = _pair(args)
    if args.inference:
        return _write_inference(args, configs, directory)
    by_framework = {config.framework: config for config in configs}
    if len(by_framework) < len(configs):
        raise UsageError(usage.a_pair_has_one_file(file=args.files[0], file2=args.files[1]))
    source = by_framework.get("megatron", configs[0])
    settings = given_settings(directory, source)
    plan, kept = _plan_and_files(by_framework, source, directory, args.reading, settings)
    texts = with_ticks({**pages(plan), **kept, **patches()}, directory)
    force = args.force or can_overwrite(texts, directory, previous_checksums(directory, plan))
    if not os.path.lexists(os.path.join(directory, SETTINGS)):
        texts[SETTINGS] = settings_text(settings)
    texts[FILE] = plan_text(plan, texts)
    written = {os.path.join(directory, name): text for name, text in sorted(texts.items())}
    write_folder(directory, written, force=force)
    _tell(directory, list(written), plan, args.format, args.lang)
    return FINE


def _write_inference(args: PlaybookArgs, configs: Sequence[Config], directory: str) -> int:
    """Write the playbook of an inference configuration and its benchmark, whichever is named first."""
    yaml = next((one for one in reversed(configs) if one.framework == "mindformers" and runs_inference(one)), None)
    benchmark = next((one for one in configs if one is not yaml), None)
    if yaml is None or benchmark is None or not (benchmark.framework == "huggingface" or runs_inference(benchmark)):
        raise UsageError(usage.inference_playbook_needs())
    paths = [_no_option(os.path.relpath(one.file, directory)) for one in (benchmark, yaml)]
    plan = inference_plan(
        Names(paths[0], paths[1], paths[1]), reading_words(args.reading), Layout(os.path.abspath(directory))
    )
    texts = pages(plan)
    force = args.force or can_overwrite(texts, directory, previous_checksums(directory, plan))
    texts[FILE] = plan_text(plan, texts)
    written = {os.path.join(directory, name): text for name, text in sorted(texts.items())}
    write_folder(directory, written, force=force)
    _tell(directory, list(written), plan, args.format, args.lang)
    return FINE


def _pair(args: PlaybookArgs) -> tuple[list[Config], str]:
    """The configurations of the two files and the directory to write to; UsageError if they do not fit."""
    directory, options = args.directory, args.reading
    if directory is None:
        raise UsageError(usage.playbook_needs_the_directory_to())
    if "-" in args.files:
        raise UsageError(usage.a_playbook_names_its_pair())
    if options.variables and os.environ.items() <= options.variables.items():
        raise UsageError(usage.a_playbook_writes_down_how())
    configs = [load(name, options, args.stdin_filename, model=args.inference) for name in args.files]
    parent = _parent(directory)
    if not os.path.isdir(parent):
        raise UsageError(usage.is_not_a_directory(parent=parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(usage.cannot_be_written_to(parent=parent))
    return configs, directory


def _parent(directory: str) -> str:
    return os.path.dirname(os.path.abspath(directory)) or "."


def _plan_and_files(
    by_framework: dict[str, Config], source: Config, directory: str, options: ReadOptions, settings: Settings
) -> tuple[Plan, dict[str, str]]:
    """The plan, and the files that accmap's own commands write for it, filled in."""
    recipe, home = recipe_of(source), os.path.abspath(directory)
    words = _names(by_framework, directory), reading_words(options)
    target = _target_words(by_framework, options)
    with TemporaryFolder(_parent(directory)) as made:
        _prepare(plan_of(recipe, *words, Layout(target=target)), by_framework, source, made)
        kept = {name: fill_example(name, text, home, settings) for name, text in _texts(made).items()}
    devices = {os.path.dirname(name): devices_of(text) for name, text in kept.items() if name.endswith("/example.sh")}
    dynamic = any(name.endswith("/example.yaml") and "\ncheckpoint:" in text for name, text in kept.items())
    return plan_of(recipe, *words, Layout(home, settings, devices, dynamic, trees_here(settings, home), target)), kept


def _tell(directory: str, written: list[str], plan: Plan, form: str, language: Language) -> None:
    """Print the number of files written and the settings to fill in; with JSON the files and the checks."""
    stand_ins = plan.layout.settings.stand_ins
    if form == "json":
        checks = [
            {"stage": stage.id, "check": check.id, "procedure": list(check.sources)}
            for stage in plan.stages
            for check in stage.checks
        ]
        emit(json_text({"directory": directory, "files": written, "checks": checks, "stand_ins": stand_ins}))
        return
    word = usage.page("playbook_written", language)
    say(word("written", count=len(written), directory=directory))
    if stand_ins:
        path = os.path.join(directory, SETTINGS)
        say(usage.stand_ins(path=path, names=", ".join(stand_ins)).text(language))
    say(word("next", directory=shlex.quote(directory)))


def _names(by_framework: dict[str, Config], directory: str) -> Names:
    """The paths of the pair's files as seen from the directory; for a missing side the file that will be written."""
    names = {name: _no_option(os.path.relpath(config.file, directory)) for name, config in by_framework.items()}
    source = names.get("megatron", names.get("mindformers", ""))
    for name in list(names):
        other, written = _OTHER[name]
        names.setdefault(other, written)
    return Names(names["megatron"], names["mindformers"], source)


def _no_option(path: str) -> str:
    """A path that no command line takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def _target_words(by_framework: Mapping[str, Config], options: ReadOptions) -> tuple[str, ...]:
    """The options by which the pairs of a script are written for the YAML that was named beside it."""
    yaml = by_framework.get("mindformers")
    if yaml is None or len(by_framework) < len(_OTHER):
        return ()
    asked = target_like(yaml, options).options
    given = reading_words(options)
    return tuple(word for word in reading_words(asked) if word not in given)


def _prepare(plan: Plan, by_framework: dict[str, Config], source: Config, made: str) -> None:
    """Run the accmap commands that the plan lists, in the folder `made`, with the pair under its final names."""
    here = {plan.names.megatron: by_framework.get("megatron"), plan.names.mindformers: by_framework.get("mindformers")}
    absolute = {name: os.path.abspath(config.file) for name, config in here.items() if config is not None}
    for name in (name for name, config in here.items() if config is None):
        _accmap(("convert", os.path.abspath(source.file), "-o", name, *plan.reading), made)
    commands = [words for stage in plan.stages for words in stage.prepare]
    commands += [check.prepare for stage in plan.stages for check in stage.checks if check.prepare]
    for words in commands:
        for word in words:
            if "/" in word and word not in absolute:
                os.makedirs(os.path.join(made, os.path.dirname(word)), exist_ok=True)

    def with_absolute_paths(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(absolute.get(word, word) for word in words)

    def run_there(words: Sequence[str]) -> str:
        return _accmap(words, made)

    map_in_threads(run_there, map(with_absolute_paths, commands), os.cpu_count())
    printing = [entry for stage in plan.stages for entry in stage.writes]
    printed = map_in_threads(run_there, (words for _, words in printing), os.cpu_count())
    for (file, _), text in zip(printing, printed, strict=True):
        path = os.path.join(made, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, text, force=True)


def _accmap(words: Sequence[str], folder: str) -> str:
    """The output of an accmap command run in a folder; UsageError if it could not run."""
    os.makedirs(os.path.join(folder, "configuration"), exist_ok=True)
    code, answer, said = run_apart(words, folder)
    if code not in (FINE, BAD):
        command, said = " ".join(words), said.strip() or answer.strip()
        raise UsageError(usage.accmap_ended_with_exit_code(command=command, returncode=code, said=said))
    return answer


def run_apart(words: Sequence[str], folder: str) -> tuple[int, str, str]:
    """The exit code, the output and the messages of an accmap command in a process of its own."""
    done = subprocess.run(
        module_command("accmap", *words), cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout, done.stderr


def _texts(folder: str) -> dict[str, str]:
    """Texts of all files in a folder, by path, in an order that the file system does not decide."""
    found: dict[str, str] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            found[os.path.relpath(path, folder)] = read_regular(path).decode("utf-8")
    return dict(sorted(found.items()))


_FINDING = re.compile(r"\b[A-Z]{3}\d{3}\b")
"""A line that says what is wrong carries the finding's code; remarks (`info[CODE]`) decide nothing."""
_VERDICT_FIRST = ("logs", "dump", "check", "lr")
"""Commands whose answer begins with the verdict."""

_STYLES = {
    "passed": "green", "failed": "red", "undecided": "yellow", "unusable": "red", "waiting": "dim", "ready": "dim",
}  # fmt: skip


def run_status(args: PlaybookStatusArgs) -> int:
    """Print where the directory stands; 1 where a check failed or its files are unusable."""
    directory = args.files[0]
    plan = plan_in(directory)

    def judge_there(state: CheckState) -> CheckState:
        return judge(state, directory, args.lang)

    standings = map_in_threads(judge_there, check_states(plan, directory, args.lang), os.cpu_count())
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
        raise UsageError(usage.accmap_playbook_a_b_d(message=error.diagnostic.words())) from None
    except (PlanError, ValueError) as error:
        path = os.path.join(directory, FILE)
        why = error.words if isinstance(error, PlanError) else usage.not_valid_json_of_a_plan(said=error)
        raise UsageError(usage.cannot_be_used(path=path, why=why)) from None


def verdict_of(standings: Sequence[CheckState]) -> str:
    """The verdict on all checks: `passed` only if every required check has passed."""
    wrong = any(found.state in ("failed", "unusable") for found in standings)
    passed = sum(found.state == "passed" for found in standings)
    return conclude("passed", "failed", wrong=wrong, compared=passed, unseen=_open_checks(standings))


def _open_checks(standings: Sequence[CheckState]) -> list[Unseen]:
    """The required checks that are not decided yet, each with the reason."""
    return [
        Unseen(
            f"{found.stage.id}/{found.check.id}",
            *(usage.what_it_rests_on_is_missing() if found.state == "undecided" else usage.not_done_yet()).both(),
        )
        for found in standings
        if found.state in ("waiting", "ready", "undecided") and not found.check.optional
    ]


def judge(found: CheckState, directory: str, language: Language) -> CheckState:
    """The state of a check whose files exist: run its command and read the exit code."""
    if found.state != "ready":
        return found
    command = module_command("accmap", *found.check.judge, "--lang", language)
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, encoding="utf-8", check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    undecided = done.stdout.lstrip().lower().startswith(_without_evidence(language))
    return with_exit_code(found, done.returncode, _reason(said, found.check.judge[0]).strip(), undecided=undecided)


def _without_evidence(language: Language) -> tuple[str, ...]:
    """First words of an answer that lacks its evidence, or some of it: nothing was found to be wrong."""
    word = usage.page("without_evidence", language)
    return word("undecided"), word("undecidable"), word("partial")


def _reason(said: Sequence[str], command: str) -> str:
    """The line of a command's output that best explains why a check has not passed."""
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
    """A line on the state of a check: missing files, the first open box, or its message."""
    word = usage.page("playbook_status", language)
    if found.missing:
        return word("needs", files=", ".join(found.missing))
    if found.open_boxes:
        return word("open", count=found.open_boxes, first=_item(found.message, language))
    return found.message


def _item(message: str, language: Language) -> str:
    """A line for an item of the alignment guide; in Chinese with the meaning of its English name."""
    from ..lint_formats.checklist import checklist_rows

    name = message.partition(" ")[0]
    asked = next((row.what_zh for row in checklist_rows() if f"`{row.identifier}`" == name), None)
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
    """The state of every check as JSON."""
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
        else {"stage": following.stage.id, "check": following.check.id, "do": _steps(following, language)},
    }


class Done(NamedTuple):
    """A command that was run, and how it ended."""

    check: str
    command: tuple[str, ...]
    exit_code: int


def run_checks(args: PlaybookRunArgs) -> int:
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
        """Run the checks in order up to the first that fails or needs a launch; judge later ones by their files."""
        checks = [(stage, check) for stage in self.plan.stages for check in stage.checks]
        for number, (stage, check) in enumerate(checks, 1):
            if self.stopped is not None:
                self.standings.append(self._now(stage, check))
                continue
            title = check.title[self.language]
            tell(usage.run_begins(number=number, count=len(checks), title=title).text(self.language))
            self.launch = None if check.optional else self._do(stage, check)
            found = judge(self._now(stage, check), self.directory, self.language)
            self.standings.append(found)
            if self.launch is not None or (found.state in ("failed", "undecided") and not check.optional):
                self.stopped = found

    def _now(self, stage: Stage, check: Check) -> CheckState:
        """The state of a check as its files are now."""
        return stand(self.plan, stage, check, self.directory, self.language)

    def _do(self, stage: Stage, check: Check) -> Action | None:
        """Run the commands of a check whose output files are missing; the action to launch by hand first, if any."""
        # An answer that is older than the pair, or that could not be found out, is asked for anew.
        again = bool(outdated_file(self.plan, check, self.directory))
        again |= check.answer is not None and self._now(stage, check).state == "waiting"
        for action in check.steps:
            there = bool(action.makes) and stands(os.path.join(self.directory, action.makes))
            if there and not again:
                tell(usage.run_kept(file=action.makes).text(self.language))
            elif action.kind == "launch":
                return action
            elif action.kind == "accmap" and not self._run(check, action):
                return None
        return None

    def _run(self, check: Check, action: Action) -> bool:
        """Run the command of an action; True if it produced the expected files."""
        tell(usage.run_does(command=command_line(action.words)).text(self.language))
        command = module_command("accmap", *action.words, "--lang", self.language)
        code = subprocess.run(command, cwd=self.directory, stdout=subprocess.DEVNULL, check=False).returncode
        self.done.append(Done(check.id, action.words, code))
        if code:
            tell(usage.run_ended(code=code).text(self.language))
        return bool(action.makes) and stands(os.path.join(self.directory, action.makes))

    def tell_stop(self) -> None:
        """Print the reason for the stop, and the command that goes on."""
        stopped = self.stopped
        if stopped is None:
            return
        title = stopped.check.title[self.language]
        say()
        if self.launch is None:
            say(usage.run_failed_at(title=title).text(self.language))
            return
        say(usage.run_needs_the_cluster(title=title).text(self.language))
        say(f"  {self.launch.line}")
        names = self.plan.layout.settings.stand_ins
        if names:
            path = os.path.join(self.directory, "playbook.toml")
            say(usage.stand_ins(path=path, names=", ".join(names)).text(self.language))

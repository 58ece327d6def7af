"""The guide's stages and checks (`stages.yaml`) that concern one pair, their pages, and their state in a directory."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from ...mapper.align.ladder import align, steps
from ...mapper.conditions import holds
from ...schemas.border.file_input import package_text, read_json, read_regular
from ...schemas.border.text_output import markdown_code, shell_word
from ...schemas.compilers.tables import load_table
from ...schemas.diagnostic import UnreadableError, WordsError
from ...schemas.fast_records import NamedTuple
from .launches import MADE, Layout, actions_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ...mapper.recipe.values import Recipe
    from ...mappings.tables import Condition
    from ...schemas.config import ReadOptions
    from ...schemas.diagnostic import Language
    from .launches import Action


class Names(NamedTuple):
    """The pair's files as seen from the playbook's directory."""

    megatron: str
    mindformers: str
    source: str


class Plan(NamedTuple):
    """The stages for one pair."""

    names: Names
    reading: tuple[str, ...]
    """The reading options without which the pair's own files say something else."""
    rungs: tuple[int, ...]
    stages: tuple[Stage, ...]
    layout: Layout = Layout()

    def to_json(self) -> dict[str, object]:
        """Content of `plan.json`: names and numbers, no commands."""
        return {
            "format": FORMAT,
            **self.names._asdict(),
            "reading": list(self.reading),
            "rungs": list(self.rungs),
            "devices": dict(self.layout.devices),
            "dynamic": self.layout.dynamic,
            "target": list(self.layout.target),
            "checks": [f"{stage.id}/{check.id}" for stage in self.stages for check in stage.checks],
        }


FILE = "plan.json"
FORMAT = 1
_NO_RUNG = {"rung": "", "name": ""}
_VALUES = ("megatron", "mindformers", "dialect", "world_size", "steps", "dataset_size", "launch")
_NAMES = "|".join((*_VALUES, "var", "branch", "declare", "arg")).replace("_", "-")
_READING = re.compile(rf"--unset-empty|--({_NAMES})=.*", re.DOTALL)


INFERENCE = "inference"
"""The stage that is the whole playbook of an inference configuration."""


class PlanError(WordsError):
    """A `plan.json` that is none, and why."""


def reading_words(options: ReadOptions) -> tuple[str, ...]:
    """Reading options as command-line words."""
    words = [
        f"--{name.replace('_', '-')}={getattr(options, name)}" for name in _VALUES if getattr(options, name) is not None
    ]
    words += [f"--var={name}={value}" for name, value in options.variables.items()]
    words += [f"--branch={line}={'yes' if holds else 'no'}" for line, holds in options.branches.items()]
    words += [f"--declare={text}" for text in options.declared]
    words += [f"--arg={text}" for text in options.positional]
    return (*words, "--unset-empty") if options.unset_empty else tuple(words)


def plan_of(recipe: Recipe, names: Names, reading: tuple[str, ...] = (), layout: Layout = Layout()) -> Plan:  # noqa: B008 - it is immutable
    """Plan for a training pair: the checks that apply, and the useful rungs of reduced sizes."""
    last = len(steps()) - 1
    rungs = tuple(number for number in range(1, last + 1) if number == last or align(recipe, number).returned)
    plan = _build(
        names, reading, rungs, lambda check: all(holds(condition, recipe.value) for condition in check.when), layout
    )
    return plan._replace(stages=tuple(stage for stage in plan.stages if stage.id != INFERENCE))


def inference_plan(names: Names, reading: tuple[str, ...], layout: Layout) -> Plan:
    """Plan for an inference configuration, with `names.megatron` as its benchmark."""
    plan = _build(names, reading, (), lambda _check: True, layout)
    return plan._replace(stages=tuple(stage for stage in plan.stages if stage.id == INFERENCE))


def plan_from(content: object, layout: Layout = Layout()) -> Plan:  # noqa: B008 - it is immutable
    """Plan in a parsed `plan.json`; PlanError if it is not one."""
    if not isinstance(content, dict):
        raise PlanError(say.is_no_plan())
    fields = cast("dict[str, object]", content)
    if fields.get("format") != FORMAT:
        raise PlanError(say.is_of_another_version())
    texts = [text for text in map(fields.get, Names._fields) if isinstance(text, str) and text and text[0] != "-"]
    if len(texts) != len(Names._fields):
        raise PlanError(say.names_no_files())
    names = Names(*texts)
    reading = _parse_reading(fields.get("reading"))
    rungs = _rungs(fields.get("rungs"))
    checks = fields.get("checks")
    if not isinstance(checks, list):
        raise PlanError(say.lists_no_checks())
    target = _parse_reading(fields.get("target", []))
    devices = _devices(fields.get("devices", {}))
    layout = layout._replace(devices=devices, dynamic=fields.get("dynamic") is True, target=target)
    plan = _build(names, reading, rungs, lambda _check: True, layout)
    return _keep_checks(plan, {str(check) for check in cast("list[object]", checks)})


def _parse_reading(content: object) -> tuple[str, ...]:
    """Reading options in a parsed plan; PlanError for unknown ones."""
    words = cast("list[object]", content) if isinstance(content, list) else [None]
    known = tuple(word for word in words if isinstance(word, str) and _READING.fullmatch(word))
    if len(known) != len(words):
        raise PlanError(say.says_no_reading())
    return known


def _rungs(content: object) -> tuple[int, ...]:
    """Rungs in a parsed plan; PlanError for invalid ones."""
    listed = cast("list[object]", content) if isinstance(content, list) else [None]
    rungs = tuple(rung for rung in listed if type(rung) is int and rung in range(1, len(steps())))
    if len(set(rungs)) != len(listed):
        raise PlanError(say.other_rungs())
    return rungs


def _keep_checks(plan: Plan, chosen: set[str]) -> Plan:
    """Plan reduced to the listed checks."""
    kept = [
        stage._replace(checks=tuple(check for check in stage.checks if f"{stage.id}/{check.id}" in chosen))
        for stage in plan.stages
    ]
    unknown = chosen - {f"{stage.id}/{check.id}" for stage in plan.stages for check in stage.checks}
    if unknown:
        raise PlanError(say.unknown_checks(listed=", ".join(sorted(unknown))))
    return plan._replace(stages=tuple(stage for stage in kept if stage.checks))


def _devices(content: object) -> dict[str, int]:
    """Number of devices by folder in a parsed plan; PlanError if invalid."""
    if isinstance(content, dict):
        found = cast("dict[object, object]", content)
        if all(isinstance(name, str) and type(count) is int and count > 0 for name, count in found.items()):
            return cast("dict[str, int]", found)
    raise PlanError(say.says_no_devices())


def _build(
    names: Names, reading: tuple[str, ...], rungs: tuple[int, ...], wanted: Callable[[Check], bool], layout: Layout
) -> Plan:
    """Plan of all stages with the wanted checks, filled with names and settings."""
    fill = _Filling(names, reading, layout)
    found: list[Stage] = []
    for stage in stages():
        checks = tuple(filled for check in stage.checks if wanted(check) for filled in fill.checks(check, rungs))
        prepare = tuple(fill.command(words) for words in stage.prepare)
        found.append(stage._replace(checks=checks, prepare=prepare))
    return Plan(names, reading, rungs, tuple(found), layout)


class _Filling:
    """Puts the pair's names in place of the table's braces."""

    def __init__(self, names: Names, reading: tuple[str, ...], layout: Layout) -> None:
        self.names = names._asdict()
        self.reading = reading
        self.layout = layout

    def checks(self, check: Check, rungs: Iterable[int]) -> Iterator[Check]:
        """Filled check; one for each rung if it is repeated."""
        if check.each is None:
            yield self._check(check, {}, {}, {})
            return
        ladder = steps()
        for rung in rungs:
            step = ladder[rung]
            yield self._check(check, {"rung": str(rung), "name": step.name}, {"text": step.en}, {"text": step.zh})

    def command(self, words: tuple[str, ...], further: Mapping[str, str] = {}) -> tuple[str, ...]:
        """Filled accmap command; options for reading are added if it names the pair's files."""
        filled = tuple(word.format(**self.names, **further) for word in words)
        filled = (*filled, *self.reading) if any(self._names_the_pair(word) for word in words) else filled
        return (*filled, *self.layout.target) if filled[:1] == ("pair",) else filled

    def _line(self, line: str, further: Mapping[str, str]) -> str:
        """Filled shell line; options for reading are added if it names the pair's files."""
        settings = self.layout.settings
        values = {
            **self.names,
            **further,
            "form": settings.form,
            "aligned": settings.aligned,
            "whole": settings.whole,
            "aligned_weights": settings.aligned or f"2-preparation/weights/{MADE}",
            "whole_weights": settings.whole
            or f"5-scale-up/{{rung}}-{{name}}/weights/{MADE}".format_map(further or _NO_RUNG),
        }
        quoted = {name: shell_word(value) for name, value in values.items()}
        filled = line.format(**quoted, trees="".join(f" {shell_word(word)}" for word in self.layout.trees))
        return f"{filled} {' '.join(map(shell_word, self.reading))}".rstrip() if self._names_the_pair(line) else filled

    def _names_the_pair(self, word: str) -> bool:
        return any(f"{{{name}}}" in word for name in self.names)

    def _check(self, check: Check, further: Mapping[str, str], en: Mapping[str, str], zh: Mapping[str, str]) -> Check:
        """Check with all placeholders filled."""
        titles = {"en": check.title["en"].format(**further, **en), "zh": check.title["zh"].format(**further, **zh)}
        return check._replace(
            id=check.id.format(**further),
            title=titles,
            steps=tuple(action for line in check.do for action in actions_of(self._line(line, further), self.layout)),
            needs=tuple(name.format(**further) for name in check.needs),
            judge=self.command(check.judge, further),
            prepare=self.command(check.prepare, further),
        )


class Answer(NamedTuple):
    """The JSON file that a long command wrote, and what in it decides."""

    file: str
    key: str
    good: str
    has: tuple[str, ...] = ()
    """What such a file cannot lack: the numbers that the answer rests on."""
    open: str = ""
    """The answer that decides nothing: it could not be found out here."""
    why: str = ""
    """The list whose first entry says why, as `reason` and `explanation`."""


class Check(NamedTuple):
    """One thing to be established, as the table has it or (after `filled`) for one pair."""

    id: str
    title: Mapping[str, str]
    accept: Mapping[str, str]
    otherwise: Mapping[str, str]
    sources: tuple[str, ...]
    do: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()
    answer: Answer | None = None
    ticks: str | None = None
    prepare: tuple[str, ...] = ()
    each: str | None = None
    optional: bool = False
    when: tuple[Condition, ...] = ()

    steps: tuple[Action, ...] = ()
    """`do` for one pair."""

    def actions(self, language: Language) -> tuple[str, ...]:
        """Lines for a person, with the remarks in one language."""
        said = f"# {language}: "
        lines = [(action.kind, action.line) for action in self.steps]
        return tuple(
            line if kind != "remark" else f"# {line.removeprefix(said)}"
            for kind, line in lines
            if kind != "remark" or line.startswith(said)
        )


class Stage(NamedTuple):
    """Some checks that belong together, and the accmap commands that write the stage's files."""

    id: str
    number: int
    title: Mapping[str, str]
    aim: Mapping[str, str]
    checks: tuple[Check, ...]
    prepare: tuple[tuple[str, ...], ...] = ()
    writes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Files that hold what a command prints."""

    @property
    def folder(self) -> str:
        """The stage's own folder."""
        return f"{self.number}-{self.id}"


@cache
def stages() -> tuple[Stage, ...]:
    """All stages of the table, loaded once."""
    content: Any = load_table(package_text(os.path.dirname(__file__), "stages.yaml"))
    return tuple(_stage(number, row) for number, row in enumerate(content["stages"], start=1))


@cache
def patches() -> dict[str, str]:
    """Files of code to install in the frameworks, by path."""
    return load_table(package_text(os.path.dirname(__file__), "patches.yaml"))


def _stage(number: int, row: dict[str, Any]) -> Stage:
    """Stage of a table row."""
    return Stage(
        row["id"],
        1 if row.get("inference") else number,
        {"en": row["en"], "zh": row["zh"]},
        row["aim"],
        tuple(_check(entry) for entry in row["checks"]),
        tuple(tuple(words) for words in row.get("prepare", ())),
        tuple((file, tuple(words)) for file, words in row.get("writes", {}).items()),
    )


def _check(row: dict[str, Any]) -> Check:
    """Check of a table row."""
    conditions = [
        (field, comparison, operand[0] if operand else None) for field, comparison, *operand in row.get("when", [])
    ]
    return Check(
        row["id"],
        {"en": row["en"], "zh": row["zh"]},
        row["accept"],
        row["else"],
        tuple(row["sources"]),
        tuple(row.get("do", ())),
        tuple(row.get("needs", ())),
        tuple(row.get("judge", ())),
        Answer(**row["answer"]) if "answer" in row else None,
        row.get("ticks"),
        tuple(row.get("prepare", ())),
        row.get("each"),
        row.get("optional", False),
        tuple(conditions),
    )


FILES: dict[Language, str] = {"en": "README.md", "zh": "README.zh-CN.md"}


def pages(plan: Plan) -> dict[str, str]:
    """All pages of a plan by path."""
    found: dict[str, str] = {}
    for language, name in FILES.items():
        found[name] = "\n".join(_overview(plan, language)) + "\n"
        for stage in plan.stages:
            found[f"{stage.folder}/{name}"] = "\n".join(_page(stage, language)) + "\n"
    return found


def command_line(words: tuple[str, ...]) -> str:
    """Command of accmap as a shell line."""
    return " ".join(map(shell_word, ("accmap", *words)))


def _overview(plan: Plan, language: Language) -> Iterator[str]:
    """Markdown lines of the playbook's first page."""
    word = say.page("playbook", language)
    names = {side: markdown_code(name) for side, name in plan.names._asdict().items()}
    yield word("title")
    yield from ("", word("intro", **names))
    yield from ("", word("order"))
    yield from ("", word("source", **names))
    yield from ("", word("status"), "", "```bash", "accmap playbook status .", "```", "")
    yield word("head")
    for stage in plan.stages:
        link = f"[{stage.title[language]}]({stage.folder}/{FILES[language]})"
        for check in stage.checks:
            yield f"| {link} | {_title(check, language)} | {check.accept[language]} |"
            link = ""


def _title(check: Check, language: Language) -> str:
    """Title of a check, marked if the check is optional."""
    return check.title[language] + (say.page("playbook", language)("optional") if check.optional else "")


def _page(stage: Stage, language: Language) -> Iterator[str]:
    """Markdown lines of one stage's page."""
    word = say.page("playbook", language)
    yield f"# {stage.title[language]}"
    yield from ("", stage.aim[language])
    written = [*stage.prepare, *(check.prepare for check in stage.checks if check.prepare)]
    printed = [(file, words) for file, words in stage.writes]
    if written or printed:
        yield from ("", word("files"), "", "```bash")
        yield from (command_line(words) for words in written)
        yield from (f"{command_line(words)} > {shell_word(file)}" for file, words in printed)
        yield "```"
    for check in stage.checks:
        yield from ("", f"## {_title(check, language)}")
        actions = check.actions(language)
        if actions:
            yield from ("", word("do"), "", "```bash", *actions, "```")
        if check.judge:
            if check.needs:
                yield from ("", word("needs", files=", ".join(map(markdown_code, check.needs))))
            yield from ("", word("judge"), "", "```bash", command_line(check.judge), "```")
        if check.ticks:
            yield from ("", word("ticks", file=check.ticks))
        yield from ("", word("accept", text=check.accept[language]))
        yield from ("", word("else", text=check.otherwise[language]))
        yield from ("", word("sources", ids=", ".join(f"`{name}`" for name in check.sources)))


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
    """State of every check; `ready` ones still need their command's judgement."""
    return [stand(plan, stage, check, directory, language) for stage in plan.stages for check in stage.checks]


def with_exit_code(found: CheckState, exit_code: int, message: str, *, undecided: bool = False) -> CheckState:
    """State of a ready check after its command; `undecided` if evidence is missing."""
    bad: State = "undecided" if undecided else "failed"
    state: State = "passed" if exit_code == 0 else bad if exit_code == 1 else "unusable"
    return found._replace(state=state, exit_code=exit_code, message=message)


def next_of(standings: list[CheckState]) -> CheckState | None:
    """Next check to do: the first that has not passed; optional ones only if failed."""
    for found in standings:
        if found.state == "passed" or (found.check.optional and found.state in ("waiting", "ready")):
            continue
        return found
    return None


def stand(plan: Plan, stage: Stage, check: Check, directory: str, language: Language = "en") -> CheckState:
    """State of one check by its files."""
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
    """File of a check that is older than the pair's files; empty if none is."""
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
    """True if a file exists, or a folder that is not empty."""
    return bool(os.listdir(path)) if os.path.isdir(path) else os.path.isfile(path)


def _state_of_boxes(stage: Stage, check: Check, directory: str, language: Language) -> CheckState:
    """State of a check that a person ticks in a file."""
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
    """State of a check whose answer is a JSON file."""
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
    """First reason in an answer, as text."""
    first: Any = found[0] if isinstance(found, list) and found else None  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(first, dict):
        return ""
    return ": ".join(str(first[name]) for name in ("reason", "explanation") if first.get(name))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

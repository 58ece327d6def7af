"""Megatron-LM's validation of parsed arguments: the rows of `validation.yaml` applied to the values.

A row that writes a value gives it the origin `derived` and names what it read; one that writes over a value the
user gave is also a problem, so that both are seen. A requirement that does not hold is a problem, and the rest
goes on. A row that reads an undecided value leaves its target undecided, unless it would change nothing.
"""

from __future__ import annotations

from math import lcm

from .. import rows
from ..config import ReadOptions, Setting
from ..diagnostic import Related, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..message import Problem, Words, verbatim
from ..plain_values import in_full, whole_number
from ..rows import TOO_ODD, Row, Sourced, UndecidedError
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ..config import Config, Launch
    from ..diagnostic import Diagnostic
    from ..source import Span

# What each training script hands to pretrain() as args_defaults.
_GPT = {"tokenizer_type": "GPT2BPETokenizer"}
_BERT = {"tokenizer_type": "BertWordPieceLowerCase"}
_VISION = {"dataloader_type": "cyclic", "vision_pretraining": True}
SCRIPT_DEFAULTS = {
    "pretrain_gpt.py": _GPT,
    "pretrain_mamba.py": _GPT,
    "pretrain_hybrid.py": _GPT,
    "pretrain_vlm.py": _GPT,
    "pretrain_retro.py": _GPT,
    "pretrain_bert.py": _BERT,
    "pretrain_t5.py": _BERT,
    "pretrain_ict.py": _BERT,
    "pretrain_vision_classify.py": _VISION,
    "pretrain_vision_dino.py": _VISION,
    "pretrain_vision_inpaint.py": _VISION,
}


def script_defaults(launch: Launch | None) -> Mapping[str, Any]:
    """Values that the training script itself hands to `pretrain`, by argument."""
    return SCRIPT_DEFAULTS.get(_program(launch), {})


def _program(launch: Launch | None) -> str:
    """Name of the training script without its folder."""
    script = launch.script if launch is not None else None
    return (script or "").replace("\\", "/").rpartition("/")[2]


def starts_program(launch: Launch | None, ending: str) -> bool:
    """True if a launch starts the program of this name, as script or module."""
    return f".{_program(launch)}".endswith(f".{ending}")


_OF_THE_LAUNCH = frozenset(("world_size", "rank"))
"""Values that come from how the script is launched: an argument that does not suit them is the one to look at."""


OF_RUN = frozenset((
    "env", "devices", "given", "launched", "raw", "script_default", "tokenizer_vocabulary", "undecided",
))  # fmt: skip
"""The functions of expressions that are methods of `Run`."""
ALL_DEVICES = "all_devices"
"""What a fork's row calls the number of devices where its own arguments say it."""
_NO_OPTIONS = ReadOptions()


class Validated(NamedTuple):
    """The values after validation, and what it refuses or overrules."""

    settings: dict[str, Setting]
    problems: tuple[Diagnostic, ...]


class Said(NamedTuple):
    """A row's texts, and where it counts: `Row.more`."""

    to: str
    when: str
    stage: str
    hardware: str


class Beside(NamedTuple):
    """The rows of a fork beside Megatron-LM's own validation."""

    before: tuple[Row, ...]
    after: tuple[Row, ...]
    lifted: frozenset[str]
    """Conditions that Megatron-LM asks for and the fork does not."""
    alone: str | None = None
    """The program that runs none of Megatron-LM's own validation."""
    own_class: bool = True
    """True if its `TransformerConfig` may refuse something else than Megatron-LM's."""


def validate(
    settings: dict[str, Setting],
    version: str,
    *,
    file: str,
    options: ReadOptions,
    launch: Launch | None,
    fork: Beside | None = None,
) -> Validated:
    """Settings after Megatron-LM's own validation has changed and checked them."""
    run = Run(dict(settings), version, file, options, launch)
    run.program = (fork.alone if fork is not None else None) or run.program
    own: Sequence[Row] = _rows_in(version)
    if fork is not None:
        skipped = "model" if fork.own_class else ""
        own = () if fork.alone else [row for row in own if row.more.stage != skipped]
        own = [*fork.before, *(row for row in own if row.target or row.more.to not in fork.lifted), *fork.after]
    run.follow(own)
    return Validated(run.settings, tuple(run.problems))


def _rows_of_version(version: str) -> tuple[Row, ...]:
    return named_module(f"validation_{version.replace('.', '_')}_compiled", __package__).ROWS


_before_building: dict[str, tuple[Row, ...]] = {}


def _rows_in(version: str) -> tuple[Row, ...]:
    """The rows up to where the model is built, in their order."""
    found = _before_building.get(version)
    if found is None:
        found = tuple([row for row in _rows_of_version(version) if row.more.stage != "building"])
        _before_building[version] = found
    return found


class GivenArguments:
    """The questions of an expression about what the user wrote."""

    settings: dict[str, Setting]
    launch: Launch | None

    def given(self, dest: str) -> bool:
        """True if the user gave an argument."""
        setting = self.settings.get(dest)
        return setting is not None and setting.raw is not None

    def launched(self, ending: str) -> bool:
        """True if the program has this name, as script or module."""
        return starts_program(self.launch, ending)

    def raw(self, dest: str) -> str:
        """The text that the user wrote for an argument."""
        setting = self.settings.get(dest)
        return "" if setting is None or not setting.raw else setting.raw[0]


class Run(GivenArguments, rows.Run):
    """The values of one launch while the rows are applied to them."""

    def __init__(
        self, settings: dict[str, Setting], version: str, file: str, options: ReadOptions, launch: Launch | None
    ) -> None:
        self.settings = settings
        self.version = version
        self.program = f"Megatron-LM {version}"
        self.file = file
        self.options = options
        self.launch = launch
        self.problems: list[Diagnostic] = []
        self.refused = False
        self.locals: dict[str, Sourced] = {}
        self.reads = {}
        settings["rank"] = Setting("rank", 0, "default")

    def __getitem__(self, name: str) -> Any:
        local = self.locals.get(name)
        if local is not None:
            if not local.decided:
                raise UndecidedError
            self.reads.update(dict.fromkeys(local.sources))
            return local.value
        setting = self.settings.get(name)
        self.reads[name] = None
        if setting is None or not setting.decided:
            raise UndecidedError
        return setting.value

    # Functions of the expressions that depend on the run.

    def env(self, name: str) -> str:
        """Variable that the launch sets; UndecidedError if it is inherited."""
        value = None if self.launch is None else self.launch.env.get(name)
        if value is None:
            raise UndecidedError
        return value

    def devices(self, model_size: int, experts: str = "") -> int:
        """Number of devices from file or user; `experts` are sizes that experts use."""
        launch = self.launch
        stated = self.options.world_size
        if stated is None:
            stated = self._of_a_fork()
        if stated is None and launch is not None:
            stated = _of_launch(launch, model_size)
        if stated is not None:
            return stated
        plain = launch is None or launch.launcher is None or launch.launcher.startswith("python")
        copy = lcm(model_size, self[experts]) if experts else model_size
        if plain and copy == 1:
            return 1
        span = None if launch is None else launch.span
        self.problems.append(diagnose(say.no_world_size(size=copy), self.file, span))
        raise UndecidedError

    def _of_a_fork(self) -> int | None:
        """Number of devices that a fork's arguments set."""
        told = self.locals.get(ALL_DEVICES)
        if told is None or not told.decided:
            return None
        self.reads.update(dict.fromkeys(told.sources))
        return int(told.value)

    def script_default(self, dest: str) -> Any:
        """The value that the training script itself hands to `pretrain` for an argument."""
        return script_defaults(self.launch).get(dest)

    def tokenizer_vocabulary(self, tokenizer: str) -> int:
        """UndecidedError: a tokenizer's vocabulary is in its own files."""
        raise UndecidedError(tokenizer)

    def undecided(self, name: str) -> Any:
        """Leave the target open because of `name`."""
        raise UndecidedError(name)

    # Applying rows.

    def leave_open(self, row: Row) -> bool:
        """Mark a row's target as undecided unless nothing can change."""
        if row.action in ("set", "respell", "read"):
            self._open(row)
        return super().leave_open(row)

    def _open(self, row: Row) -> None:
        """Mark a target as undecided, unless the row's value would not change it."""
        before = self.settings.get(row.target)
        if before is not None:
            if not before.decided:
                return
            try:
                if row.value is not None and row.value(self) == before.value:
                    return
            except (UndecidedError, *TOO_ODD):
                pass
        self._derive(row, before, None, decided=False)

    def _derive(self, row: Row, before: Setting | None, value: Any, *, decided: bool) -> None:
        """Set a derived value with the settings that it was read from."""
        derived_from = tuple(name for name in self.reads if name != row.target)
        base = before or Setting(row.target, None, "derived")
        self.settings[row.target] = base._replace(
            value=value, origin="derived", derived_from=derived_from, decided=decided
        )

    def set(self, row: Row, value: Any) -> None:
        """Write a row's value; reports one that the user set differently."""
        before = self.settings.get(row.target)
        if before is not None and before.decided and before.value == value and type(before.value) is type(value):
            return
        if before is not None and before.raw is not None and before.flag is not None and not _is_null(before):
            given, used = _full_text(before.value), _full_text(value)
            said = say.overruled(
                flag=before.flag, given=given, used=used, program=self.program, when=_condition_text(row)
            )
            self.report(said, before)
        self._derive(row, before, value, decided=True)

    def read(self, row: Row, value: Any) -> None:
        """Set an argument of Megatron-LM from a fork's arguments, without a report."""
        self._derive(row, self.settings.get(row.target), value, decided=True)

    def respell(self, row: Row, value: Any) -> None:
        """Write a value in another form."""
        before = self.settings.get(row.target)
        if before is None:
            self.set(row, value)
        elif not (before.decided and before.value == value and type(before.value) is type(value)):
            self.settings[row.target] = before._replace(value=value)

    def stop(self, row: Row) -> bool:
        """Report that Megatron-LM fails on values of an unexpected type."""
        if row.action != "let" and not self.refused:
            self.refuse(row, say.stops)
        return True

    def ignored(self, row: Row, _: Any) -> None:
        """Report an argument that has no effect."""
        setting = self.settings.get(row.target)
        if setting is not None and setting.origin == "explicit" and not _is_null(setting):
            self.report(say.no_effect(flag=setting.flag, program=self.program, when=_condition_text(row)), setting)

    def refuse(self, row: Row, said: Callable[..., Problem] | None = None) -> None:
        """Report an unmet requirement at the first value that the user set."""
        self.refused = True
        places = self._settings_to_blame(row)
        when = self._guards_to_tell(row)
        told = [name for name in self.reads if self._is_set(name) or _names(name, f"{row.more.to} {when}")]
        shown = told or list(self.reads)
        facts = ", ".join(f"{name} = {_full_text(self[name])}{self._counted_at(name)}" for name in shown)
        if said is say.stops:  # what divides by nothing
            places.sort(key=lambda one: one.value != 0 or isinstance(one.value, bool))
        if row.more.hardware or said is None:
            said = say.refused_on_hardware if row.more.hardware else say.refused
        at = None if self._misspelt(row) is not None else next(iter(places), None)
        counts = say.when_so(when=verbatim(when)) if when else verbatim("")
        problem = said(condition=row.more.to, facts=facts, program=self.program, when=counts)
        self.report(problem, at, at.span if at is not None else self._misspelt(row))

    def _guards_to_tell(self, row: Row) -> str:
        """Condition under which a row counts; a long one without what is so because the user did not set something."""
        parts = _conjuncts(row.more.when)
        if len(parts) <= FEW_GUARDS:
            return row.more.when
        return " and ".join(part for part in parts if not self._goes_without_saying(part))

    def _goes_without_saying(self, part: str) -> bool:
        """True for `not NAME` and `NAME is None` of a name left unset, and for `NAME is not None`."""
        if part.endswith(" is not None"):
            return part.removesuffix(" is not None").isidentifier()
        name = part.removeprefix("not ") if part.startswith("not ") else part.removesuffix(" is None")
        return name != part and name.isidentifier() and not self._is_set(name)

    def _is_set(self, name: str) -> bool:
        """True if the user set an argument, or a value that it is derived from."""
        setting = self.settings.get(name)
        return setting is not None and setting.origin != "default"

    def _counted_at(self, name: str) -> str:
        """Place at which the launch sets the number of devices, for a message."""
        source = "" if name != "world_size" or self.launch is None else self.launch.source_of(self[name], self.file)
        return f" ({source})" if source else ""

    def _settings_to_blame(self, row: Row) -> list[Setting]:
        """User's settings in a row, likeliest fault first."""
        names: dict[str, None] = {}
        for name in self.reads:
            names[name] = None
            setting = self.settings.get(name)
            if setting is not None and setting.origin == "derived":
                names.update(dict.fromkeys(setting.derived_from))
        given = [found for name in names if (found := self.settings.get(name)) is not None and found.span is not None]
        return sorted(
            given,
            key=lambda one: (one.key in _OF_THE_LAUNCH, one.value in _NEUTRAL, len(row.more.to.partition(one.key)[0])),
        )

    def report(self, problem: Problem, at: Setting | None, span: Span | None = None) -> None:
        """Keep a problem with the other places it concerns."""
        related = tuple(
            Related(
                self.file,
                setting.span,
                f"{name} = {_full_text(setting.value)}",
                f"{name} = {_full_text(setting.value)}",
            )
            for name in self.reads
            if (setting := self.settings.get(name)) is not None and setting.span is not None and setting is not at
        )
        if at is not None:
            span = at.span
        if span is None and self.launch is not None:
            span = self.launch.span
        self.problems.append(diagnose(problem, self.file, span, related))

    def _misspelt(self, row: Row) -> Span | None:
        """Place of a setting whose name nearly equals a missing one."""
        for setting in self.settings.values():
            if setting.acceptance == "unknown" and setting.flag is not None:
                from .catalog import catalog
                from .versions import intended_argument

                dest = intended_argument(setting.flag, catalog(self.version))
                if dest is not None and dest in row.more.to and dest in self.reads:
                    return setting.span
        return None


def _of_launch(launch: Launch, model_size: int) -> int | None:
    """Number of devices that a launch states."""
    if launch.world_size is None:
        text = launch.env.get("WORLD_SIZE") or ""
        return whole_number(text)
    # where one node does not hold the model there are more, and the job says how many
    return None if launch.nodes_open and launch.world_size % model_size else launch.world_size


_NEUTRAL = (None, False, 1, 0)
FEW_GUARDS = 2
"""Parts of a condition that a reader takes in at once: these are told even if nothing sets them, as a way out."""


def _is_null(setting: Setting) -> bool:
    """True if a YAML sets an argument to null."""
    return setting.decided and setting.value is None


def _condition_text(row: Row) -> Words:
    return say.when_so(when=verbatim(row.more.when)) if row.more.when else verbatim("")


def _conjuncts(condition: str) -> list[str]:
    """Parts of a condition that `and` joins; the whole condition if `or` joins some."""
    parts: list[str] = []
    depth = 0
    words: list[str] = []
    for word in condition.split(" "):
        if depth == 0 and word in ("or", "if", "lambda"):
            return [condition]
        if depth == 0 and word == "and":
            parts.append(" ".join(words))
            words = []
        else:
            words.append(word)
        depth += sum(map(word.count, "([{")) - sum(map(word.count, ")]}"))
    return [*parts, " ".join(words)] if condition else []


def _names(name: str, condition: str) -> bool:
    """True if a condition contains a name as a whole word."""
    before, found, after = condition.partition(name)
    while found:
        if not _in_a_name(before[-1:]) and not _in_a_name(after[:1]):
            return True
        before, found, after = after.partition(name)
    return False


def _in_a_name(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def unmet_rows(config: Config) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Unmet requirements of later construction: condition, when, and arguments read."""
    found = [row for row in _rows_of_version(config.framework_version) if row.more.stage == "building"]
    run = Run(dict(config.settings), config.framework_version, config.file, _NO_OPTIONS, config.launch)
    for row in found:
        before = len(run.problems)
        run.follow((row,))
        if len(run.problems) > before:
            yield row.more.to, row.more.when, tuple(run.reads)


def _full_text(value: object) -> str:
    return in_full(repr(value))

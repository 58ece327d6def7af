"""The purpose of a file that is not the training of a GPT model, reported first; and what else leaves no run.

The tables of `purposes.yaml` say what each program trains or does, which arguments name another network, and which keys
make a YAML one of MindSpore Transformers'. What is no GPT training run is neither checked nor compared nor translated:
its fields stay undecided. Post-training (SFT, LoRA, RL) is read as the training run that it is, and what of it has no
place in the other framework is named.
"""

from __future__ import annotations

from .config import Purpose as Purpose
from .diagnostic import UnreadableError, diagnose
from .fast_records import TYPE_CHECKING, cast
from .message import Words
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .config import Argument, Config, Launch, Setting
    from .diagnostic import Diagnostic
    from .source import SourceText, Span

_TOO_MUCH_WORK = "SYN006"
_NO_TRAINING, _OTHER_YAML, _POST_TRAINING = "SYN914", "SYN930", "SYN946"
SAID_FIRST = frozenset((_NO_TRAINING, _OTHER_YAML, _POST_TRAINING))
TRAINING = "training"
POST_TRAINING = "post-training"
OTHER_MODEL = "other-model"
INFERENCE = "inference"
_WITH_SCHEDULE = (TRAINING, POST_TRAINING, OTHER_MODEL, "inference", "evaluation")
"""What may state a schedule: a YAML for inference is often the one for training with another `run_mode`."""
_FEW = 4
ARGUMENTS_NOT_GIVEN = "MAP117"
"""The script hands its own arguments on, and lacks what a run needs."""
UNKNOWN_CLASS = ("MAP060", "MAP061", "MAP107")
"""No class, none of this version, none whose code is known here."""
NO_TRAINING = frozenset((_NO_TRAINING, _OTHER_YAML))
"""The findings about a file that trains no GPT model."""
NOT_TRANSLATED = frozenset((*NO_TRAINING, *UNKNOWN_CLASS))
"""The findings about a file that no command translates."""
_NO_DIRECTORY = "MAP067"
_MODEL_SIZES = ("num_layers", "hidden_size", "encoder_num_layers", "use_checkpoint_args", "yaml_cfg", "model_config")


def what_stops(config: Config) -> list[Diagnostic]:
    """Problems at which the framework's own checks stop the start."""
    return [one for one in config.problems if one.effect == "stops"]


def unknown_class(config: Config) -> Diagnostic | None:
    """Problem if the trained network's class is unknown; None otherwise."""
    if config.framework != "mindformers" or config.dialect == "dynamic":
        return None
    codes = UNKNOWN_CLASS if "resolved.model.class" in config.settings else (*UNKNOWN_CLASS, _NO_DIRECTORY)
    return next((problem for problem in config.problems if problem.kind.code in codes), None)


def trains_gpt(config: Config) -> bool:
    """True if a file is the training of a GPT model."""
    return config.purpose is None or config.purpose.trains_gpt


def runs_inference(config: Config) -> bool:
    """True if a file is an inference configuration of either framework."""
    return config.purpose is not None and config.purpose.kind == INFERENCE


def require_training(config: Config) -> None:
    """UnreadableError that describes the file, unless it is a GPT training run."""
    if config.purpose is not None and not config.purpose.trains_gpt:
        raise UnreadableError(config.purpose.problem)


def require_schedule(config: Config) -> None:
    """Raise UnreadableError for a file whose purpose has no training schedule."""
    if config.purpose is not None and config.purpose.kind not in _WITH_SCHEDULE:
        raise UnreadableError(config.purpose.problem)


def program_kind(script: str | None) -> str | None:
    """Kind of a program; None if the tables do not list it."""
    found = _program(script)
    return None if found is None else found[1]


def purpose_of_program(launch: Launch | None, file: str) -> Purpose | None:
    """The purpose that a launch's program states."""
    found = None if launch is None else _engine(launch) or _program(launch.script)
    if found is None or launch is None:
        return None
    return _purpose_of_entry(found, file, launch.span, name=_file_name(launch.script))


def purpose_of_recipe(path: str, mode: str, file: str, *, empty: bool = False) -> Purpose | None:
    """Purpose of a functional test's recipe, by its folder and MODE.

    One with an `empty` MODEL_ARGS starts another program, which its job names.
    """
    from .purposes_compiled import RECIPES

    if empty:
        return _purpose_of_entry(_entry("tool", say.next_to_no_arguments(), "own"), file, None, name="The recipe")
    if mode == "inference":
        return _purpose_of_entry(_entry("inference", say.runs_a_model(), "megatron"), file, None, name="The recipe")
    folders = path.replace("\\", "/").split("/")
    if "test_cases" not in folders:
        return None
    folder = folders[folders.index("test_cases") + 1]
    found = next((entry for entry in RECIPES if entry[0] == folder), None)
    return None if found is None else _purpose_of_entry(found, file, None, name="The recipe")


def purpose_of_arguments(given: Mapping[str, Setting], launch: Launch | None, file: str) -> Purpose | None:
    """Purpose that the arguments imply."""
    from .purposes_compiled import ARGUMENTS

    cfg = given.get("yaml_cfg")
    if cfg is not None and _may_name_a_file(cfg):
        problem = diagnose(say.from_named_yaml(name=cfg.flag or "--yaml-cfg"), file, cfg.span)
        return Purpose("outside", problem)
    trains = launch is not None and program_kind(launch.script) == TRAINING
    for entry in ARGUMENTS:
        setting = _with_value(given, entry[0])
        if setting is not None and _states_purpose(entry, setting, given, trains=trains):
            return _purpose_of_entry(entry, file, setting.span, name=setting.flag or entry[0])
    return None


def _states_purpose(entry: Sequence[Any], setting: Setting, given: Mapping[str, Setting], *, trains: bool) -> bool:
    """True if an argument's value matches a table entry that implies a purpose."""
    partner, anywhere, among = entry[7:10]
    if setting.value is False or (trains and not anywhere) or (among and setting.value not in among):
        return False
    return not partner or _with_value(given, partner) is not None


def _may_name_a_file(setting: Setting) -> bool:
    return setting.origin == "explicit" and (bool(setting.value) or not setting.decided)


def _with_value(given: Mapping[str, Setting], dest: str) -> Setting | None:
    """Setting of an argument if the launch gives it with a value."""
    setting = given.get(dest)
    return None if setting is None or setting.raw is None or setting.value is None else setting


def purpose_of_unknown_program(
    launch: Launch, known: Sequence[bool], given: Mapping[str, Any], file: str
) -> Purpose | None:
    """Purpose of an unlisted program, by how many of its arguments Megatron-LM has.

    One that is given next to none of Megatron-LM's is no training of its models: no run is without a model, a batch
    and a rate.
    """
    if program_kind(launch.script) is not None or any(name in given for name in _MODEL_SIZES):
        return None
    if launch.script is None or _may_be_flags(launch.arguments, started=launch.launcher is not None):
        return None
    if 2 * sum(known) >= len(known) and sum(known) >= _FEW:
        return None
    entry = _entry("tool", say.next_to_no_arguments(), "own")
    return _purpose_of_entry(entry, file, launch.span, name=_file_name(launch.script))


def _may_be_flags(arguments: Sequence[Argument], *, started: bool) -> bool:
    """True if an unknown word may be a flag, not the value of one.

    A word that begins with what is no flag is none, whatever follows; nor is a single word of a program that no
    launcher has `started`: what trains is given many. Among words none of which is a flag (`key=value key=$VALUE`) one
    that may be several is none, either.
    """
    flags = any(argument.text.startswith("-") for argument in arguments)
    before = ""
    for argument in arguments:
        if not argument.resolved and not before.startswith("--"):
            opens = argument.text[:1] in ("$", "`", "-", '"', "'", "{", "*", "?", "[")
            if (argument.may_split and (opens or flags)) or (opens and started):
                return True
        before = argument.text if argument.resolved else ""
    return False


def without_training(problem: Diagnostic, source: SourceText | None) -> Diagnostic | None:
    """Note in place of an error for scripts that neither start nor name a training program.

    One that names a launcher or a training flag is taken for a launch that cannot be followed, and keeps its problem.
    """
    code = problem.kind.code
    if code in (_OTHER_YAML, _NO_TRAINING):
        return problem
    if source is None:
        return None
    if code == "MAP050" or "SYN070" <= code <= "SYN082":
        return None if may_be_mindformers(source) else unread_yaml(source.name).problem
    if code != "SYN910" and not "SYN001" <= code <= "SYN049":
        return None
    text = _commands_of(source)
    programs = _programs_in(text)
    kinds = {None if found is None else found[1] for found in programs.values()}
    if kinds and not kinds.intersection((None, TRAINING, POST_TRAINING, OTHER_MODEL)):
        return _of_program(programs, problem.file)
    if code not in ("SYN001", _TOO_MUCH_WORK, "SYN910") or _speaks_of_training(text, programs=bool(programs)):
        return None
    return diagnose(say.no_training(name="This file", about=say.starts_no_training()), problem.file)


def _commands_of(source: SourceText) -> str:
    """Lines of a script, continuation lines joined, without comments and tests."""
    lines = (line for line in source.text.splitlines() if not line.lstrip().startswith("#"))
    text = "\n".join(line.partition(" #")[0] for line in lines).replace("\\\n", " ")
    lines = (line for line in text.split("\n") if _TESTERS.isdisjoint(line.split()))
    return "\n".join(
        "|".join(part for part in line.split("|") if part.split(None, 1)[:1] not in _SEEKERS) for line in lines
    )


def _speaks_of_training(text: str, *, programs: bool) -> bool:
    """True if a script names a launcher, or a training flag and something that may start a program."""
    words = text.split()
    if any(mark in text for mark in _LAUNCHERS) or "deepspeed" in words:
        return True
    starts = programs or not _PROGRAM_WORDS.isdisjoint(words)
    # `pretrained`, of transformers, is what a model was, and no training
    text = text.replace("pretrained", "")
    return starts and any(mark in text for mark in _TRAINING_WORDS)


def _of_program(programs: Mapping[str, tuple[Any, ...] | None], file: str) -> Diagnostic | None:
    """The purpose of the first of a script's programs, as a remark."""
    name, found = next(iter(programs.items()))
    purpose = _purpose_of_entry(found or (), file, None, name=_file_name(name))
    return None if purpose is None else purpose.problem


def _programs_in(text: str) -> dict[str, tuple[Any, ...] | None]:
    """Programs that a script names, each with its table entry."""
    for mark in "\"'`()=;{}":
        text = text.replace(mark, " ")
    words = text.split()
    found: dict[str, tuple[Any, ...] | None] = {}
    for before, word in zip(["", *words], words, strict=False):
        if word.endswith(".py") or (before == "-m" and word[:1].isalpha() and not word.startswith("torch.distributed")):
            found[word] = _program(word)
    return found


_LAUNCHERS = ("torchrun", "torch.distributed", "msrun", "run_mindformer")
_TRAINING_WORDS = (
    "pretrain", "finetune", "--num-layers", "--hidden-size", "--train-iters", "--micro-batch-size",
    "--tensor-model-parallel-size",
)  # fmt: skip
_TESTERS = frozenset(("pytest", "unittest"))
"""What runs tests, whatever their files are called."""
_SEEKERS = (["grep"], ["egrep"], ["pgrep"], ["pkill"], ["killall"])
_PROGRAM_WORDS = frozenset(("python", "python3", "srun", "mpirun", "accelerate", "bash", "sh", "$CMD", "$LAUNCH"))
"""A list of training flags alone, which other scripts read, starts nothing."""


# YAML --------------------------------------------------------------------------------------------------------------


def is_mindformers(root: Mapping[Any, Any]) -> bool:
    """True if a YAML's keys are those of a MindSpore Transformers configuration."""
    if "apiVersion" in root and "kind" in root:
        return False
    if "run_mode" in root:
        return True
    from .purposes_compiled import MINDFORMERS_KEYS, SHARED_KEYS

    shared = 0
    for key, value in root.items():
        names = [key]
        if isinstance(value, dict):
            names += [f"{key}.{below}" for below in value]  # pyright: ignore[reportUnknownVariableType]
        for name in names:
            if name in MINDFORMERS_KEYS:
                return True
            shared += name in SHARED_KEYS
    return shared > 1


def may_be_mindformers(source: SourceText) -> bool:
    """True if a text has two top-level sections of MindSpore Transformers, even if it is not valid YAML."""
    from .purposes_compiled import SECTIONS

    found: set[str] = set()
    for line in source.text.splitlines():
        if not line or line[0] in " \t#-{[":
            continue
        key, colon, _ = line.partition(":")
        if colon:
            found.add(key.strip().strip("'\""))
    return len(found & SECTIONS) > 1


def other_yaml(root: object, file: str) -> Purpose:
    """The purpose of a YAML that is not a configuration of MindSpore Transformers."""
    from .purposes_compiled import OTHER_YAML

    if isinstance(root, dict):
        keys: set[str] = set()
        for key, value in cast("dict[Any, Any]", root).items():
            keys.add("on" if key is True else str(key))
            if isinstance(value, dict):
                keys.update(f"{key}.{below}" for below in cast("dict[Any, Any]", value))
        for every, some, en, zh, kind in OTHER_YAML:
            if (every and keys.issuperset(every)) or keys.intersection(some):
                if kind:
                    said = say.this_runs_inference if kind == INFERENCE else say.this_is
                    return Purpose(kind, diagnose(said(about=Words(en, zh)), file, None), own_arguments=True)
                return _other_yaml(file, Words(en, zh))
        return unread_yaml(file)
    if isinstance(root, list):
        return _other_yaml(file, say.yaml_list())
    return _other_yaml(file, say.yaml_without_keys())


def is_service(source: SourceText) -> bool:
    """True if a text is the JSON that configures a service of MindIE."""
    return source.text[:256].lstrip().startswith("{") and '"ModelDeployConfig"' in source.text


def recipe_of_another(source: SourceText) -> Diagnostic | None:
    """Problem for Python or TOML that configures another program; None without signs of one."""
    from .purposes_compiled import RECIPES_OF_OTHERS

    for marks, en, zh, instead, instead_zh in RECIPES_OF_OTHERS:
        if any(mark in source.text for mark in marks):
            problem = say.recipe_of_another(about=Words(en, zh), instead=Words(instead, instead_zh))
            return diagnose(problem, source.name)
    return None


def template(source: SourceText) -> Purpose | None:
    """Purpose of a text that is a template for YAML, not YAML."""
    text = source.text
    if not any(mark in text for mark in ("{{", "{%", "<%")):
        return None
    return _other_yaml(source.name, say.unfilled_template())


def unread_yaml(file: str) -> Purpose:
    """Purpose of a YAML that safe_load rejects and that is not of MindSpore Transformers."""
    return _other_yaml(file, say.another_programs_yaml())


def purpose_of_run_mode(run_mode: object, file: str, span: Span | None) -> Purpose | None:
    """Purpose that the value of `run_mode` gives a configuration."""
    if run_mode in ("train", "finetune", None):
        return None
    from .purposes_compiled import RUN_MODES

    found = next((entry for entry in RUN_MODES if str(run_mode).startswith(entry[0])), None)
    if found is None:
        return None
    said = say.this_runs_inference if found[1] == INFERENCE else say.this_is
    problem = diagnose(said(about=Words(found[2], found[3])), file, span)
    return Purpose(found[1], problem)


def purpose_of_fine_tuning(
    value: Callable[[str], Any], place: Callable[[str], Span | None], file: str
) -> Purpose | None:
    """Purpose if keys of a configuration make it a fine-tuning."""
    from .purposes_compiled import FINE_TUNING

    for entry in FINE_TUNING:
        if value(entry[0]):
            return _purpose_of_entry(entry, file, place(entry[0]), name=entry[0])
    return None


# -------------------------------------------------------------------------------------------------------------------


def _other_yaml(file: str, about: Words) -> Purpose:
    return Purpose("foreign", diagnose(say.other_yaml(about=about), file, None))


def _entry(kind: str, about: Words, parser: str) -> tuple[str, ...]:
    """Table entry for a purpose found by code."""
    return "", kind, about, about.zh, "", "", parser


def _program(script: str | None) -> tuple[Any, ...] | None:
    """Table entry of a program; patterns with folders match as many path parts."""
    if not script:
        return None
    base = _file_name(script)
    if base == "pretrain_gpt.py":
        return (base, TRAINING, "", "", "", "", "megatron")
    from .purposes_compiled import MODULES, PROGRAMS

    if not base.endswith(".py"):
        found = next((entry for entry in MODULES if matches_pattern(entry[0], base)), None)
        if found is not None:
            return found
        base = f"{base.rpartition('.')[2]}.py"
    path = script.replace("\\", "/").split("/")[:-1]
    for entry in PROGRAMS:
        folders = entry[0].count("/")
        if matches_pattern(entry[0], "/".join((*path[len(path) - folders :], base)) if folders else base):
            return entry
    return None


def _engine(launch: Launch) -> tuple[Any, ...] | None:
    """The row of a program with several engines where a word names Megatron Core's."""
    base = _file_name(launch.script)
    if not base or base.endswith(".py"):
        return None
    from .purposes_compiled import ENGINES

    for entry in ENGINES:
        if not matches_pattern(entry[0], base):
            continue
        words = [word.text for word in launch.arguments]
        decided = _last([word.text for word in launch.arguments if word.resolved], entry[8][0])
        if decided in (None, entry[8][1]) and any(
            word.startswith(start) and part in word for word in words for start, part in entry[7]
        ):
            return entry
    return None


def _last(words: Sequence[str], key: str) -> str | None:
    """Last value that Hydra words give a key; None if none does."""
    given = [word.lstrip("+").partition("=") for word in words]
    return next((value.strip("'\"") for name, equals, value in reversed(given) if name == key and equals), None)


def matches_pattern(pattern: str, name: str) -> bool:
    """True if a name is a pattern's, where each `*` stands for any text."""
    first, star, rest = pattern.partition("*")
    if not star:
        return name == pattern
    if not name.startswith(first):
        return False
    name = name[len(first) :]
    while "*" in rest:
        part, _, rest = rest.partition("*")
        at = name.find(part)
        if at < 0:
            return False
        name = name[at + len(part) :]
    return name.endswith(rest)


def _file_name(script: str | None) -> str:
    return (script or "").replace("\\", "/").rpartition("/")[2]


def _purpose_of_entry(entry: Sequence[Any], file: str, span: Span | None, *, name: str) -> Purpose | None:
    """Purpose that a table entry gives a file; None for training."""
    kind, en, zh, lost, lost_zh, parser = entry[1:7]
    if kind == TRAINING:
        return None
    about = Words(en, zh)
    if kind == POST_TRAINING:
        problem = say.post_training(about=about, lost=Words(lost, lost_zh))
    else:
        said = {OTHER_MODEL: say.other_model, INFERENCE: say.program_runs_inference}.get(kind, say.no_training)
        problem = said(name=name, about=about)
    return Purpose(kind, diagnose(problem, file, span), parser == "own")

"""Any file of either framework, read: the one door that the commands and the public API use.

What a file is, is decided by its content, with its name as a hint: a launch script, an argument list, the
arguments block of a training log, a functional-test recipe, a MindSpore Transformers YAML, or a model's
`config.json`. A launch script that starts `run_mindformer.py` is followed to its YAML; its options lie on top of it.
"""

from __future__ import annotations

import os

from .border.file_input import MAX_ARGUMENTS, confine_to_folder, encoding_problem, read_named, read_text, refuse_larger
from .border.inputs import names_in
from .config import ReadOptions
from .diagnostic import UnreadableError, diagnose
from .fast_records import TYPE_CHECKING
from .file_kind import is_service, may_be_mindformers, purpose_of_program, purpose_of_recipe
from .messages_compiled import say
from .source import SourceText
from .source_tree import folders_of, tree_version, version_of_known_folder
from .versions import header_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from .config import Argument, Config, Launch, Purpose
    from .diagnostic import Diagnostic
    from .megatron.inputs.detection import Input
    from .megatron.inputs.yaml_launches import Experiment
    from .megatron.versions import Chosen
    from .shell.state import WrittenFiles
    from .source import Span


Format: TypeAlias = "Input | Literal['script', 'mindformers', 'huggingface']"


_SCRIPT_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".zsh", ".ksh")
_YAML_SUFFIXES = (".yaml", ".yml")
_PROGRAM_SUFFIXES = (".py", ".toml")


def read_config(path: str, options: ReadOptions | None = None) -> Config:
    """Configuration of a file with all effective values; UnreadableError if it cannot be read."""
    chosen = options or ReadOptions()
    return config_of(read_text(path, encoding=chosen.encoding), chosen, path=path)


def config_of(
    source: SourceText,
    options: ReadOptions,
    *,
    path: str,
    open_file: Callable[[str], SourceText] = read_named,
    list_directory: Callable[[str], list[str] | None] | None = None,
) -> Config:
    """Configuration of a text as if it were the file at `path`.

    What the text names in its turn is opened with `open_file`, inside of `options.confine` only where that is given.
    """
    opened = {source.name: source}

    def open_and_note(name: str) -> SourceText:
        found = open_file(name)
        opened[found.name] = found
        return found

    bounded = open_and_note if options.confine is None else confine_to_folder(open_and_note, options.confine)
    config = _read_file(source, options, path, bounded, list_directory)
    strange = [(name, text) for name, text in opened.items() if text.strange is not None]
    if not strange:
        return config
    problems = [encoding_problem(text, must_be_utf8=_is_yaml(text, name)) for name, text in strange]
    return config._replace(problems=(*filter(None, problems), *config.problems))


def _is_yaml(source: SourceText, path: str) -> bool:
    """True if a framework opens the file itself, so that it must be UTF-8."""
    return path.lower().endswith((*_YAML_SUFFIXES, ".json")) or format_of(source, path) == "mindformers"


def _read_file(
    source: SourceText,
    options: ReadOptions,
    path: str,
    open_file: Callable[[str], SourceText],
    list_directory: Callable[[str], list[str] | None] | None,
) -> Config:
    """Configuration of a text by the reader for its kind."""
    found = format_of(source, path)
    if found == "script":
        return _read_script_launch(source, options, path, os.getcwd(), open_file, list_directory)
    if found == "mindformers":
        from .mindformers.effective import mindformers_config

        return mindformers_config(source, options, open_file)
    if found == "huggingface":
        from .huggingface.model_config import huggingface_config

        refuse_larger(source.name, len(source.text), MAX_ARGUMENTS)
        return huggingface_config(source, options.transformers)
    if found != "log":
        refuse_larger(source.name, len(source.text), MAX_ARGUMENTS)
    if found == "recipe":
        return _recipe(source, options, path, os.getcwd(), open_file)
    if found == "experiment":
        return _experiment(source, options, path, open_file)
    if found == "primus":
        return _primus(source, options, path, open_file)
    return _of_megatron(source, options, found)


def _of_megatron(source: SourceText, options: ReadOptions, found: Format) -> Config:
    """Configuration of a file with arguments only: list, log or dump."""
    from .megatron.effective import megatron_config
    from .megatron.inputs.argument_texts import read_arguments

    if found == "log":
        from .megatron.inputs.argument_texts import read_log

        return read_log(source, options)
    if found in ("targets", "configuration"):
        return _tree(source, options, found)
    return megatron_config(read_arguments(source), file=source.name, options=options)


def _tree(source: SourceText, options: ReadOptions, found: Format) -> Config:
    """Configuration of another program's YAML."""
    from .megatron.effective import megatron_config
    from .megatron.inputs.yaml_launches import CONFIGURED, MEGATRON_BRIDGE, configuration_of, words_of

    dumped = found == "targets"
    chosen, used = _in_dialect(
        MEGATRON_BRIDGE if dumped else CONFIGURED, "_target_" if dumped else "language_model", options
    )
    words = words_of(source) if dumped else configuration_of(source)
    return megatron_config(words, file=source.name, options=used, chosen=chosen)


def _experiment(source: SourceText, options: ReadOptions, path: str, open_file: Callable[[str], SourceText]) -> Config:
    """Configuration of a FlagScale experiment."""
    from .megatron.inputs.yaml_launches import experiment_of

    return _of_experiment(experiment_of(source, path, open_file), source.name, options)


def _primus(source: SourceText, options: ReadOptions, path: str, open_file: Callable[[str], SourceText]) -> Config:
    """An experiment of Primus, whose presets and overrides are values of Megatron-LM's arguments by their names."""
    from .border.inputs import is_file
    from .megatron.dialects import dialect_versions
    from .megatron.effective import megatron_config
    from .megatron.inputs.yaml_launches import PRIMUS, PRIMUS_SIGN, primus_run

    chosen, used = _in_dialect(PRIMUS, PRIMUS_SIGN, options)
    version = (used.megatron or "").removeprefix(f"{PRIMUS}-")
    known = dialect_versions(PRIMUS)
    run = primus_run(source, path, version if version in known else known[-1], options.variables, open_file, is_file)
    return megatron_config(
        run.words, file=source.name, options=used, unresolved=run.unresolved, problems=run.problems, chosen=chosen
    )


def _flagscale_experiment(
    launch: Launch | None, path: str, open_file: Callable[[str], SourceText]
) -> Experiment | None:
    """Experiment that FlagScale's `run.py` starts; None for other programs."""
    if launch is None or os.path.basename(launch.script or "") != "run.py":
        return None
    from .megatron.inputs.yaml_launches import experiment_of_launch

    return experiment_of_launch(launch, lambda name: _open_named_yaml(name, path, open_file))


def _of_experiment(made: Experiment, file: str, options: ReadOptions) -> Config:
    """Configuration of a FlagScale experiment's launch."""
    from .megatron.effective import megatron_config
    from .megatron.inputs.yaml_launches import FLAGSCALE, SIGNS

    # Its words are arguments, which the version that is asked for can read.
    chosen, used = (None, options) if options.megatron else _in_dialect(FLAGSCALE, SIGNS, options)
    return megatron_config(
        made.launch.arguments,
        file=file,
        options=used,
        launch=made.launch,
        unresolved=made.unresolved,
        problems=made.problems,
        chosen=chosen,
        purpose=purpose_of_program(made.launch, file),
    )


def _in_dialect(name: str, sign: str, options: ReadOptions) -> tuple[Chosen | None, ReadOptions]:
    """Detected dialect, and options without a contradicting version."""
    from .megatron.messages_compiled import say as say_of_megatron
    from .megatron.versions import Chosen

    if options.megatron is not None and options.megatron.startswith(name):
        return None, options
    return Chosen(name, say_of_megatron.dialect_of(label=name, signs=sign)), options._replace(megatron=None)


def format_of(source: SourceText, path: str) -> Format:
    """The format of the file."""
    name = path.lower()
    if name.endswith(_SCRIPT_SUFFIXES) or source.text.startswith("#!"):
        return "script"
    if _is_model(source, may_be_yaml=name.endswith(_YAML_SUFFIXES)):
        return "huggingface"
    if name.endswith(_PROGRAM_SUFFIXES):
        _refuse_recipe(source)
    from .megatron.inputs.detection import detect

    found = detect(source)
    if found is not None and not (name.endswith(_YAML_SUFFIXES) and found in ("arguments", "log")):
        return found
    if name.endswith(_YAML_SUFFIXES) or may_be_mindformers(source) or is_service(source):
        return "mindformers"
    from .shell.script import looks_like_script

    if looks_like_script(source):
        return "script"
    raise UnreadableError(diagnose(say.unknown(why=say.nothing_known_in_it()), source.name))


def _refuse_recipe(source: SourceText) -> None:
    """UnreadableError for Python or TOML of a program that accmap does not read."""
    from .file_kind import recipe_of_another

    problem = recipe_of_another(source)
    if problem is not None:
        raise UnreadableError(problem)


def _is_model(source: SourceText, *, may_be_yaml: bool) -> bool:
    """True if a text is a model's `config.json`."""
    if not source.text[:256].lstrip().startswith("{"):
        return False
    from .huggingface.model_config import is_model

    return is_model(source) and not (may_be_yaml and _has_sections(source.text))


def _has_sections(text: str) -> bool:
    """True for JSON whose top level has sections of MindSpore Transformers."""
    from json import loads

    from .purposes_compiled import SECTIONS

    try:
        return len(SECTIONS & set(loads(text))) > 1
    except (ValueError, TypeError, RecursionError):
        return False


def _recipe(
    source: SourceText, options: ReadOptions, path: str, cwd: str, open_file: Callable[[str], SourceText]
) -> Config:
    """Configuration of a functional test's recipe."""
    from .megatron.effective import megatron_config
    from .megatron.inputs.functional_test import read_recipe

    chosen, unknown = _megatron_version(None, options, path, cwd, open_file, source.name)
    recipe = read_recipe(source, _with_version(options, chosen))
    while True:
        config = megatron_config(
            recipe.arguments,
            file=source.name,
            options=options,
            launch=recipe.launch,
            unresolved=recipe.unresolved,
            problems=(*unknown, *recipe.problems),
            chosen=chosen,
            purpose=purpose_of_recipe(
                path, recipe.mode, source.name, empty=not recipe.arguments and not recipe.problems
            ),
        )
        if config.version_origin != "detected" or chosen is not None:
            return config
        from .megatron.versions import Chosen

        chosen = Chosen(config.framework_version, config.version_reason)
        recipe = read_recipe(source, _with_version(options, chosen))


def _megatron_version(
    launch: Launch | None,
    options: ReadOptions,
    path: str,
    cwd: str,
    open_file: Callable[[str], SourceText],
    file: str,
    text: str = "",
) -> tuple[Chosen | None, tuple[Diagnostic, ...]]:
    """Version from the launch's source tree, if none is requested; problems for unknown ones."""
    if options.megatron is not None:
        return None, ()
    found = tree_version("megatron", folders_of(launch, path, cwd), open_file)
    written = header_version("megatron", text) if found is None else None
    known = version_of_known_folder(launch, text) if found is None and written is None else None
    if found is None and written is None and known is None:
        return None, ()
    from .megatron.versions import by_header, by_tree, chosen_by_known_folder

    if known is not None:
        return chosen_by_known_folder(*known), ()
    return by_tree(found, file) if written is None else (by_header(written), ())


def _with_version(options: ReadOptions, chosen: Chosen | None) -> ReadOptions:
    return options if chosen is None else options._replace(megatron=chosen.version)


def _read_script_launch(
    source: SourceText,
    options: ReadOptions,
    path: str,
    cwd: str,
    open_file: Callable[[str], SourceText],
    list_directory: Callable[[str], list[str] | None] | None,
) -> Config:
    """Configuration of the launch that a script starts, of either framework."""
    from .mindformers.launch import is_mindformers_launch
    from .shell.script import read_script

    reading = read_script(source, options, open_file, path=path, cwd=cwd, list_directory=list_directory or names_in)
    launch = reading.chosen
    as_left = _opener_of_written_files(reading.written, cwd, open_file, launch, source.name)
    purpose = purpose_of_program(launch, source.name)
    made = _flagscale_experiment(launch, path, as_left)
    if made is not None:
        config = _of_experiment(made, source.name, options)
    elif purpose is None and launch is not None and is_mindformers_launch(launch):
        config = _mindformers_launch(launch, source, options, path, cwd, as_left)
    else:
        from .megatron.effective import megatron_config

        chosen, unknown = _megatron_version(launch, options, path, cwd, open_file, source.name, source.text)
        launch, words = _words_of(launch, purpose, lambda name: _open_named_yaml(name, path, as_left))
        words, chosen, options = _arguments_of_yaml(
            words, chosen, options, lambda name: _open_named_yaml(name, path, as_left)
        )
        config = megatron_config(
            words,
            file=source.name,
            options=options,
            launch=launch,
            unresolved=reading.unresolved,
            problems=(*unknown, *reading.problems),
            chosen=chosen,
            purpose=purpose,
            folders=folders_of(launch, path, cwd),
        )
        return config._replace(other_launches=reading.others)
    return config._replace(
        other_launches=reading.others,
        unresolved=reading.unresolved + config.unresolved,
        problems=reading.problems + config.problems,
    )


def _arguments_of_yaml(
    words: tuple[Argument, ...], chosen: Chosen | None, options: ReadOptions, open_file: Callable[[str], SourceText]
) -> tuple[tuple[Argument, ...], Chosen | None, ReadOptions]:
    """Words of the file that `--yaml-cfg` names, with its dialect; else the given ones."""
    if not any(word.text.startswith("--yaml-cfg") for word in words):
        return words, chosen, options
    from .megatron.inputs.yaml_launches import CONFIGURED, yaml_cfg_words

    named = yaml_cfg_words(words, open_file)
    return (words, chosen, options) if named is None else (named, *_in_dialect(CONFIGURED, "--yaml-cfg", options))


def _words_of(
    launch: Launch | None, purpose: Purpose | None, open_file: Callable[[str], SourceText]
) -> tuple[Launch | None, tuple[Argument, ...]]:
    """Launch and its words, with those of a YAML or recipe that it names."""
    if launch is None:
        return None, ()
    words = launch.arguments
    if purpose is not None:
        from .megatron.inputs.yaml_launches import with_environment, with_named_yaml

        words = with_named_yaml(launch.script, words, open_file)
        launch = with_environment(launch, open_file)
    reads = purpose is None or purpose.reads_arguments
    if reads and any("=" in word.text and word.text[0] != "-" for word in words if word.text):
        from .megatron.inputs.yaml_launches import words_with_overrides

        words = words_with_overrides(words, launch.script or "")
    return launch, words


def _mindformers_launch(
    launch: Launch,
    source: SourceText,
    options: ReadOptions,
    path: str,
    cwd: str,
    open_file: Callable[[str], SourceText],
) -> Config:
    """The YAML that a `run_mindformer.py` launch names, with the launch's options on top."""
    from .mindformers.effective import mindformers_config
    from .mindformers.launch import DEFAULT_VERSION, is_dynamic_launch, launch_overrides

    version = options.mindformers or DEFAULT_VERSION
    yaml_path, changes, problems = launch_overrides(launch, version, source.name)
    if yaml_path is None:
        for problem in problems:
            if problem.kind.name == "launch-config-undecided":
                raise UnreadableError(problem)
        raise UnreadableError(diagnose(say.no_yaml(script=launch.script), source.name, launch.span))
    if options.dialect is None and is_dynamic_launch(launch, version):
        options = options._replace(dialect="dynamic")
    text = _open_named_yaml(yaml_path, path, open_file)
    if options.world_size is None and launch.world_size is not None:
        options = options._replace(
            world_size=launch.world_size, counted_at=launch.source_of(launch.world_size, source.name)
        )
    folders = folders_of(launch, path, cwd)
    config = mindformers_config(text, options, open_file, overrides=changes, folders=folders)
    overridden = {change.span for change in changes}

    def in_yaml(span: Span | None) -> Span | None:
        if span is None or span.file is not None or span in overridden:
            return span
        return span._replace(file=text.name)

    return config._replace(
        file=source.name,
        launch=launch,
        settings={key: value._replace(span=in_yaml(value.span)) for key, value in config.settings.items()},
        unresolved=tuple(entry._replace(span=in_yaml(entry.span) or entry.span) for entry in config.unresolved),
        problems=(*problems, *config.problems),
    )


def _opener_of_written_files(
    written: WrittenFiles, cwd: str, open_file: Callable[[str], SourceText], launch: Launch | None, file: str
) -> Callable[[str], SourceText]:
    """Function that opens files as the script left them at the launch."""
    if launch is None or not any(written):
        return open_file
    folders = [folder for folder in (launch.directory, cwd) if folder is not None]

    def open_written(name: str) -> SourceText:
        places = [os.path.normpath(os.path.join(folder, name)) for folder in folders]
        full = next((place for place in places if written.has(place)), None)
        if full is None:
            return open_file(name)
        text = written.text(full)
        if text is None:
            raise UnreadableError(diagnose(say.written_by_the_script(path=name), file, launch.span))
        return SourceText(name, text or "\n")

    return open_written


def _open_named_yaml(name: str, script: str, open_file: Callable[[str], SourceText]) -> SourceText:
    """YAML that a launch names, relative to the launch or the script."""
    try:
        return open_file(name)
    except UnreadableError as error:
        if os.path.isabs(name) or error.diagnostic.kind.name != "file-missing":
            raise
        try:
            return open_file(os.path.join(os.path.dirname(script), name))
        except UnreadableError:
            raise error from None


def check_versions(options: ReadOptions, where: str | None = None) -> ReadOptions:
    """Options unchanged; UnreadableError if one names an unknown version.

    One rule for all frameworks, and whether or not a file of that framework is read: what nothing is known of
    is refused, and never answered for by a neighbour. `where` names the file that says it, where it is no option.
    """
    if options.megatron is not None:
        from .megatron.forks import normalise_version

        normalise_version(options.megatron, where or "--megatron")
    if options.mindformers is not None:
        from .mindformers.versions import known_version

        known_version(options.mindformers, where or "--mindformers")
    if options.transformers is not None:
        from .huggingface.model_config import known_version as of_transformers

        of_transformers(options.transformers, where or "--transformers")
    return options

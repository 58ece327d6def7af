"""Any file of either framework, read: the one door that the commands and the public API use.

What a file is, is decided by its content, with its name as a hint: a launch script, an argument list, the
arguments block of a training log, a functional-test recipe, or a MindSpore Transformers YAML. A launch script
that starts `run_mindformer.py` is followed to its YAML, and its options lie on top of it.
"""

from __future__ import annotations

import os

from .config import Config, Launch, ReadOptions
from .diagnostic import Kind, UnreadableError, finding
from .files import MAX_ARGUMENTS, read_text, refuse_larger
from .light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from .source import SourceText, Span

Format: TypeAlias = "Literal['script', 'arguments', 'json', 'log', 'recipe', 'mindformers']"

PROBLEMS = {
    "unknown": Kind(
        "SYN910",
        "unknown-format",
        "error",
        "This is neither a Megatron-LM launch script, argument list or log nor a MindSpore Transformers YAML: {why}.",
        "这既不是 Megatron-LM 的启动脚本、参数列表或日志，也不是 MindSpore Transformers 的 YAML：{why}。",
    ),
    "no-yaml": Kind(
        "SYN911",
        "no-configuration-named",
        "error",
        "The launch of {script} names no --config, so there is no YAML to read.",
        "启动 {script} 时未给出 --config，没有可读取的 YAML。",
    ),
}

_SCRIPT_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".zsh", ".ksh")
_YAML_SUFFIXES = (".yaml", ".yml")


def read_config(path: str, options: ReadOptions | None = None) -> Config:
    """The effective values of the file at `path`; UnreadableError where it cannot be read."""
    return config_of(read_text(path), options or ReadOptions(), path=path)


def config_of(
    source: SourceText,
    options: ReadOptions,
    *,
    path: str,
    cwd: str | None = None,
    open_file: Callable[[str], SourceText] = read_text,
    list_directory: Callable[[str], list[str] | None] | None = None,
) -> Config:
    """The effective values of a text that is (or, from standard input, would be) the file at `path`."""
    found = format_of(source, path)
    if found == "script":
        return _script(source, options, path, cwd or os.getcwd(), open_file, list_directory)
    if found == "mindformers":
        from .mindformers.effective import mindformers_config

        return mindformers_config(source, options, open_file)
    from .megatron.effective import megatron_config
    from .megatron.inputs import read_arguments, read_log, read_recipe

    if found != "log":
        refuse_larger(source.name, len(source.text), MAX_ARGUMENTS)
    if found == "recipe":
        recipe = read_recipe(source, options)
        return megatron_config(
            recipe.arguments,
            file=source.name,
            options=options,
            launch=recipe.launch,
            unresolved=recipe.unresolved,
            problems=recipe.problems,
        )
    if found == "log":
        return read_log(source, options)
    return megatron_config(read_arguments(source), file=source.name, options=options)


def format_of(source: SourceText, path: str) -> Format:
    """What kind of file this is."""
    name = path.lower()
    if name.endswith(_SCRIPT_SUFFIXES) or source.text.startswith("#!"):
        return "script"
    from .megatron.inputs import detect

    found = detect(source)
    if found is not None and not (name.endswith(_YAML_SUFFIXES) and found in ("arguments", "log")):
        return found
    from .mindformers.detect import looks_like_mindformers

    if name.endswith(_YAML_SUFFIXES) or looks_like_mindformers(source):
        return "mindformers"
    from .shell.script import looks_like_script

    if looks_like_script(source):
        return "script"
    why = "no launch, no --flag, no arguments block and no YAML mapping was found in it"
    raise UnreadableError(finding(PROBLEMS, "unknown", source.name, why=why))


def _script(
    source: SourceText,
    options: ReadOptions,
    path: str,
    cwd: str,
    open_file: Callable[[str], SourceText],
    list_directory: Callable[[str], list[str] | None] | None,
) -> Config:
    from .mindformers.launch import is_mindformers_launch
    from .shell import tree
    from .shell.script import read_script

    names = list_directory or tree.listing
    reading = read_script(source, options, open_file, path=path, cwd=cwd, list_directory=names)
    launch = reading.chosen
    if launch is not None and is_mindformers_launch(launch):
        config = _followed(launch, source, options, path, open_file)
    else:
        from .megatron.effective import megatron_config

        config = megatron_config(
            () if launch is None else launch.arguments,
            file=source.name,
            options=options,
            launch=launch,
            unresolved=reading.unresolved,
            problems=reading.problems,
        )
        return config._replace(other_launches=reading.others)
    return config._replace(
        other_launches=reading.others,
        unresolved=reading.unresolved + config.unresolved,
        problems=reading.problems + config.problems,
    )


def _followed(
    launch: Launch, source: SourceText, options: ReadOptions, path: str, open_file: Callable[[str], SourceText]
) -> Config:
    """The YAML that a `run_mindformer.py` launch names, with the launch's options on top."""
    from .mindformers.effective import mindformers_config
    from .mindformers.launch import DEFAULT_VERSION, is_dynamic_launch, overrides

    version = options.mindformers or DEFAULT_VERSION
    yaml_path, changes, problems = overrides(launch, version, source.name)
    if yaml_path is None:
        for problem in problems:
            if problem.kind.name == "launch-config-undecided":
                raise UnreadableError(problem)
        raise UnreadableError(finding(PROBLEMS, "no-yaml", source.name, launch.span, script=launch.script))
    if options.dialect is None and is_dynamic_launch(launch, version):
        options = options._replace(dialect="dynamic")
    if not os.path.isabs(yaml_path) and not os.path.exists(yaml_path):
        beside = os.path.join(os.path.dirname(path), yaml_path)
        yaml_path = beside if os.path.exists(beside) else yaml_path
    text = open_file(yaml_path)
    if options.world_size is None and launch.world_size is not None:
        options = options._replace(world_size=launch.world_size)
    config = mindformers_config(text, options, open_file, overrides=changes)
    overridden = {change.span for change in changes}

    def placed(span: Span | None) -> Span | None:
        if span is None or span.file is not None or span in overridden:
            return span
        return span._replace(file=text.name)

    return config._replace(
        file=source.name,
        launch=launch,
        settings={key: value._replace(span=placed(value.span)) for key, value in config.settings.items()},
        unresolved=tuple(entry._replace(span=placed(entry.span) or entry.span) for entry in config.unresolved),
        problems=(*problems, *config.problems),
    )

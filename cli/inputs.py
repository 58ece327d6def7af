"""The files that a command line names: on disk, or `-` for standard input."""

from __future__ import annotations

import os

from ..schemas.border.file_input import read_standard_input, read_text, require_inside
from ..schemas.border.inputs import is_file, is_folder, stands
from ..schemas.border.text_output import tell
from ..schemas.diagnostic import UnreadableError
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.file_kind import trains_gpt
from ..schemas.message import NOTHING, Words
from ..schemas.reader import config_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..mapper.translate.result import Translation
    from ..schemas.config import Config, ReadOptions, VersionOrigin
    from ..schemas.diagnostic import Language
    from ..schemas.source import SourceText


def read_input(name: str, stdin_name: str | None, encoding: str | None = None) -> SourceText:
    """The text of a file named on the command line."""
    return read_standard_input(stdin_name, encoding) if name == "-" else read_text(name, encoding=encoding)


def load(name: str, options: ReadOptions, stdin_name: str | None = None, *, model: bool = False) -> Config:
    """The effective values of one file; UsageError for a model's `config.json`, unless `model` allows it."""
    source, options = open_input(description_file(name), options, stdin_name)
    config = config_of(source, options, path=source.name)
    return config if model else require_run(config)


class SideVersions(NamedTuple):
    """The versions that a command line names for the first and the second of two files."""

    a: str | None = None
    b: str | None = None

    def options_of(self, files: Sequence[str], options: ReadOptions) -> list[ReadOptions]:
        """The reading options of each file; UsageError for a version of no framework, or if there are not two files."""
        if (self.a or self.b) and len(files) != len(self):
            from .argument_parser import UsageError
            from .messages_compiled import say

            raise UsageError(say.side_versions_need_two_files())
        named = zip(files, self, _FLAGS, strict=False)
        return [options if version is None else with_version(options, version, flag) for _, version, flag in named]

    def require_own(self, files: Sequence[str], name: str, config: Config) -> None:
        """UsageError if the version that is named for one of the files is another framework's."""
        version, flag = dict(zip(files, zip(self, _FLAGS, strict=True), strict=False)).get(name, (None, ""))
        if version is None or _is_version_of(config.framework, version):
            return
        from ..schemas.versions import TITLES
        from .argument_parser import UsageError
        from .messages_compiled import say

        title = TITLES[config.framework]
        raise UsageError(
            say.not_a_version_of_its_framework(option=flag, version=version, title=title, file=config.file)
        )

    def require_clear(self, configs: Sequence[Config], options: ReadOptions) -> None:
        """UsageError for one option that would name the versions of two files which may have two."""
        if len(configs) != len(self) or configs[0].framework != configs[1].framework:
            return
        option = _OPTION[configs[0].framework]
        dialects = {config.dialect for config in configs if config.framework == "mindformers"}
        if getattr(options, option) is not None and (any(self) or len(dialects) > 1):
            from .argument_parser import UsageError
            from .messages_compiled import say

            raise UsageError(say.version_of_which_file(option=f"--{option}", a=configs[0].file, b=configs[1].file))


_FLAGS = ("--a-version", "--b-version")
_OPTION = {"megatron": "megatron", "mindformers": "mindformers", "huggingface": "transformers"}
"""The reading option that names a version of each framework."""


def _is_version_of(framework: str, version: str) -> bool:
    """True if the text is a known version of the framework."""
    from ..schemas.config import ReadOptions
    from ..schemas.reader import check_versions

    try:
        check_versions(ReadOptions()._replace(**{_OPTION[framework]: version}))
    except UnreadableError:
        return False
    return True


def with_version(options: ReadOptions, version: str, flag: str) -> ReadOptions:
    """The options with a version for a file of whichever framework has it."""
    named = {option: version for framework, option in _OPTION.items() if _is_version_of(framework, version)}
    if not named:
        from .argument_parser import UsageError
        from .messages_compiled import say

        raise UsageError(say.no_version_of_any_framework(option=flag, version=version))
    return options._replace(**named)


def load_two(
    files: Sequence[str],
    options: ReadOptions,
    versions: SideVersions,
    stdin_name: str | None = None,
    *,
    model: bool = False,
) -> list[Config]:
    """The effective values of one or two files, each read in the version that is given for it."""
    each = versions.options_of(files, options)
    configs = [load(name, own, stdin_name, model=model) for name, own in zip(files, each, strict=True)]
    for name, config in zip(files, configs, strict=True):
        versions.require_own(files, name, config)
    versions.require_clear(configs, options)
    return configs


def require_run(config: Config) -> Config:
    """The configuration itself; UsageError for a model's `config.json`, which describes no training run."""
    if config.framework == "huggingface":
        from .argument_parser import UsageError
        from .messages_compiled import say

        raise UsageError(say.a_model_is_no_run(file=config.file))
    return config


def tell_refusals(configs: Iterable[Config], language: Language) -> None:
    """Say first, on stderr, why a framework would not start a run that a command answers about all the same."""
    from ..mapper.preconditions import refusals
    from ..schemas.versions import TITLES
    from .messages_compiled import say

    for config in configs:
        for one in refusals(config) if trains_gpt(config) and config.framework != "huggingface" else ():
            if one.certain:
                place = config.file if one.span is None else one.span.at(config.file)
                named = f"{TITLES[config.framework]} {config.framework_version}"
                tell(say.would_not_start(place=place, framework=named, why=Words(one.en, one.zh)).text(language))


def description_file(name: str) -> str:
    """The file that a model folder is described by; any other name as it is."""
    inner = os.path.join(name, "config.json")
    return inner if name != "-" and is_folder(name) and is_file(inner) else name


def open_input(name: str, options: ReadOptions, stdin_name: str | None = None) -> tuple[SourceText, ReadOptions]:
    """The text of a file named on the command line, read once, and the options with what its place adds."""
    if options.confine is not None:
        from ..schemas.border.file_input import require_no_way_out
        from .configuration import Configuration, confining_folder

        # Two files of one command may belong to two projects; each is kept to its own.
        root = confining_folder(Configuration(), (stdin_name or "") if name == "-" else name)
        if name != "-":
            require_no_way_out(name, root)
        options = options._replace(confine=root)
    source = read_input(name, stdin_name, options.encoding)
    return source, _of_its_pair(source.name, options)


def _of_its_pair(name: str, options: ReadOptions) -> ReadOptions:
    """Reading options with the run length and the answers to conditions from the file's pair in `accmap.toml`."""
    if not _is_configured(name):
        return options
    from .argument_parser import branches_of
    from .configuration import find_configuration

    found = find_configuration(name, confine=options.confine is not None)
    if not found.pairs_with(name):
        return options
    branches = (*found.words("branch"), *found.branches_in(name))
    if branches:
        options = options._replace(branches={**branches_of(branches, "branch"), **options.branches})
    if options.steps is None and options.dataset_size is None:
        steps, samples = found.length_of(name)
        options = options._replace(steps=steps, dataset_size=samples)
    return options


class Target(NamedTuple):
    """The options that name the version and the dialect of the file to write, and who chose them."""

    options: ReadOptions
    origin: VersionOrigin = "given"
    reason: Words = NOTHING
    """Empty if the command line or the default chose."""

    def name_choice(self, made: Translation) -> Translation:
        """The translation, with the reason for its version."""
        if not self.reason or made.target_framework != "mindformers":
            return made
        return made._replace(version_origin=self.origin, version_reason=self.reason)


def target_for(config: Config, options: ReadOptions) -> Target:
    """The target of a translation: by the command line, else the configuration, else the configured partner."""
    if config.framework == "mindformers" or options.mindformers or options.dialect or not _is_configured(config.file):
        return Target(options)
    from .configuration import find_configuration
    from .messages_compiled import say

    found = find_configuration(config.file, confine=options.confine is not None)
    version, dialect = found.text("mindformers"), found.text("dialect")
    if version or dialect:
        words = say.as_configured(path=os.path.relpath(found.path or ""))
        return Target(options._replace(mindformers=version, dialect=dialect), "given", words)
    partner = found.partner(config.file)
    if partner is None or not is_file(partner):
        return Target(options)
    if options.confine is not None:
        require_inside(partner, found.directory)
    try:
        return target_like(config_of(read_text(partner), options, path=partner), options)
    except UnreadableError:
        return Target(options)  # whoever checks the pair reports it


def target_like(config: Config, options: ReadOptions) -> Target:
    """The version and the dialect of a YAML that is there; of a legacy one the usual static version."""
    from ..schemas.mindformers.versions import WRITTEN
    from .messages_compiled import say

    if config.framework != "mindformers":
        return Target(options)
    dialect = config.dialect if config.dialect in WRITTEN else "static"
    named = options._replace(dialect=options.dialect or dialect)
    if options.mindformers is not None:
        return Target(named)
    version = config.framework_version if config.framework_version in WRITTEN[dialect] else None
    version = version if config.dialect == dialect else None
    return Target(named._replace(mindformers=version), "detected", say.same_as_file(path=os.path.relpath(config.file)))


def _is_configured(name: str) -> bool:
    """True if a folder above the file has a configuration of accmap."""
    folder = os.path.abspath(os.path.dirname(name) or ".")
    while True:
        if any(stands(os.path.join(folder, one)) for one in _NAMES):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above


_NAMES = ("accmap.toml", "pyproject.toml")

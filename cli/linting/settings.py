"""Settings of a lint, rules of other distributions included, and the reader of its files."""

from __future__ import annotations

import os
import sys

from ...schemas.border.file_input import (
    confine_to_folder,
    is_pipe,
    read_named,
    read_standard_input,
    read_text,
    require_inside,
)
from ...schemas.border.inputs import is_folder, stands
from ...schemas.border.text_output import tell
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.reader import check_versions
from ...schemas.versions import names_a_file
from ..argument_parser import UsageError, branches_of
from ..configuration import Configuration, check_codes, configured_folders, ignored_configurations
from ..inputs import SideVersions
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from ...rules.rule import Rule
    from ...schemas.config import ReadOptions
    from ...schemas.diagnostic import Language
    from ...schemas.source import SourceText


_MAGIC = "*?["


def is_plain(operands: Sequence[str]) -> bool:
    """True if every operand is a file's own name, so that nothing has to be searched."""
    return not any(is_folder(name) or is_pattern(name) for name in operands)


def is_pattern(name: str) -> bool:
    """True if a name that no file has stands for those that fit it."""
    return any(mark in name for mark in _MAGIC) and not stands(name)


class Settings(NamedTuple):
    """Everything that a run of the linter is told, from the command line and the configuration."""

    configuration: Configuration
    options: ReadOptions
    profile: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    plugins: tuple[Rule, ...] = ()
    profile_origin: Literal["option", "configuration", "default"] = "default"
    fix_side: Literal["a", "b"] = "b"
    """The side of a pair that the fix of a difference changes."""
    tries_fixes: bool = True
    """True if a fix is offered only after it was tried, which lints the pair again; else the rules' own are."""
    pairs_alike: bool = False
    """True if two files of one framework are a pair though no configuration says so: a person named them."""
    named_in_order: bool = False
    """True if a person named the files: of two that are no configured pair, the last is side b."""

    versions: SideVersions = SideVersions()
    options_of: Mapping[str, ReadOptions] = {}
    """The reading options of files whose version is named, by the names that they are given."""
    asked: ReadOptions | None = None
    """The reading options of the command line, without what the configuration adds."""

    def with_versions(self, files: Sequence[str], versions: SideVersions, asked: ReadOptions | None = None) -> Settings:
        """The settings with the versions of the first and the second file."""
        each = versions.options_of(files, self.options) if any(versions) else []
        return self._replace(versions=versions, options_of=dict(zip(files, each, strict=False)), asked=asked)

    @property
    def fail_on(self) -> str:
        """The least severity that makes the answer bad, unless the command line names another one."""
        return self.configuration.text("fail-on") or "error"

    def baseline(self, given: str | None) -> str | None:
        """The baseline to use: the command line's, else the configuration's, which starts from its own folder."""
        name = self.configuration.text("baseline")
        if given is not None or name is None:
            return given
        path = os.path.join(self.configuration.directory, name)
        if self.options.confine is not None:
            require_inside(path, self.configuration.directory)
        return path


class Reader:
    """Reads files once; the texts that an editor holds stand in their place."""

    def __init__(
        self,
        stdin_name: str | None = None,
        texts: Mapping[str, SourceText] | None = None,
        *,
        encoding: str | None = None,
    ) -> None:
        self.stdin_name = stdin_name
        self.encoding = encoding
        self.texts = dict(texts or {})
        self.sources: dict[str, SourceText] = {}

    def open(self, path: str, shown: str | None = None) -> SourceText:
        """The text of a file of the command line, or of standard input, read only once."""
        known = self._cached_source(path)
        if known is not None:
            return known
        if path == "-":
            return self._keep(read_standard_input(self.stdin_name, self.encoding))
        return self._keep(read_text(path, shown, self.encoding))

    def open_named(self, path: str) -> SourceText:
        """The text of a file that another file refers to, cached."""
        return self._cached_source(path) or self._keep(read_named(path))

    def within(self, root: str) -> Callable[[str], SourceText]:
        """Opener of files that another file names, below a folder only."""
        return confine_to_folder(self.open_named, root)

    def _cached_source(self, path: str) -> SourceText | None:
        known = self.texts.get(path) or self.sources.get(path)
        if known is not None:
            self.sources[path] = known
        return known

    def _keep(self, source: SourceText) -> SourceText:
        """Remember a text by its file's name, and give it back."""
        self.sources[source.name] = source
        return source


GROUP = "accmap.rules"


def plugin_rules(names: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that each named entry point gives: a `Rule`, several, or a function that answers with them."""
    from importlib.metadata import entry_points

    from ...rules.rule import Rule

    known = {point.name: point for point in entry_points(group=GROUP)}
    found: list[Rule] = []
    for name in names:
        point = known.get(name)
        if point is None:
            listed = ", ".join(known) or "none"
            raise UsageError(say.plugins_no_installed_distribution_gives(name=name, group=GROUP, listed=listed))
        try:
            given = point.load()
            given = given() if callable(given) and not isinstance(given, Rule) else given
            rules: list[object] = [given] if isinstance(given, Rule) else list(cast("Sequence[object]", given))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UsageError(say.plugins_cannot_be_loaded(name=name, said=why)) from error
        for rule in rules:
            if not isinstance(rule, Rule):
                raise UsageError(say.plugins_gives_which_is_not(name=name, rule=rule))
            found.append(rule)
    return tuple(found)


def start_of(files: Sequence[str], stdin_name: str | None) -> str:
    """The folder from which the configuration is searched upward: the common folder of all files."""
    folders = folders_of(files, stdin_name)
    if len(folders) > 1:
        folders = configured_folders(folders) or folders
    try:
        shared = os.path.commonpath(folders)
    except ValueError:  # two drives of Windows
        shared = folders[0]
    return os.path.join(shared, "")


def folders_of(files: Sequence[str], stdin_name: str | None) -> list[str]:
    """The folders of the files that were named, each once; of streams only if there is nothing else."""
    names = [name for name in files if name != "-" and not is_pipe(name)]
    names += [stdin_name] if stdin_name and "-" in files else []
    found = (name if is_folder(name) else os.path.dirname(name) for name in names or (".",))
    return sorted({os.path.abspath(folder) for folder in found})


def settings_of(
    found: Configuration,
    options: ReadOptions,
    profile: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    extend_select: Sequence[str] = (),
) -> Settings:
    """The settings of a run: words that were given go before what the configuration says."""
    chosen, dropped, more = _split_codes(select), _split_codes(ignore), _split_codes(extend_select)
    for given, name in ((chosen, "--select"), (dropped, "--ignore"), (more, "--extend-select")):
        check_codes(given, name)
    selected = chosen or found.words("select")
    extended = (*found.words("extend-select"), *more)
    megatron = found.text("megatron")
    if megatron is not None and names_a_file(megatron):  # a dialect's file stands beside the configuration
        megatron = os.path.join(os.path.dirname(found.path or ""), megatron)
    transformers = found.text("transformers")
    named = options._replace(megatron=megatron, mindformers=found.text("mindformers"), transformers=transformers)
    check_versions(named, found.path)
    options = options._replace(
        megatron=options.megatron or megatron,
        mindformers=options.mindformers or found.text("mindformers"),
        transformers=options.transformers or transformers,
        dialect=options.dialect or found.text("dialect"),
        declared=(*found.words("declare"), *options.declared),
        world_size=options.world_size or found.number("world-size"),
        branches={**branches_of(found.words("branch"), "branch"), **options.branches},
    )
    plugins: tuple[Rule, ...] = ()
    if found.words("plugins"):
        plugins = plugin_rules(found.words("plugins"))
    if "EQUAL" in (*selected, *extended):
        from ...rules.registry import expand_groups

        selected, extended = expand_groups(selected), expand_groups(extended)
    return Settings(
        found,
        options,
        profile or found.text("profile") or "align",
        (*selected, *extended) if selected else (),
        (*found.words("ignore"), *dropped),
        plugins,
        "option" if profile else "configuration" if found.text("profile") else "default",
    )


def _split_codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper() for entry in given for code in entry.split(",") if code.strip())


def language_for(found: Configuration, lang: Language, command: str) -> Language:
    """The language that the configuration chooses, where nobody else did; says which configurations were not used."""
    chosen = found.text("lang")
    if chosen is not None and "ACCMAP_LANG" not in os.environ and "--lang" not in " ".join(sys.argv):
        from ..progress import set_language

        lang = cast("Language", chosen)
        set_language(lang)
    if found.ignored:
        tell(f"accmap {command}: {ignored_configurations(found, lang)}")
    return lang

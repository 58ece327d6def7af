"""Reads the named files and groups them: pairs of the configuration; of the others, one of each framework."""

from __future__ import annotations

import os

from ...mappings.keys_compiled import MODEL_FOLDERS, RUN_MODE, TOKENIZER_MODEL
from ...schemas.border.file_input import require_inside, require_no_way_out
from ...schemas.border.inputs import names_in
from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import runs_inference, trains_gpt, without_training
from ...schemas.messages_compiled import say
from ..argument_parser import UsageError, branches_of
from ..configuration import confining_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...rules.subject import Folder, Side
    from ...schemas.config import Config
    from ...schemas.source import SourceText
    from .settings import Reader, Settings


class Gathering:
    """Files that are read and handed out in their groups of one or two, each as soon as it is whole.

    What was handed out is forgotten unless another group still needs it: a thousand pairs take the memory of a few.
    """

    def __init__(
        self,
        files: Sequence[str],
        settings: Settings,
        reader: Reader,
        sides: Mapping[str, Side] | None = None,
    ) -> None:
        self.pairs: list[tuple[str, str]] = []
        self._read = sides or {}
        """The files that were read before, by the names that they are given."""
        self._settings = settings
        self._reader = reader
        self._names = list(dict.fromkeys(files))
        self._files: dict[str, str | None] = {}
        """Every name that was read, and the file's own name; None for one that cannot be read."""
        self._sides: dict[str, Side] = {}
        self._unreadable: dict[str, Diagnostic] = {}
        self._remarks: dict[str, Diagnostic] = {}
        self._absolute: dict[str, str] = {}
        self._awaited: frozenset[str] = frozenset()
        """The files that have a configured partner, which is compared with nothing where they cannot be read."""
        self._open: dict[str, Diagnostic] = {}
        """Scripts whose launch hangs on what nobody gave: of them, alone, nothing is known to be wrong."""
        self._model: Folder | None = None
        """The model that was named beside the runs."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that could be read: those that were named, then the partners that were pulled in."""
        order = dict.fromkeys((*self._names, *self._files))
        said = {**self._remarks, **self._open}
        read = (self._files.get(name) or (name if name in said else None) for name in order)
        return tuple(file for file in read if file is not None)

    @property
    def taken_count(self) -> int:
        """The number of files that were taken so far, unreadable ones included."""
        return len(self._files)

    def places(self) -> dict[str, int]:
        """When each file was taken, by the name it was given and its own; groups are handed out in this order."""
        order = enumerate(self._files.items())
        return {known: place for place, names in order for known in names if known is not None}

    @property
    def remarks(self) -> list[Diagnostic]:
        """Remarks on files without anything to check; no louder than the selected rules."""
        if not self._open:
            return list(self._remarks.values())
        from ...rules.engine import Selection

        heard = Selection(self._settings.select, self._settings.ignore).is_enabled
        said = (
            one if heard(one.kind.code) else one._replace(kind=one.kind._replace(severity="info"))
            for one in self._open.values()
        )
        return [*self._remarks.values(), *said]

    @property
    def unreadable(self) -> list[Diagnostic]:
        """Problems of unreadable files, in the same order."""
        order = dict.fromkeys((*self._names, *self._unreadable))
        return [self._unreadable[name] for name in order if name in self._unreadable]

    def groups(self) -> Iterator[tuple[Side, ...]]:
        """Every group: a file with its configured partner; of the others, one of each framework is a pair.

        Side a of a pair comes first. Side b is the YAML, or of two files that a person named the last.
        """
        self._describe()
        partners = self._partners()
        self._awaited = frozenset(partners)
        if partners:
            yield from self._configured_groups([name for name in self._names if name in partners], partners)
        rest = [name for name in self._names if name not in partners]
        if self.is_one_pair(rest):
            yield self._pair_in_order(rest)
            rest = [name for name in rest if not self._trains(name)]
        elif self._are_two_of_one_framework(rest):
            sides = list(self._sides.values())
            if runs_inference(sides[0].config):  # a model's own settings are no fields of the recipe
                yield tuple(sorted(sides, key=lambda side: side.framework))
            else:
                yield self._group(*sides)
            rest = []
        elif len(self._names) == len(rest) == len(self._sides) == 2:
            self._half(*self._sides.values())
        for name in rest:
            file = self._take(name)
            if file is not None:
                self._note_model_pair(name, file)
                yield (self._sides.pop(file),)
        self._await_two()

    def _note_model_pair(self, name: str, file: str) -> None:
        """Treat a training file that was given with a model's `config.json` as a pair with it."""
        if self._model is not None and len(self._names) == 1 and self._trains(name):
            self.pairs.append((self._model.recipe.file, file))

    def _are_two_of_one_framework(self, names: Sequence[str]) -> bool:
        """True if two files were named, and both train with one framework: a person's pair, and no search's."""
        if not self._settings.pairs_alike or not len(names) == len(self._names) == len(self._sides) == 2:
            return False
        one, other = self._sides.values()
        alike = one.framework == other.framework or runs_inference(one.config)
        return alike and _are_comparable(one, other)

    def _pair_in_order(self, names: Sequence[str]) -> tuple[Side, ...]:
        """The script and the YAML among the names; of two that a person named, the script last if it was named last."""
        script, yaml = self._group(*self._of("megatron"), *self._of("mindformers"))
        order = [self._files.get(name) for name in names] if self._settings.named_in_order else []
        is_last = script.config.file in order and order.index(script.config.file) > order.index(yaml.config.file)
        return (yaml, script) if is_last else (script, yaml)

    def _describe(self) -> None:
        """A model's `config.json` among the names is what the others are compared with."""
        for name in [one for one in self._names if one.endswith(".json")]:
            file = self._take(name)
            if file is None or self._sides[file].framework != "huggingface":
                continue
            from ...rules.subject import Folder

            side = self._sides.pop(file)
            self._names.remove(name)
            self._model = side.model or Folder(side.recipe, None)
            self._remarks.update({f"{file} {at}": one for at, one in enumerate(side.config.problems)})

    def is_one_pair(self, names: Sequence[str]) -> bool:
        """True if there is just one file of each framework among the names."""
        for name in names:
            if len(self._of("megatron")) > 1 or len(self._of("mindformers")) > 1:
                return False
            self._take(name)
        return len(self._of("megatron")) == len(self._of("mindformers")) == 1

    def _trains(self, name: str) -> bool:
        """True if a file could be read and trains a GPT model."""
        file = self._take(name)
        return file is not None and trains_gpt(self._sides[file].config)

    def _of(self, framework: str) -> list[Side]:
        """The training files read so far of one framework."""
        return [side for side in self._sides.values() if side.framework == framework and trains_gpt(side.config)]

    def _display_name(self, name: str) -> str:
        return (self._reader.stdin_name or "<stdin>") if name == "-" else name

    def _partners(self) -> dict[str, str]:
        """The configured partner of each file that has one."""
        configuration = self._settings.configuration
        if not configuration.pairs:
            return {}
        found = {name: configuration.partner(self._display_name(name)) for name in self._names}
        return {name: partner for name, partner in found.items() if partner is not None}

    def _await_two(self) -> None:
        """Of two named files of which one could be read, count the one waited for as unreadable."""
        waits = len(self._names) == 2 and any(self._files.get(name) for name in self._names)
        if waits:
            self._unreadable.update(self._open)
            self._open.clear()

    def _configured_groups(self, names: Sequence[str], partners: Mapping[str, str]) -> Iterator[tuple[Side, ...]]:
        """Each file with the partner that the configuration names; alone if that partner cannot be compared with it."""
        places = {self._place(self._display_name(name)): name for name in reversed(self._names)}
        last: dict[str, str] = {}
        for name in names:
            for place in self._places(self._display_name(name), partners[name]):
                last[place] = name
        paired: set[str] = set()
        for name in names:
            file, partner = self._take(name), partners[name]
            if file is not None and file not in paired:
                side = self._sides[file]
                other = self._partner(partner, places)
                if other is None or not _are_comparable(side, other):
                    if other is not None:
                        self._half(side, other)
                    yield (side,)
                else:
                    paired.update((file, other.config.file))
                    is_first = self._settings.configuration.is_side_a(self._display_name(name))
                    both = (side, other) if is_first else (other, side)
                    yield self._group(*sorted(both, key=lambda entry: entry.framework))
            for place in self._places(self._display_name(name), partner):
                if last[place] == name:
                    self._sides.pop(self._files.get(places.get(place, "")) or "", None)

    def _group(self, script: Side, yaml: Side) -> tuple[Side, ...]:
        """The two files as a pair, which is noted; UsageError if one version option could mean either."""
        if self._settings.asked is not None:
            self._settings.versions.require_clear((script.config, yaml.config), self._settings.asked)
        self.pairs.append((script.config.file, yaml.config.file))
        return script, yaml

    def _half(self, *sides: Side) -> None:
        """Note a remark on a pair of which the script trains a model and the YAML does not."""
        script, yaml = sorted(sides, key=lambda entry: entry.framework)
        mode = yaml.config.settings.get(RUN_MODE)
        purpose = yaml.config.purpose
        if (script.framework, yaml.framework) != ("megatron", "mindformers") or mode is None or mode.span is None:
            return
        if trains_gpt(script.config) and purpose is not None and not purpose.trains_gpt:
            said = say.one_side_trains(mode=str(mode.value), script=script.config.file)
            self._remarks[f"{yaml.config.file} {script.config.file}"] = diagnose(said, yaml.config.file, mode.span)

    def _place(self, name: str) -> str:
        """Absolute path of a file."""
        known = self._absolute.get(name)
        if known is None:
            known = self._absolute[name] = os.path.abspath(name)
        return known

    def _places(self, *names: str | None) -> list[str]:
        return [self._place(name) for name in names if name is not None]

    def _partner(self, partner: str, places: dict[str, str]) -> Side | None:
        """The configured partner, among the named files or beside them."""
        name = places.get(self._place(partner))
        file = None if name is None else self._take(name)
        if file is None:
            name = os.path.relpath(partner)
            file = self._take(name, strictly=True)
            if file is not None:
                places[self._place(partner)] = name
        return None if file is None else self._sides[file]

    def _take(self, name: str, *, strictly: bool = False) -> str | None:
        """Read a file unless that was done; the file's own name, or None where it cannot be read.

        A caller may name a file anywhere; what a configuration names is `strictly` kept to where it may be.
        """
        if name in self._files:
            return self._files[name]
        self._files[name] = None
        try:
            side = self._read.get(name) or read_side(name, self._settings, self._reader, strictly=strictly)
        except UnreadableError as error:
            remark = without_training(error.diagnostic, self._reader.sources.get(error.diagnostic.file))
            problem = _as_sure_as_it_is(error.diagnostic, name)
            if remark is not None:
                self._remarks[name] = remark
            elif problem.kind.effect == "depends" and not strictly and name not in self._awaited:
                self._open[name] = problem
            else:
                self._unreadable[name] = problem
            return None
        except (UsageError, ModuleNotFoundError, MemoryError):  # nothing that the other files' findings help with
            raise
        except Exception as error:  # noqa: BLE001 - a bug of a reader must not lose what the other files have to say
            from ...rules.engine import crash_finding
            from ...schemas.border.text_output import tell_crash

            tell_crash(error)
            self._unreadable[name] = crash_finding("reading", error, name)
            return None
        self._settings.versions.require_own(list(self._settings.options_of), name, side.config)
        if side.model is None or side.model.key == TOKENIZER_MODEL:
            side = side._replace(model=self._model or side.model)
        self._sides[side.config.file] = side
        self._files[name] = side.config.file
        return side.config.file


_NOT_HERE = ("SYN900", "SYN944")


def _as_sure_as_it_is(problem: Diagnostic, name: str) -> Diagnostic:
    """The problem of an unreadable file; a warning instead of an error if it depends on the machine or on variables.

    A file that a launch names by its absolute path may well be there where the run starts.
    """
    kind = problem.kind
    if kind.code in _NOT_HERE and problem.file != name and os.path.isabs(problem.file):
        kind = kind._replace(effect="depends")
    if kind.effect != "depends":
        return problem
    return problem._replace(kind=kind._replace(severity="warning"))


def _are_comparable(*sides: Side) -> bool:
    return all(trains_gpt(side.config) for side in sides) or all(runs_inference(side.config) for side in sides)


def read_side(name: str, settings: Settings, reader: Reader, *, strictly: bool = False) -> Side:
    """One file, its effective values and its recipe, and the model that it points to."""
    from ...mapper.recipe.reading import recipe_of
    from ...rules.subject import Side
    from ...schemas.reader import config_of

    options = settings.options_of.get(name, settings.options)
    opened = reader.open_named
    if options.confine is not None:
        shown = (reader.stdin_name or "") if name == "-" else name
        root = confining_folder(settings.configuration, shown)
        if name != "-":
            (require_inside if strictly else require_no_way_out)(name, root)
        opened = reader.within(root)
        options = options._replace(confine=None)  # the reader sees to it
    source = reader.open(name)
    if options.steps is None and options.dataset_size is None:
        steps, samples = settings.configuration.length_of(source.name)
        options = options._replace(steps=steps, dataset_size=samples)
    branches = settings.configuration.branches_in(source.name)
    if branches:
        options = options._replace(branches={**branches_of(branches, "branch"), **options.branches})
    config = config_of(source, options, path=source.name, open_file=opened, list_directory=names_in)
    recipe, model = recipe_of(config), _model_of(config, opened, options.transformers)
    if config.framework == "huggingface":
        from ...rules.subject import Folder

        model = Folder(recipe, None, files_beside(source.name, opened))
    elif model is not None and runs_inference(config):
        model = model._replace(beside=files_beside(model.recipe.file, opened))
    return Side(config, recipe, source, model)


def files_beside(path: str, opened: Callable[[str], SourceText]) -> dict[str, Mapping[str, object]]:
    """The files of a model's folder that hold settings of inference, as far as they are there and whole."""
    import json

    from ...mappings.inference_compiled import FOLDER_FILES

    files: dict[str, Mapping[str, object]] = {}
    for name in FOLDER_FILES:
        try:
            text = opened(os.path.join(os.path.dirname(path), name)).text
            content: object = json.loads(text) if name.endswith(".json") else {"text": text}
        except (UnreadableError, ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            files[name] = content
    return files


def _model_of(config: Config, opened: Callable[[str], SourceText], version: str | None) -> Folder | None:
    """The model in a folder that a run names, where it is here and is one whose code is known."""
    for key in MODEL_FOLDERS.get(config.framework, ()):
        setting = config.settings.get(key)
        if setting is None or setting.origin != "explicit" or not isinstance(setting.value, str) or not setting.value:
            continue
        folder = setting.value
        for place in (folder, os.path.join(os.path.dirname(config.file), folder)):
            found = _described_model(os.path.join(place, "config.json"), key, opened, version)
            if found is not None:
                return found
    return None


def _described_model(
    path: str, key: str | None, opened: Callable[[str], SourceText], version: str | None
) -> Folder | None:
    """The recipe of the model that a `config.json` describes; None if it is missing or not a known model."""
    try:
        source = opened(path)
    except UnreadableError:
        return None  # whether there has to be one, the framework's own reader says
    from ...mapper.recipe.reading import recipe_of
    from ...rules.subject import Folder
    from ...schemas.huggingface.model_config import huggingface_config, is_model

    try:
        return Folder(recipe_of(huggingface_config(source, version)), key) if is_model(source) else None
    except UnreadableError:
        return None  # a model whose code is not known

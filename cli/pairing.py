"""Which files belong together: one of each framework is a pair; otherwise the configuration says."""

from __future__ import annotations

import os

from ..schemas.diagnostic import Diagnostic, UnreadableError
from ..schemas.light_typing import TYPE_CHECKING
from .parsing import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..rules.subject import Side
    from .lint import Reader, Settings


class Gathering:
    """Files that are read and handed out in their groups of one or two, each as soon as it is whole.

    What was handed out is forgotten unless another group still needs it: a thousand pairs take the memory of a few.
    """

    def __init__(self, files: Sequence[str], settings: Settings, reader: Reader) -> None:
        self.pairs: list[tuple[str, str]] = []
        self._settings = settings
        self._reader = reader
        self._names = list(dict.fromkeys(files))
        self._files: dict[str, str | None] = {}
        """Every name that was read, and the file's own name; None for one that cannot be read."""
        self._sides: dict[str, Side] = {}
        self._unreadable: dict[str, Diagnostic] = {}
        self._absolute: dict[str, str] = {}

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were read: those that were named, then the partners that were pulled in."""
        order = dict.fromkeys((*self._names, *self._files))
        return tuple(file for name in order if (file := self._files.get(name)) is not None)

    @property
    def unreadable(self) -> list[Diagnostic]:
        """Why files could not be read, in the same order."""
        order = dict.fromkeys((*self._names, *self._unreadable))
        return [self._unreadable[name] for name in order if name in self._unreadable]

    def groups(self) -> Iterator[tuple[Side, ...]]:
        """Every group; one file of each framework is a pair, otherwise the configuration says."""
        for name in self._names:
            if not self._may_be_one_pair():
                break
            self._take(name)
        scripts, yamls = self._of("megatron"), self._of("mindformers")
        if len(scripts) == 1 and len(yamls) == 1:
            yield self._group(scripts[0], yamls[0])
        else:
            yield from self._configured()

    def _may_be_one_pair(self) -> bool:
        return len(self._of("megatron")) < 2 and len(self._of("mindformers")) < 2

    def _of(self, framework: str) -> list[Side]:
        return [side for side in self._sides.values() if side.framework == framework]

    def _configured(self) -> Iterator[tuple[Side, ...]]:
        configuration = self._settings.configuration
        shown = {name: (self._reader.stdin_name or "<stdin>") if name == "-" else name for name in self._names}
        partners = {name: configuration.partner(shown[name]) for name in self._names} if configuration.pairs else {}
        places = {self._place(shown[name]): name for name in reversed(self._names)}
        last: dict[str, str] = {}
        for name in self._names:
            for place in self._places(shown[name], partners.get(name)):
                last[place] = name
        paired: set[str] = set()
        for name in self._names:
            file, partner = self._take(name), partners.get(name)
            if file is not None and file not in paired:
                side = self._sides[file]
                other = None if partner is None else self._partner(partner, places)
                if other is None or other.framework == side.framework:
                    yield (side,)
                else:
                    paired.update((file, other.config.file))
                    yield self._group(*sorted((side, other), key=lambda entry: entry.framework))
            for place in self._places(shown[name], partner):
                if last[place] == name:
                    self._sides.pop(self._files.get(places.get(place, "")) or "", None)

    def _group(self, script: Side, yaml: Side) -> tuple[Side, ...]:
        self.pairs.append((script.config.file, yaml.config.file))
        return script, yaml

    def _place(self, name: str) -> str:
        """Where a file is, whatever it is called."""
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
            file = self._take(name)
            if file is not None:
                places[self._place(partner)] = name
        return None if file is None else self._sides[file]

    def _take(self, name: str) -> str | None:
        """Read a file unless that was done; the file's own name, or None where it cannot be read."""
        if name in self._files:
            return self._files[name]
        self._files[name] = None
        try:
            side = read_side(name, self._settings, self._reader)
        except UnreadableError as error:
            self._unreadable[name] = error.diagnostic
            return None
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of a reader must not lose what the other files have to say
            from traceback import print_exception

            from ..rules.engine import CRASHED

            print_exception(error)
            why = f"{type(error).__name__}: {error}"
            self._unreadable[name] = Diagnostic(CRASHED, name, None, (("rule", "reading"), ("why", why)))
            return None
        self._sides[side.config.file] = side
        self._files[name] = side.config.file
        return side.config.file


def read_side(name: str, settings: Settings, reader: Reader) -> Side:
    """One file, its effective values and its recipe."""
    from ..mapper.recipe.reading import recipe_of
    from ..rules.subject import Side
    from ..schemas.reader import config_of

    source = reader.open(name)
    config = config_of(source, settings.options, path=source.name, open_file=reader.open, list_directory=reader.names)
    return Side(config, recipe_of(config), source)

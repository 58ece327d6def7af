"""Which files belong together: one of each framework is a pair; otherwise the configuration says."""

from __future__ import annotations

import os

from ..schemas.diagnostic import Diagnostic, UnreadableError
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from .parsing import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..rules.subject import Side
    from .lint import Reader, Settings


class Gathering(NamedTuple):
    """The files in their groups of one or two, and those that could not be read."""

    groups: tuple[tuple[Side, ...], ...]
    unreadable: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]


def gathered(files: Sequence[str], settings: Settings, reader: Reader) -> Gathering:
    """Read the files, pull in configured partners, and pair."""
    sides: dict[str, Side] = {}
    unreadable: list[Diagnostic] = []
    for name in dict.fromkeys(files):
        _take(name, settings, reader, sides, unreadable)
    groups: list[tuple[Side, ...]] = []
    scripts = [side for side in sides.values() if side.framework == "megatron"]
    yamls = [side for side in sides.values() if side.framework == "mindformers"]
    if len(scripts) == 1 and len(yamls) == 1:
        groups.append((scripts[0], yamls[0]))
    else:
        groups = _configured(sides, settings, reader, unreadable)
    pairs = tuple((group[0].config.file, group[1].config.file) for group in groups if len(group) == 2)
    return Gathering(tuple(groups), tuple(unreadable), tuple(sides), pairs)


def _configured(
    sides: dict[str, Side], settings: Settings, reader: Reader, unreadable: list[Diagnostic]
) -> list[tuple[Side, ...]]:
    groups: list[tuple[Side, ...]] = []
    paired: set[str] = set()
    for name in list(sides):
        if name in paired:
            continue
        side = sides[name]
        partner = settings.configuration.partner(name) if settings.configuration.pairs else None
        if partner is None:
            groups.append((side,))
            continue
        other = next((known for known in sides if os.path.abspath(known) == os.path.abspath(partner)), None)
        if other is None:
            other = os.path.relpath(partner)
            _take(other, settings, reader, sides, unreadable)
        if other not in sides or sides[other].framework == side.framework:
            groups.append((side,))
            continue
        paired.update((name, other))
        both = sorted((side, sides[other]), key=lambda entry: entry.framework)
        groups.append(tuple(both))
    return groups


def _take(name: str, settings: Settings, reader: Reader, sides: dict[str, Side], unreadable: list[Diagnostic]) -> None:
    try:
        side = read_side(name, settings, reader)
    except UnreadableError as error:
        unreadable.append(error.diagnostic)
        return
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug of a reader must not lose what the other files have to say
        from traceback import print_exception

        from ..rules.engine import CRASHED

        print_exception(error)
        why = f"{type(error).__name__}: {error}"
        unreadable.append(Diagnostic(CRASHED, name, None, (("rule", "reading"), ("why", why))))
        return
    sides[side.config.file] = side


def read_side(name: str, settings: Settings, reader: Reader) -> Side:
    """One file, its effective values and its recipe."""
    from ..mapper.recipe.reading import recipe_of
    from ..rules.subject import Side
    from ..schemas.reader import config_of

    source = reader.open(name)
    config = config_of(source, settings.options, path=source.name, open_file=reader.open)
    return Side(config, recipe_of(config), source)

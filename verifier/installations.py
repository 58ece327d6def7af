"""Where the framework stands that a side is run with, and which version it is; nothing of it is imported.

It is the running environment, a folder that the user names (a source tree or an unpacked wheel), or what `--prepare`
put into a folder of accmap's own.
"""

from __future__ import annotations

import ast
import importlib.util
import os
from typing import TYPE_CHECKING, Literal

from ..schemas.border.inputs import open_regular
from ..schemas.diagnostic import UsageError
from ..schemas.fast_records import NamedTuple
from ..schemas.message import Words
from ..schemas.versions import ALL, known_names, name_with, names, number_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..schemas.config import Basis
    from ..schemas.versions import Dialect, Framework
    from .interpreters import Interpreter

Origin = Literal["environment", "source", "prepared"]

PACKAGES: dict[Framework, str] = {"megatron": "megatron.core", "mindformers": "mindformers"}
_TELLS: dict[Framework, str] = {
    "megatron": "megatron/core/package_info.py",
    "mindformers": "mindformers/__init__.py",
}
"""The file that says a version."""


class Installation(NamedTuple):
    """One framework at one place."""

    framework: Framework
    version: str
    """What its code says of itself: 0.16.1."""
    folder: str
    """What holds the package."""
    origin: Origin

    @property
    def name(self) -> str:
        """What accmap calls the version: 0.16, `main`."""
        return name_with(self.framework, number_of(self.version)) or self.version

    def serves(self, version: str) -> bool:
        """Whether a file of this version is run with it, whatever the patch."""
        return number_of(self.version) == number_of(version)


class NotHere(NamedTuple):
    """Why nothing can be run for a file, and how to get it."""

    reason: Words
    remedy: Words | None


def running(framework: Framework) -> Installation | None:
    """The one of the running environment; None where there is none."""
    try:
        found = importlib.util.find_spec(PACKAGES[framework])
    except ModuleNotFoundError:
        return None
    if found is None or found.origin is None:
        return None
    return _around(framework, found.origin)


def held_by(python: Interpreter, framework: Framework) -> Installation | None:
    """The one of another interpreter's environment; None where there is none."""
    origin = python.holds.get(PACKAGES[framework])
    return None if origin is None else _around(framework, origin)


def _around(framework: Framework, origin: str) -> Installation | None:
    """The one whose package has this file."""
    folder = origin
    for _part in PACKAGES[framework].split("."):
        folder = os.path.dirname(folder)
    return _in(framework, os.path.dirname(folder), "environment")


def named(framework: Framework, folder: str) -> Installation:
    """The one in a folder that the user names; UsageError where it holds none."""
    found = _in(framework, os.path.abspath(folder), "source")
    if found is None:
        raise UsageError(say.holds_no_framework(folder=folder, framework=framework, file=_TELLS[framework]))
    return found


def prepared(framework: Framework, store: str) -> Iterator[Installation]:
    """Those that `--prepare` put into accmap's own folder."""
    above = os.path.join(store, framework)
    for entry in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        found = _in(framework, os.path.join(above, entry), "prepared")
        if found is not None:
            yield found


def chosen(
    basis: Basis,
    *,
    source: str | None,
    store: str | None,
    closest: bool,
    dialect: Dialect | None = None,
    python: Interpreter | None = None,
) -> tuple[Installation | None, NotHere | None]:
    """What to run for a file of this version: the version itself, with `closest` the nearest, else why not."""
    framework = basis.framework
    buildable = names(framework, dialect, "verify")
    if source is not None:
        present = [named(framework, source)]
    else:
        found = running(framework) if python is None else held_by(python, framework)
        present = [*([found] if found else []), *(prepared(framework, store) if store else ())]
    usable = [one for one in present if one.name in buildable]
    exact = next((one for one in usable if one.serves(basis.version)), None)
    if exact is not None:
        return exact, None
    if closest and usable:
        return _nearest(usable, basis.version), None
    return None, _not_here(basis, present, usable, buildable)


def wheel_of(framework: Framework, version: str) -> str | None:
    """The distribution on the package registry that holds a version's models."""
    number = number_of(version)
    return next(
        (one.install for one in ALL if one.framework == framework and number_of(one.name) == number and one.install),
        None,
    )


def _not_here(
    basis: Basis, present: Sequence[Installation], usable: Sequence[Installation], buildable: Sequence[str]
) -> NotHere:
    framework, asked = basis.framework, basis.version
    if number_of(asked) not in map(number_of, buildable):
        known = ", ".join(buildable)
        return NotHere(say.version_cannot_be_built(framework=framework, buildable=known, asked=asked), None)
    shown = ", ".join(one.version for one in present)
    reason = say.version_is_not_here(framework=framework, asked=asked, present=shown or say.no_version_here())
    nearest = _nearest(usable, asked).version if usable else known_names(framework)
    wheel = wheel_of(framework, asked)
    if wheel is None:
        remedy = say.version_by_tree(framework=framework, asked=asked, nearest=nearest)
    else:
        remedy = say.version_by_preparing(framework=framework, asked=asked, nearest=nearest, wheel=wheel)
    if basis.origin == "assumed" and usable:
        further = say.version_was_assumed(framework=framework, other=_nearest(usable, asked).name)
        remedy = Words(f"{remedy}{further}", f"{remedy.zh}{further.zh}")
    return NotHere(reason, remedy)


def _nearest(usable: Sequence[Installation], asked: str) -> Installation:
    wanted = number_of(asked)

    def distance(one: Installation) -> tuple[int, ...]:
        return tuple(abs(part - other) for part, other in zip(number_of(one.version), wanted, strict=False))

    return min(usable, key=distance)


def _in(framework: Framework, folder: str, origin: Origin) -> Installation | None:
    """The framework whose package a folder holds."""
    try:
        with open_regular(os.path.join(folder, *_TELLS[framework].split("/"))) as stream:
            said = _constants(stream.read().decode("utf-8", "replace"))
    except (OSError, SyntaxError, ValueError):
        return None
    if framework == "megatron":
        parts = [said.get(name) for name in ("MAJOR", "MINOR", "PATCH")]
        return Installation(framework, ".".join(map(str, parts)), folder, origin) if None not in parts else None
    version = said.get("__version__")
    return Installation(framework, version, folder, origin) if isinstance(version, str) else None


def _constants(text: str) -> Mapping[str, object]:
    """The constants that a module sets at its top, without running it."""
    return {
        target.id: statement.value.value
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }

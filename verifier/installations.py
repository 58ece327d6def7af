"""The installations that sides are run with, and their interpreters; nothing of a framework is imported.

It is the running environment, a folder that the user names (a source tree or an unpacked wheel), or what `--prepare`
put into a folder of accmap's own.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Literal

from ..schemas.border.inputs import open_regular
from ..schemas.diagnostic import UsageError
from ..schemas.fast_records import NamedTuple
from ..schemas.installation import install_command, isolated_python, module_command
from ..schemas.message import Words
from ..schemas.versions import ALL, known_names, name_with, names, number_of
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..schemas.config import Basis
    from ..schemas.versions import Dialect, Framework


Origin = Literal["environment", "source", "prepared"]

PACKAGES: dict[Framework, str] = {"megatron": "megatron.core", "mindformers": "mindformers"}
_VERSION_FILES: dict[Framework, str] = {
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
        """Version of this installation as accmap writes it: `0.16`, `main`."""
        return name_with(self.framework, number_of(self.version)) or self.version

    def serves(self, version: str) -> bool:
        """True if this installation runs files of a version: the version is the same, the patch may differ."""
        return number_of(self.version) == number_of(version)


class MissingVersion(NamedTuple):
    """The reason why nothing can be run for a file, and the remedy."""

    reason: Words
    remedy: Words | None


def find_installed(framework: Framework) -> Installation | None:
    """Installation of a framework in the running Python environment; None if it is not installed."""
    try:
        found = importlib.util.find_spec(PACKAGES[framework])
    except ModuleNotFoundError:
        return None
    if found is None or found.origin is None:
        return None
    return _installation_of_file(framework, found.origin)


def find_in_interpreter(python: Interpreter, framework: Framework) -> Installation | None:
    """Installation of a framework in another interpreter's environment; None if it is not installed there."""
    origin = python.holds.get(PACKAGES[framework])
    return None if origin is None else _installation_of_file(framework, origin)


def _installation_of_file(framework: Framework, origin: str) -> Installation | None:
    """Installation whose package contains the file `origin`; None if there is none."""
    folder = origin
    for _part in PACKAGES[framework].split("."):
        folder = os.path.dirname(folder)
    return _read_installation(framework, os.path.dirname(folder), "environment")


def installation_in(framework: Framework, folder: str) -> Installation:
    """Installation in a folder that the user names; UsageError if the folder has none."""
    found = _read_installation(framework, os.path.abspath(folder), "source")
    if found is None:
        raise UsageError(say.holds_no_framework(folder=folder, framework=framework, file=_VERSION_FILES[framework]))
    return found


def prepared_installations(framework: Framework, store: str) -> Iterator[Installation]:
    """Installations that `--prepare` unpacked into accmap's own folder."""
    above = os.path.join(store, framework)
    for entry in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        found = _read_installation(framework, os.path.join(above, entry), "prepared")
        if found is not None:
            yield found


def choose_installation(
    basis: Basis,
    *,
    source: str | None,
    store: str | None,
    closest: bool,
    dialect: Dialect | None = None,
    python: Interpreter | None = None,
) -> tuple[Installation | None, MissingVersion | None]:
    """Installation for a file of this version (the nearest one if `closest`), or the reason for none."""
    framework = basis.framework
    buildable = names(framework, dialect, "verify")
    if source is not None:
        present = [installation_in(framework, source)]
    else:
        found = find_installed(framework) if python is None else find_in_interpreter(python, framework)
        present = [*([found] if found else []), *(prepared_installations(framework, store) if store else ())]
    usable = [one for one in present if one.name in buildable]
    exact = next((one for one in usable if one.serves(basis.version)), None)
    if exact is not None:
        return exact, None
    if closest and usable:
        return _nearest(usable, basis.version), None
    # a dynamic file of a later version is no dynamic file of an earlier one
    readable = [] if dialect == "dynamic" else usable
    return None, _explain_absence(basis, present, usable, buildable, readable)


def wheel_of(framework: Framework, version: str) -> str | None:
    """The distribution on the package registry that holds a version's models."""
    number = number_of(version)
    return next(
        (one.install for one in ALL if one.framework == framework and number_of(one.name) == number and one.install),
        None,
    )


def _explain_absence(
    basis: Basis,
    present: Sequence[Installation],
    usable: Sequence[Installation],
    buildable: Sequence[str],
    readable: Sequence[Installation],
) -> MissingVersion:
    """The reason that no installation can be used, and the remedy."""
    framework, asked = basis.framework, basis.version
    if number_of(asked) not in map(number_of, buildable):
        known = ", ".join(buildable)
        return MissingVersion(say.version_cannot_be_built(framework=framework, buildable=known, asked=asked), None)
    shown = ", ".join(one.version for one in present)
    reason = say.version_is_not_here(framework=framework, asked=asked, present=shown or say.no_version_here())
    nearest = _nearest(usable, asked).version if usable else known_names(framework)
    wheel = wheel_of(framework, asked)
    if wheel is None:
        remedy = say.version_by_tree(framework=framework, asked=asked, nearest=nearest)
    else:
        remedy = say.version_by_preparing(framework=framework, asked=asked, nearest=nearest, wheel=wheel)
    if basis.origin == "assumed" and readable:
        further = say.version_was_assumed(framework=framework, other=_nearest(readable, asked).name)
        remedy = Words(f"{remedy}{further}", f"{remedy.zh}{further.zh}")
    return MissingVersion(reason, remedy)


def _nearest(usable: Sequence[Installation], asked: str) -> Installation:
    """Usable installation whose version number is nearest to the asked one."""
    wanted = number_of(asked)

    def distance(one: Installation) -> tuple[int, ...]:
        return tuple(abs(part - other) for part, other in zip(number_of(one.version), wanted, strict=False))

    return min(usable, key=distance)


def _read_installation(framework: Framework, folder: str, origin: Origin) -> Installation | None:
    """Installation of the framework package in a folder, with the version that its source sets; None without one."""
    try:
        with open_regular(os.path.join(folder, *_VERSION_FILES[framework].split("/"))) as stream:
            said = _constants(stream.read().decode("utf-8", "replace"))
    except (OSError, SyntaxError, ValueError):
        return None
    if framework == "megatron":
        parts = [said.get(name) for name in ("MAJOR", "MINOR", "PATCH")]
        return Installation(framework, ".".join(map(str, parts)), folder, origin) if None not in parts else None
    version = said.get("__version__")
    return Installation(framework, version, folder, origin) if isinstance(version, str) else None


def _constants(text: str) -> Mapping[str, object]:
    """Constants that a module assigns at its top level, read from its source without running it."""
    return {
        target.id: statement.value.value
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


_ATTEMPTS = ((), ("--ignore-requires-python", "--python-version", "3.12"))
"""From 0.17 the wheels of Megatron-Core are built for Python 3.12; the models' sources run on older ones, too."""


def prepare_wheel(framework: Framework, wheel: str, store: str, progress: Callable[[Words], None]) -> bool:
    """Download and unpack a wheel into the store; True if the wheel is there now. `progress` gets each step."""
    above = os.path.join(store, framework)
    place = os.path.join(above, wheel.partition("==")[2])
    if os.path.isdir(place):
        return True
    os.makedirs(above, mode=0o700, exist_ok=True)
    progress(say.preparing(wheel=wheel))
    reason = ""
    with tempfile.TemporaryDirectory(prefix=".making-", dir=above) as folder:
        for attempt, options in enumerate(_ATTEMPTS):
            made = os.path.join(folder, str(attempt))
            reason = _pip_failure(wheel, made, *options)
            if not reason:
                os.rename(made, place)
                progress(say.prepared(wheel=wheel, folder=place))
                return True
    progress(say.not_prepared(wheel=wheel, reason=reason))
    return False


class PreparedFramework(NamedTuple):
    """A framework that `--prepare` unpacked."""

    framework: str
    version: str
    folder: str
    size: int
    """Bytes on the disk."""

    @property
    def names(self) -> frozenset[str]:
        """Names that select this prepared framework on a command line."""
        return frozenset((self.framework, f"{self.framework}-{self.version}"))


def list_prepared(store: str) -> list[PreparedFramework]:
    """All frameworks in accmap's own folder, incomplete ones included."""
    found: list[PreparedFramework] = []
    for framework in PACKAGES:
        above = os.path.join(store, framework)
        for name in sorted(os.listdir(above)) if os.path.isdir(above) else ():
            folder = os.path.join(above, name)
            if os.path.isdir(folder) and not os.path.islink(folder):
                found.append(PreparedFramework(framework, name, folder, _folder_size(folder)))
    return found


def _folder_size(folder: str) -> int:
    """Size in bytes of all files below a folder."""
    return sum(
        os.lstat(os.path.join(above, name)).st_size for above, _folders, names in os.walk(folder) for name in names
    )


def remove_prepared(one: PreparedFramework) -> None:
    """Delete a prepared framework from the disk."""
    shutil.rmtree(one.folder)


def _pip_failure(wheel: str, folder: str, *options: str) -> str:
    """The reason why pip could not unpack the wheel into a folder; empty if it could."""
    words = [
        "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--no-compile",
        "--only-binary=:all:", "--target", folder, *options, wheel,
    ]  # fmt: skip
    done = subprocess.run(module_command("pip", *words), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
    return said[-1].strip() if said else f"pip ended with {done.returncode}"


_LEAST_PYTHON = (3, 10)
_PACKAGE = __name__.partition(".")[0]
_ROOMS = ("schemas", "mappings", "mapper", "verifier")
"""What the process of a framework imports of accmap."""
_PROBE_SECONDS = 60
_PROBE = """
import importlib.util, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:
        spec = None
    if spec is not None and spec.origin:
        found[name] = spec.origin
print(json.dumps([sys.version_info[:2], found]))
"""


_START = """
import json, runpy, sys, types
name, module, places = json.loads(sys.argv.pop(1))
package = sys.modules[name] = types.ModuleType(name)
package.__path__ = places
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


class Interpreter(NamedTuple):
    """A Python, and which of the modules that were asked for it finds, with their files."""

    path: str
    holds: Mapping[str, str]


def probe_interpreter(path: str, modules: tuple[str, ...]) -> Interpreter:
    """The modules among these that a Python has; UsageError if it cannot be asked, or is too old for accmap's code."""
    words = isolated_python(_PROBE, modules, environment_paths(), path)
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=True, timeout=_PROBE_SECONDS, cwd=tempfile.gettempdir()
        )
        version, holds = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise UsageError(say.no_python(path=path, reason=_reason(error))) from error
    if tuple(version) < _LEAST_PYTHON:
        raise UsageError(
            say.python_too_old(path=path, version=_version_text(version), least=_version_text(_LEAST_PYTHON))
        )
    return Interpreter(path, holds)


def python_path(path: str) -> str:
    """A path from wherever a process begins; a bare name is looked for as a shell does."""
    return os.path.abspath(os.path.expanduser(path)) if os.sep in path else path


def _version_text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _reason(error: Exception) -> str:
    """Last line of an error's standard error output, or of its message."""
    said = getattr(error, "stderr", None) or str(error)
    return str(said).strip().rpartition("\n")[2]


def environment_paths() -> list[str]:
    """Absolute folders in `PYTHONPATH`; relative ones are left out, because they depend on the current folder."""
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(path)]


def python_command(python: str, module: str, *words: str, first: Sequence[str] = ()) -> list[str]:
    """Command that runs a module of accmap with another Python, with only accmap's own folders on its path."""
    places = dict.fromkeys(os.path.dirname(_home(f"{_PACKAGE}.{room}")) for room in _ROOMS)
    asked = json.dumps([_PACKAGE, module, list(places)])
    return isolated_python(_START, [asked, *words], [*first, *environment_paths()], python)


def _home(name: str) -> str:
    """Folder of an installed package."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return os.path.dirname(os.path.abspath(spec.origin))


NEEDS = {"megatron": ("torch", "megatron.core"), "mindformers": ("mindspore", "mindformers")}
"""What a side imports; the last one of each framework may stand elsewhere."""


class MissingFrameworkError(Exception):
    """A framework that the run needs is not installed, here or for the interpreter that it is to run with."""

    def __init__(self, modules: tuple[str, ...], python: str | None = None) -> None:
        self.modules, self.python = modules, python
        super().__init__(f"{', '.join(modules)} not installed; {install_command('verify')} installs it")


def missing_modules(framework: str, python: str | None = None) -> tuple[str, ...]:
    """Required modules of a framework that the interpreter (here, or another one) does not have."""
    if python is not None:
        holds = probe_interpreter(python, NEEDS[framework]).holds
        return tuple(module for module in NEEDS[framework] if module not in holds)
    absent: list[str] = []
    for module in NEEDS[framework]:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            absent.append(module)
    return tuple(absent)

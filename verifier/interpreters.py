"""Another Python that a framework is run with: asked what it holds, and shown where accmap is. Nothing is imported.

Torch and MindSpore rarely share an environment: each side may have the interpreter of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from ..schemas.diagnostic import UsageError
from ..schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAST = (3, 10)
_PACKAGE = __name__.partition(".")[0]
_ROOMS = ("schemas", "mappings", "mapper", "verifier")
"""What the process of a framework imports of accmap."""
_SECONDS = 60
_ASK = """
import importlib.util, json, sys
sys.path[:] = filter(None, sys.path)
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


def interpreter(path: str, modules: tuple[str, ...]) -> Interpreter:
    """What a Python holds of these modules; UsageError where it cannot be asked, or is too old for accmap's code."""
    words = [path, "-c", _ASK, *modules]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=True, timeout=_SECONDS, cwd=tempfile.gettempdir()
        )
        version, holds = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise UsageError(say.no_python(path=path, reason=_reason(error))) from error
    if tuple(version) < _LEAST:
        raise UsageError(say.python_too_old(path=path, version=_dotted(version), least=_dotted(_LEAST)))
    return Interpreter(path, holds)


def place_of(path: str) -> str:
    """A path from wherever a process begins; a bare name is looked for as a shell does."""
    return os.path.abspath(os.path.expanduser(path)) if os.sep in path else path


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    return str(said).strip().rpartition("\n")[2]


def started(python: str, module: str, *words: str) -> list[str]:
    """The command that runs a module of accmap with another Python, which is shown accmap's own folders alone."""
    places = dict.fromkeys(os.path.dirname(_home(f"{_PACKAGE}.{room}")) for room in _ROOMS)
    return [python, "-c", _START, json.dumps([_PACKAGE, module, list(places)]), *words]


def _home(name: str) -> str:
    """The folder of a package."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return os.path.dirname(os.path.abspath(spec.origin))

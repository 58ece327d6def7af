"""accmap says whether a MindSpore Transformers run trains the same model as a Megatron-LM run, and writes one.

The public API is loaded when it is first used, so that `import accmap` costs nothing:

- `load(path)`: the effective values of a file of either framework; `.recipe` is the run in the shared
  vocabulary, `.typed` a Pydantic model of that version.
- `convert(source, to)`: the other framework's file as `.text`, and the loss report as `.rows`.
- `diff(a, b)`: two files field by field, by their effective values.
- `Config`, `Setting`, `Diagnostic`, `ReadOptions`, `Span`: what these answer with and take.
- `UnreadableError`: what they raise for a file that cannot be read, with one diagnostic.
- `ReadBackError`: what `convert` raises where the written text, read back, is not what its rows say.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` costs as much as starting Python, and type checkers know the name
if TYPE_CHECKING:
    from accmap.loading import Converted, Loaded, convert, diff, load
    from accmap.schemas.config import Config, ReadOptions, Setting
    from accmap.schemas.diagnostic import Diagnostic, ReadBackError, UnreadableError
    from accmap.schemas.source import Span

__version__ = "0.1.0"

__all__ = [
    "Config",
    "Converted",
    "Diagnostic",
    "Loaded",
    "ReadBackError",
    "ReadOptions",
    "Setting",
    "Span",
    "UnreadableError",
    "__version__",
    "convert",
    "diff",
    "load",
]

_HOMES = {
    "Config": "schemas.config",
    "Converted": "loading",
    "Diagnostic": "schemas.diagnostic",
    "Loaded": "loading",
    "ReadBackError": "schemas.diagnostic",
    "ReadOptions": "schemas.config",
    "Setting": "schemas.config",
    "Span": "schemas.source",
    "UnreadableError": "schemas.diagnostic",
    "convert": "loading",
    "diff": "loading",
    "load": "loading",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'accmap' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"accmap.{home}"), name)

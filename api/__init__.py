"""accmap says whether a MindSpore Transformers run trains the same model as a Megatron-LM run, and writes one.

The public API is loaded when it is first used, so that `import accmap` costs nothing:

- `load(path, **options)`: the effective values of a file of either framework, as a `Config`.
- `Config`, `Setting`, `Diagnostic`, `ReadOptions`, `Span`: what it answers with and takes.
- `UnreadableError`: what it raises for a file that cannot be read, with one diagnostic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accmap.schemas.config import Config, ReadOptions, Setting
    from accmap.schemas.diagnostic import Diagnostic, UnreadableError
    from accmap.schemas.source import Span

__version__ = "0.1.0"

__all__ = ["Config", "Diagnostic", "ReadOptions", "Setting", "Span", "UnreadableError", "__version__", "load"]

_HOMES = {
    "Config": "schemas.config",
    "Diagnostic": "schemas.diagnostic",
    "ReadOptions": "schemas.config",
    "Setting": "schemas.config",
    "Span": "schemas.source",
    "UnreadableError": "schemas.diagnostic",
}


def load(path: str, options: ReadOptions | None = None) -> Config:
    """Read the file at `path`, of either framework, as the framework would; UnreadableError where it cannot be."""
    from accmap.schemas.reader import read_config

    return read_config(path, options)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'accmap' has no attribute {name!r}")
    return getattr(import_module(f"accmap.{home}"), name)

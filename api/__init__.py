"""accmap says whether a MindSpore Transformers run trains the same model as a Megatron-LM run, and writes one.

The public API is loaded when it is first used, so that `import accmap` costs nothing:

- `load(path)`: the effective values of a file of either framework; `.recipe` is the run in the shared
  vocabulary, `.typed` a Pydantic model of that version.
- `lint(*files)`: the findings about files in their pairs.
- `convert(source, to)`: the other framework's file as `.text`, and the conversion report as `.rows`.
- `upgrade(source)`: the dynamic graph's YAML of an older one of MindSpore Transformers, in its own layout.
- `pair(source)`: both files of one run, by name; `align=True` reduces it for precision alignment.
- `diff(a, b)`: two files field by field, by their effective values.
- `lr(a, b)`: learning-rate curves, and where two of them part.
- `verify(a, b)`: both real models on small inputs.
- `logs(*files)`: training logs, aligned by step and judged.
- `explain(word)`: a finding's code, a flag, a key or a recipe field.
- `Config`, `Setting`, `Diagnostic`, `ReadOptions`, `Span`: what these answer with and take.
- `UnreadableError`: what they raise for a file that cannot be read, with one diagnostic.
- `UsageError`: what they raise for a word that is none of theirs, in a sentence.
- `ReadBackError`: what `convert` raises where the written text, read back, is not what its rows say.

Paths are strings or `pathlib.Path`. In a notebook, answers show themselves as tables.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` costs as much as starting Python, and type checkers know the name
if TYPE_CHECKING:
    from accmap.analyses import Compared, Explanation, Linted, Paired, Rates, explain, lint, logs, lr, pair
    from accmap.configurations import Converted, Differences, Loaded, Upgraded, convert, diff, load, upgrade
    from accmap.schemas.config import Config, ReadOptions, Setting
    from accmap.schemas.diagnostic import Diagnostic, ReadBackError, UnreadableError, UsageError
    from accmap.schemas.source import Span
    from accmap.verification import verify

__version__ = "0.1.0"

__all__ = [
    "Compared", "Config", "Converted", "Diagnostic", "Differences", "Explanation", "Linted", "Loaded", "Paired",
    "Rates", "ReadBackError", "ReadOptions", "Setting", "Span", "UnreadableError", "Upgraded", "UsageError",
    "__version__", "convert", "diff", "explain", "lint", "load", "logs", "lr", "pair", "upgrade", "verify",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("Converted", "Differences", "Loaded", "Upgraded"), "configurations"),
    **dict.fromkeys(("convert", "diff", "load", "upgrade"), "configurations"),
    **dict.fromkeys(("Compared", "Explanation", "Linted", "Paired", "Rates"), "analyses"),
    **dict.fromkeys(("explain", "lint", "logs", "lr", "pair"), "analyses"),
    "verify": "verification",
    **dict.fromkeys(("Diagnostic", "ReadBackError", "UnreadableError", "UsageError"), "schemas.diagnostic"),
    **dict.fromkeys(("Config", "ReadOptions", "Setting"), "schemas.config"),
    "Span": "schemas.source",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        from accmap.schemas.suggestion import closest

        near = closest(name, tuple(_HOMES))
        hint = f"; did you mean {near}?" if near else ""
        raise AttributeError(f"module 'accmap' has no attribute {name!r}{hint}")
    from importlib import import_module

    return getattr(import_module(f"accmap.{home}"), name)


def __dir__() -> list[str]:
    """Public names, used before or not."""
    return sorted({*__all__, "__doc__", "__file__", "__name__", "__path__"})

"""What MindSpore Transformers' code makes of a configuration stands in tables; how much of it is Python only falls."""

from __future__ import annotations

from pathlib import Path

import accmap.schemas.mindformers as room

HERE = Path(room.__file__).resolve().parent
MOST = 1091
"""Lines of the modules below. The number only falls.

It rose by 84, by 39 and by 5: what a reader checks of kinds, what goes on to MindSpore, sections under
another name, and the release that knows a class are judged here since then; by 4 lines of docstrings;
and by 27: a callback's arguments, their kinds and those that it requires, in both graphs.
"""
SEMANTICS = {
    "legacy": "the older classes and their networks",
    "network": "from the model's section to its class and the fields of its network, in both graphs; kinds of values",
    "resolution_functions": "what the rows call where a row would be a program",
    "resolution": "the compiled rows, the run that they are applied to, and the arguments of classes named by type",
}
OTHERS = {
    "__init__": "empty",
    "versions": "versions: their facts; which version and dialect a text is",
    "compile_facts": "makes products",
    "compile_resolution": "makes products",
    "dynamic": "reader of the dynamic graph's YAML; with the run of its rows",
    "effective": "reader of the static graph's YAML, with the sections' defaults",
    "extract": "developers' program: facts from a source tree, digests of its functions",
    "fact_base": "facts, as they are written, and by version",
    "launch": "launch options",
    "launch_reading": "launch options",
    "models": "typed models",
    "own_classes": "reader of the program beside a YAML",
    "pretrained_config": "reader of a config.json",
    "probe": "developers' program: what the real classes say",
    "config_state": "reader: values and where they stand",
    "switches": "reader: what written switches mean, by `switches.yaml`",
}


def modules() -> dict[str, Path]:
    """The modules of the room that are written by hand."""
    return {path.stem: path for path in HERE.glob("*.py") if not path.stem.endswith("_compiled")}


def test_every_module_is_listed_once() -> None:
    assert set(modules()) == {*SEMANTICS, *OTHERS}
    assert not set(SEMANTICS) & set(OTHERS)


def test_meaning_in_python_does_not_grow() -> None:
    lines = {name: len(modules()[name].read_text("utf-8").splitlines()) for name in SEMANTICS}
    assert sum(lines.values()) <= MOST, lines

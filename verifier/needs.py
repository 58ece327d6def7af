"""What each side of a run imports, and what of it is not installed."""

from __future__ import annotations

import importlib.util

from ..schemas.installation import install_command
from .interpreters import interpreter

NEEDS = {"megatron": ("torch", "megatron.core"), "mindformers": ("mindspore", "mindformers"), "torch": ("torch",)}
"""What a side imports; the last one of each framework may stand elsewhere."""


class MissingFrameworkError(Exception):
    """A framework that the run needs is not installed, here or for the interpreter that it is to run with."""

    def __init__(self, modules: tuple[str, ...], python: str | None = None) -> None:
        self.modules, self.python = modules, python
        super().__init__(f"{', '.join(modules)} not installed; {install_command('verify')} installs it")


def missing(framework: str, python: str | None = None) -> tuple[str, ...]:
    """The modules that a framework's side needs and that are not installed, here or for another interpreter."""
    if python is not None:
        holds = interpreter(python, NEEDS[framework]).holds
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

"""Records what enters and leaves the modules of a model in one pass, for localising a divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Array = Any


class Recorder:
    """The first tensor in, and every tensor out, of each module; a module that runs twice keeps both passes."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._passes: dict[str, int] = {}
        self._order = 0

    def passed(self, name: str, given: Sequence[Array], found: Sequence[Array]) -> None:
        """A module has run: note its tensors."""
        turn = self._passes.get(name, 0)
        self._passes[name] = turn + 1
        tensors = [array for array in given if array is not None]
        if tensors:
            self.arrays[f"input/{name}/{turn}/0"] = tensors[0]
        for position, array in enumerate(found):
            if array is not None:
                self.arrays[f"output/{name}/{turn}/{position}"] = array
        self.arrays[f"order/{name}/{turn}"] = np.asarray(self._order)
        self._order += 1

    def slope(self, name: str, position: int, array: Array) -> None:
        """The gradient of a module's output has arrived (the last pass first)."""
        key = f"slope/{name}"
        turn = self._passes[name] - 1 - sum(1 for known in self.arrays if known.startswith(key + "/"))
        self.arrays[f"{key}/{max(turn, 0)}/{position}"] = array

    def keep(self, name: str, values: Mapping[str, float]) -> None:
        """Plain numbers beside the tensors."""
        for part, value in values.items():
            self.arrays[f"{name}/{part}"] = np.asarray(value)


def recorded(
    modules: Iterable[tuple[str, Any]],
    hook: Callable[[Recorder, str], Any],
    backward: Callable[[], Mapping[str, float]],
) -> dict[str, Array]:
    """What a pass leaves in a model's modules, each followed by a hook of its own, and the losses of the pass."""
    recorder = Recorder()
    hooks = [module.register_forward_hook(hook(recorder, name)) for name, module in modules if name]
    try:
        losses = backward()
    finally:
        for one in hooks:
            one.remove()
    recorder.keep("loss", losses)
    return recorder.arrays

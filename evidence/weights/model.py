"""A checkpoint at a path: framework, form and iteration; and its model, every weight under the weight table's name."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.huggingface.model_config import FILE
from ..bounded_files import bytes_of
from .messages_compiled import say
from .tensor_files import read_header
from .weight import BLOCK_BYTES, largest_difference, pieces, problem, raise_denied, raise_unreadable, widen

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from ...mapper.weights import Beside, Layout
    from ...schemas.config import Framework
    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .weight import Shape, Weight

Form = Literal["torch", "torch_dist", "safetensors", "ckpt"]

TRACKER = "latest_checkpointed_iteration.txt"
_ITERATION = re.compile(r"(?:iter_|iteration_)(\d+)|release")
_RANK = re.compile(r"mp_rank_(\d+)(?:_(\d+))?(?:_(\d+))?")
SHARD = "model_optim_rng.pt"


class Found(NamedTuple):
    """A checkpoint on disk."""

    framework: Framework
    form: Form
    folder: str
    """Where its files lie; a single file itself."""


def checkpoint_at(path: str) -> Found | None:
    """The checkpoint that a path names; None where it names something else, such as a configuration."""
    if os.path.isfile(path):
        return _file(path)
    return _folder(_latest(path)) if os.path.isdir(path) else None


def _file(path: str) -> Found | None:
    """Checkpoint kind of a single file, by its ending; None for another file."""
    if path.endswith(".safetensors"):
        return Found(_writer_of(path), "safetensors", path)
    if path.endswith(".bin") and os.path.isfile(os.path.join(os.path.dirname(path), FILE)):
        return Found("huggingface", "torch", path)
    if path.endswith(".pt"):
        return Found("megatron", "torch", path)
    return Found("mindformers", "ckpt", path) if path.endswith(".ckpt") else None


def _megatron_form(names: set[str]) -> Literal["torch", "torch_dist"] | None:
    """The form of Megatron-LM's checkpoint in a folder of these names; None if it is another one's."""
    if ".metadata" in names or any(name.endswith(".distcp") for name in names):
        return "torch_dist"
    return "torch" if SHARD in names or any(_RANK.fullmatch(name) for name in names) else None


def _folder(folder: str) -> Found | None:
    """Checkpoint kind of a folder, by its file names; None if it is not a checkpoint."""
    names = set(os.listdir(folder))
    form = _megatron_form(names)
    if form is not None:
        return Found("megatron", form, folder)
    if any(name.endswith(".safetensors") for name in names) or "param_name_map.json" in names:
        return Found(_writer_in(folder, names), "safetensors", folder)
    if FILE in names and any(name.startswith(PICKLED) and name.endswith(".bin") for name in names):
        return Found("huggingface", "torch", folder)
    single = [name for name in names if name.endswith(".ckpt")]
    if len(single) == 1:
        return Found("mindformers", "ckpt", os.path.join(folder, single[0]))
    return None


PICKLED = "pytorch_model"
"""How the names of transformers' pickled files begin."""
_MINDFORMERS = ("param_name_map.json", "metadata.json")
_TRANSFORMERS = ("model.embed_tokens.", "model.layers.", "transformer.h.", "transformer.wte.", "lm_head.")


def _writer_in(folder: str, names: set[str]) -> Literal["huggingface", "mindformers"]:
    """Whose model a folder of safetensors holds."""
    if FILE not in names or not names.isdisjoint(_MINDFORMERS):
        return "mindformers"
    files = sorted(name for name in names if name.endswith(".safetensors"))
    # The first file of a published checkpoint tells; there can be hundreds.
    is_transformers = any(_writer_of(os.path.join(folder, name)) == "huggingface" for name in files)
    return "huggingface" if is_transformers else "mindformers"


def _writer_of(path: str) -> Literal["huggingface", "mindformers"]:
    """Whose parameters a file has, by their names; transformers' need the `config.json` beside them."""
    if not os.path.isfile(os.path.join(os.path.dirname(path), FILE)):
        return "mindformers"
    return "huggingface" if any(name.startswith(_TRANSFORMERS) for name in read_header(path)) else "mindformers"


def checkpoint_or_stop(path: str) -> Found:
    """The checkpoint at a path; UnreadableError where there is none."""
    found = checkpoint_at(path)
    return _nothing(path) if found is None else found


def rank_of(folder: str) -> tuple[int, int, int] | None:
    """Tensor, pipeline and expert rank of a folder `mp_rank_TT[_PPP][_EEE]`; the numbers that are there."""
    found = _RANK.fullmatch(folder)
    if found is None:
        return None
    return int(found[1]), int(found[2] or 0), int(found[3] or 0)


def _latest(path: str) -> str:
    """The folder of the iteration that a checkpoint's tracker names, or the only one there is."""
    tracker = os.path.join(path, TRACKER)
    if os.path.isfile(tracker):
        try:
            written = bytes_of(tracker, 64).decode("utf-8", "replace").strip()
        except OSError as error:
            raise_denied(tracker, error)
        for name in (written, f"iter_{written.zfill(7)}", f"iteration_{written.zfill(8)}"):
            folder = os.path.join(path, name)
            if _ITERATION.fullmatch(name) and os.path.isdir(folder):
                return folder
        raise_unreadable(
            say.missing_shard(
                file=os.path.join(path, f"iter_{written.zfill(7)}"),
                needed=TRACKER,
            ),
            path,
        )
    inner = sorted(
        name for name in os.listdir(path) if _ITERATION.fullmatch(name) and os.path.isdir(os.path.join(path, name))
    )
    if len(inner) == 1:
        return os.path.join(path, inner[0])
    if inner:
        raise_unreadable(
            say.nothing_there(path=path, found=say.it_holds_and_no_name(listed=", ".join(inner), tracker=TRACKER)), path
        )
    return path


def _nothing(path: str) -> NoReturn:
    """Raise UnreadableError with the reason why a path is not a checkpoint."""
    if not os.path.exists(path):
        raise_unreadable(say.nothing_there(path=path, found=say.nothing_is_there()), path)
    if os.path.isdir(path):
        if any(name.endswith(".ckpt") for _, _, names in os.walk(path) for name in names):
            several, advice = say.a_folder_of_several_ckpt(), say.name_the_one_that_holds()
            raise_unreadable(say.unsupported(file=path, what=several, advice=advice), path)
        raise_unreadable(say.nothing_there(path=path, found=say.none_of_its_files_is()), path)
    raise_unreadable(say.nothing_there(path=path, found=say.it_is_another_kind_of()), path)


VOCABULARY = ("embedding.word_embeddings.weight", "output_layer.weight")
"""The weights with a row for each token, of which a checkpoint may have more than the vocabulary."""


class Problems:
    """Weights that cannot be read, gathered so that all of them are named at once."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.names: set[str] = set()

    def add(self, diagnostic: Diagnostic, names: Iterable[str]) -> None:
        """One problem, and the weights that are not there because of it."""
        self.found.append(diagnostic)
        self.names.update(names)


class View(NamedTuple):
    """The facts of a model by which a reader puts its pieces together."""

    layout: Layout
    wanted: Mapping[str, Shape] | None = None
    """Every weight with its shape, where a configuration tells."""
    source: str = ""
    """Where that comes from."""
    strict: bool = True
    """A weight of another shape stops the reading; a check wants to show it instead."""
    problems: Problems | None = None
    """What takes the problems of single weights; without it the first one stops the reading."""

    @contextmanager
    def gather(self, *names: str) -> Generator[None]:
        """Gather a problem of these weights, or let it stop the reading."""
        try:
            yield
        except UnreadableError as error:
            if self.problems is None:
                raise
            self.problems.add(error.diagnostic, names)

    def refuses(self, name: str, shape: Shape) -> Shape | None:
        """The shape that a weight must have, where it has another and that stops the reading."""
        wanted = None if self.wanted is None or not self.strict or name in VOCABULARY else self.wanted.get(name)
        return None if wanted == shape else wanted


class Copy(NamedTuple):
    """A weight that stands in the checkpoint twice and must be the same in both."""

    name: str
    first: Weight
    second: Weight


class Amount(NamedTuple):
    """A number of tensors and their bytes."""

    tensors: int = 0
    size: int = 0
    """In bytes."""


def count(found: dict[Beside, Amount], what: Beside, size: int = 0, tensors: int = 1) -> None:
    """Count something that is no weight."""
    before = found.get(what, Amount())
    found[what] = Amount(before.tensors + tensors, before.size + size)


class EightBitWeights(NamedTuple):
    """The 8-bit weights of a checkpoint, which are read as the product of each number and its block's scale."""

    weights: Mapping[str, int]
    """The number of 8-bit tensors that each weight is made of."""
    block: tuple[int, int]
    """Rows and columns that have one scale."""
    suffix: str
    """What a scale's name ends with."""


class Model(NamedTuple):
    """The weights of a checkpoint."""

    framework: Framework
    folder: str
    weights: Mapping[str, Weight]
    written_as: Mapping[str, str]
    """What the checkpoint itself calls a weight, where that is another name."""
    unknown: tuple[str, ...] = ()
    """Tensors that no row of the weight table knows."""
    beside: Mapping[Beside, Amount] = {}
    """What else is in the checkpoint, and how much of it."""
    copies: tuple[Copy, ...] = ()
    dequantized: EightBitWeights | None = None
    spellings: Mapping[str, tuple[str, ...]] = {}
    """The form's own names for each weight, if they are known without it."""

    def spell(self, name: str) -> tuple[str, ...]:
        """What the form calls a weight."""
        return self.spellings.get(name, (name,))


class AdamState(NamedTuple):
    """What Adam keeps of each trained weight, under the weight table's names."""

    step: int
    """Updates so far."""
    averages: Mapping[str, Weight]
    """Of the gradients."""
    squares: Mapping[str, Weight]
    """Of their squares."""
    masters: Mapping[str, Weight] = {}
    """The weights in float32 that the optimizer updates, if the model's own have fewer bits."""


AVERAGES, SQUARES, MASTERS = "exp_avg", "exp_avg_sq", "fp32_param"
"""Megatron-LM's names of these: core/optimizer/optimizer.py, distrib_optimizer.py."""


class Checkpoint(Protocol):
    """An opened checkpoint, before it is known how its pieces belong together."""

    @property
    def framework(self) -> Framework:
        """Whose checkpoint it is."""
        ...

    @property
    def form(self) -> Form:
        """In which form."""
        ...

    folder: str
    iteration: int | None
    arguments: Mapping[str, Any] | None
    """The run's arguments that stand in the checkpoint."""

    def shapes(self) -> Mapping[str, Shape]:
        """The shapes of single pieces, from which an arrangement can be told without a configuration."""
        ...

    def model(self, view: View) -> Model:
        """The weights, put together."""
        ...

    def adam_state(self, view: View) -> AdamState | None:
        """The state of Adam; None if there is none in a form that is known."""
        ...

    def explain_adam(self) -> Words:
        """Why the optimizer's state that is there is not in a form that is known."""
        ...


def differing_copies(copies: Sequence[Copy]) -> Iterator[Diagnostic]:
    """One finding for each copy that is not the same."""
    for copy in copies:
        found = _difference(copy)
        if found is not None:
            first, second = copy.first.file, copy.second.file
            yield problem(say.disagree(tensor=copy.name, first=first, second=second, difference=found), second)


def _difference(copy: Copy) -> Words | None:
    """The difference of two copies; None if every bit is the same."""
    import numpy as np

    first, second = copy.first, copy.second
    if first.shape != second.shape or first.dtype != second.dtype:
        one, other = (f"{weight.dtype} {list(weight.shape)}" for weight in (first, second))
        return say.two_forms(one=one, other=other)
    largest, numbers = 0.0, 0
    size = max(1, BLOCK_BYTES // 8)
    for one, other in zip(pieces(first, size), pieces(second, size), strict=True):
        # Bits, not values: a copy of a NaN is the same NaN.
        bits = f"u{one.itemsize}"
        mine: Any = np.ascontiguousarray(one)
        theirs: Any = np.ascontiguousarray(other)
        apart = int((mine.view(bits) != theirs.view(bits)).sum())
        if apart:
            numbers += apart
            largest = max(largest, largest_difference(widen(one, first.dtype), widen(other, second.dtype)))
    if not numbers:
        return None
    return say.numbers_differ(numbers=numbers, count=first.count, largest=largest)

"""The stand-ins of the dynamic graph against references in numpy and torch, in a process of its own."""

import json

import mindspore as ms
import numpy as np
import torch
from mindspore import Tensor, mint, ops
from mindspore_proofs import array, error, exact_dropout, exact_split, split_then_turn

from accmap.verifier.mindformers import dynamic_stand_ins as backward
from accmap.verifier.mindformers.eager_stand_ins import DROPPING
from accmap.verifier.worker.patches import install_hyper_parallel


def turned(parts):
    return ops.concat([part.transpose((1, 0)) * (at + 1) for at, part in enumerate(parts)], 1)


def exact_turned(parts):
    return torch.cat([part.permute(1, 0) * (at + 1) for at, part in enumerate(parts)], 1)


def differentiated():
    x = array(4, 6)
    yield (
        "views: sizes",
        error(lambda a: split_then_turn(a, lambda y: mint.split(y, (3, 5), 3)), exact_split, array(3, 2, 4, 8)),
    )
    yield "views: split", error(lambda a: turned(mint.split(a, 3, -1)), lambda a: exact_turned(a.split(3, -1)), x)
    yield "views: chunk", error(lambda a: turned(mint.chunk(a, 2, -1)), lambda a: exact_turned(a.chunk(2, -1)), x)
    yield "views: narrow", error(lambda a: mint.narrow(a, -1, 1, 3).transpose((1, 0)), lambda a: a[:, 1:4].t(), x)
    yield "copy", error(mint.clone, torch.clone, x)
    with DROPPING:
        yield "dropout", error(lambda a: mint.nn.functional.dropout(a, 0.3, True), exact_dropout, array(40, 50))
    yield "gelu", error(mint.nn.functional.gelu, torch.nn.functional.gelu, x)
    tanh = (lambda a: mint.nn.functional.gelu(a, "tanh"), lambda a: torch.nn.functional.gelu(a, approximate="tanh"))
    yield "gelu: tanh", error(*tanh, x)
    yield "lower-triangle", error(mint.tril, torch.tril, x)
    added = (lambda a, b: mint.addcmul(a, b, b, value=0.3), lambda a, b: torch.addcmul(a, b, b, value=0.3))
    yield "product-added", error(*added, x, array(4, 6))
    places = np.array([[1], [0], [5], [5]])
    yield (
        "scatter-add",
        error(
            lambda a, b: mint.scatter_add(a, 1, Tensor(places), b),
            lambda a, b: a.scatter_add(1, torch.tensor(places), b),
            x,
            array(4, 1),
        ),
    )
    yield "stack", error(lambda a, b: mint.stack((a, b), 1), lambda a, b: torch.stack((a, b), 1), x, array(4, 6))
    yield (
        "layer-norm",
        error(
            lambda a, w, b: mint.nn.functional.layer_norm(a, (6,), w, b, 1e-5),
            lambda a, w, b: torch.nn.functional.layer_norm(a, (6,), w, b, 1e-5),
            x,
            array(6),
            array(6),
        ),
    )
    yield (
        "embedding",
        error(
            lambda w: mint.nn.functional.embedding(Tensor(places), w), lambda w: w[torch.tensor(places)], array(6, 3)
        ),
    )


def counted():
    numbers = np.array([3, 0, 3, 1, 0, 3])
    for name, ours, exact in (
        ("count", mint.histc(Tensor(numbers), bins=5, min=0, max=5), np.bincount(numbers, minlength=5)),
        ("argsort", mint.argsort(Tensor(numbers), stable=True), np.argsort(numbers, kind="stable")),
        ("arange", mint.arange(2, 9, 3, dtype=ms.int64), np.arange(2, 9, 3)),
        ("filled", mint.full((2, 3), 2.5), np.full((2, 3), 2.5)),
        ("filled: in place", Tensor(array(2, 3)).fill_(1.5), np.full((2, 3), 1.5)),
        ("filled: zero", Tensor(array(2, 3)).zero_(), np.zeros((2, 3))),
        ("floor-divide", mint.floor_divide(Tensor(numbers), 2), numbers // 2),
        ("scatter", Tensor(np.ones((2, 3))).scatter_(1, Tensor([[2], [0]]), 0.0), [[1, 1, 0], [0, 1, 1]]),
        ("ones-like", mint.ones_like(Tensor(array(2, 3)), dtype=ms.int64), np.ones((2, 3))),
        ("zeros-like", mint.zeros_like(Tensor(array(2, 3)), dtype=ms.int64), np.zeros((2, 3))),
        ("cumulative-sum", mint.cumsum(Tensor(numbers), dim=0, dtype=ms.int64), np.cumsum(numbers)),
    ):
        yield name, float(np.abs(ours.asnumpy() - exact).max())


def changed_in_place():
    """What is left in the tensor itself, and not what the call answers with."""
    x, y = array(3, 4), array(3, 4)
    for name, change, exact in (
        ("add_", lambda a: a.add_(Tensor(y)), x + y),
        ("mul_", lambda a: a.mul_(0.5), x * 0.5),
    ):
        kept = Tensor(x)
        change(kept)
        yield f"in-place: {name}", float(np.abs(kept.asnumpy() - exact).max())


def added_up(*, laid_out):
    """Gradients of a weight that is multiplied turned, of two passes that are added up, and what `detach` keeps out."""
    w, x = array(3, 4), array(5, 4)
    weight = ms.Parameter(Tensor(w), name="w")
    exact = torch.tensor(w, requires_grad=True)
    if laid_out:
        backward.lay_out([weight], set())
    for slope in (array(5, 3), array(5, 3)):
        with backward.gradients_enabled():
            found = mint.matmul(Tensor(x), mint.transpose(weight, 1, 0))
            ((found + found.detach()) * Tensor(slope)).sum().backward()
        given = torch.tensor(x) @ exact.T
        ((given + given.detach()) * torch.tensor(slope)).sum().backward()
    return float(np.abs(weight.grad.asnumpy() - exact.grad.numpy()).max())


def materialised():
    """Whether a cell made on `meta` has memory with no number in it; the spread of what is drawn into it."""
    with ms.DeviceCtx("meta"):
        cell = ms.nn.Cell()
        cell.weight = ms.Parameter(mint.empty((200, 300), dtype=ms.float32), name="weight")
    cell.to_empty()
    empty = bool(np.isnan(cell.weight.asnumpy()).all())
    cell.weight.normal_(mean=0.0, std=0.02)
    return empty, float(cell.weight.asnumpy().std())


def left_behind():
    """The operators that the stand-ins did not give back."""
    from mindspore.ops.auto_generate import gen_ops_prim as primitives

    names = ("SplitWithSizeView", "SplitTensorView", "ChunkView", "NarrowView", "HistcExt", "ArgSort", "Clone")
    found = [name for name in names if "accmap" in getattr(primitives, name).__call__.__module__]
    found += [name for name in ("stack", "floor_divide") if "accmap" in getattr(mint, name).__module__]
    return found + [name for name in ("backward", "grad", "detach") if hasattr(ms.Tensor, name)]


def drops_nothing():
    """Dropout outside the pass that drops by place."""
    x = array(2, 2)
    return bool(np.array_equal(mint.nn.functional.dropout(Tensor(x), 0.5, True).asnumpy(), x))


def main():
    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    install_hyper_parallel()
    from accmap.verifier.mindformers import dynamic_stand_ins as stand

    own = {f"in-place: {name}": value for name, value in changed_in_place()}
    with stand.stand_ins():
        errors = dict(differentiated()) | dict(counted()) | dict(changed_in_place())
        errors |= dict.fromkeys(("backward", "laid-out", "detached"), added_up(laid_out=True))
        strided = added_up(laid_out=False)
        empty, spread = materialised()
        kept = drops_nothing()
    proved = {name.partition(":")[0] for name in errors} | {"to-empty", "drawn"}
    unproved = sorted({*stand.LISTED, *backward.BACKWARD} - proved)
    print(
        json.dumps(
            {
                "errors": errors,
                "unproved": unproved,
                "kept": kept,
                "left_behind": left_behind(),
                "empty": empty,
                "spread": spread,
                "own_in_place": min(own.values()),
                "strided": strided,
            }
        )
    )

"""The one tensor of a file that `torch.save` wrote, read without torch and without unpickling: its bytes are mapped."""

from __future__ import annotations

import math
from typing import Any

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.message import Words, verbatim
from ..arrays import MOST_AXES, from_bfloat16, open_numpy, read_array
from ..messages_compiled import say
from ..weights.checkpoint_pickle import Tensor
from ..weights.number_types_compiled import STORED
from ..weights.torch_archive import TorchFile

_MOST_REPEATED = 1 << 24


def read_tensor(path: str) -> Any:
    """The array of a dump's file."""
    return read_torch(path) if path.endswith(".pt") else read_array(path)


def read_torch(path: str) -> Any:
    """The one tensor of a file that `torch.save` wrote, mapped."""
    np = open_numpy()
    try:
        return _map_tensor(np, path, TorchFile(path))
    except UnreadableError as error:
        why = dict(error.diagnostic.values).get("why")
        whole = Words(*(text[:-1] for text in error.diagnostic.words().both()))  # a sentence within one
        raise _unreadable(path, why if isinstance(why, Words) else whole) from None
    except (OSError, ValueError, OverflowError) as error:
        raise _unreadable(path, say.described_impossible(why=verbatim(error))) from None


def _map_tensor(np: Any, path: str, file: TorchFile) -> Any:
    tensor = file.content
    # What has a type of its own beside its storage's has numbers that numpy does not know.
    if not isinstance(tensor, Tensor) or tensor.dtype != tensor.storage.dtype or len(tensor.shape) > MOST_AXES:
        raise _unreadable(path, say.holds_something_else())
    place = file.place(tensor.storage)
    if place is None:
        raise _unreadable(path, say.storage_missing())
    begins, size = place
    dtype = np.dtype(STORED[tensor.dtype][0])
    numbers = math.prod(tensor.shape)
    if not numbers:
        return np.zeros(tensor.shape, dtype)
    steps = zip(tensor.shape, tensor.strides, strict=True)
    needed = (tensor.offset + sum((length - 1) * stride for length, stride in steps) + 1) * dtype.itemsize
    if needed > size:
        raise _unreadable(path, say.storage_short(size=f"{size:,}", needed=f"{needed:,}"))
    if numbers > max(size, _MOST_REPEATED):
        # A stride of 0 repeats numbers: a few bytes could stand for a tensor of any size.
        raise _unreadable(path, say.storage_repeated(size=f"{size:,}", numbers=f"{numbers:,}"))
    with open_regular(path) as stream:
        flat = np.memmap(stream, dtype, "r", begins, (size // dtype.itemsize,))
    array = np.lib.stride_tricks.as_strided(
        flat[tensor.offset :], tensor.shape, [stride * dtype.itemsize for stride in tensor.strides], writeable=False
    )
    return from_bfloat16(array) if tensor.dtype == "BF16" else array


def _unreadable(path: str, why: Words) -> UnreadableError:
    return UnreadableError(diagnose(say.tensor_unreadable(path=path, why=why), path))

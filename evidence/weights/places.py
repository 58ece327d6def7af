"""The checkpoint at a path: its framework, form and iteration."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal, NoReturn

from ...schemas.fast_records import NamedTuple
from ...schemas.huggingface.model_config import FILE
from ..bounded_files import bytes_of
from .messages_compiled import say
from .problems import raise_denied, raise_unreadable
from .safetensors_file import read_header

if TYPE_CHECKING:
    from ...schemas.config import Framework

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
    if path.endswith(".safetensors"):
        return Found(_writer_of(path), "safetensors", path)
    if path.endswith(".pt"):
        return Found("megatron", "torch", path)
    return Found("mindformers", "ckpt", path) if path.endswith(".ckpt") else None


def _folder(folder: str) -> Found | None:
    names = set(os.listdir(folder))
    if ".metadata" in names or any(name.endswith(".distcp") for name in names):
        return Found("megatron", "torch_dist", folder)
    if SHARD in names or any(_RANK.fullmatch(name) for name in names):
        return Found("megatron", "torch", folder)
    if any(name.endswith(".safetensors") for name in names) or "param_name_map.json" in names:
        return Found(_writer_in(folder, names), "safetensors", folder)
    single = [name for name in names if name.endswith(".ckpt")]
    if len(single) == 1:
        return Found("mindformers", "ckpt", os.path.join(folder, single[0]))
    return None


_MINDFORMERS = ("param_name_map.json", "metadata.json")
_TRANSFORMERS = ("model.embed_tokens.", "model.layers.", "transformer.h.", "transformer.wte.", "lm_head.")


def _writer_in(folder: str, names: set[str]) -> Literal["huggingface", "mindformers"]:
    """Whose model a folder of safetensors holds."""
    if FILE not in names or not names.isdisjoint(_MINDFORMERS):
        return "mindformers"
    files = sorted(name for name in names if name.endswith(".safetensors"))
    read_by = {_writer_of(os.path.join(folder, name)) for name in files}
    return "huggingface" if "huggingface" in read_by else "mindformers"


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
                needed=f"the iteration {written!r} that {TRACKER} names",
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
    if not os.path.exists(path):
        raise_unreadable(say.nothing_there(path=path, found=say.nothing_is_there()), path)
    if os.path.isdir(path):
        if any(name.endswith(".ckpt") for _, _, names in os.walk(path) for name in names):
            _ckpt(path)
        raise_unreadable(say.nothing_there(path=path, found=say.none_of_its_files_is()), path)
    raise_unreadable(say.nothing_there(path=path, found=say.it_is_another_kind_of()), path)


def _ckpt(path: str) -> NoReturn:
    raise_unreadable(
        say.unsupported(file=path, what=say.a_folder_of_several_ckpt(), advice=say.name_the_one_that_holds()), path
    )

"""What Megatron-LM's own launch hands to `GPTModel`, and what the verifier does.

`pretrain_gpt.py:model_provider` builds the model until 0.14, `gpt_builders.py:gpt_builder` until 0.18, then the builder
of `training/models/gpt.py` from what `gpt_config_from_args` makes of the arguments. The tree stands on the path.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import sys
import tempfile
import typing
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import typing_extensions
from megatron_config_proofs import CPU, VARIANTS

from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch
from accmap.verifier.megatron.model import MegatronBackend
from accmap.verifier.worker.patches import inert_triton

sys.path.insert(0, str(Path(__file__).parents[1] / "pairs"))
from pair_files import TABLE, write_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOCAL = {"transformer_impl": "local", "moe_grouped_gemm": False}
"""Transformer Engine's layers and grouped products need a GPU."""
STAND_INS = {
    "EagerCoreAttention": "megatron.core.transformer.dot_product_attention.DotProductAttention",
    "ZeroCenteredNorm": "megatron.core.transformer.torch_norm.WrappedTorchNorm",
}
"""Layers that the verifier puts in place of Megatron's own, and proves beside them."""
ELSEWHERE = {"self", "config", "pg_collection", "vp_stage", "fp16_lm_cross_entropy"}
"""The configuration has its own proof; groups of ranks; a loss in half precision, which a run in float32 has not."""


class _HandedOver(Exception):  # noqa: N818 - what ends a build is no error
    """What `GPTModel` was given."""


def _take(*given: Any, **named: Any) -> None:
    raise _HandedOver(given, named)


def main(version: str) -> None:
    """Print the arguments that differ, by pair."""
    typing.override = typing_extensions.override  # type: ignore[attr-defined] - Python 3.12's, which 0.18 asks for
    found: dict[str, Any] = {}
    pairs = {**TABLE["equal"], **{name: {"family": "dense", "megatron": flags} for name, flags in VARIANTS.items()}}
    backend = MegatronBackend()
    with inert_triton(), tempfile.TemporaryDirectory() as folder:
        from megatron.core.models.gpt import gpt_model

        signature = inspect.signature(gpt_model.GPTModel.__init__)
        for name, pair in pairs.items():
            config = read_config(str(write_pair(pair, Path(folder))[0]), ReadOptions(megatron=version))
            blueprint = from_launch.blueprint_of(config)
            settings = {key: setting.value for key, setting in config.settings.items()}
            small = {key: value for key, value in blueprint.model.items() if key in settings}
            args = argparse.Namespace(**{**settings, **small, **CPU, **LOCAL})
            real = _handed(signature, lambda args=args: _launched(args))
            with mock.patch.object(gpt_model, "GPTModel", _take):
                ours = _handed(signature, lambda plan=blueprint: backend._network(plan, 0, {}))
            found[name] = [key for key in real if key not in ELSEWHERE and _plain(real[key]) != _plain(ours[key])]
    backend.close()
    print(json.dumps(found))


def _handed(signature: inspect.Signature, build: Callable[[], Any]) -> dict[str, Any]:
    """The arguments of the `GPTModel` that is built, with the defaults of those that are not given."""
    try:
        build()
    except _HandedOver as handed:
        given, named = handed.args
        bound = signature.bind(None, *given, **named)
        bound.apply_defaults()
        return bound.arguments
    raise AssertionError("no GPTModel was built")


def _launched(args: argparse.Namespace) -> None:
    """As a launch builds the model."""
    from megatron.training import global_vars

    with mock.patch.object(global_vars, "_GLOBAL_ARGS", args):
        if importlib.util.find_spec("megatron.training.models") is not None:
            from megatron.training import argument_utils
            from megatron.training.models import gpt

            with _taking(gpt):
                gpt.GPTModelBuilder(argument_utils.gpt_config_from_args(args)).build_model(
                    None, pre_process=True, post_process=True
                )
        elif importlib.util.find_spec("gpt_builders") is not None:
            import gpt_builders

            with _taking(gpt_builders):
                gpt_builders.gpt_builder(args, True, True)
        else:
            import pretrain_gpt

            with _taking(pretrain_gpt):
                pretrain_gpt.model_provider(True, True)


@contextmanager
def _taking(module: Any) -> Iterator[None]:
    """While the block runs, the module's `GPTModel` keeps what it is given."""
    name = next(name for name in ("GPTModel", "MCoreGPTModel") if hasattr(module, name))
    with mock.patch.object(module, name, _take):
        yield


def _plain(value: Any) -> Any:
    """A specification by what it says: equal ones are made anew by each call."""
    if not hasattr(value, "submodules") and not hasattr(value, "layer_specs"):
        return value
    said = repr(value)
    for name, own in STAND_INS.items():
        said = said.replace(f"accmap.verifier.megatron.stand_ins.{name}", own)
    return said

"""The real frameworks' data sets for the tests: Megatron-Core's, and MindSpore Transformers' with "
"its compiled helper."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest


class NoTokenizer:
    """What Megatron's data set needs of a tokenizer."""

    eod = 99
    vocab_size = 1000
    unique_identifiers: ClassVar[dict[str, str]] = {}

    def __init__(self, pad: int | None = None) -> None:
        if pad is not None:
            self.pad = pad


def megatron_dataset(words: list[str], split: str, samples: int, length: int, seed: int, **more: Any) -> Any:
    """The training data set that Megatron-Core builds; the arguments are the launch's."""
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.utils import get_blend_from_list

    config = GPTDatasetConfig(
        random_seed=seed,
        sequence_length=length,
        blend=get_blend_from_list(words),
        split=split,
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
        **{"tokenizer": NoTokenizer(), **more},
    )
    return BlendedMegatronDatasetBuilder(GPTDataset, [samples, 0, 0], lambda: True, config).build()[0]


def compile_helpers(folder: Path) -> None:
    """Compile MindSpore Transformers' C++ helper where its package has none, as its loader does at the first run."""
    from mindformers.dataset import blended_datasets

    name = "mindformers.dataset.blended_datasets.helpers"
    if name in sys.modules:
        return
    pybind11 = pytest.importorskip("pybind11")
    source = Path(blended_datasets.__file__).parent / "helpers.cpp"
    target = folder / f"helpers{sysconfig.get_config_var('EXT_SUFFIX')}"
    words = ["g++", "-O2", "-shared", "-fPIC", "-std=c++17", f"-I{pybind11.get_include()}"]
    words += [f"-I{sysconfig.get_paths()['include']}", str(source), "-o", str(target)]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C++ compiler for the helper: {error}")
    spec = importlib.util.spec_from_file_location(name, target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    blended_datasets.helpers = module


def mindformers_dataset(words: list[str], split: str, samples: int, length: int, seed: int, **more: Any) -> Any:
    """The training data set that MindSpore Transformers builds; the arguments are the YAML's."""
    from mindformers.dataset.blended_datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from mindformers.dataset.blended_datasets.gpt_dataset import GPTDataset
    from mindformers.dataset.dataloader.blended_megatron_dataloader import MegatronDatasetBuilder

    settings = {"seed": seed, "seq_length": length, "split": split, "data_path": words, "create_attention_mask": False}
    config = MegatronDatasetBuilder("GPTDataset", {**settings, **more}).init_gpt_dataset_config()
    return BlendedMegatronDatasetBuilder(GPTDataset, [samples, 0, 0], lambda: True, config).build()[0]


def sample_of(entry: Any) -> tuple[list[int], list[int]]:
    """Inputs and labels of a framework's sample."""
    inputs, labels = (entry["tokens"], entry["labels"]) if isinstance(entry, dict) else entry[:2]
    return np.asarray(inputs).tolist(), np.asarray(labels).tolist()

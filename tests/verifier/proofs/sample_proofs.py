"""The samples that a real framework draws by some plans, and its compiled index functions beside the stand-ins."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from accmap.verifier.worker import inputs
from accmap.verifier.worker.blueprint import SamplePlan

MODULES = {
    "megatron": "megatron.core.datasets.helpers_cpp",
    "mindformers": "mindformers.dataset.blended_datasets.helpers",
}


def main(framework: str, folder: str) -> None:
    """Draw by each of the plans in the folder."""
    backend = _backend(framework)
    refused: dict[str, str] = {}
    for name, plan in json.loads((Path(folder) / f"{framework}.json").read_text("utf-8")).items():
        with tempfile.TemporaryDirectory() as place:
            inputs.write_corpora(SamplePlan(**plan), place)
            try:
                found, passes = backend.samples(SamplePlan(**plan), place)
            except Exception as error:  # noqa: BLE001 - it is told
                refused[name] = f"{type(error).__name__}: {error}"
                continue
        kept = {"tokens": found.tokens, "labels": found.labels, "counted": found.counted, "passes": passes}
        np.savez(Path(folder) / f"{framework}-{name}.npz", **kept)
    print(json.dumps({"refused": refused, "stand_ins": sorted(backend.stand_ins())}))


def _backend(framework: str) -> Any:
    if framework == "megatron":
        from accmap.verifier.megatron.model import MegatronBackend

        return MegatronBackend()
    from accmap.verifier.mindformers.model import MindFormersBackend

    return MindFormersBackend()


def functions(framework: str, folder: str) -> None:
    """How many random indices of the stand-ins are the compiled functions'."""
    compiled = _compiled(framework, folder)
    chooser = random.Random(5)
    same = 0
    for _case in range(300):
        source = np.random.default_rng(chooser.randrange(1 << 30))
        sizes = source.integers(chooser.choice([0, 1]), chooser.choice([3, 30, 200]), size=chooser.randint(1, 40)) + 1
        sizes = sizes.astype(np.int32)
        epochs, extra = chooser.choice([1, 2, 5]), chooser.choice([0, 1])
        line = source.permutation(np.tile(np.arange(sizes.size, dtype=np.int32), epochs))
        given = (sizes, line, chooser.choice([2, 7, 16]), epochs, int(sizes.sum()), chooser.random() < 0.8, extra)
        build = getattr(compiled, "build_sample_idx_int32", None) or compiled.build_sample_idx
        theirs = np.asarray(build(*given))
        ours = inputs.build_sample_index(*given)
        weights = source.uniform(0.01, 1, size=chooser.randint(1, 6))
        weights /= weights.sum()
        blends = [(np.zeros(500, np.int16), np.zeros(500, np.int64)) for _side in range(2)]
        for pair, blend in zip(blends, (compiled.build_blending_indices, inputs.build_blending_indices), strict=True):
            blend(*pair, weights, weights.size, 500, False)
        same += np.array_equal(theirs, ours) and all(map(np.array_equal, *blends))
    print(json.dumps({"same": same, "of": 300}))


def _compiled(framework: str, folder: str) -> Any:
    """What is compiled already, or is compiled now of the framework's own source."""
    import importlib
    import importlib.util

    name = MODULES[framework]
    found = importlib.util.find_spec(name)
    if found is None:
        import pybind11

        above = importlib.util.find_spec(name.rpartition(".")[0])
        assert above is not None
        assert above.origin is not None
        target = Path(folder) / f"{name.rpartition('.')[2]}{sysconfig.get_config_var('EXT_SUFFIX')}"
        words = ["g++", "-O1", "-shared", "-fPIC", "-std=c++17", f"-I{pybind11.get_include()}"]
        words += [f"-I{sysconfig.get_paths()['include']}", str(Path(above.origin).parent / "helpers.cpp")]
        subprocess.run([*words, "-o", str(target)], check=True, capture_output=True)
        found = importlib.util.spec_from_file_location(name, target)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module

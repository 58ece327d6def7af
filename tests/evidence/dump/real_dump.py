"""Runs one real model of a pair for one step under msprobe: `real_dump.py SIDE SCRIPT YAML CONFIG`.

The models are the verifier's, with drawn weights and tokens, so that both sides compute the same. msprobe is switched
on as the written lines do it. A norm that MindSpore's CPU has no kernel for is computed by numpy.
"""

# ruff: noqa: E402 - the order of the imports is what this is about

from __future__ import annotations

import sys

side, script, config, settings = sys.argv[1:5]
if side == "mindformers":
    # Its old protobuf files are taken only while nothing else has loaded protobuf.
    import mindspore

from accmap.schemas.reader import read_config
from accmap.verifier.pair import Options, assemble_pair
from accmap.verifier.worker import inputs

pair = assemble_pair(read_config(script), read_config(config), Options())
job = pair.job(pair.blueprints[side == "mindformers"], Options(), 0)
if side == "megatron":
    from msprobe.pytorch import PrecisionDebugger

    from accmap.verifier.megatron.model import MegatronBackend

    backend = MegatronBackend()
else:
    import numpy as np
    from msprobe.core.dump.data_dump.data_processor import mindspore_processor
    from msprobe.mindspore import PrecisionDebugger

    from accmap.verifier.mindformers.model import MindFormersBackend

    backend = MindFormersBackend()

    class _Mint:
        norm = staticmethod(lambda tensor: mindspore.Tensor(np.float32(np.linalg.norm(tensor.asnumpy().ravel()))))

        def __getattr__(self, name: str) -> object:
            return getattr(mindspore.mint, name)

    mindspore_processor.mint = _Mint()

PrecisionDebugger(config_path=settings)
model = backend.build(job.blueprint, 0)
drawn = {
    name: inputs.draw_weight(name, tuple(array.shape), 0, rounded=False) for name, array in model.weights().items()
}
model.load(drawn)
PrecisionDebugger.start(model.model)
model.backward(model.arrange(inputs.draw_tokens(job.inputs[0])))
PrecisionDebugger.stop()
PrecisionDebugger.step()

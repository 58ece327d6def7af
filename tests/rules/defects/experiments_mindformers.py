"""Small experiments on the real code of one MindSpore Transformers: the figures of a defect, by its code.

`experiments_mindformers.py TREE CODE`: the tree stands first on the path. Modules of the static graph run as they are,
without compiling; what other ranks would do is computed by asking as each of them.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest import mock

sys.path.insert(0, sys.argv[1])

import mindspore as ms
import numpy as np

ms.set_context(mode=ms.PYNATIVE_MODE)


def def501() -> dict[str, Any]:
    """Share of the tokens whose embedding is their own, with two tensor parallel ranks that both hold the table."""
    from mindformers.parallel_core.training_graph.tensor_parallel import layers
    from mindspore import ops

    vocabulary, hidden, ranks = 8, 4, 2
    table = ms.Tensor(np.arange(vocabulary * hidden).reshape(vocabulary, hidden), ms.float32)
    tokens = ms.Tensor(np.arange(vocabulary).reshape(1, vocabulary), ms.int32)
    total: Any = 0.0
    for rank in range(ranks):
        made = layers.VocabParallelEmbedding.__new__(layers.VocabParallelEmbedding)
        ms.nn.Cell.__init__(made)
        made.tp, made.sequence_parallel, made.group = ranks, False, ""
        made.enable_embedding_tp = False  # what 1.8 works out from a table that is not split
        made.reshape, made.relu, made.minimum, made.equal = ops.reshape, ops.relu, ops.minimum, ops.equal
        made.vocab_start_index = rank * vocabulary // ranks
        made.parallel_num_embeddings = vocabulary // ranks - 1
        with (
            mock.patch.object(layers.ops, "AllReduce", return_value=lambda tensor: tensor),
            # a CPU has no kernel of mint's
            mock.patch.object(layers.mint.nn.functional, "embedding", lambda ids, weight: ops.gather(weight, ids, 0)),
        ):
            out = made.embedding_func(tokens, table).asnumpy()
        total = (
            out if "enable_embedding_tp" in layers.VocabParallelEmbedding.__init__.__code__.co_names else total + out
        )
    return {"own": float(np.mean(np.all(np.isclose(total[0], table.asnumpy()), axis=-1)))}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[2].lower()]()))

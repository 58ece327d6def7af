"""Eight processes of one run dump under the real msprobe, two micro-batches a step: `eight_ranks.py OUT [RANK]`.

Started by torchrun with Gloo: two processes share each layer (its first matrix by rows, its second by columns, their
sums added up), four such pairs have samples of their own. RANK is the process whose last matrix is 5% larger.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from msprobe.pytorch import PrecisionDebugger
from torch.nn import Linear, Module, Parameter
from torch.nn.functional import linear

WIDTH = 32


class ColumnParallelLinear(Module):
    """A share of the outputs."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.weight = Parameter(Linear(WIDTH, 2 * WIDTH, bias=False).weight.detach().chunk(2)[rank % 2].clone())

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return linear(hidden, self.weight)


class RowParallelLinear(Module):
    """A share of the inputs, and what the other one makes of its own."""

    def __init__(self, rank: int, pair: dist.ProcessGroup) -> None:
        super().__init__()
        self.weight = Parameter(Linear(2 * WIDTH, WIDTH, bias=False).weight.detach().chunk(2, 1)[rank % 2].clone())
        self._pair = pair

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        own = linear(hidden, self.weight)
        whole = own.detach().clone()
        dist.all_reduce(whole, group=self._pair)
        return own + (whole - own.detach())


class MLP(Module):
    def __init__(self, rank: int, pair: dist.ProcessGroup) -> None:
        super().__init__()
        self.linear_fc1 = ColumnParallelLinear(rank)
        self.linear_fc2 = RowParallelLinear(rank, pair)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden + self.linear_fc2(torch.relu(self.linear_fc1(hidden)))


class Decoder(Module):
    def __init__(self, rank: int, pair: dist.ProcessGroup) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(MLP(rank, pair) for _ in range(2))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


class Model(Module):
    def __init__(self, rank: int, pair: dist.ProcessGroup) -> None:
        super().__init__()
        self.decoder = Decoder(rank, pair)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.decoder(hidden)


def main(out: Path, faulty: int = -1) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, dist.get_world_size(), 2)]
    torch.manual_seed(1)
    model = Model(rank, pairs[rank // 2])
    if rank == faulty:
        model.decoder.layers[1].linear_fc2.weight.data *= 1.05
    asked = {"task": "tensor", "dump_path": str(out), "rank": [], "step": [], "level": "L0"}
    config = out.parent / f"{out.name}_{rank}.json"
    config.write_text(json.dumps({**asked, "tensor": {"scope": [], "list": [], "data_mode": ["all"]}}), "utf-8")
    debugger = PrecisionDebugger(config_path=str(config))
    debugger.start(model=model)
    samples = torch.Generator().manual_seed(100 + rank // 2)
    for _ in range(2):
        model(torch.randn(4, 8, WIDTH, generator=samples)).pow(2).mean().backward()
    debugger.stop()
    debugger.step()
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else -1)

"""The distributed optimizer of the real Megatron-Core on a CPU: `… train FOLDER` or `… resume FOLDER CHECKPOINT`.

It needs the Adam of Transformer Engine or Apex, which keeps its step with each group of parameters: with torch's own,
Megatron-Core 0.12 cannot load what it saved itself. `GroupStepAdam` has their form and their formula.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import megatron_run
import torch

from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch
from accmap.verifier.megatron.model import MegatronBackend
from accmap.verifier.worker.inputs import draw_tokens, draw_weight

SHARDING = {"sharding_type": "fully_sharded_model_space"}
RATE = 0.001


class GroupStepAdam(torch.optim.Optimizer):
    """AdamW with the step in each group, as `transformer_engine.pytorch.optimizers.FusedAdam` has it."""

    def __init__(self, params: Any, lr: float, weight_decay: float, betas: Any, eps: float, **_: Any) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            first, second = group["betas"]
            for param in group["params"]:
                state = self.state[param]
                if not state:
                    state.update(exp_avg=torch.zeros_like(param), exp_avg_sq=torch.zeros_like(param))
                state["exp_avg"].lerp_(param.grad, 1 - first)
                state["exp_avg_sq"].mul_(second).addcmul_(param.grad, param.grad, value=1 - second)
                param.mul_(1 - group["lr"] * group["weight_decay"])
                width = state["exp_avg_sq"].sqrt() / (1 - second ** group["step"]) ** 0.5 + group["eps"]
                param.addcdiv_(state["exp_avg"], width, value=-group["lr"] / (1 - first ** group["step"]))

    def load_state_dict(self, state_dict: Any) -> None:
        assert all(set(state) <= {"exp_avg", "exp_avg_sq"} for state in state_dict["state"].values())
        super().load_state_dict(state_dict)


class Run:
    """A model with the distributed optimizer."""

    def __init__(self, folder: Path) -> None:
        from megatron.core import optimizer
        from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
        from megatron.core.optimizer import distrib_optimizer

        distrib_optimizer.quantize_param_shard = lambda *_args, **_kwargs: None  # there are no FP8 parameters
        distrib_optimizer.HAVE_APEX_OR_TE = True
        optimizer.Adam = distrib_optimizer.Adam = GroupStepAdam
        config = read_config(str(folder / "pretrain.sh"))
        self.arguments = from_launch.blueprint_of(config).model
        self.backend = MegatronBackend()  # its stand-ins end with it
        self.built = self.backend.build(from_launch.blueprint_of(config), seed=11)
        self.model = self.built.model
        self.model.config.moe_layer_freq = config.value("moe_layer_freq")
        ddp = DistributedDataParallelConfig(use_distributed_optimizer=True)
        self.wrapped = DistributedDataParallel(self.model.config, ddp, self.model)
        self.optimizer: Any = None

    def start(self) -> None:
        """A fresh optimizer for the weights that the model has now."""
        from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

        words = {"weight_decay": 0.1, "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_eps": 1e-8, "clip_grad": 1.0}
        config = OptimizerConfig(optimizer="adam", lr=RATE, min_lr=1e-4, use_distributed_optimizer=True, **words)
        self.optimizer = get_megatron_optimizer(config, [self.wrapped])

    def step(self) -> float:
        """One update; the loss before it."""
        for group in self.optimizer.param_groups:
            group.update(lr=RATE, weight_decay=0.1 * group["wd_mult"])
        self.wrapped.zero_grad_buffer()
        self.optimizer.zero_grad()
        loss, parts = self.built._loss(draw_tokens(megatron_run.BATCH))
        loss.backward()
        self.wrapped.finish_grad_sync()
        self.optimizer.step()
        return parts["loss"]


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    run = Run(folder)
    if what == "train":
        run.built.load({name: draw_weight(name, array.shape, 21) for name, array in run.built.weights().items()})
        run.start()
        for _ in range(megatron_run.ITERATION):
            run.step()
        sharded = run.model.sharded_state_dict()
        args = argparse.Namespace(**{**run.arguments, "ckpt_fully_parallel_save": True})
        content = {"args": args, "checkpoint_version": 3.0, "iteration": megatron_run.ITERATION, "model": sharded}
        place = folder / "distributed" / f"iter_{megatron_run.ITERATION:07d}"
        megatron_run.save_distributed(
            {**content, "optimizer": run.optimizer.sharded_state_dict(sharded, **SHARDING)}, place
        )
    else:
        run.start()
        sharded = run.model.sharded_state_dict()
        asked = {
            "model": sharded,
            "optimizer": run.optimizer.sharded_state_dict(sharded, is_loading=True, **SHARDING),
        }
        place = Path(sys.argv[3]) / f"iter_{megatron_run.ITERATION:07d}"
        state = megatron_run.strictly_loaded(asked, place)
        run.model.load_state_dict(state["model"], strict=True)
        run.optimizer.load_state_dict(state["optimizer"])
    print(json.dumps({"losses": [run.step() for _ in range(2)]}))


if __name__ == "__main__":
    main()

"""Loads every model chunk of a pipeline with the real Megatron-Core: `… FOLDER CHECKPOINT CUT`, the cut as JSON.

One process takes the place of each pipeline rank in turn: it builds the chunk that Megatron-Core gives that rank,
loads it strictly, and hands what it computes to the next. The answer is the loss, and the layers of every chunk.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch
from accmap.verifier.megatron import model as built
from accmap.verifier.worker.blueprint import InputPlan
from accmap.verifier.worker.inputs import draw_tokens

BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main() -> None:
    folder, checkpoint, cut = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    backend = built.MegatronBackend()
    config = read_config(str(folder / "pretrain.sh"))
    ranks, rounds = cut["pipeline"], cut.get("rounds", 1)
    built.NEUTRAL.update(
        pipeline_model_parallel_size=ranks,
        virtual_pipeline_model_parallel_size=rounds if rounds > 1 else None,
        num_layers_in_first_pipeline_stage=cut.get("first"),
        num_layers_in_last_pipeline_stage=cut.get("last"),
        account_for_embedding_in_pipeline_split=cut.get("embedding", False),
        account_for_loss_in_pipeline_split=cut.get("loss", False),
    )
    args = from_launch.blueprint_of(config).model
    shards = [
        torch.load(checkpoint / "release" / f"mp_rank_00_{rank:03d}" / "model_optim_rng.pt", weights_only=True)
        for rank in range(ranks)
    ]
    layers: list[list[int]] = []
    found: Any = None
    for chunk in range(rounds):
        for rank in range(ranks):
            model = build(args, rank, chunk, ranks, rounds)
            model.load_state_dict(shards[rank]["model" if rounds == 1 else f"model{chunk}"], strict=True)
            layers.append([layer.layer_number - 1 for layer in model.decoder.layers])
            if found is not None:
                model.set_input_tensor(found)
            found = forward(model)
    print(json.dumps({"loss": float(found.mean()), "layers": layers}))
    backend.close()


def build(args: Any, rank: int, chunk: int, ranks: int, rounds: int) -> Any:
    """The model chunk of a pipeline rank."""
    from megatron.core import parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_mtp_block_spec
    from megatron.core.models.gpt.gpt_model import GPTModel

    parallel_state.set_pipeline_model_parallel_world_size(ranks)
    parallel_state.set_pipeline_model_parallel_rank(rank)
    if rounds > 1:
        parallel_state.set_virtual_pipeline_model_parallel_world_size(rounds)
        parallel_state.set_virtual_pipeline_model_parallel_rank(chunk)
    config = built._transformer_config(args)
    spec = built._layer_specification(args, config, engine=False)
    mtp = None
    if args.get("mtp_num_layers"):
        mtp = get_gpt_mtp_block_spec(config, spec, use_transformer_engine=False)
    return GPTModel(
        config,
        spec,
        vocab_size=args["padded_vocab_size"],
        max_sequence_length=args["max_position_embeddings"],
        share_embeddings_and_output_weights=not args.get("untie_embeddings_and_output_weights"),
        position_embedding_type=args.get("position_embedding_type", "learned_absolute"),
        rotary_percent=args.get("rotary_percent", 1.0),
        rotary_base=args.get("rotary_base", 10000),
        mtp_block_spec=mtp,
        pre_process=(rank, chunk) == (0, 0),
        post_process=(rank, chunk) == (ranks - 1, rounds - 1),
    )


def forward(model: Any) -> Any:
    """What a chunk gives to the next; the losses at last."""
    batch = draw_tokens(BATCH)
    given, labels = torch.from_numpy(batch.tokens).long(), torch.from_numpy(batch.labels).long()
    size, length = given.shape
    positions = torch.arange(length)[None].expand(size, -1)
    mask = torch.ones(1, 1, length, length).triu(1).bool()
    with torch.no_grad():
        return model(given, positions, mask, labels=labels, loss_mask=torch.ones(size, length))


if __name__ == "__main__":
    main()

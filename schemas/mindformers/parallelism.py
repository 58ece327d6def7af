"""Devices, parallel degrees and the batch: what the launch makes of `parallel`, `parallel_config` and `runner_config`.

MindSpore Transformers resets several of these values before it uses them; each reset is a problem that says so.
Sources, 1.6-2.1: `core/context/parallel.py:ParallelOperator`, `core/parallel_config.py:build_parallel_config`,
`trainer/base_trainer.py:_check_grad_accumulation_steps` and `_check_global_batch_size_for_auto_parallel`.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from .reading import Sourced, Undecided
from .shape import is_list

if TYPE_CHECKING:
    from typing import Any

    from ..config import ReadOptions
    from .reading import Reading

_MODES = {
    0: "data_parallel",
    1: "semi_auto_parallel",
    2: "auto_parallel",
    3: "hybrid_parallel",
    "DATA_PARALLEL": "data_parallel",
    "SEMI_AUTO_PARALLEL": "semi_auto_parallel",
    "AUTO_PARALLEL": "auto_parallel",
    "HYBRID_PARALLEL": "hybrid_parallel",
    "STAND_ALONE": "stand_alone",
    "MANUAL_PARALLEL": "stand_alone",
}
"""`tools/utils.py:PARALLEL_MODE`."""
AUTO_MODES = ("semi_auto_parallel", "auto_parallel")

_CONFIG = "parallel_config"
_DEGREES = ("data_parallel", "model_parallel", "context_parallel", "expert_parallel", "pipeline_stage")
_FORCED = (*_DEGREES, "micro_batch_num")
_TO_DICT = (
    "data_parallel",
    "context_parallel",
    "model_parallel",
    "expert_parallel",
    "pipeline_stage",
    "micro_batch_num",
    "seq_split_num",
    "use_seq_parallel",
    "optimizer_shard",
    "gradient_aggregation_group",
    "vocab_emb_dp",
    "context_parallel_algo",
    "ulysses_degree_in_cp",
    "mem_coeff",
)
"""What `TransformerOpParallelConfig.to_dict` hands to the model, besides the recomputation."""
_RECOMPUTE = (
    "recompute",
    "select_recompute",
    "parallel_optimizer_comm_recompute",
    "mp_comm_recompute",
    "recompute_slice_activation",
    "select_recompute_exclude",
    "select_comm_recompute_exclude",
    "select_comm_recompute",
)


class Parallelism(NamedTuple):
    """What the rest of the derivation needs to know."""

    mode: str
    pipeline: Any
    accumulation: Sourced
    global_size: Sourced
    handed_over: dict[str, Sourced]
    """The keys of `parallel_config` as the model's configuration receives them."""
    lazy_inline_off: bool

    @property
    def automatic(self) -> bool:
        """Whether MindSpore shards the graph (semi-automatic or automatic parallel mode)."""
        return self.mode in AUTO_MODES


def parallelism(reading: Reading, options: ReadOptions) -> Parallelism:
    """The parallel set-up of a training run, recorded under `resolved.parallel.` and `resolved.batch.`."""
    use_parallel = bool(reading.get("use_parallel"))
    written_mode = reading.get("parallel.parallel_mode", 0)
    known_mode = _MODES.get(written_mode) if isinstance(written_mode, (int, str)) else None
    if known_mode is None and not isinstance(written_mode, Undecided):
        names = ", ".join(str(name) for name in _MODES)
        path = "parallel.parallel_mode"
        _reject(reading, path, f"{written_mode!r} is not one of {names}", f"{written_mode!r} 不在 {names} 之中")
    mode = (known_mode or "stand_alone") if use_parallel else "stand_alone"
    degrees = {key: Sourced(reading.get(f"{_CONFIG}.{key}"), (f"{_CONFIG}.{key}",)) for key in _TO_DICT}
    pipeline = (degrees["pipeline_stage"].value or 1) if use_parallel else 1
    if reading.get(f"{_CONFIG}.auto_parallel") or _above_one(degrees["pipeline_stage"].value):
        degrees["vocab_emb_dp"] = Sourced(False, (f"{_CONFIG}.vocab_emb_dp", f"{_CONFIG}.pipeline_stage"))
    world = _world_size(options, use_parallel, degrees)
    accumulation = _accumulation(reading, mode, pipeline)
    automatic = mode in AUTO_MODES
    if automatic:
        if pipeline == 1 and _above_one(degrees["micro_batch_num"].value):
            _reset(reading, f"{_CONFIG}.micro_batch_num", 1, "there is one pipeline stage", "只有一个流水线阶段")
            degrees["micro_batch_num"] = Sourced(1, (f"{_CONFIG}.micro_batch_num", f"{_CONFIG}.pipeline_stage"))
    else:
        _force_one(reading, degrees, use_parallel)
    if automatic:
        _check_strategy(reading, degrees["data_parallel"])
    global_size = _global_size(reading, automatic, pipeline, degrees, accumulation, world)
    _record(reading, mode, world, degrees, accumulation, global_size, automatic)
    handed = dict(degrees)
    for key in _RECOMPUTE:
        handed[f"recompute.{key}"] = Sourced(reading.get(f"recompute_config.{key}"), (f"recompute_config.{key}",))
    return Parallelism(mode, pipeline, accumulation, global_size, handed, accumulation.value == 1 and pipeline == 1)


def _world_size(options: ReadOptions, use_parallel: bool, degrees: dict[str, Sourced]) -> Sourced:
    if not use_parallel:
        return Sourced(1, ("use_parallel",))
    if options.world_size is not None:
        return Sourced(options.world_size)
    keys = ("data_parallel", "model_parallel", "context_parallel", "pipeline_stage")
    paths = tuple(f"{_CONFIG}.{key}" for key in keys)
    return _product([degrees[key] for key in keys], paths)


def _accumulation(reading: Reading, mode: str, pipeline: Any) -> Sourced:
    path = "runner_config.gradient_accumulation_steps"
    written = reading.get(path)
    if written is None:
        return Sourced(1, (path,))
    if isinstance(written, bool) or not isinstance(written, int):
        if isinstance(written, str):
            return Sourced(None, (path,), decided=False)
        _reject(reading, path, "gradient_accumulation_steps is an integer", "gradient_accumulation_steps 应为整数")
        return Sourced(written, (path,))
    if written < 1:
        _reject(reading, path, "gradient_accumulation_steps is at least 1", "gradient_accumulation_steps 至少为 1")
    if written > 1 and mode in AUTO_MODES and pipeline != 1:
        _reset(reading, path, 1, "micro_batch_num accumulates in a pipeline", "流水线并行时由 micro_batch_num 累积梯度")
        return Sourced(1, (path, f"{_CONFIG}.pipeline_stage"))
    if written > 1 and mode not in AUTO_MODES:
        _reset(
            reading,
            path,
            1,
            f"it needs (semi-)automatic parallel mode, not {mode}",
            f"需要（半）自动并行模式，而不是 {mode}",
        )
        return Sourced(1, (path, "use_parallel", "parallel.parallel_mode"))
    return Sourced(written, (path,))


def _force_one(reading: Reading, degrees: dict[str, Sourced], use_parallel: bool) -> None:
    decided_by = "parallel.parallel_mode" if use_parallel else "use_parallel"
    for key in _FORCED:
        path = f"{_CONFIG}.{key}"
        if degrees[key].value not in (1, None):
            why = f"{decided_by} does not shard the model"
            _reset(reading, path, 1, why, f"{decided_by} 未启用模型切分")
        degrees[key] = Sourced(1, (path, decided_by))
    if reading.version not in ("1.6", "1.7") and degrees["use_seq_parallel"].value:
        degrees["use_seq_parallel"] = Sourced(False, (f"{_CONFIG}.use_seq_parallel", decided_by))


def _check_strategy(reading: Reading, data: Sourced) -> None:
    """A written `dataset_strategy` must split the batch as `data_parallel` does."""
    path = "parallel.dataset_strategy"
    strategy = reading.get(path)
    first: Any = strategy[0] if is_list(strategy) and strategy else None
    if not is_list(first) or not first or not data.decided:
        return
    if first[0] != data.value and (reading.version != "1.6" or not reading.get("parallel.full_batch")):
        _reject(
            reading,
            path,
            f"its first number ({first[0]}) is not data_parallel ({data.value})",
            f"首个数 ({first[0]}) 与 data_parallel ({data.value}) 不一致",
        )


def _global_size(
    reading: Reading,
    automatic: bool,
    pipeline: Any,
    degrees: dict[str, Sourced],
    accumulation: Sourced,
    world: Sourced,
) -> Sourced:
    batch = Sourced(reading.get("runner_config.batch_size"), ("runner_config.batch_size",))
    interleave = Sourced(reading.get("micro_batch_interleave_num"), ("micro_batch_interleave_num",))
    if not automatic:
        return _product([batch, world, accumulation], (*batch.sources, *world.sources))
    data = degrees["data_parallel"]
    if pipeline != 1:
        micro = degrees["micro_batch_num"]
        factors = [batch, data, micro, interleave]
    else:
        factors = [batch, data, interleave, accumulation]
    return _product(factors, tuple(path for factor in factors for path in factor.sources))


def _record(
    reading: Reading,
    mode: str,
    world: Sourced,
    degrees: dict[str, Sourced],
    accumulation: Sourced,
    global_size: Sourced,
    automatic: bool,
) -> None:
    for key, one in degrees.items():
        if key in reading.section(_CONFIG):
            reading.resolve(f"resolved.parallel.{key}", one.value, *one.sources, decided=one.decided)
    reading.resolve("resolved.parallel.mode", mode, "use_parallel", "parallel.parallel_mode")
    reading.resolve("resolved.parallel.world_size", world.value, *world.sources, decided=world.decided)
    sharding = "parallel.enable_parallel_optimizer"
    reading.resolve("resolved.parallel.optimizer_parallel", bool(reading.get(sharding)) and automatic, sharding)
    for key in _RECOMPUTE:
        path = f"recompute_config.{key}"
        reading.resolve(f"resolved.recompute.{key}", reading.get(path), path)
    micro = "runner_config.batch_size"
    reading.resolve("resolved.batch.micro_size", reading.get(micro), micro)
    reading.resolve("resolved.batch.global_size", global_size.value, *global_size.sources, decided=global_size.decided)
    reading.resolve("resolved.batch.gradient_accumulation_steps", accumulation.value, *accumulation.sources)
    number = degrees["micro_batch_num"]
    reading.resolve("resolved.batch.micro_batch_num", number.value, *number.sources)
    interleave = "micro_batch_interleave_num"
    reading.resolve("resolved.batch.micro_batch_interleave_num", reading.get(interleave), interleave)


def _product(factors: list[Sourced], sources: tuple[str, ...]) -> Sourced:
    total = 1
    for factor in factors:
        value = factor.value
        if not factor.decided or isinstance(value, bool) or not isinstance(value, int):
            return Sourced(None, sources, decided=False)
        total *= value
    return Sourced(total, sources)


def _reset(reading: Reading, path: str, used: Any, why: str, why_zh: str) -> None:
    if path in reading.places:
        reading.note("reset-value", path, key=path, value=reading.get(path), used=used, why=why, why_zh=why_zh)


def _reject(reading: Reading, path: str, why: str, why_zh: str) -> None:
    reading.note("rejected", path, why=f"{path}: {why}", why_zh=f"{path}：{why_zh}")


def _above_one(value: Any) -> bool:
    return isinstance(value, int) and value > 1

"""The functions that the expressions of `validation.yaml` may call: plain values in, a plain value out."""

from __future__ import annotations

import math

from ..fast_records import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAX_STAGES = 1_000_000
"""Longest layer pattern or pipeline layout that is written out."""

# megatron/training/arguments.py:validate_args, dtype_map
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp8": "uint8", "auto": None}


def dtype(name: Any) -> Any:
    """Canonical data type of a short name."""
    return _DTYPES.get(name, name) if name is not None else None


def product(numbers: Sequence[int]) -> int:
    """All numbers multiplied."""
    return math.prod(numbers)


def next_multiple(number: int, of: int) -> int:
    """The smallest multiple of `of` that is not below `number`."""
    return -(-number // of) * of


def chosen(items: Sequence[Any], among: Sequence[Any]) -> list[Any]:
    """Items that are in `among`."""
    return [item for item in items if item in among]


def without(items: Sequence[Any], dropped: Sequence[Any]) -> list[Any]:
    """Items that are not in `dropped`."""
    return [item for item in items if item not in dropped]


def with_item(items: Sequence[Any], item: Any) -> list[Any]:
    """Items with `item` appended if absent."""
    return list(items) if item in items else [*items, item]


def first(items: Sequence[Any]) -> Any:
    """The first item."""
    return items[0]


def numbers(text: str) -> list[int]:
    """`"5,3"` as `[5, 3]`."""
    return [int(part) for part in text.split(",")]


def expert_layers(layers: int, dense: int, every: int, left_out: Sequence[int]) -> list[int]:
    """List with 1 for each layer with experts, after the dense first ones.

    The layers that are left out are numbered like the others and are not there.
    """
    if layers > MAX_STAGES:
        raise ValueError(layers)
    gone = set(left_out)
    return [int(at >= dense and at % every == 0) for at in range(layers) if at not in gone]


def leading_zeros(pattern: Any) -> int:
    """Number of dense first layers if all later ones have experts; else 0."""
    if not isinstance(pattern, list) or 1 not in pattern:
        return 0
    kinds = cast("list[object]", pattern)
    dense = kinds.index(1)
    return dense if all(kinds[dense:]) else 0


def stage_layers(layers: int, stages: int, left_out: Sequence[int]) -> list[int]:
    """Number of layers of each stage of the pipeline if some are left out."""
    if layers > MAX_STAGES or stages > MAX_STAGES:
        raise ValueError(layers)
    share, gone = layers // stages, set(left_out)
    return [sum(at not in gone for at in range(stage * share, (stage + 1) * share)) for stage in range(stages)]


def even_between(stages: Sequence[int]) -> bool:
    """True if all stages but the first and the last are alike."""
    return len(set(stages[1:-1])) <= 1


def last(items: Sequence[Any]) -> Any:
    """The last item."""
    return items[-1]


def grows_to(ramp: Sequence[object], full: int) -> bool:
    """True if a growing batch reaches its full size in whole increments."""
    from .consumption import ramp_of

    return ramp_of(ramp, full) is not None


def ramped_iterations(ramp: Sequence[object], full: int, samples: int) -> int:
    """Iterations of a run whose batch grows; ValueError for a ramp that the framework refuses.

    megatron/training/training.py:update_train_iters.
    """
    from .consumption import ramp_of

    known = ramp_of(ramp, full)
    if known is None:
        raise ValueError(ramp)
    return known.iterations(samples)


def stepped_iterations(schedule: str, length: int | None, samples: int) -> int:
    """Iterations of a run whose batch changes by the number of samples (the same, 0.18)."""
    from .consumption import parse_step_schedule, stepped_batch

    return stepped_batch(parse_step_schedule(schedule, length)).first_after(samples - 1)


def is_step_schedule(schedule: str, length: int | None) -> bool:
    """True for batch sizes above zero from sample 0 on, each from a later sample than the one before.

    megatron/core/num_microbatches_calculator.py:StepBatchsizeNumMicroBatchesCalculator._validate_schedule.
    """
    from .consumption import parse_step_schedule

    if not all(":" in entry for entry in schedule.replace(",", " ").split()):
        return False
    try:
        steps = parse_step_schedule(schedule, length)
    except (ValueError, OverflowError):
        return False
    starts = [start for start, _ in steps]
    rises = len(set(starts)) == len(starts)  # they are sorted
    return bool(steps) and starts[0] == 0 and rises and all(batch > 0 for _, batch in steps)


def first_step_batch(schedule: str, length: int | None) -> int:
    """Batch size at the start of a `--step-batch-size-schedule` run."""
    from .consumption import parse_step_schedule

    return parse_step_schedule(schedule, length)[0][1]


def split_parts(split: str) -> int:
    """Number of numbers in `--split` (blended_megatron_dataset_config.py:parse_and_normalize_split)."""
    return len("".join(letter if letter in ".0123456789" else " " for letter in split).split())


def is_blend(words: Sequence[str] | None) -> bool:
    """True if a list of data paths has weights for all or for none.

    megatron/core/datasets/utils.py:get_blend_from_list, whose `all` goes on where its `any` stopped.
    """
    if not words or len(words) % 2:
        return True
    numbers = [_is_number(word) for word in words[::2]]
    return all(numbers) or not any(numbers[numbers.index(False) :])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def one_item(value: Any) -> bool:
    """True if a value is a list of exactly one."""
    return isinstance(value, list) and len(value) == 1  # pyright: ignore[reportUnknownArgumentType]


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


def is_list(value: Any) -> bool:
    """True if several values were given, or a pattern of layers."""
    return isinstance(value, list)


def sorted_integers(text: str) -> list[int]:
    """`"5, 3"` as `[3, 5]`."""
    return sorted(int(part) for part in text.split(","))


def repeated(text: str, times: int) -> str:
    """Text repeated; ValueError if it exceeds any model's size."""
    if len(text) * times > MAX_STAGES:
        raise ValueError(times)
    return text * times


def only_of(text: str, characters: str) -> bool:
    """True if a text has no other characters than these."""
    return not set(text) - set(characters)


def layout_stages(layout: str) -> int:
    """Number of pipeline stages in a layout such as `Et*3|(tt|)*29,m|L`.

    megatron/core/transformer/pipeline_parallel_layer_layout.py:parse_str_to_list; first groups are repeated,
    then single characters. ValueError where the layout has other characters than E, t, m, L and |.
    """
    return len(layout_chunks(layout))


def layout_chunks(layout: str) -> list[str]:
    """The letters of every stage of a layout; ValueError as above."""
    text = _expand_repeats(_expand_repeats(layout.replace(",", ""), groups=True), groups=False)
    if not only_of(text, "EtmL|"):
        raise ValueError(layout)
    return text.split("|")


def is_layout(layout: str) -> bool:
    """True if a pipeline layout can be read."""
    try:
        return layout_stages(layout) > 0
    except ValueError:
        return False


def _expand_repeats(text: str, *, groups: bool) -> str:
    """The pattern with each `x*n` written out n times."""
    parts: list[str] = []
    at = 0
    while (star := text.find("*", at)) >= 0:
        end = star + 1
        while end < len(text) and text[end].isdecimal():
            end += 1
        start = star - 1
        if groups:
            # an opening bracket with anything but a closing one in between
            start = text.find("(", at, star) if text[star - 1 : star] == ")" else -1
            body = text[start + 1 : star - 1]
            fits = start >= 0 and body != "" and ")" not in body
        else:
            body = text[start:star] if start >= at else ""
            fits = bool(body) and body != "\n"
        if end == star + 1 or not fits:
            parts.append(text[at:end])
            at = end
            continue
        times = int(text[star + 1 : end])
        if len(body) * times > MAX_STAGES:
            raise ValueError(text)
        parts.extend((text[at:start], body * times))
        at = end
    return "".join((*parts, text[at:]))


_LAYER_KEYS = (
    "hidden_act", "num_hidden_layers", "hidden_size", "num_attention_heads", "tie_word_embeddings", "rope_theta",
)  # fmt: skip
"""The keys of a description of heterogeneous layers that Megatron-LM compares with its arguments."""


def layer_json(text: str, key: str) -> Any:
    """Value in `--heterogeneous-layers-config-encoded-json`; an error if it is not there.

    `n_heads_in_group` is the list of those that the blocks have, and `factor` that of the scaled rotation
    (megatron/training/arguments.py:validate_model_config_args_from_heterogeneous_config).
    """
    from json import loads

    content = loads(text)
    if key == "n_heads_in_group":
        every = [block["attention"]["n_heads_in_group"] for block in content["block_configs"]]
        return [heads for heads in every if heads is not None]
    return content["rope_scaling"]["factor"] if key == "factor" else content[key]


def is_layer_json(text: str) -> bool:
    """True if a description of heterogeneous layers is complete."""
    try:
        heads = layer_json(text, "n_heads_in_group")
        return bool(heads) and all(heads) and all(layer_json(text, key) is not ... for key in (*_LAYER_KEYS, "factor"))
    except (KeyError, TypeError, ValueError, RecursionError):
        return False

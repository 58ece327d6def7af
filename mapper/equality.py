"""Whether two values of a recipe field are the same: one answer for every command."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, cast
from .computed.comparison import equal as equal_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Value


def equal(one: object, other: object) -> bool:
    """Whether two settings have the same value; a list is the same as a value that each of its entries is."""
    first, second = _entries(one), _entries(other)
    if first is not None and second is not None:
        return len(first) == len(second) and all(map(equal, first, second))
    if first is None and second is None:
        return equal_values(one, other)
    several, single = (second, one) if first is None else (first, other)
    return bool(several) and all(equal(entry, single) for entry in several or ())


def _entries(value: object) -> Sequence[object] | None:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else None


def same_value(name: FieldName, one: Value, other: Value) -> bool:
    """Whether two values of a field are the same."""
    return equal(one, other) or (name in _MEANT and _MEANT[name](one, other))


def _same_names(one: object, other: object) -> bool:
    """Paths are the same if their last parts are: two machines seldom share their directories."""
    return equal(_last_parts(one), _last_parts(other))


def _same_folder(one: object, other: object) -> bool:
    """Weights of one name, or side by side, each in a folder that its framework has the name of."""
    if _same_names(one, other):
        return True
    first, second = (
        path.rstrip("/").rpartition("/") if isinstance(path, str) else ("", "", "") for path in (one, other)
    )
    return {first[2], second[2]} == {"megatron", "mindformers"} and first[0] == second[0]


def _last_parts(value: object) -> object:
    if isinstance(value, str):
        name = value.rstrip("/").rpartition("/")[2]
        for ending in (".bin", ".idx"):
            name = name.removesuffix(ending)
        return name
    if isinstance(value, (list, tuple)):
        return [_last_parts(entry) for entry in cast("Sequence[object]", value)]
    return value


def _same_blend(one: object, other: object) -> bool:
    """The same data sets in the same shares: both builders divide the weights by their sum."""
    return _same_names(_shares(one), _shares(other))


def _shares(blend: object) -> object:
    """A mix with weights that add up to 1; a weight of one data set alone stays what it is: a weight."""
    pairs: Sequence[Sequence[object]] = (
        cast("Sequence[Sequence[object]]", blend) if isinstance(blend, (list, tuple)) else ()
    )
    weights = [pair[0] for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) == 2]
    known = [weight for weight in weights if isinstance(weight, (int, float))]
    whole = sum(known)
    if not pairs or len(known) != len(pairs) or not 0 < whole < _MOST:
        return cast("object", blend)
    return [[weight / whole, pair[1]] for weight, pair in zip(known, pairs, strict=True)]


_MOST = 1e300


def _same_split(one: object, other: object) -> bool:
    """Shares are the same that sum to one alike; Megatron-LM and MindSpore Transformers divide by the sum.

    Source: core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split of both (Megatron 0.12 to main,
    where shares that are left out are 0).
    """
    first, second = _split(one), _split(other)
    if first is None or second is None:
        return str(one).lower() == str(other).lower()
    return equal(first, second)


def _split(value: object) -> list[float] | None:
    """The part of the data that each use gets; None if the text does not say it."""
    try:
        parts = [float(part) for part in str(value).split(",")]
        if not set(str(value)) <= set("0123456789., "):  # the frameworks look for digits and points, and drop the rest
            return None
        whole = sum(parts)
        return [part / whole for part in (*parts, *[0.0] * (3 - len(parts)))]
    except (ValueError, ZeroDivisionError):
        return None


def _same_truth(one: object, other: object) -> bool:
    """A switch that is not given is off."""
    return bool(one) == bool(other)


def _same_degree(one: object, other: object) -> bool:
    """A degree of parallelism that is not given is 1."""
    return equal(1 if one is None else one, 1 if other is None else other)


def _same_count(one: object, other: object) -> bool:
    """A number that a side may leave to other settings: samples of whole batches, as the lenses read them."""
    return one is None or other is None or equal(one, other)


_MEANT: Mapping[FieldName, Callable[[object, object], bool]] = {
    "parallel.expert_tensor_size": _same_degree,
    "data.blend": _same_blend,
    "data.split": _same_split,
    "data.train_paths": _same_names,
    "data.arguments_file": _same_names,
    "tokenizer.type": _same_names,
    "tokenizer.model": _same_names,
    "tokenizer.vocab_file": _same_names,
    "tokenizer.merge_file": _same_names,
    "checkpoint.load_path": _same_folder,
    "checkpoint.pretrained_path": _same_names,
    "checkpoint.save_path": _same_names,
    "checkpoint.resume": _same_truth,
    "logging.tensorboard_path": _same_names,
    "run.train_samples": _same_count,
}
"""Fields whose values may be written in several ways and mean the same."""
NOT_NONE: frozenset[FieldName] = frozenset(("model.padded_vocab_size", "run.train_steps", "data.arguments_file"))
"""Fields of which every run has a value: one that a file does not give is not known, and is not compared."""

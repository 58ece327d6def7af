"""When two values of a recipe field are the same: one way of comparing for every kind of value, by name."""

from __future__ import annotations

from ..mapper.computed.comparison import equal as equal_values
from ..schemas.light_typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def equal(a: object, b: object) -> bool:
    """The same value; a list is the same as a value that each of its entries is."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        first, second = cast("Sequence[object]", a), cast("Sequence[object]", b)
        return len(first) == len(second) and all(map(equal, first, second))
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        several, one = cast("tuple[Sequence[object], object]", (a, b) if isinstance(a, (list, tuple)) else (b, a))
        return bool(several) and all(equal(entry, one) for entry in several)
    return equal_values(a, b)


def _same_words(a: object, b: object) -> bool:
    return str(a).lower() == str(b).lower()


def _same_names(a: object, b: object) -> bool:
    """Paths are the same where their last parts are: two machines seldom share their directories."""
    return equal(_last_parts(a), _last_parts(b))


def _same_folder(a: object, b: object) -> bool:
    """Weights of one name, or side by side, each in a folder that its framework has the name of."""
    return _same_names(a, b) or (
        isinstance(a, str)
        and isinstance(b, str)
        and a.rstrip("/").endswith("/megatron")
        and b.rstrip("/").endswith("/mindformers")
        and a.rstrip("/").removesuffix("megatron") == b.rstrip("/").removesuffix("mindformers")
    )


def _last_parts(value: object) -> object:
    if isinstance(value, str):
        name = value.rstrip("/").rpartition("/")[2]
        for ending in (".bin", ".idx"):
            name = name.removesuffix(ending)
        return name
    if isinstance(value, (list, tuple)):
        return [_last_parts(entry) for entry in cast("Sequence[object]", value)]
    return value


def _same_blend(a: object, b: object) -> bool:
    """The same data sets in the same shares: both builders divide the weights by their sum."""
    return _same_names(_shares(a), _shares(b))


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


def _same_split(a: object, b: object) -> bool:
    """Shares are the same that sum to one alike; Megatron-LM and MindSpore Transformers divide by the sum.

    Source: core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split of both (Megatron 0.12 to main,
    where shares that are left out are 0).
    """
    first, second = _split(a), _split(b)
    return _same_words(a, b) if first is None or second is None else equal(first, second)


def _split(value: object) -> list[float] | None:
    """What part of the data each use gets; None where the text does not say it."""
    try:
        parts = [float(part) for part in str(value).split(",")]
        if not set(str(value)) <= set("0123456789., "):  # the frameworks look for digits and points, and drop the rest
            return None
        whole = sum(parts)
        return [part / whole for part in (*parts, *[0.0] * (3 - len(parts)))]
    except (ValueError, ZeroDivisionError):
        return None


def _same_truth(a: object, b: object) -> bool:
    """A switch that is not given is off."""
    return bool(a) == bool(b)


def _same_or_one(a: object, b: object) -> bool:
    """A degree of parallelism that is not given is 1."""
    return equal(1 if a is None else a, 1 if b is None else b)


def _same_count(a: object, b: object) -> bool:
    """A number that a side may leave to other settings: samples of whole batches, as the lenses read them."""
    return a is None or b is None or equal(a, b)


COMPARATORS: Mapping[str, Callable[[object, object], bool]] = {
    "equal": equal,
    "words": _same_words,
    "split": _same_split,
    "names": _same_names,
    "paths": _same_names,
    "folder": _same_folder,
    "blend": _same_blend,
    "count": _same_count,
    "degree": _same_or_one,
    "truth": _same_truth,
    "given": equal,
    "assumed": equal,
    "derived": equal,
}

"""Equality of values: to the last bit, of settings up to rounding, of computed quantities, and of a recipe field.

Whole numbers and words are compared exactly, fractions up to a tolerance, NaN equals NaN. A whole number may be written
as a float: 8 and 8.0 are the same, 1 and True are not.
"""

from __future__ import annotations

from math import isfinite

from ..schemas.fast_records import TYPE_CHECKING, cast
from ..schemas.plain_values import is_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeGuard

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Value

FRACTION_TOLERANCE = 1e-9
"""Of the larger of two settings: a product of doubles leaves some 1e-16 of it behind, and float32, in which both
frameworks compute with them, keeps 6e-8."""
_FORMULA_TOLERANCE = 1e-6
"""Of the largest of the compared fractions: one framework evaluates a formula in float32, the other in float64."""
_ALL_WHOLE = 1 << 53
"""No float from here on is a fraction."""
_WHOLE_IN_FLOAT32 = float(1 << 24)
"""No float32 from here on is a fraction: a point of a curve may then be whole on one side alone, or on both."""
_ATOMS = frozenset((str, int, float, bool))


def is_identical(one: object, other: object) -> bool:
    """True if two effective values are equal without tolerance: 8 is 8.0, NaN is NaN, and 1 is not True."""
    return _matches(one, other, _is_same)


def is_close(one: object, other: object) -> bool:
    """True if two settings have the same value; fractions up to what rounding leaves behind."""
    if one is other or (type(one) is type(other) and type(one) in _ATOMS and one == other):
        return True
    return _matches(one, other, _is_same_or_near)


def is_same_quantity(one: object, other: object) -> bool:
    """True if two computed quantities are the same; fractions within a millionth of the largest of them."""
    largest = max(
        [abs(value) for value in (*_elements_of(one), *_elements_of(other)) if _is_finite(value)], default=0.0
    )
    allowed = _FORMULA_TOLERANCE * largest
    is_curve = is_mapping(one)
    return _matches(
        one,
        other,
        lambda a, b: _is_same(a, b) or _is_near(a, b, allowed) or (is_curve and _is_near_huge(a, b, allowed)),
    )


def is_equal(one: object, other: object) -> bool:
    """True if values are close; a list equals a value if all its entries do."""
    first, second = _as_list(one), _as_list(other)
    if first is not None and second is not None:
        return len(first) == len(second) and all(map(is_equal, first, second))
    if first is None and second is None:
        return is_close(one, other)
    several, single = (second, one) if first is None else (first, other)
    return bool(several) and all(is_equal(entry, single) for entry in several or ())


def is_equal_field(name: FieldName, one: Value, other: Value) -> bool:
    """True if two values of a recipe field mean the same: some fields have several spellings of one value."""
    return is_equal(one, other) or (name in _EQUAL_BY_FIELD and _EQUAL_BY_FIELD[name](one, other))


def _is_near(one: object, other: object, allowed: float) -> bool:
    """True if two numbers differ by at most `allowed` and one is a fraction; whole numbers must be equal."""
    if not (_may_be_near_fraction(one) and _may_be_near_fraction(other)) or one % 1 == other % 1 == 0:
        return False
    return abs(one - other) <= allowed


def _is_near_huge(one: object, other: object, allowed: float) -> bool:
    """True if two floats that are too large for a fraction differ by at most `allowed`."""
    if not (isinstance(one, float) and isinstance(other, float)):
        return False
    return min(abs(one), abs(other)) >= _WHOLE_IN_FLOAT32 and abs(one - other) <= allowed


def _matches(one: object, other: object, is_match: Callable[[object, object], bool]) -> bool:
    """True if two values match; lists and mappings entry by entry."""
    if is_mapping(one) and is_mapping(other):
        return one.keys() == other.keys() and all(_matches(entry, other[name], is_match) for name, entry in one.items())
    first, second = _as_list(one), _as_list(other)
    if first is not None and second is not None:
        return len(first) == len(second) and all(_matches(a, b, is_match) for a, b in zip(first, second, strict=True))
    return is_match(one, other)


def _as_list(value: object) -> Sequence[object] | None:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else None


def _elements_of(value: object) -> Iterable[object]:
    return value.values() if is_mapping(value) else _as_list(value) or (value,)


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and isfinite(value)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    return one == other or (one != one and other != other)  # NaN, which no sign finds equal


def _is_same_or_near(one: object, other: object) -> bool:
    if _is_same(one, other):
        return True
    if not (_may_be_near_fraction(one) and _may_be_near_fraction(other)):
        return False
    return _is_near(one, other, FRACTION_TOLERANCE * max(abs(one), abs(other)))


def _may_be_near_fraction(value: object) -> TypeGuard[float]:
    """True for a number that a fraction can be next to."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _ALL_WHOLE


def _same_names(one: object, other: object) -> bool:
    """Paths are the same if their last parts are: two machines seldom share their directories."""
    return is_equal(_last_parts(one), _last_parts(other))


def _same_folder(one: object, other: object) -> bool:
    """True if checkpoint folders have equal names, or differ only in the framework's name."""
    if _same_names(one, other):
        return True
    first, second = (
        path.rstrip("/").rpartition("/") if isinstance(path, str) else ("", "", "") for path in (one, other)
    )
    return {first[2], second[2]} == {"megatron", "mindformers"} and first[0] == second[0]


def _last_parts(value: object) -> object:
    """Value with each path reduced to its last part, without `.bin` and `.idx`."""
    if isinstance(value, str):
        name = value.rstrip("/").rpartition("/")[2]
        for ending in (".bin", ".idx"):
            name = name.removesuffix(ending)
        return name
    listed = _as_list(value)
    return value if listed is None else [_last_parts(entry) for entry in listed]


def _same_blend(one: object, other: object) -> bool:
    """True if both blends have the same data sets in the same shares; weights are divided by their sum."""
    return _same_names(_shares(one), _shares(other))


def _shares(blend: object) -> object:
    """Blend with weights normalized to sum 1."""
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
    """True if two splits give equal shares; both frameworks divide by the sum.

    Source: core/datasets/blended_megatron_dataset_config.py:parse_and_normalize_split of both (Megatron 0.12 to main,
    where shares that are left out are 0).
    """
    first, second = _split(one), _split(other)
    if first is None or second is None:
        return str(one).lower() == str(other).lower()
    return is_equal(first, second)


def _split(value: object) -> list[float] | None:
    """Share of the data for each use in a split's text; None if it is not valid."""
    try:
        parts = [float(part) for part in str(value).split(",")]
        if not set(str(value)) <= set("0123456789., "):  # the frameworks look for digits and points, and drop the rest
            return None
        whole = sum(parts)
        return [part / whole for part in (*parts, *[0.0] * (3 - len(parts)))]
    except (ValueError, ZeroDivisionError):
        return None


def _same_truth(one: object, other: object) -> bool:
    """True if two switches are equal; an unset one is off."""
    return bool(one) == bool(other)


def _same_degree(one: object, other: object) -> bool:
    """True if two parallel sizes are equal; an unset one is 1."""
    return is_equal(1 if one is None else one, 1 if other is None else other)


def _same_count(one: object, other: object) -> bool:
    """True if two sample counts are equal; one side may leave its count to other settings."""
    return one is None or other is None or is_equal(one, other)


_EQUAL_BY_FIELD: Mapping[FieldName, Callable[[object, object], bool]] = {
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
    "checkpoint.pretrained_path": _same_folder,
    "checkpoint.save_path": _same_names,
    "checkpoint.resume": _same_truth,
    "logging.tensorboard_path": _same_names,
    "run.train_samples": _same_count,
}
"""Fields whose values may be written in several ways and mean the same."""
WEIGHT_FOLDERS: frozenset[FieldName] = frozenset(
    [name for name, is_same in _EQUAL_BY_FIELD.items() if is_same is _same_folder]
)
"""Fields that name a checkpoint, which the other framework cannot load."""
NOT_NONE: frozenset[FieldName] = frozenset(("model.padded_vocab_size", "run.train_steps", "data.arguments_file"))
"""Fields of which every run has a value: one that a file does not give is not known, and is not compared."""

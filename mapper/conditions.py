"""Conditions of the tables: a recipe field, a comparison, and what it is compared with."""

from __future__ import annotations

from math import frexp, isfinite

from ..mappings.tables import field_named
from ..schemas.fast_records import TYPE_CHECKING
from .equality import is_identical
from .lenses.latent import plain_length, ramp_of, stretches, written_base
from .lenses.stages import chunks_of, embedding_and_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Condition
    from ..schemas.config import Value
    from .recipe.values import Recipe


def holds(condition: Condition, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a condition is true."""
    field, comparison, operand = condition
    return COMPARISONS[comparison](value_of(field), operand, value_of)


def all_hold(conditions: Iterable[Condition], recipe: Recipe) -> bool | None:
    """True if all conditions hold for a run; None if that depends on an undecided field."""
    open_ = False
    for condition in conditions:
        if any(recipe.is_open(name) for name in condition_fields(condition)):
            open_ = True
        elif not holds(condition, recipe.value):
            return False
    return None if open_ else True


def condition_fields(condition: Condition) -> Iterator[FieldName]:
    """Fields that a condition reads: its own and those named in its operand."""
    field, _, operand = condition
    yield field
    if isinstance(operand, str):
        yield field_named(operand)
    elif isinstance(operand, (list, tuple)):
        for entry in operand:
            if isinstance(entry, str):
                yield field_named(entry)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_equal(value: Value, operand: Value) -> bool:
    if isinstance(value, (list, tuple)):
        entries = list(value)
        return all(_is_equal(entry, operand) for entry in entries) if entries else False
    return value == operand and isinstance(value, bool) == isinstance(operand, bool)


def _is_greater(value: Value, operand: Value) -> bool:
    return _is_number(value) and _is_number(operand) and value > operand  # type: ignore[operator]  # pyright: ignore


def _is_one_of(operand: Value, value: Value) -> bool:
    return isinstance(operand, (list, tuple)) and any(_is_equal(value, entry) for entry in operand)


def _is_not_product(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a number is known to differ from the product of the operand's fields."""
    factors = [value_of(field_named(field)) for field in operand] if isinstance(operand, (list, tuple)) else []
    product = 1
    for factor in factors:
        if not isinstance(factor, int):
            return False
        product *= factor
    return _is_number(value) and value != product


def _is_uneven(value: Value) -> bool:
    """True if stages other than the first and last differ in layers."""
    chunks = chunks_of(value)
    if chunks is None or embedding_and_loss(chunks) is not None:
        return False
    return isinstance(value, (list, tuple)) and (isinstance(value[0], (list, tuple)) or len(set(chunks[1:-1])) > 1)


def _has_uneven_start(value: Value) -> bool:
    """True if a pattern of layers, or a frequency that every so-manieth layer skips, treats the first two unlike."""
    if isinstance(value, (list, tuple)):
        return len(value) > 1 and bool(value[0]) != bool(value[1])
    return value == 2 and not isinstance(value, bool)


def _is_indivisible(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a number is known to leave a remainder when divided by the product of some fields."""
    return isinstance(value, int) and value % _product(operand, value_of) != 0


def _exceeds(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a number is more than the product of some fields."""
    return isinstance(value, int) and value > _product(operand, value_of)


def _is_other_quotient(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a number divided by a field is known to differ from the operand."""
    if not isinstance(operand, (list, tuple)) or not isinstance(value, int):
        return False
    divisor = value_of(field_named(operand[0]))
    return isinstance(divisor, int) and divisor > 0 and value // divisor != operand[1]


def _exceeds_sum(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a number is known to be more than the sum of some fields."""
    fields = operand if isinstance(operand, (list, tuple)) else ()
    terms = [value_of(field_named(field)) for field in fields]
    known = [term for term in terms if isinstance(term, int)]
    return isinstance(value, int) and len(known) == len(terms) and value > sum(known)


def _is_within_sum(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if a number is known to be at most the sum of some fields, each in the whole steps that are written."""
    fields = operand if isinstance(operand, (list, tuple)) else ()
    terms = [value_of(field_named(field)) for field in fields]
    known = [term for term in (*terms, value) if isinstance(term, (int, float)) and isfinite(term)]
    return isinstance(value, (int, float)) and len(known) > len(terms) and round(value) <= sum(map(round, known[:-1]))


def _is_weighted(value: Value) -> bool:
    """True if several data sets are mixed by weights: pairs, or weights and prefixes in turn."""
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        return False
    if len(value) % 2 == 0 and len(value) > 2 and all(_says_a_number(entry) for entry in value[::2]):
        return True
    return all(isinstance(entry, (list, tuple)) and len(entry) == 2 and entry[0] is not None for entry in value)


def _is_within(value: Value, size: Value) -> bool:
    """True if a number may be an index of so many entries."""
    return not isinstance(value, int) or not isinstance(size, int) or 0 <= value < size


def _is_of_other_length(value: Value, other: Value) -> bool:
    """True if two lists are known to have different numbers of entries."""
    return isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)) and len(value) != len(other)


def _is_power_of_two(value: Value) -> bool:
    return isinstance(value, (int, float)) and value > 0 and frexp(value)[0] == 0.5


def _is_stretched_otherwise(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if YaRN bends other frequencies than from the operand's length, or if that is unknown."""
    if not isinstance(operand, (list, tuple)) or _is_equal(value, operand[0]):
        return False
    settings = [value_of(field_named(field)) for field in operand[1:]]
    ramps = [ramp_of(length, *settings) for length in (value, operand[0])]
    return None in ramps or ramps[0] != ramps[1]


def _is_plain_rotary(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True for RoPE, and for YaRN if it is known to change no frequency with the operand's fields."""
    if value != "yarn" or not isinstance(operand, (list, tuple)):
        return value == "rope"
    *settings, width = operand
    width = width if value_of("attention.latent.enabled") is True else "attention.head_dim"
    return not stretches(*(value_of(field_named(field)) for field in (*settings, width)))


def _is_plain_in_megatron(value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True for YaRN that may change a frequency with the operand's fields, and none in a Megatron-LM launch."""
    if value != "yarn" or not isinstance(operand, (list, tuple)):
        return False
    factor, length, base, fast, slow, width = (value_of(field_named(field)) for field in operand)
    is_plain = not stretches(factor, length, written_base(base), width=width)
    return is_plain and stretches(factor, length, base, fast, slow, width)


def _is_never_plain(_value: Value, operand: Value, value_of: Callable[[FieldName], Value]) -> bool:
    """True if YaRN in a Megatron-LM launch changes a frequency with any length that the sequence allows."""
    if not isinstance(operand, (list, tuple)):
        return False
    base, sequence, width = (value_of(field_named(field)) for field in operand)
    least = plain_length(base, sequence)
    return least is None or stretches(2, least, written_base(base), width=width)


def _says_a_number(entry: Value) -> bool:
    try:
        return isinstance(entry, str) and isfinite(float(entry))
    except ValueError:
        return False


def _product(fields: Value, value_of: Callable[[FieldName], Value]) -> int:
    """Product of numbers and of the known fields among the operands."""
    product = 1
    for name in fields if isinstance(fields, (list, tuple)) else ():
        factor = value_of(field_named(name)) if isinstance(name, str) else name
        product *= factor if isinstance(factor, int) and factor > 0 else 1
    return product


COMPARISONS: dict[str, Callable[[Value, Value, Callable[[FieldName], Value]], bool]] = {
    "eq": lambda value, operand, _: _is_equal(value, operand),
    "ne": lambda value, operand, _: not _is_equal(value, operand),
    "gt": lambda value, operand, _: _is_greater(value, operand),
    "lt": lambda value, operand, _: _is_greater(operand, value),
    "in": lambda value, operand, _: _is_one_of(operand, value),
    "not_in": lambda value, operand, _: value is not None and not _is_one_of(operand, value),
    "set": lambda value, _operand, _: value is not None,
    "unset": lambda value, _operand, _: value is None,
    "eq_field": lambda value, operand, other: is_identical(value, other(field_named(operand))),
    "ne_field": lambda value, operand, other: not is_identical(value, other(field_named(operand))),
    "below_field": lambda value, operand, other: (
        not is_identical(value, other(field_named(operand))) and not _is_greater(value, other(field_named(operand)))
    ),
    "within_field": lambda value, operand, other: _is_within(value, other(field_named(operand))),
    "gt_field": lambda value, operand, other: _is_greater(value, other(field_named(operand))),
    "islist": lambda value, _operand, _: isinstance(value, (list, tuple)),
    "uneven": lambda value, _operand, _: _is_uneven(value),
    "uneven_start": lambda value, _operand, _: _has_uneven_start(value),
    "weighted": lambda value, _operand, _: _is_weighted(value),
    "hollow": lambda value, _operand, _: 0 in (chunks_of(value) or ()),
    "indivisible": _is_indivisible,
    "exceeds": _exceeds,
    "quotient_ne": _is_other_quotient,
    "stretched_otherwise": _is_stretched_otherwise,
    "plain_rotary": _is_plain_rotary,
    "plain_in_megatron": _is_plain_in_megatron,
    "never_plain": _is_never_plain,
    "short_of": lambda value, operand, other: isinstance(value, int) and value < _product(operand, other),
    "not_product": lambda value, operand, other: _is_not_product(value, operand, other),
    "exceeds_sum": _exceeds_sum,
    "within_sum": _is_within_sum,
    "lacks": lambda value, operand, _: isinstance(value, (list, tuple)) and not _is_one_of(value, operand),
    "has": lambda value, operand, _: _is_one_of(value, operand),
    "other_length": lambda value, operand, other: _is_of_other_length(value, other(field_named(operand))),
    "endswith": lambda value, operand, _: isinstance(value, str) and value.endswith(str(operand)),
    "power_of_two": lambda value, _operand, _: _is_power_of_two(value),
    "isfraction": lambda value, _operand, _: isinstance(value, float) and not value.is_integer(),
}

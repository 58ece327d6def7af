"""Two runs compared in the shared vocabulary: a row for each field, what was not compared, and the verdict.

A field is equal, different, or known on one side only. Effective values are compared, never text: a key that one file
leaves out stands for that side's default. Fields that say nothing for either run (the experts of a model that has none)
are left out. What is read of one file alone (words that nobody can read, a run that would not start) is not a field,
and keeps the answer from being "equal".
"""

from __future__ import annotations

from ..mappings.tables import rows_of, table
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.file_kind import what_stops
from ..schemas.verdict import Unseen, conclude, unseen_json, unseen_words
from .computed.results import AT_LEAST
from .equality import NOT_NONE, is_equal, is_equal_field, is_same_quantity
from .gates import counts, ignored_on_one_side, meaningful, same_numbers
from .messages_compiled import say
from .recipe.values import open_because
from .recipe.vocabulary import COMPUTED, vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Literal, TypeAlias

    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Caveat, Impact
    from ..schemas.config import Config, Origin, Value
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words
    from ..schemas.source import Span
    from .recipe.values import Recipe, RecipeValue, Unmapped

Verdict: TypeAlias = "Literal['equal', 'different', 'only-a', 'only-b', 'undecided']"


class Found(NamedTuple):
    """One side's value of a field or key."""

    value: Value
    origin: Origin
    key: str | None
    span: Span | None
    decided: bool = True

    def to_json(self) -> dict[str, object]:
        """The contract's `a` or `b`."""
        from .answers_compiled import side_json

        return side_json(self)


class Difference(NamedTuple):
    """One field, or one key that has no field, on both sides."""

    field: FieldName | None
    a: Found | None
    b: Found | None
    status: Verdict
    impact: Impact
    counts: bool | None = True
    """True if the difference can change numbers in these runs; None if that depends on what cannot be read."""
    why: Caveat | None = None
    """Why both values make the same numbers, or why one value makes other numbers, by the tables."""

    def to_json(self) -> dict[str, object]:
        """The contract's row."""
        from .answers_compiled import diff_row_json

        return diff_row_json(self)


def differences(a: Recipe, b: Recipe, *, whole: bool = False) -> tuple[Difference, ...]:
    """Every field that means anything in one of the runs, then keys without a field.

    A model says what the network is, and nothing of the run that trains it: unless the `whole` is asked for, what
    only the run says is no difference.
    """
    names: Iterable[FieldName] = _relevant_fields(a, b)
    models = [one for one in (a, b) if one.framework == "huggingface"]
    if models and not whole:
        names = [name for name in names if any(name in one.fields for one in models)]
        # A key without a field that changes numbers may be the network's.
        a, b = (
            one._replace(
                unmapped=tuple(
                    key
                    for key in one.unmapped
                    if one.framework == "huggingface" or key.impact == "numerics" or key.key.startswith(GENERATION)
                )
            )
            for one in (a, b)
        )
    rows = [row for name in names if (row := difference_of(name, a, b)) is not None]
    rows.extend(_without_field(a, b))
    return tuple(rows)


def _relevant_fields(a: Recipe, b: Recipe) -> list[FieldName]:
    """Fields that mean anything in one of the runs, and computed quantities of both."""
    silent = {
        name
        for row in table().rows
        if row.only and meaningful(row, a) is False and meaningful(row, b) is False
        for name in row.fields
    }
    return [name for name in vocabulary() if name not in silent]


def difference_of(name: FieldName, a: Recipe, b: Recipe) -> Difference | None:
    """One field in two runs: values, equality and its effect; None if neither run has it.

    None if neither run has it, or if one has it and says only what the other does unasked. This is the one place that
    decides it: findings, rows, reports and verdicts all begin here.
    """
    left, right = _side_value(a.fields.get(name)), _side_value(b.fields.get(name))
    if left is None and right is None:
        return None
    field = vocabulary()[name]
    if name.startswith(COMPUTED):
        told = _computed_status(left, right)
        return None if told is None else Difference(name, left, right, told, field.impact)
    if name == "moe.layer_pattern":
        left, right = _of_as_many_layers(left, right), _of_as_many_layers(right, left)
    status = _difference_status(name, left, right, field.default)
    impact = field.impact
    for row in rows_of(name):
        impact = row.impact or impact
    found = Difference(name, left, right, status, impact)
    why = ignored_on_one_side(name, a, b)
    if status == "equal":
        return found if why is None else _weigh(found._replace(status="different"), name, a, b)._replace(why=why)
    if is_neutral(found):
        if "explicit" not in [one.origin for one in (left, right) if one is not None]:
            return None
        found = found._replace(impact="none")  # what is written out is what the other side does without a word
    return _weigh(found, name, a, b) if why is None else _weigh_ignored(found, name, a, b, why)


def _weigh_ignored(row: Difference, name: FieldName, a: Recipe, b: Recipe, why: Caveat) -> Difference:
    """Difference of a field whose value one side ignores."""
    weighed = _weigh(row, name, a, b)
    return weighed._replace(why=why) if why.status == "approximate" else weighed


def _weigh(row: Difference, name: FieldName, a: Recipe, b: Recipe) -> Difference:
    """Difference with its impact: none if the field has no effect in either run."""
    counted = counts(name, *{"only-a": (a,), "only-b": (b,)}.get(row.status, (a, b)))
    if counted is False:
        return row._replace(counts=False, impact="none")
    if row.status == "undecided":
        return row._replace(counts=counted)
    if not all(side is None or side.decided for side in (row.a, row.b)):
        return row._replace(counts=None)
    why = same_numbers(name, a, b)
    return row._replace(counts=counted) if why is None else row._replace(counts=False, impact="none", why=why)


def is_neutral(row: Difference) -> bool:
    """True if only one run has the value, and it equals the other's default behaviour."""
    alone = row.b if row.a is None else row.a if row.b is None else None
    if alone is None or row.field is None or not alone.decided:
        return False
    return alone.value is None or is_equal_field(row.field, alone.value, vocabulary()[row.field].default)


def _of_as_many_layers(found: Found | None, other: Found | None) -> Found | None:
    """Layer frequency expanded to a pattern of the other side's length."""
    if found is None or other is None or not isinstance(other.value, list) or isinstance(found.value, bool):
        return found
    every = found.value
    if not isinstance(every, int) or not every:
        return found
    return found._replace(value=[int(place % every == 0) for place in range(len(other.value))])


def _side_value(value: RecipeValue | None) -> Found | None:
    if value is None:
        return None
    return Found(value.value, value.origin, value.keys[0] if value.keys else None, value.span, value.decided)


def _difference_status(name: FieldName, left: Found | None, right: Found | None, neutral: Value) -> Verdict:
    """Word for two values: equal, different, undecided, or on one side only."""
    if left is None:
        return "only-b"
    if right is None:
        return "only-a"
    if not (left.decided and right.decided):
        return "undecided"
    if name in NOT_NONE and (left.value is None) is not (right.value is None):
        return "undecided"
    # A side that leaves a value open behaves as the field's neutral value does.
    one, other = (neutral if side.value is None else side.value for side in (left, right))
    return "equal" if is_equal_field(name, one, other) else "different"


def _computed_status(left: Found | None, right: Found | None) -> Verdict | None:
    """Status of a computed quantity; None if a formula could not be computed on one side."""
    if left is None or right is None or not (left.decided and right.decided):
        return None
    if is_same_quantity(left.value, right.value):
        return "equal"
    return "undecided" if is_lower_bound(left.value) or is_lower_bound(right.value) else "different"


def is_lower_bound(value: Value) -> bool:
    """True if a computed quantity is only known to be at least a number."""
    return isinstance(value, str) and value.startswith(AT_LEAST)


GENERATION = "generation."
"""What the names of settings of inference begin with: both sides have them under one name."""


def _without_field(a: Recipe, b: Recipe) -> Iterator[Difference]:
    """Keys without a recipe field: compared by name within a framework, listed across frameworks.

    What a key changes may hang on its value: of two values that differ, what the graver one changes.
    """
    left = {entry.key: entry for entry in a.unmapped}
    right = {entry.key: entry for entry in b.unmapped}
    shared = {key for key in left.keys() & right.keys() if a.framework == b.framework or key.startswith(GENERATION)}
    for key, entry in left.items():
        one = _unmapped_value(entry)
        if key not in shared:
            yield Difference(None, one, None, "only-a", entry.impact)
            continue
        partner = right[key]
        other = _unmapped_value(partner)
        status: Verdict = "undecided"
        if one.decided and other.decided:
            status = "equal" if is_equal(one.value, other.value) else "different"
        yield Difference(
            None,
            one,
            other,
            status,
            entry.impact if _GRAVITY[entry.impact] >= _GRAVITY[partner.impact] else partner.impact,
        )
    for key, entry in right.items():
        if key not in shared:
            yield Difference(None, None, _unmapped_value(entry), "only-b", entry.impact)


_GRAVITY: Mapping[Impact, int] = {"none": 0, "performance": 1, "numerics": 2}


def _unmapped_value(entry: Unmapped) -> Found:
    return Found(entry.value, "explicit", entry.key, entry.span, entry.decided)


class Comparison(NamedTuple):
    """Two files, field by field, and what of them was not compared."""

    rows: tuple[Difference, ...]
    unseen: tuple[Unseen, ...]
    reasons: Mapping[FieldName, Words]
    """Why fields are open."""

    @property
    def verdict(self) -> str:
        """One-word verdict: `equal` only if everything relevant was compared.

        `different` if a value that both runs have differs, or numbers depend on a value that one run alone has.
        """
        sure = [row for row in self.rows if row.counts is True]
        wrong = any(row.status == "different" and row.impact != "none" for row in sure) or any(
            row.status in ("only-a", "only-b") and row.impact == "numerics" for row in sure
        )
        is_open = bool(self.unseen) or any(
            (row.status == "undecided" and row.impact != "none") or (row.counts is None and row.impact == "numerics")
            for row in self.rows
        )
        return conclude("equal", "different", wrong=wrong, compared=0 if is_open else len(self.rows))

    @property
    def summary(self) -> dict[str, int]:
        """The number of fields of each status."""
        from collections import Counter  # a lint asks for no summary

        return dict(Counter(row.status for row in self.rows))

    def to_json(self, sides: Sequence[Recipe], language: Language = "en") -> dict[str, object]:
        """The contract's answer of `diff`."""
        rows = [row.to_json() for row in self.rows]
        for row, entry in zip(self.rows, rows, strict=True):
            reason = None if row.field is None else self.reasons.get(row.field)
            if row.why is not None:
                entry["reason"] = row.why.zh if language == "zh" else row.why.en
            elif row.status == "undecided" and reason is not None:
                entry["reason"] = reason.text(language)
        versions = [{"file": side.file, **side.basis.to_json(language)} for side in sides if side.basis is not None]
        return {
            "verdict": self.verdict,
            "not_compared": unseen_json(self.unseen, language),
            "versions": versions,
            "rows": rows,
            "summary": self.summary,
        }


def compare(configs: Sequence[Config], sides: Sequence[Recipe]) -> Comparison:
    """Two files by their effective values."""
    a, b = sides
    reasons: dict[FieldName, Words] = {**open_because(configs[0], a), **open_because(configs[1], b)}
    unseen = (*unseen_words(configs), *_one_sided_stops(configs))
    return Comparison(differences(a, b), unseen, reasons)


def _one_sided_stops(configs: Sequence[Config]) -> Iterator[Unseen]:
    """Reasons that stop only one of the two runs."""
    stops = [{one.message(): one for one in what_stops(config)} for config in configs]
    for config, own, others in zip(configs, stops, reversed(stops), strict=True):
        for text, one in own.items():
            if text not in others:
                place = config.file if one.span is None else f"{config.file}:{one.span.line}"
                yield Unseen(place, *say.would_not_start(problem=one.words()).both())

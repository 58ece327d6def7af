"""Two configurations compared: their fields, what was not compared, and the verdict, for every command and the library.

The rows are `differences`; what is read of one file alone (words that nobody can read, a run that would not start) is
no field, and keeps the answer from being "equal".
"""

from __future__ import annotations

from collections import Counter

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.preconditions import what_stops
from ..schemas.verdict import Unseen, conclude, unseen_json, unseen_words
from .differences import differences
from .messages_compiled import say
from .recipe.run_length import open_because

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config
    from ..schemas.diagnostic import Language
    from ..schemas.message import Words
    from .differences import Difference
    from .recipe.values import Recipe


class Comparison(NamedTuple):
    """Two files, field by field, and what of them was not compared."""

    rows: tuple[Difference, ...]
    unseen: tuple[Unseen, ...]
    reasons: Mapping[FieldName, Words]
    """Why fields are open."""

    @property
    def verdict(self) -> str:
        """`equal` only if everything that counts was compared; `undecided` if something of it is open.

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
    """The reasons that stop one of the runs and not the other: there are no two runs to call equal."""
    stops = [{one.message(): one for one in what_stops(config)} for config in configs]
    for config, own, others in zip(configs, stops, reversed(stops), strict=True):
        for text, one in own.items():
            if text not in others:
                place = config.file if one.span is None else f"{config.file}:{one.span.line}"
                yield Unseen(place, *say.would_not_start(problem=one.words()).both())

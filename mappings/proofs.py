"""Proofs of the rows by the real models: `proofs.yaml`, written by `tests/verifier/prove.py`.

Only what explains or reports rows reads it. A proof is of one field, in pairs of versions that form a star: every
Megatron-LM with one MindSpore Transformers, and one Megatron-LM with every MindSpore Transformers. The dynamic graph
has pairs of its own, whose second version is `2.1 dynamic`.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.message import Words
from .messages_compiled import say
from .tables import DYNAMIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal, TypeAlias

    from ..schemas.config import Value
    from ..schemas.diagnostic import Language
    from .tables import Status

    Pair: TypeAlias = "tuple[str, str]"
    Graph: TypeAlias = "Literal['static', 'dynamic']"

DYNAMIC_CENTRE: Pair = ("0.12", "2.1" + DYNAMIC)
"""The pair of the dynamic graph with a version of which each of its other pairs was run."""
CARRIED: tuple[Status, ...] = ("exact", "conditional", "made-explicit")


class Proof(NamedTuple):
    """One field in some pairs of versions."""

    pairs: tuple[Pair, ...]
    date: str
    value: Value
    """What was written in place of the base's value."""
    carried: bool
    """Whether both sides had it and matched; otherwise it was lost, as the report said, and the models parted."""
    agrees: float | None
    """The largest relative difference between the models that match."""
    parts: float | None
    """The largest one between those that must not; None where not even their weights are the same."""
    rounds: float | None
    """By how many ulp a side's own pass moves in the files' types, where float32 shows nothing; None where it does."""

    @property
    def is_one_sided(self) -> bool:
        """True if only the side that has the field was run with and without it: the other has not even its context."""
        return not self.carried and self.agrees is None


class Unproved(NamedTuple):
    """The reason why the models say nothing of a field in some pairs."""

    pairs: tuple[Pair, ...]
    en: str
    zh: str
    is_without_setting: bool = False
    """True if neither framework of the pair has a setting for the field."""
    was_run: bool = True
    """False if nothing is known of the row as it is now."""


def proofs_of(field: str) -> tuple[Proof, ...]:
    """Every proof of a field."""
    from .proofs_compiled import PROVED

    return tuple(Proof(*one) for one in PROVED.get(field, ()))


def unproved_reasons(field: str) -> tuple[Unproved, ...]:
    """The reasons why a field has no proof although one was tried."""
    from .proofs_compiled import UNPROVED

    return tuple(Unproved(*one) for one in UNPROVED.get(field, ()))


def unproved_state(field: str, pair: Pair) -> Unproved | None:
    """The reason why a field is not proved in a pair; None if it is."""
    if any(pair in one.pairs for one in proofs_of(field)):
        return None
    not_run = Unproved((pair,), *say.not_run().both(), was_run=False)
    return next((one for one in unproved_reasons(field) if pair in one.pairs), not_run)


def pairs_run() -> list[Pair]:
    """Every pair of versions that was run, those of the dynamic graph last."""
    from .proofs_compiled import PROVED

    pairs = dict.fromkeys(pair for proofs in PROVED.values() for listed, *_ in proofs for pair in listed)
    return sorted(pairs, key=lambda pair: pair[1].endswith(DYNAMIC))


def quantity_proofs(name: str) -> Sequence[tuple[str, tuple[Pair, ...]]]:
    """The fields whose proofs moved a computed quantity alike on both sides, with the pairs."""
    from .proofs_compiled import QUANTITIES

    return QUANTITIES.get(name, ())


def proof_json(
    field: str, megatron: str, mindformers: str, status: Status, language: Language
) -> dict[str, object] | None:
    """The proof beside a status in the report; None if nothing of the kind was proved in these versions."""
    if status == "unresolved":
        return None
    known = [one for one in proofs_of(field) if one.carried == (status in CARRIED)]
    pair = (megatron, mindformers)
    used = _of_pair(known, pair) or _of_sides(known, pair)
    if not used:
        return None
    exact = used[0][1] == pair
    proofs = [one for one, _ in used]
    return {
        "kind": "pair" if exact else "each-side",
        "pairs": [list(proved) for _, proved in used],
        "date": min(one.date for one in proofs),
        "value": proofs[0].value,
        "agrees": _largest(one.agrees for one in proofs),
        "parts": _largest(one.parts for one in proofs),
        "words": _words(proofs, pair, exact=exact).text(language),
    }


def _words(proofs: Sequence[Proof], pair: Pair, *, exact: bool) -> Words:
    return proof_words(proofs, pairs_words([pair]) if exact else say.proved_on_each_side())


def proof_words(proofs: Sequence[Proof], where: Words) -> Words:
    """The words for proofs: each side held to the other, or the least that all of them show."""
    if all(one.is_one_sided for one in proofs):
        return say.shown_on_one_side()
    return say.shown_by_rounding() if all(one.rounds is not None for one in proofs) else where


def _of_pair(known: Sequence[Proof], pair: Pair) -> list[tuple[Proof, Pair]]:
    """The proof in both versions themselves."""
    return [(one, pair) for one in known if pair in one.pairs][:1]


def _of_sides(known: Sequence[Proof], pair: Pair) -> list[tuple[Proof, Pair]]:
    """A proof for each side's version, beside another partner."""
    sides = [_on_side(known, place, version) for place, version in enumerate(pair)]
    found = [side for side in sides if side is not None]
    return found if len(found) == len(sides) else []


def pairs_of_graph(pairs: Iterable[Pair], graph: Graph | None) -> tuple[Pair, ...]:
    """The pairs in which a graph was run, by their plain versions; all pairs as they are for no graph."""
    if graph is None:
        return tuple(pairs)
    plain = ((pair, pair[1].removesuffix(DYNAMIC)) for pair in pairs)
    return tuple((pair[0], name) for pair, name in plain if (name != pair[1]) == (graph == "dynamic"))


def pairs_words(pairs: Iterable[Pair]) -> Words:
    """`proved on 0.12, 0.13 × 1.9`."""
    by_partner: dict[str, list[str]] = {}
    for megatron, mindformers in pairs:
        by_partner.setdefault(mindformers, []).append(megatron)
    grouped: dict[tuple[str, ...], list[str]] = {}
    for mindformers, listed in by_partner.items():
        grouped.setdefault(tuple(listed), []).append(mindformers)
    commas, semicolons = say.between_versions(), say.between_groups()

    def pairs_text(language: Language) -> str:
        sides = [tuple(commas.text(language).join(side) for side in group) for group in grouped.items()]
        return semicolons.text(language).join(pair_text(side, language) for side in sides)

    return say.proved_on(pairs=Words(pairs_text("en"), pairs_text("zh")))


def pair_text(pair: Sequence[str], language: Language) -> str:
    """`0.12 × 2.1 (dynamic)`."""
    return f"{pair[0]} × {pair[1]}".replace(DYNAMIC, say.dynamic_version().text(language))


def _on_side(known: Sequence[Proof], place: int, version: str) -> tuple[Proof, Pair] | None:
    """A proof with a version on one side."""
    return next(((one, pair) for one in known for pair in one.pairs if pair[place] == version), None)


def _largest(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None

"""A row of the tables in words: what each framework calls it, what a translation keeps, and when it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.megatron.catalog import DEFAULT_VERSION, VERSIONS, catalog
from ..schemas.plain_values import json_value
from ..schemas.shared_words import in_brackets, list_words, mark, term
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    from ..mappings.tables import Caveat, Condition, Loss, Row, Side
    from ..schemas.config import Value
    from ..schemas.diagnostic import Language

_OF_ONE = {"in": "eq", "not_in": "ne"}
"""How Chinese says of a single value what English says of a list of one."""
_OF_FIELDS = frozenset(
    (
        "eq_field",
        "ne_field",
        "gt_field",
        "below_field",
        "within_field",
        "exceeds_sum",
        "within_sum",
        "exceeds",
        "short_of",
        "not_product",
        "indivisible",
    )
)
"""What compares with other fields."""
_DERIVED = "resolved."


def loss_means(loss: Loss, language: Language) -> str:
    """The meaning of a row's loss class, for a person."""
    return say.page("loss", language)(loss)


def flags(dest: str, version: str | None = None) -> tuple[str, ...]:
    """The options that write a destination, in `version` or in the first version from the default on that knows it."""
    for one in (version,) if version is not None else (DEFAULT_VERSION, *VERSIONS):
        listed = [fact.options for fact in catalog(one).arguments if fact.dest == dest]
        # without abbreviations: `--swiglu`, not `-x`
        found = tuple(
            option for options in listed for option in [long for long in options if long.startswith("--")] or options
        )
        if found:
            return found
    return ()


def megatron_names(side: Side) -> tuple[str, ...]:
    """The flags of a side; what Megatron-LM derives without a flag goes by its own name, in brackets."""
    names: list[str] = []
    for key in side.keys:
        for dest in key.split("|"):
            names += [flag for flag in flags(dest) or (f"({dest})",) if flag not in names]
    return tuple(names)


def mindformers_names(side: Side) -> tuple[str, ...]:
    """The keys of a side that can be written."""
    return tuple(shown_key(key) for key in side.keys if not key.startswith(_DERIVED))


def shown_key(key: str) -> str:
    """A key path as a reader knows it: a callback is told by its type."""
    return key.replace("{", "[type=").replace("}", "]")


def behaviour(side: Side, language: Language) -> str | None:
    """The behaviour of a side that has no key: a fixed value, or an environment variable."""
    if side.environment is not None:
        return say.variable(name=side.environment).text(language)
    if side.fixed is not None:
        return say.always(value=list_words([shown_value(value) for value in side.fixed], language)).text(language)
    return None


def with_versions(sides: Sequence[Side], language: Language) -> Iterator[tuple[Side, str]]:
    """Each side with the versions it speaks for, `from 1.7`; empty where it speaks for every version."""
    before: str | None = None
    for side in sides:
        bounds = ((say.since, side.since), (say.after, None if side.since else before), (say.until, side.until))
        said = [words(version=version).text(language) for words, version in bounds if version is not None]
        yield side, list_words(said, language)
        before = side.until


def values(side: Side) -> dict[str, Value]:
    """The recipe's names for the values of an enumeration, if the table lists them."""
    listed = side.options.get("values")
    return {str(theirs): ours for theirs, ours in listed.items()} if isinstance(listed, Mapping) else {}


def shown_value(value: Value) -> str:
    """A value as JSON writes it; `none` for null."""
    return "none" if value is None else json.dumps(json_value(value), ensure_ascii=False)


def conditions(given: Sequence[Condition], language: Language) -> str:
    """`moe.num_experts is set and model.bias_linear is true`."""
    chinese, word = language == "zh", _words("conditions", language)
    parts: list[str] = []
    for field, comparison, operand in given:
        several = operand if isinstance(operand, tuple) else (operand,)
        # an operand with a dot names a field, which stands without quotes
        shown = [one if isinstance(one, str) and comparison in _OF_FIELDS else shown_value(one) for one in several]
        value = list_words(shown, language)
        ends = (operand[0], shown_value(operand[-1])) if isinstance(operand, tuple) and operand else ("", "")
        if chinese and len(several) == 1:
            comparison = _OF_ONE.get(comparison, comparison)
        parts.append(word(comparison, field=field, value=value, first=ends[0], last=ends[1]))
    rest = map(beside_chinese, parts[1:]) if chinese else parts[1:]
    return list_words([*parts[:1], *rest], language, "and")


def _words(page: Literal["to", "from", "conditions"], language: Language) -> Callable[..., str]:
    """Words by the names that the tables use, which their loader holds to those that there are."""
    return say.page(page, language)


def beside_chinese(text: str) -> str:
    """A text behind a Chinese word: Latin letters stand apart from it."""
    return f" {text}" if text[:1].isascii() else text


def caveat_words(caveat: Caveat, language: Language) -> str:
    """When a row is not carried over as it is, and what happens then."""
    chinese = language == "zh"
    when = conditions(caveat.when, language)
    target = _words("to", language)(caveat.to or "both")
    if caveat.source is not None:
        target = _words("from", language)(caveat.source) + ("" if chinese else " ") + target
    for words, version in ((say.since, caveat.since), (say.until, caveat.until)):
        if version is not None:
            target += f" {words(version=version).text(language)}"
    sentence = (caveat.zh if chinese else caveat.en).replace("{", "").replace("}", "")
    condition, status = beside_chinese(when) if chinese else when, term(caveat.status, language)
    said = say.page("caveat", language)
    return said("said", target=target, condition=condition, status=status, sentence=sentence)


def proof_words(row: Row, language: Language) -> str:
    """The proofs by the real models of a row's fields that change numbers; a speed or a name needs none."""
    from ..mappings.messages_compiled import say as proved
    from ..mappings.proofs import pairs_words, proof_words, proofs_of, unproved_reasons
    from .recipe.vocabulary import vocabulary

    known = vocabulary()
    fields = [field for field in row.fields if (row.impact or known[field].impact) == "numerics"]
    if not fields:
        return ""
    by_words: dict[str, list[str]] = {}
    for field in fields:
        proofs = proofs_of(field)
        if proofs:
            words = proof_words(proofs, pairs_words([pair for proof in proofs for pair in proof.pairs])).text(language)
        else:
            reasons = dict.fromkeys(one.zh if language == "zh" else one.en for one in unproved_reasons(field))
            read = proved.exact_by_reading() if row.loss == "exact" else proved.by_reading()
            words = read.text(language) + in_brackets(list_words(reasons, language, "semicolon"), language)
        by_words.setdefault(words, []).append(field)
    if len(by_words) == 1:
        return next(iter(by_words))
    said = (f"{list_words(names, language)}{mark('colon', language)}{words}" for words, names in by_words.items())
    return list_words(said, language, "semicolon")


def differs_from_guide(row: Row) -> bool:
    """True if the row's note says that the accuracy guide and the code differ."""
    return "guide" in row.en.lower()

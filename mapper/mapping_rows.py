"""Rows of the mapping tables for readers: one row in words, and the matrix of all (`docs/matrix.md`) in both languages.

The words are what each framework calls it, what a translation keeps, and when it does not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from itertools import groupby

from ..mappings.messages_compiled import say as proved
from ..mappings.proofs import DYNAMIC_CENTRE, pair_text, pairs_run, pairs_words, quantity_proofs, unproved_state
from ..mappings.tables import table
from ..schemas.border.file_input import package_text
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.megatron.catalog import DEFAULT_VERSION, VERSIONS, catalog
from ..schemas.plain_values import json_value
from ..schemas.shared_words import in_brackets, list_words, mark, term
from ..schemas.versions import known_names
from .messages_compiled import say
from .recipe.vocabulary import COMPUTED, vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Literal

    from ..mappings.names_compiled import FieldName
    from ..mappings.proofs import Graph
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
    """Command-line options that set an argument, in `version` or the first later version that has it."""
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
    """Flags of a side; derived values without a flag go by their name in brackets."""
    names: list[str] = []
    for key in side.keys:
        for dest in key.split("|"):
            names += [flag for flag in flags(dest) or (f"({dest})",) if flag not in names]
    return tuple(names)


def mindformers_names(side: Side) -> tuple[str, ...]:
    """The keys of a side that can be written."""
    return tuple(shown_key(key) for key in side.keys if not key.startswith(_DERIVED))


def shown_key(key: str) -> str:
    """Key path as readers write it: a callback is named by its type."""
    return key.replace("{", "[type=").replace("}", "]")


def behaviour(side: Side, language: Language) -> str | None:
    """The behaviour of a side that has no key: a fixed value, or an environment variable."""
    if side.environment is not None:
        return say.variable(name=side.environment).text(language)
    if side.fixed is not None:
        return say.always(value=list_words([shown_value(value) for value in side.fixed], language)).text(language)
    return None


def with_versions(sides: Sequence[Side], language: Language) -> Iterator[tuple[Side, str]]:
    """Each side with the versions that it is for, such as `from 1.7`; empty for all versions."""
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
    """Value in JSON form; `none` for null."""
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
    """Function that returns a page text by its key."""
    return say.page(page, language)


def beside_chinese(text: str) -> str:
    """Text to put after Chinese: a space comes before Latin letters."""
    return f" {text}" if text[:1].isascii() else text


def caveat_words(caveat: Caveat, language: Language) -> str:
    """Text on the condition under which a row is converted differently, and the result."""
    chinese = language == "zh"
    when = conditions(caveat.when, language)
    target = _words("to", language)(caveat.to or ("both" if caveat.source is None else "other"))
    if caveat.source is not None:
        source = _words("from", language)(caveat.source)
        target = f"{source} {target}" if source[-1].isascii() else source + target
    bounds = ((say.since, caveat.since), (say.until, caveat.until))
    spans = [words(version=version).text(language) for words, version in bounds if version is not None]
    target += in_brackets(list_words(spans, language), language) if chinese else "".join(f" {one}" for one in spans)
    sentence = (caveat.zh if chinese else caveat.en).replace("{", "").replace("}", "")
    condition, status = beside_chinese(when) if chinese else when, term(caveat.status, language)
    said = say.page("caveat", language)
    return said("said", target=target, condition=condition, status=status, sentence=sentence)


def numeric_fields(row: Row) -> list[FieldName]:
    """The fields of a row that change numbers."""
    known = vocabulary()
    return [field for field in row.fields if (row.impact or known[field].impact) == "numerics"]


def proof_words(row: Row, language: Language, graph: Graph | None = None) -> str:
    """Text on proofs of a row by the real models, of one graph or both; empty for fields that do not change numbers."""
    by_words: dict[str, list[str]] = {}
    for field in numeric_fields(row):
        by_words.setdefault(_field_proof(row, field, language, graph), []).append(field)
    if not by_words:
        return ""
    if len(by_words) == 1:
        return next(iter(by_words))
    said = (f"{list_words(names, language)}{mark('colon', language)}{words}" for words, names in by_words.items())
    return list_words(said, language, "semicolon")


def _field_proof(row: Row, field: FieldName, language: Language, graph: Graph | None) -> str:
    """Text on the proofs of one field, or on the reasons why it has none."""
    from ..mappings.proofs import pairs_of_graph, pairs_words, proof_words, proofs_of, unproved_reasons

    proofs = [one for one in proofs_of(field) if pairs_of_graph(one.pairs, graph)]
    if proofs:
        pairs = pairs_of_graph([pair for proof in proofs for pair in proof.pairs], graph)
        return proof_words(proofs, pairs_words(pairs)).text(language)
    tried = [one for one in unproved_reasons(field) if pairs_of_graph(one.pairs, graph)]
    reasons = dict.fromkeys(one.zh if language == "zh" else one.en for one in tried)
    read = proved.exact_by_reading() if row.loss == "exact" else proved.by_reading()
    return read.text(language) + in_brackets(list_words(reasons, language, "semicolon"), language)


def differs_from_guide(row: Row) -> bool:
    """True if the row's note says that the accuracy guide and the code differ."""
    return "guide" in row.en.lower()


FILES: dict[Language, str] = {"en": "matrix.md", "zh": "matrix.zh-CN.md"}
_LOSSES: tuple[Loss, ...] = ("exact", "conditional", "approximate", "one-way", "unsupported")
_NOTHING = "–"
_STATIC_MODEL, _DYNAMIC_MODEL = "model.model_config.", "model."
_MANY = 12


@cache
def _page_words(name: str) -> Any:
    """The words of `matrix.yaml` by their name, English and Chinese."""
    from ..schemas.compilers.tables import load_table

    return load_table(package_text(os.path.dirname(__file__), "matrix.yaml"))[name]


def products() -> dict[str, str]:
    """Both files of the matrix."""
    return {f"docs/{name}": document(language) for language, name in FILES.items()}


def document(language: Language) -> str:
    """The matrix in one language."""
    place = 1 if language == "zh" else 0
    spoken = {dialect: known_names("mindformers", dialect) for dialect in ("static", "dynamic")}
    lines = [
        _page_words("introduction")[place]
        .format(megatron=known_names("megatron").replace(", ", _page_words("between")[place]), **spoken)
        .rstrip("\n")
    ]
    lines += [
        f"| {term(loss, language)} | {loss_means(loss, language)} |"
        for loss in _LOSSES
        if any(row.loss == loss for row in table().rows)
    ]
    for topic, rows in groupby(table().rows, key=lambda row: row.topic):
        lines += ["", f"## {_page_words('topics')[topic][place]}", "", *_topic_lines(tuple(rows), language)]
    lines += ["", _page_words("guide")[place], ""]
    for row in table().rows:
        if differs_from_guide(row):
            lines.append(f"- `{row.fields[0]}`: {row.zh if place else row.en}")
    lines += ["", _page_words("computed")[place], *_quantity_lines(language)]
    lines += ["", _page_words("coverage")[place], *_coverage_lines(language)]
    lines += ["", _page_words("unproved")[place], *_unproved_lines(language)]
    lines += ["", _page_words("without")[place], *_unmapped_lines(place)]
    return "\n".join(lines) + "\n"


def _topic_lines(rows: Sequence[Row], language: Language) -> list[str]:
    """Markdown table of the rows of one topic, with numbered sources."""
    place = 1 if language == "zh" else 0
    numbers: dict[str, int] = {}
    for row in rows:
        for source in row.sources:
            numbers.setdefault(source, len(numbers) + 1)
    lines = [_page_words("head")[place]]
    for row in rows:
        cells = (
            _field_cells(row, language),
            _megatron_cell(row, language),
            _mindformers_cell(row, language),
            "<br>".join(filter(None, (term(row.loss, language), proof_words(row, language, "static")))),
            proof_words(row, language, "dynamic"),
            _remark_text(row, language) + " " + ", ".join(f"[{numbers[source]}]" for source in row.sources),
        )
        lines.append(f"| {' | '.join(cell.strip().replace('|', '&#124;') for cell in cells)} |")
    listed = " · ".join(f"[{number}] {source}" for source, number in numbers.items())
    return [*lines, "", _page_words("sources")[place].format(text=listed)]


def _field_cells(row: Row, language: Language) -> str:
    """Table cell with the row's fields and their descriptions."""
    known = vocabulary()
    return "<br>".join(f"`{name}` {known[name].zh if language == 'zh' else known[name].en}" for name in row.fields)


def _megatron_cell(row: Row, language: Language) -> str:
    """Table cell with Megatron-LM's flags by version."""
    parts: list[str] = []
    for side, when in with_versions(row.megatron, language):
        names = list_words([f"`{name}`" if name.startswith("-") else name for name in megatron_names(side)], language)
        parts.append(_side_text(names, side, when, language))
    return "<br>".join(parts) or _NOTHING


def _mindformers_cell(row: Row, language: Language) -> str:
    """Table cell with MindSpore Transformers' keys of both graphs."""
    place = 1 if language == "zh" else 0
    static, dynamic = _key_cells(row.static, _STATIC_MODEL, language), _key_cells(row.dynamic, _DYNAMIC_MODEL, language)
    if static == dynamic:
        return static
    return f"{_page_words('static')[place].format(text=static)}<br>{_page_words('dynamic')[place].format(text=dynamic)}"


def _key_cells(sides: Sequence[Side], prefix: str, language: Language) -> str:
    """Table cell with MindSpore Transformers' keys by version, common prefixes shortened."""
    place = 1 if language == "zh" else 0
    parts: list[str] = []
    for side, when in with_versions(sides, language):
        names = list_words([f"`{_short_key(name, prefix)}`" for name in mindformers_names(side)], language)
        text = _side_text(names, side, when, language)
        if side.aliases:
            aliases = list_words([f"`{_short_key(shown_key(name), prefix)}`" for name in side.aliases], language)
            text += _page_words("also")[place].format(names=aliases)
        parts.append(text)
    return "<br>".join(parts) or _NOTHING


def _side_text(names: str, side: Side, when: str, language: Language) -> str:
    """Names of a side, or its fixed behaviour, with versions in brackets."""
    text = names or behaviour(side, language) or _NOTHING
    return text + in_brackets(when, language)


def _short_key(key: str, prefix: str) -> str:
    """Key with the common prefix replaced by `…`."""
    return "…" + key.removeprefix(prefix) if key.startswith(prefix) else key


def _remark_text(row: Row, language: Language) -> str:
    """Row's note, conditions and caveats as text."""
    place = 1 if language == "zh" else 0
    parts = [row.zh if place else row.en] if row.en else []
    if row.only:
        parts.append(_page_words("only")[place].format(text=conditions(row.only, language)))
    for caveat in row.caveats:
        text = (caveat.zh if place else caveat.en).replace("{", "`{").replace("}", "}`")
        parts.append(_page_words("if")[place].format(when=_condition_text(caveat.when, language), text=text))
    return ("" if place else " ").join(dict.fromkeys(parts))


def _condition_text(given: Sequence[Condition], language: Language) -> str:
    said = conditions(given, language)
    return beside_chinese(said) if language == "zh" else said


def _quantity_lines(language: Language) -> Iterator[str]:
    """Table lines on the proofs of each computed quantity."""
    for name, field in vocabulary().items():
        if name.startswith(COMPUTED):
            known = quantity_proofs(name)
            pairs = dict.fromkeys(pair for _field, listed in known for pair in listed)
            words = (pairs_words(pairs) if pairs else proved.exact_by_reading()).text(language)
            if known:
                fields = list_words([f"`{one}`" for one, _pairs in known], language)
                words = _page_words("by")[language == "zh"].format(words=words, fields=fields)
            yield f"| `{name}` {field.zh if language == 'zh' else field.en} | {words} |"


def _coverage_lines(language: Language) -> Iterator[str]:
    """Table lines that count the fields by pair of versions: proved, not proved, without a setting, not run."""
    fields = [field for row in table().rows for field in numeric_fields(row)]
    for pair in pairs_run():
        unproved = [state for field in fields if (state := unproved_state(field, pair)) is not None]
        unset, left = sum(one.is_without_setting for one in unproved), sum(not one.was_run for one in unproved)
        counts = (len(fields) - len(unproved), len(unproved) - unset - left, unset, left)
        yield f"| {pair_text(pair, language)} | {' | '.join(map(str, counts))} |"


def _unproved_lines(language: Language) -> Iterator[str]:
    """Table lines with the fields that are not proved in the newest pair of the dynamic graph, by reason."""
    by_reason: dict[str, list[str]] = {}
    for field in [field for row in table().rows for field in numeric_fields(row)]:
        state = unproved_state(field, DYNAMIC_CENTRE)
        if state is not None:
            by_reason.setdefault(state.zh if language == "zh" else state.en, []).append(f"`{field}`")
    for reason, fields in sorted(by_reason.items(), key=lambda one: -len(one[1])):
        yield f"| {reason} | {len(fields)} | {list_words(fields, language)} |"


def _unmapped_lines(place: int) -> list[str]:
    """Table lines on reasons for keys without a row, with examples."""
    known = table()
    lines = [_page_words("reason_head")[place]]
    for number, reason in enumerate(known.reasons):
        arguments = [dest for dest, one in known.megatron_reasons.items() if one == number]
        keys = sorted(path for path, one in known.mindformers_reasons.items() if one == number)
        cells = (
            reason.zh if place else reason.en,
            _page_words("impact")[reason.impact][place],
            _first(arguments),
            _first(keys),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _first(names: Sequence[str]) -> str:
    """The first names, and how many there are."""
    shown = ", ".join(f"`{name}`" for name in names[:_MANY])
    return f"{shown}, … ({len(names)})" if len(names) > _MANY else shown or _NOTHING

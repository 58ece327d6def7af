"""The answer of `accmap verify` for people: the parts of a document, with a chart of errors and bars."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.plain_values import plain
from ...schemas.shared_words import list_words, mark
from ..messages_compiled import say
from ..reference.known_defects import title
from .document import (
    Cell,
    Chart,
    Code,
    Curve,
    Document,
    Note,
    Row,
    Section,
    Table,
    Verdict,
    Words,
    bullets,
    cells,
    code_cell,
    note,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

    from ...schemas.diagnostic import Language
    from ..messages_compiled import VerifyWords
    from .document import Part, Tone

Answer: TypeAlias = "dict[str, Any]"

_TABLES = (
    "structure", "loss", "parts", "logits", "activations", "gradients", "gradient_elements", "norms", "training",
    "clipping", "updates", "expert_bias", "rates", "dropout", "scales", "samples", "padding", "initialisation",
)  # fmt: skip
_TONES: dict[str, Tone] = {"match": "good", "mismatch": "bad", "partial": "open", "not-verifiable": "open"}
_KEYS = ("parameter", "step", "name", "part")
_MOST_LINES = 6


def _initial_lines(answer: Answer, word: VerifyWords) -> list[str]:
    """The line on the weights that both frameworks draw, which the verdict is not about."""
    drawn = answer["initial_weights"]
    if drawn["drawn"] == "not-compared":
        return []
    told = word("drawn_alike", drawn["kinds"])
    if drawn["different"]:
        told = word("drawn_differently", different=len(drawn["different"]), kinds=drawn["kinds"])
    return [f"{word('initial_weights')}: {told}"]


def _recorded_lines(answer: Answer, language: Language) -> list[str]:
    """Lines on the device, the noise and the weights of each side of two records."""
    word = say.page("verify_record", language)
    lines: list[str] = []
    for one in answer["recorded"]:
        told = [
            f"{word('recorded_on')} {one['machine'].get('device', one['device'])}",
            one["machine"].get("layers", ""),
        ]
        if one["noise"] is not None:
            told.append(word("repeats", noise=f"{one['noise']:.1e}"))
        if one["weights"]:
            told.append(word("own_weights", digest=one["weights"][:12]))
        lines.append(f"{one['side']}: {' · '.join(filter(None, told))}")
    if answer["recorded"]:
        lines.append(f"{word('tolerance')}: {answer['tolerance']:.1e}")
    return lines


def _precision_lines(answer: Answer, word: VerifyWords) -> list[str]:
    """Lines on the rounding of both sides in the files' own types."""
    found = answer["precision"]
    if found is None or found["agrees"] is None:
        return []
    types = " · ".join(found["compute"])
    shown = ", ".join(f"{row['name']} {row['a']:.2f} | {row['b']:.2f}" for row in found["errors"][:2])
    lines = [f"{word('precision')} ({types}): {word('errors')}: {shown}"]
    wrong = [row for row in found["errors"] if not row["agrees"]]
    return lines + [f"✗ {row['name']}  {row['a']:.2f} | {row['b']:.2f}" for row in wrong[:_MOST_LINES]]


def _ran_lines(answer: Answer, word: VerifyWords) -> list[str]:
    """Lines on the version, the graph, the library below and the path that each side was run with."""
    whole, small, unread = word("parsed"), word("parsed_small"), word("unparsed")
    read = {(True, True): whole, (True, False): small, (False, True): unread, (False, False): unread}
    said = (
        word(one["graph"]) if one["graph"] else read.get((one["parsed"], one["own_launch"])) for one in answer["ran"]
    )
    how = (f" ({words})" if words else "" for words in said)
    each = zip(answer["ran"], how, strict=True)
    return [f"{one['framework']} {one['version']}{said}{_base(answer, one)}  {one['path']}" for one, said in each]


_BASES = {"megatron": "torch", "mindformers": "mindspore"}


def _base(answer: Answer, ran: dict[str, Any]) -> str:
    """The library below a framework, with the version that ran."""
    name = _BASES.get(ran["framework"], "")
    version = answer["versions"].get(name)
    return f" · {name} {version}" if version else ""


def _is_version(entry: dict[str, Any]) -> bool:
    """True if an entry says that another version ran."""
    return str(entry["field"]).endswith(".version") and bool(entry.get("differs"))


def _unexercised_lines(answer: Answer, word: VerifyWords) -> list[str]:
    """Lines on differences that make a match partial, with both values."""
    told: dict[tuple[str, str], list[str]] = {}
    for entry in answer["not_compared"]:
        if entry.get("differs") and not _is_version(entry):
            also = "also_differs" if answer["verdict"] == "mismatch" else "unexercised"
            heading = word(also if "a" in entry else "unproved")
            told.setdefault((heading, entry["reason"]), []).append(_field_text(entry, word))
    lines = [f"{heading}: {', '.join(names)}: {reason}" for (heading, reason), names in told.items()]
    let = [entry for entry in answer["not_compared"] if entry.get("accepted")]
    return lines + [f"{word('accepted')}: {_field_text(entry, word)}" for entry in let]


def _field_text(entry: dict[str, Any], word: VerifyWords) -> str:
    """A field with both values; once if they are equal and the frameworks compute different results from it."""
    if "a" not in entry:
        return str(entry["field"])
    a, b = _short_text(entry["a"]), _short_text(entry["b"])
    return f"{entry['field']} ({word('same_value', a) if a == b else f'{a} | {b}'})"


def _effect_lines(answer: Answer, word: VerifyWords) -> list[str]:
    """The sentence on the fields that differ, what each of them changes alone, and the verdict of the rest."""
    if not answer["effects"]:
        return []
    fields = ", ".join(f"{_field_text(one, word)}: {_effect_text(one, word)}" for one in answer["effects"])
    rest: Callable[..., str] = word
    return [f"{word('effects', fields=fields, rest=rest('rest_' + answer['rest']))}"]


def _effect_text(effect: Mapping[str, Any], word: VerifyWords) -> str:
    """A sentence on the largest change that one differing field alone causes in the small model."""
    row = effect["row"]
    if row is None:
        return word("unshown")
    if row["relative"] is None:
        return word("alone_structure", name=row["name"])
    table: Callable[..., str] = word
    name, values = f"{table(effect['stage'])} {row['name']}", map(_number_text, (row["a"], row["b"]))
    share = f"{row['relative']:.2g}" if row["relative"] > 1 else f"{100 * row['relative']:.2g}%"
    return word("alone", quantity=name, share=share, **dict(zip("ab", values, strict=True)))


def _divergence_lines(answer: Answer, word: VerifyWords, language: Language) -> list[str]:
    """Lines on the first module that diverges: direction, fields behind it, rules and known defects."""
    divergence = answer["first_divergence"]
    if divergence is None:
        return []
    direction = say.page("verify_direction", language)(divergence["direction"])
    lines = [f"{word('first')} {divergence['module']}, {direction}"]
    unlike = [one for one in divergence["differing"] if _short_text(one["a"]) != _short_text(one["b"])]
    if unlike:
        told = ", ".join(_field_text(one, word) for one in unlike)
        lines.append(f"{word('differ')} {told}")
    suspected: dict[str, list[str]] = {}
    for one in divergence["suspected"]:
        suspected.setdefault(one["reason"], []).append(_field_text(one, word))
    lines += [f"{word('suspected')}: {', '.join(fields)}: {why}" for why, fields in suspected.items()]
    if divergence["fields"] and not (divergence["differing"] or suspected):
        lines.append(f"{word('depends')} {', '.join(divergence['fields'])}")
    if divergence["rules"]:
        lines.append(f"{word('rules')}: {', '.join(divergence['rules'])}")
    known = divergence["defects"]
    return [*lines, *(f"{word('defect')} {one['code']}: {title(one['code'], language)}" for one in known)]


def _table_rows(answer: Answer, table: str) -> list[dict[str, Any]]:
    found = answer[table]
    return [found] if isinstance(found, dict) else list(found or ())


def _row_name(row: dict[str, Any]) -> str:
    return str(next((row[key] for key in _KEYS if key in row), ""))


def _number_text(value: Any) -> str:
    return "-" if value is None else f"{value:.8g}" if isinstance(value, float) else str(value)


def _short_text(value: Any) -> str:
    if isinstance(value, dict):
        sides: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return "|".join(_short_text(sides[side]) for side in sorted(sides))
    return plain(value)


def verify_document(answer: Answer, language: Language) -> Document:
    """The report as parts: the verdict, why, what was compared by layer, and under which conditions."""
    word = say.page("verify", language)
    return Document(f"{word('title')}: {_files_text(answer)}", language, list(verify_parts(answer, language)))


def _files_text(answer: Answer) -> str:
    return " · ".join(f"{side} {file}" for side, file in zip(answer["sides"], answer["files"], strict=False))


def verify_parts(answer: Answer, language: Language) -> Iterator[Part]:
    """The parts of a verification; a table all of whose rows agree is folded."""
    word = say.page("verify", language)
    heading: Callable[..., str] = word
    facts = (
        _files_text(answer),
        *(f"{word('ran')}: {line}" for line in _ran_lines(answer, word)),
        *(str(entry["reason"]) for entry in answer["not_compared"] if _is_version(entry)),
        *_recorded_lines(answer, language),
        *_initial_lines(answer, word),
        *_unexercised_lines(answer, word),
        *_effect_lines(answer, word),
        *_divergence_lines(answer, word, language),
        *_precision_lines(answer, word),
    )
    yield Verdict(heading(answer["verdict"]), _TONES[answer["verdict"]], facts)
    for failure in answer["failures"]:
        yield from _failure_parts(failure, word)
    yield from error_charts(answer, language)
    for name in _TABLES:
        rows = _table_rows(answer, name)
        if rows:
            wrong = sum(not row["agrees"] for row in rows)
            count = word("all", len(rows)) if not wrong else f"{len(rows) - wrong} {word('of', len(rows))}"
            largest = max((row["relative"] for row in rows if row["relative"] is not None), default=0.0)
            told = list_words((count, f"{word('worst')} {largest:.1e}"), language, "clause")
            title = f"{heading(name)}{mark('colon', language)}{told}"
            yield Section(title, [_comparison_table(rows, answer, word)], name, is_folded=not wrong)
    for name, rows in _conditions(answer).items():
        if rows:
            yield Section(heading(name), table([""] * len(rows[0]), rows), name, len(rows), is_folded=True)
    left = _uncompared_texts(answer, word)
    if left:
        yield Section(word("not_compared"), bullets(left), "not_compared")


def _uncompared_texts(answer: Answer, word: VerifyWords) -> list[str]:
    """The fields that were not compared, by their reason, which is told once."""
    fields: dict[str, list[str]] = {}
    for entry in answer["not_compared"]:
        if not (entry.get("differs") or entry.get("accepted")):
            fields.setdefault(entry["reason"], []).append(_field_text(entry, word))
    return [f"{', '.join(names)}: {reason}" for reason, names in fields.items()]


def table_rows(answer: Answer) -> Iterator[dict[str, Any]]:
    """Every quantity that was compared, with the name of its table."""
    for name in _TABLES:
        yield from ({"table": name, **row} for row in _table_rows(answer, name))


_LEAST_ERROR = 1e-10
"""An axis of powers of ten has no 0."""


def error_charts(answer: Answer, language: Language) -> list[Chart]:
    """The errors of the outputs of all modules, if they were traced, and of the gradients in the order of the model."""
    word = say.page("verify", language)
    from ...verifier.verdict.comparison import OUTPUT_TOLERANCE

    shown = (
        (word("errors_by_parameter"), word("parameter"), ("gradients", "gradient_elements"), answer["tolerance"]),
        (word("errors_by_module"), word("module"), ("activations",), OUTPUT_TOLERANCE),
    )
    charts = (_error_chart(answer, language, *one) for one in shown)
    return [chart for chart in charts if chart.curves[0].steps]


def _error_chart(
    answer: Answer, language: Language, title: str, step: str, names: Sequence[str], tolerance: float
) -> Chart:
    """The errors of some tables on an axis of powers of ten; the first that leaves the tolerance is marked."""
    heading: Callable[..., str] = say.page("verify", language)
    curves: list[Curve] = []
    flags: list[int] = []
    for colour, name in enumerate(names):
        rows = _table_rows(answer, name)
        steps = list(range(1, len(rows) + 1))
        errors = [1.0 if row["relative"] is None else max(float(row["relative"]), _LEAST_ERROR) for row in rows]
        curves.append(Curve(heading(name), steps, errors, colour))
        flags += [step for step, row in zip(steps, rows, strict=True) if not row["agrees"]][:1]
    places = curves[0].steps
    limit = Curve(heading("tolerance"), places, [tolerance] * len(places), len(curves), is_dashed=True)
    labels = [_row_name(row) for row in _table_rows(answer, names[0])]
    flags = sorted(set(flags))[:1]
    return Chart(names[0], title, [*curves, limit], step, "", flags, is_logarithmic=True, labels=labels)


def _failure_parts(failure: Mapping[str, Any], word: VerifyWords) -> Iterator[Part]:
    """Parts on a side that could not run: the reason, an explanation, and the end of its log."""
    place = [Words(" "), Words(failure["where"], is_code=True)] if failure["where"] else []
    yield Note([Words(f"{word('failures')}: {failure['side']}: {failure['reason']}"), *place], "bad")
    if failure["explanation"]:
        yield note(failure["explanation"])
    if failure["log"]:
        shows = failure["kind"] in ("crash", "timeout", "memory")
        yield Section(word("log"), [Code("", 0, failure["log"])], is_folded=not shows)


def _conditions(answer: Answer) -> dict[str, list[tuple[str, ...]]]:
    """Inputs and conditions of the models, by the name of their table."""

    def padding(token: object) -> str:
        return "" if token is None else f"pad {token}"

    return {
        "shrunk": [(field, _short_text(sizes[0]), _short_text(sizes[1])) for field, sizes in answer["shrunk"].items()],
        "inputs": [
            (f"seed {one['seed']}", f"{one['batch']} × {one['sequence']}", padding(one["padding_token"]))
            for one in answer["inputs"]
        ],
        "stand_ins": [(entry["side"], entry["name"], entry["description"]) for entry in answer["stand_ins"]],
        "versions": list(answer["versions"].items()),
    }


def _comparison_table(rows: Sequence[dict[str, Any]], answer: Answer, word: VerifyWords) -> Table:
    """A table of compared quantities with both values, the relative difference and a bar."""
    heads = (word("name"), *answer["sides"], word("relative"), "")
    listed: list[Row] = []
    for row in rows:
        difference = "" if row["relative"] is None else f"{row['relative']:.1e}"
        numbers = [*cells(*map(_number_text, (row["a"], row["b"]))), Cell(Words(difference), row.get("note", ""))]
        bar = Cell(Words(""), share=_bar(row["relative"]))
        group, tone = (word("agreeing"), "good") if row["agrees"] else (word("parting"), "bad")
        listed.append(Row([code_cell(_row_name(row)), *numbers, bar], group, tone))
    return Table(heads, listed, is_numeric=True)


def _bar(relative: float | None) -> float:
    """The length of a difference on a logarithmic scale from 1e-9 to 1."""
    if relative is None:
        return 1.0
    from math import log10

    return min(1.0, max(0.0, (log10(max(relative, 1e-9)) + 9) / 9))

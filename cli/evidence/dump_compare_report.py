"""The answer of `accmap dump compare` as a page of text, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.border.text_output import page, paint
from ...schemas.shared_words import first_of
from ..messages_compiled import say
from ..reference.advisories import title
from ..terminal import shorten, wants_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..messages_compiled import DumpCompareWords

Answer = dict[str, Any]

_STYLES = {"match": "green", "diverged": "red", "partial": "yellow", "undecided": "yellow"}
_REASONS = frozenset(
    ("far", "element", "widespread", "scaled", "nan", "infinite", "shape", "unreadable", "equal", "close")
)
"""Why a tensor differs, in our words; a table of msprobe's has its own."""
_MOST = 6


def text_page(answer: Answer, language: Language, *, everything: bool) -> Outgoing:
    """The report for a terminal."""
    colour = wants_colour()
    word = say.page("dump_compare", language)
    verdict = answer["verdict"]
    lines = [f"{paint(word(verdict), _STYLES[verdict], colour)}  {' · '.join(answer['files'])}"]
    if answer["kind"] == "precheck":
        lines += _precheck(answer, word)
    else:
        lines += _gap_summary_lines(answer, word)
        lines += _merged_lines(answer, word, language)
        for part in answer["parts"]:
            lines += _part(part, word, language, everything=everything, colour=colour)
        for side, names in answer.get("other_places", {}).items():
            if names:
                lines.append(word("other-places", side=side.upper(), names=first_of(names, _MOST)))
    return page(lines)


def _gap_summary_lines(answer: Answer, word: DumpCompareWords) -> list[str]:
    """Lines on parts that were not compared; steps and ranks have a line of their own."""
    several = len(answer["parts"]) > 1
    places = {first_of(names, _MOST) for names in answer.get("other_places", {}).values()}
    return [
        f"  {word('not-compared')}: " + (f"{one['what']}: " if several else "") + one["reason"]
        for one in answer["not_compared"]
        if one["what"] not in places
    ]


def _merged_lines(answer: Answer, word: DumpCompareWords, language: Language) -> list[str]:
    """Lines on the first divergence of the ranks, the earliest place first."""
    merged = answer.get("merged", ())
    if not merged:
        return []
    count = sum(len(entry["places"]) for entry in merged)
    lines = [say.merged_head(count=count, all=len(answer["parts"])).text(language)]
    for entry in merged[:_MOST]:
        places = first_of(entry["places"], _MOST)
        told = say.merged_place(places=places, module=entry["module"], direction=word(entry["direction"]))
        lines.append(f"  {told.text(language)}")
    return lines


def _part(part: Answer, word: DumpCompareWords, language: Language, *, everything: bool, colour: bool) -> list[str]:
    content: Any = part["a"]["content"] if "a" in part else _content(part)
    lines = _where(part, word)
    lines.append("  " + word("compared", content=word(content) if content else "", **part["compared"]))
    counted = part["compared"]["without_numbers"]
    if part["compared"]["missing"] > counted:
        lines.append("  " + word("missing-inputs", part["compared"]["missing"] - counted))
    if everything:
        lines += [_unit_line(unit, colour) for unit in part["units"]]
    if part["first_divergence"] is not None:
        lines += _divergence(part["first_divergence"], word, language, colour)
    lines += _gaps(part["gaps"], word, everything=everything)
    alone = [f"{one['side'].upper()}: {one['unit']}.{one['place']}" for one in part["unmatched"]]
    lines += _name_list(alone, word("unmatched"), word, everything=everything)
    for key in ("only_a", "only_b", "unreadable", "notes"):
        lines += _name_list(part[key], word(key), word, everything=everything)
    lines += _name_list(part.get("marked_by_msprobe", ()), word("marked"), word, everything=everything)
    if part.get("tree"):
        lines += [f"  {say.tree_head().text(language)}", *(f"    {line}" for line in part["tree"])]
    return lines


def _where(part: Answer, word: DumpCompareWords) -> list[str]:
    """The step and rank of a part, and those of each side where they are others."""
    lines: list[str] = []
    if part["step"] is not None or part["rank"] is not None:
        lines.append(word("step", step=part["step"], rank=part["rank"]))
    places = [(part[side]["step"], part[side]["rank"]) for side in ("a", "b") if side in part]
    if len(set(places)) > 1 and None not in places[0] + places[1]:
        lines.append("  " + word("places", *places[0], *places[1]))
    return lines


def _gaps(found: Sequence[Answer], word: DumpCompareWords, *, everything: bool) -> list[str]:
    lines: list[str] = []
    for gap in found:
        told = {**gap, "direction": word(gap["direction"]) if gap["direction"] else ""}
        what = word("gap-pass" if gap["part"] else "gap-share", **told)
        lines.append("  " + word("gap", side="A" if gap["side"] == "b" else "B", what=what))
    shown = lines if everything else lines[:_MOST]
    more = [] if len(shown) == len(lines) else ["  " + word("more", len(lines) - len(shown))]
    return [*shown, *more, f"  {word('gaps')}"] if lines else []


def _content(part: Answer) -> str:
    ways = {tensor["how"] for unit in part["units"] for tensor in unit["tensors"]}
    return next((way for way in ("elements", "statistics", "checksum") if way in ways), "")


def _divergence(found: Answer, word: DumpCompareWords, language: Language, colour: bool) -> list[str]:
    names = found["a"] if found["a"] == found["b"] else f"{found['a']} | {found['b']}"
    lines = [f"  {paint(word('first'), 'bold', colour)}: {paint(names, 'red', colour)}"]
    lines.append(f"    {say.page('dump_cause', language)(found['cause'])}")
    lines += [f"      {_tensor_line(tensor, word, language)}" for tensor in found["tensors"][:_MOST]]
    for key in ("before", "after"):
        if found[key] is not None:
            state = word("agrees" if found[key]["agrees"] else "differs")
            lines.append(f"    {word(key)}: {found[key]['a']} ({state})")
    if found["gradual"]:
        lines.append(f"    {word('gradual')}")
        if found["largest_jump"]:
            lines.append(f"    {word('jump', found['largest_jump'])}")
    if found["different_fields"]:
        told = ", ".join(_field(row) for row in found["different_fields"])
        lines.append(f"    {word('differ')} {told}")
    elif found["fields"] and found["cause"] != "weights":
        lines.append(f"    {word('depends')}: {', '.join(found['fields'])}")
    if found["rules"]:
        lines.append(f"    {word('rules')}: {', '.join(found['rules'])}")
    lines += [f"    {word('defect')} {one['code']}: {title(one['code'], language)}" for one in found["defects"]]
    return lines + _next(found["next_dump"], word)


def _next(dump: Answer, word: DumpCompareWords) -> list[str]:
    if dump["command"] is not None:
        first = [] if dump["first"] is None else [f"    {word('eager', dump['first'])}"]
        return [*first, f"    {word('next')}: {dump['command']}"]
    return [f"    {word('fine', *dump['scope_a'])}"]


def _field(row: Answer) -> str:
    sides = (row[side] for side in ("a", "b"))
    return f"{row['field']} ({' | '.join('-' if side is None else str(side['value']) for side in sides)})"


def _tensor_line(tensor: Answer, word: DumpCompareWords, language: Language) -> str:
    name = tensor["tensor"] if tensor["tensor"] == tensor["partner"] else f"{tensor['tensor']} | {tensor['partner']}"
    why = tensor["why"]
    parts = [f"{name}: {say.page('dump_reason', language)(why) if why in _REASONS else why}"]
    if tensor["error"] is not None:
        parts.append(f"{_number(tensor['error'])}")
    for key, shown in (("cosine", "cosine"), ("max_abs", word("max_abs")), ("max_rel", word("max_rel"))):
        if tensor.get(key) is not None:
            parts.append(f"{shown} {_number(tensor[key])}")
    for key, shown in (("within_thousandth", "<0.001"), ("within_five_thousandths", "<0.005")):
        if tensor.get(key) is not None:
            parts.append(f"{shown}: {tensor[key]:.2%}")
    if tensor["why"] == "shape":
        parts.append(f"{tensor['shape_a']} | {tensor['shape_b']}")
    if tensor["dtype_a"] != tensor["dtype_b"]:
        parts.append(f"{tensor['dtype_a']} | {tensor['dtype_b']}")
    if tensor["note"]:
        parts.append(shorten(tensor["note"], 90))
    return ", ".join(parts)


def _unit_line(unit: Answer, colour: bool) -> str:
    mark = {True: paint("✓", "green", colour), False: paint("✗", "red", colour), None: "·"}[unit["agrees"]]
    errors = [tensor["error"] for tensor in unit["tensors"] if isinstance(tensor["error"], (int, float))]
    return f"  {mark} {unit['a']}" + (f"  {_number(max(errors))}" if errors else "")


def _precheck(answer: Answer, word: DumpCompareWords) -> list[str]:
    failures = answer["failures"]
    counts = {key: answer[key] for key in ("apis", "passed", "skipped")}
    lines = ["  " + word("precheck", failed=len(failures), **counts)]
    for at, failure in enumerate(failures[: _MOST * 2]):
        head = f"  {word('first-failure')}: " if at == 0 else "    "
        message = f"  {shorten(failure['message'], 90)}" if failure["message"] else ""
        lines.append(f"{head}{failure['api']} {failure['direction']}: {failure['status']}{message}")
        for row in failure["details"][:_MOST]:
            shown = ", ".join(f"{name} {value}" for name, value in row.items() if _has_content(name, value))
            lines.append(f"      {row.get('API Name', '')}: {shorten(shown, 110)}")
    if len(failures) > _MOST * 2:
        lines.append("    " + word("more", len(failures) - _MOST * 2))
    return lines + [f"  {note}" for note in answer["notes"]]


def _has_content(name: str, value: str) -> bool:
    return name not in ("API Name", "Message", "Status") and value.strip() not in ("", " ", "N/A", "None")


def _name_list(names: Sequence[str], title: str, word: DumpCompareWords, *, everything: bool) -> list[str]:
    if not names:
        return []
    shown = names if everything else names[:_MOST]
    lines = [f"  {title} ({len(names)}):", *(f"    {name}" for name in shown)]
    if len(shown) < len(names):
        lines.append("    " + word("more", len(names) - len(shown)))
    return lines


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else str(value)

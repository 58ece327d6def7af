"""The answer of `accmap dump compare` as a page of text, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.border.outgoing import page, painted
from ...schemas.verdict import WORDS
from ..advisories import title
from ..messages_compiled import say
from ..terminal import shortened, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language

Answer = dict[str, Any]

_WORDS = {
    "match": ("match", "一致"),
    "diverged": ("diverged", "不一致"),
    **WORDS,
    "step": ("step {step}, rank {rank}", "step {step}，rank {rank}"),
    "compared": (
        "{units} units, {tensors} tensors compared by {content}, {different} differ",
        "比较了 {units} 个单元、{tensors} 个张量（{content}），{different} 个不一致",
    ),
    "missing": (
        "not compared: {} tensors, which have neither elements nor the same kind of statistics on both sides",
        "未比较：{} 个张量，两侧既无元素，也无同类统计量",
    ),
    "missing-inputs": (
        "{} inputs have nothing to be compared by; what came of them was compared",
        "{} 个输入没有可比较的内容；由其得到的结果已比较",
    ),
    "places": ("A is step {}, rank {}; B is step {}, rank {}", "A 为 step {}、rank {}；B 为 step {}、rank {}"),
    "first": ("first divergence", "首个差异"),
    "before": ("before it", "其前"),
    "after": ("after it", "其后"),
    "agrees": ("agrees", "一致"),
    "differs": ("differs", "不一致"),
    "gradual": (
        "The error grows gradually up to here: this is rounding that passes the tolerance, not a jump.",
        "误差到此处是逐步累积的：是舍入误差超过容差，而非突变。",
    ),
    "jump": ("It grows most at {}.", "增长最大处为 {}。"),
    "depends": ("depends on", "相关配置"),
    "differ": ("the files differ in", "两文件的差异"),
    "rules": ("rules", "相关规则"),
    "defect": ("known defect that fits", "符合现象的已知缺陷"),
    "next": ("next dump", "下一步采集"),
    "eager": ("in graph mode msprobe has modules only: set {} first", "图模式下 msprobe 仅支持模块级：请先设置 {}"),
    "fine": (
        "This dump has single operations already: compare what ran between {} and {} on both sides.",
        "该 dump 已细到单个操作：请对照两侧在 {} 与 {} 之间执行的内容。",
    ),
    "gaps": (
        "what one side lacks was not compared; where that is as wished, choose with --only MODULE, --step or --rank",
        "一侧缺少的部分未比较；若本应如此，请用 --only MODULE、--step 或 --rank 指定比较范围",
    ),
    "gap": ("{side} lacks {what}", "{side} 缺少 {what}"),
    "gap-pass": ("the {direction} pass of {part} ({units} units)", "{part} 的{direction}（{units} 个单元）"),
    "gap-share": ("{units} of the other's {of} units", "另一侧 {of} 个单元中的 {units} 个"),
    "forward": ("forward", "前向"),
    "backward": ("backward", "反向"),
    "other-places": ("only in {side}, and not compared: {names}", "仅 {side} 有，未比较：{names}"),
    "unmatched": ("tensors that one side alone has, not compared", "仅一侧有的张量，未比较"),
    "only_a": ("only in A", "仅 A 有"),
    "only_b": ("only in B", "仅 B 有"),
    "unreadable": ("cannot be read", "无法读取"),
    "notes": ("notes", "说明"),
    "marked": ("marked by msprobe itself", "msprobe 标记"),
    "precheck": (
        "{apis} APIs, {passed} passed, {skipped} skipped, {failed} failed",
        "共 {apis} 个 API：{passed} 个通过，{skipped} 个跳过，{failed} 个失败",
    ),
    "first-failure": ("first API that failed", "首个失败的 API"),
    "more": ("… {} more; --format json has all", "… 另有 {} 项；完整列表见 --format json"),
}
_CAUSES = {
    "computation": (
        "its inputs agree and its output does not: what it computes differs",
        "输入一致而输出不一致：其计算存在差异",
    ),
    "weights": (
        "its weights differ; `accmap weights check` compares both checkpoints",
        "权重不一致；可用 `accmap weights check` 比较两份权重",
    ),
    "argument": ("its tensors agree and a plain argument does not", "输入张量一致而某个普通参数不一致"),
    "between": (
        "its input differs although everything before agrees: the difference arises between these two",
        "之前全部一致而其输入不一致：差异产生于两者之间",
    ),
    "data": (
        "what the model is given differs: check the data and its order (`accmap data check`)",
        "模型的输入不一致：请检查数据及其顺序（`accmap data check`）",
    ),
    "overflow": ("a NaN or an infinity appears here first", "此处首次出现 NaN 或无穷"),
}
FRAMEWORK = "framework"
"""What is not compared where both dumps are of one framework."""
_WHY = {
    "far": ("too far", "超出容差"),
    "element": ("one element is far off", "个别元素偏差过大"),
    "scaled": ("times a factor, no rounding", "相差某一系数，并非舍入"),
    "nan": ("NaN", "NaN"),
    "infinite": ("infinity", "无穷"),
    "shape": ("shape", "形状不同"),
    "unreadable": ("unreadable", "无法读取"),
    "equal": ("equal", "相同"),
    "close": ("close", "接近"),
}
_STYLES = {"match": "green", "diverged": "red", "partial": "yellow", "undecided": "yellow"}
_MOST = 6


def text_page(answer: Answer, language: Language, *, everything: bool) -> Outgoing:
    """The report for a terminal."""
    colour = wants_colour()
    word = _wording(language)
    verdict = answer["verdict"]
    lines = [f"{painted(word(verdict), _STYLES[verdict], colour)}  {' · '.join(answer['files'])}"]
    if answer["kind"] == "precheck":
        lines += _precheck(answer, word)
    else:
        lines += [f"  {one['reason']}" for one in answer["not_compared"] if one["what"] == FRAMEWORK]
        lines += _merged(answer, language)
        for part in answer["parts"]:
            lines += _part(part, word, language, everything=everything, colour=colour)
        for side, names in answer.get("other_places", {}).items():
            if names:
                listed = ", ".join(names[:_MOST]) + (f", … ({len(names)})" if len(names) > _MOST else "")
                lines.append(word("other-places").format(side=side.upper(), names=listed))
    return page(lines)


def _merged(answer: Answer, language: Language) -> list[str]:
    """Where the ranks part first, the earliest place first."""
    merged = answer.get("merged", ())
    if not merged:
        return []
    count = sum(len(entry["places"]) for entry in merged)
    lines = [say.merged_head(count=count, all=len(answer["parts"])).text(language)]
    for entry in merged[:_MOST]:
        names = entry["places"]
        places = ", ".join(names[:_MOST]) + (f", … ({len(names)})" if len(names) > _MOST else "")
        told = say.merged_place(places=places, module=entry["module"], direction=entry["direction"])
        lines.append(f"  {told.text(language)}")
    return lines


def _part(part: Answer, word: Callable[[str], str], language: Language, *, everything: bool, colour: bool) -> list[str]:
    content = part["a"]["content"] if "a" in part else _content(part)
    lines = _where(part, word)
    lines.append("  " + word("compared").format(content=content, **part["compared"]))
    counted = part["compared"]["without_numbers"]
    if counted:
        lines.append("  " + word("missing").format(counted))
    if part["compared"]["missing"] > counted:
        lines.append("  " + word("missing-inputs").format(part["compared"]["missing"] - counted))
    if everything:
        lines += [_unit_line(unit, colour) for unit in part["units"]]
    if part["first_divergence"] is not None:
        lines += _divergence(part["first_divergence"], word, language, colour)
    lines += _gaps(part["gaps"], word, everything=everything)
    alone = [f"{one['side'].upper()}: {one['unit']}.{one['place']}" for one in part["unmatched"]]
    lines += _listed(alone, word("unmatched"), word, everything=everything)
    for key in ("only_a", "only_b", "unreadable", "notes"):
        lines += _listed(part[key], word(key), word, everything=everything)
    lines += _listed(part.get("marked_by_msprobe", ()), word("marked"), word, everything=everything)
    if part.get("tree"):
        lines += [f"  {say.tree_head().text(language)}", *(f"    {line}" for line in part["tree"])]
    return lines


def _where(part: Answer, word: Callable[[str], str]) -> list[str]:
    """The step and rank of a part, and those of each side where they are others."""
    lines: list[str] = []
    if part["step"] is not None or part["rank"] is not None:
        lines.append(word("step").format(step=part["step"], rank=part["rank"]))
    places = [(part[side]["step"], part[side]["rank"]) for side in ("a", "b") if side in part]
    if len(set(places)) > 1 and None not in places[0] + places[1]:
        lines.append("  " + word("places").format(*places[0], *places[1]))
    return lines


def _gaps(found: Sequence[Answer], word: Callable[[str], str], *, everything: bool) -> list[str]:
    lines: list[str] = []
    for gap in found:
        told = {**gap, "direction": word(gap["direction"]) if gap["direction"] else ""}
        what = word("gap-pass" if gap["part"] else "gap-share").format(**told)
        lines.append("  " + word("gap").format(side="A" if gap["side"] == "b" else "B", what=what))
    shown = lines if everything else lines[:_MOST]
    more = [] if len(shown) == len(lines) else ["  " + word("more").format(len(lines) - len(shown))]
    return [*shown, *more, f"  {word('gaps')}"] if lines else []


def _content(part: Answer) -> str:
    ways = {tensor["how"] for unit in part["units"] for tensor in unit["tensors"]}
    return next((way for way in ("elements", "statistics", "checksum") if way in ways), "")


def _divergence(found: Answer, word: Callable[[str], str], language: Language, colour: bool) -> list[str]:
    names = found["a"] if found["a"] == found["b"] else f"{found['a']} | {found['b']}"
    lines = [f"  {painted(word('first'), 'bold', colour)}: {painted(names, 'red', colour)}"]
    lines.append(f"    {_CAUSES[found['cause']][language == 'zh']}")
    lines += [f"      {_tensor_line(tensor, language)}" for tensor in found["tensors"][:_MOST]]
    for key in ("before", "after"):
        if found[key] is not None:
            state = word("agrees" if found[key]["agrees"] else "differs")
            lines.append(f"    {word(key)}: {found[key]['a']} ({state})")
    if found["gradual"]:
        lines.append(f"    {word('gradual')}")
        if found["largest_jump"]:
            lines.append(f"    {word('jump').format(found['largest_jump'])}")
    if found["different_fields"]:
        told = ", ".join(_field(row) for row in found["different_fields"])
        lines.append(f"    {word('differ')} {told}")
    elif found["fields"] and found["cause"] != "weights":
        lines.append(f"    {word('depends')}: {', '.join(found['fields'])}")
    if found["rules"]:
        lines.append(f"    {word('rules')}: {', '.join(found['rules'])}")
    lines += [f"    {word('defect')} {one['code']}: {title(one['code'], language)}" for one in found["defects"]]
    return lines + _next(found["next_dump"], word)


def _next(dump: Answer, word: Callable[[str], str]) -> list[str]:
    if dump["command"] is not None:
        first = [] if dump["first"] is None else [f"    {word('eager').format(dump['first'])}"]
        return [*first, f"    {word('next')}: {dump['command']}"]
    return [f"    {word('fine').format(*dump['scope_a'])}"]


def _field(row: Answer) -> str:
    sides = (row[side] for side in ("a", "b"))
    return f"{row['field']} ({' | '.join('-' if side is None else str(side['value']) for side in sides)})"


def _tensor_line(tensor: Answer, language: Language) -> str:
    name = tensor["tensor"] if tensor["tensor"] == tensor["partner"] else f"{tensor['tensor']} | {tensor['partner']}"
    parts = [f"{name}: {_WHY.get(tensor['why'], (tensor['why'],) * 2)[language == 'zh']}"]
    if tensor["error"] is not None:
        parts.append(f"{_number(tensor['error'])}")
    for key, shown in (("cosine", "cosine"), ("max_abs", "max abs"), ("max_rel", "max rel")):
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
        parts.append(shortened(tensor["note"], 90))
    return ", ".join(parts)


def _unit_line(unit: Answer, colour: bool) -> str:
    mark = {True: painted("✓", "green", colour), False: painted("✗", "red", colour), None: "·"}[unit["agrees"]]
    errors = [tensor["error"] for tensor in unit["tensors"] if isinstance(tensor["error"], (int, float))]
    return f"  {mark} {unit['a']}" + (f"  {_number(max(errors))}" if errors else "")


def _precheck(answer: Answer, word: Callable[[str], str]) -> list[str]:
    failures = answer["failures"]
    counts = {key: answer[key] for key in ("apis", "passed", "skipped")}
    lines = ["  " + word("precheck").format(failed=len(failures), **counts)]
    for at, failure in enumerate(failures[: _MOST * 2]):
        head = f"  {word('first-failure')}: " if at == 0 else "    "
        message = f"  {shortened(failure['message'], 90)}" if failure["message"] else ""
        lines.append(f"{head}{failure['api']} {failure['direction']}: {failure['status']}{message}")
        for row in failure["details"][:_MOST]:
            shown = ", ".join(f"{name} {value}" for name, value in row.items() if _telling(name, value))
            lines.append(f"      {row.get('API Name', '')}: {shortened(shown, 110)}")
    if len(failures) > _MOST * 2:
        lines.append("    " + word("more").format(len(failures) - _MOST * 2))
    return lines + [f"  {note}" for note in answer["notes"]]


def _telling(name: str, value: str) -> bool:
    return name not in ("API Name", "Message", "Status") and value.strip() not in ("", " ", "N/A", "None")


def _listed(names: Sequence[str], title: str, word: Callable[[str], str], *, everything: bool) -> list[str]:
    if not names:
        return []
    shown = names if everything else names[:_MOST]
    lines = [f"  {title} ({len(names)}):", *(f"    {name}" for name in shown)]
    if len(shown) < len(names):
        lines.append("    " + word("more").format(len(names) - len(shown)))
    return lines


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else str(value)


def _wording(language: Language) -> Callable[[str], str]:
    def word(key: str) -> str:
        return _WORDS[key][language == "zh"]

    return word

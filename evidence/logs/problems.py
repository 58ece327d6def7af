"""What can be wrong with a log, in both languages; codes EVD001 to EVD019."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...schemas.diagnostic import Diagnostic, Kind, UnreadableError, finding
from ...schemas.source import Span

if TYPE_CHECKING:
    from typing import NoReturn

PROBLEMS: dict[str, Kind] = {
    "no-lines": Kind(
        "EVD001",
        "no-training-lines",
        "error",
        "No training line in {lines} lines: expected Megatron-LM's 'iteration N/ M | … | lm loss: … |' or "
        "MindSpore Transformers' '{{ Epoch:[…], step:[…], loss: … }}'.{hint.en}",
        "共 {lines} 行，没有训练日志行：应为 Megatron-LM 的 'iteration N/ M | … | lm loss: … |' 或 "
        "MindSpore Transformers 的 '{{ Epoch:[…], step:[…], loss: … }}'。{hint.zh}",
    ),
    "empty": Kind("EVD002", "empty-log", "error", "The log is empty.", "日志为空。"),
    "unparsable": Kind(
        "EVD003",
        "garbled-training-line",
        "error",
        "A training line that cannot be read: {why.en}. The line: {text}",
        "无法读取的训练日志行：{why.zh}。该行内容：{text}",
    ),
    "truncated": Kind(
        "EVD004",
        "truncated-training-line",
        "error",
        "The last line ends in the middle of a training line and is not used: {text}",
        "最后一行训练日志不完整，未使用：{text}",
    ),
    "restart": Kind(
        "EVD005",
        "restart",
        "info",
        "A restart: after step {before} the log goes on at step {after}; of the {repeated} repeated steps the later "
        "lines count.",
        "训练重启：第 {before} 步之后日志从第 {after} 步继续；重复的 {repeated} 步以后出现的为准。",
    ),
    "duplicate": Kind(
        "EVD006",
        "duplicate-lines",
        "info",
        "{count} training lines repeat the step before them with the same values; the first is step {step}.",
        "{count} 行训练日志与前一行同步且数值相同；首个为第 {step} 步。",
    ),
    "conflict": Kind(
        "EVD007",
        "conflicting-lines",
        "warning",
        "{count} training lines repeat the step before them with other values (several ranks in one file?); the first "
        "is step {step}, loss {one} then {other}. The later lines count.",
        "{count} 行训练日志与前一行同步但数值不同（多个进程写入同一文件？）；首个为第 {step} 步，"
        "loss 先为 {one}，后为 {other}。以后出现的为准。",
    ),
    "gap": Kind(
        "EVD008",
        "gap",
        "warning",
        "{count} gaps: lines come every {interval} steps, but {missing} are missing; the first gap is {first}.",
        "有 {count} 处缺口：每 {interval} 步一行，但缺少 {missing} 行；首个缺口为 {first}。",
    ),
    "several-formats": Kind(
        "EVD009",
        "two-frameworks-in-one-log",
        "error",
        "Training lines of both frameworks in one log: {megatron} of Megatron-LM and {mindformers} of MindSpore "
        "Transformers. Give two logs.",
        "同一日志中有两个框架的训练行：Megatron-LM {megatron} 行，MindSpore Transformers {mindformers} 行。"
        "请分成两个日志。",
    ),
    "workers": Kind(
        "EVD010",
        "worker-chosen",
        "info",
        "{count} files have training lines; {chosen} counts: {why.en}.",
        "{count} 个文件含训练日志行；采用 {chosen}：{why.zh}。",
    ),
    "workers-differ": Kind(
        "EVD011",
        "workers-differ",
        "warning",
        "{other} prints another loss than {chosen}: first at step {step}, {theirs} against {ours}.",
        "{other} 与 {chosen} 的 loss 不同：首个为第 {step} 步，{theirs} 与 {ours}。",
    ),
    "worker-not-finite": Kind(
        "EVD016",
        "worker-not-finite",
        "error",
        "{other} prints a loss that is NaN or infinite: first at step {step}, {theirs}; {chosen} has {ours} there.",
        "{other} 的 loss 为 NaN 或无穷：首个为第 {step} 步，{theirs}；{chosen} 在该步为 {ours}。",
    ),
    "no-logs": Kind(
        "EVD012",
        "no-logs-in-directory",
        "error",
        "No log in this directory: expected worker_*.log, rank_*/info.log, *.log, *.txt, *.out or "
        "events.out.tfevents.*.",
        "该目录中没有日志：应有 worker_*.log、rank_*/info.log、*.log、*.txt、*.out 或 events.out.tfevents.*。",
    ),
    "bad-record": Kind(
        "EVD013",
        "damaged-event-file",
        "error",
        "The event file is damaged at byte {offset}: {why.en}. The {records} records before it are used.",
        "事件文件在第 {offset} 字节处损坏：{why.zh}。使用其之前的 {records} 条记录。",
    ),
    "no-scalars": Kind(
        "EVD014",
        "no-loss-in-event-file",
        "error",
        "The event file has no loss: expected the tag 'lm loss' (Megatron-LM) or 'loss' (MindSpore Transformers), "
        "found {tags}.",
        "事件文件中没有 loss：应有标签 'lm loss'（Megatron-LM）或 'loss'（MindSpore Transformers），实际为 {tags}。",
    ),
    "last-card": Kind(
        "EVD015",
        "loss-of-another-card",
        "warning",
        "The log says that with pipeline stages the loss is valid on {card.en} only; make sure that this is that "
        "card's log.",
        "日志说明：启用流水线并行时，仅{card.zh}的 loss 有效；请确认这是该卡的日志。",
    ),
    "no-loss": Kind(
        "EVD017",
        "no-loss-column",
        "error",
        "No training line gives a loss. {hint.en}",
        "没有任何训练行给出 loss。{hint.zh}",
    ),
    "norms-unread": Kind(
        "EVD018",
        "local-norms-unreadable",
        "warning",
        "A list of local norms that cannot be read: its values or its end are missing.",
        "无法读取的 local norm 列表：缺少数值或结尾。",
    ),
    "compressed": Kind(
        "EVD019",
        "damaged-archive",
        "error",
        "The compressed log is damaged: {why}. The lines before the damage are used.",
        "压缩日志已损坏：{why}。使用损坏处之前的行。",
    ),
}


class Problem(NamedTuple):
    """One thing that was found in a log, ready to be told in either language."""

    diagnostic: Diagnostic

    @property
    def bad(self) -> bool:
        """Whether the log cannot be trusted as a whole: the answer is then a bad one."""
        return self.diagnostic.kind.severity == "error"


def problem(name: str, file: str, line: int | None, /, **values: object) -> Problem:
    """A problem of the kind `name` at a line of a file."""
    return Problem(finding(PROBLEMS, name, file, place(line), **values))


def refuse(name: str, file: str, line: int | None = None, /, **values: object) -> NoReturn:
    """UnreadableError: there is nothing to work with."""
    raise UnreadableError(finding(PROBLEMS, name, file, place(line), **values))


def place(line: int | None) -> Span | None:
    """The first column of a line."""
    return None if line is None else Span(line, 1, line, 2)


def excerpt(line: bytes, limit: int = 120) -> str:
    """A line as a message may show it: decoded, without control characters, cut."""
    text = line.decode("utf-8", "replace").strip()
    text = "".join(letter if letter.isprintable() else "·" for letter in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"

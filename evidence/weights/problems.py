"""What can be wrong with a checkpoint, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ...schemas.diagnostic import Diagnostic, Kind, UnreadableError, finding
from ...schemas.system_reasons import system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable

PROBLEMS: dict[str, Kind] = {
    "nothing-there": Kind(
        "EVD040",
        "no-checkpoint",
        "error",
        "{path} is no checkpoint: {found}. Name a Megatron-LM checkpoint (its folder, an iter_XXXXXXX folder in it, or "
        "one model_optim_rng.pt), a folder of .safetensors files, or one .safetensors file.",
        "{path} 不是权重：{found_zh}。请指定 Megatron-LM 权重（目录、其中的 iter_XXXXXXX 目录或 model_optim_rng.pt）、"
        ".safetensors 目录或单个 .safetensors 文件。",
    ),
    "missing-shard": Kind(
        "EVD041",
        "missing-shard",
        "error",
        "{file} is missing; {needed} stands in it. Copy the whole checkpoint.",
        "缺少 {file}；{needed} 存放于其中。请复制完整的权重。",
    ),
    "garbled": Kind(
        "EVD042",
        "garbled",
        "error",
        "{file} cannot be read: {why}.",
        "无法读取 {file}：{why_zh}。",
    ),
    "truncated": Kind(
        "EVD043",
        "truncated",
        "error",
        "{file} is cut short: {tensor} ends at byte {needed}, the file at byte {size}. Copy it again.",
        "{file} 不完整：{tensor} 结束于第 {needed} 字节，而文件只有 {size} 字节。请重新复制。",
    ),
    "refused": Kind(
        "EVD044",
        "refused-pickle",
        "error",
        "{file} asks for {name} to be called while it is read. No checkpoint needs that; nothing of it was run.",
        "{file} 要求在读取时调用 {name}。正常的权重不需要这样做；其中的内容均未执行。",
    ),
    "mixed": Kind(
        "EVD045",
        "mixed-iterations",
        "error",
        "{first} is of iteration {a}, {second} of iteration {b}. The shards of one checkpoint come from one save.",
        "{first} 属于第 {a} 次迭代，{second} 属于第 {b} 次迭代。同一权重的分片应来自同一次保存。",
    ),
    "unknown": Kind(
        "EVD046",
        "unknown-weight",
        "error",
        "No row of the weight table knows {names} ({side}). Nothing was written; a part of the model would be lost.",
        "权重映射表中没有 {names}（{side}）。未写出任何文件，否则会丢失模型的一部分。",
    ),
    "shape": Kind(
        "EVD047",
        "wrong-shape",
        "error",
        "{tensor} in {file} has the shape {found}; {source} asks for {wanted}.",
        "{file} 中 {tensor} 的形状为 {found}；而 {source} 要求 {wanted}。",
    ),
    "not-finite": Kind(
        "EVD048",
        "not-finite",
        "error",
        "{tensor} holds {nans} NaN and {infinities} infinite values ({file}).",
        "{tensor} 含有 {nans} 个 NaN 和 {infinities} 个无穷值（{file}）。",
    ),
    "overflow": Kind(
        "EVD049",
        "cast-overflow",
        "error",
        "{count} values of {tensor} are too large for {dtype} and become infinite ({file}).",
        "{tensor} 有 {count} 个值超出 {dtype} 的范围而变为无穷（{file}）。",
    ),
    "no-configuration": Kind(
        "EVD050",
        "configuration-needed",
        "error",
        "{path} does not say how its model is built and its rows are arranged. Give the run's own configuration: "
        "--config FILE.",
        "{path} 未说明其模型结构与权重排列方式。请用 --config FILE 给出该任务自身的配置。",
    ),
    "open-size": Kind(
        "EVD051",
        "size-open",
        "error",
        "{file} leaves {fields} open, on which the weights depend.",
        "{file} 未给出 {fields}，而权重取决于它们。",
    ),
    "missing": Kind(
        "EVD052",
        "missing-weight",
        "error",
        "{path} lacks {names}; {source} asks for {count_text}.",
        "{path} 缺少 {names}；{source} 要求{count_text_zh}。",
    ),
    "needs-numpy": Kind(
        "EVD053",
        "extra-needed",
        "error",
        "numpy is not installed. Install accmap[evidence]: pip install 'accmap[evidence]'.",
        "未安装 numpy。请安装 accmap[evidence]：pip install 'accmap[evidence]'。",
    ),
    "resume": Kind(
        "EVD054",
        "in-the-way",
        "error",
        "{path} stands in the way: {why}. --resume continues the same conversion, --force replaces one of accmap; "
        "nothing else is removed.",
        "{path} 已被占用：{why_zh}。--resume 只能继续同一次转换，--force 只替换 accmap 的转换结果，不会删除其他文件。",
    ),
    "disagree": Kind(
        "EVD055",
        "copies-differ",
        "error",
        "{tensor} should be the same in {first} and {second}, and is not: {difference}.",
        "{tensor} 在 {first} 与 {second} 中应相同，但实际不同：{difference_zh}。",
    ),
    "unsupported": Kind(
        "EVD056",
        "unsupported-form",
        "error",
        "{file} is {what}, which is not supported here. {advice}",
        "{file} 是{what_zh}，此处不支持。{advice_zh}",
    ),
    "split": Kind(
        "EVD057",
        "cannot-split",
        "error",
        "{what} cannot be divided into {parts} equal parts ({option}).",
        "{what} 无法等分为 {parts} 份（{option}）。",
    ),
    "models-differ": Kind(
        "EVD058",
        "configurations-differ",
        "error",
        "The configurations describe different models: {tensor} has the shape {a} by {first}, {b} by {second}.",
        "两份配置描述的模型不同：{tensor} 的形状在 {first} 中为 {a}，在 {second} 中为 {b}。",
    ),
    "vocabulary": Kind(
        "EVD059",
        "vocabulary-cut",
        "error",
        "{path} has {found} rows for {vocabulary} tokens; the target has room for {wanted}.",
        "{path} 有 {found} 行词表（{vocabulary} 个词元）；目标只能容纳 {wanted} 行。",
    ),
    "cut": Kind(
        "EVD100",
        "pipeline-cut",
        "error",
        "Megatron-LM does not cut a pipeline this way: {why}.",
        "Megatron-LM 无法这样切分流水线：{why_zh}。",
    ),
}

_LISTED = 6


def problem(name: str, file: str, /, **values: object) -> Diagnostic:
    """One occurrence of a problem."""
    return finding(PROBLEMS, name, file, None, (), **values)


def unreadable(name: str, file: str, /, **values: object) -> NoReturn:
    """Stop at a checkpoint that cannot be read."""
    raise UnreadableError(problem(name, file, **values))


def garbled(file: str, why: str, why_zh: str) -> NoReturn:
    """Stop at a file that is not what its name says."""
    unreadable("garbled", file, file=file, why=why, why_zh=why_zh)


def denied(file: str, error: OSError) -> NoReturn:
    """Stop at a file that the system does not give, or that is no file."""
    reason = system_reason(error)
    garbled(file, str(reason), reason.zh)


def said_twice(file: str, first: str, second: str) -> NoReturn:
    """Two names of a checkpoint stand for one weight."""
    garbled(file, f"{first} and {second} are the same weight", f"{first} 与 {second} 是同一个权重")


def listed(names: Iterable[str]) -> str:
    """The first few of many names, and how many more there are."""
    every = list(names)
    return ", ".join(every[:_LISTED]) + (f", … ({len(every)})" if len(every) > _LISTED else "")


class RefusedError(Exception):
    """A conversion that must not go on: exit code 1 and these diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*(diagnostic.message() for diagnostic in diagnostics))
        self.diagnostics = diagnostics

"""What can be wrong with data, in both languages: codes EVD060 to EVD079."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.diagnostic import Kind, UnreadableError, finding

if TYPE_CHECKING:
    from typing import NoReturn

PROBLEMS = {
    "missing": Kind(
        "EVD060",
        "data-missing",
        "error",
        "There is no {path}{why}. Megatron data are two files, PREFIX.idx and PREFIX.bin; name the prefix "
        "or one of them.",
        "{path} 不存在{why_zh}。Megatron 数据由 PREFIX.idx 与 PREFIX.bin 两个文件组成，请给出前缀或其中任一文件。",
    ),
    "header": Kind(
        "EVD061",
        "index-header",
        "error",
        "Byte {offset}: {what}",
        "第 {offset} 字节：{what_zh}",
    ),
    "tokenizer": Kind(
        "EVD062",
        "tokenizer-unreadable",
        "error",
        "{path} is no tokenizer.json: {why}.",
        "{path} 不是 tokenizer.json：{why_zh}。",
    ),
    "refused": Kind(
        "EVD063",
        "data-refused",
        "error",
        "The framework cannot build this data set: {why}.",
        "框架无法构建该数据集：{why_zh}。",
    ),
    "truncated": Kind(
        "EVD064",
        "index-truncated",
        "error",
        "The index ends at byte {size}, inside its {part} (bytes {start} to {end}); for {sequences} sequences and "
        "{documents} document marks it needs {needed} bytes. Copy it again or make the data again.",
        "索引在第 {size} 字节处中断，位于{part_zh}（第 {start} 至 {end} 字节）；{sequences} 个序列与 "
        "{documents} 个文档标记"
        "需要 {needed} 字节。请重新复制或重新制作数据。",
    ),
    "inconsistent": Kind(
        "EVD065",
        "index-inconsistent",
        "error",
        "Byte {offset} of the index: {what}",
        "索引第 {offset} 字节：{what_zh}",
    ),
    "size": Kind(
        "EVD066",
        "bin-size",
        "error",
        "The index speaks of {tokens} tokens of {itemsize} bytes, {expected} bytes in all, but the file has "
        "{found}. {what}",
        "索引记录了 {tokens} 个 {itemsize} 字节的 token，共 {expected} 字节，而文件有 {found} 字节。{what_zh}",
    ),
    "outside": Kind(
        "EVD067",
        "id-outside-vocabulary",
        "error",
        "{count} ids are outside 0 ≤ id < {limit} ({source}): the first is {id} at byte {offset}, token {position} of "
        "sequence {sequence}. Looking it up reads memory that is no embedding; use the tokenizer that made the data, "
        "or a larger vocabulary.",
        "有 {count} 个 id 超出 0 ≤ id < {limit}（{source}）：首个为 {id}，位于第 {offset} 字节，即序列 {sequence} 的第 "
        "{position} 个 token。查表会取到脏数据；请使用制作数据时的分词器，或增大词表。",
    ),
    "empty": Kind(
        "EVD068",
        "empty-sequences",
        "warning",
        "{sequences} sequences and {documents} documents have no tokens; the first empty sequence is {first}. Both "
        "frameworks skip over them, but they shift every shuffle.",
        "有 {sequences} 个序列、{documents} 个文档为空，首个空序列为 {first}。两个框架都会跳过，但会改变打乱的结果。",
    ),
    "unusual": Kind(
        "EVD069",
        "data-unusual",
        "warning",
        "{what}",
        "{what_zh}",
    ),
    "eod": Kind(
        "EVD070",
        "eod-token",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "masked": Kind(
        "EVD071",
        "masked-token",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "special": Kind(
        "EVD072",
        "special-token",
        "warning",
        "{what}",
        "{what_zh}",
    ),
    "absent": Kind(
        "EVD073",
        "data-not-here",
        "error",
        "The data {prefix} are not on this machine ({why}), so their samples cannot be worked out. Give a copy of the "
        "same name on the command line, or run this where the data are.",
        "数据 {prefix} 不在本机（{why_zh}），无法推算样本。请在命令行给出同名副本，或在数据所在的机器上运行。",
    ),
    "undecided": Kind(
        "EVD074",
        "data-undecided",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "bytes": Kind(
        "EVD075",
        "data-differ",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "setting": Kind(
        "EVD076",
        "data-setting-differs",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "samples": Kind(
        "EVD077",
        "samples-differ",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "stale": Kind(
        "EVD078",
        "stale-index-cache",
        "error",
        "{what}",
        "{what_zh}",
    ),
    "columns": Kind(
        "EVD079",
        "data-columns",
        "error",
        "{what}",
        "{what_zh}",
    ),
}


def unreadable(name: str, file: str, /, **values: object) -> NoReturn:
    """End the reading of `file` with one finding."""
    raise UnreadableError(finding(PROBLEMS, name, file, **values))


class RefusedError(ValueError):
    """Settings from which no framework builds a data set, and why."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh


class MissingPackageError(Exception):
    """NumPy, on which the order of samples depends, is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package


def need_numpy() -> None:
    """Raise `MissingPackageError` where NumPy is not installed."""
    try:
        import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport] - only its presence is asked for
    except ImportError as error:
        raise MissingPackageError("numpy") from error

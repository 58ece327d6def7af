"""What is said about a dump or a table that cannot be compared."""

from __future__ import annotations

from ...schemas.diagnostic import Kind
from ...schemas.light_typing import NamedTuple


class Note(NamedTuple):
    """A remark about a dump that can be compared all the same, in both languages."""

    en: str
    zh: str


PROBLEMS = {
    "missing": Kind("EVD030", "dump-missing", "error", "There is no {path}.", "{path} 不存在。"),
    "no-dump": Kind(
        "EVD031",
        "no-dump-here",
        "error",
        "{path} holds no dump: expected msprobe's step*/rank*/dump.json, MindSpore's statistic.csv or "
        "operator .npy files, or a result table (.csv, .xlsx).",
        "{path} 中没有 dump 数据：应为 msprobe 的 step*/rank*/dump.json、MindSpore 的 statistic.csv 或算子 .npy 文件，"
        "或结果表（.csv、.xlsx）。",
    ),
    "broken-json": Kind(
        "EVD032",
        "dump-json-broken",
        "error",
        "{path} is not whole: {why} at line {line}, column {column}. The run may have been stopped while it wrote; "
        "take the dump again.",
        "{path} 不完整：第 {line} 行第 {column} 列 {why_zh}。可能是运行在写入时被中断，请重新采集。",
    ),
    "not-a-dump": Kind(
        "EVD033",
        "dump-json-foreign",
        "error",
        "{path} is not a dump.json of msprobe: {why}.",
        "{path} 不是 msprobe 的 dump.json：{why_zh}。",
    ),
    "no-common": Kind(
        "EVD034",
        "nothing-in-common",
        "error",
        "No module of A has a partner in B ({a} against {b}). {hint}",
        "A 与 B 没有任何对应的模块（{a} 与 {b}）。{hint_zh}",
    ),
    "no-common-rank": Kind(
        "EVD035",
        "no-common-step",
        "error",
        "The dumps share no step and rank: A has {a}, B has {b}. Choose with --step and --rank, or name one "
        "step/rank directory on each side.",
        "两份 dump 没有共同的 step 与 rank：A 为 {a}，B 为 {b}。请用 --step、--rank 选择，或各指定一个目录。",
    ),
    "broken-table": Kind(
        "EVD036",
        "table-broken",
        "error",
        "{path}: {why}.",
        "{path}：{why_zh}。",
    ),
    "foreign-table": Kind(
        "EVD037",
        "table-foreign",
        "error",
        "{path} is no table that is known here: its columns are {columns}. Known are msprobe's compare_result, "
        "accuracy_checking_result and accuracy_checking_details, and MindSpore's statistic.csv.",
        "{path} 不是已知的结果表：其列为 {columns}。支持 msprobe 的 compare_result、accuracy_checking_result、"
        "accuracy_checking_details 以及 MindSpore 的 statistic.csv。",
    ),
    "broken-mapping": Kind(
        "EVD038",
        "mapping-broken",
        "error",
        "{path} is not a mapping of modules: {why}. `accmap dump config` writes one.",
        "{path} 不是模块映射：{why_zh}。可用 `accmap dump config` 生成。",
    ),
    "empty": Kind(
        "EVD039",
        "nothing-compared",
        "error",
        "{path}: no tensor could be compared: {why}.",
        "{path}：没有可比较的张量：{why_zh}。",
    ),
}

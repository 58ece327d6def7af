"""What keeps a translation from being written, in both languages."""

from __future__ import annotations

from ...schemas.diagnostic import Kind

PROBLEMS = {
    "other-target": Kind(
        "SYN920",
        "update-other-target",
        "error",
        "This is a {found} file, but the translation is for {wanted}; name the right file, or pin --to and --dialect.",
        "该文件是 {found}，而转换目标是 {wanted}；请指定正确的文件，或用 --to 与 --dialect 固定。",
    ),
    "no-text": Kind(
        "SYN921",
        "update-not-possible",
        "error",
        "Only a launch script of Megatron-LM or the YAML itself can be updated; this file is neither.",
        "只能更新 Megatron-LM 启动脚本或 YAML 本身；该文件两者都不是。",
    ),
    "unknown-target": Kind(
        "SYN922",
        "unknown-target",
        "error",
        "MindSpore Transformers {given} ({dialect}) cannot be written; accmap writes {known}.",
        "无法写出 MindSpore Transformers {given}（{dialect}）；accmap 可写 {known}。",
    ),
}

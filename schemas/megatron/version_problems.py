"""What can be wrong with the version of Megatron-LM that a file is read for, in both languages."""

from __future__ import annotations

from ..diagnostic import Kind

PROBLEMS = {
    "other-version": Kind(
        "MAP106",
        "argument-of-another-version",
        "error",
        "Megatron-LM {version} has no {flag}; {known} have it. Its parser would stop here.",
        "Megatron-LM {version} 没有 {flag}（{known} 有），其解析器会在此报错。",
    ),
    "other-version-assumed": Kind(
        "MAP122",
        "argument-of-another-version",
        "warning",
        "Megatron-LM {version}, which is assumed here, has no {flag}; {known} have it. Name the version with "
        "--megatron.",
        "此处假定的 Megatron-LM {version} 没有 {flag}（{known} 有）。请用 --megatron 给出版本。",
    ),
    "tree-of-unknown-version": Kind(
        "MAP114",
        "tree-of-unknown-version",
        "warning",
        "{path} says Megatron-LM {given}, which accmap does not know; it knows {known}. The file is read as for "
        "{used}.",
        "{path} 为 Megatron-LM {given}，accmap 不认识；已知版本为 {known}。按 {used} 读取该文件。",
    ),
}

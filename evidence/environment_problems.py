"""What `doctor` has to say about versions, in both languages: codes EVD080 to EVD089."""

from __future__ import annotations

from ..schemas.diagnostic import Kind

PROBLEMS: dict[str, Kind] = {
    "apart": Kind(
        "EVD080",
        "versions-apart",
        "error",
        "{name} {version} does not belong to {owner} {owner_version}: {wanted} does ({source}).",
        "{name} {version} 与 {owner} {owner_version} 不配套：应为 {wanted}（{source}）。",
    ),
    "older-driver": Kind(
        "EVD081",
        "driver-older",
        "warning",
        "The Ascend driver {version} is older than {wanted}, the one of {owner} {owner_version} ({source}).",
        "昇腾驱动 {version} 早于 {owner} {owner_version} 发布时配套的 {wanted}（{source}）。",
    ),
    "not-reference": Kind(
        "EVD082",
        "not-the-reference",
        "info",
        "{name} is {version}; the accuracy guide ran {owner} {owner_version} with {wanted}.",
        "{name} 为 {version}；精度指南中 {owner} {owner_version} 使用 {wanted}。",
    ),
    "unlisted": Kind(
        "EVD083",
        "version-unlisted",
        "info",
        "No set is known for {name} {version}; known are {known}.",
        "没有 {name} {version} 的配套信息；已知的有 {known}。",
    ),
    "read-as": Kind(
        "EVD084",
        "read-as-another",
        "warning",
        "The file is read as {name} {read}, but {version} is installed here: give --{option} {version}.",
        "该文件按 {name} {read} 读取，但本机安装的是 {version}：请指定 --{option} {version}。",
    ),
    "elsewhere": Kind(
        "EVD086",
        "needed-elsewhere",
        "info",
        "{owner} {owner_version} needs {name} {wanted} ({source}); it is not installed here, and {name} is {version}.",
        "{owner} {owner_version} 需要 {name} {wanted}（{source}）。本机未安装 {owner}，{name} 为 {version}。",
    ),
    "needed": Kind(
        "EVD087",
        "needed-and-missing",
        "warning",
        "{owner} {owner_version} needs {name} {wanted} ({source}), which is not installed here.",
        "{owner} {owner_version} 需要 {name} {wanted}（{source}），而本机未安装。",
    ),
    "unreadable": Kind(
        "EVD085",
        "version-file-unreadable",
        "warning",
        "The version of {name} cannot be told: {why}.",
        "无法得知 {name} 的版本：{why_zh}。",
    ),
}

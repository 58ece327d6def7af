"""A source that its own framework would not start: there is no run to translate, or to verify."""

from __future__ import annotations

from .diagnostic import Kind, UnreadableError, finding
from .light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import Config

PROBLEMS = {
    "refused": Kind(
        "SYN952",
        "refused-by-its-framework",
        "error",
        "{framework} {version} would not start this run, so there is none to translate: {why}{more} `accmap lint "
        "{file}` lists what stops it.",
        "{framework} {version} 无法启动该训练，因此没有可转换的训练：{why_zh}{more_zh}"
        "`accmap lint {file}` 列出导致停止的原因。",
    ),
}
_NAMES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers"}
_STRANGE = ("MAP002", "MAP042", "MAP106", "MAP122")
"""Arguments that the version does not know: whose framework that is, and what it refuses, is not known either."""


def require_accepted(config: Config) -> None:
    """UnreadableError where what the source's own framework checks at its start stops it."""
    if any(problem.kind.code in _STRANGE for problem in config.problems):
        return
    if any(entry.may_split for entry in config.unresolved):
        return  # it may hold the very argument that is missing
    stops = [problem for problem in config.problems if problem.effect == "stops"]
    if not stops:
        return
    first = stops[0]
    names = {"framework": _NAMES[config.framework], "version": config.framework_version, "file": config.file}
    others = len(stops) - 1
    more = f" ({others} more.)" if others else ""
    more_zh = f"（另有 {others} 处。）" if others else ""
    said = {**names, "why": first.message(), "why_zh": first.message("zh"), "more": more, "more_zh": more_zh}
    raise UnreadableError(finding(PROBLEMS, "refused", config.file, first.span, **said))

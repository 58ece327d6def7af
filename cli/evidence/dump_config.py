"""`accmap dump config A [B] -d DIR`: the configurations, mappings and code lines of a dump of both sides."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from ...evidence.dump.config import plan as plan_of
from ...evidence.dump.config_readme import FILES, readme
from ...evidence.dump.config_request import DumpKind, Request, record_of, spans_of
from ...evidence.dump.config_subject import subject_of
from ...schemas.border.outgoing import emit, json_text, painted, say
from ...schemas.border.writing import write_folder
from ..exit_codes import BAD, FINE
from ..inputs import load
from ..parsing import UsageError
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.dump.config import Plan
    from ...evidence.dump.config_request import Span
    from ...schemas.config import ReadOptions
    from ...schemas.diagnostic import Language

_WRITTEN = ("written", "已写出")
_NOTHING = (
    "nothing was written: such a dump would be empty or wrong",
    "未写出任何文件：按此要求采集的数据会为空或不正确",
)
_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}
MOST_ENDS = 2


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    directory: str | None,
    kind: DumpKind,
    level: str,
    task: str,
    summary: str,
    scope: Sequence[str],
    steps: str,
    ranks: str,
    msprobe: str,
    precheck: bool,
    force: bool,
    format: str,  # noqa: A002 - the option's name
    lang: Language,
) -> int:
    """Write everything or, where the wish cannot be met, nothing."""
    if directory is None:
        raise UsageError("dump config needs the directory to write to: -d DIR", "dump config 需要写入的目录：-d DIR")
    if len(scope) > MOST_ENDS:
        raise UsageError(
            f"--scope takes one module or two, not {len(scope)}", f"--scope 为一个或两个模块，而不是 {len(scope)} 个"
        )
    if kind != "msprobe" and (level != "L0" or precheck or msprobe != "26"):
        raise UsageError(
            f"--level, --precheck and --msprobe belong to --kind msprobe; {kind} dumps operators",
            f"--level、--precheck 与 --msprobe 仅用于 --kind msprobe；{kind} 采集的是算子",
        )
    if summary != "statistics" and task != "statistics":
        raise UsageError(
            f"--summary {summary} says what the statistics are: give --task statistics with it",
            f"--summary {summary} 说明统计信息的形式：请同时给出 --task statistics",
        )
    request = Request(
        kind,
        level,
        task,
        summary,
        tuple(record_of(word) for word in scope),
        _spans("--steps", steps),
        _spans("--ranks", ranks),
        msprobe,
        precheck,
    )
    try:
        subject = subject_of([load(name, options, stdin_name) for name in files], options)
    except ValueError as error:
        raise UsageError(
            f"both files are of {error}; dump config takes a Megatron-LM file and a MindSpore Transformers file",
            f"两个文件都属于 {error}；dump config 需要一个 Megatron-LM 文件和一个 MindSpore Transformers 文件",
        ) from None
    plan = plan_of(subject, request, os.path.abspath(directory))
    written: dict[str, str] = {}
    if not plan.failed:
        texts = {**plan.files, **{name: readme(plan, language) for language, name in FILES.items()}}
        written = {os.path.join(directory, name): text for name, text in texts.items()}
        write_folder(directory, written, force=force)
    if format == "json":
        emit(json_text({**plan.to_json(lang), "files": list(written)}))
    else:
        _page(plan, list(written), lang)
    return BAD if plan.failed else FINE


def _spans(option: str, text: str) -> tuple[Span, ...]:
    try:
        return spans_of(text)
    except ValueError:
        raise UsageError(
            f"{option} takes numbers from 0 and ranges such as 0,2-4, or all; not {text!r}",
            f"{option} 为从 0 开始的数字与区间（如 0,2-4）或 all，而不是 {text!r}",
        ) from None


def _page(plan: Plan, names: Sequence[str], language: Language) -> None:
    colour = wants_colour()
    chinese = language == "zh"
    for found in plan.findings:
        style = _STYLES[found.kind.severity]
        say(f"{found.file}: {painted(found.kind.code, style, colour)} {found.message(language)}")
    if plan.failed:
        say(_NOTHING[chinese])
        return
    for name in names:
        say(f"{_WRITTEN[chinese]}: {name}")
    for name, value in plan.environment.items():
        say(f"export {name}={shlex.quote(value)}")
    for commands in plan.commands.values():
        for command in commands:
            say(f"  {command}")

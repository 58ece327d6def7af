"""Every command and every option, as one table.

The table feeds the parser of every command line (`parsing.py`, which imports nothing heavy) and the Typer
application (`app.py`), which prints help and completes words in a shell. A command is a module of this room
with a function `run`; its parameters are the options' destinations.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["flag", "value", "list", "rest"]


class Option(NamedTuple):
    """One option. `rest` takes as many words as follow; `list` may be repeated."""

    names: tuple[str, ...]
    help: str
    help_zh: str
    kind: Kind = "value"
    type: type = str
    choices: tuple[str, ...] = ()
    default: object = None
    metavar: str | None = None

    @property
    def dest(self) -> str:
        """The name of the parameter that receives the value."""
        return self.names[0].lstrip("-").replace("-", "_")


class Command(NamedTuple):
    """One command: its words, how many files it takes, and its options."""

    name: str
    module: str
    help: str
    help_zh: str
    operands: str
    minimum: int
    maximum: int | None
    options: tuple[Option, ...]
    reads: bool = True


READING = (
    Option(("--megatron",), "Megatron-LM version of the file.", "文件所用的 Megatron-LM 版本。", metavar="VERSION"),
    Option(
        ("--mindformers",),
        "MindSpore Transformers version of the file.",
        "文件所用的 MindSpore Transformers 版本。",
        metavar="VERSION",
    ),
    Option(
        ("--dialect",),
        "Pin the MindSpore Transformers dialect instead of detecting it.",
        "指定而不是自动检测 MindSpore Transformers 方言。",
        choices=("static", "dynamic", "legacy"),
    ),
    Option(
        ("--var",),
        "A variable of the shell's initial environment; an assignment in the file wins. May be repeated.",
        "shell 初始环境中的变量；文件中的赋值优先。可重复。",
        kind="list",
        metavar="NAME=VALUE",
    ),
    Option(
        ("--env",),
        "Pass the whole process environment as the shell's initial environment.",
        "将整个进程环境作为 shell 的初始环境。",
        kind="flag",
    ),
    Option(
        ("--arg",),
        "The script's positional parameters $1, $2, …",
        "脚本的位置参数 $1、$2 等。",
        kind="rest",
        metavar="VALUE...",
    ),
    Option(
        ("--unset-empty",),
        "An unset variable is empty, as in bash, instead of unresolved.",
        "未设置的变量按 bash 视为空，而不是未解析。",
        kind="flag",
    ),
    Option(
        ("--world-size",),
        "How many devices, where the file cannot say.",
        "设备数量（文件无法确定时）。",
        type=int,
        metavar="N",
    ),
    Option(
        ("--launch",),
        "Which launch of a script, counted from 1 in file order.",
        "脚本中的第几个启动（按文件顺序，从 1 开始）。",
        type=int,
        metavar="N",
    ),
    Option(
        ("--declare",),
        "An argument of your fork: flag:nargs[:type]. May be repeated.",
        "分支版本自有的参数：flag:nargs[:type]。可重复。",
        kind="list",
        metavar="FLAG:NARGS[:TYPE]",
    ),
    Option(
        ("--stdin-filename",),
        "The name that standard input (`-`) goes by.",
        "标准输入（`-`）所用的文件名。",
        metavar="NAME",
    ),
)

LANGUAGE = Option(
    ("--lang",),
    "Language of messages; ACCMAP_LANG sets it too.",
    "消息语言；也可用 ACCMAP_LANG 设置。",
    choices=("en", "zh"),
)


def output_format(*choices: str) -> Option:
    """The `--format` option with these choices; the first is the default."""
    return Option(
        ("--format",), "Form of the answer.", "输出格式。", choices=choices, default=choices[0], metavar="FORMAT"
    )


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "show",
            "show",
            "Effective values of a file, with origin and position.",
            "文件的有效值，附来源与位置。",
            "FILE",
            1,
            1,
            (
                output_format("text", "json"),
                Option(("--all",), "Defaults too (text).", "也显示默认值（文本）。", kind="flag"),
                Option(("--explicit",), "Only what the file says.", "仅显示文件中写出的值。", kind="flag"),
                Option(
                    ("--only",),
                    "Only keys that match a pattern such as 'moe*'. May be repeated.",
                    "仅显示与模式（如 'moe*'）匹配的键。可重复。",
                    kind="list",
                    metavar="PATTERN",
                ),
                LANGUAGE,
            ),
        ),
        Command(
            "lr",
            "lr",
            "Learning-rate curves, and where two of them part.",
            "学习率曲线，以及两条曲线从何处分开。",
            "A [B]",
            1,
            2,
            (
                output_format("text", "json", "csv", "svg", "html"),
                Option(("--steps",), "How many steps.", "步数。", type=int, metavar="N"),
                Option(("--all-steps",), "Every step in the points.", "列出每一步。", kind="flag"),
                Option(
                    ("--log-shift",),
                    "Show Megatron's curve as its log does: the rate of the next step.",
                    "按 Megatron 日志的方式显示：打印的是下一步的学习率。",
                    kind="flag",
                ),
                Option(("-o", "--output"), "Write to a file.", "写入文件。", metavar="FILE"),
                Option(("--force",), "Overwrite the output file.", "覆盖输出文件。", kind="flag"),
                LANGUAGE,
            ),
        ),
        Command(
            "schema",
            "schema",
            "The JSON Schema of an input or of a command's JSON.",
            "输入文件或命令 JSON 输出的 JSON Schema。",
            "[NAME]",
            0,
            1,
            (
                Option(("--megatron",), "Version of the schema.", "模式的版本。", metavar="VERSION"),
                Option(("--mindformers",), "Version of the schema.", "模式的版本。", metavar="VERSION"),
                Option(
                    ("--dialect",), "MindSpore Transformers dialect.", "MindSpore Transformers 方言。",
                    choices=("static", "dynamic"),
                ),
                LANGUAGE,
            ),
            reads=False,
        ),
    )
}  # fmt: skip


def options_of(command: Command) -> tuple[Option, ...]:
    """All options of a command: its own and, where it reads files, the reading options."""
    return command.options + (READING if command.reads else ())

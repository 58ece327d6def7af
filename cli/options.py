"""Every command and every option, as one table.

The table feeds the parser of every command line (`parsing.py`, which imports nothing heavy) and the Typer
application (`app.py`), which prints help and completes words in a shell. A command is a module of this room
with a function `run`; its parameters are the options' destinations.
"""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

Kind: TypeAlias = "Literal['flag', 'value', 'list', 'rest']"


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
    most: int | None = None
    """How many words `rest` takes at most; the words after them are operands again."""

    @property
    def dest(self) -> str:
        """The name of the parameter that receives the value."""
        name = self.names[0].lstrip("-").replace("-", "_")
        return f"{name}_" if name == "from" else name  # a word of Python's own cannot be a parameter


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
    takes_flags: bool = False
    """Whether an operand may be a flag of another program: `accmap explain --num-layers`."""
    runs_others: bool = False
    """Whether it runs other commands on the same terminal, which tell there how far they are."""


READING = (
    Option(("--megatron",), "Megatron-LM version of the file.", "文件所用的 Megatron-LM 版本。", metavar="VERSION"),
    Option(
        ("--mindformers",),
        "MindSpore Transformers version of the file.",
        "文件所用的 MindSpore Transformers 版本。",
        metavar="VERSION",
    ),
    Option(
        ("--transformers",),
        "Version of transformers that reads a config.json, in place of the one that its transformers_version chooses.",
        "读取 config.json 的 transformers 版本，取代由其 transformers_version 选出的版本。",
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
        "The script's positional parameters $1, $2, …; one that begins with a dash is --arg=--flag.",
        "脚本的位置参数 $1、$2 等；以连字符开头的写作 --arg=--flag。",
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
        ("--steps",),
        "How many updates the run makes, where the file cannot say; `lr` looks at as many.",
        "训练的总步数（文件无法确定时）；`lr` 查看同样多的步数。",
        type=int,
        metavar="N",
    ),
    Option(
        ("--dataset-size",),
        "Samples of one epoch, where a YAML cannot say; the run's steps follow as the framework counts them, unless --steps gives them.",
        "一个 epoch 的样本数（YAML 无法确定时）；训练步数按框架的规则推算，除非给出 --steps。",
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
        ("--branch",),
        "Whether a condition at a line of the script holds that reading cannot decide. May be repeated.",
        "脚本中某行无法通过阅读确定的条件是否成立。可重复。",
        kind="list",
        metavar="[FILE:]LINE=yes|no",
    ),
    Option(
        ("--declare",),
        "An argument of your fork: flag:nargs[:type]. May be repeated.",
        "分支版本自有的参数：flag:nargs[:type]。可重复。",
        kind="list",
        metavar="FLAG:NARGS[:TYPE]",
    ),
    Option(
        ("--encoding",),
        "The encoding of the named files, instead of finding it: UTF-8, else GB18030 (which contains GBK).",
        "指定文件的编码，而不是自动识别（UTF-8，否则 GB18030，其包含 GBK）。",
        choices=("utf-8", "gb18030", "gbk"),
    ),
    Option(
        ("--confine",),
        "Read nothing that a file names (source, base_config, config.json) outside of the project.",
        "不读取文件中引用的、位于项目之外的文件（source、base_config、config.json）。",
        kind="flag",
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

QUIET = Option(("--quiet", "-q"), "No progress on stderr.", "不在 stderr 显示进度。", kind="flag")


def output_format(*choices: str) -> Option:
    """The `--format` option with these choices; the first is the default."""
    return Option(
        ("--format",), "Form of the answer.", "输出格式。", choices=choices, default=choices[0], metavar="FORMAT"
    )


_ACCEPT_LOSS = Option(
    ("--accept-loss",),
    "Recipe fields or keys whose loss is accepted, separated by commas: they leave the exit code. May be repeated.",
    "接受其损失的通用字段或键（逗号分隔）：不计入退出码。可重复。",
    kind="list",
    metavar="FIELD",
)
_NO_READ_BACK = Option(
    ("--no-read-back",),
    "Write even where what was written, read back, differs from the source and the report does not say so (an error of accmap's own, exit code 3).",
    "即使写出的内容读回后与源文件不同而报告未说明（accmap 自身的缺陷，退出码 3），仍照常写出。",
    kind="flag",
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
            "recipe",
            "recipe",
            "What a run is, in the vocabulary that both frameworks share.",
            "以两个框架共用的词汇描述一个训练任务。",
            "FILE",
            1,
            1,
            (output_format("text", "json"), LANGUAGE),
        ),
        Command(
            "convert",
            "convert",
            "The other framework's configuration, with a report of what could not be carried over.",
            "转换为另一框架的配置，并报告无法转换的内容。",
            "SRC",
            1,
            1,
            (
                Option(
                    ("--to",),
                    "The framework to write, the other one if not given; huggingface for the model's config.json.",
                    "目标框架；默认为另一个；huggingface 写出模型的 config.json。",
                    choices=("mindformers", "megatron", "huggingface"),
                ),
                Option(("--output", "-o"), "Write to a new file.", "写入新文件。", metavar="FILE"),
                Option(
                    ("--update",),
                    "Change an existing file: only what differs, comments and order stay.",
                    "修改现有文件：只改不同之处，保留注释与顺序。",
                    metavar="TARGET",
                ),
                Option(
                    ("--base",),
                    "For a model's config.json: the script or YAML that the rest of the run is taken from.",
                    "用于模型的 config.json：训练的其余部分取自此脚本或 YAML。",
                    metavar="FILE",
                ),
                Option(("--report",), "Write the loss report as JSON.", "将转换报告写为 JSON。", metavar="FILE"),
                Option(
                    ("--strict",),
                    "Accept no loss, whatever --accept-loss and the configuration name.",
                    "不接受任何丢失，忽略 --accept-loss 与配置中的设定。",
                    kind="flag",
                ),
                _ACCEPT_LOSS,
                _NO_READ_BACK,
                Option(("--no-comments",), "Write no comments.", "不写注释。", kind="flag"),
                Option(("--force",), "Overwrite existing files.", "覆盖已有文件。", kind="flag"),
                LANGUAGE,
            ),
        ),
        Command(
            "pair",
            "pair",
            "A launch script and a YAML for the same run, with a README for both launches.",
            "为同一训练任务写出启动脚本与 YAML，并附两侧启动说明。",
            "SRC",
            1,
            1,
            (
                output_format("text", "json"),
                Option(("--directory", "-d"), "Where to write.", "写入的目录。", metavar="DIR"),
                Option(
                    ("--align",),
                    "Simplify the run for precision alignment first: one device, two layers, nothing random.",
                    "先按精度对齐的要求简化：单卡、两层、无随机性。",
                    kind="flag",
                ),
                Option(
                    ("--step",),
                    "Align, with the parts of the real run up to this step of the ladder back again [0].",
                    "对齐，并恢复到对齐阶梯的第几级 [0]。",
                    type=int,
                    metavar="N",
                ),
                Option(
                    ("--experiment",),
                    "Set what an experiment of the guide needs: lr-zero (1,000 steps that change no weight) or benchmark (no determinism, to run the benchmark twice).",
                    "设置指南中某个实验的参数：lr-zero（学习率为 0，1000 步）或 benchmark（关闭确定性，标杆运行两次）。",
                    choices=("lr-zero", "benchmark"),
                ),
                Option(
                    ("--init-weights",),
                    "Also write a YAML that saves one checkpoint and stops at step 1.",
                    "另外写出保存一份初始权重并在第 1 步停止的 YAML。",
                    kind="flag",
                ),
                Option(("--no-comments",), "Write no comments.", "不写注释。", kind="flag"),
                _ACCEPT_LOSS,
                _NO_READ_BACK,
                Option(("--force",), "Overwrite existing files.", "覆盖已有文件。", kind="flag"),
                LANGUAGE,
            ),
        ),
        Command(
            "diff",
            "diff",
            "Two files of either framework, field by field, by their effective values.",
            "按有效值逐项比较任一框架的两个文件。",
            "A B",
            2,
            2,
            (
                output_format("text", "json"),
                Option(
                    ("--all",),
                    "Equal fields too, and those that change no numbers (text).",
                    "也显示相同的字段及不影响数值的字段（文本）。",
                    kind="flag",
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
                Option(("--all-steps",), "Every step in the points.", "列出每一步。", kind="flag"),
                Option(
                    ("--log-shift",),
                    "Show Megatron's curve as its log does: the rate of the next step.",
                    "按 Megatron 日志的方式显示：打印的是下一步的学习率。",
                    kind="flag",
                ),
                Option(("--output", "-o"), "Write to a file.", "写入文件。", metavar="FILE"),
                Option(("--force",), "Overwrite the output file.", "覆盖输出文件。", kind="flag"),
                LANGUAGE,
            ),
        ),
        Command(
            "lint",
            "lint",
            "The accuracy checklists as rules, over one file or a pair.",
            "以规则形式检查精度清单：单个文件或一对文件。",
            "[FILE|FOLDER|PATTERN...]",
            0,
            None,
            (
                output_format(
                    "text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "azure", "markdown", "csv"
                ),
                Option(
                    ("--output-file",),
                    "Write the findings, or the differences of --diff, to a file.",
                    "将结果（或 --diff 的差异）写入文件。",
                    metavar="FILE",
                ),
                Option(("--statistics",), "Count the findings by code.", "按代码统计。", kind="flag"),
                Option(
                    ("--remarks",),
                    "List the remarks too, not only their number.",
                    "列出提示，而不只是数量。",
                    kind="flag",
                ),
                Option(
                    ("--all",),
                    "Show every finding at length, not only a screenful (text).",
                    "完整显示全部发现，而不只是一屏（文本）。",
                    kind="flag",
                ),
                Option(
                    ("--quiet", "-q"),
                    "Print the findings alone: nothing where there are none (text, concise).",
                    "只输出发现；没有发现时不输出（文本、concise）。",
                    kind="flag",
                ),
                Option(
                    ("--since",),
                    "Only files that changed since this commit, as git says; a configured partner is read with them.",
                    "仅检查自该提交以来改动的文件（由 git 给出）；配置的另一半会一同读取。",
                    metavar="REF",
                ),
                Option(("--fix",), "Apply the safe fixes.", "应用安全的修复。", kind="flag"),
                Option(
                    ("--unsafe",),
                    "With --fix or --diff: also fixes that change what the run does.",
                    "与 --fix 或 --diff 合用：也应用会改变训练行为的修复。",
                    kind="flag",
                ),
                Option(("--diff",), "Show what --fix would change.", "显示 --fix 将做的修改。", kind="flag"),
                Option(
                    ("--add-ignores",),
                    "Write a comment that ignores each finding.",
                    "为每条发现写入忽略注释。",
                    kind="flag",
                ),
                Option(("--baseline",), "Findings accepted for now.", "暂时接受的发现。", metavar="FILE"),
                Option(("--write-baseline",), "Accept all present findings.", "接受当前所有发现。", metavar="FILE"),
                Option(("--profile",), "What the pair is for.", "用途。", choices=("align", "train")),
                Option(
                    ("--select",),
                    "Codes to report; first letters will do.",
                    "要报告的代码（可只写开头）。",
                    kind="list",
                    metavar="CODES",
                ),
                Option(("--ignore",), "Codes not to report.", "不报告的代码。", kind="list", metavar="CODES"),
                Option(
                    ("--extend-select",), "Codes to report as well.", "额外报告的代码。", kind="list", metavar="CODES"
                ),
                Option(
                    ("--fail-on",),
                    "The least severity that makes the exit code 1 [error].",
                    "使退出码为 1 的最低级别 [error]。",
                    choices=("error", "warning", "info", "never"),
                ),
                Option(("--config",), "Configuration file.", "配置文件。", metavar="FILE"),
                Option(("--no-config",), "Look for no configuration file.", "不查找配置文件。", kind="flag"),
                Option(("--no-cache",), "Use no cached result.", "不使用缓存。", kind="flag"),
                Option(
                    ("--force",),
                    "Let --output-file and --write-baseline replace a file that accmap did not write.",
                    "允许 --output-file 和 --write-baseline 替换并非由 accmap 写出的文件。",
                    kind="flag",
                ),
                Option(
                    ("--jobs", "-j"),
                    "Processes for several pairs; by default one a core from 64 files on.",
                    "处理多对文件的进程数；默认从 64 个文件起每核一个。",
                    type=int,
                    metavar="N",
                ),
                Option(("--watch",), "Lint again whenever a file changes.", "文件变化时重新检查。", kind="flag"),
                LANGUAGE,
            ),
        ),
        Command(
            "init",
            "init",
            "Find scripts and YAMLs in a tree, propose which belong together, and write accmap.toml.",
            "在目录中查找脚本与 YAML，给出配对建议，并写出 accmap.toml。",
            "[FOLDER]",
            0,
            1,
            (
                Option(("--yes", "-y"), "Write without a question.", "不经询问直接写出。", kind="flag"),
                Option(("--profile",), "What the pairs are for.", "配对的用途。", choices=("align", "train")),
                Option(("--force",), "Replace the configuration.", "替换已有配置。", kind="flag"),
                QUIET,
                LANGUAGE,
            ),
        ),
        Command(
            "rules",
            "rules",
            "Every rule, with severity, profiles and sources.",
            "全部规则及其级别、用途与来源。",
            "[CODE...]",
            0,
            None,
            (output_format("text", "json"), LANGUAGE),
            reads=False,
        ),
        Command(
            "defects",
            "defects",
            "Known defects of the frameworks; those that concern FILE, or what an upgrade changes for it.",
            "框架的已知缺陷；涉及 FILE 的缺陷，或升级对其带来的变化。",
            "[FILE]",
            0,
            1,
            (
                output_format("text", "json"),
                Option(
                    ("--framework",),
                    "Only defects of this framework or fork.",
                    "仅列出该框架或分支版本的缺陷。",
                    choices=("megatron", "mindformers", "mindspeed-llm"),
                ),
                Option(
                    ("--version",), "Only those that this version has.", "仅列出该版本具有的缺陷。", metavar="VERSION"
                ),
                Option(
                    ("--since",),
                    "Only those that this version or a later one has.",
                    "仅列出该版本或更新版本具有的缺陷。",
                    metavar="VERSION",
                ),
                Option(
                    ("--from",),
                    "With --to: what FILE, or a run of that version, loses and gains by an upgrade.",
                    "与 --to 一同使用：升级后 FILE（或该版本的训练）不再涉及与新涉及的缺陷。",
                    metavar="VERSION",
                ),
                Option(("--to",), "The version after the upgrade.", "升级后的版本。", metavar="VERSION"),
                LANGUAGE,
            ),
        ),
        Command(
            "explain",
            "explain",
            "What a code means, or what a flag or key corresponds to.",
            "解释一个代码，或一个参数、键的对应关系。",
            "CODE|KEY...",
            1,
            None,
            (output_format("text", "json", "markdown"), LANGUAGE),
            reads=False,
            takes_flags=True,
        ),
        Command(
            "verify",
            "verify",
            "Both real models, shrunk from two files, on the same weights and tokens.",
            "将两个文件对应的真实模型缩小后，用相同的权重与输入进行比较。",
            "A [B]",
            1,
            2,
            (
                output_format("text", "json", "html"),
                Option(
                    ("--stage",),
                    "How far to go: the first loss, the gradients, the second step, or all.",
                    "比较到哪一步：首步损失、梯度、第二步，或全部。",
                    choices=("step1", "local-norm", "step2", "all"),
                    default="all",
                ),
                Option(
                    ("--seeds",),
                    "How many draws of weights and tokens.",
                    "权重与输入的随机种子个数。",
                    type=int,
                    metavar="N",
                ),
                Option(
                    ("--against",),
                    "Compare the one installed framework with a plain reference.",
                    "将已安装的一侧框架与参考实现比较。",
                    choices=("torch",),
                ),
                Option(
                    ("--megatron-source",),
                    "A tree of Megatron-LM, or an unpacked wheel, to run in place of the installed one.",
                    "用于运行的 Megatron-LM 源码树或解包后的 wheel，代替已安装的版本。",
                    metavar="DIR",
                ),
                Option(
                    ("--mindformers-source",),
                    "The same of MindSpore Transformers.",
                    "MindSpore Transformers 的源码树或解包后的 wheel。",
                    metavar="DIR",
                ),
                Option(
                    ("--prepare",),
                    "Download the versions that the files ask for and that are not here, into a folder of accmap's own.",
                    "将文件所需而本机没有的版本下载到 accmap 自己的目录。",
                    kind="flag",
                ),
                Option(
                    ("--closest",),
                    "Run the nearest version where a file's own is not here; a match is then one in part.",
                    "没有文件所需版本时用最接近的版本运行；此时一致仅为部分一致。",
                    kind="flag",
                ),
                Option(
                    ("--precision",),
                    "Run the first pass in the files' own types, too: bfloat16, float16 and those of single places.",
                    "再按文件所写精度（bfloat16、float16 及各处类型）运行首步。",
                    choices=("float32", "as-written"),
                    default="float32",
                ),
                Option(
                    ("--ranks",),
                    "Run Megatron-LM's model over two ranks, too: tensors, layers, experts spread; what changes is named.",
                    "再以两个进程运行 Megatron-LM 的模型（切分张量、层、专家），并指出结果有何变化。",
                    kind="flag",
                ),
                Option(("--no-shrink",), "Build the models in full size.", "不缩小模型。", kind="flag"),
                Option(("--layers",), "Layers of the small models.", "缩小后的层数。", type=int, metavar="N"),
                Option(("--hidden",), "Their hidden size.", "缩小后的隐藏层维度。", type=int, metavar="N"),
                Option(("--ffn",), "Their feed-forward width.", "缩小后的前馈维度。", type=int, metavar="N"),
                Option(("--heads",), "Their attention heads.", "缩小后的注意力头数。", type=int, metavar="N"),
                Option(("--groups",), "Their query groups.", "缩小后的查询分组数。", type=int, metavar="N"),
                Option(("--experts",), "Their experts.", "缩小后的专家数。", type=int, metavar="N"),
                Option(("--topk",), "Experts of one token.", "每个 token 的专家数。", type=int, metavar="N"),
                Option(("--vocabulary",), "Their vocabulary.", "缩小后的词表大小。", type=int, metavar="N"),
                Option(("--sequence",), "Tokens of one sample.", "每条样本的长度。", type=int, metavar="N"),
                Option(
                    ("--timeout",),
                    "Seconds one framework may take.",
                    "单个框架的时间上限（秒）。",
                    type=int,
                    metavar="SECONDS",
                ),
                Option(
                    ("--memory",),
                    "Megabytes one framework may hold.",
                    "单个框架的内存上限（MB）。",
                    type=int,
                    metavar="MB",
                ),
                Option(("--output", "-o"), "Write to a file.", "写入文件。", metavar="FILE"),
                Option(("--force",), "Overwrite the output file.", "覆盖输出文件。", kind="flag"),
                QUIET,
                LANGUAGE,
            ),
        ),
        Command(
            "schema",
            "schema",
            "The JSON Schema of an input or of a command's JSON; --check holds a file to it.",
            "输入文件或命令 JSON 输出的 JSON Schema；--check 按其检查文件。",
            "[NAME]",
            0,
            1,
            (
                Option(
                    ("--check",),
                    "Say what in a file is not as its schema says, and where: a configuration, a baseline, a table, a saved answer.",
                    "指出文件中不符合其 schema 之处及位置：配置、基线、对应表或保存的 JSON 输出。",
                    metavar="FILE",
                ),
                Option(
                    ("--of",),
                    "With --check: the schema's name, where the file does not say what it is.",
                    "与 --check 合用：schema 的名称（文件自身无法表明类别时）。",
                    metavar="NAME",
                ),
                output_format("text", "json"),
                Option(("--stdin-filename",), "The name of standard input.", "标准输入的文件名。", metavar="NAME"),
                Option(("--megatron",), "Version of the schema.", "模式的版本。", metavar="VERSION"),
                Option(("--mindformers",), "Version of the schema.", "模式的版本。", metavar="VERSION"),
                Option(
                    ("--dialect",),
                    "MindSpore Transformers dialect.",
                    "MindSpore Transformers 方言。",
                    choices=("static", "dynamic"),
                ),
                LANGUAGE,
            ),
            reads=False,
        ),
    )
}


def options_of(command: Command) -> tuple[Option, ...]:
    """All options of a command: its own and, where it reads files, the reading options."""
    return command.options + reading_of(command)


def reading_of(command: Command) -> tuple[Option, ...]:
    """The reading options that a command takes: a name of its own means something else (`data check --steps 0,2-4`)."""
    if not command.reads:
        return ()
    own = {option.dest for option in command.options}
    return tuple([option for option in READING if option.dest not in own])

"""Parts of messages in Chinese: the readers say in English what was found, expected or in the way.

A message is a sentence in both languages with fields to fill. Most fields hold names and numbers; those of `SLOTS` may
hold words of English, which this table turns into Chinese where the message is Chinese. `{}` stands for any text.
"""

from __future__ import annotations

SLOTS = frozenset(("why", "expected", "what", "remedy", "context", "given", "found"))

PHRASES = (
    # what a file is
    (
        "no launch, no --flag, no arguments block and no YAML mapping was found in it",
        "其中没有启动命令、--选项、参数块或 YAML 映射",
    ),
    ("there is no MODEL_ARGS", "没有 MODEL_ARGS"),
    ("{} is not a mapping", "{} 不是映射"),
    ("its path is a placeholder", "其路径是占位符"),
    ("it is not JSON ({})", "它不是 JSON（{}）"),
    ("it is not a JSON object", "它不是 JSON 对象"),
    ("the files include one another, or this is not a name", "文件相互包含，或这不是文件名"),
    ("unset", "未设置"),
    ("end of line", "行尾"),
    ("a command", "一条命令"),
    ("nothing", "空"),
    ("a list", "列表"),
    # what a value has to be
    ("a string", "字符串"),
    ("the string {}", "字符串 {}"),
    ("a whole number", "整数"),
    ("a number", "数值"),
    ("a finite number", "有限的数值"),
    ("three whole numbers", "三个整数"),
    ("a mapping", "映射"),
    ("True or False", "True 或 False"),
    ("at least one value", "至少一个值"),
    ("one value", "一个值"),
    ("key=value pairs", "key=value 形式"),
    ("balanced brackets", "成对的括号"),
    ("a value that Python's int() takes where it equals a whole number", "Python 的 int() 能接受且等于整数的值"),
    ("a number (YAML 1.1 reads 1e-5 as text; write 1.e-5)", "数值（YAML 1.1 把 1e-5 读作文本，请写作 1.e-5）"),
    ("expected 'fp32', 'float32' or a boolean", "应为 'fp32'、'float32' 或布尔值"),
    ("expected one of {}", "应为 {} 之一"),
    ("expected a boolean or a string", "应为布尔值或字符串"),
    # YAML
    ("the tag does not fit this kind of value", "该标签不适用于此类值"),
    ("expected mappings of one key", "应为只含一个键的映射"),
    ("a lone << or = has no value; quote it", "单独的 << 或 = 没有值，请加引号"),
    ("not a {}", "不是 {}"),
    ("more than {} levels deep", "嵌套超过 {} 层"),
    (", {} (line {})", "；{}（第 {} 行）"),
    (", {}", "；{}"),
    ("while parsing a block mapping", "解析块映射时"),
    ("while parsing a block collection", "解析块列表时"),
    ("while parsing a flow mapping", "解析 {{...}} 映射时"),
    ("while parsing a flow sequence", "解析 [...] 列表时"),
    ("while parsing a node", "解析节点时"),
    ("while parsing a tag", "解析标签时"),
    ("while parsing a block node", "解析块节点时"),
    ("while scanning a simple key", "扫描键时"),
    ("while scanning a plain scalar", "扫描普通标量时"),
    ("while scanning a quoted scalar", "扫描带引号的标量时"),
    ("while scanning a block scalar", "扫描块标量时"),
    ("while scanning an anchor", "扫描锚点时"),
    ("while scanning an alias", "扫描别名时"),
    ("while scanning a tag", "扫描标签时"),
    ("while scanning a directive", "扫描指令时"),
    ("while scanning for the next token", "扫描下一个词法单元时"),
    ("did not find expected key", "缺少键（请检查缩进）"),
    ("did not find expected '-' indicator", "缺少 '-'（请检查缩进）"),
    ("did not find expected ',' or ']'", "缺少 ',' 或 ']'"),
    ("did not find expected ',' or '}}'", "缺少 ',' 或 '}}'"),
    ("did not find expected node content", "缺少节点内容"),
    ("did not find expected alphabetic or numeric character", "缺少字母或数字"),
    ("did not find expected <document start>", "此处应开始新的文档"),
    ("did not find expected whitespace or line break", "缺少空格或换行"),
    ("could not find expected ':'", "缺少 ':'"),
    ("could not find expected directive name", "缺少指令名称"),
    ("mapping values are not allowed in this context", "此处不能出现映射的值（是否多了一个冒号？）"),
    ("block sequence entries are not allowed in this context", "此处不能出现列表项"),
    ("mapping keys are not allowed in this context", "此处不能出现映射的键"),
    ("found character that cannot start any token", "此字符不能作为开头"),
    ("found unexpected end of stream", "文件意外结束"),
    ("found unexpected document indicator", "出现意外的文档分隔符"),
    ("found undefined alias", "别名未定义"),
    ("found undefined tag handle", "标签未定义"),
    ("found duplicate anchor", "锚点重复"),
    ("found unknown escape character", "转义字符未知"),
    ("found a tab character that violates indentation", "缩进中有制表符"),
    ("found a tab character where an indentation space is expected", "缩进处出现制表符"),
    ("control characters are not allowed", "不允许控制字符"),
    ("a number of more than 300 characters", "超过 300 个字符的数字"),
    # bash arithmetic
    ("syntax error", "语法错误"),
    ("syntax error: operand expected", "语法错误：缺少操作数"),
    ("the expression refers to itself", "表达式引用了自身"),
    ("the expression nests too deeply", "表达式嵌套过深"),
    ("exponent less than 0", "指数小于 0"),
    ("division by 0", "除数为 0"),
    ("invalid arithmetic base", "进制无效"),
    ("value too great for base", "数字超出该进制"),
    # learning rates
    ("the number of steps", "步数"),
    ("give `--steps N`", "请给出 `--steps N`"),
    ("give `--world-size N`", "请给出 `--world-size N`"),
    (
        "give --train-iters or --train-samples, or `--steps N` here",
        "请写出 --train-iters 或 --train-samples，或在此给出 `--steps N`",
    ),
    (
        "write it, or give `--world-size N`, from which Megatron-LM derives it",
        "请写出它，或给出 `--world-size N`，Megatron-LM 由此推导",
    ),
    (
        "write it, or give what it comes from with `--var NAME=VALUE`, `--arg VALUE` or `--branch`",
        "请写出它，或用 `--var NAME=VALUE`、`--arg VALUE` 或 `--branch` 给出它所依赖的内容",
    ),
    ("the run's length", "训练长度"),
    (
        "it depends on the data set: give `--steps N`, or `--dataset-size N`, the samples of one epoch",
        "它取决于数据集：请给出 `--steps N`，或用 `--dataset-size N` 给出一个 epoch 的样本数",
    ),
    ("the steps of one epoch", "一个 epoch 的步数"),
    (
        "warmup_epochs counts them; give `--dataset-size N`, the samples of one epoch",
        "warmup_epochs 以它计数；请用 `--dataset-size N` 给出一个 epoch 的样本数",
    ),
    ("{} cannot do without it", "{} 不能缺少它"),
    ("{} takes no total_steps, which the trainer always hands over", "{} 不接受 total_steps，而训练器总会传入它"),
    ("{}: neither {} nor {} is given", "{}：{} 与 {} 均未给出"),
    ("{}: {} is negative", "{}：{} 为负"),
    ("{}: {} is not between 0 and 1", "{}：{} 不在 0 与 1 之间"),
    ("{}: {} is not below learning_rate {}", "{}：{} 不小于 learning_rate {}"),
    ("{}: {} is not positive", "{}：{} 不是正数"),
    ("{}: t_0 and t_mult must be positive", "{}：t_0 与 t_mult 必须为正"),
    (
        "{}: base_lr must be another schedule, which a YAML cannot give",
        "{}：base_lr 必须是另一个调度，YAML 无法给出",
    ),
    ("--train-iters and --train-samples are both given", "同时给出了 --train-iters 与 --train-samples"),
    (
        "a batch of {} is smaller than micro-batch-size times data-parallel size, {}",
        "batch {} 小于 micro-batch-size 与数据并行数之积 {}",
    ),
    ("--step-batch-size-schedule {} cannot be parsed", "无法解析 --step-batch-size-schedule {}"),
    (
        "--step-batch-size-schedule must start at 0 and have positive batch sizes",
        "--step-batch-size-schedule 必须从 0 开始，且 batch 为正",
    ),
    ("--rampup-batch-size needs --train-samples", "--rampup-batch-size 需要 --train-samples"),
    ("the loss scale's minimum, window or hysteresis is out of range", "loss scale 的下限、窗口或滞后超出范围"),
    (
        "--rampup-batch-size {} does not lead up to a global batch size of {}",
        "--rampup-batch-size {} 不能增长到 global batch size {}",
    ),
    (
        "{} needs --start-weight-decay and --end-weight-decay",
        "{} 需要 --start-weight-decay 与 --end-weight-decay",
    ),
    ("warmup", "预热"),
    ("decay start", "衰减起点"),
    ("--lr-decay-style {} is not one of {}", "--lr-decay-style {} 不在 {} 之中"),
    ("--min-lr {} is negative", "--min-lr {} 为负"),
    ("--min-lr {} is above --lr {}", "--min-lr {} 大于 --lr {}"),
    ("--lr-warmup-init {} is above --lr {}", "--lr-warmup-init {} 大于 --lr {}"),
    ("the decay has no steps", "衰减没有步数"),
    (
        "the warm-up of {} samples is not shorter than the decay of {}",
        "预热的 {} 个样本不短于衰减的 {} 个",
    ),
    ("{} goes with --train-samples", "{} 须与 --train-samples 合用"),
    ("{} goes with --train-iters", "{} 须与 --train-iters 合用"),
    ("--lr-warmup-fraction excludes the other warm-up arguments", "--lr-warmup-fraction 不能与其他预热参数合用"),
    ("WSD needs {}", "WSD 需要 {}"),
    ("{} has no WSD decay style {}", "{} 没有 WSD 衰减方式 {}"),
    ("the weight decay may not be negative or fall", "权重衰减不能为负，也不能下降"),
    (
        "--override-opt_param-scheduler and --use-checkpoint-opt_param-scheduler are both given",
        "同时给出了 --override-opt_param-scheduler 与 --use-checkpoint-opt_param-scheduler",
    ),
)


_MOST_LEVELS = 8
"""A part of a message holds another a few times over; a text of a user could go on without end."""


def in_chinese(phrase: str, level: int = 0) -> str:
    """The phrase in Chinese, its own parts too; as it is where the table has none."""
    if level == _MOST_LEVELS:
        return phrase
    for parts, chinese in _patterns():
        held = _between(parts, phrase)
        if held is not None:
            return chinese.format(*[in_chinese(one, level + 1) for one in held])
    parts = phrase.split(" or ")
    said = [in_chinese(part, level + 1) for part in parts] if len(parts) > 1 else parts
    return phrase if said == parts else " 或 ".join(said)


_known: list[tuple[list[str], str]] = []


def _patterns() -> list[tuple[list[str], str]]:
    """The table, and what is said of files that cannot be read, which other messages quote."""
    if not _known:
        from .message_texts_compiled import PROBLEMS

        _known.extend((_parts(english), chinese) for english, chinese in PHRASES)
        for row in PROBLEMS.values():
            english, chinese = _numbered(row[3], row[4])
            _known.append((_parts(english), chinese))
            _known.append((_parts(english.rstrip(".")), chinese.rstrip("。")))
    return _known


def _parts(english: str) -> list[str]:
    """What stands around the holes."""
    return [part.replace("{{", "{").replace("}}", "}") for part in english.split("{}")]


def _between(parts: list[str], phrase: str) -> list[str] | None:
    """What fills the holes, each as short as can be and none empty; None where the phrase is another.

    No regular expression: with several holes it would try every way to fill them, which takes minutes for a long text.
    """
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return [] if phrase == first else None
    end = len(phrase) - len(last)
    if not (phrase.startswith(first) and phrase.endswith(last)):
        return None
    at, found = len(first), list[str]()
    for part in parts[1:-1]:
        following = phrase.find(part, at + 1, end)
        if following < 0:
            return None
        found.append(phrase[at:following])
        at = following + len(part)
    return [*found, phrase[at:end]] if at < end else None


def _numbered(english: str, chinese: str) -> tuple[str, str]:
    """A message's fields as holes: `{}` in English, and in Chinese the number of the hole that holds the same."""
    import re

    field = re.compile(r"\{(\w+?)(?:_zh)?(?::\w+)?\}")
    names = field.findall(english)
    return field.sub("{}", english), field.sub(lambda found: f"{{{names.index(found[1])}}}", chinese)

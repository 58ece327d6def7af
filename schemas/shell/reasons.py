"""Why a word is not known, in Chinese: the readers say it in English where they find it.

A sentence has at most one part of its own, written `{}`; what comes after that part's end is not compared again.
"""

from __future__ import annotations

from ..message import Words

_CHINESE = (
    ("{} is not set in the file; give it with", "文件中未设置 {}，请用 --var {}=VALUE 给出"),
    ("the script's argument {} is not given; give it with", "未给出脚本参数 {}，请用 --arg 给出"),
    (
        "it depends on the test at line {}; settle it with",
        "取决于第 {} 行的判断，请用 --branch {}=yes 或 --branch {}=no 选定",
    ),
    ("which variable {} refers to is not known", "{} 引用的变量未知"),
    ("which variable is set", "被设置的变量未知"),
    ("it depends on the test at line {}", "取决于第 {} 行的判断"),
    ("it depends on what line {} does", "取决于第 {} 行的执行情况"),
    ("it depends on how {} returns", "取决于 {} 的返回方式"),
    ("it depends on the loop at line {}", "取决于第 {} 行的循环"),
    ("the words of the loop at line {} are not known", "第 {} 行循环的取值未知"),
    ("{} is set by bash", "{} 由 bash 设置"),
    ("{} is set nowhere", "{} 未在任何地方设置"),
    ("{} depends on how the script was called", "{} 取决于脚本的调用方式"),
    ("it is what a program prints", "它是程序的输出，而 accmap 不执行任何程序"),
    ("it is what a file holds", "它是某个文件的内容"),
    ("it is read from an input", "它读自未知的输入"),
    ("a file name pattern", "文件名通配符：匹配结果取决于现有文件"),
    ("a formatted value", "格式化的结果无法确定"),
    ("its format or its arguments", "其格式或参数未知"),
    ("a process number", "进程号"),
    ("a process substitution's name", "进程替换的名称在运行时产生"),
    ("a sum of values", "若干未知值之和"),
    ("a placeholder", "占位符：PyYAML 不展开变量"),
    ("how far the arguments are shifted", "参数移动的个数未知"),
    ("how many arguments there are", "参数个数未知"),
    ("how it is split into words", "如何拆分成词未知"),
    ("the array's length", "数组长度未知"),
    ("the slice", "切片范围未知"),
    ("the home directory is not known; give", "用户主目录未知，请用 --var HOME=DIRECTORY 给出"),
    ("the home directory", "用户主目录未知"),
    ("the order of an associative array's", "关联数组的顺序没有定义"),
    ("the shell's options", "取决于 shell 的选项"),
    ("the status of a program", "取决于未执行的程序的返回状态"),
    ("the working directory", "工作目录取决于可能失败的 `cd`"),
    ("the expansion", "该展开无法确定"),
    ("it depends on a value", "取决于未知的值"),
    ("it depends on something", "取决于未知的内容"),
    ("it is not known", "未知"),
    ("what the model class builds", "无法得知该模型类构建的网络"),
)


def in_both(reason: str) -> Words:
    """The reason in both languages, for a message that names it."""
    said = reason or "it is not known"
    return Words(said, in_chinese(said))


def in_chinese(reason: str) -> str:
    """The reason in Chinese; as it is where no sentence fits."""
    head, joint, tail = reason.partition(", where ")
    if joint:
        return f"{in_chinese(head)}：{in_chinese(tail)}"
    for english, chinese in _CHINESE:
        before, hole, after = english.partition("{}")
        if not reason.startswith(before):
            continue
        if not hole:
            return chinese
        end = reason.find(after, len(before)) if after else len(reason)
        if end > len(before):
            return chinese.replace("{}", reason[len(before) : end])
    return reason

"""What the shell reader has to say: SYN001 to SYN049."""

from __future__ import annotations

from ..diagnostic import Kind

PROBLEMS: dict[str, Kind] = {
    "no-launch": Kind(
        "SYN001",
        "no-launch",
        "error",
        "No start of a training program was found: expected a command such as `torchrun ... pretrain_gpt.py "
        "--num-layers ...`.",
        "没有找到训练程序的启动命令：应有类似 `torchrun ... pretrain_gpt.py --num-layers ...` 的命令。",
    ),
    "no-launch-exit": Kind(
        "SYN001",
        "no-launch",
        "error",
        "A plain run ends at line {line}, before it starts a training program. Give what the script asks for "
        "with --arg or --var.",
        "直接运行时脚本在第 {line} 行结束，没有启动训练程序。请用 --arg 或 --var 给出脚本所需的参数。",
    ),
    "no-launch-conditions": Kind(
        "SYN001",
        "no-launch",
        "error",
        "A plain run ends at line {line}, before it starts a training program. Give what the script asks for with "
        "--arg or --var, or settle a condition that reading cannot decide (lines {lines}) with --branch LINE=yes or "
        "--branch LINE=no.",
        "直接运行时脚本在第 {line} 行结束，没有启动训练程序；第 {lines} 行的判断仅靠读取无法确定。"
        "请用 --branch 行号=yes 或 --branch 行号=no 选定，或用 --arg、--var 给出脚本所需的参数。",
    ),
    "no-launch-open": Kind(
        "SYN001",
        "no-launch",
        "error",
        "No start of a training program was found, as far as reading goes: which way the script takes at the "
        "conditions of lines {lines} cannot be decided. Settle them with --branch LINE=yes or --branch LINE=no, or "
        "with --var.",
        "没有读到训练程序的启动命令：脚本在第 {lines} 行的判断走哪条分支，仅靠读取无法确定。"
        "请用 --branch 行号=yes 或 --branch 行号=no 选定，或用 --var 给出变量。",
    ),
    "no-launch-problem": Kind(
        "SYN001",
        "no-launch",
        "error",
        "No start of a training program was found. The first problem met: {hint}",
        "没有找到训练程序的启动命令。遇到的第一个问题：{hint}",
    ),
    "unclosed": Kind(
        "SYN002",
        "unclosed-quote",
        "error",
        "{found} is opened here and never closed. Bash stops here; close it.",
        "此处的 {found} 没有闭合。bash 会在此停止，请补上闭合符号。",
    ),
    "unfinished": Kind(
        "SYN003",
        "unfinished-command",
        "error",
        "The file ends before this is finished: {found} was expected. Bash stops here.",
        "文件在此结构结束之前就结束了：缺少 {found}。bash 会在此停止。",
    ),
    "unexpected": Kind(
        "SYN004",
        "unexpected-token",
        "error",
        "Bash does not accept {found} here and stops reading. What stands above was read.",
        "bash 不接受此处的 {found}，并停止读取。此处以上的内容已读取。",
    ),
    "too-deep": Kind(
        "SYN005",
        "nested-too-deeply",
        "error",
        "The nesting is deeper than a launch script needs; reading stops here.",
        "嵌套层数超过启动脚本所需，读取在此停止。",
    ),
    "too-much-work": Kind(
        "SYN006",
        "too-much-work",
        "error",
        "The script takes more steps than a launch script needs (an endless loop or recursion?); reading stops here.",
        "脚本的执行步数超过启动脚本所需（死循环或无限递归？），读取在此停止。",
    ),
    "lost-flags": Kind(
        "SYN010",
        "lost-flags",
        "error",
        "Bash runs `{command}` as a command of its own, because the line before does not end in a backslash. "
        "The program never sees: {flags}",
        "bash 会把 `{command}` 当作独立的命令执行，因为上一行末尾没有反斜杠。程序收不到：{flags}",
    ),
    "lost-flags-blank": Kind(
        "SYN010",
        "lost-flags",
        "error",
        "Bash runs `{command}` as a command of its own, because the backslash on the line before is followed "
        "by a blank. The program never sees: {flags}",
        "bash 会把 `{command}` 当作独立的命令执行，因为上一行的反斜杠后面有空格。程序收不到：{flags}",
    ),
    "lost-flags-comment": Kind(
        "SYN010",
        "lost-flags",
        "error",
        "Bash runs `{command}` as a command of its own, because a comment stands between the lines and ends "
        "the command. The program never sees: {flags}",
        "bash 会把 `{command}` 当作独立的命令执行，因为两行之间的注释结束了命令。程序收不到：{flags}",
    ),
    "lost-flags-empty": Kind(
        "SYN010",
        "lost-flags",
        "error",
        "Bash runs `{command}` as a command of its own, because an empty line stands before it and ends the "
        "command. The program never sees: {flags}",
        "bash 会把 `{command}` 当作独立的命令执行，因为前面的空行结束了命令。程序收不到：{flags}",
    ),
    "stray-backslash": Kind(
        "SYN011",
        "stray-backslash",
        "warning",
        "A backslash followed by blanks does not continue the line; the program is given the argument {text}.",
        "反斜杠后有空格时不会续行；程序会收到参数 {text}。",
    ),
    "carriage-returns": Kind(
        "SYN012",
        "carriage-returns",
        "warning",
        "The lines end in CR LF. Bash takes the CR as part of the words; convert the file with `dos2unix`.",
        "行尾是 CR LF。bash 会把 CR 当作单词的一部分；请用 `dos2unix` 转换文件。",
    ),
    "source-missing": Kind(
        "SYN013",
        "source-not-read",
        "warning",
        "`{path}` is read here and cannot be opened: {why} What it does is not known.",
        "此处读取的 `{path}` 无法打开：{why} 其中的内容未知。",
    ),
    "source-unknown": Kind(
        "SYN014",
        "source-not-known",
        "warning",
        "Which file is read here cannot be decided: {text}. What it sets is not known.",
        "无法确定此处读取的文件：{text}。其中设置的内容未知。",
    ),
    "effect-unknown": Kind(
        "SYN040",
        "effect-not-known",
        "warning",
        "Which variables are set here cannot be decided: {text}. A value read below may be another one.",
        "无法确定此处设置了哪些变量：{text}。后文读到的值可能不同。",
    ),
    "arithmetic": Kind(
        "SYN015",
        "arithmetic-fails",
        "warning",
        "Bash cannot evaluate {text}: {why}. It drops this command and goes on.",
        "bash 无法计算 {text}：{why}。它会放弃这条命令并继续。",
    ),
    "bad-substitution": Kind(
        "SYN016",
        "bad-substitution",
        "warning",
        "Bash does not understand {text} and drops this command.",
        "bash 无法理解 {text}，会放弃这条命令。",
    ),
    "parameter-refused": Kind(
        "SYN017",
        "parameter-refused",
        "warning",
        "{text} stops the script because the variable is not set; give it with --var.",
        "{text} 因变量未设置而终止脚本；请用 --var 指定。",
    ),
    "unbound": Kind(
        "SYN018",
        "unbound-variable",
        "warning",
        "{variable} is not set and `set -u` is on: bash stops here. Give it with --var {variable}=VALUE.",
        "{variable} 未设置且 `set -u` 生效：bash 会在此停止。请用 --var {variable}=值 指定。",
    ),
    "conditional-launch": Kind(
        "SYN019",
        "conditional-launch",
        "warning",
        "Whether this launch runs cannot be decided by reading: it depends on the test at line {line}. Settle it with "
        "--branch {line}=yes or --branch {line}=no.",
        "仅靠读取无法确定此启动是否执行：取决于第 {line} 行的判断。"
        "请用 --branch {line}=yes 或 --branch {line}=no 选定。",
    ),
    "conditional-launch-open": Kind(
        "SYN019",
        "conditional-launch",
        "warning",
        "Whether this launch runs cannot be decided by reading: it depends on what line {line} does.",
        "仅靠读取无法确定此启动是否执行：取决于第 {line} 行的执行情况。",
    ),
    "exits-early": Kind(
        "SYN020",
        "exits-early",
        "warning",
        "A plain run ends here, before the launch.",
        "直接运行时脚本在此结束，到不了启动命令。",
    ),
    "no-such-launch": Kind(
        "SYN021",
        "no-such-launch",
        "error",
        "Launch {number} was asked for; the file has {count}.",
        "要求第 {number} 个启动命令；文件中只有 {count} 个。",
    ),
    "here-document": Kind(
        "SYN022",
        "unended-here-document",
        "warning",
        "This here-document is not ended; bash takes the rest of the file.",
        "此 here-document 没有结束标记；bash 会读到文件末尾。",
    ),
    "redirect-fails": Kind(
        "SYN024",
        "redirect-fails",
        "error",
        "The redirection to {text} names no single file, so bash does not run this command.",
        "重定向 {text} 没有给出唯一的文件名，bash 不会执行这条命令。",
    ),
    "input-missing": Kind(
        "SYN025",
        "input-missing",
        "error",
        "There is no file {path} to read from, so bash does not run this command. Is `<...>` a placeholder "
        "still to be filled in?",
        "没有可供读取的文件 {path}，bash 不会执行这条命令。`<...>` 是否为尚未填写的占位符？",
    ),
    "process-count": Kind(
        "SYN034",
        "process-count",
        "error",
        "{launcher} stops before the first program: --{option} is {text}, and it takes {expected}.",
        "{launcher} 在启动程序前即报错：--{option} 为 {text}，应为{expected_zh}。",
    ),
    "sweep": Kind(
        "SYN029",
        "launch-in-a-loop",
        "info",
        "A loop starts this program {count} times, with different arguments or variables. The first start is read; "
        "--launch N picks another one.",
        "循环会启动此程序 {count} 次，各次的参数或变量不同。这里读取第一次启动；可用 --launch N 选择其他启动。",
    ),
    "sweep-unknown": Kind(
        "SYN029",
        "launch-in-a-loop",
        "info",
        "A loop may start this program again with other arguments or variables, and how often cannot be decided by "
        "reading. Its first start is read.",
        "循环可能会以不同的参数或变量再次启动此程序，次数无法仅靠读取确定。这里读取第一次启动。",
    ),
    "branch-not-asked": Kind(
        "SYN037",
        "branch-not-asked",
        "warning",
        "--branch {line}: no condition that reading cannot decide was met at line {line}. Such conditions were met at "
        "{lines}.",
        "--branch {line}：读取时在第 {line} 行没有遇到无法确定的判断。无法确定的判断在第 {lines} 行。",
    ),
    "branch-none-asked": Kind(
        "SYN037",
        "branch-not-asked",
        "warning",
        "--branch {line}: no condition that reading cannot decide was met at line {line}, nor at any other.",
        "--branch {line}：读取时在第 {line} 行没有遇到无法确定的判断，其他行也没有。",
    ),
    "byte-order-mark": Kind(
        "SYN045",
        "byte-order-mark",
        "warning",
        "The file begins with a byte-order mark, which bash takes as part of the first word: an assignment there is "
        "lost, and a `#!` line is no comment. Save the file without it.",
        "文件以字节顺序标记 (BOM) 开头，bash 会把它当作第一个单词的一部分：此处的赋值会丢失，`#!` 行也不再是注释。"
        "请保存为不带 BOM 的文件。",
    ),
    "endless-loop": Kind(
        "SYN023",
        "endless-loop",
        "warning",
        "This loop does not end as far as reading can tell; reading stops here.",
        "就读取所见，此循环不会结束；读取在此停止。",
    ),
}

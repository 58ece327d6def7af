"""What can be wrong with a Megatron-LM argument vector, in both languages."""

from __future__ import annotations

from ..diagnostic import Kind

PROBLEMS = {
    "unknown-version": Kind(
        "MAP001",
        "unknown-megatron-version",
        "error",
        "Megatron-LM {given} is not a version that accmap knows; it knows {known}.",
        "accmap 不认识 Megatron-LM 版本 {given}；已知版本为 {known}。",
    ),
    "unknown-argument": Kind(
        "MAP002",
        "unknown-argument",
        "warning",
        "Megatron-LM {version} has no {flag}{suggestion}. Its parser would stop here; accmap keeps it as {key} with "
        "{count} value(s), every word up to the next flag. If a fork adds it, declare it: --declare {flag}:{nargs}.",
        "Megatron-LM {version} 没有 {flag}{suggestion_zh}，其解析器会在此报错；accmap 将其保留为 {key}，"
        "取到下一个选项之前的 {count} 个值。若是分支版本新增的参数，请声明：--declare {flag}:{nargs}。",
    ),
    "misspelt": Kind(
        "MAP026",
        "misspelt-argument",
        "error",
        "Megatron-LM {version} has no {flag}: its parser would stop here. Did you mean {near}?",
        "Megatron-LM {version} 没有 {flag}，其解析器会在此报错。是否应为 {near}？",
    ),
    "misspelt-or-own": Kind(
        "MAP040",
        "misspelt-or-own-argument",
        "warning",
        "Megatron-LM {version} has no {flag}: its parser stops here unless this program, which is none of "
        "Megatron-LM's, declares it. Did you mean {near}?",
        "Megatron-LM {version} 没有 {flag}：除非该程序（不是 Megatron-LM 自带的）自行声明了它，否则解析器会在此报错。"
        "是否应为 {near}？",
    ),
    "fork": Kind(
        "MAP042",
        "looks-like-a-fork",
        "warning",
        "This looks like a fork of Megatron-LM ({count} arguments that {version} does not know, e.g. {named}). If so, "
        "declare them in accmap.toml, declare = [{declare}, …]; otherwise its parser would stop here.",
        "这像是 Megatron-LM 的分支版本（有 {count} 个 {version} 不认识的参数，如 {named}）。若是，请在 accmap.toml "
        "中声明：declare = [{declare}, …]；否则其解析器会在此报错。",
    ),
    "stray-argument": Kind(
        "MAP003",
        "stray-argument",
        "error",
        "{text} belongs to no flag: {flag} takes {expected}. Megatron-LM refuses it; remove it, or quote it with its "
        "flag.",
        "{text} 不属于任何选项：{flag} 接受 {expected}。Megatron-LM 会拒绝；请删除它，或与其选项一起加引号。",
    ),
    "missing-value": Kind(
        "MAP004",
        "missing-value",
        "error",
        "{flag} expects {expected}, found {found}. Write the value after the flag.",
        "{flag} 需要 {expected}，实际为 {found}。请在选项后写上值。",
    ),
    "invalid-value": Kind(
        "MAP005",
        "invalid-value",
        "error",
        "{flag} expects {expected}, found {text!r}.",
        "{flag} 需要 {expected}，实际为 {text!r}。",
    ),
    "invalid-choice": Kind(
        "MAP006",
        "invalid-choice",
        "error",
        "{flag} accepts {choices}; {text!r} is none of them.",
        "{flag} 只接受 {choices}；{text!r} 不在其中。",
    ),
    "value-not-taken": Kind(
        "MAP007",
        "value-not-taken",
        "error",
        "{flag} is a switch and takes no value, found {text!r}. Megatron-LM refuses it; write {flag} alone.",
        "{flag} 是开关，不接受值，实际为 {text!r}。Megatron-LM 会拒绝；请只写 {flag}。",
    ),
    "help": Kind(
        "MAP008",
        "prints-help",
        "error",
        "{flag} makes Megatron-LM print its help and stop; no training starts.",
        "{flag} 会让 Megatron-LM 打印帮助后退出，不会开始训练。",
    ),
    "undecided-value": Kind(
        "MAP009",
        "undecided-value",
        "warning",
        "{flag} takes {text}, which cannot be decided by reading ({why}); {key} is left open.",
        "{flag} 的值 {text} 无法通过静态阅读确定（{why_zh}），{key} 留空。",
    ),
    "undecided-argument": Kind(
        "MAP010",
        "undecided-argument",
        "warning",
        "{text} cannot be decided by reading ({why}) and stands where a flag may stand: it could override any value.",
        "{text} 无法通过静态阅读确定（{why_zh}），且位于可能是选项的位置：它可能覆盖任何值。",
    ),
    "repeated": Kind(
        "MAP011",
        "repeated-argument",
        "info",
        "{flag} is given again here; the last one counts, so {key} is {value}, not {before}.",
        "此处再次给出 {flag}；以最后一次为准，{key} 为 {value}，而不是 {before}。",
    ),
    "bad-declaration": Kind(
        "MAP012",
        "bad-declaration",
        "error",
        "--declare {text!r} is not flag:nargs[:type]; nargs is a number, ?, * or +, type is str, int, float or bool.",
        "--declare {text!r} 不是 flag:nargs[:type] 的形式；nargs 为数字、?、* 或 +，type 为 str、int、float 或 bool。",
    ),
    "outside-values": Kind(
        "MAP013",
        "values-from-outside",
        "warning",
        "{flag} takes values from {where}, which is not read here; the values marked overridable may differ.",
        "{flag} 会从{where_zh}读取值，此处不读取；标记为 overridable 的值可能不同。",
    ),
    "not-a-list": Kind(
        "MAP014",
        "not-an-argument-list",
        "error",
        "The argument list cannot be read: {why}.",
        "无法读取参数列表：{why_zh}。",
    ),
    "log-cut": Kind(
        "MAP015",
        "arguments-block-cut",
        "warning",
        "The arguments block ends without its last line; values after line {line} may be missing.",
        "参数块没有结束行；第 {line} 行之后的值可能缺失。",
    ),
    "log-line": Kind(
        "MAP016",
        "arguments-line-unread",
        "warning",
        "This line of the arguments block is not 'name ... value' and is left out: {text}",
        "参数块中的这一行不是“名称 ... 值”的形式，未被读取：{text}",
    ),
    "recipe-value": Kind(
        "MAP017",
        "recipe-value",
        "warning",
        "{key} has a value that the test driver cannot turn into arguments: {why}.",
        "{key} 的值无法由测试驱动转换为参数：{why_zh}。",
    ),
    "recipe-unreadable": Kind(
        "MAP018",
        "recipe-unreadable",
        "error",
        "The recipe is not a YAML mapping with MODEL_ARGS: {why}",
        "该文件不是含有 MODEL_ARGS 的 YAML 映射：{why}",
    ),
    "other-dash": Kind(
        "MAP022",
        "dash-that-is-no-hyphen",
        "error",
        "{text} begins with a dash that is no hyphen, so Megatron-LM takes it for a value of {flag}. Write {written}.",
        "{text} 以非连字符的破折号开头，Megatron-LM 会将其当作 {flag} 的值。请写 {written}。",
    ),
    "refused": Kind(
        "MAP030",
        "refused-by-validation",
        "error",
        "Megatron-LM {version} refuses this run: it requires {condition}{when}; here {facts}.",
        "Megatron-LM {version} 会拒绝此运行：要求 {condition}{when_zh}；此处 {facts}。",
    ),
    "refused-on-hardware": Kind(
        "MAP031",
        "refused-on-some-devices",
        "warning",
        "Megatron-LM {version} refuses this run on devices before Blackwell: it requires {condition}{when}; "
        "here {facts}.",
        "在 Blackwell 之前的设备上，Megatron-LM {version} 会拒绝此运行：要求 {condition}{when_zh}；此处 {facts}。",
    ),
    "overruled": Kind(
        "MAP032",
        "overruled-by-validation",
        "warning",
        "{flag} is given as {given}, but Megatron-LM {version} uses {used}{when}.",
        "{flag} 给出的值为 {given}，但 Megatron-LM {version} 实际使用 {used}{when_zh}。",
    ),
    "no-effect": Kind(
        "MAP033",
        "argument-without-effect",
        "warning",
        "{flag} has no effect in Megatron-LM {version}{when}.",
        "{flag} 在 Megatron-LM {version} 中不起作用{when_zh}。",
    ),
    "no-world-size": Kind(
        "MAP034",
        "world-size-unknown",
        "warning",
        "The number of devices is not known, so the data-parallel size and what follows from it stay open. One model "
        "copy takes {size}; give the number with --world-size.",
        "设备数未知，数据并行大小及由其推导的值留空。一份模型需要 {size} 个设备；请用 --world-size 给出设备数。",
    ),
    "stops": Kind(
        "MAP035",
        "validation-stops",
        "error",
        "Megatron-LM {version} stops with an error: {condition} cannot be worked out{when}; here {facts}.",
        "Megatron-LM {version} 会报错退出：无法计算 {condition}{when_zh}；此处 {facts}。",
    ),
}

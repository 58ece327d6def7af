"""Whoever asks for Chinese is answered in Chinese: every mistake of every command line, every help page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from accmap.cli.options import all_commands, options_of
from accmap.cli.terminal import columns, wrap
from accmap.evidence.codes import codes
from accmap.rules.pages import every_page, page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accmap.cli.options import Command

ROOT = Path(__file__).resolve().parents[2]
_CHINESE = re.compile("[\u4e00-\u9fff]")
_ENGLISH = re.compile(r"(?<![-`'\w/])[a-z]{2,}(?: [a-z]{2,}){2,}")
"""Three words of English in a row; a name, an option or a command is shorter or in quotes."""


def in_chinese(text: str) -> bool:
    plain = re.sub(r"`[^`]*`|'[^']*'", "", text)
    return bool(_CHINESE.search(text)) and not _ENGLISH.search(plain)


def _mistakes(command: Command) -> Iterator[list[str]]:
    """What can be wrong with a command line, from the table's row."""
    files = ["x"] * command.minimum
    if not command.takes_flags:
        yield [*files, "--nonsense"]
        yield [*files, "--langg"]
    yield [*files, "--lang"]
    if command.minimum:
        yield []
    if command.maximum is not None:
        yield ["x"] * (command.maximum + 1)
    for option in options_of(command):
        name = option.names[0]
        if option.kind == "flag":
            yield [*files, f"{name}=1"]
        elif option.choices:
            yield [*files, name, "nonsense"]
        elif option.type != "str":
            yield [*files, name, "many"]
        elif name == "--var":
            yield [*files, name, "no-assignment"]


@pytest.mark.parametrize("name", all_commands())
def test_wrong_use_of_every_command(accmap, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ACCMAP_LANG", "zh")
    for words in _mistakes(all_commands()[name]):
        answer = accmap(*name.split(), *words)
        assert answer.code == 2, words
        assert all(in_chinese(line) for line in answer.err.splitlines()), (words, answer.err)


GONE = {
    "playbook": ["gone.sh", "-d", "out"],
    "dump config": ["gone.sh", "-d", "out"],
    "weights convert": ["gone", "-o", "out"],
    "weights check": ["gone"],
    "pair": ["gone.sh", "-d", "out"],
    "verify": ["gone.sh", "gone.yaml"],
    "explain": ["NOT999"],
    "schema": ["nonsense"],
    "doctor": ["gone.sh"],
}


@pytest.mark.parametrize("name", [name for name in all_commands() if name != "rules"])
def test_a_file_that_is_not_there(accmap, name: str) -> None:
    words = GONE.get(name, ["gone.sh"] * max(1, all_commands()[name].minimum))
    answer = accmap(*name.split(), *words, "--lang", "zh")
    assert answer.code == 2
    said = answer.err or answer.out  # a linter's findings are its answer
    assert in_chinese(said.splitlines()[0]), answer


OWN = [
    ("shwo x", "show"),
    ("zzz x", "命令有"),
    ("dump", "config 或 compare"),
    ("dump compara a b", "compara"),
    ("lnit --help", "lint"),
    ("dump compara --help", "compara"),
    ("convert a.sh -o x --update y", "--update"),
    ("convert a.sh -o a.sh", "是本次命令的输入"),
    ("convert a.sh -o gone/x.yaml", "文件或目录不存在"),
    ("convert a.sh -o folder", "已存在"),
    ("convert a.sh --report -", "标准输出"),
    ("pair a.sh", "-d pair"),
    ("pair a.sh -d out --step 99", "99"),
    ("pair a.sh -d a.sh/out", "无法创建"),
    ("show a.sh --world-size 0", "从 1 开始"),
    ("lr a.sh --steps 0", "从 1 开始"),
    ("lr a.sh", "`--steps N`"),
    ("lint - --fix", "标准输入"),
    ("lint a.sh --unsafe", "--unsafe"),
    ("lint a.sh --config gone.toml", "配置文件"),
    ("lint a.sh --config broken.toml", "TOML"),
    ("lint a.sh --config key.toml", "profile"),
    ("lint a.sh --config kind.toml", "profile"),
    ("lint a.sh --config array.toml", "select"),
    ("lint a.sh --config code.toml", "ZZZ999"),
    ("lint a.sh --config loop.toml", "extend"),
    ("lint a.sh --config lost.toml", "extend"),
    ("lint a.sh --config pairs.toml", "pairs"),
    ("lint a.sh --config plugin.toml", "plugins"),
    ("lint a.sh --select ZZZ999", "ZZZ999"),
    ("lint a.sh --baseline a.sh", "基线"),
    ("verify a.sh a.yaml --against torch", "已移除"),
    ("verify a.sh a.yaml --seeds 0", "从 1 开始"),
    ("verify a.sh a.yaml --layers 0", "从 1 开始"),
    ("schema nonsense", "nonsense"),
    ("explain --num-layer", "--num-layers"),
    ("logs a.log --benchmark b.log", "RUN1 RUN2"),
    ("logs a.log --benchmark b.log c.log --experiment lr-zero", "lr-zero"),
    ("logs a.log b.log --config c.log", "c.log"),
    ("logs - -", "标准输入"),
    ("logs a.log -o a.sh", "已存在"),
    ("dump config a.sh", "-d dump"),
    ("dump config a.sh -d out --scope a b c", "--scope"),
    ("dump config a.sh -d out --kind mindspore-o0 --precheck", "--precheck"),
    ("dump config a.sh -d out --summary md5", "--task statistics"),
    ("dump config a.sh a.sh -d out", "megatron"),
    ("dump config a.sh -d out --steps x", "--steps"),
    ("dump compare a b --tolerance 2", "--tolerance"),
    ("dump compare a b --jobs 0", "从 1 开始"),
    ("dump compare a b --jobs 1025", "最大为 1024"),
    ("dump scan a --jobs 1025", "最大为 1024"),
    ("lint a.sh --jobs -1", "从 1 开始"),
    ("lint a.sh --jobs 0", "从 1 开始"),
    ("lint a.sh --jobs 100000000000000000000", "64 位"),
    ("lint a.sh --jobs 1025", "最大为 1024"),
    ("schema --megatron nonsense", "0.12"),
    ("schema show --megatron nonsense", "0.12"),
    ("schema --mindformers nonsense", "1.9"),
    ("dump compare a b --config a b c", "--config"),
    ("dump compare folder", "msprobe"),
    ("dump compare folder a.csv", "a.csv"),
    ("dump compare empty.csv", "空的"),
    ("dump compare folder folder", "没有 dump"),
    ("check npy a.npy folder", "目录"),
    ("check npy a.npy b.npy --tolerance 2", "--tolerance"),
    ("check scores a.json b.json --tolerance 200", "百分比"),
    ("data check a.sh --samples 0", "从 1 开始"),
    ("data check a.sh --decode 1", "--tokenizer"),
    ("data check a.sh b.sh c.sh", "两份配置"),
    ("doctor a.sh a.sh", "megatron"),
    ("weights convert a", "-o converted"),
    ("weights convert a -o out --tensor-parallel 0", "大于 0"),
    ("weights convert a -o a.sh", "-o 应为目录"),
    ("weights convert a -o full", "--resume"),
    ("weights check", "--log FILE"),
    ("weights check a --tolerance -1", "--tolerance"),
    ("playbook a.sh", "-d playbook"),
    ("playbook - -d out", "标准输入"),
    ("playbook a.sh --env -d out", "--env"),
    ("playbook a.sh a.sh -d out", "同一框架"),
    ("playbook a.sh -d gone/deep/out", "不是目录"),
    ("playbook status gone", "不存在"),
    ("playbook status foreign", "plan"),
    ("playbook status garbled", "plan"),
]


@pytest.mark.table(3)
@pytest.mark.parametrize(("line", "said"), OWN, ids=[line for line, _ in OWN])
def test_each_command_s_own_refusals(
    accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.setenv("ACCMAP_LANG", "zh")
    (tmp_path / "folder").mkdir()
    script = "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 "
    script += "--max-position-embeddings 8 --micro-batch-size 1 --vocab-size 64 --tokenizer-type NullTokenizer "
    script += "--train-iters $N --lr 1e-4\n"
    files = {
        **dict.fromkeys(("a.sh", "b.sh", "c.sh"), script),
        "a.log": " iteration 1/ 2 | lm loss: 1.0 |\n",
        "a.yaml": "model:\n  model_config:\n    num_layers: 2\n",
        "empty.csv": "",
        "a.csv": "x\n",
        "full/x": "x",
        "broken.toml": "=",
        "key.toml": 'profil = "align"\n',
        "kind.toml": 'profile = "fast"\n',
        "array.toml": 'select = "NET"\n',
        "code.toml": 'select = ["ZZZ999"]\n',
        "loop.toml": 'extend = "loop.toml"\n',
        "lost.toml": 'extend = "gone.toml"\n',
        "pairs.toml": 'pairs = [{ megatron = "a.sh" }]\n',
        "plugin.toml": 'plugins = ["nobody"]\n',
        "foreign/plan.json": "{}",
        "garbled/plan.json": "{",
    }
    answer = accmap(*line.split(), files=files)
    assert answer.code == 2, answer
    first = answer.err.splitlines()[0]
    assert in_chinese(first), first
    assert said in answer.err


@pytest.mark.table(4)
@pytest.mark.parametrize("name", ["", "dump", "check", *all_commands()])
def test_help_has_no_english_left(accmap, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ACCMAP_LANG", "zh")
    page = accmap(*name.split(), "--help").out
    assert page.startswith("用法：accmap")
    for line in page.splitlines():
        assert not _ENGLISH.search(re.sub(r"`[^`]*`|<[^>]*>|accmap [a-z ]+", "", line)), line


@pytest.mark.parametrize("line", ["--help --lang zh", "--lang=zh -h", "dump --help --lang zh", "lint --lang zh --help"])
def test_help_in_the_language_of_the_line(accmap, line: str) -> None:
    answer = accmap(*line.split())
    assert answer.code == 0
    assert answer.out.startswith("用法：accmap")


@pytest.mark.table(5)
@pytest.mark.parametrize("name", all_commands())
def test_the_usage_line_is_the_table_s(accmap, name: str) -> None:
    page = accmap(*name.split(), "--help").out.splitlines()
    assert page[0] == f"Usage: accmap {name} [OPTIONS] {all_commands()[name].operands}".rstrip()
    assert "Arguments:" not in page


def test_reasons_of_the_system() -> None:
    from accmap.schemas.shared_words import system_reason

    for error, en, zh in (
        (PermissionError(13, "Permission denied"), "Permission denied", "权限不足"),
        (OSError(9999, "Strange"), "Strange", "Strange"),
        (ValueError("embedded null byte"), "embedded null byte", "embedded null byte"),
    ):
        reason = system_reason(error)
        assert (str(reason), reason.zh) == (en, zh)


def test_unresolved_words_say_why_in_chinese(accmap) -> None:
    import json

    files = {"a.sh": "python pretrain_gpt.py --num-layers $N --hidden-size 64\n"}
    found = json.loads(accmap("show", "a.sh", "--format", "json", "--lang", "zh", files=files).out)
    assert found["unresolved"][0]["reason"] == "文件中未设置 N，请用 `--var N=VALUE` 设置"
    found = json.loads(accmap("show", "a.sh", "--format", "json").out)
    assert found["unresolved"][0]["reason"].startswith("N is not set")


def test_a_bug_is_told_in_chinese(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr("accmap.cli.commands.show.load", broken)
    answer = accmap("show", "x.sh", "--lang", "zh")
    assert answer.code == 3
    assert "accmap 的缺陷" in answer.err


def test_every_code_has_a_chinese_name() -> None:
    """Shown in text and on the page of a code; JSON keeps the English one."""
    names = yaml.safe_load((ROOT / "rules/names.yaml").read_text("utf-8"))
    assert set(names) == {*every_page(), *codes()}
    assert not [name for name in names.values() if not _CHINESE.search(name)]
    for code in ("OPT006", "MAP072", "DEF501", "SYN990"):
        chinese = page(code, "zh")
        assert chinese is not None
        assert chinese.name == names[code]


def test_a_code_of_evidence_has_its_chinese_name(accmap) -> None:
    assert accmap("explain", "EVD044", "--lang", "zh").out.startswith("EVD044 拒绝读取的 pickle\n")
    assert accmap("explain", "EVD044").out.startswith("EVD044 refused-pickle\n")


def test_findings_have_chinese_names_and_marks(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    files = ("examples/planted/megatron.sh", "examples/planted/mindformers.yaml")
    told = accmap("lint", "--no-cache", *files, "--lang", "zh").out
    assert "错误[OPT006] 权重衰减不同\n" in told
    assert not re.search("[\u4e00-\u9fff][,;:?!]", re.sub(r"`[^`]*`", "", told))
    entries = json.loads(accmap("lint", "--no-cache", *files, "--lang", "zh", "--format", "json").out)["diagnostics"]
    assert "weight-decay-differs" in {entry["name"] for entry in entries}


@pytest.mark.parametrize("limit", [48, 60, 80])
def test_no_chinese_word_is_split_at_a_margin(limit: int) -> None:
    """A line ends at a space, behind a mark, or before a bracket."""
    sides = "甲为 16（--global-batch-size，run.sh:50），乙为 2（runner_config.batch_size、use_parallel）"
    text = f"批次大小：{sides}。请在两侧使用相同的值，否则学习率会不同。"
    lines = wrap(text, limit, "  ")
    assert all(columns(line) <= limit for line in lines)
    ends = {len(part.replace(" ", "")) for part in _starts(text)}
    for number in range(1, len(lines) + 1):
        assert len("".join(lines[:number]).replace(" ", "")) in ends, lines


def _starts(text: str) -> Iterator[str]:
    """The text up to each place where a line may end."""
    for place in range(1, len(text) + 1):
        if text[place - 1] in " ，。、；：" or text[place : place + 1] in ("（", ""):
            yield text[:place]

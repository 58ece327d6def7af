"""A refusal that an option settles prints the option with the user's own values, and that option gets past it."""

from __future__ import annotations

import ast
import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accmap.schemas.compilers.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("cli", "evidence", "verifier", "mapper", "rules", "schemas")
RAISES = {"UsageError", "UnreadableError", "RefusedError", "counts_from_one"}
_OPTION = re.compile(r"`(--?[a-z{][^`]*|accmap [^`]*)`")

_BARE = re.compile(r"(?<![\w-])--[a-z]")

SCRIPT = (
    "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 "
    "--max-position-embeddings 8 --micro-batch-size 1 --global-batch-size 1 --vocab-size 64 --lr 1e-4\n"
)
MODEL = {
    "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 96, "head_dim": 16, "intermediate_size": 128,
}  # fmt: skip
FILES = {
    "a.sh": SCRIPT,
    "two.sh": SCRIPT + SCRIPT,
    "asks.sh": ': "${DATA:?}"\n' + SCRIPT,
    "takes.sh": ': "${1:?}"\n' + SCRIPT,
    "counts.sh": "if [ $# -lt 1 ]; then exit 1; fi\n" + SCRIPT,
    "open.sh": 'if [[ $MODE == train ]]; then RUN="' + SCRIPT.strip() + '"; fi\n$RUN\n',
    "ends.sh": 'if [[ $MODE == train ]]; then RUN="' + SCRIPT.strip() + '"; fi\n$RUN\nexit 1\n',
    "there.yaml": "a: 1\n",
    "model/config.json": json.dumps(MODEL),
    "a.json": "{}",
    "a.log": " iteration 1/ 2 | lm loss: 1.0 |\n",
    "b.log": " iteration 1/ 2 | lm loss: 1.0 |\n",
    "full/x": "x",
    "set/accmap.toml": "",
}

CASES: list[tuple[str, str, str]] = [
    ("var_takes_name_value_not", "show a.sh --var DATA", "--var DATA"),
    ("takes_line_yes_or_line", "show open.sh --branch 1", "--branch 1"),
    ("a_model_is_no_run", "lr model/config.json", ""),
    ("which_framework", "convert model/config.json", ""),
    ("unsafe_goes_with_fix_or", "lint a.sh --unsafe", ""),
    ("pair_needs_the_directory_to", "pair a.sh", ""),
    ("dump_config_needs_the_directory", "dump config a.sh", ""),
    ("playbook_needs_the_directory_to", "playbook a.sh", ""),
    ("weights_convert_needs_a_place", "weights convert full", ""),
    ("is_not_empty_resume_continues", "weights convert model -o full", ""),
    ("weights_check_needs_a_checkpoint", "weights check", ""),
    (
        "ranks_ckpt_format_and_transformer",
        "weights convert model -o out --to mindformers --tensor-parallel 2",
        "--to mindformers",
    ),
    ("of_goes_with_check", "schema --of lint", ""),
    ("schema_check_takes_one_file", "schema lint --check a.json", "lint"),
    ("does_not_say_what_it", "schema --check a.json", ""),
    ("decode_needs_tokenizer_the_tokenizer", "data check a.sh --decode 1", ""),
    ("data_show_needs_a_step", "data show a.sh", ""),
    ("configured_already", "init set --yes", ""),
    ("summary_says_what_the_statistics", "dump config a.sh -d out --summary md5", ""),
    (
        "level_precheck_and_msprobe_belong",
        "dump config a.sh -d out --kind mindspore-o0 --precheck",
        "--kind mindspore-o0",
    ),
    ("weights_takes_the_two_folders", "logs a.log b.log --weights full", "--weights full"),
    ("benchmark_takes_two_runs_run1", "logs a.log --benchmark b.log", "--benchmark b.log"),
    ("a_playbook_writes_down_how", "playbook a.sh -d out --env", "--env"),
    ("already_there", "convert a.sh -o there.yaml --steps 10", ""),
    ("no_such_launch", "show two.sh --launch 3", "--launch 3"),
    ("unknown_version", "show a.sh --megatron 0.99", "--megatron 0.99"),
    ("unknown_version", "show a.sh --mindformers 7.1", "--mindformers 7.1"),
    ("unknown_version", "show model/config.json --transformers 9.9", "--transformers 9.9"),
    ("unknown_target", "convert a.sh --steps 10 --dialect dynamic --mindformers 1.8", "--mindformers 1.8"),
    ("bad_declaration", "show a.sh --declare own-flag:x", "--declare own-flag:x"),
    ("no_launch_exit", "show counts.sh", ""),
    ("no_launch_conditions", "show ends.sh", ""),
    ("no_launch_open", "show open.sh", ""),
    ("parameter_refused", "show asks.sh --unset-empty", ""),
    ("parameter_refused", "show takes.sh --unset-empty", ""),
]  # fmt: skip
"""A message, a command line that it refuses, and the words that the printed option replaces."""
FILLS = {
    "VALUE": "train",
    "FILE": "a.json",
    "NAME": "lint",
    "A": "full",
    "B": "model",
    "RUN1": "a.log",
    "RUN2": "b.log",
}
FILLS_OF = {
    "a_playbook_writes_down_how": {"NAME": "DATA"},
    "no_launch_conditions": {"NAME": "MODE"},
    "no_launch_open": {"NAME": "MODE"},
}
TRIED_ELSEWHERE = {
    "broken_mapping": "names the command that writes the mapping anew: tests/evidence/dump",
    "no_common_rank": "needs two dumps: tests/cli/test_dump_compare.py",
    "names_differ": "needs two dumps: tests/cli/test_dump_compare.py",
    "written_now_lint": "is no refusal: the next command after one that wrote a file",
    "folder_needs_a_folder": "needs a folder of YAMLs: tests/cli/test_upgrade.py",
    "upgrade_first": "names commands for an older class: tests/cli/test_convert_findings.py",
    "write_it_anew": "names a command for an older class: tests/cli/test_convert_findings.py",
    "upgrades_yaml_alone": "names the command for a launch script: tests/cli/test_upgrade.py",
    "no_version_of_any_framework": "names the command that lists the versions",
    "record_takes_no_environment": "what records refuse: tests/verifier/test_verify_records.py",
    "record_device_of_the_other": "what records refuse: tests/verifier/test_verify_records.py",
    "record_is_damaged": "what records refuse: tests/verifier/test_verify_records.py",
    "record_without_pair": "what records refuse: tests/verifier/test_verify_records.py",
    "records_of_other_weights": "what records refuse: tests/verifier/test_verify_records.py",
    "frameworks_in_store": "is no refusal: the size of the folder, after a framework was prepared",
    "diff_shows_an_update": "names the option beside --diff: tests/cli/test_translating.py",
    "lint_worker_lost": "the system has ended a process: tests/cli/hostile/test_killed.py",
    "refused": "a framework refuses the run: what it requires is printed, and no option of accmap is",
}
WRONG_USE = {
    "beyond_the_first_epoch", "is_stored_as_which_is", "other_target", "no_yaml", "nothing_known_in_it",
    "nothing_written", "one_place_to_write", "standard_input_has_no_place", "version_of_which_file",
    "folder_needs_a_folder", "leave_out_dialect", "name_such_a_file", "older_file", "adam_target", "no_adam_state",
}  # fmt: skip
"""Refusals of an option itself, which no other option settles."""


@cache
def catalogues() -> Sequence[tuple[str, str]]:
    """The English of every message by name."""
    tables = (load_table(path.read_text("utf-8")) for room in ROOMS for path in (ROOT / room).rglob("messages.yaml"))
    sections = (table.get(section, {}) for table in tables for section in ("problems", "words"))
    return [(name, entry["en"]) for section in sections for name, entry in section.items()]


@cache
def refusals() -> set[str]:
    """The messages of functions that raise a refusal: exit code 2."""
    names: set[str] = set()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        text = path.read_text("utf-8")
        if path.stem.endswith("_compiled") or not any(f"raise {name}(" in text for name in RAISES):
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef) and any(_refuses(node) for node in ast.walk(function)):
                called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
                names |= {one.attr for one in called if isinstance(one, ast.Attribute) and _speaks(one.value)}
    return names


def _refuses(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and getattr(node.exc.func, "id", "") in RAISES


def _speaks(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("say", "words")


def test_every_refusal_that_prints_an_option_is_tried() -> None:
    known = refusals()
    printing = {name for name, text in catalogues() if name in known and _OPTION.search(text)}
    tried = {name for name, _, _ in CASES} | set(TRIED_ELSEWHERE)
    assert printing - tried == set()
    assert len(known) > 100
    assert len(printing) > 20


def test_a_refusal_prints_options_to_add_as_they_are_written() -> None:
    wrong_use = re.compile(r"^(\{?[\w'-]+\}?: )?-|\b(accepts|writes a new file)\b")
    known = refusals() - WRONG_USE
    bare = {
        name: text
        for name, text in catalogues()
        if name in known and _BARE.search(re.sub(r"`[^`]*`", "", text)) and not wrong_use.search(text)
    }
    assert bare == {}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("name", "line", "replaced"), CASES, ids=[f"{name}: {line}" for name, line, _ in CASES])
def test_the_printed_option_gets_past_the_refusal(
    accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str, replaced: str, language: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCMAP_LANG", language)
    first = accmap(*line.split(), files=FILES)
    assert first.code == 2, first
    said = first.err or first.out
    printed = _OPTION.findall(said)
    assert printed, said
    fills = {**FILLS, **FILLS_OF.get(name, {})}
    tried = [_again(line, replaced, option, fills) for option in printed]
    answers = [accmap(*words, files=FILES) for words in tried]
    head = said.splitlines()[0].partition(": ")[2][:60]
    assert any(head not in answer.err + answer.out for answer in answers), (tried, answers)


def _again(line: str, replaced: str, option: str, fills: dict[str, str]) -> list[str]:
    """The command line with a printed option, its placeholders filled; a printed command line stands for itself."""
    filled = re.sub(r"\b[A-Z][A-Z0-9]*\b", lambda word: fills.get(word[0], word[0]), option)
    words = shlex.split(filled)
    kept = line.replace(f" {replaced}", "", 1) if replaced else line
    return words[1:] if words[0] == "accmap" else [*kept.split(), *words]

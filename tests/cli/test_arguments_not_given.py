"""A script that hands its own arguments on depends on them: one warning, and an error as soon as some are given."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4"
OTHERS = "--micro-batch-size 1 --seq-length 8 --max-position-embeddings 8 --train-iters 4 --lr 1e-4 "
OTHERS += "--tokenizer-type NullTokenizer --vocab-size 64"


def found(accmap, tmp_path: Path, script: str, *words: str) -> dict[str, list[str]]:
    path = tmp_path / "run.sh"
    path.write_text(script)
    answer = json.loads(accmap("lint", str(path), "--no-config", "--format", "json", *words).out)
    severities: dict[str, list[str]] = {}
    for one in answer["diagnostics"]:
        severities.setdefault(one["code"], []).append(one["severity"])
    return severities


@pytest.mark.parametrize("written", ['"$@"', "$*", '"${@:1}"'])
def test_nothing_is_given(accmap, tmp_path: Path, written: str) -> None:
    severities = found(accmap, tmp_path, f"{LAUNCH} {written}\n")
    assert severities["MAP117"] == ["warning"]
    assert not {"MAP030", "MAP126"} & set(severities)
    assert accmap("convert", str(tmp_path / "run.sh"), "-o", str(tmp_path / "new.yaml")).code == 2


def test_through_a_function_and_a_variable(accmap, tmp_path: Path) -> None:
    assert "MAP117" in found(accmap, tmp_path, f'main() {{\n  {LAUNCH} "$@"\n}}\nmain "$@"\n')
    assert "MAP117" in found(accmap, tmp_path, f'MORE="$@"\n{LAUNCH} $MORE\n')
    assert "MAP030" in found(accmap, tmp_path, f'main() {{\n  {LAUNCH} "$@"\n}}\nmain\n')


HANDED_ON = (
    'MORE=("$@")\n{launch} "${{MORE[@]}}"\n',
    'MORE="--bf16"\nMORE+=" $@"\n{launch} $MORE\n',
    'A="$@"\nB="--bf16 $A"\nCMD="{launch} $B"\neval $CMD\n',
    'set -- --bf16 "$@"\n{launch} "$@"\n',
    'main() {{\n  MORE=$(echo "$@")\n  {launch} $MORE\n}}\nmain "$@"\n',
    'read -ra MORE <<< "$@"\n{launch} "${{MORE[@]}}"\n',
    'run() {{\n  local more=("$@")\n  "${{more[@]}}"\n}}\nrun {launch} "$@"\n',
    'bash -c "{launch} $*"\n',
    'for a in "$@"; do case $a in -v) ;; *) MORE+=("$a") ;; esac; done\n{launch} "${{MORE[@]}}"\n',
    'MORE=\nfor a in "$@"; do\n  MORE="$MORE ${{a}}"\ndone\n{launch} $MORE\n',
)
KEPT = (
    'MORE=--bf16\nfor a in "$@"; do MORE=--fp16; done\n{launch} $MORE\n',
    'echo "started: $@"\n{launch}\n',
    'for a in "$@"; do echo "$a"; done\n{launch}\n',
    'log() {{ echo "$@"; }}\nlog "$@"\n{launch}\n',
    'main() {{\n  {launch}\n}}\nmain "$@"\n',
    'MORE="$@"\nMORE=--bf16\n{launch} $MORE\n',
    'A="$@" B=--bf16\n{launch} $B\n',
    '[[ -n "$@" ]]\nMORE=--bf16\n{launch} $MORE\n',
    '{launch} --bf16 && echo "$@"\n',
)
"""Scripts that name their arguments, where the launch gets them and where something else does."""


@pytest.mark.parametrize("script", HANDED_ON)
def test_handed_to_the_launch(accmap, tmp_path: Path, script: str) -> None:
    severities = found(accmap, tmp_path, script.format(launch=LAUNCH))
    assert severities["MAP117"] == ["warning"]
    assert "MAP030" not in severities


@pytest.mark.parametrize("script", KEPT)
def test_handed_to_something_else(accmap, tmp_path: Path, script: str) -> None:
    severities = found(accmap, tmp_path, script.format(launch=LAUNCH))
    assert "MAP117" not in severities
    assert "error" in severities["MAP030"]


def test_something_is_given(accmap, tmp_path: Path) -> None:
    given = [f"--arg={word}" for word in OTHERS.split()]
    script = f'{LAUNCH} "$@"\n'
    assert not {"MAP117", "MAP030"} & set(found(accmap, tmp_path, script, *given))
    assert found(accmap, tmp_path, script, "--arg=--seq-length", "--arg=8")["MAP030"] == ["error", "error"]


def test_what_is_wrong_whatever_is_given(accmap, tmp_path: Path) -> None:
    severities = found(accmap, tmp_path, f'{LAUNCH.replace("64", "65")} {OTHERS} "$@"\n')
    assert "error" in severities["MAP030"]


def test_a_placeholder_of_several_words_is_called_one(accmap, tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f'SAVE="your model path"\n{LAUNCH} {OTHERS} --save $SAVE\n')
    said = accmap("lint", str(path), "--no-config", "-q").out
    assert "--save still has a placeholder of several words (your model path)" in said
    chinese = accmap("lint", str(path), "--no-config", "-q", "--lang", "zh").out
    assert "--save 的值仍是占位符（your model path）" in chinese
    assert said.count("MAP003") == 1
    path.write_text(f"{LAUNCH} {OTHERS} --save out model\n")
    assert "model does not belong to an option" in accmap("lint", str(path), "--no-config", "-q").out


@pytest.mark.parametrize(
    ("left", "called_so"),
    [
        ("your model", True), ("Path to data", True), ("please fill in", True), ("<the folder of it>", True),
        ("{model folder}", True), ("out model", False), ("path/to data", False), ("{a: 1, b: 2}", False),
        ("<in out", False),
    ],
)  # fmt: skip
def test_what_is_a_placeholder_of_several_words(accmap, tmp_path: Path, left: str, called_so: bool) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f'SAVE="{left}"\n{LAUNCH} {OTHERS} --save $SAVE\n')
    said = accmap("lint", str(path), "--no-config", "-q").out
    assert ("still has a placeholder of several words" in said) is called_so
    assert "MAP003" in said


@pytest.mark.parametrize(
    ("words", "key", "finding"),
    [
        ("--load $LEFT", "load", "MAP003"),
        ("--load=$LEFT", "load", "MAP003"),
        ("--tokenizer-type HuggingFaceTokenizer --tokenizer-model $LEFT", "tokenizer_model", "MAP003"),
        ("--data-path $LEFT", "data_path", "MAP009"),
    ],
)
def test_a_template_converts_before_its_paths_are_filled_in(
    accmap, tmp_path: Path, words: str, key: str, finding: str
) -> None:
    """The network of a template is known; what is to be filled in is open, as a variable is that nobody sets."""
    written: dict[str, str] = {}
    rest = "--tokenizer-type NullTokenizer --vocab-size 128 --bf16"
    for name, before in (("left.sh", 'LEFT="your model path"\n'), ("unset.sh", "")):
        (tmp_path / name).write_text(f"{before}{LAUNCH} {OTHERS} {rest} {words}\n")
        answer = accmap("convert", name, "-o", "new.yaml", "--report", "r.json", "--force")
        assert answer.code == 1, answer.err
        rows = json.loads((tmp_path / "r.json").read_text())["rows"]
        assert {row["status"] for row in rows if key in row["from"]} == {
            "dropped" if "tokenizer" in key else "unresolved"
        }
        written[name] = (tmp_path / "new.yaml").read_text().partition("\n")[2]
    assert written["left.sh"] == written["unset.sh"]
    assert "your" not in written["left.sh"]
    shown = json.loads(accmap("show", "left.sh", "--format", "json").out)
    assert [(one["value"], one["origin"]) for one in shown["values"] if one["key"] == key] == [(None, "explicit")]
    assert finding in found(accmap, tmp_path, (tmp_path / "left.sh").read_text())


def test_a_template_whose_numbers_are_open_converts_to_nothing(accmap, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f'LEFT="your number"\n{LAUNCH} {OTHERS} --ffn-hidden-size $LEFT\n')
    assert accmap("convert", "run.sh", "-o", "new.yaml").code == 2
    assert not (tmp_path / "new.yaml").exists()


IN_ORDER = "LR=$3\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $1 --hidden-size ${2} --lr $LR "


def test_arguments_in_their_order_are_one_finding(accmap, tmp_path: Path) -> None:
    script = f"{IN_ORDER}--num-attention-heads 4 --micro-batch-size 1 --seq-length 8 --max-position-embeddings 8\n"
    (tmp_path / "run.sh").write_text(script)
    answer = json.loads(accmap("lint", "run.sh", "--no-config", "--format", "json").out)["diagnostics"]
    head = next(at for at, one in enumerate(answer) if one["code"] == "MAP127")
    assert "1, 2, 3" in answer[head]["message"]
    assert "accmap cannot determine num_layers, hidden_size, lr" in answer[head]["message"]
    assert [one["because_of"] for one in answer if one["code"] == "MAP009"] == [head] * 3
    said = accmap("lint", "run.sh", "--no-config", "--lang", "zh").out
    assert "脚本的位置参数 1, 2, 3" in said
    given = accmap("lint", "run.sh", "--no-config", "--arg=2", "--arg=64", "--arg=1e-4")
    assert "MAP127" not in given.out
    (tmp_path / "run.sh").write_text(script.replace("${2}", "64").replace("$LR", "1e-4"))
    alone = accmap("lint", "run.sh", "--no-config").out
    assert "MAP009" in alone
    assert "MAP127" not in alone


def test_what_one_unset_variable_leaves_open_is_one_finding(accmap, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"{LAUNCH} {OTHERS} --save ${{ROOT}} --load ${{ROOT}} --data-path $DATA\n")
    answer = json.loads(accmap("lint", "run.sh", "--no-config", "--format", "json").out)["diagnostics"]
    heads = {name: next(at for at, one in enumerate(answer) if name in one["message"]) for name in ("ROOT", "DATA")}
    for name, head in heads.items():
        of_it = [one["because_of"] for at, one in enumerate(answer) if name in one["message"] and at != head]
        assert of_it == [head] * len(of_it)
        assert answer[head]["because_of"] is None
    assert sum("ROOT" in one["message"] for one in answer) > 1

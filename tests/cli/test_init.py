"""`accmap init`: which script and which YAML of a tree are proposed as a pair, why, and what is written."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

from accmap.cli.commands.init import Candidate, proposals

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SIZES = {"model.num_layers": 2, "model.hidden_size": 64, "model.ffn_hidden_size": 128, "attention.num_heads": 4}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("planted", "qwen3_dense", "qwen3_moe", "deepseek_v3"):
        copytree(EXAMPLES / name, tmp_path / name)
    (tmp_path / "compose.yaml").write_text("services: {web: {image: nginx}}\n")
    (tmp_path / "setup.sh").write_text("pip install torch\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path.parent / "cache"))
    return tmp_path


def test_pairs_are_found_written_and_linted(accmap, folder: Path) -> None:
    answer = accmap("init")
    assert answer.code == 0
    assert "4 Megatron-LM scripts, 7 MindSpore Transformers YAMLs." in answer.out
    assert "8 of 8 sizes are equal; both names contain planted; the only script" in answer.out
    assert "--yes" in answer.out
    assert not (folder / "accmap.toml").exists()
    answer = accmap("init", "--yes", "--profile", "train")
    assert answer.code == 0
    text = (folder / "accmap.toml").read_text("utf-8")
    assert text.count("[[pairs]]") == 4
    assert 'profile = "train"' in text
    assert text.index("`accept-loss` here, above the first pair.") < text.index("[[pairs]]")
    # Of a static and a dynamic YAML that fit alike, the one of the newest graph.
    assert text.count("mindformers_dynamic.yaml") == 3
    assert "MindSpore Transformers 2.1 (dynamic graph)" in text
    assert "(4 pairs;" in accmap("lint").out
    again = accmap("init", "--yes")
    assert again.code == 2
    assert "--force" in again.err
    words = [sys.executable, "-m", "accmap", "init", "--yes", "--force", "--lang", "zh"]
    subprocess.run(words, check=True, capture_output=True)
    assert "# 8 项尺寸中有 8 项相同" in (folder / "accmap.toml").read_text("utf-8")


def test_files_in_separate_trees_are_paired_by_size(accmap, folder: Path) -> None:
    for name in ("qwen3_dense", "qwen3_moe", "deepseek_v3"):
        (folder / "gpu").mkdir(exist_ok=True)
        (folder / "npu").mkdir(exist_ok=True)
        copy(EXAMPLES / name / "megatron.sh", folder / "gpu" / f"{name}.sh")
        copy(EXAMPLES / name / "mindformers.yaml", folder / "npu" / f"{name[::-1]}.yaml")
    for name in ("planted", "qwen3_dense", "qwen3_moe", "deepseek_v3"):
        for path in (folder / name).iterdir():
            path.unlink()
    accmap("init", "--yes")
    text = (folder / "accmap.toml").read_text("utf-8")
    for name in ("qwen3_dense", "qwen3_moe", "deepseek_v3"):
        assert f'megatron = "gpu/{name}.sh"\nmindformers = "npu/{name[::-1]}.yaml"' in text


@pytest.mark.usefixtures("folder")
def test_what_fits_alike_is_not_chosen(accmap, folder: Path) -> None:
    copy(folder / "qwen3_dense" / "mindformers.yaml", folder / "qwen3_dense" / "other.yaml")
    (folder / "qwen3_dense" / "mindformers.yaml").rename(folder / "qwen3_dense" / "another.yaml")
    (folder / "qwen3_dense" / "mindformers_dynamic.yaml").unlink()
    out = accmap("init").out
    assert "undecided: qwen3_dense/megatron.sh matches" in out


def test_nothing_to_pair(accmap, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = tmp_path_factory.mktemp("empty")
    answer = accmap("init", str(empty), "--yes")
    assert answer.code == 1
    assert "0 Megatron-LM scripts," in answer.out
    assert not list(empty.iterdir())
    assert accmap("init", "setup.sh").code == 2
    assert accmap("init", "nowhere").code == 2
    assert folder


def test_a_configuration_in_pyproject_is_not_hidden(accmap, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.accmap]\nprofile = "train"\n')
    answer = accmap("init", "--yes")
    assert answer.code == 2
    assert "pyproject.toml" in answer.err


def test_names_that_toml_has_to_quote(accmap, folder: Path) -> None:
    copytree(folder / "qwen3_moe", folder / 'a "b"' / "qwen3_moe")
    for name in ("planted", "qwen3_dense", "qwen3_moe", "deepseek_v3"):
        (folder / name / "megatron.sh").unlink()
        (folder / name / "mindformers.yaml").unlink()
    accmap("init", "--yes")
    assert "(1 pair;" in accmap("lint").out


def test_sizes_outweigh_names() -> None:
    script = Candidate("qwen/run.sh", SIZES)
    other = Candidate(
        "qwen/train.yaml", {**SIZES, "model.hidden_size": 32, "model.num_layers": 9, "attention.num_heads": 8}
    )
    same = Candidate("elsewhere/x.yaml", SIZES)
    (pair,) = proposals([script], [other, same]).pairs
    assert pair.mindformers == "elsewhere/x.yaml"
    assert not proposals([script], [other]).pairs


def test_without_sizes_a_name_decides() -> None:
    scripts = [Candidate("gpu/qwen3_8b.sh", {}), Candidate("gpu/llama.sh", {})]
    yamls = [Candidate("npu/llama.yaml", {}), Candidate("npu/qwen3_8b.yaml", {})]
    found = {(pair.megatron, pair.mindformers) for pair in proposals(scripts, yamls).pairs}
    assert found == {("gpu/qwen3_8b.sh", "npu/qwen3_8b.yaml"), ("gpu/llama.sh", "npu/llama.yaml")}
    assert not proposals([Candidate("a/run.sh", {})], [Candidate("b/run.yaml", {})]).pairs


@pytest.mark.parametrize(
    ("script", "yaml"),
    [
        ("gpu/mcore/pretrain_deepseek_v3_671b.sh", "npu/deepseek3/pretrain_671b.yaml"),
        ("gpu/tune_qwen25_0point5b.sh", "npu/qwen2_5/finetune_qwen2.5_0_5b.yaml"),
    ],
)
def test_a_model_has_one_spelling(script: str, yaml: str) -> None:
    (pair,) = proposals([Candidate(script, SIZES)], [Candidate(yaml, SIZES)]).pairs
    (shared,) = (reason.text("en") for reason in pair.reasons if "names" in reason.text("en"))
    assert shared in ("both names contain deepseek3, 671b", "both names contain qwen25, 05b")


def test_a_mixture_is_no_dense_model_and_one_that_sees_is_no_language_model() -> None:
    dense, mixture = {**SIZES, "moe.num_experts": 0}, {**SIZES, "moe.num_experts": 8}
    assert not proposals([Candidate("gpu/mixtral.sh", mixture)], [Candidate("npu/llama.yaml", dense)]).pairs
    assert not proposals([Candidate("gpu/qwen3_vl.sh", dense)], [Candidate("npu/qwen3.yaml", dense)]).pairs
    assert proposals([Candidate("gpu/qwen3.sh", dense)], [Candidate("npu/qwen3.yaml", dense)]).pairs


def test_pretraining_is_no_fine_tuning_and_that_is_said(accmap, folder: Path) -> None:
    found = proposals([Candidate("gpu/pretrain_glm4.sh", SIZES)], [Candidate("npu/finetune_glm4.yaml", SIZES)])
    assert not found.pairs
    assert [pair.mindformers for pair in found.apart] == ["npu/finetune_glm4.yaml"]
    for name in ("planted", "qwen3_moe", "deepseek_v3"):
        for path in (folder / name).iterdir():
            path.unlink()
    (folder / "qwen3_dense" / "megatron.sh").rename(folder / "pretrain.sh")
    (folder / "qwen3_dense" / "mindformers.yaml").rename(folder / "finetune.yaml")
    answer = accmap("init", "--yes")
    assert answer.code == 1
    assert "not suggested: pretrain.sh and finetune.yaml (7 of 7 sizes are equal" in answer.out
    assert not (folder / "accmap.toml").exists()


def test_sizes_alone_have_to_be_the_same() -> None:
    other = {**SIZES, "data.sequence_length": 4096}
    scripts = [Candidate("gpu/llama2_7b.sh", {**SIZES, "data.sequence_length": 512})]
    assert not proposals(scripts, [Candidate("npu/board.yaml", other)]).pairs
    assert proposals(scripts, [Candidate("npu/llama2_7b.yaml", other)]).pairs
    tests = {**SIZES, "model.num_layers": 1}
    assert not proposals([Candidate("gpu/tests/st/a.sh", {})], [Candidate("npu/tests/st/b.yaml", tests)]).pairs


def test_one_size_in_both_names_is_no_name() -> None:
    # MindSpeed-LLM's seed_oss_36b_tp2pp2.sh and MindFormers' finetune_telechat3_36b.yaml, which do not say their sizes.
    yamls = [Candidate("telechat3-36b/finetune_telechat3_36b_4k.yaml", {})]
    assert not proposals([Candidate("seed-oss/seed_oss_36b_4k.sh", {})], yamls).pairs
    assert proposals([Candidate("telechat3/tune_telechat3_36b.sh", {})], yamls).pairs


def _fit(script: Candidate, yaml: Candidate, alone: frozenset[str]) -> tuple[Any, ...] | None:
    """The quality of one match, after its definition: what the pairs of a large tree are found by at once."""
    both = [name for name in script.sizes if name in yaml.sizes]
    equal = sum(script.sizes[name] == yaml.sizes[name] for name in both)
    other = len(both) - equal
    experts = [one.sizes.get("moe.num_experts") for one in (script, yaml)]
    senses = {"vl", "omni"}
    if (None not in experts and (experts[0] == 0) != (experts[1] == 0)) or script.words & senses != yaml.words & senses:
        return None
    names = script.words & yaml.words
    together = os.path.dirname(script.path) == os.path.dirname(yaml.path) and os.path.dirname(script.path) in alone
    if equal < 3 or other:
        contradicted = other > equal or (not together and 3 * other > equal)
        if contradicted or not (together or any(not re.fullmatch(r"[a-z]?\d+[a-z]?", word) for word in names)):
            return None
    stages = {"tune" if "sft" in one.path else "pretrain" if "pretrain" in one.path else "" for one in (script, yaml)}
    same_stage = stages != {"tune", "pretrain"}
    return equal - 2 * other + 2 * together, same_stage, len(names), -len(script.words ^ yaml.words), yaml.is_usual


def _pairs_one_by_one(scripts: list[Candidate], yamls: list[Candidate]) -> set[tuple[str, str]]:
    folders = [[os.path.dirname(one.path) for one in side] for side in (scripts, yamls)]
    alone = frozenset(one for one in folders[0] if folders[0].count(one) == folders[1].count(one) == 1)
    fits = {(one.path, two.path): fit for one in scripts for two in yamls if (fit := _fit(one, two, alone))}

    def best(path: str, side: int) -> list[str]:
        of_path = {pair[1 - side]: fit for pair, fit in fits.items() if pair[side] == path}
        return [other for other, fit in of_path.items() if fit == max(of_path.values())]

    chosen = [(one.path, best(one.path, 0)) for one in scripts]
    return {(path, few[0]) for path, few in chosen if len(few) == 1 and best(few[0], 1) == [path]}


def test_pairs_are_those_that_fit_best_one_by_one() -> None:
    chance = random.Random(3)
    words = ("qwen3", "8b", "30b", "llama", "vl", "pretrain", "sft", "gpu", "npu", "a3b", "4k", "glm", "omni")
    sizes = [*SIZES, "moe.num_experts"]

    def candidates(ending: str) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        for _ in range(chance.randint(1, 12)):
            name = "_".join(chance.sample(words, chance.randint(1, 3)))
            path = f"{chance.choice(words)}/{name}_{chance.randrange(40)}{ending}"
            known = {one: chance.choice([0, 1, 2, 2, 2]) for one in chance.sample(sizes, chance.randint(0, len(sizes)))}
            found[path] = Candidate(path, known, ending == ".yaml" and chance.random() < 0.5)
        return list(found.values())

    for _ in range(300):
        scripts, yamls = candidates(".sh"), candidates(".yaml")
        found = proposals(scripts, yamls)
        pairs = {(one.megatron, one.mindformers) for one in (*found.pairs, *found.apart)}
        assert pairs == _pairs_one_by_one(scripts, yamls)


@pytest.mark.parametrize("numbered", [True, False])
def test_five_thousand_pairs_take_seconds(numbered: bool) -> None:
    """Twenty-five million comparisons would take minutes."""
    names = [f"qwen_{number}" if numbered else "qwen" for number in range(5_000)]
    scripts = [Candidate(f"gpu/{name}/run{at}.sh", SIZES) for at, name in enumerate(names)]
    yamls = [Candidate(f"npu/{name}/train{at}.yaml", SIZES) for at, name in enumerate(names)]
    began = time.process_time()
    found = proposals(scripts, yamls)
    assert time.process_time() - began < 10
    assert len(found.pairs) == (5_000 if numbered else 0)

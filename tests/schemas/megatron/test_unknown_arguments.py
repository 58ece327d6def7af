"""Unknown arguments by what they mean; which version knows which is what the real parsers of 0.12-0.19 say."""

from __future__ import annotations

import pytest

from accmap.mapper.preconditions import refusals
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS
from accmap.schemas.megatron.versions import versions_of
from accmap.schemas.mindformers.only_in_compiled import ONLY_IN
from accmap.schemas.mindformers.versions import DEFAULT_STATIC, STATIC_VERSIONS, static_catalog
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText
from accmap.schemas.suggestion import slip

SIZES = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 "


def read(arguments: str, version: str | None = None) -> Config:
    return config_of(SourceText("a.txt", SIZES + arguments), ReadOptions(megatron=version), path="a.txt")


def kinds(config: Config) -> list[tuple[str, str]]:
    names = ("unknown-argument", "misspelt-argument", "looks-like-a-fork", "argument-of-another-version")
    return [(entry.kind.name, entry.kind.severity) for entry in config.problems if entry.kind.name in names]


@pytest.mark.parametrize("flag", ["--log-intervall 1", "--micro-batch-sise 1", "--num_experts 2", "--use-mcore-model"])
def test_a_slip_of_the_pen_is_an_error(flag: str) -> None:
    config = read(flag)
    assert kinds(config) == [("misspelt-argument", "error")]
    message = next(entry for entry in config.problems if entry.kind.code == "MAP026").message()
    assert "its parser would stop here" in message


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--ffn-hidden 64", "--ffn-hidden-size"),
        ("--no-group-query-attention", "--group-query-attention"),
        ("--rope-fusion", "--no-rope-fusion"),
    ],
)
def test_a_flag_without_its_last_word_or_denied_is_a_slip(flag: str, meant: str) -> None:
    """The real parsers of 0.12-0.19 take no abbreviations and end with exit code 2."""
    config = read(flag, "0.12")
    assert kinds(config) == [("misspelt-argument", "error")]
    assert meant in next(entry for entry in config.problems if entry.kind.code == "MAP026").message()


def test_a_fork_may_deny_what_it_likes() -> None:
    config = read("--no-group-query-attention --noop-layers 3 --tune-the-thing --sparse-mode 2 --own-kernel")
    assert kinds(config) == [("looks-like-a-fork", "warning")]


def test_a_program_of_its_own_may_declare_what_looks_like_a_slip() -> None:
    # megatron core_v0.12.0 training/initialize.py:initialize_megatron takes extra_args_provider; Pai-Megatron-Patch's
    # pretrain_qwen.py declares --patch-size with it, which is one letter from --batch-size.
    for program, found in (("pretrain_qwen.py", ["MAP040"]), ("pretrain_gpt.py", ["MAP026"])):
        text = f"torchrun {program} {SIZES} --patch-size 14\n"
        config = config_of(SourceText("a.sh", text), ReadOptions(megatron="0.12"), path="a.sh")
        codes = {entry.kind.code: entry.kind.severity for entry in config.problems}
        assert [code for code in codes if code in ("MAP026", "MAP040")] == found
        assert codes[found[0]] == ("error" if program == "pretrain_gpt.py" else "warning")


@pytest.mark.parametrize("flag", ["--my-own-thing 1", "--o-lora-rank 8", "--frobnicate"])
def test_another_word_is_no_slip(flag: str) -> None:
    assert kinds(read(flag)) == [("unknown-argument", "warning")]


@pytest.mark.parametrize(
    ("program", "version", "severity"),
    [
        ("pretrain_gpt.py", "0.16", "error"),
        ("pretrain_gpt.py", None, "warning"),
        ("pretrain_qwen.py", "0.16", "warning"),  # a program of its own may declare it
        ("pretrain_gpt.py --moe-router-fusion", None, "error"),  # 0.14 is detected
    ],
)
@pytest.mark.parametrize("flags", ["--frobnicate", "--tune-a --tune-b 1 --tune-c --tune-d"])
def test_the_parser_of_a_known_version_stops_at_it(
    program: str, version: str | None, severity: str, flags: str
) -> None:
    """No command refuses the run for it: a fork may know the flag."""
    text = f"torchrun {program} {SIZES} {flags}\n"
    config = config_of(SourceText("a.sh", text), ReadOptions(megatron=version), path="a.sh")
    names = ("unknown-argument", "looks-like-a-fork")
    if "fusion" in program and "tune" in flags:
        severity = "warning"  # so many flags of a fork say no version
    assert [one.kind.severity for one in config.problems if one.kind.name in names] == [severity]
    assert [one.code for one in refusals(config) if one.code in ("MAP002", "MAP042")] == []


def test_dialects_that_know_a_flag_are_named() -> None:
    (problem,) = [one for one in read("--use-fused-rmsnorm").problems if one.kind.name == "unknown-argument"]
    assert "mindspeed-llm (`--megatron mindspeed-llm`)" in problem.message()
    assert "--declare --use-fused-rmsnorm:0" in problem.message()


def test_many_are_a_fork() -> None:
    config = read("--noop-layers 3 --tune-the-thing --sparse-mode 2 --own-kernel --moe-router-fusion --log-intervall 1")
    assert sorted(kinds(config)) == [("looks-like-a-fork", "warning"), ("misspelt-argument", "error")]
    assert config.framework_version == "0.12"
    (fork,) = [entry for entry in config.problems if entry.kind.code == "MAP042"]
    assert "5 of its arguments" in fork.message()
    assert "accmap.toml" in fork.message()


def test_an_argument_of_another_version() -> None:
    assert kinds(read("--moe-router-fusion", "0.12")) == [("argument-of-another-version", "error")]
    assert kinds(read("--moe-router-fusion")) == []
    assert read("--moe-router-fusion").framework_version == "0.14"
    # --enable-cuda-graph is gone from 0.16 on, --perform-rl-step comes with 0.15.
    assert read("--enable-cuda-graph --perform-rl-step").framework_version == "0.15"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("--log-intervall", "--log-interval", True),
        ("--lgo-interval", "--log-interval", True),
        ("--stage2-size", "--stage1-size", False),
        ("--lr", "--l", False),
        ("--q-lora-rank", "--o-lora-rank", False),
        ("--train-samples", "--train-iters", False),
        ("--lrr", "--lr", True),
        ("--rl", "--lr", True),
        ("hidden_sizee", "hidden_size", True),
        ("top_k", "top_p", False),
    ],
)
def test_slips(one: str, other: str, near: bool) -> None:
    assert slip(one, other) == near


def test_which_versions_know_an_option() -> None:
    assert versions_of("--perform-rl-step") == VERSIONS[VERSIONS.index("0.15") :]


def test_keys_of_one_version_are_those_of_the_catalogs() -> None:
    def keys(version: str) -> set[str]:
        facts = static_catalog(version)
        sections = facts["sections"]
        general = set(sections["general_config"]["defaults"])
        inner = {
            f"{name}.{key}"
            for name, section in sections.items()
            if isinstance(section["defaults"], dict) and name != "general_config"
            for key in section["defaults"]
        }
        types = {f"model_type:{name}" for name in facts["names"] if not name.startswith("mcore_")}
        return general | set(sections) | inner | types

    usual = keys(DEFAULT_STATIC)
    told = {
        path[-1] if values is None else f"model_type:{value}"
        for path, values, _ in ONLY_IN
        for value in values or ("",)
    }
    assert set().union(*(keys(version) for version in STATIC_VERSIONS)) - usual == told


@pytest.mark.parametrize(("version", "rows"), [("0.17", 50304), ("0.19", 50304)])
def test_gpt2s_vocabulary_is_fetched_where_no_tokenizer_is_named(version: str, rows: int) -> None:
    # megatron core_v0.19.0 core/tokenizers/text/libraries/megatron_hf_tokenizer.py:_get_vocab_file downloads it, and
    # build_tokenizer.py:_set_padded_vocab_size pads its 50,257 tokens; 0.16 asserts a file.
    text = f"torchrun pretrain_gpt.py {SIZES} --seq-length 8 --max-position-embeddings 8 --micro-batch-size 1 --lr 1e-4"
    config = config_of(
        SourceText("a.sh", f"{text} --train-iters 1 --vocab-size 31999\n"), ReadOptions(megatron=version), path="a.sh"
    )
    assert config.value("tokenizer_type") == "GPT2BPETokenizer"
    assert config.value("padded_vocab_size") == rows


def test_a_flag_of_an_optional_package_may_be_there() -> None:
    # megatron core_v0.12.0 and later pretrain_gpt.py: add_modelopt_args, if nvidia-modelopt is there
    config = read("--export-te-mcore-model --export-kd-cfg x.yaml", "main")
    assert kinds(config) == [("unknown-argument", "warning")] * 2
    assert all("nvidia-modelopt" in one.message() for one in config.problems if one.kind.code == "MAP002")

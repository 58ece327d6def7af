"""`accmap explain` knows every name that a finding mentions, and finds names by what people call them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from accmap.cli.commands.explain import explanation_of
from accmap.cli.reference.key_explanation import options_named
from accmap.cli.reference.key_search import find_named, known_keys, plain_path
from accmap.cli.reference.reference_compiled import KEYS, NAMES, SECTIONS, SYNONYMS
from accmap.cli.reference.section_explanation import same_as, section_record, sections_named
from accmap.cli.reference.word_search import candidates, meaning_of
from accmap.evidence.codes import codes as evidence_codes
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table
from accmap.rules.pages import every_page
from accmap.rules.registry import codes, rule
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.megatron.catalog import VERSIONS, catalog
from accmap.schemas.megatron.dialects import dialect_named, known_dialects

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
_READ = ("en", "message", "what", "why", "title", "effect", "do", "advice", "consequence")
"""What a person reads of a catalogue's entry; examples have names of their own making."""
_NAME = re.compile(r"(?<![\w./{-])(--[a-z][\w-]+|[a-z][a-z0-9]*(?:[._][a-z0-9]+)+)(?![\w/(=.-]|\.\w)")
_FILE = (".py", ".json", ".txt", ".toml", "example.yaml")
NOT_SETTINGS = {
    "e.g", "torch_dist", "set_seed", "noaux_tc", "--key", "safe_load", "high_precision", "learned_absolute",
    "get_optimizer_param_scheduler", "check_runner_config", "gbs_aux_loss",
}  # fmt: skip
"""Words of messages that are functions and values."""


def _texts(node: Any, read: bool = False) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _texts(value, read=read or key in _READ)
    elif isinstance(node, list):
        if len(node) == 2 and all(isinstance(one, str) for one in node):
            node = node[:1]  # [English, Chinese]
        for value in node:
            yield from _texts(value, read=read)
    elif isinstance(node, str) and read:
        yield node


@cache
def mentioned() -> frozenset[str]:
    """Every name of a setting in the messages of findings, fixes and loss reports."""
    files = [
        *(ROOT / "rules" / "catalog").glob("*.yaml"), *(ROOT / "rules" / "explained").glob("*.yaml"),
        *(ROOT / "mapper").rglob("messages.yaml"), *(ROOT / "schemas").rglob("messages.yaml"),
        ROOT / "rules" / "messages.yaml",
    ]  # fmt: skip
    texts = [text for file in files for text in _texts(yaml.load(file.read_text("utf-8"), yaml.CSafeLoader))]
    notes = [text for row in table().rows for text in (row.en, *(caveat.en for caveat in row.caveats))]
    bare = (re.sub(r"\{[^}]*}", " ", text) for text in (*texts, *notes))
    words = {word for text in bare for word in _NAME.findall(text) if not word.endswith(_FILE)}
    return frozenset(words - NOT_SETTINGS)


def _sides() -> Iterator[tuple[str, Any]]:
    for row in table().rows:
        for side in row.megatron:
            yield "megatron", side
        for side in row.static + row.dynamic:
            yield "mindformers", side


@cache
def keys_of_rows() -> frozenset[str]:
    return frozenset(
        one
        for of, side in _sides()
        if of == "mindformers"
        for key in side.keys + side.aliases
        for one in key.split("|")
    )


@cache
def every_name() -> dict[str, str]:
    """Each name that a finding can mention, and where it comes from."""
    names = dict.fromkeys(keys_of_rows(), "key of a row")
    names |= dict.fromkeys(known_keys(), "key of a version")
    for version in VERSIONS:
        names |= dict.fromkeys(catalog(version).by_option, "flag")
    for name in known_dialects():
        names |= dict.fromkeys(
            (option for fact in dialect_named(name).arguments for option in fact.options), "flag of a fork"
        )
    paths = [plain_path(path) for path in names if "." in path and not path.startswith(("-", "resolved."))]
    for path in paths:
        parts = path.split(".")
        names |= dict.fromkeys((".".join(parts[:end]) for end in range(1, len(parts))), "section")
    names |= dict.fromkeys(SECTIONS, "section")
    names |= dict.fromkeys(vocabulary(), "field")
    names |= {one: "read by a row" for of, side in _sides() if of == "mindformers" for one in side.read}
    launch = load_table((ROOT / "schemas" / "mindformers" / "launch_options.yaml").read_text("utf-8"))
    names |= {row[0]: "option of a launch" for row in launch["OPTIONS"] if row[0] != "--help"}
    names |= {field: "field of a rule" for code in codes() for field in rule(code).fields if not field.endswith(".")}
    return names | dict.fromkeys(mentioned(), "word of a message")


def _has_row(found: Any, sections: tuple[str, ...]) -> bool:
    if found is not None and (found.rows or found.related) and not found.mentioned:
        return True
    return any(
        graph["rows"] or graph["sections"] for path in sections for graph in section_record(path, "en")["graphs"]
    )


def is_known(name: str) -> bool:
    """True if `explain` answers; its answer itself takes longer."""
    return bool(find_named(same_as(name)) or sections_named(name) or options_named(name) or name in NAMES)


def test_every_name_that_a_finding_can_mention_is_explained() -> None:
    names = every_name()
    assert {name: origin for name, origin in names.items() if not is_known(name)} == {}
    assert len(names) > 6000
    assert len(mentioned()) > 150


def test_every_code_is_explained() -> None:
    listed = [*every_page(), *evidence_codes()]
    assert [code for code in listed if explanation_of(code, "en", "json") is None] == []
    assert len(listed) > 500


def test_nothing_that_the_tables_have_is_said_to_have_no_counterpart() -> None:
    rows = keys_of_rows()
    arguments = {one for of, side in _sides() if of == "megatron" for key in side.keys for one in key.split("|")}
    sections = {plain_path(path).rpartition(".")[0] for path in rows} - {""}
    names = {key for key in rows if not key.startswith("resolved")} | {one for one in arguments if one in _dests()}
    lost = [name for name in names if not _has_row(find_named(name), ())]
    lost += [path for path in sections if not path.startswith("resolved") and not _has_row(None, sections_named(path))]
    assert lost == []
    assert len(names) > 700
    assert len(sections) > 20


@cache
def _dests() -> frozenset[str]:
    return frozenset(dest for version in VERSIONS for dest in catalog(version).by_dest)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("path", "flag", "line"),
    [
        ("lr_schedule", "--lr-warmup-iters", "  warmup_steps: 50"),
        ("runner_config", "--micro-batch-size", "  batch_size: 1"),
        ("parallel_config", "--tensor-model-parallel-size", "  model_parallel: 2"),
        ("train_dataset.data_loader", "--train-iters", "    type: BlendedMegatronDatasetDataLoader"),
        ("data_loader", "--train-iters", "    sizes: [16000, 0, 0]"),
        ("model.model_config", "--num-layers", "    num_hidden_layers: 4"),
        ("grouped_lr_schedule.default", "--lr", None),
        ("lr_scheduler", "--lr", "lr_scheduler:"),
        ("recompute_config", "--recompute-granularity", "  recompute: True"),
    ],
)
def test_a_section_says_what_it_holds_its_counterparts_and_an_example(
    accmap, path: str, flag: str, line: str | None, language: str
) -> None:
    answer = accmap("explain", path, "--lang", language, "--format", "json")
    (section,) = json.loads(answer.out)["sections"]
    assert section["holds"]
    assert flag in [one for graph in section["graphs"] for row in graph["rows"] for one in row["megatron"]]
    assert section["reason"] is None
    if line is not None:
        assert any(one.startswith(line) for example in section["examples"] for one in example["text"].split("\n"))
    told = accmap("explain", path, "--lang", language).out
    assert flag in told
    assert section["holds"].split()[0] in told


def test_each_section_is_described() -> None:
    known = {name for name, origin in every_name().items() if origin == "section" and "." not in name}
    described = {name for name in known if name in SECTIONS or not sections_named(name)}
    assert known - described == set()


def test_a_key_of_a_group_of_schedules_is_that_of_a_schedule(accmap) -> None:
    answer = json.loads(accmap("explain", "grouped_lr_schedule.default.warmup_steps", "--format", "json").out)
    assert "schedule.warmup_steps" in [field["field"] for row in answer["rows"] for field in row["fields"]]


@pytest.mark.parametrize(("words", "names"), SYNONYMS, ids=[words[0] for words, _ in SYNONYMS])
def test_every_synonym_leads_to_names_that_are_explained(words: tuple[str, ...], names: tuple[str, ...]) -> None:
    for language in ("en", "zh"):
        for name in names:
            assert meaning_of(name, language), name
    pages = {*every_page(), *evidence_codes()}
    assert [name for name in names if name not in pages and not is_known(name)] == []
    assert any(not word.isascii() for word in words) or words[0] in {"gmm", "qk norm", "softmax"}


def test_no_word_is_a_synonym_of_two_things() -> None:
    seen: dict[str, str] = {}
    for words, _ in SYNONYMS:
        for word in words:
            assert seen.setdefault(word.lower(), words[0]) == words[0], word


@pytest.mark.parametrize(
    ("word", "first", "among"),
    [
        ("tp", "--tensor-model-parallel-size", "parallel_config.model_parallel"),
        ("学习率", "--lr", "lr_schedule"),
        ("warm up", "--lr-warmup-iters", "lr_schedule.warmup_steps"),
        ("全局批次大小", "--global-batch-size", "runner_config.batch_size"),
        ("global batch", "--global-batch-size", "batch.global_size"),
        ("梯度裁剪", "--clip-grad", "gradient.clip_norm"),
        ("rotary base", "--rotary-base", "model.model_config.rope_theta"),
        ("pre softmax", "--moe-router-pre-softmax", "model.model_config.moe_router_pre_softmax"),
        ("sink terms", "attention.softmax_type", None),
    ],
)
def test_words_of_people_find_names(accmap, word: str, first: str, among: str | None) -> None:
    for language in ("en", "zh"):
        answer = accmap("explain", word, "--lang", language, "--format", "json")
        assert answer.code == 0, answer
        listed = json.loads(answer.out)["candidates"]
        assert listed[0]["name"] == first
        assert among is None or among in [one["name"] for one in listed]
        assert all(one["meaning"] for one in listed)
        assert first in accmap("explain", word, "--lang", language).out


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("warmup_stps", "warmup_steps"),
        ("--num-layer", "--num-layers"),
        ("tensr parallel", "--tensor-model-parallel-size"),
        ("OPT13", "OPT013"),
        ("OPT03", "OPT003"),
        ("NET00X1", "NET001"),
    ],
)
def test_a_misspelt_name_is_refused_and_the_nearest_are_listed(accmap, word: str, first: str) -> None:
    answer = accmap("explain", word, "--format", "json")
    assert answer.code == 2
    assert "is not a code or a key" in answer.err
    assert json.loads(answer.out)["candidates"][0]["name"] == first


def test_a_phrase_needs_no_quotes(accmap) -> None:
    assert accmap("explain", "warm", "up").out == accmap("explain", "warm up").out


def test_names_that_are_also_what_people_say_point_to_the_others(accmap) -> None:
    answer = accmap("explain", "lr")
    assert answer.out.startswith("lr\n")
    assert "--lr" not in [
        one["name"] for one in json.loads(accmap("explain", "lr", "--format", "json").out)["candidates"]
    ]
    assert "Other names for lr\n" in answer.out
    assert "\n  lr_schedule " in answer.out
    assert "Other names" not in accmap("explain", "rope_theta").out  # its row has them all


def test_a_word_that_means_nothing(accmap) -> None:
    answer = accmap("explain", "qqqqqqqqzz")
    assert answer.code == 2
    assert "is not a code or a key" in answer.err
    assert candidates("qqqqqqqqzz", "en") == []


def test_an_option_of_accmap_that_findings_name(accmap) -> None:
    answer = json.loads(accmap("explain", "--declare", "--format", "json").out)
    assert [option["takes"] for option in answer["options"]] == ["FLAG:NARGS[:TYPE]"]
    assert "lint" in answer["options"][0]["commands"]


def test_data_beside_the_tables_name_what_is_known() -> None:
    sections = load_table((ROOT / "cli" / "reference" / "sections.yaml").read_text("utf-8"))["sections"]
    assert list(SECTIONS) == list(sections)
    assert [key for key in KEYS if find_named(key) is None] == []
    assert [name for name in NAMES if find_named(name) is not None] == []

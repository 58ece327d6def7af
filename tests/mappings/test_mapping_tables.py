"""The mapping tables: well formed, compiled fresh, complete, and every row of the guide executed both ways."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from accmap.cli.reference.key_search import find_named
from accmap.mapper.lenses import LENSES
from accmap.mapper.recipe.vocabulary import COMPUTED, vocabulary
from accmap.mapper.translate.translation import translate
from accmap.mappings import compile_tables
from accmap.mappings.tables import Row, table
from accmap.schemas.config import ReadOptions
from accmap.schemas.megatron.catalog import VERSIONS, ArgumentFact, catalog
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

GUIDE = json.loads(Path(__file__).with_name("guide_rows.json").read_text(encoding="utf-8"))
BASE = {
    "num_layers": "8", "hidden_size": "64", "num_attention_heads": "8", "max_position_embeddings": "128",
    "seq_length": "128", "micro_batch_size": "1", "global_batch_size": "8", "train_iters": "100", "lr": "1e-4",
    "tokenizer_type": "NullTokenizer", "vocab_size": "1000",
}  # fmt: skip
YAML = """
use_legacy: False
run_mode: train
use_parallel: True
trainer: {type: CausalLanguageModelingTrainer}
runner_config: {batch_size: 1, epochs: 1}
parallel_config: {data_parallel: 1}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0}
train_dataset: {data_loader: {type: BlendedMegatronDatasetDataLoader, sizes: [100, 0, 0], config: {seq_length: 128}}}
model: {model_config: {model_type: deepseek_v3, architectures: DeepseekV3ForCausalLM, num_hidden_layers: 8, %s}}
"""


def test_every_argument_has_a_row_or_a_reason() -> None:
    content = compile_tables.compile_tables()
    known = compile_tables._keys(content["ROWS"]) | set(content["MEGATRON_REASONS"])
    assert sorted({dest for version in VERSIONS for dest in catalog(version).by_dest} - known) == []


def test_rows_name_known_fields_lenses_and_conditions() -> None:
    fields = vocabulary()
    for row in table().rows:
        assert all(field in fields for field in row.fields), row.fields
        for side in row.megatron + row.static + row.dynamic:
            assert side.lens in LENSES, side.lens
            assert side.fixed is None or len(side.fixed) == len(row.fields), row.fields
        conditions = row.only + tuple(one for caveat in row.caveats for one in caveat.when)
        assert all(condition[0] in fields for condition in conditions), row.fields
        assert bool(row.en) == bool(row.zh), row.fields
        assert all(caveat.en and caveat.zh for caveat in row.caveats), row.fields


def test_every_field_has_a_row_and_both_languages() -> None:
    used = {field for row in table().rows for field in row.fields}
    # What is computed from the others is said by no key, and has a formula on each side in place of a row.
    assert used == {name for name in vocabulary() if not name.startswith(COMPUTED)}
    for name, field in vocabulary().items():
        assert field.en, name
        assert field.zh, name
        assert field.impact in ("numerics", "performance", "none"), name


def test_unsupported_rows_say_what_the_other_side_does() -> None:
    silent = [
        row.fields
        for row in table().rows
        if row.loss == "unsupported" and not row.en and not row.caveats and not row.only
        and vocabulary()[row.fields[0]].impact == "numerics"
    ]  # fmt: skip
    assert silent == []


def _rows_of(identity: str) -> list[Row]:
    return [row for row in table().rows if identity in row.sources]


def _words(fact: ArgumentFact) -> list[str]:
    flag = fact.options[0]
    if fact.action != "store":
        return [flag]
    if fact.choices:
        return [flag, str(fact.choices[0])]
    value = {"int": "2", "float": "0.5", "bool": "1"}.get(fact.type or "", "2")
    return [flag, value]


@pytest.mark.table(8)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["one-target", "targets"])
@pytest.mark.parametrize("identity", list(GUIDE))
def test_guide_row_is_executed(identity: str, whole: bool) -> None:
    """A script or a YAML that names the row's keys is translated, and every key is in the report.

    A key is translated to one of the targets, and in the part `tables` to all.
    """
    rows = _rows_of(identity)
    assert rows, f"{identity} has no row"
    known = {version: catalog(version) for version in ("0.12", "0.16")}
    executed = 0
    for row in rows:
        for side in row.megatron:
            for key in side.keys + side.aliases:
                for name in key.split("|"):
                    version = next((one for one, facts in known.items() if name in facts.by_dest), None)
                    if version is not None:
                        executed += _megatron_case(name, version, whole=whole)
        for side in row.static:
            for key in side.keys:
                if key.startswith("model.model_config."):
                    executed += _mindformers_case(key)
    assert executed or all(not side.keys for row in rows for side in row.megatron + row.static), identity


TARGETS = (("1.6", "static"), ("1.9", "static"), ("2.1", "dynamic"))


@cache  # rows that several lines of the guide speak of
def _megatron_case(dest: str, version: str, *, whole: bool) -> int:
    facts = catalog(version).by_dest
    words = [word for name, value in BASE.items() if name != dest for word in (facts[name].options[0], value)]
    words += [BASE[dest] if word is None else word for word in _words(facts[dest])]
    script = "torchrun --nproc_per_node 8 pretrain_gpt.py " + " ".join(words)
    config = config_of(SourceText("run.sh", script), ReadOptions(megatron=version), path="run.sh")
    setting = config.settings[dest]
    assert setting.origin == "explicit" or setting.flag is not None
    for target, dialect in TARGETS if whole else [TARGETS[len(dest) % len(TARGETS)]]:
        translation = translate(config, "mindformers", target, dialect)
        named = {key for row in translation.rows for key in row.source}
        written = {key for key, setting in config.settings.items() if setting.origin == "explicit" or setting.flag}
        assert written <= named
    return 1


@cache
def _mindformers_case(key: str) -> int:
    name = key.rsplit(".", 1)[1]
    source = SourceText("run.yaml", YAML % f"{name}: 1")
    config = config_of(source, ReadOptions(mindformers="1.9", world_size=8), path="run.yaml")
    translation = translate(config, "megatron", "0.12")
    explicit = {key for key, setting in config.settings.items() if setting.origin == "explicit"}
    assert explicit <= {key for row in translation.rows for key in row.source}
    return 1


def _guide_names() -> list[tuple[str, str]]:
    ordinary = {"and", "by", "combined", "controlled", "not", "configurable", "rope", "silu", "train"}
    return [
        (identity, word)
        for identity, sides in GUIDE.items()
        for side in sides
        for word in side.replace("==", " ").replace("(", " ").replace(")", " ").replace(",", " ").split()
        if word not in ordinary
    ]


def test_every_name_of_the_guide_is_explained() -> None:
    explained = {name: find_named(name) for _, name in _guide_names()}
    assert [name for name, found in explained.items() if found is None or not found.rows] == []

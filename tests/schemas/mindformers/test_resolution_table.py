"""`resolution.yaml`: what is misspelt in a row stops the making of the products; every source is a real function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accmap.schemas.compilers.rows import TableError, read_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.mindformers import compile_resolution, extract
from accmap.schemas.mindformers.fact_base import facts_of, read_facts
from accmap.schemas.mindformers.resolution import VERSIONS, sections
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

TABLE = Path(compile_resolution.SOURCE)
HEAD = """\
- section: width of a head
  of: transformer
  source: parallel_core/transformer_config.py:TransformerConfig.__post_init__
  fields: [kv_channels]
  rows:
"""
ROW = """\
    - set: kv_channels
      to: hidden_size // num_attention_heads
      when: kv_channels is None
"""
REQUIREMENT = """\
    - require: num_layers > 0
      at: num_layers
      en: the number of layers must be above 0, not {num_layers}
      zh: 层数应大于 0，而不是 {num_layers}
"""


def made(text: str, folder: Path) -> dict[str, str]:
    path = folder / "resolution.yaml"
    path.write_text(text, "utf-8")
    return compile_resolution.products(str(path))


def test_a_sound_table_is_made(tmp_path: Path) -> None:
    text = made(HEAD + ROW + REQUIREMENT, tmp_path)["schemas/mindformers/resolution_1_6_static_compiled.py"]
    assert "v['transformer.hidden_size'] // v['transformer.num_attention_heads']" in text


@pytest.mark.table(3)
@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("set: kv_channels", "set: kv_chanels", 6),
        ("to: hidden_size //", "to: hiden_size //", 6),
        ("when: kv_channels", "when: isnt(kv_channels)", 6),
        ("when: kv_channels is None", "when: kv_channels is", 6),
        ("      when: kv_channels is None", "      wen: kv_channels is None", 6),
        ("      when: kv_channels is None", "      because: [hiden_size]", 6),
        ("      when: kv_channels is None", '      versions: "1.5"', 6),
        ("- set: kv_channels", "- do: kv_channels", 6),
        ("- set: kv_channels", "- do: network.kv_channels", 6),
        ("at: num_layers", "at: num_layer", 9),
        ("not {num_layers}\n      zh", "not {num_layer}\n      zh", 9),
        ("      zh: 层数应大于 0，而不是 {num_layers}\n", "", 9),
        ("fields: [kv_channels]", "fields: [kv_chanels]", 6),
        ("  source: parallel_core/transformer_config.py:TransformerConfig.__post_init__", "  source: the code", 1),
        ("of: transformer", "of: transformer\n  fileds: [x]", 1),
    ],
)
def test_what_is_misspelt_is_named_with_file_and_line(right: str, wrong: str, line: int, tmp_path: Path) -> None:
    text = HEAD + ROW + REQUIREMENT
    assert right in text
    with pytest.raises(TableError, match=rf"schemas/mindformers/resolution\.yaml:{line}: "):
        made(text.replace(right, wrong), tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        "    - let: x\n      to: parallel_config.model_paralel\n",
        "    - let: x\n      to: has('parallel_config.model_paralel')\n",
        "    - let: handed.vocab_emb_pd\n      to: 1\n",
        "    - let: use_parallel\n      to: 1\n",
        "    - lacking: missing_key\n      to: dict()\n      at: train_datasets\n",
        "    - lacking: missing_keys\n      to: dict()\n      at: train_dataset\n",
        "    - report: missing_key\n      to: dict(key=message('no_defualt'))\n      at: train_dataset\n",
        "    - do: build_optimiser\n",
        "    - let: prod\n      to: 1\n",
        "    - report: no_lr\n      to: dict()\n      when: has_problem('missing_kye')\n      at: train_dataset\n",
    ],
)
def test_a_misspelt_path_or_program_of_the_trainer(wrong: str, tmp_path: Path) -> None:
    head = HEAD.replace("of: transformer", "of: trainer").replace("  fields: [kv_channels]\n", "")
    with pytest.raises(TableError, match=r":5: "):
        made(head + wrong, tmp_path)


@pytest.mark.parametrize(
    "wrong",
    ["wide(head): hed > 64", "wide(head: head > 64", "wide(head): head >"],
)
def test_a_misspelt_definition(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"resolution\.yaml:1: "):
        made(f"- definitions:\n    {wrong}\n  source: a.py:b\n" + HEAD + ROW, tmp_path)


def test_a_part_is_chosen_before_it_is_filled(tmp_path: Path) -> None:
    head = HEAD.replace("of: transformer", "of: trainer").replace("  fields: [kv_channels]\n", "")
    choice = "    - choose: optimizer\n      to: dict(section='optimizer', registry='optimizer', under='optimizer')\n"
    assert made(head + choice + "    - fill: optimizer\n", tmp_path)
    with pytest.raises(TableError, match="no row above chooses optimiser"):
        made(head + choice + "    - fill: optimiser\n", tmp_path)


def test_a_name_counts_in_the_versions_of_its_row_only(tmp_path: Path) -> None:
    row = "    - require: not enable_hyper_connections\n      at: num_layers\n      en: x\n      zh: x\n"
    assert made(HEAD + row + "      versions: 2.1-\n", tmp_path)
    with pytest.raises(TableError, match="nothing is called enable_hyper_connections"):
        made(HEAD + row + "      versions: -1.9\n", tmp_path)


def test_every_section_cites_a_function_that_there_is() -> None:
    digests = read_facts(extract.DIGESTS)
    every = {
        f"{file}:{name}"
        for version in digests["versions"]
        for file, listed in facts_of(digests["facts"], version, digests["versions"]).items()
        for name in listed
    }
    for section in read_table(str(TABLE)):
        known = re.findall(r"([\w/]+\.py):([\w.]+(?:, [A-Za-z_]\w*\.\w+)*)", section["source"])
        assert known, section["source"]
        for file, listed in known:
            for one in listed.split(", "):
                assert any(full.endswith(f"{file}:{one}") or f"{file}:{one}." in full for full in every), (file, one)


def test_a_changed_function_leads_to_its_rows() -> None:
    places = extract.citations(
        TABLE.parents[2], {"parallel_core/transformer_config.py:TransformerConfig.__post_init__"}
    )
    (listed,) = places.values()
    found = [place for place in listed if place.startswith("schemas/mindformers/resolution.yaml")]
    assert len(found) > 20
    assert any(place.endswith("(width of a head)") for place in found)


def test_a_version_that_is_not_known_has_the_rows_of_the_one_before() -> None:
    assert sections("2.7", "transformer") == sections(VERSIONS[-1], "transformer")
    assert sections("1.2", "transformer") == sections(VERSIONS[0], "transformer")


def test_a_value_that_cannot_be_known_leaves_what_follows_open() -> None:
    text = (
        "use_legacy: False\nuse_parallel: True\nparallel: {parallel_mode: 1}\n"
        "parallel_config: {data_parallel: $DP, model_parallel: 2}\nrunner_config: {batch_size: 1}\n"
    )
    config = config_of(SourceText("x.yaml", text), ReadOptions(), path="x.yaml")
    assert not config.settings["resolved.parallel.world_size"].decided
    assert not config.settings["resolved.batch.global_size"].decided
    assert "parallel_config.data_parallel" in config.settings["resolved.batch.global_size"].derived_from
    assert config.value("resolved.parallel.model_parallel") == 2

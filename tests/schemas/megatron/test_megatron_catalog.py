"""The catalogs: complete, and found under every name of a version."""

from __future__ import annotations

import pytest

from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.catalog import VERSIONS, catalog, normalise_version

COUNTS = {
    "0.12": 455,
    "0.13": 501,
    "0.14": 513,
    "0.15": 565,
    "0.16": 651,
    "0.17": 704,
    "0.18": 750,
    "0.19": 807,
    "main": 838,
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_argument_of_the_real_parser_is_there(version: str) -> None:
    known = catalog(version)
    assert len(known.arguments) == COUNTS[version]
    assert known.knows("num_layers")
    assert known.by_option["--num-layers"].type == "int"
    assert all(fact is known.by_option[option] for fact in known.arguments for option in fact.options)


@pytest.mark.parametrize("text", ["0.12", "0.12.3", "core_r0.12.0", "core_v0.12.1", " 0.12 "])
def test_names_of_a_version(text: str) -> None:
    assert normalise_version(text) == "0.12"
    assert normalise_version(text.replace("12", "19")) == "0.19"


@pytest.mark.parametrize("text", ["0.11", "1", "", "newest", "0.120"])
def test_an_unknown_version_is_answered_with_the_known_ones(text: str) -> None:
    with pytest.raises(UnreadableError, match=r"0\.12–0\.19"):
        normalise_version(text)


def test_defaults_and_destinations_change_between_versions() -> None:
    assert not catalog("0.12").knows("use_megatron_fsdp")
    assert catalog("0.14").knows("use_megatron_fsdp")
    assert catalog("0.13").by_option["--moe-aux-loss-coeff"].nargs is None
    assert catalog("0.14").by_option["--moe-aux-loss-coeff"].nargs == "+"
    assert catalog("0.16").by_option["--cuda-graph-scope"].dest == "cuda_graph_scope"
    assert catalog("0.18").by_option["--cuda-graph-scope"].dest == "cuda_graph_scope_deprecated"

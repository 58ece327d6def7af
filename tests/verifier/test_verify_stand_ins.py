"""Every stand-in that computes something, against a reference: values and gradients; and none of them stays behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from accmap.schemas.versions import names

sys.path.insert(0, str(Path(__file__).parent / "proofs"))
from proof_process import answer

pytestmark = pytest.mark.frameworks


def test_the_stand_ins_of_megatron() -> None:
    pytest.importorskip("torch")
    found = answer("torch_proofs")
    assert found["errors"]
    assert max(found["errors"].values()) < 1e-5, found["errors"]
    assert found["left_behind"] == []


def test_the_stand_ins_of_mindformers() -> None:
    pytest.importorskip("mindspore")
    pytest.importorskip("mindformers")
    found = answer("mindspore_proofs")
    assert max(found["errors"].values()) < 1e-5, found["errors"]
    assert found["left_behind"] == []
    # The reason for one of them: the framework's own gradient is wrong.
    assert found["own_split_gradient_error"] > 0.1
    assert set(found["unproved"]) == {
        "context", "move", "repeat-kv", "morph", "shared-experts", "exchange", "drawn-first",
    }  # fmt: skip


def test_the_stand_ins_of_the_dynamic_graph() -> None:
    pytest.importorskip("mindspore")
    pytest.importorskip("mindformers")
    found = answer("dynamic_proofs")
    assert len(found["errors"]) > 25
    assert max(found["errors"].values()) < 1e-5, found["errors"]
    assert found["unproved"] == ["wide-logits"]
    assert found["empty"]
    assert abs(found["spread"] - 0.02) < 0.0005
    # The reasons for two of them: add_ and mul_ leave a tensor as it was, and strided gradients are added up wrongly.
    assert found["own_in_place"] > 0.1
    assert found["strided"] > 0.1
    assert found["kept"]
    assert found["left_behind"] == []


WHEELS = Path(__file__).parents[2] / ".frameworks" / "megatron"
KNOWN = Path(os.environ.get("ACCMAP_MEGATRON_TREES", os.devnull))
TREES = {
    **{place.name.rpartition(".")[0]: place for place in sorted(WHEELS.glob("*"))},
    **{name: KNOWN / name for name in names("megatron", None, "verify") if (KNOWN / name).is_dir()},
}


@pytest.mark.slow
@pytest.mark.parametrize("version", TREES)
def test_the_configuration_is_the_one_that_megatron_makes_of_its_arguments(version: str) -> None:
    pytest.importorskip("torch")
    found = answer("megatron_config_proofs", version, before=(str(TREES[version]),))
    assert len(found) > 35
    assert {name: fields for name, fields in found.items() if fields} == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", [version for version in TREES if version not in ("0.17", "0.18")])
def test_the_model_is_built_with_what_megatron_hands_to_it(version: str) -> None:
    """The wheels of 0.17 and 0.18 have no program that builds one."""
    pytest.importorskip("torch")
    found = answer("megatron_builder_proofs", version, before=(str(TREES[version]),))
    assert len(found) > 35
    assert {name: arguments for name, arguments in found.items() if arguments} == {}

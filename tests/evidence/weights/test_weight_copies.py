"""Copies of one weight within a checkpoint: each that differs is found, with both places and by how much."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.comparison import compare_with_configuration
from accmap.evidence.weights.conversion import Request, convert
from accmap.evidence.weights.megatron_torch import Ranks
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.tensor_files import TorchFile
from accmap.evidence.weights.weight import RefusedError
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

from weight_files import SHARD, arrays, pair, read_safetensors, write_megatron, write_mindformers, write_safetensors  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

    from accmap.evidence.weights.comparison import Check


def parallel(family: str, ranks: Ranks, folder: Path, **changes: Any) -> tuple[Path, list[Any]]:
    """A checkpoint of several ranks."""
    script, _ = pair(family, folder, **changes)
    source = write_megatron(folder / "source", script, arrays(script))
    configs = [read_config(script)]
    request = Request(str(source), str(folder / "ranks"), to="megatron", ranks=ranks, implementation="local")
    convert(request, configs)
    return folder / "ranks", configs


def shift(path: Path, name: str, by: float, at: int = 0) -> None:
    """Change one number of a shard where it lies."""
    file = TorchFile(str(path))
    weight = file.weight(name, file.content["model"][name])
    with path.open("r+b") as stream:
        stream.seek(weight.place.offset + 4 * at)
        number = np.frombuffer(stream.read(4), "<f4")[0] + np.float32(by)
        stream.seek(weight.place.offset + 4 * at)
        stream.write(np.float32(number).tobytes())


def checked(place: Path, configs: list[Any]) -> Check:
    return compare_with_configuration(open_checkpoint(str(place)), configs, ReadOptions())


FOUR = {"megatron": {"num-layers": 4}, "model": {"num_hidden_layers": 4}}


@pytest.mark.table(2)
@pytest.mark.parametrize(
    ("family", "ranks", "where", "written", "name"),
    [
        ("grouped", Ranks(2), "mp_rank_01", "decoder.layers.1.input_layernorm.weight", None),
        ("grouped", Ranks(2), "mp_rank_01", "decoder.final_layernorm.weight", None),
        ("moe_sigmoid", Ranks(2), "mp_rank_01", "decoder.layers.1.mlp.router.weight", None),
        ("moe_sigmoid", Ranks(2), "mp_rank_01", "decoder.layers.1.mlp.router.expert_bias", None),
        ("moe_sigmoid", Ranks(1, 1, 2), "mp_rank_00_001", "decoder.layers.0.self_attention.linear_qkv.weight", None),
        ("tied", Ranks(1, 2), "mp_rank_00_001", "output_layer.weight", "output_layer.weight"),
        ("further", Ranks(1, 2), "mp_rank_00_001", "embedding.word_embeddings.weight", None),
    ],
)
def test_a_copy_that_differs_is_found(
    family: str, ranks: Ranks, where: str, written: str, name: str | None, tmp_path: Path
) -> None:
    place, configs = parallel(family, ranks, tmp_path)
    fine = checked(place, configs)
    assert fine.copies > 0
    assert fine.findings == ()
    path = place / "release" / where / SHARD
    shift(path, written, 0.25, at=3)
    found = checked(place, configs)
    assert found.copies == fine.copies
    (finding,) = found.findings
    assert finding.kind.code == "EVD055"
    message = finding.message()
    assert (name or written) in message
    assert where in message
    assert str(place) in message.partition(" and ")[0]
    assert "1 of" in message
    assert "largest difference is 0.25" in message
    assert "最大差为 0.25" in finding.message("zh")
    # A conversion must choose one of the two, so it does not.
    with pytest.raises(RefusedError, match=r"largest difference is 0\.25"):
        convert(Request(str(place), str(tmp_path / "out"), to="megatron"), configs)
    assert not (tmp_path / "out").exists()


def test_a_copy_of_another_shape_is_found(tmp_path: Path) -> None:
    script, _ = pair("tied", tmp_path)
    held = arrays(script)
    held["output_layer.weight"] = np.concatenate([held["embedding.word_embeddings.weight"]] * 2)
    place = write_megatron(tmp_path / "run", script, held)
    (finding,) = checked(place, [read_config(script)]).findings
    assert "F32 [512, 128] and F32 [1024, 128]" in finding.message()


def test_the_same_nan_twice_is_a_copy(tmp_path: Path) -> None:
    place, configs = parallel("grouped", Ranks(2), tmp_path)
    for rank in range(2):
        shift(place / "release" / f"mp_rank_{rank:02d}" / SHARD, "decoder.final_layernorm.weight", float("nan"))
    found = checked(place, configs)
    assert found.findings == ()
    assert [row.status for row in found.bad] == ["not-finite"]


def test_slices_that_several_ranks_saved_are_compared(tmp_path: Path) -> None:
    """A parallel run of MindSpore Transformers that kept what its ranks have in common."""
    _, config = pair("grouped", tmp_path)
    found = arrays(pair("grouped", tmp_path / "script")[0])
    whole = write_mindformers(tmp_path / "whole", config, found)
    laid = dict(read_safetensors(whole / "model-00001-of-00001.safetensors"))
    folder = tmp_path / "parallel"
    folder.mkdir()
    files = [f"model-{rank:07d}-0000002.safetensors" for rank in range(2)]
    places, entries = {}, {}
    for name, array in laid.items():
        offset = (0,) * array.ndim
        places[str((name, offset))] = [{"file_name": file, "storage_rank": at} for at, file in enumerate(files)]
        chunk = {"global_offset": list(offset), "local_shape": list(array.shape)}
        entries[name] = {"global_shape": list(array.shape), "chunk": [chunk]}
    (folder / "metadata.json").write_text(json.dumps({"state_dict_metadata": entries, "storage_data": places}))
    write_safetensors(folder / files[0], laid)
    write_safetensors(folder / files[1], laid)
    fine = checked(folder, [read_config(config)])
    assert (fine.copies, fine.findings) == (len(laid), ())
    laid["decoder.final_layernorm.weight"] = laid["decoder.final_layernorm.weight"] + np.float32(4)
    write_safetensors(folder / files[1], laid)
    (finding,) = checked(folder, [read_config(config)]).findings
    assert files[0] in finding.message()
    assert files[1] in finding.message()
    assert "128 of 128 numbers; the largest difference is 4" in finding.message()
    # A rank's file that is gone is missed only where something stands in it alone.
    (folder / files[1]).unlink()
    assert checked(folder, [read_config(config)]).copies == 0


def test_every_number_of_a_copy_is_counted(tmp_path: Path) -> None:
    place, configs = parallel("grouped", Ranks(4), tmp_path)
    for at, by in ((0, 0.5), (5, -2.0), (127, 0.125)):
        shift(place / "release" / "mp_rank_02" / SHARD, "decoder.final_layernorm.weight", by, at)
    (finding,) = checked(place, configs).findings
    assert "3 of 128 numbers; the largest difference is 2" in finding.message()
    assert "mp_rank_00" in finding.message()
    assert "mp_rank_02" in finding.message()
    assert finding.file == str(place / "release" / "mp_rank_02" / SHARD)

"""Damaged, incomplete and foreign checkpoints: each is named with its file and tensor, and nothing is written."""

from __future__ import annotations

import contextlib
import json
import shutil
import struct
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.weights.conversion import Request, convert
from accmap.evidence.weights.megatron_torch import Ranks
from accmap.evidence.weights.messages_compiled import say
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.weight import RefusedError
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

from weight_files import (  # noqa: E402
    ITERATION_FOLDER,
    SHARD,
    arrays,
    pair,
    read_safetensors,
    write_distributed,
    write_megatron,
    write_mindformers,
    write_safetensors,
    write_torch,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, dict[str, Any]]:
    script, config = pair("grouped", tmp_path)
    return script, config, arrays(script)


def refused(source: Path, tmp_path: Path, *given: str) -> Any:
    """The diagnostic that a conversion ends with; nothing must have been written."""
    with pytest.raises((UnreadableError, RefusedError)) as raised:
        convert(Request(str(source), str(tmp_path / "out")), [read_config(file) for file in given])
    assert not list((tmp_path / "out").rglob("*.safetensors"))
    assert not list((tmp_path / "out").rglob("*.pt"))
    error = raised.value
    return error.diagnostic if isinstance(error, UnreadableError) else error.diagnostics[0]


def message_of(found: Any) -> str:
    assert found.message("zh") != found.message("en")
    return f"{found.kind.code} {found.message()}"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: data[:4], "EVD042 .* shorter than a safetensors header"),
        (lambda data: data[:100], "EVD043 .* the header ends at byte"),
        (lambda data: data[:-10], r"EVD043 .* output_layer\.weight ends at byte"),
        (lambda data: struct.pack("<Q", 1 << 60) + data[8:], "EVD042 .* claims 1152921504606846976 bytes"),
        (lambda data: data[:8] + b"[" + data[9:], "EVD042 .* no JSON"),
        (lambda data: data[:8] + b"\xff" + data[9:], "EVD042 .* no JSON"),
        (lambda data: data.replace(b'"F32"', b'"F99"', 1), "EVD042 .* type 'F99'"),
        (lambda data: data.replace(b'"shape"', b'"shabe"', 1), "EVD042 .* incomplete"),
        (lambda data: data.replace(b"[512, 128]", b"[512, 129]", 1), "EVD042 .* takes 264192 bytes, its entry 262144"),
        (lambda data: data.replace(b"[512, 128]", b'[512, "8"]', 1), "EVD042"),
        (lambda data: data.replace(b"layers.1.mlp", b"layers.0.mlp", 1), r"EVD042 .* its header has '.*' twice"),
    ],
)
def test_damaged_safetensors(
    spoil: Callable[[bytes], bytes], told: str, files: tuple[str, str, Any], tmp_path: Path
) -> None:
    script, config, found = files
    source = write_mindformers(tmp_path / "mindformers", config, found)
    path = source / "model-00001-of-00001.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    message = message_of(refused(source, tmp_path, script, config))
    assert "model-00001-of-00001.safetensors" in message
    import re

    assert re.search(told, message), message


def test_every_byte_of_a_header_may_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float32)})
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    for at in range(8 + length):
        for value in (0, 0xFF, data[at] ^ 1):
            path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
            with contextlib.suppress(UnreadableError):
                open_checkpoint(str(path))


def test_a_missing_file_of_an_index_is_named(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    source = write_mindformers(tmp_path / "mindformers", config, found)
    names = dict.fromkeys(
        read_safetensors(source / "model-00001-of-00001.safetensors"), "model-00001-of-00002.safetensors"
    )
    (source / "param_name_map.json").write_text(json.dumps(names))
    message = message_of(refused(source, tmp_path, script, config))
    assert "model-00001-of-00002.safetensors is missing; decoder.layers.0" in message or "embedding" in message


def test_a_tensor_that_the_index_promises_is_named(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    source = write_mindformers(tmp_path / "mindformers", config, found)
    file = "model-00001-of-00001.safetensors"
    (source / "param_name_map.json").write_text(json.dumps({"weight_map": {"decoder.more.weight": file}}))
    assert "decoder.more.weight" in message_of(refused(source, tmp_path, script, config))


def test_two_checkpoints_in_one_folder_are_refused(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    source = write_mindformers(tmp_path / "mindformers", config, found)
    shutil.copy(source / "model-00001-of-00001.safetensors", source / "other.safetensors")
    assert "a folder holds one checkpoint" in message_of(refused(source, tmp_path, script, config))


def parallel(files: tuple[str, str, Any], tmp_path: Path, ranks: Ranks) -> Path:
    """A Megatron-LM checkpoint of several ranks."""
    script, config, found = files
    source = write_mindformers(tmp_path / "mindformers", config, found)
    convert(Request(str(source), str(tmp_path / "ranks"), ranks=ranks), [read_config(script), read_config(config)])
    return tmp_path / "ranks"


@pytest.mark.parametrize("gone", ["mp_rank_00_001", "mp_rank_01_000"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_missing_rank_is_named(gone: str, whole: bool, files: tuple[str, str, Any], tmp_path: Path) -> None:
    source = parallel(files, tmp_path, Ranks(tensor=2, pipeline=2))
    if whole:
        shutil.rmtree(source / "release" / gone)
    else:
        (source / "release" / gone / SHARD).unlink()
    message = message_of(refused(source, tmp_path, files[0], files[1]))
    assert message.startswith("EVD041")
    assert gone in message


def test_a_truncated_rank_is_named(files: tuple[str, str, Any], tmp_path: Path) -> None:
    source = parallel(files, tmp_path, Ranks(tensor=2))
    path = source / "release" / "mp_rank_01" / SHARD
    path.write_bytes(path.read_bytes()[:-1000])
    message = message_of(refused(source, tmp_path, files[0], files[1]))
    assert message.startswith("EVD042")
    assert "mp_rank_01" in message


def test_shards_of_two_iterations_are_refused(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    folder = tmp_path / "megatron" / ITERATION_FOLDER
    for rank, iteration in ((0, 7), (1, 8)):
        place = folder / f"mp_rank_{rank:02d}"
        place.mkdir(parents=True)
        write_torch(place / SHARD, {"iteration": iteration, "model": found})
    message = message_of(refused(tmp_path / "megatron", tmp_path, script, config))
    assert message.startswith("EVD045")
    assert "of iteration 7" in message
    assert "of iteration 8" in message


def test_ranks_that_disagree_about_a_norm_are_refused(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    folder = tmp_path / "megatron" / ITERATION_FOLDER
    for rank in range(2):
        held = {name: np.ascontiguousarray(array) for name, array in found.items()}
        held["decoder.final_layernorm.weight"] = found["decoder.final_layernorm.weight"] + rank
        held = {name: (np.split(a, 2)[rank] if "vocab" in name else a) for name, a in held.items()}
        place = folder / f"mp_rank_{rank:02d}"
        place.mkdir(parents=True)
        write_torch(place / SHARD, {"iteration": 7, "model": held})
    with pytest.raises(RefusedError, match=r"decoder\.final_layernorm\.weight should be the same in") as raised:
        convert(Request(str(tmp_path / "megatron"), str(tmp_path / "out")), [read_config(script), read_config(config)])
    assert raised.value.diagnostics[0].kind.code == "EVD055"
    assert not list((tmp_path / "out").glob("*.safetensors*"))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda place: (place / "__0_1.distcp").unlink(), "EVD041.*__0_1.distcp is missing"),
        (lambda place: (place / ".metadata").unlink(), r"EVD041.*\.metadata is missing"),
        (lambda place: (place / "__0_0.distcp").write_bytes(b"short"), r"EVD043.*__0_0.distcp is cut short"),
        (lambda place: (place / ".metadata").write_bytes(b"\x80\x02garbage."), r"EVD042.*\.metadata"),
        (lambda place: (place / ".metadata").write_bytes(b"\x80\x02}."), r"EVD042.*\.metadata"),
        (lambda place: (place / "common.pt").write_bytes(b"PK\x03\x04"), r"EVD042.*common\.pt"),
    ],
)
def test_damaged_distributed_checkpoints(
    spoil: Callable[[Path], Any], told: str, files: tuple[str, str, Any], tmp_path: Path
) -> None:
    import re

    script, config, found = files
    source = write_distributed(tmp_path / "megatron", script, found)
    spoil(source / ITERATION_FOLDER)
    message = message_of(refused(source, tmp_path, script, config))
    assert re.search(told, message), message


def test_a_garbled_chunk_is_named_with_its_tensor(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    source = write_distributed(tmp_path / "megatron", script, found)
    path = source / ITERATION_FOLDER / "__0_0.distcp"
    path.write_bytes(b"\0" * path.stat().st_size)
    with pytest.raises(UnreadableError, match=r"__0_0\.distcp"):
        convert(Request(str(source), str(tmp_path / "out")), [read_config(script), read_config(config)])


def test_a_chunk_that_is_not_listed_is_missed(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    found["decoder.layers.0.mlp.linear_fc2.weight"] = found["decoder.layers.0.mlp.linear_fc2.weight"][:100]
    found["decoder.layers.1.mlp.linear_fc2.weight"] = found["decoder.layers.1.mlp.linear_fc2.weight"][:100]
    source = write_distributed(tmp_path / "megatron", script, found)
    message = message_of(refused(source, tmp_path, script, config))
    assert "decoder.layers.0.mlp.linear_fc2.weight" in message
    assert "[100, 256]" in message
    assert "[128, 256]" in message


def test_a_weight_that_no_row_knows_stops_everything(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    found["decoder.layers.0.mlp.some_new_gate.weight"] = np.ones((2, 2), np.float32)
    source = write_megatron(tmp_path / "megatron", script, found)
    message = message_of(refused(source, tmp_path, script, config))
    assert message.startswith("EVD046")
    assert "decoder.layers.0.mlp.some_new_gate.weight" in message


def test_a_missing_weight_stops_everything(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    del found["decoder.layers.1.self_attention.linear_qkv.bias"]
    source = write_megatron(tmp_path / "megatron", script, found)
    message = message_of(refused(source, tmp_path, script, config))
    assert message.startswith("EVD052")
    assert "decoder.layers.1.self_attention.linear_qkv.bias" in message


def test_another_models_weights_are_refused(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    found["decoder.layers.1.mlp.linear_fc1.weight"] = np.ones((256, 128), np.float32)
    source = write_megatron(tmp_path / "megatron", script, found)
    message = message_of(refused(source, tmp_path, script, config))
    assert message.startswith("EVD047")
    assert "[256, 128]" in message


def test_configurations_of_two_models_are_refused(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, _, found = files
    source = write_megatron(tmp_path / "megatron", script, found)
    _, other = pair("grouped", tmp_path / "other", model={"intermediate_size": 192})
    message = message_of(refused(source, tmp_path, script, other))
    assert message.startswith("EVD058")
    assert "linear_fc1" in message


def test_tied_copies_that_differ_are_refused(tmp_path: Path) -> None:
    script, config = pair("tied", tmp_path)
    found = arrays(script)
    found["output_layer.weight"] = found["embedding.word_embeddings.weight"] + 1
    source = write_megatron(tmp_path / "megatron", script, found)
    assert message_of(refused(source, tmp_path, script, config)).startswith("EVD055")
    found["output_layer.weight"] = found["embedding.word_embeddings.weight"]
    equal = write_megatron(tmp_path / "equal", script, found)
    done = convert(Request(str(equal), str(tmp_path / "fine")), [read_config(script), read_config(config)])
    assert done.parameters == len(found) - 1


def test_the_legacy_model_is_named(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    source = write_megatron(tmp_path / "megatron", script, found, model={"language_model": {"encoder": {}}})
    assert "legacy" in message_of(refused(source, tmp_path, script, config))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda folder: None, "nothing is there"),
        (lambda folder: folder.mkdir(), "none of its files is one"),
        (lambda folder: folder.write_text("x"), "another kind of file"),
        (lambda folder: [folder.mkdir(), (folder / "a.ckpt").write_text("")], "holds no parameter"),
        (lambda folder: [(folder / f"rank_{at}").mkdir(parents=True) for at in (0, 1)], "none of its files is one"),
        (
            lambda folder: [folder.mkdir(), *((folder / f"{at}.ckpt").write_text("") for at in (0, 1))],
            "ckpt_to_safetensors",
        ),
        (
            lambda folder: [
                (folder / name / "mp_rank_00").mkdir(parents=True) for name in ("iter_0000001", "iter_0000002")
            ],
            "iter_0000001, iter_0000002",
        ),
        (
            lambda folder: [folder.mkdir(), (folder / "latest_checkpointed_iteration.txt").write_text("30")],
            "iter_0000030",
        ),
        (lambda folder: (folder / "mp_rank_00").mkdir(parents=True), "mp_rank_00"),
    ],
)
def test_what_is_no_checkpoint(make: Callable[[Path], Any], told: str, tmp_path: Path) -> None:
    make(tmp_path / "x")
    with pytest.raises(UnreadableError, match=told):
        open_checkpoint(str(tmp_path / "x"))


def test_every_message_speaks_both_languages() -> None:
    codes = [kind.code for kind in say.kinds.values()]
    assert len(codes) == len(set(codes))
    assert all("EVD040" <= code <= "EVD059" or "EVD100" <= code <= "EVD109" for code in codes)
    for kind in say.kinds.values():
        assert any("\u4e00" <= letter <= "\u9fff" for letter in kind.zh)
        import string

        def names(text: str) -> set[str]:
            return {name for _, name, _, _ in string.Formatter().parse(text) if name}

        assert {name.removesuffix("_zh") for name in names(kind.zh)} == names(kind.en)


@pytest.mark.parametrize(
    ("offsets", "shape", "told"),
    [
        (((0, 0), (0, 0)), ((2, 2), (2, 2)), "EVD041.*4 of 8 numbers"),
        (((0, 0), (3, 0)), ((2, 2), (2, 2)), "EVD042.*lies outside"),
        (((0,), (2, 0)), ((2, 2), (2, 2)), "EVD042.*lies outside"),
    ],
)
def test_pieces_that_do_not_make_up_the_whole(offsets: Any, shape: Any, told: str) -> None:
    from accmap.evidence.weights.tensor_files import Chunk, Scattered

    chunks = [Chunk(at, size, "x.distcp", lambda: None) for at, size in zip(offsets, shape, strict=True)]  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnreadableError) as raised:
        Scattered("w", "F32", (4, 2), chunks).check_whole("run")
    import re

    assert re.search(told, message_of(raised.value.diagnostic)), message_of(raised.value.diagnostic)


def test_a_chunk_larger_than_its_bytes_is_refused(files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, _, found = files
    source = write_distributed(tmp_path / "megatron", script, found)
    path = source / ITERATION_FOLDER / ".metadata"
    data = path.read_bytes()
    assert data.count(b"M\x00\x02K\x80\x86")  # (512, 128)
    path.write_bytes(data.replace(b"M\x00\x02K\x80\x86", b"M\x00\xffK\x80\x86"))
    with pytest.raises(UnreadableError, match="is said to take"):
        open_checkpoint(str(source))


def test_expert_ranks_that_disagree_about_a_norm_are_refused(tmp_path: Path) -> None:
    script, config = pair("moe_softmax", tmp_path)
    found = arrays(script)
    source = write_megatron(tmp_path / "megatron", script, found)
    given = [read_config(script), read_config(config)]
    made = Request(str(source), str(tmp_path / "two"), to="megatron", ranks=Ranks(expert=2), implementation="local")
    convert(made, given)
    again = Request(str(tmp_path / "two"), str(tmp_path / "out"))
    convert(again, given)
    found["decoder.final_layernorm.weight"] += 1
    other = write_megatron(tmp_path / "other", script, found)
    convert(made._replace(checkpoint=str(other), output=str(tmp_path / "three")), given)
    second = sorted((tmp_path / "two" / "release").iterdir())[1]
    shutil.copy(tmp_path / "three" / "release" / second.name / SHARD, second / SHARD)
    with pytest.raises(RefusedError, match=r"decoder\.final_layernorm\.weight should be the same in"):
        convert(again._replace(output=str(tmp_path / "refused")), given)
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize("form", ["torch", "torch_dist", "safetensors"])
def test_one_weight_under_two_names_is_refused(form: str, files: tuple[str, str, Any], tmp_path: Path) -> None:
    script, config, found = files
    if form == "safetensors":
        source = write_mindformers(tmp_path / "mindformers", config, found)
        path = source / "model-00001-of-00001.safetensors"
        held = dict(read_safetensors(path))
        held["network.decoder.final_layernorm.weight"] = held["decoder.final_layernorm.weight"] + 1
        write_safetensors(path, held)
    else:
        found = {**found, "module.decoder.final_layernorm.weight": found["decoder.final_layernorm.weight"] + 1}
        write = write_megatron if form == "torch" else write_distributed
        source = write(tmp_path / "megatron", script, found)
    assert "are the same weight" in message_of(refused(source, tmp_path, script, config))

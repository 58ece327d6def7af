"""Writing Megatron-LM's distributed form: read back bit for bit, in several files, continued, and damaged."""

from __future__ import annotations

import contextlib
import json
import pickle
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.evidence.weights.checkpoint_pickle import read_pickle
from accmap.evidence.weights.conversion import Request, convert
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.target_files import MANIFEST, Progress, check_manifest
from accmap.evidence.weights.tensor_files import Chunk, Global, Made, Ordered, Scattered, TorchFile, write_pickle
from accmap.evidence.weights.weight import RefusedError
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

from weight_files import FAMILIES, arrays, pair, read_safetensors, write_mindformers  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.procedure("proc.weights.convert")


class Written:
    """A MindSpore Transformers checkpoint, and what its distributed form is written with."""

    def __init__(self, folder: Path, family: str, **changes: Any) -> None:
        self.folder = folder
        script, config = pair(family, folder, **changes)
        self.script = script
        self.configs = [read_config(script), read_config(config)]
        self.source = write_mindformers(folder / "mindformers", config, arrays(script))
        self.place = folder / "there" / "release"
        self.request = Request(
            str(self.source), str(folder / "there"), ckpt_format="torch_dist", implementation="local"
        )

    def write(self, **changes: Any) -> Any:
        return convert(self.request._replace(**changes), self.configs)

    def back(self) -> dict[str, Any]:
        """What a reader of the distributed form finds, in the form it came from."""
        shutil.rmtree(self.folder / "back", ignore_errors=True)
        convert(Request(str(self.folder / "there"), str(self.folder / "back")), self.configs)
        return read_safetensors(self.folder / "back" / "model-00001-of-00001.safetensors")

    def same(self) -> None:
        first, second = read_safetensors(self.source / "model-00001-of-00001.safetensors"), self.back()
        assert first.keys() == second.keys()
        for name, array in first.items():
            assert array.shape == second[name].shape
            assert array.tobytes() == second[name].tobytes(), name

    def keys(self) -> dict[str, Any]:
        """The shape of every parameter; None for the states of modules."""
        metadata = read_pickle((self.place / ".metadata").read_bytes(), "x")
        entries = metadata.get("state_dict_metadata")
        return {name: entry.get("size") for name, entry in entries.items()}


@pytest.mark.table(3)
@pytest.mark.parametrize("implementation", ["local", "transformer_engine"])
@pytest.mark.parametrize("family", [*FAMILIES, "further"])
def test_read_back_bit_for_bit(family: str, implementation: str, tmp_path: Path) -> None:
    written = Written(tmp_path, family)
    done = written.write(implementation=implementation)
    assert (done.target, done.target_form) == ("megatron", "torch_dist")
    written.same()
    assert check_manifest(str(tmp_path / "there")) == []
    assert (tmp_path / "there" / "latest_checkpointed_iteration.txt").read_text() == "release\n"


def test_layers_and_experts_are_stacked_as_megatron_stacks_them(tmp_path: Path) -> None:
    alike = Written(tmp_path / "alike", "moe_softmax")
    alike.write()
    keys = alike.keys()
    assert keys["decoder.layers.mlp.experts.experts.linear_fc1.weight"] == (2, 8, 128, 128)
    # The local implementation calls its norms as if they were fused, experts or not, and keeps no state of them.
    assert keys["decoder.layers.mlp.linear_fc1.layer_norm_weight"] == (2, 128)
    assert keys["decoder.layers.self_attention.linear_qkv._extra_state/shard_1_2"] is None
    assert "decoder.layers.mlp.experts.experts.linear_fc2._extra_state/shard_1.7_2.8" in keys
    assert not any("linear_fc1._extra_state/shard_0_2" in key for key in keys)
    mixed = Written(tmp_path / "mixed", "deepseek")
    mixed.write()
    keys = mixed.keys()
    assert keys["decoder.layers.1.mlp.experts.experts.linear_fc1.weight"] == (16, 128, 128)
    assert keys["decoder.layers.0.input_layernorm.weight"] == (128,)
    assert keys["mtp.layers.0.eh_proj.weight"] == (128, 256)
    mixed.write(implementation="transformer_engine", resume=False)
    keys = mixed.keys()
    assert keys["decoder.layers.0.mlp.linear_fc1.layer_norm_weight"] == (128,)
    assert "decoder.layers.1.self_attention.core_attention._extra_state/shard_0_1" in keys
    assert "decoder.final_layernorm._extra_state/shard_0_1" in keys


def test_what_megatron_asks_for_beside_the_weights(tmp_path: Path) -> None:
    written = Written(tmp_path, "deepseek")
    written.write()
    assert json.loads((written.place / "metadata.json").read_text())["sharded_backend"] == "torch_dist"
    common = TorchFile(str(written.place / "common.pt")).content
    args = common["args"]
    assert args.name == "argparse.Namespace"
    assert common["checkpoint_version"] == 3.0
    assert args.state["num_layers"] == 3
    assert args.state["moe_layer_freq"] == [0, 1, 1]
    assert args.state["tensor_model_parallel_size"] == args.state["pipeline_model_parallel_size"] == 1
    assert args.state["no_save_optim"] is True
    # The arguments are enough for a check without any configuration.
    checkpoint = open_checkpoint(str(tmp_path / "there"))
    assert checkpoint.arguments is not None
    assert checkpoint.arguments["hidden_size"] == 128


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_another_number_type(dtype: str, tmp_path: Path) -> None:
    written = Written(tmp_path, "grouped")
    written.write(dtype=dtype)
    found = written.back()
    assert {array.dtype.itemsize for array in found.values()} == {2}


def test_several_files_and_going_on(tmp_path: Path) -> None:
    written = Written(tmp_path, "deepseek")

    def stop(progress: Progress) -> None:
        if progress.number == 3:
            raise InterruptedError

    request = written.request._replace(shard_bytes=1 << 20)
    with pytest.raises(InterruptedError):
        convert(request, written.configs, progress=stop)
    assert not (written.place / ".metadata").exists()
    with pytest.raises(UnreadableError):
        open_checkpoint(str(tmp_path / "there"))
    first = written.place / "__0_0.distcp"
    before = first.stat().st_mtime_ns
    done = convert(request._replace(resume=True), written.configs)
    assert [file.resumed for file in done.files][:4] == [True, True, False, False]
    assert first.stat().st_mtime_ns == before
    assert len(list(written.place.glob("*.distcp"))) > 4
    assert all(path.stat().st_size <= 1 << 20 for path in written.place.glob("*.distcp"))
    written.same()
    whole = convert(request._replace(output=str(tmp_path / "again")), written.configs)
    assert [file.sums for file in whole.files] == [file.sums for file in done.files]


def test_another_form_is_not_continued(tmp_path: Path) -> None:
    written = Written(tmp_path, "grouped")
    written.write()
    with pytest.raises(UnreadableError, match="a different form"):
        written.write(ckpt_format="torch", resume=True)
    # Written anew, nothing of the earlier form is left to be taken for a part of this one.
    written.write(ckpt_format="torch")
    assert sorted(path.name for path in (tmp_path / "there" / "release").rglob("*") if path.is_file()) == [
        "model_optim_rng.pt"
    ]
    (tmp_path / "there" / "release" / ".metadata").write_bytes(b"")
    with pytest.raises(UnreadableError, match=r"\.metadata"):
        written.write(ckpt_format="torch")


def test_a_cast_that_stops_leaves_no_metadata(tmp_path: Path) -> None:
    written = Written(tmp_path, "grouped")
    path = written.source / "model-00001-of-00001.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-4] + np.array([1e6], np.float32).tobytes())
    with pytest.raises(RefusedError, match="too large for F16"):
        written.write(dtype="fp16")
    assert not (written.place / ".metadata").exists()
    assert not json.loads((tmp_path / "there" / MANIFEST).read_text())["complete"]


def _cut_short(place: Path) -> None:
    path = place / "__0_0.distcp"
    path.write_bytes(path.read_bytes()[:-100])


def _zeroed(place: Path) -> None:
    path = place / "__0_0.distcp"
    path.write_bytes(bytes(path.stat().st_size))


class Harm:
    """What a prepared file would do, were it unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit",)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_cut_short, "EVD043"),
        (_zeroed, "EVD042"),
        (lambda place: (place / "__0_0.distcp").unlink(), "EVD041"),
        (lambda place: (place / ".metadata").write_bytes((place / ".metadata").read_bytes()[:-50]), "EVD042"),
        (lambda place: (place / ".metadata").write_bytes(b"\x80\x04nonsense"), "EVD042"),
        (lambda place: (place / ".metadata").write_bytes(pickle.dumps({"state_dict_metadata": Harm()})), "EVD044"),
        (lambda place: (place / "common.pt").write_bytes((place / "common.pt").read_bytes()[:-50]), "EVD042"),
    ],
)
def test_damage_is_named(spoil: Callable[[Path], Any], told: str, tmp_path: Path) -> None:
    written = Written(tmp_path, "tied")
    written.write()
    spoil(written.place)
    with pytest.raises(UnreadableError) as raised:
        written.back()
    assert raised.value.diagnostic.kind.code == told
    assert not (tmp_path / "back").exists() or not list((tmp_path / "back").glob("*.safetensors"))


def test_every_byte_of_the_metadata_may_be_wrong(tmp_path: Path) -> None:
    written = Written(tmp_path, "tied")
    written.write()
    path = written.place / ".metadata"
    data = path.read_bytes()
    for at in range(0, len(data), 37):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :])
        with contextlib.suppress(UnreadableError):
            open_checkpoint(str(tmp_path / "there"))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=30,
)


@settings(max_examples=200)
@given(value=PLAIN)
def test_what_is_pickled_is_what_comes_out(value: Any) -> None:
    assert pickle.loads(write_pickle(value)) == value


def test_many_texts_are_remembered() -> None:
    value = [[str(at), str(at)] for at in range(1000)]
    assert pickle.loads(write_pickle(value)) == value


def test_classes_are_named_and_not_imported() -> None:
    found = pickle.loads(write_pickle(Made(Global("argparse", "Namespace"), {"a": Ordered({"b": 1})})))
    assert found.a == {"b": 1}
    assert b"nowhere" in write_pickle(Made(Global("nowhere", "Thing"), {}))


@pytest.mark.parametrize(
    ("offsets", "shape", "told"),
    [
        (((0, 0), (0, 0)), ((2, 2), (2, 2)), "EVD041.*4 of 8 numbers"),
        (((0, 0), (3, 0)), ((2, 2), (2, 2)), "EVD042.*is outside its shape"),
        (((0,), (2, 0)), ((2, 2), (2, 2)), "EVD042.*is outside its shape"),
    ],
)
def test_pieces_that_do_not_make_up_the_whole(offsets: Any, shape: Any, told: str) -> None:
    chunks = [Chunk(at, size, "x.distcp", lambda: None) for at, size in zip(offsets, shape, strict=True)]  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnreadableError) as raised:
        Scattered("w", "F32", (4, 2), chunks).check_whole("run")
    found = raised.value.diagnostic
    assert re.search(told, f"{found.kind.code} {found.message()}")

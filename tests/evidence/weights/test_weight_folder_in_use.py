"""One conversion at a time writes into a folder; and lists of pieces that cannot be true are refused."""

from __future__ import annotations

import pickletools
from typing import TYPE_CHECKING, Any, cast

import pytest

from accmap.evidence.weights import megatron_dist
from accmap.evidence.weights.conversion import Request, convert
from accmap.evidence.weights.opening import open_checkpoint
from accmap.evidence.weights.target_files import check_manifest
from accmap.evidence.weights.tensor_files import Chunk, Scattered
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import read_config

pytest.importorskip("numpy")

from weight_files import arrays, pair, write_mindformers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.procedure("proc.weights.convert")


def _prepared(folder: Path, **changes: Any) -> tuple[Request, list[Any]]:
    script, config = pair("tied", folder, **changes)
    source = write_mindformers(folder / "mindformers", config, arrays(script))
    request = Request(str(source), str(folder / "there"), ckpt_format="torch_dist", implementation="local")
    return request, [read_config(script), read_config(config)]


def test_two_at_once_do_not_write_into_one_folder(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    request, configs = _prepared(tmp_path)
    seen: list[str] = []

    def another(_progress: object) -> None:
        if seen:
            return
        with pytest.raises(UnreadableError, match="another conversion is writing into this folder") as raised:
            convert(request._replace(dtype="bf16"), configs)
        seen.append(raised.value.diagnostic.kind.code)

    convert(request, configs, progress=another)
    assert seen == ["EVD054"]
    assert check_manifest(request.output) == []
    # When one has ended, or was stopped or refused, the folder is free.
    convert(request._replace(dtype="bf16"), configs)
    with pytest.raises(InterruptedError):
        convert(request, configs, progress=_stop)
    with pytest.raises(UnreadableError, match="started with a different dtype"):
        convert(request._replace(dtype="fp16", resume=True), configs)
    convert(request._replace(resume=True), configs)
    assert check_manifest(request.output) == []


def _stop(_progress: object) -> None:
    raise InterruptedError


def test_what_is_in_the_way_of_a_new_file_is_not_written_through(tmp_path: Path) -> None:
    request, configs = _prepared(tmp_path)
    other = tmp_path / "other"
    other.write_text("mine")
    there = tmp_path / "there"
    for name in (".accmap-999999999-0", "release/.accmap-999999999-7", "release/__0_0.distcp"):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).symlink_to(other)
    convert(request, configs)
    assert other.read_text() == "mine"
    assert check_manifest(request.output) == []


def test_layers_of_several_number_types_are_no_one_parameter(tmp_path: Path) -> None:
    script, config = pair("tied", tmp_path)
    found = arrays(script)
    name = next(name for name in found if name.startswith("decoder.layers.1.") and name.endswith("linear_proj.weight"))
    found[name] = found[name].astype("float16")
    source = write_mindformers(tmp_path / "mindformers", config, found)
    configs = [read_config(script), read_config(config)]
    request = Request(str(source), str(tmp_path / "there"), ckpt_format="torch_dist", implementation="local")
    with pytest.raises(UnreadableError, match="a mix of dtypes in one parameter") as raised:
        convert(request, configs)
    assert raised.value.diagnostic.kind.name == "unsupported-form"
    assert not (tmp_path / "there").exists()
    convert(request._replace(dtype="bf16"), configs)
    open_checkpoint(request.output)
    convert(request._replace(ckpt_format="torch"), configs)


@pytest.mark.parametrize(
    ("pieces", "shape"),
    [
        pytest.param([((0,), (2,)), ((1,), (2,))], (4,), id="two overlap and hide a gap"),
        pytest.param([((0, 0), (2, 1)), ((1, 0), (1, 2)), ((0, 1), (1, 0))], (2, 2), id="they cross"),
        pytest.param([((0,), (2,)), ((0,), (3,)), ((3,), (1,))], (4,), id="one within another"),
        pytest.param([((-1,), (4,))], (4,), id="before the start"),
        pytest.param([((0, 0), (-2, -3))], (-2, -3), id="less than nothing"),
        pytest.param([((0.0,), (4,))], (4,), id="no whole number"),
    ],
)
def test_pieces_that_do_not_make_up_the_whole(pieces: list[Any], shape: Any) -> None:
    with pytest.raises(UnreadableError) as raised:
        _scattered(pieces, shape).check_whole("here")
    assert raised.value.diagnostic.kind.code == "EVD042"


@pytest.mark.parametrize(
    ("pieces", "shape"),
    [
        ([((0,), (2,)), ((2,), (2,))], (4,)),
        ([((0,), (4,)), ((0,), (4,))], (4,)),
        ([((0, 0), (2, 1)), ((0, 1), (1, 2)), ((1, 1), (1, 2))], (2, 3)),
        ([((at, other, 0), (1, 1, 3)) for at in range(60) for other in range(60)], (60, 60, 3)),
        ([((), ())], ()),
        ([((0, 0), (0, 3))], (0, 3)),
        ([], (0, 3)),
    ],
)
def test_pieces_that_do(pieces: list[Any], shape: Any) -> None:
    _scattered(pieces, shape).check_whole("here")


def _scattered(pieces: list[Any], shape: Any) -> Scattered:
    return Scattered("x", "F32", shape, [Chunk(at, size, "file", lambda: pytest.fail("opened")) for at, size in pieces])


def _infinite(data: bytes) -> bytes:
    """The last place of a piece in its file becomes an infinite number."""
    at = [at or 0 for code, _, at in pickletools.genops(data) if code.name in ("BININT", "BININT2")][-1]
    width = 3 if data[at : at + 1] == b"M" else 5
    return data[:at] + b"G\x7f\xf0\0\0\0\0\0\0" + data[at + width :]


def test_nothing_for_ever_so_many_layers() -> None:
    """A parameter without numbers is not taken apart, however many layers it claims."""
    weight = Scattered("decoder.layers.mlp.linear_fc1.weight", "F32", (1 << 40, 0), [])
    found = cast("Any", megatron_dist)._unstack(weight.name, weight)
    assert list(found) == [(weight.name, weight)]


def test_a_place_that_is_no_number(tmp_path: Path) -> None:
    request, configs = _prepared(tmp_path)
    convert(request, configs)
    path = tmp_path / "there" / "release" / ".metadata"
    path.write_bytes(_infinite(path.read_bytes()))
    with pytest.raises(UnreadableError, match="an unexpected form"):
        open_checkpoint(request.output)

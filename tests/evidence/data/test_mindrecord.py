"""MindRecord: what MindSpore's own writer writes is read as its own reader and MindSpore Transformers read it."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from record_writer import rows_yaml

from accmap.evidence.data.check import side_of
from accmap.evidence.data.draws import RowDraws
from accmap.evidence.data.mindrecord import RecordFile, named_files, read_records
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

if TYPE_CHECKING:
    from collections.abc import Sequence

mindrecord = pytest.importorskip("mindspore.mindrecord")
pytestmark = pytest.mark.frameworks
EDGES = [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 2**31 - 1, -(2**31)]
WIDE = [2**31, -(2**31) - 1, 2**62, -(2**63), 2**63 - 1]


def written(path: Path, schema: dict[str, Any], rows: list[dict[str, Any]], shards: int = 1, page: int | None = None):
    writer = mindrecord.FileWriter(str(path), shards)
    if page:
        writer.set_page_size(page)
        writer.set_header_size(1 << 14)
    writer.add_schema(schema, "rows")
    writer.write_raw_data(rows)
    writer.commit()
    return [path] if shards == 1 else [path.with_name(f"{path.name}{number}") for number in range(shards)]


def array(kind: str) -> dict[str, Any]:
    return {"type": kind, "shape": [-1]}


SCHEMAS: dict[str, dict[str, Any]] = {
    "ids alone": {"input_ids": array("int32")},
    "wide ids": {"input_ids": array("int64")},
    "with labels": {"input_ids": array("int32"), "labels": array("int32")},
    "labels first": {"labels": array("int64"), "input_ids": array("int64")},
    "with bytes": {"image": {"type": "bytes"}, "input_ids": array("int32"), "labels": array("int64")},
    "with all": {
        "input_ids": array("int32"), "labels": array("int64"), "loss_mask": array("float32"),
        "text": {"type": "string"}, "number": {"type": "int64"}, "image": {"type": "bytes"},
    },
}  # fmt: skip


def value(chooser: random.Random, kind: dict[str, Any]) -> Any:
    if kind["type"] == "bytes":
        return bytes(chooser.randrange(256) for _ in range(chooser.randrange(40)))
    if kind["type"] == "string":
        return "text " * chooser.randrange(5)
    if "shape" not in kind:
        return chooser.randrange(1 << 40)
    pool = [*EDGES, *(chooser.randrange(200_000) for _ in range(20)), *(WIDE if kind["type"] == "int64" else [])]
    length = chooser.choice([1, 2, 3, 4, 5, 17, 300])
    return np.array([chooser.choice(pool) for _ in range(length)], dtype=kind["type"])


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("pages", ["one page", "many pages"])
def test_what_mindspore_writes_is_read(name: str, shards: int, pages: str, tmp_path: Path) -> None:
    chooser = random.Random(f"{name} {shards} {pages}")
    schema = SCHEMAS[name]
    count = 40 if pages == "one page" else 400
    rows = [{column: value(chooser, kind) for column, kind in schema.items()} for _ in range(count)]
    files = written(tmp_path / "data.mindrecord", schema, rows, shards, 1 << 15 if pages == "many pages" else None)
    ours = read_records("data", named_files(str(files[0])))
    assert ours.sound
    assert ours.sequences == count
    theirs = [row for file in files for row in mindrecord.FileReader(str(file)).get_next()] if shards == 1 else rows
    for number, row in enumerate(theirs):
        for column in ours.columns:
            assert ours.array(number, column).tolist() == np.asarray(row[column.name]).tolist(), (number, column)
    assert ours.lengths.tolist() == [len(row["input_ids"]) for row in rows]


def test_numbers_that_packing_does_not_shorten(tmp_path: Path) -> None:
    rows = [{"input_ids": np.array([2**62, -(2**63)], dtype=np.int64)} for _ in range(3)]
    (file,) = written(tmp_path / "data.mindrecord", SCHEMAS["wide ids"], rows)
    ours = read_records("data", (str(file),))
    assert [ours.read(number).tolist() for number in range(3)] == [[2**62, -(2**63)]] * 3


def rows_of(count: int, length: int = 17, seed: int = 0) -> list[dict[str, Any]]:
    generator = np.random.default_rng(seed)
    return [{"input_ids": generator.integers(0, 120, size=length).astype(np.int32)} for _ in range(count)]


def real_batches(loader: dict[str, Any], columns: Sequence[str], batch: int, ranks: int, rank: int) -> list[Any]:
    """What MindSpore Transformers' own data set class gives one device."""
    from mindformers.dataset.causal_language_model_dataset import CausalLanguageModelDataset
    from mindformers.tools.register import MindFormerConfig

    class Shard(CausalLanguageModelDataset):
        @classmethod
        def _generate_shard_info(cls) -> tuple[int, int]:
            return rank, ranks

    config = MindFormerConfig(
        data_loader={"type": "MindDataset", **loader}, input_columns=list(columns), batch_size=batch,
        drop_remainder=True, num_parallel_workers=1, micro_batch_num=1,
    )  # fmt: skip
    found = Shard(dataset_config=config).create_dict_iterator(num_epochs=1, output_numpy=True)
    return [batch["input_ids"].tolist() for batch in found]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("form", ["folder", "file", "list", "list turned round", "some", "none", "one", "seven"])
def test_the_rows_of_each_step_are_the_frameworks(form: str, ranks: int, tmp_path: Path) -> None:
    pytest.importorskip("mindformers")
    files = [str(file) for file in written(tmp_path / "data.mindrecord", SCHEMAS["ids alone"], rows_of(37), 3)]
    loader: dict[str, Any] = {
        "folder": {"dataset_dir": str(tmp_path)},
        "file": {"dataset_dir": files[0]},
        "list": {"dataset_files": files},
        "list turned round": {"dataset_files": files[::-1]},
        "some": {"dataset_files": files, "num_samples": 18},
        "none": {"dataset_files": files, "num_samples": 0},
        "one": {"dataset_files": files, "num_samples": ranks - 1},
        "seven": {"dataset_files": files, "num_samples": 7},
    }[form]
    loader["shuffle"] = False
    text = rows_yaml(loader, ranks=ranks, micro=4 // ranks, parallel=ranks > 1, epochs=2)
    (tmp_path / "run.yaml").write_text(text, "utf-8")
    side = side_of(read_config(str(tmp_path / "run.yaml"), ReadOptions(world_size=ranks)), {})
    draws = side.draws
    assert isinstance(draws, RowDraws), side.problems
    for rank in range(ranks):
        real = real_batches(loader, ["input_ids"], 4 // ranks, ranks, rank)
        assert side.plan.steps == 2 * len(real)
        for step in range(2 * len(real)):
            mine = [draws.tokens(slot.sample).tolist() for slot in draws.step(step) if slot.rank == rank]
            assert mine == real[step % len(real)]


def refused(*files: str) -> bool:
    """Whether MindSpore's own reader refuses these files."""
    from mindspore.dataset import MindDataset

    try:
        list(MindDataset(list(files), shuffle=False).create_dict_iterator(num_epochs=1))
    except (RuntimeError, ValueError):
        return True
    return False


def test_what_mindspore_does_not_open_is_told(tmp_path: Path) -> None:
    (file,) = written(tmp_path / "data.mindrecord", SCHEMAS["ids alone"], rows_of(5))
    assert not refused(str(file))
    moved = tmp_path / "other.mindrecord"
    for ending in ("", ".db"):
        os.rename(f"{file}{ending}", f"{moved}{ending}")
    assert refused(str(moved))
    assert not read_records("other", (str(moved),)).sound
    for ending in ("", ".db"):
        os.rename(f"{moved}{ending}", f"{file}{ending}")
    os.remove(f"{file}.db")
    assert refused(str(file))
    found = read_records("data", (str(file),))
    assert isinstance(found, RecordFile)
    assert [entry.kind.code for entry in found.problems] == ["EVD063"]


def test_rows_of_several_lengths_make_no_batch(tmp_path: Path) -> None:
    pytest.importorskip("mindformers")
    rows = [{"input_ids": np.arange(length, dtype=np.int32)} for length in (5, 6, 5, 6)]
    (file,) = written(tmp_path / "data.mindrecord", SCHEMAS["ids alone"], rows)
    loader: dict[str, Any] = {"dataset_dir": str(file), "shuffle": False}
    with pytest.raises(RuntimeError):
        real_batches(loader, ["input_ids"], 4, 1, 0)
    (tmp_path / "run.yaml").write_text(rows_yaml(loader), "utf-8")
    side = side_of(read_config(str(tmp_path / "run.yaml")), {})
    assert side.draws is None
    assert "EVD063" in [entry.kind.code for entry in side.problems]

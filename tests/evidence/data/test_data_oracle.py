"""Our indices against the real data sets of both frameworks."""

from __future__ import annotations

import random
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from data_oracle import NoTokenizer, compile_helpers, megatron_dataset, mindformers_dataset, sample_of
from data_writer import script, write_data, write_text, yaml

from accmap.evidence.data.check import plan_of
from accmap.evidence.data.draws import CyclicOrder, Draws, block_step, dealt_step
from accmap.evidence.data.indexed_file import read_indexed
from accmap.evidence.data.plan import Plan, RefusedError, blend_of, ranges
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import read_config

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.frameworks
CASES = 60


@pytest.fixture(scope="module")
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """The framework's own way from settings to a data set."""
    if request.param == "megatron":
        pytest.importorskip("megatron.core.datasets.gpt_dataset")
        return megatron_dataset
    pytest.importorskip("mindformers")
    compile_helpers(tmp_path_factory.mktemp("helper"))
    return mindformers_dataset


def plan(framework: str, words: list[str], split: str, samples: int, length: int, seed: int, *, extra: bool) -> Plan:
    return Plan(
        file="", framework=framework, version="", blend=blend_of(words), split=split, own_files=False,  # pyright: ignore[reportArgumentType]
        samples=samples, sample_length=length, seed=seed, global_batch=1, micro_batch=1, ranks=1, loader="blocks",
        steps=samples, extra=extra,
    )  # fmt: skip


def random_case(chooser: random.Random, folder: Path) -> dict[str, Any]:
    """Settings and data as small as they come, so that every epoch rule is met."""
    generator: Any = np.random.default_rng(chooser.randrange(1 << 30))
    prefixes: list[str] = []
    for number in range(chooser.choice([1, 1, 2, 3, 5])):
        prefix = str(folder / f"data{number}")
        lowest = 0 if chooser.random() < 0.3 else 1
        lengths = generator.integers(lowest, chooser.choice([5, 30, 200]), size=chooser.randint(3, 60))
        write_data(prefix, [generator.integers(1, 90, size=length).tolist() for length in lengths])
        prefixes.append(prefix)
    weighted = chooser.random() < 0.6
    words = [
        word
        for prefix in prefixes
        for word in ([str(chooser.choice([1, 2, 0.3, 17, 0.05, 30])), prefix] if weighted else [prefix])
    ]
    return {
        "words": words,
        "split": chooser.choice(["1", "100,0,0", "99,1,0", "969, 30, 1", "70,20,10", "0.5,0.3,0.2"]),
        "samples": chooser.choice([1, 5, 20, 100, 333]),
        "length": chooser.choice([2, 7, 16, 33]),
        "seed": chooser.choice([0, 1, 1234, 42, 2**31 - 1]),
        "extra": chooser.random() < 0.8,
    }


def never_ends(case: dict[str, Any]) -> bool:
    """Whether a part of the split has no tokens: the frameworks then look for enough epochs for ever."""
    for prefix in blend_of(case["words"]).prefixes:
        data = read_indexed(prefix)
        for part in ranges(case["split"], data.sequences):
            if part is not None and int(data.lengths[part[0] : part[1]].sum()) <= 1:
                return True
    return False


def every_sample(framework: str, case: dict[str, Any], files: dict[str, Any]) -> None:
    found = Draws(plan(framework, **case), files)
    for at in range(found.size):
        found.sample(at)


@pytest.mark.parametrize(("build", "framework"), [("megatron",) * 2, ("mindformers",) * 2], indirect=["build"])
@pytest.mark.procedure("proc.data.same")
def test_the_samples_are_the_frameworks(build: Callable[..., Any], framework: str, tmp_path: Path) -> None:
    chooser = random.Random(20)
    compared = refused = 0
    for number in range(CASES):
        folder = tmp_path / str(number)
        folder.mkdir()
        case = random_case(chooser, folder)
        if never_ends(case):
            continue
        ours: Draws | None = None
        files = {prefix: read_indexed(prefix) for prefix in blend_of(case["words"]).prefixes}
        try:
            theirs = build(
                case["words"], case["split"], case["samples"], case["length"], case["seed"],
                add_extra_token_to_sequence=case["extra"],
            )  # fmt: skip
        except (AssertionError, IndexError, ValueError):  # 2.1 of MindSpore Transformers raises what the others assert
            with pytest.raises(RefusedError):
                every_sample(framework, case, files)
            refused += 1
            continue
        ours = Draws(plan(framework, **case), files)
        assert ours.size == len(theirs), case
        for at in range(min(case["samples"], ours.size)):
            tokens = ours.tokens(at).tolist()
            inputs, labels = sample_of(theirs[at])
            if case["extra"]:
                assert (tokens[:-1], tokens[1:]) == (inputs, labels), (case, at)
            else:
                assert (tokens, tokens[1:]) == (inputs, labels[:-1]), (case, at)
        compared += 1
        shutil.rmtree(folder)
    assert compared > CASES // 3
    assert compared + refused > CASES // 2


@pytest.mark.parametrize("total", [24, 1000])
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("sharded", [True, False])
def test_the_cyclic_order_is_pytorchs(total: int, ranks: int, *, sharded: bool) -> None:
    torch = pytest.importorskip("torch")
    micro = 2
    size = total // (micro * ranks) * micro if sharded else total // micro * micro
    shuffled = torch.randperm(size, generator=torch.Generator().manual_seed(0)).tolist()
    ours = CyclicOrder(total, micro, ranks, sharded=sharded)
    batch = micro * ranks * 2
    for step in range(total // batch):
        for slot in ours.step(step, batch):
            own = [s.sample for s in ours.step(step, batch) if s.rank == slot.rank]
            taken = range(step * micro * 2, (step + 1) * micro * 2)
            if sharded:
                assert own == [slot.rank * size + shuffled[turn] for turn in taken]
            else:
                assert own == [shuffled[slot.rank :: ranks][turn] for turn in taken]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_mindspore_deals_samples_out(ranks: int) -> None:
    dataset = pytest.importorskip("mindspore.dataset")

    class Numbers:
        def __len__(self) -> int:
            return 24

        def __getitem__(self, at: int) -> tuple[Any]:
            return (np.asarray(at),)

    batch = 8
    each = batch // ranks
    for rank in range(ranks):
        shards = {} if ranks == 1 else {"num_shards": ranks, "shard_id": rank}
        real = dataset.GeneratorDataset(Numbers(), ["number"], shuffle=False, **shards).batch(each, drop_remainder=True)
        for step, (row,) in enumerate(real.create_tuple_iterator(num_epochs=1, output_numpy=True)):
            ours = [slot.sample for slot in dealt_step(step, batch, 1, ranks) if slot.rank == rank]
            assert ours == row.tolist()


@pytest.mark.parametrize("ranks", [1, 2])
def test_megatron_gives_each_device_a_block(ranks: int) -> None:
    # The published loader: rank r takes places r·m to (r+1)·m of every m·ranks samples.
    micro, batch = 2, 8
    samples = list(range(24))
    for rank in range(ranks):
        blocks = [samples[at : at + micro * ranks] for at in range(0, 24, micro * ranks)]
        real = [block[rank * micro : (rank + 1) * micro] for block in blocks]
        per_step = batch // (micro * ranks)
        for step in range(3):
            ours = [slot.sample for slot in block_step(step, batch, micro, ranks) if slot.rank == rank]
            assert ours == [at for block in real[step * per_step : (step + 1) * per_step] for at in block]


def test_megatron_keeps_pad_places_masked(tmp_path: Path) -> None:
    pytest.importorskip("megatron.core.datasets.gpt_dataset")
    # The first mask is kept and written into, so that one sample's pad is masked in all later ones: what `special` says
    # of versions up to 0.14.
    write_data(tmp_path / "data", [[1, 2, 3, 4, 5, 6, 7, 8] + [9] * 24])
    built = megatron_dataset([str(tmp_path / "data")], "1", 3, 8, 0, tokenizer=NoTokenizer(pad=5))
    masked = [bool((built[at]["loss_mask"] == 0).any()) for at in (0, 1, 2, 0, 1, 2)]
    assert masked[3:] == [True, True, True]
    held = [0 in sample_of(built[at])[1] for at in range(3)]
    assert held.count(True) == 1


def test_mindformers_works_out_boundaries_for_the_first_sample_only(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("mindformers")
    compile_helpers(tmp_path_factory.mktemp("helper"))
    write_data(tmp_path / "data", [[1, 2, 3, 4, 99] * 20])
    settings: dict[str, Any] = {"create_compressed_eod_mask": True, "eod": 99}
    built = mindformers_dataset([str(tmp_path / "data")], "1", 3, 8, 0, **settings)
    assert len(built[0]) == 5
    with pytest.raises(AttributeError):
        built[1]
    (tmp_path / "again").mkdir()
    write_data(tmp_path / "again" / "data", [[1, 2, 3, 4, 99] * 20])
    built = mindformers_dataset([str(tmp_path / "again" / "data")], "1", 3, 8, 0, **settings, eod_mask_loss=True)
    assert all(len(built[at]) == 5 for at in range(3))


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.procedure("proc.data.bin_idx")
def test_a_yaml_reads_what_its_loader_reads(
    ranks: int, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("mindformers")
    compile_helpers(tmp_path_factory.mktemp("helper"))
    loaders: Any = import_module("mindformers.dataset.dataloader.blended_megatron_dataloader")

    for name, seed in (("one", 0), ("two", 1)):
        write_text(tmp_path / name, seed=seed)
    words = ["1", str(tmp_path / "one"), "2", str(tmp_path / "two")]
    text = yaml(
        ", ".join(f'"{word}"' for word in words), ranks=ranks, micro=4 // ranks, parallel=ranks > 1, split="8,1,1"
    )
    (tmp_path / "run.yaml").write_text(text)
    plan = plan_of(read_config(str(tmp_path / "run.yaml"), ReadOptions(world_size=ranks)))
    assert (plan.global_batch, plan.ranks, plan.is_decided) == (4, ranks, True)
    assert plan.blend is not None
    ours = Draws(plan, {prefix: read_indexed(prefix) for prefix in plan.blend.prefixes})
    settings = {"seed": 1234, "seq_length": 16, "split": "8,1,1", "data_path": words, "create_attention_mask": False}
    columns = ["input_ids", "labels", "loss_mask", "position_ids"]
    for rank in range(ranks):
        shards = {} if ranks == 1 else {"num_shards": ranks, "shard_id": rank}
        real = loaders.MegatronDatasetBuilder("GPTDataset", settings).builder([40, 0, 0], columns, **shards)
        batches = real.batch(4 // ranks, drop_remainder=True).create_dict_iterator(num_epochs=1, output_numpy=True)
        for step, batch in zip(range(10), batches, strict=False):
            mine = [ours.tokens(slot.sample).tolist() for slot in ours.step(step) if slot.rank == rank]
            assert [tokens[:-1] for tokens in mine] == batch["input_ids"].tolist()
            assert [tokens[1:] for tokens in mine] == batch["labels"].tolist()


@pytest.mark.parametrize("words", ["0.3 one 0.7 two", "2 one 1 two 5 three", "one two three"])
@pytest.mark.procedure("proc.data.same")
def test_a_script_and_a_yaml_blend_as_both_builders_do(
    words: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """`--data-path W P W P` and a `data_path` list, each against its own framework's builder, sample by sample."""
    pytest.importorskip("megatron.core.datasets.gpt_dataset")
    pytest.importorskip("mindformers")
    compile_helpers(tmp_path_factory.mktemp("helper"))
    for number, name in enumerate(("one", "two", "three")):
        write_text(tmp_path / name, seed=number, count=60)
    given = [str(tmp_path / word) if word.isalpha() else word for word in words.split()]
    (tmp_path / "a.sh").write_text(script(" ".join(given), split="8,1,1"), "utf-8")
    (tmp_path / "b.yaml").write_text(yaml(", ".join(f'"{word}"' for word in given), split="8,1,1"), "utf-8")
    for file, build in (("a.sh", megatron_dataset), ("b.yaml", mindformers_dataset)):
        plan = plan_of(read_config(str(tmp_path / file)))
        assert plan.blend is not None
        ours = Draws(plan, {prefix: read_indexed(prefix) for prefix in plan.blend.prefixes})
        theirs = build(given, "8,1,1", 40, 16, 1234)
        assert ours.size == len(theirs)
        for at in range(ours.size):
            tokens = ours.tokens(at).tolist()
            assert (tokens[:-1], tokens[1:]) == sample_of(theirs[at])

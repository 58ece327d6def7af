"""Pipeline stages: virtual ones, uneven ones and layouts, with nothing lost on the way there and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accmap.evidence.weights.conversion import Request, convert
from accmap.evidence.weights.megatron_torch import Cut, Ranks, chunks_of
from accmap.evidence.weights.model import View, differing_copies
from accmap.evidence.weights.opening import open_checkpoint, sides_of
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import read_config

np = pytest.importorskip("numpy")

from weight_files import SHARD, arrays, pair, write_megatron, write_mindformers  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.procedure("proc.weights.convert")

LAYERS = 8


def layers(cut: Cut, count: int = LAYERS, *, further: bool = False) -> list[list[int]]:
    return [list(chunk.layers) for chunk in chunks_of(cut, count, further=further, place="x")]


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (Cut(2), [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (Cut(2, num_layers_per_virtual_pipeline_stage=2), [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (Cut(2, num_virtual_stages_per_pipeline_rank=4), [[0], [1], [2], [3], [4], [5], [6], [7]]),
        (
            Cut(3, decoder_first_pipeline_num_layers=1, decoder_last_pipeline_num_layers=3),
            [[0], [1, 2, 3, 4], [5, 6, 7]],
        ),
        (Cut(3, decoder_last_pipeline_num_layers=2), [[0, 1, 2], [3, 4, 5], [6, 7]]),
        (
            Cut(3, None, 2, 4, 2),
            [[0, 1], [2], [3], [4, 5], [6], [7]],
        ),
        (Cut(2, pipeline_model_parallel_layout="Et*3|t*5L"), [[0, 1, 2], [3, 4, 5, 6, 7]]),
        (Cut(2, pipeline_model_parallel_layout="Et|(tt|)*2,ttt,L"), [[0], [1, 2], [3, 4], [5, 6, 7]]),
        (Cut(2, pipeline_model_parallel_layout="E|t*4|t*4|L"), [[], [0, 1, 2, 3], [4, 5, 6, 7], []]),
        (
            Cut(3, account_for_embedding_in_pipeline_split=True),
            [[0, 1], [2, 3, 4], [5, 6, 7]],
        ),
        (
            Cut(5, account_for_embedding_in_pipeline_split=True, account_for_loss_in_pipeline_split=True),
            [[0], [1, 2], [3, 4], [5, 6], [7]],
        ),
    ],
)
def test_where_layers_go(cut: Cut, expected: list[list[int]]) -> None:
    assert layers(cut) == expected


def test_the_ends_stand_where_they_belong() -> None:
    cut = Cut(2, pipeline_model_parallel_layout="Ett|t*3|t*3m|L")
    found = chunks_of(cut, 8, further=True, place="x")
    assert [chunk.embedding for chunk in found] == [True, False, False, False]
    assert [chunk.predicts for chunk in found] == [False, False, True, False]
    assert [chunk.loss for chunk in found] == [False, False, False, True]
    assert [chunk.norm for chunk in found] == [False, False, True, False]
    # Before 0.16 the norm stood in the last stage, prediction or not.
    older = chunks_of(cut, 8, further=True, place="x", version=(0, 14))
    assert [chunk.norm for chunk in older] == [False, False, False, True]


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        (Cut(3), r"layers \(8\) cannot be divided into 3 equal parts"),
        (Cut(1, num_virtual_stages_per_pipeline_rank=2), "virtual stages require --pipeline-parallel above 1"),
        (Cut(2, num_layers_per_virtual_pipeline_stage=3), "not a multiple of 3"),
        (Cut(2, num_layers_per_virtual_pipeline_stage=0), "not a multiple of 0"),
        (Cut(2, num_virtual_stages_per_pipeline_rank=3), "into 3 equal virtual stages"),
        (Cut(2, num_virtual_stages_per_pipeline_rank=0), "into 0 equal virtual stages"),
        (Cut(4, decoder_first_pipeline_num_layers=1), "7 layers do not divide evenly into the 3 stages"),
        (Cut(3, decoder_first_pipeline_num_layers=9), "do not divide evenly"),
        (Cut(2, decoder_first_pipeline_num_layers=0), "at least one layer"),
        (Cut(2, decoder_first_pipeline_num_layers=3, account_for_loss_in_pipeline_split=True), "uneven stages"),
        (Cut(2, num_layers_per_virtual_pipeline_stage=1, decoder_first_pipeline_num_layers=3), "uneven stages require"),
        (Cut(2, pipeline_model_parallel_layout="Et*8"), "does not match 2 ranks"),
        (Cut(2, pipeline_model_parallel_layout="Et*4|t*3L"), "layout has 7 layers instead of 8"),
        (Cut(2, pipeline_model_parallel_layout="t*4E|t*4L"), "does not begin with E and end with L"),
        (Cut(2, pipeline_model_parallel_layout="Et*4|t*4mL"), "multi-token prediction"),
        (Cut(2, pipeline_model_parallel_layout="Ex|L"), "is not a layout"),
        (Cut(2, None, 2, pipeline_model_parallel_layout="Et*4|t*4L"), "cannot be combined with the other"),
    ],
)
def test_a_cut_that_megatron_refuses(cut: Cut, told: str) -> None:
    with pytest.raises(UnreadableError, match=told) as raised:
        layers(cut)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in raised.value.diagnostic.message("zh"))


def test_layouts_came_with_a_version() -> None:
    with pytest.raises(UnreadableError, match=r"requires Megatron-LM 0\.13"):
        chunks_of(Cut(1, pipeline_model_parallel_layout="Et*8L"), 8, further=False, place="x", version=(0, 12))


@st.composite
def cuts(draw: st.DrawFn, further: bool) -> Cut:
    """A cut of eight layers that Megatron-LM takes."""
    ranks = draw(st.sampled_from([1, 2, 4]))
    kind = draw(st.sampled_from(["even", "virtual", "ends", "layout", "layout"])) if ranks > 1 else "even"
    if kind == "even":
        return Cut(ranks)
    if kind == "virtual":
        return Cut(ranks, num_virtual_stages_per_pipeline_rank=draw(st.sampled_from([1, 2])))
    if kind == "ends":
        first = draw(st.sampled_from([1, 2, 3]))
        return Cut(2, decoder_first_pipeline_num_layers=first)
    stages = ranks * draw(st.sampled_from([1, 2]))
    edges = sorted(draw(st.lists(st.integers(0, LAYERS), min_size=stages - 1, max_size=stages - 1)))
    counts = [stop - start for start, stop in zip([0, *edges], [*edges, LAYERS], strict=True)]
    words = ["t" * count for count in counts]
    words[0] = "E" + words[0]
    if further:
        filled = max(at for at, count in enumerate(counts) if count)
        words[draw(st.integers(filled, stages - 1))] += "m"
    words[-1] += "L"
    return Cut(ranks, pipeline_model_parallel_layout="|".join(words))


FAMILY_CHANGES: dict[str, dict[str, Any]] = {
    "grouped": {"megatron": {"num-layers": LAYERS}, "model": {"num_hidden_layers": LAYERS}},
    "tied": {"megatron": {"num-layers": LAYERS}, "model": {"num_hidden_layers": LAYERS}},
    "further": {"megatron": {"num-layers": LAYERS}, "model": {"num_hidden_layers": LAYERS}},
}
SMALL = {
    "megatron": {"hidden-size": 32, "ffn-hidden-size": 32, "vocab-size": 31, "kv-channels": 8},
    "model": {"hidden_size": 32, "head_dim": 8, "intermediate_size": 32, "vocab_size": 32},
}


@pytest.fixture(scope="module", params=["grouped", "tied", "further", "further-tied"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any], bool]:
    family, _, tied = request.param.partition("-")
    folder = tmp_path_factory.mktemp(request.param)
    both = FAMILY_CHANGES[family]
    changes = {key: {**both[key], **SMALL[key]} for key in ("megatron", "model")}
    if tied:
        changes["megatron"]["untie-embeddings-and-output-weights"] = None
    script, config = pair(family, folder, **changes)
    given_files = [read_config(script)._replace(framework_version="0.16"), read_config(config)]
    if tied:
        # MindSpore Transformers has no such model.
        write_megatron(folder / "source", script, arrays(script))
        return folder, given_files[:1], True
    write_mindformers(folder / "source", config, arrays(script))
    return folder, given_files, family == "further"


def numbers(path: Path, configs: list[Any]) -> dict[str, bytes]:
    """Every weight of a checkpoint as it lies in memory."""
    checkpoint = open_checkpoint(str(path))
    sides = sides_of(configs, [checkpoint])
    assert sides is not None
    model = checkpoint.model(View(sides.layout, sides.expected_shapes("megatron"), "x"))
    assert not list(differing_copies(model.copies))
    return {name: np.ascontiguousarray(weight.read()).tobytes() for name, weight in model.weights.items()}


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_comes_back_bit_for_bit(data: st.DataObject, source: tuple[Path, list[Any], bool]) -> None:
    import shutil

    folder, configs, further = source
    cut = data.draw(cuts(further))
    tensor = data.draw(st.sampled_from([1, 2]))
    shutil.rmtree(folder / "there", ignore_errors=True)
    ranks = Ranks(tensor, cut.pipeline, 1, cut)
    convert(Request(str(folder / "source"), str(folder / "there"), to="megatron", ranks=ranks), configs)
    assert numbers(folder / "there", configs) == numbers(folder / "source", configs)


def test_each_model_chunk_has_its_own_key(source: tuple[Path, list[Any], bool]) -> None:
    import shutil

    folder, configs, further = source
    shutil.rmtree(folder / "chunks", ignore_errors=True)
    ranks = Ranks(1, 2, 1, Cut(2, num_layers_per_virtual_pipeline_stage=2))
    convert(Request(str(folder / "source"), str(folder / "chunks"), to="megatron", ranks=ranks), configs)
    from accmap.evidence.weights.tensor_files import TorchFile

    shards = [TorchFile(str(folder / "chunks" / "release" / f"mp_rank_00_{rank:03d}" / SHARD)) for rank in range(2)]
    contents = [shard.content for shard in shards]
    assert all(sorted(content) == ["checkpoint_version", "iteration", "model0", "model1"] for content in contents)
    assert "embedding.word_embeddings.weight" in contents[0]["model0"]
    assert "embedding.word_embeddings.weight" not in contents[0]["model1"]
    last = contents[1]["model1"]
    assert "decoder.final_layernorm.weight" in last
    # A tied output layer stands there, too, and prediction needs the embedding besides.
    assert "output_layer.weight" in last
    assert ("embedding.word_embeddings.weight" in last) == further
    held = {name for key in ("model0", "model1") for name in contents[1][key] if name.startswith("decoder.layers.")}
    assert {name.split(".")[2] for name in held} == {"0", "1"}


def test_an_empty_chunk_need_not_be_there(source: tuple[Path, list[Any], bool]) -> None:
    """Megatron-LM from 0.13 on leaves the key of a chunk without weights out."""
    import shutil

    folder, configs, further = source
    shutil.rmtree(folder / "hollow", ignore_errors=True)
    layout = "Ettt||t*5|mL" if further else "Ettt||t*5|L"
    ranks = Ranks(1, 2, 1, Cut(2, pipeline_model_parallel_layout=layout))
    convert(Request(str(folder / "source"), str(folder / "hollow"), to="megatron", ranks=ranks), configs)
    from accmap.evidence.weights.tensor_files import TorchFile

    path = folder / "hollow" / "release" / "mp_rank_00_001" / SHARD
    assert sorted(TorchFile(str(path)).content) == ["checkpoint_version", "iteration", "model1"]
    assert numbers(folder / "hollow", configs) == numbers(folder / "source", configs)


def test_what_a_chunk_lacks_is_missed(source: tuple[Path, list[Any], bool]) -> None:
    import shutil

    folder, configs, _ = source
    shutil.rmtree(folder / "cut", ignore_errors=True)
    ranks = Ranks(1, 4, 1, Cut(4))
    convert(Request(str(folder / "source"), str(folder / "cut"), to="megatron", ranks=ranks), configs)
    shutil.rmtree(folder / "cut" / "release" / "mp_rank_00_002")
    with pytest.raises(UnreadableError, match="mp_rank_00_002"):
        open_checkpoint(str(folder / "cut"))

"""`accmap data check` from the command line: files alone, one configuration, two of them."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "data"))
from data_writer import script, write_data, write_text, yaml

from accmap.evidence.data.check import plan_of
from accmap.evidence.data.draws import Draws
from accmap.evidence.data.indexed_file import read_indexed
from accmap.schemas.reader import read_config

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any
WEIGHTED = '"1", data'
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def data(tmp_path: Path) -> int:
    """Data of forty documents at the prefix `data`; how many tokens they have."""
    return write_text(tmp_path / "data")


@pytest.fixture
def pair(accmap: Run, data: int) -> Callable[..., dict[str, Any]]:
    """The answer to a script and a YAML."""
    assert data

    def answer(a: str, b: str, *words: str) -> dict[str, Any]:
        found = accmap("data", "check", "a.sh", "b.yaml", "--format", "json", *words, files={"a.sh": a, "b.yaml": b})
        said = json.loads(found.out)
        said["exit"] = found.code
        said["codes"] = [(entry["code"], entry["severity"]) for entry in said["problems"]]
        schema = json.loads(accmap("schema", "data-check").out)
        jsonschema.validate({key: said[key] for key in said if key not in ("exit", "codes")}, schema)
        return said

    return answer


def test_a_word_that_may_ask_for_other_data_is_named(pair: Run) -> None:
    found = pair(script("data", more="$MORE"), yaml(WEIGHTED))
    assert (found["exit"], found["verdict"]) == (1, "partial")
    assert [entry["reason"] for entry in found["not_compared"]] == ["$MORE could override any value"]


@pytest.mark.procedure("proc.data.same")
@pytest.mark.parametrize(
    ("a", "b"), [("data", WEIGHTED), ("1 data", WEIGHTED), ("data", "data"), ("1 data", '"3", data')]
)
def test_the_same_data_give_the_same_samples(pair: Run, a: str, b: str) -> None:
    found = pair(script(a), yaml(b))
    assert (found["exit"], found["verdict"], found["problems"]) == (0, "good", [])
    agreement = found["agreement"]
    assert (agreement["steps"], agreement["equal_steps"], agreement["first_difference"]) == (10, 10, None)
    assert agreement["whole_run"]
    assert agreement["placement"] == "same"


@pytest.mark.procedure("proc.data.bin_idx")
def test_both_configurations_point_at_the_same_bytes(pair: Run, tmp_path: Path) -> None:
    for ending in ("bin", "idx"):
        (tmp_path / f"copy.{ending}").write_bytes((tmp_path / f"data.{ending}").read_bytes())
    found = pair(script("data"), yaml('"1", copy'))
    assert found["verdict"] == "good"
    assert len({entry["checksum"] for entry in found["datasets"]}) == 1
    whole = (tmp_path / "copy.bin").read_bytes()
    (tmp_path / "copy.bin").write_bytes(whole[:4] + b"\x07" + whole[5:])
    found = pair(script("data"), yaml('"1", copy'))
    assert ("EVD075", "error") in found["codes"]
    assert found["exit"] == 1


def test_other_data_of_another_size(pair: Run, tmp_path: Path) -> None:
    write_text(tmp_path / "other", seed=1)
    found = pair(script("data"), yaml('"1", other'))
    assert {"EVD075", "EVD077"} <= {code for code, _severity in found["codes"]}


@pytest.mark.parametrize("swapped", [False, True])
def test_the_rest_of_a_longer_run_is_named(pair: Run, swapped: bool) -> None:
    # One epoch of either, so that the order is the same to the end of both.
    longer, shorter = (1, 12) if swapped else (12, 1)
    found = pair(script("data", steps=longer), yaml("data", samples=4 * shorter))
    assert (found["exit"], found["verdict"], found["agreement"]["whole_run"]) == (1, "partial", False)
    side = "b.yaml" if swapped else "a.sh"
    assert found["not_compared"] == [
        {
            "what": "steps 2 to 12",
            "reason": f"only the run of {side} is long enough to reach the last 11 steps",
        }
    ]
    assert "and the whole run is equal" not in json.dumps(found)


@pytest.mark.parametrize("code", [3, 5, 8])
def test_the_same_tokens_in_another_type_are_the_same_data(pair: Run, tmp_path: Path, code: int) -> None:
    documents = [[1, 2, 3, 99] * 20, [4, 5, 99] * 30]
    for name, kind in (("data", 4), ("other", code)):
        write_data(tmp_path / name, documents, kind)
    found = pair(script("data", steps=2), yaml('"1", other', samples=8))
    assert (found["exit"], found["verdict"]) == (0, "good")
    (told,) = [entry for entry in found["problems"] if entry["code"] == "EVD075"]
    assert told["severity"] == "info"
    assert "The ids are the same" in told["message"]
    documents[1][7] += 1
    write_data(tmp_path / "other", documents, code)
    found = pair(script("data", steps=2), yaml('"1", other', samples=8))
    assert (found["exit"], found["verdict"]) == (1, "bad")


def test_what_a_quick_check_did_not_read_is_named(
    pair: Run, accmap: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from accmap.evidence.data import agreement

    monkeypatch.setattr(agreement, "_BLOCK", 64)
    for name in ("data", "copy"):
        write_text(tmp_path / name, count=200)
    whole = bytearray((tmp_path / "copy.bin").read_bytes())
    whole[72] ^= 1  # in the second block, which a quick check passes over
    (tmp_path / "copy.bin").write_bytes(whole)
    found = pair(script("data"), yaml('"1", copy'), "--quick", "64")
    assert (found["exit"], found["verdict"]) == (1, "partial")
    told = [entry["reason"] for entry in found["not_compared"]]
    assert any("blocks of 8 MB" in reason for reason in told)
    assert any(" ids" in reason for reason in told)
    assert pair(script("data"), yaml('"1", copy'))["verdict"] == "bad"
    assert pair(script("data"), yaml('"1", data'), "--quick", "64")["verdict"] == "partial"
    assert pair(script("data"), yaml('"1", data'), "--quick", "200")["verdict"] == "good"
    assert accmap("data", "check", "data", "--quick", "3").code == 1


def test_another_order_within_steps_hides_no_later_samples(pair: Run, tmp_path: Path) -> None:
    write_text(tmp_path / "more", seed=3)
    a, b = script("1 data 1 more"), '"1", more, "1", data'  # each step takes two samples of each, in another order
    found = pair(a, yaml(b))
    assert (found["agreement"]["equal_steps"], found["agreement"]["first_different_step"]) == (10, None)
    assert ("EVD077", "warning") in found["codes"]
    assert found["not_compared"] == []
    found = pair(a, yaml(b), "--samples", "8")
    assert [entry["what"] for entry in found["not_compared"]] == ["samples from 8 on"]
    agreement = pair(a, yaml(b, samples=20, epochs=2))["agreement"]
    first, different = agreement["first_difference"], agreement["first_different_step"]
    assert (first["sample"], first["same_samples_in_step"]) == (0, True)
    assert (different["step"], different["same_samples_in_step"], agreement["equal_steps"]) == (5, False, 5)


DIFFERENT = {
    "seed": ({}, {"seed": 1}, {"EVD076", "EVD077"}),
    "length": ({}, {"length": 8}, {"EVD076", "EVD077"}),
    "split": ({"split": "8,1,1"}, {}, {"EVD076", "EVD077"}),
    "batch": ({"batch": 8, "steps": 5}, {}, {"EVD076"}),
    "mask": ({"more": "--eod-mask-loss --vocab-size 99"}, {}, {"EVD076"}),
    "order": ({"more": "--dataloader-type cyclic"}, {}, {"EVD077"}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_named_with_its_place(pair: Run, name: str) -> None:
    a, b, codes = DIFFERENT[name]
    found = pair(script("data", **a), yaml(WEIGHTED, **b))
    assert (found["exit"], found["verdict"]) == (1, "bad")
    assert codes == {code for code, severity in found["codes"] if severity == "error"}
    assert all(entry["span"] for entry in found["problems"] if entry["code"] in codes)


def test_a_weight_asks_for_more_samples_and_can_cross_an_epoch(pair: Run, data: int) -> None:
    samples = (data - 1) // 16
    steps = {"batch": 1, "micro": 1, "steps": samples}
    found = pair(script("data", **steps), yaml(WEIGHTED, samples=samples, micro=1))
    assert [side["data"][0]["epochs"] for side in found["sides"]] == [1, 2]
    told = next(entry for entry in found["problems"] if entry["code"] == "EVD077")
    assert "0.5% more samples" in told["message"]
    for a, b in (("1 data", WEIGHTED), ("data", "data")):
        assert pair(script(a, **steps), yaml(b, samples=samples, micro=1))["agreement"]["whole_run"]


def test_a_seed_that_changes_nothing_is_only_told(pair: Run, tmp_path: Path) -> None:
    write_data(tmp_path / "data", [[1, 2, 3, 4, 99] * 20])
    found = pair(
        script("data", steps=1, length=90, batch=1, micro=1), yaml("data", samples=1, length=90, micro=1, seed=2)
    )
    assert ("EVD076", "info") in found["codes"]
    assert found["verdict"] == "good"


def test_fewer_samples_begin_again(pair: Run) -> None:
    found = pair(script("data"), yaml(WEIGHTED, samples=20, epochs=2))
    assert found["agreement"]["restart"] == 5
    assert found["agreement"]["first_different_step"]["step"] == 5
    assert (
        "From step 6 on, one side reads the data from the beginning"
        in found["problems"][0]["message"] + found["problems"][1]["message"]
    )


@pytest.mark.parametrize(("micro", "placement"), [(1, "same"), (2, "micro-batches")])
def test_devices_share_a_step_differently(pair: Run, micro: int, placement: str) -> None:
    a = script("data", ranks=2, micro=micro)
    b = yaml(WEIGHTED, ranks=2, micro=micro, accumulate=2 // micro, parallel=True)
    found = pair(a, b, "--world-size", "2")
    assert found["agreement"]["placement"] == placement
    assert found["agreement"]["equal_steps"] == 10


DYNAMIC = """training: {steps: 10, global_batch_size: 4, local_batch_size: 2, seed: 1}
train_dataset:
  dataloader:
    type: BlendedMegatronDatasetDataLoader
    datasets_type: GPTDataset
    sizes: [40, 0, 0]
    column_names: [input_ids, labels, loss_mask, position_ids]
    config:
      {seq_length: 16, split: "1, 0, 0", data_path: ["1", data], create_attention_mask: False, eod: 99}
parallelism: {data_parallel_shard: 2}
lr_scheduler: {type: ConstantWarmUpLR}
model:
  {model_type: qwen3, architectures: Qwen3ForCausalLM, vocab_size: 128, hidden_size: 16, pad_token_id: -1}
"""


@pytest.mark.parametrize("version", ["2.0", "2.1"])
@pytest.mark.parametrize(("devices", "placement"), [(("--world-size", "2"), "micro-batches"), ((), "unknown")])
def test_the_dynamic_graph(pair: Run, version: str, devices: tuple[str, ...], placement: str) -> None:
    found = pair(script("data", ranks=2, micro=2), DYNAMIC, "--mindformers", version, *devices)
    assert (found["verdict"], found["agreement"]["whole_run"]) == ("good", True)
    assert found["agreement"]["placement"] == placement


def test_blends_are_mixed_alike(pair: Run, tmp_path: Path) -> None:
    write_text(tmp_path / "more", seed=3)
    found = pair(script("1 data 2 more"), yaml('"1", data, "2", more'))
    assert found["verdict"] == "good"
    prefixes = {entry["prefix"] for entry in found["sides"][0]["data"]}
    assert prefixes == {"data", "more"}
    assert ("EVD076", "error") in pair(script("1 data 2 more"), yaml('"1", data, "1", more'))["codes"]


def test_a_blend_whose_datasets_are_not_all_used(pair: Run, tmp_path: Path) -> None:
    # MindSpore Transformers 1.6 to 2.1 refuse it: the count of the fifth is held against the size of the fourth.
    words: list[str] = []
    for weight, name, size in (
        ("0.3", "a", 400),
        ("0.05", "b", 400),
        ("17", "c", 400),
        ("1", "d", 20),
        ("17", "e", 400),
    ):
        write_data(tmp_path / name, [[1, 2, 3, 99] * (size // 4)])
        words += [weight, name]
    listed = ", ".join(f'"{word}"' for word in words)
    found = pair(script(" ".join(words), length=8, steps=5), yaml(listed, length=8, samples=20))
    refused = [problem["file"] for problem in found["problems"] if problem["code"] == "EVD063"]
    assert refused == ["b.yaml"]


UNDECIDED = {
    "placeholder": (script("$DATA"), yaml(WEIGHTED), "EVD074"),
    "not here": (script("/nowhere/corpus"), yaml(WEIGHTED), "EVD073"),
    "shuffled": (script("data"), yaml(WEIGHTED).replace("datasets_type", "shuffle: True\n    datasets_type"), "EVD074"),
    "no sizes": (script("data"), yaml(WEIGHTED, samples="null"), "EVD074"),
    "other loader": (script("data"), yaml(WEIGHTED, columns="input_ids").replace("BlendedMegatron", "Other"), "EVD074"),
    "a number for a split": (script("data"), yaml(WEIGHTED).replace('"1, 0, 0"', "1"), "EVD074"),
    "a file of paths": (
        script("data").replace("--data-path data", "--data-args-path list.txt"),
        yaml(WEIGHTED),
        "EVD074",
    ),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_cannot_be_decided_is_said(pair: Run, name: str) -> None:
    a, b, code = UNDECIDED[name]
    found = pair(a, b)
    assert (found["exit"], found["verdict"], found["agreement"]) == (1, "undecided", None)
    assert {problem for problem, _severity in found["codes"]} == {code}


# core/num_microbatches_calculator.py:init_num_microbatches_calculator ignores --rampup-batch-size from 0.18 on.
@pytest.mark.parametrize(
    ("version", "flag", "verdict"),
    [
        ("0.17", "--rampup-batch-size 1 1 10", "undecided"),
        ("0.18", "--rampup-batch-size 1 1 10", "good"),
        ("0.19", "--rampup-batch-size 1 1 10", "good"),
    ],
)
def test_a_ramp_counts_in_the_versions_that_read_it(pair: Run, version: str, flag: str, verdict: str) -> None:
    found = pair(script("data", more=flag), yaml(WEIGHTED), "--megatron", version)
    assert (found["verdict"], "EVD074" in dict(found["codes"])) == (verdict, verdict == "undecided")


def test_a_schedule_of_batch_sizes_is_named(accmap: Run, data: int) -> None:
    assert data
    text = script("data", more="--step-batch-size-schedule 0:2").replace("--global-batch-size 4", "")
    found = accmap("data", "check", "a.sh", "--megatron", "0.18", files={"a.sh": text}).out
    assert "--step-batch-size-schedule changes" in found


def test_the_ramp_of_the_dynamic_graph_is_named(accmap: Run) -> None:
    text = (EXAMPLES / "qwen3_dense" / "mindformers_dynamic.yaml").read_text("utf-8")
    ramped = text.replace("training:\n", "training:\n  rampup_batch_size: [1, 1, 100]\n").replace(
        "global_batch_size: 1", "global_batch_size: 4"
    )
    assert ramped != text
    found = accmap("data", "check", "a.yaml", files={"a.yaml": ramped}).out
    assert "training.rampup_batch_size reduces" in found


def test_data_that_the_framework_refuses_is_not_compared(pair: Run) -> None:
    found = pair(script("data", more="--mock-data"), yaml(WEIGHTED))
    assert (found["exit"], found["verdict"], found["agreement"]) == (2, "bad", None)


def test_paths_from_a_file(pair: Run, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("1 data\n")
    assert (
        pair(script("data").replace("--data-path data", "--data-args-path list.txt"), yaml(WEIGHTED))["verdict"]
        == "good"
    )


def test_a_copy_on_the_command_line_stands_in(accmap: Run, data: int, tmp_path: Path) -> None:
    assert data
    (tmp_path / "b.yaml").write_text(yaml('"1", /far/away/data'))
    found = json.loads(accmap("data", "check", "b.yaml", "data", "--format", "json").out)
    assert found["verdict"] == "good"
    assert found["sides"][0]["data"][0]["path"] == "data"


def test_a_prefix_with_its_ending(accmap: Run, data: int) -> None:
    assert data
    assert (
        "must not include the extension .bin" in accmap("data", "check", "a.sh", files={"a.sh": script("data.bin")}).out
    )


SPECIAL = {
    "beyond the vocabulary": ({"rows": 64}, "EVD067", "byte"),
    "masked in attention": ({"masked": 5}, "EVD071", "to -1"),
    "masked in the loss": ({"pad": 5}, "EVD071", "in the loss"),
    "no end of document": ({"eod": 7, "more": "eod_mask_loss: True"}, "EVD070", "end with 99"),
    "an absent end of document": ({"eod": 95, "more": "eod_mask_loss: True"}, "EVD070", "does not contain"),
    "an unset end of document": ({"eod": -1, "more": "eod_mask_loss: True"}, "EVD070", "not set"),
    "columns in another order": ({"columns": "labels, input_ids, loss_mask, position_ids"}, "EVD079", "by position"),
    "boundaries only once": (
        {
            "more": "create_compressed_eod_mask: True",
            "columns": "input_ids, labels, loss_mask, position_ids, actual_seq_len",
        },
        "EVD079",
        "second sample",
    ),
    "paths as one text": ({"paths": "x"}, "EVD079", "splits into characters"),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_special_ids_and_columns(accmap: Run, data: int, name: str, language: str) -> None:
    assert data
    changes, code, words = SPECIAL[name]
    text = yaml(WEIGHTED, **{key: value for key, value in changes.items() if key != "paths"})
    if "paths" in changes:
        text = text.replace(f"[{WEIGHTED}]", "data")
    found = accmap("data", "check", "b.yaml", "--lang", language, files={"b.yaml": text})
    assert found.code == 1
    line = next(line for line in found.out.splitlines() if code in line)
    assert words in line if language == "en" else any("\u4e00" <= letter <= "\u9fff" for letter in line)


def test_an_empty_part_of_the_split_never_ends(accmap: Run, data: int) -> None:
    assert data
    found = accmap("data", "check", "a.sh", files={"a.sh": script("data", split="99,1,0")})
    assert found.code == 1
    assert "never finishes building its index" in found.out


def test_files_alone(accmap: Run, data: int) -> None:
    for name in ("data", "data.bin", "data.idx"):
        found = accmap("data", "check", name, "--eod", "99", "--vocabulary", "100")
        assert found.code == 0
        assert f"{data:,} tokens of int32" in found.out
        assert "100.0% of the sequences end with 99" in found.out
    assert "EVD067" in accmap("data", "check", "data", "--vocabulary", "50").out
    assert "EVD070" in accmap("data", "check", "data", "--eod", "7").out
    assert "did not read" in accmap("data", "check", "data", "--quick", "3").out


@pytest.mark.parametrize("spoil", ["magic", "bin", "idx"])
def test_a_broken_file_beside_a_sound_one(accmap: Run, data: int, tmp_path: Path, spoil: str) -> None:
    assert data
    write_text(tmp_path / "broken")
    if spoil == "magic":
        (tmp_path / "broken.idx").write_bytes(b"garbage" * 20)
    else:
        (tmp_path / f"broken.{spoil}").unlink()
    found = accmap("data", "check", "data", "broken", "nowhere.yaml")
    assert found.code == 2
    assert "broken" in found.err
    assert "EVD06" in found.err
    assert "nowhere.yaml" in found.err
    assert "40 sequences" in found.out


def test_tokens_that_end_early(accmap: Run, data: int, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes((tmp_path / "data.bin").read_bytes()[:1001])
    found = accmap("data", "check", "data", "b.yaml", files={"b.yaml": yaml(WEIGHTED)})
    assert data
    assert found.code == 1
    assert "EVD066" in found.out


def test_samples_as_text(accmap: Run, data: int, tmp_path: Path) -> None:
    assert data
    vocabulary = {"model": {"type": "WordLevel", "vocab": {f"w{number} ": number for number in range(99)}}}
    vocabulary["added_tokens"] = [{"id": 99, "content": "<end>"}]  # pyright: ignore[reportArgumentType]
    (tmp_path / "tokenizer.json").write_text(json.dumps(vocabulary))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<end>", "pad_token": "w5 "}')
    found = accmap(
        "data", "check", "data", "--tokenizer", "tokenizer.json", "--decode", "1", "--format", "json",
    )  # fmt: skip
    (entry,) = json.loads(found.out)["decoded"]
    assert entry["inputs"].split()[1:] == entry["labels"].split("<end>")[0].split()[: len(entry["inputs"].split()) - 1]
    files = {"b.yaml": yaml(WEIGHTED, eod=98)}
    answer = json.loads(accmap("data", "check", "b.yaml", "--tokenizer", ".", "--format", "json", files=files).out)
    assert "EVD072" in {problem["code"] for problem in answer["problems"]}
    named = script("data").replace("NullTokenizer --vocab-size 127", "HuggingFaceTokenizer --tokenizer-model .")
    answer = json.loads(
        accmap("data", "check", "a.sh", "--tokenizer", ".", "--format", "json", files={"a.sh": named}).out
    )
    assert "EVD071" in {problem["code"] for problem in answer["problems"]}


@pytest.mark.parametrize(("version", "masks"), [("0.12", True), ("0.15", True), ("0.16", False), ("0.19", False)])
def test_a_pad_with_another_use_is_masked_up_to_0_15(
    accmap: Run, data: int, tmp_path: Path, version: str, *, masks: bool
) -> None:
    assert data
    vocabulary = {str(number): number for number in range(100)}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "99", "pad_token": "99"}')
    named = script("data").replace("NullTokenizer --vocab-size 127", "HuggingFaceTokenizer --tokenizer-model .")
    found = accmap("data", "check", "a.sh", "--tokenizer", ".", "--megatron", version, files={"a.sh": named})
    assert ("EVD071" in found.out) == masks
    assert ("all later samples" in found.out) == (version == "0.12")


def test_wrong_use(accmap: Run, data: int) -> None:
    assert data
    assert accmap("data", "check", "data", "--samples", "0").code == 2
    assert accmap("data", "check", "data", "--decode", "1").code == 2
    assert accmap("data", "check", "data", "--tokenizer", "nowhere.json").code == 2
    files = {f"{name}.yaml": yaml(WEIGHTED) for name in "abc"}
    assert accmap("data", "check", *files, files=files).code == 2


def test_without_numpy_the_extra_is_named(accmap: Run, data: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data
    monkeypatch.setitem(sys.modules, "numpy", None)
    found = accmap("data", "check", "data")
    assert found.code == 2
    assert "[evidence]" in found.err
    monkeypatch.undo()
    importlib.import_module("numpy")


def test_a_cached_index_of_other_data_is_stale(accmap: Run, data: int, tmp_path: Path) -> None:
    assert data
    (tmp_path / "a.sh").write_text(script("data"))
    plan = plan_of(read_config(str(tmp_path / "a.sh")))
    draws = Draws(plan, {"data": read_indexed("data")})
    folder = tmp_path / "data" / "cache" / "GPTDataset_indices"
    folder.mkdir(parents=True)
    described = {
        "class": "GPTDataset", "dataset_path": "data", "num_samples": 40, "index_split": "train", "random_seed": 1234,
        "sequence_length": 16, "split": "1,0,0",
    }  # fmt: skip
    stem = folder / "0123-GPTDataset-train"
    Path(f"{stem}-description.txt").write_text(json.dumps(described))
    index = draws.indices[0]
    np.save(f"{stem}-document_index.npy", index.documents)
    np.save(f"{stem}-shuffle_index.npy", index.order)
    np.save(f"{stem}-sample_index.npy", np.array([index.place(cut) for cut in range(len(index) + 1)]))
    assert accmap("data", "check", "a.sh").code == 0
    write_text(tmp_path / "data", seed=9)
    found = accmap("data", "check", "a.sh")
    assert found.code == 1
    assert "EVD078" in found.out


@pytest.mark.parametrize("weight", ["0", "-1"])
def test_a_weight_that_is_none_is_refused_in_both_languages(accmap: Run, data: int, weight: str) -> None:
    files = {"a.sh": script(f"{weight} data 1 data")}
    assert "every weight must be above 0" in accmap("data", "check", "a.sh", files=files).out
    answer = accmap("data", "check", "a.sh", "--lang", "zh")
    assert answer.code == 1
    assert "框架无法构建该数据集" in answer.out


@pytest.mark.parametrize(
    ("a", "b"), [({"steps": 0}, {}), ({"steps": -1}, {}), ({}, {"samples": 0}), ({}, {"samples": -1})]
)
def test_no_samples_are_no_agreement(pair: Run, a: dict[str, Any], b: dict[str, Any]) -> None:
    found = pair(script("data", **a), yaml("data", **b))
    assert found["exit"] == 1
    assert found["agreement"] is None
    assert ("EVD074", "error") in found["codes"]


def test_a_negative_id_is_wrong_without_any_vocabulary(accmap: Run, tmp_path: Path) -> None:
    write_data(tmp_path / "text", [[5, 6], [-1, 7]])
    answer = accmap("data", "check", "text")
    assert answer.code == 1
    assert "The first is -1 at byte 8, token 0 of sequence 1" in answer.out


def test_data_without_tokens_are_not_good(accmap: Run, tmp_path: Path) -> None:
    write_data(tmp_path / "text", [])
    answer = accmap("data", "check", "text")
    assert answer.code == 1
    assert "the dataset contains no tokens" in answer.out


def test_a_name_that_is_nowhere_is_not_good(accmap: Run, data: int) -> None:
    answer = accmap("data", "check", "data", "nowhere", "--format", "json")
    assert answer.code == 2
    assert json.loads(answer.out)["verdict"] == "bad"
    assert len(json.loads(answer.out)["unreadable"]) == 1

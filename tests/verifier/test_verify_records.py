"""`verify record` and `verify join`: two records give the answer of the direct command; what is none is refused."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap import ReadOptions
from accmap.cli.lean import main
from accmap.verifier.constants_compiled import RECORD
from accmap.verifier.installations import missing_modules

if TYPE_CHECKING:
    from collections.abc import Sequence

np = pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
NEWEST = ROOT / ".frameworks" / "mindformers" / "2.1.0"
DYNAMIC = "mindformers_dynamic.yaml"
NEW = ["--mindformers", "2.1", "--mindformers-source", str(NEWEST)]
OWN = ["--precision", "as-written"]
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(
        bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
    ),
]
needs_newest = pytest.mark.skipif(not NEWEST.is_dir(), reason="mindformers 2.1 is not unpacked")

EPSILON = ("rms_norm_eps: 1.0e-6", "rms_norm_eps: 1.0e-3")
SMALL = ["--sequence", "16", "--stage", "step1"]
CASES = [
    pytest.param("qwen3_dense", "mindformers.yaml", [], ("", ""), id="dense, static"),
    pytest.param("qwen3_dense", "mindformers.yaml", [], EPSILON, id="mismatch", marks=pytest.mark.slow),
    pytest.param("qwen3_dense", "mindformers.yaml", OWN, ("", ""), id="own types", marks=pytest.mark.slow),
    pytest.param("qwen3_moe", "mindformers.yaml", [], ("", ""), id="experts, static", marks=pytest.mark.slow),
    pytest.param("deepseek_v3", "mindformers.yaml", [], ("", ""), id="latent, static", marks=pytest.mark.slow),
    pytest.param("qwen3_dense", DYNAMIC, NEW, ("", ""), id="dense, dynamic", marks=[pytest.mark.slow, needs_newest]),
    pytest.param("qwen3_moe", DYNAMIC, NEW, ("", ""), id="experts, dynamic", marks=[pytest.mark.slow, needs_newest]),
    # The balancing losses of the two frameworks differ: the experts' losses, but not the output layer.
    pytest.param("deepseek_v3", DYNAMIC, NEW, ("", ""), id="latent, dynamic", marks=[pytest.mark.slow, needs_newest]),
]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The JSON of a command without what differs from run to run, and without what only further runs can show."""
    capsys.readouterr()
    main([*words, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    if found["first_divergence"] is not None:
        found["first_divergence"] = {key: found["first_divergence"][key] for key in ("module", "direction")}
    further = ("aside", "effects", "rest")
    return {key: value for key, value in found.items() if key not in ("cost", "recorded", *further)}


def written(name: str, document: str, folder: Path, change: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """An example's two files in a folder, the YAML with a change."""
    script, config = folder / "pretrain.sh", folder / "pretrain.yaml"
    script.write_text((ROOT / "examples" / name / "megatron.sh").read_text("utf-8"), "utf-8")
    text = (ROOT / "examples" / name / document).read_text("utf-8")
    assert change[0] in text
    config.write_text(text.replace(*change) if change[0] else text, "utf-8")
    return str(script), str(config)


def record(own: str, other: str | None, path: Path, options: Sequence[str] = ()) -> str:
    pair = [] if other is None else ["--pair", other]
    assert main(["verify", "record", own, *pair, "-o", str(path), *options]) == 0
    return str(path)


@pytest.mark.parametrize(("name", "document", "options", "change"), CASES)
def test_two_records_give_the_direct_answer(
    name: str,
    document: str,
    options: list[str],
    change: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script, config = written(name, document, tmp_path, change)
    direct = answer(capsys, "verify", script, config, *options)
    differs = change[0] or (name, document) == ("deepseek_v3", DYNAMIC)
    assert direct["verdict"] == ("mismatch" if differs else "match")
    assert all(row["agrees"] for row in direct["activations"] if row["name"] == "output_layer") or change[0]
    a = record(script, config, tmp_path / "a.npz", options)
    b = record(config, script, tmp_path / "b.npz", options)
    assert answer(capsys, "verify", "join", a, b) == direct
    assert answer(capsys, "verify", "join", b, a) == direct


@pytest.mark.slow
@needs_newest
def test_records_of_both_graphs_give_the_direct_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, static = written("qwen3_moe", "mindformers.yaml", tmp_path)
    new = str(tmp_path / "new.yaml")
    assert main(["convert", static, "--to", "mindformers", "--mindformers", "2.1", "-o", new]) == 0
    direct = answer(capsys, "verify", static, new, "--b-version", "2.1", "--b-source", str(NEWEST))
    assert direct["verdict"] == "match"
    a = record(static, new, tmp_path / "a.npz", ["--b-version", "2.1"])
    b = record(new, static, tmp_path / "b.npz", ["--a-version", "2.1", "--mindformers-source", str(NEWEST)])
    assert answer(capsys, "verify", "join", a, b) == direct


@pytest.mark.slow
def test_a_compiled_graph_is_joined_with_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, config = written("qwen3_dense", "mindformers.yaml", tmp_path)
    direct = answer(capsys, "verify", script, config, "--graph")
    assert direct["verdict"] == "match"
    a = record(script, config, tmp_path / "a.npz", ["--graph"])
    b = record(config, script, tmp_path / "b.npz", ["--graph"])
    assert answer(capsys, "verify", "join", a, b) == direct


@pytest.mark.slow
def test_records_of_two_scripts_give_the_direct_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, _ = written("qwen3_dense", "mindformers.yaml", tmp_path)
    second = tmp_path / "second.sh"
    text = Path(first).read_text("utf-8")
    assert "--norm-epsilon 1.0e-6" in text
    second.write_text(text.replace("--norm-epsilon 1.0e-6", "--norm-epsilon 1.0e-3"), "utf-8")
    direct = answer(capsys, "verify", first, str(second))
    assert direct["verdict"] == "mismatch"
    a = record(first, str(second), tmp_path / "a.npz")
    b = record(str(second), first, tmp_path / "b.npz")
    assert answer(capsys, "verify", "join", a, b) == direct


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Both files of a small pair, and a record of each side; `alone` is one of the first without a partner."""
    folder = tmp_path_factory.mktemp("records")
    script, config = written("qwen3_dense", "mindformers.yaml", folder)
    return {
        "script": script,
        "config": config,
        "a": record(script, config, folder / "a.npz", [*SMALL, "--repeat"]),
        "b": record(config, script, folder / "b.npz", SMALL),
        "alone": record(script, None, folder / "alone.npz", SMALL),
        "wide": record(script, config, folder / "wide.npz", [*SMALL, "--hidden", "128"]),
        "given": record(script, config, folder / "given.npz", [*SMALL, "--weights", str(folder / "b.npz")]),
    }


def test_a_record_holds_weights_tokens_activations_and_gradients(records: dict[str, str]) -> None:
    with np.load(records["a"], allow_pickle=False) as one, np.load(records["b"], allow_pickle=False) as other:
        for name in ("run-0/weight/decoder.layers.0.mlp.linear_fc1.weight", "run-0/input/tokens", "run-0/input/labels"):
            assert (one[name] == other[name]).all(), name
        names = set(one.files)
        assert {"run-0/logits", "run-0/gradient/decoder.final_layernorm.weight"} <= names
        assert any(name.startswith("run-1/trace/output/decoder.layers.1") for name in names)
        told = json.loads(one["record"].tobytes())
    assert told["noise"] == 0.0
    assert told["device"] == "cpu"
    assert told["runs"][0]["values"]["losses"]
    assert told["installation"]["version"]


def test_weights_of_a_record_are_those_that_the_seed_draws(records: dict[str, str]) -> None:
    with np.load(records["a"]) as drawn, np.load(records["given"]) as given:
        assert (drawn["run-0/logits"] == given["run-0/logits"]).all()


def test_the_conditions_of_both_sides_are_told(records: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    main(["verify", "join", records["a"], records["b"]])
    said = capsys.readouterr().out
    assert "megatron: recorded on cpu · two runs of this side differ by 0.0e+00" in said
    assert "tolerance" in said
    main(["verify", "join", records["a"], records["b"], "--lang", "zh", "--format", "html"])
    assert "记录于 cpu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("a", "a", "the same run"),
        ("a", "alone", "--pair"),
        ("a", "wide", "do not belong to one pair"),
        ("wide", "b", "different values for sizes"),
        ("given", "b", "different weights"),
        ("a", "script", "is not an `accmap verify record` file"),
        ("a", "missing", "cannot be read"),
    ],
)
def test_records_that_are_not_two_sides_are_refused(
    a: str, b: str, said: str, records: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["verify", "join", records[a], records.get(b, b)]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert not told.out
    assert main(["verify", "join", records[a], records.get(b, b), "--lang", "zh"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["CONFIG"], "-o FILE"),
        (["CONFIG", "-o", "OUT", "--device", "cuda"], "mindformers cannot run on cuda"),
        (["SCRIPT", "-o", "OUT", "--device", "npu"], "megatron cannot run on npu"),
        (["SCRIPT", "-o", "OUT", "--device", "tpu"], "cpu, cuda, npu"),
        (["SCRIPT", "-o", "OUT", "--graph"], "static graph"),
        (["SCRIPT", "-o", "OUT", "--env"], "--var"),
        (["SCRIPT", "-o", "OUT", "--weights", "CONFIG"], "is not an `accmap verify record` file"),
        (["SCRIPT", "CONFIG", "-o", "OUT"], "; remove "),
        (["MISSING", "-o", "OUT"], "MISSING"),
    ],
)
def test_wrong_use_of_record(
    words: list[str], said: str, records: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "record.npz"
    named = {"CONFIG": records["config"], "SCRIPT": records["script"], "OUT": str(place)}
    assert main(["verify", "record", *(named.get(word, word) for word in words)]) == 2
    assert said in capsys.readouterr().err
    assert not place.exists()


def test_a_device_that_is_not_here_is_told(
    records: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    place = tmp_path / "record.npz"
    assert main(["verify", "record", records["script"], "-o", str(place), "--device", "cuda"]) == 1
    assert "no CUDA device" in capsys.readouterr().err
    assert not place.exists()


def damaged(path: str, change: Any) -> bytes:
    """A record with another description."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    told = json.loads(arrays.pop("record").tobytes())
    change(told, arrays)
    stream = io.BytesIO()
    np.savez(stream, record=np.frombuffer(json.dumps(told).encode(), np.uint8), **arrays)
    return stream.getvalue()


def compressed(path: str) -> bytes:
    stream = io.BytesIO()
    with np.load(path) as stored:
        np.savez_compressed(stream, **{name: stored[name] for name in stored.files})
    return stream.getvalue()


def pickled() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, record=np.array([{"format": 1}], dtype=object))
    return stream.getvalue()


def set_key(*path: Any, value: Any) -> Any:
    def change(told: dict[str, Any], _arrays: dict[str, Any]) -> None:
        place: Any = told
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


GRADIENT = "run-0/gradient/decoder.final_layernorm.weight"
HOSTILE = {
    "format": set_key("format", value=99),
    "a list": set_key("runs", 0, "values", "shapes", value=[]),
    "a text for a number": set_key("runs", 0, "values", "losses", 0, "loss", value="4"),
    "a huge number": set_key("runs", 0, "values", "forced_norm", value=10**300),
    "no values": set_key("runs", 0, "values", value={}),
    "another framework": set_key("installation", "framework", value="mindformers"),
    "an odd version": set_key("installation", "version", value="²." * 50),
    "an odd stage": set_key("options", "stage", value="step9"),
    "no seeds": set_key("options", "seeds", value=0),
    "unknown version": set_key("reading", "megatron", value="99"),
    "other text": set_key("texts", value={"x": {"encoding": "utf-8", "text": "a"}}),
    "no text": set_key("texts", value={}),
    "empty gradient": lambda _told, arrays: arrays.update({GRADIENT: np.zeros((0,), np.float32)}),
    "text gradient": lambda _told, arrays: arrays.update({GRADIENT: np.array(["a", "b"])}),
    "a stray array": lambda _told, arrays: arrays.update({"run-77/logits": np.zeros((2,), np.float32)}),
    "an odd order": lambda _told, arrays: arrays.update({"run-1/trace/order/x/0": np.zeros((2,), np.float32)}),
}


@pytest.mark.parametrize("name", [*HOSTILE, "compressed", "pickled", "cut off", "not a zip"])
def test_a_hostile_record_is_refused(
    name: str, records: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Path(records["a"]).read_bytes()
    if name in HOSTILE:
        data = damaged(records["a"], HOSTILE[name])
    else:
        data = {
            "compressed": lambda: compressed(records["a"]),
            "pickled": pickled,
            "cut off": lambda: whole[: len(whole) // 2],
            "not a zip": lambda: b"PK\x03\x04" + bytes(200),
        }[name]()
    place = tmp_path / "hostile.npz"
    place.write_bytes(data)
    assert main(["verify", "join", str(place), records["b"]]) == 2
    assert capsys.readouterr().err


@pytest.mark.fuzz
def test_no_damage_of_a_record_is_a_crash(
    records: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(4501)
    place = tmp_path / "damaged.npz"

    def replace_anything(told: Any, _arrays: Any) -> None:
        here, value = told, draw.choice([None, -1, 0, 10**30, 0.5, "", "x", [], {}, [[]], {"a": []}, True])
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                return
            key = draw.choice(keys)
            if not isinstance(here[key], (dict, list)) or draw.random() < 0.2:
                here[key] = value
                return
            here = here[key]

    for _round in range(150):
        place.write_bytes(damaged(records["a"], replace_anything))
        assert main(["verify", "join", str(place), records["b"]]) in (0, 1, 2)
    with zipfile.ZipFile(records["a"]) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    whole = bytearray(Path(records["a"]).read_bytes())
    assert size < len(whole)
    for _round in range(100):
        copy = bytearray(whole)
        for _byte in range(draw.choice([1, 8, 64])):
            copy[draw.randrange(len(copy))] = draw.randrange(256)
        place.write_bytes(copy[: draw.randrange(len(copy))] if draw.random() < 0.3 else copy)
        assert main(["verify", "join", str(place), records["b"]]) in (0, 1, 2)
    capsys.readouterr()


def test_the_form_of_a_record_has_every_option_of_reading() -> None:
    """A record with an option that the form lacks cannot be joined."""
    assert {name.rstrip("~") for name in RECORD["reading"]} == set(ReadOptions._fields)

"""The pytest plugin, and what `verify` gives in Python: arrays and a plot. Stand-ins answer in place of frameworks."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copy

import pytest

np = pytest.importorskip("numpy")
pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "verifier" / "pairs"))
from stand_in_workers import StandInWorker, use_stand_ins  # noqa: E402

import accmap  # noqa: E402
from accmap.schemas.diagnostic import UsageError  # noqa: E402
from accmap.verifier.worker.processes import WorkerAnswer, Workers  # noqa: E402

GRADIENTS = ("embedding.weight", "decoder.weight", "output_layer.weight")


class NumbersWorker(StandInWorker):
    """A stand-in with gradients, of which Megatron-LM's second is another."""

    def answer(self, _progress: object) -> WorkerAnswer:
        values = super().answer(_progress).values
        arrays = {f"gradient/{name}": np.ones((2, 2), np.float32) for name in GRADIENTS}
        if self.framework == "megatron":
            arrays["gradient/decoder.weight"] *= 1.5
        return WorkerAnswer(values, arrays)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    use_stand_ins(monkeypatch)
    files = [tmp_path / name for name in ("megatron.sh", "mindformers.yaml")]
    for file in files:
        copy(ROOT / "examples" / "qwen3_dense" / file.name, file)
    return files[0], files[1]


def test_arrays_and_plot(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, "start_worker", lambda _self, framework, _place: NumbersWorker(framework))
    found = accmap.verify(*pair)
    assert found.verdict == "mismatch"
    arrays = found.arrays("gradients")
    assert {side: set(own) for side, own in arrays.items()} == {
        "megatron": set(GRADIENTS), "mindformers": set(GRADIENTS)
    }  # fmt: skip
    assert (arrays["megatron"]["decoder.weight"] == 1.5).all()
    arrays["megatron"]["decoder.weight"][:] = 7
    assert (found.arrays()["megatron"]["decoder.weight"] == 1.5).all()
    assert found.arrays("updates") == {"megatron": {}, "mindformers": {}}
    with pytest.raises(UsageError, match="gradients"):
        found.arrays("gradient")
    chart = found.plot().charts[0]
    norms, _elements, tolerance = chart.curves
    assert chart.is_logarithmic
    assert list(chart.flags) == [2]
    assert norms.values[1] == pytest.approx(1 / 3)
    assert max(norms.values[0], norms.values[2]) < tolerance.values[0] == found.tolerance
    assert "iframe" in found.plot()._repr_html_()


TESTS = """
def test_equal(verify_pair):
    assert verify_pair("megatron.sh", "mindformers.yaml", verdict=("match", "partial")).verdict != "mismatch"

def test_other_norm(verify_pair):
    verify_pair("megatron.sh", "other.yaml")

def test_stage(verify_pair):
    verify_pair("megatron.sh", "mindformers.yaml", stage="step9")
"""


def test_a_pair_is_kept_verified_by_the_plugin(
    pair: tuple[Path, Path], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other packages of this environment have plugins, too
    for file in pair:
        copy(file, pytester.path)
    text = pair[1].read_text("utf-8")
    (pytester.path / "other.yaml").write_text(text.replace("rms_norm_eps: 1.0e-6", "rms_norm_eps: 1.0e-3"), "utf-8")
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_inprocess("-p", "accmap.pytest", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=2)
    text = done.stdout.str()
    assert "partial match" in text
    assert "norm.epsilon" in text
    assert "step1" in text


def test_the_plugin_is_registered() -> None:
    assert 'accmap = "accmap.pytest"' in (ROOT / "pyproject.toml").read_text("utf-8")

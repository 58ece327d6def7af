"""A field is blamed if the models agree without it; what is set aside is made equal, and the rest has a verdict."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main
from accmap.cli.pages.document import Verdict
from accmap.cli.pages.verify_report import verify_parts
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.message import verbatim
from accmap.schemas.reader import read_config
from accmap.verifier import verify as steps
from accmap.verifier.plan.dimensions import make_equal
from accmap.verifier.verdict import coverage
from accmap.verifier.verdict.comparison import Comparison, DifferingSetting, Row, compare_answers, first_difference
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import Options, verify
from accmap.verifier.worker.processes import WorkerAnswer, WorkerFailure

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair
from stand_in_workers import StandInWorker, use_stand_ins

if TYPE_CHECKING:
    from accmap.schemas.config import Config
    from accmap.verifier.worker.blueprint import Job, SamplePlan

EPSILON, BASE, BETA = "norm.epsilon", "position.rotary_base", "optimizer.beta2"
BOTH = f"{EPSILON},{BASE}"
DROPOUT = "attention.dropout"
CHANGES = {
    EPSILON: ("--norm-epsilon 1.0e-6", "--norm-epsilon 1.0e-3"),
    BASE: ("--rotary-base 1000000", "--rotary-base 500000"),
    BETA: ("--adam-beta2 0.95", "--adam-beta2 0.5"),
    DROPOUT: ("--attention-dropout 0.0", "--attention-dropout 0.1"),
}
"""The stand-ins' losses depend on the first two fields, and nothing of theirs on the others."""
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense"


def loss_of(job: Job) -> float:
    model = job.blueprint.model
    if job.blueprint.framework == "megatron":
        return 4.0 + 100 * model["norm_epsilon"] + model["rotary_base"] / 1e7
    return 4.0 + 100 * model["transformer"]["layernorm_epsilon"] + model["transformer"]["rotary_base"] / 1e7


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_ins(monkeypatch)
    monkeypatch.setattr(StandInWorker, "loss", staticmethod(loss_of))


def pair(folder: Path, *fields: str) -> tuple[str, str]:
    text = (EXAMPLE / "megatron.sh").read_text("utf-8")
    for old, new in map(CHANGES.__getitem__, fields):
        assert old in text
        text = text.replace(old, new)
    (folder / "megatron.sh").write_text(text, "utf-8")
    return str(folder / "megatron.sh"), copy(EXAMPLE / "mindformers.yaml", folder)


def read(folder: Path, *fields: str) -> tuple[Config, Config]:
    script, config = pair(folder, *fields)
    return read_config(script), read_config(config)


@pytest.mark.parametrize(
    ("fields", "causes"),
    [
        ((EPSILON,), [EPSILON]),
        ((EPSILON, BETA), [EPSILON]),
        ((BETA, BASE), [BASE]),
        ((EPSILON, BASE), [EPSILON, BASE]),
        ((EPSILON, BASE, BETA), [EPSILON, BASE]),
    ],
)
def test_only_a_cause_is_blamed(fields: tuple[str, ...], causes: list[str], tmp_path: Path) -> None:
    found = verify(*read(tmp_path, *fields), Findings())
    assert (found.verdict, found.rest) == ("mismatch", "match")
    assert sorted(entry.field for entry in found.differing) == sorted(causes)
    assert sorted(found.equal_fields) == sorted(causes)
    for effect in found.effects:
        assert (effect.stage, effect.row is not None and effect.row.agrees) == ("loss", False)


def test_a_cause_is_blamed_beside_a_difference_that_nothing_explains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {"megatron": 1e-3, "mindformers": 2e-3}
    monkeypatch.setattr(StandInWorker, "rate", staticmethod(lambda job: rates[job.blueprint.framework]))
    found = verify(*read(tmp_path, EPSILON, BETA), Findings())
    assert (found.verdict, found.rest) == ("mismatch", "mismatch")
    assert [entry.field for entry in found.differing] == [EPSILON]
    assert [(effect.field, effect.stage) for effect in found.effects] == [(EPSILON, "loss")]


@pytest.mark.parametrize("fields", [(EPSILON,), (EPSILON, BASE)])
def test_values_that_a_framework_refuses_are_made_equal_the_other_way(
    fields: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = StandInWorker.answer

    def refuse_the_script_value(worker: StandInWorker, progress: object) -> WorkerAnswer | WorkerFailure:
        model = worker.jobs[-1].blueprint.model
        if worker.framework == "mindformers" and model["transformer"]["layernorm_epsilon"] == 1e-3:
            return WorkerFailure("too large", "error")
        return answer(worker, progress)

    monkeypatch.setattr(StandInWorker, "answer", refuse_the_script_value)
    found = verify(*read(tmp_path, *fields), Findings())
    assert (found.verdict, found.rest) == ("mismatch", "match")
    assert sorted(found.equal_fields) == sorted(fields)


def test_what_is_compared_only_with_equal_fields_does_not_clear_a_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a parameter that one model lacks, nothing of that parameter is compared."""
    answer = StandInWorker.answer

    def answer_with_structure(worker: StandInWorker, progress: object) -> WorkerAnswer:
        found, model = answer(worker, progress), worker.jobs[-1].blueprint.model
        is_megatron = worker.framework == "megatron"
        if (model["norm_epsilon"] if is_megatron else model["transformer"]["layernorm_epsilon"]) == 1e-3:
            found.values["shapes"]["more"] = [1]
            found.values["padded"] = {"loss": 1.0 if is_megatron else 2.0}
        return found

    monkeypatch.setattr(StandInWorker, "answer", answer_with_structure)
    monkeypatch.setattr(StandInWorker, "loss", staticmethod(lambda _job: 4.0))
    found = verify(*read(tmp_path, EPSILON, BETA), Findings())
    assert (found.verdict, found.rest, found.equal_fields) == ("mismatch", "mismatch", [EPSILON])


def test_a_field_takes_its_parts_along_and_what_follows_from_fields_is_no_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Megatron-LM refuses to pad to a capacity that is not set; counts of parameters follow from the norm."""

    def loss(job: Job) -> float:
        model = job.blueprint.model
        if job.blueprint.framework == "mindformers":
            return 4.0
        assert model["moe_expert_capacity_factor"] or not model["moe_pad_expert_input_to_capacity"]
        return 4.0 + (model["normalization"] == "LayerNorm") + 2 * bool(model["moe_expert_capacity_factor"])

    answer = StandInWorker.answer

    def answer_with_structure(worker: StandInWorker, progress: object) -> WorkerAnswer:
        found = answer(worker, progress)
        if worker.framework == "megatron" and worker.jobs[-1].blueprint.model["normalization"] == "LayerNorm":
            found.values["shapes"]["decoder.final_layernorm.bias"] = [1]
        return found

    monkeypatch.setattr(StandInWorker, "answer", answer_with_structure)
    monkeypatch.setattr(StandInWorker, "loss", staticmethod(loss))
    script, written = tmp_path / "run.sh", tmp_path / "written.yaml"
    text = (EXAMPLE.parent / "qwen3_moe" / "megatron.sh").read_text("utf-8")
    for old, new in (
        ("--normalization RMSNorm", "--normalization LayerNorm"),
        ("--qk-layernorm", "--moe-expert-capacity-factor 1.0 --moe-pad-expert-input-to-capacity"),
    ):
        assert old in text
        text = text.replace(old, new)
    script.write_text(text, "utf-8")
    main(["convert", str(script), "-o", str(written)])
    found = verify(read_config(str(script)), read_config(str(written)), Findings())
    assert (found.verdict, found.rest) == ("mismatch", "match")
    assert found.equal_fields == ["norm.type", "moe.capacity.factor"]
    assert [(one.field, one.stage) for one in found.effects] == [(name, "loss") for name in found.equal_fields]


def test_a_cause_in_the_steps_is_found_behind_a_cause_in_the_first_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the optimizer is suspected of a difference in the first pass."""
    monkeypatch.setattr(StandInWorker, "rate", staticmethod(lambda job: job.blueprint.optimizer.learning_rate))
    script, config = pair(tmp_path, EPSILON)
    text = Path(script).read_text("utf-8")
    Path(script).write_text(text.replace("--lr 1.0e-4", "--lr 2.0e-4"), "utf-8")
    found = verify(read_config(script), read_config(config), Findings())
    assert (found.verdict, found.rest) == ("mismatch", "match")
    assert found.equal_fields == [EPSILON, "schedule.learning_rate"]
    assert [effect.stage for effect in found.effects] == ["loss", "training"]


@pytest.mark.parametrize(("example", "flag"), [("qwen3_dense", "--o2-optimizer"), ("qwen3_moe", "--fix-router")])
def test_a_flag_that_conversion_loses_is_set_aside_by_itself(
    example: str, flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list and the linter name the flag, and the conversion its key."""
    script, written = tmp_path / "run.sh", tmp_path / "written.yaml"
    text = (EXAMPLE.parent / example / "megatron.sh").read_text("utf-8")
    text = text.replace("--swiglu", f"--swiglu --use-fused-rmsnorm --use-fused-swiglu {flag}")
    script.write_text(text, "utf-8")
    main(["convert", str(script), "-o", str(written)])
    _code, answer, _said = answered([str(script), str(written)], capsys)
    assert flag in [entry["field"] for entry in answer["not_compared"] if entry.get("differs")]
    assert (answer["verdict"], answer["rest"]) == ("partial", "match")
    assert answer["aside"] == [flag.removeprefix("--").replace("-", "_")]


def test_beside_a_cause_a_flag_that_conversion_loses_is_set_aside_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, written = tmp_path / "run.sh", tmp_path / "written.yaml"
    text = (EXAMPLE / "megatron.sh").read_text("utf-8")
    text = text.replace("--swiglu", "--swiglu --use-fused-rmsnorm --use-fused-swiglu --o2-optimizer")
    script.write_text(text, "utf-8")
    main(["convert", str(script), "-o", str(written)])
    script.write_text(text.replace(*CHANGES[EPSILON]), "utf-8")
    _code, answer, _said = answered([str(script), str(written)], capsys)
    assert (answer["verdict"], answer["rest"], answer["aside"]) == ("mismatch", "match", [EPSILON, "o2_optimizer"])
    assert [entry["field"] for entry in answer["first_divergence"]["differing"]] == [EPSILON]


def test_a_mix_with_too_few_samples_for_the_run_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No field of its own differs: the data of a mix begin anew sooner, and each prefix has fewer samples."""

    def drawn(_a: WorkerAnswer, _b: WorkerAnswer, plans: tuple[SamplePlan, SamplePlan]) -> tuple[Row, ...]:
        counts = [float(plan.samples) for plan in plans]
        return (Row("steps until they begin anew", *counts, abs(counts[0] - counts[1]), counts[0] == counts[1]),)

    monkeypatch.setattr(steps.comparison, "compare_samples", drawn)
    script, written = tmp_path / "run.sh", tmp_path / "written.yaml"
    text = (EXAMPLE / "megatron.sh").read_text("utf-8")
    script.write_text(re.sub(r"--data-path \S+", "--data-path 0.3 /d/a 0.7 /d/b", text), "utf-8")
    main(["convert", str(script), "-o", str(written)])
    text = written.read_text("utf-8")
    written.write_text(re.sub(r"sizes: \[(\d+)", lambda size: f"sizes: [{int(size[1]) // 2}", text), "utf-8")
    found = verify(read_config(str(script)), read_config(str(written)), Findings())
    assert (found.verdict, found.rest, found.equal_fields) == ("mismatch", "match", ["computed.samples"])
    assert [(entry.field, entry.stage) for entry in found.effects] == [("computed.samples", "samples")]
    assert "computed.samples" not in [entry.field for entry in found.not_compared]


def test_equal_values_of_which_the_frameworks_compute_different_things_are_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Megatron-LM 0.12 balances the chosen experts of each group, dynamic graph mode the best of all."""

    def balanced(job: Job) -> float:
        return 4.0 + (job.blueprint.model["moe_aux_loss_coeff"] if job.blueprint.framework == "megatron" else 0.0)

    monkeypatch.setattr(StandInWorker, "loss", staticmethod(balanced))
    script, written = EXAMPLE.parent / "deepseek_v3" / "megatron.sh", tmp_path / "written.yaml"
    main(["convert", str(script), "-o", str(written)])
    found = verify(read_config(str(script)), read_config(str(written)), Findings())
    assert (found.verdict, found.rest, found.equal_fields) == ("mismatch", "match", ["moe.router.balancing"])
    assert [(entry.field, entry.a, entry.b) for entry in found.differing] == [
        ("moe.router.balancing", "seq_aux_loss", "seq_aux_loss")
    ]
    facts = "\n".join(next(part.facts for part in verify_parts(found.to_json(), "en") if isinstance(part, Verdict)))
    assert "moe.router.balancing (seq_aux_loss in both files, but the frameworks compute different results): " in facts
    assert "the files differ in" not in facts
    assert "seq_aux_loss | seq_aux_loss" not in facts


def test_what_is_computed_from_one_value_is_shown_before_the_loss() -> None:
    loss, balancing = Row("1", 4.0, 4.1, 0.02, agrees=False), Row("auxiliary", 1.0, 2.0, 0.5, agrees=False)
    compared = Comparison(loss=(loss,), parts=(balancing,))
    assert first_difference(compared) == ("loss", loss)
    assert first_difference(compared, of_one_value=True) == ("parts", balancing)


def answered(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    code = main(["verify", *words, "--format", "json"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


@pytest.mark.parametrize(
    ("differing", "words", "code", "aside", "rest"),
    [
        ([EPSILON], [], 1, [EPSILON], "match"),
        ([EPSILON], ["--aside", EPSILON], 1, [EPSILON], "match"),
        ([EPSILON], ["--aside", EPSILON, "--accept-loss", EPSILON], 0, [EPSILON], "match"),
        ([EPSILON, BASE], ["--aside", EPSILON, "--accept-loss", EPSILON], 1, [EPSILON, BASE], "match"),
        ([EPSILON, BASE], ["--aside", BOTH, "--accept-loss", BOTH], 0, [EPSILON, BASE], "match"),
    ],
)  # fmt: skip
def test_what_is_set_aside_is_made_equal_and_the_rest_is_verified(
    differing: list[str], words: list[str], code: int, aside: list[str], rest: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    given, answer, _said = answered([*pair(tmp_path, *differing), *words], capsys)
    assert (given, answer["verdict"], answer["rest"]) == (code, "mismatch", rest)
    assert answer["aside"] == aside
    assert [effect["field"] for effect in answer["effects"]] == aside
    assert answer["effects"][0]["row"]["relative"] == pytest.approx(0.0238, rel=0.05)


def test_what_does_not_differ_is_not_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, said = answered([*pair(tmp_path), "--aside", EPSILON], capsys)
    assert (code, answer["verdict"], answer["aside"], answer["rest"]) == (0, "match", [], None)
    assert f"--aside {EPSILON}: this field or key does not differ between the two files" in said


def test_a_partial_match_is_whole_without_what_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dropout on one side is run by no stand-in."""
    files = pair(tmp_path, DROPOUT)
    assert answered([*files], capsys)[0] == 1
    code, answer, _said = answered([*files, "--aside", DROPOUT, "--accept-loss", DROPOUT], capsys)
    assert (code, answer["verdict"], answer["aside"], answer["rest"]) == (0, "partial", [DROPOUT], "match")
    assert answer["effects"][0]["row"] is None


def test_the_text_says_it_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = pair(tmp_path, EPSILON)
    for language, told in (("en", "everything else matches"), ("zh", "其余全部一致")):
        main(["verify", *files, "--lang", language])
        line = next(line for line in capsys.readouterr().out.splitlines() if told in line)
        assert f"{EPSILON} (0.001 | 1e-06" in line
        assert "2.4%" in line
        assert "4.2 | 4.1001" in line


def test_an_innocent_field_is_not_blamed_where_nothing_explains_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StandInWorker, "loss", staticmethod(lambda job: 4.0 + (job.blueprint.framework == "megatron")))
    found = verify(*read(tmp_path, EPSILON), Findings())
    assert (found.verdict, found.differing, found.equal_fields, found.rest) == ("mismatch", (), [], None)
    told = verify(*read(tmp_path, EPSILON), Findings(), Options(explains=False))
    assert told.differing == ()
    assert [(one.field, one.reason) for one in told.suspected] == [
        (EPSILON, "accmap did not test this field, because it did not run the models again")
    ]


def test_a_field_that_no_run_shows_to_be_the_cause_is_suspected_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = "accmap cannot write the value of either file to the other file without creating another difference"
    with monkeypatch.context() as patched:
        patched.setattr(steps, "make_equal", lambda *_files, **_options: None)
        code, answer, _said = answered([*pair(tmp_path, EPSILON)], capsys)
        assert (code, answer["verdict"], answer["rest"]) == (1, "mismatch", None)
        place = answer["first_divergence"]
        assert place["differing"] == []
        assert place["suspected"] == [{"field": EPSILON, "a": 1e-3, "b": 1e-6, "reason": other}]
        assert EPSILON not in [entry["field"] for entry in answer["not_compared"]]
        for language, told in (("en", "possible cause, not confirmed"), ("zh", "可能的原因（未证实）")):
            main(["verify", *pair(tmp_path, EPSILON), "--lang", language])
            (line,) = (one for one in capsys.readouterr().out.splitlines() if told in one)
            assert f"{EPSILON} (0.001 | 1e-06)" in line
    with monkeypatch.context() as patched:
        patched.setattr(steps, "_MOST_SUSPECTS", 0)
        found = verify(*read(tmp_path, EPSILON), Findings())
        assert [one.reason for one in found.suspected] == [
            "accmap did not test this field, because it tests no more than 0 fields"
        ]
    monkeypatch.setattr(StandInWorker, "rate", staticmethod(lambda job: 2e-3 if has_large_epsilon(job) else 1e-3))
    found = verify(*read(tmp_path, EPSILON), Findings())
    assert [(one.field, one.reason) for one in found.suspected] == [
        (EPSILON, "with equal values for this field, other quantities differ, and the models still do not match")
    ]


def has_large_epsilon(job: Job) -> bool:
    model = job.blueprint.model
    return job.blueprint.framework == "mindformers" and model["transformer"]["layernorm_epsilon"] == 1e-3


@pytest.mark.parametrize(
    ("fault", "equal"),
    [("rotary_fraction", ["position.rotary_fraction"]), ("yarn_scale", ["position.yarn.mscale"])],
)
def test_a_value_that_one_side_cannot_write_is_taken_from_it(fault: str, equal: list[str], tmp_path: Path) -> None:
    """A file without a key for it has the neutral value; the coefficients of YaRN are one for the scores."""
    script, config = write_pair(TABLE["faults"][fault], tmp_path)
    a, b = read_config(str(script)), read_config(str(config))
    made = make_equal(a, b, equal[0])
    assert made is not None
    assert {one.field for one in coverage.differing_settings(a, b)} >= set(equal)
    assert coverage.differing_settings(*made) == []


SAMPLES = {
    "GLOBAL_BATCH=1": "GLOBAL_BATCH=8",
    "--train-iters 1000": "--train-samples 6405",
    "--lr-decay-iters 1000": "--lr-decay-samples 6405",
    "--lr-warmup-iters 50": "--lr-warmup-samples 405",
}
"""A run of eight samples a step that counts samples, and no whole steps of them."""


def converted_example(changes: dict[str, str], folder: Path) -> tuple[Config, Config]:
    """The example's launch with changed words, and the YAML that it is converted to with a loss."""
    text = (EXAMPLE / "megatron.sh").read_text("utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    script, config = folder / "run.sh", folder / "run.yaml"
    script.write_text(text, "utf-8")
    assert main(["convert", str(script), "-o", str(config)]) == 1
    return read_config(str(script)), read_config(str(config))


@pytest.mark.parametrize("name", ["schedule.warmup_steps", "schedule.decay_steps"])
def test_a_launch_that_counts_samples_takes_whole_steps(name: str, tmp_path: Path) -> None:
    a, b = converted_example(SAMPLES, tmp_path)
    made = make_equal(a, b, name)
    assert made is not None
    before, after = ({one.field for one in coverage.differing_settings(*pair)} for pair in ((a, b), made))
    assert {"schedule.warmup_steps", "schedule.decay_steps"} <= before - after
    assert after <= before
    assert {recipe_of(one).value("batch.global_size") for one in made} == {recipe_of(a).value("batch.global_size")}


@pytest.mark.parametrize(
    ("name", "changes", "equal"),
    [
        # Without this flag, Megatron-LM's queries have biases by another one.
        ("model.bias_linear", {"    --disable-bias-linear\n": "", "    --qk-layernorm\n": ""}, False),
        # float16 stays; its scale is 1.
        ("precision.loss_scale.mode", {"--bf16": "--fp16"}, "none"),
        # The dynamic graph has the key and drops nothing.
        ("attention.dropout", {"--attention-dropout 0.0": "--attention-dropout 0.1"}, 0.0),
    ],
)
def test_what_the_dynamic_graph_cannot_do_is_made_equal(
    name: str, changes: dict[str, str], equal: Any, tmp_path: Path
) -> None:
    a, b = converted_example(changes, tmp_path)
    assert coverage.differs(name, a, b)
    made = make_equal(a, b, name)
    assert made is not None
    assert not coverage.differs(name, *made)
    assert [recipe_of(one).value(name) for one in made] == [equal, equal]
    assert {one.field for one in coverage.differing_settings(*made)} <= {
        one.field for one in coverage.differing_settings(a, b)
    }


def test_a_launch_of_unknown_devices_has_as_many_as_its_layout_takes(tmp_path: Path) -> None:
    """With one device, Megatron-LM's own parser would refuse the launch, and the rest would match in part alone."""
    script, config = pair(tmp_path, EPSILON)
    text = Path(script).read_text("utf-8").replace("parallel-size 1", "parallel-size 2")
    Path(script).write_text(text.replace("--nproc_per_node 1", '--nproc_per_node "$GPUS"'), "utf-8")
    a, b = read_config(script), read_config(config)
    assert a.launch is not None
    assert a.launch.world_size is None
    made = make_equal(b, a, EPSILON)
    assert made is not None
    assert made[1].launch is not None
    assert made[1].launch.world_size == 4


def test_an_unknown_flag_is_set_aside_with_its_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, config = pair(tmp_path)
    text = Path(script).read_text("utf-8")
    Path(script).write_text(text.replace("--log-interval 1", '--log-interval 1 --run-name "run-$USER"'), "utf-8")
    code, answer, _said = answered([script, config], capsys)
    assert (code, answer["verdict"]) == (1, "partial")
    code, answer, _said = answered([script, config, "--aside", "run_name", "--accept-loss", "run_name"], capsys)
    assert (code, answer["verdict"], answer["aside"], answer["rest"]) == (0, "partial", ["run_name"], "match")


def test_initial_weights_are_suspected_of_nothing_that_equal_weights_show(tmp_path: Path) -> None:
    script, config = write_pair({"family": "dense", "model": {"initializer_range": 0.006}}, tmp_path)
    files = read_config(str(script)), read_config(str(config))
    named = {place: {one.field for one in coverage.suspects(*files, place)} for place in ("update", "initialisation")}
    assert "init.std" not in named["update"]
    assert "init.std" in named["initialisation"]


def test_initial_weights_of_the_two_graphs_have_their_own_line(tmp_path: Path) -> None:
    """They are compared as statistics: a match of equal weights is not partial because of them."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    text = (EXAMPLE / "mindformers.yaml").read_text("utf-8").replace("load_checkpoint: checkpoints/mindformers\n", "")
    old.write_text(text, "utf-8")
    assert main(["upgrade", str(old), "--from-version", "1.9", "-o", str(new)]) == 1
    files = read_config(str(old)), read_config(str(new))
    assert "init.std" in {one.field for one in coverage.differing_settings(*files)}
    assert "init.std" not in {one.field for one in coverage.known_differences(files, Findings(), "all", matched=True)}


def test_a_suspect_may_have_a_value_of_several_parts(tmp_path: Path) -> None:
    """A YAML's list of sections, or the counts of a computed quantity, is in no set."""
    twice = [DifferingSetting("data.blend", [{"path": "a"}], None)] * 2
    assert [one.field for one in steps._suspects_of(twice, verbatim("why"))] == ["data.blend"]  # pyright: ignore


@pytest.mark.parametrize(
    ("sides", "decides", "note"),
    [
        ((0.64, 0.0), True, ""),
        ((0.64, math.nan), True, "second model does not initialize"),
        ((math.nan, 0.64), True, "first model does not initialize"),
        ((math.nan, math.nan), False, "neither model initializes"),
    ],
)
def test_weights_that_a_framework_does_not_draw_differ(sides: tuple[float, float], decides: bool, note: str) -> None:
    """Of a constant there is no spread, and memory that a framework does not fill is NaN in the worker."""
    each = [
        WorkerAnswer(
            {"shapes": {}, "initialisation": {"gate": {"count": 64, "sum": 0.0 * squares, "squares": squares}}}, {}
        )
        for squares in sides
    ]
    compared = compare_answers(each[0], each[1], known_ratio={"gate": 0.5})
    assert compared.initial_weights.different == ["gate"]
    assert bool(compared.disagreements()) == decides
    [row] = compared.initialisation
    assert note in row.note_text("en")
    assert [side is None for side in (row.a, row.b)] == [math.isnan(side) for side in sides]
    assert compared.lacks_initial_values == (decides and bool(note))

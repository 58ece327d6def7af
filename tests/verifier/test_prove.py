"""The prover of the tables: what it writes, what it takes for a proof, and that it goes on where it stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "proving"))

import prove
from candidates import candidates
from judging import Judge, is_drawing, numeric_fields
from minimal_pairs import CONTEXTS, SHOWN_IN, Bench, NotWrittenError, Versions, read
from recording import CENTRE, CLOSER, DYNAMIC, PROOFS, REASONS, STAR, Journal, digests, outcome, standing, write_proofs
from remembering import RememberingWorkers

from accmap.mapper.recipe.reading import recipe_of
from accmap.mappings.proofs import Proof, pairs_words, proof_words
from accmap.mappings.tables import rows_of, table
from accmap.verifier.installations import missing_modules
from accmap.verifier.verdict.coverage import Findings
from accmap.verifier.verify import verify
from accmap.verifier.worker.blueprint import Blueprint, InputPlan, Job, OptimizerPlan
from accmap.verifier.worker.processes import HERE, Worker, WorkerAnswer, WorkerFailure

NEWEST = prove.WHEELS / "mindformers" / "2.1.0"
NOT_YET = ("window", "clipped", "quick")
"""Contexts that 0.12 has no argument for."""


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_context_says_what_it_is_named_for(context: str) -> None:
    version = "0.19" if context in NOT_YET else "0.12"
    bench = Bench(Versions(version, "1.9"))
    text = bench.text("megatron", bench.settings(context, "megatron"))
    recipe = recipe_of(read(text, "megatron", version))
    assert {field: recipe.value(field) for field in CONTEXTS[context]} == CONTEXTS[context]


def test_the_pairs_form_a_star_of_each_graph() -> None:
    pairs = [str(pair) for pair in STAR]
    assert pairs[0] == "0.12 × 1.9"
    assert len(pairs) == len(set(pairs)) == 19
    assert all("0.12 × " in pair or pair.endswith((" × 1.9", " × 2.1 dynamic")) for pair in pairs)
    assert [pair.stem for pair in STAR if pair.graph == "dynamic"][:2] == ["0.12x2.1-dynamic", "0.12x2.0-dynamic"]


@pytest.mark.parametrize(
    ("field", "before", "first"),
    [
        ("norm.epsilon", 1e-6, 5e-7),
        ("model.num_layers", 2, 4),
        ("attention.qk_layernorm", False, True),
        ("moe.layer_pattern", [1, 1], [0, 1]),
        ("norm.type", "RMSNorm", "LayerNorm"),
    ],
)
def test_a_candidate_is_another_value(field: Any, before: Any, first: Any) -> None:
    found = candidates(rows_of(field)[0], field, before, "0.12")
    assert found[0] == first
    assert before not in found


def test_a_gate_gives_the_context() -> None:
    bench = Bench(CENTRE)
    wanted: Any = "moe.router.topk"
    assert all(name.startswith("experts") for name in bench.contexts(rows_of(wanted)[0], wanted))


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    mark = digests()["norm.epsilon"]
    tried = {"field": "norm.epsilon", "outcome": "proved"}
    Journal(CENTRE, tmp_path).add("norm.epsilon", mark, [tried])
    again = Journal(CENTRE, tmp_path)
    assert again.knows("norm.epsilon", mark)
    assert not again.knows("norm.epsilon", "another text of the row")
    assert not again.knows("norm.type", "another text of the row")
    assert again.knows("norm.type", digests()["norm.type"])  # it stands in `mappings/proofs.yaml`
    again.add("norm.epsilon", mark, [{**tried, "outcome": "fails"}])
    assert not Journal(CENTRE, tmp_path).knows("norm.epsilon", mark)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["proved", "nothing-to-set"], "proved"),
        (["proved", "unseen"], "unseen"),
        (["proved", "fails"], "fails"),
        (["nothing-to-set"], "nothing-to-set"),
    ],
)
def test_a_row_is_as_good_as_its_worst_field(outcomes: list[str], expected: str) -> None:
    assert outcome({"fields": [{"outcome": one} for one in outcomes]}) == expected


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
def test_the_models_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    with RememberingWorkers() as workers:
        judge = Judge(CENTRE, {}, workers, {})

        def said(field: Any) -> list[str]:
            return [tried.outcome for tried in judge.row(rows_of(field)[0])]

        assert said("norm.epsilon") == ["proved"]
        assert said("moe.z_loss_coefficient") == ["proved"]
        assert said("attention.qk_l2_norm") == ["nothing-to-set"]

        def wrongly(text: str, framework: Any, version: str) -> Any:
            """As if a row wrote another value of a number than it says that it does."""
            return real(text.replace("rms_norm_eps: 5.0e-07", "rms_norm_eps: 3.0e-06"), framework, version)

        real = read
        monkeypatch.setattr("minimal_pairs.read", wrongly)
        judge = Judge(CENTRE, {}, workers, {})
        assert said("norm.epsilon") != ["proved"]


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(bool(missing_modules("megatron")) or not NEWEST.is_dir(), reason="the frameworks are not installed")
def test_the_models_of_the_dynamic_graph_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    epsilon: Any = "norm.epsilon"
    form: Any = "activation.gelu_form"
    with RememberingWorkers() as workers:
        judge = Judge(DYNAMIC, {"mindformers": str(NEWEST)}, workers, {})
        (carried,) = judge.row(rows_of(epsilon)[0])
        assert (carried.outcome, carried.carried) == ("proved", True)
        # The dynamic graph has no linear biases, with which Megatron-LM has two forms.
        (lost,) = judge.row(rows_of(form)[0])
        assert (lost.outcome, lost.context, lost.carried, lost.agrees) == ("proved", "gelu_biased", False, None)

        def wrongly(text: str, framework: Any, version: str) -> Any:
            return read(text.replace("rms_norm_eps: 5.0e-07", "rms_norm_eps: 3.0e-06"), framework, version)

        monkeypatch.setattr("minimal_pairs.read", wrongly)
        (wrong,) = Judge(DYNAMIC, {"mindformers": str(NEWEST)}, workers, {}).row(rows_of(epsilon)[0])
        assert wrong.outcome != "proved"


@pytest.mark.parametrize(
    ("differ", "outcome"),
    [
        ([(True, True), (True, False)], "proved"),  # Megatron-LM alone drops
        ([(True, True), (False, True)], "fails"),  # the dynamic graph alone does, although the report denies it
        ([(True, True), (True, False), (False, True)], "fails"),
        ([(False, False), (True, True), (True, False), (False, True)], "not-run"),  # they differ without it, too
    ],
)
def test_a_value_that_both_files_have_is_shown_to_be_dropped(
    monkeypatch: pytest.MonkeyPatch, differ: list[tuple[bool, bool]], outcome: str
) -> None:
    field: Any = "attention.dropout"

    def verdict(_self: Judge, _field: str, pair: Any, _stage: str = "all") -> tuple[str, float | None, str]:
        sides = tuple(bool(recipe_of(config).value(field)) for config in pair)
        return ("mismatch", None, "dropout loss") if sides in differ else ("match", 1e-7, "")

    monkeypatch.setattr(Judge, "_verdict", verdict)
    with RememberingWorkers() as workers:
        (tried,) = Judge(DYNAMIC, {}, workers, {}).row(rows_of(field)[0])
    assert (tried.outcome, tried.value) == (outcome, 0.5)
    if outcome == "proved":
        assert not tried.carried


def test_weights_that_are_drawn_otherwise_are_told_from_others() -> None:
    assert is_drawing("initialisation embedding.position_embeddings.weight")
    assert not is_drawing("initialisation embedding.word_embeddings.weight, loss 1")
    assert not is_drawing("loss 1")


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
@pytest.mark.parametrize(
    ("origin", "context", "more", "field"),
    [
        # No layer of MindSpore Transformers reads it.
        ("mindformers", "plain", {"model.model_config.softmax_scale": 0.5}, "attention.softmax_scale"),
        # Megatron-LM reads it with --moe-router-group-topk alone; written as it is, MindSpore Transformers stops.
        ("megatron", "experts", {"moe_router_num_groups": 2}, "moe.router.num_groups"),
    ],
)
def test_what_the_prover_found(origin: Any, context: str, more: dict[str, Any], field: str) -> None:
    bench = Bench(CENTRE)
    written = bench.convert(bench.text(origin, {**bench.settings(context, origin), **more}), origin)
    row = next(one for one in written.translation.rows if one.field == field)
    assert not row.changes_numbers
    assert verify(*written.pair, Findings()).verdict == "match"


def test_what_a_side_cannot_say_is_not_written() -> None:
    bench = Bench(CENTRE)
    field: Any = "norm.sandwich"
    with pytest.raises(NotWrittenError):
        bench.put("megatron", field, True, recipe_of(bench.base("plain", "megatron").origin), {})


@pytest.mark.slow
def test_what_is_written_keeps_what_stands_and_what_was_asked_again_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {pair: standing(pair) for pair in STAR}
    proved = before[CENTRE]["norm.epsilon"]["fields"][0]
    assert (proved["outcome"], proved["carried"]) == ("proved", True)
    (tmp_path / "mappings").mkdir()
    copy = tmp_path / "mappings" / "proofs.yaml"
    copy.write_bytes(PROOFS.read_bytes())
    monkeypatch.setattr("recording.PROOFS", copy)
    write_proofs(tmp_path)
    assert {pair: standing(pair) for pair in STAR} == before
    Journal(CENTRE, tmp_path).add("norm.epsilon", digests()["norm.epsilon"], [{**proved, "outcome": "not-run"}])
    write_proofs(tmp_path)
    after = {pair: standing(pair) for pair in STAR}
    assert [one["outcome"] for one in after[CENTRE].pop("norm.epsilon")["fields"]] == ["not-run"]
    del before[CENTRE]["norm.epsilon"]
    assert after == before


def test_a_reason_is_of_a_field_with_numeric_impact() -> None:
    numeric = {str(field) for row in table().rows for field in numeric_fields(row)}
    assert set(CLOSER) <= numeric
    assert set(CLOSER.values()) <= set(REASONS)
    assert all(text["en"] and text["zh"] for text in REASONS.values())


def test_a_version_without_the_argument_has_nothing_to_set() -> None:
    """Megatron-LM 0.19 has `--window-size`, 0.12 has not; MindFormers 1.9 reads it either way."""
    latent: Any = "moe.latent_size"
    window: Any = "attention.window_size"
    row, other = rows_of(latent)[0], rows_of(window)[0]
    assert not Bench(CENTRE).settable(row, "megatron")
    assert Bench(Versions("0.19", "1.9")).settable(row, "megatron")
    assert not Bench(CENTRE).settable(other, "megatron")
    assert Bench(CENTRE).settable(other, "mindformers")


def test_a_job_that_was_done_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answers = iter((WorkerAnswer({}, {}), WorkerFailure("it raises", "error"), WorkerFailure("gone", "crash")))
    monkeypatch.setattr(Worker, "start", lambda _self: None)
    monkeypatch.setattr(Worker, "ask", lambda _self, job: asked.append(job.blueprint.model["size"]))
    monkeypatch.setattr(Worker, "answer", lambda _self, _progress=None: next(answers))

    def job(size: str, name: str = "", *, trace: bool = False) -> Job:
        optimizer = OptimizerPlan("adam", 0.001, 0.1, 0.9, 0.95, 1e-8, 1.0)
        return Job(name, Blueprint("megatron", {"size": size}, optimizer), (InputPlan(1, 1, 8, 16),), trace=trace)

    with RememberingWorkers() as workers:
        workers.traces = False
        worker = workers.worker("megatron")
        first = worker.run(job("small"))
        assert worker.run(job("small", "by another name")) is first
        failed = worker.run(job("wrong"))
        assert worker.run(job("wrong")) == failed  # it fails every time
        assert isinstance(worker.run(job("small", trace=True)), WorkerFailure)
        assert asked == ["small", "wrong"]
        assert workers.start_worker("megatron", HERE).run(job("small")) is first  # what takes its place knows it, too
        assert worker.run(job("huge")) == WorkerFailure("gone", "crash")
        with pytest.raises(StopIteration):
            worker.run(job("huge"))  # a process that ended says nothing of the job
        assert asked == ["small", "wrong", "huge", "huge"]


def test_what_a_field_is_shown_in_is_known() -> None:
    numeric = {str(field) for row in table().rows for field in numeric_fields(row)}
    assert set(SHOWN_IN) <= numeric
    assert {name for names in SHOWN_IN.values() for name in names} <= set(CONTEXTS)
    bench = Bench(CENTRE)
    through: Any = "model.vocab_size"
    assert list(bench.contexts(rows_of(through)[0], through)) == ["plain"]  # it never counts by itself


@pytest.mark.long
def test_another_pair_gives_a_hint_where_the_centre_proves_nothing(tmp_path: Path) -> None:
    field = "attention.qk_l2_norm"
    nothing = {"field": field, "outcome": "nothing-to-set"}
    Journal(CENTRE, tmp_path).add(field, digests()[field], [nothing])
    proved = {"field": field, "outcome": "proved", "value": True, "context": "plain", "origin": "megatron"}
    Journal(Versions("0.19", "1.9"), tmp_path).add(field, digests()[field], [proved])
    assert Journal(CENTRE, tmp_path).by_field()[field] == nothing
    assert prove.hints(CENTRE, tmp_path)[field]["outcome"] == "proved"


def test_what_stands_unproved_is_asked_again_where_it_is_proved_elsewhere(tmp_path: Path) -> None:
    field = "moe.router.force_balance"
    journal, mark = Journal(CENTRE, tmp_path), digests()[field]
    assert journal.knows(field, mark)
    assert not journal.knows(field, mark, {field})
    journal.add(field, mark, [{"field": field, "outcome": "unseen"}])
    assert journal.knows(field, mark, {field})  # that was since


def test_a_reason_that_no_longer_holds_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    field = "moe.capacity.pad"
    assert Journal(CENTRE, Path()).knows(field, digests()[field])
    monkeypatch.delitem(CLOSER, field)
    assert not Journal(CENTRE, Path()).knows(field, digests()[field])


def test_a_proof_by_rounding_is_told_as_such() -> None:
    where = pairs_words([("0.12", "1.9")])
    by_types = Proof((("0.12", "1.9"),), "2026-11-26", "bfloat16", False, 4e-7, 4e-7, 1.5)
    assert "rounding" in proof_words([by_types], where).text("en")
    assert proof_words([by_types, by_types._replace(rounds=None, parts=0.1)], where) == where


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.skipif(
    bool(missing_modules("megatron") + missing_modules("mindformers")), reason="the frameworks are not installed"
)
def test_what_float32_does_not_show_is_asked_in_the_files_types() -> None:
    with RememberingWorkers() as workers:
        judge = Judge(CENTRE, {}, workers, {})
        field: Any = "precision.residual_in_fp32"
        (proved,) = judge.row(rows_of(field)[0])
        assert (proved.outcome, proved.origin, proved.carried) == ("proved", "mindformers", False)
        assert proved.rounds is not None
        assert proved.rounds > 0
        # The norm of the core computes in float32 whatever it says.
        unread: Any = "precision.norm_dtype"
        assert [tried.outcome for tried in judge.row(rows_of(unread)[0])] == ["unseen"]

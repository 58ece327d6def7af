"""The JSON of every command against the schema that `accmap schema` prints for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from accmap.cli.outputs import OUTPUTS
from accmap.verifier.verdict.comparison import Comparison, DifferingSetting, Divergence, NotCompared, Row, Values
from accmap.verifier.verification import Verification
from accmap.verifier.worker.processes import WorkerFailure

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = [str(EXAMPLES / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]
LINES = {
    "diff": ["diff", *PAIR, "--format", "json"],
    "lint": ["lint", *PAIR, "--format", "json", "--no-cache"],
    "lr": ["lr", *PAIR, "--format", "json"],
    "pair": ["pair", PAIR[0], "-d", "pair", "--align", "--format", "json"],
    "recipe": ["recipe", PAIR[0], "--format", "json"],
    "rules": ["rules", "--format", "json"],
    "show": ["show", PAIR[1], "--format", "json"],
}


@pytest.mark.parametrize("name", sorted(LINES))
def test_an_answer_is_as_its_schema_says(accmap, name: str) -> None:
    answer = accmap(*LINES[name])
    assert answer.code in (0, 1), answer.err
    validator = jsonschema.Draft202012Validator(json.loads(accmap("schema", name).out))
    validator.validate(json.loads(answer.out))  # by the library alone; every answer is held by what remembers parts


def test_an_answer_of_verify_is_as_its_schema_says(held, tmp_path) -> None:
    loss = Row("1", 4.0, 5.0, 0.2, agrees=False)
    left = NotCompared("run.seed", "drawn"), NotCompared("attention.dropout", "it differs", Values(0.1, None))
    found = Verification(
        "match", ("megatron", "mindformers"), ("a.sh", "b.yaml"), {"model.num_layers": [32, 2]}, (), 1e-5, "all",
        (Comparison(loss=(loss,)),), (0,), {"megatron": {"torch.cuda": "nothing"}}, left[:1],
        Divergence("decoder.final_layernorm", "forward"), ("norm.epsilon",),
        (DifferingSetting("norm.epsilon", 1e-5, 1e-6),),
        {"mindformers": WorkerFailure("killed", "memory")}, {"torch": "2.9"}, {"seconds": 1.0},
    ).as_partial(left[1:])  # fmt: skip
    answer = found.to_json(("NUM001",))
    held(["verify", "--format", "json"], json.dumps(answer), tmp_path)
    assert answer["not_compared"] == [
        {"field": "attention.dropout", "reason": "it differs", "a": 0.1, "b": None, "differs": True},
        {"field": "run.seed", "reason": "drawn"},
    ]
    assert answer["first_divergence"]["differing"] == [{"field": "norm.epsilon", "a": 1e-5, "b": 1e-6}]


@pytest.mark.parametrize(("name", "path"), [("show", ("values", 3, "origin")), ("lint", ("diagnostics", 0, "effect"))])
def test_a_part_that_is_not_as_its_schema_says_is_found_each_time(accmap, held, tmp_path, name: str, path) -> None:
    answer = json.loads(accmap(*LINES[name]).out)
    part = answer
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = "elsewhere"
    for _ in range(2):
        with pytest.raises(jsonschema.ValidationError, match="elsewhere"):
            held(LINES[name], json.dumps(answer), tmp_path)


@pytest.mark.table(4)
@pytest.mark.parametrize(
    "name", [*sorted(OUTPUTS), "megatron", pytest.param("mindformers", marks=pytest.mark.slow), "recipe"]
)
def test_every_schema_is_valid(accmap, name: str) -> None:
    answer = accmap("schema", name)
    assert answer.code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(answer.out))


def test_the_names_are_listed_and_a_wrong_one_is_told(accmap) -> None:
    assert {"show", "recipe", "megatron"} <= set(accmap("schema").out.split())
    answer = accmap("schema", "nothing")
    assert answer.code == 2
    assert "recipe" in answer.err


@pytest.mark.parametrize(
    "schema",
    [
        {}, {"type": "string", "title": "a"}, {"type": "integer", "minimum": 1}, {"type": "number", "minimum": 0},
        {"type": ["string", "null"]}, {"enum": ["a", "1"]}, {"enum": ["a", 1, None]}, {"type": "null", "enum": ["a"]},
        {"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {}}, {"items": {"type": "null"}},
        {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1}, {"items": {"enum": ["a"]}, "type": "array"}]},
        {"type": "string", "pattern": "^a"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}, False,
    ],
    ids=str,
)  # fmt: skip
def test_the_check_of_an_answer_is_that_of_its_schema(validator_class: Any, schema: object) -> None:
    whole = {"type": "object", "properties": {"a": schema}}
    for value in ("a", "b", "1", 0, 1, 1.0, 1.5, True, None, [], ["a"], [1], ["a", None], {}):
        assert validator_class(whole).is_valid({"a": value}) == jsonschema.Draft202012Validator(whole).is_valid(
            {"a": value}
        ), value
    assert validator_class(whole).is_valid({"b": None})
    assert not validator_class(whole).is_valid([])

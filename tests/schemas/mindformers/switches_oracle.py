"""Run inside a process that has MindSpore Transformers: what its code makes of every form of every switch.

`switches_oracle.py ROOT GRAPH QUESTIONS ANSWERS`: the questions are JSON objects, one a line, and so are the answers:
`{"how": "run" | "source", "answer": "on" | "off" | "refused" | "unclear"}`. A question that names a `file` is a YAML
for the real configuration classes and converters; a `run` names one of `RUNS`, real functions that the value is handed
to; the rest is answered by the tests that the cited function makes of the name (`source`), which are evaluated.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import logging
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REFUSALS = (TypeError, ValueError, KeyError, AttributeError, AssertionError, RuntimeError)


# --- by source: the tests that a function makes of a name ------------------------------------------------------------


def is_named(node: ast.AST, name: str) -> bool:
    """Whether an expression reads `name`: a variable, an attribute, an entry, or `getattr` of it."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == name
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [one.value for one in node.args if isinstance(one, ast.Constant)]
        return called in ("get", "pop", "getattr", "get_value") and name in given
    return False


class Replaced(ast.NodeTransformer):
    """The name becomes `value`, and every other name a number that is on."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit(self, node: ast.AST) -> Any:
        if is_named(node, self.name):
            return ast.copy_location(ast.Name("value", ast.Load()), node)
        if isinstance(node, (ast.Name, ast.Attribute)) and getattr(node, "id", "") not in ("isinstance", "bool", "any"):
            return ast.copy_location(ast.Constant(7), node)
        return self.generic_visit(node)


@cache
def parsed(path: str) -> ast.Module:
    tree = ast.parse(Path(path).read_text("utf-8"))
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    return tree


def function_of(tree: ast.AST, names: list[str]) -> ast.AST:
    """The function or class that a qualified name means."""
    for name in names:
        kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        tree = next(node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)
    return tree


def test_around(node: Any) -> ast.expr | None:
    """The smallest expression around a name that is a test of it, or arithmetic with it; None if it is neither."""
    inner, outer = node, node.parent
    while True:
        if isinstance(outer, ast.Compare):
            whole = outer.parent
            return whole if isinstance(whole, ast.IfExp) and outer is whole.test else outer
        if isinstance(outer, ast.BinOp):
            return outer
        if isinstance(outer, ast.Call) and getattr(outer.func, "id", "") in ("isinstance", "bool"):
            return outer if inner is node else node
        if isinstance(outer, ast.Call) and getattr(outer.func, "attr", "") == "check_bool":
            return ast.parse("1 / isinstance(value, bool)", mode="eval").body
        if isinstance(outer, (ast.If, ast.While, ast.IfExp, ast.Assert)) and inner is outer.test:
            return node
        if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
            return node
        if isinstance(outer, (ast.BoolOp, ast.List)):
            if isinstance(outer, ast.BoolOp) and inner is not outer.values[-1]:
                return node
            inner, outer = outer, outer.parent
        elif isinstance(outer, ast.Call) and getattr(outer.func, "id", "") in ("any", "all"):
            return node
        else:
            return None


def is_about(node: ast.AST, name: str) -> bool:
    """True if an operand of `and` or `or` asks for nothing but this name."""
    return isinstance(node, (ast.Compare, ast.Call, ast.UnaryOp)) and any(is_named(one, name) for one in ast.walk(node))


def whole_of(test: Any, name: str) -> ast.expr:
    """A test with the others of its `and` or `or` if all are of this name: `x is not None and isinstance(x, bool)`."""
    negated = test.parent if hasattr(test, "parent") and isinstance(test.parent, ast.UnaryOp) else test
    outer = getattr(negated, "parent", None)
    return outer if isinstance(outer, ast.BoolOp) and all(is_about(one, name) for one in outer.values) else test


def tests_in(tree: ast.AST, name: str) -> Iterator[Callable[[Any], Any]]:
    """Every test that some code makes of a name."""
    for node in ast.walk(tree):
        around = test_around(node) if is_named(node, name) else None
        found = None if around is None else whole_of(around, name)
        if found is not None:
            expression = ast.parse(ast.unparse(found), mode="eval")
            body = ast.fix_missing_locations(Replaced(name).visit(expression))
            yield eval("lambda value: " + ast.unparse(body))


def tests_of(root: Path, source: str, key: str) -> Iterator[Callable[[Any], Any]]:
    """Every test that the cited function makes; brackets name the value if it has another name there."""
    place, _, alias = source.partition(" (")
    file, _, function = place.partition(":")
    yield from tests_in(function_of(parsed(str(root / file)), function.split(".")), alias.rstrip(")") or key)


def outcome(test: Callable[[Any], Any], value: Any) -> Any:
    try:
        return test(value)
    except (*REFUSALS, ArithmeticError):
        return "refused"


def judged_by_source(root: Path, source: str, key: str, value: Any) -> str:
    """The tests of the cited function, evaluated for a value, and for True and False."""
    every = {judged(test, value) for test in tests_of(root, source, key)}
    answers = every - {""}
    if "refused" in answers:
        return "refused"
    if every == {""}:  # the tests only refuse: what they let through is what Python takes it for
        return "on" if value else "off"
    return answers.pop() if len(answers) == 1 else "unclear"


def judged(test: Callable[[Any], Any], value: Any) -> str:
    """What one test makes of a value; nothing if it does not tell True from False, or from this value."""
    on, off, own = (outcome(test, one) for one in (True, False, value))
    if own == "refused":
        return "refused"
    if not isinstance(on, bool):  # arithmetic
        return "on" if repr(own) == repr(on) else "off" if repr(own) == repr(off) else "refused"
    if bool(on) != bool(off):
        return "on" if bool(own) == bool(on) else "off"
    return "refused" if bool(own) != bool(on) else ""  # `is not None`


# --- by running -------------------------------------------------------------------------------------------------------


def said(make: Callable[[], Any]) -> Any:
    """What a call answers, or `refused`."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return make()
    except Exception:  # noqa: BLE001 - whatever it raises is its answer
        return "refused"


def parameters() -> list[Any]:
    import mindspore
    import numpy

    return [mindspore.Parameter(mindspore.Tensor(numpy.ones((2, 2), numpy.float32)), name="w")]


def legacy(_: str, value: Any) -> Any:
    build_context = importlib.import_module("mindformers.core.context.build_context")

    class Kept:
        def get_context(self, _key: str) -> Any:
            return value

    real = build_context.MFContextOperator.get_mf_ctx_instance
    build_context.MFContextOperator.get_mf_ctx_instance = classmethod(lambda _cls: Kept())
    try:
        return bool(build_context.is_legacy_model())
    finally:
        build_context.MFContextOperator.get_mf_ctx_instance = real


def config_section(path: str, value: Any) -> Any:
    from mindformers.core.parallel_config import build_parallel_config
    from mindformers.tools.register import MindFormerConfig

    section, key = path.split(".")
    config = MindFormerConfig(
        parallel_config={"pipeline_stage": 1}, recompute_config={}, swap_config={}, use_legacy=False
    )
    config[section][key] = value
    build_parallel_config(config)
    return bool(getattr(config[section], key))


def parallel_context(path: str, value: Any) -> Any:
    import mindspore
    from mindformers.core.context.parallel import ParallelOperator

    key = path.rpartition(".")[2]
    mindspore.reset_auto_parallel_context()
    ParallelOperator._set_ms_auto_parallel_context(**{key: value})
    return bool(mindspore.get_auto_parallel_context(key))


def optimizer(path: str, value: Any, kind: str) -> Any:
    """The class that is built is the answer for `use_fused`; for the rest that it is built at all."""
    from mindformers.core.optim import build_optim

    key = path.rpartition(".")[2]
    rate = None if kind.lower() == "adafactor" else 0.1
    more = {"relative_step": False} if kind == "Came" and key != "relative_step" else {}
    more |= {"momentum": 0.9} if kind == "Momentum" or key == "nesterov" else {}
    built = build_optim({"type": kind, "params": parameters(), "learning_rate": rate, **more, key: value})
    if key == "use_fused":
        return type(built).__name__.startswith("Fused")
    return bool(getattr(built, key)) if isinstance(getattr(built, key, None), bool) else bool(value)


def fused_step(_: str, value: Any) -> Any:
    """The operator has no kernel on a CPU; that is said after the types were looked at, or with the next call."""
    import mindspore
    import numpy
    from mindspore.ops import auto_generate

    if isinstance(value, bool):
        return value  # as its signature has it; what is asked is which other forms it refuses

    def tensor(number: float) -> Any:
        return mindspore.Tensor(numpy.full((2, 2), number, numpy.float32))

    states = [mindspore.Parameter(tensor(0), name=name) for name in "pmvx"]
    for _time in range(3):
        try:
            step = mindspore.Tensor(1.0, mindspore.float32)
            auto_generate.AdamW()(*states, tensor(1), step, 0.1, 0.9, 0.99, 0.0, 1e-8, False, value)
        except Exception as error:  # noqa: PERF203 - each call is its own
            if "Failed calling" in str(error):  # by its types
                raise
    return bool(value)


def batched(_: str, value: Any) -> Any:
    import mindspore.dataset
    import numpy

    rows = mindspore.dataset.GeneratorDataset([(numpy.array([at]),) for at in range(5)], ["a"], shuffle=False)
    return rows.batch(2, drop_remainder=value).get_dataset_size() == 2


def shuffled(_: str, value: Any) -> Any:
    import mindspore.dataset
    import numpy

    rows = mindspore.dataset.GeneratorDataset([(numpy.array([at]),) for at in range(60)], ["a"], shuffle=value)
    found = [int(row[0][0]) for row in rows.create_tuple_iterator(output_numpy=True)]
    return found != sorted(found)


def numa(_: str, value: Any) -> Any:
    from mindformers.dataset.base_dataset import BaseDataset
    from mindformers.tools.register import MindFormerConfig

    BaseDataset.init_dataset_config(MindFormerConfig(numa_enable=value))
    return bool(value)


def sunk(_: str, value: Any) -> Any:
    import mindspore
    import numpy

    mindspore.set_context(mode=1, device_target="CPU")
    network = mindspore.nn.Dense(1, 1)
    trained = mindspore.Model(network, optimizer=mindspore.nn.SGD(network.trainable_params()))
    rows = mindspore.dataset.GeneratorDataset([(numpy.ones(1, numpy.float32),)], ["a"], shuffle=False).batch(1)
    trained.train(0 if value is True else 1, rows, dataset_sink_mode=value) if not isinstance(value, bool) else None
    return value


def precision(path: str, value: Any) -> Any:
    from mindformers.core.context.validators import validate_precision_sync
    from mindformers.tools.register import MindFormerConfig

    validate_precision_sync(MindFormerConfig(**{path: value}))
    return bool(value)


def data_settings(path: str, value: Any) -> Any:
    from mindformers.dataset.blended_datasets.gpt_dataset import GPTDatasetConfig

    given = {"reset_position_ids": False, "reset_attention_mask": False, "eod_mask_loss": False}
    key = path.rpartition(".")[2]
    text = {"random_seed": 1, "sequence_length": 8, "blend": (["/d"], None), "split": "1,0,0", "eod": 1, "pad": 2}
    found = GPTDatasetConfig(**text, **{**given, key: value})
    return bool(getattr(found, key))


RUNS: dict[str, Callable[..., Any]] = {
    "legacy": legacy, "config_section": config_section, "parallel_context": parallel_context, "optimizer": optimizer,
    "batched": batched, "shuffled": shuffled, "numa": numa, "sunk": sunk, "precision": precision,
    "data_settings": data_settings, "fused_step": fused_step,
}  # fmt: skip


def field_of(question: dict[str, Any], graph: str) -> tuple[bool, Any]:
    """What the real converter stores in a field of TransformerConfig, or in a typed section."""
    import differential_oracle

    if question.get("typed"):
        from mindformers.pynative.config import TrainConfig

        found: Any = TrainConfig.load_from_yaml(question["file"])
        for name in question["key"].split("."):
            found = getattr(found, name)
        return True, found
    resolve = differential_oracle.resolved_dynamically if graph == "dynamic" else differential_oracle.resolved
    return True, resolve(question["file"])[question["field"]]


def answer(root: Path, question: dict[str, Any], graph: str) -> dict[str, str]:
    value = None if question.get("missing") else yaml.safe_load(question["text"])
    if "run" in question:
        more = (question["type"],) if "type" in question else ()
        found = said(lambda: RUNS[question["run"]](question["key"], value, *more))
        return {"how": "run", "answer": found if found == "refused" else "on" if found else "off"}
    how = "source"
    if "file" in question:
        found = said(lambda: field_of(question, graph))
        if found == "refused":
            return {"how": "run", "answer": "refused"}
        value, how = found[1], "run"
        if isinstance(value, bool):
            return {"how": "run", "answer": "on" if value else "off"}
    judged = (
        judged_by_source(root, question["source"], question.get("field") or question["key"].rpartition(".")[2], value)
        if question.get("source")
        else ("on" if value else "off")
    )
    return {"how": how, "answer": judged}


def main() -> None:
    logging.disable(logging.CRITICAL)
    folder, graph, questions, answers = sys.argv[1:]
    if graph == "dynamic":
        from accmap.verifier.worker import patches

        patches.install_hyper_parallel()
    from mindformers.tools.register import register

    for name in ("is_legacy_model", "get_legacy"):
        if hasattr(register, name):
            setattr(register, name, lambda: False)
    listed = [json.loads(line) for line in Path(questions).read_text("utf-8").splitlines()]
    found = [json.dumps(answer(Path(folder), question, graph)) for question in listed]
    Path(answers).write_text("\n".join(found), "utf-8")


if __name__ == "__main__":
    main()

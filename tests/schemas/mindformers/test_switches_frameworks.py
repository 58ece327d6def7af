"""Every switch in every form, by the real code of MindSpore Transformers and by ours.

Static 1.9 and dynamic 2.1. What decides is run if it runs on a CPU (`switches_oracle.py`): the configuration classes
and converters, the typed sections, the constructors of optimizers, MindSpore's own functions that are handed the value.
The rest is judged by the source that `switches.yaml` cites: the tests that it makes of the name are evaluated. A field
without a row is asked for its truth: every place of the real code that asks for one is read.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap import convert
from accmap.schemas.border.file_input import read_text
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.mindformers.dynamic import catalog
from accmap.schemas.mindformers.effective import mindformers_config
from accmap.schemas.mindformers.fact_base import switch_rows
from accmap.schemas.mindformers.versions import static_catalog
from accmap.schemas.plain_values import TRUTH, is_on
from accmap.schemas.source import SourceText

HERE = Path(__file__).resolve().parent
_SPEC = importlib.util.spec_from_file_location("switches_oracle", HERE / "switches_oracle.py")
assert _SPEC is not None
assert _SPEC.loader is not None
switches_oracle = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(switches_oracle)
ROOT = HERE.parents[2]
RUN = HERE.parents[1] / "framework_run.py"
WHEELS = Path(os.environ.get("ACCMAP_MINDFORMERS", ROOT / ".frameworks" / "mindformers"))
VERSIONS = {"static": "1.9", "dynamic": "2.1"}
FORMS = (
    "true", "false", "yes", "on", "off", '"True"', '"False"', '"1"', '"0"', '"no"', '""', "0", "1", "2", "-1", "1.0",
    "0.0", "-0.0", "null", ".nan", "[]", "[0]", "{}", "{a: 1}",
)  # fmt: skip
MISSING, MAPPING = "missing", "{a: 1}"
FEW = ("1", "0", '"False"', "null", "1.0")
RUNS = {
    "use_legacy": "legacy",
    "train_precision_sync": "precision",
    "infer_precision_sync": "precision",
    "runner_config.sink_mode": "sunk",
    "train_dataset.drop_remainder": "batched",
    "train_dataset.numa_enable": "numa",
    "train_dataset.data_loader.shuffle": "shuffled",
    "optimizer.amsgrad": "fused_step",
    "optimizer.maximize": "fused_step",
    **{f"train_dataset.{loader}.config.{name}": "data_settings" for loader in ("data_loader", "dataloader")
       for name in ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")},
}  # fmt: skip
"""Real functions that the value is handed to."""
RUN_BY_SECTION = {
    "parallel_config": "config_section",
    "recompute_config": "config_section",
    "swap_config": "config_section",
    "parallel": "parallel_context",
    "optimizer": "optimizer",
}
NOT_BUILT = ("Muon",)
"""Optimizers that ask for a whole model."""
TOGETHER = ("relative_step", "warmup_init", "compression", "nesterov")
"""Arguments of optimizers whose True or False asks for other arguments: other forms alone are tried."""
BY_THE_TRAINER = ("calculate_per_token_loss", "disable_lazy_inline", "track_max_attention_logit")
"""Fields that the running trainer writes, whatever the model says."""


def typed_switches(version: str) -> list[str]:
    """The paths of the typed sections' switches."""
    classes = catalog(version).classes
    found: list[str] = []
    left = [("TrainConfig", "")]
    while left:
        name, prefix = left.pop()
        for key, field in classes[name]["fields"].items():
            kind = str(field["type"]).removesuffix(" | None")
            if kind in classes:
                left.append((kind, f"{prefix}{key}."))
            elif kind == "bool":
                found.append(f"{prefix}{key}")
    return found


@cache
def base(graph: str, family: str) -> dict[str, Any]:
    """A YAML of an example in one graph."""
    if graph == "static":
        return yaml.safe_load((ROOT / "examples" / family / "mindformers.yaml").read_text("utf-8"))
    script = str(ROOT / "examples" / family / "megatron.sh")
    return yaml.safe_load(convert(script, version=VERSIONS[graph], dialect="dynamic").text)


def written(content: dict[str, Any], path: str, form: str) -> str:
    """The YAML with a key in one form, or without it."""
    found: dict[str, Any] = json.loads(json.dumps(content))
    *sections, key = path.split(".")
    here = found
    for name in sections:
        here = here.setdefault(name, {}) if here.get(name) is not None else here.__setitem__(name, {}) or here[name]
    here.pop(key, None)
    if form == MISSING:
        return yaml.safe_dump(found, sort_keys=False)
    here[key] = "FORM_OF_IT"
    return yaml.safe_dump(found, sort_keys=False).replace("FORM_OF_IT", form)


def read(text: str, graph: str) -> Config:
    return mindformers_config(SourceText("case.yaml", text), ReadOptions(mindformers=VERSIONS[graph]), read_text)


def stops(config: Config) -> set[str]:
    """What stops the run, by code and words; not that a text says the opposite of what it does."""
    found = [problem for problem in config.problems if problem.kind.severity == "error"]
    return {str(problem.words()) for problem in found if problem.kind.code != "MAP118"}


def our_answer(text: str, key: str, graph: str) -> str:
    config = read(text, graph)
    if key == "use_legacy":
        return "on" if config.dialect == "legacy" else "off"
    if stops(config):
        return "refused"
    setting = config.settings.get(key)
    if setting is None or not setting.decided:
        return "open"
    return "on" if is_on(setting.value) else "off"


def key_for(field: str, family: str) -> str | None:
    """The key of the model that sets a field, in the class of a family."""
    facts = static_catalog(VERSIONS["static"])
    name = facts["classes"][facts["names"][base("static", family)["model"]["model_config"]["model_type"]]]["converter"]
    maps = facts["converters"][name]
    rules: dict[str, list[list[Any]]] = {**maps["rules"], **maps.get("mla_rules", {})}
    if field in (*maps["same"], *maps["mla_same"]) and field not in rules:
        return field
    return next((key for key, targets in rules.items() if [field, None] in targets), None)


def questions(graph: str, forms: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every switch in every form, with the YAML that holds it."""
    version, found = VERSIONS[graph], list[dict[str, Any]]()
    facts = static_catalog(version)
    sources = {key: source for row in switch_rows()[graph] for key, source in row["keys"].items()}
    model = "model.model_config" if graph == "static" else "model"
    family = "deepseek_v3"
    for field, kind in facts["types"].items():
        key = key_for(field, family) if graph == "static" else field
        if kind in ("bool", "bool?") and key is not None and field not in BY_THE_TRAINER:
            one = {"key": f"{model}.{key}", "field": field, "source": sources.get(f"transformer.{field}", "")}
            found += [{**one, "ask": f"resolved.transformer.{field}", "text": form} for form in (*forms, MISSING)]
    if graph == "dynamic":
        for path in typed_switches(version):
            found += [{"key": path, "typed": True, "ask": path, "text": form} for form in (*forms, MISSING)]
    for row in switch_rows()[graph]:
        for key, source in row["keys"].items():
            if not key.startswith("transformer."):
                apart = key.rpartition(".")[2] in TOGETHER and graph == "static"
                tried = [form for form in forms if not (apart and isinstance(yaml.safe_load(form), bool))]
                if graph == "dynamic":  # a mapping stands there by its leaves: the switch itself is open
                    tried = [form for form in tried if form != MAPPING]
                found += [{**one, "text": form} for one in section_questions(graph, row, key, source) for form in tried]
    return found


def section_questions(graph: str, row: dict[str, Any], key: str, source: str) -> list[dict[str, Any]]:
    """A switch outside the model: by a real function, once for each class that its row holds for, or by its source."""
    if str(row.get("versions", "")).startswith("-"):
        return []
    one: dict[str, Any] = {"key": key, "ask": key, "source": source, "with": row.get("with", [])}
    run = RUNS.get(key) or (RUN_BY_SECTION.get(key.partition(".")[0]) if graph == "static" else None)
    one = one if run is None else {**one, "run": run}
    if run != "optimizer":
        return [one]
    known = static_catalog(VERSIONS[graph])["registry"]["optimizer"]
    name = key.rpartition(".")[2]
    types = [kind for kind in row["where"]["optimizer.type"] if name in known[kind]["args"]]
    return [{**one, "type": kind} if kind not in NOT_BUILT else {**one, "run": None, "type": kind} for kind in types]


def real_answers(asked: list[dict[str, Any]], graph: str, folder: Path) -> list[dict[str, str]]:
    listed, answers = folder / "questions.jsonl", folder / "answers.jsonl"
    listed.write_text("\n".join(map(json.dumps, asked)), "utf-8")
    wheel = WHEELS / f"{VERSIONS[graph]}.0"
    paths = [str(HERE), *([str(wheel)] if wheel.is_dir() else [])]
    code = "import mindformers; print('AT', mindformers.__path__[0])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    where = subprocess.run(
        [sys.executable, str(RUN), "-c", code], env=environment, capture_output=True, text=True, check=False, cwd=folder
    ) if graph == "static" else None  # fmt: skip
    root = wheel / "mindformers" if where is None else next(
        line[3:] for line in where.stdout.splitlines() if line.startswith("AT ")
    )  # fmt: skip
    words = [sys.executable, str(RUN), str(HERE / "switches_oracle.py"), str(root), graph, str(listed), str(answers)]
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert answers.exists(), done.stderr[-3000:]
    return [json.loads(line) for line in answers.read_text("utf-8").splitlines()]


def with_files(asked: list[dict[str, Any]], graph: str, folder: Path) -> list[str]:
    """The YAML of each question; what the real converters read is written, too."""
    texts: list[str] = []
    for number, one in enumerate(asked):
        content = base(graph, "deepseek_v3")
        if "type" in one:
            content = {**content, "optimizer": {"type": one["type"]}}
        for key in one.get("with", ())[:1]:
            content = yaml.safe_load(written(content, key, "true"))
        texts.append(written(content, one["key"], one["text"]))
        if "field" in one or one.get("typed"):
            path = folder / f"{number}.yaml"
            path.write_text(texts[-1], "utf-8")
            one["file"] = str(path)
        one["missing"] = one["text"] == MISSING
        if not one.get("run", ""):
            one.pop("run", None)
    return texts


def compared(graph: str, forms: tuple[str, ...], folder: Path) -> tuple[str, list[str]]:
    """Figures, and what differs."""
    asked = questions(graph, forms)
    texts = with_files(asked, graph, folder)
    real = real_answers(asked, graph, folder)
    wrong: list[str] = []
    for one, text, theirs in zip(asked, texts, real, strict=True):
        ours = our_answer(text, one["ask"], graph)
        if ours == "refused" and theirs["answer"] == "on":  # the code asks, and stops if it is on
            ours = (
                "on" if our_answer(text.replace(f": {one['text']}", ": true"), one["ask"], graph) == "refused" else ours
            )
        if ours != theirs["answer"]:
            wrong.append(f"{one['key']}: {one['text']} ({one.get('type', '')}): {ours}, real {theirs}")
    how = [answer["how"] for answer in real]
    keys = len({one["ask"] for one in asked})
    figures = f"{graph} {VERSIONS[graph]}: {keys} switches, {len(asked)} comparisons, {how.count('run')} run, "
    return figures + f"{how.count('source')} by source, {len(wrong)} differ", wrong


def is_here(graph: str) -> bool:
    if (WHEELS / f"{VERSIONS[graph]}.0").is_dir():
        return True
    return graph == "static" and importlib.util.find_spec("mindformers") is not None


@pytest.mark.frameworks
@pytest.mark.parametrize("graph", ["static", "dynamic"])
@pytest.mark.parametrize("forms", [pytest.param(FORMS, marks=pytest.mark.slow, id="all"), pytest.param(FEW, id="few")])
def test_every_form_means_what_the_real_code_makes_of_it(graph: str, forms: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    if not is_here(graph):
        pytest.skip(f"MindSpore Transformers {VERSIONS[graph]} is neither installed nor unpacked")
    figures, wrong = compared(graph, forms, tmp_path)
    print(figures)
    assert not wrong, figures + "\n" + "\n".join(wrong[:40])


def asking_files(graph: str, root: Path) -> list[Path]:
    """The files of the network: of its training alone."""
    folders = ["pynative"] if graph == "dynamic" else ["parallel_core", "models"]
    files = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    if graph == "static":
        files = [path for path in files if path.parts[-2] != "models" and "infer" not in str(path.relative_to(root))]
        files = [path for path in files if "parallel_core" in path.parts or path.name.endswith("_train.py")]
    return files


@pytest.mark.frameworks
@pytest.mark.parametrize("graph", ["static", "dynamic"])
def test_every_place_that_asks_for_a_field_asks_as_the_table_says(graph: str) -> None:
    root = WHEELS / f"{VERSIONS[graph]}.0" / "mindformers"
    if not root.is_dir():
        pytest.skip(f"MindSpore Transformers {VERSIONS[graph]} is not unpacked")
    facts = static_catalog(VERSIONS[graph])
    tests = facts["field_tests"] if graph == "static" else catalog(VERSIONS[graph]).tests["field_tests"]
    fields = {name: tests.get(name, TRUTH) for name, kind in facts["types"].items() if kind in ("bool", "bool?")}
    values = [yaml.safe_load(form) for form in FORMS]
    wrong: list[str] = []
    places = 0
    for path in asking_files(graph, root):
        text = path.read_text("utf-8")
        for name in (name for name in fields if name in text):
            for test in switches_oracle.tests_in(switches_oracle.parsed(str(path)), name):
                places += 1
                for value in values:
                    real = switches_oracle.judged(test, value)
                    ours = is_on(value, fields[name])
                    if value is None and ours:  # null was filled in where the field was asked for first
                        continue
                    if real and ours is not None and real != ("on" if ours else "off"):
                        wrong.append(f"{path.relative_to(root)}: {name}: {value!r}: {ours}, real {real}")
    print(f"{graph} {VERSIONS[graph]}: {places} places, {places * len(values)} comparisons, {len(wrong)} differ")
    assert places > 100
    assert not wrong, "\n".join(wrong[:40])

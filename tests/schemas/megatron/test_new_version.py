"""A pretended Megatron-LM comes in by the commands of CONTRIBUTING and one line, and every command knows it.

It comes as a release and as a development branch; two of its arguments have types that nobody has seen.

Its tree is made from the newest facts, with one other default, one new option and one gone; it is brought into a copy
of the checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accmap.schemas.megatron.facts import fact_store
from accmap.schemas.versions import names, number_of

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "tools", "verifier")
NEWEST = names("megatron")[-1]
NEXT = f"0.{max(number_of(name)[1] for name in names('megatron')) + 1}"
BRANCH = "next"
"""A branch comes in by a line with its number and a label."""
TYPES = {"frequency": "moe_freq_type", "integers": "tuple_type", "name": "enum_type_handler"}
HEAD = """
def moe_freq_type(text): ...
def odd_length(text): return "max" if text == "max" else int(text)
def odd_count(text): return int(text)
def odd_names(text): return {"near": 1, "far": 2}[text]
def tuple_type(text): ...
def enum_type_handler(text): ...
def validate_args(args): return args
def add_megatron_arguments(parser):
    from argparse import BooleanOptionalAction
"""
ACTIONS = {"true": "'store_true'", "false": "'store_false'", "switch": "BooleanOptionalAction"}
SCRIPT = """torchrun --nproc-per-node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 \\
  --seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --train-iters 10 \\
  --lr 1e-4 --lr-decay-style constant --bf16 --data-path d --vocab-size 1000 --position-embedding-type rope --swiglu \\
  --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights \\
  --eval-interval 100 --brand-new-scale 2.0
"""


def call(fact: dict[str, Any]) -> str:
    """The `add_argument` that declares a fact."""
    named = {"dest": repr(fact["dest"]), "default": repr(fact.get("default"))}
    if fact["action"] != "store":
        named["action"] = ACTIONS[fact["action"]]
    if "type" in fact:
        named["type"] = TYPES.get(fact["type"]) or str(fact["type"])
    named |= {key: repr(fact[key]) for key in ("nargs", "choices", "const") if key in fact}
    options = [option for option in fact["options"] if fact["action"] != "switch" or not option.startswith("--no-")]
    words = [*map(repr, options), *(f"{key}={value}" for key, value in named.items())]
    return f"    parser.add_argument_group({fact['group']!r}).add_argument({', '.join(words)})\n"


def pretended(folder: Path) -> str:
    """The tree of 0.21."""
    listed = [fact for fact in fact_store.read().of(NEWEST) if fact["dest"] != "otel_span_groups"]
    listed = [{**fact, "default": 0.97} if fact["dest"] == "adam_beta2" else fact for fact in listed]
    new = {"options": ["--brand-new-scale"], "dest": "brand_new_scale", "type": "float", "group": "network size"}
    listed.append({**new, "default": 1.0, "action": "store"})
    for option, kind in (("--odd-length", "odd_length"), ("--odd-count", "odd_count"), ("--odd-name", "odd_names")):
        listed.append(
            {**new, "options": [option], "dest": option[2:].replace("-", "_"), "type": kind, "action": "store"}
        )
    training = folder / "megatron" / "training"
    training.mkdir(parents=True)
    (folder / "megatron" / "core").mkdir()
    for package in (training, folder / "megatron" / "core"):
        (package / "__init__.py").write_text("", "utf-8")
    (training / "arguments.py").write_text(HEAD + "".join(map(call, listed)) + "    return parser\n", "utf-8")
    return str(folder)


def recipe() -> tuple[str, list[list[str]]]:
    """The line and the commands that CONTRIBUTING gives, but for the last one, which needs the real trees."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Add a Megatron-LM version\n")[2]
    text = text.partition("\n## ")[0]
    line = re.findall(r"```yaml\n(.*?)\n```", text, re.DOTALL)[0]
    commands = [line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert commands[-1].startswith("ACCMAP_MEGATRON_TREES=")
    return line, [command.split() for command in commands[:-1]]


pytestmark = pytest.mark.slow
Ask = Callable[..., subprocess.CompletedProcess[str]]


class Checkout(NamedTuple):
    """A copy of the checkout with the pretended version in it."""

    root: Path
    new: str
    said: list[str]
    """What the recipe's commands said."""
    ask: Ask
    known: str
    """The versions of Megatron-LM in words."""


@pytest.fixture(scope="module", params=[NEXT, BRANCH])
def brought_in(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of the checkout with the pretended version in it, by the recipe's commands."""
    root = tmp_path_factory.mktemp("checkout")
    for room in ROOMS:
        shutil.copytree(ROOT / room, root / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / ".typing", root / ".typing", symlinks=True)
    shutil.copy(ROOT / "README.md", root)
    line, commands = recipe()
    source = root / "schemas" / "versions.yaml"
    head, mark, rest = source.read_text("utf-8").partition("\nmindformers:")
    new: str = request.param
    name = f'name: {new}, number: "{NEXT}", label: "{NEXT} dev, 2026-11-20"' if new == BRANCH else f'name: "{new}"'
    line = "  " + re.sub(r'name: "[\d.]+"', name, line)
    source.write_text(f"{head.rstrip()}\n{line}\n{mark}{rest}", "utf-8")
    tree = pretended(tmp_path_factory.mktemp("tree"))
    words = {"python": sys.executable, "TREE": tree, "0.20": new, "0.19": NEWEST}
    environment = {**os.environ, "PYTHONPATH": str(root / ".typing"), "XDG_CACHE_HOME": str(root / "cache")}

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)

    def ask(*asked: str) -> subprocess.CompletedProcess[str]:
        return run([sys.executable, "-m", "accmap", *asked])

    said: list[str] = []
    for command in commands:
        done = run([words.get(word, word) for word in command])
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    released = [one for one in (*names("megatron"), new) if one[0].isdigit()]
    branches = [one for one in (*names("megatron"), new) if one not in released]
    known = ", ".join([f"{released[0]}–{released[-1]}", *branches])
    return Checkout(root, new, said, ask, known)


def test_the_commands_say_what_is_other(brought_in: Checkout) -> None:
    said = brought_in.said
    lines = [line for line in said[0].splitlines()[1:] if not line.startswith("function-")]
    assert sorted(line.partition("{")[0].strip() for line in lines) == [
        "changed --adam-beta2: default 0.999 -> 0.97",
        "gone --otel-span-groups",
        "new --brand-new-scale",
        "new --odd-count",
        "new --odd-length",
        "new --odd-name",
        "type --odd-count: odd_count, read as int",
        "type --odd-length: odd_length, read as str",
        "type --odd-name: odd_names, read as name",
    ]
    reviewed = said[1].partition("changed --adam-beta2")[2].partition("\nfunction")[0]
    assert "mappings/optimizer.yaml" in reviewed
    assert "rules/catalog/optimizer.yaml" in reviewed


def test_the_facts_grew_by_what_is_other(brought_in: Checkout) -> None:
    root = brought_in.root
    before = set(Path(fact_store.PATH).read_text("utf-8").splitlines())
    after = set((root / "schemas" / "megatron" / "arguments.json").read_text("utf-8").splitlines())
    rows = [line for line in after - before if line.startswith('["--')]
    assert len(rows) == 7  # beta2 as it was and as it is, the new options, the one that is gone


def test_every_command_knows_it(brought_in: Checkout, tmp_path: Path) -> None:
    root, new, ask = brought_in.root, brought_in.new, brought_in.ask
    script = tmp_path / "run.sh"
    script.write_text(SCRIPT, "utf-8")
    shown = json.loads(ask("show", "--format", "json", str(script)).stdout)
    values = {value["key"]: value["value"] for value in shown["values"]}
    assert (shown["framework_version"], shown["version_origin"]) == (new, "detected")
    assert (values["adam_beta2"], values["brand_new_scale"]) == (0.97, 2.0)
    assert "otel_span_groups" not in values

    linted = json.loads(ask("lint", "--no-cache", "--format", "json", str(script)).stdout)
    codes = {one["code"]: one["message"] for one in linted["diagnostics"]}
    assert "--brand-new-scale" in codes["MAP110"]
    script.write_text(SCRIPT.rstrip() + " --otel-span-groups a\n", "utf-8")
    refused = json.loads(ask("lint", "--no-cache", "--format", "json", "--megatron", new, str(script)).stdout)
    assert f"Megatron-LM {new} does not have --otel-span-groups" in str(refused["diagnostics"])
    script.write_text(SCRIPT, "utf-8")

    yaml, report = tmp_path / "written.yaml", tmp_path / "report.json"
    there = ask("convert", "--megatron", new, str(script), "-o", str(yaml), "--report", str(report))
    rows = {row["from"][0]: row for row in json.loads(report.read_text("utf-8"))["rows"] if row["from"]}
    assert there.returncode == 1, there.stderr
    assert (rows["brand_new_scale"]["status"], rows["brand_new_scale"]["impact"]) == ("dropped", "numerics")
    assert re.search(r"betas: \[0\.9, 0\.97\]|- 0\.97", yaml.read_text("utf-8"))
    back = ask("convert", "--to", "megatron", "--megatron", new, str(yaml))
    assert "--adam-beta2 0.97" in back.stdout

    told = ask("explain", "--brand-new-scale").stdout
    assert re.search(rf"{re.escape(new)}\s+--brand-new-scale · float · default 1\.0", told)
    assert brought_in.known in (root / "docs" / "matrix.md").read_text("utf-8")
    unknown = ask("show", "--megatron", "0.99", str(script))
    assert brought_in.known in unknown.stderr

"""Launches that a Megatron-LM tree's own code refuses before the first step, and near ones that it accepts.

`python tests/schemas/megatron/startup_sweep.py VERSION --out FILE` mutates accepted launches (functional-test recipes
of the tree, examples) until it has some of many conditions, at most eight of each, and as many accepted ones. A draw
changes arguments that one condition of the tree names (`tools/list_conditions.py`), so that it is met or not. One
JSON line a launch: `words`, `size`, `env`, and `place` and `refused`, or `accepted`.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# `list_conditions` is a program beside the product.

from __future__ import annotations

import argparse
import glob
import json
import os
import random
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from accmap.mapper.preconditions import refusals
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.catalog import ArgumentFact, catalog
from accmap.schemas.megatron.inputs.functional_test import read_recipe
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT)]

from list_conditions import conditions  # noqa: E402 - a program beside the product

from tests.schemas.megatron.conftest import Oracle  # noqa: E402
from tests.schemas.megatron.test_megatron_oracle import OUTSIDE, PATHS, RECIPES  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OF_EACH = 8
"""The most launches of one condition."""
BASES = 25
"""The launches that mutations begin with, in each version."""
ENVIRONMENT = {"NCCL_ALGO": "Ring", "CUDA_DEVICE_MAX_CONNECTIONS": "1", "NVTE_CPU_OFFLOAD_V1": "1"}
TEXTS = {
    "int": ["0", "1", "2", "3", "4", "8", "12", "64", "-1", "1000"],
    "float": ["0", "0.1", "0.5", "1.0", "2", "-1"],
    "bool": ["1", "true"],
}
ELSEWHERE = OUTSIDE | {
    # Files and packages, and what only a tokenizer or a checkpoint tells.
    "tokenizer_type", "tokenizer_model", "vocab_file", "merge_file", "vocab_size", "padded_vocab_size", "load",
    "save", "pretrained_checkpoint", "finetune", "use_mp_args_from_checkpoint_args", "data_args_path",
    "per_split_data_args_path", "per_dataset_sequences_path", "nccl_communicator_config_path", "wandb_project",
    "result_rejected_tracker_filename", "local_rank", "rank", "config_file", "config_logger_dir",
    # What only the building of a model asks.
    "ddp_num_buckets", "ddp_bucket_size",
}  # fmt: skip
SCHEDULE = (
    "--global-batch-size", "--micro-batch-size", "--train-iters", "--lr-warmup-iters", "--lr-decay-iters", "--min-lr",
    "--lr", "--lr-warmup-init", "--lr-warmup-fraction", "--lr-decay-style", "--lr-wsd-decay-iters", "--eval-interval",
    "--eval-iters", "--seed", "--split", "--start-weight-decay", "--end-weight-decay", "--weight-decay-incr-style",
    "--data-path", "--train-data-path", "--valid-data-path", "--num-distributed-optimizer-instances",
    "--expert-model-parallel-size", "--expert-tensor-parallel-size", "--context-parallel-size",
    "--pipeline-model-parallel-size", "--tensor-model-parallel-size", "--num-experts", "--optimizer",
)  # fmt: skip
"""Arguments that runs set most, which half of the draws are about."""
VALUES = {
    "--split": ["0,0,0", "1,1,1,1", "90,10", "99,1,0", "100", "a,b"],
    "--data-path": ["a", "0.5 a 0.5 b", "1 a b", "a b c"],
    "--train-data-path": ["a", "1 a 2 b"],
    "--lr-decay-style": ["WSD", "linear", "constant", "inverse-square-root", "step"],
    "--global-batch-size": ["6", "12", "20", "100", "1", "48", "1024"],
    "--train-iters": ["1", "2", "0"],
    "--lr-warmup-iters": ["1", "10", "100", "100000", "0"],
    "--lr-decay-iters": ["1", "10", "0", "100000"],
    "--lr-warmup-fraction": ["0.01", "1.0", "1.5", "0"],
    "--seed": ["0", "1", "-1", "4294967296"],
    "--min-lr": ["0", "-1", "1", "1e-6"],
    "--lr-warmup-init": ["1e-7", "1"],
    "--rampup-batch-size": ["2 2 100", "8 8 1000", "3 5 100", "16 0 100", "1 2", "0 1 1"],
}


class Base(NamedTuple):
    """A launch that mutations begin with."""

    words: tuple[str, ...]
    size: int
    env: dict[str, str]


def bases(version: str, tree: str) -> Iterator[Base]:
    """The launches of the tree's recipes, and of the examples."""
    options = ReadOptions(megatron=version, variables=PATHS)
    for path in sorted(glob.glob(os.path.join(tree, RECIPES), recursive=True)):
        try:
            recipe = read_recipe(SourceText(path, Path(path).read_text("utf-8")), options)
        except UnreadableError:
            continue
        if recipe.launch.world_size and all(word.resolved for word in recipe.arguments):
            env = {name: text for name, text in recipe.launch.env.items() if text is not None}
            yield Base(tuple(word.text for word in recipe.arguments), recipe.launch.world_size, ENVIRONMENT | env)
    for path in sorted(ROOT.glob("examples/*/megatron.sh")):
        launch = config_of(SourceText(str(path), path.read_text("utf-8")), options, path=str(path)).launch
        if launch is not None and launch.world_size and all(word.resolved for word in launch.arguments):
            yield Base(tuple(word.text for word in launch.arguments), launch.world_size, ENVIRONMENT)


def text_of(base: Base) -> str:
    """A launch as a script."""
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in base.env.items() if name in ENVIRONMENT)
    nodes = max(1, base.size // 8)
    launcher = f"torchrun --nproc-per-node {base.size // nodes} --nnodes {nodes}"
    return f"{variables} {launcher} pretrain_gpt.py {shlex.join(base.words)}\n"


def is_refused(base: Base, version: str) -> bool:
    """True if accmap refuses a launch, or does not read it as one of `pretrain_gpt.py` that it knows in full."""
    config = config_of(SourceText("run.sh", text_of(base)), ReadOptions(megatron=version), path="run.sh")
    unknown = [word for word in base.words if word.startswith("--") and word not in catalog(version).by_option]
    return bool(refusals(config) or config.unresolved or config.purpose or unknown)


class Mutations:
    """Draws of changed launches."""

    def __init__(self, version: str, tree: str, seed: int) -> None:
        self.random = random.Random(f"{version} {seed}")
        known = catalog(version)
        self.by_dest: dict[str, list[ArgumentFact]] = {}
        for fact in known.arguments:
            if fact.dest not in ELSEWHERE:
                self.by_dest.setdefault(fact.dest, []).append(fact)
        self.by_option = {option: fact for facts in self.by_dest.values() for fact in facts for option in fact.options}
        listed = conditions(tree)
        self.asked = [names for one in listed if (names := [name for name in one.names if name in self.by_dest])]
        self.constants = {
            name: sorted(set(re.findall(r"'([\w+./-]+)'", one.text))) for one in listed for name in one.names
        }

    def draw(self, base: Base) -> Base:
        """A launch with some arguments changed."""
        chosen: list[str] = []
        if self.random.random() < 0.4:
            for flag in self.random.sample(SCHEDULE, self.random.choice((1, 1, 2))):
                chosen += self.words(self.by_option[flag]) if flag in self.by_option else []
        elif self.random.random() < 0.9:
            names = self.random.choice(self.asked)
            for name in self.random.sample(names, min(len(names), self.random.choice((1, 2, 3)))):
                chosen += self.words(self.random.choice(self.by_dest[name]))
        else:
            chosen += self.words(self.random.choice([fact for facts in self.by_dest.values() for fact in facts]))
        return base._replace(words=(*base.words, *chosen))

    def words(self, fact: ArgumentFact) -> list[str]:
        """An argument, and values of its type."""
        option = self.random.choice(fact.options)
        if fact.action != "store":
            return [option]
        if option in VALUES:
            return [option, *self.random.choice(VALUES[option]).split()]
        texts = [str(choice) for choice in fact.choices] if fact.choices else TEXTS.get(fact.type or "", [])
        if not fact.type:
            texts = texts + self.constants.get(fact.dest, []) or ["a", "b"]
        if self.random.random() < 0.02 or not texts:
            texts = ["none-such", "1"]
        several = self.random.choice((1, 2)) if fact.nargs in ("+", "*") else 1
        most = fact.nargs if isinstance(fact.nargs, int) else several
        return [option, *(self.random.choice(texts) for _ in range(most))]


def condition_of(answer: dict[str, Any]) -> str:
    """The condition that refused a launch: its place, or the kind of what the parser said."""
    refused = str(answer["refused"])
    if refused.startswith("SystemExit"):
        return "parser: " + re.sub(r"argument [^:]*|'[^']*'|\(choose.*|\d+", "", refused)
    return str(answer["place"])


def sweep(version: str, tree: str, *, tries: int, seed: int, out: Path) -> list[dict[str, Any]]:
    """Write the launches of a version, and return them."""
    oracle, mutations = Oracle(tree), Mutations(version, tree, seed)
    asked = {"startup": "pretrain_gpt", "defaults": {"tokenizer_type": "GPT2BPETokenizer"}}

    def ask(base: Base) -> dict[str, Any]:
        return oracle.ask({"argv": base.words, "world_size": base.size, "env": base.env, **asked})

    every = [base for base in bases(version, tree) if not is_refused(base, version)]
    mutations.random.shuffle(every)
    sound = [base for base in every[:BASES] if "accepted" in ask(base)]
    print(version, len(sound), "launches accepted", flush=True)
    of_each: dict[str, int] = {}
    lines: list[dict[str, Any]] = []
    with out.open("a", encoding="utf-8") as stream:
        for number in range(tries):
            base = mutations.draw(mutations.random.choice(sound))
            answer = ask(base)
            if "absent" in answer:
                continue
            key = condition_of(answer) if "refused" in answer else "accepted"
            of_each[key] = of_each.get(key, 0) + 1
            if of_each[key] <= (OF_EACH if key != "accepted" else tries):
                line = {"version": version, "seed": seed, "condition": key, **base._asdict(), **answer}
                lines.append(line)
                stream.write(json.dumps(line) + "\n")
                stream.flush()
            if number % 100 == 99:
                print(version, number + 1, len(of_each) - 1, "conditions", of_each.get("accepted"), flush=True)
    oracle.end()
    return lines


def main(words: Sequence[str]) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(words)
    tree = os.path.join(os.environ["ACCMAP_MEGATRON_TREES"], given.version)
    sweep(given.version, tree, tries=given.tries, seed=given.seed, out=given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

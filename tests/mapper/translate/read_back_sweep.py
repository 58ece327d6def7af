"""Reads back what is written for many real files, in both directions: what no row of the report names is printed.

`python read_back_sweep.py [--megatron V] [--mindformers V] [--pairs] [--rungs] PATH…` takes launch scripts,
functional-test recipes (`model_config.yaml`) and the YAMLs of MindSpore Transformers, or folders of them. For every one
that is the training of a GPT model and that its own framework accepts: its translation, the translation of that back,
with `--pairs` the pair and with `--rungs` those of every step of the alignment; one line for each field that would be
exit code 3, and for each exception. With `--computed` also one line for each computed quantity that is another one on
the other side, with both values. The last line counts.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accmap.mapper.align.ladder import steps
from accmap.mapper.align.pair import pair_of
from accmap.mapper.differences import COMPUTED, differences
from accmap.mapper.preconditions import require_accepted
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.file_kind import require_training
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accmap.mapper.translate.result import Translation
    from accmap.schemas.config import Config

_NAMES = (
    "DATA_PATH CHECKPOINT_LOAD_PATH CHECKPOINT_SAVE_PATH TENSORBOARD_PATH DATA_CACHE_PATH INFERENCE_OUTPUT_PATH "
    "WANDB_EXPERIMENT WANDB_SAVE_PATH DATA_BLEND OUTPUT_PATH ARTIFACTS_ROOT TOKENIZER_TYPE TOKENIZER_MODEL_PATH"
)
OF_A_RECIPE = {name: f"/x/{name}" for name in _NAMES.split()} | {"REPEAT": "1", "NUM_NODES": "1"}
"""What the runner of Megatron-LM's functional tests sets."""


class Versions(NamedTuple):
    """Those that are read and written; None for the defaults."""

    megatron: str | None
    mindformers: str | None


def files(paths: Sequence[str]) -> Iterator[Path]:
    """Every file of some folders that may be a configuration, each content once."""
    seen: set[bytes] = set()
    for name in paths:
        path = Path(name)
        inside = sorted((*path.rglob("*.sh"), *path.rglob("*.yaml"))) if path.is_dir() else [path]
        for file in inside:
            content = hashlib.sha256(file.read_bytes()).digest()
            if content not in seen:
                seen.add(content)
                yield file


def configuration(path: Path, versions: Versions) -> Config:
    """What a file says; UnreadableError where it is no training of a GPT model that its framework accepts."""
    text = path.read_bytes().decode("utf-8", "replace")
    variables = OF_A_RECIPE if path.name == "model_config.yaml" else {}
    options = ReadOptions(versions.megatron, versions.mindformers, variables=variables)
    found = config_of(SourceText(str(path), text), options, path=str(path))
    require_training(found)
    require_accepted(found)
    return found


def translations(
    source: Config, versions: Versions, *, pairs: bool, rungs: bool = False
) -> Iterator[tuple[str, Translation]]:
    """What is written for a source: over, back again, its pair, and the pairs of its alignment."""
    there = translate(source, *_target(source, versions))
    yield "over", there
    if there.written is not None and not there.unsaid:
        yield "back", translate(there.written, *_target(there.written, versions))
    wanted: list[int | None] = [None] if pairs else []
    wanted.extend(range(len(steps())) if rungs else ())
    for step in wanted:
        pair = pair_of(source, megatron=versions.megatron, mindformers=versions.mindformers, step=step)
        way = "pair" if step is None else f"rung {step}"
        yield from ((way, pair.megatron), (way, pair.mindformers))


def _target(source: Config, versions: Versions) -> tuple[str, str | None]:
    over = source.framework == "megatron"
    return ("mindformers", versions.mindformers) if over else ("megatron", versions.megatron)


def main(words: Sequence[str]) -> int:
    """Print what is found; the number of silent differences and exceptions is the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--megatron")
    parser.add_argument("--mindformers")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--rungs", action="store_true")
    parser.add_argument("--computed", action="store_true")
    given = parser.parse_args(words)
    versions = Versions(given.megatron, given.mindformers)
    count: Counter[str] = Counter()
    for path in files(given.paths):
        count["files"] += 1
        try:
            source = configuration(path, versions)
        except UnreadableError:
            count["no training that is accepted"] += 1
            continue
        try:
            for way, found in translations(source, versions, pairs=given.pairs, rungs=given.rungs):
                count[way] += 1
                for entry in found.unsaid:
                    count["SILENT"] += 1
                    print(f"SILENT {way} {path} {entry.field}: {entry.a} -> {entry.b}")
                if given.computed and way in ("over", "back"):
                    count["computed"] += _print_computed(path, way, found)
        except UnreadableError:
            count["cannot be translated"] += 1
        except Exception:  # noqa: BLE001 - that is what is looked for
            count["EXCEPTION"] += 1
            print(f"EXCEPTION {path} {traceback.format_exc()[-600:]}")
    print(dict(count))
    return min(count["SILENT"] + count["EXCEPTION"], 1)


def _print_computed(path: Path, way: str, found: Translation) -> int:
    if found.written is None:
        return 0
    told = 0
    for entry in differences(found.recipe, recipe_of(found.written)):
        if entry.field is not None and entry.field.startswith(COMPUTED) and entry.status == "different":
            assert entry.a is not None
            assert entry.b is not None
            told += 1
            print(f"COMPUTED {way} {path} {entry.field}: {entry.a.value} -> {entry.b.value}")
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

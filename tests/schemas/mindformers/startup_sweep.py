"""YAMLs that MindSpore Transformers' own code refuses before the first step, and near ones that it accepts.

`python tests/schemas/mindformers/startup_sweep.py VERSION GRAPH --out FILE` changes one or two keys of examples that
start: to a value of another kind, at or behind a bound, or to a misspelt name. One JSON line a YAML: `content`,
`changed`, and `stage`, `refused` and `at`, or `accepted`; at most eight of each condition.
"""

# pyright: basic

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.schemas.mindformers.test_startup import VALUES, of_examples, real_answers, with_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OF_EACH = 8
ELSEWHERE = (
    "load_checkpoint", "checkpoint_name_or_path", "pretrained_model_dir", "base_config", "data_path", "generation",
    "architectures", "model_type", "output_dir", "dataset_dir", "config.type",
)  # fmt: skip
"""Keys about files, or that choose another model."""
OTHERS: list[Any] = [-1, 0, 1, 2, 3, 7, 0.5, 1.5, -0.5, "x", "1", True, False, None, [], [1], {}, 100000]


def leaves(content: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a YAML by their paths, with their values."""
    for key, value in content.items():
        path = f"{before}{key}"
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def other_values(value: Any) -> list[Any]:
    """Values to try in place of one."""
    if isinstance(value, bool):
        return [not value, not value, "x", 2, None]
    if isinstance(value, (int, float)):
        return [value * 2, value + 1, -value, 0, 1, 3, -1, value / 2, str(value), "x", True, None, [value]]
    if isinstance(value, str):
        return [value + "x", value.upper(), value.lower(), 1, None, ""]
    return OTHERS


def draw(chance: random.Random, contents: Sequence[dict[str, Any]], graph: str) -> tuple[dict[str, Any], str] | None:
    """An example with some keys changed, and the changes."""
    content = chance.choice(contents)
    written = {path: value for path, value in leaves(content) if not any(part in path for part in ELSEWHERE)}
    changed: list[str] = []
    for _ in range(chance.choice((1, 1, 1, 2))):
        kind = chance.random()
        if kind < 0.55:
            path = chance.choice(sorted(written))
            value = chance.choice(other_values(written[path]))
        elif kind < 0.65:
            path = chance.choice(sorted(written))
            sections, _, key = path.rpartition(".")
            path, value = f"{sections}.^{key}" if sections else f"^{key}", written[path]
        else:
            path = chance.choice(sorted(VALUES[graph]))
            if any(part in path for part in ELSEWHERE):
                return None
            value = chance.choice([*VALUES[graph][path], *OTHERS])
        found = with_value(content, path, value)
        if found is None:
            return None
        content = found
        changed.append(f"{path}: {value!r}")
    return content, "; ".join(changed)


def sweep(version: str, graph: str, *, tries: int, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Changed YAMLs with the answer of the real code."""
    chance = random.Random(f"{version} {graph} {seed}")
    contents = of_examples(graph, version)
    drawn: list[tuple[dict[str, Any], str]] = []
    while len(drawn) < tries:
        one = draw(chance, contents, graph)
        if one is not None:
            drawn.append(one)
    paths: list[Path] = []
    for number, (content, _) in enumerate(drawn):
        paths.append(folder / f"{number:04}.yaml")
        paths[-1].write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    of_each: dict[str, int] = {}
    lines: list[dict[str, Any]] = []
    for path, (content, changed), answer in zip(paths, drawn, real_answers(paths, version, graph, folder), strict=True):
        key = f"{answer['at']} {answer['refused'][:40]}" if "refused" in answer else "accepted"
        of_each[key] = of_each.get(key, 0) + 1
        if key == "accepted" or of_each[key] <= OF_EACH:
            lines.append({"path": str(path), "condition": key, "changed": changed, "content": content, **answer})
    return lines


def main(words: Sequence[str]) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    parser.add_argument("graph", choices=["static", "dynamic"])
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        lines = sweep(given.version, given.graph, tries=given.tries, seed=given.seed, folder=Path(folder))
    given.out.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

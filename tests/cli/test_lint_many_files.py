"""What lint says of a pair does not depend on the pairs that the same process has linted before."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNT = 14


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs out of the examples: files of different models together, lines missing, values changed, one broken file."""
    home = tmp_path_factory.mktemp("pairs")
    (home / "accmap.toml").write_text("pairs = [{ megatron = 'p*/run.sh', mindformers = 'p*/run.yaml' }]\n")
    chance = random.Random(5)
    scripts, yamls = sorted(EXAMPLES.glob("*/megatron.sh")), sorted(EXAMPLES.glob("*/mindformers.yaml"))
    for number in range(COUNT):
        own = home / f"p{number}"
        own.mkdir()
        for name, sources in (("run.sh", scripts), ("run.yaml", yamls)):
            lines = chance.choice(sources).read_text("utf-8").split("\n")
            for _ in range(chance.choice((0, 2, 6))):
                at = chance.randrange(len(lines))
                lines[at] = chance.choice(("", lines[at].replace("1", "2"), lines[at].replace("True", "False")))
            (own / name).write_text("\n".join(lines), "utf-8")
    (home / "p3" / "run.yaml").write_text("model: [", "utf-8")
    return home


def _lint(folder: Path, names: list[str], *options: str) -> dict[str, list[Any]]:
    """The findings by file, as a process of its own says them."""
    done = subprocess.run(
        [sys.executable, "-m", "accmap", "lint", "--no-cache", "--format", "json", *options, *names],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1, 2), done.stderr
    found: dict[str, list[Any]] = {name: [] for name in names}
    entries = json.loads(done.stdout)["diagnostics"]
    for entry in entries:
        cause = None if entry["because_of"] is None else entries[entry["because_of"]]
        if cause is not None:  # where the cause stands in the list depends on what else is in it
            cause = cause["code"], cause["file"], cause["span"], cause["message"]
        found[entry["file"]].append({**entry, "because_of": cause})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["align", "train"])
def test_pairs_together_say_what_each_says_alone(folder: Path, profile: str) -> None:
    alone: dict[str, list[Any]] = {}
    for number in range(COUNT):
        alone.update(_lint(folder, [f"p{number}/run.sh", f"p{number}/run.yaml"], "--profile", profile))
    assert sum(map(len, alone.values())) > 10 * COUNT
    chance = random.Random(11)
    for options in ((), (), ("-j", "2")):
        names = list(alone)
        chance.shuffle(names)
        together = _lint(folder, names, "--profile", profile, *options)
        assert together == alone

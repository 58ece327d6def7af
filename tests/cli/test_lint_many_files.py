"""What lint says of a pair does not depend on the pairs that the same process has linted before."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.linting.parallel import shares

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNT = 18
"""As many as make a process of two read several pairs ahead."""


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


def test_many_files_are_spread_and_remembered(tmp_path: Path) -> None:
    """From a number of files on each core has a process; what they read decides whether an answer still holds."""
    home = tmp_path / "pairs"
    for number in range(4):
        shutil.copytree(EXAMPLES / "planted", home / f"p{number}")
    (home / "accmap.toml").write_text(
        "pairs = [{ megatron = 'p*/megatron.sh', mindformers = 'p*/mindformers.yaml' }]\n"
    )
    names = [f"p{number}/{name}" for number in range(4) for name in ("megatron.sh", "mindformers.yaml")]
    script = (
        "import os, sys\nimport accmap.cli.commands.lint as lint, accmap.cli.linting.parallel as parallel\n"
        "lint._MANY = 4\nos.sched_getaffinity = lambda _: {0, 1}\nspread = parallel.spread\n"
        "def told(*given, **more):\n    print('spread', file=sys.stderr)\n    return spread(*given, **more)\n"
        "parallel.spread = told\nfrom accmap.cli.lean import main\nsys.exit(main())\n"
    )

    def run(*options: str) -> tuple[str, bool]:
        done = subprocess.run(
            [sys.executable, "-c", script, "lint", *options, *names], cwd=home, capture_output=True, text=True,
            check=False, encoding="utf-8", env={**os.environ, "ACCMAP_CACHE_DIR": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        return done.stdout, "spread" in done.stderr

    first, spread = run()
    assert spread
    assert run() == (first, False), "remembered"
    assert run("-j", "1", "--no-cache") == (first, False)
    changed = home / "p1" / "mindformers.yaml"
    before = changed.read_text("utf-8")
    changed.write_text(before.replace("eps:", "epps:"), "utf-8")
    other, spread = run()
    changed.write_text(before, "utf-8")
    assert spread
    assert other != first


@pytest.mark.parametrize(("count", "jobs"), [(0, 2), (3, 2), (17, 4), (999, 2), (1000, 16)])
def test_shares_get_smaller_and_leave_nothing_out(count: int, jobs: int) -> None:
    groups = [(f"{number}.sh", f"{number}.yaml") for number in range(count)]
    sizes = [len(share) for share in shares(groups, jobs)]
    assert [group for share in shares(groups, jobs) for group in share] == groups
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes, default=0) <= 64
    assert sizes[-1:] == [1] * bool(count), "nobody waits long for the last one"


@pytest.mark.parametrize(("jobs", "first"), [("1", 0), ("2", 1)])
def test_how_far_it_is_is_noted(accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: str, first: int) -> None:
    told: list[tuple[int, str]] = []
    for module in ("progress", "linting.parallel"):
        monkeypatch.setattr(
            f"accmap.cli.{module}.report_progress", lambda number, _total, what: told.append((number, what))
        )
    names = [str(tmp_path / f"{number}.sh") for number in range(12)]
    for name in names:
        Path(name).write_text("python pretrain_gpt.py --num-layers 2\n")
    accmap("lint", *names, "-j", jobs, "--no-cache", "--no-config")
    numbers = [number for number, _ in told]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 12
    files = [what for _, what in told]
    # Of two processes either may answer first.
    assert (files if jobs == "1" else sorted(files, key=names.index)) == names[first:]


def test_the_partner_of_a_file_that_cannot_be_read_is_not_named_by_processes(accmap: Any, tmp_path: Path) -> None:
    """A partner that nobody named is checked with its pair alone, in one process and in several."""
    (tmp_path / "accmap.toml").write_text("[[pairs]]\nmegatron = '*.sh'\nmindformers = '*.yaml'\n", "utf-8")
    names = ["a.sh", "b.sh", "c.sh"]
    for name in names:
        shutil.copy(EXAMPLES / "planted" / "megatron.sh", tmp_path / name)
        shutil.copy(EXAMPLES / "planted" / "mindformers.yaml", tmp_path / f"{name[0]}.yaml")
    (tmp_path / "b.sh").write_text("ARGS=(--num-layers 2\n", "utf-8")
    paths = [str(tmp_path / name) for name in names]
    words = ["lint", "--no-cache", "--format", "json", "--config", str(tmp_path / "accmap.toml")]
    alone, spread = (json.loads(accmap(*words, "--jobs", jobs, *paths).out) for jobs in ("1", "2"))
    assert spread == alone
    assert (alone["summary"]["pairs"], alone["summary"]["files"]) == (2, 4)

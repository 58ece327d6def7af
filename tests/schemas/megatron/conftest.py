"""Where the real source of a Megatron-LM version is, and its parser and validation as a process to ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.schemas.megatron.facts import fact_store
from accmap.schemas.megatron.facts.parser_dump import digests
from accmap.schemas.versions import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[3]
ORACLE = str(Path(__file__).with_name("megatron_oracle.py"))
_VALIDATION = "megatron/training/arguments.py:validate_args"


@pytest.fixture(scope="session")
def tree_of() -> Callable[[str], str]:
    """The tree of a version: `ACCMAP_MEGATRON_TREES/0.16`, or its wheel unpacked in `.frameworks/megatron`.

    A tree of another patch release than the facts are of, whose validation differs, proves nothing of them.
    """

    def found(version: str) -> str:
        told = next(one for one in ALL if (one.framework, one.name) == ("megatron", version))
        trees = os.environ.get("ACCMAP_MEGATRON_TREES")
        wheel = (told.wheel or "").rpartition("==")[2]
        places = [Path(trees, version)] if trees else []
        places += [ROOT / ".frameworks" / "megatron" / wheel] if wheel else []
        here = [place for place in places if (place / "megatron" / "training" / "arguments.py").is_file()]
        if not here:
            pytest.skip(
                f"no source of Megatron-LM {version}: ACCMAP_MEGATRON_TREES names none, and no wheel is unpacked"
            )
        kept = fact_store.read().digests(version)[_VALIDATION]
        for place in here:
            if digests(str(place), [_VALIDATION]) == {_VALIDATION: kept}:
                return str(place)
        pytest.skip(f"{here[0]} is another patch of {version} than {told.tag}, which the facts are of")

    return found


class Oracle:
    """A tree's own `parse_args` and `validate_args`, asked line by line."""

    def __init__(self, tree: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-B", ORACLE, tree], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.defaults = self._answer()

    def ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The values of one command line, or why it is refused."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the oracle ended"
        return json.loads(line)

    def end(self) -> None:
        """Let it go."""
        self._process.communicate()


@pytest.fixture
def oracle_of(tree_of: Callable[[str], str]) -> Iterator[Callable[[str], Oracle]]:
    """Starts the oracle of a version; it ends with the test."""
    pytest.importorskip("torch")
    started: list[Oracle] = []

    def start(version: str) -> Oracle:
        started.append(Oracle(tree_of(version)))
        return started[-1]

    yield start
    for oracle in started:
        oracle.end()

"""The modules whose types `bash tests/run --quick` checks."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

_PATH = Path(__file__).resolve().parent.parent / "tools" / "changed_modules.py"
_SPEC = importlib.util.spec_from_file_location("changed_modules", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
changed_modules = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(changed_modules)

MODULES = {
    "rules/engine.py": "from .findings import Found\nfrom .messages_compiled import say\n",
    "rules/findings.py": "import re\n",
    "rules/places.py": "from ..schemas.config import (\n    Config,\n)\n",
    "cli/linting/linter.py": "def run():\n    from ..rules import findings\n",
    "cli/several.py": "from . import (\n    findings,\n)\n",
    "evidence/reading.py": '"""It says findings."""\n',
}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (set(), []),
        ({"docs/lint.md", "tests/rules/test_cases.py"}, []),
        ({"rules/findings.py"}, ["rules/findings.py", "cli/linting/linter.py", "cli/several.py", "rules/engine.py"]),
        ({"rules/places.py"}, ["rules/places.py", "cli/several.py"]),
        ({"rules/messages.yaml"}, ["cli/several.py", "rules/engine.py"]),
        ({"mappings/topology.yaml"}, sorted(MODULES)),
        ({"pyproject.toml", "rules/places.py"}, ["rules/places.py", *sorted(MODULES.keys() - {"rules/places.py"})]),
        ({"schemas/config.py"}, ["cli/several.py", "rules/places.py"]),
        ({"rules/gone.py"}, ["cli/several.py"]),
    ],
)
def test_a_change_concerns_what_imports_it(files: set[str], found: list[str]) -> None:
    assert changed_modules.affected_modules(files, MODULES) == found


def test_changed_is_what_a_branch_and_the_working_tree_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "main")
    for name in ("kept.py", "edited.py", "committed.py"):
        (tmp_path / name).write_text("", "utf-8")
    git("add", ".")
    git("commit", "-qm", "one")
    monkeypatch.setattr(changed_modules, "ROOT", tmp_path)
    assert changed_modules.changed_files(None) == set()
    git("checkout", "-qb", "mine")
    (tmp_path / "committed.py").write_text("a = 1\n", "utf-8")
    git("commit", "-qam", "two")
    (tmp_path / "edited.py").write_text("a = 1\n", "utf-8")
    (tmp_path / "new.py").write_text("", "utf-8")
    assert changed_modules.changed_files(None) == {"committed.py", "edited.py", "new.py"}
    assert changed_modules.changed_files("HEAD") == {"edited.py", "new.py"}
    with pytest.raises(subprocess.CalledProcessError):
        changed_modules.changed_files("no such commit")


def test_nothing_is_printed_if_no_module_is_affected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tests/run` counts the lines: an empty one would start the type checker for all modules."""
    monkeypatch.setattr(changed_modules, "changed_files", lambda _base: {"docs/lint.md"})
    changed_modules.main()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(changed_modules, "changed_files", lambda _base: {"schemas/source.py"})
    changed_modules.main()
    assert "schemas/source.py" in capsys.readouterr().out.split("\n")

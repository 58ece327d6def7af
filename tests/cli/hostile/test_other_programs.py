"""Programs that accmap starts: which modules start one, and that a Python is isolated from its surroundings."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from accmap.schemas.installation import isolated_python, module_command

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "verifier")
STARTING = {
    "cli/terminal.py": "a pager",
    "cli/linting/file_search.py": "git",
    "cli/commands/agents.py": "accmap",
    "cli/evidence/playbook.py": "accmap",
    "schemas/megatron/facts/extract.py": "Python",
    "schemas/megatron/facts/extract_dialect.py": "Python",
    "schemas/mindformers/extract.py": "Python",
    "schemas/huggingface/extract.py": "Python",
    "verifier/installations.py": "pip, Python",
    "verifier/worker/processes.py": "Python",
    "cli/linting/parallel.py": "copies of itself",
    "evidence/weights/target_files.py": "copies of itself",
}
"""Each module that starts a process, and what it starts: a new one is a door that somebody has to look at."""
_STARTS = re.compile(r"\bsubprocess\b|\bmultiprocessing\b|\bos\.(?:exec|spawn|posix_spawn|system|popen)|\bpty\b")


def sources() -> list[Path]:
    return [
        path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) if not path.name.endswith("_compiled.py")
    ]


def starts_a_program(path: Path) -> bool:
    """True if the code without its texts and comments names a function that starts a process."""
    text = path.read_text("utf-8")  # most files name none: to search the text first saves five seconds
    return bool(_STARTS.search(text) and _STARTS.search(ast.unparse(_WithoutTexts().visit(ast.parse(text)))))


class _WithoutTexts(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        kept = isinstance(node.value, str) and not re.fullmatch(r"-\w", node.value)
        return ast.Constant("") if kept else node


def test_every_module_that_starts_a_program_is_known() -> None:
    starting = {str(path.relative_to(ROOT)) for path in sources() if starts_a_program(path)}
    assert starting == set(STARTING)


def test_every_python_is_isolated() -> None:
    """`-I` follows the interpreter at once, or the command comes from the one function that writes it."""
    may_start = re.compile(r"""sys\.executable|\b(?:python|path),\s*["']-""")
    for path in sources():
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if may_start.search(text) else ():
            if not isinstance(node, (ast.List, ast.Tuple)) or len(node.elts) < 2:
                continue
            first, second = ast.unparse(node.elts[0]), ast.unparse(node.elts[1])
            if "sys.executable" in first or (first in ("python", "path") and second.startswith("'-")):
                assert second == "'-I'", f"{path}:{node.lineno}"


@pytest.mark.parametrize("name", ["action.yml", ".pre-commit-hooks.yaml"])
def test_every_python_of_a_workflow_is_isolated(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    started = [line for line in lines if re.search(r"(?:^|[\s|;&(\"/])(?:python[\d.]*|pip[\d.]*)\s+[-a-z]", line)]
    assert [line for line in started if not re.search(r"python[\d.]*\s+-I\b", line)] == []
    if name == ".pre-commit-hooks.yaml":
        assert {hook["entry"].split()[0] for hook in yaml.safe_load(text)} == {"accmap"}


HOSTILE = dict.fromkeys(("json", "pip", "site", "runpy", "accmap", "sitecustomize"), "open('ran', 'w').close()\n")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds modules of the names that a start of Python imports."""
    for name, text in HOSTILE.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "site.py"))
    return tmp_path


@pytest.mark.parametrize("words", [("pip", "--version"), ("accmap", "--version")])
def test_a_module_of_the_current_folder_is_not_run(checkout: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(module_command(*words), cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert words[0] in done.stdout
    assert not (checkout / "ran").exists()


def test_relative_folders_are_not_searched(checkout: Path) -> None:
    command = isolated_python("import json as found\nprint(json.dumps([found.__file__, sys.argv]))", ["x"], ["", "."])
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    place, words = json.loads(done.stdout)
    assert os.path.dirname(place) != str(checkout)
    assert words[1:] == ["x"]
    assert not (checkout / "ran").exists()


def test_what_a_user_has_installed_is_found(tmp_path: Path) -> None:
    """`pip install --user`: an isolated Python does not search that folder by itself."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = tmp_path / "lib" / version / "site-packages"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text("print('mine is here')\n")
    python = str(Path(sys.base_prefix) / "bin" / version)
    script = (
        "import subprocess, sys\nsys.path.insert(0, sys.argv[1])\n"
        "from installation_alone.installation import module_command\n"
        "sys.exit(subprocess.run(module_command('mine')).returncode)\n"
    )
    package = tmp_path / "package" / "installation_alone"
    package.mkdir(parents=True)
    for name in ("installation.py", "fast_records.py"):
        (package / name).write_bytes((ROOT / "schemas" / name).read_bytes())
    environment = {"PYTHONUSERBASE": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [python, "-c", script, str(package.parent)], env=environment, capture_output=True, text=True, check=False
    )
    assert "mine is here" in done.stdout, done.stderr

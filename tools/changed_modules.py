"""Prints the modules whose types a change may touch: those that changed since `main`, and those that import them.

    python tools/changed_modules.py [BASE]

Prints `.` where every module is concerned (a table or a setting changed), nothing where none is. BASE is what the
change is compared with; without it, the last commit that `origin/main`, else `main`, has in common with this one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = "."
ROOMS = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "verifier")
"""What the type checker looks at (`[tool.pyright]` of pyproject.toml)."""
_TYPED = re.compile(rf"(?:{'|'.join(ROOMS)})/.*\.(?:yaml|json)|pyproject\.toml|requirements/.*")
"""Whose change may make other types of modules that stay as they are."""
_MESSAGES = "messages.yaml"
_CATALOGUE = "messages_compiled"


def git(*words: str, default: str | None = None) -> list[str]:
    """The lines that git answers; a default where it fails, else its error."""
    done = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=default is None)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else [default or ""]


def changed(base: str | None) -> set[str]:
    """The files that differ from a commit, those that git does not know yet too."""
    if base is None:
        branch = git("rev-parse", "--verify", "--quiet", "origin/main", default="main")
        base = git("merge-base", "HEAD", *branch, default="HEAD")[0]
    return {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}


def concerned(files: set[str], modules: dict[str, str]) -> list[str]:
    """The modules, given with their texts, that a change of files may break."""
    if any(_TYPED.fullmatch(file) and Path(file).name != _MESSAGES for file in files):
        return [EVERYTHING]
    own = {file for file in files if file.endswith(".py") and file.split("/")[0] in ROOMS}
    stems = {Path(file).parent.name if file.endswith("/__init__.py") else Path(file).stem for file in own}
    stems |= {_CATALOGUE for file in files if Path(file).name == _MESSAGES}
    if not stems:
        return []
    names = "|".join(map(re.escape, sorted(stems)))
    imports = re.compile(rf"^\s*(?:from|import)\b[^\n]*\b(?:{names})\b|^\s*from \.+ import \(", re.MULTILINE)
    return sorted(name for name, text in modules.items() if name in own or imports.search(text))


def main() -> None:
    """Print them, one a line."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if not path.stem.endswith("_compiled")]
    modules = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    print("\n".join(concerned(changed(sys.argv[1] if len(sys.argv) > 1 else None), modules)))


if __name__ == "__main__":
    main()

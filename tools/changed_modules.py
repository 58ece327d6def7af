"""Prints the modules whose types a quick check looks at: those that changed since `main`, then those that import them.

    python tools/changed_modules.py [BASE]

At most MOST modules are printed, one a line; the number of the others, which `bash tests/run` checks, goes to stderr.
If a table or a setting changed, every module is concerned. BASE is the commit that the change is compared with;
without it, the last commit that `origin/main`, else `main`, shares with this one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 40
"""What the type checker looks at in the time of a quick run."""
ROOMS = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "verifier")
"""What the type checker looks at (`[tool.pyright]` of pyproject.toml)."""
_TYPED = re.compile(rf"(?:{'|'.join(ROOMS)})/.*\.(?:yaml|json)|pyproject\.toml|requirements/.*")
"""Whose change may make other types of modules that stay as they are."""
_MESSAGES = "messages.yaml"
_CATALOGUE = "messages_compiled"


def git(*words: str, default: str | None = None) -> list[str]:
    """Lines of output of a git command; the default if it fails, or an error if there is none."""
    done = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=default is None)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else [default or ""]


def changed_files(base: str | None) -> set[str]:
    """The files that differ from a commit, those that git does not know yet too."""
    if base is None:
        branch = git("rev-parse", "--verify", "--quiet", "origin/main", default="main")
        base = git("merge-base", "HEAD", *branch, default="HEAD")[0]
    return {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}


def affected_modules(files: set[str], modules: dict[str, str]) -> list[str]:
    """The modules, given with their texts, that a change of files may break: the changed ones first."""
    own = {file for file in files if file.endswith(".py") and file in modules}
    if any(_TYPED.fullmatch(file) and Path(file).name != _MESSAGES for file in files):
        return sorted(modules, key=lambda name: (name not in own, name))
    stems = {
        Path(file).parent.name if file.endswith("/__init__.py") else Path(file).stem
        for file in own | _deleted_modules(files, modules)
    }
    stems |= {_CATALOGUE for file in files if Path(file).name == _MESSAGES}
    if not stems:
        return []
    names = "|".join(map(re.escape, sorted(stems)))
    imports = re.compile(rf"^\s*(?:from|import)\b[^\n]*\b(?:{names})\b|^\s*from \.+ import \(", re.MULTILINE)
    found = {name for name, text in modules.items() if name in own or imports.search(text)}
    return sorted(found, key=lambda name: (name not in own, name))


def _deleted_modules(files: set[str], modules: dict[str, str]) -> set[str]:
    """The modules that were deleted: what imports them is broken."""
    return {file for file in files if file.endswith(".py") and file.split("/")[0] in ROOMS and file not in modules}


def main() -> None:
    """Print the modules affected by the changes since a commit, one a line."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if not path.stem.endswith("_compiled")]
    modules = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    found = affected_modules(changed_files(sys.argv[1] if len(sys.argv) > 1 else None), modules)
    # Not even an empty line if there are none: `tests/run` counts the lines.
    print("".join(f"{name}\n" for name in found[:MOST]), end="")
    if len(found) > MOST:
        print(f"types: {MOST} of {len(found)} modules concerned; bash tests/run checks all", file=sys.stderr)


if __name__ == "__main__":
    main()

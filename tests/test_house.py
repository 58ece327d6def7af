"""The house: which room may import which, and what installs."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "cli", "evidence", "rules", "verifier", "mapper", "mappings", "schemas")
BELOW = {
    "api": {"cli", "evidence", "rules", "verifier", "mapper", "mappings", "schemas"},
    "cli": {"api", "evidence", "rules", "verifier", "mapper", "mappings", "schemas"},
    "evidence": {"mapper", "mappings", "schemas"},
    "rules": {"mapper", "mappings", "schemas"},
    "verifier": {"mapper", "mappings", "schemas"},
    "mapper": {"mappings", "schemas"},
    "mappings": {"schemas"},
    "schemas": set[str](),
}
LEAN = ("show", "lint", "recipe")
HEAVY = {
    "click", "dataclasses", "inspect", "jinja2", "jsonschema", "mindformers", "mindspore", "numpy", "pydantic",
    "rich", "ruamel", "torch", "typer",
}  # fmt: skip


def modules(room: str) -> list[Path]:
    return sorted(path for path in (ROOT / room).rglob("*.py") if "__pycache__" not in path.parts)


@cache
def imports_of(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """What a module imports, for the type checker too."""
    text = path.read_text("utf-8")
    if path.name.endswith("_compiled.py"):  # literals, and long: what it imports stands in lines of its own
        text = "\n".join(line for line in text.splitlines() if line.startswith(("from ", "import ")))
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports, relatively or as accmap.<room>."""
    inside = path.relative_to(ROOT).parts
    found: set[str] = set()
    for node in imports_of(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            depth = len(inside) - node.level  # 0: the package `accmap` itself
            names = [node.module] if node.module else [alias.name for alias in node.names]
            if depth == 0 and inside[0] != "api":
                found.update("api" if name.startswith("__") else name.split(".")[0] for name in names)
            elif inside[0] == "api":
                found.update(name.split(".")[0] for name in names)
            else:
                found.add(inside[0])
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("accmap."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("accmap."))
    return found & set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_run_one_way(room: str) -> None:
    for path in modules(room):
        wrong = imported_rooms(path) - BELOW[room] - {room}
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


WITHOUT_CIRCLES = ("api", "cli", "evidence", "rules", "verifier", "mapper", "mappings", "schemas")


def modules_imported_by(path: Path, known: set[str]) -> set[str]:
    """The modules of the house that one names in an import, those for the type checker too."""
    home = path.relative_to(ROOT).with_suffix("").parts
    found: set[str] = set()
    for node in imports_of(path):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = (*home[: len(home) - node.level], *(node.module.split(".") if node.module else ()))
        for alias in node.names:
            names = (".".join((*base, alias.name)), ".".join(base))
            found.update(name for name in names[: 1 if names[0] in known else 2] if name in known)
    return found


@pytest.mark.parametrize("room", WITHOUT_CIRCLES)
def test_no_module_leads_back_to_itself(room: str) -> None:
    """A type that two modules need stands below both."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules(room)}
    leads = {name: modules_imported_by(path, set(paths)) - {name} for name, path in paths.items()}
    while True:  # what leads nowhere is on no circle
        ends = {name for name, others in leads.items() if not others}
        if not ends:
            break
        leads = {name: others - ends for name, others in leads.items() if name not in ends}
    assert leads == {}


def test_records_come_from_one_module() -> None:
    """Those of `typing` and `collections` equal every tuple with the same values, records of other classes too."""
    foreign = {("typing", "NamedTuple"), ("collections", "namedtuple")}
    wrong = [
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in modules(room)
        for node in imports_of(path)
        if isinstance(node, ast.ImportFrom) and not foreign.isdisjoint((node.module, one.name) for one in node.names)
    ]
    assert wrong == ["schemas/fast_records.py"]  # for the type checker


@cache
def defined_in(path: Path) -> frozenset[str]:
    """Every name that a module defines or imports somewhere, and its stub, where it has one."""
    texts = [one.read_text("utf-8") for one in (path, path.with_suffix(".pyi")) if one.exists()]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return frozenset(stored | made | {alias.asname or alias.name for node in imports for alias in node.names})


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "api"])
def test_what_is_imported_is_there(room: str) -> None:
    """In functions, too, and where the type checker is told to trust attributes of the frameworks' objects."""
    wrong: list[str] = []
    for path in modules(room):
        for node in imports_of(path):
            base = path.parents[node.level - 1] if isinstance(node, ast.ImportFrom) and node.level else None
            if not isinstance(node, ast.ImportFrom) or base is None or base == ROOT:
                continue
            home = base.joinpath(*(node.module or "").split("."))
            file = home.with_suffix(".py") if home.with_suffix(".py").exists() else home / "__init__.py"
            for alias in node.names:
                inside = home / alias.name
                if not (inside.is_dir() or inside.with_suffix(".py").exists() or alias.name in defined_in(file)):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name}")
    assert not wrong


def test_every_package_is_listed() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    homes = {
        "accmap" + "".join(f".{part}" for part in path.parent.relative_to(ROOT).parts if part != "api")
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert set(table["packages"]) == homes
    assert set(table["package-dir"]) == homes


def test_no_folder_shadows_the_package() -> None:
    assert not (ROOT / "accmap").exists()


def test_the_version_is_the_same_everywhere() -> None:
    import accmap

    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == accmap.__version__


def test_every_room_is_linked_for_the_type_checker() -> None:
    links = ROOT / ".typing" / "accmap"
    for room in ROOMS[1:]:
        assert (links / room).resolve() == ROOT / room
    for path in (ROOT / "api").iterdir():
        if path.name != "__pycache__":
            assert (links / path.name).resolve() == path


@pytest.mark.parametrize("example", ["megatron.sh", "mindformers.yaml"])
def test_the_lean_path_imports_nothing_heavy(example: str) -> None:
    file = ROOT / "examples" / "qwen3_dense" / example
    script = (
        "import sys; from accmap.cli.lean import main; code = main(['show', sys.argv[1], '--format', 'json']);"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script, str(file)], capture_output=True, text=True, check=True)
    assert not HEAVY & {name.split(".")[0] for name in done.stderr.split()}


def test_importing_the_package_costs_nothing() -> None:
    script = "import sys; before = set(sys.modules); import accmap; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert {name for name in done.stdout.split() if name.startswith("accmap")} == {"accmap"}

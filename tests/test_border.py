"""The doors: what opens, prints or writes stands in schemas/border, or here with the reason why not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "cli", "evidence", "mapper", "mappings", "rules", "schemas", "verifier")
BORDER = Path("schemas/border")

NAMES = frozenset(("open", "print", "input"))
"""Builtins that open or print."""
METHODS = frozenset((
    "read_text", "read_bytes", "write_text", "write_bytes", "readlines", "writelines", "from_file",
    "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "mkstemp", "mkdtemp", "memmap", "fromfile", "tofile",
    "savez", "savetxt", "loadtxt", "genfromtxt", "get_data", "read_binary", "open_text", "open_binary",
))  # fmt: skip
"""Methods and functions of modules that open, whatever they are called on."""
CALLS = frozenset((
    "os.open", "os.fdopen", "os.replace", "os.rename", "os.renames", "os.link", "os.symlink", "os.unlink", "os.remove",
    "os.truncate", "os.mkfifo", "os.write", "io.open", "io.FileIO", "io.open_code", "codecs.open", "gzip.open",
    "gzip.GzipFile", "bz2.open", "bz2.BZ2File", "lzma.open", "lzma.LZMAFile", "zipfile.ZipFile", "tarfile.open",
    "tarfile.TarFile", "mmap.mmap", "np.load", "np.save", "numpy.load", "numpy.save", "json.dump", "pickle.dump",
    "pickle.load", "yaml.dump_all", "fileinput.input", "sys.stdout.write", "sys.stderr.write",
    "sys.stdout.buffer.write", "sys.stderr.buffer.write", "sys.stdout.writelines", "sys.stderr.writelines",
    "sys.stdin.read", "sys.stdin.readline",
    "sys.stdin.buffer.read", "ElementTree.parse", "traceback.print_exc", "warnings.warn", "sqlite3.connect",
    "ctypes.CDLL", "runpy.run_path",
))  # fmt: skip
MODULES = frozenset(("shutil", "pprint", "logging", "dbm", "shelve", "linecache"))
"""Modules whose every function opens, writes or prints."""

DEVELOPERS = "a program of developers: it reads a framework's source and writes the facts of the repository"
SILENCE = "what a framework prints is switched off"
ALLOWED: dict[str, dict[str, str]] = {
    "schemas/huggingface/extract.py": {"*": DEVELOPERS},
    "schemas/megatron/facts/extract.py": {"*": DEVELOPERS},
    "schemas/megatron/facts/extract_dialect.py": {"*": DEVELOPERS},
    "schemas/megatron/facts/parser_dump.py": {"*": DEVELOPERS},
    "schemas/megatron/facts/fact_store.py": {"*": DEVELOPERS},
    "schemas/mindformers/extract.py": {"*": DEVELOPERS},
    "schemas/mindformers/fact_base.py": {"*": DEVELOPERS},
    "schemas/mindformers/probe.py": {"*": DEVELOPERS},
    "cli/compile_schemas.py": {"read_text": "a table of the repository, when its page is made"},
    "cli/commands/init.py": {"sys.stdin.readline": "a yes or no of whoever sits at the terminal"},
    "cli/language_server/server.py": {"os.fdopen": "the editor's own channel, apart from whatever is printed"},
    "rules/source_links.py": {"read_text": "tables of the repository, when the pages are made"},
    "schemas/installation.py": {"read_text": "what pip has noted beside this program"},
    "cli/lean.py": {
        "open": "a standard stream that the caller closed leads to the null device",
        "os.open": "nobody reads the answer any more: it leads to the null device",
        "sys.stdout.write": "the version, which is ours; the door would cost `--version` its speed",
    },
    "cli/cache.py": {
        "sys.stdout.write": "an answer that a writer made, kept as it was",
        "os.unlink": "entries of its own folder",
    },
    "cli/commands/agents.py": {
        "TemporaryDirectory": "a command of this program writes into it, and it is gone when it has ended",
        "read_text": "what that command has written",
    },
    "cli/evidence/weights_convert.py": {"ctypes.CDLL": "None: the C library that this process has loaded already"},
    "evidence/bounded_files.py": {"zipfile.ZipFile": "of a stream that the door opened"},
    "evidence/arrays.py": {"memmap": "of a stream that the door opened"},
    "evidence/data/indexed_file.py": {"memmap": "of a stream that the door opened"},
    "evidence/data/tokenizer.py": {"from_file": "the package takes a path; the door has read the file"},
    "evidence/data/tokenizer_comparison.py": {"from_file": "the package takes paths; the door has read both files"},
    "evidence/logs/sources.py": {"gzip.GzipFile": "of a stream that the door opened"},
    "evidence/weights/weight.py": {"fromfile": "of a stream that the door opened"},
    "evidence/weights/target_files.py": {
        "os.open": "the target's folder, to hold it while this process writes",
        "os.unlink": "what an earlier conversion of this program left, and links in the way",
    },
    "verifier/worker/processes.py": {
        "TemporaryDirectory": "the worker's own folder",
        "open": "the worker's log in its folder",
        "np.load": "of a stream that the door opened: what the worker answered",
        "os.unlink": "what the worker answered, once it is read",
    },
    "verifier/record.py": {
        "zipfile.ZipFile": "of a stream that the door opened",
        "savez": "into a stream that the door made",
    },
    "verifier/worker/inputs.py": {
        "open": "a small corpus in the worker's folder",
        "np.load": "weights that the parent has read already",
    },
    "verifier/worker/session.py": {"TemporaryDirectory": "where a data set finds its small corpora"},
    "verifier/worker/blueprint.py": {
        "linecache": "the condition that has failed, of a framework's module that this process has imported",
        "linecache.getlines": "the condition that has failed, of a framework's module that this process has imported",
    },
    "verifier/installations.py": {
        "TemporaryDirectory": "what pip unpacks, until it is whole",
        "os.rename": "an unpacked wheel into a folder of this program's own, which is not there yet",
        "shutil": "an unpacked wheel in that folder, which the user asks to remove",
        "shutil.rmtree": "an unpacked wheel in that folder, which the user asks to remove",
    },
    "verifier/megatron/model.py": {"logging": SILENCE, "logging.disable": SILENCE},
    "verifier/mindformers/model.py": {"logging": SILENCE, "logging.disable": SILENCE},
    "verifier/worker/server.py": {
        "open": "what the kernel says of this process",
        "os.fdopen": "the pipe to the process that started it",
        "traceback.print_exc": "into the log that the parent keeps",
        "savez": "into the folder that the parent made",
    },
}  # fmt: skip
"""What opens, prints or writes elsewhere, and why."""


def dotted(node: ast.expr) -> str:
    """`os.path.join` of such a name; something that is no name for what else is called (`ast.unparse` takes long)."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "()")
    return ".".join(reversed(parts))


def called(node: ast.Call) -> str | None:
    """The name of a call that passes a border; None for any other."""
    target = node.func
    if isinstance(target, ast.Name):
        return target.id if target.id in NAMES | METHODS else None
    if not isinstance(target, ast.Attribute):
        return None
    written = dotted(target)
    if written in CALLS or written.partition(".")[0] in MODULES:
        return written
    modes = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if target.attr == "open" and any(set(mode) <= set("rwaxbt+") and mode for mode in modes):
        return "Path.open"
    return target.attr if target.attr in METHODS else None


def ours(path: Path) -> frozenset[str]:
    """The names that a module has from the doors: they open nothing themselves."""
    text = path.read_text("utf-8")
    if "border" not in text:
        return frozenset()
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and "border" in (node.module or ""):
            found.update(alias.asname or alias.name for alias in node.names)
    return frozenset(found)


def passing(source: str, known: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """The line and name of every call of a text that passes a border; `known` are names from the doors."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [
        (node.lineno, name)
        for node in nodes
        if isinstance(node, ast.Call) and (name := called(node)) is not None
        if not (isinstance(node.func, ast.Name) and name in known)
    ]
    # A name that is brought in alone, or given away, would be called under another one.
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [
                (node.lineno, f"{node.module}.{alias.name}")
                for alias in node.names
                if f"{node.module}.{alias.name}" in CALLS or (node.module or "").split(".")[0] in MODULES
            ]
        elif isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] in MODULES]
            found += [(node.lineno, alias.name) for alias in node.names if alias.asname and alias.name in ("os", "sys")]
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            found += [(one.lineno, one.id) for one in given if isinstance(one, ast.Name) and one.id in NAMES]
    return found


def modules() -> list[Path]:
    every = (path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return [path for path in every if BORDER not in path.parents and "__pycache__" not in path.parts]


def is_generated_or_maker(path: Path) -> bool:
    return path.name.endswith("_compiled.py") or path.name.startswith("compile") or "compilers" in path.parts


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_passes_the_border_elsewhere(room: str) -> None:
    wrong: list[str] = []
    for path in modules():
        if path.parts[0] != room or is_generated_or_maker(path):
            continue
        allowed = ALLOWED.get(path.as_posix(), {})
        for line, name in passing((ROOT / path).read_text("utf-8"), ours(ROOT / path)):
            if name not in allowed and "*" not in allowed:
                wrong.append(f"{path}:{line}: {name}")
    assert not wrong, "use schemas/border, or say in ALLOWED why not:\n" + "\n".join(wrong)


def test_every_exception_is_one() -> None:
    """What is allowed and no longer there is taken off the list."""
    for path, names in ALLOWED.items():
        found = {name for _, name in passing((ROOT / path).read_text("utf-8"), ours(ROOT / path))}
        assert found, path
        assert set(names) - {"*"} <= found, (path, set(names) - found)


@pytest.mark.parametrize(
    "text",
    [
        "open('a')", "print(1)", "import os\nos.open('a', 0)", "from pathlib import Path\nPath('a').read_text()",
        "import zipfile\nzipfile.ZipFile('a')", "import tempfile\ntempfile.mkdtemp()", "from os import replace",
        "import shutil", "import sys\nsys.stdout.write('a')", "import numpy as np\nnp.load('a')",
        "import os as o", "path.open('rb')",
        "map(open, names)", "import json\njson.dump(1, stream)", "import mmap\nmmap.mmap(3, 0)",
        "import gzip\ngzip.open('a')",
    ],
)  # fmt: skip
def test_the_search_finds(text: str) -> None:
    assert passing(text)


@pytest.mark.parametrize(
    "text", ["reader.open('name')", "self.open(word)", "fingerprint(a)", "json.dumps(1)", "Blueprint()"]
)
def test_the_search_leaves(text: str) -> None:
    assert not passing(text)


LOOKS = frozenset((
    "os.path.exists", "os.path.lexists", "os.path.isfile", "os.path.isdir", "os.path.islink", "os.path.realpath",
    "os.path.getsize", "os.path.getmtime", "os.path.samefile", "os.stat", "os.lstat", "os.access", "os.readlink",
    "os.listdir", "os.scandir", "os.walk",
))  # fmt: skip
"""What looks at the disk without opening a file: a cached lint would not know of it."""
LOOKING: dict[str, str] = {
    "cli/cache.py": "entries of its own folder, and the program itself",
    "cli/commands/init.py": "no lint imports it",
    "cli/language_server/open_files.py": "no lint imports it",
    "cli/linting/file_search.py": "what a search finds, and git says, is not cached",
    "schemas/installation.py": "no lint imports it",
}
"""What looks elsewhere than through `schemas/border/inputs.py`, and why."""


def looking(source: str) -> list[str]:
    """The calls of a text that look at the disk."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [name for node in calls if isinstance(node.func, ast.Attribute) and (name := dotted(node.func)) in LOOKS]


def test_a_lint_looks_at_the_disk_through_the_border() -> None:
    """What a module looks at beside the border is not part of a cached answer."""
    wrong: list[str] = []
    for path in modules():
        name = path.as_posix()
        generated = is_generated_or_maker(path)
        of_lint = path.parts[0] in ("cli", "mapper", "mappings", "rules", "schemas") and "cli/evidence" not in name
        if not of_lint or generated or ALLOWED.get(name, {}).get("*") == DEVELOPERS:
            continue
        found = looking((ROOT / path).read_text("utf-8"))
        assert bool(found) or name not in LOOKING, f"{name} looks no longer"
        wrong += [f"{name}: {one}" for one in found if name not in LOOKING]
    assert not wrong, "use schemas/border/inputs.py, or say in LOOKING why not:\n" + "\n".join(wrong)
    assert looking("import os\nos.path.isfile('a')")

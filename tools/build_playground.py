"""Build the playground: a page that runs accmap in the browser, with both files side by side.

    python tools/build_playground.py FOLDER

It needs npm. The page is static and asks no other host: Python (Pyodide), accmap's wheel, PyYAML and the examples lie
beside it. `python -m http.server -d FOLDER` shows it.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "playground"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""What a browser loads of Pyodide."""


def build(folder: Path) -> None:
    """Write the page and everything that it loads."""
    folder.mkdir(parents=True, exist_ok=True)
    _call("npm", "ci", "--silent", "--no-audit", "--no-fund", place=SOURCE)
    _call("npm", "run", "--silent", "check", place=SOURCE)
    _call("npm", "run", "--silent", "bundle", "--", f"--outdir={folder.resolve()}", place=SOURCE)
    runtime = folder / "pyodide"
    runtime.mkdir(exist_ok=True)
    for name in RUNTIME:
        shutil.copy(SOURCE / "node_modules" / "pyodide" / name, runtime)
    _write_wheel(folder)
    _write_yaml(folder)
    names = _copy_examples(folder)
    page = (SOURCE / "index.html").read_text("utf-8")
    options = "".join(f"<option>{name}</option>" for name in names)
    (folder / "index.html").write_text(page.replace("<!--examples-->", options), "utf-8")
    shutil.copy(SOURCE / "style.css", folder)


def _call(*words: str, place: Path = ROOT) -> None:
    subprocess.run(words, cwd=place, check=True)


def _write_wheel(folder: Path) -> None:
    """The wheel of this checkout, which is a zip archive."""
    dist = folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    _call(sys.executable, "-m", "build", "--quiet", "--no-isolation", "--wheel", "--outdir", str(dist), ".")
    (wheel,) = dist.glob("*.whl")
    shutil.move(wheel, folder / "accmap.zip")
    dist.rmdir()


def _write_yaml(folder: Path) -> None:
    """PyYAML without its C part, which a browser cannot load."""
    spec = importlib.util.find_spec("yaml")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(folder / "yaml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(spec.origin).parent.glob("*.py")):
            archive.write(path, f"yaml/{path.name}")


def _copy_examples(folder: Path) -> list[str]:
    """The pairs of examples/, the one with planted faults first."""
    pairs = [path.parent for path in sorted((ROOT / "examples").glob("*/megatron.sh"))]
    pairs = [pair for pair in pairs if (pair / "mindformers.yaml").is_file()]
    for pair in pairs:
        (folder / "examples" / pair.name).mkdir(parents=True, exist_ok=True)
        for name in ("megatron.sh", "mindformers.yaml"):
            shutil.copy(pair / name, folder / "examples" / pair.name)
    return sorted((pair.name for pair in pairs), key=lambda name: (name != "planted", name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the playground.")
    parser.add_argument("folder", type=Path, help="where the page is written")
    build(parser.parse_args().folder)

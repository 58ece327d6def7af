"""What a release has to do, tried on every Python that `pyproject.toml` names.

    python tests/release_check.py [--pythons 3.10 3.12] [--extras evidence verify] [--no-installers] [--keep FOLDER]

Wheel and source distribution are built from the committed files and checked by twine, with the locked tools of the
publishing workflow; a second build of the wheel has to be the same bytes; the SBOM is made by that workflow's very
command and held against CycloneDX's schema. Then, for each Python: the wheel into an empty environment, where
`tests/wheel_check.py` looks at it from far away; the source distribution, which has to install the same files; and
every extra, each in an environment of its own, with the command that needs it. A Python for which an extra's packages
have no wheel is named, with the package. Interpreters are found on PATH and below `~/.pyenv`.

`ACCMAP_TORCH` names the torch of the extra `verify` where a build of one's own is wanted; only the Python that it is
for gets that extra then.

pip, pipx and uvx install accmap by its name from an index on this machine, and the commands of the README run in a new
folder as they are printed.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from accmap.cli.configuration import toml_table

ROOT = Path(__file__).resolve().parents[1]
PROJECT = toml_table("whole.toml", (ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = tuple(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
EXTRAS = tuple(name for name in PROJECT["optional-dependencies"] if name != "dev")
PAIR = ("examples/qwen3_dense/megatron.sh", "examples/qwen3_dense/mindformers.yaml")
IMPORTS = {"lsp": "accmap.cli.language_server.server", "mcp": "mcp.server, accmap.cli.commands.agents"}
"""For an extra whose command waits for another program: the modules that it needs."""
NEEDS: dict[str, tuple[tuple[str, ...], int]] = {
    "evidence": (("check", "npy", "a.npy", "b.npy"), 0),
    "msprobe": (("dump", "config", *PAIR, "-d", "dump"), 0),
    "verify": (("verify", *PAIR, "--quiet"), 0),
}
"""For each extra a command that uses it, and how that ends."""
NO_WHEEL = re.compile(r"No matching distribution found for ([\w-]+)\S*")


class FailedError(Exception):
    """A command that did not end as it has to."""


class Environment(NamedTuple):
    """A virtual environment of one Python."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def install(self, *what: str) -> None:
        call(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)

    def accmap(self, *words: str, within: Path, code: int) -> None:
        call(str(self.folder / "bin" / "accmap"), *words, cwd=within, code=code)

    def installed(self) -> dict[str, int]:
        """The files of accmap with their sizes, without what the installation notes."""
        (package,) = self.folder.glob("lib/python*/site-packages/accmap")
        files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {str(path.relative_to(package)): path.stat().st_size for path in files}


def call(*words: str, cwd: Path | None = None, code: int = 0, text: str | None = None) -> str:
    """What a command prints; FailedError where it ends otherwise than it has to."""
    # What PYTHONPATH adds would hide that something is missing.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=cwd, input=text, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != code:
        raise FailedError(
            f"{' '.join(words)}: {done.returncode}, not {code}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def interpreter(version: str) -> str | None:
    """A Python of a version."""
    below = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    return str(below[-1]) if below else shutil.which(f"python{version}")


def environment(python: str, folder: Path) -> Environment:
    call(python, "-m", "venv", str(folder))
    return Environment(folder)


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution of the committed files, checked; the SBOM beside them."""
    tools = environment(sys.executable, folder / "tools")
    tools.install("--require-hashes", "--no-deps", "--requirement", str(ROOT / "requirements" / "release.txt"))
    source = folder / "source"
    source.mkdir()
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive(), check=True)
    call(tools.python, "-m", "build", "--no-isolation", "--quiet", "--outdir", str(folder / "dist"), str(source))
    (wheel,), (sdist,) = (tuple((folder / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    print(call(tools.python, "-m", "twine", "check", "--strict", str(wheel), str(sdist)).strip())
    again = folder / "again"
    again.mkdir()
    subprocess.run(["tar", "-x", "-C", str(again)], input=archive(), check=True)
    call(tools.python, "-m", "build", "--no-isolation", "--quiet", "--outdir", str(again / "dist"), str(again))
    digests = [sha256(path.read_bytes()).hexdigest() for path in (wheel, *(again / "dist").glob("*.whl"))]
    if len(set(digests)) != 1:
        raise FailedError(f"two builds of the wheel differ: {digests}")
    print(f"wheel: built twice, sha256 {digests[0]}", flush=True)
    bill_of_materials(tools, source)
    return wheel, sdist


def archive() -> bytes:
    return subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout


def bill_of_materials(tools: Environment, source: Path) -> None:
    """The SBOM as the publishing workflow makes it: valid, and with every package that is locked."""
    workflow = (ROOT / ".github" / "workflows" / "publish.yml").read_text("utf-8")
    (line,) = re.findall(r"- run: cyclonedx-py (.*)", workflow)
    call(str(tools.folder / "bin" / "cyclonedx-py"), *line.split(), "--validate", cwd=source)
    made = (source / line.split()[-1]).read_text("utf-8")
    locked = re.findall(
        r"^([A-Za-z0-9_.-]+)==", (ROOT / "requirements" / "runtime.txt").read_text("utf-8"), re.MULTILINE
    )
    missing = [name for name in locked if f'"{name}"' not in made]
    if missing:
        raise FailedError(f"the SBOM lacks {missing}")
    print(f"SBOM: valid CycloneDX, {len(locked)} locked packages")


def prepared(folder: Path) -> Path:
    """A folder far from the checkout, with what the commands read."""
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def tried(version: str, python: str, wheel: Path, sdist: Path, folder: Path) -> None:
    """Both distributions without extras on one Python."""
    plain, from_source = environment(python, folder / "wheel"), environment(python, folder / "sdist")
    plain.install(str(wheel))
    within = prepared(folder / "without extras")
    said = call(plain.python, "-I", "-", cwd=within, text=(ROOT / "tests" / "wheel_check.py").read_text("utf-8"))
    from_source.install(str(sdist))
    from_source.accmap("lint", "examples/planted", within=within, code=1)
    if plain.installed() != from_source.installed():
        differing = sorted(set(plain.installed().items()) ^ set(from_source.installed().items()))
        raise FailedError(f"wheel and source distribution install other files: {differing[:6]}")
    print(f"{version}: wheel and sdist, {len(plain.installed())} files each; {said.strip()}", flush=True)


def tried_with(extra: str, version: str, python: str, wheel: Path, folder: Path) -> None:
    """One extra on one Python, in an environment of its own."""
    made = environment(python, folder / extra)
    torch = os.environ.get("ACCMAP_TORCH")
    named = [re.split(r"[^\w-]", one)[0] for one in PROJECT["optional-dependencies"][extra]]
    try:
        if extra == "verify" and torch:
            made.install("--no-deps", torch)
        # Of what the extra names only wheels are taken; what those need may be built.
        made.install(f"--only-binary={','.join(named)}", f"accmap[{extra}] @ {wheel.as_uri()}")
    except FailedError as error:
        found = NO_WHEEL.search(str(error))
        lacking = found[1] if found else torch if "is not a supported wheel on this platform" in str(error) else None
        if lacking is None or (found is not None and lacking not in named):
            raise
        print(f"{version}: {extra}: no wheel for this Python: {lacking}", flush=True)
        return
    within = prepared(folder / f"with {extra}")
    if extra in IMPORTS:
        call(made.python, "-I", "-c", f"import {IMPORTS[extra]}", cwd=within)
        print(f"{version}: {extra}: installed, its modules are imported", flush=True)
        return
    words, code = NEEDS[extra]
    if extra == "evidence":
        call(made.python, "-c", "import numpy as n; n.save('a', n.arange(6.0)); n.save('b', n.arange(6.0))", cwd=within)
    made.accmap(*words, within=within, code=code)
    print(f"{version}: {extra}: installed, `accmap {words[0]} {words[1]}` ends with {code}", flush=True)


def installers(wheel: Path, folder: Path) -> None:
    """Install by name from an index on this machine with pip, pipx and uvx, and run what was installed."""
    page = folder / "index" / "simple" / "accmap" / "index.html"
    page.parent.mkdir(parents=True)
    shutil.copy(wheel, page.parent)
    page.write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    handler = functools.partial(_Quiet, directory=str(folder / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        index = f"http://127.0.0.1:{server.server_address[1]}/simple"
        _install_by_name(index, prepared(folder / "by name"), folder)
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing of each request."""


def _install_by_name(index: str, within: Path, folder: Path) -> None:
    tools = environment(sys.executable, folder / "installers")
    tools.install("pipx", "uv")
    homes = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "pipx-bin", "PIPX_MAN_DIR": "pipx-man", "UV_CACHE_DIR": "uv"}
    os.environ.update({name: str(folder / place) for name, place in homes.items()})
    lint = ("lint", "examples/planted", "--no-cache")
    plain = environment(sys.executable, folder / "by pip")
    plain.install("--extra-index-url", index, "accmap", "accmap[evidence]")
    plain.accmap(*lint, within=within, code=1)
    print("pip: installed by name, with an extra", flush=True)
    call(str(tools.folder / "bin" / "pipx"), "install", "--quiet", "--pip-args", f"--extra-index-url {index}", "accmap")
    call(str(folder / "pipx-bin" / "accmap"), *lint, cwd=within, code=1)
    if not (folder / "pipx-man" / "man1" / "accmap.1").exists():
        raise FailedError("pipx shows no manual page of accmap")
    print("pipx: installed by name, with its manual pages", flush=True)
    call(str(tools.folder / "bin" / "uvx"), "--index", index, "accmap", *lint, cwd=within, code=1)
    print("uvx: run by name", flush=True)


def readme_as_printed(folder: Path) -> None:
    """The README's blocks in a new checkout: the installation, then each command that needs no other file."""
    checkout = folder / "checkout"
    checkout.mkdir()
    subprocess.run(["tar", "-x", "-C", str(checkout)], input=archive(), check=True)
    for readme in ("README.md", "README.zh-CN.md"):
        shutil.rmtree(checkout / ".venv", ignore_errors=True)
        text = re.sub(r"^   ", "", (checkout / readme).read_text("utf-8"), flags=re.MULTILINE)
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        first, *others = [block for language, block in blocks if not language]
        call("bash", "-ec", first, cwd=checkout, code=1)  # its lint finds the planted mistakes
        for name in ("megatron.sh", "mindformers.yaml"):
            shutil.copy(checkout / "examples" / "planted" / name, checkout)
        lines = [line for block in others for line in block.splitlines() if _SELF_CONTAINED.match(line)]
        for line in lines:
            (checkout / "converted.yaml").unlink(missing_ok=True)
            call("bash", "-c", f'PATH="$PWD/.venv/bin:$PATH"; {line}; [ $? -le 1 ]', cwd=checkout)
        if len(lines) < len(_README_COMMANDS):
            raise FailedError(f"{readme} shows only {lines}")
        print(f"{readme}: installed as printed, {len(lines)} commands as printed", flush=True)


_README_COMMANDS = ("lint", "convert", "lr", "explain", "init")
_SELF_CONTAINED = re.compile(rf"accmap (?:{'|'.join(_README_COMMANDS)}) ")
"""Lines whose files are in the checkout; tests/cli/test_shown_commands.py runs the others."""


def fails(version: str, python: str, extra: str | None, made: tuple[Path, Path], folder: Path) -> bool:
    """Whether what was made does not work on a Python, with an extra or without any: said, and gone on from."""
    try:
        if extra is None:
            tried(version, python, *made, folder / version)
        else:
            tried_with(extra, version, python, made[0], folder / version)
    except FailedError as error:
        print(f"{version}: {extra or 'without extras'}: FAILED: {error}", flush=True)
        return True
    return False


def main() -> int:
    """Print a line for each thing tried; 1 where one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pythons", nargs="+", default=PYTHONS, choices=PYTHONS)
    parser.add_argument("--extras", nargs="*", default=EXTRAS, choices=EXTRAS)
    parser.add_argument("--no-installers", action="store_true", help="leave out pip, pipx, uvx and the README")
    parser.add_argument("--keep", type=Path, help="a new folder for everything that is made")
    given = parser.parse_args()
    folder: Path = given.keep or Path(tempfile.mkdtemp(prefix="accmap-release-"))
    folder.mkdir(exist_ok=True)
    failed = 0
    wheel, sdist = built(folder)
    if not given.no_installers:
        installers(wheel, folder)
        readme_as_printed(folder)
    for version in given.pythons:
        python = interpreter(version)
        if python is None:
            print(f"{version}: not here, not tried")
            failed += 1
            continue
        (folder / version).mkdir()
        failed += sum(fails(version, python, extra, (wheel, sdist), folder) for extra in (None, *given.extras))
    if given.keep is None:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

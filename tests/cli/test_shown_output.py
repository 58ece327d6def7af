"""What README and docs show below a `$ accmap …` line is what that line prints; `…` stands for any text or lines."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accmap.cli.configuration import toml_table
from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "tools"))
import draw_pictures  # noqa: E402

PAGES = [*(ROOT / name for name in ("README.md", "README.zh-CN.md")), *sorted((ROOT / "docs").glob("*.md"))]


def shown(page: Path) -> list[tuple[str, str]]:
    """Each command of a page's console blocks, with what is shown below it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        found += [
            (line, said) for line, said in re.findall(r"^\$ accmap (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        ]
    return found


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, in which the commands of a page run one after the other."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agrees(output: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in output.split("\u2026"))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES if shown(page)])
def test_shown_output(accmap, examples: Path, page: Path) -> None:
    for command, output in shown(page):
        if not command.startswith("verify"):
            answer = accmap(*shlex.split(command))
            assert agrees(output, answer.out or answer.err), (command, answer)


@pytest.mark.frameworks
@pytest.mark.parametrize("page", [page for page in PAGES if any(line.startswith("verify") for line, _ in shown(page))])
def test_shown_output_of_verify(accmap, examples: Path, page: Path) -> None:
    """With the trees of this machine instead of those that `--prepare` downloads."""
    pytest.importorskip("mindformers")
    tree, wheel = Path(os.environ.get("ACCMAP_MEGATRON_TREES", "")), ROOT / ".frameworks" / "mindformers" / "2.1.0"
    if not ((tree / "0.14").is_dir() and wheel.is_dir()):
        pytest.skip("Megatron-LM 0.14 or MindSpore Transformers 2.1 is not here")
    for command, output in shown(page):
        words = shlex.split(command)
        if words[0] != "verify":
            accmap(*words)
            continue
        words.remove("--prepare")
        words += ["--mindformers-source", str(wheel), "--quiet"]
        words += ["--megatron-source", str(tree / "0.14")] if "--megatron" in words else []
        done = subprocess.run(
            [sys.executable, "-m", "accmap", *words], cwd=examples, capture_output=True, text=True, check=False
        )
        assert agrees(output, done.stdout), (command, done)


def test_pages_show_output() -> None:
    assert sum(len(shown(page)) for page in PAGES) > 3


@pytest.mark.parametrize("language", ["md", "zh-CN.md"])
def test_every_key_of_the_configuration_is_shown_as_it_is_written(accmap, tmp_path: Path, language: str) -> None:
    from accmap.cli.configuration_compiled import KEYS

    text = (ROOT / "docs" / f"configuration.{language}").read_text("utf-8")
    examples = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"^### `([\w-]+)`", text, re.MULTILINE)) == set(KEYS)
    (tmp_path / "base.toml").write_text("")
    seen: set[str] = set()
    for example in examples:
        seen |= set(toml_table("accmap.toml", example))
        (tmp_path / "accmap.toml").write_text(example, "utf-8")
        assert accmap("schema", "--check", str(tmp_path / "accmap.toml"), "--of", "config").code == 0, example
    assert seen == set(KEYS)


@pytest.mark.parametrize("language", ["md", "zh-CN.md"])
def test_the_plugin_that_is_shown_works(language: str) -> None:
    from accmap.cli.configuration import Configuration
    from accmap.cli.linting.linter import lint
    from accmap.cli.linting.settings import Reader, Settings
    from accmap.schemas.config import ReadOptions

    text = (ROOT / "docs" / f"plugins.{language}").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    made: dict[str, object] = {}
    exec(compile(code, "plugins.md", "exec"), made)
    (rule,) = made["rules"]  # pyright: ignore
    settings = Settings(Configuration(), ReadOptions(), "align", (), (), (rule,))
    report = lint(settings, [str(ROOT / "examples" / "qwen3_dense" / "megatron.sh")], Reader())
    assert "TEAM001" in {entry.kind.code for entry in report.diagnostics}


@pytest.mark.parametrize("language", ["md", "zh-CN.md"])
def test_pipelines_are_yaml_and_name_options_that_exist(language: str) -> None:
    from accmap.cli.argument_parser import parse
    from accmap.cli.options import COMMANDS

    text = (ROOT / "docs" / f"ci.{language}").read_text("utf-8")
    for block in re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        assert load_table(block)
    commands = re.findall(r"accmap (lint [^`\n]+)", text)
    assert len(commands) > 2
    for command in commands:
        parse(COMMANDS["lint"], shlex.split(command)[1:])


@pytest.mark.parametrize("language", ["md", "zh-CN.md"])
def test_every_cell_of_the_comparison_is_filled_for_accmap(language: str) -> None:
    text = (ROOT / "docs" / f"compared.{language}").read_text("utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    assert {len(row) for row in rows} == {7}
    assert not [row[0] for row in rows if not row[1]]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in draw_pictures.PICTURES if name != "verify"])
def test_a_picture_of_a_terminal_shows_what_the_command_prints(name: str, tmp_path: Path) -> None:
    assert draw_pictures.main([str(tmp_path), "--only", name]) == 0
    for path in sorted(tmp_path.iterdir()):
        assert (PICTURES / path.name).read_text("utf-8") == path.read_text("utf-8"), "run tools/draw_pictures.py"


@pytest.mark.frameworks
def test_the_picture_of_verify_shows_what_it_prints(tmp_path: Path) -> None:
    pytest.importorskip("mindformers")
    pytest.importorskip("megatron.core")
    draw_pictures.main([str(tmp_path), "--only", "verify"])
    for path in sorted(tmp_path.iterdir()):
        words = [re.findall(r"[^\W\d]+", one.read_text("utf-8")) for one in (path, PICTURES / path.name)]
        assert words[0] == words[1]  # the numbers depend on the processor


def test_every_picture_is_shown_and_there() -> None:
    shown_there = {
        (page.parent / link).resolve()
        for page in PAGES
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert shown_there == set(PICTURES.iterdir())


def test_the_readme_of_an_index_page_has_no_dead_link() -> None:
    from generate.products import with_full_links

    text, site = (ROOT / "README.md").read_text("utf-8"), "https://example.org/accmap"
    links = re.compile(r"(?<=\]\()[^)]+")
    assert links.findall(with_full_links(text, None)) == []
    full = links.findall(with_full_links(text, site))
    assert all(link.startswith((f"{site}/", "#")) for link in full)
    assert len(full) == len(links.findall(text))
    assert {f"{site}/verdicts/#not-compared", f"{site}/zh/", f"{site}/pictures/lr.svg", f"{site}/promises/"} <= set(
        full
    )

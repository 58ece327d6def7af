"""What pages show for others to copy: pipelines, hooks, settings, extras, and commands named within a sentence."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.configuration import toml_table
from accmap.cli.options import options_of
from accmap.schemas.compilers.tables import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("README.md", "README.zh-CN.md")] + sorted((ROOT / "docs").glob("*.md"))
HOOKS = {hook["id"] for hook in load_table((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
INPUTS = set(load_table((ROOT / "action.yml").read_text("utf-8"))["inputs"])
PROJECT = toml_table("whole.toml", (ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TAG = f"v{PROJECT['version']}"


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


def leaves(tree: Any) -> Iterator[str]:
    """Every text of a document, the lines of a script one by one."""
    if isinstance(tree, dict):
        tree = list(tree.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(tree, list):
        for entry in tree:  # pyright: ignore[reportUnknownVariableType]
            yield from leaves(entry)
    elif isinstance(tree, str):
        yield from tree.splitlines()


def mappings(tree: Any) -> Iterator[dict[str, Any]]:
    entries: Any = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    if isinstance(tree, dict):
        yield tree  # pyright: ignore[reportUnknownVariableType]
    for entry in entries:
        yield from mappings(entry)


DOCUMENTS = [
    pytest.param(text, id=f"{page.name}:{number}") for page in PAGES for number, text in enumerate(blocks(page, "yaml"))
]
GITLAB = ROOT / "templates" / "gitlab-ci.yml"
CONTAINED = re.compile(r"docker .*?\baccmap (?=[a-z])")
COMMANDS = [
    pytest.param(CONTAINED.sub("", line).removeprefix("accmap "), id=f"{page.name}: {line}")
    for page in PAGES
    for lines in (*(leaves(load_table(text)) for text in blocks(page, "yaml")), *map(str.splitlines, blocks(page, "")))
    for line in lines
    if CONTAINED.search(line) or (line.startswith("accmap lint --confine"))
]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_what_is_shown_for_a_pipeline_exists(text: str) -> None:
    """Hooks by their names, the action by its inputs, both at the version of this project."""
    for entry in mappings(load_table(text)):
        if str(entry.get("repo", "")).endswith("accmap/accmap"):
            assert entry["rev"] == TAG
            assert {hook["id"] for hook in entry["hooks"]} <= HOOKS
        if str(entry.get("uses", "")).startswith("OWNER/accmap@"):
            assert entry["uses"].partition("@")[2] in (TAG, "<commit>")
            assert set(entry.get("with", {})) <= INPUTS
        if entry.get("project") == "OWNER/accmap":
            assert entry["ref"] == TAG
            assert (ROOT / entry["file"].removeprefix("/")).is_file()


@pytest.mark.parametrize("line", COMMANDS)
def test_a_pipeline_runs(accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """In a repository with a configured pair that has errors."""
    shutil.copytree(ROOT / "examples" / "planted", tmp_path / "planted")
    pairs = 'pairs = [{ megatron = "*/megatron.sh", mindformers = "*/mindformers.yaml" }]\n'
    (tmp_path / "accmap.toml").write_text(pairs, "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    assert accmap(*words).code == ("never" not in words)
    if "--output-file" in words:
        assert json.loads((tmp_path / words[words.index("--output-file") + 1]).read_text("utf-8"))


def test_pipelines_are_found() -> None:
    assert len(COMMANDS) >= 2 * 3


@pytest.mark.parametrize(
    ("profile", "files", "code"), [("train", ".", 1), ("align", "planted", 1), ("train", "clean", 0)]
)
def test_the_gitlab_template_runs(
    accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str, files: str, code: int
) -> None:
    template = load_table(GITLAB.read_text("utf-8"))
    for name, source in (("planted", "planted"), ("clean", "qwen3_dense")):
        shutil.copytree(ROOT / "examples" / source, tmp_path / name)
        (tmp_path / name / "mindformers_dynamic.yaml").unlink(missing_ok=True)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert {"ACCMAP_PROFILE", "ACCMAP_FILES"} < template["variables"].keys()
    install, report, check = (
        line.replace('"$ACCMAP_PROFILE"', profile).replace("$ACCMAP_FILES", files)
        for line in template["accmap"]["script"]
    )
    assert install.startswith("pip install")
    assert accmap(*shlex.split(report)[1:]).code == 0
    (name,) = template["accmap"]["artifacts"]["reports"].values()
    found = json.loads((tmp_path / name).read_text("utf-8"))
    assert any(one["severity"] in ("major", "critical", "blocker") for one in found) is bool(code)
    assert accmap(*shlex.split(check)[1:]).code == code


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("gitlab-ci", "templates/gitlab-ci.yml"),
        ("github-actions", "action.yml"),
        *(("github-workflows", f".github/workflows/{name}.yml") for name in ("nightly", "publish")),
    ],
)
def test_what_ci_reads_is_valid_by_its_published_schema(schema: str, file: str) -> None:
    pytest.importorskip("check_jsonschema")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(ROOT / file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_and_extras_that_are_shown_exist(accmap, tmp_path: Path, page: Path) -> None:
    for text in blocks(page, "toml"):
        if "[project" in text:
            assert "accmap.rules" in text
        elif "[language-server" in text:
            assert '"lsp"' in text
        elif not page.name.startswith("configuration"):
            (tmp_path / "accmap.toml").write_text(text, "utf-8")
            assert accmap("schema", "--check", str(tmp_path / "accmap.toml"), "--of", "config").code == 0, text
    for extras in re.findall(r"accmap\[([\w,]+)\]", page.read_text("utf-8")):
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_command_within_a_sentence_has_the_options_it_is_named_with(page: Path) -> None:
    from accmap.cli.options import command_named, group_members

    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for said in re.findall(r"`accmap ([a-z][^`]*)`", prose):
        words = said.split()
        command = command_named(words)
        assert command is not None or group_members(words[0]), said
        options = {one for option in options_of(command) for one in option.names} if command else set[str]()
        if command and command.takes_flags:
            continue  # `explain --num-layers`
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options, said

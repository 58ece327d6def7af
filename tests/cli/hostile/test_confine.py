"""`--confine`: what a file names is read inside of the project only, whatever names it and wherever links lead."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from launch_cases import GOOD_SCRIPT, GOOD_YAML, LAUNCH

SECRET = "TOKEN_OF_SOMEBODY"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository, and beside it what its files may not reach."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "env.sh").write_text(f"SEED=7\nexport X={SECRET}\n")
    (outside / "base.yaml").write_text(GOOD_YAML + f"some_key: {SECRET}\n")
    (outside / "config.json").write_text(json.dumps({"hidden_size": 4321, "x": SECRET}))
    (outside / "secret.toml").write_text(f'profile = "{SECRET}"\n')
    (outside / "baseline.json").write_text(SECRET)
    (outside / "run.sh").write_text(GOOD_SCRIPT.replace("--bf16", f"--bf16 --{SECRET} 1"))
    inside = tmp_path / "r"
    (inside / ".git").mkdir(parents=True)
    (inside / "sub").mkdir()
    return inside


def lint(accmap, *words: str):
    answer = accmap("lint", "--no-cache", "--confine", *words)
    return answer, answer.out + answer.err


def test_source(accmap, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    for name in ("../outside/env.sh", str(project.parent / "outside" / "env.sh"), "link.sh", "folder/env.sh"):
        (project / "run.sh").write_text(f"#!/bin/bash\nsource {name}\n{LAUNCH} --seed $SEED\n")
        for link, target in (("link.sh", "../outside/env.sh"), ("folder", "../outside")):
            if not (project / link).exists():
                (project / link).symlink_to(target)
        answer, said = lint(accmap, "run.sh")
        assert answer.code in (0, 1), name
        assert "outside" in said
        assert SECRET not in said
        seed = next(
            entry
            for entry in json.loads(accmap("show", "run.sh", "--confine", "--format", "json").out)["values"]
            if entry["key"] == "seed"
        )
        assert seed["value"] is None, name
        free = json.loads(accmap("show", "run.sh", "--format", "json").out)["values"]
        assert next(entry for entry in free if entry["key"] == "seed")["value"] == 7


def test_inside_is_followed_from_anywhere(accmap, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "env.sh").write_text("SEED=7\n")
    (project / "sub" / "run.sh").write_text(
        f'#!/bin/bash\ncd "$(dirname $0)"\nsource ../env.sh\n{LAUNCH} --seed $SEED\n'
    )
    for folder, name in ((project, "sub/run.sh"), (project / "sub", "run.sh"), (project.parent, "r/sub/run.sh")):
        monkeypatch.chdir(folder)
        found = json.loads(accmap("show", name, "--confine", "--format", "json").out)["values"]
        assert next(entry for entry in found if entry["key"] == "seed")["value"] == 7, folder


@pytest.mark.parametrize(
    "key", ["base_config: ../outside/base.yaml", "base_config: [link.yaml]", "pretrained_model_dir: ../outside"]
)
def test_what_a_yaml_names(accmap, project: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.chdir(project)
    (project / "link.yaml").symlink_to("../outside/base.yaml")
    (project / "run.yaml").write_text(GOOD_YAML + key + "\n")
    answer, said = lint(accmap, "run.yaml")
    assert answer.code in (0, 1)
    assert "--confine" in said
    assert SECRET not in said
    assert "4321" not in said
    assert SECRET not in accmap("show", "run.yaml", "--confine", "--all").out


def test_values_of_a_base_file_that_was_not_followed_are_undecided(
    accmap, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "run.yaml").write_text(
        "base_config: ../outside/base.yaml\nuse_legacy: False\nrun_mode: train\n"
        "model:\n  model_config:\n    model_type: qwen3\n"
    )
    found = json.loads(accmap("recipe", "run.yaml", "--confine", "--format", "json").out)["fields"]
    assert not found["model.hidden_size"]["decided"]


@pytest.mark.parametrize("name", ["../outside/base.yaml", "link.yaml"])
def test_the_yaml_of_a_launch(accmap, project: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(project)
    (project / "link.yaml").symlink_to("../outside/base.yaml")
    (project / "run.sh").write_text(f"#!/bin/bash\npython run_mindformer.py --config {name}\n")
    answer, said = lint(accmap, "run.sh")
    assert answer.code == 2
    assert "SYN944" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "text",
    [
        'extend = "../outside/secret.toml"', 'extend = "link.toml"', 'baseline = "../outside/baseline.json"',
        'pairs = [{ megatron = "run.sh", mindformers = "../outside/base.yaml" }]',
        'pairs = [{ megatron = "run.sh", mindformers = "link.yaml" }]',
    ],
)  # fmt: skip
def test_what_a_configuration_names(accmap, project: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(project)
    (project / "link.toml").symlink_to("../outside/secret.toml")
    (project / "link.yaml").symlink_to("../outside/base.yaml")
    (project / "run.sh").write_text(GOOD_SCRIPT)
    (project / "accmap.toml").write_text(text)
    answer, said = lint(accmap, "run.sh")
    assert answer.code == 2
    assert "SYN944" in said
    assert SECRET not in said


def test_the_folder_of_the_configuration_is_the_root(accmap, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "env.sh").write_text("SEED=7\n")
    (project / "sub" / "run.sh").write_text(f"#!/bin/bash\nsource env.sh\n{LAUNCH} --seed $SEED\n")
    assert "SYN944" not in lint(accmap, "sub/run.sh")[1]
    assert "--confine" not in lint(accmap, "sub/run.sh")[1]
    (project / "sub" / "accmap.toml").write_text("")
    assert "--confine" in lint(accmap, "sub/run.sh")[1], "a narrower project"


def test_a_named_link_that_leads_out_is_refused_and_a_named_file_elsewhere_is_not(
    accmap, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "link.sh").symlink_to("../outside/run.sh")
    for command in ("lint --no-cache", "show", "recipe", "convert"):
        answer = accmap(*command.split(), "--confine", "link.sh")
        assert answer.code == 2, command
        assert SECRET not in answer.out + answer.err
        assert accmap(*command.split(), "--confine", "../outside/run.sh").code in (0, 1)


def test_each_of_two_projects_is_kept_to_its_own(accmap, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = project.parent / "q"
    (other / ".git").mkdir(parents=True)
    (other / "base.yaml").write_text(GOOD_YAML)
    (other / "run.yaml").write_text("base_config: ./base.yaml\n")
    (project / "run.sh").write_text(GOOD_SCRIPT)
    monkeypatch.chdir(project.parent)
    answer = accmap("diff", "--confine", "r/run.sh", "q/run.yaml", "--format", "json")
    rows = {row["field"]: row for row in json.loads(answer.out)["rows"]}
    assert rows["model.hidden_size"]["b"]["value"] == 64


def test_the_action_and_every_hook_confine_and_end_their_options() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from test_action import ACTION
    from test_lint_hooks import HOOKS

    for hook in HOOKS:
        assert "--confine" in hook["entry"].split()
        assert hook["args"] == ["--"]
    lints = [step["run"] for step in ACTION["runs"]["steps"] if "accmap lint" in step.get("run", "")]
    assert len(lints) == 3
    for line in lints:
        assert "--confine" in line
        assert line.count("accmap lint") == line.count(" -- $FILES")


@pytest.mark.parametrize("name", ["--format", "-x.sh", "--output-file=x.sh"])
def test_a_file_that_is_called_like_an_option(
    accmap, project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from test_lint_hooks import HOOKS

    monkeypatch.chdir(project)
    (project / name).write_text(GOOD_SCRIPT)
    for hook in HOOKS:
        answer = accmap(*hook["entry"].split()[1:], *hook["args"], name)
        assert answer.code in (0, 1), answer
        assert "in 1 file" in answer.out
    assert not (project / "x.sh").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            ".pre-commit-config.yaml",
            "repos:\n- repo: local\n  hooks:\n  - {id: x, name: x, entry: x, language: system}\n",
        ),
        ("docker-compose.yml", "services:\n  web:\n    image: x\n    ports: ['80:80']\n"),
        ("setup.sh", "#!/bin/bash\nset -e\npip install -r requirements.txt\n"),
    ],
)
def test_the_hooks_pass_files_of_other_programs(
    accmap, project: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from test_lint_hooks import HOOKS

    monkeypatch.chdir(project)
    (project / name).write_text(text)
    for hook in HOOKS:
        assert accmap(*hook["entry"].split()[1:], *hook["args"], name).code == 0


def test_what_is_installed_is_pinned() -> None:
    import re

    from test_action import ACTION, ROOT

    for step in ACTION["runs"]["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
        elif "pip install" in step["run"]:
            assert "--require-hashes" in step["run"]
            assert all("--no-deps" in line for line in step["run"].splitlines() if "pip install" in line)
    for name in ("runtime", "check"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
        rows = [row for row in text.replace("\\\n", " ").splitlines() if row.strip()]
        assert all(re.match(r"[\w.-]+==[\w.]+ ", row) and "--hash=sha256:" in row for row in rows)
        locked = {re.split("==", row)[0].lower() for row in rows}
        project = (ROOT / "pyproject.toml").read_text("utf-8").partition("dependencies = [")[2].partition("]")[0]
        wanted = {
            re.match(r'"([\w.-]+)', line.strip())[1].lower().replace(".", "-")
            for line in project.splitlines()
            if line.strip()
        }  # type: ignore[index]
        assert wanted <= locked, name
    for page in ("docs/security.md", "docs/security.zh-CN.md"):
        shown = (ROOT / page).read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
        workflow = yaml.safe_load(shown)
        assert workflow["permissions"] == {"contents": "read"}

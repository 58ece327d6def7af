"""What a person sees of `accmap lint`: all errors and warnings, whole, the worst first; and what it looks at."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.terminal import columns

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIRS = 'pairs = [{ megatron = "*/megatron.sh", mindformers = "*/mindformers.yaml" }]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a faulty pair and an equal one."""
    for name in ("planted", "qwen3_dense"):
        copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path.parent / "cache"))
    git("init", "-q")
    return tmp_path


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], check=True, capture_output=True)


def joined(page: str) -> str:
    """The text of a page without the ends and margins of its lines."""
    return "".join(page.split())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes of standard output a terminal without colour, of so many columns."""

    def make(columns: int) -> None:
        monkeypatch.setattr("accmap.cli.terminal.is_terminal", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")

    return make


@pytest.mark.parametrize("where", ["terminal", "pipe", "file"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_error_and_warning_is_shown_whole(
    where: str, language: str, accmap, folder: Path, terminal: Callable[[int], None]
) -> None:
    (folder / "many.sh").write_text("python pretrain_gpt.py --num-layers 2 --foo 1 " + "--bar 1 " * 90 + "--oof 1\n")
    words = ("lint", "planted/megatron.sh", "planted/mindformers.yaml", "--lang", language)
    lone = ("lint", "many.sh", "--megatron", "0.12", "--lang", language)
    for asked in (words, lone):
        found = json.loads(accmap(*asked, "--format", "json").out)["diagnostics"]
        if where == "terminal":
            terminal(80)
        page = accmap(*asked, *(("--output-file", "page.txt", "--force") if where == "file" else ())).out
        page = (folder / "page.txt").read_text("utf-8") if where == "file" else page
        assert "…" not in page
        if where == "terminal":
            assert max(map(columns, page.splitlines())) <= 80
        together = re.sub(r"[,，]planted/megatron\.sh:\d+(?=[)）])", "", joined(page))  # beside a key
        for entry in found:
            if entry["because_of"] is None and entry["severity"] != "info":
                assert joined(entry["message"]) in together
                assert joined(entry["consequence"] or "") in together
                for place in entry["related"]:
                    assert joined(f"{place['file']}:{place['span']['line']}") in joined(page)
        last = joined(Path(asked[1]).read_text("utf-8").splitlines()[-1])
        assert last in together.translate({ord("|"): "", ord("^"): ""}) or asked is words


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.usefixtures("folder")
def test_a_difference_is_told_in_three_parts(language: str, accmap) -> None:
    """Both values with both places, the effect on the run, and the instruction with its edit, in this order."""
    files = "planted/megatron.sh", "planted/mindformers.yaml"
    words = ("lint", *files, "--lang", language)
    found = json.loads(accmap(*words, "--format", "json").out)["diagnostics"]
    blocks = accmap(*words).out.split("\n\n")
    differences = [
        entry
        for entry in found
        if entry["because_of"] is None and entry["severity"] == "error" and entry["consequence"] is not None
    ]
    assert len(differences) >= 5
    for entry in differences:
        head = f"{entry['file']}:{entry['span']['line']}:{entry['span']['column']}: "
        (block,) = (one for one in blocks if one.startswith(head) and f"[{entry['code']}]" in one.split("\n")[0])
        lines = block.split("\n")
        assert lines[2] == f"  {entry['consequence']}"
        other = next(file for file in files if file != entry["file"])
        assert f"{other}:" in lines[1] or f"  {other}:" in block
        after = block.partition(lines[2])[2]
        if entry["fix"] or entry["alternatives"]:
            assert re.search(r"\n  (Change|Add to|Remove from|修改|在|从) .*[:：]\n    [-+] ", after)
            assert entry["advice"] == (entry["fix"] or entry["alternatives"][0])["description"]
        else:
            assert f"\n  {entry['advice']}\n" in f"{after}\n"


UNPAGED: dict[tuple[str, ...], Any] = {}
"""The answers without a pager, by their options: each is asked for once."""


@pytest.mark.parametrize(
    ("variables", "options", "is_paged"),
    [
        ({"PAGER": "{pager}"}, (), True),
        ({"ACCMAP_PAGER": "{pager}", "PAGER": "false"}, (), True),
        ({"ACCMAP_PAGER": "", "PAGER": "{pager}"}, (), False),
        ({"PAGER": "{pager}", "CI": "true"}, (), False),
        ({"PAGER": "{pager}", "LINES": "500"}, (), False),
        ({"PAGER": "{pager}"}, ("--no-pager",), False),
        ({"PAGER": "{pager}"}, ("--format", "json"), False),
        ({"PAGER": "{pager} fails"}, (), False),
        ({"PAGER": "/nowhere/pager"}, (), False),
        ({"PAGER": "'"}, (), False),
        ({}, (), False),
    ],
)
def test_a_text_longer_than_the_screen_goes_through_the_pager(
    variables: dict[str, str],
    options: tuple[str, ...],
    is_paged: bool,
    accmap,
    folder: Path,
    terminal: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pager = folder / "pager"
    pager.write_text('#!/bin/sh\n[ "$1" = fails ] && exit 3\ncat > paged.txt\n')
    pager.chmod(0o755)
    terminal(80)
    words = ("lint", "planted/megatron.sh", "planted/mindformers.yaml")
    for name in ("PAGER", "ACCMAP_PAGER", "CI"):
        monkeypatch.delenv(name, raising=False)
    form = tuple(one for one in options if one != "--no-pager")
    plain = UNPAGED[form] = UNPAGED.get(form) or accmap(*words, *form)
    monkeypatch.setenv("LINES", "24")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(pager=pager))
    answer = accmap(*words, *options)
    assert answer.code == plain.code == 1
    assert answer.out == ("" if is_paged else plain.out)
    assert (folder / "paged.txt").exists() is is_paged
    if is_paged:
        assert (folder / "paged.txt").read_text("utf-8") == plain.out


@pytest.mark.parametrize(
    "words",
    [
        ("show", "planted/megatron.sh", "--all"),
        ("recipe", "planted/megatron.sh"),
        ("explain", "OPT013", "MOE006"),
        ("rules",),
        ("defects",),
        ("defects", "planted/megatron.sh", "--from", "0.12", "--to", "0.16"),
    ],
)
def test_other_long_texts_go_through_the_pager(
    words: tuple[str, ...], accmap, folder: Path, terminal: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\ncat > paged.txt\n")
    pager.chmod(0o755)
    terminal(80)
    for name in ("ACCMAP_PAGER", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PAGER", str(pager))
    monkeypatch.setenv("LINES", "12")
    plain = accmap(*words, "--no-pager")
    assert not (folder / "paged.txt").exists()
    answer = accmap(*words)
    assert (answer.code, answer.out) == (plain.code, "")
    assert (folder / "paged.txt").read_text("utf-8") == plain.out


def test_diff_shows_every_row_that_is_not_equal_in_the_pager_too(
    accmap, folder: Path, terminal: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("diff", "planted/megatron.sh", "planted/mindformers.yaml")
    rows = [row for row in json.loads(accmap(*words, "--format", "json").out)["rows"] if row["status"] != "equal"]
    assert {row["impact"] for row in rows} >= {"numerics", "none"}
    terminal(200)
    monkeypatch.setenv("PAGER", "sh -c 'cat > paged.txt'")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.delenv("CI", raising=False)
    assert accmap(*words).out == ""
    page = (folder / "paged.txt").read_text("utf-8")
    shown = re.findall(r"^(?:different|only in [AB]|undecided)  (\S+)", page, re.MULTILINE)
    assert sorted(shown) == sorted(row["field"] or (row["a"] or row["b"])["key"] for row in rows)
    weights = [
        next(row["impact"] for row in rows if name == (row["field"] or (row["a"] or row["b"])["key"])) for name in shown
    ]
    assert weights == sorted(weights, key=["numerics", "performance", "none"].index)
    together = joined(page)
    for row in rows:
        for side in filter(None, (row["a"], row["b"])):
            assert joined(json.dumps(side["value"], ensure_ascii=False)) in together


@pytest.mark.usefixtures("folder")
def test_a_pipe_has_no_pager(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "false")
    monkeypatch.setenv("LINES", "1")
    assert "MAP072" in accmap("lint", "planted").out


@pytest.mark.usefixtures("folder")
def test_the_worst_come_first_and_the_counts_agree(accmap) -> None:
    page = accmap("lint", "planted").out.splitlines()
    counts = "9 errors (1 stops the run, 8 change numbers), 2 warnings, 19 pieces of advice (--remarks)"
    assert page[0] == f"planted: {counts}"
    assert page[-1].startswith(f"{counts} in 2 files (1 pair; ")
    assert page[-1].endswith("; profile align, the default")
    heads = [line.rpartition("[")[2][:6] for line in page if ": error[" in line or ": warning[" in line]
    assert heads[:3] == ["MAP072", "OPT013", "OPT010"]
    assert heads[-2:] == ["RUN002", "MOE006"]
    assert len(heads) == 11
    answer = json.loads(accmap("lint", "planted", "--format", "json").out)
    assert [answer["summary"][key] for key in ("error", "warning", "info")] == [9, 2, 19]
    assert answer["summary"]["profile_origin"] == "default"


def test_a_clean_pair_says_how_much_was_compared_and_goes_on(accmap, folder: Path) -> None:
    pair = ("qwen3_dense/megatron.sh", "qwen3_dense/mindformers.yaml")
    page = accmap("lint", *pair).out
    sentence = (
        r"\n  (\d+) fields are equal\. For (\d+) of these fields, accmap's tests ran the real models of both versions"
    )
    told = re.search(sentence, page)
    assert told
    rows = json.loads(accmap("diff", *pair, "--format", "json", "--all").out)["rows"]
    equal = sum(row["status"] == "equal" and row["field"] is not None for row in rows)
    assert 0 < int(told[2]) < int(told[1]) <= equal
    # Each graph mode has its own proofs.
    dynamic = re.search(sentence, accmap("lint", pair[0], "qwen3_dense/mindformers_dynamic.yaml").out)
    assert dynamic
    assert 0 < int(dynamic[2]) < int(dynamic[1])
    assert dynamic.groups() != told.groups()
    assert f"Next: accmap verify {' '.join(pair)}\n" in page
    assert "Not compared, because a file does not contain the value: " not in page
    assert "fields are equal" not in accmap("lint", *pair, "--quiet").out
    path = folder / "qwen3_dense" / "mindformers.yaml"
    path.write_text(
        path.read_text("utf-8").replace("layernorm_compute_dtype: float32", "layernorm_compute_dtype: 3", 1)
    )
    assert "fields are equal" not in accmap("lint", *pair).out
    assert "fields are equal" not in accmap("lint", pair[0]).out


def test_the_profile_is_named_with_its_origin(accmap, folder: Path) -> None:
    assert accmap("lint", "planted", "--profile", "train").out.endswith("; profile train from --profile\n")
    (folder / "accmap.toml").write_text(PAIRS + 'profile = "train"\n')
    assert accmap("lint", "planted").out.endswith("; profile train from accmap.toml\n")
    (folder / "accmap.toml").write_text(PAIRS)
    assert accmap("lint", "planted").out.endswith("; profile align, the default; configuration accmap.toml\n")


@pytest.mark.parametrize(
    ("severity", "code", "told"),
    [
        ("MAP003", "error", "1 depends on an unknown value"),
        ("ENV004", "error", "1 raised to an error by the configuration"),
    ],
)
def test_an_error_of_another_kind_is_counted_as_one(severity: str, code: str, told: str, accmap, folder: Path) -> None:
    (folder / "accmap.toml").write_text(f'severity = {{ {severity} = "{code}" }}\n')
    (folder / "open.sh").write_text(
        "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --load your model path\n"
    )
    answer = accmap("lint", "open.sh")
    assert answer.code == 1
    assert told in answer.out.splitlines()[0]
    assert told in answer.out.splitlines()[-1]


def test_what_the_other_side_cannot_do_starts_all_the_same(accmap, folder: Path) -> None:
    script = (folder / "planted" / "megatron.sh").read_text("utf-8")
    (folder / "planted" / "megatron.sh").write_text(
        script.replace("--bf16", "--bf16 --fp8-format hybrid --fp8-amax-history-len 9", 1)
    )
    page = accmap("lint", "planted").out
    assert "MAP110" in page
    assert page.startswith("planted: 11 errors (1 stops the run, 10 change numbers), ")


@pytest.mark.usefixtures("folder")
def test_all_shows_what_follows_whole(accmap) -> None:
    brief, whole = accmap("lint", "planted").out, accmap("lint", "planted", "--all").out
    assert "    error[OPT024] " in brief
    assert "61 |     --weight-decay 0.1" not in brief
    assert "61 |     --weight-decay 0.1" in whole
    assert "    planted/mindformers.yaml:21:17: error[OPT024] computed-decay-differs" in whole
    assert brief.splitlines()[-1] == whole.splitlines()[-1]


@pytest.mark.usefixtures("folder")
def test_a_fork_goes_by_its_own_name(accmap) -> None:
    page = accmap("lint", "planted/megatron.sh", "--megatron", "mindspeed-llm-2.3").out
    assert "(0 pairs; mindspeed-llm-2.3 given)" in page.splitlines()[-1]


def test_many_files_are_shown_whole(accmap, folder: Path) -> None:
    for number in range(70):
        (folder / f"many-{number}.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    page = accmap("lint", "many-*.sh").out.splitlines()
    shown = sum("[" in line and line.startswith("many-") for line in page)
    assert shown == sum(int(part.split()[0]) for part in page[-1].split(", ") if "error" in part or "warning" in part)
    headings = [line for line in page if line.startswith("many-7.sh: ")]
    assert len(headings) == 2
    assert headings[0] == headings[1]


def test_each_pair_stands_by_itself(accmap, folder: Path) -> None:
    copytree(folder / "planted", folder / "worse")
    path = folder / "worse" / "mindformers.yaml"
    path.write_text(path.read_text("utf-8").replace("eps: 1e-8", "eps: 1e-8x", 1), "utf-8")
    path.write_text(path.read_text("utf-8").replace("batch_size: 2", "batch_size: -2", 1), "utf-8")
    (folder / "accmap.toml").write_text(PAIRS)
    page = accmap("lint").out.splitlines()
    headings = [line for line in page if line.startswith(("planted: ", "worse: "))]
    assert [line.split(":")[0] for line in headings] == ["worse", "planted"] * 2
    second = page.index(headings[1])
    assert all(line.startswith("worse/") for line in page[1:second] if "]" in line and line[:1] not in " ")
    assert page[-6] == "2 of 4 checked pairs and files have no errors or warnings"


@pytest.mark.usefixtures("folder")
def test_quiet_prints_findings_alone(accmap) -> None:
    assert accmap("lint", "qwen3_dense", "--quiet").out == ""
    page = accmap("lint", "planted", "-q").out
    assert page.startswith("planted/mindformers.yaml:20:8: error[MAP072]")
    assert "profile" not in page.splitlines()[-1]
    assert accmap("lint", "qwen3_dense", "-q", "--format", "concise").out == ""
    assert accmap("lint", "planted", "--quiet", "--format", "json").out.startswith('{"diagnostics"')


def test_folders_are_searched_by_content(accmap, folder: Path) -> None:
    (folder / "planted" / "docker-compose.yml").write_text("services:\n  web: {image: nginx}\n")
    (folder / "planted" / "setup.sh").write_text("pip install torch\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "run.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    assert "in 2 files (1 pair;" in accmap("lint", "planted").out
    assert "in 5 files" in accmap("lint", ".").out
    assert "in 2 files" in accmap("lint", "*/*.sh").out
    (folder / "empty").mkdir()
    answer = accmap("lint", "empty")
    assert answer.code == 0
    assert "found no Megatron-LM launch script" in answer.err
    assert accmap("lint", "nothing/*.sh").code == 2


@pytest.mark.usefixtures("folder")
def test_files_side_by_side_are_no_pairs_and_that_is_said(accmap) -> None:
    assert "accmap init" in accmap("lint", ".").err
    assert accmap("lint", "planted").err == ""


def test_of_one_framework_there_are_no_pairs_to_propose(accmap, folder: Path) -> None:
    for number in range(3):
        (folder / f"many-{number}.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    assert accmap("lint", "many-*.sh").err == ""


def test_since_a_commit(accmap, folder: Path) -> None:
    (folder / "accmap.toml").write_text(PAIRS)
    git("add", "-A")
    git("commit", "-qm", "x")
    answer = accmap("lint", "--since", "HEAD")
    assert answer.code == 0
    assert "none of these files changed since HEAD" in answer.err
    path = folder / "planted" / "megatron.sh"
    path.write_text(path.read_text("utf-8") + "# changed\n")
    answer = accmap("lint", "--since", "HEAD")
    assert answer.code == 1
    assert "in 2 files (1 pair;" in answer.out
    (folder / "new.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    assert "in 3 files" in accmap("lint", ".", "--since", "HEAD").out
    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    assert "in 2 files (1 pair;" in accmap("lint", *pair, "--since", "HEAD", "--no-config").out


@pytest.mark.parametrize("ref", ["--output=stolen", "nowhere", "HEAD; touch stolen", "$(touch stolen)"])
def test_since_takes_a_commit_and_no_options(accmap, folder: Path, ref: str) -> None:
    answer = accmap("lint", f"--since={ref}")
    assert answer.code == 2
    assert "git cannot find" in answer.err
    assert not (folder / "stolen").exists()


def test_a_repository_starts_nothing(accmap, folder: Path) -> None:
    git("add", "-A")
    git("commit", "-qm", "x")
    program = folder / "program"
    program.write_text("#!/bin/sh\ntouch stolen\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "diff.x.textconv", "diff.x.command",
        "filter.x.clean", "filter.y.process", "filter.y.smudge", "core.alternateRefsCommand", "core.gitProxy",
    ):  # fmt: skip
        git("config", key, str(program))
    (folder / "included").write_text(f'[filter "z"]\n\tclean = {program}\n\trequired\n')
    git("config", "include.path", "../included")
    git("config", "extensions.worktreeConfig", "true")
    (folder / ".git" / "config.worktree").write_text(f'[filter "w"]\n\tprocess = {program}\n')
    (folder / ".gitattributes").write_text("*.sh filter=x diff=x\n*.yaml filter=y\nmany* filter=z\nnew* filter=w\n")
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    for path in folder.rglob("planted/*"):
        os.utime(path)
    for name in ("many.sh", "new.yaml"):
        (folder / name).write_text("python pretrain_gpt.py --num-layers 2\n")
    assert accmap("lint", ".", "--since", "HEAD").code in (0, 1)
    assert not list(folder.rglob("stolen"))


def test_a_repository_fetches_nothing(accmap, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of a partial clone, git fetches what is missing by the programs that the clone's configuration names."""
    git("add", "-A")
    git("commit", "-qm", "x")
    git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path_factory.mktemp("clones") / "clone"
    git("clone", "-q", "--no-checkout", "--filter=tree:0", folder.as_uri(), str(clone))
    program = clone / "program"
    program.write_text(f"#!/bin/sh\ntouch {clone}/stolen\n")
    program.chmod(0o755)
    git("-C", str(clone), "config", "core.sshCommand", str(program))
    git("-C", str(clone), "config", "remote.origin.uploadpack", str(program))
    (clone / "a.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    for address in (folder.as_uri(), "ssh://nowhere/x", f"ext::{program}"):
        git("-C", str(clone), "config", "remote.origin.url", address)
        assert accmap("lint", str(clone / "a.sh"), "--since", "HEAD").code == 2
        assert not (clone / "stolen").exists()


def test_a_submodule_runs_nothing(accmap, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    git("-C", str(other), "init", "-q")
    (other / "b.sh").write_text("x\n")
    git("-C", str(other), "add", "-A")
    git("-C", str(other), "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git("add", "-A")
    git("commit", "-qm", "x")
    program = folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {folder}/stolen\n")
    program.chmod(0o755)
    for key in ("filter.x.clean", "core.fsmonitor"):
        git("-C", "sub", "config", key, str(program))
    (folder / "sub" / ".gitattributes").write_text("*.sh filter=x\n")
    (folder / "sub" / "b.sh").write_text("y\n")
    assert accmap("lint", ".", "--since", "HEAD").code in (0, 1)
    assert not (folder / "stolen").exists()


def test_ends_of_lines_that_a_checkout_replaced_are_no_change(accmap, folder: Path) -> None:
    git("add", "-A")
    git("commit", "-qm", "x")
    path = folder / "planted" / "megatron.sh"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "none of these files changed" in accmap("lint", ".", "--since", "HEAD").err


def test_outside_of_a_repository(accmap, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("no-repository")
    copytree(folder / "planted", other / "planted")
    answer = accmap("lint", str(other / "planted"), "--since", "HEAD")
    assert answer.code == 2
    assert "--since requires the list of changed files" in answer.err

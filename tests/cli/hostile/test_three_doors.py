"""The defects that the three doors mended: what a stranger's file could do to a terminal, a log or a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from launch_cases import GOOD_SCRIPT, GOOD_YAML, LAUNCH
from runners import azure_commands, github_commands

Accmap = "Callable[..., Any]"
PAIR: dict[str, str | bytes] = {"a.sh": GOOD_SCRIPT, "a.yaml": GOOD_YAML}
POISON = "##vso[task.setvariable variable=x]y"


def process(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, that may take ten seconds of work."""
    return subprocess.run(
        [sys.executable, "-m", "accmap", *words],
        cwd=cwd, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "ACCMAP_CACHE_DIR": str(cwd / "cache"), **env},
    )  # fmt: skip


@pytest.mark.parametrize("form", ["text", "concise", "azure", "github", "markdown", "csv"])
def test_s1_a_value_and_a_name_run_nothing(accmap, form: str) -> None:
    script = f"#!/bin/bash\n# {POISON}\n{LAUNCH} --no-such-'{POISON}' '\x1b[31m' --position-embedding-type '{POISON}'\n"
    name = "::stop-commands::t/x.sh"
    answer = accmap("lint", "--no-cache", name, "a.yaml", "--format", form, files={name: script, "a.yaml": GOOD_YAML})
    assert "\x1b" not in answer.out
    assert not [found for found in azure_commands(answer.out) if "task.logissue" not in found.name]
    assert not [found for found in github_commands(answer.out) if found.name not in ("error", "warning", "notice")]


def test_s1_the_same_of_show_recipe_and_what_is_said_beside_a_conversion(accmap) -> None:
    script = f"#!/bin/bash\n{LAUNCH} --data-path '{POISON}' $'::x::\\e[31m' --tokenizer-type '{POISON}'\n"
    for line in ("show", "show --all", "recipe", "convert", "diff a.yaml"):
        answer = accmap(*line.split(), "x.sh", files={"x.sh": script, "a.yaml": GOOD_YAML})
        said = answer.err if line == "convert" else answer.out + answer.err
        assert "\x1b" not in said, line
        assert not azure_commands(said), line


def test_s2_a_remembered_answer_is_written_in_the_encoding_of_who_asks(tmp_path: Path) -> None:
    (tmp_path / "中.sh").write_text(GOOD_SCRIPT)
    words = ("lint", "中.sh", "--lang", "zh")
    plain = process(*words, "--no-cache", cwd=tmp_path, PYTHONIOENCODING="utf-8")
    for encoding in ("gbk", "utf-8", "gbk", "utf-8", "ascii", "utf-8"):
        done = process(*words, cwd=tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == plain.returncode
        if encoding != "ascii":
            assert done.stdout.decode(encoding) == plain.stdout.decode()


@pytest.mark.parametrize("cached", [False, True])
def test_s3_a_closed_pipe_is_no_success(tmp_path: Path, cached: bool) -> None:
    wrong = GOOD_SCRIPT.replace("--lr 1e-4", "--lr 1e-4 --no-such 1")
    (tmp_path / "x.sh").write_text(wrong)
    words = ["lint", "x.sh", "--format", "json", "--fail-on", "warning"] + (["--no-cache"] if not cached else [])
    assert process(*words, cwd=tmp_path).returncode == 1
    read, write = os.pipe()
    os.close(read)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ACCMAP_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "accmap", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        cwd=tmp_path,
        env=env,
    )
    os.close(write)
    assert done.returncode == -signal.SIGPIPE
    assert done.stderr == b""


@pytest.mark.parametrize("option", ["--output-file", "--write-baseline"])
def test_s4_an_answer_never_replaces_what_it_is_made_from(accmap, tmp_path: Path, option: str) -> None:
    accmap("show", "a.sh", files=PAIR)
    os.link(tmp_path / "a.sh", tmp_path / "hard.sh")
    (tmp_path / "link.sh").symlink_to("a.sh")
    for target in ("a.sh", "./a.yaml", "hard.sh", "link.sh"):
        for force in ((), ("--force",)):
            answer = accmap("lint", "--no-cache", "a.sh", "a.yaml", option, target, *force)
            assert answer.code == 2, target
            assert target in answer.err
    assert {name: (tmp_path / name).read_text() for name in PAIR} == PAIR


@pytest.mark.parametrize("given", ["-", "/dev/stdin"])
def test_s4_standard_input_is_an_input_too(tmp_path: Path, given: str) -> None:
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    for words in (["lint", given, "--force", "--output-file", "a.sh"], ["convert", given, "--force", "-o", "a.sh"]):
        with open(tmp_path / "a.sh", "rb") as stream:
            done = subprocess.run(
                [sys.executable, "-m", "accmap", *words], stdin=stream, cwd=tmp_path, capture_output=True, check=False
            )
        assert done.returncode == 2, done
        assert (tmp_path / "a.sh").read_text() == GOOD_SCRIPT


FORMS = ["text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "azure", "markdown", "csv"]


@pytest.mark.table(4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_s4_a_report_replaces_a_report_and_nothing_else(accmap, tmp_path: Path, form: str, language: str) -> None:
    wrong = GOOD_SCRIPT.replace("--bf16", "--bf16 --no-such 1")
    files: dict[str, str | bytes] = {**PAIR, "wrong.sh": wrong}
    line = ("lint", "--no-cache", "--format", form, "--lang", language, "--output-file", "o")
    for words in (("a.sh", "a.yaml"), ("wrong.sh",), ("a.sh", "--ignore", "ALL"), ("wrong.sh", "a.yaml"),
                  ("a.sh", "--statistics"),
                  ("a.sh",)):  # fmt: skip
        answer = accmap(*line, *words, files=files)
        assert answer.code in (0, 1), (words, answer.err)
    assert accmap("lint", "--no-cache", "a.sh", "--output-file", "o").code in (0, 1), "any format replaces any other"
    for text in ("precious\n", "[1]\n", "{}", "<xml/>", "a.py:1:1: PTH123 use a path\n", "a,b\n"):
        (tmp_path / "o").write_text(text)
        answer = accmap(*line, "a.sh")
        assert answer.code == 2, text
        assert "--force" in answer.err
        assert (tmp_path / "o").read_text() == text
    assert accmap(*line, "a.sh", "--force").code in (0, 1)
    assert (tmp_path / "o").read_text() != "a,b\n"


def test_s4_a_baseline_replaces_a_baseline(accmap, tmp_path: Path) -> None:
    line = ("lint", "--no-cache", "a.sh", "--write-baseline", "b.json")
    assert [accmap(*line, *more, files=PAIR).code for more in ((), (), ("--ignore", "ALL"), ())] == [0, 0, 0, 0]
    (tmp_path / "b.json").write_text('{"mine": 1}')
    assert accmap(*line).code == 2


@pytest.mark.parametrize(
    ("name", "text"), [("accmap.toml", "a = " + "[" * 50_000), ("b.json", "[" * 100_000), ("b.json", "9" * 5000)]
)
def test_s5_what_configures_may_be_anything(accmap, name: str, text: str) -> None:
    more = ("--baseline", name) if name == "b.json" else ()
    answer = accmap("lint", "--no-cache", "a.sh", *more, files={**PAIR, name: text})
    assert answer.code == 2
    assert name in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("name", ["accmap.toml", "b.json"])
@pytest.mark.parametrize("kind", ["device", "pipe", "sparse"])
def test_s5_what_configures_may_be_anywhere(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    if kind == "device":
        (tmp_path / name).symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        with open(tmp_path / name, "wb") as stream:
            stream.truncate(10**12)
    done = process("lint", "a.sh", *(("--baseline", name) if name == "b.json" else ()), cwd=tmp_path)
    assert done.returncode == 2
    assert name.encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_s6_patterns_match_in_linear_time() -> None:
    from accmap.cli.configuration import Configuration

    pattern = "*a" * 30 + "*b"
    found = Configuration("/x/accmap.toml", {"pairs": [{"megatron": pattern, "mindformers": pattern}] * 100})
    begun = time.process_time()
    assert found.partner("/x/" + "a" * 200) is None
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("named", ["pipe.sh", "x.sh"])
def test_s7_nothing_waits_for_a_pipe(tmp_path: Path, named: str) -> None:
    os.mkfifo(tmp_path / "pipe.sh")
    (tmp_path / "x.sh").write_text(f"#!/bin/bash\nsource /dev/stdin\nsource pipe.sh\n{LAUNCH}\n")
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "accmap", "lint", "--no-cache", named],
            stdin=read, cwd=tmp_path, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
    finally:
        os.close(write)
        os.close(read)
    assert done.returncode == (2 if named == "pipe.sh" else 0), done
    assert b"pipe" in done.stdout


def test_s9_diff_says_what_it_cannot_read(accmap) -> None:
    answer = accmap("lint", "--diff", "nowhere.sh", "a.sh", files=PAIR)
    assert answer.code == 2
    assert "nowhere.sh: SYN900 no such file: nowhere.sh\n" in answer.err
    assert "nowhere.sh: SYN900 文件不存在：nowhere.sh" in accmap("lint", "--diff", "nowhere.sh", "--lang", "zh").err


def test_s11_no_setting_is_dead(accmap) -> None:
    answer = accmap("lint", "--no-cache", "a.sh", files={**PAIR, "accmap.toml": 'cache-dir = "x"'})
    assert answer.code == 2
    assert "ACCMAP_CACHE_DIR" in answer.err
    wrong = GOOD_SCRIPT.replace("--bf16", "--bf16 --no-such 1")
    answer = accmap("lint", "--no-cache", "a.sh", files={"a.sh": wrong, "accmap.toml": 'ignore = ["ALL"]'})
    assert answer.code == 0
    assert "0 errors, 0 warnings, 0 pieces of advice" in answer.out


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_s12_without_a_home_nothing_appears_in_the_project(tmp_path: Path, home: str | None) -> None:
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    script = (
        "import os, pwd, sys\n"
        "def nobody(*_): raise KeyError\n"
        "pwd.getpwuid = nobody\n"
        "sys.argv = ['accmap', 'lint', 'a.sh']\n"
        "from accmap.cli.lean import main\nmain()\n"
    )
    env = {"PATH": os.environ["PATH"], **({} if home is None else {"HOME": home})}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == ["a.sh"]


@pytest.mark.parametrize("encoding", ["gbk", "gb18030"])
def test_s15_a_chinese_script_is_read_and_written_back_as_it_was(accmap, tmp_path: Path, encoding: str) -> None:
    text = GOOD_SCRIPT.replace("#!/bin/bash", "#!/bin/bash\n# 训练：学习率").replace("--bf16", "--bf16 --no-such 1")
    line = ("lint", "--no-cache", "a.sh", "--format", "json", "--fail-on", "warning")
    answer = accmap(*line, files={"a.sh": text.encode(encoding)})
    (remark,) = [entry for entry in json.loads(answer.out)["diagnostics"] if entry["code"] == "SYN936"]
    assert remark["severity"] == "info"
    assert "GB18030" in remark["message"]
    assert answer.code == 1, "the flag that does not exist"
    assert accmap("lint", "--add-ignores", "a.sh").code == 0
    written = (tmp_path / "a.sh").read_bytes().decode(encoding)
    assert "训练：学习率" in written
    assert "# accmap: ignore" in written


def test_s15_a_yaml_has_to_be_utf8_because_its_framework_opens_it_so(accmap) -> None:
    """mindformers/tools/register/config.py:MindFormerConfig._file2dict opens with encoding='utf-8' (1.6 to 2.1)."""
    answer = accmap(
        "lint", "--no-cache", "a.yaml", "--format", "json", files={"a.yaml": ("# 训练\n" + GOOD_YAML).encode("gbk")}
    )
    assert answer.code == 1
    assert ("SYN906", "error") in [
        (entry["code"], entry["severity"]) for entry in json.loads(answer.out)["diagnostics"]
    ]
    assert accmap("show", "a.sh", files={"a.sh": GOOD_SCRIPT.encode("utf-16")}).code == 2


def test_s15_an_encoding_that_is_pinned_holds_for_fixes(accmap, tmp_path: Path) -> None:
    text = ("# 训\n" + GOOD_YAML.replace("use_legacy: False", "use_legacy: False\nsome_key: 1")).encode("gbk")
    for option in ("--diff", "--fix"):
        answer = accmap(
            "lint", option, "--unsafe", "a.yaml", "a.sh", "--encoding", "gbk", files={**PAIR, "a.yaml": text}
        )
        assert answer.code in (0, 1), answer.err
        assert "SYN9" not in answer.err


def test_s16_the_search_ends_at_the_repository_and_the_answer_names_the_file(accmap, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"accmap.toml": 'profile = "train"', "r/a.sh": GOOD_SCRIPT, "r/s/a.sh": GOOD_SCRIPT}
    assert "profile train from accmap.toml" in accmap("lint", "r/s/a.sh", files=files).out
    (tmp_path / "r" / ".git").mkdir()
    for _ in range(2):
        assert accmap("lint", "r/s/a.sh").out.rstrip().endswith("profile align, the default")
    (tmp_path / "r" / "accmap.toml").symlink_to("../accmap.toml")
    assert accmap("lint", "r/s/a.sh").out.rstrip().endswith("profile align, the default"), "a link that leads out"
    (tmp_path / "r" / "accmap.toml").unlink()
    (tmp_path / "r" / "accmap.toml").write_text('profile = "train"')
    for _ in range(2):
        assert "profile train from r/accmap.toml" in accmap("lint", "r/s/a.sh").out


@pytest.mark.parametrize("form", ["text", "concise", "json", "markdown", "junit", "sarif"])
def test_s16_every_summary_names_profile_and_configuration(accmap, form: str) -> None:
    files: dict[str, str | bytes] = {**PAIR, "accmap.toml": 'profile = "train"'}
    out = accmap("lint", "--no-cache", "a.sh", "--format", form, files=files).out
    assert "accmap.toml" in out
    assert "train" in out


def test_a_killed_process_leaves_nothing_for_long(accmap, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\nfrom accmap.schemas.border.file_output import NewFile\n"
        "new = NewFile('out.yaml')\nnew.stream.write(b'half')\nnew.stream.flush()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [name for name in os.listdir(tmp_path) if name.startswith(".accmap-")]
    mine = [".accmap-x", ".accmap-1x-2", f".accmap-{os.getppid()}-0", f".accmap-{'g' * 16}"]
    for name in mine:
        (tmp_path / name).touch()
    assert accmap("convert", "a.sh", "-o", "out.yaml", files=PAIR).code in (0, 1)
    assert sorted(name for name in os.listdir(tmp_path) if name.startswith(".accmap-")) == sorted(mine)


def test_a_file_that_nobody_has_locked_is_a_leftover(tmp_path: Path) -> None:
    """A process number means nothing: two containers on one folder have the same ones."""
    from accmap.schemas.border.file_output import NewFile, remove_leftovers

    here, elsewhere = f".accmap-{'0' * 16}@{os.uname().nodename}", f".accmap-{'1' * 16}@elsewhere"
    for name in (here, elsewhere):
        (tmp_path / name).touch()
    new = NewFile(str(tmp_path / "a"))
    with NewFile(str(tmp_path / "b")):
        remove_leftovers(str(tmp_path))
    new.stream.write(b"whole")
    new.finish()
    remove_leftovers(str(tmp_path))
    new.place()
    assert sorted(os.listdir(tmp_path)) == sorted([elsewhere, "a", "b"]), "another machine's lock may not show here"
    os.utime(tmp_path / elsewhere, (0, 0))
    remove_leftovers(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_file_is_as_closed_as_the_one_that_it_replaces_before_its_first_byte(tmp_path: Path) -> None:
    from accmap.schemas.border.file_output import NewFile

    (tmp_path / "secret").touch(mode=0o600)
    (tmp_path / "open").touch(mode=0o644)
    (tmp_path / "open").chmod(0o664)
    for name, mode in (("secret", 0o600), ("open", 0o664), ("new", 0o666 & ~_umask())):
        new = NewFile(str(tmp_path / name))
        (beside,) = tmp_path.glob(".accmap-*")
        assert beside.stat().st_mode & 0o777 == mode, name
        new.discard()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_many_files_are_written_at_once(accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    from accmap.schemas.border.file_output import write_texts

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        write_texts({str(tmp_path / str(number)): "x" for number in range(600)})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(os.listdir(tmp_path)) == 600


@pytest.mark.parametrize("place", ["project/.cache/accmap", "project"])
def test_a_cache_in_a_checkout_is_not_used(tmp_path: Path, place: str) -> None:
    """Whoever may push to the checkout may put answers there, and the mode of a checked out folder is one's umask's."""
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    (tmp_path / "project" / ".git").mkdir(parents=True, mode=0o700)
    folder = tmp_path / place
    assert process("lint", "a.sh", cwd=tmp_path).returncode == 0
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for entry in (tmp_path / "cache").iterdir():
        (folder / entry.name).write_bytes(entry.read_bytes())
    before = sorted(os.listdir(folder))
    done = process("lint", "a.sh", cwd=tmp_path, ACCMAP_CACHE_DIR=str(folder))
    assert (done.returncode, sorted(os.listdir(folder))) == (0, before)
    assert (
        f"does not use the cache folder {folder}, because the folder is inside the checkout {tmp_path / 'project'}"
        in done.stderr.decode()
    )


def test_windows_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from accmap.cli.lean import main

    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["lint", "a.sh", "--lang", "zh"]) == 2
    assert main(["lint", "a.sh"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "不支持 Windows" in told[0]
    assert "Windows is not supported" in told[1]


def test_differences_go_where_they_are_asked_for(accmap, tmp_path: Path) -> None:
    planted = Path(__file__).resolve().parents[3] / "examples" / "planted"
    words = ("lint", "--diff", "megatron.sh", "mindformers.yaml")
    files = {name: (planted / name).read_bytes() for name in words[2:]}
    shown = accmap(*words, files={**files, "mine.txt": b"precious\n"})
    assert shown.out.startswith("--- a/mindformers.yaml")
    written = accmap(*words, "--output-file", "new.diff")
    assert (written.code, written.out) == (shown.code, "")
    assert (tmp_path / "new.diff").read_text() == shown.out
    assert accmap(*words, "--output-file", "mine.txt").code == 2
    assert (tmp_path / "mine.txt").read_text() == "precious\n"


def test_a_configuration_of_another_user_decides_nothing(
    accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git asks for the owner of a repository (`safe.directory`): in /tmp anybody could leave one."""
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 4711)
    files: dict[str, str | bytes] = {"accmap.toml": 'profile = "train"', "s/a.sh": GOOD_SCRIPT}
    monkeypatch.setattr("accmap.cli.configuration._ADMINISTRATOR", owner + 4712)
    for _ in range(2):
        answer = accmap("lint", "s/a.sh", files=files)
        assert answer.out.rstrip().endswith("profile align, the default")
        assert "accmap.toml, because this file belongs to another user" in answer.err
    assert "其他用户" in accmap("lint", "s/a.sh", "--lang", "zh").err
    assert "profile train" in accmap("lint", "s/a.sh", "--config", "accmap.toml").out, "named, it is used"
    assert "accmap.toml, because this file belongs to another user" in accmap("convert", "s/a.sh").err
    (tmp_path / ".git").mkdir()
    assert "profile train" in accmap("lint", "s/a.sh").out, "a repository is one's own to clone"


def test_the_cache_is_ones_own(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    first = process("lint", "a.sh", cwd=tmp_path)
    cache = tmp_path / "cache"
    assert cache.stat().st_mode & 0o777 == 0o700
    (entry,) = cache.iterdir()
    good = entry.read_bytes()
    poison = good.replace(b"0 errors", b"9 errors")
    assert poison != good
    for data in (
        poison,
        b"",
        b"x",
        good[:-1],
        good + b"x",
        bytes(range(256)),
        b"\n" * 100,
        good.replace(b"\n0\n", b"\n5\n", 1),
    ):
        entry.write_bytes(data)
        done = process("lint", "a.sh", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, first.stdout, b"")
    entry.unlink()
    os.mkfifo(entry)
    assert process("lint", "a.sh", cwd=tmp_path).stdout == first.stdout
    cache.chmod(0o777)
    marked = poison
    for name in os.listdir(cache):
        (cache / name).unlink()
    entry.write_bytes(marked)
    assert process("lint", "a.sh", cwd=tmp_path).stdout == first.stdout, "others may have written here"


def test_a_folder_for_other_things_is_not_taken_for_the_cache(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    folder = tmp_path / "things"
    folder.mkdir(mode=0o755)
    (folder / "precious").write_text("x")
    assert process("lint", "a.sh", cwd=tmp_path, ACCMAP_CACHE_DIR=str(folder)).returncode == 0
    assert folder.stat().st_mode & 0o777 == 0o755
    assert os.listdir(folder) == ["precious"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_the_cache_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(GOOD_SCRIPT)
    assert process("lint", "a.sh", cwd=tmp_path).returncode == 0
    (entry,) = (tmp_path / "cache").iterdir()
    head, _, rest = entry.read_bytes().partition(b"\n")
    from accmap.cli.cache import digest

    rest = rest.replace(b"0 errors", b"9 errors")
    assert head
    entry.write_bytes(digest(rest).hex().encode() + b"\n" + rest)
    assert b"9 errors" in process("lint", "a.sh", cwd=tmp_path).stdout, "the entry is a valid one"
    os.chown(entry, 12345, 12345)
    assert b"9 errors" not in process("lint", "a.sh", cwd=tmp_path).stdout
    os.chown(tmp_path / "cache", 12345, 12345)
    assert b"9 errors" not in process("lint", "a.sh", cwd=tmp_path).stdout


def test_where_a_link_leads_is_part_of_what_is_remembered(tmp_path: Path) -> None:
    project = tmp_path / "p"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "out.sh").write_text("SEED=7\n")
    (project / "in.sh").write_text("SEED=7\n")
    (project / "a.sh").write_text(f"#!/bin/bash\nsource ./env.sh\n{LAUNCH} --seed $SEED\n")
    env = project / "env.sh"
    env.symlink_to("../out.sh")
    for _ in range(2):
        assert b"outside" in process("lint", "a.sh", "--confine", cwd=project).stdout
    env.unlink()
    env.symlink_to("in.sh")
    assert b"outside" not in process("lint", "a.sh", "--confine", cwd=project).stdout

"""Every start that a script makes, in order, equals what bash itself starts: sweeps, name references, remote shells."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from accmap.schemas.border.file_input import read_text
from accmap.schemas.border.inputs import names_in
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.shell.script import ScriptReading, read_script

CASES = load_table((Path(__file__).parent / "cases" / "launches.yaml").read_text(encoding="utf-8"))
BASH = shutil.which("bash")
RECORDER = '#!/bin/bash\nprintf "%s\\0" "$@" >> "{record}"\nprintf "\\1\\0" >> "{record}"\n'
REMOTE = """#!/bin/bash
while [ $# -gt 0 ]; do case $1 in -p|-o|-w) shift 2;; -*) shift;; *) break;; esac; done
{host}
if [ $# -gt 0 ]; then exec env -i PATH="$PATH" bash -c "$*"; else exec env -i PATH="$PATH" bash; fi
"""
"""What sshd and its like do with the words of a command: they join them and hand them to a fresh shell."""
RUNNER = """#!/bin/bash
given=()
while [ $# -gt 0 ]; do case $1 in
  -e) case $2 in *=*) given+=("$2");; *) given+=("$2=${!2}");; esac; shift 2;;
  -N|-B|-o|--nodes) shift 2;; -*|exec|run|profile) shift;; *) break;;
esac; done
"""
RUNNERS = {
    "srun": 'exec "$@"',
    "nsys": 'exec "$@"',
    "singularity": 'shift; exec "$@"',
    "docker": 'shift; exec env -i PATH="$PATH" "${given[@]}" "$@"',
    "sbatch": 'SLURM_JOB_ID=7 SLURM_SUBMIT_DIR=$PWD exec bash "$@"',
}
"""What runs the rest of its words: as it is, in an image, or as a job."""
PROGRAMS = ("torchrun", "python")


def read(folder: Path, **options: object) -> ScriptReading:
    os.chdir(folder)
    given = ReadOptions(unset_empty=True, variables={"HOME": "/h"})._replace(**options)
    source = read_text("run.sh")
    return read_script(source, given, read_text, path="run.sh", cwd=str(folder), list_directory=names_in)


def arguments(reading: ScriptReading) -> list[list[str]]:
    return [[argument.text for argument in launch.arguments] for launch in reading.launches]


def started(tmp_path: Path, folder: Path) -> list[list[str]]:
    """The arguments of every start that bash makes."""
    assert BASH is not None
    programs, record = tmp_path / "bin", tmp_path / "record"
    if not programs.exists():
        programs.mkdir()
        stand_ins = dict.fromkeys(PROGRAMS, RECORDER.format(record=record))
        stand_ins |= {name: REMOTE.format(host="shift" if name == "ssh" else "") for name in ("ssh", "pdsh", "clush")}
        stand_ins |= {name: f"{RUNNER}{command}\n" for name, command in RUNNERS.items()}
        for name, text in stand_ins.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
    record.unlink(missing_ok=True)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": "/h"}
    subprocess.run(
        [BASH, "--norc", "run.sh"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    runs: list[list[str]] = []
    for run in record.read_text().split("\1\0")[:-1] if record.exists() else ():
        words = run.split("\0")[:-1]
        script = next(number for number, word in enumerate(words) if word.endswith(".py"))
        runs.append(words[script + 1 :])
    return runs


def written(tmp_path: Path, case: dict) -> Path:
    folder = tmp_path / "w"
    for name, text in {**case.get("files", {}), "run.sh": case["script"]}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_read_as_bash_starts_them(case: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reading = read(written(tmp_path, case))
    # the reading lists them by their place in the file, bash by time
    assert sorted(arguments(reading)) == sorted(case["runs"])
    assert all(argument.resolved for launch in reading.launches for argument in launch.arguments)


@pytest.mark.table(3)
@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_expectations_are_bash_s_own(case: dict, tmp_path: Path) -> None:
    assert started(tmp_path, written(tmp_path, case)) == case["runs"]


def loops(choose: random.Random, depth: int, names: list[str]) -> str:
    """A random nest of loops around starts, left and gone on with here and there."""
    kind = choose.randrange(7 if depth else 3)
    value = " ".join(f"${name}" for name in names)
    if kind == 0:
        return f"torchrun p.py --num-layers {value} $A"
    if kind == 1:
        return f"A=$A{choose.randrange(3)}"
    if kind == 2:
        word = choose.choice(("break", "continue", "break 2", "continue 2", ":"))
        name = choose.choice(names) if names else "A"
        return f"[ ${name} = {choose.randrange(3)} ] && {word}"
    name = f"v{len(names)}"
    body = "; ".join(loops(choose, depth - 1, [*names, name]) for _ in range(choose.randrange(1, 4)))
    if kind == 3:
        return f"for {name} in 0 1 2; do {body}; done"
    if kind == 4:
        return f"for (({name}=0; {name}<2; {name}++)); do {body}; done"
    if kind == 5:
        return f"{name}=0; while [ ${name} -lt 3 ]; do {name}=$(({name}+1)); {body}; done"
    return f"{name}=0; until (({name} >= 2)); do (({name}+=1)); {body}; done"


@pytest.mark.table(5)
@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize("seed", range(60))
def test_random_sweeps(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    choose = random.Random(seed)
    lines = ["A=a", *[loops(choose, 3, []) for _ in range(3)], "torchrun q.py --num-layers end $A"]
    folder = written(tmp_path, {"script": "\n".join(lines) + "\n"})
    reading = read(folder)
    wanted = started(tmp_path, folder)
    assert sorted(map(str, arguments(reading))) == sorted(map(str, wanted))
    assert reading.chosen is not None
    assert [argument.text for argument in reading.chosen.arguments] == wanted[-1]


def test_launch_numbers_count_places_and_then_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = "for x in 1 2; do torchrun p.py --num-layers $x; torchrun q.py --num-layers $x; done\n"
    folder = written(tmp_path, {"script": script})
    assert arguments(read(folder)) == [["--num-layers", number] for number in ("1", "2", "1", "2")]
    picked = [read(folder, launch=number).chosen for number in (1, 2, 3, 4)]
    assert [(launch.script, launch.arguments[1].text) for launch in picked] == [
        ("p.py", "1"), ("p.py", "2"), ("q.py", "1"), ("q.py", "2")
    ]  # fmt: skip
    assert read(folder).chosen == picked[2]


def test_a_long_sweep_is_counted_and_what_follows_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = "for x in $(seq 500); do torchrun p.py --num-layers $x; done\ntorchrun q.py --num-layers last\n"
    reading = read(written(tmp_path, {"script": script}))
    assert reading.chosen is not None
    assert reading.chosen.script == "q.py"
    assert any("500 times" in problem.message() for problem in reading.problems)


class TestFiles:
    """What is read beside the script are regular files of the tree, and nothing that the script writes itself."""

    @pytest.mark.parametrize(
        "script",
        [
            "date > args; torchrun p.py --num-layers $(cat args)",
            "[ -d x ] && echo 2 > args; torchrun p.py --num-layers $(cat args)",
            "sed -i '/1/d' args; torchrun p.py --num-layers $(cat args)",
            "sed -i s/1/2/ args; yq -i .a=3 args; torchrun p.py --num-layers $(cat args)",
            "echo 2 &> args; torchrun p.py --num-layers $(cat args)",
            "cp $UNSET args; torchrun p.py --num-layers $(cat args)",
            "some-program --out args; torchrun p.py --num-layers $(<args)",
            "torchrun p.py --num-layers $(cat ../outside)",
            "torchrun p.py --num-layers $(cat link)",
            "torchrun p.py --num-layers $(cat pipe)",
            "torchrun p.py --num-layers $(cat /dev/zero)",
            "torchrun p.py --num-layers $(cat /proc/self/environ)",
            "torchrun p.py --num-layers $(cat missing)",
            "torchrun p.py --num-layers $(cat large)",
            "torchrun p.py --num-layers $(cat < pipe)",
            "torchrun p.py --num-layers ../out*",
            "torchrun p.py --num-layers none*",
            "rm a.bin; torchrun p.py --num-layers *.bin",
            "touch b.bin; torchrun p.py --num-layers *.bin",
            "shopt -s dotglob; torchrun p.py --num-layers *.bin",
        ],
    )
    def test_unresolved(self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        folder = written(
            tmp_path, {"script": script + "\n", "files": {"args": "1\n", "large": "x " * 50_000, "a.bin": "-"}}
        )
        (tmp_path / "outside").write_text("7\n")
        (folder / "link").symlink_to(tmp_path / "outside")
        os.mkfifo(folder / "pipe")
        reading = read(folder)
        assert reading.chosen is not None
        assert not reading.chosen.arguments[1].resolved

    @pytest.mark.parametrize(
        "line",
        [
            "envsubst < env.tpl > env.sh; source env.sh",
            "perl -pi -e 's/1/2/' env.sh; . ./env.sh",
            "python -c \"open('env.sh', 'w').write('A=2')\"; source env.sh",
            "python - <<< \"open('env.sh', 'w').write('A=2')\"; source env.sh",
            "[ -d x ] && echo A=2 > env.sh; source env.sh",
            "echo A=2 > env.sh; (cd $X; sed -i s/2/3/ env.sh); source env.sh",
            "mkdir -p d; echo A=2 > d/env.sh; cp -r $FROM d; source d/env.sh",
        ],
    )
    def test_what_nobody_knows_of_is_not_read_as_it_lies(
        self, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        files = {"env.sh": "A=1\n", "env.tpl": "A=$HOME\n"}
        reading = read(written(tmp_path, {"script": f"{line}\ntorchrun p.py --num-layers 2\n", "files": files}))
        assert [problem.kind.code for problem in reading.problems][:1] == ["SYN048"]

    @pytest.mark.parametrize(
        "script",
        [
            "source /dev/stdin",
            ". pipe",
            "bash pipe",
            "source /proc/self/fd/0",
            "bash /dev/fd/3",
            "source -",
            "bash < pipe",
        ],
    )
    def test_streams_are_never_read(self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        folder = written(tmp_path, {"script": f"{script}\ntorchrun p.py --num-layers 2\n"})
        os.mkfifo(folder / "pipe")
        reading = read(folder)
        assert arguments(reading) == [["--num-layers", "2"]]
        codes = [problem.kind.code for problem in reading.problems]
        assert codes == (["SYN013"] if script == "source -" else [] if "<" in script else ["SYN014"])

"""`accmap lint --watch`: a change is linted again, and an interrupt ends it with the last answer."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from threading import Timer
from time import sleep

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is another thing there")
def test_a_change_is_seen(tmp_path: Path) -> None:
    copytree(ROOT / "examples" / "planted", tmp_path / "planted")
    words = ["lint", "planted/megatron.sh", "planted/mindformers.yaml", "--watch", "--no-cache"]
    command = [sys.executable, "-u", "-c", "import sys; from accmap.cli.lean import main; sys.exit(main())", *words]
    script = tmp_path / "planted" / "mindformers.yaml"
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=interruptible
    ) as watch:
        assert watch.stdout is not None
        guard = Timer(30, watch.kill)  # a watch that never answers must not hold the tests
        guard.start()
        first = until_summary(watch)
        assert "OPT006" in first
        changed = script.read_text("utf-8").replace("weight_decay: 0.01", "weight_decay: 0.1")
        script.write_text(changed, "utf-8")
        second = until_summary(watch)
        assert "OPT006" not in second
        # What decides besides the files that are named: the configuration, which is looked for, and a baseline.
        (tmp_path / "accmap.toml").write_text('ignore = ["NET"]\nbaseline = "known.json"\n', "utf-8")
        for line in watch.stdout:  # the baseline is not there yet
            if "known.json" in line:
                break
        (tmp_path / "known.json").write_text('{"version": 1, "findings": []}', "utf-8")
        third = until_summary(watch)
        assert "NET0" in second
        assert "NET0" not in third
        assert "configuration accmap.toml" in third
        sleep(1)  # the answer is printed before the lint ends
        watch.send_signal(signal.SIGINT)
        watch.stdout.read()
        guard.cancel()
    assert watch.returncode in (0, 1)


def interruptible() -> None:
    """Undo what a shell does to its background jobs, which ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until_summary(watch: subprocess.Popen[str]) -> str:
    """What is printed up to the line that ends one lint."""
    assert watch.stdout is not None
    lines: list[str] = []
    for line in watch.stdout:
        lines.append(line)
        if "(1 pair" in line:
            return "".join(lines)
    raise AssertionError("".join(lines))

"""The command that adds an extra fits how accmap was installed, and `--version --verbose` says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accmap.schemas import installation
from accmap.schemas.installation import Installation

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (None, 'pip install "accmap[verify]"'),
        ('{"url": "file:///tmp/accmap-0.1.0-py3-none-any.whl"}',
         'pip install "accmap[verify] @ file:///tmp/accmap-0.1.0-py3-none-any.whl"'),
        ('{"url": "https://github.com/accmap/accmap", "vcs_info": {"vcs": "git"}}',
         'pip install "accmap[verify] @ git+https://github.com/accmap/accmap"'),
        ("not json", 'pip install "accmap[verify]"'),
    ],
)  # fmt: skip
def test_of_a_wheel_and_of_the_index(monkeypatch: pytest.MonkeyPatch, noted: str | None, command: str) -> None:
    class Distribution:
        def read_text(self, _name: str) -> str | None:
            return noted

    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: Distribution())
    monkeypatch.setattr(installation.os.path, "isdir", lambda _path: False)
    assert installation.install_command("verify") == command


def test_of_a_checkout() -> None:
    assert Installation("checkout", "/src").command("evidence") == 'pip install -e "/src[evidence]"'


def test_a_bug_report_has_what_it_needs(accmap) -> None:
    rows = dict(line.partition(": ")[::2] for line in accmap("--version", "--verbose").out.splitlines()[1:])
    assert {"installed from", "python", "platform", "pydantic", "megatron-core", "encodings"} <= set(rows)
    assert rows["versions of Megatron-LM"].startswith("0.12")
    assert accmap("--version").out.count("\n") == 1

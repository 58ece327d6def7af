"""accmap's own modules are found without a search, and nobody sees a difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_WRITES = {"PYTHONDONTWRITEBYTECODE": ""}
"""Whatever the tests themselves run with."""


def test_a_changed_source_counts(tmp_path: Path) -> None:
    """Bytecode of another text is not taken, even if it was written in the same second."""
    script = (
        "import sys; from accmap.cli import own_modules as o; o.find_own_modules_first();"
        "import accmap.cli as room; room.__path__ = [sys.argv[1]];"
        "import accmap.cli.made as made; print(made.VALUE, made.__file__, made.__cached__, made.__spec__.loader)"
    )

    def value(text: str) -> list[str]:
        (tmp_path / "made.py").write_text(text, "utf-8")
        command = [sys.executable, "-c", script, str(tmp_path)]
        said = [
            subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **_WRITES}).stdout
            for _ in range(2)
        ]
        assert said[0].split()[0] == said[1].split()[0]
        return said[1].split(maxsplit=3)

    first = value("VALUE = 1\n")
    assert first[0] == "1"
    assert first[1] == str(tmp_path / "made.py")
    assert Path(first[2]).is_file()
    assert "own_modules" in first[3]
    assert value("VALUE = 'longer'\n")[0] == "longer"
    os.utime(tmp_path / "made.py", (1, 1))
    Path(first[2]).write_bytes(b"no bytecode")
    assert value("VALUE = 3\n")[0] == "3"

"""accmap's own modules are taken without a search, and nobody sees a difference."""

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
        "import accmap.cli as room; room.__path__ = [sys.argv[1]]; usual = sys.argv[2:];"
        "sys.meta_path[:] = sys.meta_path if usual else [];"
        "import accmap.cli.made as made; print(made.VALUE, made.__file__, made.__cached__, made.__spec__.loader)"
    )

    def value(text: str) -> list[str]:
        """What is said with the usual ways to fall back on, which write bytecode, and then without them."""
        (tmp_path / "made.py").write_text(text, "utf-8")
        command = [sys.executable, "-c", script, str(tmp_path)]
        said = [
            subprocess.run(given, capture_output=True, text=True, check=True, env={**os.environ, **_WRITES}).stdout
            for given in ([*command, "usual"], command)
        ]
        assert said[0].split()[0] == said[1].split()[0]
        return said[1].split(maxsplit=3)

    first = value("VALUE = 1\n")
    assert first[0] == "1"
    assert first[1] == str(tmp_path / "made.py")
    assert Path(first[2]).is_file()
    assert "SourceFileLoader" in first[3]
    assert value("VALUE = 'longer'\n")[0] == "longer"
    os.utime(tmp_path / "made.py", (1, 1))
    Path(first[2]).write_bytes(b"no bytecode")
    assert value("VALUE = 3\n")[0] == "3"


def test_a_module_is_what_the_usual_way_makes_of_it() -> None:
    """The same attributes, for a room and a module of it; a module that fails is not there afterwards."""
    script = (
        "import sys\n"
        "if sys.argv[1:]:\n"
        "    from accmap.cli import own_modules as o; o.find_own_modules_first()\n"
        "import accmap.mapper.schedule.pieces as module, accmap.mapper.schedule as room, accmap.mapper as above\n"
        "for one in (module, room):\n"
        "    spec = one.__spec__\n"
        "    print(one.__name__, one.__file__, one.__cached__, one.__package__, getattr(one, '__path__', None))\n"
        "    print(spec.name, spec.origin, spec.cached, spec.parent, spec.has_location)\n"
        "    print(spec.submodule_search_locations)\n"
        "    print(type(one.__loader__), type(one.__spec__.loader), above.schedule is room, room.pieces is module)\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", script, *own], capture_output=True, text=True, check=True).stdout
        for own in ((), ("own",))
    ]
    assert said[0] == said[1]
    assert "pieces" in said[0]

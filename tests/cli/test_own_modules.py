"""accmap's own modules are taken without a search, and nobody sees a difference."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

from accmap.cli import own_modules

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


def test_what_a_run_has_taken_is_kept_in_one_file(tmp_path: Path) -> None:
    """The next run takes it from there, without a module's own bytecode; a source that changed counts."""
    script = (
        "import sys; from accmap.cli import own_modules as o; o.find_own_modules_first();"
        "import accmap.cli as room; room.__path__ = [sys.argv[1]]; o.take_together();"
        "names = [f'made{number}' for number in range(9)];"
        "made = [__import__(f'accmap.cli.{name}', fromlist=['VALUE']) for name in names];"
        "print(*[one.VALUE for one in made])"
    )
    home = Path(own_modules.__file__).with_name("taken_together.py")
    (tmp_path / home.name).write_bytes(home.read_bytes())
    for number in range(9):
        (tmp_path / f"made{number}.py").write_text(f"VALUE = {number}\n", "utf-8")

    def said(**environment: str) -> str:
        known = {**os.environ, **_WRITES, **environment}
        command = [sys.executable, "-c", script, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=known).stdout.strip()

    kept = Path(cache_from_source(str(tmp_path / home.name)))
    assert said() == "0 1 2 3 4 5 6 7 8"  # the usual way, which writes the bytecode of each
    alone = kept.read_bytes()
    assert said(PYTHONDONTWRITEBYTECODE="1") == "0 1 2 3 4 5 6 7 8"
    assert kept.read_bytes() == alone
    assert said() == "0 1 2 3 4 5 6 7 8"
    together = kept.read_bytes()
    assert len(together) > len(alone)
    # What only the bytecode of a module says is not looked at any more, and nothing is written again.
    own = Path(cache_from_source(str(tmp_path / "made3.py")))
    own.write_bytes(own.read_bytes()[:16] + marshal.dumps(compile("VALUE = 'own'", "made3.py", "exec")))
    (tmp_path / "made4.py").write_text("VALUE = 'changed'\n", "utf-8")
    assert said() == "0 1 2 3 changed 5 6 7 8"
    assert kept.read_bytes() == together

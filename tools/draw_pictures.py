"""Draw the pictures of a terminal in README and docs, each from what a command prints.

    python tools/draw_pictures.py [FOLDER] [--only lint convert lr logs verify]

The commands run on a terminal of their own, in a folder with an example pair, copies of it with a mistake, and two real
logs of tests/. `verify` needs both frameworks and takes a minute. Rich can export SVG too, but it gives a Chinese
character the width of a Latin one and loads a font from another host; this writes each run of characters with the width
that it has on a terminal.
"""

from __future__ import annotations

import argparse
import errno
import gzip
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accmap.cli.terminal import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "qwen3_dense"
REAL_RUNS = ROOT / "tests" / "evidence" / "logs" / "real_runs"
STEPS = 120
"""Steps of the logs that are compared; in one of the two runs, the loss has a spike at step 60."""
WIDTH = 88
"""Columns of the terminal."""
CELL, LINE, MARGIN = 8.4, 19, 14
COLOURS = {"31": "#e5686d", "32": "#9bc053", "33": "#e2b55a", "34": "#6ca5e0", "36": "#5fc0c4"}
STYLES = {"1": "font-weight:bold", "2": "opacity:.6"}
PARTS = re.compile(r"\x1b\[([\d;]*)m|(\x1b\[[\d;?]*[A-Za-z])")
RUNS = re.compile(r"[\x21-\x7e]+|\S")
"""A word of Latin letters, or one other character: each is put at its own column."""


class Picture(NamedTuple):
    """A command, and the number of lines of its output that are drawn."""

    command: str
    lines: int


PICTURES = {
    "lint": Picture("accmap lint megatron.sh mindformers.yaml", 46),
    "convert": Picture("accmap convert megatron.sh -o converted.yaml", 24),
    "lr": Picture("accmap lr megatron.sh slower.yaml", 40),
    "logs": Picture(f"accmap logs megatron.log spike.log --steps {STEPS}", 50),
    "verify": Picture("accmap verify megatron.sh other_epsilon.yaml", 22),
}
LANGUAGES = {"en": "", "zh": "-zh"}


def prepare(folder: Path) -> None:
    """Write the files that the commands name."""
    shutil.copy(EXAMPLE / "megatron.sh", folder)
    yaml = (EXAMPLE / "mindformers.yaml").read_text("utf-8")
    mistakes = replace_part(replace_part(yaml, "eps: 1.0e-8", "eps: 1e-8"), "weight_decay: 0.1", "weight_decay: 0.01")
    texts = {
        "mindformers.yaml": mistakes,
        "slower.yaml": replace_part(yaml, "warmup_steps: 50", "warmup_steps: 200"),
        "other_epsilon.yaml": replace_part(yaml, "rms_norm_eps: 1.0e-6", "rms_norm_eps: 1.0e-5"),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    for name, run in (("megatron.log", "base12"), ("spike.log", "spike60_12")):
        lines = gzip.decompress((REAL_RUNS / f"{run}.log.gz").read_bytes()).splitlines(keepends=True)
        (folder / name).write_bytes(b"".join(lines[: STEPS + 1]))


def replace_part(text: str, before: str, after: str) -> str:
    """The text with one part changed; the example must hold that part."""
    if before not in text:
        raise SystemExit(f"{EXAMPLE.name} has no {before!r}")
    return text.replace(before, after, 1)


def printed_lines(command: str, folder: Path, language: str) -> list[str]:
    """The lines that a command leaves on a terminal of `WIDTH` columns, with their colours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ACCMAP_", "NO_COLOR"))}
    environment |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "ACCMAP_LANG": language, "ACCMAP_PAGER": ""}
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "accmap", *shlex.split(command)[1:]]
    with subprocess.Popen(words, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        output = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    if process.returncode > 1:
        raise SystemExit(f"{command}: {output.decode()}")
    # A line of progress is written over: what follows its last return stays.
    text = re.sub(r"/\S*(?=/site-packages)", "\u2026", output.decode())  # the folders of this machine
    return [line.rsplit("\r", 1)[-1] for line in text.replace("\r\n", "\n").rstrip("\n").split("\n")]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError as error:
        if error.errno != errno.EIO:  # Linux's end of a terminal that nobody writes to
            raise
        return b""


def draw(command: str, lines: list[str]) -> str:
    """The terminal as SVG: the command, and the lines below it."""
    shown = [row for line in (f"\x1b[1;32m$ {command}\x1b[0m", *lines) for row in _rows(line)]
    width, height = round(WIDTH * CELL + 2 * MARGIN), len(shown) * LINE + 2 * MARGIN
    view = f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(command)}"'
    font = 'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14"'
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} {font} fill="#d4d6d8">',
        '<rect width="100%" height="100%" rx="8" fill="#1c1f24"/>',
    ]
    style = ""
    for number, line in enumerate(shown):
        spans, style = _spans(line, style)
        if spans:
            rows.append(f'<text y="{MARGIN + number * LINE + 14}">{"".join(spans)}</text>')
    return "\n".join([*rows, "</svg>", ""])


def _rows(line: str) -> Iterator[str]:
    """The rows in which a terminal shows a line that is wider than it."""
    row, width = "", 0
    for text, code in _pieces(line):
        for character in text:
            if width + columns(character) > WIDTH:
                yield row
                row, width = "", 0
            row += character
            width += columns(character)
        row += "" if code is None else f"\x1b[{code}m"
    yield row


def _spans(line: str, style: str) -> tuple[list[str], str]:
    """The runs of a line with their styles, each at its column; the style in which the line ends."""
    spans: list[str] = []
    column = 0
    for text, code in _pieces(line):
        for run in RUNS.finditer(text):
            x = MARGIN + (column + columns(text[: run.start()])) * CELL
            length = columns(run[0]) * CELL
            spans.append(f'<tspan x="{x:.1f}" textLength="{length:.1f}"{style}>{escape(run[0], quote=False)}</tspan>')
        column += columns(text)
        if code is not None:
            style = _style(code)
    return spans, style


def _pieces(line: str) -> Iterator[tuple[str, str | None]]:
    """Texts of a line, each with the escape that follows it."""
    start = 0
    for found in PARTS.finditer(line):
        yield line[start : found.start()], found[1]
        start = found.end()
    yield line[start:], None


def _style(code: str) -> str:
    """Attributes of a run: its colour, and bold or dim."""
    codes = code.split(";")
    fill = "".join(f' fill="{COLOURS[one]}"' for one in codes if one in COLOURS)
    more = "".join(f' style="{STYLES[one]}"' for one in codes if one in STYLES)
    return fill + more


def main(words: list[str]) -> int:
    """Write the pictures, and print their names."""
    parser = argparse.ArgumentParser(description="Draw the pictures of a terminal.")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "pictures")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES))
    given = parser.parse_args(words)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        command, most = PICTURES[name]
        for language, suffix in LANGUAGES.items():
            with tempfile.TemporaryDirectory() as scratch:
                prepare(Path(scratch))
                lines = printed_lines(command, Path(scratch), language)
            path = given.folder / f"{name}{suffix}.svg"
            path.write_text(draw(command, lines if len(lines) <= most else [*lines[:most], "\u2026"]), "utf-8")
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

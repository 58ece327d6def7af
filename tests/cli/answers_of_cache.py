"""Answers of `lint` with the cache against those without, after one input after the other was changed.

    python answers_of_cache.py FOLDER EDITS < CASES

CASES is a JSON list of `{"files": {name: text}, "words": [...], "baseline": bool}`. Prints a JSON object: how many
answers were compared, how many of them the cache gave, how many looks at a path were edited, and what was not the same.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from fresh_process import Answer, answer

CREATED = {
    "accmap.toml": 'ignore = ["OPT", "SCH"]\n',
    "pyproject.toml": '[tool.accmap]\nprofile = "train"\n',
    "package_info.py": "MAJOR = 0\nMINOR = 16\nPATCH = 0\nPRE_RELEASE = ''\n",
    "__init__.py": "__version__ = '1.7.0'\n",
    "optional.sh": "BETA=0.5\n",
}


def keys_in(cache: Path) -> list[str]:
    """The keys of every look at the disk that the entries of a cache depend on."""
    found: dict[str, None] = {}
    for entry in sorted(cache.iterdir()):
        for line in entry.read_bytes().partition(b"\n\n")[0].decode().split("\n")[2:]:
            found[bytes.fromhex(line.partition(" ")[2]).decode("utf-8", "surrogateescape")] = None
    return list(found)


def _text_edited(text: str, chance: random.Random) -> str:
    """A text of which a number is another one, or a line is missing, twice there or empty."""
    lines = text.split("\n")
    digits = [at for at, line in enumerate(lines) if any(mark.isdigit() for mark in line)]
    if digits and chance.random() < 0.6:
        at = chance.choice(digits)
        place = chance.choice([place for place, mark in enumerate(lines[at]) if mark.isdigit()])
        lines[at] = lines[at][:place] + chance.choice("123456789") + lines[at][place + 1 :]
    else:
        at = chance.randrange(len(lines))
        lines[at : at + 1] = chance.choice(([], [lines[at]] * 2, [""], ["# " + lines[at]]))
    return "\n".join(lines)


def _edit(path: Path, chance: random.Random) -> str:
    """Change what stands at a path, in one of many ways; the name of the way."""
    if path.is_dir() and not path.is_symlink():
        (path / f"new{chance.randrange(9)}.bin").write_text("x", "utf-8")
        return "a file more"
    if not os.path.lexists(path):
        if path.name == ".git":
            path.mkdir(parents=True)
            return "made"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CREATED.get(path.name, "x: 1\n"), "utf-8")
        return "made"
    text = path.read_text("utf-8", "surrogateescape")
    way = chance.choice(("text", "text", "text", "text", "gone", "empty", "folder", "dangling", "linked"))
    if way == "text":
        path.write_text(_text_edited(text, chance), "utf-8", "surrogateescape")
        return way
    path.unlink()
    if way == "empty":
        path.write_text("", "utf-8")
    elif way == "folder":
        path.mkdir()
    elif way == "dangling":
        path.symlink_to("nowhere")
    elif way == "linked":
        other = path.with_name(path.name + ".other")
        other.write_text(_text_edited(text, chance), "utf-8", "surrogateescape")
        path.symlink_to(other.name)
    return way


def compared(work: Path, case: dict[str, Any], edits: int, chance: random.Random) -> tuple[int, int, list[object]]:
    """How many answers were compared for a case, how many the cache gave, and what was not the same."""
    kept, here, cache, before = work / "kept", work / "here", work / "cache", work / "before"
    os.chdir(work)
    for path in (kept, here, cache, before):
        shutil.rmtree(path, ignore_errors=True)
    os.environ["ACCMAP_CACHE_DIR"] = str(cache)
    for name, text in case["files"].items():
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_text(text, "utf-8", "surrogateescape")
    words = ["lint", *case["words"]]

    def asked(*more: str) -> Answer:
        os.chdir(here)
        return answer([*words, *more])

    shutil.copytree(kept, here, symlinks=True)
    if case.get("baseline"):
        asked("--write-baseline", "baseline.json")
        shutil.copy(here / "baseline.json", kept / "baseline.json")
    first = asked()
    if not cache.is_dir():
        return 0, 0, []  # no answer of a run
    shutil.copytree(cache, before)
    below = str(here) + os.sep
    paths = sorted({name for key in keys_in(cache) if (name := key.partition("\0")[0]).startswith(below)})
    found: list[object] = []
    hits = 0
    for _ in range(edits):
        path = Path(chance.choice(paths))
        way = _edit(path, chance)
        once, again, fresh = asked(), asked(), asked("--no-cache")
        hits += bool(again[3])
        found += [
            [words, str(path), way, label, given, fresh]
            for label, given in (("once", once), ("again", again))
            if given[:2] != fresh[:2]
        ]
        os.chdir(work)
        for place, former in ((here, kept), (cache, before)):
            shutil.rmtree(place)
            shutil.copytree(former, place, symlinks=True)
        cache.chmod(0o700)
        back = asked()
        hits += bool(back[3])
        if back[:2] != first[:2]:
            found.append([words, str(path), way, "mended again", back, first])
    return 3 * edits, hits, found


def main(folder: Path, edits: int) -> dict[str, object]:
    chance = random.Random(4)
    count = hits = 0
    found: list[object] = []
    for number, case in enumerate(json.load(sys.stdin)):
        print(number, count, hits, len(found), file=sys.stderr)
        some, answered, differing = compared(folder, case, edits, chance)
        count, hits, found = count + some, hits + answered, found + differing
    return {"compared": count, "cached": hits, "differing": found}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))

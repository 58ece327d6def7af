"""Count what a reader of the code meets: modules, lines, long functions, names that say little, docstrings that ask.

    python tools/measure_house.py [PATH ...] [--list]      # all rooms if no path is named

A name says little if it is a bare participle or adverb (`found`, `carried`, `unlike`, `taken_together`): each of its
words is one, or a word such as `of` and `at` beside one. A docstring asks if it begins with a question word: a plain
one says what the function returns or does. `tests/test_measures.py` holds the limits.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "tools", "verifier")
QUESTION_WORDS = ("what", "whether", "how", "where", "why", "which")
LONG_FUNCTION = 50
"""Lines of a function above which a reader loses the thread."""
LARGE_FOLDER = 25
"""Python modules of one folder above which a reader no longer finds the one that is searched for."""
PARTICIPLES = frozenset(
    "beaten become begun bent bound bought brought built burnt caught chosen dealt done drawn driven eaten"
    " fallen fed felt forbidden forgotten fought found frozen given gone grown heard held hidden kept known"
    " laid led left lent lost made meant met mistaken overridden paid said seen sent shown sold"
    " sought spelt spent spoken stood struck stuck sunk swept taken taught thought thrown told torn"
    " understood unheard unknown unseen unsaid unset unspoken unwritten woken won worn written".split()
)
ADVERBS = frozenset(
    "ahead alike alone also always anew apart around aside away back backwards before behind below beside beyond"
    " elsewhere enough ever everywhere forth forward forwards further hence here indeed instead inside later maybe"
    " meanwhile merely near never nowhere often once only otherwise out outside over overall perhaps rather since"
    " somehow soon still there thus together twice unlike up upwards yet".split()
)
LITTLE_WORDS = frozenset(
    "a about above after all an and another any as at be been being both by did do does each either else every few"
    " first for from had has have how if in into is it its just last less many may more most much must next no none"
    " nor not now of off on one onto or other ours over own per same so some such than that the their them then these"
    " they this those through to too under until up upon us was we were what when where whether which while who whom"
    " whose why will with within without".split()
)
NOT_PARTICIPLES = frozenset(
    "bed bleed breed embed exceed feed bleed hundred need nested overfeed proceed red reed seed shed sled speed"
    " succeed typed weed anything bring building ceiling encoding ending evening everything formatting handling"
    " heading indexing king landing layering listing logging mapping meaning morning naming nothing opening padding"
    " painting parking ping pricing ring rounding routing scheduling setting something spacing spelling spring sting"
    " string swing thing timing training warning wing assembly family fly only reply supply anomaly monopoly".split()
)
"""Words that end as a participle or adverb does, and are nouns, or verbs in their plain form."""


@dataclass
class Measure:
    """The counts of some files."""

    modules: int = 0
    lines: int = 0
    page_lines: int = 0
    """Of HTML templates, style sheets and page scripts."""
    functions: int = 0
    docstrings: int = 0
    long_functions: list[str] = field(default_factory=list[str])
    bare_names: list[str] = field(default_factory=list[str])
    asking_docstrings: list[str] = field(default_factory=list[str])
    folders: Counter[str] = field(default_factory=Counter[str])


def is_bare(name: str) -> bool:
    """True if a name consists of participles and adverbs, with nothing but little words beside them."""
    words = [word for word in re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_") if word]
    if words[0] in ("is", "has", "can"):
        return False
    kinds = [_is_participle_or_adverb(word) for word in words]
    return any(kinds) and all(kind or word in LITTLE_WORDS for kind, word in zip(kinds, words, strict=True))


def _is_participle_or_adverb(word: str) -> bool:
    if word in NOT_PARTICIPLES:
        return False
    return word in PARTICIPLES or word in ADVERBS or (len(word) > 4 and word.endswith(("ed", "ing", "ly")))


def product_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Python modules, templates, style sheets and scripts that people write."""
    for path in paths:
        for found in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if found.suffix in (".py", ".html", ".css", ".js", ".j2") and not found.stem.endswith("_compiled"):
                yield found


def measure(paths: Sequence[Path]) -> Measure:
    """Counts of all product files below some paths."""
    counts = Measure()
    for path in product_files(paths):
        text = path.read_text("utf-8")
        if path.suffix != ".py":
            counts.page_lines += len(text.splitlines())
            continue
        name = path.relative_to(ROOT).as_posix()
        counts.modules += 1
        counts.lines += len(text.splitlines())
        counts.folders[str(Path(name).parent)] += 1
        if is_bare(path.stem):
            counts.bare_names.append(name)
        _measure_definitions(name, ast.parse(text), counts)
    return counts


def _measure_definitions(name: str, tree: ast.Module, counts: Measure) -> None:
    """Count the functions, docstrings, bare names and long functions of one module."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        place = name if isinstance(node, ast.Module) else f"{name}:{node.lineno} {node.name}"
        docstring = ast.get_docstring(node)
        if docstring:
            counts.docstrings += 1
            if docstring.split(None, 1)[0].lower().strip(".,:;") in QUESTION_WORDS:
                counts.asking_docstrings.append(place)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            counts.functions += 1
            if is_bare(node.name):
                counts.bare_names.append(place)
            if (node.end_lineno or node.lineno) - node.lineno + 1 > LONG_FUNCTION:
                counts.long_functions.append(place)


def main(words: Sequence[str] | None = None) -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--list", action="store_true", help="list every place, not the counts alone")
    asked = parser.parse_args(words)
    paths = [path.resolve() for path in asked.paths] or [ROOT / room for room in ROOMS]
    counts = measure(paths)
    large = [f"{folder} ({count})" for folder, count in sorted(counts.folders.items()) if count > LARGE_FOLDER]
    print(f"modules                     {counts.modules}")
    print(f"lines of Python             {counts.lines}")
    print(f"lines of pages              {counts.page_lines}")
    print(f"functions                   {counts.functions}")
    share = 100 * len(counts.asking_docstrings) / max(counts.docstrings, 1)
    for title, places in (
        (f"folders above {LARGE_FOLDER} modules", large),
        (f"functions above {LONG_FUNCTION} lines", counts.long_functions),
        ("bare participles, adverbs", counts.bare_names),
        (f"docstrings that ask ({share:.1f}%)", counts.asking_docstrings),
    ):
        print(f"{title:27} {len(places)}")
        if asked.list:
            for place in places:
                print(f"    {place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

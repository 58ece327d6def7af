"""`accmap diff A B`: two files of either framework, field by field, by their effective values."""

from __future__ import annotations

import json
import sys
from collections import Counter

from ..mapper.differences import differences
from ..mapper.recipe.reading import recipe_of
from ..schemas.config import json_value
from ..schemas.light_typing import TYPE_CHECKING
from .inputs import load
from .lean import BAD, FINE
from .terminal import painted, shortened, wants_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mapper.differences import Difference, Found
    from ..mapper.recipe.values import Recipe
    from ..schemas.config import ReadOptions
    from ..schemas.diagnostic import Language

_STYLE = {"different": "red", "undecided": "yellow", "only-a": "cyan", "only-b": "cyan", "equal": "green"}
_STATUS_ZH = {"equal": "相同", "different": "不同", "undecided": "无法确定", "only-a": "仅 A", "only-b": "仅 B"}


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    format: str,  # noqa: A002 - the option's name
    all: bool,  # noqa: A002 - the option's name
    lang: Language,
) -> int:
    """Print the comparison; 1 where something that both sides have differs, or numbers depend on one side alone."""
    a, b = (recipe_of(load(name, options, stdin_name)) for name in files)
    rows = differences(a, b)
    if format == "json":
        answer = {
            "versions": [{"file": side.file, **side.basis.to_json(lang)} for side in (a, b) if side.basis is not None],
            "rows": [row.to_json() for row in rows],
            "summary": _summary(rows),
        }
        json.dump(answer, sys.stdout, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
    else:
        _page(rows, (a, b), lang, everything=all)
    return BAD if any(_parts(row) for row in rows) else FINE


def _parts(row: Difference) -> bool:
    if row.status in ("different", "undecided"):
        return row.impact != "none"
    return row.status != "equal" and row.impact == "numerics"


def _summary(rows: Sequence[Difference]) -> dict[str, int]:
    return dict(Counter(row.status for row in rows))


def _page(rows: Sequence[Difference], sides: Sequence[Recipe], language: Language, *, everything: bool) -> None:
    colour = wants_colour()
    for letter, side in zip("AB", sides, strict=True):
        version = "" if side.basis is None else side.basis.text(language)
        print(f"{letter} {painted(side.file, 'bold', colour)}  {version}")
        if side.basis is not None and side.basis.purpose is not None:
            print(f"  {side.basis.purpose.problem.message(language)}")
    print()
    for row in rows:
        if not everything and (row.status == "equal" or row.impact == "none"):
            continue
        status = _STATUS_ZH[row.status] if language == "zh" else row.status
        named = row.field or _key(row)
        print(f"{painted(status, _STYLE[row.status], colour)}  {named}")
        for letter, side in (("A", row.a), ("B", row.b)):
            if side is not None:
                print(f"    {letter}  {_shown(side)}")
    counted = (
        f"{count} {_STATUS_ZH[status] if language == 'zh' else status}" for status, count in _summary(rows).items()
    )
    print(", ".join(counted))


def _key(row: Difference) -> str:
    side = row.a or row.b
    return "" if side is None else side.key or ""


def _shown(side: Found) -> str:
    value = "?" if not side.decided else json.dumps(json_value(side.value), ensure_ascii=False)
    place = "" if side.span is None else f":{side.span.line}:{side.span.column}"
    return f"{shortened(value, 48):<24}  {side.origin} {place} {side.key or ''}".rstrip()

"""Makes `proofs_compiled.py` from `proofs.yaml`: the proofs of rows that still say what was proved.

`matched_compiled.py` has of it what the linter says: in which pairs of versions a field matched.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..schemas.compilers.tables import literal_module, load_table
from .compile_tables import TOPICS
from .model import ProofsFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .model import FieldProofs


HERE = Path(__file__).parent
SOURCE = HERE / "proofs.yaml"
_UNSET = "nothing-to-set"
"""The reason of a field that neither framework can set."""


def valid_proofs() -> dict[str, Any]:
    """The proofs of rows that have not changed since, by the compiled module's constants."""
    written = ProofsFile.model_validate(load_table(SOURCE.read_text("utf-8")))
    now = digests_of(lambda name: (HERE / name).read_text("utf-8"))
    valid = {name: field for name, field in written.fields.items() if now.get(field.row or name) == field.digest}
    known = {reason: (text.en, text.zh) for reason, text in written.reasons.items()}
    proved = {
        name: tuple(
            (_pairs(one.pairs), one.date, one.value, one.carried, one.agrees, one.parts, one.rounds)
            for one in field.proved
        )
        for name, field in valid.items()
        if field.proved
    }
    return {
        "PROVED": proved,
        "UNPROVED": {
            name: tuple((_pairs(one.pairs), *known[one.reason], one.reason == _UNSET) for one in field.unproved)
            for name, field in valid.items()
            if field.unproved
        },
        "QUANTITIES": _quantities(valid),
    }


def _quantities(valid: dict[str, FieldProofs]) -> dict[str, Any]:
    """Fields that prove each computed quantity, with their pairs of versions."""
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for name, field in valid.items():
        for one in field.proved:
            for quantity in one.computed:
                by = found.setdefault(quantity, {})
                by[name] = (*by.get(name, ()), *_pairs(one.pairs))
    return {quantity: tuple(by.items()) for quantity, by in sorted(found.items())}


def _pairs(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of versions from texts such as `0.15 × 1.9`."""
    found: list[tuple[str, str]] = []
    for text in texts:
        megatron, _, mindformers = text.partition(" × ")
        found.append((megatron, mindformers))
    return tuple(found)


def products() -> dict[str, str]:
    """The compiled modules."""
    about = "What the real models have said of the rows; compiled from proofs.yaml."
    valid = valid_proofs()
    matched = literal_module(
        "The pairs of versions in which fields matched; compiled from proofs.yaml.",
        MATCHED=_versions_run_on_both_sides(valid),
    )
    return {"mappings/proofs_compiled.py": literal_module(about, **valid), "mappings/matched_compiled.py": matched}


def _versions_run_on_both_sides(valid: dict[str, Any]) -> dict[str, tuple[tuple[str, str], ...]]:
    """The pairs of versions that each proved field was run with, for fields that have any."""
    found = {
        name: tuple(dict.fromkeys(pair for pairs, _, _, is_carried, *_ in proofs if is_carried for pair in pairs))
        for name, proofs in valid["PROVED"].items()
    }
    return {name: pairs for name, pairs in found.items() if pairs}


_PROSE = ("sources", "note", "ignored", "en", "zh")
"""Members of a row, a side or a caveat that change nothing of what is carried over: only a reader needs them."""


def digests_of(text: Callable[[str], str]) -> dict[str, str]:
    """The first field of every row → a digest; `text` gives a table file by name."""
    found: dict[str, str] = {}
    for topic in TOPICS:
        content: dict[str, Any] = load_table(text(f"{topic}.yaml"))
        for row in content["rows"]:
            said = _without_prose(row)
            said.setdefault("only", content.get("only", []))
            packed = json.dumps(said, sort_keys=True, ensure_ascii=False)
            found[row.get("field") or row["fields"][0]] = hashlib.sha256(packed.encode()).hexdigest()[:12]
    return found


def _without_prose(entry: Any) -> Any:
    """An entry of a table without its prose, at any depth."""
    if isinstance(entry, dict):
        members = cast("dict[str, Any]", entry)
        return {name: _without_prose(value) for name, value in members.items() if name not in _PROSE}
    return [_without_prose(value) for value in cast("list[Any]", entry)] if isinstance(entry, list) else entry

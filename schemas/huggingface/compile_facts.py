"""Makes the facts of transformers' configuration classes a literal module, one entry a version and family."""

from __future__ import annotations

from ..compilers.tables import literal_module
from ..versions import names
from .extract import known


def products() -> dict[str, str]:
    """The compiled module."""
    stored = known()
    if tuple(stored) != names("huggingface"):
        raise ValueError(f"schemas/huggingface/facts.json holds {tuple(stored)}, and not what versions.yaml names")
    facts = {
        version: {
            name: (
                one["class"],
                one["model"],
                one["renamed"],
                one["defaults"],
                one.get("published", ""),
                tuple((other["part"], other["whose"]) for other in one.get("others", ())),
            )
            for name, one in found["families"].items()
        }
        for version, found in stored.items()
    }
    about = "Configuration classes of transformers by version and family; compiled from facts.json."
    common = tuple(sorted({key for found in stored.values() for key in found["common"]}))
    return {"schemas/huggingface/facts_compiled.py": literal_module(about, FACTS=facts, COMMON=common)}

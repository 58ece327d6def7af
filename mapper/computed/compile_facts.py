"""Makes `facts_compiled.py` from `facts.yaml`: the words of a version, what makes another network, the classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...schemas.compilers.tables import literal_module, load_table
from ...schemas.versions import names, versions_in

if TYPE_CHECKING:
    from ...schemas.versions import Framework

SOURCE = Path(__file__).with_name("facts.yaml")
COLUMNS = ("layers", "experts", "qk_norm", "tied", "latent", "mtp", "gated", "joined", "norm", "own_layers")
FRAMEWORKS: tuple[Framework, ...] = ("megatron", "mindformers")


def products() -> dict[str, str]:
    """The compiled module."""
    content: dict[str, Any] = load_table(SOURCE.read_text("utf-8"))
    since: dict[str, dict[str, tuple[str, ...]]] = {}
    for framework in FRAMEWORKS:
        order = tuple(dict.fromkeys(names(framework)))
        since[framework] = {
            word: versions_in(versions, order) for word, (versions, _source) in content[framework]["since"].items()
        }
    order = tuple(dict.fromkeys(names("mindformers")))
    classes = {
        dialect: {
            name: tuple(
                (*(row[column] for column in COLUMNS), versions_in(row["versions"], order))
                for row in _by_version(given)
            )
            for name, given in rows.items()
        }
        for dialect, rows in content["mindformers"]["classes"].items()
    }
    about = "What the formulas need to know of versions and classes; compiled from facts.yaml."
    text = literal_module(
        about,
        SINCE=since,
        ANOTHER_NETWORK={framework: tuple(content[framework]["another_network"]) for framework in FRAMEWORKS},
        CLASSES=classes,
        BALANCING={framework: content[framework]["balancing"] for framework in FRAMEWORKS},
        PLAIN_OPTIMIZERS=tuple(content["mindformers"]["plain_optimizers"]),
    )
    return {"mapper/computed/facts_compiled.py": text}


def _by_version(given: Any) -> list[dict[str, Any]]:
    """What is known of a class; a list where versions differ."""
    return cast("list[dict[str, Any]]", given if isinstance(given, list) else [given])

"""Makes the types of names: a misspelt field, lens or comparison is an error, in Python as in a table, and no None."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conditions import COMPARISONS
from .lenses.registry import LENSES
from .recipe.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable


def products() -> dict[str, str]:
    """The compiled module, in the room whose tables use the names."""
    head = '"""The names of fields, lenses and comparisons. Do not edit."""\n\nfrom typing import Literal\n'
    types = {"FieldName": vocabulary(), "LensName": LENSES, "Comparison": COMPARISONS}
    return {"mappings/names_compiled.py": "\n".join([head, *(_literal(*one) for one in types.items())])}


def _literal(name: str, words: Iterable[str]) -> str:
    return "\n".join([f"{name} = Literal[", *(f"    {word!r}," for word in words), "]", ""])

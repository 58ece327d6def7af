"""Which codes there are, and which one was meant."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def every_code() -> tuple[str, ...]:
    """Every code that a lint may report: the rules' and the readers'."""
    from .messages_compiled import say
    from .pages_compiled import PAGES
    from .registry import codes

    return tuple(dict.fromkeys((*codes(), *PAGES, *(kind.code for kind in say.kinds.values()))))


def expanded(given: Iterable[str]) -> tuple[str, ...]:
    """Codes with the word EQUAL written out: every rule that compares the two sides."""
    found: list[str] = []
    for code in given:
        if code == "EQUAL":
            from .catalog_compiled import COMPARED, ROLES, RULES

            owners = {row[0] for row in COMPARED.values()}
            found += [
                name for name, row in RULES.items() if name in owners or ("" in row[3] and "{a_from}" in row[3][""][0])
            ]
            found += sorted(ROLES["compares-sides"])
        else:
            found.append(code)
    return tuple(dict.fromkeys(found))


def is_known(code: str, known: Iterable[str]) -> bool:
    """Whether a code, or the first letters of some codes, exists."""
    return code in ("ALL", "EQUAL") or any(name.startswith(code) for name in known)

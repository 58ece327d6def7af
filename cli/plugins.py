"""Rules of other distributions: entry points of `accmap.rules`, loaded only where the configuration names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .argument_parser import UsageError
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..rules.rule import Rule

GROUP = "accmap.rules"


def plugin_rules(names: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that each named entry point gives: a `Rule`, several, or a function that answers with them."""
    from importlib.metadata import entry_points

    from ..rules.rule import Rule

    known = {point.name: point for point in entry_points(group=GROUP)}
    found: list[Rule] = []
    for name in names:
        point = known.get(name)
        if point is None:
            listed = ", ".join(known) or "none"
            raise UsageError(say.plugins_no_installed_distribution_gives(name=name, group=GROUP, listed=listed))
        try:
            given = point.load()
            given = given() if callable(given) and not isinstance(given, Rule) else given
            rules: list[object] = [given] if isinstance(given, Rule) else list(cast("Iterable[object]", given))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UsageError(say.plugins_cannot_be_loaded(name=name, said=why)) from error
        for rule in rules:
            if not isinstance(rule, Rule):
                raise UsageError(say.plugins_gives_which_is_not(name=name, rule=rule))
            found.append(rule)
    return tuple(found)

"""Rules of other distributions: entry points of `accmap.rules`, loaded only where the configuration names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .parsing import UsageError

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
            raise UsageError(
                f"plugins: no installed distribution gives {name!r} in {GROUP}; there are {listed}",
                f"plugins：已安装的包中没有 {GROUP} 的 {name!r}；现有 {listed}",
            )
        try:
            given = point.load()
            given = given() if callable(given) and not isinstance(given, Rule) else given
            rules: list[object] = [given] if isinstance(given, Rule) else list(cast("Iterable[object]", given))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UsageError(f"plugins: {name} cannot be loaded: {why}", f"plugins：无法加载 {name}：{why}") from error
        for rule in rules:
            if not isinstance(rule, Rule):
                raise UsageError(
                    f"plugins: {name} gives {rule!r}, which is not an accmap.rules.rule.Rule",
                    f"plugins：{name} 给出的 {rule!r} 不是 accmap.rules.rule.Rule",
                )
            found.append(rule)
    return tuple(found)

"""The state of one reading of a static-graph configuration: values, where they stand, what was found.

Everything downstream asks it three things: what is the value at a path, was it written in the file, and where.
Paths are dotted, list items are `name[0]`.
"""

from __future__ import annotations

from ..config import Setting, Unresolved
from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, cast
from ..plain_values import is_list, is_mapping
from .messages_compiled import say

if TYPE_CHECKING:
    from typing import Any

    from ..config import Acceptance, Value
    from ..diagnostic import Diagnostic, Related
    from ..message import Problem, Severity
    from ..source import Span
    from ..yaml_reader.node import Node


class Undecided(str):
    """A value whose text holds a placeholder such as `${HIDDEN}`: what it will be is not known here."""

    __slots__ = ()


class Reading:
    """The state of one reading; filled step by step, and turned into a `Config` at the end."""

    model = "model.model_config"
    """Where the keys of the model's configuration stand."""

    def __init__(self, file: str, version: str, catalog: dict[str, Any]) -> None:
        self.file = file
        self.version = version
        self.catalog = catalog
        self.values: dict[str, Any] = {}
        self.places: dict[str, Span] = {}
        """The span of every value that was written, by path; mappings and lists too."""
        self.keys: dict[str, Span] = {}
        self.options: dict[str, str] = {}
        self.acceptance: dict[str, Acceptance] = {}
        self.problems: list[Diagnostic] = []
        self.unresolved: list[Unresolved] = []
        self.resolved: dict[str, Setting] = {}
        self.switched: dict[str, tuple[Any, bool | None]] = {}
        """Switches that are not written as True or False: what is written, and what it means; None stops the run."""

    def note(
        self,
        problem: Problem,
        path: str | None,
        *,
        related: tuple[Related, ...] = (),
        on_key: bool = False,
        severity: Severity | None = None,
    ) -> None:
        """Record a problem at a path, or at the nearest written place around it."""
        if severity is not None:
            problem = problem._replace(kind=problem.kind._replace(severity=severity))
        span = None if path is None else (self.keys.get(path) if on_key else None) or self.place(path)
        self.problems.append(diagnose(problem, self.file, span, related))

    def place(self, path: str) -> Span | None:
        """Span of the value at a path; for a missing key, of its section."""
        while path:
            found = self.places.get(path)
            if found is not None:
                return found
            path = parent(path)
        return None

    def note_missing(self, problem: Problem, path: str) -> None:
        """Record a problem about a missing key, at a misspelling of it or at the end of its section."""
        span = self.places.get(path) or self._misspelt(path) or self._end_of(parent(path))
        while span is None and path:
            path = parent(path)
            span = self._misspelt(path) or self._end_of(parent(path))
        self.problems.append(diagnose(problem, self.file, span))

    def _misspelt(self, path: str) -> Span | None:
        """Span of a key in the same section whose name nearly equals a missing one."""
        from ..suggestion import slip

        section = parent(path)
        name = path[len(section) + 1 :] if section else path
        for key, span in self.keys.items():
            if parent(key) == section and slip(key.rpartition(".")[2], name):
                return span
        return None

    def _end_of(self, section: str) -> Span | None:
        """Span of the end of a section, where a missing key would go."""
        inside = [
            span for path, span in self.places.items() if not section or path.startswith((f"{section}.", f"{section}["))
        ]
        if not inside:
            return self.place(section) if section else None
        last = max(inside, key=lambda span: (span.file is None, span.end_line, span.end_column))
        return last._replace(line=last.end_line, column=last.end_column)

    def get(self, path: str, default: Any = None) -> Any:
        """The value at a dotted path of mappings."""
        value: Any = self.values
        for step in _steps.get(path) or _steps_of(path):
            if value.__class__ is not dict or step not in value:
                return default
            value = value[step]
        return value

    def section(self, path: str) -> dict[Any, Any]:
        """Mapping at a path; empty if there is none."""
        value = self.get(path)
        return value if is_mapping(value) else {}

    def resolve(self, key: str, value: Any, *sources: str, decided: bool = True) -> None:
        """Record a derived value with the paths that decided it."""
        decided = decided and not isinstance(value, Undecided)
        span: Span | None = None
        for source in sources:
            if source in self.places:
                span = self.places[source]
                break
        else:
            if decided:
                self.resolved[key] = default_setting(key, value, sources)
                return
        held = plain_value(value) if decided else None
        behind = sources if len(sources) < 2 else tuple(dict.fromkeys(sources))
        self.resolved[key] = _setting((key, held, "derived", span, None, None, behind, False, "accepted", decided))

    def record(self, path: str, node: Node, file: str | None) -> None:
        """Record the places of a node and everything below it."""
        places, keys = self.places, self.keys
        stack = [(path, node)]
        while stack:
            here, one = stack.pop()
            span, key_span = one.span, one.key_span
            if here:
                places[here] = span if file is None else span._replace(file=file)
                if key_span is not None:
                    keys[here] = key_span if file is None else key_span._replace(file=file)
            if one.items:
                before = f"{here}." if here else ""
                stack += [(f"{before}{key}", child) for key, child in one.items.items()]
            if one.entries:
                stack += [(f"{here}[{place}]", child) for place, child in enumerate(one.entries)]


_setting = Setting._make
_MOST_STEPS = 2_000
_steps: dict[str, tuple[str, ...]] = {}


def _steps_of(path: str) -> tuple[str, ...]:
    steps = tuple(path.split("."))
    if len(_steps) < _MOST_STEPS:
        _steps[path] = steps
    return steps


_MOST_DEFAULTS = 20_000
_defaults: dict[tuple[str, object, Any, tuple[str, ...]], Setting] = {}


def default_setting(key: str, value: Any, sources: tuple[str, ...] = ()) -> Setting:
    """Shared setting of a framework's default value.

    `sources` are keys that would decide it, and that the file does not give.
    """
    held: object = value
    kind = type(held)
    if kind not in _ATOMS:
        return Setting(key, plain_value(value), "default", derived_from=tuple(dict.fromkeys(sources)))
    found = _defaults.get((key, kind, value, sources))
    if found is None or (value == 0 and kind is float):  # 0.0 and -0.0 are equal
        found = Setting(key, value, "default", derived_from=tuple(dict.fromkeys(sources)))
        if len(_defaults) < _MOST_DEFAULTS:
            _defaults[key, kind, value, sources] = found
    return found


_ATOMS = frozenset((str, int, float, bool, type(None)))


def parent(path: str) -> str:
    """Path of the container of a path; empty for a top-level key."""
    at = max(path.rfind("."), path.rfind("["))
    return path[:at] if at >= 0 else ""


_TEMPLATE = ".chat_template"
"""A key whose text is a template for Jinja, of which the braces are a part."""
_PLACEHOLDER = r"\$\{?[A-Za-z_]\w*\}?|\{\{.*?\}\}"


def without_placeholders(value: Any, path: str, reading: Reading) -> Any:
    """Value with each text that contains `${NAME}` or `{{ name }}` marked undecided."""
    if isinstance(value, str):
        if ("$" in value or "{{" in value) and not path.endswith(_TEMPLATE) and holds_placeholder(value):
            span = reading.place(path)
            if span is not None:
                reading.unresolved.append(Unresolved(value, say.placeholder(), span))
            reading.note(say.placeholder_value(text=value), path)
            return Undecided(value)
        return value
    if is_mapping(value):
        mapping: dict[Any, Any] = value
        return {
            key: without_placeholders(entry, f"{path}.{key}" if path else str(key), reading)
            for key, entry in mapping.items()
        }
    if is_list(value):
        entries: list[Any] = value
        return [without_placeholders(entry, f"{path}[{place}]", reading) for place, entry in enumerate(entries)]
    return value


def holds_placeholder(text: str) -> bool:
    """True if a text contains a part that another program would replace."""
    import re

    return re.search(_PLACEHOLDER, text) is not None


def plain_value(value: Any) -> Value:
    """Value with dates and rare YAML types as text."""
    if type(value) in _ATOMS or isinstance(value, (bool, int, float, str)):
        return value
    if is_mapping(value):
        mapping: dict[Any, Any] = value
        return {str(key): plain_value(entry) for key, entry in mapping.items()}
    if is_list(value):
        return [plain_value(entry) for entry in value]
    if isinstance(value, set):
        members = cast("set[Any]", value)
        return sorted((plain_value(member) for member in members), key=str)
    return str(value)

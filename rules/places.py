"""Turns symbolic places into spans: where a value stands, or where it would be written.

A key that a file does not hold would be written at the end of its section: after the last entry of the YAML mapping,
or after the last argument of its topic. `Places` answers for one file and is asked only about findings.
"""

from __future__ import annotations

from ..mapper.recipe.reading import side_of
from ..mappings.tables import argument_beside, array_of, field_named, rows_of
from ..schemas.config import explicit_of
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.mindformers.config_state import parent
from ..schemas.source import Span
from ..schemas.yaml_reader.node import SAME_VALUE
from .catalog_compiled import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..mapper.recipe.reading import SettingsView
    from ..mapper.recipe.values import RecipeValue
    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import SideName
    from ..schemas.config import Setting
    from ..schemas.diagnostic import Diagnostic
    from .rule import Place
    from .subject import Side

_MOST_CONTRIBUTORS = 12


class Spot(NamedTuple):
    """A key that takes part in a value, and where it stands or would stand."""

    key: str
    span: Span
    setting: Setting | None

    @property
    def is_written(self) -> bool:
        """True if the file itself gives the key."""
        return self.setting is not None and self.setting.origin == "explicit"

    @property
    def stands_in_file(self) -> bool:
        """True if the file has the key, even if the framework then puts another value in its place."""
        return self.is_written or (self.setting is not None and self.setting.raw is not None)


_written: dict[tuple[str, SideName, str], tuple[tuple[str, ...], ...]] = {}


def _written_keys(name: str, side: SideName, version: str) -> tuple[tuple[str, ...], ...]:
    """Keys to which a field is written, each with its alternative names."""
    known = _written.get((name, side, version))
    if known is None:
        from ..mapper.lenses import LENSES

        found: list[tuple[str, ...]] = []
        for row in rows_of(name):
            wanted = row.side(side, version)
            if wanted is None or wanted.environment is not None:
                continue
            drives, place = LENSES[wanted.lens].drives, row.fields.index(name)
            alike = wanted.lens == "same" and len(row.fields) == len(wanted.keys)
            places = drives[place] if drives else (place,) if alike else range(len(wanted.keys))
            found += [tuple(wanted.keys[one].split("|")) for one in places if one < len(wanted.keys)]
        known = _written[name, side, version] = tuple(found)
    return known


_kept: dict[int, Places] = {}
"""The places of the two files that are compared, each by the identity of the file that it holds."""
_FEW = 2


def places_of(side: Side) -> Places:
    """The places of a file."""
    found = _kept.get(id(side))
    if found is None:
        if len(_kept) >= _FEW:
            _kept.clear()
        found = _kept[id(side)] = Places(side)
    return found


def is_harmless_repetition(problem: Diagnostic) -> bool:
    """True if a key is written twice with equal value."""
    return (SAME_VALUE, True) in problem.values


def _has(spot: Spot, value: object) -> bool:
    """True if a spot's own value equals the resulting one."""
    held = None if spot.setting is None else spot.setting.value
    return held is not None and not isinstance(held, bool) and held == value


class Places:
    """The places of one file."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._ends: dict[str, Span] | None = None
        self._end: Span | None = None
        self._beside: dict[str | None, Span | None] = {}
        """By array: the place of a new argument in it."""
        self._spots: dict[str, list[Spot]] = {}
        self._main: dict[str, Spot | None] = {}
        self._view: SettingsView | None = None
        self._without_effect: list[str] | None = None
        self._meant: dict[tuple[str, str], Setting] | None = None
        self._below: dict[str, dict[str, Spot]] | None = None
        """By section: the keys that the file gives in it."""
        self._odd: frozenset[Span | None] | None = None
        self.feeding: dict[FieldName, list[FieldName]] = {}
        """The fields that feed a computed quantity, as far as a rule has asked (`computed.feeding`)."""

    def without_effect(self) -> list[str]:
        """Written keys that the framework does not accept."""
        if self._without_effect is None:
            written = explicit_of(self.side.config.settings)
            self._without_effect = [setting.key for setting in written if setting.acceptance != "accepted"]
        return self._without_effect

    def span(self, place: Place) -> Span | None:
        """Span of a place."""
        if place.kind == "span":
            return place.span
        if place.kind == "field":
            return self.field_span(field_named(place.name))
        if place.kind == "key":
            return self.key_span(place.name)
        if place.kind == "environment":
            return self.environment_span(place.name)
        if place.kind == "launch":
            return self.launch_span()
        return None

    def field_span(self, name: FieldName) -> Span:
        """The place at which a recipe field is decided."""
        spots = self.spots(name)
        for spot in spots:
            elsewhere = None if spot.is_written or spot.key.startswith("resolved.") else self._misplaced_span(spot.key)
            if elsewhere is not None:
                return elsewhere
        field = self.side.field(name)
        if field is not None and field.span is not None and (not spots or len(field.keys) == 1):
            return field.span
        main = self.main_spot(name)
        return main.span if main is not None else self.end_of("")

    def main_spot(self, name: FieldName) -> Spot | None:
        """Spot of the key that most decides a field: with equal value, else the first."""
        if name not in self._main:
            self._main[name] = self._main_of(name)
        return self._main[name]

    def _main_of(self, name: FieldName) -> Spot | None:
        spots = self.spots(name)
        field = self.side.field(name)
        written = [spot for spot in spots if spot.is_written]
        same = [spot for spot in written if field is not None and _has(spot, field.value)]
        odd = [spot for spot in written if spot.span in self._doubtful_spans()]
        return next(iter(odd or same or written or spots), None)

    def spots(self, name: FieldName) -> list[Spot]:
        """Spots of all keys that contribute to a field, written ones first."""
        known = self._spots.get(name)
        if known is None:
            known = self._spots[name] = self._spots_of(name)
        return known

    def _spots_of(self, name: FieldName) -> list[Spot]:
        """Spots of a field's keys, found through derivations."""
        canonical = self._canonical(name)
        if len(canonical) == 1:
            setting = self.side.config.settings.get(canonical[0])
            if setting is not None and setting.origin == "explicit" and setting.span is not None:
                return [Spot(canonical[0], setting.span, setting)]
        field = self.side.field(name)
        found: dict[str, Spot] = {}
        if len(canonical) == 1:  # the row gives several fields one key each: this one is the field's own
            self._collect(canonical[0], found, 0)
            if any(spot.is_written for spot in found.values()) or field is None or self._decides(canonical[0], field):
                return list(found.values())
        for key in () if field is None else field.keys:
            self._collect(key, found, 0)
        for key in canonical:
            if key not in found:
                self._collect(key, found, 0)
        doubtful = self._doubtful_spans()
        ordered = sorted(found.values(), key=lambda spot: (not spot.is_written, spot.span not in doubtful))
        return ordered[:_MOST_CONTRIBUTORS]

    def suspects(self, name: FieldName) -> bool:
        """True if the reader reported a mistake in a key of the field."""
        doubtful = self._doubtful_spans()
        for spot in self.spots(name) if doubtful or self._settings_without_effect() else ():
            if spot.span in doubtful if spot.is_written else self._misplaced_span(spot.key) is not None:
                return True
        return False

    def _doubtful_spans(self) -> frozenset[Span | None]:
        """Spans of values that the reader doubts."""
        if self._odd is None:
            problems = self.side.config.problems
            self._odd = frozenset(
                [
                    one.span
                    for one in problems
                    if one.kind.code in ROLES["doubtful-value"] and not is_harmless_repetition(one)
                ]
            )
        return self._odd

    def _decides(self, key: str, field: RecipeValue) -> bool:
        """True if an unwritten key's default equals the field's value."""
        setting = self.side.setting(key)
        return setting is not None and setting.value is not None and setting.value == field.value

    def _canonical(self, name: str) -> list[str]:
        """Keys to which a field is written, present or not."""
        config = self.side.config
        found: list[str] = []
        for alternatives in _written_keys(name, side_of(config), config.framework_version):
            if len(alternatives) == 1:
                found.append(self._real(alternatives[0]))
                continue
            names = [self._real(one) for one in alternatives]
            found.append(next((one for one in names if one in config.settings), names[0]))
        return found

    def _real(self, key: str) -> str:
        """Key as the file writes it."""
        if "{" not in key:
            return key
        if self._view is None:
            from ..mapper.recipe.reading import SettingsView

            self._view = SettingsView(self.side.config)
        return self._view.real(key)

    def _collect(self, key: str, found: dict[str, Spot], depth: int) -> None:
        """Collect the spots of a key and of those it is derived from."""
        if key in found or depth > 3:
            return
        setting = self.side.setting(key)
        if setting is not None and setting.origin == "derived" and setting.derived_from:
            for source in setting.derived_from:
                self._collect(source, found, depth + 1)
            return
        if setting is not None and setting.span is not None:
            found[key] = Spot(key, setting.span, setting)
        elif not key.startswith("resolved."):
            below = self._settings_below(key)
            found.update(below or {key: Spot(key, self.key_span(key), setting)})

    def _settings_below(self, section: str) -> dict[str, Spot]:
        """The keys that the file gives in a section, which has no value of its own."""
        if self._below is None:
            self._below = {}
            for one in explicit_of(self.side.config.settings):
                if one.span is None:
                    continue
                above = one.key.rpartition(".")[0]
                while above:
                    self._below.setdefault(above, {})[one.key] = Spot(one.key, one.span, one)
                    above = above.rpartition(".")[0]
        return self._below.get(section, {})

    def key_span(self, key: str) -> Span:
        """Span of a key, or of the place for it."""
        setting = self.side.setting(key)
        if setting is not None and setting.span is not None:
            return setting.span
        return self._misplaced_span(key) or self.end_of(key)

    def _misplaced_span(self, key: str) -> Span | None:
        """Span of the key under a misspelt name or in a wrong section."""
        slips = self._settings_without_effect()
        if not slips or key.startswith("resolved."):
            return None
        section, _, name = key.rpartition(".")
        found = slips.get((section, name))
        if found is None and self.side.framework == "mindformers":
            found = slips.get(("", name))
        if found is None:
            from ..schemas.suggestion import slip

            found = next((one for (place, other), one in slips.items() if place == section and slip(other, name)), None)
        return None if found is None else found.span

    def _settings_without_effect(self) -> Mapping[tuple[str, str], Setting]:
        """Written settings that have no effect where they are."""
        if self._meant is None:
            self._meant = dict(_inert_settings(self.side))
        return self._meant

    def environment_span(self, name: str) -> Span:
        """The place at which an environment variable is set, or would be: before the launch."""
        launch = self.side.config.launch
        if launch is None:
            return Span(1, 1, 1, 1)
        found = launch.env_spans.get(name)
        if found is not None:
            return found
        span = launch.span
        return Span(span.line, span.column, span.line, span.column, span.file)

    def launch_span(self) -> Span:
        """The launch itself."""
        launch = self.side.config.launch
        return Span(1, 1, 1, 1) if launch is None else launch.span

    def end_of(self, key: str) -> Span:
        """Empty span at the end of the section for a key."""
        if self.side.framework == "megatron":
            return self._place_of_argument(key) or self._end_of_arguments()
        ends = self._section_ends()
        for section in sections_of(key) if key else ():
            if section and section in ends:
                return ends[section]
        return ends.get("", Span(1, 1, 1, 1))

    def _place_of_argument(self, key: str) -> Span | None:
        """Span after the argument beside which a new one belongs; cached."""
        array = array_of(key, self.side.config.framework_version)
        if array not in self._beside:
            self._beside[array] = self._find_place_of_argument(key)
        return self._beside[array] if key else None

    def _find_place_of_argument(self, key: str) -> Span | None:
        """Span after the argument beside which a new one belongs."""
        launch = self.side.config.launch
        place = argument_beside(self.side.config, key, self.side.source)
        if launch is None or place is None:
            return None
        flag = launch.arguments[place].span
        spans = (setting.span for setting in explicit_of(self.side.config.settings))
        return _end(next((span for span in spans if span is not None and span[:2] == flag[:2]), flag))

    def _end_of_arguments(self) -> Span:
        if self._end is None:
            self._end = self._find_end_of_arguments()
        return self._end

    def _find_end_of_arguments(self) -> Span:
        """Span after the last argument of the launch."""
        launch = self.side.config.launch
        if launch is not None:
            span = launch.span
            own = [
                word.span for word in launch.arguments if word.span.file == span.file and _is_inside(word.span, span)
            ]
            last = own[-1] if own else span
            return Span(last.end_line, last.end_column, last.end_line, last.end_column, span.file)
        spans = [setting.span for setting in self.side.config.settings.values() if setting.span is not None]
        return _end(max(spans, key=_end_position)) if spans else Span(1, 1, 1, 1)

    def _section_ends(self) -> dict[str, Span]:
        """Span of the end of each section; computed once."""
        if self._ends is None:
            last: dict[str, Span] = {}
            for sections, span in self._last_keys():
                for section in sections:
                    known = last.get(section)
                    if known is None or (span[2:4] > known[2:4] and known.file == span.file):
                        last[section] = span
            self._ends = {section: _end(span) for section, span in last.items()}
        return self._ends

    def _last_keys(self) -> Iterator[tuple[tuple[str, ...], Span]]:
        """Sections of keys, with the last key's span in each file."""
        last: dict[tuple[tuple[str, ...], str | None], Span] = {}
        for setting in explicit_of(self.side.config.settings):
            span = setting[3]
            if span is not None:
                place = sections_of(setting[0]), span[4]
                known = last.get(place)
                if known is None or span[2:4] > known[2:4]:
                    last[place] = span
        for (sections, _), span in last.items():
            yield sections, span


def _inert_settings(side: Side) -> Iterator[tuple[tuple[str, str], Setting]]:
    """Settings without effect by section and name."""
    if side.framework == "megatron":
        yield from _misspelt_arguments(side)
        return
    unread = {entry.key for entry in side.recipe.unmapped if not entry.sure}
    unused = unread | {
        str(dict(problem.values).get("key"))
        for problem in side.config.problems
        if problem.kind.code in ROLES["unused-key"]
    }
    for setting in explicit_of(side.config.settings):
        if setting.span is not None and (setting.acceptance != "accepted" or setting.key in unused):
            section, _, name = setting.key.partition("[")[0].rpartition(".")
            yield ("", name), setting
            yield (section, name), setting


def _misspelt_arguments(side: Side) -> Iterator[tuple[tuple[str, str], Setting]]:
    """Unknown arguments that are typing errors of known ones."""
    for setting in side.config.settings.values():
        if setting.acceptance == "unknown" and setting.flag is not None:
            from ..schemas.megatron.forks import catalog, fork_of
            from ..schemas.megatron.versions import intended_argument

            dest = intended_argument(setting.flag, catalog(side.config.framework_version, fork_of(side.config)))
            if dest is not None:
                yield ("", dest), setting


_MOST_SECTIONS = 10_000
_sections: dict[str, tuple[str, ...]] = {}


def sections_of(key: str) -> tuple[str, ...]:
    """The sections that hold a key, from the nearest to the whole file; the same keys stand in every file."""
    known = _sections.get(key)
    if known is None:
        found: list[str] = []
        section = key
        while section:
            section = parent(section)
            found.append(section)
        known = tuple(found)
        if len(_sections) < _MOST_SECTIONS:
            _sections[key] = known
    return known


def _end(span: Span) -> Span:
    return Span(span.end_line, span.end_column, span.end_line, span.end_column, span.file)


def _end_position(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column


def _is_inside(span: Span, outer: Span) -> bool:
    return (outer.line, outer.column) <= (span.line, span.column) and _end_position(span) <= _end_position(outer)

"""`accmap upgrade`: a YAML of MindSpore Transformers as the dynamic graph's YAML of the newest version.

The old file is read with its own version and translated as `convert` does. What is written keeps the old file's order,
comments and spelling where its keys live on, and a default of the old version only where the new one has another.
"""

from __future__ import annotations

from ...mappings.keys_compiled import NAMES_OF_DYNAMIC, NOT_OF_TRAINING
from ...mappings.tables import table
from ...schemas.diagnostic import UsageError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.mindformers.dynamic import dynamic_keys
from ...schemas.mindformers.resolution import fits
from ...schemas.mindformers.versions import DEFAULT_DYNAMIC
from ...schemas.source import SourceText
from ...schemas.versions import title_of
from ...schemas.yaml_reader.document import parse_path
from ..differences import differences
from ..equality import is_identical
from ..preconditions import startup_refusals
from ..recipe.reading import recipe_of
from .editors import Edit, YamlEditor, apply_edits
from .messages_compiled import say
from .mindformers_file import mindformers_document, mindformers_settings, mindformers_text, title_of_text
from .read_back import as_read, require_said
from .read_back import read_back as read_back_text
from .result import Change, ReportRow, TargetSetting
from .translation import translate_recipe
from .update import update
from .yaml_text import LaidOutYaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...mappings.tables import Side
    from ...schemas.config import Config, Value
    from ...schemas.diagnostic import Language
    from ...schemas.yaml_reader.document import YamlDocument
    from ..recipe.values import Recipe
    from .result import Translation

_ROUNDS = 4


class UpgradedYaml(NamedTuple):
    """The new text, the translation that it was written from, and the fate of each key."""

    text: str
    translation: Translation
    changes: tuple[Change, ...]


def upgrade(
    config: Config, version: str | None = None, *, read_back: bool = True, language: Language = "en"
) -> UpgradedYaml:
    """The dynamic graph's YAML of a version, the newest if none is named, for the file that `config` was read from.

    ReadBackError if the text, read back, is not what the report says, unless `read_back` is off.
    """
    document = _require_yaml(config)
    translation = _translate(config, document, version)
    if config.dialect == "dynamic":
        text, translation = _edit_in_place(config, document, translation)
        changes = tuple(_edited_keys(config, translation))
    else:
        translation = _name_sources(config, document, _omit_unchanged_defaults(translation))
        text = _lay_out(config, document, translation, language)
        changes = tuple(_laid_out_keys(config, translation))
    if read_back:
        _require_as_reported(translation, text)
    return UpgradedYaml(text, translation, (*changes, *_keys_without_counterpart(document, translation, changes)))


def _translate(config: Config, document: YamlDocument, version: str | None) -> Translation:
    """The translation, read back; the model class of the file stays if no other expresses the run better."""
    recipe = recipe_of(config)
    family, target = recipe.value("model.family"), version or DEFAULT_DYNAMIC
    near = family if isinstance(family, str) else None
    translation = translate_recipe(recipe, config, "mindformers", target, "dynamic", near)
    translation = translation._replace(version_origin="given" if version else "assumed")
    return read_back_text(_keep_known_keys(config, document, translation), config)


def _keys_without_counterpart(
    document: YamlDocument, translation: Translation, changes: Sequence[Change]
) -> Iterator[Change]:
    """The old keys that no new one comes from; what an alias repeats is named once."""
    live = {key for change in changes for key in change.before}
    for row in translation.rows:
        if not _is_lost(row) or all(key in live or _is_repeated(document, key) for key in row.source):
            continue
        yield Change("no-counterpart", row.source, (), row.value, row.en, row.zh)


def _is_lost(row: ReportRow) -> bool:
    """True if a report row is about a written key that gets no counterpart."""
    return row.status == "dropped" and row.explicit and bool(row.source) and not row.target


def _keep_known_keys(config: Config, document: YamlDocument, translation: Translation) -> Translation:
    """Translation with keys only MindSpore Transformers has and that the new version keeps."""
    places = _PlacesOfKeys(config, translation.version)
    written = {one.key for one in translation.settings}
    more: dict[str, TargetSetting] = {}
    for row in translation.rows:
        if not _is_lost(row) or len(row.source) != 1 or _is_repeated(document, row.source[0]):
            continue
        there = places.place_of(row, row.source[0])
        if there is not None and there not in written:
            more.setdefault(there, TargetSetting(there, config.value(row.source[0]), (), True, row.source))
    kept = _settings_that_count(translation, list(more.values()))
    taken = {one.notes[0]: one.key for one in kept}
    rows = tuple(places.with_fate(row, taken) if _is_lost(row) else row for row in translation.rows)
    return translation._replace(settings=(*translation.settings, *kept), rows=rows)


def _settings_that_count(translation: Translation, more: list[TargetSetting]) -> list[TargetSetting]:
    """The additional settings that the new version takes and does something with."""
    longer = translation._replace(settings=(*translation.settings, *more))
    config = as_read(longer, mindformers_text(longer))
    faults = {one.span for one in config.problems if one.kind.severity == "error"}
    taken = {one.key for one in config.settings.values() if one.acceptance == "accepted" and one.span not in faults}
    return [one for one in more if one.key in taken]


class _PlacesOfKeys:
    """The keys of the new version that old ones live on in, if no row of the tables writes them.

    A key lives on by its row, by its name, or as a table says. No number may depend on one that goes by its name,
    unless both versions are of the dynamic graph.
    """

    def __init__(self, config: Config, version: str) -> None:
        self.config, self.version = config, version
        self.known = dynamic_keys(version)
        sides = (row.side("dynamic", version) for row in table().rows)
        self.compared = {key for side in sides if side is not None for key in side.keys}
        """Keys that a row of the tables reads: one that the old version ignores must not begin to count."""

    def place_of(self, row: ReportRow, key: str) -> str | None:
        """New key for an old one; None if it has none."""
        there = self._named_place(row, key)
        if there is None or there not in self.known:
            return there if there is not None and there.startswith(_MODEL) else None
        return there if fits(self.config.value(key), self.known[there]) else None

    def _named_place(self, row: ReportRow, key: str) -> str | None:
        if self.config.dialect == "dynamic":
            return NAMES_OF_DYNAMIC.get(key, key) if row.field is None else self._place_by_row(row)
        if row.impact == "numerics":
            return None
        return self._place_by_name(key) if row.field is None else self._place_by_row(row)

    def _place_by_row(self, row: ReportRow) -> str | None:
        """Key that a table row names, if it holds the same value."""
        side = self._side(row)
        plain = side is not None and side.fixed is None and side.lens == "same" and len(side.keys) == 1
        return side.keys[0] if side is not None and plain else None

    def _place_by_name(self, key: str) -> str | None:
        """Key from the rename table, the identical key, or the only key with that last name in the same section."""
        if key.startswith(_STATIC_MODEL):
            return _MODEL + key[len(_STATIC_MODEL) :] if self.config.dialect == "static" else None
        if key in NAMES_OF_DYNAMIC:
            return NAMES_OF_DYNAMIC[key]
        if key in self.known:
            return None if key in self.compared else key
        return self._place_by_last_name(key)

    def _place_by_last_name(self, key: str) -> str | None:
        """The only key with that last name; one of training has no place outside it, and none in another section."""
        section, name = key.partition(".")[0], key.rpartition(".")[2]
        alike = [path for path in self.known if path.rpartition(".")[2] == name]
        if len(alike) != 1 or not {section, alike[0].partition(".")[0]}.isdisjoint(NOT_OF_TRAINING):
            return None
        sections = {path.partition(".")[0] for path in self.known if "." in path}
        return alike[0] if section not in sections or alike[0].startswith(f"{section}.") else None

    def _side(self, row: ReportRow) -> Side | None:
        rows = (one for one in table().rows if row.field in one.fields)
        return next((one.side("dynamic", self.version) for one in rows), None)

    def with_fate(self, row: ReportRow, taken: Mapping[str, str]) -> ReportRow:
        """Report row that says whether a key lives on in the new version."""
        there = taken.get(row.source[0]) if len(row.source) == 1 else None
        if there is not None:
            said = say.same_key_there()
            return row._replace(target=(there,), status="exact", en=str(said), zh=said.zh)
        if row.field is None or row.impact != "numerics":
            said = say.no_such_key(title=title_of("mindformers", self.version))
            return row._replace(en=str(said), zh=said.zh)
        return row


_STATIC_MODEL, _MODEL = "model.model_config.", "model."


def _is_repeated(document: YamlDocument, key: str) -> bool:
    """True if a key is in a section that an alias repeats."""
    steps = parse_path(key)
    sections = (document.find(steps[:depth]) for depth in range(1, len(steps)))
    return any(one is not None and one.anchor_span is not None for one in sections)


def _require_as_reported(translation: Translation, text: str) -> None:
    """Refuse to write a text that is read otherwise than the report says."""
    require_said(translation)
    if translation.written is not None:
        read = recipe_of(as_read(translation, text))
        entries = differences(recipe_of(translation.written), read)
        require_said(translation._replace(unsaid=tuple(one for one in entries if one.field and one.status != "equal")))


def _require_yaml(config: Config) -> YamlDocument:
    """The tree of the file's text; UsageError for another framework's file, and for a script that names a YAML."""
    if config.framework != "mindformers" or config.document is None or config.launch is not None:
        raise UsageError(say.upgrades_yaml_alone(file=config.file))
    return config.document


# --- the static graph and older classes ---


def _lay_out(config: Config, document: YamlDocument, translation: Translation, language: Language) -> str:
    """The new document in the layout of the old one."""
    content, names = mindformers_document(translation)
    sources = {
        names[one.key]: tuple(sorted(one.notes, key=_nearness(config, names[one.key], one.value)))
        for one in translation.settings
    }
    owners = _heirs_of_keys(config, translation, names)
    laid_out = LaidOutYaml(document, content, sources, owners)
    return laid_out.text(title_of_text(translation).text(language))


def _name_sources(config: Config, document: YamlDocument, translation: Translation) -> Translation:
    """Translation in which each frame key names the old key that it continues."""
    _, names = mindformers_document(translation)
    sections = _continued_sections(translation, names)
    settings = {one.key: one for one in translation.settings}
    for key, value in mindformers_settings(translation).items():
        known = settings.get(key)
        if known is not None and (known.notes or known.fields):
            continue
        section, _, name = names[key].rpartition(".")
        old = (f"{above}.{name}" for above in sections.get(section, ()))
        notes = tuple(one for one in old if config.writes(one) and not _is_repeated(document, one))[:1]
        settings[key] = TargetSetting(key, value, (), bool(notes), notes)
    homes = {one.notes[0]: one for one in settings.values() if len(one.notes) == 1 and not one.fields}
    rows = tuple(_with_homes(row, homes, config) for row in translation.rows)
    return translation._replace(settings=tuple(settings.values()), rows=rows)


def _continued_sections(translation: Translation, names: Mapping[str, str]) -> dict[str, list[str]]:
    """The old sections, by name, that the keys of each new section come from."""
    sections: dict[str, set[str]] = {}
    for one in translation.settings:
        above = {key.rpartition(".")[0] for key in one.notes} - {""}
        sections.setdefault(names[one.key].rpartition(".")[0], set()).update(above)
    return {new: sorted(old) for new, old in sections.items()}


def _with_homes(row: ReportRow, homes: Mapping[str, TargetSetting], config: Config) -> ReportRow:
    """Report row of keys that are kept inside keys of the new file."""
    there = [homes[key] for key in row.source if key in homes and is_identical(config.value(key), homes[key].value)]
    if row.target or row.status != "dropped" or not there or len(there) < len(row.source):
        return row
    said = say.same_key_there()
    return row._replace(target=tuple(one.key for one in there), status="exact", en=str(said), zh=said.zh)


def _nearness(config: Config, path: str, value: Value) -> Callable[[str], tuple[bool, int, bool]]:
    """Sort key that ranks old keys by similarity to a new one: name, place and value."""
    words = path.split(".")

    def rank(key: str) -> tuple[bool, int, bool]:
        parts = key.split(".")
        return parts[-1] != words[-1], -len({*parts} & {*words}), not is_identical(config.value(key), value)

    return rank


def _heirs_of_keys(config: Config, translation: Translation, names: Mapping[str, str]) -> dict[str, str]:
    """New key that continues each old key and takes over its comments."""
    owners: dict[str, tuple[tuple[bool, int, bool], str]] = {}
    for setting in translation.settings:
        path = names[setting.key]
        for key in setting.notes:
            rank = _nearness(config, path, setting.value)(key)
            lives_on = not rank[0] or not rank[2]
            if lives_on and (key not in owners or rank < owners[key][0]):
                owners[key] = (rank, path)
    return {key: path for key, (_, path) in owners.items()}


def _omit_unchanged_defaults(translation: Translation) -> Translation:
    """Translation without written defaults that the target version has anyway.

    The shorter text is read, and a key without which anything comes out otherwise stays.
    """
    written = translation.written
    if written is None:
        return translation
    optional = {one.key: one for one in translation.settings if one.fields and not one.explicit}
    needed = {one.key for one in translation.settings} - set(optional)
    for _ in range(_ROUNDS):
        shorter = translation._replace(settings=tuple(one for one in translation.settings if one.key in needed))
        config = as_read(shorter, mindformers_text(shorter))
        apart = _differing_names(written, config)
        if not apart:
            rows = tuple(_without_targets(row, optional.keys() - needed) for row in translation.rows)
            return shorter._replace(written=config, rows=rows)
        back = {key for key, one in optional.items() if not apart.isdisjoint((key, *one.fields))} - needed
        needed |= back
        if not back:
            break
    return translation


def _differing_names(full: Config, shorter: Config) -> set[str]:
    """Fields that two readings of a file disagree on, with their keys."""
    one, other = recipe_of(full), recipe_of(shorter)
    names = dict.fromkeys((*one.fields, *other.fields))
    apart = {str(name) for name in names if not is_identical(one.value(name), other.value(name))}
    for key, setting in full.settings.items():
        if key.startswith("resolved.") and not is_identical(setting.value, shorter.value(key)):
            apart.update((key, *setting.derived_from))
    stops = [{refusal.en for refusal in startup_refusals(config, recipe_of(config))} for config in (full, shorter)]
    faults = [{problem.message() for problem in config.problems} for config in (full, shorter)]
    return apart if stops[0] == stops[1] and faults[0] == faults[1] else {*apart, ""}


def _without_targets(row: ReportRow, omitted: Iterable[str]) -> ReportRow:
    """Report row without keys that are not written."""
    kept = tuple(key for key in row.target if key not in omitted)
    if kept == row.target:
        return row
    return row._replace(target=kept, status="exact" if row.status == "made-explicit" and not kept else row.status)


# --- older versions of the dynamic graph ---


def _edit_in_place(config: Config, document: YamlDocument, translation: Translation) -> tuple[str, Translation]:
    """Old text edited for the new version: keys renamed, changed or removed."""
    found = update(document.source.text, translation, config)
    editor = YamlEditor(SourceText(config.file, found.text), shared=False)
    settings = () if found.config is None else found.config.settings.values()
    renamed = {one.notes[0]: one for one in translation.settings if len(one.notes) == 1 and not one.fields}
    edits: list[Edit] = []
    for one in settings:
        if one.origin != "explicit" or one.acceptance != "unknown":
            continue
        new = renamed.get(one.key)
        same_section = new is not None and new.key.rpartition(".")[0] == one.key.rpartition(".")[0]
        edits += editor.rename(one.key, new.key, one.value) if new and same_section else editor.remove(one.key)
    text = apply_edits(found.text, edits) or found.text
    written = as_read(translation, text)
    rows = tuple(_exact_if_equal(row, translation.recipe, recipe_of(written)) for row in found.rows)
    return text, translation._replace(rows=rows, written=written)


def _exact_if_equal(row: ReportRow, before: Recipe, after: Recipe) -> ReportRow:
    """Report row of a field that both versions treat alike, which is not a loss."""
    if row.field is None or row.status != "approximate":
        return row
    if not is_identical(before.value(row.field), after.value(row.field)):
        return row
    said = say.same_key_there()
    return row._replace(status="exact", en=str(said), zh=said.zh)


# --- the fate of each key ---


def _laid_out_keys(config: Config, translation: Translation) -> Iterator[Change]:
    """Keys of a newly laid out document, with the old keys they come from."""
    _, names = mindformers_document(translation)
    owners = _heirs_of_keys(config, translation, names)
    for setting in translation.settings:
        yield _change_of(config, names[setting.key], setting, owners)


def _edited_keys(config: Config, translation: Translation) -> Iterator[Change]:
    """Keys of an edited document that were renamed, changed or added."""
    settings = () if translation.written is None else translation.written.settings.values()
    old_names = {one.key: one.notes[0] for one in translation.settings if len(one.notes) == 1 and not one.fields}
    for setting in settings:
        if setting.origin != "explicit":
            continue
        key, old = (setting.key,), old_names.get(setting.key, setting.key)
        if not config.writes(old):
            yield Change("written-out", (), key, setting.value)
        elif is_identical(config.value(old), setting.value):
            yield Change("kept" if old == setting.key else "renamed", (old,), key, setting.value)
        else:
            yield Change("derived", (old,), key, setting.value)


def _change_of(config: Config, path: str, setting: TargetSetting, owners: Mapping[str, str]) -> Change:
    """Kind of change that turned old keys into a new one: renamed, moved, kept or derived."""
    if not setting.notes:
        return Change("written-out", (), (path,), setting.value)
    nearest = min(setting.notes, key=_nearness(config, path, setting.value))
    if owners.get(nearest) != path or not is_identical(config.value(nearest), setting.value):
        return Change("derived", setting.notes, (path,), setting.value)
    if len(setting.notes) > 1 and not _is_called_alike(nearest, path):
        return Change("derived", setting.notes, (path,), setting.value)  # equal by chance: a batch of 1 x 1 x 256
    if nearest == path:
        return Change("kept", (nearest,), (path,), setting.value)
    moved = nearest.rpartition(".")[0] != path.rpartition(".")[0]
    return Change("moved" if moved else "renamed", (nearest,), (path,), setting.value)


def _is_called_alike(old: str, new: str) -> bool:
    """True if all words of one last name are in the other, such as `batch_size` and `local_batch_size`."""
    names = [key.rpartition(".")[2].split("_") for key in (old, new)]
    one, other = ({word.rstrip("0123456789s") for word in words} for words in names)
    return one <= other or other <= one

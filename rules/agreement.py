"""The repair of a difference: one file's value, written into the other under the name that counts there.

It is unsafe, because it changes what the run does, and it is offered only where the row's own lens reads the written
value back as the other file's.
"""

from __future__ import annotations

from ..mapper.equality import WEIGHT_FOLDERS, is_equal
from ..mapper.families import family_of
from ..mapper.recipe.reading import side_of
from ..mapper.recipe.vocabulary import vocabulary
from ..mappings.keys_compiled import MODEL_TYPE, RUN_LENGTH
from ..mappings.tables import field_named, rows_of
from ..schemas.border.text_output import shell_word
from ..schemas.config import ReadOptions
from ..schemas.diagnostic import UnreadableError
from ..schemas.fast_records import TYPE_CHECKING, cast
from .adjustments import fields_of_key, path_of_missing, settings_named
from .catalog_compiled import CAUSES, ROLES, RULES
from .places import places_of
from .rule import Change, Repair, at_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mapper.families import Family
    from ..mapper.lenses.lens import Written
    from ..mapper.recipe.values import Recipe
    from ..mapper.translate.update import Updater
    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Row
    from ..mappings.tables import Side as RowSide
    from ..schemas.config import Setting, Value
    from ..schemas.diagnostic import Diagnostic, Fix
    from .subject import Side, Subject


def repair_to_agree(name: FieldName, left: Side, right: Side) -> Repair | None:
    """The repair that gives `right` the value of a recipe field that `left` has; None where it cannot be written."""
    if not _is_decided(name, left) or _value_to_take(name, left, right) is None:
        return None
    dialect = side_of(right.config)
    family = family_of(right.config.value(MODEL_TYPE[dialect]), dialect) if dialect in MODEL_TYPE else None
    if family is not None and str(name) in family.fixes:
        return None
    for row in rows_of(name):
        wanted = row.side(dialect, right.config.framework_version)
        if wanted is not None and wanted.fixed is None and wanted.environment is None and wanted.keys:
            keys = tuple(_own_name(key.split("|"), right) for key in wanted.keys)
            changes = _agreeing_changes(name, row, wanted._replace(keys=keys), left, right, family)
            if changes:
                return Repair("unsafe", changes)
    return None


def _value_to_take(name: FieldName, left: Side, right: Side) -> Value:
    """The partner's value as it goes into a file: a checkpoint of its own framework has a folder of its own."""
    from ..mapper.translate.update import OWN_OUTPUTS

    value = left.value(name)
    if name in OWN_OUTPUTS:
        return right.value(name)
    if name not in WEIGHT_FOLDERS or left.framework == right.framework or not value:
        return value
    return right.value(name) or _converted_folder(str(value), left.framework, right.framework)


def _converted_folder(folder: str, source: str, target: str) -> str:
    """The folder of a checkpoint after its conversion, below that of `accmap pair`; both count as equal."""
    from ..mapper.align.ladder import CHECKPOINTS

    name = folder.rstrip("/").rpartition("/")[2]
    return f"{CHECKPOINTS}/{target}" if name == source else f"{CHECKPOINTS}/{target}/{name}"


def _recipe_to_take(left: Side, right: Side) -> Recipe:
    """The partner's recipe as it is taken over into a file."""
    from ..mapper.translate.update import OWN_OUTPUTS

    fields = dict(left.recipe.fields)
    for name in (*WEIGHT_FOLDERS, *OWN_OUTPUTS):
        if name in fields and fields[name].decided:
            fields[name] = fields[name]._replace(value=_value_to_take(name, left, right))
    return left.recipe._replace(fields=fields)


def _is_decided(name: FieldName, side: Side) -> bool:
    field = side.field(name)
    return field is not None and field.decided


def is_elsewhere(name: FieldName, side: Side) -> bool:
    """True if a side has a value that its file does not say: by its table no value there is not none."""
    if side.recipe.value(name) is not None:
        return False
    read = (row.side(side_of(side.config), side.config.framework_version) for row in rows_of(name))
    return any(one is not None and one.options.get("unset") == "elsewhere" for one in read)


def _agreeing_changes(
    name: FieldName, row: Row, wanted: RowSide, left: Side, right: Side, family: Family | None
) -> tuple[Change, ...]:
    """Changes to the right file's keys after which its field reads as the left one's; empty if impossible."""
    from ..mapper.lenses import LENSES
    from ..mapper.lenses.lens import Scope

    def value_if_agreed(field: FieldName) -> Value:
        """The file's own value, but for the fields that are about to agree."""
        return _value_to_take(field, left, right) if str(field) in row.fields else right.value(field)

    lens, place = LENSES[wanted.lens], row.fields.index(name)
    scope = Scope(side_of(right.config), right.config.framework_version, wanted.options, value_if_agreed)
    taken = _value_to_take(name, left, right)
    put = lens.put(tuple(_value_to_take(field, left, right) for field in row.fields), scope)
    drives = lens.drives[place] if lens.drives else range(len(wanted.keys))
    proposed = _planned_keys(wanted, put, drives, right)
    if proposed is None or any(
        _is_of_older_class(wanted.keys[number], held, right) for number, (held, _) in proposed.items()
    ):
        return ()
    now = [_effective(number, wanted, right) for number in range(len(wanted.keys))]
    read = [proposed.get(number, (None, value))[1] for number, value in enumerate(now)]
    changes: dict[int, Change] = {}
    for number, (held, value) in proposed.items():
        if not is_equal(now[number] if held is None else held.value, value):
            path = _key_path(wanted.keys[number], name, family) if held is None else held.key
            change = _change(path, value, right)
            if change is None:
                return ()
            changes[number] = change
    if RUN_LENGTH in wanted.keys:
        read[wanted.keys.index(RUN_LENGTH)] = None  # worked out again from what is written

    def agrees() -> bool:
        got = lens.get(tuple(read), scope)
        return place < len(got) and is_equal(got[place], taken)

    for number in [number for number in changes if right.explicit(wanted.keys[number]) is None]:
        read[number], wish = now[number], read[number]
        if agrees():  # what already is so by default need not be written
            del changes[number]
        else:
            read[number] = wish
    return tuple(changes.values()) if agrees() else ()


def _change(key: str, value: Value, side: Side) -> Change | None:
    """The change that gives a key a value; None if the file has no way to write it."""
    if side.framework == "mindformers":
        from ..mapper.translate.yaml_text import scalar

        return None if value is None else Change("set", at_key(side, key), scalar(value))
    if side.framework != "megatron":
        return None  # a model's own file belongs to its checkpoint
    from ..mapper.translate.megatron_file import words_of
    from ..schemas.megatron.forks import catalog, fork_of

    fact = catalog(side.config.framework_version, fork_of(side.config)).by_dest.get(key)
    if fact is None:
        return None
    words = tuple(words_of(fact, value))
    is_default = value is None or (fact.action in ("true", "false") and value is not (fact.action == "true"))
    if is_default and (side.explicit(key) is None or not is_equal(fact.default, value)):
        return None
    return Change("delete" if is_default else "set", at_key(side, key), words=words)


def _planned_keys(
    wanted: RowSide, put: Written, drives: Sequence[int] | range, right: Side
) -> dict[int, tuple[Setting | None, Value]] | None:
    """The new value of each key of a row, with the setting that holds it now; None if one cannot be written."""
    from ..mapper.lenses.lens import Omitted

    found: dict[int, tuple[Setting | None, Value]] = {}
    for number, key in enumerate(wanted.keys):
        value = put[number] if number < len(put) else None
        if isinstance(value, Omitted) or number not in drives:
            continue
        held = _own_setting(key, wanted.aliases, value, right)
        if "{" in key or isinstance(value, dict) or (held is None and _has_inert_name(key, right)):
            return None
        found[number] = held, value
    return found


def _is_of_older_class(key: str, held: Setting | None, side: Side) -> bool:
    """True for a model key that a file of an older class lacks: each class has a name of its own for it."""
    return side.config.dialect == "legacy" and held is None and key.startswith("model.")


def _own_name(names: Sequence[str], side: Side) -> str:
    """The name of a key in a file: the one that it has given, else one that its version knows."""
    known = [name for name in names if name in side.config.settings]
    return next((name for name in known if side.explicit(name) is not None), (known or names)[0])


def _effective(number: int, wanted: RowSide, side: Side) -> Value:
    """The value that the framework makes of a key, written or not."""
    resolved = side.setting(wanted.read[number]) if number < len(wanted.read) else None
    return side.config.value(wanted.keys[number]) if resolved is None else resolved.value


def _own_setting(key: str, aliases: Sequence[str], value: Value, side: Side) -> Setting | None:
    """The setting that the file itself gives: under the usual name, or under another one that counts."""
    for name in (key, *aliases):
        given = side.explicit(name)
        if given is None or given.acceptance != "accepted":
            continue
        if name == key or (type(given.value) is type(value) and not isinstance(value, bool)):
            return given
    return None


def _has_inert_name(key: str, side: Side) -> bool:
    """True if the file has a name that does nothing in place of this key, and that is mended first."""
    if side.framework != "mindformers":
        return False
    from .catalog.keys import working_name

    section, _, last = key.rpartition(".")
    for name in places_of(side).without_effect():
        place, _, own = name.rpartition(".")
        if place == section and working_name(own) == last:
            return True
    return False


def _key_path(key: str, name: str, family: Family | None) -> str:
    """The path at which a missing key is written: a model class may have a name of its own for it."""
    own = () if family is None else family.keys.get(name, ())
    return f"{key.rpartition('.')[0]}.{own[0]}" if len(own) == 1 else key


# --- as `convert --update` writes it ---

_PLAIN_TOPICS = ("gradient.", "init.", "norm.", "optimizer.", "position.", "precision.")
"""Topics whose numbers stand for themselves: the fix of one leads to nothing else. A dropout is advised against.

The sizes of a model are divided by others, and lists have an entry for each of its layers.
"""
_NUMBERS = ("int", "float", "number")


def is_difference(entry: Diagnostic) -> bool:
    """True if a finding compares two files, so that either can be changed."""
    row = RULES.get(entry.kind.code)
    return row is not None and row[2] == "pair"


def is_plain_fix(entry: Diagnostic, fix: Fix) -> bool:
    """True if a fix need not be tried: it writes one value of a field that stands for itself."""
    if not is_difference(entry):
        return fix.applicability == "safe"
    known = vocabulary()
    return all(
        field.startswith(_PLAIN_TOPICS) and known[field_named(field)].type in _NUMBERS and not field.endswith("dropout")
        for field in entry.fields
    ) and (not any(field.startswith("optimizer.") for field in entry.fields) or _is_in_range(entry))


def _is_in_range(entry: Diagnostic) -> bool:
    """True if both values are ones that every optimizer takes for its rates and decays."""
    values = dict(entry.values)
    try:
        return all(0 < float(str(values.get(side))) < 1 for side in ("a", "b"))
    except ValueError:
        return False


def subject_keys(entry: Diagnostic, side: Side) -> frozenset[str]:
    """The keys that a finding about one file names, or that stand at its place."""
    values = dict(entry.values)
    section = f"{values['section']}." if values.get("section") and values.get("key") else ""
    names = {section + str(values[name]) for name in ("key", "flag", "section", "at") if values.get(name)}
    if side.framework == "megatron":
        names = {name.lstrip("-").replace("-", "_") for name in names} | settings_named(side, entry, when=True)
    else:
        names |= _key_at_place(entry, side)
        names |= {name for name in settings_named(side, entry, when=True) if "_" in name}
    missing = CAUSES[entry.kind.code][4] if entry.kind.code in CAUSES else None
    return frozenset(names | {missing} if missing else names)


def _key_at_place(entry: Diagnostic, side: Side) -> set[str]:
    """The key at the place of a finding; none for a missing key, which stands at the place of its section."""
    from .repairs import path_at

    if entry.span is None or (entry.kind.code in ROLES["missing-key"] and path_of_missing(entry)[1]):
        return set()
    path = path_at(entry.span, side)
    return {path} if path else set()


def subject_fields(entry: Diagnostic, side: Side) -> frozenset[FieldName]:
    """The fields that a finding is about."""
    names = [] if entry.kind.code in ROLES["refused-arguments"] else [*entry.fields]  # it names the few that count
    if not names:
        names = [field for key in subject_keys(entry, side) for field in fields_of_key(side, key)]
    return frozenset([field_named(name) for name in names])


def source_fields_of(fields: frozenset[FieldName], side: Side) -> frozenset[FieldName]:
    """The fields of the keys that a side works the values of some fields out from."""
    keys = (spot.key for name in fields for spot in places_of(side).spots(name))
    return frozenset([field_named(field) for key in keys for field in fields_of_key(side, key)])


DATA_FILES: frozenset[FieldName] = frozenset(("data.blend", "data.train_paths"))
"""Fields that a run needs: a side keeps its files where the partner makes its samples up."""


def agreeing_fix(
    subject: Subject, side: Side, fields: frozenset[FieldName], keys: frozenset[str], effort: int
) -> Fix | None:
    """The fix that gives a side the partner's values of some fields, as `convert --update` writes them."""
    from .repairs import converted_fix

    partner = subject.partner(side)
    if partner is not None and fields & DATA_FILES and not any(map(partner.recipe.value, DATA_FILES)):
        return None
    updater = _updater_of(subject, side)
    edits = [] if updater is None else updater.edits_for(fields, keys, effort)
    fix = converted_fix(side, edits)
    return None if fix is None else fix._replace(command=_update_command(subject, side))


def _update_command(subject: Subject, side: Side) -> str:
    """The command that brings a side to its partner; nothing between two files of one framework, or if it refuses."""
    partner = next((one for one in subject.sides if one is not side), None)
    if partner is None or partner.framework == side.framework or not _is_updated(subject, side, partner):
        return ""
    given = [one for one in subject.sides if one.config.version_origin == "given"]
    options = [word for one in given for word in (f"--{one.framework}", one.config.framework_version)]
    files = partner.source.name, "--update", side.source.name
    return " ".join(map(shell_word, ("accmap", "convert", *files, *options)))


def _is_updated(subject: Subject, side: Side, partner: Side) -> bool:
    """True if `accmap convert PARTNER --update FILE` writes the file: it takes the source, and what it writes runs."""
    known = f"updated {subject.letter(side)}"
    if known not in subject.worked_out:
        subject.worked_out[known] = _runs_updated(subject, side, partner)
    return bool(subject.worked_out[known])


def _runs_updated(subject: Subject, side: Side, partner: Side) -> bool:
    """True if the file that `convert --update` would write is certainly not refused."""
    from ..mapper.preconditions import refusals_of_text, require_accepted
    from ..mapper.translate.update import update

    updater = _updater_of(subject, side)
    if updater is None:
        return False
    try:
        require_accepted(partner.config)
        made = update(side.source.text, updater.translation, side.config)
    except UnreadableError:
        return False
    written = updater.translation._replace(written=made.config, rows=made.rows)
    return not any(one.certain for one in refusals_of_text(written, made.text))


def _updater_of(subject: Subject, side: Side) -> Updater | None:
    """What changes a side into the translation of its partner; None if there is no such translation."""
    known = f"updater of {subject.letter(side)}"
    if known not in subject.worked_out:
        subject.worked_out[known] = _new_updater(subject, side)
    return cast("Updater | None", subject.worked_out[known])


def _new_updater(subject: Subject, side: Side) -> Updater | None:
    """Updater that changes a side to its partner's translation; None if there is no translation."""
    from ..mapper.translate.translation import translate_recipe
    from ..mapper.translate.update import Updater

    partner = subject.partner(side)
    if partner is None:
        return None
    config = side.config
    dialect = None if side.framework == "megatron" else side_of(config)
    try:
        wanted = translate_recipe(
            _recipe_to_take(partner, side), partner.config, config.framework, config.framework_version, dialect
        )
        return Updater(side.source.text, wanted, config, ReadOptions(), original=config)
    except UnreadableError:
        return None

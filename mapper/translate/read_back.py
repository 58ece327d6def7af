"""The written file, read back: every field of the source's recipe is the same there, or the report says otherwise.

The text of the file is read by the other framework's own reader and compared as `diff` compares two files, with the
same gates. So no translation is judged by its own tables' word alone: a key that is written wrongly, a value that the
reader takes otherwise and a default that the target fills in are found here, whatever made them. What a default of the
target decides, and what only costs time, gets a row of its own; any other difference that the report does not name is
an error of accmap's, and nothing is written.
"""

from __future__ import annotations

from ...mappings.keys_compiled import FOLLOWS_LENGTH
from ...schemas.config import ReadOptions
from ...schemas.diagnostic import ReadBackError, UnreadableError, diagnose
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.messages_compiled import say as say_reading
from ...schemas.mindformers.config_state import holds_placeholder
from ...schemas.plain_values import json_value
from ...schemas.source import SourceText
from ...schemas.versions import TITLES
from ..differences import COMPUTED, differences
from ..gates import settling_quantity
from ..recipe.reading import recipe_of
from .megatron_file import megatron_text
from .messages_compiled import say
from .mindformers_file import mindformers_text
from .result import ReportRow
from .shared_fields import with_shared_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Status
    from ...schemas.config import Config
    from ...schemas.diagnostic import Language
    from ..differences import Difference, Found
    from ..recipe.values import Recipe
    from .result import Translation

_BY_CODE: tuple[FieldName | None, ...] = (
    "computed.loss_weighting", "computed.loss_terms", "computed.initial_deviations",
)  # fmt: skip
"""What each framework makes of equal settings by its own code, in some versions and layouts, and no key undoes."""
_SAMPLES: FieldName = "computed.samples"
_LOST: tuple[Status, ...] = ("dropped", "approximate", "unresolved")


def text_of(translation: Translation, *, comments: bool = True, language: Language = "en") -> str:
    """Target file's text with comments in a language."""
    write = megatron_text if translation.target_framework == "megatron" else mindformers_text
    return write(translation, comments=comments, language=language)


def read_back(translation: Translation, source: Config, besides: tuple[ReportRow, ...] = ()) -> Translation:
    """Translation completed by what the written text reads back as.

    Where the source was written for this comparison, `besides` are the rows of the report of that.
    """
    try:
        written = as_read(translation, text_of(translation))
    except UnreadableError:
        return translation  # what does not load at all is said by `obstacles`
    if source.framework != written.framework and not is_described(translation, source):
        translation = with_shared_fields(translation, source, written)
    silent: list[Difference] = []
    more: list[ReportRow] = []
    target = recipe_of(written)
    sides = _Sides((*translation.rows, *besides), (source, written), (translation.recipe, target))
    entries = differences(translation.recipe, target, whole=True)
    for difference in unreported_differences(translation, entries):
        if _follows(sides, difference):
            continue
        row = _own_row(translation, difference)
        if row is None:
            silent.append(difference)
        else:
            more.append(row)
    corrected = {row.field for row in more}
    kept = [
        _reweigh(row, translation.recipe, target)
        for row in translation.rows
        if row.field is None or row.field not in corrected
    ]
    return translation._replace(
        rows=(*kept, *more),
        written=written,
        unsaid=tuple(silent),
        compared=sum(entry.field is not None and entry.status in ("equal", "different") for entry in entries),
        undecided=tuple(_undecided_fields(entries)),
    )


def is_described(translation: Translation, source: Config) -> bool:
    """True if the network comes from a `config.json` and not from the keys of the source itself."""
    return source.framework == "huggingface" or translation.model is not None


def require_said(*translations: Translation) -> None:
    """Raise an error if the written text reads back differently from the report."""
    unsaid = {name: entry for one in translations for name, entry in _unsaid_by_field(one)}
    if not unsaid:
        return
    source = translations[0].source
    en, zh = [say.read_back_failed(count=len(unsaid)).text(lang) for lang in ("en", "zh")]
    lines = [f"  {name}: {_side_text(entry.a)} -> {_side_text(entry.b)}" for name, entry in unsaid.items()]
    remedy = say.read_back_remedy(file=source)
    raise ReadBackError("\n".join([en, *lines, str(remedy)]), "\n".join([zh, *lines, remedy.zh]))


def _unsaid_by_field(translation: Translation) -> Iterator[tuple[str, Difference]]:
    for entry in translation.unsaid:
        assert entry.field is not None
        yield entry.field, entry


def as_read(translation: Translation, text: str) -> Config:
    """Configuration that the target framework reads from a written text."""
    if translation.target_framework == "megatron":
        from ...schemas.reader import config_of

        version = translation.version if translation.fork is None else translation.fork.reference
        return config_of(SourceText("example.sh", text), ReadOptions(megatron=version), path="example.sh")
    from ...schemas.mindformers.effective import mindformers_config

    size = translation.recipe.value("parallel.world_size")
    devices = size if isinstance(size, int) and size > 0 else translation.recipe.world_size
    options = ReadOptions(mindformers=translation.version, dialect=translation.dialect, world_size=devices)
    return mindformers_config(SourceText("", text), options, _no_other)


def _no_other(path: str) -> SourceText:
    """Refuse to open any other file while reading the written text."""
    raise UnreadableError(diagnose(say_reading.missing(path=path), path))


def _reweigh(row: ReportRow, source: Recipe, target: Recipe) -> ReportRow:
    """Report row whose loss is lifted, because all computed quantities of the field are equal."""
    if row.field is None or row.status not in _LOST or row.impact != "numerics":
        return row
    quantity = settling_quantity(row.field, source, target)
    if quantity is None:
        return row
    en, zh = say.feeds_the_same(quantity=quantity).both()
    return row._replace(status="exact", en=en, zh=zh, through=quantity)


# --- what differs ---


def _undecided_fields(entries: Iterable[Difference]) -> Iterator[FieldName]:
    """Relevant fields that cannot be compared."""
    for entry in entries:
        if entry.field is not None and entry.status == "undecided" and entry.counts is not False:
            yield entry.field


def unreported_differences(translation: Translation, entries: Iterable[Difference]) -> Iterator[Difference]:
    """Fields that differ in the written file without a line in the report."""
    carried = {row.field: row.carried for row in translation.rows}
    written = {row.field for row in translation.rows if row.target}
    inexact = {row.field for row in translation.rows if row.status in ("approximate", "conditional")}
    for row in entries:
        if row.field is None or row.status == "equal" or carried.get(row.field) is False:
            continue
        if row.why is not None and row.why.ignored and row.field in inexact:
            continue  # the report's row is that the framework ignores the key
        if row.counts is not False and _weighs(row, written=row.field in written):
            yield row


def _weighs(row: Difference, *, written: bool) -> bool:
    """True if a difference deserves a line: the value was claimed as written, or numbers depend on it."""
    if row.status == "only-b" or (row.status == "only-a" and not written):
        return row.impact == "numerics"
    return row.impact != "none" or written


class _Sides(NamedTuple):
    """The rows and values that a computed difference may follow from."""

    rows: tuple[ReportRow, ...]
    configs: tuple[Config, Config]
    recipes: tuple[Recipe, Recipe]

    def keys_behind(self, name: FieldName) -> set[str]:
        """Keys on which a computed quantity depends, in both files."""
        pairs = zip(self.configs, self.recipes, strict=True)
        fed = {key for config, recipe in pairs for key in _feeding_keys(config, recipe, name)}
        first = (row.source for row in self.rows if not fed.isdisjoint(row.target))
        return fed.union(*first)


def _follows(sides: _Sides, difference: Difference) -> bool:
    """True if a computed quantity depends on something that the report already lists as changed.

    Of a file that its own framework refuses nothing can be computed; why it does not run is said.
    """
    name = difference.field
    if name is None or not name.startswith(COMPUTED):
        return False
    if any(problem.kind.severity == "error" for config in sides.configs for problem in config.problems):
        return True
    fed = sides.keys_behind(name)
    # A row that says "the same" is no reason for what the codes make of it; what is approximate may be written in full,
    # and still be another thing in effect.
    other = (row for row in sides.rows if not row.carried or row.status == "approximate")
    told = (row for row in other if row.impact == "numerics" and row.status in _LOST)
    return any(not fed.isdisjoint((*row.source, *row.target)) for row in told)


def _feeding_keys(config: Config, recipe: Recipe, name: FieldName) -> set[str]:
    """Keys from which a computed quantity is derived, directly or indirectly."""
    entry = recipe.fields.get(name)
    waiting = [] if entry is None else list(entry.keys)
    fed: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in fed:
            fed.add(key)
            setting = config.settings.get(key)
            waiting.extend(() if setting is None else setting.derived_from)
    return fed


def _own_row(translation: Translation, difference: Difference) -> ReportRow | None:
    """Report row for a value that the target decides itself; None if no line is right."""
    here, there = difference.a, difference.b
    if difference.field in _BY_CODE:
        words = {
            "given": _value_text(here),
            "other": _value_text(there),
            "target": TITLES[translation.target_framework],
        }
        text = say.computed_otherwise(**words)
        value = None if here is None else here.value
        return ReportRow(
            difference.field,
            _keys_of_found(here),
            (),
            value,
            "approximate",
            difference.impact,
            False,
            str(text),
            text.zh,
            False,
        )
    given = None if here is None else here.value
    if difference.field == _SAMPLES:
        text = say.samples_begin_anew(given=_value_text(here), other=_value_text(there))
        keys = _keys_of_found(here)
        return ReportRow(_SAMPLES, keys, (), given, "approximate", difference.impact, False, *text.both())
    if isinstance(given, str) and holds_placeholder(given) and there is not None and not there.decided:
        text = say.stays_a_placeholder(text=given)
        keys, written = _keys_of_found(here), _keys_of_found(there)
        return ReportRow(difference.field, keys, written, given, "unresolved", difference.impact, False, *text.both())
    if difference.field in FOLLOWS_LENGTH and _has_no_length(translation):
        text = say.follows_open_length(target=TITLES[translation.target_framework], given=_value_text(there))
        keys, written = _keys_of_found(here), _keys_of_found(there)
        return ReportRow(difference.field, keys, written, given, "unresolved", difference.impact, False, *text.both())
    if _is_claimed(translation, difference):
        return None
    words = {"target": TITLES[translation.target_framework], "given": _value_text(there)}
    said = None if here is None or not here.decided else here.value
    status: Status
    if difference.impact == "performance":
        status, text = "conditional", say.other_default(**words)
    elif said is None:
        status = "unresolved"
        text = say.decided_there(**words) if there is not None and there.decided else say.not_decided()
    else:
        return None
    keys, written = (
        _keys_of_found(here),
        _keys_of_found(there) if there is not None and there.origin == "explicit" else (),
    )
    return ReportRow(difference.field, keys, written, said, status, difference.impact, False, str(text), text.zh, False)


def _has_no_length(translation: Translation) -> bool:
    """True if the length of the run is left open, and a stand-in is written."""
    return any(row.field == "run.train_steps" and row.status == "unresolved" for row in translation.rows)


def _is_claimed(translation: Translation, difference: Difference) -> bool:
    """True if a report row claims that the source's value is converted."""
    rows = (row for row in translation.rows if row.field == difference.field and row.value is not None)
    return any(row.target or (row.explicit and difference.impact != "performance") for row in rows)


def _keys_of_found(found: Found | None) -> tuple[str, ...]:
    return () if found is None or found.key is None else (found.key,)


def _value_text(found: Found | None) -> str:
    """Value in JSON form; `?` if absent or undecided."""
    from json import dumps

    return "?" if found is None or not found.decided else dumps(json_value(found.value), ensure_ascii=False)


def _side_text(found: Found | None) -> str:
    """Value with its key or origin; `-` if absent."""
    if found is None:
        return "-"
    return f"{_value_text(found)} ({found.key or found.origin})"

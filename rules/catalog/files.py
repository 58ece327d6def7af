"""Rules about the files themselves."""

from __future__ import annotations

from ...mapper.differences import differences
from ...mapper.preconditions import startup_refusals
from ...mappings.keys_compiled import DROPOUTS, TOKENIZER_MODEL
from ...schemas.config import explicit_of
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.message import Words
from ...schemas.mindformers.messages_compiled import say as reader_texts
from ...schemas.versions import TITLES
from ..catalog_compiled import ROLES
from ..messages_compiled import say
from ..naming import display_value
from ..rule import Change, Found, Repair, at_key, at_span, on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...mapper.differences import Difference
    from ...mapper.preconditions import Refusal
    from ...mapper.recipe.values import Recipe
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Setting
    from ...schemas.source import Span
    from ..subject import Folder, Side, Subject

_MARKS = ("/path/to", "path/to/", "your_", "your-", "/your/", "todo", "fixme", "xxxx")


def unresolved_values(subject: Subject) -> Iterator[Found]:
    """Findings on undecided words, which exclude everything that depends on them from comparison."""
    for side in subject.sides:
        if not side.config.unresolved:
            continue
        named: dict[object, Setting] = {
            (setting.span.line, setting.span.column): setting
            for setting in side.config.settings.values()
            if not setting.decided and setting.span is not None
        }
        if any(problem.kind.code in ROLES["undecided-argument"] for problem in side.config.problems):
            # The reader has already said which argument stays open.
            continue
        for entry in side.config.unresolved:
            if entry.reason == reader_texts.network_unknown().en:
                continue  # the reader has said it in a sentence of its own
            setting = _setting_at(named.values(), entry.span)
            if setting is None and not entry.may_split:
                continue
            key, key_zh = say.what_follows_it().both() if setting is None else (setting.key, setting.key)
            reasons = {"reason": entry.reason, "reason_zh": entry.why("zh")}
            values = {"text": entry.text, **reasons, "key": key, "key_zh": key_zh}
            yield Found(at_span(side, entry.span), values)


def another_model(subject: Subject) -> Iterator[Found]:
    """Finding if the trained network differs from that of the model folder that the file names."""
    for side in subject.sides:
        if side.model is not None:
            yield from folder_differences(side, side.model)


def _setting_at(settings: Iterable[Setting], span: Span) -> Setting | None:
    """Setting whose place contains a span; None if there is none."""
    for setting in settings:
        place = setting.span
        if place is None or place.file != span.file:
            continue
        if (place.line, place.column) <= (span.line, span.column) and (span.end_line, span.end_column) <= (
            place.end_line,
            place.end_column,
        ):
            return setting
    return None


def stops_when_built(subject: Subject) -> Iterator[Found]:
    """Findings on parts that pass validation but that Megatron-LM cannot build."""
    for side, one in _refusals(subject):
        if one.found_by == "builder" and one.key is not None:
            why = Words(one.en, one.zh)
            values = {"version": side.config.framework_version, "condition": one.condition, "why": why}
            yield Found(at_key(side, one.key), values, severity=None if one.certain else "warning")


def placeholders_left(subject: Subject) -> Iterator[Found]:
    """Findings on values that are still placeholders."""
    for side in subject.sides:
        for setting in explicit_of(side.config.settings):
            held = setting[1]
            if (held in _filled_in) if isinstance(held, str) else not isinstance(held, (list, tuple)):
                continue
            text = None if setting.span is None else _placeholder_in(setting)
            if text is not None:
                yield Found(at_key(side, setting.key), {"value": display_value(text)})


def _placeholder_in(setting: Setting) -> str | None:
    """Text in a setting's value that looks like an unfilled placeholder; None without one."""
    held = setting.value
    for value in (held,) if isinstance(held, str) else held if isinstance(held, (list, tuple)) else ():
        if not isinstance(value, str) or value in _filled_in or len(value) > 400:
            continue
        text = value.strip().lower()
        if text[:1] == "<" and text[-1:] == ">" and len(text) > 2:
            return value
        for mark in _MARKS:
            if mark in text:
                return value
        if len(_filled_in) < _MOST_FILLED_IN:
            _filled_in.add(value)
    return None


_MOST_FILLED_IN = 5_000
_filled_in: set[str] = set()
"""Texts that are no placeholders: the same words stand in most files."""


def integer_where_float(subject: Subject) -> Iterator[Found]:
    """Findings on probabilities written as whole numbers."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic":
        return
    for name in DROPOUTS:
        key = f"model.model_config.{name}"
        given = side.explicit(key)
        if given is None or given.acceptance != "accepted" or isinstance(given.value, bool):
            continue
        if isinstance(given.value, int) and not _is_reported(side, key):
            better = f"{given.value}.0"
            place = at_key(side, key)
            repair = Repair("safe", (Change("set", place, better),))
            yield Found(place, {"key": name, "value": given.value, "better": better}, repair=repair)


def _is_reported(side: Side, key: str) -> bool:
    return any(
        problem.kind.code in ROLES["wrong-number"] and dict(problem.values).get("key") == key
        for problem in side.config.problems
    )


_OF_THE_RUN = ("init.", "mtp.", "moe.input_jitter", "model.hidden_dropout", "attention.dropout", "model.implementation")
"""What a run may choose for the same weights; layers that predict further tokens are no part of transformers' model."""
_NUMBER_TYPES = ("precision.compute_dtype", "precision.params_dtype")
"""Fields of a rule about inference of its own."""
_PATTERN = "moe.layer_pattern"
_ROWS = "model.padded_vocab_size"
_LARGEST_STEP = 1024
"""More rows than a padded vocabulary adds, for one device of tensor parallelism."""


def folder_differences(side: Side, folder: Folder) -> Iterator[Found]:
    """Finding that lists all network differences between a run and a model folder."""
    for found in network_differences(side, folder.recipe):
        from_tokenizer = folder.key == TOKENIZER_MODEL
        yield found._replace(severity="warning", variant="tokenizer") if from_tokenizer else found


def network_differences(side: Side, other: Recipe) -> Iterator[Found]:
    """Finding that lists all differences between a file's network and another one.

    Of a run that need not describe its network, only what both sides decide is compared.
    """
    rows = differences(side.recipe, other)
    found = [row for row in rows if _is_another_network(row, side, other)]
    if other.framework == "huggingface":
        yield from _undecided_settings(rows, side, other)
    else:
        found = [row for row in found if row.status == "different" and row.field not in _NUMBER_TYPES]
    if not found:
        return
    found.sort(key=lambda row: row.a is None or row.a.origin != "explicit")
    told = ", ".join(map(_difference_text, found))
    first = found[0].field
    assert first is not None
    values = {"folder": other.file, "family": other.dialect, "differences": told}
    names: tuple[FieldName, ...] = tuple([row.field for row in found if row.field is not None])
    yield Found(on(side, first), values, fields=names, repair=_repair_of_network(names, side, other))


_UNLIKE = ("activation.function", "model.bias_linear", "position.rotary_interleaved")
"""Fields of which a value that the recipe cannot hold is one that no run has."""


def _undecided_settings(rows: Iterable[Difference], side: Side, other: Recipe) -> Iterator[Found]:
    """Findings on the folder's settings whose values no field of the recipe can hold."""
    found = [one for row in rows if row.status == "undecided" and (one := _open_setting(row)) is not None]
    certain = [one for one in found if one[0] in _UNLIKE]
    if certain:
        yield _open_finding(certain, side, other)._replace(variant="unlike")
    if len(certain) < len(found):
        unknown = [one for one in found if one[0] not in _UNLIKE]
        yield _open_finding(unknown, side, other)._replace(severity="warning", variant="undecided")


def _open_finding(settings: Sequence[tuple[FieldName, str]], side: Side, other: Recipe) -> Found:
    keys = dict.fromkeys([key for name, _ in settings for key in other.fields[name].keys])
    values = {"folder": other.file, "family": other.dialect, "keys": ", ".join(keys)}
    values["differences"] = ", ".join([f"{name} {value}" for name, value in settings])
    return Found(on(side, settings[0][0]), values, fields=tuple([name for name, _ in settings]))


def _open_setting(row: Difference) -> tuple[FieldName, str] | None:
    """Field and value of the run, if the folder sets what no field holds; None otherwise."""
    name, here, there = row.field, row.a, row.b
    if name is None or here is None or there is None or row.impact != "numerics":
        return None
    if there.decided or there.origin != "explicit" or not here.decided or name.startswith((*_OF_THE_RUN, "computed.")):
        return None
    return name, display_value(here.value)


def _repair_of_network(names: Sequence[FieldName], side: Side, other: Recipe) -> Repair | None:
    """The repair that gives a file the other network; None if one of the fields cannot be written."""
    from ..agreement import repair_to_agree  # only if something differs

    repairs = [repair_to_agree(name, side._replace(recipe=other), side) for name in names]
    changes = [change for one in repairs if one is not None for change in one.changes]
    return Repair("unsafe", tuple(changes)) if None not in repairs else None


def _is_another_network(row: Difference, side: Side, other: Recipe) -> bool:
    """True if a difference gives the same weights another meaning."""
    name = row.field
    if name is None or row.status not in ("different", "only-a", "only-b") or row.impact != "numerics":
        return False
    if name.startswith((*_OF_THE_RUN, "computed.")) or row.counts is False:
        return False
    if name.startswith("position.") and any(
        problem.kind.code in ROLES["nested-positions"] for problem in side.config.problems
    ):
        return False  # said by the reader, which knows why
    if name == _PATTERN and side.recipe.value("model.num_layers") != other.value("model.num_layers"):
        return False  # the number of layers says it
    return name != _ROWS or not _has_padding_only(row, side)


def _has_padding_only(row: Difference, side: Side) -> bool:
    """True if the run has only the rows more that padding adds."""
    here, there = (None if one is None else one.value for one in (row.a, row.b))
    size = side.recipe.value("parallel.tensor_size")
    step = _LARGEST_STEP * (size if isinstance(size, int) and size > 0 else 1)
    return isinstance(here, int) and isinstance(there, int) and 0 <= here - there < step


def _difference_text(row: Difference) -> str:
    here, there = (None if one is None else one.value for one in (row.a, row.b))
    return f"{row.field} {display_value(here)} / {display_value(there)}"


def will_not_run(subject: Subject) -> Iterator[Found]:
    """Findings on settings that stop the framework after loading, unless another rule reports them."""
    for side, one in _refusals(subject):
        if one.found_by != "table" or one.rule is not None or one.key is None:
            continue
        values = {
            "framework": TITLES[side.framework],
            "version": side.config.framework_version,
            "why": one.en,
            "why_zh": one.zh,
            "instead": one.instead,
            "at": one.key,
        }
        yield Found(at_key(side, one.key), values, severity=None if one.certain else "warning")


def _refusals(subject: Subject) -> Iterator[tuple[Side, Refusal]]:
    """Unmet preconditions of each side that its reader does not report."""
    for side in subject.sides:
        name = f"{subject.letter(side)}: refusals"
        if name not in subject.worked_out:
            subject.worked_out[name] = startup_refusals(side.config, side.recipe)
        for one in cast("tuple[Refusal, ...]", subject.worked_out[name]):
            yield side, one

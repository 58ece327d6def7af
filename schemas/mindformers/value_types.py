"""Whether a written value is of the kind that MindSpore Transformers computes with, and one of those it knows.

The kinds are facts of a version (`facts.yaml`, `judged.yaml`: `types` of TransformerConfig's fields, `section_types`
of the other sections, `choices`); a kind that ends in `?` may be null. Which values stop the run was tried on the real
classes (`get_model_config`, `convert_to_transformer_config`, `GPTModel`, `create_optimizer_scheduler`, 1.6-1.9).
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .constructors import string_number
from .messages_compiled import say
from .reading import Undecided
from .shape import is_list, is_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..message import Words
    from .reading import Reading, Sourced
    from .resolution import Trainer

_READS_AS_FALSE = frozenset(("false", "no", "off", "none", "null", "0", ""))

_kinds: dict[tuple[str, str], dict[str, str]] = {}


def kinds_of(catalog: Mapping[str, Any], table: str) -> dict[str, str]:
    """The kind of every name of a table of facts."""
    key = str(catalog["version"]), table
    found = _kinds.get(key)
    if found is None:
        found = _kinds[key] = {name: kind for kind, names in catalog[table].items() for name in names.split()}
    return found


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a kind."""
    if value is None:
        return kind[-1] == "?"
    base = kind.rstrip("?")
    if base == "bool":
        return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))
    if base == "str":
        return isinstance(value, str)
    if base == "count" and isinstance(value, str):
        return value.strip().removeprefix("-").isdecimal()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return base == "float" or (isinstance(value, int) and (value > 0 or base != "positive"))


def checked_fields(reading: Reading, fields: dict[str, Sourced], *, static: bool = True) -> dict[str, Sourced]:
    """The written fields of the TransformerConfig; one of the wrong kind is reported and left open.

    The dynamic graph has the same fields, and other words for some of them.
    """
    kinds = kinds_of(reading.catalog, "types")
    choices: dict[str, str] = reading.catalog["choices"] if static else {}
    result = dict(fields)
    for name, one in fields.items():
        path = one.sources[0] if one.sources else ""
        if path not in reading.places or isinstance(one.value, Undecided) or not one.decided:
            continue
        kind = None if _unread(name, fields) else kinds.get(name)
        if kind is None or fits(one.value, kind):
            _check_choice(reading, name, fields, path, choices.get(name))
        elif _report(reading, path, one.value, kind):
            result[name] = one._replace(value=Undecided(str(one.value)))
            if name not in _CONVERTED and not _counts(name, fields):  # nothing computes with it (1.6-1.9)
                found = reading.problems[-1]
                reading.problems[-1] = found._replace(kind=found.kind._replace(severity="warning"))
    return result


def _check_choice(reading: Reading, name: str, fields: Mapping[str, Sourced], path: str, choices: str | None) -> None:
    """Report a value of the right kind that the code does not know."""
    value: Any = fields[name].value
    if name == "moe_layer_freq" and not isinstance(value, int) and not is_list(value):
        # transformer_config.py:TransformerConfig.__post_init__ (1.6-2.1); a text is evaluated, but not beside
        # first_k_dense_replace, which writes the list itself
        dense = fields.get("first_k_dense_replace")
        if is_mapping(value) or (isinstance(value, str) and dense is not None and dense.value):
            _note(reading, path, value, say.number_or_list())
    elif choices is not None and isinstance(value, str) and _counts(name, fields):
        known = choices.split()
        if (value.lower() if name == "hidden_act" else value) not in known:
            _note(reading, path, value, say.one_of(known=", ".join(known)))


def _unread(name: str, fields: Mapping[str, Sourced]) -> bool:
    """The longest position is handed on, and computed with by learned positions and YaRN alone."""
    kind = fields.get("position_embedding_type")
    return name == "max_position_embeddings" and (kind is None or kind.value == "rope")


_CONVERTED = frozenset(("moe_router_dtype",))
"""What TransformerConfig.__post_init__ makes a MindSpore type of, with experts or without (1.6-2.1)."""


def _counts(name: str, fields: Mapping[str, Sourced]) -> bool:
    experts = fields.get("num_moe_experts")
    return not name.startswith("moe_") or (experts is not None and bool(experts.value))


def _check_strictly(reading: Reading) -> None:
    for path, kind in kinds_of(reading.catalog, "strict").items():
        value = reading.get(path)
        if path not in reading.places or isinstance(value, Undecided):
            continue
        if not isinstance(value, bool if kind == "bool" else int):
            _note(reading, path, value, _expected(kind))


def check_sections(run: Trainer) -> None:
    """Report the written values outside the model that are of the wrong kind."""
    reading = run.reading
    _check_strictly(reading)
    places = reading.places
    said = {dict(problem.values).get("key") for problem in reading.problems}
    for path, kind in kinds_of(reading.catalog, "section_types").items():
        if path in places and path not in said:
            value = reading.get(path)
            if not isinstance(value, Undecided) and not fits(value, kind):
                _report(reading, path, value, kind)


def _report(reading: Reading, path: str, value: Any, kind: str) -> bool:
    """Say that a value is of the wrong kind; the answer is whether the run stops there."""
    base = kind.rstrip("?")
    if base == "bool" and not is_list(value) and not is_mapping(value):
        truth = bool(value)
        wrong = isinstance(value, str) and truth and value.strip().lower() in _READS_AS_FALSE
        reading.note(say.value_truth(key=path, value=repr(value), truth=str(truth), version=reading.version), path)
        if wrong:
            found = reading.problems[-1]
            reading.problems[-1] = found._replace(kind=found.kind._replace(severity="error"))
        return False
    if base == "float" and isinstance(value, str) and _is_number(value):
        string_number(reading, path, say.run_cannot())
        return True
    _note(reading, path, value, _expected(base))
    return True


def _expected(kind: str) -> Words:
    """A kind in words."""
    words: dict[str, Callable[[], Words]] = {
        "positive": say.above_0,
        "float": say.a_number,
        "bool": say.true_or_false,
        "str": say.a_text,
    }
    return words.get(kind, say.a_whole_number)()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _note(reading: Reading, path: str, value: Any, expected: Words) -> None:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    reading.note(say.value_type(key=path, value=shown, expected=expected, version=reading.version), path)

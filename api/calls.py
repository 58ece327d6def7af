"""Checks of the arguments of public functions: a wrong one is a UsageError with a sentence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import wraps

from accmap.cli.argument_parser import counts_from_one
from accmap.cli.messages_compiled import say
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UsageError
from accmap.schemas.fast_records import TYPE_CHECKING, cast
from accmap.schemas.message import NOTHING
from accmap.schemas.reader import check_versions
from accmap.schemas.suggestion import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

_POSITIONAL_ONLY_REST = 0x04
"""Of a code object: the function takes any number of words (`*files`)."""
_TEXTS = frozenset(("version", "megatron", "mindformers", "dialect", "encoding", "transformers"))
_NUMBERS = frozenset(("seeds", "world_size", "launch", "steps", "dataset_size"))
_LISTS = frozenset(("positional", "declared"))
_MAPPINGS = frozenset(("variables", "branches"))


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which answers a call that its signature does not allow with a UsageError."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    in_order = names[: code.co_argcount]
    needed = in_order[: len(in_order) - len(function.__defaults__ or ())]
    endless = bool(code.co_flags & _POSITIONAL_ONLY_REST)

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        _require_names(function.__name__, names, named)
        if len(given) > len(in_order) and not endless:
            raise UsageError(
                say.call_takes(name=function.__name__, count=len(in_order), given=len(given), names=", ".join(names))
            )
        missing = [name for name in needed[len(given) :] if name not in named]
        if missing:
            raise UsageError(say.needs(name=function.__name__, operands=", ".join(missing)))
        every: dict[str, object] = {**dict(zip(in_order, given, strict=False)), **named}
        for name, value in every.items():
            if value is not None or name in _NUMBERS:
                _require_kind(name, value)
        _require_options(every.get("options"))
        return function(*given, **named)

    return call


def _require_names(function: str, names: Sequence[str], named: Collection[str]) -> None:
    """UsageError for keyword names that a function does not take, with a suggestion."""
    for name in named:
        if name in names:
            continue
        if name in ReadOptions._fields and "options" in names:
            raise UsageError(say.name_of_options(function=function, name=name))
        hint = suggestion(name, names)
        raise UsageError(say.call_has_no(function=function, name=name, names=", ".join(names), hint=hint))


def _require_options(options: object) -> None:
    """UsageError for what is no ReadOptions, or has a value of another kind; UnreadableError for unknown versions."""
    if options is None:
        return
    if not isinstance(options, ReadOptions):
        raise UsageError(say.no_options(given=type(options).__name__))
    for name, value in options._asdict().items():
        if value is not None or name in _LISTS | _MAPPINGS:
            _require_kind(name, value)
    if options.confine is not None:
        path_of(options.confine)
    check_versions(options)


def _require_kind(name: str, value: object) -> None:
    """UsageError where a value is not of its name's kind; a number counts from 1, as its option does."""
    if name in _TEXTS:
        require_text(name, value)
    if name in _NUMBERS:
        _require_count(name, value)
    if name in _LISTS and not _are_texts(value):
        raise UsageError(say.takes_list(option=name, given=value))
    if name in _MAPPINGS and not _names_by_text(value):
        raise UsageError(say.takes_mapping(option=name, given=value))


def _require_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(say.takes_number(option=name, given=value))
    if value < 1:
        raise counts_from_one(f"--{name.replace('_', '-')}", value)


def _are_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in cast("Sequence[object]", value))


def _names_by_text(value: object) -> bool:
    return isinstance(value, Mapping) and _are_texts(tuple(cast("Mapping[object, object]", value)))


def require_text(what: str, given: object) -> None:
    """UsageError for what is no text."""
    if not isinstance(given, str):
        raise UsageError(say.takes_text(option=what, given=given))


def paths_of(what: str, given: object) -> list[str]:
    """The paths in a list."""
    if isinstance(given, (list, tuple)):
        return [path_of(one) for one in cast("Sequence[object]", given)]
    raise UsageError(say.takes_list(option=what, given=given))


def path_of(given: object) -> str:
    """The path that a string or a pathlib.Path is."""
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(cast("str | os.PathLike[str]", given))
        if path and isinstance(path, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a PathLike of bytes
            return path
        raise UsageError(say.no_path(given=repr(path)))
    raise UsageError(say.no_path(given="None" if given is None else type(given).__name__))


def codes_of(what: str, given: object) -> list[str]:
    """Codes in a list, or one alone."""
    if isinstance(given, str):
        return [given]
    listed = isinstance(given, (list, tuple, set, frozenset))
    codes = list(cast("Collection[object]", given)) if listed else [given]
    if all(isinstance(code, str) for code in codes):
        return [str(code) for code in codes]
    raise UsageError(say.no_codes(option=what, given=repr(codes if listed else codes[0])))


def require_word(what: str, given: object, known: Sequence[str]) -> None:
    """UsageError for a word that is none of the known ones."""
    if given not in known:
        hint = suggestion(given, known) if isinstance(given, str) else NOTHING
        raise UsageError(say.is_one_of(option=what, listed=", ".join(known), given=given, hint=hint))

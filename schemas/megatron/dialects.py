"""Forks of Megatron-LM as data beside the version they stand on: a dialect knows more arguments, and what they mean.

A dialect is one file (docs/dialects.md): its arguments, what its code makes of them as rows in the manner of
`validation.yaml`, how it writes what Megatron-LM's arguments say, and the reasons of arguments that nothing follows
from. Those that come with accmap stand in `dialects/` and are compiled to plain literals; a user's own is named by its
path and read as it stands. Nothing of this is loaded while a file of Megatron-LM's own is read.
"""

from __future__ import annotations

import os
from importlib import import_module

from ..diagnostic import UnreadableError, diagnose
from ..expressions import Expression
from ..fast_records import TYPE_CHECKING, NamedTuple, cast
from ..file_kind import matches_pattern
from ..message import verbatim
from ..rows import TOO_ODD, Row
from ..source_tree import checkout_version
from ..versions import names_a_file, versions_in
from . import validation_functions
from .argument_parser import NULLABLE, destination
from .catalog import VERSIONS, ArgumentFact, catalog, catalog_of, with_arguments
from .messages_compiled import say
from .validation import OF_RUN, Beside, GivenArguments, Said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from ..config import Launch, Setting
    from ..message import Words
    from .argument_parser import Parsed
    from .catalog import Catalog

_ACTIONS = ("set", "respell", "let", "require", "ignored", "read")
_BUILTINS = {"bool": bool, "int": int, "float": float, "len": len, "min": min, "max": max, "sum": sum}
_FUNCTIONS = {
    **{name: value for name, value in vars(validation_functions).items() if callable(value) and name[0] != "_"},
    **_BUILTINS,
}
_TYPES = ("str", "int", "float", "bool", "truth", "frequency", "integers", "name", None, *NULLABLE)


class Reason(NamedTuple):
    """Reason for which some arguments have no place on the other side, and its impact."""

    names: tuple[str, ...]
    impact: Literal["numerics", "performance", "none"]
    en: str
    zh: str
    when: Expression | None


class Written(NamedTuple):
    """An argument of a dialect's script, and the argument of Megatron-LM's own that it stands for."""

    of: str
    key: str
    value: Any


class Writing(NamedTuple):
    """Arguments of a dialect's script that stand for one of Megatron-LM's."""

    of: str
    when: Expression | None
    to: tuple[tuple[str, Expression], ...]


class UsersFile(NamedTuple):
    """A user's file that describes a dialect."""

    path: str
    text: str


class Dialect(NamedTuple):
    """One version of a fork."""

    name: str
    label: str
    base: str
    arguments: tuple[ArgumentFact, ...]
    rows: Beside
    """What its code makes of the values."""
    reasons: tuple[Reason, ...]
    read: frozenset[str]
    """The arguments that some row reads."""
    writing: tuple[Writing, ...]
    note: tuple[str, str] | None
    """What is said wherever its facts are used."""
    borrowed: bool
    """True if the facts are those of another version of the fork."""
    replaced: frozenset[str]
    """Rules about code of Megatron-LM's that the fork has code of its own for."""
    own: frozenset[str]
    """The destinations that only the fork's arguments write."""
    known: Catalog
    """Megatron-LM's arguments and the fork's; the fork's where they stand alone."""
    alone: frozenset[str] | None
    """The groups of Megatron-LM's arguments that its program decides in other ways, where it takes none but its own."""
    overrules: frozenset[str]
    """Megatron-LM's arguments that options without a default of their own change: without them each stays as it is."""
    whole: str | None
    """The argument without which the file is a part of what decides the run, and what it does not say stays open."""
    file: UsersFile | None = None
    """The user's file that describes it; None for one that comes with accmap."""

    @property
    def reference(self) -> str:
        """Text that selects this dialect in `--megatron`."""
        return self.name if self.file is None else self.file.path

    def __reduce__(self) -> tuple[Callable[..., Dialect | None], tuple[str, ...]]:
        """Another process reads it from the same text: its tables are large."""
        return (dialect_named, (self.name,)) if self.file is None else (_dialect_of_file, self.file)

    def to_fork_arguments(self, values: Mapping[str, Any]) -> list[Written]:
        """Megatron-LM's arguments in this fork's own words."""
        known: dict[str, Any] = {dest: fact.default for dest, fact in self.known.by_dest.items()} | dict(values)
        told = {key: Written(key, key, value) for key, value in values.items()}
        for one in self.writing:
            if one.of not in values or (one.when is not None and not one.when(known)):
                continue
            for dest, expression in one.to:
                value = expression(known)
                told.pop(dest, None)
                if value is not None:
                    told[dest] = Written(one.of, dest, value)
        return list(told.values())

    def targets_of(self, dest: str) -> tuple[str, ...]:
        """Megatron-LM's arguments whose value comes from a fork's argument."""
        names, found = {dest}, dict[str, None]()
        for row in (*self.rows.before, *self.rows.after):
            reads = {name for part in (row.value, row.condition) if isinstance(part, Expression) for name in part.reads}
            if names.isdisjoint(reads):
                continue
            if row.action == "let":
                names.add(row.target)
            elif row.target and self.known.knows(row.target):
                found[row.target] = None
        return tuple(found)

    def holds(self, condition: str, settings: Mapping[str, Setting], launch: Launch | None) -> bool:
        """True if a condition on the settings, in the words of a row, certainly holds."""
        try:
            return bool(Expression(condition, _FUNCTIONS, OF_RUN)(_Values(settings, launch)))
        except TOO_ODD:
            return False

    def put_for(self, dest: str) -> tuple[str, ...]:
        """Arguments whose values a row writes over `dest`."""
        rows = (row for row in (*self.rows.before, *self.rows.after) if row.action == "read" and row.target == dest)
        return tuple(
            row.value.name
            for row in rows
            if isinstance(row.value, Expression)
            and row.value.name
            and not (isinstance(row.condition, Expression) and dest in row.condition.reads)
        )

    def about(self, dest: str) -> Reason | None:
        """First listed reason about an argument, even if it does not apply."""
        return next((one for one in self.reasons if any(matches_pattern(name, dest) for name in one.names)), None)

    def reason(self, dest: str, settings: Mapping[str, Setting], launch: Launch | None) -> Reason | None:
        """First listed reason about an argument that applies to these settings; None without one."""
        own = dest in self.own
        fitting = (
            one for one in self.reasons if (own or one.when) and any(matches_pattern(name, dest) for name in one.names)
        )
        values = _Values(settings, launch)
        return next((one for one in fitting if one.when is None or _holds(one, one.when, values)), None)


class _Values(GivenArguments):
    """The settings as an expression asks for them."""

    def __init__(self, settings: Mapping[str, Setting], launch: Launch | None) -> None:
        self.settings, self.launch = cast("dict[str, Setting]", settings), launch

    def __getitem__(self, name: str) -> Any:
        setting = self.settings[name]
        if not setting.decided:
            raise LookupError(name)
        return setting.value


def _holds(reason: Reason, condition: Expression, values: _Values) -> bool:
    """True if a condition holds or cannot be evaluated."""
    try:
        return bool(condition(values))
    except TOO_ODD:
        return reason.impact != "none"


_shipped: dict[str, Dialect] = {}
"""Those that come with accmap, by each name that was asked for."""
_described_by: dict[UsersFile, Dialect] = {}
"""The users' own, by where they are described and what is said there: a name says nothing of its content."""
_MOST_DESCRIBED = 16


def dialects_with(dest: str) -> Iterator[Dialect]:
    """Built-in dialects that have an argument of this destination, oldest first."""
    for name in known_dialects():
        dialect = dialect_named(name)
        if dialect is not None and dest in dialect.own:
            yield dialect


def known_dialects() -> tuple[str, ...]:
    """Names of the built-in dialects."""
    from .dialect_signs_compiled import SIGNS

    return tuple(f"{sign[0]}-{version}" for sign in SIGNS for version in sign[1])


def dialect_versions(fork: str) -> tuple[str, ...]:
    """Versions of a fork that accmap includes, oldest first."""
    from .dialect_signs_compiled import SIGNS

    return next((sign[1] for sign in SIGNS if sign[0] == fork), ())


def dialect_named(text: str, where: str = "--megatron") -> Dialect | None:
    """The dialect of a name, `mindspeed-llm-2.3` or its newest version `mindspeed-llm`, or of a user's file."""
    if names_a_file(text):
        from ..border.file_input import read_text

        return _dialect_of_file(os.path.abspath(text), read_text(text).text, text)
    found = _shipped.get(text)
    if found is None:
        from .dialect_signs_compiled import SIGNS

        for fork, versions, *_ in SIGNS:
            version = versions[-1] if text == fork else text.removeprefix(f"{fork}-")
            if text.startswith(fork) and version in versions:
                module = import_module(f".dialect_{fork.replace('-', '_')}_compiled", __package__)
                found = dialect_of(module.CONTENT, version, where)
        if found is not None:
            _shipped[text] = _shipped[found.name] = found
    return found


def _dialect_of_file(path: str, text: str, shown: str | None = None) -> Dialect:
    """The dialect that a user's file describes; `shown` is the file's name in messages."""
    file = UsersFile(path, text)
    found = _described_by.get(file)
    if found is None:
        if len(_described_by) >= _MOST_DESCRIBED:
            _described_by.clear()
        found = _described_by[file] = dialect_of(_content_of(text, shown or path), None, shown or path)._replace(
            file=file
        )
    return found


def _content_of(text: str, shown: str) -> Mapping[str, Any]:
    """Parsed YAML of a dialect file; UnreadableError if it is not a mapping."""
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnreadableError(diagnose(say.no_dialect(why=verbatim(str(error).partition("\n")[0])), shown)) from error
    if not isinstance(content, dict):
        raise UnreadableError(diagnose(say.no_dialect(why=verbatim("no mapping")), shown))
    return content  # pyright: ignore[reportUnknownVariableType]


def dialect_of(content: Mapping[str, Any], version: str | None, where: str) -> Dialect:
    """Dialect in a file's content; UnreadableError if malformed."""
    try:
        return _Reading(content, version).dialect()
    except (ValueError, TypeError, KeyError, LookupError, AttributeError) as error:
        why = f"{error.args[0]}: missing" if isinstance(error, KeyError) else str(error)
        raise UnreadableError(diagnose(say.no_dialect(why=verbatim(why)), where)) from error


def base_of(content: Mapping[str, Any], version: str | None) -> str:
    """Megatron-LM version on which a fork's version is based."""
    versions: Mapping[str | None, Mapping[str, Any] | None] = content.get("versions") or {}
    return str((versions.get(version) or {}).get("base") or content["base"])


_MEMBERS = {
    "name",
    "label",
    "base",
    "versions",
    "signs",
    "facts",
    "arguments",
    "rows",
    "reasons",
    "writing",
    "note",
    "replaced",
    "alone",
    "names",
    "overrules",
    "whole",
    "takes",
    "class",
    "abbreviations",
}


_NO_FORKS = frozenset(("arguments", "log", "other", "static", "dynamic", "legacy"))
"""What files are called that are read with no fork's facts."""


class _Reading:
    def __init__(self, content: Mapping[str, Any], version: str | None) -> None:
        strange = set(content) - _MEMBERS
        if strange:
            raise ValueError(f"there is no member {sorted(strange)[0]}")
        self.content = content
        versions: Mapping[str, Any] = content.get("versions") or {}
        self.order = list(versions)
        self.version = version or (self.order[-1] if self.order else None)
        self.more: Mapping[str, Any] = versions.get(self.version) or {} if self.version else {}
        self.base = base_of(content, self.version)

    def dialect(self) -> Dialect:
        """Dialect of the file's content for one version; ValueError for mistakes."""
        content = self.content
        base = self.base
        if base not in VERSIONS:
            raise ValueError(f"{base} is no version of Megatron-LM")
        name = str(content["name"]) + (f"-{self.version}" if self.version else "")
        if name in _NO_FORKS:
            raise ValueError(f"{name} is a dialect of accmap's own")
        note = self.more.get("note") or content.get("note")
        known, reads = catalog(base), set[str]()
        arguments, alone = self._arguments(), content.get("alone")
        beside = self._fork_rows(reads, name)
        return Dialect(
            name,
            self._label(name),
            base,
            arguments,
            beside,
            tuple(map(_reason_of_row, self._all("reasons"))),
            frozenset(reads),
            tuple(map(self._writing_row, self._all("writing"))),
            note and (str(note[0]), str(note[1])),
            "note" in self.more,
            frozenset(map(str, content.get("replaced") or ())),
            frozenset(fact.dest for fact in arguments if not known.knows(fact.dest)),
            with_arguments(known, arguments)
            if alone is None
            else catalog_of(base, arguments)._replace(
                own_program=self._label(name), abbreviates=bool(content.get("abbreviations"))
            ),
            None if alone is None else frozenset(map(str, alone)),
            self._overruled_dests(arguments, known),
            content.get("whole"),
        )

    def _overruled_dests(self, arguments: Sequence[ArgumentFact], known: Catalog) -> frozenset[str]:
        """Destinations that only the options in `overrules` write."""
        parts = tuple(f"--{part}" for part in self.content.get("overrules") or ())
        bare = {fact.dest for fact in arguments if parts and fact.options[0].startswith(parts) and fact.default is None}
        filled = {fact.dest for fact in arguments if not parts or not fact.options[0].startswith(parts)}
        return frozenset(dest for dest in bare - filled if known.knows(dest))

    def _label(self, name: str) -> str:
        return str(self.more.get("label") or self.content.get("label") or name)

    def _all(self, member: str) -> list[Mapping[str, Any]]:
        """Entries of a member that apply to this version."""
        return [one for one in self.content.get(member) or () if self._counts(one)]

    def _arguments(self) -> tuple[ArgumentFact, ...]:
        """The arguments; the last of a name counts."""
        given = [*self._of_base(), *map(self._argument, self._all("arguments"))]
        return tuple({fact.options: fact for fact in given}.values())

    def _of_base(self) -> list[ArgumentFact]:
        """Arguments of the base version under their value names, if the program uses those."""
        if self.content.get("takes") != "base":
            return []
        return [
            ArgumentFact((f"--{one.dest}",), one.dest, _kind(one), None, None, one.default, None, "store", one.group)
            for one in catalog(self.base).by_dest.values()
        ]

    def _fork_rows(self, reads: set[str], name: str) -> Beside:
        """The rows, before and behind Megatron-LM's own."""
        before: list[Row] = []
        after: list[Row] = []
        lifted: set[str] = set()
        for one in self._all("rows"):
            if "lift" in one:
                lifted.add(str(one["lift"]))
            else:
                (before if one.get("stage") == "before" else after).append(self._row(one, reads))
        alone = self.content.get("alone") is not None
        own_class = self.content.get("class") != "base"
        return Beside(tuple(before), tuple(after), frozenset(lifted), self._label(name) if alone else None, own_class)

    def _counts(self, one: Mapping[str, Any]) -> bool:
        """True if a table entry holds for the version at hand."""
        versions = one.get("versions")
        if versions is None:
            return True
        if isinstance(versions, (list, tuple)):
            return self.version in cast("Sequence[str]", versions)
        return self.version in versions_in(str(versions), self.order)

    def _argument(self, one: Mapping[str, Any]) -> ArgumentFact:
        """Argument of a table entry; ValueError if malformed."""
        options = one["options"]
        options = tuple(options.split() if isinstance(options, str) else options)
        action, kind = one.get("action", "store"), one.get("type")
        if not options or not all(option.startswith("-") for option in options) or kind not in _TYPES:
            raise ValueError(f"{one} is no argument")
        default = one.get("default", {"true": False, "false": True}.get(action))
        choices = one.get("choices")
        return ArgumentFact(
            options,
            self._dest(one, options),
            kind,
            one.get("nargs"),
            one.get("const"),
            default,
            None if choices is None else tuple(choices),
            action,
            str(one.get("group", self.content["name"])),
        )

    def _dest(self, one: Mapping[str, Any], options: Sequence[str]) -> str:
        """Destination of an argument: from `names`, from the entry, or as argparse derives it."""
        named = self.content.get("names", {}).get(options[0].lstrip("-"))
        first = next((option for option in options if option.startswith("--")), options[0])
        return str(named or one.get("dest") or destination(first))

    def _expression(self, text: object, reads: set[str]) -> Expression:
        found = Expression(str(text), _FUNCTIONS, OF_RUN)
        reads.update(found.reads)
        return found

    def _row(self, one: Mapping[str, Any], reads: set[str]) -> Row:
        """Validation row of a table entry; ValueError if malformed. Collects what it reads in `reads`."""
        actions = [action for action in _ACTIONS if action in one]
        strange = set(one) - {*_ACTIONS, "to", "when", "versions", "stage", "source"}
        if len(actions) != 1 or strange or ("to" in one) != (actions[0] not in ("require", "ignored")):
            raise ValueError(f"{dict(one)} is no row")
        action = actions[0]
        target = "" if action == "require" else str(one[action])
        if action == "ignored":
            reads.add(target)
        text = one["require"] if action == "require" else one.get("to")
        value = None if text is None else self._expression(text, reads)
        when = one.get("when")
        condition = None if when is None else self._expression(when, reads)
        return Row(action, target, value, condition, Said("" if text is None else str(text), str(when or ""), "", ""))

    def _writing_row(self, one: Mapping[str, Any]) -> Writing:
        when = one.get("when")
        reads: set[str] = set()
        told: Mapping[str, Any] = one.get("to") or {}
        to = tuple((str(dest), self._expression(text, reads)) for dest, text in told.items())
        return Writing(str(one["of"]), None if when is None else self._expression(when, reads), to)


def _kind(fact: ArgumentFact) -> str:
    """The kind of value by which a YAML writes an argument."""
    if fact.action != "store":
        return "truth?"
    kind = f"{fact.type}?"
    return kind if fact.nargs is None and kind in NULLABLE else "any"


def _reason_of_row(one: Mapping[str, Any]) -> Reason:
    """Reason of a table entry with its condition."""
    names = one["arguments"]
    if one["impact"] not in ("numerics", "performance", "none"):
        raise ValueError(f"{one['impact']} is no impact")
    return Reason(
        tuple(names.split() if isinstance(names, str) else names),
        one["impact"],
        str(one["en"]),
        str(one.get("zh") or one["en"]),
        None if "when" not in one else Expression(str(one["when"]), _FUNCTIONS, OF_RUN),
    )


# --- which fork a script is one of ---


_SURE = 2
"""So many of its own arguments make a fork: one flag may be anybody's."""
_SHOWN = 3


class Recognised(NamedTuple):
    """A dialect that a launch was recognised as, and by what."""

    dialect: Dialect
    reason: Words
    rivals: tuple[str, ...] = ()
    """Later versions that accept the arguments just as well, if nothing but the arguments shows the version."""


def recognise_fork(
    parsed: Parsed, launch: Launch | None, tree: str | None = None, folders: Sequence[str] = ()
) -> Recognised | None:
    """The fork whose signs a launch bears.

    Its version is the one on `tree`, else that of the fork's checkout around `folders`, else the lowest that knows most
    arguments.
    """
    from .dialect_signs_compiled import SIGNS

    given = parsed.given.values()
    # the flags, each once, and each flag with the values that count, however they are written
    spoken = [one.flag for one in given] + [f"{one.flag} {word}" for one in given for word in one.raw]
    script = "" if launch is None or launch.script is None else launch.script.replace("\\", "/").rpartition("/")[2]
    # Megatron-DeepSpeed's words are not all its own: forks took some over, and none of them is started by DeepSpeed
    other = launch is not None and launch.launcher == "deepspeed"
    for fork, versions, scripts, values, alone, masks, like, bases, marks in SIGNS:
        sure = [*(one for one in scripts if one == script), *_signs(parsed, values)]
        own = [word for word in spoken if word in alone]
        if sure or (not other and _most_are(own, parsed)):
            newest_on_tree = max((at for at, base in enumerate(bases) if base == tree), default=None)
            if newest_on_tree is not None:
                return _recognised_dialect(f"{fork}-{versions[newest_on_tree]}", [*sure, *own])
            checkout = checkout_version(marks, folders)
            if checkout is not None:
                return _recognised_dialect(f"{fork}-{checkout[0]}", [checkout[1]])
            able = [f"{fork}-{versions[at]}" for at in _most_able(spoken, masks, len(versions), like, bases)]
            return _recognised_dialect(able[0], [*sure, *own], tuple(able[1:]))
    return None


def _most_are(own: Sequence[str], parsed: Parsed) -> bool:
    """True if enough of the unknown arguments are this fork's; otherwise it is another fork."""
    unknown = sum(given.fact is None for given in parsed.given.values())
    return len(own) >= _SURE and 2 * len(own) >= unknown


def _signs(parsed: Parsed, values: Sequence[tuple[str, str]]) -> list[str]:
    """Arguments whose values only this fork uses."""
    found: list[str] = []
    for dest, start in values:
        given = parsed.given.get(dest)
        if given is not None:
            found += [f"{given.flag} {word}" for word in given.raw if word.startswith(start)][:1]
    return found


def _recognised_dialect(name: str, signs: Sequence[str], rivals: tuple[str, ...] = ()) -> Recognised:
    found = dialect_named(name)
    assert found is not None
    more = ", …" if len(signs) > _SHOWN else ""
    return Recognised(found, say.dialect_of(label=found.label, signs=", ".join(signs[:_SHOWN]) + more), rivals)


def _most_able(
    spoken: Sequence[str], masks: Mapping[str, int], versions: int, like: int, bases: Sequence[str]
) -> list[int]:
    """Versions that accept the most arguments, lowest first; only those on the same Megatron-LM as the lowest."""
    counts = [sum(masks.get(word, 0) >> at & 1 for word in spoken) for at in range(versions)]
    best = max(counts)
    able = [at for at, count in enumerate(counts) if count == best and at >= like] or [0]
    return [at for at in able if not bases or bases[at] == bases[able[0]]]

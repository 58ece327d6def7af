"""What the trainer of the static graph makes of a file: a path is its value until a row says what stands for it."""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..rows import Sourced, UndecidedError
from .constructors import REQUIRED, Builder, Taken
from .messages_compiled import say
from .reading import Undecided
from .resolution import near

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..config import ReadOptions
    from ..message import Words
    from ..rows import Row
    from .constructors import Part
    from .reading import Reading


class Trainer(Builder):
    """The values of one file while the rows are applied to them."""

    def __init__(self, reading: Reading, options: ReadOptions, *, legacy: bool) -> None:
        self.reading = reading
        self.version = reading.version
        self.parts: dict[str, Part] = {}
        self.locals = {
            "option.world_size": Sourced(options.world_size),
            "option.steps": Sourced(options.steps, ("--steps",)),
            "option.dataset_size": Sourced(options.dataset_size, ("--dataset-size",)),
            "option.legacy": Sourced(legacy),
            "facts.version": Sourced(reading.version),
            "facts.run_mode": Sourced(reading.get("run_mode")),
            "facts.loaders": Sourced(reading.catalog["loaders"]),
            "facts.data_keys": Sourced(reading.catalog["data_keys"]),
        }

    def __getitem__(self, name: str) -> Any:
        """A value; UndecidedError where it cannot be known."""
        one = self.locals.get(name)
        if one is None:
            return self.reading.get(name)
        if not one.decided:
            raise UndecidedError
        return one.value

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a value; of `=path` the path."""
        if name[0] == "=":
            return (name[1:],)
        one = self.locals.get(name)
        return (self.path(name),) if one is None else one.sources

    # What the expressions ask.

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        section, _, key = name.rpartition(".")
        return name in self.locals or key in self.reading.section(section)

    def written(self, name: str) -> bool:
        """Whether the file has it."""
        return name in self.reading.places

    def decided(self, name: str) -> bool:
        """Whether a value can be known."""
        one = self.locals.get(name)
        return "." in name if one is None else one.decided

    def now(self, name: str) -> Any:
        """A value; None where it cannot be known."""
        return self[name] if self.decided(name) else None

    def get(self, name: str, otherwise: Any) -> Any:
        """The file's value, or another one where it has none."""
        return self.reading.get(name, otherwise)

    def path(self, name: str) -> str:
        """Where an argument of a part stands in the file."""
        name_of_part, _, key = name.partition(".")
        part = self.parts.get(name_of_part)
        return name if part is None else f"{part.section}.{key}"

    def asked(self, name: str) -> Any:
        """What the file has for an argument of a part."""
        return self.reading.get(self.path(name))

    # The actions of the rows.

    def set(self, row: Row, value: Any) -> None:
        """Record a value."""
        self.reading.resolve(row.target, value, *self.decided_by(row))

    def reset(self, row: Row, value: Any) -> None:
        """Let another value stand for a written one, and say so."""
        path, reading = row.target, self.reading
        if path in reading.places:
            why = self.words(row)
            reading.note(say.reset_value(key=path, value=reading.get(path), used=value, why=why), path)
        self.let(row, value)

    def refuse(self, row: Row) -> None:
        """Report that the real code stops because of a value."""
        self.reading.note(say.rejected(why=self.words(row), version=self.version), self.path(row.more.at))

    def report(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem by its name."""
        self.reading.note(getattr(say, row.target)(**value), self.path(row.more.at))

    def lacking(self, row: Row, value: dict[str, Any]) -> None:
        """Report a problem with something that is missing."""
        self.reading.lacking(getattr(say, row.target)(**value), self.path(row.more.at))

    def complete(self, row: Row, _: Any) -> None:
        """Report the arguments of a schedule that have no default, and are not there."""
        known = self.parts[row.target].known
        arguments: Mapping[str, Any] = {} if known is None else known.arguments
        for key, default in arguments.items():
            name = f"{row.target}.{key}"
            if default == REQUIRED and name not in self.locals:
                kind = self[f"{row.target}_class"]
                said = say.schedule_argument(type=kind, key=key, why=say.no_default())
                self.reading.lacking(said, self.path(name))

    def expect(self, row: Row, value: Any) -> None:
        """Report a value of another kind than the code computes with."""
        if not value:
            self.wrong_kind(row.more.at, self.reading.get(row.more.at), self.words(row))

    def wrong_kind(self, path: str, value: Any, expected: Words) -> None:
        """The same, in words."""
        shown = "null" if value is None else repr(value)
        self.reading.note(say.value_type(key=path, value=shown, expected=expected, version=self.version), path)

    # What a section names by `type`.

    def given(self, section: str) -> dict[str, Sourced]:
        """What a section of the file holds."""
        return {str(key): Sourced(value, (f"{section}.{key}",)) for key, value in self.reading.section(section).items()}

    def class_named(self, registry: str, section: str, kind: Any) -> Taken | None:
        """What is known of a class; None where there is none of that name, which is reported."""
        reading, path = self.reading, f"{section}.type"
        classes: dict[str, dict[str, Any]] = reading.catalog["registry"][registry]
        if not isinstance(kind, str) and path in reading.places:
            # tools/register/register.py:MindFormerRegister.get_cls finds no class of that name (1.6-2.1)
            self.wrong_kind(path, kind, say.name_of_a_class())
        if not isinstance(kind, str) or isinstance(kind, Undecided):
            return None
        facts = classes.get(kind)
        if facts is None and reading.get(f"{section}.auto_register") is None:
            meant = near(kind, classes)
            reading.note(say.unknown_class(section=section, value=kind, suggestion=meant, version=self.version), path)
        return None if facts is None else Taken(facts["class"], facts["args"], facts["open"])

    def foreign(self, taken: Taken, section: str, key: str) -> None:
        """Report a key that the class does not take, or takes and ignores."""
        reading, path = self.reading, f"{section}.{key}"
        reading.acceptance[path] = "ignored" if taken.open else "unknown"
        said = say.swallowed_argument(type=taken.name, key=key)
        if not taken.open:
            meant = near(key, taken.arguments)
            said = say.unknown_argument(type=taken.name, key=key, suggestion=meant, version=self.version)
        reading.note(said, path, on_key=True)

    def ignored(self, row: Row, value: dict[str, Any]) -> None:
        """Report the keys of a section that a class does not ask for."""
        taken = Taken(value["type"], dict.fromkeys(value["known"]), open=True)
        for key in self.reading.section(row.target):
            if key not in taken.arguments:
                self.foreign(taken, row.target, str(key))

    def answer(self, path: str, one: Sourced) -> None:
        """Record a value."""
        self.reading.resolve(path, one.value, *one.sources, decided=one.decided)

    def leave_open(self, row: Row) -> bool:
        """What cannot be known leaves its target open."""
        if row.action == "set":
            self.reading.resolve(row.target, None, *self.decided_by(row), decided=False)
        return super().leave_open(row)

    def stop(self, row: Row) -> bool:
        """Values of another kind leave it as it was: the checks of their kinds name them."""
        return self.leave_open(row) if row.action == "set" else True

"""The kinds of input: what is drawn, and the trials that it goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import command_lines
import commands
import judges

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


class Trial(NamedTuple):
    """One thing that is tried with an input: what it counts as, and how often; a text is what went wrong."""

    name: str
    run: Callable[[], str | None]
    count: int = 1


class Bench:
    """The folder in which a worker tries inputs; `keep` leaves there what an input has changed.

    If `only` names commands, an input goes through one command line of these.
    """

    def __init__(self, folder: Path, *, keep: bool = False, only: Sequence[str] = ()) -> None:
        self.folder = folder
        self.keep = keep
        self.only = frozenset(only)

    def prepare(self, kinds: Sequence[Kind]) -> None:
        """Write the files that stay as they are, and run each command once: what it imports, each input has then."""
        tried = [kind.name for kind in kinds if kind.commands]
        if tried:
            commands.prepare(self.folder)


class Kind(NamedTuple):
    """A kind of input and how often it is drawn."""

    name: str
    weight: float
    trials: Callable[[random.Random, Bench], Iterator[Trial]]
    commands: frozenset[str] = frozenset()
    """The commands that its inputs go through."""


def _judged(name: str, weight: float, compare: Callable[[random.Random, Path], str | None], count: int = 1) -> Kind:
    def trials(chance: random.Random, bench: Bench) -> Iterator[Trial]:
        yield Trial(f"judged by {name}", lambda: compare(chance, bench.folder), count)

    return Kind(name, weight, trials)


def _commanded(name: str) -> Kind:
    """Inputs of a subject: its changed file goes through its commands."""
    subject = commands.SUBJECTS[name]
    lines = (*subject.always, *subject.sometimes)

    def trials(chance: random.Random, bench: Bench) -> Iterator[Trial]:
        place = commands.write_changed(name, chance, bench.folder)
        if bench.only:
            drawn = [chance.choice([line for line in lines if commands.command_name(line) in bench.only])]
        else:
            drawn = [*subject.always, *chance.sample(subject.sometimes, min(2, len(subject.sometimes)))]
        for command in drawn:
            words = commands.words_of(command, name)
            yield Trial(commands.command_name(command), lambda words=words: commands.failure_of(words, place))
        if not bench.keep:
            commands.restore(name, bench.folder)

    return Kind(name, subject.weight, trials, frozenset(map(commands.command_name, lines)))


def _lined(name: str, weight: float) -> Kind:
    """Command lines with absurd words."""
    lines = {line: commands.command_name(line) for line in command_lines.LINES}

    def trials(chance: random.Random, bench: Bench) -> Iterator[Trial]:
        line = chance.choice([line for line, command in lines.items() if not bench.only or command in bench.only])
        words = command_lines.draw_words(line, chance)
        yield Trial(lines[line], lambda: commands.failure_of(words))
        if not bench.keep:
            commands.restore(None, bench.folder)

    return Kind(name, weight, trials, frozenset(lines.values()))


KINDS = {
    kind.name: kind
    for kind in (
        _judged("bash", 1, judges.bash, judges.BATCH),
        _judged("PyYAML", 20, judges.pyyaml),
        _judged("numpy", 10, judges.numpy),
        _judged("safetensors", 10, judges.safetensors),
        _judged("pickle", 10, judges.pickled),
        _judged("JSON", 10, judges.json_value),
        *(_commanded(name) for name in commands.SUBJECTS),
        _lined("command lines", 10),
    )
}

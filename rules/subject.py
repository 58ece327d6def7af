"""The subject of a rule: one file, or the two files of a pair, with everything that was read from them."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.versions import TITLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..mapper.recipe.values import Recipe, RecipeValue
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config, Framework, Setting, Value
    from ..schemas.source import SourceText


class Folder(NamedTuple):
    """A model's `config.json` that a run has to do with."""

    recipe: Recipe
    key: str | None
    """The key of the run that names its folder; None where it was named beside the run."""
    beside: Mapping[str, Mapping[str, object]] = {}
    """The files that hold settings of inference, by name; read for an inference configuration only."""


class Side(NamedTuple):
    """One file: its effective values, the recipe made of them, and its text."""

    config: Config
    recipe: Recipe
    source: SourceText
    model: Folder | None = None
    """The model that the file points to, where that is here."""

    @property
    def framework(self) -> Framework:
        """Framework of this side's file."""
        return self.config.framework

    def field(self, name: FieldName) -> RecipeValue | None:
        """Recipe entry of a field; None if the framework has none."""
        return self.recipe.fields.get(name)

    def value(self, name: FieldName) -> Value:
        """Value of a recipe field; None if absent."""
        found = self.recipe.fields.get(name)
        return None if found is None else found.value

    def setting(self, key: str) -> Setting | None:
        """Setting of a key."""
        return self.config.settings.get(key)

    def explicit(self, key: str) -> Setting | None:
        """Setting of a key, if the file writes it."""
        found = self.config.settings.get(key)
        return found if found is not None and found.origin == "explicit" else None

    def environment(self, name: str) -> str | None:
        """An environment variable of the launch."""
        return None if self.config.launch is None else self.config.launch.env.get(name)


class Decided(NamedTuple):
    """A field that both files decide, and the two files."""

    left: Side
    right: Side
    a: RecipeValue
    b: RecipeValue


class Subject(NamedTuple):
    """The file or the two files of one run of the rules."""

    sides: tuple[Side, ...]
    """One file, or side a and side b: of two frameworks a model's own file is a, and else Megatron-LM's."""
    profile: str
    options: Mapping[str, object]
    worked_out: dict[str, object]
    """What a rule has computed for this subject and another one needs again: an empty one for every subject.

    What follows from one file alone has a name that begins with that file's letter and a colon: it holds as well for a
    subject in which only the other file is another.
    """
    fix_side: int = -1
    """The place of the file that the fix of a difference changes."""
    reread: Callable[[Side, str], Side] | None = None
    """Reads another text of a file, in which a fix is tried; without it only the rules' own fixes are offered."""
    focus: Side | None = None
    """The file that a rule about one framework looks at, if both files are of that framework."""
    target: tuple[str | None, str | None] = (None, None)
    """The version and the dialect of MindSpore Transformers that a script without a partner is held to; None: usual."""
    is_trial: bool = False
    """True for a text in which a fix is tried: its findings are counted, and their words and repairs are not needed."""

    @property
    def is_pair(self) -> bool:
        """True if there are two files to compare."""
        return len(self.sides) == 2

    @property
    def pair(self) -> tuple[Side, Side] | None:
        """Both sides; None for a single file."""
        return (self.sides[0], self.sides[1]) if len(self.sides) == 2 else None

    @property
    def megatron(self) -> Side | None:
        """The file of Megatron-LM that a rule looks at."""
        return self.side("megatron")

    @property
    def mindformers(self) -> Side | None:
        """The file of MindSpore Transformers that a rule looks at."""
        return self.side("mindformers")

    @property
    def of_two_frameworks(self) -> tuple[Side, Side] | None:
        """Megatron-LM and MindSpore Transformers side; None without one of each."""
        pair = self.pair
        is_mixed = pair is not None and (pair[0].framework, pair[1].framework) == ("megatron", "mindformers")
        return pair if is_mixed else None

    def decided_pair(self, name: FieldName) -> Decided | None:
        """Field of both sides, if both decide it."""
        if len(self.sides) != 2:
            return None
        left, right = self.sides
        a, b = left.field(name), right.field(name)
        return None if a is None or b is None or not (a.decided and b.decided) else Decided(left, right, a, b)

    def side(self, which: Side | Framework) -> Side | None:
        """Side by letter or framework."""
        if not isinstance(which, str):
            return which
        if self.focus is not None and self.focus.framework == which:
            return self.focus
        return next((side for side in self.sides if side.framework == which), None)

    def partner(self, side: Side) -> Side | None:
        """The other file of a pair."""
        return next((one for one in self.sides if one is not side), None)

    def letter(self, side: Side) -> str:
        """Letter of a side, for cache keys."""
        return "a" if side is self.sides[0] else "b"

    def names(self) -> tuple[str, ...]:
        """Name of each side in sentences."""
        return names_of_sides(self.sides)

    def option(self, name: str, default: object) -> object:
        """The configured value of `code.name`."""
        return self.options.get(name, default)


def in_order(sides: Iterable[Side]) -> tuple[Side, ...]:
    """Sides a and b: by framework, else as given."""
    return tuple(sorted(sides, key=lambda side: side.framework))


def names_of_sides(sides: Sequence[Side]) -> tuple[str, ...]:
    """Name of each side in sentences: framework, or file name if equal."""
    frameworks = [side.framework for side in sides]
    if len(set(frameworks)) == len(frameworks):
        return tuple([TITLES[framework] for framework in frameworks])
    return shortest_names([side.config.file for side in sides])


def shortest_names(files: Sequence[str]) -> tuple[str, ...]:
    """Shortest path endings that differ."""
    parts = [file.replace("\\", "/").split("/") for file in files]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(files)

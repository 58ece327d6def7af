"""The subject of a rule: one file, or the two files of a pair, with everything that was read from them."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..mapper.recipe.values import Recipe, RecipeValue
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config, Framework, Setting, Value
    from ..schemas.source import SourceText


class Folder(NamedTuple):
    """A model's `config.json` that a run has to do with."""

    recipe: Recipe
    key: str | None
    """The key of the run that names its folder; None where it was named beside the run."""


class Side(NamedTuple):
    """One file: its effective values, the recipe made of them, and its text."""

    config: Config
    recipe: Recipe
    source: SourceText
    model: Folder | None = None
    """The model that the file points to, where that is here."""

    @property
    def framework(self) -> Framework:
        """Whose file this is."""
        return self.config.framework

    def field(self, name: FieldName) -> RecipeValue | None:
        """A recipe field; None where this file's framework says nothing about it."""
        return self.recipe.fields.get(name)

    def value(self, name: FieldName) -> Value:
        """The value of a recipe field; None where there is none."""
        found = self.recipe.fields.get(name)
        return None if found is None else found.value

    def setting(self, key: str) -> Setting | None:
        """The framework's own value of `key`."""
        return self.config.settings.get(key)

    def explicit(self, key: str) -> Setting | None:
        """The same, where the file itself says it."""
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
    """The files of one run of the rules. A side is None if there is no such file."""

    megatron: Side | None
    mindformers: Side | None
    profile: str
    options: Mapping[str, object]
    worked_out: dict[str, object]
    """What a rule has computed for this subject and another one needs again: an empty one for every subject."""
    fix_side: Framework = "mindformers"
    """The file of a pair that the fix of a difference changes: side b."""
    reread: Callable[[Framework, str], Side] | None = None
    """Reads another text of a file, in which a fix is tried; without it only the rules' own fixes are offered."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The files there are, Megatron-LM's first."""
        left, right = self.megatron, self.mindformers
        if left is None:
            return () if right is None else (right,)
        return (left,) if right is None else (left, right)

    @property
    def is_pair(self) -> bool:
        """True if there are two files to compare."""
        return self.megatron is not None and self.mindformers is not None

    def decided_pair(self, name: FieldName) -> Decided | None:
        """A recipe field where both files have it and neither leaves it open."""
        left, right = self.megatron, self.mindformers
        if left is None or right is None:
            return None
        a, b = left.field(name), right.field(name)
        return None if a is None or b is None or not (a.decided and b.decided) else Decided(left, right, a, b)

    def side(self, framework: Framework) -> Side | None:
        """The file of one framework."""
        return self.megatron if framework == "megatron" else self.mindformers

    def option(self, name: str, default: object) -> object:
        """The configured value of `code.name`."""
        return self.options.get(name, default)

"""What the public functions answer with: a file that knows its recipe, and a translation that knows its text."""

from __future__ import annotations

from accmap.ownership import own, with_own_settings
from accmap.schemas.config import Config, Framework, ReadOptions
from accmap.schemas.light_typing import TYPE_CHECKING, NamedTuple
from accmap.schemas.reader import read_config

if TYPE_CHECKING:
    from accmap.mapper.differences import Difference
    from accmap.mapper.recipe.values import Recipe
    from accmap.mapper.translate.report import ReportRow


class Loaded(Config):
    """The effective values of a file, and what they say in the shared vocabulary."""

    __slots__ = ()

    @property
    def recipe(self) -> Recipe:
        """The run in the vocabulary that both frameworks share; read anew each time it is asked for."""
        from accmap.mapper.recipe.reading import recipe_of

        return own(recipe_of(with_own_settings(self)))


class Converted(NamedTuple):
    """The other framework's file, and what became of every key of the source."""

    text: str
    rows: tuple[ReportRow, ...]
    framework: Framework
    version: str
    dialect: str


def load(path: str, options: ReadOptions | None = None) -> Loaded:
    """Read the file at `path`, of either framework, as the framework would; UnreadableError where it cannot be."""
    return with_own_settings(Loaded(*read_config(path, options)))


def convert(
    source: str | Config,
    to: Framework | None = None,
    *,
    version: str | None = None,
    dialect: str | None = None,
    options: ReadOptions | None = None,
) -> Converted:
    """Translate a file, or what `load` answered, to the other framework."""
    from accmap.mapper.translate.translation import translate
    from accmap.mapper.translate.writing import text_of

    config = load(source, options) if isinstance(source, str) else source
    translation = translate(with_own_settings(config), to, version, dialect)
    return Converted(
        text_of(translation),
        own(translation.rows),
        translation.target_framework,
        translation.version,
        translation.dialect,
    )


def diff(a: str | Config, b: str | Config, options: ReadOptions | None = None) -> tuple[Difference, ...]:
    """Compare two files of either framework, or what `load` answered, by their effective values."""
    from accmap.mapper.differences import differences
    from accmap.mapper.recipe.reading import recipe_of

    one, other = (load(side, options) if isinstance(side, str) else side for side in (a, b))
    return own(differences(recipe_of(with_own_settings(one)), recipe_of(with_own_settings(other))))

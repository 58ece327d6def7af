"""Answers as they are handed out: immutable, with a short summary, a page for notebooks, values and a table."""

from __future__ import annotations

from accmap.schemas.fast_records import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeVar

    from accmap.cli.pages.document import Chart, Document, Part
    from accmap.schemas.config import Config
    from accmap.schemas.diagnostic import Language

    Any_ = TypeVar("Any_")
    AnyConfig = TypeVar("AnyConfig", bound=Config)

MOST_LINES = 20
"""Lines of a summary."""


class Answer:
    """The forms that every answer has."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """The parts of the page that the command writes."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values, as the command prints it."""
        raise NotImplementedError

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The answer as rows of one table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`; ModuleNotFoundError without pandas."""
        from importlib import import_module

        return import_module("pandas").DataFrame(list(self.records()))

    def __repr__(self) -> str:
        from accmap.cli.pages.formats import text_lines

        return "\n".join(text_lines(self.page(), 100, MOST_LINES))

    def _repr_html_(self) -> str:
        from accmap.cli.pages.html_page import html_fragment

        return html_fragment(self.page())


class Plot:
    """Charts as a page draws them, in a frame of their own in a notebook."""

    __slots__ = ("charts", "title")

    def __init__(self, title: str, charts: Sequence[Chart]) -> None:
        self.title = title
        self.charts = charts

    def __repr__(self) -> str:
        return f"{self.title}: {', '.join(chart.title for chart in self.charts)}"

    def _repr_html_(self) -> str:
        """HTML of the charts for notebooks, in a sandboxed frame."""
        from html import escape

        from accmap.cli.pages.document import Document
        from accmap.cli.pages.html_page import html_page

        page = html_page(Document(self.title, "en", self.charts))
        height = 120 + 420 * len(self.charts)
        return (
            f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" title="{escape(self.title)}" '
            f'width="100%" height="{height}"></iframe>'
        )


def draw(charts: Sequence[Chart], title: str, axes: Any) -> Any:
    """The charts in a frame; with matplotlib axes the curves of the first chart on these axes."""
    if axes is None:
        return Plot(title, charts)
    for curve in charts[0].curves:
        axes.plot(curve.steps, curve.values, label=curve.name, linestyle="--" if curve.is_dashed else "-")
    axes.set_title(charts[0].title)
    axes.set_xlabel(charts[0].step)
    axes.legend()
    return axes


def text_document(title: str, facts: Sequence[str], parts: Sequence[Part], files: Mapping[str, str]) -> Document:
    """A title with facts, parts, and the text of each file."""
    from accmap.cli.pages.document import Code, Document, Section, bullets

    shown = [
        Section(name, [Code(name, 1, text.splitlines())], f"file{at}") for at, (name, text) in enumerate(files.items())
    ]
    return Document(title, "en", [*bullets(facts), *parts, *shown])


def own(value: Any_) -> Any_:
    """The same value with lists and mappings of its own, however deep they stand."""
    found: Any = value
    if isinstance(value, dict):
        found = {key: own(entry) for key, entry in cast("dict[Any, Any]", value).items()}
    elif isinstance(value, list):
        found = [own(entry) for entry in cast("list[Any]", value)]
    elif isinstance(value, tuple):
        held = cast("tuple[Any, ...]", value)
        entries = [own(entry) for entry in held]
        if any(one is not other for one, other in zip(entries, held, strict=True)):
            make: Any = getattr(held, "_make", tuple)
            found = make(entries)
    return cast("Any_", found)


def with_own_settings(config: AnyConfig) -> AnyConfig:
    """The same configuration with settings of its own, and without the tree of its text, which others share."""
    settings = {
        key: setting if setting.value.__class__ in _ATOMS else setting._replace(value=own(setting.value))
        for key, setting in config.settings.items()
    }
    return config._replace(settings=settings, document=None)


_ATOMS = frozenset((str, int, float, bool, type(None)))

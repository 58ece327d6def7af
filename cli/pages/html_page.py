"""A document as a web page: one file that needs no other, with one style sheet, one script and one strict policy.

Jinja2 escapes every text; what would steer a reader is shown as a visible escape first. A page may hold the same
document in two languages, between which its reader switches. In a notebook a document is a fragment without a script.
"""

from __future__ import annotations

import os
from base64 import b64encode
from functools import cache
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import trust_text, visible
from ...schemas.fast_records import NamedTuple
from ..messages_compiled import say
from .chart_picture import chart_svg
from .document import contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from .document import Chart, Code, Document, Mark

_LIBRARY = os.path.join("third_party", "uplot")
_BUTTONS = (
    "contents", "search", "zoom_in", "zoom_out", "zoom_reset", "logarithmic", "smoothing", "picture", "values",
    "keys", "difference",
)  # fmt: skip


def html_page(*documents: Document) -> Outgoing:
    """The page of a document; of several, each in its language, the first is shown at the beginning."""
    charts = _Charts()
    bodies = [_body(document, charts) for document in documents]
    style, scripts = _style(), (_file(f"{_LIBRARY}/uPlot.iife.min.js"), _file("page.js")) if charts.texts else ()
    scripts = scripts or (_file("page.js"),)
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {' '.join(map(_digest, scripts))}"
    words = {one.language: _button_words(one.language) for one in documents}
    data = f'{{"charts":[{",".join(charts.texts)}],"words":{_json(words)}}}'
    return trust_text(
        _templates()
        .get_template("page.html")
        .render(
            documents=documents,
            bodies=bodies,
            style=Markup(style),
            scripts=list(map(Markup, scripts)),
            data=Markup(data),
            policy=f"{policy}; base-uri 'none'; form-action 'none'",
        )
    )


def html_fragment(document: Document) -> str:
    """The document as an element for a notebook: the same parts and style, charts as pictures, without a script."""
    return f'<div class="accmap"><style>{_style()}</style>\n{_body(document, _Charts())}</div>\n'


def _body(document: Document, charts: _Charts) -> str:
    """HTML of the whole document inside the page."""
    said = _button_words(document.language)
    names: dict[str, Any] = {"language": document.language, "said": said, "number_of": charts.number}
    module: Any = _templates().get_template("parts.html").make_module(names)
    return module.body(document)


class _Charts:
    """The numbers of all charts of a page, each once: both languages show the same."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, chart: Chart) -> int:
        """The place of a chart's numbers in the data of the page."""
        text = _json(_numbers(chart))
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)


def _numbers(chart: Chart) -> dict[str, object]:
    """The data of a chart as JSON values for the script of the page; a value that is not finite is null."""
    return {
        "unit": visible(chart.unit),
        "flags": list(chart.flags),
        "centred": chart.is_centred,
        "logarithmic": chart.is_logarithmic,
        "labels": list(map(visible, chart.labels)),
        "curves": [
            {
                "name": visible(curve.name),
                "colour": curve.colour % 6,
                "dashed": curve.is_dashed,
                "steps": list(curve.steps),
                "values": [float(f"{value:.8g}") if isfinite(value) else None for value in curve.values],
            }
            for curve in chart.curves
        ],
    }


def _json(value: object) -> str:
    from json import dumps

    text = dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _button_words(language: Language) -> dict[str, str]:
    word: Callable[..., str] = say.page("page", language)
    return {**{name: word(name) for name in _BUTTONS}, "shown": word("shown", shown="{shown}", all="{all}")}


class _Line(NamedTuple):
    number: int | str
    pieces: Sequence[tuple[str, Mark | None]]


def _lines(code: Code) -> Iterator[_Line]:
    """The lines of an excerpt, each cut where a mark begins or ends."""
    marks: dict[int, list[Mark]] = {}
    for mark in code.marks:
        marks.setdefault(mark.line, []).append(mark)
    for at, line in enumerate(code.lines):
        number, begin, pieces = at + code.first, 0, list[tuple[str, "Mark | None"]]()
        for mark in sorted(marks.get(number, ()), key=lambda one: one.start):
            start, stop = max(begin, mark.start), min(max(mark.stop, mark.start + 1), len(line) + 1)
            if start < stop:
                pieces += [(line[begin:start], None), (line[start:stop] or " ", mark)]
                begin = stop
        yield _Line(number if code.first else "", [*pieces, (line[begin:], None)])


def _address(href: str) -> str:
    """A link within the page or to a site; anything else leads nowhere."""
    return href if href.startswith(("#", "https://")) else "#"


def _language_tag(language: str) -> str:
    return "zh-CN" if language == "zh" else "en"


def _picture(chart: Chart) -> Markup:
    return Markup(chart_svg(chart))


def _as_visible(value: object) -> object:
    """A text as a reader sees it; what is markup already stays."""
    return visible(value) if type(value) is str else value


@cache
def _templates() -> Environment:
    """The Jinja environment with the templates of the package, escaping, and the functions they use."""
    folder = os.path.dirname(__file__)
    made = Environment(
        autoescape=True,
        trim_blocks=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(lambda name: package_text(folder, name)),
        finalize=_as_visible,
    )
    added: dict[str, Any] = {"lines_of": _lines, "picture_of": _picture, "contents": contents}
    made.globals.update(added)
    made.filters.update({"address": _address, "tag": _language_tag})
    return made


@cache
def _file(name: str) -> str:
    return package_text(os.path.dirname(__file__), name)


@cache
def _style() -> str:
    """The style sheets of the page, those of the chart library included."""
    return _file(f"{_LIBRARY}/uPlot.min.css") + _file("chart.css") + _file("page.css")


def _digest(text: str) -> str:
    """The hash of a script or style as a content security policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

"""The frame of a self-contained web page: one style for light and dark, no network, data and script in the page."""

from __future__ import annotations

import json
import os

from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import markup
from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def page_file(name: str) -> str:
    """A style or script that stands beside the modules of this folder."""
    return "\n" + package_text(os.path.dirname(__file__), name)


def bullets(texts: Iterable[str]) -> str:
    """A list of plain texts; nothing where there are none."""
    items = "".join(f"<li>{markup(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>\n" if items else ""


def document(title: str, language: str, style: str, main: str, *, acting: str = "", head: str = "") -> str:
    """A page that holds everything it needs; what is `acting` stands at its end."""
    return f"""<!doctype html>
<html lang="{"zh-CN" if language == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{head}<title>{markup(title)}</title>
<style>{page_file("page_shell.css")}{style}</style>
</head>
<body>
<main>
{main}</main>
{acting}</body>
</html>
"""


def script_elements(data: object, script: str) -> str:
    """A script for the end of a page, with the `data` that it reads."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{text}</script>\n<script>{script}</script>\n'

"""The frame of a self-contained web page: one style for light and dark, no network, data and script in the page."""

from __future__ import annotations

import json
import os

from ..schemas.border.incoming import package_text
from ..schemas.border.outgoing import markup


def beside(name: str) -> str:
    """A style or script that stands beside the modules of this folder."""
    return "\n" + package_text(os.path.dirname(__file__), name)


def document(title: str, language: str, style: str, main: str, data: object, script: str) -> str:
    """A page that holds everything it needs; `data` is what the script reads from the element `data`."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="{"zh-CN" if language == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup(title)}</title>
<style>{beside("page_shell.css")}{style}</style>
</head>
<body>
<main>
{main}</main>
<script type="application/json" id="data">{text}</script>
<script>{script}</script>
</body>
</html>
"""

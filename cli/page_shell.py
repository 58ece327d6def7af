"""The frame of a self-contained web page: one style for light and dark, no network, data and script in the page."""

from __future__ import annotations

import json

from ..schemas.border.outgoing import markup

FONT = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", '
    "sans-serif"
)
STYLE = f"""
:root {{ color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #5b6570; --rule: #e4e8ec; --chip: #f4f6f8;
  --gap: #a3123f }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: #14181d; --ink: #e8ecf0; --soft: #a3aeb9; --rule: #2a3139; --chip: #1d232a; --gap: #ff7d9c }}
}}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 {FONT} }}
main {{ max-width: 960px; margin: 0 auto; padding: 8px 16px 48px }}
figure {{ margin: 0; position: relative }}
svg {{ display: block; width: 100%; height: auto }}
h2 {{ font-size: 17px; margin: 28px 20px 8px }}
.sheet {{ overflow-x: auto; margin: 0 20px }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }}
th, td {{ text-align: right; padding: 5px 12px; border-bottom: 1px solid var(--rule); white-space: nowrap }}
th {{ color: var(--soft); font-weight: 600 }}
th:first-child, td:first-child {{ text-align: left }}
td.apart {{ color: var(--gap); font-weight: 600 }}
ul {{ margin: 0 20px; padding-left: 20px }}
.pair {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 0 32px; align-items: start }}
"""


def document(title: str, language: str, style: str, main: str, data: object, script: str) -> str:
    """A page that holds everything it needs; `data` is what the script reads from the element `data`."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="{"zh-CN" if language == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup(title)}</title>
<style>{STYLE}{style}</style>
</head>
<body>
<main>
{main}</main>
<script type="application/json" id="data">{text}</script>
<script>{script}</script>
</body>
</html>
"""

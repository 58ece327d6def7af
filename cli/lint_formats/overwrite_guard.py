"""True if a file holds an earlier report of accmap, which the next run may replace without being asked.

Every format has a mark that nothing else writes at that place; an empty file is what a run without findings leaves.
"""

from __future__ import annotations

import os

from ...schemas.border.inputs import open_regular, read_at_once

_ENDS = 8192
"""How many bytes at the beginning and at the end hold the marks."""
_HEADS = (
    rb'<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="accmap" ',  # junit
    rb"files,id,checklist,key,state,codes,megatron,mindformers,what(,a,b)?\n",  # csv
    # The Chinese title of markdown has been another one before.
    rb"## (Findings|\xe9\x97\xae\xe9\xa2\x98|\xe5\x8f\x91\xe7\x8e\xb0)\n\n[^\n]+\n",  # markdown
    rb'\{"diagnostics": \[',  # json
    rb'\{"code": "[A-Z]{3}\d{3}", ',  # jsonl
    rb'\[\n \{\n  "description": [^\n]*\n  "check_name": "[A-Z]{3}\d{3}",\n',  # gitlab
    rb'\[\{"code": "[A-Z]{3}\d{3}", "name": ',  # statistics, as JSON
    rb'\{"\$schema": "[^"]*sarif[^"]*", "version": "2\.1\.0", "runs": \[\{"tool": \{"driver": \{"name": "accmap", ',
    rb"(::notice|::warning|::error) file=[^\n]*,title=[A-Z]{3}\d{3} ",  # github
    rb"##vso\[task\.logissue type=(error|warning);[^\n]*code=[A-Z]{3}\d{3};\]",  # azure
    rb'\{\n "version": [12],\n "(findings|files)": \[',  # a baseline
    rb"\[\]\n\Z",  # gitlab and statistics without a finding
)
_SUMMARY = (
    (
        rb"\d+ errors?( \([^\n]*\))?, \d+ warnings?, \d+ (pieces? of advice|remarks?)[^\n]*"
        rb" in \d+ files? \(\d+ pairs?[;)][^\n]*\n\Z"
    ),
    # It reads the same line in Chinese: as many errors, warnings and pieces of advice, in so many files and pairs.
    (
        "\\d+ \u4e2a\u9519\u8bef(\uff08[^\\n]*\uff09)?\u3001\\d+ \u4e2a\u8b66\u544a\u3001"
        "\\d+ \u6761(\u5efa\u8bae|\u63d0\u793a)[^\\n]*"
        "\uff08\\d+ \u4e2a\u6587\u4ef6\uff0c\\d+ \u5bf9[\uff1b\uff09][^\\n]*\\n\\Z"
    ).encode(),
)
"""The line that the formats for people end with, also in the words of accmap 0.1.0 before its release.

The advice of `azure` is lines like theirs.
"""


def is_ours(path: str) -> bool:
    """True if the file may be overwritten by a report: it is missing, empty, or an earlier report."""
    import re

    try:
        with open_regular(path, remember=False) as stream:
            head = read_at_once(stream, _ENDS)
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - _ENDS))
            tail = read_at_once(stream, _ENDS)
    except (OSError, ValueError):
        return False
    return not head or (
        any(re.match(mark, head) for mark in _HEADS)
        or any(re.search(rb"(^|\n)" + mark, tail) for mark in _SUMMARY)
        or _is_remark(head)
    )


def _is_remark(head: bytes) -> bool:
    """True if the first line is a remark as `azure` writes it; other linters' lines look like it but for the code."""
    import re

    from ...rules.registry import every_code

    found = re.match(rb"[^\n]*: ([A-Z]{3}\d{3}) [^\n]*\n", head)
    return found is not None and found[1].decode() in every_code()

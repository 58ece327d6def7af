"""The text of a compiled module: literals, which import without being looked at again."""

from __future__ import annotations

from pprint import pformat
from typing import Any


def literal_module(about: str, **values: Any) -> str:
    """A module with these constants; `about` is its first line."""
    lines = [f'"""{about} Do not edit."""', "", "from __future__ import annotations", ""]
    lines += ["TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from typing import Any", ""]
    lines += [
        f"{name}: Any = {pformat(value, width=160, compact=True, sort_dicts=False)}" for name, value in values.items()
    ]
    return "\n".join(lines) + "\n"

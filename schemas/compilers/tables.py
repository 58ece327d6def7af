"""The text of a compiled module: literals, which import without being looked at again.

To parse the tables of one lint (950 kB of YAML) takes libyaml 210 ms and PyYAML 1,440 ms; a whole lint, which loads
them as literals, takes 80 ms.
"""

from __future__ import annotations

from pprint import pformat
from typing import TYPE_CHECKING, Any, cast

import yaml

if TYPE_CHECKING:
    from pydantic import BaseModel


LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it, which takes a tenth of the time."""


def load_table(text: str) -> Any:
    """The value of a table's text."""
    return yaml.load(text, LOADER)


def literal_module(about: str, **values: Any) -> str:
    """Source text of a module with these constants; `about` is its docstring."""
    lines = [f'"""{about} Do not edit."""', "", "from __future__ import annotations", ""]
    lines += ["TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from typing import Any", ""]
    lines += [
        f"{name}: Any = {pformat(value, width=160, compact=True, sort_dicts=False)}" for name, value in values.items()
    ]
    return "\n".join(lines) + "\n"


def freeze(value: Any) -> Any:
    """A value whose lists are tuples."""
    if isinstance(value, dict):
        return {name: freeze(one) for name, one in cast("dict[Any, Any]", value).items()}
    return tuple(map(freeze, cast("list[Any]", value))) if isinstance(value, (list, tuple)) else value


def members(record: BaseModel, *without: str, **instead: Any) -> tuple[Any, ...]:
    """Values of a record in order, some omitted or replaced by `instead`."""
    return tuple(freeze(instead.get(name, value)) for name, value in record if name not in without)

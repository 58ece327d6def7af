"""The options of MindSpore Transformers' `run_mindformer.py`: type, place in the YAML, order of application.

Read from `run_mindformer.py` of the tags v1.6.0, v1.7.0, v1.8.0 and v1.9.0, the branch r2.0.0 and the newest public
version (2.1). The options are the same in all of them; what differs is `DYNAMIC_SINCE` and the run modes, which are
facts of the version. The rows stand in the order in which the script applies them, so a later row wins where two set
the same place.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple
from .launch_options_compiled import OPTIONS as ROWS

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

ValueType: TypeAlias = "Literal['str', 'int', 'bool', 'bool-or-str', 'assignments']"
Effect: TypeAlias = (
    "Literal['yaml', 'yaml-if-not-empty', 'yaml-if-section', 'predict', 'config', 'environment', 'help']"
)


class LaunchOption(NamedTuple):
    """One option: what it takes and which places of the YAML it sets."""

    flag: str
    type: ValueType
    paths: tuple[tuple[str, ...], ...] = ()
    many: bool = False
    effect: Effect = "yaml"


OPTIONS: tuple[LaunchOption, ...] = tuple(LaunchOption(*row) for row in ROWS)


DYNAMIC_SINCE = (1, 9)
"""From this version `--mode 1` starts the dynamic graph's trainer, which is given --config and nothing else."""

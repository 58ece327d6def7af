"""What else msprobe 26.2.0 writes: no dump, and said by name.

Sources, of msprobe 26.2.0: `core/monitor_v2/writer.py`, `pytorch|mindspore/monitor/data_writers.py` and
`module_hook.py` (monitor); `pytorch/reproducibility/common.py:58`; `core/dump/kernel_dump/kernel_config.py` and
`mindspore/dump/dump_processor/kernel_kbyk_dump.py`; `mindspore/dump/exception_dump/kernel_graph_exception_dump.py`;
`core/config_check`; `core/single_save/single_saver.py`; `pytorch|mindspore/api_accuracy_checker` (precheck).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...schemas.message import Words

_OTHER: tuple[tuple[str, Callable[[], Words]], ...] = (
    (r"accuracy_checking_(result|details)_.*\.csv", say.of_the_precheck),
    (r"random_.*\.csv", say.of_the_random_calls),
    (r".*_(step)?\d+-\d+\.csv|module_struct\.json|stack_info\.csv", say.of_the_monitor),
    (r"kernel_kbyk_dump\.json|kernel_config_\d+\.json", say.of_the_kernel_dump),
    (r"kernel_graph_exception_check\.json", say.of_the_exception_dump),
    (r"hyperparameters_(static|dynamic)\.json|ckpt_similarity\.json", say.of_the_config_check),
    (r"configurations\.json", say.of_the_single_save),
)
_MOST = 2000


def told_of(root: str) -> Words | str:
    """Which other output of msprobe's a path is or holds; nothing where none is known."""
    for name in _names(root):
        for pattern, what in _OTHER:
            if re.fullmatch(pattern, name):
                return say.other_file(name=name, what=what())
    return ""


def _names(root: str) -> Iterable[str]:
    """The file names at a path, sorted; not arbitrarily many."""
    if os.path.isfile(root):
        return (os.path.basename(root),)
    found: list[str] = []
    for _folder, below, files in os.walk(root):
        below.sort()
        found += sorted(files)
        if len(found) > _MOST:
            break
    return found[:_MOST]

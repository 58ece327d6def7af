"""The state of a switch: on, off or refused, by the test that a framework's code makes of the written value.

The readers ask once for every switch of a file, so that all later code sees True, False, or a value that is left open.
`schemas/mindformers/switches.yaml` says for each key which test its code makes. transformers and Megatron-LM's YAML ask
for the truth of every switch.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TRUTH = "truth"
"""The test `if value`: empty texts, lists and mappings, zeros and null are off, anything else is on."""
_OF_NULL: Mapping[str, bool | None] = {
    TRUTH: False,
    "truth_null_on": True,
    "truth_not_null": None,
    "bool": None,
    "bool_null_off": False,
    "bool_null_on": True,
    "whole": None,
}
TESTS = frozenset(_OF_NULL)
"""Every way in which code asks."""


def is_on(value: object, test: str = TRUTH) -> bool | None:
    """True if a value switches on; None for one that the framework refuses."""
    if isinstance(value, bool):
        return value
    if value is None:
        return _OF_NULL[test]
    if test.startswith(TRUTH):
        return bool(value)
    if test == "whole" and isinstance(value, int) and value in (0, 1):
        return value == 1
    return None

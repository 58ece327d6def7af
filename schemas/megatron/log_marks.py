"""Between which lines a training log shows its arguments (`training/arguments.py:_print_args`, 0.12–0.19)."""

from __future__ import annotations

BLOCK_END = "end of arguments -"
BLOCK_START = "- arguments -"

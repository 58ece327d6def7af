"""The contract's exit codes: fine, the answer is bad, wrong use or unreadable input, a bug in accmap."""

from __future__ import annotations

FINE, BAD, UNUSABLE, BROKEN = 0, 1, 2, 3

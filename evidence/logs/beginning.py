"""With which weights a run began, as its log tells it before its first training line.

- `accmap weights: N numbers, checksum H` is printed by the playbook's patch in both frameworks: the sum of the bit
  patterns of all weights as float32, which neither the names nor the order nor the fusing of weights changes.
- Megatron-LM says from where it loaded (`checkpointing.py:load_checkpoint`, 0.12 to 0.19), or that it found nothing
  there and begins with random weights.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SAID = re.compile(
    rb"accmap weights: (?P<count>\d{1,15}) numbers, checksum (?P<sum>[0-9a-f]{16})"
    rb"|successfully loaded checkpoint from (?P<folder>\S{1,1024})"
    rb"|will not load any checkpoints and will start from (?P<random>random)"
)


class Beginning(NamedTuple):
    """What a log says of the weights that its run began with."""

    checksum: str = ""
    """Of all weights, with their number; empty where the log has none."""
    folder: str = ""
    random: bool = False


def told_in(chunk: bytes, before: Beginning) -> Beginning:
    """What some lines before the first training line add."""
    if b"accmap weights" not in chunk and b"checkpoint" not in chunk:
        return before
    found = before
    for match in _SAID.finditer(chunk):
        if match["sum"] is not None and not found.checksum:
            found = found._replace(checksum=f"{match['sum'].decode()}/{int(match['count'])}")
        elif match["folder"] is not None:
            found = found._replace(folder=match["folder"].decode("utf-8", "replace"))
        elif match["random"] is not None:
            found = found._replace(random=True)
    return found

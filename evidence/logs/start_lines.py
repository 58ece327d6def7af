"""The weights that a run began with, by the lines before its first training line.

- `accmap weights: N numbers, checksum H` is printed by the playbook's patch in both frameworks: the sum of the bit
  patterns of all weights as float32, which neither the names nor the order nor the fusing of weights changes.
- MindSpore Transformers lists the network's parameters that no weight filled (1.6 to 2.1 `trainer/utils.py:
  load_ckpt` as a list, `checkpoint/checkpoint.py:load_parameters` one a line).
- Megatron-LM says from where it loaded (`checkpointing.py:load_checkpoint`, 0.12 to 0.19), or that it found nothing
  there and begins with random weights.
- Megatron-LM lists its arguments (`arguments.py:_print_args`), and with them the log interval.
"""

from __future__ import annotations

import re

from ...mapper.weight_names import beside_the_weights
from ...schemas.fast_records import NamedTuple

_SAID = re.compile(
    rb"accmap weights: (?P<count>\d{1,15}) numbers, checksum (?P<sum>[0-9a-f]{16})"
    rb"|successfully loaded checkpoint from (?P<folder>\S{1,1024})"
    rb"|will not load any checkpoints and will start from (?P<random>random)"
    rb"|\blog_interval \.{3,64} *(?P<interval>\d{1,9})\b"
    rb"|Network parameters are not loaded:[ (]*\[(?P<list>[^\]\n]*)"
    rb"|Network parameters not loaded:[^\n]*(?P<lines>(?:\n[^\n]* - +[\w.\-/]+[ \r]*(?=\n|$))+)"
)
_LISTED = re.compile(rb"['\"]([^'\"\s]+)['\"]| - +([\w.\-/]+)[ \r]*(?:\n|$)")


class Beginning(NamedTuple):
    """Statements of a log about the initial weights of its run."""

    checksum: str = ""
    """Of all weights, with their number; empty where the log has none."""
    folder: str = ""
    random: bool = False
    unloaded: str = ""
    """The first weight of the model that the log says no checkpoint filled."""
    interval: int = 0
    """Every how many steps Megatron-LM says that it prints a line; 0 if it does not."""


def read_start_lines(chunk: bytes, before: Beginning) -> Beginning:
    """The statements so far, with those of some lines before the first training line."""
    if not any(word in chunk for word in (b"accmap weights", b"checkpoint", b"loaded:", b"log_interval")):
        return before
    found = before
    for match in _SAID.finditer(chunk):
        if match["sum"] is not None and not found.checksum:
            found = found._replace(checksum=f"{match['sum'].decode()}/{int(match['count'])}")
        elif match["interval"] is not None:
            found = found._replace(interval=int(match["interval"]))
        elif match["folder"] is not None:
            found = found._replace(folder=match["folder"].decode("utf-8", "replace"))
        elif match["random"] is not None:
            found = found._replace(random=True)
        elif not found.unloaded:
            found = found._replace(unloaded=_first_weight(match["list"] or match["lines"] or b""))
    return found


def _first_weight(listed: bytes) -> str:
    """The first name of a list that belongs to the model: no state of an optimizer, no counter."""
    names = [(match[1] or match[2]).decode("utf-8", "replace") for match in _LISTED.finditer(listed)]
    return next((name for name in names if beside_the_weights("mindformers", name) is None), "")

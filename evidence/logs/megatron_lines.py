"""Megatron-LM's training lines, versions 0.12 to 0.19 and the older ones of public logs.

    [2025-01-01 10:00:00] iteration       10/    1000 | consumed samples:          160 | … | lm loss: 1.068E+01 | …

What stands before `iteration` (the rank that a launcher adds, the time) does not matter. Facts, each measured on
`training.py:training_log` of every version:

- Every value but the losses is the iteration's own; a loss is the mean over the iterations since the last line that
  were not skipped. `--log-interval N` prints at multiples of N; from 0.16 on also after the first iteration of a
  process, and that line does not begin a new mean: with an interval of 1 the second line is the mean of the first two
  iterations. The second one's loss is taken out of it. These versions print the time with microseconds.
- Rank 0 says "[before the start of training step]" before a process's first iteration: a run that was resumed where its
  checkpoint stood begins a new mean there, although its steps go on.
- A loss is printed only where its mean is > 0 (0.12 to 0.16) or >= 0 (from 0.17): a NaN mean leaves the column out.
- The learning rate is read after the scheduler's step: it is the next iteration's, in every version. Core 0.4 and 0.5
  print it with three decimals, later versions with six.
- The losses of the auxiliary kind (`load_balancing_loss`, `mtp_1 loss`, …) are not part of `lm loss`. Up to 0.14
  `mtp_N loss` is the last iteration's value divided by the interval, from 0.15 a mean.
"""

from __future__ import annotations

import re

from .columns_compiled import MEGATRON
from .training_lines import Form, piped_value, plain_steps

FORM = Form(
    framework="megatron",
    dialect="",
    head=rb"iteration +(\d{1,12})/ *\d+ \|",
    steps=plain_steps,
    marks=(b"| elapsed time per iteration (", b"| number of skipped iterations:", b"| lm loss: "),
    separator=b"|",
    known=MEGATRON,
    value=piped_value,
    last=("number of nan iterations", "number of skipped iterations", "grad norm", "loss scale"),
    begun=re.compile(rb"iteration +\d+/|iteration {2,}\d*$"),
    ended=re.compile(rb"\|\s*$"),
    later=re.compile(rb"\d:\d\d\.\d+\] iteration"),
    start=b"[before the start of training step]",
    fixed_rates=True,
)

"""`accmap weights convert CHECKPOINT`: a checkpoint of one framework in the form of the other.

0 where everything was written; 1 where the weights hold NaN or infinite values, or the checkpoint and the
configuration do not fit together (then nothing is written); 2 where the checkpoint cannot be read.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ...evidence.answers_compiled import weight_file_json
from ...mapper.preconditions import OF_NETWORK, require_accepted
from ...schemas.border.text_output import emit, json_text, say, tell
from ...schemas.shared_words import system_reason
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import load
from ..messages_compiled import say as usage
from ..progress import report_progress
from ..terminal import in_bytes

if TYPE_CHECKING:
    from ...evidence.weights.conversion import Conversion
    from ...evidence.weights.megatron_torch import Ranks
    from ...schemas.config import Framework
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import WeightsConvertArgs

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""glibc's names (`malloc.h`)."""
_KEPT, _FROM_THE_SYSTEM = 1 << 28, 1 << 25
"""Bytes: so much is kept, and what is larger is asked of the system by itself."""


def run(args: WeightsConvertArgs) -> int:
    """Convert, and say what was written."""
    from ...evidence.weights.conversion import Request, convert
    from ...evidence.weights.megatron_torch import Cut, Ranks
    from ...evidence.weights.weight import RefusedError

    if args.output is None:
        raise UsageError(usage.weights_convert_needs_a_place())
    cut = Cut(args.pipeline_parallel, **{name: getattr(args, name) for name in Cut._fields[1:]})
    ranks = Ranks(args.tensor_parallel, args.pipeline_parallel, args.expert_parallel, cut)
    if (
        min(args.tensor_parallel, args.pipeline_parallel, args.expert_parallel) < 1
        or not 0 < args.shard_size < math.inf
    ):
        raise UsageError(usage.numbers_of_ranks_and_shard())
    _check_place(args.output, args.files[0], resume=args.resume, force=args.force)
    _check_target(args.files[0], args.to, ranks, args.transformer_impl, args.ckpt_format)
    configs = [load(name, args.reading, args.stdin_filename, model=True) for name in args.config]
    for config in configs:
        require_accepted(config, OF_NETWORK)
    request = Request(
        args.files[0],
        args.output,
        args.to,
        args.dtype,
        ranks,
        int(args.shard_size * (1 << 30)),
        args.ckpt_format,
        args.transformer_impl,
        resume=args.resume,
        sha256=args.sha256,
    )
    _keep_what_is_freed()
    try:
        done = convert(request, configs, args.reading, progress=report_progress)
    except RefusedError as refused:
        for diagnostic in refused.diagnostics:
            _complain(diagnostic, args.lang)
        return BAD
    except OSError as error:
        name = error.filename or args.output
        raise UsageError(usage.cannot_be_written(name=name, why=system_reason(error))) from None
    for diagnostic in done.findings:
        _complain(diagnostic, args.lang)
    if args.format == "json":
        emit(json_text(_answer(done, args.output, args.lang)))
    else:
        _page(done, args.output, args.lang)
    return BAD if done.findings else FINE


def _keep_what_is_freed() -> None:
    """Let the C library keep the memory of a block that was written for the next one.

    It gives memory back to the system as soon as there is some megabytes of it, and a conversion would then spend a
    fifth of its time on getting it again. Where the C library is another one nothing changes.
    """
    from ctypes import CDLL

    with suppress(AttributeError, OSError, TypeError):
        library = CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_MMAP_THRESHOLD, _FROM_THE_SYSTEM)


def _check_place(output: str, source: str, *, resume: bool, force: bool) -> None:
    """A folder in which something stands is written into only where that is asked for."""
    here, there = os.path.realpath(output), os.path.realpath(source)
    if here == there or there.startswith(here + os.sep):
        raise UsageError(usage.holds_the_checkpoint_itself_choose(output=output))
    if os.path.exists(output) and not os.path.isdir(output):
        raise UsageError(usage.is_a_file_o_names(output=output))
    if os.path.isdir(output) and os.listdir(output) and not (resume or force):
        raise UsageError(usage.is_not_empty_resume_continues(output=output))


def _check_target(
    source: str, to: Framework | None, ranks: Ranks, implementation: str | None, ckpt_format: str
) -> None:
    """What is asked of a Megatron-LM target is not passed over where there is none."""
    from ...evidence.weights.megatron_torch import Cut, Ranks
    from ...evidence.weights.model import checkpoint_at
    from ...schemas.config import partner

    found = checkpoint_at(source)
    if to is None and found is not None and found.framework == "huggingface":
        raise UsageError(usage.which_framework())
    target = to or (None if found is None else partner(found.framework))
    whole = ranks == Ranks(cut=Cut())
    if target in ("mindformers", "huggingface") and not (whole and implementation is None and ckpt_format == "torch"):
        raise UsageError(usage.ranks_ckpt_format_and_transformer())
    if ckpt_format == "torch_dist" and not whole:
        raise UsageError(usage.torch_dist_does_not_depend())


def _complain(diagnostic: Diagnostic, language: Language) -> None:
    tell(f"{diagnostic.file}: {diagnostic.kind.code} {diagnostic.message(language)}")


def _answer(done: Conversion, output: str, language: Language) -> dict[str, object]:
    return {
        "source": {"framework": done.source, "form": done.form, "iteration": done.iteration},
        "target": {"framework": done.target, "form": done.target_form, "directory": output},
        "files": [weight_file_json(file) for file in done.files],
        "parameters": done.parameters,
        "numbers": done.numbers,
        "dtypes": list(done.dtypes),
        "vocabulary": None if done.vocabulary is None else done.vocabulary._asdict(),
        "dequantized": None if done.dequantized is None else done.dequantized._asdict(),
        "left_out": [
            {
                "what": what.zh if language == "zh" else what.en,
                "tensors": amount.tensors,
                "bytes": amount.size,
                "effect": usage.page("weights_convert", language)("anew") if what.anew else None,
            }
            for what, amount in done.beside.items()
        ],
        "configurations": list(done.configuration),
        "findings": [diagnostic.to_json(language) for diagnostic in done.findings],
    }


def _page(done: Conversion, output: str, language: Language) -> None:
    word = usage.page("weights_convert", language)
    iteration = "" if done.iteration is None else f" {done.iteration}"
    say(f"{done.source} {done.form}{iteration} → {done.target} {output}")
    say(f"  {word('wrote', done.parameters, done.numbers, ', '.join(done.dtypes), len(done.files))}")
    resumed = sum(file.resumed for file in done.files)
    if resumed:
        say(f"  {word('kept', resumed)}")
    if done.vocabulary is not None:
        say(f"  {word('vocabulary', done.vocabulary.before, done.vocabulary.after)}")
        if done.vocabulary.after < done.vocabulary.before and done.source == "megatron":
            say(f"  {word('fewer')}")
    made = done.dequantized
    if made is not None:
        kept = "" if made.dtype == "F32" else word("keep_float32")
        block = "×".join(map(str, made.block))
        say(f"  {word('dequantized', made.tensors, block, made.scale, made.dtype)}{kept}")
    for what, amount in done.beside.items():
        named = what.zh if language == "zh" else what.en
        say(f"  {word('beside', amount.tensors, named, in_bytes(amount.size))}")
        if what.anew:
            say(f"    {word('anew')}")
    say(f"  {word('by', ', '.join(done.configuration))}")
    form = "huggingface" if done.target == "huggingface" else done.target_form
    assert form != "ckpt"  # which is read alone
    say(f"  {word('load')}: {usage.page('loading', language)(form, output)}")

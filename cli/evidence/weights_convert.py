"""`accmap weights convert CHECKPOINT`: a checkpoint of one framework in the form of the other.

0 if everything was written; 1 if the weights hold NaN or infinite values, or the checkpoint and the configuration do
not fit together (then nothing is written); 2 if the checkpoint cannot be read or the disk has too little room.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from ...evidence.answers_compiled import weight_file_json
from ...evidence.weights.messages_compiled import say as weights
from ...mapper.preconditions import OF_NETWORK, require_accepted
from ...schemas.border.text_output import emit, json_text, say, tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.installation import install_command
from ...schemas.message import verbatim
from ...schemas.shared_words import system_reason
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import load
from ..messages_compiled import say as usage
from ..progress import report_bytes, report_progress
from ..terminal import in_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...evidence.weights.conversion import Conversion, Estimate, Plan, Request
    from ...evidence.weights.megatron_torch import Ranks
    from ...evidence.weights.model import Amount
    from ...evidence.weights.target_files import Progress
    from ...mapper.weights import Beside
    from ...schemas.config import Config, Framework
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import WeightsConvertArgs

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""glibc's names (`malloc.h`)."""
_KEPT, _FROM_THE_SYSTEM = 1 << 28, 1 << 25
"""Bytes: so much is kept, and what is larger is asked of the system by itself."""


def run(args: WeightsConvertArgs) -> int:
    """Convert, and say what was written."""
    from ...evidence.weights.conversion import convert
    from ...evidence.weights.weight import RefusedError

    request = _request_of(args)
    configs = [load(name, args.reading, args.stdin_filename, model=True) for name in args.config]
    for config in configs:
        require_accepted(config, OF_NETWORK)
    _keep_what_is_freed()
    try:
        if args.plan:
            return _plan(args, request, configs)
        if args.ray is not None and (code := _write_on_cluster(args, args.ray, request, configs)) != FINE:
            return code
        done = convert(request, configs, args.reading, progress=_report)
    except RefusedError as refused:
        for diagnostic in refused.diagnostics:
            _complain(diagnostic, args.lang)
        return UNUSABLE if refused.unreadable else BAD
    except OSError as error:
        if args.plan:  # the answer's own place
            raise
        tell(usage.files_stay(output=request.output).text(args.lang))
        name = error.filename or request.output
        raise UsageError(usage.cannot_be_written(name=name, why=system_reason(error))) from None
    return _print_result(args, done, request.output)


def _print_result(args: WeightsConvertArgs, done: Conversion, output: str) -> int:
    """Print the findings and the result of a conversion, as text or JSON; the exit code."""
    for diagnostic in done.findings:
        _complain(diagnostic, args.lang)
    if args.format == "json":
        emit(json_text(_answer(done, output, args.lang)))
    else:
        _page(done, output, args.lang)
    return BAD if done.findings else FINE


def _request_of(args: WeightsConvertArgs) -> Request:
    """The conversion that a command line asks for; UsageError if its options cannot be."""
    from ...evidence.weights.conversion import Request
    from ...evidence.weights.megatron_torch import Cut, Ranks

    if args.output is None:
        raise UsageError(usage.weights_convert_needs_a_place())
    cut = Cut(args.pipeline_parallel, **{name: getattr(args, name) for name in Cut._fields[1:]})
    ranks = Ranks(args.tensor_parallel, args.pipeline_parallel, args.expert_parallel, cut)
    _check_numbers(args)
    _check_ways(args)
    part = None if args.part is None else read_part(args.part)
    continues = args.resume or args.plan or args.finish or args.ray is not None or part is not None
    _check_place(args.output, args.files[0], resume=continues, force=args.force)
    _check_target(args.files[0], args.to, ranks, args.transformer_impl, args.ckpt_format)
    return Request(
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
        workers=args.workers,
        part=part,
        finish=args.finish or args.ray is not None,
        optimizer=args.optimizer,
    )


def _report(progress: Progress) -> None:
    """Show the progress of writing on stderr."""
    report_bytes(progress.done, progress.total, f"{progress.number}/{progress.files} {progress.path}")


def _check_numbers(args: WeightsConvertArgs) -> None:
    """UsageError if a number cannot be."""
    ranks = (args.tensor_parallel, args.pipeline_parallel, args.expert_parallel)
    if min(ranks) < 1 or not 0 < args.shard_size < math.inf:
        raise UsageError(usage.numbers_of_ranks_and_shard())
    if args.workers < 1 or (args.bandwidth is not None and not 0 < args.bandwidth < math.inf):
        raise UsageError(usage.workers_above_zero())


def _check_ways(args: WeightsConvertArgs) -> None:
    """UsageError if options contradict one another."""
    if args.optimizer and args.dtype not in (None, "fp32"):
        raise UsageError(usage.optimizer_is_float32())
    if args.workers > 1 and not hasattr(os, "fork"):
        raise UsageError(usage.workers_need_fork())
    ways = (args.part is not None, args.ray is not None, args.finish)
    if sum((*ways, args.plan)) > 1 or (args.force and any(ways)):
        raise UsageError(usage.parts_alone())
    if args.ray is not None and args.workers > 1:
        raise UsageError(usage.workers_without_ray())


_RANKS = (("SLURM_PROCID", "SLURM_NTASKS"), ("RANK", "WORLD_SIZE"))
"""Names that a launcher gives each process: its number from zero, and how many there are."""


def read_part(given: str) -> tuple[int, int]:
    """The number of the part that `--part` names, counted from one, and the number of parts."""
    number, of, parts = given.partition("/")
    if given == "env":
        values = next((pair for names in _RANKS if all(pair := [os.environ.get(name, "") for name in names])), None)
        if values is None:
            raise UsageError(usage.no_rank_in_environment())
        rank, parts = values
        number, of = str(int(rank) + 1) if rank.isdecimal() else "", "/"
    if not of or not (number.isdecimal() and parts.isdecimal()) or not 1 <= int(number) <= int(parts):
        raise UsageError(usage.bad_part(given="/".join(filter(None, (number, parts))) if given == "env" else given))
    return int(number), int(parts)


_TASKS_OF_A_PROCESSOR = 4
"""Tasks for each processor of a cluster: several even out their times, but each reads the checkpoint's lists."""
_RETRIES = 3
_WAIT = 0.5
"""Seconds between two reports."""


def _write_on_cluster(args: WeightsConvertArgs, address: str, request: Request, configs: Sequence[Config]) -> int:
    """Write the files as tasks of a Ray cluster, each of which is this command with `--part`; the first code above 0.

    Ray itself repeats a task whose process or node is lost; the files that it had finished are kept.
    """
    from ...evidence.weights.conversion import prepare_conversion

    files = prepare_conversion(request, configs, args.reading)
    with _RayCluster(address) as ray:
        parts = min(files, _TASKS_OF_A_PROCESSOR * max(1, int(ray.cluster_resources().get("CPU", 1))))
        task = ray.remote(max_retries=_RETRIES, num_cpus=1)(run_part)
        tasks = [task.remote(_part_of(args, f"{number}/{parts}"), os.getcwd()) for number in range(1, parts + 1)]
        while tasks:
            report_progress(parts - len(tasks), parts, request.output)
            ready, tasks = ray.wait(tasks, timeout=_WAIT)
            for code, told in map(ray.get, ready):
                if code not in (FINE, BAD):
                    tell(told)
                    return code
    return FINE


def _part_of(args: WeightsConvertArgs, part: str) -> WeightsConvertArgs:
    """The same command for a part alone."""
    own = copy(args)
    own.ray, own.part = None, part
    return own


def run_part(args: WeightsConvertArgs, folder: str) -> tuple[int, str]:
    """The exit code of one part and what it told, from a process of a cluster."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from ..command_runner import print_unreadable

    os.chdir(folder)
    told = StringIO()
    with redirect_stderr(told), redirect_stdout(StringIO()):
        try:
            code = run(args)
        except UnreadableError as error:
            print_unreadable(error, args.lang)
            code = UNUSABLE
        except UsageError as error:
            tell(error.message(args.lang))
            code = UNUSABLE
    return code, told.getvalue()


class _RayCluster:
    """A connection to a Ray cluster; UnreadableError if it cannot be used."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._ray: Any = None

    def __enter__(self) -> Any:
        from ...evidence.weights.weight import raise_unreadable

        try:
            self._ray = import_module("ray")
        except ImportError:
            raise_unreadable(weights.extra_needed(package="ray", install=install_command("cluster")), "ray")
        try:
            self._ray.init(address=self._address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            self._refuse(error)
        return self._ray

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._ray.shutdown()
        if error is not None and isinstance(error, self._ray.exceptions.RayError):
            self._refuse(error)

    def _refuse(self, error: BaseException) -> NoReturn:
        from ...evidence.weights.weight import raise_unreadable

        why = verbatim(str(error).strip().partition("\n")[0])
        raise_unreadable(weights.cluster_lost(address=self._address, why=why), self._address)


def _plan(args: WeightsConvertArgs, request: Request, configs: Sequence[Config]) -> int:
    """Print what the conversion would take, or all that keeps it from being made."""
    from ...evidence.weights.conversion import Estimate, estimate_conversion
    from ...evidence.weights.weight import RefusedError

    bandwidth = None if args.bandwidth is None else args.bandwidth * (1 << 20)
    try:
        plan, estimate = estimate_conversion(request, configs, args.reading, bandwidth)
    except (RefusedError, UnreadableError) as error:
        if args.format != "json":
            raise
        problems = error.diagnostics if isinstance(error, RefusedError) else (error.diagnostic,)
        nothing = Estimate((), 0, 0, 0, 0, 0, None, ())
        emit(json_text(_plan_answer(None, nothing, request, problems, args.lang)))
        return BAD if isinstance(error, RefusedError) and not error.unreadable else UNUSABLE
    if args.format == "json":
        emit(json_text(_plan_answer(plan, estimate, request, (), args.lang)))
    else:
        _plan_page(plan, estimate, request, args.lang, is_given=bandwidth is not None)
    return FINE


def _plan_answer(
    plan: Plan | None,
    estimate: Estimate,
    request: Request,
    problems: Sequence[Diagnostic],
    language: Language,
) -> dict[str, object]:
    """The plan of a conversion as JSON: files, bytes to read and write, memory, time, and problems."""
    from ...evidence.weights.conversion import eight_bit_tensors

    made = None if plan is None else eight_bit_tensors(request, plan.model)
    return {
        **_plan_ends(plan, request),
        "files": [{"path": path, "tensors": tensors, "bytes": size} for path, tensors, size in estimate.files],
        "tensors": sum(tensors for _, tensors, _ in estimate.files),
        "bytes_to_read": estimate.read,
        "bytes_to_write": estimate.write,
        "bytes_finished": estimate.kept,
        "bytes_free": estimate.free,
        "memory_of_a_worker": estimate.memory,
        "bandwidth": estimate.bandwidth,
        "minutes": estimate.minutes,
        "oversized": list(estimate.oversized),
        "dequantized": None if made is None else made._asdict(),
        "left_out": [] if plan is None else _beside_json(plan.unconverted_tensors, language),
        "configurations": [] if plan is None else list(plan.sources),
        "problems": [diagnostic.to_json(language) for diagnostic in problems],
    }


def _plan_ends(plan: Plan | None, request: Request) -> dict[str, object]:
    """Source and target of a plan, as far as they are known without one."""
    from ...evidence.weights.model import checkpoint_at
    from ...schemas.config import partner

    found = checkpoint_at(request.checkpoint)
    source = None if found is None else found.framework
    target = plan.target if plan else request.to or (None if source is None else partner(source))
    form = request.ckpt_format if target == "megatron" else "safetensors"
    iteration = plan.checkpoint.iteration if plan else None
    return {
        "source": None if found is None else {"framework": source, "form": found.form, "iteration": iteration},
        "target": None if target is None else {"framework": target, "form": form, "directory": request.output},
    }


_LISTED = 20


def _plan_page(plan: Plan, estimate: Estimate, request: Request, language: Language, *, is_given: bool) -> None:
    """Print the plan of a conversion: files with sizes, free space, memory and estimated time."""
    word = usage.page("weights_convert", language)
    say(f"{plan.checkpoint.framework} {plan.checkpoint.form} → {plan.target} {request.output}")
    tensors = sum(count for _, count, _ in estimate.files)
    read, write = in_bytes(estimate.read), in_bytes(estimate.write)
    say(f"  {word('plan', len(estimate.files), tensors, read, write)}")
    if estimate.kept:
        say(f"  {word('plan_kept', in_bytes(estimate.kept))}")
    say(f"  {word('plan_space', in_bytes(estimate.free))}")
    say(f"  {word('plan_memory', in_bytes(estimate.memory))}")
    if estimate.minutes is not None and estimate.bandwidth is not None:
        origin = word("given" if is_given else "measured")
        say(f"  {word('plan_time', f'{estimate.minutes:.1f}', in_bytes(round(estimate.bandwidth)), origin)}")
    _oversized_line(estimate.oversized, language)
    for path, count, size in estimate.files[:_LISTED]:
        say(f"  {word('plan_file', path, count, in_bytes(size))}")
    if len(estimate.files) > _LISTED:
        say(f"  {word('plan_more', len(estimate.files) - _LISTED)}")


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
    """The finished conversion as JSON: source, target, files, types, and what was left out."""
    return {
        "source": {"framework": done.source, "form": done.form, "iteration": done.iteration},
        "target": {"framework": done.target, "form": done.target_form, "directory": output},
        "files": [weight_file_json(file) for file in done.files],
        "parameters": done.parameters,
        "numbers": done.numbers,
        "dtypes": list(done.dtypes),
        "vocabulary": None if done.vocabulary is None else done.vocabulary._asdict(),
        "dequantized": None if done.dequantized is None else done.dequantized._asdict(),
        "left_out": _beside_json(done.beside, language),
        "updates": done.updates,
        "part": None if done.part is None else list(done.part),
        "oversized": list(done.oversized),
        "configurations": list(done.configuration),
        "findings": [diagnostic.to_json(language) for diagnostic in done.findings],
    }


def _beside_json(beside: Mapping[Beside, Amount], language: Language) -> list[dict[str, object]]:
    """Tensors that were left out, by kind: their number, bytes, and the effect of leaving them out."""
    return [
        {
            "what": what.zh if language == "zh" else what.en,
            "tensors": amount.tensors,
            "bytes": amount.size,
            "effect": usage.page("weights_convert", language)("anew") if what.anew else None,
        }
        for what, amount in beside.items()
    ]


def _oversized_line(names: Sequence[str], language: Language) -> None:
    if names:
        say(f"  {usage.page('weights_convert', language)('oversized', len(names), names[0])}")


def _print_beside(beside: Mapping[Beside, Amount], language: Language) -> None:
    word = usage.page("weights_convert", language)
    for what, amount in beside.items():
        named = what.zh if language == "zh" else what.en
        say(f"  {word('beside', amount.tensors, named, in_bytes(amount.size))}")
        if what.anew:
            say(f"    {word('anew')}")


def _page(done: Conversion, output: str, language: Language) -> None:
    """Print the result of a conversion and the way to load it in the target framework."""
    word = usage.page("weights_convert", language)
    iteration = "" if done.iteration is None else f" {done.iteration}"
    say(f"{done.source} {done.form}{iteration} → {done.target} {output}")
    say(f"  {word('wrote', done.parameters, done.numbers, ', '.join(done.dtypes), len(done.files))}")
    resumed = sum(file.resumed for file in done.files)
    if resumed:
        say(f"  {word('kept', resumed)}")
    _oversized_line(done.oversized, language)
    if done.vocabulary is not None:
        say(f"  {word('vocabulary', done.vocabulary.before, done.vocabulary.after)}")
        if done.vocabulary.after < done.vocabulary.before and done.source == "megatron":
            say(f"  {word('fewer')}")
    made = done.dequantized
    if made is not None:
        kept = "" if made.dtype == "F32" else word("keep_float32")
        block = "×".join(map(str, made.block))
        say(f"  {word('dequantized', made.tensors, block, made.scale, made.dtype)}{kept}")
    if done.updates is not None:
        say(f"  {word('adam', done.updates)}")
    _print_beside(done.beside, language)
    say(f"  {word('by', ', '.join(done.configuration))}")
    if done.part is not None:
        size = in_bytes(sum(file.size for file in done.files))
        say(f"  {word('part', *done.part, len(done.files), size)}")
        say(f"  {word('next_part')}")
        return
    say(f"  {word('load')}: {usage.page('loading', language)(done.loading, output)}")

"""`accmap weights convert CHECKPOINT`: a checkpoint of one framework in the form of the other.

0 where everything was written; 1 where the weights hold NaN or infinite values, or the checkpoint and the
configuration do not fit together (then nothing is written); 2 where the checkpoint cannot be read.
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import TYPE_CHECKING

from ..inputs import load
from ..lean import BAD, FINE
from ..parsing import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.weights.conversion import Conversion
    from ...evidence.weights.megatron_form import Ranks
    from ...schemas.config import Framework, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language

_WORDS = {
    "wrote": ("{} parameters, {} numbers as {}, in {} files", "{} 个参数、{} 个数值（{}），共 {} 个文件"),
    "kept": ("{} of them stood there already", "其中 {} 个文件此前已写好"),
    "vocabulary": ("the vocabulary's rows: {} before, {} now", "词表行数：转换前 {}，转换后 {}"),
    "fewer": (
        "Megatron-LM's padded rows take part in its softmax; without them the loss differs slightly",
        "Megatron-LM 的填充行参与 softmax；去掉后 loss 会略有差异",
    ),
    "beside": ("left out: {} tensors of {}", "未转换：{} 个张量（{}）"),
    "by": ("the model by {}", "模型依据 {}"),
    "load": ("load it with", "加载方式"),
}
_LOADING: dict[str, tuple[str, str]] = {
    "mindformers": (
        "load_checkpoint: {} with load_ckpt_format: safetensors",
        "load_checkpoint: {}，load_ckpt_format: safetensors",
    ),
    "megatron": ("--load {} --ckpt-format torch", "--load {} --ckpt-format torch"),
}


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None = None,
    config: Sequence[str] = (),
    to: Framework | None = None,
    output: str | None = None,
    dtype: str | None = None,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    expert_parallel: int = 1,
    transformer_impl: str | None = None,
    shard_size: float = 4.0,
    resume: bool = False,
    force: bool = False,
    format: str = "text",  # noqa: A002 - the option's name
    lang: Language = "en",
) -> int:
    """Convert, and say what was written."""
    from ...evidence.weights.conversion import Request, convert
    from ...evidence.weights.megatron_form import Ranks
    from ...evidence.weights.problems import RefusedError

    if output is None:
        raise UsageError("weights convert needs a place to write: -o DIR")
    ranks = Ranks(tensor_parallel, pipeline_parallel, expert_parallel)
    if min(ranks) < 1 or not 0 < shard_size < math.inf:
        raise UsageError("numbers of ranks and --shard-size are above 0")
    _check_place(output, files[0], resume=resume, force=force)
    _check_target(files[0], to, ranks, transformer_impl)
    configs = [load(name, options, stdin_name) for name in config]
    request = Request(files[0], output, to, dtype, ranks, int(shard_size * (1 << 30)), transformer_impl, resume=resume)
    try:
        done = convert(request, configs, options, progress=lambda line: print(line, file=sys.stderr))
    except RefusedError as refused:
        for diagnostic in refused.diagnostics:
            _complain(diagnostic, lang)
        return BAD
    except OSError as error:
        raise UsageError(f"{error.filename or output} cannot be written: {error.strerror}") from None
    for diagnostic in done.findings:
        _complain(diagnostic, lang)
    if format == "json":
        json.dump(_answer(done, output, lang), sys.stdout, ensure_ascii=False, allow_nan=False)
        sys.stdout.write("\n")
    else:
        _page(done, output, lang)
    return BAD if done.findings else FINE


def _check_place(output: str, source: str, *, resume: bool, force: bool) -> None:
    """A folder in which something stands is written into only where that is asked for."""
    here, there = os.path.realpath(output), os.path.realpath(source)
    if here == there or there.startswith(here + os.sep):
        raise UsageError(f"{output} holds the checkpoint itself; choose another folder")
    if os.path.exists(output) and not os.path.isdir(output):
        raise UsageError(f"{output} is a file; -o names a folder")
    if os.path.isdir(output) and os.listdir(output) and not (resume or force):
        raise UsageError(f"{output} is not empty; --resume continues a conversion, --force overwrites")


def _check_target(source: str, to: Framework | None, ranks: Ranks, implementation: str | None) -> None:
    """What is asked of a Megatron-LM target is not passed over where there is none."""
    from ...evidence.weights.places import checkpoint_at

    found = checkpoint_at(source)
    target = to or (None if found is None else "mindformers" if found.framework == "megatron" else "megatron")
    if target == "mindformers" and (max(ranks) > 1 or implementation is not None):
        raise UsageError(
            "ranks and --transformer-impl are for a Megatron-LM target; MindSpore Transformers loads whole weights"
        )


def _complain(diagnostic: Diagnostic, language: Language) -> None:
    print(f"{diagnostic.file}: {diagnostic.kind.code} {diagnostic.message(language)}", file=sys.stderr)


def _answer(done: Conversion, output: str, language: Language) -> dict[str, object]:
    return {
        "source": {"framework": done.source, "form": done.form, "iteration": done.iteration},
        "target": {"framework": done.target, "directory": output},
        "files": [
            {"path": file.path, "sha256": file.sha256, "size": file.size, "resumed": file.resumed}
            for file in done.files
        ],
        "parameters": done.parameters,
        "numbers": done.numbers,
        "dtypes": list(done.dtypes),
        "vocabulary": None if done.vocabulary is None else done.vocabulary._asdict(),
        "left_out": [
            {"what": what.zh if language == "zh" else what.en, "tensors": count} for what, count in done.beside.items()
        ],
        "configurations": list(done.configuration),
        "findings": [diagnostic.to_json(language) for diagnostic in done.findings],
    }


def _page(done: Conversion, output: str, language: Language) -> None:
    def say(key: str, *values: object) -> str:
        return _WORDS[key][language == "zh"].format(*values)

    iteration = "" if done.iteration is None else f" {done.iteration}"
    print(f"{done.source} {done.form}{iteration} → {done.target} {output}")
    print(f"  {say('wrote', done.parameters, done.numbers, ', '.join(done.dtypes), len(done.files))}")
    resumed = sum(file.resumed for file in done.files)
    if resumed:
        print(f"  {say('kept', resumed)}")
    if done.vocabulary is not None:
        print(f"  {say('vocabulary', done.vocabulary.before, done.vocabulary.after)}")
        if done.vocabulary.after < done.vocabulary.before and done.source == "megatron":
            print(f"  {say('fewer')}")
    for what, count in done.beside.items():
        print(f"  {say('beside', count, what.zh if language == 'zh' else what.en)}")
    print(f"  {say('by', ', '.join(done.configuration))}")
    print(f"  {say('load')}: {_LOADING[done.target][language == 'zh'].format(output)}")

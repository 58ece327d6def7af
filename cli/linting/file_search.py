"""Files that an operand of `lint` stands for: folders and patterns are searched by content, commits by git."""

from __future__ import annotations

import os

from ...schemas.border.file_input import read_regular
from ...schemas.border.inputs import is_file, is_folder
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.message import verbatim
from ..argument_parser import UsageError
from ..messages_compiled import say
from .settings import is_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch")
YAMLS = (".yaml", ".yml")
_PASSED_OVER = frozenset(("node_modules", "__pycache__", "site-packages", "venv"))
_MOST_ENTRIES = 200_000
_LARGEST = 1_000_000
_STARTS = (b"pretrain_", b"--num-layers", b"--num-attention-heads", b"run_mindformer", b"posttrain_gpt")
_ARGUMENTS = (b"\nMODEL_ARGS:", b"_target_: megatron.bridge.", b"backend: megatron", b"framework: megatron")
"""What a functional-test recipe, `run_config.yaml` of Megatron-Bridge, experiments of FlagScale and Primus have."""
_SECTIONS = (b"runner_config:", b"model_config:", b"train_dataset:", b"run_mode:", b"model_type:")


def found_files(operands: Sequence[str]) -> list[str]:
    """The files that the operands stand for, each once; a name that is none stands for itself, and is complained of."""
    found: dict[str, None] = {}
    for operand in operands:
        if is_folder(operand):
            found.update(dict.fromkeys(sorted(training_files(operand))))
        elif is_pattern(operand):
            found.update(dict.fromkeys(_matches(operand)))
        else:
            found[operand] = None
    return list(found)


def training_files(folder: str) -> Iterator[str]:
    """Files under a folder that look like a launch or a YAML of either framework; links to folders are not followed."""
    entries = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        entries += len(files)
        if entries > _MOST_ENTRIES:
            return
        for name in files:
            path = os.path.normpath(os.path.join(place, name))
            if name.endswith((*SCRIPTS, *YAMLS)) and looks_like_training(path):
                yield path


def looks_like_training(path: str) -> bool:
    """True if a file has words that a launch, or a YAML of either framework, does not go without.

    It is only a sieve: what passes is read, and what then turns out to train nothing is said to.
    """
    try:
        return sounds_like_training(path, read_regular(path, limit=_LARGEST))
    except UnreadableError:
        return False


def sounds_like_training(name: str, data: bytes) -> bool:
    """The same of the bytes of a file."""
    if name.endswith(YAMLS):
        asked = any(mark in b"\n" + data for mark in _ARGUMENTS)
        return asked or sum(mark in data for mark in _SECTIONS) > 1
    return any(mark in data for mark in _STARTS)


def _matches(pattern: str) -> list[str]:
    """Those of the files that a pattern finds that look like training; itself where it finds nothing at all."""
    from glob import iglob
    from itertools import islice

    matches = sorted(islice(iglob(pattern, recursive=True), _MOST_ENTRIES))
    return [path for path in matches if _is_asked_for(path)] if matches else [pattern]


def _is_asked_for(path: str) -> bool:
    return is_file(path) and path.endswith((*SCRIPTS, *YAMLS)) and looks_like_training(path)


_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=")


def files_changed_since(files: Sequence[str], ref: str) -> list[str]:
    """The files that git says were changed or added since `ref`, whether or not that was committed.

    Of a pair that was named alone, two files, both are kept where one has changed.
    """
    start = os.path.abspath(os.path.dirname(files[0]) if files else ".")
    top = _git_output(start, "rev-parse", "--show-toplevel").rstrip("\n")
    commit = _git_output(
        start, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ref=ref
    ).strip()
    names = _git_output(
        top, "diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", commit, "--"
    )
    names += _git_output(top, "ls-files", "--others", "--exclude-standard", "-z")
    changed = {os.path.realpath(os.path.join(top, name)) for name in names.split("\0") if name}
    found = [name for name in files if os.path.realpath(name) in changed]
    return list(files) if found and len(files) == 2 else found


def _git_output(folder: str, *words: str, ref: str = "") -> str:
    from subprocess import run

    try:
        done = run(
            ["git", *_QUIET, *words],
            cwd=folder,
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        )
    except OSError as error:
        raise UsageError(say.git_does_not_run(why=verbatim(error.strerror or error))) from None
    if done.returncode:
        if ref:
            raise UsageError(say.git_knows_no_commit(ref=ref))
        why = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise UsageError(say.git_does_not_answer(why=verbatim(why)))
    return os.fsdecode(done.stdout)

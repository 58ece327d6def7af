"""Files that an operand of `lint` stands for: folders and patterns are searched by content, commits by git."""

from __future__ import annotations

import os

from ...schemas.border.file_input import MAX_BYTES, read_regular
from ...schemas.border.inputs import is_file, is_folder, open_regular
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.message import verbatim
from ..argument_parser import UsageError
from ..messages_compiled import say
from .settings import is_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

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
    """The files for the operands: folders and patterns are searched, other names are taken as they are."""
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
    """True if the content of a file has words that every training script or YAML has."""
    if name.endswith(YAMLS):
        asked = any(mark in b"\n" + data for mark in _ARGUMENTS)
        return asked or sum(mark in data for mark in _SECTIONS) > 1
    return any(mark in data for mark in _STARTS)


def _matches(pattern: str) -> list[str]:
    """Training files that a pattern matches; the pattern itself if there are none."""
    from glob import iglob
    from itertools import islice

    matches = sorted(islice(iglob(pattern, recursive=True), _MOST_ENTRIES))
    return [path for path in matches if _is_asked_for(path)] if matches else [pattern]


def _is_asked_for(path: str) -> bool:
    return is_file(path) and path.endswith((*SCRIPTS, *YAMLS)) and looks_like_training(path)


_QUIET = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "core.pager=",
    "--no-replace-objects",
)
_LOCAL = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}
"""Nothing is written, and nothing is fetched: a fetch starts the programs that the repository names for it."""
_LINK = "120000"
"""The mode of a link, whose content is its target."""


def files_changed_since(files: Sequence[str], ref: str) -> list[str]:
    """The files that were changed or added since `ref`, whether or not that was committed.

    Git is only asked for names and digests; the files are compared here. Git itself would run the filters that the
    repository, what it includes, and its submodules name. Of a pair that was named alone, two files, both are kept if
    one has changed.
    """
    start = os.path.abspath(os.path.dirname(files[0]) if files else ".")
    top = _git_output(start, "rev-parse", "--show-toplevel").rstrip("\n")
    commit = _git_output(
        start, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ref=ref
    ).strip()
    digests = _committed_digests(top, commit)
    known = set(_git_output(top, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0"))
    found = [name for name in files if _has_changed(name, os.path.realpath(top), digests, known)]
    return list(files) if found and len(files) == 2 else found


def _committed_digests(top: str, commit: str) -> dict[str, str]:
    """The digest of each regular file of a commit, by its path from the repository's root."""
    listed = _git_output(top, "ls-tree", "-r", "-z", "--full-tree", commit)
    rows = [row.partition("\t") for row in listed.split("\0") if row]
    return {
        name: head.split(" ")[2]
        for head, _, name in rows
        if head.split(" ")[1] == "blob" and not head.startswith(_LINK)
    }


def _has_changed(name: str, top: str, digests: Mapping[str, str], known: Collection[str]) -> bool:
    """True if the content of a file differs from the committed one, apart from line endings."""
    path = os.path.realpath(name)
    within = os.path.relpath(path, top)
    committed = digests.get(within)
    if committed is None:
        return within in known
    try:
        with open_regular(path, remember=False) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError:
        return True
    return committed not in (_git_digest(data, committed), _git_digest(data.replace(b"\r\n", b"\n"), committed))


def _git_digest(data: bytes, like: str) -> str:
    """The name of a blob, by the algorithm of another name."""
    from hashlib import sha1, sha256

    blob = b"blob %d\0%b" % (len(data), data)
    return (sha256(blob) if len(like) == _SHA256 else sha1(blob, usedforsecurity=False)).hexdigest()


_SHA256 = 64
"""Digits of a name in a repository with SHA-256."""


def _git_output(folder: str, *words: str, ref: str = "") -> str:
    """Standard output of a git command in a folder; UsageError if git fails or does not know the commit."""
    from subprocess import run

    try:
        done = run(
            ["git", *_QUIET, *words],
            cwd=folder,
            capture_output=True,
            check=False,
            env={**os.environ, **_LOCAL, "LC_ALL": "C"},
        )
    except OSError as error:
        raise UsageError(say.git_does_not_run(why=verbatim(error.strerror or error))) from None
    if done.returncode:
        if ref:
            raise UsageError(say.git_knows_no_commit(ref=ref))
        why = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise UsageError(say.git_does_not_answer(why=verbatim(why)))
    return os.fsdecode(done.stdout)

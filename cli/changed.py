"""`--since REF`: of the files that were asked for, those that changed since a commit, as git says.

git is given its words as a list, never a line for a shell; what a repository's own settings could have it start (a file
system monitor, hooks, a program for differences) is off.
"""

from __future__ import annotations

import os

from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.message import verbatim
from .argument_parser import UsageError
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=")


def files_changed_since(files: Sequence[str], ref: str) -> list[str]:
    """The files that git says were changed or added since `ref`, whether or not that was committed.

    Of a pair that was named alone, two files, both are kept where one has changed.
    """
    start = os.path.abspath(os.path.dirname(files[0]) if files else ".")
    top = _git(start, "rev-parse", "--show-toplevel").rstrip("\n")
    commit = _git(start, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ref=ref).strip()
    names = _git(top, "diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", commit, "--")
    names += _git(top, "ls-files", "--others", "--exclude-standard", "-z")
    changed = {os.path.realpath(os.path.join(top, name)) for name in names.split("\0") if name}
    found = [name for name in files if os.path.realpath(name) in changed]
    return list(files) if found and len(files) == 2 else found


def _git(folder: str, *words: str, ref: str = "") -> str:
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

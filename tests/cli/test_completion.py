"""Completion in the shells that are there: the script is taken as it is printed, and asked for words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser  # in every shell, which the part `browsers` installs

ASK = {
    "bash": 'eval "$(accmap --show-completion bash)"; COMP_WORDS=(accmap {words}); COMP_CWORD={last};'
    ' _accmap_completion accmap; printf "%s\\n" "${{COMPREPLY[@]}}"',
    "zsh": 'autoload -U compinit; compinit -u -d "$HOME/dump"; eval "$(accmap --show-completion zsh)";'
    ' [[ -n "$_comps[accmap]" ]] && _ACCMAP_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS="accmap {words}" accmap',
    "fish": "accmap --show-completion fish | source; complete -C 'accmap {words}'",
}


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(
    ("words", "expected"), [("li", "lint"), ("lint --si", "--since"), ("lint --profile al", "align")]
)
def test_words_are_completed(tmp_path: Path, shell: str, words: str, expected: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not here")
    (tmp_path / "accmap").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m accmap "$@"\n')
    (tmp_path / "accmap").chmod(0o755)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    line = ASK[shell].format(words=words, last=len(words.split()))
    done = subprocess.run(
        [program, "-c", line],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8"},
    )
    assert expected in done.stdout, done.stderr

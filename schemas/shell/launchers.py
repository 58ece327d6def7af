"""Which command starts a training program: launchers, wrappers, their options, and where the program stands.

Each launcher is a row of a table: which of its options take values, and which of them say how many processes
there will be. Sources: torch.distributed.run (PyTorch 2.x), deepspeed.launcher.runner, msrun (MindSpore 2.9),
accelerate launch, srun (Slurm 23), mpirun (Open MPI 4), MindFormers scripts/msrun_launcher.sh.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple
from .scanning import is_digits
from .text import Code, Doubt, Piece, known, plain, shown, written_at
from .tree import INPUTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .expansion import Field
    from .interpreter import Input, Shell
    from .state import Variable
    from .text import Place, Text


class Started(NamedTuple):
    """A start of a Python program. `before` are the words up to its script."""

    launcher: str | None
    script: str | None
    before: tuple[Field, ...]
    arguments: tuple[Field, ...]
    world_size: int | None
    rank: int
    env: Mapping[str, Variable]


class Launcher(NamedTuple):
    """How a launcher's options are read. `counts` are option names whose product is the number of processes."""

    values: frozenset[str]
    flags: frozenset[str]
    counts: tuple[tuple[str, ...], ...] = ()
    default: int | None = None


class Wrapper(NamedTuple):
    """A program that runs another: options with values (how many), and words before the command."""

    values: Mapping[str, int]
    words: int = 0


class Remote(NamedTuple):
    """A program that has the shells of other machines run a command: options with values, and words before it."""

    values: Mapping[str, int]
    words: int = 0


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DEVICES = frozenset(("auto", "gpu", "cpu", "xpu", "npu", "cuda", "privateuseone", "mlu", "musa"))


def _counts(text: str) -> bool:
    """Whether Python's `int` makes a number above 0 of a text."""
    digits = text.strip().removeprefix("+").replace("_", "")
    return digits.isdecimal() and int(digits[:20] or "0") > 0


TORCHRUN = Launcher(
    _names(
        "nproc nproc-per-node nnodes node-rank master-addr master-port rdzv-backend rdzv-endpoint rdzv-id rdzv-conf"
        " max-restarts monitor-interval start-method role log-dir r redirects t tee local-addr local-ranks-filter"
        " logs-specs event-log-handler numa-binding signals-to-handle virtual-local-rank"
    ),
    _names("standalone m module no-python run-path use-env"),
    (("nproc-per-node", "nproc"), ("nnodes",)),
    1,
)
DEEPSPEED = Launcher(
    _names(
        "hostfile H include i exclude e num-nodes num-gpus min-elastic-nodes max-elastic-nodes master-port"
        " master-addr node-rank launcher launcher-args ssh-port venv-script enable-each-rank-log autotuning"
        " bind-core-list"
    ),
    _names(
        "module no-python no-local-rank no-ssh no-ssh-check force-multi save-pid elastic-training bind-cores-to-rank"
    ),
    (("num-gpus",), ("num-nodes",)),
)
MSRUN = Launcher(
    _names(
        "worker-num local-worker-num master-addr master-port node-rank log-dir join cluster-time-out bind-core"
        " sim-level sim-rank-id rank-table-file worker-log-name tail-worker-log"
    ),
    _names("m"),
    (("worker-num",),),
    8,
)
ACCELERATE = Launcher(
    _names(
        "config-file num-processes num-machines machine-rank main-process-ip main-process-port mixed-precision"
        " deepspeed-config-file dynamo-backend gpu-ids rdzv-backend num-cpu-threads-per-process"
    ),
    _names("m module no-python use-deepspeed multi-gpu use-fsdp use-megatron-lm cpu debug same-network quiet"),
    (("num-processes",),),
)
LAUNCHERS = {
    "torchrun": TORCHRUN,
    "torchrun.py": TORCHRUN,
    "deepspeed": DEEPSPEED,
    "ds": DEEPSPEED,
    "msrun": MSRUN,
}
MODULES = {
    "torch.distributed.launch": TORCHRUN,
    "torch.distributed.run": TORCHRUN,
    "torch.distributed.elastic.run": TORCHRUN,
    "deepspeed": DEEPSPEED,
    "deepspeed.launcher.runner": DEEPSPEED,
    "accelerate.commands.launch": ACCELERATE,
}

_ONE = dict.fromkeys
WRAPPERS: dict[str, Wrapper] = {
    "nohup": Wrapper({}),
    "time": Wrapper(_ONE(("-f", "-o"), 1)),
    "nice": Wrapper(_ONE(("-n",), 1)),
    "ionice": Wrapper(_ONE(("-c", "-n"), 1)),
    "setsid": Wrapper({}),
    "stdbuf": Wrapper(_ONE(("-i", "-o", "-e"), 1)),
    "sudo": Wrapper(_ONE(("-u", "-g", "-h", "-p", "-C", "-D"), 1)),
    "timeout": Wrapper(_ONE(("-k", "-s", "--signal", "--kill-after"), 1), 1),
    "taskset": Wrapper({}, 1),
    "numactl": Wrapper(_ONE(("-N", "-m", "-C", "-i", "-p", "-P"), 1)),
    "strace": Wrapper(_ONE(("-e", "-o", "-p", "-s"), 1)),
    "unbuffer": Wrapper({}),
    "chrt": Wrapper({}, 1),
    "catchsegv": Wrapper({}),
    "srun": Wrapper(
        {
            **_ONE(("-n", "-N", "-p", "-A", "-t", "-w", "-c", "-G", "-J", "-o", "-e", "-i", "-q", "-x", "-D", "-m"), 1),
            **_ONE(
                (
                    "--ntasks", "--nodes", "--partition", "--account", "--time", "--nodelist", "--cpus-per-task",
                    "--gpus", "--jobid", "--job-name", "--output", "--error", "--container-image",
                    "--container-mounts", "--container-workdir", "--container-name", "--environment", "--mpi",
                    "--gres", "--export", "--wait", "--chdir", "--exclude", "--reservation", "--qos",
                    "--ntasks-per-node", "--gpus-per-node", "--gpus-per-task", "--cpu-bind", "--mem", "--network",
                    "--constraint", "--mem-bind", "--gpu-bind", "--distribution", "--hint", "--het-group",
                ), 1,
            ),
        }
    ),
    "mpirun": Wrapper(
        {
            **_ONE(
                (
                    "-n", "-np", "--np", "-c", "-H", "-host", "--host", "-hostfile", "--hostfile", "-machinefile",
                    "--machinefile", "-x", "-bind-to", "--bind-to", "-map-by", "--map-by", "-N", "-npernode",
                    "--npernode", "-wdir", "--wdir", "-ppn", "--prefix", "-rf", "--output-filename", "-f",
                    "--rank-by", "-rank-by", "--timeout",
                ), 1,
            ),
            **_ONE(("-mca", "--mca", "-gmca", "--gmca", "-genv", "-env"), 2),
        }
    ),
}  # fmt: skip
REMOTES: dict[str, Remote] = {
    "ssh": Remote(
        _ONE(
            (
                "-B",
                "-b",
                "-c",
                "-D",
                "-E",
                "-e",
                "-F",
                "-I",
                "-i",
                "-J",
                "-L",
                "-l",
                "-m",
                "-O",
                "-o",
                "-P",
                "-p",
                "-Q",
                "-R",
                "-S",
                "-W",
                "-w",
            ),
            1,
        ),
        1,
    ),
    "pdsh": Remote(_ONE(("-w", "-x", "-g", "-X", "-R", "-M", "-l", "-f", "-t", "-u"), 1)),
    "clush": Remote(
        _ONE(
            (
                "-w",
                "-x",
                "-g",
                "-X",
                "-l",
                "-f",
                "-t",
                "-u",
                "-o",
                "-s",
                "--hostfile",
                "--machinefile",
                "--options",
                "--fanout",
                "--user",
                "--nodes",
                "--exclude",
                "--group",
                "--groupsource",
                "--worker",
            ),
            1,
        ),
    ),
    "pssh": Remote(
        _ONE(
            (
                "-h",
                "-H",
                "-l",
                "-p",
                "-o",
                "-e",
                "-t",
                "-O",
                "-x",
                "-X",
                "-g",
                "--hosts",
                "--host",
                "--user",
                "--par",
                "--outdir",
                "--errdir",
                "--timeout",
                "--options",
                "--extra-args",
                "--extra-arg",
            ),
            1,
        ),
    ),
}
"""OpenSSH 9 ssh(1); pdsh 2.34 pdsh(1); ClusterShell 1.9 clush(1); pssh 2.3 pssh(1)."""
REMOTES["slogin"] = REMOTES["ssh"]
REMOTES["rsh"] = REMOTES["ssh"]
REMOTES["parallel-ssh"] = REMOTES["pssh"]
XARGS = {
    **_ONE(
        ("-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--arg-file", "--delimiter", "--max-args", "--max-procs"), 1
    ),
    **_ONE(("--max-chars", "--max-lines", "--replace", "--process-slot-var"), 1),
}
"""GNU findutils 4.9 xargs(1)."""
WRAPPERS["mpiexec"] = WRAPPERS["mpirun"]
WRAPPERS["orterun"] = WRAPPERS["mpirun"]
_PROCESS_OPTIONS = {
    "srun": (("-n", "--ntasks"),),
    "mpirun": (("-n", "-np", "--np", "-c"),),
    "mpiexec": (("-n", "-np", "--np", "-c"),),
    "orterun": (("-n", "-np", "--np", "-c"),),
}
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_SCRIPT_ENDINGS = (".sh", ".bash", ".slurm", ".sbatch")
_NEVER = _names(
    "rm mkdir cp mv tee grep egrep fgrep pkill killall kill which pip pip3 chmod chown git touch ln ls find sleep"
    " nvidia-smi npu-smi rocm-smi wget curl tar unzip apt apt-get yum module ps lsof cmake make gcc g++ ssh-keyscan"
    " hostname date whoami nproc getconf free df du scancel squeue sinfo scontrol tail less more vim huggingface-cli"
    " hf modelscope diff sort uniq file stat mktemp tput clear uname arch lscpu jq yq column nc ping rsync scp"
)
_REMOVERS = _names("rm rmdir mv unlink git rsync")
TRAINING_FLAGS = _names(
    "--num-layers --hidden-size --num-attention-heads --micro-batch-size --global-batch-size --train-iters"
    " --train-samples --seq-length --max-position-embeddings --tensor-model-parallel-size"
    " --pipeline-model-parallel-size --lr-decay-style --lr-warmup-iters --lr-warmup-fraction --data-path"
    " --tokenizer-type --use-mcore-models --model-config --yaml-cfg --bf16 --fp16 --ffn-hidden-size"
    " --expert-model-parallel-size --use-distributed-optimizer --encoder-num-layers --rotary-base"
)
COMMAND_LINES: dict[str, tuple[int, int | None]] = {
    "msrun_launcher.sh": (1, 8),
    "run_distribute.sh": (3, None),
    "run_singlenode.sh": (3, None),
    "run_standalone.sh": (9, 1),
}
"""MindFormers' own scripts, whose first argument is a command line: which argument gives the number of processes, and
how many there are without it."""
MINDFORMERS_SCRIPTS = frozenset(("run_mindformer.py", "run_mindformers.py"))


def differ(one: Started, other: Started) -> bool:
    """Whether two starts of one program are given something else: arguments, or variables."""
    mine, theirs = one.arguments, other.arguments
    if len(mine) != len(theirs) or one.script != other.script:
        return True
    if any(a.text() != b.text() and _word_or_why(a) != _word_or_why(b) for a, b in zip(mine, theirs, strict=True)):
        return True
    if one.env.keys() != other.env.keys():
        return True
    return any(
        variable is not other.env[name] and known(variable.value or ()) != known(other.env[name].value or ())
        for name, variable in one.env.items()
    )


def _word_or_why(field: Field) -> tuple[str | None, str]:
    """What a word is, or why it is not known."""
    from .expansion import doubt_reason

    text = field.known()
    return text, "" if text is not None else doubt_reason(field)


def start(shell: Shell, fields: Sequence[Field], extra: Mapping[str, Variable], given: Input, place: Place) -> None:
    """Follows a command that is neither a function nor a builtin."""
    gone = bool(fields) and _base(fields[0]) in _REMOVERS
    for field in fields[1:]:
        shell.touch(field.known() or "", gone=gone)
    _Start(shell, dict(extra), given, place).follow(list(fields), None, None, ())
    # what the program prints is not known
    shell.emit_unknown(place)


class _Start:
    """One command line on its way through wrappers to the program."""

    def __init__(self, shell: Shell, extra: dict[str, Variable], given: Input, place: Place) -> None:
        self.shell = shell
        self.extra = extra
        self.given = given
        self.place = place
        self.depth = 0
        shell.state.status = None

    def follow(self, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]) -> None:  # noqa: C901 - one grammar, read in one place
        self.depth += 1
        if not words or self.depth > 20:
            return
        name = words[0].known()
        if name is None:
            self._unknown_command(words, launcher, size, before)
            return
        if name.startswith("-") and not before:
            _lost(self.shell, words, self.place)
            return
        base = name.rpartition("/")[2]
        rest = words[1:]
        if base in WRAPPERS:
            self._wrapped(base, words, launcher, size, before)
        elif base in REMOTES:
            self._remote(REMOTES[base], rest)
        elif base == "xargs":
            self._appended(rest, launcher, size, (*before, words[0]))
        elif base == "env":
            self._environment(words, launcher, size, before)
        elif base in _SHELLS:
            self._shell(base, rest)
        elif base == "sbatch":
            self._batch(rest)
        elif base in COMMAND_LINES and rest:
            self._mindformers(base, rest, (*before, words[0]))
        elif base in LAUNCHERS:
            self._launched(LAUNCHERS[base], base, rest, (*before, words[0]))
        elif base == "accelerate" and rest and rest[0].known() == "launch":
            self._launched(ACCELERATE, base, rest[1:], (*before, *words[:2]))
        elif base in ("conda", "uv", "poetry", "pipenv", "pixi", "rye") and rest and rest[0].known() == "run":
            at = _after_options(rest, 1, _ONE(("-n", "--name", "-p", "--prefix", "--with", "--python", "--extra"), 1))
            self.follow(rest[at:], launcher, size, (*before, *words[: at + 1]))
        elif base == "ray" and len(rest) > 1 and rest[0].known() == "job":
            at = next((at for at, word in enumerate(rest) if word.known() == "--"), None)
            if at is not None:
                self.follow(rest[at + 1 :], "ray", size, (*before, *words[: at + 2]))
        elif _is_python(base):
            self._python(rest, launcher, size, (*before, words[0]))
        elif base.endswith(".py"):
            self._record(launcher, name, rest, size, (*before, words[0]))
        elif base.endswith(_SCRIPT_ENDINGS):
            self._file(name, rest)
        elif base not in _NEVER:
            self._searched(words, launcher, size, before)

    def _unknown_command(
        self, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]
    ) -> None:
        """The first word is not known: perhaps a wrapper, perhaps the launcher itself."""
        text = shown(words[0].text())
        if text.endswith(_SCRIPT_ENDINGS):
            self.shell.note("source-unknown", self.place, text=text)
            return
        if text.endswith(".py"):
            self._record(launcher, text, words[1:], size, (*before, words[0]))
            return
        self._searched(words, launcher, size, before)

    def _searched(self, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]) -> None:
        """Looks for a launcher among the words of an unknown program."""
        script = next(
            (at for at, word in enumerate(words) if at and (_script_like(word) or word.known() == "-m")), None
        )
        for at in range(1, len(words)):
            if _base(words[at]) in _SHELLS and any(word.known() in ("-c", "-lc", "-ic") for word in words[at : at + 4]):
                self.follow(words[at:], launcher, size, (*before, *words[:at]))
                return
        if script is not None:
            # the last one before the script or module: an option's value may be called `python`, too
            for at in range(script - 1, 0, -1):
                if _starts_programs(words[at]):
                    self.follow(words[at:], launcher, size, (*before, *words[:at]))
                    return
        if words[0].known() is None:
            at = next((at for at, word in enumerate(words) if at and _script_like(word)), None)
            if at is not None:
                self._record(launcher, shown(words[at].text()), words[at + 1 :], None, (*before, *words[: at + 1]))
            elif any(word.known() in TRAINING_FLAGS for word in words):
                self._record(launcher, None, words[1:], None, (*before, words[0]))

    def _wrapped(
        self, base: str, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]
    ) -> None:
        wrapper = WRAPPERS[base]
        at = _after_options(words, 1, wrapper.values)
        for options in _PROCESS_OPTIONS.get(base, ()):
            launcher = base
            size = _option_number(words[1:at], options)
        at += wrapper.words
        self.follow(words[at:], launcher, size, (*before, *words[:at]))

    def _remote(self, table: Remote, words: list[Field]) -> None:
        """The words after the host are one command line for a shell that knows none of this one's variables."""
        from .builtins import spaced

        at = _after_options(words, 0, table.values)
        if table.words:
            at = _after_options(words, at + table.words, table.values)
        if at < len(words):
            text = spaced(words[at:], self.place)
        elif self.given.text is not None:
            text = self.given.text
        else:
            return
        kept = self.shell.input
        self.shell.input = self.given
        try:
            self.shell.run_child(Code(self.place.source, text, self.place), "bash", [], {}, self.place, elsewhere=True)
        finally:
            self.shell.input = kept

    def _appended(self, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]) -> None:
        """`xargs`: the words of its input come behind those of the command, or take the place of a mark."""
        from .expansion import Field as Made

        at = _after_options(words, 0, XARGS)
        options = [shown(word.text()) for word in words[:at]]
        command = words[at:]
        if not command:
            return
        given = self.given.known()
        mark, most, sure = _xargs_options(options)
        found = None if given is None or not sure else _xargs_words(given, by_line=mark is not None)
        if found is None:
            doubt = Doubt("it is read from an input that is not known", self.place, loose=True)
            unknown = Made((Piece("", self.place, False, (), doubt),))
            unknown.split = True
            if mark is not None:
                command = [_with_mark(word, mark, None, doubt) for word in command]
                self.follow(command, launcher, size, before)
            else:
                self.follow([*command, unknown], launcher, size, before)
            return
        self.shell.spend(len(found))
        batches = [found[start : start + most] for start in range(0, len(found), most)] if most else [found]
        if mark is not None:
            batches = [[one] for one in found]
        for number, batch in enumerate(batches):
            self.shell.rounds += number > 0
            self.depth = 0
            try:
                if mark is not None:
                    made = [_with_mark(word, mark, batch[0], None) for word in command]
                else:
                    made = [*command, *[Made(plain(one, self.place)) for one in batch]]
                self.follow(made, launcher, size, before)
            finally:
                self.shell.rounds -= number > 0

    def _environment(
        self, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]
    ) -> None:
        from .state import Variable as Made

        at = _after_options(words, 1, {"-u": 1, "--unset": 1, "-C": 1})
        while at < len(words):
            text = words[at].text()
            name, equals, _ = shown(text).partition("=")
            if not equals or not name.replace("_", "a").isalnum():
                break
            value: Text = ()
            if text and text[0].doubt is None and "=" in text[0].text:
                cut = text[0].text.index("=") + 1
                value = (text[0].cut(cut, len(text[0].text)), *text[1:]) if cut < len(text[0].text) else text[1:]
            self.extra[name] = Made(value, exported=True, place=self.place)
            at += 1
        self.follow(words[at:], launcher, size, (*before, *words[:at]))

    def _shell(self, base: str, words: list[Field]) -> None:
        at, command, from_input = _shell_options(words)
        arguments = [self.shell.settled(field) for field in words[at + 1 :]]
        if command:
            if at < len(words):
                text = words[at].text()
                name = (known(arguments[0]) or base) if arguments else base
                code = Code(self.place.source, text, self.place)
                self.shell.run_child(code, name, arguments[1:], self.extra, self.place)
            return
        if from_input and at < len(words):
            arguments = [self.shell.settled(field) for field in words[at:]]
        elif at < len(words):
            path = words[at].known()
            if path in INPUTS and self.given.text is not None:
                code = Code(self.place.source, self.given.text, self.place)
                self.shell.run_child(code, path, arguments, self.extra, self.place)
            elif path is None:
                self.shell.note("source-unknown", self.place, text=shown(words[at].text()))
            elif path.rpartition("/")[2] in COMMAND_LINES and at + 1 < len(words):
                self._mindformers(path.rpartition("/")[2], words[at + 1 :], tuple(words[: at + 1]))
            else:
                self.shell.run_child(path, path, arguments, self.extra, self.place)
            return
        if self.given.text is not None:
            code = Code(self.place.source, self.given.text, self.place)
            self.shell.run_child(code, base, arguments if from_input else [], self.extra, self.place)

    def _file(self, path: str, rest: list[Field]) -> None:
        arguments = [self.shell.settled(field) for field in rest]
        self.shell.run_child(path, path, arguments, self.extra, self.place)

    def _batch(self, words: list[Field]) -> None:
        """`sbatch`: a script with its arguments, a here-document, or `--wrap`."""
        for number, field in enumerate(words):
            text = field.text()
            first = shown(text)
            if first == "--wrap" and number + 1 < len(words):
                self._code(words[number + 1].text())
                return
            if first.startswith("--wrap="):
                skip = len("--wrap=")
                kept: list[object] = []
                for piece in text:
                    if skip >= len(piece.text):
                        skip -= len(piece.text)
                        continue
                    kept.append(piece.cut(skip, len(piece.text)))
                    skip = 0
                self._code(tuple(kept))  # type: ignore[arg-type]
                return
        at = _after_options(words, 0, WRAPPERS["srun"].values)
        if at < len(words):
            path = words[at].known()
            if path is None:
                self.shell.note("source-unknown", self.place, text=shown(words[at].text()))
            else:
                self._file(path, words[at + 1 :])
        elif self.given.text is not None:
            self._code(self.given.text)

    def _code(self, text: Text) -> None:
        self.shell.run_child(Code(self.place.source, text, self.place), "bash", [], self.extra, self.place)

    def _mindformers(self, base: str, words: list[Field], before: tuple[Field, ...]) -> None:
        """`msrun_launcher.sh "run_mindformer.py ..." [processes]`: its first argument is a command line."""
        from .interpreter import words_of

        inner = words_of(self.shell, words[0].text(), self.place)
        at = next((at for at, word in enumerate(inner) if _script_like(word)), None)
        if at is None:
            return
        position, size = COMMAND_LINES[base]
        if len(words) > position:
            number = words[position].known()
            size = whole_number(number)
        self._record(base, shown(inner[at].text()), inner[at + 1 :], size, (*before, *words))

    def _python(self, words: list[Field], launcher: str | None, size: int | None, before: tuple[Field, ...]) -> None:
        at = 0
        while at < len(words):
            word = words[at].known()
            if word is None:
                # a word that is not known: options, or the script itself
                following = next((n for n in range(at, len(words)) if _script_like(words[n])), None)
                if following is None:
                    if not any(other.known() in TRAINING_FLAGS for other in words[at:]):
                        return
                    following = at
                at = following
                break
            if word in ("-W", "-X"):
                at += 2
                continue
            if word.startswith("-") and len(word) > 1 and not word.startswith("--"):
                if "c" in word[1:]:
                    return
                if "m" in word[1:]:
                    glued = word[word.index("m") + 1 :]
                    module = glued or (words[at + 1].known() if at + 1 < len(words) else None)
                    at += 1 if glued else 2
                    if module in MODULES:
                        self._launched(MODULES[module], module, words[at:], (*before, *words[:at]))
                    elif module is not None:
                        self._record(launcher, module, words[at:], size, (*before, *words[:at]))
                    return
                at += 1
                continue
            if word.startswith("--") or word == "-":
                at += 1
                continue
            break
        if at < len(words):
            script = shown(words[at].text())
            self._record(launcher, script, words[at + 1 :], size, (*before, *words[: at + 1]))

    def _launched(self, table: Launcher, name: str, words: list[Field], before: tuple[Field, ...]) -> None:  # noqa: C901 - one grammar, read in one place
        given: dict[str, str | None] = {}
        doubtful = False
        at = 0
        module = bare = False
        while at < len(words):
            word = words[at].known()
            text = shown(words[at].text())
            if not text.startswith("-"):
                if word is None and not _script_like(words[at]):
                    doubtful = True
                    later = next((n for n in range(at, len(words)) if _script_like(words[n])), None)
                    if later is None and words[at].split and at + 1 < len(words) and not _option_like(words[at + 1]):
                        later = at + 1
                    if later is not None and later != at:
                        at = later
                        continue
                break
            option, equals, value = text.lstrip("-").partition("=")
            option = option.replace("_", "-")
            at += 1
            if equals:
                given[option] = value if word is not None else None
                if table is TORCHRUN and word is not None:
                    self._counted(name, option, value, words[at - 1])
            elif option in table.flags:
                module = module or option in ("m", "module")
                bare = bare or option == "no-python"
            elif at < len(words) and not _option_like(words[at]) and not _script_like(words[at]):
                # an option that lost its value to an empty variable does not take the script for one
                given[option] = found = words[at].known()
                if table is TORCHRUN and found is not None:
                    self._counted(name, option, found, words[at])
                at += 1
        size: int | None = table.default if not doubtful else None
        for number, options in enumerate(table.counts):
            option = next((option for option in options if option in given), None)
            if option is None:
                if doubtful:
                    size = None
                continue
            value = given[option]
            count = whole_number(value)
            if number == 0 and not doubtful:
                size = count
            elif size is not None and count is not None:
                size *= count
            else:
                size = None
        if at >= len(words):
            return
        if bare:
            self.follow(words[at:], name, size, (*before, *words[:at]))
            return
        if not module and not _script_like(words[at]):
            # placeholders such as `--master_addr your master IP` leave words before the script
            at = next((later for later in range(at, len(words)) if _script_like(words[later])), at)
        script = shown(words[at].text())
        if name == "msrun" and _is_python(script):
            self._python(words[at + 1 :], name, size, (*before, *words[: at + 1]))
            return
        self._record(name, script, words[at + 1 :], size, (*before, *words[: at + 1]))

    def _counted(self, launcher: str, option: str, value: str, word: Field) -> None:
        """Says where torchrun takes no such number of processes.

        torch 2 distributed/run.py:determine_local_world_size, parse_min_max_nnodes.
        """
        if option in ("nproc-per-node", "nproc"):
            parts, words = [value], _DEVICES
            english, chinese = (
                "a number of processes, or auto, gpu, cpu, xpu, npu",
                "进程数，或 auto、gpu、cpu、xpu、npu",
            )
        elif option == "nnodes":
            parts, words = value.split(":"), frozenset[str]()
            english, chinese = "a number of nodes, or MIN:MAX", "节点数，或 MIN:MAX"
        else:
            return
        if value in words or (len(parts) <= 2 and all(_counts(part) for part in parts)):
            return
        place = written_at(word.text(), self.place)
        self.shell.note(
            "process-count", place, launcher=launcher, option=option, text=value, expected=english, expected_zh=chinese
        )

    def _record(
        self,
        launcher: str | None,
        script: str | None,
        arguments: list[Field],
        size: int | None,
        before: tuple[Field, ...],
    ) -> None:
        environment = {name: variable for name, variable in self.shell.state.variables.items() if variable.exported}
        environment.update(self.extra)
        rank = _rank(launcher, script, arguments)
        started = Started(launcher, script, before, tuple(arguments), size, rank, environment)
        self.shell.record(started, self.place)


def _rank(launcher: str | None, script: str | None, arguments: Sequence[Field]) -> int:
    """2 for a training program by its flags, 1 for another program that a launcher starts, 0 for any other."""
    base = (script or "").rpartition("/")[2]
    if base in MINDFORMERS_SCRIPTS:
        return 2
    for field in arguments:
        flag = shown(field.text()).partition("=")[0].replace("_", "-")
        if flag in TRAINING_FLAGS:
            return 2
    return 1 if launcher is not None else 0


def _lost(shell: Shell, words: Sequence[Field], place: Place) -> None:
    """A command that begins with a flag: the line before was meant to continue."""
    flags = [shown(word.text()) for word in words]
    flags = [flag for flag in flags if flag.startswith("-") and len(flag) > 1] or flags[:1]
    line = place.line()
    above = place.source.line(line - 1) if line > 1 else ""
    kind = "lost-flags"
    if above.rstrip(" \t") != above and above.rstrip(" \t").endswith("\\"):
        kind = "lost-flags-blank"
    elif above.lstrip(" \t").startswith("#"):
        kind = "lost-flags-comment"
    elif above.strip(" \t") in ("", "\\"):
        kind = "lost-flags-empty"
    shell.note(kind, place, command=flags[0], flags=" ".join(flags[:40]))


def _after_options(words: Sequence[Field], at: int, values: Mapping[str, int]) -> int:
    """Where the first word after a wrapper's options stands."""
    while at < len(words):
        text = shown(words[at].text())
        if words[at].known() is None and not text.startswith("-"):
            if words[at].split and at + 1 < len(words):
                at += 1
                continue
            break
        if not text.startswith("-") or text == "-":
            break
        at += 1
        if text == "--":
            break
        if text in values and not (at < len(words) and (_starts_programs(words[at]) or _base(words[at]) in _SHELLS)):
            at += values[text]
    return at


def _option_number(words: Sequence[Field], options: Sequence[str]) -> int | None:
    for at, word in enumerate(words):
        text = shown(word.text())
        name, equals, value = text.partition("=")
        if name in options:
            if not equals:
                value = (words[at + 1].known() or "") if at + 1 < len(words) else ""
            return whole_number(value)
        if text[:2] in options and text[2:]:
            return whole_number(text[2:])
    return None


def _shell_options(words: Sequence[Field]) -> tuple[int, bool, bool]:
    """Where the options of a shell end, whether a command follows (`-c`), whether the code comes from the input."""
    at = 0
    command = from_input = False
    while at < len(words):
        word = words[at].known()
        if word is None or word[:1] not in ("-", "+") or word == "-":
            break
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += word in ("--rcfile", "--init-file")
            continue
        command = command or "c" in word[1:]
        from_input = from_input or "s" in word[1:]
        at += word[-1] in "oO"
    return at, command, from_input


def _xargs_options(options: Sequence[str]) -> tuple[str | None, int, bool]:
    """The mark of `-I`, the most words of one command, and whether these are all the options that matter."""
    mark: str | None = None
    most = 0
    waiting = list(options)
    while waiting:
        option = waiting.pop(0)
        name, value = (option[:2], option[2:]) if option[:2] in ("-I", "-n", "-P") else (option, "")
        if name in ("-I", "-n", "-P", "--max-args", "--max-procs") and not value:
            value = waiting.pop(0) if waiting else ""
        if name == "-I":
            mark = value
        elif name in ("-n", "--max-args"):
            count = whole_number(value)
            if not count:
                return mark, 0, False
            most = count
        elif name not in ("-P", "--max-procs", "-r", "-t", "--no-run-if-empty", "--verbose"):
            return mark, most, False
    return mark, most, mark != ""


def _xargs_words(given: str, *, by_line: bool) -> list[str] | None:
    """What xargs takes from its input; None where quotes or backslashes mean something."""
    if any(sign in given for sign in "'\"\\"):
        return None
    if by_line:
        return [line.lstrip(" \t") for line in given.split("\n") if line.strip(" \t")]
    return [word for word in given.replace("\t", " ").replace("\n", " ").split(" ") if word]


def _with_mark(word: Field, mark: str, value: str | None, doubt: Doubt | None) -> Field:
    """A word with a text in place of every mark; something unknown where the text is None."""
    from .expansion import Field as Made

    pieces: list[Piece] = []
    for piece in word.pieces:
        if piece.doubt is not None or mark not in piece.text:
            pieces.append(piece)
            continue
        parts = piece.text.split(mark)
        for number, part in enumerate(parts):
            if number:
                pieces.append(Piece(mark if value is None else value, piece.place, False, (), doubt))
            if part:
                pieces.append(Piece(part, piece.place))
    made = Made(tuple(pieces))
    made.split = word.split
    return made


def whole_number(text: str | None) -> int | None:
    """A number of processes or words; None where the text is none, or none that anybody means."""
    return int(text) if text is not None and is_digits(text) and len(text) < 9 else None


def _is_python(base: str) -> bool:
    base = base.rpartition("/")[2]
    return (
        base.startswith(("python", "pypy")) and base[6:].replace(".", "").replace("pypy", "").isdigit()
    ) or base in (
        "python",
        "pypy",
    )


def _base(word: Field) -> str:
    """The last part of a known word's path."""
    return (word.known() or "").rpartition("/")[2]


def _starts_programs(word: Field) -> bool:
    """Whether a word names a launcher, Python or a wrapper."""
    base = _base(word)
    return base in LAUNCHERS or base in WRAPPERS or base in COMMAND_LINES or _is_python(base)


def _script_like(word: Field) -> bool:
    return shown(word.text()).endswith(".py")


def _option_like(word: Field) -> bool:
    return shown(word.text()).startswith("-")

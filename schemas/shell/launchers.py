"""Commands that start a training program, through launchers and wrappers to the program itself.

Sources: torch.distributed.run (PyTorch 2.x), deepspeed.launcher.runner, msrun (MindSpore 2.9), accelerate launch,
srun (Slurm 23), mpirun (Open MPI 4), OpenSSH 9 ssh(1), pdsh 2.34 pdsh(1), ClusterShell 1.9 clush(1), pssh 2.3 pssh(1),
GNU findutils 4.9 xargs(1), MindFormers scripts/msrun_launcher.sh.
"""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple
from .effects import Started, record_code, record_edits
from .expansion import Field, join_with_blanks
from .messages_compiled import say
from .parser import Parser, ShellSyntaxError
from .scanner import is_digits
from .session import INPUTS, Holding
from .state import Variable
from .syntax import Simple, Word
from .text import Code, Doubt, Piece, cut, display, hole, place_of, plain, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .interpreter import Input, Shell
    from .text import Place, Text


class Launcher(NamedTuple):
    """Options of a launcher. `counts` are option names whose product is the number of processes."""

    values: frozenset[str]
    flags: frozenset[str]
    counts: tuple[tuple[str, ...], ...] = ()
    default: int | None = None


class Wrapper(NamedTuple):
    """A program that runs another: options with values (how many), and words before the command.

    `processes` are the options that give the number of processes: such a wrapper is a launcher itself. `settings` are
    those that set or pass a variable.
    """

    values: Mapping[str, int]
    words: int = 0
    processes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


class Container(NamedTuple):
    """A program that runs a command in an image, or under a profiler: its own commands, and options with values.

    `images` are the words before the command. One that is `isolated` hands on the variables of `settings` alone.
    """

    commands: frozenset[str]
    values: Mapping[str, int]
    images: int = 1
    settings: tuple[str, ...] = ()
    isolated: bool = False


def _names(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def _options(one: str = "", two: str = "") -> dict[str, int]:
    """Options of a launcher with the number of words each takes: 1 for `one`, 2 for `two`."""
    return {**dict.fromkeys(one.split(), 1), **dict.fromkeys(two.split(), 2)}


def _letters(letters: str, more: str = "") -> dict[str, int]:
    """Options of one letter that take one word, with `more` options."""
    return {**dict.fromkeys(["-" + letter for letter in letters], 1), **_options(more)}


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
LAUNCHERS = {"torchrun": TORCHRUN, "torchrun.py": TORCHRUN, "deepspeed": DEEPSPEED, "ds": DEEPSPEED, "msrun": MSRUN}
MODULES = {
    "torch.distributed.launch": TORCHRUN,
    "torch.distributed.run": TORCHRUN,
    "torch.distributed.elastic.run": TORCHRUN,
    "deepspeed": DEEPSPEED,
    "deepspeed.launcher.runner": DEEPSPEED,
    "accelerate.commands.launch": ACCELERATE,
}
MPIRUN = Wrapper(
    _options(
        "-n -np --np -c -H -host --host -hostfile --hostfile -machinefile --machinefile -x -bind-to --bind-to -map-by"
        " --map-by -N -npernode --npernode -wdir --wdir -ppn --prefix -rf --output-filename -f --rank-by -rank-by"
        " --timeout",
        "-mca --mca -gmca --gmca -genv -env",
    ),
    0,
    ("-n", "-np", "--np", "-c"),
    ("-x",),
)
WRAPPERS: dict[str, Wrapper] = {
    "nohup": Wrapper({}),
    "time": Wrapper(_letters("fo")),
    "nice": Wrapper(_letters("n")),
    "ionice": Wrapper(_letters("cn")),
    "setsid": Wrapper({}),
    "stdbuf": Wrapper(_letters("ioe")),
    "sudo": Wrapper(_letters("ughpCD")),
    "timeout": Wrapper(_letters("ks", "--signal --kill-after"), 1),
    "taskset": Wrapper({}, 1),
    "numactl": Wrapper(_letters("NmCipP")),
    "strace": Wrapper(_letters("eops")),
    "unbuffer": Wrapper({}),
    "chrt": Wrapper({}, 1),
    "catchsegv": Wrapper({}),
    "srun": Wrapper(
        _letters(
            "nNpAtwcGJoeiqxDm",
            "--ntasks --nodes --partition --account --time --nodelist --cpus-per-task --gpus --jobid --job-name"
            " --output --error --container-image --container-mounts --container-workdir --container-name --environment"
            " --mpi --gres --export --wait --chdir --exclude --reservation --qos --ntasks-per-node --gpus-per-node"
            " --gpus-per-task --cpu-bind --mem --network --constraint --mem-bind --gpu-bind --distribution --hint"
            " --het-group",
        ),
        0,
        ("-n", "--ntasks"),
    ),
    "mpirun": MPIRUN,
    "mpiexec": MPIRUN,
    "orterun": MPIRUN,
}
SINGULARITY = Container(
    _names("exec run"),
    _letters(
        "BHoSW",
        "--bind --mount --home --overlay --pwd --cwd --workdir --scratch --env --env-file --app --hostname --network"
        " --network-args --dns --fusemount --security --add-caps --drop-caps --apply-cgroups --nvccli-options",
    ),
    settings=("--env",),
)
DOCKER = Container(
    _names("run exec"),
    _letters(
        "acehlmpuvw",
        "--env --env-file --volume --mount --workdir --name --gpus --device --shm-size --ulimit --memory --network"
        " --net --ipc --pid --user --group-add --cap-add --security-opt --hostname --entrypoint --runtime --publish"
        " --expose --label --log-driver --log-opt --restart --cpus --cpuset-cpus --add-host --tmpfs --platform"
        " --annotation --cidfile --pull --userns --uts --volumes-from --cgroupns --stop-signal --hooks-dir",
    ),
    settings=("-e", "--env"),
    isolated=True,
)
CONTAINERS: dict[str, Container] = {
    "singularity": SINGULARITY,
    "apptainer": SINGULARITY,
    "docker": DOCKER,
    "podman": DOCKER,
    "nsys": Container(
        _names("profile launch"),
        _letters(
            "otscewdyp",
            "--output --trace --sample --capture-range --capture-range-end --env-var --duration --delay --stats"
            " --force-overwrite --wait --kill --backtrace --session-new --cuda-memory-usage --cpuctxsw"
            " --gpu-metrics-device --nic-metrics --python-sampling --cudabacktrace --export",
        ),
        0,
    ),
    "ncu": Container(
        frozenset(),
        _letters(
            "ofkcs",
            "--export --set --section --metrics --kernel-name --launch-count --launch-skip --target-processes"
            " --replay-mode --import --log-file --kernel-id --nvtx-include --clock-control",
        ),
        0,
    ),
}
"""Apptainer 1.3 exec, Docker 27 run, Podman 5 run, Nsight Systems 2024 profile, Nsight Compute 2024."""
SSH = Wrapper(_letters("BbcDEeFIiJLlmOoPpQRSWw"), 1)
PSSH = Wrapper(
    _letters(
        "hHlpoetOxXg", "--hosts --host --user --par --outdir --errdir --timeout --options --extra-args --extra-arg"
    )
)
REMOTES: dict[str, Wrapper] = {
    "ssh": SSH,
    "slogin": SSH,
    "rsh": SSH,
    "pdsh": Wrapper(_letters("wxgXRMlftu")),
    "clush": Wrapper(
        _letters(
            "wxgXlftuos",
            "--hostfile --machinefile --options --fanout --user --nodes --exclude --group --groupsource --worker",
        )
    ),
    "pssh": PSSH,
    "parallel-ssh": PSSH,
}
"""What has the shells of other machines run a command."""
XARGS = _letters(
    "adEILnPs", "--arg-file --delimiter --max-args --max-procs --max-chars --max-lines --replace --process-slot-var"
)
RUNNERS: dict[str, dict[str, int]] = dict.fromkeys(
    ("conda", "uv", "poetry", "pipenv", "pixi", "rye"), _letters("np", "--name --prefix --with --python --extra")
)
"""What runs a program in an environment: `conda run ...`."""
SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
SCRIPT_ENDINGS = (".sh", ".bash", ".slurm", ".sbatch")
NEVER = _names(
    "rm mkdir cp mv tee grep egrep fgrep pkill killall kill which pip pip3 chmod chown git touch ln ls find sleep"
    " nvidia-smi npu-smi rocm-smi wget curl tar unzip apt apt-get yum module ps lsof cmake make gcc g++ ssh-keyscan"
    " hostname date whoami nproc getconf free df du scancel squeue sinfo scontrol tail less more vim huggingface-cli"
    " hf modelscope diff sort uniq file stat mktemp tput clear uname arch lscpu jq yq column nc ping rsync scp"
)
"""What starts no program, whatever stands behind it."""
REMOVERS = _names("rm rmdir mv unlink git rsync")
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
DEVICES = frozenset(("auto", "gpu", "cpu", "xpu", "npu", "cuda", "privateuseone", "mlu", "musa"))
"""What torchrun takes in place of a number of processes."""


_SWIFT = ("pt", "sft", "rlhf", "export")
SUBCOMMANDS: Mapping[str, Mapping[str, str]] = {
    "megatron": {name: f"swift.cli._megatron.{name}" for name in _SWIFT},
    "vllm": {"serve": "vllm.entrypoints.cli.serve"},
    "vllm-mindspore": {"serve": "vllm_mindspore.entrypoints"},
}
"""Tools that are named without a launcher: the module behind each command. ms-swift 3.5-4.6 cli/_megatron/main.py,
vllm 0.8.5 entrypoints/cli/main.py; mindspore/docs r0.3.0 docs/vllm_mindspore getting_started/quick_start."""


DEEPEST = 20


class Course(NamedTuple):
    """The way of a command line so far: the launcher met, the number of processes, and the words left behind."""

    launcher: str | None = None
    size: int | None = None
    before: tuple[Field, ...] = ()
    counted: tuple[Field, ...] = ()
    """The words whose product is the number of processes."""

    def past(self, words: Sequence[Field]) -> Course:
        """Copy of a launch course with more words before the program."""
        return self._replace(before=(*self.before, *words))


def start(shell: Shell, fields: Sequence[Field], extra: Mapping[str, Variable], given: Input, place: Place) -> None:
    """Follows a command that is neither a function nor a builtin."""
    if fields:
        record_edits(shell, _base(fields[0]), fields[1:], given.text, place)
    gone = bool(fields) and _base(fields[0]) in REMOVERS
    for field in fields[1:]:
        shell.touch(field.string() or "", gone=gone)
    _Start(shell, dict(extra), given, place).follow(list(fields), Course())
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
        self.isolated = False
        """True in an image that the variables of this shell do not reach."""
        shell.state.status = None

    def follow(self, words: list[Field], course: Course) -> None:
        """Follow a command line through wrappers to the program that it starts."""
        self.depth += 1
        if not words or self.depth > DEEPEST:
            return
        name = words[0].string()
        if name is None:
            # perhaps a wrapper, perhaps the launcher itself
            text = display(words[0].text())
            if text.endswith(SCRIPT_ENDINGS):
                self.shell.note(say.source_unknown(text=text), self.place)
            elif text.endswith(".py"):
                self._record(course.past(words[:1]), text, words[1:])
            else:
                self._search_launcher(words, course)
            return
        if name.startswith("-") and not course.before:
            _note_lost_flags(self.shell, words, self.place)
            return
        base = name.rpartition("/")[2]
        known_one = _FOLLOWED.get(base)
        if known_one is not None and known_one(self, base, words, course):
            return
        if _is_python(base):
            self._python(words[1:], course.past(words[:1]))
        elif base.endswith(".py"):
            self._record(course.past(words[:1]), name, words[1:])
        elif base.endswith(SCRIPT_ENDINGS):
            self._file(name, words[1:])
        elif base not in NEVER:
            self._search_launcher(words, course)

    def _search_launcher(self, words: list[Field], course: Course) -> None:
        """Looks for a launcher among the words of an unknown program."""
        scripts = [at for at, word in enumerate(words) if at and _script_like(word)]
        module = next((at for at, word in enumerate(words) if at and word.string() == "-m"), len(words))
        program = min([*scripts[:1], module])
        # the last one before the script or module: an option's value may be called `python`, too
        before = range(program - 1 if program < len(words) else 0, 0, -1)
        for at in (
            *[at for at in range(1, len(words)) if _is_shell_command(words[at : at + 4])],
            *[at for at in before if _starts_programs(words[at])],
        ):
            self.follow(words[at:], course.past(words[:at]))
            return
        if words[0].string() is None:
            self._record_unnamed(words, scripts[:1], course._replace(size=None))

    def _record_unnamed(self, words: list[Field], script: list[int], course: Course) -> None:
        """Record a launch whose program is in a variable, by its script or flags."""
        for at in script:
            self._record(course.past(words[: at + 1]), display(words[at].text()), words[at + 1 :])
        if not script and any(word.string() in TRAINING_FLAGS for word in words):
            self._record(course.past(words[:1]), None, words[1:])

    # What runs other programs; each says whether it is one with these words

    def _wrapper(self, base: str, words: list[Field], course: Course) -> bool:
        """Follow a wrapper such as `nohup` to the command behind its options."""
        wrapper = WRAPPERS[base]
        at = _after_options(words, 1, wrapper.values)
        if wrapper.processes:
            size, counted = _option_number(words[1:at], wrapper.processes)
            course = course._replace(launcher=base, size=size, counted=counted)
        self._pass_on(words[1:at], wrapper.settings, {**self.shell.state.variables, **self.extra})
        at += wrapper.words
        self.follow(words[at:], course.past(words[:at]))
        return True

    def _container(self, base: str, words: list[Field], course: Course) -> bool:
        """A container or profiler whose command is a script; any other command is searched for among its words."""
        table = CONTAINERS[base]
        first = 2 if table.commands else 1
        if table.commands and (len(words) < 2 or words[1].string() not in table.commands):
            return False
        at = _script_in_image(words, first, table)
        if at is None:
            return False
        self.isolated = self.isolated or table.isolated
        known = {**self.shell.state.variables, **self.extra}
        if table.isolated:
            self.extra = {}
        self._pass_on(words[first:at], table.settings, known)
        self.follow(words[at:], course.past(words[:at]))
        return True

    def _pass_on(self, words: Sequence[Field], options: Sequence[str], known: Mapping[str, Variable]) -> None:
        """Pass on the variables that options set (`-x NAME=value`) or only name (`-x NAME`)."""
        for text in _option_texts(words, options):
            name, equals, _ = display(text).partition("=")
            if equals:
                self._set(name, text)
            elif name in known:
                self.extra[name] = known[name]

    def _remote(self, base: str, words: list[Field], _course: Course) -> bool:
        """Follow a remote command, which knows none of this shell's variables."""
        table = REMOTES[base]
        at = _after_options(words, 1, table.values)
        # a word with a blank is the command: the host is the unknown word before it, which is no option
        if table.words and at < len(words) and " " not in display(words[at].text()):
            at = _after_options(words, at + table.words, table.values)
        text = join_with_blanks(words[at:], self.place) if at < len(words) else self.given.text
        if text is not None:
            with Holding(self.shell, input=self.given):
                self._code(text, elsewhere=True)
        return True

    def _xargs(self, _base: str, words: list[Field], course: Course) -> bool:
        """Follow `xargs` with the words of its input."""
        at = _after_options(words, 1, XARGS)
        command = words[at:]
        if not command:
            return True
        course = course.past(words[:1])
        given = self.given.string()
        mark, most, sure = _xargs_options([display(word.text()) for word in words[1:at]])
        found = None if given is None or not sure else _xargs_words(given, by_line=mark is not None)
        if found is None:
            self.follow(_with_unknown_words(command, mark, self.place), course)
            return True
        self.shell.spend(len(found))
        if mark is not None:
            lines = [[_with_mark(word, mark, one, None) for word in command] for one in found]
        else:
            size = most or max(len(found), 1)
            starts = range(0, len(found) or int(not most), size)
            more = [Field(plain(one, self.place)) for one in found]
            lines = [[*command, *more[first : first + size]] for first in starts]
        for number, made in enumerate(lines):
            self.depth = 0
            with Holding(self.shell, rounds=self.shell.rounds + (number > 0)):
                self.follow(made, course)
        return True

    def _environment(self, _base: str, words: list[Field], course: Course) -> bool:
        """Follow `env`, with its assignments, to its command."""
        at = _after_options(words, 1, {"-u": 1, "--unset": 1, "-C": 1})
        while at < len(words):
            text = words[at].text()
            name, equals, _ = display(text).partition("=")
            if not equals or not name.replace("_", "a").isalnum():
                break
            self._set(name, text)
            at += 1
        self.follow(words[at:], course.past(words[:at]))
        return True

    def _set(self, name: str, text: Text) -> None:
        """Pass a variable on, given as `NAME=value`."""
        value: Text = ()
        if text and text[0].doubt is None and "=" in text[0].text:
            value = (*cut(text[:1], len(name) + 1, len(text[0].text)), *text[1:])
        self.extra[name] = Variable(value, exported=True, place=self.place)

    def _shell(self, base: str, words: list[Field], _course: Course) -> bool:
        """Follow a shell to its script, code or input."""
        words = words[1:]
        at, command, from_input = _shell_options(words)
        if command:
            if at < len(words):
                arguments = [field.as_value() for field in words[at + 1 :]]
                self._code(words[at].text(), (string_of(arguments[0]) or base) if arguments else base, arguments[1:])
        elif at < len(words) and not from_input:
            self._script(words[at], words[at + 1 :], words[: at + 1])
        elif self.given.text is not None:
            self._code(self.given.text, base, [field.as_value() for field in words[at:]] if from_input else [])
        return True

    def _script(self, word: Field, rest: list[Field], before: list[Field]) -> None:
        """Run the script that a shell is given."""
        path = word.string()
        if path is None:
            self.shell.note(say.source_unknown(text=display(word.text())), self.place)
        elif path in INPUTS and self.given.text is not None:
            self._code(self.given.text, path, [field.as_value() for field in rest])
        elif _base(word) in COMMAND_LINES and rest:
            self._mindformers(_base(word), [word, *rest], Course(None, None, tuple(before[:-1])))
        else:
            self._file(path, rest)

    def _file(self, path: str, rest: list[Field]) -> None:
        arguments = [field.as_value() for field in rest]
        self.shell.run_child(path, path, arguments, self.extra, self.place, elsewhere=self.isolated)

    def _code(self, text: Text, name: str = "bash", arguments: Sequence[Text] = (), *, elsewhere: bool = False) -> None:
        code = Code(self.place.source, text, self.place)
        extra = {} if elsewhere else self.extra
        elsewhere = elsewhere or self.isolated
        self.shell.run_child(code, name, list(arguments), extra, self.place, elsewhere=elsewhere)

    def _batch(self, _base: str, words: list[Field], _course: Course) -> bool:
        """Follow `sbatch` to its script, input or wrapped command."""
        for number, field in enumerate(words):
            text = field.text()
            first = display(text)
            if first == "--wrap" and number + 1 < len(words):
                self._code(words[number + 1].text())
                return True
            if first.startswith("--wrap="):
                self._code(cut(text, len("--wrap="), len(first)))
                return True
        at = _after_options(words, 1, WRAPPERS["srun"].values)
        if at < len(words):
            path = words[at].string()
            if path is None:
                self.shell.note(say.source_unknown(text=display(words[at].text())), self.place)
            elif self.shell.is_own(path):
                self.shell.submit_itself([field.as_value() for field in words[at + 1 :]], self.extra, self.place)
            else:
                self._file(path, words[at + 1 :])
        elif self.given.text is not None:
            self._code(self.given.text)
        return True

    def _mindformers(self, base: str, words: list[Field], course: Course) -> bool:
        """`msrun_launcher.sh "run_mindformer.py ..." [processes]`: its first argument is a command line."""
        if len(words) < 2:
            return False
        inner = words_of(self.shell, words[1].text(), self.place)
        at = next((at for at, word in enumerate(inner) if _script_like(word)), None)
        if at is not None:
            position, size = COMMAND_LINES[base]
            counted = tuple(words[position + 1 : position + 2])
            if counted:
                size = whole_number(counted[0].string())
            course = Course(base, size, (*course.before, *words), counted)
            self._record(course, display(inner[at].text()), inner[at + 1 :])
        return True

    def _run_in(self, base: str, words: list[Field], course: Course) -> bool:
        """`conda run python ...` and its like."""
        if len(words) < 2 or words[1].string() != "run":
            return False
        at = _after_options(words, 2, RUNNERS[base])
        self.follow(words[at:], course.past(words[:at]))
        return True

    def _ray_job(self, _base: str, words: list[Field], course: Course) -> bool:
        """`ray job submit ... -- python ...`."""
        if len(words) < 3 or words[1].string() != "job":
            return False
        at = next((at for at, word in enumerate(words) if word.string() == "--"), None)
        if at is not None:
            self.follow(words[at + 1 :], course._replace(launcher="ray").past(words[: at + 1]))
        return True

    def _by_name(self, base: str, words: list[Field], course: Course) -> bool:
        """Follow a known launcher by its name."""
        skip = 1
        if base == "accelerate":
            if len(words) < 2 or words[1].string() != "launch":
                return False
            skip = 2
        self._launcher(LAUNCHERS.get(base, ACCELERATE), base, words[skip:], course.past(words[:skip]))
        return True

    def _subcommand(self, base: str, words: list[Field], course: Course) -> bool:
        """Follow a tool's subcommand to the module that it starts."""
        module = SUBCOMMANDS[base].get(words[1].string() or "") if len(words) > 1 else None
        if module is not None:
            self._record(course.past(words[:2])._replace(size=self._processes()), module, words[2:])
        return module is not None

    def _processes(self) -> int | None:
        """Number of processes of ms-swift: cli/main.py:get_torchrun_args reads it from the environment."""
        size = 1
        for name in ("NPROC_PER_NODE", "NNODES"):
            variable = self.extra.get(name) or self.shell.state.variables.get(name)
            if variable is None or variable.value is None or not (variable.exported or name in self.extra):
                continue  # a variable that the script keeps to itself reaches no process
            count = whole_number(string_of(variable.value))
            if count is None:
                return None
            size *= count
        return size

    # Python and its launchers

    def _python(self, words: list[Field], course: Course) -> None:
        """Follow `python` to its script, module or code."""
        at = 0
        while at < len(words):
            word = words[at].string()
            if word is None:
                # a word that is not known: options, or the script itself
                training = any(other.string() in TRAINING_FLAGS for other in words[at:])
                at = _script_from(words, at, at if training else len(words))
                break
            if word in ("-W", "-X"):
                at += 2
            elif word == "-":
                at = len(words)
            elif word.startswith("--"):
                at += 1
            elif word.startswith("-"):
                if "c" in word:
                    record_code(self.shell, "" if at + 1 == len(words) else display(words[at + 1].text()))
                    return
                if "m" in word:
                    self._module(word.partition("m")[2], words, at + 1, course)
                    return
                at += 1
            else:
                break
        if at < len(words):
            self._record(course.past(words[: at + 1]), display(words[at].text()), words[at + 1 :])
        elif self.given.text is not None:
            record_code(self.shell, display(self.given.text), [word.string() for word in words])

    def _module(self, glued: str, words: list[Field], at: int, course: Course) -> None:
        """Follow `python -m module`."""
        module = glued or (words[at].string() if at < len(words) else None)
        at += not glued
        course = course.past(words[:at])
        if module in MODULES:
            self._launcher(MODULES[module], module, words[at:], course)
        elif module is not None:
            self._record(course, module, words[at:])

    def _launcher(self, table: Launcher, name: str, words: list[Field], course: Course) -> None:
        """Follow a launcher such as `torchrun`, with its number of processes, to its script."""
        options = _options_of(table, words)
        if table is TORCHRUN:
            for option, value, word in options.given:
                self._check_count(name, option, value, word)
        size, counted = _size(table, options)
        course, at = course._replace(launcher=name, size=size, counted=counted), options.end
        if at >= len(words):
            return
        if options.bare:
            self.follow(words[at:], course.past(words[:at]))
            return
        if not options.module:
            at = _script_from(words, at, at)
        course, rest = course.past(words[: at + 1]), words[at + 1 :]
        script = display(words[at].text())
        if name == "msrun" and _is_python(script):
            self._python(rest, course)
        else:
            self._record(course, script, rest)

    def _check_count(self, launcher: str, option: str, value: str | None, word: Field) -> None:
        """Report a number of processes that torchrun refuses.

        torch 2 distributed/run.py:determine_local_world_size, parse_min_max_nnodes.
        """
        if value is None or option not in _COUNTED:
            return
        parts = value.split(":") if option == "nnodes" else [value]
        if option != "nnodes" and value in DEVICES:
            return
        if len(parts) <= 2 and all(_counts(part) for part in parts):
            return
        place = place_of(word.text(), self.place)
        said = say.nodes_expected() if option == "nnodes" else say.processes_expected()
        self.shell.note(say.process_count(launcher=launcher, option=option, text=value, expected=said), place)

    def _record(self, course: Course, script: str | None, arguments: list[Field]) -> None:
        environment = {name: variable for name, variable in self.shell.state.variables.items() if variable.exported}
        environment.update(self.extra)
        launcher, size, before, counted = course
        rank = _rank(launcher, script, arguments)
        started = Started(
            launcher, script, before, tuple(arguments), size, rank, environment, self.shell.not_given, counted
        )
        self.shell.record(started, self.place)


_COUNTED = ("nproc-per-node", "nproc", "nnodes")
_FOLLOWED: dict[str, Callable[[_Start, str, list[Field], Course], bool]] = {
    name: follow
    for names, follow in (
        (WRAPPERS, _Start._wrapper),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (CONTAINERS, _Start._container),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (REMOTES, _Start._remote),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (("xargs",), _Start._xargs),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (("env",), _Start._environment),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (SHELLS, _Start._shell),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (("sbatch",), _Start._batch),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (COMMAND_LINES, _Start._mindformers),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        ((*LAUNCHERS, "accelerate"), _Start._by_name),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (RUNNERS, _Start._run_in),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (SUBCOMMANDS, _Start._subcommand),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        (("ray",), _Start._ray_job),  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    )
    for name in names
}


class _Options(NamedTuple):
    """A launcher's own options: the values given, where they end, and what they say of the words behind them."""

    given: list[tuple[str, str | None, Field]]
    end: int
    doubtful: bool
    module: bool
    bare: bool


def _options_of(table: Launcher, words: Sequence[Field]) -> _Options:
    """Options of a launcher with values, and the position of the script."""
    given: list[tuple[str, str | None, Field]] = []
    flags: set[str] = set()
    doubtful = False
    script = next((at for at, word in enumerate(words) if _script_like(word) and not _option_like(word)), 0)
    at = 0
    while at < len(words):
        word, text = words[at], display(words[at].text())
        if not text.startswith("-"):
            if _script_like(word):
                break
            doubtful |= word.string() is None
            later = _after_word(words, at, flags, script)
            if later == at:
                break
            at = later
            continue
        option, equals, value = text.lstrip("-").partition("=")
        option = option.replace("_", "-")
        at += 1
        if equals:
            given.append((option, value if word.string() is not None else None, word))
        elif option in table.flags:
            flags.add(option)
        elif at < len(words) and not _option_like(words[at]) and not _script_like(words[at]):
            # an option that lost its value to an empty variable does not take the script for one
            given.append((option, words[at].string(), words[at]))
            at += 1
    return _Options(given, at, doubtful, not flags.isdisjoint(_MODULE), "no-python" in flags)


_MODULE = ("m", "module")
_NO_SCRIPT = (*_MODULE, "no-python")
"""Options behind which the program is no file of Python's."""


def _after_word(words: Sequence[Field], at: int, flags: set[str], script: int) -> int:
    """Index of the launcher's next option or script after an unexpected word.

    Placeholders such as `--master_addr your master IP` leave words between the options.
    """
    if words[at].string() is None:
        return _after_unknown_words(words, at)
    if not flags.isdisjoint(_NO_SCRIPT):
        return at
    return next((later for later in range(at, script) if _option_like(words[later])), max(script, at))


def _after_unknown_words(words: Sequence[Field], at: int) -> int:
    """Index of the launcher's next option after unknown words."""
    later = _script_from(words, at, at)
    if later == at and words[at].split and at + 1 < len(words) and not _option_like(words[at + 1]):
        return at + 1
    return later


def _size(table: Launcher, options: _Options) -> tuple[int | None, tuple[Field, ...]]:
    """Number of processes that a launcher starts, and the words that set it."""
    if options.doubtful:
        return None, ()
    given = {option: (value, word) for option, value, word in options.given}
    size, counted = table.default, ()
    for number, names in enumerate(table.counts):
        name = next((name for name in names if name in given), None)
        if name is not None:
            value, word = given[name]
            count = whole_number(value)
            counted = (*counted, word)
            if number == 0:
                size = count
            else:
                size = None if size is None or count is None else size * count
    return size, counted


def _script_from(words: Sequence[Field], at: int, otherwise: int) -> int:
    """Index of the first word from `at` on that names a script."""
    return next((later for later in range(at, len(words)) if _script_like(words[later])), otherwise)


def _counts(text: str) -> bool:
    """True if Python's `int` makes a number above 0 of a text."""
    digits = text.strip().removeprefix("+").replace("_", "")
    return digits.isdecimal() and int(digits[:20] or "0") > 0


def _rank(launcher: str | None, script: str | None, arguments: Sequence[Field]) -> int:
    """Likelihood of training: 2 by training flags, 1 by a launcher, 0 otherwise."""
    if (script or "").rpartition("/")[2] in MINDFORMERS_SCRIPTS:
        return 2
    for field in arguments:
        if display(field.text()).partition("=")[0].replace("_", "-") in TRAINING_FLAGS:
            return 2
    return 1 if launcher is not None else 0


def _note_lost_flags(shell: Shell, words: Sequence[Field], place: Place) -> None:
    """Report a command that starts with a flag: a line continuation is missing."""
    flags = [display(word.text()) for word in words]
    flags = [flag for flag in flags if flag.startswith("-") and len(flag) > 1] or flags[:1]
    line = place.line()
    above = place.source.line(line - 1) if line > 1 else ""
    said = say.lost_flags
    if above.endswith((" ", "\t")) and above.rstrip(" \t").endswith("\\"):
        said = say.lost_flags_blank
    elif above.lstrip(" \t").startswith("#"):
        said = say.lost_flags_comment
    elif above.strip(" \t") in ("", "\\"):
        said = say.lost_flags_empty
    shell.note(said(command=flags[0], flags=" ".join(flags[:40])), place)


def _after_options(words: Sequence[Field], at: int, values: Mapping[str, int]) -> int:
    """Index of the first word after a wrapper's options."""
    while at < len(words):
        text = display(words[at].text())
        if words[at].string() is None and not text.startswith("-"):
            if words[at].split and at + 1 < len(words):
                at += 1
                continue
            break
        if not text.startswith("-") or text == "-":
            break
        at += 1
        if text == "--":
            break
        if text in values and not (at < len(words) and (_starts_programs(words[at]) or _base(words[at]) in SHELLS)):
            at += values[text]
    return at


def _script_in_image(words: Sequence[Field], at: int, table: Container) -> int | None:
    """Index of the script that a container or profiler runs; None for other programs."""
    seen = 0
    while at < len(words):
        text = display(words[at].text())
        if text.startswith("-"):
            at += 1 + table.values.get(text, 0)
            continue
        base = _base(words[at])
        if seen >= table.images and (base in SHELLS or base == "env" or text.endswith(SCRIPT_ENDINGS)):
            return at
        if seen >= table.images and _starts_programs(words[at]):
            return None
        seen += 1
        at += 1
    return None


def _option_texts(words: Sequence[Field], options: Sequence[str]) -> list[Text]:
    """The values of options, behind their names or glued to them with an equals sign."""
    found: list[Text] = []
    for at, word in enumerate(words):
        text = display(word.text())
        name, equals, _ = text.partition("=")
        if text in options and at + 1 < len(words):
            found.append(words[at + 1].text())
        elif equals and name in options:
            found.append(cut(word.text(), len(name) + 1, len(text)))
    return found


def _option_number(words: Sequence[Field], options: Sequence[str]) -> tuple[int | None, tuple[Field, ...]]:
    """Number that one of these options has, and its word; None without one."""
    for at, word in enumerate(words):
        text = display(word.text())
        name, equals, value = text.partition("=")
        if name in options:
            if not equals and at + 1 < len(words):
                word = words[at + 1]
                value = word.string() or ""
            return whole_number(value), (word,)
        if text[:2] in options and text[2:]:
            return whole_number(text[2:]), (word,)
    return None, ()


def _shell_options(words: Sequence[Field]) -> tuple[int, bool, bool]:
    """End of a shell's options, True if a command follows (`-c`), True if the code comes from the input."""
    at = 0
    command = from_input = False
    while at < len(words):
        word = words[at].string()
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
    """Mark, number of words and completeness of xargs options."""
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
    """Words that xargs takes from its input; None if quotes matter."""
    if any(sign in given for sign in "'\"\\"):
        return None
    if by_line:
        return [line.lstrip(" \t") for line in given.split("\n") if line.strip(" \t")]
    return [word for word in given.replace("\t", " ").replace("\n", " ").split(" ") if word]


def _with_unknown_words(command: Sequence[Field], mark: str | None, place: Place) -> list[Field]:
    """Command with unknown words at its end or its mark."""
    unknown = Field(hole(say.unread_input(), place, loose=True))
    unknown.split = True
    if mark is None:
        return [*command, unknown]
    return [_with_mark(word, mark, None, unknown.pieces[0].doubt) for word in command]


def _with_mark(word: Field, mark: str, value: str | None, doubt: Doubt | None) -> Field:
    """Word with its mark replaced; unknown if the text is."""
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
    made = Field(tuple(pieces))
    made.split = word.split
    return made


def whole_number(text: str | None) -> int | None:
    """Number of processes or words in a text, of 18 digits at most; None otherwise."""
    return int(text) if text is not None and is_digits(text) and len(text) < 19 else None


def _is_python(base: str) -> bool:
    return base.rpartition("/")[2].rstrip("0123456789.") in ("python", "pypy")


def _base(word: Field) -> str:
    """The last part of a known word's path."""
    return (word.string() or "").rpartition("/")[2]


def _starts_programs(word: Field) -> bool:
    """True if a word names a launcher, Python or a wrapper."""
    base = _base(word)
    return base in LAUNCHERS or base in WRAPPERS or base in COMMAND_LINES or _is_python(base)


def _is_shell_command(words: Sequence[Field]) -> bool:
    """True if words start a shell with a command."""
    return _base(words[0]) in SHELLS and any(word.string() in ("-c", "-lc", "-ic") for word in words)


def _script_like(word: Field) -> bool:
    return display(word.text()).endswith(".py")


def _option_like(word: Field) -> bool:
    return display(word.text()).startswith("-")


def words_of(shell: Shell, text: Text, place: Place) -> list[Field]:
    """Words of a text as a program would split it."""
    try:
        items = Parser(Code(place.source, text, place), extended=shell.has_extglob).everything()
    except ShellSyntaxError:
        return []
    commands = [item.command for item in items if isinstance(item.command, Simple)]
    return shell.fields([word for command in commands for word in command.words if isinstance(word, Word)])

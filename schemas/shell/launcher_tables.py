"""Launchers and what runs other programs: which of their options take values, which say how many processes there are.

Sources: torch.distributed.run (PyTorch 2.x), deepspeed.launcher.runner, msrun (MindSpore 2.9), accelerate launch,
srun (Slurm 23), mpirun (Open MPI 4), OpenSSH 9 ssh(1), pdsh 2.34 pdsh(1), ClusterShell 1.9 clush(1), pssh 2.3 pssh(1),
GNU findutils 4.9 xargs(1), MindFormers scripts/msrun_launcher.sh.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Launcher(NamedTuple):
    """How a launcher's options are read. `counts` are option names whose product is the number of processes."""

    values: frozenset[str]
    flags: frozenset[str]
    counts: tuple[tuple[str, ...], ...] = ()
    default: int | None = None


class Wrapper(NamedTuple):
    """A program that runs another: options with values (how many), and words before the command.

    `processes` are the options that give the number of processes: such a wrapper is a launcher itself.
    """

    values: Mapping[str, int]
    words: int = 0
    processes: tuple[str, ...] = ()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _options(one: str = "", two: str = "") -> dict[str, int]:
    return {**dict.fromkeys(one.split(), 1), **dict.fromkeys(two.split(), 2)}


def _letters(letters: str, more: str = "") -> dict[str, int]:
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
SUBCOMMANDS: Mapping[str, Mapping[str, str]] = {"megatron": {name: f"swift.cli._megatron.{name}" for name in _SWIFT}}
"""Tools that are named without a launcher: the module behind each command. ms-swift 3.5-4.6 cli/_megatron/main.py."""

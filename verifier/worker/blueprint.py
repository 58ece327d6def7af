"""A worker's jobs, as plain values that travel between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.config import Framework


class OptimizerPlan(NamedTuple):
    """The optimizer's settings as a file gives them."""

    type: str
    learning_rate: float
    weight_decay: float
    beta1: float
    beta2: float
    epsilon: float
    clip_norm: float
    """0 for a run that does not clip."""
    ends_learning_rate: float | None = None
    """A learning rate of its own for embedding and output layer (Megatron-LM's decoupled rate)."""
    momentum: float = 0.9
    """Of stochastic gradient descent."""
    ends_least_rate: float | None = None
    """What that rate of its own falls to; None where it falls as far as the others."""
    decays_head_norms: bool = False
    """The norms of queries and keys are decayed as matrices are."""
    kept: str = "float32"
    """The type that weights are kept in from one update to the next."""


class InputPlan(NamedTuple):
    """One batch of tokens, as its seed and shape."""

    seed: int
    batch: int
    sequence: int
    vocabulary: int
    avoid: tuple[int, ...] = ()
    """Tokens that a model masks: none of them stands in the batch."""
    include: tuple[int, ...] = ()
    """Those that stand at a few places of it; the padding token first, where there is one."""
    uncounted: int = 0
    """How many of the last tokens of each sample do not count in the loss."""
    ends: tuple[int, ...] = ()
    """Tokens that end a document, each of which stands twice in every sample."""

    @property
    def padding_token(self) -> int | None:
        """First token that the plan includes to be masked as padding; None without one."""
        return self.include[0] if self.include else None


class RatePlan(NamedTuple):
    """The framework's own scheduler, and where its rate is asked for."""

    arguments: Mapping[str, Any]
    at: tuple[int, ...]
    """As the scheduler counts: samples in Megatron-LM, steps in MindSpore Transformers."""
    trained: tuple[int, ...] = (0, 1, 2)
    """Where it stands at each step that is trained."""


class TrainingPlan(NamedTuple):
    """Settings of the trainer around the model and the optimizer."""

    per_token: bool = False
    """Losses are averaged over the tokens of the step and not of each micro batch."""
    loss_scale: Any = 1.0
    """A number, or a class of the framework and its arguments."""


class ScalePlan(NamedTuple):
    """A run's loss scaler, and the steps that it is asked about."""

    settings: Mapping[str, Any]
    """The arguments of the framework's own optimizer or class."""
    overflows: tuple[bool, ...]
    """True if the gradients of each step are too large."""


class DocumentPlan(NamedTuple):
    """A run's treatment of the token that ends a document."""

    end: int
    positions: bool
    """Positions begin anew behind it."""
    attention: bool
    """What follows does not see what was before it."""
    loss: bool
    """It does not count in the loss."""


class SamplePlan(NamedTuple):
    """The samples of a run, made small."""

    settings: Mapping[str, Any]
    """What the framework's own data set is told; its `words` name corpora."""
    corpora: Mapping[str, int]
    """Name → the number that a corpus is drawn by."""
    documents: int
    """How many a corpus has at least."""
    vocabulary: int
    special: tuple[int, ...]
    """Tokens that stand for something on one of the sides; the first ends every document."""
    samples: int
    """What the run asks for."""
    batch: int
    drawn: int
    """How many are looked at, from the first on."""
    steps: int | None = None
    """Steps of a run that begins its data anew if they end; None if the data say how long it is."""


class CutPlan(NamedTuple):
    """A step's samples, and how many of them are a micro batch."""

    samples: int
    size: int


class LaunchPlan(NamedTuple):
    """The words and environment of a training program."""

    words: tuple[str, ...]
    world_size: int
    environment: Mapping[str, str]
    defaults: Mapping[str, Any]
    """Those that the program itself hands to `pretrain`, in place of the parser's."""


class Blueprint(NamedTuple):
    """One side of a pair, shrunk and ready to be built by its framework."""

    framework: Framework
    model: Mapping[str, Any]
    """The configuration class's and the model's own arguments."""
    optimizer: OptimizerPlan
    rounded: bool = False
    """Weights are put on the bfloat16 grid before use, as a bfloat16 run loads them."""
    rates: RatePlan | None = None
    training: TrainingPlan = TrainingPlan()
    drops: bool = False
    """One of the runs drops something; a pass of its own shows what and where."""
    scales: ScalePlan | None = None
    """None where no scaler is asked."""
    documents: DocumentPlan | None = None
    """None where both runs take the end of a document as any other token."""
    samples: SamplePlan | None = None
    """None where no data set is asked."""
    cut: CutPlan | None = None
    """None where both sides cut a step alike: it is two micro batches, of the samples of one pass each."""
    as_written: bool = False
    """Weights, activations and gradients have the types that the file says, and not float32."""
    unlike: Mapping[str, Any] = {}
    """Settings of the configuration that are run as the file says because the other file says something else."""
    launch: LaunchPlan | None = None
    """The small model's, for the framework's own parser; None for a framework that has none."""
    written: LaunchPlan | None = None
    """The file's own; None where reading it leaves a word open."""


_PLANS: dict[str, Any] = {
    "optimizer": OptimizerPlan,
    "training": TrainingPlan,
    "rates": RatePlan,
    "scales": ScalePlan,
    "documents": DocumentPlan,
    "samples": SamplePlan,
    "cut": CutPlan,
    "launch": LaunchPlan,
    "written": LaunchPlan,
}
"""The parts of a blueprint that are records themselves."""


class Job(NamedTuple):
    """One task for a worker."""

    name: str
    blueprint: Blueprint
    inputs: tuple[InputPlan, ...]
    """The batch of each training step; the first is the one that gradients are compared on."""
    padded_input: InputPlan | None = None
    seed: int = 0
    steps: int = 4
    """How many losses: the first before any update."""
    probe_scale: float = 1.0
    """Factor on the learning rate in the optimizer probe, the same on both sides."""
    forced_norm: float = 4.0
    """Global gradient norm that the clipping probe starts from."""
    initialisation: bool = True
    trace: bool = False
    drops: bool = False
    """Trace the pass in which something is dropped."""
    keeps: bool = False
    """Weights and tokens are part of the answer."""
    weights: str = ""
    """The path of a file whose weights are used; empty for those that the seed draws."""
    uneven: bool = True
    """Half of what the second micro batch of a step says does not count, so that the two are not alike."""
    accumulates: bool = False
    """Gradients of two micro batches are added up in the framework's own buffers, too."""

    def to_json(self) -> dict[str, Any]:
        """A form that JSON can carry."""
        plans = ((name, getattr(self.blueprint, name)) for name in _PLANS)
        return {
            **self._asdict(),
            "blueprint": {
                **self.blueprint._asdict(),
                **{name: None if plan is None else plan._asdict() for name, plan in plans},
            },
            "inputs": [batch._asdict() for batch in self.inputs],
            "padded_input": None if self.padded_input is None else self.padded_input._asdict(),
        }


def job_from_json(written: dict[str, Any]) -> Job:
    """The job that `to_json` wrote."""
    blueprint: dict[str, Any] = {**written["blueprint"]}
    for name, kind in _PLANS.items():
        if blueprint[name] is not None:
            blueprint[name] = kind(**blueprint[name])
    values: dict[str, Any] = {**written, "blueprint": Blueprint(**blueprint)}
    values["inputs"] = tuple(map(_input_plan, written["inputs"]))
    if written["padded_input"] is not None:
        values["padded_input"] = _input_plan(written["padded_input"])
    return Job(**values)


def _input_plan(written: dict[str, Any]) -> InputPlan:
    values: dict[str, Any] = {**written, **{name: tuple(written[name]) for name in ("avoid", "include", "ends")}}
    return InputPlan(**values)


def describe_error(error: BaseException) -> str:
    """An error in one line of at most 500 characters; one without a text is described by its place."""
    text = " ".join(str(error).split()) or _place_of(error)
    return f"{type(error).__name__}: {text}"[:500]


def _place_of(error: BaseException) -> str:
    """File and line that raised an error, after the condition if it is an assertion; empty without a traceback."""
    import ast
    import linecache
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    if not frames or frames[-1].lineno is None:
        return ""
    path, line = frames[-1].filename, frames[-1].lineno
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return ""
    asserted = (node for node in ast.walk(tree) if isinstance(node, ast.Assert))
    failed = [node for node in asserted if node.lineno <= line <= (node.end_lineno or node.lineno)]
    place = f"{path.rpartition('/')[2]}:{line}"
    return f"{ast.unparse(failed[0].test)} ({place})" if failed else f"({place})"

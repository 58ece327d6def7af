"""The JSON of what real runs leave behind, as typed models; `cli/outputs.py` publishes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ..mapper.answers import DiffRowJson
from ..schemas.answers import (
    AsJson,
    DiagnosticJson,
    Figure,
    From,
    Given,
    Late,
    Number,
    OnlyWith,
    Open,
    Said,
    Spoken,
    Text,
)

if TYPE_CHECKING:
    from pydantic import BaseModel


class PlaybookCheckJson(Open):
    """One check of a playbook."""

    stage: str
    check: str
    procedure: list[str]


class PlaybookJson(Open):
    """`accmap playbook`."""

    directory: str
    files: list[str]
    checks: list[PlaybookCheckJson]
    stand_ins: list[str]


class StandingJson(PlaybookCheckJson):
    """One check as the directory has it now."""

    title: str
    state: Literal["passed", "failed", "undecided", "unusable", "waiting", "ready"]
    optional: bool
    missing: list[str]
    command: list[str] | None
    exit_code: int | None
    message: str


class NextJson(Open):
    """What to do next."""

    stage: str
    check: str
    do: list[str]


class PlaybookStepJson(Open):
    """Something that `playbook run` did."""

    check: str
    command: list[str]
    exit_code: int


class PlaybookRunJson(Open):
    """`accmap playbook run`."""

    verdict: Literal["passed", "failed", "partial", "undecided"]
    directory: str
    done: list[PlaybookStepJson]
    checks: list[StandingJson]
    next: NextJson | None
    stand_ins: list[str]


class PlaybookStatusJson(Open):
    """`accmap playbook status`."""

    verdict: Literal["passed", "failed", "partial", "undecided"]
    not_compared: list[NotComparedJson] | None = None
    directory: str
    checks: list[StandingJson]
    next: NextJson | None


class NotComparedJson(Open):
    """Something relevant that was not compared, and why."""

    what: str
    reason: Annotated[str, Spoken()]


class InsertionJson(Open):
    """Lines of code, and where they belong."""

    side: Literal["megatron", "mindformers"]
    file: str
    within: str
    where: Literal["before", "after"]
    anchor: str
    code: str
    note: Annotated[str, Spoken()]


class DumpConfigJson(Open):
    """`accmap dump config`."""

    kind: Literal["msprobe", "mindspore-o0", "mindspore-o1", "mindspore-o2"]
    level: str
    task: str
    steps: list[str]
    ranks: list[str]
    scope: list[str]
    derived: Literal["megatron", "mindformers"] | None
    environment: dict[str, str]
    insertions: list[InsertionJson]
    commands: dict[str, list[str]]
    findings: list[DiagnosticJson]
    files: list[str]


class InstalledJson(Open):
    """One thing that is installed."""

    name: str
    version: str
    side: Literal["megatron", "mindformers", "both"]
    where: str


class VersionSetJson(Open):
    """What belongs to one version of a framework."""

    name: Annotated[str, From("owner")]
    version: str
    with_: Annotated[dict[str, str], From("exact")] = Field(alias="with")
    needs: dict[str, str]
    reference: dict[str, str]
    source: Annotated[str, From("source.en")]


class AffectedJson(Open):
    """Which versions have a defect, as databases of vulnerabilities say it."""

    package: dict[str, str]
    versions: list[str]
    ranges: list[dict[str, Any]]


class DefectJson(Open):
    """One line of `accmap defects`."""

    id: str
    summary: str
    details: str
    affected: list[AffectedJson]
    severity: Literal["error", "warning", "info"]
    references: list[dict[str, str]]
    database_specific: dict[str, Any]


class DoctorJson(Open):
    """`accmap doctor`."""

    installed: list[InstalledJson]
    sets: list[VersionSetJson]
    table: list[VersionSetJson]
    findings: list[DiagnosticJson]
    environment: dict[str, dict[str, str]]
    verdict: Literal["fine", "apart", "undecided"]
    defects: list[DefectJson] = Field(
        default_factory=list[DefectJson], description="Known defects of the frameworks that are installed."
    )


class DumpTensorJson(Open):
    """One tensor of a dump and its partner. Metrics of elements stand only where elements were compared."""

    tensor: Annotated[str, From("place")]
    partner: str
    role: Literal["input", "parameter", "output"]
    agrees: bool | None
    why: str
    how: Literal["elements", "statistics", "checksum", "value", ""]
    error: Annotated[Number | None, AsJson()]
    dtype_a: str
    dtype_b: str
    shape_a: list[int] | None
    shape_b: list[int] | None
    layout: str
    note: str
    cosine: Annotated[Number | None, From("measured.cosine"), AsJson(), OnlyWith("measured")] = None
    max_abs: Annotated[Figure | None, From("measured.max_abs"), AsJson(), OnlyWith("measured")] = None
    max_abs_at: Annotated[list[int] | None, From("measured.max_abs_at"), OnlyWith("measured")] = None
    max_rel: Annotated[Figure | None, From("measured.max_rel"), AsJson(), OnlyWith("measured")] = None
    within_thousandth: Annotated[float | None, From("measured.within_thousandth"), OnlyWith("measured")] = None
    within_five_thousandths: Annotated[float | None, From("measured.within_five_thousandths"), OnlyWith("measured")] = (
        None
    )
    norm_a: Annotated[Number | None, From("measured.norm_a"), AsJson(), OnlyWith("measured")] = None
    norm_b: Annotated[Number | None, From("measured.norm_b"), AsJson(), OnlyWith("measured")] = None
    nan: Annotated[list[int] | None, From("measured.nans"), OnlyWith("measured")] = None
    infinite: Annotated[list[int] | None, From("measured.infinities"), OnlyWith("measured")] = None


class DumpUnitJson(Open):
    """One call of a module, an API or an operator on both sides."""

    a: Annotated[str, From("a.name")]
    b: Annotated[str, From("b.name")]
    module: str
    level: Annotated[Literal["module", "api", "operator"] | None, From("a.level")] = None
    direction: Annotated[Literal["forward", "backward", ""], From("a.direction")]
    agrees: bool | None
    skipped: Literal["fused", "arranged", "other-result", "operation", ""]
    tensors: Annotated[list[DumpTensorJson], Late()]
    only_a: list[str]
    only_b: list[str]


class DumpNeighbourJson(Open):
    """The unit before or after a divergence."""

    a: Annotated[str, From("a.name")]
    b: Annotated[str, From("b.name")]
    module: str
    agrees: bool | None


class NextDumpJson(Open):
    """The dump that narrows a divergence down; `command` is null where the dump is as fine as it gets."""

    kind: Literal["msprobe", "mindspore", ""]
    level: str
    task: str
    scope: list[str]
    scope_a: list[str]
    scope_b: list[str]
    command: str | None
    first: str | None
    """What has to be changed before it can be taken."""


class DumpDivergenceJson(Open):
    """The first unit whose output differs while what went in agrees."""

    module: Annotated[str, From("found.unit.module")]
    a: Annotated[str, From("found.unit.a.name")]
    b: Annotated[str, From("found.unit.b.name")]
    direction: Annotated[Literal["forward", "backward", ""], From("found.unit.a.direction")]
    inference_pass: Annotated[str, From("found.unit.inference_pass")] = Field(
        "", description="In a dump of inference: `prefill 1`, `decode 3`."
    )
    cause: Annotated[Literal["computation", "weights", "argument", "between", "data", "overflow"], From("found.cause")]
    constant: list[Literal["a", "b"]] = Field(
        default_factory=list[Literal["a", "b"]],
        description="Sides on which its output is the same for every token.",
    )
    gradual: Annotated[bool, From("found.gradual")]
    largest_jump: Annotated[str | None, From("found.jump?.a.name")]
    before: Annotated[DumpNeighbourJson | None, From("found.before")]
    after: Annotated[DumpNeighbourJson | None, From("found.after")]
    tensors: Annotated[list[DumpTensorJson], From("found.tensors")]
    fields: list[str]
    different_fields: Annotated[list[DiffRowJson], From("settings.different")]
    rules: Annotated[list[str], From("settings.rules")]
    defects: Annotated[list[DiagnosticJson], From("settings.defects")] = Field(
        default_factory=list[DiagnosticJson], description="Known defects that concern the files and fit the divergence."
    )
    next_dump: NextDumpJson


class DumpGapJson(Open):
    """A part of the model that only one side has; without a part it is many single units of that side."""

    side: Literal["a", "b"]
    part: str
    direction: Literal["forward", "backward", ""]
    units: int
    of: int


class DumpAloneJson(Open):
    """A tensor of a compared unit that one side alone has."""

    side: Literal["a", "b"]
    unit: str
    place: str


class DumpMergedJson(Open):
    """A place where some ranks part first."""

    module: str
    direction: str
    cause: str
    places: list[str]


class DumpJson(Open):
    """One step of one rank of a dump."""

    path: str
    form: Literal["msprobe", "mindspore"]
    framework: str
    level: str
    content: Literal["tensor", "statistics", "checksum"]
    step: int | None
    rank: int | None
    units: int


class DumpCountedJson(Open):
    """How much was compared, and how much of what could not be."""

    units: int
    tensors: int
    different: int
    missing: int
    checksums: int
    without_numbers: int
    inputs_alone: int
    unmatched: int
    units_alone: int
    arranged: int
    elements_alone: int
    statistics_alone: int
    nan: int
    operations: int


class DumpPartJson(Open):
    """One step of one rank, or one result table."""

    step: int | None
    rank: int | None
    a: Annotated[DumpJson | None, OnlyWith("a")] = None
    b: Annotated[DumpJson | None, OnlyWith("b")] = None
    compared: DumpCountedJson
    first_divergence: Annotated[DumpDivergenceJson | None, From("parting")]
    units: Annotated[list[DumpUnitJson], Late()]
    only_a: list[str]
    only_b: list[str]
    gaps: list[DumpGapJson]
    unmatched: Annotated[list[DumpAloneJson], From("alone")]
    marked_by_msprobe: Annotated[list[str] | None, From("marked"), OnlyWith("marked")] = None
    """Units that msprobe itself marked as an error, in a result table."""
    unreadable: list[Annotated[str, Said("message")]]
    notes: list[Text]
    tree: Annotated[list[str] | None, OnlyWith("tree")] = None
    """A line for each unit, with `--tree`."""


class PrecheckFailureJson(Open):
    """One API that the precheck found wanting."""

    api: Annotated[str, From("name")]
    direction: Literal["forward", "backward"]
    status: str
    message: str
    details: list[dict[str, str]]


class DumpCompareJson(Open):
    """`accmap dump compare`. `parts` for dumps and tables; counts and `failures` for a precheck."""

    verdict: Literal["match", "diverged", "partial", "undecided"]
    kind: Literal["dumps", "table", "precheck"]
    files: list[str]
    parts: Annotated[list[DumpPartJson] | None, OnlyWith("parts")] = None
    not_compared: Annotated[list[NotComparedJson] | None, From("unseen"), OnlyWith("unseen")] = None
    merged: Annotated[list[DumpMergedJson] | None, From("merged_divergences"), OnlyWith("merged_divergences")] = None
    """Of several steps and ranks: where they part first, the earliest place before the others."""
    other_places: Annotated[dict[Literal["a", "b"], list[str]] | None, OnlyWith("other_places")] = None
    """Steps and ranks that one dump has and the other lacks, and that are not compared."""
    apis: Annotated[int | None, From("precheck.apis"), OnlyWith("precheck")] = None
    passed: Annotated[int | None, From("precheck.passed"), OnlyWith("precheck")] = None
    skipped: Annotated[int | None, From("precheck.skipped"), OnlyWith("precheck")] = None
    failures: Annotated[list[PrecheckFailureJson] | None, From("precheck.failures"), OnlyWith("precheck")] = None
    notes: Annotated[list[Text] | None, From("precheck.notes"), OnlyWith("precheck")] = None


class ArraySideJson(Open):
    """What the finite numbers of one array are like, and how many are not finite."""

    max: Annotated[Number, From("largest"), AsJson()]
    min: Annotated[Number, From("smallest"), AsJson()]
    mean: Figure
    norm: Figure
    nan: int
    infinite: int


class MeasuredJson(Open):
    """What was counted about two arrays of one shape."""

    elements: int
    unequal: int
    relative: Figure
    ranked: Figure
    """The error that a quarter of the elements reaches, relative to the magnitude that a quarter of them reaches."""
    cosine: Annotated[Number | None, AsJson()]
    max_abs: Figure
    max_abs_at: list[int]
    max_rel: Figure
    within_thousandth: float
    within_five_thousandths: float
    a: ArraySideJson
    b: ArraySideJson


class GuideCheckJson(Open):
    """The numbers of the guide's own checker, and which of them fail."""

    cosine: Annotated[Number | None, AsJson()]
    magnitude: Annotated[Number | None, AsJson()]
    divergence: Annotated[Number | None, AsJson()]
    failing: Annotated[list[str], From("failures")]


class CheckedArrayJson(Open):
    """One pair of arrays; B is the benchmark."""

    name: str
    verdict: Literal["equal", "close", "different", "undecided"]
    reasons: list[str]
    dtype_a: str
    dtype_b: str
    shape_a: list[int]
    shape_b: list[int]
    precision: str
    tolerance: float
    first_beyond: Annotated[list[int] | None, From("first")]
    first_values: list[Figure] | None
    measured: MeasuredJson | None
    guide: GuideCheckJson | None


class CheckNpyJson(Open):
    """`accmap check npy`."""

    verdict: Annotated[Literal["equal", "close", "different", "partial", "undecided"], Given()]
    files: Annotated[list[str], Given()]
    arrays: Annotated[list[CheckedArrayJson], From("checks")]
    only_a: list[str]
    only_b: list[str]
    not_compared: Annotated[list[NotComparedJson], Given()]
    unreadable: list[Annotated[str, Said("diagnostic.message")]]


class ScoreJson(Open):
    """One task, or the mean. The error is percent of the benchmark, or points with `absolute`."""

    name: str
    score: Figure
    benchmark: Figure
    error: Figure
    passes: bool


class CheckScoresJson(Open):
    """`accmap check scores`."""

    verdict: Annotated[Literal["pass", "fail", "partial", "undecided"], Given()]
    files: Annotated[list[str], Given()]
    tolerance: float
    absolute: bool
    rows: list[ScoreJson]
    mean: ScoreJson
    only_scores: list[str]
    only_benchmark: list[str]
    not_compared: Annotated[list[NotComparedJson], Given()]
    notes: list[Text]


class AnswerColumnsJson(Open):
    """The members of a file's records that were compared."""

    question: str | None
    answer: str
    judged: str | None


class JudgementJson(Open):
    """The means of the two files' own judgements, and how many questions they judge otherwise."""

    a_column: str
    b_column: str
    a: Figure
    b: Figure
    otherwise: int


class AnswerRowJson(Open):
    """A question that is answered otherwise, and where the answers part, counted from 1."""

    question: str
    a: str
    b: str
    character: int
    token: int


class CheckAnswersJson(Open):
    """`accmap check answers`. `rows` are those of --show."""

    verdict: Literal["same", "different", "partial", "undecided"]
    files: Annotated[list[str], Given()]
    columns: list[AnswerColumnsJson]
    compared: int
    equal: int
    equal_after_normalisation: Annotated[int, From("alike")]
    different: int
    unit: Literal["token", "word"] = Field(description="What is counted where answers part.")
    parted_at_first: Annotated[int, From("at_once")]
    median_part: Annotated[float | None, From("median_token")]
    judgement: JudgementJson | None
    rows: list[AnswerRowJson]
    not_compared: Annotated[list[NotComparedJson], From("unseen")]
    notes: list[Text]


class TokenizerJson(Open):
    """One tokenizer."""

    file: str
    kind: Literal["tokenizer.json", "sentencepiece", "gpt2"]
    size: Annotated[int, From("pieces.__len__()")]


class TokenizerRowJson(Open):
    """One thing that was compared, and what each side has."""

    what: str
    same: bool
    a: Any
    b: Any


class CheckTokenizersJson(Open):
    """`accmap check tokenizers`."""

    verdict: Literal["same", "different", "partial", "undecided"]
    not_compared: Annotated[list[NotComparedJson], From("unseen")]
    tokenizers: Annotated[list[TokenizerJson], Given()]
    rows: list[TokenizerRowJson]


class LoggedRunJson(Open):
    """One run as its log tells it. `points` are steps and losses, thinned with every extreme."""

    name: str
    framework: Literal["megatron", "mindformers"]
    dialect: str
    source: Literal["log", "events"]
    files: list[str]
    steps: Annotated[int, From("steps.__len__()")]
    first_step: int
    last_step: int
    interval: int
    first_loss: Annotated[Number | None, AsJson()]
    last_loss: Annotated[Number | None, AsJson()]
    mean_loss: Annotated[Number | None, AsJson()]
    mean_grad_norm: Annotated[Number | None, AsJson()]
    columns: Annotated[list[str], From("printed_columns")]
    bad_steps: Annotated[int, From("bad_steps.__len__()")] = Field(
        description="Steps with a loss or norm that is NaN or infinite."
    )
    first_bad_step: int | None
    problems: list[DiagnosticJson]
    points: Annotated[list[tuple[int, Number | None]], AsJson()]


class LogCriterionJson(Open):
    """One thing that was judged; the verdict depends on it where `decides` is true."""

    name: str
    status: Literal["pass", "fail", "undecided", "info"]
    decides: bool
    value: Annotated[Number | None, AsJson()]
    limit: float | None
    step: int | None
    message: Annotated[str, From("said"), Said("text")]


class LogSpikeJson(Open):
    """A step where the difference leaps; `difference` is its largest one."""

    step: int
    difference: Figure


class LocalNormJson(Open):
    """The gradient norm of one parameter on both sides."""

    a: Annotated[str, From("name")]
    b: Annotated[str, From("other")]
    step: int
    norm_a: Annotated[Figure, From("a")]
    norm_b: Annotated[Figure, From("b")]
    relative: Figure


class LogComparisonJson(Open):
    """One run beside the benchmark. `points`: step, how many steps the losses are a mean of, loss of A, loss of B."""

    a: Annotated[str, From("a.name")]
    b: Annotated[str, From("b.name")]
    verdict: Annotated[Literal["match", "mismatch", "partial", "undecided"], From("verdict.answer")]
    summary: Annotated[str, From("verdict.said"), Said("text")]
    not_compared: Annotated[list[NotComparedJson], From("verdict.unseen")]
    common_steps: Annotated[int, From("aligned.loss.size")]
    criteria: Annotated[list[LogCriterionJson], From("verdict.criteria")]
    notes: list[Text]
    spikes: list[LogSpikeJson]
    diverges_at: int | None
    local_norms: Annotated[list[LocalNormJson], From("norms.rows")]
    points: Annotated[list[tuple[int, int, Number, Number]], AsJson()]


class LogsJson(Open):
    """`accmap logs`. `criteria` is what a single log has to meet; with several, each comparison has its own."""

    verdict: Annotated[Literal["match", "mismatch", "partial", "undecided"], From("answer")]
    experiment: Literal["standard", "repeat", "first-steps", "lr-zero", "benchmark"]
    runs: list[LoggedRunJson]
    criteria: Annotated[list[LogCriterionJson], From("alone")]
    comparisons: list[LogComparisonJson]
    defects: list[DiagnosticJson] = Field(
        default_factory=list[DiagnosticJson], description="Known defects that concern the files and fit what is seen."
    )


class CheckpointJson(Open):
    """The checkpoint that was read."""

    framework: Literal["megatron", "mindformers", "huggingface"]
    form: Literal["torch", "torch_dist", "safetensors", "ckpt"]
    iteration: int | None


class ConvertedToJson(Open):
    """What was written."""

    framework: Literal["megatron", "mindformers", "huggingface"]
    form: Literal["torch", "torch_dist", "safetensors"]
    directory: str


class WeightFileJson(Open):
    """One file that was written, or stood there already."""

    path: str
    sha256: Annotated[str | None, From("sums.get('sha256')")]
    """With `--sha256`."""
    xxh3_128: Annotated[str | None, From("sums.get('xxh3_128')")]
    size: int
    resumed: bool


class VocabularyRowsJson(Open):
    """How many rows the embedding had and has."""

    before: int
    after: int


class LeftOutJson(Open):
    """What a checkpoint holds beside its weights."""

    what: str
    tensors: int
    bytes: int
    effect: str | None
    """What it means for the run, where it means something."""


class DequantizedJson(Open):
    """8-bit weights that were written as wider numbers: each number times the scale of its block, in float32."""

    tensors: int
    scale: str
    """What the name of a scale ends with."""
    block: list[int]
    """Rows and columns that have one scale."""
    dtype: str
    """The type that they were cast to."""


class PlannedFileJson(Open):
    """A file that a conversion will write."""

    path: str
    tensors: int
    bytes: int


class WeightsPlanJson(Open):
    """`accmap weights convert --plan`."""

    source: CheckpointJson | None
    target: ConvertedToJson | None
    files: list[PlannedFileJson]
    tensors: int
    bytes_to_read: int
    bytes_to_write: int
    bytes_finished: int
    """Of files that stand there finished already."""
    bytes_free: int
    memory_of_a_worker: int
    """In bytes, at most."""
    bandwidth: float | None
    """Bytes a second that the disk takes."""
    minutes: float | None
    oversized: list[str]
    """Tensors larger than a shard, each in a file of its own."""
    dequantized: DequantizedJson | None
    left_out: list[LeftOutJson]
    configurations: list[str]
    problems: list[DiagnosticJson]
    """Everything that keeps the conversion from being made; the figures are then those of nothing."""


class WeightsConvertJson(Open):
    """`accmap weights convert`."""

    source: CheckpointJson
    target: ConvertedToJson
    files: list[WeightFileJson]
    parameters: int
    numbers: int
    dtypes: list[str]
    vocabulary: VocabularyRowsJson | None
    dequantized: DequantizedJson | None
    left_out: list[LeftOutJson]
    updates: int | None
    """The updates that Adam's state has seen, if it was converted."""
    part: list[int] | None
    """Which part of the files was written, and how many parts there are."""
    oversized: list[str]
    """Tensors larger than a shard, each in a file of its own."""
    configurations: list[str]
    findings: list[DiagnosticJson]


class WeightStatisticsJson(Open):
    """What the finite numbers of a weight are like, and how many are not finite."""

    minimum: Annotated[float | Literal["nan"], AsJson()]
    maximum: Annotated[float | Literal["nan"], AsJson()]
    mean: Annotated[float | Literal["nan"], AsJson()]
    norm: Annotated[float | Literal["nan"], AsJson()]
    nans: int
    infinities: int


class WeightSideJson(Open):
    """One side's weight."""

    name: str
    file: str
    dtype: str | None
    shape: list[int]
    statistics: WeightStatisticsJson | None


class WeightRowJson(Open):
    """One weight on both sides."""

    name: str
    status: Literal["equal", "rounded", "different", "shape", "not-finite", "only-a", "only-b", "unknown"]
    a: WeightSideJson | None
    b: WeightSideJson | None
    max_difference: Annotated[float | None, AsJson()]
    relative: Annotated[float | None, AsJson()]


class WeightCopiesJson(Open):
    """Weights that stand in a checkpoint more than once: compared with one another, and not the same."""

    compared: int
    different: int


class WeightsCheckJson(Open):
    """`accmap weights check A [B]`."""

    a: str
    b: str | None
    kind: Literal["checkpoints", "configuration", "alone"]
    inferred: bool
    rows: list[WeightRowJson]
    summary: dict[str, int]
    copies: WeightCopiesJson
    beside: dict[str, int]
    findings: list[DiagnosticJson]
    verdict: Literal["equal", "different", "partial", "undecided"]
    not_compared: list[NotComparedJson] | None = None


class NotLoadedNameJson(Open):
    """A name on a log's list: `network` for one that the weights lack, `weights` for one that the network lacks."""

    name: str
    missing: Literal["network", "weights"]
    line: int


class NotLoadedJson(Open):
    """Names that belong together, and what they mean."""

    kind: str
    harmless: bool
    message: Annotated[str, From("words"), Said("text")]
    fields: list[str]
    names: Annotated[list[NotLoadedNameJson], From("entries")]


class WeightsLogJson(Open):
    """`accmap weights check --log FILE`."""

    log: str
    entries: list[NotLoadedJson]
    summary: dict[str, int]
    verdict: Literal["fine", "problems"]


class DataEndJson(Open):
    """How many sequences end with an id."""

    id: int
    sequences: int


class DataSeenJson(Open):
    """What the tokens of a file are."""

    tokens: int
    sequences: int
    complete: bool
    minimum: int | None
    maximum: int | None
    counts: Annotated[dict[str, int], AsJson()]
    ends: Annotated[list[DataEndJson], From("common_ends")]


class DataLengthsJson(Open):
    """How long the sequences of a file are."""

    minimum: int
    maximum: int
    mean: float
    quartiles: list[float]


class DataRoundTripJson(Open):
    """Sequences that were decoded to text and encoded again."""

    equal: int
    tried: int


class DataSetJson(Open):
    """One pair of data files."""

    prefix: Annotated[str, From("data.prefix")]
    dtype: Annotated[str, From("data.dtype")]
    bytes: Annotated[int, From("data.bin_bytes")]
    sequences: Annotated[int, From("data.sequences")]
    documents: Annotated[int, From("data.documents")]
    tokens: Annotated[int, From("data.tokens")]
    multimodal: bool
    empty_sequences: Annotated[int, From("data.empty_sequences")]
    empty_documents: Annotated[int, From("data.empty_documents")]
    lengths: DataLengthsJson | None
    seen: DataSeenJson | None
    round_trip: DataRoundTripJson | None
    checksum: Annotated[str | None, Given()]
    files: Annotated[list[str], From("data.paths")]
    columns: list[str] | None


class DataSourceJson(Open):
    """One prefix of a configuration, and the index that its settings give."""

    prefix: str
    path: str | None
    weight: float | None
    asked: int | None
    samples: int | None
    epochs: int | None
    last_epoch_apart: bool | None


class DataSideJson(Open):
    """What one configuration asks of the data."""

    file: Annotated[str, From("plan.file")]
    framework: Annotated[Literal["megatron", "mindformers"], From("plan.framework")]
    framework_version: Annotated[str, From("plan.version")]
    data: Annotated[list[DataSourceJson], From("sources")]
    split: Annotated[str | None, From("plan.split")]
    seed: Annotated[int | None, From("plan.seed")]
    sample_length: Annotated[int | None, From("plan.sample_length")]
    samples: Annotated[int | None, From("plan.samples")]
    global_batch: Annotated[int | None, From("plan.global_batch")]
    data_parallel: Annotated[int | None, From("plan.ranks")]
    order: Annotated[Literal["blocks", "dealt", "cyclic"], From("plan.loader")]
    shuffled: Annotated[bool, From("plan.is_shuffled")]
    steps: Annotated[int | None, From("plan.steps")]
    vocabulary: Annotated[int | None, From("plan.vocabulary")]
    eod: Annotated[int | None, From("plan.eod")]
    decided: Annotated[bool, From("plan.is_decided")]
    drawn: Annotated[int | None, From("draws?.size")]


class DataPieceJson(Open):
    """A stretch of one sequence."""

    sequence: int
    offset: int
    length: int


class DataDrawnJson(Open):
    """One sample: stretches of sequences, end to end."""

    prefix: str
    pieces: list[DataPieceJson]


class DataPartingJson(Open):
    """A sample that is not the same on both sides."""

    sample: int
    step: int
    a: DataDrawnJson
    b: DataDrawnJson
    same_samples_in_step: Annotated[bool, From("same_set")]


class DataAgreementJson(Open):
    """How far two configurations draw the same samples."""

    steps: int
    samples: int
    equal_steps: int
    first_difference: Annotated[DataPartingJson | None, From("parting")]
    first_different_step: Annotated[DataPartingJson | None, From("parted")]
    whole_run: bool
    restart: int | None
    placement: Literal["same", "devices", "micro-batches", "unknown"]


class DataMembersJson(Open):
    """Samples of one side looked up among rows whose order is not known."""

    looked_at: int
    found: int
    rows: int
    missing: int | None


class DataDecodedJson(Open):
    """A sample as text."""

    file: str
    sample: int
    inputs: str
    labels: str


class DataCheckJson(Open):
    """`accmap data check`."""

    verdict: Literal["good", "bad", "partial", "undecided"]
    not_compared: Annotated[list[NotComparedJson], From("gaps")]
    datasets: Annotated[list[DataSetJson], Given()]
    sides: list[DataSideJson]
    members: DataMembersJson | None = None
    agreement: DataAgreementJson | None
    decoded: list[DataDecodedJson]
    problems: list[DiagnosticJson]
    unreadable: list[DiagnosticJson]


class OverflowJson(Open):
    """A tensor with NaN or infinity."""

    unit: str
    tensor: Annotated[str, From("place")]
    role: Literal["input", "parameter", "output"]
    what: Literal["nan", "infinite"]


class DumpScannedJson(Open):
    """One step of one rank."""

    step: Annotated[int | None, From("tree.step")]
    rank: Annotated[int | None, From("tree.rank")]
    looked_at: int
    unknown: int
    origin: Annotated[str | None, From("origin?.name")]
    cause: Literal["computation", "weights", "unknown"] | None = Field(
        None,
        description="Of the origin: its weights, if they are not finite; unknown if the dump has no weights of it.",
    )
    constant: Annotated[str | None, From("constant?.name")] = Field(
        None, description="The unit that makes the output of the model the same for every token."
    )
    found: list[OverflowJson]
    unreadable: list[Annotated[str, Said("message")]]
    notes: Annotated[list[Text], From("tree.notes")]


class DumpScanJson(Open):
    """`accmap dump scan`."""

    verdict: Literal["finite", "overflow", "constant", "partial", "undecided"]
    not_compared: list[NotComparedJson]
    dump: str
    parts: list[DumpScannedJson]


class DataFedJson(Open):
    """One sample of a step."""

    sample: int
    device: Annotated[int, From("rank")]
    micro_batch: Annotated[int, From("micro")]
    prefix: Annotated[str, From("drawn.prefix")]
    pieces: Annotated[list[DataPieceJson], From("drawn.pieces")]
    ids: list[int]
    text: Annotated[str | None, Given()]


class DataBatchJson(Open):
    """The samples of one step."""

    step: int
    samples: Annotated[list[DataFedJson], Given()]


class DataShownJson(Open):
    """One side's steps; none where they cannot be worked out."""

    file: str
    framework: Literal["megatron", "mindformers"]
    framework_version: Annotated[str, From("version")]
    steps: Annotated[list[DataBatchJson] | None, Given()]


class DataShowJson(Open):
    """`accmap data show`."""

    verdict: Literal["same", "different", "partial", "shown", "undecided"]
    first: int
    count: Annotated[int, From("length")]
    first_difference: int | None
    """The first step of other tokens, or of the same ones under other masks or positions."""
    not_compared: Annotated[list[NotComparedJson], From("unseen")]
    sides: Annotated[list[DataShownJson], Given()]
    problems: list[DiagnosticJson]


EVIDENCE_OUTPUTS: dict[str, type[BaseModel]] = {
    "check-npy": CheckNpyJson,
    "check-answers": CheckAnswersJson,
    "check-scores": CheckScoresJson,
    "check-tokenizers": CheckTokenizersJson,
    "data-check": DataCheckJson,
    "data-show": DataShowJson,
    "dump-compare": DumpCompareJson,
    "doctor": DoctorJson,
    "dump-config": DumpConfigJson,
    "dump-scan": DumpScanJson,
    "logs": LogsJson,
    "playbook": PlaybookJson,
    "playbook-run": PlaybookRunJson,
    "playbook-status": PlaybookStatusJson,
    "weights-check": WeightsCheckJson,
    "weights-convert": WeightsConvertJson,
    "weights-log": WeightsLogJson,
    "weights-plan": WeightsPlanJson,
}

MODELS: tuple[type[Open], ...] = (
    InsertionJson, VersionSetJson, DumpTensorJson, DumpUnitJson, DumpNeighbourJson, NextDumpJson, DumpDivergenceJson,
    DumpGapJson, DumpAloneJson, DumpMergedJson, DumpJson, DumpCountedJson, DumpPartJson, PrecheckFailureJson,
    DumpCompareJson, ArraySideJson, MeasuredJson, GuideCheckJson, CheckedArrayJson, AnswerColumnsJson, JudgementJson,
    AnswerRowJson, ScoreJson, TokenizerJson, TokenizerRowJson, LogCriterionJson, WeightFileJson, VocabularyRowsJson,
    WeightStatisticsJson, WeightSideJson, WeightRowJson, NotLoadedNameJson, NotLoadedJson, DataPieceJson, DataDrawnJson,
    DataPartingJson, DataAgreementJson, DataMembersJson, DataDecodedJson, OverflowJson, DumpScannedJson, DataFedJson,
    NotComparedJson, DataEndJson, DataSeenJson, DataLengthsJson, DataRoundTripJson, DataSetJson, DataSourceJson,
    DataSideJson, DataCheckJson, LoggedRunJson, LogSpikeJson, LocalNormJson, LogComparisonJson, LogsJson,
    CheckAnswersJson, CheckNpyJson, CheckScoresJson, CheckTokenizersJson, DataBatchJson, DataShownJson, DataShowJson,
)  # fmt: skip
"""What has a record in this room."""


def products() -> dict[str, str]:
    """Text of the compiled module by file name, for the generator."""
    from ..schemas.compilers.answer_writers import writers

    known = {DiagnosticJson: "..schemas.answers_compiled", DiffRowJson: "..mapper.answers_compiled"}
    text = writers(
        "Writes the records of this room as the models of answers.py say; compiled from them.", MODELS, known
    )
    return {"evidence/answers_compiled.py": text}

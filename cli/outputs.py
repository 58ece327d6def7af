"""Typed models of the JSON that each command writes: the contract in a form that machines can check.

`accmap schema NAME` prints their JSON Schema, and the tests validate real answers against it. Objects are open:
keys may be added, never removed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, RootModel

from ..evidence.answers import EVIDENCE_OUTPUTS, DefectJson
from ..evidence.answers import NotComparedJson as LeftOutJson
from ..mapper.answers import MODELS as BELOW
from ..mapper.answers import (
    ChangeJson,
    DiffRowJson,
    EquivalentJson,
    Impact,
    KeyChangeJson,
    ReadBackJson,
    RefusalJson,
    ReportRowJson,
    ScheduleJson,
)
from ..schemas.answers import (
    AsJson,
    BasisJson,
    DiagnosticJson,
    Figure,
    From,
    Given,
    Number,
    Open,
    Said,
    ShowJson,
    SpanJson,
    Spoken,
    VersionJson,
)
from ..verifier.answers import VerifyJson


class SeriesJson(Open):
    """One learning-rate curve."""

    file: str
    schedule: ScheduleJson
    log_shift: bool = Field(description="Whether the curve is shown as Megatron-LM logs it: the next step's rate.")
    points: Annotated[list[tuple[int, Number]], AsJson()]


class LrJson(Open):
    """`accmap lr`. Step 0 is the first update; one curve alone has no verdict."""

    verdict: Annotated[Literal["equal", "different", "partial", "undecided"] | None, Given()] = None
    not_compared: Annotated[list[LeftOutJson], Given()]
    series: list[SeriesJson]
    versions: Annotated[list[VersionJson], Given()]
    first_step: int
    steps: int
    max_difference_of_peak: Annotated[Figure | None, From("comparison?.max_difference_of_peak")]
    at_step: Annotated[int | None, From("comparison?.at_step")]
    first_difference: Annotated[int | None, From("comparison?.first_difference")]
    tolerance: Annotated[float | None, From("comparison?.tolerance")]
    bound: Annotated[Figure | None, From("comparison?.bound")]
    proven: Annotated[bool | None, From("comparison?.proven")]
    summary: str
    reasons: list[Annotated[str, Said("message")]]
    remarks: list[str]
    equivalent: EquivalentJson | None


class _LossJson(Open):
    """What a translation loses. Every explicit key of the source stands in some row's `from`."""

    source: str
    target: str
    versions: list[VersionJson]
    rows: list[ReportRowJson]
    summary: dict[str, int]
    will_not_run: list[RefusalJson] = Field(default=[], description="Why the written file stops; empty where it runs.")
    defects: list[DiagnosticJson] = Field(
        default=[], description="Known defects of the written framework that change numbers; the exit code is then 1."
    )


class ConvertJson(_LossJson):
    """`accmap convert --report`. Every explicit key of the source stands in some row's `from`."""

    read_back: ReadBackJson


class UpgradeReportJson(_LossJson):
    """The report of one file: as `convert --report`, and the fate of each key."""

    read_back: ReadBackJson
    changes: list[KeyChangeJson]


class UpgradedFileJson(Open):
    """One file that was to be brought to a newer version."""

    file: str
    written: str | None = Field(description="The file that was written; null if none was.")
    exit_code: Literal[0, 1, 2, 3] | None = Field(description="Null for a file of a folder that is not a training run.")
    reason: str | None = Field(description="Why nothing was written for it.")
    report: UpgradeReportJson | None


class UpgradeFilesJson(Open):
    """`accmap upgrade --format json`."""

    files: list[UpgradedFileJson]
    summary: dict[str, int] = Field(description="How many files there are of each result.")


class PairJson(_LossJson):
    """`accmap pair`: the report of both files, and what was changed for alignment."""

    read_back: dict[str, ReadBackJson] = Field(description="For each written file.")
    files: list[str]
    changes: list[ChangeJson]


class FixableJson(Open):
    """How many findings that stand by themselves have a fix."""

    safe: int
    unsafe: int
    other_side: int = Field(description="Findings that only a change of the other file of their pair fixes.")


class LintSummaryJson(Open):
    """How many findings, files and pairs."""

    error: int
    warning: int
    info: int
    fixable: FixableJson
    suppressed: int
    files: int
    pairs: int
    profile: str
    profile_origin: Literal["option", "configuration", "default"]
    configuration: str | None
    versions: list[VersionJson]


class LintJson(Open):
    """`accmap lint --format json`."""

    diagnostics: list[DiagnosticJson]
    summary: LintSummaryJson


class RuleJson(Open):
    """One entry of `accmap rules --format json`."""

    code: str
    name: str
    severity: Literal["error", "warning", "info"]
    profiles: list[str]
    scope: str
    sources: list[str]
    fixable: bool
    kind: Literal["rule", "checklist-item", "advisory"]
    fields: list[str]
    description: str
    topic: str
    frameworks: list[str]
    versions: list[str] | None


class RulesJson(RootModel[list[RuleJson]]):
    """`accmap rules --format json`."""


class DiffJson(Open):
    """`accmap diff`."""

    verdict: Literal["equal", "different", "partial", "undecided"]
    not_compared: list[LeftOutJson] | None = None
    versions: list[VersionJson]
    rows: list[DiffRowJson]
    summary: dict[str, int]


class HeadingJson(Open):
    """One heading of an explanation and what stands under it, in Markdown."""

    heading: str
    text: str


class ExplainJson(Open):
    """`accmap explain CODE`, one object a line."""

    code: str
    name: str
    facts: list[str]
    sections: list[HeadingJson]


class NamedFieldJson(Open):
    """A recipe field that a row speaks of."""

    field: str
    meaning: str
    type: str
    unit: str | None
    impact: Impact
    neutral: Any


class RowSideJson(Open):
    """What one framework calls it."""

    names: list[str]
    aliases: list[str]


class ExplainedRowJson(Open):
    """One correspondence between the frameworks."""

    fields: list[NamedFieldJson]
    loss: str
    loss_means: str
    only: str | None
    megatron: list[RowSideJson]
    static: list[RowSideJson]
    dynamic: list[RowSideJson]
    note: str | None
    caveats: list[str]
    sources: list[str]


class ArgumentHistoryJson(Open):
    """An argument of Megatron-LM through its versions."""

    argument: str
    states: list[dict[str, Any]]


class KeyHistoryJson(Open):
    """A key of MindSpore Transformers through its versions."""

    key: str
    states: list[dict[str, Any]]
    class_defaults: dict[str, Any]


class ExplainedSectionJson(Open):
    """A section of a YAML: its keys in each graph beside Megatron-LM's flags."""

    section: str
    holds: str | None
    graphs: list[dict[str, Any]]
    reason: str | None
    impact: Impact | None
    examples: list[dict[str, Any]]


class ExplainedOptionJson(Open):
    """An option of accmap."""

    names: list[str]
    takes: str | None
    meaning: str
    commands: list[str]


class CandidateJson(Open):
    """A name that explains what a word may mean."""

    name: str
    meaning: str


class ExplainKeyJson(Open):
    """`accmap explain KEY`, one object a line; of a word that is not a name the candidates alone."""

    name: str
    meaning: str | None
    sections: list[ExplainedSectionJson]
    fields: list[NamedFieldJson]
    options: list[ExplainedOptionJson]
    candidates: list[CandidateJson]
    arguments: list[str]
    keys: list[str]
    mentioned_only: bool
    rows: list[ExplainedRowJson]
    related: list[list[str]]
    reasons: list[Any]
    megatron: list[ArgumentHistoryJson]
    mindformers: list[KeyHistoryJson]


class DefectsJson(RootModel[list[DefectJson]]):
    """`accmap defects`."""


class FileDefectsJson(BasisJson):
    """`accmap defects FILE`."""

    file: str
    defects: list[DiagnosticJson]


class UpgradeJson(Open):
    """`accmap defects FILE --from V --to W`."""

    file: str
    before: str = Field(alias="from")
    to: str
    lost: list[DiagnosticJson]
    gained: list[DiagnosticJson]
    kept: list[DiagnosticJson]
    problems: list[DiagnosticJson]
    changed: list[DiffRowJson]


class FaultJson(Open):
    """One thing in a file that is not as its schema says; `key` is empty for the whole file."""

    key: str
    keyword: str
    message: Annotated[str, Spoken()]
    span: SpanJson | None


class SchemaCheckJson(Open):
    """`accmap schema --check`."""

    file: str
    kind: str
    fits: bool
    faults: list[FaultJson]


Tone = Literal["", "good", "bad", "open", "soft"]
"""The weight of a text: in order, wrong, not decided, or secondary."""
Numbers = list[float | None]
"""Values; null for one that is not a finite number."""


class WordsJson(Open):
    """Text in a line: plain, a piece of code, or a link."""

    text: str
    is_code: bool = False
    href: str = ""
    tone: Tone = ""


class NoteJson(Open):
    """A paragraph."""

    kind: Literal["note"]
    words: list[WordsJson]
    tone: Tone = ""


class VerdictJson(Open):
    """The answer in one sentence, and the facts beneath it."""

    kind: Literal["verdict"]
    text: str
    tone: Tone
    facts: list[str] = []


class ItemsJson(Open):
    """A list of paragraphs."""

    kind: Literal["items"]
    notes: list[NoteJson]
    is_long: bool = Field(False, description="True if a text shows the first ones only.")


class CellJson(Open):
    """A cell of a table: its words, and a remark in small type."""

    words: WordsJson
    note: str = ""
    share: float | None = Field(None, description="Length of a bar, from 0 to 1, that is drawn instead of the words.")


class RowJson(Open):
    """A row of a table; rows of one `group` are filtered together."""

    cells: list[CellJson]
    group: str = ""
    tone: Tone = ""


class TableJson(Open):
    """Rows under heads. The columns that are named `A` and `B` hold the values of the two sides."""

    kind: Literal["table"]
    heads: list[str]
    rows: list[RowJson]
    is_numeric: bool = False


class CurveJson(Open):
    """Values over steps; a value that is not a finite number is a gap."""

    name: str
    steps: list[int]
    values: Numbers
    colour: int = 0
    is_dashed: bool = False


class ChartJson(Open):
    """Curves over the same steps."""

    kind: Literal["chart"]
    name: str
    title: str
    curves: list[CurveJson]
    step: str = Field(description="The word for a step.")
    unit: str = ""
    flags: list[int] = Field([], description="Steps that are marked, for example the first at which two curves differ.")
    is_centred: bool = Field(False, description="True if zero is in the middle.")
    is_logarithmic: bool = False
    labels: list[str] = Field([], description="Names of the steps, if they have any, for example of parameters.")


class MarkJson(Open):
    """A place in a line of code, from one column to another, and the text that explains it."""

    line: int
    start: int
    stop: int
    text: str = ""
    href: str = ""
    tone: Tone = "bad"


class CodeJson(Open):
    """Lines of a file, from the number of the first one, with marks; lines of none have no numbers."""

    kind: Literal["code"]
    file: str
    first: int
    lines: list[str]
    marks: list[MarkJson] = []


class SideBySideJson(Open):
    """Two files whose marked lines lead to each other."""

    kind: Literal["side_by_side"]
    a: CodeJson
    b: CodeJson


class CardJson(Open):
    """One finding: its head, and the parts below it. Cards of one `group` are filtered together."""

    kind: Literal["card"]
    head: list[WordsJson]
    parts: list[Part]
    group: str = ""
    name: str = ""


class SectionJson(Open):
    """Parts under a title; `name` is the anchor that the contents lead to."""

    kind: Literal["section"]
    title: str
    parts: list[Part]
    name: str = ""
    size: int | None = Field(None, description="The number of its findings or fields.")
    tone: Tone = ""
    is_folded: bool = False


Part = Annotated[
    VerdictJson | NoteJson | ItemsJson | TableJson | ChartJson | CodeJson | SideBySideJson | CardJson | SectionJson,
    Field(discriminator="kind"),
]


class DocumentJson(Open):
    """`accmap report --format json`: a whole report in one language, as a page shows it."""

    title: str
    language: Literal["en", "zh"]
    parts: list[Part]
    footer: str = ""


PARTS: tuple[type[Open], ...] = (
    WordsJson, NoteJson, VerdictJson, ItemsJson, CellJson, RowJson, TableJson, CurveJson, ChartJson, MarkJson, CodeJson,
    SideBySideJson, CardJson, SectionJson, DocumentJson,
)  # fmt: skip
"""The shapes of a document; `cli/pages/parts_compiled.py` has a record for each."""

OUTPUTS: dict[str, type[BaseModel]] = {
    "convert": ConvertJson,
    "defects": DefectsJson,
    "defects-file": FileDefectsJson,
    "defects-upgrade": UpgradeJson,
    "diagnostic": DiagnosticJson,
    "diff": DiffJson,
    "explain": ExplainJson,
    "explain-key": ExplainKeyJson,
    "lint": LintJson,
    "lr": LrJson,
    "pair": PairJson,
    "report": DocumentJson,
    "rules": RulesJson,
    "schema-check": SchemaCheckJson,
    "show": ShowJson,
    "upgrade": UpgradeFilesJson,
    "verify": VerifyJson,
    **EVIDENCE_OUTPUTS,
}

MODELS: tuple[type[Open], ...] = (SeriesJson, LrJson, FaultJson, SchemaCheckJson)
"""What has a record in this room."""


def products() -> dict[str, str]:
    """The compiled module."""
    from ..schemas.compilers.answer_writers import writers

    known = {**dict.fromkeys(BELOW, "..mapper.answers_compiled"), SpanJson: "..schemas.answers_compiled"}
    text = writers(
        "Writes the records of this room as the models of outputs.py say; compiled from them.", MODELS, known
    )
    return {"cli/answers_compiled.py": text}

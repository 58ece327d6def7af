"""The data plan of a configuration: the files, the part for training, the seed, the order, the masked ids.

Both frameworks' readings end in a `Plan`. A value that reading alone cannot decide becomes a diagnostic in
`undecided`, and no sample is worked out from that plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...schemas.diagnostic import Diagnostic, Severity, diagnose
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mapper.data_words import Blend
    from ...schemas.config import Config, Framework, Value
    from ...schemas.message import Problem, Words
    from ...schemas.source import Span
    from ...schemas.verdict import Unseen

Loader = Literal["blocks", "dealt", "cyclic"]
"""How samples become steps: see `draws`."""


class Place(NamedTuple):
    """The place of a value: its key and, if the file has it, the span."""

    key: str
    span: Span | None


class Rows(NamedTuple):
    """The source of rows, and the choice among them."""

    names: tuple[str, ...]
    walked: bool
    """Whether a folder stands for the files in it, and a file for itself alone."""
    suffix: str
    columns: tuple[str, ...]
    most: int | None
    """Only so many rows are taken."""
    epochs: int | None
    shuffled: bool


class Plan(NamedTuple):
    """The data that one run asks for. None if the file does not say, or cannot."""

    file: str
    framework: Framework
    version: str
    blend: Blend | None
    split: str | None
    """None: the files are training's own."""
    own_files: bool
    samples: int | None
    """How many samples training asks for."""
    sample_length: int | None
    seed: int | None
    global_batch: int | None
    micro_batch: int | None
    ranks: int | None
    loader: Loader
    steps: int | None
    extra: bool = True
    surplus: float = 0.005
    sharded: bool = True
    pass_samples: int | None = None
    """After so many samples the loader begins again; None where it goes on to the end of its index."""
    vocabulary: int | None = None
    """Rows of the embedding."""
    eod: int | None = None
    masks_after_eod: bool = False
    resets_positions: bool = False
    resets_attention: bool = False
    unseen: Mapping[int, str] = {}
    """Ids that this run masks, and where."""
    cache: str | None = None
    places: Mapping[str, Place] = {}
    undecided: tuple[Diagnostic, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    rows: Rows | None = None
    """What is drawn from MindRecord files; a plan has these or a blend."""
    open_words: tuple[Unseen, ...] = ()
    """What a launch leaves open that could ask for anything else."""

    @property
    def is_shuffled(self) -> bool:
        """True if MindSpore draws the order of the rows."""
        return self.rows is not None and self.rows.shuffled

    @property
    def ends_matter(self) -> bool:
        """True if anything happens at the end of a document."""
        return self.masks_after_eod or self.resets_positions or self.resets_attention

    @property
    def is_decided(self) -> bool:
        """True if the samples follow from the file."""
        needed = (
            (self.rows, self.samples, self.global_batch)
            if self.rows is not None
            else (self.blend, self.samples, self.sample_length, self.seed, self.global_batch)
        )
        return not self.undecided and all(value is not None for value in needed)

    def place(self, name: str) -> Place:
        """Place of the value of a field of this plan."""
        return self.places.get(name, Place(name, None))


class Reader:
    """The settings of a configuration, with everything undecided noted on the way."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.places: dict[str, Place] = {}
        self.undecided: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []

    def value(self, key: str, field: str = "", *, needed: bool = False) -> Value:
        """The effective value of `key`; where it is undecided and `needed`, that is noted."""
        setting = self.config.settings.get(key)
        if setting is None:
            return None
        if field:
            self.places[field] = Place(key, setting.span)
        raw = " ".join(setting.raw or ()) or key
        # One word that may become several makes everything after it undecided: the word itself is what to tell.
        if needed and not setting.decided and ("$" in raw or "`" in raw or not self.undecided):
            self.undecide(key, say.cannot_be_decided_from_the(value=setting.flag or key, raw=raw))
        return setting.value

    def whole(self, key: str, field: str = "", *, needed: bool = False) -> int | None:
        """A whole number."""
        value = self.value(key, field, needed=needed)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, key: str, field: str = "", *, needed: bool = False) -> str | None:
        """A text."""
        value = self.value(key, field, needed=needed)
        return value if isinstance(value, str) else None

    def true(self, key: str, field: str = "") -> bool:
        """A switch that is on."""
        return bool(self.value(key, field))

    def unless_off(self, key: str, field: str = "") -> bool:
        """A switch that is on by default."""
        self.value(key, field)
        return self.config.is_on(key, otherwise=True)

    def undecide(self, key: str, said: Words) -> None:
        """Note why the samples cannot be worked out."""
        self.undecided.append(self.finding_at(say.undecided(what=said), key))

    def report(self, problem: Problem, key: str, severity: Severity | None = None) -> None:
        """Note something that is wrong with the configuration itself."""
        self.problems.append(self.finding_at(problem, key, severity))

    def finding_at(self, problem: Problem, key: str, severity: Severity | None = None) -> Diagnostic:
        """A finding at the place of `key`."""
        setting = self.config.settings.get(key)
        return data_finding(problem, self.config.file, None if setting is None else setting.span, severity)


def data_finding(problem: Problem, file: str, span: Span | None, severity: Severity | None = None) -> Diagnostic:
    """A finding, of another severity where one is given."""
    found = diagnose(problem, file, span)
    return found if severity is None else found._replace(kind=found.kind._replace(severity=severity))

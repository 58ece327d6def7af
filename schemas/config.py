"""The configuration of one file: every effective value, its origin and its place.

Both readers answer with a `Config`. It is the contract's `show` as values: `settings` in a stable order
(explicit ones first, in file order), the tokens that could not be decided, and the problems met on the way.
"""

from __future__ import annotations

from .fast_records import TYPE_CHECKING, NamedTuple
from .message import NOTHING, Words, in_chinese, verbatim
from .messages_compiled import say
from .shared_words import in_brackets, mark
from .versions import Framework as Framework
from .versions import label_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal, TypeAlias

    from .diagnostic import Diagnostic, Language
    from .source import Span
    from .yaml_reader.document import YamlDocument

Scalar: TypeAlias = "str | int | float | bool | None"
Value: TypeAlias = "Scalar | Sequence[Value] | Mapping[str, Value]"
Origin: TypeAlias = "Literal['explicit', 'derived', 'default']"
Acceptance: TypeAlias = "Literal['accepted', 'ignored', 'unknown', 'conflict']"
VersionOrigin: TypeAlias = "Literal['given', 'detected', 'assumed']"


class Setting(NamedTuple):
    """One effective value."""

    key: str
    value: Value
    origin: Origin
    span: Span | None = None
    raw: tuple[str, ...] | None = None
    flag: str | None = None
    derived_from: tuple[str, ...] = ()
    overridable: bool = False
    acceptance: Acceptance = "accepted"
    decided: bool = True
    """False where the value depends on a token that reading alone cannot decide; `value` is then None."""

    @property
    def is_on(self) -> bool:
        """True if a switch is on."""
        return self.decided and bool(self.value)

    def to_json(self) -> dict[str, object]:
        """The contract's entry of `values`."""
        from .answers_compiled import value_json

        return value_json(self)


class Unresolved(NamedTuple):
    """A token or value that reading alone cannot decide, as its source text."""

    text: str
    reason: str
    span: Span
    argv_index: int | None = None
    may_split: bool = False

    def why(self, language: Language) -> str:
        """The reason, for a person."""
        return in_chinese(self.reason) if language == "zh" else str(self.reason)

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's entry of `unresolved`."""
        from .answers_compiled import unresolved_json

        return unresolved_json(self, language)


class Argument(NamedTuple):
    """One word handed to the training program, and where it was written.

    `resolved` is false where the text could not be decided: `text` is then the source text.
    """

    text: str
    span: Span
    resolved: bool = True
    may_split: bool = False
    why: str = ""
    """Why it could not be decided, and what would decide it."""

    def reason(self) -> Words:
        """The reason in both languages, for a message."""
        return reason_words(self.why)


def reason_words(why: str) -> Words:
    """The reason why a word could not be decided, for a message."""
    if isinstance(why, Words) and why:
        return why
    return verbatim(why) if why else say.not_known()


class Launch(NamedTuple):
    """One start of a training program."""

    launcher: str | None
    script: str | None
    arguments: tuple[Argument, ...]
    world_size: int | None
    env: Mapping[str, str | None]
    span: Span
    env_spans: Mapping[str, Span] = {}
    directory: str | None = None
    """The folder that the script last changed to before it, where that is known."""
    nodes_open: bool = False
    """Whether `world_size` is that of one node, and something else says how many nodes there are."""
    not_given: Span | None = None
    """Where the script hands its own arguments on (`"$@"`), of which none are given."""
    counted_at: str = ""
    """Places at which the script sets `world_size`, such as `$WORKERS, run.sh:2`, separated by semicolons."""

    def source_of(self, devices: object, file: str) -> str:
        """Place at which the script sets this number of devices; empty if it starts another number."""
        if devices is None or self.world_size != devices:
            return ""
        return self.counted_at or f"{self.span.file or file}:{self.span.line}"

    @property
    def argv(self) -> list[str]:
        """The words that the training program gets."""
        return [argument.text for argument in self.arguments]

    def to_json(self) -> dict[str, object]:
        """The contract's `launch`."""
        from .answers_compiled import launch_json

        return launch_json(self)


class Purpose(NamedTuple):
    """The purpose of a file that does something else than train a GPT model, or more."""

    kind: str
    problem: Diagnostic
    """The sentence that is said first."""
    own_arguments: bool = False
    """Whether the program declares arguments that the framework's parser does not know."""

    @property
    def trains_gpt(self) -> bool:
        """True if the file is to be compared and translated."""
        return self.kind == "post-training"

    @property
    def reads_arguments(self) -> bool:
        """True if the program reads the framework's own arguments."""
        return self.kind in ("post-training", "other-model", "outside")

    @property
    def states_network(self) -> bool:
        """True if the program runs a network described by the framework's arguments without training it."""
        return self.kind == "inference" and not self.own_arguments


class Basis(NamedTuple):
    """The basis of an answer about a file: the version whose facts were used, its origin, and the purpose."""

    framework: Framework
    version: str
    origin: VersionOrigin
    reason: Words = NOTHING
    purpose: Purpose | None = None
    release: str | None = None
    """The version with its patch number, where that is known: facts are per minor version, known defects per patch."""
    fork: str | None = None
    """The dialect whose facts were used, where it is none of the framework's own."""
    is_retired: bool = False
    """True for the static graph and older model classes, which MindSpore Transformers has marked as deprecated."""

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """Keys that every answer about one file contains."""
        from .answers_compiled import basis_json

        return basis_json(self, language)

    @property
    def label(self) -> str | None:
        """Framework's own name of a version that is not a release."""
        return label_of(self.framework, self.version)

    def why(self, language: Language) -> str:
        """By what a detected version was found."""
        return self.reason.text(language)

    def _origin(self, language: Language) -> str:
        """A word for the origin of the version: given, detected or assumed."""
        said = {"given": say.given, "detected": say.detected, "assumed": say.assumed}
        return said[self.origin]().text(language)

    def name(self, language: Language) -> str:
        """Version as text, such as `megatron 0.12 assumed`; a fork by its dialect."""
        return f"{self.fork or f'{self.framework} {self.release or self.version}'} {self._origin(language)}"

    def text(self, language: Language) -> str:
        """`megatron 0.12 (assumed)`, and by what a detected version was found."""
        word = self._origin(language)
        reason = self.reason.text(language)
        label = label_of(self.framework, self.version)
        version = f"{self.framework} {self.release or self.version}" + (f" = {label}" if label else "")
        said = word + mark("colon", language) + reason if reason else word
        return version + in_brackets(said, language)


class Config(NamedTuple):
    """Everything that is known of one file."""

    file: str
    framework: Framework
    framework_version: str
    dialect: str
    settings: Mapping[str, Setting]
    launch: Launch | None = None
    other_launches: tuple[Launch, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    version_origin: VersionOrigin = "assumed"
    version_reason: Words = NOTHING
    """What a detected version was found by."""
    purpose: Purpose | None = None
    """What the file does where that is not plainly the training of a GPT model."""
    release: str | None = None
    """The version with its patch number, where somebody says it."""
    document: YamlDocument | None = None
    """The tree of a YAML's text, for what mends it."""
    fork: object = None
    """The fork's `Dialect` (`megatron/dialects.py`) that the file was read in: itself, for two may have one name."""

    @property
    def basis(self) -> Basis:
        """The basis of the answer."""
        return Basis(
            self.framework,
            self.framework_version,
            self.version_origin,
            self.version_reason,
            self.purpose,
            self.release,
            None if self.fork is None else self.dialect,
            self.framework == "mindformers" and self.dialect in ("static", "legacy"),
        )

    def writes(self, key: str) -> bool:
        """True if the user wrote a key."""
        setting = self.settings.get(key)
        return setting is not None and setting.origin == "explicit"

    def value(self, key: str) -> Value:
        """Effective value of a key; None if there is none."""
        setting = self.settings.get(key)
        return None if setting is None else setting.value

    def is_on(self, key: str, *, otherwise: bool = False) -> bool:
        """True if a switch is on; `otherwise` for absent or undecided keys."""
        setting = self.settings.get(key)
        return otherwise if setting is None or not setting.decided else setting.is_on


def explicit_of(settings: Mapping[str, Setting]) -> tuple[Setting, ...]:
    """The settings that the file itself writes, in order."""
    return tuple([setting for setting in settings.values() if setting[2] == "explicit"])


def partner(framework: Framework) -> Framework:
    """Framework that a file is translated to by default."""
    return "mindformers" if framework == "megatron" else "megatron"


class ReadOptions(NamedTuple):
    """The command line's reading options, which the user adds to the file."""

    megatron: str | None = None
    mindformers: str | None = None
    dialect: str | None = None
    variables: Mapping[str, str] = {}
    positional: tuple[str, ...] = ()
    unset_empty: bool = False
    world_size: int | None = None
    counted_at: str = "--world-size"
    """Source of `world_size`, for a message."""
    launch: int | None = None
    declared: tuple[str, ...] = ()
    encoding: str | None = None
    """Of the files that the user names; None finds it."""
    confine: str | None = None
    """The folder that everything which a file names must lie in."""
    steps: int | None = None
    """How many updates the run makes, where the file cannot say."""
    dataset_size: int | None = None
    """Samples of one epoch, where the file cannot say."""
    branches: Mapping[str, bool] = {}
    """Conditions that reading cannot decide, by line (`12`, or `lib.sh:12` in another file): whether they hold."""
    transformers: str | None = None
    """The version of transformers that reads a `config.json`; None takes what the file itself says."""

    def version(self, framework: Framework) -> str | None:
        """The version that is named for a framework."""
        return self.megatron if framework == "megatron" else self.mindformers

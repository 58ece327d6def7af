"""`accmap upgrade OLD.yaml`: an older YAML of MindSpore Transformers as that of the newest dynamic graph."""

from __future__ import annotations

import os
from collections import Counter

from ...mapper.preconditions import refusals_of_text, require_accepted
from ...mapper.translate.upgrade import upgrade
from ...schemas.border.file_output import one_file, rewrite, write_folder, write_texts
from ...schemas.border.inputs import is_folder, real_path
from ...schemas.border.text_output import emit, json_text, say, tell, trust_text
from ...schemas.diagnostic import ReadBackError, UnreadableError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import require_training, trains_gpt
from ...schemas.plain_values import plain
from ...schemas.reader import check_versions, config_of
from ...schemas.shared_words import join_words
from ..argument_parser import UsageError
from ..exit_codes import BAD, BROKEN, FINE, UNUSABLE
from ..inputs import open_input
from ..linting.file_search import YAMLS, training_files
from ..messages_compiled import say as words
from ..reference.known_defects import defects_of_written
from ..terminal import pad
from .loss_report import accepted_losses, close_report, is_told, print_problems, print_refusals, print_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal, TypeAlias

    from ...mapper.preconditions import Refusal
    from ...mapper.translate.result import Change
    from ...mapper.translate.upgrade import UpgradedYaml
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from ..arguments_compiled import UpgradeArgs

    _ShownKind: TypeAlias = Literal["renamed", "moved", "derived", "written-out", "no-counterpart"]
    _Result: TypeAlias = Literal["left-out", "fine", "lost", "not-upgraded", "failed"]


class _Outcome(NamedTuple):
    """The answer about one file."""

    file: str
    code: int | None
    """The exit code for this file; None for one of a folder that trains nothing and is left out."""
    reason: str = ""
    """Why nothing is written for it."""
    config: Config | None = None
    source: SourceText | None = None
    upgraded: UpgradedYaml | None = None
    stops: tuple[Refusal, ...] = ()
    defects: tuple[Diagnostic, ...] = ()
    target: str | None = None
    """The file to write."""

    @property
    def text(self) -> str:
        """The new text; empty if there is none."""
        return "" if self.upgraded is None else self.upgraded.text

    @property
    def is_written(self) -> bool:
        """True if there is a text that may be written."""
        return self.upgraded is not None and self.code in (FINE, BAD)

    def to_json(self, language: Language, *, wrote: bool) -> dict[str, object]:
        """The contract's entry of `files`."""
        return {
            "file": self.file,
            "written": self.target if wrote and self.is_written else None,
            "exit_code": self.code,
            "reason": self.reason or None,
            "report": None if self.upgraded is None else self._report(self.upgraded, language),
        }

    def _report(self, upgraded: UpgradedYaml, language: Language) -> dict[str, object]:
        return {
            **upgraded.translation.to_json(language),
            "will_not_run": [stop.to_json(language) for stop in self.stops],
            "defects": [one.to_json(language) for one in self.defects],
            "changes": [change.to_json(language) for change in upgraded.changes],
        }


def run(args: UpgradeArgs) -> int:
    """Write the newer YAML of a file, or of each in a folder; 1 if something that changes numbers is lost."""
    name = args.files[0]
    whole_folder = name != "-" and is_folder(name)
    _require_places(args, whole_folder=whole_folder)
    if not whole_folder:
        outcome = _upgrade_file(name, args)
        outcome = outcome._replace(target=_target(args, os.path.basename(name), name))
        return _answer([outcome], args, whole_folder=False)
    files = sorted(path for path in training_files(name) if path.endswith(YAMLS))
    if not files:
        raise UsageError(words.no_yaml_in_folder(folder=name))
    outcomes = [
        _upgrade_in_folder(path, args)._replace(target=_target(args, os.path.relpath(path, name), path))
        for path in files
    ]
    return _answer(outcomes, args, whole_folder=True)


def _require_places(args: UpgradeArgs, *, whole_folder: bool) -> None:
    """UsageError unless it is clear where the new text goes."""
    places = [args.output is not None, args.directory is not None, args.in_place, args.check]
    if sum(places) > 1:
        raise UsageError(words.one_place_to_write())
    if whole_folder and (args.output is not None or not any(places)):
        raise UsageError(words.folder_needs_a_folder())
    if args.format == "json" and not any(places):
        raise UsageError(words.json_needs_a_place())
    if args.in_place and args.files[0] == "-":
        raise UsageError(words.standard_input_has_no_place())
    if args.output is not None and real_path(args.output) == real_path(args.files[0]):
        raise one_file(args.files[0], args.output)


def _target(args: UpgradeArgs, inner: str, file: str) -> str | None:
    """The path to write the upgraded text to; None if it goes to standard output or nothing is written."""
    if args.in_place:
        return file
    return args.output if args.directory is None else os.path.normpath(os.path.join(args.directory, inner))


# --- one file ---


def _upgrade_file(name: str, args: UpgradeArgs) -> _Outcome:
    """The outcome for one file; UnreadableError if it cannot be read, or is not a training run."""
    versions = args.reading._replace(mindformers=args.from_version)
    source, options = open_input(name, check_versions(versions, "--from-version"), args.stdin_filename)
    config = config_of(source, options, path=source.name)
    require_training(config)
    require_accepted(config)
    upgraded = upgrade(config, args.mindformers, read_back=not args.no_read_back, language=args.lang)
    translation = upgraded.translation
    stops = refusals_of_text(translation, upgraded.text)
    defects = defects_of_written({source.name: translation.written}, config)
    blocked = any(one.certain for one in stops) and not args.write_anyway
    reason = join_words(one.message(args.lang) for one in stops if one.certain) if blocked else ""
    return _Outcome(source.name, UNUSABLE if blocked else FINE, str(reason), config, source, upgraded, stops, defects)


def _upgrade_in_folder(path: str, args: UpgradeArgs) -> _Outcome:
    """The outcome for one file of a folder; an error becomes part of the outcome instead of stopping the others."""
    try:
        return _upgrade_file(path, args)
    except UnreadableError as error:
        return _Outcome(path, None if _trains_nothing(path, args) else UNUSABLE, error.diagnostic.message(args.lang))
    except UsageError as error:
        return _Outcome(path, None, error.message(args.lang))
    except ReadBackError as error:
        return _Outcome(path, BROKEN, error.message(args.lang))


def _trains_nothing(path: str, args: UpgradeArgs) -> bool:
    """True for a file that can be read and is not a training run."""
    try:
        source, options = open_input(path, args.reading._replace(mindformers=args.from_version))
        return not trains_gpt(config_of(source, options, path=path))
    except UnreadableError:
        return False


# --- the answer ---


def _answer(outcomes: Sequence[_Outcome], args: UpgradeArgs, *, whole_folder: bool) -> int:
    """Write what may be written, and print the reports; the exit code of all files together."""
    for outcome in outcomes:
        if outcome.upgraded is not None:
            print_refusals(outcome.target or outcome.file, outcome.stops, args.lang)
    _write(outcomes, args)
    codes = [_close(outcome, args, whole_folder=whole_folder) for outcome in outcomes]
    outcomes = [outcome._replace(code=code) for outcome, code in zip(outcomes, codes, strict=True)]
    if args.format == "json":
        emit(_json(outcomes, args))
    elif whole_folder:
        _print_table(outcomes, args.lang)
    known = [code for code in codes if code is not None]
    return max(known, default=UNUSABLE)


def _write(outcomes: Sequence[_Outcome], args: UpgradeArgs) -> None:
    """Write the new texts in place, to the output path, or to standard output, as the options say."""
    written = [one for one in outcomes if one.is_written and not args.check]
    if args.in_place:
        for one in written:
            if one.source is not None:
                rewrite(one.source, one.text)
    elif args.directory is not None:
        write_folder(args.directory, {str(one.target): one.text for one in written}, force=args.force)
    elif args.output is not None:
        write_texts({str(one.target): one.text for one in written}, force=args.force)
    else:
        for one in written:
            emit(trust_text(one.text))


def _close(outcome: _Outcome, args: UpgradeArgs, *, whole_folder: bool) -> int | None:
    """Print the report of one file and give its exit code; None when whole folders are reported as a table."""
    if whole_folder and args.format == "text" and outcome.upgraded is not None:
        tell(f"--- {outcome.file}")
    if outcome.upgraded is None or outcome.config is None:
        return outcome.code
    if outcome.code == UNUSABLE:
        tell(words.not_written().text(args.lang))
        return UNUSABLE
    translation = outcome.upgraded.translation
    print_problems(outcome.config, args.lang)
    _print_changes(outcome.upgraded, args.lang)
    print_report(translation, args.lang)
    accepted = accepted_losses(outcome.file, args.accept_loss, args.lang)
    code = close_report(translation.rows, accepted, args.lang, defects=outcome.defects, strict=args.strict)
    return BAD if outcome.stops or outcome.config.purpose is not None else code


_RESULTS: dict[int | None, _Result] = {
    None: "left-out", FINE: "fine", BAD: "lost", UNUSABLE: "not-upgraded", BROKEN: "failed",
}  # fmt: skip


def _json(outcomes: Sequence[_Outcome], args: UpgradeArgs) -> Outgoing:
    """The outcomes of a folder as JSON, with the number of files of each result."""
    counts = Counter(_RESULTS[outcome.code] for outcome in outcomes)
    files = [outcome.to_json(args.lang, wrote=not args.check) for outcome in outcomes]
    return json_text({"files": files, "summary": dict(counts)}, 2)


_SHOWN: tuple[_ShownKind, ...] = ("renamed", "moved", "derived", "written-out", "no-counterpart")


def _print_changes(upgraded: UpgradedYaml, language: Language) -> None:
    """Print to stderr what became of each key that is not simply kept, keys of one fate in one line."""
    told = {key for row in upgraded.translation.rows if is_told(row) and not row.target for key in row.source}
    for kind in _SHOWN:
        changes = [
            one for one in upgraded.changes if one.kind == kind and not (one.before and told.issuperset(one.before))
        ]
        for line in dict.fromkeys(_change_lines(kind, changes, language)):
            tell(line)


def _change_lines(kind: _ShownKind, changes: Sequence[Change], language: Language) -> Iterator[str]:
    """Lines of one kind of fate: keys that go the same way stand together."""
    word = words.page("upgrade", language)
    label = word(kind)
    groups: dict[str, list[str]] = {}
    for one in changes:
        before, after = ", ".join(one.before), ", ".join(one.after)
        old, _, name = before.rpartition(".")
        new, _, other = after.rpartition(".")
        if kind == "no-counterpart":
            groups.setdefault(one.zh if language == "zh" else one.en, []).append(before)
        elif kind == "moved" and name == other and old and new:
            groups.setdefault(f"{old} -> {new}", []).append(name)
        elif kind in ("moved", "renamed"):
            yield word("pair", label=label, before=before, after=after)
        elif kind == "derived":
            yield word("source", label=label, key=after, value=plain(one.value), sources=before)
        else:
            yield word("value", label=label, key=after, value=plain(one.value))
    for said, names in groups.items():
        head, rest = (", ".join(names), said) if kind == "no-counterpart" else (said, ", ".join(names))
        yield word("section", label=label, sections=head, names=rest)


def _print_table(outcomes: Sequence[_Outcome], language: Language) -> None:
    """Print one line for each file of a folder, and how many there are of each result."""
    word = words.page("upgrade", language)
    longest = max(len(outcome.file) for outcome in outcomes)
    counts = Counter(_result(outcome, language) for outcome in outcomes)
    widest = max(map(len, counts))
    for outcome in outcomes:
        result = pad(_result(outcome, language), widest)
        say(f"{pad(outcome.file, longest)}  {result}  {_remark(outcome)}".rstrip())
    listed = (word("count", count=count, result=result) for result, count in counts.most_common())
    say(", ".join(listed))


def _result(outcome: _Outcome, language: Language) -> str:
    return words.page("upgrade", language)(_RESULTS[outcome.code])


def _remark(outcome: _Outcome) -> str:
    """The remark in the table of a folder: versions and number of losses, or the reason it was not upgraded."""
    if outcome.reason or outcome.upgraded is None or outcome.config is None:
        return outcome.reason.split("\n", 1)[0]
    translation = outcome.upgraded.translation
    losses = [row for row in translation.rows if row.changes_numbers]
    lost = dict.fromkeys(row.field or ", ".join(row.source) or str(row.value) for row in losses)
    before = f"{outcome.config.framework_version} {outcome.config.dialect}"
    versions = f"{before} -> {translation.version} {translation.dialect}"
    return f"{versions}: {', '.join(lost)}" if lost else versions

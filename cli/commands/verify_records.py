"""`accmap verify record FILE` and `accmap verify join A B`: each side runs where its device is, and the records meet.

`record`: 0 for a record, 1 if the framework cannot run the file, 2 for wrong use. `join`: the exit codes of `verify`; 2
also for records that are damaged or are not two sides of one pair.
"""

from __future__ import annotations

import os

from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import say as print_line
from ...schemas.border.text_output import tell, visible
from ...schemas.fast_records import TYPE_CHECKING
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import SideVersions, read_input
from ..messages_compiled import say
from ..progress import busy_with
from .verify import (
    chosen_options_of,
    findings_of,
    frameworks_folder,
    list_without_defects,
    missing_sentence,
    pair_findings,
    prepare_frameworks,
    read_runs,
    render_verification,
    rules_for,
    shown_defects,
    warn_of_accepted_in_vain,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...schemas.config import Config, ReadOptions
    from ...schemas.source import SourceText
    from ...verifier.installations import Installation
    from ...verifier.pair import Options
    from ...verifier.record import RecordRequest, SideFile
    from ..arguments_compiled import VerifyJoinArgs, VerifyRecordArgs


def run_record(args: VerifyRecordArgs) -> int:
    """Run one side and write its record."""
    from ...verifier.installations import MissingFrameworkError
    from ...verifier.record import record_side, write_record
    from ...verifier.verify import stage_words
    from ...verifier.worker.processes import WorkerFailure, Workers, termination_interrupts

    if args.output is None:
        raise UsageError(say.record_needs_a_file())
    try:
        request = _request_of(args)
    except MissingFrameworkError as error:
        tell(f"accmap: {missing_sentence(error, args.lang)}")
        return UNUSABLE
    if request is None:
        return BAD
    with termination_interrupts(), Workers(request.options.limits) as workers:
        found = record_side(request, workers, lambda stage: busy_with(stage_words(stage)))
    if isinstance(found, WorkerFailure):
        _tell_failure(args.files[0], found, args.lang)
        return BAD
    description, arrays = found
    write_record(args.output, description, arrays, force=args.force)
    _tell_record(description, args)
    return FINE


def _request_of(args: VerifyRecordArgs) -> RecordRequest | None:
    """What is to be recorded; None if the file cannot be built or its version is not here, which is told."""
    from ...verifier.pair import Options
    from ...verifier.record import RecordRequest, weights_digest

    files = read_sides([args.files[0], *([args.pair] if args.pair else [])], args)
    own, options = files[0].config, Options(**chosen_options_of(args), store=frameworks_folder())
    _require_runnable(own, args)
    digest = weights_digest(args.weights) if args.weights else ""
    weights = os.path.abspath(args.weights) if args.weights else ""
    if not all(_is_buildable(one.config, args.lang) for one in files):
        return None
    if args.prepare and own.framework not in options.sources:
        prepare_frameworks([own], options.store, args.lang)
    place = find_place(own, options, args.lang)
    if place is None:
        return None
    repeats = args.repeat or args.device != "cpu"
    return RecordRequest(
        files[0], files[1] if args.pair else None, options, place, args.device, weights, digest, repeats
    )


def _require_runnable(config: Config, args: VerifyRecordArgs) -> None:
    """UsageError for a device or a graph that the file does not run on."""
    if _FRAMEWORKS_OF.get(args.device, config.framework) != config.framework:
        raise UsageError(
            say.record_device_of_the_other(device=args.device, file=config.file, framework=config.framework)
        )
    if args.graph and config.dialect != "static":
        raise UsageError(say.verify_graph_needs_a_static_one())
    if args.graph and args.device != "cpu":
        raise UsageError(say.record_graph_needs_a_cpu())


def _is_buildable(config: Config, language: str) -> bool:
    """True if a model can be built from a file; the reason why not is told."""
    from ...verifier.pair import SIDES

    obstacle = SIDES[config.framework].build_obstacle(config)
    if obstacle is not None:
        tell(f"accmap: {say.record_not_verifiable(file=config.file, why=obstacle).text(language)}")
    return obstacle is None


def read_sides(names: Sequence[str], args: VerifyRecordArgs) -> list[SideFile]:
    """The configurations of these files, with the texts that they are read from."""
    from ...verifier.record import read_for_record

    if os.environ and os.environ.items() <= args.reading.variables.items():
        raise UsageError(say.record_takes_no_environment())
    versions = SideVersions(args.a_version, args.b_version)
    texts = [read_input(name, args.stdin_filename) for name in names]
    readings: list[SideFile] = []

    def read(text: SourceText, options: ReadOptions) -> Config:
        readings.append(read_for_record(text, options))
        return readings[-1].config

    read_runs(names, texts, args.reading, versions, read)
    return readings


_FRAMEWORKS_OF = {"cuda": "megatron", "npu": "mindformers"}
"""The framework that runs on a device beside the CPU."""


def find_place(config: Config, options: Options, language: str) -> Installation | None:
    """The installation that runs a file; None if there is none, which is told."""
    from ...verifier.installations import MissingFrameworkError, missing_modules
    from ...verifier.verify import find_installation

    absent = missing_modules(config.framework, options.pythons.get(config.framework))
    place, why = find_installation(config, None, options)
    if absent and not (place is not None and set(absent) <= {"megatron.core", "mindformers"}):
        raise MissingFrameworkError(absent, options.pythons.get(config.framework))
    if why is not None:
        tell(f"accmap: {say.record_not_verifiable(file=config.file, why=why.reason).text(language)}")
        if why.remedy is not None:
            tell(f"  {why.remedy.text(language)}")
    return place


def _tell_failure(file: str, failure: Any, language: str) -> None:
    """Say why a framework did not run, with what is known of it and the end of its log."""
    from ...schemas.message import verbatim
    from ...verifier.verification import FailedSide

    where = f" ({failure.where})" if failure.where else ""
    reason = verbatim(f"{failure.reason}{where}")
    tell(f"accmap: {say.record_not_verifiable(file=file, why=reason).text(language)}")
    explanation = FailedSide("", failure).explanation(language)
    for line in [explanation] if explanation else failure.log[-10:] if failure.kind != "error" else []:
        tell(f"  {visible(line)}")


def _tell_record(description: Mapping[str, Any], args: VerifyRecordArgs) -> None:
    """Say what was recorded, and how the record is compared."""
    word = say.page("verify_record", args.lang)
    runs = description["runs"]
    versions = " · ".join(f"{name} {version}" for name, version in runs[0]["values"]["versions"].items())
    device = description["machine"].get("device", description["device"])
    print_line(f"{word('recorded')}: {visible(args.files[0])}  {versions}  {device}")
    stand_ins = runs[0]["values"]["stand_ins"]
    print_line(f"{word('stand_ins')}: {', '.join(stand_ins) or word('none')}")
    if description["noise"] is not None:
        print_line(f"{word('noise')}: {description['noise']:.1e}")
    partner = args.pair or args.files[0]
    print_line(
        f"{word('next')}: accmap verify join {visible(args.output or '')} {word('record_of')} {visible(partner)}"
    )


def run_join(args: VerifyJoinArgs) -> int:
    """Compare two records and print the report of `verify`."""
    from ...verifier.record import join_records, read_record, recorded_pair
    from ..configuration import find_configuration
    from ..linting.settings import start_of

    recorded = recorded_pair(*(read_record(name) for name in args.files))
    configuration = find_configuration(start_of(args.files, None))
    configs = recorded.configs
    findings = findings_of(configs, [reading.source for reading in recorded.readings])
    accepted = configuration.accepted_differences
    found = join_records(recorded, pair_findings(findings), accepted=accepted, language=args.lang)
    if found.verdict == "not-verifiable":
        findings = ()
    else:
        warn_of_accepted_in_vain(found, configuration, args.lang)
    shown = shown_defects(found, findings)
    found = list_without_defects(found, shown)
    bases = [config.basis for config in configs]
    text = render_verification(found, rules_for(found, findings), args.format, args.lang, bases, shown)
    deliver(text, args.output, force=args.force)
    return FINE if found.verdict == "match" else BAD

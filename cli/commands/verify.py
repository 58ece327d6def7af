"""`accmap verify A B`: both real models, shrunk from the two files, on the same weights and tokens.

0 for a match, or if all but accepted fields match; 1 for a mismatch, a match in part or a pair that cannot be verified;
2 where a framework is missing (with the one command that installs it) or a file cannot be read. Progress goes to
stderr, the answer to stdout or to `--output`.
"""

from __future__ import annotations

import os

from ...mapper.preconditions import require_accepted
from ...schemas.border.file_output import deliver, write_folder
from ...schemas.border.text_output import json_text, tell, visible
from ...schemas.border.text_output import say as print_line
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import require_training, unknown_class
from ...schemas.message import verbatim
from ...schemas.plain_values import json_value
from ...schemas.reader import config_of
from ...schemas.shared_words import join_words, list_words
from ...verifier.constants_compiled import SIZE_OPTIONS
from ..argument_parser import UsageError, counts_from_one
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import SideVersions, read_input, require_run
from ..messages_compiled import say
from ..progress import busy_with
from ..terminal import in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any

    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Basis, Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from ...verifier.verdict.coverage import Findings
    from ...verifier.verification import Verification
    from ...verifier.worker.processes import Workers
    from ..arguments_compiled import VerifyArgs, VerifyCleanArgs, VerifyExportArgs, VerifyRecordArgs
    from ..configuration import Configuration
    from ..pages.document import Document


LEAST_SEQUENCE = 16
"""Tokens of a sample: in a shorter one ends of documents and padding would take each other's places."""
_MOST_RULES = 6


def run(args: VerifyArgs) -> int:
    """Verify a pair and print the report."""
    from ...verifier.installations import MissingFrameworkError

    chosen_options = chosen_options_of(args) | {
        "each_source": (args.a_source, args.b_source),
        "aside": _split_names(args.aside),
    }
    try:
        found, findings, configs = run_verification(
            args.files,
            args.reading,
            chosen_options,
            args.stdin_filename,
            prepared=args.prepare,
            language=args.lang,
            versions=SideVersions(args.a_version, args.b_version),
        )
    except MissingFrameworkError as error:
        tell(f"accmap: {missing_sentence(error, args.lang)}")
        return UNUSABLE
    shown = shown_defects(found, findings)
    text = render_verification(
        found,
        rules_for(found, findings),
        args.format,
        args.lang,
        [config.basis for config in configs],
        shown,
        to_file=args.output is not None,
    )
    if args.small_files is not None:
        write_folder(args.small_files, dict(_small_files(args.small_files, found, args.lang)), force=args.force)
    deliver(text, args.output, force=args.force)
    for name in chosen_options["aside"]:
        if name not in found.equal_fields:
            tell(f"accmap: {say.verify_sets_aside_in_vain(name=name).text(args.lang)}")
    return FINE if found.verdict == "match" or _is_accepted(found, args) else BAD


def _is_accepted(found: Verification, args: VerifyArgs) -> bool:
    """True if all but accepted fields match."""
    from ..configuration import find_configuration
    from ..linting.settings import start_of

    configuration = find_configuration(start_of(args.files, args.stdin_filename))
    accepted = {*_split_names(args.accept_loss), *configuration.words("accept-loss")}
    return found.rest == "match" and accepted.issuperset(found.equal_fields)


def _split_names(words: Sequence[str]) -> list[str]:
    """The names of an option that takes several, separated by commas."""
    return [name.strip() for word in words for name in word.split(",") if name.strip()]


def chosen_options_of(args: VerifyArgs | VerifyRecordArgs) -> dict[str, Any]:
    """The verifier's options by their own names; UsageError for a number that is none."""
    from ...verifier.installations import python_path

    if args.seeds is not None and args.seeds < 1:
        raise counts_from_one("--seeds", args.seeds)
    named = (("megatron", args.megatron_source), ("mindformers", args.mindformers_source))
    pythons = (("megatron", args.megatron_python), ("mindformers", args.mindformers_python))
    return {
        "sizes": given_sizes(args),
        "keep_sizes": args.no_shrink,
        "stage": args.stage,
        "seeds": args.seeds or 1,
        "limits": _worker_limits(args.timeout, args.memory),
        "sources": {framework: folder for framework, folder in named if folder},
        "pythons": {framework: python_path(path) for framework, path in pythons if path},
        "closest": args.closest,
        "precision": args.precision,
        "graph": args.graph,
    }


def _small_files(folder: str, found: Verification, language: Language) -> Iterator[tuple[str, str]]:
    """Path and text of each small file; two of one framework are told apart by their places."""
    if not found.small:
        tell(f"accmap: {say.verify_built_nothing_small().text(language)}")
    frameworks = [one.config.framework for one in found.small]
    for place, (one, source) in enumerate(zip(found.small, found.files, strict=False)):
        config = one.config
        apart = f"_{'ab'[place]}" if frameworks.count(config.framework) > 1 else ""
        ending = ".sh" if config.framework == "megatron" else ".yaml"
        said = say.verify_small_file_of(source=visible(os.path.basename(source)), version=config.framework_version)
        yield os.path.join(folder, f"{config.framework}{apart}{ending}"), f"# {said.text(language)}\n{one.text}"


def run_verification(
    names: Sequence[str],
    options: ReadOptions,
    chosen: dict[str, Any],
    stdin_name: str | None = None,
    *,
    prepared: bool = False,
    language: Language = "en",
    versions: SideVersions | None = None,
    workers: Workers | None = None,
) -> tuple[Verification, Sequence[Diagnostic], Sequence[Config]]:
    """Result of both models for a pair, the linter's findings, and the files as they were read."""
    texts = [read_input(name, stdin_name) for name in names]
    configs = read_runs(names, texts, options, versions or SideVersions())
    # A run that its framework refuses has ended by now: NumPy and the plan of the models are not imported for it.
    from ...verifier.verify import Options, verify
    from ...verifier.worker.processes import termination_interrupts
    from ..configuration import find_configuration
    from ..linting.settings import start_of

    store = frameworks_folder()
    a, b = configs
    if chosen.get("graph") and "static" not in (a.dialect, b.dialect):
        raise UsageError(say.verify_graph_needs_a_static_one())
    if prepared:
        prepare_frameworks(_without_source((a, b), chosen), store, language)
    configuration = find_configuration(start_of(names, stdin_name))
    every: dict[str, Any] = {
        "store": store,
        "accepted": configuration.accepted_differences,
        "precision": "auto",
        **chosen,
    }
    findings = findings_of(configs, texts)
    with termination_interrupts():
        found = verify(a, b, pair_findings(findings), Options(**every), workers=workers, progress=busy_with)
    if found.verdict == "not-verifiable":
        return found, (), configs
    warn_of_accepted_in_vain(found, configuration, language)
    return list_without_defects(found, shown_defects(found, findings)), findings, configs


def pair_findings(findings: Sequence[Diagnostic]) -> Findings:
    """The linter's findings as the verifier takes them."""
    from ...rules.registry import codes, rule
    from ...verifier.verdict.coverage import Findings

    return Findings(findings, frozenset(code for code in codes() if rule(code).scope == "pair"))


def list_without_defects(found: Verification, shown: Sequence[Diagnostic]) -> Verification:
    """The answer whose list leaves out the known defects that stand beside the divergence."""
    codes = {one.kind.code for one in shown}
    return found._replace(not_compared=tuple(entry for entry in found.not_compared if entry.field not in codes))


def _without_source(configs: Sequence[Config], chosen: Mapping[str, Any]) -> list[Config]:
    """The files whose framework is run from no folder that the command line names."""
    given: Collection[str] = chosen.get("sources", ())
    each = zip(configs, chosen.get("each_source", (None, None)), strict=True)
    return [config for config, own in each if not own and config.framework not in given]


def _read_text(text: SourceText, options: ReadOptions) -> Config:
    return config_of(text, options, path=text.name)


def read_runs(
    names: Sequence[str],
    texts: Sequence[SourceText],
    options: ReadOptions,
    versions: SideVersions,
    read: Callable[[SourceText, ReadOptions], Config] = _read_text,
) -> list[Config]:
    """The files read; UnreadableError or a refusal where one is no training run of a known class."""
    each = zip(texts, versions.options_of(names, options), strict=True)
    configs = [require_run(read(text, own)) for text, own in each]
    versions.require_clear(configs, options)
    for name, config in zip(names, configs, strict=True):
        versions.require_own(names, name, config)
        require_training(config)
        require_accepted(config)
        unknown = unknown_class(config)
        if unknown is not None:
            raise UnreadableError(unknown)
    return configs


def warn_of_accepted_in_vain(found: Verification, configuration: Configuration, language: Language) -> None:
    """Names that the project's configuration accepts and that decide nothing here."""
    from ..configuration import ignored_configurations

    ignored = ignored_configurations(configuration, language)
    if ignored is not None:
        tell(f"accmap: {ignored}")
    from ...verifier.verification import is_accepted

    names = [entry.field for entry in found.not_compared if entry.accepted or entry.differs]
    for name in configuration.accepted_differences:
        if not any(is_accepted(field, (name,)) for field in names):
            tell(f"accmap: {say.verify_accepts_in_vain(path=configuration.path, name=name).text(language)}")


def rules_for(found: Verification, findings: Sequence[Diagnostic] = ()) -> tuple[str, ...]:
    """The codes of the rules that cover a divergence.

    First what the linter itself reports of this pair about the fields behind the module, the gravest first; then the
    rules that would speak of these fields: of those that differ, where any do.
    """
    if found.divergence is None:
        return ()
    behind = set(found.divergence_fields)
    told = [entry for entry in findings if entry.kind.severity != "info" and behind.intersection(entry.fields)]
    told.sort(key=lambda entry: entry.kind.severity != "error")
    codes = [*(entry.kind.code for entry in told), *_rules_about(found)]
    return tuple(dict.fromkeys(codes))[:_MOST_RULES]


def shown_defects(found: Verification, findings: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The known defects that concern the files, fit the divergence, and are in the versions that really ran."""
    if found.divergence is None:
        return ()
    from ..reference.known_defects import has_defect, is_package_affected, known_defects, matching_defects

    rows, ran = (
        known_defects(),
        {framework: _versions_that_ran(found, name) for framework, name in _PACKAGES.items()},
    )
    fit = matching_defects(findings, ("loss", "gradient", "weights"), found.divergence_fields)
    # What stands in for Transformer Engine on a CPU has none of its defects, and no fork runs.
    return tuple(
        one
        for one in fit
        if any(has_defect(rows[one.kind.code], version) for version in ran.get(rows[one.kind.code]["framework"], ()))
        and is_package_affected(rows[one.kind.code], {})
    )


_PACKAGES = {"megatron": "megatron-core", "mindformers": "mindformers"}


def _versions_that_ran(found: Verification, package: str) -> list[str]:
    """The versions of a package that ran: of two files of one framework there may be two."""
    return [version for name, version in found.versions.items() if name.partition(" ")[0] == package]


def findings_of(configs: Sequence[Config], sources: Sequence[SourceText]) -> Sequence[Diagnostic]:
    """Findings of the linter about the pair."""
    from ...mapper.recipe.reading import recipe_of
    from ...rules.engine import check
    from ...rules.subject import Side, Subject, in_order

    sides = (Side(config, recipe_of(config), source) for config, source in zip(configs, sources, strict=True))
    return check(Subject(in_order(sides), "train", {}, {})).diagnostics


def _rules_about(found: Verification) -> tuple[str, ...]:
    """Codes of the rules about the differing fields, else about those behind the divergence, the best match first."""
    from ...rules import registry

    differing = {entry.field for entry in (*found.differing, *found.suspected)}
    wanted = differing or set(found.divergence_fields)
    codes: list[tuple[int, str]] = []
    for code in registry.codes():
        rule = registry.rule(code)
        shared = wanted.intersection(rule.fields)
        # Without a difference between the files, only a rule with a check of its own can have seen anything.
        if shared and (differing or rule.check):
            codes.append((-len(shared), code))
    return tuple(code for _shared, code in sorted(codes))


def frameworks_folder() -> str | None:
    """Folder of prepared frameworks, whose code is run; None if this user has no place for them."""
    import os

    from ..cache import private_directory

    above = private_directory()
    return None if above is None else os.path.join(above, "frameworks")


def prepare_frameworks(configs: Sequence[Config], store: str | None, language: Language) -> None:
    """Download what is not here; what cannot be is told, and by the verdict."""
    from ...verifier.installations import choose_installation, list_prepared, prepare_wheel, wheel_of

    if store is None:
        raise UsageError(say.prepare_needs_a_place())
    for config in configs:
        framework = config.framework
        wheel = wheel_of(framework, config.framework_version)
        here, _why = choose_installation(config.basis, source=None, store=store, closest=False)
        if here is None and wheel is not None:
            prepare_wheel(framework, wheel, store, lambda line: tell(f"accmap verify: {line.text(language)}"))
    prepared = list_prepared(store)
    if prepared:
        size = in_bytes(sum(one.size for one in prepared))
        told = say.frameworks_in_store(count=len(prepared), folder=store, size=size)
        tell(f"accmap verify: {told.text(language)}")


def run_clean(args: VerifyCleanArgs) -> int:
    """Remove the frameworks that `--prepare` downloaded, or list them."""
    from ...verifier.installations import list_prepared, remove_prepared

    store = frameworks_folder()
    named = set(args.files)
    chosen = [one for one in list_prepared(store or "") if not named or one.names & named]
    unknown = named - {name for one in chosen for name in one.names}
    if unknown:
        raise UsageError(say.no_framework_prepared(named=f": {', '.join(sorted(unknown))}"))
    for one in chosen:
        told = {"framework": one.framework, "version": one.version, "size": in_bytes(one.size)}
        if args.list:
            print_line(f"{one.framework} {one.version}  {told['size']}  {visible(one.folder)}")
        else:
            remove_prepared(one)
            print_line(say.framework_removed(**told).text(args.lang))
    if not chosen:
        print_line(say.no_framework_prepared(named="").text(args.lang))
    return FINE


def given_sizes(args: VerifyArgs | VerifyRecordArgs | VerifyExportArgs) -> dict[str, int]:
    """The sizes that options fix, by recipe field; UsageError for one that no model has."""
    given: dict[str, int] = {name: value for name in SIZE_OPTIONS if (value := getattr(args, name)) is not None}
    for option, value in given.items():
        if value < 1:
            raise counts_from_one(f"--{option}", value)
        if option == "sequence" and value < LEAST_SEQUENCE:
            raise UsageError(say.verify_sequence_too_short(least=LEAST_SEQUENCE, length=value))
    return {SIZE_OPTIONS[option]: value for option, value in given.items()}


def _worker_limits(timeout: int | None, memory: int | None) -> Any:
    from ...verifier.worker.processes import Limits

    usual = Limits()
    return Limits(float(timeout or usual.seconds), float(memory or usual.megabytes))


def verified_pair(
    names: Sequence[str], options: ReadOptions, stdin_name: str | None, language: Language
) -> Callable[[Language], dict[str, Any]]:
    """A verification with its usual options, as the answer in each language; UsageError if a framework is missing."""
    from ...verifier.installations import MissingFrameworkError

    try:
        found, findings, configs = run_verification(names, options, {}, stdin_name, language=language)
    except MissingFrameworkError as error:
        raise UsageError(verbatim(missing_sentence(error, language))) from None
    return _answers(found, rules_for(found, findings), [one.basis for one in configs], shown_defects(found, findings))


def _answers(
    found: Verification, rules: Sequence[str], bases: Sequence[Basis], defects: Sequence[Diagnostic]
) -> Callable[[Language], dict[str, Any]]:
    """The answer in each language."""

    def answer(language: Language) -> dict[str, Any]:
        read_as = [{"file": file, **basis.to_json(language)} for file, basis in zip(found.files, bases, strict=False)]
        return found.to_json(rules, [one.to_json(language) for one in defects], read_as, language)

    return answer


def missing_sentence(error: Any, language: Language) -> str:
    """Sentence on the missing packages, with the one command that installs them."""
    from ...schemas.installation import install_command

    if error.python is not None:
        return say.verify_python_lacks(path=error.python, packages=join_words(error.modules)).text(language)
    return say.verify_needs(packages=join_words(error.modules), command=install_command("verify")).text(language)


def render_verification(
    found: Verification,
    rules: tuple[str, ...],
    format: str,  # noqa: A002 - the option's name
    language: Language,
    bases: Sequence[Basis] = (),
    defects: Sequence[Diagnostic] = (),
    *,
    to_file: bool = False,
) -> Outgoing:
    """The report in one of the output formats."""
    answer = _answers(found, rules, bases, defects)
    if format == "json":
        return json_text(json_value(answer(language)))
    from ..pages.formats import write_document
    from ..pages.verify_report import verify_document

    def build(one: Language) -> Document:
        read_as = list_words((basis.text(one) for basis in bases), one, "semicolon")
        return verify_document(answer(one), one)._replace(footer=read_as)

    return write_document(build, format, language, to_file=to_file)

"""Effective values of an argument vector: every argument's value and its origin.

First the vector is taken apart as argparse does (`argument_parser`), then the validation of that version runs over the
values (`validation`): what it changes is `derived`, what it refuses is a problem. Values that Megatron-LM takes from a
file which is not read here are marked (`OUTSIDE`): `checkpointing.py:load_args_from_checkpoint` replaces some always,
others only if the command line leaves them unset; a YAML replaces everything. Last come the requirements of what it
builds after the validation: tokenizer, optimizer, schedule.
"""

from __future__ import annotations

from ..config import Config, Setting, Unresolved
from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..file_kind import program_kind, purpose_of_arguments, purpose_of_unknown_program
from ..message import NOTHING, Words, verbatim
from ..versions import release_of
from .argument_parser import parse, with_declarations
from .catalog import DEFAULT_VERSION
from .forks import OWN, catalog, dialect_asked, fork_of, in_doubt, may_take_it, normalise_version
from .messages_compiled import say
from .validation import unmet_rows, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ..config import Argument, Launch, ReadOptions
    from ..diagnostic import Diagnostic
    from ..file_kind import Purpose
    from ..source import Span
    from .argument_parser import Parsed
    from .catalog import Catalog
    from .dialects import Dialect
    from .versions import Chosen


def megatron_config(
    arguments: Sequence[Argument],
    *,
    file: str,
    options: ReadOptions,
    launch: Launch | None = None,
    unresolved: tuple[Unresolved, ...] = (),
    problems: tuple[Diagnostic, ...] = (),
    chosen: Chosen | None = None,
    purpose: Purpose | None = None,
    folders: Sequence[str] = (),
) -> Config:
    """Configuration of one launch with all effective values.

    `chosen` is a detected version; a fork's checkout may lie at or above `folders`.
    """
    if purpose is not None and not _is_parsed(purpose):
        return _written_config(arguments, file, options, launch, unresolved, purpose)
    version, fork, chosen, known, parsed, rivals = _read_as(arguments, launch, file, options, chosen, folders)
    settings = _explicit(parsed)
    if fork is None and "deepspeed" in settings:  # deepspeed.add_config_arguments: no version of Megatron-LM has it
        settings, more = _with_expert_list(settings)
        unresolved = (*unresolved, *more)
    if purpose is None:
        purpose = purpose_of_arguments(settings, launch, file) or _unknown_program(parsed, settings, launch, file)
        if purpose is not None and not _is_parsed(purpose):
            return _written_config(arguments, file, options, launch, unresolved, purpose)
    settings = _with_defaults(settings, version, fork, known)
    _settle_length(settings, options.steps)
    beside = None if fork is None else fork.rows
    validated = validate(settings, version, file=file, options=options, launch=launch, fork=beside)
    settings, outside = with_overridable(validated.settings, file)
    settings = _replaceable(settings, fork, parsed.overridable)
    origin = "given" if options.megatron is not None else "assumed" if chosen is None else "detected"
    said = _parser_problems(parsed, known, file, launch, certain=origin != "assumed")
    refused = _soften_open(validated.problems, launch, unresolved, problems)
    notes = _dialect_note(fork, file)
    if fork is not None and rivals:

        def read_as(name: str) -> Config:
            asked = options._replace(megatron=name)
            return megatron_config(arguments, file=file, options=asked, launch=launch, purpose=purpose)

        notes += _differing_version(settings, fork, rivals, read_as, file)
    told = _launch_problems(purpose, (*problems, *notes, *said, *outside), refused)
    return Config(
        file,
        "megatron",
        version,
        OWN if fork is None else fork.name,
        settings,
        launch,
        (),
        unresolved,
        in_doubt(told, fork, told),
        origin,
        NOTHING if chosen is None else chosen.reason,
        purpose,
        release_of(options.megatron),
        fork=fork,
    )


def _parser_problems(
    parsed: Parsed, known: Catalog, file: str, launch: Launch | None, *, certain: bool
) -> tuple[Diagnostic, ...]:
    """Parser's problems with explanations for unknown arguments."""
    if not parsed.problems:
        return ()
    from .versions import explain_unknown

    return _by_variable(
        _by_position(explain_unknown(parsed.problems, known, file, certain=certain, own=_is_unnamed(launch)))
    )


def _is_parsed(purpose: Purpose) -> bool:
    """True if Megatron-LM's own parser reads the arguments."""
    return purpose.reads_arguments or purpose.states_network


class _ReadAs(NamedTuple):
    """The version that a vector is read in, and what becomes of it."""

    version: str
    fork: Dialect | None
    chosen: Chosen | None
    known: Catalog
    parsed: Parsed
    rivals: tuple[str, ...] = ()
    """Later versions of the fork, if its version is only assumed."""


def _read_as(
    arguments: Sequence[Argument],
    launch: Launch | None,
    file: str,
    options: ReadOptions,
    chosen: Chosen | None,
    folders: Sequence[str],
) -> _ReadAs:
    """Parsed arguments in the version that is requested, stated by the tree, or detected."""
    asked = chosen.version if chosen is not None else options.megatron
    version = DEFAULT_VERSION if asked is None else normalise_version(asked)
    fork = dialect_asked(asked)
    read = _ReadAs(version, fork, chosen, *_parse_vector(arguments, version, options, file, fork))
    if options.megatron is not None or fork is not None:
        return read
    if _may_be_a_fork(read.parsed, launch):
        from .dialects import recognise_fork
        from .versions import Chosen

        found = recognise_fork(read.parsed, launch, None if chosen is None else chosen.version, folders)
        if found is not None:
            fork, version = found.dialect, found.dialect.base
            chosen = Chosen(version, found.reason)
            known, parsed = _parse_vector(arguments, version, options, file, fork)
            return _ReadAs(version, fork, chosen, known, parsed, found.rivals)
    if asked is None and any(given.fact is None for given in read.parsed.given.values()):
        from .versions import by_arguments

        chosen = by_arguments([given.flag for given in read.parsed.given.values()], read.known)
        if chosen is not None:
            known, parsed = _parse_vector(arguments, chosen.version, options, file)
            return _ReadAs(chosen.version, None, chosen, known, parsed)
    return read


def _parse_vector(
    arguments: Sequence[Argument], version: str, options: ReadOptions, file: str, fork: Dialect | None = None
) -> tuple[Catalog, Parsed]:
    known = with_declarations(catalog(version, fork), options.declared)
    return known, parse(arguments, known, file)


def _may_be_a_fork(parsed: Parsed, launch: Launch | None) -> bool:
    """True if unknown words, layers or the program make a fork likely."""
    if any(given.fact is None for given in parsed.given.values()) or "spec" in parsed.given:
        return True
    if any(problem.kind.name == "invalid-choice" for problem in parsed.problems):
        return True
    return launch is not None and program_kind(launch.script) == "post-training"


def _dialect_note(fork: Dialect | None, file: str) -> tuple[Diagnostic, ...]:
    """The note of a dialect, reported wherever its facts are used."""
    if fork is None or fork.note is None:
        return ()
    return (diagnose(say.dialect_note(label=fork.label, note=Words(*fork.note)), file, None),)


def _differing_version(
    settings: Mapping[str, Setting],
    fork: Dialect,
    rivals: Sequence[str],
    read_as: Callable[[str], Config],
    file: str,
) -> tuple[Diagnostic, ...]:
    """Warning if a later version of a fork, which accepts the launch just as well, makes other values of it.

    The newest is read first, because a change of meaning stays in later versions: if the newest reads the launch in
    the same way, the versions between are not read.
    """
    newest = read_as(rivals[-1])
    if not any(_differing_values(settings, newest, fork)):
        return ()
    others = (*map(read_as, rivals[:-1]), newest)
    later, differences = next(
        (other, found) for other in others if (found := list(_differing_values(settings, other, fork)))
    )
    label = later.framework_version if (theirs := fork_of(later)) is None else theirs.label
    more = ", …" if len(differences) > _SHOWN else ""
    named = ", ".join(f"{key} ({one.value} / {other.value})" for key, one, other in differences[:_SHOWN]) + more
    said = say.version_of_fork_matters(label=fork.label, later=label, name=later.dialect, differences=named)
    return (diagnose(said, file, None),)


_SHOWN = 3


def _differing_values(
    settings: Mapping[str, Setting], other: Config, fork: Dialect
) -> Iterator[tuple[str, Setting, Setting]]:
    """Arguments of Megatron-LM that a launch sets or leads to, and whose values two readings of it decide otherwise.

    A default that another version changed does not count: that is a difference of the versions, not of the launch.
    """
    for key, one in settings.items():
        theirs = other.settings.get(key)
        if theirs is None or key in fork.own or one.origin == theirs.origin == "default":
            continue
        if one.decided and theirs.decided and one.value != theirs.value:
            yield key, one, theirs


def _is_unnamed(launch: Launch | None) -> bool:
    """True if a program is started that no table names."""
    return launch is not None and launch.script is not None and program_kind(launch.script) is None


def _unknown_program(parsed: Parsed, settings: dict[str, Setting], launch: Launch | None, file: str) -> Purpose | None:
    """Purpose of an unlisted program, by its arguments."""
    if launch is None or launch.script is None:
        return None
    found = [given.fact is not None for given in parsed.given.values()]
    return purpose_of_unknown_program(launch, found, settings, file)


def _replaceable(
    settings: dict[str, Setting], fork: Dialect | None, decided: frozenset[str] | None
) -> dict[str, Setting]:
    """Settings, with those marked that a later word or file may replace."""
    if fork is not None and fork.alone is not None:
        settings = {key: one if one.decided else one._replace(overridable=True) for key, one in settings.items()}
    return (
        settings
        if decided is None
        else {key: one if key in decided else one._replace(overridable=True) for key, one in settings.items()}
    )


def _explicit(parsed: Parsed) -> dict[str, Setting]:
    """Settings that the launch gives."""
    return {
        given.dest: Setting(
            given.dest,
            given.value,
            "explicit",
            given.span,
            given.raw,
            given.flag,
            acceptance="accepted" if given.fact is not None else "unknown",
            decided=given.decided,
        )
        for given in parsed.given.values()
    }


def _with_expert_list(settings: dict[str, Setting]) -> tuple[dict[str, Setting], tuple[Unresolved, ...]]:
    """Settings of Megatron-DeepSpeed with its list of experts interpreted, and what is undecided.

    Its `--num-experts` is a list with an entry for each layer that has experts: `megatron/arguments.py`
    (_add_network_size_args) takes any number of them, [1] by default, and the layer has no experts where its entry is 1
    (`model/transformer.py:ParallelTransformerLayer`). One other number stands for every second layer
    (`--expert-interval`), whose router chooses `--topk` of them: no network that Megatron-LM's argument describes.
    """
    known, experts = dict(settings), settings.get(_EXPERTS)
    if experts is None or experts.raw is None:
        return known, ()
    if experts.decided and set(experts.raw) == {"1"}:
        known[_EXPERTS] = experts._replace(value=None)
        return known, ()
    known[_EXPERTS] = experts._replace(value=None, decided=False)
    if experts.span is None:
        return known, ()
    return known, (Unresolved(f"{experts.flag} {' '.join(experts.raw)}", say.experts_of_deepspeed(), experts.span),)


def _launch_problems(
    purpose: Purpose | None, problems: tuple[Diagnostic, ...], refused: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """The problems of a launch: fewer for a program that trains something else."""
    if purpose is None:
        return problems + refused
    if purpose.states_network:
        return (purpose.problem,)
    found = problems + refused if purpose.trains_gpt else problems
    return (purpose.problem, *(() if purpose.own_arguments else found))


def _soften_open(
    problems: tuple[Diagnostic, ...],
    launch: Launch | None,
    unresolved: tuple[Unresolved, ...],
    of_the_file: tuple[Diagnostic, ...],
) -> tuple[Diagnostic, ...]:
    """Problems in which a missing argument is a warning if an undecided word may contain it.

    The environment holds no arrays: `${EXTRA[@]}` is nothing where neither the file nor one that it reads fills it.
    """
    if launch is not None and launch.not_given is not None:
        return _without_arguments(problems, launch, launch.not_given)
    if launch is None or not problems or not more_may_stand(unresolved, of_the_file):
        return problems
    return tuple(
        problem._replace(kind=problem.kind._replace(severity="warning"))
        if problem.kind.severity == "error" and problem.span == launch.span and not problem.related
        else problem
        for problem in problems
    )


def _by_position(problems: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Problems in which all values from `$1`, `$2` share one finding."""
    from ..shell.messages_compiled import say as told

    numbers = {str(told.argument_not_given(name=str(number))): number for number in range(1, _MOST_ARGUMENTS)}
    found = [(one, numbers[why]) for one in problems if (why := str(dict(one.values).get("why"))) in numbers]
    if len(found) < 2:
        return problems
    open_keys = ", ".join(dict.fromkeys(str(dict(one.values)["key"]) for one, _ in found if "key" in dict(one.values)))
    asked = ", ".join(map(str, sorted({number for _, number in found})))
    first = found[0][0]
    head = diagnose(say.own_arguments_open(numbers=asked, keys=open_keys), first.file, first.span)
    waiting = {id(one) for one, _ in found}
    return (head, *(one._replace(because=head.mark) if id(one) in waiting else one for one in problems))


_MOST_ARGUMENTS = 100


def _by_variable(problems: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Problems in which the first that an unset variable leaves undecided is the cause of the others."""
    from ..shell.messages_compiled import say as told

    heads: dict[str, Diagnostic] = {}
    linked: list[Diagnostic] = []
    for problem in problems:
        why = str(dict(problem.values).get("why", ""))
        name = why.partition(" ")[0]
        if problem.because is None and why and why == str(told.not_set(name=name)):
            head = heads.setdefault(name, problem)
            problem = problem if head is problem else problem._replace(because=head.mark)
        linked.append(problem)
    return tuple(linked)


def more_may_stand(unresolved: Sequence[Unresolved], of_the_file: tuple[Diagnostic, ...]) -> bool:
    """True if an undecided word may contain further arguments."""
    open_words = [one for one in unresolved if one.may_split]
    return bool(open_words) and not _are_no_arrays(open_words, of_the_file)


def _are_no_arrays(words: Sequence[Unresolved], of_the_file: tuple[Diagnostic, ...]) -> bool:
    """True if the undecided words are arrays that nothing fills."""
    from ..shell.messages_compiled import say
    from ..shell.script import UNREAD

    if any(one.kind.name in (*UNREAD, "effect-not-known") for one in of_the_file):
        return False
    ends = ("[@]}", "[*]}")
    names = [one.text.strip('"').removeprefix("${") for one in words]
    return all(
        name.endswith(ends) and one.reason == say.not_set(name=name[: -len(ends[0])])
        for name, one in zip(names, words, strict=True)
    )


def _without_arguments(problems: tuple[Diagnostic, ...], launch: Launch, place: Span) -> tuple[Diagnostic, ...]:
    """Problems in which one finding replaces all refusals of a script called without arguments."""
    lacking = [one for one in problems if one.kind.severity == "error" and one.span == launch.span and not one.related]
    if not lacking:
        return problems
    more = say.more_is_lacking(count=len(lacking) - 1) if len(lacking) > 1 else ""
    said = diagnose(say.arguments_not_given(why=lacking[0].words(), more=more), lacking[0].file, place)
    return (said, *(one for one in problems if one not in lacking))


def _written_config(
    arguments: Sequence[Argument],
    file: str,
    options: ReadOptions,
    launch: Launch | None,
    unresolved: tuple[Unresolved, ...],
    purpose: Purpose,
) -> Config:
    """Configuration with written arguments only, for programs outside Megatron-LM."""
    from .catalog import catalog_of

    version = DEFAULT_VERSION if options.megatron is None else normalise_version(options.megatron)
    parsed = parse(arguments, catalog_of(version, ()), file)
    settings = {key: entry._replace(acceptance="accepted") for key, entry in _explicit(parsed).items()}
    origin = "assumed" if options.megatron is None else "given"
    return Config(
        file,
        "megatron",
        version,
        "arguments",
        settings,
        launch,
        (),
        unresolved,
        (purpose.problem,),
        origin,
        purpose=purpose,
        release=release_of(options.megatron),
    )


def _settle_length(settings: dict[str, Setting], steps: int | None) -> None:
    """Set the run length from `--steps` if the launch leaves it open."""
    known = settings.get("train_iters")
    if steps is None or known is None or any(settings[name].value for name in _LENGTH if name in settings):
        return
    settings["train_iters"] = known._replace(value=steps, origin="derived", derived_from=("--steps",), decided=True)


def _base_defaults(version: str, fork: Dialect | None) -> dict[str, Setting]:
    """Settings of Megatron-LM's arguments that a program does not take; some are undecided."""
    if fork is None or fork.alone is None:
        return {}
    return {
        fact.dest: Setting(fact.dest, None, "default", decided=False)
        if fact.group in fork.alone
        else Setting(fact.dest, fact.default, "default")
        for fact in reversed(catalog(version).arguments)
    }


_EXPERTS = "num_experts"
_LENGTH = ("train_iters", "train_samples")
_known: list[tuple[Catalog, dict[str, Setting]]] = []


def _with_defaults(
    settings: dict[str, Setting], version: str, fork: Dialect | None, known: Catalog
) -> dict[str, Setting]:
    """The given settings first, then all others by default: open if a file is only a part of the configuration."""
    own = _defaults(known)
    if fork is not None and fork.overrules:
        own = {key: one for key, one in own.items() if key not in fork.overrules}
    defaults = {**_base_defaults(version, fork), **own}
    if fork is not None and fork.whole is not None:
        if fork.whole not in settings:
            defaults = {key: one._replace(decided=False) for key, one in defaults.items()}
        settings = {key: _as_by_default(one, known, version) for key, one in settings.items()}
    return {**settings, **defaults, **settings}


def _as_by_default(setting: Setting, known: Catalog, version: str) -> Setting:
    """Setting with origin `default` if its value equals Megatron-LM's default."""
    fact = catalog(version).by_dest.get(setting.key) or known.by_dest.get(setting.key)
    same = fact is not None and setting.decided and setting.value == fact.default
    return setting._replace(origin="default") if same else setting


def _defaults(known: Catalog) -> dict[str, Setting]:
    """Settings of all arguments at their defaults."""
    for kept, settings in _known:
        if kept is known:
            return settings
    settings = {dest: Setting(dest, fact.default, "default") for dest, fact in known.by_dest.items()}
    _known.insert(0, (known, settings))
    del _known[4:]
    return settings


_STOPPED = ("MAP035", "MAP117")
"""The validation has come to no end, or the script lacks its arguments: what would be built is another matter."""


class NotBuilt(NamedTuple):
    """A requirement that is not met."""

    key: str
    """The first of its arguments that is written, or else one that is missing."""
    condition: str
    why: Words
    certain: bool
    """True if the run stops; what is not in the file, or a fork, may meet the requirement."""


def unmet_requirements(config: Config) -> Iterator[NotBuilt]:
    """Requirements that are certainly not met."""
    if config.framework != "megatron" or config.unresolved:
        return
    if any(problem.kind.code in _STOPPED for problem in config.problems):
        return
    for condition, when, read in unmet_rows(config):
        if any(config.settings[name].overridable for name in read):
            continue
        names = sorted(read, key=lambda name: name not in condition)
        written = next((name for name in names if config.settings[name].origin == "explicit"), None)
        missing = next((name for name in names if config.value(name) is None), names[0])
        # what the training script does by itself is not the arguments' affair
        by_script = when.startswith("script_default")
        counts = NOTHING if by_script or not when else say.when_so(when=verbatim(when.split(" and script_default")[0]))
        why = say.is_required(condition=condition, when=counts, but=_device_count(config, read))
        given = written is not None or config.launch is None or config.launch.not_given is None
        yield NotBuilt(written or missing, condition, why, given and not may_take_it(config))


def _device_count(config: Config, read: Collection[str]) -> Words:
    """Number of devices and its source, if a requirement reads it and the launch sets it."""
    devices = config.value("world_size") if "world_size" in read else None
    source = "" if config.launch is None else config.launch.source_of(devices, config.file)
    return say.but_so_many(devices=devices, source=source) if source else NOTHING


class Outside(NamedTuple):
    """One argument that reads values from elsewhere."""

    where: Callable[[], Words]
    always: frozenset[str] | None
    """The values it replaces; None for all of them."""
    unset: frozenset[str] = frozenset()
    """The values it replaces where they are not given."""


_FROM_CHECKPOINT = frozenset([
    "add_bias_linear", "add_position_embedding", "add_qkv_bias", "apply_layernorm_1p", "apply_query_key_layer_scaling",
    "attention_dropout", "group_query_attention", "heterogeneous_layers_config_encoded_json",
    "heterogeneous_layers_config_path", "hidden_dropout", "hybrid_attention_ratio", "hybrid_mlp_ratio",
    "hybrid_override_pattern", "is_hybrid_model", "mamba_head_dim", "mamba_num_groups", "mamba_num_heads",
    "mamba_state_dim", "moe_ffn_hidden_size", "moe_grouped_gemm", "moe_latent_size", "moe_layer_freq",
    "moe_router_enable_expert_bias", "moe_router_pre_softmax", "moe_router_score_function", "moe_router_topk",
    "moe_router_topk_scaling_factor", "moe_shared_expert_intermediate_size", "moe_single_grouped_bias",
    "moe_single_grouped_weight", "moe_token_dispatcher_type", "mtp_hybrid_override_pattern", "mtp_num_layers",
    "mtp_use_repeated_layer", "normalization", "num_experts", "num_query_groups", "position_embedding_type",
    "rotary_base", "rotary_interleaved", "rotary_percent", "spec", "squared_relu", "swiglu", "tiktoken_pattern",
    "tokenizer_model", "tokenizer_type", "untie_embeddings_and_output_weights", "use_rotary_position_embeddings",
])  # fmt: skip
_WHERE_UNSET = frozenset([
    "ckpt_format", "ffn_hidden_size", "hidden_size", "hybrid_layer_pattern", "kv_channels", "max_position_embeddings",
    "num_attention_heads", "num_layers", "padded_vocab_size", "seq_length",
])  # fmt: skip
_PARALLEL = frozenset(
    [
        "expert_model_parallel_size",
        "num_layers_per_virtual_pipeline_stage",
        "pipeline_model_parallel_size",
        "tensor_model_parallel_size",
        "virtual_pipeline_model_parallel_size",
    ]
)
_RETRO = frozenset([
    "data_cache_path", "data_path", "eval_interval", "eval_iters", "global_batch_size", "max_position_embeddings",
    "merge_file", "seed", "seq_length", "tokenizer_model", "tokenizer_type", "train_samples", "vocab_file",
])  # fmt: skip
OUTSIDE = {
    "use_checkpoint_args": Outside(lambda: say.the_checkpoint(), _FROM_CHECKPOINT, _WHERE_UNSET),
    "use_mp_args_from_checkpoint_args": Outside(lambda: say.the_checkpoint(), _PARALLEL),
    "yaml_cfg": Outside(lambda: say.the_yaml(), None),
    "retro_project_dir": Outside(lambda: say.the_project(), _RETRO),
    "result_rejected_tracker_filename": Outside(lambda: say.the_file(), frozenset({"iterations_to_skip"})),
    "data_args_path": Outside(lambda: say.the_file(), frozenset({"data_path"})),
    "per_split_data_args_path": Outside(
        lambda: say.the_file(), frozenset({"train_data_path", "valid_data_path", "test_data_path"})
    ),
}


def with_overridable(settings: dict[str, Setting], file: str) -> tuple[dict[str, Setting], tuple[Diagnostic, ...]]:
    """Settings marked as replaceable by outside files, and a problem for each such file."""
    problems: list[Diagnostic] = []
    for dest, outside in OUTSIDE.items():
        setting = settings.get(dest)
        if setting is None or setting.origin == "default" or (setting.decided and not setting.value):
            continue
        problems.append(diagnose(say.outside_values(flag=setting.flag, where=outside.where()), file, setting.span))
        settings = {
            key: entry._replace(overridable=True) if _overrides_setting(outside, entry) else entry
            for key, entry in settings.items()
        }
    return settings, tuple(problems)


def _overrides_setting(outside: Outside, setting: Setting) -> bool:
    if outside.always is None or setting.key in outside.always:
        return True
    touched = outside.always | outside.unset
    return (setting.key in outside.unset and setting.raw is None) or (
        setting.raw is None and any(name in touched for name in setting.derived_from)
    )

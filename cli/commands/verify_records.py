"""`accmap verify record FILE`, `join A B` and `export A B`: each side runs where its device is, and the records meet.

`record`: 0 for a record, 1 if the framework cannot run the file, 2 for wrong use. `join`: the exit codes of `verify`; 2
also for records that are damaged or are not two sides of one pair.
"""

from __future__ import annotations

import json
import os

from ...mappings.tables import field_named
from ...schemas.border.file_output import deliver, write_folder
from ...schemas.border.inputs import is_file, is_folder, names_in, stands
from ...schemas.border.text_output import say as print_line
from ...schemas.border.text_output import tell, visible
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..argument_parser import UsageError, counts_from_one
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import SideVersions, read_input
from ..messages_compiled import say
from ..progress import busy_with
from .verify import (
    chosen_options_of,
    findings_of,
    frameworks_folder,
    given_sizes,
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
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Language
    from ...schemas.source import SourceText
    from ...verifier.installations import Installation
    from ...verifier.pair import Options, Pair
    from ...verifier.plan.dimensions import SmallFile
    from ...verifier.record import RecordRequest, SideFile
    from ..arguments_compiled import VerifyExportArgs, VerifyJoinArgs, VerifyRecordArgs


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
    """The request for one side's record; None, after a message, if its file or its version cannot be used."""
    from ...verifier.pair import Options
    from ...verifier.record import RecordRequest, weights_digest

    files = read_sides([args.files[0], *([args.pair] if args.pair else [])], args)
    own, options = files[0].config, Options(**chosen_options_of(args), store=frameworks_folder())
    _require_runnable([one.config for one in files], args)
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


def _require_runnable(configs: Sequence[Config], args: VerifyRecordArgs) -> None:
    """UsageError for a device or a graph that the first file, beside its partner, does not run on."""
    config = configs[0]
    if _FRAMEWORKS_OF.get(args.device, config.framework) != config.framework:
        raise UsageError(
            say.record_device_of_the_other(device=args.device, file=config.file, framework=config.framework)
        )
    # The partner of a compiled graph is recorded with --graph, too: it then leaves out the same stages.
    if args.graph and all(one.dialect != "static" for one in configs):
        raise UsageError(say.verify_graph_needs_a_static_one())
    if args.graph and config.dialect == "static" and args.device != "cpu":
        raise UsageError(say.record_graph_needs_a_cpu())


def _is_buildable(config: Config, language: str) -> bool:
    """True if a model can be built from a file; the reason why not is told."""
    from ...verifier.pair import SIDES

    obstacle = SIDES[config.framework].build_obstacle(config)
    if obstacle is not None:
        tell(f"accmap: {say.record_not_verifiable(file=config.file, why=obstacle).text(language)}")
    return obstacle is None


def read_sides(names: Sequence[str], args: VerifyRecordArgs | VerifyExportArgs) -> list[SideFile]:
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
    join = f"accmap verify join {visible(args.output or '')} OTHER.npz"
    print_line(f"{word('next')}: {join}  ({word('record_of')} {visible(partner)})")


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
    found = join_records(recorded, pair_findings(findings), accepted=accepted)
    if found.verdict == "not-verifiable":
        findings = ()
    else:
        warn_of_accepted_in_vain(found, configuration, args.lang)
    shown = shown_defects(found, findings)
    found = list_without_defects(found, shown)
    bases = [config.basis for config in configs]
    text = render_verification(
        found, rules_for(found, findings), args.format, args.lang, bases, shown, to_file=args.output is not None
    )
    deliver(text, args.output, force=args.force)
    return FINE if found.verdict == "match" else BAD


_RUN_CPU = '''"""Run this side's small model on a CPU and write record.npz for `accmap verify join`.

Needs the framework, and not accmap. `runner/` holds the code that runs the model, with the stand-ins for kernels that
a CPU lacks; the record names those that were used.
"""

import json
import os
import platform
import secrets
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("GLOG_v", "4")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from runner.verifier.worker.blueprint import job_from_json  # noqa: E402
from runner.verifier.worker.server import backend_of  # noqa: E402
from runner.verifier.worker.session import perform  # noqa: E402


def main():
    with open(os.path.join(HERE, "plan.json"), encoding="utf-8") as stream:
        plan = json.load(stream)
    description = plan["description"]
    backend = backend_of(description["worker"])
    runs, arrays = [], {}
    for number, entry in enumerate(plan["jobs"]):
        print(f"run {number + 1} of {len(plan['jobs'])}", file=sys.stderr)
        found = perform(job_from_json(entry["job"]), backend)
        runs.append({"key": entry["key"], "values": found.values})
        arrays.update({f"run-{number}/{name}": array for name, array in found.arrays.items()})
    versions = runs[0]["values"]["versions"]
    description["installation"] |= {"version": versions[plan["package"]], "folder": sys.prefix}
    description["machine"] = {"system": platform.platform(), "python": platform.python_version()}
    description["run"] = secrets.token_hex(8)
    told = json.dumps({**description, "runs": runs}).encode()
    np.savez(os.path.join(HERE, "record.npz"), record=np.frombuffer(told, np.uint8), **arrays)
    used = runs[0]["values"]["stand_ins"]
    print(f"record.npz: {versions}, stand-ins: {', '.join(used) or 'none'}")


if __name__ == "__main__":
    main()
'''
_PACKAGES = {"megatron": "megatron-core", "mindformers": "mindformers"}
_MEGATRON_PROGRAM = '"${MEGATRON_LM:-/opt/Megatron-LM}"/pretrain_gpt.py'
_MINDFORMERS_PROGRAM = '"${MINDFORMERS:-/opt/mindformers}"/run_mindformer.py'
_TREES = {"megatron": "MEGATRON_LM=/path/to/Megatron-LM", "mindformers": "MINDFORMERS=/path/to/mindformers"}
_DUMP = "/tmp/accmap-dump"
"""The folder for the dump of the other machine, as the README names it."""
_STEPS = 20
"""Steps of the exported launches, as the tables of `EXPORTED` say."""


class _ExportedSide(NamedTuple):
    """One side of an exported folder."""

    name: str
    """The name of its folder."""
    file: SideFile
    at: int
    pair: Pair

    @property
    def launch(self) -> SmallFile:
        """The small file as a short run on the folder's own data."""
        from ...mapper.recipe.reading import recipe_of
        from ...schemas.config import explicit_of
        from ...verifier.constants_compiled import EXPORTED
        from ...verifier.plan.dimensions import SEQUENCE, with_settings

        config = self.pair.files[self.at].config
        rules: Mapping[str, Any] = EXPORTED[
            "megatron" if config.framework == "megatron" else config.dialect or "static"
        ]
        given = {setting.key for setting in explicit_of(config.settings)}
        keys = dict(rules["set"]) | {key: value for key, value in rules["shorten"].items() if key in given}
        recipe, inputs = recipe_of(config), self.pair.inputs[0]
        if "samples" in rules:
            batch = recipe.value("batch.global_size")
            keys[rules["samples"]] = (_STEPS * (batch if isinstance(batch, int) else 1), 0, 0)
            keys[rules["sequence"]] = recipe.value(field_named(SEQUENCE))
            keys[rules["eod"]] = inputs.vocabulary - 1
        begin, copy = rules.get("again", ("", ""))
        if copy:
            keys |= {copy + key.removeprefix(begin): value for key, value in keys.items() if key.startswith(begin)}
        return with_settings(config, {}, keys, rules["drop"])


def run_export(args: VerifyExportArgs) -> int:
    """Write both small models as a folder that runs without accmap."""
    from ...verifier.worker.blueprint import SamplePlan
    from ...verifier.worker.inputs import corpus_bytes

    if args.directory is None:
        raise UsageError(say.export_needs_a_folder())
    if stands(args.directory) and (not is_folder(args.directory) or names_in(args.directory) != []):
        raise UsageError(say.export_folder_is_not_empty(folder=args.directory))
    sides = _sides_of_export(args)
    if sides is None:
        return BAD
    files: dict[str, str | bytes] = {}
    for side in sides:
        files |= {f"{side.name}/{path}": data for path, data in _side_files(side, sides, args).items()}
    vocabulary = sides[0].pair.inputs[0].vocabulary
    corpus = SamplePlan({}, {}, 400, vocabulary, (vocabulary - 1,), 0, 0, 0)
    files["data/corpus.bin"], files["data/corpus.idx"] = corpus_bytes(corpus, 1)
    files |= _dump_files(sides)
    files |= {"README.md": _readme(sides, "en"), "README.zh-CN.md": _readme(sides, "zh")}
    write_folder(args.directory, {os.path.join(args.directory, path): data for path, data in files.items()})
    return FINE


def _sides_of_export(args: VerifyExportArgs) -> list[_ExportedSide] | None:
    """Both sides with their small models; None if one cannot be built, which is told."""
    from ...verifier.pair import assemble_pair

    files = read_sides(args.files, args)
    if not all(_is_buildable(one.config, args.lang) for one in files):
        return None
    if [one.config.framework for one in files] == ["mindformers", "megatron"]:
        files = files[::-1]
    options = _export_options(args)
    pair = assemble_pair(files[0].config, files[1].config, options)
    names = [label.replace(" ", "_") for label in pair.labels]
    return [_ExportedSide(name, file, at, pair) for at, (name, file) in enumerate(zip(names, files, strict=True))]


def _export_options(args: VerifyExportArgs) -> Options:
    """The options of both sides' runs."""
    from ...verifier.pair import Options

    if args.seeds is not None and args.seeds < 1:
        raise counts_from_one("--seeds", args.seeds)
    sizes = given_sizes(args)
    return Options(sizes=sizes, keep_sizes=args.no_shrink, stage=args.stage, seeds=args.seeds or 1, precision="auto")


def _side_files(side: _ExportedSide, sides: Sequence[_ExportedSide], args: VerifyExportArgs) -> dict[str, str | bytes]:
    """The files to export for one side, by path: small configuration, weights, plan and runner."""
    small = side.launch
    framework = small.config.framework
    told = say.verify_small_file_of(
        source=visible(os.path.basename(side.file.source.name)), version=small.config.framework_version
    ).text(args.lang)
    found: dict[str, str | bytes] = {"run_cpu.py": _RUN_CPU, **_runner_files(framework)}
    if framework == "megatron":
        text = small.text.replace("pretrain_gpt.py", _MEGATRON_PROGRAM, 1)
        found |= {"launch.sh": f"#!/bin/bash\n# {told}\n{text}", **_megatron_checkpoint(side)}
    else:
        mode = " --mode 1" if small.config.dialect == "dynamic" else ""
        line = f'python {_MINDFORMERS_PROGRAM} --config "$PWD/mindformers.yaml"{mode}'
        found |= {"launch.sh": f"#!/bin/bash\n# {told}\n{line}\n", "mindformers.yaml": f"# {told}\n{small.text}"}
        found |= _mindformers_checkpoint(side)
    return found | {"plan.json": json.dumps(_plan_of(side, sides, args))}


def _plan_of(side: _ExportedSide, sides: Sequence[_ExportedSide], args: VerifyExportArgs) -> dict[str, Any]:
    """The plan that `run_cpu.py` runs, and the description of its record."""
    from ...verifier.installations import Installation
    from ...verifier.record import RecordRequest, describe, job_key, jobs_of_side

    options, config = _export_options(args), side.file.config
    place = Installation(config.framework, config.framework_version, "", "environment")
    request = RecordRequest(side.file, sides[1 - side.at].file, options, place, "cpu")
    jobs = [{"key": job_key(job), "job": job.to_json()} for job in jobs_of_side(side.pair, options, side.at)]
    return {"description": describe(request, side.pair, side.at), "package": _PACKAGES[config.framework], "jobs": jobs}


def _weights_of(side: _ExportedSide) -> dict[str, Any]:
    """The weights that the seed draws, by Megatron-Core name, as what checkpoints are written from."""
    from ...evidence.weights.weight import Computed
    from ...mapper.recipe.reading import recipe_of
    from ...mapper.weight_layout import expected_weights
    from ...mappings.keys_compiled import CENTRED_NORMS
    from ...verifier.worker.inputs import draw_weight

    config, rounded = side.pair.files[side.at].config, side.pair.blueprints[side.at].rounded
    centred = config.framework == "megatron" and bool(config.value(CENTRED_NORMS))
    found: dict[str, Any] = {}
    for name, shape in expected_weights(recipe_of(config)).items():
        drawn = draw_weight(name, shape, 0, rounded=rounded)
        array = drawn - 1 if centred and name.endswith("norm.weight") else drawn
        found[name] = Computed("F32", array.shape, name, lambda array=array: iter((array,)))
    return found


def _bytes_of(weight: Any) -> bytes:
    return b"".join(block.tobytes() for block in weight.blocks())


def _megatron_checkpoint(side: _ExportedSide) -> dict[str, bytes | str]:
    """A release that `--load` reads: weights alone."""
    from io import BytesIO

    from ...evidence.weights.megatron_torch import Build, Ranks, ranks_of
    from ...evidence.weights.tensor_files import shard_content, write_archive
    from ...mapper.recipe.reading import recipe_of
    from ...mapper.weight_layout import layout_of
    from ...mappings.keys_compiled import LAYERS_OF
    from ...schemas.versions import number_of

    config = side.launch.config
    recipe = recipe_of(config)
    engine = (config.value(LAYERS_OF) or "transformer_engine") == "transformer_engine"
    grouped = bool(recipe.value("moe.grouped_gemm"))
    layout = layout_of(recipe)
    build = Build(engine, grouped, number_of(config.framework_version), latent=layout.mla)
    [(_rank, models)] = ranks_of(_weights_of(side), Ranks(), build, gated=layout.gated)
    stream = BytesIO()
    each = [weight for weights in models.values() for weight in weights.values()]
    write_archive(stream.write, shard_content(models, 0), ((one.size, iter((_bytes_of(one),))) for one in each))
    return {
        "checkpoint/latest_checkpointed_iteration.txt": "release\n",
        "checkpoint/release/mp_rank_00/model_optim_rng.pt": stream.getvalue(),
    }


def _mindformers_checkpoint(side: _ExportedSide) -> dict[str, bytes | str]:
    """One safetensors file and the list of its tensors."""
    from ...evidence.weights.mindformers_files import as_mindformers
    from ...evidence.weights.tensor_files import header_bytes
    from ...mapper.recipe.reading import recipe_of
    from ...mapper.weight_layout import layout_of
    from ...mapper.weights import WeightTable

    config = side.launch.config
    weights, _unknown = as_mindformers(WeightTable(layout_of(recipe_of(config), config)), _weights_of(side))
    data = header_bytes(weights.items()) + b"".join(map(_bytes_of, weights.values()))
    listed = json.dumps(dict.fromkeys(weights, "model.safetensors"), indent=2)
    return {"checkpoint/model.safetensors": data, "checkpoint/param_name_map.json": f"{listed}\n"}


def _dump_files(sides: Sequence[_ExportedSide]) -> dict[str, str]:
    """Settings of msprobe for both launches; none for two files of one framework, whose modules have one name."""
    from ...evidence.dump.config import plan
    from ...evidence.dump.config_request import Request, subject_of
    from ...schemas.config import ReadOptions

    configs = [side.launch.config for side in sides]
    if configs[0].framework == configs[1].framework:
        return {}
    made = plan(subject_of(configs, ReadOptions()), Request(), _DUMP)
    return {} if made.has_errors else {f"dump/{name}": text for name, text in made.files.items()}


_BACKENDS = {"megatron": "verifier/megatron/", "mindformers": "verifier/mindformers/"}
_NOT_NEEDED = ("verifier/mindformers/graph.py",)


def _runner_files(framework: str) -> dict[str, str]:
    """The modules that run a framework's model, as a package `runner`: what `worker.server` imports, and so on."""
    import ast

    from ...schemas.border.file_input import read_named

    others = tuple(folder for name, folder in _BACKENDS.items() if name != framework)
    rooms = {room: _folder_of(room) for room in ("verifier", "mapper", "mappings", "schemas")}
    found: dict[str, str] = {}
    waiting = ["verifier/worker/server.py"]
    while waiting:
        path = waiting.pop()
        if path in found or path in _NOT_NEEDED or path.startswith(others):
            continue
        room, _, rest = path.partition("/")
        found[path] = read_named(os.path.join(rooms[room], *rest.split("/"))).text
        waiting += _imported_modules(path, ast.parse(found[path]), rooms)
    folders = {os.path.dirname(path) for path in found}
    packages = {f"{above}/__init__.py" for folder in folders for above in (folder, os.path.dirname(folder)) if above}
    texts = {"__init__.py": "", **dict.fromkeys(packages, ""), **found}
    return {f"runner/{path}": text for path, text in texts.items()}


def _folder_of(room: str) -> str:
    """The folder of a room of accmap."""
    from importlib.util import find_spec

    spec = find_spec(f"{(__package__ or '').partition('.')[0]}.{room}")
    assert spec is not None
    assert spec.origin is not None
    return os.path.dirname(spec.origin)


def _imported_modules(path: str, tree: Any, rooms: Mapping[str, str]) -> Iterator[str]:
    """The modules that a module imports when it runs, by path."""
    import ast

    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            above = path.split("/")[: -node.level]
            base = "/".join([*above, *(node.module.split(".") if node.module else ())])
            for one in (base, *(f"{base}/{alias.name}" for alias in node.names)):
                room, _, rest = one.partition("/")
                if room in rooms and is_file(os.path.join(rooms[room], *rest.split("/")) + ".py"):
                    yield f"{one}.py"
        yield from _imported_modules(path, node, rooms)


def _readme(sides: Sequence[_ExportedSide], language: Language) -> str:
    """The folder's own description."""
    named = [(side.name, visible(side.file.source.name), side.launch.config) for side in sides]
    (a, a_file, a_config), (b, b_file, b_config) = named
    versions = [f"{config.framework} {config.framework_version}" for config in (a_config, b_config)]
    word = say.page("export_readme", language)
    rows = {
        f"`{a}/launch.sh`, `{b}/launch.sh`": word("launch"),
        f"`{a}/checkpoint`, `{b}/checkpoint`": word("checkpoint"),
        "`data/corpus.bin`, `data/corpus.idx`": word("data"),
        f"`{a}/run_cpu.py`, `{b}/run_cpu.py`": word("run_cpu"),
        "`dump/`": word("dump"),
    }
    about = word("about", a_file=a_file, a_version=versions[0], b_file=b_file, b_version=versions[1])
    launches = [f"cd {name} && {_TREES[config.framework]} bash launch.sh" for name, _file, config in named]
    records = " ".join(f"{name}/record.npz" for name in (a, b))
    lines = [f"# {word('title')}", "", about, "", "| | |", "| --- | --- |"]
    lines += [f"| {path} | {text} |" for path, text in rows.items()]
    lines += ["", f"## {word('devices')}", "", "```", *launches, "```", "", word("logs", dump=_DUMP)]
    lines += ["", f"## {word('cpu')}", "", word("alone"), "", "```"]
    lines += [f"python {name}/run_cpu.py" for name in (a, b)]
    lines += ["```", "", word("record"), "", "```", f"accmap verify join {records}", "```"]
    return "\n".join(lines) + "\n"

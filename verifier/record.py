"""One side's run as a file, and the comparison of two such files: each side runs where its device is.

`record_side` asks one framework every question that a comparison may ask, `write_record` keeps the answers as an
`.npz`, and `join_records` compares two records by the code that compares two processes. A record holds no code: its
arrays are plain numbers, and its description is JSON whose every value is checked when it is read.
"""

from __future__ import annotations

import json
import math
import os
import platform
import secrets
import zipfile
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ..schemas.border.file_input import whole_number
from ..schemas.border.file_output import NewFile, standing_already
from ..schemas.border.inputs import open_regular
from ..schemas.config import ReadOptions
from ..schemas.diagnostic import UsageError, WordsError
from ..schemas.fast_records import NamedTuple
from ..schemas.message import verbatim
from ..schemas.reader import check_versions, config_of
from ..schemas.shared_words import system_reason
from ..schemas.source import SourceText
from .constants_compiled import RECORD
from .installations import Installation
from .messages_compiled import say
from .pair import Options, assemble_pair, runs_native_dtypes
from .plan import dimensions
from .verdict import native_dtypes
from .verdict.comparison import TOLERANCE, compare_answers
from .verification import RecordedSide, Verification
from .verify import OTHER_SEEDS, run_pair
from .worker.processes import HERE, Place, Worker, WorkerAnswer, WorkerFailure, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..schemas.config import Config
    from ..schemas.message import Words
    from .pair import Pair
    from .verdict.coverage import Findings
    from .worker.blueprint import Job

Array = Any

FORMAT = 1
"""Raised when an older program could misread a record."""
NOISE_FACTOR = 4.0
"""How many times the noise of one side two sides may be apart: twice for two sides, and twice for its own spread."""
DEVICES = ("cpu", "cuda", "npu")
_DESCRIPTION = "record"
_KEPT_OPTIONS = ("sizes", "keep_sizes", "stage", "seeds", "precision", "graph")
"""Options that decide what is run."""
_MOST_BYTES = 2 << 30
_LARGEST = 1 << 40
_DIGEST = 16


class Record(NamedTuple):
    """One side's run: its description, and the arrays of each question that was asked."""

    description: Mapping[str, Any]
    answers: Mapping[str, WorkerAnswer]
    """The answer to each job by its key (`job_key`)."""

    @property
    def file(self) -> str:
        """The name of the configuration that was run."""
        return self.description["file"]["name"]

    @property
    def tolerance(self) -> float:
        """Relative difference that this side's own noise between two runs permits."""
        return max(TOLERANCE, NOISE_FACTOR * (self.description["noise"] or 0.0))

    def side(self, label: str) -> RecordedSide:
        """Conditions of this side's run in the form of an answer."""
        told = self.description
        return RecordedSide(label, told["device"], told["machine"], told["noise"], told["settings"], told["weights"])


class SideFile(NamedTuple):
    """A configuration with all that its reading took, so that another machine reads the same."""

    config: Config
    options: ReadOptions
    texts: Mapping[str, SourceText]
    """Each file that was opened; the first one is the configuration itself."""

    @property
    def source(self) -> SourceText:
        """Text of the configuration."""
        return next(iter(self.texts.values()))


def read_for_record(source: SourceText, options: ReadOptions) -> SideFile:
    """Configuration together with the texts of all files that it refers to."""
    from ..schemas.border.file_input import read_named

    texts = {_portable_name(source.name): source}

    def open_and_keep(name: str) -> SourceText:
        opened = read_named(name)
        texts[_portable_name(name)] = opened
        return opened

    return SideFile(config_of(source, options, path=source.name, open_file=open_and_keep), options, texts)


def _portable_name(name: str) -> str:
    """File name relative to the current folder, so that it means the same on another machine."""
    here = os.getcwd() + os.sep
    return name[len(here) :] if name.startswith(here) else name


def file_of(record: Record) -> SideFile:
    """Configuration read again from the texts in a record."""
    from ..schemas.border.file_input import read_named

    told = record.description
    texts = {name: SourceText(name, one["text"], one["encoding"]) for name, one in told["texts"].items()}
    missing = os.path.join(os.sep, "dev", "null", "missing")

    def open_kept(name: str) -> SourceText:
        return texts.get(_portable_name(name)) or read_named(missing)

    options = check_versions(_read_options(told["reading"]))
    source = next(iter(texts.values()))
    config = config_of(source, options, path=source.name, open_file=open_kept, list_directory=lambda _folder: None)
    return SideFile(config, options, texts)


def _read_options(told: Mapping[str, Any]) -> ReadOptions:
    values: dict[str, Any] = {**told, **{name: tuple(told[name]) for name in ("positional", "declared")}}
    return ReadOptions(**values)


def text_digest(text: str) -> str:
    """Digest that identifies a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


def job_key(job: Job) -> str:
    """A digest of all that decides a job's answer.

    Left out are launches, which are only parsed again, and folders: another machine has others.
    """
    blueprint = job.blueprint._replace(launch=None, written=None)
    told = job._replace(blueprint=blueprint, name="", keeps=False, weights="").to_json()
    text = json.dumps(_without_folders(told), sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


def _without_folders(value: Any) -> Any:
    """Copy of a value in which every path is replaced by its last part."""
    if isinstance(value, str):
        return value.rpartition("/")[2]
    if isinstance(value, dict):
        return {name: _without_folders(entry) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, (list, tuple)):
        return [_without_folders(entry) for entry in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def jobs_of_side(pair: Pair, options: Options, at: int) -> Iterator[Job]:
    """Every job that a comparison of this pair may ask of one side, the main one first."""
    blueprint = pair.blueprints[at]
    for seed in range(options.seeds):
        job = pair.job(blueprint, options, seed)
        yield job._replace(keeps=seed == 0)
        yield job._replace(trace=True)
        if blueprint.drops:
            yield job._replace(trace=True, drops=True)
        if pair.padded is not None:
            yield job._replace(trace=True, inputs=(pair.padded,))
        if pair.routes:
            yield job._replace(seed=job.seed + OTHER_SEEDS[0])
            for other in OTHER_SEEDS:
                yield pair.job(blueprint, options, seed + other)
    if runs_native_dtypes(*pair.configs, options):
        yield from native_dtypes.jobs_as_written(pair.job(blueprint, options, 0), routes=pair.routes)


def pairs_of_side(own: Config, other: Config | None, options: Options) -> list[tuple[Pair, int]]:
    """Pairs for which a record is made, with this side's position; two files of one framework give both orders."""
    if other is None:
        return [(assemble_pair(own, own, options), 0)]
    if own.framework != other.framework:
        first = own.framework == "megatron"
        return [(assemble_pair(own, other, options), 0) if first else (assemble_pair(other, own, options), 1)]
    return [(assemble_pair(own, other, options), 0), (assemble_pair(other, own, options), 1)]


class RecordRequest(NamedTuple):
    """Everything that a record is made of."""

    reading: SideFile
    other: SideFile | None
    options: Options
    installation: Installation
    device: str
    weights: str = ""
    """The path of a file whose weights are used; empty for those that the seed draws."""
    weights_digest: str = ""
    repeats: bool = False
    """Run the first job twice: the difference is this side's noise."""


def record_side(
    request: RecordRequest, workers: Workers, progress: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, Array]] | WorkerFailure:
    """Description and arrays of one side's run; the failure if the framework cannot run it."""
    options, own = request.options, request.reading.config
    other = None if request.other is None else request.other.config
    pairs = pairs_of_side(own, other, options)
    jobs: dict[str, Job] = {}
    for pair, at in pairs:
        for job in jobs_of_side(pair, options, at):
            jobs.setdefault(job_key(job), job._replace(weights=request.weights))
    pair, at = pairs[0]
    kind, place = pair.worker_kinds()[at], _place(request, options)
    runs: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    noise: float | None = None
    for number, (key, job) in enumerate(jobs.items()):
        worker = workers.worker(kind, 0, place)
        answer = worker.run(job, progress)
        if isinstance(answer, WorkerFailure):
            if number == 0:
                return answer
            continue  # a comparison does without it, as it does if the process fails there
        runs.append({"key": key, "values": answer.values})
        arrays.update({f"run-{len(runs) - 1}/{name}": array for name, array in answer.arrays.items()})
        if number == 0 and request.repeats:
            noise = _noise(answer, worker.run(job, progress))
    worker = workers.worker(kind, 0, place)
    found = {
        "machine": {**_machine(), **worker.machine},
        "noise": noise,
        "cost": {"start": worker.start_cost, "peak_megabytes": round(worker.peak_megabytes)},
        "runs": runs,
    }
    return describe(request, pair, at) | found, arrays


def _place(request: RecordRequest, options: Options) -> Place:
    """Device, folder and interpreter in which a side is run."""
    one = request.installation
    folder = one.folder if one.origin != "environment" else None
    return HERE._replace(folder=folder, python=options.pythons.get(one.framework), device=request.device)


def _noise(one: WorkerAnswer, two: WorkerAnswer | WorkerFailure) -> float | None:
    """Largest relative difference between two runs of one job; None if it cannot be computed."""
    if isinstance(two, WorkerFailure):
        return None
    found = compare_answers(one, two)
    rows = (*found.loss, *found.parts, *found.gradients, *found.norms, *found.training)
    return max((row.relative for row in rows if row.relative is not None), default=0.0)


def _machine() -> dict[str, str]:
    return {"system": platform.platform(), "python": platform.python_version()}


def describe(request: RecordRequest, pair: Pair, at: int) -> dict[str, Any]:
    """Description part of a record, filled in before anything runs."""
    reading, other, options = request.reading, request.other, request.options
    return {
        "format": FORMAT,
        "run": secrets.token_hex(8),
        "file": {"name": reading.source.name, "digest": text_digest(reading.source.text)},
        "pair": other and {"name": other.source.name, "digest": text_digest(other.source.text)},
        "texts": {name: {"encoding": one.encoding, "text": one.text} for name, one in reading.texts.items()},
        "reading": reading.options._asdict(),
        "options": {name: getattr(options, name) for name in _KEPT_OPTIONS},
        "worker": pair.worker_kinds()[at],
        "installation": request.installation._asdict(),
        "python": options.pythons.get(request.installation.framework),
        "device": request.device,
        "machine": _machine(),
        "settings": {name: os.environ[name] for name in _DETERMINISM if name in os.environ},
        "noise": None,
        "weights": request.weights_digest,
        "sizes": dict(dimensions.sizes_of(pair.files[at].config)),
        "cost": {"start": {}, "peak_megabytes": 0},
    }


_DETERMINISM = (
    "CUBLAS_WORKSPACE_CONFIG", "NVTE_ALLOW_NONDETERMINISTIC_ALGO", "NVIDIA_TF32_OVERRIDE", "HCCL_DETERMINISTIC",
    "ASCEND_LAUNCH_BLOCKING", "LCCL_DETERMINISTIC", "ATB_MATMUL_SHUFFLE_K_ENABLE", "ATB_LLM_LCOC_ENABLE",
    "MS_DETERMINISTIC", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
"""Variables of the environment that decide if a run repeats bit for bit."""


def write_record(path: str, description: Mapping[str, Any], arrays: Mapping[str, Array], *, force: bool) -> int:
    """Write a record; its size in bytes."""
    import numpy as np

    if os.path.exists(path) and not force:
        raise standing_already(path)
    told = np.frombuffer(json.dumps(description).encode(), np.uint8)
    try:
        with NewFile(path) as new:
            np.savez(new.stream, **{_DESCRIPTION: told, **arrays})
        return os.path.getsize(path)
    except OSError as error:
        raise UsageError(say.record_cannot_be_written(path=path, why=system_reason(error))) from None


def read_record(path: str) -> Record:
    """The record at a path; UsageError for what is not one, or is damaged."""
    arrays = read_arrays(path)
    try:
        described = arrays.pop(_DESCRIPTION, None)
        if described is None or described.dtype.itemsize != 1:
            raise WordsError(say.record_has_no_description())
        description: Any = json.loads(described.tobytes(), parse_int=whole_number)
        if not isinstance(description, dict) or description.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
            raise WordsError(say.record_of_another_format(format=FORMAT))
        require_shape(description, RECORD, "record")
        _require_own_text(description)  # pyright: ignore[reportUnknownArgumentType]
        return Record(description, dict(_answers(description, arrays)))  # pyright: ignore[reportUnknownArgumentType]
    except (ValueError, RecursionError) as error:
        raise damage_error(path, error) from None


def _require_own_text(description: Mapping[str, Any]) -> None:
    """ValueError if the first text is not the one that was run."""
    own = next(iter(description["texts"].values()), {"text": ""})
    if text_digest(own["text"]) != description["file"]["digest"]:
        raise WordsError(say.record_has_an_odd_value(place="record.texts"))


def damage_error(path: str, error: Exception) -> UsageError:
    """UsageError for a file that is not a record."""
    text = str(error).strip() or type(error).__name__
    return UsageError(
        say.record_is_damaged(path=path, why=error.words if isinstance(error, WordsError) else verbatim(text[:200]))
    )


def _answers(description: Mapping[str, Any], arrays: Mapping[str, Array]) -> Iterator[tuple[str, WorkerAnswer]]:
    """Key and answer of each recorded run; raises if an array belongs to no run."""
    each: list[dict[str, Array]] = [{} for _run in description["runs"]]
    for name, array in arrays.items():
        run, _, rest = name.partition("/")
        number = run.removeprefix("run-")
        if not (number.isascii() and number.isdigit() and int(number) < len(each)):
            raise WordsError(say.record_has_a_stray_array(name=name[:80]))
        each[int(number)][rest] = _require_array(rest, array)
    for run, own in zip(description["runs"], each, strict=True):
        yield run["key"], WorkerAnswer(run["values"], own)


_FLAT = ("gradient/", "update/", "expert_bias/", "logits", "dropped_logits")
"""Arrays of which the largest element is asked."""
_SAMPLES = ("samples/tokens", "samples/labels", "samples/counted")


def _require_array(name: str, array: Array) -> Array:
    """The array if its type fits its name; ValueError otherwise."""
    if array.dtype.kind == "b":
        array = array.astype("float32")
    is_sample = name in _SAMPLES
    if is_sample and (array.ndim != len(("samples", "tokens")) or not array.size):
        raise WordsError(say.record_has_an_odd_array(name=name[:80]))
    if name.startswith(_FLAT) and (array.dtype.kind != "f" or not array.size):
        raise WordsError(say.record_has_an_odd_array(name=name[:80]))
    if name.startswith("trace/order/") and (array.dtype.kind not in "iu" or array.size != 1):
        raise WordsError(say.record_has_an_odd_array(name=name[:80]))
    return (
        array.reshape(1)
        if name.startswith("trace/") and not name.startswith("trace/order/") and not array.ndim
        else array
    )


def weights_digest(path: str) -> str:
    """A digest of the weights in a file; UsageError for what is not an `.npz` of plain arrays."""
    found = blake2b(digest_size=_DIGEST)
    for name, array in sorted(read_arrays(path).items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def read_arrays(path: str) -> dict[str, Array]:
    """The arrays of an `.npz` of plain numbers; UsageError for any other file. Nothing in it is executed."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > _MOST_BYTES:
                raise WordsError(say.record_too_large(most=_MOST_BYTES >> 30))
            with zipfile.ZipFile(stream) as archive:
                return {
                    entry.filename.removesuffix(".npy"): _array_in(archive, entry, size) for entry in archive.infolist()
                }
    except OSError as error:
        raise UsageError(say.record_cannot_be_read(path=path, why=system_reason(error))) from None
    except Exception as error:  # noqa: BLE001 - a damaged archive or header raises whatever its parser makes of it
        raise damage_error(path, error) from None


def _array_in(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> Array:
    """Array of one zip member; ValueError if it is compressed, too large or not plain numbers."""
    import numpy as np

    form: Any = np.lib.format
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
        raise WordsError(say.record_is_compressed(name=entry.filename[:80]))
    data = archive.read(entry)
    head = BytesIO(data)
    read = form.read_array_header_1_0 if form.read_magic(head) == (1, 0) else form.read_array_header_2_0
    shape, is_fortran, dtype = read(head)
    if dtype.hasobject or dtype.kind not in "biuf" or not all(0 <= length < _LARGEST for length in shape):
        raise WordsError(say.record_has_an_odd_array(name=entry.filename[:80]))
    if math.prod(shape) * dtype.itemsize != len(data) - head.tell():
        raise WordsError(say.record_has_an_odd_array(name=entry.filename[:80]))
    flat: Any = np.frombuffer(data, dtype, offset=head.tell())
    return flat.reshape(shape, order="F" if is_fortran else "C")


_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "number": (int, float), "bool": (bool,)}


def require_shape(value: Any, kind: Any, place: str) -> None:
    """ValueError if a JSON value is not of a kind: the name of a type, a list of one kind, or an object by key."""
    members: list[tuple[str, Any, Any]] | None = None
    if kind.__class__ is str:
        members = [] if kind == "object" or _is_of_type(value, kind) else None
    elif kind.__class__ is dict:
        members = list(_members_of(value, kind)) if type(value) is dict and _has_keys(value, kind) else None  # pyright: ignore[reportUnknownArgumentType]
    elif type(value) is list:
        members = [("[]", one, kind[0]) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if members is None:
        raise WordsError(say.record_has_an_odd_value(place=place))
    for name, one, inner in members:
        require_shape(one, inner, f"{place}{name}"[:80])


def _members_of(value: Mapping[str, Any], kind: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and kind of each member of an object, without those that are null and may be."""
    kinds = {name.rstrip("?~"): (name, one) for name, one in kind.items()}
    for key, one in value.items():
        name, inner = kinds.get(key) or kinds["*"]
        if one is not None or "~" not in name:
            yield f".{key}", one, inner


def _is_of_type(value: Any, name: str) -> bool:
    """True if a value is of a type by its name; a whole number has a limit."""
    return type(value) in _TYPES[name] and not (type(value) is int and abs(value) >= _LARGEST)


def _has_keys(value: Mapping[str, Any], kind: Mapping[str, Any]) -> bool:
    """True if an object has every key that it needs and no other than it may have."""
    known = {name.rstrip("?~") for name in kind}
    needed = {name.rstrip("~") for name in kind if "?" not in name and name != "*"}
    return needed <= value.keys() and ("*" in known or value.keys() <= known)


class RecordedWorker(Worker):
    """A side whose answers are on record."""

    def __init__(self, framework: str, record: Record) -> None:  # pyright: ignore[reportMissingSuperCall]
        self.framework = framework
        self.failure = None
        self._record = record
        cost = record.description["cost"]
        self.start_cost, self.peak_megabytes = dict(cost["start"]), float(cost["peak_megabytes"])
        self._key = ""

    def ask(self, job: Job) -> None:
        """Remember which job's answer is wanted next."""
        self._key = job_key(job)

    def answer(self, progress: Callable[[str], None] = lambda _stage: None) -> WorkerAnswer | WorkerFailure:
        """The answer on record; a failure if the job was not recorded."""
        del progress
        known = self._record.answers.get(self._key)
        return WorkerFailure(str(say.not_on_record()), "error") if known is None else known

    def close(self) -> None:
        """Nothing to do: there is no process."""

    def kill(self) -> None:
        """Nothing to do: there is no process."""


class RecordedWorkers(Workers):
    """Both sides of a pair, each on record."""

    def __init__(self, records: Sequence[Record], kinds: Sequence[str]) -> None:
        super().__init__()
        each = zip(kinds, records, strict=True)
        self._sides = [RecordedWorker(kind, record) for kind, record in each]

    def worker(self, framework: str, copy: int = 0, place: Place = HERE) -> Worker:
        """Recorded side of a framework; `copy` selects between two sides of one framework."""
        del place
        sides = [one for one in self._sides if one.framework == framework]
        return sides[copy if copy < len(sides) else 0]


class RecordedPair(NamedTuple):
    """Two records in the order in which a comparison takes its sides, with the configurations that they hold."""

    records: tuple[Record, Record]
    readings: tuple[SideFile, SideFile]

    @property
    def configs(self) -> tuple[Config, Config]:
        """Both configurations."""
        return self.readings[0].config, self.readings[1].config


def recorded_pair(one: Record, two: Record) -> RecordedPair:
    """The pair of two records; UsageError if they are not two sides of one."""
    _require_two_sides(one, two)
    readings = file_of(one), file_of(two)
    for record, reading in zip((one, two), readings, strict=True):
        _require_own_framework(record, reading.config)
    if [reading.config.framework for reading in readings] == ["mindformers", "megatron"]:
        return RecordedPair((two, one), (readings[1], readings[0]))
    return RecordedPair((one, two), readings)


def join_records(recorded: RecordedPair, findings: Findings, *, accepted: Sequence[str] = ()) -> Verification:
    """The comparison of two records, by the code that compares two processes; `findings` are the linter's."""
    records = recorded.records
    tolerance = max(record.tolerance for record in records)
    options = Options(**records[0].description["options"], tolerance=tolerance, accepted=accepted)
    places = [Installation(**record.description["installation"]) for record in records]
    pair = assemble_pair(*recorded.configs, options)._replace(places=tuple(places))
    for record, blueprint in zip(records, pair.blueprints, strict=True):
        if job_key(pair.job(blueprint, options, 0)) not in record.answers:
            raise UsageError(_other_models(records))
    with RecordedWorkers(records, pair.worker_kinds()) as workers:
        found = run_pair(pair, findings, options, workers, lambda _line: None)
    sides = [record.side(label) for record, label in zip(records, pair.labels, strict=True)]
    return found._replace(recorded=tuple(sides))


def _require_two_sides(one: Record, two: Record) -> None:
    """UsageError if two records are the same side or were made from other pairs or options."""
    a, b = one.description, two.description
    if a["run"] == b["run"]:
        raise UsageError(say.one_record_twice(name=one.file))
    partners = [told["pair"] and told["pair"]["digest"] for told in (a, b)]
    if (a["pair"] is None) != (b["pair"] is None):
        alone, other = (one, two) if a["pair"] is None else (two, one)
        raise UsageError(say.record_without_pair(name=alone.file, other=other.file))
    if a["pair"] is not None and partners != [b["file"]["digest"], a["file"]["digest"]]:
        raise UsageError(
            say.records_of_other_pairs(a=one.file, a_pair=a["pair"]["name"], b=two.file, b_pair=b["pair"]["name"])
        )
    for name in _KEPT_OPTIONS:
        if a["options"][name] != b["options"][name]:
            values = (json.dumps(told["options"][name]) for told in (a, b))
            raise UsageError(
                say.recorded_in_other_ways(option=name.replace("_", "-"), **dict(zip("ab", values, strict=True)))
            )
    if a["weights"] != b["weights"]:
        raise UsageError(say.records_of_other_weights(a=a["weights"] or "seed", b=b["weights"] or "seed"))


def _require_own_framework(record: Record, config: Config) -> None:
    """UsageError for a description that the configuration in it contradicts."""
    told = record.description
    version = told["installation"]["version"]
    plain = version.isascii() and len(version) <= len("1.9.0.post20261130+local")
    options = told["options"]
    stages = options["stage"] in ("step1", "local-norm", "step2", "all") and options["seeds"] > 0
    precise = options["precision"] in ("auto", "float32", "as-written") and told["device"] in DEVICES
    if not plain or not stages or not precise or told["installation"]["framework"] != config.framework:
        raise UsageError(say.record_is_damaged(path=record.file, why=say.record_has_an_odd_value(place="record")))


def _other_models(records: tuple[Record, Record]) -> Words:
    """Message for records whose models do not belong to one pair."""
    a, b = (record.description["sizes"] for record in records)
    differing = [name for name in a if a[name] != b.get(name)]
    told = ", ".join(f"{name} {json.dumps(a[name])} | {json.dumps(b.get(name))}" for name in differing)
    if told:
        return say.records_of_other_sizes(sizes=told)
    return say.records_of_other_models(a=records[0].file, b=records[1].file)

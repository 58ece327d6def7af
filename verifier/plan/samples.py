"""The samples that each run draws, from small corpora in place of the files that it names.

Corpora are told apart by the last parts of their paths, as folders differ between two machines. The numbers of samples
are chosen so that one prefix gives several epochs. Of a mix the frameworks ask for some more samples by different
roundings, and runs may ask for other numbers of them; where an epoch ends between these only the real files show, so
that such runs take less than one.
"""

from __future__ import annotations

import math
import re
import zlib
from typing import TYPE_CHECKING, Any

from ...mapper.lenses.run import SomeWeightsError, blend_of, split_weights
from ...mapper.recipe.reading import recipe_of
from ...mappings.keys_compiled import DYNAMIC_RUN
from ...schemas.diagnostic import WordsError
from ...schemas.fast_records import NamedTuple
from ...schemas.plain_values import is_on
from ..constants_compiled import DATA_FLAGS
from ..messages_compiled import say
from ..worker.blueprint import SamplePlan
from ..worker.inputs import MEAN_DOCUMENT
from .dimensions import VOCABULARY, Target, both, made_small

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value
    from ...schemas.message import Words
    from ..verdict.comparison import NotCompared


FIELDS: tuple[FieldName, ...] = (
    "data.blend", "data.split", "data.seed", "data.order", "data.mock", "data.drop_remainder",
)  # fmt: skip
"""Fields that only this stage shows."""
BLAMED: tuple[FieldName, ...] = ("data.train_paths", "data.pad_token", "run.train_samples", "run.train_steps")
"""Fields that a difference may come from, and that may differ without one."""
SAMPLES: FieldName = "data.blend"
"""What is named where no samples were drawn."""
_SIZE: FieldName = "batch.global_size"
_SAMPLES: FieldName = "run.train_samples"
_END: FieldName = "data.eod_token"
_LOADER = "BlendedMegatronDatasetDataLoader"
_OTHER_DATA = (
    "sft", "fim_data", "retro_project_dir", "rampup_batch_size", "phase_transition_iterations",
    "train_dataset.balance_enabled",
)  # fmt: skip
"""What makes other samples than those of a plain stream of tokens."""
_BATCH, _LENGTH = Target(4, 2), Target(16, 4)
_VOCABULARY = 96
"""Of the corpora, which no model is given: it may know fewer tokens than files name."""
_LEAST_DOCUMENTS, _MOST_DOCUMENTS = 1000, 40_000
_LEAST_OF_A_PART = 6
"""Documents: each part of a split must hold a sample."""
_EPOCHS, _LESS_THAN_ONE = 2.5, 0.4
_DRAWN, _DRAWN_OF_A_MIX = 12, 240
"""Samples: weights that are hardly others show late."""
_MOST_PARTS = 8


class Samples(NamedTuple):
    """The plans of both data sets."""

    plans: tuple[SamplePlan, SamplePlan]
    shrunk: Mapping[str, list[Any]]


def explain_samples(uncompared: Sequence[NotCompared], why: Words | None) -> Sequence[NotCompared]:
    """Uncompared fields; those of data sampling get `why` as their reason."""
    if why is None:
        return uncompared
    return [entry._replace(reason=why) if entry.field == SAMPLES else entry for entry in uncompared]


class _NotDrawnError(WordsError):
    """The reason why no samples can be drawn."""


class _Run(NamedTuple):
    """A file's settings of its data; None for one that it leaves to the other file."""

    settings: dict[str, Any]
    words: list[str] | None
    own: bool
    """The paths are of the training part alone."""
    split: str | None
    samples: int | None
    batch: int | None
    length: int | None
    end: int | None
    pad: int | None
    steps: int | None = None
    """Of a run that begins its data anew if they end; None if the data say how long the run is."""


def samples_of(a: Config, b: Config) -> Samples | Words:
    """The plans of both, or the reason why there are none."""
    try:
        return _sample_plans(_run_of(a), _run_of(b))
    except _NotDrawnError as error:
        return error.words


def _run_of(config: Config) -> _Run:
    """Data settings of a file; raises `_NotDrawnError` if its samples cannot be drawn."""
    given = next((key for key in _OTHER_DATA if config.value(key)), None)
    if given is not None:
        raise _NotDrawnError(say.samples_of_another_kind(key=given))
    return _megatron(config) if config.framework == "megatron" else _mindformers(config)


def _decided_value(config: Config, key: str) -> Value:
    """Value of a key; raises `_NotDrawnError` if the file leaves it undecided."""
    setting = config.settings.get(key)
    if setting is not None and not setting.decided:
        raise _NotDrawnError(say.samples_undecided(key=setting.flag or key))
    return None if setting is None else setting.value


def _megatron(config: Config) -> _Run:
    """Data settings of a launch for Megatron's GPT data set; raises if its order or a value is unsupported."""
    order = _decided_value(config, "dataloader_type") or "single"
    if order not in ("single", "cyclic"):
        raise _NotDrawnError(say.samples_of_another_kind(key=f"dataloader_type {order}"))
    batch = _whole(config.value("global_batch_size"))
    steps = _whole(config.value("train_iters"))
    arguments: dict[str, Any] = {name: bool(_decided_value(config, key)) for name, key in DATA_FLAGS.items()}
    arguments["random_seed"] = _decided_value(config, "seed")
    surplus = config.value("mid_level_dataset_surplus")
    if surplus is not None:
        arguments["mid_level_dataset_surplus"] = surplus
    common, own = _as_list(config.value("data_path")), _as_list(config.value("train_data_path"))
    # A tokenizer may have a token for padding that the script does not say; this one has none.
    pad = -1 if config.value("tokenizer_type") == "NullTokenizer" else None
    mock = bool(_decided_value(config, "mock_data"))
    return _Run(
        {"arguments": arguments, "order": order, "mock": mock},
        common or own,
        own=not common and bool(own),
        split=_text(_decided_value(config, "split")),
        samples=_whole(config.value("train_samples")) or (steps * batch if steps and batch else None),
        batch=batch,
        length=_whole(config.value("seq_length")),
        end=_token(config, recipe_of(config).value(_END)),
        pad=pad,
    )


_OWN_SETTINGS = re.compile(r".*(path|cache).*|tokenizer|seq_length|eod|pad|split|num_dataset_builder_threads")
"""Settings of the YAML's data set that are others here, or that would read and write files of the user's."""


def _mindformers(config: Config) -> _Run:
    """Data settings of a YAML for the blended data set; raises if another loader is configured."""
    dynamic = config.dialect == "dynamic"
    base = "train_dataset.dataloader" if dynamic else "train_dataset.data_loader"
    loader = config.value(f"{base}.type")
    if loader != _LOADER:
        raise _NotDrawnError(say.samples_of_another_kind(key=f"{base}.type {loader}"))
    own = f"{base}.config."
    told = _section_settings(config, own)
    named = config.value(f"{base}.column_names" if dynamic else "train_dataset.input_columns")
    sizes = config.value(f"{base}.sizes")
    common, alone = _as_list(told.get("data_path")), _as_list(told.get("train_data_path"))
    return _Run(
        {
            "config": {
                key: value for key, value in told.items() if value is not None and not _OWN_SETTINGS.fullmatch(key)
            },
            "columns": _as_list(named) or _columns(told),
            "shuffle": bool(_decided_value(config, f"{base}.shuffle")),
            "seed": _whole(config.value("seed")) or 0,
            "drop_remainder": config.is_on("train_dataset.drop_remainder", otherwise=True),
            "cut": not dynamic,
        },
        common or alone,
        own=not common and bool(alone),
        split=_text(told.get("split")),
        samples=_whole(sizes[0]) if isinstance(sizes, (list, tuple)) and sizes else None,
        batch=_whole(config.value("resolved.batch.global_size")),
        length=_whole(told.get("seq_length")),
        end=_token(config, told.get("eod", -1)),
        pad=_token(config, told.get("pad", -1)),
        steps=_whole(config.value(DYNAMIC_RUN["steps"])) if dynamic else None,
    )


def _section_settings(config: Config, section: str) -> dict[str, Value]:
    """The settings of a section."""
    return {key[len(section) :]: _decided_value(config, key) for key in config.settings if key.startswith(section)}


def _columns(told: Mapping[str, Value]) -> list[str]:
    """Column names of the samples if the file lists none."""
    columns = ["input_ids", "labels", "loss_mask", "position_ids"]
    if told.get("create_compressed_eod_mask"):
        return [*columns, "actual_seq_len"]
    return columns if not is_on(told.get("create_attention_mask"), "truth_null_on") else [*columns, "attention_mask"]


def _whole(value: Value) -> int | None:
    """The value if it is a positive whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(value: Value) -> str | None:
    """The value if it is text, else None."""
    return value if isinstance(value, str) else None


def _as_list(value: Value) -> list[str] | None:
    """Entries of a value as texts; None if there are none."""
    entries = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [str(entry) for entry in entries] or None


def _token(config: Config, value: Value) -> int | None:
    """Token number; -1 for a token that never occurs, None if the file does not set one."""
    size = recipe_of(config).value(VOCABULARY)
    if not isinstance(value, int):
        return None
    return value if value >= 0 and (not isinstance(size, int) or value < size) else -1


def _sample_plans(a: _Run, b: _Run) -> Samples:
    """Plans that let both frameworks draw small, comparable samples, and the sizes that were reduced."""
    given = a, b = _complete_run(a, b), _complete_run(b, a)
    names = _names(_paths(a), _paths(b))
    if not names[0] or not names[1]:
        raise _NotDrawnError(say.samples_without_paths())
    batches, lengths = _both_numbers(a.batch, b.batch), _both_numbers(a.length, b.length)
    samples = _both_numbers(a.samples, b.samples)
    small, short = made_small(*batches, _BATCH), made_small(*lengths, _LENGTH)
    alone = all(len(_paths(run)) == len(run.words or ()) == 1 for run in given)
    each = math.lcm(*small)
    drawn = each * -(-(_DRAWN if alone else _DRAWN_OF_A_MIX) // each)
    steps = max(1, samples[0] // batches[0]), max(1, samples[1] // batches[1])
    epochs = _EPOCHS if alone and steps[0] == steps[1] else _LESS_THAN_ONE
    line = MEAN_DOCUMENT * epochs * min(_shares(run)[0] for run in given)
    documents = _documents(given, math.ceil(drawn * max(short) / line))
    most = int(line * documents / (max(short) * max(small)))
    few = made_small(*steps, Target(most, most // 2))
    asked = tuple(map(_amount, samples, batches, small, few))
    tokens = _small_tokens((a.end, b.end, a.pad, b.pad))
    plans = tuple(
        SamplePlan(
            _settings(run, named, length, tokens),
            {name: int(name, 16) for name in dict.fromkeys(named.values())},
            documents,
            _VOCABULARY,
            tuple(dict.fromkeys(tokens.values())),
            count,
            batch,
            drawn,
            own,
        )
        for run, named, length, count, batch, own in zip(
            given, names, short, asked, small, _own_lengths(given, steps, few), strict=True
        )
    )
    shrunk = {_SIZE: [both(*batches), both(*small)], _SAMPLES: [both(*samples), both(*asked)]}
    return Samples((plans[0], plans[1]), {field: sizes for field, sizes in shrunk.items() if sizes[0] != sizes[1]})


def _own_lengths(given: Sequence[_Run], steps: tuple[int, int], few: tuple[int, int]) -> Iterator[int | None]:
    """Steps of each small run that has a length of its own, as many, more or fewer than its data give."""
    for run, whole, small in zip(given, steps, few, strict=True):
        if run.steps is None or run.steps in steps:
            yield None if run.steps is None else few[steps.index(run.steps)]
        elif run.steps > whole:
            yield made_small(whole, run.steps, Target(small, max(1, small // 2)))[1]
        else:
            yield max(1, small // 2)


def _amount(samples: int, batch: int, small: int, steps: int) -> int:
    """Number of samples of a small run, with the same remainder that does not fill a step."""
    return steps * small + int(samples % batch > 0 and small > 1)


def _complete_run(run: _Run, other: _Run) -> _Run:
    """Data settings of a file with gaps filled from the other file."""
    if run.words is None:
        run = run._replace(words=other.words, own=other.own, split=other.split)
    pad = other.pad if run.pad is None else run.pad
    return run._replace(
        samples=run.samples or other.samples,
        batch=run.batch or other.batch,
        length=run.length or other.length,
        end=other.end if run.end is None else run.end,
        pad=-1 if pad is None else pad,
    )


def _both_numbers(one: int | None, other: int | None) -> tuple[int, int]:
    """Both numbers; raises `_NotDrawnError` if one is missing."""
    if one is None or other is None:
        raise _NotDrawnError(say.samples_of_no_number())
    return one, other


def _paths(run: _Run) -> list[str]:
    """Data paths without the weights between them."""
    words = run.words or []
    try:
        return list(blend_of(words).prefixes)
    except SomeWeightsError:
        return words


def _names(*each: Sequence[str]) -> list[dict[str, str]]:
    """Short unique name of each path: its last part, or more parts if needed."""
    parts = 0
    while True:
        parts += 1
        last = [{path: "/".join(path.strip("/ ").split("/")[-parts:]) for path in paths} for paths in each]
        if parts == _MOST_PARTS or all(len({*named.values()}) == len(named) for named in last):
            return [{path: f"{zlib.crc32(part.encode()):08x}" for path, part in named.items()} for named in last]


def _shares(run: _Run) -> list[float]:
    """Shares of the split, training first."""
    if run.own or run.split is None:
        return [1.0]
    try:
        given = split_weights(run.split)
    except ValueError:
        given = []
    if not given or not given[0]:
        raise _NotDrawnError(say.samples_of_no_share(split=run.split))
    return [share / sum(given) for share in given if share]


def _documents(given: Sequence[_Run], least: int) -> int:
    """Number of documents, so that each part of the split has some and training at least `least`."""
    run = min(given, key=lambda one: min(_shares(one)))
    count = max(_LEAST_DOCUMENTS, least, math.ceil(_LEAST_OF_A_PART / min(_shares(run))))
    if count > _MOST_DOCUMENTS:
        raise _NotDrawnError(say.samples_of_no_share(split=run.split or ""))
    return count


def _small_tokens(tokens: Sequence[int | None]) -> dict[int | None, int]:
    """Special tokens renumbered for the small vocabulary; equal tokens stay equal."""
    free = iter(range(_VOCABULARY - 1, 0, -1))
    known = dict.fromkeys(token for token in tokens if token is not None and token >= 0)
    small: dict[int | None, int] = {token: token and next(free) for token in known}
    return small or {None: next(free)}


def _settings(run: _Run, names: Mapping[str, str], length: int, tokens: Mapping[int | None, int]) -> dict[str, Any]:
    """Settings of the framework's own data set for the small run, with small tokens and short length."""
    words = [names.get(word.strip(), word) for word in run.words or ()]
    end, pad = tokens.get(run.end, -1), tokens.get(run.pad, -1)
    split = None if run.own else run.split
    told: dict[str, Any] = {**run.settings, "words": words, "own": run.own}
    if "config" not in told:
        return told | {
            "end": end,
            "arguments": {**run.settings["arguments"], "sequence_length": length, "split": split},
        }
    config: dict[str, Any] = {**run.settings["config"], "seq_length": length, "eod": end, "pad": pad}
    return told | {"config": config if split is None else {**config, "split": split}}

"""The data plans of both frameworks, read from a Megatron-LM run and a MindSpore Transformers run.

Sources of Megatron-LM, 0.12 to 0.19: `pretrain_gpt.py:core_gpt_dataset_config_from_args`, `training/utils.py:
get_blend_and_blend_per_split`, `training/training.py:get_train_valid_test_num_samples`, `core/datasets/gpt_dataset.py:
GPTDataset.__getitem__` (the masked ids), `training/tokenizer/tokenizer.py:_NullTokenizer`.

Sources of MindSpore Transformers, 1.6 to 2.1:
`dataset/dataloader/blended_megatron_dataloader.py:MegatronDatasetBuilder`;
`trainer/base_trainer.py:_process_megatron_dataset` (after sizes[0] // global batch steps the data begin again);
`dataset/base_dataset.py:_generate_shard_info`; `pynative/trainer/utils.py:_build_dataset`;
`dataset/blended_datasets/gpt_dataset.py:GPTDataset.__getitem__` (a tuple: tokens, labels, loss_mask, position_ids, then
a mask).

Of MindRecord files (`type: MindDataset`) rows are taken in the order of the files and dealt to the devices in turn,
unless they are shuffled, as MindDataset does where `shuffle` is not False: then the order is drawn by MindSpore, and
only what is drawn from can be compared.

Sources: mindformers 1.9 `dataset/causal_language_model_dataset.py:CausalLanguageModelDataset._process_mindrecord_data`
(1.6 to 2.1 alike), `dataset/dataloader/utils.py:_get_mindrecord_files` (2.x); MindSpore 2.9 `dataset.MindDataset`,
measured.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ...mapper.recipe.reading import recipe_of
from ...mappings.keys_compiled import BOUNDARIES_OF_THE_FIRST
from ...schemas.border.file_input import read_text
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.mindformers.resolution import definition
from ...schemas.rows import UndecidedError
from ...schemas.versions import within
from .draws import has_labels
from .messages_compiled import say
from .mindrecord import files_of, is_record, read_records
from .plan import Plan, Reader, RefusedError, Rows, blend_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...mapper.lenses.run import Blend
    from ...schemas.config import Config, Value
    from .mindrecord import DataFile, RecordFile


_MEGATRON_LOADER = "BlendedMegatronDatasetDataLoader"
_COLUMNS = ("input_ids", "labels", "loss_mask", "position_ids")
DEFAULT_SEED = 1234


def mindformers_plan(config: Config) -> Plan:
    """Data plan of a MindSpore Transformers YAML."""
    dynamic = config.dialect == "dynamic"
    base = "train_dataset.dataloader" if dynamic else "train_dataset.data_loader"
    own = f"{base}.config"
    reader = Reader(config)
    kind = config.settings.get(f"{base}.type")
    if kind is not None and kind.value == _ROWS_LOADER:
        return _record_plan(config, reader, base, dynamic=dynamic)
    _undecide_growing_batch(config, reader)
    loader = _loader(reader, base)
    blend, own_files = _files(reader, own)
    global_batch = _global_batch(reader)
    samples = _samples(reader, f"{base}.sizes")
    ranks = reader.whole("resolved.parallel.data_parallel", "ranks")
    length = reader.whole(f"{own}.seq_length", "sample_length", needed=True)
    if length is None and not reader.undecided:
        reader.undecide(f"{own}.seq_length", say.seq_length_is_missing(own=own))
    compressed = reader.true(f"{own}.create_compressed_eod_mask", "resets_attention")
    if loader == _MEGATRON_LOADER:
        _columns(reader, base, own, dynamic=dynamic)
        _report_cached_mask(reader, own, compressed=compressed)
    return Plan(
        file=config.file,
        framework="mindformers",
        version=config.framework_version,
        blend=blend,
        split=None if own_files else _split(reader, own, blend),
        own_files=own_files,
        samples=samples,
        sample_length=length,
        seed=_seed(reader, own),
        global_batch=global_batch,
        micro_batch=_micro_batch(reader, global_batch, ranks, dynamic=dynamic),
        ranks=ranks,
        loader="dealt",
        steps=_steps(reader, dynamic=dynamic),
        extra=reader.unless_off(f"{own}.add_extra_token_to_sequence"),
        pass_samples=None if dynamic or samples is None or not global_batch else samples // global_batch * global_batch,
        vocabulary=reader.whole("resolved.transformer.vocab_size", "vocabulary"),
        eod=reader.whole(f"{own}.eod", "eod"),
        masks_after_eod=reader.true(f"{own}.eod_mask_loss", "masks_after_eod"),
        resets_positions=reader.true(f"{own}.reset_position_ids", "resets_positions"),
        resets_attention=reader.true(f"{own}.reset_attention_mask", "resets_attention") or compressed,
        unseen=_masked_ids(reader, own),
        cache=reader.text(f"{own}.path_to_cache", "cache"),
        places=reader.places,
        undecided=tuple(reader.undecided),
        problems=tuple(reader.problems),
    )


def _undecide_growing_batch(config: Config, reader: Reader) -> None:
    """Note that the first steps have smaller batches, if the version reads the key for it."""
    entry = recipe_of(config).fields.get("batch.rampup")
    if entry is None or (entry.decided and entry.value is None) or not entry.keys:
        return
    key = entry.keys[0]
    setting = config.settings.get(key)
    reader.undecide(key, say.other_rampup_batch_size(key=key if setting is None else setting.flag or key))


def _global_batch(reader: Reader) -> int | None:
    global_batch = reader.whole("resolved.batch.global_size", "global_batch", needed=True)
    if global_batch is None and not reader.undecided:
        reader.undecide("resolved.batch.global_size", say.the_global_batch_size_cannot())
    return global_batch


def _seed(reader: Reader, own: str) -> int | None:
    """The seed of the data order; the framework's default if unset, None if undecided."""
    given = reader.value(f"{own}.seed", "seed", needed=True)
    if given is None:
        return DEFAULT_SEED
    return given if isinstance(given, int) else None


def _steps(reader: Reader, *, dynamic: bool) -> int | None:
    """Number of steps of the run; None if it is not known."""
    steps = reader.whole("resolved.schedule.total_steps" if dynamic else "resolved.runner.total_steps")
    return reader.whole("training.steps") if dynamic and steps is None else steps


def _report_cached_mask(reader: Reader, own: str, *, compressed: bool) -> None:
    """Report that up to 2.0 all samples get the first sample's document ends, unless something resets there."""
    resets = any(reader.true(f"{own}.{key}") for key in ("reset_position_ids", "reset_attention_mask", "eod_mask_loss"))
    if compressed and not resets and within(reader.config.framework_version, *BOUNDARIES_OF_THE_FIRST):
        reader.report(say.columns(what=say.create_compressed_eod_mask_needs()), f"{own}.create_compressed_eod_mask")


def _loader(reader: Reader, base: str) -> str | None:
    """Class that reads the data; a setting that shuffles them again makes the plan undecided."""
    loader = reader.text(f"{base}.type", "loader")
    if loader != _MEGATRON_LOADER:
        reader.undecide(
            f"{base}.type", say.type_is_not_its_data(base=base, loader=loader, megatron_loader=_MEGATRON_LOADER)
        )
    if reader.true(f"{base}.shuffle"):
        reader.undecide(f"{base}.shuffle", say.shuffle_true_shuffles_once_more(base=base))
    if reader.true("train_dataset.balance_enabled"):
        reader.undecide("train_dataset.balance_enabled", say.balance_enabled_moves_micro_batches())
    return loader


def _masked_ids(reader: Reader, own: str) -> dict[int, str]:
    """Ids left out of the loss or the attention, each with the word for which."""
    pad = reader.whole(f"{own}.pad", "pad")
    unseen: dict[int, str] = {} if pad is None or pad < 0 else {pad: "loss"}
    masked = reader.whole("resolved.transformer.pad_token_id", "pad_token_id")
    if masked is not None and masked >= 0 and _masks_attention(reader, own):
        unseen[masked] = "attention"
    return unseen


def _files(reader: Reader, own: str) -> tuple[Blend | None, bool]:
    """Blend of a YAML's data paths, and True if they are for training only; undecided notes go to the reader."""
    for key, alone in ((f"{own}.data_path", False), (f"{own}.train_data_path", True)):
        words = reader.value(key, "blend", needed=True)
        if words is None:
            continue
        if not isinstance(words, (list, tuple)):
            reader.report(say.columns(what=say.is_one_value_mindspore_transformers(key=key)), key)
            reader.undecide(key, say.is_no_list(key=key))
            return None, alone
        try:
            return blend_of(words), alone
        except RefusedError as refused:
            reader.undecide(key, say.the_data_paths_are_refused(why=refused.words))
            return None, alone
    if not reader.undecided:
        reader.undecide(f"{own}.data_path", say.data_path_is_missing_so(own=own))
    return None, False


def _split(reader: Reader, own: str, blend: Blend | None) -> str | None:
    """Text of the split; notes on the reader if it is missing or not text."""
    value = reader.value(f"{own}.split", "split", needed=True)
    if value is None and blend is not None and not reader.undecided:
        reader.undecide(f"{own}.split", say.split_is_missing_with_data(own=own))
    if value is not None and not isinstance(value, str):
        reader.undecide(f"{own}.split", say.split_is_not_a_text(own=own, value=value))
        return None
    return value


def _samples(reader: Reader, key: str) -> int | None:
    """Number of training samples, the first entry of a list of sizes."""
    sizes = reader.value(key, "samples", needed=True)
    first = sizes[0] if isinstance(sizes, (list, tuple)) and sizes else None
    if isinstance(first, int) and not isinstance(first, bool):
        return first
    if not reader.undecided:
        reader.undecide(key, say.does_not_begin_with_a(key=key))
    return None


def _micro_batch(reader: Reader, global_batch: int | None, ranks: int | None, *, dynamic: bool) -> int | None:
    if dynamic:
        return reader.whole("resolved.batch.local_size", "micro_batch")
    micro = reader.whole("resolved.batch.micro_size", "micro_batch")
    return micro if micro and global_batch and ranks and global_batch % (micro * ranks) == 0 else None


def _masks_attention(reader: Reader, own: str) -> bool:
    """True if the model derives the attention mask from the ids."""
    given = reader.unless_off(f"{own}.create_attention_mask")
    compressed = reader.true("resolved.transformer.use_attn_mask_compression")
    return not given and not compressed and not reader.true(f"{own}.create_compressed_eod_mask")


def _columns(reader: Reader, base: str, own: str, *, dynamic: bool) -> None:
    """Report input columns in a wrong order: they are used by position."""
    key = f"{base}.column_names" if dynamic else "train_dataset.input_columns"
    names = reader.value(key)
    if not isinstance(names, (list, tuple)):
        return
    expected = [*_COLUMNS]
    if reader.true(f"{own}.create_compressed_eod_mask"):
        expected.append("actual_seq_len")
    elif reader.unless_off(f"{own}.create_attention_mask"):
        expected.append("attention_mask")
    if [str(name) for name in names] != expected:
        listed = ", ".join(map(str, names))
        due = ", ".join(expected)
        reader.report(say.columns(what=say.is_but_the_data_come(key=key, listed=listed, due=due)), key)


_ROWS_LOADER = "MindDataset"


def _record_plan(config: Config, reader: Reader, base: str, *, dynamic: bool) -> Plan:
    """Data plan of a YAML with MindRecord files."""
    global_batch = _global_batch(reader)
    shuffled = _is_shuffled(reader, base)
    for key in ("sampler", "padded_sample", "num_padded"):
        if reader.value(f"{base}.{key}") is not None:
            reader.undecide(f"{base}.{key}", say.rows_are_chosen_by(key=f"{base}.{key}"))
    ranks = reader.whole("resolved.parallel.data_parallel", "ranks")
    micro = reader.whole("resolved.batch.local_size" if dynamic else "resolved.batch.micro_size", "micro_batch")
    masked = reader.whole("resolved.transformer.pad_token_id", "pad")
    rows = _rows(reader, base, shuffled=shuffled, dynamic=dynamic)
    masks = rows is not None and "loss_mask" not in rows.columns
    plan = Plan(
        file=config.file,
        framework="mindformers",
        version=config.framework_version,
        own_files=True,
        global_batch=global_batch,
        micro_batch=micro,
        ranks=ranks,
        loader="dealt",
        steps=_steps(reader, dynamic=dynamic),
        vocabulary=reader.whole("resolved.transformer.vocab_size", "vocabulary"),
        unseen={masked: "loss"} if masks and masked is not None and masked >= 0 else {},
        places=reader.places,
        undecided=tuple(reader.undecided),
        problems=tuple(reader.problems),
        rows=rows,
    )
    return plan if dynamic else _with_resets(plan, reader)


def _with_resets(plan: Plan, reader: Reader) -> Plan:
    """Plan in which positions and masks restart after each `eod_token_id`, as the static graph's data set does.

    They begin anew after each `eod_token_id` (`get_input_data_batch_slice_map`).
    """
    if not reader.true("train_dataset.eod_reset", "resets_positions"):
        return plan
    reader.true("train_dataset.eod_reset", "resets_attention")
    eod = reader.whole("train_dataset.eod_token_id", "eod")
    return plan._replace(eod=eod, resets_positions=True, resets_attention=True)


def _is_shuffled(reader: Reader, base: str) -> bool:
    """True if MindSpore shuffles the rows, which is its default."""
    value = reader.value(f"{base}.shuffle", "shuffle")
    if not reader.unless_off(f"{base}.shuffle"):
        return False
    reader.undecide(f"{base}.shuffle", say.rows_are_shuffled(key=f"{base}.shuffle", value=value))
    return True


def _rows(reader: Reader, base: str, *, shuffled: bool, dynamic: bool) -> Rows | None:
    """Record files that a YAML names, with their columns and limits; None with a note if none are named."""
    folder = None if dynamic else reader.value(f"{base}.dataset_dir", "blend")
    named = folder or reader.value(f"{base}.dataset_files", "blend")
    listed = isinstance(named, (list, tuple))
    names: tuple[Any, ...] = tuple(named) if isinstance(named, (list, tuple)) else (named,)
    if not names or not all(isinstance(name, str) and name for name in names):
        reader.undecide(f"{base}.dataset_files" if dynamic else f"{base}.dataset_dir", say.no_rows_are_named(base=base))
        return None
    columns = reader.value(f"{base}.column_names" if dynamic else "train_dataset.input_columns")
    if not isinstance(columns, (list, tuple)):
        columns = ()
    epochs = reader.whole("training.epochs" if dynamic else "runner_config.epochs")
    return Rows(
        names,
        walked=dynamic or listed or folder is not None,
        suffix=".mindrecord" if dynamic else "",
        columns=tuple(map(str, columns)),
        most=reader.whole(f"{base}.num_samples"),
        epochs=epochs,
        shuffled=shuffled,
    )


def read_rows(plan: Plan, given: Mapping[str, DataFile]) -> RecordFile:
    """Rows that a plan draws from; RefusedError if absent, UnreadableError if damaged."""
    rows = plan.rows
    assert rows is not None
    places = [_place(name, plan.file, given) for name in rows.names]
    walked = rows.walked and not (len(places) == 1 and not rows.suffix and os.path.isfile(places[0]))
    # The static graph names a single file by itself, and MindDataset then reads all that its header lists.
    return read_records(rows.names[0], files_of(places, walked=walked, suffix=rows.suffix))


def _place(name: str, file: str, given: Mapping[str, DataFile]) -> str:
    """Path of a file that a configuration names: as it is, beside the configuration, or a given file with its name."""
    for place in (name, os.path.join(os.path.dirname(file), name)):
        if os.path.exists(place):
            return place
    alike = [one for one in given if os.path.basename(one) == os.path.basename(name) and is_record(one)]
    if len(alike) == 1:
        return alike[0]
    raise RefusedError(say.there_is_nothing_at(path=name))


def _row_count(most: int | None, ranks: int, rows: int) -> int:
    """Number of rows that a run uses: an equal share for each rank, all if that share is 0."""
    if most is None or 0 <= most < ranks:
        return rows
    return min(most // ranks * ranks, rows)


def complete_plan(plan: Plan, data: RecordFile) -> Plan:
    """Plan completed by the rows: their number, their length and the run's steps."""
    rows = plan.rows
    assert rows is not None
    samples = _row_count(rows.most, plan.ranks or 1, data.sequences)
    lengths = {int(length) for length in (data.lengths.min(), data.lengths.max())} if data.sequences else set[int]()
    length = lengths.pop() - (not has_labels(data, plan)) if len(lengths) == 1 else None
    steps = plan.steps
    if steps is None and rows.epochs is not None and plan.global_batch and plan.ranks:
        try:
            whole: int | None = definition("batches")(
                data.sequences, plan.global_batch, plan.ranks, sharded=True, drops=True, repeat=None, most=rows.most
            )
        except UndecidedError:
            whole = None
        steps = None if whole is None else rows.epochs * whole
    return plan._replace(samples=samples, sample_length=length, steps=steps)


_OTHER_DATA = {
    "mock_data": say.other_mock_data,
    "sft": say.other_sft,
    "fim_data": say.other_fim_data,
    "retro_project_dir": say.other_retro_project_dir,
    "step_batch_size_schedule": say.other_step_batch_size_schedule,
    "phase_transition_iterations": say.other_phase_transition_iterations,
}
"""Arguments whose samples are not those of a plain token stream, and why."""


class _Files(NamedTuple):
    blend: Blend | None
    own: bool


def megatron_plan(config: Config) -> Plan:
    """The plan of a launch."""
    reader = Reader(config)
    for key, said in _OTHER_DATA.items():
        if reader.value(key, needed=True):
            reader.undecide(key, said())
    _undecide_growing_batch(config, reader)
    files = _megatron_files(reader)
    loader = reader.text("dataloader_type", "loader") or "single"
    if loader not in ("single", "cyclic"):
        reader.undecide("dataloader_type", say.dataloader_type_takes_the_samples(loader=loader))
    global_batch = reader.whole("global_batch_size", "global_batch", needed=True)
    samples, steps = _amount(reader, global_batch)
    ranks, micro = reader.whole("data_parallel_size", "ranks"), reader.whole("micro_batch_size", "micro_batch")
    if loader == "cyclic" and (ranks is None or micro is None):
        reader.undecide("dataloader_type", say.the_cyclic_order_depends_on())
    surplus = reader.value("mid_level_dataset_surplus", "surplus")
    return Plan(
        file=config.file,
        framework="megatron",
        version=config.framework_version,
        blend=files.blend,
        split=None if files.own else _megatron_split(reader, files),
        own_files=files.own,
        samples=samples,
        sample_length=reader.whole("seq_length", "sample_length", needed=True),
        seed=reader.whole("seed", "seed", needed=True),
        global_batch=global_batch,
        micro_batch=micro,
        ranks=ranks,
        loader="cyclic" if loader == "cyclic" else "blocks",
        steps=steps,
        surplus=surplus if isinstance(surplus, float) else 0.005,
        sharded=reader.unless_off("data_sharding"),
        vocabulary=reader.whole("padded_vocab_size", "vocabulary"),
        eod=_eod(config, reader),
        masks_after_eod=reader.true("eod_mask_loss", "masks_after_eod"),
        resets_positions=reader.true("reset_position_ids", "resets_positions"),
        resets_attention=reader.true("reset_attention_mask", "resets_attention"),
        cache=reader.text("data_cache_path", "cache"),
        places=reader.places,
        undecided=tuple(reader.undecided),
        problems=tuple(reader.problems),
    )


def _megatron_files(reader: Reader) -> _Files:
    """Training files of a launch: `--data-path` with a split, or training's own paths."""
    common = reader.value("data_path", "blend", needed=True)
    if common is not None:
        return _Files(_blend(reader, "data_path", common), own=False)
    named = reader.text("data_args_path", needed=True)
    if named is not None:
        text = _text(reader, "data_args_path", named)
        return _Files(None if text is None else _blend(reader, "data_args_path", text.split()), own=False)
    own = reader.value("train_data_path", "blend", needed=True)
    if own is not None:
        return _Files(_blend(reader, "train_data_path", own), own=True)
    named = reader.text("per_split_data_args_path", needed=True)
    if named is not None:
        return _Files(_training_part(reader, named), own=True)
    if not reader.undecided:
        reader.undecide("data_path", say.no_data_are_named_data())
    return _Files(None, own=False)


def _training_part(reader: Reader, named: str) -> Blend | None:
    """Blend in the `train` entry of a per-split JSON file."""
    text = _text(reader, "per_split_data_args_path", named)
    if text is None:
        return None
    try:
        parts = json.loads(text)
        training = parts["train"]
    except (ValueError, KeyError, TypeError):
        reader.undecide("per_split_data_args_path", say.is_no_json_object_with(named=named))
        return None
    words = training.split() if isinstance(training, str) else training
    return _blend(reader, "per_split_data_args_path", words)


def _text(reader: Reader, key: str, named: str) -> str | None:
    """Content of a file that the launch names; None with an undecided note if it is absent."""
    beside = os.path.join(os.path.dirname(reader.config.file), named)
    path = named if os.path.exists(named) or not os.path.exists(beside) else beside
    try:
        return read_text(path).text
    except UnreadableError as error:
        reader.undecide(key, say.the_data_paths_stand_in(named=named, why=error.diagnostic.words()))
        return None


def _blend(reader: Reader, key: str, words: Value | Sequence[object]) -> Blend | None:
    """Blend of a list of data paths; None with notes on the reader if it is refused."""
    if not isinstance(words, (list, tuple)):
        return None
    try:
        return blend_of(words)
    except RefusedError as refused:
        reader.report(say.refused(why=refused.words), key)
        reader.undecide(key, say.the_data_paths_are_refused(why=refused.words))
        return None


def _megatron_split(reader: Reader, files: _Files) -> str | None:
    """Text of the split of a launch; None with a note if it is needed and missing."""
    split = reader.text("split", "split", needed=True)
    if split is None and files.blend is not None and not reader.undecided:
        reader.undecide("split", say.data_paths_from_a_file())
    return split


def _amount(reader: Reader, global_batch: int | None) -> tuple[int | None, int | None]:
    """Numbers of training samples and steps, each computed from the other."""
    samples = reader.whole("train_samples", "samples", needed=True)
    if samples:
        return samples, None if not global_batch else samples // global_batch
    steps = reader.whole("train_iters", "samples", needed=True)
    if steps is None and not reader.undecided:
        reader.undecide("train_iters", say.neither_train_iters_nor_train())
    return (None if steps is None or global_batch is None else steps * global_batch), steps


def _eod(config: Config, reader: Reader) -> int | None:
    """Id that ends a document if the launch alone determines it; None if the tokenizer does."""
    found = recipe_of(config).value("data.eod_token")
    if not isinstance(found, int):
        return None
    if reader.whole("null_tokenizer_eod_id", "eod") is None:
        reader.whole("vocab_size", "eod")
    return found

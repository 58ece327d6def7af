"""What a MindSpore Transformers run asks of MindRecord files (`type: MindDataset`), static and dynamic graph.

Rows are taken in the order of the files and dealt to the devices in turn, unless they are shuffled, as MindDataset does
where `shuffle` is not False: then the order is drawn by MindSpore, and only what is drawn from can be compared.

Sources: mindformers 1.9 `dataset/causal_language_model_dataset.py:CausalLanguageModelDataset._process_mindrecord_data`
(1.6 to 2.1 alike), `dataset/dataloader/utils.py:_get_mindrecord_files` (2.x); MindSpore 2.9 `dataset.MindDataset`,
measured.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...schemas.mindformers.resolution import definition
from ...schemas.rows import UndecidedError
from .messages_compiled import say
from .mindrecord import files_of, is_record, read_records
from .plan import Plan, Reader, Rows
from .problems import RefusedError
from .row_draws import has_labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.config import Config
    from .mindrecord import DataFile, RecordFile

LOADER = "MindDataset"


def record_plan(config: Config, reader: Reader, base: str, *, dynamic: bool) -> Plan:
    """The plan of a YAML whose data are MindRecord files."""
    global_batch = reader.whole("resolved.batch.global_size", "global_batch", needed=True)
    if global_batch is None and not reader.undecided:
        reader.undecide("resolved.batch.global_size", say.the_global_batch_size_cannot())
    shuffled = _shuffled(reader, base)
    for key in ("sampler", "padded_sample", "num_padded"):
        if reader.value(f"{base}.{key}") is not None:
            reader.undecide(f"{base}.{key}", say.rows_are_chosen_by(key=f"{base}.{key}"))
    steps = reader.whole("resolved.schedule.total_steps" if dynamic else "resolved.runner.total_steps")
    ranks = reader.whole("resolved.parallel.data_parallel", "ranks")
    micro = reader.whole("resolved.batch.local_size" if dynamic else "resolved.batch.micro_size", "micro_batch")
    masked = reader.whole("resolved.transformer.pad_token_id", "pad")
    rows = _rows(reader, base, shuffled=shuffled, dynamic=dynamic)
    masks = rows is not None and "loss_mask" not in rows.columns
    plan = Plan(
        file=config.file,
        framework="mindformers",
        version=config.framework_version,
        blend=None,
        split=None,
        own_files=True,
        samples=None,
        sample_length=None,
        seed=None,
        global_batch=global_batch,
        micro_batch=micro,
        ranks=ranks,
        loader="dealt",
        steps=reader.whole("training.steps") if dynamic and steps is None else steps,
        vocabulary=reader.whole("resolved.transformer.vocab_size", "vocabulary"),
        unseen={masked: "loss"} if masks and masked is not None and masked >= 0 else {},
        places=reader.places,
        undecided=tuple(reader.undecided),
        problems=tuple(reader.problems),
        rows=rows,
    )
    return plan if dynamic else _with_resets(plan, reader)


def _with_resets(plan: Plan, reader: Reader) -> Plan:
    """The static graph's data set makes positions and masks of its own, whatever columns the rows have.

    They begin anew after each `eod_token_id` (`get_input_data_batch_slice_map`).
    """
    if not reader.true("train_dataset.eod_reset", "resets_positions"):
        return plan
    reader.true("train_dataset.eod_reset", "resets_attention")
    eod = reader.whole("train_dataset.eod_token_id", "eod")
    return plan._replace(eod=eod, resets_positions=True, resets_attention=True)


def _shuffled(reader: Reader, base: str) -> bool:
    """Whether MindSpore draws the order: without a word it does."""
    value = reader.value(f"{base}.shuffle", "shuffle")
    if not reader.unless_off(f"{base}.shuffle"):
        return False
    reader.undecide(f"{base}.shuffle", say.rows_are_shuffled(key=f"{base}.shuffle", value=value))
    return True


def _are_names(names: tuple[Any, ...]) -> bool:
    return bool(names) and all(isinstance(name, str) and name for name in names)


def _rows(reader: Reader, base: str, *, shuffled: bool, dynamic: bool) -> Rows | None:
    folder = None if dynamic else reader.value(f"{base}.dataset_dir", "blend")
    named = folder or reader.value(f"{base}.dataset_files", "blend")
    listed = isinstance(named, (list, tuple))
    names: tuple[Any, ...] = tuple(named) if isinstance(named, (list, tuple)) else (named,)
    if not _are_names(names):
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
    """The rows that a plan draws from; RefusedError where they are not here, UnreadableError where they are damaged."""
    rows = plan.rows
    assert rows is not None
    places = [_place(name, plan.file, given) for name in rows.names]
    walked = rows.walked and not (len(places) == 1 and not rows.suffix and os.path.isfile(places[0]))
    # The static graph names a single file by itself, and MindDataset then reads all that its header lists.
    return read_records(rows.names[0], files_of(places, walked=walked, suffix=rows.suffix))


def _place(name: str, file: str, given: Mapping[str, DataFile]) -> str:
    for place in (name, os.path.join(os.path.dirname(file), name)):
        if os.path.exists(place):
            return place
    alike = [one for one in given if os.path.basename(one) == os.path.basename(name) and is_record(one)]
    if len(alike) == 1:
        return alike[0]
    raise RefusedError(say.there_is_nothing_at(path=name))


def _taken(most: int | None, ranks: int, rows: int) -> int:
    """How many rows a run takes: each device its share (`_reset_num_samples`), and all where that is none."""
    if most is None or 0 <= most < ranks:
        return rows
    return min(most // ranks * ranks, rows)


def settled(plan: Plan, data: RecordFile) -> Plan:
    """The plan with what the rows themselves decide: how many there are, their length, the steps of the run."""
    rows = plan.rows
    assert rows is not None
    samples = _taken(rows.most, plan.ranks or 1, data.sequences)
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

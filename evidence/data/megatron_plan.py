"""The data plan of a Megatron-LM run.

Sources, 0.12 to 0.19: `pretrain_gpt.py:core_gpt_dataset_config_from_args`, `training/utils.py:
get_blend_and_blend_per_split`, `training/training.py:get_train_valid_test_num_samples`, `core/datasets/gpt_dataset.py:
GPTDataset.__getitem__` (the masked ids), `training/tokenizer/tokenizer.py:_NullTokenizer`.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from ...mapper.recipe.reading import recipe_of
from ...schemas.border.file_input import read_text
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from .blend import blend_of
from .messages_compiled import say
from .plan import Plan, Reader
from .problems import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...mapper.data_words import Blend
    from ...schemas.config import Config, Value

_OTHER_DATA = {
    "mock_data": say.other_mock_data,
    "sft": say.other_sft,
    "fim_data": say.other_fim_data,
    "retro_project_dir": say.other_retro_project_dir,
    "rampup_batch_size": say.other_rampup_batch_size,
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
    files = _files(reader)
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
        split=None if files.own else _split(reader, files),
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


def _files(reader: Reader) -> _Files:
    """The training files: `--data-path` with a split, or files of training's own."""
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
    """A file that the launch names; where it is not here, that is noted."""
    beside = os.path.join(os.path.dirname(reader.config.file), named)
    path = named if os.path.exists(named) or not os.path.exists(beside) else beside
    try:
        return read_text(path).text
    except UnreadableError as error:
        reader.undecide(key, say.the_data_paths_stand_in(named=named, why=error.diagnostic.words()))
        return None


def _blend(reader: Reader, key: str, words: Value | Sequence[object]) -> Blend | None:
    if not isinstance(words, (list, tuple)):
        return None
    try:
        return blend_of(words)
    except RefusedError as refused:
        reader.report(say.refused(why=refused.words), key)
        reader.undecide(key, say.the_data_paths_are_refused(why=refused.words))
        return None


def _split(reader: Reader, files: _Files) -> str | None:
    split = reader.text("split", "split", needed=True)
    if split is None and files.blend is not None and not reader.undecided:
        reader.undecide("split", say.data_paths_from_a_file())
    return split


def _amount(reader: Reader, global_batch: int | None) -> tuple[int | None, int | None]:
    samples = reader.whole("train_samples", "samples", needed=True)
    if samples:
        return samples, None if not global_batch else samples // global_batch
    steps = reader.whole("train_iters", "samples", needed=True)
    if steps is None and not reader.undecided:
        reader.undecide("train_iters", say.neither_train_iters_nor_train())
    return (None if steps is None or global_batch is None else steps * global_batch), steps


def _eod(config: Config, reader: Reader) -> int | None:
    """The id that ends a document, where the launch alone says it; otherwise the tokenizer does."""
    found = recipe_of(config).value("data.eod_token")
    if not isinstance(found, int):
        return None
    if reader.whole("null_tokenizer_eod_id", "eod") is None:
        reader.whole("vocab_size", "eod")
    return found

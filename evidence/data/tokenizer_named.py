"""The tokenizer that a launch script or a YAML names.

Sources: megatron 0.12 `training/tokenizer/tokenizer.py:build_tokenizer` (`tokenizer_model`, or `vocab_file` with
`merge_file`); mindformers 1.9 `models/build_tokenizer.py:build_tokenizer` and `dataset/handler/base_handler.py:
BaseInstructDataHandler.build_tokenizer` (`pretrained_model_dir`, the handlers' own first), `processor.tokenizer` of
older classes.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .messages_compiled import say
from .names_compiled import TOKENIZERS
from .problems import unreadable

if TYPE_CHECKING:
    from ...schemas.config import Config, Setting


def is_tokenizer(name: str) -> bool:
    """Whether a word of the command line names a tokenizer itself, and no file that names one."""
    return os.path.isdir(name) or name.endswith((".json", ".model"))


def named_tokenizer(config: Config) -> str:
    """Where the tokenizer of a configuration lies; UnreadableError where it names none, or none that is here."""
    key, setting = _given(config)
    if setting is None:
        listed = ", ".join(TOKENIZERS.get(config.framework, ()))
        return unreadable(say.tokenizer(path=config.file, why=say.it_names_no_tokenizer(keys=listed)), config.file)
    value = setting.value
    if not isinstance(value, str) or not setting.decided:
        raw = " ".join(setting.raw or ()) or key
        return unreadable(say.tokenizer(path=config.file, why=say.its_tokenizer_is_undecided(raw=raw)), config.file)
    for place in (value, os.path.join(os.path.dirname(config.file), value)):
        if os.path.exists(place):
            return place
    return unreadable(
        say.tokenizer(path=config.file, why=say.its_tokenizer_is_not_here(key=key, path=value)), config.file
    )


def _given(config: Config) -> tuple[str, Setting | None]:
    for form in TOKENIZERS.get(config.framework, ()):
        for key, setting in config.settings.items():
            if re.sub(r"\[\d+\]", "[*]", key) == form and (not setting.decided or setting.value):
                return key, setting
    return "", None

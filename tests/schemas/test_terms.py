"""Every word that stands for a key in JSON has a Chinese one."""

from __future__ import annotations

from typing import Any, Literal, get_args

import pytest

from accmap.mappings import tables
from accmap.schemas import config, diagnostic
from accmap.schemas.shared_words import term

KINDS = {
    "origin": config.Origin,
    "acceptance": config.Acceptance,
    "severity": diagnostic.Severity,
    "row": tables.Status,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_a_word(kind: str) -> None:
    alias: Any = KINDS[kind]
    keys = get_args(eval(alias, {"Literal": Literal}) if isinstance(alias, str) else alias)
    assert keys
    assert [term(key, "en") for key in keys] == list(keys)
    assert not {term(key, "zh") for key in keys} & set(keys)

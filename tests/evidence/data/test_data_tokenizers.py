"""Ids as text without the package, and against the package where it is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from accmap.evidence.data.tokenizer import encoder, read_tokenizer
from accmap.schemas.diagnostic import UnreadableError

BYTES: dict[str, Any] = {
    "model": {
        "type": "BPE",
        "vocab": {"h": 0, "i": 1, "Ġ": 2, "Ċ": 3, "ä": 4, "½": 5, "ł": 6, "hi": 7},
        "merges": ["h i"],
    },
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True},
    "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "added_tokens": [
        {
            "id": 8,
            "content": "<|end|>",
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
    ],
}
PIECES: dict[str, Any] = {
    "model": {
        "type": "BPE",
        "byte_fallback": True,
        "vocab": {"▁": 0, "a": 1, "▁a": 2, "<0xE4>": 3, "<0xBD>": 4, "<0xA0>": 5},
        "merges": ["▁ a"],
    },
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
        ],
    },
    "added_tokens": [],
}
CASES = {
    "bytes as letters": (BYTES, [7, 2, 0, 3, 4, 5, 6, 8], "hi h\n你<|end|>"),
    "pieces with bytes": (PIECES, [2, 0, 1, 3, 4, 5], " a a你"),
}


def write(folder: Path, content: dict[str, Any], **beside: Any) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    for name, value in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(value), "utf-8")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_ids_become_text(name: str, tmp_path: Path) -> None:
    content, ids, text = CASES[name]
    assert read_tokenizer(str(write(tmp_path, content))).text(ids) == text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.frameworks
def test_the_package_reads_the_same(name: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    content, ids, text = CASES[name]
    packaged = encoder(str(write(tmp_path, content)))
    assert packaged is not None
    assert packaged.decode(ids, skip_special_tokens=False) == text


def test_special_tokens_stand_beside(tmp_path: Path) -> None:
    write(tmp_path, BYTES, tokenizer_config={"eos_token": {"content": "<|end|>"}, "pad_token": "hi", "bos_token": None})
    found = read_tokenizer(str(tmp_path / "tokenizer.json"))
    assert found.special == {"eos_token": 8, "pad_token": 7}
    assert found.size == 9


def test_an_id_beyond_the_vocabulary_is_shown(tmp_path: Path) -> None:
    assert read_tokenizer(str(write(tmp_path, BYTES))).text([7, 77]) == "hi⟨77⟩"


def test_a_unigram_vocabulary_is_a_list(tmp_path: Path) -> None:
    content = {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["▁hi", -1.0]]}, "decoder": {"type": "Metaspace"}}
    assert read_tokenizer(str(write(tmp_path, content))).text([1, 1]) == " hi hi"


NO_IDS = [
    '{"model": {"vocab": {}}}',
    '{"model": {"vocab": [1, 2]}}',
    '{"model": {"vocab": {"a": 0, "b": "x"}}}',
    '{"model": {"vocab": {"a": -4}}}',
]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": {}}', "{", '{"model": {"vocab": 3}}', "\xff", *NO_IDS])
def test_what_is_no_tokenizer(text: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UnreadableError) as caught:
        read_tokenizer(str(tmp_path / "tokenizer.json"))
    assert caught.value.diagnostic.kind.code == "EVD062"


def test_a_tokenizer_that_is_not_there() -> None:
    with pytest.raises(UnreadableError):
        read_tokenizer("nowhere/tokenizer.json")

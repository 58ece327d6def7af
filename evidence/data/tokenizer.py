"""Vocabulary of a tokenizer without its package, and the tokenizer that a run names.

`tokenizer_config.json` and `special_tokens_map.json` beside it name the special tokens. Ids become text for the two
common ways of writing pieces: bytes as letters (GPT-2's, used by Qwen, Llama 3, DeepSeek) and ▁ for a space with <0x..>
for single bytes (SentencePiece's).

Sources for the tokenizer that a launch script or a YAML names: megatron 0.12
`training/tokenizer/tokenizer.py:build_tokenizer` (`tokenizer_model`, or `vocab_file` with `merge_file`); mindformers
1.9 `models/build_tokenizer.py:build_tokenizer` and `dataset/handler/base_handler.py:
BaseInstructDataHandler.build_tokenizer` (`pretrained_model_dir`, the handlers' own first), `processor.tokenizer` of
older classes.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...schemas.diagnostic import unreadable
from ...schemas.fast_records import NamedTuple
from ...schemas.message import verbatim
from ...schemas.shared_words import system_reason
from ..bounded_files import BrokenJsonError, Budget, as_list, as_object, members
from .messages_compiled import say
from .names_compiled import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from ...schemas.config import Config, Setting

_MOST_BYTES = 1 << 27
_VOCABULARY = ("model", "vocab")
_PIECE = 220
"""Bytes of memory for a piece: its text and id, and their places in two tables."""
SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token")


class Tokenizer(NamedTuple):
    """A vocabulary: its pieces by id, and the special ones by name."""

    file: str
    pieces: Mapping[int, str]
    added: frozenset[int]
    special: Mapping[str, int]
    """`eos_token` and the like → id."""
    written_as: str
    """How pieces write bytes: `bytes`, `metaspace` or `plain`."""

    @property
    def size(self) -> int:
        """Highest id plus one."""
        return max(self.pieces, default=-1) + 1

    def text(self, ids: Iterable[int]) -> str:
        """The text of some ids; one that the vocabulary lacks is written as ⟨id⟩."""
        raw = bytearray()
        for token in ids:
            piece = self.pieces.get(int(token))
            if piece is None:
                raw += f"⟨{int(token)}⟩".encode()
            elif int(token) in self.added:
                raw += _utf8(piece)
            else:
                raw += piece_bytes(piece, self.written_as)
        return raw.decode("utf-8", errors="replace")


def read_tokenizer(path: str) -> Tokenizer:
    """The tokenizer at `path`, a `tokenizer.json` or its folder."""
    file = os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path
    read = read_parts(file)
    return Tokenizer(file, read.pieces, read.added, read.special, read.written_as)


class TokenizerParts(NamedTuple):
    """What a `tokenizer.json` holds, without its merges."""

    content: dict[str, Any]
    """All but the vocabulary: normaliser, decoder, added tokens and the like."""
    pieces: dict[int, str]
    added: frozenset[int]
    special: dict[str, int]
    written_as: str


def read_parts(file: str) -> TokenizerParts:
    """Parts of a `tokenizer.json`; UnreadableError if it is not one."""
    content, pieces, sound = _read_vocabulary(file)
    if pieces is None:
        raise unreadable(say.tokenizer(path=file, why=say.it_has_no_model_vocab()), file)
    if not pieces or not sound:
        why = say.model_vocab_does_not_give()
        raise unreadable(say.tokenizer(path=file, why=why), file)
    added: dict[int, str] = {}
    for entry in map(as_object, as_list(content.get("added_tokens"))):
        if _is_id(entry.get("id")) and isinstance(entry.get("content"), str):
            added[entry["id"]] = entry["content"]
    pieces.update(added)
    special = special_ids(os.path.dirname(file), {piece: number for number, piece in pieces.items()})
    return TokenizerParts(content, pieces, frozenset(added), special, _piece_encoding(content))


def _read_vocabulary(file: str) -> tuple[dict[str, Any], dict[int, str] | None, bool]:
    """A `tokenizer.json` without vocabulary and merges, its pieces by id, and True if every piece has an id."""
    content: dict[str, Any] = {}
    pieces: dict[int, str] | None = None
    sound = True
    budget = Budget(os.path.getsize(file) if os.path.isfile(file) else 0, free=96 << 20)
    with refusing_errors(file):
        for within, key, value in members(file, _MOST_BYTES, (("model",), _VOCABULARY), (("model", "merges"),)):
            pairs: list[tuple[Any, Any]] = []
            if within == _VOCABULARY:
                pairs = [(value, key)]
            elif (*within, key) == _VOCABULARY and isinstance(value, list):
                entries = map(as_list, as_list(value))
                pairs = [(number, entry[0]) for number, entry in enumerate(entries) if entry]
            elif within:
                content.setdefault("model", {})[key] = value
            else:
                content[key] = value
            if pairs or ((*within, key) == _VOCABULARY and isinstance(value, (dict, list))):
                pieces = {} if pieces is None else pieces
            for number, piece in pairs:
                if pieces is not None and _is_id(number) and isinstance(piece, str):
                    budget.take(_PIECE + len(piece))
                    pieces[number] = piece
                else:
                    sound = False
    return content, pieces, sound


def _is_id(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def encoder(path: str) -> Any | None:
    """Tokenizer of the `tokenizers` package; None if the package is absent or refuses the file."""
    try:
        from tokenizers import Tokenizer as Packaged  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    file = os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path
    try:
        return Packaged.from_file(file)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except Exception:  # noqa: BLE001 - the package raises nothing narrower
        return None


def read_json(file: str) -> dict[str, Any]:
    """JSON object in a tokenizer's folder, with a size limit."""
    with refusing_errors(file):
        return {key: value for _, key, value in members(file, _MOST_BYTES)}


@contextmanager
def refusing_errors(file: str) -> Generator[None]:
    """Context that turns any error inside into UnreadableError for the tokenizer file."""
    try:
        yield
    except OSError as error:
        raise unreadable(say.tokenizer(path=file, why=system_reason(error)), file) from None
    except UnicodeDecodeError as error:
        raise unreadable(say.tokenizer(path=file, why=say.byte_is_not_utf_8(start=error.start)), file) from None
    except ValueError as error:
        place = f"line {error.line}: {error}" if isinstance(error, BrokenJsonError) else str(error)
        raise unreadable(say.tokenizer(path=file, why=verbatim(place)), file) from None


def special_ids(folder: str, numbers: Mapping[str, int]) -> dict[str, int]:
    """The ids of the special tokens that the files of a folder name."""
    special: dict[str, int] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        file = os.path.join(folder, name)
        if not os.path.isfile(file):
            continue
        content = read_json(file)
        for key in SPECIAL:
            value: Any = content.get(key)
            word: Any = as_object(value).get("content") if isinstance(value, dict) else value
            if isinstance(word, str) and word in numbers:
                special[key] = numbers[word]
    return special


def _piece_encoding(content: dict[str, Any]) -> str:
    kinds = _kinds(content.get("decoder")) | _kinds(content.get("pre_tokenizer"))
    if "ByteLevel" in kinds:
        return "bytes"
    if as_object(content.get("model")).get("byte_fallback") or kinds & {"Metaspace", "ByteFallback", "Replace"}:
        return "metaspace"
    return "plain"


def _kinds(part: Any) -> set[str]:
    """Types of a decoder or pre-tokenizer, nested ones included."""
    content = as_object(part)
    found = {str(content.get("type"))}
    for key in ("decoders", "pretokenizers"):
        for entry in as_list(content.get(key)):
            found |= _kinds(entry)
    return found


def piece_bytes(piece: str, written_as: str) -> bytes:
    """Bytes that a vocabulary piece stands for."""
    if written_as == "bytes":
        table = _letters()
        if all(letter in table for letter in piece):
            return bytes(table[letter] for letter in piece)
        return _utf8(piece)
    if written_as == "metaspace":
        byte = _BYTE.fullmatch(piece)
        return bytes.fromhex(byte[1]) if byte is not None else _utf8(piece.replace("▁", " "))
    return _utf8(piece)


def _utf8(piece: str) -> bytes:
    """UTF-8 bytes of a piece; surrogates are replaced."""
    return piece.encode("utf-8", "replace")


_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


_LETTERS: dict[str, int] = {}


def _letters() -> dict[str, int]:
    """GPT-2's table from letters to the bytes that they stand for."""
    if not _LETTERS:
        plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        _LETTERS.update({chr(byte): byte for byte in plain})
        others = [byte for byte in range(0x100) if byte not in plain]
        _LETTERS.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return _LETTERS


def is_tokenizer(name: str) -> bool:
    """True if a command-line word names a tokenizer, not a configuration that names one."""
    return os.path.isdir(name) or name.endswith((".json", ".model"))


def named_tokenizer(config: Config) -> str:
    """Path of a configuration's tokenizer; UnreadableError if it names none or the path does not exist."""
    key, setting = _tokenizer_setting(config)
    if setting is None:
        listed = ", ".join(TOKENIZERS.get(config.framework, ()))
        raise unreadable(say.tokenizer(path=config.file, why=say.it_names_no_tokenizer(keys=listed)), config.file)
    value = setting.value
    if not isinstance(value, str) or not setting.decided:
        raw = " ".join(setting.raw or ()) or key
        raise unreadable(say.tokenizer(path=config.file, why=say.its_tokenizer_is_undecided(raw=raw)), config.file)
    for place in (value, os.path.join(os.path.dirname(config.file), value)):
        if os.path.exists(place):
            return place
    raise unreadable(
        say.tokenizer(path=config.file, why=say.its_tokenizer_is_not_here(key=key, path=value)), config.file
    )


def _tokenizer_setting(config: Config) -> tuple[str, Setting | None]:
    for form in TOKENIZERS.get(config.framework, ()):
        for key, setting in config.settings.items():
            if re.sub(r"\[\d+\]", "[*]", key) == form and (not setting.decided or setting.value):
                return key, setting
    return "", None

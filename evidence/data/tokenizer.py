"""Vocabulary of a tokenizer without its package, and two tokenizers compared.

`tokenizer_config.json` and `special_tokens_map.json` beside it name the special tokens. Ids become text for the two
common ways of writing pieces: bytes as letters (GPT-2's, used by Qwen, Llama 3, DeepSeek) and ▁ for a space with <0x..>
for single bytes (SentencePiece's). Text becomes ids only with the package `tokenizers`.

`compare` looks at the vocabulary, the special ids, the chat template, and the ids of the same texts. What a name stands
for is what the frameworks load from it: a `tokenizer.json` (Megatron-LM's `HuggingFaceTokenizer` and MindSpore
Transformers' through `AutoTokenizer.from_pretrained`), a SentencePiece `.model` (`Llama2Tokenizer`,
`SentencePieceTokenizer`), or `vocab.json` with `merges.txt` (`GPT2BPETokenizer`; megatron 0.12
training/tokenizer/tokenizer.py:build_tokenizer). A file is taken for itself, of a folder the first of these.

Sources for the tokenizer that a launch script or a YAML names: megatron 0.12
`training/tokenizer/tokenizer.py:build_tokenizer` (`tokenizer_model`, or `vocab_file` with `merge_file`); mindformers
1.9 `models/build_tokenizer.py:build_tokenizer` and `dataset/handler/base_handler.py:
BaseInstructDataHandler.build_tokenizer` (`pretrained_model_dir`, the handlers' own first), `processor.tokenizer` of
older classes.

A SentencePiece `.model` is one protocol buffer, `ModelProto` of `sentencepiece_model.proto` (0.2): field 1 is a piece,
whose field 1 is its text; field 2 is `TrainerSpec`, whose fields 40 to 43 are the ids of unknown, begin, end and
padding.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...schemas.border.file_input import read_bytes
from ...schemas.fast_records import NamedTuple
from ...schemas.message import verbatim
from ...schemas.shared_words import system_reason
from ...schemas.verdict import Unseen, conclude
from ..bounded_files import BrokenJsonError, Budget, as_list, as_object, members
from .messages_compiled import say
from .names_compiled import PROBES, TOKENIZERS
from .problems import unreadable
from .protocol_buffers import as_int64, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

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
        """One more than the highest id."""
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
                raw += _bytes_of(piece, self.written_as)
        return raw.decode("utf-8", errors="replace")


def read_tokenizer(path: str) -> Tokenizer:
    """The tokenizer at `path`, a `tokenizer.json` or its folder."""
    file = os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path
    content, pieces, sound = _read_vocabulary(file)
    if pieces is None:
        unreadable(say.tokenizer(path=file, why=say.it_has_no_model_vocab()), file)
    if not pieces or not sound:
        why = say.model_vocab_does_not_give()
        unreadable(say.tokenizer(path=file, why=why), file)
    added: dict[int, str] = {}
    for entry in map(as_object, as_list(content.get("added_tokens"))):
        if _is_id(entry.get("id")) and isinstance(entry.get("content"), str):
            added[entry["id"]] = entry["content"]
    pieces.update(added)
    special = special_ids(os.path.dirname(file), {piece: number for number, piece in pieces.items()})
    return Tokenizer(file, pieces, frozenset(added), special, _piece_encoding(content))


def _read_vocabulary(file: str) -> tuple[dict[str, Any], dict[int, str] | None, bool]:
    """A `tokenizer.json` without vocabulary and merges; its pieces by id; True if each piece has an id."""
    content: dict[str, Any] = {}
    pieces: dict[int, str] | None = None
    sound = True
    budget = Budget(os.path.getsize(file) if os.path.isfile(file) else 0, free=96 << 20)
    with _report_errors(file):
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
    """The package's tokenizer, which also turns text into ids; None where it is not installed or refuses the file."""
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
    """A JSON object of a tokenizer's folder, read within bounds."""
    with _report_errors(file):
        return {key: value for _, key, value in members(file, _MOST_BYTES)}


@contextmanager
def _report_errors(file: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        unreadable(say.tokenizer(path=file, why=system_reason(error)), file)
    except UnicodeDecodeError as error:
        unreadable(say.tokenizer(path=file, why=say.byte_is_not_utf_8(start=error.start)), file)
    except ValueError as error:
        place = f"line {error.line}: {error}" if isinstance(error, BrokenJsonError) else str(error)
        unreadable(say.tokenizer(path=file, why=verbatim(place)), file)


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
    """The types of a decoder or pre-tokenizer and of all that stand in it."""
    content = as_object(part)
    found = {str(content.get("type"))}
    for key in ("decoders", "pretokenizers"):
        for entry in as_list(content.get(key)):
            found |= _kinds(entry)
    return found


def _bytes_of(piece: str, written_as: str) -> bytes:
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
    """The bytes of a piece; JSON can spell halves of characters, which have none."""
    return piece.encode("utf-8", "replace")


_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


_LETTERS: dict[str, int] = {}


def _letters() -> dict[str, int]:
    """The letter that stands for each byte: printable ones for themselves, the others from U+0100 on, in order."""
    if not _LETTERS:
        plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        _LETTERS.update({chr(byte): byte for byte in plain})
        others = [byte for byte in range(0x100) if byte not in plain]
        _LETTERS.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return _LETTERS


_MOST_COMPARED = 1 << 27
_FLAGS = ("add_bos_token", "add_eos_token", "add_prefix_space", "legacy")


class TokenizerFiles(NamedTuple):
    """A tokenizer as its files have it."""

    file: str
    kind: str
    """`tokenizer.json`, `sentencepiece` or `gpt2`."""
    pieces: Mapping[int, str]
    special: Mapping[str, int]
    template: str | None
    flags: Mapping[str, object]
    encode: Callable[[str], list[int]] | None
    package: str
    """The package that turns text into ids."""


class Row(NamedTuple):
    """One thing that was compared; `a` and `b` say what it is on each side where it differs."""

    what: str
    same: bool
    a: object
    b: object


class TokenizerPair(NamedTuple):
    """The comparison of two tokenizers."""

    verdict: str
    rows: tuple[Row, ...]
    unseen: tuple[Unseen, ...]


def open_tokenizer(path: str) -> TokenizerFiles:
    """The tokenizer that a file or folder holds; UnreadableError where it holds none."""
    file = _file_of(path)
    folder = os.path.dirname(file)
    config = _optional_json(os.path.join(folder, "tokenizer_config.json"))
    template = _template(folder, config)
    flags = {name: config[name] for name in _FLAGS if isinstance(config.get(name), bool)}
    name = os.path.basename(file)
    if name.endswith(".model"):
        pieces, special = _sentencepiece(file)
        return TokenizerFiles(
            file, "sentencepiece", pieces, special, template, flags, _sentencepiece_encoder(file), "sentencepiece"
        )
    if name == "vocab.json":
        content = read_json(file)
        if not content or not all(isinstance(number, int) and number >= 0 for number in content.values()):
            unreadable(say.tokenizer(path=file, why=say.model_vocab_does_not_give()), file)
        pieces = {number: piece for piece, number in content.items()}
        special = special_ids(folder, {piece: number for number, piece in pieces.items()})
        return TokenizerFiles(file, "gpt2", pieces, special, template, flags, _gpt2_encoder(file), "tokenizers")
    read = read_tokenizer(file)
    encode = _ids_of(encoder(file))
    return TokenizerFiles(file, "tokenizer.json", read.pieces, read.special, template, flags, encode, "tokenizers")


def compare(a: TokenizerFiles, b: TokenizerFiles, texts: Sequence[str] = PROBES) -> TokenizerPair:
    """Compare everything that both sides tell."""
    rows, unseen = [_vocabularies(a, b)], list(_lopsided_tokens(a, b))
    rows += [_row(name, a.special, b.special) for name in SPECIAL if name in a.special and name in b.special]
    rows += [_row(name, a.flags, b.flags) for name in _FLAGS if name in a.flags and name in b.flags]
    if a.template is not None or b.template is not None:
        rows.append(Row("chat_template", a.template == b.template, *_first_lines(a.template, b.template)))
    missing = [side for side in (a, b) if side.encode is None]
    if missing:
        why = say.no_ids(package=missing[0].package, file=missing[0].file)
        unseen.append(Unseen("text", *why.both()))
    else:
        rows += [_ids(a, b, text) for text in texts]
    wrong = any(not row.same for row in rows)
    verdict = conclude("same", "different", wrong=wrong, compared=len(rows), unseen=unseen)
    return TokenizerPair(verdict, tuple(rows), tuple(unseen))


def _row(name: str, a: Mapping[str, object], b: Mapping[str, object]) -> Row:
    return Row(name, a[name] == b[name], a[name], b[name])


def _lopsided_tokens(a: TokenizerFiles, b: TokenizerFiles) -> Iterator[Unseen]:
    """The special ids that one side alone has."""
    for name in SPECIAL:
        if (name in a.special) != (name in b.special):
            lacks = a if name in b.special else b
            yield Unseen(name, *say.names_none(file=lacks.file).both())


def _file_of(path: str) -> str:
    if not os.path.isdir(path):
        return path
    for name in ("tokenizer.json", "tokenizer.model", "vocab.json"):
        file = os.path.join(path, name)
        if os.path.isfile(file):
            return file
    return unreadable(say.tokenizer(path=path, why=say.it_has_no_tokenizer_files()), path)


def _vocabularies(a: TokenizerFiles, b: TokenizerFiles) -> Row:
    """The first id that is not one piece on both sides."""
    for number in sorted(set(a.pieces) | set(b.pieces)):
        one, two = a.pieces.get(number), b.pieces.get(number)
        if one != two:
            return Row("vocabulary", same=False, a={"id": number, "piece": one}, b={"id": number, "piece": two})
    return Row("vocabulary", same=True, a=len(a.pieces), b=len(b.pieces))


def _ids(a: TokenizerFiles, b: TokenizerFiles, text: str) -> Row:
    assert a.encode is not None
    assert b.encode is not None
    one, two = a.encode(text), b.encode(text)
    return Row(f"text {text!r}", one == two, one, two)


def _first_lines(a: str | None, b: str | None) -> tuple[object, object]:
    """The first lines of two templates that differ."""
    if a is None or b is None:
        return a and a.partition("\n")[0], b and b.partition("\n")[0]
    ones, twos = a.splitlines(), b.splitlines()
    at = first_difference(ones, twos)
    one, two = ({"line": at + 1, "text": "".join(lines[at : at + 1])} for lines in (ones, twos))
    return one, two


def first_difference(a: Sequence[object], b: Sequence[object]) -> int:
    """The first place where two sequences are not the same; the end of the shorter one where there is none."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(a), len(b)))


def _template(folder: str, config: Mapping[str, Any]) -> str | None:
    """The chat template: a file of its own outranks the configuration's (`transformers` from 4.43 on)."""
    file = os.path.join(folder, "chat_template.jinja")
    if os.path.isfile(file):
        return read_bytes(file).decode("utf-8", "replace")
    written = config.get("chat_template")
    if isinstance(written, list):
        named = {one.get("name"): one.get("template") for one in written if isinstance(one, dict)}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        written = named.get("default")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return written if isinstance(written, str) else None


def _optional_json(file: str) -> Mapping[str, Any]:
    return read_json(file) if os.path.isfile(file) else {}


def _sentencepiece(file: str) -> tuple[dict[int, str], dict[str, int]]:
    try:
        return read_model(read_bytes(file, limit=_MOST_COMPARED))
    except ValueError as error:
        unreadable(say.tokenizer(path=file, why=verbatim(error)), file)


def _sentencepiece_encoder(file: str) -> Callable[[str], list[int]] | None:
    try:
        from sentencepiece import SentencePieceProcessor  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    try:
        packaged: Any = SentencePieceProcessor(model_file=file)
    except Exception:  # noqa: BLE001 - the package raises what its parser says
        return None
    return packaged.encode


def _gpt2_encoder(file: str) -> Callable[[str], list[int]] | None:
    """GPT-2's byte-level pairs; `tokenizers` splits with the pattern of Megatron-LM's `gpt2_tokenization.py`."""
    merges = os.path.join(os.path.dirname(file), "merges.txt")
    if not os.path.isfile(merges):
        unreadable(say.tokenizer(path=file, why=say.it_has_no_merges()), file)
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    try:
        packaged: Any = Tokenizer(models.BPE.from_file(file, merges))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        packaged.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportUnknownMemberType]
    except Exception:  # noqa: BLE001 - the package raises nothing narrower
        return None
    return _ids_of(packaged)


def _ids_of(packaged: Any | None) -> Callable[[str], list[int]] | None:
    """The package's way from text to ids, without the ids that it would put around them."""
    if packaged is None:
        return None

    def encode(text: str) -> list[int]:
        return list(packaged.encode(text, add_special_tokens=False).ids)

    return encode


def is_tokenizer(name: str) -> bool:
    """True if a word of the command line names a tokenizer itself, not a file that names one."""
    return os.path.isdir(name) or name.endswith((".json", ".model"))


def named_tokenizer(config: Config) -> str:
    """Path of a configuration's tokenizer; UnreadableError if it names none, or none that is here."""
    key, setting = _tokenizer_setting(config)
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


def _tokenizer_setting(config: Config) -> tuple[str, Setting | None]:
    for form in TOKENIZERS.get(config.framework, ()):
        for key, setting in config.settings.items():
            if re.sub(r"\[\d+\]", "[*]", key) == form and (not setting.decided or setting.value):
                return key, setting
    return "", None


_PIECES, _TRAINER, _TEXT = 1, 2, 1
_SPECIAL = {40: "unk_token", 41: "bos_token", 42: "eos_token", 43: "pad_token"}
_DEFAULTS = {"unk_token": 0, "bos_token": 1, "eos_token": 2, "pad_token": -1}
_MOST_PIECES = 1 << 22


class SentencePieceModel(NamedTuple):
    """The vocabulary of a model file."""

    pieces: dict[int, str]
    special: dict[str, int]


def read_model(data: bytes) -> SentencePieceModel:
    """The vocabulary of a model; ValueError where the bytes are none."""
    pieces: dict[int, str] = {}
    special = dict(_DEFAULTS)
    for field, _, value in fields(data, 0, len(data)):
        if field == _PIECES and isinstance(value, tuple):
            if len(pieces) >= _MOST_PIECES:
                raise ValueError(say.pieces_too_many())
            pieces[len(pieces)] = _text(data, value)
        elif field == _TRAINER and isinstance(value, tuple):
            for inner, _, number in fields(data, *value):
                if inner in _SPECIAL and isinstance(number, int):
                    special[_SPECIAL[inner]] = as_int64(number)
    if not pieces:
        raise ValueError(say.pieces_none())
    return SentencePieceModel(pieces, {name: number for name, number in special.items() if number in pieces})


def _text(data: bytes, place: tuple[int, int]) -> str:
    for field, _, value in fields(data, *place):
        if field == _TEXT and isinstance(value, tuple):
            return data[value[0] : value[1]].decode("utf-8")
    return ""

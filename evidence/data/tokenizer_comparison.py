"""Two tokenizers compared by what they are and by what they make of the same texts.

What a name stands for is what the frameworks load from it: a `tokenizer.json` (Megatron-LM's `HuggingFaceTokenizer` and
MindSpore Transformers' through `AutoTokenizer.from_pretrained`), a SentencePiece `.model` (`Llama2Tokenizer`,
`SentencePieceTokenizer`), or `vocab.json` with `merges.txt` (`GPT2BPETokenizer`; megatron 0.12
training/tokenizer/tokenizer.py:build_tokenizer). A file is taken for itself, of a folder the first of these.

Vocabulary, merges, normaliser, pre- and post-processor, decoder, added tokens with their flags, special ids, the
settings of `tokenizer_config.json` and `generation_config.json`, and chat templates need no package. Text becomes ids
only with `tokenizers` or `sentencepiece`: of texts on which tokenizers part, and of a text that is made from the
vocabulary itself.

A SentencePiece `.model` is one protocol buffer, `ModelProto` of `sentencepiece_model.proto` (0.2): field 1 is a piece,
whose fields are its text, its score and its type; field 2 is `TrainerSpec`, whose fields 40 to 43 are the ids of
unknown, begin, end and padding; field 3 is `NormalizerSpec`.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ...schemas.border.file_input import read_bytes
from ...schemas.diagnostic import unreadable
from ...schemas.fast_records import NamedTuple
from ...schemas.message import verbatim
from ...schemas.verdict import Unseen, conclude
from ..bounded_files import as_list, as_object, members
from .messages_compiled import say
from .names_compiled import GENERATION_DEFAULTS, NOT_GENERATION, PROBES, TOKENIZER_DEFAULTS, TOKENIZER_SETTINGS
from .protocol_buffers import as_int64, fields
from .tokenizer import SPECIAL, encoder, piece_bytes, read_json, read_parts, special_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_MOST_COMPARED = 1 << 27
_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
_WITHOUT_EFFECT = ("trim_offsets",)
"""Settings of a part that change neither ids nor text."""
_DRAWN = 1500
"""Pieces of the vocabulary that make a text."""
_IN_A_LINE = 50
_SHOWN_APART = 20
"""Texts that have a row each; of more of them one row tells the first that differs."""


class TokenizerFiles(NamedTuple):
    """A tokenizer as its files have it."""

    file: str
    kind: str
    """`tokenizer.json`, `sentencepiece` or `gpt2`."""
    pieces: Mapping[int, str]
    special: Mapping[str, int]
    written_as: str
    """How pieces write bytes: `bytes`, `metaspace` or `plain`."""
    encode: Callable[[str], list[int]] | None
    package: str
    """The package that turns text into ids."""
    parts: Mapping[str, object]
    """What is compared between two of one kind, by name."""
    plain_ids: Sequence[int]
    """The ids of pieces that are text, in order: no special and no added token."""
    template: str | None = None
    settings: Mapping[str, object] = {}
    """Those of `tokenizer_config.json` that are compared."""
    has_settings: bool = False
    generation: Mapping[str, object] | None = None
    """`generation_config.json`; None where there is none."""


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
    """Tokenizer in a file or folder; UnreadableError if there is none."""
    file = _file_of(path)
    folder = os.path.dirname(file)
    name = os.path.basename(file)
    read = _sentencepiece if name.endswith(".model") else _gpt2 if name == "vocab.json" else _tokenizer_json
    config = _optional_json(os.path.join(folder, "tokenizer_config.json"))
    generation = _optional_json(os.path.join(folder, "generation_config.json"))
    settings = {key: config[key] for key in TOKENIZER_SETTINGS if config is not None and config.get(key) is not None}
    return read(file)._replace(
        template=_template(folder, config or {}),
        settings=settings,
        has_settings=config is not None,
        generation=generation,
    )


def compare(a: TokenizerFiles, b: TokenizerFiles, texts: Sequence[str] = PROBES) -> TokenizerPair:
    """Comparison of everything that both tokenizers define."""
    found: list[Row | Unseen] = [_vocabularies(a, b), *_parts(a, b), *_special_tokens(a, b), *_settings(a, b)]
    found += _generation(a, b)
    if a.template is not None or b.template is not None:
        found.append(Row("chat_template", a.template == b.template, *_first_lines(a.template, b.template)))
    missing = [side for side in (a, b) if side.encode is None]
    if missing:
        why = say.no_ids(package=missing[0].package, file=missing[0].file)
        found.append(Unseen("text", *why.both()))
    else:
        found += _texts(a, b, texts)
    rows = [one for one in found if isinstance(one, Row)]
    unseen = [one for one in found if isinstance(one, Unseen)]
    wrong = any(not row.same for row in rows)
    verdict = conclude("same", "different", wrong=wrong, compared=len(rows), unseen=unseen)
    return TokenizerPair(verdict, tuple(rows), tuple(unseen))


# --- the files ---


def _file_of(path: str) -> str:
    """Tokenizer file of a folder, or the path itself; UnreadableError if the folder has none."""
    if not os.path.isdir(path):
        return path
    for name in ("tokenizer.json", "tokenizer.model", "vocab.json"):
        file = os.path.join(path, name)
        if os.path.isfile(file):
            return file
    raise unreadable(say.tokenizer(path=path, why=say.it_has_no_tokenizer_files()), path)


def _optional_json(file: str) -> Mapping[str, Any] | None:
    return read_json(file) if os.path.isfile(file) else None


def _tokenizer_json(file: str) -> TokenizerFiles:
    """Tokenizer of a `tokenizer.json`: pieces, special tokens, parts and an encoder."""
    read = read_parts(file)
    content = read.content
    model = {key: value for key, value in as_object(content.get("model")).items() if key != "vocab"}
    added = {
        str(entry.get("content")): {key: value for key, value in entry.items() if key != "content"}
        for entry in map(as_object, as_list(content.get("added_tokens")))
    }
    parts: dict[str, object] = {name: _with_effect(content.get(name)) for name in _PARTS}
    parts |= {"model": model, "added_tokens": added, "merges": _merges_of_json(file)}
    plain = [number for number in sorted(read.pieces) if number not in read.added]
    encode = _ids_of(encoder(file))
    return TokenizerFiles(
        file, "tokenizer.json", read.pieces, read.special, read.written_as, encode, "tokenizers", parts, plain
    )


def _with_effect(part: Any) -> Any:
    """Part of a tokenizer without settings that have no effect."""
    if isinstance(part, dict):
        return {key: _with_effect(value) for key, value in as_object(part).items() if key not in _WITHOUT_EFFECT}
    return list(map(_with_effect, as_list(part))) if isinstance(part, list) else part


def _merges_of_json(file: str) -> list[str] | None:
    """Merges of a `tokenizer.json` in order; None if it has none or too many."""
    try:
        for within, key, value in members(file, _MOST_COMPARED, (("model",),), (("model", "vocab"),)):
            if (*within, key) == ("model", "merges"):
                return [
                    " ".join(map(str, as_list(one))) if isinstance(one, list) else str(one) for one in as_list(value)
                ]
    except ValueError:
        return None
    return None


def _gpt2(file: str) -> TokenizerFiles:
    """Tokenizer of a `vocab.json` with its `merges.txt`."""
    content = read_json(file)
    if not content or not all(isinstance(number, int) and number >= 0 for number in content.values()):
        raise unreadable(say.tokenizer(path=file, why=say.model_vocab_does_not_give()), file)
    merges = os.path.join(os.path.dirname(file), "merges.txt")
    if not os.path.isfile(merges):
        raise unreadable(say.tokenizer(path=file, why=say.it_has_no_merges()), file)
    lines = read_bytes(merges, limit=_MOST_COMPARED).decode("utf-8", "replace").splitlines()
    parts = {"merges": [line.strip() for line in lines if line.strip() and not line.startswith("#version")]}
    pieces = {number: piece for piece, number in content.items()}
    special = special_ids(os.path.dirname(file), {piece: number for number, piece in pieces.items()})
    plain = [number for number in sorted(pieces) if number not in special.values() and "<|" not in pieces[number]]
    encode = _gpt2_encoder(file, merges)
    return TokenizerFiles(file, "gpt2", pieces, special, "bytes", encode, "tokenizers", parts, plain)


def _gpt2_encoder(file: str, merges: str) -> Callable[[str], list[int]] | None:
    """Encoder of GPT-2's byte-level pairs, with the split pattern of Megatron-LM's `gpt2_tokenization.py`."""
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
    """Function from text to ids, without added special tokens; None without a package."""
    if packaged is None:
        return None

    def encode(text: str) -> list[int]:
        return list(packaged.encode(text, add_special_tokens=False).ids)

    return encode


_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_TEXT, _TYPE, _NORMAL = 1, 3, 1
_SPECIAL = {40: "unk_token", 41: "bos_token", 42: "eos_token", 43: "pad_token"}
_DEFAULTS = {"unk_token": 0, "bos_token": 1, "eos_token": 2, "pad_token": -1}
_MOST_PIECES = 1 << 22


def _sentencepiece(file: str) -> TokenizerFiles:
    """The content of a SentencePiece model file; UnreadableError if it is damaged."""
    try:
        return _read_model(file, read_bytes(file, limit=_MOST_COMPARED))
    except ValueError as error:
        raise unreadable(say.tokenizer(path=file, why=verbatim(error)), file) from None


def _read_model(file: str, data: bytes) -> TokenizerFiles:
    """Vocabulary of a SentencePiece model; ValueError if the bytes are not one."""
    pieces: dict[int, str] = {}
    plain: list[int] = []
    special = dict(_DEFAULTS)
    weighed, normalizer = sha256(), sha256()
    for field, _, value in fields(data, 0, len(data)):
        if not isinstance(value, tuple):
            continue
        if field == _PIECES:
            if len(pieces) >= _MOST_PIECES:
                raise ValueError(say.pieces_too_many())
            text, kind = _piece(data, value)
            if kind == _NORMAL:
                plain.append(len(pieces))
            pieces[len(pieces)] = text
            weighed.update(data[value[0] : value[1]] + b"\0")
        elif field == _TRAINER:
            for inner, _, number in fields(data, *value):
                if inner in _SPECIAL and isinstance(number, int):
                    special[_SPECIAL[inner]] = as_int64(number)
        elif field == _NORMALIZER:
            normalizer.update(data[value[0] : value[1]])
    if not pieces:
        raise ValueError(say.pieces_none())
    parts = {"scores and types of pieces": weighed.hexdigest()[:16], "normalizer": normalizer.hexdigest()[:16]}
    known = {name: number for name, number in special.items() if number in pieces}
    encode = _sentencepiece_encoder(file)
    return TokenizerFiles(file, "sentencepiece", pieces, known, "metaspace", encode, "sentencepiece", parts, plain)


def _piece(data: bytes, place: tuple[int, int]) -> tuple[str, int]:
    """The text and the type of a piece."""
    text, kind = "", _NORMAL
    for field, _, value in fields(data, *place):
        if field == _TEXT and isinstance(value, tuple):
            text = data[value[0] : value[1]].decode("utf-8")
        elif field == _TYPE and isinstance(value, int):
            kind = value
    return text, kind


def _sentencepiece_encoder(file: str) -> Callable[[str], list[int]] | None:
    """Encoder of a SentencePiece model; None if the package is absent or refuses the file."""
    try:
        from sentencepiece import SentencePieceProcessor  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    try:
        packaged: Any = SentencePieceProcessor(model_file=file)
    except Exception:  # noqa: BLE001 - the package raises what its parser says
        return None
    return packaged.encode


def _template(folder: str, config: Mapping[str, Any]) -> str | None:
    """Chat template of a folder: its own file, else the configuration's."""
    file = os.path.join(folder, "chat_template.jinja")
    if os.path.isfile(file):
        return read_bytes(file).decode("utf-8", "replace")
    written = config.get("chat_template")
    if isinstance(written, list):
        named = {one.get("name"): one.get("template") for one in written if isinstance(one, dict)}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        written = named.get("default")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return written if isinstance(written, str) else None


# --- what is compared ---


def _vocabularies(a: TokenizerFiles, b: TokenizerFiles) -> Row:
    """Row on the first id with different pieces."""
    for number in sorted(set(a.pieces) | set(b.pieces)):
        one, two = a.pieces.get(number), b.pieces.get(number)
        if one != two:
            return Row("vocabulary", same=False, a={"id": number, "piece": one}, b={"id": number, "piece": two})
    return Row("vocabulary", same=True, a=len(a.pieces), b=len(b.pieces))


def _parts(a: TokenizerFiles, b: TokenizerFiles) -> Iterator[Row | Unseen]:
    """Rows for the parts of two tokenizers of one kind, and for their merges."""
    for name in a.parts if a.kind == b.kind else a.parts.keys() & b.parts.keys():
        one, two = a.parts[name], b.parts[name]
        if name == "merges" and one is None and two is None:
            continue
        yield Row(name, one == two, *_narrow_to_difference(one, two))


def _narrow_to_difference(a: object, b: object) -> tuple[object, object]:
    """Two values narrowed to what differs: in lists the first item with its place, in objects every member."""
    whole: tuple[object, object] = a, b
    if isinstance(a, list) and isinstance(b, list):
        ones, twos = as_list(a), as_list(b)
        at = first_difference(ones, twos)
        one, two = ({"place": at + 1, "item": (items[at : at + 1] or [None])[0]} for items in (ones, twos))
        return one, two
    if isinstance(a, dict) and isinstance(b, dict):
        ours, theirs = as_object(a), as_object(b)
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return {name: ours.get(name) for name in names}, {name: theirs.get(name) for name in names}
    return whole


def _special_tokens(a: TokenizerFiles, b: TokenizerFiles) -> Iterator[Row | Unseen]:
    for name in SPECIAL:
        if name in a.special and name in b.special:
            yield Row(name, a.special[name] == b.special[name], a.special[name], b.special[name])
        elif name in a.special or name in b.special:
            lacks = a if name in b.special else b
            yield Unseen(name, *say.names_none(file=lacks.file).both())


def _settings(a: TokenizerFiles, b: TokenizerFiles) -> Iterator[Row | Unseen]:
    """Rows for settings of `tokenizer_config.json`; absent ones take their default if all classes share it."""
    for name in TOKENIZER_SETTINGS:
        if name not in a.settings and name not in b.settings:
            continue
        one, two = (
            side.settings.get(name, TOKENIZER_DEFAULTS.get(name) if side.has_settings else None) for side in (a, b)
        )
        if one is not None and two is not None:
            yield Row(name, one == two, one, two)
        elif a.has_settings and b.has_settings:
            yield Unseen(name, *say.names_none(file=(a if one is None else b).file).both())


def _generation(a: TokenizerFiles, b: TokenizerFiles) -> Iterator[Row | Unseen]:
    """Rows for settings of text generation, if a folder has them."""
    if a.generation is None and b.generation is None:
        return
    if a.generation is None or b.generation is None:
        lacks = a if a.generation is None else b
        yield Unseen("generation_config.json", *say.no_generation_config(folder=os.path.dirname(lacks.file)).both())
        return
    ours, theirs = ({**GENERATION_DEFAULTS, **one} for one in (a.generation, b.generation))
    names = [name for name in sorted({*ours, *theirs} - {*NOT_GENERATION}) if ours.get(name) != theirs.get(name)]
    for name in names:
        yield Row(f"generation_config {name}", same=False, a=ours.get(name), b=theirs.get(name))
    if not names:
        yield Row("generation_config", same=True, a=len(a.generation), b=len(b.generation))


def _texts(a: TokenizerFiles, b: TokenizerFiles, texts: Sequence[str]) -> Iterator[Row]:
    """Rows that compare the ids of sample texts."""
    assert a.encode is not None
    assert b.encode is not None
    if len(texts) <= _SHOWN_APART:
        for text in texts:
            one, two = a.encode(text), b.encode(text)
            yield Row(f"text {text!r}", one == two, one, two)
    else:
        yield _first_text(f"texts ({len(texts):,})", texts, a.encode, b.encode)
    made = list(_vocabulary_texts(a))
    if made:
        yield _first_text("text made from the vocabulary", made, a.encode, b.encode)


def _first_text(
    what: str, texts: Sequence[str], ours: Callable[[str], list[int]], theirs: Callable[[str], list[int]]
) -> Row:
    """Row for many texts: the first text whose ids differ."""
    for number, text in enumerate(texts):
        one, two = ours(text), theirs(text)
        if one != two:
            at = first_difference(one, two)
            sides = ({"line": number + 1, "place": at + 1, "ids": ids[at : at + _IN_A_LINE]} for ids in (one, two))
            return Row(what, False, *sides)
    return Row(what, same=True, a=len(texts), b=len(texts))


def _vocabulary_texts(tokenizer: TokenizerFiles) -> Iterator[str]:
    """Test texts of adjacent vocabulary pieces, drawn from all over the vocabulary."""
    numbers = tokenizer.plain_ids
    drawn = numbers[:: max(1, len(numbers) // _DRAWN)]
    # A piece may be a part of a letter, which is no text by itself.
    words = [piece_bytes(tokenizer.pieces[number], tokenizer.written_as).decode("utf-8", "ignore") for number in drawn]
    for start in range(0, len(words), _IN_A_LINE):
        yield "".join(words[start : start + _IN_A_LINE])


def _first_lines(a: str | None, b: str | None) -> tuple[object, object]:
    """The first lines of two templates that differ."""
    if a is None or b is None:
        return a and a.partition("\n")[0], b and b.partition("\n")[0]
    ones, twos = a.splitlines(), b.splitlines()
    at = first_difference(ones, twos)
    one, two = ({"line": at + 1, "text": "".join(lines[at : at + 1])} for lines in (ones, twos))
    return one, two


def first_difference(a: Sequence[object], b: Sequence[object]) -> int:
    """Index of the first difference of two sequences; the shorter length if there is none."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(a), len(b)))

"""`accmap check tokenizers` on tokenizers that the packages trained, judged by the classes the frameworks load."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = [
    "The quick brown fox jumps over the lazy dog.",
    "def f(x):\n    return x ** 2",
    "模型精度对齐：损失曲线与标杆一致。",
    "3.14159 2024-01-01  two spaces",
] * 20


def gpt2(folder: Path, size: int = 400) -> Path:
    """`vocab.json` and `merges.txt`, as GPT-2's are."""
    tokenizers = pytest.importorskip("tokenizers")
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=size, special_tokens=["<|endoftext|>"])
    folder.mkdir()
    trained.save_model(str(folder))
    return folder


def fast(folder: Path, of: Path, **config: Any) -> Path:
    """The same as a `tokenizer.json`, as `transformers` writes it."""
    transformers = pytest.importorskip("transformers")
    made = transformers.GPT2TokenizerFast(str(of / "vocab.json"), str(of / "merges.txt"), **config)
    made.save_pretrained(str(folder))
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink(missing_ok=True)
    return folder


def sentencepiece(folder: Path, size: int = 330) -> Path:
    """A SentencePiece model with single bytes, as Llama's is."""
    package = pytest.importorskip("sentencepiece")
    folder.mkdir()
    text = folder / "corpus.txt"
    text.write_text("\n".join(line.replace("\n", " ") for line in CORPUS), "utf-8")
    package.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "tokenizer"), vocab_size=size, model_type="bpe", byte_fallback=True,
        hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return folder


def asked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = main(["check", "tokenizers", *map(str, words), "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("side", ["model", "vocabulary", "folder", "handler"])
def test_a_run_stands_for_the_tokenizer_that_it_names(
    side: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gpt2(tmp_path / "gpt2")
    other = gpt2(tmp_path / "other", size=300)
    flags = (
        f"--vocab-file {plain}/vocab.json --merge-file {plain}/merges.txt"
        if side == "vocabulary"
        else "--tokenizer-model gpt2"
    )
    (tmp_path / "a.sh").write_text(
        f"torchrun pretrain_gpt.py --num-layers 2 --tokenizer-type GPT2BPETokenizer {flags}\n", "utf-8"
    )
    named = "pretrained_model_dir: other\n"
    if side == "handler":
        own = f"handler: [{{type: take}}, {{type: x, tokenizer: {{pretrained_model_dir: {other}}}}}]"
        named = f"pretrained_model_dir: gpt2\ntrain_dataset: {{data_loader: {{type: HFDataLoader, {own}}}}}\n"
    (tmp_path / "b.yaml").write_text(
        f"use_legacy: False\nrun_mode: train\n{named}model: {{model_config: {{model_type: qwen3}}}}\n", "utf-8"
    )
    code, answer = asked(capsys, tmp_path / "a.sh", tmp_path / "b.yaml")
    assert [one["file"] for one in answer["tokenizers"]] == [str(plain / "vocab.json"), str(other / "vocab.json")]
    assert (code, answer["verdict"]) == (1, "different")
    code, answer = asked(capsys, tmp_path / "a.sh", plain)
    assert (code, answer["verdict"]) == (0, "same")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("", "the file sets no tokenizer (tokenizer_model, vocab_file)"),
        ("--tokenizer-model $NOWHERE", "cannot determine the tokenizer"),
        ("--tokenizer-model Qwen/Qwen3-8B", "not on this machine"),
    ],
)
def test_a_run_whose_tokenizer_is_not_here(
    flags: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.sh").write_text(f"torchrun pretrain_gpt.py --num-layers 2 {flags}\n", "utf-8")
    assert main(["check", "tokenizers", str(tmp_path / "a.sh"), str(tmp_path / "a.sh")]) == 2
    assert said in capsys.readouterr().err


def rows(answer: dict[str, Any]) -> dict[str, bool]:
    return {row["what"]: row["same"] for row in answer["rows"]}


@pytest.mark.long
def test_three_kinds_agree_with_themselves_and_with_their_own_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transformers = pytest.importorskip("transformers")
    plain = gpt2(tmp_path / "gpt2")
    json_form = fast(tmp_path / "json", plain)
    spm = sentencepiece(tmp_path / "spm")
    for folder, kind in ((plain, "gpt2"), (json_form, "tokenizer.json"), (spm, "sentencepiece")):
        code, answer = asked(capsys, folder, folder)
        assert (code, answer["verdict"]) == (0, "same")
        assert answer["tokenizers"][0]["kind"] == kind
    code, answer = asked(capsys, plain, json_form)
    assert rows(answer)["vocabulary"]
    assert all(same for what, same in rows(answer).items() if what.startswith("text"))
    from accmap.evidence.data.names_compiled import PROBES
    from accmap.evidence.data.tokenizer_comparison import open_tokenizer

    slow = transformers.GPT2Tokenizer(str(plain / "vocab.json"), str(plain / "merges.txt"))
    llama = transformers.LlamaTokenizer(str(spm / "tokenizer.model"), legacy=False)
    for mine, real in ((open_tokenizer(str(plain)), slow), (open_tokenizer(str(spm)), llama)):
        assert mine.encode is not None
        assert len(mine.pieces) == real.vocab_size
        for text in PROBES[:1] + PROBES[3:]:
            assert mine.encode(text) == real.encode(text, add_special_tokens=False), text
    assert open_tokenizer(str(spm)).special == {"unk_token": 0, "bos_token": 1, "eos_token": 2}


@pytest.mark.long
def test_what_differs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = gpt2(tmp_path / "gpt2")
    one = fast(tmp_path / "one", plain, chat_template="<{{ a }}>\nuser", eos_token="<|endoftext|>")
    two = fast(tmp_path / "two", plain, chat_template="<{{ a }}>\nUSER", eos_token="dog")
    code, answer = asked(capsys, one, two)
    assert (code, answer["verdict"]) == (1, "different")
    found = {row["what"]: row for row in answer["rows"]}
    assert not found["chat_template"]["same"]
    assert found["chat_template"]["b"] == {"line": 2, "text": "USER"}
    assert not found["eos_token"]["same"]
    other = gpt2(tmp_path / "other", size=330)
    code, answer = asked(capsys, plain, other)
    assert (code, rows(answer)["vocabulary"]) == (1, False)
    assert main(["check", "tokenizers", str(one), str(two)]) == 1
    assert "USER" in capsys.readouterr().out


def test_texts_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = gpt2(tmp_path / "gpt2")
    (tmp_path / "t.txt").write_text("a fox\na dog\n", "utf-8")
    _, answer = asked(capsys, plain, plain, "--text", tmp_path / "t.txt")
    made = "text made from the vocabulary"
    assert [what for what in rows(answer) if what.startswith("text")] == ["text 'a fox'", "text 'a dog'", made]
    (tmp_path / "t.txt").write_text("".join(f"a fox {number}\n" for number in range(50)), "utf-8")
    _, answer = asked(capsys, plain, plain, "--text", tmp_path / "t.txt")
    assert [what for what in rows(answer) if what.startswith("text")] == ["texts (50)", made]


def at(content: dict[str, Any], path: str) -> tuple[Any, Any]:
    """What holds a member, and its name or place in it."""
    *above, last = path.split("/")
    for part in above:
        content = content[int(part) if isinstance(content, list) else part]
    return content, int(last) if isinstance(content, list) else last


END = "<|endoftext|>"
WITH_AN_END = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": END, "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {END: {"id": END, "ids": [0], "tokens": [END]}},
}
CUT_AT_EIGHT = {"direction": "Left", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
CHANGES = [
    # file, member, its new value (None: taken out), and the row that then differs; "" if none may, ? if not compared
    ("tokenizer.json", "model/merges/7", None, "merges"),
    ("tokenizer.json", "normalizer", {"type": "NFC"}, "normalizer"),
    ("tokenizer.json", "decoder", {"type": "Fuse"}, "decoder"),
    ("tokenizer.json", "pre_tokenizer/add_prefix_space", True, "pre_tokenizer"),
    ("tokenizer.json", "post_processor", WITH_AN_END, "post_processor"),
    ("tokenizer.json", "added_tokens/0/lstrip", True, "added_tokens"),
    ("tokenizer.json", "added_tokens/0/special", False, "added_tokens"),
    ("tokenizer.json", "model/ignore_merges", True, "model"),
    ("tokenizer.json", "truncation", CUT_AT_EIGHT, "truncation"),
    ("tokenizer_config.json", "padding_side", "left", "padding_side"),
    ("tokenizer_config.json", "truncation_side", "left", "truncation_side"),
    ("tokenizer_config.json", "model_max_length", 512, "model_max_length"),
    ("tokenizer_config.json", "add_eos_token", True, "add_eos_token"),
    ("tokenizer_config.json", "add_bos_token", True, "?add_bos_token"),
    ("generation_config.json", "eos_token_id", 5, "generation_config eos_token_id"),
    ("generation_config.json", "do_sample", True, "generation_config do_sample"),
    ("tokenizer_config.json", "padding_side", "right", ""),
    ("tokenizer_config.json", "split_special_tokens", False, ""),
    ("tokenizer_config.json", "name_or_path", "elsewhere", ""),
    ("tokenizer_config.json", "tokenizer_class", "Qwen2TokenizerFast", ""),
    ("tokenizer.json", "post_processor/trim_offsets", True, ""),
    ("generation_config.json", "temperature", 1.0, ""),
    ("generation_config.json", "transformers_version", "5.0", ""),
]  # fmt: skip


@pytest.mark.parametrize(("file", "member", "value", "row"), CHANGES, ids=[f"{c[1]}-{c[3]}" for c in CHANGES])
def test_a_change_is_named_in_its_row(
    file: str, member: str, value: Any, row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = fast(tmp_path / "one", gpt2(tmp_path / "gpt2"))
    (one / "generation_config.json").write_text('{"eos_token_id": 0, "transformers_version": "4.9"}', "utf-8")
    settings = json.loads((one / "tokenizer_config.json").read_text("utf-8"))
    for name in ("padding_side", "truncation_side", "add_bos_token", "add_eos_token"):
        settings.pop(name, None)
    (one / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 1024}), "utf-8")
    two = shutil.copytree(one, tmp_path / "two")
    content = json.loads((two / file).read_text("utf-8"))
    holder, name = at(content, member)
    if value is None:
        del holder[name]
    else:
        holder[name] = value
    (two / file).write_text(json.dumps(content, indent=2), "utf-8")
    for sides in ((one, two), (two, one)):
        code, answer = asked(capsys, *sides)
        differs = {what for what, same in rows(answer).items() if not same and not what.startswith("text")}
        unseen = {f"?{one['what']}" for one in answer["not_compared"]}
        assert differs | unseen == ({row} if row else set())
        assert code == (1 if row else 0)


def test_a_text_from_the_vocabulary_parts_two_models_of_the_same_pieces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two pieces that changed their scores: no text of the built-in ones need show it."""
    plain = gpt2(tmp_path / "gpt2")
    other = shutil.copytree(plain, tmp_path / "other")
    lines = (other / "merges.txt").read_text("utf-8").splitlines()
    (other / "merges.txt").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", "utf-8")
    code, answer = asked(capsys, plain, other)
    assert code == 1
    assert rows(answer)["vocabulary"]
    assert not rows(answer)["merges"]
    assert not rows(answer)["text made from the vocabulary"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("tokenizer.model", b"", "no pieces"),
        ("tokenizer.model", b"\x0a\xff\xff\xff\x7f", "extends past"),
        ("tokenizer.model", b"\x0a\x80", "a number is incomplete"),
        ("tokenizer.model", b"\x0b\x00", "not a valid protocol buffer"),
        ("tokenizer.model", b"\x0a\x04\x0a\x02\xff\xfe", "utf-8"),
        ("vocab.json", b'{"a": -1}', "model.vocab"),
        ("vocab.json", b'{"a": 0}', "merges.txt"),
        ("nothing.txt", b"", "no tokenizer.json"),
    ],
)
def test_what_is_no_tokenizer(
    name: str, data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    assert main(["check", "tokenizers", str(tmp_path), str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_without_the_package_it_is_partial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spm = sentencepiece(tmp_path / "spm")
    copy = shutil.copytree(spm, tmp_path / "copy")
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    code, answer = asked(capsys, spm, copy)
    assert (code, answer["verdict"]) == (1, "partial")
    assert answer["not_compared"][0]["what"] == "text"

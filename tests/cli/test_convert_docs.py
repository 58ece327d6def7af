"""`docs/convert.md` shows what the commands really answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[2]
GUIDES = {"en": "convert.md", "zh": "convert.zh-CN.md"}


def _blocks(language: str) -> list[tuple[list[str], list[str]]]:
    """The shown commands on examples, each with the lines of its answer."""
    text = (ROOT / "docs" / GUIDES[language]).read_text("utf-8")
    found: list[tuple[list[str], list[str]]] = []
    for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
        first, *rest = block.splitlines()
        if first.startswith("$ accmap") and "examples/" in first:
            found.append((first.split()[2:], [line for line in rest if line.strip("… ")]))
    return found


@pytest.mark.parametrize("language", GUIDES)
def test_shown_answers_are_real(accmap, language: str) -> None:
    blocks = _blocks(language)
    assert len(blocks) == 4
    for words, lines in blocks:
        given = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
        answer = accmap(*given, "--lang", language)
        text = (answer.out + answer.err).replace(f"{ROOT}/", "").splitlines()
        at = -1
        for line in lines:
            assert line in text, (words, line)
            assert text.index(line) > at, f"{words}: {line!r} is out of order"
            at = text.index(line)


@pytest.mark.parametrize("language", GUIDES)
def test_the_other_shown_answers(accmap, tmp_path: Path, language: str) -> None:
    text = (ROOT / "docs" / GUIDES[language]).read_text("utf-8")
    script = (ROOT / "examples" / "qwen3_dense" / "megatron.sh").read_text("utf-8")
    spoilt = script.replace("--swiglu", "--squared-relu")
    assert spoilt != script
    files = {"squared_relu.sh": spoilt}
    answer = accmap("convert", "squared_relu.sh", "-o", "out.yaml", "--lang", language, files=files)
    assert answer.code == 1
    assert (tmp_path / "out.yaml").exists()
    for shown in (answer.err.splitlines()[0], answer.err.splitlines()[-1]):
        assert shown in text
    known = (ROOT / "examples" / "qwen3_dense" / "mindformers.yaml").read_text("utf-8")
    faster = re.sub(r"--lr 1\S+", "--lr 2.0e-4", script)
    files = {"megatron.sh": faster, "mindformers.yaml": known}
    assert accmap("convert", "megatron.sh", "--update", "mindformers.yaml", files=files).code == 0
    changed = (tmp_path / "mindformers.yaml").read_text("utf-8").splitlines()
    for sign, lines in (("-", known.splitlines()), ("+", changed)):
        shown = next(line[1:] for line in text.splitlines() if line.startswith(f"{sign}  learning_rate"))
        assert shown in [line.partition("  #")[0] for line in lines]


@pytest.mark.parametrize("language", GUIDES)
def test_links(language: str) -> None:
    text = (ROOT / "docs" / GUIDES[language]).read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / "docs" / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("name", ["table", "config"])
def test_schemas_of_what_people_write(accmap, name: str) -> None:
    import json

    import jsonschema

    answer = accmap("schema", name)
    assert answer.code == 0
    schema = json.loads(answer.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    if name == "table":
        for topic in ("model", "moe", "schedule"):
            jsonschema.validate(load_table((ROOT / "mappings" / f"{topic}.yaml").read_text("utf-8")), schema)
    else:
        jsonschema.validate({"profile": "align", "world-size": 8}, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"profil": "align"}, schema)
    assert name in accmap("schema").out.split()


@pytest.mark.parametrize("example", ["megatron.sh", "mindformers.yaml"])
def test_comments_of_a_written_file_are_in_the_language_asked_for(accmap, example: str) -> None:
    path = str(ROOT / "examples" / "qwen3_dense" / example)
    chinese, english = accmap("convert", path, "--lang", "zh").out, accmap("convert", path).out
    assert f"由 accmap 根据 {example} 写出。" in chinese
    assert f"written by accmap from {example}." in english
    remarks = [line.partition("# ")[2] for line in chinese.splitlines()]
    assert not [remark for remark in remarks if re.search(r"\b(the|with|written|of)\b", remark)]


def test_comments_of_a_written_pair(accmap, tmp_path: Path) -> None:
    path = str(ROOT / "examples" / "qwen3_dense" / "megatron.sh")
    assert accmap("pair", path, "-d", "pair", "--lang", "zh").code == 0
    for name in ("example.sh", "example.yaml"):
        assert "由 accmap 根据 megatron.sh 写出。" in (tmp_path / "pair" / name).read_text("utf-8")

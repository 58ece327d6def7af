"""The keys of the mapping tables are described once, and docs/mapping-rows.md quotes rows and tells what they do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.commands.schema import schema_of
from accmap.cli.compile_schemas import TABLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "mapping-rows.md").read_text("utf-8")
QUOTES = re.findall(r"^`(mappings/\w+\.yaml)`:\n```yaml\n(.*?)```\n(.*?)\n\|", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = re.findall(r"^\| (?:`(.*)`)? ?\| (?:`(.*): (.*)`)? ?\| ([a-z-]+) \|$", PAGE, re.MULTILINE)
FIELDS = {"tensor_model": "parallel.tensor_size", "softmax": "attention.softmax_in_fp32"}
LAUNCH = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8"
    " --max-position-embeddings 128 --seq-length 128 --micro-batch-size 1 --global-batch-size 8 --train-iters 100"
    " --lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 1000 --transformer-impl local"
)
SCHEMAS_OF_FILES = {
    path: named.group(1)
    for path in sorted((ROOT / "mappings").glob("*.yaml"))
    if (named := re.match(r"# yaml-language-server: \$schema=([\w-]+)\.schema\.json\n", path.read_text("utf-8")))
}


def test_every_key_is_described() -> None:
    for name in TABLES:
        schema = schema_of(name)
        for part, definition in {"the file": schema, **schema["$defs"]}.items():
            silent = [key for key, entry in definition.get("properties", {}).items() if not entry.get("description")]
            assert silent == [], f"{name}: {part}"


@pytest.mark.parametrize("path", SCHEMAS_OF_FILES, ids=[path.name for path in SCHEMAS_OF_FILES])
def test_a_table_is_as_the_schema_that_its_first_line_names(accmap: Any, path: Path) -> None:
    kind = SCHEMAS_OF_FILES[path]
    answer = accmap("schema", "--check", str(path))
    assert (answer.code, answer.out) == (0, f"{path} matches the schema {kind}\n")
    assert json.loads((ROOT / "mappings" / f"{kind}.schema.json").read_text("utf-8")) == schema_of(kind)


def test_every_table_of_rows_names_its_schema() -> None:
    tables = {path for path in (ROOT / "mappings").glob("*.yaml") if "\nrows:\n" in path.read_text("utf-8")}
    assert tables == {path for path, kind in SCHEMAS_OF_FILES.items() if kind == "table"}
    assert set(SCHEMAS_OF_FILES.values()) == set(TABLES)


PLANTED = [
    ("lens: float32_flag", "lens: float32_flg", '.lens is "float32_flg"; it must be one of "float32_flag",'),
    (
        "resolved: attention_softmax",
        "resolve: attention_softmax",
        '.model has no "resolve" (did you mean resolved?)',
    ),
    ("unless:", "unles:", 'in_fp32 has no "unles" (did you mean unless?)'),
    ("[attention.flash, eq, true], [env", "[attention.flsh, eq, true], [env", 'is "attention.flsh"; it must be one of'),
    (
        "key: softmax_compute_dtype",
        "key: softmax_compute_dtype\n      fixed: 1",
        "must have exactly one of: key, keys,",
    ),
    (
        "    megatron: {keys: [attention_softmax_in_fp32, fp16, bf16], lens: softmax_in_fp32}\n",
        "",
        "rows[0] requires megatron",
    ),
    ("field: attention.softmax_in_fp32", "fields: []\n    field: attention.softmax_in_fp32", "one of: field, fields"),
]


@pytest.mark.parametrize(("before", "after", "words"), PLANTED, ids=[row[1].strip() for row in PLANTED])
def test_a_planted_fault_is_reported_in_its_line(accmap: Any, before: str, after: str, words: str) -> None:
    row = "rows:\n" + next(text for _, text, _ in QUOTES if "softmax_in_fp32" in text)
    assert row.count(before) == 1
    line = row[: row.index(before)].count("\n") + 1
    answer = accmap("schema", "--check", "t.yaml", files={"t.yaml": row.replace(before, after)})
    assert answer.code == 1
    fault = answer.out.splitlines()[0]
    assert words in fault
    assert fault.startswith(
        "t.yaml:2:" if "must have exactly one of: field" in fault or not after else f"t.yaml:{line}"
    )


@pytest.mark.parametrize(("path", "row", "_text"), QUOTES)
def test_a_row_is_quoted_from_its_table(path: str, row: str, _text: str) -> None:
    assert f"\n{row}" in (ROOT / path).read_text("utf-8")


def test_the_page_names_every_key_of_a_row() -> None:
    assert len(QUOTES) == 3
    for path, row, text in QUOTES:
        written = set(re.findall(r"^    (\w+):", row, re.MULTILINE)) - {
            "field",
            "megatron",
            "sources",
            "static",
            "dynamic",
        }
        assert {key for key in written if f"`{key}" not in text} <= {"loss"}, path
    assert {key for key in schema_of("table")["$defs"]["Row"]["properties"] if f"`{key}" not in PAGE} == set()


@pytest.mark.parametrize(("flags", "key", "value", "status"), EXAMPLES)
def test_a_row_does_what_the_page_says(accmap: Any, flags: str, key: str, value: str, status: str) -> None:
    field = next((field for word, field in FIELDS.items() if word in f"{flags} {key}"), None)
    field = field or ("parallel.tensor_size" if "model_parallel" in key else "parallel.context_method")
    accmap(
        "convert",
        "a.sh",
        "--mindformers",
        "1.9",
        "-o",
        "a.yaml",
        "--report",
        "a.json",
        files={"a.sh": f"{LAUNCH} {flags}"},
    )
    rows = json.loads(Path("a.json").read_text("utf-8"))["rows"]
    assert [(row["status"], row["to"]) for row in rows if row["field"] == field] == [(status, [key] if key else [])]
    if key:
        shown = json.loads(accmap("show", "a.yaml", "--explicit", "--format", "json").out)["values"]
        assert [entry["value"] for entry in shown if entry["key"] == key] == [
            json.loads(value) if value.isdigit() else value
        ]


def test_flash_kernels_close_the_gate(accmap: Any) -> None:
    folder = ROOT / "examples" / "qwen3_dense"
    script = (folder / "megatron.sh").read_text("utf-8").replace("    --attention-softmax-in-fp32\n", "")
    for kernels, severity in (("local", "error"), ("transformer_engine --attention-backend flash", "info")):
        files = {"a.sh": script.replace("--transformer-impl local", f"--transformer-impl {kernels}")}
        found = json.loads(
            accmap("lint", "a.sh", str(folder / "mindformers.yaml"), "--format", "json", "--no-cache", files=files).out
        )["diagnostics"]
        assert [one["severity"] for one in found if one["code"] == "PRC003"] == [severity]

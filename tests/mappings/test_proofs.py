"""What the real models have proved of the rows: how it is compiled, told and kept off the linter's path."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.lean import main
from accmap.mapper.mapping_rows import FILES, numeric_fields
from accmap.mapper.recipe.vocabulary import COMPUTED, vocabulary
from accmap.mapper.translate.result import versions_of_proofs
from accmap.mappings import compile_proofs, proofs, proofs_compiled
from accmap.mappings.compile_proofs import digests_of
from accmap.mappings.tables import rows_of, table
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.versions import names

ROOT = Path(__file__).parents[2]
MAPPINGS = Path(compile_proofs.__file__).parent
EXAMPLE = ROOT / "examples" / "qwen3_dense" / "megatron.sh"
PROVED = {
    "norm.epsilon": (
        ((("0.12", "1.9"), ("0.16", "1.9")), "2026-11-20", 2e-06, True, 3e-07, 0.1, None),
        ((("0.12", "1.8"),), "2026-11-19", 2e-06, True, 5e-07, 0.2, None),
        ((("0.12", "2.1 dynamic"),), "2026-11-30", 2e-06, True, 6e-07, 0.2, None),
    ),
    "moe.z_loss_coefficient": (((("0.12", "1.9"),), "2026-11-20", 0.5, False, 7e-07, 0.9, None),),
    "optimizer.sgd_momentum": (((("0.12", "1.9"),), "2026-11-20", 0.45, False, None, 0.35, None),),
    "precision.rotary_dtype": (((("0.12", "1.9"),), "2026-11-20", "bfloat16", False, 4e-07, 4e-07, 1.6),),
}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs_compiled, "PROVED", PROVED)
    monkeypatch.setattr(proofs_compiled, "UNPROVED", {"norm.type": (((("0.12", "1.9"),), "a reason", "原因"),)})


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("field", "pair", "status", "words", "date"),
    [
        ("norm.epsilon", ("0.16", "1.9"), "exact", "proved on 0.16 × 1.9", "2026-11-20"),
        ("norm.epsilon", ("0.16", "1.8"), "made-explicit", "proved on each side", "2026-11-19"),
        ("norm.epsilon", ("0.17", "1.8"), "exact", None, None),
        ("norm.epsilon", ("0.12", "2.1 dynamic"), "exact", "proved on 0.12 × 2.1 (dynamic)", "2026-11-30"),
        ("norm.epsilon", ("0.16", "2.1 dynamic"), "exact", "proved on each side", "2026-11-20"),
        ("norm.epsilon", ("0.12", "2.1"), "exact", None, None),
        (
            "precision.rotary_dtype",
            ("0.12", "1.9"),
            "dropped",
            "proved on each side that has this field, by the rounding differences of the dtypes in the files",
            "2026-11-20",
        ),
        ("norm.epsilon", ("0.12", "1.9"), "dropped", None, None),
        ("norm.epsilon", ("0.12", "1.9"), "unresolved", None, None),
        ("moe.z_loss_coefficient", ("0.12", "1.9"), "dropped", "proved on 0.12 × 1.9", "2026-11-20"),
        ("moe.z_loss_coefficient", ("0.12", "1.9"), "exact", None, None),
        (
            "optimizer.sgd_momentum",
            ("0.12", "1.9"),
            "dropped",
            "tested on the only side that has this field",
            "2026-11-20",
        ),
        ("norm.type", ("0.12", "1.9"), "exact", None, None),
    ],
)
def test_a_proof_stands_beside_a_status_that_it_is_of(
    field: str, pair: tuple[str, str], status: Any, words: str | None, date: str | None
) -> None:
    found = proofs.proof_json(field, *pair, status, "en")
    assert (found and found["words"], found and found["date"]) == (words, date)


@pytest.mark.usefixtures("known")
def test_a_pair_off_the_star_names_the_pairs_that_were_run() -> None:
    found = proofs.proof_json("norm.epsilon", "0.16", "1.8", "exact", "zh")
    assert found is not None
    assert (found["kind"], found["pairs"]) == ("each-side", [["0.16", "1.9"], ["0.12", "1.8"]])
    assert (found["agrees"], found["parts"], found["words"]) == (5e-07, 0.2, "两侧均已各自证明")


@pytest.mark.usefixtures("known")
def test_explain_tells_what_is_proved_and_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    for field in ("norm.epsilon", "norm.type", "moe.z_loss_coefficient", "optimizer.sgd_momentum", "model.mlp_layout"):
        assert main(["explain", field, "--format", "json"]) == 0
        told.append(json.loads(capsys.readouterr().out)["rows"][0]["proof"])
    assert told == [
        "proved on 0.12, 0.16 × 1.9; 0.12 × 1.8, 2.1 (dynamic)",
        "exact by reading (a reason)",
        "proved on 0.12 × 1.9",
        "tested on the only side that has this field",
        None,
    ]
    assert main(["explain", "norm.epsilon", "--lang", "zh"]) == 0
    assert "已证明：0.12、0.16 × 1.9；0.12 × 1.8、2.1（动态图）" in capsys.readouterr().out


@pytest.mark.usefixtures("known")
def test_the_report_has_it_as_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["convert", str(EXAMPLE), "-o", str(tmp_path / "o.yaml"), "--report", str(tmp_path / "r.json")]
    words += ["--mindformers", "1.9"]
    assert main(words) == 0
    rows = json.loads((tmp_path / "r.json").read_text("utf-8"))["rows"]
    assert [row["field"] for row in rows if row["proof"] is not None] == ["norm.epsilon"]
    assert "settings that change the results and were converted exactly (" in (said := capsys.readouterr().err)
    assert "1 proved on 0.12 × 1.9, " in said
    assert " exact by reading" in said


@pytest.mark.parametrize(
    ("megatron", "mindformers", "expected"),
    [
        (("0.12.3", "arguments"), ("1.9.0", "static"), ("0.12", "1.9")),
        (("main", "arguments"), ("1.9", "static"), ("main", "1.9")),
        (("2.3", "mindspeed-llm"), ("1.9", "static"), None),
        (("0.12", "arguments"), ("2.1.0", "dynamic"), ("0.12", "2.1 dynamic")),
        (("0.12", "arguments"), ("1.9", "legacy"), None),
    ],
)
def test_a_fork_has_no_proof_and_each_graph_its_own(
    megatron: tuple[str, str], mindformers: tuple[str, str], expected: tuple[str, str] | None
) -> None:
    assert versions_of_proofs(megatron, mindformers) == expected


def test_a_proof_lapses_with_what_its_row_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content: dict[str, Any] = load_table(compile_proofs.SOURCE.read_text("utf-8"))
    standing = compile_proofs.valid_proofs()["PROVED"]
    assert standing
    row = next(iter(standing))
    content["fields"][row]["digest"] = "another"
    changed = tmp_path / "proofs.yaml"
    changed.write_text(json.dumps(content), "utf-8")
    monkeypatch.setattr(compile_proofs, "SOURCE", changed)
    assert compile_proofs.valid_proofs()["PROVED"].keys() == standing.keys() - {row}


def test_a_digest_is_of_what_a_row_does_and_not_of_its_prose() -> None:
    def text(name: str, before: str = "", after: str = "") -> str:
        return (MAPPINGS / name).read_text("utf-8").replace(before, after, 1) if before else _text(name)

    def _text(name: str) -> str:
        return (MAPPINGS / name).read_text("utf-8")

    now = digests_of(_text)
    notes = (
        ("sources: [map.moe.03]", "sources: [map.moe.04]"),
        ("Megatron's grouped GEMM requires", "It requires"),
        ("MindFormers 1.9 in dynamic graph mode cannot", "It cannot"),
    )
    for before, after in notes:
        assert before in _text("moe.yaml")
        assert digests_of(lambda name, before=before, after=after: text(name, before, after)) == now
    other = digests_of(lambda name: text(name, "key: moe_intermediate_size", "key: moe_ffn_hidden_size"))
    assert {row for row in now if now[row] != other[row]} == {"moe.ffn_hidden_size"}


@pytest.mark.parametrize("language", FILES)
def test_the_matrix_counts_what_is_proved(language: Any) -> None:
    """The counts of the document are those of `proofs.yaml`, and every field that is not proved has a reason."""
    numeric = [field for row in table().rows for field in numeric_fields(row)]
    written: dict[str, Any] = load_table(compile_proofs.SOURCE.read_text("utf-8"))["fields"]
    valid = compile_proofs.valid_proofs()
    stands = {field: written[field] for field in (*valid["PROVED"], *valid["UNPROVED"])}
    text = (ROOT / "docs" / FILES[language]).read_text("utf-8")
    pairs = re.findall(r"^\| (\S+ × [^|]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert len(pairs) > len(names("megatron"))
    for name, *counts in pairs:
        pair = name.replace(" (dynamic)", " dynamic").replace("（动态图）", " dynamic")
        reasons = {
            field: one["reason"]
            for field, entry in stands.items()
            for one in entry.get("unproved", ())
            if pair in one["pairs"]
        }
        held = {field for field, entry in stands.items() for one in entry.get("proved", ()) if pair in one["pairs"]}
        unset = sum(reason == "nothing-to-set" for reason in reasons.values())
        reasons = {field: reason for field, reason in reasons.items() if field not in held}
        left = len(numeric) - len(held) - len(reasons)
        assert [int(count) for count in counts] == [len(held), len(reasons) - unset, unset, left], name
    unproved = re.findall(r"^\| [^|]+ \| (\d+) \| (`[^|]+`) \|$", text, re.MULTILINE)
    assert all(int(count) == listed.count("`") // 2 for count, listed in unproved)
    proved_there = sum("0.12 × 2.1 dynamic" in str(entry.get("proved")) for entry in stands.values())
    assert sum(int(count) for count, _ in unproved) == len(numeric) - proved_there


def test_every_proof_is_of_a_field_that_changes_numbers() -> None:
    content = load_table(compile_proofs.SOURCE.read_text("utf-8"))
    known = vocabulary()
    for name, field in content["fields"].items():
        assert any((row.impact or known[name].impact) == "numerics" for row in rows_of(name)), name
        for proof in field.get("proved", ()):
            assert all(quantity.startswith(COMPUTED) and quantity in known for quantity in proof.get("computed", ()))


def test_the_linter_does_not_load_them() -> None:
    pair = [str(EXAMPLE), str(EXAMPLE.with_name("mindformers.yaml"))]
    code = (
        "import sys; from accmap.cli.lean import main; main(['lint', '--no-cache', *sys.argv[1:]]);"
        "print(sum('proofs' in name for name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *pair], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0"

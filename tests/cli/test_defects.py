"""`accmap defects`: the table, what concerns a file, and what an upgrade changes for it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.reference.known_defects import is_package_affected, known_defects
from accmap.rules.catalog import defects
from accmap.rules.defects_listed_compiled import LISTED
from accmap.schemas.versions import names

ROOT = Path(__file__).resolve().parents[2]
MOE = (ROOT / "examples" / "qwen3_moe" / "megatron.sh").read_text("utf-8")
UNDER_CONTEXT = MOE.replace("--nproc_per_node 1", "--nproc_per_node 2").replace(
    "--bf16", "--bf16 --context-parallel-size 2 --fp32-residual-connection"
)
FILES = {"a.sh": UNDER_CONTEXT}


def listed(accmap: Any, *words: str) -> dict[str, dict[str, Any]]:
    answer = accmap("defects", *words, "--format", "json")
    assert answer.code == 0
    return {row["id"]: row for row in json.loads(answer.out)}


def test_the_table_is_chosen_from(accmap: Any) -> None:
    every = listed(accmap)
    assert len(every) == len(accmap("defects").out.splitlines())
    of_15 = listed(accmap, "--version", "0.15")
    assert set(of_15) == {code for code, row in every.items() if "0.15" in row["affected"][0]["versions"]} != set()
    order = names("megatron")
    late = {
        code for code, row in every.items() if set(order[order.index("0.18") :]) & set(row["affected"][0]["versions"])
    }
    assert set(listed(accmap, "--since", "0.18")) == late
    assert set(listed(accmap, "--framework", "mindformers")) == {
        code for code, row in every.items() if row["database_specific"]["framework"] == "mindformers"
    }


def test_a_release_gains_and_loses(accmap: Any) -> None:
    found = listed(accmap, "--from", "0.15", "--to", "0.16")
    assert {code for code, row in found.items() if "0.16" in row["affected"][0]["versions"]} >= {"DEF003"}
    assert {code for code, row in found.items() if "0.15" in row["affected"][0]["versions"]} >= {"DEF001", "DEF009"}


def test_of_a_file(accmap: Any) -> None:
    answer = json.loads(accmap("defects", "a.sh", "--megatron", "0.15", "--format", "json", files=FILES).out)
    assert [(one["code"], one["severity"]) for one in answer["defects"]] == [("DEF001", "error"), ("DEF005", "warning")]
    assert answer["framework_version"] == "0.15"
    text = accmap("defects", "a.sh", "--megatron", "0.15", "--lang", "zh")
    assert "DEF001" in text.out
    assert "上下文并行" in text.out


def test_an_assumed_version_is_no_certain_one(accmap: Any) -> None:
    answer = json.loads(accmap("defects", "a.sh", "--format", "json", files=FILES).out)
    first = answer["defects"][0]
    assert (first["code"], first["severity"]) == ("DEF001", "warning")
    assert "because accmap assumes version 0.12" in first["message"]


# MindSpeed-LLM moe/router.py adds no loss for softmax_topk; of another word that is unknown nobody can say.
@pytest.mark.parametrize(("kind", "found"), [("softmax_topk", []), ("a_word_of_its_own", ["DEF001"])])
def test_a_balancing_of_a_fork(accmap: Any, kind: str, found: list[str]) -> None:
    text = UNDER_CONTEXT.replace(
        "--context-parallel-size 2", f"--context-parallel-size 2 --moe-router-load-balancing-type {kind}"
    )
    answer = json.loads(accmap("defects", "a.sh", "--megatron", "0.12", "--format", "json", files={"a.sh": text}).out)
    assert [one["code"] for one in answer["defects"] if one["code"] == "DEF001"] == found


def test_an_upgrade_of_a_file(accmap: Any) -> None:
    words = ("defects", "a.sh", "--from", "0.15", "--to", "0.17")
    answer = json.loads(accmap(*words, "--format", "json", files=FILES).out)
    assert [one["code"] for one in answer["lost"]] == ["DEF001", "DEF005"]
    assert answer["gained"] == []
    changed = next(row for row in answer["changed"] if row["field"] == "precision.residual_in_fp32")
    assert (changed["a"]["value"], changed["b"]["value"]) == (False, True)
    text = accmap(*words).out
    assert "megatron 0.15 → 0.17" in text
    assert "precision.residual_in_fp32: False → True (numerics)" in text


def test_one_condition_that_cannot_be_read(accmap: Any) -> None:
    text = UNDER_CONTEXT.replace("--context-parallel-size 2", '--context-parallel-size "$CP"')
    answer = json.loads(accmap("defects", "b.sh", "--megatron", "0.15", "--format", "json", files={"b.sh": text}).out)
    first = answer["defects"][0]
    assert (first["code"], first["severity"]) == ("DEF001", "warning")
    assert "because the defect depends on a value that accmap cannot read" in first["message"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "0.15"), "--from and --to must be used together"),
        (("--version", "7"), "no selected framework has the version 7"),
        (("--framework", "mindformers", "--version", "0.15"), "no selected framework has the version 0.15"),
        (("a.sh", "--version", "0.15"), "accmap uses the file's framework and version"),
        (("a.sh", "--from", "0.1", "--to", "0.15"), "accmap does not support Megatron-LM"),
        (("none.sh",), "none.sh"),
    ],
)
def test_what_cannot_be_asked(accmap: Any, words: tuple[str, ...], said: str) -> None:
    answer = accmap("defects", *words, files=FILES)
    assert answer.code == 2
    assert said in answer.err


def test_lint_knows_them(accmap: Any) -> None:
    answer = accmap("lint", "a.sh", "--megatron", "0.15", "--no-config", "--no-cache", "--select", "DEF", files=FILES)
    assert answer.code == 1
    assert "DEF001" in answer.out
    assert (
        accmap("lint", "a.sh", "--megatron", "0.15", "--no-config", "--no-cache", "--ignore", "DEF").out.count("DEF")
        == 0
    )


def test_standard_input_is_read_once(accmap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("--megatron", "0.15"), ("--from", "0.15", "--to", "0.17")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(UNDER_CONTEXT.encode())))
        answer = accmap("defects", "-", *words)
        assert answer.code == 0
        assert "DEF001" in answer.out


def with_patch(monkeypatch: pytest.MonkeyPatch, code: str, minor: str, patch: str) -> None:
    """As if a patch release of one minor version had mended a defect."""
    rows = defects.DEFECTS["megatron"]
    changed = tuple((row[0], patch, *row[2:]) if row[0] == code else row for row in rows[minor])
    monkeypatch.setattr(defects, "DEFECTS", {**defects.DEFECTS, "megatron": {**rows, minor: changed}})
    affected = LISTED[code]["affected"]
    monkeypatch.setitem(LISTED, code, {**LISTED[code], "affected": {**affected, "patched": {minor: patch}}})


@pytest.mark.parametrize(
    ("given", "severity", "release"),
    [
        ("0.15", "warning", None),
        ("0.15.2", "error", "0.15.2"),
        ("0.15.3", None, "0.15.3"),
        ("core_v0.15.10", None, "0.15.10"),
        ("core_r0.15.3", "warning", None),
        ("0.15.3rc1", "warning", None),
    ],
)
def test_a_patch_number_decides(
    accmap: Any, monkeypatch: pytest.MonkeyPatch, given: str, severity: str | None, release: str | None
) -> None:
    with_patch(monkeypatch, "DEF001", "0.15", "0.15.3")
    answer = json.loads(accmap("defects", "a.sh", "--megatron", given, "--format", "json", files=FILES).out)
    assert {one["code"]: one["severity"] for one in answer["defects"]}.get("DEF001") == severity
    assert (answer["framework_version"], answer.get("release")) == ("0.15", release)
    assert ("DEF001" in listed(accmap, "--version", given)) == (severity is not None)


def test_an_upgrade_within_a_minor_version(accmap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with_patch(monkeypatch, "DEF001", "0.15", "0.15.3")
    answer = json.loads(
        accmap("defects", "a.sh", "--from", "0.15.0", "--to", "0.15.3", "--format", "json", files=FILES).out
    )
    assert [one["code"] for one in answer["lost"]] == ["DEF001"]
    assert answer["changed"] == []
    assert set(listed(accmap, "--from", "0.15.0", "--to", "0.15.3")) == {"DEF001"}


def test_the_release_is_named(accmap: Any) -> None:
    for command in ("defects", "show", "recipe"):
        assert "megatron 0.15.3 (given)" in accmap(command, "a.sh", "--megatron", "0.15.3", files=FILES).out
    yaml = (ROOT / "examples" / "qwen3_moe" / "mindformers.yaml").read_text("utf-8")
    answer = accmap("lint", "a.sh", "a.yaml", "--megatron", "0.15.3", "--mindformers", "1.7.1", "--no-config",
                    "--no-cache", files={**FILES, "a.yaml": yaml})  # fmt: skip
    assert "megatron 0.15.3 given" in answer.out
    assert "mindformers 1.7.1 given" in answer.out


def test_an_upgrade_names_defaults_without_a_field(accmap: Any) -> None:
    answer = json.loads(
        accmap("defects", "a.sh", "--from", "0.12", "--to", "0.16", "--format", "json", files=FILES).out
    )
    found = {row["a"]["key"]: (row["a"]["value"], row["b"]["value"]) for row in answer["changed"] if not row["field"]}
    assert found["rerun_mode"] == ("disabled", "validate_results")


def test_nothing_is_said_where_no_condition_can_be_read(accmap: Any) -> None:
    text = (ROOT / "examples" / "qwen3_dense" / "mindformers.yaml").read_text("utf-8")
    elsewhere = text.partition("\nmodel:")[0] + "\npretrained_model_dir: /models/elsewhere\n"
    found = json.loads(
        accmap("defects", "a.yaml", "--mindformers", "1.9", "--format", "json", files={"a.yaml": elsewhere}).out
    )
    assert found["defects"] == []


def test_a_package_of_which_no_file_speaks(accmap: Any) -> None:
    text = MOE.replace("--transformer-impl local", "").replace("--bf16", "--bf16 --moe-router-fusion")
    answer = json.loads(accmap("defects", "a.sh", "--megatron", "0.14", "--format", "json", files={"a.sh": text}).out)
    found = {one["code"]: one for one in answer["defects"]}["DEF076"]
    assert found["severity"] == "warning"
    assert "if the run uses Transformer Engine 2.6 or later, before 2.7" in found["message"]
    assert listed(accmap)["DEF076"]["database_specific"]["package"] == {
        "name": "transformer-engine",
        "at_least": "2.6",
        "below": "2.7",
    }


@pytest.mark.parametrize(
    ("version", "older", "bounded", "newer"),
    [
        (None, False, False, False),
        ("2.5.0", False, False, False),
        ("2.6.0+cu12", True, True, False),
        ("2.7", False, True, False),
        ("2.13.0", False, True, True),
        ("2.14", False, False, True),
        ("2", False, False, False),
        ("2.6", True, True, False),
        ("2.7.0rc1", True, True, False),
        ("2.7.0.dev0+0a1b2c", True, True, False),
        ("2.7.0.post1", False, True, False),
        ("2.6-cu12", True, True, False),
        ("unknown", False, False, False),
    ],
)
def test_an_installed_package_decides(version: str | None, older: bool, bounded: bool, newer: bool) -> None:
    versions = {} if version is None else {"transformer-engine": version}
    rows = known_defects()
    asked = {code: is_package_affected(rows[code], versions) for code in ("DEF076", "DEF108", "DEF048", "DEF001")}
    assert asked == {"DEF076": older, "DEF108": bounded, "DEF048": newer, "DEF001": True}


@pytest.mark.parametrize(("version", "has"), [("2.2", True), ("2.2.0rc1", False), ("2.8", False), ("2.8.0rc1", True)])
def test_zeros_at_the_end_of_a_version_are_none(version: str, has: bool) -> None:
    package = {"name": "it", "at_least": "2.2.0", "below": "2.8.0"}
    assert is_package_affected({"affected": {"package": package}}, {"it": version}) is has


@pytest.mark.parametrize(
    ("megatron", "found"), [("0.16", {"DEF005": "info", "DEF520": "info"}), ("0.17", {"DEF520": "warning"})]
)
def test_two_defects_that_make_the_same_mistake_cancel(accmap: Any, megatron: str, found: dict[str, str]) -> None:
    example = ROOT / "examples" / "qwen3_dense"
    script = (example / "megatron.sh").read_text("utf-8")
    yaml = (example / "mindformers.yaml").read_text("utf-8")
    files = {
        "a.sh": script.replace("--bf16", "--bf16 --fp32-residual-connection"),
        "a.yaml": yaml.replace("rotary_dtype: float32", "rotary_dtype: float32\n    residual_dtype: float32"),
    }
    words = (
        "a.sh",
        "a.yaml",
        "--megatron",
        megatron,
        "--mindformers",
        "1.7",
        "--select",
        "DEF",
        "--no-config",
        "--no-cache",
    )
    answer = accmap("lint", *words, "--format", "json", files=files)
    said = {one["code"]: one for one in json.loads(answer.out)["diagnostics"]}
    asked = {code: said[code]["severity"] for code in ("DEF005", "DEF520") if code in said}
    assert asked == found
    assert ("Both sides have this defect" in said["DEF520"]["message"]) == (megatron == "0.16")


def test_comments_and_baselines_are_for_them_too(accmap: Any, tmp_path: Path) -> None:
    words = ("lint", "a.sh", "--megatron", "0.15", "--no-config", "--no-cache", "--select", "DEF001")
    assert accmap(*words, files=FILES).code == 1
    assert accmap(*words, "--write-baseline", "known.json").code == 0
    assert accmap(*words, "--baseline", "known.json").code == 0
    text = UNDER_CONTEXT.replace("torchrun", "# accmap: ignore-file[DEF001] measured\ntorchrun", 1)
    assert accmap(*words, files={"a.sh": text}).code == 0


def test_a_fork_has_defects_of_its_own_by_its_own_versions(accmap: Any) -> None:
    of_23 = listed(accmap, "--framework", "mindspeed-llm", "--version", "2.3")
    assert {"DEF820", "DEF828"} <= set(of_23)
    assert "DEF804" not in of_23
    assert {row["affected"][0]["package"]["name"] for row in of_23.values()} == {"Ascend/MindSpeed-LLM"}

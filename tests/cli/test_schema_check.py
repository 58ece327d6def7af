"""`accmap schema --check`: what in a file is not as its schema says, with its place, and exit code 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.commands.schema import NAMES, schema_of
from accmap.cli.options import all_commands

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "examples" / "qwen3_dense" / "megatron.sh")
CONFIGURATION = """\
profil = "align"
world-size = 0
fail-on = "remark"
[severity]
NET001 = "loud"
[[pairs]]
megatron = "a.sh"
mindformers = "b.yaml"
steps = "ten"
[[pairs]]
megatron = "c.sh"
[per-file-ignores]
"*.sh" = "NET001"
"""
TABLE = """\
rows:
- field: model.num_layers
  megatron: num_layers
  mindformers: {key: num_hidden_layers, lens: sane}
  loss: exactly
  sources: []
"""


def checked(accmap: Any, *words: str, **given: Any) -> tuple[int, list[tuple[str, str, int | None, int | None]]]:
    answer = accmap("schema", "--check", *words, "--format", "json", **given)
    found = json.loads(answer.out)
    assert found["fits"] == (answer.code == 0)
    return answer.code, [
        (fault["key"], fault["keyword"], *((fault["span"] or {}).get(name) for name in ("line", "column")))
        for fault in found["faults"]
    ]


def test_a_configuration_with_faults(accmap: Any) -> None:
    assert checked(accmap, "accmap.toml", files={"accmap.toml": CONFIGURATION}) == (
        1,
        [
            ("profil", "additionalProperties", 1, 1),
            ("world-size", "minimum", 2, 14),
            ("fail-on", "enum", 3, 11),
            ("severity.NET001", "enum", 5, 10),
            ("pairs[0].steps", "type", 9, 9),
            ("pairs[1]", "anyOf", 10, 3),
            ("per-file-ignores.*.sh", "type", 13, 10),
        ],
    )


def test_the_sentences_are_in_both_languages(accmap: Any) -> None:
    files = {"accmap.toml": CONFIGURATION}
    answer = accmap("schema", "--check", "accmap.toml", files=files)
    assert answer.out.splitlines()[:2] == [
        'accmap.toml:1:1: the file has no "profil" (did you mean profile?)',
        "accmap.toml:2:14: world-size is 0; it must be at least 1",
    ]
    assert answer.out.splitlines()[-1] == "accmap.toml: 7 places do not match the schema config"
    chinese = accmap("schema", "--check", "accmap.toml", "--lang", "zh")
    assert "world-size 是 0；至少应为 1" in chinese.out
    assert "7 处不符合" in chinese.out


def test_the_same_table_of_pyproject_is_found_where_it_stands(accmap: Any) -> None:
    text = '[project]\nname = "x"\n\n[tool.accmap]\nprofile = "fast"\n'
    assert checked(accmap, "pyproject.toml", files={"pyproject.toml": text}) == (1, [("profile", "enum", 5, 11)])


@pytest.mark.parametrize(
    ("text", "key"),
    [('select = ["XYZ1"]\n', "select"), ('extend = "gone.toml"\n', ""), ('severity = {NET9 = "info"}\n', "severity")],
)
def test_what_has_the_right_shape_may_mean_nothing(accmap: Any, text: str, key: str) -> None:
    code, faults = checked(accmap, "accmap.toml", files={"accmap.toml": text})
    assert (code, [fault[:2] for fault in faults]) == (1, [(key, "meaning")])


def test_a_good_configuration_fits(accmap: Any) -> None:
    text = '# ours\nprofile = "train"\nworld-size = 8\n[[pairs]]\nmegatron = "*.sh"\nmindformers = "*.yaml"\n'
    assert checked(accmap, "accmap.toml", files={"accmap.toml": text}) == (0, [])
    answer = accmap("schema", "--check", "accmap.toml")
    assert (answer.code, answer.out) == (0, "accmap.toml matches the schema config\n")


PLANTED = [
    ("qwen3_dense/mindformers.yaml", "batch_size: 1", "batch_size: one", 'must be an integer, not "one"'),
    (
        "qwen3_dense/mindformers.yaml",
        "rate: 1.0e-4",
        "rate: 1e-4",
        'must be a number, not "1e-4"; write 0.0001',
    ),
    ("qwen3_dense/mindformers.yaml", "\nseed: 1234", "\nsead: 1234", 'has no "sead" (did you mean seed?)'),
    (
        "qwen3_dense/mindformers.yaml",
        "hidden_size:",
        "hiden_size:",
        'has no "hiden_size" (did you mean hidden_size?)',
    ),
    (
        "qwen3_dense/mindformers.yaml",
        "warmup_steps:",
        "warmup_step:",
        'has no "warmup_step" (did you mean warmup_steps?)',
    ),
    ("qwen3_dense/megatron.sh", "--num-layers 4", "--num-layers four", 'must be an integer or null, not "four"'),
    ("qwen3_dense/megatron.sh", "--lr 1.0e-4", "--lr 1e-4x", 'lr must be a number or null, not "1e-4x"'),
    (
        "qwen3_dense/megatron.sh",
        "--hidden-size",
        "--hiden-size",
        'has no "--hiden-size" (did you mean --hidden-size?)',
    ),
    ("qwen3_dense/megatron.sh", "--ffn-hidden-size", "--ffn-hiden-size", "(did you mean --ffn-hidden-size?)"),
]


@pytest.mark.parametrize(("example", "before", "after", "said"), PLANTED, ids=[row[2].strip() for row in PLANTED])
def test_a_fault_in_a_frameworks_file_is_where_lint_finds_it(
    accmap: Any, example: str, before: str, after: str, said: str
) -> None:
    text = (ROOT / "examples" / example).read_text("utf-8")
    name = Path(example).name
    assert accmap("schema", "--check", name, files={name: text}).code == 0
    answer = accmap("schema", "--check", name, files={name: text.replace(before, after, 1)})
    assert answer.code == 1
    line, total = answer.out.splitlines()
    assert line.endswith(said)
    kind = "megatron" if name.endswith(".sh") else "mindformers"
    assert total == f"{name}: 1 place does not match the schema {kind}"
    findings = json.loads(accmap("lint", name, "--format", "json", "--no-cache").out)["diagnostics"]
    assert line.split(": ")[0] in {f"{name}:{one['span']['line']}:{one['span']['column']}" for one in findings}


def test_a_class_that_is_not_registered_is_told_all_that_are(accmap: Any) -> None:
    text = (ROOT / "examples/qwen3_dense/mindformers.yaml").read_text("utf-8").replace("type: AdamW", "type: AdamX")
    line = accmap("schema", "--check", "a.yaml", files={"a.yaml": text}).out.splitlines()[0]
    classes = schema_of("mindformers", mindformers="1.9")["properties"]["optimizer"]["anyOf"][0]["discriminator"]
    assert len(classes["mapping"]) > 20
    listed = ", ".join(f'"{name}"' for name in sorted(classes["mapping"], key=str.lower))
    assert line == f'a.yaml:18:9: optimizer.type is "AdamX"; it must be one of {listed}'


def test_a_long_list_begins_with_the_word_that_was_meant(accmap: Any) -> None:
    files = {"t.yaml": TABLE.replace("model.num_layers", "model.num_layer")}
    said = 'rows[0].field is "model.num_layer"; it must be one of "model.num_layers", "model.implementation",'
    assert said in accmap("schema", "--check", "t.yaml", files=files).out


def test_the_dialect_and_the_version_are_detected(accmap: Any) -> None:
    dynamic = "run_mode: train\ntraining: {steps: ten}\nlr_scheduler: {type: ConstantWarmUpLR}\nparallelism: {}\n"
    code, faults = checked(accmap, "d.yaml", files={"d.yaml": dynamic})
    assert (code, ("training.steps", "type", 2, 19) in faults) == (1, True)
    legacy = "run_mode: train\nuse_legacy: True\nrunner_config: {epochs: ten}\n"
    assert checked(accmap, "l.yaml", files={"l.yaml": legacy}) == (1, [("runner_config.epochs", "type", 3, 25)])
    of_one_version = "run_mode: train\nuse_legacy: False\nrunner_config: {epochs: 1}\n"
    assert checked(accmap, "v.yaml", "--mindformers", "1.6", files={"v.yaml": of_one_version}) == (0, [])
    assert accmap("schema", "--check", "v.yaml", "--mindformers", "7.0").code == 2


def test_what_lint_refuses_the_schema_refuses(accmap: Any) -> None:
    for line in CONFIGURATION.replace("[severity]\n", "severity.").splitlines()[:4]:
        files = {"accmap.toml": f"{line}\n"}
        assert checked(accmap, "accmap.toml", files=files)[0] == 1
        assert accmap("lint", EXAMPLE, "--config", "accmap.toml", "--no-cache").code == 2


def test_a_table_of_mappings(accmap: Any) -> None:
    assert checked(accmap, "model.yaml", files={"model.yaml": TABLE}) == (
        1,
        [
            ("rows[0].mindformers.lens", "enum", 4, 47),
            ("rows[0].loss", "enum", 5, 9),
            ("rows[0].sources", "minItems", 6, 12),
        ],
    )
    for path in ("model", "moe", "stops", "transformer_config", "unmapped"):
        assert accmap("schema", "--check", str(ROOT / "mappings" / f"{path}.yaml")).code == 0


def test_a_baseline(accmap: Any) -> None:
    pair = [str(ROOT / "examples" / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]
    assert accmap("lint", *pair, "--write-baseline", "base.json").code == 0
    assert checked(accmap, "base.json") == (0, [])
    spoilt = json.loads(Path("base.json").read_text("utf-8"))
    spoilt["findings"][0]["count"] = "1"
    files = {"base.json": json.dumps(spoilt)}
    assert [fault[:2] for fault in checked(accmap, "base.json", files=files)[1]] == [("findings[0].count", "type")]


def test_a_saved_answer_says_what_it_is(accmap: Any) -> None:
    pair = [str(ROOT / "examples" / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]
    lines = {
        "show": ["show", EXAMPLE],
        "recipe": ["recipe", EXAMPLE],
        "lint": ["lint", *pair, "--no-cache"],
        "diff": ["diff", *pair],
        "lr": ["lr", *pair],
        "rules": ["rules"],
        "explain": ["explain", "NET001"],
        "explain-key": ["explain", "--num-layers"],
        "doctor": ["doctor"],
    }
    for kind, words in lines.items():
        files = {"saved.json": accmap(*words, "--format", "json").out}
        answer = accmap("schema", "--check", "saved.json", files=files)
        assert answer.out == f"saved.json matches the schema {kind}\n"


def test_a_spoilt_answer(accmap: Any) -> None:
    saved = json.loads(accmap("show", EXAMPLE, "--format", "json").out)
    saved["values"][3]["origin"] = "guess"
    del saved["values"][5]["key"]
    saved["launch"]["argv"] = 3
    code, faults = checked(accmap, "saved.json", files={"saved.json": json.dumps(saved, indent=1)})
    assert code == 1
    assert [fault[:2] for fault in faults] == [
        ("launch.argv", "type"),
        ("values[3].origin", "enum"),
        ("values[5]", "required"),
    ]
    text = Path("saved.json").read_text("utf-8").splitlines()
    assert text[faults[1][2] - 1][faults[1][3] - 1 :] == '"guess",'


def test_a_yaml_as_one_version_knows_it(accmap: Any) -> None:
    text = "run_mode: train\noptimizer:\n  type: AdamW\n  eps: tiny\n"
    assert checked(accmap, "a.yaml", "--of", "mindformers", files={"a.yaml": text}) == (
        1,
        [("optimizer.eps", "type", 4, 8)],
    )


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["a.json"], '{"version": 1,, }', "a.json:1:15: not valid JSON"),
        (["a.json"], "[" * 200_000, "a.json"),
        (["a.toml"], "profile = [", "not valid TOML"),
        (["a.yaml"], "rows: [1, 2", "a.yaml:1"),
        (["a.yaml"], "some: thing\n", "--of NAME"),
        (["a.json"], '{"some": "thing"}', "--of NAME"),
        (["a.json", "--of", "shaw"], "{}", "unknown schema 'shaw'"),
        (["missing.json"], None, "missing.json"),
        (["a.json", "show"], "{}", "accepts one file"),
    ],
)
def test_what_cannot_be_checked(accmap: Any, words: list[str], text: str | None, said: str) -> None:
    for language in ("en", "zh"):
        files = {} if text is None else {words[0]: text}
        answer = accmap("schema", "--check", *words, "--lang", language, files=files)
        assert answer.code == 2
        assert answer.out == ""
        if language == "en":
            assert said in answer.err
    assert accmap("schema", "show", "--of", "show").code == 2


def test_standard_input(accmap: Any) -> None:
    answer = accmap("schema", "--check", "-", "--stdin-filename", "accmap.toml", stdin="profile = 3\n")
    assert (answer.code, answer.out.splitlines()[0]) == (
        1,
        'accmap.toml:1:11: profile is 3; it must be one of "align", "train"',
    )


def test_every_json_answer_has_a_schema() -> None:
    commands = {
        name for name, command in all_commands().items() if any("json" in option.choices for option in command.options)
    }
    known = {*NAMES, "schema", "verify-join"}  # `verify join` answers as `verify` does
    assert {name for name in commands if name.replace(" ", "-") not in known} == set()


def test_a_tree_of_a_version_without_facts_is_checked_by_the_nearest(accmap: Any) -> None:
    files = {
        "mindformers/__init__.py": '__version__ = "1.4.0"\n',
        "configs/a.yaml": "run_mode: train\nuse_legacy: True\nrunner_config: {epochs: ten}\n",
    }
    assert checked(accmap, "configs/a.yaml", files=files) == (1, [("runner_config.epochs", "type", 3, 25)])


OF_A_KIND = ("value-of-the-wrong-kind", "string-where-number")
OF_EACH_KIND = {
    "\nseed: 1234": "\nseed: V",
    "num_parallel_workers: 8": "num_parallel_workers: V",
    "  batch_size: 1": "  batch_size: V",
    "gradient_accumulation_steps: 1": "gradient_accumulation_steps: V",
    "total_steps: 1000": "total_steps: V",
    "learning_rate: 1.0e-4": "learning_rate: V",
    "lr_end: 1.0e-5": "lr_end: V",
    "num_hidden_layers: 4": "num_hidden_layers: V",
    "intermediate_size: 1536": "intermediate_size: V",
}


@pytest.mark.parametrize("value", ["one", "1.5", "0", "-1", "null", "'3'", "4294967296", "[3]"])
def test_the_model_and_the_reader_refuse_the_same_values(accmap: Any, value: str) -> None:
    text = (ROOT / "examples/qwen3_dense/mindformers.yaml").read_text("utf-8")
    for before, after in OF_EACH_KIND.items():
        assert text.count(before) == 1
        text = text.replace(before, after.replace("V", value))
    _, faults = checked(accmap, "a.yaml", files={"a.yaml": text})
    found = json.loads(accmap("lint", "a.yaml", "--format", "json", "--no-cache").out)["diagnostics"]
    wrong = {(one["span"]["line"], one["span"]["column"]) for one in found if one["name"] in OF_A_KIND}
    lines = text.splitlines()
    assert {lines[line - 1] for _, _, line, _ in faults if line} == {lines[line - 1] for line, _ in wrong}
    assert {fault[2:] for fault in faults} == wrong

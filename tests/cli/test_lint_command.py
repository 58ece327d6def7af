"""`accmap lint` from the outside: pairing, exit codes, configuration, suppressions, fixes, formats and the cache."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from shutil import copytree

import pytest

from accmap.cli.lean import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PLANTED = EXAMPLES / "planted"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a faulty pair and two equal ones."""
    for name in ("planted", "qwen3_dense", "qwen3_moe"):
        copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["lint", "--no-cache", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    _, out, _ = run(capsys, *words, "--format", "json")
    return [entry["code"] for entry in json.loads(out)["diagnostics"]]


def test_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("qwen3_dense/megatron.sh", "qwen3_dense/mindformers.yaml")
    assert run(capsys, *pair)[0] == 0
    assert run(capsys, *pair, "--fail-on", "info")[0] == 1
    assert run(capsys, "planted/megatron.sh", "planted/mindformers.yaml")[0] == 1
    assert run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--fail-on", "never")[0] == 0
    code, out, _ = run(capsys, *pair, "missing.yaml", "--format", "json")
    answer = json.loads(out)
    assert code == 2
    assert "SYN900" in [entry["code"] for entry in answer["diagnostics"]]
    assert answer["summary"]["pairs"] == 1
    assert run(capsys, "qwen3_dense/megatron.sh", "--unsafe")[0] == 2
    assert run(capsys, "qwen3_dense/megatron.sh", "--select", "NETT")[0] == 2
    assert (folder / "qwen3_dense").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["launcher.sh"], 0),
        (["launcher.sh", "other.sh"], 0),
        (["launcher.sh", "setup.sh"], 0),
        (["launcher.sh", "qwen3_dense/mindformers.yaml"], 2),
        (["launcher.sh", "other.sh", "qwen3_dense/mindformers.yaml"], 0),
        (["launcher.sh", "--fail-on", "warning"], 1),
        (["cluster.sh"], 0),
        (["cluster.sh", "--confine"], 0),
        (["here.sh"], 2),
        (["/no/such/launcher.sh"], 2),
        (["paired.sh"], 2),
        (["qwen3_dense/mindformers.yaml", "setup.sh", "--config", "pairs.toml"], 2),
    ],
)
def test_a_launcher_whose_arguments_nobody_gave(
    words: list[str], code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is known to be wrong with MindSpore Transformers' own msrun_launcher.sh; half of a pair is not fine."""
    (folder / "launcher.sh").write_text('if [ $# != 2 ]; then exit 1; fi\neval "msrun --worker_num $2 $1"\n', "utf-8")
    (folder / "other.sh").write_text("python run_mindformer.py --config $1 --run_mode train\n", "utf-8")
    (folder / "paired.sh").write_text("python run_mindformer.py --config $1 --run_mode train\n", "utf-8")
    for name, place in (("cluster", "/no/such/train.yaml"), ("here", "configs/train.yaml")):
        (folder / f"{name}.sh").write_text(f"python run_mindformer.py --config {place} --run_mode train\n", "utf-8")
    (folder / "setup.sh").write_text("pip install numpy\n", "utf-8")
    pairs = 'pairs = [{ megatron = "paired.sh", mindformers = "qwen3_dense/mindformers.yaml" }]\n'
    (folder / "pairs.toml").write_text(pairs, "utf-8")
    if words[0] == "paired.sh":
        (folder / "accmap.toml").write_text(pairs, "utf-8")
    assert run(capsys, *words)[0] == code
    if code != 2:
        assert "not readable" not in run(capsys, *words)[1]


@pytest.mark.usefixtures("folder")
def test_remarks_are_counted_and_listed_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml")
    lines = out.splitlines()
    louder = [line for line in lines if ": error[" in line or ": warning[" in line]
    assert not any(": info[" in line for line in lines)
    assert [": error[" in line for line in louder] == sorted((": error[" in line for line in louder), reverse=True)
    errors = sum(": error[" in line for line in louder)
    assert lines[-1].startswith(f"{errors} errors (")
    assert f"), {len(louder) - errors} warnings, " in lines[-1]
    assert lines[-1].count(" pieces of advice (--remarks) in 2 files (1 pair; ") == 1
    _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--remarks")
    alone = [line if line[:1] != " " else "" for line in out.splitlines()]  # what follows stands below its cause
    remarks = [place for place, line in enumerate(alone) if ": info[" in line]
    assert remarks == list(range(remarks[0], remarks[0] + len(remarks)))
    assert f"{len(remarks)} pieces of advice in 2 files" in out.splitlines()[-1]


@pytest.mark.parametrize(("star", "pairs"), [("*", 0), ("**", 1), ("*/", 1), ("*/**", 1)])
def test_one_star_stays_in_its_folder_and_two_do_not(
    star: str, pairs: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'pairs = [{{ megatron = "{star}megatron.sh", mindformers = "{star}mindformers.yaml" }}]\n'
    (folder / "accmap.toml").write_text(text, "utf-8")
    _, out, _ = run(capsys, "planted/megatron.sh", "--format", "json")
    assert json.loads(out)["summary"]["pairs"] == pairs


def test_the_configuration_pairs_and_pulls_in_partners(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = '{ megatron = "*/megatron.sh", mindformers = "*/mindformers.yaml" }'
    text = f'[tool.accmap]\nprofile = "train"\npairs = [{pairs}]\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")
    _, out, _ = run(capsys, "planted/mindformers.yaml", "--format", "json")
    assert json.loads(out)["summary"] | {"pairs": 1, "files": 2} == json.loads(out)["summary"]
    every = [
        str(path) for name in ("planted", "qwen3_dense", "qwen3_moe") for path in sorted((folder / name).glob("m*"))
    ]
    _, out, _ = run(capsys, *every, "--format", "json")
    assert json.loads(out)["summary"]["pairs"] == 3
    _, parallel, _ = run(capsys, *every, "--format", "json", "-j", "2")
    assert json.loads(parallel) == json.loads(out)
    assert "SCH053" not in found(capsys, *every)


PAIR = '[[pairs]]\nmegatron = "a.sh"\nmindformers = "b.yaml"\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('profil = "train"', "did you mean profile"),
        ('select = ["NET1X"]', "select: accmap has no code NET1X"),
        ('profile = "fast"', "must be one of align, train"),
        ("pairs = [{ megatron = 'a' }]", "each entry of pairs requires mindformers"),
        ('severity = { NET001 = "loud" }', "must be one of"),
        ("select = [", "not valid TOML"),
        ('extend = "nowhere.toml"', "does not exist"),
        (f'{PAIR}declare = ["my-scale:1"]', "Move declare above the first line that begins with `[`."),
        (f'{PAIR}accept-loss = ["init.std"]', "accept-loss is in the table pairs, but is a setting of the whole file"),
        ('[verify]\naccept = []\nlang = "zh"', "lang is in the table verify"),
        ('[per-file-ignores]\nignore = ["ENV"]', "ignore is in the table per-file-ignores"),
        ('[severity]\nbaseline = "a.json"', "baseline is in the table severity"),
    ],
)
def test_a_wrong_configuration_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    (folder / "accmap.toml").write_text(text, "utf-8")
    code, _, err = run(capsys, "qwen3_dense/megatron.sh")
    assert code == 2
    assert complaint in err


def test_a_setting_below_the_pairs_of_a_project_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAIR.replace("pairs", "tool.accmap.pairs") + 'declare = ["my-scale:1"]\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")
    code, _, err = run(capsys, "qwen3_dense/megatron.sh")
    assert code == 2
    assert "Move declare to the lines directly below `[tool.accmap]`." in err


def test_selection_severity_and_ignores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "base.toml").write_text('select = ["NET", "MOE"]\nseverity = { NET016 = "warning" }\n', "utf-8")
    (folder / "accmap.toml").write_text(
        'extend = "base.toml"\nper-file-ignores = { "planted/*" = ["MOE002"] }\n', "utf-8"
    )
    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    codes = found(capsys, *pair)
    assert {code[:3] for code in codes} == {"NET", "MOE"}
    assert "MOE002" not in codes
    _, out, _ = run(capsys, *pair, "--format", "json")
    assert {entry["severity"] for entry in json.loads(out)["diagnostics"] if entry["code"] == "NET016"} == {"warning"}
    assert "OPT006" in found(capsys, *pair, "--extend-select", "OPT006")
    assert found(capsys, *pair, "--select", "NET016", "--no-config") == ["NET016"]
    assert "NET016" not in found(capsys, *pair, "--ignore", "NET", "--no-config")


def test_comments_and_baselines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    yaml = folder / "planted" / "mindformers.yaml"
    text = yaml.read_text("utf-8")
    yaml.write_text(
        text.replace("rms_norm_eps: 1.0e-5", "rms_norm_eps: 1.0e-5 # accmap: ignore[NET016] measured"), "utf-8"
    )
    codes = found(capsys, *pair)
    assert "NET016" not in codes
    assert "SYN950" not in codes
    yaml.write_text(text.replace("hidden_size:", "# accmap: ignore[NET003]\n    hidden_size:"), "utf-8")
    assert "SYN950" in found(capsys, *pair)
    yaml.write_text(text, "utf-8")
    assert run(capsys, *pair, "--write-baseline", "known.json")[0] == 0
    assert found(capsys, *pair, "--baseline", "known.json") == []
    yaml.write_text("# a line more\n" + text.replace("weight_decay: 0.01", "weight_decay: 0.02"), "utf-8")
    assert found(capsys, *pair, "--baseline", "known.json") == ["OPT006", "OPT024"]
    assert run(capsys, *pair, "--baseline", "planted/mindformers.yaml")[0] == 2


def test_add_ignores_leaves_nothing_but_what_is_new(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    main(["lint", *pair, "--add-ignores"])
    capsys.readouterr()
    left = found(capsys, *pair)
    assert set(left) <= {"SYN910"}, left
    assert "# accmap: ignore[" in (folder / "planted" / "mindformers.yaml").read_text("utf-8")


def test_add_ignores_keeps_what_the_files_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments in a string of several lines: a comment inside it would be an argument."""
    from accmap.schemas.reader import read_config

    script = (
        'CKPT="your model path"\nARGS="\n    --num-layers 2 \\\n    --hidden-size 64\n    --num-attention-heads 4\n'
        '    --nonsense 1\n"\npython pretrain_gpt.py $ARGS \\\n    --save $CKPT\n'
    )
    yaml = "note: |\r\n  text\nseed: 1\nuse_parallel: False\nmodel:\n  model_config: {num_layers: 3}\n"
    (folder / "a.sh").write_text(script)
    (folder / "a.yaml").write_text(yaml)
    before = [
        {key: setting.value for key, setting in read_config(str(folder / name)).settings.items()}
        for name in ("a.sh", "a.yaml")
    ]
    assert found(capsys, str(folder / "a.sh"), str(folder / "a.yaml"))
    main(["lint", str(folder / "a.sh"), str(folder / "a.yaml"), "--add-ignores"])
    capsys.readouterr()
    after = [
        {key: setting.value for key, setting in read_config(str(folder / name)).settings.items()}
        for name in ("a.sh", "a.yaml")
    ]
    assert after == before
    assert not found(capsys, str(folder / "a.sh"), str(folder / "a.yaml"))


def test_fix_converges_and_keeps_every_other_byte(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    path = folder / "planted" / "mindformers.yaml"
    before = b"\xef\xbb\xbf# \xe4\xb8\xad\xe6\x96\x87\n" + path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(before)
    run(capsys, *pair, "--fix", "--unsafe")
    after = path.read_bytes()
    old, new = before.split(b"\n"), after.split(b"\n")
    assert [line for line in old if line not in new] == [
        b"use_parallel: False\r",
        b"  gradient_accumulation_steps: 1\r",
        b"  betas: [0.9, 0.999]\r",
        b"  eps: 1e-8\r",
        b"  weight_decay: 0.01\r",
        b"    sizes: [1000, 0, 0]\r",
        b"  micro_batch_num: 1\r",
        b"    rms_norm_eps: 1.0e-5\r",
        b"    num_experts_chosen: 4\r",
    ]
    assert [line for line in new if line not in old] == [
        b"use_parallel: True\r",
        b"  gradient_accumulation_steps: 8\r",
        b"  betas: [0.9, 0.95]\r",
        b"  eps: 1.e-08\r",
        b"  weight_decay: 0.1\r",
        b"    sizes: [16000, 0, 0]\r",
        b"    rms_norm_eps: 1.0e-06\r",
        b"    num_experts_per_tok: 4\r",
        b"    norm_topk_prob: True\r",
        b"    rope_theta: 1000000.0\r",
        b"lr_schedule:\r",
        b"  type: CosineWithWarmUpLR\r",
        b"  learning_rate: 0.0001\r",
        b"  lr_end: 1.0e-05\r",
        b"  warmup_steps: 50\r",
        b"  total_steps: 1000\r",
    ]
    assert yaml.safe_load(after)["optimizer"]["eps"] == 1e-8
    run(capsys, *pair, "--fix", "--unsafe")
    assert path.read_bytes() == after
    assert run(capsys, *pair, "--diff")[1] == ""


SCRIPT, YAML = "planted/megatron.sh", "planted/mindformers.yaml"


@pytest.mark.parametrize(
    ("words", "is_fix"),
    [
        ((SCRIPT, YAML), True),
        ((YAML, SCRIPT), False),
        ((SCRIPT, YAML, "--fix-side", "a"), False),
        ((YAML, SCRIPT, "--fix-side", "a"), True),
        (("planted",), True),
    ],
)
def test_a_difference_is_fixed_in_the_file_named_last(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], is_fix: bool
) -> None:
    _, out, _ = run(capsys, *words, "--format", "json")
    entries = {entry["code"]: entry for entry in json.loads(out)["diagnostics"]}
    difference, alone = entries["OPT006"], entries["MAP072"]  # the weight decay of both, a text of the YAML
    offered = [difference["fix"]] if is_fix else difference["alternatives"]
    assert YAML in [edit["file"] for fix in offered for edit in fix["edits"]]
    assert [edit["file"] for edit in alone["fix"]["edits"]] == [YAML]
    assert (folder / YAML).exists()


def test_diff_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "planted" / "mindformers.yaml"
    before = path.read_bytes()
    _, every, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--diff")
    assert "+use_parallel: True" in every
    _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--diff", "--fix")
    assert "+  eps: 1.e-08" in out
    assert "--- a/planted/mindformers.yaml\n+++ b/planted/mindformers.yaml\n" in out
    _, whole, _ = run(capsys, str(folder / "planted" / "megatron.sh"), str(path), "--diff")
    assert f"--- {path}\n+++ {path}\n" in whole
    assert "+    num_experts_per_tok: 4" in out
    assert "use_parallel: True" not in out
    assert path.read_bytes() == before


def test_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    _, out, _ = run(capsys, *pair, "--format", "json")
    every = json.loads(out)["diagnostics"]
    _, out, _ = run(capsys, *pair, "--format", "jsonl")
    assert [json.loads(line) for line in out.splitlines()] == every
    _, out, _ = run(capsys, *pair, "--format", "gitlab")
    issues = json.loads(out)
    assert len({issue["fingerprint"] for issue in issues}) == len(every)
    assert {issue["severity"] for issue in issues} <= {"info", "minor", "major", "critical", "blocker"}
    _, out, _ = run(capsys, *pair, "--format", "junit")
    suites = ET.fromstring(out)
    assert len(suites.findall(".//testcase")) == len(every)
    assert int(suites.attrib["failures"]) == len(suites.findall(".//failure"))
    _, out, _ = run(capsys, *pair, "--format", "github")
    *commands, closing = out.splitlines()
    assert len(commands) == len(every)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in commands)
    assert "profile align" in closing
    _, out, _ = run(capsys, *pair, "--format", "azure")
    assert "##vso[task.logissue type=error;" in out
    _, out, _ = run(capsys, *pair, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 51
    assert {row["id"]: row for row in rows}["check.optimizer.eps"]["megatron"] == "epsilon=1e-08"
    _, out, _ = run(capsys, *pair, "--format", "markdown", "--lang", "zh")
    assert out.count("| `check.") == 51
    assert "待人工确认" in out
    _, out, _ = run(capsys, *pair, "--statistics")
    assert "SCH" in out
    assert run(capsys, *pair, "--format", "sarif", "--output-file", "out.sarif")[1] == ""
    assert len(json.loads((folder / "out.sarif").read_text("utf-8"))["runs"][0]["results"]) == len(every)


OFFICIAL_SARIF = Path(__file__).resolve().parents[2] / ".frameworks" / "sarif" / "sarif-2.1.0-rtm.5.json"


@pytest.mark.skipif(not OFFICIAL_SARIF.is_file(), reason="tests/run fetches the official SARIF schema")
@pytest.mark.parametrize("options", [(), ("--lang", "zh"), ("--profile", "align")])
def test_sarif_follows_the_official_schema(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(OFFICIAL_SARIF.read_text("utf-8"))
    _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--format", "sarif", *options)
    log = json.loads(out)
    validator = jsonschema.Draft4Validator(schema)
    validator.validate(log)
    assert log["runs"][0]["results"]
    del log["runs"][0]["tool"]["driver"]["name"]
    assert not validator.is_valid(log)
    assert folder


def test_sarif_explains_rules_and_names_findings_across_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def results(*more: str) -> tuple[list[dict[str, str]], list[dict[str, object]]]:
        _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--format", "sarif", *more)
        (log,) = json.loads(out)["runs"]
        return [entry["partialFingerprints"] for entry in log["results"]], log["tool"]["driver"]["rules"]

    before, rules = results()
    marks = [next(iter(entry.values())) for entry in before]
    assert len(set(marks)) == len(marks)
    assert all(rule["help"]["markdown"] and rule["fullDescription"]["text"] for rule in rules)
    path = folder / "planted" / "mindformers.yaml"
    path.write_text("# a line more\n" + path.read_text("utf-8"), "utf-8")
    assert results()[0] == before
    assert "检查内容" in results("--lang", "zh")[1][0]["help"]["text"]


def test_text_shows_the_line_and_both_languages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--all")
    assert "planted/mindformers.yaml:21:17: error[OPT006] weight-decay-differs" in out
    assert "21 |   weight_decay: 0.01" in out
    _, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--lang", "zh", "--all")
    assert "权重衰减系数：Megatron-LM 为 0.1" in out
    assert folder


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "planted" / "mindformers.yaml").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    _, out, _ = run(capsys, "planted/megatron.sh", "-", "--stdin-filename", "x.yaml", "--format", "json")
    answer = json.loads(out)
    assert answer["summary"]["pairs"] == 1
    assert "x.yaml" in {entry["file"] for entry in answer["diagnostics"]}


def test_the_cache_answers_only_while_nothing_changed(folder: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "accmap",
        "lint",
        "planted/megatron.sh",
        "planted/mindformers.yaml",
        "--format",
        "json",
    ]

    def lint(*more: str) -> str:
        return subprocess.run([*words, *more], capture_output=True, text=True, check=False, cwd=folder).stdout

    first = lint()
    (entry,) = (folder / "cache").iterdir()
    assert lint() == first
    stamp = entry.read_bytes()
    yaml = folder / "planted" / "mindformers.yaml"
    yaml.write_text(yaml.read_text("utf-8").replace("weight_decay: 0.01", "weight_decay: 0.1"), "utf-8")
    second = lint()
    assert "OPT006" in first
    assert "OPT006" not in second
    assert entry.read_bytes() != stamp
    entry.write_bytes(b"not an entry")
    assert lint() == second
    assert entry.read_bytes() != b"not an entry"
    (folder / "accmap.toml").write_text('ignore = ["ALL"]\n'.replace("ALL", "OPT"), "utf-8")
    assert "OPT005" not in lint()
    assert "OPT005" in lint("--no-config", "--no-cache")


def test_a_plugin_is_loaded_only_when_it_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = folder / "site"
    info = site / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[accmap.rules]\nmine = mine_rules:RULE\n", "utf-8")
    (site / "mine_rules.py").write_text(
        "from accmap.rules.rule import Found, Rule, at_key\n"
        "def check(subject):\n"
        "    yield Found(at_key('mindformers', 'seed'), {'x': 7})\n"
        "RULE = Rule('ZZZ001', 'mine', 'warning', 'any', {'': ('x is {x}', 'x 为 {x}')}, check)\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(str(site))
    pair = ("qwen3_dense/megatron.sh", "qwen3_dense/mindformers.yaml")
    assert "ZZZ001" not in found(capsys, *pair)
    (folder / "accmap.toml").write_text('plugins = ["mine"]\n', "utf-8")
    assert "ZZZ001" in found(capsys, *pair)
    (folder / "accmap.toml").write_text('plugins = ["nothing"]\n', "utf-8")
    assert run(capsys, *pair)[0] == 2


def test_explain_and_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "NET001"]) == 0
    assert "Check" in capsys.readouterr().out
    assert main(["explain", "net001", "--lang", "zh"]) == 0
    assert "检查内容" in capsys.readouterr().out
    assert main(["explain", "NET00X1"]) == 2
    assert "did you mean NET001" in capsys.readouterr().err
    assert main(["rules", "MOE"]) == 0
    assert all(line.startswith("MOE") for line in capsys.readouterr().out.splitlines())


def test_the_lean_path_of_lint_imports_nothing_heavy() -> None:
    heavy = {"click", "dataclasses", "inspect", "jinja2", "jsonschema", "numpy", "pydantic", "rich", "ruamel", "torch"}
    heavy.add("typer")
    slow = {"collections", "contextlib", "copy", "datetime", "enum", "functools", "json", "re", "typing", "yaml"}
    script = (
        "import sys; from accmap.cli.lean import main; from encodings import utf_8_sig;"
        f"[sys.modules.pop(name, None) for name in {sorted(slow)}];"  # a development install has imported some of them
        "code = main(['lint', '--no-cache', *sys.argv[1:]]); print(*sorted(sys.modules), file=sys.stderr)"
    )
    files = [str(EXAMPLES / "qwen3_dense" / name) for name in ("megatron.sh", "mindformers.yaml")]
    done = subprocess.run([sys.executable, "-I", "-c", script, *files], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not heavy & {name.split(".")[0] for name in loaded}
    assert not slow & loaded
    assert "accmap.rules.pages_compiled" not in loaded
    assert "tomllib" not in loaded


def test_a_pair_with_an_unknown_network_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MindFormers 1.9 has no older class of this name: equal settings prove nothing of the network."""
    target = folder / "qwen3_dense" / "mindformers.yaml"
    target.write_text(target.read_text().replace("use_legacy: False", "use_legacy: True"))
    script, yaml = "qwen3_dense/megatron.sh", "qwen3_dense/mindformers.yaml"
    assert main(["lint", "--no-cache", script, yaml, "--select", "MAP107"]) == 1
    assert capsys.readouterr().out.rstrip().endswith(f"not compared: the network in {yaml}")
    assert main(["lint", "--no-cache", yaml, "--select", "MAP107"]) == 0
    assert "not compared" not in capsys.readouterr().out


def test_a_class_that_is_not_known_crashes_no_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MindFormers 1.6-2.1 `configs/general/run_general_task.yaml` trains whatever class the user names."""
    text = "run_mode: train\nuse_legacy: True\nmodel:\n  model_config: {type: OwnConfig, num_layers: 4}\n"
    (folder / "own.yaml").write_text(text + "  arch: {type: OwnModel}\noptimizer: {type: AdamW, swap: True}\n")
    codes = found(capsys, "own.yaml")
    assert "MAP107" in codes
    assert "SYN990" not in codes


def test_a_reader_that_crashes_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from accmap.schemas import reader

    read = reader.config_of

    def broken(source: object, *given: object, **named: object) -> object:
        if str(named["path"]).endswith(".yaml"):
            raise ZeroDivisionError("on purpose")
        return read(source, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "config_of", broken)
    code, out, _ = run(capsys, "planted/megatron.sh", "planted/mindformers.yaml", "--format", "json")
    codes = [entry["code"] for entry in json.loads(out)["diagnostics"]]
    assert code == 3
    assert "SYN990" in codes
    assert "SCH053" in codes
    assert folder


def test_what_is_not_carried_over_is_shown_as_it_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not as what the translation makes of it: 1.25 is nowhere in the file."""
    script = folder / "qwen3_dense" / "megatron.sh"
    text = script.read_text("utf-8").replace("--train-iters 1000", "--train-samples 1000")
    text = text.replace("--lr-decay-iters 1000", "--lr-decay-samples 1000").replace("BATCH=1", "BATCH=4")
    script.write_text(text.replace("--lr-warmup-iters 50", "--lr-warmup-samples 5"), "utf-8")
    _, out, _ = run(capsys, str(script), "--format", "json")
    said = [entry["message"] for entry in json.loads(out)["diagnostics"] if entry["code"] == "MAP110"]
    assert [one.partition(" has ")[0] for one in said] == ["--lr-warmup-samples (5)"]


RECIPE = "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n  --num-layers: 2\n  --hidden-size: 64\n"
BRIDGE = "_target_: megatron.bridge.training.config.ConfigContainer\ntrain: {train_iters: 10}\n"


@pytest.mark.parametrize(("text", "found"), [(RECIPE, 1), (BRIDGE, 1), ("jobs:\n  MODEL_ARGS: no\n", 0)])
def test_a_folder_is_searched_for_launches_written_as_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, found: int
) -> None:
    (tmp_path / "gpt").mkdir()
    (tmp_path / "gpt" / "model_config.yaml").write_text(text, "utf-8")
    main(["lint", str(tmp_path), "--no-config", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["summary"]["files"] == found

"""Rules on files, through the command line: each row of `cases/*.yaml` is a case.

The files of a case are an example (`base`), or the pair that accmap writes for a small launch (`small`: the version),
with texts replaced in each (`megatron`, `mindformers`; `twin`: in a second YAML, twin.yaml, which is read instead of
the launch), and `files` beside them, in which GPT stands for a small model's flags (`change`: replaced in them).
`dynamic` writes the YAML for the dynamic graph of a version, `unloaded` takes the example's checkpoint away, `model` is
a model's config.json. `lint` names the files that are given to the command line.

What a case expects, each checked by a function of the same name:

- `code`: with `at`, it is found at such a line, else it is not found; `severity`, `only`, `says`, `unsaid`, `fix`
- `found`: codes with their one severity, ~ if they are not found; `alone`: codes that follow from none
- `errors`, `warnings`, `heads`: all codes of a severity; the errors and warnings that follow from none
- `first`: among so many places that errors name first is the line `at`; `places`: the file and line of each code
- `messages`: a text of each code's message; `spots`: the files that a code's finding names, in order
- `cause`, `follow`: what hangs on what, and how many errors are then counted (`counted`)
- `field`: what lint and diff say of a field whose condition cannot be read
- `mends`: unsafe fixes leave nothing but remarks, and change at most so many lines
- `exit`: the exit code of lint; `related`: the lines that the code's finding names besides

The example of a reader's page is a case, too: `examples.yaml` says in which file it stands.
"""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from accmap.cli.lean import main
from accmap.mapper.align.pair import pair_of as aligned
from accmap.rules.pages import page, possible_severities
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
CASES: list[tuple[str, dict[str, Any]]] = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in load_table(path.read_text("utf-8"))
]
GPT = (
    "--num-layers 47 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --train-iters 5 --lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 100 --mock-data"
)
SMALL = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
    "--seq-length 64 --max-position-embeddings 64 --group-query-attention --num-query-groups 2 --swiglu "
    "--disable-bias-linear --normalization RMSNorm --untie-embeddings-and-output-weights "
    "--position-embedding-type rope --micro-batch-size 1 --global-batch-size 4 --train-iters 100 --lr 1e-4 "
    "--min-lr 1e-5 --lr-decay-style cosine --lr-warmup-iters 10 --bf16 --tokenizer-type NullTokenizer "
    "--vocab-size 511 --make-vocab-size-divisible-by 1 --data-path /d/x --split 1,0,0 --hidden-dropout 0.0 "
    "--attention-dropout 0.0 --qk-layernorm\n"
)
SIDES = {"megatron": "megatron.sh", "mindformers": "mindformers.yaml"}


def name_of(case: tuple[str, dict[str, Any]]) -> str:
    file, row = case
    about = row.get("about", str(row.get("source", ""))[:60])
    if "code" in row:
        kind = "fix" if "fix" in row else "fail" if "at" in row else "pass"
        about = f"{row['code']}-{kind}-{row.get('base', about)}"
    return f"{file}-{about}"


@cache
def base_text(base: str, side: str, dynamic: str | None) -> str:
    """A file of an example; of the dynamic graph's version, the one that accmap writes for it."""
    path = ROOT / "examples" / base
    if dynamic is None or side == "megatron":
        return (path / SIDES[side]).read_text("utf-8")
    launch = read_config(str(path / "megatron.sh"), ReadOptions())
    texts = aligned(launch, mindformers=dynamic, dialect="dynamic").texts()
    return next(text for file, text in texts.items() if file.endswith(".yaml"))


def names_weights(case: dict[str, Any]) -> bool:
    """True if a case is about what is loaded, or about runs that load nothing: the example's own checkpoint goes."""
    said = " ".join(case.get("megatron", {}).values()) + " ".join(map(str, case.get("mindformers", {}).items()))
    return case.get("unloaded", False) or any(word in said for word in ("--load ", "load_checkpoint", "load_path"))


def without_weights(text: str) -> str:
    for line in ("    --load checkpoints/megatron", "    --finetune", "    --no-load-optim", "    --exit-on-missing"):
        text = re.sub(rf"^{line}.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^  (load_path: checkpoints/mindformers|no_load_optim: True).*\n", "", text, flags=re.MULTILINE)
    return text.replace("load_checkpoint: checkpoints/mindformers", 'load_checkpoint: ""')


@cache
def small_text(version: str, side: str) -> str:
    launch = config_of(SourceText("a.sh", SMALL), ReadOptions(), path="a.sh")
    dialect = "dynamic" if version >= "2" else None
    texts = aligned(launch, mindformers=version, dialect=dialect).texts(comments=False)
    return next(text for file, text in texts.items() if file.endswith(".sh") == (side == "megatron"))


def written(case: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The files of a case, by name."""
    texts: dict[str, str] = {}
    for side, name in SIDES.items():
        if "small" in case:
            texts[name] = small_text(case["small"], side)
        elif "base" in case:
            texts[name] = base_text(case["base"], side, case.get("dynamic"))
            if names_weights(case):
                texts[name] = without_weights(texts[name])
        for old, new in case.get(side, {}).items():
            assert old in texts[name], f"{old!r} is not in {name}"
            texts[name] = texts[name].replace(old, new, 1)
    if "twin" in case:
        texts["twin.yaml"] = texts["mindformers.yaml"]
        for old, new in case["twin"].items():
            assert old in texts["twin.yaml"], f"{old!r} is not in twin.yaml"
            texts["twin.yaml"] = texts["twin.yaml"].replace(old, new, 1)
    texts |= {name: text.replace("GPT", GPT, 1) for name, text in case.get("files", {}).items()}
    for name, changes in case.get("change", {}).items():
        for old, new in changes.items():
            assert old in texts[name], f"{old!r} is not in {name}"
            texts[name] = texts[name].replace(old, new, 1)
    if "model" in case:
        texts["model/config.json"] = json.dumps(case["model"], indent=2)
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return {name: folder / name for name in texts}


class Run(NamedTuple):
    """The files of a case and what lint finds in them."""

    case: dict[str, Any]
    files: dict[str, Path]
    given: list[str]
    arguments: list[str]
    run: Callable[..., tuple[int, str, str]]
    code: int
    summary: dict[str, Any]
    found: list[dict[str, Any]]

    def severities(self, code: str) -> set[str]:
        return {entry["severity"] for entry in self.found if entry["code"] == code}

    def lint(self, *more: str) -> tuple[int, dict[str, Any]]:
        """Lint the files; fixes are looked for only if the case is about them: that takes as long as many runs."""
        words = ("--format", "json", "--no-cache", "--no-config", *self.arguments, *more)
        with pytest.MonkeyPatch.context() as patch:
            if not more and "unmended" not in self.case:
                patch.setattr("accmap.cli.commands.lint._SHOWS_FIXES", ())
            code, out, _ = self.run("lint", *self.given, *words)
        return code, json.loads(out)


def run_of(case: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        return code, *capsys.readouterr()

    files = written(case, folder)
    pair = ["mindformers.yaml", "twin.yaml"] if "twin" in case else [name for name in SIDES.values() if name in files]
    given = [str(files[name]) for name in case.get("lint", pair or list(files))]
    versions = ["--mindformers", case["small"]] if "small" in case else []
    arguments = ["--profile", case.get("profile", "align"), *versions, *map(str, case.get("arguments", ()))]
    first = Run(case, files, given, arguments, run, 0, {}, [])
    code, answer = first.lint()
    require_severities_of_pages(answer["diagnostics"])
    return first._replace(code=code, summary=answer["summary"], found=answer["diagnostics"])


def require_severities_of_pages(found: list[dict[str, Any]]) -> None:
    """A finding has a severity that the page of its code names."""
    for entry in found:
        assert entry["severity"] in possible_severities(entry["code"]), entry


def line_at(place: dict[str, Any]) -> str:
    return Path(place["file"]).read_text("utf-8").split("\n")[place["span"]["line"] - 1]


def named(entry: dict[str, Any]) -> tuple[str, str]:
    fields: list[str] = entry["fields"]
    return entry["code"], f"{entry['code']} {fields[0]}" if len(fields) == 1 else entry["code"]


def check_code(run: Run) -> None:
    case = run.case
    codes = case.get("codes", [case["code"]])
    own = [entry for entry in run.found if entry["code"] in codes]
    if "at" not in case:
        assert not own, own
        return
    assert own, f"{case['code']} was not found"
    lines = {line_at(place) for entry in own for place in (entry, *entry["related"]) if place["span"]}
    assert any(case["at"] in line for line in lines), lines
    if "severity" in case:
        assert case["severity"] in {entry["severity"] for entry in own}
    if "only" in case:
        assert {entry["severity"] for entry in own} == {case["only"]}
    if "says" in case:
        assert any(case["says"] in entry["message"] for entry in own)
    if "unsaid" in case:
        assert not any(case["unsaid"] in entry["message"] for entry in own)
    if "unmended" in case:
        assert not any(entry["fix"] for entry in own)


def check_fix(run: Run) -> None:
    run.lint("--fix", "--unsafe")
    text = run.files["mindformers.yaml"].read_text("utf-8")
    assert run.case["fix"] in text.split("\n")
    assert isinstance(yaml.safe_load(text), dict)
    codes = run.case.get("codes", [run.case["code"]])
    left = run.lint()[1]["diagnostics"]
    assert not [entry for entry in left if entry["code"] in codes], "the fix leaves the finding"


def check_found(run: Run) -> None:
    for code, severity in run.case["found"].items():
        expected = set() if severity is None else {severity}
        assert run.severities(code) == expected, [entry["message"] for entry in run.found if entry["code"] == code]


def check_alone(run: Run) -> None:
    for code in run.case["alone"]:
        assert any(entry["code"] == code and entry["because_of"] is None for entry in run.found), code


def check_errors(run: Run) -> None:
    assert [entry["code"] for entry in run.found if entry["severity"] == "error"] == run.case["errors"]


def check_warnings(run: Run) -> None:
    assert [entry["code"] for entry in run.found if entry["severity"] == "warning"] == run.case["warnings"]


def check_heads(run: Run) -> None:
    heads = [entry for entry in run.found if entry["because_of"] is None and entry["severity"] != "info"]
    assert [entry["code"] for entry in heads] == run.case["heads"]


def check_first(run: Run) -> None:
    errors = [entry for entry in run.found if entry["severity"] == "error"]
    side = "mindformers" if "mindformers" in run.case else "megatron"
    spots = [*errors, *(place for entry in errors for place in entry["related"])]
    lines = [line_at(place) for place in spots if place["span"] and place["file"].endswith(SIDES[side])]
    assert run.case["at"] in lines[: run.case["first"]], [entry["message"] for entry in errors]


def check_places(run: Run) -> None:
    for code, place in run.case["places"].items():
        own = [entry for entry in run.found if entry["code"] == code]
        assert own, code
        assert {f"{Path(entry['file']).name}:{entry['span']['line']}" for entry in own} == {place}


def check_messages(run: Run) -> None:
    for code, text in run.case["messages"].items():
        assert any(entry["code"] == code and text in entry["message"] for entry in run.found), code


def check_spots(run: Run) -> None:
    for code, files in run.case["spots"].items():
        (own,) = [entry for entry in run.found if entry["code"] == code]
        assert [Path(place["file"]).name for place in (own, *own["related"])] == files


def check_related(run: Run) -> None:
    (own,) = [entry for entry in run.found if entry["code"] in run.case["found"]]
    assert [place["span"]["line"] for place in own["related"]] == run.case["related"]


def check_cause(run: Run) -> None:
    case, entries = run.case, run.found
    own = [place for place, entry in enumerate(entries) if case["cause"] in named(entry)]
    causes = [place for place in own if entries[place]["because_of"] is None]
    assert len(causes) == 1, [named(entry) for entry in entries]
    followers = {name for entry in entries if entry["because_of"] == causes[0] for name in named(entry)}
    assert set(case["follow"]) <= followers
    assert case["follow"] or not followers


def check_counted(run: Run) -> None:
    assert run.summary["error"] == run.case["counted"]


def check_field(run: Run) -> None:
    """When a field counts, and what is said if that depends on what cannot be read."""
    case = run.case
    entries = [entry for entry in run.found if entry["fields"] == [case["field"]]]
    own = [entry["severity"] for entry in entries if not entry["code"].startswith("MAP")]
    assert own == ([] if case["said"] is None else [case["said"]])
    if case.get("counts", True) is None:
        assert "depends on a setting that accmap cannot read" in entries[0]["message"]
    if "status" in case:
        _, out, _ = run.run("diff", *run.given, "--format", "json", *map(str, case.get("arguments", ())))
        row = next(row for row in json.loads(out)["rows"] if row["field"] == case["field"])
        assert (row["status"], row.get("counts", True)) == (case["status"], case["counts"])
        assert (row["impact"] == "none") == (case["counts"] is False)


def check_mends(run: Run) -> None:
    path = run.files["mindformers.yaml"]
    before = path.read_text("utf-8")
    assert run.summary["error"]
    run.lint("--fix", "--unsafe")
    after = path.read_text("utf-8")
    assert not [entry for entry in run.lint()[1]["diagnostics"] if entry["severity"] != "info"]
    assert isinstance(yaml.safe_load(after), dict)
    assert re.findall(r"#.*", after) == re.findall(r"#.*", before)
    assert len(set(before.split("\n")) ^ set(after.split("\n"))) <= run.case["mends"]


def check_exit(run: Run) -> None:
    assert run.code == run.case["exit"]


def check_source(run: Run) -> None:
    """`convert` says first that a run stops if lint has an error that stops it, and else not."""
    loud = [entry for entry in run.found if entry["effect"] == "stops" and entry["severity"] == "error"]
    # A flag that its parser may not know refuses nothing: its row is dropped.
    stops = [entry["message"] for entry in loud if entry["code"] not in ("MAP002", "MAP042")]
    out = str(next(iter(run.files.values())).parent / "converted")
    code, _, err = run.run("convert", *run.given, *map(str, run.case.get("arguments", ())), "-o", out)
    assert ("SYN952" in err) == bool(stops), (code, err, stops)


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}


def check_counts(run: Run) -> None:
    """Each cause is counted once, whatever follows from it."""
    followed = [entry["because_of"] for entry in run.found if entry["because_of"] is not None]
    assert all(run.found[cause]["because_of"] is None for cause in followed)
    heads = [entry for entry in run.found if entry["because_of"] is None]
    for severity in ("error", "warning", "info"):
        assert run.summary[severity] == sum(entry["severity"] == severity for entry in heads)
    assert sum(run.summary["following"].values()) + len(heads) == len(run.found)
    for entry in run.found:
        assert entry["span"] is None or entry["span"].get("file") != entry["file"]


def parameter(case: tuple[str, dict[str, Any]]) -> object:
    return pytest.param(
        case, id=name_of(case), marks=[pytest.mark.procedure(row) for row in case[1].get("procedures", ())]
    )


@pytest.mark.table(5)
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_case(case: tuple[str, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(case[1], tmp_path, capsys)
    checks = [check for key, check in CHECKS.items() if key in case[1]]
    assert checks, "the case expects nothing"
    for check in checks:
        check(run)
    check_counts(run)


# --- the examples of readers' pages ---

READERS: dict[str, dict[str, Any]] = {
    code: row
    for name in ("shell", "arguments", "files", "sections", "models")
    for code, row in load_table((ROOT / "rules" / "explained" / f"{name}.yaml").read_text("utf-8")).items()
    if not code.startswith("DEF")
}
EXAMPLES = load_table((Path(__file__).parent / "examples.yaml").read_text("utf-8"))
PLACES: dict[str, dict[str, Any]] = {
    **{code: place for place in EXAMPLES["places"].values() for code in place["codes"]},
    **EXAMPLES["cases"],
}
LAUNCH = (
    "python pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 "
    "--max-position-embeddings 8 --micro-batch-size 1 --global-batch-size 1 --train-iters 10 --lr 1.0e-4 "
    "--tokenizer-type NullTokenizer --vocab-size 99 --mock-data"
)
TEXTS = {
    "GPT": LAUNCH,
    "YAML": base_text("qwen3_dense", "mindformers", None).rstrip(),
    "ARGUMENTS": LAUNCH.partition(".py ")[2],
    "TRAINING": "model: {model_config: {model_type: qwen3}}\ntraining: {steps: 1000}",
    "DYNAMIC": "model: {model_config: {model_type: qwen3}}",
    "PRINTED": "--- arguments ---\n  num_layers ..... 2\n--- end of arguments ---\n",
    "DEEP_COMMANDS": "$(" * 2000 + ")" * 2000,
    "DEEP_LIST": "[" * 2000 + "]" * 2000,
    "MANY_ALIASES": "a: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)),
    "BLANKS": " " * (17 * 2**20),
}
UNSEEN = {"\\r": "\r", "\\t": "\t", "\\x07": "\x07", "\\xEF\\xBB\\xBF": "\ufeff"}


def page_cases() -> Iterator[Any]:
    """Each code with a text of its page, and whether that text makes the finding."""
    for code, place in PLACES.items():
        row = READERS[code]
        side = "command" if place.get("run") == "EXAMPLE" else next(iter(row["example"]))
        yield pytest.param(code, row["example"][side], True, id=f"{code}-example")
        is_whole = any(
            "EXAMPLE" in text
            for text in (*place["files"].values(), *place.get("replace", {}).values(), place.get("run", ""))
        )
        if is_whole and side in row.get("instead", {}) and code not in EXAMPLES["needs_more"]:
            yield pytest.param(code, row["instead"][side], False, id=f"{code}-instead")


def filled(text: str, example: str) -> str:
    """The words of the table that stand for a text; every line of an example is indented as its place is."""
    for indent in re.findall(r"(?m)^( *)EXAMPLE", text):
        text = text.replace(f"{indent}EXAMPLE", "\n".join(indent + line for line in example.split("\n")), 1)
    text = text.replace("EXAMPLE", example)
    for name in re.findall("|".join(rf"\b{name}\b" for name in TEXTS), text):
        text = text.replace(name, TEXTS[name])
    return text


def write_page_case(place: dict[str, Any], example: str, folder: Path) -> list[str]:
    """Write the files of a place; the words of the command line."""
    for name, text in place["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for old, new in {"": "", **place.get("replace", {})}.items():
            text = filled(text, example).replace(old, filled(new, example))
        (folder / name).write_bytes(text.encode(place.get("encoding", "utf-8")))
    for name, target in place.get("links", {}).items():
        (folder / name).symlink_to(target)
    command = place.get("run", f"accmap lint {next(iter(place['files']), 'run.sh')}")
    words = shlex.split(filled(command, example))[1:]
    form = ["--format", "json"] if words[0] in ("lint", "show") else []
    return [*words, *form, *(["--no-cache", "--remarks"] if words[0] == "lint" else [])]


@pytest.mark.table(4)
@pytest.mark.parametrize(("code", "text", "is_found"), list(page_cases()))
def test_page(
    code: str,
    text: str,
    is_found: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.sub(r"   # .*", "", text)
    for shown, character in UNSEEN.items():
        example = example.replace(shown, character)
    words = write_page_case(PLACES[code], example, tmp_path)
    main(words)
    out, err = capsys.readouterr()
    codes = set(re.findall(r"\b[A-Z]{3}\d{3}\b", err))
    if words[0] == "lint" and out:
        found = json.loads(out)["diagnostics"]
        require_severities_of_pages(found)
        codes |= {entry["code"] for entry in found}
    else:
        codes |= set(re.findall(r'"code": ?"([A-Z]{3}\d{3})"', out))
    assert (code in codes) is is_found


@pytest.mark.parametrize(
    ("code", "fact", "chinese"),
    [
        (
            "MAP056",
            "warning; error if the problem causes an error; info if the problem has no effect",
            "警告；错误（引起其他错误时）",
        ),
        (
            "NET004",
            "error; warning if the problem depends on an unknown value; info if the problem has no effect",
            "错误；警告",
        ),
        ("SYN990", "error", "错误"),
    ],
)
def test_a_page_says_when_a_finding_has_another_severity(code: str, fact: str, chinese: str) -> None:
    for language, told in (("en", fact), ("zh", chinese)):
        described = page(code, language)
        assert described is not None
        assert described.facts[1] == told if language == "en" else described.facts[1].startswith(told)


def test_every_reader_code_has_its_place() -> None:
    assert {*PLACES, *EXAMPLES["elsewhere"], *EXAMPLES["guards"]} == set(READERS)

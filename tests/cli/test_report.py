"""`accmap report A B` as a user runs it: what the page says, in what order, and that nothing in a file acts on it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "hostile"))
from runners import Tags, unsafe_characters

from accmap.schemas.border.text_output import visible

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = ("megatron.sh", "mindformers.yaml")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
EMPTY = {"meta", "link", "br", "img", "hr", "input"}


@pytest.fixture(autouse=True)
def planted(tmp_path: Path) -> Path:
    """A pair with planted faults, in the folder that the commands run in."""
    shutil.copytree(EXAMPLES / "planted", tmp_path, dirs_exist_ok=True)
    return tmp_path


class Balance(HTMLParser):
    """Whether every element of a page is closed where it has to be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """`<line/>` is closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag


def shown(page: str) -> str:
    """The part of a page that is shown at the beginning: it is in one of two languages."""
    return page[page.index("<main ") : page.index("</main>")]


def text_of(page: str) -> str:
    """What a person reads."""
    return " ".join(" ".join(Tags(re.sub(r"<svg.*?</svg>", "", shown(page), flags=re.DOTALL)).texts).split())


def places(text: str, *wanted: str) -> list[int]:
    found = [text.index(one) for one in wanted]
    assert found == sorted(found), list(zip(wanted, found, strict=True))
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_says_what_lint_diff_and_lr_say(accmap, language: str) -> None:
    spoken = ("--lang", language)
    answer = accmap("report", *PAIR, *spoken)
    assert answer.code == 1, answer.err
    Balance(answer.out)
    text = text_of(answer.out)
    found = json.loads(accmap("lint", *PAIR, "--no-cache", "--format", "json", *spoken).out)["diagnostics"]
    assert len(found) > 30
    for entry in found:
        for said in (
            entry["message"],
            *(place["message"] for place in entry["related"] if entry["because_of"] is None),
        ):
            assert " ".join(said.split()) in text, said
        if entry["fix"] and entry["because_of"] is None:
            assert entry["fix"]["description"] in text
        assert entry["url"] is None
        assert entry["code"] in text
    compared = json.loads(accmap("diff", *PAIR, "--format", "json", *spoken).out)
    for row in compared["rows"]:
        if row["field"]:
            assert f"<code>{row['field']}</code>" in answer.out
    assert str(compared["summary"]["equal"]) in text
    assert json.loads(accmap("lr", *PAIR, "--format", "json", *spoken).out)["summary"] in text


def test_the_order_of_its_parts(accmap) -> None:
    text = text_of(accmap("report", *PAIR).out)
    places(
        text, "Findings that stop a run: 1; findings that change the results: 8; findings that depend on",
        "Findings 30",
        "megatron 0.12 (assumed)", "1 stops the run MAP072",
        "8 change numbers OPT010", "because batch.global_size differs: 3 more", "SCH061", "OPT005", "OPT006", "OPT013",
        "2 warnings RUN002",
        "19 pieces of advice ENV090", "on one side only 81 145 equal, 37 only in B",
        "Both files side by side A megatron.sh",
        "Learning rates The curves first differ at step 0", "A pair without findings can still train differently",
        "Both models by layer not compared --verify", "Losses of both runs not compared --logs A.log B.log",
        "Equal values 145 field", "accmap report megatron.sh mindformers.yaml",
        "megatron 0.12 (assumed) · mindformers 1.9 (assumed)",
    )  # fmt: skip


def test_of_an_equal_pair_it_says_no_more_than_was_looked_at(accmap) -> None:
    files = {name: (EXAMPLES / "qwen3_dense" / name).read_text("utf-8") for name in PAIR}
    answer = accmap("report", *PAIR, files=files)
    assert answer.code == 0, answer.err
    text = text_of(answer.out)
    places(
        text,
        "Findings that stop a run: 0; findings that change the results: 0;",
        "can still train differently",
        "--verify",
    )
    assert not re.search(r"\b(fine|passed|exact|identical|match)\b", text.split("0 errors")[0])


def test_it_loads_nothing_and_follows_light_and_dark(accmap) -> None:
    page = accmap("report", *PAIR).out
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "width=device-width" in page
    assert not re.search(r"<[^>]*\bsrc=|@import|url\(|<link|<iframe|<img", page)
    assert set(re.findall(r'href="(#|[^"]{8})', page)) <= {"#", "https://"}
    assert re.search(r"content=\"default-src 'none'; style-src 'sha256-[^ ]+'; script-src( &#39;|)", unescape(page))
    assert "unsafe-inline" not in page


NAMES = ("a<b>&\"'.sh", "x<_title><script>alert(1)<_script>.sh", "-o.sh", "\x1b[31m.sh", "中 文.sh")
VALUES = (
    "</script><script>alert(1)</script>", "</pre></article><img src=x onerror=alert(1)>", "a\\\"'b", "\x1b]0;x\x07",
    "<!--", "--></style><style>*{display:none}", "{0} {x} %s", "a\u202eb\u2028c",
)  # fmt: skip


PLAIN_TAGS: set[str] = set()
"""The tags of a page whose files have plain values."""


def few_faults() -> dict[str, str]:
    """A pair with one planted fault: for a page whose content does not matter, a fifth of the time."""
    script, yaml = ((EXAMPLES / "qwen3_dense" / name).read_text("utf-8") for name in PAIR)
    return {"a.sh": re.sub(r"--weight-decay \S+", "--weight-decay 0.3", script), "b.yaml": yaml}


@pytest.mark.parametrize("value", VALUES)
def test_what_stands_in_files_stays_text(accmap, value: str) -> None:
    files = few_faults()

    def page(text: str) -> str:
        quoted = "'" + text.replace("'", "'\\''") + "'"
        script = files["a.sh"].replace("--bf16", f"--bf16 --data-path {quoted} --wandb-project {quoted}")
        yaml = files["b.yaml"] + f"own_key: {json.dumps(text)} # {json.dumps(text)}\n"
        answer = accmap("report", "a.sh", "b.yaml", files={"a.sh": script, "b.yaml": yaml})
        assert answer.code == 1, answer.err
        Balance(answer.out)
        assert not unsafe_characters(answer.out)
        assert not Tags(answer.out).odd
        return answer.out

    hostile = page(value)
    if not PLAIN_TAGS:
        PLAIN_TAGS.update(Tags(page("plain")).names)
    assert set(Tags(hostile).names) <= PLAIN_TAGS
    shown = (visible(value), json.dumps(value, ensure_ascii=False)[1:-1])
    assert any(one in text for text in Tags(hostile).texts for one in shown)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_file_is_called_stays_text(accmap, name: str) -> None:
    files = few_faults()
    answer = accmap("report", f"./{name}", "b.yaml", files={**files, name: files["a.sh"]})
    assert answer.code == 1, answer.err
    Balance(answer.out)
    assert not Tags(answer.out).odd
    assert not unsafe_characters(answer.out)
    assert Tags(answer.out).names == Tags(accmap("report", "a.sh", "b.yaml").out).names


def test_where_it_is_written(accmap, planted: Path) -> None:
    answer = accmap("report", *PAIR, "-o", "page.html")
    assert (answer.code, answer.out) == (1, "")
    page = (planted / "page.html").read_text("utf-8")
    assert page == accmap("report", *PAIR, "-o", "-").out.replace("yaml -o -<", "yaml -o page.html<")
    again = accmap("report", *PAIR, "-o", "page.html", "--lang", "zh")
    assert again.code == 2
    assert "--force" in again.err
    assert accmap("report", *PAIR, "-o", "page.html", "--lang", "zh", "--force").code == 1
    assert '<html lang="zh-CN"' in (planted / "page.html").read_text("utf-8")
    for name in PAIR:
        before = (planted / name).read_bytes()
        assert accmap("report", *PAIR, "-o", name, "--force").code == 2
        assert (planted / name).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content"), [("gone.sh", None), ("a.sh", "echo hello\n"), ("b.yaml", "a: [\n"), ("empty.yaml", "")]
)
def test_a_file_that_cannot_be_read(accmap, planted: Path, name: str, content: str | None) -> None:
    files = {} if content is None else {name: content}
    answer = accmap("report", "megatron.sh", name, "-o", "page.html", files=files)
    assert answer.code == 2
    assert name in answer.err
    assert not (planted / "page.html").exists()


def test_exit_codes_are_those_of_lint(accmap) -> None:
    assert accmap("report", *PAIR, "--fail-on", "never").code == 0
    files = {name: (EXAMPLES / "qwen3_dense" / name).read_text("utf-8") for name in PAIR}
    for level in ("error", "warning", "info"):
        code = accmap("lint", *PAIR, "--no-cache", "--fail-on", level, files=files).code
        assert accmap("report", *PAIR, "--fail-on", level).code == code, level
    assert accmap("report", "megatron.sh").code == 2
    assert accmap("report", *PAIR, "third.yaml").code == 2


def test_a_bug_of_a_reader_writes_nothing(accmap, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("accmap.schemas.reader.config_of", broken)
    assert accmap("report", *PAIR, "-o", "page.html").code == 3
    assert not (planted / "page.html").exists()


def test_two_files_of_one_framework(accmap) -> None:
    other = (EXAMPLES / "planted" / "megatron.sh").read_text("utf-8").replace("--lr 1.0e-4", "--lr 2.0e-4")
    answer = accmap("report", "megatron.sh", "b.sh", files={"b.sh": other})
    assert answer.code == accmap("diff", "megatron.sh", "b.sh").code == 1
    assert accmap("lint", "megatron.sh", "b.sh", "--no-cache").code == 1
    assert accmap("report", "megatron.sh", "b.sh", "--fail-on", "never").code == 0
    assert accmap("report", "megatron.sh", "c.sh", files={"c.sh": other.replace("2.0e-4", "1.0e-4")}).code == 0
    text = text_of(answer.out)
    assert "The rules for pairs require one training run of each framework" not in text
    assert "SCH051" in text
    told = text.split("Both files side by side A")[0].replace("MindSpore Transformers adds the load-balancing loss", "")
    assert "MindSpore Transformers" not in told
    places(text, "Fields: different", "Both files side by side", "schedule.learning_rate")
    assert "<figure" in answer.out
    assert 'class="verdict bad"' in answer.out


def test_curves_that_cannot_be_drawn_have_a_reason(accmap) -> None:
    text = (EXAMPLES / "planted" / "megatron.sh").read_text("utf-8").replace("--train-iters 1000", '--train-iters "$N"')
    answer = accmap("report", "a.sh", "mindformers.yaml", files={"a.sh": text})
    assert answer.code == 1
    reason = accmap("lr", "a.sh", "mindformers.yaml")
    assert reason.code == 2
    places(
        text_of(answer.out),
        "A comparison of learning rates requires two curves.",
        *(line for line in reason.err.splitlines() if "cannot start" not in line),
    )
    assert "<figure" not in answer.out
    assert "<figure" in accmap("report", "a.sh", "mindformers.yaml", "--var", "N=1000").out


def test_a_models_own_configuration_is_compared_and_draws_nothing(accmap) -> None:
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 96, "head_dim": 16}
    model = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "intermediate_size": 128, **sizes}
    answer = accmap("report", "model", "mindformers.yaml", files={"model/config.json": json.dumps(model)})
    assert answer.code == 1, answer.err
    text = text_of(answer.out)
    assert "NET039" in text
    assert "without training settings" in text
    assert "--weights CHECKPOINT_A" in text
    assert "--verify" not in text


def test_what_was_silenced_is_counted(accmap, planted: Path) -> None:
    accepted = accmap("lint", *PAIR, "--no-cache", "--write-baseline", "known.json")
    assert accepted.code == 0, accepted.err
    text = (EXAMPLES / "planted" / "mindformers.yaml").read_text("utf-8")
    files = {"accmap.toml": 'baseline = "known.json"\nprofile = "train"\nmegatron = "0.14"\n'}
    answer = accmap("report", *PAIR, files=files)
    found = accmap("lint", *PAIR, "--no-cache")
    assert answer.code == found.code
    said = text_of(answer.out)
    count = re.search(r"(\d+) suppressed", found.out)
    assert count
    assert f"suppressed by a comment, the configuration or a baseline: {count[1]}." in said
    assert "megatron 0.14 (given)" in said
    assert "profile train from accmap.toml" in said
    assert accmap("report", *PAIR, "--no-config", "--profile", "align").out != answer.out
    commented = text.replace("eps: 1e-8", "eps: 1e-8  # accmap: ignore[MAP072]")
    silent = accmap("report", *PAIR, "--no-config", files={"mindformers.yaml": commented})
    assert "Findings that stop a run: 0;" in text_of(silent.out)
    assert "suppressed by a comment, the configuration or a baseline: 1." in text_of(silent.out)
    assert (planted / "known.json").exists()


def test_the_pair_that_is_named_is_the_one_of_the_page(accmap, planted: Path) -> None:
    shutil.copy(planted / "mindformers.yaml", planted / "other.yaml")
    pairs = '[[pairs]]\nmegatron = "megatron.sh"\nmindformers = "other.yaml"\n'
    page = accmap("report", *PAIR).out
    configured = accmap("report", *PAIR, files={"accmap.toml": pairs}).out
    assert "other.yaml" not in configured
    assert shown(configured).replace("the default; configuration accmap.toml", "the default") == shown(page)


def test_standard_input_has_a_name(accmap, planted: Path) -> None:
    script = (planted / "megatron.sh").read_text("utf-8")
    answer = accmap("report", "-", "mindformers.yaml", "--stdin-filename", "piped.sh", stdin=script)
    assert answer.code == 1, answer.err
    assert "<code>piped.sh</code>" in answer.out


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_no_script_runs_on_the_page_in_a_browser(accmap, planted: Path) -> None:
    """Not even one that somebody adds: the page's own policy allows none."""
    assert BROWSER is not None
    page = accmap("report", *PAIR).out
    script = "<script>document.body.append('it ' + 'ran')</script>"
    added = {"page.html": page.replace("</body>", f"{script}</body>")}
    without = {"bare.html": re.sub(r"<meta http-equiv[^>]*>", "", added["page.html"])}
    doms: list[str] = []
    for name, text in (added | without).items():
        (planted / name).write_text(text, "utf-8")
        command = [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            f"--user-data-dir={planted / 'profile'}", "--dump-dom", (planted / name).as_uri(),
        ]  # fmt: skip
        doms.append(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)
    assert "it ran" not in doms[0]
    assert "it ran" in doms[1]
    assert shown(doms[0]).count("<article") == shown(page).count("<article") > 20

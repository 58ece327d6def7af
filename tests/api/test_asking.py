"""The public functions that ask what a command asks, with paths of both kinds, and how their answers look."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import accmap

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "logs"))
from writing_logs import falling, megatron_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOUND = EXAMPLES / "qwen3_dense" / "mindformers.yaml"
SCRIPT, YAML = EXAMPLES / "planted" / "megatron.sh", EXAMPLES / "planted" / "mindformers.yaml"
FUNCTIONS = {"convert", "diff", "explain", "lint", "load", "logs", "lr", "pair", "verify"}


def test_every_function_is_listed() -> None:
    assert set(dir(accmap)) >= FUNCTIONS
    assert set(accmap.__all__) >= FUNCTIONS
    code = "import sys, accmap; dir(accmap); print([name for name in sys.modules if name.startswith('accmap.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_linting_a_pair() -> None:
    found = accmap.lint(SCRIPT, str(YAML))
    assert found.pairs == ((str(SCRIPT), str(YAML)),)
    assert not found.fine
    assert {"OPT013", "MAP072"} <= {one.kind.code for one in found.diagnostics}
    assert {one.kind.code for one in accmap.lint(SCRIPT, YAML, select=["OPT006"]).diagnostics} == {"OPT006"}
    assert accmap.lint(EXAMPLES / "qwen3_dense").fine


def test_a_configuration_is_gone_by_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "accmap.toml").write_text('ignore = ["OPT"]\n')
    found = accmap.lint(SCRIPT, YAML, config=tmp_path / "accmap.toml")
    assert not any(one.kind.code.startswith("OPT") for one in found.diagnostics)


def test_pairs_and_rates() -> None:
    made = accmap.pair(EXAMPLES / "qwen3_dense" / "megatron.sh", align=True)
    assert list(made.texts) == ["example.sh", "example.yaml"]
    assert made.changes
    rates = accmap.lr(SCRIPT, YAML)
    assert (rates.verdict, rates.first_difference) == ("different", 0)
    alone = accmap.lr(accmap.load(SCRIPT))
    assert alone.verdict is None
    assert max(rate for _, rate in next(iter(alone.points.values()))) == pytest.approx(1e-4)


def test_comments_in_a_language() -> None:
    source = EXAMPLES / "qwen3_dense" / "megatron.sh"
    for texts in (
        lambda **more: [accmap.convert(source, **more).text],
        lambda **more: accmap.pair(source, **more).texts.values(),
    ):
        english, chinese = "".join(texts()), "".join(texts(language="zh"))
        assert english.isascii()
        assert re.search("#.*[一-鿿]", chinese)
        assert _without_comments(english) == _without_comments(chinese)


def _without_comments(text: str) -> list[str]:
    kept = [re.sub(r"(^|\s)\s*#.*", "", line) for line in text.splitlines() if not line.startswith("#!")]
    return [line for line in kept if line.strip()]


def test_logs(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(megatron_run(falling(40)))
    answer = accmap.logs(tmp_path / "a.log", tmp_path / "b.log", experiment="repeat")
    assert answer.answer in ("match", "partial", "undecided")
    assert len(answer.report.runs) == 2
    assert "<svg" in answer._repr_html_()


def test_explaining() -> None:
    assert "norm-epsilon-differs" in str(accmap.explain("NET016"))
    assert "检查内容" in accmap.explain("NET016", "zh").markdown
    assert "num_hidden_layers" in accmap.explain("--num-layers").markdown


def test_findings_show_the_worst_first() -> None:
    found = accmap.lint(SCRIPT, YAML)
    shown = found._repr_html_()
    severities = re.findall('<article data-group="(error|warning|info)"', shown)
    assert (severities[0], severities[-1]) == ("error", "info")
    codes = re.findall(r"<(?:h4|li)>(?:<a [^>]*>)?([A-Z]{3}\d{3})", shown)
    assert codes[0] == "MAP072"
    assert sorted(codes) == sorted(one.kind.code for one in found.diagnostics)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: accmap.convert(SCRIPT, "mindformer"), "did you mean mindformers"),
        (lambda: accmap.lint(SCRIPT, profile="fast"), "profile must be one of align, train"),
        (lambda: accmap.lint(SCRIPT, select=["NETX"]), "accmap has no code NETX"),
        (lambda: accmap.explain("NET9999"), "is not a code or a key"),
        (lambda: accmap.convert(SCRIPT, language="cn"), "language must be one of en, zh"),
        (lambda: accmap.pair(SCRIPT, language="cn"), "language must be one of en, zh"),
        (lambda: accmap.explain("NET016", "de"), "language must be one of en, zh"),
        (lambda: accmap.verify(SCRIPT, YAML, stage="none"), "stage must be one of step1"),
        (lambda: accmap.explain(5), "'5' is not a code or a key"),
        (lambda: accmap.logs(), "logs requires A"),
        (lambda: accmap.logs("a.log", experiment="long"), "experiment must be one of"),
        (lambda: accmap.logs("a.log", benchmark=["b.log"]), "--benchmark requires"),
    ],
)
def test_a_wrong_word_gives_a_sentence(call, said: str) -> None:
    with pytest.raises(accmap.UsageError, match=said):
        call()


def test_a_misspelt_function() -> None:
    with pytest.raises(AttributeError, match="did you mean lint"):
        _ = accmap.lnit


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_answers_show_themselves(tmp_path: Path) -> None:
    script = tmp_path / "<script>alert(1)<.sh"
    script.write_text(SCRIPT.read_text("utf-8"))
    answers = [
        accmap.load(script), accmap.convert(script), accmap.diff(script, YAML), accmap.lint(script),
        accmap.pair(script), accmap.lr(script, YAML), accmap.explain("NET016"),
    ]  # fmt: skip
    for answer in answers:
        page = Tags()
        page.feed(answer._repr_html_())
        assert page.open == []
        assert not page.seen & {"script", "img", "iframe", "link", "object", "embed"}
        assert {"h1", "style"} <= page.seen


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One answer of each function that needs no framework."""
    folder = tmp_path_factory.mktemp("answers")
    for name in ("a.log", "b.log"):
        (folder / name).write_text(megatron_run(falling(3000)))
    return {
        "load": accmap.load(SCRIPT),
        "recipe": accmap.load(SCRIPT).recipe,
        "convert": accmap.convert(SCRIPT),
        "upgrade": accmap.upgrade(SOUND),
        "pair": accmap.pair(SCRIPT),
        "diff": accmap.diff(SCRIPT, YAML),
        "lint": accmap.lint(SCRIPT, YAML),
        "lr": accmap.lr(SCRIPT, YAML),
        "logs": accmap.logs(folder / "a.log", folder / "b.log"),
        "explain": accmap.explain("NET016"),
    }


NAMES = ("load", "recipe", "convert", "upgrade", "pair", "diff", "lint", "lr", "logs", "explain")


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_short_and_whole(answers: dict[str, Any], name: str) -> None:
    """A summary of at most 20 lines; all of it as JSON values, in a page and in a table."""
    answer = answers[name]
    shown = repr(answer)
    assert len(shown.splitlines()) <= 20
    assert max(map(len, shown.splitlines())) <= 120
    json.dumps(answer.to_dict())
    assert answer.records()
    assert answer.page("zh").title
    pandas = pytest.importorskip("pandas")
    frame = answer.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(answer.records())


def test_without_pandas_the_missing_package_is_named(answers: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        answers["diff"].to_pandas()


@pytest.mark.parametrize("name", ["lr", "logs"])
def test_curves_are_drawn_by_the_page_or_on_ones_own_axes(answers: dict[str, Any], name: str) -> None:
    drawn = answers[name].plot()
    shown = drawn._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "Content-Security-Policy" in shown
    assert len(repr(drawn).splitlines()) == 1

    class Axes:
        """What is called of matplotlib's axes."""

        def __init__(self) -> None:
            self.drawn: list[str] = []

        def plot(self, _steps: Any, _values: Any, label: str, linestyle: str) -> None:
            self.drawn.append(label + linestyle)

        def set_title(self, text: str) -> None:
            self.drawn.append(text)

        set_xlabel = set_title

        def legend(self) -> None:
            """The names of the curves."""

    axes = Axes()
    assert answers[name].plot(ax=axes) is axes
    assert [one[-1] for one in axes.drawn[:2]] == ["-", "-"]
    assert axes.drawn[1].endswith("--")


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_does_not_change(answers: dict[str, Any], name: str) -> None:
    field = {"diff": "verdict", "load": "file", "recipe": "file"}.get(
        name, answers[name]._fields[0] if name != "diff" else ""
    )
    with pytest.raises(AttributeError):
        setattr(answers[name], field, None)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: accmap.load(None), "as one string or pathlib.Path, not as None"),  # pyright: ignore
        (lambda: accmap.load(""), "not as ''"),
        (lambda: accmap.load(b"run.sh"), "not as bytes"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, {"megatron": "0.15"}), "options must be an accmap.ReadOptions"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, option=None), "did you mean options?"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, megatron="0.15"), "options=accmap.ReadOptions(megatron="),  # pyright: ignore
        (lambda: accmap.load(SCRIPT).value(4), "has no argument 4"),  # pyright: ignore
        (lambda: accmap.lint(4), "not as int"),  # pyright: ignore
        (lambda: accmap.lint([SCRIPT, YAML]), "not as list"),  # pyright: ignore
        (lambda: accmap.lint(SCRIPT, select=4), "select must be a list of codes"),  # pyright: ignore
        (lambda: accmap.lint(SCRIPT, profile=3), "profile must be one of align, train, not 3"),  # pyright: ignore
        (lambda: accmap.convert(SCRIPT, 4), "to must be one of megatron, mindformers, not 4"),  # pyright: ignore
        (lambda: accmap.pair(SCRIPT, YAML), "pair accepts at most 1 positional arguments, not 2"),  # pyright: ignore
        (lambda: accmap.diff(SCRIPT), "diff requires b"),  # pyright: ignore
        (lambda: accmap.lr(None), "not as None"),  # pyright: ignore
        (lambda: accmap.verify(SCRIPT, YAML, shrink=3), "not shrink"),  # pyright: ignore
        (lambda: accmap.logs(4), "not as int"),  # pyright: ignore
        (lambda: accmap.explain(), "explain requires word"),  # pyright: ignore
        (lambda: accmap.verify(SCRIPT, YAML, seeds=0), "--seeds starts at 1, not 0"),
        (lambda: accmap.verify(SCRIPT, YAML, seeds=-1), "--seeds starts at 1, not -1"),
        (lambda: accmap.verify(SCRIPT, YAML, seeds="x"), "seeds must be an integer, not 'x'"),  # pyright: ignore
        (lambda: accmap.verify(SCRIPT, YAML, seeds=None), "seeds must be an integer, not None"),  # pyright: ignore
        (lambda: accmap.verify(SCRIPT, YAML, seeds=1.5), "seeds must be an integer, not 1.5"),  # pyright: ignore
        (lambda: accmap.logs("a.log", benchmark=None), "benchmark must be a list of strings, not None"),  # pyright: ignore
        (lambda: accmap.logs("a.log", benchmark=3), "benchmark must be a list of strings, not 3"),  # pyright: ignore
        (lambda: accmap.logs("a.log", benchmark="ab"), "benchmark must be a list of strings, not 'ab'"),
        (lambda: accmap.convert(SCRIPT, version=3), "version must be a string, not 3"),  # pyright: ignore
        (lambda: accmap.convert(SCRIPT, dialect=[]), "dialect must be a string, not []"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT).value([]), "has no argument []"),  # pyright: ignore
        (lambda: accmap.load(YAML).value([]), "key must be a string, not []"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT).recipe.value([]), "[] is not a field of accmap"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, accmap.ReadOptions(megatron=3)), "megatron must be a string, not 3"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, accmap.ReadOptions(megatron=["0.12"])), "not ['0.12']"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, accmap.ReadOptions(steps="x")), "steps must be an integer"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, accmap.ReadOptions(steps=0)), "--steps starts at 1, not 0"),
        (lambda: accmap.load(SCRIPT, accmap.ReadOptions(variables=None)), "variables must be a dict"),  # pyright: ignore
        (lambda: accmap.lint(SCRIPT, options=accmap.ReadOptions(positional="ab")), "must be a list"),  # pyright: ignore
        (lambda: accmap.load(SCRIPT, accmap.ReadOptions(confine=3)), "not as int"),  # pyright: ignore
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(call: Callable[[], object], said: str) -> None:
    """A person in a notebook gets no word of Python's about `os.PathLike`, `len()` or keyword arguments."""
    with pytest.raises(accmap.UsageError) as raised:
        call()
    assert said in str(raised.value)
    assert raised.value.message("zh") != str(raised.value)


def test_a_version_that_no_facts_tell_of_is_refused_whatever_file_is_read() -> None:
    with pytest.raises(accmap.UnreadableError, match="accmap does not support transformers 9"):
        accmap.load(SCRIPT, accmap.ReadOptions(transformers="9"))


def test_one_code_is_a_list_of_codes() -> None:
    assert {one.kind.code for one in accmap.lint(SCRIPT, YAML, select="OPT006").diagnostics} == {"OPT006"}


def test_a_recipe_shows_itself() -> None:
    shown: str = accmap.load(SCRIPT).recipe._repr_html_()  # pyright: ignore
    assert "model.num_layers" in shown

"""Every page that a command writes: forms, policy, hostile text in each part, and what a browser makes of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from accmap.cli.commands.verify import render_verification
from accmap.cli.outputs import DocumentJson
from accmap.cli.pages import parts_compiled
from accmap.cli.pages.document import (
    Card,
    Cell,
    Chart,
    Code,
    Curve,
    Document,
    Items,
    Mark,
    Note,
    Row,
    Section,
    SideBySide,
    Table,
    Verdict,
    Words,
)
from accmap.cli.pages.formats import write_document
from accmap.cli.schemas_compiled import SCHEMAS
from accmap.schemas.message import Words as BothLanguages
from accmap.verifier.messages_compiled import say as told_of
from accmap.verifier.verdict.comparison import Comparison, Divergence, NotCompared
from accmap.verifier.verdict.comparison import Row as Measured
from accmap.verifier.verification import Verification
from accmap.verifier.worker.processes import WorkerFailure

sys.path.insert(0, str(Path(__file__).parent / "hostile"))
sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "dump"))
sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
from runners import Tags, github_commands, unsafe_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = "megatron.sh mindformers.yaml"
PAGES = {
    "report": f"report {PAIR}",
    "evidence": f"report {PAIR} --logs a.log b.log --dump dump_a dump_b --weights wa wb",
    "lint": f"lint {PAIR}",
    "diff": f"diff {PAIR}",
    "lr": f"lr {PAIR}",
    "logs": "logs a.log b.log",
    "dump": "dump compare dump_a dump_b",
    "scan": "dump scan dump_b",
    "weights": "weights check wa wb --config weights.yaml",
    "verify": "verify",
}


def loss_lines(shift: float, count: int = 300) -> str:
    return "".join(
        f" iteration {step:8d}/{count:8d} | consumed samples: {step * 16:12d} | learning rate: 1.000000E-05 | "
        f"global batch size: 16 | lm loss: {9 / step**0.3 + 2 + shift:.6E} | loss scale: 1.0 | grad norm: "
        f"{1 + step % 7 / 10:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        for step in range(1, count + 1)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs of every page."""
    from small_network import run
    from weight_files import arrays, pair, write_megatron, write_mindformers

    root = tmp_path_factory.mktemp("pages")
    shutil.copytree(EXAMPLES / "planted", root, dirs_exist_ok=True)
    (root / "a.log").write_text(loss_lines(0.0), "utf-8")
    (root / "b.log").write_text(loss_lines(0.1), "utf-8")
    run(root / "dump_a")
    run(root / "dump_b", fault="computation")
    (root / "made").mkdir()
    script, config = pair("grouped", root / "made")
    shutil.copy(config, root / "weights.yaml")
    held = arrays(script)
    write_megatron(root / "wa", script, held)
    name = "decoder.layers.1.mlp.linear_fc2.weight"
    write_mindformers(root / "wb", config, {**held, name: held[name] * 2})
    return root


@pytest.fixture
def written(accmap: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that writes one page in a form and returns its text."""

    def write(name: str, form: str, language: Any = "en") -> str:
        monkeypatch.chdir(folder)
        if name == "verify":
            return render_verification(verification(), (), form, language)
        answer = accmap(*PAGES[name].split(), "--format", form, "--lang", language)
        assert answer.code in (0, 1), answer.err
        return answer.out

    return write


def verification() -> Verification:
    """A verification with one wrong row, modules and gradients, a failure and both kinds of what was not compared."""
    names = [f"decoder.layers.{layer}.{part}" for layer in range(4) for part in ("self_attention", "mlp")]
    rows = [Measured(name, 1.0, 1.0, 10.0 ** (at - 8), agrees=at < 3) for at, name in enumerate(names)]
    return Verification(
        verdict="mismatch",
        sides=("megatron", "mindformers"),
        files=("a.sh", "b.yaml"),
        shrunk={"model.num_layers": [32, 2]},
        inputs=(),
        tolerance=1e-5,
        stage="all",
        compared=(
            Comparison(
                loss=(
                    Measured("1", 4.0, 5.0, 0.2, agrees=False, note=told_of.frameworks_differ()),
                    Measured("2", 4.0, 4.0, 0.0),
                ),
                activations=tuple(rows),
                gradients=tuple(row._replace(name=f"{row.name}.weight") for row in reversed(rows)),
            ),
        ),
        seeds=(0,),
        stand_ins={"megatron": {"torch.cuda": "nothing"}},
        not_compared=(
            NotCompared("run.seed", BothLanguages("drawn here", "此处随机")),
            NotCompared("a.b" * 60, "long"),
        ),
        divergence=Divergence("decoder.layers.0.input_layernorm", "forward"),
        divergence_fields=("norm.epsilon",),
        differing=(),
        failures={"mindformers": WorkerFailure("the process ended", "crash", log=("the kernel is gone",))},
        versions={"torch": "2.9"},
        cost={},
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_one_policy_and_both_languages(written: Callable[..., str], name: str) -> None:
    page = written(name, "html", "zh")
    tags = Tags(page)
    assert not tags.odd
    assert not unsafe_characters(page)
    assert re.findall(r'<main id="page-(\w+)" lang="([\w-]+)"', page) == [("zh", "zh-CN"), ("en", "en")]
    assert "unsafe-inline" not in page
    assert not re.search(r'<[^>]* style="|<link|<img|<iframe|<[^>]*\bsrc=|@import', page)
    assert len(re.findall("<style>", page)) == 1
    if name == "verify":
        assert "<li>run.seed: 此处随机</li>" in page
        assert "<small>该数值在两个框架中本来就不同，与文件无关</small>" in page
        assert "<li>run.seed: drawn here</li>" in page


@pytest.mark.parametrize("name", [name for name in PAGES if name != "lint"])
def test_every_page_is_markdown_too(written: Callable[..., str], name: str) -> None:
    text = written(name, "markdown")
    assert text.startswith("# ")
    assert "**" in text


def test_a_report_holds_what_its_options_name(written: Callable[..., str]) -> None:
    page = written("evidence", "html")
    contents = re.findall(r'<li><a href="#([a-z]+)-en"', page)
    assert contents == [
        "findings", "fields", "sources", "rates", "losses", "dumps", "weights", "uncompared", "equal", "origin",
    ]  # fmt: skip
    losses, weights = "Losses of both runs: Outside the limits", "Checkpoints: different"
    for told in (losses, weights):
        assert page.index(f"<li>{told}") < page.index("<nav")
    left = page[page.index('<section id="uncompared-en"') :]
    assert re.search(r"Both models by layer</td>.*?not compared.*?<code>--verify</code>", left)
    assert "--logs A.log" not in left
    assert "accmap report megatron.sh mindformers.yaml --logs a.log b.log --dump dump_a dump_b --weights wa wb" in page


def test_a_report_needs_two_names_of_a_kind(accmap: Callable[..., Any], folder: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    answer = accmap("report", *PAIR.split(), "--logs", "a.log")
    assert answer.code == 2
    assert "--logs requires two names" in answer.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_report_is_text_and_data_too(written: Callable[..., str], form: str) -> None:
    told = written("report", form)
    if form == "text":
        assert "MAP072 string-where-number error" in told
        assert re.search(r"^Equal values \(1\d\d\) …$", told, re.MULTILINE)
        return
    kinds = {part["kind"] for part in json.loads(told)["parts"]}
    assert {"verdict", "section", "table"} <= kinds


@pytest.mark.parametrize(
    ("name", "everything", "rest"),
    [
        ("diff", "--all", "--all"),
        ("dump", "--all", "--all"),
        ("weights", "--all", "--all"),
        ("logs", "-o all.html", "-o report.html"),
        ("lr", "-o all.html", "-o report.html"),
        ("verify", "", "-o report.html"),
    ],
)
def test_a_text_names_the_option_that_shows_the_rest(
    written: Callable[..., str], accmap: Callable[..., Any], folder: Path, name: str, everything: str, rest: str
) -> None:
    text = written(name, "text")
    assert text.endswith(f"… use {rest} to show the rest\n")
    assert re.search(r"^ *… |.* …$", text.removesuffix(f"… use {rest} to show the rest\n"), re.MULTILINE)
    if everything == "--all":
        assert "…" not in accmap(*PAGES[name].split(), "--all").out
    elif everything:
        accmap(*PAGES[name].split(), *everything.split(), "--force")
        page = (folder / "all.html").read_text("utf-8")
        for title in re.findall(r"^(\w[^…\n]*) …$", text, re.MULTILINE):
            assert f"<summary>{title}" in page


HOSTILE = "</script><b>x</b>\x1b[31m\u202e::error::y ##vso[task.x]z\n| `c` [l](javascript:1) <!--"


def filled(value: Any, text: str) -> Any:
    """The same parts with a text in place of every text that a file could bring."""
    if hasattr(value, "_fields"):
        fixed = ("tone", "language")
        return value._replace(**{name: filled(one, text) for name, one in value._asdict().items() if name not in fixed})
    if isinstance(value, str):
        return f"javascript:{text}" if value.startswith("javascript:") else text
    return [filled(one, text) for one in value] if isinstance(value, (list, tuple)) else value


def document(text: str) -> Document:
    """Every part, each text of it this one."""
    return filled(every_part("text"), text)


def every_part(text: str) -> Document:
    words, cell = Words(text, href="javascript:alert(1)"), Cell(Words(text, is_code=True), text)
    code = Code(text, 1, [text, text], [Mark(1, 0, 3, text, "javascript:x"), Mark(2, 1, 4, text)])
    chart = Chart("name", text, [Curve(text, [1, 2], [1.0, 2.0])], text, text)
    parts = [
        Verdict(text, "bad", [text]),
        Note([words, Words(text, tone="good")]),
        Items([Note([words])]),
        Table((text, "A"), [Row([cell, cell], text)]),
        chart,
        code,
        SideBySide(code, code),
        Card([words], [Note([words])], text),
        Section(text, [Section(text, [chart], is_folded=True)], "name", 3),
    ]
    return Document(text, "en", parts, text)


def test_the_models_of_a_document_have_every_part() -> None:
    made = json.loads(write_document(lambda _: every_part("text"), "json", "en"))
    assert DocumentJson.model_validate(made).model_dump() == made
    jsonschema.validate(made, SCHEMAS["report"])
    assert {part["kind"] for part in made["parts"]} == {
        one.kind for one in vars(parts_compiled).values() if hasattr(one, "kind")
    }
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**made, "parts": [{"kind": "verdict", "facts": []}]}, SCHEMAS["report"])


@pytest.mark.parametrize("form", ["html", "markdown", "text", "json"])
def test_hostile_text_stays_text_in_every_part(form: str) -> None:
    out = write_document(lambda _: document(HOSTILE), form, "en")
    assert not unsafe_characters(out)
    assert not github_commands(out)
    assert "##vso[" not in out
    if form == "html":
        assert not Tags(out).odd
        assert Tags(out).names == Tags(write_document(lambda _: document("plain"), form, "en")).names
    if form == "markdown":
        from markdown_it import MarkdownIt

        shown = MarkdownIt("commonmark", {"html": True}).enable(["table"]).render(out)
        assert not {name for name, _ in Tags(shown).names} & {"script", "b", "img"}
        assert "javascript:1" not in re.findall(r'href="([^"]*)"', shown)


# --- in a browser -----------------------------------------------------------------------------------------------------

WIDTHS = (360, 768, 1440)
SMALLEST_TEXT = """() => {
  let least = 99;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const box = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !box.checkVisibility() || box.closest('script, svg')) continue;
    least = Math.min(least, parseFloat(getComputedStyle(box).fontSize));
  }
  return least;
}"""


def opened_page(browser: Any, path: Path, **given: Any) -> tuple[Any, list[str]]:
    """The page in a new window, and what went wrong in it."""
    page, wrong = browser.new_page(**given), list[str]()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    return page, wrong


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_screen(
    browser: Any,
    written: Callable[..., str],
    name: str,
    tmp_path: Path,
    record_property: Callable[[str, str], None],
    keep_picture: Callable[[Any, str], None],
) -> None:
    """No wider than the screen, no text below 12 px, readable by assistive programs, whole on paper."""
    path = tmp_path / f"{name}.html"
    path.write_text(written(name, "html"), "utf-8")
    axe = Path(pytest.importorskip("axe_playwright_python").__file__).with_name("axe.min.js").read_text("utf-8")
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            page, wrong = opened_page(browser, path, viewport={"width": width, "height": 900}, color_scheme=scheme)
            for language in ("en", "zh"):
                page.click(f"[data-language={language}]")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, language)
                assert page.evaluate(SMALLEST_TEXT) >= 12
                picture = tmp_path / f"{name}-{width}-{scheme}-{language}.png"
                page.screenshot(path=picture, full_page=True)
                record_property("picture", str(picture))
                if (name, width, scheme) == ("report", WIDTHS[-1], "light"):
                    keep_picture(page, "report" if language == "en" else "report-zh")
            if width == WIDTHS[0] or scheme == "dark":
                page.evaluate(axe)
                told = page.evaluate("axe.run()")["violations"]
                grave = [one for one in told if one["impact"] in ("serious", "critical")]
                assert not grave, [(one["id"], one["nodes"][0]["html"][:200]) for one in grave]
            assert wrong == []
            page.close()
    page, _ = opened_page(browser, path)
    assert len(page.pdf()) > 10_000
    page.emulate_media(media="print")
    assert page.evaluate(
        "[...document.querySelectorAll('.chart')].every((one) => !one.querySelector('canvas')?.checkVisibility())"
    )
    page.close()


@pytest.mark.browser
def test_charts_answer_keys_and_mouse(browser: Any, written: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "logs.html"
    path.write_text(written("logs", "html"), "utf-8")
    page, wrong = opened_page(browser, path, viewport={"width": 1200, "height": 900})
    view = "[...plots.values()].map((plot) => plot.view.map(Math.round))"
    charts = page.locator("main:not([hidden]) .plot")
    first = charts.nth(0)
    first.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    read = page.locator("main:not([hidden]) figure output").nth(0)
    assert re.fullmatch(r"step 2 +A [\d.]+ +B [\d.]+ +difference 0\.1 \([\d.]+%\)", read.inner_text())
    page.keyboard.press("+")
    low, high = page.evaluate(view)[0]
    assert high - low < 299
    assert page.evaluate(view)[1] == [low, high]
    page.keyboard.press("0")
    assert page.evaluate(view)[0] == [1, 300]
    first.scroll_into_view_if_needed()
    box = first.bounding_box()
    before = page.evaluate("scrollY")
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(500)
    assert page.evaluate("scrollY") > before
    assert page.evaluate(view)[0] == [1, 300]
    box = first.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 110, steps=4)
    page.mouse.up()
    low, high = page.evaluate(view)[0]
    assert 1 < low < high < 300
    controls = page.locator("main:not([hidden]) figure .controls").nth(0)
    for pressed, wanted in ((controls.get_by_text("Log axis"), "true"), (controls.locator("button").nth(1), "false")):
        pressed.focus()
        page.keyboard.press("Enter")
        assert pressed.get_attribute("aria-pressed") == wanted
    for name, begin in (("CSV", b"step,"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            controls.get_by_text(name, exact=True).press("Enter")
        assert Path(saved.value.path()).read_bytes().startswith(begin)
    assert wrong == []
    page.close()


CONTROLS = """() => [...document.querySelectorAll('a[href], button, input, summary, [tabindex="0"]')]
  .filter((one) => one.checkVisibility())"""


@pytest.mark.browser
@pytest.mark.parametrize("name", ["evidence", "logs", "verify", "lint"])
def test_every_control_is_reached_and_used_by_keyboard(
    browser: Any, written: Callable[..., str], name: str, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.html"
    path.write_text(written(name, "html"), "utf-8")
    page, wrong = opened_page(browser, path, viewport={"width": 1200, "height": 900})
    count = page.evaluate(f"({CONTROLS})().length")
    reached = set[int]()
    for _ in range(count):
        page.keyboard.press("Tab")
        place = page.evaluate(f"({CONTROLS})().indexOf(document.activeElement)")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", place
        reached.add(place)
    assert reached == set(range(count))
    for at in range(page.locator("main:not([hidden]) summary").count()):
        summary = page.locator("main:not([hidden]) summary").nth(at)
        if summary.is_visible():
            was = summary.evaluate("(one) => one.parentElement.open")
            summary.press("Enter")
            assert summary.evaluate("(one) => one.parentElement.open") is not was
    if name == "verify":
        page.locator("main:not([hidden]) .plot").first.press("Home")
        read = page.locator("main:not([hidden]) figure output").first
        assert read.inner_text().startswith("decoder.layers.3.mlp.weight   ")
    if name != "lint":
        view = "() => JSON.stringify([...plots.values()].map((plot) => [plot.view, plot.smooth, plot.logarithmic]))"
        for label in ("Zoom in", "Zoom out", "Zoom in", "All steps", "Log axis", "Smoothing"):
            before = page.evaluate(view)
            controls = page.locator("main:not([hidden]) figure .controls").nth(0)
            control = controls.get_by_text(label) if label != "Smoothing" else controls.locator("input")
            control.press("ArrowRight" if label == "Smoothing" else "Enter")
            assert page.evaluate(view) != before, label
    page.locator("[data-language=zh]").press("Enter")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert wrong == []
    page.close()


@pytest.mark.browser
def test_search_and_filter_leave_what_matches(browser: Any, written: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(written("report", "html"), "utf-8")
    page, wrong = opened_page(browser, path)
    cards = "[...current().querySelectorAll('article')].filter((one) => one.checkVisibility()).length"
    rows = "[...current().querySelectorAll('tbody tr[data-group]')].filter((one) => !one.hidden).length"
    page.fill("#tools input", "beta2")
    assert page.evaluate(cards) >= 1
    assert page.evaluate(rows) == 1
    assert not page.locator("main:not([hidden]) summary", has_text="pieces of advice").is_visible()
    page.fill("#tools input", "")
    page.get_by_role("button", name="different", exact=True).press("Enter")
    assert (
        page.evaluate(rows)
        == page.locator("main:not([hidden]) tbody tr[data-group]:not([data-group=different])").count()
    )
    page.get_by_role("button", name="different", exact=True).press("Enter")
    link = page.locator("main:not([hidden]) .sides a.mark", has_text="--norm-epsilon")
    target = str(link.get_attribute("href"))
    link.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    link.press("Enter")
    assert page.evaluate("location.hash") == target
    assert page.evaluate("scrollY") == before
    top, wanted = (one.bounding_box()["y"] for one in (page.locator(target), link))
    assert abs(top - wanted) < 3
    assert wrong == []
    page.close()


def sizes(page: Any) -> Mapping[str, float]:
    return page.evaluate("""async () => {
      const paint = await new Promise((done) => new PerformanceObserver((list) => {
        for (const one of list.getEntriesByName('first-contentful-paint')) done(one.startTime);
      }).observe({type: 'paint', buffered: true}));
      const plot = [...plots.values()][0], zooms = [];
      for (let at = 0; at < 6; at++) {
        const before = performance.now();
        plot.show(at % 2 ? plot.range : [plot.range[0] + 1000, plot.range[1] - 1000]);
        await new Promise(requestAnimationFrame);
        zooms.push(performance.now() - before);
        await new Promise((done) => setTimeout(done, 50));
      }
      return {paint, zoom: Math.min(...zooms)};
    }""")


@pytest.mark.browser
def test_a_hundred_thousand_steps_are_quick_and_keep_their_extremes(
    browser: Any, accmap: Callable[..., Any], tmp_path: Path
) -> None:
    files = {"a.log": loss_lines(0.0, 100_000), "b.log": loss_lines(0.0, 100_000)}
    files["b.log"] = files["b.log"].replace("iteration    73210/", "iteration    73210/", 1)
    at = files["b.log"].index("lm loss", files["b.log"].index("iteration    73210/"))
    files["b.log"] = files["b.log"][:at] + "lm loss: 7.777777E+01" + files["b.log"][at + 21 :]
    accmap("logs", "a.log", "b.log", "-o", "big.html", files=files)
    path = tmp_path / "big.html"
    assert path.stat().st_size < 3_000_000
    page, wrong = opened_page(browser, path)
    assert page.evaluate("Math.max(...data.charts[0].curves[1].values)") == 77.77777
    taken = sizes(page)
    assert taken["paint"] < 3000, taken  # of a loaded machine; 1 s on an idle one
    assert taken["zoom"] < 1000, taken  # of a loaded machine; less than 50 ms on an idle one
    assert wrong == []
    page.close()

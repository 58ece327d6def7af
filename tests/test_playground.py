"""The playground in a browser: every control, with no other host to ask."""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("playground")]
ROOT = Path(__file__).parents[1]
SECONDS = 120_000
"""Milliseconds for what takes a second or two on an idle machine."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, built and served on this machine."""
    if shutil.which("npm") is None:
        pytest.skip("no npm here")
    folder = tmp_path_factory.mktemp("playground")
    sys.path.insert(0, str(ROOT / "tools"))
    import build_site

    build_site.build_playground(folder)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def until(page: Any, holds: str) -> None:
    """Wait for a condition; Playwright's own wait evaluates text in the page, which its policy forbids."""
    end = time.monotonic() + SECONDS / 1000
    while not page.evaluate(holds):
        assert time.monotonic() < end, (holds, page.inner_text("#status"))
        page.wait_for_timeout(50)


def test_every_control(address: str, browser: Any, record_property: Any, keep_picture: Any) -> None:
    page, wrong, asked = browser.new_page(locale="en-US"), list[str](), list[str]()
    page.set_default_timeout(SECONDS)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("article")
    page.wait_for_selector(".cm-lint-marker-error")
    record_property("milliseconds to the first finding", page.evaluate("performance.now()"))
    codes = page.locator("article.error h3").all_inner_texts()
    assert {"MAP072", "OPT006", "NET009"} <= set(codes)
    assert "9 errors" in page.inner_text("#status")
    keep_picture(page, "playground")

    card = page.locator("article", has=page.get_by_text("MAP072", exact=True))
    card.get_by_role("button", name="Explain").click()
    card.locator("pre").wait_for()
    card.get_by_role("button", name="mindformers.yaml:20").click()
    assert page.evaluate("document.activeElement.closest('#editor-b') !== null")
    card.locator("button.apply").first.click()
    until(page, "document.getElementById('status').textContent.includes('8 errors')")
    assert "MAP072" not in page.locator("article.error h3").all_inner_texts()

    page.click("#show-curves")
    page.wait_for_selector("#curves img")
    assert page.evaluate("document.querySelector('#curves img').naturalWidth") > 0
    page.click("#to-b")
    page.wait_for_selector("#losses h2")
    until(page, "document.getElementById('status').textContent.startsWith('0 errors')")
    assert page.input_value("#name-b") == "converted.yaml"
    page.click("#to-a")
    until(page, "document.getElementById('name-a').value === 'converted.sh'")

    page.click("#share")
    until(page, "location.hash.length > 100")
    other = browser.new_page(locale="zh-CN")
    other.set_default_timeout(SECONDS)
    other.goto(page.url)
    until(other, "document.getElementById('name-a').value === 'converted.sh'")
    other.wait_for_selector("#findings > *")
    assert "问题" in other.inner_text("body")
    other.select_option("#example", "planted")
    other.wait_for_selector("article.error")
    keep_picture(other, "playground-zh")
    other.click("#language")
    assert other.locator("h2", has_text="Findings").count() == 1
    other.close()

    page.select_option("#example", "qwen3_dense")
    until(page, "document.getElementById('name-b').value === 'mindformers.yaml'")
    until(page, "document.getElementById('status').textContent.startsWith('0 errors')")
    page.select_option("#profile", "train")
    assert not [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert wrong == []
    page.close()


def test_a_finding_comes_while_a_person_types(address: str, browser: Any) -> None:
    page = browser.new_page(locale="en-US")
    page.set_default_timeout(SECONDS)
    page.goto(address)
    page.wait_for_selector("article")
    page.click("#editor-b .cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.type("\nrunner_confg:\n  epochs: 1\n")
    page.wait_for_selector("text=runner_confg")
    until(page, "document.getElementById('findings').textContent.includes('runner_confg')")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_serves_assistive_programs(
    address: str, browser: Any, scheme: str, tmp_path: Path, record_property: Any
) -> None:
    axe = Path(pytest.importorskip("axe_playwright_python").__file__).with_name("axe.min.js").read_text("utf-8")
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme, bypass_csp=True)
    page.set_default_timeout(SECONDS)
    page.goto(address)
    page.wait_for_selector("article")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    picture = tmp_path / f"playground-{scheme}.png"
    page.screenshot(path=picture, full_page=True)
    record_property("picture", str(picture))
    page.evaluate(axe)
    grave = [one for one in page.evaluate("axe.run()")["violations"] if one["impact"] in ("serious", "critical")]
    assert not grave, [(one["id"], one["nodes"][0]["html"][:200]) for one in grave]
    page.close()

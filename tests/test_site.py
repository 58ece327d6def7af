"""The documentation site: it builds without a warning, has every page that accmap links to, and loads nothing else."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.evidence.codes import codes
from accmap.rules.pages import every_page
from accmap.schemas import addresses_compiled
from accmap.schemas.diagnostic import page_of_code

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("site")]
ROOT = Path(__file__).parents[1]
BASE = "https://example.org/accmap"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    build_site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_site)
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses_compiled, "SITE", BASE)
        assert build_site.main([str(folder)]) == 0
    return folder / "html"


def test_every_address_that_accmap_prints_has_its_page(site: Path) -> None:
    for code in (*every_page(), *codes()):
        path, _, anchor = page_of_code(code).partition("#")
        for language in ("", "zh"):
            page = site / language / path / "index.html"
            assert page.is_file(), code
            assert not anchor or f'id="{anchor}"' in page.read_text("utf-8"), code


def test_every_document_is_there_in_both_languages(site: Path) -> None:
    for path in (ROOT / "docs").glob("*.zh-CN.md"):
        name = path.name.split(".")[0]
        for language in ("", "zh"):
            text = (site / language / name / "index.html").read_text("utf-8")
            assert re.search(r'<html lang="zh"' if language else r'<html lang="en"', text), name


def test_the_links_and_pictures_of_an_index_page_are_there(site: Path) -> None:
    from generate.products import with_full_links

    for name in ("README.md", "README.zh-CN.md"):
        text = with_full_links((ROOT / name).read_text("utf-8"), BASE)
        links = re.findall(rf"\]\({BASE}/([^)#]*)(?:#([^)]*))?\)", text)
        assert len(links) > 40
        for path, anchor in links:
            target = site / path
            page = target / "index.html" if target.is_dir() else target
            assert page.is_file(), path
            assert not anchor or f'id="{anchor}"' in page.read_text("utf-8"), (path, anchor)


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    wanted = r'<(?:script|img|iframe)[^>]+src="(https?:)?//|<link[^>]+rel="stylesheet"[^>]+href="(https?:)?//'
    pages = list(site.rglob("*.html"))
    assert len(pages) > 900
    assert [page for page in pages if re.search(wanted, page.read_text("utf-8"))] == []


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.mark.parametrize("language", ["", "zh/"])
def test_rules_and_mapping_rows_are_filtered(served: str, browser: Any, language: str) -> None:
    page, wrong = browser.new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))

    columns = 5

    def rows() -> list[str]:
        return page.locator(f"article tbody tr:not([hidden]):has(td:nth-child({columns}))").all_inner_texts()

    page.goto(f"{served}{language}rules/")
    everything = len(rows())
    assert everything == len(list(every_page()))
    page.select_option(".filters select >> nth=2", "0.18")
    of_version = len(rows())
    assert of_version < everything
    assert not any(row.startswith("DEF001") for row in rows())  # a defect of 0.12 to 0.15
    page.fill(".filters input", "NET009")
    assert [row.partition(" ")[0] for row in rows()] == ["NET009"]

    columns = 6
    page.goto(f"{served}{language}matrix/")
    legacy = "model.implementation"  # `--use-legacy-models` is a flag up to 0.17
    assert any(legacy in row and "--use-legacy-models" in row for row in rows())
    page.select_option(".filters select", "1.6")
    assert not any("use_interleaved_weight_layout_mlp" in row for row in rows())  # from 1.7
    before = len(rows())
    page.check("#proved")
    assert 10 < len(rows()) < before
    assert all("1.6" in row for row in rows())
    assert wrong == []
    page.close()


def test_twenty_pages_fit_a_wide_and_a_narrow_screen(served: str, browser: Any) -> None:
    names = ("", "migration", "lint", "convert", "lr", "logs", "verify", "commands", "rules", "rules/NET009", "matrix")
    names += ("ci", "editors", "agents", "glossary", "upgrade", "weights", "compared", "configuration", "python")
    for width in (1280, 390):
        page = browser.new_page(viewport={"width": width, "height": 800})
        for language in ("", "zh/"):
            for name in names:
                page.goto(f"{served}{language}{name}")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, name
                broken = "[...document.images].filter((one) => one.complete && !one.naturalWidth).length"
                assert page.evaluate(broken) == 0, name
        page.close()

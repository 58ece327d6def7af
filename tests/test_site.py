"""The documentation site: it builds without a warning, has every page that accmap links to, and loads nothing else."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from accmap.evidence.codes import codes
from accmap.rules.pages import every_page
from accmap.schemas import addresses_compiled
from accmap.schemas.diagnostic import page_of_code

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

"""Every product and the module that makes it.

A module of this list has `products()`: the text of each file that it makes, by its path in the checkout. They are run
in this order, because the later ones import what the earlier ones made.
"""

from __future__ import annotations

import re
from importlib import import_module, invalidate_caches
from typing import TYPE_CHECKING

from yaml import safe_load

from .checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAKERS = (
    "schemas.compilers.messages",
    "schemas.compilers.answer_writers",
    "schemas.compilers.constants",
    "schemas.megatron.facts.fact_store",
    "schemas.megatron.facts.compile_validation",
    "schemas.megatron.facts.compile_dialects",
    "schemas.huggingface.extract",
    "schemas.mindformers.compile_facts",
    "schemas.mindformers.compile_resolution",
    "mapper.answers",
    "mapper.compile_vocabulary",
    "mappings.compile_tables",
    "mappings.compile_proofs",
    "mappings.compile_huggingface",
    "rules.compile_defects",
    "rules.compile",
    "rules.pages",
    "mapper.mapping_rows",
    "verifier.answers",
    "evidence.answers",
    "evidence.codes",
    "cli.compile_options",
    "cli.help_pages",
    "cli.outputs",
    "cli.compile_schemas",
)
ONLY_MADE = (
    "docs/rules/*",
    "docs/man/**/*.1",
    *(f"{room}/**/*_compiled.py" for room in ("schemas", "mappings", "mapper", "rules", "verifier", "evidence")),
)
"""Where every file is a product: one that nothing makes any more goes."""
INDEX_README = "generate/index_readme.md"
MOVED = {"README": "index", "SECURITY": "promises", "CHANGELOG": "changelog", "CONTRIBUTING": "contributing"}
"""Documents beside docs/, and the names of their pages on the site."""


def index_readme() -> str:
    """README for an index page of packages, where a relative link is dead.

    Links and pictures lead to the site. As long as the site has no address, pictures are left out and a link is text.
    """
    addresses = (ROOT / "schemas" / "addresses.yaml").read_text("utf-8")
    return with_full_links((ROOT / "README.md").read_text("utf-8"), safe_load(addresses)["SITE"])


def with_full_links(text: str, site: str | None) -> str:
    """A document of the top folder with links to the pages of a site."""

    def page(link: re.Match[str]) -> str:
        name, chinese, anchor = link[2].removeprefix("docs/"), link[3], link[4] or ""
        page = MOVED.get(name, name)
        folder = f"{site}/{'zh/' if chinese else ''}{'' if page == 'index' else f'{page}/'}"
        return f"{link[1]}({folder}{anchor})"

    if site is None:
        text = re.sub(r"^ *!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", "", text, flags=re.MULTILINE)
        return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]*\)", r"\1", text)
    text = re.sub(r"(!\[[^\]]*\])\(docs/(pictures/[^)]*)\)", rf"\1({site}/\2)", text)
    return re.sub(r"(\[[^\]]+\])\((?!https?:)([\w./-]+?)(\.zh-CN)?\.md(#[^)]*)?\)", page, text)


def make_products() -> Iterator[Mapping[str, str]]:
    """The products, one maker after the other; each is written before the next one is asked for."""
    for name in MAKERS:
        invalidate_caches()
        yield import_module(f"accmap.{name}").products()
    yield {INDEX_README: index_readme()}


def write() -> list[str]:
    """Write what is not there yet or has changed, and answer with the paths of those files."""
    changed: list[str] = []
    every: set[str] = set()
    for products in make_products():
        for path, text in products.items():
            every.add(path)
            if _read_product(path) != text:
                target = ROOT / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, "utf-8")
                changed.append(path)
    for path in _existing_products():
        if path not in every:
            (ROOT / path).unlink()
            changed.append(path)
    return changed


def stale() -> list[str]:
    """The products that are missing or differ from what would be made now."""
    wanted = {path: text for products in make_products() for path, text in products.items()}
    return [
        *(path for path, text in wanted.items() if _read_product(path) != text),
        *(path for path in _existing_products() if path not in wanted),
    ]


def _read_product(path: str) -> str | None:
    target = ROOT / path
    return target.read_text("utf-8") if target.is_file() else None


def _existing_products() -> list[str]:
    return [str(path.relative_to(ROOT)) for pattern in ONLY_MADE for path in sorted(ROOT.glob(pattern))]

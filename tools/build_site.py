"""Build the documentation site: every page of docs/ in both languages, one page for each rule.

    python tools/build_site.py FOLDER [--serve]

The pages are the files of docs/ as a reader of the repository has them; this puts the README in front of them, gives
each rule's languages a page of their own, and lets MkDocs make the site, with every warning as an error. It needs
mkdocs-material and mkdocs-static-i18n: MkDocs is the one site builder that takes the pages as they are, finds Chinese
words in its search, and has both languages of a page under one address.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOPICS = {
    ("Start", "开始"): ["index", "glossary", "lint", "convert", "upgrade", "dynamic"],
    ("Read and write", "读取与写出"): ["pair", "huggingface", "dialects", "recognition", "matrix", "guide-coverage"],
    ("Compare and prove", "比较与验证"): [
        "lr", "report", "verify", "verify-cluster", "verdicts", "computed", "playbook",
    ],
    ("Real runs", "实际训练"): ["logs", "dump", "weights", "data", "check", "doctor", "evidence-codes"],
    ("In your tools", "集成"): ["ci", "editors", "agents", "python", "configuration", "suppressions", "plugins"],
    ("Reference", "参考"): ["schema", "defects", "compared", "security", "promises", "changelog"],
    ("For contributors", "参与开发"): ["architecture", "mapping-rows", "contributing"],
}  # fmt: skip
"""Every page but those of the rules, by topic; a page that is missing here fails the build."""
MOVED = {"README": "index", "SECURITY": "promises", "CHANGELOG": "changelog", "CONTRIBUTING": "contributing"}
"""Documents beside docs/, and the names of their pages."""
RULES = ("Rules", "规则")


def prepare(folder: Path) -> Path:
    """Write the pages as MkDocs wants them; the configuration that it reads."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    (pages / "rules").mkdir(parents=True)
    for path in sorted((ROOT / "docs").glob("*.md")):
        _write(pages, path.name, path.read_text("utf-8"))
    for name, page in MOVED.items():
        for suffix in ("", ".zh-CN"):
            path = ROOT / f"{name}{suffix}.md"
            if path.exists():
                _write(pages, f"{page}{suffix}.md", path.read_text("utf-8"))
    rules = [_rule_page(pages, path) for path in sorted((ROOT / "docs" / "rules").glob("[A-Z]*[0-9].md"))]
    listed = {name for names in TOPICS.values() for name in names}
    there = {path.name.split(".")[0] for path in pages.glob("*.md")}
    if listed != there:
        sys.exit(f"TOPICS of {Path(__file__).name} and the documents differ: {sorted(listed ^ there)}")
    for language, title, place in (("", RULES[0], 0), (".zh", RULES[1], 1)):
        rows = "\n".join(f"- [{code} {names[place]}](rules/{code}.md)" for code, names in rules)
        (pages / f"rules{language}.md").write_text(f"# {title}\n\n{rows}\n", "utf-8")
    return _configuration(folder, rules)


def _write(pages: Path, name: str, text: str) -> None:
    """One page. Links to documents lead to their pages; those to the other language and to files of other kinds go."""
    text = re.sub(r"\[(?:中文|English)\]\([^)]*\)(?: · )?", "", text)
    text = re.sub(r"\]\((?:\.\./)?(?:docs/)?([\w./-]+?)(\.zh-CN)?\.md(#[^)]*)?\)", _link, text)
    text = re.sub(r"\[([^]]+)\]\((?!https?:|#|[\w-]+(?:/[\w-]+)?\.md)[^)]+\)", r"\1", text)
    (pages / name.replace(".zh-CN.md", ".zh.md")).write_text(text, "utf-8")


def _link(found: re.Match[str]) -> str:
    """A link to a page; the site leads to the page of the reader's language."""
    name = MOVED.get(found[1], found[1])
    return f"]({name}.md{found[3] or ''})"


def _rule_page(pages: Path, path: Path) -> tuple[str, tuple[str, str]]:
    """Both languages of a rule's page; its code, and its title in each."""
    english, _, chinese = path.read_text("utf-8").partition(f"\n---\n\n# {path.stem} ")
    titles: list[str] = []
    for suffix, text in (("", english), (".zh", f"# {path.stem} {chinese}")):
        (pages / "rules" / f"{path.stem}{suffix}.md").write_text(text, "utf-8")
        titles.append(text.splitlines()[0].removeprefix(f"# {path.stem} "))
    return path.stem, (titles[0], titles[1])


def _configuration(folder: Path, rules: list[tuple[str, tuple[str, str]]]) -> Path:
    from accmap.schemas.addresses_compiled import REPOSITORY, SITE

    topics = [{english: [f"{name}.md" for name in names]} for (english, _), names in TOPICS.items()]
    by_topic: dict[str, list[str]] = {}
    for code, _ in rules:
        by_topic.setdefault(code[:3], []).append(f"rules/{code}.md")
    rule_topics = ["rules.md", *({topic: pages} for topic, pages in by_topic.items())]
    chinese = dict([*TOPICS, RULES])
    path = folder / "mkdocs.yml"
    content = {
        "site_name": "accmap",
        **({"site_url": f"{SITE}/"} if SITE else {}),
        **({"repo_url": REPOSITORY} if REPOSITORY else {}),
        "docs_dir": "pages",
        "site_dir": "html",
        "nav": [*topics, {RULES[0]: rule_topics}],
        "theme": {
            "name": "material",
            "font": False,  # nothing is loaded from another host
            "features": ["navigation.tabs", "navigation.prune", "search.suggest", "content.code.copy"],
            "palette": [
                {"media": f"(prefers-color-scheme: {scheme})", "scheme": name,
                 "toggle": {"icon": icon, "name": f"{other} mode"}}
                for scheme, name, icon, other in (
                    ("light", "default", "material/weather-night", "Dark"),
                    ("dark", "slate", "material/weather-sunny", "Light"),
                )
            ],
        },
        "markdown_extensions": ["tables", "admonition", "pymdownx.highlight", "pymdownx.superfences", "toc"],
        "validation": {"links": {"anchors": "warn", "absolute_links": "warn"}, "nav": {"omitted_files": "warn"}},
        "plugins": [
            {"search": {"lang": ["en", "zh"], "separator": r"[\s\-_.]+"}},
            {"i18n": {
                "docs_structure": "suffix",
                "fallback_to_default": True,
                "languages": [
                    {"locale": "en", "name": "English", "default": True, "build": True},
                    {"locale": "zh", "name": "中文", "build": True, "nav_translations": chinese},
                ],
            }},
        ],
    }  # fmt: skip
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")
    return path


def main(words: list[str]) -> int:
    """Build, or serve until interrupted; MkDocs' exit code."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("folder", type=Path, help="where the pages and the site are written")
    parser.add_argument("--serve", action="store_true", help="serve the site instead, at 127.0.0.1:8000")
    args = parser.parse_args(words)
    configuration = prepare(args.folder.resolve())
    command = ["serve"] if args.serve else ["build", "--strict", "--quiet"]
    return subprocess.run([sys.executable, "-m", "mkdocs", *command, "-f", str(configuration)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

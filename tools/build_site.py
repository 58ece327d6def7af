"""Build the documentation site, and the playground: a page that runs accmap in the browser.

    python tools/build_site.py FOLDER [--playground] [--serve]

The pages are the files of docs/ as a reader of the repository has them; this puts the README in front of them, gives
each rule's languages a page of their own, and lets MkDocs make the site, with every warning as an error. It needs
mkdocs-material and mkdocs-static-i18n: MkDocs is the one site builder that takes the pages as they are, finds Chinese
words in its search, and has both languages of a page under one address.

The playground is FOLDER/html/playground and needs npm. It is static and asks no other host: Python (Pyodide), accmap's
wheel, PyYAML and the examples lie beside it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from generate.products import MOVED  # noqa: E402

TOPICS = {
    ("Start", "开始"): ["index", "migration", "glossary", "lint", "convert", "upgrade", "dynamic"],
    ("Read and write", "读取与写出"): ["pair", "huggingface", "dialects", "recognition", "matrix", "guide-coverage"],
    ("Compare and prove", "比较与验证"): [
        "lr", "report", "verify", "verify-cluster", "verdicts", "computed", "playbook",
    ],
    ("Real runs", "实际训练"): ["logs", "dump", "weights", "data", "check", "doctor", "evidence-codes"],
    ("In your tools", "集成"): [
        "browser", "ci", "editors", "agents", "python", "configuration", "suppressions", "plugins",
    ],
    ("Reference", "参考"): ["commands", "schema", "defects", "compared", "security", "promises", "changelog"],
    ("For contributors", "参与开发"): ["architecture", "mapping-rows", "contributing"],
}  # fmt: skip
"""Every page but those of the rules, by topic; a page that is missing here fails the build."""
RULES = ("Rules", "规则")
SLUGIFY = '!!python/object/apply:pymdownx.slugs.slugify {"kwds": {"case": "lower"}}'
"""Anchors as GitHub makes them: MkDocs' own leave Chinese characters out."""
PICTURES = ROOT / "docs" / "pictures"
PLAYGROUND = ROOT / "playground"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""The files of Pyodide that a browser loads."""


def prepare(folder: Path) -> Path:
    """Write the pages as MkDocs wants them; the configuration that it reads."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    (pages / "rules").mkdir(parents=True)
    shutil.copytree(PICTURES, pages / "pictures")
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
    for name in ("filters.js", "site.css"):
        shutil.copy(ROOT / "docs" / name, pages)
    for place, suffix in enumerate(("", ".zh")):
        _write_rule_index(pages / f"rules{suffix}.md", rules, place)
        matrix = pages / f"matrix{suffix}.md"
        # Before the first topic: the tables of sources and of words before it are others.
        head, heading, tables = matrix.read_text("utf-8").partition("\n## ")
        matrix.write_text(f"{head}\n{_filters('matrix')}\n{heading}{tables}", "utf-8")
    return _configuration(folder, rules)


def _write(pages: Path, name: str, text: str) -> None:
    """One page. Links to documents lead to their pages; those to the other language and to files of other kinds go."""
    text = re.sub(r"\[(?:中文|English)\]\([^)]*\)(?: · )?", "", text)
    text = re.sub(r"\]\((?:\.\./)?(?:docs/)?([\w./-]+?)(\.zh-CN)?\.md(#[^)]*)?\)", _link, text)
    text = re.sub(r"\]\((?:docs/)?(pictures/[\w.-]+)\)", r"](\1)", text)
    text = re.sub(r"\[([^]]+)\]\((?!https?:|#|pictures/|[\w-]+(?:/[\w-]+)?\.md)[^)]+\)", r"\1", text)
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


def _filters(table: str) -> str:
    """The place of the controls that `docs/filters.js` makes for the tables of a page."""
    from accmap.schemas.versions import names

    versions = [*names("megatron"), *dict.fromkeys([*names("mindformers", "static"), *names("mindformers", "dynamic")])]
    return f'<div class="filters" data-table="{table}" data-versions="{" ".join(versions)}"></div>\n'


def _write_rule_index(path: Path, rules: list[tuple[str, tuple[str, str]]], place: int) -> None:
    """The page of all rules: a table with topic, usual severity, and the versions that a defect is in."""
    from accmap.cli.lean import main as run
    from accmap.rules.pages import possible_severities, summary_of, topic_of
    from accmap.schemas.shared_words import term

    language = ("en", "zh")[place]
    with redirect_stdout(StringIO()) as answer:
        run(["rules", "--format", "json", "--lang", language])
    versions = {one["code"]: ", ".join(one["versions"] or ()) for one in json.loads(answer.getvalue())}
    heads = ("Rule", "Checks", "Topic", "Severity", "Versions"), ("规则", "检查内容", "主题", "级别", "版本")
    lines = [
        *("---", "hide: [toc]", "---"),
        f"# {RULES[place]}",
        "",
        _filters("rules"),
        f"| {' | '.join(heads[place])} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for code, names in rules:
        summary = summary_of(code, language).replace("|", "\\|")
        severity = term(next(iter(possible_severities(code))), language)
        cells = (f"[{code} {names[place]}](rules/{code}.md)", summary, topic_of(code, language), severity)
        lines.append(f"| {' | '.join(cells)} | {versions.get(code, '')} |")
    path.write_text("\n".join(lines) + "\n", "utf-8")


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
        "markdown_extensions": [
            "tables", "admonition", "pymdownx.highlight", "pymdownx.superfences", {"toc": {"slugify": "SLUGIFY"}},
        ],
        "validation": {"links": {"anchors": "warn", "absolute_links": "warn"}, "nav": {"omitted_files": "warn"}},
        "extra_javascript": ["filters.js"],
        "extra_css": ["site.css"],
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
    text = json.dumps(content, ensure_ascii=False, indent=1)
    path.write_text(text.replace('"SLUGIFY"', SLUGIFY), "utf-8")
    return path


def build_playground(folder: Path) -> None:
    """Write the playground and everything that it loads."""
    folder.mkdir(parents=True, exist_ok=True)
    _call("npm", "ci", "--silent", "--no-audit", "--no-fund", place=PLAYGROUND)
    _call("npm", "run", "--silent", "check", place=PLAYGROUND)
    _call("npm", "run", "--silent", "bundle", "--", f"--outdir={folder.resolve()}", place=PLAYGROUND)
    runtime = folder / "pyodide"
    runtime.mkdir(exist_ok=True)
    for name in RUNTIME:
        shutil.copy(PLAYGROUND / "node_modules" / "pyodide" / name, runtime)
    _write_wheel(folder)
    _write_yaml(folder)
    names = _copy_examples(folder)
    page = (PLAYGROUND / "index.html").read_text("utf-8")
    options = "".join(f"<option>{name}</option>" for name in names)
    (folder / "index.html").write_text(page.replace("<!--examples-->", options), "utf-8")
    shutil.copy(PLAYGROUND / "style.css", folder)


def _call(*words: str, place: Path = ROOT) -> None:
    subprocess.run(words, cwd=place, check=True)


def _write_wheel(folder: Path) -> None:
    """The wheel of this checkout, which is a zip archive."""
    dist = folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    _call(sys.executable, "-m", "build", "--quiet", "--no-isolation", "--wheel", "--outdir", str(dist), ".")
    (wheel,) = dist.glob("*.whl")
    shutil.move(wheel, folder / "accmap.zip")
    dist.rmdir()


def _write_yaml(folder: Path) -> None:
    """PyYAML without its C part, which a browser cannot load."""
    spec = importlib.util.find_spec("yaml")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(folder / "yaml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(spec.origin).parent.glob("*.py")):
            archive.write(path, f"yaml/{path.name}")


def _copy_examples(folder: Path) -> list[str]:
    """The pairs of examples/, the one with planted faults first."""
    pairs = [path.parent for path in sorted((ROOT / "examples").glob("*/megatron.sh"))]
    pairs = [pair for pair in pairs if (pair / "mindformers.yaml").is_file()]
    for pair in pairs:
        (folder / "examples" / pair.name).mkdir(parents=True, exist_ok=True)
        for name in ("megatron.sh", "mindformers.yaml"):
            shutil.copy(pair / name, folder / "examples" / pair.name)
    return sorted((pair.name for pair in pairs), key=lambda name: (name != "planted", name))


def _lead_to_playground(page: Path) -> None:
    """Put a link to the playground below the title of the page about it; without a playground it would be dead."""
    folder, words = (
        ("../../playground/", "打开试用页面") if page.parts[-3] == "zh" else ("../playground/", "Open the playground")
    )
    text = page.read_text("utf-8")
    page.write_text(re.sub("</h1>", f'</h1>\n<p><a href="{folder}">{words}</a></p>', text, count=1), "utf-8")


def main(words: list[str]) -> int:
    """Build, or serve until interrupted; MkDocs' exit code."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("folder", type=Path, help="where the pages and the site are written")
    parser.add_argument("--playground", action="store_true", help="build the playground too, with npm")
    parser.add_argument("--serve", action="store_true", help="serve the site instead, at 127.0.0.1:8000")
    args = parser.parse_args(words)
    configuration = prepare(args.folder.resolve())
    command = ["serve"] if args.serve else ["build", "--strict", "--quiet"]
    words = [sys.executable, "-m", "mkdocs", *command, "-f", str(configuration)]
    code = subprocess.run(words, check=False).returncode
    if args.playground and not code:
        site = args.folder.resolve() / "html"
        build_playground(site / "playground")
        for page in (site / "browser", site / "zh" / "browser"):
            _lead_to_playground(page / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

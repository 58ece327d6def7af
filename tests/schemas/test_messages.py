"""Catalogues of messages: every text in both languages, by name, and what is misspelt is an error."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from accmap.schemas.compilers import messages
from accmap.schemas.message import Catalogue, Kind, Words, join_words, verbatim

ROOT = Path(__file__).resolve().parents[2]
CHINESE = re.compile("[\u4e00-\u9fff]")
SOURCES = sorted(path.parent for room in messages.ROOMS for path in (ROOT / room).rglob("messages.yaml"))
WRITTEN = """\
problems:
  absent:
    code: SYN999
    name: absent
    severity: error
    en: There is no {path}, because {why}.
    zh: 没有 {path}，因为{why}。
words:
  asleep:
    en: '{who} is asleep'
    zh: '{who} 在睡觉'
  why_not:
    en: why not
    zh: 为何不
pages:
  heads:
    first: ['{} of {}', '{} / {}']
    last-one: [end, 结尾]
"""


def catalogue(folder: Path) -> Catalogue:
    return import_module(f"accmap.{'.'.join(folder.relative_to(ROOT).parts)}.messages_compiled").say


@pytest.mark.parametrize("folder", SOURCES, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_every_message_is_said_in_both_languages(folder: Path) -> None:
    compiled = messages.compile_catalogue("schemas", (folder / "messages.yaml").read_text("utf-8"))
    texts: dict[str, object] = {}
    exec(compiled["schemas/message_texts_compiled.py"], texts)
    say = catalogue(folder)
    for table in (texts["PROBLEMS"], texts["WORDS"]):
        assert isinstance(table, dict)
        for name, row in table.items():
            en, zh = row[-2:] if len(row) < 5 else row[3:5]
            assert not CHINESE.search(re.sub("“.*?”", "", en)), name
            # `unreadable` may hold a number that is formatted
            values = {one: 7 if re.search(rf"{{{one}:", en) else f"<{one}>" for one in messages.placeholders(en)}
            made = getattr(say, name)(**values)
            said = (
                (str(made), made.zh)
                if isinstance(made, Words)
                else tuple(made.kind.message(values, language) for language in ("en", "zh"))
            )
            assert said == (en.format_map(values), zh.format_map(values))
    codes: dict[str, str] = {}
    for kind in say.kinds.values():
        assert codes.setdefault(kind.code, kind.name) == kind.name, f"{kind.code} has two names"


def test_a_text_knows_its_chinese_wherever_it_stands() -> None:
    text = Words("a list", "列表")
    assert text == "a list"
    assert json.dumps(text) == '"a list"'
    assert pickle.loads(pickle.dumps(text)).zh == "列表"
    assert join_words([text, verbatim("null")], " or ", " 或 ").zh == "列表 或 null"


def said(tmp_path: Path, text: str) -> Catalogue:
    made = messages.compile_catalogue("schemas", text)
    (tmp_path / "spoken").mkdir()
    (tmp_path / "spoken" / "__init__.py").write_text("", encoding="utf-8")
    for path, content in made.items():
        (tmp_path / "spoken" / Path(path).name).write_text(
            content.replace("from .message ", "from accmap.schemas.message "), encoding="utf-8"
        )
    return Catalogue("spoken")


def test_a_message_holds_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    say = said(tmp_path, WRITTEN)
    problem = say.absent(path="x", why=say.asleep(who="y"))
    assert problem.kind.message(dict(problem.values)) == "There is no x, because y is asleep."
    assert problem.kind.message(dict(problem.values), "zh") == "没有 x，因为y 在睡觉。"
    with pytest.raises(AttributeError, match="has no message awake"):
        _ = say.awake


def test_a_page_says_its_words_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    say = said(tmp_path, WRITTEN)
    assert (say.page("heads", "en")("first", 1, 2), say.page("heads", "zh")("first", 1, 2)) == ("1 of 2", "1 / 2")
    assert say.page("heads", "zh")("last-one") == "结尾"


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("zh: 没有 {path}，因为{why}。", "zh: 没有 {paht}，因为{why}。", "paht"),
        ("    zh: 为何不\n", "", "why_not"),
        ("severity: error", "severity: eror", "eror"),
        ("words:", "wrods:", "wrods"),
        ("  why_not:", "  why-not:", "why-not"),
        ("  why_not:", "  asleep:", "stand twice"),
        ("  why_not:", "  absent:", "stand twice"),
        ("en: why not", "en: 7", "no text"),
        ("[end, 结尾]", "[end]", "heads: last-one"),
        ("'{} / {}'", "'{} / {left}'", "left"),
    ],
)
def test_a_wrong_catalogue_stops_the_maker(right: str, wrong: str, named: str) -> None:
    messages.compile_catalogue("schemas", WRITTEN)
    with pytest.raises(ValueError, match=named):
        messages.compile_catalogue("schemas", WRITTEN.replace(right, wrong, 1))


USES = {
    "right": "say.absent(path='x', why=say.asleep(who='y'))",
    "message": "say.absend(path='x', why=say.why_not())",
    "placeholder": "say.absent(paht='x', why=say.why_not())",
    "forgotten": "say.absent(why=say.why_not())",
    "english": "say.absent(path='x', why='because')",
    "place": "diagnose(say.why_not(), 'file')",
    "kind": "say.kinds['absend']",
    "page": "say.page('headz', 'en')('first', 1, 2)",
    "label": "say.page('heads', 'en')('frist', 1, 2)",
}


@pytest.mark.long
def test_the_type_checker_knows_every_message_and_placeholder(tmp_path: Path) -> None:
    said(tmp_path, WRITTEN)
    settings = {"include": ["."], "exclude": ["**/*_compiled.py*"], "extraPaths": [".", str(ROOT / ".typing")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**settings, "typeCheckingMode": "strict"}), "utf-8")
    head = "from accmap.schemas.diagnostic import diagnose as diagnose\nfrom spoken.messages_compiled import say\n\n"
    for name, use in USES.items():
        (tmp_path / f"{name}.py").write_text(f"{head}print({use})\n", encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = {Path(one["file"]).stem for one in json.loads(done.stdout)["generalDiagnostics"]}
    assert found == set(USES) - {"right"}, done.stdout


@pytest.mark.parametrize(
    ("template", "value", "filled"),
    [
        ("{side} 为 {value}（默认）", Words("unset", "未设置"), "B 为未设置（默认）"),
        ("{side} 为 {value}（默认）", Words("4", "4"), "B 为 4（默认）"),
        ("值 {value} 无效", Words("nothing", "空"), "值空无效"),
        ("值 {value} 无效", "目录 甲", "值 目录 甲 无效"),
    ],
)
def test_a_chinese_value_stands_without_the_spaces_of_a_name(template: str, value: str, filled: str) -> None:
    kind = Kind("SYN999", "absent", "error", "", template)
    assert kind.message({"side": "B", "value": value}, "zh") == filled

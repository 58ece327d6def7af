"""The editor's server, asked by a client of its own as an editor asks it."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.language_server.cursor import completions
from accmap.cli.language_server.open_files import OpenFiles
from accmap.cli.lean import main
from accmap.schemas.config import ReadOptions
from accmap.schemas.versions import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("pygls")
pytestmark = pytest.mark.long

PAIR = Path(__file__).resolve().parent.parent.parent / "examples" / "qwen3_dense"
SCRIPT, YAML = (PAIR / "megatron.sh").read_text("utf-8"), (PAIR / "mindformers.yaml").read_text("utf-8")
_PATIENCE = 20


class Editor:
    """An editor with some files open."""

    def __init__(self, folder: Path, *words: str, encoding: str | None = None, registers: bool = False) -> None:
        self.folder = folder
        environment = {name: value for name, value in os.environ.items() if name != "ACCMAP_LANG"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from accmap.cli.lean import main; main()", "lsp", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self.told: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.asked: list[dict[str, Any]] = []
        self.messages = 0
        self._number = 0
        self._versions: dict[str, int] = {}
        threading.Thread(target=self._listen, daemon=True).start()
        capabilities: dict[str, Any] = {
            "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": registers}},
            **({"general": {"positionEncodings": [encoding]}} if encoding else {}),
        }
        capabilities["workspace"]["inlayHint"] = {"refreshSupport": registers}
        given = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        self.capabilities = self.ask("initialize", given)["capabilities"]
        self.tell("initialized", {})

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            if not length:
                self.told.put(None)
                return
            self.told.put(json.loads(stream.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self.process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        message = self.told.get(timeout=_PATIENCE)
        assert message is not None, "the server has ended"
        self.messages += message.get("method") == "window/showMessage"
        if "method" in message and "id" in message:
            self.asked.append(message)
            self._send({"id": message["id"], "result": None})
        return message

    def tell(self, method: str, given: dict[str, Any]) -> None:
        self._send({"method": method, "params": given})

    def ask(self, method: str, given: dict[str, Any] | None) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, **({} if given is None else {"params": given})})
        while True:
            answer = self._hear()
            if "method" not in answer and answer["id"] == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def uri(self, name: str) -> str:
        return name if ":" in name else (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        self._versions[name] = 1
        item = {"uri": self.uri(name), "languageId": "any", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def type(self, name: str, text: str) -> None:
        self._versions[name] += 1
        item = {"uri": self.uri(name), "version": self._versions[name]}
        self.tell("textDocument/didChange", {"textDocument": item, "contentChanges": [{"text": text}]})

    def close(self, name: str) -> None:
        del self._versions[name]
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def findings(self, name: str) -> list[dict[str, Any]]:
        """What the server says next of a file as it is now."""
        while True:
            message, now = self._hear(), self._versions.get(name)
            told = message["params"] if message.get("method") == "textDocument/publishDiagnostics" else None
            if told is not None and told["uri"] == self.uri(name) and told.get("version", now) == now:
                return told["diagnostics"]

    def codes(self, name: str) -> list[str]:
        return [entry["code"] for entry in self.findings(name)]

    def message(self) -> str:
        while True:
            message = self._hear()
            if message.get("method") == "window/showMessage":
                return message["params"]["message"]

    def at(self, name: str, text: str, words: str, behind: int = 1) -> dict[str, Any]:
        """A place in a file: some characters behind the start of words."""
        before = text[: text.index(words) + behind]
        line = before.count("\n")
        position = {"line": line, "character": len(before.rpartition("\n")[2])}
        return {"textDocument": {"uri": self.uri(name)}, "position": position}

    def actions(self, name: str, only: list[str] | None = None) -> list[dict[str, Any]]:
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": 10_000, "character": 0}}
        context = {"diagnostics": [], **({} if only is None else {"only": only})}
        given = {"textDocument": {"uri": self.uri(name)}, "range": everything, "context": context}
        return self.ask("textDocument/codeAction", given)

    def edited(self, name: str, text: str, action: dict[str, Any]) -> str:
        """The text after an action of the editor's."""
        lines = text.split("\n")
        starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
        for edit in reversed(action["edit"]["changes"][self.uri(name)]):
            start, end = (edit["range"][one] for one in ("start", "end"))
            first, last = (starts[place["line"]] + place["character"] for place in (start, end))
            text = text[:first] + edit["newText"] + text[last:]
        return text


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Callable[..., Editor]]:
    begun: list[Editor] = []

    def start(*words: str, **given: Any) -> Editor:
        begun.append(Editor(tmp_path, *words, **given))
        return begun[-1]

    yield start
    for one in begun:
        one.ask("shutdown", None)
        one.tell("exit", {})
        assert one.process.wait(_PATIENCE) == 0
        while one.told.get(timeout=_PATIENCE) is not None:
            pass  # nothing but messages comes out: anything else could not be parsed


def test_an_editor_is_told_what_lint_says(editor: Callable[..., Editor], accmap: Callable[..., Any]) -> None:
    """The same findings at the same places: of two files open side by side, and not of what the disk has."""
    files = {"run.sh": SCRIPT.replace("--hidden-size 512", "--hidden-size 640"), "run.yaml": YAML}
    told = json.loads(accmap("lint", *files, "--format", "json", files=files).out)["diagnostics"]
    one = editor("--remarks")
    for name in files:
        (one.folder / name).write_text("nothing that trains", "utf-8")
        one.open(name, files[name])
    one.findings("run.sh")  # when it was alone
    for name in files:
        found = one.findings(name)
        followers = [entry for entry in told if follows_in_its_file(entry, told)]
        expected = [entry for entry in told if entry["file"] == name and entry not in followers]
        assert [entry["code"] for entry in found] == [entry["code"] for entry in expected]
        for entry, known in zip(found, expected, strict=True):
            span = known["span"]
            collapsed = [follower for follower in followers if told[follower["because_of"]] is known]
            sentences = " ".join(filter(None, (known["message"], known["consequence"])))
            assert entry["message"].partition("\n")[0] == sentences
            assert all(follower["code"] in entry["message"] for follower in collapsed)
            assert known["url"] is None
            assert "codeDescription" not in entry
            assert entry["range"] == {
                "start": {"line": span["line"] - 1, "character": span["column"] - 1},
                "end": {"line": span["end_line"] - 1, "character": span["end_column"] - 1},
            }
            places = len(known["related"]) + (known["because_of"] is not None)
            assert len(entry["relatedInformation"]) == places + len(collapsed)
    assert {"NET003"} <= {entry["code"] for entry in told}


def follows_in_its_file(entry: dict[str, Any], told: list[dict[str, Any]]) -> bool:
    cause = entry["because_of"]
    return cause is not None and told[cause]["file"] == entry["file"]


def test_what_follows_from_a_finding_is_collapsed_into_it(editor: Callable[..., Editor]) -> None:
    planted = {
        name: (PAIR.parent / "planted" / name).read_text("utf-8") for name in ("megatron.sh", "mindformers.yaml")
    }
    one = editor()
    for name, text in planted.items():
        one.open(name, text)
    found = {entry["code"]: entry for entry in one.findings("mindformers.yaml")}
    assert not {"SCH050", "SCH069", "NET045"} & found.keys()
    message = found["OPT013"]["message"].splitlines()[1]
    assert re.match(r"because lr_schedule is missing: \d more \(.*SCH050.*\)$", message)
    follower = next(place for place in found["OPT013"]["relatedInformation"] if place["message"].startswith("SCH050: "))
    assert follower["location"]["uri"] == one.uri("mindformers.yaml")


@pytest.mark.parametrize(
    ("asked", "words", "partner", "wanted"),
    [
        ("run.sh", "--hidden-size", "run.yaml", "hidden_size"),
        ("run.sh", "--norm-epsilon", "run.yaml", "rms_norm_eps"),
        ("run.yaml", "hidden_size", "run.sh", "--hidden-size"),
        ("run.yaml", "weight_decay", "run.sh", "--weight-decay"),
    ],
)
def test_a_setting_leads_to_the_line_of_its_partner(
    asked: str, words: str, partner: str, wanted: str, editor: Callable[..., Editor]
) -> None:
    texts, one = {"run.sh": SCRIPT, "run.yaml": YAML}, editor()
    assert one.capabilities["definitionProvider"] is True
    one.open("run.sh", SCRIPT)
    one.findings("run.sh")
    assert one.ask("textDocument/definition", one.at("run.sh", SCRIPT, "--hidden-size", 3)) is None
    one.open("run.yaml", YAML)
    one.findings("run.yaml")
    place = one.ask("textDocument/definition", one.at(asked, texts[asked], words, 3))
    assert place["uri"] == one.uri(partner)
    assert wanted in texts[partner].splitlines()[place["range"]["start"]["line"]]


def test_the_values_of_the_partner_are_shown_if_that_is_asked_for(editor: Callable[..., Editor]) -> None:
    assert "inlayHintProvider" not in editor().capabilities
    one = editor("--inlay-values", registers=True)
    one.open("run.sh", SCRIPT)
    one.open("run.yaml", YAML.replace("hidden_size: 512", "hidden_size: 640"))
    one.findings("run.yaml")

    def shown(name: str, text: str, first: int = 0, last: int = 10_000) -> dict[str, dict[str, Any]]:
        """The hints by the line that they stand behind."""
        lines = {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}
        hints = one.ask("textDocument/inlayHint", {"textDocument": {"uri": one.uri(name)}, "range": lines})
        for hint in hints:
            hint["before"] = text.splitlines()[hint["position"]["line"]][: hint["position"]["character"]].strip()
        return {hint["before"]: hint for hint in hints}

    hints = shown("run.sh", SCRIPT)
    assert hints["--hidden-size 512"]["label"] == "\u2260 640"
    assert hints["--num-layers 4"]["label"] == "= 4"
    assert "MindSpore Transformers: `640`" in hints["--hidden-size 512"]["tooltip"]["value"]
    line = SCRIPT[: SCRIPT.index("--hidden-size")].count("\n")
    assert list(shown("run.sh", SCRIPT, line, line)) == ["--hidden-size 512"]
    one.asked.clear()
    one.type("run.yaml", YAML)
    one.findings("run.yaml")
    assert shown("run.sh", SCRIPT)["--hidden-size 512"]["label"] == "= 512"
    assert shown("run.yaml", YAML)["hidden_size: 512"]["label"] == "= 512"
    assert "workspace/inlayHint/refresh" in {entry["method"] for entry in one.asked}


def test_findings_come_and_go_while_a_file_is_typed_in(editor: Callable[..., Editor]) -> None:
    one = editor()
    one.open("run.sh", SCRIPT)
    assert one.codes("run.sh") == []
    one.open("run.yaml", YAML)
    assert one.codes("run.yaml") == []
    one.type("run.yaml", YAML.replace("hidden_size: 512", "hidden_size: 640"))
    found = one.findings("run.yaml")
    assert "NET003" in [entry["code"] for entry in found]
    places = {place["location"]["uri"] for entry in found for place in entry["relatedInformation"]}
    assert one.uri("run.sh") in places
    one.type("run.yaml", YAML.replace("hidden_size", "hidden_size: ["))
    assert one.codes("run.yaml") == ["SYN070"]
    one.type("run.yaml", YAML)
    assert one.codes("run.yaml") == []
    one.type("run.sh", SCRIPT.replace("--hidden-size 512", "--hidden-size"))
    assert one.codes("run.sh") == ["MAP004"]
    one.close("run.sh")
    assert one.codes("run.sh") == []


def test_a_configured_partner_is_read_from_the_disk_or_from_the_editor(editor: Callable[..., Editor]) -> None:
    one = editor()
    (one.folder / "accmap.toml").write_text('pairs = [{megatron = "gpu/run.sh", mindformers = "npu/run.yaml"}]\n')
    for folder in ("gpu", "npu"):
        (one.folder / folder).mkdir()
    (one.folder / "gpu" / "run.sh").write_text(SCRIPT, "utf-8")
    one.open("npu/run.yaml", YAML.replace("hidden_size: 512", "hidden_size: 640"))
    assert "NET003" in one.codes("npu/run.yaml")
    one.open("gpu/run.sh", SCRIPT.replace("--hidden-size 512", "--hidden-size 640"))
    assert "NET003" not in one.codes("npu/run.yaml")
    one.close("gpu/run.sh")
    assert "NET003" in one.codes("npu/run.yaml"), "what was not saved is gone"


@pytest.mark.parametrize(("encoding", "units"), [(None, 2), ("utf-16", 2), ("utf-32", 1), ("utf-8", 4)])
def test_columns_count_in_what_the_editor_counts_in(
    encoding: str | None, units: int, editor: Callable[..., Editor]
) -> None:
    one = editor(encoding=encoding)
    line = "python pretrain_gpt.py --save /data/\U0001f600/out --num-layers x"
    one.open("run.sh", f"{line}\n")
    found = next(entry for entry in one.findings("run.sh") if entry["code"] == "MAP005")
    places = [found["range"]["start"]["character"], found["range"]["end"]["character"]]
    assert [place - units + 1 for place in places] == [len(line) - 1, len(line)]


def test_a_fix_a_comment_and_every_safe_fix_are_offered(editor: Callable[..., Editor]) -> None:
    text = YAML.replace("eps: 1.0e-8", "eps: 1e-8").replace("learning_rate: 1.0e-4", "learning_rate: 1e-4")
    one = editor()
    one.open("run.yaml", text)
    before = one.codes("run.yaml")
    assert before.count("MAP072") == 2
    actions = one.actions("run.yaml")
    fix = next(action for action in actions if action.get("isPreferred"))
    one.type("run.yaml", one.edited("run.yaml", text, fix))
    assert one.codes("run.yaml").count("MAP072") == 1
    one.type("run.yaml", text)
    one.findings("run.yaml")
    silence = next(action for action in actions if "MAP072" in action["title"] and not action.get("isPreferred"))
    one.type("run.yaml", one.edited("run.yaml", text, silence))
    assert one.codes("run.yaml").count("MAP072") == 1
    one.type("run.yaml", text)
    one.findings("run.yaml")
    assert not [action for action in actions if action["kind"] != "quickfix"]
    every = one.actions("run.yaml", ["source.fixAll"])
    assert [action["kind"] for action in every] == ["source.fixAll.accmap"]
    one.type("run.yaml", one.edited("run.yaml", text, every[0]))
    assert "MAP072" not in one.codes("run.yaml")
    assert one.actions("run.yaml", ["source.fixAll"]) == []
    assert one.actions("run.yaml", ["refactor"]) == []


def test_a_difference_can_be_fixed_in_either_file(editor: Callable[..., Editor]) -> None:
    one = editor()
    script = SCRIPT.replace("--weight-decay 0.1", "--weight-decay 0.2")
    assert script != SCRIPT
    for name, text in (("run.sh", script), ("run.yaml", YAML)):
        one.open(name, text)
    assert "OPT006" in one.codes("run.yaml")
    offered = {
        next(iter(action["edit"]["changes"])): action
        for action in one.actions("run.yaml")
        if "OPT006" in action["title"] and "weight" in action["title"]
    }
    assert set(offered) == {one.uri("run.sh"), one.uri("run.yaml")}
    assert offered[one.uri("run.yaml")]["title"].startswith("In run.yaml, write `weight_decay: 0.2` instead of `")
    one.type("run.sh", one.edited("run.sh", script, offered[one.uri("run.sh")]))
    assert "OPT006" not in one.codes("run.yaml")


def test_a_word_is_explained_with_its_value_on_both_sides(editor: Callable[..., Editor]) -> None:
    one = editor()
    one.open("run.sh", SCRIPT)
    one.findings("run.sh")
    one.open("run.yaml", YAML)
    one.findings("run.yaml")
    for name, text, words in (("run.sh", SCRIPT, "--hidden-size"), ("run.yaml", YAML, "hidden_size")):
        shown = one.ask("textDocument/hover", one.at(name, text, words, 3))["contents"]["value"]
        assert "Megatron-LM: `512` (--hidden-size)" in shown
        assert "MindSpore Transformers: `512`" in shown
        assert "**static graph**: model.model_config.hidden_size" in shown
    assert one.ask("textDocument/hover", one.at("run.sh", SCRIPT, "#!", 1)) is None


def test_flags_their_values_and_keys_are_completed(editor: Callable[..., Editor]) -> None:
    one = editor()
    text = SCRIPT.replace("--hidden-size 512", "--hidden-s")
    one.open("run.sh", text)
    one.findings("run.sh")
    offered = one.ask("textDocument/completion", one.at("run.sh", text, "--hidden-s\n", len("--hidden-s")))
    chosen = next(item for item in offered if item["label"] == "--hidden-size")
    assert chosen["textEdit"]["range"]["start"]["character"] == 4
    assert "Width of the hidden states" in one.ask("completionItem/resolve", chosen)["documentation"]["value"]
    text = SCRIPT.replace("--hidden-size 512", "--position-embedding-type r")
    one.type("run.sh", text)
    one.findings("run.sh")
    offered = one.ask("textDocument/completion", one.at("run.sh", text, "-type r\n", len("-type r")))
    assert {"learned_absolute", "rope"} <= {item["label"] for item in offered}
    text = YAML.replace("    hidden_size: 512\n", "    hid\n")
    one.open("run.yaml", YAML)
    one.findings("run.yaml")
    one.type("run.yaml", text)
    one.findings("run.yaml")
    labels = [item["label"] for item in one.ask("textDocument/completion", one.at("run.yaml", text, "    hid\n", 7))]
    assert "hidden_size" not in labels, "the file had it when it could be read last"
    assert "moe_intermediate_size" in labels
    assert "warmup_steps" not in labels, "that is a key of another section"
    launch = "python run_mindformer.py --config run.yaml"
    one.type("run.yaml", YAML)
    one.open("launch.sh", launch)
    one.findings("launch.sh")
    launch += " --\n"
    one.type("launch.sh", launch)
    place = one.at("launch.sh", launch, " --\n", len(" --"))
    assert one.ask("textDocument/completion", place) == [], "these are not Megatron-LM's"


@pytest.mark.parametrize("version", names("megatron"))
def test_the_flags_of_every_version_are_completed(version: str) -> None:
    assert "--hidden-size" in offered("/run.sh", SCRIPT, "    --hidden-size 512", "    --hid", megatron=version)


@pytest.mark.parametrize(
    ("dialect", "version"), [(kind, name) for kind in ("static", "dynamic") for name in names("mindformers", kind)]
)
def test_the_keys_of_every_version_and_graph_are_completed(dialect: str, version: str) -> None:
    words = offered("/run.yaml", YAML, "use_legacy: False", "se", mindformers=version, dialect=dialect)
    assert ("moe_config" if dialect == "static" else "parallelism") in words
    assert "num_layers" not in words, "that belongs to a section"


def offered(name: str, text: str, line: str, begun: str, **reading: str) -> set[str]:
    """What may be written in place of a line that was begun anew."""
    files = OpenFiles(ReadOptions(**reading), None)
    files.put(name, text)
    files.check()
    assert files.last_read(name) is not None
    files.put(name, text.replace(line, begun))
    number = text[: text.index(line)].count("\n") + 1
    return {one.text for one in completions(files, name, number, len(begun) + 1)}


def test_what_trains_nothing_and_has_no_name_is_left_alone(editor: Callable[..., Editor]) -> None:
    one = editor()
    one.open("untitled:one", SCRIPT)
    one.open("compose.yaml", "services:\n  web:\n    image: nginx\n")
    one.open("build.sh", "#!/bin/sh\nmake all && rm -rf build\n")
    one.open("run.yaml", YAML.replace("eps: 1.0e-8", "eps: 1e-8"))
    assert len(one.codes("run.yaml")) == 1, "the first that is heard of"
    assert one.ask("textDocument/hover", one.at("untitled:one", SCRIPT, "--hidden-size", 3)) is None


def test_a_broken_configuration_is_said_and_the_server_goes_on(editor: Callable[..., Editor]) -> None:
    one = editor(registers=True)
    (one.folder / "accmap.toml").write_text("pairs = [", "utf-8")
    one.open("run.yaml", YAML)
    assert "accmap.toml" in one.message()
    one.type("run.yaml", YAML + "# more\n")
    (one.folder / "accmap.toml").write_text("ignore = ['SYN']\n", "utf-8")
    change = {"uri": one.uri("accmap.toml"), "type": 2}
    one.tell("workspace/didChangeWatchedFiles", {"changes": [change]})
    one.tell("workspace/didChangeWatchedFiles", {"changes": [change]})
    assert one.codes("run.yaml") == []
    assert one.messages == 1, "not at every keystroke"
    assert [entry["method"] for entry in one.asked] == ["client/registerCapability"]


def test_a_message_and_a_document_are_bounded(editor: Callable[..., Editor]) -> None:
    """What is too large is skipped; the server goes on, and has not taken memory for it."""
    one = editor()
    one.open("run.yaml", YAML)
    clean = one.codes("run.yaml")
    assert one.process.stdin is not None
    one.process.stdin.write(b"Content-Length: %d\r\n\r\n" % (60 << 20))
    for _ in range(60):
        one.process.stdin.write(b"[]," * ((1 << 20) // 3) + b" ")
    one.open("large.yaml", YAML + "# x\n" * 400_000)
    assert "large.yaml, because this file has more than" in one.message()
    one.type("run.yaml", YAML + "# more\n")
    assert one.codes("run.yaml") == clean
    peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{one.process.pid}/status").read_text())
    assert peak is None or int(peak[1]) < 300_000


def test_messages_are_chinese_where_that_is_asked_for(editor: Callable[..., Editor]) -> None:
    one = editor("--lang", "zh")
    one.open("run.yaml", YAML.replace("eps: 1.0e-8", "eps: 1e-8"))
    found = one.findings("run.yaml")
    assert all(any("\u4e00" <= letter <= "\u9fff" for letter in entry["message"]) for entry in found)
    assert any("忽略" in action["title"] for action in one.actions("run.yaml"))


def test_without_the_library_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.delitem(sys.modules, "accmap.cli.language_server.server", raising=False)
    assert main(["lsp"]) == 2
    assert "[lsp]" in capsys.readouterr().err

"""The settings that docs/editors.md shows: Neovim runs with them, and the command of Helix serves a client."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.cli.configuration import toml_table

pytest.importorskip("pygls")
pytestmark = pytest.mark.browser  # another program
ROOT = Path(__file__).resolve().parents[2]
PAGES = ("editors.md", "editors.zh-CN.md")
OLDEST_NEOVIM = (0, 11)
ASK = """
local function findings(name)
  local found = vim.diagnostic.get(vim.fn.bufnr(name))
  return vim.tbl_map(function(one) return {code = one.code, line = one.lnum + 1, message = one.message} end, found)
end
local function ask(what, given) return vim.lsp.buf_request_sync(0, 'textDocument/' .. what, given, 20000)[1].result end
vim.cmd.edit('megatron.sh')
vim.cmd.edit('mindformers.yaml')
vim.wait(60000, function() return #findings('mindformers.yaml') > 5 end, 20)
vim.fn.cursor(vim.fn.search('weight_decay:'), 4)
local place = vim.lsp.util.make_position_params(0, 'utf-16')
local line = place.position.line
local whole = {start = {line = line, character = 0}, ['end'] = {line = line + 1, character = 0}}
local result = {findings = findings('mindformers.yaml'), definition = ask('definition', place)}
local wanted = {textDocument = place.textDocument, range = whole, context = {diagnostics = {}}}
result.actions = ask('codeAction', wanted)
vim.fn.writefile({vim.json.encode(result)}, 'result.json')
vim.cmd('qall!')
"""
"""Opens both files, then asks for the partner's line and the fixes of one key."""


def shown(page: str, language: str) -> str:
    """The one block of a language on a page."""
    (block,) = re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / "docs" / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return block


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home with both planted files, and `accmap` on PATH."""
    for name in ("megatron.sh", "mindformers.yaml"):
        shutil.copy(ROOT / "examples" / "planted" / name, tmp_path)
    program = tmp_path / "bin" / "accmap"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m accmap "$@"\n')
    program.chmod(0o755)
    folders = {name: str(tmp_path / name.lower()) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    return {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "LANG": "C.UTF-8", **folders}


@pytest.mark.parametrize("page", PAGES)
def test_neovim_shows_findings_with_the_lines_of_the_page(
    page: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    neovim = os.environ.get("ACCMAP_NEOVIM") or shutil.which("nvim")
    if neovim is None:
        pytest.skip("Neovim is not here; ACCMAP_NEOVIM names it")
    said = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"NVIM v(\d+)\.(\d+)", said)
    if version is None or tuple(map(int, version.groups())) < OLDEST_NEOVIM:
        pytest.skip(f"older than the page's Neovim: {said.splitlines()[0]}")
    (tmp_path / "init.lua").write_text(shown(page, "lua"), "utf-8")
    (tmp_path / "ask.lua").write_text(ASK, "utf-8")
    words = [neovim, "--headless", "-n", "-u", "init.lua", "-S", "ask.lua"]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (tmp_path / "result.json").exists(), done.stderr
    result: dict[str, Any] = json.loads((tmp_path / "result.json").read_text("utf-8"))
    found = {one["code"]: one for one in result["findings"]}
    assert found["OPT006"]["line"] == 21
    assert ("权重衰减" if "zh" in page else "weight decay") in found["OPT006"]["message"].lower()
    assert result["definition"]["uri"].endswith("/megatron.sh")
    assert any("OPT006" in one["title"] and "edit" in one for one in result["actions"])


@pytest.mark.parametrize("page", PAGES)
def test_the_command_of_helix_serves_a_client(page: str, tmp_path: Path, environment: dict[str, str]) -> None:
    pytest.importorskip("pygls")
    settings = toml_table("whole.toml", shown(page, "toml"))
    assert {one["name"] for one in settings["language"]} == {"bash", "yaml"}
    assert all("accmap" in one["language-servers"] for one in settings["language"])
    server = settings["language-server"]["accmap"]
    asked = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}},
        },
        {"method": "initialized", "params": {}},
        *(
            {
                "method": "textDocument/didOpen",
                "params": {
                    "textDocument": {
                        "uri": (tmp_path / name).as_uri(),
                        "languageId": language,
                        "version": 1,
                        "text": (tmp_path / name).read_text("utf-8"),
                    }
                },
            }
            for name, language in (("megatron.sh", "bash"), ("mindformers.yaml", "yaml"))
        ),
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    data = b"".join(
        b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
        for text in (json.dumps({"jsonrpc": "2.0", **message}).encode() for message in asked)
    )
    done = subprocess.run(
        [server["command"], *server["args"]], input=data, capture_output=True, check=False, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert b'"code":"OPT006"' in done.stdout.replace(b": ", b":")

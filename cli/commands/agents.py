"""`accmap mcp`: hand the commands to a program that works for a person, over the Model Context Protocol.

Each tool runs one command in a process of its own and answers with that command's own JSON and exit code, so that an
agent is told what a person is told. Files are read and written below one folder only, and a file is written only where
the caller names one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from ...schemas.border.text_output import tell
from ...schemas.diagnostic import UsageError
from ...schemas.fast_records import NamedTuple
from ...schemas.installation import install_command, module_command
from ..exit_codes import FINE
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server import MCPServer

    from ..arguments_compiled import McpArgs

_SECONDS = 600
"""A call that takes longer is ended; only `verify` comes near."""
_INSTRUCTIONS = (
    "accmap compares and translates training configurations of Megatron-LM (launch scripts) and MindSpore Transformers "
    "(YAML). Paths are relative to the folder that the server was started for. exit_code: 0 fine, 1 findings, losses "
    "or a mismatch, 2 the input cannot be used (`messages` says why). Start with `lint` for a pair, `convert` for a "
    "script alone, `upgrade` for an old YAML; `explain` tells what a code of a finding means. A finding's `fix` has "
    "the edit that mends it."
)


class Answer(BaseModel):
    """The answer of one command."""

    exit_code: int = Field(
        description="0 fine; 1 findings, losses or a mismatch; 2 unusable input; 3 an error of accmap."
    )
    answer: Any = Field(description="The command's JSON; null if it gave none.")
    text: str | None = Field(None, description="The configuration that convert or upgrade made, if no file was named.")
    messages: str = Field(description="Messages for a person, such as the reason of exit code 2.")


Files = Annotated[list[str], Field(description="Launch scripts, YAMLs, config.json or folders. Two files are a pair.")]
File = Annotated[str, Field(description="A launch script, a YAML or a config.json.")]
Output = Annotated[str | None, Field(description="File to write; without one the text is in the answer.")]
Version = Annotated[str | None, Field(description="Version, such as 0.12 or 2.1; found or assumed without it.")]
Language = Annotated[Literal["en", "zh"], Field(description="Language of the texts.")]


class _Commands(NamedTuple):
    """The commands, as tools that reach one folder."""

    root: Path

    def lint(
        self,
        files: Files,
        profile: Literal["align", "train"] = "train",
        a_version: Version = None,
        b_version: Version = None,
        language: Language = "en",
    ) -> Answer:
        """Check a file or a pair by the rules: every finding with its place, its effect and the edit that mends it."""
        words = ["lint", *self._files(files), "--format", "json", "--profile", profile, "--no-cache", "--confine"]
        return self._run(
            [*words, *_option_words({"--a-version": a_version, "--b-version": b_version}), "--lang", language]
        )

    def diff(
        self, a: File, b: File, a_version: Version = None, b_version: Version = None, language: Language = "en"
    ) -> Answer:
        """Compare two configurations of either framework field by field, with the effective values of both."""
        words = ["diff", *self._files([a, b]), "--format", "json", "--confine"]
        return self._run(
            [*words, *_option_words({"--a-version": a_version, "--b-version": b_version}), "--lang", language]
        )

    def lr(self, a: File, b: File, language: Language = "en") -> Answer:
        """Compare the learning-rate curves of two configurations and name the first step at which they part."""
        return self._run(["lr", *self._files([a, b]), "--format", "json", "--confine", "--lang", language])

    def show(self, file: File, language: Language = "en") -> Answer:
        """Show every effective value of a file with the place that it is from."""
        return self._run(["show", *self._files([file]), "--format", "json", "--confine", "--lang", language])

    def convert(
        self,
        source: File,
        output: Output = None,
        to: Annotated[
            Literal["mindformers", "megatron", "huggingface"] | None,
            Field(description="What to write; the other framework without it."),
        ] = None,
        target_version: Version = None,
        overwrite: bool = False,
        language: Language = "en",
    ) -> Answer:
        """Convert a launch script to a YAML or back; `answer` is the conversion report."""
        chosen = {"--to": to}
        if target_version is not None:
            chosen["--megatron" if to == "megatron" else "--mindformers"] = target_version
        words = ["convert", *self._files([source]), *_option_words(chosen)]
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            answer = self._write([*words, "--report", str(report)], output, overwrite, language, reads_json=False)
            return answer.model_copy(update={"answer": _read_json(report)})

    def upgrade(
        self, source: File, output: Output = None, overwrite: bool = False, language: Language = "en"
    ) -> Answer:
        """Write a static or legacy YAML as one for the newest dynamic graph; `answer` is the report."""
        words = ["upgrade", *self._files([source]), "--format", "json"]
        if output is not None:
            return self._write(words, output, overwrite, language)
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "upgraded.yaml")
            answer = self._write([*words, "-o", str(made)], None, overwrite, language)
            text = made.read_text("utf-8") if made.exists() else None
            return answer.model_copy(update={"text": text})

    def explain(
        self,
        word: Annotated[str, Field(description="A code (NET009), a flag, a key, a section or a word.")],
        language: Language = "en",
    ) -> Answer:
        """Explain a code, a flag, a key, a section or a word."""
        return self._run(["explain", "--format", "json", "--lang", language, "--", word])

    def verify(self, a: File, b: File, language: Language = "en") -> Answer:
        """Run both real models, small, on the same weights and tokens; needs both frameworks and about a minute."""
        return self._run(["verify", *self._files([a, b]), "--format", "json", "--confine", "--lang", language])

    def _files(self, names: Sequence[str]) -> list[str]:
        """The files by their paths below the folder; each must lie in it, wherever links lead."""
        return [self._path_in_root(name) for name in names]

    def _path_in_root(self, name: str) -> str:
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root):
            raise _tool_error(say.mcp_outside_its_folder(name=name, folder=str(self.root)).en)
        return f"./{path.relative_to(self.root)}"

    def _write(
        self, words: Sequence[str], output: str | None, overwrite: bool, language: str, *, reads_json: bool = True
    ) -> Answer:
        """Run a command that writes text: to `output` in the root if given, else into the answer."""
        target = [] if output is None else ["-o", self._path_in_root(output), *(["--force"] if overwrite else [])]
        return self._run([*words, *target, "--confine", "--lang", language], reads_json=reads_json)

    def _run(self, words: Sequence[str], *, reads_json: bool = True) -> Answer:
        """Run an accmap command as a subprocess in the root; its exit code, output (perhaps parsed) and stderr."""
        try:
            ended = subprocess.run(
                module_command("accmap", *words),
                cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=_SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise _tool_error(say.mcp_takes_too_long(seconds=_SECONDS).en) from None
        answer: Any = None
        text: str | None = ended.stdout or None
        if reads_json and text is not None:
            answer, text = json.loads(text), None
        return Answer(exit_code=ended.returncode, answer=answer, text=text, messages=ended.stderr)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def _option_words(options: dict[str, str | None]) -> list[str]:
    return [word for name, value in options.items() if value is not None for word in (name, value)]


def _tool_error(text: str) -> Exception:
    """An exception of the MCP library with a text, which the client is shown as the error of the tool."""
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(text)


def make_server(root: Path) -> MCPServer:
    """The server with every tool; each tool states if it writes files."""
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    from accmap import __version__

    commands = _Commands(root.resolve())
    server = MCPServer("accmap", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
    for tool in (commands.lint, commands.diff, commands.lr, commands.show, commands.explain, commands.verify):
        server.add_tool(tool, annotations=reads)
    for tool in (commands.convert, commands.upgrade):
        server.add_tool(tool, annotations=writes)
    return server


def serve(args: McpArgs) -> int:
    """Answer a client on standard input and output until it says that it ends."""
    root = Path(args.root)
    if not root.is_dir():
        raise UsageError(say.mcp_no_such_folder(folder=args.root))
    try:
        server = make_server(root)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "mcp":
            raise
        raise UsageError(say.mcp_needs_a_library(command=install_command("mcp"))) from None
    if sys.stdin.isatty():
        tell(f"accmap mcp: {say.mcp_waits_for_a_client().text(args.lang)}")
    try:
        server.run()
    except Exception as error:  # noqa: BLE001 - a group, whose class Python 3.10 does not have
        raise _first_of_group(error) from None
    return FINE


def _first_of_group(error: BaseException) -> BaseException:
    """The first exception of a group, such as a client that is gone or a full disk."""
    while members := getattr(error, "exceptions", ()):
        error = members[0]
    return error

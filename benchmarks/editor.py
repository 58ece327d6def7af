"""Prints how long an editor waits for the findings of a pair of 300 lines after a keystroke, the server being warm.

    python benchmarks/editor.py [--accmap PROGRAM] [--keystrokes 60]

The time is from sending the change to having the findings of the file that was typed in, as an editor sees it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

PAIR = Path(__file__).resolve().parent.parent / "examples" / "deepseek_v3"
LINES = 300
GOAL = 100
"""Milliseconds."""


class Server:
    """A server, and an editor that talks to it."""

    def __init__(self, program: str, folder: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([program, "lsp"], stdin=pipe, stdout=pipe, cwd=folder)
        given = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        self._send({"id": 1, "method": "initialize", "params": given})
        self._hear()
        self.tell("initialized", {})

    def tell(self, method: str, given: dict[str, Any] | None) -> None:
        """Send what wants no answer."""
        self._send({"method": method, "params": given})

    def await_findings(self, uri: str, version: int) -> None:
        """Wait for what is said of a version of a file."""
        while True:
            told = self._hear()
            about = told.get("params") if told.get("method") == "textDocument/publishDiagnostics" else None
            if about is not None and (about["uri"], about.get("version")) == (uri, version):
                return

    def end(self) -> None:
        """Let the server end as an editor does."""
        self._send({"id": 2, "method": "shutdown"})
        while self._hear().get("id") != 2:
            pass
        self.tell("exit", None)
        self._process.wait(10)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        stream = self._process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
        if not length:
            raise SystemExit("the server has ended")
        return json.loads(stream.read(length))


def main() -> int:
    """Measure and print; 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accmap", default=str(Path(sys.executable).with_name("accmap")))
    parser.add_argument("--keystrokes", type=int, default=60)
    given = parser.parse_args()
    texts = {name: (PAIR / name).read_text("utf-8") for name in ("megatron.sh", "mindformers.yaml")}
    lacking = LINES - sum(text.count("\n") for text in texts.values())
    texts["mindformers.yaml"] += "# a remark\n" * lacking
    waited: dict[str, list[float]] = {name: [] for name in texts}
    with tempfile.TemporaryDirectory() as scratch:
        server = Server(given.accmap, Path(scratch))
        uris = {name: (Path(scratch) / name).as_uri() for name in texts}
        for name, text in texts.items():
            item = {"uri": uris[name], "languageId": "any", "version": 1, "text": text}
            server.tell("textDocument/didOpen", {"textDocument": item})
        server.await_findings(uris["mindformers.yaml"], 1)
        for number in range(given.keystrokes):
            name = tuple(texts)[number % 2]
            typed = texts[name].replace("64", f"64{number % 10}", 1)
            item = {"uri": uris[name], "version": number + 2}
            began = time.perf_counter()
            server.tell("textDocument/didChange", {"textDocument": item, "contentChanges": [{"text": typed}]})
            server.await_findings(uris[name], number + 2)
            waited[name].append(time.perf_counter() - began)
        server.end()
    times = [1000 * one for found in waited.values() for one in found]
    what = "a keystroke to its findings, 300-line pair"
    print(f"{what:44}{median(times):8.1f} ms  <= {GOAL}   longest {max(times):.1f}")
    return int(median(times) > GOAL)


if __name__ == "__main__":
    sys.exit(main())

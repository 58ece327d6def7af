"""`accmap lsp`: the server that an editor starts, for findings while a file is typed in."""

from __future__ import annotations

import sys

from ...schemas.border.text_output import tell
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.installation import install_command
from ..argument_parser import UsageError
from ..exit_codes import FINE
from ..messages_compiled import say

if TYPE_CHECKING:
    from ..arguments_compiled import LspArgs

_LIBRARY = ("attrs", "cattrs", "lsprotocol", "pygls")


def run(args: LspArgs) -> int:
    """Answer an editor on standard input and output until it says that it ends."""
    try:
        from ..language_server.server import serve
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in _LIBRARY:
            raise
        raise UsageError(say.lsp_needs_a_library(command=install_command("lsp"))) from None
    if sys.stdin.isatty():
        tell(f"accmap lsp: {say.lsp_waits_for_an_editor().text(args.lang)}")
    serve(args.reading, args.profile, args.lang, remarks=args.remarks)
    return FINE

"""`accmap lint --watch`: lint again whenever something changes that the last lint has read or looked for."""

from __future__ import annotations

from ..schemas.border.inputs import OPENED, Inputs, exchange_inputs
from ..schemas.border.probes import state_of
from ..schemas.border.text_output import clear_screen, tell
from ..schemas.diagnostic import UnreadableError
from ..schemas.fast_records import TYPE_CHECKING
from .argument_parser import UsageError
from .command_runner import report
from .exit_codes import FINE, UNUSABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..schemas.diagnostic import Language

_PAUSE = 0.4


def watch_files(once: Callable[[], int], language: Language) -> int:
    """Run until interrupted; the exit code is that of the last run. A configuration may be wrong for a while."""
    from time import sleep

    code: int | None = None
    try:
        while True:
            clear_screen()
            inputs = Inputs(noted=True)
            outer = exchange_inputs(inputs)
            try:
                code = once()
            except (UnreadableError, UsageError) as error:
                if code is None:
                    raise  # what the command line itself says does not change
                code = _report_error(error, language)
            finally:
                exchange_inputs(outer)
            while _is_as_noted(inputs.notes or {}):
                sleep(_PAUSE)
    except KeyboardInterrupt:
        return code or FINE


def _report_error(error: UnreadableError | UsageError, language: Language) -> int:
    """Say what is wrong, and give the exit code for it."""
    if isinstance(error, UnreadableError):
        report(error, language)
    else:
        tell(f"accmap: {error.message(language)}")
    return UNUSABLE


def _is_as_noted(notes: Mapping[str, bytes]) -> bool:
    """Whether everything that was noted is still in the state that was found."""
    return all(known in (OPENED, state_of(key)) for key, known in notes.items())

"""What a translation loses that changes numbers, less what the user has said to accept."""

from __future__ import annotations

from ..schemas.border.text_output import tell
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.wording import join_words
from .configuration import find_configuration, ignored_configurations
from .exit_codes import BAD, FINE
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mapper.translate.result import ReportRow
    from ..schemas.diagnostic import Language


def accepted_losses(file: str, given: Sequence[str], language: Language) -> tuple[str, ...]:
    """The recipe fields and keys whose loss is accepted, by the command line and by the project's configuration."""
    words = [name.strip() for word in given for name in word.split(",")]
    found = find_configuration(file)
    said = ignored_configurations(found, language)
    if said is not None:
        tell(f"accmap: {said}")
    return tuple(dict.fromkeys(name for name in (*words, *found.words("accept-loss")) if name))


def close_report(rows: Sequence[ReportRow], accepted: Sequence[str], language: Language, *, strict: bool) -> int:
    """Say on stderr what changes numbers and was lost; the exit code of the translation. `strict` accepts nothing."""
    losses = [row for row in rows if row.changes_numbers]
    for name in accepted:
        if not any(name in _names(row) for row in losses):
            tell(f"accmap: {say.nothing_lost_by_name(name=name).text(language)}")
    lost = [row for row in losses if strict or not _names(row) & set(accepted)]
    if not lost:
        return FINE
    names = list(dict.fromkeys(map(_label, lost)))
    said = say.one_setting_lost if len(names) == 1 else say.settings_lost
    tell(said(count=len(names), names=join_words(names)).text(language))
    return BAD


def _label(row: ReportRow) -> str:
    """What a loss goes by; what makes a run more than training has neither a field nor a key."""
    return row.field or ", ".join(row.source) or str(row.value)


def _names(row: ReportRow) -> set[str]:
    return {*row.source, _label(row)}

"""`accmap init [FOLDER]`: proposes the pairs of a tree, each with the reason, and writes `accmap.toml`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...mapper.recipe.reading import recipe_of
from ...schemas.border.file_output import write_text
from ...schemas.border.text_output import say as print_line
from ...schemas.border.text_output import tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.file_kind import trains_gpt
from ...schemas.reader import read_config
from ..argument_parser import UsageError
from ..configuration import NAMES, find_configuration
from ..exit_codes import BAD, FINE
from ..linting.file_search import training_files
from ..messages_compiled import say
from ..pair_discovery import candidate, proposals
from ..progress import report_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.config import ReadOptions
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ..pair_discovery import Candidate, Proposals

_MOST_OPEN = 12
_MOST_ALIKE = 3
_OF_PATTERNS = "*\\"


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    yes: bool,
    force: bool,
    profile: str | None,
    lang: Language,
) -> int:
    """Propose, ask, write: 0, or 1 where no pair was found."""
    del stdin_name
    folder = files[0] if files else "."
    if not os.path.isdir(folder):
        raise UsageError(say.init_takes_a_folder(folder=folder))
    target = os.path.join(folder, NAMES[0])
    _require_none(folder, target, force=force)
    scripts, yamls, others = _candidates(folder, options)
    found = proposals(scripts, yamls)
    _show(found, (len(scripts), len(yamls), others), lang)
    if not found.pairs:
        return BAD
    if yes or _is_confirmed(target, lang):
        write_text(target, _text(found, profile, lang), force=force)
        print_line(say.written_now_lint(path=os.path.normpath(target)).text(lang))
    else:
        print_line(say.nothing_written().text(lang))
    return FINE


def _require_none(folder: str, target: str, *, force: bool) -> None:
    """What a folder has decided already is not replaced unasked, nor hidden by a file beside it."""
    if force:
        return
    known = find_configuration(os.path.join(folder, "")).path
    if known is not None and os.path.dirname(os.path.abspath(known)) == os.path.abspath(folder):
        raise UsageError(say.configured_already(path=os.path.normpath(known), target=os.path.normpath(target)))


def _candidates(folder: str, options: ReadOptions) -> tuple[list[Candidate], list[Candidate], int]:
    """The training files of a tree by framework, and how many others only looked like it."""
    sides: dict[str, list[Candidate]] = {"megatron": [], "mindformers": []}
    others = 0
    paths = sorted(training_files(folder))
    for number, path in enumerate(paths):
        report_progress(number, len(paths), path)
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        try:
            config = read_config(path, options)
            if not trains_gpt(config) or any(mark in name for mark in _OF_PATTERNS) or not name.isprintable():
                others += 1
                continue
            whole = not any(open_word.may_split for open_word in config.unresolved)
            sides[config.framework].append(candidate(name, recipe_of(config), whole=whole))
        except UnreadableError:
            others += 1
    return sides["megatron"], sides["mindformers"], others


def _show(found: Proposals, counts: tuple[int, int, int], language: Language) -> None:
    scripts, yamls, others = counts
    print_line(say.found_in_the_tree(scripts=scripts, yamls=yamls, others=others).text(language))
    for pair in found.pairs:
        print_line("")
        print_line(f"  megatron    {pair.megatron}")
        print_line(f"  mindformers {pair.mindformers}")
        print_line(f"  {_because(pair.reasons, language)}")
    if found.open or found.apart:
        print_line("")
    for one in found.apart:
        because = _because(one.reasons, language)
        print_line(say.of_one_model(megatron=one.megatron, mindformers=one.mindformers, because=because).text(language))
    for path, alike in list(found.open.items())[:_MOST_OPEN]:
        listed = say.between_names().text(language).join(alike[:_MOST_ALIKE])
        more = len(alike) - _MOST_ALIKE
        others = say.names_and_more(names=listed, more=more).text(language) if more > 0 else listed
        print_line(say.fits_alike(path=path, others=others).text(language))
    if len(found.open) > _MOST_OPEN:
        print_line(say.more_not_decided(more=len(found.open) - _MOST_OPEN).text(language))
    if not found.pairs:
        print_line(say.no_pair_was_found().text(language))
    print_line("")


def _because(reasons: Sequence[Words], language: Language) -> str:
    return say.between_reasons().text(language).join(reason.text(language) for reason in reasons)


def _is_confirmed(target: str, language: Language) -> bool:
    """The answer of whoever sits there; nobody there is no agreement."""
    if not sys.stdin.isatty():
        return False
    tell(say.write_it(path=os.path.normpath(target)).text(language))
    return sys.stdin.readline().strip().lower() in say.words_of_consent().zh.split()


def _text(found: Proposals, profile: str | None, language: Language) -> str:
    lines = [f"# {say.configuration_begins().text(language)}"]
    if profile is not None:
        lines.append(f'profile = "{profile}"')
    for pair in found.pairs:
        lines += ["", "[[pairs]]", f"# {_because(pair.reasons, language)}"]
        lines += [f"megatron = {_toml_string(pair.megatron)}", f"mindformers = {_toml_string(pair.mindformers)}"]
    return "\n".join(lines) + "\n"


def _toml_string(text: str) -> str:
    """A basic string of TOML; what is not printable does not come here."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

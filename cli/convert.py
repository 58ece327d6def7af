"""`accmap convert SRC`: the other framework's configuration, and a report of what could not be carried over."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from ..mapper.translate.translation import translate
from .inputs import load, read_input
from .lean import BAD, FINE
from .loss_report import print_report
from .parsing import UsageError
from .writing import write_text, write_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mapper.translate.translation import Translation
    from ..schemas.config import Framework, ReadOptions
    from ..schemas.diagnostic import Language


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    to: Framework | None,
    output: str | None,
    report: str | None,
    update: str | None,
    strict: bool,
    no_comments: bool,
    force: bool,
    lang: Language,
) -> int:
    """Write the translation; 1 under --strict where something that changes numbers is not exact."""
    if output is not None and update is not None:
        raise UsageError("--output writes a new file and --update changes one; give one of them")
    config = load(files[0], options, stdin_name)
    target: Framework = to or ("mindformers" if config.framework == "megatron" else "megatron")
    version = options.megatron if target == "megatron" else options.mindformers
    translation = translate(config, target, version, options.dialect)
    if update is not None:
        write_text(update, _updated(update, translation, options), force=True)
    text = text_of(translation, comments=not no_comments)
    new_files: dict[str, str] = {}
    if output is not None:
        new_files[output] = text
    if report is not None:
        new_files[report] = json.dumps(translation.to_json(lang), ensure_ascii=False, indent=2) + "\n"
    write_texts(new_files, force=force)
    if output is None and update is None:
        sys.stdout.write(text)
    print_report(translation, lang)
    return BAD if strict and _loses(translation) else FINE


def text_of(translation: Translation, *, comments: bool = True) -> str:
    """The translation as the file that the other framework reads."""
    if translation.target_framework == "megatron":
        from ..mapper.translate.megatron_file import megatron_text

        return megatron_text(translation, comments=comments)
    from ..mapper.translate.mindformers_file import mindformers_text

    return mindformers_text(translation, comments=comments)


def _updated(path: str, translation: Translation, options: ReadOptions) -> str:
    from ..mapper.translate.update import updated
    from ..schemas.reader import config_of

    source = read_input(path, None)
    return updated(source.text, translation, config_of(source, options, path=path))


def _loses(translation: Translation) -> bool:
    return any(
        row.impact == "numerics" and row.status in ("approximate", "dropped", "unresolved") for row in translation.rows
    )

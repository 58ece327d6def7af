"""`accmap data check FILE...`: Megatron data, the configurations that use them, and the samples that two of them draw.

A FILE is a data prefix, its `.idx` or `.bin`, or a configuration of either framework. 0 where all is well, 1 where
something is wrong or the samples of a pair cannot be worked out, 2 where a file cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...schemas.border.text_output import emit, json_text, tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.installation import install_command
from ...schemas.json_values import json_value
from ..argument_parser import UsageError, counts_from_one
from ..command_runner import report as report_unreadable
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import load
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Language


def _require_counts(given: Mapping[str, int | None]) -> None:
    for option, number in given.items():
        if number is not None and number < 1:
            raise counts_from_one(option, number)


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None = None,
    format: str = "text",  # noqa: A002 - the option's name
    samples: int | None = None,
    quick: int | None = None,
    tokenizer: str | None = None,
    decode: int | None = None,
    vocabulary: int | None = None,
    eod: int | None = None,
    lang: Language = "en",
) -> int:
    """Check and print."""
    from ...evidence.data.check import check
    from ...evidence.data.dataset import SAMPLES, CheckOptions
    from ...evidence.data.problems import MissingPackageError

    _require_counts({"--samples": samples, "--quick": quick, "--vocabulary": vocabulary, "--decode": decode})
    if decode is not None and tokenizer is None:
        raise UsageError(say.decode_needs_tokenizer_the_tokenizer())
    prefixes, configs, failed = sort_inputs(files, options, stdin_name)
    try:
        found = check(
            list(dict.fromkeys(prefixes)),
            configs,
            CheckOptions(
                samples=samples or SAMPLES,
                quick=quick,
                vocabulary=vocabulary,
                eod=eod,
                decode=decode or 0,
                **_tokenizer(tokenizer, lang),
            ),
        )
    except MissingPackageError as missing:
        tell(f"accmap: {missing_package_sentence(missing.package, lang)}")
        return UNUSABLE
    found = found._replace(unreadable=(*(error.diagnostic for error in failed), *found.unreadable))
    failed = [UnreadableError(diagnostic) for diagnostic in found.unreadable]
    for error in failed:
        report_unreadable(error, lang)
    from ...evidence.data.check import to_json

    answer = to_json(found, lang)
    if format == "json":
        emit(json_text(json_value(answer)))
    else:
        from .data_check_report import text_page

        emit(text_page(answer, lang))
    if failed:
        return UNUSABLE
    return FINE if found.verdict == "good" else BAD


def sort_inputs(
    files: Sequence[str], options: ReadOptions, stdin_name: str | None
) -> tuple[list[str], list[Config], list[UnreadableError]]:
    """Prefixes of data, one or two configurations, and the files that cannot be read."""
    from ...evidence.data.indexed_file import prefix_of
    from ...evidence.data.mindrecord import is_record

    prefixes: list[str] = []
    configs: list[Config] = []
    failed: list[UnreadableError] = []
    for name in dict.fromkeys(files):
        prefix = None if name == "-" else name if is_record(name) else prefix_of(name)
        if prefix is not None:
            prefixes.append(prefix)
            continue
        try:
            configs.append(load(name, options, stdin_name))
        except UnreadableError as error:
            failed.append(error)
    if len(configs) > 2:
        raise UsageError(say.data_check_compares_two_configurations(count=len(configs)))
    return prefixes, configs, failed


def _tokenizer(path: str | None, language: Language) -> dict[str, Any]:
    """The tokenizer as the check takes it, and the package's for the way back from text where it is installed."""
    if path is None:
        return {}
    from ...evidence.data.tokenizer import encoder, read_tokenizer

    read = read_tokenizer(path)
    packaged = encoder(path)
    if packaged is None:
        tell(say.decoded_but_not_encoded().text(language))
    return {"tokenizer": read, "encoder": packaged}


def missing_package_sentence(package: str, language: Language) -> str:
    """That a package is not installed, and how it is."""
    return say.data_check_needs(package=package, command=install_command("evidence")).text(language)

"""`accmap data check FILE...`: Megatron data, the configurations that use them, and the samples that two of them draw.

A FILE is a data prefix, its `.idx` or `.bin`, or a configuration of either framework. 0 where all is well, 1 where
something is wrong or the samples of a pair cannot be worked out, 2 where a file cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...mapper.preconditions import OF_DATA, require_accepted
from ...schemas.border.text_output import emit, json_text, page, paint, tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.installation import install_command
from ...schemas.plain_values import json_value
from ..argument_parser import UsageError, counts_from_one
from ..command_runner import print_unreadable as report_unreadable
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import load
from ..messages_compiled import say
from ..terminal import wants_colour

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import DataCheckArgs


def _require_counts(given: Mapping[str, int | None]) -> None:
    for option, number in given.items():
        if number is not None and number < 1:
            raise counts_from_one(option, number)


def run(args: DataCheckArgs) -> int:
    """Check the data files against each other and the configurations, and print the result."""
    from ...evidence.data.check import check
    from ...evidence.data.dataset import SAMPLES, CheckOptions
    from ...evidence.data.indexed_file import MissingPackageError

    _require_counts(
        {"--samples": args.samples, "--quick": args.quick, "--vocabulary": args.vocabulary, "--decode": args.decode}
    )
    if args.decode is not None and args.tokenizer is None:
        raise UsageError(say.decode_needs_tokenizer_the_tokenizer())
    prefixes, configs, failed = sort_inputs(args.files, args.reading, args.stdin_filename)
    try:
        found = check(
            list(dict.fromkeys(prefixes)),
            configs,
            CheckOptions(
                samples=args.samples or SAMPLES,
                quick=args.quick,
                vocabulary=args.vocabulary,
                eod=args.eod,
                decode=args.decode or 0,
                **_tokenizer(args.tokenizer, args.lang),
            ),
        )
    except MissingPackageError as missing:
        tell(f"accmap: {missing_package_sentence(missing.package, args.lang)}")
        return UNUSABLE
    found = found._replace(unreadable=(*(error.diagnostic for error in failed), *found.unreadable))
    failed = [UnreadableError(diagnostic) for diagnostic in found.unreadable]
    for error in failed:
        report_unreadable(error, args.lang)
    from ...evidence.data.check import to_json

    answer = to_json(found, args.lang)
    if args.format == "json":
        emit(json_text(json_value(answer)))
    else:
        emit(data_check_page(answer, args.lang))
    if failed:
        return UNUSABLE
    return FINE if found.verdict == "good" else BAD


def sort_inputs(
    files: Sequence[str], options: ReadOptions, stdin_name: str | None
) -> tuple[list[str], list[Config], list[UnreadableError]]:
    """The command line's files sorted into data prefixes, configurations, and files that cannot be read."""
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
            config = load(name, options, stdin_name)
            require_accepted(config, OF_DATA)
            configs.append(config)
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
    """The sentence that a package is not installed, with the command to install it."""
    return say.data_check_needs(package=package, command=install_command("evidence")).text(language)


Answer = dict[str, Any]

_COLOURS = {
    "good": "green",
    "bad": "red",
    "undecided": "yellow",
    "partial": "yellow",
    "error": "red",
    "warning": "yellow",
    "info": "cyan",
}


def data_check_page(answer: Answer, language: Language) -> Outgoing:
    """The page, ending in a line break."""
    made = _Page(language)
    verdict = answer["verdict"]
    made.line(paint(made.word(verdict), _COLOURS[verdict], made.colour))
    for entry in answer["not_compared"]:
        made.line(f"  {entry['what']}: {entry['reason']}")
    for dataset in answer["datasets"]:
        made.dataset(dataset)
    for side in answer["sides"]:
        made.side(side)
    if answer["agreement"] is not None:
        made.agreement(answer["agreement"])
    for entry in answer["decoded"]:
        made.decoded_sample(entry)
    for entry in answer["problems"]:
        made.problem(entry)
    return page(made.lines)


class _Page:
    def __init__(self, language: Language) -> None:
        self.word = say.page("data_check", language)
        self.colour = wants_colour()
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)

    def dataset(self, dataset: Answer) -> None:
        """Add lines on one dataset: sequences and tokens, columns, lengths, range and counts of ids, round trip."""
        self.line(f"{dataset['prefix']}")
        counts = {key: f"{dataset[key]:,}" for key in ("sequences", "documents", "tokens")}
        self.line(f"  {self.word('shape', **counts, dtype=dataset['dtype'])}")
        if dataset["columns"] is not None:
            named = ", ".join(dataset["columns"])
            self.line(f"  {self.word('columns', count=len(dataset['files']), columns=named)}")
        if dataset["lengths"] is not None:
            self.line(f"  {self.word('lengths', **dataset['lengths'])}")
        seen = dataset["seen"]
        if seen is None:
            return
        if seen["minimum"] is not None:
            part = "" if seen["complete"] else self.word("part", tokens=f"{seen['tokens']:,}")
            self.line(f"  {self.word('ids', **seen)}{part}")
        for end in seen["ends"][:1]:
            share = end["sequences"] / seen["sequences"]
            self.line(f"  {self.word('ends', id=end['id'], share=share)}")
        for token, count in seen["counts"].items():
            self.line(f"  {self.word('count', id=token, count=f'{count:,}')}")
        if dataset["round_trip"] is not None:
            self.line(f"  {self.word('trip', **dataset['round_trip'])}")

    def side(self, side: Answer) -> None:
        """Add lines on the data of one configuration: samples, length, seed, split, and the weight of each dataset."""
        self.line(f"{side['file']}  {side['framework']} {side['framework_version']}")
        if side["samples"] is None or not side["data"]:
            return
        if side["seed"] is None and side["data"][0]["asked"] is None and side["split"] is None:
            word = "shuffled" if side["shuffled"] else "rows"
            length = side["sample_length"] or "?"
            self.line(f"  {self.word(word, samples=side['samples'], length=length, batch=side['global_batch'])}")
            return
        split = self.word("own") if side["split"] is None else side["split"]
        values = {"samples": side["samples"], "length": side["sample_length"], "seed": side["seed"], "split": split}
        self.line(f"  {self.word('draws', **values, batch=side['global_batch'])}")
        for entry in side["data"]:
            if entry["samples"] is None:
                continue
            weight = "" if entry["weight"] is None else f" × {entry['weight']:g}"
            apart = self.word("apart") if entry["last_epoch_apart"] else ""
            self.line(f"  {self.word('index', **{**entry, 'weight': weight, 'apart': apart})}")

    def agreement(self, agreement: Answer) -> None:
        """Add the line on how many steps the two sides feed alike."""
        if agreement["first_difference"] is None and agreement["steps"]:
            whole = self.word("whole") if agreement["whole_run"] else ""
            self.line(self.word("same", samples=agreement["samples"], steps=agreement["steps"], whole=whole))
        elif agreement["steps"]:
            self.line(self.word("set", equal=agreement["equal_steps"], steps=agreement["steps"]))

    def decoded_sample(self, entry: Answer) -> None:
        self.line(f"{entry['file']} {self.word('sample', sample=entry['sample'])}")
        for name, key in ((self.word("input"), "inputs"), (self.word("label"), "labels")):
            text = entry[key].replace("\n", "⏎")
            self.line(f"  {name}: {text}")

    def problem(self, entry: Answer) -> None:
        """Add a line with a problem and its place."""
        place = entry["file"]
        if entry["span"] is not None:
            place = f"{entry['span'].get('file') or place}:{entry['span']['line']}:{entry['span']['column']}"
        code = paint(entry["code"], _COLOURS[entry["severity"]], self.colour)
        self.line(f"{place}: {code} {entry['message']}")

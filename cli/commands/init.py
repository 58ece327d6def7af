"""`accmap init [FOLDER]`: proposes the pairs of a tree, each with the reason, and writes `accmap.toml`.

A pair is proposed if each of the two fits the other better than anything else does: by the sizes of their models, then
by names and places. Sizes that contradict one another outweigh any name; of two that fit alike, none is chosen. Files
of one model of which one is named for pretraining and the other for fine-tuning are not one run: they are named, and
not proposed.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter

from ...mapper.recipe.reading import recipe_of
from ...mapper.translate.messages_compiled import say as written
from ...schemas.border.file_output import write_text
from ...schemas.border.text_output import say as print_line
from ...schemas.border.text_output import tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import trains_gpt
from ...schemas.reader import read_config
from ...schemas.versions import default_target
from ..argument_parser import UsageError
from ..configuration import NAMES, find_configuration
from ..exit_codes import BAD, FINE
from ..linting.file_search import training_files
from ..messages_compiled import say
from ..progress import report_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...schemas.config import ReadOptions, Value
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ..arguments_compiled import InitArgs

SIZES = (
    "model.num_layers", "model.hidden_size", "model.ffn_hidden_size", "attention.num_heads",
    "attention.num_query_groups", "moe.num_experts", "moe.ffn_hidden_size", "data.sequence_length",
)  # fmt: skip
_EXPERTS = "moe.num_experts"
_LEAST_SIZES = 3
_SAYING_NOTHING = frozenset(
    (
        *("megatron", "mindformers", "mindspore", "mcore", "ms", "mf", "gpt", "lm", "llm", "distributed", "legacy"),
        *("static", "dynamic", "graph", "pynative"),
        *("pretrain", "train", "training", "finetune", "tune", "run", "launch", "start", "example", "examples"),
        *("script", "scripts", "shell", "sh", "bash", "yaml", "yml", "config", "configs", "conf", "template"),
        *("test", "tests", "st", "ut", "pipeline", "research", "general", "model", "models", "moe", "dense"),
    )
)
_PRETRAINING = frozenset(("pretrain", "pretraining"))
_FINE_TUNING = frozenset(("finetune", "finetuning", "tune", "tuning", "sft", "lora", "dpo"))
_OTHER_SENSES = frozenset(("vl", "vlm", "omni", "mm", "multimodal", "vision", "audio"))
"""A language model and one that sees or hears have the same sizes, and are not the same."""
_A_NUMBER = re.compile(r"[a-z]?\d+[a-z]?")
"""36b, a3b, 4k, v2: two models of one size are not one model."""
_ONE_SPELLING = (
    (re.compile(r"([a-z])[_-]?v(?=\d)"), r"\1"),  # deepseek_v3, deepseekv3, deepseek3
    (re.compile(r"([a-z])(\d)[._](\d)(?![\da-z])"), r"\1\2\3"),  # qwen2.5, qwen2_5, qwen25
    (re.compile(r"(?<![\da-z])(\d)(?:point|[._])(\d+)b(?![\da-z])"), r"\1\2b"),  # 0.5b, 0_5b, 0point5b
)


_OTHER_STAGE = {"tune": "pretrain", "pretrain": "tune"}


class Candidate(NamedTuple):
    """A training file of either framework: its path below the folder, and the sizes that it decides."""

    path: str
    sizes: Mapping[str, Value]
    is_usual: bool = False
    """True for a YAML of the graph that accmap writes if none is named."""

    @property
    def words(self) -> frozenset[str]:
        """Words of the path that tell this run from another."""
        return frozenset(_path_words(self.path)) - _SAYING_NOTHING


class Proposal(NamedTuple):
    """A script and a YAML, and why they are taken for one run."""

    megatron: str
    mindformers: str
    reasons: tuple[Words, ...]


class Alike(NamedTuple):
    """Files that fit another one alike: the first of them, and how many there are."""

    paths: tuple[str, ...]
    number: int


class Proposals(NamedTuple):
    """Proposed pairs, and the files that fit several others alike, with those.

    `apart` are of one model, and not of one run.
    """

    pairs: tuple[Proposal, ...]
    open: Mapping[str, Alike]
    apart: tuple[Proposal, ...] = ()


def candidate(path: str, recipe: Recipe, *, whole: bool, is_usual: bool = False) -> Candidate:
    """A file prepared for pairing; `whole` if all of it is known, so that a size it does not name is absent."""
    fields = recipe.fields
    values = {name: fields[name].value for name in SIZES if name in fields}  # pyright: ignore[reportArgumentType]
    sizes = {name: value for name, value in values.items() if value is not None}
    if whole and len(sizes) >= _LEAST_SIZES and _EXPERTS not in sizes:
        sizes[_EXPERTS] = 0
    if sizes.get(_EXPERTS) == 0:
        sizes.pop("moe.ffn_hidden_size", None)  # MindSpore Transformers has one all the same
    return Candidate(path, sizes, is_usual)


def proposals(scripts: Sequence[Candidate], yamls: Sequence[Candidate]) -> Proposals:
    """The pairs of a tree."""
    alone = _with_one_of_each(scripts, yamls)
    of_scripts, of_yamls = _Side(scripts, alone), _Side(yamls, alone)
    pairs: list[Proposal] = []
    apart: list[Proposal] = []
    undecided: dict[str, Alike] = {}
    best_scripts: dict[int, int] = {}
    for at, script in enumerate(scripts):
        best = of_yamls.best_for(script, of_scripts.words[at])
        if best.bit_count() > 1:
            undecided[script.path] = of_yamls.first_of(best)
        if best.bit_count() != 1:
            continue
        number = best.bit_length() - 1
        yaml = yamls[number]
        if number not in best_scripts:
            best_scripts[number] = of_scripts.best_for(yaml, of_yamls.words[number])
        back = best_scripts[number]
        if back == 1 << at:
            proposal = Proposal(script.path, yaml.path, _pairing_reasons(script, yaml, alone))
            (apart if _are_other_stages(script, yaml) else pairs).append(proposal)
        elif back >> at & 1:
            undecided[yaml.path] = of_scripts.first_of(back)
    return Proposals(tuple(pairs), undecided, tuple(apart))


def _with_one_of_each(scripts: Sequence[Candidate], yamls: Sequence[Candidate]) -> frozenset[str]:
    """The folders that hold just one script and just one YAML."""
    held = [Counter([os.path.dirname(one.path) for one in side]) for side in (scripts, yamls)]
    return frozenset(folder for folder, count in held[0].items() if count == held[1][folder] == 1)


class _Side:
    """The candidates of one framework, as sets of them in the bits of numbers.

    What is asked of every pair, is asked of all candidates at once: a tree of 5,000 pairs has 25 million.
    """

    def __init__(self, candidates: Sequence[Candidate], alone: frozenset[str]) -> None:
        self._candidates = candidates
        self.words = [one.words for one in candidates]
        self._sets: dict[tuple[object, ...], int] = {}
        self._usual = 0
        self._lengths = sorted({len(words) for words in self.words})
        for at, one in enumerate(candidates):
            bit = 1 << at
            self._usual |= bit if one.is_usual else 0
            for key in self._properties(one, self.words[at], alone):
                self._sets[key] = self._sets.get(key, 0) | bit

    @staticmethod
    def _properties(one: Candidate, words: frozenset[str], alone: frozenset[str]) -> Iterator[tuple[object, ...]]:
        """Properties that pairing compares: words of the path, sizes, stage, and the folder the file is alone in."""
        yield "length", len(words)
        yield "senses", words & _OTHER_SENSES
        yield "stage", _stage_of(one.path)
        folder = os.path.dirname(one.path)
        if folder in alone:
            yield "folder", folder
        for word in words:
            yield "word", word
        for name, value in one.sizes.items():
            yield "size", name
            yield "value", name, _comparable(value)
        if _EXPERTS in one.sizes:
            yield "experts", one.sizes[_EXPERTS] == 0

    def _with(self, *key: object) -> int:
        """The set of files, as bits, that have this property."""
        return self._sets.get(key, 0)

    def first_of(self, chosen: int) -> Alike:
        """The first of a set, and how many there are."""
        count, paths = chosen.bit_count(), list[str]()
        while chosen and len(paths) < _MOST_ALIKE:
            lowest = chosen & -chosen
            paths.append(self._candidates[lowest.bit_length() - 1].path)
            chosen ^= lowest
        return Alike(tuple(paths), count)

    def best_for(self, one: Candidate, words: frozenset[str]) -> int:
        """The files, as bits, that fit a candidate of the other side best: by sizes, then stage, then common names."""
        best = self._best_by_size(one, words)
        best = best & ~self._with("stage", _OTHER_STAGE.get(_stage_of(one.path))) or best
        best = next((few for few in reversed(_by_count(best, [self._with("word", word) for word in words])) if few), 0)
        best = next((few for length in self._lengths if (few := best & self._with("length", length))), 0)
        return best & self._usual or best

    def _best_by_size(self, one: Candidate, words: frozenset[str]) -> int:
        """The files, as bits, whose sizes fit best; few equal sizes need a common name or folder besides."""
        possible = self._with("senses", words & _OTHER_SENSES)
        if _EXPERTS in one.sizes:
            possible &= ~self._with("experts", one.sizes[_EXPERTS] != 0)
        together = self._with("folder", os.path.dirname(one.path))
        named = together
        for word in words:
            named |= self._with("word", word) if _A_NUMBER.fullmatch(word) is None else 0
        by_score: dict[int, int] = {}
        for equal, other, found in self._by_sizes(one, possible):
            if equal < _LEAST_SIZES or other:
                found &= 0 if other > equal else together if _LEAST_SIZES * other > equal else named
            for bonus, part in ((0, found & ~together), (2, found & together)):
                score = equal - 2 * other + bonus
                by_score[score] = by_score.get(score, 0) | part
        return next((by_score[score] for score in sorted(by_score, reverse=True) if by_score[score]), 0)

    def _by_sizes(self, one: Candidate, possible: int) -> Iterator[tuple[int, int, int]]:
        """Groups of files, as bits, each with its number of sizes equal to the candidate's and of different ones."""
        equal = [self._with("value", name, _comparable(value)) for name, value in one.sizes.items()]
        other = [self._with("size", name) & ~same for name, same in zip(one.sizes, equal, strict=True)]
        for count, found in enumerate(_by_count(possible, equal)):
            if found:
                yield from ((count, further, part) for further, part in enumerate(_by_count(found, other)))


def _by_count(chosen: int, sets: Sequence[int]) -> list[int]:
    """The members of a set by the number of other sets that have them."""
    found = [chosen]
    for members in sets:
        inside = [part & members for part in found]
        outside = [part & ~members for part in found]
        found = [out | within for out, within in zip([*outside, 0], [0, *inside], strict=True)]
    return found


def _comparable(value: Value) -> object:
    """The key of a size: the value itself, or its text if it is a list or a mapping."""
    return value if isinstance(value, (int, float, str)) else repr(value)


def _stage_of(path: str) -> str:
    words = set(_path_words(path))
    return "tune" if words & _FINE_TUNING else "pretrain" if words & _PRETRAINING else ""


def _are_other_stages(script: Candidate, yaml: Candidate) -> bool:
    """True if the one is named for pretraining and the other for fine-tuning."""
    return _OTHER_STAGE.get(_stage_of(script.path)) == _stage_of(yaml.path)


def _sizes(script: Candidate, yaml: Candidate) -> tuple[int, int]:
    """The number of equal and the number of different sizes, of those that both files decide."""
    both = [name for name in SIZES if name in script.sizes and name in yaml.sizes]
    equal = sum(script.sizes[name] == yaml.sizes[name] for name in both)
    return equal, len(both) - equal


def _pairing_reasons(script: Candidate, yaml: Candidate, alone: frozenset[str]) -> tuple[Words, ...]:
    """Reasons to pair a script with a YAML: equal sizes, common words in their paths, a folder of their own."""
    equal, other = _sizes(script, yaml)
    names = [word for word in dict.fromkeys(_path_words(yaml.path)) if word in script.words & yaml.words]
    found: list[Words] = []
    if equal or other:
        found.append(say.sizes_are_equal(equal=equal, compared=equal + other))
    if names:
        found.append(say.names_have_in_common(words=", ".join(names)))
    folder = os.path.dirname(script.path)
    if folder == os.path.dirname(yaml.path) and folder in alone:
        found.append(say.alone_in_their_folder())
    return tuple(found)


def _path_words(path: str) -> list[str]:
    """The words of a path: `qwen3_30b-a3b/run.sh` has qwen3, 30b, a3b, run, sh; names of a model in one spelling."""
    path = path.lower()
    for spellings, one in _ONE_SPELLING:
        path = spellings.sub(one, path)
    return "".join(letter if letter.isalnum() else " " for letter in path).split()


_MOST_OPEN = 12
_MOST_ALIKE = 3
_OF_PATTERNS = "*\\"


def run(args: InitArgs) -> int:
    """Propose, ask, write: 0, or 1 where no pair was found."""
    folder = args.files[0] if args.files else "."
    if not os.path.isdir(folder):
        raise UsageError(say.init_takes_a_folder(folder=folder))
    target = os.path.join(folder, NAMES[0])
    _require_none(folder, target, force=args.force)
    scripts, yamls, others = _candidates(folder, args.reading)
    found = proposals(scripts, yamls)
    _show_proposals(found, (len(scripts), len(yamls), others), args.lang)
    if not found.pairs:
        return BAD
    if args.yes or _is_confirmed(target, args.lang):
        write_text(target, _configuration_text(found, args.profile, args.lang), force=args.force)
        print_line(say.written_now_lint(path=os.path.normpath(target)).text(args.lang))
    else:
        print_line(say.nothing_written().text(args.lang))
    return FINE


def _require_none(folder: str, target: str, *, force: bool) -> None:
    """UsageError if the folder has a configuration already, unless `force` replaces it."""
    if force:
        return
    known = find_configuration(os.path.join(folder, "")).path
    if known is not None and os.path.dirname(os.path.abspath(known)) == os.path.abspath(folder):
        raise UsageError(say.configured_already(path=os.path.normpath(known), target=os.path.normpath(target)))


def _candidates(folder: str, options: ReadOptions) -> tuple[list[Candidate], list[Candidate], int]:
    """The training files of a tree by framework, and how many others only looked like it."""
    sides: dict[str, list[Candidate]] = {"megatron": [], "mindformers": []}
    others = 0
    usual = default_target("mindformers")[1]
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
            is_usual = config.dialect == usual
            sides[config.framework].append(candidate(name, recipe_of(config), whole=whole, is_usual=is_usual))
        except UnreadableError:
            others += 1
    return sides["megatron"], sides["mindformers"], others


def _show_proposals(found: Proposals, counts: tuple[int, int, int], language: Language) -> None:
    """Print the number of files found, the proposed pairs with reasons, and the files left without a partner."""
    scripts, yamls, others = counts
    print_line(say.found_in_the_tree(scripts=scripts, yamls=yamls, others=others).text(language))
    for pair in found.pairs:
        print_line("")
        print_line(f"  megatron    {pair.megatron}")
        print_line(f"  mindformers {pair.mindformers}")
        print_line(f"  {_reasons_text(pair.reasons, language)}")
    if found.open or found.apart:
        print_line("")
    for one in found.apart:
        because = _reasons_text(one.reasons, language)
        print_line(say.of_one_model(megatron=one.megatron, mindformers=one.mindformers, because=because).text(language))
    for path, alike in list(found.open.items())[:_MOST_OPEN]:
        listed = say.between_names().text(language).join(alike.paths)
        more = alike.number - len(alike.paths)
        others = say.names_and_more(names=listed, more=more).text(language) if more > 0 else listed
        print_line(say.fits_alike(path=path, others=others).text(language))
    if len(found.open) > _MOST_OPEN:
        print_line(say.more_not_decided(more=len(found.open) - _MOST_OPEN).text(language))
    if not found.pairs:
        print_line(say.no_pair_was_found().text(language))
    print_line("")


def _reasons_text(reasons: Sequence[Words], language: Language) -> str:
    return say.between_reasons().text(language).join(reason.text(language) for reason in reasons)


def _is_confirmed(target: str, language: Language) -> bool:
    """True if the person at the terminal agrees to write the file; False if nobody can be asked."""
    if not sys.stdin.isatty():
        return False
    tell(say.write_it(path=os.path.normpath(target)).text(language))
    return sys.stdin.readline().strip().lower() in say.words_of_consent().zh.split()


def _configuration_text(found: Proposals, profile: str | None, language: Language) -> str:
    """Text of a new `accmap.toml` with the profile and the proposed pairs, each below its reasons as a comment."""
    version, dialect = default_target("mindformers")
    graph = written.dynamic_graph() if dialect == "dynamic" else written.static_graph()
    target = say.configuration_target(version=version, graph=graph)
    lines = [f"# {say.configuration_begins().text(language)}", f"# {target.text(language)}"]
    lines.append(f"# {say.configuration_place().text(language)}")
    if profile is not None:
        lines.append(f'profile = "{profile}"')
    for pair in found.pairs:
        lines += ["", "[[pairs]]", f"# {_reasons_text(pair.reasons, language)}"]
        lines += [f"megatron = {_toml_string(pair.megatron)}", f"mindformers = {_toml_string(pair.mindformers)}"]
    return "\n".join(lines) + "\n"


def _toml_string(text: str) -> str:
    """A basic string of TOML; what is not printable does not come here."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

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
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

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


Fit: TypeAlias = "tuple[int, bool, int, int, bool]"
"""Sizes, the stage of the training, names, what the names do not share, and the graph: of two, the newest one."""


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


class Proposals(NamedTuple):
    """Proposed pairs, and the files that fit several others alike, with those.

    `apart` are of one model, and not of one run.
    """

    pairs: tuple[Proposal, ...]
    open: Mapping[str, tuple[str, ...]]
    apart: tuple[Proposal, ...] = ()


def candidate(path: str, recipe: Recipe, *, whole: bool, is_usual: bool = False) -> Candidate:
    """A file as pairs are found by; `whole` where nothing of it is open, so that what it does not name is not there."""
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
    fits = {
        (script.path, yaml.path): fit
        for script in scripts
        for yaml in yamls
        if (fit := _fit_of(script, yaml, alone)) is not None
    }
    by_path = {one.path: one for one in yamls}
    pairs: list[Proposal] = []
    apart: list[Proposal] = []
    undecided: dict[str, tuple[str, ...]] = {}
    for script in scripts:
        best = _best_for(script.path, fits, 0)
        if len(best) > 1:
            undecided[script.path] = best
        for other in best if len(best) == 1 else ():
            back = _best_for(other, fits, 1)
            if back == (script.path,):
                yaml = by_path[other]
                proposal = Proposal(script.path, other, _pairing_reasons(script, yaml, alone))
                (apart if _are_other_stages(script, yaml) else pairs).append(proposal)
            elif script.path in back:
                undecided[other] = back
    return Proposals(tuple(pairs), undecided, tuple(apart))


def _best_for(path: str, fits: Mapping[tuple[str, str], Fit], side: int) -> tuple[str, ...]:
    """The files of the other side that fit one best."""
    return _best_candidates({pair[1 - side]: fit for pair, fit in fits.items() if pair[side] == path})


def _with_one_of_each(scripts: Sequence[Candidate], yamls: Sequence[Candidate]) -> frozenset[str]:
    """The folders that hold just one script and just one YAML."""
    held: list[list[str]] = [[os.path.dirname(one.path) for one in side] for side in (scripts, yamls)]
    return frozenset(folder for folder in held[0] if held[0].count(folder) == held[1].count(folder) == 1)


def _fit_of(script: Candidate, yaml: Candidate, alone: frozenset[str]) -> Fit | None:
    """Quality of a match: sizes, then names and places; None if nothing speaks for it."""
    equal, other = _sizes(script, yaml)
    if _are_other_models(script, yaml):
        return None
    names = script.words & yaml.words
    of_one_name = any(_A_NUMBER.fullmatch(word) is None for word in names)
    together = os.path.dirname(script.path) == os.path.dirname(yaml.path) and os.path.dirname(script.path) in alone
    known_by_size = equal >= _LEAST_SIZES and not other
    contradicted = other > equal or (not together and _LEAST_SIZES * other > equal)
    if not known_by_size and (contradicted or not (of_one_name or together)):
        return None
    apart = -len(script.words ^ yaml.words)
    return equal - 2 * other + 2 * together, not _are_other_stages(script, yaml), len(names), apart, yaml.is_usual


def _are_other_models(script: Candidate, yaml: Candidate) -> bool:
    """True if one of the two has experts or senses that the other has not."""
    experts = [one.sizes.get(_EXPERTS) for one in (script, yaml)]
    if None not in experts and (experts[0] == 0) != (experts[1] == 0):
        return True
    return (script.words & _OTHER_SENSES) != (yaml.words & _OTHER_SENSES)


def _are_other_stages(script: Candidate, yaml: Candidate) -> bool:
    """True if the one is named for pretraining and the other for fine-tuning."""
    stages: list[str] = []
    for one in (script, yaml):
        said = set(_path_words(one.path))
        stages += ["tune"] if said & _FINE_TUNING else ["pretrain"] if said & _PRETRAINING else []
    return len(set(stages)) > 1


def _best_candidates(fits: Mapping[str, Fit]) -> tuple[str, ...]:
    most = max(fits.values(), default=None)
    return tuple([path for path, fit in fits.items() if fit == most])


def _sizes(script: Candidate, yaml: Candidate) -> tuple[int, int]:
    """Numbers of equal and of different sizes among those that both files decide."""
    both = [name for name in SIZES if name in script.sizes and name in yaml.sizes]
    equal = sum(script.sizes[name] == yaml.sizes[name] for name in both)
    return equal, len(both) - equal


def _pairing_reasons(script: Candidate, yaml: Candidate, alone: frozenset[str]) -> tuple[Words, ...]:
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
        listed = say.between_names().text(language).join(alike[:_MOST_ALIKE])
        more = len(alike) - _MOST_ALIKE
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
    """The answer of whoever sits there; nobody there is no agreement."""
    if not sys.stdin.isatty():
        return False
    tell(say.write_it(path=os.path.normpath(target)).text(language))
    return sys.stdin.readline().strip().lower() in say.words_of_consent().zh.split()


def _configuration_text(found: Proposals, profile: str | None, language: Language) -> str:
    version, dialect = default_target("mindformers")
    graph = written.dynamic_graph() if dialect == "dynamic" else written.static_graph()
    target = say.configuration_target(version=version, graph=graph)
    lines = [f"# {say.configuration_begins().text(language)}", f"# {target.text(language)}"]
    if profile is not None:
        lines.append(f'profile = "{profile}"')
    for pair in found.pairs:
        lines += ["", "[[pairs]]", f"# {_reasons_text(pair.reasons, language)}"]
        lines += [f"megatron = {_toml_string(pair.megatron)}", f"mindformers = {_toml_string(pair.mindformers)}"]
    return "\n".join(lines) + "\n"


def _toml_string(text: str) -> str:
    """A basic string of TOML; what is not printable does not come here."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

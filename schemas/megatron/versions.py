"""Detection of a file's Megatron-LM version, and explanations and suggestions for unknown arguments.

A misspelt argument stops the run, many are a fork's, some are another version's.
"""

from __future__ import annotations

from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..suggestion import closest, slip
from ..versions import known_names, name_with, number_of
from .catalog import DEFAULT_VERSION, VERSIONS
from .messages_compiled import say
from .names_compiled import MEANT, OF_MODELOPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..diagnostic import Diagnostic
    from ..message import Problem, Words
    from .catalog import Catalog


_NAMED = 3


def explain_unknown(
    problems: tuple[Diagnostic, ...], known: Catalog, file: str, *, certain: bool, own: bool
) -> tuple[Diagnostic, ...]:
    """Problems in which each unknown argument is explained: typo, other version, or fork.

    `certain` says that the version is not assumed, so that an argument of another version stops the run; `own` that
    the program is none of Megatron-LM's, so that it may declare (`extra_args_provider`) what looks like a slip.
    """
    if own:
        problems = tuple(_stray_or_own(problem, file) for problem in problems)
    if not any(problem.kind.name == "unknown-argument" for problem in problems):
        return problems
    explained = _explain_each(problems, known, file, certain=certain, own=own)
    return tuple(map(_as_error, explained)) if certain and not own else explained


def _explain_each(
    problems: tuple[Diagnostic, ...], known: Catalog, file: str, *, certain: bool, own: bool
) -> tuple[Diagnostic, ...]:
    """Problems with unknown arguments explained one by one; many strange ones suggest a fork."""
    from .catalog import catalog

    version = known.version
    words = known if known.own_program else catalog(version)  # the arguments that a slip may be of
    misspelt = say.misspelt_or_own if own else say.misspelt
    told: list[Diagnostic] = []
    strange: list[int] = []
    later: list[int] = []
    for problem in problems:
        told.append(problem)
        if problem.kind.name != "unknown-argument":
            continue
        values = dict(problem.values)
        flag, near = str(values["flag"]), str(values["near"])
        if flag in OF_MODELOPT:
            told[-1] = _of_a_package(problem, known, file)
            continue
        versions = () if known.own_program else versions_of(flag)
        if versions:
            later.append(len(told) - 1)
            listed = ", ".join(versions)
            if certain:
                said = (say.other_version_or_own if own else say.other_version)(
                    version=version, flag=flag, known=listed
                )
            else:
                said = say.other_version_assumed(version=version, flag=flag, known=listed, first=versions[0])
            told[-1] = diagnose(said, file, problem.span)
        elif near and slip(flag, near):
            told[-1] = diagnose(misspelt(program=known.program, flag=flag, near=near), file, problem.span)
        elif (apart := split_glued(flag, words)) is not None:
            told[-1] = diagnose(misspelt(program=known.program, flag=flag, near=" ".join(apart)), file, problem.span)
        else:
            strange.append(len(told) - 1)
    if len(strange) >= FORK and not known.own_program:
        return _as_a_forks(told, problems, version, file, strange, later)
    return tuple(_less_strange(problem, known.program, words, file, misspelt) for problem in told)


def _as_error(problem: Diagnostic) -> Diagnostic:
    """Problem as an error, because the parser stops at it in a certain version."""
    if problem.kind.name not in ("unknown-argument", "looks-like-a-fork"):
        return problem
    if dict(problem.values).get("flag") in OF_MODELOPT:
        return problem
    return problem._replace(kind=problem.kind._replace(severity="error"))


def _of_a_package(problem: Diagnostic, known: Catalog, file: str) -> Diagnostic:
    """Problem of an argument that the program has only if a package is installed."""
    values = dict(problem.values)
    named = {name: str(values[name]) for name in ("flag", "key", "count", "nargs")}
    return diagnose(say.of_a_package(program=known.program, **named), file, problem.span)


def name_dialects(flags: Sequence[str]) -> Words:
    """Clause that names forks with this flag, or at least half of these flags; empty if none has."""
    from ..message import NOTHING
    from .dialect_signs_compiled import SIGNS

    names = [str(sign[0]) for sign in SIGNS if 2 * sum(flag in sign[5] for flag in flags) >= len(flags)]
    if not names:
        return NOTHING
    known = say.known_to if len(flags) == 1 else say.mostly_known_to
    return known(dialects=", ".join(names), first=names[0])


def _less_strange(
    problem: Diagnostic, program: str, words: Catalog, file: str, misspelt: Callable[..., Problem]
) -> Diagnostic:
    """Problem of an argument that lacks only a word or has an extra `no-`."""
    if problem.kind.name != "unknown-argument":
        return problem
    flag = str(dict(problem.values)["flag"])
    near = cut_or_denied(flag, words)
    return problem if near is None else diagnose(misspelt(program=program, flag=flag, near=near), file, problem.span)


def _as_a_forks(
    told: list[Diagnostic],
    problems: Sequence[Diagnostic],
    version: str,
    file: str,
    strange: list[int],
    later: list[int],
) -> tuple[Diagnostic, ...]:
    """One problem for many `strange` arguments; a fork has arguments of `later` versions, too."""
    first = strange[0]
    dropped = {*strange[1:], *later}
    unknown = [dict(problems[at].values) for at in sorted((*strange, *later))]
    flags = list(dict.fromkeys(str(values["flag"]) for values in unknown))
    forms = {str(values["flag"]): f'"{values["flag"]}:{values["nargs"]}"' for values in reversed(unknown)}
    declare = ", ".join(forms[flag] for flag in flags)
    place = told[first].span
    named = ", ".join(flags[:_NAMED])
    said = say.fork(version=version, count=len(flags), named=named, declare=declare, known_to=name_dialects(flags))
    told[first] = diagnose(said, file, place)
    return tuple(entry for at, entry in enumerate(told) if at not in dropped)


def _stray_or_own(problem: Diagnostic, file: str) -> Diagnostic:
    """Problem of a stray word that may belong to another parser."""
    if problem.kind.name != "stray-argument":
        return problem
    said = diagnose(say.stray_or_own(text=str(dict(problem.values)["text"])), file, problem.span)
    return said._replace(values=problem.values)


# The argument that an unknown flag is a slip of.


def cut_or_denied(flag: str, known: Catalog) -> str | None:
    """Known option that an unknown one shortens or negates.

    A fork may well have such an argument, so that this counts only where a file has few arguments that are unknown.
    """
    words = "--" + flag.lstrip("-").replace("_", "-")
    for other in (f"--no-{words[2:]}", f"--{words[5:]}" if words.startswith("--no-") else ""):
        if other in known.by_option:
            return other
    if words.count("-") < _TWO_WORDS:
        return None
    longer = [option for option in known.by_option if option.rpartition("-")[0] == words]
    return longer[0] if longer else None


_TWO_WORDS = 3
"""The hyphens of an option of two words."""


def split_glued(flag: str, known: Catalog) -> tuple[str, str] | None:
    """Known option and value written without a blank: `--rotary-base10000`."""
    for end in range(len(flag) - 1, 3, -1):
        fact = known.by_option.get(flag[:end])
        if fact is None or fact.action != "store":
            continue
        value = flag[end:]
        if fact.choices is not None:
            alike = value in map(str, fact.choices)
        else:
            alike = fact.type in ("int", "float") and value[0].isdigit() and _NUMBER.issuperset(value)
        return (flag[:end], value) if alike else None
    return None


_NUMBER = frozenset("0123456789.eE+-")


def intended_argument(flag: str, known: Catalog) -> str | None:
    """The destination of the argument that an unknown flag is a slip of."""
    apart = split_glued(flag, known)
    if apart is not None:
        return known.by_option[apart[0]].dest
    better = suggestion(flag, known)
    # a flag that a fork adds is seldom so near to one of Megatron-LM's; what is, its parser refuses
    if better is None or not (flag in MEANT or slip(flag, better)):
        better = cut_or_denied(flag, known)
    return None if better is None else known.by_option[better].dest


def suggestion(flag: str, known: Catalog) -> str | None:
    """Option of this version that an unknown flag most likely means."""
    for better in MEANT.get(flag, ()):
        if better in known.by_option:
            return better
    words = "--" + flag.lstrip("-").replace("_", "-")
    if words in known.by_option:
        return words
    return next((other for other in _letter_swaps(words[2:]) if other in known.by_option), None) or closest(
        words, known.by_option
    )


def _letter_swaps(name: str) -> Iterator[str]:
    """Variants of a short name with two neighbouring letters swapped."""
    for at in range(len(name) - 1) if len(name) < _SHORT else ():
        yield f"--{name[:at]}{name[at + 1]}{name[at]}{name[at + 2 :]}"


_SHORT = 4


FORK = 4
"""From so many arguments on that no version knows, they are a fork's and not mistakes one by one."""
_MOST_LATER = 3


class Chosen(NamedTuple):
    """A version that was detected, and by what."""

    version: str
    reason: Words


def by_tree(found: tuple[str, str] | None, file: str) -> tuple[Chosen | None, tuple[Diagnostic, ...]]:
    """Version that a source tree states; a problem if accmap does not know it."""
    if found is None:
        return None, ()
    given, path = found
    version = name_with("megatron", number_of(given))
    if version is None:
        known = known_names("megatron")
        problem = diagnose(
            say.tree_of_unknown_version(given=given, path=path, known=known, used=DEFAULT_VERSION), file, None
        )
        return None, (problem,)
    return Chosen(version, say.tree_says(path=path, given=given)), ()


def chosen_by_known_folder(version: str, folder: str) -> Chosen:
    """Version known by a folder's name, with an explanation."""
    return Chosen(version, say.tree_is_known(folder=folder, version=version))


def by_header(given: str) -> Chosen | None:
    """Version in a written file's header; None if unknown or the default.

    The default is what it writes for where nobody has said a version, which makes it no better known.
    """
    known = given in VERSIONS and given != DEFAULT_VERSION
    return Chosen(given, say.written_for(version=given)) if known else None


def by_arguments(flags: Sequence[str], known: Catalog) -> Chosen | None:
    """Lowest version that knows the most flags, if the default knows fewer.

    `known` holds what the default version and the user's declarations know. A fork has arguments of later versions,
    too, and is none of them.
    """
    from .option_versions_compiled import OPTIONS

    masks = {flag: OPTIONS[flag] for flag in flags if flag in OPTIONS}
    strange = sum(flag not in OPTIONS and flag not in known.by_option for flag in flags)
    if not masks or strange >= FORK:
        return None
    counts = [sum(mask >> at & 1 for mask in masks.values()) for at in range(len(VERSIONS))]
    best = counts.index(max(counts))
    usual = VERSIONS.index(DEFAULT_VERSION)
    if counts[best] <= counts[usual]:
        return None
    later = [flag for flag, mask in masks.items() if mask >> best & 1 and not mask >> usual & 1]
    shown = ", ".join(later[:_MOST_LATER]) + (", …" if len(later) > _NAMED else "")
    version = VERSIONS[best]
    return Chosen(version, say.lowest_that_knows(flags=shown))


def versions_of(flag: str) -> tuple[str, ...]:
    """Versions that have an option; empty if none or all do."""
    from .option_versions_compiled import OPTIONS

    mask = OPTIONS.get(flag, 0)
    return tuple(version for at, version in enumerate(VERSIONS) if mask >> at & 1)

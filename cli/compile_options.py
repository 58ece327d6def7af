"""Makes the option tables from `options.yaml`: one for the commands of this folder, one for those of `evidence/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..schemas.compilers.tables import freeze, literal_module, load_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SOURCE = Path(__file__).with_name("options.yaml")
REFERENCE = Path(__file__).with_name("reference")
LANGUAGES = 2
_KINDS = {"value": "value", "int": "value", "float": "value", "list": "list", "rest": "rest"}
_OPTION = {"names", "group", "otherwise", *_KINDS, "choices", "default", "most", "en", "zh"}
_COMMAND = {
    "topic", "en", "zh", "operands", "takes", "options", "examples", "reads", "takes_flags", "runs_others", "runs",
}  # fmt: skip
_LONGEST_SUMMARY = 60


def products() -> dict[str, str]:
    """The compiled modules."""
    sections, synonyms = (
        load_table((REFERENCE / f"{name}.yaml").read_text("utf-8")) for name in ("sections", "synonyms")
    )
    reference = compile_reference(sections, synonyms)
    return {**compile_tables(load_table(SOURCE.read_text("utf-8"))), **reference}


def compile_tables(content: Mapping[str, Any]) -> dict[str, str]:
    """The modules of what the file says; ValueError for what no option and no command has."""
    reading = {names: _option(names.split(", "), entry) for names, entry in content["reading"].items()}
    shared = {name: _option(entry["names"], entry) for name, entry in content["shared"].items()}
    shared |= {names.lstrip("-").replace("-", "_"): option for names, option in reading.items()}

    def commands(of: str, package: str) -> dict[str, tuple[Any, ...]]:
        return {name: _command(name, entry, package, shared) for name, entry in content[of].items()}

    here = literal_module(
        "The options of these commands; compiled from options.yaml.",
        READING=tuple(reading.values()),
        COMMANDS=commands("commands", "commands."),
    )
    evidence = literal_module(
        "The options of these commands; compiled from ../options.yaml.", COMMANDS=commands("evidence", "evidence.")
    )
    records = _records({**content["commands"], **content["evidence"]}, reading.values(), shared)
    return {
        "cli/help_compiled.py": _help_module(content),
        "cli/options_compiled.py": here,
        "cli/evidence/options_compiled.py": evidence,
        "cli/arguments_compiled.py": records,
    }


def _help_module(content: Mapping[str, Any]) -> str:
    """What help pages show beside the options; ValueError for a group, topic or summary that does not fit."""
    commands = {**content["commands"], **content["evidence"]}
    entries = {name: _entries(name, entry, content) for name, entry in commands.items()}
    return literal_module(
        "What help pages show beside the options; compiled from options.yaml.",
        GROUPS={name: (one["en"], one["zh"], one.get("folded", False)) for name, one in content["groups"].items()},
        TOPICS={name: (one["en"], one["zh"]) for name, one in content["topics"].items()},
        FAMILIES={name: (one["topic"], one["en"], one["zh"]) for name, one in content["families"].items()},
        TOPIC_OF={name: one["topic"] for name, one in commands.items()},
        GROUP_OF={name: {dest: one["group"] for dest, one in own.items()} for name, own in entries.items()},
        DEFAULT_OF={
            name: {dest: tuple(one["otherwise"]) for dest, one in own.items() if "otherwise" in one}
            for name, own in entries.items()
        },
        EXAMPLES={name: tuple(one["examples"]) for name, one in commands.items()},
    )


def _entries(name: str, command: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The entry of each option of a command by its destination, that of a reading option with its group."""
    if len(command["en"]) > _LONGEST_SUMMARY or command["topic"] not in content["topics"]:
        raise ValueError(f"cli/options.yaml: {name}: a topic that is not listed, or a summary above 60 characters")
    reading: Mapping[str, Any] = content["reading"] if command.get("reads", True) else {}
    given: dict[str, Any] = {**reading, **command["options"]}
    own = dict(_own_entry(key, option, content) for key, option in given.items())
    without = [dest for dest, option in own.items() if option.get("group") not in content["groups"]]
    if without:
        raise ValueError(f"cli/options.yaml: {name}: no group of `groups` for {', '.join(without)}")
    return own


def _own_entry(key: str, entry: Any, content: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The destination of an option, and its own entry or that of the shared option of its name."""
    if isinstance(entry, dict):
        own = cast("dict[str, Any]", entry)
        return destination(key.split(", ")), own if key not in content["reading"] else {"group": "reading", **own}
    shared = content["shared"].get(key)
    if shared is None:
        return destination([key]), {"group": "reading", **content["reading"][f"--{key.replace('_', '-')}"]}
    return destination(shared["names"]), shared


def compile_reference(sections: Mapping[str, Any], synonyms: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The module of what `explain` knows beside the tables; ValueError for a section that lacks a language."""
    compiled: dict[str, dict[str, Any]] = {}
    for path, entry in sections["sections"].items():
        given: dict[str, Any] = entry if "says" in entry else {"says": entry}
        if not {"says"} <= set(given) <= {"says", "as", "example"} or len(given["says"]) != LANGUAGES:
            raise ValueError(f"cli/reference/sections.yaml: {path}: not understood, or without a text")
        compiled[path] = {"says": tuple(given["says"]), "as": given.get("as"), "example": given.get("example")}
    module = literal_module(
        "What `explain` knows beside the tables; compiled from sections.yaml and synonyms.yaml.",
        SAMPLE=sections["sample"],
        SECTIONS=compiled,
        KEYS=freeze(sections["keys"]),
        NAMES=freeze(sections["names"]),
        SYNONYMS=tuple((tuple(map(str, entry["words"])), tuple(entry["names"])) for entry in synonyms),
    )
    return {"cli/reference/reference_compiled.py": module}


def destination(names: Sequence[str]) -> str:
    """The argument that an option's value becomes."""
    name = names[0].lstrip("-").replace("-", "_")
    return f"{name}_" if name == "from" else name  # a word of Python's own


def _command(
    name: str, entry: Mapping[str, Any], package: str, shared: Mapping[str, tuple[Any, ...]]
) -> tuple[Any, ...]:
    """The members of `options.Command`, in its order."""
    _require_known_keys(name, entry, _COMMAND)
    operands: str = entry["operands"]
    words = operands.split()
    least = sum(not word.startswith("[") for word in words)
    minimum, maximum = entry.get("takes", (least, None if "..." in operands else len(words)))
    options = tuple(_command_option(key, given, shared) for key, given in entry["options"].items())
    module = package + entry.get("runs", name.replace(" ", "_"))
    more = (entry.get("reads", True), entry.get("takes_flags", False), entry.get("runs_others", False))
    return (name, module, entry["en"], entry["zh"], operands, minimum, maximum, options, *more)


def _command_option(key: str, entry: Any, shared: Mapping[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    """An option of one command: a shared one, the form of its answer, or its own."""
    if entry is None and key not in shared:
        raise ValueError(f"cli/options.yaml: {key}: no shared option has this name, and nothing says what it is")
    if entry is None:
        return shared[key]
    if key == "format":
        *before, _, _, metavar, most = shared[key]
        return (*before, tuple(entry), entry[0], metavar, most)
    return _option(key.split(", "), entry)


def _option(names: list[str], entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """The members of `options.Option`, in its order."""
    _require_known_keys(names[0], entry, _OPTION)
    takes = next((key for key in _KINDS if key in entry), None)
    kind = _KINDS[takes] if takes else "value" if "choices" in entry else "flag"
    type_ = takes if takes in ("int", "float") else "str"
    choices = tuple(entry.get("choices", ()))
    metavar = entry[takes] if takes else None
    return (
        tuple(names),
        entry["en"],
        entry["zh"],
        kind,
        type_,
        choices,
        entry.get("default"),
        metavar,
        entry.get("most"),
    )


_RECORDS = '''"""Types of each command's arguments; compiled from options.yaml, for the type checker. Do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from ..schemas.config import ReadOptions
    from ..schemas.diagnostic import Language
'''


def _records(
    commands: Mapping[str, Any], reading: Iterable[tuple[Any, ...]], shared: Mapping[str, tuple[Any, ...]]
) -> str:
    """A class for each command, with the types of its arguments."""
    stdin = next(option for option in reading if option[0] == ("--stdin-filename",))
    parts = [_RECORDS]
    for name, entry in commands.items():
        options = [_command_option(key, given, shared) for key, given in entry["options"].items()]
        lines = ["files: Sequence[str]", "words: Sequence[str]"]
        if entry.get("reads", True):
            lines.append("reading: ReadOptions")
            options.append(stdin)
        lines += [
            f"{destination(option[0])}: {_annotation_of_option(*option[3:7])}"
            for option in options
            if option != shared["lang"]
        ]
        lines.append("lang: Language")
        title = name.title().replace(" ", "")
        body = "\n    ".join(lines)
        parts.append(f'\n\nclass {title}Args:\n    """`accmap {name}`."""\n\n    {body}\n')
    return "".join(parts)


def _annotation_of_option(kind: str, word: str, choices: Sequence[str], default: object) -> str:
    if kind == "flag":
        return "bool"
    one = f"Literal[{', '.join(map(repr, choices))}]" if choices else word
    if kind in ("list", "rest"):
        return f"Sequence[{one}]"
    return one if default is not None else f"{one} | None"


def _require_known_keys(name: str, entry: Mapping[str, Any], keys: set[str]) -> None:
    if not {"en", "zh"} <= set(entry) <= keys:
        raise ValueError(f"cli/options.yaml: {name}: not understood, or without a text: {sorted(entry)}")

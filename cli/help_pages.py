"""Help pages, written from the option table; and shell completion, for which Typer is built from the same table.

The build writes the manual pages and `docs/commands.md` from the same rows (`products`). A page shows the options by
group, those of a folded group by name alone, and examples that run. Typer would take most of the time of a page, so
that it is imported for completion alone.
"""

from __future__ import annotations

import os

from ..schemas.border.text_output import emit, page, paint, trust_text
from ..schemas.fast_records import TYPE_CHECKING
from .help_compiled import DEFAULT_OF, EXAMPLES, FAMILIES, GROUP_OF, GROUPS, TOPIC_OF, TOPICS
from .language import language_in
from .messages_compiled import say
from .options import all_commands, group_members, options_of
from .terminal import columns, given_columns, line_limit, pad, wants_colour, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import typer

    from ..schemas.diagnostic import Language
    from .options import Command, Option

_NARROW, _WIDE = 60, 100
_USUAL = 80
"""Columns of a page without a terminal."""
_NAMES = 29
"""Columns of the widest name beside which its text stands; a wider one has its text below."""
_STOPS = ".\u3002"
"""The full stops of both languages."""
_ALL = "all"
_HELP = ("-h", "--help")
_SHELLS = ("bash", "zsh", "fish")
_COMPLETION = ("--install-completion", "--show-completion")


def run_application(words: Sequence[str]) -> int:
    """Answer a request for help or completion; the exit code."""
    language = language_in(words)
    # The page's language is known by now.
    pairs = zip(("", *words), words, strict=False)
    given = [word for before, word in pairs if "--lang" not in (before, word) and not word.startswith("--lang=")]
    if "_ACCMAP_COMPLETE" in os.environ or given[:1] in ([one] for one in _COMPLETION):
        return _complete(given, language)
    names = (" ".join(given[:2]), *given[:1])
    name = next((one for one in names if one in all_commands() or group_members(one)), "")
    emit(page(_page(name, _asked_group(given), language)))
    return 0


def products() -> dict[str, str]:
    """A manual page for each command, and one document of all commands, in both languages."""
    made: dict[str, str] = {}
    languages: tuple[tuple[Language, str, str], ...] = (("en", "", ""), ("zh", "zh_CN/", ".zh-CN"))
    for language, folder, suffix in languages:
        for name in ("", *all_commands()):
            lines = _manual_page(name, language)
            made[f"docs/man/{folder}{_manual_name(name)}.1"] = "\n".join(lines) + "\n"
        made[f"docs/commands{suffix}.md"] = "\n".join(_commands_document(language)) + "\n"
    return made


def _manual_name(name: str) -> str:
    return f"accmap {name}".strip().replace(" ", "-")


def _manual_page(name: str, language: Language) -> Iterator[str]:
    """One command, or all by topic, as `man` reads it."""
    word, command = say.page("manual", language), all_commands().get(name)
    summary = say.page("help", language)("about") if command is None else _summary(command, language)
    operands = say.page("help", language)("command") if command is None else command.operands
    usage = f"accmap {name}".rstrip() + f" {say.page('help', language)('options_of_usage')} {operands}".rstrip()
    yield from (f'.TH "{_manual_name(name)}" "1" "" "accmap"', ".ad l")
    yield from (f".SH {word('name')}", _roff(f"{_manual_name(name)} - {summary.rstrip(_STOPS)}"))
    yield from (f".SH {word('synopsis')}", _roff(usage))
    if command is None:
        yield from _manual_groups(_topic_rows(language), language)
    else:
        yield from _manual_groups(_option_rows(command, language).values(), language)
        yield from (f".SH {say.page('help', language)('examples')}", ".nf", *map(_roff, EXAMPLES[name]), ".fi")
    exits = (word("exit_0"), word("exit_1"), word("exit_2"), word("exit_3"))
    variables = {
        "ACCMAP_LANG": word("language"), "ACCMAP_PAGER": word("pager"), "ACCMAP_CACHE_DIR": word("cache"),
        "NO_COLOR": word("colour"),
    }  # fmt: skip
    yield f".SH {word('exit')}"
    yield from _manual_rows((str(code), text) for code, text in enumerate(exits))
    yield f".SH {word('environment')}"
    yield from _manual_rows(variables.items())
    related = [_manual_name(other) for other in ("", *all_commands()) if other != name and (not name or not other)]
    yield from (f".SH {word('see')}", _roff(", ".join(f"{one}(1)" for one in related)))


def _manual_groups(groups: Iterable[tuple[str, Sequence[tuple[str, str]]]], language: Language) -> Iterator[str]:
    yield f".SH {say.page('manual', language)('description')}"
    for heading, rows in groups:
        yield f".SS {_roff(heading)}"
        yield from _manual_rows(rows)


def _manual_rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", f".B {_roff(name)}", _roff(text))


def _roff(text: str) -> str:
    """Text that `man` shows as it is: backslashes and hyphens are escaped, and no line is a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _option_rows(command: Command, language: Language) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """The heading and the options of each group, by its name, in the order of the groups."""
    otherwise, rows = DEFAULT_OF[command.name], dict[str, tuple[str, list[tuple[str, str]]]]()
    options = {
        name: [one for one in options_of(command) if GROUP_OF[command.name][one.dest] == name] for name in GROUPS
    }
    for name, members in options.items():
        if members:
            listed = [_row(option, otherwise.get(option.dest), language) for option in members]
            rows[name] = _words_of(GROUPS[name], language), listed
    return rows


def _topic_rows(language: Language) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The heading of each topic and its commands."""
    for topic, texts in TOPICS.items():
        members = [command for name, command in all_commands().items() if TOPIC_OF[name] == topic]
        yield _words_of(texts, language), [(one.name, _summary(one, language)) for one in members]


def _commands_document(language: Language) -> Iterator[str]:
    """Every command with its options as a document; groups that most commands share stand once, at the end."""
    word = say.page("manual", language)
    other = "[English](commands.md)" if language == "zh" else "[\u4e2d\u6587](commands.zh-CN.md)"
    yield from (f"# {word('title')}", "", other, "", word("about"), "")
    shared: dict[str, dict[str, str]] = {}
    for topic, texts in TOPICS.items():
        yield from (f"## {_words_of(texts, language)}", "")
        for name, command in all_commands().items():
            if TOPIC_OF[name] == topic:
                yield from _command_section(command, language)
                for group, (_, rows) in _option_rows(command, language).items():
                    if GROUPS[group][2]:
                        shared[group] = {**dict(rows), **shared.get(group, {})}
    yield from (f"## {word('shared')}", "", word("shared_about"), "")
    for group, rows in shared.items():
        yield from (f'### <a id="{group}"></a>{_words_of(GROUPS[group], language)}', "")
        yield from _option_table(rows.items(), language)
        yield ""


def _command_section(command: Command, language: Language) -> Iterator[str]:
    """One command: its use, its own options, the names of those that stand at the end, and its examples."""
    word, groups = say.page("help", language), _option_rows(command, language)
    yield from (f"### accmap {command.name}", "", _summary(command, language), "")
    yield from (f"`{f'accmap {command.name} {command.operands}'.rstrip()}`", "")
    own = [row for group, (_, rows) in groups.items() if not GROUPS[group][2] for row in rows]
    yield from _option_table(own, language)
    for group, (heading, rows) in groups.items():
        if GROUPS[group][2]:
            names = [next(one for one in row[0].replace(",", "").split() if one.startswith("--")) for row in rows]
            yield f"| [{heading}](#{group}) | {' '.join(f'`{one}`' for one in names)} |"
    yield from ("", word("examples") + word("colon"), "", *(f"- `{line}`" for line in EXAMPLES[command.name]), "")


def _option_table(rows: Iterable[tuple[str, str]], language: Language) -> Iterator[str]:
    yield from (f"| {say.page('manual', language)('option')} | |", "| --- | --- |")
    yield from (f"| `{names}` | {_cell(text)} |" for names, text in rows)


def _cell(text: str) -> str:
    """Text with the bars escaped that would end a cell of a Markdown table."""
    return text.replace("|", "\\|")


def _asked_group(given: Sequence[str]) -> str | None:
    """The group of options that a command line asks for in full: the word after `--help`."""
    after = next((at + 1 for at, word in enumerate(given) if word in _HELP), len(given))
    word = given[after] if after < len(given) else None
    return word if word == _ALL or word in GROUPS else None


def _page(name: str, group: str | None, language: Language) -> Iterator[str]:
    """The lines of the help of a command, or of a family or all of the commands."""
    command = all_commands().get(name)
    word = say.page("help", language)
    operands = word("command") if command is None else command.operands
    path = f"accmap {name}".rstrip()
    yield f"{word('usage')}{path} {word('options_of_usage')} {operands}".rstrip()
    yield ""
    if command is not None:
        yield from wrap(f"  {_summary(command, language)}", _width(), "  ")
        yield from _options(command, group, language)
    else:
        yield from wrap(f"  {word('about') if not name else _words_of(FAMILIES[name][1:], language)}", _width(), "  ")
        yield from _commands(name, language)


def _options(command: Command, group: str | None, language: Language) -> Iterator[str]:
    """The options by group; of a whole page the folded ones by name, further commands, and the examples."""
    by_group: dict[str, list[Option]] = {}
    for option in options_of(command):
        by_group.setdefault(GROUP_OF[command.name][option.dest], []).append(option)
    otherwise = DEFAULT_OF[command.name]
    rows = {
        name: [_row(option, otherwise.get(option.dest), language) for option in by_group[name]]
        for name in GROUPS
        if name in by_group and _is_shown(name, group)
    }
    word = say.page("help", language)
    if group is None:
        rows.setdefault("output", []).append((f"-h, --help [{word('group')}]", word("help").rstrip(_STOPS)))
    yield from _lists([(_words_of(GROUPS[name], language), rows[name]) for name in rows], language)
    if group is None:
        yield from _list_folded_groups(by_group, language)
        yield from _members(command.name, language)
        yield from _examples(EXAMPLES[command.name], language)


def _examples(lines: Iterable[str], language: Language) -> Iterator[str]:
    word = say.page("help", language)
    yield ""
    yield _heading(word("examples") + word("colon"))
    yield from (f"  {line}" for line in lines)


def _list_folded_groups(by_group: Mapping[str, Sequence[Option]], language: Language) -> Iterator[str]:
    """The options of folded groups by name, beside the word that shows the group in full."""
    folded = [name for name, (*_, is_folded) in GROUPS.items() if is_folded and name in by_group]
    if not folded:
        return
    yield ""
    yield say.page("help", language)("folded")
    margin = max(map(len, folded)) + 4
    for name in folded:
        names = " ".join(option.names[0] for option in by_group[name])
        yield from wrap(f"  {pad(name, margin - 2)}{names}", _width(), " " * margin)


def _is_shown(name: str, group: str | None) -> bool:
    return not GROUPS[name][2] if group is None else group in (name, _ALL)


def _row(option: Option, otherwise: Sequence[str] | None, language: Language) -> tuple[str, str]:
    """The two columns of an option: its names with its value, and its help with choices and default."""
    takes = ""
    if option.kind != "flag":
        takes = f" {option.metavar or option.names[0].lstrip('-').rpartition('-')[2].upper()}"
    word = say.page("help", language)
    text = (option.help_zh if language == "zh" else option.help).rstrip(_STOPS)
    usual = option.default if otherwise is None else otherwise[0]
    choices = [word("is_default", one) if one == usual else one for one in option.choices]
    facts = [", ".join(choices)] if choices else []
    if usual is not None and usual not in option.choices:
        facts.append(word("default", usual if otherwise is None else _words_of(otherwise, language)))
    return ", ".join(sorted(option.names, key=len)) + takes, f"{text} [{'; '.join(facts)}]" if facts else text


def _members(first: str, language: Language) -> Iterator[str]:
    """The commands of two words with this first word."""
    names = [f"{first} {second}" for second in group_members(first)]
    rows = [(name, _summary(all_commands()[name], language)) for name in names]
    yield from _lists([(say.page("help", language)("commands"), rows)], language) if rows else ()


def _commands(family: str, language: Language) -> Iterator[str]:
    """The commands of a family, or all by topic: a family as one, a command of its own with what follows it."""
    word = say.page("help", language)
    if family:
        yield from _members(family, language)
        yield from _examples([EXAMPLES[f"{family} {name}"][0] for name in group_members(family)], language)
        return
    names = dict.fromkeys(name.partition(" ")[0] for name in all_commands())
    by_topic: dict[str, list[tuple[str, str]]] = {topic: [] for topic in TOPICS}
    for name in names:
        if name in FAMILIES:
            topic, *texts = FAMILIES[name]
            by_topic[topic].append((f"{name} …", _words_of(texts, language)))
        else:
            more = " …" if group_members(name) else ""
            by_topic[TOPIC_OF[name]].append((f"{name}{more}", _summary(all_commands()[name], language)))
    options = [
        (", ".join(_HELP), word("help_of_all")),
        ("-V, --version", word("version")),
        (_COMPLETION[0], word("install_completion")),
        (f"{_COMPLETION[1]} {word('shell')}", word("show_completion")),
    ]
    listed = [(_words_of(TOPICS[topic], language), rows) for topic, rows in by_topic.items()]
    yield from _lists(listed, language)
    yield from _lists([(word("options"), options)], language)


def _lists(groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], language: Language) -> Iterator[str]:
    """Headings with their rows below them, aligned in two columns."""
    fitting = [columns(name) for _, rows in groups for name, _ in rows if columns(name) <= _NAMES]
    margin = max(fitting, default=0) + 4
    for heading, rows in groups:
        yield ""
        yield _heading(heading + say.page("help", language)("colon"))
        for name, text in rows:
            if columns(name) > _NAMES:
                yield f"  {name}"
                yield from wrap(" " * margin + text, _width(), " " * margin)
            else:
                yield from wrap(f"  {pad(name, margin - 2)}{text}", _width(), " " * margin)


def _heading(text: str) -> str:
    return paint(text, "bold", wants_colour())


def _summary(command: Command, language: Language) -> str:
    return command.help_zh if language == "zh" else command.help


def _words_of(texts: Sequence[Any], language: Language) -> str:
    return str(texts[language == "zh"])


def _width() -> int:
    """Columns of a help page: those of the terminal, or that COLUMNS names, but no wider than is easy to read."""
    return min(_WIDE, max(_NARROW, given_columns() or line_limit() or _USUAL))


def _complete(given: list[str], language: Language) -> int:
    """Answer a shell that completes words, or print the script that makes it ask."""
    if len(given) == 2 and given[0] == _COMPLETION[1] and given[1] in _SHELLS:
        from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage] - no other name

        # Typer would look at the shell that runs it, whatever shell is named.
        text = get_completion_script(prog_name="accmap", complete_var="_ACCMAP_COMPLETE", shell=given[1])
        emit(trust_text(f"{text}\n"))
        return 0
    from contextlib import redirect_stdout
    from io import StringIO

    answer = StringIO()
    code: object = 0
    try:
        with redirect_stdout(answer):
            _typer_application(language)(args=given, prog_name="accmap")
    except SystemExit as done:
        code = done.code
    emit(trust_text(answer.getvalue()))
    return code if isinstance(code, int) else 0


def _typer_application(language: Language) -> typer.Typer:
    """The application as Typer has it, with one command for each row of the table."""
    import typer

    application = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    families: dict[str, typer.Typer] = {}
    for command in all_commands().values():
        first, _, second = command.name.partition(" ")
        parent, name = application, command.name
        if second and first not in all_commands():
            if first not in families:
                families[first] = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
                application.add_typer(families[first], name=first, help=_words_of(FAMILIES[first][1:], language))
            parent, name = families[first], second
        parent.command(name, help=_summary(command, language))(_callback(command, language))
    return application


def _callback(command: Command, language: Language) -> Callable[..., None]:
    """A function whose signature is the command's row, which is how Typer learns its parameters."""
    import inspect
    from typing import Annotated

    import typer

    def callback(**_given: object) -> None:
        """Stand for the command where words are completed; a command line that runs never comes here."""

    files = inspect.Parameter(
        "files",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[list[str] | None, typer.Argument(metavar=command.operands, hidden=True)],
    )
    options = [_parameter(option, language) for option in options_of(command)]
    callback.__signature__ = inspect.Signature([files, *options])  # type: ignore[attr-defined]
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in [files, *options]}
    return callback


def _parameter(option: Option, language: Language) -> Any:
    """An option as a parameter of a Typer function; its choices become an enumeration."""
    import inspect
    from enum import Enum
    from typing import Annotated

    import typer

    annotation: Any
    default: object = option.default
    if option.kind == "flag":
        annotation, default = bool, False
    elif option.kind in ("list", "rest"):
        annotation, default = (list[str] | None), None
    elif option.choices:
        annotation, default = Enum(option.dest, {choice: choice for choice in option.choices}), None
    else:
        annotation = {"str": str, "int": int, "float": float}[option.type] | None
    info = typer.Option(*option.names, help=option.help_zh if language == "zh" else option.help)
    return inspect.Parameter(
        option.dest, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info]
    )

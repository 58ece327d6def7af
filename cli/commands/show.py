"""`accmap show FILE`: what the framework will make of a file, each value with its origin and place."""

from __future__ import annotations

from ...mapper.computed.quantities import computed_quantities
from ...schemas.border.text_output import emit, json_text, paint, say
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import trains_gpt
from ...schemas.plain_values import json_value
from ...schemas.shared_words import term
from ..inputs import load, tell_refusals
from ..messages_compiled import say as usage
from ..recipe_lines import summary_line
from ..terminal import line_limit, print_paged, wants_colour, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...schemas.config import Config, Launch, Setting
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import ShowArgs
    from ..messages_compiled import ShowWords

MOST_OWN_WORDS = 8
_SEVERITY_STYLE = {"error": "red", "warning": "yellow", "info": "blue"}
_ORIGIN_STYLE = {"explicit": "green", "derived": "cyan", "default": "dim"}


def run(args: ShowArgs) -> int:
    """Print the effective values; 0 unless the file cannot be read."""
    config = load(args.files[0], args.reading, args.stdin_filename, model=True)
    tell_refusals([config], args.lang)
    shown = [
        setting
        for setting in config.settings.values()
        if (not args.explicit or _is_written(setting)) and (not args.only or _matches_pattern(setting.key, args.only))
    ]
    if args.format == "json":
        emit(json_text(to_json(config, shown, args.lang)))
    else:
        shown_page = _Page(config, args.lang, wants_colour())
        print_paged(
            lambda: shown_page.write(shown, everything=args.all or bool(args.only), patterns=args.only),
            paged=not args.no_pager,
        )
    return 0


def to_json(config: Config, settings: Iterable[Setting], language: Language) -> dict[str, object]:
    """The answer of `show` as JSON: the settings and a summary."""
    from ...schemas.answers_compiled import show_json

    values = [setting.to_json() for setting in settings]
    return show_json(config, language, summary=summary_of(config, language), values=values)


def summary_of(config: Config, language: Language) -> str:
    """The size of the network and of a step, where the file says them; of what is no training run, nothing."""
    return summary_line(computed_quantities(config), language) if trains_gpt(config) else ""


def _is_written(setting: Setting) -> bool:
    """True if the file itself gives the setting, even if the framework overrides the value."""
    return setting.origin == "explicit" or setting.raw is not None


def _matches_pattern(key: str, patterns: Sequence[str]) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(key, pattern) or pattern in key for pattern in patterns)


class _Page:
    """The answer for a person: a head, the values by group, then what could not be decided and what is wrong."""

    def __init__(self, config: Config, language: Language, colour: bool) -> None:
        self.config = config
        self.language: Language = language
        self.colour = colour

    def write(self, settings: Sequence[Setting], *, everything: bool, patterns: Sequence[str]) -> None:
        """Print the page."""
        self._head()
        groups: dict[str, list[Setting]] = {}
        hidden = 0
        for setting in settings:
            if setting.origin == "default" and not everything:
                hidden += 1
                continue
            groups.setdefault(self._group(setting), []).append(setting)
        for name, members in groups.items():
            self._values(name, members)
        if patterns and not groups:
            say(self._word("none", ", ".join(patterns)))
        if hidden:
            say()
            say(self._paint(self._word("more", hidden), "dim"))
        self._write_unresolved()
        self._problems(self.config.problems)

    def _head(self) -> None:
        """Print the file, its framework and version, the launch with its devices, and a summary of the network."""
        config = self.config
        say(self._paint(config.file, "bold"), f"{config.framework} {config.framework_version} ({config.dialect})")
        say(self._paint(config.basis.text(self.language), "dim"))
        if config.purpose is not None:
            say(config.purpose.problem.message(self.language))
        launch = config.launch
        if launch is not None:
            size = launch.world_size
            devices = self._word("unknown-devices") if size is None else self._word("devices", size)
            started = " ".join(filter(None, (launch.launcher, launch.script)))
            say(f"{self._word('launch')}: {started}  {self._paint(launch.span.at(), 'dim')}  {devices}")
        summary = summary_of(config, self.language)
        if summary:
            say(summary)
        for other in config.other_launches:
            told = f"{self._word('others')}: {other.script}  {self._paint(other.span.at(), 'dim')}"
            say(told, *_own_words(other, launch))

    def _group(self, setting: Setting) -> str:
        """The heading for a setting in the list: the argument group of Megatron-LM, or the section of the YAML."""
        if self.config.framework == "megatron":
            from ...schemas.megatron.forks import catalog, fork_of

            fact = catalog(self.config.framework_version, fork_of(self.config)).by_dest.get(setting.key)
            unknown = "computed" if setting.origin == "derived" else "other"
            return self._word(unknown) if fact is None else fact.group
        section, dot, rest = setting.key.partition(".")
        if not dot and "[" not in section:
            return self._word("top")
        if section in ("resolved", "model") and "." in rest:
            return f"{section}.{rest.partition('.')[0]}"
        return section.partition("[")[0]

    def _values(self, group: str, members: Sequence[Setting]) -> None:
        """Print the settings of one group as columns: name, value and origin."""
        say()
        say(self._paint(group, "bold"))
        keys = min(56, max(len(self._name(setting, group)) for setting in members))
        values = [self._value(setting) for setting in members]
        column = min(28, max(map(len, values)))
        for setting, value in zip(members, values, strict=True):
            name = self._name(setting, group).ljust(keys)
            shade = value if setting.decided else self._paint(value, "yellow")
            line = f"  {name}  {shade}{' ' * (column - len(value))}  {self._note(setting)}"
            for row in wrap(line, line_limit(), "      "):
                say(row)

    def _name(self, setting: Setting, group: str) -> str:
        """The key of a setting without the group that its heading names."""
        key = setting.key
        return key[len(group) + 1 :] if key.startswith(group + ".") else key

    def _value(self, setting: Setting) -> str:
        """The value of a setting as text; an undecided one as its raw words with a remark."""
        if not setting.decided:
            raw = " ".join(setting.raw) if setting.raw else "?"
            return f"{raw} ({self._word('unset')})"
        value = json_value(setting.value)
        if isinstance(value, (list, dict)):
            import json

            return json.dumps(value, ensure_ascii=False)
        return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    def _note(self, setting: Setting) -> str:
        """The origin of a value, its place, the settings it was derived from, and a remark if it is not accepted."""
        place = "" if setting.span is None else setting.span.at()
        origin = self._paint(term(setting.origin, self.language), _ORIGIN_STYLE[setting.origin])
        words = [origin, self._paint(place, "dim")]
        if setting.derived_from:
            sources = ", ".join(setting.derived_from)
            words.append(self._paint(f"{self._word('from')} {sources}", "dim"))
        if setting.acceptance != "accepted":
            words.append(self._paint(term(setting.acceptance, self.language), "yellow"))
        return " ".join(word for word in words if word)

    def _write_unresolved(self) -> None:
        """Print the parts of the launch that could not be resolved, each with the reason and its place."""
        if not self.config.unresolved:
            return
        say()
        say(self._paint(self._word("unresolved"), "bold"))
        for entry in self.config.unresolved:
            text = self._paint(entry.text, "yellow")
            say(f"  {text}  {entry.why(self.language)}  {self._paint(entry.span.at(), 'dim')}")

    def _problems(self, problems: Sequence[Diagnostic]) -> None:
        """Print the problems found while reading, each with place, severity, code and message."""
        if not problems:
            return
        say()
        say(self._paint(self._word("problems"), "bold"))
        for problem in problems:
            kind = problem.kind
            place = "" if problem.span is None else problem.span.at() + " "
            severity = self._paint(term(kind.severity, self.language), _SEVERITY_STYLE[kind.severity])
            say(f"  {self._paint(place, 'dim')}{severity} {kind.code} {problem.message(self.language)}")

    @property
    def _word(self) -> ShowWords:
        return usage.page("show", self.language)

    def _paint(self, text: str, style: str) -> str:
        return paint(text, style, self.colour)


def _own_words(other: Launch, chosen: Launch | None) -> tuple[str, ...]:
    """The few words that tell another start of the same launch command from the one shown; empty if they are many."""
    if chosen is None or other.span != chosen.span or len(other.arguments) != len(chosen.arguments):
        return ()
    found: list[str] = []
    for at, (mine, theirs) in enumerate(zip(other.arguments, chosen.arguments, strict=True)):
        if mine.text != theirs.text:
            before = other.arguments[at - 1].text if at else ""
            if before.startswith("-") and (not found or found[-1] != before):
                found.append(before)
            found.append(mine.text)
    return ("", *found) if len(found) <= MOST_OWN_WORDS and all(word.isprintable() for word in found) else ()

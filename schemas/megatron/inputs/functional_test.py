"""A functional test's `model_config.yaml`, as the launch that Megatron-LM's own test driver makes of it.

The driver (`tests/functional_tests/shell_test_utils/_run_training.sh`) substitutes `${NAME}` of the environment,
exports ENV_VARS and joins MODEL_ARGS into a command line; from 0.13 on bash reads that line once more. Which
tests apply to which value is re-told here; nothing is executed. The driver's own `--exit-duration-in-mins`,
which depends on the job's end, is left out.
"""

from __future__ import annotations

from ...config import Argument, Launch, Unresolved
from ...diagnostic import UnreadableError, diagnose
from ...fast_records import TYPE_CHECKING, NamedTuple, cast
from ...message import Problem, Words, verbatim
from ...messages_compiled import say as say_of_files
from ...shell.scanner import is_whole_number
from ...source import Span
from ...versions import number_of
from ..catalog import DEFAULT_VERSION, catalog
from ..forks import normalise_version
from ..messages_compiled import say
from .argument_texts import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...config import ReadOptions
    from ...diagnostic import Diagnostic
    from ...source import SourceText


_RE_READ_SINCE = (0, 13)
_QUOTED = {True: " |()", False: " "}
_QUOTES_METACHARACTERS_SINCE = (0, 17)
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
GPUS_PER_NODE = 8
"""What the driver takes where GPUS_PER_NODE is not set."""


class Recipe(NamedTuple):
    """The launch of a recipe."""

    arguments: tuple[Argument, ...]
    launch: Launch
    problems: tuple[Diagnostic, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    mode: str = ""
    """What the file's MODE says: `inference`, or nothing of the kind."""


def read_recipe(source: SourceText, options: ReadOptions) -> Recipe:
    """The launch of a recipe; UnreadableError where the file is no recipe."""
    return _Reader(source, options).read()


class _Reader:
    def __init__(self, source: SourceText, options: ReadOptions) -> None:
        self.source = source
        self.variables: dict[str, str] = dict(options.variables)
        self.options = options
        version = DEFAULT_VERSION if options.megatron is None else normalise_version(options.megatron)
        self.version = version
        self.re_read = number_of(version) >= _RE_READ_SINCE
        self.quoted = _QUOTED[number_of(version) >= _QUOTES_METACHARACTERS_SINCE]
        self.problems: list[Diagnostic] = []
        self.unresolved: list[Unresolved] = []

    def read(self) -> Recipe:
        """Recipe in the file: launch, words, environment and problems."""
        top = self.mapping(self.root(), "the file")
        model = top.get("MODEL_ARGS")
        if model is None:
            self.refuse(say.no_model_args(), None)
        env: dict[str, str | None] = {}
        spans: dict[str, Span] = {}
        if "ENV_VARS" in top and type(top["ENV_VARS"]).__name__ != "ScalarNode":
            for name, node in self.mapping(top["ENV_VARS"], "ENV_VARS").items():
                text, open_names = self.substitute(_text_of_node(node))
                env[name] = None if open_names else text
                spans[name] = self.span(node)
        self.variables.update({name: text for name, text in env.items() if text is not None})
        words: list[Argument] = []
        if _is_mapping(model):
            for key, node in self.pairs(model):
                self.argument(key, node, words)
        elif model is None or not model.tag.endswith(":null"):
            self.refuse(say.not_a_mapping(what=verbatim("MODEL_ARGS")), model)
        nodes_open = "NUM_NODES" not in env and "NUM_NODES" not in self.options.variables
        size, span = self.world_size({**env, **self.of_the_run(top)}), self.span(model)
        launch = Launch("torchrun", None, tuple(words), size, env, span, spans, nodes_open=nodes_open)
        mode = _text_of_node(top["MODE"]) if "MODE" in top else ""
        return Recipe(tuple(words), launch, tuple(self.problems), tuple(self.unresolved), mode)

    def of_the_run(self, top: dict[str, Any]) -> dict[str, str]:
        """The devices of the first of several runs, which MODEL_ENV_VARS names (`run_ci_test.sh`)."""
        node = top.get("MODEL_ENV_VARS")
        for name in ("MODEL_ARGS", "GPUS_PER_NODE"):
            node = self.mapping(node, name).get(name) if _is_mapping(node) else None
        return {} if node is None else {"GPUS_PER_NODE": _text_of_node(node)}

    def root(self) -> Any:
        """Root node of the YAML; UnreadableError if it is invalid."""
        import yaml

        from ...yaml_reader.node import refuse_deep

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            refuse_deep(self.source.text, loader)
            node: Any = cast("Any", yaml).compose(self.source.text, Loader=loader)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            span = None if mark is None else Span(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)
            why = say_of_files.foreign(getattr(error, "problem", None) or str(error).split("\n", 1)[0])
            raise UnreadableError(diagnose(say.recipe_unreadable(why=why), self.source.name, span)) from error
        return node

    def mapping(self, node: Any, what: str) -> dict[str, Any]:
        """The entries of a YAML mapping by key; UnreadableError for another kind of node."""
        if not _is_mapping(node):
            self.refuse(say.not_a_mapping(what=verbatim(what)), node)
        return {_text_of_node(key): value for key, value in self.pairs(node)}

    def pairs(self, node: Any) -> list[tuple[Any, Any]]:
        """The pairs of a mapping, merge keys spread out as `explode(.)` does; the last of equal keys counts."""
        found: dict[str, tuple[Any, Any]] = {}
        for key, value in node.value:
            merged = value.value if type(value).__name__ == "SequenceNode" else [value]
            if _text_of_node(key) == "<<" and all(_is_mapping(entry) and entry is not node for entry in merged):
                for entry in merged:
                    for inner, inner_value in entry.value:
                        found.setdefault(_text_of_node(inner), (inner, inner_value))
                continue
            found[_text_of_node(key)] = (key, value)
        return list(found.values())

    def argument(self, key: Any, node: Any, words: list[Argument]) -> None:
        """Add the words of one MODEL_ARGS entry as the test driver would."""
        flag = _text_of_node(key)
        span = self.span(key)
        if type(node).__name__ == "MappingNode":
            self.problem(say.recipe_value(key=flag, why=say.it_is_a_mapping()), node)
            return
        if type(node).__name__ == "SequenceNode":
            words.append(Argument(flag, span))
            for entry in node.value:
                words.extend(self.words(entry, len(words), again=True))
            return
        text = _text_of_node(node)
        if self.re_read and text == "" and not node.tag.endswith(":null"):
            return  # `select(.value != "")` drops the pair
        words.append(Argument(flag, span))
        if text == "true" or (text in ("", "null", "~") and node.tag.endswith(":null")):
            return
        values = self.words(node, len(words), again=self.re_read)
        fact = catalog(self.version).by_option.get(flag)
        takes_several = fact is not None and fact.nargs not in (None, "?", 1)
        if takes_several and len(values) == 1 and " " in values[0].text:
            self.problem(say.recipe_value(key=flag, why=say.one_word(text=text)), node)
        words.extend(values)

    def words(self, node: Any, index: int, *, again: bool) -> list[Argument]:
        """Words of a value; an undecided one if it names variables without a value."""
        span = self.span(node)
        raw = _text_of_node(node)
        text, open_names = self.substitute(raw)
        if open_names:
            splits = not again
            reason = say.set_nowhere(names=", ".join(open_names))
            self.unresolved.append(Unresolved(raw, reason, span, index, splits))
            return [Argument(raw, span, resolved=False, may_split=splits, why=reason)]
        found = self.read_again(text) if again else text.split()
        if found is None:
            self.problem(say.recipe_value(key=raw, why=say.a_quote_is_not_closed()), node)
            return []
        return [Argument(word, span) for word in found]

    def read_again(self, text: str) -> list[str] | None:
        """Words that the driver and bash make of a value from 0.13 on."""
        trimmed = split_words(text)  # `xargs` takes off quotes and doubled blanks
        if trimmed is None:
            return None
        value = " ".join(trimmed)
        if len(value) > 2 and value[0] == "(" and value.find(")") == len(value) - 1:
            return split_words(f'"{value}"')
        if len(value) > 2 and value[0] == "[" and value.find("]") == len(value) - 1:
            return split_words(value[1:-1])
        if any(character in value for character in self.quoted):
            return split_words(f'"{value}"')
        return split_words(value)

    def substitute(self, text: str) -> tuple[str, list[str]]:
        """The text with `$NAME` and `${NAME}` put in (envsubst), and the names that are set nowhere."""
        parts: list[str] = []
        missing: list[str] = []
        at = 0
        while (dollar := text.find("$", at)) >= 0:
            parts.append(text[at:dollar])
            braced = text.startswith("{", dollar + 1)
            end = start = dollar + 1 + braced
            while end < len(text) and text[end] in _NAME:
                end += 1
            name = text[start:end]
            closed = not braced or text.startswith("}", end)
            if not name or name[0].isdigit() or not closed:
                parts.append("$")
                at = dollar + 1
                continue
            if name in self.variables:
                parts.append(self.variables[name])
            elif not self.options.unset_empty:
                missing.append(name)
            at = end + braced
        parts.append(text[at:])
        return "".join(parts), missing

    def world_size(self, env: Mapping[str, str | None]) -> int | None:
        """Number of devices: devices per node times nodes."""
        size = 1
        for name, default in (("GPUS_PER_NODE", GPUS_PER_NODE), ("NUM_NODES", 1)):
            text = env.get(name, self.options.variables.get(name, str(default)))
            if text is None or not is_whole_number(text.strip()):
                return None
            size *= int(text)
        return size

    def span(self, node: Any) -> Span:
        start, end = node.start_mark, node.end_mark
        return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def problem(self, problem: Problem, node: Any) -> None:
        self.problems.append(diagnose(problem, self.source.name, self.span(node)))

    def refuse(self, why: Words, node: Any) -> None:
        span = None if node is None else self.span(node)
        raise UnreadableError(diagnose(say.recipe_unreadable(why=why), self.source.name, span))


def _is_mapping(node: Any) -> bool:
    return type(node).__name__ == "MappingNode"


def _text_of_node(node: Any) -> str:
    return node.value if isinstance(node.value, str) else ""

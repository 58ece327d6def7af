"""A YAML that holds a program's options, written out as the words of its command line.

ms-swift reads one in the place of its first word (cli/main.py:parse_yaml_args) and, where it starts Ray, behind
`--config` (ray/megatron/driver_utils.py:parse_ray_yaml), whose groups `rollout` and `teacher` train nothing.
"""

from __future__ import annotations

from itertools import pairwise

from ...config import Argument
from ...diagnostic import UnreadableError
from ...fast_records import TYPE_CHECKING
from ...file_kind import unread_yaml
from ...shell.launchers import whole_number
from ...yaml_reader.document import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...config import Launch
    from ...source import SourceText, Span
    from ...yaml_reader.node import Node

_ENDINGS = (".yaml", ".yml", ".json")
_CONFIG = "--config"
_TRAIN = "train"
_GROUPS = frozenset(("colocate_groups", "sleep_level", "nnodes", "rollout", "teacher", "gpus"))
"""What Ray's driver takes out before the rest becomes options."""
_PROGRAM = "swift.cli._megatron."
_PREFERENCES = "swift.cli._megatron.rlhf"
_RAY = "--use_ray"
_ENVIRONMENT = "ENV"
_PROCESSES = frozenset(("NPROC_PER_NODE", "NNODES"))


def with_named_yaml(
    script: str | None, arguments: Sequence[Argument], open_file: Callable[[str], SourceText]
) -> tuple[Argument, ...]:
    """The words of a launch, those of a file that it names in its place."""
    words = tuple(arguments)
    if script is None or not script.startswith(_PROGRAM) or not words:
        return words
    if _names_a_file(words):
        return (*_words(open_file(words[0].text), ray=False), *words[1:])
    # `cli/_megatron/rlhf.py:_use_ray`: the option alone says yes; no other spelling is looked for
    texts = [word.text for word in words]
    if script != _PREFERENCES or _RAY not in texts:
        return words
    if any(text.lower() == "false" for text in texts[texts.index(_RAY) + 1 :][:1]):
        return words
    for at, (word, named) in enumerate(pairwise(words)):
        if word.text == _CONFIG and named.resolved:
            return (*words[:at], *_words(open_file(named.text), ray=True), *words[at + 2 :])
    return words


def with_environment(launch: Launch, open_file: Callable[[str], SourceText]) -> Launch:
    """The launch with what the `ENV` of its YAML sets beside what stands in the environment already.

    ms-swift's cli/main.py:parse_yaml_args, before it asks how many processes to start.
    """
    if launch.script is None or not launch.script.startswith(_PROGRAM) or not _names_a_file(launch.arguments):
        return launch
    source = open_file(launch.arguments[0].text)
    root = read_yaml(source).root
    block = None if root is None else root.items.get(_ENVIRONMENT)
    if block is None:
        return launch
    added = {str(key): node for key, node in block.items.items() if str(key) not in launch.env}
    texts: dict[str, str | None] = {name: str(node.value) for name, node in added.items()}
    spans = {name: _in_file(node.span, source) for name, node in added.items()}
    size = launch.world_size
    for name in texts.keys() & _PROCESSES:
        count = whole_number(texts[name])
        size = None if size is None or count is None else size * count
    return launch._replace(env={**launch.env, **texts}, env_spans={**launch.env_spans, **spans}, world_size=size)


def _names_a_file(words: Sequence[Argument]) -> bool:
    """True if the first word is a file of options."""
    return bool(words) and words[0].resolved and words[0].text.endswith(_ENDINGS)


def _words(source: SourceText, *, ray: bool) -> Iterator[Argument]:
    """One option for each key, that of the training group last, as it is the one that counts."""
    root = read_yaml(source).root
    if root is None or root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    items = dict(root.items)
    group = items.pop(_TRAIN, None) if ray else None
    left_out = _GROUPS if ray else {_ENVIRONMENT}
    for one in (items, {} if group is None else group.items):
        for key, node in one.items():
            if key not in left_out and not (ray and node.value is None):
                yield Argument(f"--{key}", _in_file(node.key_span or node.span, source))
                yield from _values(node, source)


def _values(node: Node, source: SourceText) -> Iterator[Argument]:
    if node.kind == "sequence":
        for entry in node.entries:
            yield from _values(entry, source)
        return
    text = str(node.value)
    if node.kind == "mapping":
        from json import dumps

        try:
            text = dumps(node.value, ensure_ascii=False)
        except (TypeError, ValueError) as error:  # a date, bytes, a set: ms-swift stops at them, too
            raise UnreadableError(unread_yaml(source.name).problem._replace(span=node.span)) from error
    yield Argument(text, _in_file(node.span, source))


def _in_file(span: Span, source: SourceText) -> Span:
    return span._replace(file=source.name)

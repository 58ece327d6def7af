"""A YAML that holds a program's options, written out as the words of its command line.

ms-swift reads one in the place of its first word (cli/main.py:parse_yaml_args) and, where it starts Ray, behind
`--config` (ray/megatron/driver_utils.py:parse_ray_yaml), whose groups `rollout` and `teacher` train nothing.
"""

from __future__ import annotations

from itertools import pairwise

from ..config import Argument
from ..diagnostic import UnreadableError
from ..light_typing import TYPE_CHECKING
from ..purpose import unread_yaml
from ..yaml_text import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..source import SourceText, Span
    from ..yaml_node import Node

_ENDINGS = (".yaml", ".yml", ".json")
_CONFIG = "--config"
_TRAIN = "train"
_GROUPS = frozenset(("colocate_groups", "sleep_level", "nnodes", "rollout", "teacher", "gpus"))
"""What Ray's driver takes out before the rest becomes options."""
_PROGRAM = "swift.cli._megatron."
_PREFERENCES = "swift.cli._megatron.rlhf"
_RAY = "--use_ray"


def with_named_yaml(
    script: str | None, arguments: Sequence[Argument], open_file: Callable[[str], SourceText]
) -> tuple[Argument, ...]:
    """The words of a launch, those of a file that it names in its place."""
    words = tuple(arguments)
    if script is None or not script.startswith(_PROGRAM) or not words:
        return words
    if words[0].resolved and words[0].text.endswith(_ENDINGS):
        return (*_words(open_file(words[0].text), ray=False), *words[1:])
    if not (script == _PREFERENCES and _starts_ray([word.text for word in words])):
        return words
    for at, (word, named) in enumerate(pairwise(words)):
        if word.text == _CONFIG and named.resolved:
            return (*words[:at], *_words(open_file(named.text), ray=True), *words[at + 2 :])
    return words


def _starts_ray(words: Sequence[str]) -> bool:
    """`cli/_megatron/rlhf.py:_use_ray`: the option alone says yes; no other spelling is looked for."""
    if _RAY not in words:
        return False
    return not any(word.lower() == "false" for word in words[words.index(_RAY) + 1 :][:1])


def _words(source: SourceText, *, ray: bool) -> Iterator[Argument]:
    """One option for each key, that of the training group last, as it is the one that counts."""
    root = read_yaml(source).root
    if root is None or root.kind != "mapping":
        raise UnreadableError(unread_yaml(source.name).problem)
    items = dict(root.items)
    group = items.pop(_TRAIN, None) if ray else None
    left_out = _GROUPS if ray else {"ENV"}
    for one in (items, {} if group is None else group.items):
        for key, node in one.items():
            if key not in left_out and not (ray and node.value is None):
                yield Argument(f"--{key}", _placed(node.key_span or node.span, source))
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
    yield Argument(text, _placed(node.span, source))


def _placed(span: Span, source: SourceText) -> Span:
    return span._replace(file=source.name)

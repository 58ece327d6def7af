"""Running the command line in this process, as a user would from a folder."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from accmap.cli.commands.schema import schema_of
from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from jsonschema import ValidationError


class Answer(NamedTuple):
    code: int
    out: str
    err: str


_held: set[tuple[str, int, str]] = set()
"""Parts of answers that were found to be as their schema says: most of an answer is the defaults, as in all others."""


def _once(keyword: str) -> Callable[..., Iterator[ValidationError]]:
    """The check of a keyword, which the same value does not go through again."""
    check: Any = Draft202012Validator.VALIDATORS[keyword]

    def held(validator: Any, value: object, instance: object, schema: dict[str, Any]) -> Iterator[ValidationError]:
        mark = keyword, id(schema), json.dumps(instance)
        if mark not in _held:
            found = list(check(validator, value, instance, schema))
            if not found:
                _held.add(mark)
            yield from found

    return held


_PLAIN: dict[object, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "null": lambda value: value is None,
}
_REMARKS = frozenset(("title", "description", "default"))


def _is_plain(schema: Any, value: object) -> bool:
    """True if a schema asks for nothing but types, a least number or one of some words, and the value is so."""
    if not isinstance(schema, dict):
        return False
    asked, kind = schema.keys() - _REMARKS, schema.get("type")
    if asked == {"anyOf"}:
        return any(_is_plain(one, value) for one in schema["anyOf"])
    if asked in ({"enum"}, {"enum", "type"}):
        return isinstance(value, str) and kind in (None, "string") and value in schema["enum"]
    if asked == {"type", "items"}:
        return kind == "array" and isinstance(value, list) and all(_is_plain(schema["items"], one) for one in value)
    if asked in ({"type"}, {"type", "minimum"}):
        test = _PLAIN.get(kind) if isinstance(kind, str) else None
        return test is not None and test(value) and ("minimum" not in schema or value >= schema["minimum"])
    return not asked


def _properties(
    validator: Any, properties: dict[str, Any], instance: object, _schema: dict[str, Any]
) -> Iterator[ValidationError]:
    """The check of an object's members: most are plain, and a validator of its own for each takes long."""
    if isinstance(instance, dict):
        for name, schema in properties.items():
            if name in instance and not _is_plain(schema, instance[name]):
                yield from validator.descend(instance[name], schema, path=name, schema_path=name)


_Validator: Any = extend(
    Draft202012Validator, {"properties": _properties, **{keyword: _once(keyword) for keyword in ("$ref", "allOf")}}
)


_WRITTEN = frozenset(("dump-compare", "logs", "verify"))
"""Answers that are written from their models alone: the schema names every key."""


@cache
def validator(kind: str) -> Any:
    schema = schema_of(kind)
    return _Validator(_closed(schema) if kind in _WRITTEN else schema)


def _closed(schema: Any) -> Any:
    """A schema whose objects have the keys that it names, and no others."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed(one) for key, one in schema.items()}
    return {**found, "additionalProperties": False} if isinstance(found.get("properties"), dict) else found


def kind_of(words: list[str], answer: object) -> str:
    """The schema of a command line's answer."""
    if words[0] == "explain":
        return "explain" if isinstance(answer, dict) and "code" in answer else "explain-key"
    if words[:2] == ["weights", "check"]:
        return "weights-log" if "--log" in words else "weights-check"
    if "--plan" in words:
        return "weights-plan"
    if words[0] == "schema":
        return "schema-check"
    if words[0] == "defects" and isinstance(answer, dict):
        return "defects-upgrade" if "--from" in words else "defects-file"
    group = {"dump", "weights", "data", "check"}
    pair = words[0] in group or words[:2] in (["playbook", "status"], ["playbook", "run"])
    return "-".join(words[:2]) if pair else words[0]


def held_to_its_schema(words: list[str], out: str, folder: Path) -> None:
    """Every JSON answer that a test sees is as `accmap schema` says."""
    if "json" in words and words[words.index("json") - 1] == "--format" and out and "--statistics" not in words:
        answers = [json.loads(line) for line in out.splitlines()] if words[0] == "explain" else [json.loads(out)]
        for answer in answers:
            validator(kind_of(words, answer)).validate(answer)
    if words[0] == "convert" and "--report" in words[:-1]:
        path = folder / words[words.index("--report") + 1]
        if path.is_file():
            validator("convert").validate(json.loads(path.read_text("utf-8")))


@pytest.fixture
def validator_class() -> Any:
    """The validator that every answer goes through."""
    return _Validator


@pytest.fixture
def held() -> Callable[[list[str], str, Path], None]:
    """The check that every answer goes through."""
    return held_to_its_schema


@pytest.fixture
def accmap(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Answer]:
    """A function that runs one command line in an empty folder; `files` are written there first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("ACCMAP_LANG", raising=False)

    def run(*words: str, files: dict[str, str | bytes] | None = None, stdin: str | bytes | None = None) -> Answer:
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(list(words))
        captured = capsys.readouterr()
        if words and code in (0, 1):
            held_to_its_schema(list(words), captured.out, tmp_path)
        return Answer(code, captured.out, captured.err)

    return run

"""Writes `purposes_compiled.py` from `purposes.yaml`: `python -m accmap.schemas.compile_purposes`."""

from __future__ import annotations

from pathlib import Path
from pprint import pformat
from typing import Any, cast

import yaml

SOURCE = Path(__file__).with_name("purposes.yaml")
TARGET = Path(__file__).with_name("purposes_compiled.py")
KINDS = ("training", "post-training", "other-model", "data", "conversion", "inference", "evaluation", "tool")
_HEAD = '"""What a file is for; compiled from purposes.yaml, do not edit."""'
_NOTHING = ("", "")


def compiled() -> str:
    """The text of the compiled module."""
    content: dict[str, Any] = yaml.safe_load(SOURCE.read_text("utf-8"))
    mindformers = content["mindformers"]
    tables: dict[str, object] = {
        "PROGRAMS": tuple(_program(entry, "name") for entry in content["programs"]),
        "MODULES": tuple(_program(entry, "name") for entry in content["modules"]),
        "RECIPES": tuple(_program(entry, "name") for entry in content["recipes"]),
        "ARGUMENTS": tuple(
            (*_program(entry, "dest"), str(entry.get("with", "")), entry.get("over") == "any")
            for entry in content["arguments"]
        ),
        "MINDFORMERS_KEYS": frozenset(mindformers["keys"]),
        "SHARED_KEYS": frozenset(mindformers["shared_keys"]),
        "SECTIONS": frozenset(mindformers["sections"]),
        "RUN_MODES": tuple(_program(entry, "name") for entry in mindformers["run_modes"]),
        "FINE_TUNING": tuple(
            _program({**entry, "kind": "post-training"}, "key") for entry in mindformers["fine_tuning"]
        ),
        "OTHER_YAML": tuple(
            (tuple(entry.get("all", ())), tuple(entry.get("any", ())), *_pair(entry["what"]), bool(entry.get("own")))
            for entry in content["yaml"]
        ),
    }
    parts = [_HEAD, "", "from __future__ import annotations", "", "TYPE_CHECKING = False", "if TYPE_CHECKING:"]
    parts += ["    from typing import Any", ""]
    parts += [f"{name}: Any = {_shown(value)}" for name, value in tables.items()]
    return "\n".join(parts) + "\n"


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return f"frozenset({pformat(sorted(cast('frozenset[str]', value)), width=118, compact=True)})"
    return pformat(value, width=118, compact=True)


def _program(entry: dict[str, Any], name: str) -> tuple[str, ...]:
    """Name, kind, what it is in both languages, what is lost in both, and whose parser reads its arguments."""
    if entry["kind"] not in KINDS or (entry["kind"] != "training" and "what" not in entry):
        raise ValueError(f"{entry[name]}: {entry['kind']!r} is no kind, or nothing says what it is")
    what = _pair(entry.get("what", _NOTHING))
    return (entry[name], entry["kind"], *what, *_pair(entry.get("lost", _NOTHING)), entry.get("parser", "megatron"))


def _pair(texts: Any) -> tuple[str, str]:
    english, chinese = texts
    return str(english), str(chinese)


if __name__ == "__main__":
    TARGET.write_text(compiled(), "utf-8")

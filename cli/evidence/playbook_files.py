"""The files of a playbook that stand there already: which may be written anew, and what a person wrote is kept.

`plan.json` has the checksum of every file as it was written. A second run for the same pair replaces those that nobody
has changed, keeps `playbook.toml`, and keeps the ticks of a checklist whose rows are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ...evidence.data.check import plan_of as data_plan_of
from ...evidence.playbook.launches import FILE as SETTINGS
from ...evidence.playbook.launches import Layout, Settings, SettingsError, settings_of
from ...evidence.playbook.plan import FILE
from ...mapper.align.alignment import PLACEHOLDER
from ...schemas.border.file_input import read_text
from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError
from ..argument_parser import UsageError
from ..messages_compiled import say as usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...evidence.playbook.plan import Plan
    from ...schemas.config import Config

_TICKED = "checklist.md"
_MOST = 1 << 16


def given_settings(directory: str, source: Config) -> Settings:
    """Settings of `playbook.toml`; if there is none yet, those of the pair's own files and stand-ins."""
    blend = data_plan_of(source).blend
    paths = dict.fromkeys(blend.prefixes if blend is not None else (PLACEHOLDER,))
    return settings_in(directory, {path: path for path in paths})


def settings_in(directory: str, paths: Mapping[str, str] = {}) -> Settings:
    """The settings of a directory; UsageError where its file cannot be used."""
    path = os.path.join(directory, SETTINGS)
    if not os.path.lexists(path):
        return Settings(paths)
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        text = read_text(path).text
        if len(text) > _MOST or any(line.partition("=")[0].count(".") > _DEEPEST for line in text.split("\n")):
            raise ValueError("too large")
        return settings_of(toml.loads(text), paths)
    except UnreadableError as error:
        raise UsageError(error.diagnostic.words()) from None
    except SettingsError as error:
        raise UsageError(usage.cannot_be_used(path=path, why=error.words)) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(usage.is_not_valid_toml(path=path, error=error)) from None


_DEEPEST = 64


def layout_of(directory: str) -> Layout:
    """Folder of an existing playbook, and the way its runs are started."""
    settings = settings_in(directory)
    return Layout(os.path.abspath(directory), settings, trees=trees_here(settings, directory))


def trees_here(settings: Settings, home: str) -> tuple[str, ...]:
    """Options that name those source trees of `playbook.toml`, as seen from its folder, that this machine has."""
    named = {"megatron": settings.megatron.source, "mindformers": settings.mindformers.source}
    return tuple(f"--{name}-source={path}" for name, path in named.items() if _is_tree(home, path))


def _is_tree(home: str, path: str) -> bool:
    return bool(path) and os.path.isdir(os.path.join(home, path))


def plan_text(plan: Plan, texts: Mapping[str, str]) -> str:
    """`plan.json`, with the checksum of every file as it is written."""
    sums = {name: _sum(text.encode()) for name, text in sorted(texts.items()) if name != SETTINGS}
    return json.dumps({**plan.to_json(), "written": sums}, ensure_ascii=False, indent=1) + "\n"


def previous_checksums(directory: str, plan: Plan) -> Mapping[str, str] | None:
    """The checksums of a playbook of the same pair that stands there; None where there is none."""
    try:
        content: Any = json.loads(_read_existing(os.path.join(directory, FILE)))
    except (OSError, UnreadableError, ValueError, RecursionError):
        return None
    same = {**plan.names._asdict(), "reading": list(plan.reading)}
    if not isinstance(content, dict):
        return None
    found = cast("dict[str, Any]", content)
    if any(found.get(name) != value for name, value in same.items()):
        return None
    sums: Any = found.get("written")
    return cast("dict[str, str]", sums) if isinstance(sums, dict) else None


def can_overwrite(texts: Mapping[str, str], directory: str, before: Mapping[str, str] | None) -> bool:
    """True if every file that stands there is as it was written, or already as it is to be."""
    if before is None:
        return False
    for name, text in texts.items():
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            now = _sum(_read_existing(path))
            if now not in (before.get(name), _sum(text.encode())):
                return False
    return True


def with_ticks(texts: Mapping[str, str], directory: str) -> dict[str, str]:
    """The files, with a checklist as a person ticked it where its rows are still the same."""
    kept = dict(texts)
    for name, text in texts.items():
        path = os.path.join(directory, name)
        if os.path.basename(name) == _TICKED and os.path.isfile(path):
            standing = _read_existing(path).decode("utf-8", "replace")
            if _open(standing) == _open(text):
                kept[name] = standing
    return kept


def _read_existing(path: str) -> bytes:
    """A file of the playbook's own, which may be written over."""
    with open_regular(path, remember=False) as stream:
        return stream.read()


def _open(text: str) -> str:
    return re.sub(r"\[[ xX]\]", "[ ]", text)


def _sum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()

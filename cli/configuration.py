"""The project's configuration: `accmap.toml`, or `[tool.accmap]` in `pyproject.toml`, found upwards from the files.

Its keys are those of the typed model in `inputs_model.py`, from which the table that checks them is compiled.
"""

from __future__ import annotations

import os

from ..schemas.border.file_input import is_inside, read_regular, require_inside
from ..schemas.border.inputs import is_link, owners, stands
from ..schemas.diagnostic import UnreadableError
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ..schemas.plain_values import INTEGER_BITS, brief, brief_text
from ..schemas.shared_words import join_words
from .argument_parser import UsageError
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..schemas.diagnostic import Severity
    from ..schemas.message import Words

NAMES = ("accmap.toml", "pyproject.toml")
_ADMINISTRATOR = 0
_TABLE = "[tool.accmap"
_MARK = b"\xef\xbb\xbf"
"""What some editors begin a UTF-8 file with."""
MAX_CONFIGURATION = 1_000_000
_LETTERS, _SIDES = ["a", "b"], ["megatron", "mindformers"]
"""The keys that name the two files of a pair, in either way."""
_LENGTH = ("steps", "dataset-size")
_DEEPEST = 200
"""Parts of a dotted key."""


class Configuration(NamedTuple):
    """Decisions of a project. `path` is None if there is no such file."""

    path: str | None = None
    values: Mapping[str, object] = {}
    ignored: tuple[str, ...] = ()
    """Files outside of any repository that are another user's: what they decide is not taken."""

    @property
    def directory(self) -> str:
        """The directory that paths in the configuration start from."""
        return os.path.dirname(os.path.abspath(self.path)) if self.path else os.getcwd()

    def text(self, key: str) -> str | None:
        """The value of a key that holds a string; None if the key is not set."""
        found = self.values.get(key)
        return found if isinstance(found, str) else None

    def words(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self.values.get(key)
        return tuple(str(word) for word in cast("list[object]", found)) if isinstance(found, list) else ()

    @property
    def accepted_differences(self) -> tuple[str, ...]:
        """Fields and keys that may differ without `verify` running them."""
        table = cast("Mapping[str, list[str]]", self.values.get("verify", {}))
        return tuple(table.get("accept", ()))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Patterns of side a and of side b."""
        return tuple([_patterns_of(row) for row in self._pair_rows])

    def is_side_a(self, file: str) -> bool:
        """True if the file matches the first entry of its pair, so that it is side A."""
        row = self._row_of(file, (*_LETTERS, *_SIDES))
        return row is not None and _match_pattern(_patterns_of(row)[0], self._relative(file)) is not None

    def without_pairs(self) -> Configuration:
        """A copy of the configuration without its pairs."""
        return self._replace(values={key: value for key, value in self.values.items() if key != "pairs"})

    @property
    def _pair_rows(self) -> list[dict[str, object]]:
        return cast("list[dict[str, object]]", self.values.get("pairs", []))

    def number(self, key: str) -> int | None:
        """A number of things."""
        found = self.values.get(key)
        return found if isinstance(found, int) else None

    def length_of(self, file: str) -> tuple[int | None, int | None]:
        """The number of steps of a file's run and samples of its epoch, from its pair or the global settings.

        Where a pair has samples alone, global steps are left out: of the two the steps would decide.
        """
        row = self._row_of(file, _LENGTH)
        steps = (row or self.values).get("steps")
        samples = {**self.values, **(row or {})}.get("dataset-size")
        return steps if isinstance(steps, int) else None, samples if isinstance(samples, int) else None

    def branches_in(self, file: str) -> tuple[str, ...]:
        """The conditions that a file's pair settles."""
        row = self._row_of(file, ("branch",))
        return () if row is None else tuple(cast("list[str]", row["branch"]))

    def pairs_with(self, file: str) -> bool:
        """True if a file belongs to a pair."""
        return self._row_of(file, (*_LETTERS, *_SIDES)) is not None

    def _row_of(self, file: str, keys: Collection[str]) -> Mapping[str, object] | None:
        """The first entry of `pairs` that matches the file and has one of the keys."""
        rows = [row for row in self._pair_rows if not row.keys().isdisjoint(keys)]
        relative = self._relative(file) if rows else ""
        for row in rows:
            if any(_match_pattern(pattern, relative) is not None for pattern in _patterns_of(row)):
                return row
        return None

    @property
    def severities(self) -> dict[str, Severity]:
        """Severities by code."""
        return dict(cast("dict[str, Severity]", self.values.get("severity", {})))

    @property
    def rule_options(self) -> dict[str, object]:
        """Rule options as `CODE.name`."""
        rules = cast("dict[str, dict[str, object]]", self.values.get("rules", {}))
        return {f"{code}.{name}": value for code, options in rules.items() for name, value in options.items()}

    def codes_ignored_in(self, file: str) -> tuple[str, ...]:
        """The codes that are not reported for one file."""
        table = cast("dict[str, list[str]]", self.values.get("per-file-ignores", {}))
        if not table:
            return ()
        from fnmatch import fnmatchcase

        absolute = os.path.abspath(file)
        relative = os.path.relpath(absolute, self.directory)
        return tuple(
            code
            for pattern, codes in table.items()
            if fnmatchcase(relative, pattern) or fnmatchcase(os.path.basename(file), pattern)
            for code in codes
        )

    def partner(self, file: str) -> str | None:
        """The other file of the pair that `file` belongs to, where the configuration names one."""
        relative = self._relative(file)
        for one, other in self.pairs:
            for mine, theirs in ((one, other), (other, one)):
                captured = _match_pattern(mine, relative)
                if captured is not None:
                    return os.path.join(self.directory, _fill_pattern(theirs, captured))
        return None

    def _relative(self, file: str) -> str:
        """The path of a file from the configuration's folder, as the patterns of pairs are matched."""
        absolute, inside = os.path.abspath(file), os.path.join(self.directory, "")
        below = absolute.startswith(inside)
        relative = absolute[len(inside) :] if below else os.path.relpath(absolute, self.directory)
        return relative.replace(os.sep, "/")


def _patterns_of(row: Mapping[str, object]) -> tuple[str, str]:
    """The two patterns of an entry of `pairs`."""
    names = _LETTERS if "a" in row else _SIDES
    return str(row[names[0]]), str(row[names[1]])


def find_configuration(
    start: str,
    read: Callable[[str], str | None] | None = None,
    given: str | None = None,
    *,
    confine: bool = False,
) -> Configuration:
    """The configuration that holds for a file; `read` answers with a file's text, or None where there is none.

    With `confine`, what a configuration extends has to lie below its own folder.
    """
    reader = read or read_configuration
    if given is not None:
        text = reader(given)
        if text is None:
            raise UsageError(say.there_is_no_configuration_file(given=given))
        return _validated_configuration(
            given, toml_table(given, text), _confining_reader(reader, given) if confine else reader, ()
        )
    directory = os.path.abspath(os.path.dirname(start) or ".")
    top = repository_root(directory)
    ignored: list[str] = []
    for folder in _folders_above(directory, top):
        for path, text in _candidate_files(folder, top, reader):
            if top is None and not _is_trusted(path):
                ignored.append(path)
                continue
            table = _toml_table(path, text, required=False)
            if table is not None:
                found = _validated_configuration(
                    path, table, _confining_reader(reader, path) if confine else reader, ()
                )
                return found._replace(ignored=tuple(ignored))
    return Configuration(ignored=tuple(ignored))


def _candidate_files(folder: str, top: str | None, read: Callable[[str], str | None]) -> Iterator[tuple[str, str]]:
    """Files of a folder that may be a configuration, with their texts; links that leave the repository are left out."""
    for name in NAMES:
        path = os.path.join(folder, name)
        if top is not None and is_link(path) and not is_inside(path, top):
            continue
        text = read(path)
        if text is not None:
            yield path, text


def configured_folders(folders: Iterable[str]) -> list[str]:
    """The folders that hold the configurations which the files of some folders would have by themselves, each once."""
    nearest: dict[str, str | None] = {}
    for folder in folders:
        passed: list[str] = []
        found: str | None = None
        for above in _folders_above(folder, repository_root(folder)):
            passed.append(above)
            found = nearest.get(above) or (above if configurations_in(above) else None)
            if found is not None:
                break
        nearest.update(dict.fromkeys(passed, found))
    return sorted({found for found in nearest.values() if found is not None})


def configurations_in(folder: str) -> list[str]:
    """The paths in a folder that would be used as its configuration, by name and content."""
    found: list[str] = []
    for name in NAMES:
        path = os.path.join(folder, name)
        if not stands(path):
            continue
        try:
            if name == NAMES[0] or _TABLE in (read_configuration(path) or ""):
                found.append(path)
        except (UnreadableError, UsageError):
            continue  # it is another project's, and not used
    return found


def _is_trusted(path: str) -> bool:
    """True if a file and a link to it are this user's or the administrator's, as git asks of a repository's folder.

    In a folder that everybody may write to (`/tmp`), anybody could leave a configuration for what lies below.
    """
    if not hasattr(os, "geteuid"):
        return True
    ours = {_ADMINISTRATOR, os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if os.geteuid() == _ADMINISTRATOR and sudo.isascii() and sudo.isdigit() and len(sudo) < 12:
        ours.add(int(sudo))
    found = owners(path)
    return bool(found) and found <= ours


def ignored_configurations(found: Configuration, language: str) -> str | None:
    """The sentence on files that were not used because they are another user's; None where there are none."""
    if not found.ignored:
        return None
    said = say.configurations_of_another if len(found.ignored) > 1 else say.configuration_of_another
    return said(names=join_words(found.ignored)).text(language)


def _confining_reader(read: Callable[[str], str | None], path: str) -> Callable[[str], str | None]:
    """A reader of files that refuses any file outside the folder of `path`."""
    root = os.path.dirname(os.path.abspath(path))

    def text(name: str) -> str | None:
        require_inside(name, root)
        return read(name)

    return text


def repository_root(directory: str) -> str | None:
    """The folder of the repository that a folder belongs to; None outside of any."""
    for folder in _folders_above(directory, None):
        if stands(os.path.join(folder, ".git")):
            return folder
    return None


def confining_folder(configuration: Configuration, start: str) -> str:
    """The folder that `--confine` keeps reading to: the configuration's, the repository's, else the file's own."""
    if configuration.path is not None:
        return configuration.directory
    directory = os.path.abspath(os.path.dirname(start) or ".")
    return repository_root(directory) or directory


def _folders_above(directory: str, top: str | None) -> Iterator[str]:
    """The folder and those above it, up to `top`."""
    above = ""
    while directory != above:
        yield directory
        if directory == top:
            return
        above, directory = directory, os.path.dirname(directory)


def read_configuration(path: str) -> str | None:
    """The text of a configuration file; None where there is none."""
    return None if not stands(path) else configuration_text(path, read_regular(path, limit=MAX_CONFIGURATION))


def configuration_text(path: str, data: bytes) -> str:
    """The text of a configuration file."""
    try:
        return data.removeprefix(_MARK).decode()  # the codec that leaves the mark out would be a module more
    except UnicodeDecodeError as error:
        raise UsageError(say.is_not_utf_8(path=path, error=error)) from None


def toml_table(path: str, text: str) -> dict[str, object]:
    """Table of accmap in a TOML file; UsageError if it is not TOML."""
    return _toml_table(path, text, required=True) or {}


def _toml_table(path: str, text: str, *, required: bool) -> dict[str, object] | None:
    """Accmap's table of a TOML text; None for a `pyproject.toml` without one, unless required (then it is empty)."""
    inside = os.path.basename(path) == "pyproject.toml"
    if inside and _TABLE not in text and not required:
        return None
    if not text.strip():
        return {}
    import sys
    from importlib import import_module

    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        if any(line.partition("=")[0].count(".") > _DEEPEST for line in text.split("\n")):
            raise RecursionError  # the parser takes the square of a key's length
        parsed = cast("dict[str, object]", tomllib.loads(text))
    except RecursionError:
        raise UsageError(say.is_nested_too_deep(path=path)) from None
    except ValueError as error:
        raise UsageError(say.is_not_valid_toml(path=path, error=error)) from None
    if not inside:
        _require_short_integers(path, parsed)
        return parsed
    tool = parsed.get("tool", {})
    table = cast("dict[str, object]", tool).get("accmap") if isinstance(tool, dict) else None
    _require_short_integers(path, table)
    return cast("dict[str, object]", table) if isinstance(table, dict) else {} if required else None


def _require_short_integers(path: str, table: object) -> None:
    """UsageError for an integer of more than the 64 bits that TOML has; Python does not write one of 4,300 digits."""
    waiting = [table]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(cast("dict[str, object]", value).values())
        elif isinstance(value, list):
            waiting.extend(cast("list[object]", value))
        elif isinstance(value, int) and value.bit_length() >= INTEGER_BITS:
            raise UsageError(say.is_not_valid_toml(path=path, error=say.integer_too_long(value=brief_text(value))))


def _validated_configuration(
    path: str, table: dict[str, object], read: Callable[[str], str | None], seen: Sequence[str]
) -> Configuration:
    """The configuration of a parsed table with those it extends merged in; UsageError for anything unknown in it."""
    from .configuration_compiled import KEYS

    for key, value in table.items():
        if key not in KEYS:
            raise UsageError(say.there_is_no_key(path=path, key=key, hint=_key_hint(key, KEYS)))
        _check_type(path, key, value, KEYS[key])
    for row in cast("list[dict[str, object]]", table.get("pairs", [])):
        _require_two_sides(path, row)
    for key in ("severity", "rules"):
        check_codes(list(cast("dict[str, object]", table.get(key, {}))), f"{path}: {key}")
    for key in ("select", "ignore", "extend-select"):
        check_codes(cast("list[str]", table.get(key, [])), f"{path}: {key}")
    for codes in cast("dict[str, list[str]]", table.get("per-file-ignores", {})).values():
        check_codes(codes, f"{path}: per-file-ignores")
    above = table.get("extend")
    if isinstance(above, str):
        other = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(path)), above))
        if other in seen or other == os.path.abspath(path):
            raise UsageError(say.extend_leads_back_to(path=path, other=other))
        text = read(other)
        if text is None:
            raise UsageError(say.extend_names_which_does_not(path=path, above=above))
        base = _validated_configuration(other, toml_table(other, text), read, (*seen, os.path.abspath(path)))
        table = {**base.values, **table}
    return Configuration(path, table)


def _require_two_sides(path: str, row: Mapping[str, object]) -> None:
    """UsageError for an entry of `pairs` that does not name two files, in one way."""
    given = [name for name in (*_LETTERS, *_SIDES) if name in row]
    if given in (_LETTERS, _SIDES):
        return
    names = _LETTERS if given and given[0] in _LETTERS else _SIDES
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(say.an_entry_of_needs(path=path, key="pairs", name=missing[0]))
    raise UsageError(say.a_pair_has_two_names(path=path, given=", ".join(given)))


def _check_type(path: str, key: str, value: object, schema: Mapping[str, Any]) -> None:
    """UsageError for a value that its key's schema does not allow, or for one within it."""
    choices = schema.get("enum")
    if choices is not None:
        if value not in choices:
            listed = ", ".join(map(str, choices))
            raise UsageError(say.is_it_must_be_one(path=path, key=key, value=brief(value), listed=listed))
        return
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
        raise UsageError(say.must_be_a_toml_not(path=path, key=key, kind=kind, value=brief(value)))
    if isinstance(value, int):
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if not least <= value <= most:
            raise UsageError(say.counts_from_not(path=path, key=key, least=least, most=most, value=brief(value)))
    if isinstance(value, list):
        for entry in cast("list[object]", value):
            _check_type(path, key, entry, schema["items"])
    elif isinstance(value, dict):
        _check_table(path, key, cast("dict[str, object]", value), schema)


_TYPES: dict[str, type] = {"string": str, "array": list, "object": dict, "integer": int}


def _check_table(path: str, key: str, given: dict[str, object], schema: Mapping[str, Any]) -> None:
    """Raise a UsageError for a key of an inner table that is missing, unknown, or of the wrong type."""
    known: Mapping[str, Any] = schema.get("properties", {})
    others = schema["additionalProperties"]
    for name in schema.get("required", ()):
        if name not in given:
            raise UsageError(say.an_entry_of_needs(path=path, key=key, name=name))
    from .configuration_compiled import KEYS

    for name, entry in given.items():
        if name in KEYS and name not in known:
            # The line was written below the table's header, and was meant for the file.
            inside = os.path.basename(path) == "pyproject.toml"
            raise UsageError(
                (say.belongs_below_its_header if inside else say.belongs_above_tables)(path=path, key=key, name=name)
            )
        inner = known.get(name, others)
        if inner is False:
            raise UsageError(say.has_no(path=path, key=key, name=name, hint=_key_hint(name, known)))
        if inner is not True:
            _check_type(path, f"{key}.{name}", entry, inner)


def check_codes(given: Sequence[str], where: str) -> None:
    """UsageError for a code that does not exist."""
    if not given:
        return
    from ..rules.registry import every_code, is_known

    known = every_code()
    for code in given:
        if not is_known(code, known):
            from ..schemas.suggestion import suggestion

            raise UsageError(say.there_is_no_code(where=where, code=code, hint=suggestion(code, known)))


def _key_hint(given: str, known: Mapping[str, object]) -> Words:
    """Hint at the key that was probably meant, or a list of all."""
    if given == "cache-dir":  # what cannot be a key
        return say.cache_is_found_before()
    from ..schemas.suggestion import suggestion

    return suggestion(given, known) or say.the_keys_are(listed=", ".join(known))


def _match_pattern(pattern: str, path: str) -> tuple[str, ...] | None:
    """Texts that the stars of a pattern stand for, if the path fits it; each takes as much as it can.

    From the right, each star learns for every place of the path the farthest place at which the rest still fits: the
    cost is the length of the path for each star, whatever they say.
    """
    parts = _parts.get(pattern)
    if parts is None:
        import re

        parts = _parts[pattern] = re.split(r"(\*\*|\*)", os.path.normpath(pattern).replace(os.sep, "/"))
    if len(parts) == 1:
        return () if path == parts[0] else None
    if len(pattern) > _LONGEST_PATTERN or not (path.startswith(parts[0]) and path.endswith(parts[-1])):
        return None
    farthest: list[list[int]] = []
    fits = [False] * (len(path) + 1)
    fits[len(path) - len(parts[-1])] = True
    for at in range(len(parts) - 2, 0, -2):
        stops = _stops(fits, path, across=parts[at] == "**")
        text = parts[at - 1]
        size = len(text)
        fits = [path.startswith(text, place) and stops[place + size] >= 0 for place in range(len(path) + 1 - size)] + [
            False
        ] * size
        farthest.insert(0, stops)
    if not fits[0]:
        return None
    found: list[str] = []
    place = len(parts[0])
    for stops, text in zip(farthest, parts[2::2], strict=True):
        found.append(path[place : stops[place]])
        place = stops[place] + len(text)
    return tuple(found)


def _stops(fits: list[bool], path: str, *, across: bool) -> list[int]:
    """For every place, the farthest one at which a star that begins there may end; -1 where there is none."""
    stops = [-1] * len(fits)
    behind = -1
    for place in range(len(path), -1, -1):
        if not across and path.startswith("/", place):
            behind = -1
        if behind < 0 and fits[place]:
            behind = place
        stops[place] = behind
    return stops


_LONGEST_PATTERN = 4096
_parts: dict[str, list[str]] = {}


def _fill_pattern(pattern: str, captured: tuple[str, ...]) -> str:
    import re

    left = list(captured)
    return re.sub(r"\*\*|\*", lambda _: left.pop(0) if left else "", pattern)

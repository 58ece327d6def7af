"""The same input to a reader of accmap and to the program whose files it reads: both refuse it, or both answer alike.

Each function answers with the difference, or None. What accmap reports (a word that is not resolved, a construct that
it does not read) is no difference; a value that is silently another one is.
"""

from __future__ import annotations

import math
import pickle
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import yaml
from scripts import Script
from yamls import Document

from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.shell.script import read_script
from accmap.schemas.source import SourceText
from accmap.schemas.yaml_reader.document import read_yaml

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from accmap.schemas.diagnostic import Diagnostic

BATCH = 20
"""Scripts that one driver starts."""
RECORDER = """torchrun() { printf '%s\\0' "$@" >&9; printf '\\1\\0' >&9; }\n"""
DRIVER = """
for (( n = 0; n < $1; n++ )); do
  ( cd "s$n" && ulimit -t 5 && exec bash --norc run.sh ) 9> "r$n" < /dev/null > /dev/null 2>&1
done
"""


# --- bash ---


def bash(chance: random.Random, bench: Path) -> str | None:
    """Scripts of the grammar: the arguments of the chosen launch are those of the last start that bash makes."""
    texts = [Script(chance).text() for _ in range(BATCH)]
    for text, wanted in zip(texts, started(texts, bench), strict=True):
        if difference := compare_script(text, wanted):
            return f"{difference}\n{text}"
    return None


def started(texts: list[str], bench: Path) -> list[list[str] | None]:
    """The arguments of the last start that bash makes in each script; None if it starts nothing."""
    for number, text in enumerate(texts):
        (bench / f"s{number}").mkdir(exist_ok=True)
        (bench / f"s{number}" / "run.sh").write_text(text, "utf-8")
    (bench / "recorder.sh").write_text(RECORDER, "utf-8")
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/h", "BASH_ENV": str(bench / "recorder.sh")}
    subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", DRIVER, "run.sh", str(len(texts))],
        cwd=bench, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    runs = [(bench / f"r{number}").read_bytes().decode("utf-8", "surrogateescape") for number in range(len(texts))]
    return [run.split("\1\0")[-2].split("\0")[1:-1] if "\1\0" in run else None for run in runs]


def compare_script(text: str, wanted: list[str] | None) -> str | None:
    """A difference between accmap's reading and the arguments of the last start of bash (None: it starts nothing)."""
    options = ReadOptions(unset_empty=True, variables={"HOME": "/h", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    try:
        reading = read_script(SourceText("run.sh", text), options, missing, path="run.sh", cwd="/w")
    except UnreadableError:
        return None
    launch = reading.chosen
    if launch is None or reading.unresolved or any(map(_is_a_limit, reading.problems)):
        return None
    ours = [argument.text for argument in launch.arguments]
    return (
        None
        if ours == wanted
        else f"bash starts nothing\nread {ours}"
        if wanted is None
        else f"bash starts other words\nread {ours}, really {wanted}"
    )


def _is_a_limit(problem: Diagnostic) -> bool:
    """True for what says that bash may start something else; of a loop the first start is read."""
    return problem.kind.severity != "info" or problem.kind.name == "launch-in-a-loop"


def missing(path: str) -> SourceText:
    from accmap.schemas.diagnostic import diagnose
    from accmap.schemas.messages_compiled import say

    raise UnreadableError(diagnose(say.missing(path=path), path))


# --- YAML ---


def pyyaml(chance: random.Random, _bench: Path) -> str | None:
    """A document of the grammar, against `yaml.safe_load`."""
    return compare_yaml(Document(chance).text())


def compare_yaml(text: str) -> str | None:
    try:
        wanted: Any = yaml.load(text, yaml.SafeLoader)
        refused = ""
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, OverflowError, KeyError) as error:
        wanted, refused = None, f"{type(error).__name__}: {error}"
    try:
        # of a file the byte order mark is taken off before its text is read
        read = read_yaml(SourceText("a.yaml", text.removeprefix("\ufeff")))
    except UnreadableError as error:
        bounded = error.diagnostic.kind.name in ("recursive-alias", "unreadable-value", "too-many-values")
        return (
            None
            if refused or bounded or refused_by_libyaml(text)
            else f"YAML refused, is valid\n{error}\n{text!r}\n{wanted!r}"
        )
    ours = read.value
    if refused:
        return f"YAML read, is invalid\n{ours!r}\n{refused}\n{text!r}"
    if any(problem.kind.name == "merge-order" for problem in read.problems):
        return None
    # PyYAML 6.0.4 takes the mappings of a merge in another order than 6.0.3.
    alike = same(ours, wanted) or ("<<" in text and same(_ordered(ours), _ordered(wanted)))
    return None if alike else f"YAML of another value\nread {ours!r}\nreally {wanted!r}\n{text!r}"


def _ordered(value: Any) -> Any:
    """The value with the keys of its mappings in one order."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=repr)}
    return [_ordered(entry) for entry in value] if isinstance(value, list) else value


def refused_by_libyaml(text: str) -> bool:
    """True if PyYAML's reader in C refuses a text: it takes a little less than the one in Python."""
    try:
        yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, OverflowError, KeyError, RecursionError):
        return True
    return False


def same(one: Any, other: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart; a NaN equals itself, and what is not made equals anything."""
    if type(one).__name__ == "Record":
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=False)
        return len(one) == len(other) and all(same(a, c) and same(b, d) for (a, b), (c, d) in pairs)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


# --- arrays and checkpoints ---


def numpy(chance: random.Random, bench: Path) -> str | None:
    """A file of `numpy.save`, whole or damaged, against `numpy.load`."""
    import numpy as np
    from array_files import damaged, npy

    from accmap.evidence.arrays import read_array

    path = bench / "a.npy"
    path.write_bytes(damaged(npy(chance), chance))
    try:
        wanted = np.load(path, allow_pickle=False)
        refused = ""
    except Exception as error:  # noqa: BLE001 - whatever its parser raises is its answer
        wanted, refused = None, f"{type(error).__name__}: {error}"
    try:
        ours = np.asarray(read_array(str(path)))
    except UnreadableError:
        return None  # fewer kinds are read than numpy knows, and the reason is told
    if refused or wanted is None:
        return f"npy read, is invalid\n{ours!r}\n{refused}"
    if wanted.dtype.kind == "V":
        return None
    alike = ours.shape == wanted.shape and ours.dtype == wanted.dtype and ours.tobytes() == wanted.tobytes()
    return None if alike else f"npy of other numbers\n{ours!r}\n{wanted!r}"


def safetensors(chance: random.Random, bench: Path) -> str | None:
    """A file of safetensors, whole or damaged, against the format's own library."""
    from array_files import damaged, safetensors_file
    from safetensors import SafetensorError, safe_open

    from accmap.evidence.weights.tensor_files import read_header

    path = bench / "a.safetensors"
    path.write_bytes(damaged(safetensors_file(chance), chance))
    wanted: dict[str, tuple[Any, ...]] = {}
    refused = ""
    try:
        with safe_open(path, "np") as opened:
            for name in opened.keys():  # noqa: SIM118 - it is no dictionary
                piece = opened.get_slice(name)
                wanted[name] = (piece.get_dtype(), tuple(piece.get_shape()))
    except (SafetensorError, OSError, ValueError) as error:
        refused = f"{type(error).__name__}: {error}"
    try:
        ours = {name: (stored.dtype, tuple(stored.shape)) for name, stored in read_header(str(path)).items()}
    except UnreadableError:
        return None
    if refused:
        return f"safetensors read, is invalid\n{ours!r}\n{refused}"
    return None if ours == wanted else f"safetensors of other tensors\n{ours!r}\n{wanted!r}"


def pickled(chance: random.Random, bench: Path) -> str | None:
    """Plain values in a pickle of any protocol, against Python's own unpickler."""
    from array_files import plain_value

    from accmap.evidence.weights.checkpoint_pickle import read_pickle

    value = plain_value(chance, 3)
    data = pickle.dumps(value, chance.randrange(6))
    if chance.random() < 0.5:
        data = pickle.dumps([value, value, {"a": value}], chance.randrange(6))
    try:
        ours = read_pickle(data, "a.pkl")
    except UnreadableError:
        return None
    wanted = pickle.loads(data)
    return None if same(ours, wanted) else f"pickle of another value\n{ours!r}\n{wanted!r}"


def json_value(chance: random.Random, _bench: Path) -> str | None:
    """A JSON text, whole or damaged, against Python's own reader."""
    import json

    from array_files import damaged, plain_value

    from accmap.evidence.bounded_files import parse_json

    data = json.dumps(plain_value(chance, 3, json=True), ensure_ascii=chance.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )
    data = damaged(data, chance)
    try:
        wanted: Any = json.loads(data.decode("utf-8-sig"))
        refused = ""
    except (ValueError, RecursionError) as error:
        wanted, refused = None, f"{type(error).__name__}: {error}"
    try:
        ours = parse_json(data, 10)
    except ValueError:
        return None
    if refused:
        return f"JSON read, is invalid\n{ours!r}\n{refused}"
    return None if same(ours, wanted) else f"JSON of another value\n{ours!r}\n{wanted!r}"

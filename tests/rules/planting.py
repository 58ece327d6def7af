"""Plants single faults into an equal pair: a changed value, a deleted key, an added key, another name for a key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accmap.cli.configuration import Configuration
from accmap.cli.linting.file_groups import read_side
from accmap.cli.linting.linter import check_group
from accmap.cli.linting.settings import Reader, Settings
from accmap.mapper.recipe.reading import side_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from accmap.rules.subject import Side
    from accmap.schemas.config import Setting
    from accmap.schemas.diagnostic import Diagnostic

# What is found is the question here; `fix_sweep.py` plants the same faults and tries their fixes.
SETTINGS = Settings(Configuration(), ReadOptions(), "align", (), (), tries_fixes=False)
GUIDE = {
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "num_key_value_heads": "n_kv_heads",
    "n_routed_experts": "num_experts",
    "num_experts_per_tok": "num_experts_chosen",
    "rope_theta": "rotary_base",
    "initializer_range": "init_method_std",
    "num_nextn_predict_layers": "mtp_depth",
    "n_group": "n_groups",
    "moe_router_dtype": "router_dense_type",
    "params_dtype": "param_init_type",
    "moe_aux_loss_coeff": "aux_loss_factor",
    "layernorm_compute_dtype": "layernorm_compute_type",
    "softmax_compute_dtype": "softmax_compute_type",
}
"""Names of the accuracy guide, most of which some version ignores."""
WORDS = {
    "bfloat16": "float16", "float32": "bfloat16", "float16": "float32", "fp32": "fp64", "silu": "gelu",
    "RMSNorm": "LayerNorm", "sigmoid": "softmax", "softmax": "sigmoid", "cosine": "linear", "rope": "learned_absolute",
    "yarn": "rope",
    "seq_aux_loss": "global_aux_loss", "aux_loss": "none", "alltoall": "allgather",
    "AdamW": "AdamWeightDecay",
    "CosineWithWarmUpLR": "PolynomialWithWarmUpLR",
    "adam": "sgd",
}  # fmt: skip


class Fault(NamedTuple):
    """One planted fault: the new text, and the lines where a finding may point."""

    what: str
    file: str
    text: str
    lines: range


def other_value(text: str, value: object) -> str | None:
    """A different value of the same kind, as it is written."""
    if isinstance(value, bool):
        return "False" if value else "True"
    if isinstance(value, int):
        return str(value + 1 if value % 2 or value < 2 else value * 2)
    if isinstance(value, float):
        return repr(value * 2 if value else 0.25) if "e" not in repr(value * 2) else f"{value * 2:.1e}"
    return WORDS.get(text)


def yaml_faults(file: str, source: SourceText, side: Side) -> Iterator[Fault]:
    """Changes and deletions in a YAML."""
    lines = source.text.split("\n")
    for setting in side.config.settings.values():
        span = setting.span
        if setting.origin != "explicit" or span is None or span.line != span.end_line or "<<" in setting.key:
            continue
        line = lines[span.line - 1]
        written = line[span.column - 1 : span.end_column - 1]
        changed = other_value(written, setting.value)
        if changed is not None:
            new = line[: span.column - 1] + changed + line[span.end_column - 1 :]
            yield Fault(
                f"change {setting.key} {written} -> {changed}", file, joined(lines, span.line, new), lines_at(span.line)
            )
        key = setting.key.rpartition(".")[2]
        if re.fullmatch(rf"\s*{re.escape(key)}: .*", line):
            place = range(section_start(lines, span.line), section_end(lines, span.line) + 1)
            yield Fault(f"delete {setting.key}", file, joined(lines, span.line, None), place)


def renamed_faults(file: str, source: SourceText, side: Side) -> Iterator[Fault]:
    """Values moved to another name: one of the guide's, or one that no version knows."""
    lines = source.text.split("\n")
    for setting in side.config.settings.values():
        span = setting.span
        if setting.origin != "explicit" or span is None or span.line != span.end_line:
            continue
        line, key = lines[span.line - 1], setting.key.rpartition(".")[2]
        if not re.fullmatch(rf"\s*{re.escape(key)}: .*", line):
            continue
        place = range(section_start(lines, span.line), section_end(lines, span.line) + 1)
        for name in (GUIDE.get(key), f"{key}_x"):
            if name is not None:
                text = joined(lines, span.line, line.replace(f"{key}:", f"{name}:", 1))
                yield Fault(f"rename {setting.key} to {name}", file, text, place)


def lines_at(number: int) -> range:
    return range(number, number + 1)


def joined(lines: list[str], number: int, new: str | None) -> str:
    return "\n".join([*lines[: number - 1], *([] if new is None else [new]), *lines[number:]])


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))  # the dash of a list entry counts as indentation


def section_start(lines: list[str], number: int) -> int:
    depth = indentation(lines[number - 1])
    at = number
    while at > 1 and (not lines[at - 2].strip() or indentation(lines[at - 2]) >= depth):
        at -= 1
    return at


def section_end(lines: list[str], number: int) -> int:
    depth = indentation(lines[number - 1])
    at = number
    while at < len(lines) and (not lines[at].strip() or indentation(lines[at]) >= depth):
        at += 1
    return at


def script_faults(file: str, source: SourceText, side: Side) -> Iterator[Fault]:
    """Changes and deletions in a script whose arguments stand one a line."""
    lines = source.text.split("\n")
    for setting in side.config.settings.values():
        span = setting.span
        if setting.origin != "explicit" or span is None or setting.flag is None:
            continue
        line = lines[span.line - 1]
        match = re.fullmatch(r"(\s*)(--[\w-]+)(?:\s+(.*))?", line)
        if match is None or match[2] != setting.flag:
            continue
        yield Fault(f"delete {setting.flag}", file, joined(lines, span.line, None), range(1, len(lines) + 1))
        if match[3] is None or "$" in match[3]:
            continue
        changed = other_script_value(match[3], setting)
        if changed is not None:
            new = f"{match[1]}{match[2]} {changed}"
            yield Fault(
                f"change {setting.flag} {match[3]} -> {changed}",
                file,
                joined(lines, span.line, new),
                lines_at(span.line),
            )


def other_script_value(written: str, setting: Setting) -> str | None:
    if isinstance(setting.value, bool) or not isinstance(setting.value, (int, float)):
        return WORDS.get(written)
    return other_value(written, setting.value)


def added_faults(file: str, source: SourceText, side: Side) -> Iterator[Fault]:
    """Mapped keys that the pair does not give, given with another value."""
    lines = source.text.split("\n")
    megatron = side.framework == "megatron"
    keys: dict[str, None] = {}
    for row in table().rows:
        wanted = row.side(side_of(side.config), side.config.framework_version)
        if wanted is not None:
            keys.update((name, None) for key in wanted.keys for name in key.split("|"))
    for key in keys:
        setting = side.config.settings.get(key)
        if setting is None or setting.origin == "explicit":
            continue
        fault = (_added_flag if megatron else _added_key)(file, lines, key, setting, side)
        if fault is not None:
            yield fault


def _added_flag(file: str, lines: list[str], key: str, setting: Setting, side: Side) -> Fault | None:
    from accmap.schemas.megatron.catalog import catalog

    argument = catalog(side.config.framework_version).by_dest.get(key)
    if argument is None:
        return None
    at = next((number for number, line in enumerate(lines, 1) if line.strip() == "MODEL_ARGS=("), None)
    if at is None:
        return None
    value = setting.value
    if isinstance(value, bool):
        flag = argument.options[0]
    elif isinstance(value, (int, float)):
        flag = f"{argument.options[0]} {other_value('', value)}"
    else:
        return None
    new = [*lines[:at], f"    {flag}", *lines[at:]]
    return Fault(f"add {flag}", file, "\n".join(new), lines_at(at + 1))


def _added_key(file: str, lines: list[str], key: str, setting: Setting, side: Side) -> Fault | None:
    section, _, name = key.rpartition(".")
    changed = other_value(str(setting.value), setting.value)
    if changed is None:
        return None
    inside = [
        entry.span.line
        for other, entry in side.config.settings.items()
        if entry.span is not None and entry.origin == "explicit" and other.rpartition(".")[0] == section
    ]
    if not inside:
        return None
    last = max(inside)
    new = [*lines[:last], f"{' ' * indentation(lines[last - 1])}{name}: {changed}", *lines[last:]]
    return Fault(f"add {key} {setting.value} -> {changed}", file, "\n".join(new), lines_at(last + 1))


def sides_of(texts: dict[str, str], settings: Settings = SETTINGS) -> dict[str, Side]:
    sources = {name: SourceText(name, text) for name, text in texts.items()}
    return {name: read_side(name, settings, Reader(None, sources)) for name in texts}


_known: dict[tuple[str, str, str], Side] = {}


def findings(texts: dict[str, str], settings: Settings = SETTINGS) -> tuple[Diagnostic, ...]:
    """What the linter says of a pair; the file that a fault leaves alone is read once."""
    group: list[Side] = []
    for name, text in texts.items():
        mark = (name, text, repr(settings.options))
        side = _known.get(mark)
        if side is None:
            source = SourceText(name, text)
            side = read_side(name, settings, Reader(None, {name: source}))
            if len(_known) < 40:
                _known[mark] = side
        group.append(side)
    return tuple(check_group(sorted(group, key=lambda entry: entry.framework), settings)[0])


def outcome(
    texts: dict[str, str],
    before: set[str],
    recipes: dict[str, dict[str, object]],
    fault: Fault,
    settings: Settings = SETTINGS,
) -> str:
    """What becomes of a fault: found, found elsewhere, missed, or without effect."""
    changed = {**texts, fault.file: fault.text}
    try:
        after = findings(changed, settings)
    except UnreadableError:
        return "found"
    new = [entry for entry in after if _mark(entry) not in before]
    if any(_points_at(entry, fault) for entry in new):
        return "found"
    side = sides_of({fault.file: fault.text}, settings)[fault.file]
    if values_of(side) == recipes[fault.file]:
        return "without effect"
    if before - marks(after) and not new:
        return "healed"
    return "elsewhere" if new else "missed"


def values_of(side: Side) -> dict[str, object]:
    """What a side computes with: a value that it does not give is the neutral one."""
    known = vocabulary()
    values = {name: entry.value for name, entry in side.recipe.fields.items()}
    return {name: known[name].default if values.get(name) is None else values[name] for name in known}


def marks(entries: tuple[Diagnostic, ...]) -> set[str]:
    return {_mark(entry) for entry in entries}


def _mark(entry: Diagnostic) -> str:
    return f"{entry.kind.code}|{entry.message()}"


def _points_at(entry: Diagnostic, fault: Fault) -> bool:
    places = [(entry.file, entry.span), *((place.file, place.span) for place in entry.related)]
    return any(file == fault.file and span is not None and span.line in fault.lines for file, span in places)


EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT, YAML = "megatron.sh", "mindformers.yaml"
FAULTS = {SCRIPT: (script_faults, added_faults), YAML: (yaml_faults, renamed_faults, added_faults)}


def planted_pair(random: Random, *, most: int) -> dict[str, str]:
    """An example with up to so many faults."""
    folder = random.choice(sorted(filter(Path.is_dir, EXAMPLES.iterdir())))
    texts = {name: (folder / name).read_text("utf-8") for name in (SCRIPT, YAML)}
    for name in random.choices((SCRIPT, YAML), weights=(1, 2), k=random.randint(0, most)):
        text = texts[name]
        plant = random.choice(FAULTS[name])
        faults = list(plant(name, SourceText(name, text), sides_of({name: text})[name]))
        texts[name] = random.choice(faults).text if faults else text
    return texts

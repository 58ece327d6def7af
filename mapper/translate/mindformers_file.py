"""A translation as the YAML of MindSpore Transformers, in its own order of sections."""

from __future__ import annotations

import re
from itertools import pairwise

from ...mappings.keys_compiled import DATASET, DATASET_TASK
from ...schemas.border.text_output import visible
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.versions import number_of, title_of
from .messages_compiled import say
from .yaml_text import Alias, Anchored, block

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from .result import Translation

_BALANCING = "TopkBiasBalanceCallback"


def mindformers_settings(translation: Translation) -> dict[str, Value]:
    """Every key of the written file: the frame the run needs, overlaid by the translation."""
    skeleton = _skeleton_of_dialect(translation)
    settings: dict[str, Value] = dict(skeleton["settings"])
    for last, more in skeleton.get("until", {}).items():
        if number_of(translation.version) <= number_of(last):
            settings.update(more)
    for setting in translation.settings:
        settings[setting.key] = setting.value
        for replaced in skeleton["in_place"].get(setting.key, ()):
            settings.pop(replaced, None)
    if _recipe_value(translation, "moe.router.expert_bias") and _recipe_value(translation, "moe.num_experts"):
        settings[f"callbacks{{{_BALANCING}}}.type"] = _BALANCING
    for key in list(settings):
        if "{" in key:
            name = key.partition("{")[2].partition("}")[0]
            settings.setdefault(f"callbacks{{{name}}}.type", name)
    return settings


def mindformers_text(translation: Translation, *, comments: bool = True, language: Language = "en") -> str:
    """The YAML, its comments in a language."""
    content, names = mindformers_document(translation)
    said = _comments_by_name(translation, names) if comments else {}
    lines: list[str] = []
    if comments:
        lines.append(f"# {title_of_text(translation).text(language)}")
    for section, value in content.items():
        if lines and not isinstance(value, (str, int, float, type(None))):
            lines.append("")
        entry: dict[str, object] = {section: value}
        lines.extend(block(entry, said))
    return "\n".join(lines) + "\n"


def title_of_text(translation: Translation) -> Words:
    """First comment line of a written YAML: its version and source."""
    source = visible(translation.source.rsplit("/", 1)[-1]) or say.standard_input()
    return say.written_yaml(title=title_of("mindformers", translation.version), graph=translation.graph, source=source)


def mindformers_document(translation: Translation) -> tuple[dict[str, Any], dict[str, str]]:
    """The nested document in the order of sections, and the real path of every key the tables name."""
    settings = mindformers_settings(translation)
    order: list[str] = _skeleton_of_dialect(translation)["order"]
    places = {section: place for place, section in enumerate(order)}
    keys = sorted(
        settings, key=lambda key: places.get(key.split(".", 1)[0].split("{", 1)[0].split("[", 1)[0], len(places))
    )
    document: dict[str, Any] = {}
    callbacks: list[str] = []
    names: dict[str, str] = {}
    kinds = sorted((key for key in keys if key.startswith("callbacks{") and key.endswith("}.type")), key=_callback_rank)
    for key in kinds + [key for key in keys if key not in kinds]:
        path = key
        if "{" in key:
            name = key.partition("{")[2].partition("}")[0]
            if name not in callbacks:
                callbacks.append(name)
            path = f"callbacks[{callbacks.index(name)}]{key.partition('}')[2]}"
        names[key] = path
        put(document, path, settings[key])
    ordered = {section: document[section] for section in sorted(document, key=lambda name: places.get(name, 99))}
    if translation.dialect == "static" and DATASET_TASK in ordered:
        ordered[DATASET] = Anchored(DATASET, ordered[DATASET])
        ordered[DATASET_TASK]["dataset_config"] = Alias(DATASET)
    return ordered, names


def _callback_rank(key: str) -> int:
    """Sort key that orders callbacks as the framework's examples do."""
    order = ("MFLossMonitor", _BALANCING, "CheckpointMonitor", "TrainCallBack")
    name = key.partition("{")[2].partition("}")[0]
    return order.index(name) if name in order else len(order)


def _skeleton_of_dialect(translation: Translation) -> Any:
    from ...mappings.families_compiled import SKELETONS

    return SKELETONS[translation.dialect]


def _recipe_value(translation: Translation, field: FieldName) -> Value:
    return translation.recipe.value(field)


def _comments_by_name(translation: Translation, names: Mapping[str, str]) -> dict[str, str]:
    """Comment of each written key."""
    found: dict[str, str] = {}
    for setting in translation.settings:
        if setting.notes and setting.key in names:
            shown = ", ".join(setting.notes[:3]) + (", ..." if len(setting.notes) > 3 else "")
            found[names[setting.key]] = shown
    return found


_NUMBERED = re.compile(r"\[(\d+)\]")
_LISTED = re.compile(r"(.*?)((?:\[\d+\])+)")


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Set `value` at a path like `callbacks[0].type`, creating sections as needed."""
    steps = [step for name in path.split(".") for step in _path_steps(name)]
    place: Any = document
    for step, following in pairwise(steps):
        place = _descend(place, step, [] if isinstance(following, int) else {})
    _extend(place, steps[-1])
    place[steps[-1]] = value


def _path_steps(name: str) -> list[str | int]:
    listed = _LISTED.fullmatch(name)
    return [name] if listed is None else [listed[1], *map(int, _NUMBERED.findall(listed[2]))]


def _descend(place: Any, step: str | int, empty: Any) -> Any:
    """Value at a step of a path, replaced by an empty container if it cannot hold the next step."""
    _extend(place, step)
    found = place[step] if isinstance(step, int) else place.get(step)
    if not isinstance(found, type(empty)):
        found = place[step] = empty
    return found


def _extend(place: Any, step: str | int) -> None:
    """Make a list long enough for a number."""
    if isinstance(step, int):
        place.extend([None] * (step + 1 - len(place)))

"""Rules about inference: settings by which two runs of one model give other answers to one question.

MindSpore Transformers takes its generation settings from the model's configuration (`generation/text_generator.py:
generate`, `GenerationConfig.from_model_config`), transformers takes them from `generation_config.json`.
"""

from __future__ import annotations

from ...mapper.differences import GENERATION
from ...mapper.recipe.reading import is_of_the_network
from ...mapper.recipe.values import Unmapped
from ...mapper.translate.yaml_text import scalar
from ...mappings.inference_compiled import (
    CACHE,
    CHAT_TEMPLATE,
    GREEDY_TASKS,
    INFERENCE,
    LENGTHS,
    NUMBER_TYPES,
    PADDING_SIDE,
    PARALLEL_SIZES,
    PROGRAMS,
    QUANTIZATION,
    SAMPLING,
    SAMPLING_SETTINGS,
    SERVICE_DEVICES,
    SERVICE_LIMITS,
    SETTINGS_OF_SAMPLING,
    SPECIAL_TOKENS,
    TASK,
    TOP_K,
    TOP_P,
    USE_PAST,
    WHOLE_LENGTH,
)
from ...mappings.keys_compiled import PARALLEL_SWITCHES, RUN_MODE
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.file_kind import matches_pattern, runs_inference
from ...schemas.plain_values import is_on
from ..naming import display_value
from ..rule import Change, Found, Repair, at_key, at_span
from .files import folder_differences, network_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ...mapper.recipe.values import Recipe
    from ...schemas.config import Config, Setting, Value
    from ..rule import Place
    from ..subject import Side, Subject

_GREEDY = (None, False, 0, 1)
_RIGHT = "right"
"""The side of padding that MindSpore Transformers counts the length of a text by."""


class SettingOfSide(NamedTuple):
    """One setting of one side."""

    value: Value
    key: str
    """The key as the file has it; of a default the name of the setting."""
    file: str
    is_written: bool
    setting: Setting | None = None


def run_setting(
    config: Config, name: str, own: Mapping[str, Mapping[str, object]] | None = None
) -> SettingOfSide | None:
    """Setting of an inference run: from its file, the named folder or the framework's default."""
    row: Mapping[str, Any] = INFERENCE[name]
    program = program_of(config)
    if name == SAMPLING and program in ("megatron", "mindspeed"):
        return _sampling_of_script(config, program)
    for key in _keys_of(config, row, program):
        setting = config.settings.get(key)
        if setting is not None and setting.decided and (setting.value is not None or setting.origin == "explicit"):
            file = config.file if setting.span is None else setting.span.file or config.file
            return SettingOfSide(_plain(name, setting.value), key, file, setting.origin == "explicit", setting)
    found = None if own is None or "own" not in row else _in_folder(name, [cast("str", row["own"])], own)
    if found is not None:
        return found
    defaults = cast("Mapping[str, Value]", row["defaults"])
    if program not in defaults:
        return None
    return SettingOfSide(_plain(name, defaults[program]), name, config.file, is_written=False)


def program_of(config: Config) -> str:
    """Table name of the program whose settings a file has; empty if unlisted."""
    if config.framework == "mindformers":
        return "mindie" if config.dialect == "other" else "mindformers"
    script = "" if config.launch is None else (config.launch.script or "").rpartition("/")[2]
    return next((program for pattern, program in PROGRAMS if matches_pattern(pattern, script)), "")


def folder_setting(files: Mapping[str, Mapping[str, object]], name: str) -> SettingOfSide | None:
    """Setting as transformers takes it from a model folder."""
    row: Mapping[str, Any] = INFERENCE[name]
    found = _in_folder(name, row["folder"], files)
    if found is not None or "huggingface" not in row["defaults"]:
        return found
    file = next(iter(row["folder"])).partition(" ")[0]
    return SettingOfSide(_plain(name, row["defaults"]["huggingface"]), name, file, False)


def _sampling_of_script(config: Config, program: str) -> SettingOfSide | None:
    """Sampling setting from a script's arguments; None if its tasks differ."""
    if program == "mindspeed":
        task = config.settings.get(TASK)
        if task is None or not task.decided or not task.value:
            return None
        tasks = task.value if isinstance(task.value, (list, tuple)) else [task.value]
        return SettingOfSide(any(one not in GREEDY_TASKS for one in tasks), TASK, config.file, True, task)
    used = [run_setting(config, name) for name in (TOP_K, TOP_P)]
    top_k, top_p = (one for one in used if one is not None)
    samples = top_k if top_k.value not in _GREEDY else _with_value(top_p)
    return (samples or top_k)._replace(value=samples is not None)


def _keys_of(config: Config, row: Mapping[str, Any], program: str) -> Iterator[str]:
    """Keys of a program that a table row names, with their possible paths."""
    if program != "mindformers":
        yield from row.get(program, ())
        return
    above = "model" if config.dialect == "dynamic" else "model.model_config"
    for name in row.get("mindformers", ()):
        if name.startswith("processor."):
            yield name
        else:
            yield from (f"{above}.{name}", f"resolved.model.{name}", f"resolved.transformer.{name}")


def _in_folder(name: str, places: Sequence[str], files: Mapping[str, Mapping[str, object]]) -> SettingOfSide | None:
    """Setting found at one of these places in a model folder's files; None if absent."""
    for place in places:
        file, _, key = place.partition(" ")
        value: object = files.get(file)
        for part in key.split("."):
            value = cast("Mapping[str, object]", value).get(part) if isinstance(value, dict) else None
        if value is not None:
            return SettingOfSide(_plain(name, cast("Value", value)), key, file, True)
    return None


_TYPES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "float": "float32"}
_OF_THE_MODEL = "auto"
"""vLLM's word for the type that the model's folder names."""
_NO_QUANTIZATION = (None, False, 0, "", "none", "None")


def _plain(name: str, value: Value) -> Value:
    """Value in a common form for comparison."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = _number_of(value[0])  # an argument of the program itself, as it is written
    if name == QUANTIZATION:
        return "none" if value in _NO_QUANTIZATION else str(value).lower()
    if name.endswith("dtype") and isinstance(value, str):
        return _plain_type(value)
    if name == CHAT_TEMPLATE and isinstance(value, str):
        return value.strip()
    if name.endswith("token_id") and isinstance(value, list):
        return sorted(value, key=str) if len(value) > 1 else (value[0] if value else None)
    return value


def _plain_type(text: str) -> str | None:
    last = text.rpartition(".")[2].lower()
    return None if last == _OF_THE_MODEL else _TYPES.get(last, last)


def _number_of(text: str) -> Value:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


class _Pair(NamedTuple):
    """One setting on both sides; the place is that of the file that is checked."""

    side: Side
    a: SettingOfSide
    b: SettingOfSide

    @property
    def place(self) -> Place:
        """Place of the key in the checked file, or its start."""
        is_here = self.b.is_written and self.b.setting is not None
        return at_key(self.side, self.b.key) if is_here else _start_of(self.side)

    def repair(self, name: str) -> Repair | None:
        """The repair that gives the checked file the other value; None if it has no place or word for it."""
        held, value = self.b.setting if self.b.is_written else None, self.a.value
        if value is None or name == QUANTIZATION or (held is not None and (held.span is None or held.span.file)):
            return None
        if self.side.config.launch is not None:
            return self._repair_of_launch(held, value)
        key = _key_to_write(self.side.config, name) if held is None else self.b.key
        return None if key is None else Repair("unsafe", (Change("set", at_key(self.side, key), scalar(value)),))

    def _repair_of_launch(self, held: Setting | None, value: Value) -> Repair | None:
        """The repair of an argument with one word."""
        if held is None or held.flag is None or len(held.raw or ()) != 1 or isinstance(value, (bool, list, dict)):
            return None
        return Repair("unsafe", (Change("set", at_key(self.side, held.key), words=(held.flag, str(value))),))

    def values(self, name: str) -> dict[str, object]:
        """The placeholders of a message."""
        return {
            "name": name, "a": _display(self.a.value), "b": _display(self.b.value),
            "a_file": self.a.file, "b_file": self.b.file,
        }  # fmt: skip


def _key_to_write(config: Config, name: str) -> str | None:
    """The key of a YAML that a setting is written to; None for a service, and for a setting that has no key."""
    names = cast("Mapping[str, Any]", INFERENCE[name]).get("mindformers", ())
    if config.framework != "mindformers" or config.dialect == "other" or not names:
        return None
    return next(_keys_of(config, {"mindformers": names[:1]}, "mindformers"))


def _start_of(side: Side) -> Place:
    """Place for something that a file does not write: its run mode or launch."""
    launch = side.config.launch
    return at_key(side, RUN_MODE) if launch is None else at_span(side, launch.span)


def _display(value: Value) -> str:
    """A value as text of at most 80 characters."""
    text = display_value(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _pairs(subject: Subject, name: str) -> Iterator[_Pair]:
    """One setting on both sides: two files, or a file and its benchmark folder."""
    if subject.pair is not None:
        left, right = subject.pair
        a, b = (run_setting(side.config, name, _own(side)) for side in (left, right))
        yield from _known_pair(right, a, b)
        return
    side = subject.sides[0]
    if side.model is not None and side.model.beside:
        a, b = folder_setting(side.model.beside, name), run_setting(side.config, name, _own(side))
        yield from _known_pair(side, a, b)


def _known_pair(side: Side, a: SettingOfSide | None, b: SettingOfSide | None) -> Iterator[_Pair]:
    """Pair if both sides have the setting and neither leaves it to the model."""
    if a is not None and b is not None and not _is_left_to_model(a) and not _is_left_to_model(b):
        yield _Pair(side, a, b)


def _is_left_to_model(told: SettingOfSide) -> bool:
    return told.value is None and told.setting is not None and told.setting.value is not None


def _own(side: Side) -> Mapping[str, Mapping[str, object]] | None:
    """The folder that a run itself reads."""
    return side.model.beside if side.model is not None and side.model.key is not None else None


def _differences(subject: Subject, *names: str) -> Iterator[Found]:
    for name in names:
        for pair in _pairs(subject, name):
            if not _is_equal(pair.a.value, pair.b.value):
                yield Found(pair.place, pair.values(name), repair=pair.repair(name))


def _is_equal(a: Value, b: Value) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return float(a) == float(b)
    return a == b


def _samples(config: Config, own: Mapping[str, Mapping[str, object]] | None) -> SettingOfSide | None:
    """Setting by which a run samples tokens; None for greedy decoding."""
    return _with_value(run_setting(config, SAMPLING, own))


def _with_value(told: SettingOfSide | None) -> SettingOfSide | None:
    return told if told is not None and told.value not in (None, False, 0, 0.0) else None


def find_sampling(subject: Subject) -> Iterator[Found]:
    """Sampling in a file itself."""
    for side in subject.sides:
        told = _samples(side.config, _own(side))
        if told is not None:
            place = at_key(side, told.key) if told.is_written else _start_of(side)
            value = told.value if told.setting is None else told.setting.value
            yield Found(place, {"key": told.key, "value": display_value(value)})


def compare_sampling_settings(subject: Subject) -> Iterator[Found]:
    """Findings on sampling settings that differ, if both sides sample."""
    yield from _differences(subject, *SAMPLING_SETTINGS)
    sampling = [_samples(side.config, _own(side)) for side in subject.sides]
    if subject.pair is None:
        sampling += [_with_value(pair.a) for pair in _pairs(subject, SAMPLING)]
    if all(told is not None for told in sampling):
        yield from _differences(subject, *SETTINGS_OF_SAMPLING)


def other_special_tokens(subject: Subject) -> Iterator[Found]:
    """Findings on begin, end and padding ids that differ."""
    return _differences(subject, *SPECIAL_TOKENS)


def other_padding(subject: Subject) -> Iterator[Found]:
    """Finding if the padding side differs."""
    for side in subject.sides:
        told = run_setting(side.config, PADDING_SIDE, _own(side)) if side.framework == "mindformers" else None
        if told is not None and told.value == "left":
            is_own = told.is_written and told.file == side.config.file
            key = told.key if is_own else _key_to_write(side.config, PADDING_SIDE)
            repair = key and Repair("unsafe", (Change("set", at_key(side, key), _RIGHT),))
            yield Found(at_key(side, told.key if is_own else RUN_MODE), {"file": told.file}, repair=repair or None)
    if subject.pair is not None:
        for pair in _pairs(subject, PADDING_SIDE):
            if pair.a.value != pair.b.value and "left" not in (pair.b.value,):
                yield Found(pair.place, pair.values(PADDING_SIDE), variant="pair")


def other_chat_template(subject: Subject) -> Iterator[Found]:
    """Finding if the chat template differs."""
    for pair in _pairs(subject, CHAT_TEMPLATE):
        if pair.a.value != pair.b.value:
            at = _first_difference(str(pair.a.value), str(pair.b.value))
            yield Found(pair.place, {**pair.values(CHAT_TEMPLATE), "at": at})


def _first_difference(a: str, b: str) -> int:
    return next((at for at, (one, two) in enumerate(zip(a, b, strict=False), 1) if one != two), min(len(a), len(b)) + 1)


def other_length(subject: Subject) -> Iterator[Found]:
    """Finding if the maximum answer length differs."""
    for name in LENGTHS:
        for pair in _pairs(subject, name):
            written = [pair.a.is_written, pair.b.is_written]
            says = any(written) if subject.pair is not None else all(written)
            if says and not _is_equal(pair.a.value, pair.b.value):
                yield Found(pair.place, pair.values(name))
    for pair in _pairs(subject, WHOLE_LENGTH):
        if pair.a.is_written and pair.b.is_written and not _is_equal(pair.a.value, pair.b.value):
            yield Found(pair.place, pair.values(WHOLE_LENGTH))


def other_quantization(subject: Subject) -> Iterator[Found]:
    """Quantized weights or activations on one side."""
    return _differences(subject, QUANTIZATION)


def other_types(subject: Subject) -> Iterator[Found]:
    """The number types of weights and of the computation; a key that decides both on both sides counts once."""
    reported: set[tuple[str, str]] = set()
    for name in NUMBER_TYPES:
        for pair in _pairs(subject, name):
            keys = pair.a.key, pair.b.key
            if keys not in reported and not _is_equal(pair.a.value, pair.b.value):
                reported.add(keys)
                yield Found(pair.place, pair.values(name), repair=pair.repair(name))


def recomputes_past(subject: Subject) -> Iterator[Found]:
    """Older classes compute the whole text again for each token unless `use_past` is on; the newer ones never do."""
    for side in subject.sides:
        told = run_setting(side.config, USE_PAST) if side.config.dialect == "legacy" else None
        if told is not None and not is_on(told.value):
            yield Found(at_key(side, told.key if told.is_written else RUN_MODE), {})


def cache_too_small(subject: Subject) -> Iterator[Found]:
    """Finding if the key-value cache cannot hold the longest texts of a batch."""
    for side in subject.sides:
        numbers = [_number(side.config, name) for name in CACHE]
        if side.framework != "mindformers" or None in numbers:
            continue
        size, blocks, batch, length = (cast("int", one) for one in numbers)
        if size > 0 and batch * length // size > blocks:
            place = next(key for key in _places(CACHE[1]) if key in side.config.settings)
            values = {"size": size, "blocks": blocks, "batch": batch, "length": length}
            yield Found(at_key(side, place), values)


def _places(name: str) -> tuple[str, ...]:
    """The keys under which a setting of the model may stand, by priority."""
    return (f"model.model_config.{name}", f"resolved.model.{name}", f"resolved.transformer.{name}")


def _number(config: Config, name: str) -> int | None:
    values = [config.settings[key].value for key in _places(name) if key in config.settings]
    return next((one for one in values if isinstance(one, int) and not isinstance(one, bool)), None)


def another_network(subject: Subject) -> Iterator[Found]:
    """Finding if the run's network differs from its model folder's."""
    for side in subject.sides:
        if side.model is not None:
            yield from folder_differences(side, side.model)
    if subject.pair is not None:
        left, right = subject.pair
        for found in network_differences(right, left.recipe):
            yield found._replace(variant="pair")


def service_limits(subject: Subject) -> Iterator[Found]:
    """Findings on numbers of a MindIE service that its limits or the run refuse."""
    for side in subject.sides:
        if program_of(side.config) != "mindie":
            continue
        for key, limit in SERVICE_LIMITS:
            value, most = (side.config.value(name) for name in (key, limit))
            if isinstance(value, int) and isinstance(most, int) and value > most:
                values = {"key": _last(key), "value": value, "limit": _last(limit), "most": most}
                lower = Repair("unsafe", (Change("set", at_key(side, key), str(most)),))
                yield Found(at_key(side, key), values, repair=lower)
        partner = subject.partner(side)
        devices, used = side.config.value(SERVICE_DEVICES), None if partner is None else _devices(partner.config)
        if partner is not None and used is not None and devices is not None and devices != used:
            values = {"devices": devices, "file": partner.config.file, "used": used}
            yield Found(at_key(side, SERVICE_DEVICES), values, variant="devices")


def _last(key: str) -> str:
    """The last part of a dotted key."""
    return key.rpartition(".")[2]


def _devices(config: Config) -> int | None:
    """Number of devices of a predict YAML; None if it does not set its parallel sizes."""
    if config.framework != "mindformers":
        return None
    if config.writes(PARALLEL_SWITCHES[0]) and not config.is_on(PARALLEL_SWITCHES[0]):
        return 1
    product = 1
    for key in PARALLEL_SIZES:
        size = config.value(key)
        if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
            return None
        product *= 1 if size is None else size
    return product if any(config.writes(key) for key in PARALLEL_SIZES) else None


def add_generation(
    configs: Sequence[Config], sides: Sequence[Recipe], beside: Sequence[Mapping[str, Mapping[str, object]]]
) -> list[Recipe]:
    """Recipes of networks, whose keys without a field are the settings of inference, by one name on both sides."""
    recipes: list[Recipe] = []
    for config, recipe, files in zip(configs, _known_networks(sides), beside, strict=True):
        found = list(recipe.unmapped)
        own = cast("Mapping[str, Mapping[str, Any]]", INFERENCE)
        samples = _samples(config, None) if runs_inference(config) else _with_value(folder_setting(files, SAMPLING))
        idle = {"": False, "sampling": samples is None, "never": True}
        for name, row in own.items():
            told = run_setting(config, name) if runs_inference(config) else folder_setting(files, name)
            if told is not None and not _is_left_to_model(told):
                span = None if told.setting is None else told.setting.span
                impact = "none" if idle[row.get("counts", "")] else "numerics"
                found.append(Unmapped(GENERATION + name, told.value, span, impact, "", ""))
        recipes.append(recipe._replace(unmapped=tuple(found)))
    return recipes


def _known_networks(sides: Sequence[Recipe]) -> Iterator[Recipe]:
    """Recipes reduced to network fields that every side decides."""
    unknown = {name for side in sides for name, value in side.fields.items() if not value.decided}
    for side in sides:
        keys: tuple[Unmapped, ...] = ()
        if _LAYERS in unknown:
            layers = side.fields.get(_LAYERS)
            decided = layers is not None and layers.decided
            value = "described" if decided else None
            keys = (Unmapped(GENERATION + "network", value, None, "numerics", "", "", decided),)
        known = {name: value for name, value in side.fields.items() if is_of_the_network(name) and name not in unknown}
        yield side._replace(fields=known, unmapped=keys)


_LAYERS = "model.num_layers"

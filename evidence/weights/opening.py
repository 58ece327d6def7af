"""Opens a checkpoint, and gives each framework's account of its model, the missing one translated from the other."""

from __future__ import annotations

import json
import re
from math import prod
from typing import TYPE_CHECKING, Any

from ...mapper.recipe.reading import recipe_of
from ...mapper.weight_layout import OPEN, UndecidedSizeError, expected_weights, layout_of
from ...mapper.weights import Layout, WeightTable
from ...schemas.config import ReadOptions
from ...schemas.fast_records import NamedTuple
from ...schemas.installation import check_memory, install_command
from .huggingface_files import HuggingFaceFiles, further_layers
from .megatron_dist import MegatronDist
from .megatron_torch import MegatronTorch
from .messages_compiled import say
from .mindformers_files import MindFormersFiles
from .model import VOCABULARY, Found, checkpoint_or_stop
from .weight import Computed, list_names, raise_unreadable, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...schemas.config import Config, Framework
    from .model import Checkpoint
    from .weight import Shape, Weight

_FORMS = {"torch": MegatronTorch, "torch_dist": MegatronDist, "safetensors": MindFormersFiles, "ckpt": MindFormersFiles}


def open_checkpoint(path: str | Found) -> Checkpoint:
    """The checkpoint at a path; UnreadableError where it is damaged or none."""
    try:
        import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        check_memory(error)
        raise_unreadable(say.extra_needed(package="numpy", install=install_command("evidence")), str(path))
    found = checkpoint_or_stop(path) if isinstance(path, str) else path
    return HuggingFaceFiles(found) if found.framework == "huggingface" else _FORMS[found.form](found)


class Side(NamedTuple):
    """One framework's account of the model."""

    config: Config
    recipe: Recipe
    source: str
    """The file it is from, for messages."""


class Sides(NamedTuple):
    """The model as each framework's configuration describes it."""

    megatron: Side
    mindformers: Side
    layout: Layout
    given: tuple[Framework, ...] = ("megatron", "mindformers")
    """Whose account was given; the other one is translated from it."""
    huggingface: Side | None = None
    """The model's `config.json`, where one is given or stands beside the weights."""

    @property
    def has_arrangement(self) -> bool:
        """True if a MindSpore Transformers file says how the rows are arranged; otherwise it is assumed."""
        return "mindformers" in self.given

    def of(self, framework: Framework) -> Side:
        """One framework's account."""
        if framework == "huggingface":
            assert self.huggingface is not None
            return self.huggingface
        return self.megatron if framework == "megatron" else self.mindformers

    def expected_shapes(self, framework: Framework) -> dict[str, Shape]:
        """Every weight of the model with its shape, as one framework's configuration has it."""
        try:
            further = self._further_layers() if framework == "huggingface" else None
            found = expected_weights(self.of(framework).recipe, further)
            if framework not in self.given:
                # A translation fills a vocabulary that only the tokenizer knows with the model class's own size.
                source = expected_weights(self.of(self.given[0]).recipe)
                for name in VOCABULARY:
                    if source.get(name, (None,))[0] == OPEN and name in found:
                        found[name] = (OPEN, *found[name][1:])
        except UndecidedSizeError as error:
            raise_unreadable(say.open_size(file=error.file, fields=", ".join(error.fields)), error.file)
        return found

    def _further_layers(self) -> int:
        """Layers of multi-token prediction in a model folder: those that a run asks for, if the folder has any."""
        runs = [self.of(framework) for framework in self.given if framework != "huggingface"]
        asked = [side.recipe.value("mtp.num_layers") for side in runs]
        wanted = next((count for count in asked if isinstance(count, int)), 0)
        return wanted if self.huggingface is not None and further_layers(self.huggingface.config) else 0


def sides_of(
    configs: Sequence[Config],
    checkpoints: Sequence[Checkpoint],
    options: ReadOptions | None = None,
    *,
    described: bool = False,
) -> Sides | None:
    """Both frameworks' accounts, from the given files, else from the arguments in a checkpoint; None without either.

    What is not given for a framework is what `accmap convert` writes for it; with `described` a `config.json`, too.
    """
    options = options or ReadOptions()
    known = _given_sides(configs, checkpoints, options)
    if not known:
        return None
    first = next(known[name] for name in ("megatron", "mindformers", "huggingface") if name in known)
    megatron = known.get("megatron") or _translate_side(first.config, "megatron", options)
    mindformers = known.get("mindformers") or _translate_side(first.config, "mindformers", options)
    layout = _weight_layout(first, mindformers, checkpoints, given="mindformers" in known)
    model = known.get("huggingface") or (_model_side(first) if described else None)
    return Sides(megatron, mindformers, layout, tuple(known), model)


def configs_of_ends(
    configs: Sequence[Config], first: Framework, second: Framework
) -> tuple[list[Config], list[Config]]:
    """The configurations of a first and of a second checkpoint; UnreadableError if it is open whose one is.

    Two of one framework describe two checkpoints of it, in this order. Any other configuration describes both.
    """
    repeated = [config for config in configs if sum(other.framework == config.framework for other in configs) > 1]
    if not repeated:
        return list(configs), list(configs)
    if len(repeated) > len(("first", "second")) or {repeated[0].framework} != {first, second}:
        files = list_names(config.file for config in repeated)
        raise_unreadable(say.several_configurations(files=files, framework=repeated[0].framework), repeated[0].file)
    return [one for one in configs if one is not repeated[1]], [one for one in configs if one is not repeated[0]]


def _given_sides(
    configs: Sequence[Config], checkpoints: Sequence[Checkpoint], options: ReadOptions
) -> dict[Framework, Side]:
    """The given accounts: the files, a model folder's own `config.json`, else the arguments in a checkpoint."""
    known: dict[Framework, Side] = {}
    for config in configs:
        known[config.framework] = Side(config, recipe_of(config), config.file)
    for one in checkpoints:
        if isinstance(one, HuggingFaceFiles):
            known.setdefault("huggingface", Side(one.config, recipe_of(one.config), one.config.file))
    speaking = next((one for one in checkpoints if one.arguments), None)
    if not known and speaking is not None and speaking.arguments:
        config = config_of_arguments(speaking.arguments, f"{speaking.folder} (args)", options)
        known["megatron"] = Side(config, recipe_of(config), config.file)
    return known


def _weight_layout(first: Side, mindformers: Side, checkpoints: Sequence[Checkpoint], *, given: bool) -> Layout:
    """The layout: the model of the first side, arranged as MindSpore Transformers' file or checkpoint has it."""
    try:
        layout = layout_of(first.recipe, mindformers.config)
    except UndecidedSizeError as error:
        raise_unreadable(say.open_size(file=error.file, fields=", ".join(error.fields)), error.file)
    seen = next((one for one in checkpoints if one.framework == "mindformers"), None)
    if given or seen is None:
        return layout
    names = inferred_layout(seen)
    return layout._replace(
        dynamic=names.dynamic,
        mla_concatenated=names.mla_concatenated,
        # What is written without a file may be for the other graph than the checkpoint is.
        mlp_interleaved=names.dynamic or (layout.mlp_interleaved and not layout.dynamic),
    )


def _model_side(side: Side) -> Side:
    """The `config.json` of a run's network; UnreadableError where no family of transformers has it."""
    from ...mapper.translate.model_file import model_file

    made = model_file(side.config)
    lost = [row for row in made.translation.rows if row.changes_numbers and row.defines_model]
    written = made.translation.written
    if lost or written is None:
        names = ", ".join(dict.fromkeys(row.field or ", ".join(row.source) for row in lost))
        raise_unreadable(say.no_model_of_transformers(source=side.source, names=names), side.source)
    name = f"{side.source} (config.json)"
    return Side(written._replace(file=name), recipe_of(written), name)


def written_model(config: Config, without: tuple[str, ...] = ()) -> str:
    """A `config.json` as it is written beside the weights: what the file says, but for the keys `without`."""
    keys = {key: one.value for key, one in config.settings.items() if one.origin == "explicit" and key not in without}
    return json.dumps(keys, indent=2) + "\n"


def _translate_side(config: Config, framework: Framework, options: ReadOptions) -> Side:
    """The other framework's configuration, as `accmap convert` writes it, read back."""
    from ...mapper.translate.read_back import text_of
    from ...mapper.translate.translation import translate_as_asked
    from ...schemas.reader import config_of
    from ...schemas.source import SourceText

    text = text_of(translate_as_asked(config, options, framework), comments=False)
    name = f"{config.file} (converted)"
    path = "converted.sh" if framework == "megatron" else "converted.yaml"
    made = config_of(SourceText(name, text), options, path=path)._replace(file=name)
    return Side(made, recipe_of(made), name)


def config_of_arguments(arguments: Mapping[str, Any], name: str, options: ReadOptions) -> Config:
    """The configuration that the arguments in a checkpoint state, read as the block that Megatron-LM prints of them."""
    from ...schemas.reader import config_of
    from ...schemas.source import SourceText

    lines = [
        f"  {key} {'.' * max(1, 48 - len(key))} {_print_value(key, value)}"
        for key, value in arguments.items()
        if re.fullmatch(r"[A-Za-z_]\w*", key)
    ]
    text = "\n".join(
        (
            "------------------------ arguments ------------------------",
            *lines,
            "-------------------- end of arguments ---------------------",
            "",
        )
    )
    return config_of(SourceText(name, text), options, path="arguments.log")._replace(file=name)


_TYPES = {"F64": "torch.float64", "F32": "torch.float32", "F16": "torch.float16", "BF16": "torch.bfloat16"}


def _print_value(key: str, value: Any) -> str:
    """A value as `print` shows it; what is no plain value as None."""
    if key.endswith("dtype") and isinstance(value, str) and value in _TYPES:
        return _TYPES[value]
    if _is_plain(value):
        return " ".join(_as_text(value).split())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_as_text(item, repr) if _is_plain(item) else "None" for item in value) + "]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "None"


def _as_text(value: Any, write: Callable[[Any], str] = str) -> str:
    """The text of a plain value; a number that fits no framework's integer is hexadecimal, which no argument takes."""
    return hex(value) if isinstance(value, int) and value.bit_length() > _BITS else write(value)


_BITS = 64


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def inferred_layout(checkpoint: Checkpoint) -> Layout:
    """The arrangement as far as names and shapes of a checkpoint show it; for checks without a configuration."""
    shapes = checkpoint.shapes()
    names = list(shapes)

    def any_of(*endings: str) -> bool:
        return any(name.endswith(endings) for name in names)

    latent = any_of("linear_kv_up_proj.weight", "linear_kvb.weight")
    router = next((shape for name, shape in shapes.items() if name.endswith("router.weight")), None)
    stacked = next((shape for name, shape in shapes.items() if name.endswith("experts.weight1")), None)
    return Layout(
        norm="LayerNorm" if any_of("final_layernorm.bias", "final_layernorm.beta") else "RMSNorm",
        gated=_is_gated(shapes),
        experts=router[0] if router else 0,
        mla=latent,
        q_lora=any_of("linear_q_up_proj.weight", "linear_qb.weight"),
        mla_concatenated=latent and any_of("linear_kvb.weight"),
        dynamic=checkpoint.framework == "mindformers" and stacked is not None and len(stacked) == 3,
    )


def _is_gated(shapes: Mapping[str, Shape]) -> bool:
    """True if a first projection has twice the rows of the second one's columns."""
    for name, shape in shapes.items():
        second = shapes.get(name.replace("linear_fc1.weight", "linear_fc2.weight"))
        if name.endswith("linear_fc1.weight") and second and len(shape) == 2 and len(second) == 2:
            return shape[0] == 2 * second[1]
    first = next((shape for name, shape in shapes.items() if name.endswith("experts.weight1")), None)
    second = next((shape for name, shape in shapes.items() if name.endswith("experts.weight2")), None)
    return True if first is None or second is None else prod(first) == 2 * prod(second)


def shift_norm_scales(weights: Mapping[str, Weight], table: WeightTable, here: Side, there: Side) -> dict[str, Weight]:
    """The weights of one side, under Megatron-Core's names, with the scales of their norms as the other stores them.

    Megatron-LM's `--apply-layernorm-1p` stores an offset from one: `transformer_engine.py:TENorm` and
    `fused_layer_norm.py:FusedLayerNorm` add the one before they scale; MindSpore Transformers and transformers store
    the scale. A moved scale stands in float32, because numbers near one and near zero are not on the same grid of
    16 bits.
    """
    by = sum(sign * (side.recipe.value("norm.zero_centered_gamma") is True) for sign, side in ((1, here), (-1, there)))
    if not by:
        return dict(weights)
    return {name: _shift_scale(weight, by) if _is_scale(table, name) else weight for name, weight in weights.items()}


def _is_scale(table: WeightTable, name: str) -> bool:
    pairing = table.find_pairing("megatron", name)
    return pairing is not None and pairing.scales


def _shift_scale(weight: Weight, by: int) -> Weight:
    """Norm scale plus an offset, in float32 or wider."""
    dtype = "F64" if weight.dtype == "F64" else "F32"

    def blocks() -> Iterator[Any]:
        for block in weight.blocks():
            wide = widen(block, weight.dtype)
            yield wide + wide.dtype.type(by)

    return Computed(dtype, weight.shape, weight.file, blocks)

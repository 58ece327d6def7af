"""The computed quantities of a run: `computed.…` of the recipe, each side by its own framework's formulas.

What a formula asked for feeds the quantity (`keys`). Where it needs what cannot be decided, or is given values of a
kind that nobody expects, the quantity is undecided; no formula ends a command.
"""

from __future__ import annotations

from ...mappings.keys_compiled import RESOLVED_CLASS, RESOLVED_NETWORK
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.rows import TOO_ODD, UndecidedError
from ..recipe.values import RecipeValue
from .results import Values, round_digits, sight, spectrum

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value
    from .results import Ends, ModelClass, Network

    Turning = tuple[tuple[float, ...], float]
    Part = tuple[tuple[FieldName, ...], Values, Callable[[], tuple[Value, ...]]]
    from collections.abc import Mapping


_LAYERS: tuple[FieldName, ...] = ("computed.layers", "computed.parameters_by_kind")
_ENDS: tuple[FieldName, ...] = ("computed.embedding_parameters", "computed.parameters", "computed.active_parameters")
_SCALE: tuple[FieldName, ...] = ("computed.attention_scale",)
_ROTARY: tuple[FieldName, ...] = ("computed.rotary_frequencies", "computed.rotary_amplitude")
_SIGHT: tuple[FieldName, ...] = ("computed.visible_positions",)
_SAMPLES: tuple[FieldName, ...] = ("computed.samples",)
_RATES: tuple[FieldName, ...] = ("computed.learning_rates",)
_STEP: tuple[FieldName, ...] = ("computed.tokens_per_step",)
_WEIGHTING: tuple[FieldName, ...] = ("computed.loss_weighting",)
_TERMS: tuple[FieldName, ...] = ("computed.loss_terms",)
_DECAY: tuple[FieldName, ...] = ("computed.weight_decay",)
_BEGINNING: tuple[FieldName, ...] = ("computed.initial_deviations",)
_DOCUMENTS: tuple[FieldName, ...] = ("computed.visible_documents",)


def computed_quantities(config: Config) -> dict[FieldName, RecipeValue]:
    """All quantities that formulas compute for a configuration, as recipe fields."""
    if config.framework == "huggingface":
        from ..recipe.huggingface import huggingface_recipe

        fields = huggingface_recipe(config).fields
        return {name: value for name, value in fields.items() if name.startswith("computed.")}
    found: dict[FieldName, RecipeValue] = {}
    for names, values, formula in (
        _megatron_parts(config) if config.framework == "megatron" else _mindformers_parts(config)
    ):
        found.update(_evaluate_fields(names, values, formula))
    return found


def _evaluate_fields(
    names: tuple[FieldName, ...], values: Values, formula: Callable[[], tuple[Value, ...]]
) -> dict[FieldName, RecipeValue]:
    """Recipe values of a formula's fields, with the keys that it read; undecided if it cannot be computed."""
    try:
        results, decided = formula(), True
    except (UndecidedError, *TOO_ODD):
        results, decided = (None,) * len(names), False
    keys = values.take_keys()
    return {
        one: RecipeValue(result, "derived", None, keys, decided) for one, result in zip(names, results, strict=True)
    }


def _megatron_parts(config: Config) -> list[Part]:
    """The formulas of a Megatron launch, each with the fields that it fills and the settings that it reads."""
    from .megatron import (
        decay,
        deviations,
        documents,
        ends,
        loss_weighting,
        network,
        rotary,
        samples,
        scale,
        terms,
        tokens_per_step,
        windows,
    )

    args = Values(config)
    network_of_file = _memoize_network(args, lambda: network(args))
    return [
        (_LAYERS, args, lambda: _layer_quantities(network_of_file())),
        (_ENDS, args, lambda: _parameter_counts(network_of_file(), ends(args))),
        (_SCALE, args, lambda: (round_digits(scale(args)),)),
        (_ROTARY, args, lambda: _rotary_quantities(rotary(args))),
        (_SIGHT, args, lambda: (sight(windows(args)),)),
        (_SAMPLES, args, lambda: (samples(args),)),
        (_RATES, args, lambda: _curve(config, args)),
        (_STEP, args, lambda: (tokens_per_step(args),)),
        (_WEIGHTING, args, lambda: (loss_weighting(args),)),
        (_TERMS, args, lambda: (terms(args),)),
        (_DECAY, args, lambda: (decay(args),)),
        (_BEGINNING, args, lambda: (deviations(args),)),
        (_DOCUMENTS, args, lambda: (documents(args),)),
    ]


def _mindformers_parts(config: Config) -> list[Part]:
    """The formulas of a MindFormers YAML, each with the fields that it fills and the settings that it reads."""
    from .mindformers import (
        decay,
        deviations,
        documents,
        ends,
        loss_weighting,
        model_class,
        network,
        rotary,
        samples,
        scale,
        terms,
        tokens_per_step,
        windows,
    )

    values = Values(config, f"{RESOLVED_NETWORK}.")

    def model_of_file() -> ModelClass:
        return model_class(values.get(RESOLVED_CLASS), config.dialect, config.framework_version)

    network_of_file = _memoize_network(values, lambda: network(values, model_of_file()))
    return [
        (_LAYERS, values, lambda: _layer_quantities(network_of_file())),
        (_ENDS, values, lambda: _parameter_counts(network_of_file(), ends(values, model_of_file()))),
        (_SCALE, values, lambda: (round_digits(scale(values, model_of_file())),)),
        (_ROTARY, values, lambda: _rotary_quantities(rotary(values, model_of_file()))),
        (_SIGHT, values, lambda: (sight(windows(values, config.dialect)),)),
        (_SAMPLES, values, lambda: (samples(values, config.dialect),)),
        (_RATES, values, lambda: _curve(config, values)),
        (_STEP, values, lambda: (tokens_per_step(values, config.dialect),)),
        (_WEIGHTING, values, lambda: (loss_weighting(values, config.dialect),)),
        (_TERMS, values, lambda: (terms(values, model_of_file, config.dialect),)),
        (_DECAY, values, lambda: (decay(values),)),
        (_BEGINNING, values, lambda: (deviations(values, model_of_file, config.dialect),)),
        (_DOCUMENTS, values, lambda: (documents(values, config.dialect),)),
    ]


def _curve(config: Config, values: Values) -> tuple[Value, ...]:
    """Learning-rate quantities, computed by the schedule engine."""
    from ..schedule.from_config import feeds_of

    values.again(feeds_of(config))
    return (rates(config),)


def _memoize_network(values: Values, build: Callable[[], Network]) -> Callable[[], Network]:
    """Function that builds the network once; each call notes the settings that it depends on."""
    kept: list[Network] = []
    keys: list[str] = []

    def network_of_file() -> Network:
        if not kept:
            kept.append(build())
            keys.extend(values.take_keys())
        values.again(keys)
        return kept[0]

    return network_of_file


def _layer_quantities(network: Network) -> tuple[Value, ...]:
    return network.kinds(), network.by_kind()


def _rotary_quantities(rotary: Turning | None) -> tuple[Value, ...]:
    return (None, None) if rotary is None else (spectrum(rotary[0]), round_digits(rotary[1]))


def _parameter_counts(network: Network, ends: Ends) -> tuple[Value, ...]:
    return ends.by_kind(), network.total(ends), network.active(ends)


def rates(config: Config) -> Mapping[str, Value]:
    """The rates of the first two updates, the highest at an end of a piece, and those of the middle and the last one.

    `training.py:training_log` and `optimizer_param_scheduler.py` on one side, `core/lr/lr_schedule.py` on the other;
    which step a piece ends at is each engine's own.
    """
    from ..schedule.curve import UndecidedError as OpenError
    from ..schedule.from_config import schedule_of

    try:
        schedule = schedule_of(config)
    except OpenError as error:
        raise UndecidedError from error
    last = schedule.steps
    if not last or last < 0:
        raise UndecidedError
    curve = schedule.learning_rate
    ends = {min(max(piece.start + near, 0), last - 1) for piece in curve.pieces for near in (-1, 0)}
    return {
        "first": curve.value(0),
        "second": curve.value(min(1, last - 1)),
        "highest": max(map(curve.value, ends)),
        "middle": curve.value(last // 2),
        "last": curve.value(last - 1),
    }

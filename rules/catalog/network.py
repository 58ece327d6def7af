"""Rules of the network checklist that are more than a comparison."""

from __future__ import annotations

from ...mapper.computed.facts_compiled import SINCE
from ...mapper.gates import counts
from ...mappings.keys_compiled import (
    ACTIVATION,
    FUSED_ACTIVATION,
    INTERLEAVED_ROTARY,
    OTHER_ACTIVATIONS,
    VOCABULARY,
    VOCABULARY_DIVISOR,
)
from ...schemas.fast_records import TYPE_CHECKING
from ..comparison import difference, with_repair
from ..messages_compiled import say
from ..naming import describe_origin, display_value, key_of
from ..places import places_of
from ..rule import Found, Note, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mappings.names_compiled import FieldName
    from ..subject import Side, Subject


def position_types_differ(subject: Subject) -> Iterator[Found]:
    """Finding if the kinds of position embedding differ; YaRN with factor 1 counts as rotary."""
    name = "position.type"
    both = subject.decided_pair(name)
    if both is None or both.a.value == both.b.value:
        return
    left, right, a, b = both
    found = difference(name, a.value, b.value, left, right)
    if all(_plain_rotary(side) for side in (left, right)):
        yield found._replace(variant="alike", severity="info")
    else:
        yield with_repair(found, name, left, right)


def _plain_rotary(side: Side) -> bool:
    kind = side.value("position.type")
    return kind == "rope" or (kind == "yarn" and side.value("position.yarn.factor") == 1)


def interleaved_rotary(subject: Subject) -> Iterator[Found]:
    """The static graph fails with interleaved rotary positions, or ignores them."""
    side = subject.mindformers
    given = None if side is None else side.explicit(INTERLEAVED_ROTARY)
    if side is not None and given is not None and given.is_on and side.config.dialect != "dynamic":
        yield Found(at_key(side, given.key), {"version": side.config.framework_version})


def latent_attention_local(subject: Subject) -> Iterator[Found]:
    """Megatron's own attention has no widths for latent attention: only Transformer Engine's does."""
    side = subject.megatron
    if side is None or side.value("attention.latent.enabled") is not True:
        return
    if side.value("environment.transformer_impl") == "local":
        yield Found(on(side, "environment.transformer_impl"))


def yarn_mscale(subject: Subject) -> Iterator[Found]:
    """Finding if YaRN's temperature factors make the two formulas differ.

    MindSpore Transformers before 1.8 has no such factor, whatever its file says. Its older classes have Megatron-LM's
    formula.
    """
    pair = subject.of_two_frameworks
    if pair is None or not _extends(subject):
        return
    left, right = pair
    if right.config.dialect == "legacy":
        return
    scales = right.config.framework_version in SINCE["mindformers"]["extended_amplitude"]
    for side in subject.sides if scales else (left,):
        one, other = side.value("position.yarn.mscale"), side.value("position.yarn.mscale_all_dim")
        if one != other and counts("position.yarn.mscale", side.recipe) is not False:
            values = {
                "mscale": display_value(one),
                "all_dim": display_value(other),
                "version": right.config.framework_version,
            }
            yield Found(on(side, "position.yarn.mscale"), values, variant="" if scales else "none")


def _extends(subject: Subject) -> bool:
    """True if both sides use YaRN and one extends the length."""
    yarn = all(side.value("position.type") == "yarn" for side in subject.sides)
    return yarn and not all(_plain_rotary(side) for side in subject.sides)


def dropout_in_alignment(subject: Subject) -> Iterator[Found]:
    """Finding if dropout is on, which makes steps random."""
    for side in subject.sides:
        for name in ("model.hidden_dropout", "attention.dropout"):
            value = side.value(name)
            if isinstance(value, (int, float)) and value > 0:
                yield Found(on(side, name), {"key": key_of(side, name), "value": display_value(value)}, fields=(name,))


def attention_dropout_without_effect(subject: Subject) -> Iterator[Found]:
    """Finding if the dynamic graph's attention dropout is set, which it ignores."""
    pair = subject.pair
    if pair is None:
        return
    name = "attention.dropout"
    for (left, right), title in zip((pair, pair[::-1]), subject.names(), strict=True):
        if right.config.dialect != "dynamic" or left.config.dialect == "dynamic":
            continue
        one, other = left.value(name), right.value(name)
        if isinstance(one, float) and one > 0 and isinstance(other, float) and other > 0:
            note = Note(on(left, name), *say.drops_attention_weights().both())
            values = {"key": key_of(right, name), "value": display_value(other), "other": display_value(one)}
            yield Found(on(right, name), {**values, "other_side": title}, (note,))


def latent_attention_bias(subject: Subject) -> Iterator[Found]:
    """The output projection of multi-latent attention loses its bias."""
    side = subject.mindformers
    if side is None:
        return
    if side.value("attention.latent.enabled") is True and side.value("model.bias_linear") is True:
        yield Found(
            on(side, "model.bias_linear"),
            notes=(Note(on(side, "attention.latent.enabled"), *say.latent_attention().both()),),
        )


def mtp_with_tied_embeddings(subject: Subject) -> Iterator[Found]:
    """Multi-token prediction cannot be built with tied embeddings."""
    side = subject.mindformers
    if side is None:
        return
    depth = side.value("mtp.num_layers")
    if isinstance(depth, int) and depth > 0 and side.value("model.tie_embeddings") is True:
        yield Found(
            on(side, "model.tie_embeddings"),
            notes=(Note(on(side, "mtp.num_layers"), *say.multi_token_prediction().both()),),
        )


def swiglu_fusion(subject: Subject) -> Iterator[Found]:
    """SwiGLU is fused on both sides or on neither."""
    pair = subject.of_two_frameworks
    if pair is None or not all(side.value("activation.gated") for side in pair):
        return
    left, right = pair
    if left.value("activation.function") != "silu":
        return
    fused = left.value("fusion.bias_swiglu") is not False
    function = right.config.value(ACTIVATION)
    also = function == "fusedswiglu" or (function == "swiglu" and right.config.is_on(FUSED_ACTIVATION))
    if fused == also:
        return
    values: dict[str, object] = {}
    sides: tuple[tuple[str, Side, FieldName, bool], ...] = (
        ("a", left, "fusion.bias_swiglu", fused),
        ("b", right, "activation.function", also),
    )
    for letter, side, name, one in sides:
        values[letter], values[f"{letter}_zh"] = (say.fused() if one else say.small_operators()).both()
        origin = describe_origin(side, name, places_of(side).spots(name))
        values[f"{letter}_from"], values[f"{letter}_from_zh"] = origin.both()
    note = Note(on(left, "fusion.bias_swiglu"), *say.fusion_of_other_side().both())
    # By default Megatron-LM fuses and MindSpore Transformers does not; the other way round somebody chose it.
    severity = "warning" if also and subject.profile == "align" else None
    yield Found(on(right, "activation.function"), values, (note,), severity=severity)


def two_activations(subject: Subject) -> Iterator[Found]:
    """Megatron-LM refuses another activation together with SwiGLU."""
    side = subject.megatron
    if side is None or not side.config.is_on("swiglu"):
        return
    for key in OTHER_ACTIVATIONS:
        given = side.explicit(key)
        if given is not None and given.is_on:
            note = Note(at_key(side, "swiglu"), *say.swiglu_asked_for().both())
            yield Found(at_key(side, key), {"flag": given.flag or key}, (note,))


def vocabulary_padded(subject: Subject) -> Iterator[Found]:
    """Remark on vocabularies that differ in number but are equal after padding."""
    if subject.of_two_frameworks is None:
        return
    left, right = subject.of_two_frameworks
    size, padded = left.value("model.vocab_size"), left.value("model.padded_vocab_size")
    divisor = left.value("model.vocab_divisor")
    at = at_key(left, VOCABULARY_DIVISOR)
    if padded is None:
        if left.explicit(at.name) is not None:
            yield Found(at, {"divisor": display_value(divisor)}, variant="unknown")
        return
    given = right.explicit(VOCABULARY["dynamic" if right.config.dialect == "dynamic" else "static"])
    if given is None or given.value != padded or not isinstance(size, int):
        return
    if padded == size + (left.value("tokenizer.type") == "NullTokenizer") and left.explicit(at.name) is None:
        return  # the null tokenizer adds one token, and nothing is padded
    values = {"size": display_value(size), "padded": display_value(padded), "divisor": display_value(divisor)}
    note = Note(on(left, "model.vocab_size"), *say.tokens_before_padding(size=size).both())
    notes = (
        note,
        Note(at_key(left, VOCABULARY_DIVISOR), *say.padded_to_multiple(divisor=divisor).both()),
    )
    yield Found(at_key(right, given.key), values, notes)

"""Local norms: the norm of each parameter's gradient, as logs print them, and the two sides' matched by parameter.

What is read, with its source:

- Megatron-LM after the guide's change to `optimizer.py`: `print torch local norm:` and on the next line a list of
  tensors, the *squared* norms in the order of the optimizer's parameters; such a list has no names.
- MindSpore Transformers with `runner_wrapper.local_norm` (`MFLossMonitor`): `norm_size:` with the number of elements of
  each gradient, `local_norm:` and an array of squared norms (`wrapper.py:LocalNorm`), without names.
- `TrainingStateMonitor` (`local_norm/NAME: value`), the dynamic graph's monitor (`{ "local_norm": NAME: value }`) and
  MindSpore's `dump local norm: NAME value`: norms, with names. Lines of the first of these forms are read in either
  framework's log, so that a patched Megatron-LM can name its parameters too.

`order_of` names the parameters of a list without names by a configuration, `table_of` joins the names of both sides.
Both frameworks print such a list in the order of the optimizer's parameters: in the order of the model's parameters,
those with weight decay in one group and those without (biases and one-dimensional ones) in another, the group of the
first parameter first (Megatron-LM 0.12 `optimizer/__init__.py:_get_param_groups`, MindSpore Transformers 1.9
`optimizer_grouped_parameters.py`). The order of the model's parameters was measured on both real models (dense,
experts, latent attention) with Megatron-Core's local layer specification. Transformer Engine's keeps the same order
within each of the two groups, but for biases: with them a list of Megatron-LM is not named, nor is one of another
length.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ...schemas.plain_values import number_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mapper.weights import Framework, Layout, WeightTable

_LISTS = re.compile(
    rb"print torch local norm:[^\n]{0,256}\n[^\[\n]{0,256}(?:\n[^\[\n]{0,256})?(?P<torch>\[[^\n]*\])"
    rb"|norm_size:(?P<sizes>[^:]*)\blocal_norm:\s{0,256}(?P<mindspore>\[[^\]:]*\])"
    rb"|(?:Epoch:\[ {0,16}(?P<epoch>\d{1,12})/ {0,16}\d{1,12}\], "
    rb"step:\[ {0,16}(?P<step>\d{1,12})/ {0,16}(?P<length>\d{1,12})\] {0,16})?"
    rb"\blocal_norm/(?P<name>[^\s:]{1,256}) {0,16}: {0,16}(?P<value>[^\s,}]{1,64})"
    rb'|\{ "step": (?P<at>\d{1,12})(?:, "micro_step": (?P<micro>\d{1,12}))? \}'
    rb'|\{ "local_norm": (?P<named>[^\s:]{1,256}): {0,16}(?P<norm>[^\s}]{1,64}) \}'
    rb"|dump local norm:\s{1,64}(?P<dumped>[\w.]{1,256})\s{1,64}(?:Tensor\([^)]{0,256}?value= {0,16})?"
    rb"(?P<of>[-+.\w]{1,64})"
)
"""What repeats is bounded: else a line of many beginnings would be read to its end from each of them."""
_BEGINNING = re.compile(rb"print torch local norm:|norm_size:|dump local norm:")
_TRAINING = re.compile(rb"elapsed time per iteration|per_step_time:")
"""A training line follows the norms of its step: a list that has not ended there never does."""
_TENSOR = re.compile(rb"tensor\(\s*([^,)\s]+)")
_NAMED_TENSOR = re.compile(rb"['\"]([\w.]+)['\"]\s*[:,]\s*(?:tensor\(\s*)?([^,)\s\]}]+)")
_BELOW = re.compile(r"(?:^|\.)((?:embedding|decoder|mtp|output_layer)\..+)")
_FUSED = (
    (re.compile(r"\.self_attention\.linear_qkv\.layer_norm_"), ".input_layernorm."),
    (re.compile(r"\.self_attention\.linear_(q|kv)_up_proj\.layer_norm_"), r".self_attention.\1_layernorm."),
    (re.compile(r"\.mlp\.linear_fc1\.layer_norm_"), ".pre_mlp_layernorm."),
    (re.compile(r"\.experts\.linear_(fc[12])\.weight(\d+)$"), r".experts.local_experts.\2.linear_\1.weight"),
)
"""What Transformer Engine fuses into a layer has a name of its own with the local specification, as in the table."""
_LONGEST_BLOCK = 1 << 22
_FLOOR = 1e-6
"""What rounding in float32 leaves of a gradient that is zero, as a share of the step's largest norm."""
FIRST_STEPS = (1, 2)
"""The steps whose norms the guide compares."""
_PRINTED = 0.02
"""What four decimals of squared norms leave of a norm, as a share of the largest."""


class NormList(NamedTuple):
    """The norms of one step, in the order in which they were printed."""

    step: int
    names: tuple[str, ...] | None
    values: tuple[float, ...]
    """Norms: where a log prints squares, their roots."""
    sizes: tuple[int, ...] | None = None


class NormRow(NamedTuple):
    """One parameter on both sides."""

    name: str
    other: str
    step: int
    a: float
    b: float
    floor: float = 0.0
    """Norms that lie no further apart are equal."""

    @property
    def relative(self) -> float:
        """The difference as a share of the smaller norm."""
        return difference(self.a, self.b, self.floor)


class Matching(NamedTuple):
    """The local norms of two runs, matched by parameter."""

    rows: tuple[NormRow, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    reason: str = ""
    """Why nothing could be matched: the name of a sentence, empty where something was."""
    counts: tuple[int, int] = (0, 0)
    """How many norms each log printed, where they could not be named."""


class _Found(NamedTuple):
    line: int
    step: int | None
    names: tuple[str, ...] | None
    values: tuple[float, ...]
    sizes: tuple[int, ...] | None


def difference(a: float, b: float, floor: float = 0.0) -> float:
    """Difference of two norms relative to the smaller; infinite if one is not finite."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    size, level = abs(a - b), max(min(abs(a), abs(b)), floor)
    return 0.0 if size <= floor else size / level if level else math.inf


class NormScanner:
    """Collects the local norms of a log while its training lines are read."""

    def __init__(self) -> None:
        self._found: list[_Found] = []
        self._kept = b""
        self._kept_first = 1
        self._at: int | None = None
        self.broken: list[int] = []

    @property
    def waits(self) -> bool:
        """True if a list has begun and its end has not been read."""
        return bool(self._kept)

    def take(self, chunk: bytes, first: int) -> None:
        """Search some whole lines for local norms."""
        if not self._kept and b"local" not in chunk and b"norm_size" not in chunk:
            return
        text, first = (self._kept + chunk, self._kept_first) if self._kept else (chunk, first)
        self._kept = b""
        last = 0
        line, before = first, 0
        for match in _LISTS.finditer(text):
            line += text.count(b"\n", before, match.start())
            before = match.start()
            self._one(match, line)
            last = match.end()
        trained = 0
        for begun in _BEGINNING.finditer(text, last):
            line += text.count(b"\n", before, begun.start())
            before = begun.start()
            if len(text) - begun.start() < _LONGEST_BLOCK:
                if trained < begun.end():
                    following = _TRAINING.search(text, begun.end())
                    trained = len(text) + 1 if following is None else following.start()
                if trained > len(text):
                    self._kept, self._kept_first = text[begun.start() :], line
                    return
            self.broken.append(line)

    def _one(self, match: re.Match[bytes], line: int) -> None:
        """Add the norm or list of norms in one match, or note a broken line."""
        groups = match.groupdict()
        if groups["at"] is not None:
            # With gradient accumulation the last micro step's gradients are the accumulated ones.
            self._at = int(groups["at"])
            return
        norms: _Found | None = None
        if groups["torch"] is not None:
            norms = _torch_norms(groups["torch"], line)
        elif groups["mindspore"] is not None:
            sizes = groups["sizes"]
            values = [number_in(value) for value in groups["mindspore"].strip(b"[]").replace(b",", b" ").split()]
            # A size stands alone, or as the value of a tensor that is printed with shape and type.
            told = re.findall(rb"value= *\[?(\d{1,18})", sizes) or re.findall(rb"\d{1,18}", sizes)
            counted = tuple(int(size) for size in told) if len(told) == len(values) else None
            norms = _squares(values, line, None, counted)
        else:
            name, value = next(
                (groups[name], groups[value])
                for name, value in (("name", "value"), ("named", "norm"), ("dumped", "of"))
                if groups[name] is not None
            )
            number = number_in(value)
            step = self._at if groups["named"] is not None else None
            if groups["epoch"] is not None:
                step = (int(groups["epoch"]) - 1) * int(groups["length"]) + int(groups["step"])
            if number is not None:
                norms = _Found(line, step, (name.decode("utf-8", "replace"),), (number,), None)
        if norms is None:
            self.broken.append(line)
        else:
            self._found.append(norms)

    def lists(self, steps: Sequence[int], numbers: Sequence[int]) -> list[NormList]:
        """Norm lists by step; a list without a step belongs to the training line after it."""
        if self._kept:
            self.broken.append(self._kept_first)
        named: dict[int, dict[str, float]] = {}
        plain: dict[int, list[_Found]] = {}
        for found in self._found:
            step = found.step
            if step is None:
                row = bisect_left(numbers, found.line)
                step = steps[row] if row < len(steps) else (steps[-1] + 1 if len(steps) else 1)
            if found.names is not None:
                named.setdefault(step, {}).update(zip(found.names, found.values, strict=True))
            elif not any(_again(other.values, found.values) for other in plain.setdefault(step, [])):
                plain[step].append(found)
        lists = [NormList(step, tuple(norms), tuple(norms.values())) for step, norms in named.items()]
        for step, parts in plain.items():
            values = tuple(value for part in parts for value in part.values)
            sizes = [part.sizes for part in parts]
            known = [size for size in sizes if size is not None]
            all_sizes = tuple(size for part in known for size in part) if len(known) == len(sizes) else None
            lists.append(NormList(step, None, values, all_sizes))
        return sorted(lists, key=lambda norms: norms.step)


def _again(before: Sequence[float], values: Sequence[float]) -> bool:
    """True if the same list was printed before; an optimizer reports its norms several times a step.

    After the gradients were clipped (Megatron-LM 0.12 `optimizer.py:ChainedOptimizer.step` then counts zeros) the same
    list comes again with every norm made smaller by one factor; what is printed has four digits.
    """
    if len(before) != len(values):
        return False
    if before == values:
        return True
    largest = max(range(len(before)), key=before.__getitem__)
    factor = values[largest] / before[largest] if before[largest] else 0.0
    if not 0 < factor < 1:
        return False
    slack = _PRINTED * values[largest]
    return all(abs(value - factor * norm) <= slack for norm, value in zip(before, values, strict=True))


def _torch_norms(text: bytes, line: int) -> _Found | None:
    """Norms of printed torch tensors, with names if the line has them."""
    pairs = _NAMED_TENSOR.findall(text)
    texts = [value for _, value in pairs] if pairs else _TENSOR.findall(text) or text.strip(b"[] ").split(b",")
    values = [number_in(value) for value in texts]
    names = tuple(name.decode() for name, _ in pairs) if pairs else None
    return _squares(values, line, names, None)


def _squares(
    values: Sequence[float | None], line: int, names: tuple[str, ...] | None, sizes: tuple[int, ...] | None
) -> _Found | None:
    """Norms as roots of printed squares; None if a value is missing."""
    roots = [math.sqrt(value) if value is not None and value >= 0 else value for value in values]
    known = [root for root in roots if root is not None]
    if len(known) < len(roots) or not known:
        return None
    return _Found(line, None, names, tuple(known), sizes)


def below_the_model(name: str) -> str:
    """Parameter name without wrapper modules: `module.module.decoder.…` becomes `decoder.…`."""
    found = _BELOW.search(name)
    name = name if found is None else found[1]
    for pattern, plain in _FUSED:
        name = pattern.sub(plain, name)
    return name


def match_norms(
    a: Sequence[NormList],
    b: Sequence[NormList],
    sides: tuple[Framework, Framework],
    table: WeightTable | None,
    orders: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
) -> Matching:
    """Norms of the first common steps, matched by parameter; `orders` names those of unnamed lists.

    Compared are those of steps 1 and 2, or else of the first common step. `orders` names the parameters of lists that
    have no names, in the order in which a side prints them.
    """
    by_step = {norms.step: norms for norms in b}
    common = [norms for norms in a if norms.step in by_step]
    if not common:
        return Matching((), (), (), "no-common-step" if a and b else "one-side")
    wanted = [norms for norms in common if norms.step in FIRST_STEPS] or common[:1]
    found = [_match_step(norms, by_step[norms.step], sides, table, orders) for norms in wanted]
    unnamed = next((one for one in found if one.reason), None)
    if unnamed is not None:
        return unnamed
    return Matching(
        tuple(row for one in found for row in one.rows),
        tuple(dict.fromkeys(name for one in found for name in one.only_a)),
        tuple(dict.fromkeys(name for one in found for name in one.only_b)),
    )


def _match_step(
    ours: NormList,
    theirs: NormList,
    sides: tuple[Framework, Framework],
    table: WeightTable | None,
    orders: tuple[Sequence[str] | None, Sequence[str] | None],
) -> Matching:
    """Norms of one step matched by parameter; parameters that one side fuses are joined."""
    named = _name_both((ours, theirs), sides, orders)
    if isinstance(named, str):
        return Matching((), (), (), named, (len(ours.values), len(theirs.values)))
    first, second = named
    floor = _FLOOR * max((abs(value) for value in (*ours.values, *theirs.values) if math.isfinite(value)), default=0.0)
    rows: list[NormRow] = []
    rest = dict(second)
    missing: list[str] = []
    done: set[str] = set()
    for name in first:
        if name in done:
            continue
        group, partners = _partners(name, sides, table)
        done.update(group)
        if all(part in first for part in group) and all(part in rest for part in partners):
            one, other = _joint_norm(first, group), _joint_norm(rest, partners)
            shown = group[0] if len(group) == 1 else f"{group[0]} (+{len(group) - 1})"
            rows.append(NormRow(shown, partners[0], ours.step, one, other, floor))
            for part in partners:
                del rest[part]
        else:
            missing += [part for part in group if part in first]
    return Matching(tuple(rows), tuple(missing), tuple(rest))


def _name_both(
    pair: tuple[NormList, NormList],
    sides: tuple[Framework, Framework],
    orders: tuple[Sequence[str] | None, Sequence[str] | None],
) -> tuple[dict[str, float], dict[str, float]] | str:
    """Both lists by parameter name, or the reason why a list has no names."""
    first, second = (_values_by_name(norms, order) for norms, order in zip(pair, orders, strict=True))
    if first is not None and second is not None:
        return first, second
    if first is not None or second is not None or sides[0] != sides[1]:
        return "no-names"
    if len(pair[0].values) != len(pair[1].values):
        return "other-count"
    # The same framework prints the same order.
    numbered = [{f"#{place}": value for place, value in enumerate(norms.values, 1)} for norms in pair]
    return numbered[0], numbered[1]


def _values_by_name(norms: NormList, order: Sequence[str] | None) -> dict[str, float] | None:
    """Norms by parameter name; None if names are missing or do not fit."""
    names = norms.names if norms.names is not None else order
    if names is None or len(names) != len(norms.values):
        return None
    return {below_the_model(name): value for name, value in zip(names, norms.values, strict=True)}


def _joint_norm(values: Mapping[str, float], names: Sequence[str]) -> float:
    """Norm of several parameters together."""
    return values[names[0]] if len(names) == 1 else math.sqrt(sum(values[name] ** 2 for name in names))


def _partners(
    name: str, sides: tuple[Framework, Framework], table: WeightTable | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parameters of the first side that form one unit, and those of the second side with the same content."""
    if sides[0] == sides[1] or table is None:
        return (name,), (name,)
    pairing = table.find_pairing(sides[0], name)
    if pairing is None:
        return (name,), (name,)
    if sides[0] == "megatron":
        return pairing.megatron, (pairing.mindformers,)
    return (pairing.mindformers,), pairing.megatron


class Order(NamedTuple):
    """The names of a list of norms, and the configuration they come from."""

    names: tuple[str, ...]
    file: str


def order_of(framework: str, norms: NormList, recipes: Sequence[Recipe]) -> Order | None:
    """Parameter order of an unnamed list by a configuration; None if the number does not fit."""
    if norms.names is not None:
        return None
    for recipe in sorted(recipes, key=lambda recipe: recipe.framework != framework):
        biased = recipe.value("model.bias_linear") or recipe.value("attention.qkv_bias")
        joined = recipe.value("model.mla_layout") == "concatenated" and recipe.value("attention.latent.enabled")
        if (biased and framework == "megatron") or joined:
            continue
        names = tuple(_optimizer_order(list(_parameters(recipe, framework))))
        if len(names) == len(norms.values):
            return Order(names, recipe.file)
    return None


def _optimizer_order(names: list[str]) -> list[str]:
    """Names in the optimizer's order: decayed parameters first."""
    decayed = [name for name in names if not _is_undecayed(name)]
    return [*decayed, *(name for name in names if _is_undecayed(name))]


def _is_undecayed(name: str) -> bool:
    """True for biases and norm parameters, which are not decayed."""
    return name.endswith((".bias", ".beta", ".gamma")) or "norm." in name


def _parameters(recipe: Recipe, framework: str) -> Iterator[str]:
    """Parameter names of a model in creation order, by the recipe."""
    yield "embedding.word_embeddings.weight"
    if recipe.value("position.type") == "learned_absolute":
        yield "embedding.position_embeddings.weight"
    layers = recipe.value("model.num_layers")
    pattern = recipe.value("moe.layer_pattern")
    experts = recipe.value("moe.num_experts")
    for layer in range(layers if isinstance(layers, int) else 0):
        routed = bool(experts) and (not isinstance(pattern, (list, tuple)) or bool(pattern[layer]))
        yield from _layer(recipe, framework, f"decoder.layers.{layer}", routed=routed)
    yield from _norm(recipe, framework, "decoder.final_layernorm")
    depths = recipe.value("mtp.num_layers")
    for depth in range(depths if isinstance(depths, int) else 0):
        block = f"mtp.layers.{depth}"
        for name in ("enorm", "hnorm"):
            yield from _norm(recipe, framework, f"{block}.{name}")
        yield f"{block}.eh_proj.weight"
        yield from _layer(recipe, framework, f"{block}.transformer_layer", routed=bool(experts))
        yield from _norm(recipe, framework, f"{block}.final_layernorm")
    if not recipe.value("model.tie_embeddings"):
        yield "output_layer.weight"


def _norm(recipe: Recipe, framework: str, name: str) -> Iterator[str]:
    """Parameter names of a norm layer in the framework's spelling."""
    plain = recipe.value("norm.type") != "LayerNorm"
    if framework == "megatron":
        yield f"{name}.weight"
        if not plain:
            yield f"{name}.bias"
    else:
        yield f"{name}.weight" if plain else f"{name}.gamma"
        if not plain:
            yield f"{name}.beta"


def _layer(recipe: Recipe, framework: str, block: str, *, routed: bool) -> Iterator[str]:
    """Parameter names of a transformer layer; `routed` has experts."""
    yield from _norm(recipe, framework, f"{block}.input_layernorm")
    yield from _attention(recipe, framework, f"{block}.self_attention")
    yield from _norm(recipe, framework, f"{block}.pre_mlp_layernorm")
    if not routed:
        yield from _linear(recipe, f"{block}.mlp.linear_fc1")
        yield from _linear(recipe, f"{block}.mlp.linear_fc2")
        return
    yield f"{block}.mlp.router.weight"
    experts = recipe.value("moe.num_experts")
    if framework == "megatron":
        numbers = range(experts if isinstance(experts, int) else 0)
        pairs = [(expert, part) for expert in numbers for part in (1, 2)]
        if recipe.value("moe.grouped_gemm"):
            pairs.sort(key=lambda pair: pair[1])
        for expert, part in pairs:
            yield f"{block}.mlp.experts.local_experts.{expert}.linear_fc{part}.weight"
    else:
        yield f"{block}.mlp.experts.weight1"
        yield f"{block}.mlp.experts.weight2"
    if recipe.value("moe.shared.ffn_hidden_size"):
        yield f"{block}.mlp.shared_experts.linear_fc1.weight"
        yield f"{block}.mlp.shared_experts.linear_fc2.weight"


def _linear(recipe: Recipe, name: str) -> Iterator[str]:
    """Parameter names of a linear layer, with its bias if the model has biases."""
    yield f"{name}.weight"
    if recipe.value("model.bias_linear"):
        yield f"{name}.bias"


def _attention(recipe: Recipe, framework: str, block: str) -> Iterator[str]:
    """Parameter names of an attention block."""
    yield from _linear(recipe, f"{block}.linear_proj")
    if recipe.value("attention.latent.enabled"):
        low = bool(recipe.value("attention.latent.q_lora_rank"))
        yield from (
            f"{block}.{name}.weight"
            for name in (("linear_q_down_proj", "linear_q_up_proj") if low else ("linear_q_proj",))
        )
        yield f"{block}.linear_kv_down_proj.weight"
        yield f"{block}.linear_kv_up_proj.weight"
        if recipe.value("attention.qk_layernorm"):
            if low:
                yield from _norm(recipe, framework, f"{block}.q_layernorm")
            yield from _norm(recipe, framework, f"{block}.kv_layernorm")
        return
    yield f"{block}.linear_qkv.weight"
    if recipe.value("attention.qkv_bias") or recipe.value("model.bias_linear"):
        yield f"{block}.linear_qkv.bias"
    if recipe.value("attention.qk_layernorm"):
        yield from _norm(recipe, framework, f"{block}.q_layernorm")
        yield from _norm(recipe, framework, f"{block}.k_layernorm")


def table_of(lists: Sequence[NormList], recipes: Sequence[Recipe]) -> WeightTable:
    """Weight table for the norm lists of two frameworks."""
    from ...mapper.weights import WeightTable

    names = [below_the_model(name) for norms in lists for name in norms.names or ()]
    return WeightTable(_layout(names, recipes))


def _layout(names: Sequence[str], recipes: Sequence[Recipe]) -> Layout:
    """Weight layout inferred from parameter names, completed by the recipes."""
    from ...mapper.weights import Layout

    text = "\n".join(names)
    numbers = [int(number) for number in re.findall(r"local_experts\.(\d{1,9})\.", text)]
    told = [value for recipe in recipes if isinstance(value := recipe.value("moe.num_experts"), int)]
    latent = "_down_proj" in text or "linear_kvb" in text
    latent = latent or any(recipe.value("attention.latent.enabled") is True for recipe in recipes)
    layered = any(recipe.value("norm.type") == "LayerNorm" for recipe in recipes)
    return Layout(
        norm="LayerNorm" if layered or ".gamma" in text else "RMSNorm",
        experts=max(numbers) + 1 if numbers else max(told, default=0),
        mla=latent,
        q_lora="linear_q_down_proj" in text or "linear_qb" in text,
        mla_concatenated="linear_qb" in text or "linear_kvb" in text,
    )

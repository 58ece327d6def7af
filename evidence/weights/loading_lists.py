"""Explains what an inference log says was not loaded: which names belong together, and what each means.

MindSpore Transformers writes two lists: parameters of the network that no weight filled, and weights that found no
place in the network. A name is explained by what stands on the other list, by the configuration where one is given,
and by what it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from ...mapper.weights import beside_the_weights, canonical
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING, Words
from .messages_compiled import say
from .weight import raise_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ...mapper.recipe.values import Recipe
    from ...schemas.source import SourceText

Missing = Literal["network", "weights"]
"""Not loaded in the network: the network lacks it. Not loaded in the weights: the weight file has it over."""

_LISTS: tuple[tuple[re.Pattern[str], Missing], ...] = (
    (re.compile(r"[Tt]hese parameters are not loaded in the network\s*:?"), "network"),
    (re.compile(r"[Tt]hese parameters are not loaded in the weights?\s*:?"), "weights"),
    (re.compile(r"Network parameters are not loaded\s*:"), "network"),
    (re.compile(r"Network parameters not loaded\s*:"), "network"),
    (re.compile(r"Checkpoint weights not loaded\s*:"), "weights"),
    (re.compile(r"[Pp]arameters? .*is not loaded[^:]*in the network\s*:?|param_not_load\s*[:=]"), "network"),
    (re.compile(r"ckpt_not_load\s*[:=]"), "weights"),
    (re.compile(r"All Network parameters are loaded"), "network"),
    (re.compile(r"All Checkpoint weights are loaded"), "weights"),
)
"""Sources: mindformers 1.9.0 parallel_core/inference/base_models/gpt/gpt_model.py:load_weights, trainer/utils.py,
checkpoint/checkpoint.py:load_parameters; the inference accuracy guide."""
_NAME = re.compile(r"'([^'\s]+)'|\"([^\"\s]+)\"")
_ITEM = re.compile(r"(?:^|\s)-\s+([A-Za-z_][\w.\-/]*)\s*$")
_BARE = re.compile(r"(?<![\w.'\"/])([A-Za-z_]\w*(?:\.[\w\-]+)+)(?![\w.'\"/])")


class Entry(NamedTuple):
    """A name on one of the lists."""

    name: str
    missing: Missing
    line: int


class Explanation(NamedTuple):
    """The meaning of a name on a list."""

    entries: tuple[Entry, ...]
    kind: str
    harmless: bool
    words: Words
    fields: tuple[str, ...] = ()


def read_lists(source: SourceText) -> tuple[Entry, ...]:
    """The names on a log's lists; UnreadableError where the log has none of them."""
    found: dict[tuple[str, Missing], Entry] = {}
    seen = False
    current: Missing | None = None
    depth = began = 0
    for number in range(1, source.line_count + 1):
        line = source.line(number)
        heading = _heading(line)
        if heading is not None:
            seen = True
            which, match = heading
            rest = line[match.end() :]
            lists = _two_lists(rest)
            if lists is not None and which == "network":
                _note(found, lists[0], "network", number)
                _note(found, lists[1], "weights", number)
                current = None
                continue
            _note(found, rest, which, number)
            depth = rest.count("[") + rest.count("{") - rest.count("]") - rest.count("}")
            current = which if depth > 0 or not rest.strip() else None
            began = number
            continue
        if current is None:
            continue
        item = _ITEM.search(line)
        if item is not None:
            found.setdefault((item[1], current), Entry(item[1], current, number))
        elif depth > 0 or _NAME.search(line) or _BARE.fullmatch(line.strip()):
            _note(found, line, current, number)
            depth += line.count("[") + line.count("{") - line.count("]") - line.count("}")
            if depth <= 0 and not _BARE.fullmatch(line.strip()):
                current = None
        elif line.strip():
            current = None
    if current is not None and depth > 0:
        raise_unreadable(say.garbled(file=source.name, why=say.list_cut_off(began=began)), source.name)
    if not seen:
        raise_unreadable(say.garbled(file=source.name, why=say.neither_these_parameters_are_not()), source.name)
    return tuple(found.values())


def _heading(line: str) -> tuple[Missing, re.Match[str]] | None:
    """The list that begins on a line, and the match."""
    for pattern, which in _LISTS:
        match = pattern.search(line)
        if match is not None:
            return which, match
    return None


def _two_lists(text: str) -> tuple[str, str] | None:
    """`([…], […])`, as `load_param_into_net` answers."""
    found = re.fullmatch(r"\s*\(\s*(\[.*?\])\s*,\s*(\[.*?\])\s*\)\s*", text)
    return None if found is None else (found[1], found[2])


def _note(found: dict[tuple[str, Missing], Entry], text: str, which: Missing, line: int) -> None:
    """Store the names that a line lists, under the kind of the list."""
    names: list[str] = [found[1] or found[2] for found in _NAME.finditer(text)] or _BARE.findall(text)
    for name in names:
        found.setdefault((name, which), Entry(name, which, line))


_PARTS: tuple[tuple[str, tuple[str, ...], str, Callable[[], Words]], ...] = (
    (
        "linear_qkv",
        ("linear_q", "linear_k", "linear_v", "wq", "wk", "wv", "q_proj", "k_proj", "v_proj"),
        "fused-qkv",
        say.fused_qkv,
    ),
    ("w_qkv", ("wq", "wk", "wv", "q_proj", "k_proj", "v_proj"), "fused-qkv", say.fused_qkv_alike),
    ("linear_fc1", ("gating", "hidden", "gate_proj", "up_proj", "w1", "w3"), "fused-gate-up", say.fused_gate_up),
    ("w_gate_hidden", ("w1", "w3", "gate_proj", "up_proj"), "fused-gate-up", say.fused_gate_up_alike),
    (
        "linear_qkv",
        ("linear_q_down_proj", "linear_kv_down_proj", "linear_q_proj", "q_a_proj", "kv_a_proj_with_mqa"),
        "joined-latent",
        say.joined_latent,
    ),
    (
        "weight1",
        ("local_experts", "gate_proj", "up_proj", "w1", "w3", "linear_fc1"),
        "stacked-experts",
        say.stacked_experts,
    ),
    ("weight2", ("local_experts", "down_proj", "w2", "linear_fc2"), "stacked-experts", say.stacked_experts),
)
"""A fused module and the modules it is made of."""

_HUGGING_FACE = re.compile(
    r"^model\.(layers\.\d+\.(self_attn|mlp|input_layernorm|post_attention)|embed_tokens|norm\.)|^lm_head\."
)
_LAYER = re.compile(r"\blayers\.(\d+)\.")


def is_hugging_face(name: str) -> bool:
    """True if a tensor is called as transformers calls it."""
    return _HUGGING_FACE.search(name) is not None


def explain(entries: Sequence[Entry], recipe: Recipe | None = None) -> tuple[Explanation, ...]:
    """Every name on the lists explained once, those that belong together as one."""
    left: dict[tuple[str, Missing], Entry] = {(entry.name, entry.missing): entry for entry in entries}
    found: list[Explanation] = []
    found.extend(_explain_fused(left))
    found.extend(_explain_prefix(left))
    alike: dict[tuple[str, str], tuple[Explanation, list[Entry]]] = {}
    for entry in left.values():
        one = _explain_single(entry, recipe)
        alike.setdefault((one.kind, one.words), (one, []))[1].append(entry)
    found.extend(one._replace(entries=tuple(together)) for one, together in alike.values())
    return tuple(found)


def _explain_fused(left: dict[tuple[str, Missing], Entry]) -> Iterator[Explanation]:
    """One weight on one list and its parts on the other."""
    for fused, parts, kind, said in _PARTS:
        groups: list[Entry] = []
        split_side: Missing = "weights"
        fewest = 1 if kind == "stacked-experts" else 2
        candidates: dict[tuple[Missing, str | None, str], list[Entry]] = {}
        for (name, side), entry in left.items():
            candidates.setdefault((side, _module(name, parts), _ending(name)), []).append(entry)
        for (name, missing), entry in list(left.items()):
            place = _module(name, (fused,))
            if place is None or (name, missing) not in left:
                continue
            other: Missing = "weights" if missing == "network" else "network"
            standing = candidates.get((other, place, _ending(name)), ())
            matches = [one for one in standing if (one.name, one.missing) in left]
            if len(matches) < fewest:
                continue
            split_side = other
            for one in (entry, *matches):
                groups.append(one)
                del left[(one.name, one.missing)]
        if not groups:
            continue
        words = said()
        if split_side == "network":
            words = say.other_way_round(what=Words(words[0].upper() + words[1:], words.zh))
        yield Explanation(tuple(groups), kind, False, words)


def _module(name: str, modules: Iterable[str]) -> str | None:
    """The place of a name's module, if the name goes through one of these modules."""
    pieces = name.split(".")
    for module in modules:
        if module in pieces:
            before = pieces[: pieces.index(module)]
            while before and before[-1] in (
                "experts",
                "attention",
                "self_attention",
                "self_attn",
                "feed_forward",
                "mlp",
            ):
                before.pop()
            return _normal(".".join(before))
    return None


def _normal(place: str) -> str:
    """A layer's place without what the naming schemes put before it."""
    found = re.search(r"layers\.\d+", place)
    return found[0] if found else place


def _ending(name: str) -> str:
    """The last part of a parameter's name: `bias`, or `weight` for any other."""
    return "bias" if name.endswith(("bias", "beta")) else "weight"


def _explain_prefix(left: dict[tuple[str, Missing], Entry]) -> Iterator[Explanation]:
    """The same parameter under another prefix on either list."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    there = {name: entry for (name, missing), entry in left.items() if missing == "weights"}
    longer_names: dict[str, list[str]] = {}
    for name in there:
        for ending in _endings(name):
            longer_names.setdefault(ending, []).append(name)
    for (name, missing), entry in list(left.items()):
        if missing != "network":
            continue
        match = next((other for other in (*longer_names.get(name, ()), *_endings(name)) if other in there), None)
        if match is None:
            continue
        longer, shorter = sorted((name, match), key=len, reverse=True)
        prefix = longer[: -len(shorter)]
        side = "network" if longer == name else "weights"
        groups.setdefault((prefix, side), []).extend((entry, there.pop(match)))
        del left[(name, missing)]
        del left[(match, "weights")]
    for (prefix, side), entries in groups.items():
        whose = say.whose_network() if side == "network" else say.whose_file()
        yield Explanation(tuple(entries), "prefix", False, say.another_prefix(whose=whose, prefix=prefix))


def _endings(name: str) -> Iterator[str]:
    """Every ending of a name without its first parts."""
    while (at := name.find(".") + 1) > 0:
        name = name[at:]
        yield name


def _explain_single(entry: Entry, recipe: Recipe | None) -> Explanation:
    """A name that stands for itself."""
    name = canonical("mindformers", entry.name)
    one = (entry,)
    beside = beside_the_weights("mindformers", name)
    if beside is not None or name.endswith(("inv_freq", "freqs_cis")):
        what = say.rotary_frequencies() if beside is None else Words(*beside[:2])
        return Explanation(one, "beside", True, say.no_weight_of_the_model(what=what))
    layers = None if recipe is None else recipe.value("model.num_layers")
    layer = _LAYER.search(name)
    if layer and isinstance(layers, int) and int(layer[1]) >= layers and "mtp." not in name:
        return Explanation(
            one,
            "layers",
            False,
            say.the_configuration_has_layers_this(layers=layers, layer=int(layer[1])),
            ("model.num_layers",),
        )
    for rule in (_explain_head, _explain_bias, _explain_prediction, _explain_norm, _explain_hugging_face):
        found = rule(entry, name, recipe)
        if found is not None:
            return found
    if entry.missing == "network":
        return Explanation(one, "missing", False, say.the_network_keeps_its_initial())
    return Explanation(one, "unexpected", False, say.the_network_has_no_such())


def _explain_head(entry: Entry, name: str, recipe: Recipe | None) -> Explanation | None:
    """Explanation for a missing or surplus output layer: tied embeddings."""
    if name.rpartition(".")[0].rpartition(".")[2] not in ("output_layer", "lm_head"):
        return None
    tied = None if recipe is None else recipe.value("model.tie_embeddings")
    fields = ("model.tie_embeddings",)
    if tied is True:
        return Explanation((entry,), "tied-head", entry.missing == "weights", say.the_head_is_tied_to(), fields)
    known = say.not_tied() if tied is False else NOTHING
    if entry.missing == "network":
        return Explanation((entry,), "tied-head", False, say.the_output_layer_keeps_its(known=known), fields)
    return Explanation((entry,), "tied-head", False, say.the_file_has_an_output(known=known), fields)


_QKV = ("linear_qkv", "linear_q", "linear_k", "linear_v", "wq", "wk", "wv", "w_qkv", "q_proj", "k_proj", "v_proj")


def _explain_bias(entry: Entry, name: str, recipe: Recipe | None) -> Explanation | None:
    """Explanation for a missing or surplus bias: the setting that creates it."""
    if not name.endswith(".bias") or "norm" in name or name.endswith("expert_bias"):
        return None
    module = name.split(".")[-2]
    is_qkv = module in _QKV
    field = "attention.qkv_bias" if is_qkv else "model.bias_linear"
    key = "attention_bias (add_qkv_bias)" if is_qkv else "add_bias_linear"
    told = NOTHING if recipe is None else say.configuration_says(value=recipe.value(field))
    if entry.missing == "network":
        return Explanation((entry,), "bias", False, say.the_network_was_built_with(key=key, told=told), (field,))
    return Explanation((entry,), "bias", False, say.the_weights_have_a_bias(key=key, told=told), (field,))


def _explain_prediction(entry: Entry, name: str, _recipe: Recipe | None) -> Explanation | None:
    """Explanation for missing or surplus multi-token prediction weights."""
    if not name.startswith("mtp.") and ".mtp." not in name:
        return None
    harmless = entry.missing == "weights"
    return Explanation(
        (entry,),
        "further-prediction",
        harmless,
        say.further_unused() if harmless else say.further_missing(),
        ("mtp.num_layers",),
    )


def _explain_norm(entry: Entry, name: str, _recipe: Recipe | None) -> Explanation | None:
    module = name.split(".")[-2] if "." in name else ""
    if module in ("q_layernorm", "k_layernorm", "q_norm", "k_norm"):
        return Explanation((entry,), "qk-norm", False, say.the_norm_of_queries_and(), ("attention.qk_layernorm",))
    if name.endswith((".gamma", ".beta")) or (name.endswith(".bias") and "norm" in name):
        return Explanation((entry,), "norm-kind", False, say.layernorm_is_called_gamma_beta(), ("norm.type",))
    return None


def _explain_hugging_face(entry: Entry, _name: str, _recipe: Recipe | None) -> Explanation | None:
    if not is_hugging_face(entry.name):
        return None
    return Explanation((entry,), "foreign-names", False, say.this_is_a_hugging_face())

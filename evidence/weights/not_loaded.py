"""Explains what an inference log says was not loaded: which names belong together, and what each means.

MindSpore Transformers writes two lists: parameters of the network that no weight filled, and weights that found no
place in the network. A name is explained by what stands on the other list, by the configuration where one is given,
and by what it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...mapper.weight_names import beside_the_weights, canonical
from .problems import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...mapper.recipe.values import Recipe
    from ...schemas.diagnostic import Language
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


class Explained(NamedTuple):
    """What a name on a list means."""

    entries: tuple[Entry, ...]
    kind: str
    harmless: bool
    en: str
    zh: str
    fields: tuple[str, ...] = ()

    def text(self, language: Language) -> str:
        """The sentence for a person."""
        return self.zh if language == "zh" else self.en


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
        why = f"the list that begins on line {began} does not end; the log was cut off in it"
        why_zh = f"第 {began} 行开始的列表没有结束，日志在此被截断"
        unreadable("garbled", source.name, file=source.name, why=why, why_zh=why_zh)
    if not seen:
        unreadable(
            "garbled",
            source.name,
            file=source.name,
            why='neither "These parameters are not loaded in the network" nor "… in the weights" stands in it',
            why_zh="其中没有 “These parameters are not loaded in the network/weights”",
        )
    return tuple(found.values())


def _heading(line: str) -> tuple[Missing, re.Match[str]] | None:
    """Which list begins on a line, and where."""
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
    names: list[str] = [found[1] or found[2] for found in _NAME.finditer(text)] or _BARE.findall(text)
    for name in names:
        found.setdefault((name, which), Entry(name, which, line))


_PARTS: tuple[tuple[str, tuple[str, ...], str, str, str], ...] = (
    (
        "linear_qkv",
        ("linear_q", "linear_k", "linear_v", "wq", "wk", "wv", "q_proj", "k_proj", "v_proj"),
        "fused-qkv",
        (
            "the network has query, key and value as one fused weight, the file has them apart. Convert the weights "
            "for this network (qkv_concat, or accmap weights convert); by hand, rows go group by group: queries, key, "
            "value."
        ),
        (
            "网络中 Q/K/V 为融合权重，而权重文件中是分开的。请按该网络转换权重（qkv_concat 或 accmap weights convert）"
            "；手动融合时按组排列：Q、K、V。"
        ),
    ),
    (
        "w_qkv",
        ("wq", "wk", "wv", "q_proj", "k_proj", "v_proj"),
        "fused-qkv",
        "the network has query, key and value as one fused weight, the file has them apart: set qkv_concat alike.",
        "网络中 Q/K/V 为融合权重，而权重文件中是分开的：请使两侧 qkv_concat 一致。",
    ),
    (
        "linear_fc1",
        ("gating", "hidden", "gate_proj", "up_proj", "w1", "w3"),
        "fused-gate-up",
        (
            "the network has gate and up projection as one weight, the file has them apart. Convert the weights for "
            "this network; gate rows come first, or alternate with up rows (use_interleaved_weight_layout_mlp)."
        ),
        (
            "网络中 gate 与 up 为融合权重，而权重文件中是分开的。请按该网络转换权重；gate 在前，"
            "若开启 use_interleaved_weight_layout_mlp 则与 up 逐行交错。"
        ),
    ),
    (
        "w_gate_hidden",
        ("w1", "w3", "gate_proj", "up_proj"),
        "fused-gate-up",
        "the network has gate and up projection as one weight, the file has them apart: set qkv_concat alike.",
        "网络中 gate 与 up 为融合权重，而权重文件中是分开的：请使两侧 qkv_concat 一致。",
    ),
    (
        "linear_qkv",
        ("linear_q_down_proj", "linear_kv_down_proj", "linear_q_proj", "q_a_proj", "kv_a_proj_with_mqa"),
        "joined-latent",
        "the network joins the latent projections into one weight (mla_qkv_concat), the file has them apart.",
        "网络将 MLA 投影合并为一个权重（mla_qkv_concat），而权重文件中是分开的。",
    ),
    (
        "weight1",
        ("local_experts", "gate_proj", "up_proj", "w1", "w3", "linear_fc1"),
        "stacked-experts",
        "the network has all experts in one stacked weight, the file has one matrix for each. Convert the weights.",
        "网络将全部专家堆叠为一个权重，而权重文件中每个专家各有一个矩阵。请转换权重。",
    ),
    (
        "weight2",
        ("local_experts", "down_proj", "w2", "linear_fc2"),
        "stacked-experts",
        "the network has all experts in one stacked weight, the file has one matrix for each. Convert the weights.",
        "网络将全部专家堆叠为一个权重，而权重文件中每个专家各有一个矩阵。请转换权重。",
    ),
)
"""A fused module and the modules it is made of."""

_HUGGING_FACE = re.compile(
    r"^model\.(layers\.\d+\.(self_attn|mlp|input_layernorm|post_attention)|embed_tokens|norm\.)|^lm_head\."
)
_LAYER = re.compile(r"\blayers\.(\d+)\.")


def explain(entries: Sequence[Entry], recipe: Recipe | None = None) -> tuple[Explained, ...]:
    """Every name on the lists explained once, those that belong together as one."""
    left: dict[tuple[str, Missing], Entry] = {(entry.name, entry.missing): entry for entry in entries}
    found: list[Explained] = []
    found.extend(_fused(left))
    found.extend(_renamed(left))
    alike: dict[tuple[str, str], tuple[Explained, list[Entry]]] = {}
    for entry in left.values():
        one = _single(entry, recipe)
        alike.setdefault((one.kind, one.en), (one, []))[1].append(entry)
    found.extend(one._replace(entries=tuple(together)) for one, together in alike.values())
    return tuple(found)


def _fused(left: dict[tuple[str, Missing], Entry]) -> Iterator[Explained]:
    """One weight on one list and its parts on the other."""
    for fused, parts, kind, en, zh in _PARTS:
        groups: list[Entry] = []
        split_side: str | None = None
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
            if len(matches) < 1 or (kind != "stacked-experts" and len(matches) < 2):
                continue
            split_side = "weights" if missing == "network" else "network"
            for one in (entry, *matches):
                groups.append(one)
                del left[(one.name, one.missing)]
        if not groups:
            continue
        if split_side == "network":
            en = (
                "the other way round: the file has the weight fused, the network has its parts. "
                + en[0].upper()
                + en[1:]
            )
            zh = "方向相反：权重文件中为融合权重，网络中为拆分权重。" + zh
        yield Explained(tuple(groups), kind, False, en, zh)


def _module(name: str, modules: Iterable[str]) -> str | None:
    """Where a name's module stands, if the name goes through one of these modules."""
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
    return "bias" if name.endswith(("bias", "beta")) else "weight"


def _renamed(left: dict[tuple[str, Missing], Entry]) -> Iterator[Explained]:
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
        whose, whose_zh = ("network's", "网络") if side == "network" else ("file's", "权重文件")
        en = f"the {whose} names begin with {prefix!r}, the other side's do not; rename the weights in the file."
        zh = f"{whose_zh}中的名称带前缀 {prefix!r}，另一侧没有；请重命名权重。"
        yield Explained(tuple(entries), "prefix", False, en, zh)


def _endings(name: str) -> Iterator[str]:
    """What is left of a name without its first parts."""
    while (at := name.find(".") + 1) > 0:
        name = name[at:]
        yield name


def _single(entry: Entry, recipe: Recipe | None) -> Explained:
    """A name that stands for itself."""
    name = canonical("mindformers", entry.name)
    one = (entry,)
    beside = beside_the_weights("mindformers", name)
    if beside is not None or name.endswith(("inv_freq", "freqs_cis")):
        en, zh = ("rotary frequencies", "旋转位置编码频率") if beside is None else beside[:2]
        return Explained(one, "beside", True, f"{en}: no weight of the model.", f"{zh}：不是模型权重。")
    layers = None if recipe is None else recipe.value("model.num_layers")
    layer = _LAYER.search(name)
    if layer and isinstance(layers, int) and int(layer[1]) >= layers and "mtp." not in name:
        return Explained(
            one,
            "layers",
            False,
            f"the configuration has {layers} layers, this name is of layer {int(layer[1])}: the layer counts differ.",
            f"配置为 {layers} 层，而该名称属于第 {int(layer[1])} 层：层数不一致。",
            ("model.num_layers",),
        )
    for rule in (_head, _bias, _further, _norms, _foreign):
        found = rule(entry, name, recipe)
        if found is not None:
            return found
    if entry.missing == "network":
        return Explained(
            one,
            "missing",
            False,
            "the network keeps its initial values here: the file has no such weight. Re-convert the weights.",
            "网络此处保持初始值：权重文件中没有对应权重。请重新转换权重。",
        )
    return Explained(
        one,
        "unexpected",
        False,
        "the network has no such parameter, so this weight is lost: the configuration describes another model.",
        "网络没有该参数，此权重被丢弃：配置描述的是另一个模型。",
    )


def _head(entry: Entry, name: str, recipe: Recipe | None) -> Explained | None:
    if name.rpartition(".")[0].rpartition(".")[2] not in ("output_layer", "lm_head"):
        return None
    tied = None if recipe is None else recipe.value("model.tie_embeddings")
    fields = ("model.tie_embeddings",)
    if tied is True:
        return Explained(
            (entry,),
            "tied-head",
            entry.missing == "weights",
            "the head is tied to the embedding by the configuration; a weight of its own is not used.",
            "配置中输出层与词嵌入共享权重，不使用单独的输出层权重。",
            fields,
        )
    known = " (the configuration does not tie them)" if tied is False else ""
    known_zh = "（配置未共享）" if tied is False else ""
    if entry.missing == "network":
        return Explained(
            (entry,),
            "tied-head",
            False,
            f"the output layer keeps its initial values{known}: where the model ties it to the embedding, set "
            "tie_word_embeddings: True.",
            f"输出层保持初始值{known_zh}：若模型与词嵌入共享权重，请设置 tie_word_embeddings: True。",
            fields,
        )
    return Explained(
        (entry,),
        "tied-head",
        False,
        f"the file has an output layer of its own that the network lacks{known}: set tie_word_embeddings: False unless "
        "it equals the embedding.",
        f"权重文件有单独的输出层，而网络没有{known_zh}：除非它与词嵌入相同，请设置 tie_word_embeddings: False。",
        fields,
    )


_QKV = ("linear_qkv", "linear_q", "linear_k", "linear_v", "wq", "wk", "wv", "w_qkv", "q_proj", "k_proj", "v_proj")


def _bias(entry: Entry, name: str, recipe: Recipe | None) -> Explained | None:
    if not name.endswith(".bias") or "norm" in name or name.endswith("expert_bias"):
        return None
    module = name.split(".")[-2]
    is_qkv = module in _QKV
    field = "attention.qkv_bias" if is_qkv else "model.bias_linear"
    key = "attention_bias (add_qkv_bias)" if is_qkv else "add_bias_linear"
    told = "" if recipe is None else f" (the configuration says {recipe.value(field)})"
    told_zh = "" if recipe is None else f"（配置中为 {recipe.value(field)}）"
    if entry.missing == "network":
        return Explained(
            (entry,),
            "bias",
            False,
            f"the network was built with a bias{told} that the weights do not have; its initial values disturb every "
            f"answer. If the model has none, set {key} to False.",
            f"网络带有 bias{told_zh}，而权重中没有；其初始值会影响所有输出。若模型没有 bias，请将 {key} 设为 False。",
            (field,),
        )
    return Explained(
        (entry,),
        "bias",
        False,
        f"the weights have a bias that the network was built without{told}; it is lost. Set {key} to True.",
        f"权重带有 bias，而网络没有{told_zh}，该 bias 被丢弃。请将 {key} 设为 True。",
        (field,),
    )


def _further(entry: Entry, name: str, _recipe: Recipe | None) -> Explained | None:
    if not name.startswith("mtp.") and ".mtp." not in name:
        return None
    harmless = entry.missing == "weights"
    return Explained(
        (entry,),
        "further-prediction",
        harmless,
        "multi-token prediction: " + ("inference does not use it." if harmless else "the file has no weights for it."),
        "多 token 预测（MTP）：" + ("推理不使用。" if harmless else "权重文件中没有对应权重。"),
        ("mtp.num_layers",),
    )


def _norms(entry: Entry, name: str, _recipe: Recipe | None) -> Explained | None:
    module = name.split(".")[-2] if "." in name else ""
    if module in ("q_layernorm", "k_layernorm", "q_norm", "k_norm"):
        return Explained(
            (entry,),
            "qk-norm",
            False,
            "the norm of queries and keys is on one side only: check qk_layernorm.",
            "仅一侧有 Q/K 归一化：请检查 qk_layernorm。",
            ("attention.qk_layernorm",),
        )
    if name.endswith((".gamma", ".beta")) or (name.endswith(".bias") and "norm" in name):
        return Explained(
            (entry,),
            "norm-kind",
            False,
            "LayerNorm is called gamma/beta, RMSNorm weight: check the kind of norm (normalization).",
            "LayerNorm 的参数名为 gamma/beta，RMSNorm 为 weight：请检查归一化类型（normalization）。",
            ("norm.type",),
        )
    return None


def _foreign(entry: Entry, _name: str, _recipe: Recipe | None) -> Explained | None:
    if _HUGGING_FACE.search(entry.name) is None:
        return None
    return Explained(
        (entry,),
        "foreign-names",
        False,
        "this is a Hugging Face name: the weights were not converted for this network.",
        "这是 Hugging Face 的名称：权重未按该网络转换。",
    )

"""A small reference in plain torch, written from the definitions, behind the verifier's `Model`.

It proves both frameworks' models: it reads the blueprint of either framework, and runs the same job in a process of
its own.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from accmap.schemas.fast_records import NamedTuple
from accmap.verifier.worker.blueprint import job_from_json
from accmap.verifier.worker.session import perform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accmap.verifier.worker.blueprint import Blueprint, OptimizerPlan, RatePlan
    from accmap.verifier.worker.inputs import Tokens

Array = Any
_HIDDEN = -10000.0


class Latent(NamedTuple):
    """Widths of latent attention."""

    q_rank: int | None
    kv_rank: int
    nope: int
    rope: int
    value: int


class Experts(NamedTuple):
    """A layer of experts and its router."""

    count: int
    topk: int
    width: int
    shared: int | None
    score: str
    normalised: bool
    scale: float
    groups: int | None
    group_topk: int | None
    biased: bool
    bias_rate: float
    balance: str
    coefficient: float
    z_coefficient: float


class Position(NamedTuple):
    """The position of a token: learned, rotary or YaRN."""

    kind: str
    length: int
    base: float
    fraction: float
    interleaved: bool
    factor: float
    beta_fast: float
    beta_slow: float
    mscale: float
    mscale_all: float


class Spec(NamedTuple):
    """The whole model."""

    vocabulary: int
    hidden: int
    ffn: int
    heads: int
    groups: int
    head: int
    pattern: tuple[int, ...]
    norm: str
    epsilon: float
    activation: str
    gated: bool
    bias: bool
    qkv_bias: bool
    qk_norm: bool
    tied: bool
    latent: Latent | None
    position: Position
    experts: Experts | None
    further: int
    further_scale: float
    pad: int
    std: float
    plain_expert_std: bool


class ReferenceBackend:
    """Plain torch."""

    def versions(self) -> dict[str, str]:
        """The installed versions."""
        return {"torch": torch.__version__}

    def machine(self) -> dict[str, str]:
        """Empty: the reference runs on the CPU."""
        return {}

    def stand_ins(self) -> dict[str, str]:
        """Empty: the reference uses plain operators only."""
        return {}

    def close(self) -> None:
        """Nothing to undo."""

    def build(self, blueprint: Blueprint, seed: int) -> ReferenceModel:
        """Plain PyTorch model of either framework's blueprint, with freshly drawn weights."""
        torch.manual_seed(seed)
        given = blueprint.model
        spec = _from_megatron(given) if blueprint.framework == "megatron" else _from_mindformers(given)
        return ReferenceModel(spec, blueprint.optimizer)


class ReferenceModel:
    """Weights by Megatron-Core's names and a forward pass over them."""

    def __init__(self, spec: Spec, optimizer: OptimizerPlan) -> None:
        self.spec = spec
        self.plan = optimizer
        self.rate = optimizer.learning_rate
        self._weights = {name: torch.nn.Parameter(start) for name, start in _Start(spec).all().items()}
        self._biases = {name: torch.zeros(shape) for name, shape in _bias_names(spec).items()}
        self._loads: dict[str, Any] = {}
        self._moments: dict[str, tuple[Any, Any]] = {}
        self._step = 0
        self._logits: Any = None
        self._notes: dict[str, Array] | None = None

    def weights(self) -> dict[str, Array]:
        held = {name: tensor.detach() for name, tensor in self._weights.items()} | self._biases
        return {name: tensor.numpy().copy() for name, tensor in held.items()}

    def trained_names(self) -> set[str]:
        return set(self._weights)

    def load(self, weights: Mapping[str, Array]) -> None:
        held: dict[str, Any] = {**self._weights, **self._biases}
        with torch.no_grad():
            for name, array in weights.items():
                held[name].copy_(torch.from_numpy(np.ascontiguousarray(array)))
        self._loads.clear()

    def logits(self) -> Array:
        return self._logits

    def arrange(self, batch: Tokens) -> Tokens:
        """The batch unchanged: the reference has no data set."""
        return batch

    def forward_pass(self, batch: Tokens) -> dict[str, float]:
        with torch.no_grad():
            parts = self._parts(batch)
        return {name: float(value) for name, value in parts.items()}

    def backward(self, batch: Tokens) -> dict[str, float]:
        for tensor in self._weights.values():
            tensor.grad = None
        parts = self._parts(batch)
        sum(parts.values()).backward()  # pyright: ignore[reportAttributeAccessIssue]
        parts.pop("z", None)
        return {name: float(value.detach()) for name, value in parts.items()}

    def gradients(self) -> dict[str, Array]:
        return {
            name: (torch.zeros_like(tensor) if tensor.grad is None else tensor.grad).numpy().copy()
            for name, tensor in self._weights.items()
        }

    def set_gradients(self, gradients: Mapping[str, Array]) -> None:
        for name, tensor in self._weights.items():
            tensor.grad = torch.from_numpy(gradients[name].copy()) if name in gradients else None

    def start_optimizer(self, rate_factor: float) -> None:
        self.rate = self.plan.learning_rate * rate_factor
        self._moments = {name: (torch.zeros_like(w), torch.zeros_like(w)) for name, w in self._weights.items()}
        self._step = 0

    def clip(self) -> float:
        held = [tensor.grad for tensor in self._weights.values() if tensor.grad is not None]
        norm = math.sqrt(sum(float(grad.double().square().sum()) for grad in held))
        if self.plan.clip_norm > 0 and norm > self.plan.clip_norm:
            for grad in held:
                grad.mul_(self.plan.clip_norm / (norm + 1e-6))
        return norm

    def update(self) -> None:
        """One AdamW step on all weights, and the sign update of expert biases by their loads."""
        plan = self.plan
        self._step += 1
        with torch.no_grad():
            for name, weight in self._weights.items():
                if weight.grad is None:
                    continue
                first, second = self._moments[name]
                if weight.dim() > 1:
                    weight.mul_(1 - self.rate * plan.weight_decay)
                first.mul_(plan.beta1).add_(weight.grad, alpha=1 - plan.beta1)
                second.mul_(plan.beta2).addcmul_(weight.grad, weight.grad, value=1 - plan.beta2)
                size = first / (1 - plan.beta1**self._step)
                spread = (second / (1 - plan.beta2**self._step)).sqrt() + plan.epsilon
                weight.sub_(self.rate * size / spread)
            for name, load in self._loads.items():
                rate = self.spec.experts.bias_rate if self.spec.experts is not None else 0.0
                self._biases[name] += torch.sign(load.mean() - load) * rate
        self._loads.clear()

    def start_training(self, plan: RatePlan | None) -> None:
        """Start the optimizer at the constant peak rate; the plan is ignored."""
        del plan  # a reference is asked at the peak alone
        self.start_optimizer(1.0)

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        """One training step over micro batches: mean loss, gradient norm and learning rate."""
        for tensor in self._weights.values():
            tensor.grad = None
        self._loads.clear()
        total = 0.0
        for batch in batches:
            parts = self._parts(batch)
            (sum(parts.values()) / len(batches)).backward()  # pyright: ignore[reportAttributeAccessIssue]
            parts.pop("z", None)
            total += sum(float(value.detach()) for value in parts.values())
        norm = self.clip()
        self.update()
        return {"loss": total / len(batches), "norm": norm, "rate": self.rate}

    def trace(self, batch: Tokens) -> dict[str, Array]:
        self._notes = {}
        losses = self.backward(batch)
        notes, self._notes = self._notes, None
        found = {f"output/{name}/0/0": array for name, array in notes.items()}
        found.update({f"loss/{part}": np.asarray(value) for part, value in losses.items()})
        return found

    def _note(self, name: str, tensor: Any) -> Any:
        """The tensor itself, stored under the module's name if a trace is recorded."""
        if self._notes is not None:
            self._notes.setdefault(name, tensor.detach().numpy().copy())
        return tensor

    def _parts(self, batch: Tokens) -> dict[str, Any]:
        """Differentiable losses of a batch by name: main, multi-token prediction, balancing."""
        spec = self.spec
        tokens, labels = torch.from_numpy(batch.tokens).long(), torch.from_numpy(batch.labels).long()
        mask = self._mask(tokens)
        counted = (tokens != spec.pad).float() * torch.from_numpy(batch.counted)
        extra: dict[str, Any] = {}
        x = self._embed(tokens)
        for layer, sparse in enumerate(spec.pattern):
            x = self._layer(f"decoder.layers.{layer}", x, mask, bool(sparse), extra)
        x = self._norm("decoder.final_layernorm", x)
        logits = self._note("output_layer", x @ self._output().T)
        self._logits = logits.detach().numpy()
        parts = {"loss": _loss(logits, labels, counted)}
        for number in range(spec.further):
            tokens, labels, counted = _roll(tokens), _roll(labels), _roll(counted)
            name = f"mtp.layers.{number}"
            ahead = self._norm(f"{name}.enorm", self._embed(tokens, note=False))
            joined = torch.cat((ahead, self._norm(f"{name}.hnorm", x)), -1)
            x = joined @ self._weights[f"{name}.eh_proj.weight"].T
            x = self._layer(f"{name}.transformer_layer", x, mask, bool(spec.pattern[-1]), extra)
            x = self._norm(f"{name}.final_layernorm", x)
            share = spec.further_scale / spec.further
            parts["mtp"] = parts.get("mtp", 0.0) + share * _loss(x @ self._output().T, labels, counted)
        return {**parts, **extra}

    def _mask(self, tokens: Any) -> Any:
        """Mask [batch, 1, query, key]; True hides a position."""
        length = tokens.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        return later[None, None] | (tokens == self.spec.pad)[:, None, None]

    def _embed(self, tokens: Any, *, note: bool = True) -> Any:
        """Word embedding plus learned positions, if the model has these."""
        x = self._weights["embedding.word_embeddings.weight"][tokens]
        if self.spec.position.kind == "learned_absolute":
            x = x + self._weights["embedding.position_embeddings.weight"][: tokens.shape[1]]
        x = x.transpose(0, 1)
        return self._note("embedding", x) if note else x

    def _output(self) -> Any:
        """Weight of the output layer; the word embedding if they are tied."""
        return self._weights["embedding.word_embeddings.weight" if self.spec.tied else "output_layer.weight"]

    def _norm(self, name: str, x: Any) -> Any:
        """Layer norm or RMS norm of x with the weights of that name."""
        scale = self._weights[f"{name}.weight"]
        if self.spec.norm == "LayerNorm":
            x = x - x.mean(-1, keepdim=True)
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.spec.epsilon) * scale
        if self.spec.norm == "LayerNorm":
            x = x + self._weights[f"{name}.bias"]
        return self._note(name, x)

    def _linear(self, name: str, x: Any) -> Any:
        return self._note(
            name, functional.linear(x, self._weights[f"{name}.weight"], self._weights.get(f"{name}.bias"))
        )

    def _layer(self, name: str, x: Any, mask: Any, sparse: bool, extra: dict[str, Any]) -> Any:
        """Result of one transformer layer; `sparse` uses experts and adds their losses to `extra`."""
        attend = self._latent if self.spec.latent is not None else self._attention
        x = x + attend(f"{name}.self_attention", self._norm(f"{name}.input_layernorm", x), mask)
        inner = self._norm(f"{name}.pre_mlp_layernorm", x)
        if sparse:
            x = x + self._note(f"{name}.mlp", self._experts(f"{name}.mlp", inner, extra))
        else:
            x = x + self._note(f"{name}.mlp", self._mlp(f"{name}.mlp", inner))
        return self._note(name, x)

    def _mlp(self, name: str, x: Any) -> Any:
        return self._linear(f"{name}.linear_fc2", self._activate(self._linear(f"{name}.linear_fc1", x)))

    def _activate(self, x: Any) -> Any:
        """Activation of the MLP; a gated one multiplies the activated first half by the second."""
        kinds = {
            "silu": functional.silu,
            "tanh-gelu": lambda y: functional.gelu(y, approximate="tanh"),
            "erf-gelu": functional.gelu,
            "squared-relu": lambda y: functional.relu(y).square(),
        }
        act = kinds[self.spec.activation]
        if not self.spec.gated:
            return act(x)
        gate, up = x.chunk(2, -1)
        return act(gate) * up

    def _attention(self, name: str, x: Any, mask: Any) -> Any:
        """Self-attention with grouped queries, optional norms and rotary positions."""
        spec = self.spec
        length, size = x.shape[:2]
        each = spec.heads // spec.groups
        mixed = self._linear(f"{name}.linear_qkv", x).reshape(length, size, spec.groups, (each + 2) * spec.head)
        q, k, v = mixed.split((each * spec.head, spec.head, spec.head), -1)
        q = q.reshape(length, size, spec.heads, spec.head)
        if spec.qk_norm:
            q, k = self._norm(f"{name}.q_layernorm", q), self._norm(f"{name}.k_layernorm", k)
        if spec.position.kind in ("rope", "yarn"):
            turns, scale = _turns(spec.position, int(spec.head * spec.position.fraction), length)
            q, k = (_rotate(y, turns, scale, interleaved=spec.position.interleaved) for y in (q, k))
        k, v = k.repeat_interleave(each, 2), v.repeat_interleave(each, 2)
        context = self._note(f"{name}.core_attention", _attention_context(q, k, v, mask, 1 / math.sqrt(spec.head)))
        return self._note(name, self._linear(f"{name}.linear_proj", context))

    def _latent(self, name: str, x: Any, mask: Any) -> Any:
        """Multi-latent attention: low-rank queries, keys and values, and a separate rotary part."""
        spec, latent = self.spec, self.spec.latent
        assert latent is not None
        length, size = x.shape[:2]
        if latent.q_rank:
            low = self._linear(f"{name}.linear_q_down_proj", x)
            low = self._norm(f"{name}.q_layernorm", low) if spec.qk_norm else low
            q = self._linear(f"{name}.linear_q_up_proj", low)
        else:
            q = self._linear(f"{name}.linear_q_proj", x)
        q = q.reshape(length, size, spec.heads, latent.nope + latent.rope)
        low, k_rope = self._linear(f"{name}.linear_kv_down_proj", x).split((latent.kv_rank, latent.rope), -1)
        low = self._norm(f"{name}.kv_layernorm", low) if spec.qk_norm else low
        both = self._linear(f"{name}.linear_kv_up_proj", low)
        k, v = both.reshape(length, size, spec.heads, -1).split((latent.nope, latent.value), -1)
        turns, scale = _turns(spec.position, latent.rope, length)
        q_rope = _rotate(_deinterleave(q[..., latent.nope :]), turns, scale, interleaved=False)
        k_rope = _rotate(_deinterleave(k_rope[:, :, None]), turns, scale, interleaved=False)
        q = torch.cat((q[..., : latent.nope], q_rope), -1)
        k = torch.cat((k, k_rope.expand(-1, -1, spec.heads, -1)), -1)
        warmth = _temperature(spec.position.factor, spec.position.mscale) ** 2
        context = _attention_context(q, k, v, mask, warmth / math.sqrt(latent.nope + latent.rope))
        context = self._note(f"{name}.core_attention", context)
        return self._note(name, self._linear(f"{name}.linear_proj", context))

    def _experts(self, name: str, x: Any, extra: dict[str, Any]) -> Any:
        """Mixture-of-experts output with shared experts; adds balancing losses to `extra`."""
        experts = self.spec.experts
        assert experts is not None
        length, size, width = x.shape
        rows = x.reshape(-1, width)
        logits = rows @ self._weights[f"{name}.router.weight"].T
        routes = self._routes(name, logits, experts)
        self._balance(logits, routes, experts, (length, size), extra)
        found = torch.zeros_like(rows)
        for expert in range(experts.count):
            chosen = routes[:, expert].nonzero().squeeze(1)
            if len(chosen):
                own = f"{name}.experts.local_experts.{expert}"
                inner = self._activate(rows[chosen] @ self._weights[f"{own}.linear_fc1.weight"].T)
                answer = inner @ self._weights[f"{own}.linear_fc2.weight"].T
                found = found.index_add(0, chosen, answer * routes[chosen, expert, None])
        found = found.reshape(length, size, width)
        return found + self._mlp(f"{name}.shared_experts", x) if experts.shared else found

    def _routes(self, name: str, logits: Any, experts: Experts) -> Any:
        """Weight of each expert for each token, [tokens, experts]; 0 if it is not chosen."""
        scores = logits.softmax(-1) if experts.score == "softmax" else logits.sigmoid()
        ranked = scores
        if experts.biased:
            ranked = scores + self._biases[f"{name}.router.expert_bias"]
        if experts.groups and experts.group_topk:
            by_group = ranked.reshape(len(ranked), experts.groups, -1)
            best = by_group.topk(max(1, experts.topk // experts.group_topk), -1).values.sum(-1)
            kept = torch.zeros_like(best).scatter(1, best.topk(experts.group_topk, -1).indices, 1.0).bool()
            ranked = by_group.masked_fill(~kept[..., None], -math.inf).reshape(ranked.shape)
        chosen = ranked.topk(experts.topk, -1).indices
        weights = scores.gather(1, chosen)
        if experts.normalised and experts.topk > 1:
            weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        elif experts.normalised and experts.score == "softmax":
            weights = torch.ones_like(weights)
        routes = torch.zeros_like(scores).scatter(1, chosen, weights * experts.scale)
        if experts.biased and torch.is_grad_enabled():
            bias = f"{name}.router.expert_bias"
            self._loads[bias] = self._loads.get(bias, 0.0) + (routes != 0).float().sum(0).detach()
        return self._note(f"{name}.router", routes)

    def _balance(
        self, logits: Any, routes: Any, experts: Experts, shape: tuple[int, int], extra: dict[str, Any]
    ) -> None:
        """Add the router's z loss and balancing loss to `extra`."""
        if experts.z_coefficient:
            extra["z"] = extra.get("z", 0.0) + experts.z_coefficient * logits.logsumexp(-1).square().mean()
        if not experts.coefficient or experts.balance == "none":
            return
        scores = logits.softmax(-1)
        if experts.score != "softmax":
            scores = logits.sigmoid()
            scores = scores / (scores.sum(-1, keepdim=True) + 1e-20)
        load = (routes != 0).float().detach()
        if experts.balance == "by-sequence":
            scores, load = (y.reshape(*shape, -1).transpose(0, 1) for y in (scores, load))
        else:
            scores, load = scores[None], load[None]
        rows = scores.shape[1]
        product = (scores.sum(1) * load.sum(1)).sum(-1).mean()
        share = experts.coefficient * experts.count / (rows * rows * experts.topk)
        extra["auxiliary"] = extra.get("auxiliary", 0.0) + product * share


def _loss(logits: Any, labels: Any, counted: Any) -> Any:
    """Cross entropy averaged over the counted tokens."""
    each = functional.cross_entropy(logits.transpose(0, 1).transpose(1, 2), labels, reduction="none")
    return (each * counted).sum() / counted.sum()


def _roll(x: Any) -> Any:
    """Rows shifted left by one, with a zero at the end."""
    return torch.cat((x[:, 1:], torch.zeros_like(x[:, :1])), 1)


def _attention_context(q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
    scores = torch.einsum("sbnd,tbnd->bnst", q, k) * scale
    weights = scores.masked_fill(mask, _HIDDEN).softmax(-1)
    context = torch.einsum("bnst,tbnd->sbnd", weights, v)
    return context.reshape(*context.shape[:2], -1)


def _turns(position: Position, width: int, length: int) -> tuple[Any, float]:
    """Rotary angles [length, width / 2], and the factor on sine and cosine."""
    steps = torch.arange(0, width, 2, dtype=torch.float32) / width
    frequencies = 1.0 / position.base**steps
    scale = 1.0
    if position.kind == "yarn" and position.factor != 1:
        low, high = (_dimension(turns, width, position) for turns in (position.beta_fast, position.beta_slow))
        low, high = max(math.floor(low), 0), min(math.ceil(high), width - 1)
        ramp = (torch.arange(width // 2, dtype=torch.float32) - low) / (max(high - low, 0) or 0.001)
        slow = ramp.clamp(0, 1)
        frequencies = frequencies / position.factor * slow + frequencies * (1 - slow)
        scale = _temperature(position.factor, position.mscale) / _temperature(position.factor, position.mscale_all)
    return torch.arange(length, dtype=torch.float32)[:, None] * frequencies, scale


def _dimension(turns: float, width: int, position: Position) -> float:
    """Index of the rotary pair that makes so many turns within the original length (YaRN)."""
    return width * math.log(position.length / (turns * 2 * math.pi)) / (2 * math.log(position.base))


def _temperature(factor: float, mscale: float) -> float:
    """YaRN's attention factor for a length scale."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def _deinterleave(x: Any) -> Any:
    """Even components first, then odd ones."""
    return torch.cat((x[..., 0::2], x[..., 1::2]), -1)


def _rotate(x: Any, turns: Any, scale: float, *, interleaved: bool) -> Any:
    """Input with rotary positions applied to its first components; the rest is unchanged."""
    width = 2 * turns.shape[-1]
    kept, x = x[..., width:], x[..., :width]
    cosine, sine = (f(turns)[:, None, None] * scale for f in (torch.cos, torch.sin))
    one, two = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    first, second = one * cosine - two * sine, two * cosine + one * sine
    if interleaved:
        turned = torch.stack((first, second), -1).flatten(-2)
    else:
        turned = torch.cat((first, second), -1)
    return torch.cat((turned, kept), -1)


class _Start:
    """Every weight with the usual start: normal, residual outputs divided by √(2·layers), norms 1, biases 0."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.small = spec.std / math.sqrt(2 * len(spec.pattern))
        self.found: dict[str, Any] = {}

    def all(self) -> dict[str, Any]:
        """Fresh weights of the whole model by name."""
        spec = self.spec
        self._normal("embedding.word_embeddings.weight", spec.vocabulary, spec.hidden)
        if spec.position.kind == "learned_absolute":
            self._normal("embedding.position_embeddings.weight", spec.position.length, spec.hidden)
        for layer, sparse in enumerate(spec.pattern):
            self._block(f"decoder.layers.{layer}", bool(sparse))
        self._norm("decoder.final_layernorm", spec.hidden)
        for number in range(spec.further):
            name = f"mtp.layers.{number}"
            for part in ("enorm", "hnorm", "final_layernorm"):
                self._norm(f"{name}.{part}", spec.hidden)
            self._normal(f"{name}.eh_proj.weight", spec.hidden, 2 * spec.hidden)
            self._block(f"{name}.transformer_layer", bool(spec.pattern[-1]))
        if not spec.tied:
            self._normal("output_layer.weight", spec.vocabulary, spec.hidden)
        return self.found

    def _normal(self, name: str, *shape: int, std: float | None = None) -> None:
        """Add a normally distributed weight; the standard deviation is the model's unless given."""
        self.found[name] = torch.randn(*shape) * (self.spec.std if std is None else std)

    def _norm(self, name: str, width: int) -> None:
        """Add a norm's weights: scale 1, and bias 0 for LayerNorm."""
        self.found[f"{name}.weight"] = torch.ones(width)
        if self.spec.norm == "LayerNorm":
            self.found[f"{name}.bias"] = torch.zeros(width)

    def _linear(self, name: str, out: int, into: int, *, biased: bool, std: float | None = None) -> None:
        self._normal(f"{name}.weight", out, into, std=std)
        if biased:
            self.found[f"{name}.bias"] = torch.zeros(out)

    def _mlp(self, name: str, width: int, *, std: float, biased: bool) -> None:
        spec = self.spec
        self._linear(f"{name}.linear_fc1", width * (2 if spec.gated else 1), spec.hidden, biased=biased)
        self._linear(f"{name}.linear_fc2", spec.hidden, width, biased=biased, std=std)

    def _block(self, name: str, sparse: bool) -> None:
        """Add all weights of one transformer layer; `sparse` gives it experts."""
        spec, experts = self.spec, self.spec.experts
        self._norm(f"{name}.input_layernorm", spec.hidden)
        self._norm(f"{name}.pre_mlp_layernorm", spec.hidden)
        if spec.latent is None:
            self._attention(f"{name}.self_attention")
        else:
            self._latent(f"{name}.self_attention", spec.latent)
        if not sparse or experts is None:
            self._mlp(f"{name}.mlp", spec.ffn, std=self.small, biased=spec.bias)
            return
        self._normal(f"{name}.mlp.router.weight", experts.count, spec.hidden)
        std = spec.std if spec.plain_expert_std else self.small
        for expert in range(experts.count):
            self._mlp(f"{name}.mlp.experts.local_experts.{expert}", experts.width, std=std, biased=False)
        if experts.shared:
            self._mlp(f"{name}.mlp.shared_experts", experts.shared, std=self.small, biased=spec.bias)

    def _attention(self, name: str) -> None:
        """Add the weights of ordinary self-attention."""
        spec = self.spec
        width = (spec.heads + 2 * spec.groups) * spec.head
        self._linear(f"{name}.linear_qkv", width, spec.hidden, biased=spec.bias or spec.qkv_bias)
        if spec.qk_norm:
            self._norm(f"{name}.q_layernorm", spec.head)
            self._norm(f"{name}.k_layernorm", spec.head)
        self._linear(f"{name}.linear_proj", spec.hidden, spec.heads * spec.head, biased=spec.bias, std=self.small)

    def _latent(self, name: str, latent: Latent) -> None:
        """Add the weights of multi-latent attention."""
        spec = self.spec
        query = spec.heads * (latent.nope + latent.rope)
        if latent.q_rank:
            self._normal(f"{name}.linear_q_down_proj.weight", latent.q_rank, spec.hidden)
            self._normal(f"{name}.linear_q_up_proj.weight", query, latent.q_rank)
            if spec.qk_norm:
                self._norm(f"{name}.q_layernorm", latent.q_rank)
        else:
            self._normal(f"{name}.linear_q_proj.weight", query, spec.hidden)
        self._normal(f"{name}.linear_kv_down_proj.weight", latent.kv_rank + latent.rope, spec.hidden)
        self._normal(f"{name}.linear_kv_up_proj.weight", spec.heads * (latent.nope + latent.value), latent.kv_rank)
        if spec.qk_norm:
            self._norm(f"{name}.kv_layernorm", latent.kv_rank)
        self._linear(f"{name}.linear_proj", spec.hidden, spec.heads * latent.value, biased=spec.bias, std=self.small)


def _bias_names(spec: Spec) -> dict[str, int]:
    """Name and length of each expert bias."""
    experts = spec.experts
    if experts is None or not experts.biased:
        return {}
    names = [f"decoder.layers.{layer}" for layer, sparse in enumerate(spec.pattern) if sparse]
    names += [f"mtp.layers.{number}.transformer_layer" for number in range(spec.further) if spec.pattern[-1]]
    return {f"{name}.mlp.router.expert_bias": experts.count for name in names}


def _kinds(pattern: Any, layers: int) -> tuple[int, ...]:
    """Kind of each layer as a tuple; all dense without a pattern."""
    return tuple(pattern) if isinstance(pattern, (list, tuple)) else (0,) * layers  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _latent_of(values: Mapping[str, Any]) -> Latent:
    """The widths, which both frameworks' configurations call the same."""
    names = ("kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim")
    return Latent(values.get("q_lora_rank"), *(values[name] for name in names))


def _experts_of_megatron(args: Mapping[str, Any]) -> Experts:
    """Mixture-of-experts settings of Megatron-LM's arguments."""
    get = args.get
    softmax = get("moe_router_score_function", "softmax") == "softmax"
    kind = get("moe_router_load_balancing_type", "aux_loss")
    return Experts(
        get("num_experts", 0), get("moe_router_topk", 2), args["moe_ffn_hidden_size"],
        get("moe_shared_expert_intermediate_size"), "softmax" if softmax else "sigmoid",
        not get("moe_router_pre_softmax") if softmax else True, float(get("moe_router_topk_scaling_factor") or 1.0),
        get("moe_router_num_groups"), get("moe_router_group_topk"), bool(get("moe_router_enable_expert_bias")),
        float(get("moe_router_bias_update_rate") or 1e-3),
        {"aux_loss": "whole", "seq_aux_loss": "by-sequence"}.get(str(kind), "none"),
        float(get("moe_aux_loss_coeff") or 0.0), float(get("moe_z_loss_coeff") or 0.0),
    )  # fmt: skip


def _from_megatron(args: Mapping[str, Any]) -> Spec:
    """Specification of the reference model from Megatron-LM's arguments."""
    get = args.get
    latent = get("multi_latent_attention")
    gated, squared = bool(get("swiglu")), bool(get("squared_relu"))
    fused = get("bias_gelu_fusion", True) and get("add_bias_linear", True)
    experts = _experts_of_megatron(args) if get("num_experts") else None
    kind = get("position_embedding_type", "learned_absolute")
    position = Position(
        (get("rope_type") or "yarn") if latent and kind == "rope" else kind, get("max_position_embeddings", 0),
        float(get("rotary_base", 10000)), float(get("rotary_percent", 1.0)), bool(get("rotary_interleaved")),
        float(get("rotary_scaling_factor") or 1.0), float(get("beta_fast") or 32.0), float(get("beta_slow") or 1.0),
        float(get("mscale") or 1.0), float(get("mscale_all_dim") or 1.0),
    )  # fmt: skip
    pattern = get("moe_layer_freq") if experts is not None else None
    layers = args["num_layers"]
    return Spec(
        args["padded_vocab_size"], args["hidden_size"], args["ffn_hidden_size"], args["num_attention_heads"],
        get("num_query_groups") if get("group_query_attention") else args["num_attention_heads"], args["kv_channels"],
        _kinds(pattern, layers), get("normalization", "LayerNorm"),
        float(get("norm_epsilon", 1e-5)),
        "squared-relu" if squared else "silu" if gated else "tanh-gelu" if fused else "erf-gelu", gated,
        bool(get("add_bias_linear", True)), bool(get("add_qkv_bias")), bool(get("qk_layernorm")),
        not get("untie_embeddings_and_output_weights"),
        _latent_of(args) if latent else None,
        position, experts, int(get("mtp_num_layers") or 0), float(get("mtp_loss_scaling_factor") or 0.0), -1,
        float(get("init_method_std", 0.02)), plain_expert_std=False,
    )  # fmt: skip


def _experts_of_mindformers(fields: Mapping[str, Any]) -> Experts:
    """Mixture-of-experts settings of MindSpore Transformers' fields."""
    get = fields.get
    return Experts(
        get("num_moe_experts", 0), get("moe_router_topk", 2), get("moe_ffn_hidden_size", 0),
        get("moe_shared_expert_intermediate_size"), str(get("moe_router_score_function") or "softmax"),
        bool(get("norm_topk_prob", True)), float(get("moe_router_topk_scaling_factor") or 1.0),
        get("moe_router_num_groups"), get("moe_router_group_topk"), bool(get("moe_router_enable_expert_bias")),
        float(get("moe_router_bias_update_rate") or 1e-3), "whole", float(get("moe_aux_loss_coeff") or 0.0), 0.0,
    )  # fmt: skip


def _from_mindformers(model: Mapping[str, Any]) -> Spec:
    """Specification of the reference model from MindSpore Transformers' fields."""
    fields = model["transformer"]
    get = fields.get
    kind_of_model = str(model.get("model_class") or "")
    fixed = kind_of_model in ("Qwen3ForCausalLM", "Qwen3MoeForCausalLM")
    latent = bool(get("multi_latent_attention"))
    gated = bool(get("gated_linear_unit"))
    experts = _experts_of_mindformers(fields) if get("num_moe_experts") else None
    position = Position(
        str(get("position_embedding_type") or "rope"), get("max_position_embeddings", 0),
        float(get("rotary_base", 10000)), 1.0, bool(get("rotary_interleaved")),
        float(get("rotary_scaling_factor") or 1.0) if latent else 1.0, float(get("beta_fast") or 32.0),
        float(get("beta_slow") or 1.0), float(get("mscale") or 1.0), float(get("mscale_all_dim") or 1.0),
    )  # fmt: skip
    pattern = get("moe_layer_freq") if experts is not None else None
    further = 0 if fixed else int(get("mtp_num_layers") or 0)
    bias = bool(get("add_bias_linear"))
    pad = get("pad_token_id")
    return Spec(
        get("vocab_size"), get("hidden_size"), get("ffn_hidden_size"), get("num_attention_heads"),
        get("num_query_groups") or get("num_attention_heads"), get("kv_channels"),
        _kinds(pattern, get("num_layers")), get("normalization", "LayerNorm"),
        float(get("layernorm_epsilon", 1e-5)), "silu" if gated else "tanh-gelu", gated, bias,
        bool(get("add_qkv_bias")), True if fixed else bool(get("qk_layernorm")),
        bool(get("tie_word_embeddings")) and not kind_of_model.startswith(("Deepseek", "TeleChat")),
        _latent_of(fields) if latent else None,
        position, experts, further, float(get("mtp_loss_scaling_factor") or 0.0), 0 if pad is None else int(pad),
        float(get("init_method_std", 0.02)), plain_expert_std=True,
    )  # fmt: skip


def main(job: str, arrays: str) -> None:
    """Run the job of a file, and write its arrays and, as JSON, its values."""
    found = perform(job_from_json(json.loads(Path(job).read_text("utf-8"))), ReferenceBackend())
    np.savez(arrays, **found.arrays)
    print(json.dumps(found.values))

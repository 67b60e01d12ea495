"""Multi-head attention: several attentions side by side, each in its own slice of the width.

One projection makes the queries of all heads, another the keys, another the values. The heads do
not meet until W_o, which sums what each of them contributes.
"""

from numbers import Integral
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import nn

from hydra_lib import _checks
from hydra_lib._steps import html_table, shape_table
from hydra_lib.attention import check_causal, fused_unchecked, trace
from hydra_lib.heads import HeadConfig, merge_heads, split_heads
from hydra_lib.masking import check_mask

__all__ = ["MultiHeadAttention", "MultiHeadTrace"]


class MultiHeadTrace(NamedTuple):
    """Every step of multi-head attention. Printed, it is the table of their shapes."""

    q: Float[torch.Tensor, "*batch Tq d_model"]
    k: Float[torch.Tensor, "*batch Tk d_model"]
    v: Float[torch.Tensor, "*batch Tk d_model"]
    q_heads: Float[torch.Tensor, "*batch h Tq d_k"]
    k_heads: Float[torch.Tensor, "*batch h Tk d_k"]
    v_heads: Float[torch.Tensor, "*batch h Tk d_k"]
    scores: Float[torch.Tensor, "*batch h Tq Tk"]
    scaled: Float[torch.Tensor, "*batch h Tq Tk"]
    masked: Float[torch.Tensor, "*batch h Tq Tk"]
    weights: Float[torch.Tensor, "*batch h Tq Tk"]
    heads: Float[torch.Tensor, "*batch h Tq d_k"]
    merged: Float[torch.Tensor, "*batch Tq d_model"]
    output: Float[torch.Tensor, "*batch Tq d_model"]

    def __repr__(self) -> str:
        return shape_table(self)

    def _repr_html_(self) -> str:
        return html_table(
            self,
            *("query W_qᵀ", "key W_kᵀ", "value W_vᵀ", "split(q)", "split(k)", "split(v)"),
            *("q_heads k_headsᵀ", "scores / √d_k", "−∞ where not allowed", "softmax over the keys"),
            *("weights v_heads", "merge(heads)", "merged W_oᵀ"),
        )


class MultiHeadAttention(nn.Module):
    """Multi-head attention with four square projections, W_q, W_k, W_v and W_o.

    ``head_i = attention(query W_q[i]ᵀ, key W_k[i]ᵀ, value W_v[i]ᵀ)`` and
    ``out = concat(head_0 … head_{h−1}) W_oᵀ``; rows i·d_k … (i + 1)·d_k − 1 of W_q, W_k and W_v
    belong to head i, as do the same columns of W_o. Each W is (d_model, d_model), stored as
    ``torch.nn.Linear`` stores it: output axis first, and stays one.

    Their entries are drawn from ``generator``, torch's global one unless given, uniform with
    variance 1 / d_model: inputs of unit variance give queries, keys and values of unit variance.
    With ``bias``, each W has one, 0 at first.

    The call takes ``query`` (…, Tq, d_model), ``key`` and ``value`` (…, Tk, d_model), with the same
    leading axes, and gives (…, Tq, d_model); ``layer(x, x, x)`` is self-attention.

    One rule for masks: boolean, True = may attend, with the axes of the inputs, (…, Tq, Tk), and
    valid for every head; or with one axis more, (…, h, Tq, Tk), a mask for each head. Leading axes
    may have length 1, and be left out of a mask for every head. ``causal`` forbids what comes
    later and needs Tq = Tk; with a mask, both hold. A position that may attend to
    nothing gets zeros before W_o.

    Raises TypeError for a ``config`` that is no HeadConfig, a ``bias`` or ``generator`` that is
    none, inputs that are not tensors of the weights' dtype (under autocast, of any floating one but
    float64, which it leaves alone) or a mask that is not boolean; ValueError for more than 2³¹
    weights in a projection, other shapes, an axis of length 0, another device, a mask that does not
    broadcast and, where the weights are asked for, scores that are NaN or overflow; else see
    :func:`hydra_lib.attention.fused_attention`, also for what torch's fused kernels cannot do: a
    second derivative, for one, which the path of ``return_weights`` has. Cost:
    :meth:`hydra_lib.heads.HeadConfig.flops`. Source: Vaswani et al. (2017), section 3.2.2; initial
    weights, Glorot and Bengio (2010).

    >>> layer = MultiHeadAttention(HeadConfig(8, 2), generator=torch.Generator().manual_seed(0))
    >>> x = torch.ones(3, 5, 8)
    >>> layer(x, x, x).shape
    torch.Size([3, 5, 8])
    """

    W_q: nn.Linear
    W_k: nn.Linear
    W_v: nn.Linear
    W_o: nn.Linear

    def __init__(
        self, config: HeadConfig, bias: bool = False, *, generator: torch.Generator | None = None
    ):
        super().__init__()
        self._check_config(config, bias)
        if generator is not None:
            _checks.generator(generator)
        self.config = config
        d, device = config.d_model, (generator or torch.empty(0)).device
        _checks.fits("config", d, d)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            # On a meta device it draws nothing. skip_init would import a compiler: half a second.
            projection = nn.Linear(d, d, bool(bias), device="meta")
            projection.weight = nn.Parameter(torch.empty(d, d, device=device))
            nn.init.xavier_uniform_(projection.weight, generator=generator)
            if bias:
                projection.bias = nn.Parameter(torch.zeros(d, device=device))
            self.add_module(name, projection)

    @classmethod
    def _check_config(cls, config: object, bias: object) -> None:
        """Refuse what is no configuration; two numbers, as other libraries take them, above all."""
        if not isinstance(config, HeadConfig):
            sizes = [x for x in (config, bias) if isinstance(x, Integral) and type(x) is not bool]
            numbers = ", ".join(_checks.shown(int(x)) for x in sizes)
            write = f": write {cls.__name__}(HeadConfig({numbers}))" if len(sizes) == 2 else ""
            raise TypeError(f"config must be a HeadConfig, got {type(config).__name__}{write}")
        _checks.flag("bias", bias)

    def forward(
        self,
        query: Float[torch.Tensor, "*batch Tq d_model"],
        key: Float[torch.Tensor, "*batch Tk d_model"],
        value: Float[torch.Tensor, "*batch Tk d_model"],
        mask: Bool[torch.Tensor, "*mask"] | None = None,
        causal: bool = False,
        return_weights: bool = False,
    ):
        """The output, by fused kernels; ``return_weights`` adds the weights, (…, h, Tq, Tk)."""
        if _checks.flag("return_weights", return_weights):
            steps = self.trace(query, key, value, mask, causal)
            return steps.output, steps.weights
        mask = self.check_inputs(query, key, value, mask, causal)
        heads = fused_unchecked(*self.split(*self.project(query, key, value)), mask, causal)
        return self.W_o(merge_heads(heads))

    def trace(
        self,
        query: Float[torch.Tensor, "*batch Tq d_model"],
        key: Float[torch.Tensor, "*batch Tk d_model"],
        value: Float[torch.Tensor, "*batch Tk d_model"],
        mask: Bool[torch.Tensor, "*mask"] | None = None,
        causal: bool = False,
    ) -> MultiHeadTrace:
        """The same output by the plain path, with every step kept. Arguments as for the call."""
        mask = self.check_inputs(query, key, value, mask, causal)
        wide = self.project(query, key, value)
        split = self.split(*wide)
        steps = trace(*split, mask, causal)
        merged = merge_heads(steps.output)
        return MultiHeadTrace(*wide, *split, *steps, merged, self.W_o(merged))

    def project(
        self,
        query: Float[torch.Tensor, "*batch Tq d_model"],
        key: Float[torch.Tensor, "*batch Tk d_model"],
        value: Float[torch.Tensor, "*batch Tk d_model"],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values of all heads side by side, each (…, T, d_model)."""
        self.check_inputs(query, key, value, None, False)
        return self.W_q(query), self.W_k(key), self.W_v(value)

    def split(
        self,
        q: Float[torch.Tensor, "*batch Tq d_model"],
        k: Float[torch.Tensor, "*batch Tk d_model"],
        v: Float[torch.Tensor, "*batch Tk d_model"],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What :meth:`project` gives, head by head, each (…, h, T, d_k)."""
        for name, x in (("q", q), ("k", k), ("v", v)):
            self._check_wide(name, x, self.config.d_model)
        h = self.config.n_heads
        return split_heads(q, h), split_heads(k, h), split_heads(v, h)

    def combine(
        self, heads: Float[torch.Tensor, "*batch h Tq d_k"]
    ) -> Float[torch.Tensor, "*batch Tq d_model"]:
        """The output, from the output of each head, (…, h, Tq, d_k): ``merge(heads) W_oᵀ``."""
        self._check_heads(heads)
        return self.W_o(merge_heads(heads))

    def contributions(
        self, heads: Float[torch.Tensor, "*batch h Tq d_k"]
    ) -> Float[torch.Tensor, "*batch h Tq d_model"]:
        """What each head adds to the output: ``heads[i] @ W_O[i]``, with W_O = W_oᵀ.

        W_O[i] is the (d_k, d_model) block of rows that meets head i. The sum over the heads, plus
        the bias of W_o if there is one, is :meth:`combine`. Raises ValueError for a layer that is
        sharded over ranks, whose blocks are elsewhere.
        """
        check_whole(self)
        self._check_heads(heads)
        blocks = self.W_o.weight.mT.unflatten(0, (self.config.n_heads, -1))  # (h, d_k, d_model)
        return heads @ blocks  # (..., h, Tq, d_k) x (h, d_k, d_model) -> (..., h, Tq, d_model)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """The same layer with a copy of the weights of a ``torch.nn.MultiheadAttention``.

        It is a new one: in training mode, and each of its weights requires a gradient. Inputs here
        are always batch first. Raises ValueError for what this layer does not have: other widths
        for keys and values, dropout, ``add_bias_kv``, ``add_zero_attn``; TypeError for another kind
        of module, for one of two dtypes, and for a subclass of that one or of this layer, whose
        steps may differ.
        """
        if type(module) is not nn.MultiheadAttention:
            kind = f"{type(module).__module__}.{type(module).__qualname__}"
            raise TypeError(f"module must be a torch.nn.MultiheadAttention, got {kind}")
        if cls is not MultiHeadAttention:
            raise TypeError(
                f"{cls.__name__} cannot be made from a torch.nn.MultiheadAttention: call "
                "MultiHeadAttention.from_torch"
            )
        extras = {
            "kdim or vdim": module.in_proj_weight is None,
            "dropout": module.dropout > 0,
            "add_bias_kv": module.bias_k is not None,
            "add_zero_attn": module.add_zero_attn,
        }
        if names := ", ".join(name for name, used in extras.items() if used):
            raise ValueError(
                "module must be a torch.nn.MultiheadAttention with nothing but four projections, "
                f"got {names}"
            )
        theirs, state = module.state_dict(), {}
        if len(dtypes := {str(x.dtype) for x in theirs.values()}) > 1:
            raise TypeError(f"module must have one dtype, got {' and '.join(sorted(dtypes))}")
        bias = module.in_proj_bias is not None
        config = HeadConfig(module.embed_dim, module.num_heads)
        layer = cls(config, bias, generator=torch.Generator())  # overwritten at once
        for kind in ("weight", "bias")[: 1 + bias]:
            parts = (*theirs[f"in_proj_{kind}"].chunk(3), theirs[f"out_proj.{kind}"])
            state.update({f"W_{x}.{kind}": part for x, part in zip("qkvo", parts, strict=True)})
        layer.to(module.in_proj_weight).load_state_dict(state)
        return layer

    def to_torch(self) -> nn.MultiheadAttention:
        """A new ``torch.nn.MultiheadAttention``, batch first, with a copy of the weights.

        Its masks read the other way: there True = may *not* attend. It is in training mode, and
        each of its weights requires a gradient. Raises TypeError for a layer that is not plain: a
        subclass, or one with projections that are shared, hooked, or no ``torch.nn.Linear``, all
        of one dtype; ValueError for one that is sharded over ranks.
        """
        check_plain(self)
        w, bias, c = self.W_q.weight, self.W_q.bias is not None, self.config
        options = {"bias": bias, "batch_first": True, "dtype": w.dtype, "device": w.device}
        # Weights of its own would be drawn from the global generator.
        module = nn.utils.skip_init(nn.MultiheadAttention, c.d_model, c.n_heads, **options)
        own, state = self.state_dict(), {}
        for kind in ("weight", "bias")[: 1 + bias]:
            state[f"in_proj_{kind}"] = torch.cat([own[f"W_{name}.{kind}"] for name in "qkv"])
            state[f"out_proj.{kind}"] = own[f"W_o.{kind}"]
        module.load_state_dict(state)
        return module

    def _check_heads(self, heads: Any) -> None:
        h, d_k = self.config.n_heads, self.config.head_dim
        self._check_like_weights("heads", heads)
        if heads.ndim < 3 or heads.shape[-3] != h or heads.shape[-1] != d_k:
            raise ValueError(f"heads must be (…, {h}, T, {d_k}), got {tuple(heads.shape)}")

    def _check_like_weights(self, name: str, x: Any) -> None:
        weight = self.W_q.weight
        _checks.tensor(name, x)
        # Autocast makes its own dtypes: what one layer gives, the next one takes.
        here = x.is_floating_point() and x.device == weight.device and not x.is_meta
        here = here and torch.float64 not in (x.dtype, weight.dtype)  # which it leaves alone
        if here and torch.is_autocast_enabled(x.device.type):
            return
        _checks.like(name, x, "the weights", weight)

    def _check_wide(self, name: str, x: Any, d: int) -> None:
        self._check_like_weights(name, x)
        if x.ndim < 2 or x.shape[-1] != d or 0 in x.shape:
            raise ValueError(
                f"{name} must be (…, T, {d}) with no axis of length 0, got {tuple(x.shape)}"
            )

    def check_inputs(self, query, key, value, mask, causal) -> torch.Tensor | None:
        """Refuse bad input; return the mask with an axis for the heads."""
        roles = ("query", query), ("key", key), ("value", value)
        for name, x in roles[:1] if query is key is value else roles:  # one look at self-attention
            self._check_wide(name, x, self.W_q.in_features)
        if query.shape[:-2] != key.shape[:-2] or key.shape != value.shape:
            raise ValueError(
                "expected query (…, Tq, d_model), key and value (…, Tk, d_model) with the same "
                f"leading axes, got {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
            )
        check_causal(causal, query.shape[-2], key.shape[-2])
        if mask is None:
            return None
        _checks.tensor("mask", mask)
        batch, pairs = query.shape[:-2], (query.shape[-2], key.shape[-2])
        if 2 < mask.ndim <= query.ndim:
            check_mask(mask, (*batch, *pairs), query.device)
            return mask.unsqueeze(-3)  # (..., Tq, Tk) -> (..., 1, Tq, Tk): the same for every head
        check_mask(mask, (*batch, self.config.n_heads, *pairs), query.device)
        return mask


def check_plain(layer: object) -> None:
    """Refuse a subclass, whose steps may be others, such projections, and what is not whole."""
    if type(layer) is not MultiHeadAttention:
        raise TypeError(f"layer must be a plain MultiHeadAttention, got {type(layer).__name__}")
    check_whole(layer)
    projections = {f"W_{x}": getattr(layer, f"W_{x}") for x in "qkvo"}
    for name, projection in projections.items():
        if type(projection) is not nn.Linear:
            got = f"{name}, a {type(projection).__name__}"
        elif projection._forward_hooks or projection._forward_pre_hooks:  # pruning is one, too
            got = f"a hook on {name}"
        else:
            continue
        raise TypeError(f"layer must be a plain MultiHeadAttention, got {got}")
    weights = [projection.weight for projection in projections.values()]
    if len(set(map(id, weights))) < len(weights):
        raise TypeError("layer must be a plain MultiHeadAttention, got a weight that two share")
    if dtypes := {str(w.dtype) for w in weights if w.dtype != weights[0].dtype}:
        got = f"{weights[0].dtype} and {', '.join(sorted(dtypes))}"
        raise TypeError(f"layer must be a plain MultiHeadAttention, of one dtype, got {got}")


def check_whole(layer: MultiHeadAttention) -> None:
    """Refuse a layer whose weights are DTensors, without the second that their import takes."""
    if hasattr(layer.W_q.weight, "device_mesh"):
        raise ValueError("layer must be whole, got one that is sharded over ranks")

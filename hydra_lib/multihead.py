"""Multi-head attention: several attentions side by side, each in its own slice of the width.

One projection makes the queries of all heads, another the keys, another the values. The heads do
not meet until W_o, which sums what each of them contributes.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import nn

from hydra_lib.attention import fused_unchecked, shape_table, trace
from hydra_lib.heads import HeadConfig, merge_heads, split_heads
from hydra_lib.masking import check_mask

__all__ = ["MultiHeadAttention", "MultiHeadTrace"]


class MultiHeadTrace(NamedTuple):
    """Every step of multi-head attention. Printed, it is the table of their shapes."""

    q: Float[torch.Tensor, "*batch Tq d_model"]  # query W_qᵀ
    k: Float[torch.Tensor, "*batch Tk d_model"]  # key W_kᵀ
    v: Float[torch.Tensor, "*batch Tk d_model"]  # value W_vᵀ
    q_heads: Float[torch.Tensor, "*batch h Tq d_k"]  # split(q)
    k_heads: Float[torch.Tensor, "*batch h Tk d_k"]  # split(k)
    v_heads: Float[torch.Tensor, "*batch h Tk d_k"]  # split(v)
    scores: Float[torch.Tensor, "*batch h Tq Tk"]  # q_heads @ k_headsᵀ
    scaled: Float[torch.Tensor, "*batch h Tq Tk"]  # scores / √d_k
    masked: Float[torch.Tensor, "*batch h Tq Tk"]  # −∞ where not allowed
    weights: Float[torch.Tensor, "*batch h Tq Tk"]  # softmax over the keys
    heads: Float[torch.Tensor, "*batch h Tq d_k"]  # weights @ v_heads
    merged: Float[torch.Tensor, "*batch Tq d_model"]  # merge(heads)
    output: Float[torch.Tensor, "*batch Tq d_model"]  # merged W_oᵀ

    __repr__ = shape_table


class MultiHeadAttention(nn.Module):
    """Multi-head attention with four square projections, W_q, W_k, W_v and W_o.

    ``head_i = attention(query W_q[i]ᵀ, key W_k[i]ᵀ, value W_v[i]ᵀ)`` and
    ``out = concat(head_1 … head_h) W_oᵀ``; rows i·d_k … (i + 1)·d_k − 1 of W_q, W_k and W_v belong
    to head i, and those columns of W_o. Each W is (d_model, d_model), stored as
    ``torch.nn.Linear`` stores it: output axis first.

    Their entries are drawn from ``generator``, uniform with variance 1 / d_model: inputs of unit
    variance give queries, keys and values of unit variance. With ``bias``, each W has one, 0 at
    first.

    The call takes ``query`` (…, Tq, d_model), ``key`` and ``value`` (…, Tk, d_model), with the same
    leading axes, and gives (…, Tq, d_model); ``layer(x, x, x)`` is self-attention.

    One rule for masks: boolean, True = may attend, with the axes of the inputs, (…, Tq, Tk), and
    valid for every head; or with one axis more, (…, h, Tq, Tk), a mask for each head. Leading axes
    may be left out or have length 1. A position that may attend to nothing gets zeros before W_o.

    Raises TypeError for inputs of another dtype than the weights or a mask that is not boolean;
    ValueError for other shapes, an axis of length 0, another device, a mask that does not
    broadcast. Cost: :meth:`hydra_lib.heads.HeadConfig.flops`. Source: Vaswani et al. (2017),
    section 3.2.2; initial weights, Glorot and Bengio (2010).

    >>> layer = MultiHeadAttention(HeadConfig(8, 2), generator=torch.Generator().manual_seed(0))
    >>> x = torch.ones(3, 5, 8)
    >>> layer(x, x, x).shape
    torch.Size([3, 5, 8])
    """

    def __init__(self, config: HeadConfig, bias: bool = False, *, generator: torch.Generator):
        super().__init__()
        self.config = config
        d = config.d_model
        for name in ("W_q", "W_k", "W_v", "W_o"):
            projection = nn.utils.skip_init(nn.Linear, d, d, bias, device=generator.device)
            nn.init.xavier_uniform_(projection.weight, generator=generator)
            if bias:
                nn.init.zeros_(projection.bias)
            self.add_module(name, projection)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        return_weights: bool = False,
    ):
        """The output, by fused kernels; ``return_weights`` adds the weights, (…, h, Tq, Tk)."""
        if return_weights:
            steps = self.trace(query, key, value, mask)
            return steps.output, steps.weights
        mask = self.check_inputs(query, key, value, mask)
        heads = fused_unchecked(*self.split(*self.project(query, key, value)), mask)
        return self.W_o(merge_heads(heads))

    def trace(self, query, key, value, mask=None) -> MultiHeadTrace:
        """The same output by the plain path, with every step kept. Arguments as for the call."""
        mask = self.check_inputs(query, key, value, mask)
        wide = self.project(query, key, value)
        split = self.split(*wide)
        *attention, heads = trace(*split, mask)
        merged = merge_heads(heads)
        return MultiHeadTrace(*wide, *split, *attention, heads, merged, self.W_o(merged))

    def project(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple:
        """Queries, keys and values of all heads side by side, each (…, T, d_model)."""
        return self.W_q(query), self.W_k(key), self.W_v(value)

    def split(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple:
        """What :meth:`project` gives, head by head, each (…, h, T, d_k)."""
        return tuple(split_heads(x, self.config.n_heads) for x in (q, k, v))

    def combine(self, heads: torch.Tensor) -> Float[torch.Tensor, "*batch Tq d_model"]:
        """The output, from the output of each head, (…, h, Tq, d_k): ``merge(heads) W_oᵀ``."""
        self._check_heads(heads)
        return self.W_o(merge_heads(heads))

    def contributions(self, heads: torch.Tensor) -> Float[torch.Tensor, "*batch h Tq d_model"]:
        """What each head adds to the output: ``heads[i] @ W_O[i]``, with W_O = W_oᵀ.

        W_O[i] is the (d_k, d_model) block of rows that meets head i. The sum over the heads, plus
        the bias of W_o if there is one, is :meth:`combine`.
        """
        self._check_heads(heads)
        blocks = self.W_o.weight.mT.unflatten(0, (self.config.n_heads, -1))  # (h, d_k, d_model)
        return heads @ blocks  # (..., h, Tq, d_k) x (h, d_k, d_model) -> (..., h, Tq, d_model)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """The same layer with a copy of the weights of a ``torch.nn.MultiheadAttention``.

        Raises ValueError for what this layer does not have: other widths for keys and values,
        dropout, ``add_bias_kv``, ``add_zero_attn``. Inputs here are always batch first.
        """
        extras = {
            "kdim or vdim": module.in_proj_weight is None,
            "dropout": module.dropout > 0,
            "add_bias_kv": module.bias_k is not None,
            "add_zero_attn": module.add_zero_attn,
        }
        if names := ", ".join(name for name, used in extras.items() if used):
            raise ValueError(f"no counterpart here for {names} of torch.nn.MultiheadAttention")
        bias = module.in_proj_bias is not None
        config = HeadConfig(module.embed_dim, module.num_heads)
        layer = cls(config, bias, generator=torch.Generator())  # overwritten at once
        theirs, state = module.state_dict(), {}
        for kind in ("weight", "bias")[: 1 + bias]:
            parts = (*theirs[f"in_proj_{kind}"].chunk(3), theirs[f"out_proj.{kind}"])
            state |= {f"W_{name}.{kind}": part for name, part in zip("qkvo", parts, strict=True)}
        layer.to(module.in_proj_weight).load_state_dict(state)
        return layer

    def to_torch(self) -> nn.MultiheadAttention:
        """A ``torch.nn.MultiheadAttention``, batch first, with a copy of the weights.

        Its masks read the other way: there True = may *not* attend.
        """
        weight, bias, c = self.W_q.weight, self.W_q.bias is not None, self.config
        sizes, options = (c.d_model, c.n_heads), {"bias": bias, "batch_first": True}
        options |= {"dtype": weight.dtype, "device": weight.device}
        # Weights of its own would be drawn from the global generator.
        module = nn.utils.skip_init(nn.MultiheadAttention, *sizes, **options)
        own, state = self.state_dict(), {}
        for kind in ("weight", "bias")[: 1 + bias]:
            state[f"in_proj_{kind}"] = torch.cat([own[f"W_{name}.{kind}"] for name in "qkv"])
            state[f"out_proj.{kind}"] = own[f"W_o.{kind}"]
        module.load_state_dict(state)
        return module

    def _check_heads(self, heads: torch.Tensor) -> None:
        h, d_k = self.config.n_heads, self.config.head_dim
        if heads.ndim < 3 or heads.shape[-3] != h or heads.shape[-1] != d_k:
            raise ValueError(f"heads must be (…, {h}, T, {d_k}), got {tuple(heads.shape)}")

    def check_inputs(self, query, key, value, mask) -> torch.Tensor | None:
        """Refuse bad input; return the mask with an axis for the heads."""
        weight, d = self.W_q.weight, self.config.d_model
        roles = ("query", query), ("key", key), ("value", value)
        for name, x in roles[:1] if query is key is value else roles:  # one look at self-attention
            if x.dtype != weight.dtype:
                raise TypeError(f"{name} must be {weight.dtype} like the weights, got {x.dtype}")
            if x.device != weight.device:
                raise ValueError(f"{name} is on {x.device}, the weights are on {weight.device}")
            if x.ndim < 2 or x.shape[-1] != d or 0 in x.shape:
                raise ValueError(
                    f"{name} must be (…, T, {d}) with no axis of length 0, got {tuple(x.shape)}"
                )
        if query.shape[:-2] != key.shape[:-2] or key.shape != value.shape:
            raise ValueError(
                "expected query (…, Tq, d_model), key and value (…, Tk, d_model) with the same "
                f"leading axes, got {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
            )
        if mask is None:
            return None
        if 2 < mask.ndim <= query.ndim:
            mask = mask.unsqueeze(-3)  # (..., Tq, Tk) -> (..., 1, Tq, Tk): the same for every head
        shape = (*query.shape[:-2], self.config.n_heads, query.shape[-2], key.shape[-2])
        check_mask(mask, shape, query.device)
        return mask

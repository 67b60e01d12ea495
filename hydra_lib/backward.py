"""The gradient of attention, derived by hand: five formulas, and the same for a whole layer.

Only products, sums and the softmax's Jacobian are used, no autograd. ``grad_output`` is dO, the
gradient of a scalar loss with respect to the output; every result is the gradient of that loss.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float

from hydra_lib import _checks
from hydra_lib._steps import html_table, shape_table
from hydra_lib.attention import check_divisor, check_inputs, trace, widened
from hydra_lib.heads import merge_heads, split_heads
from hydra_lib.multihead import MultiHeadAttention, check_plain

__all__ = [
    "AttentionGradients",
    "attention_backward",
    "backward_flops",
    "gradients_from_weights",
    "multi_head_backward",
]


class AttentionGradients(NamedTuple):
    """The steps of attention's backward pass. Printed, it is the table of their shapes."""

    weights: Float[torch.Tensor, "*scores Tq Tk"]
    grad_v: Float[torch.Tensor, "*v_batch Tk d_v"]
    grad_weights: Float[torch.Tensor, "*batch Tq Tk"]
    delta: Float[torch.Tensor, "*batch Tq"]
    grad_scaled: Float[torch.Tensor, "*batch Tq Tk"]
    grad_q: Float[torch.Tensor, "*q_batch Tq d_k"]
    grad_k: Float[torch.Tensor, "*k_batch Tk d_k"]

    def __repr__(self) -> str:
        return shape_table(self)

    def _repr_html_(self) -> str:
        return html_table(
            self,
            *("P, of the forward pass", "dV = Pᵀ dO", "dP = dO Vᵀ", "δ_i = Σ_j P_ij dP_ij"),
            *("dS = P ∘ (dP − δ), S = Q Kᵀ / τ", "dQ = dS K / τ", "dK = dSᵀ Q / τ"),
        )


def attention_backward(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    grad_output: Float[torch.Tensor, "*batch Tq d_v"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
    causal: bool = False,
    *,
    temperature: float | int | None = None,
) -> AttentionGradients:
    """Gradients of :func:`hydra_lib.attention.scaled_dot_product_attention`, with every step kept.

    ``dV = Pᵀ dO``, ``dP = dO Vᵀ``, ``dS = P ∘ (dP − δ)`` with ``δ_i = Σ_j P_ij dP_ij``, then
    ``dQ = dS K / τ`` and ``dK = dSᵀ Q / τ``. P are the weights and S = Q Kᵀ / τ. A forbidden key
    has P = 0, so nothing flows through it; a query with no key to attend to gets zeros.

    ``grad_output`` is (…, Tq, d_v) like the output, the other arguments are those of the forward
    pass. Each gradient has the shape of its tensor: broadcast axes are summed. 16-bit types are
    computed in float32, and every step is rounded once.

    Raises as :func:`hydra_lib.attention.scaled_dot_product_attention`, TypeError for a
    ``grad_output`` of another dtype, ValueError for another shape or device and for τ = 0, where
    the output jumps. Error: with ``D_ij = Σ_c |dO_ic v_jc|``, and ε and A_i as there, within
    ``8 ε (1 + A_i) P_ij (D_ij + Σ_m P_im D_im)`` for dS_ij; in 16 bits at most twice that of
    torch's own gradient. Cost: :func:`backward_flops` after one forward pass; at once it holds
    7.25·Tq·Tk numbers, 8.25 with a mask or ``causal``, and keeps 3. Source: Dao et al. (2022),
    *FlashAttention*, appendix B.2.

    >>> attention_backward(torch.ones(2, 3), torch.ones(5, 3), torch.ones(5, 7), torch.ones(2, 7))
    weights       (2, 5)
    grad_v        (5, 7)
    grad_weights  (2, 5)
    delta         (2,)
    grad_scaled   (2, 5)
    grad_q        (2, 3)
    grad_k        (5, 3)
    """
    tau = check_backward(q, k, v, mask, causal, temperature, grad_output)
    dtype, (q, k, v, grad_output) = q.dtype, widened(q, k, v, grad_output)
    weights = trace(q, k, v, mask, causal, temperature=tau).weights
    steps = gradients_from_weights(q, k, v, weights, grad_output, tau)
    return AttentionGradients(*(x.to(dtype) for x in steps))


def gradients_from_weights(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    weights: Float[torch.Tensor, "*scores Tq Tk"],
    grad_output: Float[torch.Tensor, "*batch Tq d_v"],
    temperature: float | int,
) -> AttentionGradients:
    """:func:`attention_backward` for a caller that kept the weights, (…, Tq, Tk), and knows τ.

    Errors as there, and TypeError where ``temperature`` is None; scores are not made and values not
    looked at: NaN in, NaN out. Every step is computed in the dtype of ``q``.
    """
    _checks.number("temperature", temperature)
    tau = check_backward(q, k, v, None, False, temperature, grad_output)
    rows = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    _checks.like("weights", weights, "q", q, (*rows, q.shape[-2], k.shape[-2]))
    # (..., Tk, Tq) x (..., Tq, d_v) -> (..., Tk, d_v)
    grad_v = weights.mT @ grad_output
    # (..., Tq, d_v) x (..., d_v, Tk) -> (..., Tq, Tk)
    grad_weights = grad_output @ v.mT
    delta = (weights * grad_weights).sum(-1)  # (..., Tq, Tk) -> (..., Tq)
    grad_scaled = weights * (grad_weights - delta[..., None])
    # (..., Tq, Tk) x (..., Tk, d_k) -> (..., Tq, d_k)
    grad_q = grad_scaled @ k / tau
    # (..., Tk, Tq) x (..., Tq, d_k) -> (..., Tk, d_k)
    grad_k = grad_scaled.mT @ q / tau
    return AttentionGradients(
        weights,
        grad_v.sum_to_size(v.shape),
        grad_weights,
        delta,
        grad_scaled,
        grad_q.sum_to_size(q.shape),
        grad_k.sum_to_size(k.shape),
    )


@torch.no_grad()
def multi_head_backward(
    layer: MultiHeadAttention,
    query: Float[torch.Tensor, "*batch Tq d_model"],
    key: Float[torch.Tensor, "*batch Tk d_model"],
    value: Float[torch.Tensor, "*batch Tk d_model"],
    grad_output: Float[torch.Tensor, "*batch Tq d_model"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
    causal: bool = False,
) -> dict[str, torch.Tensor]:
    """Gradients of a :class:`hydra_lib.multihead.MultiHeadAttention`, by name.

    ``query``, ``key`` and ``value``, then every parameter under its name in ``state_dict``, each
    with the shape of its tensor. In self-attention the gradient of x is the sum of the first three.

    A projection ``Y = X Wᵀ + b`` sends back ``dX = dY W`` and keeps ``dW = dYᵀ X`` and ``db``, the
    sum of dY over all positions; between them each head is :func:`attention_backward`.

    Arguments and errors as the layer's; ``grad_output`` like the output. TypeError for a layer
    that is not plain and ValueError for one that is sharded over ranks, as
    :meth:`hydra_lib.multihead.MultiHeadAttention.to_torch`. Cost: twice
    :meth:`hydra_lib.heads.HeadConfig.flops` after a forward pass that stops before W_o.

    >>> from hydra_lib.heads import HeadConfig
    >>> layer = MultiHeadAttention(HeadConfig(4, 2), generator=torch.Generator().manual_seed(0))
    >>> x = torch.ones(3, 4)
    >>> list(multi_head_backward(layer, x, x, x, torch.ones(3, 4)))
    ['query', 'key', 'value', 'W_q.weight', 'W_k.weight', 'W_v.weight', 'W_o.weight']
    """
    check_plain(layer)
    mask = layer.check_inputs(query, key, value, mask, causal)
    _checks.like("grad_output", grad_output, "the inputs", query, query.shape)
    split = layer.split(*layer.project(query, key, value))
    dtype = split[0].dtype
    grad_merged = grad_output @ layer.W_o.weight  # (..., Tq, d_model)
    h = layer.config.n_heads
    grad_heads = split_heads(grad_merged, h)  # (..., h, Tq, d_k)
    # As in attention_backward, the weights are not rounded to 16 bits.
    q, k, v, grad_heads = widened(*split, grad_heads)
    steps = trace(q, k, v, mask, causal)
    tau = math.sqrt(layer.config.head_dim)
    inner = gradients_from_weights(q, k, v, steps.weights, grad_heads, tau)
    merged = merge_heads(steps.output.to(dtype))
    grads = inner.grad_q, inner.grad_k, inner.grad_v
    wide = [merge_heads(x.to(dtype)) for x in grads]
    weights = layer.W_q.weight, layer.W_k.weight, layer.W_v.weight
    products = (grad @ weight for grad, weight in zip(wide, weights, strict=True))
    gradients = dict(zip(("query", "key", "value"), products, strict=True))
    inputs = query, key, value, merged
    for name, x, grad in zip("qkvo", inputs, [*wide, grad_output], strict=True):
        # (..., T, d_model) -> (N, d_model)
        x, grad = x.flatten(0, -2), grad.flatten(0, -2)
        gradients[f"W_{name}.weight"] = grad.mT @ x  # (d, N) x (N, d) -> (d, d)
        if layer.W_o.bias is not None:
            gradients[f"W_{name}.bias"] = grad.sum(0)
    return gradients


def backward_flops(
    queries: int, keys: int, d_k: int, d_v: int, batch: int = 1, recompute: bool = False
) -> dict[str, int]:
    """FLOPs of the products of one backward pass, step by step; ``batch`` counts the heads too.

    Each product of the forward pass, Q Kᵀ and P V, sends a gradient to both of its factors: twice
    the FLOPs. Making the scores again with ``recompute`` is one product more: 2.5 times in all
    when d_k = d_v. Softmax, δ and scaling are left out. Raises ValueError for what is not a
    positive integer, TypeError for a ``recompute`` that is neither True nor False.

    >>> forward = 2 * 5 * 7 * (16 + 16)
    >>> sum(backward_flops(5, 7, 16, 16).values()) / forward
    2.0
    >>> sum(backward_flops(5, 7, 16, 16, recompute=True).values()) / forward
    2.5
    """
    sizes = {"queries": queries, "keys": keys, "d_k": d_k, "d_v": d_v, "batch": batch}
    queries, keys, d_k, d_v, batch = (_checks.integer(*size) for size in sizes.items())
    recompute = _checks.flag("recompute", recompute)
    pairs = 2 * batch * queries * keys  # a multiplication and an addition each
    again = {"scores": pairs * d_k} if recompute else {}
    by_value = {"grad_v": pairs * d_v, "grad_weights": pairs * d_v}
    return again | by_value | {"grad_q": pairs * d_k, "grad_k": pairs * d_k}


def check_backward(q, k, v, mask, causal, temperature, grad_output) -> float | int:
    """Refuse bad input, return the temperature."""
    tau = check_inputs(q, k, v, mask, causal, temperature)
    check_divisor(tau, q.dtype, "attention jumps at 0")
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    shape = (*batch, q.shape[-2], v.shape[-1])
    _checks.like("grad_output", grad_output, "the inputs", q, shape)
    return tau

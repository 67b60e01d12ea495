"""The gradient of attention, derived by hand: five formulas, and the same for a whole layer.

Only products, sums and the softmax's Jacobian are used, no autograd. ``grad_output`` is dO, the
gradient of a scalar loss with respect to the output; every result is the gradient of that loss.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float

from hydra_lib.attention import check_inputs, shape_table, trace
from hydra_lib.heads import merge_heads, split_heads
from hydra_lib.multihead import MultiHeadAttention

__all__ = [
    "AttentionGradients",
    "attention_backward",
    "backward_flops",
    "gradients_from_weights",
    "multi_head_backward",
]


class AttentionGradients(NamedTuple):
    """The steps of attention's backward pass. Printed, it is the table of their shapes."""

    weights: Float[torch.Tensor, "*scores Tq Tk"]  # P, of the forward pass
    grad_v: Float[torch.Tensor, "*v_batch Tk d_v"]  # dV = Pᵀ dO
    grad_weights: Float[torch.Tensor, "*batch Tq Tk"]  # dP = dO Vᵀ
    delta: Float[torch.Tensor, "*batch Tq"]  # δ_i = Σ_j P_ij dP_ij = dO_i · O_i
    grad_scaled: Float[torch.Tensor, "*batch Tq Tk"]  # dS = P ∘ (dP − δ), S = Q Kᵀ / τ
    grad_q: Float[torch.Tensor, "*q_batch Tq d_k"]  # dQ = dS K / τ
    grad_k: Float[torch.Tensor, "*k_batch Tk d_k"]  # dK = dSᵀ Q / τ

    __repr__ = shape_table


def attention_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    grad_output: torch.Tensor,
    mask: torch.Tensor | None = None,
    temperature: float | int | None = None,
) -> AttentionGradients:
    """Gradients of :func:`hydra_lib.attention.scaled_dot_product_attention`, with every step kept.

    ``dV = Pᵀ dO``, ``dP = dO Vᵀ``, ``dS = P ∘ (dP − δ)`` with ``δ_i = Σ_j P_ij dP_ij``, then
    ``dQ = dS K / τ`` and ``dK = dSᵀ Q / τ``. P are the weights and S = Q Kᵀ / τ. A forbidden key
    has P = 0, so nothing flows through it; a query with no key to attend to gets zeros.

    ``grad_output`` is (…, Tq, d_v) like the output, the other arguments are those of the forward
    pass. Each gradient has the shape of its tensor: broadcast axes are summed.

    Raises as the forward pass, TypeError for a ``grad_output`` of another dtype, ValueError for
    another shape or device and for τ = 0, where the output jumps. Cost: :func:`backward_flops`
    after one forward pass; 3·Tq·Tk numbers. Source: Dao et al. (2022), *FlashAttention*,
    appendix B.2.

    >>> attention_backward(torch.ones(2, 3), torch.ones(5, 3), torch.ones(5, 7), torch.ones(2, 7))
    weights       (2, 5)
    grad_v        (5, 7)
    grad_weights  (2, 5)
    delta         (2,)
    grad_scaled   (2, 5)
    grad_q        (2, 3)
    grad_k        (5, 3)
    """
    tau = check_backward(q, k, v, mask, temperature, grad_output)
    weights = trace(q, k, v, mask, temperature).weights
    return gradients_from_weights(q, k, v, weights, grad_output, tau)


def gradients_from_weights(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    weights: torch.Tensor,
    grad_output: torch.Tensor,
    tau: float | int,
) -> AttentionGradients:
    """:func:`attention_backward` for a caller that kept the weights; nothing is checked."""
    grad_v = weights.mT @ grad_output  # (..., Tk, Tq) x (..., Tq, d_v) -> (..., Tk, d_v)
    grad_weights = grad_output @ v.mT  # (..., Tq, d_v) x (..., d_v, Tk) -> (..., Tq, Tk)
    delta = (weights * grad_weights).sum(-1)  # (..., Tq, Tk) -> (..., Tq)
    grad_scaled = weights * (grad_weights - delta[..., None])
    grad_q = grad_scaled @ k / tau  # (..., Tq, Tk) x (..., Tk, d_k) -> (..., Tq, d_k)
    grad_k = grad_scaled.mT @ q / tau  # (..., Tk, Tq) x (..., Tq, d_k) -> (..., Tk, d_k)
    return AttentionGradients(
        weights,
        grad_v.sum_to_size(v.shape),
        grad_weights,
        delta,
        grad_scaled,
        grad_q.sum_to_size(q.shape),
        grad_k.sum_to_size(k.shape),
    )


def multi_head_backward(
    layer: MultiHeadAttention,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    grad_output: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """Gradients of a :class:`hydra_lib.multihead.MultiHeadAttention`, by name.

    ``query``, ``key`` and ``value``, then every parameter under its name in ``state_dict``, each
    with the shape of its tensor. In self-attention the gradient of x is the sum of the first three.

    A projection ``Y = X Wᵀ + b`` sends back ``dX = dY W`` and keeps ``dW = dYᵀ X`` and ``db``, the
    sum of dY over all positions; between them each head is :func:`attention_backward`.

    Arguments and errors as the layer's; ``grad_output`` like the output. TypeError for a subclass,
    whose steps may be others. Cost: twice :meth:`hydra_lib.heads.HeadConfig.flops` after one
    forward pass.

    >>> from hydra_lib.heads import HeadConfig
    >>> layer = MultiHeadAttention(HeadConfig(4, 2), generator=torch.Generator().manual_seed(0))
    >>> x = torch.ones(3, 4)
    >>> list(multi_head_backward(layer, x, x, x, torch.ones(3, 4)))
    ['query', 'key', 'value', 'W_q.weight', 'W_k.weight', 'W_v.weight', 'W_o.weight']
    """
    if type(layer) is not MultiHeadAttention:
        raise TypeError(f"expected a plain MultiHeadAttention, got {type(layer).__name__}")
    layer.check_inputs(query, key, value, mask)
    check_like("grad_output", grad_output, query, query.shape)
    steps, h = layer.trace(query, key, value, mask), layer.config.n_heads
    # (..., Tq, d_model) x (d_model, d_model) -> (..., Tq, d_model) -> (..., h, Tq, d_k)
    grad_heads = split_heads(grad_output @ layer.W_o.weight, h)
    kept = steps.q_heads, steps.k_heads, steps.v_heads, steps.weights
    inner = gradients_from_weights(*kept, grad_heads, math.sqrt(layer.config.head_dim))
    wide = [merge_heads(x) for x in (inner.grad_q, inner.grad_k, inner.grad_v)]
    weights = layer.W_q.weight, layer.W_k.weight, layer.W_v.weight
    products = (grad @ weight for grad, weight in zip(wide, weights, strict=True))
    gradients = dict(zip(("query", "key", "value"), products, strict=True))
    inputs = query, key, value, steps.merged
    for name, x, grad in zip("qkvo", inputs, [*wide, grad_output], strict=True):
        x, grad = x.flatten(0, -2), grad.flatten(0, -2)  # (..., T, d_model) -> (N, d_model)
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
    when d_k = d_v. Softmax, δ and scaling are left out.

    >>> forward = 2 * 5 * 7 * (16 + 16)
    >>> sum(backward_flops(5, 7, 16, 16).values()) / forward
    2.0
    >>> sum(backward_flops(5, 7, 16, 16, recompute=True).values()) / forward
    2.5
    """
    pairs = 2 * batch * queries * keys  # a multiplication and an addition each
    again = {"scores": pairs * d_k} if recompute else {}
    by_value = {"grad_v": pairs * d_v, "grad_weights": pairs * d_v}
    return again | by_value | {"grad_q": pairs * d_k, "grad_k": pairs * d_k}


def check_backward(q, k, v, mask, temperature, grad_output) -> float | int:
    """Refuse bad input, return the temperature."""
    tau = check_inputs(q, k, v, mask, temperature)
    if tau == 0:
        raise ValueError("attention jumps at temperature 0: expected it in (0, ∞], got 0")
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    check_like("grad_output", grad_output, q, (*batch, q.shape[-2], v.shape[-1]))
    return tau


def check_like(name: str, x: torch.Tensor, like: torch.Tensor, shape: tuple) -> None:
    if x.dtype != like.dtype:
        raise TypeError(f"{name} must be {like.dtype} like the inputs, got {x.dtype}")
    if x.device != like.device:
        raise ValueError(f"{name} is on {x.device}, the inputs are on {like.device}")
    if x.shape != shape:
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {tuple(x.shape)}")

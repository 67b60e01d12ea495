"""Scaled dot-product attention: score, scale, mask, softmax, mix.

The weights of :func:`hydra_lib.aggregation.aggregate` are no longer chosen in advance: each query
makes its own, as the Boltzmann distribution of its scores against the keys.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float

from hydra_lib.boltzmann import probabilities
from hydra_lib.masking import apply_mask, check_mask

__all__ = [
    "Trace",
    "fused_attention",
    "scaled_dot_product_attention",
    "shape_table",
    "trace",
]

Temperature = float | int | None


def shape_table(steps: tuple) -> str:
    """A named tuple of tensors as a table of names and shapes."""
    wide = max(map(len, steps._fields))
    rows = zip(steps._fields, steps, strict=True)
    return "\n".join(f"{name:<{wide}}  {tuple(tensor.shape)}" for name, tensor in rows)


class Trace(NamedTuple):
    """The five steps of attention. Printed, it is the table of their shapes."""

    scores: Float[torch.Tensor, "*batch Tq Tk"]  # q @ kᵀ
    scaled: Float[torch.Tensor, "*batch Tq Tk"]  # scores / τ
    masked: Float[torch.Tensor, "*batch Tq Tk"]  # −∞ where not allowed
    weights: Float[torch.Tensor, "*batch Tq Tk"]  # softmax over the keys
    output: Float[torch.Tensor, "*batch Tq d_v"]  # weights @ v

    __repr__ = shape_table


def scaled_dot_product_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    temperature: Temperature = None,
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """Each query's mean of the values, under the Boltzmann distribution of its scores.

    ``out = softmax(q kᵀ / τ) v``, the softmax over the keys.

    ``q`` is (…, Tq, d_k), ``k`` is (…, Tk, d_k), ``v`` is (…, Tk, d_v); leading axes broadcast.
    ``mask`` is boolean, True = may attend, and broadcasts to (…, Tq, Tk); a query with no key to
    attend to gets zeros. ``temperature`` is a number τ, √d_k unless given; τ = 0 looks up the best
    key (ties share), τ = ∞ takes the plain mean. Same dtype and device come back.

    Raises TypeError for q, k, v that are not of one floating dtype, a mask that is not boolean or a
    temperature that is not a number; ValueError for other shapes, an axis of length 0, more than
    one device, a mask that does not broadcast, τ < 0 or NaN, and scores that are NaN or overflow.
    Cost for each batch entry: 2·Tq·Tk·(d_k + d_v) FLOPs, one exponential a score, Tq·Tk numbers.
    Source: Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.1.

    >>> k = torch.tensor([[1.0], [0.0]])
    >>> v = torch.tensor([[8.0], [4.0]])
    >>> scaled_dot_product_attention(torch.tensor([[0.0], [1000.0]]), k, v)
    tensor([[6.],
            [8.]])
    """
    tau = check_inputs(q, k, v, mask, temperature)
    scores = _finite(q @ k.mT)  # (..., Tq, d_k) x (..., d_k, Tk) -> (..., Tq, Tk)
    if mask is not None:
        scores = apply_mask(scores, mask)
    weights = probabilities(scores, tau)
    return weights @ v  # (..., Tq, Tk) x (..., Tk, d_v) -> (..., Tq, d_v)


def fused_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """:func:`scaled_dot_product_attention` at τ = √d_k by torch's own fused kernels.

    ``torch.nn.functional.scaled_dot_product_attention`` with this book's rule for a query that has
    no key to attend to: zeros, and zero gradients, on every device and in every version of torch.
    The causal triangle is handed over by name, since kernels skip its empty half.

    Arguments and errors as there, but values are not looked at: NaN in, NaN out. Cost: the same
    FLOPs, and no (Tq, Tk) matrix of floats is kept. Source: Dao et al. (2022), *FlashAttention*.

    >>> q = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.equal(fused_attention(q, q, q, torch.zeros(2, 2).bool()), torch.zeros(2, 2))
    True
    """
    check_inputs(q, k, v, mask, None)
    return fused_unchecked(q, k, v, mask)


def fused_unchecked(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """:func:`fused_attention` for a caller that has done its checks."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    n = q.shape[-2]
    if mask.shape == (n, n) and k.shape[-2] == n and torch.equal(mask, mask.new_ones(n, n).tril_()):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = torch.atleast_2d(mask)
    alive = mask.any(-1, keepdim=True)  # (..., Tq, 1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | ~alive)
    return out.masked_fill(~alive, 0.0)


def trace(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    temperature: Temperature = None,
) -> Trace:
    """:func:`scaled_dot_product_attention` with every intermediate kept.

    The scores are divided by τ before the softmax, which then runs at temperature 1: the same
    function, so the outputs agree to rounding. Arguments, errors and cost are the same too, but for
    τ = 0, a ValueError here.

    >>> trace(torch.ones(2, 3), torch.ones(5, 3), torch.ones(5, 7))
    scores   (2, 5)
    scaled   (2, 5)
    masked   (2, 5)
    weights  (2, 5)
    output   (2, 7)
    """
    tau = check_inputs(q, k, v, mask, temperature)
    if tau == 0:
        raise ValueError("the trace divides by the temperature: expected it in (0, ∞], got 0")
    scores = _finite(q @ k.mT)  # (..., Tq, d_k) x (..., d_k, Tk) -> (..., Tq, Tk)
    scaled = scores / tau
    masked = scaled if mask is None else apply_mask(scaled, mask)
    weights = probabilities(masked)
    return Trace(scores, scaled, masked, weights, weights @ v)


def check_inputs(q, k, v, mask, temperature: Temperature) -> float | int:
    """Refuse bad input, return the temperature."""
    if not (q.dtype == k.dtype == v.dtype and q.is_floating_point()):
        raise TypeError(
            f"q, k and v must have one floating dtype, got {q.dtype}, {k.dtype}, {v.dtype}"
        )
    if not q.device == k.device == v.device:
        raise ValueError(
            f"q, k and v must be on one device, got {q.device}, {k.device}, {v.device}"
        )
    batch = _check_shapes(q.shape, k.shape, v.shape)
    if temperature is None:
        temperature = math.sqrt(q.shape[-1])
    elif isinstance(temperature, bool) or not isinstance(temperature, float | int):
        raise TypeError(f"temperature must be a number, got {type(temperature).__name__}")
    elif not temperature >= 0:
        raise ValueError(f"temperature must lie in [0, ∞], got {temperature}")
    if mask is not None:
        check_mask(mask, (*batch, q.shape[-2], k.shape[-2]), q.device)
    return temperature


def _check_shapes(q: tuple, k: tuple, v: tuple) -> tuple:
    """Refuse shapes that do not fit, return the leading axes of the scores."""
    try:
        fits = q[-1] == k[-1] and k[-2] == v[-2] and len(q) > 1 and 0 not in q + k + v
        batch = q[:-2]
        if not batch == k[:-2] == v[:-2]:
            batch = torch.broadcast_shapes(batch, k[:-2])
            torch.broadcast_shapes(batch, v[:-2])
    except (IndexError, RuntimeError):
        fits = False
    if not fits:
        raise ValueError(
            "expected q (…, Tq, d_k), k (…, Tk, d_k) and v (…, Tk, d_v), no axis of length 0 and "
            f"leading axes that broadcast, got {tuple(q)}, {tuple(k)} and {tuple(v)}"
        )
    return batch


def _finite(scores: torch.Tensor) -> torch.Tensor:
    """−∞ would pass for a forbidden key, so an overflow must not get through."""
    if not scores.isfinite().all():
        raise ValueError(
            f"q @ kᵀ must be finite: got NaN or ±∞, from q and k or by overflow in {scores.dtype}"
        )
    return scores

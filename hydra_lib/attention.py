"""Scaled dot-product attention: score, scale, mask, softmax, mix.

The weights of :func:`hydra_lib.aggregation.aggregate` are no longer chosen in advance: each query
makes its own, as the Boltzmann distribution of its scores against the keys.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float

from hydra_lib import _checks
from hydra_lib._steps import html_table, shape_table
from hydra_lib.boltzmann import probabilities
from hydra_lib.masking import apply_mask, causal_mask, check_mask

__all__ = ["Trace", "fused_attention", "scaled_dot_product_attention", "trace"]

Temperature = float | int | None


class Trace(NamedTuple):
    """The five steps of attention. Printed, it is the table of their shapes."""

    scores: Float[torch.Tensor, "*batch Tq Tk"]
    scaled: Float[torch.Tensor, "*batch Tq Tk"]
    masked: Float[torch.Tensor, "*batch Tq Tk"]
    weights: Float[torch.Tensor, "*batch Tq Tk"]
    output: Float[torch.Tensor, "*batch Tq d_v"]

    def __repr__(self) -> str:
        return shape_table(self)

    def _repr_html_(self) -> str:
        scores = "q kᵀ", "scores / τ", "−∞ where not allowed"
        return html_table(self, *scores, "softmax over the keys", "weights v")


def scaled_dot_product_attention(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
    causal: bool = False,
    *,
    temperature: Temperature = None,
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """Each query's mean of the values, under the Boltzmann distribution of its scores.

    ``out = softmax(q kᵀ / τ) v``, the softmax over the keys.

    ``q`` is (…, Tq, d_k), ``k`` is (…, Tk, d_k), ``v`` is (…, Tk, d_v); leading axes broadcast.
    ``mask`` is boolean, True = may attend, and broadcasts to (…, Tq, Tk), with the leading axes of
    ``q`` and ``k``; ``causal`` forbids every key that stands after its query, and needs Tq = Tk;
    both together mean both. A query with no key to attend to gets zeros. ``temperature`` is a
    number τ, √d_k unless given; τ = 0 looks up the best key (ties share), τ = ∞ takes the plain
    mean. Same dtype and device come back; 16-bit types are computed in float32 and rounded once.
    What ``v`` holds is not looked at: a NaN or ±∞ there makes its column NaN for each query that
    gives it no weight, too, since 0 · ∞ is NaN.

    Raises TypeError for q, k, v that are not tensors of one floating dtype, a mask that is not
    boolean, a ``causal`` that is neither True nor False or a temperature that is not a number;
    ValueError for other shapes, an axis of length 0, more than one device or none (meta), a mask
    that does not broadcast, τ < 0 or NaN, and scores that are NaN or overflow. Error: with A_i
    the row's largest ``Σ_c |q_ic k_jc| / τ`` and ε that of the dtype the sums are taken in, within
    ``2 (Tk + d_k + 4) ε (1 + A_i) Σ_j P_ij |v_j|`` to first order; with few keys, wherever it was
    tried, with 4 in place of ``2 (Tk + d_k + 4)``. In 16 bits at most twice that of torch's own
    function.
    Cost for each batch entry: 2·Tq·Tk·(d_k + d_v) FLOPs and one exponential a score; at once it
    holds 6.25·Tq·Tk numbers, 7.25 with a mask or ``causal``, and up to 8 for autograd. Source:
    Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.1.

    >>> k = torch.tensor([[1.0], [0.0]])
    >>> v = torch.tensor([[8.0], [4.0]])
    >>> scaled_dot_product_attention(torch.tensor([[0.0], [1000.0]]), k, v)
    tensor([[6.],
            [8.]])
    """
    tau = check_inputs(q, k, v, mask, causal, temperature)
    dtype, (q, k, v) = q.dtype, widened(q, k, v)
    scores = scores_of(q, k)
    weights = probabilities(forbid(scores, mask, causal), tau)
    # (..., Tq, Tk) x (..., Tk, d_v) -> (..., Tq, d_v)
    return (weights @ v).to(dtype)


def fused_attention(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
    causal: bool = False,
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """:func:`scaled_dot_product_attention` at τ = √d_k by torch's own fused kernels.

    ``torch.nn.functional.scaled_dot_product_attention`` with this book's rule for a query that has
    no key to attend to: zeros, and zero gradients, on every device and in every version of torch.
    ``causal`` alone is handed over by name, so that kernels may skip what it forbids.
    A mask is data, whatever it holds, so a traced or compiled call works for another one as well;
    with a mask and ``causal`` an exported one is bound to its length.

    Arguments and errors are the same, but values are not looked at, and meta tensors,
    ``torch.compile``, ``torch.export`` and ``vmap`` work; second and forward derivatives do not,
    which torch's fused kernels lack and :func:`scaled_dot_product_attention` has. NaN in, NaN out,
    but for one case: torch's kernel on a processor may answer a NaN in q or k with zeros, where it
    has so few keys that they do not fill a register, up to 7 in float32 with AVX2. Cost: the same
    FLOPs. Where torch has a fused kernel, on a CPU for (B, h, T, d_k) with d_v = d_k and equal
    leading axes, no (Tq, Tk) matrix is kept without a mask; elsewhere it makes them, and one of
    ``causal``. A mask it turns into a matrix of floats. Source: Dao et al. (2022),
    *FlashAttention*.

    >>> q = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.equal(fused_attention(q, q, q, torch.zeros(2, 2).bool()), torch.zeros(2, 2))
    True
    """
    check_inputs(q, k, v, mask, causal, None, values=False)
    return fused_unchecked(q, k, v, mask, causal)


def fused_unchecked(q, k, v, mask: torch.Tensor | None, causal: bool) -> torch.Tensor:
    """:func:`fused_attention` for a caller that has done its checks."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))  # NumPy's is none
    mask = torch.atleast_2d(mask)
    if causal:
        mask = mask & causal_mask(q.shape[-2]).to(mask.device)
    alive = mask.any(-1, keepdim=True)  # (..., Tq, 1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | ~alive)
    return out.masked_fill(~alive, 0.0)


def trace(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
    causal: bool = False,
    *,
    temperature: Temperature = None,
) -> Trace:
    """:func:`scaled_dot_product_attention` with every intermediate kept.

    The scores are divided by τ before the softmax, which then runs at temperature 1: the same
    function, so the outputs agree to rounding. Arguments, errors and cost are the same too, but for
    a ValueError where a step cannot be written down: τ = 0, or scores, with or without / τ, beyond
    the dtype. It holds one more matrix of Tq·Tk numbers at once, and keeps those that it returns.

    >>> trace(torch.ones(2, 3), torch.ones(5, 3), torch.ones(5, 7))
    scores   (2, 5)
    scaled   (2, 5)
    masked   (2, 5)
    weights  (2, 5)
    output   (2, 7)
    """
    tau = check_inputs(q, k, v, mask, causal, temperature)
    check_divisor(tau, q.dtype, "the trace divides by it")
    dtype, (q, k, v) = q.dtype, widened(q, k, v)
    scores = _finite(scores_of(q, k), dtype)
    scaled = _finite(scores / tau, dtype, "q @ kᵀ / temperature")
    masked = forbid(scaled, mask, causal)
    weights = probabilities(masked)
    return Trace(*(x.to(dtype) for x in (scores, scaled, masked, weights, weights @ v)))


def check_inputs(q, k, v, mask, causal, temperature, values=True) -> float:
    """Refuse bad input, return the temperature; ``values`` for a caller that looks at them."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        _checks.tensor(name, x)
    if not (q.dtype == k.dtype == v.dtype and q.is_floating_point()):
        raise TypeError(
            f"q, k and v must have one floating dtype, got {q.dtype}, {k.dtype}, {v.dtype}"
        )
    _checks.floating("q", q)
    if not q.device == k.device == v.device:
        raise ValueError(
            f"q, k and v must be on one device, got {q.device}, {k.device}, {v.device}"
        )
    batch = _check_shapes(tuple(q.shape), tuple(k.shape), tuple(v.shape))
    if temperature is None:
        temperature = math.sqrt(q.shape[-1])
    elif not (temperature := float(_checks.number("temperature", temperature))) >= 0:
        raise ValueError(f"temperature must lie in [0, ∞], got {temperature}")
    if mask is not None:
        check_mask(mask, (*batch, q.shape[-2], k.shape[-2]), q.device)
    check_causal(causal, q.shape[-2], k.shape[-2])
    if values:
        _checks.has_values("q", q)
    return temperature


def check_divisor(tau: float, dtype: torch.dtype, why: str) -> None:
    wide = _checks.wide(dtype)
    if torch.tensor(tau, dtype=wide) == 0:
        raise ValueError(f"temperature must not round to 0 in {wide}, since {why}, got {tau}")


def check_causal(causal: object, queries: int, keys: int) -> None:
    if _checks.flag("causal", causal) and queries != keys:
        raise ValueError(f"causal needs as many queries as keys, got Tq={queries}, Tk={keys}")


def forbid(scores: torch.Tensor, mask: torch.Tensor | None, causal: bool) -> torch.Tensor:
    """The scores with −∞ where the mask or the causal order does not allow the key."""
    if mask is not None:
        scores = apply_mask(scores, mask)
    if causal:
        scores = apply_mask(scores, causal_mask(scores.shape[-1]).to(scores.device))
    return scores


def widened(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """In the dtype that sums are taken in: float32 for the 16-bit types."""
    return tuple(x.to(_checks.wide(x.dtype)) for x in tensors)


def _check_shapes(q: tuple, k: tuple, v: tuple) -> tuple:
    """Refuse shapes that do not fit, return the leading axes of the scores."""
    fits = min(map(len, (q, k, v))) > 1 and q[-1] == k[-1] and k[-2] == v[-2] and 0 not in q + k + v
    if not (fits and _checks.broadcasts(q[:-2], k[:-2], v[:-2])):
        raise ValueError(
            "expected q (…, Tq, d_k), k (…, Tk, d_k) and v (…, Tk, d_v), no axis of length 0 and "
            f"leading axes that broadcast, got {q}, {k} and {v}"
        )
    return tuple(torch.broadcast_shapes(q[:-2], k[:-2]))


def scores_of(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return _finite(q @ k.mT, q.dtype)  # (..., Tq, d_k) x (..., d_k, Tk) -> (..., Tq, Tk)


def _finite(scores: torch.Tensor, dtype: torch.dtype, what: str = "q @ kᵀ") -> torch.Tensor:
    """−∞ would pass for a forbidden key, so an overflow must not get through."""
    if not scores.to(dtype).isfinite().all():
        raise ValueError(
            f"{what} must be finite: got NaN or ±∞, from q and k or by overflow in {dtype}"
        )
    return scores

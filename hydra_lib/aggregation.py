"""Weighted aggregation: an output row is a weighted sum of the value rows.

Four rules that choose the weights in advance, whatever the values are. Each returns the T × T
matrix whose row i holds the weights of output i; :func:`aggregate` multiplies it with the values.
"""

from typing import Any

import torch
from jaxtyping import Float

from hydra_lib import _checks
from hydra_lib.masking import causal_mask, window_mask

__all__ = [
    "aggregate",
    "aggregate_by_loops",
    "decay",
    "running_mean",
    "running_sum",
    "window_mean",
]


def running_sum(length: int) -> Float[torch.Tensor, "T T"]:
    """Weights of the cumulative sum: ones on and below the diagonal.

    ``w[i, j] = 1 if j ≤ i else 0``, for T = ``length`` positions, in torch's default dtype.

    Raises ValueError when ``length`` is not a positive integer, or T² above 2³¹. Cost: T² numbers;
    the product with (T, d) values takes T²·d multiplications where ``cumsum`` takes T·d additions.

    >>> running_sum(3)
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [1., 1., 1.]])
    """
    return causal_mask(length).to(torch.get_default_dtype())


def running_mean(length: int) -> Float[torch.Tensor, "T T"]:
    """Weights of the mean of everything so far: :func:`running_sum`, each row divided by its sum.

    ``w[i, j] = 1 / (i + 1) if j ≤ i else 0``, for T = ``length`` positions counted from 0,
    in torch's default dtype.

    Raises ValueError when ``length`` is not a positive integer, or T² above 2³¹. Cost: T² numbers.

    >>> running_mean(2)
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    return window_mean(length, length)


def window_mean(length: int, width: int) -> Float[torch.Tensor, "T T"]:
    """Weights of the mean over the last ``width`` positions, fewer at the start.

    ``w[i, j] = 1 / min(width, i + 1) if i − width < j ≤ i else 0``, for T = ``length`` positions,
    in torch's default dtype.

    Raises ValueError when either number is not a positive integer, or T² above 2³¹. Cost: T²
    numbers.

    >>> window_mean(3, 2)
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.5000, 0.5000]])
    """
    allowed = window_mask(length, width).to(torch.get_default_dtype())
    return allowed / allowed.sum(dim=-1, keepdim=True)


def decay(length: int, rate: float | int) -> Float[torch.Tensor, "T T"]:
    """Weights that shrink by the factor ``rate`` with every step back, each row summing to 1.

    ``w[i, j] = rate^(i − j) / Σ_k rate^(i − k)`` over j, k ≤ i, in torch's default
    dtype. Rate 1 is the running mean; rate 0 keeps only the newest value.

    Raises TypeError for a rate that is no number, ValueError unless 0 ≤ rate ≤ 1, ``length`` is a
    positive integer and T² at most 2³¹. Cost: T² numbers.

    >>> decay(3, 0.5)[2] * 7
    tensor([1., 2., 4.])
    """
    rate = _checks.number("rate", rate)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie between 0 and 1, got {rate!r}")
    allowed = causal_mask(length)
    length = len(allowed)  # Python's own, whatever integer came
    steps_back = torch.arange(length)[:, None] - torch.arange(length)  # (T, T): i − j
    powers = torch.full((), rate, dtype=torch.get_default_dtype()) ** steps_back.clamp(min=0)
    weights = powers * allowed
    return weights / weights.sum(dim=-1, keepdim=True)


def aggregate(
    weights: Float[torch.Tensor, "*weights_batch Tq Tk"],
    values: Float[torch.Tensor, "*values_batch Tk d_v"],
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """The operation of this book: ``weights @ values``.

    ``out[i] = Σ_j weights[i, j] · values[j]``: row i of the output is the sum of the value rows,
    each times its weight. ``weights`` is (…, Tq, Tk), ``values`` is (…, Tk, d_v), the result
    (…, Tq, d_v); leading axes broadcast.

    Raises TypeError for anything but two floating tensors of one dtype, ValueError when Tk or the
    devices differ, either has fewer than two axes, or the leading axes do not broadcast. Cost:
    Tq·Tk·d_v multiplications and as many additions.

    >>> aggregate(torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0, 8.0], [4.0, 10.0]]))
    tensor([[3., 9.]])
    """
    _check(weights, values)
    return weights @ values  # (..., Tq, Tk) x (..., Tk, d_v) -> (..., Tq, d_v)


def aggregate_by_loops(
    weights: Float[torch.Tensor, "Tq Tk"], values: Float[torch.Tensor, "Tk d_v"]
) -> Float[torch.Tensor, "Tq d_v"]:
    """:func:`aggregate` for one (Tq, Tk) and one (Tk, d_v) matrix, one value row at a time.

    The reference: slow; all that is left to a library is to multiply a row by a number, and to add
    rows. Each step is rounded to the dtype: in 16 bits a long sum loses what a kernel keeps.
    Errors and cost as :func:`aggregate`, plus a ValueError for more than two axes.
    """
    _check(weights, values)
    if weights.ndim != 2 or values.ndim != 2:
        w, v = tuple(weights.shape), tuple(values.shape)
        raise ValueError(
            "the loop takes one matrix each: expected weights (Tq, Tk) "
            f"and values (Tk, d_v), got {w} and {v}"
        )
    out = values.new_zeros(weights.shape[0], values.shape[1])
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            out[i] += weights[i, j] * values[j]
    return out


def _check(weights: Any, values: Any) -> None:
    _checks.floating("weights", weights)
    _checks.floating("values", values)
    w, v = tuple(weights.shape), tuple(values.shape)
    if len(w) < 2 or len(v) < 2 or w[-1] != v[-2]:
        raise ValueError(
            "expected weights (…, Tq, Tk) and values (…, Tk, d_v) with the same Tk, got "
            f"{w} and {v}"
        )
    _checks.like("values", values, "weights", weights)
    if not _checks.broadcasts(w[:-2], v[:-2]):
        raise ValueError(
            f"expected leading axes of weights and values that broadcast, got {w} and {v}"
        )

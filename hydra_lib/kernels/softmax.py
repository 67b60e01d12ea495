"""Softmax of a row in one pass: the maximum is found while the sum is taken."""

import math
from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float

from hydra_lib import _checks
from hydra_lib.kernels._launch import INTERPRETED, check, on, refuse_gradient

__all__ = ["online_softmax"]

LONGEST = 64 if INTERPRETED else 8192  # a tile this long fits the registers of 16 warps


@no_type_check  # Triton compiles the source: a wrapper around it would hide the names in it
@triton.jit
def _reduced(s, top, tau, FROZEN: tl.constexpr, MOLTEN: tl.constexpr):
    """(s − top) / τ for scores s ≤ top, with its limits at τ = 0 and τ = ∞, where 0/0 and ∞/∞ would
    be NaN; −∞ for a state that cannot be occupied, even if none can."""
    base = tl.where(top == float("-inf"), 0.0, top)
    half = s * 0.5 - base * 0.5  # the whole gap may overflow
    if FROZEN:
        z = tl.where(s < base, float("-inf"), half)
    elif MOLTEN:
        z = tl.where(half > float("-inf"), 0.0, half)
    else:
        z = half / tau * 2.0
    return z


@no_type_check
@triton.jit
def _softmax(
    scores, out, row_stride, stride, n, tau, FROZEN: tl.constexpr, MOLTEN: tl.constexpr,
    BLOCK: tl.constexpr, ONE_TILE: tl.constexpr,
):  # fmt: skip
    """A program for each row; the rows of ``out`` lie one after another."""
    row = tl.program_id(0).to(tl.int64)
    scores += row * row_stride
    out += row * n
    column = tl.arange(0, BLOCK)
    if ONE_TILE:
        place = column.to(tl.int64) * stride  # a stride of millions is no error
        s = tl.load(scores + place, mask=column < n, other=float("-inf")).to(tl.float32)
        p = tl.exp(_reduced(s, tl.max(s, 0), tau, FROZEN, MOLTEN))
        total = tl.sum(p, 0)
        p = p / tl.where(total == 0, 1.0, total)
        tl.store(out + column, p.to(out.dtype.element_ty), mask=column < n)
    else:
        top, total = tl.full([], float("-inf"), tl.float32), tl.full([], 0.0, tl.float32)
        for start in tl.range(0, n, BLOCK):
            j = start + column
            s = tl.load(scores + j.to(tl.int64) * stride, mask=j < n, other=float("-inf"))
            s = s.to(tl.float32)
            higher = tl.maximum(top, tl.max(s, 0))
            # What is summed so far was measured from a lower maximum.
            total = total * tl.exp(_reduced(top, higher, tau, FROZEN, MOLTEN))
            total += tl.sum(tl.exp(_reduced(s, higher, tau, FROZEN, MOLTEN)), 0)
            top = higher
        total = tl.where(total == 0, 1.0, total)
        for start in tl.range(0, n, BLOCK):
            j = start + column
            s = tl.load(scores + j.to(tl.int64) * stride, mask=j < n, other=float("-inf"))
            p = tl.exp(_reduced(s.to(tl.float32), top, tau, FROZEN, MOLTEN)) / total
            tl.store(out + j, p.to(out.dtype.element_ty), mask=j < n)


def online_softmax(
    scores: Float[torch.Tensor, "*batch n"], tau: float | int = 1.0
) -> Float[torch.Tensor, "*batch n"]:
    """:func:`hydra_lib.boltzmann.probabilities` in one kernel: each score is read once.

    ``p_i = exp(s_i / τ) / Σ_j exp(s_j / τ)`` along the last axis. With m the maximum and
    l = Σ exp((s_j − m) / τ) of what has been read, a tile with a larger maximum m′ makes it
    l · exp((m − m′) / τ) plus its own sum. A row of up to 8192 scores stays in registers; a longer
    one is read a second time to be divided, where finding the maximum first would read it thrice.

    ``scores`` is (…, n), float16, bfloat16 or float32; a copy is made only if the leading axes
    cannot be walked with one stride. ``tau`` is a number in [0, ∞], in the scores' units: τ = 0
    shares the mass among the largest scores, τ = ∞ among all that are not −∞. A row of −∞ gives
    zeros. Same shape and dtype come back; sums are float32. There is no gradient, and values are
    not looked at: a NaN makes its row NaN.

    Raises TypeError for other dtypes, or bfloat16 on a GPU without it, or a temperature that is not
    a number; ValueError for a temperature below 0 or NaN, an axis of length 0, scores that require
    a gradient; :class:`hydra_lib.timing.environment.NoCudaError` off CUDA without Triton's
    interpreter.

    Cost: 2 numbers moved a score (3 beyond 8192), one exponential (2), about 5 FLOPs.
    Source: Milakov and Gimelshein (2018), *Online normalizer calculation for softmax*.
    """
    check("online_softmax", scores=scores)
    tau = _checks.number("tau", tau)
    if not tau >= 0:
        raise ValueError(f"tau must lie in [0, ∞], got {tau}")
    if scores.ndim == 0 or 0 in scores.shape:
        raise ValueError(
            f"scores must be (…, n), no axis of length 0, got shape {tuple(scores.shape)}"
        )
    refuse_gradient("online_softmax", scores=scores)
    tau = torch.tensor(tau, dtype=torch.float32).item()  # what the kernel gets: may become 0 or ∞
    n = scores.shape[-1]
    rows = scores.resolve_neg().reshape(-1, n)  # (..., n) -> (rows, n)
    out = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    block = min(triton.next_power_of_2(n), LONGEST)
    with on(scores.device):
        _softmax[(len(rows),)](
            *(rows, out, *rows.stride(), n, tau),
            FROZEN=tau == 0,
            MOLTEN=tau == math.inf,
            BLOCK=block,
            ONE_TILE=n <= block,
            num_warps=min(max(block // 512, 1), 16),
            enable_fp_fusion=True,
        )
    return out

"""Attention for all heads, backward: the weights are made again, a tile at a time.

With P the weights, S = Q Kᵀ / √d_k their scores and Δ_i = Σ_c dO_ic O_ic:

``dV = Pᵀ dO``, ``dP = dO Vᵀ``, ``dS = P ∘ (dP − Δ)``, ``dQ = dS K / √d_k``, ``dK = dSᵀ Q / √d_k``.

dK and dV are sums over the queries, dQ is one over the keys: a kernel for each, so that every sum
has one owner and is taken in one order.
"""

import math
from typing import no_type_check

import torch
import triton
import triton.language as tl

from hydra_lib.kernels._launch import dot_precision, on
from hydra_lib.kernels.attention_backward_keys import tuned_keys
from hydra_lib.kernels.attention_backward_queries import tuned_queries
from hydra_lib.kernels.tiles import load_tile, of_head, tile_width, units

__all__ = ["launch_backward"]


@no_type_check
@triton.jit
def _row_sums(
    out, grad, delta, out_strides, grad_strides, heads, Tq,
    D: tl.constexpr, WIDTH: tl.constexpr, UNIT: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    """Δ_i = Σ_c dO_ic O_ic, which is Σ_j P_ij dP_ij without a look at the weights."""
    tiles = tl.cdiv(Tq, BLOCK_M)
    pair, first_row = tl.program_id(0) // tiles, tl.program_id(0) % tiles * BLOCK_M
    out = of_head(out, out_strides, pair, heads, UNIT)
    grad = of_head(grad, grad_strides, pair, heads, UNIT)
    o = load_tile(out, out_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT, True).to(tl.float32)
    do = load_tile(grad, grad_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT, True).to(tl.float32)
    row = first_row + tl.arange(0, BLOCK_M)
    tl.store(delta + pair.to(tl.int64) * Tq + row, tl.sum(o * do, 1), mask=row < Tq)


def launch_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
    grad: torch.Tensor,
    lengths: torch.Tensor | None,
    causal: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dQ, dK and dV, each laid out in memory as what it is the gradient of."""
    B, h, Tq, d = q.shape
    Tk = k.shape[-2]
    dq, dk, dv, delta = (torch.empty_like(x) for x in (q, k, v, lse))
    unit, strides = units(q, k, v, grad, out, dq, dk, dv)
    of_q, of_k, of_v, of_grad, of_out, of_dq, of_dk, of_dv = strides
    tile = {"D": d, "WIDTH": tile_width(d), "UNIT": unit, "enable_fp_fusion": True}
    rest = tile | {
        "scale": math.log2(math.e) / math.sqrt(d),
        "size": triton.next_power_of_2(max(Tq, Tk)),
        "CAUSAL": causal,
        "PRECISION": dot_precision(q.dtype),
    }
    inputs, of_inputs = (q, k, v, grad, lse, delta, lengths), (of_q, of_k, of_v, of_grad)
    with on(q.device):
        _row_sums[(B * h * triton.cdiv(Tq, 32),)](
            *(out, grad, delta, of_out, of_grad, h, Tq), **tile, BLOCK_M=32
        )
        tuned_keys[lambda tile: (B * h * triton.cdiv(Tk, tile["BLOCK_N"]),)](
            *(*inputs, dk, dv, *of_inputs, of_dk, of_dv, h, Tq, Tk), **rest
        )
        tuned_queries[lambda tile: (B * h * triton.cdiv(Tq, tile["BLOCK_M"]),)](
            *(*inputs, dq, *of_inputs, of_dq, h, Tq, Tk), **rest
        )
    return dq, dk, dv

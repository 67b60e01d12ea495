"""The gradient of attention for queries: sums over the keys, a tile of queries at a time."""

from typing import no_type_check

import triton
import triton.language as tl

from hydra_lib.kernels._launch import tuned
from hydra_lib.kernels.tiles import LN2, dot, length_of, load_tile, of_head, store_tile

__all__ = ["tuned_queries"]


@no_type_check
@triton.jit
def meet_keys(
    dq, rows, do, norm, mean, k, v, k_strides, v_strides, first_row, low, high, length, scale,
    D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Add to dQ of a tile of queries what the keys ``low`` … ``high`` − 1 have to say."""
    if low < high:
        for start in tl.range(low, high, BLOCK_N):
            keys = load_tile(k, k_strides, start, length, D, BLOCK_N, WIDTH, UNIT, EDGE)
            values = load_tile(v, v_strides, start, length, D, BLOCK_N, WIDTH, UNIT, EDGE)
            s = dot(rows, keys.T, None, PRECISION)  # (M, D) x (D, N) -> (M, N)
            p = tl.exp2(s * scale - norm[:, None])
            if EDGE:
                column = start + tl.arange(0, BLOCK_N)
                allowed = (column < length)[None, :]
                if CAUSAL:
                    row = first_row + tl.arange(0, BLOCK_M)
                    allowed = allowed & (column[None, :] <= row[:, None])
                p = tl.where(allowed, p, 0.0)
            dp = dot(do, values.T, None, PRECISION)  # (M, D) x (D, N) -> (M, N)
            ds = p * (dp - mean[:, None])
            dq = dot(ds.to(keys.dtype), keys, dq, PRECISION)
    return dq


@no_type_check
@triton.jit(do_not_specialize=["size"])
def _queries_backward(
    q, k, v, grad, lse, delta, lengths, dq,
    q_strides, k_strides, v_strides, grad_strides, dq_strides,
    heads, Tq, Tk, scale, size,
    D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """A program for each tile of queries of each (batch, head); causal, the longest first."""
    tiles = tl.cdiv(Tq, BLOCK_M)
    pair, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    if CAUSAL:
        tile = tiles - 1 - tile
    first_row = tile * BLOCK_M
    q, k = of_head(q, q_strides, pair, heads, UNIT), of_head(k, k_strides, pair, heads, UNIT)
    v = of_head(v, v_strides, pair, heads, UNIT)
    grad = of_head(grad, grad_strides, pair, heads, UNIT)
    dq = of_head(dq, dq_strides, pair, heads, UNIT)
    length = length_of(lengths, pair, heads, Tk)
    row, start = first_row + tl.arange(0, BLOCK_M), pair.to(tl.int64) * Tq
    norm = tl.load(lse + start + row, mask=row < Tq, other=float("inf"))
    mean = tl.load(delta + start + row, mask=row < Tq, other=0.0)
    rows = load_tile(q, q_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT, True)
    do = load_tile(grad, grad_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT, True)
    high, free = length, length
    if CAUSAL:
        high, free = tl.minimum(length, first_row + BLOCK_M), tl.minimum(length, first_row)
    free = free // BLOCK_N * BLOCK_N
    total = tl.zeros([BLOCK_M, WIDTH], tl.float32)
    total = meet_keys(
        total, rows, do, norm, mean, k, v, k_strides, v_strides, first_row, 0, free, length, scale,
        D, WIDTH, UNIT, CAUSAL, False, PRECISION, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    total = meet_keys(
        total, rows, do, norm, mean, k, v, k_strides, v_strides, first_row, free, high, length,
        scale, D, WIDTH, UNIT, CAUSAL, True, PRECISION, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    total = total * (scale * LN2)
    store_tile(total, dq, dq_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT)


def _shared(BLOCK_M, BLOCK_N, WIDTH, num_stages, q, **_) -> int:
    """Bytes of shared memory, at most: a tile of q and dO, of k and v one for each stage."""
    return q.element_size() * WIDTH * (2 * BLOCK_M + 2 * BLOCK_N * num_stages)


tuned_queries = tuned(
    _queries_backward,
    tiles=[
        {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 2},
        {"BLOCK_M": 128, "BLOCK_N": 32, "num_warps": 4, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2},
        {"BLOCK_M": 64, "BLOCK_N": 32, "num_warps": 8, "num_stages": 2},
    ],
    plain={"BLOCK_M": 8, "BLOCK_N": 16, "num_warps": 4, "num_stages": 1},
    small={"BLOCK_M": 16, "BLOCK_N": 16},
    key=["size", "D", "CAUSAL", "PRECISION"],
    shared=_shared,
)

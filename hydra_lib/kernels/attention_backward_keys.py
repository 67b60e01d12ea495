"""The gradient of attention for keys and values: sums over queries, a tile of keys at a time."""

import sys
from typing import no_type_check

import triton
import triton.language as tl

from hydra_lib.kernels._launch import tuned
from hydra_lib.kernels.tiles import LN2, dot, length_of, load_tile, of_head, store_tile

__all__ = ["tuned_keys"]


@no_type_check
@triton.jit
def _meet_queries(
    state, keys, values, q, grad, lse, delta, q_strides, grad_strides, first_key, low, high, Tq,
    scale, D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, DIAGONAL: tl.constexpr, EDGE: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Add to dK and dV of a tile of keys what the queries ``low`` … ``high`` − 1 have to say.

    Keys come before queries here, so that P and dS come out as the left factors that the two
    products need, and stay in registers.
    """
    dk, dv = state
    if low < high:
        for start in tl.range(low, high, BLOCK_M):
            row = start + tl.arange(0, BLOCK_M)
            rows = load_tile(q, q_strides, start, Tq, D, BLOCK_M, WIDTH, UNIT, EDGE)
            if EDGE:  # +∞: a row that is not there gives weights of 0
                norm = tl.load(lse + row, mask=row < Tq, other=float("inf"))
                mean = tl.load(delta + row, mask=row < Tq, other=0.0)
            else:
                norm, mean = tl.load(lse + row), tl.load(delta + row)
            s = dot(keys, rows.T, None, PRECISION)  # (N, D) x (D, M) -> (N, M)
            p = tl.exp2(s * scale - norm[None, :])
            if DIAGONAL:
                column = first_key + tl.arange(0, BLOCK_N)
                p = tl.where(column[:, None] <= row[None, :], p, 0.0)
            do = load_tile(grad, grad_strides, start, Tq, D, BLOCK_M, WIDTH, UNIT, EDGE)
            dv = dot(p.to(do.dtype), do, dv, PRECISION)
            dp = dot(values, do.T, None, PRECISION)  # (N, D) x (D, M) -> (N, M)
            ds = p * (dp - mean[None, :])
            dk = dot(ds.to(rows.dtype), rows, dk, PRECISION)
    return dk, dv


@no_type_check
@triton.jit(do_not_specialize=["size"])
def _keys_backward(
    q, k, v, grad, lse, delta, lengths, dk, dv,
    q_strides, k_strides, v_strides, grad_strides, dk_strides, dv_strides,
    heads, Tq, Tk, scale, size,
    D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """A program for each tile of keys of each (batch, head); causal, the first has most to do."""
    tiles = tl.cdiv(Tk, BLOCK_N)
    pair, first_key = tl.program_id(0) // tiles, tl.program_id(0) % tiles * BLOCK_N
    q, k = of_head(q, q_strides, pair, heads, UNIT), of_head(k, k_strides, pair, heads, UNIT)
    v = of_head(v, v_strides, pair, heads, UNIT)
    grad = of_head(grad, grad_strides, pair, heads, UNIT)
    dk, dv = of_head(dk, dk_strides, pair, heads, UNIT), of_head(dv, dv_strides, pair, heads, UNIT)
    lse += pair.to(tl.int64) * Tq
    delta += pair.to(tl.int64) * Tq
    length = length_of(lengths, pair, heads, Tk)
    keys = load_tile(k, k_strides, first_key, Tk, D, BLOCK_N, WIDTH, UNIT, True)
    values = load_tile(v, v_strides, first_key, Tk, D, BLOCK_N, WIDTH, UNIT, True)
    state = tl.zeros([BLOCK_N, WIDTH], tl.float32), tl.zeros([BLOCK_N, WIDTH], tl.float32)
    # Queries before `free` see some keys of the tile and not others, the rest see all of it; the
    # tile of queries from `tail` on is not full.
    last = tl.where(first_key < length, Tq, 0)  # nobody looks at a tile of padding
    tail = last // BLOCK_M * BLOCK_M
    free = 0
    if CAUSAL:
        free = tl.minimum(tl.cdiv(first_key + BLOCK_N, BLOCK_M) * BLOCK_M, last)
        state = _meet_queries(
            state, keys, values, q, grad, lse, delta, q_strides, grad_strides, first_key,
            first_key // BLOCK_M * BLOCK_M, free, Tq, scale,
            D, WIDTH, UNIT, True, True, PRECISION, BLOCK_M, BLOCK_N,
        )  # fmt: skip
    state = _meet_queries(
        state, keys, values, q, grad, lse, delta, q_strides, grad_strides, first_key,
        free, tail, Tq, scale, D, WIDTH, UNIT, False, False, PRECISION, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    sum_k, sum_v = _meet_queries(
        state, keys, values, q, grad, lse, delta, q_strides, grad_strides, first_key,
        tl.maximum(free, tail), last, Tq, scale,
        D, WIDTH, UNIT, False, True, PRECISION, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    # Keys of the padding were weighed like any other. Each has a row of the sums to itself, so it
    # is enough to leave those rows out.
    real = (first_key + tl.arange(0, BLOCK_N) < length)[:, None]
    sum_k, sum_v = tl.where(real, sum_k * (scale * LN2), 0.0), tl.where(real, sum_v, 0.0)
    store_tile(sum_k, dk, dk_strides, first_key, Tk, D, BLOCK_N, WIDTH, UNIT)
    store_tile(sum_v, dv, dv_strides, first_key, Tk, D, BLOCK_N, WIDTH, UNIT)


def _shared(BLOCK_M, BLOCK_N, WIDTH, num_warps, num_stages, q, **_) -> int:
    """Bytes of shared memory, at most: a tile of k and v, of q and dO one for each stage.

    Without end where the two sums alone would take more than 128 of a thread's 255 registers.
    """
    sums = 2 * BLOCK_N * WIDTH
    if sums > 128 * 32 * num_warps:
        return sys.maxsize
    tiles = q.element_size() * WIDTH * (2 * BLOCK_N + 2 * BLOCK_M * num_stages)
    return tiles + 16 * BLOCK_M * num_stages  # and the two numbers of each row, padded


tuned_keys = tuned(
    _keys_backward,
    tiles=[
        {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2},
        {"BLOCK_M": 32, "BLOCK_N": 128, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2},
        {"BLOCK_M": 32, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
        {"BLOCK_M": 16, "BLOCK_N": 64, "num_warps": 8, "num_stages": 2},
    ],
    plain={"BLOCK_M": 16, "BLOCK_N": 8, "num_warps": 4, "num_stages": 1},
    small={"BLOCK_M": 16, "BLOCK_N": 16},
    key=["size", "D", "CAUSAL", "PRECISION"],
    shared=_shared,
)

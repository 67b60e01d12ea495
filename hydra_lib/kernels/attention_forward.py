"""Attention for all heads in one kernel, forward: the online softmax over tiles of keys."""

import math
from typing import no_type_check

import torch
import triton
import triton.language as tl

from hydra_lib.kernels._launch import dot_precision, on, tuned
from hydra_lib.kernels.tiles import (
    dot,
    length_of,
    load_tile,
    of_head,
    store_tile,
    tile_width,
    units,
)

__all__ = ["launch_forward", "programs", "tuned_forward"]


@no_type_check
@triton.jit
def meet_keys(
    state, rows, k, v, k_strides, v_strides, first_row, low, high, length, scale,
    D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, CAUSAL: tl.constexpr, EDGE: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Let a tile of queries look at the keys ``low`` … ``high`` − 1, a tile at a time.

    Only with EDGE is a score ever forbidden. Every row finds an allowed key in the first tile it
    sees (key 0, if any is), so no maximum is −∞ after it, and −∞ − (−∞) never occurs.
    """
    acc, top, total = state
    if low < high:
        for start in tl.range(low, high, BLOCK_N):
            keys = load_tile(k, k_strides, start, length, D,
                             BLOCK_N, WIDTH, UNIT, EDGE)  # fmt: skip
            s = dot(rows, keys.T, None, PRECISION)  # (M, D) x (D, N) -> (M, N)
            if EDGE:
                column = start + tl.arange(0, BLOCK_N)
                allowed = (column < length)[None, :]
                if CAUSAL:
                    row = first_row + tl.arange(0, BLOCK_M)
                    allowed = allowed & (column[None, :] <= row[:, None])
                s = tl.where(allowed, s, float("-inf"))
            higher = tl.maximum(top, tl.max(s, 1) * scale)
            p = tl.exp2(s * scale - higher[:, None])
            fade = tl.exp2(top - higher)  # the sums so far are relative to `top`
            total = total * fade + tl.sum(p, 1)
            acc = acc * fade[:, None]
            values = load_tile(v, v_strides, start, length, D,
                               BLOCK_N, WIDTH, UNIT, EDGE)  # fmt: skip
            acc = dot(p.to(values.dtype), values, acc, PRECISION)
            top = higher
    return acc, top, total


@no_type_check
@triton.jit
def attend_tile(
    tile, pair, q, k, v, out, lse, q_strides, k_strides, v_strides, out_strides,
    Tq, length, scale,
    D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """All that a tile of BLOCK_M queries of one head needs."""
    first_row = tile * BLOCK_M
    rows = load_tile(q, q_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT, True)
    # Keys from `high` on are forbidden, below `free` all are allowed.
    high, free = length, length
    if CAUSAL:
        high = tl.minimum(length, first_row + BLOCK_M)
        free = tl.minimum(length, first_row)
    free = free // BLOCK_N * BLOCK_N
    state = (
        tl.zeros([BLOCK_M, WIDTH], tl.float32),
        tl.full([BLOCK_M], float("-inf"), tl.float32),
        tl.zeros([BLOCK_M], tl.float32),
    )
    state = meet_keys(
        state, rows, k, v, k_strides, v_strides, first_row, 0, free,
        length, scale, D, WIDTH, UNIT, CAUSAL, False, PRECISION, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    acc, top, total = meet_keys(
        state, rows, k, v, k_strides, v_strides, first_row, free, high,
        length, scale, D, WIDTH, UNIT, CAUSAL, True, PRECISION, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    empty = total == 0  # no key: zeros; +∞ makes the weights 0 on the way back
    total = tl.where(empty, 1.0, total)
    row = first_row + tl.arange(0, BLOCK_M)
    norm = tl.where(empty, float("inf"), top + tl.log2(total))
    tl.store(lse + row, norm, mask=row < Tq)
    mix = acc / total[:, None]
    store_tile(mix, out, out_strides, first_row, Tq, D, BLOCK_M, WIDTH, UNIT)


@no_type_check
@triton.jit(do_not_specialize=["size"])
def _forward(
    q, k, v, out, lse, lengths, q_strides, k_strides, v_strides, out_strides,
    heads, Tq, Tk, scale, size,
    D: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, CAUSAL: tl.constexpr, SPLIT: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """A program for each (batch, head), or with SPLIT for each tile of queries of each."""
    tiles = tl.cdiv(Tq, BLOCK_M)
    pair = tl.program_id(0) // tiles if SPLIT else tl.program_id(0)
    q, k = of_head(q, q_strides, pair, heads, UNIT), of_head(k, k_strides, pair, heads, UNIT)
    v, out = of_head(v, v_strides, pair, heads, UNIT), of_head(out, out_strides, pair, heads, UNIT)
    lse += pair.to(tl.int64) * Tq
    length = length_of(lengths, pair, heads, Tk)
    if SPLIT:
        tile = tl.program_id(0) % tiles
        if CAUSAL:
            tile = tiles - 1 - tile  # the longest first: short ones fill the gaps at the end
        attend_tile(
            tile, pair, q, k, v, out, lse, q_strides, k_strides, v_strides, out_strides,
            Tq, length, scale, D, WIDTH, UNIT, CAUSAL, PRECISION, BLOCK_M, BLOCK_N,
        )  # fmt: skip
    else:
        for tile in range(tiles):
            attend_tile(
                tile, pair, q, k, v, out, lse, q_strides, k_strides, v_strides, out_strides,
                Tq, length, scale, D, WIDTH, UNIT, CAUSAL, PRECISION, BLOCK_M, BLOCK_N,
            )  # fmt: skip


def _shared(BLOCK_M, BLOCK_N, WIDTH, num_stages, q, **_) -> int:
    """Bytes of shared memory, at most: a tile of q, and of k and v one for each stage."""
    return q.element_size() * WIDTH * (BLOCK_M + 2 * BLOCK_N * num_stages)


tuned_forward = tuned(
    _forward,
    tiles=[
        {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2},
        {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 3},
        {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
        {"BLOCK_M": 64, "BLOCK_N": 32, "num_warps": 4, "num_stages": 2},
    ],
    plain={"BLOCK_M": 16, "BLOCK_N": 16, "num_warps": 4, "num_stages": 1},
    small={"BLOCK_M": 16, "BLOCK_N": 16},
    key=["size", "D", "CAUSAL", "SPLIT", "PRECISION"],
    shared=_shared,
)


def programs(batch: int, heads: int, queries: int, split_queries: bool, block: int) -> int:
    """Of one launch: one for each tile of ``block`` queries, or for all of a head."""
    return batch * heads * (triton.cdiv(queries, block) if split_queries else 1)


def launch_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    lengths: torch.Tensor | None,
    causal: bool,
    split_queries: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, laid out in memory as ``q`` is, and log₂ Σ exp of each row's scaled scores.

    The second is float32, (B, h, Tq), +∞ for a row with no key: all that the backward pass needs
    of the weights.
    """
    B, h, Tq, d = q.shape
    out = torch.empty_like(q)
    lse = torch.empty(B, h, Tq, dtype=torch.float32, device=q.device)
    unit, strides = units(q, k, v, out)
    with on(q.device):
        tuned_forward[lambda tile: (programs(B, h, Tq, split_queries, tile["BLOCK_M"]),)](
            *(q, k, v, out, lse, lengths),
            *strides,
            *(h, Tq, k.shape[-2]),
            scale=math.log2(math.e) / math.sqrt(d),  # 2^x is the exponential that the GPU has
            size=triton.next_power_of_2(max(Tq, k.shape[-2])),  # tuned once for each power of two
            D=d,
            WIDTH=tile_width(d),
            UNIT=unit,
            CAUSAL=causal,
            SPLIT=split_queries,
            PRECISION=dot_precision(q.dtype),
            enable_fp_fusion=True,
        )
    return out, lse

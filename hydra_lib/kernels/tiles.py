"""Tiles of a tensor (B, h, T, d) with any strides: the rows ``start`` … of one head.

All strides but the last are counted in UNITs of up to 16 bytes, so that the compiler sees what they
are multiples of, and reads and writes 16 bytes at once. By itself it would only notice multiples of
16 elements, and every other head of width 72 begins halfway between two.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl

from hydra_lib.kernels import _launch

__all__ = ["LN2", "dot", "length_of", "load_tile", "of_head", "store_tile", "tile_width", "units"]

INTERPRETED = tl.constexpr(_launch.INTERPRETED)

LN2 = tl.constexpr(
    0.6931471805599453
)  # scores are kept in units of log 2: (log₂ e / √d) ln 2 = 1/√d


def tile_width(head_dim: int) -> int:
    """Width of a tile: a power of two, and at least what a matrix instruction takes of float16.

    >>> tile_width(72)
    128
    """
    return max(16, triton.next_power_of_2(head_dim))


def units(*tensors: torch.Tensor) -> tuple[int, list[tuple[int, ...]]]:
    """The largest UNIT that fits all of the tensors, of one dtype, and their strides, so counted.

    >>> units(torch.empty(2, 3, 5, 8, dtype=torch.float16).transpose(1, 2))
    (8, [(15, 1, 5, 1)])
    """
    unit = 16 // tensors[0].element_size()
    while any(stride % unit for x in tensors for stride in x.stride()[:-1]):
        unit //= 2
    return unit, [(*(s // unit for s in x.stride()[:-1]), x.stride(-1)) for x in tensors]


# Triton compiles the source of a kernel: a type checker wrapped around it would hide the names that
# it refers to.
@no_type_check
@triton.jit
def of_head(x, strides, pair, heads, UNIT: tl.constexpr):
    """Where head ``pair % heads`` of batch entry ``pair // heads`` begins; that needs 64 bits."""
    b, h = (pair // heads).to(tl.int64), (pair % heads).to(tl.int64)
    return x + b * strides[0] * UNIT + h * strides[1] * UNIT


@no_type_check
@triton.jit
def length_of(lengths, pair, heads, Tk):
    """Number of keys of the batch entry that are not padding."""
    length = Tk
    if lengths is not None:
        length = tl.load(lengths + pair // heads).to(tl.int32)
    return length


@no_type_check
@triton.jit
def dot(a, b, acc, PRECISION: tl.constexpr):
    """``a @ b + acc``: exact products, float32 sums."""
    if INTERPRETED:  # it would multiply the bits of two bfloat16 as if they were integers
        a, b = a.to(tl.float32), b.to(tl.float32)
    return tl.dot(a, b, acc, input_precision=PRECISION)


@no_type_check
@triton.jit
def load_tile(
    head, strides, start, length, D: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    UNIT: tl.constexpr, EDGE: tl.constexpr,
):  # fmt: skip
    """A (ROWS, WIDTH) tile; zeros beyond the width D and, with EDGE, beyond ``length`` rows."""
    row, column = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    head += tl.cast(start, tl.int64) * strides[2] * UNIT
    pointers = head + row[:, None] * strides[2] * UNIT + column[None, :] * strides[3]
    if EDGE:
        inside = (start + row < length)[:, None] & (column < D)[None, :]
        tile = tl.load(pointers, mask=inside, other=0.0)
    elif D < WIDTH:
        tile = tl.load(pointers, mask=(column < D)[None, :], other=0.0)
    else:
        tile = tl.load(pointers)
    return tile


@no_type_check
@triton.jit
def store_tile(
    tile,
    head,
    strides,
    start,
    length,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    UNIT: tl.constexpr,
):
    """Write what :func:`load_tile` would read, in the dtype of the memory."""
    row, column = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    head += tl.cast(start, tl.int64) * strides[2] * UNIT
    pointers = head + row[:, None] * strides[2] * UNIT + column[None, :] * strides[3]
    inside = (start + row < length)[:, None] & (column < D)[None, :]
    tl.store(pointers, tile.to(head.dtype.element_ty), mask=inside)

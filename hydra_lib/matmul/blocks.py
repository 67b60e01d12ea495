"""A matrix in blocks, as Strassen's algorithm walks through them, and its memory for sums of them.

A problem of L levels is a tensor of 2L + 2 axes, ``(row bit, column bit) × L, row, column``: at
every level the quarters of ``x`` are ``x[0, 0] … x[1, 1]``, and a temporary lies in memory block
after block, so that adding two of them reads straight on. That is faster than adding quarters whose
short rows lie far apart, the more so when the caches have forgotten them.
"""

import torch

__all__ = ["blocks", "empty", "split", "workspace"]

CACHE_LINE = 64  # bytes


def split(m: int, k: int, n: int, levels: int) -> tuple[int, ...]:
    """The largest sides that 2^L divides; if they are not the whole, ones that BLAS is quick on.

    It is slower on blocks that 8 does not divide. That is worth a wider strip, but no strip.

    >>> split(139, 127, 150, 1), split(139, 130, 150, 1)
    ((138, 126, 150), (128, 128, 144))
    """
    sides, grain = (m, k, n), 1 << levels
    if any(side % grain for side in sides) and min(sides) >= 64 * grain:
        grain *= 8
    return tuple(side // grain * grain for side in sides)


def blocks(x: torch.Tensor, levels: int) -> torch.Tensor:
    """A view of a matrix with 2L + 2 axes, (row bit, column bit) × L, row, column.

    2^L must divide both sides.

    >>> blocks(torch.arange(6).reshape(2, 3).repeat(1, 2), 1)[0, 1]
    tensor([[0, 1, 2]])
    """
    bits = (2,) * levels
    x = x.unflatten(1, (*bits, -1)).unflatten(0, (*bits, -1))  # (2, …, m/2^L, 2, …, n/2^L)
    pairs = [axis for i in range(levels) for axis in (i, levels + 1 + i)]
    return x.permute(*pairs, levels, 2 * levels + 1)


def workspace(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, sides: tuple, levels: int) -> list:
    """For each level, S and T and room for a product that waits to be added, in blocks.

    At the last level the third is None, because there BLAS adds. Uninitialized; of the dtype, the
    device and the memory order of ``a`` (m, k), ``b`` (k, n) and ``c`` (m, n), whose ``sides`` are
    those that are multiplied in blocks.

    >>> (s, t, waits), = workspace(*torch.ones(3, 4, 4), (4, 4, 4), 1)
    >>> s.shape, t.shape, waits
    (torch.Size([2, 2]), torch.Size([2, 2]), None)
    """
    m, k, n = (side >> levels for side in sides)
    return [
        (
            empty(a, m, k, depth),
            empty(b, k, n, depth),
            empty(c, m, n, depth) if depth else None,
        )
        for depth in reversed(range(levels))
    ]


def empty(like: torch.Tensor, rows: int, columns: int, depth: int) -> torch.Tensor:
    """Room for 4^depth blocks of (rows, columns), one after the other, in the order of ``like``.

    >>> empty(torch.ones(3, 5), 2, 3, 1).shape
    torch.Size([2, 2, 2, 3])
    """
    if like.stride(-2) == 1 != like.stride(-1):
        # Stored by columns, as a transposed weight is: adding must not run across the grain.
        return empty(like.mT, columns, rows, depth).mT
    # Rows start on a cache line, and not a power of two apart, where they would evict each other.
    line = max(1, CACHE_LINE // like.element_size())
    width = (columns // line + 1) * line
    return like.new_empty((2, 2) * depth + (rows, width))[..., :columns]

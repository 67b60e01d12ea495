"""Strassen's algorithm made fast: Winograd's form, in place, with a workspace allocated once.

Three decisions were made for speed. Blocks are multiplied by the library that is faster here, see
:mod:`hydra_lib.matmul.blas`. A product that is added to something goes through BLAS's own
``C + A·B``, so at the last level three of the fifteen additions cost nothing and a fourth a copy.
And temporaries lie in memory as :mod:`hydra_lib.matmul.blocks` lays them, so that adding reads
straight on.
"""

import itertools
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Shaped

from hydra_lib import _checks
from hydra_lib.matmul import blas
from hydra_lib.matmul.blocks import blocks, split, workspace
from hydra_lib.matmul.crossover import levels_of_checked
from hydra_lib.matmul.operands import Matrix, check_out, check_pair, product_shape

__all__ = ["strassen_fast"]


def strassen_fast(
    a: Matrix,
    b: Matrix,
    out: torch.Tensor | None = None,
    levels: int | None = None,
    library: str | None = None,
) -> Shaped[torch.Tensor, "*batch m n"]:
    """``a @ b`` by Winograd's form of Strassen's algorithm, where that is faster.

    ``a`` is (…, m, k), ``b`` is (…, k, n), of one number dtype and on one device; leading axes
    broadcast as in ``a @ b``. The result, (…, m, n), is written to ``out`` if that is given.
    ``library`` multiplies the blocks, None asks :func:`hydra_lib.matmul.blas.fastest`; ``levels``
    is the depth L of the recursion, None asks :func:`hydra_lib.matmul.crossover.choose_levels`.
    Where that answers 0 the call is the plain product by that library, torch's being ``a @ b``.

    One level, with ``S₁ = A₂₁ + A₂₂``, ``S₂ = S₁ − A₁₁``, ``S₃ = A₁₁ − A₂₁``, ``S₄ = A₁₂ − S₂``,
    ``T₁ = B₁₂ − B₁₁``, ``T₂ = B₂₂ − T₁``, ``T₃ = B₂₂ − B₁₂``, ``T₄ = B₂₁ − T₂``::

        U = A₁₁B₁₁ + S₂T₂     C₁₁ = A₁₁B₁₁ + A₁₂B₂₁     C₁₂ = U + S₁T₁ + S₄B₂₂
        V = U + S₃T₃          C₂₁ = V + A₂₂T₄           C₂₂ = V + S₁T₁

    Where 2^L does not divide a side, the remainder is peeled off once and left to BLAS, a little
    more of it where blocks are large, see :func:`hydra_lib.matmul.blocks.split`. Padding would copy
    both inputs; peeling at every level repeats the work, 7/4 times as much per level. A contiguous
    batch of A times one B is one tall product, whose rows are those of the whole batch; otherwise
    the rows that levels halve are those of one matrix.

    While OpenBLAS multiplies blocks on several threads, ``torch.get_num_threads()`` is 1.

    Integers wrap around exactly as in ``a @ b``. Floating results differ by rounding, whose bound
    grows per level at least 4.5-fold, and by more where blocks are small. A NaN in row i of ``a``,
    which in ``a @ b`` spoils row i, may here spoil every row at the same place in a block, one in
    m / 2^L rows; a NaN in column j of ``b`` likewise every such column. So does ∞, as NaN, because
    ∞ − ∞ arises. Sums of up to 4^L finite entries may overflow.

    Raises TypeError for anything but dense tensors of one number dtype; ValueError for inner sizes
    or leading axes that do not match, two devices, ``out`` of wrong shape or in overlapping memory,
    ``levels`` that are no integer, negative or halve a side to nothing, a ``library`` that is not
    here, and tensors that want a gradient.

    Cost: ``2mnk·(7/8)^L`` FLOPs in products and 15 block additions a level, of which BLAS takes
    four along at the last level, one of them with a copy. The workspace holds a quarter of A and of
    B at every level, and one of C at all but the last: a third of A, B and C together at most, up
    to padding. Sources: Fischer and Probert (1974), Efficient procedures for using matrix
    algorithms; Boyer, Dumas, Pernet and Zhou (2009), Memory efficient scheduling of
    Strassen-Winograd's matrix multiplication algorithm; for the bound, Higham (2002), Accuracy and
    stability of numerical algorithms, section 23.2.

    >>> a = torch.arange(6).reshape(2, 3)
    >>> strassen_fast(a, a.mT, levels=1)
    tensor([[ 5, 14],
            [14, 50]])
    """
    check_pair(a, b)
    if not isinstance(a, torch.Tensor):
        raise TypeError("a and b must be torch tensors, got numpy arrays")
    shape = product_shape(a, b)
    if out is not None:
        check_out(out, a, b)
    if levels is not None:
        levels = _checks.integer("levels", levels, 0)
    if library is not None:
        _checks.one_of("library", library, blas.libraries())
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (a, b, out)):
        raise ValueError("a, b and out must be detached, got one that requires a gradient")
    if b.ndim == 2 < a.ndim and a.is_contiguous() and (out is None or out.is_contiguous()):
        # One b for the whole batch: all the rows of a make one tall matrix.
        tall = None if out is None else out.flatten(0, -2)
        tall = strassen_fast(a.flatten(0, -2), b, tall, levels, library)
        return tall.view(shape) if out is None else out
    (*batch, m, n), k = shape, a.shape[-1]
    if library is None:
        library = blas.fastest(m, k, n, a.dtype, a.device)
    if levels is None:
        levels = levels_of_checked(m, k, n, a.dtype, a.device, library)
    elif min(m, k, n) > 0 and levels >= min(m, k, n).bit_length():
        got = f"got levels={levels} for sides {m}, {k}, {n}"
        raise ValueError(f"levels must leave no side below 1: {got}")
    plain = (levels == 0 and library == "torch") or min(m, k, n) == 0
    if plain and out is None:
        return a @ b
    if out is None:
        out = a.new_empty(shape)
    if batch:
        a, b = a.expand(*batch, m, k), b.expand(*batch, k, n)
    if plain:  # with a strided out, torch.matmul fails on a batch times one matrix
        return torch.matmul(a, b, out=out)
    threads = torch.get_num_threads()
    one: Callable = partial(blas.multiply, library, threads=threads)
    if levels:
        sides = split(m, k, n, levels)
        one = partial(_peel, sides=sides, work=workspace(a, b, out, sides, levels), multiply=one)
    # Measured with OpenBLAS on two threads: with torch adding on two as well, each further level
    # made the product slower; with torch adding on one it gains.
    alone = levels > 0 and library == blas.OPENBLAS and threads > 1
    try:
        if alone:
            torch.set_num_threads(1)
        for i in itertools.product(*map(range, batch)):
            one(a[i], b[i], out[i])
    finally:
        if alone:
            torch.set_num_threads(threads)
    return out


def _peel(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, sides: tuple, work: list, multiply: Callable
) -> None:
    """``c = a b`` for matrices: the blocks, then what is left of k, m and n."""
    (m, k, n), levels = sides, len(work)
    corner = c[:m, :n]
    left, right = blocks(a[:m, :k], levels), blocks(b[:k, :n], levels)
    _winograd(left, right, blocks(corner, levels), work, multiply)
    if k < a.shape[1]:
        multiply(a[:m, k:], b[k:, :n], corner, start=corner)
    if m < a.shape[0]:
        multiply(a[m:], b, c[m:])
    if n < b.shape[1]:
        multiply(a[:m], b[:, n:], c[:m, n:])


def _winograd(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, work: list, multiply: Callable
) -> None:
    """``c = a b`` in blocks; the quarters of ``c`` serve as room for what is not finished."""
    if not work:
        multiply(a, b, c)
        return
    (s, t, product), *work = work
    (a11, a12), (a21, a22) = a
    (b11, b12), (b21, b22) = b
    (c11, c12), (c21, c22) = c

    add_product = partial(_add_product, room=product, work=work, multiply=multiply)
    torch.sub(a11, a21, out=s)  # S3
    torch.sub(b22, b12, out=t)  # T3
    _winograd(s, t, c21, work, multiply)
    torch.add(a21, a22, out=s)  # S1
    torch.sub(b12, b11, out=t)  # T1
    _winograd(s, t, c22, work, multiply)
    _winograd(a11, b11, c12, work, multiply)
    add_product(c12, a12, b21, out=c11)  # C11
    s.sub_(a11)  # S2
    torch.sub(b22, t, out=t)  # T2
    add_product(c12, s, t, out=c12)  # U
    c21.add_(c12)  # V
    c12.add_(c22)  # U + S1 T1
    c22.add_(c21)  # C22
    torch.sub(a12, s, out=s)  # S4
    add_product(c12, s, b22, out=c12)  # C12
    torch.sub(b21, t, out=t)  # T4
    add_product(c21, a22, t, out=c21)  # C21


def _add_product(
    start: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    room: torch.Tensor | None,
    work: list,
    multiply: Callable,
) -> None:
    """``out = start + a b``, by way of ``room``; the last level has none, there BLAS adds too."""
    if room is None:
        multiply(a, b, out, start=start)
    else:
        _winograd(a, b, room, work, multiply)
        torch.add(start, room, out=out)

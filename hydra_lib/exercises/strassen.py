"""Checks of the exercises of the chapter on Strassen's algorithm."""

import dataclasses

import numpy as np
import torch

from hydra_lib.exercises import check, same
from hydra_lib.matmul.bilinear import BilinearAlgorithm
from hydra_lib.matmul.schemes import STRASSEN

__all__ = ["assemble", "crossover", "flipped_sign", "multiplications", "peel"]

_FLIPPED = (4, 0, 0)  # − M₅ in C₁₁


def broken_algorithm() -> BilinearAlgorithm:
    """Strassen's algorithm with one sign of W turned."""
    W = STRASSEN.W.copy()
    W[_FLIPPED] *= -1
    return dataclasses.replace(STRASSEN, W=W)


@check
def flipped_sign(answer) -> str | None:
    """(product, row, column), counted from 1, of the sign that was turned."""
    place = tuple(int(p) - 1 for p in answer)
    if len(place) != 3:
        return f"expected (product, row, column), got {len(place)} numbers"
    if place == _FLIPPED:
        return None
    if place == tuple(p - 1 for p in _FLIPPED):
        return "right, but counted from 0"
    if not all(0 <= p < side for p, side in zip(place, STRASSEN.W.shape, strict=True)):
        return "there are 7 products, 2 rows and 2 columns"
    if not STRASSEN.W[place]:
        return f"product {answer[0]} does not land in row {answer[1]}, column {answer[2]} at all"
    return "turning that sign does not mend it"


@check
def multiplications(answer) -> str | None:
    """Multiplications for n = 1024 with leaves of 64: four levels."""
    if answer == 7**10:
        return "that is the recursion down to single numbers"
    if answer == 1024**3:
        return "that is the plain way"
    return same(answer, torch.tensor(float(7**4 * 64**3)), 1e-12)


@check
def crossover(answer) -> str | None:
    """``answer(p, q)``: n with 2 (n/2)³ / p = 15 (n/2)² / q."""
    for p, q in ((1e11, 1e9), (3e10, 2e9)):
        if wrong := same(answer(p, q), torch.tensor(15 * p / q, dtype=torch.float64)):
            return f"for p = {p:g}, q = {q:g}: {wrong}"
    return None


@check
def peel(answer) -> str | None:
    """``answer(a, b)``: the product of two n × n matrices with odd n."""
    generator = torch.Generator().manual_seed(9)
    for n in (3, 5, 7):
        a, b = torch.randint(-9, 10, (2, n, n), generator=generator).double()
        got = torch.as_tensor(answer(a.clone(), b.clone()))
        if got.shape == (n, n) and torch.equal(got[:-1, :-1], a[:-1, :-1] @ b[:-1, :-1]):
            return "the even part lacks the last column of a times the last row of b"
        if wrong := same(got, a @ b):
            return f"for n = {n}: {wrong}"
    return None


@check
def assemble(answer) -> str | None:
    """``answer(c11, c12, c21, c22)``: the matrix of these quarters, in their dtype."""
    for dtype in (np.float32, np.int64):
        quarters = np.arange(36).reshape(4, 3, 3).astype(dtype)
        got = np.asarray(answer(*quarters))
        if wrong := same(got, torch.as_tensor(np.block([[*quarters[:2]], [*quarters[2:]]]))):
            return wrong
        if got.dtype != dtype:
            return f"{np.dtype(dtype)} went in, {got.dtype} came out"
    return None

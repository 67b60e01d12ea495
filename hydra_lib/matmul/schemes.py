"""Four ways to multiply small matrices, as their authors wrote them.

How they are written down: :mod:`hydra_lib.matmul.bilinear`.

>>> from hydra_lib.matmul.bilinear import compose
>>> [(x.shape, x.rank, sum(x.additions())) for x in (naive(2, 2, 2), STRASSEN, WINOGRAD)]
[((2, 2, 2), 8, 4), ((2, 2, 2), 7, 18), ((2, 2, 2), 7, 15)]
>>> compose(STRASSEN, STRASSEN).rank, LADERMAN.rank
(49, 23)
"""

from itertools import product

import numpy as np

from hydra_lib import _checks
from hydra_lib.matmul.bilinear import BilinearAlgorithm

__all__ = ["LADERMAN", "STRASSEN", "WINOGRAD", "naive"]


def naive(m: int, k: int, n: int) -> BilinearAlgorithm:
    """⟨m, k, n; mkn⟩: each entry of A times each entry of B that it meets.

    Raises ValueError for sides that are no positive integers, or make a factor of more than 2³¹.
    """
    m, k, n = (_checks.integer(*side) for side in (("m", m), ("k", k), ("n", n)))
    _checks.fits("m, k and n", m * k * n, max(m * k, k * n, m * n))

    U, V, W = (np.zeros((m * k * n, *shape), np.int64) for shape in ((m, k), (k, n), (m, n)))
    for r, (i, p, j) in enumerate(product(range(m), range(k), range(n))):
        U[r, i, p] = V[r, p, j] = W[r, i, j] = 1
    return BilinearAlgorithm(U, V, W)


STRASSEN = BilinearAlgorithm.parse(
    """
    p1 = (a11 + a22) (b11 + b22)
    p2 = (a21 + a22) b11
    p3 = a11 (b12 - b22)
    p4 = a22 (b21 - b11)
    p5 = (a11 + a12) b22
    p6 = (a21 - a11) (b11 + b12)
    p7 = (a12 - a22) (b21 + b22)
    """,
    """
    c11 = p1 + p4 - p5 + p7
    c12 = p3 + p5
    c21 = p2 + p4
    c22 = p1 - p2 + p3 + p6
    """,
)
"""Seven products for two 2 × 2 matrices. Strassen (1969), *Gaussian elimination is not optimal*.

:meta hide-value:
"""

WINOGRAD = BilinearAlgorithm.parse(
    """
    p1 = a11 b11
    p2 = a12 b21
    p3 = (a12 - a21 - a22 + a11) b22
    p4 = a22 (b21 - b22 + b12 - b11)
    p5 = (a21 + a22) (b12 - b11)
    p6 = (a21 + a22 - a11) (b22 - b12 + b11)
    p7 = (a11 - a21) (b22 - b12)
    """,
    """
    c11 = p1 + p2
    c12 = p1 + p6 + p5 + p3
    c21 = p1 + p6 + p7 + p4
    c22 = p1 + p6 + p7 + p5
    """,
)
"""Winograd's form: seven products as well, and fewer additions, since its sums share terms. In
Fischer and Probert (1974), *Efficient procedures for using matrix algorithms*.

:meta hide-value:
"""

LADERMAN = BilinearAlgorithm.parse(
    """
    p1 = (a11 + a12 + a13 - a21 - a22 - a32 - a33) b22
    p2 = (a11 - a21) (-b12 + b22)
    p3 = a22 (-b11 + b12 + b21 - b22 - b23 - b31 + b33)
    p4 = (-a11 + a21 + a22) (b11 - b12 + b22)
    p5 = (a21 + a22) (-b11 + b12)
    p6 = a11 b11
    p7 = (-a11 + a31 + a32) (b11 - b13 + b23)
    p8 = (-a11 + a31) (b13 - b23)
    p9 = (a31 + a32) (-b11 + b13)
    p10 = (a11 + a12 + a13 - a22 - a23 - a31 - a32) b23
    p11 = a32 (-b11 + b13 + b21 - b22 - b23 - b31 + b32)
    p12 = (-a13 + a32 + a33) (b22 + b31 - b32)
    p13 = (a13 - a33) (b22 - b32)
    p14 = a13 b31
    p15 = (a32 + a33) (-b31 + b32)
    p16 = (-a13 + a22 + a23) (b23 + b31 - b33)
    p17 = (a13 - a23) (b23 - b33)
    p18 = (a22 + a23) (-b31 + b33)
    p19 = a12 b21
    p20 = a23 b32
    p21 = a21 b13
    p22 = a31 b12
    p23 = a33 b33
    """,
    """
    c11 = p6 + p14 + p19
    c12 = p1 + p4 + p5 + p6 + p12 + p14 + p15
    c13 = p6 + p7 + p9 + p10 + p14 + p16 + p18
    c21 = p2 + p3 + p4 + p6 + p14 + p16 + p17
    c22 = p2 + p4 + p5 + p6 + p20
    c23 = p14 + p16 + p17 + p18 + p21
    c31 = p6 + p7 + p8 + p11 + p12 + p13 + p14
    c32 = p12 + p13 + p14 + p15 + p22
    c33 = p6 + p7 + p8 + p9 + p23
    """,
)
"""23 products for two 3 × 3 matrices. Laderman (1976), *A noncommutative algorithm for multiplying
3 × 3 matrices using 23 multiplications*.

:meta hide-value:
"""

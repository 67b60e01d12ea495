"""Strassen's algorithm, written to be read: seven products of half the size instead of eight."""

from hydra_lib import _checks
from hydra_lib.matmul.operands import Matrix, check_pair, empty

__all__ = ["seven_products", "strassen"]


def strassen(a: Matrix, b: Matrix, leaf: int = 64) -> Matrix:
    """``a @ b`` for an (m, k) and a (k, n) matrix, by Strassen's recursion.

    ``C = A B`` in quarters is ``M₁ … M₇`` and their sums below; each product is taken the same
    way, until a side is at most ``leaf`` and the product goes to ``@``. Two numpy arrays or two
    torch tensors of one dtype of numbers (numpy's objects, too), any sizes; dtype, device and kind
    of the result are those of ``a @ b``, and torch can differentiate it.

    An odd side is peeled: the even part recurses on views, and the last row, the last column and
    the last terms of the sums are products with one vector. Padding would instead copy both
    matrices at every level with an odd side.

    Raises TypeError for another kind of argument (a masked array too), bool, or two dtypes;
    ValueError for inner sizes that differ, more or fewer than two axes, two devices, or a ``leaf``
    that is no positive integer.

    Cost: for n = 2^L · leaf, ``7^L · leaf³`` multiplications, against ``8^L · leaf³``, and 18 block
    additions a level, each into new memory; with small leaves that is slower than BLAS at every
    size measured, see :func:`hydra_lib.matmul.fast.strassen_fast`. Source: Strassen (1969),
    Gaussian elimination is not optimal.

    >>> import numpy as np
    >>> strassen(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]), leaf=1)
    array([[19, 22],
           [43, 50]])
    """
    check_pair(a, b)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"a and b must be two matrices, got {tuple(a.shape)} and {tuple(b.shape)}")
    leaf = _checks.integer("leaf", leaf)
    return seven_products(a, b, leaf)


def seven_products(a: Matrix, b: Matrix, leaf: int) -> Matrix:
    """:func:`strassen` for a caller that has done its checks."""
    (m, k), n = a.shape, b.shape[1]
    if min(m, k, n) <= leaf:
        return a @ b
    if m % 2 or k % 2 or n % 2:
        return _peel(a, b, leaf)

    a11, a12, a21, a22 = _quarters(a)
    b11, b12, b21, b22 = _quarters(b)

    m1 = seven_products(a11 + a22, b11 + b22, leaf)
    m2 = seven_products(a21 + a22, b11, leaf)
    m3 = seven_products(a11, b12 - b22, leaf)
    m4 = seven_products(a22, b21 - b11, leaf)
    m5 = seven_products(a11 + a12, b22, leaf)
    m6 = seven_products(a21 - a11, b11 + b12, leaf)
    m7 = seven_products(a12 - a22, b21 + b22, leaf)

    c, i, j = empty(a, m, n), m // 2, n // 2
    c[:i, :j] = m1 + m4 - m5 + m7
    c[:i, j:] = m3 + m5
    c[i:, :j] = m2 + m4
    c[i:, j:] = m1 - m2 + m3 + m6
    return c


def _peel(a: Matrix, b: Matrix, leaf: int) -> Matrix:
    """The product when a side is odd: the even part, and the strips around it."""
    (m, k), n = a.shape, b.shape[1]
    me, ke, ne = m - m % 2, k - k % 2, n - n % 2
    c = empty(a, m, n)
    c[:me, :ne] = seven_products(a[:me, :ke], b[:ke, :ne], leaf)
    if ke < k:
        c[:me, :ne] += a[:me, ke:] @ b[ke:, :ne]  # (me, 1) x (1, ne) -> (me, ne)
    c[me:] = a[me:] @ b
    c[:me, ne:] = a[:me] @ b[:, ne:]
    return c


def _quarters(x: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    rows, columns = x.shape[0] // 2, x.shape[1] // 2
    return x[:rows, :columns], x[:rows, columns:], x[rows:, :columns], x[rows:, columns:]

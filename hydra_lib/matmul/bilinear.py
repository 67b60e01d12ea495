"""A way to multiply matrices is a tensor: which sums are multiplied, and where the products go.

``P_r = (Σ U[r, i, j] A_ij) (Σ V[r, i, j] B_ij)`` and ``C_ij = Σ_r W[r, i, j] P_r``. Nothing in
that asks the entries to commute, so they may be numbers, blocks or symbols.
"""

import math
import operator
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from hydra_lib import _checks
from hydra_lib.matmul.operands import Matrix, check_pair, empty
from hydra_lib.matmul.parsing import read

__all__ = ["BilinearAlgorithm", "compose"]

DEEPEST = 1000  # levels that are still counted: a side of 2^1000


@dataclass(frozen=True, eq=False)
class BilinearAlgorithm:
    """⟨m, k, n; R⟩: the product of an (m, k) and a (k, n) matrix with R multiplications.

    ``U`` (R, m, k), ``V`` (R, k, n) and ``W`` (R, m, n) are integer numpy arrays. They may be
    wrong: :meth:`defect` tells.

    Raises TypeError for factors that are not integer arrays, ValueError for shapes that do not fit
    and axes of length 0.
    """

    U: np.ndarray
    V: np.ndarray
    W: np.ndarray

    def __post_init__(self) -> None:
        kinds = [str(getattr(f, "dtype", type(f).__name__)) for f in self.factors]
        if not all(isinstance(f, np.ndarray) and f.dtype.kind == "i" for f in self.factors):
            raise TypeError(f"U, V and W must be arrays of signed integers, got {', '.join(kinds)}")
        u, v, w = (f.shape for f in self.factors)
        fits = len(u) == len(v) == 3 and v[:2] == (u[0], u[2]) and w == (u[0], u[1], v[2])
        if not fits or 0 in u + v:
            fit = "expected U (R, m, k), V (R, k, n) and W (R, m, n), no axis of length 0"
            raise ValueError(f"{fit}, got {u}, {v} and {w}")

    @classmethod
    def parse(cls, products: str, results: str) -> "BilinearAlgorithm":
        """Read an algorithm as papers print it: the products, then the entries of C.

        Raises TypeError for anything but text, ValueError for what
        :func:`hydra_lib.matmul.parsing.read` cannot read.

        >>> BilinearAlgorithm.parse("p1 = a11 b11; p2 = a12 b21", "c11 = p1 + p2").shape
        (1, 2, 1)
        """
        return cls(*read(products, results))

    @property
    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(U, V, W)."""
        return self.U, self.V, self.W

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, k, n)."""
        return (*self.U.shape[1:], self.V.shape[2])

    @property
    def rank(self) -> int:
        """R, the number of multiplications."""
        return len(self.U)

    def defect(self) -> np.ndarray:
        """What the algorithm computes beyond AB, (m, k, k, n, m, n), in exact integers.

        Entry [i, p, q, j, x, y] is the coefficient of ``A_ip B_qj`` in ``C_xy``, less the 1 it has
        in AB where p = q, x = i and y = j. All zeros: the algorithm is right, for any entries.
        Raises ValueError for more than 2³¹ of them. Source: Brent (1970), Algorithms for matrix
        multiplication.
        """
        m, k, n = self.shape
        _checks.fits("m, k and n", (m * k * n) ** 2)
        # No sum below 2^63 wraps; beyond, Python's own integers are as exact, and slower.
        largest = math.prod(map(_largest, self.factors)) * self.rank
        u, v, w = (f.astype(np.int64 if largest < 2**63 - 1 else object) for f in self.factors)
        computed = np.einsum("rip,rqj,rxy->ipqjxy", u, v, w, optimize=True)
        ones = [np.eye(side, dtype=np.int64) for side in (k, m, n)]
        return computed - np.einsum("pq,ix,jy->ipqjxy", *ones)

    def multiply(self, a: Matrix, b: Matrix) -> Matrix:
        """AB for numpy arrays (of objects too, if they add and multiply) or torch tensors.

        The sides must be multiples of m, k and n; the blocks are multiplied by ``@``.

        Raises as :func:`hydra_lib.matmul.operands.check_pair`, and ValueError for other sides and
        for numpy integers too narrow for a coefficient.

        >>> inner = BilinearAlgorithm.parse("p1 = a11 b11; p2 = a12 b21", "c11 = p1 + p2")
        >>> inner.multiply(np.array([[1, 2]]), np.array([[3], [4]]))
        array([[11]])
        """
        check_pair(a, b)
        m, k, n = self.shape
        if a.ndim != 2 or b.ndim != 2:
            raise ValueError(f"a and b must be matrices, got {a.ndim} and {b.ndim} axes")
        if a.shape[0] % m or a.shape[1] % k or b.shape[1] % n:
            got = f"{tuple(a.shape)} and {tuple(b.shape)}"
            raise ValueError(f"sides of a and b must be multiples of {m}, {k} and {n}, got {got}")
        largest = max(map(_largest, self.factors))
        if isinstance(a, np.ndarray) and a.dtype.kind in "iu" and largest > np.iinfo(a.dtype).max:
            raise ValueError(f"a and b must hold coefficients up to {largest}, got {a.dtype}")
        left, right = list(_cut(a, m, k)), list(_cut(b, k, n))
        c = empty(a, a.shape[0], b.shape[1])
        products = [_sum(u, left) @ _sum(v, right) for u, v in zip(self.U, self.V, strict=True)]
        # For a gradient, torch wants each view made after the last one was written to.
        for block, w in zip(_cut(c, m, n), self.W.reshape(self.rank, -1).T, strict=True):
            block[:] = _sum(w, products)
        return c

    def additions(self, share: bool = True) -> tuple[int, int, int]:
        """Additions and subtractions in the sums of A, the sums of B, and C.

        With ``share``, a sum or difference of two terms that comes up again, up to sign, is taken
        once: the most frequent first, which need not be the best order.
        """
        _checks.flag("share", share)
        u, v, w = (f.reshape(self.rank, -1) for f in self.factors)
        return _count(u, share), _count(v, share), _count(w.T, share)

    def counts(self, levels: int) -> tuple[int, int]:
        """Multiplications and additions of L levels of recursion, down to numbers.

        A level takes R products, and its :meth:`additions` are of blocks. Raises ValueError for
        ``levels`` that are no integer from 0 to 1000.
        """
        levels = _checks.integer("levels", levels, 0, DEEPEST)
        (m, k, n), own, additions = self.shape, self.additions(), 0
        for level in range(levels):
            blocks = [area**level for area in (m * k, k * n, m * n)]
            additions = self.rank * additions + sum(map(operator.mul, own, blocks))
        return self.rank**levels, additions


def compose(outer: BilinearAlgorithm, inner: BilinearAlgorithm) -> BilinearAlgorithm:
    """``inner`` for the products of ``outer``'s blocks (Kronecker): shapes and ranks multiply.

    Raises TypeError for anything but two algorithms, ValueError for a factor of more than 2³¹
    coefficients and for products of coefficients that 64 bits do not hold.
    """
    for name, x in (("outer", outer), ("inner", inner)):
        _checks.instance(name, x, BilinearAlgorithm)
    pairs = list(zip(outer.factors, inner.factors, strict=True))
    _checks.fits("outer and inner", max(x.size * y.size for x, y in pairs))
    if any(_largest(x) * _largest(y) >= 2**63 for x, y in pairs):
        raise ValueError("products of outer and inner must fit in 64 bits, got larger ones")
    return BilinearAlgorithm(*(np.kron(x.astype(np.int64), y) for x, y in pairs))


def _largest(factor: np.ndarray) -> int:
    return max(abs(int(factor.min())), abs(int(factor.max())))


def _cut(x: Matrix, rows: int, columns: int) -> Iterator[Matrix]:
    """A grid of rows × columns blocks, as views, row after row, each made when it is asked for."""
    height, width = x.shape[0] // rows, x.shape[1] // columns
    for i, j in product(range(rows), range(columns)):
        yield x[i * height : (i + 1) * height, j * width : (j + 1) * width]


def _sum(coefficients: np.ndarray, terms: list[Matrix]) -> Matrix:
    """Σ coefficient · term, with no operation spent on 0, 1 and the first sign."""
    kept = [(c, x) for c, x in zip(coefficients.ravel().tolist(), terms, strict=True) if c]
    if not kept:
        return 0 * terms[0]
    (c, first), *rest = [(c, x if abs(c) == 1 else abs(c) * x) for c, x in kept]
    total = first if c > 0 else -first
    for c, x in rest:
        total = total + x if c > 0 else total - x
    return total


def _count(sums: np.ndarray, share: bool) -> int:
    """Additions to take the sum of every row, for rows of coefficients."""
    rows = [{i: c for i, c in enumerate(row) if c} for row in sums.tolist()]
    shared = 0
    while share:
        pairs = Counter(pair for row in rows for pair in _pairs(row))
        if not pairs or max(pairs.values()) == 1:
            break
        pair = (i, _, j, _) = pairs.most_common(1)[0][0]
        shared += 1
        for row in rows:
            if pair in _pairs(row):
                # From now on the pair is one term, with the sign that its first term has here.
                row[sums.shape[1] + shared] = row.pop(i)
                del row[j]
    return shared + sum(max(0, len(row) - 1) for row in rows)


def _pairs(row: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """Every two terms with their coefficients, up to a common sign."""
    both = combinations(row.items(), 2)
    return [(i, abs(x), j, y if x > 0 else -y) for (i, x), (j, y) in both]

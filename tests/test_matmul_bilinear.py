import itertools
import re
from collections import Counter

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hydra_lib.matmul.bilinear import BilinearAlgorithm, compose
from hydra_lib.matmul.counting import Tally, counted
from hydra_lib.matmul.schemes import LADERMAN, STRASSEN, WINOGRAD, naive

KNOWN = {
    "naive": (naive(2, 3, 5), (2, 3, 5), 30),
    "strassen": (STRASSEN, (2, 2, 2), 7),
    "winograd": (WINOGRAD, (2, 2, 2), 7),
    "laderman": (LADERMAN, (3, 3, 3), 23),
    "strassen twice": (compose(STRASSEN, STRASSEN), (4, 4, 4), 49),
    "strassen of winograd": (compose(STRASSEN, WINOGRAD), (4, 4, 4), 49),
    "naive of strassen": (compose(naive(1, 3, 2), STRASSEN), (2, 6, 4), 42),
}
known = pytest.mark.parametrize("name", KNOWN)


@known
def test_shape_and_rank(name):
    algorithm, shape, rank = KNOWN[name]
    assert (algorithm.shape, algorithm.rank) == (shape, rank)


@known
def test_has_no_defect(name):
    algorithm, (m, k, n), _ = KNOWN[name]
    defect = algorithm.defect()
    assert defect.shape == (m, k, k, n, m, n)
    assert defect.dtype == np.int64
    assert not defect.any()


@known
def test_every_sign_matters(name):
    """Flip any one sign and the defect shows, in nothing but that product's terms."""
    algorithm, _, _ = KNOWN[name]
    for factor, f in enumerate((algorithm.U, algorithm.V, algorithm.W)):
        r, i, j = np.argwhere(f)[len(np.argwhere(f)) // 2]
        factors = [x.copy() for x in (algorithm.U, algorithm.V, algorithm.W)]
        factors[factor][r, i, j] *= -1
        defect = BilinearAlgorithm(*factors).defect()
        assert defect.any()
        u, v, w = (np.abs(x[r]) for x in factors)
        reached = np.einsum("ip,qj,xy->ipqjxy", u, v, w)
        assert not defect[reached == 0].any()


def test_defect_is_what_is_computed_beyond_the_product():
    # 1 × 1 matrices, one product, taken with the wrong sign: −ab = ab + (−2) ab.
    wrong = BilinearAlgorithm.parse("p1 = a11 b11", "c11 = -p1")
    assert wrong.defect().item() == -2


@known
def test_symbols_that_do_not_commute(name):
    algorithm, (m, k, n), _ = KNOWN[name]
    a = np.array(
        [[sympy.Symbol(f"a{i}{j}", commutative=False) for j in range(k)] for i in range(m)]
    )
    b = np.array(
        [[sympy.Symbol(f"b{i}{j}", commutative=False) for j in range(n)] for i in range(k)]
    )
    c = algorithm.multiply(a, b)
    for i, j in itertools.product(range(m), range(n)):
        # Left factor from A, right factor from B: b00 * a00 would be another symbol.
        assert sympy.expand(c[i, j]) == sum(a[i, p] * b[p, j] for p in range(k))


@known
@pytest.mark.parametrize("kind", ["numpy", "torch", "integers"])
def test_blocks_of_numbers(name, kind):
    algorithm, (m, k, n), _ = KNOWN[name]
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5 * m, 7 * k)), rng.normal(size=(7 * k, 11 * n))
    if kind == "integers":
        a, b = (100 * a).astype(np.int64), (100 * b).astype(np.int64)
    if kind == "torch":
        a, b = torch.from_numpy(a).float(), torch.from_numpy(b).float()
    c = algorithm.multiply(a, b)
    assert type(c) is type(a)
    assert c.dtype == a.dtype
    tolerance = {"numpy": 1e-12, "torch": 1e-4, "integers": 0}[kind]
    np.testing.assert_allclose(np.asarray(c), np.asarray(a @ b), rtol=0, atol=tolerance)


def test_strassen_by_hand():
    """The seven products of [[1, 2], [3, 4]] and [[5, 6], [7, 8]], and the C they make."""
    a, b = np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])
    products = (STRASSEN.U * a).sum((1, 2)) * (STRASSEN.V * b).sum((1, 2))
    assert products.tolist() == [65, 35, -2, 8, 24, 22, -30]
    assert np.einsum("r,rij->ij", products, STRASSEN.W).tolist() == [[19, 22], [43, 50]]
    assert STRASSEN.multiply(a, b).tolist() == [[19, 22], [43, 50]]


@pytest.mark.parametrize(
    ("name", "shared", "plain"),
    [
        ("naive", (0, 0, 20), (0, 0, 20)),
        ("strassen", (5, 5, 8), (5, 5, 8)),
        ("winograd", (4, 4, 7), (7, 7, 10)),
        ("laderman", (18, 18, 34), (28, 28, 42)),
    ],
)
def test_additions(name, shared, plain):
    algorithm, _, _ = KNOWN[name]
    assert algorithm.additions() == shared
    assert algorithm.additions(share=False) == plain


@known
def test_counting_numbers_agree_with_the_counts(name):
    algorithm, (m, k, n), rank = KNOWN[name]
    tally = Tally()
    a, b = counted(np.ones((m, k), int), tally), counted(np.ones((k, n), int), tally)
    algorithm.multiply(a, b)
    assert tally == Tally(rank, sum(algorithm.additions(share=False)))


def test_sharing_finds_a_pair_with_its_signs_turned():
    # a1 − a2 is in the first sum, and its negative in the second.
    products = "p1 = (a11 - a12) b31; p2 = (a13 + a12 - a11) b31"
    assert BilinearAlgorithm.parse(products, "c11 = p1 + p2").additions() == (2, 0, 1)


def test_sharing_does_not_take_a_sum_for_a_difference():
    products = "p1 = (a11 - a12) b31; p2 = (a13 + a12 + a11) b31"
    assert BilinearAlgorithm.parse(products, "c11 = p1 + p2").additions() == (3, 0, 1)


@pytest.mark.parametrize("levels", range(6))
def test_counts_of_the_recursion(levels):
    """Solved by hand: s (7^L − 4^L) / 3 additions for s a level, and n³ − n² for the plain loop."""
    n = 2**levels
    assert naive(2, 2, 2).counts(levels) == (n**3, n**3 - n**2)
    assert STRASSEN.counts(levels) == (7**levels, 6 * (7**levels - 4**levels))
    assert WINOGRAD.counts(levels) == (7**levels, 5 * (7**levels - 4**levels))


def test_counts_of_leaves():
    assert STRASSEN.counts(0, leaf=3) == (27, 18)
    assert STRASSEN.counts(1, leaf=3) == (7 * 27, 7 * 18 + 18 * 9)
    assert naive(2, 2, 2).counts(2, leaf=3) == (12**3, 12**3 - 12**2)


def test_counts_of_a_rectangle():
    # ⟨1, 2, 3⟩ twice: 36 products of numbers; 3 additions in each of 6 products, then 3 of 1 × 3.
    assert naive(1, 2, 3).counts(2) == (36, 6 * 3 + 3 * 3)


def test_exponent_of_the_count():
    """The number of multiplications grows as n^2.807 (claim H11)."""
    levels = np.arange(1, 9)
    counts = [STRASSEN.counts(int(level))[0] for level in levels]
    slope = np.polyfit(levels * np.log(2), np.log(counts), 1)[0]
    assert slope == pytest.approx(np.log2(7), abs=1e-12)
    assert round(slope, 3) == 2.807


def test_compose_orders_the_blocks():
    """The outer algorithm says where the inner one's block stands."""
    outer, inner = naive(1, 1, 2), naive(2, 1, 1)
    both = compose(outer, inner)
    assert both.shape == (2, 1, 2)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (2, 1)), rng.integers(-9, 9, (1, 2))
    assert (both.multiply(a, b) == a @ b).all()


@settings(deadline=None)
@given(st.tuples(*[st.integers(1, 4)] * 3))
def test_naive_of_any_shape(shape):
    m, k, n = shape
    algorithm = naive(m, k, n)
    assert (algorithm.shape, algorithm.rank) == (shape, m * k * n)
    assert not algorithm.defect().any()
    assert algorithm.additions() == (0, 0, m * n * (k - 1))


def test_coefficients_beyond_one():
    """(2a)(b) − (a)(b), and a product with nothing: not short, but right."""
    u, v, w = (np.array(f).reshape(3, 1, 1) for f in ([2, 1, 0], [1, 1, 1], [1, -1, 1]))
    algorithm = BilinearAlgorithm(u, v, w)
    assert not algorithm.defect().any()
    assert algorithm.multiply(np.array([[3]]), np.array([[5]])).item() == 15


def test_parse_reads_the_factors():
    algorithm = BilinearAlgorithm.parse("p1 = (a12 - a11) b21; p2 = -a11 (b11)", "c11 = -p2 + p1")
    assert algorithm.U.tolist() == [[[-1, 1]], [[-1, 0]]]
    assert algorithm.V.tolist() == [[[0], [1]], [[1], [0]]]
    assert algorithm.W.tolist() == [[[1]], [[-1]]]


@pytest.mark.parametrize(
    ("products", "results", "message"),
    [
        ("a11 b11", "c11 = p1", "expected p… = …, got 'a11 b11'"),
        ("p1 = a11 b11", "11 = p1", "expected c… = …, got '11 = p1'"),
        ("p1 = a11 b11", "c1 = p1", "expected c… = …, got 'c1 = p1'"),
        ("p1 = a1 b11", "c11 = p1", "cannot read 'a1' in 'p1 = a1 b11'"),
        ("p1 = a11 b11", "c11 = q1 + p1", "cannot read 'q1' in 'c11 = q1 + p1'"),
    ],
)
def test_parse_refuses(products, results, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        BilinearAlgorithm.parse(products, results)


FIT = "expected U (R, m, k), V (R, k, n) and W (R, m, n)"


def zeros(*shapes, dtype=np.int64):
    return [np.zeros(shape, dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("factors", "error", "message"),
    [
        (
            zeros((7, 2, 3), (7, 3, 5), (7, 2, 5), dtype=np.float64),
            TypeError,
            "expected signed integer factors, got float64, float64, float64",
        ),
        (
            zeros((7, 2, 3), (7, 3, 5), (7, 5, 2)),
            ValueError,
            f"{FIT}, got (7, 2, 3), (7, 3, 5) and (7, 5, 2)",
        ),
        (
            zeros((7, 2, 3), (6, 3, 5), (7, 2, 5)),
            ValueError,
            f"{FIT}, got (7, 2, 3), (6, 3, 5) and (7, 2, 5)",
        ),
        (
            zeros((7, 6), (7, 3, 5), (7, 2, 5)),
            ValueError,
            f"{FIT}, got (7, 6), (7, 3, 5) and (7, 2, 5)",
        ),
    ],
)
def test_factors_that_do_not_fit(factors, error, message):
    with pytest.raises(error, match=re.escape(message)):
        BilinearAlgorithm(*factors)


@pytest.mark.parametrize(
    ("a", "b"), [((3, 2), (2, 2)), ((2, 3), (3, 2)), ((2, 2), (2, 3)), ((1, 2, 2), (2, 2))]
)
def test_sides_that_do_not_divide(a, b):
    message = f"expected sides that 2, 2 and 2 divide, got {a} and {b}"
    with pytest.raises(ValueError, match=re.escape(message)):
        STRASSEN.multiply(np.ones(a), np.ones(b))


def test_winograd_and_strassen_use_seven_products_of_different_kinds():
    sizes = [Counter((x != 0).sum((1, 2)).tolist()) for x in (STRASSEN.U, WINOGRAD.U)]
    assert sizes == [Counter({1: 2, 2: 5}), Counter({1: 3, 2: 2, 3: 1, 4: 1})]

import itertools
from collections import Counter

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.matmul.bilinear import BilinearAlgorithm, compose
from hydra_lib.matmul.counting import Tally, counted
from hydra_lib.matmul.schemes import LADERMAN, STRASSEN, WINOGRAD, naive
from tests.refusal import refuses, unhooked

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


@pytest.mark.parametrize(("dtype", "size"), [(np.int8, -(2**7)), (np.int64, 2**32)])
def test_defect_does_not_wrap(dtype, size):
    """((size · a) (size · b)) − ab: size² − 1 too much, in whatever integers the factors are."""
    factors = [np.array([[[x]]], dtype) for x in (size, size, 1)]
    assert BilinearAlgorithm(*factors).defect().item() == size**2 - 1


@pytest.mark.parametrize(("size", "dtype"), [(2**62 - 1, np.int64), (-(2**62), object)])
def test_defect_where_64_bits_end(size, dtype):
    defect = BilinearAlgorithm(*(np.array([[[x]]]) for x in (size, 2, 1))).defect()
    assert (defect.dtype, defect.item()) == (dtype, 2 * size - 1)


def test_compose_does_not_wrap():
    one, large = (
        BilinearAlgorithm(*(np.array([[[x]]], np.int8) for x in xs))
        for xs in ((1, 1, 1), (-128, 1, 1))
    )
    assert compose(large, large).U.item() == 2**14
    huge = BilinearAlgorithm(*(np.array([[[x]]]) for x in (2**32, 1, 1)))
    assert compose(huge, one).U.item() == 2**32
    with refuses(ValueError, "products of outer and inner must fit in 64 bits, got larger ones"):
        compose(huge, BilinearAlgorithm(*(np.array([[[x]]]) for x in (2**31, 1, 1))))
    with refuses(TypeError, "inner must be a BilinearAlgorithm, got int"):
        compose(one, 3)


def test_what_would_not_fit_is_refused_before_any_work():
    large = naive(16, 16, 16)
    with refuses(ValueError, f"outer and inner must make at most 2³¹ numbers, got {(16**5) ** 2}"):
        compose(large, large)
    with refuses(ValueError, f"m, k and n must make at most 2³¹ numbers, got {36**6}"):
        BilinearAlgorithm(*zeros(*[(1, 36, 36)] * 3)).defect()


def test_integers_too_narrow_for_a_coefficient():
    algorithm = BilinearAlgorithm(*(np.array([[[x]]]) for x in (-300, 1, 1)))
    assert algorithm.multiply(np.array([[2]], np.int16), np.array([[3]], np.int16)).item() == -1800
    narrow = np.array([[1]], np.int8)
    with refuses(ValueError, "a and b must hold coefficients up to 300, got int8"):
        algorithm.multiply(narrow, narrow)


@known
def test_gradients_pass_through(name):
    algorithm, (m, k, n), _ = KNOWN[name]
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randn(*s, generator=g, dtype=torch.float64) for s in ((m, k), (k, n)))
    (a.requires_grad_(), b.requires_grad_())
    weight = torch.randn(m, n, generator=g, dtype=torch.float64)
    ours = torch.autograd.grad(algorithm.multiply(a, b), (a, b), weight)
    for one, two in zip(ours, (weight @ b.mT, a.mT @ weight), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-12)


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


@pytest.mark.parametrize("levels", [-1, 1001, 10**9, 2.5, True])
def test_counts_refuses(levels):
    with refuses(ValueError, f"levels must be an integer from 0 to 1000, got {levels}"):
        STRASSEN.counts(levels)


def test_counts_are_exact_integers():
    with unhooked():
        assert STRASSEN.counts(np.int64(1000)) == (7**1000, 6 * (7**1000 - 4**1000))


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


@given(st.tuples(*[st.integers(1, 4)] * 3))
def test_naive_of_any_shape(shape):
    m, k, n = shape
    algorithm = naive(m, k, n)
    assert (algorithm.shape, algorithm.rank) == (shape, m * k * n)
    assert not algorithm.defect().any()
    assert algorithm.additions() == (0, 0, m * n * (k - 1))


@pytest.mark.parametrize(
    ("sides", "error", "message"),
    [
        ((0, 1, 1), ValueError, "m must be a positive integer, got 0"),
        ((2, -1, 1), ValueError, "k must be a positive integer, got -1"),
        ((2, 1, 1.0), ValueError, "n must be a positive integer, got 1.0"),
    ],
)
def test_naive_refuses(sides, error, message):
    with refuses(error, message):
        naive(*sides)


def test_coefficients_beyond_one():
    """(2a)(b) − (a)(b), and a product with nothing: not short, but right."""
    u, v, w = (np.array(f).reshape(3, 1, 1) for f in ([2, 1, 0], [1, 1, 1], [1, -1, 1]))
    algorithm = BilinearAlgorithm(u, v, w)
    assert not algorithm.defect().any()
    assert algorithm.multiply(np.array([[3]]), np.array([[5]])).item() == 15


FIT = "expected U (R, m, k), V (R, k, n) and W (R, m, n), no axis of length 0"


def zeros(*shapes, dtype=np.int64):
    return [np.zeros(shape, dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("factors", "error", "message"),
    [
        (
            zeros((7, 2, 3), (7, 3, 5), (7, 2, 5), dtype=np.float64),
            TypeError,
            "U, V and W must be arrays of signed integers, got float64, float64, float64",
        ),
        (
            [[[[1]]], np.ones((1, 1, 1), bool), np.ones((1, 1, 1), np.uint8)],
            TypeError,
            "U, V and W must be arrays of signed integers, got list, bool, uint8",
        ),
        (
            zeros((7, 2, 0), (7, 0, 5), (7, 2, 5)),
            ValueError,
            f"{FIT}, got (7, 2, 0), (7, 0, 5) and (7, 2, 5)",
        ),
        (
            zeros((0, 2, 3), (0, 3, 5), (0, 2, 5)),
            ValueError,
            f"{FIT}, got (0, 2, 3), (0, 3, 5) and (0, 2, 5)",
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
    with refuses(error, message):
        BilinearAlgorithm(*factors)


@pytest.mark.parametrize(("a", "b"), [((3, 2), (2, 2)), ((2, 3), (3, 2)), ((2, 2), (2, 3))])
def test_sides_that_do_not_divide(a, b):
    message = f"sides of a and b must be multiples of 2, 2 and 2, got {a} and {b}"
    with refuses(ValueError, message):
        STRASSEN.multiply(np.ones(a), np.ones(b))


@pytest.mark.parametrize(("a", "b"), [((1, 2, 2), (2, 2)), ((2, 2), (1, 2, 2))])
def test_more_than_two_axes(a, b):
    with refuses(ValueError, f"a and b must be matrices, got {len(a)} and {len(b)} axes"):
        STRASSEN.multiply(np.ones(a), np.ones(b))


def test_winograd_and_strassen_use_seven_products_of_different_kinds():
    sizes = [Counter((x != 0).sum((1, 2)).tolist()) for x in (STRASSEN.U, WINOGRAD.U)]
    assert sizes == [Counter({1: 2, 2: 5}), Counter({1: 3, 2: 2, 3: 1, 4: 1})]

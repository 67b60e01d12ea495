import numpy as np
import pytest

from hydra_lib.matmul.counting import Counted, Tally, counted, triple_loop
from hydra_lib.matmul.recursion import strassen
from tests.refusal import refuses


def test_numbers_that_are_not_counted():
    tally = Tally()
    c = Counted(3, tally)
    assert c + 0 == 0 + c == c - 0 == c
    assert tally == Tally()
    for strange in (lambda: c + 5, lambda: 5 + c, lambda: c - 5, lambda: c * 5, lambda: 5 * c):
        with pytest.raises(TypeError, match="unsupported operand"):
            strange()
    assert (c - Counted(1, tally)).value == 2
    assert tally == Tally(0, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
def test_triple_loop_costs_what_claim_h7_says(n):
    tally = Tally()
    a = counted(np.arange(n * n).reshape(n, n), tally)
    triple_loop(a.tolist(), a.tolist())
    assert tally == Tally(n**3, n**3 - n**2)


def test_triple_loop_of_a_rectangle():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (2, 3)), rng.integers(-9, 9, (3, 5))
    assert triple_loop(a.tolist(), b.tolist()) == (a @ b).tolist()


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [], "expected a and b with a row at least, got 0 and 0 rows"),
        ([], [[1]], "expected a and b with a row at least, got 0 and 1 rows"),
        ([[1]], [], "expected a and b with a row at least, got 1 and 0 rows"),
        ([[1, 2], [3]], [[1], [2]], "expected rows of a as long as b has rows, got [1, 2] and 2"),
        ([[1, 2]], [[1]], "expected rows of a as long as b has rows, got [2] and 1"),
        ([[]], [], "expected a and b with a row at least, got 1 and 0 rows"),
        ([[1]], [[]], "expected rows of b of one length, at least 1, got [0]"),
        ([[1, 2]], [[1, 2], [3]], "expected rows of b of one length, at least 1, got [1, 2]"),
    ],
)
def test_triple_loop_refuses(a, b, message):
    with refuses(ValueError, message):
        triple_loop(a, b)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (1, [[1]], "a must be a list of lists, got int"),
        ([[1]], [1], "b must be a list of lists, got a list with int"),
        ([(1, 2)], [[1], [2]], "a must be a list of lists, got a list with tuple"),
        (np.ones((2, 2)), [[1]], "a must be a list of lists, got ndarray"),
    ],
)
def test_triple_loop_takes_lists_of_lists(a, b, message):
    with refuses(TypeError, message):
        triple_loop(a, b)


def test_counted_needs_a_tally():
    with refuses(TypeError, "tally must be a Tally, got int"):
        counted(np.ones((2, 2)), 3)


def test_counted_by_hand():
    tally = Tally()
    x, y = Counted(2, tally), Counted(5, tally)
    assert (x * y + (x - y) - (-x)).value == 9
    assert tally == Tally(multiplications=1, additions=3)
    assert (0 + x).value == 2
    assert tally.additions == 3
    with pytest.raises(TypeError):
        1 + x


def test_numpy_counts_the_same():
    tally = Tally()
    a, b = counted(np.ones((2, 3), int), tally), counted(np.ones((3, 5), int), tally)
    assert [[x.value for x in row] for row in a @ b] == [[3] * 5] * 2
    assert tally == Tally(30, 20)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_recursion_makes_seven_products_a_level(levels):
    """Claim H11: 7^L multiplications, and 18 block additions a level."""
    n, tally = 2**levels, Tally()
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (n, n)), rng.integers(-9, 9, (n, n))
    c = strassen(counted(a, tally), counted(b, tally), leaf=1)
    assert [[x.value for x in row] for row in c] == (a @ b).tolist()
    assert tally == Tally(7**levels, 6 * (7**levels - 4**levels))
